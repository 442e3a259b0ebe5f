"""What a measured figure says: reproduced, different, stronger or weaker, or too few games to tell.

A figure counts as reproduced only if the interval around the measured one contains it *and* is narrow: an
interval from 0 to 100 % contains everything and shows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtr, stdtrit

from kibitz.arena import statistics
from kibitz.arena.statistics import Estimate

REPRODUCED, DIFFERS, TOO_FEW = "reproduced", "differs", "too few games to tell"
NOT_MEASURED = "not measured"
EXACT = "exact"
"""Said of what is computed and no sample."""

_NARROW_SHARE = 0.05
_NARROWEST_SHARE = 0.01
_NARROW_PART = 0.1
_FEWEST_GAMES = 200
"""What is recommended where there is no interval to reckon from."""


@dataclass(frozen=True)
class Question:
    """What is asked of a measured figure: the words that answer it."""

    above: str
    """Said if it lies above the figure that it is held against."""
    below: str
    neither: str
    """Said if chance alone explains the difference."""
    needs_narrow: bool = False
    """Whether `neither` is an answer only if the interval is narrow."""


PUBLISHED = Question(DIFFERS, DIFFERS, REPRODUCED, needs_narrow=True)
GOAL = Question("surpassed", "missed", "within the interval", needs_narrow=True)
ABOVE = Question("yes", "not shown", "not shown")
STRONGER = Question("stronger", "weaker", "not decided")
MORE = Question("more", "less", "not decided")


@dataclass(frozen=True)
class Line:
    """A measured figure, and the one that it is held against: published, a goal, or 0 for a difference."""

    against: float
    measured: Estimate
    games: int
    is_share: bool
    """Whether the figures are shares, from 0 to 1."""
    known: Estimate | None = None
    """The published figure with an interval of its own, if the number of games behind it is known."""
    asks: Question = PUBLISHED
    p_value: float | None = None
    """Of a test of its own; without one, the interval decides."""


@dataclass(frozen=True)
class Verdict:
    """The word that answers; if there are too few games, about how many it takes, where that can be said."""

    word: str
    games_needed: int | None = None
    p_value: float | None = None
    """Corrected for the number of lines that were tested."""
    is_corrected: bool = False
    """Whether more than one line was tested."""


def verdicts(lines: Sequence[Line], confidence: float = 0.95) -> list[Verdict]:
    """The verdicts about the lines of one table.

    The more lines a table has, the more of them differ by chance alone, so their p-values are corrected for
    their number (Holm), whatever is asked of them. A line without an interval is no test, and shows nothing.

    >>> line = Line(0.96, statistics.wilson(910, 1000), games=1000, is_share=True)
    >>> verdicts([line])[0].word
    'differs'
    >>> few = verdicts([Line(0.96, statistics.wilson(9, 10), games=10, is_share=True)])[0]
    >>> few.word, few.games_needed
    ('too few games to tell', 2400)
    """
    tested = [_chance(line, confidence) for line in lines]
    is_corrected = sum(not math.isnan(chance) for chance in tested) > 1
    return [
        _verdict(line, float(chance), is_corrected, confidence)
        for line, chance in zip(lines, statistics.holm(tested), strict=True)
    ]


def _verdict(line: Line, chance: float, is_corrected: bool, confidence: float) -> Verdict:
    """What a line shows by its corrected p-value; NaN if it could not be tested."""
    if math.isnan(chance):
        # Deals of a match that all agree do not say how many it takes until one does not.
        is_known = line.asks.needs_narrow or line.measured.n < 2
        return Verdict(TOO_FEW, games_needed(line) if is_known else None)
    if chance < 1 - confidence:
        word = line.asks.above if line.measured.mean > line.against else line.asks.below
        return Verdict(word, None, chance, is_corrected)
    if line.asks.needs_narrow and (needed := games_needed(line)):
        return Verdict(TOO_FEW, needed, chance, is_corrected)
    return Verdict(line.asks.neither, None, chance, is_corrected)


def _chance(line: Line, confidence: float) -> float:
    if not has_interval(line.measured):
        return math.nan
    return chance_of_difference(line, confidence) if line.p_value is None else line.p_value


def has_interval(measured: Estimate) -> bool:
    """Whether there is an interval that tells: one deal has none, nor have deals that all agree."""
    low, high = measured.ci
    width = high - low
    return measured.n > 1 and math.isfinite(width) and width > 1e-12 * max(abs(low), abs(high))


def chance_of_difference(line: Line, confidence: float = 0.95) -> float:
    """How likely chance alone makes so large a difference: below 1 − confidence exactly if `line.against` is
    outside of the interval.
    """
    published, measured = line.against, line.measured
    is_below = published < measured.mean
    half = measured.mean - measured.low if is_below else measured.high - measured.mean
    if line.known is not None:  # as in Newcombe's interval of a difference, the distances add as squares
        half = math.hypot(half, line.known.high - published if is_below else published - line.known.low)
    distance = abs(measured.mean - published)
    if not has_interval(measured):
        return 1.0
    if half == 0:
        return float(distance == 0)
    degrees = measured.n - 1
    return 2 * float(stdtr(degrees, -stdtrit(degrees, (1 + confidence) / 2) * distance / half))


def games_needed(line: Line) -> int:
    """About how many games make the interval narrow enough to decide; 0 if there are enough.

    An interval of a share is narrow if it reaches at most 5 percentage points to either side, and at most
    half as far as from the published figure to 0 or 100 %; one of points, if it reaches at most a tenth of
    the published figure, or of the spread between deals.
    """
    published, measured = line.against, line.measured
    half = max(measured.mean - measured.low, measured.high - measured.mean)
    if not has_interval(measured):
        return max(_FEWEST_GAMES, 2 * line.games)
    if line.is_share:
        to_the_end = min(published, 1 - published)
        narrow = min(_NARROW_SHARE, max(to_the_end / 2, _NARROWEST_SHARE))
    else:
        spread = measured.stderr * math.sqrt(measured.n)
        narrow = _NARROW_PART * max(abs(published), spread)
    if half <= narrow:
        return 0
    wanted = line.games * (half / narrow) ** 2
    digit = 10 ** max(0, math.floor(math.log10(wanted)) - 1)
    return math.ceil(wanted / digit) * digit
