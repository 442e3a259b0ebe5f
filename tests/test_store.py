"""The store: every batch is whole or not there, nobody repeats work, and a bad file is named, not touched."""

import ctypes
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kibitz
from kibitz.arena import laboratory, store, storefile
from kibitz.arena.executors import InProcess
from kibitz.arena.laboratory import Laboratory, Order
from kibitz.arena.play import Batch, Match, Played
from kibitz.arena.store import Counts, Store
from kibitz.arena.storefile import MIGRATIONS
from kibitz.errors import InputError, Unwritable

EXAMPLE = Path(__file__).parents[1] / "examples" / "high_card.py"
MATCH = Match("briskola", ("rule-based", "random"), seed=1)
ORDERED = "SELECT * FROM result ORDER BY game, agents, seed, code, deal, seating, seat"


def played(deals, first=0.0):
    """What a batch of a match with two seats could have given: every number is another one."""
    return Played(first + np.arange(4.0 * deals).reshape(deals, 2, 2), 0.5, {"seconds": [0.1, 0.2]})


def read(path, query):
    """As another program sees the file, which is left as it is."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
        return db.execute(query).fetchall()


def files(folder):
    """What is in a folder, but for the index and the empty log that readers of a store leave beside it."""
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    return {n: text for n, text in found.items() if not n.endswith("-shm") and (text or n[-4:] != "-wal")}


def command(before, *arguments, **options):
    """The command line in a process of its own, after some lines of Python."""
    code = f"import sys\n{before}\nfrom kibitz.cli import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, **options
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(laboratory, "_BATCH_SECONDS", 0.005)


@pytest.fixture
def nobody_else(monkeypatch):
    """Nobody else plays, so there is nobody to wait for."""

    def wait(seconds):
        raise AssertionError("it waits for itself")

    monkeypatch.setattr(laboratory, "time", SimpleNamespace(sleep=wait))


# --- what is written is what is read -----------------------------------------------------------------


def test_scores_are_the_first_deals_up_to_a_missing_one(path):
    with Store(path) as kept:
        number = kept.number_of(MATCH)
        assert kept.scores(number, 10).shape == (0, 2, 2)
        for first, deals in ((4, 3), (0, 2), (9, 1)):
            assert kept.add(Batch(MATCH, first, deals), number, played(deals, 100.0 * first))
        assert len(kept.scores(number, 20)) == 2
        assert kept.finished(number, 20) == 6
        assert kept.finished(number, 6) == 4
        kept.add(Batch(MATCH, 2, 2), number, played(2, 200.0))
        found = kept.scores(number, 20)
        assert found.shape == (7, 2, 2)
        whole = [played(2), played(2, 200.0), played(3, 400.0)]
        assert np.array_equal(found, np.concatenate([part.scores for part in whole]))
        for deals in range(8):
            assert np.array_equal(kept.scores(number, deals), found[:deals])
        assert np.array_equal(kept.scores_of_deal(number, 5), found[5])
        assert np.array_equal(kept.scores_of_deal(number, 9), played(1, 900.0).scores[0])
        assert kept.scores_of_deal(number, 7) is None
        assert kept.scores_of_deal(number, 10) is None


def test_a_batch_that_somebody_else_has_written_is_not_written_again(path):
    with Store(path) as kept:
        number = kept.number_of(MATCH)
        assert kept.add(Batch(MATCH, 10, 10), number, played(10))
        for first, deals in ((10, 10), (5, 6), (19, 3), (0, 30), (12, 2)):
            assert not kept.add(Batch(MATCH, first, deals), number, played(deals, 1e6))
        assert kept.add(Batch(MATCH, 5, 5), number, played(5))
        assert kept.add(Batch(MATCH, 20, 5), number, played(5))
    assert read(path, "SELECT first_deal, deals FROM batch ORDER BY 1") == [(5, 5), (10, 10), (20, 5)]


def test_a_batch_is_written_whole_or_not_at_all(path):
    with Store(path) as kept:
        number = kept.number_of(MATCH)
        result = Batch(MATCH, 0, 3, keep_moves=True).play()
        result.moves[2][1] = [object()]  # no text can be made of this
        with pytest.raises(TypeError):
            kept.add(Batch(MATCH, 0, 3), number, result)
        assert kept.finished(number, 3) == 0
        assert kept.moves(number, 0, 0) is None
        assert kept.add(Batch(MATCH, 0, 3), number, played(3))


@pytest.mark.parametrize("moment", ["_insert", "_shorten_claim"])
def test_a_program_killed_while_it_writes_leaves_nothing_of_the_batch(path, moment):
    code = (
        "import os, signal, sys\n"
        "from kibitz.arena.match import match\n"
        "from kibitz.arena.store import Store\n"
        "inner, calls = getattr(Store, sys.argv[2]), []\n"
        "def end(*arguments):\n"
        "    inner(*arguments)\n"
        "    calls.append(arguments)\n"
        "    if len(calls) == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "setattr(Store, sys.argv[2], end)\n"
        "match('briskola', ['rule-based', 'random'], 80, seed=1, store=sys.argv[1], keep_moves=True)"
    )
    killed = subprocess.run([sys.executable, "-c", code, path, moment])
    assert killed.returncode == -signal.SIGKILL
    assert len(read(path, "SELECT * FROM batch")) == 2
    ((deals,),) = read(path, "SELECT sum(deals) FROM batch")
    assert read(path, "SELECT deal FROM record") == [(deal,) for deal in range(deals) for _ in range(2)]
    whole = kibitz.match("briskola", MATCH.agents, 80, seed=1, store=path, keep_moves=True)
    assert np.array_equal(whole.returns, kibitz.match("briskola", MATCH.agents, 80, seed=1).returns)
    assert len(read(path, "SELECT * FROM record")) == 80


@pytest.mark.parametrize(
    ("game", "agents"),
    [
        ("briskola", ("rule-based", "random")),
        ("briskola", ("random",)),
        ("briskola:seats=3", ("rule-based", "random")),
        ("briskola:seats=3", ("rule-based", "random", "flat:2")),
        ("briskola:seats=4", ("rule-based", "random")),
        (str(EXAMPLE), ("flat:2", "random")),
    ],
)
def test_the_view_in_the_file_agrees_with_the_match(path, game, agents):
    result = kibitz.match(game, agents, games_wanted=30, seed=3, store=path)
    match = Match(game, agents, 3)
    expected = [
        (game, json.dumps(agents), 3, match.code, deal, s, seat, agents[seats[seat]], scores[seat])
        for deal, of_deal in enumerate(result.returns.tolist())
        for s, (seats, scores) in enumerate(zip(match.places, of_deal, strict=True))
        for seat in range(match.seats)
    ]
    assert len(expected) == result.games * match.seats
    assert read(path, ORDERED) == expected
    with Store(path, read_only=True) as kept:
        assert list(kept.results()) == expected
        assert kept.rows() == len(expected)
        assert np.array_equal(kept.scores(1, result.deals), result.returns)
        assert [m for _, m, _, _ in kept.matches()] == [match]


def test_fractions_come_back_as_they_were(path):
    result = kibitz.match(str(EXAMPLE), ["random", "random"], games_wanted=40, seed=1, store=path)
    assert {0.25, 0.5, 0.75} <= set(result.returns.ravel().tolist())
    assert [row[-1] for row in read(path, ORDERED)] == result.returns.ravel().tolist()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=4, max_size=40))
def test_any_numbers_come_back_as_they_were(numbers):
    scores = np.array(numbers[: len(numbers) // 4 * 4]).reshape(-1, 2, 2)
    with Store() as kept:
        number = kept.number_of(MATCH)
        kept.add(Batch(MATCH, 0, len(scores)), number, Played(scores, 1.0, {}))
        assert np.array_equal(kept.scores(number, 100), scores)
        assert [row[-1] for row in kept.results()] == scores.ravel().tolist()


def test_results_come_in_one_order_whoever_played_first(tmp_path):
    matches = [Match("briskola", ("random",), seed) for seed in (3, 1, 2)]
    tables = []
    for name, order in (("a.db", matches), ("b.db", matches[::-1])):
        with Store(tmp_path / name) as kept:
            for match in order:
                number = kept.number_of(match)
                for first in (0, 5) if name == "a.db" else (5, 0):
                    kept.add(Batch(match, first, 5), number, Batch(match, first, 5).play())
            tables.append(list(kept.results()))
    assert tables[0] == tables[1]
    assert [row[2] for row in tables[0]] == sorted(row[2] for row in tables[0])


def test_costs_and_moves_are_kept(path):
    with Store(path) as kept:
        number = kept.number_of(MATCH)
        batch = Batch(MATCH, 3, 2, keep_moves=True)
        result = batch.play()
        kept.add(batch, number, result)
        kept.add(Batch(MATCH, 0, 3), number, played(3))
        assert kept.moves(number, 4, 1) == result.moves[1][1]
        assert kept.moves(number, 0, 0) is None
        cost = kept.cost(number, 100)
        assert cost.deals == 5
        assert cost.seconds == pytest.approx(0.5 + result.seconds)
        assert cost.thought["seconds"] == pytest.approx(np.add([0.1, 0.2], result.thought["seconds"]))
        assert cost.thought["decisions"] == result.thought["decisions"]


def test_counts_are_summed_over_whole_batches(path):
    """Of the first deals without a gap; a batch that reaches past them cannot be divided."""
    with Store(path) as kept:
        number = kept.number_of(MATCH)
        assert kept.counts(number, 10) == Counts(0, {})
        for first, deals, revokes in (
            (0, 2, [[1, 0], [1, 0]]),
            (5, 5, [[7, 9], [49, 41]]),
            (2, 3, [[2, 3], [4, 5]]),
        ):
            result = played(deals)
            result.counts = {"revokes": revokes}
            kept.add(Batch(MATCH, first, deals), number, result)
            if first == 5:  # deals 2 to 4 are missing
                assert kept.counts(number, 10) == Counts(2, {"revokes": [[1, 0], [1, 0]]})
        for deals, known in ((1, 0), (2, 2), (4, 2), (5, 5), (9, 5), (10, 10), (20, 10)):
            assert kept.counts(number, deals).deals == known
        assert kept.counts(number, 5).sums == {"revokes": [[3, 3], [5, 5]]}
        assert kept.counts(number, 20).sums == {"revokes": [[10, 12], [54, 46]]}
        kept.add(Batch(MATCH, 10, 1), number, played(1))  # of a time when nothing was counted
        assert kept.counts(number, 20).deals == 10


# --- a full disk -------------------------------------------------------------------------------------


class Small(Store):
    """A store for which there is no room beyond some pages."""

    pages = 0

    def _connect(self):
        db = super()._connect()
        db.execute(f"PRAGMA max_page_count = {self.pages}")
        return db


def test_a_full_disk_is_said_and_what_is_there_is_kept(path, tmp_path, small_batches, monkeypatch):
    with Store(path):
        pass
    monkeypatch.setattr(Small, "pages", read(path, "PRAGMA page_count")[0][0] + 12)
    order = Order(MATCH, 200)
    with Small(path) as kept, pytest.raises(Unwritable, match=r"no room is left .* is kept"):
        Laboratory(kept, InProcess(), keep_moves=True).run([order])
    there = read(path, "SELECT * FROM batch")
    assert 0 < sum(row[2] for row in there) < order.deals
    assert read(path, "PRAGMA integrity_check") == [("ok",)]
    with Small(path) as kept, pytest.raises(Unwritable, match="no room is left"):
        Laboratory(kept, InProcess(), keep_moves=True).run([order])
    assert read(path, "SELECT * FROM batch")[: len(there)] == there

    roomy = tmp_path / "roomy.db"
    for name in (path, roomy):
        with Store(name) as kept:
            assert Laboratory(kept, InProcess(), keep_moves=True).run([order]) == [order.deals]
    assert set(there) <= set(read(path, "SELECT * FROM batch"))
    for query in (ORDERED, "SELECT * FROM match", "SELECT * FROM record"):
        assert read(path, query) == read(roomy, query)


def test_there_is_room_again_while_the_program_runs(path, small_batches, nobody_else, monkeypatch):
    with Store(path):
        pass
    monkeypatch.setattr(Small, "pages", read(path, "PRAGMA page_count")[0][0] + 4)  # 120 deals take 8 or more
    with Small(path) as kept:
        room = Laboratory(kept, InProcess(), keep_moves=True)
        with pytest.raises(Unwritable):
            room.run([Order(MATCH, 120)])
        kept._db.execute("PRAGMA max_page_count = 100000")
        assert room.run([Order(MATCH, 120)]) == [120]
        alone = kibitz.match("briskola", MATCH.agents, 240, seed=1)
        assert np.array_equal(kept.scores(1, 120), alone.returns)


def test_a_new_store_without_room_is_not_left_half_made(path, monkeypatch):
    monkeypatch.setattr(Small, "pages", 3)
    with pytest.raises(Unwritable, match="no room"):
        Small(path)
    with Store(path) as kept:
        assert kept.claim(kept.number_of(MATCH), 5, 5) == range(5)


FULL = """
from kibitz.arena.store import Store
connect = Store._connect
def small(self):
    db = connect(self)
    db.execute("PRAGMA max_page_count = 26")
    return db
