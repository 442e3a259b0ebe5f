"""What leaves the server, byte by byte: the hidden-information audit, bad traffic, many tables at once."""

import asyncio
import contextlib
import json
import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip(
    "fastapi", reason="THE TABLE IN THE BROWSER IS NOT TESTED: pip install 'kibitz[web]' httpx"
)

from kibitz import games
from kibitz.errors import KibitzError
from kibitz.web import messages
from kibitz.web.hosting import Connection, Host, Limits
from kibitz.web.tables import WATCHER, NewTable, Table, Tables
from tests.test_web_tables import GAMES, everything, people, played_on, redealt

LIMITS = Limits(window_seconds=0.0, pace_seconds=0.0, unsent=10**9, advice_seconds=0.1, review_seconds=0.01)
SCHEMA = json.loads(Path(messages.__file__).with_name("protocol.json").read_text())


@contextlib.asynccontextmanager
async def hosting(folder):
    host = Host(Tables(folder), LIMITS)
    try:
        yield host
    finally:
        host.close()


class Client:
    """A connection without a network: what it is sent stands in `raw`, in order."""

    def __init__(self, host, token):
        self.host, self.connection, self.raw = host, Connection(LIMITS), []
        self.token = token

    async def join(self):
        await self.say({"type": "join", "token": self.token})
        return self

    async def say(self, message):
        await self.host.receive(self.connection, message if isinstance(message, str) else json.dumps(message))
        return self.hear()

    def hear(self):
        """All that was sent since."""
        texts = list(self.connection.outbox)
        self.connection.outbox.clear()
        self.raw += texts
        return [json.loads(text) for text in texts]


# --- what is hidden ---


def truths(game, seed, seat, most):
    """Moves of two games that a seat cannot tell apart, as long as it cannot; and the second deal."""
    chooser = random.Random(seed)
    pair = [Table("", game, seed, people(game)) for _ in range(2)]
    twin = redealt(pair[0].state, seat, chooser)
    if twin is None:
        return None
    pair[1].state.array[:] = twin.array
    moves = [[], []]
    while len(moves[0]) < most and not pair[0].is_over and not pair[1].is_over:
        kept = [list(table.moves) for table in pair]
        if not played_on(*pair, seat, chooser) or pair[0].seen_by(seat).key() != pair[1].seen_by(seat).key():
            break
        if pair[0].is_over or pair[1].is_over:  # then everything lies open
            break
        moves = kept
    return twin, moves


async def traffic(folder, game, seed, twin, moves, seat):
    """All that a server sends to a seat and to a watcher while others make moves."""
    chairs = people(game)
    fresh = Table("0123456789abcdef", game, seed, chairs)
    if twin is not None:
        fresh.state.array[:] = twin.array
    async with hosting(folder) as host:
        made = host.tables.create(game, chairs, seed)
        host.tables.table = lambda name: fresh
        assert isinstance(made, NewTable)
        clients = {s: await Client(host, token).join() for s, token in made.seats.items()}
        clients[WATCHER] = await Client(host, made.watch).join()
        await clients[seat].say({"type": "advise", "on": True, "agent": "random"})
        for number, move in enumerate(moves):
            if fresh.window is not None and int(fresh.state.mover) in fresh.window.asked:
                await until(lambda: fresh.window is None)  # nobody answers, so they decline
                if len(fresh.moves) > number:
                    continue
            mover = int(fresh.state.mover)
            if number < len(fresh.moves):
                continue
            said = {"type": "play", "number": len(fresh.events(mover)), "move": str(move)}
            answers = await clients[mover].say(said)
            assert not [a for a in answers if a["type"] == "refused"], (move, answers)
            for other in clients.values():
                await other.say(
                    {"type": "play", "number": 10**6, "text": "x"}
                )  # refused alike, whoever holds what
            await until(lambda: fresh.window is None)
        await asyncio.sleep(0)
        for client in clients.values():
            client.hear()
        for client in clients.values():
            client.connection.leave()
        names = re.compile(r'"(table|seconds)":("[0-9a-f]*"|[0-9.]+)')
        return [[names.sub("", text) for text in clients[o].raw] for o in (seat, WATCHER)]


