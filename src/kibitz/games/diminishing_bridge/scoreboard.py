"""What a finished round is worth to each seat: the objectives of DiminishingBridge.

A search ends with the round, but the game is won on the scoreboard. Each of these turns the board
after a round into values from 0 to `top`, and is prepared once a decision from the board before it:

- `gv`, the thesis's game value: the scoreboard value SV between the worst and the best board that
  this round can bring;
- `chance`, the chance to win the game: ahead of each other seat, as likely as a normal error of the
  rounds left allows;
- `round`, the points of the round alone;
- `spoil`, these less those of the others, on average.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from kibitz.kernel import component, entry

SPREAD = 8.5
"""Standard deviation of the difference of two seats' points in one round, between equal players."""
_SHARE = 1.0 / np.arange(1, 65)
_LARGE = 1e150  # keeps differences of scoreboard values finite, whatever the parameters


@component
class GameValue(NamedTuple):
    """GV = (SV − SV(W)) / (SV(B) − SV(W)), of section 4.5.1 of the thesis."""

    lift: NDArray[np.float64]
    """a^(1 + a/(2r + K − 1)) for every distance a to the first."""
    worst: NDArray[np.float64]
    """SV(W) of every seat."""
    best: NDArray[np.float64]
    """SV(B) of every seat."""
    top: float

    @property
    def unit(self) -> str:
        """What a value counts."""
        return "game value"

    def value(objective, game, state, out):
        seats = game.seats
        if state.victor >= 0:
            for seat in range(seats):
                out[seat] = objective.top if state.victor == seat else 0.0
            return
        objective.rank(state.scores, out[seats:])
        for seat in range(seats):
            sv = objective.scoreboard_value(out[seats:], seats, np.float64(state.scores[seat]))
            low, high = objective.worst[seat], objective.best[seat]
            out[seat] = objective.top * max(0.0, (sv - low) / (high - low))

    def rank(objective, scores, ranking):
        """Write the scores into `ranking`, the highest first."""
        for seat in range(len(ranking)):
            place = seat
            while place > 0 and ranking[place - 1] < scores[seat]:
                ranking[place] = ranking[place - 1]
                place -= 1
            ranking[place] = scores[seat]

    def scoreboard_value(objective, ranking, seats, score):
        """SV = −Σ aₖ/k over the distances to a seat with `score`, the largest first and lifted.

        Equal scores are a loss for both: but for the last of the equals, the seat itself, they are one
        point ahead.
        """
        total = 0.0
        for k in range(seats):
            distance = ranking[k] - score
            if distance == 0.0 and k + 1 < seats and ranking[k + 1] == score:
                distance = 1.0
            total += objective.lift[np.int64(distance)] if k == 0 else distance * _SHARE[k]
        return -total


def game_value(game: Any, view: Any, top: float) -> GameValue:
    """The objective of the thesis, for the round of a view."""
    before = np.array(view["scores"][: game.seats], np.int64)
    cards = int(view["cards"])
    gain, loss = game.K + cards * game.trick_factor, cards * game.losing_factor
    distances = np.arange(int(np.ptp(before)) + gain + loss + 2, dtype=float)
    with np.errstate(over="ignore"):
        lift = distances ** (1.0 + distances / max(1, 2 * cards + game.K - 1))
    value = GameValue(np.minimum(lift, _LARGE), np.zeros(game.seats), np.zeros(game.seats), top)
    bound(value, game.seats, before, gain, loss, np.zeros(game.seats, np.int64), np.zeros(game.seats))
    return value


@entry
def bound(value, seats, before, gain, loss, board, ranking):
    """Fill in SV of the worst and the best board of every seat: all others gain, or lose, all they can."""
    for seat in range(seats):
        for other in range(seats):
            board[other] = before[other] - loss if other == seat else before[other] + gain
        value.rank(board, ranking)
        value.worst[seat] = value.scoreboard_value(ranking, seats, np.float64(board[seat]))
        for other in range(seats):
            board[other] = before[other] + gain if other == seat else before[other] - loss
        value.rank(board, ranking)
        value.best[seat] = value.scoreboard_value(ranking, seats, np.float64(board[seat]))


