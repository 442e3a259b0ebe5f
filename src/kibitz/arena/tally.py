"""What agents did, deal by deal, and how a measure of it becomes a number with an interval."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kibitz.arena.play import Match
from kibitz.arena.statistics import (
    Estimate,
    Sums,
    at_any_time,
    bootstrap_of_deals,
    mean_of_deals,
    ratio_of_deals,
    ratio_of_sums,
    share_of_deals,
    wilson,
)
from kibitz.arena.store import Counts

MEASURES = {
    "win_rate": "games won",
    "decided": "games won, of those not drawn",
    "unbeaten": "games won or drawn",
    "score": "games won, counting a draw as half",
    "points": "points per game",
    "lead": "points per game ahead of the others",
    "total": "points per game of all sides together",
    "share_of_points": "points, as a share of all sides' together",
}
"""What can be asked of an agent in a match, in every game."""

JUDGED = {
    "loss": "points lost by the move",
    "random_loss": "points lost by a random move",
    "best": "moves that lose nothing",
    "miss": "points by which the forecast is off",
    "bias": "points by which the forecast is too high",
    "estimate_miss": "points by which the move's own estimate is off",
    "estimate_bias": "points by which the move's own estimate is too high",
}
"""What can be asked of an agent whose decisions are judged by a solver."""

_OF = {"games": "games", "wins": "games won"}


def count_measures(counted: Iterable[str]) -> dict[str, str]:
    """What can be asked beside that in a game that counts more than the score.

    >>> count_measures(["bids_made"])["bids_made of wins"]
    'bids made, of games won'
    """
    names = {name: name.replace("_", " ") for name in counted}
    found = {}
    for name, words in names.items():
        found[name] = f"{words} a game"
        of = {**_OF, **{other: text for other, text in names.items() if other != name}}
        found |= {f"{name} of {other}": f"{words}, of {text}" for other, text in of.items()}
    return found


RATIOS = ("decided", "share_of_points")
"""Measures with another denominator on every deal, so that deals cannot be compared one by one."""


@dataclass(frozen=True)
class Tally:
    """What each agent did on each deal, summed over seatings and the sides it played: [deal, agent]."""

    score_range: tuple[float, float]
    """The lowest and the highest score of a game."""
    sides: int
    played: NDArray[np.float64]
    wins: NDArray[np.float64]
    draws: NDArray[np.float64]
    points: NDArray[np.float64]

    @classmethod
    def of(cls, match: Match, scores: NDArray[np.float64]) -> Tally:
        """From the scores of a match, [deal, seating, seat]."""
        rules = match.rules
        first_seat = {int(rules.team(seat)): seat for seat in reversed(range(rules.seats))}
        sides = [first_seat[team] for team in sorted(first_seat)]
        shape = (len(scores), len(match.agents))
        low, high = rules.score_range()
        tally = cls((float(low), float(high)), len(sides), *(np.zeros(shape) for _ in range(4)))
        for s, seats in enumerate(match.places):
            sides_scores = scores[:, s, sides]
            is_top = sides_scores == sides_scores.max(axis=1, keepdims=True)
            is_shared = is_top.sum(axis=1) > 1
            for side, seat in enumerate(sides):
                agent = seats[seat]
                tally.played[:, agent] += 1
                tally.wins[:, agent] += is_top[:, side] & ~is_shared
                tally.draws[:, agent] += is_top[:, side] & is_shared
                tally.points[:, agent] += sides_scores[:, side]
        return tally

    def per_deal(self, measure: str, agent: int = 0) -> NDArray[np.float64]:
        """One number a deal (no number for deals without a decided game, if it is about these)."""
        played = self.played[:, agent]
        match measure:
            case "win_rate":
                return self.wins[:, agent] / played
            case "decided":
                with np.errstate(invalid="ignore"):
                    return self.wins[:, agent] / (played - self.draws[:, agent])
            case "unbeaten":
                return (self.wins[:, agent] + self.draws[:, agent]) / played
            case "score":
                return (self.wins[:, agent] + self.draws[:, agent] / 2) / played
            case "points":
                return self.points[:, agent] / played
            case "total":
                return self.points.sum(axis=1) / self.games
            case "share_of_points":
                with np.errstate(invalid="ignore", divide="ignore"):
                    return self.points[:, agent] / self.points.sum(axis=1)
        assert measure == "lead", measure
        others = [self.difference(agent, a) for a in range(self.points.shape[1]) if a != agent]
        return np.mean(others, axis=0) if others else np.zeros(len(self.points))

    @property
    def games(self) -> NDArray[np.float64]:
        """Of every deal."""
        return self.played.sum(axis=1) / self.sides

    def difference(self, first: int, second: int) -> NDArray[np.float64]:
        """Points per game of one agent less those of another, one number a deal."""
        each = self.points / self.played
        return each[:, first] - each[:, second]

    def at_any_time(self, differences: NDArray[np.float64], confidence: float = 0.95) -> Estimate:
        """The mean of differences of points, with an interval that holds however often one looks."""
        low, high = self.score_range
        return at_any_time(differences, confidence, span=(low - high, high - low))

    def estimate(
        self, measure: str, agent: int = 0, interval: str = "deals", confidence: float = 0.95
    ) -> Estimate:
        """A measure with its interval: over deals, by bootstrap, or one that may be looked at any time."""
        if interval != "deals":
            values = self.as_mean(measure, agent)
            if interval == "bootstrap":
                return bootstrap_of_deals(values, confidence)
            if measure == "lead":
                return self.at_any_time(values, confidence)
            low, high = self.score_range
            spans = {"points": (low, high), "total": (self.sides * low, self.sides * high)}
            unbounded = measure == "share_of_points"  # points may be below 0
            return at_any_time(values, confidence, span=None if unbounded else spans.get(measure, (0.0, 1.0)))
        won, drawn, played = self.wins[:, agent], self.draws[:, agent], self.played[:, agent]
        match measure:
            case "win_rate":
                return share_of_deals(won, played, confidence)
            case "decided":
                return share_of_deals(won, played - drawn, confidence)
            case "unbeaten":
                return share_of_deals(won + drawn, played, confidence)
            case "score":
                return share_of_deals(won + drawn / 2, played, confidence)
            case "share_of_points":
                return ratio_of_deals(*self._ratio(measure, agent), confidence)
        return mean_of_deals(self.per_deal(measure, agent), confidence)

    def as_mean(self, measure: str, agent: int) -> NDArray[np.float64]:
        """Numbers a deal whose mean is the measure; for a ratio of sums, its linear approximation."""
        if measure not in RATIOS:
            return self.per_deal(measure, agent)
        above, below = self._ratio(measure, agent)
        if not below.sum():
            return np.zeros(0)
        ratio = above.sum() / below.sum()
        return ratio + (above - ratio * below) / below.mean()

    def _ratio(self, measure: str, agent: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The two columns whose sums make a measure of `RATIOS`."""
        if measure == "share_of_points":
            return self.points[:, agent], self.points.sum(axis=1)
        return self.wins[:, agent], self.played[:, agent] - self.draws[:, agent]

    def count(self, measure: str, counts: Counts, agent: int = 0, confidence: float = 0.95) -> Estimate:
        """What the game counts, a game, or as a share of games, of games won or of another count."""
        name, _, of = measure.partition(" of ")
        n = counts.deals
        if not {name, of} - {*_OF, ""} <= counts.sums.keys() or not n:
            return Estimate(math.nan, math.nan, -math.inf, math.inf, 0)

        def sums(what: str) -> Sums:
            if what in _OF:
                column = (self.wins if what == "wins" else self.played)[:n, agent]
                return Sums(n, float(column.sum()), float((column**2).sum()))
            total, squares = (of_agents[agent] for of_agents in counts.sums[what])
            return Sums(n, total, squares)

        found = ratio_of_sums(sums(name), sums(of or "games"), confidence)
        if not of or not 0 <= found.mean <= 1:
            return found
        if not found.stderr:  # deals that all agree say nothing of their spread
            ends = wilson(found.mean * n, n, confidence)
            return replace(found, low=ends.low, high=ends.high)
        return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


