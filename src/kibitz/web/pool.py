"""Clients share a worker fairly: whoever has used it least is served first.

Nothing here interrupts work by force, unless it hangs. So that one client cannot hold up
another, a search that has had its share is stopped, and answers with what it has found, when another client
waits. Work that cannot be stopped must be short; a client has one place for it, and all clients together
leave one place to searches.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from kibitz.errors import Unsupported
from kibitz.web.limits import Limits
from kibitz.web.worker import Job, Work, Worker

_LOOK = 0.05  # seconds between two looks at the clock
_REMEMBERED = 10_000  # clients


@dataclass(eq=False)
class _Piece:
    """Work that a client waits for."""

    client: str
    work: Work
    seconds: float
    can_stop: bool
    future: asyncio.Future[Any]
    job: Job | None = None
    began: float = 0.0
    over: float | None = None
    """How long it had worked when it was stopped, or had to end."""


class FairPool:
    """Some places at a worker, and a queue for every client. All of it belongs to one event loop.

    >>> from kibitz.web.worker import Threads
    >>> async def example():
    ...     pool = FairPool(Threads(2), places=2)
    ...     return await pool.run("ann", Work(max, (6, 7)), seconds=1.0)
    >>> asyncio.run(example())
    7
    """

    def __init__(
        self, worker: Worker, places: int, limits: Limits | None = None, most_waiting: int = 1_000_000
    ) -> None:
        self._worker, self._places = worker, places
        self._limits, self._most_waiting = limits or Limits(), most_waiting
        self._waiting: dict[str, deque[_Piece]] = {}
        self._working: set[_Piece] = set()
        self._used: dict[str, tuple[float, float]] = {}  # client → seconds used, as of when
        self._looking: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def run(self, client: str, work: Work, seconds: float, can_stop: bool = False) -> Any:
        """The result of the work, which begins when it is the client's turn.

        `can_stop`: after so many seconds, or earlier when others wait, it is stopped and has a moment to
        answer; then `TimeoutError`. It is stopped, too, when nobody waits for it any more.
        """
        piece = _Piece(client, work, seconds, can_stop, asyncio.get_running_loop().create_future())
        queue = self._waiting.get(client, deque())
        if len(queue) >= self._most_waiting:
            raise Unsupported(f"{len(queue)} things are being worked on for you already; wait for them")
        if self._is_closed:
            raise asyncio.CancelledError
        queue.append(piece)
        self._waiting[client] = queue
        self._begin_next()
        try:
            return await piece.future
        finally:
            self._forget(piece)

    def others_wait(self, client: str) -> bool:
        """Whether somebody else has work waiting, and no place at all."""
        served = {piece.client for piece in self._working}
        return any(other != client and other not in served for other in self._waiting)

    def close(self) -> None:
        """Begin nothing more."""
        self._is_closed = True
        for piece in [piece for queue in self._waiting.values() for piece in queue]:
            piece.future.cancel()
        self._waiting.clear()
        if self._looking is not None:
            self._looking.cancel()

    def _forget(self, piece: _Piece) -> None:
        """Nobody waits for a piece any more: it needs no place, or stops."""
        if piece.job is not None:
            if not piece.job.future.done():
                self._stop(piece)
            return
        queue = self._waiting.get(piece.client, deque())
        with suppress(ValueError):
            queue.remove(piece)
        if not queue:
            self._waiting.pop(piece.client, None)

    def _begin_next(self) -> None:
        while len(self._working) < self._places and (piece := self._next()) is not None:
            self._working.add(piece)
            piece.began = time.perf_counter()
            piece.job = self._worker.start(piece.work)
            piece.job.future.add_done_callback(partial(self._finish, piece))
        if self._working and self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(_LOOK, self._look)

    def _next(self) -> _Piece | None:
        """The next piece of the client that has used least, if one may begin."""
        now = time.monotonic()
        running = Counter(piece.client for piece in self._working)
        bound = [piece.client for piece in self._working if not piece.can_stop]
        most = max(1, self._places - 1)  # one place is for whoever comes next
        for client in sorted(self._waiting, key=lambda each: self._usage(each, now)):
            queue = self._waiting[client]
            if running[client] >= most:
                continue
            if not queue[0].can_stop and (client in bound or len(bound) >= most):
                continue
            piece = queue.popleft()
            if not queue:
                del self._waiting[client]
            return piece
        return None

    def _look(self) -> None:
        """Stop what has had its time, and give up what hangs."""
        self._looking = None
        for piece in list(self._working):
            assert piece.job is not None
            used = piece.job.seconds()
            if piece.over is None:
                share_is_used = piece.can_stop and used > self._limits.fair_seconds
                if used > piece.seconds or (share_is_used and self.others_wait(piece.client)):
                    self._stop(piece)
            elif (
                used > piece.over + self._limits.grace_seconds and piece.can_stop and not piece.future.done()
            ):
                piece.future.set_exception(TimeoutError())
            elif used > piece.over + self._limits.stuck_seconds:
                self._worker.give_up(piece.job)
        if self._working:
            self._looking = asyncio.get_running_loop().call_later(_LOOK, self._look)

    def _stop(self, piece: _Piece) -> None:
        if piece.job is not None and piece.over is None:
            piece.over = piece.job.seconds()
            piece.job.stop()

    def _finish(self, piece: _Piece, done: asyncio.Future[Any]) -> None:
        """The work is done: pass on what came of it, and begin with the next."""
        assert piece.job is not None
        error = done.exception()
        if not piece.future.done():
            if error is None:
                piece.future.set_result(done.result())
            else:
                piece.future.set_exception(error)
        self._working.discard(piece)
        self._charge(piece.client, time.perf_counter() - piece.began)
        if not self._is_closed:
            self._begin_next()

    def _usage(self, client: str, now: float) -> float:
        seconds, then = self._used.get(client, (0.0, now))
        return seconds * 0.5 ** ((now - then) / self._limits.half_life_seconds)

    def _charge(self, client: str, seconds: float) -> None:
        now = time.monotonic()
        self._used[client] = (self._usage(client, now) + seconds, now)
        if len(self._used) > _REMEMBERED:
            least = sorted(self._used, key=lambda each: self._usage(each, now))
            for each in least[: _REMEMBERED // 2]:
                del self._used[each]
