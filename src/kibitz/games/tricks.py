"""What trick games have in common: following suit, who takes a trick, and what that tells of a hand.

A game that uses this has the methods `suit_of(card)`, `suit_cards(suit)` and `deck()`, those that
`kibitz.belief.unseen` asks for, `unseen(view)`, and in its position the fields

| field       | meaning                                                                  |
|-------------|--------------------------------------------------------------------------|
| `hands`     | masks of cards; what a seat cannot see is missing                        |
| `gone`      | masks of the cards that each seat has played                             |
| `played`    | all of them                                                              |
| `follow`    | mask of the suit led, of all cards while nobody has led                  |
| `trumps`    | mask of the trump suit, empty if there is none                           |
| `voids`     | mask of the suits that a seat has shown not to have                      |
| `tricks`    | taken by each seat                                                       |
| `table`     | the cards of the trick, `on_table` of them, in the order of play         |
| `turn`      | the hand to play from; `led` the suit led                                |
| `best`      | strength of the card that wins the trick so far, `winning` its seat      |
| `left`      | tricks to come, the one on the table too                                 |
"""

from __future__ import annotations

import numpy as np

from kibitz.belief import unseen
from kibitz.bits import list_cards, lowest
from kibitz.kernel import kernel

NO_CARD = -1
TRUMP = 64
"""What a trump is stronger than all other cards."""

_ONE = np.int64(1)


@kernel
def playable(state):
    """The mask of the cards of the hand to play from that follow suit, or of all."""
    hand = state.hands[state.turn]
    following = hand & state.follow
    return following if following != 0 else hand


@kernel
def next_seat(game, seat):
    """Who plays after a seat."""
    return seat + 1 if seat + 1 < game.seats else 0


@kernel
def put(game, state, move):
    """Put a card on the table. The last one of a trick completes it: its winner leads the next."""
    seat = np.int64(state.turn)
    card = _ONE << move
    state.hands[seat] &= ~card
    state.gone[seat] |= card
    state.played |= card
    on_table = np.int64(state.on_table)
    if on_table == 0:
        led = game.suit_of(move)
        state.led = led
        state.follow = game.suit_cards(led)
        state.best = -1
    is_trump = card & state.trumps != 0
    follows = card & state.follow != 0
    strength = move + TRUMP if is_trump else move
    takes = (follows or is_trump) and strength > state.best
    state.best = strength if takes else state.best
    state.winning = seat if takes else state.winning
    state.voids[seat] |= 0 if follows else _ONE << np.int64(state.led)
    state.table[on_table] = move
    if on_table + 1 < game.seats:
        state.on_table = on_table + 1
        state.turn = next_seat(game, seat)
    else:
        state.tricks[state.winning] += 1
        state.on_table = 0
        state.turn = state.winning
        state.follow = game.deck()
        state.left -= 1


@kernel
def takers(state, cards):
    """Those of `cards` that would win the trick as it lies."""
    if state.on_table == 0:
        return cards
    best = np.int64(state.best)
    if best >= TRUMP:
        return cards & state.trumps & ~((_ONE << (best - TRUMP)) - 1)
    return cards & (state.trumps | (state.follow & ~((_ONE << best) - 1)))


@kernel
def held(game, state, seat):
    """How many cards a seat has in its hand while tricks are played: one fewer if it has played to this."""
    ago = np.int64(state.turn) - seat  # so many cards before the next one
    has_played = 0 < (ago if ago > 0 else ago + game.seats) <= state.on_table
    return np.int64(state.left) - (1 if has_played else 0)


@kernel
def barred(game, view, seat):
    """The cards that a seat is known not to have: it did not follow their suits."""
    cards, suits = np.int64(0), np.int64(view.voids[seat])
    while suits != 0:
        cards |= game.suit_cards(lowest(suits))
        suits &= suits - 1
    return cards


@kernel
def not_seen(game, view):
    """The mask of the cards that are neither played nor in a hand that is seen."""
    seen = view.played
    for seat in range(game.seats):
        seen |= view.hands[seat]
    return game.deck() & ~seen


@kernel
def possible(game, view, moves):
    """List every unseen card that the hand to play from may hold, and may play in at least one world."""
    n = 0
    cards = game.unseen(view) & ~barred(game, view, view.turn)
    while cards != 0:
        of_suit = cards & game.suit_cards(game.suit_of(lowest(cards)))
        cards &= ~of_suit
        if may_play(game, view, lowest(of_suit)):
            n = list_cards(of_suit, moves, n)
    return n


@kernel
def may_play(game, view, card):
    """Whether there is a world in which the hand to play from holds the card and may play it."""
    seat = view.turn
    voids = view.voids[seat]
    if view.follow & (_ONE << card) == 0:
        view.voids[seat] |= _ONE << np.int64(view.led)
    view.hands[seat] |= _ONE << card
    answer = unseen.is_possible(game, view, game.unseen(view))
    view.hands[seat] &= ~(_ONE << card)
    view.voids[seat] = voids
    return answer


@kernel
def touching(game, state, moves):
    """List the playable cards, of those with nothing between them that could matter, neither on the table
    nor to come, the lowest alone.
    """
    cards = playable(state)
    gone = state.played | state.hands[state.turn]
    for i in range(state.on_table):
        gone &= ~(_ONE << np.int64(state.table[i]))
    n, last = 0, -1
    while cards != 0:
        card = lowest(cards)
        cards &= cards - 1
        touches = last >= 0 and game.suit_of(card) == game.suit_of(last)
        between = ((_ONE << card) - 1) & ~((_ONE << (last + 1)) - 1) if touches else 0
        if not touches or between & ~gone != 0:
            moves[n] = card
            n += 1
        last = card
    return n