@dataclass(frozen=True)
class Judgements:
    """What is known of each decision, [deal, figure of `kibitz.arena.judge`]; asked like a `Tally`."""

    figures: NDArray[np.float64]
    score_range: tuple[float, float]

    @classmethod
    def of(cls, match: Match, scores: NDArray[np.float64]) -> Judgements:
        """From what is kept of a match that was judged, [deal, 1, figure]."""
        low, high = match.rules.score_range()
        return cls(scores[:, 0], (float(low), float(high)))

    @property
    def played(self) -> NDArray[np.float64]:
        """One decision a deal."""
        return np.ones((len(self.figures), 1))

    def per_deal(self, measure: str, agent: int = 0) -> NDArray[np.float64]:
        """One number a deal."""
        loss, random_loss, exact, forecast, estimate = self.figures.T
        match measure:
            case "loss":
                return loss
            case "random_loss":
                return random_loss
            case "best":
                return (loss == 0).astype(float)
        value, _, what = measure.rpartition("_")
        error = (estimate if value else forecast) - exact
        return np.abs(error) if what == "miss" else error

    as_mean = per_deal

    def estimate(
        self, measure: str, agent: int = 0, interval: str = "deals", confidence: float = 0.95
    ) -> Estimate:
        """A measure with its interval over deals."""
        values = self.per_deal(measure)
        if interval == "bootstrap":
            return bootstrap_of_deals(values, confidence)
        if measure == "best":
            return share_of_deals(values, np.ones(len(values)), confidence)
        return mean_of_deals(values, confidence)


def points_in_games(match: Match, scores: NDArray[np.float64], agent: int) -> NDArray[np.float64]:
    """The points of an agent in every game, one number a seat or side that it played."""
    sides = {int(match.rules.team(seat)): seat for seat in range(match.seats)}.values()
    return np.concatenate(
        [scores[:, s, seat] for s, seats in enumerate(match.places) for seat in sides if seats[seat] == agent]
    )
