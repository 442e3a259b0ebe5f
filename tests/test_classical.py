"""Classical search against recursion over trees as they are written, which knows nothing of arrays."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from kibitz import games
from kibitz.agents import make_agent
from kibitz.arena.match import match
from kibitz.errors import Unsupported
from kibitz.games.tree import shapes
from kibitz.games.tree.nodes import Node, build
from kibitz.games.tree.text import load, read
from kibitz.position import deal
from kibitz.search import classical, memory
from kibitz.search.solver import ALGORITHMS, Limits, Settings, Solver, algorithm
from kibitz.testing import check_agent

# --- naive twins ----------------------------------------------------------------------------------


def naive_value(node, depth=math.inf, quiet=0):
    """Expectiminimax, as it is defined; depth counts moves, not throws."""
    if node.what == "leaf":
        return node.scores[0]
    if depth <= -quiet or (depth <= 0 and not node.is_noisy):
        return node.scores[0]
    if node.what == "chance":
        return sum(float(child.odds) * naive_value(child, depth, quiet) for child in node.children)
    values = [naive_value(child, depth - 1, quiet) for child in node.children]
    return max(values) if node.what == "max" else min(values)


def naive_vector(node):
    """Max^n: everybody takes the first of what is best for him."""
    if node.what == "leaf":
        return node.scores
    values = [naive_vector(child) for child in node.children]
    if node.what == "chance":
        pairs = list(zip(node.children, values, strict=True))
        return tuple(sum(float(child.odds) * v[i] for child, v in pairs) for i in range(len(values[0])))
    seat = int(node.what.split()[1])
    return max(values, key=lambda value: value[seat])


def naive_alpha_beta(node, alpha, beta, hard, strict, leaves):
    """Knuth and Moore's procedure; the leaves that it looks at are added to `leaves`."""
    if node.what == "leaf":
        leaves.append(node)
        value = node.scores[0]
        return min(max(value, alpha), beta) if hard else value
    is_max = node.what == "max"
    best, low, high = (-math.inf if is_max else math.inf), alpha, beta
    for child in node.children:
        value = naive_alpha_beta(child, low, high, hard, strict, leaves)
        best = max(best, value) if is_max else min(best, value)
        low, high = (max(low, value), high) if is_max else (low, min(high, value))
        if low > high or (low == high and not strict):
            break
    return min(max(best, alpha), beta) if hard else best


def random_node(rng, depth, kinds, widths=(1, 4), highest=20):
    """A tree of any shape, with whole numbers for values: many are equal."""
    if depth == 0 or rng.random() < 0.1:
        return Node("leaf", (float(rng.randint(0, highest)),))
    node = Node(rng.choice(kinds), (float(rng.randint(0, highest)),), is_noisy=rng.random() < 0.5)
    node.children = [random_node(rng, depth - 1, kinds, widths, highest) for _ in range(rng.randint(*widths))]
    if node.what == "chance":
        shares = [rng.randint(1, 4) for _ in node.children]
        for child, share in zip(node.children, shares, strict=True):
            child.odds = Fraction(share, sum(shares))
    return node


def solved(tree, settings, depth=1 << 40, compiled=True):
    return Solver(tree.game, settings, table=256, compiled=compiled).solve(tree.root().array, Limits(depth))


# --- all algorithms find the same -----------------------------------------------------------------


FOREST = 50


@pytest.mark.parametrize("n", [4000, pytest.param(200_000, marks=pytest.mark.soak)])
def test_every_algorithm_finds_the_value_of_random_trees(n):
    saved = dict.fromkeys(ALGORITHMS, 0)
    for first in range(0, n, FOREST):  # many trees in one game: quicker than a game for each
        roots = []
        for seed in range(first, first + FOREST):
            rng = random.Random(seed)
            kinds = ("max", "min") if seed % 2 else ("max", "min", "chance")
            roots.append(random_node(rng, rng.randint(1, 4), kinds))
        forest = build(Node("max", children=[Node("max", children=[root]) for root in roots]), (0, 20))
        expected = [naive_value(root) for root in roots]
        plain = [0] * FOREST
        for name, settings in ALGORITHMS.items():
            solver = Solver(forest.game, settings, table=256)
            for i in range(FOREST):
                state = forest.root()
                state.record.node = 1 + i
                found = solver.solve(state.array)
                assert found.is_exact
                assert abs(found.value - expected[i]) < 1e-9, f"{name}, seed {first + i}"
                plain[i] = plain[i] or found.leaves
                saved[name] += plain[i] - found.leaves
    assert saved["minimax"] == 0
    assert 0 < saved["alphabeta-strict"] < saved["alphabeta"] <= saved["alphabeta-ordered"]
    assert saved["alphabeta"] < saved["star1"]
    assert saved["alphabeta"] < saved["star2"]


