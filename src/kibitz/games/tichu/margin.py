"""What a side of Tichu strives for in a round: to be ahead, and by how much."""

from __future__ import annotations

from typing import Any, NamedTuple

from kibitz.kernel import component

_MOST = 200.0


@component
class Margin(NamedTuple):
    """A mixture of the points that a side is ahead by and of being ahead, from 0 to `top`.

    A side's own points tell little: who goes out first and second leaves the others none, and so does
    who takes all tricks.
    """

    wins: float
    """The weight of being ahead."""
    top: float

    @property
    def unit(self) -> str:
        """What a value counts."""
        return "of the best margin" if self.wins == 0.0 else "margin and win"

    def value(objective, game, state, out):
        game.returns(state, out)
        ahead = out[0] - out[1]
        margin = 0.5 + 0.5 * ahead / _MOST
        win = 1.0 if ahead > 0.0 else 0.5 if ahead == 0.0 else 0.0
        out[0] = objective.top * (margin + objective.wins * (win - margin))
        out[1] = objective.top - out[0]
        out[2], out[3] = out[0], out[1]


def margin(game: Any, view: Any, top: float) -> Margin:
    """The margin alone."""
    return Margin(0.0, top)


def ahead(game: Any, view: Any, top: float) -> Margin:
    """To win the round before all, and by much."""
    return Margin(0.5, top)
