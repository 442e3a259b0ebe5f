"""Random streams: known values, uniformity, and one result in every mode."""

import numpy as np
import pytest
from scipy.special import chdtrc

from kibitz.kernel import entry
from kibitz.rng import below, derive, next_word, stream, uniform

# SplitMix64 from 1234567, as published with the reference implementation (Vigna)
KNOWN = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]


@entry
def draw_words(rng, out):
    for i in range(len(out)):
        out[i] = next_word(rng)


@entry
def draw_below(rng, n, out):
    for i in range(len(out)):
        out[i] = below(rng, n)


@entry
def draw_uniform(rng, out):
    for i in range(len(out)):
        out[i] = uniform(rng)


@pytest.mark.parametrize("draw", [draw_words, draw_words.interpreted], ids=["compiled", "interpreted"])
def test_known_values(draw):
    out = np.zeros(5, np.uint64)
    draw(np.array([1234567], np.uint64), out)
    assert out.tolist() == KNOWN


def test_compiled_and_interpreted_draw_the_same_bits():
    for seed in (0, 1, 2**63 - 1):
        words, integers, numbers = [], [], []
        for mode in ("__call__", "interpreted"):
            rng = stream(seed)
            out = np.zeros(200, np.uint64), np.zeros(200, np.int64), np.zeros(200)
            getattr(draw_words, mode)(rng, out[0])
            getattr(draw_below, mode)(rng, 7, out[1])
            getattr(draw_uniform, mode)(rng, out[2])
            words.append((out[0].tolist(), int(rng[0])))
            integers.append(out[1].tolist())
            numbers.append(out[2].tolist())
        assert words[0] == words[1]
        assert integers[0] == integers[1]
        assert numbers[0] == numbers[1]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 40, 1000])
def test_below_is_uniform(n):
    draws = 100 * n
    out = np.zeros(draws, np.int64)
    draw_below(stream(3, n), n, out)
    counts = np.bincount(out, minlength=n)
    assert len(counts) == n
    chi_square = ((counts - 100) ** 2 / 100).sum()
    assert n == 1 or chdtrc(n - 1, chi_square) > 0.001


def test_uniform_is_uniform_and_below_one():
    out = np.zeros(100_000)
    draw_uniform(stream(4), out)
    assert out.min() >= 0
    assert out.max() < 1
    counts = np.bincount((out * 100).astype(int), minlength=100)
    assert chdtrc(99, ((counts - 1000) ** 2 / 1000).sum()) > 0.001


def test_first_draws_of_neighbouring_streams_are_uniform():
    """Streams differ in one number only; what they draw first must not."""
    out = np.zeros(1, np.int64)
    for path in (lambda i: (i,), lambda i: (0, i), lambda i: (i, 0, 1), lambda i: (1, 2, i)):
        counts = np.zeros(10)
        for i in range(2000):
            draw_below(stream(*path(i)), 10, out)
            counts[out[0]] += 1
        assert chdtrc(9, ((counts - 200) ** 2 / 200).sum()) > 0.001


def test_streams_of_different_paths_differ():
    paths = [(a, *rest) for a in range(12) for rest in [(), *((b,) for b in range(12))]]
    paths += [(a, b, c) for a in range(6) for b in range(6) for c in range(6)]
    assert len({int(stream(*path)[0]) for path in paths}) == len(paths)
    assert stream(1, 2)[0] != stream(2, 1)[0]
    assert stream(5, 6)[0] == stream(5, 6)[0]


def test_any_whole_number_names_a_stream():
    assert stream(-1)[0] == stream(2**64 - 1)[0]
    assert stream(0).dtype == np.uint64


def test_derived_seed_is_a_seed():
    derived = [derive(1, i) for i in range(1000)]
    assert all(isinstance(seed, int) and 0 <= seed < 2**63 for seed in derived)
    assert len(set(derived)) == 1000
