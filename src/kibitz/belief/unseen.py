"""Deal the unseen cards uniformly at random over all ways that agree with what is known.

A trick game knows of every hidden hand how many cards it holds and which cards it cannot hold (a
suit that it did not follow). Cards that nobody gets stay out of play. Every way to deal must be
equally likely, and that is done by counting, not by trying: seats that cannot hold some card come
first, and a seat takes each number of cards of each kind as often as the others have ways to deal
the rest; whoever may hold anything then draws from what is left.

- Seats that cannot hold the same cards form a **group**, which draws as one and shares afterwards.
- Cards that the same groups may hold form a **class**; only their number matters for counting.
- One group: any of its cards, equally likely. The last of several groups: the same. The one before
  it: how many of its cards could have been the last one's too decides. Groups before these try all
  ways to take from the classes, each weighted with the ways that remain; the weights of the first
  group are listed once a decision, those of the groups between are kept in a table.

`prepare` counts once a decision, `deal` then deals one world after the other: some nanoseconds a
card. Numbers of ways are floating-point numbers, so "equally likely" holds to fifteen digits.

A game that uses this has two methods: `blanks(view, seat)`, how many cards of a hand are not known,
and `barred(view, seat)`, the cards that are known not to be among them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kibitz.bits import lowest, random_subset, size
from kibitz.errors import Unsupported
from kibitz.kernel import kernel
from kibitz.rng import uniform

HOLDERS = 8
CLASSES = 10  # at most as many as suits
_WAYS = 1 << 13  # of the first group, which is the smallest
_TABLE = 1 << 18  # for five seats and more, see tests/test_unseen.py

PLAN = np.dtype(
    [
        ("unseen", "i8"),
        ("need", "i8", (HOLDERS,)),  # cards that each holder gets
        ("group_of", "i8", (HOLDERS,)),  # −1: may hold anything
        ("groups", "i8"),
        ("may_hold", "i8", (HOLDERS,)),  # of each group
        ("wanted", "i8", (HOLDERS,)),
        ("classes", "i8"),
        ("cards", "i8", (CLASSES,)),  # the cards of each class
        ("takers", "i8", (CLASSES,)),  # the groups that may hold them, a mask
        ("weight", "i8", (CLASSES,)),  # of a class's number in the index of the table
        ("numbers", "i8", (CLASSES,)),  # the cards of each class that are left, while counting
        ("taken", "i8", (CLASSES,)),
        ("ways", "i8"),
        ("cumulated", "f8", (_WAYS,)),  # of the first group's ways to take, one after the other
        ("packed", "i8", (_WAYS,)),  # six bits a class
        ("table", "f8", (_TABLE,)),
    ],
    align=True,
)

_WAYS_OF_FOUR = 1 << 10  # four seats and suits: three groups, of which the first takes at most 13 cards


def has_few_groups(game: Any) -> bool:
    """Whether three groups are the most: with four seats and suits."""
    return game.plan is not PLAN or (game.seats <= 4 and getattr(game, "suits", 4) <= 4)


def plan_for_lanes(game: Any) -> np.dtype[Any]:
    """A plan of kilobytes, for many decisions at once: what three groups need; else `Unsupported`."""
    if game.plan is not PLAN:
        return game.plan
    if not has_few_groups(game):
        raise Unsupported(
            f"{type(game).__name__} with more than four seats or suits is not sampled by lanes; take "
            f"device=cpu"
        )
    smaller = {"cumulated": (_WAYS_OF_FOUR,), "packed": (_WAYS_OF_FOUR,), "table": (1,)}
    fields = [(name, PLAN[name].base, smaller.get(name, PLAN[name].shape)) for name in PLAN.names]
    return np.dtype(fields, align=True)


BINOMIAL = np.array([[float(math.comb(n, k)) for k in range(65)] for n in range(65)])

_ONE = np.int64(1)


@kernel
def prepare(plan, game, view, unseen):
    """Count once for all worlds of a view in which the `unseen` cards lie under the blanks."""
    plan.unseen = unseen
    plan.groups = 0
    for h in range(game.seats):
        plan.need[h] = game.blanks(view, h)
        plan.group_of[h] = -1
    for h in range(game.seats):
        barred = game.barred(view, h) & unseen
        if plan.need[h] > 0 and barred != 0:
            join_group(plan, h, unseen & ~barred)
    plan.ways = 0
    if plan.groups >= 3:
        smallest_first(plan, game.seats)
        sort_into_classes(plan)
        fill_tables(plan)
        list_ways(plan)


@kernel
def join_group(plan, holder, may_hold):
    """Put a holder into the group of those who may hold the same cards."""
    g = 0
    while g < plan.groups and plan.may_hold[g] != may_hold:
        g += 1
    if g == plan.groups:
        plan.groups += 1
        plan.may_hold[g] = may_hold
        plan.wanted[g] = 0
    plan.group_of[holder] = g
    plan.wanted[g] += plan.need[holder]


@kernel
def smallest_first(plan, holders):
    """Sort the groups by the cards that they want, so that few ways have to be listed."""
    for last in range(plan.groups - 1, 0, -1):
        for g in range(last):
            if plan.wanted[g] > plan.wanted[g + 1]:
                plan.wanted[g], plan.wanted[g + 1] = plan.wanted[g + 1], plan.wanted[g]
                plan.may_hold[g], plan.may_hold[g + 1] = plan.may_hold[g + 1], plan.may_hold[g]
                for h in range(holders):
                    if plan.group_of[h] == g:
                        plan.group_of[h] = g + 1
                    elif plan.group_of[h] == g + 1:
                        plan.group_of[h] = g


@kernel
def sort_into_classes(plan):
    """Split the unseen cards by who may hold them; cards that no group may hold do not matter."""
    plan.classes = 0
    left = plan.unseen
    while left != 0:
        card = left & -left
        cards, takers = left, 0
        for g in range(plan.groups):
            if plan.may_hold[g] & card != 0:
                takers |= 1 << g
                cards &= plan.may_hold[g]
            else:
                cards &= ~plan.may_hold[g]
        left &= ~cards
        if takers != 0:
            plan.cards[plan.classes] = cards
            plan.takers[plan.classes] = takers
            plan.classes += 1
    weight = 1
    for c in range(plan.classes):
        plan.weight[c] = weight
        weight *= size(plan.cards[c]) + 1


@kernel
def table_size(plan):
    """The entries of one group's table: all numbers of cards of all classes."""
    last = plan.classes - 1
    return plan.weight[last] * (size(plan.cards[last]) + 1)


