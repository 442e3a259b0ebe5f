"""The file of a store: an SQLite database that outlives crashes, and of which nothing goes missing unsaid.

While programs write, the newest pages are in a log beside the file (`-wal`). They are copied into the file
after every few batches, and whoever closes the store last removes the log: a closed store is one file. So a
file that says that it has a log, where there is none, lacks its newest batches. It can be read, but nothing
is written into it, for then the log could not be put back.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from kibitz.errors import Damaged, InputError, Unwritable, quoted

_APPLICATION = 0x4B494249  # "KIBI", in the header of the file

# Script number n makes a store of version n from one of version n − 1.
MIGRATIONS = (
    """
CREATE TABLE match (
    id INTEGER PRIMARY KEY,
    game TEXT NOT NULL,
    agents TEXT NOT NULL,           -- JSON: the strings, in order
    seed INTEGER NOT NULL,
    rotate INTEGER NOT NULL,        -- whether a deal is played in every seating
    code TEXT NOT NULL,             -- a digest of the rules and agents that played
    seatings TEXT NOT NULL,         -- JSON: of every game of a deal, which agent has which seat
    seats INTEGER NOT NULL,
    UNIQUE (game, agents, seed, rotate, code)
);
CREATE TABLE batch (
    match INTEGER NOT NULL REFERENCES match (id),
    first_deal INTEGER NOT NULL,
    deals INTEGER NOT NULL,
    scores TEXT NOT NULL,           -- JSON: one number a seat, seating by seating, deal by deal
    seconds REAL NOT NULL,          -- of one core
    thought TEXT NOT NULL,          -- JSON: seconds, decisions and iterations of every agent
    host TEXT NOT NULL,
    finished TEXT NOT NULL,         -- UTC
    PRIMARY KEY (match, first_deal)
);
CREATE TABLE program (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    born TEXT NOT NULL              -- tells a process from a later one with the same number
);
CREATE TABLE claim (
    match INTEGER NOT NULL REFERENCES match (id),
    first_deal INTEGER NOT NULL,
    deals INTEGER NOT NULL,
    program INTEGER NOT NULL REFERENCES program (id) ON DELETE CASCADE,
    made REAL NOT NULL,             -- seconds since 1970
    PRIMARY KEY (match, first_deal)
);
CREATE TABLE experiment (
    name TEXT PRIMARY KEY,
    description TEXT NOT NULL,      -- TOML
    run TEXT NOT NULL               -- JSON: size, seed, command, versions, matches
);
CREATE VIEW result AS               -- one row for every seat of every game
SELECT m.game, m.agents, m.seed, m.code,
       b.first_deal + s.key / (m.seats * json_array_length(m.seatings)) AS deal,
       s.key / m.seats % json_array_length(m.seatings) AS seating,
       s.key % m.seats AS seat,
       json_extract(m.agents, '$[' || json_extract(m.seatings, '$[' || (s.key / m.seats
           % json_array_length(m.seatings)) || '][' || (s.key % m.seats) || ']') || ']') AS agent,
       s.value AS score
FROM batch b JOIN match m ON m.id = b.match, json_each(b.scores) s;
""",
    """
CREATE TABLE record (               -- the moves of games, where they were asked for
    match INTEGER NOT NULL REFERENCES match (id),
    deal INTEGER NOT NULL,
    seating INTEGER NOT NULL,
    moves TEXT NOT NULL,            -- JSON
    PRIMARY KEY (match, deal, seating)
) WITHOUT ROWID;
""",
    """
-- JSON: what the game counts besides the score, of every agent: sums over deals, of counts and of squares
ALTER TABLE batch ADD COLUMN counts TEXT NOT NULL DEFAULT '{}';
""",
    """
-- Whether decisions were judged by a solver: then a row of `result` is a figure, not a seat
ALTER TABLE match ADD COLUMN judged INTEGER NOT NULL DEFAULT 0;
""",
    """
