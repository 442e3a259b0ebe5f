"""Trees of a shape: uniform ones with given or random values, and those with the best move first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count

from kibitz.games.tree.text import HandWritten, Node, build
from kibitz.rng import derive


def uniform(
    levels: Sequence[str],
    branching: int,
    values: Callable[[], float],
    bounds: tuple[float, float] | None = None,
) -> HandWritten:
    """A tree whose nodes are of the kinds of `levels`, from the root down, all as wide; chance is fair.

    >>> leaves = iter([3, 12, 2, 4])
    >>> uniform(["max", "min"], 2, lambda: next(leaves)).game.max_plies
    2
    """

    def grow(level: int, odds: Fraction | None) -> Node:
        if level == len(levels):
            return Node("leaf", (float(values()),), odds=odds)
        node = Node(levels[level], odds=odds)
        share = Fraction(1, branching) if node.what == "chance" else None
        node.children = [grow(level + 1, share) for _ in range(branching)]
        return node

    return build(grow(0, None), bounds)


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