@pytest.mark.parametrize("quiet", [0, 2])
def test_the_horizon_is_where_recursion_has_it(quiet):
    for seed in range(300):
        rng = random.Random(seed)
        node = random_node(rng, 5, ("max", "min", "chance"), widths=(1, 3))
        tree, depth = build(node, (0, 20)), rng.randint(1, 3)
        for name in ("minimax", "alphabeta", "alphabeta-table", "star2"):
            settings = Settings(**{**vars(algorithm(name)), "quiet": quiet})
            found = solved(tree, settings, depth)
            assert found.value == pytest.approx(naive_value(node, depth, quiet)), f"{name}, seed {seed}"


MIXED = [
    Settings("star2", table=True, urgency=True, killers=True, history=True),
    Settings("star2", hard=True, strict=True),
    Settings("star2", hard=True, table=True),
    Settings("star1", strict=True, table=True, killers=True),
    Settings("none", table=True),
]


def test_options_can_be_combined():
    for seed in range(500):
        rng = random.Random(seed)
        node = random_node(rng, 5, ("max", "min", "chance"), widths=(1, 3), highest=6)
        tree, depth = build(node, (0, 6)), rng.randint(1, 6)
        for settings in MIXED:
            found = solved(tree, settings, depth)
            assert found.value == pytest.approx(naive_value(node, depth)), f"{settings}, seed {seed}"


def test_alpha_beta_looks_at_the_same_leaves_as_its_recursive_twin():
    for seed in range(300):
        rng = random.Random(seed)
        node = random_node(rng, 5, ("max", "min"), highest=8)
        for name, hard, strict in (
            ("alphabeta", False, False),
            ("alphabeta-hard", True, False),
            ("alphabeta-strict", False, True),
        ):
            leaves = []
            value = naive_alpha_beta(node, -math.inf, math.inf, hard, strict, leaves)
            found = solved(build(node), algorithm(name))
            assert (found.value, found.leaves) == (value, len(leaves)), f"{name}, seed {seed}"


def test_three_seats_take_what_is_best_for_each():
    for seed in range(300):
        rng = random.Random(seed)
        node = random_node(rng, 4, ("seat 0", "seat 1", "seat 2", "chance"))
        for part in walk(node):
            part.scores = tuple(float(rng.randint(0, 5)) for _ in range(3))
        if any(part.what.startswith("seat") for part in walk(node)):
            found = solved(build(node), Settings())
            assert found.values == pytest.approx(naive_vector(node))


def walk(node):
    yield node
    for child in node.children:
        yield from walk(child)


def test_more_than_two_sides_are_not_pruned():
    tree = read("seat 0\n  1, 2, 3\n  seat 2\n    3, 0, 0\n    1, 0, 2")
    assert solved(tree, Settings()).values == [1, 2, 3]
    with pytest.raises(Unsupported, match="more than two sides"):
        solved(tree, algorithm("alphabeta"))


def test_compiled_and_interpreted_search_agree():
    for seed in range(20):
        tree = build(random_node(random.Random(seed), 4, ("max", "min", "chance")), (0, 20))
        for settings in (*ALGORITHMS.values(), Settings("star2", hard=True, quiet=3, keep=2, keep_from=1)):
            one, other = (solved(tree, settings, 3, compiled) for compiled in (True, False))
            assert (one.value, one.line, one.nodes, one.leaves, one.cuts) == (
                *(other.value, other.line, other.nodes, other.leaves, other.cuts),
            )


# --- how much is left out -------------------------------------------------------------------------


