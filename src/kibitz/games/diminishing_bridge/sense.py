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
    """What the odds of a suit's cards to take a trick are made of: terms of their logarithm."""

    base: float
    tricks: float
    """By the logarithm of the number of tricks to come."""
    above: float
    """For each better card of the suit that others can be expected to hold."""
    length: float
    """For each card of the suit in the hand."""
    out: float
    """For each card of the suit that others can be expected to hold."""
    trumps: float
    """For each trump in the hand."""
    wanted: float
    """By the tricks that others still need, as a share of those to come: who needs none lets them pass."""


class Sense(NamedTuple):
    """The numbers behind the rules of thumb."""

    trump: Odds
    plain: Odds
    indifferent: float
    """What a seat that is not believed to be sensible counts as needing: this share of the tricks to come."""
    modest: float
    """What is taken off a bid."""
    heed: float
    """How much of what the earlier bids leave over or lack is added to a bid."""
    above: float
    """How a card that takes the trick now loses it again: to each better card of its suit that those who
    play behind can be expected to hold."""
    behind: float
    """To each of them."""
    doubt_now: float
    """The price of a doubtful trick now, as long as tricks are needed."""
    doubt_later: float
    """The price of keeping a doubtful card."""
    needless_now: float
    """The price of a doubtful trick now, when none is needed any more."""
    needless_later: float
    excess: float
    """What a trick too many costs, beside one too few."""
    lead_trump: float
    """What it is worth to lead trumps."""
    lead_length: float
    """The same of another suit, for each card of it in the hand."""
    leave_sated: float
    """What it is worth to leave the trick to a seat that needs no more."""
    leave_needy: float
    """The same, if that seat still needs tricks."""


TUNED = Sense(
    trump=Odds(1.761, 0.240, -0.955, 0.293, 0.0, 0.0, -1.670),
    plain=Odds(-0.537, 0.934, -0.885, -0.311, 0.415, 0.166, -4.763),
    indifferent=0.22,
    modest=0.159,
    heed=0.147,
    above=0.478,
    behind=0.089,
    doubt_now=0.207,
    doubt_later=1.717,
    needless_now=1.217,
    needless_later=0.165,
    excess=1.242,
    lead_trump=-0.545,
    lead_length=-0.103,
    leave_sated=0.237,
    leave_needy=-0.079,
)
"""Found by an evolution strategy (CMA-ES) as those that bring the most points, less those of the others,
against players who move by such rules mostly and at random sometimes; `indifferent` by trying out."""

PREDICTABLE = 0.5
"""How often another seat makes the sensible move, if it is sensible at all."""


class Outlook(NamedTuple):
    """What the mover can expect of the tricks to come."""

    hand: int
    hidden: int
    """What is neither in the hand nor has been seen."""
    in_play: float
    """The share of the unseen cards that others hold."""
    trumps: int
    """In the hand."""
    wanted: float
    """The tricks that others still need, as far as they are trusted, as a share of those to come."""


@kernel
def needs(state, seat):
    """How many tricks a seat still has to take; below 0, if it has too many."""
    return np.int64(state.bids[seat]) - np.int64(state.tricks[seat])


@kernel
def trust(state, seat):
    """How sensible a seat is believed to be, from 0 to 1, by the bids that it has made so far.

    Players at random make about three of ten bids, good ones six; nobody is distrusted beforehand.
    """
    made = (state.made[seat] + 1.65) / (state.number + 3.0)
    return min(1.0, max(0.0, (made - 0.28) / 0.2))


@kernel
def look_out(game, state, sense):
    """The outlook of the mover."""
    hand = state.hands[state.turn]
    unseen = unseen_by(game, state, state.played | hand)
    in_play = min(1.0, (state.left * (game.seats - 1) - state.on_table) / max(1, size(unseen)))
    wanted = 0.0
    for other in range(game.seats):
        if other != state.turn:
            sensible = trust(state, other)
            wanted += sensible * max(0, needs(state, other)) / state.left
            wanted += (1.0 - sensible) * sense.indifferent
    return Outlook(hand, unseen, in_play, size(hand & state.trumps), wanted)


