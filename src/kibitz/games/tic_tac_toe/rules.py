"""Tic-tac-toe: three in a row on nine squares.

Seat 0 puts crosses, seat 1 noughts, by turns, each on an empty square. Who has three in a row, a
column or a diagonal has won; a full board without that is a draw.

Position, one record:

| field    | meaning                                                                         |
|----------|---------------------------------------------------------------------------------|
| `marks`  | the squares of each seat, as a set of 9 bits; square = 3 · row + column          |
| `turn`   | the seat to move                                                                |

A record of zeros is the empty board with seat 0 to move, so there is nothing to deal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.bits import list_cards, size
from kibitz.games.tic_tac_toe import text
from kibitz.kernel import game, kernel
from kibitz.rng import below

SQUARES, FULL = 9, 0b111_111_111
LINES = np.array(
    [
        *(0b111 << 3 * row for row in range(3)),
        *(0b001_001_001 << column for column in range(3)),
        *(0b100_010_001, 0b001_010_100),
    ]
)
_ONE = np.int64(1)

# What a line is worth in which only one seat has marks: one of them, or two. All of them together stay
# below a win.
WEIGHTS = (0.03, 0.12)


def _mapped(mask: int, symmetry: int) -> int:
    """A set of squares as it lies after one of the eight turns and reflections of the board."""
    found = 0
    for square in range(SQUARES):
        if mask >> square & 1:
            row, column = divmod(square, 3)
            if symmetry & 1:
                row = 2 - row
            if symmetry & 2:
                column = 2 - column
            if symmetry & 4:
                row, column = column, row
            found |= 1 << 3 * row + column
    return found


MAPPED = np.array([[_mapped(mask, symmetry) for mask in range(FULL + 1)] for symmetry in range(8)])


HAS_LINE = np.array([any(mask & line == line for line in LINES) for mask in range(FULL + 1)])
"""Whether a set of squares holds three in a row."""


@kernel
def open_lines(mine, theirs):
    """How many lines hold one mark of mine and none of theirs, and how many hold two."""
    ones = twos = 0
    for line in LINES:
        if theirs & line == 0:
            n = size(mine & line)
            ones += n == 1
            twos += n == 2
    return ones, twos


@kernel
def advantage(marks):
    """The features of a position: open lines of seat 0, less those of seat 1."""
    ones, twos = open_lines(marks[0], marks[1])
    their_ones, their_twos = open_lines(marks[1], marks[0])
    return float(ones - their_ones), float(twos - their_twos)


@game
class TicTacToe(NamedTuple):
    """Parameters: none but `seats`, which is 2."""

    seats: int = 2

    state = np.dtype([("marks", "i8", (2,)), ("turn", "i8")])
    max_moves, max_plies = SQUARES, SQUARES
    expert = "alphabeta:depth=9"
    choices = {"seats": (2,)}
    features = ("open_ones", "open_twos")
    weights = WEIGHTS

    # --- the course of play ---

    def deal(game, state, rng):
        """Empty the board."""
        state.marks[0] = state.marks[1] = state.turn = 0

    def mover(game, state):
        return state.turn

    def is_over(game, state):
        crosses, noughts = state.marks[0], state.marks[1]
        return HAS_LINE[crosses] or HAS_LINE[noughts] or crosses | noughts == FULL

    def legal(game, state, moves):
        """Any empty square."""
        return list_cards(FULL & ~(state.marks[0] | state.marks[1]), moves, 0)

    def play(game, state, square):
        state.marks[state.turn] |= _ONE << square
        state.turn = 1 - state.turn

    def returns(game, state, out):
        """1 for the winner, −1 for the loser; 0 for a draw, and before the end."""
        out[0] = 1.0 if HAS_LINE[state.marks[0]] else -1.0 if HAS_LINE[state.marks[1]] else 0.0
        out[1] = -out[0]

    def score_range(game):
        return -1.0, 1.0

    # --- for searches ---

    def measure(game, state, out):
        out[0], out[1] = advantage(state.marks)

    def evaluate(game, state, out):
        ones, twos = advantage(state.marks)
        out[0] = WEIGHTS[0] * ones + WEIGHTS[1] * twos
        out[1] = -out[0]

    def is_quiet(game, state):
        """The mover cannot win at once, nor must it prevent that the other seat does."""
        twos = open_lines(state.marks[0], state.marks[1])[1] + open_lines(state.marks[1], state.marks[0])[1]
        return twos == 0

    def urgency(game, state, square):
        """A square that completes a line, one that prevents that, then those on the most lines."""
        mark = _ONE << square
        mine, theirs = state.marks[state.turn], state.marks[1 - state.turn]
        if HAS_LINE[mine | mark]:
            return 100.0
        if HAS_LINE[theirs | mark]:
            return 50.0
        lines = 0
        for line in LINES:
            lines += line >> square & 1
        return float(lines)

    def mirror(game, state, square):
        """The position after the move, turned and reflected so that its number is the lowest."""
        mine, theirs = state.marks[state.turn] | _ONE << square, state.marks[1 - state.turn]
        lowest = (FULL + 1) * (FULL + 1)
        for symmetry in range(8):
            lowest = min(lowest, (FULL + 1) * MAPPED[symmetry, mine] + MAPPED[symmetry, theirs])
        return lowest

    def sensible_move(game, state, moves, rng):
        """The most urgent square, any of those that are equal."""
        n, best, equal = game.legal(state, moves), -1.0, 0
        for i in range(n):
            urgency = game.urgency(state, moves[i])
            if urgency > best:
                best, equal = urgency, 0
            if urgency == best:  # collected at the front of the list
                moves[equal] = moves[i]
                equal += 1
        return moves[below(rng, equal)]

    # --- numbered moves ---

    def every_move(game):
        return range(SQUARES)

    # --- how people see it ---

    def move_text(game, move):
        return text.square_text(int(move))

    def parse_move(game, words):
        return text.parse_square(words)

    def picture(game, view, seat):
        return text.picture(view)
