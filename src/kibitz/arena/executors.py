"""Who plays the batches: this process, other processes of this machine, or a Ray cluster.

An executor takes batches from an iterator, when it has room for them, and gives back what came of
each, in any order. A batch is strings and numbers and its result does not depend on who plays it, so
whatever is lost with a worker is simply played again.
"""

from __future__ import annotations

import json
import logging
import math
import multiprocessing
import os
import signal
import socket
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self

from kibitz import archive, ending, games, gpu, kernel, trust
from kibitz.arena.play import Batch, Match, Played
from kibitz.errors import BadGame, BadOption, InputError, KibitzError, needs

Result = tuple[Batch, Played, str]
"""A batch, what came of it, and the machine that played it."""

_RESTARTS = 3


class Executor:
    """Plays batches; use it in a `with`, or close it."""

    workers: int
    """How many batches are played at the same time."""

    def run(self, batches: Iterator[Batch]) -> Iterator[Result]:
        """The results; a batch is taken from the iterator only when there is room for it."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def executor(jobs: int | None = None, ray: str | None = None, on_gpu: bool = False) -> Executor:
    """The executor for so many processes (None: one for every core), for a Ray cluster, or for a GPU.

    Where there is no GPU, it is as if none had been asked for.
    """
    if on_gpu and gpu.choose("gpu"):
        if ray is not None or jobs not in (None, 1):
            raise BadOption("a GPU is used by one process: give neither a number of processes nor a cluster")
        here = InProcess()
        here.on_gpu = True
        return here
    if ray is not None:
        if jobs is not None:
            raise BadOption("give the number of processes or a Ray cluster, not both")
        return Cluster(ray)
    jobs = jobs if jobs is not None else os.cpu_count() or 1
    if jobs < 1:
        raise BadOption(f"{jobs} jobs cannot work; give at least 1")
    return InProcess() if jobs == 1 else Processes(jobs)


class InProcess(Executor):
    """One batch after the other, here; on a GPU, what it can play.

    Games from files are played by a process of their own: if it crashes, there is somebody left to say so.
    """

    workers = 1
    on_gpu = False

    def __init__(self) -> None:
        self._apart = Processes(1)

    def close(self) -> None:
        self._apart.close()

    def run(self, batches: Iterator[Batch]) -> Iterator[Result]:
        for batch in batches:
            if _may_crash(batch) and not self.on_gpu:
                yield from self._apart.run(iter([batch]))
                continue
            played = batch.play(on_gpu=True) if self.on_gpu else batch.play()
            yield batch, played, socket.gethostname()


class Processes(Executor):
    """Processes of this machine; one that dies is noticed, and what it played is played again."""

    def __init__(self, jobs: int) -> None:
        self.workers = jobs
        self._known: set[Match] = set()
        self._faults: set[str] = set()  # the signals of those that crashed
        self._pool: ProcessPoolExecutor | None = None

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def run(self, batches: Iterator[Batch]) -> Iterator[Result]:
        lost: list[Batch] = []
        deaths = 0
        while deaths <= _RESTARTS:
            try:
                for result in self._run_until_a_death(batches, lost):
                    deaths = 0
                    yield result
                return
            except BrokenProcessPool:
                deaths += 1
                played = sorted({batch.match.game for batch in lost})
                from_files = [game for game in played if trust.files_in(game)]
                if self._faults and from_files:
                    raise BadGame(
                        f"a worker process crashed ({', '.join(sorted(self._faults))}) while it played "
                        f"{', '.join(from_files)}, whose rules may use an index or a move that does not "
                        f"exist; `kibitz check {from_files[0]}` looks for it. What was finished is kept"
                    ) from None
                _tell(f"a worker process was lost; batches to be played again: {len(lost)}")
        raise KibitzError(
            f"worker processes ended {deaths} times without finishing anything; is there enough memory for "
            f"{self.workers} of them? They played {', '.join(played)}; `kibitz check` looks for faults of a "
            f"game. What was finished before is kept"
        )

    def _run_until_a_death(self, batches: Iterator[Batch], lost: list[Batch]) -> Iterator[Result]:
        """`BrokenProcessPool` if a worker dies; `lost` then holds what was not finished."""
        here = socket.gethostname()
        running: dict[Future[Played], Batch] = {}
        on_trial: set[Match] = set()
        if self._pool is None:
            self._pool = new_pool(self.workers)
        pool = self._pool
        try:
            while True:
                while len(running) < 2 * self.workers:
                    batch = lost.pop() if lost else next(batches, None)
                    if batch is None:
                        break
                    # One process compiles what a match needs: a worker, if others compile for other matches
                    # meanwhile, or else this one, for workers take a second to start.
                    is_known = batch.match in self._known
                    if not is_known and not on_trial and not _may_crash(batch):
                        following = lost.pop() if lost else next(batches, None)
                        lost += [following] if following is not None else []
                        if following is None or following.match in {batch.match, *self._known}:
                            yield batch, batch.play(), here
                            self._known.add(batch.match)
                            continue
                    waits = batch.match in on_trial or (not is_known and len(on_trial) >= self.workers)
                    lost.append(batch)  # until the pool has it
                    if waits:
                        break
                    with no_main_module(), _uninterrupted():
                        running[pool.submit(_play, batch, trust.allowed())] = batch
                    lost.pop()
                    if not is_known:
                        on_trial.add(batch.match)
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    played = future.result()
                    batch = running.pop(future)
                    self._known.add(batch.match)
                    on_trial.discard(batch.match)
                    yield batch, played, here
        except BaseException as error:
            lost += running.values()
            processes = list((pool._processes or {}).values())
            self._faults = _faults_of(processes) if isinstance(error, BrokenProcessPool) else set()
            for process in processes:
                process.kill()  # a shutdown would wait for what they are playing
            pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
            raise


def _may_crash(batch: Batch) -> bool:
    """Whether a batch runs machine code of rules that nobody has tried but who wrote them.

    Such a game is played by worker processes only, the first batch too: this process outlives them.
    """
    return bool(trust.files_in(batch.match.game)) and kernel.compiles()


def _faults_of(processes: list[Any]) -> set[str]:
    """The faults that ended processes of a broken pool, which ends the others, too."""
    found = set()
    patience = time.monotonic() + 1
    for process in processes:
        while process.exitcode is None and time.monotonic() < patience:  # the pool's own thread asks, too
            time.sleep(0.01)
        found.add(ending.fault_of(process.exitcode))
    return found - {""}


@contextmanager
def no_main_module() -> Iterator[None]:
    """New processes would run the user's script again; they need nothing of it."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """A process that is half started would complain loudly; Ctrl-C waits those milliseconds."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {n: signal.signal(n, lambda n, _: came.append(n)) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:  # handed on; raised again, it would count as a second one (`kibitz.ending`)
        handler = before[signal.Signals(came[0])]
        if callable(handler):
            handler(came[0], None)
        else:
            signal.raise_signal(came[0])


