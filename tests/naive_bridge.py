"""A slow, obvious twin of DiminishingBridge, from the rule book: lists and tuples, nothing of Kibitz.

A card is (suit, rank), ranks from 0; a move is ("bid", n), ("card", card) or "unseen".
"""

from __future__ import annotations

DEFAULTS = dict(
    seats=4,
    suits=4,
    ranks=13,
    cards=0,
    rounds=0,
    order="falling",
    twice=True,
    first_trump=True,
    screw=True,
    K=10,
    trick_factor=1,
    losing_factor=1,
    devils=False,
    luciferen=False,
    absolute=1,
    published=False,
)


def sizes_of_rounds(seats, suits, ranks, cards, rounds, order, twice):
    """How many cards everyone gets, round by round."""
    largest = cards or suits * ranks // seats
    falling = list(range(largest, 0, -1))[: rounds or None]
    if order == "falling":
        return falling
    rising = falling[::-1]
    if order == "rising":
        return rising
    return falling + (rising if twice else rising[1:])


class NaiveBridge:
    """A game; `begin_round` is told the cards, all else follows from the moves."""

    def __init__(self, **given):
        self.options = DEFAULTS | given
        for name, value in self.options.items():
            setattr(self, name, value)
        names = ("seats", "suits", "ranks", "cards", "rounds", "order", "twice")
        self.sizes = sizes_of_rounds(*(self.options[name] for name in names))
        self.done = 0  # rounds
        self.scores = [0] * self.seats
        self.made = [0] * self.seats
        self.order_of_seats = list(range(self.seats))
        self.victor = None
        self.hands = []

    @property
    def size(self):
        return self.sizes[self.done]

    def shows_trump(self):
        """Whether a card is turned up in the round that begins."""
        is_left_over = self.suits * self.ranks > self.seats * self.size
        return is_left_over and (self.first_trump or self.size < max(self.sizes))

    def begin_round(self, hands, trump):
        """Hands by seat; the trump suit or None."""
        assert all(len(hand) == self.size for hand in hands)
        self.hands = [set(hand) for hand in hands]
        self.trump = trump
        self.bids = {}
        self.tricks = [0] * self.seats
        self.to_play = list(self.order_of_seats)
        self.table = []  # (seat, card)

    def is_over(self):
        return self.done == len(self.sizes) or self.victor is not None

    def is_bidding(self):
        return len(self.bids) < self.seats

    def turn(self):
        return self.order_of_seats[len(self.bids)] if self.is_bidding() else self.to_play[len(self.table)]

    def forbidden(self):
        """The dealer's bid that is not allowed."""
        if len(self.bids) < self.seats - 1 or not self.screw or self.luciferen:
            return None
        total = sum(self.bids.values())
        return total - self.size if self.published else self.size - total

    def legal(self):
        if self.is_bidding():
            return {("bid", n) for n in range(self.size + 1) if n != self.forbidden()}
        if self.devils and self.size == 1:
            return {"unseen"}
        hand = self.hands[self.turn()]
        following = {card for card in hand if self.table and card[0] == self.table[0][1][0]}
        return {("card", card) for card in following or hand}

    def play(self, move):
        seat = self.turn()
        if self.is_bidding():
            self.bids[seat] = move[1]
            return
        (card,) = self.hands[seat] if move == "unseen" else (move[1],)
        self.hands[seat].remove(card)
        self.table.append((seat, card))
        if len(self.table) == self.seats:
            winner = self.winner()
            self.tricks[winner] += 1
            at = self.to_play.index(winner)
            self.to_play = self.to_play[at:] + self.to_play[:at]
            self.table = []
            if not any(self.hands):
                self.end_round()

    def winner(self):
        """The highest trump, else the highest card of the suit led."""
        trumps = [(card[1], seat) for seat, card in self.table if card[0] == self.trump]
        led = [(card[1], seat) for seat, card in self.table if card[0] == self.table[0][1][0]]
        return max(trumps or led)[1]

    def end_round(self):
        for seat in range(self.seats):
            if self.bids[seat] == self.tricks[seat]:
                self.scores[seat] += self.K + self.trick_factor * self.tricks[seat]
                self.made[seat] += 1
            else:
                self.scores[seat] -= self.losing_factor * abs(self.bids[seat] - self.tricks[seat])
        self.done += 1
        self.order_of_seats = self.order_of_seats[1:] + self.order_of_seats[:1]
        left = self.sizes[self.done :]
        if self.absolute and len(left) >= max(self.absolute, 2 if self.published else 1):
            second, first = sorted(self.scores)[-2:]
            lost = sum(r * self.losing_factor for r in left)
            won = sum(self.K + r * self.trick_factor for r in left)
            if first - lost > second + won:
                self.victor = self.scores.index(first)


# --- the thesis's formulas ---


def strategic_value(hand, trump, suits, ranks):
    """x: the worth of a hand for bidding."""
    total = 0.0
    for suit, rank in hand:
        gap = ranks - rank
        deck = suits * ranks
        total += 1 - gap / deck if suit == trump else max(0.0, 1 - (gap**2 + ranks) / deck)
    return total


def scoreboard_value(board, j, r, k):
    """SV of seat j on a board after a round of r cards."""
    others = [score - board[j] or 1 for seat, score in enumerate(board) if seat != j]
    a = sorted([0, *others], reverse=True)
    a[0] = a[0] ** (1 + a[0] / (2 * r + k - 1))
    return -sum(x / place for place, x in enumerate(a, 1))


def game_value(before, after, j, r, k=10, trick_factor=1, losing_factor=1):
    """GV of seat j: SV between the worst and the best that the round could bring."""
    gain, loss = k + r * trick_factor, r * losing_factor
    worst = [s - loss if seat == j else s + gain for seat, s in enumerate(before)]
    best = [s + gain if seat == j else s - loss for seat, s in enumerate(before)]
    low, high = scoreboard_value(worst, j, r, k), scoreboard_value(best, j, r, k)
    return max(0.0, (scoreboard_value(after, j, r, k) - low) / (high - low))
