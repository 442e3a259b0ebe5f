"""The thesis's players that do not search: strategic bidding, and three ways to play a card.

T. Snelleman, *Strategic Gambling in DiminishingBridge*, 2020, sections 4.1 to 4.4; its terms: o ranks
of a suit, C cards in the deck, c_r the rank of a card from 0, b the bid, t the tricks taken, r the cards
of the round.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.bits import lowest, nth, random_card, size
from kibitz.games.diminishing_bridge.hands import unseen_by
from kibitz.games.tricks import next_seat, playable
from kibitz.kernel import component, kernel
from kibitz.rng import below

RANDOM, TRUMPING, RULE_BASED = 0, 1, 2
_BIDDING, _BID, _UNSEEN = 1, 64, 63
_ONE, _ALL = np.int64(1), np.int64(-1)


@kernel
def rank_of(game, card):
    """c_r"""
    return card - game.ranks * game.suit_of(card)


# --- bidding --------------------------------------------------------------------------------------


@kernel
def strategic_value(game, state):
    """The worth of the mover's hand: linear in the rank of trumps, quadratic in that of others.

    The thesis's formulae have their labels swapped; its prose is followed. It says nothing about a
    card that its owner does not see: that is worth nothing here.
    """
    return card_values(game, state, state.hands[state.turn]) if not game.is_blind(state) else 0.0


@kernel
def card_values(game, state, hand):
    """The sum of the values of a hand's cards."""
    worth = 0  # in parts of 1/C: whole numbers add up without error
    o, deck = game.ranks, game.deck_size()
    while hand != 0:
        card = lowest(hand)
        hand &= hand - 1
        below_top = o - rank_of(game, card)
        if state.trumps & (_ONE << card) != 0:
            worth += deck - below_top
        else:
            worth += max(0, deck - below_top * below_top - o)
    return worth / deck


@kernel
def nearest_bid(game, state, x):
    """Round x, halves away from zero; where that is forbidden, to the other side."""
    bid = np.int64(math.floor(x + 0.5))  # the GPU's floor is no whole number
    forbidden = game.forbidden(state)
    if bid == forbidden:
        bid += 1 if x - math.floor(x) < 0.5 else -1
    bid = min(max(bid, np.int64(0)), np.int64(state.cards))
    return bid if bid != forbidden else bid - 1


# --- playing --------------------------------------------------------------------------------------


