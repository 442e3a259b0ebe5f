"""How fast it is: rates, ratios in one run, and the machine they were measured on.

A rate alone says little on a shared machine, so what is compared is measured in turns: the median
of nine interleaved ratios is given, with their range.
"""

from __future__ import annotations

import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kibitz import games, gpu
from kibitz.agents import make_agent
from kibitz.errors import Unsupported
from kibitz.kernel import component, entry, kernel
from kibitz.position import deal
from kibitz.protocol import MOST_EVENTS
from kibitz.rng import U, mixed, stream
from kibitz.search.objective import Habit, play_out
from kibitz.trial import not_over

ROUNDS = 9
SEARCH_ITERATIONS = 5000
C_SOURCE = Path(__file__).parents[2] / "benchmarks" / "briskola_playout.c"
C_FLAGS = (("-O2",), ("-O3", "-march=native"))

Progress = Callable[[int, int], None]


@kernel
def play_through(game, policy, state, moves, most, rng):
    """Deal and play a whole game. Returns how many of `most` moves are left; below 0: it has no end."""
    left = most
    for _ in range(most + MOST_EVENTS):
        if game.is_over(state):
            break
        game.deal(state, rng)
        left = play_out(game, policy, state, moves, left, rng)
    return left if game.is_over(state) else -1


@entry
def random_games(game, policy, n, most, position, moves, out, totals, rng):
    """Deal and play `n` random games; the scores are added to `totals`. Whether all ended in `most` moves."""
    for _ in range(n):
        position[0] = position[1]  # nothing dealt yet
        if play_through(game, policy, position[0], moves, most, rng) < 0:
            most = -1  # no further game makes a move; another way out of the loop would slow it
        game.returns(position[0], out)
        for seat in range(game.seats):
            totals[seat] += out[seat]
    return most >= 0


@entry
def playouts_from(game, policy, n, most, start, position, moves, out, rng):
    """Play `n` random games on from a position; whether all ended within `most` moves."""
    for _ in range(n):
        position[0] = start[0]
        if play_out(game, policy, position[0], moves, most, rng) < 0:
            return False
        game.returns(position[0], out)
    return True


def _playouts(game: Any, n: int, start: int, interpreted: bool = False) -> tuple[float, list[float]]:
    """Seconds for `n` random games, and the points of each seat."""
    run = random_games.interpreted if interpreted else random_games
    position, moves = np.zeros(2, game.state), np.zeros(game.max_moves, np.int64)
    out, totals = np.zeros(game.seats), np.zeros(game.seats)
    rng = stream(start)
    began = time.perf_counter()
    if not run(game, Habit(0.0), n, game.max_plies, position, moves, out, totals, rng):
        raise not_over(game)
    return time.perf_counter() - began, totals.tolist()


@component
class RandomGames(NamedTuple):
    """The task of a lane: some random games, their scores added up; NaN, if one is not over in time."""

    policy: Any
    most: int

    def lane(task, game, number, scratch, data):
        start, each, blank, totals = data
        state, rng = scratch.position[0], scratch.rng
        rng[0] = mixed(U(start), number)
        for seat in range(game.seats):
            totals[number, seat] = 0.0
        for _ in range(each):
            scratch.position[0] = blank[0]
            left = play_through(game, task.policy, state, scratch.moves, task.most, rng)
            game.returns(state, scratch.values)
            for seat in range(game.seats):
                totals[number, seat] += scratch.values[seat] if left >= 0 else math.nan


LANES = 1 << 20
"""Several times as many as the largest GPU has room for at a time: few wait for the last ones."""
_GAMES_OF_A_LANE = 4


def bench_gpu(spec: str, seconds: float, progress: Progress) -> dict[str, Any]:
    """Random games on a GPU and on one core of its machine, in turns; the scores must be the same."""
    game, device = games.load(spec), gpu.device()
    if game.interpreted or not gpu.block_size(game):
        raise Unsupported(
            f"{spec} cannot be played on a GPU: its rules are not compiled, or a position is too large"
        )
    blank = np.zeros(1, game.state)
    result: dict[str, Any] = {"game": spec, "machine": machine(), "gpu": device.to_dict(), "rounds": ROUNDS}

    def play(start: int, lanes: int, each: int, on_gpu: bool) -> tuple[float, Any]:
        totals = np.zeros((lanes, game.seats))
        data = (np.int64(start), np.int64(each), blank)
        task = RandomGames(Habit(0.0), game.max_plies)
        took = gpu.run(game, task, lanes, data, (totals,), on_gpu, fixed=True)
        if np.isnan(totals).any():
            raise not_over(game)
        return took, totals

    few = 1 << 8
    began = time.perf_counter()
    on_core = play(0, few, _GAMES_OF_A_LANE, False)[1]
    took = 0.0
    if device.is_there:
        took, on_gpu = play(0, LANES, _GAMES_OF_A_LANE, True)
        result["first_call_seconds"] = time.perf_counter() - began
        result["same_scores"] = bool((on_core == on_gpu[:few]).all())
    pace = max(play(1, few, _GAMES_OF_A_LANE, False)[0], 1e-9) / (few * _GAMES_OF_A_LANE)
    lanes_of_core = max(1, int(seconds / pace / _GAMES_OF_A_LANE))
    more = max(1, int(seconds / max(took, 1e-9))) * _GAMES_OF_A_LANE
    core, fast, whole, ratios = [], [], [], []
    for number in range(ROUNDS):
        progress(number, ROUNDS)
        core.append(
            lanes_of_core * _GAMES_OF_A_LANE / play(number, lanes_of_core, _GAMES_OF_A_LANE, False)[0]
        )
        if device.is_there:
            began = time.perf_counter()
            fast.append(LANES * more / play(number, LANES, more, True)[0])
            whole.append(LANES * more / (time.perf_counter() - began))
            ratios.append(fast[-1] / core[-1])
    progress(ROUNDS, ROUNDS)
    result["core"] = spread(core)
    if device.is_there:
        result |= {"lanes": spread(fast), "whole": spread(whole), "ratio": spread(ratios)}
        result["program"] = gpu.facts(game, RandomGames(Habit(0.0), game.max_plies))
    return result


