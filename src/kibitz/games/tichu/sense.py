"""Rules of thumb for the play of cards in Tichu, from nothing but what the mover sees.

A hand is laid out as the combinations that it would be played in. Each of them is a burden, for it needs
a lead or a trick that it fits on; one that nobody can beat is none, for it keeps the lead or takes it
back. A play is worth what it takes off the burden of the hand, and what the trick brings if it holds.
They are quick, for they are the playout policy too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.bits import lowest, size
from kibitz.games.tichu.combinations import (
    ACE,
    BOMB,
    DECK,
    DOG,
    DRAGON,
    FIVE_IN_A_ROW,
    FULL_HOUSE,
    HIGHEST,
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
    THREE_SUITS,
    TWO_SUITS,
    cards_of,
    counts_of,
    height_of,
    kind_of,
    list_bombs,
    occupied,
    of_rank,
    points,
)
from kibitz.games.tichu.round import partner
from kibitz.kernel import kernel

_ONE = np.int64(1)

# A hand that is laid out stands at the end of the buffer of plays, which the longest list does not reach.
_LAID, _KINDS, _HEIGHTS = 2512, 2528, 2544


class Weights(NamedTuple):
    """What things are worth, in combinations that one is rid of."""

    single: float
    pair: float
    stairs: float
    three: float
    full_house: float
    straight: float
    bomb: float
    """The burden of a combination that is sure to be beaten, by kind; of a bomb as it is."""
    single_held: float
    pair_held: float
    stairs_held: float
    three_held: float
    full_house_held: float
    straight_held: float
    """What comes off that for one that is sure to hold."""
    single_above: float
    pair_above: float
    stairs_above: float
    three_above: float
    straight_above: float
    """How much each higher one among the unseen cards counts against it."""
    dog: float
    phoenix: float
    """The burdens of these two."""
    lead: float
    last_lead: float
    near: float
    """A trick taken, one after which the rest goes out at once, and divided by what is left to lead."""
    card_points: float
    """A point in a trick taken, or lost."""
    threat: float
    """A trick taken from or by an opponent who is about to go out, divided by the cards that he has."""
    fits: float
    """A lead that an opponent could go out on, if it does not hold."""
    helps: float
    """A lead that the partner could go out on."""
    dog_helps: float
    """The Dog, if the partner has cards; more the fewer they are."""
    overtake: float
    overtake_sure: float
    """To beat the partner's play, and one that would hold."""
    spend: float
    """Any play that beats another, against passing."""


IN_PLAY = Weights(
    *(0.8, 1.109, 1.561, 1.238, 0.291, 1.069, -0.845),
    *(1.313, 1.654, 1.64, 1.352, 0.419, 0.806),
    *(0.506, 0.558, 0.263, 0.382, 0.701),
    *(1.342, -0.175),
    *(-0.602, 2.701, 0.658, 0.0177, 1.017, 0.348, 0.426, 0.093),
    *(0.63, 1.741, -0.643),
)
"""Found by an evolution strategy (CMA-ES) as those that win the most rounds of Mini-Tichu, and by the most
points, against earlier ones of their kind, erratic ones, and players at random."""

_MARGIN = 1.5
"""How much worse than the best a play may be that a search should consider."""
_ROOM, _STEPS, _SURE = 1250, 1000.0, 100.0
"""What plays are worth is noted behind them, in whole numbers."""


class Others(NamedTuple):
    """What the mover knows of the cards that it does not see."""

    outstanding: int
    ranks: int
    pairs: int
    threes: int
    """One bit for every rank of which there are one, two or three, four bits apart; the Phoenix helps."""
    left: int
    right: int
    """How many cards the opponents have."""
    each: float
    """The share of the unseen cards that one card of theirs is."""


# --- sets of cards ---------------------------------------------------------------------------------

# _LOWEST[k, cards of a rank]: the first k of them.
_LOWEST = np.zeros((5, 16), np.int64)
for _cards in range(16):
    for _k in range(5):
        _LOWEST[_k, _cards] = sum([1 << suit for suit in range(4) if _cards >> suit & 1][:_k])


@kernel
def natural_counts(cards):
    """In the four bits of every rank how many cards of it there are; special cards are not counted."""
    return counts_of(cards & ~SPECIAL)


