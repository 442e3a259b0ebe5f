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
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz import trust
from kibitz.arena.play import Batch, Match, Played
from kibitz.arena.rows import Row
from kibitz.arena.storefile import StoreFile
from kibitz.errors import Damaged, InputError, UnknownName

_ROWS_AT_ONCE = 500
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
    """What a game counts besides the score, on the first deals of a match."""

    deals: int
    """How many: those of whole batches, for sums cannot be divided."""
    sums: dict[str, list[list[int]]]
    """By name, of every agent: the sum of what a deal counts, and of its square."""


@dataclass(frozen=True)
class Kept:
    """A match of a store."""

    number: int
    match: Match
    code: str
    """A digest of the rules and agents that played."""
    places: list[list[int]]
    """Of every game of a deal, which agent has which seat; as it was when the match was noted."""
    files: dict[str, str]
    """The files that its strings name, with their digests."""

    @property
    def shape(self) -> tuple[int, int]:
        """Of the scores of a deal: seatings and seats."""
        return len(self.places), len(self.places[0])


LeftOut = Callable[[str], None]
"""Told of a row that is damaged and left out."""


class Store(StoreFile):
    """Results in one file; `Store()` keeps them in memory only.

    >>> with Store() as store:
    ...     number = store.number_of(Match("briskola", ("random", "rule-based"), seed=1))
    ...     store.claim(number, deals=100, most=10)
    range(0, 10)
    """

    def __init__(self, path: Path | str | None = None, read_only: bool = False) -> None:
        self._program: int | None = None
        self._claimed: dict[tuple[int, range], int] = {}  # (match, claim) → deals not yet written
        self._written: dict[int, int] = {}  # match → its first deals, as far as they are known to be there
        super().__init__(path, read_only)

    def _at(self, table: str, name: Any) -> Row:
        return Row(self.path, table, str(name))

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
            if not self.read_only:
                with self._transaction():
                    self._forget_the_gone()
        super().close()

    # --- claims -------------------------------------------------------------------------------

    def number_of(self, match: Match) -> int:
        """The number of a match in this store, which is given to it if it is new."""
        found, files = self.find(match), json.dumps(_digests(match))
        if found is not None:
            if files != "{}":  # another text of the same code, such as one with more comments
                with self._transaction():
                    self._db.execute("UPDATE match SET files = ? WHERE id = ?", (files, found))
            return found
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO match (game, agents, seed, rotate, code, seatings, seats, judged, "
                "files) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*_key(match), match.code, json.dumps(match.places), match.seats, match.judged, files),
            )
        return int(self.find(match) or 0)

    def find(self, match: Match) -> int | None:
        """The number of a match in this store, if it is there."""
        query = "SELECT id FROM match WHERE (game, agents, seed, rotate, code) = (?, ?, ?, ?, ?)"
        row = self._row(query, (*_key(match), match.code))
        return int(row[0]) if row else None

    def games_of_other_code(self, match: Match) -> int:
        """How many games the same strings have played with rules or agents that were other code."""
        numbers = self._rows(
            "SELECT id FROM match WHERE (game, agents, seed, rotate) = (?, ?, ?, ?) AND code != ? "
            "AND judged = ?",
            (*_key(match), match.code, match.judged),
        )
        return sum(len(self.kept(n).places) * self.finished(n) for (n,) in numbers)

    def claim(self, number: int, deals: int, most: int) -> range | None:
        """Up to `most` deals of the first `deals` that nobody has played or is playing; None if none are."""
        with self._transaction():
            is_new = not self._number("SELECT count(*) FROM program WHERE id = ?", (self._program,))
            if is_new:
                self._program = self._enrol()  # the first claim, or another machine took us for gone
            self._forget_the_gone()
            written = self._written.get(number, 0)
            taken = [(start, n) for _, start, n, _ in self._stretches("claim", number, deals)]
            for _, start, n, _ in self._stretches("batch", number, deals, begin=written):
                taken.append((start, n))
                if start == written:
                    written += n
            self._written[number] = written
            first, end = written, deals
            for start, n in sorted(taken):
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
        self._claimed[number, found] = len(found)
        if is_new:  # from now on the file itself says that somebody is at work
            self._copy_log()
        return found

    def _enrol(self) -> int:
        who = (socket.gethostname(), os.getpid(), _born(os.getpid()))
        row = self._db.execute("INSERT INTO program (host, pid, born) VALUES (?, ?, ?) RETURNING id", who)
        return int(row.fetchone()[0])

    def _forget_the_gone(self) -> None:
        """Void the claims of programs that do not run any more."""
        programs = self._db.execute(
            "SELECT program.id, host, pid, born, max(made) FROM program "
            "LEFT JOIN claim ON program = program.id WHERE program.id IS NOT ? GROUP BY program.id",
            (self._program,),
        ).fetchall()
        for program, host, pid, born, made in programs:
            row = self._at("program", program)
            row.whole("pid", pid, 1, 1 << 31)
            row.number("claim.made", made or 0)
            here = host == socket.gethostname()
            alive = _is_alive(pid, born) if here else time.time() - (made or 0) < _OTHER_HOST_SECONDS
            if not alive:
                self._db.execute("DELETE FROM claim WHERE program = ?", (program,))
                self._db.execute("DELETE FROM program WHERE id = ?", (program,))

    # --- batches ------------------------------------------------------------------------------

    def add(self, batch: Batch, number: int, played: Played, host: str = "") -> bool:
        """Write a finished batch; False if somebody else has written some of its deals before."""
        with self._transaction():
            # Batches do not overlap each other: the last one that begins before our end also ends last.
            last = self._last_before(number, batch.first_deal + batch.deals)
            is_new = last is None or last[1] + last[2] <= batch.first_deal
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
        for match, claim in self._claimed:
            if match == number and batch.first_deal in claim:
                self._claimed[match, claim] -= batch.deals
                if self._claimed[match, claim] <= 0:
                    del self._claimed[match, claim]
                    query = "DELETE FROM claim WHERE (match, first_deal, program) = (?, ?, ?)"
                    self._db.execute(query, (number, claim.start, self._program))
                return

    def finished(self, number: int, deals: int | None = None) -> int:
        """How many of the first `deals` deals are in the store (default: of all)."""
        return sum(n for _, _, n, _ in self._stretches("batch", number, deals, is_cut=True))

    def _stretches(
        self,
        table: str,
        number: int,
        deals: int | None,
        columns: str = "",
        begin: int = 0,
        is_cut: bool = False,
    ) -> Iterator[tuple[Row, int, int, list[Any]]]:
        """Batches or claims of a match from deal `begin` up to `deals`: row, first deal, deals, `columns`.

        They come in order, some at a time, so that nobody waits for whoever works on them meanwhile.
        """
        end = 0
        limit = deals if deals is not None else 1 << 62
        query = (
            f"SELECT first_deal, deals{columns} FROM {table} WHERE match = ? AND first_deal >= ? AND "
            f"(first_deal < ? OR typeof(first_deal) != 'integer') ORDER BY first_deal LIMIT {_ROWS_AT_ONCE}"
        )
        while rows := self._rows(query, (number, begin, limit)):
            for found in rows:
                row, first, n, values = self._stretch(table, number, found)
                if first < end:
                    raise row.damaged(f"deal {first} is in the row before, too")
                end, begin = first + n, first + 1
                yield row, first, min(n, limit - first) if is_cut else n, values

    def scores(self, number: int, deals: int) -> NDArray[np.float64]:
        """The scores of the first `deals` deals, [deal, seating, seat]; of fewer, if one is missing."""
        shape = self.kept(number).shape
        parts = [np.zeros((0, *shape))]
        end = 0
        for row, first, n, (text,) in self._stretches("batch", number, deals, ", scores"):
            if first > end:
                break
            parts.append(row.scores("scores", text, (n, *shape))[: deals - first])
            end = first + n
        return np.concatenate(parts)

    def scores_of_deal(self, number: int, deal: int) -> NDArray[np.float64] | None:
        """The scores of one deal, [seating, seat], if it is finished."""
        found = self._last_before(number, deal + 1, ", scores")
        if found is None or deal >= found[1] + found[2]:
            return None
        row, first, n, (text,) = found
        return row.scores("scores", text, (n, *self.kept(number).shape))[deal - first]

    def _last_before(
        self, number: int, deal: int, columns: str = ""
    ) -> tuple[Row, int, int, list[Any]] | None:
        """The last batch of a match that begins before a deal: row, first deal, deals, `columns`."""
        query = (
            f"SELECT first_deal, deals{columns} FROM batch WHERE match = ? AND first_deal < ? "
            f"ORDER BY first_deal DESC LIMIT 1"
        )
        found = self._row(query, (number, deal))
        return self._stretch("batch", number, found) if found else None

    def _stretch(self, table: str, number: int, found: Any) -> tuple[Row, int, int, list[Any]]:
        first, n, *values = found
        row = self._at(table, f"(match {number}, first_deal {first})")
        return row, row.whole("first_deal", first), row.whole("deals", n, 1), values

    def rows(self) -> int:
        """How many rows `results` has."""
        return sum(
            deals * len(places) * len(places[0])
            for number, _, _, deals in self.matches()
            for places in (self.kept(number).places,)
        )

    def cost(self, number: int, deals: int) -> Cost:
        """What was spent on the first `deals` deals."""
        agents = len(self.kept(number).match.agents)
        spent, seconds = 0, 0.0
        total: dict[str, Any] = {}
        for row, _, n, (time_spent, text) in self._stretches("batch", number, deals, ", seconds, thought"):
            spent += n
            seconds += row.number("seconds", time_spent)
            _add(total, row.sums("thought", text, (agents,)))
        thought = {what: numbers.astype(float).tolist() for what, numbers in total.items()}
        return Cost(spent, seconds, thought)

    def counts(self, number: int, deals: int) -> Counts:
        """What the game counted on the first `deals` deals; on fewer, if one is missing.

        A batch has sums over its deals, so one that reaches past `deals` is left out: that happens
        where more was played than is asked for now. So is one of a time when nothing was counted.
        """
        agents = len(self.kept(number).match.agents)
        end = 0
        total: dict[str, Any] = {}
        for row, first, n, (text,) in self._stretches("batch", number, deals, ", counts"):
            if first + n > deals or text == "{}":
                continue
            if first > end:
                break
            end = first + n
            _add(total, row.sums("counts", text, (2, agents)))
        return Counts(end, {name: sums.tolist() for name, sums in total.items()})

    def moves(self, number: int, deal: int, seating: int) -> list[int] | None:
        """The moves of a game, if they were kept."""
        query = "SELECT moves FROM record WHERE (match, deal, seating) = (?, ?, ?)"
        row = self._row(query, (number, deal, seating))
        name = f"(match {number}, deal {deal}, seating {seating})"
        return self._at("record", name).wholes("moves", row[0]) if row else None

    # --- matches ------------------------------------------------------------------------------

    def kept(self, number: int) -> Kept:
        """What is noted of the match with a number, which must be there."""
        found = self._row(
            "SELECT game, agents, seed, rotate, judged, code, seatings, seats, files FROM match WHERE id = ?",
            (number,),
        )
        row = self._at("match", number)
        if found is None:
            raise row.damaged("it is missing, and other rows are about it")
        game, agents, seed, rotate, judged, code, seatings, seats, files = found
        match = Match(
            row.text("game", game),
            tuple(row.texts("agents", agents)),
            row.whole("seed", seed),
            row.flag("rotate", rotate),
            row.flag("judged", judged),
        )
        places = row.seatings("seatings", seatings, row.whole("seats", seats, 1), len(match.agents))
        digests = {file: str(digest) for file, digest in row.mapping("files", files).items()}
        return Kept(number, match, row.text("code", code), places, digests)

    def numbers(self) -> list[int]:
        """The numbers of all matches, sorted by what they are, not by when they were played."""
        return [
            number
            for (number,) in self._rows("SELECT id FROM match ORDER BY game, agents, seed, rotate DESC, code")
        ]

    def matches(self, left_out: LeftOut | None = None) -> list[tuple[int, Match, str, int]]:
        """All matches in the same order: number, match, code, finished deals.

        What is damaged is an error, or is told to `left_out` and left out.
        """
        found = []
        for number in self.numbers():
            try:
                kept = self.kept(number)
                found.append((number, kept.match, kept.code, self.finished(number)))
            except Damaged as error:
                if left_out is None:
                    raise
                left_out(str(error))
        return found

    def files(self, numbers: Iterable[int] | None = None) -> trust.Recorded:
        """The files that games and agents of some matches (of all) name, with their digests when they played.

        Nothing of a damaged match is used, so its files are not among them.
        """
        found: trust.Recorded = {}
        wanted = None if numbers is None else set(numbers)
        for number in (n for n in self.numbers() if wanted is None or n in wanted):
            with suppress(Damaged):
                kept = self.kept(number)
                for text in (kept.match.game, *kept.match.agents):
                    for file in trust.files_in(text):
                        digests = {kept.files[file]} if file in kept.files else set()
                        found[file] = found.get(file, frozenset()) | digests
        return found

    def results(self) -> Iterator[tuple[Any, ...]]:
        """One row for every seat of every game, in an order that does not depend on who played when.

        (game, agents, seed, code, deal, seating, seat, agent, score)
        """
        for number in self.numbers():
            kept = self.kept(number)
            match, agents = kept.match, json.dumps(kept.match.agents, ensure_ascii=False)
            for row, first, n, (text,) in self._stretches("batch", number, None, ", scores"):
                shaped = row.scores("scores", text, (n, *kept.shape))
                for d, deal in enumerate(shaped.tolist()):
                    for s, seats in enumerate(kept.places):
                        for seat, a in enumerate(seats):
                            yield (
                                *(match.game, agents, match.seed, kept.code, first + d, s, seat),
                                *(match.agents[a], deal[s][seat]),
                            )

    # --- experiments --------------------------------------------------------------------------

    def write_experiment(self, name: str, description: str, run: dict[str, Any]) -> None:
        """Note what was asked; the same name replaces what was there."""
        with self._transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO experiment VALUES (?, ?, ?)",
                (name, description, json.dumps(run, ensure_ascii=False)),
            )

    def experiments(self, left_out: LeftOut | None = None) -> list[str]:
        """The names of all experiments, in the order in which they were first noted."""
        found = []
        for number, name in self._rows("SELECT rowid, name FROM experiment ORDER BY rowid"):
            try:
                found.append(self._at("experiment", number).text("name", name))
            except Damaged as error:
                if left_out is None:
                    raise
                left_out(str(error))
        return found

    def experiment(self, name: str) -> tuple[str, dict[str, Any], Row]:
        """What was asked, how it was run, and where that stands."""
        found = self._row("SELECT description, run FROM experiment WHERE name = ?", (name,))
        if found is None:
            raise UnknownName("experiment in the store", name[:60], self.experiments(left_out=lambda _: None))
        row, (text, run) = self._at("experiment", name), found
        return row.text("description", text), row.mapping("run", run), row