@kernel
def odds_of_suit(state, sense, outlook, suit):
    """The logarithm of the odds of a suit's highest card, and what each card above adds."""
    odds = sense.trump if suit == state.trumps else sense.plain
    highest = odds.base + odds.tricks * LOGS[state.left] + odds.length * size(outlook.hand & suit)
    highest += odds.out * outlook.in_play * size(outlook.hidden & suit)
    highest += odds.trumps * outlook.trumps + odds.wanted * outlook.wanted
    return highest + MOST, odds.above * outlook.in_play  # as `CHANCES` is looked up


@kernel
def worth(game, state, sense, outlook):
    """The tricks that the mover's hand can be expected to take."""
    tricks = 0.0
    hand = outlook.hand
    while hand != 0:
        suit = game.suit_cards(game.suit_of(lowest(hand)))
        cards = hand & suit
        hand &= ~suit
        highest, each_above = odds_of_suit(state, sense, outlook, suit)
        while cards != 0:
            above = cards_above(outlook.hidden & suit, lowest(cards))
            cards &= cards - 1
            tricks += looked_up(CHANCES, highest + each_above * above)
    return tricks


@kernel
def sensible_bid(game, state, sense):
    """The worth of the hand, and some of what the bids so far leave over, to the nearest allowed number."""
    if game.is_blind(state):
        tricks = 1.0 / game.seats
    else:
        left_over = 0.0
        for seat in range(game.seats):
            if state.bids[seat] >= 0 and not game.luciferen:  # those are secret
                left_over += state.cards / game.seats - state.bids[seat]
        tricks = hand_worth(game, state, state.turn) - sense.modest + sense.heed * left_over
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
    tricks = hand_worth(game, state, state.turn)
    forbidden = game.forbidden(state)
    n = 0
    for bid in range(state.cards + 1):
        if bid != forbidden and abs(bid - tricks) <= 1.5:
            moves[n] = _BID + bid
            n += 1
    return n if n > 0 else game.legal(state, moves)


@kernel
def sensible_card(game, state, sense):
    """The card after which this trick and the rest of the hand are worth the tricks still needed."""
    cards = playable(state)
    if cards & (cards - 1) == 0:
        return lowest(cards)
    outlook = look_out(game, state, sense)
    needed = needs(state, state.turn)
    lacking = needed - worth(game, state, sense, outlook)
    doubt_now = sense.doubt_now if needed > 0 else sense.needless_now
    doubt_later = sense.doubt_later if needed > 0 else sense.needless_later
    winners = takers(state, cards)
    behind = game.seats - 1 - state.on_table
    each_better = sense.above * behind * state.left / max(1, size(outlook.hidden))
    left_alone = 0.0
    if state.on_table > 0:
        left_alone = sense.leave_needy if needs(state, state.winning) > 0 else sense.leave_sated
    best, best_value = -1, -math.inf
    while cards != 0:
        suit = game.suit_cards(game.suit_of(lowest(cards)))
        of_suit = cards & suit
        cards &= ~suit
        highest, each_above = odds_of_suit(state, sense, outlook, suit)
        led = 0.0
        if state.on_table == 0:
            is_trump = suit == state.trumps
            led = sense.lead_trump if is_trump else sense.lead_length * size(outlook.hand & suit)
        while of_suit != 0:
            card = lowest(of_suit)
            of_suit &= of_suit - 1
            above = cards_above(outlook.hidden & suit, card)
            later = looked_up(CHANCES, highest + each_above * above)
            now, value = 0.0, left_alone
            if winners & (_ONE << card) != 0:
                now, value = looked_up(FADING, each_better * above + sense.behind * behind), led
            off = lacking + later - now
            value += doubt_later * later * (1.0 - later) - doubt_now * now * (1.0 - now)
            value -= off * off if off > 0.0 else sense.excess * off * off
            if value > best_value:
                best, best_value = card, value
    return best
