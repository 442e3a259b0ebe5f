"""Trees written by hand: how they are read, what is refused, how a search of them is drawn."""

import json
import random
import re
import xml.etree.ElementTree as ElementTree

import pytest

from kibitz import drawing
from kibitz.errors import InputError, ParseError, UnknownName, Unsupported
from kibitz.games.tree.document import read_json
from kibitz.games.tree.nodes import build
from kibitz.games.tree.rules import END
from kibitz.games.tree.text import examples, load, read
from kibitz.protocol import CHANCE
from kibitz.search.solver import ALGORITHMS, Settings, Solver, Subject, algorithm, subject
from tests.test_classical import random_node
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
    "max\n  3\n  sum": "tree, line 3: 'sum' is not a node",
    "max\n  3\n  min": "tree, line 3: 'min' has no children",
    "max\n  a:\n  3": "tree, line 2: names no node",
    "max\n  chance\n    1/2 3\n    1/3 4": "tree, line 2: the probabilities add up to 0.833333",
    "max\n  chance\n    half 3": "tree, line 3: 'half' is not a probability",
    "max\n  chance\n    0 3\n    1 4": "tree, line 3: the probability 0 is not above 0",
    "max\n  3\n    4": "tree, line 3: stands below a leaf",
    "max\n  3\n4": "tree, line 3: is a second root",
    "max\n    3\n  4": "tree, line 3: is not aligned",
    "max\n  3 soft": "tree, line 2: 'soft' cannot stand here",
    "max\n  3 ~ 4": "tree, line 2: '~' cannot stand here",
    "max\n  3 same\n  4": "tree, line 2: 'same' needs a branch before it",
    "max\n  3\n  1, 2": "tree, line 3: a leaf has one number",
    "max\n  nan": "tree, line 2: 'nan' is not a node",
    "range 0 2\nmax\n  3": "tree, line 3: its value is outside of the range",
    "range 2\nmax\n  3": "tree, line 1: range needs two numbers",
    "range 2 0\nmax\n  3": "tree, line 1: the range begins with its lowest",
    "seat 0\n  max\n    1, 2, 3": "tree, line 2: 'max' is for two sides",
    "seat 0\n  1, 2": "tree, line 1: two seats are written as max and min",
    "seat 0\n  1, 2, 3\n  4": "tree, line 3: a leaf has one number per seat, 3 of them",
    "seat\n  1, 2, 3": "tree, line 1: 'seat' needs a number",
    "seat ²\n  1, 2, 3": "tree, line 1: 'seat' needs a number",
    "max\n  1e9999999": "tree, line 2: '1e9999999' is not a node",
    "max\n  1e400": "tree, line 2: '1e400' is not a node",
    "chance\n  1e9999999 3": "tree, line 2: '1e9999999' is not a probability",
    "chance\n  1e-400 3\n  1 3": "tree, line 2: the probability 1e-400 is not above 0",
    "max ~ 1 ~ 2\n  3": "tree, line 1: '~' cannot stand here",
    "max noisy noisy\n  3": "tree, line 1: 'noisy' cannot stand here",
    "max\n  3 noisy": "tree, line 2: 'noisy' cannot stand here",
    "range 0 4\nrange 0 5\nmax\n  3": "tree, line 2: is a second range",
    "# nothing": "tree holds no tree",
}


@pytest.mark.parametrize("text", WRONG)
def test_malformed_trees_are_refused_with_line_and_reason(text):
    with pytest.raises(ParseError, match=re.escape(WRONG[text])):
        read(text)


