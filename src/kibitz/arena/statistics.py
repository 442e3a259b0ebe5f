"""Intervals with the deal as the unit: games on one deal are not independent of each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, expit, lambertw, ndtr, ndtri, stdtr, stdtrit

from kibitz.deadline import check
from kibitz.errors import BadOption


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error and its interval, over `n` independent deals."""

    mean: float
    stderr: float
    low: float
    high: float
    n: int

    @property
    def ci(self) -> tuple[float, float]:
        return self.low, self.high

    def text(self, scale: float = 1.0, digits: int = 2) -> str:
        """`96.1 (95.0 … 97.2)`; one deal alone has no interval, and none at all no mean."""
        if math.isnan(self.mean):
            return "–"
        if not math.isfinite(self.high - self.low):
            return f"{scale * self.mean:z.{digits}f} (–)"
        low, mean, high = (f"{scale * x:z.{digits}f}" for x in (self.low, self.mean, self.high))
        return f"{mean} ({low} … {high})"


def mean_of_deals(per_deal: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Student's interval for the mean of one number per deal.

    >>> mean_of_deals([1, 2, 3, 4]).text()
    '2.50 (0.45 … 4.55)'
    """
    values: NDArray[np.float64] = np.asarray(per_deal, float)
    n = len(values)
    mean = float(values.mean()) if n else math.nan
    if n < 2:
        return Estimate(mean, math.nan, -math.inf, math.inf, n)
    error = float(values.std(ddof=1) / math.sqrt(n))
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * error
    return Estimate(mean, error, mean - half, mean + half, n)


def wilson(successes: float, n: int, confidence: float = 0.95) -> Estimate:
    """Wilson's interval for a share, where every deal is played once.

    >>> wilson(96, 100).text(100, 1)
    '96.0 (90.2 … 98.4)'
    """
    if n == 0:
        return Estimate(math.nan, math.nan, 0.0, 1.0, 0)
    z = float(ndtri((1 + confidence) / 2))
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At 0 and n successes the interval ends there, but for rounding.
    low, high = min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half))
    return Estimate(share, math.sqrt(share * (1 - share) / n), low, high, n)


def share_of_deals(wins: ArrayLike, games: ArrayLike, confidence: float = 0.95) -> Estimate:
    """The share of games won, from wins and games of every deal.

    A ratio estimate: deals with fewer (decided) games weigh less. Where all deals agree, their
    spread says nothing, and where each is played once the closed form is exact: then Wilson's
    interval over the deals is given.
    """
    won, played = np.asarray(wins, float), np.asarray(games, float)
    total, n = float(played.sum()), int((played > 0).sum())
    if total == 0:
        return Estimate(math.nan, math.nan, 0.0, 1.0, 0)
    share = float(won.sum()) / total
    residual = won - share * played
    if n < 2 or played.max() <= 1 or not residual.any():
        estimate = wilson(share * n, n, confidence)
        return Estimate(share, estimate.stderr, estimate.low, estimate.high, n)
    error = math.sqrt(float((residual**2).sum()) * n / (n - 1)) / total
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * error
    return Estimate(share, error, max(0.0, share - half), min(1.0, share + half), n)


def ratio_of_deals(numbers: ArrayLike, others: ArrayLike, confidence: float = 0.95) -> Estimate:
    """The sum of one number per deal to that of another, such as points to all points.

    >>> ratio_of_deals([1, 2, 3, 4], [2, 4, 6, 9]).text(100, 1)
    '47.6 (41.7 … 53.5)'
    """
    above, below = _on_the_same_deals(numbers, others)
    if not below.sum():
        return Estimate(math.nan, math.nan, -math.inf, math.inf, 0)
    ratio = float(above.sum() / below.sum())
    found = mean_of_deals((above - ratio * below) / below.mean(), confidence)
    return replace(found, mean=ratio, low=ratio + found.low, high=ratio + found.high)


@dataclass(frozen=True)
class Sums:
    """All that is known of one number per deal, where only sums were kept."""

    deals: int
    total: float
    squares: float

    @property
    def mean(self) -> float:
        return self.total / self.deals

    @property
    def variance(self) -> float:
        return max(0.0, self.squares - self.total * self.mean) / (self.deals - 1)


def ratio_of_sums(counted: Sums, of: Sums, confidence: float = 0.95) -> Estimate:
    """The ratio of two numbers of which only sums over the same deals are known.

    Whether they rise and fall together is not known. They are taken as independent, so the interval
    is too wide where they rise together (absolute victories and victories: up to a quarter), and
    Student's own where the second is the same on every deal, as the number of games is.

    >>> ratio_of_sums(Sums(4, 10, 30), Sums(4, 4, 4)) == mean_of_deals([1, 2, 3, 4])
    True
    """
    n = counted.deals
    if n < 2 or not of.total:
        mean = counted.total / of.total if of.total else math.nan
        return Estimate(mean, math.nan, -math.inf, math.inf, n)
    ratio = counted.total / of.total
    error = math.sqrt((counted.variance + ratio**2 * of.variance) / n) / abs(of.mean)
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * error
    return Estimate(ratio, error, ratio - half, ratio + half, n)


def bootstrap_of_deals(
    per_deal: ArrayLike, confidence: float = 0.95, resamples: int = 4000, seed: int = 0
) -> Estimate:
    """The BCa bootstrap interval of the mean (Efron 1987): it follows a skewed spread of the deals.

    A resample of few distinct values is one multinomial draw of their counts, so five million deals
    take less than a second. Values that nearly all differ are drawn one by one, a block at a time:
    that needs little memory, but half a second for 20,000 deals and a minute for a million.

    >>> bootstrap_of_deals([0, 0, 0, 0, 0, 0, 0, 1, 2, 9]).text(digits=0)
    '1 (0 … 4)'
    """
    values: NDArray[np.float64] = np.asarray(per_deal, float)
    plain, n = mean_of_deals(values, confidence), len(values)
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < 2:
        return plain
    shifts, rng, drawn = distinct - plain.mean, np.random.default_rng(seed), []
    draw_counts = 8 * len(distinct) < n  # a count takes as long as eight indices
    for size in _blocks(resamples, len(distinct) if draw_counts else n):
        if draw_counts:
            drawn.append(rng.multinomial(n, counts / n, size=size) @ shifts / n)
        else:
            drawn.append(values[rng.integers(n, size=(size, n))].mean(axis=1) - plain.mean)
    replicates = np.concatenate(drawn)
    # A replicate equal to the mean but for rounding counts half below it, half above.
    sides = np.sign(replicates) * (np.abs(replicates) > 1e-9 * plain.stderr)
    bias = float(ndtri(0.5 - sides.mean() / 2))
    acceleration = float(counts @ shifts**3 / (6 * (counts @ shifts**2) ** 1.5))  # the jackknife's
    z = bias + ndtri([(1 - confidence) / 2, (1 + confidence) / 2])
    low, high = plain.mean + np.quantile(replicates, ndtr(bias + z / (1 - acceleration * z)))
    return Estimate(plain.mean, plain.stderr, float(low), float(high), n)


def exact_binomial(successes: int, n: int, confidence: float = 0.95) -> Estimate:
    """Clopper and Pearson's interval (1934): it never holds the truth less often than it says.

    >>> exact_binomial(96, 100).text(100, 1)
    '96.0 (90.1 … 98.9)'
    """
    share = wilson(successes, n, confidence)
    tail, failures = (1 - confidence) / 2, n - successes
    low = float(betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    return replace(share, low=low, high=high)


def paired_difference(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Student's interval for the mean of first − second, one number per deal, on the same deals.

    >>> paired_difference([70, 50, 81], [60, 41, 70]).text(digits=1)
    '10.0 (7.5 … 12.5)'
    """
    one, other = _on_the_same_deals(first, second)
    return mean_of_deals(one - other, confidence)


@dataclass(frozen=True)
class McNemar:
    """Games that only one of two agents won, and how likely chance is to split them so unevenly."""

    only_first: int
    only_second: int
    p_value: float


def mcnemar(first_won: ArrayLike, second_won: ArrayLike) -> McNemar:
    """McNemar's test (1947), exact and two-sided: one entry a game that both played in the same seat.

    Games that both won or both lost say nothing; the others are heads or tails.

    >>> mcnemar([True] * 8 + [False] * 4, [False] * 6 + [True] * 3 + [False] * 3)
    McNemar(only_first=6, only_second=1, p_value=0.125)
    """
    one, other = (won > 0 for won in _on_the_same_deals(first_won, second_won))
    only_first, only_second = int((one & ~other).sum()), int((other & ~one).sum())
    tail = share_above(max(only_first, only_second), only_first + only_second, 0.5)
    return McNemar(only_first, only_second, min(1.0, 2 * tail))


def share_above(successes: int, n: int, threshold: float) -> float:
    """The exact one-sided p-value of "the share is at most the threshold"; 1 without games.

    >>> share_above(9, 10, 0.5)
    0.0107421875
    """
    return float(betainc(successes, n - successes + 1, threshold)) if successes else 1.0


def mean_above(per_deal: ArrayLike, threshold: float) -> float:
    """The one-sided p-value of Student's test of "the mean is at most the threshold".

    One deal alone gives 1. Where all deals agree there is no spread to compare with, and the answer
    is 0 or 1: that is no proof when the deals are few.

    >>> round(mean_above([1, 2, 3, 4], 0), 4)
    0.0152
    """
    values: NDArray[np.float64] = np.asarray(per_deal, float)
    if len(values) < 2:
        return 1.0
    if values.min() == values.max():
        return 0.0 if values[0] > threshold else 1.0
    found = mean_of_deals(values)
    return float(stdtr(found.n - 1, (threshold - found.mean) / found.stderr))


def difference_of_shares(
    successes1: float, n1: int, successes2: float, n2: int, confidence: float = 0.95
) -> Estimate:
    """The first share less the second, each on deals of its own: Newcombe's interval (1998, method 10).

    Its ends combine those of the two Wilson intervals: squared distances from the shares add up.

    >>> difference_of_shares(56, 70, 48, 80).text(100, 1)
    '20.0 (5.2 … 33.4)'
    """
    one, other = wilson(successes1, n1, confidence), wilson(successes2, n2, confidence)
    difference, n = one.mean - other.mean, n1 + n2
    if n1 == 0 or n2 == 0:
        return Estimate(math.nan, math.nan, -1.0, 1.0, n)
    low = difference - math.hypot(one.mean - one.low, other.high - other.mean)
    high = difference + math.hypot(one.high - one.mean, other.mean - other.low)
    return Estimate(difference, math.hypot(one.stderr, other.stderr), low, high, n)


def two_shares(successes1: float, n1: int, successes2: float, n2: int) -> float:
    """The two-sided p-value of "both shares are the same", each on deals of its own.

    Pearson's test (1900), the pooled z without a correction, because it errs about as often as it
    says: with 60 games each and shares of 50 % in 5.5 % of the cases, where Fisher's exact test, too
    careful, does so in 3.5 %.

    >>> round(two_shares(56, 70, 48, 80), 4)
    0.008
    """
    if n1 == 0 or n2 == 0:
        return 1.0
    pooled = (successes1 + successes2) / (n1 + n2)
    error = math.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
    return 2 * float(ndtr(-abs(successes1 / n1 - successes2 / n2) / error)) if error else 1.0


def mean_differs(per_deal: ArrayLike, from_value: float = 0.0) -> float:
    """The two-sided p-value of Student's test of "the mean is `from_value`".

    >>> round(mean_differs([1, 2, 3, 4]), 4)
    0.0305
    """
    values: NDArray[np.float64] = np.asarray(per_deal, float)
    return min(1.0, 2 * min(mean_above(values, from_value), mean_above(-values, -from_value)))


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm's adjusted p-values (1979): below 5 % they hold together for the whole family of tests.

    NaN is no test: it stays and does not count.

    >>> holm([0.01, 0.04, math.nan, 0.03])
    array([0.03, 0.06,  nan, 0.06])
    """
    given: NDArray[np.float64] = np.asarray(p_values, float)
    tests = np.flatnonzero(~np.isnan(given))
    order = tests[np.argsort(given[tests], kind="stable")]
    adjusted = np.full(given.shape, math.nan)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(given[order] * np.arange(len(order), 0, -1)))
    return adjusted


def at_any_time(
    per_deal: ArrayLike, confidence: float = 0.95, *, span: tuple[float, float] | None = None
) -> Estimate:
    """An interval of the mean that may be looked at after every deal, and stopped at, from 50 deals on.

    All looks together exclude the truth in at most 5 % of the matches. This is the asymptotic
    confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024), tuned for 500
    deals. While the deals are few their spread is not known well: four more, two at either end of
    what was seen, make up for it (as in Agresti and Coull 1998). `span` is the lowest and the
    highest value that a deal can have, where that is known; then the four lie there. Without it,
    deals that all agree have no interval, nobody reckons with a value that is rare and far off until
    it is seen, and at a confidence of 99 % strongly skewed deals err in up to 1.7 % of the matches.

    The price: looking after every deal, a difference of 0.2 standard deviations is decided after 221
    deals in half of the matches and after 434 in nine of ten (with `looks`: 255 and 575); a match of
    fixed length needs 265 deals for nine of ten.

    >>> at_any_time([0, 1] * 25).text(), mean_of_deals([0, 1] * 25).text()
    ('0.50 (0.24 … 0.76)', '0.50 (0.36 … 0.64)')
    """
    values: NDArray[np.float64] = np.asarray(per_deal, float)
    plain = mean_of_deals(values, confidence)
    seen = values if span is None else np.append(values, span)
    # Numbers of NumPy: what is too large for them becomes infinite, and is no error.
    lowest, highest = (seen.min(), seen.max()) if plain.n > 1 else (math.nan, math.nan)
    if not lowest < highest:
        return replace(plain, low=-math.inf, high=math.inf)
    low, high = _robbins(plain.n, plain.mean, float(values.var()), lowest, highest, confidence)
    if span is not None:
        low, high = max(low, lowest), min(high, highest)
    return replace(plain, low=float(low), high=float(high))


def _robbins(
    n: Any, mean: Any, variance: Any, lowest: Any, highest: Any, confidence: float
) -> tuple[Any, Any]:
    """The ends of Robbins' normal mixture (1970) for `n` deals and the four of `at_any_time`.

    Takes numbers, or arrays with an entry for every look.
    """
    deals, error = n + 4, 1 - confidence
    centre = (n * mean + 2 * (lowest + highest)) / deals
    squares = n * (variance + (mean - centre) ** 2) + 2 * ((lowest - centre) ** 2 + (highest - centre) ** 2)
    # With the mixture's variance from Lambert's function, no other is as short at 500 deals.
    mixed = deals / 500 * (-float(lambertw(-(error**2) / math.e, -1).real) - 1)
    z = np.sqrt(2 * (1 + 1 / mixed) * np.log(np.sqrt(1 + mixed) / error))
    half = z * np.sqrt(squares / (deals - 1) / deals)
    return centre - half, centre + half


def looks(most: int, first: int = 50, factor: float = 1.5) -> list[int]:
    """After how many deals a sequential match looks at its result.

    >>> looks(300)
    [50, 75, 113, 170, 255, 300]
    """
    counts, deals = [], first
    while deals < most:
        counts.append(deals)
        deals = max(deals + 1, math.ceil(deals * factor))
    return [*counts, most]


def share_of_gap(base: ArrayLike, best: ArrayLike, ceiling: ArrayLike, confidence: float = 0.95) -> Estimate:
    """How much of the way from `base` to `ceiling` is done by `best`, on the same deals.

    Fieller's interval (1954) of a ratio of two means. Where the gap itself may be nothing, the
    interval has no ends.

    >>> share_of_gap([50, 48, 52, 49], [56, 55, 57, 54], [60, 60, 61, 60]).text(100, 0)
    '55 (44 … 66)'
    """
    start, reached, top = _on_the_same_deals(base, best, ceiling)
    done, gap = reached - start, top - start
    n = len(gap)
    numerator, denominator = (float(way.mean()) if n else 0.0 for way in (done, gap))
    ratio = numerator / denominator if denominator else math.nan
    if n < 2 or not denominator:
        return Estimate(ratio, math.nan, -math.inf, math.inf, n)
    error = mean_of_deals(done - ratio * gap).stderr / abs(denominator)
    variance = np.cov(done, gap) / n * float(stdtrit(n - 1, (1 + confidence) / 2)) ** 2
    # All ratios r for which Student does not tell the mean of done − r gap from 0: a r² − 2 b r + c <= 0.
    a = denominator**2 - float(variance[1, 1])
    b = numerator * denominator - float(variance[0, 1])
    c = numerator**2 - float(variance[0, 0])
    if a <= 0:
        return Estimate(ratio, error, -math.inf, math.inf, n)
    half = math.sqrt(max(0.0, b * b - a * c)) / a
    return Estimate(ratio, error, b / a - half, b / a + half, n)


def bradley_terry(
    n_agents: int,
    pairs: Sequence[tuple[int, int]],
    per_deal: ArrayLike,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> list[Estimate]:
    """Ratings of agents from the games of pairs (Bradley and Terry 1952), on Elo's scale with mean 0.

    `per_deal[deal, pair]` is the share of the deal's games that the pair's first agent won, a draw
    being half; NaN where the pair did not play the deal. Every pair gets one drawn deal more, so
    that who wins everything has a finite rating. The intervals are those of the Bayesian bootstrap
    (Rubin 1981), which weighs the deals, the drawn ones too, by random numbers: as all pairs play
    the same deals, one weight holds for all of them.

    >>> [round(rating.mean) for rating in bradley_terry(2, [(0, 1)], [[1], [0.5]] * 50)]
    [94, -94]
    """
    shares: NDArray[np.float64] = np.asarray(per_deal, float)
    if shares.ndim != 2 or shares.shape[1] != len(pairs):
        raise BadOption(
            f"the shares have the shape {shares.shape}; give a column for each of {len(pairs)} pairs"
        )
    sides = np.zeros((len(pairs), n_agents))  # 1 for the first agent of the pair, −1 for the second
    for row, (first, second) in zip(sides, pairs, strict=True):
        row[first] += 1
        row[second] -= 1
    if n_agents > 1 and (not pairs or np.linalg.matrix_rank(sides) < n_agents - 1):
        raise BadOption("not all agents have met, not even through others; give pairs that connect them")
    n, played = len(shares), ~np.isnan(shares)
    won_and_played = np.hstack([np.where(played, shares, 0), played])
    drawn_deal = np.repeat([0.5, 1.0], len(pairs))
    rng, sums = np.random.default_rng(seed), [won_and_played.sum(axis=0, keepdims=True) + drawn_deal]
    for size in _blocks(resamples, n):
        prior = np.tile(rng.standard_exponential((size, len(pairs))), 2) * drawn_deal
        sums.append(rng.standard_exponential((size, n)) @ won_and_played + prior)
    won, games = np.hsplit(np.concatenate(sums), 2)
    elo = 400 / math.log(10) * _most_likely_log_odds(won, games, sides)
    if n < 2:
        return [Estimate(float(mean), math.nan, -math.inf, math.inf, n) for mean in elo[0]]
    # The k-th of m replicates stands for the share k/(m + 1): Davison and Hinkley 1997.
    ends = np.quantile(elo[1:], [(1 - confidence) / 2, (1 + confidence) / 2], axis=0, method="weibull")
    numbers = np.column_stack([elo[0], elo[1:].std(axis=0, ddof=1), *ends]).tolist()
    return [Estimate(mean, error, low, high, n) for mean, error, low, high in numbers]


def _most_likely_log_odds(
    won: NDArray[np.float64], played: NDArray[np.float64], sides: NDArray[np.float64]
) -> NDArray[np.float64]:
    """One row of ratings for each row of wins and games of the pairs, all rows by Newton's method at once."""
    pairs, agents = sides.shape
    products = (sides[:, :, None] * sides[:, None, :]).reshape(pairs, agents * agents)
    odds = np.zeros((len(won), agents))
    for _ in range(200):
        share = expit(odds @ sides.T)
        slope = (won - played * share) @ sides
        bend = (played * share * (1 - share) @ products).reshape(-1, agents, agents)
        # Only differences matter to the slope; the added constant keeps the sum of the ratings at 0.
        step = np.linalg.solve(bend + 1, slope[:, :, None])[:, :, 0]
        # Far from the summit a full step could overshoot, and the next one even more.
        odds += step / np.maximum(1, np.abs(step).max(axis=1, keepdims=True))
        if np.abs(step).max() < 1e-9:
            break
    return odds


def _on_the_same_deals(*per_deal: ArrayLike) -> list[NDArray[np.float64]]:
    """The columns as arrays, if there are as many deals in each."""
    columns = [np.asarray(values, float) for values in per_deal]
    if len({values.shape for values in columns}) > 1:
        given = " and ".join(str(len(values)) for values in columns)
        raise BadOption(f"{given} deals cannot be paired; give results on the same deals, in the same order")
    return columns


def _blocks(rows: int, columns: int) -> Iterator[int]:
    """Numbers of rows that are drawn at once: at most four million cells, if one row is not more."""
    most = max(1, 4_000_000 // max(1, columns))
    for start in range(0, rows, most):
        check()
        yield min(most, rows - start)
