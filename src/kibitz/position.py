"""Positions as objects: the state (whole truth) and the view (what one seat knows).

These are for people and scripts: checked, printable, interpreted. Search and arena work on the
arrays behind them with compiled code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.deadline import check
from kibitz.errors import BadGame, IllegalMove, quoted
from kibitz.reading import deal_number, is_number
from kibitz.rng import stream

_MOST_TOLD = 40
"""Moves in a message: more than a hand has cards."""


def listed(texts: list[str]) -> str:
    """Moves side by side; with commas, if some are of several words."""
    return (", " if any(" " in text for text in texts) else " ").join(texts)


def some(texts: list[str]) -> str:
    """Moves side by side, as many as fit into a message."""
    more = f" and {len(texts) - _MOST_TOLD} more" if len(texts) > _MOST_TOLD else ""
    return listed(texts[:_MOST_TOLD]) + more


class _Record(np.record):  # type: ignore[misc]
    """A record as interpreted rules see it, whose fields are read three times as fast as those of NumPy's."""

    __slots__ = ()
    __getattribute__ = np.void.__getattribute__

    def __getattr__(self, name: str) -> Any:
        try:
            return _get(self, name)
        except ValueError:
            raise AttributeError(f"the record has no field '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        _set(self, name, value)


_get, _set = np.void.__getitem__, np.void.__setitem__


@cache
def _as_records(state: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype((_Record, state))


class _Position:
    """A game and one record."""

    game: Any
    """The game with its parameters."""
    array: NDArray[Any]
    """The record as compiled code takes it: an array of length 1."""
    record: Any
    """The fields of the position, under the names that the rules give them."""

    def __init__(self, game: Any, array: NDArray[Any] | None = None) -> None:
        self.game = game
        self.array = np.zeros(1, game.state) if array is None else array
        self.record: Any = self.array.view(_as_records(self.array.dtype))[0]

    def __reduce__(self) -> tuple[Any, ...]:
        """For worker processes: the record is rebuilt from the array there."""
        return type(self), (self.game, self.array)

    def key(self) -> bytes:
        """What the position consists of, for comparing: all fields, without the gaps between."""
        return b"".join(self.array[name].tobytes() for name in self.array.dtype.names or ())

    @property
    def mover(self) -> int:
        """The seat that decides."""
        return int(self.game.mover(self.record))

    @property
    def is_over(self) -> bool:
        return bool(self.game.is_over(self.record))

    def legal_moves(self) -> list[int]:
        """The mover's moves, as numbers."""
        if self.is_over:
            return []
        buffer = np.zeros(self.game.max_moves, np.int64)
        n = int(self.game.legal(self.record, buffer))
        if not 0 < n <= self.game.max_moves:
            raise BadGame(
                f"{type(self.game).__name__} lists {n} legal moves where 1 to {self.game.max_moves} are "
                f"right; `kibitz check` finds such faults"
            )
        return [int(move) for move in buffer[:n]]

    def move_texts(self) -> list[str]:
        """The mover's moves, as people write them."""
        return [self.text(move) for move in self.legal_moves()]

    def text(self, move: int) -> str:
        """A legal move as people write it here."""
        return str(self.game.text_at(self.record, move))

    def read(self, text: str) -> int:
        """The move that people mean by a text here, legal or not."""
        here = dict(zip(self.move_texts(), self.legal_moves(), strict=True))
        return here[text] if text in here else int(self.game.parse_move(text))


class State(_Position):
    """The whole truth of a game in progress.

    >>> import kibitz
    >>> state = kibitz.deal("briskola", seed=7)
    >>> state.move_texts()
    ['2D', '12D', '6D']
    >>> state.play("cavallo di denari")
    >>> state.mover
    1
    """

    def view(self, seat: int | None = None) -> View:
        """What `seat` (default: the mover) can see."""
        return View(self.game, self.mover if seat is None else seat, self.array)

    def open_view(self, seat: int | None = None) -> View:
        """The whole truth as a view, for agents that cheat and for looking on after the game."""
        return View.over(self.game, self.mover if seat is None else seat, self.array.copy(), is_open=True)

    def play(self, move: int | str) -> None:
        """Make a move, given as number or text; `IllegalMove` names the legal ones."""
        if self.is_over:
            raise IllegalMove(f"{quoted(str(move))} cannot be played: the game is over")
        number = self.read(move) if isinstance(move, str) else int(move)
        if number not in self.legal_moves():
            raise IllegalMove(
                f"{quoted(self.game.move_text(number))} cannot be played by seat {self.mover}; "
                f"legal are {some(self.move_texts())}"
            )
        self.game.play(self.record, np.int64(number))

    def settle_chance(self, seed: int, *path: int) -> None:
        """Settle the chance event that is due, from the stream that `seed` and `path` name."""
        with np.errstate(over="ignore"):
            self.game.deal(self.record, stream(seed, *path))

    def returns(self) -> list[float]:
        """The score of every seat so far."""
        out = np.zeros(self.game.seats)
        self.game.returns(self.record, out)
        return [float(x) for x in out]

    def __str__(self) -> str:
        return str(self.game.picture(self.record, max(0, self.mover)))


class View(_Position):
    """What one seat knows of a position: all else is blank, so agents may get it.

    >>> import kibitz
    >>> print(kibitz.deal("briskola", seed=7).view(0))
    trump  denari (5D)
    stock  34 cards, 5D face up
    <BLANKLINE>
    seat 1              0 points   ▒▒ ▒▒ ▒▒
    you                 0 points   2D 6D 12D
    """

    seat: int
    """Whose view it is."""
    is_open: bool
    """Whether nothing is hidden, which is so for agents that cheat and after the game."""

    def __init__(self, game: Any, seat: int, truth: NDArray[Any]) -> None:
        super().__init__(game, truth.copy())
        self.seat, self.is_open = seat, False
        game.hide(self.record, seat)

    @classmethod
    def over(cls, game: Any, seat: int, array: NDArray[Any], is_open: bool) -> View:
        """A view over an array as it is: hidden from the seat already, or open."""
        view = cls.__new__(cls)
        _Position.__init__(view, game, array)
        view.seat, view.is_open = seat, is_open
        return view

    def __reduce__(self) -> tuple[Any, ...]:
        return View.over, (self.game, self.seat, self.array, self.is_open)

    def world(self, seed: int) -> State:
        """A random truth that agrees with the view."""
        return next(self.worlds([seed]))

    def worlds(self, seeds: Iterable[int]) -> Iterator[State]:
        """A random truth for every seed: those of `world`, with what they have in common found out once."""
        plan = np.zeros(1, self.game.plan).view(np.recarray)[0]
        with np.errstate(over="ignore"):
            self.game.prepare(State(self.game, self.array.copy()).record, self.seat, plan)
        for seed in seeds:
            world = State(self.game, self.array.copy())
            with np.errstate(over="ignore"):
                self.game.sample(world.record, self.seat, plan, stream(seed))
            yield world

    def __str__(self) -> str:
        return str(self.game.picture(self.record, self.seat))


def deal(game: Any, seed: int) -> State:
    """The first position of a game: deal number `seed`."""
    state = State(game)
    state.settle_chance(seed)
    return state


def deal_on(state: State, seed: int, number: int) -> int:
    """Settle what chance events are due in deal `seed`, of which `number` have been settled; how many are."""
    while not state.is_over and state.mover < 0:
        state.settle_chance(seed, number)
        number += 1
    return number


def read_position(game: Any, text: str) -> State:
    """The position that people mean: '7' or '7: 3C 2D', a deal and the moves so far; or the game's notation.

    >>> import kibitz
    >>> from kibitz.games import load
    >>> read_position(load("briskola"), "7: 12D").mover
    1
    """
    number, _, moves = text.partition(":")
    if not is_number(number):
        state: State = game.parse_position(text)
        return state
    seed = deal_number(number)
    state, chances = deal(game, seed), 1
    words = re.split(r",(?![^(]{0,99}\))", moves)  # a comma in brackets belongs to a move
    for word in filter(str.strip, words if len(words) > 1 else moves.split()):
        check()
        state.play(word.strip())
        chances = deal_on(state, seed, chances)
    return state
