"""The unseen cards are dealt in every way that agrees with what is known, equally often."""

import math
import random
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.special import chdtrc

from kibitz.belief import unseen
from kibitz.games.diminishing_bridge.rules import NO_CARD, PLAYING, DiminishingBridge
from kibitz.kernel import entry
from kibitz.position import State
from kibitz.rng import stream

FOUR = DiminishingBridge(seats=4, suits=4, ranks=4)
FIVE = DiminishingBridge(seats=5, suits=4, ranks=5)
SIX = DiminishingBridge(seats=6, suits=4, ranks=6)
SEVEN = DiminishingBridge(seats=7, suits=5, ranks=6)


@entry
def deal_worlds(game, view, plan, world, hands, rng):
    game.prepare(view[0], 0, plan[0])
    for i in range(hands.shape[0]):
        world[0] = view[0]
        game.sample(world[0], 0, plan[0], rng)
        for seat in range(game.seats):
            hands[i, seat] = world[0].hands[seat]


@entry
def can_be_dealt(game, view):
    return unseen.is_possible(game, view[0], game.unseen(view[0]))


def set_up(game, left, hidden, voids, on_table=0, shown=False):
    """A view of seat 0, which is to move, in which the cards `hidden` are not seen."""
    state = State(game)
    record = state.record
    others = [card for card in range(game.deck_size()) if card not in hidden]
    record.phase, record.cards, record.left = PLAYING, left + 1, left
    record.on_table, record.turn = on_table, 0
    record.hands[0] = sum(1 << card for card in others[:left])
    record.shown = others[left] if shown else NO_CARD
    record.played = sum(1 << card for card in others[left + shown :])
    for seat, suits in voids.items():
        record.voids[seat] = sum(1 << suit for suit in suits)
    return state


