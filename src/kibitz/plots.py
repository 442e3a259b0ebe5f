"""Figures from results, as SVG: readable in black and white and by colour-blind people.

No figure tells series apart by colour alone: each has its own ink, dash, marker and hatch, and cells of
a heat map print their value. The same input gives the same text, whatever the user's matplotlib settings.
Where there is nothing to show (no names, no points), the figure says "no data": hours of measuring must
not be lost to an empty figure. Lengths or shapes that do not match are a ValueError.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.arena.statistics import Estimate
from kibitz.errors import needs

# Chosen by search: at least 3:1 against white, neighbours in the list at least 20 apart in lightness
# (CIE L*), any two at least 6, and any two far apart under simulated protan, deutan and tritan vision.
_INKS = ("#004f9a", "#d55e00", "#000000", "#569db6", "#760906", "#68744a", "#4a0058", "#805069")
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (7, 2, 1, 2)), (0, (10, 3)), (0, (3, 1.5, 1, 1.5, 1, 1.5)),
           (0, (2, 3)), (0, (8, 1.5, 2, 1.5)))  # fmt: skip
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_HATCHES = ("", "///", "..", "\\\\\\", "xxx", "---", "+++", "|||")
_KINDS = len(_INKS)

_WIDTH = 8.0  # inches; a page scales all figures to its own width, so that letters are alike in all
_PLOT = 500.0  # points of that for the axes, about
_LETTER = 6.2  # points for a letter, on average
_LINE = 0.17  # inches for a line of text


def _style(number: int) -> tuple[str, Any, str, str]:
    """Ink, dash, marker and hatch of a series: eight differ in each, 64 in how they combine."""
    turn, kind = divmod(number, _KINDS)
    shifted = (kind + turn) % _KINDS
    return _INKS[kind], _DASHES[shifted], _MARKERS[shifted], _HATCHES[shifted]


@contextmanager
def _settings() -> Iterator[None]:
    """Matplotlib as it comes, but for what is set here: a user's own settings do not reach the page."""
    with needs("A figure", "plot"):
        from matplotlib import style

    ours = {
        "axes.axisbelow": True,
        "axes.formatter.limits": (-4, 7),
        "axes.formatter.useoffset": False,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "font.sans-serif": ["DejaVu Sans", "Verdana"],  # wide ones: others take less room than was left
        "grid.color": "0.88",
        "hatch.linewidth": 0.8,
        "lines.markersize": 7,
        "svg.fonttype": "none",
        "svg.hashsalt": "kibitz",
        "text.parse_math": False,  # a $ in a name is a $
    }
    with style.context(["default", ours]):
        yield


def _figure(height: float, grid: Any = "y") -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    axes.grid(axis=grid)
    return figure, axes


def _svg(figure: Any) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    # Several figures stand in one page, where an id may occur only once.
    own = "k" + hashlib.sha256(svg.encode()).hexdigest()[:8]
    return re.sub(
        r"<[^>]*>", lambda tag: re.sub(r'(\sid="|url\(#|href="#)', rf"\g<1>{own}-", tag.group()), svg
    )


def _no_data() -> str:
    figure, axes = _figure(1)
    axes.set_axis_off()
    axes.text(0.5, 0.5, "no data", ha="center", va="center")
    return _svg(figure)


def _wrapped(name: object, letters: int) -> str:
    """The name in lines of at most so many letters, broken after spaces and commas where it has some."""
    return "\n".join(re.findall(rf".{{1,{letters}}}(?:(?<=[\s,;/])|$)|.{{1,{letters}}}", str(name)))


def _letters(names: Iterable[str]) -> int:
    return max((len(line) for name in names for line in name.split("\n")), default=0)


def _legend(figure: Any, handles: Sequence[Any], names: Iterable[object], sample: float = 4) -> None:
    """What the inks mean: above the axes, where it covers no data; the figure grows by as much."""
    texts = [_wrapped(name, 70) for name in names]
    columns = max(1, min(len(texts), int(72 * _WIDTH / (_LETTER * _letters(texts) + 60))))
    lines = math.ceil(len(texts) / columns) * max(text.count("\n") + 1 for text in texts)
    figure.set_figheight(figure.get_figheight() + 0.2 + 1.15 * _LINE * lines)
    figure.legend(
        handles, texts, loc="outside upper center", ncols=columns, frameon=False, handlelength=sample
    )