async def until(is_so):
    for _ in range(100_000):
        if is_so():
            return
        await asyncio.sleep(0)
    raise AssertionError("it does not come")


def audit(folder, game, deals, most):
    """Compare the traffic of pairs of games; how many messages were compared."""
    compared = 0
    for number in range(deals):
        seed, seat = 100 + number, number % games.load(game).seats
        found = truths(game, seed, seat, most)
        if found is None or not found[1][0]:
            continue
        twin, moves = found
        sent = [
            asyncio.run(traffic(folder / f"{number}-{i}", game, seed, (None, twin)[i], moves[i], seat))
            for i in range(2)
        ]
        assert sent[0] == sent[1], f"seat {seat} of {game}, deal {seed}: the traffic depends on hidden cards"
        compared += len(sent[0][0])
    return compared


@pytest.mark.parametrize("game", GAMES)
def test_no_byte_that_is_sent_depends_on_what_a_seat_cannot_see(game, tmp_path):
    assert audit(tmp_path, game, 4, 60) >= 20


def test_the_audit_finds_a_leak(tmp_path, monkeypatch):
    """What cannot fail proves nothing: here a position tells how many high cards another seat holds."""
    honest = Table.position

    def telling(table, observer):
        high = int(sum(card % 10 == 9 for card in table.state.record.hands[0]))
        return {**honest(table, observer), "picture": str(high)}

    monkeypatch.setattr(Table, "position", telling)
    with pytest.raises(AssertionError, match="the traffic depends on hidden cards"):
        audit(tmp_path, "briskola", 40, 10)


@pytest.mark.soak
@pytest.mark.parametrize("game", GAMES)
def test_no_byte_that_is_sent_depends_on_what_a_seat_cannot_see_at_length(game, tmp_path):
    assert audit(tmp_path, game, 60, 10**6) >= 400


# --- bad traffic ---

KINDS = sorted(SCHEMA["properties"]["incoming"]["discriminator"]["mapping"])
FIELDS = sorted(
    {
        name
        for kind in SCHEMA["properties"]["incoming"]["discriminator"]["mapping"].values()
        for name in SCHEMA["$defs"][kind.rpartition("/")[2]]["properties"]
    }
    - {"type"}
)
JUNK = [
    None,
    True,
    False,
    -1,
    0,
    1,
    3.5,
    10**30,
    [],
    {},
    [[1]],
    {"a": 1},
    {"seed": "1"},
    {"position": "/etc/passwd"},
]
JUNK += ["", "x" * 3000, "\x00", "-7", "1D", "pass", "cheating", "ismcts:99999999999", "../../x", "briskola"]
BAD_TEXTS = [
    "",
    "{",
    "null",
    "[]",
    "7",
    '"x"',
    "{}",
    '{"type": 3}',
    "NaN",
    "[" * 3000,
    "\ud800",
    "{}{}",
    "ÿ" * 4000,
]


def bad_message(chooser, number, tokens, replayed):
    """A message as nobody means well sends it: wrong, out of turn, with others' tokens, or sent before."""
    roll = chooser.random()
    if roll < 0.1:
        return chooser.choice(BAD_TEXTS)
    if roll < 0.2 and replayed:
        return chooser.choice(replayed)
    if roll < 0.4:
        play = {"type": "play", "number": number + chooser.choice((-1, 0, 0, 1))}
        return json.dumps({**play, chooser.choice(("move", "text")): str(chooser.choice(JUNK))[:100]})
    message = {"type": chooser.choice([*KINDS, "die", chooser.choice(JUNK)])}
    for name in (*FIELDS, "seats", "__proto__"):
        if chooser.random() < 0.3:
            message[name] = chooser.choice(tokens if name == "token" and chooser.random() < 0.7 else JUNK)
    return json.dumps(message)


