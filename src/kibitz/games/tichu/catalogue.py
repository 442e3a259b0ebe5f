"""All combinations of Tichu in one list, for those who need moves to be numbers from 0 to n − 1.

Told apart by their cards there are many millions: a straight of ten can be made in four suits at every
rank. So in this list a combination is known by its ranks and by what the Phoenix stands for. Suits count
in bombs alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from kibitz.games.tichu.combinations import ACE, DECK, PASS, is_flush
from kibitz.games.tichu.text import GIFT, GIVE, GRAND_TICHU, NO_BOMB, NO_CALL, TICHU, WISH

_BY_RANKS = 1 << 59
"""Above all sets of cards, and below all moves that are no plays."""
_COUNT, _SPECIAL, _WILD = 3, 42, 46
"""Bits of the number of cards of a rank; where the special cards and the Phoenix's rank are written."""


def by_ranks(play: int) -> int:
    """The code of a play that all plays of the same ranks share; a straight of one suit is its cards."""
    cards, wild = int(play) & int(DECK), int(play) >> 56
    if play >= _BY_RANKS << 1 or cards == PASS:
        return int(play)
    if cards.bit_count() > 4 and wild == 0 and is_flush(cards):
        return cards
    ranks = {rank: (cards >> 4 * (rank - 1) & 15).bit_count() for rank in range(2, ACE + 1)}
    return _code(ranks, cards & 15, wild)


def _code(ranks: dict[int, int], special: int = 0, wild: int = 0) -> int:
    counts = sum(n << _COUNT * (rank - 1) for rank, n in ranks.items())
    return _BY_RANKS | wild << _WILD | special << _SPECIAL | counts


def plays() -> list[int]:
    """The codes of all plays, passing first."""
    return [int(PASS), *_sets(), *_full_houses(), *_runs(), *_flushes()]


def _with_phoenix(ranks: dict[int, int], special: int = 0) -> Iterator[int]:
    """A combination without the Phoenix, and with it in the place of one card."""
    yield _code(ranks, special)
    for rank, n in ranks.items():
        yield _code(ranks | {rank: n - 1}, special | 4, rank)


def _sets() -> Iterator[int]:
    """Single cards, pairs, three and four of a kind."""
    yield from (_code({}, 1 << card) for card in range(4))
    for rank in range(2, ACE + 1):
        yield _code({rank: 1})
        yield from _with_phoenix({rank: 2})
        yield from _with_phoenix({rank: 3})
        yield _code({rank: 4})


def _full_houses() -> Iterator[int]:
    for three in range(2, ACE + 1):
        for two in range(2, ACE + 1):
            if two != three:
                yield from _with_phoenix({three: 3, two: 2})


def _runs() -> Iterator[int]:
    """Stairs of two to seven pairs; straights of five to fourteen ranks, the Mah Jong may be the first."""
    for start in range(2, ACE):
        for end in range(start + 1, min(start + 6, ACE) + 1):
            yield from _with_phoenix(dict.fromkeys(range(start, end + 1), 2))
    for start in range(1, ACE - 3):
        for end in range(start + 4, ACE + 1):
            ranks = dict.fromkeys(range(max(start, 2), end + 1), 1)
            yield from _with_phoenix(ranks, 1 if start == 1 else 0)


def _flushes() -> Iterator[int]:
    """Straights of one suit, by their cards."""
    for suit in range(4):
        for start in range(2, ACE - 3):
            for end in range(start + 4, ACE + 1):
                yield sum(1 << 4 * (rank - 1) + suit for rank in range(start, end + 1))


def other_moves() -> list[int]:
    """Calls, what is said to a bomb, wishes, cards given, and the gift of the Dragon."""
    moves = [TICHU, GRAND_TICHU, NO_CALL, *(NO_BOMB + seat for seat in range(4))]
    moves += [WISH + rank for rank in range(ACE + 1) if rank != 1]
    return moves + [GIVE + card for card in range(56)] + [GIFT + seat for seat in range(4)]
