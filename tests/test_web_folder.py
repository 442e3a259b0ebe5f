"""The folder of tables: who may read it, damaged files, a full disk, several threads."""

import asyncio
import contextlib
import json
import os
import random
import stat
import sys
import threading

import pytest

from kibitz.errors import KibitzError, Unwritable
from kibitz.web.app import create_app
from kibitz.web.hosting import Connection, Host
from kibitz.web.limits import Limits
from kibitz.web.tables import Chair, Tables

TestClient = pytest.importorskip("starlette.testclient").TestClient
posix = pytest.mark.skipif(os.name != "posix", reason="the system has no owners of files")


@pytest.fixture
def tables(tmp_path):
    with Tables(tmp_path / "tables") as made:
        yield made


def people(n=2):
    return [Chair(str(seat)) for seat in range(n)]


def played(tables, game, n, plies, seed=7):
    """A table in the middle of a game, or at its end."""
    new = tables.create(game, people(n), seed=seed)
    table, rng = new.table, random.Random(1)
    while len(table.moves) < plies and not table.is_over:
        if table.window is not None:
            table.close_window()
        else:
            table.play(table.state.mover, rng.choice(table.state.legal_moves()))
    return new


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# --- owners ---


def test_a_list_of_own_tables_takes_a_bounded_time(tmp_path):
    """A hundred long games were played through for one request."""
    with Tables(tmp_path) as tables:
        made = [played(tables, "briskola", 2, 40) for _ in range(20)]

        async def listed(seconds):
            host = Host(tables, Limits(record_seconds=seconds))
            try:
                return await host.tables_of("a", [new.seats[1] for new in made])
            finally:
                host.thinker.close()

        whole, late = asyncio.run(listed(20.0)), asyncio.run(listed(0.0))
    assert [(table.over, table.known) for table in whole] == [(True, True)] * 20
    assert [(table.over, table.known) for table in late] == [(False, False)] * 20
    assert [table.model_dump(exclude={"over", "known"}) for table in late] == [
        table.model_dump(exclude={"over", "known"}) for table in whole
    ]


@posix
def test_tables_can_be_read_by_their_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        with Tables(tmp_path / "a" / "tables") as tables:
            path = tables.create("briskola", people()).table.file.path
            assert mode(path) == mode(tables.folder / "lock") == 0o600
            assert mode(tables.folder) == 0o700
        path.chmod(0o644)  # as older versions left it
        with Tables(tables.folder):
            assert mode(path) == 0o600
    finally:
        os.umask(before)


# --- damaged files ---


def mutated(text, rng):
    """A record with a fault: in a value, a line, or anywhere."""
    lines = text.splitlines()
    kind = rng.randrange(5)
    if kind == 0:  # another value
        number = rng.randrange(len(lines))
        line = json.loads(lines[number])
        values = [None, -1, 99, 1 << 70, 1.5, "x", "²", [], {}, [[]], True, "random", 10**400]
        line[rng.choice([*line, "undo", "claim", "pause", "agent", "seat"])] = rng.choice(values)
        with contextlib.suppress(ValueError):  # a number that is too long to be written
            lines[number] = json.dumps(line)
    elif kind == 1:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    elif kind == 2:
        del lines[rng.randrange(len(lines))]
    elif kind == 3:
        odd = ["[" * 100_000, "null", "[]", '"x"', "{}", '{"seat": 99, "agent": "random"}', "\x00", "NaN"]
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(odd))
    else:
        at = rng.randrange(len(text))
        return text[:at] + rng.choice('0"[]{},:x\x00 -') + text[at + 1 :]
    return "\n".join([*lines, ""])


