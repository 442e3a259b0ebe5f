"""OpenSpiel both ways: its own tests on our games, our laws on its games, and the same rules in both."""

import pickle
import random
import re
import sys
import warnings

import numpy as np
import pytest

from kibitz import games, testing
from kibitz.adapters.encoding import Encoding
from kibitz.adapters.twins import twin_of
from kibitz.agents import make_agent
from kibitz.arena.match import match
from kibitz.errors import BadOption, MissingExtra, ParseError, UnknownName, Unsupported, install_command
from kibitz.games.tichu.rules import BOMBING
from kibitz.position import State, deal, deal_on, read_position
from kibitz.search.solver import Limits, algorithm, subject
from tests import oracles
from tests.test_cli import call

KIBITZ = {
    **{name: f"kibitz_{name.replace('-', '_')}" for name in games.GAMES},
    "diminishing-bridge": "kibitz_diminishing_bridge(seats=3,cards=3)",
    "devils": "kibitz_diminishing_bridge(cards=2,devils=true,luciferen=true)",
    "briskola": "kibitz_briskola(seats=4,partners_look=true)",
    "bridge": "kibitz_bridge(strain=any,level=-1,scoring=duplicate)",
}


@pytest.fixture(scope="module")
def pyspiel():
    module = pytest.importorskip("pyspiel")
    from kibitz.adapters import openspiel

    openspiel.register()
    return module


# --- our games in OpenSpiel ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", KIBITZ)
def test_the_simulation_test_of_openspiel_passes(pyspiel, name):
    game = pyspiel.load_game(KIBITZ[name])
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)


@pytest.mark.parametrize("name", KIBITZ)
def test_the_api_tests_of_openspiel_pass(pyspiel, name):
    from open_spiel.integration_tests import api_test
    from open_spiel.python.algorithms import sample_some_states

    class Ours(api_test.EnforceAPIOnPartialTreeBase):
        game, game_name = pyspiel.load_game(KIBITZ[name]), name

        @classmethod
        def setUpClass(cls):
            cls.some_states = sample_some_states.sample_some_states(cls.game, max_states=25)
            cls.game_type = cls.game.get_type()

    Ours.setUpClass()
    tests = [test for test in dir(Ours) if test.startswith("test_")]
    assert len(tests) >= 5
    for test in tests:
        getattr(Ours(test), test)()


QUICK = ("tic-tac-toe", "briskola", "diminishing-bridge")


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(n, marks=pytest.mark.soak) for n in KIBITZ if n not in QUICK)]
)
def test_a_playthrough_can_be_replayed(pyspiel, tmp_path, name):
    from absl import flags
    from open_spiel.python.algorithms import generate_playthrough

    flags.FLAGS.mark_as_parsed()
    file = tmp_path / "playthrough.txt"
    file.write_text(generate_playthrough.playthrough(KIBITZ[name], None, seed=1), "utf-8")
    expected, actual = generate_playthrough.replay(str(file))
    assert expected.splitlines() == actual.splitlines()
    assert "IsTerminal() = True" in expected


def some_states(game, seed, most=60):
    """Positions of a random game in which a seat is to move."""
    chooser, state = random.Random(seed), game.new_initial_state()
    while not state.is_terminal() and most:
        if not state.is_chance_node():
            most -= 1
            yield state.clone()
        state.apply_action(chooser.choice(state.legal_actions()))


@pytest.mark.parametrize("name", ["briskola", "diminishing-bridge", "bridge", "devils"])
def test_a_resampled_state_looks_the_same_to_its_player_and_tells_nothing_else(pyspiel, name):
    game, chooser, others = pyspiel.load_game(KIBITZ[name]), random.Random(2), 0
    for state in some_states(game, 3, 12):
        seat = state.current_player()
        other = state.resample_from_infostate(seat, chooser.random)
        assert other.information_state_string(seat) == state.information_state_string(seat)
        assert other.information_state_tensor(seat) == state.information_state_tensor(seat)
        assert other.legal_actions() == state.legal_actions()
        # What another seat has heard alone must not travel with the world.
        assert {other.heard(s) for s in range(game.num_players())} == {state.heard(seat)}
        others += str(other.position) != str(state.position)
    assert others


