"""Briškola (Briscola) for two, three and four seats.

Forty cards; 1 and 3 are the strongest of a suit and the richest. Three cards each, the next card is
turned up under the stock and names the trump suit. There is no duty to follow suit: the trick goes
to the highest trump, else to the highest card of the suit led. Its taker draws first, the others
after it, and leads. 120 points are shared out; more than half win.

Position, one record:

| field      | meaning                                                                   |
|------------|---------------------------------------------------------------------------|
| `hands`    | up to three cards a seat, `held` of them; `BLANK` for a card not known    |
| `stock`    | `left` cards; the last of them is drawn first, `stock[0]` lies face up    |
| `table`    | the cards of the trick, `on_table` of them, in the order of play          |
| `best`     | the card that wins the trick so far; `winning` the seat that played it    |
| `turn`     | the seat to play                                                          |
| `trump`    | the suit of the card turned up; `turned` that card                        |
| `points`   | card points taken by each seat                                            |
| `played`   | mask of all cards played, the trick's included                            |

Two seats: B. Karamatić, *Using Monte Carlo Tree Search on the card game Briškola*, University of
Ljubljana 2016/17. Four seats play in two partnerships, opposite seats together; with three seats
the two of cups is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.belief.unseen import deal_way, ways_to_deal
from kibitz.bits import size
from kibitz.cards import ITALIAN
from kibitz.games.briskola import text
from kibitz.kernel import game, kernel
from kibitz.protocol import CHANCE
from kibitz.rng import below

CARDS, RANKS, HAND, SEVEN = 40, 10, 3, 4
BLANK = CARDS  # no card; small unsigned fields make quick indices
POINTS = np.array([0, 0, 0, 0, 0, 2, 3, 4, 10, 11] * 4)
TOTAL_POINTS = 120

# The rules of thumb: what a card is worth in the hand, from 2 to 1 by strength; the price of a point
# given away; the price of taking a trick, for then one leads. Found by many thousand matches.
KEEP_PLAIN = np.array([0.0, 0.1, 0.2, 0.2, 0.3, 1.4, 1.6, 2.0, 4.6, 5.4])
KEEP_TRUMP = np.array([3.0, 3.0, 3.6, 4.5, 5.0, 5.2, 6.7, 7.8, 13.0, 17.5])
GIVEN, TAKING = 0.4, 0.15

_ONE = np.int64(1)
_ALL_CARDS, _SUIT = np.int64((1 << CARDS) - 1), np.int64((1 << RANKS) - 1)
MOST_UNSEEN = 9  # three hidden hands of three cards: 1,680 worlds


@kernel
def beats(card, best, trump):
    """Whether `card` takes a trick that `best` is winning."""
    suit = card // RANKS
    return card > best if suit == best // RANKS else suit == trump


@game
class Briskola(NamedTuple):
    """Parameters: `seats` 2, 3 or 4; `partners_look`: four partners see each other's last cards."""

    seats: int = 2
    partners_look: bool = False

    state = np.dtype(
        [
            *(("played", "i8"), ("points", "i2", (4,)), ("hands", "u1", (4, HAND))),
            *(("held", "u1", (4,)), ("table", "u1", (4,)), ("on_table", "u1"), ("best", "u1")),
            *(("winning", "u1"), ("turn", "u1"), ("trump", "u1"), ("turned", "u1")),
            *(("left", "u1"), ("stock", "u1", (CARDS,))),
        ],
        align=True,
    )
    max_moves, max_plies = CARDS, CARDS
    choices = {"seats": (2, 3, 4)}
    expert = "ismcts:7000,objective=0.5,merge=true,endings=2000"

    # --- the course of play ---

    def deal(game, state, rng):
        """Shuffle, deal three cards each, turn up the trump card; seat 0 leads."""
        first = game.first_card()
        n = CARDS - first
        for i in range(n):  # inside-out shuffle
            j = below(rng, i + 1)
            state.stock[i] = state.stock[j]
            state.stock[j] = first + i
        state.left = n
        for seat in range(4):
            state.points[seat] = 0
            state.held[seat] = 0
            state.table[seat] = BLANK
            for i in range(HAND):
                state.hands[seat, i] = BLANK
        for _ in range(HAND):
            for seat in range(game.seats):
                game.draw(state, seat)
        for i in range(n, CARDS):
            state.stock[i] = BLANK
        state.turned = state.stock[0]
        state.trump = state.turned // RANKS
        state.played = 0
        state.on_table = state.winning = state.turn = 0
        state.best = BLANK

    def first_card(game):
        """With three seats the two of cups, card 0, is left out."""
        return 1 if game.seats == 3 else 0

    def deck(game):
        """The mask of all cards in play."""
        return _ALL_CARDS >> game.first_card() << game.first_card()

    def next_seat(game, seat):
        return seat + 1 if seat + 1 < game.seats else 0

    def draw(game, state, seat):
        """Take the top card of the stock into `seat`'s hand."""
        top = state.left - 1
        held = state.held[seat]
        state.hands[seat, held] = state.stock[top]
        state.stock[top] = BLANK
        state.held[seat] = held + 1
        state.left = top

    def mover(game, state):
        return np.int64(state.turn) if state.left > 0 or state.played != 0 else CHANCE

    def is_over(game, state):
        return state.held[state.turn] == 0 and state.on_table == 0 and state.played != 0

    def legal(game, state, moves):
        """Any card of the hand: there is no duty to follow suit."""
        n = np.int64(state.held[state.turn])
        for i in range(n):
            moves[i] = state.hands[state.turn, i]
        return n

    def random_move(game, state, moves, rng):
        seat = state.turn
        return np.int64(state.hands[seat, below(rng, state.held[seat])])

    def play(game, state, card):
        """Put a card on the table; the last one of a trick completes it."""
        seat = state.turn
        last = state.held[seat] - 1
        last_card = state.hands[seat, last]
        for i in range(last):  # no early exit: a branch that cannot be foreseen costs more
            held = state.hands[seat, i]
            state.hands[seat, i] = last_card if held == card else held
        state.hands[seat, last] = BLANK
        state.held[seat] = last
        state.played |= _ONE << card
        on_table = state.on_table
        takes = on_table == 0 or beats(card, state.best, state.trump)
        state.best = card if takes else state.best
        state.winning = seat if takes else state.winning
        state.table[on_table] = card
        if on_table + 1 < game.seats:
            state.on_table = on_table + 1
            state.turn = game.next_seat(seat)
        else:
            game.finish_trick(state)

    def finish_trick(game, state):
        """The winner takes the cards, draws first and leads the next trick."""
        winner = state.winning
        points = state.points[winner]
        for i in range(game.seats):
            points += POINTS[state.table[i]]
            state.table[i] = BLANK
        state.points[winner] = points
        state.on_table = 0
        state.best = BLANK
        state.turn = winner
        if state.left > 0:
            seat = winner
            for _ in range(game.seats):
                game.draw(state, seat)
                seat = game.next_seat(seat)

    def returns(game, state, out):
        """Card points; partners count theirs together."""
        for seat in range(game.seats):
            out[seat] = state.points[seat]
            if game.seats == 4:
                out[seat] += state.points[(seat + 2) % 4]

    def team(game, seat):
        return seat % 2 if game.seats == 4 else seat

    def score_range(game):
        return 0.0, float(TOTAL_POINTS)

    # --- what a seat sees ---

    def sees_hand(game, state, seat, other):
        """One's own hand; with `partners_look` the partner's too, once the stock is empty."""
        partners = game.seats == 4 and (seat + other) % 2 == 0
        return seat == other or (partners and game.partners_look and state.left == 0)

    def hide(game, state, seat):
        """Blank the other hands, but for the turned-up card once it is drawn, and the stock."""
        for other in range(game.seats):
            if game.sees_hand(state, seat, other):
                if other != seat:
                    game.sort_hand(state, other)  # in which order the partner holds them is not seen
                continue
            known = 0
            for i in range(state.held[other]):
                if state.hands[other, i] == state.turned:
                    known = 1
                state.hands[other, i] = BLANK
            if known == 1:
                state.hands[other, 0] = state.turned
        for i in range(1, state.left):
            state.stock[i] = BLANK

    def sort_hand(game, state, seat):
        for i in range(1, state.held[seat]):
            for j in range(i, 0, -1):
                low, high = state.hands[seat, j - 1], state.hands[seat, j]
                state.hands[seat, j - 1], state.hands[seat, j] = min(low, high), max(low, high)

    def unseen(game, view):
        """The mask of the cards that lie somewhere under a blank."""
        seen = view.played
        for seat in range(game.seats):
            for i in range(view.held[seat]):
                if view.hands[seat, i] != BLANK:
                    seen = seen | _ONE << view.hands[seat, i]
        if view.left > 0:
            seen = seen | _ONE << view.turned
        return game.deck() & ~seen

    def resample(game, view, seat, rng):
        """Deal the unseen cards at random to the blanks of the hands and of the stock."""
        unseen = game.unseen(view)
        n = 0
        for card in range(CARDS):  # listed above stock[0], in places that are blank anyway
            if unseen >> card & 1:
                n += 1
                view.stock[n] = card
        listed = n
        for other in range(game.seats):
            for i in range(view.held[other]):
                if view.hands[other, i] == BLANK:
                    j = 1 + below(rng, n)
                    view.hands[other, i] = view.stock[j]
                    view.stock[j] = view.stock[n]
                    n -= 1
        for i in range(n, 1, -1):
            j = 1 + below(rng, i)
            view.stock[i], view.stock[j] = view.stock[j], view.stock[i]
        for i in range(n + 1, listed + 1):
            view.stock[i] = BLANK

    def label(game, state, card, observer):
        """The card played; if it ends the trick, also the card that the observer draws and, when
        partners may look, the partner's last hand."""
        if state.left == 0 or state.on_table + 1 < game.seats:
            return card
        drawn = game.drawn_by(state, card, observer)
        if game.seats == 4 and game.partners_look and state.left == 4:
            partner = (observer + 2) % 4
            hand = _ONE << game.drawn_by(state, card, partner)
            for i in range(state.held[partner]):
                if state.hands[partner, i] != card:
                    hand |= _ONE << np.int64(state.hands[partner, i])
            return (hand * 64 + drawn) * 64 + card
        if drawn == state.turned or drawn == BLANK:
            return card
        return CARDS * (1 + drawn) + card

    def drawn_by(game, state, card, seat):
        """The card that `seat` draws if `card` ends the trick."""
        winner = state.turn if beats(card, state.best, state.trump) else state.winning
        turns_later = (seat + game.seats - winner) % game.seats
        return np.int64(state.stock[state.left - 1 - turns_later])

    def alike(game, state, card):
        """Cards of one worth are alike when all of them are trumps or none, and all take or none."""
        is_trump = card // RANKS == state.trump
        takes = state.on_table > 0 and beats(card, state.best, state.trump)
        worth = max(SEVEN, card % RANKS)  # the cards up to seven count nothing
        return np.int64(worth + RANKS * (is_trump + 2 * takes))

    # --- rules of thumb ---

    def sensible_move(game, state, moves, rng):
        """The card that can be expected to win most now, less what it is worth in the hand."""
        n = game.legal(state, moves)
        mine = np.int64(0)
        for i in range(n):
            mine |= _ONE << moves[i]
        unseen = game.deck() & ~(state.played | mine)
        best, choice = -np.inf, 0
        for i in range(n):
            prospect = game.prospect(state, moves[i], unseen)
            if prospect > best:
                best, choice = prospect, i
        return moves[choice]

    def prospect(game, state, card, unseen):
        """Points that a card can be expected to bring now, less its worth if it is kept.

        The faults that Karamatić names are avoided: high cards are not led, because the unseen
        cards that take them are counted, and worthless tricks are not taken.
        """
        takes = state.on_table == 0 or beats(card, state.best, state.trump)
        ours = takes or game.team(state.winning) == game.team(state.turn)
        hold = 1.0  # the chance that the trick stays with whoever has it then
        for _ in range(state.on_table + 1, game.seats):
            hold *= game.chance_to_hold(card if takes else state.best, state.trump, unseen)
        given = (1.0 - hold if ours else hold) * GIVEN * POINTS[card]
        trick = POINTS[card]
        for i in range(state.on_table):
            trick += POINTS[state.table[i]]
        gain = hold * trick - (TAKING if takes and state.on_table > 0 else 0.0) if ours else 0.0
        is_trump = card // RANKS == state.trump
        return gain - given - (KEEP_TRUMP[card % RANKS] if is_trump else KEEP_PLAIN[card % RANKS])

    def chance_to_hold(game, card, trump, unseen):
        """The chance that the next seat does not take a trick from `card`, roughly: none of four
        unseen cards beats it (a hand of three, and the wish to take)."""
        rank = card % RANKS
        suit = card // RANKS
        beaters = ((_ONE << (RANKS - 1 - rank)) - 1) << np.int64(card + 1)
        if suit != trump:
            beaters |= _SUIT << np.int64(RANKS * trump)
        safe = 1.0 - size(unseen & beaters) / max(1, size(unseen))
        return safe * safe * safe * safe

    # --- search over possible moves, and exact endings ---

    def possible(game, view, moves):
        """The cards known to be in the mover's hand and, if some are not known, all unseen."""
        seat = view.turn
        n = 0
        for i in range(view.held[seat]):
            if view.hands[seat, i] != BLANK:
                moves[n] = view.hands[seat, i]
                n += 1
        if n < view.held[seat]:
            unseen = game.unseen(view)
            for card in range(CARDS):
                if unseen >> card & 1:
                    moves[n] = card
                    n += 1
        return n

    def grant(game, view, card, rng):
        """Lay the card under a blank of the mover's hand, unless it is known to be there."""
        for i in range(view.held[view.turn]):
            if view.hands[view.turn, i] == card:
                return
        game.fill(view, view.turn, card)

    def blanks(game, view, place):
        """How many cards are not known in a place: a seat's hand, or after these the stock's."""
        if place >= game.seats:
            return 1 if view.stock[1 + place - game.seats] == BLANK else 0
        n = 0
        for i in range(view.held[place]):
            if view.hands[place, i] == BLANK:
                n += 1
        return n

    def places(game, view):
        """The hands and the single places of the stock below its top, the card face up left out."""
        return game.seats + (view.left - 1 if view.left > 0 else 0)

    def worlds_left(game, view, seat):
        """The number of ways to lay the unseen cards under the blanks, if they are few.

        With two seats that is so a little before the stock is empty; with more, then.
        """
        if game.seats > 2 and view.left > 0:
            return 0
        n = size(game.unseen(view))
        return ways_to_deal(game, view, game.places(view)) if n <= MOST_UNSEEN else 0

    def world(game, view, seat, number):
        """Lay the unseen cards, in order, where world `number` has them."""
        deal_way(game, view, game.places(view), game.unseen(view), number)

    def fill(game, view, place, card):
        """Lay a card under the first blank of a place."""
        if place >= game.seats:
            view.stock[1 + place - game.seats] = card
            return
        for i in range(view.held[place]):
            if view.hands[place, i] == BLANK:
                view.hands[place, i] = card
                return

    # --- numbered moves ---

    def every_move(game):
        return range(CARDS)

    # --- how people see it ---

    def move_text(game, card):
        return ITALIAN.text(card)

    def parse_move(game, words):
        return ITALIAN.parse(words)

    def picture(game, view, seat):
        return text.picture(game, view, seat)

    def inventory(game, state):
        hands = [int(c) for s in range(game.seats) for c in state["hands"][s][: state["held"][s]]]
        stock = [int(card) for card in state["stock"][: state["left"]]]
        return sorted(hands + stock + [c for c in range(CARDS) if int(state["played"]) >> c & 1])
