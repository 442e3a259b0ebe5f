"""The searches as agents: flat Monte Carlo and the one tree search with all its options."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz import gpu, kernel
from kibitz.belief import counters
from kibitz.belief.unseen import has_few_groups, plan_for_lanes
from kibitz.errors import BadOption, Unsupported
from kibitz.kernel import entry
from kibitz.position import View
from kibitz.protocol import UNNOTICED
from kibitz.rng import U, mixed, stream, streams
from kibitz.search import exact, flat, forest, tree
from kibitz.search.advice import Advice, Row
from kibitz.search.objective import Habit, Playout, Score, score
from kibitz.search.worlds import NOTHING_LEARNED, Worlds, begin, memory_for_worlds, one_world
from kibitz.specs import Duration, Option, split
from kibitz.trial import not_over

OBJECTIVES = {"points": 0.0, "wins": 1.0}
COUNTERS, CARDS = "counters", "cards"
PLAYOUTS = {"random": 0.0, "sensible": 1.0}
SELECT = {"ucb1": tree.UCB1, "ucb1-tuned": tree.UCB1_TUNED, "greedy": tree.GREEDY}
EXPAND = {
    "one": tree.EXPAND_ONE,
    "all": tree.EXPAND_ALL,
    "path": tree.EXPAND_PATH,
    "stop": tree.EXPAND_STOP,
}
BACKUP = {"mean": tree.BACKUP_MEAN, "power": tree.BACKUP_POWER, "proved": tree.BACKUP_PROVED}
WORLDS = {
    "fresh": tree.FRESH,
    "one": tree.GIVEN,
    "many": tree.GIVEN,
    "possible": tree.POSSIBLE,
    "true": tree.GIVEN,
}


def option(default: Any, help: str, **limits: Any) -> Any:
    """An option of an agent, with what `kibitz agents` says about it."""
    return field(default=default, metadata={"help": help, **limits})


def options_of(cls: type) -> dict[str, Option]:
    """The options that an agent's string may set."""
    found = {}
    for f in cls.__dataclass_fields__.values():  # type: ignore[attr-defined]
        if f.metadata:
            limits = dict(f.metadata)
            kind = limits.pop("kind", None) or type(f.default)
            found[f.name] = Option(f.name, kind, f.default, **limits)
    return found


@entry
def list_moves(game, view, moves):
    """Write the mover's legal moves into `moves`; how many there are."""
    return game.legal(view[0], moves)


def legal_moves(view: View) -> list[int]:
    """The moves to choose from, in the game's order; `View.legal_moves`, compiled."""
    moves = np.zeros(view.game.max_moves, np.int64)
    n = list_moves(view.game, view.array, moves)
    return moves[:n].tolist() if 0 < n <= len(moves) else view.legal_moves()  # which says what is wrong


@dataclass
class Statistics:
    """What is known about each legal move at the root."""

    moves: list[int]
    visits: NDArray[np.float64]
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]
    available: NDArray[np.float64]
    iterations: int = 0
    worlds: int = 0
    root_sum: float = 0.0
    """Of the values at the roots, each as often as its root was visited."""
    root_visits: int = 0
    exact: bool = False
    unit: str = ""
    """What the values count, if it is not the objective."""
    choice: int | None = None
    """The move to make, where neither visits nor value decide."""
    tried: NDArray[np.float64] | None = None
    """In which order the moves were first tried, if that decides between equal visits."""
    columns: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    """What else is known of every move, by name."""
    prefers_last: bool = False
    """Between moves that are equal in all that decides: the last in the game's order, not the first."""
    settled: bool = False
    """The tree has proved its root: the best value is the best move, however often it was tried."""

    @classmethod
    def of(cls, moves: list[int]) -> Statistics:
        """Nothing known yet."""
        n = len(moves)
        return cls(moves, np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n))

    def means(self) -> NDArray[np.float64]:
        return self.sums / np.maximum(self.visits, 1)

    def best(self, by_value: bool) -> int:
        """The index of the move to make: the first (or last) of those with the most visits (or value)."""
        if self.choice is not None:
            return self.choice
        means = np.where(self.visits > 0, self.means(), -np.inf)
        second = means if self.tried is None else -self.tried
        keys = (self.visits, means) if by_value or self.settled else (second, self.visits)
        listed = np.arange(len(self.moves))
        order = np.lexsort((listed if self.prefers_last else -listed, *keys))
        return int(order[-1])

    def advice(self, agent: Searcher, view: View, objective: Any, seconds: float, seed: int) -> Advice:
        scale, shift, unit = (1.0, 0.0, self.unit) if self.unit else _unit(objective)
        means = self.means()
        rows = []
        for i, move in enumerate(self.moves):
            n = self.visits[i]
            spread = max(0.0, self.squares[i] / n - means[i] ** 2) if n else math.inf
            error = scale * math.sqrt(spread / (n - 1)) if n > 1 else math.inf
            rows.append(
                Row(
                    move,
                    view.text(move),
                    float(scale * means[i] + shift) if n else math.nan,
                    0.0 if self.exact else error,  # all worlds were counted, none was sampled
                    int(n),
                    int(self.available[i]),
                    {name: float(column[i]) for name, column in self.columns.items()},
                )
            )
        best = self.best(agent.chooses_by_value)
        value = self.root_sum / self.root_visits if self.root_visits else float(means[best])
        return Advice(
            best=self.moves[best],
            rows=tuple(rows),
            value=scale * value + shift,
            seat=view.seat,
            agent=agent.spec,
            unit=unit,
            iterations=self.iterations,
            worlds=self.worlds,
            seconds=seconds,
            seed=seed,
            exact=self.exact,
        )


