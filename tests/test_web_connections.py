"""What clients do with connections to a real server: none stops the others or fills the memory."""

import asyncio
import base64
import contextlib
import os
import socket
import struct
import time
import zlib

import pytest

pytest.importorskip("fastapi")

from kibitz.web import server
from kibitz.web.app import create_app
from kibitz.web.limits import Limits
from tests.test_web_budgets import PATIENCE, is_closed, linux, megabytes, served

websockets = pytest.importorskip("websockets")
PING = '{"type":"ping"}'
COMPRESSED = b"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=12\r\n"


@contextlib.asynccontextmanager
async def serving(folder, limits=None, proxy=""):
    """A server in this process; its port."""
    limits = limits or Limits()
    (listening,) = server.listen("127.0.0.1", 0)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)  # so that much can arrive at once
    running = server._Server(server.configured(create_app(folder, limits), limits, proxy))
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
