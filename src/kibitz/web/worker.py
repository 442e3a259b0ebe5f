"""Where searches and parsers run: in a process of their own, so that the event loop answers while they work.

One process of Python runs one line of Python at a time. Beside searches and parsers an event loop in the same
process would wait for its turn at every step, so `Process` gives them another one. It lives as long as the
server, runs with low priority, and is replaced if it crashes, or if something in it neither ends nor stops.
`Threads` does the same in this process, for tests and for programs that host a table or two.

The two processes send each other pickles, each behind its length, by the pipes of standard input and output:

| from the server              | from the worker                                                  |
|------------------------------|------------------------------------------------------------------|
| what may run there, once     | `CLOCK` and the seconds spent on compiling so far, while it works |
| a number and work to do      | the number, whether it succeeded, and the result or the exception |
| a number and None: stop that |                                                                  |
"""

from __future__ import annotations

import asyncio
import itertools
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from kibitz import games, kernel, trust
from kibitz.deadline import deadline
from kibitz.errors import KibitzError

CLOCK = -1
"""The number of a message that tells the time."""
_TICK = 0.05
"""Seconds from one such message to the next."""
_NICENESS = 5
"""The event loop, which answers everybody, goes first."""
_TRIES = 2
"""Work that was lost with its process is done once more: it need not have been at fault."""
_SHORTEST_LIFE = 1.0
"""Seconds: a process that ends sooner is not replaced at once."""
_LAST_WORDS = 1.0
"""Seconds that a process has to end in once it says nothing any more."""
_LENGTH = struct.Struct("<Q")


class WorkerLost(KibitzError):
    """The process ended that did the work."""


@dataclass(frozen=True)
class Work:
    """A call to be made. If `function` is a method, the `stop` of its object lets it end early."""

    function: Callable[..., Any]
    given: tuple[Any, ...] = ()
    reading_seconds: float | None = None
    """The limit for parsers (`kibitz.deadline`)."""

    def __call__(self) -> Any:
        """Do it."""
        if self.reading_seconds is None:
            return self.function(*self.given)
        with deadline(self.reading_seconds):
            return self.function(*self.given)

    def stop(self) -> None:
        """Let it end soon, if it can."""
        stop = getattr(getattr(self.function, "__self__", None), "stop", None)
        if stop is not None:
            stop()


class Worker:
    """Does work beside the event loop, to which all its methods belong."""

    def start(self, work: Work) -> Job:
        """Begin with the work at once."""
        raise NotImplementedError

    def stop(self, job: Job) -> None:
        """Let a job end soon; nothing happens if it cannot be stopped."""
        raise NotImplementedError

    def compiling(self) -> float:
        """Seconds spent on compiling so far, those of this moment included."""
        raise NotImplementedError

    def replace(self) -> None:
        """Begin anew, if that is possible, because something neither ends nor stops."""

    def close(self) -> None:
        """End everything."""

    async def ended(self) -> None:
        """Wait for the end, after `close`."""


@dataclass(eq=False)
class Job:
    """Work that has begun."""

    worker: Worker
    work: Work
    number: int
    future: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    began: float = field(default_factory=time.perf_counter)
    tries: int = 1
    _compiled: float = 0.0

    def __post_init__(self) -> None:
        self._compiled = self.worker.compiling()

    def seconds(self) -> float:
        """How long it has worked; compiling does not count, for others wait for it too."""
        return time.perf_counter() - self.began - (self.worker.compiling() - self._compiled)

    def stop(self) -> None:
        """Let it end soon."""
        self.worker.stop(self)

    def end(self, succeeded: bool, result: Any) -> None:
        """The result, or the exception, is there."""
        if not self.future.done():
            (self.future.set_result if succeeded else self.future.set_exception)(result)


# --- time spent on compiling -------------------------------------------------------------------------


