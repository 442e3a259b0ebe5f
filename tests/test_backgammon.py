"""Backgammon: the rule book by examples, a naive twin, OpenSpiel's counts, notation and dice."""

import json
import random
from collections import Counter

import numpy as np
import pytest

from kibitz.errors import IllegalMove, ParseError
from kibitz.games import load
from kibitz.games.backgammon.plays import (
    CHECKERS,
    MOST_PLAYS,
    MOVING,
    OPENING,
    ROLLING,
    move_checkers,
    take_back,
)
from kibitz.games.backgammon.rules import LONGEST
from kibitz.kernel import entry
from kibitz.position import State, deal
from kibitz.rng import stream
from kibitz.testing import check_agent, check_game
from tests import naive_backgammon
from tests.board_games import DATA, check_evaluation, list_results, replayed

SHORT = 7  # the seed of a short game
GAME = load("backgammon")
PLAIN = load("backgammon:gammons=false")


def position(mine, others, roll):
    """A position with seat 0 to move."""
    return GAME.parse_position(f"X: {mine}; O: {others}; X rolls {roll}")


def plays(mine, others, roll):
    return set(position(mine, others, roll).move_texts())


class Lister:
    """The boards that the legal moves of a position lead to, by compiled code."""

    def __init__(self):
        self.positions, self.after = np.zeros(2, GAME.state), np.zeros(MOST_PLAYS, GAME.state)
        self.moves = np.zeros(MOST_PLAYS, np.int64)

    def __call__(self, record):
        self.positions[0] = record
        n = list_results(GAME, self.positions, self.moves, self.after)
        assert n < MOST_PLAYS
        seat = int(record["turn"])
        boards = {board_of(after, seat) for after in self.after[:n]}
        assert len(boards) == n, "two plays lead to the same position"
        return boards


def board_of(record, seat):
    mine, others = record["checkers"][seat], record["checkers"][1 - seat]
    return tuple(map(int, mine)), tuple(map(int, others))


def record_of(mine, others, high, low):
    record = np.zeros(1, GAME.state)
    record["checkers"][0] = mine, others
    record["dice"][0] = high, low
    record["phase"] = MOVING
    return record[0]


def random_record(chooser):
    """Checkers anywhere: over the whole board, all at home, or some of them on the bar."""
    places = chooser.choice(
        [[*range(1, 25)], [0, *range(1, 7)], [0, *range(1, 26), *[25] * 4], [*range(1, 11)]]
    )
    mine, others = [0] * 26, [0] * 26
    for _ in range(CHECKERS):
        mine[chooser.choice(places)] += 1
    free = [0, 25, *(25 - p for p in range(1, 25) if mine[p] == 0)]
    for _ in range(CHECKERS):
        others[chooser.choice(free)] += 1
    dice = sorted((chooser.randint(1, 6), chooser.randint(1, 6)), reverse=True)
    return record_of(mine, others, *dice)


# --- which plays are legal: the rule book ---


def test_the_higher_die_must_be_used_if_only_one_can():
    assert plays("13 off(14)", "23(2) off(13)", "6-5") == {"13/7"}  # 13/8 could go no further either


def test_the_lower_die_if_the_higher_cannot():
    assert plays("13 off(14)", "23(2) 18(2) off(11)", "6-5") == {"13/8"}


def test_both_dice_must_be_used_if_they_can():
    # 6/1 would leave no three to play.
    assert plays("10 6 off(13)", "18(2) 23(2) off(11)", "5-3") == {"10/5 6/3"}


def test_a_checker_may_use_both_dice():
    assert plays("8 24 off(13)", "7(2) 2(2) off(11)", "6-1") == {"8/1"}


def test_doubles_are_four_moves():
    assert plays("24(2) off(13)", "off(15)", "2-2") == {"24/20(2)", "24/18 24/22", "24/16"}


def test_as_many_of_the_four_as_possible():
    assert plays("13 off(14)", "24(2) off(13)", "4-4") == {"13/5"}  # the third would come to a closed point
    assert plays("13 off(14)", "16(2) off(13)", "4-4") == {"pass"}


def test_checkers_on_the_bar_enter_first():
    assert plays("bar(2) 6(5) 8(8)", "6(2) off(13)", "6-5") == {"bar/20"}
    assert plays("bar(2) 6(5) 8(8)", "6(2) 5(2) off(11)", "6-5") == {"pass"}
    assert plays("bar 6(14)", "6(2) 1(2) off(11)", "6-5") == {"bar/14"}
    assert all(text.startswith("bar/") for text in plays("bar 6(4) 8(10)", "24(2) off(13)", "4-3"))


