"""`reproduce`: rows with intervals beside the published figures, findings, one page with figures."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest

from kibitz import experiments, report
from kibitz.arena.statistics import Estimate
from kibitz.experiments import karamatic
from tests.test_cli import run


@pytest.fixture
def small(monkeypatch):
    """The same experiment with few iterations."""
    for name in ("AGENT", "AS_RUN", "MENDED"):
        monkeypatch.setattr(karamatic, name, getattr(karamatic, name).replace("5000", "40"))
    monkeypatch.setattr(karamatic, "BEST", "expert:40")
    monkeypatch.setattr(karamatic, "CHEATING", "cheating:40")


class Silence:
    def progress(self, label):
        return lambda done, total: None

    def close(self):
        pass


def test_karamatic_rows_and_page(small):
    (result,) = experiments.run_all(["karamatic"], 0.02, 1, 1, Silence())
    first, again = result.rows[:2]
    assert (first.published, again.published) == (0.96, 231 / 252)
    assert all(row.n == 40 for row in result.rows)
    assert all(row.measured.low <= row.measured.mean <= row.measured.high for row in result.rows)
    assert any("covers" in sentence for sentence in result.findings)
    assert any("ms a decision" in sentence for sentence in result.findings)
    page = report.page([result])
    assert page.count("<svg") == len(result.figures) == 2
    for row in result.rows:
        assert row.measured_text.replace("&", "&amp;") in page

    class Links(HTMLParser):
        def handle_starttag(self, tag, attributes):
            for key, value in attributes:
                assert key not in ("src", "srcset"), value  # nothing is loaded
                assert tag != "link", value

    Links().feed(page)


def test_verdicts():
    estimate = Estimate(0.92, 0.01, 0.9, 0.94, 100)
    assert experiments.verdict(0.93, estimate) == "agrees"
    assert experiments.verdict(0.96, estimate) == "lower than published"
    assert experiments.verdict(0.85, estimate) == "higher than published"


def test_the_same_page_twice(small):
    pages = []
    for _ in range(2):
        (result,) = experiments.run_all(["karamatic"], 0.02, 1, 1, Silence())
        pages.append([svg for _, svg in result.figures] + [row.to_dict() for row in result.rows])
    assert pages[0] == pages[1]
    assert json.dumps(pages[0][-1])
    assert np.isfinite(pages[0][-1]["measured"])


def test_interrupted_before_the_end_writes_nothing(tmp_path):
    done = run("reproduce", "--out", tmp_path / "a" / "page.html")
    assert done.returncode == 3
    assert list(tmp_path.iterdir()) == []
