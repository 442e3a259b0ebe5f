"""Exact values of endings: alpha-beta for two sides, max^n for more, over every world left.

Recursion does not compile, so both keep an explicit stack of copied positions, one frame a ply.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.kernel import entry, kernel
from kibitz.protocol import awaits_move


class Stack(NamedTuple):
    """One frame a ply: position, moves, how many, which is next, window, best value so far."""

    states: NDArray[Any]
    moves: NDArray[np.int64]
    widths: NDArray[np.int64]
    tried: NDArray[np.int64]
    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    values: NDArray[np.float64]  # [ply, seat]
    leaf: NDArray[np.float64]
    nodes: NDArray[np.int64]  # [nodes visited]


_LONGEST = 256
"""An ending that can be solved at all has fewer plies."""


def stack(game: Any) -> Stack:
    """Memory for solving endings of `game`."""
    plies = min(game.max_plies, _LONGEST) + 1
    return Stack(
        np.zeros(plies, game.state),
        np.zeros((plies, game.max_moves), np.int64),
        *(np.zeros(plies, np.int64), np.zeros(plies, np.int64)),
        *(np.zeros(plies), np.zeros(plies)),
        np.zeros((plies, game.seats)),
        np.zeros(2 * game.seats),
        np.zeros(1, np.int64),
    )


@kernel
def has_room(stack, ply):
    """Whether there is a frame below this one; else the ending is longer than it may be."""
    return ply + 1 < len(stack.states)


@kernel
def open_frame(game, stack, ply, alpha, beta):
    """Begin with the position in frame `ply`: list its moves, none of them tried."""
    state = stack.states[ply]
    stack.widths[ply] = game.legal(state, stack.moves[ply])
    stack.tried[ply] = 0
    stack.alpha[ply], stack.beta[ply] = alpha, beta


@kernel
def alpha_beta(game, objective, stack, seat):
    """The value for `seat` of the position in frame 0, of two sides with opposite interests.

    Fail-soft; moves in the order in which the game lists them. NaN: the ending does not end in time.
    """
    stack.nodes[0] += 1
    if not awaits_move(game, stack.states[0]):
        objective.value(game, stack.states[0], stack.leaf)
        return stack.leaf[seat]
    open_frame(game, stack, 0, -math.inf, math.inf)
    stack.values[0, 0] = -math.inf if ours(game, stack.states[0], seat) else math.inf
    ply = 0
    while True:
        if stack.tried[ply] < stack.widths[ply] and stack.alpha[ply] < stack.beta[ply]:
            if not has_room(stack, ply):
                return math.nan
            move = stack.moves[ply, stack.tried[ply]]
            stack.tried[ply] += 1
            stack.states[ply + 1] = stack.states[ply]
            state = stack.states[ply + 1]
            game.play(state, move)
            stack.nodes[0] += 1
            if awaits_move(game, state):
                open_frame(game, stack, ply + 1, stack.alpha[ply], stack.beta[ply])
                stack.values[ply + 1, 0] = -math.inf if ours(game, state, seat) else math.inf
                ply += 1
                continue
            objective.value(game, state, stack.leaf)
            value = stack.leaf[seat]
        else:
            value = stack.values[ply, 0]
            if ply == 0:
                return value
            ply -= 1
        if ours(game, stack.states[ply], seat):
            stack.values[ply, 0] = max(stack.values[ply, 0], value)
            stack.alpha[ply] = max(stack.alpha[ply], value)
        else:
            stack.values[ply, 0] = min(stack.values[ply, 0], value)
            stack.beta[ply] = min(stack.beta[ply], value)


@kernel
def ours(game, state, seat):
    """Whether the mover plays on `seat`'s side."""
    return game.team(game.mover(state)) == game.team(seat)


@kernel
def max_n(game, objective, stack, seat):
    """The value for `seat` when every mover takes what is best for itself, the first of equals.

    NaN: the ending does not end in time.
    """
    stack.nodes[0] += 1
    if not awaits_move(game, stack.states[0]):
        objective.value(game, stack.states[0], stack.leaf)
        return stack.leaf[seat]
    open_frame(game, stack, 0, -math.inf, math.inf)
    stack.values[0, :] = -math.inf
    ply = 0
    while True:
        if stack.tried[ply] < stack.widths[ply]:
            if not has_room(stack, ply):
                return math.nan
            move = stack.moves[ply, stack.tried[ply]]
            stack.tried[ply] += 1
            stack.states[ply + 1] = stack.states[ply]
            game.play(stack.states[ply + 1], move)
            stack.nodes[0] += 1
            if awaits_move(game, stack.states[ply + 1]):
                open_frame(game, stack, ply + 1, -math.inf, math.inf)
                stack.values[ply + 1, :] = -math.inf
                ply += 1
                continue
            objective.value(game, stack.states[ply + 1], stack.leaf)
        else:
            for s in range(game.seats):
                stack.leaf[s] = stack.values[ply, s]
            if ply == 0:
                return stack.leaf[seat]
            ply -= 1
        mover = game.mover(stack.states[ply])
        if stack.leaf[mover] > stack.values[ply, mover]:
            for s in range(game.seats):
                stack.values[ply, s] = stack.leaf[s]


@entry
def solve_worlds(game, objective, root, seat, worlds, two_sides, moves, sums, squares, stack):
    """Add the exact value of every legal move in each of the `worlds` of a view to `sums`."""
    n = game.legal(root[0], moves)
    for number in range(worlds):
        for i in range(n):
            stack.states[0] = root[0]
            game.world(stack.states[0], seat, number)
            game.play(stack.states[0], moves[i])
            if two_sides:
                value = alpha_beta(game, objective, stack, seat)
            else:
                value = max_n(game, objective, stack, seat)
            sums[i] += value
            squares[i] += value * value
    return n
