"""The server around the application: connections that are too many or too slow end, and the log stays small.

uvicorn has no limit for a client that begins a request and never ends it, for many connections of one client,
or for one that does not read what it is sent. Here every connection passes a gate when it is made, and all of
them are looked through once a second.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import re
import socket
import sys
import threading
import time
import webbrowser
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from kibitz import __version__
from kibitz.errors import BadOption, quoted
from kibitz.web.app import create_app
from kibitz.web.limits import Bucket, Buckets, Limits, client_of, count_down
from kibitz.web.worker import Process, Worker

_TICKS_A_SECOND = 10  # of uvicorn's main loop
_ACCEPTED_AT_ONCE = 32
"""asyncio accepts so many connections before it looks at any of them; the gate must come in between, or a
burst uses up all files, and asyncio accepts nothing for a second."""
_SPARE_FILES = 50 + 3 * _ACCEPTED_AT_ONCE  # for what is no connection, and for those that are being refused
_INCOMPLETE = (h11.IDLE, h11.SEND_BODY)


class Gate:
    """How many connections every client has, and whether it may have another one; a proxy may have all.

    A few clients that take all there is keep nobody out: whoever comes with fewer connections gets the place
    of the latest one of the client that has most.
    """

    def __init__(self, limits: Limits, most: int, proxies: frozenset[str] = frozenset()) -> None:
        self.limits, self.most, self._proxies = limits, most, proxies
        self._requests: Counter[str] = Counter()
        self._sockets: Counter[str] = Counter()
        self._open: dict[str, dict[asyncio.Transport, None]] = {}
        self._made = Buckets(limits.connections_a_second, 4 * limits.burst)

    def enter(self, client: str, transport: asyncio.Transport) -> bool:
        """A connection is made: whether it may stay."""
        requests, sockets = self._requests[client], self._sockets[client]
        is_full = self._requests.total() + self._sockets.total() >= self.most
        too_many = requests + sockets >= self.limits.connections_a_client
        too_many = too_many or requests >= self.limits.requests_at_once
        if client not in self._proxies and (not self._made.take(client) or too_many):
            return False
        if is_full and not self._make_room(client):
            return False
        self._requests[client] += 1
        self._open.setdefault(client, {})[transport] = None
        return True

    def _make_room(self, client: str) -> bool:
        """End a connection of the client that has most, if that is more than this one would have."""
        others = {each: held for each, held in self._open.items() if each not in self._proxies}
        most = max(others, key=lambda each: len(others[each]), default=client)
        if len(others.get(most, ())) <= len(self._open.get(client, ())) + 1:
            return False
        latest = next(reversed(self._open[most]))
        del self._open[most][latest]  # it is counted until it has ended, but nobody else gets its place
        latest.abort()
        return True

    def upgrade(self, client: str) -> None:
        """A connection has become a WebSocket."""
        count_down(self._requests, client)
        self._sockets[client] += 1

    def leave(self, client: str, transport: asyncio.BaseTransport, was_socket: bool) -> None:
        """A connection has ended."""
        count_down(self._sockets if was_socket else self._requests, client)
        held = self._open.get(client, {})
        held.pop(transport, None)  # type: ignore[call-overload]
        if not held:
            self._open.pop(client, None)


def _read_in_small_pieces(transport: asyncio.BaseTransport, limits: Limits) -> None:
    """All that was read at a time is parsed at a time, and meanwhile nobody else is served."""
    transport.max_size = limits.read_bytes  # type: ignore[attr-defined]  # asyncio's own is 256 KiB


class _Socket(WebSocketsSansIOProtocol):
    """A WebSocket, whose frames are limited: uvicorn itself answers pings and collects pieces of messages."""

    gate: Gate

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        limits = self.gate.limits
        self._pings = Bucket(limits.pings_a_second, limits.burst)
        self._frames = Bucket(limits.frames_a_second, 2 * limits.burst)
        self._owner = client_of(self.client[0] if self.client else "")
        self.gate.upgrade(self._owner)

    def handle_events(self) -> None:
        if all(self._frames.take() for _ in self.conn.events):
            super().handle_events()
        else:
            self.transport.abort()

    def handle_ping(self) -> None:
        if self._pings.take():
            super().handle_ping()
        else:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gate.leave(self._owner, self.transport, was_socket=True)
        super().connection_lost(exc)

    def look(self, _now: float) -> None:
        """End it if the client does not read what it is sent."""
        if self.transport.get_write_buffer_size() > self.gate.limits.unsent_bytes:
            self.transport.abort()


class _Requests(H11Protocol):
    """A connection for requests: each must be whole within its time."""

    gate: Gate

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _read_in_small_pieces(transport, self.gate.limits)
        self._owner = client_of(self.client[0] if self.client else "")
        self._seen: Any = None
        self._since = time.monotonic()
        self._has_entered = self.gate.enter(self._owner, transport)
        self._is_socket = False
        if not self._has_entered:
            transport.abort()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._is_socket = True
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._has_entered and not self._is_socket:
            self.gate.leave(self._owner, self.transport, was_socket=False)
        super().connection_lost(exc)

    def look(self, now: float) -> None:
        """End it if it stays too long where the client has to send or to read something."""
        limits = self.gate.limits
        theirs, is_stuck = self.conn.their_state, self.transport.get_write_buffer_size() > 0
        state = (self.cycle, theirs, is_stuck)
        if state != self._seen:
            self._seen, self._since = state, now
            return
        allowed = limits.body_seconds if theirs is h11.SEND_BODY else limits.header_seconds
        if (theirs in _INCOMPLETE and now - self._since > allowed) or (
            is_stuck and now - self._since > limits.send_seconds
        ):
            self.transport.abort()


def _keep_what_was_imported() -> None:
    """The garbage collector need not look through it again and again: nobody is answered meanwhile."""
    gc.collect()
    gc.freeze()


class _Server(uvicorn.Server):
    """Looks through all connections once a second."""

    when_ready: Callable[[], None] | None = None

    def __init__(self, config: uvicorn.Config, limits: Limits) -> None:
        super().__init__(config)
        self._limits = limits

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.when_ready is not None:
            threading.Thread(target=self.when_ready, daemon=True).start()
        _keep_what_was_imported()
        for server in self.servers:
            for each in server.sockets:  # uvicorn has one number for both
                with socket.fromfd(each.fileno(), each.family, each.type) as listening:
                    listening.listen(self._limits.waiting_to_connect)

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_A_SECOND == 0:
            now = time.monotonic()
            for connection in list(self.server_state.connections):
                connection.look(now)  # type: ignore[union-attr]
        return await super().on_tick(counter)


class BoundedLog(logging.Filter):
    """Lets only so many entries through, and says how many it has left out."""

    def __init__(self, an_hour: float, burst: int) -> None:
        super().__init__()
        self._bucket, self._left_out = Bucket(an_hour / 3600, burst), 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write an entry."""
        if not self._bucket.take():
            self._left_out += 1
            return False
        if self._left_out:
            record.msg = f"({self._left_out} entries were left out before this one.) {record.msg}"
            self._left_out = 0
        return True


