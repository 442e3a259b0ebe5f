"""What leaves the server, byte by byte: the hidden-information audit, bad traffic, many tables at once."""

import asyncio
import contextlib
import json
import random
import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

pytest.importorskip(
    "fastapi", reason="THE TABLE IN THE BROWSER IS NOT TESTED: pip install 'kibitz[web]' httpx"
)

from kibitz import games
from kibitz.errors import KibitzError
from kibitz.games.bridge.rules import Bridge
from kibitz.web import messages
from kibitz.web.hosting import Connection, Host
from kibitz.web.limits import Limits
from kibitz.web.tables import WATCHER, Chair, NewTable, Start, Table, Tables, Wish
from kibitz.web.thinking import Player, next_choice
from tests.positions import random_state
from tests.test_web_tables import GAMES, everything, people, played_on, redealt

LIMITS = Limits(window_seconds=0.0, pace_seconds=0.0, unsent=10**9, advice_seconds=0.1, review_seconds=0.01)
SCHEMA = json.loads(Path(messages.__file__).with_name("protocol.json").read_text())


READ_TABLE = "kibitz.web.hosting.read_table"


@contextlib.asynccontextmanager
async def hosting(folder, table=None):
    """A host; if a table is given, it is the one that is read, whichever is asked for."""
    host = Host(Tables(folder), LIMITS)
    try:
        with mock.patch(READ_TABLE, return_value=table) if table else contextlib.nullcontext():
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
    async with hosting(folder, fresh) as host:
        made = host.tables.create(game, chairs, seed)
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


async def until(is_so, pause=0.0):
    for _ in range(100_000 if pause == 0 else int(20 / pause)):
        if is_so():
            return
        await asyncio.sleep(pause)
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


# --- claims ---

SOLID = "N:432.432.432.5432 765.765.765.9876 AKQ.AKQ.AKQ.AKQJ JT98.JT98.JT98.T"
"""South takes all tricks, whoever holds the other cards."""


@contextlib.asynccontextmanager
async def bridge_table(folder, people_at, hands=None, start=None):
    """A table of Bridge with people at some seats, and a watcher; at the others agents, which do not move."""
    chairs = [Chair("", "" if seat in people_at else "random") for seat in range(4)]
    async with hosting(folder) as host:
        made = host.tables.create("bridge", chairs, 1, start)
        table = made.table
        if hands is not None:
            table.state.record.hands[:] = hands
        table.tasks = list
        with mock.patch(READ_TABLE, return_value=table):
            clients = {seat: await Client(host, token).join() for seat, token in made.seats.items()}
            clients[WATCHER] = await Client(host, made.watch).join()
        yield host, table, clients
        for client in clients.values():
            client.connection.leave()


def begun(seed, plies):
    """A deal after so many random moves."""
    chooser, table = random.Random(seed), Table("", "bridge", seed, people("bridge"))
    for _ in range(plies):
        table.play(table.state.mover, chooser.choice(table.state.legal_moves()))
    return table


def twin_hands(state, seat, also, seed):
    """The first hands of another deal that a seat cannot tell from this one, nor one that sees its hand."""
    view = state.view(seat)
    view.record.hands[also] = state.record.hands[also]
    world = view.world(seed).record
    return [int(hand) | int(gone) for hand, gone in zip(world.hands, world.gone, strict=True)]


def first_hands(state):
    return [int(hand) | int(gone) for hand, gone in zip(state.record.hands, state.record.gone, strict=True)]


async def is_accepted(folder, hands, moves, seat, tricks):
    """Whether the agents accept a claim after these moves; partner is a person, who agrees."""
    async with bridge_table(folder, (seat, (seat + 2) % 4), hands) as (_, table, clients):
        for move in moves:
            table.play(table.state.mover, move)
        await clients[seat].say({"type": "claim", "tricks": tricks})
        await clients[(seat + 2) % 4].say({"type": "answer", "agree": True})
        await until(lambda: table.wish is None, 0.001)
        return table.is_over


