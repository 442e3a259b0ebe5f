"""Classical search from Python: settings in words, limits, iterative deepening, algorithms compared."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz import games, kernel
from kibitz.errors import InputError, ParseError, UnknownName, Unsupported, quoted
from kibitz.games.tree import text as trees
from kibitz.position import State, View, deal, deal_on, listed, read_position
from kibitz.protocol import CHANCE
from kibitz.reading import is_file
from kibitz.rng import derive
from kibitz.search import classical, memory
from kibitz.search.montecarlo import two_sides

TO_THE_END = 1 << 40
"""A depth that no game has."""


@dataclass(frozen=True)
class Settings:
    """How to search, in words. What is not said leaves nothing out: minimax, expectiminimax or max^n."""

    prune: str = "none"
    """none; window: α and β; star1 and star2: also by the range of all scores, at chance events."""
    hard: bool = False
    """Values outside of the window become its ends (fail-hard); else they are kept (fail-soft)."""
    strict: bool = False
    """Cut only where the window has more than closed: equal values are not cut."""
    quiet: int = 0
    """So many moves further at the horizon, while positions are not quiet."""
    decided: float = math.inf
    """The search stops at positions evaluated at least this far from an even score."""
    urgency: bool = False
    killers: bool = False
    history: bool = False
    table: bool = False
    symmetry: bool = False
    keep: int = 0
    """Only the N most urgent moves are searched; 0: all."""
    keep_from: int = 0
    """`keep` applies from this depth on."""

    def options(self, game: Any, depth: int, trace: bool = False) -> memory.Options:
        """The numbers for compiled code."""
        prunes, is_star = self.prune != "none", self.prune.startswith("star")
        low, high = game.score_range() if is_star else (-math.inf, math.inf)
        return memory.Options(
            *(depth, self.quiet, float(self.decided)),
            *(prunes, self.hard, self.strict, self.prune == "star2"),
            *(self.urgency or self.keep > 0, self.killers, self.history, self.table, self.symmetry),
            *(self.keep, self.keep_from),
            not two_sides(game),
            *(float(low), float(high)),
            trace,
        )

    def check(self, game: Any, is_open: bool = False) -> None:
        """`Unsupported`, if a game cannot be searched in this way; `is_open`: nothing is hidden this time."""
        if not is_open and hides_cards(game):
            raise hidden(game)
        if not two_sides(game) and (self.prune != "none" or self.table or self.killers or self.history):
            raise Unsupported(
                f"{type(game).__name__} has more than two sides, whose windows do not bound each other; "
                f"only minimax (max^n) searches it"
            )


PRUNE = ("none", "window", "star1", "star2")


# --- what is hidden -------------------------------------------------------------------------------


def hidden(game: Any) -> Unsupported:
    """Why a search that sees everything cannot be used."""
    return Unsupported(
        f"{type(game).__name__} hides cards, and this search sees everything; let another agent "
        f"play, such as ismcts:1000"
    )


def hides_cards(game: Any) -> bool:
    """Whether something is hidden from a seat in this game, as its parameters are."""
    return "hide" not in game.defaulted and _hides_in_a_game(repr(type(game)), game)


@lru_cache
def _hides_in_a_game(_: str, game: Any) -> bool:
    """Whether any seat is blind to anything in one random game; `_`: tuples of two games may be equal."""
    state, chances, ply = deal(game, 0), 1, 0
    while not state.is_over:
        if any(state.view(seat).key() != state.key() for seat in range(game.seats)):
            return True
        moves = state.legal_moves()
        state.play(moves[derive(0, ply) % len(moves)])
        chances, ply = deal_on(state, 0, chances), ply + 1
    return False


def known_world(view: View) -> NDArray[Any] | None:
    """The whole truth, if a view leaves no doubt about it: nothing is hidden, or one world agrees with it.

    So it is in Briškola for two when the stock is used up: the other seat has what is left.
    """
    game = view.game
    if view.is_open or not hides_cards(game):
        return view.array
    if int(game.worlds_left(view.record, view.seat)) != 1:
        return None
    world = State(game, view.array.copy())
    game.world(world.record, view.seat, 0)
    return world.array


# --- algorithms -----------------------------------------------------------------------------------

ALGORITHMS: dict[str, Settings] = {
    "minimax": Settings(),
    "alphabeta-hard": Settings("window", hard=True),
    "alphabeta-strict": Settings("window", strict=True),
    "alphabeta": Settings("window"),
    "alphabeta-ordered": Settings("window", urgency=True, killers=True, history=True),
    "alphabeta-table": Settings("window", urgency=True, killers=True, history=True, table=True),
    "alphabeta-symmetry": Settings("window", symmetry=True),
    "star1": Settings("star1"),
    "star2": Settings("star2"),
}
"""The algorithms by name; the first is expectiminimax where there is chance, max^n with more sides."""


SAME = {"expectiminimax": "minimax", "max^n": "minimax"}
"""What minimax is called where there is chance, or more than two sides."""


def algorithm(name: str, **changes: float) -> Settings:
    """The settings that a name stands for, and `changes` to them."""
    name = SAME.get(name, name)
    if name not in ALGORITHMS:
        raise UnknownName("algorithm", name, [*ALGORITHMS, *SAME])
    return replace(ALGORITHMS[name], **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Found:
    """What a search has found out, and what it took."""

    values: list[float]
    """The score to be expected: of seat 0 alone between two sides, else one per seat."""
    line: list[int]
    """The best line, up to the next chance event."""
    nodes: int
    leaves: int
    cuts: dict[str, int]
    """How often something was left out, by reason."""
    depth: int
    is_exact: bool
    """Every line was followed to the end of the game, and no move was left out on a guess."""
    is_finished: bool
    seconds: float
    events: NDArray[Any] | None = field(default=None, repr=False)
    event_values: NDArray[Any] | None = field(default=None, repr=False)

    @property
    def value(self) -> float:
        """The score of seat 0."""
        return self.values[0]

    @property
    def best(self) -> int | None:
        """The move to make."""
        return self.line[0] if self.line else None


@dataclass
class Limits:
    """How much to search: whatever is reached first."""

    depth: int = TO_THE_END
    nodes: float = math.inf
    seconds: float = math.inf


_SLICE_SECONDS = 0.02


class Solver:
    """Searches positions of one game; its memory is used again."""

    def __init__(
        self,
        game: Any,
        settings: Settings,
        table: int = 1 << 16,
        compiled: bool = True,
        is_open: bool = False,
        must_end: Callable[[], bool] = lambda: False,
    ) -> None:
        settings.check(game, is_open)
        self.game, self.settings, self.is_compiled = game, settings, compiled
        self._work = memory.work(game, table=table if settings.table else 1)
        self._must_end = must_end  # asked every few hundredths of a second

    def solve(self, root: Any, limits: Limits | None = None, trace: bool = False) -> Found:
        """Search a position (an array of one record) to one depth."""
        limits = limits or Limits()
        self._forget()
        return self._search(root, limits.depth, limits, self._now(), trace)

    def deepen(self, root: Any, limits: Limits) -> Found:
        """Search deeper and deeper, until a limit is reached or everything is known."""
        self._forget()
        began, nodes = self._now(), 0
        best: Found | None = None
        for depth in range(1, limits.depth + 1):
            left = replace(limits, nodes=limits.nodes - nodes)
            found = self._search(root, depth, left, began, False)
            nodes += found.nodes
            if best is None or found.is_finished:
                best = replace(found, nodes=nodes, seconds=self._now() - began)
            if not found.is_finished or found.is_exact or nodes >= limits.nodes:
                break
        assert best is not None
        return replace(best, nodes=nodes)

    def _forget(self) -> None:
        """Nothing is left of the search before."""
        self._work.head["age"] += 1
        self._work.killers[:] = memory.NO_MOVE
        self._work.history[:] = 0

    @staticmethod
    def _now() -> float:
        """Seconds, without those for compiling."""
        return time.perf_counter() - kernel.seconds_compiling()

    def _search(self, root: Any, depth: int, limits: Limits, began: float, trace: bool) -> Found:
        options = self.settings.options(self.game, depth, trace)
        work = self._work
        for name in ("nodes", "leaves", "estimated", "is_probe", "events"):
            work.head[name] = 0
        work.head["ply"] = memory.NOT_BEGUN
        work.cuts[:] = 0
        work.states[0] = root[0]
        search = classical.search if self.is_compiled else classical.search.interpreted
        started, head = self._now(), work.head[0]
        status, chunk = memory.PAUSED, 1000
        while status != memory.FINISHED:
            before, nodes = self._now(), int(head["nodes"])
            status = search(self.game, options, work, int(min(chunk, limits.nodes - nodes)))
            now = self._now()
            if status == memory.NO_ROOM:
                self._work = work = memory.grown(self.game, work)
            elif status == memory.NO_MOVES:
                raise Unsupported(f"{type(self.game).__name__} lists no legal move where one is due")
            elif self._must_end() or now - began >= limits.seconds or head["nodes"] >= limits.nodes:
                break
            chunk = max(100, int((head["nodes"] - nodes) * _SLICE_SECONDS / max(now - before, 1e-6)))
        return self._found(work, options, depth, status == memory.FINISHED, self._now() - started)

    def _found(
        self, work: memory.Work, options: memory.Options, depth: int, is_finished: bool, seconds: float
    ) -> Found:
        head, root = work.head[0], work.frames[0]
        guessed = int(head["estimated"]) + int(work.cuts[memory.FORWARD])
        values = work.result if options.several else work.result[:1]
        if not is_finished:  # the best so far
            values = work.values[0] if options.several else np.array([float(root["best"])])
        return Found(
            [float(x) for x in values],
            work.lines[0, : work.lengths[0]].tolist(),
            *(int(head["nodes"]), int(head["leaves"])),
            {reason: int(n) for reason, n in zip(memory.REASONS, work.cuts, strict=True) if n},
            depth,
            *(is_finished and guessed == 0, is_finished),
            seconds,
            work.events[: head["events"]].copy() if options.trace else None,
            work.event_values[: head["events"]].copy() if options.trace else None,
        )


# --- what is searched, by its name ----------------------------------------------------------------

_SMALL = 2000
"""Nodes of a hand-written tree that is searched in the interpreter: compiling would take longer."""


@dataclass(frozen=True)
class Subject:
    """A position of a game in which nothing is hidden, or a tree written by hand."""

    name: str
    game: Any
    root: NDArray[Any]
    text_at: Callable[[Any, int], str]
    """What a move is called in a position."""
    has_chance: bool
    has_mirrors: bool
    is_tree: bool
    is_small: bool

    def names(self) -> list[str]:
        """The algorithms that can show a difference here."""
        if not two_sides(self.game):
            return ["minimax"]
        can_differ = {
            "alphabeta-table": not self.game.interpreted,  # a history is never met again
            "alphabeta-symmetry": self.has_mirrors,
            "star1": self.has_chance,
            "star2": self.has_chance,
        }
        return [name for name in ALGORITHMS if can_differ.get(name, True)]

    @property
    def usual(self) -> str:
        """The algorithm that is drawn if nobody says which."""
        return "alphabeta" if two_sides(self.game) else "minimax"

    @property
    def most(self) -> int:
        """Positions after which an algorithm gives up, if nobody says: some seconds of each."""
        return 20_000 if self.game.interpreted else 20_000_000

    def title(self, name: str) -> str:
        """What an algorithm is called in a game of this kind."""
        if SAME.get(name, name) != "minimax":
            return name
        if not two_sides(self.game):
            return "max^n"
        return "expectiminimax" if self.has_chance else "minimax"

    def line(self, moves: Sequence[int]) -> list[str]:
        """The moves from here on by their names."""
        state, told = State(self.game, self.root.copy()), []
        for move in moves:
            told.append(self.text_at(state.record, move))
            self.game.play(state.record, np.int64(move))
        return told

    def solve(self, settings: Settings, limits: Limits, trace: bool = False) -> Found:
        """Search it; deeper and deeper, if there is a limit of time."""
        solver = Solver(self.game, settings, 1 << 20, compiled=not self.is_small, is_open=True)
        if limits.seconds < math.inf:
            return solver.deepen(self.root, limits)
        return solver.solve(self.root, limits, trace)


def subject(name: str, position: str = "", is_open: bool = False) -> Subject:
    """The tree in a file, the example or the game of that name, at a position such as '7: 3C 2D'.

    `Unsupported`, if cards are hidden from the mover there, unless all are said to be open.
    """
    if trees.is_tree(name):
        if position:
            raise ParseError(
                f"{quoted(position)} is not a position of {name}: a tree is searched from its root"
            )
        tree = trees.load(name)
        has_chance = bool((tree.game.movers == CHANCE).any())
        has_mirrors = bool((tree.game.twins != np.arange(len(tree.game.twins))).any())
        is_small = len(tree.game.movers) <= _SMALL
        about = (Path(name).stem, tree.game, tree.root().array, tree.text_at)
        return Subject(*about, has_chance, has_mirrors, is_tree=True, is_small=is_small)
    state = read_position(_game(name), position or "0")
    game = state.game
    if state.is_over:
        raise ParseError(f"the game {quoted(position)} is over: there is nothing to search")
    root = state.array if is_open else known_world(state.view())
    if root is None:
        raise Unsupported(
            f"{type(game).__name__} hides cards from seat {state.mover}, and this search sees everything; "
            f"with --open it searches the deal as if all cards were open"
        )
    has_chance, has_mirrors = ("outcomes" not in game.defaulted, "mirror" not in game.defaulted)
    title = f"{name}, {position}" if position else name
    about = (title, game, root, game.text_at)
    return Subject(*about, has_chance, has_mirrors, is_tree=False, is_small=False)


def _game(name: str) -> Any:
    """The game of that name, where a tree might have been meant too."""
    if is_file(name) and Path(name).suffix != ".py":
        raise InputError(
            f"{name} is not a tree: its name must end in {' or '.join(trees.SUFFIXES)}; a game is a .py"
        )
    try:
        return games.load(name)
    except UnknownName as error:
        if error.kind != "game":
            raise
        hint = " Your own: a tree as my.tree or my.json, a game as my_game.py."
        raise UnknownName("tree or game", name, [*trees.examples(), *error.known], hint) from None


def compare(
    wanted: Subject,
    algorithms: dict[str, Settings],
    limits: Limits,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Found]:
    """What every algorithm finds, and what it takes."""
    found = {}
    for done, (name, settings) in enumerate(algorithms.items()):
        if progress is not None:
            progress(done, len(algorithms))
        found[name] = wanted.solve(settings, limits)
    return found


def table(wanted: Subject, found: dict[str, Found]) -> tuple[list[str], list[list[str]]]:
    """What was found, as columns and rows of text."""
    columns = ["algorithm", "value", "best line", "depth", "nodes", "leaves", "cuts", "by reason", "time"]
    rows = []
    for name, each in found.items():
        values = ", ".join(f"{value:.4g}" for value in each.values) if each.is_finished else "–"
        line = wanted.line(each.line)
        rows.append(
            [
                *(wanted.title(name), values, listed(line[:8]) + " …" * (len(line) > 8)),
                "end" if each.depth == TO_THE_END else str(each.depth),
                *(f"{each.nodes:,}", f"{each.leaves:,}", f"{sum(each.cuts.values()):,}"),
                ", ".join(f"{reason} {n:,}" for reason, n in each.cuts.items()) or "–",
                f"{each.seconds:.3f} s",
            ]
        )
    if len({row[3] for row in rows}) == 1:  # it was asked for
        return columns[:3] + columns[4:], [row[:3] + row[4:] for row in rows]
    return columns, rows


def to_dict(wanted: Subject, name: str, found: Found) -> dict[str, Any]:
    """Plain data, the same that `--json` prints."""
    content = {key: value for key, value in asdict(found).items() if not key.startswith("event")}
    depth = None if found.depth == TO_THE_END else found.depth
    return {"algorithm": name, **content, "line": wanted.line(found.line), "depth": depth}
