"""A tree as a game: whoever moves at a node chooses a branch, and the game ends at a leaf.

A position is the number of a node; a move is the number of a branch. Branches may lead to one node
from several others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.kernel import game

END = -2
"""In place of the mover, at a leaf."""


@game
class Tree(NamedTuple):
    seats: int
    max_moves: int
    max_plies: int
    movers: NDArray[np.int64]  # [node]: a seat, `CHANCE` or `END`
    begins: NDArray[np.int64]  # [node]: its first branch; the others follow
    widths: NDArray[np.int64]  # [node]: how many branches
    scores: NDArray[np.float64]  # [node, seat]: the score at a leaf, elsewhere its evaluation
    loud: NDArray[np.int64]  # [node]: 1 if its evaluation cannot be trusted
    targets: NDArray[np.int64]  # [branch]: the node that it leads to
    chances: NDArray[np.float64]  # [branch]: its probability, after a chance node
    twins: NDArray[np.int64]  # [branch]: the first branch that is the same by symmetry
    lowest: float
    highest: float

    state = np.dtype([("node", "i8")])

    def deal(game, state, rng):
        state.node = 0

    def mover(game, state):
        return game.movers[state.node]

    def is_over(game, state):
        return game.movers[state.node] == END

    def legal(game, state, moves):
        for i in range(game.widths[state.node]):
            moves[i] = game.begins[state.node] + i
        return game.widths[state.node]

    def outcomes(game, state, moves, odds):
        for i in range(game.widths[state.node]):
            moves[i] = game.begins[state.node] + i
            odds[i] = game.chances[moves[i]]
        return game.widths[state.node]

    def play(game, state, move):
        state.node = game.targets[move]

    def returns(game, state, out):
        for seat in range(game.seats):
            out[seat] = game.scores[state.node, seat]

    def evaluate(game, state, out):
        for seat in range(game.seats):
            out[seat] = game.scores[state.node, seat]

    def is_quiet(game, state):
        return game.loud[state.node] == 0

    def score_range(game):
        return game.lowest, game.highest

    def urgency(game, state, move):
        """What the mover has where the branch leads, as it looks from there."""
        return game.scores[game.targets[move], max(game.movers[state.node], 0)]

    def mirror(game, state, move):
        return game.twins[move]
