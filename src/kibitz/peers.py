"""How fast others are: OpenSpiel's C++ and Python, and the double dummy solver, on the same positions.

Both sides are measured in turns, in one process and on one core, so that a busy machine slows both. What
counts is the median of the ratios, given with their range.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kibitz import games
from kibitz.adapters.twins import twin_of
from kibitz.agents import make_agent
from kibitz.bench import ROUNDS, Progress, machine, playouts_from, spread
from kibitz.games.openspiel import pyspiel
from kibitz.position import State, deal
from kibitz.rng import stream
from kibitz.search.objective import Habit
from kibitz.search.solver import TO_THE_END, Limits, Solver, algorithm
from kibitz.trial import not_over

OH_HELL = "diminishing-bridge:cards=10,rounds=1"
SIMULATIONS = 2000
C_PLUS_PLUS, PYTHON, DDS = "OpenSpiel, C++", "OpenSpiel, Python", "DDS"

Work = Callable[[float], int]
"""Do something for about so many seconds; how often it was done."""


@dataclass(frozen=True)
class Contest:
    """Two ways to do the same."""

    what: str
    unit: str
    peer: str
    ours: Work
    theirs: Work


def measure(seconds: float, progress: Progress) -> dict[str, Any]:
    """All contests, in turns; the starts of a process."""
    pyspiel()
    contests = _contests()
    rates: list[tuple[list[float], list[float]]] = [([], []) for _ in contests]
    for contest in contests:  # code is loaded or compiled
        contest.ours(0.0)
        contest.theirs(0.0)
    for number in range(ROUNDS):
        progress(number, ROUNDS + 1)
        for contest, (ours, theirs) in zip(contests, rates, strict=True):
            ours.append(_rate(contest.ours, seconds))
            theirs.append(_rate(contest.theirs, seconds))
    progress(ROUNDS, ROUNDS + 1)
    rows = [
        {
            "what": contest.what,
            "unit": contest.unit,
            "peer": contest.peer,
            "kibitz": spread(ours),
            "theirs": spread(theirs),
            "ratio": spread([mine / other for mine, other in zip(ours, theirs, strict=True)]),
        }
        for contest, (ours, theirs) in zip(contests, rates, strict=True)
    ]
    found = {"machine": machine(), "rounds": ROUNDS, "seconds": seconds, "peers": rows, "starts": _starts()}
    progress(ROUNDS + 1, ROUNDS + 1)
    return found


def _rate(work: Work, seconds: float) -> float:
    began = time.perf_counter()
    done = work(seconds)
    return done / (time.perf_counter() - began)


def _repeated(once: Callable[[int], int]) -> Work:
    """Work that is done in pieces, each with a number of its own."""

    def work(seconds: float) -> int:
        began, done, number = time.perf_counter(), 0, 0
        while number == 0 or time.perf_counter() - began < seconds:
            done += once(number)
            number += 1
        return done

    return work


def _contests() -> list[Contest]:
    found = []
    for spec in ("bridge", OH_HELL, "othello", "tic-tac-toe"):
        game = games.load(spec)
        twin, state = twin_of(game), deal(game, 1)
        assert twin is not None
        name, native = twin.name, twin.position(state.record, [])
        what, played = f"{name}: random playouts", _our_playouts(state)
        found.append(Contest(what, "playouts", C_PLUS_PLUS, played, _playouts_in_c(native)))
        found.append(Contest(what, "playouts", PYTHON, played, _playouts_in_python(native)))
        kind = "uct" if "hide" in game.defaulted else "ismcts"
        ours = _our_search(f"{kind}:{SIMULATIONS}", state)
        what = f"{name}: {kind.upper()}"
        found.append(Contest(what, "simulations", C_PLUS_PLUS, ours, _search_in_c(kind, native)))
        found.append(Contest(what, "simulations", PYTHON, ours, _search_in_python(kind, native)))
    found.append(_alpha_beta())
    found.append(_double_dummy())
    return found


# --- random playouts --------------------------------------------------------------------------------


def _our_playouts(state: State) -> Work:
    game, chunk = state.game, 1000
    buffers = (np.zeros(1, game.state), np.zeros(game.max_moves, np.int64), np.zeros(game.seats))

    def once(number: int) -> int:
        if not playouts_from(game, Habit(0.0), chunk, game.max_plies, state.array, *buffers, stream(number)):
            raise not_over(game)
        return chunk

    return _repeated(once)


def _playouts_in_c(native: Any) -> Work:
    """A search of one simulation with many rollouts: the quickest way to rollouts that Python has."""
    chunk = 200

    def once(number: int) -> int:
        library = pyspiel()
        rollouts = library.RandomRolloutEvaluator(chunk, number)
        bot = library.MCTSBot(native.get_game(), rollouts, 1.0, 1, 10, False, number, False)
        bot.mcts_search(native)
        return chunk

    return _repeated(once)


def _playouts_in_python(native: Any) -> Work:
    def once(number: int) -> int:
        state = native.clone()
        while not state.is_terminal():
            state.apply_action(random.choice(state.legal_actions()))
        state.returns()
        return 1

    return _repeated(once)


# --- searches ---------------------------------------------------------------------------------------


def _our_search(agent: str, state: State) -> Work:
    player, view = make_agent(agent, state.game), state.view()

    def once(number: int) -> int:
        player.advise(view, number)
        return SIMULATIONS

    return _repeated(once)


def _search_in_c(kind: str, native: Any) -> Work:
    low, high = native.get_game().min_utility(), native.get_game().max_utility()

    def once(number: int) -> int:
        library = pyspiel()
        rollouts, c = library.RandomRolloutEvaluator(1, number), 0.7 * (high - low)
        if kind == "ismcts":
            library.ISMCTSBot(number, rollouts, c, SIMULATIONS).step(native)
        else:
            library.MCTSBot(
                native.get_game(), rollouts, c, SIMULATIONS, 1000, False, number, False
            ).mcts_search(native)
        return SIMULATIONS

    return _repeated(once)


def _search_in_python(kind: str, native: Any) -> Work:
    from open_spiel.python.algorithms import ismcts, mcts

    low, high = native.get_game().min_utility(), native.get_game().max_utility()
    few, c = 20, 0.7 * (high - low)

    def once(number: int) -> int:
        rollouts = mcts.RandomRolloutEvaluator(1)
        if kind == "ismcts":
            ismcts.ISMCTSBot(native.get_game(), rollouts, c, few).step(native)
        else:
            mcts.MCTSBot(native.get_game(), c, few, rollouts).mcts_search(native)
        return few

    return _repeated(once)


# --- exact values -----------------------------------------------------------------------------------


def _alpha_beta() -> Contest:
    """Tic-tac-toe solved by plain alpha-beta, with no order of moves and no table: the same tree."""
    from open_spiel.python.algorithms import minimax

    game = games.load("tic-tac-toe")
    solver, start = Solver(game, algorithm("alphabeta")), deal(game, 0)
    native = pyspiel().load_game("tic_tac_toe")
    nodes = solver.solve(start.array, Limits(TO_THE_END)).nodes

    def ours(number: int) -> int:
        return solver.solve(start.array, Limits(TO_THE_END)).nodes

    def theirs(number: int) -> int:
        minimax.alpha_beta_search(native)
        return nodes

    return Contest("tic_tac_toe: solved by alpha-beta", "nodes", PYTHON, _repeated(ours), _repeated(theirs))


ENDING = 5
"""Cards of each hand in the endings of Bridge that are solved."""


def _double_dummy() -> Contest:
    """Endings of Bridge with open hands, the value of the best card: our alpha-beta, and DDS."""
    from kibitz.games.bridge import dds

    game = games.load("bridge:strain=any,declarer=any,double_dummy=true")
    endings = []
    for number in range(20):
        state, rng = deal(game, number), random.Random(number)
        while int(state.record.left) > ENDING or int(state.record.on_table):
            state.play(rng.choice(state.legal_moves()))
        endings.append(state)
    solver = Solver(game, algorithm("alphabeta-table"), is_open=True)

    def value(state: State) -> float:
        """The tricks of seat 0's side at the end, by our search."""
        return solver.solve(state.array, Limits(TO_THE_END)).values[0]

    for state in endings:
        (exact,) = game.exact_values([state.record])
        best = max(exact)
        theirs = best if game.team(state.mover) == 0 else 13.0 - best
        if value(state) != theirs:
            raise AssertionError(f"two solvers disagree on an ending of bridge: {value(state)}, {theirs}")

    def ours(number: int) -> int:
        value(endings[number % len(endings)])
        return 1

    def others(number: int) -> int:
        list(dds.card_values([endings[number % len(endings)].record]))
        return 1

    what = f"bridge: endings of {ENDING} cards, solved"
    return Contest(what, "positions", DDS, _repeated(ours), _repeated(others))


