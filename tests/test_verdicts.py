"""What is said of a published figure: reproduced, different, or too few games to tell."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from kibitz.arena.statistics import Estimate, exact_binomial, mean_of_deals, wilson
from kibitz.experiments.evaluation import Row
from kibitz.experiments.verdicts import (
    ABOVE,
    DIFFERS,
    GOAL,
    MORE,
    PUBLISHED,
    REPRODUCED,
    STRONGER,
    TOO_FEW,
    Line,
    chance_of_difference,
    games_needed,
    verdicts,
)


def share(won, games, published, **more):
    return Line(published, wilson(won, games), games, is_share=True, **more)


def word(line, confidence=0.95):
    (verdict,) = verdicts([line], confidence)
    return verdict.word


def test_no_line_has_no_verdict():
    assert verdicts([]) == []


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [5, 30, 1000])
def test_one_line_differs_exactly_if_it_lies_outside_of_the_interval(n, confidence):
    values = stats.norm.rvs(10, 3, n, random_state=n)
    measured = mean_of_deals(values, confidence)
    for published in np.linspace(measured.low - 1, measured.high + 1, 401):
        line = Line(published, measured, n, is_share=False)
        assert (word(line, confidence) == DIFFERS) == (not measured.low <= published <= measured.high)
        expected = stats.ttest_1samp(values, published).pvalue
        assert chance_of_difference(line, confidence) == pytest.approx(expected, rel=1e-6)


def test_a_wide_interval_shows_nothing():
    """Three games of four, all games won: these were once called reproduced."""
    assert word(share(3, 4, 0.521)) == TOO_FEW
    assert word(share(4, 4, 0.86)) == TOO_FEW
    points = Line(311.16, Estimate(317.88, 360.0, -517.62, 1153.37, 8), 8, is_share=False)
    assert word(points) == TOO_FEW


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_figure_without_an_interval_shows_nothing(n):
    bare = Estimate(75.75, math.nan, -math.inf, math.inf, n)
    (verdict,) = verdicts([Line(74.86, bare, n, is_share=False)])
    assert (verdict.word, verdict.games_needed) == (TOO_FEW, 200)


def test_a_wide_interval_far_away_differs_all_the_same():
    assert word(share(3, 40, 0.9)) == DIFFERS


@pytest.mark.parametrize("published", [0.05, 0.5, 0.9])
def test_the_recommended_number_of_games_is_enough_and_not_many_more(published):
    few = share(round(40 * published), 40, published)
    needed = games_needed(few)
    assert needed > 40
    assert word(share(round(1.1 * needed * published), round(1.1 * needed), published)) == REPRODUCED
    assert word(share(round(needed * published / 4), needed // 4, published)) == TOO_FEW


def test_narrow_is_five_points_for_shares_and_less_for_rare_events():
    wide, narrow = Estimate(0.5, 0.03, 0.449, 0.551, 100), Estimate(0.5, 0.02, 0.451, 0.549, 100)
    assert [word(Line(0.5, each, 100, is_share=True)) for each in (wide, narrow)] == [TOO_FEW, REPRODUCED]
    rare = Estimate(0.05, 0.015, 0.02, 0.08, 100)  # half of the distance to 0 is 2.5 points
    assert word(Line(0.05, rare, 100, is_share=True)) == TOO_FEW
    assert word(Line(0.05, replace(rare, low=0.026, high=0.074), 100, is_share=True)) == REPRODUCED


def test_narrow_is_a_tenth_of_points_or_of_their_spread():
    values = stats.norm.rvs(0.0, 10.0, 500, random_state=3)
    measured = mean_of_deals(values)
    assert measured.high - measured.mean < 1.0
    assert word(Line(float(values.mean()), measured, 500, is_share=False)) == REPRODUCED
    few = mean_of_deals(values[:300])
    assert few.high - few.mean > 1.0
    assert word(Line(few.mean, few, 300, is_share=False)) == TOO_FEW
    assert (
        word(Line(100.0, replace(few, mean=100.0, low=91.0, high=109.0), 300, is_share=False)) == REPRODUCED
    )


def test_a_difference_that_one_line_in_many_has_by_chance_is_no_difference():
    """Of 157 lines that are all true about one and a half lie outside of a 99 % interval."""
    off = share(515, 1000, 0.5 - 0.019)
    assert word(off) == DIFFERS
    true = [share(500, 1000, 0.5) for _ in range(156)]
    assert [verdict.word for verdict in verdicts([off, *true])] == [REPRODUCED] * 157


def test_a_table_of_true_lines_rarely_has_one_that_differs():
    wrong, tables = 0, 400
    for table in range(tables):
        won = stats.binom.rvs(2000, 0.5, size=50, random_state=table)
        wrong += any(v.word == DIFFERS for v in verdicts([share(int(w), 2000, 0.5) for w in won]))
    assert wrong / tables < 0.09  # 5 % are allowed; without the correction it would be 92 %


def test_a_published_figure_has_an_error_of_its_own():
    measured = wilson(920, 1000)
    far = Line(0.96, measured, 1000, is_share=True)
    assert word(far) == DIFFERS
    assert word(replace(far, known=wilson(96, 100))) == REPRODUCED
    assert word(replace(far, known=wilson(9600, 10_000))) == DIFFERS


LEADS = [(0.04, STRONGER), (0.03, GOAL), (0.02, ABOVE), (0.01, PUBLISHED)]
"""Lines that ask different things, with p-values that each would decide alone."""


def test_all_that_is_asked_in_a_table_is_corrected_together():
    far = Estimate(1.0, 0.01, 0.98, 1.02, 500)  # narrow; the test decides
    lines = [Line(0.0, far, 500, is_share=False, asks=question, p_value=p) for p, question in LEADS]
    alone = [verdicts([line])[0] for line in lines]
    assert [each.word for each in alone] == ["stronger", "surpassed", "yes", DIFFERS]
    assert not any(each.is_corrected for each in alone)
    together = verdicts(lines)
    assert [each.p_value for each in together] == pytest.approx([0.06, 0.06, 0.06, 0.04])
    assert [each.word for each in together] == ["not decided", "within the interval", "not shown", DIFFERS]
    assert all(each.is_corrected for each in together)


@pytest.mark.parametrize("question", [PUBLISHED, GOAL, ABOVE, STRONGER, MORE])
def test_without_an_interval_nothing_is_shown_whatever_is_asked(question):
    """One deal has no interval, nor have deals that all agree; a test of their own does not help."""
    one = Estimate(10.0, math.nan, -math.inf, math.inf, 1)
    agreeing = mean_of_deals([10.0] * 30)
    unknown = Estimate(10.0, math.nan, -math.inf, math.inf, 30)
    for measured in (one, agreeing, unknown, wilson(1, 1)):
        for p_value in (None, 0.0):
            line = Line(0.0, measured, measured.n, False, asks=question, p_value=p_value)
            (verdict,) = verdicts([line])
            assert (verdict.word, verdict.p_value) == (TOO_FEW, None)
            says_how_many = question.needs_narrow or measured.n < 2
            assert (verdict.games_needed is not None) == says_how_many


def test_a_line_without_an_interval_is_no_test():
    bare = Line(0.0, Estimate(1.0, math.nan, -math.inf, math.inf, 1), 1, False, asks=STRONGER)
    sure = Line(0.0, mean_of_deals([1.0, 2, 3, 4]), 4, False, asks=STRONGER)
    alone, (_, beside) = verdicts([sure])[0], verdicts([bare, sure])
    assert alone == beside
    assert (alone.word, alone.is_corrected) == ("stronger", False)


def test_a_goal_is_reached_only_if_the_interval_is_narrow():
    def said(won, games, goal):
        return verdicts([Line(goal, wilson(won, games), games, is_share=True, asks=GOAL)])[0]

    assert said(3, 4, 0.6).word == TOO_FEW
    assert said(3, 4, 0.6).games_needed > 100
    assert said(600, 1000, 0.6).word == "within the interval"
    assert said(600, 1000, 0.7).word == "missed"
    assert said(600, 1000, 0.5).word == "surpassed"
    assert said(3, 40, 0.9).word == "missed"  # far away, so few games are enough


def test_newcombe():
    """Distances to the nearer ends add as squares."""
    measured = Estimate(0.92, 0.01, 0.9, 0.935, 100)
    for games in (20, 100, 400):
        for won in range(games + 1):
            own = stats.binomtest(won, games).proportion_ci(method="wilson")
            published = won / games
            low = 0.92 - published - math.hypot(0.92 - 0.9, own.high - published)
            high = 0.92 - published + math.hypot(0.935 - 0.92, published - own.low)
            line = Line(published, measured, 100, is_share=True, known=wilson(won, games))
            assert (word(line) == DIFFERS) == (not low <= 0 <= high)


def test_deals_that_all_agree_have_no_interval_that_tells():
    bare = Estimate(1.0, math.nan, -math.inf, math.inf, 500)
    assert word(Line(1.0, bare, 500, is_share=True)) == TOO_FEW
    assert word(Line(1.0, exact_binomial(1000, 1000), 1000, is_share=True)) == REPRODUCED


def test_a_published_figure_outside_of_the_interval_says_from_how_many_games_it_comes():
    """It has an error of its own, without which the verdict would look wrong."""
    about = dict(experiment="x", cell="c", n=450, verdict=REPRODUCED, digits=3)
    outside = Row(
        published=0.175, measured=Estimate(0.247, 0.03, 0.182, 0.311, 450), published_games=100, **about
    )
    inside = Row(
        published=0.2, measured=Estimate(0.247, 0.03, 0.182, 0.311, 450), published_games=100, **about
    )
    assert outside.verdict_text == "reproduced (published from 100 games)"
    assert outside.beside_text == "0.247 (published 0.175 from 100 games: reproduced)"
    assert inside.verdict_text == "reproduced"
    assert inside.beside_text == "0.247 (published 0.200: reproduced)"
