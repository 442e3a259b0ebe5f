"""Any legal play, all equally likely, without listing them: the plays are counted, and one is built.

First the plays of every kind are counted, then the one of a number is built, and no other. Leads and
answers go the same way: an answer is a lead of one kind, above a height, or a bomb. That matters on a GPU,
where 32 games wait for whatever one of them does, and where few instructions are at hand: what stands in a
program once is faster than what stands in it twice.

Cards of one rank are taken by their suits, which stand in a circle: two neighbours, three or four cards are
named by the first of them, two opposite ones by the lower. So the pairs of a hand, its threes and its fours
are sets of cards too, to be counted and chosen from like cards.

Straights and stairs are counted rank by rank. In how many ways cards of every rank can be taken stands in one
number, four bits a rank like the cards.
"""

from __future__ import annotations

import numpy as np

from kibitz.bits import lowest, nth, size
from kibitz.games.tichu.combinations import (
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
    SUBSETS,
    THREE,
    THREE_SUITS,
    TWO_SUITS,
    WAYS,
    counts_of,
    single_cards,
)
from kibitz.kernel import inlined, kernel
from kibitz.rng import among, next_word

_RANK = np.int64(15)
_ONE = np.int64(1)
_MORE_THAN_ANY = np.int64(1 << 40)
"""A number beyond all plays: who looks for it counts them, by what is left of it."""
_WITH_PHOENIX = np.int64(16)
_WHOLE = np.int64((1 << 16) - 1)


@kernel
@inlined
def any_play(hand, kind, length, height, rng):
    """A random legal play over what lies on the table, or a lead."""
    word = next_word(rng)  # drawn while the plays are counted, not after
    counts = count_kinds(hand, kind, length, height)
    return nth_play(hand, kind, length, height, counts, among(word, total(counts)))


@kernel
def total(counts):
    """The number of legal plays of all kinds."""
    n = np.int64(0)
    for count in counts:
        n += count
    return n


@kernel
@inlined
def count_kinds(hand, kind, length, height):
    """How many passes, singles, pairs, threes, fours, full houses, flushes, stairs and straights are legal.

    Straights of one suit are among the straights where these are, and else flushes.
    """
    leads = kind == NOTHING
    has_phoenix = np.int64(hand & PHOENIX != 0)
    cards = hand & ~SPECIAL
    high = _above(cards, height)
    singles = pairs = threes = fours = full_houses = flushes = stairs = straights = np.int64(0)
    # What runs to look for: 1 straights, 2 stairs, 3 both.
    runs = np.int64((leads or kind == STRAIGHT) and size(hand) >= 5)
    if kind != BOMB or length == 4:
        fours = size(_fours(high if kind == BOMB else cards))
    if not leads:
        flushes = _MORE_THAN_ANY - _find_flush(hand, kind, length, height, _MORE_THAN_ANY)[2]
    if leads or kind == SINGLE:
        singles = size(single_cards(hand, height))
    if kind != SINGLE and kind <= FULL_HOUSE:  # leads too; an `or` would be two ways to come here
        natural = _count_pairs(high)
        pairs = natural + has_phoenix * size(high)
        threes = size(_threes(high)) + has_phoenix * natural
        if threes > 0 and (leads or kind == FULL_HOUSE):
            full_houses = _MORE_THAN_ANY - _find_full_house(hand, height, _MORE_THAN_ANY)[3]
        if pairs > np.int64(leads) and (leads or kind == STAIRS):  # of an answer one may not be high
            runs += 2
        pairs = pairs if leads or kind == PAIR else PASS
        threes = threes if leads or kind == THREE else PASS
    while runs > 0:
        k = np.int64(2 if runs >= 2 else 1)
        n = _MORE_THAN_ANY - _find_run(hand, k, length, height, _MORE_THAN_ANY)[4]
        stairs, straights = (n, straights) if k == 2 else (stairs, n)
        runs -= k
    return np.int64(not leads), singles, pairs, threes, fours, full_houses, flushes, stairs, straights


@kernel
@inlined
def nth_play(hand, kind, length, height, counts, number):
    """The legal play of a number, from 0 on; the order is not that of the list."""
    passes, singles, pairs, threes, fours, full_houses, flushes, stairs, _ = counts
    number -= passes
    if number < 0:
        return PASS
    sets = singles + pairs + threes + fours
    if number < sets + full_houses:
        return _nth_of_sets(hand, kind, height, singles, pairs, threes, fours, number)
    number -= sets + full_houses
    if number < flushes:
        start, n, _ = _find_flush(hand, kind, length, height, number)
        return _in_a_row(start, n)
    number -= flushes
    k = np.int64(2 if number < stairs else 1)
    return _nth_run(hand, k, length, height, number if k == 2 else number - stairs)


