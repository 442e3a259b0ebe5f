"""What clients do with connections to a real server: none stops the others or fills the memory."""

import asyncio
import base64
import contextlib
import gc
import json
import os
import socket
import struct
import time
import zlib
from unittest import mock

import httpx
import pytest

pytest.importorskip("fastapi")

from kibitz.errors import InputError
from kibitz.web import hosting, messages, server
from kibitz.web.app import create_app
from kibitz.web.limits import Limits
from kibitz.web.tables import WATCHER, Chair, Table, Tables
from tests.test_web_budgets import (
    PATIENCE,
    TABLE,
    TestClient,
    WebSocketDisconnect,
    is_closed,
    linux,
    megabytes,
    served,
)

websockets = pytest.importorskip("websockets")
LOCAL = "http://localhost"
PING = '{"type":"ping"}'
COMPRESSED = b"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=12\r\n"


@contextlib.asynccontextmanager
async def serving(folder, limits=None, proxy=""):
    """A server in this process; its port."""
    limits = limits or Limits()
    (listening,) = server.listen("127.0.0.1", 0)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)  # so that much can arrive at once
    running = server._Server(server.configured(create_app(folder, limits), limits, proxy), limits)
    task = asyncio.create_task(running.serve([listening]))
    try:
        while not running.started:
            await asyncio.sleep(0.01)
        yield listening.getsockname()[1]
    finally:
        running.should_exit = True
        await task


def opened(port, more=b""):
    """A connection that has become a WebSocket, for what no decent library sends."""
    connection = socket.create_connection(("127.0.0.1", port), PATIENCE)
    key = base64.b64encode(os.urandom(16))
    connection.sendall(
        b"GET /socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + b"\r\n" + more + b"\r\n"
    )
    assert b" 101 " in connection.recv(4096)
    return connection


def is_taken(connection, data, times):
    """Whether the server takes so many bytes; if it has ended the connection, it does not."""
    try:
        for _ in range(times):
            connection.sendall(data)
    except OSError:
        return False
    return not is_closed(connection, 5.0)


def bomb():
    """A compressed message: 258 bytes that become 239 KB."""
    pressed = zlib.compressobj(9, zlib.DEFLATED, -12)
    data = (pressed.compress(b"a" * 239_000) + pressed.flush(zlib.Z_SYNC_FLUSH))[:-4]
    return b"\xc1" + struct.pack(">BH", 0x80 | 126, len(data)) + b"\0\0\0\0" + data


# --- the numbers of uvicorn are ours ---


def until_closed(tmp_path, limits, said, as_websocket=False):
    """What a server answers to bytes, and the seconds until it ends the connection."""

    async def test():
        async with serving(tmp_path, limits) as port:
            return await asyncio.to_thread(talk, port)

    def talk(port):
        connection = opened(port) if as_websocket else socket.create_connection(("127.0.0.1", port), PATIENCE)
        with connection:
            connection.settimeout(PATIENCE)
            connection.sendall(said)
            began, heard = time.monotonic(), b""
            with contextlib.suppress(ConnectionError):
                while data := connection.recv(4096):
                    heard += data
            return heard, time.monotonic() - began

    return asyncio.run(test())


def test_a_long_head_is_refused(tmp_path):
    head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + 900 * b"y"
    heard, _ = until_closed(tmp_path, Limits(header_bytes=800), head)
    assert heard.startswith(b"HTTP/1.1 400 ")


def test_a_connection_without_another_request_ends(tmp_path):
    request = b"GET /api/protocol HTTP/1.1\r\nHost: localhost\r\n\r\n"
    heard, seconds = until_closed(tmp_path, Limits(keep_alive_seconds=1), request)
    assert heard.startswith(b"HTTP/1.1 200 ")
    assert seconds < 4


def test_a_websocket_that_answers_no_ping_ends(tmp_path):
    _, seconds = until_closed(tmp_path, Limits(ping_seconds=0.2), b"", as_websocket=True)
    assert seconds < 4


# --- messages ---


@linux
def test_compressed_messages_fill_no_memory(tmp_path):
    """One connection that sent 600 KB of them took 214 MB."""
    with served(tmp_path) as (port, process, _):
        before = megabytes(process)
        with opened(port, COMPRESSED) as connection:
            assert not is_taken(connection, bomb() * 100, 23)
        assert megabytes(process) < before + 50


@linux
def test_a_message_in_endless_pieces_fills_no_memory(tmp_path):
    """Empty pieces: the size of the message never reaches its limit."""
    with served(tmp_path) as (port, process, _):
        before = megabytes(process)
        with opened(port) as connection:
            connection.sendall(b"\x01\x80\0\0\0\0")
            assert not is_taken(connection, b"\x00\x80\0\0\0\0" * 10_000, 200)
        assert megabytes(process) < before + 50