WRONG_JSON = {
    '{"node": "max",\n "children": [3,]}': "tree, line 2: no JSON",
    '{"node": "sum", "children": [3]}': "tree, line 1: 'sum' is not a kind of node",
    '{"node": "max", "children": [\n3,\n{"name": "a"}]}': "tree, line 3, children[1]: a leaf needs a value",
    '{"node": "max", "children": [\n"x"]}': "tree, line 2, children[0]: there is no node 'x' in 'nodes'",
    '{"node": "max", "kids": [3]}': "'kids' is not a known word",
    '{"node": "max", "children": [null]}': "children[0]: 'null' is not a node",
    '{"node": "max", "children": [NaN]}': "children[0]: 'NaN' is not a node",
    '{"node": "max", "children": [1e9999999]}': "children[0]: '1e9999999' is not a node",
    '{"node": "chance", "children": [\n3, 4]}': "line 2, children[0]: an outcome of chance needs",
    '{"node": "max", "children": [3,\n {"node": "chance", "children": [\n{"odds": 0.5, "value": 3},\n'
    '{"odds": "1/3", "value": 4}]}]}': "tree, line 2, children[1]: the probabilities add up to 0.833333",
    '{"node": "max", "children": ["a"], "nodes": {\n"a": {"node": "min", "children": ["b"]},\n'
    '"b": {"node": "max", "children": [1,\n"a"]}}}': "line 4, nodes.b, children[1]: leads back to a node",
    '{"node": "max", "children": [1, "a"], "nodes": {\n"a": "b",\n"b": "a"}}': "leads back to itself",
    '{"node": "max", "children": [1, "a"], "nodes": {"a": "c"}}': "nodes.a: there is no node 'c'",
    '{"node": "max", "children": [1], "nodes": {"a": {"node": "min", "children": ["a"]}}}': "leads back",
    '{"node": "max", "children": [1], "nodes": {\n"a": 3}}': "line 2, nodes.a: no branch leads to 'a'",
    "[1]": "'[…]' is not a node",
    '{"node": "max", "range": 5, "children": [1]}': "tree, line 1: range needs two numbers",
    '{"node": "max",\n"range": null, "children": [1]}': "tree, line 2: range needs two numbers",
    '{"node": "max", "range": "01", "children": [1]}': "range needs two numbers",
    '{"node": "max", "range": [0, "1"], "children": [1]}': "range needs two numbers",
    '{"node": "max", "children": [{"node": "min", "range": [0, 1], "children": [1]}]}': "belongs to the root",
    '{"node": "max", "children": [{"odds": 0.5, "value": 1}]}': "only an outcome of chance has a prob",
    '{"node": "chance", "odds": 1, "children": [{"odds": 1, "value": 1}]}': "only an outcome of chance",
    '{"node": "max", "value": 3, "children": [1]}': "'value' means nothing in 'max'",
    '{"node": "max", "children": [{"value": 3, "evaluation": 4}]}': "'evaluation' means nothing in a leaf",
    '{"node": "max", "children": [{"value": 3, "children": []}]}': "'children' means nothing in a leaf",
    '{"node": "max", "children": [1],\n"children": [2]}': "tree, line 2: 'children' stands here twice",
    '{"node": "max", "noisy": 1, "children": [1]}': "'noisy' is true or false",
    '{"node": "max", "name": 1, "children": [1]}': "'name' is a text",
    '{"node": "max", "children": [{"value": true}]}': "'true' is not a number",
    '{"node": "seat ²", "children": [[1, 2, 3]]}': "'seat' needs a number",
    '{"node": "max", "children": [{"to": "a", "value": 1}]}': "'value' means nothing in a node that stands",
}


@pytest.mark.parametrize("text", WRONG_JSON)
def test_malformed_json_is_refused_with_line_and_reason(text):
    with pytest.raises(ParseError, match=re.escape(WRONG_JSON[text])):
        read_json(text)


def test_a_named_node_can_be_an_outcome_of_chance_and_a_name_can_stand_for_another():
    document = {
        "node": "chance",
        "children": [
            {"odds": "1/4", "to": "s", "name": "six"},
            {"odds": "3/4", "node": "max", "children": ["t", 1]},
        ],
        "nodes": {"t": "s", "s": {"node": "min", "children": [4, 8]}},
    }
    tree = read_json(json.dumps(document))
    assert len(tree.game.movers) == 6  # chance, s, max, and three leaves
    assert tree.names[:2] == ["six", "b"]
    assert tree.game.chances[:2].tolist() == [0.25, 0.75]
    assert Solver(tree.game, Settings(), compiled=False).solve(tree.root().array).value == 4


def test_what_is_printed_can_be_read():
    assert read("max\n  −1.5\n  −2").game.scores[1:, 0].tolist() == [-1.5, -2]


