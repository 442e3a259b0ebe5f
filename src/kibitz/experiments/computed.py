"""Lines that are computed, not sampled: how many leaves a search of a tree looks at."""

from __future__ import annotations

import re

from kibitz.errors import BadOption, UnknownName
from kibitz.games.tree import shapes, text
from kibitz.games.tree.nodes import HandWritten
from kibitz.search.solver import Solver, algorithm

_BEST_FIRST = re.compile(r"best-first:([0-9]{1,3}),([0-9]{1,3})")
_MOST_LEAVES = 100_000


def tree_of(name: str) -> HandWritten:
    """A tree that comes with Kibitz, or `best-first:8,4`; no file, for the name may come from data.

    >>> tree_of("best-first:2,3").game.max_plies
    3
    """
    if found := _BEST_FIRST.fullmatch(name):
        branches, moves = int(found[1]), int(found[2])
        if branches < 2 or moves < 1 or branches**moves > _MOST_LEAVES:
            raise BadOption(
                f"{name} cannot be used; give at least 2 branches, and at most {_MOST_LEAVES:,} leaves"
            )
        return shapes.best_first(branches, moves)
    if name not in text.examples():
        raise UnknownName("tree", name, [*text.examples(), "best-first:8,4"])
    return text.load(name)


def leaves(tree: HandWritten, name: str) -> int:
    """How many leaves an algorithm looks at.

    >>> leaves(tree_of("best-first:8,4"), "minimax"), leaves(tree_of("best-first:8,4"), "alphabeta")
    (4096, 127)
    """
    return Solver(tree.game, algorithm(name)).solve(tree.root().array).leaves
