"""What a measured figure says about a published one: reproduced, different, or too few games to tell.

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
class Line:
    """A published figure beside the measured one."""

    published: float
    measured: Estimate
    games: int
    is_share: bool
    """Whether the figures are shares, from 0 to 1."""
    known: Estimate | None = None
    """The published figure with an interval of its own, if the number of games behind it is known."""


@dataclass(frozen=True)
class Verdict:
    """One of the words above; if there are too few games, about how many it takes."""

    word: str
    games_needed: int | None = None


def verdicts(lines: Sequence[Line], confidence: float = 0.95) -> list[Verdict]:
    """The verdicts about the lines of one table.

    The more lines a table has, the more of them differ by chance alone, so what is tested is corrected for
    their number (Holm).

    >>> line = Line(0.96, statistics.wilson(910, 1000), games=1000, is_share=True)
    >>> verdicts([line])[0].word
    'differs'
    >>> verdicts([Line(0.96, statistics.wilson(9, 10), games=10, is_share=True)])[0]
    Verdict(word='too few games to tell', games_needed=2400)
    """
    if not lines:
        return []
    found = []
    chances = statistics.holm([chance_of_difference(line, confidence) for line in lines])
    for line, chance in zip(lines, chances, strict=True):
        if chance < 1 - confidence:
            found.append(Verdict(DIFFERS))
        elif needed := games_needed(line):
            found.append(Verdict(TOO_FEW, needed))
        else:
            found.append(Verdict(REPRODUCED))
    return found


def chance_of_difference(line: Line, confidence: float = 0.95) -> float:
    """How likely chance alone makes so large a difference: below 1 − confidence exactly if the published
    figure is outside of the interval.
    """
    published, measured = line.published, line.measured
    is_below = published < measured.mean
    half = measured.mean - measured.low if is_below else measured.high - measured.mean
    if line.known is not None:  # as in Newcombe's interval of a difference, the distances add as squares
        half = math.hypot(half, line.known.high - published if is_below else published - line.known.low)
    distance = abs(measured.mean - published)
    if measured.n < 2 or not math.isfinite(half):
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
    published, measured = line.published, line.measured
    half = max(measured.mean - measured.low, measured.high - measured.mean)
    if measured.n < 2 or not math.isfinite(half):
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
