"""Exact endings against recursion over the naive rules."""

import numpy as np
import pytest

from kibitz.agents import make_agent
from kibitz.games.briskola.rules import Briskola
from kibitz.search import exact
from kibitz.search.objective import score
from tests.naive import best_scores, count_nodes
from tests.positions import naive_of, random_state, set_up


def naive_values(twin, seat):
    return {card: best_scores(twin.after(card))[seat] for card in twin.legal()}


def values_of(advice):
    return {row.text: row.value for row in advice.rows}


@pytest.mark.parametrize("n", [2500, pytest.param(100_000, marks=pytest.mark.soak)])
def test_endings_of_two_seats_are_solved(n):
    """With the stock empty nothing is hidden: the unseen cards are the other hand."""
    game = Briskola(2)
    agent = make_agent("flat:1,endings=1")
    for seed in range(n):
        state = random_state(game, seed, 34 + seed % 6)
        twin = naive_of(state)
        advice = agent.advise(state.view(), seed=0)
        expected = naive_values(twin, twin.turn)
        assert advice.exact
        assert advice.worlds == 1
        assert values_of(advice) == pytest.approx(expected)
        assert expected[advice.best_text] == max(expected.values())
        assert all(row.stderr == 0 for row in advice.rows)


def solved_by_worlds(game, seed, plies):
    """The solver's values, and the naive ones averaged over all worlds."""
    state = random_state(game, seed, plies)
    twin = naive_of(state)
    advice = make_agent("flat:1,endings=5000").advise(state.view(), seed=0)
    worlds = twin.worlds(twin.turn)
    assert advice.exact
    assert advice.worlds == len(worlds)
    sums = dict.fromkeys(twin.legal(), 0.0)
    for world in worlds:
        for card, value in naive_values(world, twin.turn).items():
            sums[card] += value / len(worlds)
    return advice, sums


@pytest.mark.parametrize("n", [3, pytest.param(100, marks=pytest.mark.soak)])
@pytest.mark.parametrize("plies", [30, 31, 33, 35])
def test_three_seats_are_max_n_in_the_mean_of_all_worlds(n, plies):
    for seed in range(n):
        advice, expected = solved_by_worlds(Briskola(3), seed, plies)
        assert values_of(advice) == pytest.approx(expected)
        assert expected[advice.best_text] == pytest.approx(max(expected.values()))


@pytest.mark.parametrize("n", [2, pytest.param(30, marks=pytest.mark.soak)])
@pytest.mark.parametrize("plies", [32, 33, 34, 37])
def test_four_seats_are_minimax_in_the_mean_of_all_worlds(n, plies):
    for seed in range(n):
        advice, expected = solved_by_worlds(Briskola(4), seed, plies)
        assert values_of(advice) == pytest.approx(expected)


@pytest.mark.parametrize("plies", [32, 33])
def test_worlds_with_cards_in_the_stock_are_solved(plies):
    advice, expected = solved_by_worlds(Briskola(2), 1, plies)
    assert values_of(advice) == pytest.approx(expected)


def test_a_position_with_more_worlds_than_asked_for_is_searched():
    view = random_state(Briskola(3), 1, 30).view()
    worlds = view.game.worlds_left(view.record, view.seat)
    assert make_agent(f"flat:30,endings={worlds}").advise(view, 1).exact
    searched = make_agent(f"flat:30,endings={worlds - 1}").advise(view, 1)
    assert not searched.exact
    assert searched.iterations == 30


@pytest.mark.parametrize(
    "spec", ["ismcts:50,endings=1", "uct:50,endings=1,objective=wins", "determinized:50,endings=1"]
)
def test_every_search_solves_endings(spec):
    for seed in range(20):
        state = random_state(Briskola(2), seed, 34)
        twin = naive_of(state)
        advice = make_agent(spec).advise(state.view(), seed)
        points = naive_values(twin, twin.turn)
        if "wins" in spec:
            wins = {card: (1.0 if x > 60 else 0.5 if x == 60 else 0.0) for card, x in points.items()}
            assert values_of(advice) == pytest.approx(wins)
        else:
            assert values_of(advice) == pytest.approx(points)


def nodes_visited(game, state, two_sides):
    stack, seat = exact.stack(game), state.mover
    sums, squares, moves = np.zeros(40), np.zeros(40), np.zeros(40, np.int64)
    exact.solve_worlds(game, score(game), state.array, seat, 1, two_sides, moves, sums, squares, stack)
    return int(stack.nodes[0]), sums[: len(state.legal_moves())].tolist()


@pytest.mark.parametrize("plies", [34, 35])
def test_alpha_beta_visits_no_more_nodes_than_minimax_and_finds_the_same(plies):
    game = Briskola(2)
    saved = 0
    for seed in range(50):
        state = random_state(game, seed, plies)
        twin = naive_of(state)
        plain = sum(count_nodes(twin.after(card)) for card in twin.legal())
        pruned, values = nodes_visited(game, state, two_sides=True)
        full, same_values = nodes_visited(game, state, two_sides=False)
        assert values == same_values
        assert full == plain
        assert pruned <= plain
        saved += plain - pruned
    assert saved > 0


def test_compiled_and_interpreted_solvers_agree():
    for game, plies in ((Briskola(2), 34), (Briskola(3), 33), (Briskola(4), 36)):
        view = random_state(game, 5, plies).view()
        worlds = game.worlds_left(view.record, view.seat)
        two_sides = game.seats != 3
        found = []
        for solve in (exact.solve_worlds, exact.solve_worlds.interpreted):
            stack = exact.stack(game)
            sums, squares, moves = np.zeros(40), np.zeros(40), np.zeros(40, np.int64)
            solve(game, score(game), view.array, view.seat, worlds, two_sides, moves, sums, squares, stack)
            found.append((sums.tolist(), squares.tolist(), int(stack.nodes[0])))
        assert found[0] == found[1]


def test_a_last_trick_by_hand():
    """The ace is better spent on the three than led into the opponent's last trump."""
    state = set_up(["3D 7C", "1D 2C"], turned="6C", points=(50, 38, 0, 0))
    state.play("3D")
    advice = make_agent("flat:1,endings=1").advise(state.view(), 0)
    assert advice.best_text == "1D"
    assert values_of(advice) == pytest.approx({"1D": 59, "2C": 48})
