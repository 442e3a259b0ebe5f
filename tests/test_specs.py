"""Strings that name games and agents: what they mean, and what is said of wrong ones."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from kibitz import games
from kibitz.agents import GENERAL, SETTINGS, make_agent
from kibitz.arena.play import Match
from kibitz.errors import BadGame, BadOption, InputError, UnknownName, Unsupported, UsageError
from kibitz.games import parts
from kibitz.games.briskola.rules import Briskola
from kibitz.search.montecarlo import TreeSearch, options_of
from kibitz.specs import Duration, Option, parse_duration, read_options, split

EXAMPLES = Path(__file__).parent.parent / "examples"

# --- the grammar ---


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("random", ("random", [])),
        ("random:", ("random", [])),
        ("ismcts:1000", ("ismcts", [(None, "1000")])),
        ("ismcts:c=0.7,keep=true", ("ismcts", [("c", "0.7"), ("keep", "true")])),
        (" ismcts : 1000 , c = 0.7 ", ("ismcts", [(None, "1000"), ("c", "0.7")])),
        ("ismcts:,c=1,", ("ismcts", [("c", "1")])),
        ("x:a=b=c", ("x", [("a", "b=c")])),
    ],
)
def test_split(spec, parts):
    assert split(spec) == parts


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("200ms", 0.2),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("2", 2.0),
        ("2m", 120.0),
        ("2 min", 120.0),
        ("1S", 1.0),
    ],
)
def test_durations(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "0s", "-1s", "1h", "1e3s", "inf", "nan", "s", "1.2.3s"])
def test_what_is_no_duration(text):
    assert parse_duration(text) is None


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        (Option("n", int, 1), "12", 12),
        (Option("n", int, 1), "1_000", 1000),
        (Option("n", int, 1, least=0), "0", 0),
        (Option("x", float, 1.0), "1e-3", 0.001),
        (Option("x", float, 0.0, choices=("points", "wins"), least=0, most=1), "wins", "wins"),
        (Option("x", float, 0.0, choices=("points", "wins"), least=0, most=1), "0.25", 0.25),
        (Option("b", bool, False), "Yes", True),
        (Option("b", bool, False), "0", False),
        (Option("w", str, "one", choices=("one", "all")), "all", "all"),
        (Option("w", str, "any"), "thing", "thing"),
        (Option("seats", int, 2, choices=(2, 3, 4)), "3", 3),
        (Option("t", Duration, None), "20ms", 0.02),
    ],
)
def test_option_values(option, text, value):
    found = option.parse(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("option", "text", "takes"),
    [
        (Option("n", int, 1, least=1), "0", "a whole number of at least 1"),
        (Option("n", int, 1, least=1, most=256), "257", "a whole number from 1 to 256"),
        (Option("n", int, 1), "1.5", "a whole number"),
        (Option("n", int, 1), "", "a whole number"),
        (Option("x", float, 1.0), "much", "a number"),
        (Option("x", float, 1.0), "nan", "a number"),
        (Option("x", float, 1.0), "inf", "a number"),
        (
            Option("x", float, 0.0, choices=("a", "b"), least=0, most=1),
            "2",
            "a or b or a number from 0 to 1",
        ),
        (Option("b", bool, False), "maybe", "true or false"),
        (Option("w", str, "one", choices=("one", "all")), "some", "one or all"),
        (Option("seats", int, 2, choices=(2, 3, 4)), "5", "2 or 3 or 4"),
        (Option("t", Duration, None), "soon", "a time such as 200ms"),
    ],
)
def test_wrong_values_are_refused_with_what_is_right(option, text, takes):
    with pytest.raises(BadOption, match=f"'{option.name}={text}' cannot be used: {option.name} is {takes}"):
        option.parse(text)


OPTIONS = {"n": Option("n", int, 1), "c": Option("c", float, 0.7)}


def test_first_value_without_a_name_is_the_main_option():
    assert read_options("agent", [(None, "5"), ("c", "1")], OPTIONS, "n") == {"n": 5, "c": 1.0}


@pytest.mark.parametrize(
    ("given", "main", "message"),
    [
        ([("c", "1"), (None, "5")], "n", "a first value without a name is n"),
        ([(None, "5")], None, "write options as key=value"),
        ([(None, "5"), ("n", "6")], "n", "has n twice"),
        ([("c", "1"), ("c", "1")], "n", "has c twice"),
    ],
)
def test_misplaced_options(given, main, message):
    with pytest.raises(BadOption, match=message):
        read_options("agent", given, OPTIONS, main)


def test_unknown_option_names_its_neighbour():
    with pytest.raises(UnknownName, match="'itrations'; did you mean 'iterations'"):
        make_agent("ismcts:itrations=5")


# --- agents ---


OWN = """
from kibitz.agents import Setting
from kibitz.search.montecarlo import TreeSearch


