"""A prior for every card and seat: worlds come as often as they are likely, and agree with what is known."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from kibitz.agents import make_agent
from kibitz.errors import Unsupported
from kibitz.games import load
from kibitz.games.mini_tichu.rules import PLAYING, MiniTichu
from kibitz.games.tichu import combinations as c
from kibitz.games.tichu import holding, rules
from kibitz.games.tichu.rules import Tichu
from kibitz.games.tichu.text import parse_play
from kibitz.kernel import entry
from kibitz.position import State, deal
from kibitz.rng import stream


def mask(words):
    return sum(parse_play(word) for word in words.split())


def set_up(game, hands, gone, phase, **fields):
    """A position in which seat 0 leads; cards that are in no hand have been played, some by known seats."""
    state = State(game)
    record = state.record
    record.hands[:] = [mask(words) for words in hands]
    record.left[:] = [len(words.split()) for words in hands]
    record.gone[:] = [mask(words) for words in gone]
    record.played = int(c.DECK) & ~sum(mask(words) for words in hands)
    record.phase = phase
    for name, value in fields.items():
        record[name] = value
    return state


@entry
def draw(game, view, seat, plan, world, rng):
    game.prepare(view[0], seat, plan[0])
    world[0] = view[0]
    game.sample(world[0], seat, plan[0], rng)
    game.rearrange(world[0], seat, plan[0], rng)


def worlds(state, n, seed=1):
    """Worlds that were dealt and rearranged."""
    game, view, rng = state.game, state.view(), stream(seed)
    plan, world = np.zeros(1, game.plan), np.zeros(1, game.state)
    for _ in range(n):
        draw.interpreted(game, view.array, view.seat, plan, world, rng)
        yield world.view(np.recarray)[0]


def test_a_card_weighs_by_its_rank_and_by_how_many_of_it_the_seat_has_played():
    state = set_up(MiniTichu(), ["9D", "4C KS AS", "Drg", "2S"], ["", "4D KH KC KD", "", ""], PLAYING)
    weights = holding.WEIGHTS.reshape(-1, 3)
    for seat, card, group, played in ((1, "4C", 1, 1), (1, "KS", 4, 2), (1, "2S", 1, 0), (2, "4C", 1, 0)):
        number = int(parse_play(card)).bit_length() - 1
        assert holding.WEIGHTS[holding.trait(state.record, seat, number)] == weights[group, played]


def test_worlds_come_as_often_as_the_product_of_the_weights_of_their_cards():
    hidden = "2C 2S 7H JD KS AS"
    state = set_up(MiniTichu(), ["3D", "2C 2S", "7H JD", "KS AS"], ["2D 2H", "7D JS", "", "KD KH"], PLAYING)
    cards = [int(parse_play(word)).bit_length() - 1 for word in hidden.split()]
    expected = {}
    for first in combinations(cards, 2):
        for second in combinations([card for card in cards if card not in first], 2):
            third = [card for card in cards if card not in first + second]
            likely = 1.0
            for seat, held in ((1, first), (2, second), (3, third)):
                for card in held:
                    likely *= holding.WEIGHTS[holding.trait(state.record, seat, card)]
            expected[tuple(sum(1 << card for card in held) for held in (first, second, third))] = likely
    n = 3000
    found = Counter(tuple(int(hand) for hand in world.hands[1:]) for world in worlds(state, n))
    assert set(found) <= set(expected)
    likely = np.array(list(expected.values()))
    observed = [found[world] for world in expected]
    assert chisquare(observed, n * likely / likely.sum()).pvalue > 1e-3
    assert chisquare(observed).pvalue < 1e-9  # they are not all alike


def test_what_is_known_of_others_stays_so():
    """A card that was given, and a rank that a wish has shown to be missing."""
    state = set_up(
        *(Tichu(), ["3D", "2C 2S KC", "7H JD KH", "KS AS 5S"], ["2D", "2H 4D 5D", "", ""], rules.PLAYING),
        denied=(0, 1 << 13, 0, 0),
        gave=np.array([(0, 0, int(parse_play("5S")).bit_length()), *[(0, 0, 0)] * 3]),
    )
    state.record.hands[1], state.record.hands[2] = mask("2C 2S JD"), mask("7H KC KH")
    for world in worlds(state, 200):
        assert int(world.hands[3]) & mask("5S")
        assert not int(world.hands[1]) & int(c.rank_mask(13))
        assert [int(hand).bit_count() for hand in world.hands] == [1, 3, 3, 3]


@pytest.mark.parametrize("game", ["mini-tichu", "tichu"])
def test_worlds_that_are_rearranged_agree_with_the_view(game):
    for seed in range(3):
        state = deal(load(game), seed)
        for ply in range(60):
            if state.is_over:
                break
            view = state.view()
            if ply % 3 == 0:
                for world in worlds(state, 2, ply):
                    assert state.game.inventory(world) == list(range(56))
                    if game == "tichu" and world.phase > rules.AFTER:
                        check_exchange(world)
                    state.game.hide(world, view.seat)
                    assert world == view.array[0]
            moves = state.legal_moves()
            state.play(moves[(seed + ply) % len(moves)])


def check_exchange(world):
    """What a seat was given, it has or has played."""
    for giver in range(4):
        for k in range(3):
            taker = (giver + 1 + k) & 3
            cards = int(world.hands[taker]) | int(world.gone[taker])
            assert cards >> int(world.gave[giver, k]) - 1 & 1


def test_games_that_rearrange_nothing_refuse_it():
    game = load("briskola")
    with pytest.raises(Unsupported, match="rearrange"):
        make_agent("ismcts:10,belief=cards", game).start(game, 0)
