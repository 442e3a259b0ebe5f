"""The tree search with all its options, flat Monte Carlo, and what they refuse."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from kibitz import games, kernel
from kibitz.agents import look, make_agent
from kibitz.arena.play import play_game
from kibitz.cards import ITALIAN
from kibitz.errors import BadOption, Unsupported
from kibitz.games.briskola.rules import Briskola
from kibitz.games.diminishing_bridge.rules import BID, DiminishingBridge
from kibitz.games.tic_tac_toe.rules import TicTacToe
from kibitz.kernel import entry, game
from kibitz.position import View, deal
from kibitz.rng import stream
from kibitz.search import montecarlo, tree
from kibitz.search.montecarlo import Statistics, TreeSearch
from kibitz.search.objective import Habit, score
from kibitz.search.worlds import memory_for_worlds, one_world
from tests import naive
from tests.positions import naive_of, random_state, set_up

ITERATIONS = 150
FOR_ALL = [
    "ismcts:150",
    "ismcts:150,infosets=full",
    "ismcts:150,select=ucb1-tuned",
    "ismcts:150,select=greedy",
    "ismcts:150,inside=true,c=0.5",
    "ismcts:150,c=0",
    "ismcts:150,expand=all",
    "ismcts:150,expand=path",
    "ismcts:150,opponents=help",
    "ismcts:150,merge=true",
    "ismcts:150,playouts=3",
    "ismcts:150,playout=sensible",
    "ismcts:150,playout=0.5",
    "ismcts:150,objective=wins",
    "ismcts:150,objective=0.5,top=2",
    "ismcts:150,chosen=value",
    "ismcts:150,threads=3",
    "uct:150",
    "determinized:150,trees=7",
    "determinized:150,trees=7,threads=2",
    "possible:150",
    "possible:150,infosets=full,expand=all",
    "possible:150,expand=path",
    "possible:150,merge=true,expand=all",
    "cheating:150",
    "karamatic-mcts:150",
]
FOR_TWO_SIDES = [
    "uct:150,backup=power,p=4",
    "uct:150,backup=power,p=4,expand=all",
    "uct:150,backup=proved",
    "determinized:150,trees=7,backup=power,p=2,top=3",
    "determinized:150,trees=7,backup=proved,expand=path",
    "cheating:150,backup=proved,objective=wins",
]
CASES = [
    *((Briskola(2), spec) for spec in FOR_ALL + FOR_TWO_SIDES),
    *((Briskola(3), spec) for spec in FOR_ALL),
    *((Briskola(4, partners_look=True), spec) for spec in FOR_ALL + FOR_TWO_SIDES),
]


def think(spec, state, seed=1):
    agent = make_agent(spec, state.game)
    return agent.advise(look(agent, state), seed)


def test_an_interrupted_agent_searches_again(monkeypatch):
    """Ctrl-C stops the threads of one search, not those of the next."""
    agent, view = make_agent("ismcts:60,threads=2"), random_state(Briskola(2), 1, 3).view()

    def interrupt(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(agent, "_grow", interrupt)
        with pytest.raises(KeyboardInterrupt):
            agent.advise(view, 1)
    assert agent.advise(view, 1).iterations == 60


def test_an_agent_that_cheats_does_not_search_blanks():
    with pytest.raises(Unsupported, match="open_view"):
        make_agent("cheating:10").advise(random_state(Briskola(2), 1, 3).view(), 1)


def rows_of(advice):
    return [(row.move, row.value, row.stderr, row.visits, row.available) for row in advice.rows]


# --- every option ---

WITHOUT_EFFECT = (
    ("flat:60", "top", 3.0),
    ("flat:each=7", "iterations", 30),
    ("ismcts:60", "p", 4.0),
    ("ismcts:60", "growth", 0.5),
    ("ismcts:60", "trees", 3),
    ("ismcts:each=7", "iterations", 30),
    ("ismcts:60,select=greedy", "c", 2.0),
    ("ismcts:60,select=ucb1-tuned", "inside", True),
    ("ismcts:60,chosen=value", "ties", "first"),
    ("ismcts:60,threads=2", "ties", "first"),
    ("uct:60", "trials", "visits"),
    ("uct:60", "infosets", "full"),
    ("determinized:60,trees=4", "ties", "first"),
    ("possible:60", "belief", 50),
    ("possible:60", "trials", "visits"),
    ("snelleman-mcts:60", "belief", 50),
    ("cheating:60", "belief", 50),
    ("cheating:60", "endings", 10**6),
    ("minimax:depth=2", "hard", True),
    ("minimax:depth=2", "strict", True),
    ("alphabeta:depth=2", "keep_from", 1),
)


@pytest.mark.parametrize(("spec", "option", "value"), WITHOUT_EFFECT)
def test_an_option_without_effect_is_refused_and_has_none(spec, option, value):
    """The claim is tested too: set past the string, the option leaves every value and choice as it is."""
    name, _, rest = spec.partition(":")
    word = str(value).lower()
    with pytest.raises(BadOption, match=f"{option} has no effect: "):
        make_agent(f"{name}:{word},{rest}" if option == "iterations" else f"{spec},{option}={word}")
    game = TicTacToe() if name in ("minimax", "alphabeta") else DiminishingBridge(cards=6)
    reached = [random_state(game, 1, plies) for plies in range(6, 60)]
    between = [state for state in reached if state.mover >= 0 and len(state.legal_moves()) > 2]
    for state in {max(state.legal_moves()) >= BID: state for state in between}.values():  # a bid, and a card
        agents = make_agent(spec, game), make_agent(spec, game)
        setattr(agents[1], option, value)
        for agent in agents:
            agent.start(game, state.mover)
        found = [agent.advise(look(agent, state), 1) for agent in agents]
        ours, theirs = (np.array(rows_of(each)) for each in found)
        assert theirs == pytest.approx(ours, rel=1e-9, nan_ok=True)
        assert len({agent.choose(look(agent, state), 1) for agent in agents}) == 1


def test_what_has_an_effect_after_all_is_accepted():
    """Bids may take `iterations` playouts where cards get `each`; one tree knows what it tried first."""
    assert make_agent("snelleman-mc:60,each=7").iterations == 60
    with pytest.raises(BadOption, match="iterations has no effect"):
        make_agent("snelleman-mc:60,each=7,bidding=search")
    assert make_agent("determinized:60,trees=1,ties=first").ties == "first"


def test_an_option_at_its_default_is_no_mistake():
    """A grid over an option has the value that switches it off, too."""
    assert make_agent("ismcts:60,p=1,trees=20,growth=0").p == 1.0
    assert make_agent("possible:60,belief=0").belief == 0


@pytest.mark.parametrize(("rules", "spec"), CASES, ids=lambda x: str(x).replace("Briskola", ""))
def test_visits_add_up_values_stay_in_range_and_a_seed_gives_one_result(rules, spec):
    for plies in (0, 13, 27):
        state = random_state(rules, 7, plies)
        advice = think(spec, state)
        assert advice.iterations == ITERATIONS
        assert sum(row.visits for row in advice.rows) == ITERATIONS
        assert [row.move for row in advice.rows] == state.legal_moves()
        assert advice.best in state.legal_moves()
        for row in advice.rows:
            assert row.visits > 0
            assert row.visits <= row.available <= ITERATIONS
            assert 0 <= row.value <= (120 if advice.unit == "points" else 1)
            assert row.stderr >= 0
        assert rows_of(think(spec, state)) == rows_of(advice)
        assert not advice.exact


@pytest.mark.parametrize("spec", ["ismcts:150", "uct:150", "possible:150", "flat:150", "determinized:150"])
def test_another_seed_gives_another_result(spec):
    state = random_state(Briskola(2), 7, 10)
    assert rows_of(think(spec, state, seed=1)) != rows_of(think(spec, state, seed=2))


def test_an_agent_can_be_asked_again():
    """Memory that is kept for speed must not carry anything over."""
    for spec in ("ismcts:150", "determinized:150,trees=3", "possible:150", "ismcts:150,threads=2"):
        agent = make_agent(spec)
        first, other = random_state(Briskola(2), 7, 10), random_state(Briskola(2), 8, 20)
        advice = rows_of(agent.advise(first.view(), 1))
        agent.advise(other.view(), 1)
        agent.advise(deal(Briskola(3), 1).view(), 1)
        assert rows_of(agent.advise(first.view(), 1)) == advice


@pytest.mark.parametrize(
    "spec", ["ismcts:200,infosets=full", "possible:200", "uct:200", "flat:200", "determinized:200"]
)
@pytest.mark.parametrize("seats", [2, 3, 4])
def test_advice_depends_on_nothing_hidden(spec, seats):
    for plies in (1, 10, 25, 33):
        state = random_state(Briskola(seats), 5, plies)
        world = state.view().world(seed=3)
        assert rows_of(think(spec, state)) == rows_of(think(spec, world))


def test_cheating_looks_at_the_real_cards():
    state = random_state(Briskola(2), 5, 10)
    assert rows_of(think("cheating:200", state)) != rows_of(think("cheating:200", state.view().world(3)))


def test_final_choice():
    found = Statistics.of([10, 11, 12, 13])
    found.visits[:] = [5, 9, 9, 0]
    found.sums[:] = [4.5, 6.0, 7.0, 0.0]
    assert found.moves[found.best(by_value=False)] == 12  # as many visits as 11, a better mean
    assert found.moves[found.best(by_value=True)] == 10
    found.sums[:] = [3.0, 7.0, 7.0, 0.0]
    assert found.moves[found.best(by_value=False)] == found.moves[found.best(by_value=True)] == 11


# --- threads and time ---


def options(**changed):
    """Search options with the defaults of the agents."""
    return TreeSearch()._options()._replace(**changed)


def grow(view, iterations, rng, **changed):
    """A tree grown from a view, as the agents do it."""
    rules = view.game
    memory = tree.buffers(rules, 50 * iterations + 100)
    parts = (rules, score(rules), Habit(0.0), options(**changed), view.array, view.seat, memory)
    tree.search(*parts, memory_for_worlds(rules, 0), iterations, -1, True, rng)
    return memory


def root_statistics(memory, moves):
    """(visits, value) of every move at the root."""
    children = {int(n["key"]): (int(n["visits"]), float(n["value"])) for n in children_of(memory, tree.ROOT)}
    return [children[move] for move in moves]


def children_of(memory, number):
    nodes = memory.nodes[: memory.used[0]]
    return [node for i, node in enumerate(nodes) if i != tree.ROOT and node["parent"] == number]


@pytest.mark.parametrize(
    ("spec", "may_stop"),
    [
        ("ismcts:2000,c=0.1", True),
        ("ismcts:2000,c=0.1,infosets=full", True),
        ("uct:2000,c=0.1", True),
        ("possible:2000,c=0.1", True),
        ("ismcts:2000,c=0.1,chosen=value", False),
        ("ismcts:2000,c=0.1,threads=2", False),
        ("ismcts:2000,c=0.1,infosets=full,keep=true", False),
        ("determinized:2000,c=0.1,trees=2", False),
    ],
)
def test_choosing_stops_when_the_choice_is_certain(spec, may_stop):
    agent, saved = make_agent(spec), 0
    for seed in range(20):
        agent.start(Briskola(2), 0)
        view = look(agent, random_state(Briskola(2), seed, 12))
        before = agent.used
        move = agent.choose(view, seed)
        saved += 2000 - (agent.used - before)
        agent.start(Briskola(2), 0)
        assert move == agent.advise(view, seed).best
    assert saved > 0 if may_stop else saved == 0


def test_threads_are_independent_trees_summed():
    view = random_state(Briskola(2), 7, 10).view()
    moves = view.legal_moves()
    shares = [grow(view, n, stream(9, thread, 0)) for thread, n in enumerate((34, 33, 33))]
    separate = np.array([root_statistics(memory, moves) for memory in shares])
    visits, values = separate.sum(axis=0).T
    advice = make_agent("ismcts:100,threads=3").advise(view, seed=9)
    assert [row.visits for row in advice.rows] == visits.tolist()
    assert [row.value for row in advice.rows] == pytest.approx((120 * values / visits).tolist())
    assert rows_of(make_agent("ismcts:100,threads=3").advise(view, seed=9)) == rows_of(advice)


def test_trees_of_sampled_deals_are_summed():
    view = random_state(Briskola(2), 7, 10).view()
    visits = np.zeros(3)
    for number, n in enumerate((34, 33, 33)):
        world, rng, drawn = view.world(0), stream(9, 0, number), memory_for_worlds(view.game, 0)
        one_world(view.game, drawn, view.array, view.seat, world.array, rng)
        memory = grow(View(view.game, view.seat, view.array), 1, stream(0))
        parts = (
            view.game,
            score(view.game),
            Habit(0.0),
            options(worlds=tree.GIVEN),
            world.array,
            view.seat,
        )
        tree.search(*parts, memory, drawn, n, -1, True, rng)
        visits += [n for n, _ in root_statistics(memory, view.legal_moves())]
    advice = make_agent("determinized:100,trees=3").advise(view, seed=9)
    assert [row.visits for row in advice.rows] == visits.tolist()
    assert advice.worlds == 3


@pytest.mark.parametrize(
    "spec", ["ismcts:time=5ms", "determinized:time=5ms,trees=3", "possible:time=5ms,threads=2"]
)
def test_time_limit_stops_the_search(spec):
    advice = think(spec, random_state(Briskola(2), 7, 10))
    assert advice.iterations >= 64
    assert sum(row.visits for row in advice.rows) == advice.iterations


def test_time_limit_stops_when_all_is_proved():
    advice = think("uct:time=10m,backup=proved", random_state(Briskola(2), 7, 36))
    assert 0 < advice.iterations < 10_000


# --- the tree over possible moves ---


def test_possible_moves_of_the_opponent_are_all_unseen_cards():
    view = deal(Briskola(2), 4).view()
    memory = grow(view, 4000, stream(1), worlds=tree.POSSIBLE)
    unseen = {card for card in range(40) if view.game.unseen(view.record) >> card & 1}
    assert len(unseen) == 36
    for child in children_of(memory, tree.ROOT):
        number = find(memory, tree.ROOT, child["key"])
        replies = {int(node["key"]) for node in children_of(memory, number)}
        assert replies == unseen
        assert all(node["seat"] == 1 for node in children_of(memory, number))


def find(memory, parent, key):
    return int(entry(tree.find).interpreted(memory, parent, int(key)))


def test_possible_moves_after_a_draw_are_the_known_and_the_unseen():
    """Own cards drawn later are not known in the tree: each unseen card may be played."""
    state = set_up(["1D 2D 2S", "4D 5D 6D"], turned="7C", stock="4B 5B 6B 7B 11B")
    memory = grow(state.view(), 3000, stream(1), worlds=tree.POSSIBLE)
    lead = find(memory, tree.ROOT, ITALIAN.parse("1D"))
    reply = find(memory, lead, ITALIAN.parse("4D"))
    mine = {ITALIAN.text(node["key"]) for node in children_of(memory, reply)}
    assert mine == {"2D", "2S", "5D", "6D", "4B", "5B", "6B", "7B", "11B"}


# --- selection ---


def tree_by_hand(children):
    """A tree whose root has children, each with the results of its visits; expanded in full."""
    memory = tree.buffers(Briskola(2), 64)
    entry(tree.clear).interpreted(memory)
    for move, results in children.items():
        number = entry(tree.add).interpreted(memory, tree.ROOT, move, 0)
        memory.nodes[number]["visits"] = len(results)
        memory.nodes[number]["available"] = len(results)
        memory.nodes[number]["value"] = sum(results)
        memory.nodes[number]["squares"] = sum(x * x for x in results)
        memory.nodes[tree.ROOT]["visits"] += len(results)
    return memory


def chosen(memory, moves, how):
    """The move chosen at the root of a tree, and whether its node is new."""
    memory.moves[: len(moves)] = moves
    parts = (Briskola(2), how, memory, tree.ROOT, len(moves), stream(1))
    number, move, is_new = entry(tree.choose).interpreted(*parts)
    assert memory.nodes[number]["key"] == move
    return int(move), bool(is_new)


CHILDREN = {
    3: [0.5, 0.9, 0.1, 0.5],
    5: [0.7, 0.7],
    8: [0.2, 0.9, 0.9, 0.6, 0.5, 0.6, 0.8, 0.7, 0.6],
    9: [0.0, 1.0, 0.4],
}
TRIALS = sum(map(len, CHILDREN.values()))
MEANS = {move: sum(results) / len(results) for move, results in CHILDREN.items()}


@pytest.mark.parametrize("c", [0.0, 0.05, 0.3, 0.7, 2.0, 10.0])
@pytest.mark.parametrize(
    ("select", "inside", "formula"),
    [
        (tree.UCB1, False, lambda move, c: naive.ucb1(MEANS[move], len(CHILDREN[move]), TRIALS, c)),
        (
            tree.UCB1,
            True,
            lambda move, c: naive.ucb1_inside(MEANS[move], len(CHILDREN[move]), TRIALS, c),
        ),
        (tree.UCB1_TUNED, False, lambda move, c: naive.ucb1_tuned(CHILDREN[move], TRIALS, c)),
        (tree.GREEDY, False, lambda move, c: MEANS[move]),
    ],
    ids=["ucb1", "inside", "tuned", "greedy"],
)
def test_selection_follows_its_formula(select, inside, formula, c):
    how = options(worlds=tree.GIVEN, select=select, inside=inside, c=c)
    memory = tree_by_hand(CHILDREN)
    for node in children_of(memory, tree.ROOT):
        found = entry(tree.selection_score).interpreted(how, node_of(memory, node["key"]), math.log(TRIALS))
        assert found == pytest.approx(formula(int(node["key"]), c))
    best = max(CHILDREN, key=lambda move: formula(move, c))
    assert chosen(memory, list(CHILDREN), how) == (best, False)


def node_of(memory, key):
    return memory.nodes.view(np.recarray)[find(memory, tree.ROOT, key)]


def test_fresh_worlds_count_how_often_a_move_was_available():
    """Information-set UCB1 (Cowling et al. 2012): a rare move is not punished for being rare."""
    how = options(worlds=tree.FRESH, c=0.7)
    for available in (4, 40, 4000):
        memory = tree_by_hand(CHILDREN)
        node_of(memory, 3).available = available
        scores = {
            move: naive.ucb1(MEANS[move], len(results), 1 + len(results), 0.7)
            for move, results in CHILDREN.items()
        }
        scores[3] = naive.ucb1(MEANS[3], 4, available + 1, 0.7)
        assert chosen(memory, list(CHILDREN), how) == (max(scores, key=scores.get), False)
        assert node_of(memory, 3).available == available + 1


def test_fresh_worlds_may_count_the_visits_of_the_node():
    how = options(worlds=tree.FRESH, c=0.7, by_visits=True)
    scores = {move: naive.ucb1(MEANS[move], len(CHILDREN[move]), TRIALS, 0.7) for move in CHILDREN}
    for available in (4, 4000):
        memory = tree_by_hand(CHILDREN)
        node_of(memory, 3).available = available
        assert chosen(memory, list(CHILDREN), how) == (max(scores, key=scores.get), False)


def test_moves_that_are_not_legal_now_are_not_chosen():
    memory = tree_by_hand(CHILDREN)
    assert chosen(memory, [9, 3], options(select=tree.GREEDY)) == (3, False)
    assert node_of(memory, 8).available == len(CHILDREN[8])


def test_untried_moves_come_first():
    for expand in (tree.EXPAND_ONE, tree.EXPAND_ALL):
        memory = tree_by_hand(CHILDREN)
        assert chosen(memory, [3, 4, 5, 8, 9], options(expand=expand)) == (4, True)


def test_expansion_of_one_or_of_all():
    one, every = tree_by_hand(CHILDREN), tree_by_hand(CHILDREN)
    chosen(one, [20, 21, 22], options(expand=tree.EXPAND_ONE))
    chosen(every, [20, 21, 22], options(expand=tree.EXPAND_ALL))
    assert one.used[0] == 1 + len(CHILDREN) + 1
    assert every.used[0] == 1 + len(CHILDREN) + 3


def test_a_node_that_lacks_a_child_gets_all_and_ends_the_walk():
    """With expand=stop the first playout at a node begins there; its moves are tried after that."""
    memory = tree_by_hand(CHILDREN)
    memory.moves[:2] = 20, 21
    parts = (Briskola(2), options(expand=tree.EXPAND_STOP), memory, tree.ROOT, 2, stream(1))
    assert entry(tree.choose).interpreted(*parts)[0] == tree.NO_NODE
    assert memory.used[0] == 1 + len(CHILDREN) + 2
    view = random_state(Briskola(2), 7, 20).open_view()
    memory = grow(view, 300, stream(1), expand=tree.EXPAND_STOP, worlds=tree.GIVEN)
    nodes = memory.nodes[: memory.used[0]]
    assert nodes[tree.ROOT]["visits"] == 300
    below = np.zeros(len(nodes), int)
    np.add.at(below, nodes["parent"][1:], nodes["visits"][1:])
    inner = (nodes["visits"] > 0) & (nodes["children"] > 0)
    assert inner.sum() > 10
    assert (below[inner] == nodes["visits"][inner] - 1).all()


def test_playouts_for_every_legal_move():
    state = random_state(Briskola(2), 7, 10)
    assert [row.visits for row in think("flat:each=7", state).rows] == [7, 7, 7]
    for spec in (
        "ismcts:each=50",
        "ismcts:each=50,expand=stop,trials=visits",
        "uct:each=50,expand=path",
    ):
        assert think(spec, state).iterations == 150


def test_whole_paths_are_expanded():
    view = random_state(Briskola(2), 7, 10).view()
    memory = grow(view, 1, stream(1), expand=tree.EXPAND_PATH)
    depth, number = 0, tree.ROOT
    while below_it := children_of(memory, number):
        number = find(memory, number, next(n for n in below_it if n["visits"] == 1)["key"])
        depth += 1
    assert depth == 30


def grow_paths(view, lazy, iterations, seed, **changed):
    """A tree of whole paths on the real cards, grown at once or when they are needed."""
    memory = tree.buffers(view.game, 200_000, iterations if lazy else 0)
    how = options(worlds=tree.GIVEN, expand=tree.EXPAND_PATH, lazy=lazy, **changed)
    parts = (view.game, score(view.game), Habit(0.0), how, view.array, view.seat, memory)
    tree.search(*parts, memory_for_worlds(view.game, 0), iterations, -1, True, stream(seed))
    return memory


def test_paths_that_are_grown_when_needed_lack_nothing_but_what_was_visited_once():
    """Every visit of a node that does not end the game went on to a child, or is still a line of moves."""
    view = random_state(Briskola(2), 7, 31).open_view()
    eager, lazy = (grow_paths(view, lazy, 600, 1) for lazy in (False, True))
    assert lazy.used[0] < eager.used[0]
    nodes = lazy.nodes[: lazy.used[0]]
    sums = np.zeros(len(nodes), int)
    np.add.at(sums, nodes["parent"][1:], nodes["visits"][1:])
    depth = np.zeros(len(nodes), int)
    for number in range(1, len(nodes)):  # parents are older than their children
        depth[number] = depth[nodes["parent"][number]] + 1
    assert depth.max() == 9  # all moves that are left
    assert (nodes["visits"] == sums + (nodes["line"] > 0))[depth < 9].all()


def test_plays_are_kept_as_long_as_there_is_room(monkeypatch):
    """Where there is none, the search goes on, and the tree grows by a node a visit."""
    view = random_state(Briskola(2), 7, 20).open_view()
    enough = grow_paths(view, True, 300, 1)
    moves = int(enough.used[2])
    assert 300 < moves < 300 * 20  # as many as were made, not as many as a game may have
    monkeypatch.setattr(tree, "_MOVES_OF_LINES", moves)
    exact = grow_paths(view, True, 300, 1)
    assert len(exact.lines) == moves
    assert all((a == b).all() for a, b in zip(enough[6:8], exact[6:8], strict=True))
    assert (enough.nodes == exact.nodes).all()
    monkeypatch.setattr(tree, "_MOVES_OF_LINES", moves // 2)
    small = grow_paths(view, True, 300, 1)
    assert small.used[2] <= moves // 2
    assert small.used[1] < enough.used[1]
    assert small.nodes[tree.ROOT]["visits"] == 300


@pytest.mark.parametrize("changed", [{}, {"backup": tree.BACKUP_POWER, "p": 3.0}], ids=["mean", "power"])
def test_paths_that_are_grown_when_needed_lead_to_the_same_values(changed):
    """The mean over many searches of the value and of the visits of every move, both ways."""
    view = random_state(Briskola(2), 7, 20).open_view()
    found = []
    for lazy in (False, True):
        trees = [grow_paths(view, lazy, 150, seed, **changed) for seed in range(120)]
        found.append(np.array([root_statistics(t, view.legal_moves()) for t in trees]))
    eager, lazy = found
    error = np.sqrt(eager.var(axis=0) / 120 + lazy.var(axis=0) / 120)
    assert (np.abs(eager.mean(axis=0) - lazy.mean(axis=0)) < 4 * error).all()


def test_a_full_memory_stops_growth_not_search():
    view = random_state(Briskola(2), 7, 10).view()
    memory = tree.buffers(view.game, 10)
    parts = (view.game, score(view.game), Habit(0.0), options(), view.array, view.seat, memory)
    assert tree.search(*parts, memory_for_worlds(view.game, 0), 200, -1, True, stream(1)) == 200
    assert memory.used[0] == 10
    assert sum(n for n, _ in root_statistics(memory, view.legal_moves())) == 200


# --- the values of a tree ---


def test_every_node_has_as_many_visits_as_its_children_and_its_own_first():
    view = random_state(Briskola(2), 7, 10).view()
    for worlds in (tree.FRESH, tree.POSSIBLE):
        memory = grow(view, 500, stream(1), worlds=worlds)
        nodes = memory.nodes[: memory.used[0]]
        sums = np.zeros(len(nodes))
        np.add.at(sums, nodes["parent"][1:], nodes["visits"][1:])
        inner = sums > 0
        assert (nodes["visits"][inner] - sums[inner] == (np.arange(len(nodes)) > 0)[inner]).all()
        means = nodes["value"] / nodes["visits"]
        assert (means >= 0).all()
        assert (means <= 1).all()


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("worlds", [tree.FRESH, tree.POSSIBLE])
def test_no_node_is_available_more_often_than_its_parent_is_visited(worlds, merge):
    memory = grow(deal(Briskola(2), 4).view(), 2000, stream(1), worlds=worlds, merge=merge)
    nodes = memory.nodes[: memory.used[0]]
    assert (nodes["available"][1:] <= nodes["visits"][nodes["parent"][1:]]).all()
    assert (nodes["available"][1:] >= nodes["visits"][1:]).all()


def test_values_belong_to_the_seat_that_chose():
    """With two sides the value of a node is what its children leave, seen from the other side."""
    view = random_state(Briskola(2), 7, 10).view()
    memory = grow(view, 500, stream(1))
    root = memory.nodes[tree.ROOT]
    children = children_of(memory, tree.ROOT)
    assert {int(node["seat"]) for node in children} == {view.seat}
    assert sum(node["value"] for node in children) == pytest.approx(root["value"])
    helping = grow(view, 500, stream(1), helping=True)
    for number in range(1, int(helping.used[0])):
        below_it = children_of(helping, number)
        if below_it:
            total = sum(node["value"] for node in below_it)
            assert total <= helping.nodes[number]["value"] + 1e-9 <= total + 1 + 1e-8


# --- backup by power mean ---


def power(memory, p, seat=0, mover=0):
    for node in children_of(memory, tree.ROOT):
        node_of(memory, node["key"]).seat = mover
    root = memory.nodes.view(np.recarray)[tree.ROOT]
    rules = Briskola(2)
    parts = (rules, score(rules), options(p=p), memory, root, seat)
    return entry(tree.power_mean).interpreted(*parts)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 4.0, 16.0, 100.0])
def test_power_mean_follows_its_formula(p):
    visits = [len(results) for results in CHILDREN.values()]
    expected = naive.power_mean(list(MEANS.values()), visits, p)
    assert power(tree_by_hand(CHILDREN), p) == pytest.approx(expected)
    assert power(tree_by_hand(CHILDREN), p, seat=1) == pytest.approx(1 - expected)


def test_power_mean_goes_from_the_mean_to_the_best_child():
    memory = tree_by_hand(CHILDREN)
    everything = [x for results in CHILDREN.values() for x in results]
    assert power(memory, 1.0) == pytest.approx(sum(everything) / len(everything))
    rising = [power(memory, p) for p in (1.0, 2.0, 4.0, 8.0, 64.0, 1000.0)]
    assert rising == sorted(rising)
    assert rising[-1] == pytest.approx(max(MEANS.values()), abs=0.005)


def test_power_mean_of_values_that_rounding_has_driven_out_of_range():
    memory = tree_by_hand({3: [1.0 + 1e-15], 5: [-1e-17]})
    assert 0 <= power(memory, 1.5) <= 1


def inner_nodes(memory):
    return [
        (node, [child for child in children_of(memory, number) if child["visits"] > 0])
        for number, node in enumerate(memory.nodes[: memory.used[0]])
        if children_of(memory, number)
    ]


@pytest.mark.parametrize("helping", [False, True])
@pytest.mark.parametrize("p", [1.0, 6.0])
@pytest.mark.parametrize("seats", [2, 4])
def test_every_inner_node_is_the_power_mean_of_its_children(seats, p, helping):
    """Each side's mean for itself, seen by the one who chose the node; if all help the searcher,
    every value is the searcher's."""
    state = random_state(Briskola(seats), 7, 20)
    view = state.open_view()
    memory = grow(view, 400, stream(1), worlds=tree.GIVEN, backup=tree.BACKUP_POWER, p=p, helping=helping)
    checked = 0
    for number, (node, children) in enumerate(inner_nodes(memory)):
        means = [child["value"] / child["visits"] for child in children]
        expected = naive.power_mean(means, [int(child["visits"]) for child in children], p)
        chooser = view.seat if number == tree.ROOT else int(node["seat"])
        if not helping and view.game.team(chooser) != view.game.team(int(children[0]["seat"])):
            expected = 1 - expected
        assert node["value"] / node["visits"] == pytest.approx(expected)
        checked += 1
    assert checked > 20


