"""Statistics: known values, what must always be so, and by simulation how often each method errs."""

import itertools
import math
import tracemalloc
from functools import cache

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from kibitz.arena.statistics import (
    McNemar,
    _robbins,
    at_any_time,
    bootstrap_of_deals,
    bradley_terry,
    difference_of_shares,
    exact_binomial,
    holm,
    looks,
    mcnemar,
    mean_above,
    mean_of_deals,
    paired_difference,
    share_above,
    share_of_deals,
    share_of_gap,
    two_shares,
    wilson,
)

INFINITE = (-math.inf, math.inf)


def chance(seed):
    return np.random.default_rng(seed)  # noqa: TID251 – simulation needs millions of numbers at once


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
    assert mean_of_deals([]).text() == wilson(0, 0).text(100, 1) == "–"


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


def test_text():
    assert wilson(96, 100).text(100, 1) == "96.0 (90.2 … 98.4)"


SKEWED = chance(1).standard_exponential(40)
DISCRETE = np.repeat([-1.0, 0.0, 1.0, 6.0], [20, 100, 60, 20])


@pytest.mark.parametrize("values", [SKEWED, DISCRETE], ids=["all differ", "few distinct"])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_bootstrap_of_deals_is_that_of_scipy(values, confidence):
    """Two times 20,000 resamples: their ends differ by about 0.04 standard errors."""
    found = bootstrap_of_deals(values, confidence, resamples=20_000)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, confidence_level=confidence, batch=1000, rng=chance(2)
    ).confidence_interval
    assert found.mean == pytest.approx(values.mean())
    assert found.stderr == pytest.approx(mean_of_deals(values).stderr)
    assert found.n == len(values)
    assert found.ci == pytest.approx((theirs.low, theirs.high), abs=0.15 * found.stderr)


def test_drawing_counts_and_drawing_deals_are_the_same_bootstrap():
    counts = bootstrap_of_deals(DISCRETE, resamples=20_000)
    deals = bootstrap_of_deals(DISCRETE + 1e-12 * np.arange(len(DISCRETE)), resamples=20_000)
    assert deals.ci == pytest.approx(counts.ci, abs=0.15 * counts.stderr)
    assert deals.ci != counts.ci


def test_bootstrap_of_deals_depends_on_the_seed_alone():
    for values in (SKEWED, DISCRETE):
        assert bootstrap_of_deals(values, seed=3) == bootstrap_of_deals(values, seed=3)
        assert bootstrap_of_deals(values, seed=3) != bootstrap_of_deals(values, seed=4)


def test_nothing_can_be_resampled_from_deals_that_agree():
    assert bootstrap_of_deals([3.0]).ci == INFINITE
    assert math.isnan(bootstrap_of_deals([]).mean)
    assert bootstrap_of_deals([2, 2, 2]).ci == (2, 2) == mean_of_deals([2, 2, 2]).ci


def test_the_bootstrap_of_millions_of_deals_needs_little_memory():
    points = chance(5).integers(-120, 121, 5_000_000)
    tracemalloc.start()
    found = bootstrap_of_deals(points)
    bootstrap_of_deals(chance(6).random(1_000_000), resamples=3)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 500e6
    assert found.ci == pytest.approx(mean_of_deals(points).ci, abs=0.25 * found.stderr)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (81, 263, 0.2527, 0.3676),  # Newcombe 1998, table I, method 5
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0.0, 0.1684),
        (1, 29, 0.0009, 0.1776),
    ],
)
def test_exact_binomial_gives_the_published_values(successes, n, low, high):
    found = exact_binomial(successes, n)
    assert found.ci == pytest.approx((low, high), abs=5e-5)
    assert (found.mean, found.n) == (successes / n, n)