def largest_accepted(folder, hands, moves, seat, left):
    """The largest claim that agents accept: each is tried at a table of its own."""
    low, high = 0, left
    while low < high:
        middle = (low + high + 1) // 2
        good = asyncio.run(is_accepted(folder / str(middle), hands, moves, seat, middle))
        low, high = (middle, high) if good else (low, middle - 1)
    return low


def told_apart(folder, pairs, plies):
    """Of so many pairs of deals that declarer cannot tell apart, those that the defenders' answers do."""
    found = []
    for seed in range(pairs):
        table = begun(seed, plies)
        twin = twin_hands(table.state, 2, 2, seed)
        left = int(table.state.record.left)
        largest = [
            largest_accepted(folder / f"{seed}-{i}", hands, table.moves, 2, left)
            for i, hands in enumerate((first_hands(table.state), twin))
        ]
        if largest[0] != largest[1]:
            found.append((seed, *largest))
    return found


def test_the_largest_claim_that_agents_accept_tells_no_hidden_card(tmp_path):
    """Claims told hidden cards: agents answered them by their own hands."""
    assert told_apart(tmp_path, 12, 9) == []


@pytest.mark.soak
def test_the_largest_claim_that_agents_accept_tells_no_hidden_card_after_the_lead(tmp_path):
    assert told_apart(tmp_path, 12, 1) == []


async def traffic_of_claims(folder, hands, moves, claimer, other, first):
    """All that is sent to who claims in every trick, to another person, who refuses, and to a watcher."""
    async with bridge_table(folder, (claimer, other), hands) as (_, table, clients):
        agents = {0, 1, 2, 3} - {claimer, other}
        sizes = []
        for ply, move in enumerate((*moves, None)):
            left = int(table.state.record.left)
            if ply % 4 == (first + left) % 4 or move is None:
                sizes.append((first + 3 * (13 - left)) % (left + 1))
                await clients[claimer].say({"type": "claim", "tricks": sizes[-1]})
                await until(lambda: table.wish is None or table.wish.agreed >= agents, 0.001)
                if table.wish is not None:
                    await clients[other].say({"type": "answer", "agree": False})
                assert table.wish is None
            if move is not None:
                table.play(table.state.mover, move)
                clients[claimer].connection.session.changed()
        for client in clients.values():
            client.hear()
        name = re.compile(r'"table":"[0-9a-f]*"')
        sent = {seat: [name.sub("", text) for text in client.raw] for seat, client in clients.items()}
        return sent, sizes


def audit_of_claims(folder, pairs, most):
    """Compare the traffic of deals that neither the claimer nor the other person can tell apart.

    Every seat but dummy claims. After the lead the other one is dummy, for everybody else knows all hands as
    soon as one is shown; before the lead it is any seat.
    """
    compared, sizes = 0, set()
    for number in range(pairs):
        claimer = (2, 1, 3)[number % 3]
        plies = 0 if number % 4 == 3 else 1 + 7 * number % most
        others = [seat for seat in range(4) if seat != claimer] if plies == 0 else [0]
        other = others[number % len(others)]
        table = begun(number, plies)
        twin = twin_hands(table.state, claimer, other, number)
        truth = first_hands(table.state)
        assert (twin[claimer], twin[other]) == (truth[claimer], truth[other])
        sent = [
            asyncio.run(
                traffic_of_claims(folder / f"{number}-{i}", hands, table.moves, claimer, other, number)
            )
            for i, hands in enumerate((truth, twin))
        ]
        assert sent[0] == sent[1], f"claims of seat {claimer}, deal {number}: they tell of hidden cards"
        compared += sum(map(len, sent[0][0].values()))
        sizes |= set(sent[0][1])
    return compared, sizes


def test_no_byte_that_is_sent_about_claims_depends_on_hidden_cards(tmp_path):
    """Claims told hidden cards: agents answered them by their own hands."""
    compared, sizes = audit_of_claims(tmp_path, 14, 40)
    assert compared > 500
    assert sizes >= set(range(12))