@kernel
def alone(counts):
    """The ranks of one card."""
    return counts & ~(counts >> 1) & ONES


@kernel
def twos(counts):
    """The ranks of exactly two cards."""
    return ~counts & (counts >> 1) & ONES


@kernel
def threes(counts):
    """The ranks of exactly three cards."""
    return counts & (counts >> 1) & ONES


@kernel
def fours(counts):
    """The ranks of four cards."""
    return (counts >> 2) & ONES


@kernel
def in_a_row(ranks, n):
    """The ranks from which on there are n in a row, or cards from which on there are so many of a suit."""
    starts = ranks
    for _ in range(n - 1):
        ranks >>= 4
        starts &= ranks
    return starts


@kernel
def in_flushes(hand):
    """The cards of all straights of one suit, which are bombs."""
    starts = in_a_row(hand & ~SPECIAL, 5)
    return starts | starts << 4 | starts << 8 | starts << 12 | starts << 16


@kernel
def one_of_each(cards):
    """The first card of every rank."""
    return cards & ~((cards & THREE_SUITS) << 1 | (cards & TWO_SUITS) << 2 | (cards & ONES) << 3)


@kernel
def between(start, end):
    """All cards from rank `start` on and below rank `end`."""
    return (_ONE << np.int64(4 * (end - 1))) - (_ONE << np.int64(4 * (start - 1)))


@kernel
def lowest_rank(ranks):
    """The lowest of some ranks."""
    return lowest(ranks) // 4 + 1


@kernel
def first_cards(hand, flushes, rank, k):
    """So many cards of a rank, those of straight flushes last."""
    spare = of_rank(hand & ~flushes, rank)
    suits = spare if size(spare) >= k else of_rank(hand, rank)
    return _LOWEST[k, suits] << np.int64(4 * (rank - 1))


@kernel
def with_phoenix(cards, rank):
    """A play in which the Phoenix stands for a rank."""
    return cards | PHOENIX | np.int64(rank) << STANDS_FOR


# --- a hand, laid out ------------------------------------------------------------------------------


@kernel
def lay(plays, n, play, kind, height):
    """Note combination n of a hand; the number of combinations so far."""
    plays[_LAID + n], plays[_KINDS + n], plays[_HEIGHTS + n] = play, kind, height
    return n + 1


@kernel
def lay_out(hand, plays):
    """Lay a hand out as few combinations, greedily; how many."""
    n = 0
    if in_a_row(hand & ~SPECIAL, 5) != 0:
        hand, n = lay_flushes(hand, plays)
    ranks = fours(natural_counts(hand))
    while ranks != 0:
        cards = (ranks & -ranks) * 15
        n = lay(plays, n, cards, BOMB, 2 * lowest_rank(ranks))
        hand &= ~cards
        ranks &= ranks - 1
    hand, n = lay_straights(hand, plays, n)
    if hand & PHOENIX != 0:
        hand, n = lay_straight_with_phoenix(hand, plays, n)
    n = lay_sets(natural_counts(hand), hand, plays, n)
    special = hand & SPECIAL
    while special != 0:
        card = special & -special
        height = 2 if card == MAH_JONG else HIGHEST if card == DRAGON else 0
        n = lay(plays, n, card, SINGLE, height)
        special &= special - 1
    return n


