"""What the documentation says was measured is what the data in the repository says."""

import json
import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
MCKAY = json.loads((DOCS / "results" / "mckay.json").read_text(encoding="utf-8"))


def rows(table):
    return [row for row in MCKAY["rows"] if row["table"].startswith(table)]


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


def test_figures_in_the_text_are_those_of_the_data():
    """Every 'mean (low … high)' of the section stands in the data, to the digits that are printed."""
    page = (DOCS / "games" / "bridge.md").read_text(encoding="utf-8")
    section = page.partition("### McKay's experiment")[2].partition("\n### ")[0].partition("\n## ")[0]
    told = re.findall(r"([−+]?\d+\.\d+) \(([−+]?\d+\.\d+) … ([−+]?\d+\.\d+)\)", section)
    assert len(told) > 20
    for numbers in told:
        digits = len(numbers[0].partition(".")[2])
        wanted = [float(number.replace("−", "-")) for number in numbers]
        assert any(
            None not in row["ci"]
            and all(
                abs(a - b) < 0.51 * 10**-digits
                for a, b in zip(wanted, (row["measured"], *row["ci"]), strict=True)
            )
            for row in MCKAY["rows"]
        ), numbers
