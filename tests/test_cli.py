"""The command line as a user meets it: answers, --json, exit codes, no tracebacks."""

import contextlib
import csv
import io
import itertools
import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
import typer

import kibitz
from kibitz import cli, experiments, games, kernel, terminal, warming
from kibitz.arena import play
from kibitz.arena.executors import InProcess
from kibitz.arena.play import settle_chance
from kibitz.arena.store import Store
from kibitz.cli import output
from kibitz.position import State

KIBITZ = [sys.executable, "-m", "kibitz"]
EXAMPLE = Path(__file__).parents[1] / "examples" / "high_card.py"
DATA = tempfile.TemporaryDirectory(prefix="kibitz-test-")  # never the user's own folder
ALONE = {"KIBITZ_DATA_DIR": DATA.name}

EXPERIMENT = """
name = "small"
question = "Is a rule of thumb better than chance?"
game = "briskola"
games = 40

[match.thumb]
agents = ["rule-based", "random"]

[[row]]
match = "thumb"
measure = "win_rate"
"""


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def run(*arguments, env=None, **options):
    """A verb in a process of its own."""
    environment = {**os.environ, **ALONE, **(env or {})}
    return subprocess.run(
        [*KIBITZ, *map(str, arguments)], capture_output=True, text=True, env=environment, **options
    )