def test_files_are_read_as_text(tmp_path):
    file = tmp_path / "x.tree"
    file.write_text("max\n  1\n", encoding="utf-8-sig")
    assert load(str(file)).game.max_plies == 1
    file.with_suffix(".json").write_text('{"node": "max", "children": [1]}', encoding="utf-8-sig")
    assert load(str(file.with_suffix(".json"))).game.max_plies == 1
    for content in (b"\xff\xfe\x01", b"max\0"):
        file.write_bytes(content)
        with pytest.raises(InputError, match="is not text"):
            load(str(file))
    (tmp_path / "y.tree").mkdir()
    with pytest.raises(InputError, match=r"y\.tree cannot be read: it is a folder; give a tree"):
        load(str(tmp_path / "y.tree"))


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
            assert ("≈ " * spot.is_estimated + spot.value) in shown(svg)
        if spot.cut:
            assert f"✂ {spot.cut}" in shown(svg)
    struck = svg.findall(".//{http://www.w3.org/2000/svg}path[@stroke='#d55e00']")
    assert len(struck) == sum(bool(spot.struck) for spot in spots(tree.picture()))


def spots(spot):
    yield from spot.below()


def boxes(svg):
    """Where texts stand in a picture: left, right, baseline."""
    for text in svg.iter("{http://www.w3.org/2000/svg}text"):
        size, x, anchor = float(text.get("font-size")), float(text.get("x")), text.get("text-anchor")
        width = drawing._width("".join(text.itertext()), size)
        yield (x, x + width) if anchor else (x - width / 2, x + width / 2), float(text.get("y"))


def test_texts_of_a_picture_do_not_overlap(tmp_path):
    file = tmp_path / "long.tree"
    file.write_text(
        "max\n  a very long name: min\n    3.14159\n    12.75\n  another one of many words: chance\n"
        "    1/6 six of them: -20.125\n    5/6 none of them: min\n      take the offer: 1\n      leave it: 9"
    )
    for name in (str(file), "three-seats", "coin-in-bounds", "equal-values"):
        tree = drawn(name, "minimax" if name == "three-seats" else "star1")
        places = list(boxes(ElementTree.fromstring(tree.svg())))
        for i, ((left, right), line) in enumerate(places):
            for (other_left, other_right), other_line in places[:i]:
                if abs(line - other_line) < 6:
                    assert right <= other_left or other_right <= left


def test_what_was_not_looked_at_is_struck_out_with_a_reason():
    rng = random.Random(1)
    trees = [build(random_node(rng, 4, ("max", "min", "chance"))) for _ in range(30)]
    for tree in [*(load(name) for name in examples() if name != "three-seats"), *trees]:
        whole = Subject("tree", tree.game, tree.root().array, tree.text_at, True, True, True, True)
        for settings in (*ALGORITHMS.values(), Settings("star2", table=True, keep=2)):
            picture = drawing.draw(whole, settings).picture()
            for spot in spots(picture):
                for child in spot.children:
                    if not child.is_seen:
                        assert child.struck or not spot.is_seen
                    if child.struck and child.is_seen:
                        assert not any(below.is_seen for below in child.children)


def test_star2_shows_bounds_of_probes_and_why_replies_were_not_needed():
    text = drawn("coin", "star2").text()
    assert "1/2 tails: min = −1  (−∞ … −1)  ✂ end of the range" in text
    assert text.count("╳") == 1
    assert drawn("coin", "star2").found.cuts == {"range": 1}
    probed = read(
        "range 0 9\nmax\n  5\n  chance\n    1/2 min\n      4\n      2\n    1/2 min\n      3\n      7"
    )
    tree = Subject("x", probed.game, probed.root().array, probed.text_at, True, False, True, True)
    lines = drawing.draw(tree, algorithm("star2")).text().splitlines()
    assert lines[2] == "└─ b: chance ≤ 3.5  (5 … ∞)  ✂ mean ≤ α = 5"
    assert [line.strip(" │├└─") for line in lines[3:]] == [
        *("1/2 a: min ≤ 4  (1 … 4)", "a: 4", "╳ b: 2"),
        *("1/2 b: min ≤ 3  (6 … 3)  ✂ 3 ≤ α = 6", "a: 3", "╳ b: 7"),
    ]