def all_deals(state):
    """Every way to deal the hidden cards, by trying all."""
    game, record = state.game, state.record
    shown = {int(record.shown)} if record.shown >= 0 else set()
    seen = int(record.hands[0]) | int(record.played)
    hidden = [c for c in range(game.deck_size()) if not seen >> c & 1 and c not in shown]
    has_played = [seat >= game.seats - record.on_table for seat in range(game.seats)]

    def deals(seat, free):
        if seat == game.seats:
            yield ()
            return
        fits = [c for c in free if not record.voids[seat] >> (c // game.ranks) & 1]
        for hand in combinations(fits, int(record.left) - has_played[seat]):
            for rest in deals(seat + 1, [c for c in free if c not in hand]):
                yield (sum(1 << c for c in hand), *rest)

    return [(int(record.hands[0]), *rest) for rest in deals(1, hidden)]


def some(game, *numbers):
    """The lowest cards of each suit, so many of each."""
    return [suit * game.ranks + rank for suit, n in enumerate(numbers) for rank in range(n)]


# game, cards each, hidden cards, suits that seats do not have, cards on the table, groups
CASES = {
    "no voids": (FOUR, 2, some(FOUR, 2, 2, 2, 1), {}, 0, 0),
    "nobody left over": (FOUR, 2, some(FOUR, 1, 2, 2, 1), {}, 0, 0),
    "one group": (FOUR, 2, some(FOUR, 2, 2, 2, 1), {2: [0]}, 0, 1),
    "one group of two seats": (FOUR, 2, some(FOUR, 3, 2, 2, 1), {1: [0], 3: [0]}, 0, 1),
    "one group of all seats": (FOUR, 2, some(FOUR, 2, 4, 3, 1), {1: [0], 2: [0], 3: [0]}, 0, 1),
    "a void in a suit that is gone": (FOUR, 2, some(FOUR, 0, 3, 3, 1), {1: [0], 2: [1]}, 0, 1),
    "two groups": (FOUR, 2, some(FOUR, 2, 2, 2, 1), {1: [0], 3: [1]}, 0, 2),
    "two groups, one within the other": (FOUR, 2, some(FOUR, 2, 2, 3, 1), {1: [0], 3: [0, 1]}, 0, 2),
    "two groups apart": (FOUR, 2, some(FOUR, 2, 2, 2, 2), {1: [0, 1], 3: [2, 3]}, 0, 2),
    "two groups of three seats": (FOUR, 2, some(FOUR, 3, 2, 2, 1), {1: [0], 2: [1], 3: [0]}, 0, 2),
    "three groups": (FOUR, 2, some(FOUR, 2, 2, 2, 2), {1: [0], 2: [1], 3: [2]}, 0, 3),
    "three groups that overlap": (FOUR, 2, some(FOUR, 2, 2, 2, 3), {1: [0, 1], 2: [1, 2], 3: [0]}, 0, 3),
    "three groups, hands of two sizes": (FOUR, 2, some(FOUR, 2, 2, 2, 2), {1: [0], 2: [1], 3: [2]}, 2, 3),
    "three groups, nothing left over": (FOUR, 3, some(FOUR, 1, 2, 3, 3), {1: [0], 2: [1], 3: [2]}, 0, 3),
    "three groups of five seats": (FIVE, 1, some(FIVE, 2, 2, 2, 1), {1: [0], 2: [1], 3: [0], 4: [2]}, 0, 3),
    "four groups": (FIVE, 1, some(FIVE, 2, 2, 2, 1), {1: [0], 2: [1], 3: [2], 4: [3]}, 0, 4),
    "four groups, hands of two sizes": (
        *(FIVE, 2, some(FIVE, 2, 2, 2, 1), {1: [0], 2: [1, 2], 3: [2], 4: [0, 3]}, 3, 4),
    ),
    "four groups of six seats": (
        *(SIX, 1, some(SIX, 2, 2, 2, 1), {1: [0], 2: [1], 3: [2], 4: [3], 5: [0]}, 0, 4),
    ),
    "five groups": (SIX, 1, some(SIX, 2, 2, 2, 1), {1: [0], 2: [1], 3: [2], 4: [3], 5: [0, 1]}, 0, 5),
    "five groups, hands of two sizes": (
        *(SIX, 2, some(SIX, 2, 2, 2, 1), {1: [0, 1], 2: [1, 3], 3: [2, 0], 4: [3], 5: [0]}, 3, 5),
    ),
    "six groups": (
        *(SEVEN, 1, some(SEVEN, 2, 1, 2, 1, 1)),
        *({1: [0], 2: [1], 3: [2], 4: [3], 5: [4], 6: [0, 1]}, 0, 6),
    ),
}


@pytest.mark.parametrize("shown", [False, True], ids=["", "shown"])
@pytest.mark.parametrize("case", CASES)
def test_every_deal_is_equally_likely(case, shown):
    game, left, hidden, voids, on_table, groups = CASES[case]
    state = set_up(game, left, hidden, voids, on_table, shown)
    counts = dict.fromkeys(all_deals(state), 0)
    assert len(counts) > 5
    plan, hands = np.zeros(1, game.plan), np.zeros((40 * len(counts), game.seats), np.int64)
    deal_worlds(game, state.array, plan, np.zeros(1, game.state), hands, stream(5))
    assert plan["groups"][0] == groups
    for deal, n in Counter(map(tuple, hands.tolist())).items():
        counts[deal] += n  # a deal that is not possible is not a key
    square = sum((n - 40) ** 2 / 40 for n in counts.values())
    assert chdtrc(len(counts) - 1, square) > 0.0005


@pytest.mark.parametrize("case", ["one group", "two groups", "three groups", "five groups"])
def test_compiled_and_interpreted_deal_the_same(case):
    game, left, hidden, voids, on_table, _ = CASES[case]
    state = set_up(game, left, hidden, voids, on_table)
    ways = []
    for way in (deal_worlds, deal_worlds.interpreted):
        hands = np.zeros((20, game.seats), np.int64)
        way(game, state.array, np.zeros(1, game.plan), np.zeros(1, game.state), hands, stream(6))
        ways.append(hands.tolist())
    assert ways[0] == ways[1]


def test_what_can_be_dealt_is_known():
    """Against trying all deals, with so many voids that about half of the positions are not possible."""
    chooser = random.Random(3)
    answers = Counter()
    for _ in range(400):
        game = chooser.choice([FOUR, FIVE])
        left = chooser.choice([1, 1, 2])
        hidden = chooser.sample(range(game.deck_size()), (game.seats - 1) * left + chooser.choice([0, 0, 1]))
        voids = {
            s: chooser.sample(range(game.suits), chooser.randrange(game.suits)) for s in range(1, game.seats)
        }
        state = set_up(game, left, hidden, voids, chooser.randrange(game.seats))
        if not state.record.played:
            continue
        answer = bool(all_deals(state))
        assert can_be_dealt(game, state.array) == answer
        answers[answer] += 1
    assert min(answers.values()) > 50


# --- the plan has room ---


def ways_to_take(sizes, wanted):
    """In how many ways numbers up to `sizes` can add up to `wanted`."""
    ways = [1] + [0] * wanted
    for n in sizes:
        ways = [sum(ways[max(0, w - n) : w + 1]) for w in range(wanted + 1)]
    return ways[wanted]


def random_demand(chooser, seats):
    """The room that a position needs: classes, ways of the first group, entries of the table.

    A trick tells of one suit, the one led, who does not have it. So after t tricks at most t suits
    are told apart, the others form one class, and everybody has t cards fewer: that bounds all
    three. Which cards were played does not have to be possible, so more is tried than can be met.
    """
    suits = chooser.randint(4, 8)
    ranks = 63 // suits
    cards = chooser.randint(3, suits * ranks // seats)
    tricks = min(chooser.randint(2, cards - 1), suits) if chooser.random() < 0.3 else min(cards - 1, suits)
    led = chooser.sample(range(suits), tricks)
    voids = {seat: {suit for suit in led if chooser.random() < 0.5} for seat in range(1, seats)}
    rest = suits * ranks - tricks * seats - (cards - tricks) - 1
    held = [ranks - (suit in led) for suit in range(suits)]  # the card led is seen
    while sum(held) > rest:
        held[held.index(max(held)) if chooser.random() < 0.8 else chooser.randrange(suits)] -= 1
        held = [max(0, n) for n in held]
    groups = Counter(
        frozenset(s for s in range(suits) if s not in voids[seat]) for seat in voids if voids[seat]
    )
    if len(groups) < 3:
        return 0, 0, 0
    classes = Counter()
    for suit in range(suits):
        takers = frozenset(group for group in groups if suit in group)
        if takers and held[suit]:
            classes[takers] += held[suit]
    first = min(groups, key=groups.get)
    wanted = groups[first] * (cards - tricks)
    entries = math.prod(n + 1 for n in classes.values())
    ways = max(
        ways_to_take([n for takers, n in classes.items() if group in takers], wanted)
        for group, n in groups.items()
        if n == groups[first]
    )
    return len(classes), ways, entries * (len(groups) - 3)


@pytest.mark.parametrize("trials", [1500, pytest.param(100_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("seats", [4, 5, 6, 7, 8])
def test_the_plan_has_room_for_the_worst_position(seats, trials):
    """The largest met in long runs, of five seats: 8 classes, about 400 ways and 135,000 entries."""
    chooser = random.Random(seats)
    demands = [random_demand(chooser, seats) for _ in range(trials)]
    classes, ways, table = (max(column) for column in zip(*demands, strict=True))
    assert 2 < classes <= unseen.CLASSES
    assert 5 < ways <= unseen._WAYS
    assert (table > 0) == (seats > 4)
    assert table <= unseen._TABLE