@given(st.data(), st.integers(1, 5000), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_exact_binomial_is_that_of_scipy(data, n, confidence):
    successes = data.draw(st.integers(0, n))
    theirs = scipy.stats.binomtest(successes, n).proportion_ci(confidence, method="exact")
    assert exact_binomial(successes, n, confidence).ci == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_exact_binomial_without_games():
    assert exact_binomial(0, 0).ci == (0, 1)
    assert math.isnan(exact_binomial(0, 0).mean)


def test_paired_difference_is_that_of_scipy():
    first, second = chance(7).normal(size=(2, 30)) + chance(8).normal(size=30)
    theirs = scipy.stats.ttest_rel(first, second).confidence_interval(0.9)
    found = paired_difference(first, second, 0.9)
    assert found.ci == pytest.approx((theirs.low, theirs.high))
    assert found.ci == pytest.approx(
        tuple(-end for end in reversed(paired_difference(second, first, 0.9).ci))
    )


def test_results_on_different_deals_cannot_be_paired():
    for refused in (paired_difference, mcnemar):
        with pytest.raises(ValueError, match="3 and 4 deals cannot be paired"):
            refused([1, 2, 3], [1, 2, 3, 4])
    with pytest.raises(ValueError, match="2 and 2 and 1 deals"):
        share_of_gap([1, 2], [1, 2], [1])


def discordant(only_first, only_second, both=5, neither=4):
    first = [True] * only_first + [False] * only_second + [True] * both + [False] * neither
    second = [False] * only_first + [True] * only_second + [True] * both + [False] * neither
    return np.array(first), np.array(second)


def test_mcnemar_gives_the_published_value():
    """Fagerland, Lydersen and Laake 2013: airways before and after a transplant."""
    assert mcnemar(*discordant(1, 7, 1, 12)) == McNemar(1, 7, pytest.approx(0.0703, abs=5e-5))


@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_a_coin_thrown_for_each_discordant_pair(only_first, only_second):
    found = mcnemar(*discordant(only_first, only_second))
    assert (found.only_first, found.only_second) == (only_first, only_second)
    if only_first + only_second:
        theirs = scipy.stats.binomtest(only_first, only_first + only_second).pvalue
        assert found.p_value == pytest.approx(theirs)
    else:
        assert found.p_value == 1


@given(st.data(), st.integers(1, 5000), st.floats(0, 1))
def test_share_above_is_the_binomial_test_of_scipy(data, n, threshold):
    successes = data.draw(st.integers(0, n))
    theirs = scipy.stats.binomtest(successes, n, threshold, alternative="greater").pvalue
    assert share_above(successes, n, threshold) == pytest.approx(theirs, rel=1e-6, abs=1e-300)


def test_no_games_are_above_nothing():
    assert share_above(0, 0, 0.5) == 1
    assert mean_above([], 0) == mean_above([5], 0) == 1


@given(st.lists(st.integers(-120, 120), min_size=2, max_size=50), st.integers(-120, 120))
def test_mean_above_is_the_test_of_scipy(values, threshold):
    if len(set(values)) == 1:
        assert mean_above(values, threshold) == (0 if values[0] > threshold else 1)
    else:
        theirs = scipy.stats.ttest_1samp(values, threshold, alternative="greater").pvalue
        assert mean_above(values, threshold) == pytest.approx(theirs, rel=1e-6, abs=1e-12)


def test_deals_that_agree_but_for_no_rounding_have_no_spread():
    assert mean_above([0.1] * 3, 0.1) == 1
    assert mean_above([0.1] * 3, 0.09) == 0


@pytest.mark.parametrize(
    ("successes1", "n1", "successes2", "n2", "low", "high"),
    [
        (56, 70, 48, 80, 0.0524, 0.3339),  # Newcombe 1998 (unpaired), table II, method 10
        (9, 10, 3, 10, 0.1705, 0.8090),
        (6, 7, 2, 7, 0.0582, 0.8062),
        (5, 56, 0, 29, -0.0381, 0.1926),
        (0, 10, 0, 20, -0.1611, 0.2775),
        (0, 10, 0, 10, -0.2775, 0.2775),
        (10, 10, 0, 20, 0.6791, 1.0),
        (10, 10, 0, 10, 0.6075, 1.0),
    ],
)
def test_difference_of_shares_gives_the_published_values(successes1, n1, successes2, n2, low, high):
    found = difference_of_shares(successes1, n1, successes2, n2)
    assert found.ci == pytest.approx((low, high), abs=5e-5)
    assert found.mean == successes1 / n1 - successes2 / n2
    assert found.n == n1 + n2
    mirrored = difference_of_shares(successes2, n2, successes1, n1)
    assert mirrored.ci == pytest.approx((-found.high, -found.low))


def test_difference_of_shares_and_two_shares_without_games():
    assert difference_of_shares(0, 0, 3, 4).ci == (-1, 1)
    assert two_shares(0, 0, 3, 4) == two_shares(4, 4, 3, 3) == two_shares(0, 4, 0, 3) == 1


@given(st.data(), st.integers(1, 300), st.integers(1, 300))
def test_two_shares_is_pearsons_test(data, n1, n2):
    k1, k2 = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))
    if 0 < k1 + k2 < n1 + n2:
        table = [[k1, n1 - k1], [k2, n2 - k2]]
        theirs = scipy.stats.chi2_contingency(table, correction=False).pvalue
        assert two_shares(k1, n1, k2, n2) == pytest.approx(theirs, rel=1e-6, abs=1e-300)


