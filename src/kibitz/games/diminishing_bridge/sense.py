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


AT_RANDOM = Odds(0.78, -0.74, 0.48, -4.11, 2.86, -0.89, -0.4, -0.08)
"""If everyone plays at random: fitted to the means of random playouts of hands as they are dealt, from
decks of 24 to 52 cards with three to six seats."""

IN_PLAY = Odds(0.527, -0.91, 0.622, -4.556, 2.311, -0.37, -0.666, 0.01)
"""While a round is played. These, and the numbers below, were found by an evolution strategy (CMA-ES)
as those that bring the most points against players of several kinds, most of them erratic."""

_MODEST, _HEED = 0.139, 0.14
"""What is taken off a bid; how much of what the earlier bids leave over or lack is added to it."""
_ABOVE, _BEHIND = 0.415, 0.16
"""How a card that takes the trick now loses it again: to each better card that those who play behind can
be expected to hold, and to each of them."""
_DOUBT_NOW, _DOUBT_LATER = 0.241, 0.885
"""The price of a doubtful trick now, and of keeping a doubtful card."""

_SPREAD = 0.15
"""How differently players judge the worth of a hand that they bid on."""
PREDICTABLE = 0.5
"""How often another seat makes the sensible move, if it is sensible at all."""

# Exponentials are asked for at every card of a playout; 64 steps to the unit are close enough.
_STEPS, _MOST = 64.0, 8.0
_CHANCES = np.array([1.0 / (1.0 + math.exp(_MOST - i / _STEPS)) for i in range(int(2 * _MOST * _STEPS))])
_FADING = np.array([math.exp(-i / _STEPS) for i in range(int(2 * _MOST * _STEPS))])
_LOGS = np.array([0.0, *(math.log(n) for n in range(1, 64))])


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
def odds_of_suit(odds, is_trump, length, trumps, left):
    """The logarithm of the odds of a suit's highest card, and what each card above adds."""
    if is_trump:
        return odds.trump + odds.trump_length * length, odds.trump_above
    plain = odds.plain + odds.plain_tricks * _LOGS[left] + odds.plain_trumps * trumps
    return plain + odds.plain_length * length, odds.plain_above


@kernel
def cards_above(cards, card):
    """How many of `cards`, which lack it, are higher than a card."""
    return size(cards & ~((_ONE << card) - 1))


@kernel
def worth(game, state, odds, hand, unseen, in_play, left):
    """The tricks that a hand can be expected to take with `left` to come; others hold the share `in_play`
    of the unseen cards.
    """
    trumps = size(unseen & state.trumps) * in_play
    tricks = 0.0
    while hand != 0:
        suit = game.suit_cards(game.suit_of(lowest(hand)))
        cards = hand & suit
        hand &= ~suit
        highest, above = odds_of_suit(odds, suit == state.trumps, size(cards), trumps, left)
        while cards != 0:
            beaten = cards_above(unseen & suit, lowest(cards)) * in_play
            cards &= cards - 1
            tricks += looked_up(_CHANCES, highest + above * beaten + _MOST)
    return tricks


@kernel
def hand_worth(game, state, seat):
    """The tricks that the hand dealt to a seat can be expected to take, if everyone plays at random."""
    hand = state.hands[seat] | state.gone[seat]
    unseen = unseen_by(game, state, hand)
    in_play = min(1.0, state.cards * (game.seats - 1) / max(1, size(unseen)))
    return worth(game, state, AT_RANDOM, hand, unseen, in_play, state.cards)


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
def likelihood_of_bids(game, world, seat):
    """How well the hands dealt in a world explain the bids of the others, as far as each of them is
    trusted: a bid is the worth of the hand, as its player sees it, rounded.
    """
    chance = 1.0
    for other in range(game.seats):
        bid = np.int64(world.bids[other])
        if other != seat and bid >= 0:
            off = bid - hand_worth(game, world, other)
            over = looked_up(_CHANCES, (0.5 - off) / _SPREAD + _MOST) if bid > 0 else 1.0
            well_over = looked_up(_CHANCES, (-0.5 - off) / _SPREAD + _MOST) if bid < world.cards else 0.0
            chance *= 1.0 + trust(world, other) * (over - well_over - 1.0)
    return chance


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
    lacking -= worth(game, state, IN_PLAY, hand, unseen, in_play, state.left)
    trumps = size(unseen & state.trumps) * in_play
    winners = takers(state, cards)
    held_behind = behind * state.left / count
    best, best_value = -1, -math.inf
    while cards != 0:
        card = lowest(cards)
        cards &= cards - 1
        suit = game.suit_cards(game.suit_of(card))
        highest, step = odds_of_suit(IN_PLAY, suit == state.trumps, size(hand & suit), trumps, state.left)
        above = cards_above(unseen & suit, card)
        later = looked_up(_CHANCES, highest + step * above * in_play + _MOST)
        now = 0.0
        if winners & (_ONE << card) != 0:
            now = looked_up(_FADING, _ABOVE * above * held_behind + _BEHIND * behind)
        off = lacking + later - now
        value = _DOUBT_LATER * later * (1.0 - later) - _DOUBT_NOW * now * (1.0 - now) - off * off
        if value > best_value:
            best, best_value = card, value
    return best