@kernel
def _above(cards, height):
    """The cards that are above a height."""
    return cards & -(_ONE << np.int64(4 * (height // 2)))


@kernel
def _divided(number, by):
    """Small numbers: a GPU is slow to divide large ones."""
    return np.int64(np.uint32(number) // np.uint32(by))


# --- cards of one rank or two ----------------------------------------------------------------------


@kernel
@inlined
def _nth_of_sets(hand, kind, height, singles, pairs, threes, fours, number):
    """Singles, pairs, threes, fours; a full house is a three, and then a pair."""
    cards = hand & ~SPECIAL
    among, pair = _above(cards, height), np.int64(-1)
    if number < singles:
        k, among = np.int64(1), single_cards(hand, height)
    elif number < singles + pairs:
        k, number = np.int64(2), number - singles
    elif number < singles + pairs + threes:
        k, number = np.int64(3), number - singles - pairs
    elif number < singles + pairs + threes + fours:
        k, number = np.int64(4), number - singles - pairs - threes
        among = among if kind == BOMB else cards
    else:
        number -= singles + pairs + threes + fours
        n, wild, n_pairs, number = _find_full_house(hand, height, number)
        among &= _RANK * _exactly(n, cards)
        three = _divided(number, n_pairs)
        pair = number - three * n_pairs
        k, number = np.int64(3), three + wild * size(_threes(among))
    play = PASS
    while True:  # twice at most
        play |= _nth_set(among, k, number)
        if pair < 0:
            return play
        among = cards & ~(_RANK << (lowest(play & ~SPECIAL) & ~3))
        k, number, pair = np.int64(2), pair, np.int64(-1)


@kernel
@inlined
def _nth_set(cards, k, number):
    """So many cards of one rank, 1 to 4; the last ones of two or three are with the Phoenix."""
    play, named, suits = PASS, cards, _ONE
    if k > 1:
        two, opposite, three = _neighbours(cards), _opposites(cards), _threes(cards)
        n_two, n_opposite, n_three = size(two), size(opposite), size(three)
        if k == 3 and number >= n_three:
            k, number, play = k - 1, number - n_three, PHOENIX
        elif k == 2 and number >= n_two + n_opposite:
            k, number, play = k - 1, number - n_two - n_opposite, PHOENIX
        named = cards if k == 1 else two if k == 2 else three if k == 3 else _fours(cards)
        suits = _RANK >> 4 - k
        if k == 2 and number >= n_two:
            number -= n_two
            named, suits = opposite, np.int64(5)
    card = nth(named, number)
    if play == PHOENIX:
        play |= _standing_for(card)
    suits <<= card & 3
    return play | ((suits | suits >> 4) & _RANK) << (card & ~3)


@kernel
def _standing_for(card):
    """Of the Phoenix: the rank of a card."""
    return np.int64(card // 4 + 1) << STANDS_FOR


@kernel
def _next(cards):
    """The next suit of every card, in its place."""
    return cards >> 1 & THREE_SUITS | (cards & ONES) << 3


@kernel
def _neighbours(cards):
    return cards & _next(cards)


@kernel
def _opposites(cards):
    return cards & cards >> 2 & TWO_SUITS


@kernel
def _count_pairs(cards):
    return size(_neighbours(cards)) + size(_opposites(cards))


@kernel
def _threes(cards):
    two = _neighbours(cards)
    return two & _next(two)


@kernel
def _fours(cards):
    return cards & cards >> 1 & cards >> 2 & cards >> 3 & ONES


@kernel
def _exactly(n, cards):
    """The ranks of which there are n cards."""
    others = counts_of(cards) ^ n * ONES
    return ONES & ~((others + THREE_SUITS) >> 3)


@kernel
@inlined
def _find_full_house(hand, height, number):
    """By how many cards there are of the rank of the three, and whether the Phoenix is one of them."""
    has_phoenix = np.int64(hand & PHOENIX != 0)
    cards = hand & ~SPECIAL
    all_pairs, all_cards = _count_pairs(cards), size(cards)
    for n in range(2, 5):
        own_pairs = n * (n - 1) // 2
        n_ranks = size(_exactly(n, _above(cards, height)))
        for wild in range(2):
            threes = n_ranks * (own_pairs * has_phoenix if wild else own_pairs * (n - 2) // 3)
            pairs = all_pairs - own_pairs  # of other ranks
            if not wild:
                pairs += has_phoenix * (all_cards - n)
            if number < threes * pairs:
                return n, wild, pairs, number
            number -= threes * pairs
    return 0, 0, np.int64(0), number


# --- straights and stairs --------------------------------------------------------------------------


@kernel
@inlined
def _find_run(hand, k, length, height, number):
    """Straights (k = 1) or stairs (k = 2) of so many cards, 0: any; by their start, then by their length.

    A run grows by multiplying. The ways without the Phoenix count one each, those with it 2¹⁶; so what would
    need it twice is beyond 2³², and dropped.
    """
    shortest = np.int64(5 if k == 1 else 2)
    if length > 0:
        shortest = length if k == 1 else length // 2
    ways, filled = _ways(hand, k), _filled(hand, k)
    starts = _starts(ways, filled, k)
    if length > 0:
        starts &= -_start_above(shortest, height)
    while starts != 0:
        start = lowest(starts)
        starts &= starts - 1
        ways_on, filled_on = ways >> start, filled >> start
        grown, n = np.uint32(1), np.int64(0)
        while True:
            ways_here = np.uint32(ways_on & _RANK | (filled_on & _RANK) << _WITH_PHOENIX)
            grown = np.uint32(np.int64(grown) * ways_here)
            if grown == 0:
                break
            ways_on >>= 4
            filled_on >>= 4
            n += 1
            if n >= shortest:
                whole, helped = np.int64(grown & _WHOLE), np.int64(grown >> _WITH_PHOENIX)
                if number < whole + helped:
                    return start, n, whole, helped, number
                number -= whole + helped
                if length > 0:
                    break
    return np.int64(0), np.int64(0), np.int64(0), np.int64(0), number


@kernel
def _starts(ways, filled, k):
    """The ranks from which on two stairs, or five in a row, seem possible; the Phoenix may be one of them."""
    ranks, fillable = _any(ways), _any(filled)
    if k == 2:
        fillable |= ranks
        return ranks & fillable >> 4 | fillable & ranks >> 4
    of_five = ranks + (ranks >> 4) + (ranks >> 8) + (ranks >> 12) + (ranks >> 16)
    return of_five >> 2 & ONES & (of_five | fillable >> 4)


@kernel
def _any(numbers):
    """The ranks whose number is not 0."""
    return (numbers | numbers >> 1 | numbers >> 2) & ONES


@kernel
def _start_above(length, height):
    """The lowest place of a start from which so many ranks end above a height."""
    return _ONE << np.int64(4 * (height // 2 - length + 1))


@kernel
def _ways(hand, k):
    """In how many ways k cards of every rank can be taken, 1 or 2."""
    counts = counts_of(hand & ~(SPECIAL & ~MAH_JONG))
    if k == 1:
        return counts
    two, odd = counts >> 1 & ONES, counts & ONES
    return two + 2 * (two & odd) + 6 * (counts >> 2 & ONES)


@kernel
def _filled(hand, k):
    """In how many of every rank, if the Phoenix is one of them."""
    if hand & PHOENIX == 0:
        return PASS
    return ONES & ~MAH_JONG if k == 1 else counts_of(hand & ~SPECIAL)


@kernel
@inlined
def _nth_run(hand, k, length, height, number):
    """First the rank of the Phoenix, if it is one of those with it; then the cards of every rank."""
    start, n, whole, helped, number = _find_run(hand, k, length, height, number)
    play, wild = PASS, np.int64(-1)
    if number >= whole:
        number -= whole
        ways, filled = _ways(hand, k), _filled(hand, k)
        wild = start - 4
        here = PASS
        while number >= here:
            number -= here
            wild += 4
            w = ways >> wild & _RANK
            # Of a rank that cannot do without the Phoenix there is only one.
            here = helped if w == 0 else _divided(whole, w) * (filled >> wild & _RANK)
        play = PHOENIX | _standing_for(wild)
    cards, ranks = hand & ~(SPECIAL & ~MAH_JONG), _in_a_row(start, n)
    while ranks != 0:
        place = lowest(ranks)
        ranks &= ranks - 1
        suits, taken = cards >> place & _RANK, k - np.int64(place == wild)
        rest = _divided(number, WAYS[taken, suits])
        play |= SUBSETS[taken, suits, number - rest * WAYS[taken, suits]] << place
        number = rest
    return play


@kernel
def _in_a_row(card, n):
    """A card and those of the same suit in the n − 1 ranks above it."""
    return (ONES & (_ONE << 4 * n) - 1) << card


# --- bombs -----------------------------------------------------------------------------------------


@kernel
@inlined
def _find_flush(hand, kind, length, height, number):
    """Flushes that beat what lies on the table, but for those that beat it as straights."""
    cards = hand & ~SPECIAL
    flushes = cards & cards >> 4 & cards >> 8 & cards >> 12 & cards >> 16  # where one starts, all suits
    n_cards = np.int64(5)
    while flushes != 0:
        fitting = flushes
        if n_cards == length and kind in (BOMB, STRAIGHT):
            higher = -_start_above(length, height)
            fitting &= higher if kind == BOMB else ~higher
        elif kind == BOMB and n_cards < length:
            fitting = PASS
        n = size(fitting)
        if number < n:
            return nth(fitting, number), n_cards, number
        number -= n
        flushes &= cards >> 4 * n_cards
        n_cards += 1
    return PASS, n_cards, number