def _key(match: Match) -> tuple[str, str, int, bool]:
    """What a match is filed under, beside its code."""
    return match.game, json.dumps(match.agents, ensure_ascii=False), match.seed, match.rotate


def _digests(match: Match) -> dict[str, str]:
    """The files that a match names, with the digest of each."""
    named = [file for text in (match.game, *match.agents) for file in trust.files_in(text)]
    return {file: trust.digest_in_use(file) for file in named}


def _add(total: dict[str, Any], sums: dict[str, NDArray[Any]]) -> None:
    for name, numbers in sums.items():
        total[name] = total[name] + numbers if name in total else numbers


def _numbers(scores: NDArray[np.float64]) -> str:
    """JSON that reads back to the same numbers; whole ones without a point, none as null."""
    flat = scores.ravel()
    if np.isnan(flat).any():
        return json.dumps([None if np.isnan(x) else x for x in flat.tolist()], separators=(",", ":"))
    with np.errstate(invalid="ignore"):  # too large for whole numbers
        whole = flat.astype(np.int64)
    values = whole.tolist() if np.array_equal(whole, flat) else flat.tolist()
    return json.dumps(values, separators=(",", ":"))


_GONE = "gone"


def _born(pid: int) -> str:
    """When a process started, as far as the system tells; `_GONE` if it has ended."""
    if sys.platform == "win32":
        return _born_on_windows(pid)
    with suppress(OSError):
        state, *numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return numbers[18] if state != "Z" else _GONE
    return ""


