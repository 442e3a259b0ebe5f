"""Rules of thumb for DiminishingBridge: a bid and a card, from nothing but what the mover sees.

Every card has a chance to win a trick some time, by the unseen cards that beat it. A bid is the sum
of these chances. Of the cards that may be played, that one is best after which the tricks still
needed come nearest to the tricks that the rest of the hand can be expected to take.
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.bits import nth, size
from kibitz.kernel import kernel

_ONE = np.int64(1)


@kernel
def mover_sees(game, state):
    """The mask of the cards that the mover does not see."""
    seen = state.played | state.hands[state.turn]
    if state.shown >= 0:
        seen |= _ONE << np.int64(state.shown)
    return game.deck() & ~seen


@kernel
def share_in_play(game, state, unseen):
    """The share of the unseen cards that somebody holds."""
    held = 0
    for seat in range(game.seats):
        if seat != state.turn:
            held += game.held(state, seat)
    return held / max(1, size(unseen))


@kernel
def chance_later(game, state, card, unseen, in_play):
    """The chance of a card to win a trick some time."""
    suit = game.suit_cards(game.suit_of(card))
    above = size(unseen & suit & ~((_ONE << (card + 1)) - 1)) * in_play
    if suit == state.trumps:
        return math.exp(-0.35 * above)
    trumps = size(unseen & state.trumps) * in_play
    length = size(unseen & suit) * in_play
    return math.exp(-0.75 * above - 0.09 * trumps - 0.5 * max(0.0, 2.0 - length))


@kernel
def chance_now(game, state, card, unseen, in_play):
    """The chance of a card to win the trick to which it is played."""
    bit = _ONE << card
    is_trump = bit & state.trumps != 0
    strength = card + 64 if is_trump else card
    suit = game.suit_cards(game.suit_of(card))
    if state.on_table > 0:
        if (bit & state.follow == 0 and not is_trump) or strength < state.best:
            return 0.0
    behind = game.seats - 1 - state.on_table
    if behind == 0:
        return 1.0
    above = size(unseen & suit & ~(bit | (bit - 1))) * in_play
    per_seat = behind / (game.seats - 1)
    if is_trump:
        weight = 0.5 if state.on_table > 0 and state.follow != state.trumps else 0.8
        return math.exp(-weight * above * per_seat)
    trumps = size(unseen & state.trumps) * in_play
    length = size(unseen & suit) * in_play
    return math.exp(-(0.8 * above + 0.3 * trumps / (1.0 + length)) * per_seat)


@kernel
def sensible_bid(game, state):
    """The tricks that the hand can be expected to take, to the nearest allowed number."""
    hand = state.hands[state.turn]
    if hand == 0:  # one's own card is not seen: as likely the best as any other
        tricks = 1.0 / game.seats
    else:
        unseen = mover_sees(game, state)
        in_play = share_in_play(game, state, unseen)
        tricks = 0.0
        for i in range(size(hand)):
            tricks += chance_later(game, state, nth(hand, i), unseen, in_play)
    forbidden = game.forbidden(state)
    best = -1
    for bid in range(state.cards + 1):
        if bid != forbidden and (best < 0 or abs(bid - tricks) < abs(best - tricks)):
            best = bid
    return best


@kernel
def sensible_card(game, state, rng):
    """The card after which the tricks needed and the tricks expected differ least."""
    seat = state.turn
    hand = state.hands[seat]
    playable = game.playable(state)
    n = size(playable)
    if n == 1:
        return nth(playable, 0)
    unseen = mover_sees(game, state)
    in_play = share_in_play(game, state, unseen)
    needed = float(np.int64(state.bids[seat]) - np.int64(state.tricks[seat]))
    expected = 0.0
    for i in range(size(hand)):
        expected += chance_later(game, state, nth(hand, i), unseen, in_play)
    best, choice = math.inf, 0
    for i in range(n):
        card = nth(playable, i)
        win = chance_now(game, state, card, unseen, in_play)
        short = needed - (expected - chance_later(game, state, card, unseen, in_play))
        miss = win * (short - 1.0) ** 2 + (1.0 - win) * short**2
        if miss < best:
            best, choice = miss, card
    return choice
