"""Mini-Tichu: the play of the cards alone, one round, as K. Castelein defines it.

Four seats, opposite seats are partners, 56 cards, 14 each. Whoever has the Mah Jong leads. A trick is
followed by a higher combination of the same kind and number of cards, by a bomb, or by passing, which
does not end one's part in it. When all others have passed, the last player takes the trick and leads.
The round ends when both partners of a side have no cards left.

A position is described in `kibitz.games.tichu.round`; `phase` is `DEALING`, `PLAYING` or `OVER`.

K. Castelein, *Determinization for Monte Carlo Tree Search in the Card Game Tichu*, Leiden 2017.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.belief import unseen
from kibitz.bits import size
from kibitz.games.tichu import catalogue, prediction, text
from kibitz.games.tichu.any_play import any_play
from kibitz.games.tichu.combinations import (
    DECK,
    DOG,
    MAH_JONG,
    NOTHING,
    PASS,
    list_answers,
    list_leads,
)
from kibitz.games.tichu.holding import trade
from kibitz.games.tichu.margin import OBJECTIVES
from kibitz.games.tichu.round import (
    FEW_CARDS,
    FIELDS,
    add_to_hand,
    begin_play,
    cards_left,
    count_round,
    deal_hands,
    go_out,
    lead_from,
    next_to_play,
    partner,
    put_down,
    take_trick,
    unseen_cards,
)
from kibitz.games.tichu.sense import promising_plays, sensible_play, without_suits
from kibitz.kernel import game, inlined
from kibitz.protocol import CHANCE

DEALING, PLAYING, OVER = 0, 1, 2


@game
class MiniTichu(NamedTuple):
    """Parameters."""

    seats: int = 4
    phoenix_led: int = 1

    state = np.dtype([*FIELDS], align=True)
    max_moves = 2560
    max_plies = 256
    objectives = OBJECTIVES
    expert = "ismcts:4000,objective=ahead,playout=sensible,c=0.6,merge=true,prune=true"
    plan = unseen.PLAN
    situations = prediction.SITUATIONS
    choices = {"seats": (4,), "phoenix_led": {"0.5": 1, "1.5": 3}}
    help = {"phoenix_led": "what the Phoenix counts when it is led alone: below the Mah Jong, or above"}

    # --- the course of play ---

    def deal(game, state, rng):
        """Deal fourteen cards to each; the Mah Jong leads."""
        deal_hands(state, rng)
        begin_play(state)
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
        state.ply += 1
        if move != PASS:
            put_down(state, seat, move, game.phoenix_led)
            if state.left[seat] == 0 and go_out(state, seat):
                take_trick(state, seat)
                state.phase = OVER
                return
            if move == DOG:
                lead_from(state, partner(seat))
                return
        other = next_to_play(state, seat)
        if other == state.last:
            take_trick(state, other)
            lead_from(state, other)
        else:
            state.turn = other

    def team(game, seat):
        return seat & 1

    def returns(game, state, out):
        """The points of each side; before the end, of the tricks that it has taken."""
        if state.phase == OVER:
            out[0], out[1] = count_round(state)
        else:
            for side in range(2):
                out[side] = state.won[side] + state.won[partner(side)]
        out[2], out[3] = out[0], out[1]

    def score_range(game):
        """The Phoenix may be all that a side takes."""
        return -25.0, 200.0

    @inlined
    def random_move(game, state, moves, rng):
        """Any legal play; none is listed."""
        kind, length, height = np.int64(state.kind), np.int64(state.length), np.int64(state.height)
        return any_play(state.hands[state.turn], kind, length, height, rng)

    # --- how it is played well ---

    def sensible_move(game, state, moves, rng):
        return sensible_play(state, moves, rng)

    def promising(game, state, moves):
        """Of plays that are equal but for suits one, if it is not much worse than the sensible one."""
        return promising_plays(state, moves, game.legal(state, moves))

    def alike(game, state, move):
        """Plays of the same ranks that leave the same bombs."""
        return without_suits(state.hands[state.turn], move)

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
        unseen.prepare(plan, game, view, unseen_cards(view))

    def sample(game, view, seat, plan, rng):
        """Deal the unseen cards."""
        unseen.deal(plan, view.hands, 4, rng)

    def rearrange(game, world, seat, plan, rng):
        """Make worlds as frequent as they are likely by what each seat has played."""
        trade(game, world, seat, plan.unseen, rng)

    def fill(game, view, seat, card):
        """Let a seat have a card."""
        add_to_hand(view, seat, card)

    def worlds_left(game, view, seat):
        """The number of ways to deal the unseen cards, if few are left to play."""
        return unseen.ways_to_deal(game, view, 4) if cards_left(view) <= FEW_CARDS else 0

    def world(game, view, seat, number):
        """Deal the unseen cards, in order, as world `number` has them."""
        unseen.deal_way(game, view, 4, unseen_cards(view), number)

    def lesson(game, state, moves):
        """Whether the next player can beat what lies on the table."""
        return prediction.lesson(state, np.int64(state.turn), moves)

    def shows(game, state, move):
        """Who plays had a higher combination; who passes may have one."""
        return np.int64(move != PASS)

    def predict(game, view, seat, move, chances, moves, rng):
        """Give the next player a higher combination as often as learned."""
        prediction.predict(game, view, seat, move, chances, moves, rng)

    # --- numbered moves ---

    def every_move(game):
        return catalogue.plays()

    def filed(game, move):
        """Plays of the same ranks share a number, unless they are bombs."""
        return catalogue.by_ranks(move)

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