def call(*arguments, folder=None, data=None):
    """A verb in this process, which is as good and takes no second to start."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["kibitz", *map(str, arguments)]),
        mock.patch.object(kernel, "compile_report", kernel.compile_report),
        mock.patch.dict(os.environ, {"KIBITZ_DATA_DIR": str(data or DATA.name)}),
        contextlib.chdir(folder or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main()
            code = 0
        except SystemExit as left:
            code = left.code or 0
    return Done(code, out.getvalue(), err.getvalue())


@pytest.mark.parametrize(
    "words", [("match", "briskola", "x\udcff", "random"), ("solve", "\udcff.tree"), ("\udce9",)]
)
def test_words_that_are_no_utf_8_are_refused(words):
    done = call(*words)
    assert done.returncode == 2
    assert "has bytes that are not UTF-8" in done.stderr
    assert r"\udc" in done.stderr
    assert "Traceback" not in done.stderr
    json.loads(call(*words, "--json").stdout or call(*words, "--json").stderr)


def document(*arguments, **options):
    """The JSON document that a verb answers with; nothing else is on standard output."""
    done = call(*arguments, "--json", **options)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["kibitz"] == kibitz.__version__
    assert content["schema"].startswith("kibitz.")
    assert content["schema"].endswith("/1")
    return content


def batches(store):
    """What a store holds: (match, first deal, deals, scores)."""
    with contextlib.closing(sqlite3.connect(store)) as db:
        return db.execute("SELECT match, first_deal, deals, scores FROM batch ORDER BY 1, 2").fetchall()


@pytest.fixture
def small(tmp_path):
    """An experiment in a file of its own folder."""
    folder = tmp_path / "experiment"
    folder.mkdir()
    file = folder / "small.toml"
    file.write_text(EXPERIMENT)
    return file


def commands(group=None, path=()):
    for name, command in (group or typer.main.get_command(cli.app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        yield (*path, name)


# --- help ------------------------------------------------------------------------------------------


def test_help_does_not_load_numba():
    code = (
        "import sys; from kibitz import cli\n"
        "for words in sys.argv[1:]:\n"
        "    sys.argv = ['kibitz', *words.split(), '--help']\n"
        "    try: cli.main()\n"
        "    except SystemExit as left: assert not left.code, words\n"
        "print([name in sys.modules for name in ('numba', 'numpy', 'scipy', 'matplotlib')])"
    )
    verbs = [" ".join(path) for path in [(), *commands()]]
    told = subprocess.run([sys.executable, "-c", code, *verbs], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[-1] == str([False] * 4)
    assert told.stdout.count("Usage: kibitz") == len(verbs)
    assert run("--version").stdout.strip() == f"kibitz {kibitz.__version__}"


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_verb_has_help_with_an_example(path):
    done = call(*path, "--help")
    assert done.returncode == 0
    assert re.match(rf"Usage: .*kibitz {' '.join(path)} ", done.stdout)
    if path != ("experiment",):
        assert f"Example: kibitz {' '.join(path)}" in done.stdout


def test_the_list_of_commands_is_not_cut_at_80_columns():
    with mock.patch.dict(os.environ, {"COLUMNS": "80"}):
        shown = call("--help").stdout
    listed = shown.partition("Commands:")[2].strip().splitlines()
    assert len(listed) == sum(len(path) == 1 for path in commands())
    assert not [line for line in listed if line.endswith("...")]
    assert max(map(len, shown.splitlines())) <= 80


# --- bad input -------------------------------------------------------------------------------------

TWO = ("briskola", "rule-based", "random")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("match", "brisola", "random"), 2, "did you mean 'briskola'"),
        (("match", "briskola", "randm"), 2, "did you mean 'random'"),
        (("match", "briskola", "ismcts:itertions=3"), 2, "did you mean 'iterations'"),
        (("match", "briskola:sets=2", "random"), 2, "did you mean 'seats'"),
        (("match", "briskola:seats=5", "random"), 2, "2 or 3 or 4"),
        (("match", "briskola", "ismcts:0"), 2, "from 1 to"),
        (("match", "briskola", "ismcts:-5"), 2, "from 1 to"),
        (("match", "briskola", "ismcts:abc"), 2, "a whole number"),
        (("match", "briskola", "ismcts:time=soon"), 2, "a time such as"),
        (("match", "briskola", "ismcts:worlds=true"), 2, "cheating"),
        (("match", "briskola", "random", "random", "random"), 2, "2 seats"),
        (("match", "briskola", "random", "--games", "0"), 2, "at least 1"),
        (("match", "briskola", "random", "--games", "many"), 2, "--games"),
        (("match", "briskola", "random", "--seed", str(2**63)), 2, "seed"),
        (("match", "nowhere.py", "random"), 3, "no file"),
        (("match", EXAMPLE, "possible:10"), 3, "worlds=fresh"),
        (("match", EXAMPLE, "expert"), 3, "no 'expert'"),
        (("match", *TWO, "--moves"), 2, "--store"),
        (("match", *TWO, "--jobs", "0", "--store", "a.db"), 2, "at least 1"),
        (("match", *TWO, "--store", "no/such/a.db"), 3, "no folder"),
        (("match", "briskola", "random", "--until-decided"), 2, "decides nothing"),
        (("advise", "briskola", "7: 1C"), 3, "legal are"),
        (("advise", "briskola", "7: XX"), 3, "is not a card"),
        (("advise", "briskola", "seven"), 3, "is not a position"),
        (("advise", "briskola", "7", "--agent", "cheating:10"), 3, "can see"),
        (("advise", "briskola", "²"), 3, "'²' is not a deal number; write it in digits, from 0 to 2⁶³ − 1"),
        (("advise", "briskola", "9" * 5000), 3, "9…' is not a deal number"),
        (("advise", "briskola", "7: " + "x" * 5000), 3, "x…' is not a card"),
        (
            ("advise", "briskola", "7", "--agent", "ismcts:" + "9" * 400),
            2,
            "iterations is a whole number from",
        ),
        (("advise", "briskola", "7", "--agent", "ismcts:٣"), 2, "iterations is a whole number from"),
        (("advise", "bridge", "x" * 300), 3, "x…'; check its name"),
        (("advise", "bridge", "7", "--knowing", "N: hcp " + "9" * 5000), 3, "9…' is not a range of hcp"),
        (("solve", "bridge", "/dev/zero"), 3, "is a device or a pipe"),
        (("solve", "bridge", "evening.pbn#²"), 3, "there is no file evening.pbn"),
        (("solve", "x" * 300), 2, "unknown tree or game: 'xxx"),
        (("solve", "x" * 300 + ".tree"), 3, "x…'; give a tree, .tree or .json"),
        (("solve", "othello", "0", "--depth", "9" * 30), 2, "--depth"),
        (("bench", "--seconds", "inf"), 2, "--seconds"),
        (("match", *TWO, "--games", "9" * 30), 2, "--games"),
        (("play", "briskola", "--seat", "2"), 2, "the seats are 0 to 1"),
        (("reproduce", "karamatik"), 2, "did you mean 'karamatic'"),
        (("reproduce", "--scale", "0"), 2, "above 0"),
        (("reproduce", "--scale", "nan"), 2, "above 0"),
        (("reproduce", "--scale", "1001"), 2, "up to 1000"),
        (("reproduce", "karamatic", "--scale", "-1"), 2, "above 0"),
        (("reproduce", "karamatic", "--jobs", "0"), 2, "at least 1"),
        (("reproduce", "karamatic", "--jobs", "2", "--ray", "auto"), 2, "not both"),
        (("reproduce", "karamatic", "--seed", str(2**63)), 2, "seed 9223372036854775808 cannot be used"),
        (("reproduce", "karamatic", "--seed", "-1"), 2, "--seed"),
        (("reproduce", "karamatic", "--out", "no/such/folder/page.html"), 3, "no folder"),
        (("reproduce", "karamatic", "--out", "."), 3, "is a folder"),
        (("reproduce", "karamatic", "--store", "no/such/a.db"), 3, "no folder"),
        (("tournament", "briskola", "random"), 2, "at least two agents"),
        (("tournament", "briskola", "random", "random"), 2, "all of them different"),
        (("tournament", "briskola", "random", "randm"), 2, "did you mean 'random'"),
        (("tournament", "brisola", "random", "flat:9"), 2, "did you mean 'briskola'"),
        (("tournament", *TWO, "--games", "0"), 2, "--games"),
        (("tournament", *TWO, "--jobs", "-2"), 2, "at least 1"),
        (("tournament", *TWO, "--jobs", "2", "--ray", "auto"), 2, "not both"),
        (("tournament", *TWO, "--out", "no/such/page.html"), 3, "no folder"),
        (("experiment", "run", "no.toml"), 3, "there is no file no.toml"),
        (("experiment", "run", "."), 3, "cannot be read: it is a folder"),
        (("experiment", "run", "/dev/zero"), 3, "is a device or a pipe"),
        (("convert", "/dev/zero", "a.lin"), 3, "is a device or a pipe"),
        (("experiment", "walk", "no.toml"), 2, "No such command"),
        (("report",), 3, "there is no store"),
        (("report", "no.db"), 3, "there is no store no.db"),
        (("report", "."), 3, "is a folder"),
        (("export", "no.db", "a.csv"), 3, "there is no store no.db"),
        (("export", "no.db", "no/such/a.csv"), 3, "no folder"),
        (("replay", "no.db"), 3, "there is no store no.db"),
        (("replay", "no.db", "--match", "1", "--at", "0"), 2, "--at"),
        (("cache", "wram"), 2, "did you mean 'warm'"),
        (("agents", "ismtcs"), 2, "did you mean 'ismcts'"),
        (("march",), 2, "No such command"),
    ],
)
def test_bad_input(arguments, code, says, tmp_path):
    done = call(*arguments, folder=tmp_path, data=tmp_path / "data")
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_bad_input_in_a_process_of_its_own(tmp_path):
    done = run("match", "brisola", "random", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("kibitz: unknown game: 'brisola'; did you mean 'briskola'?")
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_headlines_are_summed_up_first_and_what_is_suggested_is_compiled(published, tmp_path, monkeypatch):
    warmed = []
    monkeypatch.setattr(warming, "warm", lambda names, *_: warmed.append(names))
    published(
        PUBLISHED.replace("[match", 'summary = ["Thumbs: {t-beside}."]\n[match').replace(
            "[[row]]", '[[row]]\nname = "t"'
        )
    )
    done = call("reproduce", "--headlines", "--jobs", 1, folder=tmp_path, data=tmp_path / "data")
    assert done.returncode == 0, done.stderr
    first, *_, last = done.stdout.strip().splitlines()
    assert re.fullmatch(r"• Thumbs: [\d.]+ % \(published 88.0 %: [a-z ]+\)\.", first)
    assert last.startswith("Everything else: ")
    assert last.endswith(" reproduce --full")
    assert warmed == [["briskola"]]
    commands = done.stdout[done.stdout.index("Try next:") :].splitlines()[1:4]
    assert [re.search(r"(serve|play|advise)", line)[1] for line in commands] == ["serve", "play", "advise"]
    page = (tmp_path / "report.html").read_text()
    assert page.index("Thumbs: ") < page.index("<table")
    made = document("report", "--experiment", "thumb", data=tmp_path / "data", folder=tmp_path)
    assert made["experiments"][0]["command"] == "kibitz reproduce thumb"


@pytest.mark.parametrize(
    "words",
    [
        ("--headlines", "--quick"),
        ("--headlines", "karamatic"),
        ("--full", "--scale", "1"),
        ("--full", "mckay"),
    ],
)
def test_sizes_that_exclude_each_other(words):
    done = call("reproduce", *words)
    assert done.returncode == 2
    assert f"{words[0]} " in done.stderr


def test_a_file_that_cannot_be_written_is_named_before_the_work(tmp_path):
    page = tmp_path / "page.html"
    page.mkdir()
    done = call("reproduce", "--quick", "--out", page, data=tmp_path / "data")
    assert done.returncode == 3
    assert "is a folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_errors_as_json():
    done = run("match", "brisola", "random", "--json")
    assert done.returncode == 2
    assert done.stdout == ""
    assert json.loads(done.stderr)["error"] == "UnknownName"


def test_a_full_disk_is_named():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*KIBITZ, "games"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_game_without_moves_is_named(tmp_path):
    file = tmp_path / "none.py"
    file.write_text(
        EXAMPLE.read_text().replace("        return n\n\n    def play", "        return 0\n\n    def play")
    )
    for arguments in (("advise", file, "1"), ("match", file, "flat:10", "--games", 2)):
        done = call(*arguments)
        assert done.returncode == 3
        assert "lists 0 legal moves" in done.stderr


def test_a_closed_pipe_ends_quietly():
    done = subprocess.run(
        f"{sys.executable} -m kibitz agents | head -1", shell=True, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr


# --- games, agents, advice, checks, cache, play ----------------------------------------------------


def test_games_and_agents():
    assert document("games")["games"][0]["name"] == "briskola"
    assert [game["name"] for game in document("games", "briskola")["games"]] == ["briskola"]
    told = call("games", "diminishing-bridge").stdout
    assert "screw=true  screw the dealer: he may not make the bids add up" in told
    assert "briskola" not in told
    assert "unknown game: 'brisk'" in call("games", "brisk").stderr
    options = document("agents", "ismcts")["agents"]["ismcts"]["options"]
    assert options["worlds"]["value"] == "fresh"
    assert "    keep=false  " in call("agents", "ismcts").stdout
    assert "karamatic-mcts" in call("agents").stdout


@pytest.mark.parametrize("name", ["oh-hell", "ohhell", "Boerenbridge", "oh_hell", "Diminishing-Bridge"])
def test_games_are_found_by_the_names_people_search_for(name):
    assert games.load(f"{name}:cards=7") == games.load("diminishing-bridge:cards=7")
    assert [game["name"] for game in document("games", name)["games"]] == ["diminishing-bridge"]


def test_results_have_the_own_name_of_a_game():
    assert document("match", "Briscola", "random", "rule-based", "--games", 2)["game"] == "briskola"
    assert play.Match("briscola:seats=3", ("random",), 1).game == "briskola:seats=3"
    assert call("solve", "Bridge").stderr.startswith("kibitz: say which board")
    assert "did you mean 'oh-hell'" in call("advise", "oh-hel", "7").stderr


def test_advise_answers():
    found = document("advise", "briskola", "7", "--agent", "ismcts:200", "--seed", 3)
    assert found["iterations"] == 200
    assert sum(row["visits"] for row in found["rows"]) == 200
    text = run("advise", "briskola", "7", "--agent", "ismcts:200", "--seed", 3).stdout
    assert f"▸ {found['best_text']}" in text
    assert "▒▒" in text


def test_check_answers():
    done = call("check", EXAMPLE, "--games", 2)
    assert done.returncode == 0, done.stdout
    assert "keeps the protocol" in done.stdout


def test_cache_shows_its_path_and_clears(tmp_path):
    environment = {"KIBITZ_CACHE_DIR": str(tmp_path / "code")}
    assert str(tmp_path) in run("cache", env=environment).stdout
    run("match", EXAMPLE, "random", "--games", 1, env=environment)
    assert any((tmp_path / "code").rglob("*.nbc"))
    assert "deleted" in run("cache", "clear", env=environment).stdout
    assert not (tmp_path / "code").exists()


@pytest.mark.parametrize(
    ("words", "says"), [(("path", "briskola"), "goes with warm"), (("warm", "--jobs", 0), "at least 1")]
)
def test_cache_refuses_what_makes_no_sense(words, says):
    done = call("cache", *words)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.soak
def test_warming_compiles_what_a_first_move_and_a_first_hint_need(tmp_path):
    environment = {"KIBITZ_CACHE_DIR": str(tmp_path)}
    done = run("cache", "warm", "Tic-Tac-Toe", env=environment)
    assert done.returncode == 0, done.stderr
    assert "compiling" in done.stderr
    asked = run("advise", "tic-tac-toe", "7", env=environment)
    assert "compil" not in asked.stderr
    again = run("cache", "warm", "tic-tac-toe", env=environment)
    assert "compil" not in again.stderr


def test_an_unknown_game_is_not_warmed():
    done = call("cache", "warm", "briskolla")
    assert done.returncode == 2
    assert "did you mean 'briskola'" in done.stderr


def test_clearing_the_cache_deletes_nothing_else(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    assert run("cache", "clear", env={"KIBITZ_CACHE_DIR": str(tmp_path)}).returncode == 0
    assert (tmp_path / "thesis.txt").read_text() == "precious"


LONG = ("ismcts:1000000000", "flat:1000000000")


@pytest.mark.parametrize(
    "agent", ["ismcts:1000000000,threads=2", *(pytest.param(each, marks=pytest.mark.soak) for each in LONG)]
)
def test_ctrl_c_ends_a_long_search(agent):
    command = [*KIBITZ, "advise", "briskola", "7", "--agent", agent]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(2.5)  # whether it compiles, loads or searches by now, it must end
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors


def test_to_be_terminated_is_to_be_interrupted_however_often(tmp_path):
    command = [*KIBITZ, "match", "briskola", "ismcts:2000", "random", "--games", "100000", "--jobs", "2"]
    command += ["--store", str(tmp_path / "a.db")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline, done = time.monotonic() + 120, []
    while not done:
        assert time.monotonic() < deadline
        time.sleep(0.1)
        with contextlib.suppress(sqlite3.OperationalError):  # no tables yet
            done = batches(tmp_path / "a.db") if (tmp_path / "a.db").exists() else []
    process.send_signal(signal.SIGTERM)
    time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    table, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in table
    assert "Traceback" not in errors


def test_play_a_game_at_the_prompt():
    words = "?\nh\nt\nfoo\nre di coppe\n" + "1\n" * 25
    done = run("play", "briskola", "--seed", 7, "--agent", "random", "--hint", "flat:30", input=words)
    assert done.returncode == 0, done.stderr
    assert "is not a card" in done.stdout
    assert "flat:30: 30 iterations" in done.stdout
    assert any(word in done.stdout for word in ("You win", "You lose", "A draw"))
    assert "▒▒" in done.stdout


def test_a_round_at_the_prompt():
    """Who takes a trick is told, and what all seats get, in their order; help shows a move of this game."""
    said, answers = [], itertools.chain(["?"], itertools.repeat("1"))
    game = games.load("diminishing-bridge:rounds=1,cards=3")
    terminal.play(game, 1, ["random"], 3, "random", lambda _: next(answers), said.append)
    assert sum(line.endswith(("takes the trick.", "take the trick.")) for line in said) == 3
    gains = [line for line in said if re.fullmatch(r"(You|Seat \d) (get|lose)s? \d+ points?\.", line)]
    assert [line.split(" get")[0].split(" lose")[0] for line in gains] == [
        "Seat 0",
        "You",
        "Seat 2",
        "Seat 3",
    ]
    assert "as it is listed, such as bid 3" in "\n".join(said)


def test_leaving_a_game():
    assert "left the game" in run("play", "briskola", "--agent", "random", input="q\n").stdout
    assert "left the game" in run("play", "briskola", "--agent", "random", input="").stdout


# --- match -----------------------------------------------------------------------------------------


def test_match_answers():
    table = document("match", *TWO, "--games", 6, "--seed", 4)
    assert (table["game"], table["games"], table["seed"]) == ("briskola", 6, 4)
    first = table["agents"][0]
    assert first["games"] == 6
    assert first["win_rate"] == first["wins"] / 6
    assert first["win_rate_ci"][0] <= first["win_rate"] <= first["win_rate_ci"][1]
    assert first["points_per_game"] == first["points"] / 6
    assert table["decided"] is None
    assert "paired by deal" in call("match", "briskola", "random", "random", "--games", 4).stdout


def test_a_match_shows_what_the_game_counts(monkeypatch):
    shares = {"absolute_victories": "games", "bids_made": "rounds"}
    monkeypatch.setattr(games.game_class("diminishing-bridge"), "shares", shares)
    match = ("match", "diminishing-bridge:cards=3", "snelleman-trumping", "snelleman-random", "--games", 8)
    first = document(*match)["agents"][0]
    assert {"absolute_victories", "rounds", "bids_made", "earnable"} < set(first)
    told = call(*match).stdout
    heading = re.split(r"\nsnelleman", told)[0]
    assert all(
        word in heading for word in ("% absolute", "victories of", "games", "% bids made of", "rounds")
    )
    assert f"{100 * first['bids_made'] / first['rounds']:.1f} (" in told


def test_a_wide_table_breaks_its_headings_and_no_name(capsys):
    """A heading may be empty, too."""
    name, heading = "an-agent:" + "with,many,options," * 8, "how many of a great many things there were"
    output.print_table(["", heading, "wins"], [[name, "1", "2"]])
    told = capsys.readouterr().out
    assert name in told
    assert heading not in told
    assert told.split()[-3:] == [name, "1", "2"]


def test_a_match_with_a_store_plays_only_what_is_missing(tmp_path):
    store = tmp_path / "results.db"
    arguments = ("match", *TWO, "--seed", 3, "--store", store)
    first = document(*arguments, "--games", 6)
    there = batches(store)
    assert document(*arguments, "--games", 6)["agents"] == first["agents"]
    assert batches(store) == there
    more = document(*arguments, "--games", 10)
    assert batches(store)[: len(there)] == there
    assert sum(deals for _, _, deals, _ in batches(store)) == 5
    assert more["agents"] == document("match", *TWO, "--seed", 3, "--games", 10)["agents"]


def test_a_match_ends_when_it_is_decided():
    clear = document("match", *TWO, "--games", 4000, "--until-decided", "--seed", 1)
    assert (clear["decided"], clear["complete"]) == (True, True)
    assert clear["games"] == 100  # the first look
    assert clear["differences"][0]["ci"][0] > 0
    plain = document("match", *TWO, "--games", 100, "--seed", 1)
    wide, narrow = (table["differences"][0]["ci"] for table in (clear, plain))
    assert wide[1] - wide[0] > narrow[1] - narrow[0]  # the price of looking again and again
    told = call("match", "briskola", "random", "random", "--games", 20, "--until-decided").stdout
    assert told.splitlines()[-1] == "not decided after 10 deals"
    told = call("match", *TWO, "--games", 400, "--until-decided", "--seed", 1).stdout
    assert told.splitlines()[-1] == "decided after 50 deals"


def test_ctrl_c_prints_what_is_done():
    command = [*KIBITZ, "match", "briskola", "ismcts:2000", "random"]
    command += ["--games", "100000", "--jobs", "2", "--json"]
    leader, follower = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower, text=True)
    os.close(follower)
    seen = b""
    deadline = time.monotonic() + 120
    while b"games" not in seen and time.monotonic() < deadline:  # the progress bar: deals are done
        seen += os.read(leader, 1024)
    process.send_signal(signal.SIGINT)
    answer, _ = process.communicate(timeout=60)
    os.close(leader)
    assert process.returncode == 130
    table = json.loads(answer)
    assert not table["complete"]
    assert 0 < table["games"] < 100000


# --- published results -----------------------------------------------------------------------------

PUBLISHED = """
name = "thumb"
title = "Rules of thumb against chance"
source = "A. Nobody, On thumbs, 1999"
game = "briskola"
games = 400
quick_games = 8
published_games = 16
core_seconds = 7200