def test_large_p_approaches_the_best_child():
    view = random_state(Briskola(2), 7, 20).open_view()
    means = []
    for p in (1.0, 300.0):
        memory = grow(view, 400, stream(1), worlds=tree.GIVEN, backup=tree.BACKUP_POWER, p=p)
        root = memory.nodes[tree.ROOT]
        children = children_of(memory, tree.ROOT)
        best = max(child["value"] / child["visits"] for child in children)
        means.append((root["value"] / root["visits"], best))
    assert means[0][0] < means[0][1] - 0.001
    assert means[1][0] == pytest.approx(means[1][1], abs=0.01)


# --- backup of proofs ---


def exact_values(state):
    """The points and the result that each move brings with perfect play."""
    twin = naive_of(state)
    points = {card: naive.best_scores(twin.after(card))[twin.turn] for card in twin.legal()}
    return points, {card: 1.0 if x > 60 else 0.5 if x == 60 else 0.0 for card, x in points.items()}


@pytest.mark.parametrize("n", [60, pytest.param(3000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("spec", ["uct:20000,backup=proved", "cheating:20000,backup=proved,expand=all"])
def test_proofs_reach_the_exact_value_and_stop_early(spec, n):
    for seed in range(n):
        state = random_state(Briskola(2), seed, 34 + seed % 5)
        points, _ = exact_values(state)
        advice = think(spec, state)
        assert advice.iterations < 20_000
        best = next(row for row in advice.rows if row.move == advice.best)
        assert best.value == pytest.approx(points[best.text])
        assert points[best.text] == max(points.values()), seed


@pytest.mark.parametrize("n", [100, pytest.param(5000, marks=pytest.mark.soak)])
def test_a_move_that_is_proved_best_is_chosen(n):
    """However few visits the proof took: in ending 355 another move has more of them."""
    for seed in range(300, 300 + n):
        state = random_state(Briskola(2), seed, 32 + seed % 4)
        _, wins = exact_values(state)
        advice = think("cheating:20000,backup=proved,objective=wins", state)
        if advice.iterations < 20_000:
            assert wins[advice.best_text] == max(wins.values()), seed


@pytest.mark.parametrize("seed", [316, 329, 376])
def test_proofs_do_not_wait_for_what_is_proved_already(seed):
    """Trees of 418 and 1,255 nodes: a draw that is proved must not be visited instead of the rest."""
    state = random_state(Briskola(2), seed, 32 + seed % 4)
    advice = think("cheating:20000,backup=proved,objective=wins", state)
    assert advice.iterations < 20_000


@pytest.mark.parametrize("helping", [False, True])
def test_proved_nodes_hold_the_exact_value(helping):
    for seed in range(20):
        state = random_state(Briskola(2), seed, 34)
        twin = naive_of(state)
        memory = grow(
            state.open_view(), 3000, stream(1), worlds=tree.GIVEN, backup=tree.BACKUP_PROVED, helping=helping
        )
        proved = [node for node in children_of(memory, tree.ROOT) if node["proved"]]
        assert proved
        for node in proved:
            after = twin.after(ITALIAN.text(node["key"]))
            if helping:
                exact = naive.most_if_all_help(after, twin.turn)
            else:
                exact = naive.best_scores(after)[twin.turn]
            assert 120 * node["value"] / node["visits"] == pytest.approx(exact)


def test_proofs_of_partners():
    for seed in range(10):
        state = random_state(Briskola(4), seed, 32)
        twin = naive_of(state)
        memory = grow(state.open_view(), 20_000, stream(1), worlds=tree.GIVEN, backup=tree.BACKUP_PROVED)
        root = memory.nodes[tree.ROOT]
        assert root["proved"]
        exact = naive.best_scores(twin)[twin.turn]
        assert 120 * root["value"] / root["visits"] == pytest.approx(exact)


# --- keeping the tree ---


def paths_of(memory, top=tree.ROOT):
    """The part of a tree below `top` as {keys from there: what the node knows}."""
    nodes = memory.nodes[: memory.used[0]]
    paths = {top: ()}
    found = {}
    for number in range(top + 1, len(nodes)):
        parent = int(nodes[number]["parent"])
        if parent in paths:
            paths[number] = (*paths[parent], int(nodes[number]["key"]))
            node = nodes[number]
            found[paths[number]] = tuple(
                node[name].item() for name in ("visits", "available", "value", "squares", "width", "seat")
            )
    return found


def copy_of(memory):
    return memory._replace(nodes=memory.nodes.copy(), slots=memory.slots.copy(), used=memory.used.copy())


def follow(agent, state, seat, move):
    """Let the agent at `seat` see a move, and make it; what the agent learned."""
    label = int(state.game.label(state.record, np.int64(move), seat))
    agent.learn(label)
    state.play(move)
    return label


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_a_kept_tree_is_the_part_behind_what_was_seen(seed):
    """Through an own move, and the reply that ends the trick: the card drawn decides the subtree."""
    state = random_state(Briskola(2), seed, 30)
    seat = state.mover
    agent = make_agent("ismcts:3000,keep=true,infosets=full")
    agent.start(state.game, seat)
    agent.advise(state.view(), 1)
    learned = []
    for _ in range(2):
        old, move = copy_of(agent._trees[0]), state.legal_moves()[0]
        label = follow(agent, state, seat, move)
        learned.append(label != move)
        top = find(old, tree.ROOT, -2 - label if label != move else move)
        assert paths_of(agent._trees[0]) == paths_of(old, top) != {}
        assert agent._trees[0].nodes[tree.ROOT]["visits"] == old.nodes[top]["visits"]
    assert learned == [False, True]
    if state.mover != seat:
        follow(agent, state, seat, state.legal_moves()[0])
    # Children that stand for a card drawn are a second node on the same path.
    carried = sum(n["visits"] for n in children_of(agent._trees[0], tree.ROOT) if n["key"] >= 0)
    assert carried > 0
    assert sum(row.visits for row in agent.advise(state.view(), 2).rows) == carried + 3000


def test_threads_keep_their_trees():
    state = random_state(Briskola(2), 7, 34)
    agent = make_agent("ismcts:300,keep=true,infosets=full,threads=3")
    agent.start(state.game, state.mover)
    advice = agent.advise(state.view(), 1)
    carried = next(row.visits for row in advice.rows if row.move == advice.best)
    agent.learn(advice.best)
    assert sum(int(memory.nodes[tree.ROOT]["visits"]) for memory in agent._trees) == carried


def test_a_new_game_and_an_unknown_move_forget_the_tree():
    state = random_state(Briskola(2), 7, 30)
    agent = make_agent("ismcts:100,keep=true,infosets=full")
    for forget in (lambda: agent.start(state.game, 0), lambda: agent.learn(12345)):
        first = agent.advise(state.view(), 1)
        forget()
        assert rows_of(agent.advise(state.view(), 1)) == rows_of(first)
        agent.start(state.game, 0)


@pytest.mark.parametrize("rules", [Briskola(2), Briskola(3), Briskola(4, partners_look=True)], ids=str)
def test_kept_trees_play_whole_games(rules):
    agents = [make_agent("ismcts:60,keep=true,infosets=full", rules) for _ in range(rules.seats)]
    returns = play_game(rules, agents, seed=1, deal=0, seating=0).scores
    assert returns.sum() == (240 if rules.seats == 4 else 120)


# --- compiled and interpreted ---


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"observe": True, "expand": tree.EXPAND_ALL},
        {"select": tree.UCB1_TUNED, "expand": tree.EXPAND_PATH},
        {"worlds": tree.POSSIBLE, "inside": True, "helping": True},
        {"worlds": tree.GIVEN, "backup": tree.BACKUP_POWER, "p": 4.0},
        {"worlds": tree.GIVEN, "backup": tree.BACKUP_PROVED},
    ],
    ids=["default", "full", "tuned", "possible", "power", "proved"],
)
def test_compiled_and_interpreted_searches_agree(changed):
    state = random_state(Briskola(2), 7, 22)
    view = state.open_view() if changed.get("worlds") == tree.GIVEN else state.view()
    trees = []
    for search in (tree.search, tree.search.interpreted):
        memory = tree.buffers(view.game, 20_000)
        how = options(**changed)
        parts = (view.game, score(view.game, 0.5), Habit(0.3), how, view.array, view.seat, memory)
        search(*parts, memory_for_worlds(view.game, 0), 250, -1, True, stream(3))
        trees.append(memory.nodes[: memory.used[0]])
    compiled, interpreted = trees
    assert len(compiled) == len(interpreted)
    for name in ("key", "parent", "child", "sibling", "visits", "available", "width", "seat", "proved"):
        assert (compiled[name] == interpreted[name]).all(), name
    assert compiled["value"] == pytest.approx(interpreted["value"])


