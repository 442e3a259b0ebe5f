"""Prove a game or an agent right: `check_game`, `check_hidden`, `check_agent`.

Public, for games written anywhere: `kibitz check my_game.py` runs all three (`check_all`). Every check says
in one line what was tried or what broke. `CheckFailed` is raised at the end if one of them broke.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from kibitz import games, protocol
from kibitz.agents import look, make_agent
from kibitz.arena.play import play_game, seatings
from kibitz.errors import KibitzError
from kibitz.kernel import entry
from kibitz.position import State
from kibitz.protocol import MOST_EVENTS
from kibitz.rng import stream
from kibitz.showing import numbered
from kibitz.trial import Broken, demand, told, walk

EVERY_AGENT = (
    *(
        "random",
        "rule-based",
        "flat:30",
        "ismcts:60",
        "ismcts:60,infosets=full",
        "determinized:60,trees=4",
    ),
    *("uct:60", "possible:60", "ismcts:60,threads=2", "ismcts:60,keep=true,infosets=full,playout=0.5"),
)
"""Agents that look at hidden cards in every way there is; a game that lacks what one needs skips it."""

Redeal = Callable[[State, int, random.Random], "State | None"]


@dataclass(frozen=True)
class Check:
    """One thing that was tried."""

    name: str
    ok: bool
    detail: str


class CheckFailed(KibitzError, AssertionError):
    """At least one check broke."""

    exit_code = 1

    def __init__(self, checks: list[Check]) -> None:
        self.checks = checks
        super().__init__("; ".join(f"{c.name}: {c.detail}" for c in checks if not c.ok))


def _run(game: Any, checks: list[tuple[str, Callable[[], str]]]) -> list[Check]:
    """Try one after the other; if the first breaks, the others are not tried.

    The first runs interpreted, where a mistake is an exception. Compiled code trusts the rules: one that
    writes past the end of a buffer would take the whole process with it.
    """
    done: list[Check] = []
    for name, attempt in checks:
        if done and not done[0].ok:
            break
        try:
            done.append(Check(name, True, attempt()))
        except Broken as broken:
            done.append(Check(name, False, str(broken)))
        except Exception as error:  # a rule that raises is a broken rule
            done.append(Check(name, False, told(game, error)))
    if not all(check.ok for check in done):
        raise CheckFailed(done)
    return done


# --- the rules ------------------------------------------------------------------------------------


@entry
def random_game(game, position, moves, out, widths, rng):
    """Play a random game and note the number of legal moves at every ply; the number of plies."""
    plies = events = 0
    while not game.is_over(position[0]) and events <= len(widths) + MOST_EVENTS:
        if game.mover(position[0]) < 0:
            game.deal(position[0], rng)
            events += 1
        else:
            widths[plies] = game.legal(position[0], moves)
            plies += 1
            game.play(position[0], game.random_move(position[0], moves, rng))
            if plies == len(widths):
                break
    game.returns(position[0], out)
    return plies


def check_game(game: Any, n: int = 20, seed: int = 0) -> list[Check]:
    """Check the rules of a game (or of the game that a string names) on `n` random games.

    >>> [check.ok for check in check_game("briskola", n=2)] == [True] * 11
    True
    """
    game = games.load_untried(game) if isinstance(game, str) else game
    return _run(
        game,
        [
            ("moves are legal, games end", lambda: _check_moves(game, n, seed)),
            ("methods have names of the protocol", lambda: _check_names(game)),
            ("compiled and interpreted agree", lambda: _check_modes(game, n, seed)),
            ("scores are within score_range", lambda: _check_scores(game, n, seed)),
            ("cards are conserved", lambda: _check_cards(game, n, seed)),
            ("random and sensible moves are legal", lambda: _check_policies(game, n, seed)),
            ("a view hides, a world hides back", lambda: _check_views(game, n, seed)),
            ("a label holds all that is learned", lambda: _check_labels(game, n, seed)),
            ("possible moves hold the legal ones", lambda: _check_possible(game, n, seed)),
            ("the worlds left are distinct", lambda: _check_worlds(game, n, seed)),
            ("sampled worlds are equally likely", lambda: _check_uniform(game, n, seed)),
        ],
    )


def _check_names(game: Any) -> str:
    """A method that is left out gets a default, so one that is misspelt would never be called."""
    own = [name for name in vars(type(game)) if not name.startswith("_") and name not in protocol.ARITY]
    for name in filter(lambda name: callable(getattr(type(game), name)), own):
        for meant in game.defaulted:
            demand(not _is_a_slip(name, meant), f"'{name}' is called by nobody; did you mean '{meant}'?")
    samples = {"resample", "sample"} - game.defaulted
    demand(
        "hide" not in game.defaulted or not samples,
        f"{'/'.join(sorted(samples))} deals hidden cards, but without a method hide nothing is hidden",
    )
    return f"{len(protocol.ARITY) - len(game.defaulted)} methods of the game's own"


def _is_a_slip(given: str, meant: str) -> bool:
    """Whether two names differ by one letter: another one, one too many or too few, or two in wrong order."""
    if len(given) == len(meant):
        wrong = [i for i, (a, b) in enumerate(zip(given, meant, strict=True)) if a != b]
        pairs = [(given[i], meant[i]) for i in wrong]
        return len(wrong) == 1 or (
            len(wrong) == 2 and wrong[1] == wrong[0] + 1 and pairs[0] == pairs[1][::-1]
        )
    short, long = sorted((given, meant), key=len)
    return any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


def _check_moves(game: Any, n: int, seed: int) -> str:
    plies = 0
    for number in range(n):
        for state in walk(game, seed + number):
            if state.is_over:
                break
            moves = state.legal_moves()
            plies += 1
            demand(len(set(moves)) == len(moves), f"a move is listed twice: {moves}")
            for move in moves:
                text = game.move_text(move)
                demand(
                    game.parse_move(text) == move,
                    f"'{text}' is read as {game.parse_move(text)}, not {move}",
                )
    demand(
        plies > 0,
        f"in {n} games nobody had to decide anything; does is_over say that a game is over before it is "
        f"dealt, when all fields are 0?",
    )
    return f"{n} games, {plies} decisions"


def _check_modes(game: Any, n: int, seed: int) -> str:
    results: list[list[bytes]] = []
    for play in (random_game, random_game.interpreted):
        traces = []
        for number in range(n):
            position, moves = np.zeros(1, game.state), np.zeros(game.max_moves, np.int64)
            out, widths = np.zeros(game.seats), np.zeros(game.max_plies + 1, np.int64)
            plies = play(game, position, moves, out, widths, stream(seed, number))
            demand(plies <= game.max_plies, f"a game lasted longer than max_plies = {game.max_plies}")
            traces.append(State(game, position).key() + out.tobytes() + widths.tobytes())
        results.append(traces)
    same = [a == b for a, b in zip(*results, strict=True)]
    demand(
        all(same),
        f"game {[*same, False].index(False)} differs: small integer fields that are shifted or mixed with "
        f"others need a cast to np.int64",
    )
    return f"{n} games, bit for bit"


def _check_scores(game: Any, n: int, seed: int) -> str:
    low, high = game.score_range()
    seen = []
    for number in range(n):
        *_, last = walk(game, seed + number)
        seen += last.returns()
    demand(
        low <= min(seen) and max(seen) <= high,
        f"scores from {min(seen):g} to {max(seen):g}, but score_range says {low:g} to {high:g}",
    )
    return f"{min(seen):g} to {max(seen):g} of {low:g} to {high:g}"


def _check_cards(game: Any, n: int, seed: int) -> str:
    if "inventory" in game.defaulted:
        return "the game does not list its cards (method 'inventory')"
    first: list[int] = []
    for number in range(n):
        for state in walk(game, seed + number):
            cards = game.inventory(state.record)
            first = first or cards
            demand(cards == first, f"the cards changed from {first} to {cards}")
    return f"{len(first)} cards in every position"


def _check_policies(game: Any, n: int, seed: int) -> str:
    moves = np.zeros(game.max_moves, np.int64)
    draws = 0
    for number in range(n):
        for ply, state in enumerate(walk(game, seed + number)):
            if state.is_over:
                continue
            legal, view = state.legal_moves(), state.view()
            with np.errstate(over="ignore"):
                rng = stream(seed, number, ply)
                demand(int(game.random_move(state.record, moves, rng)) in legal, "random_move is not legal")
                choices = [
                    int(game.sensible_move(position.record, moves, stream(seed, number, ply)))
                    for position in (state, view)
                ]
            demand(choices[0] in legal, "sensible_move is not legal")
            demand(choices[0] == choices[1], "sensible_move uses what the mover cannot see")
            draws += 1
    return f"{draws} positions"


def _check_views(game: Any, n: int, seed: int) -> str:
    worlds = 0
    for number in range(n):
        for ply, state in enumerate(walk(game, seed + number)):
            for seat in range(game.seats):
                view = state.view(seat)
                again = State(game, view.array).view(seat)
                demand(again.key() == view.key(), "hide changes what it has hidden already")
                world = view.world(seed + 1000 * number + ply)
                demand(
                    world.view(seat).key() == view.key(),
                    f"a world sampled for seat {seat} does not hide back to its view (seed {seed + number}, "
                    f"ply {ply})",
                )
                demand(
                    game.inventory(world.record) == game.inventory(state.record),
                    "a sampled world has other cards than the deck",
                )
                if seat == state.mover and not state.is_over:
                    demand(view.legal_moves() == state.legal_moves(), "a seat's view has other legal moves")
                worlds += 1
    return numbered(worlds, "world")


def _check_labels(game: Any, n: int, seed: int) -> str:
    tried = 0
    for number in range(n):
        for ply, state in enumerate(walk(game, seed + number)):
            if state.is_over:
                continue
            for seat in range(game.seats):
                world = state.view(seat).world(seed + ply)
                for move in set(state.legal_moves()) & set(world.legal_moves()):
                    labels, after = [], []
                    for position in (state, world):
                        labels.append(int(game.label(position.record, np.int64(move), seat)))
                        copy = State(game, position.array.copy())
                        copy.play(move)
                        after.append(copy.view(seat).key())
                    demand(
                        labels[0] != labels[1] or after[0] == after[1],
                        f"seat {seat} learns from {game.move_text(move)} something that its label does not "
                        f"hold (a card drawn?); see 'label' in kibitz.protocol",
                    )
                    tried += 1
    return f"{tried} moves"


def _check_possible(game: Any, n: int, seed: int) -> str:
    buffer = np.zeros(game.max_moves, np.int64)
    tried = 0
    for number in range(n):
        for state in walk(game, seed + number):
            if state.is_over:
                continue
            for seat in range(game.seats):
                if "possible" in game.defaulted and seat != state.mover:
                    continue
                view = state.view(seat)
                found = {int(m) for m in buffer[: game.possible(view.record, buffer)]}
                demand(set(state.legal_moves()) <= found, f"a legal move is not possible for seat {seat}")
                tried += 1
    return f"{tried} views"


def _check_worlds(game: Any, n: int, seed: int) -> str:
    tried = 0
    for number in range(n):
        for state in walk(game, seed + number):
            view = state.view(max(0, state.mover))
            left = int(game.worlds_left(view.record, view.seat))
            if state.is_over or not 0 < left <= 200:
                continue
            seen = set()
            for k in range(left):
                world = State(game, view.array.copy())
                game.world(world.record, view.seat, k)
                demand(
                    world.view(view.seat).key() == view.key(),
                    f"world {k} does not hide back to the view",
                )
                seen.add(world.key())
            demand(len(seen) == left, f"only {len(seen)} of {left} worlds are different")
            tried += left
    return numbered(tried, "world") if tried else "the game does not list its worlds (method 'worlds_left')"


# --- what is hidden -------------------------------------------------------------------------------


def hidden_slots(state: State, seat: int) -> list[tuple[str, int]]:
    """The places of a record, (field, number), that `seat` cannot see: those that `hide` changes."""
    view = state.view(seat).array
    return [
        (name, int(i))
        for name in state.array.dtype.names or ()
        for i in np.flatnonzero(_flat(state.array, name) != _flat(view, name))
    ]


def _flat(array: NDArray[Any], name: str) -> NDArray[Any]:
    return array[name].reshape(-1)


def redeal_slots(state: State, seat: int, chooser: random.Random) -> State | None:
    """Another truth that `seat` cannot tell from this one, made without the game's `resample`.

    What lies in the hidden places is put back in another order, until the view is the same.
    """
    slots = hidden_slots(state, seat)
    view = state.view(seat).key()
    values = [_flat(state.array, name)[i] for name, i in slots]
    for _ in range(3000):
        chooser.shuffle(values)
        other = _laid(state, slots, values)
        if other.view(seat).key() == view and other.key() != state.key():
            return other
    return None


def _laid(state: State, slots: list[tuple[str, int]], values: Any) -> State:
    other = State(state.game, state.array.copy())
    for (name, i), value in zip(slots, values, strict=True):
        _flat(other.array, name)[i] = value
    return other


def _check_uniform(game: Any, n: int, seed: int) -> str:
    """Chi-square over all worlds of a small case, found by trying every order of what is hidden."""
    if "hide" in game.defaulted:
        return "nothing is hidden"
    tested: list[float] = []
    in_vain = 0  # positions with too many worlds
    for number in range(20 * n):
        for state in walk(game, seed + number):
            if state.is_over or len(tested) >= 3 or in_vain >= 30:
                continue
            slots = hidden_slots(state, state.mover)
            if 2 <= len(slots) <= 6:
                p = _uniformity(state, slots, seed)
                if p is not None and p < 0.0:
                    in_vain += 1
                elif p is not None:
                    tested.append(p)
        if len(tested) >= 3 or in_vain >= 30:
            break
    if not tested:
        return "no position with 2 to 6 hidden places and few worlds was met"
    demand(min(tested) > 1e-6, f"a world is more likely than another (chi-square p = {min(tested):.1e})")
    return f"{len(tested)} positions, smallest p = {min(tested):.3f}"


def _uniformity(state: State, slots: list[tuple[str, int]], seed: int) -> float | None:
    seat = state.mover
    view = state.view(seat)
    shown = view.key()
    values = [_flat(state.array, name)[i] for name, i in slots]
    few = [world.array for world in view.worlds(range(seed, seed + 20))]
    if not {_flat(sample, name)[i] for sample in few for name, i in slots} <= set(values):
        return _evenness(state, seed)  # a place holds a set of cards, or a number: not one of the others
    ordered = _always_ordered([world.array for world in view.worlds(range(seed, seed + 100))])
    worlds: Counter[bytes] = Counter()
    for order in set(itertools.permutations(values)):
        other = _laid(state, slots, order)
        if other.view(seat).key() == shown and ordered(other.array):
            worlds[_deal_of(other)] += 1
    if len(worlds) < 2:
        return None
    draws = 60 * len(worlds)
    counts = Counter(map(_deal_of, view.worlds(range(seed, seed + draws))))
    demand(not set(counts) - set(worlds), "a sampled world is none of the orders of what is hidden")
    square = 0.0
    for world, ways in worlds.items():
        expected = draws * ways / worlds.total()
        square += (counts[world] - expected) ** 2 / expected
    return float(chdtrc(len(worlds) - 1, square))


def _evenness(state: State, seed: int, draws: int = 1500) -> float:
    """Chi-square over the worlds that were met, the truth one of them; −1 if they are too many."""
    view = state.view()
    if len(set(map(_deal_of, view.worlds(range(seed, seed + 30))))) > 20:
        return -1.0
    counts = Counter(map(_deal_of, view.worlds(range(seed, seed + draws))))
    if not 2 <= len(counts) <= draws // 20:
        return -1.0
    demand(_deal_of(state) in counts, f"the truth is not among {draws} sampled worlds")
    expected = draws / len(counts)
    square = sum((n - expected) ** 2 / expected for n in counts.values())
    return float(chdtrc(len(counts) - 1, square))


def _deal_of(state: State) -> bytes:
    """What a position is but for the order of the cards in a hand: rows of a table are sets."""
    fields = (state.array[name] for name in state.array.dtype.names or ())
    return b"".join((np.sort(f, axis=-1) if f.ndim > 2 else f).tobytes() for f in fields)


def _always_ordered(samples: list[NDArray[Any]]) -> Callable[[NDArray[Any]], bool]:
    """Whether a record keeps the order that all samples keep: some games sort their hands."""

    def is_sorted(array: NDArray[Any], name: str) -> bool:
        return bool((np.diff(array[name].astype(np.int64), axis=-1) >= 0).all())

    sortable = [name for name in samples[0].dtype.names or () if samples[0][name].ndim > 1]
    always = [name for name in sortable if all(is_sorted(sample, name) for sample in samples)]
    return lambda array: all(is_sorted(array, name) for name in always)


def check_hidden(
    game: Any,
    agents: tuple[str, ...] = EVERY_AGENT,
    n: int = 2,
    seed: int = 0,
    redeal: Redeal = redeal_slots,
) -> list[Check]:
    """Re-deal all that a seat cannot see: its view, its legal moves and its advice must not change.

    The other truth is made by `redeal`, which does not use the game's own `resample`.
    """
    game = games.load_untried(game) if isinstance(game, str) else game
    chooser = random.Random(seed)
    pairs = []
    hidden = 0
    for number in range(n):
        for state in walk(game, seed + number):
            if not state.is_over and hidden_slots(state, state.mover):
                hidden += 1
                other = redeal(state, state.mover, chooser)
                if other is not None:
                    pairs.append((state, other))
    checks: list[tuple[str, Callable[[], str]]] = [
        ("what is hidden can be dealt again", partial(_check_pairs, game, hidden, pairs))
    ]
    if pairs:
        checks.append(("views and legal moves stay the same", partial(_check_same_views, pairs)))
        checks += [
            (f"advice of {spec} stays the same", partial(_check_same_advice, game, spec, pairs))
            for spec in agents
        ]
    return _run(game, checks)


def _check_pairs(game: Any, hidden: int, pairs: list[Any]) -> str:
    if "hide" in game.defaulted:
        return "nothing is hidden"
    demand(bool(pairs) or hidden == 0, "no other truth was found for any position; give a `redeal`")
    return f"{len(pairs)} of {hidden} positions"


def _check_same_views(pairs: list[tuple[State, State]]) -> str:
    for state, other in pairs:
        demand(state.view().key() == other.view(state.mover).key(), "a view changed")
        demand(state.legal_moves() == other.legal_moves(), "the legal moves changed")
    return f"{len(pairs)} positions"


def _check_same_advice(game: Any, spec: str, pairs: list[tuple[State, State]]) -> str:
    agent = make_agent(spec, game)
    demand(not agent.cheating, f"{spec} gets the truth; only agents named cheating may")
    try:
        agent.start(game, 0)
        agent.advise(pairs[0][0].view(), 0)
    except KibitzError as error:
        return f"left out: {error}"
    for number, (state, other) in enumerate(pairs):
        advice = []
        for truth in (state, other):
            agent.start(game, state.mover)
            found = agent.advise(truth.view(state.mover), number).to_dict()
            del found["seconds"]
            advice.append(repr(found))
        demand(advice[0] == advice[1], f"the advice changed in position {number}: it sees hidden cards")
    return f"{len(pairs)} positions"


# --- agents ---------------------------------------------------------------------------------------


def check_agent(agent: str, game: Any, n: int = 2, seed: int = 0) -> list[Check]:
    """Check that an agent plays legal moves, the same for the same seed, and explains itself.

    >>> [check.ok for check in check_agent("ismcts:50", "briskola", n=1)]
    [True, True, True]
    """
    game = games.load_untried(game) if isinstance(game, str) else game
    return _run(
        game,
        [
            (f"{agent} plays whole games", lambda: _check_games(agent, game, n, seed)),
            (f"{agent} plays the same for a seed", lambda: _check_repeats(agent, game, seed)),
            (f"{agent} explains itself", lambda: _check_advice(agent, game, n, seed)),
        ],
    )


def _check_games(agent: str, game: Any, n: int, seed: int) -> str:
    for deal in range(n):
        for number, seats in enumerate(seatings(game, 2)):
            sitting = [make_agent(("random", agent)[seat], game) for seat in seats]
            play_game(game, sitting, seed, deal, number)  # an illegal move raises
    return f"{numbered(n, 'deal')} in every seat"


def _check_repeats(agent: str, game: Any, seed: int) -> str:
    results = []
    for _ in range(2):
        sitting = [make_agent(agent, game) for _ in range(game.seats)]
        results.append(play_game(game, sitting, seed, 0, 0).scores.tolist())
    demand(results[0] == results[1], f"{results[0]} and then {results[1]} with the same seed")
    return "a game, twice"


def _check_advice(agent: str, game: Any, n: int, seed: int) -> str:
    player, tried = make_agent(agent, game), 0
    for number in range(n):
        player.start(game, 0)
        for state in walk(game, seed + number):
            if state.is_over:
                continue
            advice = player.advise(look(player, state), seed)
            player.start(game, state.mover)
            demand([r.move for r in advice.rows] == state.legal_moves(), "rows are not the legal moves")
            demand(advice.best in state.legal_moves(), "the best move is not legal")
            tried += 1
    return f"{tried} positions"


def check_all(game: Any, n: int = 10, seed: int = 0) -> list[Check]:
    """Check the rules, what they hide and a search with them; the later ones only if the rules are right."""
    checks: list[Check] = []
    for check in (
        lambda: check_game(game, n, seed),
        lambda: check_hidden(game, n=max(1, n // 10), seed=seed),
        lambda: check_agent("ismcts:50", game, 1, seed),
    ):
        try:
            checks += check()
        except CheckFailed as failed:
            checks += failed.checks
            break  # the next checks rely on what is broken
    return checks
