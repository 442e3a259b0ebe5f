"""Tichu: calls, exchange, wish, gift, bombs out of turn, games to a number of points, what is seen."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest

from kibitz.agents import make_agent
from kibitz.errors import BadOption, IllegalMove, ParseError
from kibitz.games import load
from kibitz.games.tichu import combinations as c
from kibitz.games.tichu import rules
from kibitz.games.tichu.rules import Tichu
from kibitz.games.tichu.text import TICHU, move_text, parse_move, parse_play
from kibitz.kernel import entry
from kibitz.position import State, deal
from kibitz.protocol import SILENT, UNNOTICED
from kibitz.testing import check_agent, check_game, check_hidden
from tests import tichu_transcripts

FOURTEEN = "2D 3D 4D 5D 6H 7H 8H 9H TC JC QC KC AS AH"


def mask(words):
    return sum(parse_play(word) for word in words.split())


def set_up(hands, turn=0, won=(0, 0, 0, 0), finished=(0, 0, 0, 0), game=None, **fields):
    """A position in which `turn` leads; hands as in '7D 7H Phx', cards not named have been played."""
    state = State(game or Tichu())
    record = state.record
    masks = [mask(hand) for hand in hands]
    record.hands[:] = masks
    record.left[:] = [hand.bit_count() for hand in masks]
    record.played = (1 << 56) - 1 & ~sum(masks)
    record.won[:] = won
    record.finished[:] = finished
    record.turn = record.next = turn
    record.phase = rules.PLAYING
    record.starter = next((seat for seat, hand in enumerate(masks) if hand & 1), 0)
    for name, value in fields.items():
        record[name] = value
    return state


def play(state, *moves):
    for words in moves:
        state.play(words)
    return state


def until_play(state, giving=None):
    """No calls; every seat gives its three lowest cards, or those that it is told to."""
    while state.record.phase != rules.PLAYING:
        if state.record.phase == rules.EXCHANGE:
            told = (giving or {}).get(state.mover, "").split()
            given = int((state.record.gave[state.mover] != 0).sum())
            state.play(f"give {told[given]}" if told else state.legal_moves()[0])
        else:
            state.play("no call")
    return state


# --- all checks ------------------------------------------------------------------------------------


MANY = [("tichu", 3), ("tichu:calls=false,phoenix_led=0.5", 3), ("tichu:target=300", 1)]


@pytest.mark.parametrize(
    ("game", "n"), [("tichu", 1), *(pytest.param(*many, marks=pytest.mark.soak) for many in MANY)]
)
def test_the_rules_pass_all_checks(game, n):
    check_game(load(game), n=n)


def cards_in(cards):
    return [card for card in range(56) if int(cards) >> card & 1]


def redeal(state, seat, chooser):
    """Another truth that `seat` cannot tell from this one: hands, first eight cards, gifts, by trying."""
    view = state.view(seat).record
    unseen = [card for card in range(56) if not (int(view.played) | int(sum(view.hands))) >> card & 1]
    for _ in range(200):
        other = State(state.game, state.array.copy())
        record = other.record
        chooser.shuffle(unseen)
        left = iter(unseen)
        for holder in range(4):
            known = cards_in(view.hands[holder])
            hand = known + [next(left) for _ in range(int(view.left[holder]) - len(known))]
            record.hands[holder] = sum(1 << card for card in hand)
            if holder == seat:
                continue
            if record.phase == rules.GRAND:
                record.eight[holder] = sum(1 << card for card in chooser.sample(hand, 8))
            elif record.phase == rules.EXCHANGE:
                for k in range(int((view.gave[holder] != 0).sum())):
                    record.gave[holder, k] = 1 + hand.pop(chooser.randrange(len(hand)))
            elif record.phase > rules.EXCHANGE:
                hand = cards_in(int(record.hands[holder]) | int(record.gone[holder]))
                hand.remove(int(view.gave[seat, (holder - seat - 1) % 4]) - 1)
                for giver in {0, 1, 2, 3} - {seat, holder}:
                    card = hand.pop(chooser.randrange(len(hand)))
                    record.gave[giver, (holder - giver - 1) % 4] = 1 + card
        denied = (
            int(record.hands[holder]) & c.rank_mask(rank)
            for holder, rank in itertools.product(range(4), range(2, 15))
            if int(record.denied[holder]) >> rank & 1
        )
        if not any(denied) and other.view(seat).key() == state.view(seat).key() != other.key() != state.key():
            return other
    return None


SENSIBLE = "ismcts:30,playout=sensible,merge=true,prune=true"
FULL = "ismcts:30,infosets=full"
OTHERS = ("random", FULL, "ismcts:30,belief=cards", "castelein-mcts:belief=counters,each=3")


@pytest.mark.parametrize(
    ("agents", "players"),
    [
        (("random", SENSIBLE), (SENSIBLE,)),
        pytest.param((*OTHERS, SENSIBLE), (SENSIBLE, FULL), marks=pytest.mark.soak),
    ],
)
def test_nothing_hidden_reaches_an_agent_and_it_plays_whole_games(agents, players):
    check_hidden(Tichu(), agents, n=1, redeal=redeal)
    for agent in players:
        check_agent(agent, Tichu(), 1)


def test_a_search_considers_legal_moves_and_calls_by_thumb():
    """In all phases, in rounds of random and of sensible moves."""
    game, moves, seen = Tichu(), np.zeros(Tichu.max_moves, np.int64), set()
    for seed in range(8):
        state, chooser = deal(game, seed), random.Random(seed)
        while not state.is_over:
            record = state.view().record
            legal = [int(move) for move in moves[: game.legal(record, moves)]]
            promising = [int(move) for move in moves[: game.promising(record, moves)]]
            assert promising
            assert set(promising) <= set(legal)
            assert TICHU not in promising or len(promising) == 1
            thumb = int(game.sensible_move(record, moves, None))
            assert record.phase == rules.PLAYING or thumb in promising
            seen.add(int(record.phase))
            state.play(thumb if seed % 2 else chooser.choice(legal))
    assert seen >= {rules.GRAND, rules.EXCHANGE, rules.AFTER, rules.PLAYING, rules.WISHING}


def test_the_margin_is_that_of_the_round():
    """A game to a target: what counts is by how much the round is won, not who was ahead before."""
    game = Tichu(target=1000)
    state = deal(game, 1)
    state.record.scores[:] = 500, 100
    out = np.zeros(8)
    for gained, margin in (((300, 0), 0.875), ((0, 200), 0.25), ((50, 50), 0.5), ((-400, 200), 0.0)):
        striving = game.objectives["margin"](game, state.record, 1.0)
        winning = game.objectives["ahead"](game, state.record, 1.0)
        later = State(game, state.array.copy())
        later.record.scores[:] += np.array(gained, np.int16)
        striving.value(game, later.record, out)
        assert out[:4].tolist() == [margin, 1 - margin] * 2
        winning.value(game, later.record, out)
        won = 0.5 + 0.5 * np.sign(margin - 0.5)
        assert out[0] == pytest.approx((margin + won) / 2)
        outright = game.objectives["outright"](game, state.record, 1.0)
        outright.value(game, later.record, out)
        assert out[:4].tolist() == [float(margin > 0.5), float(margin < 0.5)] * 2


@pytest.mark.parametrize(
    ("finished", "share"),
    [
        ((1, 0, 2, 0), 1.0),
        ((1, 2, 3, 0), 0.75),
        ((1, 2, 0, 3), 0.5),
        ((2, 1, 3, 0), 0.5),
        ((0, 1, 2, 3), 0.25),
    ],
)
def test_places_count_who_goes_out_before_the_others(finished, share):
    """Half of the value, beside the margin, which is none here."""
    game, out = Tichu(), np.zeros(8)
    state = deal(game, 1)
    state.record.finished[:] = finished
    game.objectives["places"](game, state.record, 1.0).value(game, state.record, out)
    assert out[:4].tolist() == pytest.approx([(0.5 + share) / 2, (1.5 - share) / 2] * 2)


# --- readings of what the thesis leaves open -------------------------------------------------------


def test_monte_carlo_may_decide_all_but_plays_at_random():
    agent = make_agent("castelein-mc:rest=random,each=2", Tichu())
    for state in (deal(Tichu(), 1), play(set_up(["Drg 2H", FOURTEEN, "2C 3C", "2S 3S"]), "Drg")):
        chosen = Counter(agent.choose(state.view(), seed) for seed in range(60))
        assert set(chosen) == set(state.legal_moves())
        assert min(chosen.values()) > 15
    assert math.isnan(agent.advise(deal(Tichu(), 1).view(), 1).rows[0].value)
    state = play(set_up(["JD 2H", FOURTEEN, "2C 3C", "2S 3S"]), "JD")
    chosen = Counter(agent.choose(state.view(), seed) for seed in range(60))
    assert 0 < chosen[TICHU] < 30  # one of five legal moves
    assert len(chosen) > 2


def test_of_equal_moves_the_first_or_the_last_is_taken():
    """Both straights go out, which is a double victory."""
    state = set_up(["5D 6D 7D 8H Phx", "KD 2D", "", "6H 7H"], finished=(0, 0, 1, 0))
    straights = ["5D+6D+7D+8H+Phx=4", "5D+6D+7D+8H+Phx=9"]
    assert state.move_texts()[-2:] == straights
    first, last = (
        make_agent(f"castelein-mc:ties={ties}").choose(state.view(), 1) for ties in ("first", "last")
    )
    assert move_text(last) == straights[1]
    assert move_text(first) != straights[1]


# --- golden transcripts ----------------------------------------------------------------------------


@pytest.mark.parametrize("file", tichu_transcripts.FILES, ids=lambda file: file.stem)
def test_transcript(file):
    """Each is named after the rule that it shows."""
    stored = file.read_text(encoding="utf-8")
    assert tichu_transcripts.played_again(stored) == stored


# --- the course of a round -------------------------------------------------------------------------


def test_eight_cards_then_grand_tichu_then_fourteen():
    state = deal(Tichu(), 1)
    assert state.move_texts() == ["no call", "grand tichu"]
    assert int(state.view(0).record.hands[0]).bit_count() == 8
    assert int(state.view(2).record.hands[2]).bit_count() == 8
    play(state, "no call", "grand tichu", "no call")
    assert int(state.view(0).record.hands[0]).bit_count() == 8
    play(state, "no call")
    assert int(state.view(0).record.hands[0]).bit_count() == 14
    assert list(state.record.called) == [0, 2, 0, 0]


def test_who_called_grand_tichu_is_not_asked_again():
    state = play(deal(Tichu(), 1), "grand tichu", "no call", "no call", "grand tichu")
    assert state.mover == 1
    assert state.move_texts() == ["no call", "tichu"]
    play(state, "tichu", "no call")
    assert state.record.phase == rules.EXCHANGE
    assert list(state.record.called) == [2, 1, 0, 2]


def test_each_gives_a_card_to_each_and_all_change_hands_at_once():
    state = play(deal(Tichu(), 2), *["no call"] * 8)
    before = [int(hand) for hand in state.record.hands]
    given = []
    for seat in range(4):
        for _ in range(3):
            assert state.mover == seat
            assert len(state.legal_moves()) == 14 - len(given) % 3
            given.append(state.legal_moves()[-1])
            assert [int(hand) for hand in state.record.hands] == before
            state.play(given[-1])
    for seat, k in itertools.product(range(4), range(3)):
        card = 1 << given[3 * seat + k] - rules.GIVE
        assert int(state.record.hands[(seat + 1 + k) % 4]) & card
        assert before[seat] & card
    assert all(int(hand).bit_count() == 14 for hand in state.record.hands)


def test_a_card_given_away_is_known_until_it_is_played():
    state = until_play(deal(Tichu(), 2))
    for seat, k in itertools.product(range(4), range(3)):
        card = 1 << int(state.record.gave[seat, k]) - 1
        receiver = (seat + 1 + k) % 4
        assert int(state.view(seat).record.hands[receiver]) & card
        for seed in range(3):
            assert int(state.view(seat).world(seed).record.hands[receiver]) & card
        others = {0, 1, 2, 3} - {seat, receiver}
        assert not any(int(state.view(other).record.hands[receiver]) & card & ~1 for other in others)


def test_gifts_are_silent_and_told_when_all_have_given():
    state = play(deal(Tichu(), 2), *["no call"] * 8)
    game = state.game
    for _ in range(11):
        move = state.legal_moves()[0]
        for observer in range(4):
            label = int(game.label(state.record, np.int64(move), observer))
            assert label == (move if observer == state.mover else SILENT)
            assert bool(game.tell(state.record, move, observer)) == (observer == state.mover)
        state.play(move)
    move = state.legal_moves()[0]
    told = [game.tell(state.record, move, observer) for observer in range(4)]
    assert told[0].startswith("you get ")
    assert told[3].startswith(f"{move_text(move)}; you get ")
    state.play(move)
    for observer in range(4):
        for k in range(3):
            card = int(state.record.gave[(observer + 3 - k) % 4, k]) - 1
            assert move_text(rules.GIVE + card).removeprefix("give ") in told[observer]


def test_the_mah_jong_leads_after_the_exchange():
    state = deal(Tichu(), 3)
    holder = next(seat for seat in range(4) if int(state.record.hands[seat]) & 1)
    others = dict.fromkeys(range(4), "")
    hand = [w for w in range(4, 56) if int(state.record.hands[holder]) >> w & 1][:2]
    others[holder] = " ".join(["Mah", *(move_text(1 << card) for card in hand)])
    until_play(state, others)
    assert state.mover == (holder + 1) % 4


def test_tichu_until_the_own_first_card():
    state = until_play(deal(Tichu(), 5))
    assert "tichu" in state.move_texts()
    first = state.mover
    play(state, "tichu")
    assert state.mover == first
    assert state.record.called[first] == 1
    assert "tichu" not in state.move_texts()
    state.play(next(m for m in state.legal_moves() if int(m).bit_count() == 1 and m != c.MAH_JONG))
    assert "tichu" in state.move_texts()


def test_no_tichu_once_somebody_is_out():
    assert "tichu" in set_up([FOURTEEN, "2H 3H", "2C", "2S 3S"]).move_texts()
    assert "tichu" not in set_up([FOURTEEN, "2H 3H", "", "2S 3S"], finished=(0, 0, 1, 0)).move_texts()


# --- the wish --------------------------------------------------------------------------------------


def test_playing_the_mah_jong_offers_a_wish():
    state = play(set_up(["Mah KD", "2D 3D", "4D 5D", "6D 7D"]), "Mah")
    assert state.mover == 0
    assert state.move_texts() == ["no wish", *(f"wish {rank}" for rank in "23456789TJQKA")]
    assert play(state, "no wish").mover == 1
    assert state.move_texts() == ["pass", "2D", "3D"]


def test_the_wish_in_a_straight_too():
    state = play(set_up(["Mah 2D 3D 4H 5D KD", "2H 3H", "4D 5H", "6D 7D"]), "Mah+2D+3D+4H+5D")
    assert state.record.phase == rules.WISHING


def test_who_can_fulfil_the_wish_must():
    state = play(set_up(["Mah KD", "2D 8D 8H", "4D 5D", "6D 7D"]), "Mah", "wish 8")
    assert state.move_texts() == ["8D", "8H"]
    assert play(state, "8H").record.wish == 0
    assert "pass" in state.move_texts()


def test_the_wish_binds_the_one_who_leads_and_forbids_the_dog():
    state = set_up(["KD 2D", "Dog 8D 3H", "4D 5D", "6D 7D"], turn=1, wish=8)
    assert state.move_texts() == ["8D"]


def test_the_wish_must_be_fulfilled_by_breaking_a_combination():
    state = play(set_up(["5D KD", "8D 8H 8C 2D", "4D", "6D 7D"], wish=8), "5D")
    assert state.move_texts() == ["8D", "8H", "8C"]


def test_the_wish_must_be_fulfilled_with_the_phoenix():
    state = play(set_up(["5D 5H KD", "8D Phx 2D", "4D 3D", "6D 7D"], wish=8), "5D+5H")
    assert state.move_texts() == ["8D+Phx=8"]


def test_the_phoenix_alone_never_fulfils_the_wish():
    state = play(set_up(["5D KD", "Phx 2D", "4D 3D", "6D 7D"], wish=8), "5D")
    assert "pass" in state.move_texts()
    assert play(state, "Phx").record.wish == 8


def test_the_wish_must_be_fulfilled_with_a_bomb_in_turn():
    state = play(set_up(["KD KH 2H", "8D 8H 8C 8S 2D", "4D 3D", "6D 7D"], wish=8), "KD+KH")
    assert state.move_texts() == ["8D+8H+8C+8S"]


def test_a_bomb_without_the_wished_rank_is_no_way_out():
    state = play(set_up(["5D 2H", "8D 9D 9H 9C 9S 2D", "4D 3D", "6D 7D"], wish=8), "5D")
    assert state.move_texts() == ["8D"]


def test_a_bomb_out_of_turn_need_not_hold_the_wished_rank():
    state = play(set_up(["5D 2H", "3H 2D", "8D 9D 9H 9C 9S", "6D 7D"], wish=8), "5D")
    assert state.record.phase == rules.BOMBING
    assert state.mover == 2
    assert play(state, "9D+9H+9C+9S").record.wish == 8


def test_a_wish_that_cannot_be_fulfilled_binds_nobody():
    state = play(set_up(["9D 2H", "8D 2D", "4D 3D", "6D 7D"], wish=8), "9D")
    assert state.move_texts() == ["pass"]
    assert play(state, "pass").record.wish == 8


def test_who_passes_on_the_wish_is_known_not_to_have_the_rank():
    state = play(set_up(["5D 2H", "9D 2D", "8H 3D", "6D 7D"], wish=8), "5D", "pass")
    assert list(state.record.denied) == [1 << 8, 1 << 8, 0, 0]  # seat 0 led without an eight
    for seed in range(20):
        world = state.view(3).world(seed)
        assert not any(int(world.record.hands[seat]) & c.rank_mask(8) for seat in (0, 1))


# --- the Dragon's gift -----------------------------------------------------------------------------


def test_a_trick_won_with_the_dragon_goes_to_an_opponent():
    state = play(set_up(["Drg 2H", "KD 2D", "4D 3D", "6D 7D"]), "Drg", "pass", "pass", "pass")
    assert state.mover == 0
    assert state.move_texts() == ["dragon to 1", "dragon to 3"]
    play(state, "dragon to 3")
    assert list(state.record.won) == [0, 0, 0, 25]
    assert state.mover == 0


def test_the_gift_may_go_to_an_opponent_who_is_out():
    state = set_up(["Drg 2H", "", "4D 3D", "6D 7D"], finished=(0, 1, 0, 0))
    play(state, "Drg", "pass", "pass", "dragon to 1")
    assert state.record.won[1] == 25


def test_a_bombed_dragon_is_the_bombers():
    state = set_up(["Drg 2H", "KD 2D", "4D 3D", "6D 6H 6C 6S 7D"])
    play(state, "Drg", "6D+6H+6C+6S", "pass", "pass", "pass")
    assert state.record.phase == rules.PLAYING
    assert state.record.won[3] == 25


def test_a_dragon_on_the_last_trick_is_given_too():
    state = set_up(["Drg", "KD 2D", "", "6D 7D"], won=(10, 20, 30, 0), finished=(0, 1, 2, 0))
    state.record.finished[:] = (0, 0, 2, 1)
    state.record.hands[3], state.record.left[3] = 0, 0
    play(state, "Drg")
    assert state.move_texts() == ["dragon to 1", "dragon to 3"]
    play(state, "dragon to 3")
    # The king of the last one goes to his opponents, his tricks to seat 3, who was first.
    assert state.returns()[:2] == [10 + 30 + 10, 20 + 25]


def test_no_gift_on_a_double_victory():
    state = set_up(["Drg", "KD 2D", "", "6D 7D"], finished=(0, 0, 1, 0))
    assert play(state, "Drg").is_over
    assert state.returns()[:2] == [200, 0]


# --- bombs -----------------------------------------------------------------------------------------

FOUR_SIXES = "6D 6H 6C 6S"
BOMB = "6D+6H+6C+6S"


def test_a_bomb_out_of_turn():
    state = play(set_up(["5D 2H", "KD 2D", f"{FOUR_SIXES} 3D", "7H 7D"]), "5D")
    assert state.mover == 2
    assert state.move_texts() == ["no bomb 2", BOMB]
    play(state, BOMB)
    assert state.mover == 3
    assert state.move_texts() == ["pass"]


def test_nobody_notices_a_bomb_that_is_not_played():
    state = play(set_up(["5D 2H", "KD 2D", f"{FOUR_SIXES} 3D", "7H 7D"]), "5D")
    for observer in (0, 1, 3):
        view = state.view(observer)
        assert view.record.phase == rules.PLAYING
        assert view.record.turn == 1
        assert int(state.game.label(state.record, np.int64(parse_move("no bomb 2")), observer)) == UNNOTICED
        assert state.game.tell(state.record, parse_move("no bomb 2"), observer) == ""
        after = play(State(state.game, state.array.copy()), "no bomb 2")
        assert after.view(observer).key() == view.key()
    assert play(state, "no bomb 2").mover == 1


def test_who_is_next_bombs_in_turn():
    state = play(set_up(["5D 2H", f"{FOUR_SIXES} KD", "4D 3D", "7H 7D"]), "5D")
    assert state.record.phase == rules.PLAYING
    assert state.move_texts() == ["pass", "6D", "6H", "6C", "6S", "KD", BOMB]


def test_a_bomb_after_all_have_passed():
    state = set_up(["AD 2H", "KD 2D", f"{FOUR_SIXES} 3D", "7H 7D"])
    play(state, "AD", "no bomb 2", "pass", "pass", "pass")
    assert state.mover == 2
    # To the others the trick is taken.
    assert state.view(1).record.turn == 0
    assert state.view(1).record.kind == c.NOTHING
    play(state, BOMB, "pass", "pass", "pass")
    assert state.mover == 2


def test_one_may_bomb_ones_own_play():
    state = play(set_up([f"5D {FOUR_SIXES}", "KD 2D", "4D 3D", "7H 7D"]), "5D")
    assert state.mover == 0
    assert play(state, BOMB).record.finished[0] == 1


def test_the_dog_cannot_be_bombed():
    state = play(set_up(["Dog 2H", f"KD {FOUR_SIXES}", "4D 3D", "7H 7D"]), "Dog")
    assert state.record.phase == rules.PLAYING
    assert state.mover == 2


def test_only_a_higher_bomb_is_offered():
    state = set_up(["8D 8H 8C 8S 2H", "KD 2D", f"{FOUR_SIXES} 3D", "9D 9H 9C 9S 3H"])
    play(state, "8D+8H+8C+8S")
    assert state.mover == 3
    play(state, "no bomb 3")
    assert state.mover == 1


@entry
def find_bombs(hand, length, height, found, plays):
    """Whether a hand has a higher bomb, by bits and by listing."""
    found[0] = c.has_bomb(hand, length, height)
    found[1] = c.list_bombs(hand, length, height, plays, 0) > 0


def test_bombs_by_bits_are_those_listed():
    chosen = random.Random(1)
    found, plays = np.zeros(2), np.zeros(2560, np.int64)
    seen = set()
    for _ in range(4000):
        cards = chosen.sample(range(4, 56), 10)
        suit = chosen.randrange(4)
        cards += [4 * rank + suit for rank in range(chosen.randrange(1, 8), chosen.randrange(8, 14))]
        hand = sum(1 << card for card in set(cards)) | chosen.choice((0, 15))
        length = chosen.choice((0, 4, 5, 6, 7, 8))
        rank = chosen.randrange(max(2, length + 1 if length > 4 else 2), 15)
        find_bombs(np.int64(hand), length, 2 * rank if length else 0, found, plays)
        assert found[0] == found[1], (hand, length, rank)
        seen.add((length, bool(found[0])))
    assert len(seen) == 12  # each with and without


# --- the score -------------------------------------------------------------------------------------


def test_tichu_pays_who_goes_out_first():
    state = set_up(["3D", "4D KD", "5D", "6D KH"], called=(1, 1, 0, 2))
    play(state, "3D", "pass", "5D")
    assert state.returns() == [300, -300, 300, -300]


def test_a_call_is_ones_own_not_the_partners():
    state = set_up(["3D", "4D KD", "5D", "6D KH"], called=(0, 0, 1, 0))
    play(state, "3D", "pass", "5D")
    assert state.returns()[:2] == [100, 0]


def test_a_game_goes_on_to_its_target():
    state = set_up(["3D", "4D KD", "5D", "6D KH"], game=Tichu(target=500), scores=(250, 400))
    play(state, "3D", "pass", "5D")
    assert not state.is_over
    assert list(state.record.scores) == [450, 400]
    state.settle_chance(1, 2)
    assert state.move_texts() == ["no call", "grand tichu"]


@pytest.mark.parametrize(("scores", "is_over"), [((300, 400), True), ((300, 500), False), ((300, 480), True)])
def test_the_higher_total_wins_and_a_tie_plays_on(scores, is_over):
    state = set_up(["3D", "4D KD", "5D", "6D KH"], game=Tichu(target=500), scores=scores)
    assert play(state, "3D", "pass", "5D").is_over == is_over


def test_calls_and_double_victories_are_counted():
    state = set_up(["3D", "4D KD", "5D", "6D KH"], called=(1, 0, 0, 2))
    play(state, "3D", "pass", "5D")
    out = np.zeros((4, 6))
    state.game.tally(state.record, out)
    assert out[0].tolist() == [1, 1, 1, 0, 0, 1]
    assert out[3].tolist() == [1, 0, 0, 1, 0, 0]


def test_without_calls_nobody_is_asked():
    state = deal(Tichu(calls=False), 1)
    assert state.record.phase == rules.EXCHANGE
    until_play(state)
    assert "tichu" not in state.move_texts()


def test_a_target_out_of_range():
    with pytest.raises(BadOption, match="target=-1 cannot be played"):
        load("tichu:target=-1")


# --- texts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("Grand", "grand tichu"), ("no", "no call"), ("give 10d", "give TD"), ("give dragon", "give Drg"),
        ("wish 10", "wish T"), ("wish none", "no wish"), ("NO WISH", "no wish"), ("7D+7H", "7D+7H"),
        ("p", "pass"), ("10C", "TC"), ("tc", "TC"), ("10c+phx=10", "TC+Phx=T"), ("give 10C", "give TC"),
    ],
)  # fmt: skip
def test_moves_as_people_write_them(text, move):
    assert move_text(parse_move(text)) == move


@pytest.mark.parametrize("text", ["give", "give 7D+7H", "wish Z", "dragon to 7", "no tricks", "give pass"])
def test_what_is_no_move(text):
    with pytest.raises(ParseError, match="write "):
        parse_move(text)


def test_the_table_shows_calls_gifts_and_the_wish():
    state = until_play(deal(Tichu(target=1000), 4))
    state.record.called[0], state.record.wish = 2, 10
    told = state.game.picture(state.view(0).record, 0)
    assert "round 1, 0 : 0 points" in told
    assert "Grand Tichu" in told
    assert "wish    T" in told
    assert "to seat 1" in told


def test_advice_is_a_table_however_long_the_moves_are():
    state = set_up(["5D 6D 7D 8H Phx", "KD 2D", "TH 9H", "6H 7H"])
    lines = str(make_agent("random").advise(state.view(), 1)).splitlines()[:-1]
    assert max(map(len, state.move_texts())) > 15
    assert len({len(line) for line in lines}) == 1


def test_the_table_says_who_gets_the_card_that_is_to_be_given():
    state = deal(Tichu(calls=False), 4)
    for receiver in (1, 2, 3):
        assert state.game.picture(state.view(0).record, 0).endswith(f"you, a card for seat {receiver}")
        assert state.game.picture(state.view(2).record, 2).endswith("to play  seat 0")
        state.play(state.legal_moves()[0])


def test_an_illegal_move_is_refused():
    with pytest.raises(IllegalMove):
        play(deal(Tichu(), 1), "tichu")
