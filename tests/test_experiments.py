"""Experiments: what a description may say, and what comes of scores that are known beforehand."""

import json
import math
import re
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kibitz import experiments, report
from kibitz.arena import match as arena
from kibitz.arena.executors import InProcess, executor
from kibitz.arena.play import Batch, Match, Played
from kibitz.arena.statistics import wilson
from kibitz.arena.store import Store
from kibitz.arena.tally import MEASURES
from kibitz.belief import counters
from kibitz.errors import KibitzError, ParseError, UnknownName
from kibitz.experiments.description import FIGURES, GAP, INTERVALS, fill
from kibitz.experiments.evaluation import Run, duels, evaluate, orders
from kibitz.games import load, parts
from tests.test_cli import batches, call, document

TOP = 'name = "x"\ngame = "briskola"\ngames = 8\n'
A = '[match.a]\nagents = ["rule-based", "random"]\n'
B = '[match.b]\nagents = ["flat:5", "random"]\n'
GRID = '[match.g]\nagents = ["flat:{n}", "random"]\ngrid.n = [1, 2, 3]\n'
WORDS = '[match.w]\nagents = ["{who}", "random"]\ngrid.who = ["random", "rule-based"]\n'
ONCE = A + "rotate = false\n"  # every deal is played in one seating
ALONE = '[match.alone]\nagents = ["random"]\n'
OTHER = '[match.other]\nagents = ["rule-based", "random"]\nseed = 1\n'
BASE = TOP + A + B + GRID + WORDS + ALONE + OTHER
BRIDGE = "diminishing-bridge:cards=3"  # a game that counts more than the score
COUNTED = (
    f'name = "x"\ngame = "{BRIDGE}"\ngames = 40\n[match.a]\n'
    'agents = ["snelleman-trumping", "snelleman-random"]\n'
)


def read(text, name="x"):
    return experiments.read(text, "file.toml", name)


def row(*lines, match="a"):
    return f'\n[[row]]\nmatch = "{match}"\n' + "\n".join(lines) + "\n"


def figure(kind, *lines):
    return f'\n[[figure]]\nkind = "{kind}"\n' + "\n".join(lines) + "\n"


# --- descriptions ----------------------------------------------------------------------------------

