"""The laboratory: kill it, share it, enlarge it, change the code; the final table is always the same."""

import csv
import json
import os
import pkgutil
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import kibitz
from kibitz import records, trust
from kibitz.arena import laboratory, match, play
from kibitz.arena.executors import InProcess, Processes
from kibitz.arena.laboratory import Laboratory, Order
from kibitz.arena.play import Batch, Match
from kibitz.arena.statistics import looks
from kibitz.arena.store import Store
from kibitz.errors import BadOption, InputError, MissingExtra, Unwritable, install_command

EXAMPLE = Path(__file__).parents[1] / "examples" / "high_card.py"
trust.allow(str(EXAMPLE))
ORDERED = "SELECT * FROM result ORDER BY game, agents, seed, code, deal, seating, seat"
SAME = (
    *(ORDERED, "SELECT * FROM match", "SELECT * FROM record"),
    "SELECT name, description, json_remove(run, '$.command') FROM experiment",  # it names the store
)
PATIENCE = 120.0  # seconds, for what must happen some time

EXPERIMENT = """
name = "killed"
question = "Does it come to the same in the end?"
game = "briskola"
seed = 5

[match.search]
agents = ["ismcts:{n}", "random"]
grid.n = [100, 150, 200]
games = 400

[match.close]
agents = ["rule-based", "flat:20"]
games = 500
until = "decided"

[match.three]
game = "briskola:seats=3"
agents = ["rule-based", "random"]
games = 90

[[row]]
match = "search"
measure = "win_rate"

[[row]]
match = "close"
measure = "lead"

[[row]]
match = "three"
"""


def read(path, query):
    """As another program sees the file, which is left as it is."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
        return db.execute(query).fetchall()


def batches(path):
    """(match, first deal) → all that is written of a batch; empty while there is no store."""
    try:
        return {row[:2]: row[2:] for row in read(path, "SELECT * FROM batch")}
    except sqlite3.OperationalError:
        return {}


def python(before, *arguments):
    """The command line of Kibitz, after some lines of Python."""
    code = f"import sys\n{before}\nfrom kibitz.cli import main\nmain()"
    return [sys.executable, "-c", code, *map(str, arguments)]


def run(*arguments, before="", **options):
    return subprocess.run(python(before, *arguments), capture_output=True, text=True, **options)


@pytest.fixture
def start():
    """Starts programs, and ends those that are still there when a test is over."""
    started = []

    def begin(*arguments, before=""):
        program = subprocess.Popen(
            python(before, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(program)
        return program

    yield begin
    for program in started:
        program.kill()
        program.communicate()


def wait_until(happens, program):
    """Whether something happened before the program ended."""
    deadline = time.monotonic() + PATIENCE
    while not happens():
        if program.poll() is not None:
            return False
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
    return True


# --- kill -9 -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The experiment as it should come out: one process, nobody kills anything."""
    folder = tmp_path_factory.mktemp("undisturbed")
    file, store = folder / "killed.toml", folder / "results.db"
    file.write_text(EXPERIMENT)
    done = run("experiment", "run", file, "--store", store, "--jobs", 1, "--moves")
    assert done.returncode == 0, done.stderr
    return SimpleNamespace(file=file, store=store, text=done.stdout, **tables_of(store))


def tables_of(store):
    """What the verbs say about a finished store."""
    out = store.with_suffix(".csv")
    assert run("export", store, out).returncode == 0
    (result,) = json.loads(run("report", store, "--json").stdout)["experiments"]
    del result["core_seconds"], result["command"]  # what was measured, and the name of the store
    return {"csv": out.read_bytes(), "json": result}


def without_time(text):
    return re.sub(r", [^,]* of one core\n", "\n", text)


def assert_same(store, undisturbed):
    assert read(store, "PRAGMA integrity_check") == [("ok",)]
    for query in SAME:
        assert read(store, query) == read(undisturbed.store, query)
    assert tables_of(store) == {"csv": undisturbed.csv, "json": undisturbed.json}
    total = sum(row[0] for row in batches(store).values())
    assert total == sum(row[0] for row in batches(undisturbed.store).values())