def test_bearing_off():
    assert plays("6 4 off(13)", "6(15)", "6-5") == {"6/off 4/off", "6/1 4/off"}
    assert plays("6 3 off(13)", "6(15)", "5-5") == {"6/off 3/off"}  # 6/1, then the highest
    assert plays("5 4 2 off(12)", "6(15)", "6-6") == {"5/off 4/off 2/off"}


def test_no_bearing_off_before_all_are_home():
    assert plays("7 2 off(13)", "6(15)", "2-1") == {"7/6 2/off", "7/5 2/1", "7/4"}
    assert "6/off" not in " ".join(plays("bar 6(14)", "24(2) off(13)", "6-5"))


def test_a_hit_sends_a_checker_to_the_bar():
    state = position("13 8 off(13)", "18 24(14)", "6-1")
    move = GAME.parse_move("13/7 8/7")
    assert GAME.tell(state.record, move, 0) == "13/7* 8/7*"
    state.play(move)
    assert state.record.checkers[1, 25] == 1
    assert state.record.checkers[0, 7] == 2


def test_hits_on_the_way_make_another_play():
    state = position("13 off(14)", "18 24(14)", "6-1")
    assert set(state.move_texts()) == {"13/7*/6", "13/6"}
    state.play("13/6")
    assert state.record.checkers[1, 18] == 1
    other = position("13 off(14)", "18 24(14)", "6-1")
    other.play("13/7*/6")
    assert other.record.checkers[1].tolist()[25] == 1


def test_a_closed_point():
    texts = deal_with("5-1").move_texts()
    assert "24/19" not in " ".join(texts)
    assert "13/8 24/23" not in texts  # checkers from higher points are written first
    assert "24/23 13/8" in texts


def deal_with(roll):
    state = State(GAME)
    GAME.play(state.record, GAME.parse_move(roll))
    return state


def test_plays_of_the_start_like_the_naive_twin():
    lister = Lister()
    for high in range(1, 7):
        for low in range(1, high + 1):
            start = deal_with("2-1").record
            start.dice[0], start.dice[1] = high, low
            expected = naive_backgammon.results(board_of(start, 0), high, low)
            assert lister(np.array(start.tolist(), GAME.state)) == expected


# --- which plays are legal: the twin and OpenSpiel ---


def test_random_positions_like_the_naive_twin():
    chooser, lister, doubles, passes = random.Random(1), Lister(), 0, 0
    for _ in range(1200):
        record = random_record(chooser)
        high, low = map(int, record["dice"])
        boards = lister(record)
        assert boards == naive_backgammon.results(board_of(record, 0), high, low)
        doubles += high == low
        passes += boards == {board_of(record, 0)}
    assert doubles > 100
    assert passes > 5


def test_positions_of_games_like_the_naive_twin():
    lister, n = Lister(), 0
    for record in game_positions(40, seed=3):
        high, low = map(int, record["dice"])
        assert lister(record) == naive_backgammon.results(board_of(record, int(record["turn"])), high, low)
        n += 1
    assert n > 300


@pytest.mark.parametrize("part", range(3))
def test_as_many_boards_as_open_spiel_finds(part):
    items = json.loads((DATA / "backgammon_counts.json").read_text(encoding="utf-8"))
    assert len(items) >= 1000
    lister = Lister()
    for mine, others, roll, boards in items[part::3]:
        checkers = [[ord(letter) - ord("a") for letter in seat] for seat in (mine, others)]
        assert len(lister(record_of(*checkers, int(roll[0]), int(roll[1])))) == boards


@entry
def random_games(game, positions, moves, kept, about, n, rng):
    """Play random games, keep every tenth position, and note how many moves there were at most, and plies."""
    k = np.int64(0)
    for _ in range(n):
        positions[0] = positions[1]
        plies = 0
        while not game.is_over(positions[0]):
            if game.mover(positions[0]) < 0:
                game.deal(positions[0], rng)
                continue
            about[0] = max(about[0], game.legal(positions[0], moves))
            if plies % 10 == 0 and k < len(kept):
                kept[k] = positions[0]
                k += 1
            game.play(positions[0], game.random_move(positions[0], moves, rng))
            plies += 1
            about[1] = max(about[1], plies)
            about[2] += 1
    return k