[match.thumb]
agents = ["rule-based", "random"]

[[row]]
match = "thumb"
measure = "win_rate"
published = 0.88
"""


@pytest.fixture
def published(monkeypatch):
    """Kibitz with one published result, which is measured at once."""

    def publish(text=PUBLISHED):
        found = experiments.read(text, "thumb.toml", "thumb")
        monkeypatch.setattr(experiments, "PUBLISHED", ("thumb",))
        monkeypatch.setattr(experiments, "published", lambda name: found)
        return found

    publish()
    return publish


def state_of(data):
    (found,) = document("reproduce", data=data)["published"]
    assert found["state"] in call("reproduce", data=data).stdout
    return found["state"]


def test_reproduce_lists_what_there_is_and_runs_nothing(published, tmp_path):
    data = tmp_path / "data"
    listed = document("reproduce", data=data)
    (found,) = listed["published"]
    assert (found["name"], found["state"]) == ("thumb", "not measured")
    assert found["source"] == "A. Nobody, On thumbs, 1999"
    cores = listed["cores"]
    assert cores == os.cpu_count()
    assert found["seconds"] == {"quick": 144 / cores, "published": 288 / cores, "full": 7200 / cores}
    told = call("reproduce", data=data).stdout
    assert "thumb: Rules of thumb against chance" in told
    assert "not measured" in told
    assert output.duration(7200 / cores) in told
    assert list(tmp_path.iterdir()) == []


def test_the_quick_size_has_a_cost_of_its_own(published, tmp_path):
    published(PUBLISHED.replace("core_seconds = 7200", "core_seconds = 7200\nquick_core_seconds = 30"))
    listed = document("reproduce", data=tmp_path)
    assert listed["published"][0]["seconds"]["quick"] == 30 / listed["cores"]


def test_all_published_results_are_listed(tmp_path):
    found = document("reproduce", data=tmp_path)["published"]
    assert [about["name"] for about in found] == list(experiments.PUBLISHED)
    for about in found:
        assert 0 < about["seconds"]["quick"] < about["seconds"]["full"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0.04, "0.0 s"), (9.94, "9.9 s"), (89.4, "89 s"), (90, "2 min"), (5369, "89 min")),
        *((5430, "1 h 30 min"), (7200, "2 h 00 min")),
    ],
)
def test_times_as_people_say_them(seconds, text):
    assert output.duration(seconds) == text


def test_reproduce_counts_what_was_found(published, tmp_path):
    data = tmp_path / "data"
    done = call("reproduce", "thumb", "--jobs", 1, folder=tmp_path, data=data)
    assert done.returncode == 0, done.stderr
    assert "reproduced" in done.stdout
    assert "report.html" in done.stdout
    assert "kibitz play briskola" in done.stdout
    assert "88.0 %" in (tmp_path / "report.html").read_text()
    assert state_of(data) == "1 of 1 lines reproduced"

    published(PUBLISHED.replace("0.88", "0.5"))
    assert state_of(data) == "1 of 1 lines reproduced"  # what was asked when it was run
    assert "differs" in call("reproduce", "thumb", "--jobs", 1, folder=tmp_path, data=data).stdout
    assert state_of(data) == "0 of 1 lines reproduced, 1 differs"
    published()
    done = call("reproduce", "thumb", "--quick", "--jobs", 1, folder=tmp_path, data=data)
    assert "too few games to tell (it takes about " in done.stdout


def test_reproduce_tells_how_far_it_came(published, tmp_path):
    class Enough(Exception):
        pass

    def stop(done, total):
        raise Enough

    (tmp_path / "data").mkdir()
    with Store(tmp_path / "data" / "laboratory.db") as store, pytest.raises(Enough):
        experiments.run(published(), store, InProcess(), progress=stop)
    assert state_of(tmp_path / "data") == "2 of 400 games"
    assert call("reproduce", "thumb", "--jobs", 1, folder=tmp_path, data=tmp_path / "data").returncode == 0
    assert state_of(tmp_path / "data") == "1 of 1 lines reproduced"


def test_sizes_of_a_published_result(published, tmp_path):
    for options, wanted, command in (
        (("--quick",), 8, "kibitz reproduce thumb --quick"),
        (("--scale", "1"), 16, "kibitz reproduce thumb --scale=1"),
        (("--scale", "0.25", "--seed", "7"), 4, "kibitz reproduce thumb --scale=0.25 --seed=7"),
        (("thumb",), 400, "kibitz reproduce thumb"),
    ):
        told = document("reproduce", *options, "--jobs", 1, folder=tmp_path, data=tmp_path / "data")
        (found,) = told["experiments"]
        assert (found["games"], found["command"]) == (wanted, command)
        assert found["seed"] == (7 if "--seed" in options else 1)
        assert told["page"] == "report.html"
        assert [row["n"] for row in told["rows"]] == [wanted]
        assert told["rows"] == found["rows"]


# --- experiments -----------------------------------------------------------------------------------


def test_an_experiment_answers_its_question(small, tmp_path):
    page = tmp_path / "page.html"
    done = call("experiment", "run", small, "--jobs", 1, "--out", page, data=tmp_path / "data")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Is a rule of thumb better than chance?\n")
    assert "rule-based against random: games won" in done.stdout
    assert "published" not in done.stdout  # a column that would say nothing
    assert re.search(r"\n40 games, [\d.]+ s of one core\n$", done.stdout)
    assert "Is a rule of thumb better than chance?" in page.read_text()
    assert (tmp_path / "data" / "laboratory.db").is_file()
    assert [path.name for path in small.parent.iterdir()] == ["small.toml"]


def test_an_experiment_in_numbers(small, tmp_path):
    store = tmp_path / "a.db"
    arguments = ("experiment", "run", small, "--jobs", 1, "--store", store)
    found = document(*arguments)
    assert (found["name"], found["state"], found["games"], found["seed"]) == ("small", "done", 40, 1)
    assert found["command"] == f"kibitz experiment run {small} --store={store}"
    assert found["versions"]["kibitz"] == kibitz.__version__
    (row,) = found["rows"]
    assert row["n"] == 40
    assert row["ci"][0] <= row["measured"] <= row["ci"][1]
    there = batches(store)
    assert document(*arguments) == found
    assert batches(store) == there
    # Another seed: other deals, but the same agents.
    other = document(*arguments, "--seed", 9, "--quick")
    assert (other["seed"], other["games"]) == (9, 4)
    assert other["command"] == f"kibitz experiment run {small} --quick --seed=9 --store={store}"
    assert len(batches(store)) > len(there)
    assert not (tmp_path / "data").exists()


def test_a_game_is_looked_for_beside_the_experiment(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    (tmp_path / "card.py").write_text(
        (Path(__file__).parents[1] / "examples" / "high_card.py").read_text(encoding="utf-8")
    )
    file = tmp_path / "mine.toml"
    file.write_text(
        'game = "card.py"\ngames = 4\n[match.a]\nagents = ["random", "random"]\n[[row]]\nmatch = "a"\n'
    )
    monkeypatch.chdir(tmp_path / "there")
    arguments = ("experiment", "run", file, "--jobs", 1, "--store", tmp_path / "a.db", "--trust")
    assert document(*arguments)["games"] == 4
    there = batches(tmp_path / "a.db")
    monkeypatch.chdir(tmp_path)  # from another folder: the same match
    assert document(*arguments)["games"] == 4
    assert batches(tmp_path / "a.db") == there
    monkeypatch.chdir("/")
    (found,) = document("report", tmp_path / "a.db", "--trust")["experiments"]
    assert found["games"] == 4


def test_a_game_that_was_not_kept_is_not_replayed_by_other_code(small, tmp_path, monkeypatch):
    store = tmp_path / "a.db"
    with monkeypatch.context() as yesterday:
        yesterday.setattr(play, "_code_of", lambda modules: b"other rules")
        assert call("match", *TWO, "--games", 2, "--store", store).returncode == 0
        assert call("replay", store, "--match", 1).returncode == 0
    done = call("replay", store, "--match", 1)
    assert done.returncode == 3
    assert "have changed" in done.stderr


def test_results_of_other_code_are_not_mixed_with_new_ones(small, tmp_path, monkeypatch):
    arguments = ("experiment", "run", small, "--jobs", 1, "--store", tmp_path / "a.db")
    with monkeypatch.context() as yesterday:
        yesterday.setattr(play, "_code_of", lambda modules: b"other rules")
        assert call(*arguments, "--quick").stderr == ""
    done = call(*arguments)
    assert done.returncode == 0
    assert "4 games of these matches were played by rules or agents that have changed since" in done.stderr
    assert sum(deals for _, _, deals, _ in batches(tmp_path / "a.db")) == 2 + 20
    assert call(*arguments).stderr == ""


def test_the_number_of_processes_does_not_change_the_answer(small, tmp_path):
    one, two = (
        document("experiment", "run", small, "--jobs", jobs, "--store", tmp_path / f"{jobs}.db")
        for jobs in (1, 2)
    )
    assert one["rows"] == two["rows"]


def test_a_dry_run_changes_nothing(small, tmp_path):
    arguments = ("experiment", "run", small, "--dry-run", "--jobs", 3)
    fresh = document(*arguments, data=tmp_path / "data")
    assert not (tmp_path / "data").exists()
    assert (fresh["games"], fresh["games_in_store"], fresh["workers"]) == (40, 0, 3)
    assert fresh["core_seconds"] > 0
    assert fresh["seconds"] == pytest.approx(fresh["core_seconds"] / 3)
    (match,) = fresh["matches"]
    assert match["milliseconds_a_game"] > 0
    assert fresh["core_seconds"] == pytest.approx(match["milliseconds_a_game"] * 40 / 1000)

    store = tmp_path / "a.db"
    document("experiment", "run", small, "--jobs", 1, "--store", store, "--quick")
    before = store.read_bytes()
    half = document(*arguments, "--store", store)
    assert (half["games"], half["games_in_store"]) == (40, 4)
    assert half["core_seconds"] == pytest.approx(half["matches"][0]["milliseconds_a_game"] * 36 / 1000)
    told = call(*arguments, "--store", store, "--quick")
    assert told.returncode == 0, told.stderr
    assert "4 games, of which 4 are in the store; about 0.0 s with 3 processes" in told.stdout
    assert store.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--dry-run", "--scale", "0"), "above 0"),
        (("--dry-run", "--jobs", "0"), "at least 1"),
        (("--scale", "-1"), "above 0"),
        (("--jobs", "0"), "at least 1"),
        (("--jobs", "1", "--ray", "auto"), "not both"),
        (("--seed", str(2**63)), "seed 9223372036854775808 cannot be used"),
        (("--dry-run", "--seed", str(2**63)), "seed 9223372036854775808 cannot be used"),
        (("--seed", "1.5"), "--seed"),
    ],
)
def test_bad_options_of_an_experiment(small, options, says, tmp_path):
    done = call("experiment", "run", small, *options, data=tmp_path / "data")
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "data").exists()


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_plays_the_rest(tmp_path):
    file, store = tmp_path / "long.toml", tmp_path / "a.db"
    file.write_text(EXPERIMENT.replace("rule-based", "ismcts:200").replace("games = 40", "games = 200"))
    command = [*KIBITZ, "experiment", "run", str(file), "--store", str(store), "--jobs", "1", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (store.exists() and _has_a_batch(store)) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    answer, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert answer == ""
    assert f"what was finished is kept in {store}, and the same command plays the rest" in errors
    assert "Traceback" not in errors
    there = batches(store)
    assert 0 < sum(deals for _, _, deals, _ in there) < 100
    (listed,) = document("report", store)["experiments"]
    assert "of 200 games" in listed["state"]

    found = document(*command[len(KIBITZ) : -1])
    assert (found["state"], found["games"]) == ("done", 200)
    assert batches(store)[0] == there[0]
    whole = document(*command[len(KIBITZ) : -1], "--store", tmp_path / "b.db")
    assert whole["rows"] == found["rows"]


def _has_a_batch(store):
    try:
        return bool(batches(store))
    except sqlite3.Error:  # it is being made
        return False


def test_a_tournament_answers(tmp_path):
    store, page = tmp_path / "a.db", tmp_path / "page.html"
    arguments = ("tournament", *TWO, "flat:10", "--games", 8, "--jobs", 1, "--store", store)
    done = call(*arguments, "--out", page)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Who is the strongest, and by how much?\n")
    assert "Ratings in briskola" in done.stdout
    assert "Cross table" in done.stdout
    assert "Ratings in briskola" in page.read_text()
    there = batches(store)
    found = document(*arguments)
    assert batches(store) == there
    assert (found["state"], found["games"]) == ("done", 24)
    command = f"kibitz tournament briskola rule-based random flat:10 --games=8 --seed=0 --store={store}"
    assert found["command"] == command
    ratings, cross = found["tables"]
    assert sorted(row[0] for row in ratings["rows"]) == ["flat:10", "random", "rule-based"]
    assert [len(row) for row in cross["rows"]] == [4, 4, 4]


# --- what comes out of a store ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A store with two matches, the moves of the first are kept."""
    store = tmp_path_factory.mktemp("store") / "results.db"
    arguments = ("--games", 4, "--seed", 5, "--store", store)
    assert call("match", *TWO, *arguments, "--moves").returncode == 0
    assert call("match", "briskola:seats=3", "flat:5", "random", *arguments).returncode == 0
    return store