def test_an_information_state_remembers_what_the_view_has_forgotten(pyspiel):
    """Two orders of the same moves: the positions are the same, what a seat went through is not."""
    game = pyspiel.load_game("kibitz_tic_tac_toe")
    first, second = game.new_initial_state(), game.new_initial_state()
    for a, b in zip((0, 1, 2, 3), (2, 3, 0, 1), strict=True):
        first.apply_action(a)
        second.apply_action(b)
    assert first.observation_string(0) == second.observation_string(0)
    assert first.information_state_string(0) != second.information_state_string(0)


def test_nobody_hears_of_a_bomb_that_was_not_played(pyspiel):
    """In Tichu others do not know that somebody was asked; so their information states must not change."""
    game, asked = pyspiel.load_game("kibitz_tichu"), 0
    for seed in range(6):
        for state in some_states(game, seed, 400):
            if state.position["phase"][0] != BOMBING:
                continue
            asked += 1
            seat = state.current_player()
            refused = state.child(state.legal_actions()[-1])
            for other in set(range(4)) - {seat}:
                assert refused.heard(other) == state.heard(other)
    assert asked


def test_every_deal_of_kibitz_can_be_told_by_chance(pyspiel):
    """The eight bytes of the stream that deals."""
    from kibitz.rng import stream

    state = pyspiel.load_game("kibitz_briskola").new_initial_state()
    for byte in int(stream(7)[0]).to_bytes(8, "little"):
        assert state.is_chance_node()
        state.apply_action(byte)
    assert State(state.rules, state.position).key() == deal(games.load("briskola"), 7).key()


def test_bots(pyspiel):
    from open_spiel.python.algorithms import ismcts, mcts

    from kibitz.adapters.openspiel import KibitzBot

    game = pyspiel.load_game("kibitz_briskola")
    bots = [KibitzBot(game, "ismcts:50", 0), KibitzBot(game, "random", 1)]
    assert sum(pyspiel.evaluate_bots(game.new_initial_state(), bots, 1)) == 120
    theirs = ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1), 20.0, 5)
    state = next(some_states(game, 1))
    assert theirs.step(state) in state.legal_actions()
    native = pyspiel.load_game("kuhn_poker")
    bots = [KibitzBot(native, "ismcts:20", seat) for seat in range(2)]
    assert sum(pyspiel.evaluate_bots(native.new_initial_state(), bots, 1)) == 0
    with pytest.raises(Unsupported):
        KibitzBot(game, "cheating:10", 0)
    with pytest.raises(BadOption, match="seats 0 to 1"):
        KibitzBot(game, "random", 2)
    with pytest.raises(Unsupported, match="load_game_as_turn_based"):
        KibitzBot(pyspiel.load_game("goofspiel"), "random", 0)
    turns = pyspiel.load_game_as_turn_based("matrix_rps")
    bots = [KibitzBot(turns, "ismcts:2", seat) for seat in range(2)]
    assert sum(pyspiel.evaluate_bots(turns.new_initial_state(), bots, 1)) == 0
    with pytest.raises(BadOption, match="order of their seats"):
        pyspiel.evaluate_bots(
            game.new_initial_state(), [KibitzBot(game, "random", 1 - i) for i in range(2)], 1
        )


def test_what_cannot_be_registered_is_said(pyspiel):
    from kibitz.adapters import openspiel

    with pytest.raises(Unsupported, match="every_move"):
        openspiel.register("examples/high_card.py")
    with pytest.raises(BadOption, match="has parameters"):
        openspiel.register("briskola:seats=4")


def test_moves_are_numbered_once_and_all_legal_ones_have_a_number():
    for name in games.GAMES:
        game = games.load(name)
        encoding, codes = Encoding(game), list(game.every_move())
        assert len(set(codes)) == len(codes)
        state, chooser, chances = deal(game, 1), random.Random(1), 1
        for _ in range(60):
            chances = deal_on(state, 1, chances)
            if state.is_over:
                break
            moves = encoding.moves(state.array)
            assert all(0 <= number < encoding.n_actions for number in moves)
            for number, move in moves.items():
                assert encoding.number(state.array, move) == number
            assert encoding.mask(state.array).sum() == len(moves)
            state.play(chooser.choice(state.legal_moves()))


