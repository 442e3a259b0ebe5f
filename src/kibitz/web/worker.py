"""Where searches and parsers run: in a process of their own, so that the event loop answers while they work.

Python code of one process holds one lock (the GIL), so beside searches and parsers the event loop would wait
for its turn at every step. `Process` gives them another process. It lives as long as the server, runs with
low priority, and is started again if it crashes or if a job in it hangs. `Threads` does the same work in this
process, for tests and for programs that host a table or two.

The two processes exchange length-prefixed pickles, through the standard input and output of the worker:

| from the server              | from the worker                                                   |
|------------------------------|-------------------------------------------------------------------|
| what may run there, once     | `_READY`, once                                                    |
| a number and work to do      | the number, whether it succeeded, and the result or the exception |
| a number and None: stop that | `_CLOCK` and the seconds spent on compiling so far, while it works |

If the process is lost, each job that was running there is tried once more, one after the other, so that one
that crashes does not take the others with it a second time.
"""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import logging
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

from kibitz import ending, games, kernel, trust
from kibitz.deadline import deadline
from kibitz.errors import KibitzError

_log = logging.getLogger(__name__)
_CLOCK = -1
"""The number of a message that tells the time spent on compiling."""
_TICK = 0.05
"""Seconds from one such message to the next."""
_READY = b"\0kibitz worker\0"
"""What the output of the worker begins with; anything before it was printed by the start of Python."""
_NICENESS = 5
"""The event loop, which answers everybody, goes first."""
_TRIES = 2
_SHORTEST_LIFE = 1.0
"""Seconds: a process that ends sooner is not started again at once."""
_END_SECONDS = 1.0
"""For a process to end in after its output has ended."""
_PRINTED_AT_ONCE = 1 << 16
_LENGTH = struct.Struct("<Q")
_LOST = "the server had to restart its worker process; try again"


class WorkerLost(KibitzError):
    """The worker process ended before it had finished."""


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

    def give_up(self, job: Job) -> None:
        """A job hangs: end it by force, if that is possible."""

    def close(self) -> None:
        """End everything."""

    async def ended(self) -> None:
        """Wait for the end, after `close`."""


