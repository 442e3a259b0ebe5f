"""The combinations of Tichu: which there are in a hand, which beat a trick, what a play is.

A card is bit `4 · (rank − 1) + suit` of a mask: rank 2 to 14, the ace. The four bits of rank 1 are the
special cards: the Mah Jong, which is the 1, the Dog, the Phoenix and the Dragon.

A play is one number: the mask of its cards, and from bit 56 on the rank that the Phoenix stands for, if
it is part of a combination. So plays of the same cards that mean different things are different numbers:
a straight with the Phoenix at its lower or upper end, a full house of two pairs. `PASS` is the empty
play.

What lies on the table is a kind, a number of cards and a height, which is twice the rank that counts:
the Phoenix as a single card is half a rank above the card before it.
"""

from __future__ import annotations

import numpy as np

from kibitz.bits import lowest, size
from kibitz.kernel import inlined, kernel

NOTHING, SINGLE, PAIR, STAIRS, THREE, FULL_HOUSE, STRAIGHT, BOMB = range(8)
MAH_JONG, DOG, PHOENIX, DRAGON = np.int64(1), np.int64(2), np.int64(4), np.int64(8)
DECK = np.int64((1 << 56) - 1)
PASS = np.int64(0)
ACE = 14
HIGHEST = 30  # the height of the Dragon

SPECIAL = MAH_JONG | DOG | PHOENIX | DRAGON
ONES = np.int64(0x11111111111111)
"""The first suit, and a bit for every rank."""
TWO_SUITS, THREE_SUITS = 3 * ONES, 7 * ONES
"""The first ones."""
FIVE_IN_A_ROW = np.int64(0x11111)
STANDS_FOR = np.int64(56)
"""Where the rank of the Phoenix is written."""

_ONE = np.int64(1)
_EVERY_OTHER = 5 * ONES


def _rank_mask(*ranks: int) -> np.int64:
    return np.int64(sum(15 << 4 * (rank - 1) for rank in ranks))


_ALL_FIVES, _TENS_AND_KINGS = _rank_mask(5), _rank_mask(10, 13)

# SUBSETS[k, cards of a rank, i]: the ways to take k of them; WAYS how many there are.
WAYS = np.zeros((5, 16), np.int64)
SUBSETS = np.zeros((5, 16, 6), np.int64)
for _cards in range(16):
    for _taken in range(16):
        if _taken & ~_cards == 0:
            _k = _taken.bit_count()
            SUBSETS[_k, _cards, WAYS[_k, _cards]] = _taken
            WAYS[_k, _cards] += 1


@kernel
def points(cards):
    """What cards are worth: 5 for a five, 10 for a ten or king, 25 for the Dragon, −25 for the Phoenix."""
    worth = 5 * size(cards & _ALL_FIVES) + 10 * size(cards & _TENS_AND_KINGS)
    return worth + 25 * (np.int64(cards & DRAGON != 0) - np.int64(cards & PHOENIX != 0))


@kernel
def cards_of(play):
    """The mask of the cards of a play."""
    return play & DECK


@kernel
def of_rank(cards, rank):
    """The suits in which there is a card of a rank; of rank 1 the Mah Jong alone."""
    return cards & MAH_JONG if rank == 1 else (cards >> (4 * (rank - 1))) & 15


@kernel
def rank_mask(rank):
    """All cards of a rank from 2 on."""
    return np.int64(15) << np.int64(4 * (rank - 1))


@kernel
def occupied(cards):
    """One bit for every rank from the 1 on of which there is a card, four bits apart."""
    cards = cards & ~SPECIAL | cards & MAH_JONG
    cards |= cards >> 1
    cards |= cards >> 2
    return cards & ONES


@kernel
def counts_of(cards):
    """In the four bits of every rank how many of its cards there are, special cards as those of rank 1."""
    halves = cards - (cards >> 1 & _EVERY_OTHER)
    return (halves & TWO_SUITS) + (halves >> 2 & TWO_SUITS)


@kernel
def is_flush(cards):
    """Whether all cards are of one suit; the special cards are of none."""
    if cards & SPECIAL != 0:
        return False
    suit = lowest(cards) & 3
    return cards & ~(ONES << suit) == 0


