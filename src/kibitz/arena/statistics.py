"""Intervals with the deal as the unit: games on one deal are not independent of each other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error and 95 % interval, over `n` independent deals."""

    mean: float
    stderr: float
    low: float
    high: float
    n: int

    @property
    def ci(self) -> tuple[float, float]:
        return self.low, self.high

    def text(self, scale: float = 1.0, digits: int = 2) -> str:
        """`96.1 (95.0 … 97.2)`; one deal alone has no interval."""
        if not math.isfinite(self.high - self.low):
            return f"{scale * self.mean:.{digits}f} (–)"
        low, mean, high = (f"{scale * x:.{digits}f}" for x in (self.low, self.mean, self.high))
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
