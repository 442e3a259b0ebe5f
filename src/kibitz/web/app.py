"""The web application: pages, the lobby, and one WebSocket for everybody at a table.

No cookies: a browser keeps the tokens of its seats and says them in the first message of a connection, so
that they are in no address, no log and no request that another site could make. Pages may load nothing
from elsewhere and run no script but the files beside this one.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, WebSocket
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ValidationError

from kibitz import __version__, games
from kibitz.errors import KibitzError, Unsupported
from kibitz.web import lines, messages
from kibitz.web.hosting import Connection, Host, Limits, refusal
from kibitz.web.laboratory import Laboratory, examples, picture, steps
from kibitz.web.tables import Chair, Tables

_log = logging.getLogger(__name__)
_HERE = Path(__file__).parent
_LARGEST_REQUEST = 64_000
_MOST_CLIENTS = 10_000
_POLICY_VIOLATION, _TOO_BIG, _TRY_AGAIN = 1008, 1009, 1013

_HEADERS = {
    # Pictures that are made here, to be kept as a file, are blobs.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}

_VIEWER = "/view"
"""The page that others may put into theirs: it shows a line of play and can do nothing."""
_POLICY = "content-security-policy"
_FRAMED = {**_HEADERS, _POLICY: _HEADERS[_POLICY].replace("frame-ancestors 'none'", "frame-ancestors *")}

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_Model = TypeVar("_Model", bound=BaseModel)


class Guard:
    """What holds for every request: a host of ours, an origin of ours, no large body, strict headers."""

    def __init__(self, app: Any, hosts: frozenset[str]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}

        async def send_strictly(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                given = [(name, value) for name, value in message["headers"] if name.decode() not in _HEADERS]
                strict = _FRAMED if scope["path"] == _VIEWER else _HEADERS
                ours = [(name.encode(), value.encode()) for name, value in strict.items()]
                message = {**message, "headers": [*given, *ours]}
            await send(message)

        trouble = self._trouble(scope, headers)
        if trouble is None:
            await self.app(scope, receive, send_strictly)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": trouble[1]})
        else:
            status, reason = trouble
            answer = JSONResponse({"code": "Refused", "message": reason}, status)
            await answer(scope, receive, send_strictly)

    def _trouble(self, scope: _Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self._is_ours(host):
            return 421, "this host name is not served here; see --name"  # a name that leads here by stealth
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return 403, "another site may not ask"
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            length = headers.get("content-length", "")
            if not length.isdigit():
                return 411, "say how long the request is"
            if int(length) > _LARGEST_REQUEST:
                return 413, f"a request may have {_LARGEST_REQUEST} bytes"
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return 415, "send JSON"
        return None

    def _is_ours(self, host: str) -> bool:
        """Numbers are safe: only a name can be made to lead to another computer."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self.hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


