"""Othello as people see it: squares by letter and number, and the board."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from kibitz.errors import ParseError, quoted
from kibitz.position import State

PASS = 64


def square_text(square: int) -> str:
    """A square: the letter of its column, the number of its row, from the upper left corner; or `pass`.

    >>> square_text(19)
    'd3'
    """
    return "pass" if square == PASS else f"{'abcdefgh'[square % 8]}{square // 8 + 1}"


def parse_square(words: str) -> int:
    """The square that people mean, or a pass."""
    word = words.strip().lower()
    if word in ("pass", "ps", "pa"):
        return PASS
    if not re.fullmatch("[a-h][1-8]", word):
        raise ParseError(f"{quoted(words)} is not a move; a move is a square from a1 to h8, or 'pass'")
    return "abcdefgh".index(word[0]) + 8 * (int(word[1]) - 1)


def parse_board(game: Any, words: str) -> State:
    """A position: 64 signs row by row, X black, O white, - or . empty, and X or O for the seat to move.

    >>> from kibitz.games import load
    >>> state = parse_board(load("othello"), "-" * 27 + "OX------XO" + "-" * 27 + " X")
    >>> state.move_texts()
    ['d3', 'c4', 'f5', 'e6']
    """
    signs = re.sub(r"\s", "", words).upper().replace("*", "X").replace(".", "-")
    if not re.fullmatch("[XO-]{64}[XO]", signs):
        raise ParseError(
            f"{quoted(words)} is not a position; write the 64 squares row by row with X, O and -, then who "
            f"is to move, X or O; or the deal and the moves, such as '1: d3 c3'"
        )
    state = State(game)
    game.deal(state.record, None)
    for seat, sign in enumerate("XO"):
        board = sum(1 << square for square in range(64) if signs[square] == sign)
        state.record.discs[seat] = np.uint64(board)
    # A pass of the other seat finds out what the one to move can do, and whether the game is over.
    state.record.turn = "OX".index(signs[64])
    game.play(state.record, np.int64(PASS))
    return state


def picture(view: Any) -> str:
    """The board, with dots where the mover may play."""
    black, white, playable = int(view["discs"][0]), int(view["discs"][1]), int(view["open"])
    lines = ["   a b c d e f g h"]
    for row in range(8):
        signs = [
            "X"
            if black >> square & 1
            else "O"
            if white >> square & 1
            else "·"
            if playable >> square & 1
            else "-"
            for square in range(8 * row, 8 * row + 8)
        ]
        lines.append(f"{row + 1}  {' '.join(signs)}")
    turn = int(view["turn"])
    lines += ["", f"X {black.bit_count()}, O {white.bit_count()}; {'XO'[turn]} (seat {turn}) to move"]
    return "\n".join(lines)
