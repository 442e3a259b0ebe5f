"""The store: every finished batch in one SQLite file, written before it counts.

A batch is one transaction, so a killed program loses at most what it had not finished. What is
there is found by (game, agents, seed, code of the rules and agents), whoever played it: running a
command again plays what is missing and nothing else. A stretch of deals is claimed before it is
played, so that two programs on one store do not repeat each other's work; a claim of a program that
is gone is void. Claims only save time: the same deal has the same result, whoever plays it.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kibitz.arena.play import Batch, Match, Played
from kibitz.errors import InputError, Unwritable

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
-- JSON: what the game counts beside the score, of every agent: sums over deals, of counts and of squares
ALTER TABLE batch ADD COLUMN counts TEXT NOT NULL DEFAULT '{}';
""",
    """
-- Whether decisions were judged by a solver: then a row of `result` is a figure, not a seat
ALTER TABLE match ADD COLUMN judged INTEGER NOT NULL DEFAULT 0;
""",
)

_BUSY_SECONDS = 60.0
_OTHER_HOST_SECONDS = 600.0  # a claim from another machine cannot be looked after; then it is void


def default_store() -> Path:
    """Where results are kept if no store is named: below `KIBITZ_DATA_DIR`, or the user's data folder."""
    import platformdirs

    folder = os.environ.get("KIBITZ_DATA_DIR") or platformdirs.user_data_dir("kibitz")
    return Path(folder) / "laboratory.db"


@dataclass(frozen=True)
class Cost:
    """What was spent on deals of a match."""

    deals: int
    seconds: float
    """Of one core."""
    thought: dict[str, list[float]]
    """Seconds, decisions and iterations of every agent."""


@dataclass(frozen=True)
class Counts:
    """What a game counts beside the score, on the first deals of a match."""

    deals: int
    """How many: those of whole batches, for sums cannot be divided."""
    sums: dict[str, list[list[int]]]
    """By name, of every agent: the sum of what a deal counts, and of its square."""


