"""Agents of K. Castelein, *Determinization for Monte Carlo Tree Search in the Card Game Tichu*, 2017."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from kibitz.errors import Unsupported
from kibitz.games.mini_tichu.rules import MiniTichu
from kibitz.games.tichu.sense import drop_alike
from kibitz.kernel import component
from kibitz.rng import below
from kibitz.search.montecarlo import PolicyPlayer, option


@component
class AnyPlay(NamedTuple):
    """A random play of Mini-Tichu."""

    blind: bool
    """Plays that are equal but for suits count as one."""

    def choose(policy, game, state, moves, rng):
        n = game.legal(state, moves)
        if policy.blind:
            n = drop_alike(state.hands[state.turn], moves, n)
        return moves[below(rng, n)]


@dataclass
class CasteleinRandom(PolicyPlayer):
    """Any legal play, cards told apart: of two eights three leads can be made, of one only one.

    The thesis remarks that to be blind to suits would be fairer.
    """

    blind: bool = option(False, "plays of Mini-Tichu that are equal but for suits count as one")

    @property
    def policy(self) -> Any:
        return AnyPlay(True) if self.blind else super().policy

    def start(self, game: Any, seat: int) -> None:
        """A new game begins."""
        if self.blind and not isinstance(game, MiniTichu):
            raise Unsupported(f"blind=true is for mini-tichu only, not {type(game).__name__}; leave it out")