def _unit(objective: Any) -> tuple[float, float, str]:
    """How to print a value: as points of the game, as a chance to win, or as it is."""
    if not isinstance(objective, Score):
        return 1.0 / objective.top, 0.0, objective.unit
    if objective.wins == 0.0:
        return objective.span / objective.top, objective.low, "points"
    if objective.wins == 1.0:
        return 1.0 / objective.top, 0.0, "chance to win"
    return 1.0 / objective.top, 0.0, "value, 0 to 1"


@dataclass
class Searcher:
    """An agent that looks ahead: what flat Monte Carlo and tree search have in common."""

    iterations: int = option(1000, "playouts for one decision", least=1, most=10**12)
    each: int = option(
        0, "playouts for every legal move, instead of `iterations`; 0: off", least=0, most=10**9
    )
    objective: float | str = option(
        0.0,
        "what to maximize: points, wins, a number between (the weight of winning), or an objective of the "
        "game's own, by name",
        kind=float,
        choices=tuple(OBJECTIVES),
        least=0,
        most=1,
        words=True,
    )
    top: float = option(1.0, "values are scaled to 0 … top", least=1e-9)
    playout: float = option(
        0.0,
        "moves in playouts: random, sensible (the game's rules of thumb), or the share of sensible moves",
        kind=float,
        choices=tuple(PLAYOUTS),
        least=0,
        most=1,
    )
    endings: int = option(
        0, "solve a position exactly when at most this many worlds are left; 0: never", least=0
    )
    belief: int | str = option(
        0,
        "deal this many worlds beforehand and draw each as often as it explains the others' play well; "
        "cards: deal each card by how likely a seat holds it, given its play; "
        "counters: deal for every move as learned from finished games; 0: all worlds are equally likely",
        kind=int,
        choices=(COUNTERS, CARDS),
        least=0,
        most=10**6,
    )
    lessons: int = option(
        0, "with belief=counters: use the counters as they were after this many games; 0: after all", least=0
    )
    learned: str = option(
        "",
        "with belief=counters: whose counters, an agent's name or a `kibitz learn` file (default: its own)",
    )
    spec: str = ""
    cheating: bool = False
    chooses_by_value: bool = True
    used: int = field(default=0, repr=False, compare=False)
    """Iterations since it was made: with a limit of time they are not known beforehand."""
    _is_stopped: bool = field(default=False, repr=False, compare=False)
    _only_choice: bool = field(default=False, repr=False, compare=False)
    """Nobody asks for more than the move: what cannot change it may be left out."""
    _prepared: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.objective = OBJECTIVES.get(self.objective, self.objective)  # type: ignore[arg-type]
        self.playout = PLAYOUTS.get(self.playout, self.playout)  # type: ignore[call-overload]

    def without_effect(self) -> dict[str, str]:
        """The options that change nothing in this setting, each with the reason."""
        found = {}
        if self.each:
            found["iterations"] = "each says how many playouts there are"
        if self.belief != COUNTERS:
            found |= dict.fromkeys(
                ("lessons", "learned"), "it says which counters to use; add belief=counters"
            )
        return found

    def start(self, game: Any, seat: int) -> None:
        """A new game begins; `Unsupported` if the agent cannot play it."""
        self._is_stopped = False
        if isinstance(self.objective, str) and self.objective not in game.objectives:
            own = ", ".join(game.objectives) or "none of its own"
            raise Unsupported(
                f"objective={self.objective} is not known to {type(game).__name__}; it has points, wins and "
                f"{own}"
            )
        if self.belief == COUNTERS:
            self._chances(game)
            return
        needed = "rearrange" if self.belief == CARDS else "likelihood"
        if self.belief and needed in game.defaulted:
            raise Unsupported(
                f"{type(game).__name__} does not say how likely worlds are (method '{needed}'); leave "
                f"belief={self.belief} out"
            )

    def _chances(self, game: Any) -> NDArray[np.float64]:
        """What the counters have learned, if they are asked for."""
        if self.belief != COUNTERS:
            return NOTHING_LEARNED
        if "predict" in game.defaulted or "lesson" in game.defaulted:
            raise Unsupported(
                f"{type(game).__name__} learns nothing from finished games (methods 'lesson' and 'predict'); "
                f"leave belief=counters out"
            )
        whose = self.learned or split(self.spec)[0]
        return self._kept("chances", game, lambda: counters.find(game, whose).chances(self.lessons))

    def knowledge(self, game: Any) -> bytes:
        """What decides its moves beside code and options: what it has learned."""
        return self._chances(game).tobytes()

    def learn(self, label: int) -> None:
        """The seat has seen a move."""

    def stop(self) -> None:
        """End the search that another thread runs with this agent, within a moment.

        It answers by what it has found so far. Further searches end as early, until `start`: so it does
        not matter whether the search had begun when it was stopped.
        """
        self._is_stopped = True

    def choose(self, view: View, seed: int) -> int:
        """The move to make; the only one without thinking."""
        moves = legal_moves(view)
        if len(moves) == 1:
            return moves[0]
        self._only_choice = True
        found = self._think(view, seed)
        self.used += found.iterations
        return found.moves[found.best(self.chooses_by_value)]

    def advise(self, view: View, seed: int) -> Advice:
        """The move to make, with what is known about all of them."""
        began = time.perf_counter() - kernel.seconds_compiling()
        self._only_choice = False
        found = self._think(view, seed)
        self.used += found.iterations
        seconds = time.perf_counter() - kernel.seconds_compiling() - began
        return found.advice(self, view, self._objective(view), seconds, seed)

    def _objective(self, view: View) -> Any:
        """What is striven for in this position, ready for compiled code."""
        if isinstance(self.objective, str):
            return view.game.objectives[self.objective](view.game, view.array[0], self.top)
        return score(view.game, self.objective, self.top)

    def _think(self, view: View, seed: int) -> Statistics:
        if self.cheating and not view.is_open and "hide" not in view.game.defaulted:
            raise Unsupported("an agent that cheats needs to see everything: give it state.open_view()")
        if self.endings > 0 and not self.cheating:
            worlds = int(view.game.worlds_left(view.record, view.seat))
            if 0 < worlds <= self.endings:
                return self._solve(view, worlds)
        return self._search(view, seed)

    def _solve(self, view: View, worlds: int) -> Statistics:
        """The exact values, averaged over all worlds that are left."""
        game = view.game
        found = Statistics.of(legal_moves(view))
        stack = self._kept("stack", game, lambda: exact.stack(game))
        moves = np.zeros(game.max_moves, np.int64)
        exact.solve_worlds(
            *(game, self._objective(view), view.array, view.seat, worlds, two_sides(game)),
            *(moves, found.sums, found.squares, stack),
        )
        if np.isnan(found.sums).any():  # an ending has no end
            raise not_over(game)
        found.visits[:] = found.available[:] = found.worlds = worlds
        found.exact = True
        return found

    def _search(self, view: View, seed: int) -> Statistics:
        raise NotImplementedError

    def plays_lanes(self, game: Any) -> bool:
        """Whether it can decide in many games at once, with `choose_many`."""
        return False

    def _worlds(self, view: View, name: str, rng: Any) -> Worlds:
        """The worlds of a decision, ready to be drawn."""
        game, rearranged = view.game, self.belief == CARDS
        pool = 0 if isinstance(self.belief, str) else self.belief
        kept = self._kept(name, game, lambda: memory_for_worlds(game, pool, self._chances(game), rearranged))
        begin(game, kept, view.array, view.seat, rng)
        return kept

    def _kept(self, name: str, game: Any, make: Any) -> Any:
        """Memory that is made once for a game and used for every decision."""
        key = (name, type(game), game)  # tuples of two games may be equal
        if key not in self._prepared:
            self._prepared[key] = make()
        return self._prepared[key]


