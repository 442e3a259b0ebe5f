"""Figures: the same text for the same input, every name in it, and nothing told by colour alone."""

import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise

import matplotlib as mpl
import numpy as np
import pytest

from kibitz import plots
from kibitz.arena.statistics import Estimate, mean_of_deals, wilson

NAN, INF = math.nan, math.inf
ENDLESS, NOTHING = mean_of_deals([0.7]), mean_of_deals([])
SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
EIGHT = [f"agent {number}" for number in range(8)]
ODD = ["expert:500,c=0.7", "a $x$ & <b>", "Briškola"]
TABLE = np.linspace(-1, 1, 11 * 15).reshape(11, 15)


def near(mean, half=0.03):
    return Estimate(mean, half / 2, mean - half, mean + half, 100)


def spread(n, modulus):
    return np.arange(n) * 7919 % modulus


def table(names, panels=1, rows=("low", "high")):
    values = np.linspace(-1, 1, len(rows) * len(names)).reshape(len(rows), len(names))
    return plots.heat_map(
        rows, names, [(f"panel {p}", values + p) for p in range(panels)], "row", "column", "v"
    )


# Every kind of figure, for names; what the names stand for does not matter.
KINDS = {
    "intervals": lambda names: plots.intervals(names, [near(0.5)] * len(names), [0.5] * len(names), "won"),
    "curves": lambda names: plots.curves(
        {name: [(x, near(x + i)) for x in (1, 2, 3)] for i, name in enumerate(names)}, "budget", "won"
    ),
    "heat_map": table,
    "bars": lambda names: plots.bars(["one", "two"], {name: [near(1), near(2)] for name in names}, "won"),
    "groups": lambda names: plots.bars(names, {"one": [near(1)] * len(names)}, "won"),
    "distributions": lambda names: plots.distributions(
        {name: spread(500, 121) for name in names}, "points", 60
    ),
}
each_kind = pytest.mark.parametrize("draw", KINDS.values(), ids=KINDS)


def texts(svg):
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter(SVG + "text")]


def style(element):
    return dict(part.split(": ", 1) for part in element.get("style", "").split("; ") if part)


def legend(svg):
    (found,) = (g for g in ET.fromstring(svg).iter(SVG + "g") if g.get("id", "").endswith("legend_1"))
    return found


def marks(svg):
    """How many markers there are, ticks included."""
    return len(list(ET.fromstring(svg).iter(SVG + "use")))


