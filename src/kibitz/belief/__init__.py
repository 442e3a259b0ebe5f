"""Which worlds there are, and how likely each of them is."""