@kernel
def lay_flushes(hand, plays):
    """Straights of one suit, each as long as it is."""
    n = 0
    starts = in_a_row(hand & ~SPECIAL, 5)
    while starts != 0:
        card = starts & -starts
        cards = np.int64(0)
        while hand & ~SPECIAL & card != 0:
            cards |= card
            card <<= 4
        hand &= ~cards
        n = lay(plays, n, cards, BOMB, 2 * (lowest(card) // 4))
        starts = in_a_row(hand & ~SPECIAL, 5)
    return hand, n


@kernel
def lay_straights(hand, plays, n):
    """Straights, without the cards at their ends that have company, if they are long enough even so."""
    starts = in_a_row(occupied(hand), 5)
    while starts != 0:
        ranks = occupied(hand)
        singles = alone(natural_counts(hand)) | hand & MAH_JONG
        start = lowest_rank(starts)
        end = start + 5
        while (ranks >> np.int64(4 * (end - 1))) & 1 != 0:
            end += 1
        beyond = end
        while end - start > 5 and (singles >> np.int64(4 * (start - 1))) & 1 == 0:
            start += 1
        while end - start > 5 and (singles >> np.int64(4 * (end - 2))) & 1 == 0:
            end -= 1
        row = between(start, end)
        if size(singles & row) >= 3:
            cards = one_of_each(hand & ~SPECIAL & row | hand & MAH_JONG & row)
            n = lay(plays, n, cards, STRAIGHT, 2 * (end - 1))
            hand &= ~cards
            starts = in_a_row(occupied(hand), 5)
        else:
            starts &= ~between(1, beyond)
    return hand, n


@kernel
def lay_straight_with_phoenix(hand, plays, n):
    """The lowest straight that takes four single cards along with the Phoenix."""
    singles = alone(natural_counts(hand)) | hand & MAH_JONG
    for start in range(1, ACE - 3):
        row = FIVE_IN_A_ROW << np.int64(4 * (start - 1))
        if size(singles & row) < 4:
            continue
        gap = lowest_rank(row & ~singles)
        if gap == start and start + 5 <= ACE:
            continue  # at the upper end it is worth more
        end = start + 5
        while end <= ACE and (singles >> np.int64(4 * (end - 1))) & 1 != 0:
            end += 1
        cards = hand & ~SPECIAL & between(start, end) | hand & MAH_JONG & between(start, end)
        n = lay(plays, n, with_phoenix(cards, gap), STRAIGHT, 2 * (end - 1))
        return hand & ~(cards | PHOENIX), n
    return hand, n


@kernel
def lay_sets(counts, hand, plays, n):
    """Stairs of pairs in a row; full houses of a three and the lowest pair; what is left."""
    pairs = twos(counts)
    starts = in_a_row(pairs, 2)
    while starts != 0:
        start = lowest_rank(starts)
        end = start + 2
        while (pairs >> np.int64(4 * (end - 1))) & 1 != 0:
            end += 1
        row = between(start, end)
        n = lay(plays, n, hand & row, STAIRS, 2 * (end - 1))
        pairs &= ~row
        starts &= ~row
    three = threes(counts)
    while three != 0:
        cards = hand & (three & -three) * 15
        height = 2 * lowest_rank(three)
        if pairs != 0 and lowest_rank(pairs) < ACE:
            n = lay(plays, n, cards | hand & (pairs & -pairs) * 15, FULL_HOUSE, height)
            pairs &= pairs - 1
        else:
            n = lay(plays, n, cards, THREE, height)
        three &= three - 1
    while pairs != 0:
        n = lay(plays, n, hand & (pairs & -pairs) * 15, PAIR, 2 * lowest_rank(pairs))
        pairs &= pairs - 1
    single = alone(counts)
    while single != 0:
        n = lay(plays, n, hand & (single & -single) * 15, SINGLE, 2 * lowest_rank(single))
        single &= single - 1
    return n


@kernel
def as_one_play(hand):
    """The highest combination that all cards of a hand make, or PASS."""
    n, wild = size(hand), hand & PHOENIX != 0
    if n == 1:
        return hand
    if hand & (DOG | DRAGON) != 0:
        return PASS
    counts, ranks = natural_counts(hand), occupied(hand)
    different, low = size(ranks), lowest_rank(ranks)
    high = low
    while ranks >> np.int64(4 * high) != 0:
        high += 1
    natural, span = n - np.int64(wild), high - low + 1
    if different == natural and different > 1:
        if n < 5 or span > n:
            return PASS
        if not wild:
            return hand
        if span == n:
            return with_phoenix(hand, lowest_rank(between(low, high) & ONES & ~ranks))
        return with_phoenix(hand, high + 1 if high < ACE else low - 1)
    if hand & MAH_JONG != 0:
        return PASS
    missing = alone(counts)
    if different == 1:
        if wild:
            return with_phoenix(hand, high) if n < 4 else PASS
        return hand
    if n == 2 * different and span == different and size(twos(counts)) + np.int64(wild) == different:
        return with_phoenix(hand, lowest_rank(missing)) if wild else hand
    if n == 5 and different == 2:
        if wild:
            return with_phoenix(hand, lowest_rank(missing) if missing != 0 else high)
        return hand if threes(counts) != 0 else PASS
    return PASS


# --- what combinations are worth -------------------------------------------------------------------


@kernel
def others_with(unseen, left, right):
    """What there is to know of others who have the unseen cards, so many of them each opponent."""
    counts = natural_counts(unseen)
    one = counts | counts >> 1 | counts >> 2
    two = counts >> 1 | counts >> 2
    three = counts & (counts >> 1) | counts >> 2
    if unseen & PHOENIX != 0:
        two, three = one, two
    each = 1.0 / max(1, size(unseen))
    return Others(unseen, one & ONES, two & ONES, three & ONES, left, right, each)


@kernel
def others_of(state):
    """What the mover knows of the others."""
    seat = np.int64(state.turn)
    left, right = np.int64(state.left[(seat + 1) & 3]), np.int64(state.left[(seat + 3) & 3])
    return others_with(DECK & ~(state.played | state.hands[seat]), left, right)


@kernel
def chance_to_hold(weights, others, kind, length, height):
    """How likely no opponent beats a combination, as far as the unseen cards tell."""
    if kind == BOMB:
        return 1.0
    theirs = others.left if others.left >= length else 0
    theirs += others.right if others.right >= length else 0
    rank = height >> 1
    shift = np.int64(4 * rank)
    if kind == SINGLE:
        if height == HIGHEST:
            return 1.0
        above = weights.single_above * (
            size((others.outstanding & ~SPECIAL) >> shift) + size(others.outstanding & (PHOENIX | DRAGON))
        )
    elif kind == PAIR:
        above = weights.pair_above * size(others.pairs >> shift)
    elif kind == STRAIGHT:
        starts = in_a_row(others.ranks, length)
        above = weights.straight_above * size(starts >> np.int64(4 * max(0, rank - length + 1)))
    elif kind == STAIRS:
        starts = in_a_row(others.pairs, length >> 1)
        above = weights.stairs_above * size(starts >> np.int64(4 * (rank - (length >> 1) + 1)))
    else:
        above = weights.three_above * size(others.threes >> shift)
    return 1.0 / (1.0 + above * theirs * others.each)


@kernel
def burden_of(weights, others, play, kind, height):
    """The burden of one combination."""
    if kind == BOMB:
        return weights.bomb
    if play == DOG:
        return weights.dog
    if play == PHOENIX:
        return weights.phoenix
    hold = chance_to_hold(weights, others, kind, size(cards_of(play)), height)
    if kind == SINGLE:
        return weights.single - weights.single_held * hold
    if kind == PAIR:
        return weights.pair - weights.pair_held * hold
    if kind == STAIRS:
        return weights.stairs - weights.stairs_held * hold
    if kind == THREE:
        return weights.three - weights.three_held * hold
    if kind == FULL_HOUSE:
        return weights.full_house - weights.full_house_held * hold
    return weights.straight - weights.straight_held * hold


@kernel
def burden(weights, others, plays, n):
    """The burden of a hand that is laid out as n combinations."""
    total = 0.0
    for i in range(n):
        kind, height = plays[_KINDS + i], plays[_HEIGHTS + i]
        total += burden_of(weights, others, plays[_LAID + i], kind, height)
    return total


@kernel
def hand_burden(hand, plays):
    """The burden of a hand before the first trick: the less, the likelier it goes out first."""
    others = others_with(DECK & ~hand, 14, 14)
    return burden(IN_PLAY, others, plays, lay_out(hand, plays))


@kernel
def worth(weights, state, others, play, plays):
    """What a play is worth to the mover, a pass too; more than anything if it goes out."""
    seat = np.int64(state.turn)
    cards = cards_of(play)
    rest = state.hands[seat] & ~cards
    if rest == 0:
        return math.inf
    n = lay_out(rest, plays)
    total = -burden(weights, others, plays, n)
    if play == PASS:
        return total
    friend = np.int64(state.left[partner(seat)])
    if play == DOG:
        return total + (weights.dog_helps * (1.0 + 3.0 / friend) if friend > 0 else -weights.lead)
    length = size(cards)
    kind, height = kind_of(play), height_of(play, np.int64(state.height), 1)
    hold = chance_to_hold(weights, others, kind, length, height)
    fewest = min(others.left, others.right)
    if fewest == 0:
        fewest = max(others.left, others.right)
    gain = weights.lead + weights.near / n + weights.card_points * state.pile + weights.threat / fewest
    if n == 1:
        gain += weights.last_lead
    total += hold * gain + (2.0 * hold - 1.0) * weights.card_points * points(cards)
    if state.kind == NOTHING:
        if others.left == length or others.right == length:
            total -= weights.fits * (1.0 - hold)
        if friend == length:
            total += weights.helps * (1.0 - hold)
        return total
    total -= weights.spend
    if state.last == partner(seat) and friend > 0:
        kind, length, height = np.int64(state.kind), np.int64(state.length), np.int64(state.height)
        sure = chance_to_hold(weights, others, kind, length, height)
        total -= weights.overtake + weights.overtake_sure * sure
    return total


# --- choosing a play -------------------------------------------------------------------------------


@kernel
def list_some_answers(hand, kind, length, height, plays, n):
    """Of the plays that beat a trick one for every rank, without the Phoenix where that can be."""
    flushes, rank = in_flushes(hand), height >> 1
    if kind == SINGLE:
        ranks = occupied(hand) >> np.int64(4 * rank)
        while ranks != 0:
            plays[n] = first_cards(hand, flushes, rank + lowest_rank(ranks), 1)
            ranks &= ranks - 1
            n += 1
        special = hand & (PHOENIX | DRAGON) if height < HIGHEST else np.int64(0)
        while special != 0:
            plays[n] = special & -special
            special &= special - 1
            n += 1
    elif kind in (PAIR, THREE, FULL_HOUSE):
        first = n
        n = list_some_sets(hand, flushes, 2 if kind == PAIR else 3, rank, plays, n)
        if kind == FULL_HOUSE:
            n = make_full_houses(hand, flushes, plays, first, n)
    elif kind == STAIRS:
        n = list_some_runs(hand, flushes, 2, length >> 1, rank, plays, n)
    elif kind == STRAIGHT:
        n = list_some_runs(hand, flushes, 1, length, rank, plays, n)
    if flushes != 0 or fours(natural_counts(hand)) != 0:
        if kind == BOMB:
            return list_bombs(hand, length, height, plays, n)
        return list_bombs(hand, 0, 0, plays, n)
    return n


@kernel
def list_some_sets(hand, flushes, k, above, plays, n):
    """Pairs or threes, one of every rank above a rank."""
    wild = np.int64(hand & PHOENIX != 0)
    ranks = occupied(hand & ~SPECIAL) >> np.int64(4 * above)
    while ranks != 0:
        rank = above + lowest_rank(ranks)
        ranks &= ranks - 1
        have = size(of_rank(hand, rank))
        if have >= k:
            plays[n] = first_cards(hand, flushes, rank, k)
            n += 1
        elif have + wild == k:
            plays[n] = with_phoenix(first_cards(hand, flushes, rank, have), rank)
            n += 1
    return n


@kernel
def make_full_houses(hand, flushes, plays, first, n):
    """Add the lowest pair to every three, one that is not part of more if there is; those that can be."""
    kept = first
    for i in range(first, n):
        three = plays[i]
        rest = hand & ~cards_of(three)
        own = lowest_rank(occupied(cards_of(three)))
        others = ~between(own, own + 1)
        counts = natural_counts(rest & others)
        pairs = twos(counts)
        if pairs == 0:
            pairs = threes(counts) | fours(counts)
        if pairs != 0:
            rank = lowest_rank(pairs)
            plays[kept] = three | first_cards(rest, flushes, rank, 2)
            kept += 1
        elif rest & PHOENIX != 0 and counts != 0:
            rank = lowest_rank(alone(counts))
            plays[kept] = three | with_phoenix(first_cards(rest, flushes, rank, 1), rank)
            kept += 1
    return kept


@kernel
def list_some_runs(hand, flushes, k, ranks, above, plays, n):
    """Straights or stairs of so many ranks, one for every highest rank above a rank."""
    for start in range(max(k, above - ranks + 2), ACE - ranks + 2):
        play, lacking, gap = np.int64(0), np.int64(hand & PHOENIX == 0), 0
        for rank in range(start, start + ranks):
            have = min(k, size(of_rank(hand, rank)))
            if have < k:
                lacking += k - have + np.int64(rank == 1)
                gap = rank
            if lacking > 1:
                break
            play |= first_cards(hand, flushes, rank, have)
        if lacking <= 1:
            plays[n] = with_phoenix(play, gap) if gap > 0 else play
            n += 1
    return n


@kernel
def goes_out(state, hand):
    """The play that all cards of a hand make, if it can be played now, else PASS."""
    play = as_one_play(hand)
    if play == PASS or state.kind == NOTHING:
        return play
    if play == DOG:
        return PASS
    kind, height = kind_of(play), height_of(play, np.int64(state.height), 1)
    if play == PHOENIX and state.height == HIGHEST:
        return PASS
    same = kind == state.kind and size(hand) == state.length
    if kind == BOMB:
        longer = size(hand) > state.length
        return play if state.kind != BOMB or longer or (same and height > state.height) else PASS
    return play if same and height > state.height else PASS


@kernel
def play_by(weights, state, moves):
    """The play that is worth the most by some weights."""
    hand = state.hands[state.turn]
    best = goes_out(state, hand)
    if best != PASS:
        return best
    if state.kind == NOTHING:
        n = lay_out(hand, moves)
        for i in range(n):
            moves[i] = moves[_LAID + i]
    else:
        moves[0] = PASS
        kind, length, height = np.int64(state.kind), np.int64(state.length), np.int64(state.height)
        n = list_some_answers(hand, kind, length, height, moves, 1)
        if n == 1:
            return PASS
    others = others_of(state)
    best_worth = -math.inf
    for i in range(n):
        value = worth(weights, state, others, moves[i], moves)
        if value > best_worth:
            best, best_worth = moves[i], value
    return best


@kernel
def sensible_play(state, moves, rng):
    """The play that lightens the hand most and takes the tricks that matter."""
    return play_by(IN_PLAY, state, moves)


# --- plays that are as good as each other ----------------------------------------------------------


@kernel
def without_suits(hand, play):
    """A code that plays of a hand share which are equal but for suits that do not matter.

    Those of cards in straights of one suit do, for these are bombs. Of the others all that counts is how
    many of a rank are played: they are told as the first ones that there could be.
    """
    told = in_flushes(hand)
    cards = cards_of(play) & ~SPECIAL
    counts = natural_counts(cards & ~told)
    code = play & ~(cards & ~told)
    while counts != 0:
        shift = np.int64(lowest(counts) & ~3)
        suits = 15 & ~(told >> shift)
        code |= _LOWEST[(counts >> shift) & 15, suits] << shift
        counts &= ~(np.int64(15) << shift)
    return code


@kernel
def drop_alike(hand, plays, n):
    """Of n plays of a hand keep one of those that are alike; how many are kept.

    That is the one in which no other card of a rank could stand for one that comes after it.
    """
    told = in_flushes(hand) | SPECIAL
    kept = 0
    for i in range(n):
        cards = cards_of(plays[i]) & ~told
        held = hand & ~told & ~cards
        if cards & ((held & THREE_SUITS) << 1 | (held & TWO_SUITS) << 2 | (held & ONES) << 3) == 0:
            plays[kept] = plays[i]
            kept += 1
    return kept


@kernel
def promising_plays(state, moves, n):
    """Of n legal plays those that are not much worse than the sensible one; how many."""
    hand = state.hands[state.turn]
    n = drop_alike(hand, moves, n)
    if n > _ROOM:
        return n
    others = others_of(state)
    best = -math.inf
    for i in range(n):
        value = worth(IN_PLAY, state, others, moves[i], moves)
        moves[_ROOM + i] = np.int64(_STEPS * min(_SURE, value))
        best = max(best, min(_SURE, value))
    kept = 0
    for i in range(n):
        if moves[_ROOM + i] >= np.int64(_STEPS * (best - _MARGIN)):
            moves[kept] = moves[i]
            kept += 1
    return kept
