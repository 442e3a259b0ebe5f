"""Sets of cards as `int64` masks: bit number `card` is set if the card is in the set."""

from __future__ import annotations

import numpy as np

from kibitz.kernel import kernel
from kibitz.rng import U, below, next_word

_ONE = np.int64(1)
_PAIRS = np.int64(0x5555555555555555)
_FOURS = np.int64(0x3333333333333333)
_BYTES = np.int64(0x0F0F0F0F0F0F0F0F)
_SUM_7 = np.int64(0x0001010101010101)
_LOW_7 = np.int64(0x00FFFFFFFFFFFFFF)
_BIT = U(1)

# _PLACE[k * 256 + byte]: where the k-th set bit of a byte is.
_PLACE = np.array(
    [([i for i in range(8) if byte >> i & 1] + [0] * 8)[k] for k in range(8) for byte in range(256)], np.int64
)


@kernel
def counts_by_byte(mask):
    """In byte i the number of cards in the bytes 0 … i of a set of at most 63 cards."""
    x = mask - ((mask >> 1) & _PAIRS)
    x = (x & _FOURS) + ((x >> 2) & _FOURS)
    x = (x + (x >> 4)) & _BYTES
    x = x + (x << 8)  # a product by 0x01…01 would overflow, which the interpreter warns of
    x = x + (x << 16)
    return x + (x << 32)


@kernel
def size(mask):
    """How many cards a set of at most 63 cards has; the compiler knows this loop as one instruction."""
    n = np.int64(0)
    while mask != 0:
        mask = mask & (mask - 1)
        n += 1
    return n


@kernel
def lowest(mask):
    """The lowest card of a set that is not empty; `mask & (mask - 1)` is the set without it."""
    return size((mask & -mask) - 1)


@kernel
def list_cards(mask, into, n):
    """Write the cards of a set into `into`, from place `n` on; the place after the last one."""
    while mask != 0:
        into[n] = lowest(mask)
        mask &= mask - 1
        n += 1
    return n


@kernel
def nth(mask, k):
    """Card number `k` of a set, counted from 0 in ascending order; no branches, no loop."""
    counts = counts_by_byte(mask)
    beyond = (((counts & _LOW_7) + (127 - k) * _SUM_7) >> 7) & _SUM_7  # bytes that reach past number k
    beyond = beyond + (beyond >> 32)
    beyond = beyond + (beyond >> 16)
    place = (7 - ((beyond + (beyond >> 8)) & 255)) << 3
    before = ((counts << 8) >> place) & 255
    return place + _PLACE[((k - before) << 8) + ((mask >> place) & 255)]


@kernel
def random_card(rng, mask):
    """A uniformly random card of a set that is not empty."""
    return nth(mask, below(rng, size(mask)))


FEW = 5


@kernel
def random_subset(rng, mask, k):
    """A uniformly random subset of `k` cards.

    Every card is taken with a chance near to k/n, by random words, all cards at once; then single
    cards are added or given back until the number is right. Both steps treat all cards alike, so
    every subset of `k` cards is equally likely.
    """
    n = size(mask)
    chosen = np.int64(0)
    if k > FEW:
        if n - k <= FEW:
            chosen = mask
        else:
            eighths = (8 * k + (n >> 1)) // n
            for place in range(3):
                word = np.int64(next_word(rng) >> _BIT)
                chosen = chosen | word if (eighths >> place) & 1 else chosen & word
            chosen = chosen & mask
    have = size(chosen)
    while have < k:
        chosen |= _ONE << nth(mask & ~chosen, below(rng, n - have))
        have += 1
    while have > k:
        chosen &= ~(_ONE << nth(chosen, below(rng, have)))
        have -= 1
    return chosen
