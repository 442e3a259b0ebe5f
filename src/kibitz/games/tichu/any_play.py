"""Any legal play, all equally likely, without listing them: the plays are counted, and one is built.

Every finder below walks over the plays of a kind, many at a time. It is given a number: if there are more
plays than that, the answer is the play of this number; else it is `PASS`, and what is left of the number
without them. So the same walk that builds a play counts them all, if it is given a number beyond them.

What is asked of all ranks at once stands in one number too, four bits a rank like the cards: how many cards
there are of a rank, in how many ways pairs can be made of them, or a single bit, whether there are any.
"""

from __future__ import annotations

import numpy as np

from kibitz.bits import lowest, nth, size
from kibitz.games.tichu.combinations import (
    ACE,
    BOMB,
    FULL_HOUSE,
    MAH_JONG,
    NOTHING,
    ONES,
    PAIR,
    PASS,
    PHOENIX,
    SINGLE,
    SPECIAL,
    STAIRS,
    STANDS_FOR,
    STRAIGHT,
    THREE,
    counts_of,
    single_cards,
)
from kibitz.kernel import kernel
from kibitz.rng import below

_RANK = np.int64(15)
_ONE = np.int64(1)
_MORE_THAN_ANY = np.int64(1 << 40)


@kernel
def any_play(hand, kind, length, height, rng):
    """A random legal play over what lies on the table, or a lead."""
    n = count_plays(hand, kind, length, height)
    return nth_play(hand, kind, length, height, below(rng, n))


@kernel
def count_plays(hand, kind, length, height):
    """The number of legal plays, passing included."""
    return _MORE_THAN_ANY - _find_play(hand, kind, length, height, _MORE_THAN_ANY)[1]


@kernel
def nth_play(hand, kind, length, height, number):
    """The legal play of a number, from 0 on; the order is not that of the list."""
    return _find_play(hand, kind, length, height, number)[0]


@kernel
def _find_play(hand, kind, length, height, number):
    if kind == NOTHING:
        return _find_lead(hand, number)
    if number == 0:
        return PASS, number
    play, number = _find_bomb(hand, kind, length, height, number - 1)
    if play != PASS or kind == BOMB:
        return play, number
    return _find_answer(hand, kind, length, height, number)


@kernel
def _find_lead(hand, number):
    """Straights of one suit are found among the straights, so of bombs only fours are left."""
    play, number = _find_single(hand, 0, number)
    if play == PASS:
        play, number = _find_set(hand, 2, 0, number)
    if play == PASS:
        play, number = _find_set(hand, 3, 0, number)
    if play == PASS:
        play, number = _find_four(hand & ~SPECIAL, number)
    if play == PASS:
        play, number = _find_full_house(hand, 0, number)
    if play == PASS:
        play, number = _find_run(hand, 2, 0, 0, number)
    if play == PASS:
        play, number = _find_run(hand, 1, 0, 0, number)
    return play, number


