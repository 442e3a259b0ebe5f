"""Mini-Tichu: combinations against a generator that tries all subsets, the rules, what is seen."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from kibitz.agents import make_agent
from kibitz.errors import IllegalMove, ParseError
from kibitz.games.mini_tichu.rules import OVER, MiniTichu
from kibitz.games.tichu import combinations as c
from kibitz.games.tichu.text import card_text, parse_play, play_text
from kibitz.kernel import entry
from kibitz.position import State, deal
from kibitz.testing import check_agent, check_game, check_hidden


@entry
def list_leads(hand, plays):
    """The leads of a hand, compiled."""
    return c.list_leads(hand, plays)


@entry
def list_answers(hand, kind, length, height, plays):
    """The answers of a hand, compiled."""
    return c.list_answers(hand, kind, length, height, plays, 0)


@entry
def describe(play, before, led, out):
    """Kind and height of a play, compiled."""
    out[0], out[1] = c.kind_of(play), c.height_of(play, before, led)


def mask(*words):
    return sum(parse_play(word) for word in words)


# --- the naive twin --------------------------------------------------------------------------------


def meanings(cards):
    """What a set of cards can mean: (kind, number of cards, twice the rank that counts, Phoenix as).

    Written from the rule book, by trying all ranks for the Phoenix; singles are left to the trick.
    """
    cards = list(cards)
    specials = [card for card in cards if card < 4]
    n = len(cards)
    if n == 1:
        height = {0: 2, 1: 0, 3: 30}.get(cards[0], 2 * (cards[0] // 4 + 1))
        return {(c.SINGLE, 1, height if cards[0] != 2 else None, 0)}
    if 1 in specials or 3 in specials:  # Dog and Dragon go alone
        return set()
    found = set()
    for wild in range(2, 15) if 2 in specials else (0,):
        ranks = [1 if card == 0 else card // 4 + 1 for card in cards if card != 2] + [wild] * bool(wild)
        counts, distinct = Counter(ranks), sorted(set(ranks))
        consecutive = distinct == list(range(distinct[0], distinct[0] + len(distinct)))
        suits = {card % 4 for card in cards}
        times = sorted(counts.values())
        if 1 in counts and not (len(distinct) == n >= 5 and consecutive):
            continue  # the Mah Jong is a single card or the start of a straight
        if times == [2]:
            found.add((c.PAIR, 2, 2 * distinct[0], wild))
        if times == [3]:
            found.add((c.THREE, 3, 2 * distinct[0], wild))
        if times == [4] and not wild:
            found.add((c.BOMB, 4, 2 * distinct[0], 0))
        if times == [2, 3]:
            three = next(rank for rank, k in counts.items() if k == 3)
            found.add((c.FULL_HOUSE, 5, 2 * three, wild))
        if len(times) >= 2 and set(times) == {2} and consecutive:
            found.add((c.STAIRS, n, 2 * distinct[-1], wild))
        if len(distinct) == n >= 5 and consecutive:
            is_flush = len(suits) == 1 and not specials
            found.add((c.BOMB if is_flush else c.STRAIGHT, n, 2 * distinct[-1], wild))
    return found


def beats(play, trick):
    """Whether a play (kind, cards, height) may follow a trick."""
    kind, n, height = play
    if kind == c.BOMB:
        return trick[0] != c.BOMB or (n, height) > trick[1:]
    return (kind, n) == trick[:2] and height > trick[2]


def naive_leads(hand):
    plays = {}
    for n in range(1, len(hand) + 1):
        for cards in itertools.combinations(hand, n):
            for kind, length, height, wild in meanings(cards):
                plays[sum(1 << card for card in cards) | wild << 56] = (kind, length, height)
    return plays


def naive_answers(hand, trick):
    found = set()
    for play, (kind, n, height) in naive_leads(hand).items():
        if play == 1 << 1:
            continue  # the Dog is only led
        if height is None:  # the Phoenix alone: above anything but the Dragon
            if trick[0] == c.SINGLE and trick[2] < 30:
                found.add(play)
        elif beats((kind, n, height), trick):
            found.add(play)
    return found


def hands(n, count, seed):
    """Random hands; every second one from few ranks, so that combinations abound."""
    chosen = random.Random(seed)
    for i in range(count):
        deck = range(56)
        if i % 2:
            low = chosen.randrange(2, 10)
            deck = [*range(4), *range(4 * (low - 1), 4 * (low + 4))]
        yield chosen.sample(list(deck), n)


def compiled(function, *arguments):
    plays = np.zeros(MiniTichu.max_moves, np.int64)
    n = function(*arguments, plays)
    listed = plays[:n].tolist()
    assert len(set(listed)) == n, "a play is listed twice"
    return listed


@pytest.mark.parametrize(
    ("cards", "count"), [(3, 800), (4, 800), (5, 800), (6, 500), (7, 300), (9, 30), (10, 6)]
)
def test_leads_are_those_of_a_generator_that_tries_all_subsets(cards, count):
    kinds = Counter()
    for hand in hands(cards, count, cards):
        expected = naive_leads(hand)
        listed = compiled(list_leads, np.int64(sum(1 << card for card in hand)))
        assert set(listed) == set(expected), [card_text(card) for card in hand]
        out = np.zeros(2, np.int64)
        for play in listed:
            describe(np.int64(play), np.int64(0), np.int64(1), out)
            kind, _, height = expected[play]
            kinds[kind] += 1
            if play == 1 << 1:
                continue  # nothing follows the Dog
            assert tuple(out) == (kind, 1 if height is None else height), play_text(play)
    if 5 <= cards <= 9:
        assert set(kinds) >= {c.SINGLE, c.PAIR, c.THREE, c.FULL_HOUSE, c.STRAIGHT, c.STAIRS}
    if cards == 7:
        assert kinds[c.BOMB] > 0


@pytest.mark.parametrize(("cards", "count"), [(4, 400), (6, 200), (8, 60)])
def test_answers_are_those_of_a_generator_that_tries_all_subsets(cards, count):
    """Over the tricks that another hand could have led, and over a Phoenix that was led."""
    answered = Counter()
    for hand, other in zip(hands(cards, count, 1), hands(8, count, 2), strict=True):
        led = naive_leads(other).values()
        tricks = {(k, n, 1 if h is None else h) for k, n, h in led if (k, h) != (c.SINGLE, 0)}
        for kind, n, height in random.Random(cards).sample(sorted(tricks), min(12, len(tricks))):
            arguments = (np.int64(sum(1 << card for card in hand)), kind, n, height)
            listed = compiled(list_answers, *arguments)
            assert set(listed) == naive_answers(hand, (kind, n, height)), (hand, kind, n, height)
            answered[kind] += len(listed)
    assert answered[c.SINGLE]
    assert answered[c.PAIR]


def test_bombs_over_bombs():
    """Hands of two suits and of few ranks, over bombs of four to seven cards."""
    chosen, listed = random.Random(3), 0
    for i in range(60):
        low = chosen.randrange(2, 8)
        ranks = range(low, low + 3) if i % 2 else range(low, low + 7)
        deck = [4 * (rank - 1) + suit for rank in ranks for suit in (range(4) if i % 2 else (0, 2))]
        hand = chosen.sample(deck, 9)
        for trick in ((4, 2 * low), (4, 28), (5, 2 * low + 8), (6, 2 * low + 10), (7, 2 * low + 12)):
            found = compiled(list_answers, np.int64(sum(1 << card for card in hand)), c.BOMB, *trick)
            assert set(found) == naive_answers(hand, (c.BOMB, *trick))
            listed += len(found)
    assert listed > 40


def test_numbers_of_plays_of_full_hands():
    """Counted once by trying all subsets of fourteen cards: leads, and answers to every kind of trick."""
    for words, leads, answers in COUNTS:
        hand = np.int64(mask(*words.split()))
        assert len(compiled(list_leads, hand)) == leads, words
        assert tuple(len(compiled(list_answers, hand, *trick)) for trick in TRICKS) == answers, words


TRICKS = (
    *((c.SINGLE, 1, 14), (c.PAIR, 2, 8), (c.STAIRS, 4, 10), (c.THREE, 3, 8)),
    *((c.FULL_HOUSE, 5, 8), (c.STRAIGHT, 5, 16), (c.BOMB, 4, 6)),
)
COUNTS = [
    ("Mah 2H 3D 3S 5H 6H 6S 8H 9D TC TS JS QS AS", 19, (7, 2, 0, 0, 0, 2, 0)),
    ("Phx 3C 4S 7D 7S 8D 9S TS QD QH QC KH KS AH", 148, (10, 16, 14, 6, 26, 19, 0)),
    ("Drg 2D 2C 2S 3D 4H 4C 5C 7D 9D TH JS QD KH", 21, (6, 0, 0, 0, 0, 1, 0)),
    ("Phx 7D 7H 7C 8C 9D 9C 9S TD TH TS QD QH QS", 479, (11, 25, 33, 16, 184, 81, 0)),
    ("Phx 5D 5S 6D 6H 6C 6S 8H 8C 8S 9D 9C 9S TH", 519, (9, 27, 53, 20, 219, 109, 1)),
    ("Phx 2D 2H 2C 2S 3D 3C 4C 5H 5S 6D 6H 6S 7S", 792, (2, 11, 16, 6, 53, 1, 0)),
    ("Mah Phx 8D 8H 8C 9D 9H TD TH TC JH QH QC QS", 634, (14, 23, 31, 14, 121, 225, 1)),
    ("Phx 7D 7H 7C 7S 8H 8S 9D 9H 9C TD JD JC JS", 927, (11, 27, 41, 20, 219, 289, 1)),
    ("2D 3D 4D 5D 6D 7D 8D 9D 9H 9C 9S TD JC KH", 91, (24, 22, 16, 20, 16, 26, 16)),
]


def test_there_is_room_for_all_plays_of_the_richest_hands():
    """Few ranks and the Phoenix make the most plays. The list has room for them, and for its own work: 2,191
    places are the most that a climb from 60 random hands, card by card, has found.
    """
    plays = np.zeros(2 * MiniTichu.max_moves, np.int64)

    def places(hand):
        plays[:] = -1
        list_leads(np.int64(sum(1 << card for card in hand)), plays)
        return int(np.flatnonzero(plays >= 0)[-1]) + 1

    richest = mask("Phx", *["TH", "TC", "TS", "JD", "JH", "JC", "JS", "QD", "QC", "QS", "KD", "KH", "KS"])
    assert places([card for card in range(56) if richest >> card & 1]) == 2191 < MiniTichu.max_moves
    chosen = random.Random(5)
    for _ in range(500):
        low = chosen.randrange(2, 10)
        hand = [2, *chosen.sample(range(4 * (low - 1), 4 * (low + 4)), 13)]
        assert places(hand) <= 2191


# --- texts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["pass", "7D", "7D+7H", "Mah+2D+3H+4C+5S", "7D+7H+Phx=7", "Dog", "Drg", "Phx", "TS+JD+QD+KD+Phx=A"],
)
def test_plays_are_read_as_they_are_written(text):
    assert play_text(parse_play(text)) == text


def test_other_spellings():
    assert parse_play("10d + phoenix=10") == parse_play("TD+Phx=T")
    assert parse_play("mahjong") == 1


@pytest.mark.parametrize("text", ["", "7X", "7D+7D", "7D=8", "Phx=1", "Phx=Z", "11D"])
def test_what_is_no_play(text):
    with pytest.raises(ParseError, match=r"write cards joined by \+|twice"):
        parse_play(text)


# --- rules -----------------------------------------------------------------------------------------


def set_up(hands, turn=0, won=(0, 0, 0, 0), finished=(0, 0, 0, 0), rules=None):
    """A position in which `turn` leads; hands as in '7D 7H Phx', cards not named have been played."""
    state = State(rules or MiniTichu())
    record = state.record
    masks = [mask(*hand.split()) for hand in hands]
    record.hands[:] = masks
    record.left[:] = [hand.bit_count() for hand in masks]
    record.played = (1 << 56) - 1 & ~sum(masks)
    record.won[:] = won
    record.finished[:] = finished
    record.turn, record.phase = turn, 1
    record.starter = next((seat for seat, hand in enumerate(masks) if hand & 1), 0)
    return state


def play(state, *plays):
    for words in plays:
        state.play(words)
    return state


@pytest.mark.parametrize("n", [2, pytest.param(10, marks=pytest.mark.soak)])
def test_the_rules_pass_all_checks(n):
    check_game(MiniTichu(), n=n)


SEARCHES = ("random", "flat:20", "ismcts:30", "ismcts:30,belief=cards", "determinized:20,trees=2")


@pytest.mark.parametrize(
    "agents", [("random", "ismcts:30,belief=cards"), pytest.param(SEARCHES, marks=pytest.mark.soak)]
)
def test_nothing_hidden_reaches_an_agent(agents):
    check_hidden(MiniTichu(), agents, n=1)


def test_whole_paths_hold_plays_of_many_cards():
    """A play is a number of up to sixty bits, also where a path is kept as a line of moves."""
    check_agent("uct:200,expand=path", MiniTichu(), 1)


def negamax(state):
    """The margin of the mover's side when all see everything, by trying all plays."""
    sign = 1 if state.mover % 2 == 0 else -1
    best = -1000
    for move in state.legal_moves():
        later = State(state.game, state.array.copy())
        later.play(move)
        if later.is_over:
            north_south, east_west = later.returns()[:2]
            value = sign * (north_south - east_west)
        else:
            value = negamax(later) * (1 if later.mover % 2 == state.mover % 2 else -1)
        best = max(best, value)
    return best