def game_positions(n, seed, most=100_000):
    kept, about = np.zeros(most, GAME.state), np.zeros(3, np.int64)
    moves = np.zeros(MOST_PLAYS, np.int64)
    k = random_games(GAME, np.zeros(2, GAME.state), moves, kept, about, n, stream(seed))
    game_positions.about = about
    return kept[:k]


def test_buffers_and_games_are_long_enough():
    game_positions(5000, seed=4, most=1)
    widest, longest, _ = game_positions.about
    assert widest < MOST_PLAYS / 2
    assert longest < LONGEST / 2


def test_a_board_full_of_single_checkers_has_fewer_plays_than_the_bound():
    blots = [0, *[0] * 9, *[1] * 15, 0]
    others = [15, *[0] * 25]
    for die in range(1, 7):
        assert len(Lister()(record_of(blots, others, die, die))) < MOST_PLAYS / 2


# --- dice ---


def test_the_opening_roll_has_no_doubles_and_the_higher_die_begins():
    moves, odds = np.zeros(MOST_PLAYS, np.int64), np.zeros(MOST_PLAYS)
    state = State(GAME)
    assert state.mover == -1
    n = GAME.outcomes(state.record, moves, odds)
    assert n == 30
    assert odds[:n].sum() == pytest.approx(1)
    for move in moves[:n]:
        state = State(GAME)
        GAME.play(state.record, move)
        first, second = map(int, GAME.move_text(move).split("-"))
        assert first != second
        assert state.mover == (0 if first > second else 1)
        assert state.record.dice.tolist() == sorted((first, second), reverse=True)


def test_later_rolls_are_21():
    state = deal(GAME, 1)
    state.play(state.legal_moves()[0])
    assert state.record.phase == ROLLING
    moves, odds = np.zeros(MOST_PLAYS, np.int64), np.zeros(MOST_PLAYS)
    n = GAME.outcomes(state.record, moves, odds)
    assert n == 21
    assert odds[:n].sum() == pytest.approx(1)
    for move, chance in zip(moves[:n], odds[:n], strict=True):
        first, second = map(int, GAME.move_text(move).split("-"))
        assert chance == pytest.approx(1 / 36 if first == second else 1 / 18)
        after = State(GAME, state.array.copy())
        GAME.play(after.record, move)
        assert after.mover == state.record.turn
        assert after.record.dice.tolist() == [first, second]


@pytest.mark.parametrize("opening", [True, False])
def test_the_dice_are_fair(opening):
    before = State(GAME)
    if not opening:
        before = deal(GAME, 1)
        before.play(before.legal_moves()[0])
    moves, odds = np.zeros(MOST_PLAYS, np.int64), np.zeros(MOST_PLAYS)
    expected = Counter()
    for i in range(GAME.outcomes(before.record, moves, odds)):
        after = State(GAME, before.array.copy())
        GAME.play(after.record, moves[i])
        expected[after.key()] += odds[i]
    draws = 4000
    rolled = Counter()
    for seed in range(draws):
        after = State(GAME, before.array.copy())
        after.settle_chance(seed, 5)
        rolled[after.key()] += 1
    assert set(rolled) == set(expected)
    square = sum((rolled[key] - draws * p) ** 2 / (draws * p) for key, p in expected.items())
    assert square < 70  # 20 or 29 degrees of freedom


# --- the end ---


@pytest.mark.parametrize(
    ("loser", "points"),
    [
        ("6(14) off", 1),
        ("bar 6(13) off", 1),
        ("6(15)", 2),
        ("18 6(14)", 2),  # not yet in the winner's home board
        ("19 6(14)", 3),
        ("bar 6(14)", 3),
    ],
)
def test_gammon_and_backgammon(loser, points):
    state = position("1 off(14)", loser, "6-5")
    state.play("1/off")
    assert state.is_over
    assert state.returns() == [points, -points]
    plain = PLAIN.parse_position(f"X: 1 off(14); O: {loser}; X rolls 6-5")
    plain.play("1/off")
    assert plain.returns() == [1, -1]
    assert PLAIN.score_range() == (-1, 1)


def test_a_game_without_end_is_a_draw():
    state = deal(GAME, 1)
    state.record.ply = LONGEST - 1
    state.play(state.legal_moves()[0])
    assert state.is_over
    assert state.returns() == [0, 0]


