"""The laboratory: play what is wanted and not yet in the store, whoever plays it.

Work goes out in batches of about two seconds. Which deals share a batch depends on the speed of the
machine; what comes of each deal does not.
"""

from __future__ import annotations

import time
from collections import defaultdict
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

Work = Callable[[float, float], None]
"""Called with (seconds of work done, seconds of work in all), for all workers together. Games of one match
cost a thousand times as much as those of another, so a bar that counts games says nothing about the time.
"""


@dataclass(frozen=True)
class Order:
    """So many deals of a match, or as many of them as decide it."""

    match: Match
    deals: int
    until_decided: bool = False
    deal_seconds: float = 0.0
    """What a deal is expected to cost; 0: nobody knows before it is measured."""


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

    def run(
        self, orders: Sequence[Order], progress: Progress | None = None, work: Work | None = None
    ) -> list[int]:
        """Play until all orders are fulfilled; how many deals each of them took.

        Progress can be told in games, or as work.
        """
        self.store.give_back()  # what an interrupted run has claimed
        goals = list(orders)
        while True:
            for i, order in enumerate(orders):
                if order.until_decided:
                    scores = self.store.scores(self.store.number_of(order.match), order.deals)
                    goals[i] = replace(order, deals=stops_at(order, scores))
            if not self._play(goals, orders, progress, work):
                return [goal.deals for goal in goals]

    def _play(
        self,
        goals: Sequence[Order],
        orders: Sequence[Order],
        progress: Progress | None,
        work: Work | None,
    ) -> bool:
        """Play what the goals lack; whether there was anything."""
        numbers = {goal.match: self.store.number_of(goal.match) for goal in goals}
        total = sum(order.deals * order.match.games_a_deal for order in orders)
        load = Workload(orders)
        for order in orders if work else ():
            known = self.store.cost(numbers[order.match], order.deals)
            load.measured(order.match, known.deals, known.seconds)

        def count() -> int:
            """The games that are in the store, which another program may fill too."""
            load.finished = [self.store.finished(numbers[order.match], order.deals) for order in orders]
            each = zip(orders, load.finished, strict=True)
            return sum(finished * order.match.games_a_deal for order, finished in each)

        def tell(done: int) -> None:
            if progress:
                progress(done, total)
            if work:
                work(*(seconds / self.executor.workers for seconds in load.seconds()))

        done = count()
        was_idle = True
        while True:
            for batch, played, host in self.executor.run(self._batches(goals, numbers)):
                was_idle = False
                self._pace[batch.match] = played.seconds / batch.deals
                if self.store.add(batch, numbers[batch.match], played, host):
                    done += batch.deals * batch.match.games_a_deal
                    load.measured(batch.match, batch.deals, played.seconds)
                    load.played(batch.match, batch.deals)
                tell(done)
            if all(self.store.finished(numbers[goal.match], goal.deals) >= goal.deals for goal in goals):
                return not was_idle
            was_idle = False
            # Another program has claimed the rest: see it finish, or take over when it is gone.
            time.sleep(_POLL_SECONDS)
            done = count()
            tell(done)

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


class Workload:
    """How much of some orders is done, in seconds of one core.

    What a deal of a match costs is known from those that were played; until then it is what the order
    expects, times what this machine has needed for others where so much was expected of them; or, if it
    expects nothing, as much as deals of the other matches cost on average.
    """

    _TRUST = 1.0
    """Seconds of playing that an expectation weighs as much as: the first deal alone says little."""

    def __init__(self, orders: Sequence[Order]) -> None:
        self.orders = orders
        self.finished = [0] * len(orders)
        """Deals of each order."""
        self._deals: defaultdict[Match, float] = defaultdict(float)
        self._seconds: defaultdict[Match, float] = defaultdict(float)
        self._share = 0.0

    def played(self, match: Match, deals: int) -> None:
        """So many more deals of a match are done."""
        for i, order in enumerate(self.orders):
            if order.match == match:
                self.finished[i] = min(order.deals, self.finished[i] + deals)

    def measured(self, match: Match, deals: int, seconds: float) -> None:
        """So many deals of a match have taken so long."""
        self._deals[match] += deals
        self._seconds[match] += seconds

    def seconds(self) -> tuple[float, float]:
        """What is done, and what there is in all. The share that is done never falls, whatever is learnt."""
        paces = self._paces()
        total = sum(order.deals * pace for order, pace in zip(self.orders, paces, strict=True))
        done = sum(finished * pace for finished, pace in zip(self.finished, paces, strict=True))
        self._share = max(self._share, done / total)
        return self._share * total, total

    def _paces(self) -> list[float]:
        """Seconds a deal, order by order."""
        expecting = [order for order in self.orders if order.deal_seconds]
        taken = sum(self._seconds[order.match] for order in expecting)
        expected = sum(self._deals[order.match] * order.deal_seconds for order in expecting)
        slower = (self._TRUST + taken) / (self._TRUST + expected)  # than the machine of the expectations
        paces = [self._pace(order, slower) for order in self.orders]
        known = [pace for pace in paces if pace]
        usual = sum(known) / len(known) if known else 1.0
        return [pace or usual for pace in paces]

    def _pace(self, order: Order, slower: float) -> float:
        """Seconds a deal of one order; 0 if nobody knows."""
        deals, seconds = self._deals[order.match], self._seconds[order.match]
        if order.deal_seconds:
            deals += self._TRUST / (order.deal_seconds * slower)
            seconds += self._TRUST
        return seconds / deals if deals else 0.0


def probe(match: Match, seconds: float = 0.3) -> float:
    """Seconds a deal of one core, from a few deals that are played for this and forgotten."""
    deals, spent = 0, 0.0
    while spent < seconds and deals < 1000:
        n = max(1, deals)
        spent += Batch(match, deals, n).play().seconds
        deals += n
    return spent / deals
