"""The time left: work is counted in seconds, not in games, and a bar says what is being compiled."""

import io
import re
import sys
from unittest import mock

import pytest

from kibitz import experiments, terminal
from kibitz.arena.executors import InProcess
from kibitz.arena.laboratory import Laboratory, Order, Workload
from kibitz.arena.play import Match
from kibitz.arena.store import Store
from kibitz.errors import ParseError
from tests.test_cli import call

CHEAP = Match("briskola", ("rule-based", "random"), 1)
DEAR = Match("briskola", ("ismcts:500", "random"), 1)

EXPERIMENT = """
name = "two"
game = "briskola"
[match.cheap]
agents = ["rule-based", "random"]
games = 400
[match.dear]
agents = ["ismcts:20", "random"]
games = 8
deal_seconds = 0.01
[[row]]
match = "dear"
"""


# --- how much is done ------------------------------------------------------------------------------


def test_dear_deals_count_more_than_cheap_ones():
    load = Workload([Order(CHEAP, 10_000, deal_seconds=0.0001), Order(DEAR, 100, deal_seconds=0.1)])
    assert load.seconds() == (0.0, pytest.approx(11.0))
    load.played(CHEAP, 10_000)
    assert load.seconds() == (pytest.approx(1.0), pytest.approx(11.0))
    load.played(DEAR, 50)
    assert load.seconds() == (pytest.approx(6.0), pytest.approx(11.0))


def test_what_was_measured_counts_more_than_what_was_expected():
    load = Workload([Order(CHEAP, 100, deal_seconds=1.0), Order(DEAR, 100, deal_seconds=1.0)])
    load.measured(CHEAP, 100, 400.0)
    done, total = load.seconds()
    assert done == 0
    # Deals of the one cost four seconds; the other is believed to be slower on this machine too.
    assert total == pytest.approx(800, rel=0.02)


def test_without_an_expectation_deals_cost_what_others_do():
    load = Workload([Order(CHEAP, 100), Order(DEAR, 100)])
    load.played(CHEAP, 50)
    assert load.seconds()[0] / load.seconds()[1] == pytest.approx(0.25)  # nothing is known: all are alike
    load.measured(CHEAP, 50, 100.0)
    assert load.seconds() == (pytest.approx(100.0), pytest.approx(400.0))


def test_what_is_done_never_becomes_less():
    load = Workload([Order(CHEAP, 100, deal_seconds=1.0), Order(DEAR, 100, deal_seconds=1.0)])
    load.played(CHEAP, 100)
    load.measured(CHEAP, 100, 100.0)
    load.played(DEAR, 1)
    load.measured(DEAR, 1, 1.0)
    before = load.seconds()
    load.measured(DEAR, 1, 500.0)  # it takes much longer than was thought
    after = load.seconds()
    assert after[1] > 2 * before[1]
    assert after[0] / after[1] >= before[0] / before[1]


def test_a_laboratory_tells_its_work():
    told = []
    with Store() as kept:
        orders = [Order(CHEAP, 200), Order(DEAR, 4, deal_seconds=0.01)]
        Laboratory(kept, InProcess()).run(orders[:1])
        Laboratory(kept, InProcess()).run(orders, work=lambda *seconds: told.append(seconds))
    shares = [done / total for done, total in told]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.5  # two hundred cheap deals are there already, and are little
    assert shares[-1] == pytest.approx(1)


def test_an_experiment_may_say_what_a_deal_costs():
    cheap, dear = experiments.planned(experiments.read(EXPERIMENT, "two.toml"))
    assert (cheap.deal_seconds, dear.deal_seconds) == (0.0, 0.01)
    for wrong in ("-1", "1e-300", "1e300"):
        with pytest.raises(ParseError, match="no time that a deal takes"):
            experiments.read(EXPERIMENT.replace("0.01", wrong), "two.toml")


def test_the_headlines_say_what_their_deals_cost():
    headlines = experiments.published(experiments.HEADLINES)
    orders = experiments.planned(headlines)
    assert all(order.deal_seconds for order in orders)
    seconds = sum(order.deals * order.deal_seconds for order in orders)
    assert seconds < 220  # of the 180 that `make run` may take on two cores, the rest is for compiling
    assert headlines.core_seconds == pytest.approx(seconds, rel=0.1)


# --- the time left ---------------------------------------------------------------------------------