Store._connect = small
"""


@pytest.mark.parametrize("cause", ["pages", "file size"])
def test_the_command_line_on_a_full_disk(tmp_path, cause):
    """`file size`: the system itself refuses to let files grow, as it does when a disk is full."""
    path, roomy = tmp_path / "results.db", tmp_path / "roomy.db"

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (90_000, 90_000))

    words = ("match", "briskola", "rule-based", "random", "--games", 600, "--moves", "--store")
    if cause == "pages":
        done = command(FULL, *words, path)
    else:
        done = command("", *words, path, preexec_fn=limit)
    assert done.returncode == 3, done.stderr
    assert ("no room is left" if cause == "pages" else "cannot be written") in done.stderr
    assert "is kept" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    there = read(path, "SELECT * FROM batch")
    assert 0 < sum(row[2] for row in there) < 300
    assert read(path, "PRAGMA integrity_check") == [("ok",)]

    for name in (path, roomy):
        assert kibitz.match("briskola", MATCH.agents, 600, store=name, keep_moves=True).games == 600
    assert set(there) <= set(read(path, "SELECT * FROM batch"))
    for query in (ORDERED, "SELECT * FROM record"):
        assert read(path, query) == read(roomy, query)


# --- files that may not be written -------------------------------------------------------------------


def test_a_store_that_may_not_be_written_is_named(path, monkeypatch):
    kibitz.match("briskola", MATCH.agents, 8, store=path)
    before = read(path, "SELECT * FROM batch")
    connect = Store._connect

    def only_reading(self):
        db = connect(self)
        db.execute("PRAGMA query_only = ON")
        return db

    monkeypatch.setattr(Store, "_connect", only_reading)
    with pytest.raises(Unwritable, match=r"results.db cannot be written: no permission .* are kept"):
        kibitz.match("briskola", MATCH.agents, 20, store=path)
    assert read(path, "SELECT * FROM batch") == before


def as_anybody():
    """Python that gives up all privileges: modes of files then count for root, too."""
    if os.geteuid() != 0:
        return ""
    assert hasattr(ctypes.CDLL(None), "capset")
    return (
        "import ctypes\n"
        "header = (ctypes.c_uint32 * 2)(0x20080522, 0)\n"  # version 3, this process
        "assert ctypes.CDLL(None).capset(header, (ctypes.c_uint32 * 6)()) == 0\n"
    )


@pytest.fixture
def locked(path):
    """Makes the store's file or its folder one that may only be read, until the end of the test."""

    def lock(what):
        for target in (path.parent, *path.parent.iterdir()) if what == "folder" else (path,):
            target.chmod(0o555 if target.is_dir() else 0o444)

    yield lock
    path.parent.chmod(0o755)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_without_permission_nothing_is_changed_and_reading_works(path, locked, what, tmp_path_factory):
    kibitz.match("briskola", MATCH.agents, 8, store=path, keep_moves=True)
    out = tmp_path_factory.mktemp("out") / "results.csv"
    before, results = files(path.parent), read(path, ORDERED)
    locked(what)
    again = ("match", "briskola", "rule-based", "random", "--games", 40, "--store", path)
    done = command(as_anybody(), *again)
    assert done.returncode == 3, done.stdout
    assert "cannot be written: no permission" in done.stderr
    assert "Traceback" not in done.stderr

    done = command(as_anybody(), "export", path, out)
    assert done.returncode == 0, done.stderr
    assert len(out.read_text().splitlines()) == 1 + len(results)
    if what == "folder":
        done = command(as_anybody(), "replay", path, "--match", 1, "--deal", 3)
        assert done.returncode == 0, done.stderr
        assert "moves as kept" in done.stdout
        done = command(as_anybody(), "report", path, "--markdown")
        assert done.returncode == 0, done.stderr
    assert files(path.parent) == before


