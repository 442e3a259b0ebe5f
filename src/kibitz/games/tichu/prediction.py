"""What the next player probably holds: the learned determinization of K. Castelein, 2017, chapter 5.

Counters tell how often the next player to play could beat what lay on the table, with any combination
that the rules allow: by the kind of combination asked for (both bombs are one kind), the number of the
move that was just made (the first 90) and the seat of the next player. They are learned from finished
rounds. When the unseen cards are dealt for a move, the next player is given a higher combination with the
learned chance, one of those that the unseen cards can still make, each as likely as any other; the rest
is dealt at random, which may give him one too.

"Each as likely" counts plays as the rules do: cards are told apart, and so is what the Phoenix stands for.
There may be millions of them. Straights, stairs and full houses are therefore not listed but counted by
their shape: the ranks and what the Phoenix stands for.
"""

from __future__ import annotations

import numpy as np

from kibitz.belief import unseen
from kibitz.bits import random_subset, size
from kibitz.games.tichu.combinations import (
    ACE,
    DECK,
    DOG,
    FULL_HOUSE,
    MAH_JONG,
    NOTHING,
    PASS,
    PHOENIX,
    STAIRS,
    STRAIGHT,
    WAYS,
    cards_of,
    height_of,
    is_flush,
    kind_of,
    list_answers,
    list_bombs,
    of_rank,
    rank_mask,
)
from kibitz.games.tichu.round import next_to_play, partner
from kibitz.kernel import kernel
from kibitz.rng import below, uniform

KINDS, TURNS = 7, 90
SITUATIONS = KINDS * TURNS * 4
_TRIES = 50  # to draw a combination with cards that are known, where no other has room


@kernel
def situation(kind, turn, seat):
    """The number of the counters for `seat`, who is to beat a kind of combination after move `turn`."""
    return ((kind - 1) * TURNS + turn) * 4 + seat


@kernel
def lesson(state, seat, moves):
    """What a position teaches: twice its situation, plus 1 if `seat`, who is next, can beat the table.

    −1: nothing, for there is nothing to beat, or too many moves have been made.
    """
    turn, kind = np.int64(state.ply) - 1, np.int64(state.kind)
    if kind == NOTHING or turn >= TURNS:
        return -1
    length, height = np.int64(state.length), np.int64(state.height)
    can_beat = list_answers(state.hands[seat], kind, length, height, moves, 0) > 0
    return 2 * situation(kind, turn, seat) + np.int64(can_beat)


@kernel
def predict(game, view, seat, move, chances, moves, rng):
    """With the learned chance, give a higher combination to whoever follows `seat`'s move."""
    turn = np.int64(view.ply)
    if turn >= TURNS or move == DOG:
        return
    kind, length, height = np.int64(view.kind), np.int64(view.length), np.int64(view.height)
    if move == PASS:
        other = next_to_play(view, seat)
        if other == view.last:  # the trick is taken
            return
    else:
        length = size(cards_of(move))
        if view.left[seat] == length and view.finished[partner(seat)] != 0:  # the round is over
            return
        kind, height = kind_of(move), height_of(move, height, game.phoenix_led)
        other = (seat + 1) & 3
        while view.left[other] == 0:
            other = (other + 1) & 3
    if uniform(rng) < chances[situation(kind, turn, other)]:
        give_higher(game, view, other, kind, length, height, moves, rng)


@kernel
def give_higher(game, view, seat, kind, length, height, moves, rng):
    """Give a seat one of the combinations that beat the trick and can be in its hand, if there is one."""
    known, seen = view.hands[seat], view.played
    for other in range(4):
        seen |= view.hands[other]
    pool = DECK & ~seen & ~game.barred(view, seat) | known
    room = game.blanks(view, seat)
    for _ in range(1 if length <= room else _TRIES):
        cards = draw_higher(pool, known, room, kind, length, height, moves, rng)
        if size(cards & ~known) <= room:
            view.hands[seat] |= cards
            break
    if not unseen.is_possible(game, view, DECK & ~seen & ~view.hands[seat]):  # the others need these cards
        view.hands[seat] = known