def _limits(values: Iterable[float]) -> tuple[float, float]:
    """The ends of an axis with room for all finite values."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    air = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
    return low - air, high + air


def _numbers(estimates: Iterable[Estimate], scale: float) -> list[float]:
    return [scale * x for e in estimates for x in (e.low, e.mean, e.high)]


def _whiskers(
    axes: Any,
    places: Iterable[float],
    estimates: Iterable[Estimate],
    scale: float,
    upright: bool,
    **look: Any,
) -> None:
    """The interval of each estimate, capped at its ends; an arrow where it goes on beyond the axes."""
    limits = axes.get_ylim() if upright else axes.get_xlim()
    cap, arrows = ("_", "v^") if upright else ("|", "<>")
    for place, estimate in zip(places, estimates, strict=True):
        ends = sorted((scale * estimate.low, scale * estimate.high))
        if any(map(math.isnan, ends)):
            continue
        seen = [min(max(end, limits[0]), limits[1]) for end in ends]
        xy = ([place] * 2, seen) if upright else (seen, [place] * 2)
        axes.plot(*xy, **look)
        for number, arrow in enumerate(arrows):
            marker = cap if seen[number] == ends[number] else arrow
            axes.plot(*(part[number] for part in xy), marker, markersize=6, clip_on=False, **look)


def _across(axes: Any, ticks: Sequence[float], names: Iterable[object], points: NDArray[Any]) -> None:
    """Names under the x axis: level where they fit, else turned; of two on one spot only the first.

    `points` are the places of the ticks in points: what is near depends on the scale of the axis.
    """
    texts = [_wrapped(name, 30) for name in names]
    lines = max(text.count("\n") + 1 for text in texts)
    gap = float(np.median(np.diff(points))) if len(points) > 1 else _PLOT
    size = min(10.0, max(5.0, 0.8 * gap / lines))
    kept = [0]
    for number in range(1, len(points)):
        if points[number] - points[kept[-1]] < 1.2 * size * lines:
            texts[number] = ""
        else:
            kept.append(number)
    axes.set_xticks(ticks, texts, size=size)
    axes.set_xticks([], minor=True)
    widths = [0.1 * size * _LETTER * _letters([text]) + 6 for text in texts]
    apart = [(points[b] - points[a], (widths[a] + widths[b]) / 2) for a, b in pairwise(kept)]
    if any(there < needed for there, needed in apart):
        upright = min(there for there, _ in apart) < 2 * size * lines
        angle, va = (90, "center") if upright else (35, "top")
        for text in axes.get_xticklabels():
            text.set(rotation=angle, rotation_mode="anchor", ha="right", va=va)
        figure, more = axes.get_figure(), math.sin(math.radians(angle)) * max(widths) / 72
        figure.set_figheight(figure.get_figheight() + more / axes.get_gridspec().ncols)


@_settings()
def intervals(
    names: Sequence[str],
    measured: Sequence[Estimate],
    published: Sequence[float | None],
    label: str,
    scale: float = 1.0,
) -> str:
    """A dot with its interval for every name, and an open diamond for what was published.

    An interval without end leaves the figure as an arrow; a mean that is not a number has no dot.
    """
    from matplotlib.lines import Line2D

    if not names:
        return _no_data()
    known = [math.nan if value is None else scale * value for value in published]
    texts = [_wrapped(name, 40) for name in names]
    heights = np.array([0.15 + _LINE * (text.count("\n") + 1) for text in texts])
    rows = np.cumsum(heights) - heights / 2
    figure, axes = _figure(0.6 + heights.sum(), "both")
    axes.set_xlim(_limits(_numbers(measured, scale) + known))
    axes.set_ylim(heights.sum(), 0)
    axes.set_yticks(rows, texts)
    axes.set_xlabel(_wrapped(label, 75))
    dot: dict[str, Any] = dict(color=_INKS[0], marker="o", linestyle="")
    diamond: dict[str, Any] = dict(color=_INKS[1], marker="D", linestyle="", fillstyle="none", markersize=9)
    _whiskers(axes, rows, measured, scale, upright=False, color=_INKS[0], linewidth=2)
    for row, estimate, value in zip(rows, measured, known, strict=True):
        axes.plot(scale * estimate.mean, row, **dot)
        axes.plot(value, row, **diamond)
    entries = {"measured": dot, "published": diamond} if any(map(math.isfinite, known)) else {"measured": dot}
    _legend(figure, [Line2D([], [], **look) for look in entries.values()], entries, 1)
    return _svg(figure)


@_settings()
def curves(
    series: Mapping[str, Sequence[tuple[float, Estimate]]],
    x_label: str,
    y_label: str,
    scale: float = 1.0,
    published: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    log_x: bool | None = None,
) -> str:
    """A line through the estimates of each series, with their intervals; published values as open markers.

    The x axis is logarithmic if `log_x` says so, or by itself if all x are positive and the largest is
    at least 20 times the smallest. Estimates of several series at one x stand a little apart.
    """
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
    from matplotlib.transforms import ScaledTranslation

    known = published or {}
    names = list(dict.fromkeys([*series, *known]))
    xs = sorted({x for points in (*series.values(), *known.values()) for x, _ in points})
    if not xs:
        return _no_data()
    if log_x is None:
        log_x = xs[0] > 0 and xs[-1] / xs[0] >= 8
    elif log_x and xs[0] <= 0:
        raise ValueError(f"a logarithmic axis needs x > 0, but there is x = {xs[0]:g}")

    figure, axes = _figure(3.6)
    estimates = [estimate for points in series.values() for _, estimate in points]
    values = [scale * value for points in known.values() for _, value in points]
    axes.set_ylim(_limits(_numbers(estimates, scale) + values))
    places = np.log10(xs) if log_x else np.array(xs, float)
    low, high = _limits(places)
    places = _PLOT * (places - low) / (high - low)
    if log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())  # within a decade it would be labelled too
        low, high = 10**low, 10**high
    axes.set_xlim(low, high)
    if len(xs) <= 12:
        _across(axes, xs, [f"{x:,.10g}" for x in xs], places)
    axes.set_xlabel(_wrapped(x_label, 75))
    axes.set_ylabel(_wrapped(y_label, 38))

    apart = min(5, 0.3 * min(np.diff(places), default=_PLOT) / len(names))
    handles = []
    for number, name in enumerate(names):
        ink, dash, marker, _ = _style(number)
        aside = ScaledTranslation(apart * (number - (len(names) - 1) / 2) / 72, 0, figure.dpi_scale_trans)
        look: dict[str, Any] = dict(color=ink, transform=axes.transData + aside)
        points = sorted(series.get(name, ()), key=lambda point: point[0])
        at, found = [x for x, _ in points], [estimate for _, estimate in points]
        _whiskers(axes, at, found, scale, upright=True, linewidth=1, **look)
        axes.plot(at, [scale * e.mean for e in found], linestyle=dash, marker=marker, **look)
        for x, value in known.get(name, ()):
            axes.plot(x, scale * value, marker=marker, markersize=10, fillstyle="none", **look)
        handles.append(Line2D([], [], color=ink, linestyle=dash, marker=marker))
    if values:
        names.append("published: open markers")
        handles.append(Line2D([], [], color="0.3", linestyle="", marker="o", markersize=10, fillstyle="none"))
    _legend(figure, handles, names)
    return _svg(figure)


@_settings()
def heat_map(
    row_names: Sequence[str],
    column_names: Sequence[str],
    panels: Sequence[tuple[str, NDArray[Any]]],
    row_label: str,
    column_label: str,
    label: str,
    digits: int = 2,
) -> str:
    """A table of numbers for every panel, cells the lighter the higher, all on one scale of colours.

    The first row is on top. Panels stand side by side, or below each other where cells would get too
    narrow for their numbers. A cell that is not a number is hatched.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    rows, columns = [_wrapped(name, 24) for name in row_names], [str(name) for name in column_names]
    tables = [np.asarray(table, float) for _, table in panels]
    for (title, _), table in zip(panels, tables, strict=True):
        if table.shape != (len(rows), len(columns)):
            raise ValueError(f"panel '{title}' is {table.shape}, but names are {(len(rows), len(columns))}")
    if not (tables and rows and columns):
        return _no_data()

    texts = [[["–" if math.isnan(x) else f"{x:z.{digits}f}" for x in row] for row in t] for t in tables]
    finite = np.concatenate([table[np.isfinite(table)] for table in tables])
    ends = (finite.min(), finite.max()) if len(set(finite)) > 1 else _limits(finite)
    # A scale of 40 steps stays a drawing: matplotlib makes a finer one a picture.
    colours = ScalarMappable(Normalize(*ends), colormaps["cividis"].resampled(40))

    size = 9.0
    room = 72 * _WIDTH - 110 - _LETTER * _letters(rows)
    cell = 0.1 * size * _LETTER * _letters(text for t in texts for row in t for text in row) + 6
    beside = len(tables) if len(tables) * len(columns) * cell <= room else 1
    wide = room / beside
    size *= min(1, wide / len(columns) / cell)
    tall = max(1.6, len(rows) * (0.12 + _LINE * max(name.count("\n") + 1 for name in rows)))
    below = len(tables) // beside
    figure = Figure(figsize=(_WIDTH, below * (tall + 0.8)), layout="constrained")
    grid = figure.subplots(below, beside, squeeze=False).ravel()
    for number, (axes, (title, _)) in enumerate(zip(grid, panels, strict=True)):
        axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
        axes.set_title(_wrapped(title, max(8, int(wide / _LETTER / 1.2))))
        axes.set_xlabel(_wrapped(column_label, max(8, int(wide / _LETTER))))
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        _across(axes, range(len(columns)), columns, wide / len(columns) * np.arange(len(columns)))
        axes.set_yticks(range(len(rows)), rows if number % beside == 0 else [""] * len(rows))
        if number % beside == 0:
            axes.set_ylabel(_wrapped(row_label, max(20, int(72 * tall / _LETTER))))
        for (row, column), value in np.ndenumerate(tables[number]):
            face, edge, hatch = (1.0, 1.0, 1.0), "0.7", "////"
            if math.isfinite(value):
                face, edge, hatch = tuple(colours.to_rgba(value))[:3], "white", ""
            look: dict[str, Any] = dict(facecolor=face, edgecolor=edge, hatch=hatch, linewidth=0.5)
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, **look))
            text = texts[number][row][column]
            axes.text(column, row, text, ha="center", va="center", size=size, color=_contrast(face))
    bar: Any = figure.colorbar(colours, ax=list(grid), aspect=30)
    bar.set_label(_wrapped(label, max(20, int(72 * below * tall / _LETTER))))
    bar.solids.set_edgecolor("face")  # no white seams between the steps
    return _svg(figure)


