"""A game from a file is played once in the interpreter before machine code of it runs.

Machine code trusts the rules: an index past the end of a field overwrites memory, and a game without end is
never over. In the interpreter the same text raises an exception, and every loop here has an end. One game
finds the plain faults within a fraction of a second; `kibitz check` (`kibitz.testing`) looks for all others.
"""

from __future__ import annotations

import hashlib
import math
import sys
import textwrap
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kibitz import cache, kernel
from kibitz.errors import BadGame
from kibitz.position import State
from kibitz.protocol import CHANCE, MOST_EVENTS
from kibitz.rng import stream

FILE_MODULE = "kibitz_game_"
"""How the names of modules begin that were loaded from a file."""
LONGEST = 1_000_000
"""`max_plies` and `max_moves` are at most this: every search reserves memory by them."""
_MOVES_TRIED = 1000
"""A longer game is left after so many moves: `max_plies` still ends it in compiled code."""
_METHODS_TRIED = 20
"""In the first positions, and in every 20th, the methods are called that only searches need."""
_SEED = 0


class Broken(Exception):
    """Rules that break the protocol, with the reason."""


def demand(holds: bool, why: str) -> None:
    """`Broken` with the reason, unless it holds."""
    if not holds:
        raise Broken(why)


# --- errors that name the game ---------------------------------------------------------------------


def name_of(game: Any) -> str:
    """What people call a game in a message: its file, if it comes from one."""
    module = type(game).__module__
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).name if file and module.startswith(FILE_MODULE) else type(game).__name__


def fault(game: Any, what: str) -> BadGame:
    """An error about rules, with the command that says more."""
    name = name_of(game)
    file = f" {name}" if name.endswith(".py") else ""
    return BadGame(f"{name} {what}; `kibitz check{file}` finds such faults")


def not_over(game: Any) -> BadGame:
    """The error about a game that goes on for longer than its rules say."""
    return fault(game, f"is not over after {game.max_plies:,} moves (max_plies)")


# --- one game --------------------------------------------------------------------------------------


def walk(game: Any, seed: int) -> Iterator[State]:
    """The positions of a random game in which a seat must decide, and the last one."""
    for name in ("max_moves", "max_plies"):
        size = getattr(game, name)
        is_right = isinstance(size, int | np.integer) and bool(1 <= size <= LONGEST)
        demand(is_right, f"{name} is {str(size)[:20]}, not a number from 1 to {LONGEST:,}")
    state, chances, ply = State(game), 0, 0
    while not state.is_over:
        if state.mover == CHANCE:
            demand(chances <= game.max_plies + MOST_EVENTS, f"{chances:,} chance events lead to no end")
            state.settle_chance(seed, 1, chances)
            chances += 1
            continue
        demand(0 <= state.mover < game.seats, f"mover is {state.mover}, not a seat")
        yield state
        legal = state.legal_moves()
        demand(min(legal) >= 0, f"{min(legal)} is listed as a move; moves are numbers from 0 on")
        demand(ply < game.max_plies, f"a game lasted longer than max_plies = {game.max_plies} (seed {seed})")
        state = State(game, state.array.copy())
        state.play(legal[int(stream(seed, 2, ply)[0] % np.uint64(len(legal)))])
        ply += 1
    yield state


def try_out(game: Any) -> None:
    """Play one game in the interpreter, unless these rules have passed that before; `BadGame` if they fail.

    Only rules from files are tried, if they are compiled. What has passed is remembered on the disk for these
    sources and parameters, so other processes do not repeat it.
    """
    module = type(game).__module__
    key = (type(game), game)  # tuples of two games may be equal
    if key in _passed or not module.startswith(FILE_MODULE) or game.interpreted or not kernel.compiles():
        return
    folder = kernel.cache_folder((__name__, module))
    digest = hashlib.sha256(repr(game).encode()).hexdigest()[:16]
    note = folder / f"tried-{digest}" if folder is not None else None
    if note is None or cache.read(note) is None:
        play_once(game)
        if note is not None:
            cache.write(note, b"")
    _passed.add(key)


_passed: set[tuple[type, Any]] = set()


def play_once(game: Any) -> None:
    """One interpreted game, with every method that compiled code may call; `BadGame` if anything fails."""
    moves_played = 0
    try:
        with np.errstate(all="ignore"):
            for moves_played, state in enumerate(walk(game, _SEED)):
                _check_scores(state)
                is_chosen = moves_played < _METHODS_TRIED or moves_played % _METHODS_TRIED == 0
                if is_chosen and not state.is_over:
                    _call_methods(state, moves_played)
                if moves_played == _MOVES_TRIED:
                    break
    except Broken as broken:
        raise fault(game, f"breaks the protocol after {moves_played} moves: {broken}") from None
    except BadGame as error:
        reason = str(error).partition(";")[0]
        raise fault(game, f"breaks the protocol after {moves_played} moves: {reason}") from None
    except (Exception, SystemExit) as error:
        raise fault(game, f"fails after {moves_played} moves with {told(game, error)}") from error


def _check_scores(state: State) -> None:
    for seat, score in enumerate(state.returns()):
        demand(math.isfinite(score), f"the score of seat {seat} is {score}")


def _call_methods(state: State, number: int) -> None:
    """Call what searches call in a position, as they do: here only an exception counts, not the answer."""
    game, seat, record = state.game, state.mover, state.record
    moves, rng = np.zeros(game.max_moves, np.int64), stream(_SEED, 3, number)
    move, values = np.int64(state.legal_moves()[0]), np.zeros(2 * game.seats)
    for each in range(game.seats):
        world = state.view(each).world(number)
        game.likelihood(world.record, each)
        game.label(record, move, each)
        game.team(each)
    for choose in (game.random_move, game.sensible_move, game.playout_move):
        after = State(game, state.array.copy())
        game.play(after.record, np.int64(choose(after.record, moves, rng)))
    view = state.view()
    if "possible" not in game.defaulted:
        n = game.possible(view.record, moves)
        demand(0 < n <= len(moves), f"{n} moves are possible where 1 to {len(moves)} are right")
        game.grant(view.record, moves[0], rng)
        game.play(view.record, moves[0])
    n = game.promising(record, moves)
    demand(0 < n <= len(moves), f"{n} moves are promising where 1 to {len(moves)} are right")
    view, plan = state.view(), np.zeros(1, game.plan).view(np.recarray)[0]
    n = game.worlds_left(view.record, seat)
    if n > 0:
        game.world(view.record, seat, n - 1)
    view = state.view()
    if "predict" not in game.defaulted:
        game.predict(view.record, seat, move, np.full(game.situations, 0.5), moves, rng)
    game.prepare(view.record, seat, plan)
    game.sample(view.record, seat, plan, rng)
    game.rearrange(view.record, seat, plan, rng)
    game.evaluate(record, np.zeros(game.seats))
    game.measure(record, np.zeros(len(game.features)))
    game.tally(record, np.zeros((game.seats, len(game.counted))))
    game.lesson(record, moves)
    for ask in (game.alike, game.shows, game.urgency, game.mirror):
        ask(record, move)
    game.is_quiet(record)
    for objective in game.objectives.values():
        objective(game, state.array[0], 1.0).value(game, record, values)


def told(game: Any, error: BaseException) -> str:
    """An exception of the rules in a few words, with the line of their file."""
    file = getattr(sys.modules.get(type(game).__module__), "__file__", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    where = f" in line {lines[-1]}" if lines else ""
    text = textwrap.shorten(str(error), 60, placeholder=" …")
    return f"{type(error).__name__}{where} ({text})"