def _is_alive(pid: int, born: str) -> bool:
    if sys.platform == "win32":  # there `os.kill` with signal 0 is Ctrl-C, for a whole group of processes
        return _born_on_windows(pid) in ("", born)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's process
    return _born(pid) == born


_QUERY_LIMITED_INFORMATION, _ACCESS_DENIED, _STILL_ACTIVE = 0x1000, 5, 259


def _born_on_windows(pid: int) -> str:
    """When a process started; "" if Windows does not tell, because it is somebody else's."""
    import ctypes

    library: Any = ctypes  # it has what follows on Windows only
    windows = library.WinDLL("kernel32", use_last_error=True)
    windows.OpenProcess.restype = ctypes.c_void_p  # else handles of 64 bits are cut
    handle = ctypes.c_void_p(windows.OpenProcess(_QUERY_LIMITED_INFORMATION, False, pid))
    if not handle:
        return "" if library.get_last_error() == _ACCESS_DENIED else _GONE
    try:
        code, times = ctypes.c_ulong(), (ctypes.c_ulonglong * 4)()  # times: of the start, and three others
        knows_code = windows.GetExitCodeProcess(handle, ctypes.byref(code))
        if knows_code and code.value != _STILL_ACTIVE:
            return _GONE
        each = [ctypes.byref(times, 8 * i) for i in range(4)]
        return str(times[0]) if windows.GetProcessTimes(handle, *each) else ""
    finally:
        windows.CloseHandle(handle)
