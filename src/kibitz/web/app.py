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
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from kibitz import games
from kibitz.errors import KibitzError
from kibitz.web import laboratory, messages
from kibitz.web.hosting import Connection, Host, refusal
from kibitz.web.limits import Bucket, Buckets, Limits, client_of, count_down
from kibitz.web.tables import Chair, NewTable, Tables
from kibitz.web.worker import Worker, WorkerLost

_log = logging.getLogger(__name__)
_HERE = Path(__file__).parent
_POLICY_VIOLATION, _TOO_BIG, _TRY_AGAIN = 1008, 1009, 1013
_UNREAD = (403, 411, 413, 415, 421, 429)
"""Answers that are given before the body of the request is read."""

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
_Result = TypeVar("_Result")


class _TooLarge(Exception):
    """A body has more bytes than its request said."""


class Guard:
    """What holds for every request: a host of ours, an origin of ours, no large body, not too often, strict
    headers.
    """

    def __init__(self, app: Any, hosts: frozenset[str], limits: Limits) -> None:
        self.app, self.hosts, self.limits = app, hosts, limits
        self._asked = Buckets(limits.requests_a_second, limits.burst)
        self._fetched = Buckets(limits.files_a_second, 4 * limits.burst)
        self._opened = Buckets(limits.sockets_a_second, 4 * limits.burst)
        self._open: Counter[str] = Counter()
        """WebSockets, by client; `server.Gate` sees all those behind a proxy as the proxy's."""

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
                # Of a body that was not wanted the rest is not waited for.
                ours += [(b"connection", b"close")] * (message["status"] in _UNREAD)
                message = {**message, "headers": [*given, *ours]}
            await send(message)

        left = self.limits.body_bytes

        async def receive_counted() -> MutableMapping[str, Any]:
            nonlocal left
            message = await receive()
            if message["type"] == "http.request":
                left -= len(message.get("body", b""))
                if left < 0:
                    raise _TooLarge
            return message

        trouble = self._trouble(scope, headers)
        if trouble is None and scope["type"] == "websocket":
            client = _client(scope)
            self._open[client] += 1
            try:
                await self.app(scope, receive, send)
            finally:
                count_down(self._open, client)
        elif trouble is None:
            await self.app(scope, receive_counted, send_strictly)
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
        if origin is not None and _netloc(origin) != host:
            return 403, "another site may not ask"
        if not self._may_ask(scope):
            return 429, "too many requests; wait a moment"
        most = self.limits.connections_a_client
        if scope["type"] == "websocket" and self._open[_client(scope)] >= most:
            return 429, f"{most} connections are open already, which is the most for one client"
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            length = headers.get("content-length", "")
            if "transfer-encoding" in headers or not re.fullmatch("[0-9]{1,9}", length):
                return 411, "say how long the request is"  # pieces without end would fill the memory
            if int(length) > self.limits.body_bytes:
                return 413, f"a request may have {self.limits.body_bytes} bytes"
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return 415, "send JSON"
        return None

    def _may_ask(self, scope: _Scope) -> bool:
        """Whether the client has not asked too often; pages and scripts are many, but cost little."""
        if scope["type"] == "websocket":
            return self._opened.take(_client(scope))
        buckets = self._asked if scope["path"].startswith("/api/") else self._fetched
        return buckets.take(_client(scope))

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