@kernel
def ways_of_last_two(plan):
    """In how many ways the last two groups can take from the `numbers` of cards that are left.

    Only how many cards the one before last takes that the last could hold too matters.
    """
    first, last = plan.groups - 2, plan.groups - 1
    only, both, of_last = 0, 0, 0
    for c in range(plan.classes):
        n = plan.numbers[c]
        mine, yours = (plan.takers[c] >> first) & 1, (plan.takers[c] >> last) & 1
        only += n * mine * (1 - yours)
        both += n * mine * yours
        of_last += n * yours
    return ways_of_two(only, both, of_last, plan.wanted[first], plan.wanted[last])


@kernel
def ways_of_two(only, both, of_last, first_wants, last_wants):
    """The same, by the numbers of cards that one of the two, or both, may hold."""
    total = 0.0
    for k in range(max(0, first_wants - only), min(both, first_wants) + 1):
        total += (
            BINOMIAL[both, k] * BINOMIAL[only, first_wants - k] * BINOMIAL[max(0, of_last - k), last_wants]
        )
    return total


@kernel
def ways_after(plan, group):
    """In how many ways the groups after `group` can take from the `numbers` that are left."""
    if group + 1 == plan.groups - 2:
        return ways_of_last_two(plan)
    entry = group * table_size(plan)
    for c in range(plan.classes):
        entry += plan.weight[c] * plan.numbers[c]
    return plan.table[entry]


