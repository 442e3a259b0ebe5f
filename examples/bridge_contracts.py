"""How many tricks does an agent make with hidden hands, compared with the exact result of each deal?

    python examples/bridge_contracts.py pimc --deals 200

The agent plays all four hands of random contracts, each seat from what it sees. The tricks of declarer
less those of the double-dummy solver are averaged over deals. Results are kept in a store: an
interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from kibitz.arena.executors import executor
from kibitz.arena.laboratory import Laboratory, Order
from kibitz.arena.play import Match, first_decision
from kibitz.arena.statistics import mean_of_deals
from kibitz.arena.store import Store, default_store
from kibitz.terminal import Story

GAME = "bridge:strain=any,declarer=any"


def beyond_double_dummy(match: Match, scores: np.ndarray) -> np.ndarray:
    """Of every deal: the tricks of declarer less those that he makes if all hands are open."""
    found = np.zeros(len(scores))
    for deal in range(len(scores)):
        state, exact = first_decision(match.game, match.seed, deal)
        found[deal] = scores[deal, 0, int(state.record.declarer)] - (13 - max(exact))
    return found


def main() -> None:
    """Play what is missing and print the result."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("agent", nargs="?", default="pimc", help="who plays all hands")
    parser.add_argument("--deals", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=None, help="worker processes (default: all cores)")
    parser.add_argument("--store", type=Path, default=None)
    asked = parser.parse_args()

    match, story = Match(GAME, (asked.agent,), asked.seed), Story()
    with Store(asked.store or default_store()) as store, executor(asked.jobs) as workers:
        Laboratory(store, workers).run([Order(match, asked.deals)], story.progress("deals"))
        scores = store.scores(store.number_of(match), asked.deals)
    story.close()
    difference = beyond_double_dummy(match, scores)
    print(f"{asked.agent} in {GAME}, seed {asked.seed}, {len(difference)} deals")
    print(f"tricks of declarer less double dummy: {mean_of_deals(difference).text()}")
    for tricks, deals in zip(*np.unique(difference, return_counts=True), strict=True):
        print(f"{tricks:+4.0f}  {deals:4d} {'#' * int(deals)}")


if __name__ == "__main__":
    main()
