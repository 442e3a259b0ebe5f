"""Many trees at once: a lane grows the tree of one decision, just as `tree.search` grows it.

So a match in which agents search is played side by side on a GPU: thousands of games wait for their
next decision, and every lane makes one of them. One decision alone has a lane for each of its `threads`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kibitz.kernel import component
from kibitz.search.objective import Playout
from kibitz.search.tree import NO_NODE, NODE, ROOT, Buffers, find, grow
from kibitz.search.worlds import Worlds, prepare_worlds

FIGURES = ("visits", "value", "squares", "available", "number")


@component
class Forest(NamedTuple):
    """The task of a lane: one tree."""

    objective: Any
    """A stack, one for every lane."""
    options: Any
    sense: float
    may_stop: bool
    rearranged: bool

    def lane(task, game, number, scratch, data):
        views, seats, begins, starts, iterations, choices, nothing, figures, roots = data[:9]
        nodes, slots, used, positions, path, sums, plans, pool, odds, lines, ends, results = data[9:]
        place, seat, rng = number % len(nodes), seats[number], scratch.rng
        root = views[number : number + 1]
        tree = Buffers(
            nodes[place], slots[place], used[place], positions[place], scratch.moves, path[place],
            scratch.values, sums[place], lines, ends, results,
        )  # fmt: skip
        worlds = Worlds(plans[place : place + 1], pool[place], odds[place], nothing, task.rearranged)
        rng[0] = begins[number]
        prepare_worlds(game, worlds, root, seat, rng)
        rng[0] = starts[number]
        objective, policy = task.objective.at(number), Playout(task.sense, seat)
        later = 0 if task.may_stop else -1
        done = grow(
            game,
            objective,
            policy,
            task.options,
            root,
            seat,
            tree,
            worlds,
            iterations[number],
            later,
            True,
            rng,
        )
        for i in range(choices.shape[1]):
            child = find(tree, ROOT, choices[number, i])
            node = tree.nodes[child]
            is_there = child != NO_NODE
            figures[number, i, 0] = node.visits if is_there else 0
            figures[number, i, 1] = node.value if is_there else 0.0
            figures[number, i, 2] = node.squares if is_there else 0.0
            figures[number, i, 3] = node.available if is_there else 0
            figures[number, i, 4] = child
        top = tree.nodes[ROOT]
        roots[number, 0], roots[number, 1], roots[number, 2] = top.value, top.visits, done


def memory(game: Any, plan: Any, capacity: int, pool: int, lanes: int) -> list[tuple[Any, Any]]:
    """The shapes and kinds of a forest's memory."""
    slots = 1 << max(4, (2 * capacity - 1).bit_length())
    return [
        ((lanes, capacity), NODE),
        ((lanes, slots), np.dtype(np.int32)),
        ((lanes, 3), np.dtype(np.int64)),
        ((lanes, 2), game.state),
        ((lanes, 2 * game.max_plies + 2), np.dtype(np.int64)),
        ((lanes, game.seats), np.dtype(np.float64)),
        ((lanes,), plan),
        ((lanes, pool), game.state),
        ((lanes, pool), np.dtype(np.float64)),
        ((0,), np.dtype(np.int64)),
        ((0,), np.dtype(np.int64)),
        ((0, 0), np.dtype(np.float64)),
    ]