async def bombard(folder, n, seed):
    """Bad messages to tables of every game while their people play on; nobody else is sent anything by them.

    After every one of them the table is what it was, and in the end what its record says.
    """
    chooser = random.Random(seed)
    sent = refused = 0
    async with hosting(folder) as host:
        while sent < n:
            game = chooser.choice(GAMES)
            made = host.tables.create(game, people(game), seed)
            clients = [await Client(host, token).join() for token in made.seats.values()]
            watcher = await Client(host, made.watch).join()
            stranger = Client(host, "")
            table = host._sessions[made.table.name].table
            tokens = [*made.seats.values(), made.watch, "A" * 43]
            replayed = []
            while not table.is_over and sent < n:
                moves, events = list(table.moves), [table.events(s) for s in range(table.rules.seats)]
                for client in (*clients, watcher):
                    client.hear()
                for _ in range(25):
                    bad = chooser.choice([*clients, watcher, stranger])
                    own = [] if bad is stranger else tokens
                    text = bad_message(chooser, len(events[0]), own or ["B" * 43], replayed)
                    if may_be_good(text, table):
                        continue
                    answers = await bad.say(text)
                    sent += 1
                    refused += any(answer["type"] == "refused" for answer in answers)
                    others = [c for c in (*clients, watcher) if c is not bad]
                    assert not any(c.connection.outbox for c in others), text
                    assert table.moves == moves, text
                assert [table.events(s) for s in range(table.rules.seats)] == events
                if table.window is not None:
                    await until(lambda table=table: table.window is None)
                    continue
                mover = table.state.mover
                text = table.rules.move_text(chooser.choice(table.state.legal_moves()))
                good = {"type": "play", "number": len(table.events(mover)), "text": text}
                answers = await clients[mover].say(good)
                assert "refused" not in [answer["type"] for answer in answers], answers
                replayed.append(json.dumps(good))
            for client in (*clients, watcher, stranger):
                client.connection.leave()
            again = host.tables.table(table.name, to_look=True)
            if table.window is None:
                assert everything(again) == everything(table)
    assert refused > 0.8 * sent
    return sent


def may_be_good(text, table):
    """Whether a message happens to ask for something that can be done."""
    with contextlib.suppress(ValueError, RecursionError):
        message = json.loads(text)
        if isinstance(message, dict) and message.get("type") == "play":
            legal = table.state.legal_moves() if not table.is_over else []
            with contextlib.suppress(KibitzError):
                return table.rules.parse_move(str(message.get("text"))) in legal
            return str(message.get("move")) in map(str, legal)
        return isinstance(message, dict) and message.get("type") in ("advise", "claim")
    return False


def test_bad_messages_change_nothing_and_disturb_nobody(tmp_path):
    assert asyncio.run(bombard(tmp_path, 2_000, 1)) >= 2_000


@pytest.mark.soak
def test_a_hundred_thousand_bad_messages_change_nothing(tmp_path):
    assert asyncio.run(bombard(tmp_path, 100_000, 2)) >= 100_000


# --- many tables ---


@pytest.mark.soak
def test_two_hundred_tables_at_once():
    """What is measured is stored in `benchmarks/tables.json`."""
    benchmarks = Path(__file__).parents[1] / "benchmarks"
    sys.path.insert(0, str(benchmarks))
    try:
        from tables import measure
    finally:
        sys.path.remove(str(benchmarks))
    found = measure(200, 10)
    (benchmarks / "tables.json").write_text(json.dumps(found, indent=1) + "\n")
    assert found["lost_messages"] == 0
    assert found["reply_ms"]["median"] < 50
    assert found["reply_ms"]["p99"] < 500
    assert found["memory_mb"]["last"] < 1.1 * found["memory_mb"]["settled"] + 10
    assert np.isfinite(found["reply_ms"]["most"])