@kernel
def _find_answer(hand, kind, length, height, number):
    """Higher combinations of the same kind; straights of one suit among them."""
    if kind == SINGLE:
        return _find_single(hand, height, number)
    if kind in (PAIR, THREE):
        return _find_set(hand, 2 if kind == PAIR else 3, height, number)
    if kind == FULL_HOUSE:
        return _find_full_house(hand, height, number)
    is_stairs = kind == STAIRS
    return _find_run(hand, 2 if is_stairs else 1, length // 2 if is_stairs else length, height, number)


# --- all ranks at once -----------------------------------------------------------------------------


@kernel
def _above(hand, height):
    """The cards of a rank that are above a height."""
    return hand & ~SPECIAL & -(_ONE << np.int64(4 * (height // 2)))


@kernel
def _pairs(counts):
    """In how many ways two cards of every rank can be taken: 1 of two, 3 of three, 6 of four."""
    return _exactly(2, counts) + 3 * _exactly(3, counts) + 6 * _exactly(4, counts)


@kernel
def _any(counts):
    """The ranks whose number, 7 at most, is not 0."""
    return (counts + 7 * ONES) >> 3 & ONES


@kernel
def _exactly(n, counts):
    """The ranks whose number is n."""
    return ONES & ~_any(counts ^ n * ONES)


# --- cards of one rank -----------------------------------------------------------------------------


@kernel
def _choose(n, k):
    """The ways to take k of n cards, k from 1 to 3."""
    return n if k == 1 else n * (n - 1) // 2 if k == 2 else n * (n - 1) * (n - 2) // 6


@kernel
def _count_equal(cards, k):
    """The ways to take k cards of one rank, k from 1 to 3."""
    if k == 1:
        return size(cards)
    counts = counts_of(cards)
    threes, fours = size(_exactly(3, counts)), size(_exactly(4, counts))
    return threes + 4 * fours if k == 3 else size(_exactly(2, counts)) + 3 * threes + 6 * fours


@kernel
def _nth_equal(cards, k, number):
    """Way number so and so to take k cards of one rank, k from 0 to 3."""
    if k == 0:
        return PASS
    if k == 1:
        return _ONE << nth(cards, number)
    return _nth_pair(cards, number) if k == 2 else _nth_three(cards, number)


@kernel
def _nth_pair(cards, number):
    """By how far the suits are apart."""
    for apart in range(1, 4):
        lower = cards & cards >> apart & (_RANK >> apart) * ONES
        n = size(lower)
        if number < n:
            card = _ONE << nth(lower, number)
            return card | card << apart
        number -= n
    return PASS


@kernel
def _nth_three(cards, number):
    """Three of three, or four without one."""
    counts = counts_of(cards)
    threes = _exactly(3, counts)
    n = size(threes)
    if number < n:
        return cards & _RANK << nth(threes, number)
    left_out = nth(_RANK * _exactly(4, counts), number - n)
    return _RANK << (left_out & ~3) & ~(_ONE << left_out)


@kernel
def _count_sets(cards, has_phoenix, k):
    """The ways to make k cards of one rank, with the Phoenix or without."""
    return _count_equal(cards, k) + has_phoenix * _count_equal(cards, k - 1)


@kernel
def _nth_set(cards, k, number):
    n = _count_equal(cards, k)
    if number < n:
        return _nth_equal(cards, k, number)
    others = _nth_equal(cards, k - 1, number - n)
    return others | _phoenix_as(lowest(others))


@kernel
def _phoenix_as(card):
    """The Phoenix, standing for the rank of a card."""
    return PHOENIX | np.int64(card // 4 + 1) << STANDS_FOR


# --- the kinds of plays ----------------------------------------------------------------------------


@kernel
def _find_single(hand, height, number):
    cards = single_cards(hand, height)
    n = size(cards)
    if number < n:
        return _ONE << nth(cards, number), number
    return PASS, number - n


@kernel
def _find_set(hand, k, height, number):
    """Pairs or threes of a kind."""
    cards = _above(hand, height)
    n = _count_sets(cards, np.int64(hand & PHOENIX != 0), k)
    if number < n:
        return _nth_set(cards, k, number), number
    return PASS, number - n


@kernel
def _find_full_house(hand, height, number):
    """By how many cards there are of the rank of the three, and whether the Phoenix is one of them."""
    has_phoenix = np.int64(hand & PHOENIX != 0)
    cards = hand & ~SPECIAL
    here = counts_of(_above(hand, height))
    all_pairs, all_cards = _count_equal(cards, 2), size(cards)
    for n_cards in range(2, 5):
        ranks = _exactly(n_cards, here)
        n_ranks = size(ranks)
        for wild in range(2):
            threes = _choose(n_cards, 2) * has_phoenix if wild else _choose(n_cards, 3)
            pairs = all_pairs - _choose(n_cards, 2)  # of other ranks
            if not wild:
                pairs += has_phoenix * (all_cards - n_cards)
            if number < n_ranks * threes * pairs:
                first = nth(ranks, number // (threes * pairs))
                number %= threes * pairs
                own = cards & _RANK << first
                three = _nth_equal(own, 3 - wild, number // pairs)
                if wild:
                    three |= _phoenix_as(first)
                return three | _nth_set(cards & ~own, 2, number % pairs), number
            number -= n_ranks * threes * pairs
    return PASS, number


@kernel
def _find_run(hand, k, length, height, number):
    """Straights (k = 1) or stairs (k = 2) of so many ranks, 0: any; by their start, then by their length.

    `ways` says for every rank in how many ways its cards can be taken, `filled` in how many if the Phoenix is
    one of them. A run grows by multiplying: `whole` is without the Phoenix, `helped` with it.
    """
    cards = hand & ~(SPECIAL & ~MAH_JONG)
    counts = counts_of(cards)
    ways, filled = counts, ONES & ~MAH_JONG
    if k == 2:
        counts &= ~MAH_JONG
        ways, filled = _pairs(counts), counts
    if hand & PHOENIX == 0:
        filled = np.int64(0)
    shortest = length if length > 0 else 5 if k == 1 else 2
    starts = _starts(ways, filled, shortest)
    if length > 0:
        starts &= -_start_above(length, height)
    while starts != 0:
        start = lowest(starts)
        starts &= starts - 1
        whole, helped = np.int64(1), np.int64(0)
        n = np.int64(0)
        while n < (length if length > 0 else ACE):
            w = ways >> (start + 4 * n) & _RANK
            helped = helped * w + whole * (filled >> (start + 4 * n) & _RANK)
            whole *= w
            if whole + helped == 0:
                break
            n += 1
            if n < shortest:
                continue
            if number < whole + helped:
                return _nth_run(cards, k, ways, filled, start, n, whole, helped, number), number
            number -= whole + helped
    return PASS, number


@kernel
def _starts(ways, filled, n):
    """The ranks from which on n in a row can be made."""
    ranks, fillable = _any(ways), _any(filled)
    whole, helped = ONES, np.int64(0)
    for i in range(n):
        shift = np.int64(4 * i)
        helped = helped & ranks >> shift | whole & fillable >> shift
        whole &= ranks >> shift
    return whole | helped


@kernel
def _start_above(length, height):
    """The lowest place of a start from which so many ranks end above a height."""
    return _ONE << np.int64(4 * (height // 2 - length + 1))


@kernel
def _nth_run(cards, k, ways, filled, start, n, whole, helped, number):
    """First the rank of the Phoenix, if it is one of those with it; then the cards of every rank."""
    wild = np.int64(-1)
    if number >= whole:
        number -= whole
        for place in range(start, start + 4 * n, 4):
            w = ways >> place & _RANK
            # Of a rank that cannot do without the Phoenix there is only one.
            here = helped if w == 0 else whole // w * (filled >> place & _RANK)
            if number < here:
                wild = np.int64(place)
                break
            number -= here
    play = _phoenix_as(wild) if wild >= 0 else PASS
    for place in range(start, start + 4 * n, 4):
        w = (filled if place == wild else ways) >> place & _RANK
        play |= _nth_equal(cards & _RANK << place, k - np.int64(place == wild), number % w)
        number //= w
    return play


@kernel
def _find_bomb(hand, kind, length, height, number):
    """Bombs that beat what lies on the table, but for those that beat it as straights."""
    cards = hand & ~SPECIAL
    if kind != BOMB or length == 4:
        play, number = _find_four(_above(hand, height) if kind == BOMB else cards, number)
        if play != PASS:
            return play, number
    flushes = cards & cards >> 4 & cards >> 8 & cards >> 12 & cards >> 16  # where one starts, all suits
    n_cards = 5
    while flushes != 0:
        fitting = flushes
        if n_cards == length and kind in (BOMB, STRAIGHT):
            higher = -_start_above(length, height)
            fitting &= higher if kind == BOMB else ~higher
        elif kind == BOMB and n_cards < length:
            fitting = np.int64(0)
        n = size(fitting)
        if number < n:
            return (ONES & (_ONE << np.int64(4 * n_cards)) - 1) << nth(fitting, number), number
        number -= n
        flushes &= cards >> np.int64(4 * n_cards)
        n_cards += 1
    return PASS, number


@kernel
def _find_four(cards, number):
    fours = _exactly(4, counts_of(cards))
    n = size(fours)
    if number < n:
        return _RANK << nth(fours, number), number
    return PASS, number - n