class _Compiling:
    """Time spent on compiling in this process, what is being compiled at this moment included."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._report = kernel.compile_report

    def watch(self) -> None:
        """Listen to the compiler from now on, beside whoever listens already."""
        if kernel.compile_report != self._hear:
            self._report = kernel.compile_report
            kernel.compile_report = self._hear

    def _hear(self, what: str, functions: int, seconds: float, done: bool) -> None:
        if done:
            self._began.pop(what, None)
        else:
            self._began.setdefault(what, time.perf_counter() - seconds)
        self._report(what, functions, seconds, done)

    def seconds(self) -> float:
        """All of it so far."""
        began = min(list(self._began.values()), default=None)
        now = 0.0 if began is None else time.perf_counter() - began
        return kernel.seconds_compiling() + now


_compiling = _Compiling()


# --- in this process ---------------------------------------------------------------------------------


class Threads(Worker):
    """Threads of this process: what they run in Python slows the event loop down."""

    def __init__(self, threads: int) -> None:
        _compiling.watch()
        self._pool = ThreadPoolExecutor(threads, "kibitz-worker")
        self._numbers = itertools.count()

    def start(self, work: Work) -> Job:
        """Begin with the work at once."""
        job, loop = Job(self, work, next(self._numbers)), asyncio.get_running_loop()

        def tell(done: Future[Any]) -> None:
            error = done.exception()
            result = done.result() if error is None else error
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(job.end, error is None, result)

        self._pool.submit(work).add_done_callback(tell)
        return job

    def stop(self, job: Job) -> None:
        """Let a job end soon."""
        job.work.stop()

    def compiling(self) -> float:
        """Seconds spent on compiling."""
        return _compiling.seconds()

    def close(self) -> None:
        """Take nothing more; what is running ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


# --- a process of its own ----------------------------------------------------------------------------


class Process(Worker):
    """Another process, started when the first work comes (or by `warm`), and again when it was lost."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._numbers = itertools.count()
        self._jobs: dict[int, Job] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._life: asyncio.Task[None] | None = None
        self._unsent: list[bytes] = []
        self._compiling = self._compiled_before = 0.0
        self._is_closed = False

    def warm(self) -> None:
        """Start the process, if there is none."""
        if self._life is None and not self._is_closed:
            self._life = asyncio.get_running_loop().create_task(self._live())

    def start(self, work: Work) -> Job:
        """Begin with the work, as soon as the process is there."""
        job = Job(self, work, next(self._numbers))
        self._jobs[job.number] = job
        self._hand_over(job)
        return job

    def stop(self, job: Job) -> None:
        """Let a job end soon."""
        if job.number in self._jobs:
            self._send((job.number, None))

    def compiling(self) -> float:
        """Seconds spent on compiling, as of the last message."""
        return self._compiled_before + self._compiling

    def replace(self) -> None:
        """End the process; what it was doing is tried once more in another one."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    def close(self) -> None:
        """End the process."""
        self._is_closed = True
        self.replace()
        if self._process is None and self._life is not None:
            self._life.cancel()

    async def ended(self) -> None:
        """Wait for the end of the process, after `close`."""
        if self._life is not None:
            await asyncio.wait({self._life})

    def _hand_over(self, job: Job) -> None:
        self.warm()
        try:
            self._send((job.number, pickle.dumps(job.work)))
        except Exception as error:  # it cannot be pickled
            self._end(job.number, False, error)

    def _send(self, message: Any) -> None:
        data = pickle.dumps(message)
        self._write(_LENGTH.pack(len(data)) + data)

    def _write(self, data: bytes) -> None:
        stream = self._process.stdin if self._process is not None else None
        if stream is None:
            self._unsent.append(data)
        elif not stream.is_closing():
            stream.write(data)

    def _end(self, number: int, succeeded: bool, result: Any) -> None:
        job = self._jobs.pop(number, None)
        if job is not None:
            job.end(succeeded, result)

    async def _live(self) -> None:
        """From the start of a process to its end."""
        began = time.monotonic()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-c", "from kibitz.web.worker import main; main()"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            if self._is_closed:
                self._process.kill()
            unsent, self._unsent = self._unsent, []
            self._send((trust.allowed(), games.known_files(), self._threads))
            for data in unsent:
                self._write(data)
            assert self._process.stdout is not None
            with suppress(asyncio.IncompleteReadError, OSError):  # it has ended
                while True:
                    await self._hear(self._process.stdout)
        finally:
            await self._bury(time.monotonic() - began)

    async def _hear(self, stream: asyncio.StreamReader) -> None:
        """Take one message."""
        (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
        number, *told = pickle.loads(await stream.readexactly(length))
        if number == CLOCK:
            (self._compiling,) = told
            return
        succeeded, data = told
        try:
            self._end(number, succeeded, pickle.loads(data))
        except Exception as error:  # it cannot be read here: a class that only the other process knows
            self._end(number, False, error)

    async def _bury(self, seconds: float) -> None:
        """The process has ended: what it was doing is tried once more, or fails."""
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), _LAST_WORDS)
            except TimeoutError:
                process.kill()
                await process.wait()
        self._compiled_before, self._compiling = self.compiling(), 0.0
        if not self._is_closed and seconds < _SHORTEST_LIFE:
            await asyncio.sleep(_SHORTEST_LIFE)
        self._life = None
        lost = list(self._jobs.values())
        self._unsent.clear()  # of jobs all of which are handed over again
        for job in lost:
            if job.tries < _TRIES and not self._is_closed:
                job.tries += 1
                self._hand_over(job)
            else:
                code = None if process is None else process.returncode
                self._end(job.number, False, WorkerLost(f"the worker process ended with code {code}"))


