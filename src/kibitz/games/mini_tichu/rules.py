"""Mini-Tichu: the play of the cards alone, one round, as K. Castelein defines it.

Four seats, opposite seats are partners, 56 cards, 14 each. Whoever has the Mah Jong leads. A trick is
followed by a higher combination of the same kind and number of cards, by a bomb, or by passing, which
does not end one's part in it. When all others have passed, the last player takes the trick and leads.
The round ends when both partners of a side have no cards left.

| field      | meaning                                                                     |
|------------|-----------------------------------------------------------------------------|
| `hands`    | one mask a seat                                                             |
| `left`     | how many cards each seat has                                                |
| `played`   | all cards that have been played                                             |
| `top`      | the cards to beat, `kind`, `length`, `height` what they are, `last` whose   |
| `pile`     | what the trick is worth so far                                              |
| `won`      | the card points in the tricks of each seat                                  |
| `finished` | 1 for the seat that went out first, and so on; 0: not yet                   |
| `starter`  | who led the first trick, and so is known to have had the Mah Jong           |
| `turn`     | who is to play                                                              |
| `phase`    | `DEALING`, `PLAYING` or `OVER`                                              |

K. Castelein, *Determinization for Monte Carlo Tree Search in the Card Game Tichu*, Leiden 2017.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.belief import unseen
from kibitz.bits import random_subset, size
from kibitz.games.tichu import text
from kibitz.games.tichu.combinations import (
    DECK,
    DOG,
    MAH_JONG,
    NOTHING,
    PASS,
    cards_of,
    height_of,
    kind_of,
    list_answers,
    list_leads,
    points,
)
from kibitz.kernel import game
from kibitz.protocol import CHANCE

DEALING, PLAYING, OVER = 0, 1, 2
DOUBLE_VICTORY = 200


@game
class MiniTichu(NamedTuple):
    """Parameters."""

    seats: int = 4
    phoenix_led: int = 1

    state = np.dtype(
        [
            *(("hands", "i8", (4,)), ("played", "i8"), ("top", "i8")),
            *(("won", "i2", (4,)), ("pile", "i2"), ("left", "i1", (4,)), ("finished", "i1", (4,))),
            *((name, "i1") for name in ("kind", "length", "height", "last", "turn", "starter", "phase")),
        ],
        align=True,
    )
    max_moves = 2560
    max_plies = 256
    plan = unseen.PLAN
    choices = {"seats": (4,), "phoenix_led": {"0.5": 1, "1.5": 3}}
    help = {"phoenix_led": "what the Phoenix counts when it is led alone: below the Mah Jong, or above"}

    # --- the course of play ---

    def deal(game, state, rng):
        """Deal fourteen cards to each; the Mah Jong leads."""
        cards = DECK
        for seat in range(4):
            state.hands[seat] = random_subset(rng, cards, 14) if seat < 3 else cards
            cards &= ~state.hands[seat]
            state.left[seat] = 14
            if state.hands[seat] & MAH_JONG != 0:
                state.starter = seat
        state.turn = state.starter
        state.phase = PLAYING

    def mover(game, state):
        return np.int64(state.turn) if state.phase == PLAYING else CHANCE

    def is_over(game, state):
        return state.phase == OVER

    def legal(game, state, moves):
        """Any combination to lead; a higher one, a bomb or a pass to follow."""
        hand = state.hands[state.turn]
        if state.kind == NOTHING:
            return list_leads(hand, moves)
        moves[0] = PASS
        kind, length, height = np.int64(state.kind), np.int64(state.length), np.int64(state.height)
        return list_answers(hand, kind, length, height, moves, 1)

    def play(game, state, move):
        """Put down a combination, or pass."""
        seat = np.int64(state.turn)
        if move == PASS:
            game.pass_on(state, seat)
            return
        cards = cards_of(move)
        n = size(cards)
        state.hands[seat] &= ~cards
        state.left[seat] -= n
        state.played |= cards
        state.last = seat
        if cards == DOG:
            state.turn = (seat + 2) & 3
        else:
            state.height = height_of(move, np.int64(state.height), game.phoenix_led)
            state.kind = kind_of(move)
            state.length = n
            state.top = cards
            state.pile += points(cards)
        if state.left[seat] == 0:
            game.go_out(state, seat)
        if state.phase == OVER:
            return
        if cards == DOG:
            game.lead_from(state, np.int64(state.turn))
        else:
            game.pass_on(state, seat)

    def pass_on(game, state, seat):
        """The next seat with cards is to play; if the trick's last player comes before it, he takes it."""
        last = np.int64(state.last)
        other = (seat + 1) & 3
        while other != last and state.left[other] == 0:
            other = (other + 1) & 3
        if other == last:
            game.take(state, last)
        else:
            state.turn = other

    def take(game, state, seat):
        """The trick goes to `seat`, who leads the next one."""
        state.won[seat] += state.pile
        state.pile = 0
        game.lead_from(state, seat)

    def lead_from(game, state, seat):
        """`seat` leads, or the next one that has cards."""
        while state.left[seat] == 0:
            seat = (seat + 1) & 3
        state.turn = seat
        state.kind = NOTHING
        state.length = 0
        state.height = 0
        state.top = 0

    def go_out(game, state, seat):
        """A seat has played its last card; when its partner has too, the round is over."""
        place = 1
        for other in range(4):
            place += np.int64(state.finished[other] != 0)
        state.finished[seat] = place
        if state.finished[(seat + 2) & 3] != 0:
            state.won[state.last] += state.pile
            state.pile = 0
            state.phase = OVER

    def team(game, seat):
        return seat & 1

    def returns(game, state, out):
        """The points of each side: 200 for going out first and second, else the cards.

        The last seat's hand goes to its opponents, its tricks to the seat that went out first.
        """
        first, left_over = 0, -1
        for seat in range(4):
            out[seat] = 0.0
            if state.finished[seat] == 1:
                first = seat
            if state.finished[seat] == 0:
                left_over = seat
        if state.phase == OVER and state.finished[(first + 2) & 3] == 2:
            out[first] = out[(first + 2) & 3] = DOUBLE_VICTORY
            return
        for seat in range(4):
            side = game.team(seat)
            if state.phase == OVER and seat == left_over:
                side = game.team(first)
            out[side] += state.won[seat]
        if state.phase == OVER:
            out[1 - game.team(left_over)] += points(state.hands[left_over])
        out[2], out[3] = out[0], out[1]

    def score_range(game):
        """The Phoenix may be all that a side takes."""
        return -25.0, 200.0

    # --- what a seat sees ---

    def hide(game, state, seat):
        """Take away the hands of the others; who has the Mah Jong is known until it is played."""
        for other in range(4):
            if other != seat:
                state.hands[other] &= MAH_JONG

    def blanks(game, view, seat):
        """How many cards of a hand are not known."""
        return np.int64(view.left[seat]) - size(view.hands[seat])

    def barred(game, view, seat):
        """The cards that a seat is known not to have: nothing is told by passing."""
        return np.int64(0)

    def prepare(game, view, seat, plan):
        """Count the cards that are not seen."""
        seen = view.played
        for other in range(4):
            seen |= view.hands[other]
        unseen.prepare(plan, game, view, DECK & ~seen)

    def sample(game, view, seat, plan, rng):
        """Deal the unseen cards."""
        unseen.deal(plan, view.hands, 4, rng)

    # --- how people see it ---

    def move_text(game, move):
        return text.play_text(int(move))

    def parse_move(game, words):
        return text.parse_play(words)

    def picture(game, view, seat):
        return text.picture(game, view, seat)

    def inventory(game, state):
        cards = int(DECK) if state["phase"] == DEALING else int(state["played"])
        for hand in state["hands"]:
            cards |= int(hand)
        return [card for card in range(56) if cards >> card & 1]
