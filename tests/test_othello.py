"""Othello: the rule book, published counts, a naive twin, and what searches use."""

import random

import numpy as np
import pytest

from kibitz.errors import ParseError
from kibitz.games import load
from kibitz.games.othello.rules import PASS, reflected
from kibitz.position import State, deal
from kibitz.testing import check_agent, check_game, walk
from tests.board_games import check_evaluation, count_tree, replayed

GAME = load("othello")
PERFT = (4, 12, 56, 244, 1_396, 8_200, 55_092, 390_216, 3_005_288)
DIRECTIONS = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy]


def board(*rows, to_move):
    return GAME.parse_position("".join(rows).replace(" ", "") + to_move)


# --- the naive twin: a list of signs, square by square ---


def signs(state):
    black, white = (int(x) for x in state.record.discs)
    return ["X" if black >> i & 1 else "O" if white >> i & 1 else "-" for i in range(64)]


def naive_turned(squares, move, me):
    """The squares that a disc on `move` turns over."""
    found = []
    if squares[move] != "-":
        return found
    for dx, dy in DIRECTIONS:
        x, y, line = move % 8 + dx, move // 8 + dy, []
        while 0 <= x < 8 and 0 <= y < 8 and squares[8 * y + x] not in ("-", me):
            line.append(8 * y + x)
            x, y = x + dx, y + dy
        if 0 <= x < 8 and 0 <= y < 8 and squares[8 * y + x] == me:
            found += line
    return found


def naive_moves(squares, me):
    return [move for move in range(64) if naive_turned(squares, move, me)]


def test_like_the_naive_twin():
    chooser, passes, positions = random.Random(1), 0, 0
    for _ in range(25):
        state = deal(GAME, 1)
        while not state.is_over:
            squares, me = signs(state), "XO"[state.mover]
            assert state.legal_moves() == (naive_moves(squares, me) or [PASS])
            move = chooser.choice(state.legal_moves())
            passes += move == PASS
            positions += 1
            for square in [] if move == PASS else [move, *naive_turned(squares, move, me)]:
                squares[square] = me
            state.play(move)
            assert signs(state) == squares
            assert state.is_over == (not naive_moves(squares, "X") and not naive_moves(squares, "O"))
        assert state.returns() == [
            squares.count("X") - squares.count("O"),
            squares.count("O") - squares.count("X"),
        ]
    assert positions > 1000
    assert passes > 5


def test_full_random_boards_like_the_naive_twin():
    chooser = random.Random(2)
    for _ in range(300):
        squares = [chooser.choice("XXOO-") for _ in range(64)]
        me = chooser.choice("XO")
        state = GAME.parse_position("".join(squares) + me)
        if not state.is_over:
            assert state.legal_moves() == (naive_moves(squares, me) or [PASS])


# --- published counts ---


@pytest.mark.parametrize("depth", range(1, 10))
def test_perft(depth):
    assert count_tree(deal(GAME, 1), depth)[0] == PERFT[depth - 1]


# --- the rule book ---


def test_the_start():
    state = deal(GAME, 1)
    assert state.move_texts() == ["d3", "c4", "f5", "e6"]
    assert state.mover == 0
    assert state.returns() == [0, 0]


def test_lines_of_all_eight_directions_are_turned():
    state = board(
        *("X--X--X-", "-O-O-O--", "--OOO---", "XOO-OOOX", "--OOO---", "-O-O-O--", "X--O--X-", "---X----"),
        to_move="X",
    )
    state.play("d4")
    assert "O" not in signs(state)
    assert state.is_over  # white has no disc left, black cannot turn any over
    assert state.returns() == [27, -27]


def test_a_line_does_not_go_round_the_edge():
    state = board("-" * 6 + "XO", "O" * 1 + "-" * 7, "-" * 48, to_move="X")
    assert state.is_over or "b2" not in state.move_texts()


