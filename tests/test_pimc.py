"""Perfect-information Monte Carlo, and alpha-beta with open cards: against exact solvers of other kinds."""

import pytest

from kibitz.agents import look, make_agent
from kibitz.agents.classical import value_for
from kibitz.errors import BadOption, Unsupported
from kibitz.games import load
from kibitz.games.bridge import dds
from kibitz.games.bridge.rules import ANY, Bridge
from kibitz.games.briskola.rules import Briskola
from kibitz.search.solver import Limits, Subject, algorithm, hides_cards, known_world
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


@pytest.mark.parametrize(
    ("cards", "n"),
    [(3, 12), (4, 12), (5, 6), *(pytest.param(*many, marks=pytest.mark.soak) for many in ((1, 4), (6, 5)))],
)
def test_alpha_beta_with_open_cards_finds_the_tricks_of_dds(cards, n):
    agent = make_agent("cheating-alphabeta:depth=24")
    for seed in range(n):
        state = played_down(seed, cards, Bridge(strain=ANY, declarer=ANY))
        (tricks,) = dds.card_values([state.record])
        advice = agent.advise(look(agent, state), seed)
        made = int(state.game.made(state.record, int(state.game.team(state.mover))))
        assert advice.exact
        assert values_of(advice) == {move: made + tricks[move] for move in state.legal_moves()}


@pytest.mark.parametrize("plies", [34, 35, 36, 37, 38])
def test_alpha_beta_finds_the_values_of_endings_of_briskola(plies):
    """The stock is used up, so the cards that a seat does not see are those of the other.

    `endings` has a search of its own. What cheats sees the cards, what does not concludes them.
    """
    for seed in range(10):
        state = random_state(Briskola(2), seed, plies)
        solved = values_of(make_agent("flat:1,endings=1").advise(state.view(), seed))
        for spec in ("cheating-alphabeta:depth=6", "alphabeta:depth=6"):
            agent = make_agent(spec)
            advice = agent.advise(look(agent, state), seed)
            assert advice.exact
            assert values_of(advice) == pytest.approx(solved)
        found = subject_of(state).solve(algorithm("alphabeta-table"), Limits())
        assert found.is_exact
        assert value_for(state.game, state.mover, found) == pytest.approx(max(solved.values()))


def subject_of(state):
    about = ("ending", state.game, known_world(state.view()), state.game.move_text)
    return Subject(*about, has_chance=False, has_mirrors=False, is_tree=False, is_small=True)


def test_a_world_is_known_only_if_no_other_agrees():
    ending = random_state(Briskola(2), 1, 36)
    world = known_world(ending.view())
    assert sorted(world["hands"].ravel()) == sorted(ending.array["hands"].ravel())
    assert known_world(random_state(Briskola(2), 1, 30).view()) is None
    assert known_world(random_state(Briskola(2), 1, 30).open_view()) is not None
    assert known_world(random_state(Briskola(4), 1, 36).view()) is None


def test_open_hands_are_not_hidden():
    assert hides_cards(Bridge())
    assert not hides_cards(Bridge(double_dummy=True))
    assert not hides_cards(load("backgammon"))
    make_agent("alphabeta").start(Bridge(double_dummy=True), 0)
    with pytest.raises(Unsupported, match="hides cards"):
        make_agent("alphabeta").start(Bridge(), 0)


@pytest.mark.parametrize("spec", ["pimc:0", "pimc:-3"])
def test_at_least_one_world_is_searched(spec):
    with pytest.raises(BadOption, match="from 1 to"):
        make_agent(spec)


def test_only_by_its_name_it_sees_hidden_cards():
    state = random_state(Briskola(2), 1, 30)
    with pytest.raises(Unsupported, match="hides cards"):
        make_agent("alphabeta").advise(state.view(), 1)
    with pytest.raises(Unsupported, match="hides cards"):
        make_agent("cheating-alphabeta").advise(state.view(), 1)
    agent = make_agent("cheating-alphabeta")
    assert agent.choose(look(agent, state), 1) in state.legal_moves()
