"""Trees of a shape: uniform ones with given or random values, and those with the best move first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count
from statistics import fmean

from kibitz.games.tree.nodes import HandWritten, Node, build
from kibitz.rng import derive


def uniform(
    levels: Sequence[str],
    branching: int,
    values: Callable[[], float],
    bounds: tuple[float, float] | None = None,
    is_sorted: bool = False,
) -> HandWritten:
    """A tree whose nodes are of the kinds of `levels`, from the root down, all as wide; chance is fair.

    `is_sorted`: moves come in the order of their values, the best first.

    >>> leaves = iter([3, 12, 2, 4])
    >>> uniform(["max", "min"], 2, lambda: next(leaves)).game.max_plies
    2
    """

    def grow(level: int, odds: Fraction | None) -> tuple[Node, float]:
        """A node and its value."""
        if level == len(levels):
            value = float(values())
            return Node("leaf", (value,), odds=odds), value
        node = Node(levels[level], odds=odds)
        share = Fraction(1, branching) if node.what == "chance" else None
        below = [grow(level + 1, share) for _ in range(branching)]
        if is_sorted and node.what != "chance":
            below.sort(key=lambda each: each[1], reverse=node.what == "max")
        node.children = [child for child, _ in below]
        worth = [value for _, value in below]
        return node, max(worth) if node.what == "max" else min(worth) if node.what == "min" else fmean(worth)

    return build(grow(0, None)[0], bounds)


def random_values(seed: int, highest: int = 100) -> Callable[[], float]:
    """Values for leaves: whole numbers from 0 to `highest`, all as likely."""
    numbers = count()
    return lambda: float(derive(seed, next(numbers)) % (highest + 1))


def best_first(branching: int, depth: int) -> HandWritten:
    """A tree of max and min in which the first move is the best at every node: pruning at its best."""

    def grow(level: int, value: int) -> Node:
        if level == depth:
            return Node("leaf", (float(value),))
        node = Node("max" if level % 2 == 0 else "min")
        worse = -1 if node.what == "max" else 1
        node.children = [grow(level + 1, value + worse * i * (depth - level)) for i in range(branching)]
        return node

    return build(grow(0, 0))