def test_who_cannot_move_passes_and_the_other_goes_on():
    state = board(
        "XXXXXXXX",
        "XOXXXXXX",
        "XXOXXXXX",
        "XXXOXXXX",
        "XXXXXXXX",
        "XXXXXXXX",
        "XXXXXXO-",
        "XXXXXXX-",
        to_move="O",
    )
    assert state.move_texts() == ["pass"]
    state.play("pass")
    assert state.mover == 0
    assert state.move_texts() == ["h7", "h8"]
    state.play("h8")
    assert state.is_over  # h7 is empty, but of no use to anybody


def test_the_game_is_over_when_neither_can_move():
    state = board("X" * 8, "-" * 48, "O" * 8, to_move="X")
    assert state.is_over
    assert state.returns() == [0, 0]


def test_nobody_may_pass_who_can_move():
    assert "pass" not in deal(GAME, 1).move_texts()


@pytest.mark.parametrize("words", ["i1", "a9", "d", "", "d33"])
def test_what_is_no_move(words):
    with pytest.raises(ParseError, match="a1 to h8"):
        GAME.parse_move(words)


def test_what_is_no_position():
    with pytest.raises(ParseError, match="64 squares"):
        GAME.parse_position("XXO")


# --- symmetry, evaluation, order ---


def test_the_first_moves_are_one():
    state = deal(GAME, 1)
    assert {int(GAME.mirror(state.record, np.int64(m))) for m in state.legal_moves()} == {19}


def test_moves_of_one_code_lead_to_the_same_position_but_for_a_symmetry():
    joined = 0
    for state in [s for seed in range(12) for s in list(walk(GAME, seed))[:5] if not s.is_over]:
        groups = {}
        for move in state.legal_moves():
            groups.setdefault(int(GAME.mirror(state.record, np.int64(move))), []).append(move)
        for group in groups.values():
            joined += len(group) - 1
            assert len({lowest_picture(state, move) for move in group}) == 1
    assert joined > 20


def lowest_picture(state, move):
    after = State(GAME, state.array.copy())
    after.play(move)
    return min(tuple(int(reflected(x, s)) for x in after.record.discs) for s in range(8))


def test_the_symmetries_of_the_board():
    corner_and_neighbour = {int(reflected(np.uint64(0b11), s)) for s in range(8)}
    assert len(corner_and_neighbour) == 8
    assert all(int(reflected(np.uint64(1), s)) in (1, 1 << 7, 1 << 56, 1 << 63) for s in range(8))


def test_evaluation():
    check_evaluation(GAME, 3)


def test_features():
    state = board("XO------", "O-------", "-" * 48, to_move="X")
    out = np.zeros(len(GAME.features))
    GAME.measure(state.record, out)
    found = dict(zip(GAME.features, out, strict=True))
    assert found["corners"] == 1
    assert found["discs"] == -1
    assert found["c_squares"] == 0  # beside a corner that is taken
    assert found["mobility"] == 2
    assert found["frontier"] == -1  # b2 touches all three


def test_corners_come_first_and_their_diagonals_last():
    state = deal(GAME, 1)
    order = sorted(range(64), key=lambda move: -GAME.urgency(state.record, move))
    assert set(order[:4]) == {0, 7, 56, 63}
    assert set(order[-4:]) == {9, 14, 49, 54}


def test_a_corner_that_can_be_taken_is_not_quiet():
    assert GAME.is_quiet(deal(GAME, 1).record)
    assert not GAME.is_quiet(board("-OX-----", "-" * 56, to_move="X").record)


def test_the_game_is_right():
    assert all(check.ok for check in check_game(GAME, n=2))


def test_agents_play_it():
    check_agent("rule-based", GAME, n=2)


def test_sensible_play_beats_random_play():
    from kibitz.agents import make_agent
    from kibitz.arena.play import play_game

    won = 0
    for number in range(20):
        sitting = [make_agent(("rule-based", "random")[seat ^ number % 2], GAME) for seat in range(2)]
        won += play_game(GAME, sitting, 1, number, 0).scores[number % 2] > 0
    assert won >= 15


def test_the_golden_game_is_the_same():
    text, again = replayed("othello")
    assert text == again
    assert "pass" in text