@pytest.mark.parametrize("n", [14, pytest.param(40, marks=pytest.mark.soak)])
def test_small_endings_are_negamax_in_the_mean_of_all_worlds(n):
    chooser, tried = random.Random(1), 0
    for seed in range(n):
        state = deal(MiniTichu(), seed)
        while not state.is_over and state.record.left.sum() > 7:
            state.play(chooser.choice(state.legal_moves()))
        view = None if state.is_over else state.view()
        if view is None or len(state.legal_moves()) == 1:
            continue
        worlds = int(state.game.worlds_left(view.record, view.seat))
        if worlds > 8:
            continue
        expected = {}
        for move in state.legal_moves():
            values = []
            for number in range(worlds):
                world = State(state.game, view.array.copy())
                state.game.world(world.record, view.seat, number)
                world.play(move)
                if world.is_over:
                    margin = float(np.subtract(*world.returns()[:2])) * (1 - 2 * (view.seat % 2))
                else:
                    margin = negamax(world) * (1 if world.mover % 2 == view.seat % 2 else -1)
                values.append(margin)
            expected[move] = 0.5 + 0.5 * np.mean(values) / 200
        advice = make_agent("ismcts:10,endings=8,objective=margin").advise(view, 1)
        assert advice.exact
        assert {row.move: row.value for row in advice.rows} == pytest.approx(expected)
        tried += 1
    assert tried > n // 8