def test_report_of_a_store(small, tmp_path):
    store = tmp_path / "a.db"
    document("experiment", "run", small, "--jobs", 1, "--store", store, "--quick")
    done = call("report", store, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1 experiment: report.html\n"
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    page = tmp_path / "other.html"
    call("tournament", *TWO, "--games", 2, "--jobs", 1, "--store", store)
    assert call("report", store, "--out", page).stdout == f"2 experiments: {page}\n"
    assert page.read_text().count("<section") == 2
    only = document("report", store, "--experiment", "small")
    assert [e["name"] for e in only["experiments"]] == ["small"]
    assert call("report", store, "--markdown", "--experiment", "small").stdout.startswith("# Measured\n")
    wrong = call("report", store, "--experiment", "smal", folder=tmp_path)
    assert wrong.returncode == 2
    assert "did you mean 'small'" in wrong.stderr


def test_report_uses_the_store_of_the_user(small, tmp_path):
    data = tmp_path / "data"
    document("experiment", "run", small, "--jobs", 1, "--quick", data=data)
    assert [e["name"] for e in document("report", data=data)["experiments"]] == ["small"]


def test_export_writes_a_row_for_every_seat(played, tmp_path):
    file = tmp_path / "a.csv"
    assert call("export", played, file).stdout == f"26 rows: {file}\n"
    with file.open() as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 8 + 18
    assert {row["game"] for row in rows} == {"briskola", "briskola:seats=3"}
    for game in {(row["game"], row["deal"], row["seating"]) for row in rows}:
        assert sum(float(r["score"]) for r in rows if (r["game"], r["deal"], r["seating"]) == game) == 120
    assert document("export", played, file)["rows"] == 26
    wrong = call("export", played, tmp_path / "a.xls")
    assert wrong.returncode == 2
    assert "neither .csv nor .parquet" in wrong.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv"]


def test_replay_lists_the_matches(played):
    found = {m["match"]: m for m in document("replay", played)["matches"]}
    assert found[1]["agents"] == ["rule-based", "random"]
    assert (found[1]["game"], found[1]["seed"], found[1]["deals"]) == ("briskola", 5, 2)
    assert found[2]["game"] == "briskola:seats=3"
    told = call("replay", played).stdout
    assert "1: rule-based – random" in told
    assert "2: flat:5 – random" in told


def test_replay_shows_a_game_move_by_move(played):
    found = document("replay", played, "--match", 1, "--deal", 1, "--seating", 1)
    assert found["agents"] == ["random", "rule-based"]
    assert len(found["moves"]) == 40
    assert sum(found["scores"]) == 120
    assert found["kept"]
    lines = call("replay", played, "--match", 1, "--deal", 1, "--seating", 1).stdout.splitlines()
    assert lines[0] == "briskola, seed 5, deal 1, seating 1; moves as kept"
    assert [line.split() for line in lines[1:-1]] == [
        [str(i), "seat", str(m["seat"]), m["move"], m["agent"]] for i, m in enumerate(found["moves"], 1)
    ]
    assert lines[-1] == "score {:g} – {:g}, as in the store".format(*found["scores"])
    again = call("replay", played, "--match", 2).stdout
    assert "not kept: the same agents played it again" in again


def test_replay_hides_what_a_seat_could_not_see(played):
    with Store(played, read_only=True) as store:
        moves = store.moves(1, 1, 0)
    state = State(games.load("briskola"))
    settle_chance(state, 5, 1, 0)
    for at, move in enumerate(moves[:12], 1):
        mover, hand = state.mover, state.move_texts()
        if at in (1, 2, 11, 12):
            for seat in (0, 1):
                shown = call("replay", played, "--match", 1, "--deal", 1, "--at", at, "--seat", seat).stdout
                picture, last = shown.rstrip("\n").rsplit("\n\n", 1)
                assert picture == str(state.view(seat))
                assert last.startswith(f"move {at}: seat {mover} ")
                assert last.endswith(f" plays {state.game.move_text(move)}")
                seen = set(picture.split())
                assert seen.issuperset(hand) if seat == mover else seen.isdisjoint(hand)
            whole = call("replay", played, "--match", 1, "--deal", 1, "--at", at).stdout
            assert whole.startswith(str(state.open_view()))
            assert "▒▒" not in whole
            assert set(whole.split()).issuperset(hand)
        state.play(move)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--match", 3), "there is no match 3 in the store; available: 1, 2"),
        (("--match", 1, "--deal", 2), "deal 2 of match 1 is not in the store"),
        (("--match", 1, "--seating", 2), "there is no seating 2; a deal of this match has 0 to 1"),
        (("--match", 1, "--at", 41), "move 41 does not exist; the game has 40 moves"),
        (("--match", 1, "--at", 0), "--at"),
        (("--match", 1, "--at", 3, "--seat", 2), "there is no seat 2; briskola has 0 to 1"),
        (("--match", 1, "--seat", 0), "--seat goes with --at"),
        (("--match", 1, "--at", 3, "--seat", -1), "--seat"),
        (("--match", "one"), "--match"),
    ],
)
def test_replay_of_what_is_not_there(played, options, says):
    done = call("replay", played, *options)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""


