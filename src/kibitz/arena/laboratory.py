"""The laboratory: play what is wanted and not yet in the store, whoever plays it.

Work goes out in batches of about two seconds. Which deals share a batch depends on the speed of the
machine; what comes of each deal does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kibitz.arena.executors import Executor
from kibitz.arena.play import Batch, Match
from kibitz.arena.statistics import looks
from kibitz.arena.store import Store
from kibitz.arena.tally import Tally

_BATCH_SECONDS = 2.0
_BATCHES_A_CLAIM = 4  # for every worker
_SIDE_BY_SIDE = 1000  # deals whose games wait for each other: the more, the less each of them costs
_POLL_SECONDS = 0.5

Progress = Callable[[int, int], None]
"""Called with (games finished, games in all)."""


@dataclass(frozen=True)
class Order:
    """So many deals of a match, or as many of them as decide it."""

    match: Match
    deals: int
    until_decided: bool = False


@np.errstate(over="ignore", invalid="ignore")  # scores may be anything that a store can hold
def is_decided(match: Match, scores: NDArray[np.float64]) -> bool:
    """Whether it is known that the first agent makes more points than the others, or fewer.

    In all the looks at a match together, the wrong answer is given in at most 5 % of the cases.
    """
    lead = Tally.of(match, scores).estimate("lead", interval="any time")
    return lead.low > 0 or lead.high < 0


def stops_at(order: Order, scores: NDArray[np.float64]) -> int:
    """The number of deals after which an order is fulfilled, as far as its first deals tell.

    One looks after fixed numbers of deals, so the answer does not depend on how many were played in
    the meantime.
    """
    if order.until_decided:
        for deals in looks(order.deals):
            if deals > len(scores) or is_decided(order.match, scores[:deals]):
                return deals
    return order.deals


class Laboratory:
    """A store and who plays for it."""

    def __init__(self, store: Store, executor: Executor, keep_moves: bool = False) -> None:
        self.store, self.executor, self.keep_moves = store, executor, keep_moves
        self._pace: dict[Match, float] = {}  # seconds a deal

    def run(self, orders: Sequence[Order], progress: Progress | None = None) -> list[int]:
        """Play until all orders are fulfilled; how many deals each of them took."""
        self.store.give_back()  # what an interrupted run has claimed
        goals = list(orders)
        while True:
            for i, order in enumerate(orders):
                if order.until_decided:
                    scores = self.store.scores(self.store.number_of(order.match), order.deals)
                    goals[i] = replace(order, deals=stops_at(order, scores))
            if not self._play(goals, orders, progress):
                return [goal.deals for goal in goals]

    def _play(self, goals: Sequence[Order], orders: Sequence[Order], progress: Progress | None) -> bool:
        """Play what the goals lack; whether there was anything."""
        numbers = {goal.match: self.store.number_of(goal.match) for goal in goals}
        total = sum(order.deals * order.match.games_a_deal for order in orders)

        def games_in_store() -> int:
            return sum(
                self.store.finished(numbers[order.match], order.deals) * order.match.games_a_deal
                for order in orders
            )

        done = games_in_store()
        was_idle = True
        while True:
            for batch, played, host in self.executor.run(self._batches(goals, numbers)):
                was_idle = False
                self._pace[batch.match] = played.seconds / batch.deals
                if self.store.add(batch, numbers[batch.match], played, host):
                    done += batch.deals * batch.match.games_a_deal
                if progress:
                    progress(done, total)
            if all(self.store.finished(numbers[goal.match], goal.deals) >= goal.deals for goal in goals):
                return not was_idle
            was_idle = False
            # Another program has claimed the rest: see it finish, or take over when it is gone.
            time.sleep(_POLL_SECONDS)
            done = games_in_store()
            if progress:
                progress(done, total)

    def _batches(self, goals: Sequence[Order], numbers: dict[Match, int]) -> Iterator[Batch]:
        """What is to be played, claimed as it is asked for.

        One batch of every match comes first: whatever has to be compiled is compiled by all workers at once.
        """
        matches = [self._batches_of(goal, numbers[goal.match]) for goal in goals]
        for batches in matches:
            yield from islice(batches, 1)
        for batches in matches:
            yield from batches

    def _batches_of(self, goal: Order, number: int) -> Iterator[Batch]:
        """The batches of one match."""
        while True:
            workers = self.executor.workers
            size = self._batch_size(goal, number, workers)
            claimed = self.store.claim(number, goal.deals, size * workers * _BATCHES_A_CLAIM)
            if claimed is None:
                break
            first = claimed.start
            while first < claimed.stop:
                deals = min(self._batch_size(goal, number, workers), claimed.stop - first)
                yield Batch(goal.match, first, deals, self.keep_moves, goal.match.code)
                first += deals

    def _batch_size(self, goal: Order, number: int, workers: int) -> int:
        """About two seconds of work, and less near the end, so that all workers end together."""
        if goal.match.plays_lanes:
            return min(goal.deals, _SIDE_BY_SIDE)
        if goal.match not in self._pace:
            known = self.store.cost(number, goal.deals)
            if not known.deals:
                return 1  # try one
            self._pace[goal.match] = known.seconds / known.deals
        in_time = _BATCH_SECONDS / max(self._pace[goal.match], 1e-6)
        return max(1, int(min(in_time, goal.deals / (4 * workers))))


def probe(match: Match, seconds: float = 0.3) -> float:
    """Seconds a deal of one core, from a few deals that are played for this and forgotten."""
    deals, spent = 0, 0.0
    while spent < seconds and deals < 1000:
        n = max(1, deals)
        spent += Batch(match, deals, n).play().seconds
        deals += n
    return spent / deals