def test_passing_does_not_end_ones_part_in_a_trick():
    state = set_up(["4D KD 2D", "5D AD 2H", "6D 2C 3D", "7D 2S 3H"])
    play(state, "4D", "pass", "6D", "7D", "KD", "AD", "pass", "pass", "pass")
    assert state.mover == 1


def test_the_dog_gives_the_lead_to_the_partner():
    state = play(set_up(["Dog 3D", "4D 4H", "5D 5H", "6D 6H"]), "Dog")
    assert state.mover == 2
    assert "5D+5H" in state.move_texts()


def test_the_dog_passes_on_from_a_partner_who_is_out():
    state = play(set_up(["Dog 3D", "4D 4H", "", "6D 6H"], finished=(0, 0, 1, 0)), "Dog")
    assert state.mover == 3


def test_the_dog_may_come_back():
    state = set_up(["Dog 3D", "4D", "", ""], finished=(0, 0, 1, 2))
    assert play(state, "Dog").mover == 0


def test_the_phoenix_is_half_a_rank_above_the_card_before():
    state = play(set_up(["AD 2D 3D", "Phx 4D 3H", "AH 5D 3C", "Drg 6D 3S"]), "AD", "Phx")
    assert state.move_texts() == ["pass"]
    play(state, "pass")
    assert state.move_texts() == ["pass", "Drg"]


