"""Sets of cards as masks: their size, their cards in order, and random subsets, all equally likely."""

import random
from itertools import combinations

import numpy as np
import pytest
from scipy.special import chdtrc

from kibitz.bits import nth, random_card, random_subset, size
from kibitz.kernel import entry
from kibitz.rng import below, stream

ALL = (1 << 63) - 1


def cards_of(mask):
    return [card for card in range(63) if mask >> card & 1]


def masks():
    """Sets of every size, dense and sparse, and the ends of the range."""
    chooser = random.Random(1)
    few = [0, 1, 1 << 62, 3 << 61, ALL, ALL - 1, 0x5555555555555555, 0x7F << 56, 0xFF]
    return few + [sum(1 << c for c in chooser.sample(range(63), n)) for n in range(64) for _ in range(5)]


@entry
def list_cards(mask, out):
    n = size(mask)
    for k in range(n):
        out[k] = nth(mask, k)
    return n


@entry
def draw_cards(mask, out, rng):
    for i in range(len(out)):
        out[i] = random_card(rng, mask)


@entry
def draw_subsets(mask, k, out, rng):
    for i in range(len(out)):
        out[i] = random_subset(rng, mask, k)
    return below(rng, 1 << 30)  # how far the stream has gone


@pytest.mark.parametrize("way", [list_cards, list_cards.interpreted], ids=["compiled", "interpreted"])
def test_size_and_nth_list_the_cards_in_order(way):
    """The interpreter warns of no overflow either: it would be an error here."""
    for mask in masks():
        out = np.zeros(64, np.int64)
        assert out[: way(np.int64(mask), out)].tolist() == cards_of(mask), hex(mask)


def test_size_and_nth_warn_of_nothing_in_the_interpreter():
    """Rules call them outside of the random generator, where numpy tells of overflows."""
    for mask in masks():
        assert size(np.int64(mask)) == size(mask) == len(cards_of(mask))
        assert [nth(np.int64(mask), k) for k in range(size(mask))] == cards_of(mask)


def test_random_card_takes_each_equally_often():
    mask = 0x4000_0102_0000_8021
    out = np.zeros(60_000, np.int64)
    draw_cards(np.int64(mask), out, stream(1))
    cards, counts = np.unique(out, return_counts=True)
    assert cards.tolist() == cards_of(mask)
    assert chdtrc(len(cards) - 1, ((counts - 10_000) ** 2 / 10_000).sum()) > 0.001


# (n, k): single cards added, taken away, and by words; every number of eighths, halves and ends
UNIFORM = [
    *((1, 1), (5, 0), (6, 3), (9, 5), (9, 6), (12, 7), (11, 11)),
    *((13, 6), (13, 7), (14, 8), (12, 6), (16, 14), (16, 3)),
]


@pytest.mark.parametrize(("n", "k"), UNIFORM)
def test_every_subset_is_equally_likely(n, k):
    chooser = random.Random(n * 64 + k)
    cards = sorted(chooser.sample(range(63), n))
    mask = sum(1 << c for c in cards)
    subsets = {sum(1 << c for c in chosen): 0 for chosen in combinations(cards, k)}
    out = np.zeros(40 * len(subsets), np.int64)
    draw_subsets(np.int64(mask), k, out, stream(2))
    for subset, count in zip(*np.unique(out, return_counts=True), strict=True):
        subsets[int(subset)] += int(count)
    square = sum((count - 40) ** 2 / 40 for count in subsets.values())
    assert len(subsets) == 1 or chdtrc(len(subsets) - 1, square) > 0.001


@pytest.mark.parametrize(("n", "k"), [(52, 13), (52, 26), (52, 39), (52, 7), (52, 46), (63, 8), (63, 31)])
def test_every_card_of_a_large_set_is_taken_equally_often(n, k):
    """Too many subsets to count: cards, and pairs of neighbours, by their expected numbers."""
    mask = (1 << n) - 1
    draws = 20_000
    out = np.zeros(draws, np.int64)
    draw_subsets(np.int64(mask), k, out, stream(3))
    taken = (out[:, None] >> np.arange(n)) & 1
    assert (taken.sum(axis=1) == k).all()
    p, pair = k / n, k * (k - 1) / (n * (n - 1))
    # The numbers of a draw add up to k: with this factor the sum of squares has n − 1 degrees.
    counts = taken.sum(axis=0)
    square = ((counts - draws * p) ** 2 / (draws * p * (1 - p))).sum() * (n - 1) / n
    assert chdtrc(n - 1, square) > 0.001
    pairs = (taken[:, :-1] & taken[:, 1:]).sum() / (n - 1)
    assert abs(pairs - draws * pair) < 5 * np.sqrt(draws * pair * (1 - pair) / (n - 1) * 2)


@pytest.mark.parametrize(("n", "k"), [(8, 3), (20, 9), (20, 17), (52, 13), (63, 63), (63, 0)])
def test_compiled_and_interpreted_draw_the_same_subsets(n, k):
    mask = np.int64(((1 << n) - 1) << (63 - n))
    ways = []
    for draw in (draw_subsets, draw_subsets.interpreted):
        out = np.zeros(200, np.int64)
        rest = draw(mask, k, out, stream(4))
        ways.append((int(rest), out.tolist()))
    assert ways[0] == ways[1]
