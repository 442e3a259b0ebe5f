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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz import games, kernel
from kibitz.agents import Agent, make_agent
from kibitz.arena import judge
from kibitz.errors import BadGame, BadOption, IllegalMove, InputError
from kibitz.kernel import entry, seconds_compiling
from kibitz.position import State, View
from kibitz.protocol import CHANCE
from kibitz.rng import U, derive, mixed, stream

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


@entry
def play_deals(
    game, first, others, places, seed, first_deal, position, moves, rng, scores, counts, decisions, trouble
):
    """Play all deals of a batch with players that do not search, without coming back to Python.

    The random streams are those of `play_game`, so the games are the same. A policy looks at nothing
    that the mover cannot see (`kibitz check` tries it), so no view is made. The number of the deal
    that went wrong is left in `trouble`: an illegal move, or a game longer than it can be.
    """
    state, most = position[0], trouble[1]
    for d in range(scores.shape[0]):
        of_deal = mixed(mixed(U(0), seed), first_deal + d)
        for s in range(scores.shape[1]):
            chances = plies = 0
            of_agents = mixed(mixed(of_deal, _AGENT_STREAM), s)
            position[0] = position[1]
            while not game.is_over(state):
                seat = game.mover(state)
                if seat == CHANCE:
                    rng[0] = mixed(mixed(of_deal, _CHANCE_STREAM), chances)
                    game.deal(state, rng)
                    chances += 1
                    continue
                rng[0] = mixed(U(0), mixed(of_agents, plies) >> U(1))
                agent = places[s, seat]
                if agent == 0:
                    move = first.choose(game, state, moves, rng)
                else:
                    move = others[agent - 1].choose(game, state, moves, rng)
                n = game.legal(state, moves)
                is_legal = False
                for i in range(n):
                    is_legal = is_legal or moves[i] == move
                plies += 1
                decisions[agent] += 1
                if not is_legal or plies > most:
                    trouble[0] = first_deal + d
                    return
                game.play(state, move)
            game.returns(state, scores[d, s])
            game.tally(state, counts[d, s])


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
    """What the game counts beside the score, [seat, name]."""


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
            raise BadGame(
                f"a game of {type(game).__name__} lasted longer than max_plies = {game.max_plies}; "
                f"`kibitz check` finds such faults"
            )
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

    def check(self) -> None:
        """Raise what is wrong with it before anything is played."""
        if not 0 <= self.seed < 1 << 63:
            raise BadOption(f"seed {self.seed} cannot be used; give a whole number from 0 to 2⁶³ − 1")
        for spec in self.agents:
            make_agent(spec, self.rules).start(self.rules, 0)  # whether it can play this game
        if self.judged:
            judge.check(self.rules, self.agents)
        _ = self.places

    @cached_property
    def rules(self) -> Any:
        """The game itself."""
        return games.load(self.game)

    @cached_property
    def places(self) -> list[list[int]]:
        """The seatings of a deal: which agent has which seat (or which figure, if it is judged)."""
        if self.judged:
            return [[0] * len(judge.FIGURES)]
        found = seatings(self.rules, len(self.agents))
        return found if self.rotate else found[:1]

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
        agents = [make_agent(spec, self.rules) for spec in self.agents]
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
_PLUMBING = {"kibitz", "kibitz.agents", "kibitz.errors", "kibitz.games", "kibitz.kernel", "kibitz.specs"}


@cache
def _code_of(modules: tuple[str, ...]) -> bytes:
    """The sources behind modules, without comments and docstrings."""
    texts = []
    for name, source in sorted(kernel.reachable_sources(modules, _PLUMBING).items()):
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
    rules = games.load(game)
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

    def play(self) -> Played:
        """Play all deals in every seating."""
        match, rules = self.match, self.match.rules
        if self.code and self.code != match.code:
            raise InputError(
                f"this worker has other code for {match.game} with {', '.join(match.agents)} than the "
                f"program that sent the work; install the same version of Kibitz (and of the game's file) "
                f"everywhere"
            )
        agents = [make_agent(spec, rules) for spec in match.agents]
        shape = (self.deals, match.games_a_deal, match.seats)
        scores, counts = np.zeros(shape), np.zeros((*shape, 0 if match.judged else len(rules.counted)))
        spent = np.zeros((3, len(agents)))
        moves: list[list[list[int]]] = [[] for _ in range(self.deals if self.keep_moves else 0)]
        began = time.perf_counter() - seconds_compiling()
        policies = [getattr(agent, "policy", None) for agent in agents]
        others = tuple(policies[1:]) or (policies[0],)
        if match.judged:
            self._judge(agents[0], scores, spent)
            seconds = time.perf_counter() - seconds_compiling() - began
        elif None not in policies and len({type(policy) for policy in others}) == 1 and not moves:
            spent[1] = self._play_policies(agents, policies[0], others, scores, counts)
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

    def _play_policies(self, agents: list[Agent], first: Any, others: Any, scores: Any, counts: Any) -> Any:
        """All games at once in compiled code; the number of decisions of every agent."""
        match, rules = self.match, self.match.rules
        for agent in agents:
            agent.start(rules, 0)
        decisions, trouble = np.zeros(len(agents), np.int64), np.array([-1, rules.max_plies])
        play_deals(
            *(rules, first, others, np.array(match.places), match.seed, self.first_deal),
            *(np.zeros(2, rules.state), np.zeros(rules.max_moves, np.int64), np.zeros(1, np.uint64)),
            *(scores, counts, decisions, trouble),
        )
        if trouble[0] >= 0:
            raise BadGame(
                f"on deal {trouble[0]} an illegal move was made, or a game lasted longer than max_plies = "
                f"{rules.max_plies}; `kibitz check` finds such faults"
            )
        return decisions

    def _play_one_by_one(
        self, agents: list[Agent], scores: Any, counts: Any, spent: Any, moves: list[list[list[int]]]
    ) -> None:
        """Game by game, with views, for agents that think."""
        match, rules = self.match, self.match.rules
        # Two seats of one agent need memories of their own.
        bench = [
            [agent, *(make_agent(spec, rules) for _ in range(match.seats - 1))]
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
