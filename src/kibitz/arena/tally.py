"""What agents did, deal by deal, and how a measure of it becomes a number with an interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibitz.arena.play import Match
from kibitz.arena.statistics import Estimate, at_any_time, bootstrap_of_deals, mean_of_deals, share_of_deals

MEASURES = {
    "win_rate": "games won",
    "decided": "games won, of those not drawn",
    "unbeaten": "games won or drawn",
    "score": "games won, a draw as half of one",
    "points": "points a game",
    "lead": "points a game more than the others",
}
"""What can be asked of an agent in a match."""


@dataclass(frozen=True)
class Tally:
    """What each agent did on each deal, summed over seatings and the sides it played: [deal, agent]."""

    score_range: tuple[float, float]
    """The lowest and the highest score of a game."""
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
        tally = cls((float(low), float(high)), *(np.zeros(shape) for _ in range(4)))
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
        assert measure == "lead", measure
        others = [self.difference(agent, a) for a in range(self.points.shape[1]) if a != agent]
        return np.mean(others, axis=0) if others else np.zeros(len(self.points))

    def difference(self, first: int, second: int) -> NDArray[np.float64]:
        """Points a game of one agent less those of another, one number a deal."""
        each = self.points / self.played
        return each[:, first] - each[:, second]

    def at_any_time(self, differences: NDArray[np.float64]) -> Estimate:
        """The mean of differences of points, with an interval that holds however often one looks."""
        low, high = self.score_range
        return at_any_time(differences, span=(low - high, high - low))

    def estimate(self, measure: str, agent: int = 0, interval: str = "deals") -> Estimate:
        """A measure with its interval: over deals, by bootstrap, or one that may be looked at any time."""
        if interval != "deals":
            values = self.as_mean(measure, agent)
            if interval == "bootstrap":
                return bootstrap_of_deals(values)
            if measure == "lead":
                return self.at_any_time(values)
            return at_any_time(values, span=self.score_range if measure == "points" else (0.0, 1.0))
        won, drawn, played = self.wins[:, agent], self.draws[:, agent], self.played[:, agent]
        match measure:
            case "win_rate":
                return share_of_deals(won, played)
            case "decided":
                return share_of_deals(won, played - drawn)
            case "unbeaten":
                return share_of_deals(won + drawn, played)
            case "score":
                return share_of_deals(won + drawn / 2, played)
        return mean_of_deals(self.per_deal(measure, agent))

    def as_mean(self, measure: str, agent: int) -> NDArray[np.float64]:
        """Numbers a deal whose mean is the measure; for a ratio of sums, its linear approximation."""
        if measure != "decided":
            return self.per_deal(measure, agent)
        won, decided = self.wins[:, agent], self.played[:, agent] - self.draws[:, agent]
        if not decided.any():
            return np.zeros(0)
        share = won.sum() / decided.sum()
        return share + (won - share * decided) / decided.mean()


def points_in_games(match: Match, scores: NDArray[np.float64], agent: int) -> NDArray[np.float64]:
    """The points of an agent in every game, one number a seat or side that it played."""
    sides = {int(match.rules.team(seat)): seat for seat in range(match.seats)}.values()
    return np.concatenate(
        [scores[:, s, seat] for s, seats in enumerate(match.places) for seat in sides if seats[seat] == agent]
    )
