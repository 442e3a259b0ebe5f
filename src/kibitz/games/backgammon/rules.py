"""Backgammon, one game, without the doubling cube.

Fifteen checkers each, moved by two dice from the 24-point to the home board, points 6 to 1, and then borne
off; who is first to bear off all has won. A point with two checkers or more is closed to the other seat; a
single checker is hit and must enter again from the bar.

Position, one record:

| field      | meaning                                                                          |
|------------|----------------------------------------------------------------------------------|
| `checkers` | how many each seat has borne off (0), on its points 1 … 24, on the bar (25)       |
| `dice`     | the roll, the higher die first; zeros before it                                  |
| `turn`     | the seat to move or to roll                                                      |
| `phase`    | `OPENING` before the first roll, `ROLLING`, `MOVING`, `OVER`                      |
| `ply`      | how many plays have been made                                                    |

Each seat counts the points its own way: see `kibitz.games.backgammon.plays`, also for the numbers of plays.
A roll, as a move of chance, is `ROLL` + 64 · (8 · first die + second die).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.bits import size
from kibitz.games.backgammon import text
from kibitz.games.backgammon.plays import (
    BAR,
    BITS,
    CHECKERS,
    HOME,
    MOST_PLAYS,
    MOVING,
    OFF,
    OPENING,
    OVER,
    POINTS,
    ROLL,
    ROLLING,
    list_double,
    list_two,
    move_checkers,
    take_back,
)
from kibitz.kernel import game, kernel
from kibitz.protocol import CHANCE
from kibitz.rng import below

START = ((24, 2), (13, 5), (8, 3), (6, 5))
LONGEST = 2000
"""So many plays end a game without a winner. Games of random moves last some hundred."""

FEATURES = ("on_roll", "pips", "borne_off", "on_bar", "blots", "points", "home_points", "prime")
# What one of each is worth, in points of the score.
WEIGHTS = (0.18, -0.017, 0.034, -0.17, -0.1, 0.085, 0.17, 0.085)
_ON_BOARD, _HOME = np.int64((1 << BAR) - 2), np.int64((1 << HOME + 1) - 2)
MOST = 0.95
"""No estimate is as high as a sure win: so much of the highest score at most."""


@kernel
def roll_dice(state, first, second):
    """Set the dice; the first roll, one die each, also sets up the board and says who begins."""
    if state.phase == OPENING:
        for seat in range(2):
            for place in range(BAR + 1):
                state.checkers[seat, place] = 0
            for point, n in START:
                state.checkers[seat, point] = n
        state.turn = 0 if first > second else 1
        state.ply = 0
    state.dice[0], state.dice[1] = max(first, second), min(first, second)
    state.phase = MOVING


@kernel
def rearmost(checkers):
    """The place of the last checker; 0 if all are off."""
    place = BAR
    while place > OFF and checkers[place] == 0:
        place -= 1
    return place


@kernel
def survey(checkers):
    """How far all checkers still have to go, and three sets: the places that are occupied, those with two
    checkers or more, and the occupied places as the other seat counts them."""
    pips = occupied = made = seen = np.int64(0)
    for place in range(1, BAR + 1):
        n = np.int64(checkers[place])
        pips += place * n
        occupied |= np.int64(n > 0) << place
        made |= np.int64(n > 1) << place
        seen |= np.int64(n > 0) << (BAR - place)
    return pips, occupied, made, seen


@kernel
def features_of(occupied, made, others):
    """Blots, points, home points and the longest prime of one seat, from sets of places as it counts them.

    Only those count that the others may still come by: they are above the last of the others.
    """
    ahead = ~((others & -others) - 1) & _ON_BOARD
    in_range = others << 1 | others << 2 | others << 3 | others << 4 | others << 5 | others << 6
    made &= ahead
    run, prime = made, np.int64(0)
    while run != 0:
        run &= run << 1
        prime += 1
    return size(occupied & ~made & ahead & in_range), size(made), size(made & _HOME), prime


@kernel
def lead(mine, others, on_roll):
    """The features of a position, in the order of `FEATURES`: mine less the others'."""
    pips, occupied, made, seen = survey(mine)
    their_pips, their_occupied, their_made, their_seen = survey(others)
    a = features_of(occupied, made, their_seen)
    b = features_of(their_occupied, their_made, seen)
    return (
        on_roll,
        float(pips - their_pips),
        float(np.int64(mine[OFF]) - np.int64(others[OFF])),
        float(np.int64(mine[BAR]) - np.int64(others[BAR])),
        float(a[0] - b[0]),
        float(a[1] - b[1]),
        float(a[2] - b[2]),
        float(a[3] - b[3]),
    )


@kernel
def estimate(mine, others, on_roll):
    """What the game will bring me, in points of the score; `on_roll` is 1 if it is my turn, else −1."""
    features = lead(mine, others, on_roll)
    total = 0.0
    for i in range(len(WEIGHTS)):
        total += WEIGHTS[i] * features[i]
    return total