def test_positions_from_the_table_are_marked():
    document = {
        "node": "max",
        "children": [{"node": "min", "children": ["s"]}, {"node": "min", "children": ["s"]}],
        "nodes": {"s": {"node": "max", "children": [4, 6]}},
    }
    tree = read_json(json.dumps(document))
    whole = Subject("shared", tree.game, tree.root().array, tree.text_at, False, False, True, True)
    picture = drawing.draw(whole, Settings(table=True))
    assert "a: max = 6  ✂ in the table" in picture.text()
    assert picture.text().count("╳") == 2
    assert "b › a: worth 6, as the table knows" in picture.page()


def test_left_out_branches_say_why_in_text_picture_and_caption(tmp_path):
    file = tmp_path / "twins.tree"
    file.write_text("max\n  a: min\n    1\n    2\n  b: min same\n    1\n    2\n")
    tree = drawn(str(file), "alphabeta-symmetry")
    assert "╳ b: min  [symmetry]" in tree.text()
    assert "symmetry" in shown(ElementTree.fromstring(tree.svg()))
    assert "root: b is left out (symmetry: it is the same" in tree.page()


def test_fail_hard_shows_the_end_of_the_window():
    assert "max ≥ 9  (9 … 6)" in drawn("three-plies").text()
    assert "max ≥ 6  (6 … 6)" in drawn("three-plies", "alphabeta-hard").text()


def test_captions_name_the_way_and_bounds_as_bounds():
    page = drawn("three-plies").page()
    assert "a › b: max, at least 9<" in page
    assert "b: min, at most 5<" in page
    assert "b › a: max, nothing within the window so far" in page
    assert "a › b: the rest is left out, as 9 ≥ β = 6" in page


def test_the_trace_has_names_odds_and_struck_branches():
    steps = drawn("coin-in-bounds", "star1").trace()
    heads = next(step for step in steps if step["path"] == ["careful", "heads"])
    assert (heads["event"], heads["branch"], heads["odds"], heads["values"]) == ("enter", "heads", 0.5, None)
    cut = [step for step in steps if step["event"] == "cut"]
    assert [step["struck"] for step in cut[:2]] == [["b"], ["1/2 tails"]]
    assert [step["reason"] for step in cut[:2]] == ["alpha", "low"]


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
    assert "<h1>two-plies: alpha-beta; " in page
    assert f"{tree.steps} of {tree.steps}: root: max, worth 4" in page


def test_every_algorithm_can_be_drawn():
    for name in ALGORITHMS:
        tree = drawn("coin", name)
        assert tree.picture().value == "2.5"
        assert sum(spot.is_seen for spot in spots(tree.picture())) == tree.found.nodes


def test_a_game_is_drawn_as_far_as_it_was_searched():
    text = drawing.draw(subject("tic-tac-toe", "0: a1 b2 c3 a3 c1"), algorithm("alphabeta")).text()
    assert text.startswith("min = ")
    with pytest.raises(Unsupported, match="too many for a picture"):
        drawing.draw(subject("tic-tac-toe"), algorithm("alphabeta"), 4).text()


def test_an_evaluation_that_decides_is_drawn_as_estimated():
    tree = drawing.draw(subject("horizon"), algorithm("minimax", decided=8))
    assert [spot.value for spot in spots(tree.picture()) if spot.is_estimated] == ["−8"]


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


def test_algorithms_can_be_named_as_they_are_printed():
    for name, tree in (("max^n", "three-seats"), ("expectiminimax", "coin")):
        code, out, _ = run_kibitz(["solve", tree, "--algorithm", name, "--json"])
        assert code == 0
        assert [row["algorithm"] for row in json.loads(out)["algorithms"]] == [name]


def test_a_tree_of_more_than_two_sides_is_drawn_without_being_told_how():
    code, out, _ = run_kibitz(["tree", "three-seats"])
    assert code == 0
    assert out.startswith("seat 0 = 2, 4, 1")


def test_a_limit_of_time_searches_deeper_and_deeper():
    code, out, _ = run_kibitz(["solve", "three-plies", "--time", "9s", "--json"])
    assert code == 0
    for row in json.loads(out)["algorithms"]:
        assert (row["depth"], row["is_exact"], row["values"]) == (3, True, [6])
    code, out, _ = run_kibitz(["solve", "horizon", "--decided", "8", "--algorithm", "minimax", "--json"])
    (row,) = json.loads(out)["algorithms"]
    assert (row["leaves"], row["is_exact"]) == (5, False)


