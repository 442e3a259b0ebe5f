"""Perfect-information Monte Carlo: worlds are sampled, and each is searched as if all cards were open.

The move that is best on average is played. A. Horák's lecture has it as the way out for card games: the deal
is one big throw of dice before the game. What is searched is not the real game, though, but one in which
everybody will soon see all cards; so nothing is ever played to find something out, or to keep it hidden.
Bridge has a solver of its own for this, see `kibitz.games.bridge.players`; here it is alpha-beta, or max^n.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.agents.classical import follow, value_for
from kibitz.errors import Unsupported
from kibitz.position import State, View
from kibitz.rng import stream
from kibitz.search.montecarlo import Searcher, Statistics, legal_moves, option, two_sides
from kibitz.search.objective import score
from kibitz.search.solver import Limits, Settings, Solver
from kibitz.search.worlds import one_world

_TABLE = 1 << 14


@dataclass
class Pimc(Searcher):
    """Sample worlds, search each of them, play the move that is best on average."""

    iterations: int = option(
        20, "worlds that are searched for one decision, or all if there are no more", least=1, most=10**9
    )
    depth: int = option(8, "moves to look ahead in each of them", least=1, most=1000)
    # Nothing is played out, and values are points: these are no options.
    objective: float | str = 0.0
    each: int = 0
    top: float = 1.0
    playout: float = 0.0
    endings: int = 0
    belief: int | str = 0
    lessons: int = 0
    learned: str = ""

    def start(self, game: Any, seat: int) -> None:
        self._is_stopped = False
        if "hide" in game.defaulted:
            raise Unsupported(f"nothing is hidden in {type(game).__name__}; let alphabeta play")

    def _must_end(self) -> bool:
        return self._is_stopped

    def _objective(self, view: View) -> Any:
        """Values are scores as they are."""
        return score(view.game)

    def _search(self, view: View, seed: int) -> Statistics:
        game = view.game
        found = Statistics.of(legal_moves(view))
        solver = self._kept(
            *("solver", game),
            lambda: Solver(game, _settings(game), _TABLE, is_open=True, must_end=self._must_end),
        )
        limits, after = Limits(self.depth - 1), np.zeros(1, game.state)
        found.exact = True
        for is_one_of_all, world in self._drawn(view, seed):
            values = []
            for move in found.moves:
                after[0] = world[0]
                follow(game, after, move)
                each = solver.solve(after, limits)
                values.append(value_for(game, view.seat, each))
                found.exact &= is_one_of_all and each.is_exact
            if self._is_stopped:  # the search of this world was cut short
                found.exact = False
                break
            found.sums += values
            found.squares += np.square(values)
            found.worlds += 1
        found.iterations = found.worlds
        found.visits[:] = found.available[:] = found.worlds
        found.unit = "points"
        return found

    def _drawn(self, view: View, seed: int) -> Iterator[tuple[bool, NDArray[Any]]]:
        """The worlds to search, and whether they are all that there are."""
        game, world = view.game, np.zeros(1, view.game.state)
        left = int(game.worlds_left(view.record, view.seat))
        if 0 < left <= self.iterations:
            for number in range(left):
                world[0] = view.array[0]
                game.world(State(game, world).record, view.seat, number)
                yield True, world
            return
        rng = stream(seed)
        drawn = self._worlds(view, "worlds", rng)
        for _ in range(self.iterations):
            one_world(game, drawn, view.array, view.seat, world, rng)
            yield False, world


def _settings(game: Any) -> Settings:
    """All that makes a search quicker and leaves its value as it is."""
    if not two_sides(game):
        return Settings()
    return Settings("window", killers=True, history=True, table=True)
