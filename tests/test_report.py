"""Reports: a whole page that loads nothing, the same for the same store, whatever the names are."""

import json
import re
import sys
import xml.etree.ElementTree as ET
from html import escape
from html.parser import HTMLParser

import pytest

import kibitz
from kibitz import experiments, report
from kibitz.arena.executors import InProcess
from kibitz.arena.store import Store
from kibitz.errors import install_command
from kibitz.experiments import Result
from tests.test_cli import call, document, run
from tests.test_experiments import DEALS, TOP, A, B, figure, kept, row, scores

EVIL = """<script>alert(1)</script> & "double" 'single' | pipe </svg> <b>bold"""
SAFE = json.dumps(EVIL)  # as TOML wants it
VOID = {"meta", "br", "hr", "img", "link", "input"}
LOADS = {"src", "srcset", "href", "xlink:href", "data", "action", "poster", "background", "formaction"}
ABOUT = (
    'title = "A title"\nquestion = "A question?"\nsource = "A. Source, 1999"\n'
    'notes = ["A note."]\n' + TOP.replace('"x"', '"{}"')
)
FULL = (
    ABOUT + A + B + row("published = 60", 'name = "points"')
    + row('measure = "win_rate"', 'name = "won"', 'cell = "games that were won"') + row('less = "b"')
    + figure("intervals", 'rows = ["points"]', 'caption = "A caption."')
    + figure("distribution", 'matches = ["a", "b"]', 'caption = "Another caption."')
)  # fmt: skip
GIVEN = {"a": DEALS, "b": scores((50, 40), (60, 60), (80, 90), (50, 70))}