ENDING = (
    "7: 2D 1B 6D 6S 7B 11C 12S 13B 4B 11D 13S 1S 12C 4S 3B 7D 11B 2B "
    "7S 1D 11S 4D 6C 5S 3S 2C 7C 6B 5B 13C 3C 3D 5C 12B 4C 2S"
)
"""Two cards each are left, and the stock is used up."""


def test_open_cards_are_searched_only_if_one_says_so():
    code, _, errors = run_kibitz(["tree", "briskola", "7", "--depth", "1"])
    assert code == 3
    assert "hides cards from seat 0" in errors
    code, out, _ = run_kibitz(["tree", "briskola", "7", "--depth", "1", "--open"])
    assert code == 0
    assert "12D: min estimated = 60" in out
    code, out, _ = run_kibitz(["tree", "briskola", ENDING])
    assert (code, out.splitlines()[0]) == (0, "max = 72  (72 … ∞)")
    code, out, _ = run_kibitz(["tree", "bridge:double_dummy=true", "7", "--depth", "1"])
    assert code == 0
    assert out.startswith("min = 6.5")


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
        (["solve", "bad.tree"], 3, "bad.tree, line 2: 'x' is not a node"),
        (["solve", "nothing.json"], 3, "there is no file"),
        (["solve", "two-plies", "7"], 3, "a tree is searched from its root"),
        (["solve", "two-plies", "--algorithm", "alphabet"], 2, "did you mean 'alphabeta'"),
        (["solve", "briskola"], 3, "Briskola hides cards from seat 0"),
        (["solve", "mine.txt"], 3, "mine.txt is not a tree: its name must end in .tree or .json"),
        (["solve", "dir.tree"], 3, "dir.tree cannot be read: it is a folder"),
        (["tree", "two-plie"], 2, "did you mean 'two-plies'"),
        (["solve", "otello"], 2, "unknown tree or game: 'otello'; did you mean 'othello'"),
        (["solve", "othello:sheets=3"], 2, "unknown option of game othello: 'sheets'"),
        (["solve", "two-plies", "--time", "soon"], 2, "--time soon cannot be used"),
        (["solve", "three-seats", "--algorithm", "star1"], 3, "more than two sides"),
        (["tree", "two-plies", "--out", "x.png"], 2, "a name that ends in .svg is right"),
        (["tree", "two-plies", "--steps", "x.svg"], 2, "a name that ends in .html is right"),
        (["solve", "bridge", "7", "--depth", "2"], 3, "with --open it searches the deal"),
        (["solve", "bridge"], 2, "say which board"),
        (["tree", "bad.tree"], 3, "bad.tree, line 2"),
        (["tree", "two-plies", "--out", "no/such/folder.svg"], 3, "there is no folder"),
    ],
)
def test_what_cannot_be_searched_is_said(words, code, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.tree").write_text("max\n  x")
    (tmp_path / "mine.txt").write_text("max\n  1")
    (tmp_path / "dir.tree").mkdir()
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


def test_a_name_that_xml_cannot_hold_is_written_out(tmp_path):
    names = {"name": "a\x1b[2J\ufffe\0", "value": 2}
    file = tmp_path / "x.json"
    file.write_text(json.dumps({"node": "max", "children": [1, names]}))
    code, _, errors = run_kibitz(["tree", str(file), "--out", str(tmp_path / "x.svg")])
    assert code == 0, errors
    shown = "".join(ElementTree.parse(tmp_path / "x.svg").getroot().itertext())
    assert r"a\x1b[2J\ufffe\x00" in shown


def test_the_horizon_can_be_seen():
    code, out, _ = run_kibitz(["tree", "horizon", "--depth", "1", "--algorithm", "minimax"])
    assert out.startswith("max = 1")
    code, out, _ = run_kibitz(["tree", "horizon", "--depth", "1", "--algorithm", "minimax", "--quiet", "3"])
    assert code == 0
    assert out.startswith("max = 0")


def test_kinds_of_nodes_in_capitals():
    assert (
        read("MAX\n  3\n  Min\n    1").game.widths.tolist()
        == read("max\n  3\n  min\n    1").game.widths.tolist()
    )