TEN_TIMES = (3, (1, 2, 2, 3, 4, 5, 6))


@pytest.mark.parametrize(
    ("seed", "starts", "written"),
    [pytest.param(n, *TEN_TIMES, marks=pytest.mark.soak) for n in range(1, 8)],
)
def test_a_program_killed_again_and_again_comes_to_the_same_table(
    tmp_path, undisturbed, start, seed, starts, written
):
    """Some times while it starts, and some after it has written so many batches."""
    rng = random.Random(seed)
    store = tmp_path / "results.db"
    words = ("experiment", "run", undisturbed.file, "--store", store, "--jobs", 2, "--moves")
    moments = [
        *(("start", rng.uniform(0, 1.5)) for _ in range(starts)),
        *(("batches", n) for n in written),
    ]
    rng.shuffle(moments)
    hits = 0
    for kind, value in moments:
        before = batches(store)
        program = start(*words)
        if kind == "start":
            time.sleep(value)
        else:
            goal = len(before) + value
            assert wait_until(lambda goal=goal: len(batches(store)) >= goal, program)
            time.sleep(rng.uniform(0, 0.15))
        program.kill()
        _, errors = program.communicate(timeout=PATIENCE)  # its workers hold the pipes: they have left, too
        assert program.returncode == -signal.SIGKILL, errors
        after = batches(store)
        assert before.items() <= after.items()
        assert not store.exists() or read(store, "PRAGMA integrity_check") == [("ok",)]
        hits += len(before) < len(after)
    assert hits >= len(written) - 2
    program = start(*words)
    text, errors = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0, errors
    assert len(batches(store)) > len(after), "all was done before the last run"
    assert after.items() <= batches(store).items()
    assert without_time(text) == without_time(undisturbed.text)
    assert_same(store, undisturbed)


