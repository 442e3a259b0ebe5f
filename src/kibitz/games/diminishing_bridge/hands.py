"""The worth of a hand: the tricks that it can be expected to take if everyone plays at random.

Every card has a chance to take a trick, and a hand is worth the sum of them.
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.bits import lowest, size
from kibitz.kernel import kernel

_ONE = np.int64(1)

# Exponentials are asked for at every card of a playout; 64 steps to the unit are close enough.
_STEPS, MOST = 64.0, 8.0
CHANCES = np.array([1.0 / (1.0 + math.exp(MOST - i / _STEPS)) for i in range(int(2 * MOST * _STEPS))])
FADING = np.array([math.exp(-i / _STEPS) for i in range(int(2 * MOST * _STEPS))])
LOGS = np.array([0.0, *(math.log(n) for n in range(1, 64))])

_TRUMP, _PLAIN, _NO_TRUMP = 0, 1, 2
_LOG_ODDS = np.array(
    [  # of a trump, of a card of another suit, of a card if there is no trump
        [0.506, -1.251, -0.122],
        [0.268, 0.218, 0.807],  # c: the logarithm of the number of cards of the round
        [-1.599, -1.934, -2.848],  # a: cards above it that others can be expected to hold
        [0.828, -0.201, -0.4],  # n: cards of its suit in the hand
        [0.0, 0.913, 0.0],  # t: trumps in the hand
        [0.108, 0.695, 0.477],  # cc
        [-0.121, 0.28, 0.553],  # ca
        [-0.151, -0.327, -0.266],  # cn
        [0.0, -0.417, 0.0],  # ct
        [0.105, 0.027, 0.04],  # aa
        [0.163, 0.105, 0.095],  # an
        [0.0, 0.016, 0.0],  # at
        [-0.066, 0.037, 0.052],  # nn
        [0.0, 0.068, 0.0],  # nt
        [0.0, 0.006, 0.0],  # tt
        [0.0, 0.68, 1.674],  # for the first to lead, divided by the number of cards
    ]
).T.copy()
"""The logarithm of a card's odds to take a trick. Fitted to the means of random playouts of 66,500 hands,
more than half of them of the classical game, the others without trump, of three to six seats and of decks
of 24 to 52 cards. In the classical game the worth of a hand is 0.1 tricks off, 0.2 without trump."""


@kernel
def looked_up(table, x):
    """The entry of a table in steps, for x from 0 up."""
    return table[min(len(table) - 1, max(0, np.int64(_STEPS * x)))]


@kernel
def unseen_by(game, state, known):
    """The mask of the cards that are neither `known` nor shown."""
    if state.shown >= 0:
        known |= _ONE << np.int64(state.shown)
    return game.deck() & ~known


@kernel
def cards_above(cards, card):
    """How many of `cards`, which lack it, are higher than a card."""
    return size(cards & ~((_ONE << card) - 1))


@kernel
def hand_worth(game, state, seat):
    """The worth of the hand that was dealt to a seat."""
    hand = state.hands[seat] | state.gone[seat]
    unseen = unseen_by(game, state, hand)
    in_play = min(1.0, state.cards * (game.seats - 1) / max(1, size(unseen)))
    c, t = LOGS[state.cards], size(hand & state.trumps)
    lead = 1.0 / state.cards if seat == state.number % game.seats else 0.0
    tricks = 0.0
    while hand != 0:
        suit = game.suit_cards(game.suit_of(lowest(hand)))
        cards = hand & suit
        hand &= ~suit
        n = size(cards)
        k = _LOG_ODDS[_NO_TRUMP if state.trumps == 0 else _TRUMP if suit == state.trumps else _PLAIN]
        none_above = k[0] + k[1] * c + k[3] * n + k[4] * t + k[15] * lead
        none_above += c * (k[5] * c + k[7] * n + k[8] * t) + n * (k[12] * n + k[13] * t) + k[14] * t * t
        each_above = k[2] + k[6] * c + k[10] * n + k[11] * t
        while cards != 0:
            a = cards_above(unseen & suit, lowest(cards)) * in_play
            cards &= cards - 1
            tricks += looked_up(CHANCES, none_above + a * (each_above + k[9] * a) + MOST)
    return tricks
