"""Numba compiles faster inside `quickly`, makes the same code, and is as it was afterwards."""

import gc
import re

import numpy as np
import pytest
from numba import njit  # noqa: TID251 (what Numba itself makes)
from numba.core.compiler import Flags

from kibitz import compiling
from kibitz.compiling import quickly


def inside_numba():
    return [getattr(place, name) for place, name, _ in compiling._WANTED]


def test_this_version_of_numba_has_all_that_is_replaced():
    """If a new version fails here, compare its function with the replacement; mend that, or drop it."""
    assert compiling._REPLACEMENTS == compiling._WANTED


def test_numba_is_as_it_was_afterwards():
    usual = inside_numba()
    with quickly():
        assert not gc.isenabled()
        assert inside_numba() == [replacement for _, _, replacement in compiling._WANTED]
    with pytest.raises(KeyboardInterrupt), quickly():
        raise KeyboardInterrupt
    assert inside_numba() == usual
    assert gc.isenabled()


def test_another_version_of_numba_keeps_its_own():
    class Elsewhere:
        def run(self, emit_dels=False):
            pass

    assert not compiling._fits(Elsewhere, "run", compiling._run_lazily)
    assert not compiling._fits(Elsewhere, "__len__", compiling._run_lazily)


def some_flags():
    first, second, third = Flags(), Flags(), Flags()
    second.nrt, third.nrt = (
        Flags().nrt,
        not Flags().nrt,
    )  # a value that is set to its default is equal to none
    return [first, second, third, first.copy()]


def test_flags_are_equal_and_hashed_as_ever():
    usual = [[(hash(a), a == b) for b in some_flags()] for a in some_flags()]
    with quickly():
        assert [[(hash(a), a == b) for b in some_flags()] for a in some_flags()] == usual
        assert Flags() != 1


def collatz(n, steps):
    """Something of everything that is analysed: loops, branches, a variable that is live across them."""
    count = 0
    while n != 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        steps[count % len(steps)] = n
        count += 1
    return count


def llvm_of(function):
    compiled = njit("i8(i8, i8[::1])")(function)
    assert compiled(27, np.zeros(3, np.int64)) == 111
    (text,) = compiled.inspect_llvm().values()
    return re.sub(r"B\d+[A-Za-z]*|v\d+|[0-9a-f]{8,}|_ZN\S+|'[^']+'", "", text)  # names hold numbers that grow


def test_the_same_code_comes_out():
    usual = llvm_of(collatz)
    with quickly():
        assert llvm_of(collatz) == usual


def test_generators_are_analysed_too():
    def countdown(n):
        while n > 0:
            yield n
            n -= 1

    with quickly():
        assert list(njit(countdown)(3)) == [3, 2, 1]