def create_app(
    folder: Path,
    limits: Limits | None = None,
    hosts: tuple[str, ...] = (),
    store: Path | None = None,
    worker: Callable[[Limits], Worker] | None = None,
) -> FastAPI:
    """The application over the tables of a folder; `hosts` are further names under which it is served.

    The laboratory shows the experiments of `store`, if one is given. `worker` makes what searches and parsers
    run in (default: threads of this process).
    """
    limits = limits or Limits()
    said = Buckets(limits.messages_a_client, 4 * limits.burst)
    tables = Tables(folder, limits.tables)
    for name, reason in tables.unreadable.items():
        _log.warning("%s is not a table: %s", name, reason)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.host = Host(tables, limits, worker(limits) if worker else None)
        keeping = asyncio.create_task(app.state.host.keep_house())
        yield
        keeping.cancel()
        app.state.host.close()
        await app.state.host.thinker.worker.ended()

    # The pages that FastAPI makes of itself load scripts from elsewhere.
    app = FastAPI(title="Kibitz", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.add_middleware(Guard, hosts=frozenset({"localhost", *hosts}), limits=limits)

    @app.exception_handler(KibitzError)
    async def refuse(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, KibitzError)
        return JSONResponse(refusal(error).model_dump(exclude={"type"}), 422)

    @app.exception_handler(WorkerLost)
    async def apologize(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"code": "WorkerLost", "message": str(error)}, 503)

    @app.exception_handler(ClientDisconnect)
    async def forget(_: Request, __: Exception) -> Response:
        return Response(status_code=400)  # nobody reads it, and it is not worth a line in the log

    @app.exception_handler(_TooLarge)
    async def refuse_body(_: Request, __: Exception) -> JSONResponse:
        return JSONResponse({"code": "Refused", "message": "the request is longer than it said"}, 413)

    async def aside(
        request: Request, work: Callable[..., _Result], *given: Any, seconds: float | None = None
    ) -> _Result:
        """What `work` returns, when it is the client's turn."""
        thinker, client = app.state.host.thinker, _client(request.scope)
        return await _while_there(request, thinker.aside(client, work, *given, seconds=seconds))

    async def evaluated(request: Request, work: Callable[..., _Result], *given: Any) -> _Result:
        """What the laboratory shows of the store."""
        thinker, client = app.state.host.thinker, _client(request.scope)
        return await _while_there(request, thinker.evaluate(client, work, store, *given))

    @app.get("/api/games")
    async def list_games() -> list[dict[str, Any]]:
        return await asyncio.to_thread(_games)

    @app.get("/api/protocol")
    def protocol() -> FileResponse:
        return FileResponse(_HERE / "protocol.json", media_type="application/schema+json")

    @app.post("/api/tables")
    async def make_table(request: Request) -> Response:
        client = _client(request.scope)
        wanted = await _body(request, messages.TableWanted)
        chairs = [Chair(_plain_name(seat.name), seat.agent) for seat in wanted.seats]
        seed = None if wanted.seed is None else int(wanted.seed)
        start = None if wanted.start is None else messages.start_of(wanted.start)
        given = (client, wanted.game, chairs, seed, start, wanted.moves, wanted.undo)
        new: NewTable = await _while_there(request, app.state.host.open_table(*given))
        seats = {str(seat): token for seat, token in new.seats.items()}
        return _json(messages.TableMade(table=new.table.name, seats=seats, watch=new.watch), 201)

    @app.post("/api/lines")
    async def find_lines(request: Request) -> Response:
        pasted = await _body(request, messages.TextPasted)
        return _json(await aside(request, messages.lines_in, pasted.text))

    @app.post("/api/tables/mine")
    async def own_tables(request: Request) -> list[dict[str, Any]]:
        kept = await _body(request, messages.TokensKept)
        listing = app.state.host.tables_of(_client(request.scope), kept.tokens)
        shown: list[messages.TableShown] = await _while_there(request, listing)
        return [each.model_dump() for each in shown]

    @app.get("/api/experiments")
    async def list_experiments(request: Request) -> Any:
        return await evaluated(request, laboratory.experiments)

    @app.get("/api/experiments/{name}")
    async def show_experiment(name: str, request: Request) -> Any:
        return await evaluated(request, laboratory.experiment, name)

    @app.get("/api/experiments/{name}/{number}.svg")
    async def show_figure(name: str, number: int, request: Request) -> Response:
        return _svg(await evaluated(request, laboratory.figure, name, number))

    @app.get("/api/trees")
    async def list_trees(request: Request) -> Any:
        return await aside(request, laboratory.examples)

    @app.get("/api/trees/{name}/{algorithm}")
    async def show_tree(name: str, algorithm: str, request: Request) -> Any:
        return await aside(request, laboratory.steps, name, algorithm)

    @app.get("/api/trees/{name}/{algorithm}/{step}.svg")
    async def show_step(name: str, algorithm: str, step: int, request: Request) -> Response:
        return _svg(await aside(request, laboratory.picture, name, algorithm, step))

    @app.websocket("/socket")
    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        connection = Connection(limits, _client(websocket.scope))
        inbox = _Inbox()
        tasks = [
            asyncio.create_task(_write(websocket, connection, limits)),
            asyncio.create_task(_read(websocket, connection, inbox, said, limits)),
            asyncio.create_task(_do(connection, inbox, app.state.host, limits)),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await _finish(connection, inbox, app.state.host)
            code, reason = done.pop().result()
            if code:
                await asyncio.wait_for(websocket.close(code, reason), limits.send_seconds)
        except (TimeoutError, WebSocketDisconnect):
            pass  # it does not read, or is gone
        finally:
            connection.leave()
            for task in tasks:
                task.cancel()

    @app.get("/")
    @app.get(_VIEWER)
    def page() -> FileResponse:
        return FileResponse(_HERE / "static" / "index.html")

    app.mount("/static", StaticFiles(directory=_HERE / "static"), name="static")
    return app


class _Inbox:
    """Messages that wait until those before them are done."""

    def __init__(self) -> None:
        self._texts: asyncio.Queue[str] = asyncio.Queue()
        self.characters = 0

    def put(self, text: str) -> None:
        self._texts.put_nowait(text)
        self.characters += len(text)

    async def take(self) -> str:
        """The first message, as soon as there is one."""
        text = await self._texts.get()
        self.characters -= len(text)
        return text

    def __bool__(self) -> bool:
        return not self._texts.empty()


async def _read(
    websocket: WebSocket, connection: Connection, inbox: _Inbox, said: Buckets, limits: Limits
) -> tuple[int, str]:
    """Take messages until the connection ends, or until it does what nobody does who means well.

    The code and the reason with which to close it; 0, if the other side has. It goes on while messages are
    worked on, or the end would be noticed only after the work that nobody wants any more.
    """
    bucket = Bucket(limits.messages_a_second, limits.burst)
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return 0, ""
        text = message.get("text") or ""  # bytes are no message of the protocol
        if not bucket.take() or inbox.characters + len(text) > limits.unread_characters:
            return _POLICY_VIOLATION, "too many messages"
        if len(text) > connection.largest:
            return _TOO_BIG, "too long a message"
        if seconds := said.wait(connection.client):
            await asyncio.sleep(seconds)
        inbox.put(text)


async def _do(connection: Connection, inbox: _Inbox, host: Host, limits: Limits) -> tuple[int, str]:
    """Do what messages ask for, one after the other, until nothing is asked for any more."""
    clock = asyncio.get_running_loop().time
    begins_by, has_begun = clock() + limits.first_message_seconds, False
    while True:
        has_begun = has_begun or connection.has_begun
        try:
            async with asyncio.timeout_at(clock() + limits.idle_seconds if has_begun else begins_by):
                text = await inbox.take()
        except TimeoutError:
            return _TRY_AGAIN, "nothing was asked for"
        await host.receive(connection, text)


async def _finish(connection: Connection, inbox: _Inbox, host: Host) -> None:
    """The connection has ended: moves that it has sent still count; what takes time is wanted no more."""
    while inbox and connection.sits:
        with suppress(TimeoutError):
            async with asyncio.timeout(0):  # a move is made at once
                await host.receive(connection, await inbox.take())
        await asyncio.sleep(0)


async def _write(websocket: WebSocket, connection: Connection, limits: Limits) -> tuple[int, str]:
    """Send what the outbox holds; a connection that is too slow is ended and may come back."""
    while True:
        await connection.ready.wait()
        connection.ready.clear()
        while connection.outbox and not connection.is_dropped:
            try:
                async with asyncio.timeout(limits.send_seconds):
                    await websocket.send_text(connection.take())
            except TimeoutError:
                connection.is_dropped = True
            await asyncio.sleep(0)  # it is the others' turn
        if connection.is_dropped:
            return _TRY_AGAIN, "too slow"


async def _while_there(request: Request, work: Awaitable[_Result]) -> _Result:
    """What comes of the work, which ends if the client goes: nobody wants it any more."""
    working, leaving = asyncio.ensure_future(work), asyncio.create_task(_gone(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _gone(request: Request) -> None:
    """Wait until the client goes. (One that goes on sending is as good as gone.)"""
    with suppress(_TooLarge):
        while (await request.receive())["type"] != "http.disconnect":
            pass


async def _body(request: Request, model: type[_Model]) -> _Model:
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        raise messages.BadMessage(messages.trouble(error)) from None


def _json(model: BaseModel, status: int = 200) -> Response:
    return Response(model.model_dump_json(), status, media_type="application/json")


def _svg(text: str) -> Response:
    return Response(text, media_type="image/svg+xml")


def _client(scope: MutableMapping[str, Any]) -> str:
    return client_of(scope["client"][0] if scope.get("client") else "")


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


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
        found.append({"name": name, "about": games.about(cls), "options": options, "levels": _levels(cls)})
    return found


def _levels(cls: Any) -> list[dict[str, str]]:
    has_thumb = "sensible_move" not in cls.defaulted
    levels = [("beginner", "random")]
    levels += [("casual", "rule-based")] if has_thumb else []
    levels += [("good", "ismcts:300"), ("strong", "ismcts:3000")]
    levels += [("strongest", "expert" if cls.expert else "ismcts:20000")]
    return [{"name": name, "agent": agent} for name, agent in levels]
