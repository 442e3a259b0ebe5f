"""Moves as small numbers and views as vectors, for tools that know nothing else.

Kibitz's moves are codes of 64 bits, which mean the same in every position. Others want numbers from 0 to
n − 1. A game lists all its moves (`every_move`), and their places in that list are the numbers. A game in
which everybody sees everything may leave the list out: there a move is its place among the legal ones. Plays
of Tichu that differ in suits alone share a number, for there are too many of them; the first one is meant.

A shuffle cannot be listed outcome by outcome. What can be listed is the random stream that deals the cards:
64 bits, which are drawn as eight chance events of 256 outcomes each. So every deal that Kibitz can make can
be told. Dice are chance events by themselves, and a deal in which nothing is drawn is none.

A vector holds every field of the view: sets of cards, which are fields of 64 bits, bit by bit, and small
numbers as they are. So nothing of the view is lost, and nothing else is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.arena.play import DEAL, advance
from kibitz.errors import BadGame, Unsupported
from kibitz.position import State, View
from kibitz.search.montecarlo import legal_moves

PREFIX = "kibitz_"


def short_name(name: str) -> str:
    """What OpenSpiel calls a game of Kibitz, by the name or the file of the game.

    >>> short_name("mini-tichu")
    'kibitz_mini_tichu'
    """
    return PREFIX + Path(name).name.removesuffix(".py").replace("-", "_")


def told_as_numbers(cls: Any) -> dict[str, dict[int, str]]:
    """Parameters with words such as 0.5, which OpenSpiel would not take for words: the words by their values.

    There these parameters are given as the numbers that the rules have for them.
    """
    return {
        name: {value: word for word, value in words.items()}
        for name, words in cls.choices.items()
        if isinstance(words, dict) and any(word[0].isdigit() for word in words)
    }


def spec_of(name: str, parameters: Mapping[str, Any], words: dict[str, dict[int, str]]) -> str:
    """The string of a game with the parameters that OpenSpiel has for it."""
    told = {
        key: next((word for number, word in words.get(key, {}).items() if str(number) == str(value)), value)
        for key, value in parameters.items()
    }
    given = ",".join(f"{key}={value}" for key, value in told.items())
    return f"{name}:{given}" if given else name


WORD, BYTE = 8, 256
"""A stream is so many chance events with so many outcomes each."""


def step(game: Any, position: NDArray[Any], move: int, rng: Any = None) -> int:
    """Make a move, or settle chance if it is `DEAL`; who is next, `CHANCE` or `OVER`."""
    moves, view = np.zeros(game.max_moves, np.int64), np.zeros(1, game.state)
    rng = np.zeros(1, np.uint64) if rng is None else rng
    return int(advance(game, position, np.int64(move), moves, view, rng))


def deal_draws(game: Any, position: NDArray[Any]) -> bool:
    """Whether the deal that is due draws a random number; else it is made."""
    after, rng = position.copy(), np.zeros(1, np.uint64)
    step(game, after, DEAL, rng)
    if rng[0] != 0:
        return True
    position[:] = after
    return False


def outcomes(game: Any, position: NDArray[Any]) -> list[tuple[int, float]]:
    """The chance event that is due, if it can be listed: moves and their odds."""
    if "outcomes" in game.defaulted:
        return []
    moves, odds = np.zeros(game.max_moves, np.int64), np.zeros(game.max_moves)
    n = int(game.outcomes(State(game, position).record, moves, odds))
    return list(zip(moves[:n].tolist(), odds[:n].tolist(), strict=True))


class Encoding:
    """How the moves and views of a game are told to others.

    >>> from kibitz.games import load
    >>> Encoding(load("briskola")).n_actions
    40
    """

    def __init__(self, game: Any) -> None:
        self.game = game
        codes = [int(code) for code in game.every_move()]
        self._numbers = {code: number for number, code in enumerate(codes)}
        self._by_place = not codes
        if self._by_place and "hide" not in game.defaulted:
            raise Unsupported(
                f"{type(game).__name__} does not list its moves (method 'every_move'), and cards are hidden, "
                f"so that their places among the legal ones would mean nothing to other seats"
            )
        self.n_actions = len(codes) or int(game.max_moves)

    def moves(self, position: Any) -> dict[int, int]:
        """The legal moves of a position (one record in an array) by their numbers, in rising order."""
        moves = legal_moves(View.over(self.game, 0, position, is_open=True))
        if self._by_place:
            return dict(enumerate(moves))
        found: dict[int, int] = {}
        for move in moves:
            code = int(self.game.filed(move))
            if code not in self._numbers:
                raise BadGame(
                    f"{type(self.game).__name__} lists the move {self.game.move_text(move)}, which is not "
                    f"among its every_move"
                )
            found.setdefault(self._numbers[code], move)
        return dict(sorted(found.items()))

    def number(self, position: Any, move: int) -> int:
        """The number of a legal move."""
        if self._by_place:
            return next(number for number, legal in self.moves(position).items() if legal == move)
        return self._numbers[int(self.game.filed(move))]

    def mask(self, position: Any) -> NDArray[np.int8]:
        """1 for the numbers of legal moves."""
        mask = np.zeros(self.n_actions, np.int8)
        mask[list(self.moves(position))] = 1
        return mask

    @cached_property
    def size(self) -> int:
        """The length of a vector."""
        return len(self.vector(np.zeros(1, self.game.state)))

    def vector(self, view: NDArray[Any]) -> NDArray[np.float32]:
        """All fields of a view."""
        parts = []
        for name in view.dtype.names or ():
            field = np.ascontiguousarray(view[name])
            if field.dtype.itemsize == 8 and field.dtype.kind in "iu":
                parts.append(np.unpackbits(field.view(np.uint8), bitorder="little").astype(np.float32))
            else:
                parts.append(field.astype(np.float32).ravel())
        return np.concatenate(parts)
