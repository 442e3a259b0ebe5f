"""The score of duplicate bridge (law 77)."""

from __future__ import annotations

import numpy as np

from kibitz.kernel import kernel

_DIAMONDS, _NOTRUMP = 1, 4


@kernel
def duplicate_score(contract, made):
    """The points of declarer's side for a contract in which it has made so many tricks."""
    level, doubled = np.int64(contract.level), np.int64(contract.doubled)
    vulnerable = contract.vulnerable != 0
    over = made - 6 - level
    if over < 0:
        return -penalty(-over, doubled, vulnerable)
    each = 20 if contract.strain <= _DIAMONDS else 30
    tricks = (each * level + (10 if contract.strain == _NOTRUMP else 0)) << doubled
    overtrick = each if doubled == 0 else 100 * doubled * (2 if vulnerable else 1)
    score = tricks + 50 * doubled + over * overtrick
    if tricks < 100:
        return score + 50
    score += 500 if vulnerable else 300
    if level >= 6:
        score += (750 if vulnerable else 500) * (level - 5)
    return score


@kernel
def penalty(under, doubled, vulnerable):
    """The points lost by undertricks."""
    if doubled == 0:
        return under * (100 if vulnerable else 50)
    if vulnerable:
        return doubled * (300 * under - 100)
    return doubled * (200 * under - 100 + 100 * max(0, under - 3))
