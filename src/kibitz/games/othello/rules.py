"""Othello on the board of eight by eight.

Black, seat 0, begins. A move puts a disc on an empty square so that at least one straight line of the
other seat's discs lies between it and another disc of one's own; all discs of such lines are turned
over. Who has no such move passes; if neither has one, the game is over. More discs win.

Position, one record:

| field    | meaning                                                                          |
|----------|----------------------------------------------------------------------------------|
| `discs`  | the squares of each seat as a set of 64 bits; square = 8 · row + column, a1 is 0  |
| `open`   | the squares on which the mover may play; none: it must pass                       |
| `turn`   | the seat to move                                                                 |
| `phase`  | `EMPTY` before the four discs of the start are laid, `PLAYING`, `OVER`            |

All lines of a direction are followed at once: a set of squares is shifted by one square, and what leaves
the board on one side is cut off before it comes back on the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.games.othello import text
from kibitz.kernel import game, kernel
from kibitz.protocol import CHANCE
from kibitz.rng import U, below

SQUARES, PASS = 64, 64
EMPTY, PLAYING, OVER = 0, 1, 2

_NONE, _ONE = U(0), U(1)
_BLACK, _WHITE = U(1 << 28 | 1 << 35), U(1 << 27 | 1 << 36)  # e4 d5, d4 e5
# Discs of the first and the last column cannot lie between two others of a row or a diagonal.
_INNER = U(0x7E7E7E7E7E7E7E7E)
_NOT_A, _NOT_H = U(0xFEFEFEFEFEFEFEFE), U(0x7F7F7F7F7F7F7F7F)
_ROW, _FALLING, _COLUMN, _RISING = U(1), U(9), U(8), U(7)  # the steps of the four axes
_CORNERS = U(0x8100000000000081)

# The squares beside a corner, for each of the corners: on the edges (C) and on the diagonal (X).
_CORNER = (U(1), U(1 << 7), U(1 << 56), U(1 << 63))
_C_SQUARES = (U(1 << 1 | 1 << 8), U(1 << 6 | 1 << 15), U(1 << 48 | 1 << 57), U(1 << 55 | 1 << 62))
_X_SQUARES = (U(1 << 9), U(1 << 14), U(1 << 49), U(1 << 54))

# How far two halves of a board lie apart that change places, and the lower one of each pair.
_HALVES_OF_ROWS = (
    (U(8), U(0x00FF00FF00FF00FF)),
    (U(16), U(0x0000FFFF0000FFFF)),
    (U(32), U(0x00000000FFFFFFFF)),
)
_HALVES_OF_COLUMNS = (
    (U(1), U(0x5555555555555555)),
    (U(2), U(0x3333333333333333)),
    (U(4), U(0x0F0F0F0F0F0F0F0F)),
)
_DIAGONALS = (
    (U(7), U(0x00AA00AA00AA00AA)),
    (U(14), U(0x0000CCCC0000CCCC)),
    (U(28), U(0x00000000F0F0F0F0)),
)

# What a feature is worth, in discs at the end of the game.
FEATURES = ("corners", "c_squares", "x_squares", "mobility", "frontier", "discs")
WEIGHTS = (11.0, -3.6, -4.0, 0.33, -0.18, 0.11)
MOST = 60.0  # no estimate is as high as a board of one colour

URGENCY = np.array(
    [
        *(9, 2, 7, 6, 6, 7, 2, 9),
        *(2, 0, 3, 3, 3, 3, 0, 2),
        *(7, 3, 5, 4, 4, 5, 3, 7),
        *(6, 3, 4, 4, 4, 4, 3, 6),
        *(6, 3, 4, 4, 4, 4, 3, 6),
        *(7, 3, 5, 4, 4, 5, 3, 7),
        *(2, 0, 3, 3, 3, 3, 0, 2),
        *(9, 2, 7, 6, 6, 7, 2, 9),
        0,
    ],
    np.float64,
)
"""How soon a search tries a square: corners first, the squares diagonal to them last."""


# --- sets of squares ---


@kernel
def n_squares(board):
    """How many squares a set has; the compiler knows this loop as one instruction."""
    n = np.int64(0)
    while board != _NONE:
        board = board & (board - _ONE)
        n += 1
    return n


@kernel
def first_square(board):
    """The lowest square of a set that is not empty."""
    return n_squares(~board & (board - _ONE))


@kernel
def run_up(start, between, step):
    """The squares of `between` that follow `start` without a gap, up to six of them, towards h8."""
    two = step + step
    run = between & (start << step)
    run = run | (between & (run << step))
    pairs = between & (between << step)
    run = run | (pairs & (run << two))
    return run | (pairs & (run << two))


@kernel
def run_down(start, between, step):
    """As `run_up`, towards a1."""
    two = step + step
    run = between & (start >> step)
    run = run | (between & (run >> step))
    pairs = between & (between >> step)
    run = run | (pairs & (run >> two))
    return run | (pairs & (run >> two))


@kernel
def ends(mine, between, step):
    """The squares behind every run of `between` that begins at a disc of mine, both ways."""
    return (run_up(mine, between, step) << step) | (run_down(mine, between, step) >> step)


@kernel
def open_squares(mine, theirs):
    """The squares on which a disc of mine would turn over one of theirs."""
    inner = theirs & _INNER
    found = ends(mine, inner, _ROW) | ends(mine, inner, _FALLING) | ends(mine, inner, _RISING)
    return (found | ends(mine, theirs, _COLUMN)) & ~(mine | theirs)


@kernel
def enclosed(disc, mine, between, step):
    """The runs of `between` along one axis that lie between the new disc and one of mine."""
    up, down = run_up(disc, between, step), run_down(disc, between, step)
    up = up if (up << step) & mine != _NONE else _NONE
    down = down if (down >> step) & mine != _NONE else _NONE
    return up | down


@kernel
def turned_over(disc, mine, theirs):
    """The discs of theirs that a new disc of mine turns over."""
    inner = theirs & _INNER
    return (
        enclosed(disc, mine, inner, _ROW)
        | enclosed(disc, mine, inner, _FALLING)
        | enclosed(disc, mine, inner, _RISING)
        | enclosed(disc, mine, theirs, _COLUMN)
    )


@kernel
def beside(board):
    """The squares that touch a set, by a side or a corner."""
    row = board | ((board << _ROW) & _NOT_A) | ((board >> _ROW) & _NOT_H)
    return row | row << _COLUMN | row >> _COLUMN


@kernel
def reflected(board, symmetry):
    """A set as it lies after one of the eight turns and reflections of the board."""
    if symmetry & 1:  # top and bottom change places: the bytes in reverse
        for step, mask in _HALVES_OF_ROWS:
            board = ((board >> step) & mask) | ((board & mask) << step)
    if symmetry & 2:  # left and right: the bits of every byte in reverse
        for step, mask in _HALVES_OF_COLUMNS:
            board = ((board >> step) & mask) | ((board & mask) << step)
    if symmetry & 4:  # rows become columns
        for step, mask in _DIAGONALS:
            change = (board ^ (board >> step)) & mask
            board = board ^ change ^ (change << step)
    return board


# --- what a position is worth ---


@kernel
def near_corners(discs, taken):
    """How many C squares and X squares beside empty corners hold one of the discs."""
    c_squares = x_squares = _NONE
    for i in range(4):
        if taken & _CORNER[i] == _NONE:
            c_squares |= _C_SQUARES[i]
            x_squares |= _X_SQUARES[i]
    return n_squares(discs & c_squares), n_squares(discs & x_squares)


@kernel
def lead(mine, theirs):
    """The features of a position, in the order of `FEATURES`: mine less theirs."""
    taken = mine | theirs
    my_c, my_x = near_corners(mine, taken)
    their_c, their_x = near_corners(theirs, taken)
    edge_of_empty = beside(~taken)
    return (
        float(n_squares(mine & _CORNERS) - n_squares(theirs & _CORNERS)),
        float(my_c - their_c),
        float(my_x - their_x),
        float(n_squares(open_squares(mine, theirs)) - n_squares(open_squares(theirs, mine))),
        float(n_squares(mine & edge_of_empty) - n_squares(theirs & edge_of_empty)),
        float(n_squares(mine) - n_squares(theirs)),
    )


@kernel
def estimate(mine, theirs):
    """By how many discs I shall be ahead in the end."""
    features = lead(mine, theirs)
    total = 0.0
    for i in range(len(WEIGHTS)):
        total += WEIGHTS[i] * features[i]
    return min(MOST, max(-MOST, total))


@game
class Othello(NamedTuple):
    """Parameters: none but `seats`, which is 2."""

    seats: int = 2

    state = np.dtype([("discs", "u8", (2,)), ("open", "u8"), ("turn", "i4"), ("phase", "i4")], align=True)
    max_moves = 60  # a disc has been laid on four squares; so many moves are far from possible
    max_plies = 120  # sixty discs, and between two of them at most one pass
    expert = "alphabeta:depth=6"
    choices = {"seats": (2,)}
    features = FEATURES
    weights = WEIGHTS

    # --- the course of play ---

    def deal(game, state, rng):
        """Lay the four discs of the start; black begins."""
        state.discs[0], state.discs[1] = _BLACK, _WHITE
        state.open = open_squares(_BLACK, _WHITE)
        state.turn, state.phase = 0, PLAYING

    def mover(game, state):
        return np.int64(state.turn) if state.phase != EMPTY else CHANCE

    def is_over(game, state):
        return state.phase == OVER

    def legal(game, state, moves):
        """Every square on which a disc turns over another; only if there is none, a pass."""
        board, n = state.open, 0
        if board == _NONE:
            moves[0] = PASS
            return 1
        while board != _NONE:
            moves[n] = first_square(board)
            board = board & (board - _ONE)
            n += 1
        return n

    def random_move(game, state, moves, rng):
        board = state.open
        if board == _NONE:
            return PASS
        for _ in range(below(rng, n_squares(board))):
            board = board & (board - _ONE)
        return first_square(board)

    def play(game, state, move):
        """Lay a disc and turn over what it encloses, or pass; the game is over if then nobody can move."""
        seat = np.int64(state.turn)
        mine, theirs = state.discs[seat], state.discs[1 - seat]
        if move != PASS:
            disc = _ONE << U(move)
            turned = turned_over(disc, mine, theirs)
            mine, theirs = mine | disc | turned, theirs ^ turned
            state.discs[seat], state.discs[1 - seat] = mine, theirs
        state.turn = 1 - seat
        state.open = open_squares(theirs, mine)
        if state.open == _NONE and open_squares(mine, theirs) == _NONE:
            state.phase = OVER

    def returns(game, state, out):
        """The discs of a seat less those of the other; empty squares count for nobody."""
        out[0] = float(n_squares(state.discs[0]) - n_squares(state.discs[1]))
        out[1] = -out[0]

    def score_range(game):
        return -64.0, 64.0

    # --- for searches ---

    def measure(game, state, out):
        features = lead(state.discs[0], state.discs[1])
        for i in range(len(WEIGHTS)):
            out[i] = features[i]

    def evaluate(game, state, out):
        out[0] = estimate(state.discs[0], state.discs[1])
        out[1] = -out[0]

    def is_quiet(game, state):
        """The mover can take no corner, and need not pass."""
        return state.open != _NONE and state.open & _CORNERS == _NONE

    def urgency(game, state, move):
        return URGENCY[move]

    def mirror(game, state, move):
        """Of the squares that a symmetry of the position maps the move to, the lowest."""
        if move == PASS:
            return move
        lowest = move
        for symmetry in range(1, 8):
            if (
                reflected(state.discs[0], symmetry) == state.discs[0]
                and reflected(state.discs[1], symmetry) == state.discs[1]
            ):
                lowest = min(lowest, first_square(reflected(_ONE << U(move), symmetry)))
        return lowest

    def sensible_move(game, state, moves, rng):
        """The move after which the estimate is best, any of those that are equal."""
        seat = np.int64(state.turn)
        mine, theirs = state.discs[seat], state.discs[1 - seat]
        n, best, equal = game.legal(state, moves), -np.inf, 0
        if moves[0] == PASS:
            return PASS
        for i in range(n):
            disc = _ONE << U(moves[i])
            turned = turned_over(disc, mine, theirs)
            worth = estimate(mine | disc | turned, theirs ^ turned)
            if worth > best:
                best, equal = worth, 0
            if worth == best:  # collected at the front of the list
                moves[equal] = moves[i]
                equal += 1
        return moves[below(rng, equal)]

    # --- numbered moves ---

    def every_move(game):
        return range(PASS + 1)

    # --- how people see it ---

    def move_text(game, move):
        return text.square_text(int(move))

    def parse_move(game, words):
        return text.parse_square(words)

    def parse_position(game, words):
        return text.parse_board(game, words)

    def picture(game, view, seat):
        return text.picture(view)