@pytest.mark.parametrize(("branching", "depth"), [(1, 3), (2, 1), (2, 7), (3, 5), (3, 6), (5, 4), (10, 3)])
def test_best_ordered_trees_cost_the_square_root(branching, depth):
    tree = shapes.best_first(branching, depth)
    for name in ("alphabeta", "alphabeta-hard", "alphabeta-strict"):
        found = solved(tree, algorithm(name))
        assert found.leaves == branching ** ((depth + 1) // 2) + branching ** (depth // 2) - 1
    assert solved(tree, Settings()).leaves == branching**depth


def savings(levels, branching, n, highest, is_sorted=False):
    """The share of the leaves of random trees that is not looked at."""
    leaves = dict.fromkeys(("minimax", "alphabeta", "star1", "star2"), 0)
    for seed in range(n):
        values = shapes.random_values(seed, highest)
        tree = shapes.uniform(levels, branching, values, (0, highest), is_sorted)
        for name in leaves:
            leaves[name] += solved(tree, algorithm(name)).leaves
    return {name: 1 - leaves[name] / leaves["minimax"] for name in leaves}


LEVELS = ["max", "chance", "min", "chance", "max"]


def test_star1_and_star2_save_what_the_lesson_says():
    """Ballard 1983 has 25–30 % for Star1 and more than half for Star2, on trees and values of his own.

    Ours save more where leaves are won or lost. Values of all sizes hide in the mean, and less is cut.
    """
    for highest, star1, star2 in ((1, 0.3, 0.5), (1000, 0.1, 0.2)):
        saved = savings(LEVELS, 4, 12, highest)
        assert star1 < saved["star1"] < star1 + 0.15
        assert star2 < saved["star2"] < star2 + 0.15
        assert saved["alphabeta"] < saved["star1"]


def test_star2_saves_more_if_the_best_move_comes_first():
    for highest in (1, 1000):
        plain, best = (savings(LEVELS, 4, 12, highest, is_sorted) for is_sorted in (False, True))
        assert plain["star2"] + 0.1 < best["star2"]
        assert best["star1"] < best["star2"]


def test_the_table_finds_positions_again():
    """One position, reached in two orders: it is searched once."""
    shared = Node("min", children=[Node("leaf", (4.0,)), Node("leaf", (6.0,))])
    ways = [Node("named", target=shared) for _ in range(2)]
    root = Node("max", children=[Node("min", children=[way]) for way in ways])
    tree = build(root)
    plain, table = solved(tree, algorithm("minimax")), solved(tree, Settings(table=True))
    assert plain.value == table.value == 4
    assert (plain.leaves, table.leaves) == (4, 2)
    assert table.cuts == {"table": 1}


def test_symmetric_moves_are_tried_once():
    tree = read("max\n  a: min\n    3\n    5\n  b: min same\n    3\n    5\n  c: min\n    1\n    2")
    plain, folded = solved(tree, Settings()), solved(tree, Settings(symmetry=True))
    assert plain.value == folded.value == 3
    assert (plain.leaves, folded.leaves) == (6, 4)
    assert folded.cuts == {"symmetry": 1}


def test_forward_pruning_keeps_the_most_urgent_moves_and_is_not_exact():
    tree = read("max\n  min ~ 1\n    9\n    8\n  min ~ 5\n    4\n    6\n  min ~ 3\n    7\n    0")
    found = solved(tree, Settings(keep=2))
    assert found.value == 4
    assert found.cuts == {"forward": 1}
    assert not found.is_exact
    assert solved(tree, Settings()).value == 8
    deep = solved(tree, Settings(keep=1, keep_from=1))
    assert deep.value == 8  # every reply is the more urgent one: the lower
    assert deep.cuts == {"forward": 3}


def test_an_evaluation_that_leaves_no_doubt_ends_the_search():
    tree = read("range 0 10\nmax\n  min ~ 9\n    2\n    3\n  min ~ 6\n    5\n    4")
    assert solved(tree, Settings()).value == 4
    found = solved(tree, Settings(decided=4))
    assert found.value == 9
    assert not found.is_exact


# --- what order and horizon do --------------------------------------------------------------------


def test_killers_and_history_help_where_a_move_is_good_in_many_positions():
    game = games.load("tic-tac-toe")
    state = deal(game, 0)
    for move in state.legal_moves()[:3]:
        state.play(move)
    ways = {"as listed": {}, "killers": {"killers": True}, "history": {"history": True}}
    found = {
        name: Solver(game, Settings("window", **way), compiled=False).solve(state.array)
        for name, way in ways.items()
    }
    assert len({each.value for each in found.values()}) == 1
    assert found["killers"].leaves < found["as listed"].leaves
    assert found["history"].leaves < found["as listed"].leaves


def test_the_horizon_fools_plain_search_and_quiescence_does_not():
    tree = load("horizon")
    fooled, wise = (solved(tree, Settings(quiet=quiet), 1) for quiet in (0, 4))
    whole = solved(tree, Settings())
    assert tree.move_text(fooled.best) == "grab"
    assert tree.move_text(wise.best) == tree.move_text(whole.best) == "develop"
    assert wise.value == whole.value


# --- what the evaluation must tell ----------------------------------------------------------------


def mapped(node, change):
    """The same tree with other values."""
    copy = Node(node.what, tuple(change(x) for x in node.scores), odds=node.odds, is_noisy=node.is_noisy)
    copy.children = [mapped(child, change) for child in node.children]
    return copy


@pytest.mark.parametrize("change", [lambda x: x**3, lambda x: 2.0**x, lambda x: 7 * x - 3])
def test_without_chance_only_the_order_of_values_matters(change):
    for seed in range(200):
        node = random_node(random.Random(seed), 4, ("max", "min"))
        for name in ("minimax", "alphabeta"):
            for depth in (2, 1 << 40):
                before, after = (
                    solved(build(x), algorithm(name), depth) for x in (node, mapped(node, change))
                )
                assert before.best == after.best


def halves(node):
    """Chances that computers add up without error."""
    if node.what == "chance":
        shares = [Fraction(1, 2 ** (i + 1)) for i in range(len(node.children))]
        shares[-1] *= 2
        for child, share in zip(node.children, shares, strict=True):
            child.odds = share
    for child in node.children:
        halves(child)
    return node


def test_with_chance_positive_linear_changes_keep_the_choice():
    for seed in range(200):
        node = halves(random_node(random.Random(seed), 4, ("max", "min", "chance")))
        for name in ("minimax", "star1", "star2"):
            before, after = (
                solved(build(x), algorithm(name)) for x in (node, mapped(node, lambda x: 4 * x - 6))
            )
            assert before.best == after.best
            assert after.value == 4 * before.value - 6


def test_with_chance_a_change_that_keeps_the_order_can_change_the_choice():
    safe_or_wild = "max\n  safe: chance\n    1/2 {}\n    1/2 {}\n  wild: chance\n    1/2 {}\n    1/2 {}"
    plain, squared = (read(safe_or_wild.format(*(x**p for x in (3, 5, 0, 7)))) for p in (1, 2))
    assert [tree.move_text(solved(tree, Settings()).best) for tree in (plain, squared)] == ["safe", "wild"]


# --- limits ---------------------------------------------------------------------------------------


def big_tree():
    return shapes.uniform(["max", "min"] * 4, 3, shapes.random_values(1))


def test_a_search_can_be_interrupted_and_gone_on_with():
    tree, settings = big_tree(), algorithm("alphabeta")
    whole = solved(tree, settings)
    solver = Solver(tree.game, settings)
    work, options = solver._work, settings.options(tree.game, 1 << 40)
    work.head["ply"] = memory.NOT_BEGUN
    work.states[0] = tree.root().array[0]
    slices = 0
    while classical.search(tree.game, options, work, 7) != memory.FINISHED:
        slices += 1
    assert work.result[0] == whole.value
    assert slices == pytest.approx(whole.nodes / 7, abs=1)


def test_memory_grows_with_the_depth():
    node = Node("leaf", (5.0,))
    for i in range(200):
        node = Node("max" if i % 2 else "min", children=[node])
    assert solved(build(node), algorithm("alphabeta")).value == 5


def test_limits_of_nodes_and_of_time_end_a_search():
    tree = big_tree()
    solver, root = Solver(tree.game, Settings()), tree.root().array
    stopped = solver.solve(root, Limits(nodes=500))
    assert not stopped.is_finished
    assert 500 <= stopped.nodes < 502
    timed = solver.deepen(root, Limits(seconds=0.001))
    assert timed.best is not None
    assert timed.depth < 10


def test_iterative_deepening_ends_when_all_is_known():
    tree = big_tree()
    found = Solver(tree.game, algorithm("alphabeta-table")).deepen(tree.root().array, Limits(depth=100))
    assert found.is_exact
    assert found.depth == 8
    assert found.value == solved(tree, Settings()).value
    shallow = Solver(tree.game, algorithm("alphabeta")).deepen(tree.root().array, Limits(depth=3))
    assert shallow.value == solved(tree, Settings(), 3).value
    assert not shallow.is_exact


def test_the_best_line_leads_to_the_value():
    for seed in range(50):
        node = random_node(random.Random(seed), 5, ("max", "min"))
        tree = build(node)
        for name in ("minimax", "alphabeta", "alphabeta-hard", "alphabeta-ordered"):
            found = solved(tree, algorithm(name))
            state = tree.root()
            for move in found.line:
                state.play(move)
            assert state.is_over
            assert state.returns()[0] == found.value


def test_hidden_cards_are_refused():
    with pytest.raises(Unsupported, match="hides cards"):
        Solver(games.load("briskola"), Settings())


def test_nobody_looks_beyond_a_shuffle():
    """A chance event whose outcomes are not listed is worth what it is estimated at."""
    tree = read("max\n  chance\n    1/2 1\n    1/2 2")
    scores = tree.game.scores.copy()
    scores[1] = 7.0, -7.0
    game = tree.game._replace(widths=np.array([1, 0, 0, 0]), scores=scores)
    found = Solver(game, Settings()).solve(tree.root().array)
    assert (found.value, found.leaves, found.is_exact) == (7.0, 1, False)


def test_a_game_without_legal_moves_is_refused():
    tree = read("max\n  1\n  2")
    game = tree.game._replace(widths=np.array([0, 0, 0]))
    with pytest.raises(Unsupported, match="no legal move"):
        Solver(game, Settings()).solve(tree.root().array)


# --- agents ---------------------------------------------------------------------------------------


def wide_tree():
    return shapes.uniform(["max", "chance", "min"], 3, shapes.random_values(3), (0, 100))


@pytest.mark.parametrize(
    "spec", ["minimax:depth=3", "alphabeta:depth=3", "expectiminimax:depth=3,prune=star1"]
)
def test_agents_choose_what_is_best(spec):
    tree = wide_tree()
    best = solved(tree, Settings()).best
    agent = make_agent(spec)
    agent.start(tree.game, 0)
    assert agent.choose(tree.root().view(), seed=1) == best
    advice = agent.advise(tree.root().view(), seed=1)
    assert advice.best == best
    assert advice.exact
    for row in advice.rows:
        state = tree.root()
        state.play(row.move)
        found = Solver(tree.game, Settings()).solve(state.array)
        assert row.value == pytest.approx(found.value)


def test_agents_see_values_from_their_own_seat():
    tree = read("max\n  min\n    3\n    9\n  min\n    4\n    5\n    6")
    state = tree.root()
    state.play(1)
    advice = make_agent("alphabeta:depth=2").advise(state.view(), 0)
    assert [row.value for row in advice.rows] == [3 + 9 - 4, 3 + 9 - 5, 3 + 9 - 6]
    assert advice.best == advice.rows[0].move
    three = load("three-seats")
    state = three.root()
    state.play(1)
    advice = make_agent("minimax:depth=9").advise(state.view(), 0)
    assert [row.value for row in advice.rows] == [3, 4]


def test_advice_lists_moves_by_their_value_and_counts_positions():
    tree = read("max\n  low: 1\n  high: 9\n  middle: 5")
    advice = make_agent("alphabeta:depth=2").advise(tree.root().view(), 0)
    assert [row.value for row in advice.ranked()] == [9, 5, 1]
    assert str(advice).splitlines()[0].split() == ["move", "points"]
    assert "exact, 3 positions" in str(advice)


def test_agents_with_little_time_or_few_nodes_still_move():
    tree = big_tree()
    for spec in ("alphabeta:depth=8,nodes=1", "alphabeta:depth=8,time=1ms"):
        assert make_agent(spec).choose(tree.root().view(), 0) in tree.root().legal_moves()


def test_agents_refuse_hidden_cards():
    for spec in ("alphabeta", "minimax", "expectiminimax:depth=1"):
        with pytest.raises(Unsupported, match="hides cards"):
            make_agent(spec).start(games.load("briskola"), 0)


def test_tic_tac_toe_is_a_draw_whatever_is_left_out():
    game = games.load("tic-tac-toe")
    root = deal(game, 0).array
    plain = Solver(game, Settings()).solve(root)
    assert (plain.value, plain.nodes, plain.leaves) == (sum(game.score_range()) / 2, 549_946, 255_168)
    folded = Solver(game, Settings(symmetry=True)).solve(root)
    assert folded.value == plain.value
    assert folded.leaves < plain.leaves / 3
    assert folded.cuts["symmetry"] > 0
    assert folded.is_exact


def test_agents_keep_the_rules_of_agents():
    assert all(check.ok for check in check_agent("alphabeta:depth=2", "tic-tac-toe", 1))


def test_alpha_beta_beats_random_play_in_a_game():
    result = match("tic-tac-toe", ["alphabeta:depth=9", "random"], 20, seed=1)
    assert result.agents[1].wins == 0
    assert result.agents[0].wins > 10