class Store:
    """Results in one file; `Store()` keeps them in memory only.

    >>> with Store() as store:
    ...     number = store.number_of(Match("briskola", ("random", "rule-based"), seed=1))
    ...     store.claim(number, deals=100, most=10)
    range(0, 10)
    """

    def __init__(self, path: Path | str | None = None, read_only: bool = False) -> None:
        self.path = Path(path) if path is not None else None
        self.read_only = read_only
        self._program: int | None = None
        self._claimed: dict[tuple[int, int], int] = {}  # (match, first deal) → deals not yet written
        if self.path is not None and self.path.is_dir():
            raise InputError(f"{self.path} is a folder; a store is one file, such as {self.path}/results.db")
        if self.path is not None and read_only and not self.path.is_file():
            raise InputError(f"there is no store {self.path}; `kibitz experiment run` and others make one")
        if self.path is not None and not read_only and not self.path.parent.is_dir():
            raise Unwritable(
                f"the store {self.path} cannot be made: there is no folder {self.path.parent}; make it first"
            )
        try:
            with self._clear_errors():
                self._db = self._connect()
                self._migrate()
        except BaseException:
            if hasattr(self, "_db"):
                self._db.close()
            raise

    # --- the file -----------------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        if self.path is None:
            return sqlite3.connect(":memory:", isolation_level=None)
        if self.read_only:
            return self._connect_to_read()
        db = sqlite3.connect(self.path, isolation_level=None, timeout=_BUSY_SECONDS)
        db.execute("PRAGMA synchronous = FULL")  # a finished batch outlives a power cut
        db.execute("PRAGMA foreign_keys = ON")
        return db

    def _connect_to_read(self) -> sqlite3.Connection:
        """As one who could write, if possible: only such a one clears SQLite's files away in the end."""
        assert self.path is not None
        address = self.path.resolve().as_uri()
        for mode in ("mode=rw", "mode=ro", "immutable=1"):  # the last, where nothing can be written
            db = sqlite3.connect(f"{address}?{mode}", uri=True, isolation_level=None, timeout=_BUSY_SECONDS)
            try:
                db.execute("PRAGMA query_only = ON")
                db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
                return db
            except sqlite3.OperationalError:
                db.close()
                if mode == "immutable=1":
                    raise
        raise AssertionError

    def _migrate(self) -> None:
        """Bring the tables to the present version; a file that is no store is not touched."""
        self._db.execute("BEGIN")  # one moment: another program may be making the tables
        version = self._number("PRAGMA user_version")
        tables = self._number("SELECT count(*) FROM sqlite_schema")
        application = self._number("PRAGMA application_id")
        self._db.execute("COMMIT")
        if version == 0 and tables:
            raise InputError(f"{self.path} is an SQLite file, but no store of Kibitz; nothing was changed")
        if version and application != _APPLICATION:
            raise InputError(f"{self.path} belongs to another program; nothing was changed")
        if version > len(MIGRATIONS):
            raise InputError(
                f"{self.path} was made by a newer Kibitz (store version {version}, this one knows "
                f"{len(MIGRATIONS)}); update Kibitz"
            )
        if self.read_only:
            if version < len(MIGRATIONS):
                raise InputError(
                    f"{self.path} has the older store version {version}; open it once for writing "
                    f"(any run does) to bring it to version {len(MIGRATIONS)}"
                )
            return
        self._keep_a_log()
        while version < len(MIGRATIONS):
            with self._transaction():
                version = self._number("PRAGMA user_version")  # another program may have been faster
                if version < len(MIGRATIONS):
                    for statement in filter(str.strip, MIGRATIONS[version].split(";\n")):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
                    version += 1
                    self._db.execute(f"PRAGMA user_version = {version}")

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

    def _rows(self, query: str, values: Any = ()) -> Iterator[Any]:
        with self._clear_errors():
            yield from self._db.execute(query, values)

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
                        f"What is there is kept; give permission, or name another store with --store"
                    ) from error
                case ["SQLITE", "BUSY"]:
                    raise Unwritable(
                        f"the store {self.path} has been locked by another program for a minute. {kept}"
                    ) from error
                case ["SQLITE", "IOERR"]:
                    raise Unwritable(f"the store {self.path} cannot be written ({error}). {kept}") from error
                case ["SQLITE", "NOTADB" | "CORRUPT"]:
                    raise InputError(f"{self.path} is no store of Kibitz, or damaged ({error})") from error
            raise

    def give_back(self) -> None:
        """Give back what is claimed and not played."""
        self._claimed.clear()
        if self._program is not None:
            with self._transaction():
                self._db.execute("DELETE FROM program WHERE id = ?", (self._program,))
                self._db.execute("DELETE FROM claim WHERE program = ?", (self._program,))
            self._program = None

    def close(self) -> None:
        """Give back what is claimed and not played, and close the file."""
        with suppress(InputError):  # a full disk, say: the claims are void when this program is gone
            self.give_back()
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- claims -------------------------------------------------------------------------------

    def number_of(self, match: Match) -> int:
        """The number of a match in this store, which is given to it if it is new."""
        found = self.find(match)
        if found is not None:
            return found
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO match (game, agents, seed, rotate, code, seatings, seats, judged) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*_key(match), match.code, json.dumps(match.places), match.seats, match.judged),
            )
        return int(self.find(match) or 0)

    def find(self, match: Match) -> int | None:
        """The number of a match in this store, if it is there."""
        query = "SELECT id FROM match WHERE (game, agents, seed, rotate, code) = (?, ?, ?, ?, ?)"
        row = self._row(query, (*_key(match), match.code))
        return int(row[0]) if row else None

    def games_of_other_code(self, match: Match) -> int:
        """How many games the same strings have played with rules or agents that were other code."""
        query = (
            "SELECT sum(deals) * json_array_length(seatings) FROM match JOIN batch ON match = id "
            "WHERE (game, agents, seed, rotate) = (?, ?, ?, ?) AND code != ? AND judged = ?"
        )
        return self._number(query, (*_key(match), match.code, match.judged))

    def claim(self, number: int, deals: int, most: int) -> range | None:
        """Up to `most` deals of the first `deals` that nobody has played or is playing; None if none are."""
        with self._transaction():
            if not self._number("SELECT count(*) FROM program WHERE id = ?", (self._program,)):
                self._program = self._enrol()  # the first claim, or another machine took us for gone
            self._forget_the_gone()
            taken = self._db.execute(
                "SELECT first_deal, deals FROM batch WHERE match = :match AND first_deal < :deals "
                "UNION ALL SELECT first_deal, deals FROM claim WHERE match = :match AND first_deal < :deals "
                "ORDER BY first_deal",
                {"match": number, "deals": deals},
            )
            first, end = 0, deals
            for start, n in taken:
                if start > first:
                    end = start
                    break
                first = max(first, start + n)
            if first >= end:
                return None
            found = range(first, min(end, first + most))
            self._db.execute(
                "INSERT INTO claim (match, first_deal, deals, program, made) VALUES (?, ?, ?, ?, ?)",
                (number, found.start, len(found), self._program, time.time()),
            )
        self._claimed[number, found.start] = len(found)
        return found

    def _enrol(self) -> int:
        who = (socket.gethostname(), os.getpid(), _born(os.getpid()))
        row = self._db.execute("INSERT INTO program (host, pid, born) VALUES (?, ?, ?) RETURNING id", who)
        return int(row.fetchone()[0])

    def _forget_the_gone(self) -> None:
        """Void the claims of programs that do not run any more."""
        programs = self._db.execute(
            "SELECT program.id, host, pid, born, max(made) FROM program "
            "LEFT JOIN claim ON program = program.id WHERE program.id != ? GROUP BY program.id",
            (self._program,),
        ).fetchall()
        for program, host, pid, born, made in programs:
            here = host == socket.gethostname() and os.name == "posix"
            alive = _is_alive(pid, born) if here else time.time() - (made or 0) < _OTHER_HOST_SECONDS
            if not alive:
                self._db.execute("DELETE FROM claim WHERE program = ?", (program,))
                self._db.execute("DELETE FROM program WHERE id = ?", (program,))

    # --- batches ------------------------------------------------------------------------------

    def add(self, batch: Batch, number: int, played: Played, host: str = "") -> bool:
        """Write a finished batch; False if somebody else has written some of its deals before."""
        with self._transaction():
            # Batches do not overlap each other: the last one that begins before our end also ends last.
            end = self._number(
                "SELECT first_deal + deals FROM batch WHERE match = ? AND first_deal < ? "
                "ORDER BY first_deal DESC LIMIT 1",
                (number, batch.first_deal + batch.deals),
            )
            is_new = end <= batch.first_deal
            if is_new:
                self._insert(batch, number, played, host or socket.gethostname())
            self._shorten_claim(number, batch)
        return is_new

    def _insert(self, batch: Batch, number: int, played: Played, host: str) -> None:
        scores = _numbers(played.scores)
        thought, counts = json.dumps(played.thought), json.dumps(played.counts)
        self._db.execute(
            "INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?, ?, datetime('now'), ?)",
            (number, batch.first_deal, batch.deals, scores, played.seconds, thought, host, counts),
        )
        self._db.executemany(
            "INSERT OR IGNORE INTO record VALUES (?, ?, ?, ?)",
            (
                (number, batch.first_deal + d, s, json.dumps(moves, separators=(",", ":")))
                for d, games in enumerate(played.moves)
                for s, moves in enumerate(games)
            ),
        )

    def _shorten_claim(self, number: int, batch: Batch) -> None:
        """A claim is done with when all of its deals are in the store."""
        starts = [first for match, first in self._claimed if match == number and first <= batch.first_deal]
        if starts:
            claim = number, max(starts)
            self._claimed[claim] -= batch.deals
            if self._claimed[claim] <= 0:
                del self._claimed[claim]
                query = "DELETE FROM claim WHERE (match, first_deal, program) = (?, ?, ?)"
                self._db.execute(query, (*claim, self._program))

    def finished(self, number: int, deals: int) -> int:
        """How many of the first `deals` deals are in the store."""
        return self._number(
            "SELECT sum(min(deals, :deals - first_deal)) FROM batch "
            "WHERE match = :match AND first_deal < :deals",
            {"match": number, "deals": deals},
        )

    def scores(self, number: int, deals: int) -> NDArray[np.float64]:
        """The scores of the first `deals` deals, [deal, seating, seat]; of fewer, if one is missing."""
        seatings, seats = self._row(
            "SELECT json_array_length(seatings), seats FROM match WHERE id = ?", (number,)
        )
        parts = [np.zeros((0, seatings, seats))]
        rows = self._rows(
            "SELECT first_deal, scores FROM batch WHERE match = ? AND first_deal < ? ORDER BY first_deal",
            (number, deals),
        )
        end = 0
        for first, text in rows:
            if first > end:
                break
            parts.append(np.array(json.loads(text), float).reshape(-1, seatings, seats)[: deals - first])
            end = first + len(parts[-1])
        return np.concatenate(parts)

    def scores_of_deal(self, number: int, deal: int) -> NDArray[np.float64] | None:
        """The scores of one deal, [seating, seat], if it is finished."""
        row = self._row(
            "SELECT first_deal, deals, scores FROM batch WHERE match = ? AND first_deal <= ? "
            "ORDER BY first_deal DESC LIMIT 1",
            (number, deal),
        )
        if row is None or deal >= row[0] + row[1]:
            return None
        places = self._places(number)
        scores: NDArray[np.float64] = np.array(json.loads(row[2]), float)
        return scores.reshape(-1, len(places), len(places[0]))[deal - row[0]]

    def rows(self) -> int:
        """How many rows `results` has."""
        return self._number(
            "SELECT sum(deals * seats * json_array_length(seatings)) FROM batch JOIN match ON match = id"
        )

    def cost(self, number: int, deals: int) -> Cost:
        """What was spent on the first `deals` deals."""
        query = "SELECT deals, seconds, thought FROM batch WHERE match = ? AND first_deal < ?"
        rows = list(self._rows(query, (number, deals)))
        total: dict[str, Any] = {}
        for _, _, text in rows:
            for what, numbers in json.loads(text).items():
                total[what] = np.add(total.get(what, 0.0), numbers)
        thought = {what: numbers.tolist() for what, numbers in total.items()}
        return Cost(sum(row[0] for row in rows), sum(row[1] for row in rows), thought)

    def counts(self, number: int, deals: int) -> Counts:
        """What the game counted on the first `deals` deals; on fewer, if one is missing.

        A batch has sums over its deals, so one that reaches past `deals` is left out: that happens
        where more was played than is asked for now. So is one of a time when nothing was counted.
        """
        rows = self._rows(
            "SELECT first_deal, deals, counts FROM batch WHERE match = ? AND first_deal + deals <= ? "
            "AND counts != '{}' ORDER BY first_deal",
            (number, deals),
        )
        end = 0
        total: dict[str, Any] = {}
        for first, n, text in rows:
            if first > end:
                break
            end = first + n
            for name, sums in json.loads(text).items():
                total[name] = np.add(total.get(name, 0), sums)
        return Counts(end, {name: sums.tolist() for name, sums in total.items()})

    def moves(self, number: int, deal: int, seating: int) -> list[int] | None:
        """The moves of a game, if they were kept."""
        query = "SELECT moves FROM record WHERE (match, deal, seating) = (?, ?, ?)"
        row = self._row(query, (number, deal, seating))
        return json.loads(row[0]) if row else None

    def matches(self) -> list[tuple[int, Match, str, int]]:
        """All matches: number, match, code, finished deals; sorted by what they are, not by when."""
        rows = self._rows(
            "SELECT id, game, agents, seed, rotate, judged, code, "
            "(SELECT coalesce(sum(deals), 0) FROM batch WHERE match = id) "
            "FROM match ORDER BY game, agents, seed, rotate DESC, code"
        )
        return [
            (number, Match(game, tuple(json.loads(agents)), seed, bool(rotate), bool(judged)), code, deals)
            for number, game, agents, seed, rotate, judged, code, deals in rows
        ]

    def results(self) -> Iterator[tuple[Any, ...]]:
        """One row for every seat of every game, in an order that does not depend on who played when.

        (game, agents, seed, code, deal, seating, seat, agent, score)
        """
        for number, match, code, _ in self.matches():
            places, agents = self._places(number), json.dumps(match.agents, ensure_ascii=False)
            rows = self._rows(
                "SELECT first_deal, scores FROM batch WHERE match = ? ORDER BY first_deal", (number,)
            )
            for first, text in rows:
                shaped = np.array(json.loads(text), float).reshape(-1, len(places), len(places[0]))
                for d, deal in enumerate(shaped.tolist()):
                    for s, seats in enumerate(places):
                        for seat, a in enumerate(seats):
                            yield (
                                *(match.game, agents, match.seed, code, first + d, s, seat),
                                *(match.agents[a], deal[s][seat]),
                            )

    def _places(self, number: int) -> list[list[int]]:
        row = self._row("SELECT seatings FROM match WHERE id = ?", (number,))
        places: list[list[int]] = json.loads(row[0])
        return places

    # --- experiments --------------------------------------------------------------------------

    def write_experiment(self, name: str, description: str, run: dict[str, Any]) -> None:
        """Note what was asked; the same name replaces what was there."""
        with self._transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO experiment VALUES (?, ?, ?)",
                (name, description, json.dumps(run, ensure_ascii=False)),
            )

    def experiments(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Name → description and how it was run."""
        rows = self._rows("SELECT name, description, run FROM experiment ORDER BY rowid")
        return {name: (text, json.loads(run)) for name, text, run in rows}


def _key(match: Match) -> tuple[str, str, int, bool]:
    """What a match is filed under, beside its code."""
    return match.game, json.dumps(match.agents, ensure_ascii=False), match.seed, match.rotate


def _numbers(scores: NDArray[np.float64]) -> str:
    """JSON that reads back to the same numbers; whole ones without a point, none as null."""
    flat = scores.ravel()
    if np.isnan(flat).any():
        return json.dumps([None if np.isnan(x) else x for x in flat.tolist()], separators=(",", ":"))
    with np.errstate(invalid="ignore"):  # too large for whole numbers
        whole = flat.astype(np.int64)
    values = whole.tolist() if np.array_equal(whole, flat) else flat.tolist()
    return json.dumps(values, separators=(",", ":"))


def _born(pid: int) -> str:
    """When a process started, as far as the system tells."""
    with suppress(OSError):
        state, *numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return numbers[18] if state != "Z" else "gone"
    return ""


def _is_alive(pid: int, born: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's process
    return _born(pid) == born
