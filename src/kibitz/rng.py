"""Randomness as an argument: SplitMix64 streams that depend on nothing but their path.

A stream is one `uint64` in an array, a counter; each draw mixes the next count. The stream of a
decision is `stream(seed, deal, seating, ply, …)`, so results do not depend on the order in which
games are played, on the number of workers, or on what other seats have drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kibitz.kernel import kernel

U = np.uint64
_GAMMA = U(0x9E3779B97F4A7C15)
_MIX_1 = U(0xBF58476D1CE4E5B9)
_MIX_2 = U(0x94D049BB133111EB)
_BITS_27, _BITS_30, _BITS_31, _BITS_32, _BITS_11 = U(27), U(30), U(31), U(32), U(11)


@kernel
def next_word(rng):
    """Draw 64 random bits."""
    z = rng[0] + _GAMMA
    rng[0] = z
    z = (z ^ (z >> _BITS_30)) * _MIX_1
    z = (z ^ (z >> _BITS_27)) * _MIX_2
    return z ^ (z >> _BITS_31)


@kernel
def below(rng, n):
    """Draw a uniform integer in 0 … n − 1, n at most 2³² (bias below n/2³²)."""
    return among(next_word(rng), n)


@kernel
def among(word, n):
    """The integer in 0 … n − 1 that a drawn word stands for: `below`, if `n` is known after the draw."""
    return np.int64(((word >> _BITS_32) * U(n)) >> _BITS_32)


@kernel
def uniform(rng):
    """Draw a uniform number in [0, 1)."""
    return np.float64(next_word(rng) >> _BITS_11) * (1.0 / (1 << 53))


@kernel
def mixed(state, number):
    """One step of `stream`, for compiled code: from the state so far to the next."""
    z = (state ^ U(number)) + _GAMMA
    z = (z ^ (z >> _BITS_30)) * _MIX_1
    z = (z ^ (z >> _BITS_27)) * _MIX_2
    return z ^ (z >> _BITS_31)


def stream(seed: int, *path: int) -> NDArray[np.uint64]:
    """The random stream of one event, named by whole numbers.

    >>> stream(1, 2, 3)[0] == stream(1, 2, 3)[0] != stream(1, 3, 2)[0]
    np.True_
    """
    mask = (1 << 64) - 1
    state = 0
    for number in (seed, *path):
        state = (state ^ (number & mask)) + 0x9E3779B97F4A7C15 & mask
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
        state = (state ^ state >> 27) * 0x94D049BB133111EB & mask
        state ^= state >> 31
    return np.array([state], np.uint64)


def streams(seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The random streams of many events, each named by one number.

    >>> streams(np.array([7], np.uint64)) == stream(7)
    array([ True])
    """
    with np.errstate(over="ignore"):
        return mixed(U(0), seeds)


def derive(seed: int, *path: int) -> int:
    """A seed of its own for one event, as a plain integer."""
    return int(stream(seed, *path)[0] >> U(1))