class Page(HTMLParser):
    """What a page holds: checked for balance, with its tables and texts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.loads, self.texts, self.tags = [], [], [], [], []
        self.tables, self.styles = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for key, value in attributes:
            if key == "id":
                self.ids.append(value)
            if key in LOADS:
                self.loads.append(value)
            assert not key.startswith("on"), key
            assert "url(http" not in (value or "")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.styles.append(data)
        elif data.strip():
            self.texts.append(data.strip())
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data


@pytest.fixture(scope="module")
def full() -> Result:
    return kept(FULL.replace("{}", "full"), GIVEN, command="kibitz experiment run full.toml --quick")


# --- HTML ------------------------------------------------------------------------------------------


def test_a_page_is_whole_and_loads_nothing(full):
    text = report.page([full])
    page = Page(text)
    assert text.startswith("<!doctype html>\n<html ")
    assert text.endswith("</html>\n")
    assert page.tags.count("section") == 1
    assert page.tags.count("figure") == page.tags.count("figcaption") == len(full.figures) == 2
    assert not {"script", "link", "img", "iframe", "object", "image"} & set(page.tags)
    assert all(target.startswith("#") for target in page.loads)
    assert {target[1:] for target in page.loads} <= set(page.ids)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    for address in re.findall(r"https?://[^\s\"'<>]+", text):  # names of dialects, which nobody loads
        assert re.match(r"https?://(www\.w3\.org|purl\.org|creativecommons\.org|matplotlib\.org)/", address)


def test_figures_are_well_formed(full):
    found = re.findall(r"<svg.*?</svg>", report.page([full]), re.S)
    assert len(found) == 2
    for text, (_, svg) in zip(found, full.figures, strict=True):
        inside, alone = ET.fromstring(text), ET.fromstring(svg)
        assert inside.tag == alone.tag == "{http://www.w3.org/2000/svg}svg"
        assert list(inside.itertext()) == list(alone.itertext())


def test_a_page_says_everything(full):
    text = report.page([full])
    page = Page(text)
    for said in ("A title", "A question?", "A. Source, 1999", "A note.", "A caption.", "Another caption."):
        assert said in page.texts
    assert "kibitz experiment run full.toml --quick" in page.texts
    assert any("with seed 1; kibitz 0." in t for t in page.texts)
    assert any(f"Written by Kibitz {kibitz.__version__}." in t for t in page.texts)
    assert any("the deal as the unit" in t for t in page.texts)
    results, cost = page.tables
    assert results[0] == ["result", "published", "measured (95 %)", "games", "verdict"]
    assert results[1:] == [
        [r.cell, r.published_text, r.measured_text, str(r.n), r.verdict_text] for r in full.rows
    ]
    assert results[2][0] == "games that were won"
    assert cost[0] == ["match", "games", "core seconds", "ms a decision"]
    assert cost[1:] == full.cost.rows
    assert "What it cost: 16 games, 6 core seconds" in page.texts


def test_without_matplotlib_the_page_says_how_to_get_figures(monkeypatch, full):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = kept(FULL.replace("{}", "full"), GIVEN)
    assert (result.figures, result.rows) == ([], full.rows)
    page = Page(report.page([result]))
    assert "figure" not in page.tags
    assert f"A figure needs the extra 'plot': {install_command('plot')}" in page.texts
    nothing = kept(TOP + A + row(), {"a": DEALS})
    assert not any("plot" in text for text in Page(report.page([nothing])).texts)


def test_columns_that_say_nothing_are_left_out():
    page = Page(report.page([kept(TOP + A + row(), {"a": DEALS})]))
    assert page.tables[0][0] == ["result", "measured (95 %)", "games"]
    page = Page(report.page([kept(TOP + A + row('measure = "lead"'), {"a": DEALS})]))
    assert page.tables[0][0] == ["result", "measured (95 %)", "games", "verdict"]


def test_hostile_names_are_only_text():
    text = (
        f"title = {SAFE}\nquestion = {SAFE}\nsource = {SAFE}\nnotes = [{SAFE}]\n" + TOP + A
        + row(f"cell = {SAFE}", f"cause = {SAFE}", "published = 1")
        + figure("intervals", f"caption = {SAFE}", f"label = {SAFE}")
        + figure("distribution", 'matches = ["a"]', f"label = {SAFE}")
    )  # fmt: skip
    result = kept(text, {"a": DEALS}, command=EVIL)
    written = report.page([result, kept(text.replace('"x"', '"y"'), {"a": DEALS})], EVIL)
    page = Page(written)
    assert not {"script", "b"} & set(page.tags)
    assert "<script" not in written
    assert page.texts.count(EVIL) >= 10
    assert page.tables[0][1][0] == EVIL
    assert f'aria-label="{escape(EVIL)}"' in written
    for _, svg in result.figures:
        drawn = " ".join("".join(ET.fromstring(svg).itertext()).split())
        assert "<script>alert(1)</script>" in drawn


def test_no_id_occurs_twice(full):
    other = kept(FULL.replace("{}", "other"), GIVEN)
    assert other.figures == full.figures  # the same pictures, on one page
    third = kept(FULL.replace("{}", "third"), {"a": DEALS[:2], "b": DEALS})
    page = Page(report.page([full, other, third]))
    assert len(page.ids) == len(set(page.ids))
    assert {"full", "other", "third"} <= set(page.ids)
    assert page.tags.count("svg") == 6
    assert {target[1:] for target in page.loads} <= set(page.ids)


def test_several_experiments_have_a_table_of_contents(full):
    unfinished = kept(FULL.replace("{}", "half"), {"a": DEALS})
    page = Page(report.page([full, unfinished]))
    assert page.loads[:2] == ["#full", "#half"]
    assert "(0 of 1 lines reproduced, 1 with too few games)" in page.texts
    assert "(8 of 16 games)" in page.texts
    assert "nav" not in Page(report.page([full])).tags


def test_an_unfinished_experiment_says_so():
    page = Page(report.page([kept(FULL.replace("{}", "half"), {"a": DEALS[:3]})]))
    assert any("unfinished: 6 of 16 games; the same command plays the rest" in t for t in page.texts)
    assert page.tables[0][3][1:] == ["–", "–", "6", "not measured"]
    nothing = Page(report.page([kept(FULL.replace("{}", "none"), {})]))
    assert any("unfinished: 0 of 16 games" in t for t in nothing.texts)
    assert [line[2:] for line in nothing.tables[0][1:]] == [["0", "not measured"]] * 3
    assert "figure" not in nothing.tags


def test_a_tournament_on_a_page():
    text = TOP + '[tournament.t]\nagents = ["random", "rule-based"]\n'
    page = Page(report.page([kept(text, {"t/0-1": DEALS})]))
    ratings, cross, cost = page.tables
    assert ratings[0][:2] == ["agent", "rating"]
    assert [len(line) for line in cross] == [3, 3, 3]
    assert cost[0][0] == "match"


def test_a_page_of_nothing():
    page = Page(report.page([]))
    assert "No experiment has been run yet." in page.texts
    assert page.tables == []


# --- Markdown --------------------------------------------------------------------------------------


def markdown_tables(text):
    """The cells of all tables; a pipe in a cell is escaped."""
    found, inside = [], False
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith(" |")
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if not inside:
                found.append([])
            found[-1].append(cells)
        inside = line.startswith("|")
    return found


def test_markdown_says_the_same(full):
    text = report.markdown([full], "The title")
    assert text.startswith("# The title\n\n## A title\n\nA question?\n\nA. Source, 1999\n\n|")
    (table,) = markdown_tables(text)
    assert table[1] == ["---", "---:", "---:", "---:", "---:"]
    assert table[2:] == [
        [r.cell, r.published_text, r.measured_text, str(r.n), r.verdict_text] for r in full.rows
    ]
    assert "\n- A note.\n" in text
    assert "16 games. Made by `kibitz experiment run full.toml --quick` with seed 1; kibitz 0.\n" in text


def test_markdown_tables_are_rectangular_whatever_is_in_them():
    cell = json.dumps("a | b\nc \t d")
    tournament = '[tournament.t]\nagents = ["random", "rule-based", "flat:5"]\n'
    result = kept(TOP + A + tournament + row(f"cell = {cell}", "published = 3"), {"a": DEALS, "t/0-1": DEALS})
    tables = markdown_tables(report.markdown([result]))
    assert len(tables) == 3
    for table in tables:
        assert {len(line) for line in table} == {len(table[0])}
    assert tables[0][2][0] == "a \\| b c d"
    assert "Unfinished: 16 of 32 games" in report.markdown([result])


# --- stores ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with a finished experiment, a tournament and an unfinished experiment."""

    def stop(done, total):
        raise KeyboardInterrupt

    path = tmp_path_factory.mktemp("report") / "results.db"
    with Store(path) as opened:
        for name in ("first", "second"):
            experiment = experiments.read(FULL.replace("{}", name), f"{name}.toml")
            experiments.run(experiment, opened, InProcess(), command=f"kibitz experiment run {name}.toml")
        experiments.run(
            experiments.tournament("briskola", ["random", "rule-based"], 8, 1),
            opened,
            InProcess(),
            command="t",
        )
        text = FULL.replace("{}", "third").replace("rule-based", "flat:7").replace("flat:5", "flat:6")
        with pytest.raises(KeyboardInterrupt):
            experiments.run(experiments.read(text, "third.toml"), opened, InProcess(), progress=stop)
    return path


