"""Agents of K. Castelein, *Determinization for Monte Carlo Tree Search in the Card Game Tichu*, 2017."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kibitz.errors import Unsupported
from kibitz.games.mini_tichu.rules import MiniTichu
from kibitz.games.tichu.rules import PLAYING, Tichu
from kibitz.games.tichu.sense import drop_alike
from kibitz.games.tichu.text import TICHU
from kibitz.kernel import component
from kibitz.position import View
from kibitz.rng import below, stream
from kibitz.search.montecarlo import FlatMonteCarlo, PolicyPlayer, Statistics, legal_moves, option, pick
from kibitz.search.objective import Habit


@component
class AnyPlay(NamedTuple):
    """A random legal move."""

    blind: bool
    """Plays of Mini-Tichu that are equal but for suits count as one."""

    def choose(policy, game, state, moves, rng):
        if not policy.blind:
            return game.random_move(state, moves, rng)
        n = drop_alike(state.hands[state.turn], moves, game.legal(state, moves))
        return moves[below(rng, n)]


@dataclass
class CasteleinRandom(PolicyPlayer):
    """Any legal play, cards told apart: of two eights three leads can be made, of one only one.

    The thesis remarks that to be blind to suits would be fairer.
    """

    blind: bool = option(False, "plays of Mini-Tichu that are equal but for suits count as one")

    @property
    def policy(self) -> Any:
        return AnyPlay(self.blind)

    def start(self, game: Any, seat: int) -> None:
        """A new game begins."""
        if self.blind and not isinstance(game, MiniTichu):
            raise Unsupported(f"blind=true is for mini-tichu only, not {type(game).__name__}; leave it out")


@dataclass
class CasteleinMC(FlatMonteCarlo):
    """Monte Carlo; what it decides in Tichu beside the plays of cards, and how, the thesis does not say."""

    rest: str = option(
        "playouts",
        "how calls, gifts, the wish and bombs out of turn of Tichu are decided: by playouts like plays, or "
        "at random",
        choices=("playouts", "random"),
    )

    def plays_lanes(self, game: Any) -> bool:
        """Lanes play out all that there is to decide."""
        return self.rest == "playouts" and super().plays_lanes(game)

    def _search(self, view: View, seed: int) -> Statistics:
        if self.rest == "playouts" or not isinstance(view.game, Tichu):
            return super()._search(view, seed)
        moves = legal_moves(view)
        buffer = np.zeros(view.game.max_moves, np.int64)
        drawn = moves.index(pick(view.game, Habit(0.0), view.array, buffer, stream(seed)))
        if view.record.phase != PLAYING or moves[drawn] == TICHU:
            found = Statistics.of(moves)
            found.choice = drawn
            return found
        found = super()._search(view, seed)
        found.visits[[move == TICHU for move in moves]] = 0  # it was not drawn
        return found
