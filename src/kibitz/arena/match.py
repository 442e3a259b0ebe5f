"""Matches: the same agents on many deals, every deal played once per seating.

Each game's randomness comes from (seed, deal, seating) alone, so the table is the same for any
number of workers and in any order. A deal is dealt once and played with the agents in rotated
seats: what the cards favour, they favour for everybody.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz import games
from kibitz.agents import Agent, make_agent
from kibitz.arena.statistics import Estimate, mean_of_deals, share_of_deals
from kibitz.errors import BadGame, BadOption, IllegalMove, KibitzError
from kibitz.kernel import entry, seconds_compiling
from kibitz.position import State, View
from kibitz.protocol import CHANCE
from kibitz.rng import derive, stream

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


def play_game(game: Any, agents: Sequence[Agent], seed: int, deal: int, seating: int) -> NDArray[np.float64]:
    """The returns of one game, `agents[seat]` at each seat."""
    position, view = np.zeros(1, game.state), np.zeros(1, game.state)
    moves = np.zeros(game.max_moves, np.int64)
    for seat, agent in enumerate(agents):
        agent.start(game, seat)
    keeps = [seat for seat, agent in enumerate(agents) if getattr(agent, "keep", False)]
    ply = chances = 0
    seat = CHANCE
    while seat != OVER:
        if seat == CHANCE:
            rng = stream(seed, deal, _CHANCE_STREAM, chances)
            seat = advance(game, position, DEAL, moves, view, rng)
            chances += 1
            continue
        agent = agents[seat]
        seen = View.over(game, seat, position if agent.cheating else view, agent.cheating)
        move = agent.choose(seen, derive(seed, deal, _AGENT_STREAM, seating, ply))
        for other in keeps:
            agents[other].learn(int(label_for(game, position, np.int64(move), other)))
        ply += 1
        if ply > game.max_plies:
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
    out = np.zeros(game.seats)
    game.returns(position.view(np.recarray)[0], out)
    return out


@dataclass(frozen=True)
class Batch:
    """Some deals of a match, as a worker gets them: strings and numbers only."""

    game: str
    agents: tuple[str, ...]
    seed: int
    first_deal: int
    deals: int

    def play(self) -> NDArray[np.float64]:
        """The returns, [deal, seating, seat]."""
        game = games.load(self.game)
        agents = [make_agent(spec, game) for spec in self.agents]
        places = seatings(game, len(agents))
        out = np.zeros((self.deals, len(places), game.seats))
        for d in range(self.deals):
            for s, seats in enumerate(places):
                # Two seats of one agent need their own memory if it keeps a tree.
                sitting = [
                    agents[a] if seats.count(a) == 1 else make_agent(self.agents[a], game) for a in seats
                ]
                out[d, s] = play_game(game, sitting, self.seed, self.first_deal + d, s)
        return out


@dataclass
class AgentResult:
    """How one agent did."""

    spec: str
    games: int
    wins: int
    draws: int
    win_rate: Estimate
    win_rate_decided: Estimate
    unbeaten: Estimate
    """Games won or drawn."""
    points: Estimate
    total_points: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "spec": self.spec,
            "games": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "win_rate": self.win_rate.mean,
            "win_rate_ci": list(self.win_rate.ci),
            "win_rate_decided": self.win_rate_decided.mean,
            "win_rate_decided_ci": list(self.win_rate_decided.ci),
            "unbeaten": self.unbeaten.mean,
            "unbeaten_ci": list(self.unbeaten.ci),
            "points": self.total_points,
            "points_per_game": self.points.mean,
            "points_stderr": self.points.stderr,
            "points_ci": list(self.points.ci),
        }


@dataclass
class MatchResult:
    """The table of a match."""

    game: str
    seed: int
    deals: int
    games: int
    seconds: float
    agents: list[AgentResult]
    differences: list[Estimate]
    """Points a game of the first agent less those of each other, paired by deal."""
    returns: NDArray[np.float64]
    """The score of every game, [deal, seating, seat]."""
    complete: bool = True

    def points_of(self, agent: int) -> NDArray[np.float64]:
        """The points of an agent in every game, one number a seat or side that it played."""
        game = games.load(self.game)
        sides = {int(game.team(seat)): seat for seat in range(game.seats)}.values()
        places = enumerate(seatings(game, len(self.agents)))
        return np.concatenate(
            [self.returns[:, s, seat] for s, seats in places for seat in sides if seats[seat] == agent]
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "game": self.game,
            "games": self.games,
            "deals": self.deals,
            "seed": self.seed,
            "seconds": self.seconds,
            "complete": self.complete,
            "agents": [agent.to_dict() for agent in self.agents],
            "differences": [
                {"agent": agent.spec, "points": d.mean, "stderr": d.stderr, "ci": list(d.ci)}
                for agent, d in zip(self.agents[1:], self.differences, strict=True)
            ],
        }


def summarise(
    game_spec: str, agents: Sequence[str], returns: NDArray[np.float64], seed: int, seconds: float
) -> MatchResult:
    """The table from the returns of all games, [deal, seating, seat]."""
    game = games.load(game_spec)
    places = seatings(game, len(agents))
    teams = np.array([int(game.team(seat)) for seat in range(game.seats)])
    deals = len(returns)
    n = len(agents)
    wins, draws, played = (np.zeros((deals, n)) for _ in range(3))
    points = np.zeros((deals, n))
    for s, seats in enumerate(places):
        scores = returns[:, s, :]
        top = scores.max(axis=1, keepdims=True)
        is_top = scores == top
        shared = np.array([len(set(teams[row])) > 1 for row in is_top], bool)
        for a in range(n):
            for team in sorted({int(teams[seat]) for seat in range(game.seats) if seats[seat] == a}):
                seat = int(np.flatnonzero(teams == team)[0])
                played[:, a] += 1
                wins[:, a] += is_top[:, seat] & ~shared
                draws[:, a] += is_top[:, seat] & shared
                points[:, a] += scores[:, seat]
    per_game = points / np.maximum(played, 1)
    results = [
        AgentResult(
            *(spec, int(played[:, a].sum()), int(wins[:, a].sum()), int(draws[:, a].sum())),
            share_of_deals(wins[:, a], played[:, a]),
            share_of_deals(wins[:, a], played[:, a] - draws[:, a]),
            share_of_deals(wins[:, a] + draws[:, a], played[:, a]),
            mean_of_deals(per_game[:, a]),
            float(points[:, a].sum()),
        )
        for a, spec in enumerate(agents)
    ]
    differences = [mean_of_deals(per_game[:, 0] - per_game[:, a]) for a in range(1, n)]
    return MatchResult(game_spec, seed, deals, deals * len(places), seconds, results, differences, returns)


Progress = Callable[[int, int], None]
"""Called with (games played, games in all)."""


def match(
    game: str,
    agents: Sequence[str],
    games_wanted: int = 100,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> MatchResult:
    """Let agents play at one table, on duplicate deals.

    Ctrl-C ends it early: the result then holds what was finished, with `complete=False`.

    >>> result = match("briskola", ["rule-based", "random"], games_wanted=40, seed=1)
    >>> result.games, result.agents[0].wins > result.agents[1].wins
    (40, True)
    """
    if games_wanted < 1:
        raise BadOption(f"{games_wanted} games cannot be played; give at least 1")
    if jobs < 1:
        raise BadOption(f"{jobs} jobs cannot work; give at least 1")
    if not 0 <= seed < 1 << 63:
        raise BadOption(f"seed {seed} cannot be used; give a whole number from 0 to 2⁶³ − 1")
    loaded = games.load(game)
    for spec in agents:
        make_agent(spec, loaded)
    per_deal = len(seatings(loaded, len(agents)))
    deals = -(-games_wanted // per_deal)
    whole = Batch(game, tuple(agents), seed, 0, deals)
    began = time.perf_counter()
    done: dict[int, NDArray[np.float64]] = {}
    complete = True
    try:
        for batch, returns in _run(whole, jobs):
            done[batch.first_deal] = returns
            if progress:
                progress(sum(map(len, done.values())) * per_deal, deals * per_deal)
    except KeyboardInterrupt:
        complete = False
    empty = np.zeros((0, per_deal, loaded.seats))
    returns = np.concatenate([empty, *(done[first] for first in sorted(done))])
    result = summarise(game, agents, returns, seed, time.perf_counter() - began)
    result.complete = complete
    return result


_BATCH_SECONDS = 2.0


def _run(whole: Batch, jobs: int) -> Iterator[tuple[Batch, NDArray[np.float64]]]:
    """Play all deals in batches of about two seconds, in this process or in `jobs` others."""
    # The first deal is played here: it compiles what is missing, once, before workers need it.
    first = replace(whole, deals=1)
    began = time.perf_counter() - seconds_compiling()
    yield first, first.play()
    seconds = time.perf_counter() - seconds_compiling() - began
    size = max(1, min(25, int(_BATCH_SECONDS / max(seconds, 1e-3)), whole.deals // (8 * jobs)))
    left = [
        replace(whole, first_deal=start, deals=min(size, whole.deals - start))
        for start in range(1, whole.deals, size)
    ]
    if jobs == 1:
        for batch in left:
            yield batch, batch.play()
        return
    for _ in range(1 + _RESTARTS):
        try:
            for batch, returns in _run_workers(list(left), jobs):
                left.remove(batch)
                yield batch, returns
            return
        except BrokenProcessPool:  # a worker was killed: the others start anew with what is left
            continue
    raise KibitzError(
        f"worker processes ended {1 + _RESTARTS} times before their work was done; is there enough memory "
        f"for {jobs} of them?"
    )


_RESTARTS = 3


def _run_workers(batches: list[Batch], jobs: int) -> Iterator[tuple[Batch, NDArray[np.float64]]]:
    """Play the batches in `jobs` processes, a few of them waiting at a time."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin_worker) as pool:
        waiting = iter(batches)
        running: dict[Future[NDArray[np.float64]], Batch] = {}
        try:
            while True:
                for batch in waiting:
                    running[pool.submit(batch.play)] = batch
                    if len(running) >= 2 * jobs:
                        break
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield running.pop(future), future.result()
        except BaseException:
            for process in list((pool._processes or {}).values()):
                process.kill()  # a shutdown would wait for what they are playing
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _begin_worker() -> None:
    """Ctrl-C is for the main process, which tells workers to stop; if it is killed, they leave too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def leave() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()


__all__ = ["AgentResult", "Batch", "KibitzError", "MatchResult", "match", "play_game", "seatings"]
