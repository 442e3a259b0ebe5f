"""The play of a round, as Tichu and Mini-Tichu have it in common: tricks, going out, the points of cards.

Both games keep these fields in their positions:

| field      | meaning                                                                     |
|------------|-----------------------------------------------------------------------------|
| `hands`    | one mask a seat                                                             |
| `left`     | how many cards each seat has                                                |
| `played`   | all cards that have been played, `gone` those of each seat                  |
| `top`      | the cards to beat, `kind`, `length`, `height` what they are, `last` whose   |
| `pile`     | what the trick is worth so far                                              |
| `won`      | the card points in the tricks of each seat                                  |
| `finished` | 1 for the seat that went out first, and so on; 0: not yet                   |
| `starter`  | who led the first trick, and so is known to have had the Mah Jong           |
| `turn`     | who is to play                                                              |
| `ply`      | how many plays and passes there have been in the round                      |
"""

from __future__ import annotations

import numpy as np

from kibitz.bits import random_subset, size
from kibitz.games.tichu.combinations import (
    DECK,
    MAH_JONG,
    NOTHING,
    cards_of,
    height_of,
    kind_of,
    points,
)
from kibitz.kernel import kernel

FIELDS = (
    *(("hands", "i8", (4,)), ("gone", "i8", (4,)), ("played", "i8"), ("top", "i8")),
    *(("won", "i2", (4,)), ("pile", "i2"), ("ply", "i2")),
    *((name, "i1", (4,)) for name in ("left", "finished")),
    *((name, "i1") for name in ("kind", "length", "height", "last", "turn", "starter", "phase")),
)
DOUBLE_VICTORY = 200
FEW_CARDS = 9
"""So many cards that are left to play can be played out in all ways."""


@kernel
def deal_hands(state, rng):
    """Deal fourteen cards to each."""
    cards = DECK
    for seat in range(4):
        state.hands[seat] = random_subset(rng, cards, 14) if seat < 3 else cards
        cards &= ~state.hands[seat]
        state.left[seat] = 14


@kernel
def begin_play(state):
    """The Mah Jong leads."""
    for seat in range(4):
        if state.hands[seat] & MAH_JONG != 0:
            state.starter = seat
    state.turn = state.starter


@kernel
def partner(seat):
    """The seat opposite."""
    return (seat + 2) & 3


@kernel
def put_down(state, seat, move, phoenix_led):
    """Move the cards of a play from the hand to the table."""
    cards = cards_of(move)
    n = size(cards)
    state.hands[seat] &= ~cards
    state.left[seat] -= n
    state.gone[seat] |= cards
    state.played |= cards
    state.last = seat
    state.height = height_of(move, np.int64(state.height), phoenix_led)
    state.kind = kind_of(move)
    state.length = n
    state.top = cards
    state.pile += points(cards)


@kernel
def next_to_play(state, seat):
    """The next seat with cards; if the trick's last player comes before it, the trick is his."""
    last = np.int64(state.last)
    other = (seat + 1) & 3
    while other != last and state.left[other] == 0:
        other = (other + 1) & 3
    return other


@kernel
def take_trick(state, seat):
    """What lies on the table goes to a seat."""
    state.won[seat] += state.pile
    state.pile = 0


@kernel
def lead_from(state, seat):
    """`seat` leads, or the next one that has cards."""
    while state.left[seat] == 0:
        seat = (seat + 1) & 3
    state.turn = seat
    state.kind = NOTHING
    state.length = 0
    state.height = 0
    state.top = 0


@kernel
def go_out(state, seat):
    """A seat has played its last card; whether its partner has too, which ends the round."""
    place = np.int64(1)
    for other in range(4):
        place += np.int64(state.finished[other] != 0)
    state.finished[seat] = place
    return state.finished[partner(seat)] != 0


@kernel
def is_double_victory(state):
    """Whether two partners went out first and second."""
    for seat in range(2):
        places = state.finished[seat] + state.finished[partner(seat)]
        if places == 3 and state.finished[seat] != 0 and state.finished[partner(seat)] != 0:
            return True
    return False


@kernel
def count_round(state):
    """The points of both sides at the end of a round: 200 for going out first and second, else the cards.

    The last seat's hand goes to its opponents, its tricks to the seat that went out first.
    """
    first, left_over = 0, 0
    for seat in range(4):
        if state.finished[seat] == 1:
            first = seat
        if state.finished[seat] == 0:
            left_over = seat
    if is_double_victory(state):
        return (DOUBLE_VICTORY, 0) if first & 1 == 0 else (0, DOUBLE_VICTORY)
    even, odd = np.int64(0), np.int64(0)
    for seat in range(4):
        if (first if seat == left_over else seat) & 1 == 0:
            even += state.won[seat]
        else:
            odd += state.won[seat]
    in_hand = points(state.hands[left_over])
    return (even, odd + in_hand) if left_over & 1 == 0 else (even + in_hand, odd)


# --- what is not seen ------------------------------------------------------------------------------


@kernel
def unseen_cards(view):
    """The cards that a view does not show."""
    seen = view.played
    for seat in range(4):
        seen |= view.hands[seat]
    return DECK & ~seen


@kernel
def cards_left(view):
    """How many cards are left to play."""
    n = np.int64(0)
    for seat in range(4):
        n += view.left[seat]
    return n


@kernel
def add_to_hand(view, seat, card):
    """Let a seat have a card."""
    view.hands[seat] |= np.int64(1) << np.int64(card)
