"""What bids tell about hands.

Two kinds of bidders are known. One bids the tricks that its hand can be expected to take, as Monte Carlo
bidding finds them; the other adds up values of its cards, which is strategic bidding. Who has made few
of its bids is rather of the second kind.
"""

from __future__ import annotations

import math

from kibitz.games.diminishing_bridge.hands import CHANCES, MOST, hand_worth, looked_up
from kibitz.games.diminishing_bridge.sense import trust
from kibitz.games.diminishing_bridge.snelleman import card_values
from kibitz.kernel import kernel

_SPREAD, _SPREAD_OF_VALUES = 0.06, 0.03
"""How far off the tricks, or the values, are that a bidder of either kind rounds."""
_WHIM = 0.05
"""How often a bid has other reasons."""


@kernel
def likelihood_of_bids(game, world, seat):
    """How well the hands dealt in a world explain the bids of the others."""
    chance = 1.0
    for other in range(game.seats):
        if other != seat and world.bids[other] >= 0:
            low, high = rounded_to(game, world, other)
            tricks = hand_worth(game, world, other)
            values = card_values(game, world, world.hands[other] | world.gone[other])
            trusted = 0.1 + 0.8 * trust(world, other)
            explained = trusted * chance_between(low, high, tricks, _SPREAD)
            explained += (1.0 - trusted) * chance_between(low, high, values, _SPREAD_OF_VALUES)
            chance *= (1.0 - _WHIM) * explained + _WHIM / (world.cards + 1)
    return chance


@kernel
def rounded_to(game, state, seat):
    """From where to where all numbers are rounded to the bid that a seat has made."""
    bid, forbidden = state.bids[seat], game.forbidden_to(state, seat)
    low = bid - 0.5 if bid != forbidden + 1 else bid - 1.0
    high = bid + 0.5 if bid != forbidden - 1 else bid + 1.0
    if bid == 0 or bid == 1 == forbidden + 1:
        low = -math.inf
    if bid == state.cards or bid == state.cards - 1 == forbidden - 1:
        high = math.inf
    return low, high


@kernel
def chance_between(low, high, middle, spread):
    """The chance that something about `middle` lies between two bounds."""
    return below(high, middle, spread) - below(low, middle, spread)


@kernel
def below(bound, middle, spread):
    """The chance that something about `middle`, with a logistic spread, is below a bound."""
    return looked_up(CHANCES, min(max((bound - middle) / spread, -MOST), MOST) + MOST)