@pytest.mark.soak
def test_no_byte_that_is_sent_about_claims_depends_on_hidden_cards_at_length(tmp_path):
    assert audit_of_claims(tmp_path, 150, 44)[0] > 5_000


@pytest.mark.parametrize("end", ["move", "withdraw", "leave", "another claim"])
def test_a_claim_that_is_not_wanted_any_more_is_not_solved_further(end, tmp_path, monkeypatch):
    """Superseded claims were still solved, world by world, on the threads that all share."""
    solved = []

    def slowly(game, states):
        for _ in states:
            solved.append(1)
            time.sleep(0.01)
            yield [13.0]

    monkeypatch.setattr(Bridge, "exact_values", slowly)

    async def superseded():
        async with bridge_table(tmp_path, (1, 2)) as (_, table, clients):
            table.play(3, table.state.legal_moves()[0])
            await clients[2].say({"type": "claim", "tricks": 0})
            await until(lambda: solved, 0.001)
            if end == "move":
                move = {
                    "type": "play",
                    "number": len(table.events(2)),
                    "move": str(table.state.legal_moves()[0]),
                }
                await clients[2].say(move)
            elif end == "withdraw":
                await clients[2].say({"type": "answer", "agree": False})
            elif end == "leave":
                clients[2].connection.leave()
            else:
                await clients[1].say({"type": "claim", "tricks": 13})
            assert table.wish is None or table.wish.seat == 1
            await until(lambda: table.wish is None, 0.001)
            before = len(solved)
            await asyncio.sleep(0.1)
            return before, len(solved)

    before, after = asyncio.run(superseded())
    assert after <= before + 1
    assert after < 10


def test_a_seat_claims_once_in_a_trick(tmp_path):
    """300 claims of one seat were all answered; and a restart must not allow another one."""

    async def claims():
        async with bridge_table(tmp_path, (1, 2)) as (host, table, clients):
            for move in begun(1, 1).moves:
                table.play(table.state.mover, move)
            claim = {"type": "claim", "tricks": 13}
            answers = []
            for seat in (2, 2, 1):
                said = await clients[seat].say(claim)
                answers.append([a["message"] for a in said if a["type"] == "refused"])
                await until(lambda: table.wish is None, 0.001)
            again = Tables.table(host.tables, table.name)
            with pytest.raises(KibitzError, match="already"):
                again.ask(Wish("claim", 2, 3))
            while table.state.record.left == 13:
                table.play(table.state.mover, table.state.legal_moves()[0])
            answers.append(await clients[2].say({"type": "claim", "tricks": 12}))
            assert answers[0] == answers[2] == []
            assert "claimed in this trick already" in answers[1][0]
            assert not [a for a in answers[3] if a["type"] == "refused"]

    asyncio.run(claims())


def test_a_claim_that_is_not_judged_in_time_may_be_made_again(tmp_path, monkeypatch):
    """It was refused, and used up the claim of the trick, though nobody had looked at it to the end."""
    slowness = [0.05]

    def slowly(game, states):
        for _ in states:
            time.sleep(slowness[0])
            yield [13.0]

    monkeypatch.setattr(Bridge, "exact_values", slowly)

    async def claims():
        async with bridge_table(tmp_path, (1, 2)) as (host, table, clients):
            host.limits = replace(LIMITS, thinking_seconds=0.1)
            table.play(3, table.state.legal_moves()[0])
            others = [clients[1], clients[WATCHER]]
            await clients[2].say({"type": "claim", "tricks": 0})
            await until(lambda: table.wish is None, 0.001)
            told = [message for message in clients[2].hear() if message["type"] == "refused"]
            assert [message["message"] for message in told] == [
                "your claim was not judged in time; claim again"
            ]
            assert not [m for client in others for m in client.hear() if m["type"] == "refused"]
            again = Tables.table(host.tables, table.name)
            again.file = None
            again.ask(Wish("claim", 2, 0))  # after a restart, too
            slowness[0] = 0.0
            await clients[2].say({"type": "claim", "tricks": 0})
            await clients[1].say({"type": "answer", "agree": True})
            await until(lambda: table.is_over, 0.001)

    asyncio.run(claims())


