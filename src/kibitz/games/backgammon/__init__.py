"""Backgammon: the rules, and how people see them."""
