"""Decisions judged by a solver: what is kept of them, and what experiments make of it."""

import math

import numpy as np
import pytest

from kibitz import experiments, games, records
from kibitz.agents import make_agent
from kibitz.arena.executors import InProcess
from kibitz.arena.judge import FIGURES, judge
from kibitz.arena.play import Batch, Match
from kibitz.arena.statistics import holm, mean_differs
from kibitz.arena.store import Store
from kibitz.arena.tally import JUDGED, Judgements
from kibitz.errors import BadOption, ParseError, UnknownName, Unsupported
from kibitz.experiments.evaluation import evaluate
from kibitz.position import deal

GAME = "bridge:double_dummy=true"


def judged(*agents, game=GAME, seed=1):
    return Match(game, agents, seed, judged=True)


def test_what_is_kept_of_a_decision():
    state = deal(games.load(GAME), 3)
    (exact,) = state.game.exact_values([state.record])
    agent = make_agent("mckay:500", state.game)
    advice = agent.advise(state.view(), 7)
    kept = dict(zip(FIGURES, judge(agent, state, exact, 7), strict=True))
    assert kept["exact"] == max(exact)
    assert kept["loss"] == max(exact) - exact[state.legal_moves().index(advice.best)]
    assert kept["random_loss"] == pytest.approx(max(exact) - np.mean(exact))
    assert kept["forecast"] == advice.value
    assert kept["estimate"] == max(row.value for row in advice.rows)


def test_a_batch_is_judged_deal_by_deal_and_counts_what_it_cost():
    match = judged("mckay:300")
    played = Batch(match, 0, 3).play()
    assert played.scores.shape == (3, 1, len(FIGURES))
    assert played.thought["decisions"] == [3]
    assert played.thought["iterations"] == [900]
    later = Batch(match, 2, 1).play()
    assert (later.scores[0] == played.scores[2]).all()
    assert np.all(played.scores[:, 0, 0] >= 0)
    assert np.all(played.scores[:, 0, 0] == np.round(played.scores[:, 0, 0]))


def test_all_agents_are_judged_on_the_same_deals():
    first, second = (Batch(judged(spec), 0, 4).play().scores[:, 0] for spec in ("mckay:50", "uct:50"))
    assert (first[:, 1:3] == second[:, 1:3]).all()
    assert (first[:, 3] != second[:, 3]).any()


def test_an_agent_that_looks_at_the_solver_loses_nothing():
    figures = Judgements.of(judged("pimc:1"), Batch(judged("pimc:1"), 0, 3).play().scores)
    assert figures.estimate("loss").mean == 0
    assert figures.estimate("best").mean == 1
    assert figures.estimate("miss").mean == figures.estimate("estimate_miss").mean == 0


def test_measures_follow_from_the_figures():
    figures = Judgements(np.array([[0, 1, 9, 8.5, 9.5], [2, 1, 4, 5.0, 4.0], [1, 0.5, 6, 6.0, 7.0]]), (0, 13))
    expected = {
        "loss": 1,
        "random_loss": 2.5 / 3,
        "best": 1 / 3,
        "miss": 1.5 / 3,
        "bias": 0.5 / 3,
        "estimate_miss": 1.5 / 3,
        "estimate_bias": 1.5 / 3,
    }
    assert set(expected) == set(JUDGED)
    for measure, mean in expected.items():
        found = figures.estimate(measure)
        assert found.mean == pytest.approx(mean)
        assert found.low < mean < found.high
        assert figures.estimate(measure, interval="bootstrap").mean == pytest.approx(mean)


def test_an_agent_without_values_has_no_forecast():
    with Store() as store:
        match = judged("random")
        batch = Batch(match, 0, 2)
        number = store.number_of(match)
        store.add(batch, number, batch.play())
        kept = store.scores(number, 2)[:, 0]
        assert np.isnan(kept[:, 3:]).all()
        assert np.isfinite(kept[:, :3]).all()
        assert math.isnan(Judgements.of(match, store.scores(number, 2)).estimate("miss").mean)


def test_a_store_tells_judged_and_played_matches_apart(tmp_path):
    path = tmp_path / "store.db"
    played, decided = Match(GAME, ("mckay:20",), 1), judged("mckay:20")
    with Store(path) as store:
        numbers = [store.number_of(match) for match in (played, decided)]
        assert len(set(numbers)) == 2
        batch = Batch(decided, 0, 2)
        result = batch.play()
        store.add(batch, numbers[1], result)
    with Store(path) as store:
        assert {match for _, match, _, _ in store.matches()} == {played, decided}
        assert (store.scores(numbers[1], 2) == result.scores).all()
        with pytest.raises(Unsupported, match="there is no game to replay"):
            records.replay(store, numbers[1], 0, 0)


