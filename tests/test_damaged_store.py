"""Stores that lack their log, or hold what Kibitz would not have written: named, and not made worse."""

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from kibitz import experiments, records
from kibitz.arena import storefile
from kibitz.arena.executors import InProcess
from kibitz.arena.laboratory import Laboratory, Order
from kibitz.arena.play import Match
from kibitz.arena.store import Store
from kibitz.errors import Damaged, InputError, KibitzError
from kibitz.web import laboratory as pages_of
from kibitz.web.app import create_app
from tests.test_cli import call
from tests.test_store import MATCH, Batch, files, played, read

EXPERIMENT = """
name = "NAME"
game = "briskola"
games = GAMES

[match.a]
agents = ["rule-based", "random"]

[match.b]
agents = ["random", "rule-based"]
until = "decided"

[[row]]
match = "a"
measure = "win_rate"

[[row]]
match = "b"
"""


NAMES = ("karamatic", "second")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with two experiments on the same matches; one has the name of a published one."""
    path = tmp_path_factory.mktemp("whole") / "results.db"
    with Store(path) as kept:
        for name, games in zip(NAMES, ("6", "4"), strict=True):
            text = EXPERIMENT.replace("NAME", name).replace("GAMES", games)
            asked = experiments.read(text, f"{name}.toml")
            experiments.run(asked, kept, InProcess(), command=f"kibitz {name}", keep_moves=True)
    return path


@pytest.fixture
def path(whole, tmp_path):
    """A copy of it, to be damaged."""
    return Path(shutil.copy(whole, tmp_path / "results.db"))


def change(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement, *values in statements:
            db.execute(statement, values)


def run_with(**changes):
    """The row of the second experiment, with other values in `run`."""
    said = "UPDATE experiment SET run = json_set(run, '$.' || ?, json(?)) WHERE name = 'second'"
    return [(said, key, json.dumps(value)) for key, value in changes.items()]


SECOND, MATCH_2, BATCH = "row second", "row 2", "row (match 2, first_deal 0)"
DAMAGE = {
    "agents are no JSON": ([("UPDATE match SET agents = '[\"ran' WHERE id = 2",)], "match", MATCH_2),
    "agents are no texts": ([("UPDATE match SET agents = '[1, null]' WHERE id = 2",)], "match", MATCH_2),
    "half a character": ([("UPDATE match SET agents = '[\"\\ud800\"]' WHERE id = 2",)], "match", MATCH_2),
    "a game of bytes": ([("UPDATE match SET game = x'ff00fe' WHERE id = 2",)], "match", MATCH_2),
    "a game that is not text": (
        [("UPDATE match SET game = CAST(x'ff00fe' AS TEXT) WHERE id = 2",)],
        *("match", MATCH_2),
    ),
    "a seed below 0": ([("UPDATE match SET seed = -1 WHERE id = 2",)], "match", MATCH_2),
    "seatings of nobody": ([("UPDATE match SET seatings = '[[0, 7]]' WHERE id = 2",)], "match", MATCH_2),
    "no seatings": ([("UPDATE match SET seatings = '[]' WHERE id = 2",)], "match", MATCH_2),
    "many seats": ([("UPDATE match SET seats = 1e300 WHERE id = 2",)], "match", MATCH_2),
    "files that are a list": ([("UPDATE match SET files = '[]' WHERE id = 2",)], "match", MATCH_2),
    "deep JSON": ([("UPDATE match SET seatings = ? WHERE id = 2", "[" * 100_000)], "match", MATCH_2),
    "scores are no JSON": ([("UPDATE batch SET scores = '[1, 2' WHERE match = 2",)], "batch", BATCH),
    "a score too few": (
        [("UPDATE batch SET scores = json_remove(scores, '$[0]') WHERE match = 2",)],
        *("batch", BATCH),
    ),
    "a score that is a text": (
        [("UPDATE batch SET scores = json_set(scores, '$[0]', '7') WHERE match = 2",)],
        *("batch", BATCH),
    ),
    "a score without end": (
        [("UPDATE batch SET scores = replace(scores, '[', '[1e999,') WHERE match = 2",)],
        *("batch", BATCH),
    ),
    "deals that are a text": ([("UPDATE batch SET deals = 'x' WHERE match = 2",)], "batch", BATCH),
    "deals without end": ([("UPDATE batch SET deals = 9e999 WHERE match = 2",)], "batch", BATCH),
    "a deal twice": (
        [("UPDATE batch SET deals = 2 WHERE (match, first_deal) = (2, 0)",)],
        *("batch", "row (match 2, first_deal 1)"),
    ),
    "seconds are a text": ([("UPDATE batch SET seconds = 'x' WHERE match = 2",)], "batch", BATCH),
    "thoughts of others": (
        [("UPDATE batch SET thought = '{\"seconds\": [1, 2, 3]}' WHERE match = 2",)],
        *("batch", BATCH),
    ),
    "counts of nothing": ([("UPDATE batch SET counts = '{\"a\": 1}' WHERE match = 2",)], "batch", BATCH),
    "moves are no list": (
        [("UPDATE record SET moves = '{\"a\": 1}' WHERE (match, deal, seating) = (2, 0, 0)",)],
        *("record", "row (match 2, deal 0, seating 0)"),
    ),
    "a match that is gone": (
        [("PRAGMA foreign_keys = OFF",), ("DELETE FROM match WHERE id = 2",)],
        *("match", MATCH_2),
    ),
    "run is a list": ([("UPDATE experiment SET run = '[]' WHERE name = 'second'",)], "experiment", SECOND),
    "run is no JSON": ([("UPDATE experiment SET run = '{\"a' WHERE name = 'second'",)], "experiment", SECOND),
    "run has other keys": (run_with(colour=1), "experiment", SECOND),
    "numbers that do not exist": (run_with(numbers=[1, 99]), "match", "row 99"),
    "numbers of other matches": (run_with(numbers=[2, 1]), "match", MATCH_2),
    "too few numbers": (run_with(numbers=[1]), "experiment", SECOND),
    "numbers are texts": (run_with(numbers=["1", "2"]), "experiment", SECOND),
    "a factor that is none": (run_with(factor="x"), "experiment", SECOND),
    "a factor of 0": (run_with(factor=0), "experiment", SECOND),
    "versions are numbers": (run_with(versions={"kibitz": 1}), "experiment", SECOND),
    "a description of bytes": (
        [("UPDATE experiment SET description = x'ff' WHERE name = 'second'",)],
        *("experiment", SECOND),
    ),
    "an experiment without a name": (
        [("UPDATE experiment SET name = NULL WHERE name = 'second'",)],
        *("experiment", "row 2"),
    ),
}  # fmt: skip
ASKED = {
    "list": lambda kept: kept.matches(left_out=lambda _: None),
    "replay": lambda kept: [records.replay(kept, number, 0).to_dict() for number in kept.numbers()],
    "report": lambda kept: [result.to_dict() for result in experiments.results(kept)],
    "export": lambda kept: (kept.rows(), list(kept.results())),
    "files": lambda kept: kept.files(),
    "counts": lambda kept: [kept.counts(number, 9) for number in kept.numbers()],
    "dry run": lambda kept: experiments.dry_run(SECOND_ONE, kept, 1.0, None),
}
"""What the verbs that read ask of a store."""
SECOND_ONE = experiments.read(EXPERIMENT.replace("NAME", "second").replace("GAMES", "4"), "second.toml")


def ask(path, question, read_only=True):
    """The answer, or the text of an error of ours."""
    try:
        with Store(path, read_only) as kept:
            return question(kept)
    except KibitzError as error:
        return str(error)


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_row_is_named_and_hides_no_other(path, kind):
    statements, table, row = DAMAGE[kind]
    change(path, *statements)
    before = path.read_bytes()
    answers = [ask(path, question) for question in ASKED.values()]
    where = f"the store {path} is damaged: table {table}, {row}: "
    left_out = []
    with Store(path, read_only=True) as kept:
        found = [number for number, _, _, _ in kept.matches(left_out.append)]
        shown = [result.name for result in experiments.results(kept, (), left_out.append)]
        files_named = kept.files()
    assert any(where in text for text in [*left_out, *answers] if isinstance(text, str)), answers
    assert 1 in found
    assert set(shown) <= set(NAMES)
    assert files_named == {}
    pages = pages_of.experiments(path)
    assert len(pages) == 2 - (kind == "an experiment without a name")
    assert {page["name"] for page in pages if page["readable"]} >= set(shown)
    assert path.read_bytes() == before


VERBS = {
    "list": ("replay", "results.db"),
    "replay": ("replay", "results.db", "--match", 2),
    "report": ("report", "results.db", "--out", "report.html"),
    "export": ("export", "results.db", "results.csv"),
    "reproduce": ("reproduce", "--store", "results.db"),
    "dry run": ("experiment", "run", "second.toml", "--dry-run", "--store", "results.db"),
    "play on": ("match", "briskola", "random", "rule-based", "--seed", 1, "--store", "results.db"),
}


@pytest.mark.parametrize("kind", ["agents are no JSON", "deep JSON", "deals without end", "run is a list"])
def test_the_command_line_and_the_server_name_a_damaged_row(path, kind):
    statements, table, row = DAMAGE[kind]
    change(path, *statements)
    path.with_name("second.toml").write_text(SECOND_ONE.text)
    done = {name: call(*words, folder=path.parent) for name, words in VERBS.items()}
    assert not any("Traceback" in each.stderr for each in done.values())
    for name, each in done.items():
        named = f"results.db is damaged: table {table}, {row}: " in each.stderr
        assert each.returncode == 3 * (named and name not in ("list", "report", "reproduce"))
    assert any(f"table {table}, {row}" in each.stderr for each in done.values())
    with TestClient(create_app(path.parent / "tables", store=path), base_url="http://localhost") as client:
        assert len(client.get("/api/experiments").json()) == 2
        for page in ("/karamatic", "/second", "/karamatic/0.svg"):
            answer = client.get(f"/api/experiments{page}")
            assert answer.status_code in (200, 400, 404, 422), answer.text


def test_one_damaged_match_hides_no_other(path):
    change(path, ("UPDATE match SET agents = '[' WHERE id = 2",))
    listed = call("replay", path)
    assert listed.returncode == 0
    assert "kibitz: left out: the store" in listed.stderr
    assert "table match, row 2: agents is '[', not a list of texts" in listed.stderr
    assert [line[:2] for line in listed.stdout.splitlines()[1:]] == ["1:"]
    assert call("replay", path, "--match", 1).returncode == 0
    assert call("replay", path, "--match", 1, "--trust").returncode == 0
    other = call("replay", path, "--match", 2)
    assert other.returncode == 3
    assert "table match, row 2: agents" in other.stderr
    table = call("export", path, path.with_suffix(".csv"))  # a table that lacks rows would be taken for whole
    assert table.returncode == 3
    assert "table match, row 2: agents" in table.stderr
    assert not path.with_suffix(".csv").exists()


def test_one_damaged_experiment_hides_no_other(path):
    change(path, ("UPDATE experiment SET run = '[]' WHERE name = 'second'",))
    done = call("report", path, "--json")
    assert done.returncode == 0
    assert [each["name"] for each in json.loads(done.stdout)["experiments"]] == ["karamatic"]
    assert "second cannot be read and is left out: the store" in done.stderr
    assert call("report", path, "--json", "--experiment", "karamatic").stderr == ""
    named = call("report", path, "--json", "--experiment", "second")
    assert named.returncode == 3
    assert "table experiment, row second: run is '[]', not a JSON object" in named.stderr
    assert [(each["name"], each["readable"]) for each in pages_of.experiments(path)] == [
        ("karamatic", True),
        ("second", False),
    ]


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        ([("DROP TABLE record",)], r"table record is missing"),
        ([("DROP TABLE experiment",)], r"table experiment is missing"),
        (
            [("DROP VIEW result",), ("ALTER TABLE batch DROP COLUMN counts",)],
            r"table batch has other columns",
        ),
        ([("DROP TABLE record",), ("CREATE VIEW record AS SELECT 1",)], r"table record is missing"),
        ([("PRAGMA user_version = 1",)], r"table batch has other columns .* of version 1 \(user_version\)"),
        ([("PRAGMA user_version = 4",)], r"table match has other columns .* of version 4"),
        ([("PRAGMA user_version = 0",)], r"it has tables, but its user_version is 0"),
        ([("PRAGMA user_version = -3",)], r"it has tables, but its user_version is -3"),
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_tables_that_are_not_those_of_the_version(path, statements, says, read_only):
    change(path, *statements)
    before = files(path.parent)
    with pytest.raises(Damaged, match=rf"the store .*results\.db is damaged: {says}"):
        Store(path, read_only)
    assert files(path.parent) == before
    done = call("replay", path)
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_with_programs_of_its_own_is_refused(path, read_only):
    """With this one, whoever writes would play the same deals again and again."""
    change(path, ("CREATE TRIGGER lost AFTER INSERT ON batch BEGIN DELETE FROM batch; END",))
    with pytest.raises(Damaged, match=r"has triggers \('lost'\), which Kibitz does not make"):
        Store(path, read_only)


def test_an_older_store_with_tables_of_its_own_version_is_brought_up_to_date(tmp_path):
    path = tmp_path / "results.db"
    for version in range(1, len(storefile.MIGRATIONS)):
        with closing(sqlite3.connect(path)) as db:
            for script in storefile.MIGRATIONS[:version]:
                db.executescript(script)
            db.execute(f"PRAGMA application_id = {storefile._APPLICATION}")
            db.execute(f"PRAGMA user_version = {version}")
        with Store(path) as kept:
            assert kept.matches() == []
        path.unlink()


def test_damaged_claims_and_programs_are_named(path):
    for pid in ("y", 99_999_999_999):
        with Store(path) as kept:
            change(path, ("INSERT INTO program VALUES (7, 'x', ?, 'z')", pid))
            with pytest.raises(Damaged, match="table program, row 7: pid"):
                kept.claim(1, 100, 5)
    with Store(path) as kept:
        me = storefile.__name__
        change(path, ("INSERT INTO program VALUES (7, ?, 1, '')", me))
        change(path, ("INSERT INTO claim VALUES (1, 'x', 5, 7, 1e300)",))
        with pytest.raises(Damaged, match=r"table claim, row \(match 1, first_deal x\)"):
            kept.claim(1, 100, 5)
    with Store(path) as kept:  # nobody else has the store open, so nobody has claimed anything
        assert kept.claim(1, 100, 5) == range(3, 8)


VALUES = (
    *(None, "", "x", "[]", "{}", "[1]", "[[9]]", '["a"]', "[NaN]", '{"a": [1e999]}', "[" * 5000, "1" * 5000),
    *(-1, 0, 99, 1.5, (1 << 63) - 1, -(1 << 63), 1e300, b"\xff\xfe", '{"\\ud800": "x"}'),
)


@pytest.mark.parametrize("n", [20, pytest.param(1500, marks=pytest.mark.soak)])
def test_whatever_is_in_a_store_the_answer_is_right_or_an_error_of_ours(whole, tmp_path, n, monkeypatch):
    """Values that cannot be, and texts with some characters changed, anywhere."""
    monkeypatch.setattr("kibitz.arena.laboratory._POLL_SECONDS", 0.01)
    rng, path = random.Random(n), tmp_path / "results.db"
    columns = {table: [name for name, _, _ in found] for table, found in storefile._tables_of(5).items()}
    outcomes = []

    def play(kept):
        Laboratory(kept, InProcess(), True).run([Order(Match("briskola", ("rule-based", "random"), 1), 5)])

    for _ in range(n):
        shutil.copy(whole, path)
        table = rng.choice(["match", "batch", "record", "experiment", "experiment"])
        column = rng.choice(columns[table])
        with closing(sqlite3.connect(path)) as db:
            old = [value for (value,) in db.execute(f"SELECT {column} FROM {table}")]
            value = rng.choice(VALUES)
            if isinstance(old[-1], str) and rng.random() < 0.6:
                at = rng.randrange(len(old[-1]) + 1)
                new = rng.choice(["", "1e300", "-", "9", "[", "]", '"', ",", "null", "\x1b[2J", "="])
                value = old[-1][:at] + new + old[-1][at + rng.randrange(3) :]
            try:
                db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} IS ?", (value, old[-1]))
                db.commit()
            except sqlite3.IntegrityError:
                continue
        outcomes += [ask(path, question) for question in ASKED.values()]
        outcomes += [ask(path, lambda _, name=name: pages_of.experiment(path, name)) for name in NAMES]
        pages_of.experiments(path)
        outcomes.append(ask(path, play, read_only=False))
    assert any(isinstance(answer, str) and "damaged" in answer for answer in outcomes)
    assert not all(isinstance(answer, str) for answer in outcomes)
    assert not any("\n" in answer for answer in outcomes if isinstance(answer, str))


# --- the log -------------------------------------------------------------------------------------------


def killed(path, batches):
    """What a program leaves that is killed after so many batches: a file and its log."""
    with Store(path.with_name("living.db")) as kept:
        number = kept.number_of(MATCH)
        kept.claim(number, 1000, 1000)
        kept._db.execute("UPDATE program SET born = 'long ago'")
        for deal in range(batches):
            kept.add(Batch(MATCH, deal, 1), number, played(1, deal))
        for rest in ("", "-wal"):
            shutil.copy(f"{kept.path}{rest}", f"{path}{rest}")
    kept.path.unlink()
    return path.with_name(path.name + "-wal")


def finished(path):
    with Store(path, read_only=True) as kept:
        return kept.finished(1)


def test_the_file_alone_has_all_batches_but_the_last_few(tmp_path):
    path, copy = tmp_path / "results.db", tmp_path / "copy" / "results.db"
    copy.parent.mkdir()
    with Store(path) as kept:
        number = kept.number_of(MATCH)
        for deal in range(40):
            kept.claim(number, 1000, 1)
            kept.add(Batch(MATCH, deal, 1), number, played(1, deal))
            shutil.copy(path, copy)
            assert read(copy, "PRAGMA integrity_check") == [("ok",)]
            ((there,),) = read(copy, "SELECT count(*) FROM batch")
            assert there >= deal + 1 - 8
            for rest in ("-wal", "-shm"):  # what reading has made
                copy.with_name(copy.name + rest).unlink(missing_ok=True)


def test_a_reader_does_not_keep_batches_out_of_the_file(tmp_path):
    path, copy = tmp_path / "results.db", tmp_path / "copy.db"
    with Store(path) as kept, Store(path, read_only=True) as reader:
        number = kept.number_of(MATCH)
        kept.add(Batch(MATCH, 0, 1), number, played(1))
        rows = reader.results()
        next(rows)  # in the middle of an export
        for deal in range(1, 30):
            kept.add(Batch(MATCH, deal, 1), number, played(1))
        shutil.copy(path, copy)
        assert read(copy, "SELECT count(*) FROM batch")[0][0] >= 30 - 8
        assert len(list(rows)) == 4 * 30 - 1


def test_a_closed_store_is_one_file_whoever_is_the_last(tmp_path):
    path = tmp_path / "results.db"
    with Store(path) as writer:
        number = writer.number_of(MATCH)
        writer.add(Batch(MATCH, 0, 3), number, played(3))
        with Store(path, read_only=True) as reader:
            writer.close()
            assert reader.finished(number) == 3
        writer._db = sqlite3.connect(":memory:")  # it was closed already
    assert [file.name for file in tmp_path.iterdir()] == ["results.db"]
    assert read(path, "PRAGMA journal_mode") == [("delete",)]
    assert killed(path, 5).stat().st_size
    assert finished(path) == 5
    assert [file.name for file in tmp_path.iterdir()] == ["results.db"]
    with Store(path) as kept:
        assert kept.claim(1, 10, 10) == range(5, 10)


def test_without_its_log_a_store_is_read_with_a_warning_and_not_written(tmp_path):
    path = tmp_path / "results.db"
    log = killed(path, 30)
    kept_log = shutil.copy(log, tmp_path / "kept")
    log.unlink()
    before = files(tmp_path)
    says = (
        r"results\.db was not closed, and results\.db-wal, which may hold its newest batches, is missing; "
        r"copy it along"
    )
    for _ in range(2):
        with pytest.raises(InputError, match=f"{says}. If it is gone for good, or another program"):
            Store(path)
        for words in (("replay", path), ("export", path, path.with_suffix(".csv"))):
            done = call(*words)
            assert done.returncode == 0
            assert (
                "results.db-wal, which may hold its newest batches, is missing; copy it along" in done.stderr
            )
        assert 20 <= len(path.with_suffix(".csv").read_text().splitlines()) // 4 < 30
        path.with_suffix(".csv").unlink()
        done = call("match", "briskola", *MATCH.agents, "--games", 80, "--seed", 1, "--store", path)
        assert done.returncode == 3
        assert files(tmp_path) == before

    shutil.copy(kept_log, log)  # copied along
    with Store(path) as kept:
        assert kept.finished(1) == 30
    assert finished(path) == 30


def test_a_log_that_is_gone_for_good_can_be_given_up(tmp_path):
    path = tmp_path / "results.db"
    log = killed(path, 30)
    log.unlink()
    log.touch()
    with Store(path) as kept:
        there = kept.finished(1)
        assert 20 <= there < 30
        assert kept.claim(1, 30, 30) == range(there, 30)
    with Store(path) as kept:  # and that is all there is to it
        assert kept.finished(1) == there


def test_a_store_of_which_everything_is_in_the_log_is_not_begun_anew(tmp_path):
    """As the first version of Kibitz left them: tables and batches were in the log until it was closed."""
    path = tmp_path / "results.db"
    source = tmp_path / "source.db"
    with closing(sqlite3.connect(source, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        for script in storefile.MIGRATIONS:
            db.executescript(script)
        db.execute(f"PRAGMA application_id = {storefile._APPLICATION}")
        db.execute(f"PRAGMA user_version = {len(storefile.MIGRATIONS)}")
        for name in ("", "-wal"):
            shutil.copy(f"{source}{name}", f"{path}{name}")
    log = path.with_name("results.db-wal")
    assert path.stat().st_size == 4096
    content = log.read_bytes()
    log.unlink()
    for read_only in (True, False):
        with pytest.raises(
            InputError, match=r"results\.db is empty: its results are in results\.db-wal, which is"
        ):
            Store(path, read_only)
    done = call("match", "briskola", "random", "random", "--games", 2, "--store", path)
    assert done.returncode == 3
    assert "results.db-wal, which is missing; copy it along" in done.stderr
    assert path.stat().st_size == 4096
    log.write_bytes(content)
    with Store(path) as kept:
        assert kept.matches() == []


def test_a_log_without_its_file_is_not_thrown_away(tmp_path):
    path = tmp_path / "results.db"
    log = killed(path, 3)
    content = log.read_bytes()
    away = path.rename(tmp_path / "away")
    for begin in (lambda: None, path.touch):
        begin()
        with pytest.raises(InputError, match=r"but results\.db-wal, which belongs to it, is there"):
            Store(path)
        assert log.read_bytes() == content
    away.rename(path)
    assert finished(path) == 3


def test_a_copy_after_a_checkpoint_opens_as_any_other(tmp_path):
    path, copy = tmp_path / "results.db", tmp_path / "copy.db"
    killed(path, 12)
    Store(path).close()
    path.rename(copy)
    with Store(copy) as kept:
        assert kept.finished(1) == 12
    assert not kept.incomplete
