"""Hostile clients, for `benchmarks/tables.py --hostile`: each does one kind of mischief for so long.

`python benchmarks/hostile.py 127.0.0.1:8477 20 60` lets 20 of them loose for a minute, each from an address
of its own (127.1.0.1, …), and prints what the server answered. Only loopback addresses are accepted.
"""

import asyncio
import base64
import collections
import json
import os
import random
import struct
import sys
import time
import zlib

import httpx
import websockets

DEAL = '[Deal "N:.63.AKQ987.A9732 A8654.KQ5.T.QJT6 J973.J98742.3.K4 KQT2.AT.J6542.85"]\n'
BOMB = DEAL + "".join(f'[{i:x}a"##"]\n' for i in range(1300)) + "\n" + '[Deal"#"]\n\n' * 1250
"""PBN of 28 KB; version 0.1.0 took the time of boards times tags to read it."""
PRESSED = zlib.compressobj(9, zlib.DEFLATED, -12)
SMALL = (PRESSED.compress(b"a" * 239_000) + PRESSED.flush(zlib.Z_SYNC_FLUSH))[:-4]
COMPRESSED = b"\xc1" + struct.pack(">BH", 0x80 | 126, len(SMALL)) + b"\0\0\0\0" + SMALL
"""A WebSocket's message of 258 bytes that says it is one of 239 KB, compressed."""
TINY = b"\x81\x81\0\0\0\0x"
"""The shortest message that says something."""
PAUSE = 0.02
ENDINGS = (OSError, EOFError, httpx.HTTPError, websockets.WebSocketException, TimeoutError)
"""How a server ends what it does not want."""