@component
class Snelleman(NamedTuple):
    """The players Random, Trumping and Rule Based."""

    kind: int
    as_run: bool
    """Rule Based: the rules of the program behind the tables, not those of the text."""

    def choose(policy, game, state, moves, rng):
        if state.phase == _BIDDING:
            return _BID + nearest_bid(game, state, strategic_value(game, state))
        if game.is_blind(state):
            return _UNSEEN
        cards = playable(state)
        if policy.kind == RULE_BASED:
            return policy.as_run_card(game, state) if policy.as_run else policy.card(game, state, rng)
        if policy.kind == TRUMPING and cards & state.trumps != 0:
            cards &= state.trumps
        return random_card(rng, cards)

    def worth(policy, game, state, card, unseen):
        """V(c) = c_r / (c_r + 1 + H + T): H unseen cards of the suit above, T unseen trumps.

        As run the 1 is missing; a two with nothing above it has no value then.
        """
        suit = game.suit_cards(game.suit_of(card))
        above = size(unseen & suit & (_ALL << (card + 1)))
        trumps = 0 if suit == state.trumps else size(unseen & state.trumps)
        rank = rank_of(game, card)
        beyond = rank + above + trumps + (0 if policy.as_run else 1)
        worth = rank / beyond if beyond > 0 else math.nan
        if policy.as_run:
            return -worth if policy.flips(game, state, card) else worth
        return -worth if policy.is_beaten(state, card) else worth

    def is_beaten(policy, state, card):
        """Whether a card on the table beats this one already."""
        if state.on_table == 0:
            return False
        bit = _ONE << card
        is_trump = bit & state.trumps != 0
        strength = card + 64 if is_trump else card
        return (bit & state.follow == 0 and not is_trump) or strength < state.best

    def card(policy, game, state, rng):
        """The rules as written, section 4.4; cards of equal value at random."""
        seat, cards = state.turn, playable(state)
        unseen = unseen_by(game, state, state.played | state.hands[state.turn])
        wants = state.tricks[seat] < state.bids[seat]
        positive = safe = nonpositive = 0
        for i in range(size(cards)):
            card = nth(cards, i)
            worth = policy.worth(game, state, card, unseen)
            positive += worth > 0.0
            nonpositive += worth <= 0.0
            safe += worth > 0.0 and policy.cannot_be_beaten(game, state, card)
        best, choice, ties = -math.inf, 0, 0
        for i in range(size(cards)):
            card = nth(cards, i)
            worth = policy.worth(game, state, card, unseen)
            if wants:
                if positive == 0:
                    merit = -worth  # rule 1: a lowest valued card
                elif safe > 0:  # rule 2: the lowest value above zero
                    good = worth > 0.0 and policy.cannot_be_beaten(game, state, card)
                    merit = -worth if good else -math.inf
                else:
                    merit = worth  # rule 3: a highest valued card
            elif nonpositive > 0:  # the highest of those at zero or less
                merit = worth if worth <= 0.0 else -math.inf
            else:
                merit = -worth
            if merit == best and merit > -math.inf:
                ties += 1
                choice = card if below(rng, ties) == 0 else choice
            elif merit > best:
                best, choice, ties = merit, card, 1
        return choice

    def cannot_be_beaten(policy, game, state, card):
        """Whether everyone still to play has shown to have neither the suit nor trumps."""
        led = np.int64(state.led) if state.on_table > 0 else game.suit_of(card)
        trump = game.suit_of(lowest(state.trumps)) if state.trumps != 0 else led
        neither = (_ONE << led) | (_ONE << trump)
        seat = state.turn
        for _ in range(game.seats - 1 - state.on_table):
            seat = next_seat(game, seat)
            if state.voids[seat] & neither != neither:
                return False
        return True

    def flips(policy, game, state, card):
        """As run: whether a value becomes negative because of what lies on the table."""
        if state.on_table == 0:
            return False
        bit = _ONE << card
        is_trump, follows = bit & state.trumps != 0, bit & state.follow != 0
        if not follows and not is_trump:
            return True
        for i in range(state.on_table):
            other = np.int64(state.table[i])
            other_is_trump = state.trumps & (_ONE << other) != 0
            if follows and (other_is_trump or (state.follow & (_ONE << other) != 0 and other > card)):
                return True
            if not follows and i > 0 and other_is_trump and other > card:
                return True
        return False

    def as_run_card(policy, game, state):
        """The rules of the program behind the tables; nothing is random.

        Cards are listed by suit and rank; those with V ≤ 0 lose, the others (0/0 too) win.
        """
        seat, cards = state.turn, playable(state)
        unseen = unseen_by(game, state, state.played | state.hands[state.turn])
        n = size(cards)
        losing = 0
        for i in range(n):
            losing += policy.worth(game, state, nth(cards, i), unseen) <= 0.0
        winning = n - losing
        wants = state.tricks[seat] < state.bids[seat]
        choice, first, lowest = -1, -1, math.inf
        number = 0  # of a winning card, as listed
        for i in range(n):
            card = nth(cards, i)
            worth = policy.worth(game, state, card, unseen)
            loses = worth <= 0.0
            number += not loses
            if wants and winning == 0:
                choice = card  # the last of them
            elif wants:  # the lowest of the later half of the winning cards, the later of equals
                if not loses and number > winning // 2 and (choice < 0 or worth <= lowest):
                    choice, lowest = card, worth
            elif losing > 0:  # the lowest of the losing cards, the last of equals
                if loses and worth <= lowest:
                    choice, lowest = card, worth
            elif choice < 0 or worth <= lowest:  # the lowest, the first card if it is, else the last
                if i == 0:
                    first = card
                choice, lowest = (choice, lowest) if choice == first and worth == lowest else (card, worth)
        return choice