def _contrast(face: Sequence[float]) -> str:
    """Black or white, whichever stands out more from a colour (WCAG's relative luminance)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in face]
    return "black" if np.dot(linear, (0.2126, 0.7152, 0.0722)) > 0.179 else "white"


@_settings()
def bars(
    groups: Sequence[str], series: Mapping[str, Sequence[Estimate]], y_label: str, scale: float = 1.0
) -> str:
    """For every group a bar of each series, from 0 to the mean, with its interval."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    if not (groups and series):
        return _no_data()
    figure, axes = _figure(3.6)
    numbers = [0.0, *_numbers((e for estimates in series.values() for e in estimates), scale)]
    low, high = _limits(numbers)
    axes.set_ylim(0 if all(not x < 0 or math.isinf(x) for x in numbers) else low, high)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_ylabel(_wrapped(y_label, 38))
    _across(axes, range(len(groups)), groups, _PLOT / len(groups) * np.arange(len(groups)))
    axes.tick_params("x", length=0, pad=8)
    wide, handles = 0.8 / len(series), []
    for number, estimates in enumerate(series.values()):
        ink, _, _, hatch = _style(number)
        # A pale face, for the hatch and the interval must stand out from it.
        face = [0.65 + 0.35 * part for part in to_rgb(ink)]
        look: dict[str, Any] = dict(facecolor=face, edgecolor=ink, hatch=hatch)
        places = np.arange(len(groups)) + wide * (number - (len(series) - 1) / 2)
        for place, estimate in zip(places, estimates, strict=True):
            if math.isfinite(estimate.mean):
                axes.bar(place, scale * estimate.mean, 0.92 * wide, **look)
        _whiskers(axes, places, estimates, scale, upright=True, color="black", linewidth=1.2)
        handles.append(Patch(**look))
    _legend(figure, handles, series)
    return _svg(figure)