# --- small things that people stumbled over --------------------------------------------------------


def test_an_agent_against_itself_is_told_to_show_nothing():
    assert "give a second one" in call("match", "tic-tac-toe", "random", "--games", 4).stdout
    assert (
        "give a second one" not in call("match", "tic-tac-toe", "random", "rule-based", "--games", 4).stdout
    )


def test_games_are_counted_where_one_plays_against_three():
    told = call(
        "match", "diminishing-bridge:cards=2,rounds=1", "snelleman-trumping", "snelleman-random", "--games", 8
    )
    lines = [line.split() for line in told.stdout.splitlines()]
    assert ["agent", "games"] in [line[:2] for line in lines]
    assert ["snelleman-trumping", "8"] in [line[:2] for line in lines]
    assert ["snelleman-random", "24"] in [line[:2] for line in lines]
    assert (
        "games"
        not in call("match", "tic-tac-toe", "random", "rule-based", "--games", 4).stdout.splitlines()[1]
    )


def test_a_second_run_says_that_nothing_was_played(small, tmp_path):
    arguments = ("experiment", "run", small, "--jobs", 1, "--store", tmp_path / "a.db")
    assert "of one core" in call(*arguments).stdout
    assert "40 games, all from the store" in call(*arguments).stdout


def test_a_file_is_not_converted_over_another_one(tmp_path):
    board = tmp_path / "hand.pbn"
    board.write_text('[Deal "N:AKQJT98765432... .AKQJT98765432.. ..AKQJT98765432. ...AKQJT98765432"]\n')
    before = board.read_text()
    done = call("convert", board, board)
    assert done.returncode == 2
    assert "--force to overwrite it" in done.stderr
    assert board.read_text() == before
    assert call("convert", board, tmp_path / "hand.lin").returncode == 0
    assert call("convert", board, tmp_path / "hand.lin").returncode == 2
    assert call("convert", board, tmp_path / "hand.lin", "--force").returncode == 0


def test_moves_are_numbered_as_the_hand_shows_them():
    view = kibitz.deal("briskola", seed=7).view()
    assert [view.text(move) for move in terminal._in_the_order_of(str(view), view)] == str(view).split()[-3:]


def test_a_number_that_counts_no_move_is_refused_as_a_number():
    said = []
    answers = iter(["9", "q"])
    terminal.play(games.load("briskola"), 1, ["random"], 7, "random", lambda _: next(answers), said.append)
    assert "9 is not one of the numbers, which go from 1 to 3." in said
