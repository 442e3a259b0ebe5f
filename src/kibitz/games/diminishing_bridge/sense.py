"""Rules of thumb for DiminishingBridge: a bid and a card, from nothing but what the mover sees.

They are quick, for they are the playout policy too. The bid is the worth of the hand, card by card.
Who still needs tricks takes them: with the highest card, with the lowest one that does it if nobody
plays behind. Who does not need any gets rid of the highest card that loses.
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.bits import lowest, nth, random_card, size
from kibitz.kernel import kernel

_ONE = np.int64(1)
_TRUMP = _BID = 64
_SPREAD = 0.5  # of bids around the worth of a hand


@kernel
def mover_sees(game, state):
    """The mask of the cards that the mover does not see."""
    seen = state.played | state.hands[state.turn]
    if state.shown >= 0:
        seen |= _ONE << np.int64(state.shown)
    return game.deck() & ~seen


@kernel
def hand_worth(game, state, seat):
    """The tricks that a hand can be expected to take, if everyone plays at random.

    A card's chance is logistic in the cards above it, and the trumps, that others can be expected to
    hold, in the length of its suit in the hand and in the number of tricks; fitted to the means of
    random playouts on many deals of decks of 24 to 52 cards with three to six seats.
    """
    hand = state.hands[seat]
    seen = state.played | hand
    if state.shown >= 0:
        seen |= _ONE << np.int64(state.shown)
    unseen = game.deck() & ~seen
    others = state.left * (game.seats - 1)
    in_play = min(1.0, others / max(1, size(unseen)))
    trumps = size(unseen & state.trumps) * in_play
    for_tricks = 2.86 * math.log(max(1, state.left)) - 4.11
    worth = 0.0
    rest = hand
    while rest != 0:
        card = lowest(rest)
        rest &= rest - 1
        suit, bit = game.suit_cards(game.suit_of(card)), _ONE << card
        above = size(unseen & suit & ~(bit | (bit - 1))) * in_play
        length = size(hand & suit)
        if suit == state.trumps:
            z = 0.78 - 0.74 * above + 0.48 * length
        else:
            z = for_tricks - 0.89 * above - 0.08 * trumps - 0.4 * length
        worth += 1.0 / (1.0 + math.exp(-z))
    return worth


@kernel
def sensible_bid(game, state):
    """The worth of the hand, to the nearest allowed number."""
    tricks = 1.0 / game.seats if game.is_blind(state) else hand_worth(game, state, state.turn)
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
    """How well the hands of a world explain the bids: the tricks that the others still need should be
    those that their cards are worth. Who has too many tricks already tells nothing, nor does a bid of
    one who is not trusted.
    """
    chance = 1.0
    for other in range(game.seats):
        needed = np.int64(world.bids[other]) - np.int64(world.tricks[other])
        if other != seat and world.bids[other] >= 0 and needed >= 0:
            off = (needed - hand_worth(game, world, other)) / _SPREAD
            chance *= 1.0 + trust(world, other) * (math.exp(-0.5 * off * off) - 1.0)
    return chance


@kernel
def takers(game, state, cards):
    """Those of `cards` that would win the trick as it lies."""
    if state.on_table == 0:
        return cards
    best = np.int64(state.best)
    if best >= _TRUMP:
        return cards & state.trumps & ~((_ONE << (best - _TRUMP)) - 1)
    return cards & (state.trumps | (state.follow & ~((_ONE << best) - 1)))


@kernel
def high_card(game, cards, rng):
    """The highest card of a random one's suit."""
    suit = cards & game.suit_cards(game.suit_of(random_card(rng, cards)))
    return nth(suit, size(suit) - 1)


@kernel
def low_card(game, cards, rng):
    """The lowest card of a random one's suit."""
    return lowest(cards & game.suit_cards(game.suit_of(random_card(rng, cards))))


@kernel
def sensible_card(game, state, rng):
    """A card that takes the trick if tricks are needed, else one that does not."""
    seat = state.turn
    cards = game.playable(state)
    if cards & (cards - 1) == 0:
        return lowest(cards)
    winners = takers(game, state, cards)
    losers = cards & ~winners
    is_last = state.on_table + 1 == game.seats
    if state.tricks[seat] < state.bids[seat]:
        if winners == 0:
            return low_card(game, cards, rng)
        return low_card(game, winners, rng) if is_last else high_card(game, winners, rng)
    if state.on_table == 0:
        return low_card(game, cards, rng)
    if losers != 0:
        return high_card(game, losers, rng)
    return high_card(game, cards, rng) if is_last else low_card(game, cards, rng)
