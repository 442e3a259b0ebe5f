"""Kernels stay fit for a GPU: compiled code allocates nothing (nopython mode keeps objects out)."""

import numba
import numpy as np

from kibitz import games
from kibitz.position import deal
from kibitz.rng import stream
from kibitz.search import tree
from kibitz.search.objective import Habit, score


def allocates(function, *arguments):
    """Whether compiled code asks for memory; compiled here, for the cache keeps no readable form."""
    compiled = numba.njit(nogil=True)(function)  # noqa: TID251
    compiled(*arguments)
    code = compiled.inspect_llvm(compiled.signatures[0])
    return "NRT_MemInfo_alloc" in code or "NRT_Allocate" in code


def test_an_allocation_would_be_seen():
    assert allocates(lambda n: np.zeros(n).sum(), 3)


def test_search_allocates_nothing():
    game = games.load("briskola")
    options = tree.Options(tree.FRESH, 0, 0.7, False, 0, 0, 1.0, False, True, True, 1, 1.0)
    assert not allocates(
        tree.search.function,
        *(game, score(game, 0.5), Habit(0.5), options, deal(game, 1).view().array, 0),
        *(tree.buffers(game, 100), 20, True, stream(1)),
    )