def test_a_store_that_nobody_may_read_is_named(path):
    kibitz.match("briskola", MATCH.agents, 4, store=path)
    path.chmod(0)
    code = "from kibitz.arena.store import Store\nStore(sys.argv[1], read_only=True)"
    done = command(as_anybody() + code, path)
    assert "InputError: the store" in done.stderr
    assert "results.db cannot be read: no permission" in done.stderr
    done = command(as_anybody(), "export", path, path.with_name("results.csv"))
    assert done.returncode == 2
    assert "is not readable" in done.stderr


def test_what_a_killed_program_left_can_be_read_without_permission(path, locked, tmp_path_factory):
    """Its last batches are still in the log beside the file; they must not be missing in a report."""
    code = (
        "import os, signal, sys\n"
        "from kibitz.arena.match import match\n"
        "def end(done, total):\n"
        "    if done >= 20: os.kill(os.getpid(), signal.SIGKILL)\n"
        "match('briskola', ['rule-based', 'random'], 400, store=sys.argv[1], progress=end)"
    )
    killed = subprocess.run([sys.executable, "-c", code, path])
    assert killed.returncode == -signal.SIGKILL
    assert path.with_name("results.db-wal").stat().st_size > 0
    copy = tmp_path_factory.mktemp("copy")
    for file in path.parent.iterdir():
        shutil.copy(file, copy)
    rows = len(read(copy / path.name, ORDERED))
    assert rows >= 40
    locked("folder")
    out = copy / "results.csv"
    done = command(as_anybody(), "export", path, out)
    assert done.returncode == 0, done.stderr
    assert len(out.read_text().splitlines()) == 1 + rows