def test_the_same_store_gives_the_same_page(store, tmp_path):
    before = store.read_bytes()
    pages = [tmp_path / f"{number}.html" for number in range(3)]
    assert run("report", store, "--out", pages[0], env={"PYTHONHASHSEED": "1"}).returncode == 0
    assert run("report", store, "--out", pages[1], env={"PYTHONHASHSEED": "2"}).returncode == 0
    assert call("report", store, "--out", pages[2]).returncode == 0
    assert len({page.read_bytes() for page in pages}) == 1
    assert store.read_bytes() == before
    Page(pages[0].read_text())
    again = [call("report", store, "--markdown").stdout for _ in range(2)]
    assert again[0] == again[1]


def test_the_page_of_a_store(store, tmp_path):
    target = tmp_path / "page.html"
    done = call("report", store, "--out", target)
    assert (done.returncode, done.stdout) == (0, f"4 experiments: {target}\n")
    page = Page(target.read_text())
    assert page.tags.count("section") == 4
    assert len(page.ids) == len(set(page.ids))
    assert any("unfinished: 2 of 16 games" in t for t in page.texts)
    assert "Published and measured" in page.texts  # somebody has published something
    assert page.loads[:2] == ["#first", "#second"]


def test_a_report_in_json(store):
    found = document("report", store)
    assert found["schema"] == "kibitz.report/1"
    first, second, tournament, third = found["experiments"]
    assert (tournament["state"], third["state"]) == ("done", "2 of 16 games")
    assert re.fullmatch(r"[01] of 1 lines reproduced(, 1 differs|, 1 with too few games)?", first["state"])
    assert [r["cell"] for r in first["rows"]][1] == "games that were won"
    keys = "experiment table cell published measured ci n verdict games_needed p_value p_value_is_corrected"
    assert {*keys.split(), "all_leaves"} == set(first["rows"][0])
    assert (first["question"], first["source"]) == ("A question?", "A. Source, 1999")
    assert first["command"] == "kibitz experiment run first.toml"
    assert first["rows"] == [{**r, "experiment": "first"} for r in second["rows"]]
    assert [t["columns"][0] for t in tournament["tables"]] == ["agent", "agent"]
    unknown = third["rows"][2]  # JSON has no infinity and no "not a number"
    assert (unknown["measured"], unknown["ci"], unknown["verdict"]) == (None, [None, None], "not measured")


def test_a_store_without_experiments(tmp_path):
    path, target = tmp_path / "empty.db", tmp_path / "page.html"
    Store(path).close()
    done = call("report", path, "--out", target)
    assert (done.returncode, done.stdout) == (0, f"0 experiments: {target}\n")
    assert "No experiment has been run yet." in Page(target.read_text()).texts
    assert document("report", path)["experiments"] == []
    assert call("report", path, "--markdown").stdout.startswith("# Measured\n")


def test_a_store_that_is_none(tmp_path):
    target = tmp_path / "page.html"
    missing = call("report", tmp_path / "none.db", "--out", target)
    assert missing.returncode == 3
    assert "there is no store" in missing.stderr
    text = tmp_path / "letter.txt"
    text.write_text("Dear Sir or Madam, " * 100)
    other = call("report", text, "--out", target)
    assert other.returncode == 3
    assert "is not a Kibitz store" in other.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    assert text.read_text() == "Dear Sir or Madam, " * 100