@pytest.mark.parametrize("n", [400, pytest.param(4000, marks=pytest.mark.soak)])
def test_a_damaged_file_is_refused_alone_and_by_name(tables, n):
    games = [("briskola", 2), ("bridge", 4), ("tichu", 4), ("diminishing-bridge:seats=3,cards=3", 3)]
    kept = []
    for game, seats in games:
        made = played(tables, game, seats, 8).table
        kept.append((made.name, made.file.path, made.file.path.read_text()))
    good = played(tables, "briskola", 2, 3)
    rng, messages = random.Random(5), []
    for _ in range(n):
        name, path, text = rng.choice(kept)
        path.write_text(mutated(text, rng))
        for to_look in (True, False):
            try:
                tables.table(name, to_look)
            except KibitzError as error:
                messages.append((name, str(error)))
        path.write_text(text)
        tables.table(name)
    assert len(messages) > n / 4
    assert all(name in message for name, message in messages)
    assert tables.table(good.table.name).moves == good.table.moves


@pytest.mark.parametrize("n", [200, pytest.param(4000, marks=pytest.mark.soak)])
def test_a_damaged_first_line_keeps_no_other_table_from_being_served(tmp_path, n):
    with Tables(tmp_path) as tables:
        bad, good = (tables.create("briskola", people()) for _ in range(2))
        path = bad.table.file.path
    text, rng, unreadable = path.read_text(), random.Random(9), 0
    for _ in range(n):
        path.write_text(mutated(text, rng))
        with Tables(tmp_path) as tables:
            unreadable += list(tables.unreadable) == [path.name]
            assert tables.table(tables.place(good.seats[0]).table).moves == []
    assert unreadable > n / 10


@pytest.mark.parametrize("n", [200, pytest.param(4000, marks=pytest.mark.soak)])
def test_a_damaged_file_keeps_no_old_table_from_being_removed(tmp_path, n):
    rng = random.Random(4)
    with Tables(tmp_path) as tables:
        damaged = tables.create("briskola", people()).table.file.path
        text = damaged.read_text()
        for number in range(n):
            old = tables.create("briskola", people()).table.file.path
            header, *rest = old.read_text().split("\n")
            old.write_text("\n".join([json.dumps({**json.loads(header), "made": LONG_AGO}), *rest]))
            damaged.write_text("[" * 100_000 + "\n" if number == 0 else mutated(text, rng))
            for path in (damaged, old):
                os.utime(path, (SINCE,) * 2)
            if number % 2:
                tables.remove_old(1e9, 1.0)
            else:
                tables.most = 1
                tables.make_room()
                tables.make_room()
                tables.most = 10_000
            assert not old.exists()


LONG_AGO, SINCE = "2026-01-01T00:00:00Z", 1767225600


def test_housekeeping_goes_on_after_a_failure(tmp_path, monkeypatch):
    async def keep_house():
        with Tables(tmp_path) as tables:
            host, tries = Host(tables, Limits()), []

            def remove_old(*_):
                tries.append(1)
                raise RecursionError("deep")

            tables.remove_old = remove_old
            keeping = asyncio.create_task(host.keep_house())
            while len(tries) < 3:
                await asyncio.sleep(0.001)
            assert not keeping.done()
            keeping.cancel()
            host.close()

    monkeypatch.setattr("kibitz.web.hosting._HOUR", 0.0)
    asyncio.run(asyncio.wait_for(keep_house(), 10.0))


def test_the_list_of_own_tables_leaves_a_damaged_one_out(tmp_path):
    with TestClient(create_app(tmp_path), base_url="http://localhost") as client:
        wanted = {"game": "briskola", "seats": [{"name": "a"}, {"name": "b"}]}
        bad, good = (client.post("/api/tables", json=wanted).json() for _ in range(2))
        with (tmp_path / f"{bad['table']}.jsonl").open("a") as file:
            file.write('{"seat": 99, "agent": "random"}\n')
        tokens = [bad["watch"], good["watch"]]
        shown = client.post("/api/tables/mine", json={"tokens": tokens})
        assert [(table["table"], table["known"]) for table in shown.json()] == [(good["table"], True)]
        with client.websocket_connect("ws://localhost/socket") as socket:
            socket.send_json({"type": "join", "token": bad["watch"]})
            answer = socket.receive_json()
        assert answer["type"] == "refused"
        assert f"the record of table {bad['table']} cannot be read" in answer["message"]


