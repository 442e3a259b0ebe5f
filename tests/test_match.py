"""Matches: seatings, duplicate deals, the same table for any number of workers."""

import multiprocessing

import numpy as np
import pytest

from kibitz import games
from kibitz.agents import make_agent
from kibitz.arena import match as arena
from kibitz.arena.play import Batch, Match, play_game, seatings
from kibitz.arena.store import Store
from kibitz.errors import BadOption, IllegalMove


def test_seatings_rotate_and_fill():
    two, three, four = (games.load(f"briskola:seats={n}") for n in (2, 3, 4))
    assert seatings(two, 2) == [[0, 1], [1, 0]]
    assert seatings(three, 2) == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert seatings(three, 3) == [[0, 1, 2], [2, 0, 1], [1, 2, 0]]
    assert seatings(four, 2) == [[0, 1, 0, 1], [1, 0, 1, 0]]
    assert seatings(two, 1) == [[0, 0]]
    with pytest.raises(BadOption, match="2 sides"):
        seatings(four, 3)


def test_games_are_rounded_up_to_whole_deals():
    assert arena.match("briskola", ["random", "random"], 3).games == 4


def test_a_deal_is_the_same_in_every_seating():
    """Two equal agents that need no randomness must exchange their results when they change seats."""
    result = arena.match("briskola", ["rule-based", "rule-based"], 40, seed=3)
    assert np.array_equal(result.returns[:, 0], result.returns[:, 1])
    assert result.differences[0].mean == 0


def test_wins_draws_and_points_add_up():
    result = arena.match("briskola", ["flat:30", "random"], 60, seed=5)
    first, second = result.agents
    assert first.wins + second.wins + first.draws == result.games
    assert first.draws == second.draws
    assert first.total_points + second.total_points == 120 * result.games
    assert sorted([*first.points.ci, first.points.mean])[1] == first.points.mean
    assert len(result.points_of(0)) == result.games
    assert result.points_of(0).mean() == pytest.approx(first.points.mean)


def test_every_interval_of_a_match_until_decided_holds_at_any_time():
    fixed = arena.match("briskola", ["rule-based", "random"], 100, seed=1)
    open_end = arena.match("briskola", ["rule-based", "random"], 400, seed=1, until_decided=True)
    assert (open_end.deals, open_end.decided) == (50, True)
    for one, other in zip(fixed.agents, open_end.agents, strict=True):
        for name in ("win_rate", "win_rate_decided", "unbeaten", "points"):
            narrow, wide = getattr(one, name), getattr(other, name)
            assert narrow.mean == pytest.approx(wide.mean)
            assert wide.low <= narrow.low < narrow.high <= wide.high
    assert open_end.differences[0].low < fixed.differences[0].low


def test_without_rotation_a_deal_is_played_once():
    match = Match("briskola", ("rule-based", "random"), 1, rotate=False)
    played = Batch(match, 0, 5).play().scores
    assert played.shape == (5, 1, 2)
    both = Batch(Match("briskola", ("rule-based", "random"), 1), 0, 5).play().scores
    assert np.array_equal(played[:, 0], both[:, 0])


def test_teams_play_as_one():
    result = arena.match("briskola:seats=4", ["rule-based", "random"], 40, seed=1)
    assert result.games == 40
    assert result.agents[0].games == 40
    assert result.agents[0].total_points + result.agents[1].total_points == 120 * 40
    assert result.agents[0].points.mean > 60


def test_three_seats_count_every_seat():
    result = arena.match("briskola:seats=3", ["rule-based", "random"], 30, seed=1)
    assert [agent.games for agent in result.agents] == [30, 60]


@pytest.mark.parametrize(
    "agents", [["ismcts:40", "random"], ["ismcts:40,keep=true,infosets=full", "flat:30"]]
)
def test_the_same_table_for_any_number_of_workers(agents):
    alone = arena.match("briskola", agents, 24, seed=9, jobs=1)
    shared = arena.match("briskola", agents, 24, seed=9, jobs=2)
    assert np.array_equal(alone.returns, shared.returns)
    tables = [result.to_dict() for result in (alone, shared)]
    for table in tables:
        del table["seconds"], table["thought"]["seconds"]
    assert tables[0] == tables[1]


def test_a_killed_worker_loses_nothing():
    killed = []

    def kill_one(done, total):
        children = multiprocessing.active_children()
        if children and not killed:
            killed.append(children[0].pid)
            children[0].kill()

    disturbed = arena.match("briskola", ["ismcts:300", "random"], 60, seed=2, jobs=2, progress=kill_one)
    assert killed
    assert disturbed.complete
    alone = arena.match("briskola", ["ismcts:300", "random"], 60, seed=2, jobs=1)
    assert np.array_equal(disturbed.returns, alone.returns)


def test_another_seed_gives_other_deals():
    one, two = (arena.match("briskola", ["random", "random"], 20, seed=s) for s in (1, 2))
    assert not np.array_equal(one.returns, two.returns)


def test_an_illegal_move_is_named():
    class Wrong:
        spec, cheating = "wrong", False

        def start(self, game, seat):
            pass

        def choose(self, view, seed):
            return 39 if 39 not in view.legal_moves() else 38

    with pytest.raises(IllegalMove, match=r"agent wrong at seat 0 chose .* legal were"):
        play_game(games.load("briskola"), [Wrong(), make_agent("random")], 0, 0, 0)


def test_ctrl_c_keeps_what_is_done():
    def interrupt(done, total):
        if done >= 10:
            raise KeyboardInterrupt

    result = arena.match("briskola", ["random", "random"], 400, seed=1, progress=interrupt)
    assert not result.complete
    assert 10 <= result.games < 400
    assert result.agents[0].games == result.games


@pytest.mark.parametrize("wrong", [{"games_wanted": 0}, {"jobs": 0}, {"seed": -1}])
def test_bad_numbers(wrong):
    with pytest.raises(BadOption):
        arena.match("briskola", ["random", "random"], **{"games_wanted": 2, **wrong})


def test_what_a_game_counts_is_in_the_table(monkeypatch, tmp_path):
    game = games.game_class("diminishing-bridge")
    monkeypatch.setattr(game, "shares", {"absolute_victories": "games", "bids_made": "rounds"})
    name, agents = "diminishing-bridge:cards=3", ("snelleman-trumping", "snelleman-random")
    batch = Batch(Match(name, agents, 1), 0, 10)
    with Store(tmp_path / "a.db") as store:
        store.add(batch, store.number_of(batch.match), batch.play())
    result = arena.match(name, agents, 40, seed=1, store=tmp_path / "a.db")
    first, others = result.agents
    assert list(first.counts) == ["absolute_victories", "rounds", "bids_made", "earnable"]
    assert others.counts["rounds"] == 3 * first.counts["rounds"] <= 3 * 40 * 3
    assert first.to_dict()["bids_made"] == first.counts["bids_made"] <= first.counts["rounds"]
    assert list(first.shares) == ["absolute_victories of games", "bids_made of rounds"]
    share = first.shares["bids_made of rounds"]
    assert share.low < share.mean == first.counts["bids_made"] / first.counts["rounds"] < share.high
    # Half of the batch that is there: its counts cannot be divided, so nothing is said of them.
    fewer = arena.match(name, agents, 20, seed=1, store=tmp_path / "a.db").agents[0]
    assert fewer.games == 20
    assert fewer.counts == fewer.shares == {}
    briskola = arena.match("briskola", ["random", "random"], 4).agents[0]
    assert briskola.counts == briskola.shares == {}