@kernel
def single_cards(hand, height):
    """The cards that can be played alone above a height; 0: to lead, the Dog too."""
    cards = hand & ~SPECIAL & ~((_ONE << np.int64(4 * (height // 2))) - 1)
    if height == 0:
        cards |= hand & (MAH_JONG | DOG)
    elif height == 1:  # a Phoenix that was led, where even the Mah Jong is higher
        cards |= hand & MAH_JONG
    if height < HIGHEST:
        cards |= hand & (PHOENIX | DRAGON)
    return cards


# --- listing ---------------------------------------------------------------------------------------
# Each writes plays into `plays` from place n on and returns the place after the last one.


@kernel
def list_singles(hand, height, plays, n):
    """Single cards above a height; 0: to lead, the Dog too."""
    cards = single_cards(hand, height)
    while cards != 0:
        plays[n] = cards & -cards
        cards &= cards - 1
        n += 1
    return n


@kernel
def list_sets(hand, k, height, plays, n):
    """Pairs (k = 2) or threes of a kind (3) above a height."""
    for rank in range(max(2, height // 2 + 1), ACE + 1):
        n = list_set(hand, k, rank, plays, n)
    return n


@kernel
def list_set(hand, k, rank, plays, n):
    """The ways to make k cards of a rank, with the Phoenix or without."""
    suits, shift = of_rank(hand, rank), np.int64(4 * (rank - 1))
    for i in range(WAYS[k, suits]):
        plays[n] = SUBSETS[k, suits, i] << shift
        n += 1
    if hand & PHOENIX != 0:
        for i in range(WAYS[k - 1, suits]):
            plays[n] = SUBSETS[k - 1, suits, i] << shift | PHOENIX | np.int64(rank) << STANDS_FOR
            n += 1
    return n


@kernel
def list_full_houses(hand, height, plays, n):
    """Three of a rank above a height and two of another."""
    for rank in range(max(2, height // 2 + 1), ACE + 1):
        if size(of_rank(hand, rank)) + np.int64(hand & PHOENIX != 0) < 3:
            continue
        threes = n
        n = list_set(hand, 3, rank, plays, n)
        end = n  # the threes themselves go when their full houses are made
        for i in range(threes, end):
            three = plays[i]
            rest = hand & ~cards_of(three)
            for other in range(2, ACE + 1):
                if other != rank and size(of_rank(rest, other)) + np.int64(rest & PHOENIX != 0) >= 2:
                    first = n
                    n = list_set(rest, 2, other, plays, n)
                    for j in range(first, n):
                        plays[j] |= three
        n = close_gap(plays, threes, end, n)
    return n


@kernel
def close_gap(plays, start, end, n):
    """Move what stands from place `end` on to `start`."""
    for i in range(end, n):
        plays[start + i - end] = plays[i]
    return start + n - end


@kernel
def list_runs(hand, k, length, height, plays, n):
    """Straights (k = 1, five ranks or more) or stairs (k = 2, two or more).

    `length` is the number of ranks, 0 for any; `height` is that of the trick. Runs are grown rank by rank:
    all of one length stand together, behind those that are one shorter.
    """
    shortest = 5 if k == 1 else 2
    has_phoenix = np.int64(hand & PHOENIX != 0)
    ranks = occupied(hand)
    lowest_start = 1 if k == 1 else 2
    if length > 0:
        lowest_start = max(lowest_start, height // 2 - length + 2)
    for start in range(lowest_start, ACE - shortest + 2):
        if k == 1 and size((ranks >> np.int64(4 * (start - 1))) & FIVE_IN_A_ROW) + has_phoenix < 5:
            continue
        begin, end, grown = n, n + 1, 0
        plays[begin] = 0
        kept = end
        for rank in range(start, ACE + 1):
            if grown == length and length > 0:
                break
            behind = end
            for i in range(begin, behind):
                end = extend(hand, k, rank, plays[i], plays, end)
            if end == behind:
                break
            begin = behind
            grown += 1
            if grown == shortest or length > 0:
                kept = begin
        if grown >= max(shortest, length):
            n = keep_runs(k, plays, n, kept, end)
    return n


@kernel
def extend(hand, k, rank, run, plays, n):
    """A run with k more cards of the next rank, in all ways."""
    suits, shift = of_rank(hand, rank), np.int64(4 * (rank - 1))
    for i in range(WAYS[k, suits]):
        plays[n] = run | SUBSETS[k, suits, i] << shift
        n += 1
    if hand & ~run & PHOENIX != 0 and rank > 1:
        for i in range(WAYS[k - 1, suits]):
            plays[n] = run | SUBSETS[k - 1, suits, i] << shift | PHOENIX | np.int64(rank) << STANDS_FOR
            n += 1
    return n


@kernel
def keep_runs(k, plays, n, kept, end):
    """Keep the whole runs; straights of one suit are bombs and listed as such."""
    for i in range(kept, end):
        if k == 2 or not is_flush(plays[i]):
            plays[n] = plays[i]
            n += 1
    return n


@kernel
def list_bombs(hand, length, height, plays, n):
    """Four of a kind and straight flushes that beat a bomb of so many cards and height; 0: any."""
    for rank in range(2, ACE + 1):
        if of_rank(hand, rank) == 15 and (length < 4 or (length == 4 and 2 * rank > height)):
            plays[n] = rank_mask(rank)
            n += 1
    for suit in range(4):
        for start in range(2, ACE - 3):
            cards, rank = np.int64(0), start
            while rank <= ACE and (of_rank(hand, rank) >> suit) & 1 != 0:
                cards |= _ONE << np.int64(4 * (rank - 1) + suit)
                n_cards = rank - start + 1
                if n_cards >= 5 and (n_cards > length or (n_cards == length and 2 * rank > height)):
                    plays[n] = cards
                    n += 1
                rank += 1
    return n


@kernel
def has_bomb(hand, length, height):
    """Whether there is one that beats a bomb of so many cards and height; 0: any."""
    cards = hand & ~SPECIAL
    fours = cards & cards >> 1 & cards >> 2 & cards >> 3 & ONES
    if length < 4 and fours != 0:
        return True
    if length == 4 and fours >> np.int64(4 * (height // 2)) != 0:
        return True
    # Bits where a flush of so many cards begins, all suits at once.
    flushes = cards & cards >> 4 & cards >> 8 & cards >> 12 & cards >> 16
    for n_cards in range(6, length + 1):
        flushes &= cards >> np.int64(4 * (n_cards - 1))
    if length < 5:
        return flushes != 0
    if flushes >> np.int64(4 * (height // 2 - length + 1)) != 0:
        return True
    return flushes & cards >> np.int64(4 * length) != 0


@kernel
def list_leads(hand, plays):
    """All combinations of a hand."""
    n = list_singles(hand, 0, plays, 0)
    n = list_sets(hand, 2, 0, plays, n)
    n = list_sets(hand, 3, 0, plays, n)
    n = list_full_houses(hand, 0, plays, n)
    n = list_runs(hand, 2, 0, 0, plays, n)
    n = list_runs(hand, 1, 0, 0, plays, n)
    return list_bombs(hand, 0, 0, plays, n)


@kernel
def list_answers(hand, kind, length, height, plays, n):
    """All combinations that beat what lies on the table."""
    if kind == SINGLE:
        n = list_singles(hand, height, plays, n)
    elif kind == PAIR:
        n = list_sets(hand, 2, height, plays, n)
    elif kind == THREE:
        n = list_sets(hand, 3, height, plays, n)
    elif kind == FULL_HOUSE:
        n = list_full_houses(hand, height, plays, n)
    elif kind == STAIRS:
        n = list_runs(hand, 2, length // 2, height, plays, n)
    elif kind == STRAIGHT:
        n = list_runs(hand, 1, length, height, plays, n)
    if kind == BOMB:
        return list_bombs(hand, length, height, plays, n)
    return list_bombs(hand, 0, 0, plays, n)


# --- what a play is --------------------------------------------------------------------------------


@kernel
def stands_for(play):
    """The rank that the Phoenix stands for in a combination, else 0."""
    return play >> STANDS_FOR


@kernel
def kind_of(play):
    """The kind of a play that is one."""
    cards = cards_of(play)
    n = size(cards)
    if n == 1:
        return SINGLE
    different = size(ranks_of(play))
    if different == 1:
        return PAIR if n == 2 else THREE if n == 3 else BOMB
    if different == n:
        return BOMB if is_flush(cards) else STRAIGHT
    return FULL_HOUSE if n == 5 else STAIRS


@kernel
def ranks_of(play):
    """One bit for every rank of a play, the Phoenix counted as what it stands for, four bits apart."""
    ranks = occupied(cards_of(play))
    wild = stands_for(play)
    return ranks | _ONE << np.int64(4 * (wild - 1)) if wild > 0 else ranks


@kernel
@inlined
def height_of(play, before, led):
    """Twice the rank that counts. `before` is the height of the trick, `led` that of a Phoenix led alone."""
    cards = cards_of(play)
    if cards & (cards - 1) == 0:
        if cards == PHOENIX:
            return before + 1 if before > 0 else led
        if cards == DRAGON:
            return HIGHEST
        return 2 * (lowest(cards) // 4 + 1)
    ranks = ranks_of(play)
    lowest_rank = lowest(ranks) // 4 + 1
    if size(ranks) == 2 and size(cards) == 5:  # a full house counts by its three
        n_low = size(of_rank(cards, lowest_rank)) + np.int64(stands_for(play) == lowest_rank)
        return 2 * (lowest_rank if n_low == 3 else lowest(ranks & (ranks - 1)) // 4 + 1)
    return 2 * (lowest_rank + size(ranks) - 1)  # one rank, or several in a row
