"""Slow, obvious twins of rules and searches: lists, recursion and formulas, nothing of Kibitz.

A card is its text, such as "13D": no encoding is shared with what is tested.
"""

from __future__ import annotations

import math
from itertools import combinations, permutations

STRENGTH = ["2", "4", "5", "6", "7", "11", "12", "13", "3", "1"]  # from weakest to strongest
WORTH = {"1": 11, "3": 10, "13": 4, "12": 3, "11": 2}
DECK = [rank + suit for suit in "CDSB" for rank in STRENGTH]


def rank(card):
    return card[:-1]


def suit(card):
    return card[-1]


def worth(card):
    return WORTH.get(rank(card), 0)


class NaiveBriskola:
    """Briškola as a rule book tells it. The last card of `stock` is drawn first."""

    def __init__(self, seats, hands, stock, turned, turn=0, points=None, table=()):
        self.seats = seats
        self.hands = [list(hand) for hand in hands]
        self.stock = list(stock)
        self.turned = turned
        self.turn = turn
        self.points = list(points or [0] * seats)
        self.table = list(table)  # (seat, card) in the order of play

    def copy(self):
        return NaiveBriskola(
            self.seats, self.hands, self.stock, self.turned, self.turn, self.points, self.table
        )

    def is_over(self):
        return not self.table and not any(self.hands)

    def legal(self):
        return list(self.hands[self.turn])

    def play(self, card):
        hand = self.hands[self.turn]
        place = hand.index(card)
        hand[place] = hand[-1]  # the last card fills the gap: ties of max^n fall by the hand's order
        hand.pop()
        self.table.append((self.turn, card))
        if len(self.table) < self.seats:
            self.turn = (self.turn + 1) % self.seats
            return
        taker = self.taker()
        self.points[taker] += sum(worth(card) for _, card in self.table)
        self.table = []
        self.turn = taker
        if self.stock:
            for i in range(self.seats):
                self.hands[(taker + i) % self.seats].append(self.stock.pop())

    def taker(self):
        """The highest trump takes the trick, else the highest card of the suit led."""
        led = suit(self.table[0][1])
        trump = suit(self.turned)
        deciding = trump if any(suit(card) == trump for _, card in self.table) else led
        rivals = [(STRENGTH.index(rank(card)), seat) for seat, card in self.table if suit(card) == deciding]
        return max(rivals)[1]

    def after(self, card):
        position = self.copy()
        position.play(card)
        return position

    def scores(self):
        """Card points; opposite seats of four count theirs together."""
        if self.seats == 4:
            return [self.points[seat] + self.points[(seat + 2) % 4] for seat in range(4)]
        return list(self.points)

    def worlds(self, seat):
        """Every deal that agrees with what `seat` sees; hidden cards lie in their order in `DECK`."""
        stock = self.stock[1:]
        known = [
            self.hands[s] if s == seat else [card for card in self.hands[s] if card == self.turned]
            for s in range(self.seats)
        ]
        unseen = [card for hand in self.hands for card in hand] + stock
        unseen = sorted((c for c in unseen if not any(c in hand for hand in known)), key=DECK.index)
        found = []
        for hands, rest in _dealt(unseen, [len(self.hands[s]) - len(known[s]) for s in range(self.seats)]):
            for order in permutations(rest):
                world = self.copy()
                world.hands = [known[s] + hands[s] for s in range(self.seats)]
                world.stock = self.stock[:1] + list(order)
                found.append(world)
        return found


def _dealt(cards, sizes):
    """All ways to deal hands of these sizes, with the cards that remain."""
    if not sizes:
        return [([], cards)]
    return [
        ([list(hand), *hands], rest)
        for hand in combinations(cards, sizes[0])
        for hands, rest in _dealt([card for card in cards if card not in hand], sizes[1:])
    ]


# --- endings ---


def best_scores(position):
    """Max^n: every mover takes what is best for its own side, the first of equals.

    Two sides share a fixed sum, so for them this is minimax.
    """
    if position.is_over():
        return position.scores()
    mover = position.turn
    return max((best_scores(position.after(card)) for card in position.legal()), key=lambda s: s[mover])


def most_if_all_help(position, seat):
    """The most points that `seat` can get if every seat plays for it."""
    if position.is_over():
        return position.scores()[seat]
    return max(most_if_all_help(position.after(card), seat) for card in position.legal())


def mean_if_all_play_randomly(position, seat):
    """The points that `seat` gets in the mean over uniformly random moves."""
    if position.is_over():
        return position.scores()[seat]
    values = [mean_if_all_play_randomly(position.after(card), seat) for card in position.legal()]
    return sum(values) / len(values)


def count_nodes(position):
    """Positions in the whole tree, this one included."""
    if position.is_over():
        return 1
    return 1 + sum(count_nodes(position.after(card)) for card in position.legal())


# --- formulas of the tree search ---


def ucb1(mean, visits, trials, c):
    return mean + c * math.sqrt(math.log(trials) / visits)


def ucb1_inside(mean, visits, trials, c):
    return mean + math.sqrt(c * math.log(trials) / visits)


def ucb1_tuned(results, trials, c):
    """Auer, Cesa-Bianchi and Fischer 2002, section 4, for results from 0 to 1."""
    n = len(results)
    mean = sum(results) / n
    variance = sum((x - mean) ** 2 for x in results) / n
    return mean + c * math.sqrt(
        math.log(trials) / n * min(1 / 4, variance + math.sqrt(2 * math.log(trials) / n))
    )


def power_mean(means, visits, p):
    return (sum(x**p * n for x, n in zip(means, visits, strict=True)) / sum(visits)) ** (1 / p)