def ranged(measured: dict[str, float], form: str) -> str:
    """A median and its range, for people."""
    return f"{measured['median']:{form}}  ({measured['low']:{form}} … {measured['high']:{form}})"


def text_gpu(result: dict[str, Any]) -> str:
    """The measurements for people."""
    rows = [("random games per second, one core", ranged(result["core"], ",.0f"))]
    if "lanes" in result:
        rows += [
            ("  on the GPU", ranged(result["lanes"], ",.0f")),
            ("  with the transfer of data", ranged(result["whole"], ",.0f")),
            ("  times one core", ranged(result["ratio"], ",.0f")),
            ("same scores", "yes" if result["same_scores"] else "NO"),
            (
                "program",
                ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in result["program"].items()),
            ),
            ("first call, with compiling", f"{result['first_call_seconds']:.1f} s"),
        ]
    else:
        rows.append(("on a GPU", f"not measured, there is none: {result['gpu']['reason']}"))
    width = max(len(label) for label, _ in rows)
    head = f"{result['game']} on {result['gpu']['name'] or 'no GPU'} and {result['machine']['processor']}"
    head += f"\nmedian of {result['rounds']} rounds in turns (lowest … highest)"
    return "\n".join([head, *(f"{label:<{width}}  {value}" for label, value in rows)])


