"""Tic-tac-toe: the rules, and how people see them."""
