"""Many tables at once: how soon the server answers, whether it loses anything, what memory it takes.

`python benchmarks/tables.py --tables 200 --minutes 10 --out benchmarks/tables.json` starts `kibitz serve` in
a process of its own and lets as many clients play random moves against cheap agents, each at its own table.
A finished table is followed by a new one. A reply is counted from the moment at which a move is sent to the
one at which the client is told of it; a client thinks for a random time up to a second before it moves.
`--hostile 20` lets as many clients that mean harm (`benchmarks/hostile.py`) loose on the server beside them.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import websockets

GAMES = {
    "briskola": 2,
    "briskola:seats=3": 3,
    "briskola:seats=4": 4,
    "diminishing-bridge:seats=3,cards=5": 3,
    "mini-tichu": 4,
    "tichu": 4,
    "bridge": 4,
}
AGENTS = {"bridge": "random"}  # Bridge has no rules of thumb
_WARM_SECONDS = 300


class Server:
    """`kibitz serve` in a process of its own."""

    def __init__(self, folder: Path):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        command = [sys.executable, "-m", "kibitz", "serve", "--port", str(port), "--folder", str(folder)]
        self.log = folder.parent / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stderr=log, env=os.environ)
        for _ in range(600):
            try:
                httpx.get(f"http://{self.address}/")
                return
            except httpx.ConnectError:
                time.sleep(0.1)
        raise RuntimeError("the server does not start")

    def megabytes(self) -> float:
        """Of the server and of its worker process."""
        return sum(
            int((process / "status").read_text().split("VmRSS:")[1].split()[0]) / 1024
            for process in self._processes()
        )

    def seconds(self) -> float:
        """Of the processor, so far; those of a worker that was replaced are in `cutime` and `cstime`."""
        used = 0
        for process in self._processes():
            used += sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:15]))
        return used / os.sysconf("SC_CLK_TCK")

    def _processes(self) -> list[Path]:
        number = self.process.pid
        children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
        return [Path(f"/proc/{each}") for each in (number, *children)]

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Load:
    """All clients, and what they have seen."""

    def __init__(self, server: Server, tables: int, think: float, hostile: int):
        self.server, self.tables, self.think, self.hostile = server, tables, think, hostile
        self.replies: list[float] = []
        self.memory: list[tuple[float, float]] = []
        self.lost, self.refused, self.games, self.events = 0, 0, 0, 0
        self.playing = 0
        self.finished: set[str] = set()
        self.ends = self.hostile_seconds = 0.0

    async def run(self, seconds: float) -> None:
        opening = asyncio.Semaphore(4)
        clients = [asyncio.create_task(self.client(i, opening)) for i in range(self.tables)]
        while self.playing < self.tables:  # all of them are there before the time counts
            await asyncio.sleep(0.2)
            for client in clients:
                if client.done():
                    client.result()
        warming = time.perf_counter()  # the first agents of a game load its compiled code
        while len(self.finished) < len(GAMES) and time.perf_counter() - warming < _WARM_SECONDS:
            await asyncio.sleep(0.2)
        self.games = self.events = self.refused = 0
        self.attack = None
        if self.hostile:
            words = [self.server.address, str(self.hostile), str(seconds)]
            hostile = [sys.executable, str(Path(__file__).with_name("hostile.py")), *words]
            self.attack = subprocess.Popen(hostile, stdout=subprocess.PIPE, text=True)
        spent = self.server.seconds()
        self.began, self.ends = time.perf_counter(), time.perf_counter() + seconds
        self.replies.clear()
        while time.perf_counter() < self.ends:
            self.memory.append((time.perf_counter() - self.began, self.server.megabytes()))
            await asyncio.sleep(5)
        self.spent = self.server.seconds() - spent
        await asyncio.gather(*clients)

    async def client(self, number: int, opening: asyncio.Semaphore) -> None:
        """One who plays game after game until the time is over."""
        chooser = random.Random(number)
        own = f"127.0.{1 + number // 250}.{1 + number % 250}"  # limits are those of one client
        is_first = True
        while not self.ends or time.perf_counter() < self.ends:
            game = list(GAMES)[number % len(GAMES)]
            number += 1
            agent = AGENTS.get(game.partition(":")[0], chooser.choice(("random", "rule-based")))
            seats = [{"name": "client"}] + [{"agent": agent}] * (GAMES[game] - 1)
            async with opening:
                token = await self.open(own, game, seats)
            async with websockets.connect(
                f"ws://{self.server.address}/socket",
                origin=f"http://{self.server.address}",
                local_addr=(own, 0),
            ) as connection:
                self.playing += is_first
                is_first = False
                if await self.play(connection, token, chooser):
                    self.finished.add(game)
                    self.games += 1

    async def open(self, own: str, game: str, seats: list) -> str:
        transport = httpx.AsyncHTTPTransport(local_address=own, verify=False, trust_env=False)
        async with httpx.AsyncClient(transport=transport, timeout=60, trust_env=False) as http:
            wanted = {"game": game, "seats": seats}
            answer = await http.post(f"http://{self.server.address}/api/tables", json=wanted)
            return answer.json()["seats"]["0"]

    async def play(self, connection, token: str, chooser: random.Random) -> bool:
        """Play one game; whether it came to its end."""
        await connection.send(json.dumps({"type": "join", "token": token}))
        number, sent = 0, None
        while True:
            message = json.loads(await asyncio.wait_for(connection.recv(), 120))
            if message["type"] == "refused":
                self.refused += 1  # a window has opened or closed in the meantime
                sent = None
            if message["type"] != "update":
                continue
            for event in message["events"]:
                number += 1
                self.lost += event["number"] != number
                number = event["number"]
                self.events += 1
            if sent is not None:
                self.replies.append(time.perf_counter() - sent)
                sent = None
            position = message["position"]
            self.lost += position["number"] != number
            if position["over"] or (self.ends and time.perf_counter() > self.ends):
                return bool(position["over"])
            if position["moves"]:
                await asyncio.sleep(chooser.uniform(0, self.think))
                move = chooser.choice(position["moves"])["move"]
                sent = time.perf_counter()
                await connection.send(json.dumps({"type": "play", "number": number, "move": move}))


def measure(tables: int, minutes: float, think: float = 1.0, hostile: int = 0) -> dict:
    """Run the load; what came of it, as plain data."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "tables")
        try:
            load = Load(server, tables, think, hostile)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            asyncio.run(load.run(60 * minutes))
            attacked = json.loads(load.attack.communicate(timeout=120)[0]) if load.attack else {}
            children = resource.getrusage(resource.RUSAGE_CHILDREN)  # the server is not waited for yet
            load.hostile_seconds = children.ru_utime + children.ru_stime
        finally:
            server.stop()
        log_bytes = server.log.stat().st_size
    replies = 1000 * np.array(load.replies)
    # Memory in the second minute against the last one: at first every game's code is loaded.
    settled = [m for at, m in load.memory if at >= 30 * minutes / 2.5] or [load.memory[0][1]]
    half = max(1, len(settled) // 2)
    return {
        "tables": tables,
        "minutes": minutes,
        "think_seconds": f"0 to {think:g}",
        "moves": len(replies),
        "events": load.events,
        "games_finished": load.games,
        "reply_ms": {
            "median": round(float(np.median(replies)), 1),
            "p99": round(float(np.quantile(replies, 0.99)), 1),
            "most": round(float(replies.max()), 1),
        },
        "lost_messages": load.lost,
        "refused": load.refused,
        "memory_mb": {
            "first": round(load.memory[0][1], 1),
            "settled": round(float(np.mean(settled[:half])), 1),
            "last": round(float(np.mean(settled[half:] or settled)), 1),
            "most": round(max(m for _, m in load.memory), 1),
        },
        "log_bytes": log_bytes,
        "hostile": {"clients": hostile, "answers": attacked} if hostile else None,
        "server_seconds": round(load.spent, 1),
        "client_seconds": round(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before, 1),
        "hostile_seconds": round(load.hostile_seconds, 1),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[1],
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--hostile", type=int, default=0, help="clients that mean harm")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = measure(given.tables, given.minutes, hostile=given.hostile)
    print(json.dumps(found, indent=1))
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n")