# --- flat Monte Carlo ---


def test_flat_monte_carlo_gives_every_move_as_many_playouts():
    state = random_state(Briskola(2), 7, 10)
    advice = think("flat:100", state)
    assert [row.visits for row in advice.rows] == [33, 33, 33]
    assert advice.iterations == advice.worlds == 99
    assert advice.best == max(advice.rows, key=lambda row: row.value).move
    assert [row.visits for row in think("flat:1", state).rows] == [1, 1, 1]


def test_flat_monte_carlo_finds_the_mean_of_random_play():
    state = random_state(Briskola(2), 7, 34)
    twin = naive_of(state)
    for row in think("flat:20000", state).rows:
        exact = naive.mean_if_all_play_randomly(twin.after(row.text), twin.turn)
        assert row.value == pytest.approx(exact, abs=5 * row.stderr + 1e-9)


# --- what cannot be done ---


@game
class Guess(NamedTuple):
    """One seat hides a coin, the other guesses; without the methods that some searches need."""

    seats: int = 2

    state = np.dtype([("coin", "i8"), ("plies", "i8")])
    max_moves, max_plies = 2, 2

    def deal(game, state, rng):
        pass

    def mover(game, state):
        return state.plies

    def legal(game, state, moves):
        moves[0], moves[1] = 1, 2
        return 2

    def play(game, state, move):
        state.coin = move if state.plies == 0 else state.coin - move
        state.plies += 1

    def is_over(game, state):
        return state.plies == 2

    def returns(game, state, out):
        out[0] = 0.0 if state.coin == 0 else 1.0
        out[1] = 1.0 - out[0]

    def hide(game, state, seat):
        if seat == 1 and state.plies == 1:
            state.coin = 0


