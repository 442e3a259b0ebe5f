"""Minimax, alpha-beta and expectiminimax as agents, for games in which nothing is hidden."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz import kernel
from kibitz.kernel import entry
from kibitz.position import View
from kibitz.search.advice import Advice, Row
from kibitz.search.montecarlo import legal_moves, option, two_sides
from kibitz.search.solver import PRUNE, Found, Limits, Settings, Solver, hidden, known_world
from kibitz.specs import Duration


@entry
def follow(game, position, move):
    """Make a move."""
    game.play(position[0], move)


@dataclass
class Classical:
    """An agent that searches to a depth; the named ones are settings of it."""

    depth: int = option(4, "moves to look ahead; dice rolls do not count", least=1, most=1000)
    time: float | None = option(
        None, "search deeper and deeper for this time, up to the depth", kind=Duration
    )
    nodes: int = option(
        0, "search deeper and deeper, up to this many positions; 0: no limit", least=0, most=10**12
    )
    prune: str = option(
        "window",
        "none: minimax; window: α and β; star1, star2: also by the range of scores, at chance events",
        choices=PRUNE,
    )
    hard: bool = option(False, "clip values to the window (fail-hard)")
    strict: bool = option(False, "cut only beyond the window, not on equal values")
    quiet: int = option(
        0, "search up to this many moves further while the position is not quiet", least=0, most=100
    )
    decided: float = option(
        0.0, "stop at positions evaluated at least this far from an even score; 0: never", least=0
    )
    urgency: bool = option(True, "try moves in the order that the game calls urgent")
    killers: bool = option(True, "try moves first that caused a cutoff at the same ply")
    history: bool = option(True, "try moves earlier that often caused cutoffs")
    table: bool = option(True, "store positions in a table, for when they are reached again")
    symmetry: bool = option(False, "search only one of several moves that are mirror images")
    keep: int = option(0, "search only the N most urgent moves; 0: all", least=0)
    keep_from: int = option(0, "apply `keep` from this depth on", least=0)
    spec: str = ""
    cheating: bool = False
    used: int = field(default=0, repr=False, compare=False)
    """Positions since it was made."""
    _solvers: dict[Any, Solver] = field(default_factory=dict, repr=False, compare=False)
    _is_stopped: bool = field(default=False, repr=False, compare=False)

    def without_effect(self) -> dict[str, str]:
        """The options that change nothing in this setting, each with the reason."""
        found: dict[str, str] = {}
        if self.prune == "none":
            found |= dict.fromkeys(("hard", "strict"), "with prune=none there is no window")
        if not self.keep:
            found["keep_from"] = "no move is left out; add keep"
        return found

    def start(self, game: Any, seat: int) -> None:
        """A new game begins; `Unsupported` if the agent cannot play it."""
        self._is_stopped = False
        self._settings(game).check(game, self.cheating)

    def learn(self, label: int) -> None:
        """The seat has seen a move."""

    def stop(self) -> None:
        """End a search that another thread runs, as `kibitz.search.montecarlo.Searcher.stop` does."""
        self._is_stopped = True

    def _must_end(self) -> bool:
        return self._is_stopped

    def choose(self, view: View, seed: int) -> int:
        """The move to make; the only one without thinking."""
        moves = legal_moves(view)
        if len(moves) == 1:
            return moves[0]
        found = self._search(view.game, self._world(view), self.depth, self._limits())
        self.used += found.nodes
        return moves[0] if found.best is None else found.best

    def advise(self, view: View, seed: int) -> Advice:
        """The move to make, with the value of every move: each is searched by itself."""
        began = time.perf_counter() - kernel.seconds_compiling()
        moves, limits, world = legal_moves(view), self._limits(), self._world(view)
        share = Limits(limits.depth, limits.nodes / len(moves), limits.seconds / len(moves))
        found = []
        for move in moves:
            after = world.copy()
            follow(view.game, after, move)
            found.append(self._search(view.game, after, self.depth - 1, share))
        self.used += sum(each.nodes for each in found)
        values = [value_for(view.game, view.seat, each) for each in found]
        best = int(np.argmax(values))
        is_exact = all(each.is_exact for each in found)
        error = 0.0 if is_exact else math.inf
        return Advice(
            best=moves[best],
            rows=tuple(
                Row(move, view.text(move), value, error, visits=0, available=0)
                for move, value in zip(moves, values, strict=True)
            ),
            value=values[best],
            seat=view.seat,
            agent=self.spec,
            unit="points",
            iterations=sum(each.nodes for each in found),
            worlds=1,
            seconds=time.perf_counter() - kernel.seconds_compiling() - began,
            seed=seed,
            exact=is_exact,
        )

    def _world(self, view: View) -> NDArray[Any]:
        """The whole truth; `Unsupported`, if the view leaves a doubt about it."""
        world = known_world(view)
        if world is None:
            raise hidden(view.game)
        self._settings(view.game).check(view.game, is_open=True)
        return world

    def _limits(self) -> Limits:
        return Limits(self.depth, self.nodes or math.inf, self.time or math.inf)

    def _search(self, game: Any, root: NDArray[Any], depth: int, limits: Limits) -> Found:
        key = (type(game), game.seats, game.max_moves)
        settings = self._settings(game)
        if key not in self._solvers or self._solvers[key].game is not game:
            # `_world` has asked whether all is open.
            self._solvers[key] = Solver(game, settings, is_open=True, must_end=self._must_end)
        solver = self._solvers[key]
        limits = Limits(depth, limits.nodes, limits.seconds)
        goes_deeper = settings.table or self.time is not None or self.nodes > 0
        return solver.deepen(root, limits) if goes_deeper and depth > 0 else solver.solve(root, limits)

    def _settings(self, game: Any) -> Settings:
        """What is asked for, as far as the game allows: without two sides nothing can be pruned."""
        named = {f.name for f in fields(Settings)}
        values = {name: getattr(self, name) for name in named} | {"decided": self.decided or math.inf}
        if not two_sides(game):
            values |= {"prune": "none", "table": False, "killers": False, "history": False}
        if game.interpreted:  # another library tells positions by their histories: none is met again
            values["table"] = False
        return Settings(**values)


def value_for(game: Any, seat: int, found: Found) -> float:
    """What a seat can expect: values between two sides are those of seat 0."""
    if len(found.values) > 1:
        return found.values[seat]
    low, high = game.score_range()
    return found.value if game.team(seat) == game.team(0) else low + high - found.value