class Bucket:
    """How often something may be done: so many times a second, and some at once."""

    def __init__(self, a_second: float, burst: int) -> None:
        self._a_second, self._burst = a_second, burst
        self._left, self._seen = float(burst), time.monotonic()

    def take(self) -> bool:
        """Whether once more is allowed."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._seen) * self._a_second)
        self._seen = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


def create_app(
    folder: Path, limits: Limits | None = None, hosts: tuple[str, ...] = (), store: Path | None = None
) -> FastAPI:
    """The application over the tables of a folder; `hosts` are further names under which it is served.

    The laboratory shows the experiments of `store`, if one is given.
    """
    limits = limits or Limits()
    tables = Tables(folder, limits.tables)
    for name, reason in tables.unreadable.items():
        _log.warning("%s is no table: %s", name, reason)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.host = Host(tables, limits)
        keeping = asyncio.create_task(app.state.host.keep_house())
        yield
        keeping.cancel()
        app.state.host.close()

    # The pages that FastAPI makes of itself load scripts from elsewhere.
    app = FastAPI(title="Kibitz", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.add_middleware(Guard, hosts=frozenset({"localhost", *hosts}))
    requests: defaultdict[str, Bucket] = defaultdict(lambda: Bucket(limits.requests_a_second, limits.burst))
    open_connections: Counter[str] = Counter()

    @app.exception_handler(KibitzError)
    async def refuse(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, KibitzError)
        return JSONResponse(refusal(error).model_dump(exclude={"type"}), 422)

    @app.get("/api/games")
    def list_games() -> list[dict[str, Any]]:
        return _games()

    @app.get("/api/protocol")
    def protocol() -> FileResponse:
        return FileResponse(_HERE / "protocol.json", media_type="application/schema+json")

    @app.post("/api/tables")
    async def make_table(request: Request) -> Response:
        client = _client(request.scope)
        _slow_down(requests, client)
        wanted = await _body(request, messages.TableWanted)
        chairs = [Chair(_plain_name(seat.name), seat.agent) for seat in wanted.seats]
        seed = None if wanted.seed is None else int(wanted.seed)
        start = None if wanted.start is None else messages.start_of(wanted.start)
        host, moves, undo = app.state.host, wanted.moves, wanted.undo
        new = await asyncio.to_thread(host.open_table, client, wanted.game, chairs, seed, start, moves, undo)
        seats = {str(seat): token for seat, token in new.seats.items()}
        return _json(messages.TableMade(table=new.table.name, seats=seats, watch=new.watch), 201)

    @app.post("/api/lines")
    async def find_lines(request: Request) -> Response:
        _slow_down(requests, _client(request.scope))
        pasted = await _body(request, messages.TextPasted)
        notation, found = await app.state.host.thinker.aside(lines.read, pasted.text)
        shown = [
            messages.LineFound(
                title=each.title,
                game=each.line.game,
                start=messages.start_shown(each.line.start),
                moves=[each.line.text(ply) for ply in range(len(each.line.moves))],
            )
            for each in found
        ]
        return _json(messages.LinesFound(notation=notation, lines=shown))

    @app.post("/api/tables/mine")
    async def own_tables(request: Request) -> list[dict[str, Any]]:
        _slow_down(requests, _client(request.scope))
        kept = await _body(request, messages.TokensKept)
        return [shown.model_dump() for shown in await app.state.host.tables_of(kept.tokens)]

    laboratory = Laboratory(store)

    @app.get("/api/experiments")
    async def list_experiments(request: Request) -> Any:
        _slow_down(requests, _client(request.scope))
        return await asyncio.to_thread(laboratory.experiments)

    @app.get("/api/experiments/{name}")
    async def show_experiment(name: str, request: Request) -> Any:
        _slow_down(requests, _client(request.scope))
        return await app.state.host.thinker.aside(laboratory.experiment, name)

    @app.get("/api/experiments/{name}/{number}.svg")
    async def show_figure(name: str, number: int) -> Response:
        return _svg(await app.state.host.thinker.aside(laboratory.figure, name, number))

    @app.get("/api/trees")
    async def list_trees() -> Any:
        return await asyncio.to_thread(examples)

    @app.get("/api/trees/{name}/{algorithm}")
    async def show_tree(name: str, algorithm: str) -> Any:
        return await app.state.host.thinker.aside(steps, name, algorithm)

    @app.get("/api/trees/{name}/{algorithm}/{step}.svg")
    async def show_step(name: str, algorithm: str, step: int) -> Response:
        return _svg(await app.state.host.thinker.aside(picture, name, algorithm, step))

    @app.websocket("/socket")
    async def socket(websocket: WebSocket) -> None:
        client = _client(websocket.scope)
        await websocket.accept()
        is_full = sum(open_connections.values()) >= limits.connections
        if is_full or open_connections[client] >= limits.connections_a_client:
            await websocket.close(_TRY_AGAIN, "too many connections")
            return
        open_connections[client] += 1
        connection = Connection(limits, client)
        writer = asyncio.create_task(_write(websocket, connection))
        try:
            await _read(websocket, connection, app.state.host, Bucket(limits.messages_a_second, limits.burst))
        finally:
            open_connections[client] -= 1
            if not open_connections[client]:
                del open_connections[client]
            connection.leave()
            writer.cancel()

    @app.get("/")
    @app.get(_VIEWER)
    def page() -> FileResponse:
        return FileResponse(_HERE / "static" / "index.html")

    app.mount("/static", StaticFiles(directory=_HERE / "static"), name="static")
    return app


def _slow_down(buckets: defaultdict[str, Bucket], client: str) -> None:
    if len(buckets) > _MOST_CLIENTS:
        buckets.clear()  # whoever has that many addresses is not slowed down by this
    if not buckets[client].take():
        raise Unsupported("too many requests; wait a moment")


async def _read(websocket: WebSocket, connection: Connection, host: Host, bucket: Bucket) -> None:
    """Take messages until the connection ends, or until it does what nobody does who means well."""
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return
        text = message.get("text")
        if not bucket.take():
            await websocket.close(_POLICY_VIOLATION, "too many messages")
            return
        if text is not None and len(text) > connection.largest:
            await websocket.close(_TOO_BIG, "too long a message")
            return
        await host.receive(connection, "" if text is None else text)  # bytes are no message of the protocol


async def _write(websocket: WebSocket, connection: Connection) -> None:
    """Send what the outbox holds; a connection that is too slow is ended and may come back."""
    while True:
        await connection.ready.wait()
        connection.ready.clear()
        while connection.outbox:
            await websocket.send_text(connection.outbox.popleft())
        if connection.is_dropped:
            await websocket.close(_TRY_AGAIN, "too slow")
            return


async def _body(request: Request, model: type[_Model]) -> _Model:
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))[:80]
        raise messages.BadMessage(f"{place}: {first['msg'][:200]}") from None


def _json(model: BaseModel, status: int = 200) -> Response:
    return Response(model.model_dump_json(), status, media_type="application/json")


def _svg(text: str) -> Response:
    return Response(text, media_type="image/svg+xml")


def _client(scope: MutableMapping[str, Any]) -> str:
    return scope["client"][0] if scope.get("client") else ""


def _plain_name(name: str) -> str:
    """A person's name on one line, without characters that turn text around or hide it."""
    return " ".join("".join(c for c in name if c.isprintable()).split())


