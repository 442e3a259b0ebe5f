"""Trees written by hand: how they are read, what is refused, how a search of them is drawn."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from kibitz import drawing
from kibitz.errors import InputError, ParseError, UnknownName, Unsupported
from kibitz.games.tree.rules import END
from kibitz.games.tree.text import examples, load, read, read_json
from kibitz.protocol import CHANCE
from kibitz.search.solver import ALGORITHMS, Settings, Solver, Subject, algorithm, subject
from tests.test_docs import run_kibitz

TEXT = """
# a move, then a die
range 0 30
max ~ 4
  left: min ~ 5 noisy
    3
    last resort: 12   # a name of two words
  roll: chance
    1/6 six: 20
    50%: min
      1
      9
    0.3333333333333333: 1/2
  again: min same
    3
"""
JSON = {
    "node": "max",
    "evaluation": 4,
    "range": [0, 30],
    "children": [
        {
            "name": "left",
            "node": "min",
            "evaluation": 5,
            "noisy": True,
            "children": [3, {"value": 12, "name": "last resort"}],
        },
        {
            "name": "roll",
            "node": "chance",
            "children": [
                {"odds": "1/6", "name": "six", "value": 20},
                {"odds": "50%", "node": "min", "children": [1, 9]},
                {"odds": 0.3333333333333333, "value": 0.5},
            ],
        },
        {"name": "again", "node": "min", "same": True, "children": [3]},
    ],
}


def test_text_and_json_are_the_same_game():
    one, other = read(TEXT), read_json(json.dumps(JSON))
    assert one.names == other.names
    assert one.names[:3] == ["left", "roll", "again"]
    for field in one.game._fields:
        assert (getattr(one.game, field) == getattr(other.game, field)) is not False
        assert list_of(getattr(one.game, field)) == list_of(getattr(other.game, field)), field


def list_of(value):
    return value.tolist() if hasattr(value, "tolist") else value


def test_what_is_written_is_what_is_played():
    tree = read(TEXT)
    game, root = tree.game, tree.root()
    assert (game.seats, game.max_moves, game.max_plies) == (2, 3, 3)
    assert game.score_range() == (0, 30)
    assert [tree.move_text(move) for move in root.legal_moves()] == ["left", "roll", "again"]
    assert game.mirror(root.record, 2) == game.mirror(root.record, 1)
    assert not game.is_quiet(after(tree, "left").record)
    assert game.mover(after(tree, "roll").record) == CHANCE
    last = after(tree, "left", "last resort")
    assert game.movers[last.record.node] == END
    assert last.returns() == [12, 18]


def after(tree, *names):
    state = tree.root()
    for name in names:
        state.play(next(move for move in state.legal_moves() if tree.move_text(move) == name))
    return state


WRONG = {
    "max\n  3\n  sum": "tree, line 3: 'sum' is no node",
    "max\n  3\n  min": "tree, line 3: 'min' has no children",
    "max\n  a:\n  3": "tree, line 2: names no node",
    "max\n  chance\n    1/2 3\n    1/3 4": "tree, line 2: the probabilities add up to 0.833333",
    "max\n  chance\n    half 3": "tree, line 3: 'half' is no probability",
    "max\n  chance\n    0 3\n    1 4": "tree, line 3: the probability 0 is not above 0",
    "max\n  3\n    4": "tree, line 3: stands below a leaf",
    "max\n  3\n4": "tree, line 3: is a second root",
    "max\n    3\n  4": "tree, line 3: is not aligned",
    "max\n  3 soft": "tree, line 2: 'soft' means nothing here",
    "max\n  3 ~ 4": "tree, line 2: '~' means nothing here",
    "max\n  3 same\n  4": "tree, line 2: 'same' needs a branch before it",
    "max\n  3\n  1, 2": "tree, line 3: a leaf has one number",
    "max\n  nan": "tree, line 2: 'nan' is no node",
    "range 0 2\nmax\n  3": "tree, line 3: its value is outside of the range",
    "range 2\nmax\n  3": "tree, line 1: range needs two numbers",
    "range 2 0\nmax\n  3": "tree, line 1: the range begins with its lowest",
    "seat 0\n  max\n    1, 2, 3": "tree, line 2: 'max' is for two sides",
    "seat 0\n  1, 2": "tree, line 1: two seats are written as max and min",
    "seat 0\n  1, 2, 3\n  4": "tree, line 3: a leaf has one number per seat, 3 of them",
    "seat\n  1, 2, 3": "tree, line 1: 'seat' needs a number",
    "# nothing": "tree holds no tree",
}


@pytest.mark.parametrize("text", WRONG)
def test_malformed_trees_are_refused_with_line_and_reason(text):
    with pytest.raises(ParseError, match=re.escape(WRONG[text])):
        read(text)


WRONG_JSON = {
    '{"node": "max",\n "children": [3,]}': "tree, line 2: no JSON",
    '{"node": "sum", "children": [3]}': "'sum' is no kind of node",
    '{"node": "max", "children": [{"name": "a"}]}': "children[0]: a leaf needs a value",
    '{"node": "max", "children": ["x"]}': "children[0]: there is no node 'x' in 'nodes'",
    '{"node": "max", "kids": [3]}': "'kids' is no word",
    '{"node": "max", "children": [null]}': "children[0]: None is no node",
    '{"node": "chance", "children": [3, 4]}': "children[0]: an outcome of chance needs a probability",
    '{"node": "max", "children": ["a"], "nodes": {"a": {"node": "min", "children": ["b"]}, '
    '"b": {"node": "max", "children": [1, "a"]}}}': "leads back to a node above it",
    "[1]": "is no node",
}


@pytest.mark.parametrize("text", WRONG_JSON)
def test_malformed_json_is_refused_with_place_and_reason(text):
    with pytest.raises(ParseError, match=re.escape(WRONG_JSON[text])):
        read_json(text)


def test_json_may_lead_to_one_node_twice():
    shared = {"node": "min", "children": [4, 6]}
    document = {"node": "max", "children": ["s", {"node": "min", "children": ["s"]}], "nodes": {"s": shared}}
    tree = read_json(json.dumps(document))
    assert len(tree.game.movers) == 5  # max, s, min, and two leaves
    found = Solver(tree.game, Settings(table=True), compiled=False).solve(tree.root().array)
    assert (found.value, found.leaves) == (4, 4)  # not the same depth, so the table does not help


def test_examples_load_and_say_what_they_show():
    assert {"two-plies", "three-plies", "horizon", "coin"} <= set(examples())
    for name, about in examples().items():
        assert len(about) > 20
        assert load(name).game.max_plies >= 2
        assert load(f"{name}.tree").names == load(name).names
    with pytest.raises(UnknownName, match="did you mean 'horizon'"):
        load("horizons")
    with pytest.raises(InputError, match="there is no file"):
        load("nothing.json")


# --- pictures -------------------------------------------------------------------------------------


def drawn(name, how="alphabeta", depth=None):
    return drawing.draw(subject(name), algorithm(how), depth)


def test_a_picture_shows_values_windows_and_what_was_cut_by_which_bound():
    text = drawn("three-plies").text()
    assert text.splitlines()[:2] == ["max = 6  (6 … ∞)", "├─ a: min = 6  (−∞ … 6)"]
    assert "max ≥ 9  (9 … 6)  ✂ 9 ≥ β = 6" in text
    assert "min ≤ 5  (6 … 5)  ✂ 5 ≤ α = 6" in text
    assert text.count("╳") == 4
    assert "╳" not in drawn("three-plies", "minimax").text()
    assert "∞" not in drawn("three-plies", "minimax").text()


def test_a_picture_of_chance_shows_probabilities_and_bounds():
    plain, star = drawn("coin-in-bounds").text(), drawn("coin-in-bounds", "star1").text()
    assert "1/2 heads: min" in plain
    assert plain.count("╳") < star.count("╳")
    assert "mean ≤ α = 1.5" in star


def shown(node):
    return [text for text in node.itertext() if text.strip()]


@pytest.mark.parametrize("name", ["three-plies", "coin-in-bounds", "three-seats", "horizon"])
def test_svg_is_well_formed_and_shows_what_the_text_shows(name):
    several = name == "three-seats"
    tree = drawn(name, "minimax" if several else "star2")
    svg = ElementTree.fromstring(tree.svg())
    for spot in spots(tree.picture()):
        if spot.value:
            assert spot.value in shown(svg)
        if spot.cut:
            assert spot.cut in shown(svg)
    struck = svg.findall(".//{http://www.w3.org/2000/svg}path[@stroke='#d55e00']")
    assert len(struck) == sum(bool(spot.struck) for spot in spots(tree.picture()))


def spots(spot):
    yield spot
    for child in spot.children:
        yield from spots(child)


def test_steps_begin_with_nothing_and_end_with_everything():
    tree = drawn("three-plies")
    assert tree.steps > 20
    before = [spot for spot in spots(tree.picture(0)) if spot.is_seen]
    assert before == []
    assert tree.text(tree.steps) == tree.text()
    seen = [sum(spot.is_seen for spot in spots(tree.picture(step))) for step in range(tree.steps + 1)]
    assert seen == sorted(seen)
    assert seen[-1] == tree.found.nodes
    current = [
        [spot for spot in spots(tree.picture(step)) if spot.is_current] for step in range(1, tree.steps)
    ]
    assert {len(here) for here in current} == {1}


def test_the_page_of_steps_loads_nothing_and_has_every_step():
    tree = drawn("two-plies")
    page = tree.page()
    assert page.count("<svg") == page.count("<figure") == tree.steps + 1
    assert not re.search(r"(src|href)\s*=", page)
    assert "ArrowRight" in page
    assert "<h1>Tree, alpha-beta; " in page
    assert f"{tree.steps} of {tree.steps}: max (depth 0) is worth 4" in page


def test_every_algorithm_can_be_drawn():
    for name in ALGORITHMS:
        tree = drawn("coin", name)
        assert tree.picture().value == "2.5"
        assert sum(spot.is_seen for spot in spots(tree.picture())) == tree.found.nodes


def test_a_game_is_drawn_as_far_as_it_was_searched():
    text = drawing.draw(
        subject_interpreted("tic-tac-toe", "0: a1 b2 c3 a3 c1"), algorithm("alphabeta")
    ).text()
    assert text.startswith("min = ")
    with pytest.raises(Unsupported, match="too many for a picture"):
        drawing.draw(subject_interpreted("tic-tac-toe"), algorithm("alphabeta"), 4).text()


def subject_interpreted(*words):
    """Not compiled: that would take longer than these few positions."""
    return Subject(**{**vars(subject(*words)), "is_small": True})


# --- the command line -----------------------------------------------------------------------------


def test_solve_compares_algorithms(tmp_path):
    file = tmp_path / "my.tree"
    file.write_text(TEXT)
    code, out, _ = run_kibitz(["solve", str(file)])
    assert code == 0
    assert "expectiminimax" in out
    assert "star2" in out
    code, out, _ = run_kibitz(["solve", str(file), "--json"])
    rows = json.loads(out)["algorithms"]
    assert len({round(row["value"] if "value" in row else row["values"][0], 9) for row in rows}) == 1
    assert rows[0]["algorithm"] == "expectiminimax"
    assert rows[0]["line"] == ["roll"]
    leaves = {row["algorithm"]: row["leaves"] for row in rows}
    assert leaves["star2"] <= leaves["star1"] <= leaves["expectiminimax"] == 7
    code, out, _ = run_kibitz(["solve", "three-seats", "--json"])
    assert json.loads(out)["algorithms"][0]["values"] == [2, 4, 1]


def test_solve_leaves_out_mirrored_and_less_urgent_moves(tmp_path):
    file = tmp_path / "twins.tree"
    file.write_text("max\n  a: min\n    1\n    2\n  b: min same\n    1\n    2\n")
    _, out, _ = run_kibitz(["solve", str(file), "--json"])
    cuts = {row["algorithm"]: row["cuts"] for row in json.loads(out)["algorithms"]}
    assert cuts["alphabeta-symmetry"] == {"symmetry": 1}
    _, out, _ = run_kibitz(["solve", "two-plies", "--keep", "1", "--keep-from", "1", "--json"])
    rows = {row["algorithm"]: row for row in json.loads(out)["algorithms"]}
    assert "alphabeta-symmetry" not in rows
    assert rows["minimax"]["cuts"] == {"forward": 6}
    assert not rows["minimax"]["is_exact"]
    _, out, _ = run_kibitz(["tree", "two-plies", "--keep", "1", "--keep-from", "1"])
    assert out.count("[forward]") == 6


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["solve", "bad.tree"], 3, "bad.tree, line 2: 'x' is no node"),
        (["solve", "nothing.json"], 3, "there is no file"),
        (["solve", "two-plies", "7"], 3, "a tree is searched from its root"),
        (["solve", "two-plies", "--algorithm", "alphabet"], 2, "did you mean 'alphabeta'"),
        (["solve", "briskola"], 3, "hides cards"),
        (["solve", "bridge"], 2, "say which board"),
        (["tree", "bad.tree"], 3, "bad.tree, line 2"),
        (["tree", "two-plies", "--out", "no/such/folder.svg"], 3, "there is no folder"),
    ],
)
def test_what_cannot_be_searched_is_said(words, code, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.tree").write_text("max\n  x")
    got, _, errors = run_kibitz(words)
    assert (got, reason in errors) == (code, True), errors


def test_tree_draws_text_svg_and_steps(tmp_path):
    code, out, _ = run_kibitz(["tree"])
    assert code == 0
    assert "three-plies" in out
    code, out, _ = run_kibitz(["tree", "three-plies"])
    assert out.strip() == drawn("three-plies").text()
    picture, page = tmp_path / "x.svg", tmp_path / "x.html"
    code, out, _ = run_kibitz(["tree", "three-plies", "--out", str(picture), "--steps", str(page)])
    assert code == 0
    assert picture.read_text(encoding="utf-8") == drawn("three-plies").svg()
    assert page.read_text(encoding="utf-8") == drawn("three-plies").page()
    code, out, _ = run_kibitz(["tree", "two-plies", "--json"])
    assert [step["event"] for step in json.loads(out)["steps"]][:3] == ["enter", "enter", "enter"]


def test_the_horizon_can_be_seen():
    code, out, _ = run_kibitz(["tree", "horizon", "--depth", "1", "--algorithm", "minimax"])
    assert out.startswith("max = 1")
    code, out, _ = run_kibitz(["tree", "horizon", "--depth", "1", "--algorithm", "minimax", "--quiet", "3"])
    assert code == 0
    assert out.startswith("max = 0")
