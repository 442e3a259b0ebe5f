"""Othello is OpenSpiel's `othello`."""

from __future__ import annotations

from typing import Any

from kibitz.adapters.twins import Twin


def twin_of(game: Any) -> Twin:
    """The twin: moves have the same numbers."""
    return Twin(game, "othello")
