"""One tree search for all: UCT, information-set search, search over possible moves, and more.

An iteration walks down the tree by a selection rule, adds nodes, plays out and backs the result
up. What the walk walks *on* is the option `worlds`:

- `FRESH`: each iteration deals the unseen cards anew and considers only the moves of that world;
  nodes are what the searching seat can tell apart (information-set MCTS, Cowling et al. 2012);
- `GIVEN`: one world, one tree: plain UCT, for perfect information or one sampled deal;
- `POSSIBLE`: nothing is dealt in the tree; a seat may make every move it might hold as far as the
  searching seat knows, and the unseen cards are dealt only for the playout (Karamatić 2017).

A node is reached by a move: it is found by (parent, key) in a hash table, and `value` adds up the
results for the seat that chose the move. Where the searching seat learns more than the move itself
(a card that it draws), the position behind it is a second node, keyed by the label: the choice
between moves must not depend on what is only seen afterwards.

Every buffer belongs to the caller; see `kibitz.search.montecarlo` for the friendly side.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.kernel import entry, kernel
from kibitz.protocol import UNNOTICED, awaits_move
from kibitz.rng import below
from kibitz.search.objective import play_out
from kibitz.search.worlds import are_foreseen, deal_for_move, deal_rest, draw_world

FRESH, GIVEN, POSSIBLE = 0, 1, 2
UCB1, UCB1_TUNED, GREEDY = 0, 1, 2
EXPAND_ONE, EXPAND_ALL, EXPAND_PATH, EXPAND_STOP = 0, 1, 2, 3
BACKUP_MEAN, BACKUP_POWER, BACKUP_PROVED = 0, 1, 2

AFTER_ALL_OTHERS = 1e9  # a step below every score
NEVER_DECIDED = -1
NOT_OVER = -1  # instead of a number of iterations: a game was not over after `max_plies`
TOO_DEEP = 0  # instead of the length of a path: it has more moves than a game
ROOT, NO_NODE = 0, 0  # the root is nobody's child, so its number also means "none"

NODE = np.dtype(
    [
        ("key", "i8"),  # the move, or −2 − label for what was learned beside it
        ("value", "f8"),  # sum of results for `seat`
        ("squares", "f8"),
        *(("parent", "i4"), ("child", "i4"), ("sibling", "i4")),
        *(("visits", "i4"), ("available", "i4")),
        ("noticed", "i4"),  # the parent's visits when `available` was last counted
        ("width", "i2"),  # legal moves at this node, once it has been seen
        ("children", "i2"),
        ("line", "i4"),  # 1 + the number of the play that is all that is known below, else 0
        ("seat", "i1"),  # who chose the move
        ("proved", "u1"),  # `value` is exact
    ],
    align=True,
)


class Options(NamedTuple):
    """How to search; see `kibitz.search.montecarlo.TreeSearch` for the words behind the numbers."""

    worlds: int
    select: int
    c: float
    inside: bool
    expand: int
    backup: int
    p: float
    growth: float
    helping: bool
    merge: bool
    observe: bool
    prune: bool
    playouts: int
    lazy: bool
    by_visits: bool
    top: float


class Buffers(NamedTuple):
    """All memory of one search, allocated once."""

    nodes: NDArray[Any]
    slots: NDArray[np.int32]  # hash table of node numbers, a power of two long
    used: NDArray[np.int64]  # [nodes in use, lines in use, moves of lines in use]
    positions: NDArray[Any]  # [the position walked on, the position played out]
    moves: NDArray[np.int64]
    path: NDArray[np.int64]
    values: NDArray[np.float64]
    sums: NDArray[np.float64]
    lines: NDArray[np.int64]  # moves of whole plays, play after play, for paths that are grown when needed
    starts: NDArray[np.int64]  # [play]: where in `lines` the move at the root would be
    results: NDArray[np.float64]  # [play, seat]


_MOVES_OF_LINES = 1 << 25
"""Moves that are kept of all plays together, at most: 268 MB, used as far as plays are that long."""


def buffers(game: Any, capacity: int, lines: int = 0) -> Buffers:
    """Memory for a search of `game` with at most `capacity` nodes; `lines` plays are kept as moves."""
    slots = 1 << max(4, (2 * capacity - 1).bit_length())
    return Buffers(
        np.zeros(capacity, NODE),
        np.zeros(slots, np.int32),
        np.array([1, 0, 0]),
        np.zeros(2, game.state),
        np.zeros(game.max_moves, np.int64),
        np.zeros(2 * game.max_plies + 2, np.int64),
        np.zeros(2 * game.seats),
        np.zeros(game.seats),
        np.zeros(min(lines * game.max_plies, _MOVES_OF_LINES), np.int64),
        np.zeros(lines, np.int64),
        np.zeros((lines, game.seats)),
    )


# Logarithms of visits are asked for at every node; most visits are few.
_LOGS = np.array([-math.inf, *(math.log(n) for n in range(1, 2048))])


@kernel
def log_of(n):
    """The logarithm of a number of visits."""
    return _LOGS[n] if n < len(_LOGS) else math.log(n)


_HASH_1, _HASH_2 = np.int64(0x1E3779B97F4A7C15), np.int64(0x3F58476D1CE4E5B9)
_HALF = np.int64(32)


@kernel
def first_slot(slots, parent, key):
    """Where to begin looking for a node in the hash table."""
    mixed = np.int64(parent) * _HASH_1 + np.int64(key) * _HASH_2
    return (mixed ^ (mixed >> _HALF)) & (len(slots) - 1)


@kernel
def find(tree, parent, key):
    """The node behind `parent` for `key`, or NO_NODE."""
    slot = first_slot(tree.slots, parent, key)
    node = tree.slots[slot]
    while node != NO_NODE:
        if tree.nodes[node].key == key and tree.nodes[node].parent == parent:
            return node
        slot = (slot + 1) & (len(tree.slots) - 1)
        node = tree.slots[slot]
    return node


@kernel
def add(tree, parent, key, seat):
    """A new node behind `parent`, or NO_NODE if the memory is full."""
    number = tree.used[0]
    if number >= len(tree.nodes):
        return NO_NODE
    tree.used[0] = number + 1
    node = tree.nodes[number]
    node.key, node.parent, node.seat = key, parent, seat
    node.child, node.sibling = NO_NODE, tree.nodes[parent].child
    node.visits, node.available, node.width, node.proved, node.children = 0, 1, 0, 0, 0
    node.line = 0
    node.noticed = tree.nodes[parent].visits
    node.value, node.squares = 0.0, 0.0
    tree.nodes[parent].child = number
    tree.nodes[parent].children += 1
    slot = first_slot(tree.slots, parent, key)
    while tree.slots[slot] != NO_NODE:
        slot = (slot + 1) & (len(tree.slots) - 1)
    tree.slots[slot] = number
    return number


@kernel
def clear(tree):
    """Forget everything but an empty root."""
    tree.used[0], tree.used[1], tree.used[2] = 1, 0, 0
    tree.slots[:] = NO_NODE
    root = tree.nodes[ROOT]
    root.child, root.visits, root.width, root.proved, root.children = NO_NODE, 0, 0, 0, 0
    root.parent, root.key, root.sibling, root.seat = -1, 0, NO_NODE, 0
    root.value, root.squares, root.available, root.line = 0.0, 0.0, 0, 0


@kernel
def selection_score(options, node, log_of_trials):
    """How promising a visited child is, by the logarithm of the chances that there were to choose it."""
    mean = node.value / node.visits
    if node.proved == 1:  # there is nothing more to learn, unless nothing else is left
        return mean - AFTER_ALL_OTHERS
    if options.select == GREEDY:
        return mean
    bound = log_of_trials / node.visits
    if options.select == UCB1_TUNED:  # Auer et al. 2002: the variance bounds the width
        variance = max(0.0, node.squares / node.visits - mean * mean) / options.top**2
        width = min(0.25, variance + math.sqrt(2.0 * bound))
        return mean + options.c * options.top * math.sqrt(bound * width)
    if options.inside:
        return mean + math.sqrt(options.c * bound)
    return mean + options.c * math.sqrt(bound)


@kernel
def key_of(game, options, state, node, move):
    """What a move is known by in the tree: moves that are alike share a child, but at the root."""
    return game.alike(state, move) if options.merge and node != ROOT else move


@kernel
def add_missing(game, options, tree, node, n, seat):
    """Add a child for every move that has none yet; whether there was one, and there is room."""
    before = tree.used[0]
    for i in range(n):
        key = key_of(game, options, tree.positions[0], node, tree.moves[i])
        if find(tree, node, key) == NO_NODE:
            add(tree, node, key, seat)
    return tree.used[0] > before


@kernel
def choose(game, options, tree, node, n, rng):
    """The child to walk to, the move that leads there, and whether the child is new.

    Any untried move comes first, then what is not proved yet, by promise.
    """
    state, moves = tree.positions[0], tree.moves
    seat = game.mover(state)
    visit = tree.nodes[node].visits
    if options.expand == EXPAND_STOP and add_missing(game, options, tree, node, n, seat):
        return NO_NODE, moves[0], False
    best, best_move, best_score = NO_NODE, moves[0], -math.inf
    untried, picked, picked_move = 0, NO_NODE, moves[0]
    for i in range(n):
        move = moves[i]
        key = key_of(game, options, state, node, move)
        number = find(tree, node, key)
        if number == NO_NODE and options.expand == EXPAND_ALL:
            number = add(tree, node, key, seat)
        if number != NO_NODE and tree.nodes[number].noticed != visit:
            tree.nodes[number].noticed = visit
            tree.nodes[number].available += 1
        if number == NO_NODE or tree.nodes[number].visits == 0:
            untried += 1
            if below(rng, untried) == 0:
                picked, picked_move = number, move
            continue
        child = tree.nodes[number]
        trials = visit if options.by_visits or options.worlds != FRESH else child.available
        score = selection_score(options, child, log_of(trials))
        if score > best_score:
            best, best_move, best_score = number, move, score
    if untried == 0:
        return best, best_move, False
    if picked == NO_NODE:
        picked = add(tree, node, key_of(game, options, state, node, picked_move), seat)
    return picked, picked_move, True


@kernel
def best_child(options, tree, node):
    """The most promising child of a node whose moves have all been tried; of equals the one listed first."""
    log_of_visits = log_of(tree.nodes[node].visits)
    best, best_score = NO_NODE, -math.inf
    number = tree.nodes[node].child
    while number != NO_NODE:
        child = tree.nodes[number]
        score = selection_score(options, child, log_of_visits)
        if score > best_score or (score == best_score and child.key < tree.nodes[best].key):
            best, best_score = number, score
        number = child.sibling
    tree.nodes[best].available += 1
    return best


@kernel
def try_new(game, options, tree, node, n, rng):
    """A child for a random untried move, where a node always has the same moves.

    Drawn until one is new: while most are, that is quicker than to look all of them up.
    """
    for _ in range(2 * n):
        move = tree.moves[below(rng, n)]
        if find(tree, node, move) == NO_NODE:
            return add(tree, node, move, game.mover(tree.positions[0])), move, True
    return choose(game, options, tree, node, n, rng)


@kernel
def list_moves(game, options, state, moves):
    """The moves to choose from at a node."""
    if options.worlds == POSSIBLE:
        return game.possible(state, moves)
    if options.prune:
        return game.promising(state, moves)
    return game.legal(state, moves)


@kernel
def grow_along(game, options, tree, node, ply, seat):
    """Grow the child that the first play through a node went to, of which only the moves were kept."""
    line = np.int64(tree.nodes[node].line) - 1
    state = tree.positions[0]
    move = np.int64(tree.lines[tree.starts[line] + ply])
    mover = game.mover(state)
    number = add(tree, node, key_of(game, options, state, node, move), mover)
    tree.nodes[node].line = 0
    if number != NO_NODE:
        child = tree.nodes[number]
        child.visits, child.line = 1, line + 1
        child.value = tree.results[line, seat if options.helping else mover]
        child.squares = child.value * child.value


@kernel
def longest(tree):
    """The most moves of a game, `max_plies`: a path has room for two nodes a move."""
    return (len(tree.path) >> 1) - 1


@kernel
def play_along(game, tree, leaf, ply, rng):
    """Play on at random from a new leaf, and keep the moves: they are the path below it.

    Returns whether the game ended in time.
    """
    state = tree.positions[0]
    line, first = tree.used[1], tree.used[2]
    is_kept = line < len(tree.starts)
    plies, most = 0, longest(tree)
    while plies < most and awaits_move(game, state):
        move = game.random_move(state, tree.moves, rng)
        is_kept = is_kept and first + plies < len(tree.lines)
        if is_kept:
            tree.lines[first + plies] = move
        plies += 1
        game.play(state, move)
    if is_kept:
        tree.used[1], tree.used[2] = line + 1, first + plies
        tree.starts[line] = first - ply
        tree.nodes[leaf].line = line + 1
    return plies < most or not awaits_move(game, state)


@kernel
def walk(game, options, tree, worlds, seat, rng):
    """Walk from the root to a leaf of the tree; the number of nodes on the path, or TOO_DEEP."""
    state = tree.positions[0]
    node, depth = ROOT, 1
    tree.path[0] = ROOT
    # One new child a visit, known by its move, at nodes that always have the same moves.
    is_plain = options.worlds != FRESH and not options.merge and not options.observe
    is_plain = is_plain and (options.expand == EXPAND_ONE or options.lazy)
    while awaits_move(game, state):
        if is_plain and 0 < tree.nodes[node].width == tree.nodes[node].children:
            child = best_child(options, tree, node)
            move, is_new = tree.nodes[child].key, False
        else:
            if tree.nodes[node].line > 0:
                grow_along(game, options, tree, node, depth - 1, seat)
            n = list_moves(game, options, state, tree.moves)
            tree.nodes[node].width = n
            if is_plain:
                child, move, is_new = try_new(game, options, tree, node, n, rng)
            else:
                child, move, is_new = choose(game, options, tree, node, n, rng)
        # What exists is as deep as a walk has been; only moves that nobody notices repeat a node.
        if (is_new or options.observe) and depth + 2 > len(tree.path):
            return TOO_DEEP
        if depth == 1 and are_foreseen(worlds):  # own moves are known before the cards are dealt
            if child == NO_NODE:
                deal_rest(game, worlds, seat, tree.positions, rng)
            else:
                deal_for_move(game, worlds, seat, move, tree.positions, tree.moves, rng)
        if child == NO_NODE:
            break
        tree.path[depth] = child
        depth += 1
        if tree.nodes[child].proved == 1:
            break
        if options.worlds == POSSIBLE:
            game.grant(state, move, rng)
        learned = game.label(state, move, seat) if options.observe else move
        game.play(state, move)
        if learned != move and learned != UNNOTICED:
            key = -2 - learned
            behind = find(tree, node, key)
            if behind == NO_NODE:
                behind = add(tree, node, key, tree.nodes[child].seat)
                if behind == NO_NODE:
                    break
                is_new = True
            child = behind
            tree.path[depth] = child
            depth += 1
        if is_new and (options.lazy or options.expand < EXPAND_PATH):
            break
        node = child if learned != UNNOTICED else node  # the searcher is where it was
    return depth


@kernel
def evaluate(game, objective, policy, options, tree, worlds, seat, rng):
    """The value of the leaf for every seat, by `playouts` playouts, into `tree.values`.

    Returns whether all playouts ended in time.
    """
    if not awaits_move(game, tree.positions[0]):
        objective.value(game, tree.positions[0], tree.values)
        return True
    for s in range(game.seats):
        tree.sums[s] = 0.0
    if options.worlds == POSSIBLE:
        game.prepare(tree.positions[0], seat, worlds.plan[0])
    for _ in range(options.playouts):
        tree.positions[1] = tree.positions[0]
        if options.worlds == POSSIBLE:
            game.sample(tree.positions[1], seat, worlds.plan[0], rng)
        if play_out(game, policy, tree.positions[1], tree.moves, longest(tree), rng) < 0:
            return False
        objective.value(game, tree.positions[1], tree.values)
        for s in range(game.seats):
            tree.sums[s] += tree.values[s]
    for s in range(game.seats):
        tree.values[s] = tree.sums[s] / options.playouts
    return True


@kernel
def back_up(game, objective, options, tree, depth, seat, is_exact):
    """Add the values of the leaf to all nodes of the path, from the leaf up."""
    for d in range(depth - 1, -1, -1):
        node = tree.nodes[tree.path[d]]
        owner = seat if d == 0 else node.seat
        if options.backup == BACKUP_PROVED and node.proved == 0 and node.child != NO_NODE:
            prove(game, objective, options, tree, node, owner)
        value = tree.values[seat if options.helping else owner]
        node.visits += 1
        node.value += value
        node.squares += value * value
        if options.backup == BACKUP_POWER and node.child != NO_NODE:
            settle(node, power_mean(game, objective, options, tree, node, owner))
        elif options.backup == BACKUP_PROVED:
            if d == depth - 1 and is_exact:
                node.proved = 1
            if node.proved == 1:
                settle(node, value)


@kernel
def settle(node, value):
    """Make `value` the mean of all visits."""
    node.value = value * node.visits
    node.squares = value * value * node.visits


@kernel
def seen_by(game, objective, options, value, from_seat, to_seat):
    """A value of one seat as the value of another: two sides share `top`, unless all help one."""
    same = options.helping or game.team(from_seat) == game.team(to_seat)
    return value if same else objective.top - value


@kernel
def power_mean(game, objective, options, tree, node, owner):
    """The generalized mean of the children for the seat that chooses among them (McKay).

    ((Σ Xᵢᵖ Tᵢ) / Σ Tᵢ)^(1/p); for the other side top − X stands for X. Rounding may leave the range:
    clamped, or the root of a negative number would decide silently. p may grow with the visits: the more
    is known of the children, the more the best of them counts.
    """
    total, visits = 0.0, 0
    p = options.p + options.growth * log_of(node.visits)
    mover = tree.nodes[node.child].seat
    number = node.child
    while number != NO_NODE:
        child = tree.nodes[number]
        if child.visits > 0:
            mean = min(max(child.value / child.visits, 0.0), objective.top)
            total += mean**p * child.visits
            visits += child.visits
        number = child.sibling
    if visits == 0:  # the memory is full, and nothing below was ever reached
        return node.value / node.visits
    mean = min(max((total / visits) ** (1.0 / p), 0.0), objective.top)
    return seen_by(game, objective, options, mean, mover, owner)


@kernel
def prove(game, objective, options, tree, node, owner):
    """Prove a node when all its children are proved, or one that cannot be bettered.

    Where one is proved, its mover gets no less than that: the result on its way up becomes at
    least that good for the mover, though the walk went elsewhere to learn something.
    """
    mover = tree.nodes[node.child].seat
    proved, best = 0, -1.0
    number = node.child
    while number != NO_NODE:
        child = tree.nodes[number]
        if child.proved == 1:
            proved += 1
            best = max(best, child.value / child.visits)
        number = child.sibling
    if proved == node.width or best >= objective.top:
        node.proved = 1
    judge = owner if options.helping else mover
    if node.proved == 1 or best > tree.values[judge]:
        for s in range(game.seats):
            tree.values[s] = seen_by(game, objective, options, best, mover, s)


@kernel
def iterate(game, objective, policy, options, root, seat, tree, worlds, rng):
    """One iteration from the view (or world) `root`; whether the game that it played ended in time."""
    if options.worlds == FRESH and not are_foreseen(worlds):
        draw_world(game, worlds, root, seat, tree.positions, rng)
    else:
        tree.positions[0] = root[0]
    depth = walk(game, options, tree, worlds, seat, rng)
    if depth == TOO_DEEP:
        return False
    leaf = tree.nodes[tree.path[depth - 1]]
    is_exact = leaf.proved == 1 or not awaits_move(game, tree.positions[0])
    in_time = True
    if leaf.proved == 1:
        exact = leaf.value / leaf.visits
        for s in range(game.seats):
            tree.values[s] = seen_by(game, objective, options, exact, leaf.seat, s)
    elif options.lazy:
        in_time = play_along(game, tree, tree.path[depth - 1], depth - 1, rng)
        objective.value(game, tree.positions[0], tree.values)
        for s in range(game.seats if leaf.line > 0 else 0):
            tree.results[leaf.line - 1, s] = tree.values[s]
    else:
        in_time = evaluate(game, objective, policy, options, tree, worlds, seat, rng)
    back_up(game, objective, options, tree, depth, seat, is_exact)
    return in_time


_LOOK_EVERY = 64  # iterations between two looks at the choice


@kernel
def is_decided(tree, left):
    """Whether the most visited move stays so, wherever the iterations that are left go."""
    most, second = 0, 0
    number = tree.nodes[ROOT].child
    while number != NO_NODE:
        visits = tree.nodes[number].visits
        if tree.nodes[number].key < 0:  # what was learned beside a move
            visits = 0
        if visits > most:
            most, second = visits, most
        else:
            second = max(second, visits)
        number = tree.nodes[number].sibling
    return most - second > left


@kernel
def grow(game, objective, policy, options, root, seat, tree, worlds, iterations, later, fresh_tree, rng):
    """Search on from `root` for `iterations` more; fewer if the root is proved. How many, or NOT_OVER.

    `later` says how many are to follow in further calls: the search ends when they cannot change which
    move has the most visits. NEVER_DECIDED: the figures matter, not only the choice.
    """
    if fresh_tree:
        clear(tree)
    for i in range(iterations):
        if not iterate(game, objective, policy, options, root, seat, tree, worlds, rng):
            return NOT_OVER
        if tree.nodes[ROOT].proved == 1:
            return i + 1
        if i % _LOOK_EVERY == 0 and later >= 0 and is_decided(tree, later + iterations - i - 1):
            return i + 1
    return iterations


@entry
def search(game, objective, policy, options, root, seat, tree, worlds, iterations, later, fresh_tree, rng):
    """`grow`, called from Python."""
    return grow(
        game, objective, policy, options, root, seat, tree, worlds, iterations, later, fresh_tree, rng
    )


@entry
def descend(old, new, key):
    """Copy the part of the tree behind the root's edge `key` into `new`; whether there is one.

    Children are younger than their parents, so one pass over the nodes finds all descendants.
    """
    clear(new)
    top = find(old, ROOT, -2 - key)
    if top == NO_NODE:
        top = find(old, ROOT, key)
    if top == NO_NODE:
        return False
    place = old.slots  # no longer needed as a hash table: now the new number of every old node
    for i in range(old.used[0]):
        place[i] = NO_NODE
    root = new.nodes[ROOT]
    root.visits, root.value, root.squares = (
        old.nodes[top].visits,
        old.nodes[top].value,
        old.nodes[top].squares,
    )
    root.width = old.nodes[top].width
    for i in range(top + 1, old.used[0]):
        node = old.nodes[i]
        if node.parent == top or place[node.parent] != NO_NODE:
            number = add(new, ROOT if node.parent == top else place[node.parent], node.key, node.seat)
            place[i] = number
            copy = new.nodes[number]
            copy.visits, copy.available, copy.width = node.visits, node.available, node.width
            copy.value, copy.squares, copy.proved = node.value, node.squares, node.proved
    return True
