"""What a search found out: one row per legal move, and how it was found."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import Any

from kibitz.showing import numbered


@dataclass(frozen=True)
class Row:
    """One legal move: its value for the asking seat, how sure that is, how often it was tried."""

    move: int
    text: str
    value: float
    stderr: float
    visits: int
    available: int
    """Both 0, if moves are not tried again and again."""
    shares: dict[str, float] = field(default_factory=dict)
    """Of the worlds, those in which something comes about that people want to know."""


@dataclass(frozen=True)
class Advice:
    """The move to make and the evidence for it.

    >>> import kibitz
    >>> advice = kibitz.advise(kibitz.deal("tic-tac-toe", seed=0).view(), "uct:200", seed=1)
    >>> len(advice.rows), advice.best_text in [row.text for row in advice.rows]
    (9, True)
    """

    best: int
    rows: tuple[Row, ...]
    value: float
    """Of the position for the asking seat, as the search sees it."""
    seat: int
    """Who is advised."""
    agent: str
    """The string of the agent."""
    unit: str
    """What `value` counts: points, chance to win, or the agent's own mixture."""
    iterations: int
    worlds: int
    seconds: float
    seed: int
    exact: bool = False

    @property
    def best_text(self) -> str:
        return next(row.text for row in self.rows if row.move == self.best)

    def ranked(self) -> list[Row]:
        """The rows, best first."""
        return sorted(self.rows, key=lambda r: (r.move != self.best, -r.visits, -r.value))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, the same that `--json` prints."""
        rows = [{**vars(row), "shares": dict(row.shares)} for row in self.rows]
        return {**vars(self), "best_text": self.best_text, "rows": rows}

    def __str__(self) -> str:
        names = list(self.rows[0].shares)
        width = max(8, *(len(row.text) for row in self.rows))
        further = "".join(f" {name:>15}" for name in names)
        was_tried = any(row.visits or row.available for row in self.rows)
        tried = f" {'±':>8} {'visits':>8} {'available':>10}" if was_tried else ""
        lines = [f"  {'move':<{width}} {self.unit:>16}{tried}{further}"]
        for row in self.ranked():
            mark = "▸" if row.move == self.best else " "
            value, error = (f"{x:.3f}" if math.isfinite(x) else "–" for x in (row.value, row.stderr))
            shares = "".join(f" {100 * row.shares[name]:>13.1f} %" for name in names)
            tried = f" {error:>8} {row.visits:>8} {row.available:>10}" if was_tried else ""
            lines.append(f"{mark} {row.text:<{width}} {value:>16}{tried}{shares}")
        if was_tried:
            how = "exact" if self.exact else numbered(self.iterations, "iteration")
            how += f", {numbered(self.worlds, 'world')}"
        else:
            how = "exact, " * self.exact + numbered(self.iterations, "position")
        lines.append(f"  {self.agent}: {how}, {self.seconds:.3f} s, seed {self.seed}")
        best = next(row for row in self.rows if row.move == self.best)
        if any(row.value > best.value and 0 < row.visits < best.visits for row in self.rows):
            lines.append("  ▸ was tried most often: a search goes back to what proves good")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
