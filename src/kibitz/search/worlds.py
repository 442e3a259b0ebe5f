"""The worlds that a search walks in: dealt one by one, or drawn from a pool by how likely each is.

Every world that agrees with a view is as likely as any other, as far as the rules go. What others
have done tells more: who bids high has high cards. With a pool, some worlds are dealt beforehand and
weighted by the game's `likelihood`, and each iteration draws one of them by its weight. Or the game
rearranges every world that is dealt. With learned chances, a world is dealt for a move: the game first
fills in what can be expected after it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.kernel import entry, kernel
from kibitz.rng import uniform


class Worlds(NamedTuple):
    """All memory for drawing worlds."""

    plan: NDArray[Any]  # [what all worlds of the view have in common]
    pool: NDArray[Any]  # none: every world is dealt anew
    odds: NDArray[np.float64]  # cumulated weights of the pool
    chances: NDArray[np.float64]  # what was learned for `predict`, of every situation; none: nothing
    rearranged: bool  # by the game, when dealt


NOTHING_LEARNED = np.zeros(0)


def memory_for_worlds(
    game: Any, pool: int, chances: NDArray[np.float64] = NOTHING_LEARNED, rearranged: bool = False
) -> Worlds:
    """Memory for the worlds of `game`, `pool` of them dealt beforehand."""
    return Worlds(np.zeros(1, game.plan), np.zeros(pool, game.state), np.zeros(pool), chances, rearranged)


@kernel
def prepare_worlds(game, worlds, view, seat, rng):
    """Once a decision: count, and deal the pool."""
    game.prepare(view[0], seat, worlds.plan[0])
    total = 0.0
    for i in range(len(worlds.pool)):
        worlds.pool[i] = view[0]
        game.sample(worlds.pool[i], seat, worlds.plan[0], rng)
        total += game.likelihood(worlds.pool[i], seat)
        worlds.odds[i] = total
    if total == 0.0:  # nothing explains what was done: all worlds are alike
        for i in range(len(worlds.pool)):
            worlds.odds[i] = i + 1.0


@kernel
def draw_world(game, worlds, view, seat, into, rng):
    """Put a random world of the view into `into[0]`."""
    if len(worlds.pool) == 0:
        into[0] = view[0]
        game.sample(into[0], seat, worlds.plan[0], rng)
        if worlds.rearranged:
            game.rearrange(into[0], seat, worlds.plan[0], rng)
        return
    chance = uniform(rng) * worlds.odds[-1]
    low, high = 0, len(worlds.pool) - 1
    while low < high:
        middle = (low + high) >> 1
        if worlds.odds[middle] > chance:
            high = middle
        else:
            low = middle + 1
    into[0] = worlds.pool[low]


@kernel
def are_foreseen(worlds):
    """Whether worlds are dealt for a move, by learned chances."""
    return len(worlds.chances) > 0


@kernel
def deal_for_move(game, worlds, seat, move, into, moves, rng):
    """Make the view in `into[0]` a random world as it can be expected when `seat` makes `move`."""
    game.predict(into[0], seat, move, worlds.chances, moves, rng)
    deal_rest(game, worlds, seat, into, rng)


@kernel
def deal_rest(game, worlds, seat, into, rng):
    """Fill all blanks that are left in `into[0]`: fewer than when the decision began."""
    game.prepare(into[0], seat, worlds.plan[0])
    game.sample(into[0], seat, worlds.plan[0], rng)


@entry
def begin(game, worlds, view, seat, rng):
    """Prepare the worlds of a view for a search."""
    prepare_worlds(game, worlds, view, seat, rng)


@entry
def one_world(game, worlds, view, seat, into, rng):
    """Put a random world that agrees with the view into `into`."""
    prepare_worlds(game, worlds, view, seat, rng)
    draw_world(game, worlds, view, seat, into, rng)