@kernel
def points_won(loser):
    """1; 2 for a gammon, if the loser has borne off nothing; 3 for a backgammon, if besides it has a checker
    on the bar or in the winner's home board."""
    if loser[OFF] > 0:
        return 1
    return 3 if rearmost(loser) > POINTS - HOME else 2


@game
class Backgammon(NamedTuple):
    """Parameters: `gammons`, whether a gammon counts two points and a backgammon three."""

    seats: int = 2
    gammons: bool = True

    state = np.dtype(
        [
            *(("checkers", "i1", (2, BAR + 1)), ("dice", "i1", (2,))),
            *(("turn", "i1"), ("phase", "i1"), ("ply", "i2")),
        ],
        align=True,
    )
    max_moves, max_plies = MOST_PLAYS, LONGEST
    expert = "expectiminimax:depth=2"
    choices = {"seats": (2,)}
    help = {"gammons": "whether a gammon counts two points and a backgammon three, or every win one"}
    features = FEATURES
    weights = WEIGHTS

    # --- the course of play ---

    def deal(game, state, rng):
        """Roll the dice. Each seat rolls one to begin, until they differ."""
        first = below(rng, 6)
        if state.phase == OPENING:
            second = below(rng, 5)
            second += second >= first
        else:
            second = below(rng, 6)
        roll_dice(state, first + 1, second + 1)

    def outcomes(game, state, moves, odds):
        """The 30 rolls of the opening, seat 0's die first; later the 21 rolls of two dice."""
        n = 0
        opening = state.phase == OPENING
        for first in range(1, 7):
            for second in range(1, 7 if opening else first + 1):
                if opening and first == second:
                    continue
                moves[n] = ROLL | (8 * first + second) << BITS
                odds[n] = 1 / 30 if opening else 1 / 36 if first == second else 2 / 36
                n += 1
        return n

    def mover(game, state):
        return np.int64(state.turn) if state.phase == MOVING or state.phase == OVER else CHANCE

    def is_over(game, state):
        return state.phase == OVER

    def legal(game, state, moves):
        """All plays of the roll that lead to different positions."""
        seat = np.int64(state.turn)
        high, low = np.int64(state.dice[0]), np.int64(state.dice[1])
        if high == low:
            return list_double(state.checkers[seat], state.checkers[1 - seat], high, moves)
        return list_two(state.checkers[seat], state.checkers[1 - seat], high, low, moves)

    def play(game, state, move):
        """Move the checkers; or, when a roll is due, set the dice."""
        if state.phase < MOVING:
            roll_dice(state, move >> BITS + 3, move >> BITS & 7)
            return
        seat = np.int64(state.turn)
        move_checkers(state.checkers[seat], state.checkers[1 - seat], move)
        state.dice[0] = state.dice[1] = 0
        state.ply += 1
        if state.checkers[seat, OFF] == CHECKERS or state.ply == LONGEST:
            state.phase = OVER
        else:
            state.phase = ROLLING
            state.turn = 1 - seat

    def returns(game, state, out):
        """The points of the winner, and as many less than nothing for the other; 0 before the end."""
        out[0] = out[1] = 0.0
        for seat in range(2):
            if state.checkers[seat, OFF] == CHECKERS:
                won = points_won(state.checkers[1 - seat]) if game.gammons else 1
                out[seat], out[1 - seat] = won, -won

    def score_range(game):
        return (-3.0, 3.0) if game.gammons else (-1.0, 1.0)

    # --- for searches ---

    def measure(game, state, out):
        found = lead(state.checkers[0], state.checkers[1], 1.0 if state.turn == 0 else -1.0)
        for i in range(len(WEIGHTS)):
            out[i] = found[i]

    def evaluate(game, state, out):
        most = MOST * game.score_range()[1]
        worth = estimate(state.checkers[0], state.checkers[1], 1.0 if state.turn == 0 else -1.0)
        out[0] = min(most, max(-most, worth))
        out[1] = -out[0]

    def is_quiet(game, state):
        """Nobody is on the bar."""
        return state.checkers[0, BAR] == 0 and state.checkers[1, BAR] == 0

    def urgency(game, state, move):
        """What the position is worth after the play."""
        if state.phase < MOVING:
            return 0.0
        seat = np.int64(state.turn)
        mine, others = state.checkers[seat], state.checkers[1 - seat]
        hits = move_checkers(mine, others, move)
        worth = estimate(mine, others, -1.0)
        take_back(mine, others, move, hits)
        return worth

    def sensible_move(game, state, moves, rng):
        """The play after which the position is worth most; of equal ones the first."""
        best, choice = -np.inf, 0
        for i in range(game.legal(state, moves)):
            worth = game.urgency(state, moves[i])
            if worth > best:
                best, choice = worth, i
        return moves[choice]

    # --- how people see it ---

    def move_text(game, move):
        return text.play_text(int(move))

    def tell(game, state, move, observer):
        return text.play_with_hits(state, int(move))

    def parse_move(game, words):
        return text.parse_play(words)

    def parse_position(game, words):
        return text.parse_board(game, words)

    def picture(game, view, seat):
        return text.picture(view, seat)

    def inventory(game, state):
        return [seat for seat in range(2) for _ in range(int(state["checkers"][seat].sum()))]
