"""Games between agents: one game, and a match in batches of deals that any worker can play.

Each game's randomness comes from (seed, deal, seating) alone, so a result does not depend on the
number of workers, their order or where they are. A deal is dealt once and played with the agents in
rotated seats: what the cards favour, they favour for everybody.
"""

from __future__ import annotations

import ast
import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz import games, gpu, kernel
from kibitz.agents import Agent, make_known_agent
from kibitz.arena import judge
from kibitz.cache import reachable_sources
from kibitz.errors import BadOption, IllegalMove, InputError
from kibitz.kernel import entry, seconds_compiling
from kibitz.position import State, View
from kibitz.protocol import CHANCE, MOST_EVENTS
from kibitz.reading import told
from kibitz.rng import U, derive, mixed, stream
from kibitz.search.objective import Habit
from kibitz.trial import fault, not_over

_CHANCE_STREAM, _AGENT_STREAM = 1, 2


DEAL, OVER, ILLEGAL = -1, -2, -3


@entry
def advance(game, position, move, moves, view, rng):
    """Make a move, or settle chance if it is DEAL, and put what the next seat sees into `view`.

    That seat, CHANCE, OVER, or ILLEGAL for a move that the rules do not allow (nothing is changed).
    """
    state = position[0]
    if move == DEAL:
        game.deal(state, rng)
    else:
        n = game.legal(state, moves)
        is_legal = False
        for i in range(min(n, len(moves))):
            is_legal = is_legal or moves[i] == move
        if not is_legal:
            return ILLEGAL
        game.play(state, move)
    if game.is_over(state):
        return OVER
    seat = game.mover(state)
    if seat != CHANCE:
        view[0] = state
        game.hide(view[0], seat)
    return seat


@entry
def label_for(game, position, move, seat):
    """What `seat` learns from a move."""
    return game.label(position[0], move, seat)


@kernel.component
class Deals(NamedTuple):
    """Games between players that do not search: a lane plays one deal in one seating.

    The random streams are those of `play_game`, so the games are the same. A policy looks at nothing
    that the mover cannot see (`kibitz check` tries it), so no view is made. `trouble` says that a move
    was illegal, or the game longer than it can be.
    """

    first: Any
    others: Any

    def lane(task, game, number, scratch, data):
        places, seed, first_deal, most, blank, scores, counts, decisions, trouble = data
        deal, seating = number // len(places), number % len(places)
        of_deal = mixed(mixed(U(0), seed), first_deal + deal)
        of_agents = mixed(mixed(of_deal, _AGENT_STREAM), seating)
        chances = plies = 0
        for agent in range(decisions.shape[1]):
            decisions[number, agent] = 0
        trouble[number] = False
        scratch.position[0] = blank[0]
        state, rng = scratch.position[0], scratch.rng
        while not game.is_over(state):
            seat = game.mover(state)
            if seat == CHANCE:
                rng[0] = mixed(mixed(of_deal, _CHANCE_STREAM), chances)
                game.deal(state, rng)
                chances += 1
                if chances > most + MOST_EVENTS:
                    trouble[number] = True
                    break
                continue
            rng[0] = mixed(U(0), mixed(of_agents, plies) >> U(1))
            agent = places[seating, seat]
            if agent == 0:
                move = task.first.choose(game, state, scratch.moves, rng)
            else:
                move = task.others[agent - 1].choose(game, state, scratch.moves, rng)
            plies += 1
            decisions[number, agent] += 1
            if plies > most or not is_among(game, state, move, scratch.moves):
                trouble[number] = True
                break
            game.play(state, move)
        game.returns(state, scores[deal, seating])
        game.tally(state, counts[deal, seating])


@kernel.kernel
def is_among(game, state, move, moves):
    """Whether a move is legal."""
    n = game.legal(state, moves)
    found = False
    for i in range(min(n, len(moves))):
        found = found or moves[i] == move
    return found


