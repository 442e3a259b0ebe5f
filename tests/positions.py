"""Positions for the tests: set up by texts, or reached by random play; and their naive twins."""

import numpy as np

from kibitz.cards import ITALIAN
from kibitz.games.briskola.rules import BLANK, Briskola
from kibitz.kernel import entry
from kibitz.position import State
from kibitz.rng import stream
from tests.naive import NaiveBriskola


@entry
def play_randomly(game, position, plies, moves, deal_rng, rng):
    """Deal and play random moves, fewer than `plies` if the game ends."""
    game.deal(position[0], deal_rng)
    for _ in range(plies):
        if game.is_over(position[0]):
            return
        game.play(position[0], game.random_move(position[0], moves, rng))


def random_state(game, seed, plies):
    """The position after `plies` random moves of deal number `seed`."""
    state = State(game)
    moves = np.zeros(game.max_moves, np.int64)
    play_randomly(game, state.array, plies, moves, stream(seed), stream(seed, plies))
    return state


def set_up(hands, turned, stock="", turn=0, points=(0, 0, 0, 0), partners_look=False):
    """A position before a trick that seat `turn` leads; all cards not named have been played.

    `stock` lists cards as they are drawn; the one turned up lies under them.
    """
    game = Briskola(len(hands), partners_look)
    state = State(game)
    record = state.record
    held = [cards_of(hand) for hand in hands]
    pile = [*cards_of(stock), ITALIAN.parse(turned)][::-1] if stock else []
    record.hands[:], record.table[:], record.stock[:] = BLANK, BLANK, BLANK
    for seat, cards in enumerate(held):
        record.hands[seat, : len(cards)] = cards
        record.held[seat] = len(cards)
    record.stock[: len(pile)] = pile
    record.left = len(pile)
    record.turned = ITALIAN.parse(turned)
    record.trump = record.turned // 10
    record.turn, record.best = turn, BLANK
    record.points[:] = points
    away = {card for cards in [pile, *held] for card in cards}
    record.played = sum(1 << card for card in range(game.first_card(), 40) if card not in away)
    return state


def cards_of(texts):
    return [ITALIAN.parse(text) for text in texts.split()]


def texts_of(cards):
    return [ITALIAN.text(card) for card in cards if card != BLANK]


def hand_of(state, seat):
    """The hand as texts, in the order of its places."""
    return texts_of(state.record.hands[seat][: state.record.held[seat]])


def naive_of(state):
    """The same position by the rule book."""
    game, record = state.game, state.record
    on_table = int(record.on_table)
    leader = (int(record.turn) - on_table) % game.seats
    table = texts_of(record.table[:on_table])
    return NaiveBriskola(
        game.seats,
        [hand_of(state, seat) for seat in range(game.seats)],
        texts_of(record.stock[: record.left]),
        ITALIAN.text(record.turned),
        int(record.turn),
        [int(x) for x in record.points[: game.seats]],
        [((leader + i) % game.seats, card) for i, card in enumerate(table)],
    )