@pytest.mark.parametrize(
    ("kills", "words"),
    [
        (6, ["--remove-log"]),
        pytest.param(100, [], marks=pytest.mark.soak),
        pytest.param(100, ["--remove-log"], marks=pytest.mark.soak),
    ],
)
def test_two_writers_killed_again_and_again_lose_and_double_nothing(tmp_path, kills, words):
    done = subprocess.run(
        [sys.executable, "-m", "tests.killing", tmp_path / "results.db", str(kills), "1", *words],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["kills"] >= kills
    assert figures["both at once"] >= kills // 6
    assert figures["logs removed"] == figures["both at once"] * bool(words)
    assert figures["batches"] > kills


def workers_of(program):
    """The numbers of the worker processes of a program."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == program.pid and b"spawn_main" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except (OSError, ValueError, IndexError):
            continue  # no process, or gone by now
    return found


@pytest.mark.parametrize(
    ("seed", "most"), [(1, 2), *(pytest.param(n, 4, marks=pytest.mark.soak) for n in range(1, 8))]
)
def test_killed_workers_change_nothing(tmp_path, undisturbed, start, seed, most):
    rng = random.Random(seed)
    store = tmp_path / "results.db"
    program = start("experiment", "run", undisturbed.file, "--store", store, "--jobs", 2, "--moves")
    kills = 0
    while kills < most:
        written = len(batches(store))
        if not wait_until(lambda n=written: len(batches(store)) > n and workers_of(program), program):
            break
        time.sleep(rng.uniform(0, 0.2))
        with suppress(IndexError, ProcessLookupError):  # they have ended in the meantime
            os.kill(rng.choice(workers_of(program)), signal.SIGKILL)
            kills += 1
    assert kills >= most // 2
    text, errors = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0, errors
    assert without_time(text) == without_time(undisturbed.text)
    assert_same(store, undisturbed)


def test_workers_that_always_die_end_the_program_with_a_message(tmp_path):
    file, store = tmp_path / "deadly.py", tmp_path / "results.db"
    doom = (
        "import multiprocessing, os\n"
        "if 'DOOM' in os.environ and multiprocessing.parent_process():\n    os._exit(9)\n"
    )
    file.write_text(EXAMPLE.read_text().replace("import numpy", doom + "import numpy", 1))
    slow = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # a few games need no machine code
    words = ("match", file, "random", "random", "--games", 40, "--jobs", 2, "--store", store, "--json")
    done = run(*words, env={**slow, "DOOM": "1"})
    assert done.returncode == 3, done.stderr
    assert "worker processes ended 4 times without finishing anything" in done.stderr
    assert "Traceback" not in done.stderr
    there = batches(store)
    assert there
    done = run(*words, env=slow)
    assert done.returncode == 0, done.stderr
    assert there.items() < batches(store).items()
    assert json.loads(done.stdout)["games"] == 40


# --- two programs on one store -----------------------------------------------------------------------

LOGGED = """
import time
from pathlib import Path
from kibitz.arena.store import Store
log, go = open(sys.argv.pop(1), "w", buffering=1), Path(sys.argv.pop(1))
add = Store.add
def logged(self, batch, number, played, host=""):
    is_new = add(self, batch, number, played, host)
    print(number, batch.first_deal, batch.deals, file=log)
    return is_new
Store.add = logged
print("ready", file=log)
while not go.exists():
    time.sleep(0.001)
"""


def test_two_programs_on_one_store_share_the_work(tmp_path, undisturbed, start):
    store, go = tmp_path / "results.db", tmp_path / "go"
    logs = [tmp_path / name for name in ("one.log", "two.log")]
    words = ("experiment", "run", undisturbed.file, "--store", store, "--jobs", 1, "--moves")
    programs = [start(log, go, *words, before=LOGGED) for log in logs]
    for log, program in zip(logs, programs, strict=True):
        assert wait_until(lambda log=log: log.exists() and log.read_text(), program)
    go.touch()
    for program in programs:
        text, errors = program.communicate(timeout=PATIENCE)
        assert program.returncode == 0, errors
        assert without_time(text) == without_time(undisturbed.text)
    assert_same(store, undisturbed)

    played = [
        (number, deal)
        for log in logs
        for number, first, deals in (map(int, line.split()) for line in log.read_text().splitlines()[1:])
        for deal in range(first, first + deals)
    ]
    assert len(played) == len(set(played)), "a deal was played twice"
    wanted = read(store, "SELECT match, first_deal, deals FROM batch")
    assert sorted(played) == sorted(
        (n, deal) for n, first, deals in wanted for deal in range(first, first + deals)
    )
    assert all(len(log.read_text().splitlines()) > 1 for log in logs), "one of them did everything"


HANGS = """
import time
from kibitz.arena.play import Batch
play, batches = Batch.play, []
def hang(batch):
    batches.append(batch)
    if len(batches) == 3:
        print("hangs", flush=True)
        time.sleep(1000)
    return play(batch)
Batch.play = hang
"""


def test_the_work_of_a_killed_program_is_taken_over_by_one_that_waits(tmp_path, start, monkeypatch):
    monkeypatch.setattr(laboratory, "_POLL_SECONDS", 0.05)
    store, agents = tmp_path / "results.db", ["rule-based", "random"]
    first = start("match", "briskola", *agents, "--games", 80, "--store", store, before=HANGS)
    assert first.stdout.readline() == "hangs\n"
    ((start_of_claim, deals),) = read(store, "SELECT first_deal, deals FROM claim")
    claimed = set(range(start_of_claim, start_of_claim + deals))
    done_by_first = {deal for (_, n), row in batches(store).items() for deal in range(n, n + row[0])}
    left = claimed - done_by_first
    assert left
    waited = []

    def watch(done, total):
        if done == total - 2 * len(left):
            waited.append(done)
            if len(waited) == 4:
                first.kill()  # and nobody asks how it ended: it stays as a zombie

    result = kibitz.match("briskola", agents, 80, store=store, progress=watch)
    assert len(waited) >= 4
    assert result.complete
    assert np.array_equal(result.returns, kibitz.match("briskola", agents, 80).returns)
    assert sum(row[0] for row in batches(store).values()) == 40
    assert read(store, "SELECT * FROM claim") == []


# --- the same for everybody --------------------------------------------------------------------------

MIXED = [
    Order(Match("briskola", ("ismcts:20", "random"), 3), 20),
    Order(Match("briskola", ("rule-based", "flat:20"), 3), 250, until_decided=True),
    Order(Match("briskola:seats=3", ("rule-based", "random"), 3), 12),
    Order(Match("briskola:seats=4", ("rule-based", "random"), 3), 12),
    Order(Match(str(EXAMPLE), ("flat:5", "random"), 3), 12),
]


def test_the_same_rows_for_one_process_and_for_two(tmp_path):
    stores, taken = [tmp_path / "one.db", tmp_path / "two.db"], []
    for path, workers in zip(stores, (InProcess(), Processes(2)), strict=True):
        with Store(path) as kept, workers:
            taken.append(Laboratory(kept, workers, keep_moves=True).run(MIXED))
            records.export(kept, path.with_suffix(".csv"))
            records.export(kept, path.with_suffix(".parquet"))
    assert taken[0] == taken[1]
    assert taken[0][1] in looks(250)[1:-1], "a match that ends at the first look shows nothing"
    assert [*taken[0][:1], *taken[0][2:]] == [20, 12, 12, 12]
    for query in SAME:
        assert read(stores[0], query) == read(stores[1], query)
    for kind in (".csv", ".parquet"):
        assert len({path.with_suffix(kind).read_bytes() for path in stores}) == 1


class Watched(InProcess):
    """Remembers what was played."""

    def __init__(self):
        self.deals = []

    def run(self, all_batches):
        for batch, played, host in super().run(all_batches):
            self.deals += range(batch.first_deal, batch.first_deal + batch.deals)
            yield batch, played, host


def test_a_larger_order_plays_only_what_is_missing(tmp_path):
    wanted, path = Match("briskola", ("rule-based", "random"), 2), tmp_path / "results.db"
    for deals, new in ((10, range(10)), (10, ()), (4, ()), (25, range(10, 25))):
        watched = Watched()
        with Store(path) as kept:
            assert Laboratory(kept, watched).run([Order(wanted, deals)]) == [deals]
        assert watched.deals == list(new)
    with Store(path) as kept:
        assert np.array_equal(kept.scores(1, 25), match.match("briskola", wanted.agents, 50, 2).returns)


def test_deals_of_another_seed_or_order_of_agents_are_others(tmp_path):
    with Store(tmp_path / "results.db") as kept:
        for wanted in (
            Match("briskola", ("rule-based", "random"), 2),
            Match("briskola", ("random", "rule-based"), 2),
            Match("briskola", ("rule-based", "random"), 3),
            Match("briskola:seats=4", ("rule-based", "random"), 2),
        ):
            watched = Watched()
            Laboratory(kept, watched).run([Order(wanted, 3)])
            assert watched.deals == [0, 1, 2]


def test_the_same_match_twice_in_one_order_is_played_once(tmp_path):
    wanted, watched = Match("briskola", ("rule-based", "random"), 2), Watched()
    with Store() as kept:
        assert Laboratory(kept, watched).run([Order(wanted, 5), Order(wanted, 9)]) == [5, 9]
    assert sorted(watched.deals) == list(range(9))


def test_an_undecided_match_goes_to_its_limit_and_a_decided_one_to_a_look():
    equal = match.match("briskola", ["random", "random"], 200, seed=1, until_decided=True)
    assert (equal.deals, equal.decided) == (100, False)
    clear = match.match("briskola", ["rule-based", "random"], 2000, seed=1, until_decided=True)
    assert clear.decided
    assert clear.deals in looks(1000)[:-1]
    before = looks(1000)[: looks(1000).index(clear.deals)]
    for deals in before:
        assert not laboratory.is_decided(
            Match("briskola", ("rule-based", "random"), 1), clear.returns[:deals]
        )
    assert clear.differences[0].low > 0


@pytest.fixture
def nobody_else(monkeypatch):
    """Nobody else plays, so there is nobody to wait for."""

    def wait(seconds):
        raise AssertionError("it waits for itself")

    monkeypatch.setattr(laboratory, "time", SimpleNamespace(sleep=wait))


class Stop(Exception):
    pass


@pytest.mark.parametrize("error", [KeyboardInterrupt, Stop])
def test_an_interrupted_sequential_match_stops_at_the_same_deal(tmp_path, nobody_else, monkeypatch, error):
    """Interrupted after every few batches, in one open store or in a store opened again."""
    # Short enough for many batches, though compiled policies play a hundred deals in a millisecond.
    monkeypatch.setattr(laboratory, "_BATCH_SECONDS", 0.001)
    order = MIXED[1]
    with Store() as kept:
        (undisturbed,) = Laboratory(kept, InProcess()).run([order])
        expected = list(kept.results())
    assert looks(order.deals)[0] < undisturbed < order.deals
    for reopened in (True, False):
        path, interrupts, taken = tmp_path / f"{reopened}.db", 0, None
        kept = Store(path)
        while taken is None:
            calls = []

            def interrupt(done, total, calls=calls):
                calls.append(done)
                if len(calls) == 5:
                    raise error

            try:
                (taken,) = Laboratory(kept, InProcess()).run([order], interrupt)
            except error:
                interrupts += 1
                if reopened:
                    kept.close()
                    kept = Store(path)
        assert interrupts >= 3
        assert taken == undisturbed
        assert list(kept.results()) == expected
        kept.close()


def test_a_sequential_match_looks_at_the_same_deals_if_more_are_there(tmp_path):
    order = MIXED[1]
    with Store() as kept:
        (alone,) = Laboratory(kept, InProcess()).run([order])
    with Store() as kept:
        Laboratory(kept, InProcess()).run([Order(order.match, order.deals)])
        watched = Watched()
        assert Laboratory(kept, watched).run([order]) == [alone]
        assert watched.deals == []


def test_progress_counts_the_games_that_are_there_already(tmp_path):
    wanted = Match("briskola", ("rule-based", "random"), 2)
    with Store() as kept:
        Laboratory(kept, InProcess()).run([Order(wanted, 5)])
        told = []
        Laboratory(kept, InProcess()).run([Order(wanted, 20)], lambda *numbers: told.append(numbers))
    assert {total for _, total in told} == {40}
    assert told[0][0] > 10
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert told[-1][0] == 40


# --- changed code ------------------------------------------------------------------------------------

CODE = (
    "import sys\nfrom kibitz import trust\nfrom kibitz.arena.play import Match\ntrust.allow(*sys.argv[1:])\n"
    "print(*(Match(game, ('flat:5', 'random'), 1).code for game in sys.argv[1:]))"
)


def test_the_code_of_a_match_is_the_same_in_every_process():
    here = [Match(game, ("flat:5", "random"), 1).code for game in ("briskola", str(EXAMPLE))]
    names = [m.name for m in pkgutil.walk_packages(kibitz.__path__, "kibitz.") if "__main__" not in m.name]
    assert len(names) > 20
    for imports in ("", "".join(f"import {name}\n" for name in names)):
        there = subprocess.check_output(
            [sys.executable, "-c", imports + CODE, "briskola", EXAMPLE], text=True
        )
        assert there.split() == here
    assert len(set(here)) == 2


def test_a_worker_with_other_code_refuses():
    wanted = Match("briskola", ("random", "random"), 1)
    assert Batch(wanted, 0, 1, code=wanted.code).play().scores.shape == (1, 2, 2)
    with pytest.raises(InputError, match="other code for briskola"):
        Batch(wanted, 0, 1, code="0123456789abcdef").play()


EDITS = {
    "nothing": ("", "", True),
    "a comment": ("  # where a card can be, besides the hand of seat 0 or 1", "  # cards", True),
    "a docstring": ('"""High Card: two seats', '"""A game: two seats', True),
    "a new docstring": (
        "    def mover(game, state):\n",
        '    def mover(game, state):\n        """Who is next."""\n',
        True,
    ),
    "white space": ("HAND = 12, 4\n", "HAND  =  12,  4\n\n\n", True),
    "a number": ("CARDS, HAND = 12, 4", "CARDS, HAND = 12, 3", False),
    "a rule": ("card > state.led", "card < state.led", False),
    "an added statement": (
        "        state.place[card] = PLAYED\n",
        "        state.place[card] = PLAYED\n        pass\n",
        False,
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_only_what_decides_games_is_part_of_the_code(tmp_path, edit):
    file, text = tmp_path / "high_card.py", EXAMPLE.read_text()
    old, new, is_same = EDITS[edit]
    assert old in text
    codes = []
    for version in (text, text.replace(old, new, 1) if old else text):
        file.write_text(version)
        for name in [name for name, m in sys.modules.items() if getattr(m, "__file__", "") == str(file)]:
            del sys.modules[name]
        play._code_of.cache_clear()  # as in a new process
        trust.allow(str(file))
        codes.append(Match(str(file), ("flat:5", "random"), 1).code)
    assert (codes[0] == codes[1]) == is_same


def test_agents_are_part_of_the_code():
    agents = ["flat:5", "flat:6", "ismcts:5", "ismcts:5,c=0.9", "random", "rule-based"]
    codes = [Match("briskola", (agent, "random"), 1).code for agent in agents]
    assert len(set(codes)) == len(agents)


def test_results_of_changed_rules_are_kept_apart(tmp_path):
    file, store = tmp_path / "high_card.py", tmp_path / "results.db"
    slow = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # a few games need no machine code
    words = ("match", file, "random", "random", "--games", 40, "--store", store, "--json")
    tables = []
    for old, new in (("", ""), ("card > state.led", "card < state.led"), ("# n random", "# so many random")):
        file.write_text(EXAMPLE.read_text().replace(old, new, 1) if old else EXAMPLE.read_text())
        done = run(*words, env=slow)
        assert done.returncode == 0, done.stderr
        tables.append((json.loads(done.stdout)["agents"], read(store, ORDERED)))
    first, changed, commented = tables
    assert len({row[3] for row in first[1]}) == 1
    assert len({row[3] for row in changed[1]}) == 2
    assert set(first[1]) < set(changed[1])
    assert len(changed[1]) == 2 * len(first[1])
    assert first[0] != changed[0]
    assert commented[0] == first[0]
    assert commented[1] == changed[1]


# --- records -----------------------------------------------------------------------------------------


def test_kept_moves_replay_to_the_stored_scores(tmp_path):
    with Store(tmp_path / "results.db") as kept:
        Laboratory(kept, InProcess(), keep_moves=True).run(MIXED)
        for number, wanted, _, deals in kept.matches():
            for deal in (0, deals - 1):
                scores = kept.scores_of_deal(number, deal)
                for seating in range(wanted.games_a_deal):
                    record = records.replay(kept, number, deal, seating)
                    assert record.is_kept
                    assert record.end.is_over
                    assert record.end.returns() == scores[seating].tolist()
                    assert [move.move for move in record.moves] == kept.moves(number, deal, seating)
                    agents = [wanted.agents[a] for a in wanted.places[seating]]
                    assert record.agents == agents
                    assert all(move.agent == agents[move.seat] for move in record.moves)


def test_games_whose_moves_were_not_kept_are_played_again():
    order = Order(Match("briskola", ("ismcts:20,keep=true,infosets=full", "flat:4"), 7), 6)
    with Store() as bare, Store() as full:
        Laboratory(bare, InProcess()).run([order])
        Laboratory(full, InProcess(), keep_moves=True).run([order])
        for deal in range(6):
            for seating in range(2):
                assert bare.moves(1, deal, seating) is None
                again, kept = (records.replay(store, 1, deal, seating) for store in (bare, full))
                assert not again.is_kept
                assert again.to_dict() == {**kept.to_dict(), "kept": False}


@pytest.fixture
def one_game():
    """A store with one deal and its moves."""
    with Store() as kept:
        order = Order(Match("briskola", ("rule-based", "random"), 4), 1)
        Laboratory(kept, InProcess(), keep_moves=True).run([order])
        yield kept


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda moves: [*moves[:3], *moves[4:]], "not legal"),
        (lambda moves: [moves[1], moves[0], *moves[2:]], "not legal"),
        (lambda moves: [*moves, moves[0]], "not legal"),
        (lambda moves: [99, *moves[1:]], "not legal"),
        (lambda moves: [-1, *moves[1:]], "not legal"),
        (lambda moves: ["x", *moves[1:]], "not a list of whole numbers"),
        (lambda moves: moves[:-2], "ends before the game"),
        (lambda moves: [], "ends before the game"),
    ],
)
def test_changed_moves_are_noticed(one_game, change, says):
    moves = one_game.moves(1, 0, 0)
    one_game._db.execute("UPDATE record SET moves = ? WHERE seating = 0", (json.dumps(change(moves)),))
    with pytest.raises(InputError, match=says):
        records.replay(one_game, 1, 0, 0)
    assert records.replay(one_game, 1, 0, 1).is_kept


def test_a_record_without_its_last_trick_is_noticed_though_the_score_fits():
    with Store() as kept:
        order = Order(Match("briskola", ("random", "random"), 4), 40)
        Laboratory(kept, InProcess(), keep_moves=True).run([order])
        worthless = 0
        for deal in range(40):
            record = records.replay(kept, 1, deal)
            before_last = record.moves[-2].state
            worthless += before_last.returns() == record.end.returns()
            short = json.dumps([move.move for move in record.moves[:-2]])
            kept._db.execute("UPDATE record SET moves = ? WHERE deal = ? AND seating = 0", (short, deal))
            with pytest.raises(InputError, match="ends before the game"):
                records.replay(kept, 1, deal)
        assert worthless


@pytest.mark.parametrize("keep_moves", [True, False])
def test_changed_scores_are_noticed(keep_moves):
    with Store() as kept:
        order = Order(Match("briskola", ("rule-based", "random"), 4), 1)
        Laboratory(kept, InProcess(), keep_moves).run([order])
        kept._db.execute("UPDATE batch SET scores = replace(scores, '[', '[1')")
        with pytest.raises(InputError, match="but the store says"):
            records.replay(kept, 1, 0, 0)
        assert records.replay(kept, 1, 0, 1).end.is_over


def test_what_is_not_in_the_store_cannot_be_replayed(one_game):
    for number, deal, seating, says in (
        (2, 0, 0, "no match 2 in the store; available: 1"),
        (1, 1, 0, "deal 1 of match 1 is not in the store"),
        (1, 0, 2, "no seating 2; .* 0 to 1"),
        (1, 0, -1, "no seating -1"),
    ):
        with pytest.raises(BadOption, match=says):
            records.replay(one_game, number, deal, seating)


# --- tables ------------------------------------------------------------------------------------------


@pytest.fixture
def mixed():
    with Store() as kept:
        Laboratory(kept, InProcess()).run([MIXED[0], *MIXED[2:]])
        yield kept


def test_a_csv_file_holds_all_rows(tmp_path, mixed):
    out, told = tmp_path / "results.csv", []
    assert records.export(mixed, out, lambda *numbers: told.append(numbers)) == mixed.rows()
    with out.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == records.COLUMNS
    assert rows == [[str(value) for value in row] for row in mixed.results()]
    assert told == [(mixed.rows(), mixed.rows())]
    assert list(tmp_path.iterdir()) == [out]


def test_a_parquet_file_holds_the_same_rows(tmp_path, mixed, monkeypatch):
    import pyarrow.parquet

    for rows_at_once in (100_000, 7):  # in several parts, too
        monkeypatch.setattr(records, "_ROWS_AT_ONCE", rows_at_once)
        out = tmp_path / f"{rows_at_once}.parquet"
        assert records.export(mixed, out) == mixed.rows()
        table = pyarrow.parquet.read_table(out)
        assert tuple(table.column_names) == records.COLUMNS
        assert [tuple(row.values()) for row in table.to_pylist()] == list(mixed.results())


def test_an_empty_store_gives_an_empty_table(tmp_path):
    import pyarrow.parquet

    with Store() as kept:
        assert records.export(kept, tmp_path / "none.csv") == 0
        assert records.export(kept, tmp_path / "none.parquet") == 0
    assert (tmp_path / "none.csv").read_text() == ",".join(records.COLUMNS) + "\n"
    assert pyarrow.parquet.read_table(tmp_path / "none.parquet").num_rows == 0


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_export_leaves_no_half_file(tmp_path, mixed, monkeypatch, kind, error):
    monkeypatch.setattr(records, "_ROWS_AT_ONCE", 10)
    out = tmp_path / f"results.{kind}"

    def interrupt(done, total):
        if done >= 50:
            raise error

    raised = Unwritable if isinstance(error, OSError) else error
    with pytest.raises(raised):
        records.export(mixed, out, interrupt)
    assert list(tmp_path.iterdir()) == []
    out.write_text("from before")
    with pytest.raises(raised):
        records.export(mixed, out, interrupt)
    assert list(tmp_path.iterdir()) == [out]
    assert out.read_text() == "from before"


def test_a_killed_export_leaves_the_file_from_before(tmp_path):
    store, out = tmp_path / "results.db", tmp_path / "results.csv"
    kibitz.match("briskola", ["random", "random"], 40, store=store)
    out.write_text("from before")
    killed = run(
        "export", store, out,
        before=(
            "import os, signal\nfrom kibitz import records\nfrom pathlib import Path\n"
            "Path.replace = lambda self, target: os.kill(os.getpid(), signal.SIGKILL)"
        ),
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL
    assert out.read_text() == "from before"
    assert run("export", store, out).returncode == 0
    assert len(out.read_text().splitlines()) == 81
    assert sorted(path.name for path in tmp_path.glob("*.csv*")) == ["results.csv"]


def test_without_the_library_parquet_is_an_extra(tmp_path, mixed, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("parquet"))):
        records.export(mixed, tmp_path / "results.parquet")
    assert list(tmp_path.iterdir()) == []
    assert records.export(mixed, tmp_path / "results.csv") == mixed.rows()

    store = tmp_path / "results.db"
    kibitz.match("briskola", ["random", "random"], 4, store=store)
    done = run("export", store, tmp_path / "other.parquet", before='sys.modules["pyarrow"] = None')
    assert done.returncode == 4
    assert install_command("parquet") in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("other*"))


def test_a_table_is_csv_or_parquet_in_a_folder_that_is_there(tmp_path, mixed):
    with pytest.raises(BadOption, match=r"neither .csv nor .parquet"):
        records.export(mixed, tmp_path / "results.xlsx")
    for name in ("results.csv", "results.parquet"):
        with pytest.raises(Unwritable, match="cannot be written"):
            records.export(mixed, tmp_path / "nowhere" / name)
    assert list(tmp_path.iterdir()) == []