def test_a_vector_holds_the_view_and_nothing_else():
    game = games.load("briskola")
    encoding, state = Encoding(game), deal(game, 3)
    for seed in range(5):
        world = state.view(1).world(seed)
        assert (encoding.vector(world.view(1).array) == encoding.vector(state.view(1).array)).all()
    assert (encoding.vector(state.view(0).array) != encoding.vector(state.view(1).array)).any()


# --- OpenSpiel's games here ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        *("tic_tac_toe", "kuhn_poker", "oh_hell,players=4,num_tricks_fixed=2", "hearts", "euchre"),
        # OpenSpiel does not deal worlds of these:
        *("matrix_rps", "goofspiel,num_cards=4", "liars_dice", "phantom_ttt", "python_kuhn_poker"),
    ],
)
def test_views_of_openspiels_games_keep_the_laws(pyspiel, spec):
    """A world hides back to its view, and two truths with one view get one seeded move."""
    game = games.load(f"openspiel:{spec}")
    agent, seen = make_agent("ismcts:4", game), 0
    for state in testing.walk(game, 1):
        if state.is_over:
            continue
        for seat in range(game.seats):
            view = state.view(seat)
            world = view.world(seat)
            assert world.view(seat).key() == view.key()
        if seen < 5:
            world = state.view().world(9)
            assert world.legal_moves() == state.legal_moves()
            assert agent.choose(world.view(), 1) == agent.choose(state.view(), 1)
        seen += 1
    assert seen > 1


def test_a_world_that_is_looked_for_depends_on_what_the_seat_knows_alone(pyspiel):
    """Not on the other's dice, and not on how often the other has tried a square in vain."""
    dice = games.load("openspiel:liars_dice")
    views = {deal(dice, seed).view(0).key() for seed in range(60)}
    assert len(views) == 6
    worlds = {deal(dice, 0).view(0).world(seed).key() for seed in range(60)}
    assert len(worlds) == 6
    blind = games.load("openspiel:phantom_ttt")
    lucky, unlucky = (read_position(blind, f"0: {moves}") for moves in ("0 3 1 4", "0 0 3 1 1 4"))
    assert lucky.record.length != unlucky.record.length
    assert lucky.view(0).key() == unlucky.view(0).key()


def test_a_secret_move_is_not_told(pyspiel):
    """In hearts cards are passed face down."""
    game = games.load("openspiel:hearts")
    state = deal(game, 3)
    if "Pass" not in str(state.view(0)):
        state = deal(game, 4)
    mover, move = state.mover, state.legal_moves()[0]
    assert game.tell(state.record, move, mover) == state.text(move)
    for other in set(range(4)) - {mover}:
        assert game.tell(state.record, move, other) == ""
        assert game.label(state.record, move, other) != move


def test_chess_is_played_by_material(pyspiel):
    game = games.load("openspiel:chess")
    state = read_position(game, "0: e4 d5")
    for agent in ("alphabeta:depth=1", "minimax:depth=1"):
        assert state.text(make_agent(agent, game).choose(state.view(), 0)) == "exd5"
    state.play("exd5")
    out = np.zeros(2)
    game.evaluate(state.record, out)
    assert out[0] == -out[1] == pytest.approx(-1 / 103)  # seat 0 has the black pieces


def test_moves_are_told_in_openspiels_words(pyspiel):
    """Which mean other moves elsewhere; their numbers are understood too."""
    game = games.load("openspiel:chess")
    state = deal(game, 0)
    assert {"e4", "Nf3"} < set(state.move_texts())
    number = state.read("e4")
    assert state.read(str(number)) == number
    state.play("e4")
    assert "e4" not in state.move_texts()
    for word in ("e4", "castles"):
        with pytest.raises(ParseError, match="not a move here"):
            state.play(word)
    advice = make_agent("openspiel-mcts:2", game).advise(state.view(), 0)
    assert {row.text for row in advice.rows} == set(state.move_texts())
    crossed = read_position(games.load("openspiel:tic_tac_toe"), "0: x(1,1), o(0,0) , 8")
    assert crossed.record.history[:3].tolist() == [4, 0, 8]
    assert deal(games.load("openspiel:oh_hell,players=3,num_tricks_fixed=1"), 0).move_texts() == ["0", "1"]


