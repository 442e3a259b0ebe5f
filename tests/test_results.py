"""What the documentation says was measured is what the data in the repository says."""

import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
RESULTS = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (DOCS / "results").glob("*.json")
}
MCKAY = RESULTS["mckay"]
# Whose figures stand in which data.
SHOWN = {
    "games/bridge.md": ("mckay", "bridge_contracts"),
    "games/diminishing_bridge.md": ("diminishing_bridge",),
    "games/snelleman.md": ("diminishing_bridge",),
    "games/mini_tichu.md": ("mini_tichu",),
    "games/tichu.md": ("tichu",),
}
NUMBER = r"[−+]?\d[\d,]*(?:\.\d+)?"


def number(text):
    return float(text.replace("−", "-").replace(",", ""))


def agree(shown, stored):
    """Whether a printed number is a stored one, to the digits that are printed."""
    digits = len(shown.partition(".")[2])
    return stored is not None and abs(number(shown) - stored) < 0.51 * 10**-digits


def rows(table):
    return [row for row in MCKAY["rows"] if row["table"].startswith(table)]


@pytest.mark.parametrize("name", RESULTS)
def test_data_name_the_command_and_the_versions_that_made_them(name):
    data = RESULTS[name]
    assert data["name"] == name
    assert data["title"]
    assert data["question"]
    assert re.match(r"(kibitz|python) ", data["command"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", data["versions"]["kibitz"])
    seen = set()
    for row in data["rows"]:
        assert row["measured"] is not None
        of_row = (row["table"], row["cell"], row.get("unit"))
        assert of_row not in seen, of_row
        seen.add(of_row)
        if row["ci"] is not None and None not in row["ci"]:
            low, high = row["ci"]
            assert low <= row["measured"] <= high, row


def test_every_file_of_data_is_linked_from_a_page():
    text = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    for name in RESULTS:
        assert f"results/{name}.json)" in text, name
    assert {name for names in SHOWN.values() for name in names} == set(RESULTS)


def test_mckays_experiment_was_run_on_enough_deals():
    grid = rows("Figure 3: tricks lost")
    assert len(grid) == 165
    assert {row["n"] for row in grid} == {1000}
    families = [row for row in rows("Does p > 1") if "all c" not in row["cell"]]
    assert len(families) == 2 * 3 * 11
    assert {row["n"] for row in families} == {2400}
    assert all(row["p_value"] is not None for row in families)
    (mean,) = [row for row in rows("Figure 3 as a whole") if row["published"] is not None]
    assert abs(mean["measured"] - 0.251) < 0.03


@pytest.mark.parametrize("page", SHOWN)
def test_figures_in_the_text_are_those_of_the_data(page):
    """Every 'mean (low … high)' of a page stands in its data, to the digits that are printed."""
    text = (DOCS / page).read_text(encoding="utf-8")
    told = re.findall(rf"({NUMBER})\s+\(({NUMBER})\s+…\s+({NUMBER})\)", text)
    assert len(told) > 5
    for numbers in told:
        assert any(
            row["ci"] is not None
            and all(agree(a, b) for a, b in zip(numbers, (row["measured"], *row["ci"]), strict=True))
            for name in SHOWN[page]
            for row in RESULTS[name]["rows"]
        ), numbers


@pytest.mark.parametrize("page", [page for page in SHOWN if page != "games/bridge.md"])
def test_tables_of_measurements_show_nothing_that_is_not_in_the_data(page):
    """Every decimal number in a table below "Measured strength", or in the tables of the thesis."""
    text = (DOCS / page).read_text(encoding="utf-8")
    section = re.split(r"^## (?:Measured strength|The published tables)$", text, flags=re.M)[1]
    section = re.split(r"^## ", section, flags=re.M)[0]
    stored = [
        value
        for name in SHOWN[page]
        for row in RESULTS[name]["rows"]
        for value in (row["measured"], row["published"], row.get("opponents"), *(row["ci"] or ()))
        if value is not None
    ]
    lines = [re.sub(r"`[^`]*`", "", line) for line in section.splitlines() if line.startswith("|")]
    shown = [n for line in lines for n in re.findall(r"(?<![\w.])\d[\d,]*\.\d+", line)]
    assert len(shown) > 8
    for each in shown:
        assert any(agree(each, value) for value in stored), each