def new_pool(workers: int) -> ProcessPoolExecutor:
    """Worker processes; what they compile is reported here, as if it were compiled in this process."""
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)

    def pass_on() -> None:
        with reader, suppress(EOFError, OSError):  # when all who could write have ended
            while True:
                what, functions, seconds, done = json.loads(reader.recv_bytes())
                kernel.compile_report(what, functions, seconds, done)

    threading.Thread(target=pass_on, daemon=True).start()
    return _Pool(writer, workers, mp_context=context, initializer=begin_worker, initargs=(writer,))


class _Pool(ProcessPoolExecutor):
    def __init__(self, writer: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._writer = writer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        self._writer.close()


_REPORT_SECONDS = 0.2


def begin_worker(writer: Any) -> None:
    """Ctrl-C is for the main process, which tells workers to stop; if it is killed, they leave too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def leave() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()
    told = 0.0

    def report(what: str, functions: int, seconds: float, done: bool) -> None:
        nonlocal told
        if done or functions == 1 or time.monotonic() - told > _REPORT_SECONDS:
            told = time.monotonic()
            with suppress(OSError):  # nobody listens any more
                # One short write: no lock that a killed worker could keep.
                writer.send_bytes(json.dumps([what, functions, seconds, done]).encode())

    kernel.compile_report = report


def _play(batch: Batch, permissions: dict[str, str]) -> Played:
    """Play a batch in a worker, which may run the files that its parent may run."""
    trust.inherit(permissions)
    return batch.play()


class Cluster(Executor):
    """A Ray cluster that somebody has started: batches are its tasks, a lost node's are sent again.

    Nodes get the code of the game that is compiled on this machine already.
    """

    def __init__(self, address: str) -> None:
        address = os.environ.get("RAY_ADDRESS") or address if address == "auto" else address
        if address == "local":
            raise BadOption(
                "'local' is not a cluster; give the number of processes (--jobs) for this machine"
            )
        ray = self._ray = _import_ray()
        self._undo = ExitStack()
        if not ray.is_initialized():
            try:
                if not address.startswith(("localhost:", "127.0.0.1:")):  # which mean another one for Ray
                    _must_answer(address)
                ray.init(address=address, logging_level=logging.CRITICAL, log_to_driver=False)
            except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
                raise InputError(
                    f"no connection to a Ray cluster at '{address}': {_reason(error)}. `ray start --head` "
                    f"starts one; this machine must belong to it, with the same Python and Ray"
                ) from error
            self._undo.enter_context(redirect_stdout(_WithoutRay(sys.stdout)))
            self._undo.callback(_leave, ray)
        self._cores = self._count_cores()
        where = ray.get_runtime_context().gcs_address
        _tell(f"playing on the Ray cluster at {where}, {self._cores} cores")
        self._asked = math.inf
        self._code: dict[str, Any] = {}
        self._closing = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def close(self) -> None:
        self._closing.set()
        self._watcher.join(1)
        self._undo.close()

    @property
    def workers(self) -> int:  # type: ignore[override]
        """The cores of the cluster as it is now: nodes come and go."""
        return max(1, self._cores)

    def _count_cores(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))

    def _code_for(self, game: str) -> Any:
        """A reference to the compiled code of a game, sent once to each node; None if there is none."""
        if game not in self._code:
            self._code[game] = None
            with suppress(KibitzError):  # a game that does not exist: the nodes say so
                packed, taken = archive.pack(archive.collect(type(games.load_known(game)).__module__))
                self._code[game] = self._ray.put(packed) if taken else None
        return self._code[game]

    def _watch(self) -> None:
        """See who comes and goes; a thread, for Ray does not come back from asking a head that is gone."""
        with suppress(Exception):  # also when somebody else has left the cluster
            while not self._closing.wait(1):
                self._asked = time.monotonic()
                self._cores = self._count_cores()
                self._asked = math.inf

    def _must_have_a_head(self) -> None:
        if time.monotonic() - self._asked > _HEAD_SECONDS:
            raise KibitzError(
                f"the head of the Ray cluster has not answered for {_HEAD_SECONDS:.0f} seconds. What was "
                f"finished before is kept; start the cluster again, then run the same command"
            )

    def run(self, batches: Iterator[Batch]) -> Iterator[Result]:
        ray, play = self._ray, self._ray.remote(num_cpus=1, max_retries=0)(_play_on_a_node)
        folder = str(Path.cwd())
        lost: list[Batch] = []
        deaths: Counter[Batch] = Counter()
        running: dict[Any, Batch] = {}
        is_starved = False
        # When this ends early, nothing is cancelled: that can crash Ray 2.60 ("Tried to complete task that
        # was not pending"). What the nodes still play takes seconds, or ends with the connection.
        while True:
            self._must_have_a_head()
            room = 2 * self.workers  # the rest waits in the iterator, not in memory
            while len(running) < room:
                batch = lost.pop() if lost else next(batches, None)
                if batch is None:
                    break
                code = self._code_for(batch.match.game)
                running[play.remote(batch, folder, trust.allowed(), code)] = batch
            if not running:
                return
            ready, _ = ray.wait(list(running), num_returns=1, timeout=1)
            if ready:  # and all others that are ready by now
                ready, _ = ray.wait(list(running), num_returns=len(running), timeout=0)
            elif not is_starved and not self._cores:
                is_starved = True
                _tell("no machine of the cluster has cores for tasks; waiting for one that has")
            failures = []
            for reference in ready:
                batch = running.pop(reference)
                try:
                    played, host = ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    raise KibitzError(
                        f"a node of the cluster cannot begin: {_reason(error)}; install the same version "
                        f"of Kibitz everywhere"
                    ) from error
                except ray.exceptions.RayError as error:
                    lost.append(batch)
                    deaths[batch] += 1
                    failures.append(f"{type(error).__name__}: {_reason(error)}")
                    if deaths[batch] > _RESTARTS:
                        raise KibitzError(
                            f"workers of the cluster died {deaths[batch]} times on {batch}; the last "
                            f"time: {failures[-1]}. `kibitz check {batch.match.game}` looks for faults of "
                            f"its rules"
                        ) from error
                else:
                    if not isinstance(played, Played):
                        kind, text = played
                        raise kind.__new__(kind, f"{text} (on the machine {host})")
                    yield batch, played, host
            if failures:
                _tell(
                    f"batches lost with workers of the cluster, to be played again: {len(failures)} "
                    f"({failures[-1]})"
                )


# With these, Ray gives up on an address where no cluster answers after 16 seconds. Its own are 20 tries of 41
# seconds each. It reads them when it is imported.
_RAY_SETTINGS = {"RAY_NUM_REDIS_GET_RETRIES": "1", "RAY_py_gcs_connect_timeout_s": "5"}
_HEAD_SECONDS = 30.0  # after 60, Ray ends the process, without any cleaning up


def _import_ray() -> Any:
    added = {name: value for name, value in _RAY_SETTINGS.items() if name not in os.environ}
    os.environ.update(added)
    try:
        with needs("A Ray cluster", "cluster"):
            import ray
    finally:
        for name in added:
            del os.environ[name]
    return ray


def _leave(ray: Any) -> None:
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        ray.shutdown()  # tells, in this thread, what Ray had not yet told


def _must_answer(address: str) -> None:
    """`OSError` at once if nothing listens there; what else can be wrong with an address, Ray tells."""
    host, _, port = address.rpartition(":")
    if port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()


def _reason(error: BaseException) -> str:
    """What Ray says is wrong, out of its many lines."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = getattr(error, "strerror", None) or str(error).strip()
    if "Traceback" in text:
        text = text.splitlines()[-1]
    return textwrap.shorten(text, 200, placeholder=" …").rstrip(".:")


def _tell(what: str) -> None:
    print(f"kibitz: {what}", file=sys.stderr, flush=True)


class _WithoutRay:
    """Standard output, which is for answers, without the pages that Ray's threads write about lost nodes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return len(text) if threading.current_thread().name.startswith("ray_") else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _play_on_a_node(
    batch: Batch, folder: str, permissions: dict[str, str], code: bytes | None
) -> tuple[Played | tuple[type[KibitzError], str], str]:
    """What came of a batch, or what is wrong with it; and on which machine."""
    with suppress(OSError):
        os.chdir(folder)  # the name of a game's file means the same here and in the program
    if code is not None:
        with suppress(KibitzError):  # a machine of another kind compiles for itself
            archive.take_in(code)
    try:
        return _play(batch, permissions), socket.gethostname()
    except KibitzError as error:  # Ray cannot carry those that are made of more than a message
        return (type(error), str(error)), socket.gethostname()
    except Exception as error:
        return (KibitzError, f"a batch failed: {type(error).__name__}: {error}"), socket.gethostname()
