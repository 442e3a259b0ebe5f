"""Intervals: closed forms by hand, and how often they hold the truth."""

import math
import random

import pytest
from scipy.special import stdtrit

from kibitz.arena.statistics import mean_of_deals, share_of_deals, wilson


def test_mean_of_deals_by_hand():
    found = mean_of_deals([1.0, 2.0, 3.0, 4.0])
    error = math.sqrt((2.25 + 0.25 + 0.25 + 2.25) / 3 / 4)
    assert found.mean == 2.5
    assert found.stderr == pytest.approx(error)
    assert found.high - found.mean == pytest.approx(3.1824463 * error)  # Student's t, 3 degrees, 97.5 %
    assert found.mean - found.low == pytest.approx(found.high - found.mean)
    assert found.n == 4


def test_mean_of_deals_at_another_confidence():
    narrow, wide = (mean_of_deals([1, 2, 4, 8, 16], confidence) for confidence in (0.5, 0.99))
    assert narrow.high - narrow.mean == pytest.approx(0.7406971 * narrow.stderr)
    assert wide.high - wide.mean == pytest.approx(4.6040949 * wide.stderr)


def test_one_deal_says_nothing_about_its_error():
    found = mean_of_deals([3.0])
    assert found.mean == 3.0
    assert math.isnan(found.stderr)
    assert found.ci == (-math.inf, math.inf)
    assert math.isnan(mean_of_deals([]).mean)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_values(successes, n, low, high):
    found = wilson(successes, n)
    assert found.mean == successes / n
    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)


@pytest.mark.parametrize("n", [1, 2, 7, 20, 49, 1000])
def test_wilson_stays_within_zero_and_one_and_is_symmetric(n):
    for successes in {0, 1, n // 2, n - 1, n}:
        found, mirrored = wilson(successes, n), wilson(n - successes, n)
        assert 0 <= found.low <= found.mean <= found.high <= 1
        assert found.low == pytest.approx(1 - mirrored.high)


def test_no_games_say_nothing():
    assert wilson(0, 0).ci == (0.0, 1.0)
    assert share_of_deals([], []).ci == (0.0, 1.0)
    assert share_of_deals([0, 0], [0, 0]).n == 0


def test_share_of_deals_by_hand():
    wins, games = [2, 1, 0, 2], [2, 2, 2, 1]
    share = 5 / 7
    residuals = [w - share * g for w, g in zip(wins, games, strict=True)]
    error = math.sqrt(sum(r * r for r in residuals) * 4 / 3) / 7
    found = share_of_deals(wins, games)
    assert found.mean == pytest.approx(share)
    assert found.stderr == pytest.approx(error)
    assert found.n == 4
    assert found.low == pytest.approx(max(0, share - float(stdtrit(3, 0.975)) * error))
    assert found.high == 1.0  # cut off


def test_share_of_deals_with_as_many_games_each_is_the_mean_of_deals():
    wins = [2, 1, 0, 1, 1, 2, 0, 1, 2, 2]
    found, mean = share_of_deals(wins, [2] * 10), mean_of_deals([w / 2 for w in wins])
    assert found.mean == pytest.approx(mean.mean)
    assert found.stderr == pytest.approx(mean.stderr)
    assert found.ci == pytest.approx(mean.ci)


def test_share_of_single_games_is_wilson():
    assert share_of_deals([1, 0, 1, 1], [1, 1, 1, 1]) == wilson(3, 4)
    with_a_draw = share_of_deals([1, 0, 0, 1, 1], [1, 1, 0, 1, 1])
    assert with_a_draw == wilson(3, 4)


@pytest.mark.parametrize("won", [0, 1, 2])
def test_deals_that_all_agree_do_not_give_a_width_of_nothing(won):
    found = share_of_deals([won] * 30, [2] * 30)
    assert found.high - found.low > 0.05
    assert found.ci == pytest.approx(wilson(15 * won, 30).ci)


def test_pairs_on_one_deal_narrow_the_interval():
    """When the deal decides who wins, each side wins once: the share is sure."""
    one_each = share_of_deals([1] * 99 + [2], [2] * 100)
    by_luck = share_of_deals([0, 2] * 50, [2] * 100)
    assert one_each.high - one_each.low < 0.2 * (by_luck.high - by_luck.low)


def coverage(trials, draw, truth):
    """The share of intervals that hold the truth."""
    held = 0
    for trial in range(trials):
        found = draw(random.Random(trial))
        held += found.low <= truth <= found.high
    return held / trials


@pytest.mark.parametrize("trials", [1500, pytest.param(40_000, marks=pytest.mark.soak)])
def test_means_of_deals_hold_the_truth_in_95_of_100_cases(trials):
    def draw(rng):
        return mean_of_deals([rng.gauss(3, 2) for _ in range(12)])

    assert coverage(trials, draw, 3) == pytest.approx(0.95, abs=4 * math.sqrt(0.05 * 0.95 / trials))


@pytest.mark.parametrize("trials", [1500, pytest.param(40_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("truth", [0.5, 0.9])
def test_wilson_holds_the_truth_in_about_95_of_100_cases(trials, truth):
    def draw(rng):
        return wilson(sum(rng.random() < truth for _ in range(100)), 100)

    assert coverage(trials, draw, truth) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("trials", [1500, pytest.param(40_000, marks=pytest.mark.soak)])
def test_shares_of_deals_hold_the_truth_though_games_on_a_deal_depend_on_each_other(trials):
    """Two games a deal with the same luck, of which some are drawn and do not count."""

    def draw(rng):
        wins, games = [], []
        for _ in range(80):
            luck = rng.random()
            results = [rng.random() < 0.3 + 0.6 * luck for _ in range(2) if rng.random() < 0.9]
            wins.append(sum(results))
            games.append(len(results))
        return share_of_deals(wins, games)

    assert coverage(trials, draw, 0.6) == pytest.approx(0.95, abs=0.025)


def test_text():
    assert wilson(96, 100).text(100, 1) == "96.0 (90.2 … 98.4)"