@kernel
def first_take(plan, group):
    """Begin with the first way for a group to take from the classes; whether there is one."""
    for c in range(plan.classes):
        plan.taken[c] = 0
    return fill_up(plan, group, 0, plan.wanted[group])


@kernel
def fill_up(plan, group, start, wanted):
    """Take `wanted` cards from the classes `start` … as early as possible; whether there are so many."""
    for c in range(start, plan.classes):
        if (plan.takers[c] >> group) & 1:
            plan.taken[c] = min(wanted, plan.numbers[c])
            wanted -= plan.taken[c]
    return wanted == 0


@kernel
def next_take(plan, group):
    """Go on to the group's next way to take; False after the last one."""
    behind, room = 0, 0  # taken and left in the classes behind the one to take less from
    for c in range(plan.classes - 1, -1, -1):
        if not (plan.takers[c] >> group) & 1:
            continue
        if plan.taken[c] > 0 and behind + 1 <= room:
            plan.taken[c] -= 1
            return fill_up(plan, group, c + 1, behind + 1)
        behind += plan.taken[c]
        room += plan.numbers[c]
    return False


@kernel
def weight_of_take(plan, group):
    """The ways to pick these cards, times the ways that the later groups have then."""
    weight = 1.0
    for c in range(plan.classes):
        weight *= BINOMIAL[plan.numbers[c], plan.taken[c]]
        plan.numbers[c] -= plan.taken[c]
    weight *= ways_after(plan, group)
    for c in range(plan.classes):
        plan.numbers[c] += plan.taken[c]
    return weight


@kernel
def fill_tables(plan):
    """For the groups between the first and the last two: the ways from every number of cards left."""
    entries = table_size(plan)
    in_classes = 0
    for c in range(plan.classes):
        in_classes += size(plan.cards[c])
    for group in range(plan.groups - 3, 0, -1):
        left = in_classes
        for g in range(group):
            left -= plan.wanted[g]
        for entry in range(entries):
            total = 0
            for c in range(plan.classes):
                plan.numbers[c] = entry // plan.weight[c] % (size(plan.cards[c]) + 1)
                total += plan.numbers[c]
            if total != left:  # cannot come about
                continue
            ways = 0.0
            more = first_take(plan, group)
            while more:
                ways += weight_of_take(plan, group)
                more = next_take(plan, group)
            plan.table[(group - 1) * entries + entry] = ways


@kernel
def pack(plan):
    """What is `taken` of each class, six bits a class."""
    packed = np.int64(0)
    for c in range(plan.classes):
        packed |= np.int64(plan.taken[c]) << (6 * c)
    return packed


@kernel
def list_ways(plan):
    """Write down the first group's ways to take with their cumulated weights."""
    for c in range(plan.classes):
        plan.numbers[c] = size(plan.cards[c])
    total = 0.0
    more = first_take(plan, 0)
    while more:
        total += weight_of_take(plan, 0)
        plan.cumulated[plan.ways] = total
        plan.packed[plan.ways] = pack(plan)
        plan.ways += 1
        more = next_take(plan, 0)


@kernel
def deal(plan, hands, holders, rng):
    """Deal one world: every holder's cards are added to `hands`."""
    left = plan.unseen
    for group in range(plan.groups):
        cards = take(plan, group, left, rng)
        left &= ~cards
        share_out(plan, hands, holders, group, cards, rng)
    share_out(plan, hands, holders, -1, left, rng)


@kernel
def share_out(plan, hands, holders, group, cards, rng):
    """Split the cards of a group among its seats; −1: those who may hold anything."""
    for h in range(holders):
        if plan.group_of[h] == group and plan.need[h] > 0:
            own = random_subset(rng, cards, plan.need[h])
            hands[h] |= own
            cards &= ~own