def spread(values: list[float]) -> dict[str, float]:
    """The median of some measurements, and their range."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def bench(spec: str, seconds: float, progress: Progress) -> dict[str, Any]:
    """All measurements for one game."""
    game = games.load(spec)
    if game.interpreted:
        raise Unsupported(f"{spec} is not compiled, which is what is measured; --peers is for OpenSpiel")
    steps = 5
    progress(0, steps)
    result: dict[str, Any] = {"game": spec, "machine": machine(), "rounds": ROUNDS}
    _playouts(game, 1, 0)
    n = max(10, int(seconds / (_playouts(game, 200, 0)[0] / 200)))
    result["games_a_round"] = n
    few = max(1, n // 5000)
    slow = statistics.median(_playouts(game, few, 0, interpreted=True)[0] / few for _ in range(3))
    progress(1, steps)
    result |= _search_beside_playouts(spec, game, n, seconds)
    result["interpreted_playouts"] = 1 / slow
    result["compiled_to_interpreted"] = slow * result["playouts"]["median"]
    progress(2, steps)
    result["threads_2_to_1"] = _threads(spec, game, seconds)
    progress(3, steps)
    result["c"] = _beside_c(game, n) if spec.startswith("briskola") else None
    progress(4, steps)
    result["start"] = _starts(spec)
    progress(5, steps)
    return result


def _search_beside_playouts(spec: str, game: Any, n: int, seconds: float) -> dict[str, Any]:
    view = deal(game, 1).view()
    agent = make_agent(f"ismcts:{SEARCH_ITERATIONS}", game)
    agent.choose(view, 0)
    playouts, searched, ratios = [], [], []
    for number in range(ROUNDS):
        playouts.append(n / _playouts(game, n, number)[0])
        began, decisions = time.perf_counter(), 0
        while time.perf_counter() - began < seconds / 2:
            agent.choose(view, decisions)
            decisions += 1
        searched.append(decisions * SEARCH_ITERATIONS / (time.perf_counter() - began))
        ratios.append(searched[-1] / playouts[-1])
    return {
        "playouts": spread(playouts),
        "search_iterations": spread(searched),
        "search_to_playouts": spread(ratios),
    }


def _threads(spec: str, game: Any, seconds: float) -> dict[str, float] | None:
    """Iterations a second of two threads against one, on a long search."""
    if (os.cpu_count() or 1) < 2:
        return None
    view = deal(game, 1).view()
    iterations = 200_000
    one, two = (make_agent(f"ismcts:{iterations},threads={t}", game) for t in (1, 2))
    ratios = []
    for number in range(ROUNDS):
        times = []
        for agent in (one, two):
            began = time.perf_counter()
            agent.choose(view, number)
            times.append(time.perf_counter() - began)
        ratios.append(times[0] / times[1])
    return spread(ratios[1:])  # the first round also allocates


def _beside_c(game: Any, n: int) -> dict[str, Any] | None:
    """The same games in C, in turns with ours; None without a compiler or without the source."""
    compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    if compiler is None or not C_SOURCE.is_file():
        return None
    with tempfile.TemporaryDirectory() as folder:
        programs = []
        for flags in C_FLAGS:
            program = str(Path(folder) / ("playout" + "".join(flags)))
            if subprocess.run(
                [compiler, *flags, "-o", program, str(C_SOURCE)], capture_output=True
            ).returncode:
                continue
            programs.append((" ".join(flags), program))
        ratios: dict[str, list[float]] = {built: [] for built, _ in programs}
        for number in range(ROUNDS):
            ours, totals = _playouts(game, n, number)
            for built, program in programs:
                start = str(int(stream(number)[0]))
                answer = subprocess.run(
                    [program, str(game.seats), str(n), start], capture_output=True, text=True, check=True
                ).stdout.split()
                if [float(x) for x in answer[1:]] != totals:
                    raise AssertionError("C and Kibitz played different games")
                ratios[built].append(float(answer[0]) / ours)
    return {
        "compiler": _first_line([compiler, "--version"]),
        **{f: spread(r) for f, r in ratios.items()},
    }


_FIRST_MOVE = (
    "import time; began = time.perf_counter()\n"
    "import kibitz\n"
    "view = kibitz.deal({spec!r}, 1).view()\n"
    "kibitz.advise(view, 'ismcts:1000')\n"
    "print(time.perf_counter() - began)"
)


def _starts(spec: str) -> dict[str, Any]:
    """Seconds from a new process to its first move: with nothing compiled, and from the cache.

    And seconds that two commands take from their start to their end, in turns, with everything compiled.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "KIBITZ_CACHE_DIR": folder, "KIBITZ_PRECOMPILED": "0"}
        command = [sys.executable, "-c", _FIRST_MOVE.format(spec=spec)]
        times = [
            float(
                subprocess.run(
                    command, env=environment, capture_output=True, text=True, check=True
                ).stdout.split()[-1]
            )
            for _ in range(4)
        ]
    commands = {"advise": ("advise", spec, "7"), "help": ("--help",)}
    took: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(1 + ROUNDS):
        for name, words in commands.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, "-m", "kibitz", *words], capture_output=True, check=True)
            if number > 0:  # the first run compiles
                took[name].append(time.perf_counter() - began)
    commands_took = {name: spread(each) for name, each in took.items()}
    return {"cold": times[0], "warm": statistics.median(times[1:]), **commands_took}


def _first_line(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout.partition("\n")[0]


def machine() -> dict[str, Any]:
    """What was measured on."""
    import numba

    info = Path("/proc/cpuinfo")
    models = [
        line.partition(":")[2].strip()
        for line in (info.read_text().splitlines() if info.is_file() else [])
        if line.startswith("model name")
    ]
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
    }


def text(result: dict[str, Any]) -> str:
    """The measurements for people."""
    about = result["machine"]
    rows = [
        ("random playouts per second", ranged(result["playouts"], ",.0f")),
        ("  interpreted", f"{result['interpreted_playouts']:,.0f}"),
        ("  compiled to interpreted", f"{result['compiled_to_interpreted']:,.0f} times"),
        (
            f"ISMCTS iterations per second ({SEARCH_ITERATIONS:,})",
            ranged(result["search_iterations"], ",.0f"),
        ),
        ("  to playouts", ranged(result["search_to_playouts"], ".2f")),
    ]
    if result["threads_2_to_1"]:
        rows.append(("  two threads to one", ranged(result["threads_2_to_1"], ".2f")))
    for flags, ratios in (result["c"] or {}).items():
        if flags != "compiler":
            rows.append((f"playouts to C ({flags})", ranged(ratios, ".2f")))
    if result["c"] is None:
        rows.append(("playouts to C", "no C compiler (or not this game): not measured"))
    rows.append(("first move of a process, nothing compiled", f"{result['start']['cold']:.1f} s"))
    rows.append(("first move of a process, from the cache", f"{result['start']['warm']:.2f} s"))
    for name, words in (("advise", f"advise {result['game']} 7"), ("help", "--help")):
        rows.append((f"kibitz {words}, seconds", ranged(result["start"][name], ".2f")))
    width = max(len(label) for label, _ in rows)
    head = (
        f"{result['game']} on {about['processor']}, {about['cores']} cores, Python {about['python']}, "
        f"Numba {about['numba']}\nmedian of {result['rounds']} rounds (lowest … highest), one core"
    )
    return "\n".join([head, *(f"{label:<{width}}  {value}" for label, value in rows)])
