"""Bridge: McKay's search beside the exact solver, on the same leads, interleaved in one run.

    python benchmarks/bridge.py

Both use one thread. The solver gives all leads of a deal, exactly; the search 5,000 plays.
"""

from __future__ import annotations

import statistics
import time

from kibitz import games
from kibitz.agents import make_agent
from kibitz.games.bridge import dds
from kibitz.position import deal

DEALS = 40


def main() -> None:
    """Print times and ratios."""
    from endplay import _dds

    _dds.SetMaxThreads(1)
    rules = games.load("bridge:double_dummy=true")
    agents = {c: make_agent(f"mckay:5000,c={c}", rules) for c in (1, 16)}
    spent: dict[str, list[float]] = {"solver": [], **{f"mckay, c = {c}": [] for c in agents}}
    for number in range(-1, DEALS):  # the first one compiles
        state = deal(rules, number + 1)
        view = state.view()
        began = time.perf_counter()
        list(dds.card_values([state.record]))
        times = [time.perf_counter() - began]
        for agent in agents.values():
            began = time.perf_counter()
            agent.advise(view, 1)
            times.append(time.perf_counter() - began)
        if number >= 0:
            for name, seconds in zip(spent, times, strict=True):
                spent[name].append(seconds)
    solver = statistics.mean(spent["solver"])
    for name, seconds in spent.items():
        mean, median = 1000 * statistics.mean(seconds), 1000 * statistics.median(seconds)
        plays = "" if name == "solver" else f", {5000 * DEALS / sum(seconds):,.0f} plays/s"
        ratio = solver / statistics.mean(seconds)
        print(f"{name:<14} {mean:6.1f} ms a lead (median {median:.1f}), solver/this {ratio:.1f}{plays}")


if __name__ == "__main__":
    main()