@kernel
def take(plan, group, left, rng):
    """The cards that a group gets of those that are left."""
    mine, wanted = plan.may_hold[group] & left, plan.wanted[group]
    if group == plan.groups - 1:
        return random_subset(rng, mine, wanted)
    if group == plan.groups - 2:
        other = plan.may_hold[group + 1] & left
        both = mine & other
        k = take_of_both(size(mine & ~other), size(both), size(other), wanted, plan.wanted[group + 1], rng)
        return random_subset(rng, both, k) | random_subset(rng, mine & ~other, wanted - k)
    way = choose_listed(plan, rng) if group == 0 else choose_way(plan, group, left, rng)
    cards = np.int64(0)
    for c in range(plan.classes):
        k = (way >> (6 * c)) & 63
        if k > 0:
            cards |= random_subset(rng, plan.cards[c] & left, k)
    return cards


@kernel
def take_of_both(only, both, of_last, first_wants, last_wants, rng):
    """How many cards the group before last takes of those that the last could hold too."""
    low, high = max(0, first_wants - only), min(both, first_wants)
    if low >= high:
        return high
    chance = uniform(rng) * ways_of_two(only, both, of_last, first_wants, last_wants)
    for k in range(low, high):
        chance -= (
            BINOMIAL[both, k] * BINOMIAL[only, first_wants - k] * BINOMIAL[max(0, of_last - k), last_wants]
        )
        if chance < 0.0:
            return k
    return high


@kernel
def choose_listed(plan, rng):
    """One of the listed ways of the first group, by its weight; the plan is only read."""
    chance = uniform(rng) * plan.cumulated[plan.ways - 1]
    low, high = 0, plan.ways - 1
    while low < high:
        middle = (low + high) >> 1
        if plan.cumulated[middle] > chance:
            high = middle
        else:
            low = middle + 1
    return plan.packed[low]


@kernel
def choose_way(plan, group, left, rng):
    """One of a middle group's ways to take, by its weight; it is worked out within the plan."""
    for c in range(plan.classes):
        plan.numbers[c] = size(plan.cards[c] & left)
    chance = uniform(rng) * ways_after(plan, group - 1)
    more = first_take(plan, group)
    while more:
        chance -= weight_of_take(plan, group)
        if chance < 0.0 or not next_take(plan, group):
            break
    return pack(plan)


@kernel
def is_possible(game, view, unseen):
    """Whether the unseen cards can be dealt at all (Hall 1935): any seats together may hold as many
    cards as they need. Only seats that cannot hold some card can be short of them.
    """
    wanted, constrained = 0, 0
    for h in range(game.seats):
        need = game.blanks(view, h)
        wanted += need
        if need > 0 and game.barred(view, h) & unseen != 0:
            constrained |= 1 << h
    if size(unseen) < wanted:
        return False
    chosen = constrained
    while chosen != 0:
        cards, wanted = np.int64(0), 0
        for h in range(game.seats):
            if (chosen >> h) & 1:
                cards |= unseen & ~game.barred(view, h)
                wanted += game.blanks(view, h)
        if size(cards) < wanted:
            return False
        chosen = (chosen - 1) & constrained
    return True


# --- all ways, one after the other -----------------------------------------------------------------


@kernel
def ways_to_deal(game, view, places):
    """How many ways there are to lay the unseen cards in the blanks of so many places, none barred."""
    n, ways = 0, 1
    for place in range(places):
        for i in range(game.blanks(view, place)):
            n += 1
            ways = ways * n // (i + 1)
    return ways


@kernel
def deal_way(game, view, places, unseen, number):
    """Lay the unseen cards, in order, where way `number` has them; `fill` lays one."""
    ways = ways_to_deal(game, view, places)
    n = size(unseen)
    while n > 0:
        card = lowest(unseen)
        unseen &= unseen - 1
        for place in range(places):
            here = ways * game.blanks(view, place) // n  # ways with the card in this place
            if number < here:
                game.fill(view, place, card)
                ways = here
                break
            number -= here
        n -= 1