def test_a_claim_that_nobody_can_judge_is_refused_with_the_reason(tmp_path, monkeypatch):
    async def claims():
        async with bridge_table(tmp_path, (1, 2)) as (_, table, clients):
            table.play(3, table.state.legal_moves()[0])
            clients[2].hear()
            monkeypatch.setattr("kibitz.games.bridge.dds.is_installed", lambda: False)
            (refused,) = await clients[2].say({"type": "claim", "tricks": 0})
            assert "A claim against agents needs the extra 'dds'" in refused["message"]
            monkeypatch.undo()
            await clients[2].say({"type": "claim", "tricks": 0})
            assert table.wish is not None  # the claim of this trick was not used up

    asyncio.run(claims())


def test_who_plays_and_who_claims_is_the_client_of_the_work(tmp_path, monkeypatch):
    """The agents thought in the queue of whoever had come first, though he only watched."""
    clients = []

    async def aside(client, *_, **__):
        clients.append(client)
        return True

    async def ask():
        async with bridge_table(tmp_path, ()) as (host, table, seats):
            watching = seats[WATCHER].connection
            session, watching.client = watching.session, "watcher"
            assert session.client == "watcher"
            table.chairs[1] = table.chairs[2] = Chair("a person")
            for seat, name in ((1, "player"), (2, "claimer")):
                session.join(Connection(LIMITS, name), seat, 0)
            assert session.client == "player"
            monkeypatch.setattr(host.thinker, "aside", aside)
            table.ask(Wish("claim", 2, 13))
            session.changed()
            await until(lambda: clients, 0.001)
            assert clients == ["claimer"]

    asyncio.run(ask())


def test_people_answer_a_claim_by_themselves(tmp_path):
    """Agents agree with one word; a person at another seat may still refuse, or let an agent answer."""

    async def claims(last_word):
        start = Start(position=SOLID)
        async with bridge_table(tmp_path / last_word["type"], (0, 2), start=start) as (_, table, clients):
            table.play(3, table.state.legal_moves()[0])
            clients[2].hear()
            await clients[2].say({"type": "claim", "tricks": 13})
            await until(lambda: len(table.wish.agreed) == 3, 0.001)
            wishes = [m["wish"] for m in clients[2].hear() if m["type"] == "update"]
            assert [wish["agreed"] for wish in wishes] == [[1, 2, 3]]  # all agents at once
            assert not table.is_over
            await clients[0].say(last_word)
            return table.is_over

    assert asyncio.run(claims({"type": "answer", "agree": True}))
    assert asyncio.run(claims({"type": "hand_over", "agent": "random"}))


# --- the time that a move takes ---


class Slow:
    """An agent that takes its time for a choice, less when many cards are left, and none without a choice."""

    cheating = False
    early, late = 0.02, 0.06

    def start(self, game, seat):
        pass

    def learn(self, label):
        pass

    def choose(self, view, seed):
        moves = view.legal_moves()
        if len(moves) > 1:
            time.sleep(self.early if int(view.record.left) > 7 else self.late)
        return moves[0]


def moves_timed(table):
    """Of the moves at a table with and without a choice: how many tricks were left, and the seconds taken."""
    forced, free, last = [], [], time.perf_counter()
    play = table.play

    def timed(seat, move):
        nonlocal last
        now = time.perf_counter()
        decisions = forced if len(table.state.legal_moves()) == 1 else free
        decisions.append((int(table.state.record.left), now - last))
        last = now
        play(seat, move)

    table.play = timed
    return forced, free


