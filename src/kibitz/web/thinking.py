"""Agents that think beside the event loop, in a worker (`kibitz.web.worker`).

A move has a limit of time. A search that reaches it is stopped and moves by what it has found; who does not
answer even then is not waited for: the rules of thumb move for it. What nobody wants any more is taken out of
the queue, or stopped, so that its place is free within a moment.

Advice comes in slices, searches of their own that double in length, put together as the trees of several
threads are: a first answer is there at once and gets better.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from kibitz.agents import Agent, make_known_agent
from kibitz.errors import TooLong
from kibitz.position import View
from kibitz.rng import derive, stream
from kibitz.search.advice import Advice, Row
from kibitz.web.limits import Limits
from kibitz.web.pool import FairPool
from kibitz.web.worker import Threads, Work, Worker

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")
_FIRST_SLICE = 16  # of the agent's iterations, one part
_LARGEST_SLICE = 50_000  # iterations: the memory of a search is bounded, and it tells of itself now and then


class Mind:
    """An agent that one thread uses at a time and any other can stop, once and for all."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self.is_stopped = False
        self._agent: Agent | None = None

    def _made(self, rules: Any, seat: int) -> Agent:
        """The agent, ready to play; one that was stopped beforehand is stopped."""
        agent = make_known_agent(self.spec, rules)
        self._adjust(agent)
        agent.start(rules, seat)
        self._agent = agent  # from now on `stop` finds it
        if self.is_stopped:
            _stop(agent)
        return agent

    def _adjust(self, agent: Agent) -> None:
        """Change what the string says."""

    def stop(self) -> None:
        """Let it end, if it is thinking; it will not be asked again."""
        self.is_stopped = True
        if self._agent is not None:
            _stop(self._agent)


def _stop(agent: Agent) -> None:
    """Stop an agent that can be stopped: those that cannot answer at once."""
    getattr(agent, "stop", lambda: None)()


class Player(Mind):
    """An agent at a seat, made for one decision: its memory is that of the thread, not of the table.

    A thousand tables would hold a thousand trees otherwise. It is told anew what its seat has learned.
    """

    def __init__(self, spec: str, rules: Any, seat: int) -> None:
        super().__init__(spec)
        self.rules, self.seat = rules, seat

    def choose(self, view: View, seed: int, labels: Sequence[int], earlier: View | None = None) -> int:
        """The agent's move; `labels` is all that the seat has learned in this game.

        A move without a choice must not be told by its speed, such as a single card of the suit led. So
        the agent thinks all the same, about the next choice in a world that the seat cannot tell from the
        truth, and drops what it finds. If nobody has a choice any more there, it is the `earlier` one.

        Such a move waits, takes its place, computes and is stopped as any other, so nothing that others do
        at this server tells it apart. How hard a choice is may show: that depends on the cards.
        """
        legal = view.legal_moves()
        if len(legal) > 1:
            agent = self._made(self.rules, self.seat)
            for label in labels:
                agent.learn(label)
            return agent.choose(view, seed)
        other = next_choice(view, seed) or earlier
        if other is not None:
            self._made(self.rules, other.seat).choose(other, seed)
        return legal[0]


def next_choice(view: View, seed: int) -> View | None:
    """The view of whoever has a choice next, in a random world that agrees with a view; none, if nobody."""
    state = view.world(seed)
    while not state.is_over and state.mover >= 0:
        legal = state.legal_moves()
        if len(legal) > 1:
            return state.view()
        state.play(legal[0])
    return None


class Slice(Mind):
    """A search of its own, of one part of an agent's iterations or time, or of more than that."""

    def __init__(self, spec: str, parts: float) -> None:
        super().__init__(spec)
        self.parts = parts

    def _adjust(self, agent: Any) -> None:
        if getattr(agent, "time", None):
            agent.time = agent.time / self.parts
        elif getattr(agent, "iterations", 0):
            most = max(agent.iterations, _LARGEST_SLICE)
            agent.iterations = max(1, min(most, int(agent.iterations / self.parts)))

    def advise(self, view: View, seed: int) -> Advice:
        """What it has found."""
        return self._made(view.game, view.seat).advise(view, seed)


