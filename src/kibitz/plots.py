"""Figures from results, as SVG: readable in black and white and by colour-blind people."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.arena.statistics import Estimate

_INKS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # Okabe and Ito
_DASHES = ("-", "--", "-.", ":")


def _figure(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="0.88")
    axes.set_axisbelow(True)
    return figure, axes


def _svg(figure: Any) -> str:
    import matplotlib as mpl

    text = io.StringIO()
    # No date and a fixed salt: the same results give the same page, byte for byte.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "kibitz", "font.family": "sans-serif"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    whole = text.getvalue()
    return whole[whole.index("<svg") :]


def intervals(
    names: Sequence[str],
    measured: Sequence[Estimate],
    published: Sequence[float | None],
    label: str,
    scale: float = 1.0,
) -> str:
    """A dot with its interval for every name, and a diamond for what was published."""
    figure, axes = _figure(8, 0.7 + 0.5 * len(names))
    for y, (estimate, known) in enumerate(zip(measured, published, strict=True)):
        low, mean, high = (scale * x for x in (estimate.low, estimate.mean, estimate.high))
        axes.plot([low, high], [y, y], color=_INKS[0], linewidth=2, solid_capstyle="butt")
        axes.plot(mean, y, "o", color=_INKS[0], label="measured" if y == 0 else None)
        if known is not None:
            axes.plot(scale * known, y, "D", color=_INKS[1], markerfacecolor="white", markersize=8,
                      label="published" if y == 0 else None)  # fmt: skip
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.legend(frameon=False, loc="best")
    return _svg(figure)


def distributions(samples: Mapping[str, NDArray[np.float64]], label: str, mark: float) -> str:
    """How often each result came up, one line a sample; `mark` is a vertical line."""
    figure, axes = _figure(8, 3.2)
    bins = np.arange(0, 126, 5)
    for number, (name, values) in enumerate(samples.items()):
        heights, _ = np.histogram(values, bins)
        shares = 100 * heights / max(1, len(values))
        ink, dash = _INKS[number % 4], _DASHES[number % 4]
        axes.stairs(shares, bins, label=name, color=ink, linestyle=dash)
    axes.axvline(mark, color="0.4", linewidth=1)
    axes.set_xlabel(label)
    axes.set_ylabel("% of games")
    axes.legend(frameon=False)
    return _svg(figure)