@pytest.mark.parametrize("rest", [(), ("-wal",)])
def test_a_log_that_cannot_be_used_is_said(path, locked, tmp_path_factory, rest):
    """Where nothing can be written, SQLite reads the file alone, and what is only in the log is missing."""
    with Store(path.with_name("living.db")) as kept:
        number = kept.number_of(MATCH)
        for deal in range(20):
            kept.add(Batch(MATCH, deal, 1), number, played(1))
        for each in ("", *rest):
            shutil.copy(f"{kept.path}{each}", f"{path}{each}")
    kept.path.unlink()
    locked("folder")
    out = tmp_path_factory.mktemp("out") / "results.csv"
    done = command(as_anybody(), "export", path, out)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert 4 * 12 < len(out.read_text().splitlines()) <= 1 + 4 * 20
    says = (
        "results.db-wal, which cannot be used in a folder that cannot be written; copy both files elsewhere"
    )
    assert (says in done.stderr) == bool(rest)


@pytest.mark.parametrize("name", ["a store?mode=rw&x=%41#part.db", "številke 'in' \"črke\".db"])
def test_any_name_of_a_file_will_do(tmp_path, name):
    with Store(tmp_path / name) as kept:
        kept.number_of(MATCH)
    with Store(tmp_path / name, read_only=True) as kept:
        assert [match for _, match, _, _ in kept.matches()] == [MATCH]
    assert list(files(tmp_path)) == [name]


