"""Rules of thumb for DiminishingBridge: a bid and a card, from nothing but what the mover sees.

Every card has a chance to take a trick, and a hand is worth the sum of them. Who bids says what the
hand is worth; who plays chooses the card after which trick and hand are worth what is still needed.
They are quick, for they are the playout policy too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.bits import lowest, size
from kibitz.games.diminishing_bridge.hands import (
    CHANCES,
    FADING,
    LOGS,
    MOST,
    cards_above,
    hand_worth,
    looked_up,
    unseen_by,
)
from kibitz.games.tricks import playable, takers
from kibitz.kernel import kernel

_ONE = np.int64(1)
_BID = 64


class Odds(NamedTuple):
    """What a card's odds to take a trick are made of: terms of their logarithm."""

    trump: float
    trump_above: float
    """For each trump above it that others can be expected to hold."""
    trump_length: float
    """For each trump in the hand."""
    plain: float
    plain_tricks: float
    """By the logarithm of the number of tricks to come."""
    plain_above: float
    plain_length: float
    plain_trumps: float
    """For each trump that others can be expected to hold."""


IN_PLAY = Odds(0.527, -0.91, 0.622, -4.556, 2.311, -0.37, -0.666, 0.01)
"""These, and the numbers below, were found by an evolution strategy (CMA-ES)
as those that bring the most points against players of several kinds, most of them erratic."""

_MODEST, _HEED = 0.139, 0.14
"""What is taken off a bid; how much of what the earlier bids leave over or lack is added to it."""
_ABOVE, _BEHIND = 0.415, 0.16
"""How a card that takes the trick now loses it again: to each better card that those who play behind can
be expected to hold, and to each of them."""
_DOUBT_NOW, _DOUBT_LATER = 0.241, 0.885
"""The price of a doubtful trick now, and of keeping a doubtful card."""

PREDICTABLE = 0.5
"""How often another seat makes the sensible move, if it is sensible at all."""


@kernel
def odds_of_suit(is_trump, length, trumps, left):
    """The logarithm of the odds of a suit's highest card, and what each card above adds."""
    if is_trump:
        return IN_PLAY.trump + IN_PLAY.trump_length * length, IN_PLAY.trump_above
    plain = IN_PLAY.plain + IN_PLAY.plain_tricks * LOGS[left] + IN_PLAY.plain_trumps * trumps
    return plain + IN_PLAY.plain_length * length, IN_PLAY.plain_above


@kernel
def worth(game, state, hand, unseen, in_play, left):
    """The tricks that a hand can be expected to take with `left` to come; others hold the share `in_play`
    of the unseen cards.
    """
    trumps = size(unseen & state.trumps) * in_play
    tricks = 0.0
    while hand != 0:
        suit = game.suit_cards(game.suit_of(lowest(hand)))
        cards = hand & suit
        hand &= ~suit
        highest, above = odds_of_suit(suit == state.trumps, size(cards), trumps, left)
        while cards != 0:
            beaten = cards_above(unseen & suit, lowest(cards)) * in_play
            cards &= cards - 1
            tricks += looked_up(CHANCES, highest + above * beaten + MOST)
    return tricks


@kernel
def sensible_bid(game, state):
    """The worth of the hand, and some of what the bids so far leave over, to the nearest allowed number."""
    if game.is_blind(state):
        tricks = 1.0 / game.seats
    else:
        left_over = 0.0
        for seat in range(game.seats):
            if state.bids[seat] >= 0 and not game.luciferen:  # those are secret
                left_over += state.cards / game.seats - state.bids[seat]
        tricks = hand_worth(game, state, state.turn) - _MODEST + _HEED * left_over
    forbidden = game.forbidden(state)
    best = -1
    for bid in range(state.cards + 1):
        if bid != forbidden and (best < 0 or abs(bid - tricks) < abs(best - tricks)):
            best = bid
    return best


@kernel
def promising_bids(game, state, moves):
    """The allowed bids that are no more than one and a half tricks off the worth of the hand."""
    if game.is_blind(state):
        return game.legal(state, moves)
    worth = hand_worth(game, state, state.turn)
    forbidden = game.forbidden(state)
    n = 0
    for bid in range(state.cards + 1):
        if bid != forbidden and abs(bid - worth) <= 1.5:
            moves[n] = _BID + bid
            n += 1
    return n if n > 0 else game.legal(state, moves)


@kernel
def trust(state, seat):
    """How sensible a seat is believed to be, from 0 to 1, by the bids that it has made so far.

    Players at random make about three of ten bids, good ones six; nobody is distrusted beforehand.
    """
    made = (state.made[seat] + 1.65) / (state.number + 3.0)
    return min(1.0, max(0.0, (made - 0.28) / 0.2))


@kernel
def sensible_card(game, state):
    """The card after which this trick and the rest of the hand are worth the tricks still needed."""
    seat = state.turn
    cards = playable(state)
    if cards & (cards - 1) == 0:
        return lowest(cards)
    hand = state.hands[seat]
    unseen = unseen_by(game, state, state.played | hand)
    behind = game.seats - 1 - state.on_table
    count = max(1, size(unseen))
    in_play = min(1.0, (state.left * (game.seats - 1) - state.on_table) / count)
    lacking = np.int64(state.bids[seat]) - np.int64(state.tricks[seat])
    lacking -= worth(game, state, hand, unseen, in_play, state.left)
    trumps = size(unseen & state.trumps) * in_play
    winners = takers(state, cards)
    held_behind = behind * state.left / count
    best, best_value = -1, -math.inf
    while cards != 0:
        card = lowest(cards)
        cards &= cards - 1
        suit = game.suit_cards(game.suit_of(card))
        highest, step = odds_of_suit(suit == state.trumps, size(hand & suit), trumps, state.left)
        above = cards_above(unseen & suit, card)
        later = looked_up(CHANCES, highest + step * above * in_play + MOST)
        now = 0.0
        if winners & (_ONE << card) != 0:
            now = looked_up(FADING, _ABOVE * above * held_behind + _BEHIND * behind)
        off = lacking + later - now
        value = _DOUBT_LATER * later * (1.0 - later) - _DOUBT_NOW * now * (1.0 - now) - off * off
        if value > best_value:
            best, best_value = card, value
    return best