@pytest.mark.parametrize(
    ("match", "kind", "message"),
    [
        (judged("random", "random"), BadOption, "one agent at a time"),
        (judged("random", game="briskola"), Unsupported, "no solver to judge by"),
    ],
)
def test_what_cannot_be_judged(match, kind, message):
    with pytest.raises(kind, match=message):
        match.check()


# --- experiments -----------------------------------------------------------------------------------

TEXT = """
name = "leads"
game = "bridge:double_dummy=true"
games = 6

[match.grid]
agents = ["mckay:60,c={c},p={p}"]
judged = true
grid.c = [1, 16]
grid.p = [1, 5]

[match.base]
agents = ["mckay:60,c=16,p=1"]
judged = true

[[row]]
match = "grid"
measure = "loss"
published = [[0.3, 0.3], [0.2, 9.0]]
published_games = 100
digits = 3

[[row]]
name = "mean"
cell = "all cells"
match = "grid"
measure = "loss"
pooled = true
digits = 3

[[row]]
table = "differences"
match = "grid"
less = "base"
measure = "miss"
test = "paired"
digits = 3

[[row]]
table = "differences"
name = "pooled"
cell = "all cells less one"
match = "grid"
less = "base"
measure = "miss"
pooled = true
test = "paired"

[[figure]]
kind = "heat"
match = "grid"
measure = "loss"
x = "p"
y = "c"
"""


def run(text=TEXT):
    experiment = experiments.read(text, "leads.toml")
    with Store() as store:
        result = experiments.run(experiment, store, InProcess())
        again = evaluate(experiment, result.run, store)
        assert [row.to_dict() for row in again.rows] == [row.to_dict() for row in result.rows]
        cells = {m.agents[0]: store.scores(number, 6)[:, 0] for number, m, _, _ in store.matches()}
    return result, cells


def test_an_experiment_of_judged_decisions():
    result, cells = run()
    assert len(cells) == 4  # a cell of the grid and the base are one match
    order = [f"mckay:60,c={c},p={p}" for c in (1, 16) for p in (1, 5)]
    losses = np.stack([cells[name][:, 0] for name in order])
    misses = np.abs(np.stack([cells[name][:, 3] - cells[name][:, 2] for name in order]))
    grid, mean, less, pooled = result.rows[:4], result.rows[4], result.rows[5:9], result.rows[9]
    assert [row.measured.mean for row in grid] == pytest.approx(losses.mean(axis=1))
    assert grid[3].verdict == "differs"
    assert mean.measured.mean == pytest.approx(losses.mean())
    assert mean.measured.stderr == pytest.approx(losses.mean(axis=0).std(ddof=1) / math.sqrt(6))
    differences = misses - misses[2]
    assert [row.measured.mean for row in less] == pytest.approx(differences.mean(axis=1))
    tested = [0, 1, 3]
    expected = holm([mean_differs(each) for each in (*differences[tested], differences.mean(axis=0))])
    found = [row.p_value for row in (*(less[i] for i in tested), pooled)]
    assert found == pytest.approx(expected)  # all lines of the table are one family
    assert less[2].p_value is None
    assert less[2].verdict == "too few games to tell"  # the base less itself: all deals agree
    assert len(result.figures) == 1
    assert result.games == 24 + 6


BASE = """[match.base]
agents = ["mckay:60,c=16,p=1"]
judged = true
"""


@pytest.mark.parametrize(
    ("old", "new", "kind", "message"),
    [
        ('measure = "loss"\npublished', 'measure = "points"\npublished', UnknownName, "measure"),
        ("judged = true\ngrid.c", "grid.c", UnknownName, "measure"),
        ('cell = "all cells"\n', 'cell = "c = {c}"\n', ParseError, "pooled makes one line"),
        (BASE, '[match.base]\nagents = ["random"]\n', ParseError, "not played on the deals"),
        (BASE, BASE.replace('p=1"', 'p=1", "random"'), BadOption, "one agent"),
        (BASE, BASE + 'until = "decided"\n', ParseError, "fixed number"),
    ],
)
def test_what_is_wrong_with_judged_experiments(old, new, kind, message):
    assert old in TEXT
    with pytest.raises(kind, match=message):
        experiments.read(TEXT.replace(old, new), "leads.toml")


def test_the_published_experiment_is_complete():
    """Eleven constants by fifteen powers, as printed; the mean of the print is what its note says."""
    experiment = experiments.published("mckay")
    assert len(experiment.matches["grid"].cells) == 165
    table = next(row for row in experiment.rows if row.match == "grid" and isinstance(row.published, list))
    figures = [x for line in table.published for x in line]
    assert len(figures) == 165
    assert min(figures) == 0.175
    assert np.mean(figures) == pytest.approx(0.2512, abs=1e-4)
    assert experiment.matches["grid"].games >= 1000
    for p in (1, 2, 5, 15):
        grid = experiment.matches[f"p{p}"]
        assert grid.games >= 2400
        assert grid.grid["c"] == experiment.matches["grid"].grid["c"]