@kernel
def draw_higher(pool, known, room, kind, length, height, moves, rng):
    """The cards of a random play of the pool that beats the trick, all plays equally likely; 0 if none does.

    A play has room for so many cards that are not known. Only those listed are held to it.
    """
    is_counted = kind in (FULL_HOUSE, STAIRS, STRAIGHT)
    if is_counted:
        n = list_bombs(pool, 0, 0, moves, 0)
    else:
        n = list_answers(pool, kind, length, height, moves, 0)
    total, chosen = 0, np.int64(0)
    for i in range(n):
        if size(cards_of(moves[i]) & ~known) <= room:
            moves[total] = moves[i]
            total += 1
    if total > 0:
        chosen = cards_of(moves[below(rng, total)])
    if is_counted and length <= room + size(known):
        if kind == FULL_HOUSE:
            return draw_full_house(pool, height, total, chosen, rng)
        k = 2 if kind == STAIRS else 1
        return draw_run(pool, k, length // k, height, total, chosen, rng)
    return chosen


@kernel
def draw_run(pool, k, ranks, height, total, chosen, rng):
    """Stairs (k = 2) or a straight (1) of so many ranks above a height, or what was chosen before."""
    has_phoenix = pool & PHOENIX != 0
    best, stands_for = 0, 0
    for start in range(max(k, height // 2 - ranks + 2), ACE - ranks + 2):
        for wild in range(start - 1, start + ranks if has_phoenix else start):  # start − 1: without it
            if wild == 1 and start == 1:  # the Phoenix is no Mah Jong
                continue
            ways = ways_of_run(pool, k, start, ranks, wild)
            total += ways
            if ways > 0 and below(rng, total) < ways:
                best, stands_for = start, wild
    if best == 0:
        return chosen
    while True:
        cards = PHOENIX if stands_for >= best else np.int64(0)
        for rank in range(best, best + ranks):
            of_this = pool & (MAH_JONG if rank == 1 else rank_mask(rank))
            cards |= random_subset(rng, of_this, k - np.int64(rank == stands_for))
        if k == 2 or not is_flush(cards):
            return cards


@kernel
def ways_of_run(pool, k, start, ranks, wild):
    """In how many ways a pool has k cards of every rank, the Phoenix for one of rank `wild`.

    Straights of one suit are bombs and do not count.
    """
    ways, suits = 1, np.int64(15 if k == 1 and start > 1 and wild < start else 0)
    for rank in range(start, start + ranks):
        cards = of_rank(pool, rank)
        ways *= WAYS[k - np.int64(rank == wild), cards]
        suits &= cards
    return ways - size(suits)


@kernel
def draw_full_house(pool, height, total, chosen, rng):
    """A full house above a height, or what was chosen before, of `total` plays."""
    readings = 3 if pool & PHOENIX != 0 else 1
    best_three, best_pair, best_reading = 0, 0, 0
    for three in range(max(2, height // 2 + 1), ACE + 1):
        for pair in range(2, ACE + 1):
            if pair == three:
                continue
            for reading in range(readings):  # no Phoenix; one in the three; one in the pair
                ways = WAYS[3 - np.int64(reading == 1), of_rank(pool, three)]
                ways *= WAYS[2 - np.int64(reading == 2), of_rank(pool, pair)]
                total += ways
                if ways > 0 and below(rng, total) < ways:
                    best_three, best_pair, best_reading = three, pair, reading
    if best_three == 0:
        return chosen
    cards = random_subset(rng, pool & rank_mask(best_three), 3 - np.int64(best_reading == 1))
    cards |= random_subset(rng, pool & rank_mask(best_pair), 2 - np.int64(best_reading == 2))
    return cards | PHOENIX if best_reading > 0 else cards
