"""Bridge: the play of the cards."""