@dataclass(eq=False)
class Job:
    """Work that was given to a worker."""

    worker: Worker
    work: Work
    number: int
    future: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    tries: int = 0
    is_stopped: bool = False
    _began: float | None = None
    _compiled: float = 0.0

    def begin(self) -> None:
        """The worker has it now."""
        self.tries += 1
        self._began, self._compiled = time.perf_counter(), self.worker.compiling()

    def wait(self) -> None:
        """The worker has been lost, and it waits for another one."""
        self._began = None

    @property
    def has_begun(self) -> bool:
        """Whether the worker has it."""
        return self._began is not None

    def seconds(self) -> float:
        """How long it has worked; compiling does not count, for others wait for it too."""
        if self._began is None:
            return 0.0
        return time.perf_counter() - self._began - (self.worker.compiling() - self._compiled)

    def stop(self) -> None:
        """Let it end soon."""
        self.is_stopped = True
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
        job.begin()

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
        self._suspects: list[Job] = []
        """Jobs that were running when a process was lost: they are tried once more, one after the other."""
        self._process: asyncio.subprocess.Process | None = None
        self._is_ready = self._was_ready = False
        self._is_explained = False
        """Whether the process was ended because of a job that is known: the others are not suspected."""
        self._life: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._compiling = self._compiled_before = 0.0

    def warm(self) -> None:
        """Start the process, if there is none."""
        if self._life is None and not self._closing.is_set():
            self._life = asyncio.get_running_loop().create_task(self._live())

    def start(self, work: Work) -> Job:
        """Begin with the work, as soon as the process is ready."""
        job = Job(self, work, next(self._numbers))
        self._jobs[job.number] = job
        if self._closing.is_set():
            self._end(job.number, False, WorkerLost(_LOST))
        elif self._is_ready:
            self._hand_over(job)
        else:
            self.warm()
        return job

    def stop(self, job: Job) -> None:
        """Let a job end soon."""
        if job.number not in self._jobs:
            return
        if job.has_begun:
            self._send((job.number, None))
        else:
            self._end(job.number, False, WorkerLost(_LOST))

    def compiling(self) -> float:
        """Seconds spent on compiling, as of the last message."""
        return self._compiled_before + self._compiling

    def give_up(self, job: Job) -> None:
        """End a job that hangs with its process; the others are tried once more in another one."""
        _log.warning("a job of the worker process hangs: %s", job.work.function)
        self._end(job.number, False, WorkerLost(_LOST))
        self._is_explained = True
        self._kill()

    def close(self) -> None:
        """End the process and all jobs."""
        self._closing.set()
        self._kill()
        for number in list(self._jobs):
            self._end(number, False, WorkerLost(_LOST))

    async def ended(self) -> None:
        """Wait for the end of the process, after `close`."""
        if self._life is not None:
            await asyncio.wait({self._life})

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()

    def _hand_over(self, job: Job) -> None:
        job.begin()
        try:
            self._send((job.number, pickle.dumps(job.work)))
        except Exception as error:  # it cannot be pickled
            self._end(job.number, False, error)

    def _send(self, message: Any) -> None:
        stream = self._process.stdin if self._process is not None else None
        if stream is not None and not stream.is_closing():
            data = pickle.dumps(message)
            stream.write(_LENGTH.pack(len(data)) + data)

    def _end(self, number: int, succeeded: bool, result: Any) -> None:
        job = self._jobs.pop(number, None)
        if job is None:
            return
        job.end(succeeded, result)
        if self._suspects and job is self._suspects[0]:
            self._suspects.pop(0)
            if self._suspects and self._is_ready:
                self._hand_over(self._suspects[0])
        elif job in self._suspects:
            self._suspects.remove(job)

    async def _live(self) -> None:
        """Keep a process alive as long as there is work for it."""
        while not self._closing.is_set():
            began = time.monotonic()
            how = await self._live_once()
            if self._closing.is_set():
                break
            self._sort_out(how)
            if not self._jobs:
                break
            if time.monotonic() - began < _SHORTEST_LIFE:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), _SHORTEST_LIFE)
        self._life = None

    async def _live_once(self) -> str:
        """One process from its start to its end; how it ended."""
        self._was_ready = False
        try:
            process = self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-c", _BEGIN),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the server
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except OSError as error:
            return f"could not be started: {error}"
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        logging_ = asyncio.create_task(_log_all(process.stderr))
        try:
            if self._closing.is_set():
                self._kill()
            self._send((trust.allowed(), games.known_files(), self._threads))
            await process.stdout.readuntil(_READY)
            self._is_ready = self._was_ready = True
            waiting = [job for job in self._jobs.values() if job not in self._suspects]
            for job in self._suspects[:1] + waiting:
                self._hand_over(job)
            while True:
                await self._receive(process.stdout)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass  # it has ended, or talks nonsense
        except asyncio.CancelledError:
            self._kill()
            logging_.cancel()
            raise
        finally:
            self._is_ready = False
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _END_SECONDS)
        except TimeoutError:
            self._kill()
            await process.wait()
        await asyncio.wait((logging_,), timeout=_END_SECONDS)  # somebody else may hold its output open
        logging_.cancel()
        self._compiled_before, self._compiling = self.compiling(), 0.0
        return f"ended with code {process.returncode}"

    def _sort_out(self, how: str) -> None:
        """The process is gone: which jobs are tried once more, and which are not."""
        begun = [job for job in self._jobs.values() if job.has_begun]
        lost = begun if self._was_ready else list(self._jobs.values())
        for job in begun:
            job.wait()
            job.tries -= self._is_explained
        for job in lost:
            if job.is_stopped or job.tries >= _TRIES or not self._was_ready:
                self._end(job.number, False, WorkerLost(_LOST))
            elif not self._is_explained and job not in self._suspects:
                self._suspects.append(job)
        self._is_explained = False
        again = sum(job.number in self._jobs for job in begun)
        _log.warning("the worker process %s; jobs to be done once more: %d", how, again)

    async def _receive(self, stream: asyncio.StreamReader) -> None:
        """Take one message."""
        (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
        number, *told = pickle.loads(await stream.readexactly(length))
        if number == _CLOCK:
            (self._compiling,) = told
            return
        succeeded, data = told
        try:
            self._end(number, succeeded, pickle.loads(data))
        except Exception as error:  # a class that only the other process knows, say
            self._end(number, False, error)


async def _log_all(printed: asyncio.StreamReader) -> None:
    """Log what the process prints, with the limits of the server's log: all that has come is one entry."""
    while data := await printed.read(_PRINTED_AT_ONCE):
        if text := data.decode(errors="replace").strip():
            _log.warning("the worker process printed: %s", text)
        await asyncio.sleep(_TICK)


_BEGIN = "from kibitz.web.worker import main; main()"


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
            try:
                self._work = pickle.loads(self._data)
                if self._is_stopped:
                    self._work.stop()
                return True, pickle.dumps(self._work())
            except KibitzError as error:
                return False, pickle.dumps(error)
        except BaseException:  # others can hold anything, and the traceback stays here
            return False, pickle.dumps(RuntimeError(f"in the worker process: {traceback.format_exc()}"))

    def stop(self) -> None:
        """Let it end soon."""
        self._is_stopped = True
        if self._work is not None:
            with suppress(Exception):  # of an agent's own; the pool gives up what does not stop
                self._work.stop()


class _Served:
    """The process that gets the results."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._writing = threading.Lock()
        self._doing: dict[int, _Doing] = {}
        self._is_working = threading.Event()

    def receive(self) -> Any:
        """The next message. When the server has ended there is nothing to do any more."""
        head = self._incoming.read(_LENGTH.size)
        data = self._incoming.read(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else b""
        if not data:
            os._exit(0)
        return pickle.loads(data)

    def send(self, *message: Any) -> None:
        """Send a message."""
        data = pickle.dumps(message)
        self._write(_LENGTH.pack(len(data)) + data)

    def _write(self, data: bytes) -> None:
        with self._writing, suppress(OSError):  # the server has gone
            self._outgoing.write(data)
            self._outgoing.flush()

    def serve(self, threads: int) -> None:
        """Do what is asked for until the server ends."""
        threading.Thread(target=self._report_compiling, daemon=True).start()
        pool = ThreadPoolExecutor(threads)
        self._write(_READY)
        while True:
            number, data = self.receive()
            if data is not None:
                self._doing[number] = _Doing(data)
                self._is_working.set()
                pool.submit(self._do, number)
            elif (doing := self._doing.get(number)) is not None:
                doing.stop()

    def _do(self, number: int) -> None:
        answer = self._doing[number].do()
        del self._doing[number]
        self.send(number, *answer)

    def _report_compiling(self) -> None:
        """Report the time spent on compiling, now and then, as long as there are jobs."""
        while True:
            self._is_working.wait()
            self._is_working.clear()
            if self._doing:
                self._is_working.set()
            self.send(_CLOCK, _compiling.seconds())
            time.sleep(_TICK)


def main() -> None:
    """Be a worker: what is printed goes to the server's log."""
    outgoing = os.fdopen(os.dup(sys.__stdout__.fileno()), "wb")  # type: ignore[union-attr]
    log = os.open(os.devnull, os.O_WRONLY) if sys.__stderr__ is None else sys.__stderr__.fileno()
    os.dup2(log, sys.__stdout__.fileno())  # type: ignore[union-attr]
    _end_with_the_server()
    with suppress(OSError, AttributeError):  # Windows knows no niceness
        os.nice(_NICENESS)
    _compiling.watch()
    ending.name_crashes()  # in the server's log
    try:
        served = _Served(sys.stdin.buffer, outgoing)
        permissions, files, threads = served.receive()
        trust.inherit(permissions)
        games.inherit(files)
        served.serve(threads)
    finally:  # a worker that reads no more is none
        traceback.print_exc()
        os._exit(1)


def _end_with_the_server() -> None:
    """The end of the input says so; Linux sees to it even while no Python code can read that."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


_PR_SET_PDEATHSIG = 1
