"""Tic-tac-toe: the rule book, the size of its tree, and what its symmetries may join."""

from functools import cache

import numpy as np
import pytest

from kibitz.errors import IllegalMove, ParseError
from kibitz.games import load
from kibitz.position import State, deal
from kibitz.testing import check_agent, check_game
from tests.board_games import check_evaluation, count_tree, replayed

GAME = load("tic-tac-toe")


def played(moves):
    state = deal(GAME, 1)
    for move in moves.split():
        state.play(move)
    return state


@cache
def value(crosses, noughts):
    """What the position is worth to seat 0, by trying all."""
    state = State(GAME)
    state.record.marks[0], state.record.marks[1] = crosses, noughts
    state.record.turn = (crosses.bit_count() + noughts.bit_count()) % 2
    if state.is_over:
        return state.returns()[0]
    best = max if state.mover == 0 else min
    return best(value(*after(state, move)) for move in state.legal_moves())


def after(state, move):
    marks = [int(x) for x in state.record.marks]
    marks[state.mover] |= 1 << move
    return tuple(marks)


def all_positions():
    """Every position that can come up and is not over."""
    found, new = {(0, 0)}, [(0, 0)]
    while new:
        marks = new.pop()
        state = State(GAME)
        state.record.marks[:] = marks
        state.record.turn = sum(m.bit_count() for m in marks) % 2
        if state.is_over:
            continue
        yield state
        for move in state.legal_moves():
            if after(state, move) not in found:
                found.add(after(state, move))
                new.append(after(state, move))


# --- the rule book ---


@pytest.mark.parametrize(
    ("moves", "score"),
    [
        ("a1 a2 b1 b2 c1", 1),  # a row
        ("a1 b1 a2 b2 c3 b3", -1),  # a column
        ("a1 a2 b2 b1 c3", 1),  # a diagonal
        ("c1 a1 b2 b1 a3", 1),  # the other one
        ("a1 b1 c1 b2 a2 a3 b3 c3 c2", 0),  # nobody
        ("a1 a2 b1 b2 b3 a3 c2 c3 c1", 1),  # with the last mark
    ],
)
def test_three_in_a_row_win(moves, score):
    state = played(moves)
    assert state.is_over
    assert state.returns() == [score, -score]


def test_a_square_is_taken_once():
    with pytest.raises(IllegalMove, match="legal are a1 b1 c1 a2"):
        played("b2 b2")


@pytest.mark.parametrize("words", ["d1", "a4", "a", "", "11"])
def test_what_is_no_square(words):
    with pytest.raises(ParseError, match="a1 to c3"):
        GAME.parse_move(words)


def test_the_board_is_drawn():
    assert str(played("b2 c1")) == "   a b c\n1  · · O\n2  · X ·\n3  · · ·\n\nX (seat 0) to move"


# --- the whole game ---


def test_complete_games_and_nodes():
    assert count_tree(deal(GAME, 1), 9) == (255_168, 549_946)


def test_the_value_is_a_draw():
    assert value(0, 0) == 0


def test_there_are_5478_positions():
    states = list(all_positions())
    ends = {after(s, m) for s in states for m in s.legal_moves()}
    assert len({tuple(map(int, s.record.marks)) for s in states} | ends) == 5478


# --- symmetry, evaluation, rules of thumb ---


def test_moves_of_one_code_are_worth_the_same():
    joined = 0
    for state in all_positions():
        values = {}
        for move in state.legal_moves():
            code = int(GAME.mirror(state.record, np.int64(move)))
            assert values.setdefault(code, value(*after(state, move))) == value(*after(state, move))
        joined += len(state.legal_moves()) - len(values)
    assert joined > 500


def test_the_first_move_is_a_corner_an_edge_or_the_centre():
    state = deal(GAME, 1)
    codes = [int(GAME.mirror(state.record, np.int64(move))) for move in range(9)]
    assert len(set(codes)) == 3
    assert codes[0] == codes[2] == codes[6] == codes[8]
    assert codes[1] == codes[3] == codes[5] == codes[7]


def test_evaluation():
    check_evaluation(GAME, 20)
    out = np.zeros(2)
    GAME.measure(played("b2 a2").record, out)
    assert out.tolist() == [3 - 1, 0]


def test_quiet_is_when_nobody_threatens():
    assert GAME.is_quiet(played("b2 a1").record)
    assert not GAME.is_quiet(played("b2 a1 b1").record)


def test_sensible_moves_win_and_prevent():
    moves, rng = np.zeros(9, np.int64), np.array([1], np.uint64)
    with np.errstate(over="ignore"):
        assert GAME.move_text(GAME.sensible_move(played("a1 b1 a2 b2").record, moves, rng)) == "a3"
        assert GAME.move_text(GAME.sensible_move(played("a1 b2 a2").record, moves, rng)) == "a3"
        assert GAME.move_text(GAME.sensible_move(played("").record, moves, rng)) == "b2"


def test_the_game_is_right():
    assert all(check.ok for check in check_game(GAME, n=20))


def test_agents_play_it():
    check_agent("rule-based", GAME, n=2)


def test_the_golden_game_is_the_same():
    text, again = replayed("tic-tac-toe")
    assert text == again