@entry
def go_on(
    game, deals, searches, places, seed, first_deal, most, states, chances, plies, waiting, starts, scratch
):
    """Let many games go on until each is over or an agent that searches must decide.

    `waiting` is then its seat, or OVER, or ILLEGAL, and `starts` the seed of its decision. A game that is
    not over after `most` moves is ILLEGAL, too.
    """
    rng = scratch.rng
    for number in range(len(states)):
        state, deal, seating = states[number], number // len(places), number % len(places)
        of_deal = mixed(mixed(U(0), seed), first_deal + deal)
        of_agents = mixed(mixed(of_deal, _AGENT_STREAM), seating)
        while waiting[number] != OVER and waiting[number] != ILLEGAL:
            if game.is_over(state):
                waiting[number] = OVER
                break
            seat = game.mover(state)
            if seat == CHANCE:
                rng[0] = mixed(mixed(of_deal, _CHANCE_STREAM), chances[number])
                game.deal(state, rng)
                chances[number] += 1
                if chances[number] > most + MOST_EVENTS:
                    waiting[number] = ILLEGAL
                continue
            start = mixed(of_agents, plies[number]) >> U(1)
            agent = places[seating, seat]
            if searches[agent]:
                waiting[number], starts[number] = seat, start
                break
            rng[0] = mixed(U(0), start)
            if agent == 0:
                move = deals.first.choose(game, state, scratch.moves, rng)
            else:
                move = deals.others[agent - 1].choose(game, state, scratch.moves, rng)
            plies[number] += 1
            if plies[number] > most or not is_among(game, state, move, scratch.moves):
                waiting[number] = ILLEGAL
                break
            game.play(state, move)


@entry
def see(game, states, which, seats, views):
    """What the seats to move see."""
    for i in range(len(which)):
        views[i] = states[which[i]]
        game.hide(views[i], seats[i])


@entry
def make(game, states, which, chosen, plies, waiting, moves):
    """Make moves in many games."""
    for i in range(len(which)):
        number = which[i]
        plies[number] += 1
        if not is_among(game, states[number], chosen[i], moves):
            waiting[number] = ILLEGAL
        else:
            waiting[number] = DEAL
            game.play(states[number], chosen[i])


def decides_in_many(agent: Agent, game: Any) -> bool:
    """Whether an agent decides in many games at once: where there is a GPU. Else it decides in each by
    itself, with the same moves, and what is finished is known sooner.
    """
    return hasattr(agent, "plays_lanes") and agent.plays_lanes(game) and gpu.device().is_there


def seatings(game: Any, agents: int) -> list[list[int]]:
    """Which agent sits where, once for every rotation that makes a difference.

    Fewer agents than seats: the last one fills the rest; in a team game one agent plays a team.
    """
    teams = [int(game.team(seat)) for seat in range(game.seats)]
    chairs = len(set(teams))
    if not 1 <= agents <= chairs:
        what = "sides" if chairs < game.seats else "seats"
        raise BadOption(f"{agents} agents were given for {chairs} {what}; give 1 to {chairs}")
    placed = [min(i, agents - 1) for i in range(chairs)]
    found: list[list[int]] = []
    for turn in range(chairs):
        rotated = placed[-turn:] + placed[:-turn] if turn else placed
        seats = [rotated[team] for team in teams]
        if seats not in found:
            found.append(seats)
    return found


def settle_chance(state: State, seed: int, deal: int, chances: int) -> None:
    """Settle a game's chance event number `chances`, as in the match with this seed."""
    state.settle_chance(seed, deal, _CHANCE_STREAM, chances)


def chance_stream(seed: int, deal: int, chances: int) -> int:
    """The stream of that event, as a number."""
    return int(stream(seed, deal, _CHANCE_STREAM, chances)[0])


@dataclass
class PlayedGame:
    """One game that was played."""

    scores: NDArray[np.float64]
    """One number a seat."""
    moves: list[int]
    seconds: NDArray[np.float64]
    """Time that each seat thought."""
    decisions: NDArray[np.int64]
    """How often each seat chose."""
    counts: NDArray[np.float64]
    """What the game counts besides the score, [seat, name]."""


def play_game(game: Any, agents: Sequence[Agent], seed: int, deal: int, seating: int) -> PlayedGame:
    """Play one game, `agents[seat]` at each seat."""
    position, view = np.zeros(1, game.state), np.zeros(1, game.state)
    moves = np.zeros(game.max_moves, np.int64)
    played = PlayedGame(
        *(np.zeros(game.seats), [], np.zeros(game.seats), np.zeros(game.seats, np.int64)),
        np.zeros((game.seats, len(game.counted))),
    )
    for seat, agent in enumerate(agents):
        agent.start(game, seat)
    keeps = [seat for seat, agent in enumerate(agents) if getattr(agent, "keep", False)]
    chances = 0
    seat = CHANCE
    while seat != OVER:
        if seat == CHANCE:
            rng = stream(seed, deal, _CHANCE_STREAM, chances)
            seat = advance(game, position, DEAL, moves, view, rng)
            chances += 1
            if chances > game.max_plies + MOST_EVENTS:
                raise fault(game, f"is not over after {chances:,} chance events")
            continue
        agent = agents[seat]
        seen = View.over(game, seat, position if agent.cheating else view, agent.cheating)
        began = time.perf_counter() - seconds_compiling()
        move = agent.choose(seen, derive(seed, deal, _AGENT_STREAM, seating, len(played.moves)))
        played.seconds[seat] += time.perf_counter() - seconds_compiling() - began
        played.decisions[seat] += 1
        played.moves.append(int(move))
        for other in keeps:
            agents[other].learn(int(label_for(game, position, np.int64(move), other)))
        if len(played.moves) > game.max_plies:
            raise not_over(game)
        following = advance(game, position, np.int64(move), moves, view, rng)
        if following == ILLEGAL:
            raise IllegalMove(
                f"agent {agent.spec} at seat {seat} chose '{game.move_text(move)}', which is not legal; "
                f"legal were {' '.join(State(game, position).move_texts())}"
            )
        seat = following
    last = position.view(np.recarray)[0]
    game.returns(last, played.scores)
    game.tally(last, played.counts)
    return played


