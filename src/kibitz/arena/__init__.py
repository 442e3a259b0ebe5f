"""How to measure: matches on duplicate deals, and their statistics."""