def test_a_store_opened_for_reading_cannot_be_changed(path):
    with Store(path) as kept:
        kept.number_of(MATCH)
    before = files(path.parent)
    with Store(path, read_only=True) as kept:
        with pytest.raises(InputError):
            kept.add(Batch(MATCH, 0, 1), 1, played(1))
        with pytest.raises(InputError):
            kept.claim(1, 10, 10)
    assert files(path.parent)[path.name] == before[path.name]


# --- files that are no stores ------------------------------------------------------------------------


def foreign(path, script="CREATE TABLE treasure (x); INSERT INTO treasure VALUES (1);"):
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)
        db.commit()


def noise(path):
    path.write_bytes(random.Random(1).randbytes(20_000))


def newer(path):
    with Store(path) as kept:
        kept._db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")


BAD = {
    "a folder": (Path.mkdir, InputError, "is a folder; a store is one file"),
    "a text": (
        lambda path: path.write_text("no database, but long enough\n" * 99),
        InputError,
        "not a Kibitz store",
    ),
    "a short text": (lambda path: path.write_text("hello"), InputError, "not a Kibitz store"),
    "noise": (noise, InputError, "not a Kibitz store, or is damaged"),
    "another program's": (foreign, InputError, "not a Kibitz store; nothing was changed"),
    "another program's with a version": (
        lambda path: foreign(path, "CREATE TABLE t (x); PRAGMA user_version = 1"),
        InputError,
        "belongs to another program; nothing was changed",
    ),
    "another program's with a log": (
        lambda path: foreign(path, "PRAGMA journal_mode = WAL; CREATE TABLE t (x)"),
        InputError,
        "not a Kibitz store; nothing was changed",
    ),
    "a newer Kibitz's": (newer, InputError, "newer Kibitz .* update Kibitz"),
}


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_named_and_not_touched(path, kind, read_only):
    make, error, says = BAD[kind]
    make(path)
    before = files(path.parent)
    with pytest.raises(error, match=says) as raised:
        Store(path, read_only)
    assert "results.db" in str(raised.value)
    assert files(path.parent) == before


