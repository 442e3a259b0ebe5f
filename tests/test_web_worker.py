"""The worker process of the table: what goes to and fro, and what happens when it crashes, hangs or ends."""

import asyncio
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kibitz import errors, games, trust
from kibitz.deadline import check
from kibitz.errors import KibitzError, MissingExtra, TooLong, UnknownName
from kibitz.position import deal

pytest.importorskip("starlette")

from kibitz.web import thinking
from kibitz.web.limits import Limits
from kibitz.web.lines import Line
from kibitz.web.pool import FairPool
from kibitz.web.tables import Chair, Start, new_table, read_table
from kibitz.web.worker import Process, Threads, Work, WorkerLost

PATIENCE = 60.0


def in_a_process(test, threads=4):
    """Run a coroutine with a worker process."""

    async def run():
        worker = Process(threads)
        try:
            return await asyncio.wait_for(test(worker), PATIENCE)
        finally:
            worker.close()
            await worker.ended()

    return asyncio.run(run())


async def done(worker, function, *given, **options):
    return await worker.start(Work(function, given, **options)).future


def talk():
    """Log, print and write more than anybody wants to read."""
    for number in range(2000):
        logging.getLogger("talk").warning("entry %d", number)
        print(f"line {number}", flush=True)
    os.write(2, b"x" * 1_000_000)


def test_what_the_worker_prints_is_bounded_by_the_servers_log():
    """The process had the server's standard error, past the limits of its log."""
    code = (
        "import asyncio\n"
        "from kibitz.web import server, worker\n"
        "from kibitz.web.limits import Limits\n"
        "from tests.test_web_worker import talk\n"
        "async def main():\n"
        "    server._keep_a_log(Limits(log_entries_an_hour=1.0, burst=10))\n"
        "    process = worker.Process(2)\n"
        "    await process.start(worker.Work(talk)).future\n"
        "    process.close()\n"
        "    await process.ended()\n"
        "asyncio.run(main())"
    )
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, stderr=subprocess.PIPE, env=found, timeout=PATIENCE)
    assert ended.returncode == 0
    assert b"the worker process printed: " in ended.stderr
    assert len(ended.stderr) < 10 * 2100


class Sleeper:
    """Sleeps until it is stopped."""

    def __init__(self):
        self.is_stopped = False

    def sleep(self):
        while not self.is_stopped:
            time.sleep(0.01)
        return "woken"

    def stop(self):
        self.is_stopped = True


def unpicklable():
    return lambda: None


def parse_for_ever():
    while True:
        check()


def crash():
    os.kill(os.getpid(), signal.SIGKILL)


def fault():
    signal.pthread_kill(threading.get_ident(), signal.SIGSEGV)  # in this thread, as a wrong index would


class CrashingPlayer(thinking.Player):
    def choose(self, view, seed, labels):
        crash()


def crash_once(marker):
    if not marker.exists():
        marker.touch()
        crash()
    return "second try"


# --- what goes over the pipe ---