@pytest.mark.parametrize("becomes", ["a WebSocket", "a request"])
def test_many_tiny_pieces_do_not_hold_up_the_others(tmp_path, becomes):
    """All frames of seven bytes that had arrived were parsed in one go, and so were the pieces of a body."""

    def connected(port):
        if becomes == "a WebSocket":
            return opened(port), b"\x81\x81\0\0\0\0x" * 37_000
        head = b"POST /api/lines HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        return socket.create_connection(("127.0.0.1", port), PATIENCE), head + b"1\r\nx\r\n" * 43_000

    async def longest_step():
        """The processor time of the event loop's longest step, after all of it has arrived."""
        async with serving(tmp_path) as port:
            connection, data = await asyncio.to_thread(connected, port)
            await asyncio.sleep(0.2)
            with connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
                connection.setblocking(False)
                connection.send(data)
                longest, seen, ends = 0.0, time.thread_time(), time.monotonic() + 1.0
                while time.monotonic() < ends:
                    await asyncio.sleep(0)
                    longest, seen = max(longest, time.thread_time() - seen), time.thread_time()
            return longest

    assert asyncio.run(longest_step()) < 0.05


# --- messages that take long ---

STUDY = json.dumps({"type": "study", "game": "briskola", "start": {"position": "7"}, "moves": []})


class Slow:
    """Work that takes a while and finds nothing; it remembers when it began."""

    def __init__(self):
        self.began = []

    def __call__(self, *_):
        self.began.append(time.monotonic())
        time.sleep(0.2)
        raise InputError("nothing was found")

    def begun_after(self, moment):
        return sum(began > moment for began in self.began)


@pytest.mark.parametrize("studies", [3, pytest.param(1, marks=pytest.mark.soak)])
def test_nothing_is_studied_for_those_who_have_gone(tmp_path, monkeypatch, studies):
    slow = Slow()
    monkeypatch.setattr(hosting, "opened", slow)

    async def test():
        async with serving(tmp_path) as port:
            for _ in range(12):
                client = await websockets.connect(f"ws://127.0.0.1:{port}/socket")
                for _ in range(studies):
                    await client.send(STUDY)
                await asyncio.sleep(0.02)
                client.transport.abort()
            await asyncio.sleep(0.1)
            gone = time.monotonic()
            await asyncio.sleep(2.0)
            assert slow.began
            assert slow.begun_after(gone) == 0

    asyncio.run(test())


def test_nothing_is_read_for_those_who_have_gone(tmp_path, monkeypatch):
    slow = Slow()
    monkeypatch.setattr(messages, "lines_in", slow)
    request = (
        b"POST /api/lines HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b'Content-Length: 12\r\n\r\n{"text":"x"}'
    )

    async def test():
        async with serving(tmp_path) as port:
            for _ in range(12):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request)
                await asyncio.sleep(0.02)
                writer.transport.abort()
            await asyncio.sleep(0.1)
            gone = time.monotonic()
            await asyncio.sleep(2.0)
            assert slow.began
            assert slow.begun_after(gone) == 0

    asyncio.run(test())


def text_frame(message):
    data = json.dumps(message).encode()
    return bytes([0x81, 0x80 | len(data)]) + b"\0\0\0\0" + data


def test_a_move_that_is_the_last_word_counts(tmp_path):
    """The move, more messages, and the end of the connection arrive at the same moment."""

    async def test():
        async with serving(tmp_path) as port:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
                made = (await http.post("/api/tables", json=TABLE)).json()
            address = f"ws://127.0.0.1:{port}/socket"
            async with websockets.connect(address) as watcher, websockets.connect(address) as player:
                await watcher.send(json.dumps({"type": "join", "token": made["watch"]}))
                await player.send(json.dumps({"type": "join", "token": made["seats"]["0"]}))
                position = json.loads([await player.recv() for _ in range(2)][1])["position"]
                move = {"type": "play", "number": position["number"], "move": position["moves"][0]["move"]}
                closing = b"\x88\x80\0\0\0\0"
                player.transport.write(text_frame({"type": "ping"}) + text_frame(move) + closing)
                async with asyncio.timeout(PATIENCE):
                    while (await heard(watcher, "update"))["position"]["turn"] != 1:
                        pass

    asyncio.run(test())


async def heard(connection, kind):
    """The next message of a kind."""
    while (message := json.loads(await connection.recv()))["type"] != kind:
        pass
    return message