def test_a_store_in_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(Unwritable, match=r"no folder .*nowhere; make it first"):
        Store(tmp_path / "nowhere" / "results.db")
    with pytest.raises(InputError, match="there is no store"):
        Store(tmp_path / "nowhere.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_becomes_a_store(path):
    path.touch()
    with pytest.raises(InputError, match="is empty: there is no result in it yet"):
        Store(path, read_only=True)
    with Store(path) as kept:
        assert kept.rows() == 0


@pytest.mark.parametrize("seed", range(8))
def test_damage_inside_a_store_is_said(path, seed):
    """A page of noise anywhere: whatever is asked, the answer is right or an error of ours."""
    with Store(path) as kept:
        for number in range(1, 31):
            match = Match("briskola", ("random", "rule-based"), number)
            kept.add(Batch(match, 0, 50), kept.number_of(match), played(50, number))
        whole = list(kept.results())
    rng = random.Random(seed)
    content = bytearray(path.read_bytes())
    page = 4096 * rng.randrange(1, len(content) // 4096)
    content[page : page + 4096] = rng.randbytes(4096)
    path.write_bytes(content)

    def ask(question):
        try:
            with Store(path) as kept:
                return question(kept)
        except InputError as error:
            return error

    found = ask(lambda kept: list(kept.results()))
    assert isinstance(found, InputError) or found == whole
    found = [
        found,
        ask(lambda kept: kept.claim(kept.number_of(MATCH), 5, 5)),
        ask(lambda kept: kept.experiments()),
        ask(lambda kept: [kept.scores(number, 50) for number in range(1, 31)]),
    ]
    assert all("damaged" in str(answer) for answer in found if isinstance(answer, InputError))
    assert list(path.parent.glob("results.db*")) == [path]


def test_the_command_line_names_a_damaged_store(path):
    with Store(path) as kept:
        for number in range(30):
            match = Match("briskola", ("random", "rule-based"), number)
            kept.add(Batch(match, 0, 50), kept.number_of(match), played(50))
    size = path.stat().st_size
    os.truncate(path, size // 2)
    done = command("", "export", path, path.with_suffix(".csv"))
    assert done.returncode == 3
    assert "damaged" in done.stderr
    assert "Traceback" not in done.stderr
    assert [file.name for file in path.parent.iterdir() if file.suffix == ".csv"] == []


# --- older and newer stores --------------------------------------------------------------------------


def version_1(path):
    with closing(sqlite3.connect(path)) as db:
        db.executescript(MIGRATIONS[0])
        db.execute(
            "INSERT INTO match VALUES (7, 'briskola', '[\"rule-based\", \"random\"]', 1, 1, 'old', "
            "'[[0, 1], [1, 0]]', 2)"
        )
        db.execute("INSERT INTO batch VALUES (7, 0, 2, '[1,2,3,4,5.5,6,7,8]', 1.5, '{}', 'here', '2026')")
        db.execute("INSERT INTO experiment VALUES ('e', 'text', '{\"seed\": 1}')")
        db.execute(f"PRAGMA application_id = {storefile._APPLICATION}")
        db.execute("PRAGMA user_version = 1")
        db.commit()


def test_an_older_store_is_brought_up_to_date(path):
    version_1(path)
    before = {table: read(path, f"SELECT * FROM {table}") for table in ("match", "batch", "experiment")}
    with pytest.raises(InputError, match="older store version 1; open it once for writing"):
        Store(path, read_only=True)
    assert read(path, "PRAGMA user_version") == [(1,)]
    with Store(path) as kept:
        assert kept.scores(7, 10).ravel().tolist() == [1, 2, 3, 4, 5.5, 6, 7, 8]
        assert kept.moves(7, 0, 0) is None
        assert kept.counts(7, 10) == Counts(0, {})
        assert kept.experiments() == ["e"]
        assert kept.experiment("e")[:2] == ("text", {"seed": 1})
    assert read(path, "PRAGMA user_version") == [(len(MIGRATIONS),)]
    before["batch"] = [(*row, "{}") for row in before["batch"]]
    before["match"] = [(*row, 0, "{}") for row in before["match"]]
    for table, rows in before.items():
        assert read(path, f"SELECT * FROM {table}") == rows
    with Store(path, read_only=True) as kept:
        assert [number for number, _, _, _ in kept.matches()] == [7]


@pytest.mark.parametrize("begin", [None, version_1])
def test_many_open_one_store_at_once(tmp_path, begin):
    """Nobody is told that the file is locked, foreign or half made."""
    rounds, programs = 12, 6
    faults = []

    def open_and_write(path, barrier, seed):
        barrier.wait()
        try:
            with Store(path) as kept:
                kept.number_of(Match("briskola", ("random", "random"), seed))
        except Exception as error:
            faults.append(error)

    for n in range(rounds):
        path, barrier = tmp_path / f"{n}.db", threading.Barrier(programs)
        if begin:
            begin(path)
        threads = [
            threading.Thread(target=open_and_write, args=(path, barrier, seed)) for seed in range(programs)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert read(path, "PRAGMA user_version") == [(len(MIGRATIONS),)]
        assert read(path, "PRAGMA integrity_check") == [("ok",)]
        assert len(read(path, "SELECT * FROM match")) == programs + bool(begin)


def test_programs_open_one_store_at_once(path):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom kibitz.arena.store import Store\n"
        "print('ready', flush=True)\nsys.stdin.readline()\nStore(sys.argv[1]).close()"
    )
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", code, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for program in crowd:
        assert program.stdout.readline() == "ready\n"
    for program in crowd:
        program.stdin.write("\n")
        program.stdin.flush()
    for program in crowd:
        _, errors = program.communicate(timeout=100)
        assert program.returncode == 0, errors
    assert read(path, "PRAGMA user_version") == [(len(MIGRATIONS),)]


def test_a_store_that_stays_locked_is_named(path, monkeypatch):
    monkeypatch.setattr(storefile, "_BUSY_SECONDS", 0.1)
    with Store(path) as kept, closing(sqlite3.connect(path, isolation_level=None)) as other:
        kept.number_of(MATCH)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unwritable, match="locked by another program"):
            kept.claim(1, 10, 10)
        other.execute("ROLLBACK")
        assert kept.claim(1, 10, 10) == range(10)


# --- claims ------------------------------------------------------------------------------------------


@pytest.fixture
def sleeper():
    """A process that does nothing, to be somebody who has claimed deals."""
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


def pretend(kept, pid, born=None, host=None):
    """Let the claims of a store be those of another process."""
    who = (host or store.socket.gethostname(), pid, store._born(pid) if born is None else born, kept._program)
    kept._db.execute("UPDATE program SET host = ?, pid = ?, born = ? WHERE id = ?", who)


class Windows:
    """As much of the library kernel32 as is asked about processes: {pid: (start, exit code)}."""

    def __init__(self, processes, others=()):
        self.processes, self.others, self.open, self.error = processes, others, set(), 0

    def library(self, name, use_last_error):
        assert (name, use_last_error) == ("kernel32", True)
        windows = self

        class Open:
            def __call__(self, access, inherits, pid):
                assert (access, inherits) == (0x1000, False)
                if pid not in windows.processes:
                    windows.error = 5 if pid in windows.others else 87
                    return None
                windows.open.add(pid << 40)
                return pid << 40

        self.OpenProcess = Open()
        return self

    def GetExitCodeProcess(self, handle, code):  # noqa: N802
        code._obj.value = self.processes[handle.value >> 40][1]
        return 1

    def GetProcessTimes(self, handle, born, *rest):  # noqa: N802
        born._obj[0] = self.processes[handle.value >> 40][0]
        return 1

    def CloseHandle(self, handle):  # noqa: N802
        self.open.remove(handle.value)


def test_on_windows_a_process_is_looked_for_without_a_signal(monkeypatch):
    """`os.kill(pid, 0)` would send it Ctrl-C."""
    system = Windows({7: (133_700_000_000_000_000, 259), 8: (5, 0)}, others={9})
    monkeypatch.setattr(store.sys, "platform", "win32")
    monkeypatch.setattr(store.os, "kill", None)
    monkeypatch.setattr(ctypes, "WinDLL", system.library, raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: system.error, raising=False)
    assert store._born(7) == "133700000000000000"
    assert store._is_alive(7, store._born(7))
    assert not store._is_alive(7, "4")  # another process, which got the number of one that has ended
    assert not store._is_alive(8, "5")
    assert not store._is_alive(10, "")
    assert store._is_alive(9, "6")  # somebody else's
    assert not system.open


def test_nobody_claims_what_another_is_playing(path):
    with Store(path) as one, Store(path) as two:
        number = one.number_of(MATCH)
        assert one.claim(number, 30, 10) == range(10)
        assert two.claim(number, 30, 10) == range(10, 20)
        assert one.claim(number, 30, 20) == range(20, 30)
        assert two.claim(number, 30, 10) is None
        assert two.claim(number, 31, 10) == range(30, 31)
        assert two.claim(two.number_of(Match("briskola", ("random",), 1)), 30, 5) == range(5)


def test_a_program_does_not_claim_twice_what_it_plays(path):
    with Store(path) as kept:
        number = kept.number_of(MATCH)
        assert [kept.claim(number, 12, 5) for _ in range(4)] == [range(5), range(5, 10), range(10, 12), None]


def test_claims_are_given_back_on_closing(path):
    number = 1
    with Store(path) as one:
        number = one.number_of(MATCH)
        one.claim(number, 30, 30)
        one.add(Batch(MATCH, 0, 3), number, played(3))
    assert read(path, "SELECT * FROM claim") == read(path, "SELECT * FROM program") == []
    with Store(path) as two:
        assert two.claim(number, 30, 30) == range(3, 30)


def test_a_finished_claim_is_no_claim_any_more(path):
    with Store(path) as kept:
        number = kept.number_of(MATCH)
        kept.claim(number, 30, 10)
        for first, deals in ((4, 6), (0, 1), (1, 3)):
            assert len(read(path, "SELECT * FROM claim")) == 1
            kept.add(Batch(MATCH, first, deals), number, played(deals))
        assert read(path, "SELECT * FROM claim") == []


def test_claims_of_the_dead_are_void_and_of_the_living_are_not(path, sleeper):
    with Store(path) as one, Store(path) as two:
        number = one.number_of(MATCH)
        assert one.claim(number, 30, 30) == range(30)
        pretend(one, sleeper.pid)
        assert two.claim(number, 30, 30) is None
        sleeper.kill()
        while Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)
        assert two.claim(number, 30, 10) == range(10)  # nobody has asked how it ended: a zombie
        pretend(two, os.getpid())
        sleeper.wait()
        with Store(path) as three:
            assert three.claim(number, 30, 30) == range(10, 30)


def test_a_process_with_the_number_of_a_dead_one_is_another_one(path, sleeper):
    with Store(path) as one, Store(path) as two:
        number = one.number_of(MATCH)
        one.claim(number, 30, 30)
        pretend(one, sleeper.pid, born="12")
        assert two.claim(number, 30, 30) == range(30)


def test_claims_of_another_machine_end_some_time(path, monkeypatch):
    now = [1e9]
    monkeypatch.setattr(store.time, "time", lambda: now[0])
    with Store(path) as one, Store(path) as two:
        number = one.number_of(MATCH)
        one.claim(number, 30, 10)
        now[0] += 100
        one.claim(number, 30, 10)
        pretend(one, 1, "1", host="elsewhere")
        now[0] += store._OTHER_HOST_SECONDS - 1
        assert two.claim(number, 30, 4) == range(20, 24)
        now[0] += 2
        assert two.claim(number, 30, 30) == range(20)

        # It was only slow: what it has played is not written twice, and it goes on.
        two.add(Batch(MATCH, 0, 20), number, played(20))
        assert not one.add(Batch(MATCH, 0, 10), number, played(10, 1e6))
        assert one.claim(number, 30, 30) == range(24, 30)
        assert np.array_equal(two.scores(number, 30), played(20).scores)


def test_a_late_program_does_not_take_away_the_claims_of_the_next(path):
    with Store(path) as late, Store(path) as next_one, Store(path) as third:
        number = late.number_of(MATCH)
        late.claim(number, 30, 5)
        pretend(late, 1, "gone long ago")
        assert next_one.claim(number, 30, 20) == range(20)
        assert late.add(Batch(MATCH, 0, 5), number, played(5))
        assert third.claim(number, 30, 30) == range(20, 30)


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["claim", "finish", "finish a part", "die", "write late"]),
        st.integers(0, 2),
        st.integers(1, 12),
    ),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(ACTS, st.integers(1, 40))