@pytest.mark.parametrize(
    "error",
    [
        KibitzError("plain"),
        UnknownName("game", "brisk", ["briskola"]),
        MissingExtra("The table", "web"),
        errors.Unwritable("the disk is full"),
    ],
)
def test_errors_are_the_same_on_the_other_side(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize("game", sorted(games.GAMES))
def test_positions_are_the_same_on_the_other_side(game):
    state = deal(games.load(game), 7)
    for position in (state, state.view(), state.open_view(0)):
        again = pickle.loads(pickle.dumps(position))
        assert type(again) is type(position)
        assert (again.game, again.key(), str(again)) == (position.game, position.key(), str(position))
        again.game.play(again.record, again.legal_moves()[0])  # the record is that of the array
        assert again.key() != position.key()
    view = pickle.loads(pickle.dumps(state.view(1)))
    assert (view.seat, view.is_open) == (1, False)


def test_lines_and_tables_are_the_same_on_the_other_side(tmp_path):
    line = Line("briskola", Start(position="7"), ["12D", "6S", "2D"])
    again = pickle.loads(pickle.dumps(line))
    assert [state.key() for state in again.states] == [state.key() for state in line.states]
    assert (again.moves, again.seats, again.decisions) == (line.moves, line.seats, line.decisions)
    table = new_table("tichu", [Chair("a"), Chair("b"), Chair("c"), Chair("d", "random")], 7)
    same = pickle.loads(pickle.dumps(table))
    for observer in range(-1, 4):
        assert same.position(observer) == table.position(observer)
        assert same.events(observer) == table.events(observer)


def test_results_and_errors_come_back():
    async def test(worker):
        assert await done(worker, max, 6, 7) == 7
        with pytest.raises(UnknownName, match="did you mean 'briskola'"):
            await done(worker, Line, "briskol", Start(position="7"), [])
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            await done(worker, divmod, 1, 0)
        with pytest.raises(RuntimeError, match="pickle"):
            await done(worker, unpicklable)
        with pytest.raises((pickle.PicklingError, AttributeError)):
            await done(worker, lambda: None)
        with pytest.raises(TooLong):
            await done(worker, parse_for_ever, reading_seconds=0.1)
        assert await done(worker, max, 6, 7) == 7

    in_a_process(test)


def test_threads_and_a_process_find_the_same():
    view = deal(games.load("briskola"), 7).view()

    async def search(worker):
        thinker = thinking.Thinker(Limits(), worker)
        found = await thinker.search("a", PATIENCE, thinking.Slice("ismcts:200", 1), view, 3)
        move = await thinker.choose("a", thinking.Player("ismcts:50", view.game, view.seat), view, 3, [])
        return found.best, found.rows, move

    async def here():
        worker = Threads(3)
        try:
            return await search(worker)
        finally:
            worker.close()

    assert in_a_process(search) == asyncio.run(here())


def test_a_record_is_read_there(tmp_path):
    from kibitz.web.tables import Tables

    with Tables(tmp_path) as tables:
        made = tables.create("briskola", [Chair("a"), Chair("b")], seed=7).table
        made.play(0, made.position(0)["moves"][0]["text"])
        found = in_a_process(lambda worker: done(worker, read_table, tmp_path, made.name))
        assert found.position(1) == made.position(1)
        found.play(1, found.position(1)["moves"][0]["text"])  # it goes on in the same file
        assert read_table(tmp_path, made.name).moves == found.moves


# --- what it may run ---


def test_it_knows_the_games_that_the_server_was_started_with_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setattr(trust, "_allowed", {})
    monkeypatch.setattr(games, "_served", {})
    own, other = tmp_path / "own_high_card.py", tmp_path / "other_high_card.py"
    text = (Path(__file__).parents[1] / "examples" / "high_card.py").read_text()
    for file in (own, other):
        file.write_text(text)
    name = games.make_known(str(own))
    seats = games.load_known(name).seats

    async def test(worker):
        table = await done(worker, new_table, name, [Chair("a")] * seats, 7)
        assert table.game == name
        with pytest.raises(KibitzError):
            await done(worker, games.load_known, str(other))

    in_a_process(test)


# --- what goes wrong ---


class Awkward(KibitzError):
    def __init__(self):
        super().__init__("no")
        self.lock = open
        self.function = lambda: None


def leave():
    raise SystemExit(3)


def refuse_awkwardly():
    raise Awkward


class Stubborn(Sleeper):
    def stop(self):
        super().stop()
        raise RuntimeError("no")


def test_everything_is_answered():
    async def test(worker):
        for function in (leave, refuse_awkwardly):
            with pytest.raises(RuntimeError, match="in the worker process"):
                await done(worker, function)
        job = worker.start(Work(Stubborn().sleep))
        await done(worker, max, 6, 7)
        job.stop()
        assert await job.future == "woken"
        assert await done(worker, max, 6, 7) == 7

    in_a_process(test)


def test_what_is_printed_does_not_disturb_the_messages(tmp_path, monkeypatch, capfd):
    (tmp_path / "sitecustomize.py").write_text("print('A banner, at the start of Python', flush=True)")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert in_a_process(lambda worker: done(worker, print, "in the middle")) is None
    assert in_a_process(lambda worker: done(worker, max, 6, 7)) == 7


def test_a_process_that_cannot_be_started_is_said_to_be_so(monkeypatch, caplog):
    async def test(worker):
        with monkeypatch.context() as without:
            without.setattr(sys, "executable", "/there/is/no/such/python")
            with pytest.raises(WorkerLost):
                await done(worker, max, 6, 7)
        assert "could not be started" in caplog.text
        assert await done(worker, max, 6, 7) == 7

    in_a_process(test)


def test_nothing_is_left_when_it_is_closed():
    async def close_at(seconds):
        worker = Process(2)
        jobs = [worker.start(Work(time.sleep, (PATIENCE,))) for _ in range(3)]
        await asyncio.sleep(seconds)
        worker.close()
        late = worker.start(Work(max, (6, 7)))
        for job in (*jobs, late):
            with pytest.raises(WorkerLost):
                await asyncio.wait_for(job.future, 1.0)
        await asyncio.wait_for(worker.ended(), 5.0)
        assert worker._process is None or worker._process.returncode is not None

    async def close_while_it_waits_to_start_again():
        worker = Process(2)
        job = worker.start(Work(crash))
        while job.tries == 0 or job.has_begun:
            await asyncio.sleep(0.01)
        worker.close()
        with pytest.raises(WorkerLost):
            await asyncio.wait_for(job.future, 1.0)
        await asyncio.wait_for(worker.ended(), 5.0)

    for seconds in (0.0, 0.02, 2.0):
        asyncio.run(close_at(seconds))
    asyncio.run(close_while_it_waits_to_start_again())


# --- stopping, crashing, hanging, ending ---


def test_work_can_be_stopped_there():
    async def test(worker):
        job = worker.start(Work(Sleeper().sleep))
        early = worker.start(Work(Sleeper().sleep))
        unwanted = worker.start(Work(Sleeper().sleep))
        unwanted.stop()  # before the process is there
        with pytest.raises(WorkerLost):
            await unwanted.future
        await done(worker, max, 6, 7)
        early.stop()
        assert await early.future == "woken"
        assert not job.future.done()
        job.stop()
        assert await job.future == "woken"

    in_a_process(test)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills a process as POSIX does")
def test_a_crash_is_survived_and_what_was_lost_is_tried_once_more(tmp_path):
    async def test(worker):
        await done(worker, max, 6, 7)
        innocent = worker.start(Work(time.sleep, (0.5,)))
        unwanted = worker.start(Work(Sleeper().sleep))
        guilty = worker.start(Work(crash))
        unwanted.stop()
        with pytest.raises(WorkerLost):
            await guilty.future  # it crashes a second time, and takes nobody with it
        assert await innocent.future is None
        assert unwanted.future.done()
        assert not worker._jobs
        assert not worker._suspects
        unwanted.future.exception()
        assert await done(worker, crash_once, tmp_path / "marker") == "second try"
        with pytest.raises(WorkerLost, match="had to restart its worker process; try again"):
            await done(worker, crash)
        assert await done(worker, max, 6, 7) == 7

    in_a_process(test)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills a process as POSIX does")
def test_an_agent_that_crashes_does_not_take_the_table(caplog):
    view = deal(games.load("briskola"), 7).view()

    async def test(worker):
        thinker = thinking.Thinker(Limits(), worker)
        return await thinker.choose("a", CrashingPlayer("x", view.game, 0), view, 1, [])

    assert in_a_process(test) in view.legal_moves()
    assert "failed; the rules of thumb move for it" in caplog.text


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="ends a process as POSIX does")
def test_a_crash_beside_a_persons_own_game_names_it_in_the_log(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(trust, "_allowed", {})
    monkeypatch.setattr(games, "_served", {})
    own = tmp_path / "own_crash.py"
    own.write_text((Path(__file__).parents[1] / "examples" / "high_card.py").read_text())
    games.make_known(str(own))

    async def test(worker):
        with pytest.raises(WorkerLost):
            await done(worker, fault)

    in_a_process(test)
    assert "the program crashed while it ran the rules of own_crash.py" in caplog.text
    assert "`kibitz check own_crash.py` looks for it" in caplog.text


def test_what_neither_ends_nor_stops_is_ended_with_its_process():
    async def test(worker):
        pool = FairPool(worker, 3, Limits(stuck_seconds=0.2))
        await pool.run("a", Work(max, (6, 7)), PATIENCE)
        hanging = asyncio.ensure_future(pool.run("a", Work(time.sleep, (PATIENCE,)), 0.1))
        beside = asyncio.ensure_future(pool.run("b", Work(time.sleep, (1.0,)), PATIENCE))
        with pytest.raises(WorkerLost):
            await hanging
        assert not beside.done()
        assert await beside is None  # it is done anew, and its second process is not ended
        assert await pool.run("b", Work(max, (6, 7)), PATIENCE) == 7
        pool.close()

    in_a_process(test)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills a process as POSIX does")
def test_it_ends_with_its_server():
    """Also if the server is killed while the worker is busy."""
    script = """
import asyncio, time
from kibitz.web.worker import Process, Work
import os
async def main():
    worker = Process(2)
    print(await worker.start(Work(os.getpid)).future, flush=True)
    worker.start(Work(time.sleep, (600,)))
    await asyncio.sleep(600)
asyncio.run(main())
"""
    server = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    number = int(server.stdout.readline())
    server.kill()
    server.wait()
    server.stdout.close()
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and is_running(number):
        time.sleep(0.05)
    assert not is_running(number)


def is_running(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    # Nobody may have waited for it yet.
    status = Path(f"/proc/{number}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
