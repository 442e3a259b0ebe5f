"""What a side of Tichu strives for in a round: to win it, by how many points, to go out before the others."""

from __future__ import annotations

from typing import Any, NamedTuple

from kibitz.games.tichu.round import partner
from kibitz.kernel import component, kernel


@component
class Margin(NamedTuple):
    """A mixture of the points that a side gets ahead by in a round and of another aim, from 0 to `top`.

    A side's own points tell little: who goes out first and second leaves the others none, and so does
    who takes all tricks.
    """

    wins: float
    """The weight of winning the round."""
    early: float
    """The weight of going out before the others."""
    before: float
    """By how many points the first side was ahead when the round began."""
    most: float
    """A margin of so many points or more is the best."""
    top: float

    @property
    def unit(self) -> str:
        """What a value counts."""
        return "value, 0 to 1"

    def value(objective, game, state, out):
        game.returns(state, out)
        ahead = out[0] - out[1] - objective.before
        share = 0.5 + 0.5 * max(-1.0, min(1.0, ahead / objective.most))
        win = 1.0 if ahead > 0.0 else 0.5 if ahead == 0.0 else 0.0
        share += objective.wins * (win - share)
        if objective.early > 0.0:
            share += objective.early * (share_of_places(state) - share)
        out[0], out[1] = objective.top * share, objective.top * (1.0 - share)
        out[2], out[3] = out[0], out[1]


@kernel
def share_of_places(state):
    """How early the first side has gone out: 1 first and second, ¾ first and third, ½ first and last, …"""
    for side in range(2):
        one, other = state.finished[side], state.finished[partner(side)]
        if one != 0 and other != 0:  # their places add up to 3, 4 or 5
            share = 1.0 - (one + other - 3) * 0.25
            return share if side == 0 else 1.0 - share
    return 0.5


@component
class Outright(NamedTuple):
    """A round that is won; one in which both sides have as many points is lost for both."""

    before: float
    """By how many points the first side was ahead when the round began."""
    top: float

    @property
    def unit(self) -> str:
        """What a value counts."""
        return "chance to win"

    def value(objective, game, state, out):
        game.returns(state, out)
        ahead = out[0] - out[1] - objective.before
        out[0] = objective.top if ahead > 0.0 else 0.0
        out[1] = objective.top if ahead < 0.0 else 0.0
        out[2], out[3] = out[0], out[1]


def margin(game: Any, view: Any, top: float) -> Margin:
    """The margin alone."""
    return _margin(game, view, 0.0, 0.0, top)


def ahead(game: Any, view: Any, top: float) -> Margin:
    """To win the round before all, and by much."""
    return _margin(game, view, 0.5, 0.0, top)


def places(game: Any, view: Any, top: float) -> Margin:
    """To go out early, and to win by much."""
    return _margin(game, view, 0.0, 0.5, top)


def outright(game: Any, view: Any, top: float) -> Outright:
    """To win the round; a tie is no better than a loss."""
    return Outright(_before(view), top)


def _margin(game: Any, view: Any, wins: float, early: float, top: float) -> Margin:
    most = 400.0 if getattr(game, "calls", False) else 200.0  # a double victory, and a call or two
    return Margin(wins, early, _before(view), most, top)


def _before(view: Any) -> float:
    """By how many points the first side is ahead before this round."""
    return float(view["scores"][0] - view["scores"][1]) if "scores" in view.dtype.names else 0.0


OBJECTIVES = {"margin": margin, "ahead": ahead, "places": places, "outright": outright}