MISTAKES = {
    # Not even a description.
    "no TOML": ("games = = 3", 3, "file.toml is not valid TOML: "),
    "deep": ("a = " + "[" * 5000, 3, "file.toml is not valid TOML"),
    "long": ("a = " + "1" * 5000, 3, "file.toml is not valid TOML"),
    "empty": ("", 3, "file.toml has nothing to play; describe a [match.NAME] or a [tournament.NAME]"),
    "nothing to play": (TOP, 3, "file.toml has nothing to play"),
    "one match without a name": (TOP + "[[match]]\n", 3, "file.toml: match must be tables with names"),
    "match is a text": ('match = "a"', 3, "match must be tables with names, such as [match.first]"),
    "tournament is a number": ("tournament = 3", 3, "file.toml: tournament must be tables with names"),
    "row is a table": (BASE + '[row]\nmatch = "a"', 3, "file.toml: row must be a list of tables: [[row]]"),
    "figure is a text": ('figure = "curve"\n' + BASE, 3, "file.toml: figure must be a list of tables"),
    # Keys.
    "key at the top": ("game_s = 3\n" + BASE, 2, "key in file.toml: 'game_s'; did you mean 'games'?"),
    "table at the top": (TOP + "[matches.a]", 2, "key in file.toml: 'matches'; did you mean 'match'?"),
    "key of a match": (BASE + "sead = 3", 2, "key in file.toml: match.other: 'sead'; did you mean 'seed'?"),
    "key of a tournament": (
        BASE + '[tournament.t]\nagent = ["random"]', 2,
        "key in file.toml: tournament.t: 'agent'; did you mean 'agents'?",
    ),
    "key of a row": (
        BASE + row() + row("mesure = 3"), 2, "key in file.toml: row 2: 'mesure'; did you mean 'measure'?",
    ),
    "key of a figure": (
        BASE + row() + figure("intervals", 'captoin = "a"'), 2,
        "key in file.toml: figure 1: 'captoin'; did you mean 'caption'?",
    ),
    "what a program keeps": ('text = "a"\n' + BASE, 2, "unknown key in file.toml: 'text'"),
    # Kinds.
    "a text": ("title = 3\n" + BASE, 3, "file.toml: title = 3 cannot be used; title is a text"),
    "a whole number": (
        BASE.replace("games = 8", "games = 1.5"), 3,
        "file.toml: games = 1.5 cannot be used; games is a whole number",
    ),
    "a number of games in words": (
        BASE + 'games = "8"', 3, "match.other: games = '8' cannot be used; games is a number or a list",
    ),
    "true is not a number": (BASE + row("agent = true"), 3, "row 1: agent = True cannot be used"),
    "a number": (
        BASE + row('goal = "high"'), 3, "file.toml: row 1: goal = 'high' cannot be used; goal is a number",
    ),
    "not a number": (BASE + row("goal = nan"), 3, "row 1: goal = nan cannot be used; goal is a number"),
    "endless": (BASE + row("above = inf"), 3, "row 1: above = inf cannot be used"),
    "true or false": (
        BASE + row('holm = "yes"'), 3, "file.toml: row 1: holm = 'yes' cannot be used; holm is true or false",
    ),
    "a list of texts": (
        'notes = "a"\n' + BASE, 3, "file.toml: notes = 'a' cannot be used; notes is a list of texts",
    ),
    "a list of other things": (
        TOP + '[match.a]\nagents = ["random", 3]', 3,
        "file.toml: match.a: agents = ['random', 3] cannot be used; agents is a list of texts",
    ),
    "grid without lists": (
        TOP + '[match.a]\nagents = ["flat:{n}"]\ngrid.n = 3', 3,
        "file.toml: match.a: grid = {'n': 3} cannot be used; grid is a table of lists with at least one",
    ),
    "grid without values": (
        TOP + '[match.a]\nagents = ["flat:{n}"]\ngrid.n = []', 3, "file.toml: match.a: grid = {'n': []}",
    ),
    "published words": (
        BASE + row('published = "96 %"'), 3,
        "row 1: published = '96 %' cannot be used; published is a number or a list of numbers",
    ),
    "published true": (BASE + row("published = true"), 3, "row 1: published = True cannot be used"),
    "published nothing": (BASE + row("published = [nan]"), 3, "row 1: published = [nan] cannot be used"),
    # What must be said.
    "no agents": (TOP + "[match.a]", 3, "file.toml: match.a needs agents: a list of texts"),
    "empty agents": (TOP + "[match.a]\nagents = []", 3, "file.toml: match.a needs agents"),
    "no agents in a tournament": (TOP + "[tournament.t]", 3, "file.toml: tournament.t needs agents"),
    "no match in a row": (BASE + "[[row]]", 3, "file.toml: row 1 needs match: a text"),
    "no kind of figure": (BASE + "[[figure]]", 3, "file.toml: figure 1 needs kind: a text"),
    "no game": ('[match.a]\nagents = ["random"]', 3, "file.toml: match.a has no game; write game = "),
    "no game for a tournament": (
        '[tournament.t]\nagents = ["random", "rule-based"]', 3, "file.toml: tournament.t has no game",
    ),
    # Names.
    "bad name": ('name = "a b"\n' + A, 3, "file.toml: name = 'a b' cannot be used; use letters"),
    "name of a path": ('name = "../x"\n' + A, 3, "file.toml: name = '../x' cannot be used"),
    "bad name of a match": (TOP + '[match."t/0-1"]\nagents = ["random"]', 3, "file.toml: 't/0-1' cannot be"),
    "two rows of one name": (
        BASE + row('name = "q"') + row('name = "q"'), 3,
        "file.toml: row 2 is the second one with the name 'q'",
    ),
    # Games and agents.
    "bad game": (
        BASE.replace("briskola", "brisola"), 2,
        "file.toml: match.a: unknown game: 'brisola'; did you mean 'briskola'?",
    ),
    "bad game of a tournament": (
        'game = "brisola"\n[tournament.t]\nagents = ["random", "rule-based"]', 2,
        "file.toml: tournament.t: unknown game: 'brisola'; did you mean 'briskola'?",
    ),
    "bad game in one cell": (
        '[match.a]\nagents = ["random"]\ngame = "briskola:seats={s}"\ngrid.s = [2, 5]', 2,
        "file.toml: match.a: 'seats=5' cannot be used",
    ),
    "bad agent": (
        BASE.replace("rule-based", "rule-basd"), 2,
        "file.toml: match.a: unknown agent: 'rule-basd'; did you mean 'rule-based'?",
    ),
    "bad agent of a tournament": (
        TOP + '[tournament.t]\nagents = ["random", "rule-basd"]', 2,
        "file.toml: tournament.t: unknown agent: 'rule-basd'; did you mean 'rule-based'?",
    ),
    "bad agent in one cell": (
        BASE.replace("[1, 2, 3]", "[1, 2, 0]"), 2, "file.toml: match.g: 'iterations=0' cannot be used",
    ),
    "too many agents": (
        TOP + '[match.a]\nagents = ["random", "random", "random"]', 2,
        "file.toml: match.a: 3 agents were given for 2 seats",
    ),
    "seed below zero": ("seed = -1\n" + BASE, 2, "file.toml: match.a: seed -1 cannot be used"),
    "seed too high together": (
        f"seed = {2**62}\n" + TOP + A + f"seed = {2**62}", 2, "file.toml: match.a: seed 9223372036854775808",
    ),
    # Grids.
    "grid without values for a name": (
        TOP + '[match.a]\nagents = ["flat:{n}"]', 3, "file.toml: match.a: n has no values; add them to grid",
    ),
    "grid that nobody uses": (
        TOP + A + "grid.n = [1]", 3, "file.toml: match.a: n is used by no agent; write {n}",
    ),
    # Numbers of games.
    "no games": (BASE.replace("games = 8", "games = 0"), 3, "file.toml: games = 0 cannot be used; give 1 to"),
    "no games of a match": (TOP + A + "games = 0", 3, "file.toml: match.a: games = 0 cannot be used"),
    "games below zero": ("quick_games = -1\n" + BASE, 3, "file.toml: quick_games = -1 cannot be used"),
    "more games than anybody can play": (
        BASE.replace("games = 8", "games = 1" + "0" * 400), 3, "give 1 to 1,000,000,000",
    ),
    "no games of a tournament": (
        TOP + '[tournament.t]\nagents = ["random", "rule-based"]\ngames = 0', 3,
        "file.toml: tournament.t: games = 0 cannot be used",
    ),
    "until later": (TOP + A + 'until = "later"', 3, "file.toml: match.a: until = 'later' cannot be used"),
    "one agent until decided": (TOP + ALONE + 'until = "decided"', 3, "match.alone: one agent alone decides"),
    # Tournaments.
    "tournament of one": (
        TOP + '[tournament.t]\nagents = ["random"]', 3, "file.toml: tournament.t needs at least two agents",
    ),
    "twice the same": (
        TOP + '[tournament.t]\nagents = ["random", "flat:1", "random"]', 3,
        "file.toml: tournament.t needs at least two agents, all of them different",
    ),
    # Rows.
    "unknown measure": (
        BASE + row('measure = "win_rat"'), 2,
        "measure in file.toml: row 1: 'win_rat'; did you mean 'win_rate'?",
    ),
    "unknown measure of a gap": (
        BASE + row('of = "pionts"'), 2, "measure in file.toml: row 1: 'pionts'; did you mean 'points'?",
    ),
    "unknown match": (BASE + row(match="oter"), 2, "match in file.toml: row 1: 'oter'; did you mean 'other'"),
    "unknown less": (
        BASE + row('less = "othr"'), 2, "match in file.toml: row 1: 'othr'; did you mean 'other'?",
    ),
    "unknown base": (
        BASE + row('measure = "gap"\nbase = "alon"\nceiling = "a"'), 2,
        "match in file.toml: row 1: 'alon'; did you mean 'alone'?",
    ),
    "unknown ceiling": (
        BASE + row('measure = "gap"\nbase = "b"\nceiling = "alon"'), 2,
        "match in file.toml: row 1: 'alon'; did you mean 'alone'?",
    ),
    "unknown interval": (
        BASE + row('interval = "wison"'), 2,
        "interval in file.toml: row 1: 'wison'; did you mean 'wilson'?",
    ),
    "unknown test": (
        BASE + row('test = "mcnemr"'), 2, "test in file.toml: row 1: 'mcnemr'; did you mean 'mcnemar'?",
    ),
    "published list of wrong length": (
        BASE + row("published = [60, 61]", match="g"), 3,
        "file.toml: row 1: published has 2 numbers for 3 cells of g",
    ),
    "published list of nothing": (BASE + row("published = []"), 3, "published has 0 numbers for 1 cells of"),
    "agent that is not there": (
        BASE + row("agent = 2"), 3, "file.toml: row 1: there is no agent 2 in match a; the first one is 0",
    ),
    "agent below zero": (BASE + row("agent = -1"), 3, "file.toml: row 1: there is no agent -1 in match a"),
    "wilson for points": (
        BASE + row('interval = "wilson"'), 3,
        "file.toml: row 1: interval = 'wilson' is for shares of games, not for points",
    ),
    "exact for a lead": (BASE + row('measure = "lead"\ninterval = "exact"'), 3, "not for lead"),
    "wilson for a difference": (
        BASE + row('measure = "win_rate"\ninterval = "wilson"\nless = "b"'), 3, "not for differences",
    ),
    "mcnemar without less": (
        BASE + row('measure = "win_rate"\ntest = "mcnemar"'), 3,
        "file.toml: row 1: test = 'mcnemar' compares two matches; name the other one: less = ",
    ),
    "mcnemar for points": (
        BASE + row('less = "b"\ntest = "mcnemar"'), 3, "row 1: test = 'mcnemar' is about games won, not",
    ),
    "mcnemar of one": (
        BASE + row('measure = "win_rate"\nless = "alone"\ntest = "mcnemar"', match="alone"), 3,
        "file.toml: row 1: test = 'mcnemar' is about games won; one agent alone",
    ),
    "gap without a ceiling": (
        BASE + row('measure = "gap"\nbase = "b"'), 3,
        "file.toml: row 1: measure = 'gap' goes with base and ceiling",
    ),
    "base without a gap": (BASE + row('base = "b"\nceiling = "a"'), 3, "measure = 'gap' goes with base and"),
    "gap above": (
        BASE + row('measure = "gap"\nbase = "b"\nceiling = "a"\nabove = 0.5'), 3,
        "file.toml: row 1: measure = 'gap' goes neither with less nor with above",
    ),
    "less of another size": (
        BASE + row('less = "w"', match="g"), 3,
        "file.toml: row 1: w must have one cell, or as many as g",
    ),
    "less on other deals": (
        BASE + row('less = "other"'), 3, "file.toml: row 1: other is not played on the deals of a; both need",
    ),
    "less with other agents": (BASE + row('less = "alone"'), 3, "alone is not played on the deals of a"),
    "a share in per cent": (
        BASE + row('measure = "win_rate"\npublished = 96'), 3,
        "file.toml: row 1: published = 96 is not a share of games; 96 % is 0.96",
    ),
    "a goal in per cent": (BASE + row('measure = "decided"\ngoal = 90.0'), 3, "90.0 % is 0.9"),
    "a threshold below zero": (BASE + row('measure = "score"\nabove = -0.5'), 3, "-0.5 is not a share"),
    "published games of nothing": (
        BASE + row("published_games = 100"), 3, "file.toml: row 1: published_games goes with published",
    ),
    "share of points in per cent": (
        BASE + row('measure = "share_of_points"\npublished = 96'), 3, "96 % is 0.96",
    ),
    "share of points deal by deal": (
        BASE + row('less = "b"', 'measure = "share_of_points"'), 3,
        "row 1: 'share_of_points' has fewer points to share on some deals, so it cannot be compared",
    ),
    # What a game counts.
    "count of another game": (
        BASE + row('measure = "bids_made"'), 2, "unknown measure in file.toml: row 1: 'bids_made'",
    ),
    "unknown count": (
        COUNTED + row('measure = "bids_mad"'), 2, "row 1: 'bids_mad'; did you mean 'bids_made'?",
    ),
    "count of nothing": (COUNTED + row('measure = "bids_made of tricks"'), 2, "row 1: 'bids_made of tricks'"),
    "count in a figure": (
        BASE + figure("curve", 'match = "g"\nx = "n"\nmeasure = "rounds"'), 2,
        "measure in file.toml: figure 1: 'rounds'",
    ),
    "count in per cent": (
        COUNTED + row('measure = "bids_made of rounds"\npublished = 96'), 3, "96 % is 0.96",
    ),
    "count deal by deal": (
        COUNTED + row('measure = "bids_made"\nless = "a"'), 3,
        "file.toml: row 1: bids_made is counted by the game and kept as sums over deals; it goes neither",
    ),
    "count above": (COUNTED + row('measure = "rounds"\nabove = 12'), 3, "rounds is counted by the game"),
    "count by bootstrap": (
        COUNTED + row('measure = "rounds"\ninterval = "bootstrap"'), 3, "rounds is counted by the game",
    ),
    "count until decided": (
        COUNTED + 'until = "decided"\n' + row('measure = "rounds"'), 3,
        "file.toml: row 1: a ends when it is decided, and no interval of rounds holds then",
    ),
    # Sizes and confidence.
    "sure": ("confidence = 1\n" + BASE, 3, "file.toml: confidence = 1 cannot be used; give 0.5 to less than"),
    "confidence in per cent": ("confidence = 99\n" + BASE, 3, "file.toml: confidence = 99 cannot be used"),
    "confidence in words": ('confidence = "high"\n' + BASE, 3, "confidence is a number"),
    "quick games in words": (TOP + A + 'quick_games = "few"', 3, "match.a: quick_games = 'few' cannot be"),
    "half a quick game": (TOP + A + "quick_games = 2.5", 3, "match.a: quick_games = 2.5 cannot be used"),
    "fewer than no quick games": (TOP + A + "quick_games = -2", 3, "match.a: quick_games = -2 cannot be"),
    "half a game": (TOP + GRID + "games = [4, 2.5, 2]", 3, "match.g: games = 2.5 cannot be used; give whole"),
    "no games of one cell": (TOP + GRID + "games = [4, 2, 0]", 3, "match.g: games = 0 cannot be used"),
    "quick games of other cells": (
        TOP + GRID + "quick_games = [4, 2]", 3, "match.g: quick_games has 2 numbers for 3 cells of g",
    ),
    # Several measures in a figure.
    "unknown measure among several": (
        BASE + figure("curve", 'match = "g"\nx = "n"\nmeasures = ["win_rat"]'), 2,
        "figure 1: 'win_rat'; did you mean 'win_rate'?",
    ),
    "measures of two units": (
        BASE + figure("curve", 'match = "g"\nx = "n"\nmeasures = ["win_rate", "points"]'), 3,
        "figure 1: per cent and points do not go on one axis; make two figures",
    ),
    "measures and y": (
        TOP + '[match.h]\nagents = ["flat:{n}", "flat:{m}"]\ngrid = {n = [1, 2], m = [3, 4]}\n'
        + figure("curve", 'match = "h"\nx = "n"\ny = "m"\nmeasures = ["win_rate", "score"]'), 3,
        "figure 1: measures goes with a curve or bars that have no y",
    ),
    "fewer than no published games": (
        BASE + row('measure = "win_rate"\npublished = 0.5\npublished_games = -1'), 3,
        "file.toml: row 1: published_games = -1 cannot be used",
    ),
    "digits": (BASE + row("digits = -1"), 3, "file.toml: row 1: digits = -1 cannot be used; give 0 to 10"),
    "name in a cell": (
        BASE + row('cell = "flat:{m}"', match="g"), 2, "name in file.toml: row 1: cell: 'm'",
    ),
    # Notes.
    "note with an unknown row": (
        'notes = ["{besst} is best"]\n' + BASE + row('name = "best"'), 2,
        "name in file.toml: notes: 'besst'; did you mean 'best'?",
    ),
    "note with many values": (
        'notes = ["{best} is best"]\n' + BASE + row('name = "best"', match="g"), 3,
        "file.toml: notes: best has a line for every cell of a grid",
    ),
    # Figures.
    "unknown kind": (
        BASE + figure("curv"), 2, "kind in file.toml: figure 1: 'curv'; did you mean 'curve'?",
    ),
    "unknown measure of a figure": (
        BASE + figure("curve", 'match = "g"\nx = "n"\nmeasure = "pints"'), 2,
        "measure in file.toml: figure 1: 'pints'; did you mean 'points'?",
    ),
    "unknown match of a figure": (
        BASE + figure("curve", 'match = "alon"'), 2,
        "match in file.toml: figure 1: 'alon'; did you mean 'alone'?",
    ),
    "unknown matches of a figure": (
        BASE + figure("distribution", 'matches = ["a", "alon"]'), 2,
        "match in file.toml: figure 1: 'alon'; did you mean 'alone'?",
    ),
    "unknown row of a figure": (
        BASE + row('name = "first"') + figure("intervals", 'rows = ["frist"]'), 2,
        "row in file.toml: figure 1: 'frist'; did you mean 'first'?",
    ),
    "unknown axis": (
        BASE + figure("curve", 'match = "g"\nx = "m"'), 2, "name for x in file.toml: figure 1: 'm'",
    ),
    "heat without y": (BASE + figure("heat", 'match = "g"\nx = "n"'), 2, "name for y in file.toml: figure 1"),
    "heat of one name": (BASE + figure("heat", 'match = "g"\nx = "n"\ny = "n"'), 3, "x and y are both n"),
    "curve over words": (
        BASE + figure("curve", 'match = "w"\nx = "who"'), 3,
        "file.toml: figure 1: who has values that are not numbers; take kind = 'bars'",
    ),
    "curve with a name left over": (
        TOP + '[match.g]\nagents = ["flat:{n}", "flat:{m}"]\ngrid = {n = [1, 2], m = [1, 2]}\n'
        + figure("curve", 'match = "g"\nx = "n"'), 3, 'figure 1: m varies in g too; write y = "m"',
    ),
    "distribution of nothing": (BASE + figure("distribution"), 3, "figure 1: a distribution needs matches"),
    "intervals of nothing": (BASE + figure("intervals"), 3, "file.toml: figure 1: there are no rows to show"),
    "intervals of two units": (
        BASE + row() + row('measure = "score"') + figure("intervals"), 3,
        "file.toml: figure 1: per cent and points do not go on one axis",
    ),
    "agent of a figure": (
        BASE + figure("curve", 'match = "g"\nx = "n"\nagent = 2'), 3,
        "file.toml: figure 1: there is no agent 2 in match g",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_place_before_anything_is_played(mistake, tmp_path):
    text, code, says = MISTAKES[mistake]
    file = tmp_path / "file.toml"
    file.write_text(text)
    for options in ((), ("--dry-run",), ("--json",)):
        done = call("experiment", "run", file, *options, folder=tmp_path, data=tmp_path / "data")
        assert done.returncode == code, done.stderr
        told = json.loads(done.stderr)["message"] if options == ("--json",) else done.stderr
        assert says in told
        assert done.stdout == ""
        assert [path.name for path in tmp_path.iterdir()] == ["file.toml"]


def test_files_that_are_no_descriptions(tmp_path):
    for name, content, says in (
        ("none.toml", None, "there is no file"),
        ("binary.toml", bytes(range(256)), "cannot be read"),
        ("folder", "", "cannot be read"),
        ("bom.toml", b"\xff\xfe", "cannot be read"),
    ):
        file = tmp_path / name
        if isinstance(content, bytes):
            file.write_bytes(content)
        elif content is not None:
            file.mkdir()
        with pytest.raises(KibitzError, match=says) as raised:
            experiments.read_file(file)
        assert raised.value.exit_code == 3
        assert name in str(raised.value)


def test_a_description_without_a_name_has_that_of_its_file(tmp_path):
    (tmp_path / "budget.toml").write_text('game = "briskola"\n' + A)
    experiment = experiments.read_file(tmp_path / "budget.toml")
    assert (experiment.name, experiment.games, experiment.seed) == ("budget", 200, 1)
    assert experiment.text == 'game = "briskola"\n' + A


def test_an_unknown_published_result():
    with pytest.raises(UnknownName, match="did you mean 'karamatic'"):
        experiments.published("karamatik")


def test_published_results_are_found_with_their_games_and_shown_as_the_headlines_show_them():
    assert experiments.PUBLISHED == ("karamatic", "snelleman", "mckay", "castelein")
    assert {name: file.parent.parent.name for name, file in parts.published().items()} == {
        "karamatic": "briskola",
        "mckay": "bridge",
        "castelein": "tichu",
        "snelleman": "diminishing_bridge",
    }


def test_every_published_result_can_be_read():
    for name in experiments.PUBLISHED:
        experiment = experiments.published(name)
        assert experiment.name == name
        assert experiment.question
        assert experiment.source
        assert experiment.rows


# --- scores by hand --------------------------------------------------------------------------------


def scores(*deals):
    """Games of two seats from the first agent's points: one pair a deal, as first and as second seat."""
    return np.array([[[p, 120 - p], [120 - q, q]] for p, q in deals], float).reshape(-1, 2, 2)


def kept(text, given, factor=1.0, seed=None, **noted):
    """What an experiment says about scores that are given, by the names of its matches."""
    experiment = read(text)
    seed = experiment.seed if seed is None else seed
    with Store() as store:
        numbers = []
        for i, (grid, _, order) in enumerate(orders(experiment, factor, seed)):
            numbers.append(store.number_of(order.match))
            values = given.get(grid.name, scores())
            if isinstance(values, list):
                values = values[sum(g.name == grid.name for g, _, _ in orders(experiment, factor, seed)[:i])]
            if len(values):
                thought = {"seconds": [2.0, 0.5], "decisions": [400.0, 250.0], "iterations": [0.0, 0.0]}
                batch = Batch(order.match, 0, len(values))
                store.add(batch, numbers[-1], Played(values, 3.0, thought))
        run = Run(factor, seed, noted.get("command", "kibitz test"), {"kibitz": "0"}, numbers)
        return evaluate(experiment, run, store)


DEALS = scores((70, 50), (60, 80), (90, 100), (60, 60))
SINGLE = np.array([[[p, 120 - p]] for p in (70, 50, 60, 80, 90, 100, 60, 60)], float)  # the same games
# The first agent's                wins [1, 1, 2, 0], draws [0, 1, 0, 2], points [60, 70, 95, 60] a game
VALUES = {
    "win_rate": 4 / 8,
    "decided": 4 / 5,
    "unbeaten": 7 / 8,
    "score": 5.5 / 8,
    "points": 285 / 4,
    "lead": (0 + 20 + 70 + 0) / 4,
    "total": 120,
    "share_of_points": 285 / 480,
}
RATIOS = {"win_rate": ([1, 1, 2, 0], [2] * 4), "decided": ([1, 1, 2, 0], [2, 1, 2, 0])}
RATIOS |= {"unbeaten": ([1, 2, 2, 2], [2] * 4), "score": ([1, 1.5, 2, 1], [2] * 4)}
RATIOS |= {"share_of_points": ([120, 140, 190, 120], [240] * 4)}
MEANS = {"points": [60, 70, 95, 60], "lead": [0, 20, 70, 0], "total": [120] * 4}


def student(values, share=0.95):
    if np.ptp(values) == 0:
        return values[0], values[0]
    return stats.t.interval(share, len(values) - 1, np.mean(values), stats.sem(values))


def one(text, given):
    (found,) = kept(text, given).rows
    return found


def test_every_measure_is_tested():
    assert set(VALUES) == set(MEASURES) == {*RATIOS, *MEANS}


@pytest.mark.parametrize("measure", VALUES)
def test_a_measure_is_what_its_name_says(measure):
    found = one(TOP + A + row(f'measure = "{measure}"'), {"a": DEALS})
    assert found.measured.mean == pytest.approx(VALUES[measure], rel=1e-12)
    assert found.n == 8
    assert found.cell == f"rule-based against random: {MEASURES[measure]}"
    if measure in MEANS:
        assert found.measured.ci == pytest.approx(student(MEANS[measure]))
        assert (found.scale, found.unit) == (1, "")
    else:
        won, played = map(np.array, RATIOS[measure])
        counted = int((played > 0).sum())
        residual = won - VALUES[measure] * played
        error = np.sqrt((residual**2).sum() * counted / (counted - 1)) / played.sum()
        half = stats.t.ppf(0.975, counted - 1) * error
        low, high = VALUES[measure] - half, VALUES[measure] + half
        assert found.measured.ci == pytest.approx((max(0, low), min(1, high)))
        assert (found.scale, found.unit) == (100, " %")


def test_the_other_agent_has_the_rest():
    for measure, rest in (("points", 120), ("score", 1), ("lead", 0)):
        found = one(TOP + A + row(f'measure = "{measure}"\nagent = 1'), {"a": DEALS})
        assert found.measured.mean == pytest.approx(rest - VALUES[measure])
    assert found.cell == "random against rule-based: points per game ahead of the others"


@pytest.mark.parametrize(
    ("measure", "won", "played"), [("win_rate", 4, 8), ("decided", 4, 5), ("unbeaten", 7, 8)]
)
@pytest.mark.parametrize("interval", ["wilson", "exact"])
def test_intervals_over_games(measure, won, played, interval):
    found = one(TOP + ONCE + row(f'measure = "{measure}"\ninterval = "{interval}"'), {"a": SINGLE})
    known = stats.binomtest(won, played).proportion_ci(method=interval)
    assert found.measured.ci == pytest.approx((known.low, known.high))
    assert found.measured.mean == pytest.approx(won / played)


def test_the_bootstrap_interval():
    rng = np.random.default_rng(1)  # noqa: TID251
    deals = scores(*np.clip(60 + 20 * rng.standard_exponential((30, 2)), 0, 120).round().tolist())
    text = (TOP + A).replace("games = 8", "games = 60") + row('interval = "bootstrap"')
    found = one(text, {"a": deals})
    per_deal = (deals[:, 0, 0] + deals[:, 1, 1]) / 2
    known = stats.bootstrap(
        (per_deal,), np.mean, n_resamples=20000, method="BCa", random_state=2
    ).confidence_interval
    assert found.measured.mean == pytest.approx(per_deal.mean())
    assert found.measured.ci == pytest.approx((known.low, known.high), abs=0.3)
    assert found.measured.ci != pytest.approx(student(per_deal), abs=0.3)


BETTER = np.array([[9, -9], [-9, 9]])  # in both seats
LESS = scores((50, 40), (60, 60), (80, 90), (50, 70))  # [45, 60, 85, 60] points, wins [0, 0, 2, 1]


def test_less_takes_off_deal_by_deal():
    found = one(TOP + A + B + row('less = "b"'), {"a": DEALS, "b": LESS})
    assert found.measured.mean == pytest.approx(np.mean([15, 10, 10, 0]))
    assert found.measured.ci == pytest.approx(student([15, 10, 10, 0]))
    assert found.cell == "rule-based less flat:5 against random: points per game"
    assert found.verdict == "not decided"
    surely = one(TOP + A + B + row('less = "b"'), {"a": DEALS + BETTER, "b": LESS})
    assert surely.verdict == "stronger"
    other = one(TOP + A + B + row('less = "b"\nagent = 1'), {"a": DEALS + BETTER, "b": LESS})
    assert other.verdict == "weaker"
    shares = one(TOP + A + B + row('measure = "win_rate"\nless = "b"'), {"a": DEALS, "b": LESS})
    assert shares.measured.ci == pytest.approx(student([0.5, 0.5, 0, -0.5]))
    assert shares.measured_text.endswith(" %")


def test_decided_games_have_no_value_a_deal():
    with pytest.raises(ParseError, match="take 'score'"):
        one(TOP + A + B + row('measure = "decided"\nless = "b"'), {"a": DEALS, "b": LESS})


def test_the_bootstrap_of_decided_games_is_about_the_same_share():
    found = one(TOP + A + row('measure = "decided"\ninterval = "bootstrap"'), {"a": DEALS})
    assert found.measured.mean == pytest.approx(VALUES["decided"])


@pytest.mark.parametrize("interval", ["wilson", "exact"])
def test_intervals_over_games_need_deals_that_are_played_once(interval):
    with pytest.raises(ParseError, match="rotate = false"):
        one(TOP + A + row(f'measure = "win_rate"\ninterval = "{interval}"'), {"a": DEALS})


@pytest.mark.parametrize("other", ["published = 0.5", "goal = 0.5"])
def test_a_row_asks_one_question(other):
    with pytest.raises(ParseError, match="make two rows"):
        one(TOP + A + row(f'measure = "win_rate"\nabove = 0.4\n{other}'), {"a": DEALS})


def test_deals_that_all_agree_say_nothing_of_their_spread():
    found = one(TOP + A + B + row('less = "b"'), {"a": DEALS, "b": DEALS})
    assert (found.measured_text, found.verdict_text) == ("0.0 (–)", "too few games to tell")
    both = row('measure = "lead"')
    ahead = scores((70, 70), (70, 70), (70, 70))  # 20 points ahead on every deal, but only three deals
    assert one(TOP + A + both, {"a": ahead}).verdict == "too few games to tell"
    above = one(TOP + A + row("above = 60"), {"a": ahead})
    assert (above.verdict, above.p_value) == ("too few games to tell", None)
    shares = row('measure = "win_rate"\nabove = {}')
    assert one(TOP + A + shares.replace("{}", "0.9"), {"a": ahead}).verdict == "not shown"
    assert one(TOP + A + shares.replace("{}", "0.1"), {"a": ahead}).verdict == "yes"


@pytest.mark.parametrize("more", ["above = 0", 'less = "b"', 'measure = "gap"\nbase = "b"\nceiling = "b"'])
def test_nothing_else_is_tested_with_a_match_that_ends_when_it_is_decided(more):
    with pytest.raises(ParseError, match="fixed number of games"):
        one(TOP + A + 'until = "decided"\n' + B + row(more), {"a": DEALS, "b": LESS})


def test_less_compares_the_deals_that_both_have_played():
    found = one(TOP + A + B + row('less = "b"'), {"a": DEALS, "b": LESS[:2]})
    assert found.measured.mean == pytest.approx((15 + 10) / 2)
    assert found.measured.n == 2


def test_less_by_bootstrap():
    found = one(TOP + A + B + row('less = "b"\ninterval = "bootstrap"'), {"a": DEALS, "b": LESS})
    assert found.measured.mean == pytest.approx(8.75)
    assert 0 < found.measured.low < 8.75 < found.measured.high < 15
    assert found.verdict == "stronger"


def test_the_lead_says_who_is_stronger():
    text = TOP + A + row('measure = "lead"')
    assert one(text, {"a": DEALS}).verdict == "not decided"
    assert one(text, {"a": scores((70, 71), (72, 70), (70, 70))}).verdict == "stronger"
    assert one(text, {"a": scores((50, 49), (48, 50), (50, 50))}).verdict == "weaker"


def test_the_gap_is_a_ratio_of_means():
    matches = TOP + A + B + '[match.top]\nagents = ["cheating:5", "random"]\n'
    text = matches + row('measure = "gap"\nof = "points"\nbase = "b"\nceiling = "top"')
    top = scores((80, 90), (80, 90), (100, 110), (80, 70))  # [85, 85, 105, 75]
    found = one(text, {"a": DEALS, "b": LESS, "top": top})
    done, gap = np.array([15, 10, 10, 0]), np.array([40, 25, 20, 15])
    assert found.measured.mean == pytest.approx(35 / 100)
    for end in found.measured.ci:  # Fieller: the ratios that Student's test does not tell from the truth
        assert stats.ttest_1samp(done - end * gap, 0).pvalue == pytest.approx(0.05)
    assert found.cell == "rule-based against random: share of the gap to cheating:5"
    assert (found.unit, found.verdict) == (" %", "–")
    default = one(
        matches + row('measure = "gap"\nbase = "b"\nceiling = "top"'), {"a": DEALS, "b": LESS, "top": top}
    )
    better, reach = [0.5, 0.25, 0, 0], [1, 0.5, 0, 0.5]  # in scores, a draw as half
    assert default.measured.mean == pytest.approx(sum(better) / sum(reach))
    # Deals without a decided game cannot be compared.
    decided = one(text.replace("points", "decided"), {"a": DEALS, "b": LESS, "top": top})
    assert decided.measured.mean == pytest.approx((0.5 + 0) / (1 + 0))
    assert decided.measured.n == 2


def test_above_is_tested_on_one_side():
    points = [60, 70, 95, 60]
    for threshold, says in ((60, "not shown"), (40, "yes"), (90, "not shown")):
        found = one(TOP + A + row(f"above = {threshold}"), {"a": DEALS})
        assert found.p_value == pytest.approx(
            stats.ttest_1samp(points, threshold, alternative="greater").pvalue
        )
        assert found.verdict == says
        assert found.verdict_text == f"{says} (p = {found.p_value:.3g})"
    for interval in ("wilson", "exact"):
        found = one(
            TOP + ONCE + row(f'measure = "unbeaten"\ninterval = "{interval}"\nabove = 0.5'), {"a": SINGLE}
        )
        assert found.p_value == pytest.approx(stats.binomtest(7, 8, 0.5, "greater").pvalue)
        assert found.verdict == "yes"
    found = one(TOP + A + B + row('less = "b"\nabove = 1'), {"a": DEALS, "b": LESS})
    assert found.p_value == pytest.approx(stats.ttest_1samp([15, 10, 10, 0], 1, alternative="greater").pvalue)
    found = one(TOP + A + row('measure = "decided"\nabove = 0.5'), {"a": DEALS})
    won, decided = np.array([1, 1, 2, 0]), np.array([2, 1, 2, 0])
    values = 0.8 + (won - 0.8 * decided) / decided.mean()
    assert found.p_value == pytest.approx(stats.ttest_1samp(values, 0.5, alternative="greater").pvalue)


@pytest.mark.parametrize("key", ["", "holm = true"])
def test_holm_corrects_for_the_number_of_cells(key):
    per_cell = [scores((p, p + 10), (p + 20, p), (p + 5, p)) for p in (50, 60, 45)]
    text = TOP + GRID + row("above = 50", key, match="g")
    second, first, third = [
        stats.ttest_1samp(v, 50, alternative="greater").pvalue
        for v in ([55, 60, 52.5], [65, 70, 62.5], [50, 55, 47.5])
    ]
    corrected = [r.p_value for r in kept(text, {"g": per_cell}).rows]
    assert corrected == pytest.approx([2 * second, 3 * first, max(2 * second, third)])
    # A cell that was not played is no test.
    some = kept(text, {"g": [per_cell[0], scores(), per_cell[2]]}).rows
    assert [r.p_value for r in some] == pytest.approx([2 * second, None, max(2 * second, third)])
    assert [r.verdict for r in some] == [
        "not shown" if 2 * second >= 0.05 else "yes",
        "not measured",
        "not shown",
    ]


def test_mcnemar_compares_game_by_game():
    text = (
        TOP.replace("games = 8", "games = 16")
        + A
        + B
        + row('measure = "win_rate"\nless = "b"\ntest = "mcnemar"')
    )
    ours = scores(*[(70, 70)] * 4, (70, 50), (50, 50), (60, 70), (70, 60))
    theirs = scores(*[(50, 50)] * 4, (50, 70), (50, 50), (70, 70), (70, 70))
    found = one(text, {"a": ours, "b": theirs})
    # Only we won: 8 + 1 games, only they: the second game of deal 4, one game each of the last two.
    assert found.p_value == pytest.approx(stats.binomtest(9, 12, 0.5).pvalue)
    assert found.verdict == "not decided"
    ours, theirs = (np.concatenate([each[:4], scores((70, 70))]) for each in (ours, theirs))
    clear = one(text, {"a": ours, "b": theirs})
    assert clear.p_value == pytest.approx(2 / 2**8)
    assert (clear.verdict, clear.is_corrected) == ("stronger", False)
    worse = one(text, {"a": theirs, "b": ours})
    assert (worse.p_value, worse.verdict) == (clear.p_value, "weaker")


MANY = np.tile(DEALS, (100, 1, 1))
"""So many deals that intervals are narrow."""


def test_goals():
    text = TOP.replace("games = 8", "games = 800") + A + row('measure = "points"', "goal = {}")
    for goal, says in ((71, "within the interval"), (40, "surpassed"), (110, "missed")):
        assert one(text.replace("{}", str(goal)), {"a": MANY}).verdict == says
    # Few games leave an interval that would hold many goals; one deal leaves none.
    few = one(text.replace("{}", "71"), {"a": DEALS})
    assert few.verdict_text.startswith("too few games to tell (it takes about ")
    for goal in (71, 40, 110):
        alone = one(text.replace("{}", str(goal)), {"a": DEALS[:1]})
        assert (alone.verdict, alone.games_needed) == ("too few games to tell", 200)


def test_leads_and_differences_of_one_table_are_corrected_for_their_number():
    lead = row('measure = "lead"')
    top = TOP.replace("games = 8", "games = 10")
    points = [(62, 63), (64, 60), (66, 62), (60, 61), (64, 66)]
    given = {"a": scores(*points), "b": DEALS}
    each = [p + q - 120 for p, q in points]
    p = stats.ttest_1samp(each, 0).pvalue
    assert 0.02 < p < 0.05
    alone = one(top + A + lead, given)
    assert (alone.verdict, alone.is_corrected) == ("stronger", False)
    assert alone.p_value == pytest.approx(p)
    assert alone.verdict_text == f"stronger (p = {p:.3g})"
    third = kept(top + A + lead + lead + lead, given).rows
    assert [r.verdict for r in third] == ["not decided"] * 3
    assert third[0].p_value == pytest.approx(3 * p)
    assert third[0].verdict_text == f"not decided (p = {3 * p:.3g}, corrected)"
    mixed = kept(top + A + B + lead + row('less = "b"') + row("goal = 50"), given).rows
    assert [r.is_corrected for r in mixed] == [True] * 3
    assert kept(top + A + lead + row('measure = "lead"\ntable = "other"'), given).rows[0] == alone


@pytest.mark.parametrize(
    ("p", "told"),
    [
        (0.0, "yes (p < 1e-300)"),
        (1e-310, "yes (p < 1e-300)"),
        (math.nan, "yes"),
        (None, "yes"),
        (0.02, "yes (p = 0.02)"),
    ],
)
def test_p_values_are_told_as_far_as_they_are_known(p, told):
    found = one(TOP + A + row("above = 40"), {"a": DEALS})
    assert replace(found, verdict="yes", p_value=p).verdict_text == told


def test_a_published_figure_is_reproduced_differs_or_needs_more_games():
    text = TOP.replace("games = 8", "games = 800") + A + row("published = {}")
    plain = one(text.replace("{}", "0"), {"a": MANY}).measured
    for published, says in (
        (plain.low + 0.01, "reproduced"),
        (plain.high - 0.01, "reproduced"),
        (plain.low - 0.01, "differs"),
        (plain.high + 0.01, "differs"),
    ):
        found = one(text.replace("{}", str(published)), {"a": MANY})
        assert (found.verdict, found.published_text) == (says, f"{published:.1f}")
        assert found.games_needed is None
    low, high = student(MEANS["points"])
    found = one(TOP + A + row(f"published = {high - 0.01}"), {"a": DEALS})
    assert (found.verdict, found.n) == ("too few games to tell", 8)
    assert found.verdict_text == f"too few games to tell (it takes about {found.games_needed:,})"
    assert 8 < found.games_needed < 400
    assert one(TOP + A + row(f"published = {low - 0.01}"), {"a": DEALS}).verdict == "differs"


def test_lines_of_one_table_are_corrected_for_their_number():
    text = TOP.replace("games = 8", "games = 800") + A
    plain = one(text + row("published = 0"), {"a": MANY}).measured
    lines = row(f"published = {plain.low - 0.01}") + 9 * row(f"published = {plain.mean}")
    assert [r.verdict for r in kept(text + lines, {"a": MANY}).rows] == ["reproduced"] * 10
    apart = row(f"published = {plain.low - 0.01}", 'table = "one"')
    apart += 9 * row(f"published = {plain.mean}", 'table = "two"')
    assert [r.verdict for r in kept(text + apart, {"a": MANY}).rows] == ["differs"] + ["reproduced"] * 9


def test_published_games_widen_the_verdict_of_a_row():
    deals = scores(*[(70, 70)] * 9, (70, 50))  # 19 of 20 games
    text = TOP.replace("games = 8", "games = 20") + A + row('measure = "win_rate"\npublished = 0.8', "{}")
    assert one(text.replace("{}", ""), {"a": deals}).verdict == "differs"
    assert one(text.replace("{}", "published_games = 20"), {"a": deals}).verdict == "too few games to tell"
    assert one(text.replace("{}", "published_games = 2000"), {"a": deals}).verdict == "differs"


def test_published_points_have_the_spread_that_was_measured():
    """8 games were measured as 71.25 ± half; of n games the published error is √(8/n) times as large."""
    low, high = student(MEANS["points"])
    half = high - 285 / 4
    text = TOP + A + row("published = {}", "published_games = 2")
    for published, says in ((low - 1.2 * half, "too few games to tell"), (low - 1.3 * half, "differs")):
        assert one(text.replace("{}", str(published)), {"a": DEALS}).verdict == says  # √(1 + 4) = 2.24
    text = text.replace("published_games = 2", 'published_games = 8\nless = "b"') + B
    given = {"a": DEALS, "b": scores((50, 40), (60, 60), (80, 90), (50, 70))}
    plain = one(text.replace("published_games = 8", "").replace("{}", "0"), given).measured
    for factor, says in ((1.4, "too few games to tell"), (1.43, "differs")):
        published = plain.mean + factor * (plain.high - plain.mean)
        assert one(text.replace("{}", str(published)), given).verdict == says


def test_a_cause_is_said_only_if_it_differs():
    text = TOP + A + row("published = {}", 'cause = "The moon was full."')
    for published, findings in ((71, []), (110, ["The moon was full."]), (20, ["The moon was full."])):
        assert kept(text.replace("{}", str(published)), {"a": DEALS}).findings == findings
    assert kept(text.replace("{}", "110"), {}).findings == []


def test_notes_are_filled_in():
    text = (
        'notes = ["We have {first-one}, they {2nd}, and {first-one} it is."]\n' + TOP + A
        + row('name = "first-one"') + row('name = "2nd"\nmeasure = "score"\nagent = 1\ndigits = 0')
    )  # fmt: skip
    low, high = student(MEANS["points"])
    us = f"71.2 ({low:.1f} … {high:.1f})"
    (note,) = kept(text, {"a": DEALS}).findings
    assert note.startswith(f"We have {us}, they 31 (")
    assert note.endswith(f" %, and {us} it is.")
    assert kept(text, {}).findings == ["We have –, they –, and – it is."]


def test_digits_and_texts():
    found = one(TOP + A + row('measure = "win_rate"\ndigits = 3\npublished = 0.4567'), {"a": DEALS})
    assert found.published_text == "45.670 %"
    assert found.measured_text.startswith("50.000 (")
    nothing = one(TOP + A + row('measure = "lead"'), {"a": scores((60, 60), (59, 61), (59.99, 59.99))})
    assert nothing.measured_text.startswith("0.0 (")  # and not -0.0
    document = found.to_dict()
    assert document["published"] == 0.4567
    assert document["measured"] == 0.5
    assert document["ci"] == list(found.measured.ci)


def test_nothing_played_yet():
    text = TOP + A + B + row("published = 60") + row('measure = "win_rate"\nless = "b"\ntest = "mcnemar"')
    result = kept(text + row("above = 50"), {})
    assert result.state == "not measured"
    assert (result.games, result.games_wanted, result.is_finished) == (0, 16, False)
    assert [r.verdict for r in result.rows] == ["not measured"] * 3
    assert [r.measured_text for r in result.rows] == ["–"] * 3
    assert [r.p_value for r in result.rows] == [None] * 3
    assert [r.verdict_text for r in result.rows] == ["not measured"] * 3


def test_a_row_that_needs_two_matches_waits_for_both():
    text = TOP + A + B + row('less = "b"\nabove = 0') + row('measure = "gap"\nbase = "b"\nceiling = "a"')
    for known in ({"a": DEALS}, {"b": DEALS}):
        assert [(r.verdict, r.measured_text, r.p_value) for r in kept(text, known).rows] == [
            ("not measured", "–", None)
        ] * 2


def test_unfinished_work_is_shown_as_far_as_it_is():
    text = TOP + A + B + row("published = 60") + row(match="b")
    result = kept(text, {"a": DEALS[:3]})
    assert result.state == "6 of 16 games"
    assert not result.is_finished
    first, second = result.rows
    assert (first.n, first.measured.n) == (6, 3)
    assert first.measured.mean == pytest.approx((60 + 70 + 95) / 3)
    assert second.verdict == "not measured"
    assert "unfinished: 6 of 16 games" in report.page([result])


def test_more_deals_in_the_store_than_wanted_do_not_count():
    many = np.concatenate([DEALS, DEALS + 2 * BETTER])
    result = kept(TOP + A + row(), {"a": many})
    assert (result.games, result.state) == (8, "done")
    assert result.rows[0].measured.mean == VALUES["points"]


def test_states():
    text = TOP + A + row("published = {}") + row("published = 70") + row()
    few = kept(text.replace("{}", "71"), {"a": DEALS})
    assert few.state == "0 of 2 lines reproduced, 2 with too few games"
    text = text.replace("games = 8", "games = 800").replace("= 70", "= 71")
    assert kept(text.replace("{}", "71.2"), {"a": MANY}).state == "2 of 2 lines reproduced"
    assert kept(text.replace("{}", "20"), {"a": MANY}).state == "1 of 2 lines reproduced, 1 differs"
    assert kept(TOP + A + row(), {"a": DEALS}).state == "done"


def test_only_draws():
    """No game is decided: there is no share of decided games, and that is no crash."""
    text = TOP + ONCE + row('measure = "decided"') + row('measure = "decided"\ninterval = "wilson"')
    found = kept(text, {"a": np.full((8, 1, 2), 60.0)}).rows
    assert [(r.measured_text, r.verdict) for r in found] == [("–", "–")] * 2


def test_what_it_cost():
    result = kept(TOP + A + B + row(), {"a": DEALS, "b": LESS[:2]})
    assert result.core_seconds == 6.0
    assert result.cost.rows == [
        ["rule-based – random", "8", "3.0", "5 / 2"],
        ["flat:5 – random", "4", "3.0", "5 / 2"],
    ]
    assert kept(TOP + A + row(), {}).cost.rows == [["rule-based – random", "0", "0.0", ""]]


def test_a_match_that_ends_when_it_is_decided():
    text = TOP.replace("games = 8", "games = 400") + A + 'until = "decided"\n' + row('measure = "lead"')
    rng = np.random.default_rng(4)  # noqa: TID251
    points = np.clip(rng.normal(75, 10, (200, 2)).round(), 0, 120)
    result = kept(text, {"a": scores(*points)})
    assert (result.games, result.games_wanted, result.state) == (100, 100, "done")  # after the first look
    (found,) = result.rows
    lead = 2 * (points[:50].mean(axis=1) - 60)
    assert found.measured.mean == pytest.approx(lead.mean())
    low, high = student(lead)
    assert found.measured.low < low < high < found.measured.high
    assert (found.verdict, found.n) == ("stronger", 100)
    part = kept(text, {"a": scores(*points[:20])})
    assert part.state == "40 of 100 games"
    even = kept(text, {"a": scores(*[(50, 70), (70, 50), (80, 41), (79, 40)] * 50)})
    assert (even.games, even.rows[0].verdict) == (400, "not decided")


# --- grids and sizes -------------------------------------------------------------------------------

WIDE = (
    TOP + '[match.g]\nagents = ["flat:{n}", "ismcts:{m},c={c}"]\nseed = 7\n'
    "grid.n = [1, 2]\ngrid.m = [3, 4]\ngrid.c = [0.5, 1.0]\n"
)


def test_the_last_name_of_a_grid_runs_fastest():
    (grid,) = read(WIDE).grids()
    assert grid.cells == [{"n": n, "m": m, "c": c} for n in (1, 2) for m in (3, 4) for c in (0.5, 1.0)]
    agents = [order.match.agents for _, _, order in orders(read(WIDE), 1.0, 10)]
    assert agents[:3] == [
        ("flat:1", "ismcts:3,c=0.5"),
        ("flat:1", "ismcts:3,c=1.0"),
        ("flat:1", "ismcts:4,c=0.5"),
    ]
    assert len(agents) == 8


def test_seeds_of_matches_are_added():
    found = orders(read("seed = 5\n" + WIDE + A), 1.0, 5)
    assert {order.match.seed for grid, _, order in found if grid.name == "g"} == {12}
    assert {order.match.seed for grid, _, order in found if grid.name == "a"} == {5}
    assert {order.match.seed for _, _, order in orders(read(WIDE), 1.0, 100)} == {107}


def test_one_row_for_every_cell():
    text = WIDE + row(
        'cell = "{n} and {m} at {c}"', "published = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]", match="g"
    )
    found = kept(text, {"g": [DEALS] * 8}).rows
    assert [r.cell for r in found] == [
        f"{n} and {m} at {c}" for n in (1, 2) for m in (3, 4) for c in (0.5, 1.0)
    ]
    assert [r.published for r in found] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [
        r.published for r in kept(text.replace("[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]", "9"), {}).rows
    ] == [9] * 8
    plain = kept(WIDE + row(match="g"), {}).rows
    assert plain[1].cell == "flat:1 against ismcts:3,c=1.0: points per game"


def test_every_cell_has_its_own_scores():
    cells = [scores((p, p), (p, p + 2)) for p in (50, 60, 70)]
    found = kept(
        TOP + GRID + A + row(match="g") + row('less = "a"', match="g"), {"g": cells, "a": cells[0]}
    ).rows
    assert [r.measured.mean for r in found] == [50.5, 60.5, 70.5, 0, 10, 20]
    assert [r.cell for r in found[3:]] == [
        f"flat:{n} less rule-based against random: points per game" for n in (1, 2, 3)
    ]


def test_values_in_braces():
    assert fill("a{n}b{m}{n}", {"n": 1, "m": True}) == "a1btrue1"
    assert fill("{n}", {"n": 0.5}) == "0.5"
    assert fill("{} {a b}", {}) == "{} {a b}"


def test_how_many_games_are_played():
    def games(text, scale=None, quick=False):
        experiment = replace(read(text), is_quick=quick)
        found = orders(experiment, experiment.factor(scale, quick), 1)
        return [order.deals * order.match.games_a_deal for _, _, order in found]

    text = TOP.replace("games = 8", "games = 100") + A + B + "games = 50\n"
    assert games(text) == [100, 50]
    assert games(text, quick=True) == [10, 6]  # a tenth, in whole deals
    assert games(text, scale=1) == [100, 50]
    assert games(text, scale=0.5) == [50, 26]
    assert games("quick_games = 20\n" + text, quick=True) == [20, 10]
    assert games("published_games = 400\n" + text, scale=1) == [400, 200]
    assert games("published_games = 400\n" + text, scale=0.25) == [100, 50]
    assert games("published_games = 400\n" + text) == [100, 50]
    assert games(text, scale=0.0001) == [2, 2]  # never nothing
    assert games("published_games = 400\n" + text, scale=1, quick=True) == [400, 200]
    assert games(text + "quick_games = 30\n", quick=True) == [10, 30]
    assert games(text + "quick_games = 30\n") == [100, 50]
    grid = TOP + GRID + "games = 50\nquick_games = [40, 0, 4]\n"
    assert games(grid, quick=True) == [40, 6, 4]  # 0: as at the top
    assert games(grid, scale=1) == [50] * 3
    grid = TOP + GRID + "games = [50, 20, 8]\n"
    assert games(grid) == [50, 20, 8]
    assert games(grid, scale=0.5) == [26, 10, 4]


def test_quick_sizes_of_matches_are_noted():
    experiment = replace(read(TOP + A + B + "quick_games = 4\n" + row()), is_quick=True)
    with Store() as store:
        result = experiments.run(experiment, store, InProcess(), experiment.factor(None, True))
        assert (result.games, result.games_wanted) == (2 + 4, 2 + 4)
        (again,) = experiments.results(store)
        assert (again.games, again.games_wanted, again.state) == (6, 6, "done")
        (cost,) = experiments.dry_run(experiment, store, 0.1, None)[1:]
        assert (cost.games, cost.games_in_store) == (4, 4)


def test_sizes_of_the_published_karamatic():
    experiment = experiments.published("karamatic")
    for scale, quick, games in ((None, True, 200), (1.0, False, 200), (None, False, 2000), (2.0, False, 400)):
        found = orders(experiment, experiment.factor(scale, quick), experiment.seed)
        assert {order.deals * 2 for _, _, order in found} == {games}
        assert len(found) == 6


# --- tournaments -----------------------------------------------------------------------------------


def numbers(text):
    """Mean, low and high of a text such as 65.0 (35.6 … 94.4)."""
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]


def cross_table(result):
    _, cross = result.tables
    names = [line[0].partition(". ")[2] for line in cross.rows]
    return {
        (a, b): cell
        for a, line in zip(names, cross.rows, strict=True)
        for b, cell in zip(names, line[1:], strict=True)
    }


@pytest.mark.parametrize("game", ["briskola", "briskola:seats=3", "briskola:seats=4"])
def test_a_tournament(game, tmp_path):
    agents = ["random", "rule-based", "flat:10"]
    experiment = experiments.tournament(game, agents, 24, seed=3)
    with Store(tmp_path / "1.db") as store, executor(1) as workers:
        result = experiments.run(experiment, store, workers)
        there = batches(tmp_path / "1.db")
        told = []
        again = experiments.run(experiment, store, workers, progress=lambda *numbers: told.append(numbers))
        assert again.tables == result.tables
        assert batches(tmp_path / "1.db") == there
        assert told == []  # nothing was played
    pairs = 6 if game == "briskola:seats=3" else 3
    assert (result.state, result.games) == ("done", 24 * pairs)
    ratings, cross = result.tables
    order = [line[0] for line in ratings.rows]
    assert order.index("rule-based") < order.index("random")
    means = [numbers(line[1])[0] for line in ratings.rows]
    assert means == sorted(means, reverse=True)
    assert sum(means) == pytest.approx(0, abs=2)  # rounded
    assert [line[0] for line in cross.rows] == [f"{place}. {agent}" for place, agent in enumerate(order, 1)]
    table = cross_table(result)
    for a in agents:
        assert table[a, a] == "·"
        for b in agents:
            if a != b:
                ours, theirs = numbers(table[a, b]), numbers(table[b, a])
                assert ours[0] + theirs[0] == pytest.approx(100)
                assert ours[1] + theirs[2] == pytest.approx(100, abs=0.11)
                assert 0 <= ours[1] <= ours[0] <= ours[2] <= 100
    for a, line in zip(order, ratings.rows, strict=True):
        mean = np.mean([numbers(table[a, b])[0] for b in agents if b != a])
        assert float(line[2]) == pytest.approx(mean, abs=0.11)


def test_a_tournament_is_the_same_for_any_number_of_workers(tmp_path):
    experiment = experiments.tournament("briskola", ["random", "rule-based", "flat:10"], 24, seed=3)
    found = []
    for jobs in (1, 2):
        with Store(tmp_path / f"{jobs}.db") as store, executor(jobs) as workers:
            found.append(experiments.run(experiment, store, workers).tables)
    assert found[0] == found[1]


def test_a_tournament_that_is_continued_with_more_games():
    experiment, more = (
        experiments.tournament("briskola", ["random", "rule-based"], games, seed=3) for games in (10, 20)
    )
    assert experiment.name == more.name
    other = experiments.tournament("briskola", ["random", "rule-based"], 10, seed=4)
    assert other.name != experiment.name
    with Store() as store:
        assert experiments.run(experiment, store, InProcess()).games == 10
        played = []
        result = experiments.run(more, store, InProcess(), progress=lambda done, total: played.append(done))
        assert (result.games, played[0] > 10) == (20, True)
        assert list(store.experiments()) == [more.name]


def test_duels_of_two_seats():
    match = Match("briskola", ("rule-based", "random"), 1)
    assert duels(match, DEALS).tolist() == [0.5, 0.75, 1, 0.5]


def test_duels_of_three_seats():
    match = Match("briskola:seats=3", ("rule-based", "random"), 1)
    assert match.places == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    games = np.array(
        [
            [[50, 40, 30], [60, 30, 30], [20, 40, 60]],  # beats both; loses and draws; beats both
            [[40, 40, 40], [0, 60, 60], [120, 0, 0]],  # draws twice; wins and draws; loses and draws
        ],
        float,
    )
    assert duels(match, games).tolist() == [
        (1 + 1 + 0 + 0.5 + 1 + 1) / 6,
        (0.5 + 0.5 + 1 + 0.5 + 0 + 0.5) / 6,
    ]


def test_a_pair_of_three_seats_meets_in_both_ways():
    text = (
        TOP.replace('"briskola"', '"briskola:seats=3"')
        + '[tournament.t]\nagents = ["rule-based", "random"]\n'
    )
    one_of_ours = np.array([[[50, 40, 30], [60, 30, 30], [20, 40, 60]]] * 2 + [[[50, 40, 30]] * 3], float)
    one_of_theirs = np.array([[[40, 40, 40], [0, 60, 60], [120, 0, 0]]] * 3, float)
    result = kept(text, {"t/0-1": one_of_ours, "t/1-0": one_of_theirs})
    first = [4.5 / 6, 4.5 / 6, (2 + 1 + 0) / 6]  # ours against theirs
    second = [3 / 6] * 3  # theirs against ours
    per_deal = [(a + 1 - b) / 2 for a, b in zip(first, second, strict=True)]
    table = cross_table(result)
    low, high = student(per_deal)
    assert numbers(table["rule-based", "random"]) == pytest.approx(
        [100 * np.mean(per_deal), max(0, 100 * low), min(100, 100 * high)], abs=0.051
    )
    assert numbers(table["random", "rule-based"])[0] == pytest.approx(
        100 - 100 * np.mean(per_deal), abs=0.051
    )


def test_cross_table_by_hand():
    text = TOP + '[tournament.t]\nagents = ["random", "rule-based", "flat:5"]\n'
    won, lost = scores(*[(70, 80)] * 4), scores(*[(30, 60)] * 4)
    result = kept(text, {"t/0-1": lost, "t/0-2": lost, "t/1-2": won})
    ratings = result.tables[0]
    assert [line[0] for line in ratings.rows] == ["rule-based", "flat:5", "random"]
    assert [line[2] for line in ratings.rows] == ["87.5", "37.5", "25.0"]
    assert [line[3] for line in ratings.rows] == ["4"] * 3
    table = cross_table(result)
    assert table["rule-based", "random"] == table["flat:5", "random"]
    assert numbers(table["rule-based", "random"])[0] == 75
    # All deals agree, so their spread says nothing, but four deals are no certainty.
    wilson = stats.binomtest(4, 4).proportion_ci(method="wilson")
    assert numbers(table["rule-based", "flat:5"]) == pytest.approx([100, 100 * wilson.low, 100], abs=0.051)


def test_an_unfinished_tournament():
    text = TOP + '[tournament.t]\nagents = ["random", "rule-based", "flat:5"]\n'
    assert kept(text, {}).tables == []
    result = kept(text, {"t/0-1": DEALS[:2]})
    assert result.state == "4 of 24 games"
    table = cross_table(result)
    assert table["random", "flat:5"] == table["flat:5", "rule-based"] == "–"
    assert numbers(table["random", "rule-based"])[0] == 62.5
    ratings = {line[0]: line[2] for line in result.tables[0].rows}
    assert ratings == {"random": "62.5", "rule-based": "37.5", "flat:5": "–"}


# --- runs ------------------------------------------------------------------------------------------


def test_a_run_plays_and_tells(tmp_path):
    experiment = read(TOP + A + GRID + row() + row(match="g"))
    bar = []
    with Store(tmp_path / "a.db") as store:
        result = experiments.run(
            experiment, store, InProcess(), 1.0, None, "kibitz test", lambda *n: bar.append(n)
        )
        assert (result.games, result.state) == (32, "done")
        assert bar[-1] == (32, 32)
        assert all(done <= after for (done, _), (after, _) in pairwise(bar))
        assert result.run.command == "kibitz test"
        assert result.run.versions["kibitz"]
        (again,) = experiments.results(store)
        assert again.to_dict() == result.to_dict()
        with pytest.raises(UnknownName, match=r"Available: x\."):
            experiments.results(store, ["y"])
    direct = arena.match("briskola", ["rule-based", "random"], 8, seed=1)
    assert result.rows[0].measured == direct.agents[0].points


def test_a_run_with_another_seed_has_other_deals():
    with Store() as store:
        found = [
            experiments.run(read(TOP + A + row()), store, InProcess(), seed=seed).rows[0].measured.mean
            for seed in (None, 1, 2)
        ]
    assert found[0] == found[1] != found[2]


def test_a_seed_that_cannot_be_used_is_refused_before_anything_is_written():
    with Store() as store:
        with pytest.raises(KibitzError, match="seed"):
            experiments.run(read(TOP + A), store, InProcess(), seed=2**63)
        with pytest.raises(KibitzError, match="seed"):
            experiments.dry_run(read(TOP + A), store, 1.0, 2**63)
        assert store.experiments() == []
        assert store.matches() == []


def test_interrupted_work_is_in_the_store():
    def stop(done, total):
        raise KeyboardInterrupt

    experiment = read(TOP + A + B + row())
    with Store() as store:
        with pytest.raises(KeyboardInterrupt):
            experiments.run(experiment, store, InProcess(), progress=stop)
        (result,) = experiments.results(store)
        assert result.state == "2 of 16 games"
        assert experiments.run(experiment, store, InProcess()).state == "done"


def test_a_dry_run_counts_what_is_there():
    experiment = read(TOP + A + GRID)
    with Store() as store:
        fresh = experiments.dry_run(experiment, store, 1.0, None)
        assert store.matches() == []
        assert store.experiments() == []
        assert [f.match for f in fresh] == ["briskola: rule-based – random"] + [
            f"briskola: flat:{n} – random" for n in (1, 2, 3)
        ]
        for f in fresh:
            assert (f.games, f.games_in_store) == (8, 0)
            assert f.milliseconds_a_game > 0
            assert f.core_seconds == pytest.approx(8 * f.milliseconds_a_game / 1000)
        experiments.run(read(TOP + A), store, InProcess(), 0.5)
        told = []
        partly = experiments.dry_run(experiment, store, 1.0, None, lambda *numbers: told.append(numbers))
        assert [f.games_in_store for f in partly] == [4, 0, 0, 0]
        assert partly[0].core_seconds == pytest.approx(4 * partly[0].milliseconds_a_game / 1000)
        assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
        experiments.run(read(TOP + A), store, InProcess())
        whole = experiments.dry_run(experiment, store, 1.0, None)[0]
        assert (whole.games, whole.games_in_store, whole.core_seconds) == (8, 8, 0)


def test_a_dry_run_knows_that_a_match_is_decided():
    experiment = read(TOP.replace("games = 8", "games = 4000") + A + 'until = "decided"\n')
    with Store() as store:
        assert experiments.dry_run(experiment, store, 1.0, None)[0].games == 4000
        result = experiments.run(experiment, store, InProcess())
        (found,) = experiments.dry_run(experiment, store, 1.0, None)
        assert found.games == found.games_in_store == result.games == 100
        assert found.core_seconds == 0


# --- figures ---------------------------------------------------------------------------------------


def svg_texts(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_every_kind_of_figure_shows_its_cells():
    text = TOP + GRID + WORDS + A + row('name = "all"\npublished = [55, 65, 75]', match="g")
    text += '[match.h]\nagents = ["flat:{n}", "flat:{m}"]\ngrid = {n = [1, 2], m = [3, 4]}\n'
    text += figure("curve", 'match = "g"', 'x = "n"', 'caption = "A curve"')
    text += figure("curve", 'match = "h"', 'x = "n"', 'y = "m"')
    text += figure("bars", 'match = "w"', 'x = "who"', 'measure = "score"')
    text += figure("heat", 'match = "h"', 'x = "n"', 'y = "m"', 'caption = "A map"')
    text += figure("intervals", 'rows = ["all"]', 'label = "points, all of them"')
    text += figure("distribution", 'matches = ["a", "g"]', "mark = 60")
    cells = [scores((p, p), (p - 2, p + 2)) for p in (51, 62, 73)]
    given = {"g": cells, "w": cells[:2], "a": cells[0], "h": [*cells, cells[0]]}
    result = kept(text, given)
    assert [caption for caption, _ in result.figures] == ["A curve", "", "", "A map", "", ""]
    curve, lines, bars, heat, intervals, distribution = (svg_texts(svg) for _, svg in result.figures)
    assert {"n", "points per game"} <= set(curve)
    assert {"m = 3", "m = 4"} <= set(lines)
    assert {"random", "rule-based", "games won, counting a draw as half, %"} <= set(bars)
    assert {"n", "m", "51.00", "62.00", "73.00"} <= set(heat)
    assert "points, all of them" in intervals
    assert any("flat:3 against random" in t for t in intervals)
    assert {"rule-based", "flat:1", "flat:2", "flat:3"} <= {t.split(" (")[0] for t in distribution}
    nothing = kept(text, {})
    assert nothing.figures == []
    part = kept(text, {"g": [cells[0], scores(), scores()]})
    assert len(part.figures) == 3  # the curve, the intervals and the distribution


def test_matches_of_one_agent_are_told_apart_in_a_distribution():
    other = '[match.b]\nagents = ["rule-based", "flat:5"]\n'
    for more, names in ((other, {"rule-based – random", "rule-based – flat:5"}), (OTHER, None)):
        name = re.findall(r"match\.(\w+)", more)[0]
        text = TOP + A + more + figure("distribution", f'matches = ["a", "{name}"]')
        ((_, svg),) = kept(text, {"a": DEALS, name: LESS}).figures
        found = {t.split(" (")[0] for t in svg_texts(svg)}
        assert names or {f"rule-based – random, briskola, seed {seed}" for seed in (1, 2)} <= found
        assert (names or set()) <= found


# --- any description -------------------------------------------------------------------------------


def toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def tables(content):
    lines = [f"{json.dumps(k)} = {toml(v)}\n" for k, v in content.items()]
    return "".join(lines)


ANYTHING = st.recursive(
    st.booleans() | st.integers(-3, 2**70) | st.floats() | st.text(max_size=5) | st.just("a"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def test_no_table_is_too_odd():
    """Whatever stands at the top level, the answer is an experiment or a message."""

    @settings(max_examples=150, deadline=None)
    @given(
        st.dictionaries(
            st.sampled_from([*"ab", "match", "row", "figure", "tournament", "notes", "games"]) | st.text(),
            ANYTHING,
        )
    )
    def check(content):
        try:
            experiments.read(tables(content), "file.toml", "x")
        except KibitzError as refused:
            said = str(refused)
            assert "file.toml" in said

    check()


EVERYTHING = (
    BASE
    + '[match.h]\nagents = ["flat:{n}", "flat:{m}"]\ngrid = {n = [1, 2], m = [3, 4]}\n'
    + '[match.u]\nagents = ["flat:5", "random"]\nuntil = "decided"\n'
    + '[match.s]\nagents = ["flat:5", "random"]\ngame = "briskola:seats={s}"\ngrid.s = [2, 3, 4]\n'
    + '[tournament.a]\nagents = ["random", "flat:5"]\n'
)
MATCHES = [*"aabgggwhhus", "alone", "other"]
NUMBERS = [0, 0.25, 0.5, 1, 60, -0.5]
ROW = {
    "measure": [*MEASURES, GAP], "of": [*MEASURES], "cell": ["", "{n}", "<b>"], "agent": [0, 1],
    "less": [*"abbgh"], "base": [*"bgh"], "ceiling": [*"agh"], "interval": INTERVALS, "goal": NUMBERS,
    "above": NUMBERS, "published": [*NUMBERS, [0.5, 0, 1], [[1, 0], [0.5, 0.5]]], "published_games": [0, 7],
    "test": ["mcnemar"], "holm": [False, True], "cause": ["so"], "digits": [0, 3], "name": ["p"],
    "table": ["", "T"],
}  # fmt: skip
FIGURE = {
    "match": [*"gwh"], "matches": [["a"], ["a", "b", "g", "u"], ["w", "h", "s"], ["a", "other"]],
    "agent": [0, 1], "measures": [["win_rate", "score"], ["total"]],
    "rows": [["p"]], "x": ["n", "who"], "y": ["m"], "measure": [*MEASURES], "label": ["<i>"], "mark": [60],
}  # fmt: skip
KINDS = [{"kind": "curve", "match": "g", "x": "n"}, {"kind": "bars", "match": "w", "x": "who"}]
KINDS += [{"kind": kind, "match": "h", "x": "n", "y": "m"} for kind in ("curve", "heat", "bars")]
KINDS += [{"kind": "distribution", "matches": ["a", "s"]}, {"kind": "intervals", "rows": ["p"]}]
TOGETHER = [("measure",), ("measure", "less"), ("less", "test", "measure"), ("measure", "published_games")]
TOGETHER += [(), (), ("measure", "interval")]
TOGETHER += [("measure", "less", "above", "holm"), ("measure", "base", "ceiling", "of")]


assert {kind["kind"] for kind in KINDS} == set(FIGURES)


def some_of(random, keys, **always):
    """A table with some of the keys: those that go together, and up to two more."""
    names = {*random.choice(TOGETHER), *random.sample(sorted(keys), random.randint(0, 2))} & set(keys)
    found = always | {name: random.choice(keys[name]) for name in sorted(names)}
    return found | {"measure": GAP} if names >= {"base", "ceiling"} else found


def is_read(text):
    """Whether a description is accepted; if not, the message names the file."""
    try:
        read(text)
    except KibitzError as refused:
        said = str(refused)
        assert "file.toml" in said
        return False
    return True


@pytest.mark.parametrize("seed", range(4))
def test_what_is_accepted_can_be_evaluated(seed):
    """Every table is refused with a message, or its rows and figures can be made from any scores."""
    random = Random(seed)
    rows = [some_of(random, ROW, match=random.choice(MATCHES)) for _ in range(400)]
    figures = [some_of(random, FIGURE, **kind) for kind in KINDS * 2]
    text, names = EVERYTHING, []
    for i, table in enumerate(rows):
        if is_read(EVERYTHING + f"[[row]]\n{tables(table)}"):
            if "name" in table:
                names.append(table["name"] + str(i))
                table["name"] = names[-1]
            text += f"[[row]]\n{tables(table)}"
    for table in figures:
        if "rows" in table:
            table["rows"] = [random.choice(names)]
        if is_read(text + f"[[figure]]\n{tables(table)}"):
            text += f"[[figure]]\n{tables(table)}"
    experiment = read(text)
    assert len(experiment.rows) > 60
    assert len(experiment.figures) > 3
    assert len({plan.measure for plan in experiment.rows}) == len(MEASURES) + 1
    known = {}
    for grid, _, order in orders(experiment, 1.0, 1):
        shape = (random.randint(0, seed), order.match.games_a_deal, order.match.seats)
        points = [random.choice([40, 60, 60, 61, 80]) for _ in range(math.prod(shape))]
        known.setdefault(grid.name, []).append(np.array(points, float).reshape(shape))
    result = kept(text, known)
    assert len(result.rows) == sum(len(experiment.matches[plan.match].cells) for plan in experiment.rows)
    for found in result.rows:
        assert found.verdict
        assert "nan" not in found.measured_text
        assert found.p_value is None or 0 <= found.p_value <= 1
    json.dumps(result.to_dict())
    assert report.page([result]).count("<svg") == len(result.figures)
    assert report.markdown([result])


# --- the published experiment, end to end ----------------------------------------------------------


def small_karamatic():
    """The published experiment with agents that think for a moment only."""
    text = experiments.published("karamatic").text.replace("5000", "40").replace('["expert"', '["expert:40"')
    text = text.replace("games = 2000", "games = 20").replace("quick_games = 200", "quick_games = 4")
    return experiments.read(text, "karamatic.toml")


def test_karamatic_with_small_agents(tmp_path):
    experiment = small_karamatic()
    with Store(tmp_path / "a.db") as store:
        result = experiments.run(experiment, store, InProcess(), command="kibitz reproduce karamatic")
        assert result.games == 120
        (later,) = experiments.results(store)
        assert report.page([later]) == report.page([result])
        quick = experiments.run(experiment, store, InProcess(), experiment.factor(None, True))
        assert (quick.games, len(quick.rows)) == (24, 9)
    by_name = {found.name: found for found in result.rows if found.name}
    assert list(by_name) == ["agent", "as-run", "mended", "best", "cheating", "gap", "ahead"]
    assert [found.n for found in result.rows] == [20] * 9
    assert [found.published for found in result.rows[:4]] == [0.96, 231 / 252, 0.96, 231 / 252]
    for found in result.rows:
        assert found.measured.low <= found.measured.mean <= found.measured.high
        assert found.measured_text in report.page([result])
    # The same as matches of their own.
    agent = arena.match("briskola", ["karamatic-mcts:40", "random"], 20, seed=1).agents[0]
    assert by_name["agent"].measured == agent.unbeaten
    best = arena.match("briskola", ["expert:40", "random"], 20, seed=1).agents[0]
    assert by_name["best"].measured == best.win_rate_decided
    ahead = arena.match("briskola", ["expert:40", "karamatic-mcts:40"], 20, seed=1)
    assert by_name["ahead"].measured == ahead.differences[0]
    told = " ".join(result.findings)
    for name in ("best", "cheating", "gap", "ahead"):
        assert by_name[name].measured_text in told
    assert "{" not in told
    assert [caption for caption, _ in result.figures] == [plan.caption for plan in experiment.figures]
    assert len(result.figures) == 2
    intervals, distribution = (" ".join(svg_texts(svg)) for _, svg in result.figures)
    assert "games won against a random player, %" in intervals
    assert "karamatic-mcts:40" in distribution


def test_karamatic_says_whether_it_was_reproduced():
    experiment = small_karamatic()
    with Store() as store:
        first = experiments.run(experiment, store, InProcess())
        text = re.sub(r"(\npublished) = .*", r"\1 = {}", experiment.text)
        text = re.sub(r"(\npublished_games) = .*", r"\1 = 0", text)
        for published, verdict in ((first.rows[0].measured.mean, "too few games to tell"), (0.05, "differs")):
            changed = experiments.read(text.replace("= {}", f"= {published}"), "karamatic.toml")
            result = evaluate(changed, first.run, store)
            assert result.rows[0].verdict == verdict
            says_why = result.findings[0].startswith("Why it stays below 96 %")
            assert says_why == (verdict == "differs")


def test_karamatic_on_the_command_line(tmp_path, monkeypatch):
    experiment = small_karamatic()
    monkeypatch.setattr(experiments, "PUBLISHED", ("karamatic",))
    monkeypatch.setattr(experiments, "published", lambda name: experiment)
    store = tmp_path / "a.db"
    arguments = ("reproduce", "--quick", "--jobs", 1, "--store", store)
    done = call(*arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(experiment.question)
    assert "karamatic-mcts:40 wins" in done.stdout
    assert "• expert wins" in done.stdout
    (found,) = document(*arguments, folder=tmp_path)["experiments"]
    assert (found["games"], found["games_wanted"]) == (24, 24)
    assert (tmp_path / "report.html").read_text().count("<svg") == 2


# --- headlines, and lines that are computed ---------------------------------------------------------


def computed(*lines):
    return "\n[[computed]]\n" + "\n".join(lines) + "\n"


def test_computed_lines_are_exact():
    text = TOP + 'summary = ["Alpha-beta: {ab}."]\n' + A
    text += computed(
        'tree = "best-first:8,4"', 'algorithm = "alphabeta"', 'name = "ab"', 'cell = "the best first"'
    )
    text += computed('tree = "three-plies"', 'algorithm = "alphabeta"')
    result = kept(text, {"a": DEALS})
    first, second = result.rows
    assert (first.measured_text, first.verdict, first.n) == ("127 of 4,096 leaves", "exact", 0)
    assert first.measured.ci == (127, 127)
    assert (second.cell, second.measured_text) == ("alphabeta in the tree three-plies", "5 of 8 leaves")
    assert result.summary == ["Alpha-beta: 127 of 4,096 leaves."]
    assert result.state == "done"  # nothing published is compared
    (table,) = report.tables_of(result)
    assert table.rows[0] == ["the best first", "127 of 4,096 leaves", "exact"]
    assert result.to_dict()["rows"][0]["all_leaves"] == 4096


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (('tree = "three-pliez"', 'algorithm = "alphabeta"'), "did you mean 'three-plies'"),
        (('tree = "../three-plies.tree"', 'algorithm = "alphabeta"'), "unknown tree"),
        (('tree = "best-first:9,9"', 'algorithm = "alphabeta"'), "at most 100,000 leaves"),
        (('tree = "three-plies"', 'algorithm = "alphabetta"'), "did you mean 'alphabeta'"),
        (('tree = "three-plies"',), "needs algorithm"),
    ],
)
def test_mistakes_in_computed_lines(lines, says):
    with pytest.raises(KibitzError, match=re.escape(says)):
        read(TOP + A + computed(*lines))


def test_a_summary_names_lines():
    with pytest.raises(UnknownName, match="summary: 'nobody'"):
        read(TOP + 'summary = ["{nobody}"]\n' + A + row('name = "one"'))
    with pytest.raises(ParseError, match="summary: one has a line for every cell of a grid"):
        read(TOP + 'summary = ["{one}"]\n' + GRID + row('name = "one"', match="g"))


def test_a_summary_says_how_published_figures_compare():
    text = TOP.replace("games = 8", "games = 800") + 'summary = ["{a-beside}"]\n' + A
    for published, says in ((71, "71.2 (published 71.0: reproduced)"), (20, "71.2, not the published 20.0")):
        line = row(f"published = {published}", 'name = "a"')
        assert kept(text + line, {"a": MANY}).summary == [says]
    line = row("published = 71", 'name = "a"')
    assert kept(text + line, {"a": DEALS}).summary == ["71.2 (published 71.0: too few games to tell)"]
    assert kept(text + line, {}).summary == ["– (published 71.0: not measured)"]


def test_headlines_have_enough_games_and_three_results_of_each_document():
    headlines = experiments.published("headlines")
    tables = [plan.table for plan in (*headlines.rows, *headlines.computed)]
    assert [tables.count(table) for table in dict.fromkeys(tables)] == [3] * 5
    assert len(headlines.summary) == 5
    for grid in headlines.grids():
        assert grid.games >= 200


# --- what a game counts ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counted():
    """Every count and how it may be asked, in 100 games on 25 deals."""
    rows = "".join(row(f'measure = "{measure}"', f'name = "{i}"') for i, measure in enumerate(ASKED))
    experiment = read(COUNTED.replace("games = 40", "games = 100") + rows)
    with Store() as store:
        return experiments.run(experiment, store, InProcess())


ASKED = (
    "rounds",
    "earnable",
    "absolute_victories of games",
    "absolute_victories of wins",
    "bids_made of rounds",
)


def test_what_a_game_counts_can_be_asked(counted):
    match = Match(BRIDGE, ("snelleman-trumping", "snelleman-random"), 1)
    deals = [Batch(match, d, 1).play() for d in range(25)]
    of = {name: [deal.counts[name][0][0] for deal in deals] for name in match.rules.counted}
    of["games"], of["wins"] = [4] * 25, []
    for deal in deals:
        own = np.array([deal.scores[0, s, seats.index(0)] for s, seats in enumerate(match.places)])
        others = [np.delete(deal.scores[0, s], seats.index(0)).max() for s, seats in enumerate(match.places)]
        of["wins"].append(int((own > others).sum()))
    for measure, found in zip(ASKED, counted.rows, strict=True):
        count, _, base = measure.partition(" of ")
        above, below = np.array(of[count]), np.array(of[base or "games"])
        assert found.measured.mean == pytest.approx(above.sum() / below.sum(), rel=1e-12)
        assert (found.n, found.unit, found.scale) == (100, " %" if base else "", 100 if base else 1)
        if base in ("", "games"):
            low, high = student(above / 4)
            assert found.measured.ci == pytest.approx((max(0, low) if base else low, high))
        else:  # taken as independent, so wider than the ratio's own interval
            residual = above - found.measured.mean * below
            own = stats.t.ppf(0.975, 24) * residual.std(ddof=1) / 5 / below.mean()
            assert own <= found.measured.high - found.measured.mean <= 2 * own
    assert counted.rows[0].cell == "snelleman-trumping against snelleman-random: rounds a game"
    assert counted.rows[3].cell.endswith(": absolute victories, of games won")


def test_what_is_not_known_of_whole_batches_is_left_out():
    text = COUNTED + row('measure = "rounds"') + row('measure = "win_rate"')
    experiment = read(text)
    ((_, _, order),) = orders(experiment, 1.0, 1)
    with Store() as store:
        number = store.number_of(order.match)
        for first, deals in ((0, 6), (6, 20)):
            batch = Batch(order.match, first, deals)
            store.add(batch, number, batch.play())
        rounds, won = evaluate(experiment, Run(1.0, 1, "", {}, [number]), store).rows
        assert (rounds.n, rounds.measured.n) == (24, 6)
        assert (won.n, won.measured.n) == (40, 10)
        rounds, won = evaluate(experiment, Run(0.5, 1, "", {}, [number]), store).rows
        assert (rounds.n, rounds.verdict, rounds.measured_text) == (0, "–", "–")
        assert won.n == 20


def test_counts_that_never_occur_have_an_interval():
    text = COUNTED.replace("cards=3", "cards=3,absolute=0") + row('measure = "absolute_victories of games"')
    with Store() as store:
        (found,) = experiments.run(read(text), store, InProcess()).rows
    assert found.measured.mean == 0
    assert found.measured.ci == pytest.approx(wilson(0, 10).ci)


# --- confidence, tables, several measures ----------------------------------------------------------


def test_confidence_is_that_of_intervals_verdicts_and_tests():
    low, high = student(MEANS["points"], 0.99)
    sure = TOP + "confidence = 0.99\n" + A
    result = kept(sure + row(), {"a": DEALS})
    assert result.rows[0].measured.ci == pytest.approx((low, high))
    assert result.to_dict()["confidence"] == 0.99
    assert "measured (99 %)" in report.markdown([result])
    assert one(sure + row(f"published = {high - 1}"), {"a": DEALS}).verdict == "too few games to tell"
    assert one(TOP + A + row(f"published = {high - 1}"), {"a": DEALS}).verdict == "differs"
    values = np.array(MEANS["points"])
    above = values.mean() - stats.t.ppf(0.975, 3) * stats.sem(values)  # p = 2.5 %
    for top, says in ((TOP + A, "yes"), (sure, "not shown")):
        found = one(top + row(f"above = {above}"), {"a": DEALS})
        assert (found.verdict, found.p_value) == (says, pytest.approx(0.025))
    for lines in (('measure = "lead"',), ('less = "b"',), ('interval = "bootstrap"',)):
        given = {"a": DEALS, "b": scores((50, 40), (60, 60), (80, 90), (50, 70))}
        wide, narrow = (one(top + B + row(*lines), given).measured for top in (sure, TOP + A))
        assert wide.low <= narrow.low
        assert wide.high >= narrow.high
        assert wide.ci != narrow.ci


def test_rows_are_shown_in_the_tables_that_they_name(tmp_path):
    text = TOP + 'title = "All"\n' + A + row('table = "First"') + row('table = "Second"', "published = 60")
    text += row('table = "First"', 'measure = "win_rate"')
    result = kept(text, {"a": DEALS})
    first, second = report.tables_of(result)
    assert (first.title, len(first.rows), second.title, len(second.rows)) == ("First", 2, "Second", 1)
    assert "published" in second.columns
    assert "published" not in first.columns
    assert [found["table"] for found in result.to_dict()["rows"]] == ["First", "Second", "First"]
    assert "<h3>First</h3>" in report.page([result])
    assert "Second:\n\n| result" in report.markdown([result])
    (tmp_path / "x.toml").write_text(text)
    told = call("experiment", "run", tmp_path / "x.toml", "--jobs", 1, data=tmp_path).stdout
    assert told.index("All\n") < told.index("First") < told.index("Second")


@pytest.mark.parametrize("kind", ["curve", "bars"])
def test_several_measures_in_one_figure(kind):
    lines = 'match = "g"\nx = "n"\nmeasures = ["win_rate", "share_of_points"]\n'
    rows = row('measure = "win_rate"', "published = [0.1, 0.2, 0.3]", match="g")
    rows += row('measure = "win_rate"', "agent = 1", "published = 0.9", match="g")
    ((caption, svg),) = kept(TOP + GRID + rows + figure(kind, lines), {"g": [DEALS] * 3}).figures
    assert caption == ""
    for said in ("games won", "points, as a share of all sides' together", "%"):
        assert f">{said}</text>" in svg
    assert ("published" in svg) == (kind == "curve")


# --- what was learned ------------------------------------------------------------------------------

LEARNED = """
name = "x"
game = "mini-tichu"
[match.a]
agents = ["random", "random"]
[[learned]]
agent = "castelein-mc"
cell = "Monte Carlo"
published_by_counters = 0.869
"""


def test_what_was_learned_is_shown():
    result = kept(LEARNED, {})
    (table,) = result.tables
    ((name, rounds, unknown, at_random, published, by_counters),) = table.rows
    assert (name, unknown, published) == ("Monte Carlo", "–", "86.9 %")
    learned = counters.find(load("mini-tichu"), "castelein-mc")
    assert rounds == f"{learned.rounds:,}"
    shares = learned.dealt[1:, 1:] / learned.dealt[1:, :1]
    for text, share in zip((at_random, by_counters), shares.mean(axis=0), strict=True):
        assert text.startswith(f"{100 * share:.1f} (")
    changes, right = (" ".join(svg_texts(svg)) for _, svg in result.figures)
    assert "change, percentage points" in changes
    assert "Monte Carlo, by counters" in right
    assert table.title in report.page([result])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("castelein-mc", "castelein-mk", "no counters of castelein-mk"),
        ("0.869", "86.9", "86.9 % is 0.869"),
        ('game = "mini-tichu"\n[match.a]', '[match.a]\ngame = "mini-tichu"', "say whose counters"),
        ("cell", "cel", "did you mean 'cell'"),
    ],
)
def test_what_was_not_learned_is_said(old, new, words):
    assert old in LEARNED
    with pytest.raises(KibitzError, match=words):
        read(LEARNED.replace(old, new))


# --- Snelleman -------------------------------------------------------------------------------------


def small_snelleman():
    """The published experiment with few games and small budgets."""
    text = experiments.published("snelleman").text
    for old, new in (
        ("= [10, 100, 1000, 10000]", "= [2, 3, 4, 5]"),
        ("= [10, 100]", "= [2, 3]"),
        ('mcts:10"', 'mcts:2"'),
        ("games = 10000 #", "games = 4 #"),
    ):
        assert old in text
        text = text.replace(old, new)
    text = re.sub(r"\nquick_games = .*", "", text)
    experiment = experiments.read(re.sub(r"\ngames = (1000000|\[.*\])", "", text), "snelleman.toml")
    assert all(order.deals * order.match.games_a_deal == 4 for _, _, order in orders(experiment, 1.0, 1))
    return experiment


@pytest.mark.soak  # most of it is compiling
def test_snelleman_with_small_agents(tmp_path):
    experiment = small_snelleman()
    with Store(tmp_path / "a.db") as store:
        result = experiments.run(experiment, store, InProcess(), command="kibitz reproduce snelleman")
    assert result.is_finished
    assert [table.title.partition(":")[0] for table in report.tables_of(result)[:4]] == [
        *("Table 1", "Table 2", "Tables 3 and 4", "Table 5"),
    ]
    assert len(result.figures) == 5
    assert all(
        math.isfinite(found.measured.mean) for found in result.rows if "of games won" not in found.cell
    )
    page = report.page([result])
    assert page.count("<svg") == 5
    assert "measured (99 %)" in page
    assert "362 of 589 earnable points" in page


def test_the_published_figures_of_snelleman():
    """Sums over a table's lines are those that it prints below them."""
    experiment = experiments.published("snelleman")
    known = {
        (plan.match, plan.measure, plan.agent): plan.published
        for plan in experiment.rows
        if plan.published is not None and not plan.less
    }
    assert 4 * known["random", "points", 0] == pytest.approx(118.657984)
    assert known["random", "total", 0] == pytest.approx(118.657984)
    assert known["trumping", "points", 0] + 3 * known["trumping", "points", 1] == pytest.approx(115.52132)
    share = "absolute_victories of games"
    for measure, sums in (("points", (122.314031, 108.369713)), ("win_rate", (0.978433, 0.97724)),
                          (share, (0.235583, 0.207669))):  # fmt: skip
        first, others = (known["rule-based", measure, agent] for agent in (0, 1))
        assert [a + 3 * b for a, b in zip(first, others, strict=True)] == pytest.approx(sums, abs=2e-7)
    assert known["mc", "win_rate", 0] == [0.7831, 0.911, 0.9481, 0.957]
    (less,) = (plan.published for plan in experiment.rows if plan.less)
    assert less[-1] == pytest.approx(0.0429)
    for match in ("mcts", "mcts-rule-based", "mc", "mc-mcts"):
        points, total, won = (known[match, measure, 0] for measure in ("points", "total", "win_rate"))
        shares = [a / b for a, b in zip(points, total, strict=True)]
        assert known[match, "share_of_points", 0] == pytest.approx(shares, abs=1e-6)
        absolute = [a / b for a, b in zip(known[match, share, 0], won, strict=True)]
        assert known[match, "absolute_victories of wins", 0] == pytest.approx(absolute, abs=1e-6)


def test_sizes_of_the_published_snelleman():
    experiment = experiments.published("snelleman")
    full = {
        (grid.name, values.get("n")): order.deals * order.match.games_a_deal
        for grid, values, order in orders(experiment, 1.0, 1)
    }
    assert set(full.values()) == {1_000, 10_000, 1_000_000}
    # As published, but for the largest budget.
    assert {key for key, games in full.items() if games == 1_000} == {
        (name, 10_000) for name in ("mcts", "mcts-rule-based", "mc", "mc-mcts")
    }
    assert experiment.factor(1.0, False) == 1
    quick = orders(replace(experiment, is_quick=True), experiment.factor(None, True), 1)
    assert all(order.deals * order.match.games_a_deal <= 20_000 for _, _, order in quick)
