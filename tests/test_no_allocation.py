"""Kernels stay fit for a GPU: compiled code allocates nothing (nopython mode keeps objects out)."""

import numba
import numpy as np
import pytest

from kibitz import games
from kibitz.games.tree.text import load
from kibitz.position import deal
from kibitz.rng import stream
from kibitz.search import classical, memory, tree
from kibitz.search.montecarlo import TreeSearch
from kibitz.search.objective import Habit, score
from kibitz.search.solver import Settings
from kibitz.search.worlds import memory_for_worlds


def allocates(function, *arguments):
    """Whether compiled code asks for memory; compiled here, for the cache keeps no readable form."""
    compiled = numba.njit(nogil=True)(function)  # noqa: TID251
    compiled(*arguments)
    code = compiled.inspect_llvm(compiled.signatures[0])
    return "NRT_MemInfo_alloc" in code or "NRT_Allocate" in code


def test_an_allocation_would_be_seen():
    assert allocates(lambda n: np.zeros(n).sum(), 3)


@pytest.mark.soak  # compiled for nothing else
def test_search_allocates_nothing():
    game = games.load("briskola")
    options = TreeSearch()._options()._replace(observe=True, merge=True)
    assert not allocates(
        tree.search.function,
        *(game, score(game, 0.5), Habit(0.5), options, deal(game, 1).view().array, 0),
        *(tree.buffers(game, 100), memory_for_worlds(game, 5), 20, -1, True, stream(1)),
    )


@pytest.mark.soak  # compiled for nothing else
def test_classical_search_allocates_nothing():
    tree = load("coin")
    settings = Settings("star2", urgency=True, killers=True, history=True, table=True, symmetry=True, keep=2)
    work = memory.work(tree.game, table=64, events=1000)
    work.head["ply"] = memory.NOT_BEGUN
    assert not allocates(
        classical.search.function, tree.game, settings.options(tree.game, 9, True), work, 100
    )
    assert work.head["nodes"][0] > 5