-- JSON: the files that the strings name, with the digest of each when the match was noted (`kibitz.trust`)
ALTER TABLE match ADD COLUMN files TEXT NOT NULL DEFAULT '{}';
""",
)

_BUSY_SECONDS = 60.0
_PAGES_IN_THE_LOG = 16  # then they are copied into the file: a batch writes three or four


class _Found(NamedTuple):
    """What a file says of itself."""

    version: int
    application: int
    tables: dict[str, list[tuple[Any, ...]]]
    has_log: bool
    is_unfinished: bool
    """Whether programs have been at work that have not taken leave."""


class StoreFile:
    """A database with the tables of a store, open; `StoreFile()` is in memory."""

    incomplete = ""
    """What is missing in a store that is open for reading, in words for people."""
    _without_log = False
    """SQLite cannot use a log where it can write nothing."""

    def __init__(self, path: Path | str | None = None, read_only: bool = False) -> None:
        self.path = Path(path) if path is not None else None
        self.read_only = read_only
        if self.path is not None:
            self._look_around(self.path)
        try:
            with self._clear_errors():
                self._open()
        except BaseException:
            if hasattr(self, "_db"):
                self._db.close()
            raise

    def _look_around(self, path: Path) -> None:
        if path.is_dir():
            raise InputError(f"{path} is a folder; a store is one file, such as {path}/results.db")
        if self._log.is_file() and self._log.stat().st_size and not (path.is_file() and path.stat().st_size):
            raise InputError(
                f"{path} is {'empty' if path.exists() else 'missing'}, but {self._log.name}, which belongs "
                f"to it, is there; copy both files together, or delete that one too to begin a new store"
            )
        if self.read_only and not path.is_file():
            raise InputError(f"there is no store {path}; `kibitz experiment run` and others make one")
        if not self.read_only and not path.parent.is_dir():
            raise Unwritable(
                f"the store {path} cannot be made: there is no folder {path.parent}; make it first"
            )

    @property
    def _log(self) -> Path:
        return Path(f"{self.path}-wal")

    # --- opening ------------------------------------------------------------------------------

    def _open(self) -> None:
        """Connect, look at what is there, and bring the tables to the present version."""
        for attempt in (1, 2):  # a store that another program is just opening looks the same for a moment
            log_is_there = self.path is None or self._log.exists()
            self._db = self._connect()
            found = self._look()
            is_lost = found.has_log and not log_is_there and (not found.tables or found.is_unfinished)
            if not is_lost:
                break
            if attempt == 1:
                self._db.close()
        if is_lost and not found.tables:
            raise InputError(
                f"{self.path} is empty: its results are in {self._log.name}, which is missing; copy it "
                f"along, or delete {self.path} to begin a new store"
            )
        self._check(found)
        if is_lost:
            lacks = (
                f"{self.path} was not closed, and {self._log.name}, which may hold its newest batches, is "
                f"missing; copy it along"
            )
            if not self.read_only:
                raise InputError(
                    f"{lacks}. If it is gone for good, or another program such as sqlite3 has copied it into "
                    f"the store, make an empty file of that name: what is not in the store is played again"
                )
            self.incomplete = lacks
        elif self._without_log and self._log.is_file() and self._log.stat().st_size:
            self.incomplete = (
                f"the newest batches of {self.path} are in {self._log.name}, which cannot be used in a "
                f"folder that cannot be written; copy both files elsewhere"
            )
        if not self.read_only:
            self._migrate(found.version)
            self._forget_all_who_left(found)
            self._keep_a_log()
            self._copy_log()

    def _connect(self) -> sqlite3.Connection:
        if self.path is None:
            return _connection(":memory:")
        if self.read_only:
            return self._connect_to_read()
        db = _connection(self.path)
        db.execute("PRAGMA synchronous = FULL")  # a finished batch outlives a power cut
        db.execute("PRAGMA foreign_keys = ON")
        db.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_IN_THE_LOG}")
        return db

    def _connect_to_read(self) -> sqlite3.Connection:
        """As one who could write, if possible: only such a one clears SQLite's files away in the end."""
        assert self.path is not None
        address = self.path.resolve().as_uri()
        for mode in ("mode=rw", "mode=ro", "immutable=1"):  # the last, where nothing can be written
            db = _connection(f"{address}?{mode}", uri=True)
            try:
                db.execute("PRAGMA query_only = ON")
                db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
                self._without_log = mode == "immutable=1"
                return db
            except sqlite3.OperationalError:
                db.close()
                if mode == "immutable=1":
                    raise
        raise AssertionError

    def _look(self) -> _Found:
        self._db.execute("BEGIN")  # one moment: another program may be making the tables
        tables = _tables(self._db)
        has_programs = tables.get("program") == _tables_of(1)["program"]
        found = _Found(
            self._number("PRAGMA user_version"),
            self._number("PRAGMA application_id"),
            tables,
            self._row("PRAGMA journal_mode")[0] == "wal" or self._without_log,
            has_programs and self._number("SELECT count(*) FROM program") > 0,
        )
        self._db.execute("COMMIT")
        return found

    def _check(self, found: _Found) -> None:
        """Whether this is a store, and one that can be used; a file that is none is not touched."""
        version, is_ours, newest = found.version, found.application == _APPLICATION, len(MIGRATIONS)
        if version == 0 and found.tables and not is_ours:
            raise InputError(f"{self.path} is an SQLite file, but not a Kibitz store; nothing was changed")
        if version and not is_ours:
            raise InputError(f"{self.path} belongs to another program; nothing was changed")
        if version > newest:
            raise InputError(
                f"{self.path} was made by a newer Kibitz (store version {version}, this one knows "
                f"{newest}); update Kibitz"
            )
        if version < 0 or (version == 0 and found.tables):
            raise Damaged(
                f"the store {self.path} is damaged: it has tables, but its user_version is {version}; "
                f"restore it from a copy"
            )
        for table, columns in _tables_of(version).items():
            if found.tables.get(table) != columns:
                what = f"has other columns than in a store of version {version} (user_version)"
                raise Damaged(
                    f"the store {self.path} is damaged: table {table} "
                    f"{what if table in found.tables else 'is missing'}; restore it from a copy"
                )
        (programs,) = self._row("SELECT group_concat(name, ', ') FROM sqlite_schema WHERE type = 'trigger'")
        if programs is not None:
            raise Damaged(
                f"the store {self.path} has triggers ({quoted(programs)}), which Kibitz does not make: they "
                f"would change what is written; restore it from a copy"
            )
        if self.read_only and version == 0:
            raise InputError(f"{self.path} is empty: there is no result in it yet")
        if self.read_only and version < newest:
            raise InputError(
                f"{self.path} has the older store version {version}; open it once for writing "
                f"(any run does) to bring it to version {newest}"
            )

    def _migrate(self, version: int) -> None:
        """The log comes after the tables: an empty file that says that it has a log has lost it."""
        if version < len(MIGRATIONS):
            with self._transaction():
                version = self._number("PRAGMA user_version")  # another program may have been faster
                for script in MIGRATIONS[version:]:
                    for statement in filter(str.strip, script.split(";\n")):
                        self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def _forget_all_who_left(self, found: _Found) -> None:
        """Where there is no log, nobody is at work; so a log that is just being begun cannot be missed."""
        if found.is_unfinished and not found.has_log:
            with self._transaction():
                if self._row("PRAGMA journal_mode")[0] != "wal":  # or another program has begun one
                    self._db.execute("DELETE FROM claim")
                    self._db.execute("DELETE FROM program")

    def _keep_a_log(self) -> None:
        """Readers and one writer at a time; SQLite does not wait by itself when two programs ask for it."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def _copy_log(self) -> None:
        """Copy into the file what nobody is reading in the log; it waits for nobody, and may fail."""
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    # --- asking and writing -------------------------------------------------------------------

    def _rows(self, query: str, values: Any = ()) -> list[Any]:
        """All rows at once: while a question is open, the log cannot be copied past it."""
        with self._clear_errors():
            return self._db.execute(query, values).fetchall()

    def _row(self, query: str, values: Any = ()) -> Any:
        with self._clear_errors():
            return self._db.execute(query, values).fetchone()

    def _number(self, query: str, values: Any = ()) -> int:
        row = self._row(query, values)
        return int(row[0] or 0) if row else 0

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, and one writer at a time."""
        with self._clear_errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have rolled back itself
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        kept = "What was finished before is kept; run the same command again after that"
        try:
            yield
        except sqlite3.DatabaseError as error:
            match getattr(error, "sqlite_errorname", "").split("_")[:2]:
                case ["SQLITE", "FULL"]:
                    raise Unwritable(
                        f"no room is left for the store {self.path}; make some. {kept}"
                    ) from error
                case ["SQLITE", "READONLY" | "CANTOPEN" | "PERM"]:
                    if self.read_only:
                        raise InputError(f"the store {self.path} cannot be read: no permission") from error
                    raise Unwritable(
                        f"the store {self.path} cannot be written: no permission for it or its folder. "
                        f"Its contents are kept; give permission, or name another store with --store"
                    ) from error
                case ["SQLITE", "BUSY"]:
                    raise Unwritable(
                        f"the store {self.path} has been locked by another program for a minute. {kept}"
                    ) from error
                case ["SQLITE", "IOERR"]:
                    raise Unwritable(f"the store {self.path} cannot be written ({error}). {kept}") from error
                case ["SQLITE", "NOTADB" | "CORRUPT"]:
                    raise Damaged(f"{self.path} is not a Kibitz store, or is damaged ({error})") from error
            if isinstance(error, sqlite3.ProgrammingError):  # a fault of ours
                raise
            raise Damaged(f"the store {self.path} is damaged ({error}); restore it from a copy") from error

    # --- closing ------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file; the last one to do so leaves one that is whole by itself."""
        if self.path is not None and not self.incomplete:
            try:
                self._db.execute("PRAGMA busy_timeout = 0")  # whoever else is there does it later
                self._db.execute("PRAGMA query_only = OFF")
                self._db.execute("PRAGMA journal_mode = DELETE")
            except sqlite3.Error:
                self._copy_log()
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _connection(address: Path | str, uri: bool = False) -> sqlite3.Connection:
    db = sqlite3.connect(address, isolation_level=None, timeout=_BUSY_SECONDS, uri=uri)
    db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")  # see `rows`
    db.execute("PRAGMA trusted_schema = OFF")
    return db


def _tables(db: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """The columns of every table: name, kind, place in the key."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for table, *column in db.execute(
        "SELECT t.name, c.name, c.type, c.pk FROM sqlite_schema t, pragma_table_xinfo(t.name) c "
        "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' ORDER BY t.name, c.cid"
    ):
        found.setdefault(table, []).append(tuple(column))
    return found


@lru_cache
def _tables_of(version: int) -> dict[str, list[tuple[Any, ...]]]:
    """The tables of a store of some version, as its scripts make them."""
    with closing(sqlite3.connect(":memory:")) as db:
        for script in MIGRATIONS[:version]:
            db.executescript(script)
        return _tables(db)
