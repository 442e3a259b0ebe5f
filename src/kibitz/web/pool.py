"""Threads that many clients share fairly: whoever has used them least is served first.

Searches release the GIL, so threads are enough. A piece of work runs until it ends: nothing here interrupts
it. So that one client cannot hold up another, whoever runs a search asks `others_wait` now and then and stops
it when it has had its share; work that cannot be stopped must be short, and a client has one thread for it.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from kibitz.errors import Unsupported

_Result = TypeVar("_Result")
_HALF_LIFE = 30.0  # seconds after which used time counts half
_NICENESS = 10  # the event loop, which answers everybody, goes first


@dataclass(eq=False)
class _Piece:
    """Work that a client waits for."""

    client: str
    can_stop: bool
    work: Callable[[], Any]
    future: Future[Any]


class FairPool:
    """Some threads, and a queue for every client.

    >>> pool = FairPool(2, "example")
    >>> pool.submit("ann", lambda: 6 * 7).result()
    42
    >>> pool.close()
    """

    def __init__(self, threads: int, name: str, most_waiting: int = 1_000_000) -> None:
        self._threads, self._most_waiting = threads, most_waiting
        self._changed = threading.Condition()
        self._waiting: dict[str, deque[_Piece]] = {}
        self._running: Counter[str] = Counter()
        self._bound: Counter[str] = Counter()  # pieces that cannot be stopped, running
        self._used: dict[str, tuple[float, float]] = {}  # client → seconds used, as of when
        self._is_closed = False
        for number in range(threads):
            threading.Thread(target=self._serve, name=f"{name}-{number}", daemon=True).start()

    def submit(self, client: str, work: Callable[[], _Result], can_stop: bool = False) -> Future[_Result]:
        """Let a thread do the work when it is the client's turn.

        `can_stop`: the caller stops it when others wait; else a client has one thread for such work.
        """
        piece = _Piece(client, can_stop, work, Future())
        with self._changed:
            if self._is_closed:
                piece.future.cancel()
                return piece.future
            queue = self._waiting.setdefault(client, deque())
            if len(queue) >= self._most_waiting:
                raise Unsupported(f"{len(queue)} things are being worked on for you already; wait for them")
            queue.append(piece)
            self._changed.notify()
        piece.future.add_done_callback(lambda _: self._forget(piece))
        return piece.future

    def others_wait(self, client: str) -> bool:
        """Whether somebody else has work waiting, and no thread at all."""
        with self._changed:
            return any(other != client and not self._running[other] for other in self._waiting)

    def close(self) -> None:
        """Take nothing more; what is running ends by itself."""
        with self._changed:
            self._is_closed = True
            waiting = [piece for queue in self._waiting.values() for piece in queue]
            self._waiting.clear()
            self._changed.notify_all()
        for piece in waiting:
            piece.future.cancel()

    def _forget(self, piece: _Piece) -> None:
        """A piece that was cancelled needs no thread."""
        if piece.future.cancelled():
            with self._changed:
                queue = self._waiting.get(piece.client, deque())
                with suppress(ValueError):
                    queue.remove(piece)
                if not queue:
                    self._waiting.pop(piece.client, None)

    def _next(self) -> _Piece | None:
        """The next piece of the client that has used least, if one may run; the caller holds the lock."""
        now = time.monotonic()
        for client in sorted(self._waiting, key=lambda each: self._usage(each, now)):
            queue = self._waiting[client]
            if self._running[client] >= max(1, self._threads - 1):  # one thread is for whoever comes next
                continue
            if not queue[0].can_stop and self._bound[client]:
                continue
            piece = queue.popleft()
            if not queue:
                del self._waiting[client]
            return piece
        return None

    def _usage(self, client: str, now: float) -> float:
        seconds, then = self._used.get(client, (0.0, now))
        return seconds * 0.5 ** ((now - then) / _HALF_LIFE)

    def _serve(self) -> None:
        with suppress(OSError, AttributeError):  # niceness is a thread's own on Linux, and nowhere else
            if os.uname().sysname == "Linux":
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        while True:
            with self._changed:
                while (piece := self._next()) is None:
                    if self._is_closed:
                        return
                    self._changed.wait()
                if self._waiting:  # it may be the turn of another piece, too: one thread wakes the next
                    self._changed.notify()
                self._running[piece.client] += 1
                self._bound[piece.client] += not piece.can_stop
            began = time.monotonic()
            if piece.future.set_running_or_notify_cancel():
                try:
                    result = piece.work()
                except BaseException as error:
                    piece.future.set_exception(error)
                else:
                    piece.future.set_result(result)
            with self._changed:
                self._charge(piece, time.monotonic() - began)
            del piece

    def _charge(self, piece: _Piece, seconds: float) -> None:
        client, now = piece.client, time.monotonic()
        for count, n in ((self._running, 1), (self._bound, int(not piece.can_stop))):
            count[client] -= n
            if not count[client]:
                del count[client]
        self._used[client] = (self._usage(client, now) + seconds, now)
        if len(self._used) > 10_000:
            least = sorted(self._used, key=lambda each: self._usage(each, now))
            for each in least[:5_000]:
                del self._used[each]