def test_holm_by_hand():
    """The values of `p.adjust` in R, whose manual cites Holm 1979."""
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([0.04, 0.5, 0.001, 0.9]) == pytest.approx([0.12, 1, 0.004, 1])
    assert len(holm([])) == 0


@given(st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=12), st.floats(0.001, 0.2))
def test_holm_rejects_step_by_step(p_values, level):
    """The smallest is compared with level/m, the next with level/(m − 1), until one is not rejected."""
    tests = sorted((p, i) for i, p in enumerate(p_values) if not math.isnan(p))
    steps = itertools.takewhile(lambda step: step[1][0] * (len(tests) - step[0]) <= level, enumerate(tests))
    adjusted = holm(p_values)
    assert {i for _, (_, i) in steps} == set(np.flatnonzero(adjusted <= level))
    for p, found in zip(p_values, adjusted, strict=True):
        assert math.isnan(found) if math.isnan(p) else p <= found <= 1


def mixture_width(n, variance_of_mixture, error=0.05):
    """Waudby-Smith et al. 2024, theorem 2.2, for deals with standard deviation 1."""
    inner = n * variance_of_mixture + 1
    return math.sqrt(2 * inner / (n * n * variance_of_mixture) * math.log(math.sqrt(inner) / error))


def test_at_any_time_is_the_mixture_that_is_shortest_at_500_deals():
    best = scipy.optimize.minimize_scalar(
        lambda v: mixture_width(500, v), bounds=(1e-4, 1), method="bounded", options={"xatol": 1e-9}
    )
    for n in (46, 496, 5000):
        values = np.tile([-1.0, 1.0], n // 2)
        found = at_any_time(values)
        spread = np.append(values, [-1, -1, 1, 1]).std(ddof=1)
        assert found.high == pytest.approx(spread * mixture_width(n + 4, best.x), rel=1e-6)
        assert found.low == pytest.approx(-found.high)
        assert (found.mean, found.stderr, found.n) == (0, mean_of_deals(values).stderr, n)


@given(
    st.lists(st.integers(-120, 120), min_size=2, max_size=80).filter(lambda values: len(set(values)) > 1),
    st.integers(-100, 100),
    st.sampled_from([0.01, 1, 50]),
)
def test_at_any_time_knows_no_unit(values, shift, scale):
    found, mean = at_any_time(values), mean_of_deals(values)
    assert found.low < mean.low < mean.high < found.high or len(values) < 20
    assert found.low < found.mean < found.high
    moved = at_any_time(scale * np.array(values) + shift)
    assert moved.ci == pytest.approx((scale * found.low + shift, scale * found.high + shift), abs=1e-6)
    wide = at_any_time(values, span=(-120, 120))
    assert -120 <= wide.low < wide.high <= 120


def test_deals_that_all_agree_have_an_interval_only_within_a_known_span():
    assert at_any_time([1] * 60).ci == INFINITE
    assert at_any_time([1], span=(0, 1)).ci == at_any_time([]).ci == INFINITE
    found = at_any_time([1] * 60, span=(0, 1))
    assert found.high == 1
    assert 0.8 < found.low < 0.95
    assert at_any_time([0, 1] * 30, span=(0, 1)) == at_any_time([0, 1] * 30)


@given(st.integers(1, 100_000), st.integers(1, 500), st.floats(1, 4))
def test_looks_grow_and_end_with_the_last_deal(most, first, factor):
    factor = max(factor, 1.001) if most > 2000 else factor
    found = looks(most, first, factor)
    assert found[-1] == most
    assert found[0] == min(first, most)
    assert all(a < b for a, b in itertools.pairwise(found))
    assert all(b <= max(a + 1, math.ceil(factor * a)) for a, b in itertools.pairwise(found))


def test_looks():
    assert looks(5000) == [50, 75, 113, 170, 255, 383, 575, 863, 1295, 1943, 2915, 4373, 5000]
    assert looks(50) == [50]
    assert looks(20) == [20]


def gap_of(rng, n, best, ceiling, noise=6):
    """Points of three agents on the same deals, whose luck is shared."""
    luck = rng.normal(0, 20, n)
    return [luck + rng.normal(points, noise, n) for points in (0, best, ceiling)]


def test_share_of_gap_ends_where_student_begins_to_tell_the_difference():
    base, best, ceiling = gap_of(chance(9), 30, 5, 12)
    found = share_of_gap(base, best, ceiling, 0.9)
    assert found.mean == pytest.approx((best - base).mean() / (ceiling - base).mean())
    for end in found.ci:
        rest = mean_of_deals(best - base - end * (ceiling - base))
        assert abs(rest.mean / rest.stderr) == pytest.approx(float(stdtrit(29, 0.95)))
    assert found.low < found.mean < found.high


def test_share_of_a_gap_that_is_sure_is_a_mean():
    best = [3.0, 5.0, 4.0, 9.0]
    found, mean = share_of_gap([0] * 4, best, [10] * 4), mean_of_deals(best)
    assert found.mean == pytest.approx(mean.mean / 10)
    assert found.stderr == pytest.approx(mean.stderr / 10)
    assert found.ci == pytest.approx((mean.low / 10, mean.high / 10))
    assert share_of_gap([0, 1, 2], [4, 7, 7], [4, 7, 7]).ci == pytest.approx((1, 1))


def test_share_of_no_gap_has_no_ends():
    assert math.isnan(share_of_gap([1, 2], [2, 3], [1, 2]).mean)
    assert share_of_gap([1, 2], [2, 3], [1, 2]).ci == INFINITE
    assert math.isnan(share_of_gap([], [], []).mean)
    assert share_of_gap([1], [2], [3]).mean == 0.5
    assert share_of_gap([1], [2], [3]).ci == INFINITE
    unclear = share_of_gap([0, 0, 0, 0], [1, 2, 1, 2], [-1, 2, -1, 1])
    assert unclear.mean == 6
    assert unclear.ci == INFINITE


@pytest.mark.parametrize("share", [0.5, 0.75, 0.99])
@pytest.mark.parametrize("deals", [100, 10_000])
def test_two_ratings_differ_by_the_log_of_the_odds(share, deals):
    first, second = bradley_terry(2, [(0, 1)], np.full((deals, 1), share), resamples=50)
    shrunk = (share * deals + 0.5) / (deals + 1)
    assert first.mean - second.mean == pytest.approx(400 * math.log10(shrunk / (1 - shrunk)), abs=1e-6)
    assert first.mean + second.mean == pytest.approx(0, abs=1e-9)
    assert first.n == deals


def test_shares_that_follow_from_ratings_give_them_back():
    truth = np.array([-300.0, -20.0, 70.0, 250.0])
    pairs = list(itertools.combinations(range(4), 2))
    shares = [1 / (1 + 10 ** ((truth[second] - truth[first]) / 400)) for first, second in pairs]
    found = bradley_terry(4, pairs, np.tile(shares, (100_000, 1)), resamples=2)
    assert [rating.mean for rating in found] == pytest.approx(truth, abs=0.1)


def test_bradley_terry_is_the_most_likely_rating():
    rng = chance(10)
    pairs = [(0, 1), (2, 1), (0, 3), (3, 4), (4, 1), (2, 4)]
    shares = np.where(rng.random((40, 6)) < 0.3, np.nan, rng.integers(0, 3, (40, 6)) / 2)
    first, second = np.transpose(pairs)
    won = np.vstack([shares, np.full((1, 6), 0.5)])  # with the drawn deal

    def unlikely(ratings):
        margin = (ratings[first] - ratings[second]) * math.log(10) / 400
        return np.nansum(won * np.logaddexp(0, -margin) + (1 - won) * np.logaddexp(0, margin))

    theirs = scipy.optimize.minimize(unlikely, np.zeros(5), tol=1e-10).x
    found = bradley_terry(5, pairs, shares)
    assert [rating.mean for rating in found] == pytest.approx(theirs - theirs.mean(), abs=0.1)
    assert all(rating.low < rating.mean < rating.high for rating in found)
    assert found == bradley_terry(5, pairs, shares)
    assert found != bradley_terry(5, pairs, shares, seed=1)


def test_who_wins_everything_has_a_finite_rating_and_no_sure_one():
    for deals in (10, 100_000):
        best, middle, worst = bradley_terry(3, [(0, 1), (1, 2), (0, 2)], np.ones((deals, 3)), resamples=200)
        assert worst.mean < -100 < 100 < best.mean < 3000
        assert middle.mean == pytest.approx(0, abs=1e-6)
        assert best.low + 50 < best.mean < best.high - 50


def test_one_deal_gives_ratings_without_an_interval():
    first, second = bradley_terry(2, [(0, 1)], [[1.0]])
    assert first.ci == second.ci == INFINITE
    assert first.mean == -second.mean == pytest.approx(200 * math.log10(3))
    assert bradley_terry(1, [], np.zeros((5, 0)))[0].mean == 0


def test_ratings_need_agents_that_have_met():
    for pairs in ([(0, 1), (2, 3)], [(0, 1), (0, 1), (2, 3)], []):
        with pytest.raises(ValueError, match="not all agents have met"):
            bradley_terry(4, pairs, np.ones((9, len(pairs))))
    with pytest.raises(ValueError, match="a column for each of 2 pairs"):
        bradley_terry(3, [(0, 1), (1, 2)], np.ones((9, 3)))


# How often each method errs. Closed forms: 10,000 cases, within a point of what they promise, where the
# counts that can occur allow it (their exact coverage is asserted too). The others have fewer cases in the
# normal run, and binomial errors on top of the point.

CASES = 10_000
POINT = 0.01
FEW_OR_MANY = pytest.mark.parametrize("trials", [2000, pytest.param(10_000, marks=pytest.mark.soak)])


def binomial_errors(trials, errors):
    return errors * math.sqrt(0.05 * 0.95 / trials)


def coverage(draw, truth, trials=CASES):
    """The share of intervals that hold the truth."""
    rng = chance(trials)
    return np.mean([low <= truth <= high for low, high in (draw(rng).ci for _ in range(trials))])


def size(draw, trials=CASES):
    """The share of p-values of at most 5 %."""
    rng = chance(trials)
    return np.mean([draw(rng) <= 0.05 for _ in range(trials)])


def exactly(n, share, count_is_in):
    """The exact probability that a binomial count is among those."""
    counts = [count for count in range(n + 1) if count_is_in(count)]
    return scipy.stats.binom.pmf(counts, n, share).sum()


def test_means_of_deals_hold_the_truth_in_95_of_100_cases():
    assert coverage(lambda rng: mean_of_deals(rng.normal(3, 2, 12)), 3) == pytest.approx(0.95, abs=POINT)


@pytest.mark.parametrize(
    ("interval", "n", "truth"),
    [
        (wilson, 100, 0.6),
        (wilson, 200, 0.3),
        (wilson, 400, 0.95),
        (exact_binomial, 400, 0.6),
        (exact_binomial, 400, 0.1),
    ],
)
def test_shares_hold_the_truth_in_95_of_100_cases(interval, n, truth):
    interval = cache(interval)
    within = exactly(n, truth, lambda count: interval(count, n).low <= truth <= interval(count, n).high)
    assert within == pytest.approx(0.95, abs=POINT / 2)
    found = coverage(lambda rng: interval(int(rng.binomial(n, truth)), n), truth)
    assert found == pytest.approx(0.95, abs=POINT)


@pytest.mark.parametrize("n", [1, 2, 5, 30, 100])
def test_exact_binomial_never_holds_the_truth_less_often_than_it_says(n):
    intervals = [exact_binomial(count, n).ci for count in range(n + 1)]
    for truth in np.linspace(0.001, 0.999, 333):
        held = exactly(
            n, truth, lambda count, truth=truth: intervals[count][0] <= truth <= intervals[count][1]
        )
        assert held >= 0.95


def test_shares_of_deals_hold_the_truth_though_games_on_a_deal_depend_on_each_other():
    """Two games a deal with the same luck, of which some are drawn and do not count."""

    def draw(rng):
        wins = rng.random((2, 150)) < 0.3 + 0.6 * rng.random(150)
        decided = rng.random((2, 150)) < 0.9
        return share_of_deals((wins & decided).sum(axis=0), decided.sum(axis=0))

    assert coverage(draw, 0.6) == pytest.approx(0.95, abs=POINT)


def test_paired_differences_hold_the_truth_in_95_of_100_cases():
    def draw(rng):
        luck = rng.normal(0, 20, 30)
        return paired_difference(luck + rng.normal(5, 8, 30), luck + rng.normal(3, 8, 30))

    assert coverage(draw, 2) == pytest.approx(0.95, abs=POINT)


@pytest.mark.parametrize(("n1", "share1", "n2", "share2"), [(60, 0.6, 80, 0.5), (50, 0.9, 70, 0.8)])
def test_differences_of_shares_hold_the_truth_in_95_of_100_cases(n1, share1, n2, share2):
    truth = share1 - share2
    interval = cache(lambda k1, k2: difference_of_shares(k1, n1, k2, n2))

    def held(k1):
        return exactly(n2, share2, lambda k2: interval(k1, k2).low <= truth <= interval(k1, k2).high)

    within = sum(scipy.stats.binom.pmf(k1, n1, share1) * held(k1) for k1 in range(n1 + 1))
    assert within == pytest.approx(0.95, abs=POINT / 2)
    found = coverage(
        lambda rng: interval(int(rng.binomial(n1, share1)), int(rng.binomial(n2, share2))), truth
    )
    assert found == pytest.approx(0.95, abs=POINT)


@pytest.mark.parametrize(("n1", "n2", "share"), [(60, 60, 0.5), (80, 60, 0.3), (40, 90, 0.7)])
def test_two_equal_shares_are_told_apart_in_5_of_100_cases(n1, n2, share):
    p_value = cache(lambda k1, k2: two_shares(k1, n1, k2, n2))
    found = size(lambda rng: p_value(int(rng.binomial(n1, share)), int(rng.binomial(n2, share))))
    assert found == pytest.approx(0.05, abs=POINT)


def test_mcnemar_errs_in_at_most_5_of_100_cases():
    """Two agents of the same strength, whose games on a deal are alike; half of 600 games are discordant."""

    def draw(rng):
        luck = rng.random(600)
        first, second = np.where(rng.random((2, 600)) < 0.7, rng.random((2, 600)), luck) < 0.5
        return mcnemar(first, second).p_value

    assert 0.05 - 2 * POINT < size(draw) <= 0.05


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", [5, 40, 100, 10_000])
def test_share_above_errs_in_at_most_5_of_100_cases(n, threshold):
    exact = exactly(n, threshold, lambda count: share_above(count, n, threshold) <= 0.05)
    assert exact <= 0.05
    found = size(lambda rng: share_above(int(rng.binomial(n, threshold)), n, threshold))
    assert found == pytest.approx(exact, abs=binomial_errors(CASES, 4))
    if n == 10_000:
        assert found == pytest.approx(0.05, abs=POINT)


def test_mean_above_errs_in_5_of_100_cases():
    assert size(lambda rng: mean_above(rng.normal(3, 2, 12), 3)) == pytest.approx(0.05, abs=POINT)


def test_holm_errs_in_5_of_100_families():
    """Where all of five hypotheses hold, and where three of them clearly do not: it wastes nothing."""
    assert size(lambda rng: holm(rng.random(5)).min()) == pytest.approx(0.05, abs=POINT)
    false_ones = [1e-6, 1e-5, 1e-4]
    assert size(lambda rng: holm([*false_ones, *rng.random(2)])[3:].min()) == pytest.approx(0.05, abs=POINT)


def test_shares_of_a_clear_gap_hold_the_truth_in_95_of_100_cases():
    assert coverage(lambda rng: share_of_gap(*gap_of(rng, 40, 4, 10)), 0.4) == pytest.approx(0.95, abs=POINT)


def test_shares_of_an_unclear_gap_hold_the_truth_at_least_as_often():
    """Half of these intervals have no ends: Fieller's two rays are given as the whole line."""
    assert coverage(lambda rng: share_of_gap(*gap_of(rng, 20, 4, 4)), 1) > 0.95


@FEW_OR_MANY
@pytest.mark.parametrize(
    ("draw", "truth"),
    [
        (lambda rng: rng.standard_exponential(100), 1),
        (lambda rng: rng.choice([-1, 0, 1], 200, p=[0.1, 0.2, 0.7]), 0.6),
    ],
    ids=["exponential", "won, drawn, lost"],
)
def test_the_bootstrap_holds_the_truth_in_95_of_100_cases(trials, draw, truth):
    seeds = itertools.count()
    found = coverage(
        lambda rng: bootstrap_of_deals(draw(rng), resamples=1000, seed=next(seeds)), truth, trials
    )
    assert found == pytest.approx(0.95, abs=POINT + binomial_errors(trials, 3))


def discrete(values, shares):
    return lambda rng, shape: rng.choice(np.array(values, float), shape, p=shares), float(
        np.dot(values, shares)
    )


def points(rng, shape):
    return np.clip(np.round(rng.normal(5, 30, shape)), -120, 120)


def points_with_triumphs(rng, shape):
    return np.where(rng.random(shape) < 0.02, 120, np.round(rng.normal(10, 15, shape)))


DEALS = {
    "fair": discrete([-1, 0, 1], [0.4, 0.2, 0.4]),
    "mostly drawn": discrete([-1, 0, 1], [0.05, 0.9, 0.05]),
    "nearly always won": discrete([-1, 0, 1], [0.05, 0.05, 0.9]),
    "hardly ever lost": discrete([-1, 0, 1], [0.01, 0.02, 0.97]),
    "points": (points, 5),
    "points with triumphs": (points_with_triumphs, 0.98 * 10 + 0.02 * 120),
}


def ends_after_every_deal(values, first=50):
    """The ends of `at_any_time` for each start of each row that has at least `first` deals."""
    n = np.arange(1, values.shape[1] + 1)
    mean = np.cumsum(values, axis=1) / n
    variance = np.maximum(np.cumsum(values**2, axis=1) / n - mean**2, 0)
    lowest, highest = np.minimum.accumulate(values, axis=1), np.maximum.accumulate(values, axis=1)
    low, high = _robbins(n, mean, variance, lowest, highest, 0.95)
    low[lowest == highest], high[lowest == highest] = INFINITE
    return low[:, first - 1 :], high[:, first - 1 :]


def test_ends_after_every_deal_are_those_of_at_any_time():
    for draw, _ in DEALS.values():
        values = draw(chance(11), (3, 400))
        low, high = ends_after_every_deal(values)
        for row, n in itertools.product(range(3), (50, 51, 170, 400)):
            found = at_any_time(values[row, :n])
            assert found.ci == pytest.approx((low[row, n - 50], high[row, n - 50]))


@FEW_OR_MANY
@pytest.mark.parametrize("deals", DEALS)
def test_looking_after_every_deal_excludes_the_truth_in_at_most_5_of_100_matches(trials, deals):
    """From 50 to 5,000 deals; two binomial errors are allowed on top."""
    draw, truth = DEALS[deals]
    rng, excluded = chance(12), 0
    for _ in range(trials // 250):
        low, high = ends_after_every_deal(draw(rng, (250, 5000)))
        excluded += ((truth < low) | (high < truth)).any(axis=1).sum()
    assert excluded / trials <= 0.05 + binomial_errors(trials, 2)


def test_looking_at_students_interval_after_every_deal_excludes_the_truth_much_more_often():
    """What `at_any_time` is for: this is the price of stopping at the first good moment without it."""
    values = chance(13).normal(size=(250, 5000))
    n = np.arange(1, 5001)
    mean = np.cumsum(values, axis=1) / n
    error = np.sqrt((np.cumsum(values**2, axis=1) / n - mean**2) / n)
    excluded = (np.abs(mean) > 1.96 * error)[:, 49:].any(axis=1).mean()
    assert excluded > 0.3


def test_a_fifth_of_a_standard_deviation_is_decided_as_soon_as_the_documentation_says():
    low, _ = ends_after_every_deal(chance(14).normal(0.2, 1, (1000, 2000)))
    for seen, half, nine_of_ten in ((slice(None), 221, 434), (np.array(looks(2000)) - 50, 255, 575)):
        decided = np.arange(50, 2001)[seen][(low[:, seen] > 0).argmax(axis=1)]
        assert np.quantile(decided, [0.5, 0.9]) == pytest.approx([half, nine_of_ten], rel=0.08)


@FEW_OR_MANY
def test_ratings_hold_the_truth_in_95_of_100_cases(trials):
    """Four agents, all pairs on the same 100 deals, twice with exchanged luck; a fifth was not played."""
    truth = np.array([-125, -75, 25, 175])
    pairs = list(itertools.combinations(range(4), 2))
    first, second = np.transpose(pairs)
    share = 1 / (1 + 10 ** ((truth[second] - truth[first]) / 400))
    rng, held = chance(trials), np.zeros(4)
    for seed in range(trials):
        luck = rng.uniform(-0.9, 0.9, (100, 1)) * np.minimum(share, 1 - share)
        won = np.mean([rng.random((100, 6)) < share + side * luck for side in (-1, 1)], axis=0)
        won[rng.random((100, 6)) < 0.2] = np.nan
        found = bradley_terry(4, pairs, won, resamples=400, seed=seed)
        held += [rating.low <= elo <= rating.high for rating, elo in zip(found, truth, strict=True)]
    assert held / trials == pytest.approx(0.95, abs=POINT + binomial_errors(trials, 3))
