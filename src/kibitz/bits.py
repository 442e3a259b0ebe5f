"""Sets of cards as `int64` masks: bit number `card` is set if the card is in the set."""

from __future__ import annotations

import numpy as np

from kibitz.kernel import kernel

_PAIRS = np.int64(0x5555555555555555)
_FOURS = np.int64(0x3333333333333333)
_BYTES = np.int64(0x0F0F0F0F0F0F0F0F)
_SUM = np.int64(0x0101010101010101)


@kernel
def size(mask):
    """How many cards a set of at most 63 cards has."""
    x = mask - ((mask >> 1) & _PAIRS)
    x = (x & _FOURS) + ((x >> 2) & _FOURS)
    x = (x + (x >> 4)) & _BYTES
    return (x * _SUM) >> 56
