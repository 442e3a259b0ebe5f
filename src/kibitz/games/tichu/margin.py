"""What a side of Tichu strives for in a round: to be ahead, and by how much."""

from __future__ import annotations

from typing import Any, NamedTuple

from kibitz.kernel import component


@component
class Margin(NamedTuple):
    """A mixture of the points that a side gets ahead by in a round and of winning it, from 0 to `top`.

    A side's own points tell little: who goes out first and second leaves the others none, and so does
    who takes all tricks.
    """

    wins: float
    """The weight of winning the round."""
    before: float
    """By how many points the first side was ahead when the round began."""
    most: float
    """A margin of so many points or more is the best."""
    top: float

    @property
    def unit(self) -> str:
        """What a value counts."""
        return "of the best margin" if self.wins == 0.0 else "margin and win"

    def value(objective, game, state, out):
        game.returns(state, out)
        ahead = out[0] - out[1] - objective.before
        margin = 0.5 + 0.5 * max(-1.0, min(1.0, ahead / objective.most))
        win = 1.0 if ahead > 0.0 else 0.5 if ahead == 0.0 else 0.0
        out[0] = objective.top * (margin + objective.wins * (win - margin))
        out[1] = objective.top - out[0]
        out[2], out[3] = out[0], out[1]


def margin(game: Any, view: Any, top: float) -> Margin:
    """The margin alone."""
    return _margin(game, view, 0.0, top)


def ahead(game: Any, view: Any, top: float) -> Margin:
    """To win the round before all, and by much."""
    return _margin(game, view, 0.5, top)


def _margin(game: Any, view: Any, wins: float, top: float) -> Margin:
    names = view.dtype.names
    before = float(view["scores"][0] - view["scores"][1]) if "scores" in names else 0.0
    most = 400.0 if getattr(game, "calls", False) else 200.0  # a double victory, and a call or two
    return Margin(wins, before, most, top)
