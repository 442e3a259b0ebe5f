"""High Card: a trick game of one suit, on one screen. Try `kibitz check examples/high_card.py`."""

from typing import NamedTuple

import numpy as np

from kibitz import game
from kibitz.protocol import CHANCE
from kibitz.rng import below

CARDS, UNUSED, PLAYED, HIDDEN = 12, 2, 3, -1


@game
class HighCard(NamedTuple):
    """Both seats get `hand` of twelve cards, four or more stay unused. The higher card takes a trick."""

    seats: int = 2
    hand: int = 4

    # Where every card is (a seat, UNUSED, PLAYED, or HIDDEN in a view), and the course of play.
    state = np.dtype([("place", "i8", (CARDS,)), ("left", "i8", (2,)), ("led", "i8"), ("turn", "i8"),
                      ("tricks", "i8", (2,)), ("dealt", "i8")])  # fmt: skip
    max_moves, max_plies = CARDS, CARDS
    choices = {"seats": (2,), "hand": (1, 2, 3, 4)}

    def deal(game, state, rng):
        state.dealt, state.led = 1, HIDDEN
        needed = state.left[0] = state.left[1] = game.hand
        for card in range(CARDS):
            mine = below(rng, CARDS - card) < needed
            state.place[card] = 0 if mine else HIDDEN
            needed -= mine
        game.resample(state, 0, rng)  # the other cards fall as seat 0 might imagine them

    def hidden(game, view):
        n = 0
        for card in range(CARDS):
            n += view.place[card] == HIDDEN
        return n

    def mover(game, state):
        return state.turn if state.dealt else CHANCE

    def is_over(game, state):
        return state.dealt == 1 and state.tricks[0] + state.tricks[1] == game.hand

    def legal(game, state, moves):
        n = 0
        for card in range(CARDS):
            if state.place[card] == state.turn:
                moves[n] = card
                n += 1
        return n

    def play(game, state, card):
        state.place[card] = PLAYED
        state.left[state.turn] -= 1
        if state.led == HIDDEN:
            state.led, state.turn = card, 1 - state.turn
        else:
            winner = state.turn if card > state.led else 1 - state.turn
            state.tricks[winner] += 1
            state.led, state.turn = HIDDEN, winner

    def returns(game, state, out):
        for seat in range(2):
            out[seat] = state.tricks[seat] / game.hand

    def hide(game, state, seat):
        for card in range(CARDS):
            if state.place[card] == 1 - seat or state.place[card] == UNUSED:
                state.place[card] = HIDDEN

    def resample(game, view, seat, rng):
        needed, hidden = view.left[1 - seat], game.hidden(view)
        for card in range(CARDS):
            if view.place[card] == HIDDEN:
                other_has_it = below(rng, hidden) < needed
                view.place[card] = 1 - seat if other_has_it else UNUSED
                needed -= other_has_it
                hidden -= 1