@_settings()
def distributions(
    samples: Mapping[str, NDArray[Any]],
    label: str,
    mark: float | None = None,
    low: float | None = None,
    high: float | None = None,
) -> str:
    """How often each result came up, one line a sample; `mark` is a vertical line.

    The axis reaches from `low` to `high`, by default the least and the greatest result. Heights are
    shares of the whole sample, also where some of it lies beyond.
    """
    from matplotlib.lines import Line2D

    finite = {name: np.asarray(v, float)[np.isfinite(v)] for name, v in samples.items()}
    values = np.concatenate([*finite.values(), np.empty(0)])
    if not len(values):
        return _no_data()
    bins = _bins(values, values.min() if low is None else low, values.max() if high is None else high)
    figure, axes = _figure(3.2)
    handles = []
    for number, sample in enumerate(finite.values()):
        ink, dash, marker, _ = _style(number)
        look: dict[str, Any] = dict(color=ink, linestyle=dash, marker=marker)
        if len(sample):
            shares = 100 * np.histogram(sample, bins)[0] / len(sample)
            # Markers take turns, so that they do not hide each other where lines meet.
            turns = (1 + number % (len(bins) - 3), len(finite))
            axes.plot((bins[1:] + bins[:-1]) / 2, shares, drawstyle="steps-mid", markevery=turns, **look)
        handles.append(Line2D([], [], **look))
    if mark is not None:
        axes.axvline(mark, color="0.4", linewidth=1)
        axes.text(mark, 1.01, f"{mark:,.10g}", ha="center", transform=axes.get_xaxis_transform())
    axes.set_xlim((bins[0] + bins[1]) / 2, (bins[-2] + bins[-1]) / 2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(_wrapped(label, 75))
    axes.set_ylabel("% of games")
    _legend(figure, handles, finite)
    return _svg(figure)


def _bins(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Edges of equal bins from low to high, at most about 40, and one bin more at both ends.

    Bins are 1, 2 or 5 wide, times a power of ten. Whole numbers lie inside of theirs, and each bin has
    as many of those that occur: if all are even, bins of 5 would have 2 and 3 of them by turns.
    """
    step, first = 0.0, 0.0
    if (values == np.rint(values)).all():
        distinct = np.unique(values).astype(np.int64)
        step = float(np.gcd.reduce(np.diff(distinct))) or 1.0
        first = float(distinct[0] % step)
    wanted = min(40, max(20, 2 * len(values) ** (1 / 3)))
    unit = step or 1.0
    least = max(((high - low) or 1.0) / wanted / unit, 1.0 if step else 0.0)
    exponent = math.floor(math.log10(least))
    width = unit * next(x for x in (times * 10.0**exponent for times in (1, 2, 5, 10)) if x >= least)
    # Rounded, for 6 × 0.05 is more than 0.3, which belongs above that edge.
    start, stop = (math.floor((end - first) / width + 1e-9) for end in (low, high))
    numbers = np.arange(start - 1, stop + 3)
    return np.round(first - step / 2 + width * numbers, 9 - exponent)
