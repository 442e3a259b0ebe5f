"""The server's budgets: no client takes its memory, its threads, its connections or its disk."""

import asyncio
import contextlib
import gc
import json
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import mock

import httpx
import numpy as np
import pytest

from kibitz import deadline, games
from kibitz.agents import make_agent
from kibitz.errors import BadOption, TooLong, Unsupported
from kibitz.games.bridge import dds
from kibitz.position import deal
from kibitz.web import server, thinking
from kibitz.web.app import create_app
from kibitz.web.hosting import Connection, Host
from kibitz.web.limits import Buckets, Limits, client_of
from kibitz.web.pool import FairPool
from kibitz.web.server import BoundedLog, Gate
from kibitz.web.tables import Chair, Tables, check_agent, read_table
from kibitz.web.worker import Process, Threads, Work

TestClient = pytest.importorskip("starlette.testclient").TestClient
WebSocketDisconnect = pytest.importorskip("starlette.websockets").WebSocketDisconnect
TABLE = {"game": "briskola", "seats": [{"name": "a"}, {"name": "b"}]}
PATIENCE = 60.0


@contextlib.contextmanager
def served(folder, limits=None, soft=None):
    """`kibitz serve` in a process of its own; its address, its process and the file of its log."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = (
        "import sys\nfrom pathlib import Path\nfrom kibitz.web.limits import Limits\n"
        "from kibitz.web.server import serve\n"
        f"serve(Path(sys.argv[1]), '127.0.0.1', {port}, (), Limits(**{limits or {}!r}))"
    )
    bound = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, soft)) if soft else None
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(folder / "tables")], stderr=log, preexec_fn=bound
        )
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield port, process, folder / "log"
    finally:
        process.terminate()
        process.wait(PATIENCE)


def megabytes(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def is_closed(connection, seconds):
    """Whether the other side ends a connection within some seconds."""
    connection.settimeout(seconds)
    with contextlib.suppress(ConnectionError):
        try:
            while connection.recv(65536):
                pass
        except TimeoutError:
            return False
    return True


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


# --- requests ---


@linux
def test_a_body_without_end_fills_no_memory(tmp_path):
    """A length and pieces at once: uvicorn follows the pieces, which have no end."""
    head = (
        b"POST /api/lines HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    piece = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    with served(tmp_path) as (port, process, _):
        before = megabytes(process)
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
            sent = 0
            with contextlib.suppress(OSError):
                connection.sendall(head)
                for _ in range(200):
                    connection.sendall(piece)
                    sent += 1
            assert sent < 200  # it was not taken
        assert megabytes(process) < before + 50
        assert httpx.get(f"http://127.0.0.1:{port}/").status_code == 200


def test_a_body_longer_than_it_said_is_refused(tmp_path):
    with TestClient(create_app(tmp_path), base_url="http://localhost") as client:
        headers = {"content-type": "application/json", "content-length": "10"}
        answer = client.post("/api/lines", content=b"x" * 70_000, headers=headers)
        assert answer.status_code == 413
        pieces = {"content-type": "application/json"}
        answer = client.post("/api/lines", headers=pieces, content=(b"x" for _ in range(9)))
        assert answer.status_code == 411


@pytest.mark.parametrize("origin", ["http://[", "http://]", "//", "http://[::1"])
def test_an_origin_that_is_none_is_refused(tmp_path, origin):
    with TestClient(create_app(tmp_path), base_url="http://localhost") as client:
        assert client.get("/", headers={"origin": origin}).status_code == 403


def test_every_part_of_the_lobby_counts_requests(tmp_path):
    limits = Limits(requests_a_second=0.001, burst=2)
    for path in ("/api/games", "/api/trees", "/api/experiments", "/api/experiments/a/0.svg"):
        with TestClient(
            create_app(tmp_path / path.replace("/", "_"), limits), base_url="http://localhost"
        ) as client:
            assert [client.get(path).status_code == 429 for _ in range(3)] == [False, False, True]
            assert client.get("/").status_code == 200  # pages are counted apart


def test_a_forged_address_makes_no_new_client(tmp_path):
    with served(tmp_path, {"requests_a_second": 0.001, "burst": 5}) as (port, _, _):
        codes = [
            httpx.get(
                f"http://127.0.0.1:{port}/api/trees", headers={"x-forwarded-for": f"192.0.2.{i}"}
            ).status_code
            for i in range(8)
        ]
    assert codes == [200] * 5 + [429] * 3


# --- connections ---


@linux
def test_slow_connections_stop_nobody_and_fill_no_log(tmp_path):
    """Half requests by the hundred, at a server that may open 256 files."""
    limits = {"header_seconds": 2.0, "body_seconds": 2.0}
    with served(tmp_path, limits, soft=(256, 256)) as (port, _, log):
        held = []
        for number in range(400):
            with contextlib.suppress(OSError):
                held.append(socket.create_connection(("127.0.0.1", port), 5))
                head = b"POST /api/lines HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                held[-1].sendall(head + b"Content-Length: 9\r\n\r\n{" if number % 2 else head)
        began = time.monotonic()
        with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.2"), timeout=5) as other:
            assert other.get(f"http://127.0.0.1:{port}/").status_code == 200
        assert time.monotonic() - began < 1.0
        for connection in held:
            assert is_closed(connection, max(0.1, began + 10 - time.monotonic()))
            connection.close()
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=5).status_code == 200
        assert log.stat().st_size < 10_000


def entered(gate, client, times=1):
    """Connections of a client; None for those that it may not have."""
    found = [mock.Mock(name=f"{client}{number}") for number in range(times)]
    return [each if gate.enter(client, each) else None for each in found]


def test_a_gate_counts_by_client_and_in_all():
    gate = Gate(Limits(connections_a_client=3, requests_at_once=2), most=5)
    first, second, third = entered(gate, "a", 3)
    assert (bool(first), bool(second), third) == (True, True, None)
    gate.upgrade("a")  # to a WebSocket
    assert [bool(each) for each in entered(gate, "a", 2)] == [True, False]
    assert [bool(each) for each in entered(gate, "b", 3)] == [True, True, False]
    gate.leave("a", first, was_socket=True)
    assert entered(gate, "c") != [None]
    proxy = Gate(Limits(requests_at_once=1), most=5, proxies=frozenset({"p"}))
    assert [bool(each) for each in entered(proxy, "p", 6)] == [True] * 5 + [False]


def test_clients_with_many_connections_keep_nobody_out():
    gate = Gate(Limits(connections_a_client=4, requests_at_once=4), most=8)
    many, more = entered(gate, "a", 4), entered(gate, "b", 4)
    ours = entered(gate, "c", 4)
    assert [bool(each) for each in ours] == [
        True,
        True,
        False,
        False,
    ]  # a third one would be as many as they have
    ended = [each for each in many + more if each.abort.called]
    assert len(ended) == 2
    assert not many[0].abort.called  # the latest go first
    assert not any(each.abort.called for each in ours[:2])
    for each in ended:
        gate.leave("a" if each in many else "b", each, was_socket=False)
    assert entered(gate, "d") != [None]


@linux
def test_a_few_addresses_do_not_lock_everybody_out(tmp_path):
    """Six clients take all connections that there are; others are served all the same."""
    limits = {"connections": 60, "connections_a_client": 20, "requests_at_once": 20}
    request = b"GET /static/net.js HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with served(tmp_path, limits) as (port, *_), contextlib.ExitStack() as held:
        for client in range(1, 7):
            for _ in range(20):
                theirs = socket.create_connection(("127.0.0.1", port), PATIENCE, (f"127.0.7.{client}", 0))
                held.enter_context(theirs)
                theirs.sendall(request[:30])
        time.sleep(0.5)
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", port), PATIENCE) as ours:
                ours.sendall(request)
                assert ours.recv(100).startswith(b"HTTP/1.1 200")


def test_who_asks_for_nothing_is_sent_away(tmp_path):
    limits = Limits(first_message_seconds=0.2)
    with TestClient(create_app(tmp_path, limits), base_url="http://localhost") as client:
        with (
            pytest.raises(WebSocketDisconnect) as ended,
            client.websocket_connect("ws://localhost/socket") as socket_,
        ):
            socket_.receive_json()
        assert ended.value.reason == "nothing was asked for"
        token = client.post("/api/tables", json=TABLE).json()["watch"]
        with client.websocket_connect("ws://localhost/socket") as socket_:
            socket_.send_json({"type": "join", "token": token})
            time.sleep(0.5)
            socket_.send_json({"type": "ping"})
            kinds = [socket_.receive_json()["type"] for _ in range(3)]
        assert kinds == ["welcome", "update", "pong"]


def test_an_outbox_is_bounded_by_its_size():
    from kibitz.web.messages import Refused

    async def fill():
        connection = Connection(Limits(unsent_bytes=10_000))
        for _ in range(100):
            connection.put(Refused(code="x", message="y" * 1000))
        return connection

    connection = asyncio.run(fill())
    assert connection.is_dropped
    assert sum(map(len, connection.outbox)) < 12_000


def test_clients_are_addresses_or_networks():
    assert client_of("::ffff:192.0.2.7") == "192.0.2.7"
    assert client_of("2001:db8::1") == client_of("2001:db8::ffff")
    assert client_of("2001:db8::1") != client_of("2001:db8:0:1::1")
    assert client_of("testclient") == "testclient"


def test_many_addresses_do_not_make_others_forgotten():
    buckets = Buckets(0.001, 1)
    assert buckets.take("a")
    for number in range(20_000):
        buckets.take(f"x{number}")
        if number % 1000 == 0:
            assert not buckets.take("a")
    assert len(buckets._kept) <= 10_000


# --- the log ---


def test_the_log_is_bounded(caplog):
    log = BoundedLog(an_hour=36.0, burst=5)
    records = [logging.LogRecord("x", logging.WARNING, "", 0, f"line {i}", (), None) for i in range(100)]
    assert sum(log.filter(record) for record in records) == 5
    log._bucket._seen -= 150  # seconds later
    late = logging.LogRecord("x", logging.WARNING, "", 0, "line", (), None)
    assert log.filter(late)
    assert late.getMessage() == "(95 entries were left out before this one.) line"
    assert not log.filter(late)


# --- places at the worker ---


def in_a_pool(places, test, **options):
    """Run a coroutine with a pool of so many places at threads of this process."""

    async def run():
        worker = Threads(places)
        pool = FairPool(worker, places, **options)
        try:
            await asyncio.wait_for(test(pool), PATIENCE)
        finally:
            pool.close()
            worker.close()

    asyncio.run(run())


def asked(pool, client, function, *given, can_stop=False):
    return asyncio.ensure_future(pool.run(client, Work(function, given), PATIENCE, can_stop))


def test_who_has_used_least_is_served_first():
    order, release = [], threading.Event()

    async def test(pool):
        blocking = [asked(pool, name, release.wait, PATIENCE, can_stop=True) for name in ("a", "b")]
        rest = [asked(pool, "a", order.append, f"a{n}", can_stop=True) for n in range(5)]
        await asyncio.sleep(0.1)
        assert not pool.others_wait("a")  # b has a place
        rest.append(asked(pool, "c", order.append, "c"))
        await asyncio.sleep(0)
        assert pool.others_wait("a")
        assert not pool.others_wait("c")
        release.set()
        await asyncio.gather(*blocking, *rest)
        assert order[0] == "c"
        pool.close()
        with pytest.raises(asyncio.CancelledError):
            await pool.run("a", Work(print), 1.0)

    in_a_pool(2, test)


def test_work_that_cannot_be_stopped_has_one_place_a_client():
    running, most = [], []

    def work():
        running.append(1)
        most.append(len(running))
        time.sleep(0.05)
        running.pop()

    async def test(pool):
        futures = [asked(pool, "a", work) for _ in range(6)]
        await asked(pool, "b", int)
        assert sum(future.done() for future in futures) < 3  # b has not waited for all of a's
        await asyncio.gather(*futures)
        assert max(most) == 1

    in_a_pool(4, test)


def test_work_that_cannot_be_stopped_leaves_a_place_to_searches():
    """Two clients with a parser each took all places of advice."""
    release = threading.Event()

    async def test(pool):
        parsing = [asked(pool, name, release.wait, PATIENCE) for name in ("a", "b", "c")]
        await asyncio.sleep(0)
        assert await asked(pool, "d", str, can_stop=True) == ""
        assert len(pool._working) == 2
        release.set()
        assert all(await asyncio.gather(*parsing))

    in_a_pool(3, test)


def test_the_laboratory_takes_no_place_from_others():
    """Two of its pages, which may take minutes, took all places of advice."""

    async def test():
        thinker, release = thinking.Thinker(Limits(threads=1)), threading.Event()
        pages = [asyncio.create_task(thinker.evaluate(name, release.wait, PATIENCE)) for name in "abc"]
        await asyncio.sleep(0.1)
        began = time.perf_counter()
        assert await thinker.aside("d", str) == ""
        assert time.perf_counter() - began < 1.0
        release.set()
        assert await asyncio.gather(*pages) == [True, True, True]
        thinker.close()

    asyncio.run(asyncio.wait_for(test(), PATIENCE))


def test_a_page_of_the_laboratory_that_takes_too_long_is_stopped_and_the_worker_goes_on():
    async def test():
        limits = Limits(laboratory_seconds=0.2)
        thinker = thinking.Thinker(limits, Process(limits.slots))
        process = await thinker.aside("a", os.getpid)
        with pytest.raises(TooLong, match=r"this page takes longer than 0.2 s to make"):
            await thinker.evaluate("a", endless)
        assert await thinker.aside("a", os.getpid) == process
        thinker.close()
        await thinker.worker.ended()

    asyncio.run(asyncio.wait_for(test(), PATIENCE))


def test_a_client_cannot_fill_the_queue():
    release = threading.Event()

    async def test(pool):
        futures = [asked(pool, "a", release.wait, PATIENCE)]
        await asyncio.sleep(0)
        futures += [asked(pool, "a", str) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Unsupported, match="3 things are being worked on for you already"):
            await asked(pool, "a", str)
        futures.append(asked(pool, "b", str))
        futures[1].cancel()  # what is not wanted any more makes room
        await asyncio.sleep(0)
        futures.append(asked(pool, "a", str))
        await asyncio.sleep(0)
        release.set()
        await asyncio.wait(futures)
        assert [future.cancelled() or future.result() for future in futures] == [True, True, "", "", "", ""]
        assert not pool._waiting

    in_a_pool(1, test, most_waiting=3)


@pytest.mark.parametrize("worker", [Threads, Process])
def test_one_client_does_not_hold_up_anothers_answer(worker):
    """All threads are taken by long searches of one client, or of several; a newcomer waits no second."""
    view = deal(games.load("briskola"), 7).view()

    async def wait_for_an_answer(hostile):
        thinker = thinking.Thinker(Limits(threads=2, fair_seconds=0.2), worker(6))
        try:
            return await seconds_to_answer(thinker, hostile)
        finally:
            thinker.close()
            await thinker.worker.ended()

    async def seconds_to_answer(thinker, hostile):
        await thinker.search("warm", PATIENCE, thinking.Slice("ismcts:100", 1), view, 1)
        searches = [
            asyncio.create_task(thinker.search(name, 600.0, thinking.Slice("ismcts:time=9m", 1), view, 1))
            for name in hostile
        ]
        await asyncio.sleep(0.5)
        began = time.perf_counter()
        await thinker.search("honest", 5.0, thinking.Slice("ismcts:100", 1), view, 1)
        waited = time.perf_counter() - began
        for search in searches:
            search.cancel()
        return waited

    assert asyncio.run(wait_for_an_answer(["a"] * 8)) < 1.0
    assert asyncio.run(wait_for_an_answer(["a", "b", "c", "d"])) < 1.0


def test_long_searches_do_not_keep_the_solver_from_others():
    """The double-dummy solver does one thing at a time, and whoever had it took it again at once."""
    held, release = [], threading.Event()

    def hold_again_and_again():
        asker = dds.Asker()
        while not release.is_set():
            with dds._TURNS.turn(asker):
                held.append(1)
                time.sleep(0.01)

    threads = [threading.Thread(target=hold_again_and_again) for _ in range(3)]
    for thread in threads:
        thread.start()
    new, old, last = [], [], dds.Asker()
    last.seconds = 0.1
    for waited, asker in [(new, None), (old, last)] * 10:
        time.sleep(0.1)
        before = len(held)
        with dds._TURNS.turn(asker or dds.Asker()):
            waited.append(len(held) - before)
    release.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert np.median(new) <= 1  # whoever has it finishes its boards
    assert max(old) < 60  # nobody waits for ever, whoever else asks


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no signals can be sent here")
def test_who_stops_waiting_for_the_solver_keeps_nobody_else_from_it():
    turns, has_it, may_end = dds._Turns(), threading.Event(), threading.Event()

    def hold():
        with turns.turn(dds.Asker()):
            has_it.set()
            may_end.wait(PATIENCE)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    holder = threading.Thread(target=hold)
    holder.start()
    has_it.wait(PATIENCE)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt), turns.turn(dds.Asker()):
            pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    may_end.set()
    holder.join(PATIENCE)
    got_it = threading.Event()

    def take():
        with turns.turn(dds.Asker()):
            got_it.set()

    threading.Thread(target=take, daemon=True).start()
    assert got_it.wait(5)


def test_the_solver_takes_a_few_boards_at_a_time(monkeypatch):
    """A hundred of them took seconds, in which nobody else had the solver."""
    view, sizes = deal(games.load("bridge"), 7).view(), []
    solve = dds._solver().SolveAllBoardsBin
    library = mock.Mock(wraps=dds._solver())
    library.SolveAllBoardsBin = lambda asked, solved: [sizes.append(asked.noOfBoards), solve(asked, solved)]
    monkeypatch.setattr(dds, "_solver", lambda: library)
    values = list(dds.card_values([view.world(seed).record for seed in range(30)]))
    assert len(values) == sum(sizes) == 30
    assert max(sizes) <= max(4, os.cpu_count())
    searching = make_agent("pimc:500,early=0", view.game)
    searching.start(view.game, view.seat)
    searching.progress = lambda *_: searching.stop()
    sizes.clear()
    searching.choose(view, 1)
    solved_at_once = sum(sizes)
    searching.start(view.game, view.seat)
    searching.stop()  # before it begins: the fewest deals that allow an answer
    sizes.clear()
    searching.choose(view, 1)
    assert sum(sizes) <= max(4, os.cpu_count()) < solved_at_once


def test_an_agent_asks_the_solver_for_a_bounded_number_of_deals():
    bridge = games.load("bridge")
    check_agent("pimc:1000", bridge, 0)
    with pytest.raises(BadOption, match="iterations=1001 is too much for a table; the most is 1000"):
        check_agent("pimc:1001", bridge, 0)
    check_agent("ismcts:50000", bridge, 0)


def endless():
    while True:
        deadline.check()


def test_a_parser_is_stopped_at_its_limit():
    async def read():
        thinker = thinking.Thinker(Limits(parse_seconds=0.1))
        with pytest.raises(TooLong):
            await thinker.aside("a", endless)
        thinker.close()

    asyncio.run(read())


# --- tables and studies ---


def test_a_client_opens_only_some_studies_and_others_can_go_on(tmp_path):
    async def study():
        with Tables(tmp_path) as tables:
            host = Host(tables, Limits(studies_a_client=2))
            message = json.dumps(
                {"type": "study", "game": "briskola", "start": {"position": "7"}, "moves": []}
            )
            connections = [Connection(host.limits, client) for client in ("a", "a", "a", "b")]
            for connection in connections:
                await host.receive(connection, message)
            answers = [json.loads(connection.take()) for connection in connections]
            for connection in connections:
                connection.leave()
            host.close()
            return answers

    answers = asyncio.run(study())
    assert [answer["type"] for answer in answers] == ["line", "line", "refused", "line"]
    assert "2 lines of play open already" in answers[2]["message"]


def test_clients_with_many_studies_keep_nobody_out(tmp_path):
    async def study():
        with Tables(tmp_path) as tables:
            host = Host(tables, Limits(studies=4, studies_a_client=2))
            message = json.dumps(
                {"type": "study", "game": "briskola", "start": {"position": "7"}, "moves": []}
            )
            connections = [Connection(host.limits, client) for client in ("a", "a", "b", "b", "c", "c", "d")]
            for connection in connections:
                await host.receive(connection, message)
            for connection in connections:
                await host.receive(connection, json.dumps({"type": "look", "ply": 0}))
            answers = [[json.loads(text)["type"] for text in connection.outbox] for connection in connections]
            for connection in connections:
                connection.leave()
            host.close()
            return answers

    answers = asyncio.run(study())
    stayed, gone = ["line", "place"], ["line", "refused", "refused"]
    assert answers[4] == stayed  # c had none
    assert answers[5] == ["refused", "refused"]  # with a second one it would have as many as the others
    assert answers[6] == stayed  # d had none
    assert sorted(answers[:4]) == sorted([stayed, stayed, gone, gone])
    assert answers[0] == answers[2] == stayed  # the latest of each go


async def joined(host, token, client):
    connection = Connection(host.limits, client)
    await host.receive(connection, json.dumps({"type": "join", "token": token}))
    return connection


def kinds(connection):
    return [json.loads(text)["type"] for text in connection.outbox]


def read_slowly(monkeypatch, seconds):
    """Let a table take so long to be read; the moments at which that began."""
    began = []

    def slowly(folder, name):
        began.append(time.perf_counter())
        table = read_table(folder, name)
        time.sleep(seconds)
        return table

    monkeypatch.setattr("kibitz.web.hosting.read_table", slowly)
    return began


def test_who_leaves_while_a_table_is_read_takes_nobody_with_him(tmp_path, monkeypatch):
    """The reading was shared, and ended for all with the connection that had asked first."""
    began = read_slowly(monkeypatch, 0.3)

    async def join():
        with Tables(tmp_path) as tables:
            host, made = Host(tables, Limits()), tables.create("briskola", [Chair("a"), Chair("b")])
            first = asyncio.create_task(joined(host, made.watch, "a"))
            second = asyncio.create_task(joined(host, made.seats[0], "b"))
            await until(lambda: len(began) == 2)
            first.cancel()
            assert kinds(await second) == ["welcome", "update"]
            assert host._reading == {}
            host.close()

    asyncio.run(asyncio.wait_for(join(), PATIENCE))


def test_nobody_waits_for_his_table_in_the_queue_of_somebody_else(tmp_path):
    async def join():
        with Tables(tmp_path) as tables:
            host, made = Host(tables, Limits()), tables.create("briskola", [Chair("a"), Chair("b")])
            others = [asyncio.create_task(host.thinker.aside("a", time.sleep, 0.2)) for _ in range(15)]
            await asyncio.sleep(0)
            watching = asyncio.create_task(joined(host, made.watch, "a"))
            await asyncio.sleep(0)
            began = time.perf_counter()
            assert kinds(await joined(host, made.seats[0], "b")) == ["welcome", "update"]
            assert time.perf_counter() - began < 1.0
            assert kinds(await watching) == ["welcome", "update"]  # as soon as the table is open
            assert not all(other.done() for other in others)
            host.close()

    asyncio.run(asyncio.wait_for(join(), PATIENCE))


def test_a_table_that_was_read_before_others_moved_is_read_again(tmp_path, monkeypatch):
    began = read_slowly(monkeypatch, 0.2)

    async def join():
        with Tables(tmp_path) as tables:
            host, made = Host(tables, Limits()), tables.create("briskola", [Chair("a"), Chair("b")])
            late = asyncio.create_task(joined(host, made.watch, "a"))
            await until(lambda: began)
            monkeypatch.setattr("kibitz.web.hosting.read_table", read_table)
            first = await joined(host, made.seats[0], "b")
            first.session.table.play(0, first.session.table.state.legal_moves()[0])
            first.leave()
            assert len((await late).session.table.moves) == 1
            host.close()

    asyncio.run(asyncio.wait_for(join(), PATIENCE))


async def until(condition):
    while not condition():
        await asyncio.sleep(0.001)


def test_a_token_said_often_is_looked_up_once(tmp_path):
    with TestClient(create_app(tmp_path), base_url="http://localhost") as client:
        token = client.post("/api/tables", json=TABLE).json()["watch"]
        assert len(client.post("/api/tables/mine", json={"tokens": [token] * 100}).json()) == 1


def test_tables_at_which_nobody_has_moved_go_after_a_day(tmp_path):
    people = [Chair("a"), Chair("b")]
    with Tables(tmp_path) as tables:
        unplayed, played, new = (tables.create("briskola", people, seed=5) for _ in range(3))
        played.table.play(0, played.table.position(0)["moves"][0]["text"])
        for made, later in ((unplayed, 0), (played, 3600)):
            path = made.table.file.path
            lines = path.read_text().splitlines()
            header = json.loads(lines[0])
            header["made"] = "2026-01-01T00:00:00Z"
            path.write_text("\n".join([json.dumps(header), *lines[1:], ""]))
            os.utime(path, (1767225600 + later,) * 2)  # that moment, or an hour after it
        assert tables.remove_old(1e9, 1.0) == 1
        assert tables.place(unplayed.seats[0]) is None
        assert tables.place(played.seats[0]) is not None
        assert tables.place(new.seats[0]) is not None


def test_when_there_are_too_many_tables_the_oldest_unplayed_ones_make_room(tmp_path):
    people = [Chair("a"), Chair("b")]
    with Tables(tmp_path, most=2) as tables:
        old, new = (tables.create("briskola", people, seed=5) for _ in range(2))
        with pytest.raises(Unsupported, match="2 tables already"):
            tables.create("briskola", people)
        tables.make_room()  # somebody may still be sitting down there
        assert len(tables) == 2
        os.utime(old.table.file.path, (time.time() - 3600,) * 2)
        tables.make_room([old.table.name])  # nor where somebody is
        assert len(tables) == 2
        tables.make_room()
        assert tables.place(old.seats[0]) is None
        assert tables.place(new.seats[0]) is not None
        tables.create("briskola", people)


# --- the garbage collector ---


def test_what_was_imported_is_kept_out_of_the_garbage_collectors_rounds():
    """With all of it in its rounds nobody was answered for a third of a second, every now and then."""
    try:
        server._keep_what_was_imported()
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
