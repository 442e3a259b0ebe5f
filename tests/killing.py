"""Two programs write into one store and are killed again and again.

    python -m tests.killing STORE KILLS SEED

They are forked off this one, so that starting takes some milliseconds. Each notes what it has added, after it
was added; now and then one is asked to end, and takes leave. With `--remove-log`, the log is removed whenever
both were killed and the store was opened and closed since; then the file has to have everything. At the end
the rest is played, and all of it compared with the same deals in one piece. Prints figures, or says what is
wrong.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
import traceback
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from kibitz.arena import laboratory
from kibitz.arena.executors import InProcess
from kibitz.arena.laboratory import Laboratory, Order
from kibitz.arena.play import Match
from kibitz.arena.store import Store

MATCH = Match("briskola", ("flat:4", "random"), seed=1)
LONGEST_LIFE = 0.6
LAG = 30
"""Batches that may be in the log alone; those of two programs, and what a killed one has not copied."""


class Noting(Store):
    """Notes every batch that it has written, as soon as it is written."""

    notes: Path

    def add(self, batch, number, played, host=""):
        is_new = super().add(batch, number, played, host)
        if is_new:
            with self.notes.open("a") as file:
                file.write(f"{batch.first_deal} {batch.deals}\n")
        return is_new


def leave(number, frame):
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def start(path, notes):
    """A writer, as a process of its own."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.signal(signal.SIGTERM, leave)
        Noting.notes = notes
        with Noting(path) as store:
            Laboratory(store, InProcess(), keep_moves=True).run([Order(MATCH, 10**6)])
    except KeyboardInterrupt:
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def end(pid, number):
    """How it ended, asked until it does: 0 after leave was taken, or −9."""
    while True:
        os.kill(pid, number)
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)


def noted(notes):
    """first deal → deals of what was written; a line that was cut off was not noted."""
    lines = notes.read_text().split("\n")[:-1] if notes.exists() else []
    pairs = [tuple(map(int, line.split())) for line in lines]
    assert len({first for first, _ in pairs}) == len(pairs), "a batch was written twice"
    return dict(pairs)


def there(path):
    """first deal → deals of what is in a store; they may not overlap."""
    if not path.exists():
        return {}
    is_half_written = Path(f"{path}-journal").exists()  # which only a writer can undo
    mode = "rw" if is_half_written else "ro"
    with closing(sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=60)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            return {}
        rows = db.execute("SELECT first_deal, deals FROM batch ORDER BY first_deal").fetchall()
    for (first, deals), (after, _) in pairwise(rows):
        assert first + deals <= after, "batches overlap"
    return dict(rows)


def alone(path, copy):
    """The same of the file without its log; None, if it was being copied into just then."""
    shutil.copy(path, copy)
    try:
        return there(copy)
    except (AssertionError, sqlite3.DatabaseError):
        return None
    finally:
        for rest in ("", "-wal", "-shm"):
            Path(f"{copy}{rest}").unlink(missing_ok=True)


def kill(path, kills, seed, removes_log):
    rng, notes, copy = random.Random(seed), path.with_name("notes"), path.with_name("copy.db")
    laboratory._BATCH_SECONDS = 0.01
    with Store() as store:  # what is compiled and computed once
        Laboratory(store, InProcess(), keep_moves=True).run([Order(MATCH, 2)])
    figures = {"kills": 0, "both at once": 0, "leaves": 0, "logs removed": 0, "largest lag": 0, "torn": 0}
    writers = [start(path, notes), start(path, notes)]
    before = {}
    while figures["kills"] < kills:
        time.sleep(rng.uniform(0, LONGEST_LIFE))
        kind = rng.choice(["one", "both", "both", "leave"])
        for i in [0, 1] if kind == "both" else [rng.randrange(2)]:
            code = end(writers[i], signal.SIGTERM if kind == "leave" else signal.SIGKILL)
            assert code == (0 if kind == "leave" else -signal.SIGKILL), f"a writer ended with {code}"
            figures["leaves" if kind == "leave" else "kills"] += 1
            writers[i] = 0
        if kind == "both":
            figures["both at once"] += 1
            now = there(path)
            assert before.items() <= now.items(), "something was lost"
            assert noted(notes).items() <= now.items(), "something was lost"
            before = now
            if path.exists():
                in_file = alone(path, copy)
                figures["torn"] += in_file is None
                if in_file is not None:
                    assert in_file.items() <= now.items()
                    figures["largest lag"] = max(figures["largest lag"], len(now) - len(in_file))
            if removes_log and path.exists():
                Store(path).close()
                for rest in ("-wal", "-shm"):
                    Path(f"{path}{rest}").unlink(missing_ok=True)
                figures["logs removed"] += 1
                assert there(path) == now, "the file alone lacks something"
        writers = [pid or start(path, notes) for pid in writers]
    for pid in writers:
        figures["leaves"] += 1
        assert end(pid, signal.SIGTERM) == 0
    assert noted(notes).items() <= there(path).items(), "something was lost"
    assert figures["largest lag"] <= LAG
    deals = max(first + n for first, n in there(path).items())
    with Store(path) as store, Store() as undisturbed:
        for kept in (store, undisturbed):
            Laboratory(kept, InProcess(), keep_moves=True).run([Order(MATCH, deals)])
        assert (store.scores(1, deals) == undisturbed.scores(1, deals)).all()
        games = "SELECT match, deal, seating, moves FROM record WHERE deal < ? ORDER BY 1, 2, 3"
        assert store._rows(games, (deals,)) == undisturbed._rows(games, (deals,))
        batches = len(store._rows("SELECT first_deal FROM batch"))
    assert [file.name for file in path.parent.iterdir() if file.name.startswith(path.name)] == [path.name]
    return {**figures, "batches": batches, "deals": deals}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("kills", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--remove-log", action="store_true")
    told = parser.parse_args()
    json.dump(kill(told.store.resolve(), told.kills, told.seed, told.remove_log), sys.stdout)