# --- notation ---


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("6/5 13/8", "13/8 6/5"),
        ("13/11(2)", "13/11(2)"),
        ("13/11 13/11 6/4(2)", "13/11(2) 6/4(2)"),
        ("24/18/13", "24/13"),
        ("24/18 18/13", "24/13"),
        ("24/18*/13", "24/18*/13"),
        ("24/18* 18/13", "24/18*/13"),
        ("24/18* 13/8*", "24/18 13/8"),
        ("Bar/22, 6/OFF", "bar/22 6/off"),
        ("8/5* (2)", "8/5(2)"),
        ("25/20 6/0", "bar/20 6/off"),
        ("bar/23*/21(2)", "bar/23*/21 bar/21"),
        ("no move", "pass"),
    ],
)
def test_plays_are_read(words, text):
    assert GAME.move_text(GAME.parse_move(words)) == text


@pytest.mark.parametrize("words", ["13", "8/13", "26/20", "13-8", "", "13/8/", "x", "8/8"])
def test_what_is_no_play(words):
    with pytest.raises(ParseError, match="is not a play"):
        GAME.parse_move(words)


def test_legal_plays_are_told_apart():
    with pytest.raises(IllegalMove, match="legal are 8/3 6/3, 8/3 8/5, 13/10 8/3"):
        deal(load("backgammon"), 3).play("13/9")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("6(15)", "write the places"),
        ("X: 6(14); O: 6(15); X rolls 6-5", "14 checkers"),
        ("X: 6(15); O: 19(15); X rolls 6-5", "both are on"),
        ("X: 6(14) 27; O: 6(15); X rolls 6-5", "not a place"),
    ],
)
def test_what_is_no_position(words, reason):
    with pytest.raises(ParseError, match=reason):
        GAME.parse_position(words)


def test_plays_and_texts_are_one_to_one():
    moves = np.zeros(MOST_PLAYS, np.int64)
    chooser = random.Random(5)
    for _ in range(300):
        state = State(GAME, np.array([random_record(chooser)]))
        n = GAME.legal(state.record, moves)
        texts = [GAME.move_text(move) for move in moves[:n]]
        assert len(set(texts)) == n
        assert [GAME.parse_move(text) for text in texts] == moves[:n].tolist()
        told = [GAME.tell(state.record, move, 0) for move in moves[:n]]
        assert [GAME.parse_move(text) for text in told] == moves[:n].tolist()


# --- what searches use ---


def test_a_play_can_be_taken_back():
    moves, chooser = np.zeros(MOST_PLAYS, np.int64), random.Random(6)
    for _ in range(100):
        state = State(GAME, np.array([random_record(chooser)]))
        before = state.key()
        for move in moves[: GAME.legal(state.record, moves)]:
            hits = move_checkers(state.record.checkers[0], state.record.checkers[1], move)
            take_back(state.record.checkers[0], state.record.checkers[1], move, hits)
            assert state.key() == before


def test_evaluation():
    check_evaluation(GAME, 1)


def test_features():
    state = position("bar 24 13(5) 8(2) 6(2) 5(2) 4(2)", "24 13(5) 8(3) 6(5) off", "6-5")
    out = np.zeros(len(GAME.features))
    GAME.measure(state.record, out)
    found = dict(zip(GAME.features, out, strict=True))
    assert found["on_bar"] == 1
    assert found["borne_off"] == -1
    assert found["on_roll"] == 1
    assert found["points"] == 5 - 3
    assert found["home_points"] == 3 - 1
    assert found["prime"] == 3 - 1
    assert found["blots"] == 1 - 1
    assert found["pips"] == (25 + 24 + 65 + 16 + 12 + 10 + 8) - (24 + 65 + 24 + 30)


def test_in_a_race_there_are_neither_blots_nor_points():
    out = np.zeros(len(GAME.features))
    GAME.measure(position("6(14) 5", "6(13) 5 4", "6-5").record, out)
    found = dict(zip(GAME.features, out, strict=True))
    assert found["blots"] == found["points"] == found["home_points"] == found["prime"] == 0


def test_quiet_is_when_nobody_is_on_the_bar():
    assert GAME.is_quiet(deal(GAME, 1).record)
    assert not GAME.is_quiet(position("bar 6(14)", "24(2) off(13)", "6-5").record)


def test_the_game_is_right():
    assert all(check.ok for check in check_game(GAME, n=1, seed=SHORT))


def test_agents_play_it():
    check_agent("rule-based", GAME, n=1)


def test_the_golden_game_is_the_same():
    text, again = replayed("backgammon")
    assert text == again
    assert "bar/" in text
    assert "/off" in text
    assert "*" in text


def test_a_record_of_zeros_waits_for_the_opening():
    assert State(GAME).record.phase == OPENING
    assert not State(GAME).is_over
