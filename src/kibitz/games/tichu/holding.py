"""Who holds what in Tichu, as far as the play tells: a prior for every card and seat.

Players get rid of the cards of a rank together, so whoever has played some of a rank seldom has more of it.
`WEIGHTS` says how much likelier a seat holds a card than it would by chance, and a world is as likely as
the product of the weights of all cards that are not seen.

The weights were learned by `benchmarks/tichu_holding.py` from rounds of `expert:200` against itself. What a
seat has passed on was tried too: beside what it has played, it tells nothing.
"""

from __future__ import annotations

import numpy as np

from kibitz.bits import random_card, size
from kibitz.kernel import kernel
from kibitz.rng import below, uniform

MOST = 2
"""Of a rank; two cards that a seat has played and more are one case."""
GROUPS = np.array([0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 5])
"""Of the ranks up to the ace; the special cards have rank 1."""
WEIGHTS = np.array(
    [
        (1.00, 1.00, 1.00),  # special cards, by how many of its rank the seat has played
        (1.23, 0.43, 0.15),  # 2 to 5
        (1.18, 0.57, 0.23),  # 6 to 9
        (1.18, 0.59, 0.40),  # 10, jack, queen
        (1.28, 0.71, 0.43),  # king
        (0.99, 1.00, 1.03),  # ace
    ]
).ravel()
_TRADES = 2
"""For every unseen card."""

_ONE = np.int64(1)


@kernel
def trait(state, seat, card):
    """What the weight of a card in a seat's hand depends on: its place in `WEIGHTS`."""
    rank = card // 4 + 1
    played = (state.gone[seat] >> np.int64(card & ~3)) & 15
    return GROUPS[rank] * (MOST + 1) + min(size(played), MOST)


@kernel
def trade(game, world, seat, unseen, rng):
    """Let unseen cards change hands between the others, so that worlds come as often as they are likely.

    Two cards are traded always if that makes a likelier world, else as often as it is likely in comparison
    (Metropolis et al. 1953).
    """
    for _ in range(_TRADES * size(unseen)):
        giver, taker = (seat + 1 + below(rng, 3)) & 3, (seat + 1 + below(rng, 3)) & 3
        given, taken = world.hands[giver] & unseen, world.hands[taker] & unseen
        if giver == taker or given == 0 or taken == 0:
            continue
        a, b = random_card(rng, given), random_card(rng, taken)
        if (game.barred(world, giver) >> b | game.barred(world, taker) >> a) & 1 != 0:
            continue
        before = WEIGHTS[trait(world, giver, a)] * WEIGHTS[trait(world, taker, b)]
        after = WEIGHTS[trait(world, giver, b)] * WEIGHTS[trait(world, taker, a)]
        if uniform(rng) * before < after:
            both = _ONE << a | _ONE << b
            world.hands[giver] ^= both
            world.hands[taker] ^= both