def test_many_long_messages_may_not_wait(tmp_path, monkeypatch):
    """They are read while one before them is worked on, but they must not fill the memory."""
    monkeypatch.setattr(hosting, "opened", Slow())

    async def test():
        async with (
            serving(tmp_path) as port,
            websockets.connect(f"ws://127.0.0.1:{port}/socket") as client,
        ):
            for _ in range(4):
                await client.send(STUDY.ljust(50_000))
            with pytest.raises(websockets.ConnectionClosed):
                await asyncio.wait_for(heard(client, "line"), PATIENCE)
            assert client.close_reason == "too many messages"

    asyncio.run(test())


def test_nothing_is_sent_after_a_connection_was_ended(tmp_path, caplog):
    """Every client that sent too much and read nothing left a traceback in the log."""

    async def test():
        async with serving(tmp_path) as port:
            held = [await asyncio.to_thread(opened, port) for _ in range(5)]
            for connection in held:
                connection.sendall(text_frame({"type": "noise"}) * 80)
            await asyncio.sleep(1.0)
            for connection in held:
                connection.close()

    asyncio.run(test())
    gc.collect()
    assert not caplog.records


def test_who_only_pings_is_sent_away(tmp_path):
    """Every message gave it as much time again."""

    def ping_again_and_again(connection):
        for _ in range(100):
            connection.send_text(PING)
            connection.receive_json()
            time.sleep(0.05)

    with (
        TestClient(create_app(tmp_path, Limits(first_message_seconds=0.5)), base_url=LOCAL) as client,
        client.websocket_connect("ws://localhost/socket") as connection,
    ):
        with pytest.raises(WebSocketDisconnect) as ended:
            ping_again_and_again(connection)
        assert ended.value.reason == "nothing was asked for"


def test_a_failure_in_the_worker_ends_no_connection(tmp_path, monkeypatch, caplog):
    def fail(*_):
        raise RuntimeError("in the worker process: a fault")

    monkeypatch.setattr(hosting, "opened", fail)
    with (
        TestClient(create_app(tmp_path), base_url=LOCAL) as client,
        client.websocket_connect("ws://localhost/socket") as connection,
    ):
        connection.send_text(STUDY)
        assert connection.receive_json() == {
            "type": "refused",
            "code": "Failed",
            "message": "this has failed here",
        }
        connection.send_text(PING)
        assert connection.receive_json() == {"type": "pong"}
    assert "a message cannot be answered" in caplog.text


# --- watchers ---


@contextlib.asynccontextmanager
async def watched(folder, limits, tables=1):
    """A host with tables for two people; functions with which to watch them, and to sit down."""
    host, held = hosting.Host(Tables(folder), limits), []
    made = [host.tables.create("briskola", [Chair("a"), Chair("b")]) for _ in range(tables)]

    async def join(token, client):
        held.append(hosting.Connection(limits, client))
        await host.receive(held[-1], json.dumps({"type": "join", "token": token}))
        said = [json.loads(text) for text in held[-1].outbox]
        return said[0]["message"] if said[0]["type"] == "refused" else said[0]["type"]

    try:
        yield made, join, held
    finally:
        for connection in held:
            connection.leave()
        host.close()


def test_what_watchers_see_is_made_once_for_all_of_them(tmp_path, monkeypatch):
    """Each of them cost the event loop a millisecond at every move."""
    made_for = []
    position = Table.position

    def counted(table, observer):
        made_for.append(observer)
        return position(table, observer)

    monkeypatch.setattr(Table, "position", counted)

    async def test():
        async with watched(tmp_path, Limits()) as ((new,), join, held):
            for number in range(30):
                await join(new.watch, str(number))
            for token in new.seats.values():
                await join(token, "player")
                await join(token, "player's telephone")
            made_for.clear()
            for connection in held:
                connection.outbox.clear()
            session = held[0].session
            session.table.play(0, session.table.state.legal_moves()[0])
            session.changed()
            assert sorted(made_for) == [WATCHER, 0, 1]
            updates = [json.loads(connection.outbox[0]) for connection in held]
            assert all(update == updates[0] for update in updates[:30])
            assert updates[0]["events"]
            assert [bool(update["position"]["moves"]) for update in updates[29:]] == [False] * 3 + [True] * 2

    asyncio.run(test())


def test_a_table_has_only_so_many_watchers(tmp_path):
    async def test():
        async with watched(tmp_path, Limits(watchers_a_table=3)) as ((new,), join, held):
            assert [await join(new.watch, str(number)) for number in range(3)] == ["welcome"] * 3
            assert "3 people watch this table already" in await join(new.watch, "another one")
            assert await join(new.seats[0], "a player") == "welcome"
            held[0].leave()
            assert await join(new.watch, "another one") == "welcome"

    asyncio.run(test())


