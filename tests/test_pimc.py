"""Perfect-information Monte Carlo, and alpha-beta with open cards: against exact solvers of other kinds."""

import pytest

from kibitz.agents import look, make_agent
from kibitz.errors import Unsupported
from kibitz.games import load
from kibitz.games.bridge import dds
from kibitz.games.bridge.rules import ANY, Bridge
from kibitz.games.briskola.rules import Briskola
from kibitz.testing import check_agent, check_hidden
from tests.positions import random_state
from tests.test_bridge_play import played_down


def values_of(advice):
    return {row.move: row.value for row in advice.rows}


# --- sampled worlds ---


@pytest.mark.parametrize(("seats", "plies"), [(2, 34), (2, 33), (4, 33), (4, 36)])
def test_all_worlds_of_an_ending_are_searched_to_the_end(seats, plies):
    """The values are those of `endings`, which has a search of its own."""
    for seed in range(4):
        view = random_state(Briskola(seats), seed, plies).view()
        worlds = int(view.game.worlds_left(view.record, view.seat))
        advice = make_agent(f"pimc:{worlds},depth=40").advise(view, seed)
        solved = make_agent(f"flat:1,endings={worlds}").advise(view, seed)
        assert (advice.exact, advice.worlds) == (True, worlds)
        assert values_of(advice) == pytest.approx(values_of(solved))


def test_worlds_are_sampled_where_there_are_more():
    view = random_state(Briskola(2), 1, 10).view()
    advice = make_agent("pimc:7,depth=5").advise(view, 3)
    assert (advice.worlds, advice.exact, advice.unit) == (7, False, "points")
    assert values_of(advice) == values_of(make_agent("pimc:7,depth=5").advise(view, 3))
    assert values_of(advice) != values_of(make_agent("pimc:7,depth=5").advise(view, 4))


def test_values_at_the_horizon_leave_both_sides_the_rest():
    """After two plies of Briškola somebody has a few points more; the rest is shared, so to say."""
    state = random_state(Briskola(2), 5, 1)
    for seat_to_move in (state, random_state(Briskola(2), 5, 2)):
        advice = make_agent("pimc:10,depth=1").advise(seat_to_move.view(), 1)
        assert all(60 - 11 <= value <= 60 + 11 for value in values_of(advice).values())


def test_nothing_hidden_reaches_it():
    check_hidden(Briskola(2), ("pimc:3,depth=4",), n=1)


def test_a_search_ends_before_a_shuffle():
    """After the last trick of a round the next one is dealt: what was scored until then counts."""
    check_agent("pimc:2,depth=5", load("diminishing-bridge:seats=3,cards=2"), 1)


def test_where_nothing_is_hidden_it_is_not_needed():
    with pytest.raises(Unsupported, match="let alphabeta play"):
        make_agent("pimc").start(load("tic-tac-toe"), 0)


# --- open cards ---


@pytest.mark.parametrize(("cards", "n"), [(1, 4), (3, 12), (4, 12), (5, 6), (6, 2)])
def test_alpha_beta_with_open_cards_finds_the_tricks_of_dds(cards, n):
    agent = make_agent("cheating-alphabeta:depth=24")
    for seed in range(n):
        state = played_down(seed, cards, Bridge(strain=ANY, declarer=ANY))
        (tricks,) = dds.card_values([state.record])
        advice = agent.advise(look(agent, state), seed)
        made = int(state.game.made(state.record, int(state.game.team(state.mover))))
        assert advice.exact
        assert values_of(advice) == {move: made + tricks[move] for move in state.legal_moves()}


def test_only_by_its_name_it_sees_hidden_cards():
    state = random_state(Briskola(2), 1, 30)
    with pytest.raises(Unsupported, match="hides cards"):
        make_agent("alphabeta").advise(state.view(), 1)
    with pytest.raises(Unsupported, match="hides cards"):
        make_agent("cheating-alphabeta").advise(state.view(), 1)
    agent = make_agent("cheating-alphabeta")
    assert agent.choose(look(agent, state), 1) in state.legal_moves()
