"""How fast DiminishingBridge is: python benchmarks/diminishing_bridge.py

Rates of one core. The program behind the thesis (C++, -O3, one thread, on a machine of the same kind)
plays 7,400 whole games of four Random a second and makes 87,000 to 98,000 Monte Carlo playouts a
second, the dealing of the unseen cards included; games of Monte Carlo against three Random: 136 to 151
a second with a budget of 10, 12.4 with 100, 1.25 with 1,000.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from kibitz import games
from kibitz.agents import make_agent
from kibitz.arena.play import Batch, Match
from kibitz.bench import random_games
from kibitz.games.diminishing_bridge.players import count_tricks
from kibitz.kernel import entry
from kibitz.position import View
from kibitz.rng import stream
from kibitz.search.objective import Habit
from kibitz.testing import walk

ROUNDS = 5


def rate(count: int, work: Callable[[], object]) -> tuple[float, float, float]:
    """The median, the lowest and the highest number a second of processor time."""
    work()
    found = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        found.append(count / (time.process_time() - began))
    return statistics.median(found), min(found), max(found)


def show(what: str, figures: tuple[float, float, float], beside: float | None = None) -> None:
    median, low, high = figures
    ratio = f"   {median / beside:.1f} times the C++ program" if beside else ""
    print(f"{what:<58} {median:>12,.0f}  ({low:,.0f} … {high:,.0f}){ratio}", flush=True)


@entry
def whole_games(game, policy, n, position, moves, rng):
    """Play `n` games by one policy."""
    for _ in range(n):
        position[0] = position[1]
        while not game.is_over(position[0]):
            if game.mover(position[0]) < 0:
                game.deal(position[0], rng)
            else:
                game.play(position[0], policy.choose(game, position[0], moves, rng))


@entry
def deal_worlds(game, view, seat, n, plan, world, rng):
    """Prepare once, then deal the unseen cards `n` times."""
    game.prepare(view[0], seat, plan[0])
    for _ in range(n):
        world[0] = view[0]
        game.sample(world[0], seat, plan[0], rng)


def sampler(view: View) -> float:
    """Nanoseconds for each card that is dealt."""
    game, n = view.game, 20_000
    plan, world = np.zeros(1, game.plan), np.zeros(1, game.state)
    cards = sum(int(game.blanks(view.record, seat)) for seat in range(game.seats))
    each = rate(n * cards, lambda: deal_worlds(game, view.array, view.seat, n, plan, world, stream(1)))
    return 1e9 / each[0]


def main() -> None:
    game, one_round = games.load("diminishing-bridge"), games.load("diminishing-bridge:rounds=1")
    moves, rng = np.zeros(game.max_moves, np.int64), stream(1)
    position, out, totals = np.zeros(2, game.state), np.zeros(game.seats), np.zeros(game.seats)

    four = make_agent("snelleman-random", game).policy  # type: ignore[attr-defined]
    n = 20_000
    show(
        "games of four snelleman-random",
        rate(n, lambda: whole_games(game, four, n, position, moves, rng)),
        7400,
    )
    match = Match("diminishing-bridge", ("snelleman-random",), 1)
    show("the same as a match, every move checked", rate(n, lambda: Batch(match, 0, n).play()), 7400)
    n = 200_000
    show(
        "random rounds of 13 cards, with random bids",
        rate(
            n,
            lambda: random_games(
                one_round, Habit(0.0), n, one_round.max_plies, position, moves, out, totals, rng
            ),
        ),
    )

    view = next(walk(game, 1)).view()
    world, plan, counts = np.zeros(1, game.state), np.zeros(1, game.plan), np.zeros(14)
    n = 100_000
    show(
        "playouts of Monte Carlo bidding with 13 cards",
        rate(
            n,
            lambda: count_tricks(game, Habit(0.0), view.array, view.seat, n, plan, world, moves, counts, rng),
        ),
    )
    for budget, theirs in ((10, 143.5), (100, 12.4), (1000, 1.25)):
        match = Match("diminishing-bridge", (f"snelleman-mc:{budget}", "snelleman-random"), 1)
        deals = max(1, 50 // budget)
        show(
            f"games of snelleman-mc:{budget} against three Random",
            rate(4 * deals, lambda m=match, d=deals: Batch(m, 0, d).play()),  # type: ignore[misc]
            theirs,
        )
    match = Match("diminishing-bridge", ("snelleman-mc:1000", "snelleman-random"), 1)
    iterations = Batch(match, 0, 1).play().thought["iterations"][0]
    show(
        "playouts of snelleman-mc:1000 over whole games",
        rate(int(iterations), lambda: Batch(match, 0, 1).play()),
        92_500,
    )

    print(
        "\nnanoseconds a card to deal the unseen cards, counting once a decision left out of 20,000 worlds:"
    )
    found: dict[int, list[float]] = {}
    for number in range(40):
        states = [state for state in walk(game, 100 + number) if not state.is_over]
        state = states[(37 * number) % len(states)]
        if state.record.phase != 2 or state.record.left < 2:
            continue
        voids = sum(bool(state.record.voids[s]) for s in range(4) if s != state.mover)
        if len(found.setdefault(voids, [])) < 3:
            found[voids].append(sampler(state.view()))
    for voids, each in sorted(found.items()):
        print(f"  {voids} seats with voids: {', '.join(f'{ns:.1f}' for ns in each)}")


if __name__ == "__main__":
    main()