@component
class Standing(NamedTuple):
    """The chance to win the game, between what a bad and a good round make of it.

    It is the product of the chances to stay ahead of every other seat.
    """

    ahead: NDArray[np.float64]
    """The chance to end ahead of another, by the points that one is ahead now, from `−middle`."""
    middle: int
    bad: NDArray[np.float64]
    """The chance of every seat after a round in which it fails and all others make their bids."""
    good: NDArray[np.float64]
    """The same after a round in which it alone makes its bid."""
    top: float

    @property
    def unit(self) -> str:
        """What a value counts."""
        return "value, 0 to 1"

    def value(objective, game, state, out):
        for seat in range(game.seats):
            low, high = objective.bad[seat], objective.good[seat]
            chance = objective.chance(state.scores, game.seats, seat)
            out[seat] = objective.top * min(1.0, max(0.0, (chance - low) / (high - low)))

    def chance(objective, scores, seats, seat):
        chance = 1.0
        for other in range(seats):
            if other != seat:
                lead = np.int64(scores[seat]) - np.int64(scores[other])
                chance *= objective.ahead[lead + objective.middle]
        return chance


def chance_to_win(game: Any, view: Any, top: float) -> Standing:
    """The chance to win the game after the round of a view."""
    before = np.array(view["scores"][: game.seats], np.int64)
    cards = int(view["cards"])
    most = int(np.ptp(before)) + game.K + cards * (game.trick_factor + game.losing_factor) + 1
    rounds_left = int(game.number_of_rounds()) - int(view["number"]) - 1
    # A shared first place is a win for nobody; a narrow spread stands for none when no round is left.
    spread = max(SPREAD * (game.K + game.trick_factor) / 11 * np.sqrt(rounds_left), 0.1)
    ahead = ndtr((np.arange(-most, most + 1) - 0.5) / spread)
    standing = Standing(ahead, most, np.zeros(game.seats), np.zeros(game.seats), top)
    made, failed = game.K + game.trick_factor * (cards // 2), game.losing_factor * min(2, cards)
    span(standing, game.seats, before, made, failed, np.zeros(game.seats, np.int64))
    return standing


@entry
def span(standing, seats, before, made, failed, board):
    """Fill in what a bad and a good round would make of the chance of every seat."""
    for seat in range(seats):
        for other in range(seats):
            board[other] = before[other] - failed if other == seat else before[other] + made
        standing.bad[seat] = standing.chance(board, seats, seat)
        for other in range(seats):
            board[other] = before[other] + made if other == seat else before[other] - failed
        standing.good[seat] = max(standing.chance(board, seats, seat), standing.bad[seat] + 1e-9)


@component
class Margin(NamedTuple):
    """The points of the round, less `spoil` times those of the others on average."""

    spoil: float
    low: float
    span: float
    top: float

    @property
    def unit(self) -> str:
        """What a value counts."""
        return "value, 0 to 1"

    def value(objective, game, state, out):
        total = 0.0
        for seat in range(game.seats):
            total += state.gained[seat]
        for seat in range(game.seats):
            others = (total - state.gained[seat]) / (game.seats - 1)
            margin = state.gained[seat] - objective.spoil * others
            out[seat] = objective.top * (margin - objective.low) / objective.span


def margin(spoil: float) -> Callable[[Any, Any, float], Margin]:
    """The objective of points that weighs those of the others with `spoil`."""

    def make(game: Any, view: Any, top: float) -> Margin:
        cards = int(view["cards"])
        gain, loss = game.K + cards * game.trick_factor, cards * game.losing_factor
        low = -loss - spoil * gain
        return Margin(spoil, float(low), float(gain + spoil * loss - low) or 1.0, top)

    return make


OBJECTIVES = {
    "gv": game_value,
    "chance": chance_to_win,
    "round": margin(0.0),
    "spoil": margin(1.0),
}