class Thinker:
    """A worker, shared fairly by all clients: places for moves, and some for advice, which must not hold up a
    game.

    Answers in a window have places of their own too: one that is still thought about when the window closes
    must not delay the next move, which would tell that somebody was asked. So has the laboratory, whose
    pages may take minutes and cannot be cut short.
    """

    def __init__(self, limits: Limits, worker: Worker | None = None) -> None:
        self.limits, self.worker = limits, worker or Threads(limits.slots)
        moves, others = limits.moves_waiting_a_client, limits.waiting_a_client
        self._for_moves = FairPool(self.worker, limits.places, limits, moves)
        self._for_answers = FairPool(self.worker, limits.places, limits, moves)
        self._for_advice = FairPool(self.worker, limits.places_beside, limits, others)
        self._for_laboratory = FairPool(self.worker, 1, limits, others)

    def close(self) -> None:
        """Take nothing more, and end the worker."""
        for pool in (self._for_moves, self._for_answers, self._for_advice, self._for_laboratory):
            pool.close()
        self.worker.close()

    async def choose(
        self,
        client: str,
        player: Player,
        view: View,
        seed: int,
        labels: Sequence[int],
        earlier: View | None = None,
        in_window: bool = False,
    ) -> int:
        """An agent's move; by the rules of thumb, if it takes too long or fails."""
        pool, seconds = self._for_answers if in_window else self._for_moves, self.limits.thinking_seconds
        try:
            work = Work(player.choose, (view, seed, list(labels), earlier))
            return int(await pool.run(client, work, seconds, can_stop=True))
        except TimeoutError:
            _log.warning("%s did not answer in time; the rules of thumb move for it", player.spec)
        except Exception:  # a fault of an agent must not end the game of the others
            _log.exception("%s failed; the rules of thumb move for it", player.spec)
        return by_thumb(view, seed)

    async def search(self, client: str, seconds: float, search: Slice, view: View, seed: int) -> Advice:
        """What one search finds within so many seconds."""
        work = Work(search.advise, (view, seed))
        found: Advice = await self._for_advice.run(client, work, seconds, can_stop=True)
        return found

    async def aside(
        self, client: str, work: Callable[..., _Result], *given: Any, seconds: float | None = None
    ) -> _Result:
        """What a function returns that takes a short time, such as a parser: it is given up after a limit.

        Parsers and replays look at the clock and end by themselves when their time is over
        (`kibitz.deadline`).
        """
        limit = self.limits.parse_seconds if seconds is None else seconds
        found: _Result = await self._for_advice.run(client, Work(work, given, limit), limit)
        return found

    async def evaluate(self, client: str, work: Callable[..., _Result], *given: Any) -> _Result:
        """What a function returns for a page of the laboratory."""
        limit = self.limits.laboratory_seconds
        try:
            found: _Result = await self._for_laboratory.run(client, Work(work, given, limit), limit)
        except TooLong:
            raise TooLong(
                f"this page takes longer than {limit:g} s to make; `kibitz report` has no limit"
            ) from None
        return found


class Thought:
    """What an agent thinks of a seat's moves; it can be left, and taken up again where it was.

    The agent gets the view and nothing else. Who does not want it any more cancels the task that waits.
    """

    def __init__(self, thinker: Thinker, client: str, spec: str, view: View, seed: int) -> None:
        self._thinker, self._client = thinker, client
        self.spec, self.view, self._seed = spec, view, seed
        self._found: Advice | None = None
        self._votes: Counter[int] = Counter()
        self._parts, self._number = float(_FIRST_SLICE), 0
        self._used = self.limit = 0.0

    async def go_on(self, seconds: float | None = None) -> AsyncIterator[tuple[Advice, bool]]:
        """Better and better advice, for so many seconds more; the flag tells the last one."""
        limit = self.limit = self._used + (
            self._thinker.limits.advice_seconds if seconds is None else seconds
        )
        worker = self._thinker.worker
        began = time.perf_counter() - worker.compiling() - self._used
        while True:
            search = Slice(self.spec, self._parts)
            given = (self.view, derive(self._seed, self._number))
            try:
                part = await self._thinker.search(self._client, limit - self._used, search, *given)
            except TimeoutError:
                if self._found is None:
                    raise TooLong(
                        f"{self.spec} has found nothing within {limit - self._used:g} s; choose a quicker "
                        f"adviser, or try again when the server has less to do"
                    ) from None
                self._used = limit
                yield replace(self._found, seconds=limit, seed=self._seed), True
                return
            self._votes[part.best] += max(1, part.iterations)
            self._found = part if self._found is None else merged(self._found, part, self._votes)
            self._parts, self._number = self._parts / 2, self._number + 1
            self._used = time.perf_counter() - worker.compiling() - began
            done = part.exact or part.iterations == 0 or self._used >= limit
            yield replace(self._found, seconds=self._used, seed=self._seed), done
            if done:
                return


def merged(first: Advice, second: Advice, votes: Counter[int]) -> Advice:
    """Two searches of one position as one: visits add up, values are means over all visits.

    The best move is the one visited most, as in the trees of several threads; where all moves are visited
    alike it is the one that the searches have chosen, each as often as it has iterations.
    """
    if second.exact:
        return second
    rows = tuple(merged_row(a, b) for a, b in zip(first.rows, second.rows, strict=True))
    total = max(1, first.iterations + second.iterations)
    value = (first.value * first.iterations + second.value * second.iterations) / total
    visits = {row.visits for row in rows}
    by_visits = max(rows, key=lambda row: (row.visits, votes[row.move])).move
    best = by_visits if len(visits) > 1 else max(votes, key=lambda move: votes[move])
    return replace(
        second,
        best=best,
        rows=rows,
        value=value,
        iterations=first.iterations + second.iterations,
        worlds=first.worlds + second.worlds,
    )


def merged_row(a: Row, b: Row) -> Row:
    """What two searches, or the searches of two moves that come to the same, say together."""
    if a.visits == 0 or b.visits == 0:
        return b if a.visits == 0 else a
    n = a.visits + b.visits
    mean = (a.value * a.visits + b.value * b.visits) / n
    squares = sum(row.visits * (_spread(row) + (row.value - mean) ** 2) for row in (a, b))
    error = math.sqrt(squares / n / (n - 1))
    shares = {
        name: (a.shares[name] * a.visits + b.shares[name] * b.visits) / n
        for name in a.shares
        if name in b.shares
    }
    return replace(b, value=mean, stderr=error, visits=n, available=a.available + b.available, shares=shares)


def _spread(row: Row) -> float:
    """The mean square deviation behind a row's standard error."""
    return row.stderr**2 * (row.visits - 1) if math.isfinite(row.stderr) else 0.0


def by_thumb(view: View, seed: int) -> int:
    """A move by the game's rules of thumb, interpreted: it needs no thread and no compiler."""
    moves = np.zeros(view.game.max_moves, np.int64)
    with np.errstate(over="ignore"):
        return int(view.game.sensible_move(view.record, moves, stream(seed)))