# --- the start of a process -------------------------------------------------------------------------

_OUR_START = (
    "import time; began = time.perf_counter()\n"
    "import kibitz\n"
    f"view = kibitz.deal({OH_HELL!r}, 1).view()\n"
    "kibitz.advise(view, 'ismcts:1000')\n"
    "print(time.perf_counter() - began)"
)
_THEIR_START = (
    "import time; began = time.perf_counter()\n"
    "import pyspiel, random\n"
    "game = pyspiel.load_game('oh_hell(players=4,num_tricks_fixed=10,off_bid_penalty=true)')\n"
    "state = game.new_initial_state()\n"
    "while state.is_chance_node():\n"
    "    state.apply_action(random.choice(state.legal_actions()))\n"
    "pyspiel.ISMCTSBot(1, pyspiel.RandomRolloutEvaluator(1, 1), 20.0, 1000).step(state)\n"
    "print(time.perf_counter() - began)"
)


def _starts() -> dict[str, dict[str, float]]:
    """Seconds from a new process to its first bid in Oh Hell, 1,000 simulations; our code from the cache."""
    times: dict[str, list[float]] = {"kibitz": [], "openspiel": []}
    for number in range(6):
        for name, script in (("kibitz", _OUR_START), ("openspiel", _THEIR_START)):
            answer = subprocess.run(
                [sys.executable, "-c", script], capture_output=True, text=True, check=True
            ).stdout.split()
            if number > 0:  # the first one may compile
                times[name].append(float(answer[-1]))
    return {name: spread(seconds) for name, seconds in times.items()}


def text(found: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """The measurements for people: a head, columns and rows."""
    about = found["machine"]
    head = (
        f"{about['processor']}, {about['cores']} cores, Python {about['python']}, Numba {about['numba']}; "
        f"median of {found['rounds']} rounds in turns (lowest … highest), one core"
    )
    columns = ["what", "a second", "peer", "Kibitz", "peer's", "times as fast"]
    rows = [
        [
            *(row["what"], row["unit"], row["peer"]),
            *(f"{row[side]['median']:,.0f}" for side in ("kibitz", "theirs")),
            "{median:.3g} ({low:.3g} … {high:.3g})".format(**row["ratio"]),
        ]
        for row in found["peers"]
    ]
    ours, theirs = (found["starts"][name] for name in ("kibitz", "openspiel"))
    start = [f"{each['median']:.2f} s" for each in (ours, theirs)]
    rows.append(["oh_hell: first bid of a new process", "", C_PLUS_PLUS, *start,
                 f"{theirs['median'] / ours['median']:.2g}"])  # fmt: skip
    return head, columns, rows
