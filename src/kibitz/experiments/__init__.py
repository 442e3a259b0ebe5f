"""Published results by name, measured again and set beside the published figures."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kibitz.arena.statistics import Estimate
from kibitz.errors import UnknownName

if TYPE_CHECKING:
    from kibitz.terminal import Story

EXPERIMENTS = {"karamatic": "kibitz.experiments.karamatic"}
"""Name → module with a function `run(plan) -> Result`."""

QUICK = 0.1
"""The scale of the main job: a few minutes on two cores."""

NEXT = (
    "kibitz play briskola                                 play against the strongest agent",
    "kibitz match briskola expert rule-based --games 200  which of two agents is better, and how sure",
    'kibitz advise briskola "7: 12D"                      what to play, and why',
)


@dataclass(frozen=True)
class Row:
    """One published figure beside the measured one."""

    experiment: str
    cell: str
    published: float | None
    measured: Estimate
    n: int
    verdict: str
    scale: float = 1.0
    digits: int = 1
    unit: str = ""

    @property
    def published_text(self) -> str:
        return "–" if self.published is None else f"{self.scale * self.published:.{self.digits}f}{self.unit}"

    @property
    def measured_text(self) -> str:
        return f"{self.measured.text(self.scale, self.digits)}{self.unit}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment,
            "cell": self.cell,
            "published": self.published,
            "measured": self.measured.mean,
            "ci": list(self.measured.ci),
            "n": self.n,
            "verdict": self.verdict,
        }


@dataclass
class Result:
    """An experiment that was run: its table, what was found in words, figures as SVG."""

    name: str
    title: str
    source: str
    rows: list[Row]
    findings: list[str]
    figures: list[tuple[str, str]] = field(default_factory=list)
    """(caption, SVG)"""
    command: str = ""
    seconds: float = 0.0


@dataclass
class Plan:
    """How large to run it, and whom to tell."""

    scale: float
    seed: int
    jobs: int
    story: Story

    def games(self, full: int) -> int:
        """So many games at this scale, never fewer than 40."""
        return max(40, round(full * self.scale))


def verdict(published: float, measured: Estimate) -> str:
    """What the interval says about a published figure."""
    if measured.low <= published <= measured.high:
        return "agrees"
    return "lower than published" if measured.high < published else "higher than published"


def run_all(names: list[str], scale: float, seed: int, jobs: int, story: Story) -> list[Result]:
    """Run experiments by name; all of them, if none is named."""
    for name in names:
        if name not in EXPERIMENTS:
            raise UnknownName("published result", name, EXPERIMENTS)
    plan = Plan(scale, seed, jobs, story)
    return [importlib.import_module(EXPERIMENTS[name]).run(plan) for name in names or EXPERIMENTS]
