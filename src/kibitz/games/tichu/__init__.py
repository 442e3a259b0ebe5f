"""Tichu: what both games of the family share."""
