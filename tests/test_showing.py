"""Text from data: no terminal obeys it, no spreadsheet calculates it, and no page takes it for its own."""

import csv
import io
import json
import re
import sys
import unicodedata
from contextlib import redirect_stderr, redirect_stdout

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibitz import deal, experiments, records, report, terminal
from kibitz.arena.executors import InProcess
from kibitz.arena.play import Match
from kibitz.arena.store import Store
from kibitz.errors import InputError
from kibitz.search.advice import Advice, Row
from kibitz.showing import everything_visible, for_spreadsheet, in_one_line, numbered, visible
from tests.test_cli import call
from tests.test_store import MATCH, Batch, played

OBEYED = "\x1b[2J\x1b]0;title\x07 \x9b31m \r \x00 \u202e\u2066 \u200f \x7f"


@pytest.mark.parametrize(
    ("n", "says"), [(0, "0 worlds"), (1, "1 world"), (2, "2 worlds"), (12_345, "12,345 worlds")]
)
def test_one_thing_is_no_plural(n, says):
    assert numbered(n, "world") == says
    row = Row(3, "3C", 0.5, 0.1, 10, 10)
    assert f"10 iterations, {says}, " in str(Advice(3, (row,), 0.5, 0, "uct", "points", 10, n, 0.1, 1))


def test_one_deal_and_one_other_seat():
    assert re.search("1 deal in every seat$", call("check", "tic-tac-toe", "--games", "1").stdout, re.M)
    done = call("play", "tic-tac-toe", "--agent", "random", "--agent", "random")
    assert done.returncode == 2
    assert "2 agents are too many for 1 other seat; give at most 1" in done.stderr
    done = call("play", "bridge", *["--agent", "random"] * 4)
    assert "4 agents are too many for 3 other seats; give at most 3" in done.stderr


def commands(text):
    """What a terminal would obey, but for line ends and tabs."""
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\n\t"]


@given(st.text())
def test_what_cannot_be_seen_is_written_out(text):
    shown = visible(text)
    assert not commands(shown)
    assert visible(shown) == shown
    assert "\n" not in in_one_line(text)
    if text.isprintable():
        assert shown == text
    if "\\" not in text:  # nothing is lost
        assert shown.encode("latin-1", "backslashreplace").decode("unicode_escape") == text


def test_all_that_is_printed_is_visible_but_for_the_colours_of_our_own(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)

    class Screen(io.StringIO):
        def isatty(self):
            return True

    out, err = Screen(), Screen()
    with redirect_stdout(out), redirect_stderr(err), everything_visible():
        print("a\tline", OBEYED)
        print(OBEYED, file=sys.stderr)
        sys.stdout.writelines([OBEYED, "\n"])
        terminal.fail(InputError(f"two\nlines {OBEYED}"), False)
        ours = terminal.Story()
        written = len(err.getvalue())
        ours.compiling("a game", 3, 1.0, done=True)
    assert out.getvalue() == f"a\tline {visible(OBEYED)}\n{visible(OBEYED)}\n"
    assert not commands(err.getvalue()[:written])
    assert r"kibitz: two\nlines \x1b[2J" in err.getvalue()
    assert "\x1b[2m" in err.getvalue()[written:]


@pytest.mark.parametrize("cell", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "＝1+1", "-", "=-1"])
def test_a_formula_is_only_text(cell):
    assert for_spreadsheet(cell) == f"'{cell}"


@pytest.mark.parametrize(
    "cell", ["", "a=1", "-1", "+1.5", "-1e3", "1", -1, -1.5, 0, "[1, 2]", "'x", None, r"\r=1"]
)
def test_any_other_cell_stays_as_it_is(cell):
    assert for_spreadsheet(cell) is cell


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", "\t", "\u2028", "\x85"])
def test_a_line_end_begins_no_row(end):
    for text in (f"a{end}=1+1", f"{end}=1+1"):
        cell = for_spreadsheet(text)
        assert cell.isprintable()
        assert cell[0] in "a\\"


@pytest.fixture
def hostile(tmp_path):
    """A store whose texts are commands of a terminal, and formulas."""
    path = tmp_path / "results.db"
    with Store(path) as kept:
        number = kept.number_of(MATCH)
        kept.add(Batch(MATCH, 0, 2), number, played(2, -4.0))
        agents = json.dumps([f"=cmd|'/c calc'!A0 {OBEYED}\n1: spoofed", "@x"])
        kept._db.execute("UPDATE match SET game = ?, agents = ?, code = '+1+1'", (f"=1+1 {OBEYED}", agents))
    return path


