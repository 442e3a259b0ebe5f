"""High Card: two seats get four of twelve cards each; the higher card takes a trick."""

from typing import NamedTuple

import numpy as np

from kibitz import game
from kibitz.rng import below

CARDS, HAND = 12, 4
HIDDEN, UNUSED, PLAYED = -1, 2, 3  # where a card can be, besides the hand of seat 0 or 1


@game
class HighCard(NamedTuple):
    seats: int = 2
    state = np.dtype([("place", "i8", (CARDS,)), ("led", "i8"), ("turn", "i8"), ("tricks", "i8", (2,))])
    max_moves, max_plies = HAND, 2 * HAND
    choices = {"seats": (2,)}

    def deal(game, state, rng):
        state.place[:], state.turn, state.led = HIDDEN, 1, HIDDEN
        game.give(state, 0, HAND, rng)
        game.resample(state, 0, rng)

    def mover(game, state):
        return state.turn - 1  # in a new record of zeros this is CHANCE: the deal is due

    def is_over(game, state):
        return state.tricks[0] + state.tricks[1] == HAND

    def legal(game, state, moves):
        n = 0
        for card in range(CARDS):
            if state.place[card] == state.turn - 1:
                moves[n] = card
                n += 1
        return n

    def play(game, state, card):
        state.place[card] = PLAYED
        mover = state.turn - 1
        if state.led == HIDDEN:
            state.led, state.turn = card, 2 - mover
        else:
            winner = mover if card > state.led else 1 - mover
            state.tricks[winner] += 1
            state.led, state.turn = HIDDEN, winner + 1

    def returns(game, state, out):
        out[0], out[1] = state.tricks[0] / HAND, state.tricks[1] / HAND

    def hide(game, state, seat):
        for card in range(CARDS):
            if state.place[card] == 1 - seat or state.place[card] == UNUSED:
                state.place[card] = HIDDEN

    def resample(game, view, seat, rng):
        has_led = view.led != HIDDEN and view.turn - 1 == seat  # the other seat has one card less
        game.give(view, 1 - seat, HAND - view.tricks[0] - view.tricks[1] - has_led, rng)
        game.give(view, UNUSED, CARDS, rng)

    def give(game, view, place, n, rng):  # n random hidden cards go to a place
        hidden = 0
        for card in range(CARDS):
            hidden += view.place[card] == HIDDEN
        for card in range(CARDS):
            if view.place[card] == HIDDEN:
                if below(rng, hidden) < n:
                    view.place[card] = place
                    n -= 1
                hidden -= 1
