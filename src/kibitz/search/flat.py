"""Flat Monte Carlo: every legal move gets the same number of playouts, each in a fresh world.

`sample` plays them one after the other. `Samples` does it by lanes, for one decision or for many at
once: every playout has a random stream of its own, so it does not matter which lane plays it where.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kibitz.kernel import component, entry
from kibitz.rng import mixed
from kibitz.search.objective import Playout, play_out
from kibitz.search.worlds import are_foreseen, deal_for_move, draw_world

SLOTS = 256
"""Lanes of a move; each plays every 256th of its playouts."""
PORTION = 8 * SLOTS
"""Playouts of a move between two looks at Ctrl-C and at `stop`."""
NO_MOVE = -(1 << 62)
NOT_OVER = -1.0
"""In place of a sum of squares: a game was not over after `max_plies`."""


@entry
def sample(
    game,
    objective,
    policy,
    root,
    seat,
    each,
    first,
    last,
    most,
    worlds,
    world,
    moves,
    values,
    sums,
    squares,
    rng,
):
    """Add the results of the playouts `first` to `last` to the sums; every legal move has `each` of them.

    Returns whether all of them were over within `most` moves.
    """
    move = np.int64(0)
    for number in range(first, last):
        i = number // each
        if number == first or number % each == 0:
            game.legal(root[0], moves)  # playouts use the same buffer
            move = moves[i]
        if are_foreseen(worlds):
            world[0] = root[0]
            deal_for_move(game, worlds, seat, move, world, moves, rng)
        else:
            draw_world(game, worlds, root, seat, world, rng)
        game.play(world[0], move)
        if play_out(game, policy, world[0], moves, most, rng) < 0:
            return False
        objective.value(game, world[0], values)
        sums[i] += values[seat]
        squares[i] += values[seat] * values[seat]
    return True


@component
class Samples(NamedTuple):
    """The task of a lane: its share of the playouts of one move of one decision."""

    objective: Any
    """A stack, one for every decision."""
    sense: float
    most: int
    """Moves of a playout, at most."""

    def lane(task, game, number, scratch, data):
        views, plans, seats, starts, first, last, choices, sums, squares = data
        width = choices.shape[1]
        root, choice, slot = number // (SLOTS * width), number // SLOTS % width, number % SLOTS
        total = square = 0.0
        are_over = True
        move, seat = choices[root, choice], seats[root]
        if move != NO_MOVE:
            objective, policy = task.objective.at(root), Playout(task.sense, seat)
            state, rng = scratch.position[0], scratch.rng
            for playout in range(first + slot, last[root], SLOTS):
                rng[0] = mixed(mixed(starts[root], choice), playout)
                scratch.position[0] = views[root]
                game.sample(state, seat, plans[root], rng)
                game.play(state, move)
                are_over = play_out(game, policy, state, scratch.moves, task.most, rng) >= 0 and are_over
                objective.value(game, state, scratch.values)
                value = scratch.values[seat]
                total += value
                square += value * value
        sums[number], squares[number] = total, square if are_over else NOT_OVER


@entry
def list_choices(game, views, seats, plans, choices, moves):
    """Prepare many decisions: plans for their worlds, and their legal moves; the most moves of one."""
    most = 0
    for root in range(len(views)):
        game.prepare(views[root], seats[root], plans[root])
        n = game.legal(views[root], moves)
        most = max(most, n)
        for i in range(choices.shape[1]):
            choices[root, i] = moves[i] if i < n else NO_MOVE
    return most