async def watched(host, client, seed, start=None):
    """A table of agents, on from now; the times of its moves."""
    chairs = [Chair("", "random") for _ in range(4)]
    table = host.tables.create("bridge", chairs, seed, start).table
    with mock.patch(READ_TABLE, return_value=table):
        session = await host._session(client, table.name)
    session.join(Connection(LIMITS, client), WATCHER, 0)
    return table, session, *moves_timed(table)


def test_a_forced_move_takes_as_long_as_free_ones(tmp_path, monkeypatch):
    """A move without a choice was made at once, a free one took as long as the agent thought."""
    monkeypatch.setattr("kibitz.web.thinking.make_known_agent", lambda *_: Slow())

    async def times():
        async with hosting(tmp_path) as host:
            table, session, forced, free = await watched(host, "a", 8)
            await until(lambda: table.is_over, 0.001)
            session._task.cancel()
            return forced, free

    forced, free = asyncio.run(times())
    assert len(free) > 20
    assert min(seconds for left, seconds in forced if left > 8) >= 0.9 * Slow.early
    assert min(seconds for left, seconds in forced if left < 6) >= 0.9 * Slow.late
    assert np.median([seconds for left, seconds in forced if left > 8]) < Slow.late


@pytest.mark.soak
def test_a_forced_move_waits_in_the_queue_as_free_ones_do(tmp_path, monkeypatch):
    """Who suddenly filled his own queue could tell the moves that passed it by."""
    monkeypatch.setattr("kibitz.web.thinking.make_known_agent", lambda *_: Slow())

    twin = Table("", "bridge", 8, people("bridge"))
    while len(moves := twin.state.legal_moves()) > 1:
        twin.play(twin.state.mover, moves[0])
    first = len(twin.moves)  # without a choice

    async def times():
        async with hosting(tmp_path) as host:
            view = begun(1, 1).state.view()

            async def fill():
                while True:
                    await host.thinker.choose("a", Player("random", view.game, view.seat), view, 1, [])

            table, session, forced, free = await watched(host, "a", 8)
            await until(lambda: len(table.moves) == first - 1, 0.001)
            assert len(free) == first - 1
            filling = [asyncio.create_task(fill()) for _ in range(12)]
            free.clear()
            await until(lambda: table.is_over, 0.001)
            session._task.cancel()
            for task in filling:
                task.cancel()
            return [seconds for _, seconds in forced], [seconds for _, seconds in free[1:]]

    forced, free = asyncio.run(times())
    assert min(free) > 4 * Slow.early  # the queue is long
    assert min(forced) > 4 * Slow.early
    assert 0.5 < np.median(forced) / np.median(free) < 2.0


def test_other_tables_do_not_tell_how_long_a_forced_move_takes(tmp_path, monkeypatch):
    """The times of all tables were put together, so one with quick decisions gave those of others away."""
    monkeypatch.setattr("kibitz.web.thinking.make_known_agent", lambda *_: Slow())
    monkeypatch.setattr(Slow, "early", 0.0)
    start = Start(position=SOLID)

    async def times():
        async with hosting(tmp_path) as host:
            quick, session, *_ = await watched(host, "a", None, start)
            await until(lambda: len(quick.moves) > 20, 0.001)
            session._task.cancel()
            monkeypatch.setattr(Slow, "early", 0.02)
            table, session, forced, _ = await watched(host, "b", 8)
            await until(lambda: len(table.moves) > 20, 0.001)
            session._task.cancel()
            return forced

    assert min(seconds for _, seconds in asyncio.run(times())) >= 0.9 * 0.02


@pytest.mark.parametrize("game", ["bridge", "briskola", "tichu", "diminishing-bridge:seats=3"])
def test_an_agent_without_a_choice_thinks_about_another_decision(game):
    found = 0
    for seed in range(30):
        view = random_state(games.load(game), seed, 20 + seed // 2).view()
        other = next_choice(view, seed)
        if other is not None:
            found += 1
            assert len(other.legal_moves()) > 1
            assert (next_choice(view, seed).array == other.array).all()
            assert Player("random", view.game, view.seat).choose(view, seed, [], other) in view.legal_moves()
    assert found > 10


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