class Time:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_the_time_left_is_what_the_rest_takes_at_the_speed_so_far():
    time = Time()
    clock = terminal.Clock(time)
    assert clock.left() == ""
    clock.reached(0.5)  # what an earlier run has done says nothing about the speed of this one
    assert clock.left() == ""
    time.now = 60
    clock.reached(0.6)
    assert clock.left() == "about 4 min left"
    clock.reached(1.0)
    assert clock.left() == ""


def test_a_forecast_tells_the_time_left_from_the_start():
    time = Time()
    clock = terminal.Clock(time)
    clock.reached(0.0, forecast=120)
    assert clock.left() == "about 2 min left"
    time.now = 20  # compiling: nothing is done yet, but that is no reason to expect an hour
    assert clock.left() == "about 4 min left"
    time.now = 400
    clock.reached(0.8, forecast=120)
    assert clock.left() == "about 90 s left"


class Screen(io.StringIO):
    def isatty(self):
        return True


def text_of(story):
    """What has been on its screen."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", story.console.file.getvalue())


@pytest.fixture
def story(monkeypatch):
    """Made on a screen of its own; pytest has put its own in its place since the last fixture."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")

    def make(tells_compiled):
        with mock.patch.object(sys, "stderr", Screen()):
            return terminal.Story(tells_compiled)

    return make


def test_compiling_stands_beside_the_bar(story):
    story = story(tells_compiled=False)
    show = story.progress("headlines", in_seconds=True, part=(0.0, 0.8))
    story.compiling("Briskola: search", 3, 1.0, done=False)
    show(50.0, 100.0)
    story.close()
    lines = [line for line in re.split(r"[\r\n]+", text_of(story)) if line.strip()]
    assert re.search(r"headlines ━+ +0 % .*compiling Briskola: search", lines[0])
    assert re.search(r"headlines .* 40 % +about \d+ .* left +compiling Briskola: search", lines[-1])
    assert "compiled" not in text_of(story)


def test_the_next_task_goes_on_with_the_same_bar(story):
    story = story(tells_compiled=False)
    story.progress("first", in_seconds=True, part=(0.0, 0.8))(10.0, 10.0)
    second = story.progress("second", part=(0.8, 1.0))
    story.compiling("more", 1, 0.1, done=False)
    story.compiling("more", 1, 0.2, done=True)
    second(1, 4)
    story.close()
    shown = re.findall(r"(first|second) \S* +(\d+) %", text_of(story))
    assert shown[0] == ("first", "80")
    assert shown[-1] == ("second", "85")
    assert all(int(share) >= 80 for _, share in shown)


def test_a_later_task_begins_where_its_part_does(story):
    """What came before may have had nothing to do."""
    story = story(tells_compiled=False)
    story.progress("first", in_seconds=True, part=(0.0, 0.8))
    story.progress("second", part=(0.8, 1.0))
    story.close()
    assert re.search(r"second \S* +80 %", text_of(story))


def test_what_was_compiled_is_told_unless_nobody_asks(story):
    story = story(tells_compiled=True)
    show = story.progress("games")
    show(1, 4)
    story.compiling("Briskola: search", 3, 1.0, done=True)
    show(2, 4)
    story.close()
    assert "compiled Briskola: search in 1.0 s" in text_of(story)
    assert "2 of 4" in text_of(story)


def test_elsewhere_a_line_is_printed_now_and_then(monkeypatch):
    time = Time()
    monkeypatch.setattr(terminal.time, "monotonic", time)
    with mock.patch.object(sys, "stderr", io.StringIO()) as err:
        story = terminal.Story(tells_compiled=False)
        show = story.progress("headlines", in_seconds=True)
        for second in range(200):
            time.now = second
            story.compiling("Briskola: search", 1, 1.0, done=second % 2 == 1)
            show(second / 2, 100.0)
    lines = err.getvalue().splitlines()
    assert 10 < len(lines) <= 20
    assert all(
        re.match(r"headlines: \d+ %, about \d+ \w+ left(, compiling Briskola: search)?$", x) for x in lines
    )


def test_headlines_tell_nothing_of_what_was_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr("kibitz.warming.warm", lambda *_: None)
    made = experiments.read(EXPERIMENT, "two.toml")
    monkeypatch.setattr(experiments, "published", lambda _: made)
    out = tmp_path / "page.html"
    done = call("reproduce", "--headlines", "--jobs", 1, "--out", out, data=tmp_path / "data")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
