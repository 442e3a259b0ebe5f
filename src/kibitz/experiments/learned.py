"""What counters have learned, as a table and as curves: right predictions, and how fast chances settle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kibitz import games, plots
from kibitz.arena import statistics
from kibitz.arena.statistics import Estimate
from kibitz.belief import counters
from kibitz.belief.counters import Counters
from kibitz.experiments.description import Experiment

_COLUMNS = ["counters of", "games", "published", "dealt at random (95 %)", "published", "by counters (95 %)"]


def table(experiment: Experiment) -> tuple[str, list[str], list[list[str]]]:
    """Title, columns and rows: how often dealt worlds were right about the next player."""
    rows = []
    for plan, learned in zip(experiment.learned, _all(experiment), strict=True):
        told = [plan.published_at_random, plan.published_by_counters]
        known = ["–" if share is None else f"{100 * share:.1f} %" for share in told]
        measured = [f"{_right(learned, how).text(100, 1)} %" for how in (1, 2)]
        rows.append(
            [
                *(plan.cell or plan.agent, f"{learned.rounds:,}"),
                *(word for pair in zip(known, measured, strict=True) for word in pair),
            ]
        )
    return "Worlds that were right about what the next player can beat", _COLUMNS, rows


def figures(experiment: Experiment) -> list[tuple[str, str]]:
    """(caption, SVG): how much the chances change while learning, and how often worlds were right."""
    changes: dict[str, list[tuple[float, Estimate]]] = {}
    right: dict[str, list[tuple[float, Estimate]]] = {}
    for plan, learned in zip(experiment.learned, _all(experiment), strict=True):
        name = plan.cell or plan.agent
        for step, change in enumerate(learned.changes()):
            games_so_far = float((step + 1) * learned.step)
            if np.isfinite(change):
                changes.setdefault(name, []).append((games_so_far, _point(float(change))))
            for how, words in ((1, "at random"), (2, "by counters")):
                share = learned.dealt[step, how] / max(1, learned.dealt[step, 0])
                right.setdefault(f"{name}, {words}", []).append((games_so_far, _point(float(share))))
    return [
        (
            "How much the chances that are known change with every further thousand games, in the mean.",
            plots.curves(changes, "games learned from", "change, percentage points"),
        ),
        (
            "How often dealt worlds were right about what the next player can beat, as more was learned.",
            plots.curves(right, "games learned from", "right, %", 100.0),
        ),
    ]


def _all(experiment: Experiment) -> Sequence[Counters]:
    rules = games.load_known(experiment.game)
    return [counters.find(rules, plan.agent) for plan in experiment.learned]


def _right(learned: Counters, how: int) -> Estimate:
    """The share of right worlds: the unit is a step, without the first, before which nothing is known."""
    dealt = learned.dealt[1 : learned.rounds // learned.step]
    return statistics.mean_of_deals(dealt[:, how] / np.maximum(1, dealt[:, 0]))


def _point(value: float) -> Estimate:
    return Estimate(value, 0.0, value, value, 1)
