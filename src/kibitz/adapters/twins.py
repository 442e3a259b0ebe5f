"""Games that Kibitz and OpenSpiel both have: the same positions and moves in the words of either.

One side can be asked whether the other keeps the rules, and OpenSpiel's searches can play at their own
speed, in C++, on positions of Kibitz. `twin.py` in the folder of a game has its twin, if the parameters are
such that OpenSpiel has the same game (`kibitz.games.parts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kibitz.games import parts
from kibitz.games.openspiel import native_game


class Twin:
    """A game of which Kibitz and OpenSpiel have the same moves by the same numbers."""

    def __init__(self, game: Any, name: str) -> None:
        self.game, self.name = game, name

    def native(self, record: Any) -> str:
        """OpenSpiel's game for a position, with its parameters."""
        return self.name

    def opening(self, record: Any) -> list[int]:
        """OpenSpiel's actions before the first move: the deal. `record` is any position after it, open."""
        return []

    def action(self, move: int) -> int:
        """OpenSpiel's number of a move."""
        return int(move)

    def move(self, action: int) -> int:
        """The move that OpenSpiel's number means."""
        return int(action)

    def position(self, record: Any, moves: Sequence[int]) -> Any:
        """OpenSpiel's position after `moves`; `record` is the open position that they have led to."""
        state = native_game(self.native(record)).new_initial_state()
        for action in self.opening(record):
            state.apply_action(action)
        for move in moves:
            state.apply_action(self.action(move))
        return state


class CardTwin(Twin):
    """Cards are numbered by rank first in OpenSpiel, by suit first here."""

    suits, ranks = 4, 13

    def action(self, move: int) -> int:
        return move % self.ranks * self.suits + move // self.ranks

    def move(self, action: int) -> int:
        return action % self.suits * self.ranks + action // self.suits

    def dealt(self, record: Any) -> list[int]:
        """The hands before the play, card by card around the table, as OpenSpiel deals them."""
        hands = []
        for seat in range(self.game.seats):
            cards = int(record.hands[seat]) | int(record.gone[seat])
            hands.append([card for card in range(self.suits * self.ranks) if cards >> card & 1])
        return [self.action(card) for around in zip(*hands, strict=True) for card in around]


def twin_of(game: Any) -> Twin | None:
    """The twin of a game of Kibitz, if OpenSpiel has the same one: `twin.py` beside its rules says so."""
    find = getattr(parts.beside(type(game).__module__, "twin"), "twin_of", None)
    return find(game) if find else None