def test_the_phoenix_does_not_beat_the_dragon():
    state = play(set_up(["Drg 2D", "Phx 4D", "AH 5D", "6D 7D"]), "Drg")
    assert state.move_texts() == ["pass"]


@pytest.mark.parametrize(("led", "is_beaten"), [("0.5", True), ("1.5", False)])
def test_the_phoenix_led_alone_counts_half_or_one_and_a_half(led, is_beaten):
    rules = MiniTichu(phoenix_led=MiniTichu.choices["phoenix_led"][led])
    state = play(set_up(["Phx 4D", "Mah 2D", "AH 5D", "6D 7D"], rules=rules), "Phx")
    assert ("Mah" in state.move_texts()) == is_beaten
    assert "2D" in state.move_texts()


def test_a_bomb_beats_anything_and_a_longer_one_a_shorter():
    state = set_up(["Drg 2D", "3D 3H 3C 3S 4D", "5H 6H 7H 8H 9H 4C", "AD AH AC AS 2H"])
    play(state, "Drg", "3D+3H+3C+3S", "5H+6H+7H+8H+9H")
    assert state.move_texts() == ["pass"]


def test_a_bomb_has_no_phoenix():
    state = play(set_up(["Drg 2D", "3D 3H 3C Phx 4D", "5H 5D", "AD AH"]), "Drg")
    assert state.move_texts() == ["pass"]