@example([("claim", 1, 1), ("claim", 0, 1), ("die", 0, 1), ("write late", 1, 1), ("claim", 0, 1)], 2)
def test_no_deal_is_claimed_by_two_and_all_are_played(tmp_path_factory, acts, deals):
    """Three programs claim, finish, die and come back; then one of them plays the rest."""
    folder = tmp_path_factory.mktemp("claims")
    path = folder / "results.db"
    programs, holds, lost, done = [], [[], [], []], [], {}

    def begin():
        kept = Store(path)
        kept._db.execute("PRAGMA synchronous = OFF")
        return kept

    def finish(kept, part):
        is_free = not set(part) & set(done)
        assert kept.add(Batch(MATCH, part.start, len(part)), number, played(len(part))) == is_free
        if is_free:
            done.update(dict.fromkeys(part, True))

    try:
        programs += [begin() for _ in range(3)]
        number = programs[0].number_of(MATCH)
        for act, i, n in acts:
            kept, mine = programs[i], holds[i]
            if act == "claim":
                found = kept.claim(number, deals, n)
                taken = {deal for parts in holds for part in parts for deal in part} | set(done)
                free = set(range(deals)) - taken
                if found is None:
                    assert not free
                else:
                    assert set(found) <= free
                    assert found.start == min(free)
                    assert len(found) <= n
                    mine.append(found)
            elif act.startswith("finish") and mine:
                part = mine.pop(n % len(mine))
                cut = part.stop if act == "finish" else part.start + (len(part) + 1) // 2
                finish(kept, range(part.start, cut))
                if cut < part.stop:
                    mine.append(range(cut, part.stop))
            elif act == "die":
                if kept._program is not None:
                    pretend(kept, 1, "gone long ago")
                kept._program = None  # a killed program gives nothing back
                kept.close()
                lost += mine
                programs[i], holds[i] = begin(), []
            elif act == "write late" and lost:
                finish(kept, lost.pop(n % len(lost)))  # its last batch was still on its way
        for kept in programs[1:]:
            kept.close()
        for part in holds[0]:
            finish(programs[0], part)
        while (found := programs[0].claim(number, deals, 7)) is not None:
            assert not set(found) & set(done)
            finish(programs[0], found)
        assert set(done) == set(range(deals))
        assert programs[0].finished(number, deals) == deals
        assert len(programs[0].scores(number, deals)) == deals
        batches = read(path, "SELECT first_deal, deals FROM batch")
        assert sorted(deal for first, n in batches for deal in range(first, first + n)) == list(range(deals))
        assert read(path, "SELECT * FROM claim") == []
    finally:
        for kept in programs:
            kept._program = None
            kept._db.close()
        shutil.rmtree(folder)