class _Short(logging.Formatter):
    """Short entries: of a long one the beginning and the end, which names the error."""

    def __init__(self, form: str, most: int) -> None:
        super().__init__(form)
        self._most = most

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        text = "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
        half = self._most // 2
        return text if len(text) <= self._most else f"{text[:half]} … {text[-half:]}"


def _keep_a_log(limits: Limits) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(BoundedLog(limits.log_entries_an_hour, limits.burst))
    handler.setFormatter(_Short("%(asctime)s %(levelname)s: %(message)s", limits.log_entry_characters))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def _open_files() -> int:
    """How many files may be open, after asking the system for as many as it gives."""
    try:
        import resource
    except ImportError:  # Windows
        return 512
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(soft, wanted)


def in_a_process(limits: Limits) -> Worker:
    """The worker of a server: it starts at once, for the first visitor should not wait for it."""
    worker = Process(limits.slots)
    worker.warm()
    return worker


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets at all addresses of a host that this computer has; `BadOption` says why there are none."""
    sockets: list[socket.socket] = []
    reason = ""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        found, reason = [], str(error.strerror)
    for family, _, _, _, address in dict.fromkeys(found):
        try:
            sockets.append(socket.create_server(address, family=family))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise BadOption(f"port {port} is taken; choose another one with --port") from None
            reason = error.strerror or str(error)  # such as localhost's second address without IPv6
    if not sockets:
        raise BadOption(f"cannot listen at {quoted(host)}, port {port}: {reason}; change --host or --port")
    return sockets


def configured(app: Any, limits: Limits, proxy: str = "") -> uvicorn.Config:
    """The settings of uvicorn: our gate, our limits, and the proxies that may tell the clients' addresses."""
    proxies = frozenset(client_of(address.strip()) for address in proxy.split(",") if address.strip())
    gate = Gate(limits, max(1, min(limits.connections, _open_files() - _SPARE_FILES)), proxies)
    return uvicorn.Config(
        app,
        http=type("Requests", (_Requests,), {"gate": gate}),
        ws=type("Socket", (_Socket,), {"gate": gate}),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxy),
        forwarded_allow_ips=proxy or None,
        ws_max_size=4 * limits.study_characters,
        ws_per_message_deflate=False,  # 258 bytes could become a message of 240 KB, thousands of times over
        ws_ping_interval=limits.ping_seconds,
        ws_ping_timeout=limits.ping_seconds,
        h11_max_incomplete_event_size=limits.header_bytes,
        timeout_keep_alive=limits.keep_alive_seconds,
        timeout_graceful_shutdown=2,
        backlog=_ACCEPTED_AT_ONCE,
    )


def serve(
    folder: Path,
    host: str,
    port: int,
    names: tuple[str, ...],
    limits: Limits | None = None,
    store: Path | None = None,
    proxy: str = "",
    opens: bool = False,
) -> None:
    """Serve the tables of a folder, and the laboratory of a store, until interrupted.

    `opens` shows the page in the user's browser. `proxy` is the address of a web server in front of this one,
    which tells the clients' addresses.
    """
    limits = limits or Limits()
    sockets = listen(host, port)
    own = host if re.fullmatch(r"[A-Za-z0-9.-]+", host) else "localhost"
    app = create_app(folder, limits, (own, *names), store, in_a_process)
    _keep_a_log(limits)
    print(f"Kibitz {__version__}: the table is at http://{host}:{port}/ (Ctrl-C ends it)", file=sys.stderr)
    print(f"tables are kept in {folder}", file=sys.stderr)
    server = _Server(configured(app, limits, proxy), limits)
    if opens:
        server.when_ready = partial(
            _open_page, f"http://{'localhost' if host in _EVERYWHERE else host}:{port}/"
        )
    with suppress(KeyboardInterrupt):  # uvicorn raises it again when all is closed
        server.run(sockets)


_EVERYWHERE = ("0.0.0.0", "::")


def _open_page(address: str) -> None:
    """Show a page in the user's browser, but not in one that would take over the terminal."""
    has_screen = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not (has_screen and webbrowser.open(address)):
        print(f"there is no browser to open here; open {address} yourself", file=sys.stderr)