def test_a_straight_of_one_suit_is_a_bomb_never_a_straight():
    state = set_up(["3D 4D 5D 6D 7D 2H", "4H 5H 6H 7H 8C 2C", "KD KH", "QD QH"])
    play(state, "3D+4D+5D+6D+7D")
    assert state.record.kind == c.BOMB
    assert state.move_texts() == ["pass"]


def test_full_houses_of_two_pairs_and_the_phoenix_are_two_plays():
    state = set_up(["4D 4H 9D 9H Phx 2D", "5D 5H 5C KD KH 2H", "AD", "AH"])
    low, high = "4D+4H+9D+9H+Phx=4", "4D+4H+9D+9H+Phx=9"
    assert {low, high} <= set(state.move_texts())
    beaten = play(State(state.game, state.array.copy()), low)
    assert "5D+5H+5C+KD+KH" in beaten.move_texts()
    assert "5D+5H+5C+KD+KH" not in play(state, high).move_texts()


def test_two_partners_first_and_second_make_two_hundred():
    state = set_up(["3D", "4D KD", "5D", "6D KH"], won=(0, 40, 0, 30))
    play(state, "3D", "pass", "5D")
    assert state.record.phase == OVER
    assert state.returns() == [200, 0, 200, 0]


def test_the_last_gives_its_hand_to_the_others_and_its_tricks_to_the_first():
    """Seat 1 went out first, 0 and 2 follow; 3 is left with a king and has 30 points in tricks."""
    state = set_up(["3D", "", "5D", "6D KH"], won=(20, 10, -25, 30), finished=(0, 1, 0, 0))
    play(state, "3D", "5D")
    assert state.record.phase == OVER
    # 5 for the five that was just played to north's side, the king to them too, 30 to seat 1.
    assert state.returns() == [20 - 25 + 5 + 10, 10 + 30, 20 - 25 + 5 + 10, 10 + 30]


def test_the_trick_of_a_player_without_cards_goes_to_him_and_the_next_leads():
    state = set_up(["5D", "4D KD", "8D 9D", "6D KH"])
    play(state, "5D", "pass", "pass", "pass")
    assert state.record.won[0] == 5
    assert state.mover == 1


def test_a_hundred_points_in_all():
    assert int(c.points(c.DECK)) == 100
    for seed in range(30):
        state, chosen = deal(MiniTichu(), seed), random.Random(seed)
        while not state.is_over:
            state.play(chosen.choice(state.legal_moves()))
        ours, theirs = state.returns()[:2]
        assert ours + theirs in (100, 200)
        if ours + theirs == 200 and 200 not in (ours, theirs):
            pytest.fail("two hundred points only for a double victory")


def test_the_mah_jong_is_known_to_be_with_the_starter():
    state = deal(MiniTichu(), 3)
    starter = state.mover
    other = (starter + 1) % 4
    assert int(state.view(other).record.hands[starter]) == 1
    for seed in range(10):
        assert int(state.view(other).world(seed).record.hands[starter]) & 1


def test_an_illegal_play_is_refused():
    state = play(set_up(["4D 2D", "5D 3D", "6D 3H", "7D 3C"]), "4D")
    with pytest.raises(IllegalMove, match="legal are pass 5D"):
        state.play("3D")