@cache
def _games() -> list[dict[str, Any]]:
    """The games with their options, and for each the agents by strength, in plain words."""
    found = []
    for name in games.known():
        cls = games.game_class(name)
        options = [
            {
                "name": option.name,
                "default": option.default,
                "choices": list(option.choices),
                "takes": option.takes,
                "help": option.help,
            }
            for option in games.parameters(cls).values()
        ]
        about = (sys.modules[cls.__module__].__doc__ or "").strip().splitlines()[0]
        found.append({"name": name, "about": about, "options": options, "levels": _levels(cls)})
    return found


def _levels(cls: Any) -> list[dict[str, str]]:
    has_thumb = "sensible_move" not in cls.defaulted
    levels = [("beginner", "random")]
    levels += [("casual", "rule-based")] if has_thumb else []
    levels += [("good", "ismcts:300"), ("strong", "ismcts:3000")]
    levels += [("strongest", "expert" if cls.expert else "ismcts:20000")]
    return [{"name": name, "agent": agent} for name, agent in levels]


def serve(
    folder: Path,
    host: str,
    port: int,
    names: tuple[str, ...],
    limits: Limits | None = None,
    store: Path | None = None,
) -> None:
    """Serve the tables of a folder, and the laboratory of a store, until interrupted."""
    import uvicorn

    own = host if re.fullmatch(r"[A-Za-z0-9.-]+", host) else "localhost"
    app = create_app(folder, limits, (own, *names), store)
    print(f"Kibitz {__version__}: the table is at http://{host}:{port}/ (Ctrl-C ends it)", file=sys.stderr)
    print(f"tables are kept in {folder}", file=sys.stderr)
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="warning",
        server_header=False,
        ws_max_size=4 * messages.LARGEST_STUDY,
        ws_max_queue=16,
        timeout_graceful_shutdown=2,
    )