def luminance(ink):
    parts = [int(ink[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def lightness(ink):
    y = luminance(ink)
    return 116 * y ** (1 / 3) - 16 if y > 216 / 24389 else 24389 / 27 * y


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@each_kind
def test_same_text_whatever_the_settings_and_all_names_in_it(draw):
    svg = draw(ODD)
    assert svg == draw(ODD)
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "black", "svg.fonttype": "path"}):
        assert svg == draw(ODD)
    assert set(ODD) <= set(texts(svg))
    assert "<image" not in svg
    assert "<dc:date>" not in svg


def test_ids_are_unique_in_a_page():
    every = [draw(names) for draw in KINDS.values() for names in (ODD, EIGHT)]
    page = ET.fromstring(f"<div>{''.join(every)}</div>")
    ids = [element.get("id") for element in page.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    used = re.findall(r"url\(#([^)]*)\)", "".join(every))
    used += [element.get(LINK)[1:] for element in page.iter() if element.get(LINK)]
    assert used
    assert set(used) <= set(ids)


def test_importing_is_quick():
    code = "import sys, kibitz.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_inks_differ_in_black_and_white():
    assert all(contrast(ink, "#ffffff") >= 3 for ink in plots._INKS)
    light = [lightness(ink) for ink in plots._INKS]
    assert all(abs(a - b) >= 20 for a, b in pairwise(light))
    assert all(abs(a - b) >= 6 for a, b in combinations(light, 2))


def test_styles_differ():
    styles = [plots._style(number) for number in range(64)]
    for part in zip(*styles[:8], strict=True):
        assert len(set(part)) == 8
    assert len(set(styles)) == 64


@pytest.mark.parametrize("kind", ["curves", "distributions"])
def test_eight_lines_differ_in_ink_dash_and_marker(kind):
    drawn = legend(KINDS[kind](EIGHT))
    lines = [style(path) for path in drawn.iter(SVG + "path") if "stroke-width" in path.get("style", "")]
    markers = [use.get(LINK) for use in drawn.iter(SVG + "use")]
    assert len(lines) == len(markers) == 8
    assert len({line.get("stroke", "black") for line in lines}) == 8
    assert len({line.get("stroke-dasharray") for line in lines}) == 8
    assert len(set(markers)) == 8


def test_eight_bars_differ_in_ink_and_hatch():
    svg = KINDS["bars"](EIGHT)
    bars = [style(path) for path in legend(svg).iter(SVG + "path")]
    assert len({bar.get("stroke", "black") for bar in bars}) == len({bar["fill"] for bar in bars}) == 8
    patterns = {
        "".join(path.get("d") for path in pattern.iter(SVG + "path"))
        for pattern in ET.fromstring(svg).iter(SVG + "pattern")
    }
    assert len(patterns) == 7  # one has none


def test_intervals_without_end_or_mean():
    rows = [near(0.5), ENDLESS, NOTHING, wilson(0, 0), Estimate(0.6, 0.1, 0.55, INF, 3)]
    svg = plots.intervals("abcde", rows, [0.5, None, NAN, 0.3, None], "won", 100)
    assert not re.search(r'"[^"]*\b(nan|inf)\b[^"]*"', svg)
    assert "published" in texts(svg)
    assert "published" not in texts(plots.intervals(["a"], [near(1)], [None], "won"))
    missing = Estimate(NAN, 0.1, 0.47, 0.53, 9)
    whole, dotless = (plots.intervals("ab", [near(0.5), e], [None] * 2, "won") for e in (near(0.5), missing))
    assert marks(whole) == marks(dotless) + 1


def test_many_and_long_names():
    long = "a name that does not end: ismcts:20000,exploration=0.7,playout=greedy," + "x" * 60
    svg = plots.intervals([long, *map(str, range(100, 139))], [near(1)] * 40, [None] * 40, "won")
    assert long in "".join(texts(svg))
    assert set(map(str, range(100, 139))) <= set(texts(svg))
    for draw in KINDS.values():
        draw([long, long + "y"])


def test_curves_ticks_and_scale():
    def ticks(xs, **options):
        return texts(plots.curves({"a": [(x, near(0.5)) for x in xs]}, "budget", "won", **options))

    assert {"100", "300", "20,000"} <= set(ticks([20000, 100, 300]))
    assert {"0", "7", "200"} <= set(ticks([0, 7, 200]))
    assert {"1", "10", "100"} <= set(ticks(range(1, 101)))  # logarithmic, so not every x
    assert {"0", "20", "40"} <= set(ticks(range(1, 51), log_x=False))
    assert ticks([3, 4], log_x=True)
    within = ticks(range(2000, 30001, 1000))  # a little more than a decade
    assert {"2,000", "10,000"} <= set(within)
    assert not [text for text in within if "10^" in text]
    assert {"1", "2"} <= set(ticks([1, 1 + 1e-9, 2]))
    with pytest.raises(ValueError, match="x > 0"):
        ticks([0, 1], log_x=True)


def test_curves_published_and_missing():
    points = {"a": [(1, near(0.5)), (2, ENDLESS)], "b": [(1, NOTHING), (3, near(NAN))]}
    plain = plots.curves(points, "budget", "won", 100)
    svg = plots.curves(points, "budget", "won", 100, {"b": [(1, 0.4), (2, 0.6)], "c": [(4, 0.5)]})
    assert not re.search(r'"[^"]*\b(nan|inf)\b[^"]*"', plain + svg)
    assert {"a", "b", "c", "published: open markers"} <= set(texts(svg))
    # Three values, two entries and the tick at 4.
    assert marks(svg) - marks(plain) >= 6
    assert "published: open markers" not in texts(plain)


def test_bars_without_end_or_mean():
    svg = plots.bars(["x", "y"], {"a": [ENDLESS, near(NAN)], "b": [NOTHING, near(-0.5)]}, "won")
    assert not re.search(r'"[^"]*\b(nan|inf)\b[^"]*"', svg)
    assert {"x", "y", "a", "b"} <= set(texts(svg))


def cells(svg):
    """Faces and texts of cells, in order."""
    root = ET.fromstring(svg)
    parents = {child: parent for parent in root.iter() for child in parent}
    boxes = [
        style(path)["fill"] for path in root.iter(SVG + "path") if style(path).get("stroke-width") == "0.5"
    ]
    shown = [t for t in root.iter(SVG + "text") if parents[t] is not root and t.text]
    return boxes, [(t.text, style(t).get("fill", "#000000")) for t in shown]


def test_heat_map_numbers_stand_out_and_light_is_more():
    svg = plots.heat_map(range(11), range(15), [("all", TABLE)], "row", "column", "value", 3)
    boxes, shown = cells(svg)
    inks = dict(shown)
    printed = [f"{value:z.3f}" for value in TABLE.ravel()]
    assert set(printed) <= set(inks)
    assert all(contrast(box, inks[text]) >= 4.5 for box, text in zip(boxes, printed, strict=True))
    light = [lightness(box) for box in boxes]
    assert all(a <= b for a, b in pairwise(light))
    assert light[-1] - light[0] > 70


def test_heat_map_panels_share_a_scale():
    svg = plots.heat_map(["a"], ["x", "y"], [("old", [[0, 5]]), ("new", [[5, 10]])], "row", "column", "v")
    boxes, _ = cells(svg)
    assert boxes[1] == boxes[2]
    assert {"old", "new", "0.00", "5.00", "10.00"} <= set(texts(svg))
    wide, high = (float(x) for x in re.search(r'viewBox="0 0 (\S+) (\S+)"', svg).groups())
    assert high < wide / 2  # side by side
    svg = plots.heat_map(range(11), range(15), [("old", TABLE), ("new", TABLE)], "row", "column", "v")
    wide, high = (float(x) for x in re.search(r'viewBox="0 0 (\S+) (\S+)"', svg).groups())
    assert high > wide / 2  # cells would be too narrow
    sizes = [float(style(t)["font-size"][:-2]) for t in ET.fromstring(svg).iter(SVG + "text")]
    assert min(sizes) * 1000 / wide > 12  # pixels in a page of 1000


def test_heat_map_of_what_is_no_number():
    svg = plots.heat_map(["a"], ["x", "y", "z"], [("all", [[NAN, INF, 1]])], "row", "column", "v")
    boxes, _ = cells(svg)
    assert [box.startswith("url(") for box in boxes] == [True, True, False]
    assert {"–", "inf", "1.00"} <= set(texts(svg))
    assert "–" in texts(plots.heat_map(["a"], ["x"], [("all", [[NAN]])], "row", "column", "v"))
    assert texts(plots.heat_map(["a"], ["x"], [("all", [[-1e-9]])], "row", "column", "v")).count("0.00") >= 1


@pytest.mark.parametrize(
    ("values", "width", "first"),
    [
        (spread(2000, 121), 5, -5.5),  # points: 0 … 4, 5 … 9
        (spread(40, 9), 1, -1.5),  # tricks: each its own bin
        (2 * spread(2000, 121) - 121, 10, -140),  # odd ones only: five in each bin
        (np.full(9, 7), 1, 5.5),
        (spread(2000, 1000) / 1000, 0.05, -0.05),
        (spread(10**5, 1000) / 1000, 0.05, -0.05),
        (spread(40, 11) / 10, 0.05, -0.05),
        (np.array([0.3]), 0.05, 0.25),
    ],
)
def test_bins(values, width, first):
    values = np.asarray(values, float)
    bins = plots._bins(values, values.min(), values.max())
    assert bins[0] == pytest.approx(first)
    assert np.diff(bins) == pytest.approx(width)
    assert len(bins) <= 44
    counts, _ = np.histogram(values, bins)
    assert counts.sum() == len(values)
    assert counts[0] == counts[-1] == 0
    if len(np.unique(values)) <= 11:
        np.testing.assert_array_equal(counts[counts > 0], np.unique(values, return_counts=True)[1])
        assert np.isin(values, bins).all() or width == 1


def test_distributions_mark_ends_and_missing():
    sample = spread(300, 121)
    assert "60" in texts(plots.distributions({"a": sample}, "points", 60))
    assert "200" in texts(plots.distributions({"a": sample}, "points", low=0, high=200))
    svg = plots.distributions({"a": [1.5, NAN, INF], "none": []}, "points", None, 0, 3)
    assert {"a", "none"} <= set(texts(svg))
    assert not re.search(r'"[^"]*\b(nan|inf)\b[^"]*"', svg)


def test_nothing_to_show_says_so():
    for svg in (
        plots.intervals([], [], [], "won"),
        plots.curves({}, "budget", "won"),
        plots.curves({"a": []}, "budget", "won", published={"b": []}),
        plots.heat_map([], [], [], "row", "column", "v"),
        plots.heat_map(["a"], [], [("all", np.empty((1, 0)))], "row", "column", "v"),
        plots.bars([], {"a": []}, "won"),
        plots.bars(["x"], {}, "won"),
        plots.distributions({}, "points"),
        plots.distributions({"a": np.array([NAN])}, "points", 60),
    ):
        assert texts(svg) == ["no data"]


def test_what_does_not_match_is_refused():
    with pytest.raises(ValueError):
        plots.intervals(["a", "b"], [near(1)], [None], "won")
    with pytest.raises(ValueError):
        plots.intervals(["a"], [near(1)], [], "won")
    with pytest.raises(ValueError):
        plots.bars(["x", "y"], {"a": [near(1)]}, "won")
    with pytest.raises(ValueError, match="'all'"):
        plots.heat_map(["a"], ["x"], [("all", [[1, 2]])], "row", "column", "v")