# --- matches ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Match:
    """Fixed agents at one table on numbered deals: strings and numbers, so that it can travel.

    >>> match = Match("briskola", ("ismcts:100", "random"), seed=1)
    >>> match.games_a_deal, match.seats
    (2, 2)
    """

    game: str
    agents: tuple[str, ...]
    seed: int
    rotate: bool = True
    """Whether a deal is played in every seating; else once, the first agent in the first seat."""
    judged: bool = False
    """Nothing is played: the one agent makes the first decision of a deal, and a solver judges it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "game", games.canonical(self.game))  # one store key for all its names

    def check(self) -> None:
        """Raise what is wrong with it before anything is played."""
        if not 0 <= self.seed < 1 << 63:
            raise BadOption(f"seed {told(self.seed)} cannot be used; give a whole number from 0 to 2⁶³ − 1")
        for spec in self.agents:
            make_known_agent(spec, self.rules).start(self.rules, 0)  # whether it can play this game
        if self.judged:
            judge.check(self.rules, self.agents)
        _ = self.places

    @cached_property
    def rules(self) -> Any:
        """The game itself."""
        return games.load_known(self.game)

    @cached_property
    def places(self) -> list[list[int]]:
        """The seatings of a deal: which agent has which seat (or which figure, if it is judged)."""
        if self.judged:
            return [[0] * len(judge.FIGURES)]
        found = seatings(self.rules, len(self.agents))
        return found if self.rotate else found[:1]

    @cached_property
    def plays_lanes(self) -> bool:
        """Whether an agent decides in many games at once, so that they are played side by side."""
        return any(decides_in_many(make_known_agent(spec, self.rules), self.rules) for spec in self.agents)

    @property
    def games_a_deal(self) -> int:
        return len(self.places)

    @property
    def seats(self) -> int:
        return len(judge.FIGURES) if self.judged else int(self.rules.seats)

    def deals_for(self, games_wanted: int) -> int:
        """So many games need so many whole deals."""
        return -(-games_wanted // self.games_a_deal)

    @cached_property
    def code(self) -> str:
        """A digest of all that decides the games but the strings: the sources of rules and agents.

        Results of other code are other results. Comments and docstrings do not count.
        """
        agents = [make_known_agent(spec, self.rules) for spec in self.agents]
        modules = {__name__, type(self.rules).__module__, *(type(agent).__module__ for agent in agents)}
        digest = hashlib.sha256(_code_of(tuple(sorted(modules))) + b"judged" * self.judged)
        for agent in agents:  # what their names stand for today
            values = {f.name: getattr(agent, f.name) for f in fields(agent) if f.name[0] != "_"}  # type: ignore[arg-type]
            digest.update(repr((type(agent).__qualname__, sorted(values.items()))).encode())
            if hasattr(agent, "knowledge"):
                digest.update(agent.knowledge(self.rules))
        return digest.hexdigest()[:16]

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


# They name, load and compile what plays; none of them decides a move.
_PLUMBING = {
    "kibitz",
    *(
        f"kibitz.{name}"
        for name in ("agents", "cache", "errors", "games", "kernel", "sources", "specs", "trial", "trust")
    ),
}


@cache
def _code_of(modules: tuple[str, ...]) -> bytes:
    """The sources behind modules, without comments and docstrings."""
    texts = []
    for name, source in sorted(reachable_sources(modules, _PLUMBING).items()):
        tree = ast.parse(source)
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef
        for node in (node for node in ast.walk(tree) if isinstance(node, kinds)):
            if ast.get_docstring(node, clean=False):
                node.body = node.body[1:] or [ast.Pass()]
        texts.append(f"{games.plain_name(name)}\n{ast.unparse(tree)}\n")
    return "".join(texts).encode()


@lru_cache(maxsize=10_000)
def first_decision(game: str, seed: int, deal: int) -> tuple[State, list[float]]:
    """The first position of a deal in which a seat decides, and what every move is worth there.

    Kept, for many agents are judged on the same deals, and a solver may need longer than they do.
    """
    rules = games.load_known(game)
    state, chances = State(rules), 0
    while state.mover < 0:
        settle_chance(state, seed, deal, chances)
        chances += 1
    (exact,) = rules.exact_values([state.record])
    return state, exact


@dataclass
class Played:
    """What came of a batch."""

    scores: NDArray[np.float64]
    """[deal, seating, seat]"""
    seconds: float
    """Of one core, without compiling."""
    thought: dict[str, list[float]]
    """What each agent used: seconds, decisions, iterations; lists in the order of the agents."""
    counts: dict[str, list[list[int]]] = field(default_factory=dict)
    """What the game counts, of every agent: sums over the deals, of a deal's count and of its square."""
    moves: list[list[list[int]]] = field(default_factory=list)
    """[deal][seating], if they were asked for."""