def two_sides(game: Any) -> bool:
    """Whether the seats make up two sides, whose interests are opposite."""
    return len({int(game.team(seat)) for seat in range(game.seats)}) == 2


_MINUS_ONE, _ZERO = U((1 << 64) - 1), U(0)
_LANES = 1 << 22
"""Lanes at once, at most."""
_MOST_AT_ONCE = 1600
"""Iterations between two looks at Ctrl-C and at `stop`: some hundredths of a second, seldom tenths."""
_MOST_OF_A_MOVE = 100_000
"""Playouts of one move before those of the next."""


@dataclass
class FlatMonteCarlo(Searcher):
    """Every legal move gets the same number of playouts, each in a freshly sampled world."""

    device: str = option(
        "auto",
        "cpu: one playout after the other; gpu: all at once, on a GPU if there is one; auto: gpu from "
        f"{gpu.LARGE:,} playouts on",
        choices=gpu.DEVICES,
    )
    ties: str = option(
        "first", "between moves of equal value: the one listed first, or last", choices=("first", "last")
    )
    least: int = 1
    """Playouts of a move, however many moves there are."""

    def without_effect(self) -> dict[str, str]:
        return super().without_effect() | {
            "top": "it weighs values against exploration, and flat search does not explore"
        }

    def start(self, game: Any, seat: int) -> None:
        super().start(game, seat)
        if self.device == "gpu":
            if self.belief or self.endings:
                raise Unsupported("device=gpu deals every world from scratch; leave out belief and endings")
            plan_for_lanes(game)

    def plays_lanes(self, game: Any) -> bool:
        """Whether playouts have streams of their own, and may be played all at once."""
        many = self.each >= gpu.LARGE or (not self.each and self.iterations >= gpu.LARGE)
        can = not self.belief and not self.endings and not game.interpreted and has_few_groups(game)
        return self.device == "gpu" or (self.device == "auto" and many and can)

    def choose_many(self, views: NDArray[Any], game: Any, seats: Any, seeds: Any) -> list[int]:
        """The moves in many decisions: the same as `choose` makes in each, with that seed."""
        moves = []
        self._only_choice = True
        for found in self._sampled(views, game, seats, streams(seeds)):
            self.used += found.iterations if len(found.moves) > 1 else 0
            moves.append(found.moves[found.best(self.chooses_by_value)])
        return moves

    def _sampled(self, views: NDArray[Any], game: Any, seats: Any, starts: Any) -> Iterator[Statistics]:
        """What lanes find out about the moves in many decisions."""
        plan = plan_for_lanes(game)
        at_once = max(1, _LANES // (flat.SLOTS * min(game.max_moves, 64)))
        for first in range(0, len(views), at_once):
            part = slice(first, first + at_once)
            yield from self._sample_some(views[part], game, seats[part], starts[part], plan)

    def _sample_some(
        self, views: NDArray[Any], game: Any, seats: Any, starts: Any, plan: Any
    ) -> list[Statistics]:
        n, plans = len(views), np.zeros(len(views), plan)
        choices = np.zeros((n, game.max_moves), np.int64)
        width = flat.list_choices(game, views, seats, plans, choices, np.zeros(game.max_moves, np.int64))
        choices = np.ascontiguousarray(choices[:, :width])
        widths = (choices != flat.NO_MOVE).sum(axis=1)
        each = self.each or np.maximum(self.least, self.iterations // widths)
        each = np.where(widths > 1, each, 0) if self._only_choice else np.broadcast_to(each, n).copy()
        objective = kernel.stack(
            [self._objective(View.over(game, int(s), views[i : i + 1], False)) for i, s in enumerate(seats)]
        )
        task, on_gpu = flat.Samples(objective, self.playout, game.max_plies), gpu.choose(self.device)
        of_lanes = [np.zeros((n, width, flat.SLOTS)) for _ in ("sums", "squares")]
        sums, squares, done = np.zeros((n, width)), np.zeros((n, width)), np.zeros_like(each)
        for first in range(0, int(each.max()), flat.PORTION):
            done = np.minimum(each, first + flat.PORTION)
            data = (views, plans, seats, starts, first, done, choices)
            outputs = tuple(of_lane.reshape(-1) for of_lane in of_lanes)
            gpu.run(game, task, n * width * flat.SLOTS, data, outputs, on_gpu)
            if (of_lanes[1] == flat.NOT_OVER).any():
                raise not_over(game)
            sums += of_lanes[0].sum(axis=2)
            squares += of_lanes[1].sum(axis=2)
            if self._is_stopped:
                break
        found = []
        for i in range(n):
            one = self._statistics(choices[i, : widths[i]].tolist())
            one.sums[:], one.squares[:] = sums[i, : widths[i]], squares[i, : widths[i]]
            one.visits[:] = one.available[:] = done[i]
            one.iterations = one.worlds = int(done[i] * widths[i])
            found.append(one)
        return found

    def _statistics(self, moves: list[int]) -> Statistics:
        found = Statistics.of(moves)
        found.prefers_last = self.ties == "last"
        return found

    def _search(self, view: View, seed: int) -> Statistics:
        game = view.game
        if self.plays_lanes(game):
            return next(self._sampled(view.array, game, np.array([view.seat]), stream(seed)))
        found = self._statistics(legal_moves(view))
        each = self.each or max(self.least, self.iterations // len(found.moves))
        world, rng = np.zeros(1, game.state), stream(seed)
        drawn, objective = self._worlds(view, "worlds", rng), self._objective(view)
        moves, values = np.zeros(game.max_moves, np.int64), np.zeros(2 * game.seats)
        for begun in range(0, each, _MOST_OF_A_MOVE):
            share = min(_MOST_OF_A_MOVE, each - begun)
            last = share * len(found.moves)
            for first in range(0, last, _MOST_AT_ONCE):
                if self._is_stopped and first + begun:
                    return found
                after = min(first + _MOST_AT_ONCE, last)
                are_over = flat.sample(
                    *(game, objective, Playout(self.playout, view.seat), view.array, view.seat),
                    *(share, first, after, game.max_plies, drawn),
                    *(world, moves, values, found.sums, found.squares, rng),
                )
                if not are_over:
                    raise not_over(game)
                done = np.clip(after - share * np.arange(len(found.moves)), 0, share)
                found.visits[:] = found.available[:] = begun + done
                found.iterations = found.worlds = int(found.visits.sum())
        return found


_MOST_THREADS = 256
"""Of a processor."""
_TIMED_NODES = 1 << 20
"""Memory of a search that is limited by time; when it is full, the tree grows no more."""
_CHUNK_SECONDS = 0.02


@dataclass
class TreeSearch(Searcher):
    """Monte Carlo tree search in all its kinds; the named agents are settings of it."""

    time: float | None = option(None, "time for one decision, instead of iterations", kind=Duration)
    worlds: str = option(
        "fresh",
        "fresh: a new deal each iteration; one or many: deals with a tree each; possible: a tree "
        "over the moves that seats might hold; true: the real cards (cheating)",
        choices=tuple(WORLDS),
    )
    trees: int = option(20, "number of deals, with worlds=many", least=1)
    select: str = option("ucb1", "how moves are chosen in the tree", choices=tuple(SELECT))
    c: float = option(0.7, "weight of exploration", least=0)
    inside: bool = option(False, "c inside the root: √(c·ln N / n)")
    expand: str = option(
        "one",
        "new nodes: one move; all moves, of which one is tried; the whole path; or all moves, and stop there",
        choices=tuple(EXPAND),
    )
    trials: str = option(
        "available",
        "N in √(ln N / n) with worlds=fresh: how often the move was available, or the visits of the node",
        choices=("available", "visits"),
    )
    backup: str = option("mean", "how values move up", choices=tuple(BACKUP))
    p: float = option(1.0, "exponent of the power mean, with backup=power", least=1)
    growth: float = option(0.0, "p grows by this factor times the logarithm of the visits", least=0)
    chosen: str = option("visits", "the final choice: most visits or best value", choices=("visits", "value"))
    ties: str = option(
        "value",
        "between equally visited moves: the better value, or the one tried first",
        choices=("value", "first"),
    )
    opponents: str = option(
        "own",
        "what others maximize in the tree: own: their own value; help: the searcher's",
        choices=("own", "help"),
    )
    merge: bool = option(False, "below the root, treat moves that the game calls alike as one")
    prune: bool = option(False, "consider only moves that the game calls promising")
    infosets: str = option(
        "moves",
        "what distinguishes positions in the tree: the moves played, or all that the seat has seen "
        "(full: drawn cards too)",
        choices=("moves", "full"),
    )
    playouts: int = option(1, "playouts per leaf", least=1)
    threads: int = option(1, "independent trees on as many threads, summed", least=1, most=1 << 16)
    keep: bool = option(False, "keep the tree between moves")
    device: str = option(
        "cpu",
        "gpu: the trees of all threads, and of all games of a match, grow at once, on a GPU if available",
        choices=("cpu", "gpu"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.cheating = self.worlds == "true"
        self.chooses_by_value = self.chosen == "value"
        self._trees: list[tree.Buffers] | None = None  # kept between moves
        self._spare: dict[int, tree.Buffers] = {}
        self._is_interrupted = False

    def without_effect(self) -> dict[str, str]:
        idle = super().without_effect()
        if self.time is not None:
            idle |= dict.fromkeys(("iterations", "each"), "time limits the search")
        if self.backup != "power":
            idle |= dict.fromkeys(("p", "growth"), f"backup={self.backup} has no exponent; add backup=power")
        if self.select == "greedy":
            idle["c"] = "select=greedy does not explore"
        if self.select != "ucb1":
            idle["inside"] = f"select={self.select} has a formula of its own"
        if self.chosen == "value":
            idle["ties"] = "chosen=value goes by value alone"
        elif self.threads > 1 or (self.worlds == "many" and self.trees > 1):
            idle["ties"] = "with several trees no move was tried first in all"
        if self.worlds != "fresh":
            idle["trials"] = f"with worlds={self.worlds} every move of a node is always available"
        if self.worlds != "many":
            idle["trees"] = f"worlds={self.worlds} does not grow a tree for each deal; add worlds=many"
        if self.worlds == "possible" and self.belief != COUNTERS:
            idle["belief"] = "with worlds=possible cards are dealt at random, and only for playouts"
        if self.worlds in ("one", "many", "true") and not self.keep:
            idle["infosets"] = f"with worlds={self.worlds} the deal is known, and moves say all"
        if self.cheating:
            idle |= dict.fromkeys(("belief", "endings"), "the real cards are searched")
        return idle

    def start(self, game: Any, seat: int) -> None:
        super().start(game, seat)
        self._check(game)
        self._trees = None

    def learn(self, label: int) -> None:
        """Walk into the kept trees along what the seat has seen; a path never tried is forgotten."""
        if self._trees is None or label == UNNOTICED:
            return
        for thread, old in enumerate(self._trees):
            new = self._spare.pop(thread, None) or tree.Buffers(*(np.zeros_like(array) for array in old))
            if not tree.descend(old, new, label):
                self._trees = None
                return
            self._trees[thread], self._spare[thread] = new, old

    def _check(self, game: Any) -> None:
        hidden = "hide" not in game.defaulted
        if self.worlds == "possible" and hidden and "possible" in game.defaulted:
            raise Unsupported(
                f"worlds=possible needs the methods 'possible' and 'grant' of {type(game).__name__}; "
                f"choose worlds=fresh, or write them as kibitz.protocol says"
            )
        if self.backup != "mean":
            if not two_sides(game):
                raise Unsupported(f"backup={self.backup} needs two sides; choose backup=mean")
            if self.merge:
                raise Unsupported(f"backup={self.backup} cannot merge moves; choose merge=false")
            if hidden and self.worlds in ("fresh", "possible"):
                raise Unsupported(
                    f"backup={self.backup} needs positions that are known in the tree; choose "
                    f"worlds=one, many or true, or backup=mean"
                )
        if self.keep and hidden and self.worlds not in ("fresh", "true"):
            raise Unsupported(f"keep=true cannot keep trees with worlds={self.worlds}; choose worlds=fresh")
        if self.belief == COUNTERS and self.worlds != "fresh":
            raise Unsupported(
                f"belief=counters deals for every move, not with worlds={self.worlds}; choose worlds=fresh"
            )
        if self.keep and self.merge:
            raise Unsupported("keep=true must tell moves apart; choose merge=false")
        if self.prune and "promising" in game.defaulted:
            raise Unsupported(
                f"{type(game).__name__} does not say which moves are promising (method 'promising'); leave "
                f"prune out"
            )
        if self.prune and (self.worlds == "possible" or self.backup == "proved"):
            raise Unsupported(
                "prune=true leaves moves out; it goes neither with worlds=possible nor with backup=proved"
            )
        if self.merge and "alike" in game.defaulted:
            raise Unsupported(f"{type(game).__name__} calls no moves alike (method 'alike'); leave merge out")
        if self.keep and self.infosets == "moves" and "label" not in game.defaulted:
            raise Unsupported("keep=true needs to know what the seat has seen; add infosets=full")
        if self.threads > _MOST_THREADS and self.device == "cpu":
            raise BadOption(f"threads={self.threads} are for device=gpu; a processor takes {_MOST_THREADS}")
        if self.plays_lanes(game):
            plan_for_lanes(game)
            unfit = {
                f"worlds={self.worlds}": self.worlds not in ("fresh", "possible"),
                f"backup={self.backup}": self.backup != "mean",
                "belief=counters": self.belief == COUNTERS,
                **{name: bool(getattr(self, name)) for name in ("time", "each", "keep", "endings")},
            }
            if any(unfit.values()):
                raise Unsupported(
                    f"device=gpu grows trees by a number of iterations, with worlds=fresh or possible and "
                    f"backup=mean; {self.spec} has {', '.join(name for name in unfit if unfit[name])}"
                )

    def plays_lanes(self, game: Any) -> bool:
        """Whether many trees grow at once."""
        return self.device == "gpu"

    def choose_many(self, views: NDArray[Any], game: Any, seats: Any, seeds: Any) -> list[int]:
        """The moves in many decisions: the same as `choose` makes in each, with that seed."""
        self._only_choice = True
        chosen = []
        for found in self._grown(views, game, seats, seeds):
            self.used += found.iterations
            chosen.append(found.moves[found.best(self.chooses_by_value)])
        return chosen

    def _grown(self, views: NDArray[Any], game: Any, seats: Any, seeds: Any) -> Iterator[Statistics]:
        """What trees of all threads find out about the moves in many decisions."""
        capacity, plan = self._capacity(game, self._share(0)), plan_for_lanes(game)
        pool = 0 if isinstance(self.belief, str) else self.belief
        shapes = partial(forest.memory, game, plan, capacity, pool)
        on_gpu = gpu.choose(self.device)
        at_once = len(views)
        if on_gpu:
            each = sum(math.prod(shape) * np.dtype(kind).itemsize for shape, kind in shapes(1))
            at_once = max(1, int(0.8 * gpu.free_memory() / each) // self.threads)
        for first in range(0, len(views), at_once):
            part = slice(first, first + at_once)
            yield from self._grow_some(views[part], game, seats[part], seeds[part], shapes, on_gpu)

    def _grow_some(
        self, views: NDArray[Any], game: Any, seats: Any, seeds: Any, shapes: Any, on_gpu: bool
    ) -> Iterator[Statistics]:
        n, threads = len(views), np.arange(self.threads, dtype=np.uint64)
        choices = np.zeros((n, game.max_moves), np.int64)
        moves = np.zeros(game.max_moves, np.int64)
        width = flat.list_choices(game, views, seats, np.zeros(n, plan_for_lanes(game)), choices, moves)
        choices = np.ascontiguousarray(choices[:, :width])
        widths = (choices != flat.NO_MOVE).sum(axis=1)
        objectives = [
            self._objective(View.over(game, int(s), views[i : i + 1], False)) for i, s in enumerate(seats)
        ]
        shares = np.array([self._share(thread) for thread in range(self.threads)])
        iterations = np.tile(shares, n)
        if self._only_choice:
            iterations *= np.repeat(widths > 1, self.threads)
        own = mixed(np.repeat(streams(seeds), self.threads), np.tile(threads, n))
        figures = np.zeros((n * self.threads, width, len(forest.FIGURES)))
        roots = np.zeros((n * self.threads, 3))
        gpu.run(
            game,
            forest.Forest(
                kernel.stack([o for o in objectives for _ in threads]),
                *(self._options(), self.playout, self._may_stop(1), self.belief == CARDS),
            ),
            n * self.threads,
            (
                *(np.repeat(views, self.threads), np.repeat(seats, self.threads)),
                *(mixed(own, _MINUS_ONE), mixed(own, _ZERO), iterations),
                *(np.repeat(choices, self.threads, axis=0), NOTHING_LEARNED),
            ),
            *((figures, roots), on_gpu),
            memory=shapes,
        )
        if (roots[:, 2] == tree.NOT_OVER).any():
            raise not_over(game)
        by_decision = figures.reshape(n, self.threads, width, -1)
        for i in range(n):
            found = Statistics.of(choices[i, : widths[i]].tolist())
            of_roots = roots[i * self.threads : (i + 1) * self.threads]
            sums = by_decision[i, :, : widths[i]].sum(axis=0)
            found.visits[:], found.sums[:], found.squares[:], found.available[:] = sums[:, :4].T
            found.root_sum, visits, done = of_roots.sum(axis=0)
            found.root_visits, found.iterations = int(visits), int(done)
            found.worlds = found.iterations
            if self.worlds != "fresh":
                found.available[:] = visits
            if self.ties == "first" and self.threads == 1:
                numbers = by_decision[i, 0, : widths[i], 4]
                found.tried = np.where(numbers == tree.NO_NODE, np.inf, numbers)
            yield found

    def _options(self) -> tree.Options:
        return tree.Options(
            WORLDS[self.worlds],
            *(SELECT[self.select], self.c, self.inside, EXPAND[self.expand], BACKUP[self.backup]),
            *(self.p, self.growth, self.opponents == "help", self.merge),
            self.infosets == "full" and self.worlds in ("fresh", "possible"),
            self.prune,
            self.playouts,
            self._is_lazy,
            self.trials == "visits",
            self.top,
        )

    @property
    def _is_lazy(self) -> bool:
        """Whether a path below its first new node can be kept as a line of moves until it is needed.

        Most of a path is never visited again. A proof must reach every node of it, so it is grown then.
        """
        # There must be a line for every play.
        counted = self.time is None and not self.keep and not self.each
        known = self.worlds in ("one", "many", "true")
        return self.expand == "path" and counted and known and self.backup != "proved"

    def _capacity(self, game: Any, iterations: int) -> int:
        path = 5 if self._is_lazy else game.max_plies  # a node a play, and those that were kept as lines
        each = {"one": 1, "all": game.max_moves, "path": path, "stop": game.max_moves}[self.expand]
        each += self.infosets == "full"
        return min(_TIMED_NODES, iterations * each + game.max_moves + 2)

    def _search(self, view: View, seed: int) -> Statistics:
        self._check(view.game)
        # Without a GPU threads do the same, and can be stopped.
        if self.plays_lanes(view.game) and (gpu.choose(self.device) or self.threads > _MOST_THREADS):
            seeds = np.array([seed], np.uint64)
            return next(self._grown(view.array, view.game, np.array([view.seat]), seeds))
        self._is_interrupted = False
        moves = legal_moves(view)
        memories, is_fresh = self._memories(view.game)
        shares = [Statistics.of(moves) for _ in memories]
        grow = partial(self._grow, view, seed, is_fresh)
        if self.threads == 1:
            grow(0, memories[0], shares[0])
            return shares[0]
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                list(pool.map(grow, range(self.threads), memories, shares))
            except BaseException:
                self._is_interrupted = True  # Ctrl-C: the threads must end before the pool can
                raise
        found = Statistics.of(moves)
        for share in shares:
            for name in ("visits", "sums", "squares", "available"):
                getattr(found, name)[:] += getattr(share, name)
            found.iterations += share.iterations
            found.worlds += share.worlds
            found.root_sum += share.root_sum
            found.root_visits += share.root_visits
        return found

    def _memories(self, game: Any) -> tuple[list[tree.Buffers], bool]:
        """The trees to grow, one a thread, and whether they must be emptied first."""
        if self._trees is not None:
            return self._trees, False
        memories = [
            self._kept(f"tree {thread}", game, partial(self._memory, game, thread))
            for thread in range(self.threads)
        ]
        if self.keep:
            self._trees = list(memories)
        return memories, True

    def _memory(self, game: Any, thread: int) -> tree.Buffers:
        capacity = self._capacity(game, self._share(thread))
        if self.time or self.each:
            capacity = _TIMED_NODES if self.time else _TIMED_NODES >> 2  # not known beforehand
        if self.keep:
            capacity = min(_TIMED_NODES, 4 * capacity)
        # Every play that is kept as a line has made a node.
        lines = min(capacity, self._share(thread)) if self._is_lazy else 0
        try:
            return tree.buffers(game, capacity, lines)
        except MemoryError as error:
            raise Unsupported(
                f"there is too little memory for the trees of {self.spec}; ask for fewer iterations"
            ) from error

    def _share(self, thread: int, iterations: int = 0) -> int:
        """The iterations of one thread: together they make up the number asked for."""
        iterations = iterations or self.iterations
        return iterations // self.threads + (thread < iterations % self.threads)

    def _grow(
        self, view: View, seed: int, is_fresh: bool, thread: int, memory: tree.Buffers, found: Statistics
    ) -> None:
        """Grow the trees of one thread and add what the root has learned to `found`."""
        game, objective = view.game, self._objective(view)
        root, trees = view.array, 1
        drawn = self._worlds(view, f"worlds {thread}", stream(seed, thread, -1))
        if self.worlds in ("one", "many"):
            root, trees = np.zeros(1, game.state), self.trees if self.worlds == "many" else 1
        for number in range(trees):
            if number and self._must_end:
                break
            rng = stream(seed, thread, number)
            if self.worlds in ("one", "many"):
                one_world(game, drawn, view.array, view.seat, root, rng)
            iterations = self._share(thread, self.each * len(found.moves))
            iterations = iterations // trees + (number < iterations % trees)
            done = self._run(
                game, objective, root, view.seat, memory, drawn, iterations, trees, is_fresh, rng
            )
            found.iterations += done
            found.worlds += done if self.worlds in ("fresh", "possible") else 1
            found.settled = trees == self.threads == 1 and bool(memory.nodes[tree.ROOT]["proved"])
            self._add(memory, found)
        if self.ties == "first" and trees == self.threads == 1:
            found.tried = self._order(memory, found)

    def _run(
        self, game: Any, objective: Any, root: Any, seat: int, memory: tree.Buffers,
        drawn: Worlds, iterations: int, trees: int, fresh_tree: bool, rng: Any,
    ) -> int:  # fmt: skip
        """Search until the iterations or the time are used up; how many iterations it were."""
        parts = (game, objective, Playout(self.playout, seat), self._options(), root, seat, memory, drawn)
        if self.time is None:
            done, most = 0, max(1, _MOST_AT_ONCE // self.playouts)
            while done < iterations and not (done and self._must_end):
                chunk = min(most, iterations - done)
                later = iterations - done - chunk if self._may_stop(trees) else tree.NEVER_DECIDED
                ran = int(tree.search(*parts, chunk, later, fresh_tree and done == 0, rng))
                if ran == tree.NOT_OVER:
                    raise not_over(game)
                done += ran
                if ran < chunk:
                    break
            return done
        tree.search(
            *parts, 0, tree.NEVER_DECIDED, fresh_tree, rng
        )  # loads the code, so that it does not cost time
        began, limit = time.perf_counter(), self.time / trees
        done, chunk = 0, 64
        while True:
            before = time.perf_counter()
            ran = int(tree.search(*parts, chunk, tree.NEVER_DECIDED, False, rng))
            if ran == tree.NOT_OVER:
                raise not_over(game)
            done += ran
            now = time.perf_counter()
            left = limit - (now - began)
            if left <= 0 or ran < chunk or self._must_end:
                return done
            chunk = max(1, int(chunk * min(left, _CHUNK_SECONDS) / max(now - before, 1e-6)))

    @property
    def _must_end(self) -> bool:
        return self._is_stopped or self._is_interrupted

    def _may_stop(self, trees: int) -> bool:
        """Whether the visits of this one tree are all that decides, and nothing of it is kept."""
        alone = trees == self.threads == 1 and not self.keep
        return self._only_choice and alone and self.chosen == "visits" and self.backup != "proved"

    @staticmethod
    def _children(memory: tree.Buffers, found: Statistics) -> Iterator[tuple[int, int]]:
        """The nodes of the moves at the root, as (number of the move, number of the node)."""
        places = {move: i for i, move in enumerate(found.moves)}
        number = int(memory.nodes[tree.ROOT]["child"])
        while number != tree.NO_NODE:
            node = memory.nodes[number]
            if int(node["key"]) in places:
                yield places[int(node["key"])], number
            number = int(node["sibling"])

    def _add(self, memory: tree.Buffers, found: Statistics) -> None:
        root = memory.nodes[tree.ROOT]
        found.root_sum += float(root["value"])
        found.root_visits += int(root["visits"])
        for i, number in self._children(memory, found):
            node = memory.nodes[number]
            found.visits[i] += node["visits"]
            found.sums[i] += node["value"]
            found.squares[i] += node["squares"]
            # Where nothing is dealt anew a move is there in every iteration; the tree does not count that.
            found.available[i] += node["available"] if self.worlds == "fresh" else root["visits"]

    def _order(self, memory: tree.Buffers, found: Statistics) -> NDArray[np.float64]:
        """When each move was first tried: nodes are numbered as they are made."""
        order = np.full(len(found.moves), np.inf)
        for i, number in self._children(memory, found):
            order[i] = number
        return order


@entry
def pick(game, policy, view, moves, rng):
    """The move of a policy."""
    return policy.choose(game, view[0], moves, rng)


@dataclass
class PolicyPlayer:
    """An agent that does not look ahead: random, or by the game's rules of thumb."""

    sense: float = 0.0
    spec: str = ""
    cheating: bool = False

    @property
    def policy(self) -> Any:
        """What chooses its moves, for compiled code: it looks at nothing that the mover cannot see."""
        return Habit(self.sense)

    def start(self, game: Any, seat: int) -> None:
        """A new game begins."""
        if self.sense > 0 and "sensible_move" in game.defaulted:
            raise Unsupported(
                f"{type(game).__name__} has no rules of thumb (method 'sensible_move') for a "
                f"rule-based agent; let a search play, such as ismcts:1000"
            )

    @property
    def is_random(self) -> bool:
        """Whether every move is as good as any other."""
        return self.sense == 0

    def learn(self, label: int) -> None:
        """The seat has seen a move."""

    def choose(self, view: View, seed: int) -> int:
        self.start(view.game, view.seat)
        moves = np.zeros(view.game.max_moves, np.int64)
        return int(pick(view.game, self.policy, view.array, moves, stream(seed)))

    def advise(self, view: View, seed: int) -> Advice:
        began = time.perf_counter() - kernel.seconds_compiling()
        best = self.choose(view, seed)
        moves = view.legal_moves()
        if self.is_random:
            rows = [Row(m, view.text(m), math.nan, math.inf, 0, 1) for m in moves]
        else:
            rows = [Row(m, view.text(m), math.nan, math.inf, m == best, 1) for m in moves]
        seconds = time.perf_counter() - kernel.seconds_compiling() - began
        return Advice(best, tuple(rows), math.nan, view.seat, self.spec, "no value", 0, 0, seconds, seed)