class Careful(TreeSearch):
    pass


AGENTS = {"careful": Setting(Careful, {"iterations": 7}, "…"), "flat": Setting(Careful, {}, "…")}
"""


def test_only_agents_named_cheating_cheat(tmp_path):
    file = tmp_path / "own_cheat.py"
    cheat = OWN.replace("    pass", "    def __post_init__(self):\n        self.cheating = True")
    file.write_text((EXAMPLES / "high_card.py").read_text() + cheat.replace('"flat"', '"cheating-own"'))
    game = games.load(str(file))
    with pytest.raises(BadOption, match="careful looks at hidden cards"):
        make_agent("careful", game)
    assert make_agent("cheating-own", game).cheating


def test_a_file_with_a_game_may_have_agents_of_this_game(tmp_path):
    file = tmp_path / "own_agents.py"
    file.write_text((EXAMPLES / "high_card.py").read_text() + OWN)
    game = games.load(str(file))
    assert (type(make_agent("careful", game)).__name__, make_agent("careful", game).iterations) == (
        "Careful",
        7,
    )
    assert type(make_agent("flat:5", game)).__name__ == "Careful"
    assert type(make_agent("flat:5")).__name__ == "FlatMonteCarlo"
    with pytest.raises(UnknownName, match="'careful'"):
        make_agent("careful")
    with pytest.raises(UnknownName, match="did you mean 'careful'"):
        make_agent("carefull", game)
    Match(str(file), ("careful", "flat:5"), seed=1).check()


def test_agents_of_a_file_must_be_settings(tmp_path):
    file = tmp_path / "no_agents.py"
    file.write_text((EXAMPLES / "high_card.py").read_text() + "AGENTS = ['careful']")
    with pytest.raises(BadGame, match=r"AGENTS of no_agents.py must be a dictionary"):
        make_agent("random", games.load(str(file)))


def test_a_package_with_a_game_may_have_agents_beside_it(tmp_path, monkeypatch):
    package = tmp_path / "kibitz_plugged_in"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "rules.py").write_text((EXAMPLES / "high_card.py").read_text())
    (package / "agents.py").write_text(
        "from kibitz.agents import Setting\n"
        "AGENTS = {'careful': Setting('kibitz_plugged_in.players:Careful', {}, '…')}\n"
    )
    (package / "players.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    game = importlib.import_module("kibitz_plugged_in.rules").HighCard()
    make_agent("random", game)
    assert "kibitz_plugged_in.players" not in sys.modules
    assert type(make_agent("careful", game)).__module__ == "kibitz_plugged_in.players"


def test_agents_of_games_have_one_name_each_and_replace_a_general_one_in_their_game_only():
    named = [name for part in parts.built_in("agents") for name in part.AGENTS if name not in GENERAL]
    assert sorted(named) == sorted(set(named))
    assert make_agent("pimc", games.load("bridge")).iterations == 100
    assert make_agent("pimc", games.load("briskola")).iterations == make_agent("pimc").iterations == 20


def test_players_of_a_game_are_imported_when_they_play():
    code = (
        "import sys, kibitz; from kibitz.agents import make_agent\n"
        "kibitz.agent_names(), make_agent('pimc', kibitz.load('bridge:double_dummy=true'))\n"
        "print([name for name in sys.modules if name.startswith('kibitz.') and name.endswith('.players')])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == "['kibitz.games.bridge.players']\n"


@pytest.mark.parametrize("name", sorted(set(SETTINGS) - {"expert"}))
def test_every_named_agent_can_be_made(name):
    agent = make_agent(name)
    assert agent.spec == name
    assert agent.cheating == name.startswith("cheating")


def test_every_default_is_a_value_that_its_option_takes():
    agent = TreeSearch()
    for name, option in options_of(TreeSearch).items():
        if option.default is not None:
            assert option.parse(str(option.default)) == getattr(agent, name), name
        assert option.help, name


def test_agent_options_arrive():
    agent = make_agent("ismcts:2_000,c=0.9,objective=wins,playout=sensible,keep=true,expand=all")
    assert (agent.iterations, agent.c, agent.objective, agent.playout) == (2000, 0.9, 1.0, 1.0)
    assert (agent.keep, agent.expand) == (True, "all")
    assert make_agent("ismcts:time=20ms").time == 0.02


def test_unknown_agent_names_its_neighbour():
    with pytest.raises(UnknownName, match="did you mean 'ismcts'") as refused:
        make_agent("ismct:100")
    assert "karamatic-mcts" in str(refused.value)
    assert refused.value.exit_code == UsageError.exit_code == 2


@pytest.mark.parametrize("spec", ["ismcts:worlds=true", "uct:worlds=true", "cheating:worlds=one"])
def test_only_cheating_sees_the_truth(spec):
    with pytest.raises(BadOption, match="cheating"):
        make_agent(spec)


@pytest.mark.parametrize(
    "spec",
    ["ismcts:0", "ismcts:-5", "ismcts:many", "ismcts:c=-1", "uct:p=0.5", "ismcts:threads=0", "random:5"],
)
def test_agents_refuse_what_makes_no_sense(spec):
    with pytest.raises(BadOption):
        make_agent(spec)


def test_expert_needs_a_game_that_has_one():
    with pytest.raises(Unsupported, match="no 'expert' setting"):
        make_agent("expert")


# --- games ---


@pytest.mark.parametrize(
    ("spec", "game"),
    [
        ("briskola", Briskola()),
        ("briskola:seats=4,partners_look=true", Briskola(4, partners_look=True)),
        ("briskola:seats=3", Briskola(3)),
    ],
)
def test_games(spec, game):
    assert games.load(spec) == game


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("briskolla", UnknownName, "did you mean 'briskola'"),
        ("briskola:seats=5", BadOption, "seats is 2 or 3 or 4"),
        ("briskola:players=2", UnknownName, "unknown option of game briskola.*'players'"),
        ("briskola:4", BadOption, "key=value"),
        ("nowhere/game.py", InputError, "there is no file game.py"),
    ],
)
def test_wrong_games(spec, error, message):
    with pytest.raises(error, match=message):
        games.load(spec)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "must hold exactly one class marked @game; found: none"),
        ("x = 1 / 0", "cannot be loaded: ZeroDivisionError"),
        ("x = (", "cannot be loaded: SyntaxError"),
        ("import nowhere_to_be_found", "cannot be loaded: ModuleNotFoundError"),
        ("from kibitz.games.briskola.rules import Briskola", "found: none"),
    ],
)
def test_files_that_hold_no_game(tmp_path, text, message):
    file = tmp_path / "my_game.py"
    file.write_text(text)
    for _ in range(2):  # a module that failed must not stay behind
        with pytest.raises(BadGame, match=message):
            games.load(str(file))