def test_solving_ends_in_a_large_game(pyspiel):
    """The interpreter is slow, and a history is met once only."""
    told = call("solve", "openspiel:connect_four", "--nodes", "50")
    assert "not finished after 50" in told.stdout
    assert "minimax" in told.stdout
    assert not {"star1", "alphabeta-table", "expectiminimax"} & set(told.stdout.split())
    wanted = subject("openspiel:tic_tac_toe", "0: x(1,1) o(0,0) x(0,2) o(0,1)")
    assert wanted.most < subject("tic-tac-toe").most
    assert wanted.line(wanted.solve(algorithm("alphabeta"), Limits(1)).line) == ["x(2,0)"]


def test_openspiels_games_in_a_match(pyspiel):
    result = match("openspiel:tic_tac_toe", ["uct:100", "random"], 10)
    assert result.agents[0].points.mean > 0.3
    result = match("openspiel:kuhn_poker", ["openspiel-ismcts:50", "random"], 4)
    assert result.games == 4


def test_what_cannot_be_played_is_said(pyspiel, capfd):
    with pytest.raises(UnknownName, match="did you mean 'chess'"):
        games.load("openspiel:ches")
    for name, problem in (
        ("oh_hell,players=99", "num_tricks_fixed"),
        ("nfg_game", "its parameters: filename"),
        ("misere", "its parameters: game"),
    ):
        with pytest.raises(BadOption, match=f"OpenSpiel cannot load '.*{problem}"):
            games.load(f"openspiel:{name}")
    for name in ("mfg_crowd_modelling", "tarok", "crossword"):
        with pytest.raises(Unsupported, match=name):
            games.load(f"openspiel:{name}")
    with pytest.raises(Unsupported, match=r"OpenSpiel's skat .*resample_from_infostate"):
        deal(games.load("openspiel:skat"), 1).view()
    assert capfd.readouterr().err == ""  # where OpenSpiel's C++ would say it first


def test_what_is_not_compiled_is_not_measured(pyspiel):
    refused = call("bench", "openspiel:chess")
    assert refused.returncode == 3
    assert "openspiel:chess is not compiled" in refused.stderr


@pytest.mark.parametrize(
    "spec",
    [
        *("coop_box_pushing,horizon=5", "python_kuhn_poker", "misere,game=tic_tac_toe()"),
        "restricted_nash_response(game=kuhn_poker())",
    ],
)
def test_games_that_openspiel_tells_in_another_way(pyspiel, spec):
    """With more chance events than it says, written in Python, and made of others."""
    assert match(f"openspiel:{spec}", ["random"], 1, jobs=1).complete
    game = games.load(f"openspiel:{spec}")
    assert pickle.loads(pickle.dumps(game)) == game


def test_without_openspiel_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    from kibitz.games import openspiel

    openspiel.native_game.cache_clear()
    for attempt in (
        lambda: games.load("openspiel:chess"),
        lambda: make_agent("openspiel-ismcts").start(games.load("briskola"), 0),
    ):
        with pytest.raises(MissingExtra, match=re.escape(install_command("openspiel"))):
            attempt()


# --- OpenSpiel's searches as agents -------------------------------------------------------------------


def test_openspiels_searches_play_our_games(pyspiel):
    for game, agent in (
        ("tic-tac-toe", "openspiel-mcts:60"),
        ("diminishing-bridge:cards=3,rounds=1", "openspiel-ismcts:40"),
        ("diminishing-bridge:seats=2,cards=2", "openspiel-ismcts:4"),  # through Python
        ("bridge:strain=hearts,declarer=east", "openspiel-ismcts:10"),
        ("othello", "openspiel-mcts:2"),
        ("tic-tac-toe", "openspiel-mcts:time=1ms"),
    ):
        assert match(game, [agent, "random"], 2, seed=1).complete


def test_openspiels_search_finds_the_winning_square(pyspiel):
    game = games.load("tic-tac-toe")
    state, agent = deal(game, 0), make_agent("openspiel-mcts:500", game)
    agent.start(game, 0)
    for move in (0, 3, 1, 4):
        state.play(move)
        agent.learn(move)
    assert agent.choose(state.view(), 1) == 2
    assert agent.advise(state.view(), 1).best == 2


