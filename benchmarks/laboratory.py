"""What the laboratory costs: workers, overhead, Ray, and a report of a large store. Ratios in one run.

python benchmarks/laboratory.py                  all of it, about ten minutes on two cores
python benchmarks/laboratory.py overhead report  some of it
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kibitz import experiments, report
from kibitz.agents import make_agent
from kibitz.arena.executors import InProcess, Processes
from kibitz.arena.laboratory import Laboratory, Order
from kibitz.arena.match import match
from kibitz.arena.play import Batch, Match, Played, play_game
from kibitz.arena.store import Store

PACE = ("ismcts:220", "ismcts:220")  # about 10 ms a game
ROUNDS = 3


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def ratios(
    name: str, first: Callable[[], object], second: Callable[[], object], rounds: int = ROUNDS
) -> None:
    """Time of the first divided by time of the second, in turns."""
    found, times = [], []
    for _ in range(rounds):
        a, b = seconds(first), seconds(second)
        found.append(a / b)
        times.append(f"{a:.1f}/{b:.1f}")
    middle, low, high = statistics.median(found), min(found), max(found)
    print(f"{name}: {middle:.3f} ({low:.3f} … {high:.3f}; s: {', '.join(times)})", flush=True)


def workers() -> None:
    """A match of a minute and more, by one worker and by two."""
    for number in (1, 2):  # the time of a process that has compiled everything
        match("briskola", ["ismcts:5000", "random"], 4, seed=9, jobs=number)
    ratios(
        "one worker to two, a match of over 60 s",
        lambda: match("briskola", ["ismcts:5000", "random"], 600, seed=1, jobs=1),
        lambda: match("briskola", ["ismcts:5000", "random"], 600, seed=1, jobs=2),
    )


def overhead() -> None:
    """The same games in a bare loop and in the laboratory with a store on disk."""
    games = 1200
    wanted = Match("briskola", PACE, 1)

    def bare() -> None:
        agents = [make_agent(spec, wanted.rules) for spec in PACE]
        for deal in range(games // 2):
            for seating, order in enumerate(([0, 1], [1, 0])):
                play_game(wanted.rules, [agents[i] for i in order], 1, deal, seating)

    def arena() -> None:
        with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "store.db") as store:
            Laboratory(store, InProcess()).run([Order(wanted, games // 2)])

    bare()
    print(f"a game takes {1000 * seconds(bare) / games:.1f} ms")
    ratios(f"laboratory to a bare loop, {games} games", arena, bare, 5)


def ray() -> None:
    """Ray on this machine against processes of this machine."""
    from ray.cluster_utils import Cluster as Local

    from kibitz.arena.executors import Cluster

    nodes = Local(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    wanted = Order(Match("briskola", ("ismcts:5000", "random"), 1), 200)

    def with_executor(executor: Processes | Cluster) -> Callable[[], object]:
        return lambda: Laboratory(Store(), executor).run([wanted])

    try:
        with Cluster(nodes.address) as cluster:
            with_executor(cluster)()  # its workers have started and compiled
            ratios("Ray to local processes, 400 games", with_executor(cluster), with_executor(Processes(2)))
    finally:
        nodes.shutdown()


def report_of_ten_million() -> None:
    """A report of a store with ten million games."""
    text = """
        name = "large"
        game = "briskola"
        games = 5_000_000
        [match.one]
        agents = ["rule-based", "random"]
        [match.other]
        agents = ["ismcts:10", "random"]
        [[row]]
        match = "one"
        measure = "decided"
        [[row]]
        match = "one"
        measure = "points"
        interval = "bootstrap"
        [[row]]
        match = "other"
        measure = "points"
        less = "one"
        [[row]]
        match = "other"
        measure = "win_rate"
        less = "one"
        test = "mcnemar"
        [[figure]]
        kind = "distribution"
        matches = ["one", "other"]
    """
    experiment = experiments.read(text, "large.toml")
    rng = np.random.default_rng(1)  # noqa: TID251
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.db"
        with Store(path) as store:
            numbers = []
            for agents in experiment.matches.values():
                wanted = agents.match({}, 1)
                numbers.append(store.number_of(wanted))
                size = 1000
                for first in range(0, 2_500_000, size):
                    points = rng.integers(0, 121, (size, 2, 1)).astype(float)
                    played = Played(
                        np.concatenate([points, 120 - points], 2),
                        1.0,
                        {"seconds": [1.0, 1.0], "decisions": [2e4, 2e4], "iterations": [0.0, 0.0]},
                    )
                    store.add(Batch(wanted, first, size), numbers[-1], played)
            run = experiments.Run(1.0, 1, "made up for this measurement", experiments.versions(), numbers)
            store.write_experiment("large", text, run.to_dict())
        print(f"a store of 10,000,000 games: {path.stat().st_size / 1e6:.0f} MB")

        def work() -> None:
            with Store(path, read_only=True) as store:
                page = report.page(experiments.results(store))
            assert "5,000,000" in page

        work()
        times = [seconds(work) for _ in range(3)]
        print(f"its report: {statistics.median(times):.1f} s ({', '.join(f'{t:.1f}' for t in times)})")


PARTS = {"workers": workers, "overhead": overhead, "ray": ray, "report": report_of_ten_million}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