def test_a_client_watches_only_so_many_tables(tmp_path):
    async def test():
        async with watched(tmp_path, Limits(watchers_a_client=3), tables=5) as (made, join, _):
            assert [await join(new.watch, "a") for new in made[:3]] == ["welcome"] * 3
            assert "you watch in 3 windows already" in await join(made[3].watch, "a")
            assert await join(made[3].watch, "b") == "welcome"
            assert await join(made[4].seats[0], "a") == "welcome"

    asyncio.run(test())


# --- what counts for a client, not for a connection ---


async def can_open(held, port, own="127.0.0.1", forwarded=None):
    """Open another WebSocket; whether the server lets it."""
    headers = {"X-Forwarded-For": forwarded} if forwarded else None
    address, own = f"ws://127.0.0.1:{port}/socket", (own, 0)
    try:
        held.append(await websockets.connect(address, local_addr=own, additional_headers=headers))
    except (websockets.InvalidHandshake, OSError):
        return False
    return True


@linux  # all of 127.0.0.0/8 is this computer
def test_behind_a_proxy_each_client_has_its_own_connections(tmp_path):
    async def test():
        async with serving(tmp_path, Limits(connections_a_client=3), proxy="127.0.0.1") as port:
            held = []
            opened = [await can_open(held, port, forwarded="192.0.2.1") for _ in range(5)]
            assert opened == [True] * 3 + [False] * 2
            assert await can_open(held, port, forwarded="192.0.2.99")
            await held[0].close()
            assert await can_open(held, port, forwarded="192.0.2.1")
            for each in held:
                await each.close()

    asyncio.run(test())


@linux
def test_nobody_but_the_proxy_is_believed(tmp_path):
    """Eight requests that say that they come from eight clients, at a server that allows five to each."""

    async def statuses(port, own):
        async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(local_address=own)) as http:
            address = f"http://127.0.0.1:{port}/api/trees"
            forged = [{"X-Forwarded-For": f"192.0.2.{number}"} for number in range(8)]
            return [(await http.get(address, headers=each)).status_code for each in forged]

    async def test():
        limits = Limits(requests_a_second=0.001, burst=5)
        async with serving(tmp_path, limits, proxy="127.0.0.1") as port:
            assert await statuses(port, "127.0.0.2") == [200] * 5 + [429] * 3
            assert await statuses(port, "127.0.0.1") == [200] * 8

    asyncio.run(test())


def test_a_client_opens_only_so_many_websockets_a_second(tmp_path):
    async def test():
        limits = Limits(sockets_a_second=0.001, burst=2)
        async with serving(tmp_path, limits, proxy="127.0.0.1") as port:
            opened = []
            for _ in range(10):
                held = []
                opened.append(await can_open(held, port, forwarded="192.0.2.1"))
                for each in held:
                    await each.close()
            assert opened == [True] * 8 + [False] * 2
            assert await can_open(held, port, forwarded="192.0.2.99")
            await held[-1].close()

    asyncio.run(test())


def test_a_client_makes_only_so_many_connections_a_second():
    gate = server.Gate(Limits(connections_a_second=0.001, burst=2), 100, frozenset({"p"}))

    def entered(client):
        transport = mock.Mock()
        may_stay = gate.enter(client, transport)
        if may_stay:
            gate.leave(client, transport, was_socket=False)
        return may_stay

    assert [entered("a") for _ in range(10)] == [True] * 8 + [False] * 2
    assert entered("b")
    assert all(entered("p") for _ in range(20))


def test_messages_of_a_client_are_delayed_when_they_are_many(tmp_path):
    """Each connection had a budget of its own, however many there were."""
    limits = Limits(messages_a_client=10.0, burst=10)

    async def pinged(port, own, times):
        async with websockets.connect(f"ws://127.0.0.1:{port}/socket", local_addr=(own, 0)) as connection:
            for _ in range(times):
                await connection.send(PING)
                await connection.recv()

    async def test():
        async with serving(tmp_path, limits) as port:
            began = time.monotonic()
            flood = asyncio.gather(*(pinged(port, "127.0.0.1", 10) for _ in range(6)))
            await asyncio.sleep(0.5)
            await asyncio.wait_for(pinged(port, "127.0.0.2", 10), 1.0)
            assert not flood.done()
            await flood
            assert time.monotonic() - began > 1.5  # 40 at once, and 20 more in two seconds

    asyncio.run(test())