def test_worlds_of_hearts_can_be_played_to_their_end(pyspiel):
    """OpenSpiel's own cannot, in about one of fourteen positions."""
    result = match("openspiel:hearts", ["ismcts:4", "random"], 4, seed=3)
    assert result.games == 4
    with pytest.raises(Unsupported, match="break its own rules"):
        match("openspiel:hearts", ["openspiel-ismcts:10", "random"], 4)


@pytest.mark.parametrize("game", ["openspiel:chess", "tic-tac-toe"])
def test_a_search_for_hidden_games_refuses_open_ones(pyspiel, game):
    with pytest.raises(Unsupported, match="let openspiel-mcts play"):
        match(game, ["openspiel-ismcts:5", "random"], 2)


def test_openspiels_ismcts_sees_nothing_that_its_seat_cannot_see(pyspiel):
    game = games.load("diminishing-bridge:cards=4,rounds=1")
    state, agent = deal(game, 5), make_agent("openspiel-ismcts:60", game)
    chooser = random.Random(1)
    agent.start(game, 0)
    while not state.is_over:
        for seed in range(3):
            other = state.view().world(seed)
            given = [agent._position(truth.view(), 7) for truth in (other, state)]
            assert given[0].history() == given[1].history()  # its choice is not a function of its seed
        assert agent.choose(state.view(), 7) in state.legal_moves()
        move = chooser.choice(state.legal_moves())
        agent.learn(move)
        state.play(move)
    with pytest.raises(Unsupported, match="openspiel-ismcts"):
        make_agent("openspiel-mcts", game).start(game, 0)


def test_who_has_not_seen_the_beginning_says_so(pyspiel):
    game = games.load("diminishing-bridge:cards=4,rounds=1")
    state, agent = deal(game, 5), make_agent("openspiel-ismcts:60", game)
    agent.start(game, 0)
    for _ in range(4):
        state.play(state.legal_moves()[0])
    with pytest.raises(Unsupported, match="first move"):
        agent.choose(state.view(), 1)


# --- the same rules ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", oracles.KINDS)
def test_openspiel_plays_by_the_same_rules(pyspiel, kind):
    for number in range(0, oracles.GAMES, 500):
        assert oracles.by_kibitz(kind, number) == oracles.by_openspiel(kind, number), number


@pytest.mark.parametrize("kind", oracles.KINDS)
def test_openspiel_has_played_by_the_same_rules(kind):
    """What OpenSpiel did is stored, for machines that do not have it."""
    stored = np.load(oracles.stored(kind))
    assert len(stored) == oracles.GAMES
    for number in range(7, oracles.GAMES, 200):
        assert oracles.by_kibitz(kind, number) == stored[number], number


@pytest.mark.soak
@pytest.mark.parametrize("kind", oracles.KINDS)
def test_openspiel_plays_all_games_by_the_same_rules(pyspiel, kind):
    stored = np.load(oracles.stored(kind))
    for number in range(oracles.GAMES):
        assert oracles.by_openspiel(kind, number) == stored[number], number
        assert oracles.by_kibitz(kind, number) == stored[number], number


def test_only_the_same_rules_have_a_twin():
    for spec in ("seats=2,cards=5,rounds=1", "cards=5", "cards=5,rounds=1,K=5", "cards=13,rounds=1"):
        assert twin_of(games.load(f"diminishing-bridge:{spec}")) is None
    assert twin_of(games.load("diminishing-bridge:cards=5,rounds=1")).name == "oh_hell"
    assert twin_of(games.load("bridge:double_dummy=true")) is None


def test_results_of_openspiels_searches_are_filed_under_the_twin_that_they_use(pyspiel):
    for spec, words in (("tic-tac-toe", b"tic_tac_toe"), ("othello", b"othello"), ("briskola", b"")):
        told = make_agent("openspiel-mcts").knowledge(games.load(spec))
        assert words in told
        assert bool(told) == bool(words)


@pytest.mark.soak
def test_peers_are_measured(pyspiel):
    from kibitz import peers

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = peers.measure(0.01, lambda done, total: None)
    assert {row["peer"] for row in found["peers"]} == {peers.C_PLUS_PLUS, peers.PYTHON, peers.DDS}
    assert all(row["ratio"]["low"] > 0 for row in found["peers"])
    assert len(peers.text(found)[2]) == len(found["peers"]) + 1