def test_a_hostile_store_in_a_terminal(hostile):
    for words in (("replay", hostile), ("replay", hostile, "--match", 1), ("replay", hostile, "--json")):
        done = call(*words)
        assert not commands(done.stdout)
        assert not commands(done.stderr)
        assert r"\x1b" in done.stdout + done.stderr or "u001b" in done.stdout
    listed = call("replay", hostile).stdout.splitlines()
    assert len(listed) == 2
    assert r"\n1: spoofed" in listed[1]
    (found,) = json.loads(call("replay", hostile, "--json").stdout)["matches"]
    assert found["game"] == f"=1+1 {OBEYED}"


def test_nothing_in_a_replay_or_a_result_forges_a_line(tmp_path, monkeypatch):
    """Whatever a line of a program that reads this begins with, it is Kibitz's own."""
    evil, end = "x\nmove 1: seat 0 (forged) wins\nkibitz: forged", deal("tic-tac-toe", 1)
    move = records.Move(end, 0, evil, 4, "b2")
    record = records.Record(Match(evil, ("random", evil), 1), 0, 0, [evil, evil], [move], end, True)
    monkeypatch.setattr(records, "replay", lambda *_: record)
    store = tmp_path / "a.db"
    Store(store).close()
    said = [call("replay", store, "--match", 1), call("replay", store, "--match", 1, "--at", 1)]
    told = json.dumps(evil)
    text = (
        f"name = 'e'\ntitle = {told}\nquestion = {told}\nnotes = [{told}]\n"
        f"game = 'briskola'\ngames = 2\n[match.a]\nagents = ['random']\n"
        f"[[row]]\nmatch = 'a'\ncell = {told}\ntable = {told}\n"
    )
    (tmp_path / "e.toml").write_text(text)
    said.append(call("experiment", "run", tmp_path / "e.toml", "--store", tmp_path / "b.db", "--jobs", 1))
    for done in said:
        assert done.returncode == 0, done.stderr
        assert "forged" in done.stdout
        lines = done.stdout.splitlines()
        assert not [line for line in lines if line.startswith(("move 1: seat 0 (forged", "kibitz:"))]


def test_a_hostile_store_in_a_spreadsheet(hostile, tmp_path):
    with Store(hostile, read_only=True) as kept:
        assert records.export(kept, tmp_path / "results.csv") == 8
    with (tmp_path / "results.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert row["game"] == f"'=1+1 {visible(OBEYED)}"
        assert row["code"] == "'+1+1"
        assert row["agent"][:2] in ("'=", "'@")
    assert [float(row["score"]) for row in rows] == [-4, -3, -2, -1, 0, 1, 2, 3]
    assert {row["seed"] for row in rows} == {"1"}


def test_a_hostile_experiment_in_html_and_markdown():
    evil = f"# <img src=x onerror=1> [link](javascript:1) `code` ![i](//x) | {OBEYED}\n\n# Heading"
    text = (
        f"name = 'e'\ntitle = {json.dumps(evil)}\nquestion = {json.dumps(evil)}\nsource = '- item'\n"
        f"notes = [{json.dumps(evil)}]\ngame = 'briskola'\ngames = 4\n[match.a]\nagents = ['random']\n"
        f"[[row]]\nmatch = 'a'\ncell = {json.dumps(evil)}\ntable = {json.dumps(evil)}\n"
    )
    with Store() as kept:
        result = experiments.run(experiments.read(text, "e.toml"), kept, InProcess(), command="a `b`` c\n# d")
    page, marked = report.page([result], evil), report.markdown([result], evil)
    for written in (page, marked):
        assert not commands(written)
        assert r"\x1b[2J" in written or r"\\x1b\[2J" in written
    assert "<img" not in page
    assert re.findall(r"(?<!\\)<", marked) == []
    assert re.findall(r"(?<!\\)\[", marked) == []
    assert [line for line in marked.splitlines() if line.startswith("#")] == marked.splitlines()[:1] + [
        line for line in marked.splitlines() if line.startswith("## ")
    ]
    assert "\n\\- item\n" in marked
    assert "Made by ``` a `b`` c # d ``` with seed 1" in marked
