"""Rules with a fault each, as a user might write them: the text of files for `tests/test_faulty_games.py`."""

RIGHT = '''"""Right: each seat adds one to a pile of numbers in turn."""

from typing import NamedTuple

import numpy as np

from kibitz import game
from kibitz.rng import below


@game
class Piles(NamedTuple):
    seats: int = 2
    state = np.dtype([("place", "i8", (4,)), ("turn", "i8"), ("plies", "i8"), ("lot", "i8")])
    max_moves, max_plies = 4, 12
    choices = {"seats": (2, 3)}

    def deal(game, state, rng):
        state.turn = 1
        state.lot = below(rng, 50)

    def mover(game, state):
        return state.turn - 1

    def legal(game, state, moves):
        for i in range(4):
            moves[i] = i
        return 4

    def play(game, state, move):
        state.place[move] += 1
        state.plies += 1
        state.turn = state.turn % game.seats + 1

    def is_over(game, state):
        return state.plies >= 12

    def returns(game, state, out):
        for seat in range(game.seats):
            out[seat] = state.place[seat] / 12

    def hide(game, state, seat):
        state.lot = -1

    def resample(game, view, seat, rng):
        view.lot = below(rng, 50)

    def worlds_left(game, view, seat):
        return 1 if view.plies >= 10 else 0

    def world(game, view, seat, number):
        view.lot = 0
'''

# Name: what is put in place of what, and what the message says, with the line.
FAULTS = {
    "endless": ("state.plies >= 12", "False", "longer than max_plies = 12"),
    "too_long": ("state.plies >= 12", "state.plies >= 13", "longer than max_plies = 12"),
    "no_deal": ("state.turn = 1\n", "pass\n", "chance events lead to no end"),
    "oob_small": ("state.place[move] += 1", "state.place[move + 40] += 1", "IndexError in line {} "),
    "oob_big": ("state.place[move] += 1", "state.place[move + (1 << 40)] += 1", "IndexError in line {} "),
    "legal_many": (
        "range(4):\n            moves",
        "range(9):\n            moves",
        "IndexError in line {} ",
    ),
    "maxmoves": ("return 4", "return 900", "900 legal moves where 1 to 4"),
    "no_moves": ("return 4", "return 0", "0 legal moves where 1 to 4"),
    "negative": ("moves[i] = i", "moves[i] = -i", "-3 is listed as a move"),
    "negmover": ("return state.turn - 1", "return -5", "mover is -5"),
    "overmover": ("return state.turn - 1", "return 2 * state.turn", "mover is 2"),
    "returns_oob": ("out[seat] =", "out[seat + 1] =", "IndexError in line {} "),
    "returns_nan": ("state.place[seat] / 12", "np.nan", "the score of seat 0 is nan"),
    "hide_oob": ("state.lot = -1", "state.place[7] = -1", "IndexError in line {} "),
    "resample_oob": ("view.lot = below", "view.place[9] = below", "IndexError in line {} "),
    "world_oob": ("view.lot = 0", "view.place[1 << 40] = 0", "IndexError in line {} "),
    "huge": ("max_plies = 4, 12", "max_plies = 4, 10**12", "max_plies is 1000000000000"),
}


def write(folder, name):
    """The file of a game with a fault, or without."""
    file = folder / f"{name}.py"
    text = RIGHT
    if name in FAULTS:
        right, wrong, _ = FAULTS[name]
        assert text.count(right) == 1, name
        text = text.replace(right, wrong)
    file.write_text(text)
    return file
