"""What a classical search remembers: the way from the root, the table, the trace; and what its words mean."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.kernel import kernel

MAX, CHANCE, MIN, OVER = 1, 0, -1, 2  # whose choice a position is
NO_MOVE, NOT_BEGUN = -1, -1

# What `search` answers.
FINISHED, PAUSED, NO_ROOM, NO_MOVES = 0, 1, 2, 3

# What `descend` answers.
OPENED, KNOWN, LEFT_OUT = 0, 1, 2

# Why moves are left out.
REASONS = ("beta", "alpha", "high", "low", "table", "symmetry", "forward", "range")
BETA, ALPHA, HIGH, LOW, TABLE, SYMMETRY, FORWARD, RANGE = range(len(REASONS))
NOT_CUT = -1

# What an entry of the transposition table knows of the value.
EXACT, AT_LEAST, AT_MOST = 0, 1, 2

# What happens, in the order of a trace.
EVENTS = ("enter", "known", "better", "cut", "leave", "skip")
ENTER, VALUE_KNOWN, BETTER, CUT, LEAVE, SKIP = range(len(EVENTS))

FRAME = np.dtype(
    [
        *(("side", "i8"), ("mover", "i8")),
        *(("width", "i8"), ("tried", "i8")),  # moves or outcomes: how many to try, how many were begun
        ("outcomes", "i8"),  # how many there are, of a chance event
        ("left", "i8"),  # moves until the horizon; below 0 while no position is quiet
        *(("alpha", "f8"), ("beta", "f8")),  # the window, as far as it has closed
        *(("first_alpha", "f8"), ("first_beta", "f8")),  # and as it was in the beginning
        *(("best", "f8"), ("best_move", "i8")),
        *(("hint", "i8"), ("key", "u8")),  # what the table says was best here, and where it stands
        ("is_probe", "i8"),  # only the first move is tried
        ("is_probing", "i8"),  # a chance event whose outcomes are being probed
        *(("cut", "i8"), ("number", "i8")),
    ]
)

OUTCOME = np.dtype(
    [
        *(("low", "f8"), ("high", "f8")),  # its value lies between them
        *(("probed", "f8"), ("probed_move", "i8")),  # what the first move was worth
        ("number", "i8"),  # of the position, if it has been probed, else 0
    ]
)

ENTRY = np.dtype(
    [*(("key", "u8"), ("age", "i8"), ("left", "i8"), ("value", "f8"), ("bound", "i8"), ("move", "i8"))]
)

EVENT = np.dtype(
    [
        *(("kind", "i8"), ("number", "i8"), ("parent", "i8"), ("move", "i8"), ("side", "i8")),
        *(("reason", "i8"), ("alpha", "f8"), ("beta", "f8"), ("ply", "i8")),
        ("is_probe", "i8"),  # only the first move is tried, so the value will be a bound
    ]
)

HEAD = np.dtype(
    [
        *(("ply", "i8"), ("nodes", "i8"), ("leaves", "i8")),
        ("estimated", "i8"),  # leaves that are not the end of the game
        ("is_probe", "i8"),  # the value that was just found is that of a first move only
        *(("events", "i8"), ("age", "i8")),
    ]
)

KILLERS = 2
HISTORY = 4096  # moves are told apart by this many remainders


class Options(NamedTuple):
    """What to leave out; `kibitz.search.solver.Settings` has the words behind the numbers."""

    depth: int
    extension: int
    decided: float
    prune: bool
    hard: bool
    strict: bool
    probe: bool
    urgent: bool
    killers: bool
    history: bool
    table: bool
    symmetry: bool
    keep: int
    keep_from: int
    several: bool
    low: float
    high: float
    trace: bool


class Work(NamedTuple):
    """All memory of a search. The first axis of `states` to `lines` is the ply; they grow together."""

    states: NDArray[Any]
    words: NDArray[Any]  # the same memory as `states`, as numbers
    frames: NDArray[Any]
    moves: NDArray[np.int64]
    odds: NDArray[np.float64]
    bounds: NDArray[Any]  # [ply, outcome]
    values: NDArray[np.float64]  # [ply, seat], with more than two sides
    lengths: NDArray[np.int64]
    lines: NDArray[np.int64]  # [ply, number]: the best line from there
    killers: NDArray[np.int64]
    result: NDArray[np.float64]  # of the position that was just left, one per seat
    keys: NDArray[np.float64]  # [move, key]: by what moves are ordered
    history: NDArray[np.float64]  # [side, move]
    table: NDArray[Any]
    cuts: NDArray[np.int64]
    head: NDArray[Any]
    events: NDArray[Any]
    event_values: NDArray[np.float64]


@kernel
def is_stack_full(work):
    """Whether there is no frame left below the next one."""
    return work.head[0]["ply"] + 2 >= len(work.frames)


def work(game: Any, plies: int = 24, table: int = 1, events: int = 1) -> Work:
    """Memory for a search of `game`; `table` is a power of two."""
    states, words = _states(game, plies)
    return Work(
        *(states, words, np.zeros(plies, FRAME)),
        *(np.zeros((plies, game.max_moves), np.int64), np.zeros((plies, game.max_moves))),
        np.zeros((plies, game.max_moves), OUTCOME),
        np.zeros((plies, game.seats)),
        *(np.zeros(plies, np.int64), np.zeros((plies, plies), np.int64)),
        np.full((plies, KILLERS), NO_MOVE),
        *(np.zeros(game.seats), np.zeros((game.max_moves, 3)), np.zeros((2, HISTORY))),
        np.zeros(table, ENTRY),
        np.zeros(len(REASONS), np.int64),
        np.zeros(1, HEAD),
        *(np.zeros(events, EVENT), np.zeros((events, game.seats))),
    )


def grown(game: Any, old: Work) -> Work:
    """The same search, with twice the room for plies or for events, whichever it was that was full."""
    plies, events = len(old.frames), len(old.events)
    if is_stack_full(old):
        plies *= 2
    else:
        events = 2 * events + 1024
    new = work(game, plies, 1, events)
    for name in ("states", "frames", "moves", "odds", "bounds", "values", "lengths", "killers"):
        getattr(new, name)[: len(old.frames)] = getattr(old, name)
    new.lines[: len(old.frames), : len(old.frames)] = old.lines
    for name in ("events", "event_values"):
        getattr(new, name)[: len(old.events)] = getattr(old, name)
    kept = {name: getattr(old, name) for name in ("result", "history", "table", "cuts", "head")}
    return new._replace(**kept)


def _states(game: Any, plies: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Positions, and the same memory as the widest numbers that fit."""
    states = np.zeros(plies, game.state)
    size = states.dtype.itemsize
    width = next(width for width in (8, 4, 2, 1) if size % width == 0)
    return states, states.view(f"u{width}").reshape(plies, size // width)
