"""Tic-tac-toe as people see it: squares by letter and number, and the board."""

from __future__ import annotations

import re
from typing import Any

from kibitz.errors import ParseError, quoted


def square_text(square: int) -> str:
    """A square: the letter of its column, the number of its row, from the upper left corner.

    >>> square_text(5)
    'c2'
    """
    return f"{'abc'[square % 3]}{square // 3 + 1}"


def parse_square(words: str) -> int:
    """The square that people mean."""
    word = words.strip().lower()
    if not re.fullmatch("[abc][123]", word):
        raise ParseError(f"{quoted(words)} is not a square; a square is a letter and a number, from a1 to c3")
    return "abc".index(word[0]) + 3 * (int(word[1]) - 1)


def picture(view: Any) -> str:
    """The board; a dot is an empty square."""
    crosses, noughts = (int(marks) for marks in view["marks"])
    lines = ["   a b c"]
    for row in range(3):
        signs = [
            "X" if crosses >> square & 1 else "O" if noughts >> square & 1 else "·"
            for square in range(3 * row, 3 * row + 3)
        ]
        lines.append(f"{row + 1}  {' '.join(signs)}")
    lines += ["", f"{'XO'[view['turn']]} (seat {view['turn']}) to move"]
    return "\n".join(lines)