def test_an_agent_that_may_not_sit_at_a_table_does_not_come_in_by_its_file(tables):
    made = tables.create("briskola", [Chair("a"), Chair("b", "ismcts:20")])
    path = made.table.file.path
    for agent in ("cheating:20", "ismcts:99999999"):
        text = path.read_text()
        path.write_text(text.replace("ismcts:20", agent))
        with pytest.raises(KibitzError, match=made.table.name):
            tables.table(made.table.name)
        path.write_text(text)


# --- a full disk ---


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit of the size of files")
@pytest.mark.parametrize("room", [0, 100, 500])
def test_a_table_that_cannot_be_recorded_leaves_nothing(tables, room):
    import resource

    moves = [tables.create("briskola", people(), seed=7).table.position(0)["moves"][0]["text"]]
    before = sorted(tables.folder.iterdir())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with pytest.raises(Unwritable, match="not opened"):
            tables.create("briskola", people(), seed=7, moves=moves)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(tables.folder.iterdir()) == before
    assert len(tables) == 1


@pytest.mark.parametrize("who", ["player", "watcher"])
def test_agents_move_again_when_the_disk_has_room_and_somebody_joins(tables, who):
    """The table stayed as it was as long as anybody looked at it."""

    async def play():
        host = Host(tables, Limits(pace_seconds=0.0))
        made = tables.create("briskola", [Chair("a"), Chair("", "random")], seed=5)

        async def join(token):
            connection = Connection(host.limits)
            await host.receive(connection, json.dumps({"type": "join", "token": token}))
            return connection

        watching, player = await join(made.watch), await join(made.seats[0])
        table = player.session.table
        write = table.file.append

        def fail(*_):
            raise Unwritable("the disk is full")

        table.play(0, table.state.legal_moves()[0])
        table.file.append = fail
        player.session.changed()
        while "the disk is full" not in str(watching.outbox):
            await asyncio.sleep(0.001)
        table.file.append = write
        if who == "player":
            player.leave()
        await join(made.seats[0] if who == "player" else made.watch)
        while len(table.moves) < 2:
            await asyncio.sleep(0.001)
        host.thinker.close()

    asyncio.run(asyncio.wait_for(play(), 20.0))


def test_a_record_that_was_removed_does_not_begin_anew(tables):
    table = tables.create("briskola", people()).table
    table.file.path.unlink()
    with pytest.raises(Unwritable):
        table.play(0, table.position(0)["moves"][0]["text"])
    assert not table.file.path.exists()


# --- several threads ---


def test_tables_can_be_counted_and_removed_while_others_are_opened(tables):
    """Version 0.1.0 lost tables that were indexed while old ones were removed, and failed to count."""
    for number in range(1000):
        tables._index(f"old{number}", header_of(f"old{number}"))
    faults, done = [], threading.Event()

    def count():
        while not done.is_set():
            try:
                len(tables)
                tables._remove([])
            except RuntimeError as error:
                faults.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    counting = threading.Thread(target=count)
    try:
        counting.start()
        for number in range(60):
            tables._index(f"new{number}", header_of(f"new{number}"))
    finally:
        done.set()
        counting.join()
        sys.setswitchinterval(before)
    assert not faults
    assert len(tables) == 1060


def header_of(name):
    return {"schema": "kibitz.table/1", "chairs": [{"token": f"seat of {name}"}], "watch": name}


# --- play goes on from here ---


def test_play_goes_on_after_the_first_round_of_tichu(tables):
    """The pause after the last card of a round was not ended, so nothing was dealt."""
    first = played(tables, "tichu:target=1000", 4, 1).table
    rng = random.Random(1)
    while first._chances < 3:
        if first.window is not None:
            first.close_window()
        else:
            first.play(first.state.mover, rng.choice(first.state.legal_moves()))
    first.play(first.state.mover, first.state.legal_moves()[0])
    texts = [first.rules.move_text(move) for move in first.moves]
    later = tables.create("tichu:target=1000", people(4), seed=7, moves=texts).table
    assert later.moves == first.moves
    again = tables.table(later.name)
    assert again.state.array.tobytes() == later.state.array.tobytes() == first.state.array.tobytes()
