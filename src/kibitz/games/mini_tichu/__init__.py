"""Mini-Tichu."""