class Attacker:
    """One hostile client: an address, and what it has been told."""

    def __init__(self, number: int, server: str, ends: float):
        self.own, self.server, self.ends = f"127.1.0.{1 + number}", server, ends
        self.rng = random.Random(number)
        self.answers: collections.Counter = collections.Counter()

    async def run(self, kind) -> None:
        while time.monotonic() < self.ends:
            try:
                await asyncio.wait_for(kind(self), max(0.1, self.ends - time.monotonic()))
            except ENDINGS as error:
                self.answers[type(error).__name__] += 1
            await asyncio.sleep(PAUSE)

    def http(self) -> httpx.AsyncClient:
        transport = httpx.AsyncHTTPTransport(local_address=self.own, verify=False, trust_env=False)
        address = f"http://{self.server}"
        return httpx.AsyncClient(transport=transport, timeout=30, trust_env=False, base_url=address)

    def socket(self):
        address = f"ws://{self.server}/socket"
        return websockets.connect(address, origin=f"http://{self.server}", local_addr=(self.own, 0))

    async def raw_socket(self, more: bytes = b""):
        """A WebSocket for what no library sends."""
        host, _, port = self.server.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), local_addr=(self.own, 0))
        key = base64.b64encode(os.urandom(16))
        writer.write(
            b"GET /socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + b"\r\n" + more + b"\r\n"
        )
        status = (await reader.readuntil(b"\r\n")).split()[1].decode()
        self.answers[f"/socket {status}"] += 1
        return writer

    async def send_raw(self, data: bytes, times: int, more: bytes = b"") -> None:
        writer = await self.raw_socket(more)
        try:
            for _ in range(times):
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    async def post(self, http: httpx.AsyncClient, path: str, content) -> httpx.Response:
        answer = await http.post(path, json=content)
        self.answers[f"{path} {answer.status_code}"] += 1
        return answer

    async def open(self, game: str, agents: list[str], people: int = 1) -> dict:
        seats = [{"name": "x"}] * people + [{"agent": agent} for agent in agents]
        async with self.http() as http:
            answer = await self.post(http, "/api/tables", {"game": game, "seats": seats})
        return answer.json() if answer.status_code == 201 else {}

    # --- kinds of mischief ---

    async def half_requests(self) -> None:
        """Begin many requests and end none."""
        host, _, port = self.server.partition(":")
        held = []
        for number in range(100):
            try:
                _, writer = await asyncio.open_connection(host, int(port), local_addr=(self.own, 0))
                writer.write(b"POST /api/lines HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * (number % 9))
                held.append(writer)
            except OSError:
                self.answers["refused"] += 1
        await asyncio.sleep(5)
        for writer in held:
            writer.close()

    async def endless_body(self) -> None:
        """A length and pieces at once."""
        host, _, port = self.server.partition(":")
        _, writer = await asyncio.open_connection(host, int(port), local_addr=(self.own, 0))
        try:
            writer.write(
                b"POST /api/lines HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            for _ in range(400):
                writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                await writer.drain()
        finally:
            writer.close()

    async def bombs(self) -> None:
        """Texts that take long to read."""
        async with self.http() as http:
            await self.post(http, "/api/lines", {"text": BOMB})

    async def forged_addresses(self) -> None:
        """Pretend to be many clients."""
        async with self.http() as http:
            for _ in range(20):
                headers = {"x-forwarded-for": f"192.0.2.{self.rng.randrange(255)}"}
                answer = await http.get("/api/trees", headers=headers)
                self.answers[f"/api/trees {answer.status_code}"] += 1

    async def many_tables(self) -> None:
        """Open tables at which nobody plays."""
        await self.open("tichu", [], 4)

    async def own_tables(self) -> None:
        """Ask for one table a hundred times over."""
        token = (await self.open("tichu", [], 4)).get("watch", "x" * 43)
        async with self.http() as http:
            for _ in range(20):
                await self.post(http, "/api/tables/mine", {"tokens": [token] * 100})

    async def heavy_tables(self) -> None:
        """Tables of the slowest agents that may sit down."""
        made = [await self.open("briskola:seats=4", ["ismcts:50000,playouts=20"] * 4, 0) for _ in range(4)]
        await self.watch([each["watch"] for each in made if each])

    async def watch(self, tokens: list[str]) -> None:
        await asyncio.gather(*(self.listen({"type": "join", "token": token}) for token in tokens))

    async def listen(self, *messages) -> None:
        try:
            async with self.socket() as socket:
                for message in messages:
                    await socket.send(json.dumps(message))
                async for text in socket:
                    self.answers[json.loads(text)["type"]] += 1
        except ENDINGS as error:
            self.answers[type(error).__name__] += 1

    async def many_studies(self) -> None:
        """Studies that judge and think without end."""
        study = {"type": "study", "game": "briskola", "start": {"position": "7"}, "moves": ["12D", "6S"]}
        think = {"type": "consider", "ply": 0, "agent": "ismcts:50000,playouts=20"}
        judge = {"type": "judge", "on": True, "agent": "ismcts:50000,playouts=20"}
        await asyncio.gather(*(self.listen(study, think, judge) for _ in range(30)))

    async def claims(self) -> None:
        """Claim and claim again."""
        made = await self.open("bridge", ["random"] * 3)
        if not made:
            return
        async with self.socket() as socket:
            await socket.send(json.dumps({"type": "join", "token": made["seats"]["0"]}))
            for _ in range(200):
                await socket.send(json.dumps({"type": "claim", "tricks": self.rng.randrange(14)}))
                self.answers[json.loads(await socket.recv())["type"]] += 1
                await asyncio.sleep(0.06)

    async def noise(self) -> None:
        """Messages that mean nothing, as many as possible."""
        async with self.socket() as socket:
            for _ in range(500):
                await socket.send(self.rng.choice(("{", "[]", '{"type":"play"}', "x" * 5000, "\0")))

    async def pings(self) -> None:
        """Ping without reading the answers."""
        async with self.socket() as socket:
            for number in range(5000):
                await socket.ping(b"%0100d" % number)

    async def compressed(self) -> None:
        """Messages that become a thousand times as large."""
        offer = b"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=12\r\n"
        await self.send_raw(COMPRESSED * 100, 23, offer)

    async def tiny_frames(self) -> None:
        """As many messages as fit into what is read at a time."""
        await self.send_raw(TINY * 37_000, 1)

    async def endless_message(self) -> None:
        """One message, of empty pieces."""
        await self.send_raw(b"\x01\x80\0\0\0\0" + b"\x00\x80\0\0\0\0" * 40_000, 50)

    async def connect_loop(self) -> None:
        """Open WebSockets and close them again, ten at a time."""

        async def again_and_again():
            for _ in range(100):
                await self.heard(self.send_raw(b"", 0))

        await asyncio.gather(*(again_and_again() for _ in range(10)))

    async def many_voices(self) -> None:
        """As many messages as one connection may send, from 100 connections."""
        study = {"type": "study", "game": "bridge", "start": {"position": "7"}, "moves": []}

        async def speak():
            async with self.socket() as socket:
                await socket.send(json.dumps(study))
                for _ in range(200):
                    await socket.send('{"type": "look", "ply": 0}')
                    await asyncio.sleep(1 / 18)

        await asyncio.gather(*(self.heard(speak()) for _ in range(100)))

    async def heard(self, work) -> None:
        """Count how it ends, and go on."""
        try:
            await work
        except ENDINGS as error:
            self.answers[type(error).__name__] += 1

    async def many_watchers(self) -> None:
        """Watch 20 tables of agents in 200 windows."""
        made = [await self.open("bridge", ["random"] * 4, 0) for _ in range(20)]
        tokens = [each["watch"] for each in made if each]
        await self.watch(tokens * 10)

    async def deaf(self) -> None:
        """Ask for much and read nothing."""
        made = await self.open("tichu", ["random"] * 4, 0)
        if not made:
            return
        async with websockets.connect(
            f"ws://{self.server}/socket",
            origin=f"http://{self.server}",
            local_addr=(self.own, 0),
            max_queue=1,
        ) as socket:
            await socket.send(json.dumps({"type": "join", "token": made["watch"]}))
            for _ in range(200):
                await socket.send(json.dumps({"type": "ping"}))
                await asyncio.sleep(0.06)


KINDS = [
    Attacker.half_requests,
    Attacker.endless_body,
    Attacker.bombs,
    Attacker.forged_addresses,
    Attacker.many_tables,
    Attacker.own_tables,
    Attacker.heavy_tables,
    Attacker.many_studies,
    Attacker.claims,
    Attacker.noise,
    Attacker.pings,
    Attacker.compressed,
    Attacker.tiny_frames,
    Attacker.endless_message,
    Attacker.connect_loop,
    Attacker.many_voices,
    Attacker.many_watchers,
    Attacker.deaf,
]


async def attack(server: str, clients: int, seconds: float) -> dict:
    """Let them loose; what each kind was answered."""
    ends = time.monotonic() + seconds
    attackers = [(KINDS[number % len(KINDS)], Attacker(number, server, ends)) for number in range(clients)]
    async with asyncio.TaskGroup() as group:
        for kind, attacker in attackers:
            group.create_task(attacker.run(kind))
    found: dict = {}
    for kind, attacker in attackers:
        found.setdefault(kind.__name__, collections.Counter()).update(attacker.answers)
    return {kind: dict(answers.most_common(6)) for kind, answers in found.items()}


if __name__ == "__main__":
    address, number, time_ = sys.argv[1:4]
    if not address.startswith("127."):
        sys.exit("only a server on this machine may be attacked: give 127.0.0.1:PORT")
    print(json.dumps(asyncio.run(attack(address, int(number), float(time_)))))