@dataclass(frozen=True)
class Batch:
    """Some deals of a match, as a worker gets them."""

    match: Match
    first_deal: int
    deals: int
    keep_moves: bool = False
    code: str = ""
    """The code that the results are filed under; a worker with other code refuses."""

    def play(self, on_gpu: bool = False) -> Played:
        """Play all deals in every seating; on a GPU, if it is wanted and nobody searches."""
        match, rules = self.match, self.match.rules
        if self.code and self.code != match.code:
            raise InputError(
                f"this worker has other code for {match.game} with {', '.join(match.agents)} than the "
                f"program that sent the work; install the same version of Kibitz (and of the game's file) "
                f"everywhere"
            )
        agents = [make_known_agent(spec, rules) for spec in match.agents]
        shape = (self.deals, match.games_a_deal, match.seats)
        scores, counts = np.zeros(shape), np.zeros((*shape, 0 if match.judged else len(rules.counted)))
        spent = np.zeros((3, len(agents)))
        moves: list[list[list[int]]] = [[] for _ in range(self.deals if self.keep_moves else 0)]
        began = time.perf_counter() - seconds_compiling()
        # Agents that search by lanes are asked for many games at once, the others go on by themselves.
        searches = [decides_in_many(agent, rules) for agent in agents]
        policies = [
            Habit(0.0) if searches[a] else getattr(agent, "policy", None) for a, agent in enumerate(agents)
        ]
        others = tuple(policies[1:]) or (policies[0],)
        are_together = None not in policies and len({type(policy) for policy in others}) == 1 and not moves
        if match.judged:
            self._judge(agents[0], scores, spent)
            seconds = time.perf_counter() - seconds_compiling() - began
        elif are_together and any(searches):
            self._play_side_by_side(agents, searches, Deals(policies[0], others), scores, counts, spent)
            seconds = time.perf_counter() - seconds_compiling() - began
        elif are_together:
            spent[1] = self._play_policies(agents, Deals(policies[0], others), scores, counts, on_gpu)
            seconds = time.perf_counter() - seconds_compiling() - began
            spent[0] = seconds * spent[1] / spent[1].sum()  # not told apart
        else:
            self._play_one_by_one(agents, scores, counts, spent, moves)
            seconds = time.perf_counter() - seconds_compiling() - began
        thought = dict(zip(("seconds", "decisions", "iterations"), spent.tolist(), strict=True))
        return Played(scores, seconds, thought, self._sums(counts), moves)

    def _judge(self, agent: Agent, scores: Any, spent: Any) -> None:
        """Let the agent decide once a deal, and write what came of it."""
        match = self.match
        for d in range(self.deals):
            deal = self.first_deal + d
            state, exact = first_decision(match.game, match.seed, deal)
            used, began = getattr(agent, "used", 0), time.perf_counter() - seconds_compiling()
            scores[d, 0] = judge.judge(agent, state, exact, derive(match.seed, deal, _AGENT_STREAM, 0, 0))
            seconds = time.perf_counter() - seconds_compiling() - began
            spent[:, 0] += seconds, 1, getattr(agent, "used", 0) - used

    def _play_policies(
        self, agents: list[Agent], deals: Deals, scores: Any, counts: Any, on_gpu: bool
    ) -> NDArray[np.int64]:
        """All games at once in compiled code; the number of decisions of every agent."""
        match, rules = self.match, self.match.rules
        for agent in agents:
            agent.start(rules, 0)
        lanes = self.deals * match.games_a_deal
        decisions, trouble = np.zeros((lanes, len(agents)), np.int32), np.zeros(lanes, np.bool_)
        gpu.run(
            *(rules, deals, lanes),
            (np.array(match.places), match.seed, self.first_deal, rules.max_plies, np.zeros(1, rules.state)),
            *((scores, counts, decisions, trouble), on_gpu),
            fixed=True,
        )
        self._demand_no(trouble)
        return decisions.sum(axis=0, dtype=np.int64)

    def _demand_no(self, trouble: NDArray[np.bool_]) -> None:
        if trouble.any():
            deal = self.first_deal + int(np.argmax(trouble)) // self.match.games_a_deal
            rules = self.match.rules
            raise fault(
                rules,
                f"had an illegal move on deal {deal}, or was not over after {rules.max_plies:,} moves "
                f"(max_plies)",
            )

    def _play_side_by_side(
        self, agents: list[Agent], searches: list[bool], deals: Deals, scores: Any, counts: Any, spent: Any
    ) -> None:
        """All games in step: an agent that searches by lanes decides in many of them at once."""
        match, rules = self.match, self.match.rules
        for agent in agents:
            agent.start(rules, 0)
        n = self.deals * match.games_a_deal
        places, memory = np.array(match.places), gpu.scratch(rules)
        states, starts = np.zeros(n, rules.state), np.zeros(n, np.uint64)
        chances, plies = np.zeros(n, np.int64), np.zeros(n, np.int64)
        waiting = np.full(n, DEAL)
        while True:
            go_on(
                *(rules, deals, np.array(searches), places, match.seed, self.first_deal, rules.max_plies),
                *(states, chances, plies, waiting, starts, memory),
            )
            self._demand_no((waiting == ILLEGAL) | (plies > rules.max_plies))
            if (waiting == OVER).all():
                break
            asked = np.where(waiting >= 0, places[np.arange(n) % len(places), waiting], -1)
            for a, agent in enumerate(agents):
                which = np.flatnonzero(asked == a)
                if not len(which):
                    continue
                began, used = time.perf_counter() - seconds_compiling(), getattr(agent, "used", 0)
                views, seats = np.zeros(len(which), rules.state), waiting[which]
                see(rules, states, which, seats, views)
                chosen = agent.choose_many(views, rules, seats, starts[which])  # type: ignore[attr-defined]
                make(rules, states, which, np.array(chosen), plies, waiting, memory.moves)
                seconds = time.perf_counter() - seconds_compiling() - began
                spent[:, a] += seconds, len(which), getattr(agent, "used", 0) - used
        for number, state in enumerate(states.view(np.recarray)):
            place = divmod(number, match.games_a_deal)
            rules.returns(state, scores[place])
            rules.tally(state, counts[place])

    def _play_one_by_one(
        self, agents: list[Agent], scores: Any, counts: Any, spent: Any, moves: list[list[list[int]]]
    ) -> None:
        """Game by game, with views, for agents that think."""
        match, rules = self.match, self.match.rules
        # Two seats of one agent need memories of their own.
        bench = [
            [agent, *(make_known_agent(spec, rules) for _ in range(match.seats - 1))]
            for agent, spec in zip(agents, match.agents, strict=True)
        ]
        for d in range(self.deals):
            for s, seats in enumerate(match.places):
                sitting = [bench[a][seats[:seat].count(a)] for seat, a in enumerate(seats)]
                before = [getattr(agent, "used", 0) for agent in sitting]
                game = play_game(rules, sitting, match.seed, self.first_deal + d, s)
                scores[d, s], counts[d, s] = game.scores, game.counts
                for seat, a in enumerate(seats):
                    used = getattr(sitting[seat], "used", 0) - before[seat]
                    spent[:, a] += game.seconds[seat], game.decisions[seat], used
                if self.keep_moves:
                    moves[d].append(game.moves)

    def _sums(self, counts: NDArray[np.float64]) -> dict[str, list[list[int]]]:
        """For every name and agent, over the deals: the sum of what a deal counts, and of its square."""
        found = {}
        for k, name in enumerate(() if self.match.judged else self.match.rules.counted):
            of_deal = np.zeros((len(counts), len(self.match.agents)), np.int64)
            for s, seats in enumerate(self.match.places):
                for seat, a in enumerate(seats):
                    of_deal[:, a] += counts[:, s, seat, k].astype(np.int64)
            found[name] = [of_deal.sum(axis=0).tolist(), (of_deal**2).sum(axis=0).tolist()]
        return found
