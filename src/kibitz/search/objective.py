"""What a search strives for, and how it plays games out: the components shared by all searches.

An **objective** turns a position into one value per seat: `value(game, state, out)`, with values
from 0 to `top`. A **policy** chooses the moves of a playout: `choose(game, state, moves, rng)`.
Both are written like games, as a `NamedTuple` with methods, marked with `@component`; a user's own
ones are passed to a search in the same way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kibitz.kernel import component, inlined, kernel
from kibitz.protocol import awaits_move
from kibitz.rng import uniform


@component
class Score(NamedTuple):
    """A mixture of the share of the points and of winning, from 0 to `top`."""

    low: float
    span: float
    wins: float
    """The weight of winning: 0 counts points alone, 1 counts nothing but who wins."""
    top: float

    def value(objective, game, state, out):
        game.returns(state, out)
        if objective.wins > 0.0:
            for seat in range(game.seats):
                out[game.seats + seat] = objective.win(game, seat, out)
            for seat in range(game.seats):
                points = (out[seat] - objective.low) / objective.span
                win = out[game.seats + seat]
                out[seat] = objective.top * (points + objective.wins * (win - points))
        else:
            for seat in range(game.seats):
                out[seat] = objective.top * ((out[seat] - objective.low) / objective.span)

    def win(objective, game, seat, returns):
        """1 for more points than every other side, ½ for an equal share of the most, else 0."""
        win = 1.0
        for other in range(game.seats):
            if game.team(other) != game.team(seat):
                if returns[other] > returns[seat]:
                    return 0.0
                if returns[other] == returns[seat]:
                    win = 0.5
        return win


def score(game: Any, wins: float = 0.0, top: float = 1.0) -> Score:
    """The objective of points (`wins=0`), of winning (`wins=1`) or of a mixture, for a game."""
    low, high = game.score_range()
    return Score(float(low), float(high - low), float(wins), float(top))


@component
class Habit(NamedTuple):
    """The policy that makes the game's own sensible move with probability `sense`, else any."""

    sense: float

    @inlined
    def choose(policy, game, state, moves, rng):
        if policy.sense > 0.0 and (policy.sense >= 1.0 or uniform(rng) < policy.sense):
            return game.sensible_move(state, moves, rng)
        return game.random_move(state, moves, rng)


@component
class Playout(NamedTuple):
    """The policy of playouts: with probability `sense` the searcher moves sensibly and the others as can be
    expected of them; else any move.
    """

    sense: float
    seat: int

    def choose(policy, game, state, moves, rng):
        if policy.sense == 0.0 or (policy.sense < 1.0 and uniform(rng) >= policy.sense):
            return game.random_move(state, moves, rng)
        if game.mover(state) == policy.seat:
            return game.sensible_move(state, moves, rng)
        return game.playout_move(state, moves, rng)


@kernel
def play_out(game, policy, state, moves, most, rng):
    """Play on until the game ends or the next chance event, which is the horizon of a search.

    Returns how many of `most` moves are left then; below 0: it did not come in time, and the rules are
    wrong, if `most` is the game's `max_plies`.
    """
    left = most
    while left >= 0 and awaits_move(game, state):
        left -= 1
        game.play(state, policy.choose(game, state, moves, rng))
    return left