# --- the other side ----------------------------------------------------------------------------------


class _Doing:
    """Work that was sent here."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._work: Work | None = None
        self._is_stopped = False

    def do(self) -> tuple[bool, bytes]:
        """Whether it succeeded, and the result or the exception, to be sent."""
        try:
            self._work = pickle.loads(self._data)
            if self._is_stopped:
                self._work.stop()
            return True, pickle.dumps(self._work())
        except KibitzError as error:
            return False, pickle.dumps(error)
        except Exception:  # others can hold anything, and the traceback stays here
            return False, pickle.dumps(RuntimeError(f"in the worker process: {traceback.format_exc()}"))

    def stop(self) -> None:
        """Let it end soon."""
        self._is_stopped = True
        if self._work is not None:
            self._work.stop()


class _Served:
    """The process that gets the results."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._writing = threading.Lock()
        self._doing: dict[int, _Doing] = {}
        self._is_working = threading.Event()

    def hear(self) -> Any:
        """The next message. When the server has ended there is nothing to do any more."""
        head = self._incoming.read(_LENGTH.size)
        data = self._incoming.read(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else b""
        if not data:
            os._exit(0)
        return pickle.loads(data)

    def tell(self, *message: Any) -> None:
        """Send a message."""
        data = pickle.dumps(message)
        with self._writing, suppress(OSError):  # the server has gone
            self._outgoing.write(_LENGTH.pack(len(data)) + data)
            self._outgoing.flush()

    def serve(self, threads: int) -> None:
        """Do what is asked for until the server ends."""
        threading.Thread(target=self._tell_the_time, daemon=True).start()
        pool = ThreadPoolExecutor(threads)
        while True:
            number, data = self.hear()
            if data is not None:
                self._doing[number] = _Doing(data)
                self._is_working.set()
                pool.submit(self._do, number)
            elif (doing := self._doing.get(number)) is not None:
                doing.stop()

    def _do(self, number: int) -> None:
        answer = self._doing[number].do()
        del self._doing[number]
        self.tell(number, *answer)

    def _tell_the_time(self) -> None:
        """Tell now and then how long was compiled, as long as anything is done."""
        while True:
            self._is_working.wait()
            self._is_working.clear()
            if self._doing:
                self._is_working.set()
            self.tell(CLOCK, _compiling.seconds())
            time.sleep(_TICK)


def main() -> None:
    """Be a worker: what is printed goes to the server's log, Ctrl-C is for the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    outgoing = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with suppress(OSError, AttributeError):  # Windows knows no niceness
        os.nice(_NICENESS)
    _compiling.watch()
    served = _Served(sys.stdin.buffer, outgoing)
    permissions, files, threads = served.hear()
    trust.inherit(permissions)
    games.inherit(files)
    served.serve(threads)