@pytest.mark.parametrize(
    ("rules", "spec", "message"),
    [
        (Guess(), "possible:10", "needs the methods 'possible' and 'grant' of Guess"),
        (Guess(), "rule-based", "Guess has no rules of thumb"),
        (Briskola(3), "uct:10,backup=power", "backup=power needs two sides"),
        (Briskola(3), "cheating:10,backup=proved", "backup=proved needs two sides"),
        (Briskola(2), "ismcts:10,backup=power", "needs positions that are known in the tree"),
        (Briskola(2), "possible:10,backup=proved", "needs positions that are known in the tree"),
        (Briskola(2), "uct:10,keep=true", "keep=true cannot keep trees with worlds=one"),
        (Briskola(2), "determinized:10,keep=true", "keep=true cannot keep trees with worlds=many"),
        (Briskola(2), "possible:10,keep=true", "keep=true cannot keep trees with worlds=possible"),
        (Briskola(2), "ismcts:10,keep=true", "add infosets=full"),
    ],
)
def test_what_a_search_cannot_do_is_said(rules, spec, message):
    agent = make_agent(spec, rules)
    with pytest.raises(Unsupported, match=message):
        agent.choose(look(agent, deal(rules, 1)), 1)


# --- stopping ---


@pytest.mark.parametrize(
    ("game", "spec"),
    [
        ("briskola", "ismcts:100_000_000_000"),
        ("briskola", "ismcts:time=10m"),
        ("briskola", "determinized:1_000_000_000,trees=100"),
        ("briskola", "flat:100_000_000_000"),
        pytest.param("briskola", "pimc:100_000", marks=pytest.mark.soak),
        ("bridge", "pimc:1_000_000"),
        pytest.param("othello", "alphabeta:depth=60", marks=pytest.mark.soak),
    ],
)
def test_a_search_that_another_thread_stops_answers_by_what_it_has_found(game, spec):
    import threading
    import time

    rules = games.load(game)
    view = deal(rules, 7).view()
    agent = make_agent(spec, rules)
    few = "alphabeta:depth=1" if spec.startswith("alphabeta") else spec.split(":")[0] + ":1"
    make_agent(few, rules).advise(view, 1)  # compiles
    agent.start(rules, view.seat)
    found = []
    thread = threading.Thread(target=lambda: found.append(agent.advise(view, 1)))
    thread.start()
    thread.join(0.7)
    assert thread.is_alive()
    agent.stop()
    began = time.perf_counter() - kernel.seconds_compiling()
    while thread.is_alive() and time.perf_counter() - kernel.seconds_compiling() - began < 30:
        thread.join(0.1)
    assert found
    assert found[0].best in view.legal_moves()
    assert found[0].iterations > 0
    assert agent.choose(view, 1) in view.legal_moves()  # at once, until a new game begins


def test_slices_do_not_change_what_a_search_finds(monkeypatch):
    view = deal(games.load("briskola"), 7).view()
    whole = [make_agent(spec).advise(view, 3).rows for spec in ("ismcts:500", "flat:600", "flat:each=70")]
    monkeypatch.setattr(montecarlo, "_MOST_AT_ONCE", 64)
    assert [
        make_agent(spec).advise(view, 3).rows for spec in ("ismcts:500", "flat:600", "flat:each=70")
    ] == whole
