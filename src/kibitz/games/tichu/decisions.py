"""Rules of thumb for what is decided in Tichu beside the plays: calls, gifts, wish, bombs out of turn.

All of them use nothing but what the mover sees. What a hand is good for is told by its burden, see
`kibitz.games.tichu.sense`.
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.bits import lowest, size
from kibitz.games.tichu.combinations import ACE, DRAGON, MAH_JONG, PHOENIX, of_rank, rank_mask
from kibitz.games.tichu.round import partner
from kibitz.games.tichu.sense import hand_burden
from kibitz.kernel import kernel

TICHU_BURDEN = 1.7
"""Hands of less than this go out first more often than not."""
GRAND_STRENGTH = 5
"""Of eight cards: the Dragon and the Phoenix count two, an ace one."""
_HELP = 0.12
"""What a rank higher is worth in the card for the partner."""
_MUCH, _FEW = 30, 3

_ONE = np.int64(1)


@kernel
def is_worth_tichu(state, seat, plays):
    """A hand that is likely to go out first, unless the partner says so already."""
    return state.called[partner(seat)] == 0 and hand_burden(state.hands[seat], plays) < TICHU_BURDEN


@kernel
def is_worth_grand_tichu(state, seat):
    """Eight cards with many of the highest."""
    cards = state.eight[seat]
    strength = size(cards & rank_mask(ACE)) + 2 * size(cards & (DRAGON | PHOENIX))
    return state.called[partner(seat)] == 0 and strength >= GRAND_STRENGTH


@kernel
def card_to_give(kept, is_partner, plays):
    """To opponents the card that the hand misses least; to the partner a high one that it hardly misses.

    `kept` is the hand without what has been put aside already.
    """
    best, best_value = lowest(kept), -math.inf
    cards = kept
    while cards != 0:
        card = lowest(cards)
        cards &= cards - 1
        rank = card // 4 + 1 if card > 3 else 0
        value = -hand_burden(kept & ~(_ONE << card), plays)
        if is_partner:
            value += _HELP * rank
        elif rank == ACE or _ONE << card & (DRAGON | PHOENIX | MAH_JONG) != 0:
            value -= 100.0  # never, if there is anything else
        if value > best_value:
            best, best_value = card, value
    return best


@kernel
def rank_to_wish(state, seat):
    """The rank of the card that was given to the next seat, unless one has it oneself; 0: none."""
    card = np.int64(state.gave[seat, 0]) - 1
    rank = card // 4 + 1
    return rank if card > 3 and of_rank(state.hands[seat], rank) == 0 else 0


@kernel
def is_worth_a_bomb(state, seat):
    """A trick of much worth, or an opponent who is about to go out."""
    last = np.int64(state.last)
    if (last - seat) & 1 == 0:
        return False
    return state.pile >= _MUCH or state.left[last] <= _FEW or state.called[last] != 0


@kernel
def opponent_to_reward(state, seat):
    """The opponent who is farther from going out, for the last one's tricks are lost to his side."""
    after, before = (seat + 1) & 3, (seat + 3) & 3
    return after if state.left[after] >= state.left[before] else before
