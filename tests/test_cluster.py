"""A Ray cluster: the same results bit for bit, whoever comes and goes; clear words if there is no cluster.

The cluster is two nodes on the loopback address of this machine. What is to be lost is stopped (SIGSTOP)
while it plays, so it cannot have finished when it is killed, however fast or slow the machine is.
"""

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path

import pytest

from kibitz import records, trust
from kibitz.arena import executors
from kibitz.arena.match import match
from kibitz.arena.play import Batch, Match
from kibitz.arena.store import Store
from kibitz.errors import BadOption, KibitzError, MissingExtra

KIBITZ = [sys.executable, "-m", "kibitz"]
MATCH = ["match", "briskola", "ismcts:60", "random", "--games", "80", "--seed", "3", "--moves", "--json"]
EXAMPLES = Path(__file__).parents[1] / "examples"
PATIENCE = 400.0  # seconds after which a test fails instead of hanging

# Has the cluster, and obeys one word a line. When its standard input ends, the cluster ends, and if it is
# killed, all processes of the cluster are killed with it.
KEEPER = """
import sys, time
from ray.cluster_utils import Cluster
import psutil  # of Ray

def raylets():
    return {p for p in psutil.Process().children() if p.name() == "raylet"}

def seize(raylet):  # a worker, as soon as it plays
    for process in raylet.children():
        try:
            if process.cmdline()[:1] == ["ray::_play_on_a_node"]:
                process.suspend()
                return process
        except psutil.NoSuchProcess:
            pass

size = dict(num_cpus=1, object_store_memory=80_000_000)
cluster = Cluster(initialize_head=True, head_node_args=dict(include_dashboard=False, **size))
head = raylets().pop()
node = other = None
print(cluster.address, flush=True)
for word in sys.stdin:
    if word == "seize\\n":
        # One batch on each node is begun, so nothing is finished; then the head plays on.
        mine = theirs = None
        end = time.monotonic() + 100
        while not (mine and theirs):
            assert time.monotonic() < end, "nobody plays"
            mine = mine or seize(head)
            if mine and not node:  # the second node joins while the first is playing
                node = cluster.add_node(**size)
                other = (raylets() - {head}).pop()
            theirs = theirs or (other and seize(other))
            time.sleep(0.005)
        mine.resume()
        print(theirs.pid, flush=True)
    if word == "remove\\n":
        cluster.remove_node(node, allow_graceful=False)
        theirs.kill()  # a stopped process would not notice
        print("removed", flush=True)
cluster.shutdown()
"""


@contextmanager
def ray_folder():
    """A folder for Ray's files, and settings that keep it from all other Rays and from the network."""
    # Not below pytest's folder: Ray makes sockets in it, whose names must be short.
    folder = tempfile.mkdtemp(prefix="kr", dir="/tmp")
    settings = {
        "RAY_TMPDIR": folder,
        "RAY_ADDRESS": "",
        "RAY_AUTH_MODE": "disabled",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # which means: the loopback address
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_memory_monitor_refresh_ms": "0",  # kill no worker because others use much memory
        "KIBITZ_DATA_DIR": folder,
    }
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def until(condition):
    """Wait for something that must come."""
    end = time.monotonic() + PATIENCE
    while not (answer := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return answer


class Keeper:
    """A cluster of nodes with one core each: one, and a second when the first playing ones are seized."""

    def __init__(self, folder):
        self.folder = folder
        pipe = subprocess.PIPE
        with (folder / "keeper.txt").open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-c", KEEPER],
                stdin=pipe,
                stdout=pipe,
                stderr=errors,
                text=True,
                cwd=folder,
                start_new_session=True,
            )
        self.address = ""

    def begin(self):
        self.address = self._answer()

    def ask(self, word):
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self):
        line = self.process.stdout.readline().strip()
        assert line, (self.folder / "keeper.txt").read_text()
        return line

    def close(self):
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        finally:
            with suppress(ProcessLookupError):  # helpers of a killed raylet live on for some seconds
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process.stdout.close()

    def has(self, pid):
        """Whether a process of the cluster lives; they are one session."""
        try:
            return os.getsid(pid) == self.process.pid
        except ProcessLookupError:
            return False


class Run:
    """The match of this file, in a process of its own."""

    def __init__(self, store, *arguments):
        self.store = store
        pipe = subprocess.PIPE
        command = [*KIBITZ, *MATCH, "--store", str(store), *arguments]
        self.process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)

    def batches(self):
        """How many are in the store by now."""
        if not self.store.exists():
            return 0
        # Only to read: whoever could write and is the last to leave clears a killed program's log away.
        with closing(sqlite3.connect(f"{self.store.as_uri()}?mode=ro", timeout=60, uri=True)) as db:
            try:
                return db.execute("SELECT count(*) FROM batch").fetchone()[0]
            except sqlite3.OperationalError:  # no tables yet
                return 0

    def outcome(self):
        """What a finished run leaves: rows, moves, file and table; and what it told."""
        out, err = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, err
        table = json.loads(out)
        del table["seconds"], table["thought"]["seconds"]
        with closing(sqlite3.connect(self.store)) as db:
            rows = db.execute("SELECT * FROM result ORDER BY deal, seating, seat").fetchall()
            moves = db.execute("SELECT * FROM record ORDER BY deal, seating").fetchall()
        file = self.store.with_suffix(".csv")
        with Store(self.store, read_only=True) as opened:
            records.export(opened, file)
        return (rows, moves, file.read_bytes(), table), err


def test_a_cluster_gives_the_same_results(tmp_path):
    with ray_folder() as folder:
        keeper = Keeper(folder)
        try:
            alone, _ = Run(tmp_path / "alone.db", "--jobs", "1").outcome()
            assert len(alone[0]) == 2 * 80
            keeper.begin()
            found, told = Run(tmp_path / "cluster.db", "--ray", keeper.address).outcome()
            assert found == alone
            assert "playing on the Ray cluster" in told
        finally:
            keeper.close()


@pytest.mark.soak(minutes=3)
def test_a_cluster_gives_the_same_results_whoever_comes_and_goes(tmp_path):
    with ray_folder() as folder:
        keeper = Keeper(folder)
        runs = []

        def run(name, *arguments):
            runs.append(Run(tmp_path / f"{name}.db", *arguments))
            return runs[-1]

        try:
            alone, _ = run("alone", "--jobs", "1").outcome()
            assert len(alone[0]) == 2 * 80
            two, _ = run("two", "--jobs", "2").outcome()
            assert two == alone
            keeper.begin()
            ray = ("--ray", keeper.address)
            assert apart(most_at_once, keeper.address) == (2, 2, 30)
            refusals_are_clear(apart(refusals, keeper.address))
            assert apart(interrupted, keeper.address) == (False, True)
            assert a_killed_worker(keeper, run("worker", *ray)) == alone
            assert a_killed_program(keeper, run("program", *ray), lambda: run("program", *ray)) == alone
            assert a_removed_node(keeper, run("node", *ray)) == alone
            kind, message, code = apart(when_the_head_is_killed, keeper.address, keeper.process.pid)
            assert (kind, code) == ("KibitzError", 3)
            assert "has not answered" in message
        finally:
            for each in runs:
                each.process.kill()
                each.process.communicate()
            keeper.close()


def a_killed_worker(keeper, run):
    """Of a node that has joined while the match was being played."""
    victim = int(keeper.ask("seize"))
    until(run.batches)
    os.kill(victim, signal.SIGKILL)
    outcome, told = run.outcome()
    assert "WorkerCrashedError" in told
    assert "played again" in told
    return outcome


def a_killed_program(keeper, run, again):
    stopped = int(keeper.ask("seize"))
    assert keeper.has(stopped)
    until(run.batches)
    run.process.kill()
    run.process.wait()
    before = run.batches()
    assert before > 0
    until(lambda: not keeper.has(stopped))  # Ray ends what a lost program has begun
    second = again()
    outcome, _ = second.outcome()
    assert before < second.batches()
    return outcome


def a_removed_node(keeper, run):
    keeper.ask("seize")
    until(run.batches)
    keeper.ask("remove")
    outcome, told = run.outcome()  # which reads the answer as JSON: Ray's words are not in it
    assert "NodeDiedError" in told
    assert "played again" in told
    return outcome


# --- in a process of their own: what Ray does to a process stays there -----------------------------


def apart(function, *arguments):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result(PATIENCE)


def most_at_once(address):
    """Room for so many batches, the most that were on their way at a time, and how many came back."""
    wanted = Match("briskola", ("random", "random"), 1)
    taken = given = most = 0

    def batches():
        nonlocal taken, most
        for deal in range(30):
            taken += 1
            most = max(most, taken - given)
            yield Batch(wanted, deal, 1)

    with executors.Cluster(address) as cluster:
        room = 2 * cluster.workers
        for _ in cluster.run(batches()):
            given += 1
    return room, most, given


def interrupted(address):
    """Whether an interrupted match is complete, and whether it has games, while others are being played."""

    def interrupt(done, total):
        if done >= 12:
            raise KeyboardInterrupt

    result = match("briskola", ["ismcts:300", "random"], 2000, seed=1, ray=address, progress=interrupt)
    return result.complete, result.games >= 12


def refusals(address):
    """What comes of batches that cannot be played, and of one that can, with a game's file beside it."""
    os.chdir(EXAMPLES)
    good = Match("briskola", ("random", "random"), 1)
    trust.allow("high_card.py")
    beside = Match("high_card.py", ("random", "random"), 1)
    wrong = {
        "agent": Batch(Match("briskola", ("random", "nobody"), 1), 0, 1),
        "code": Batch(good, 0, 1, code="other"),
        "bug": Batch(good, 0, -1),
        "file": Batch(beside, 0, 1, code=beside.code),
    }
    found = {}
    with executors.Cluster(address) as cluster:
        for name, batch in wrong.items():
            try:
                found[name] = len(list(cluster.run(iter([batch]))))
            except KibitzError as error:
                found[name] = (type(error).__name__, str(error), error.exit_code)
    return found


def refusals_are_clear(found):
    kind, message, code = found["agent"]
    assert (kind, code) == ("UnknownName", 2)
    assert message.startswith("unknown agent: 'nobody'")
    assert socket.gethostname() in message
    kind, message, code = found["code"]
    assert (kind, code) == ("InputError", 3)
    assert message.startswith("this worker has other code for briskola with random, random")
    kind, message, code = found["bug"]
    assert (kind, code) == ("KibitzError", 3)
    assert "ValueError: negative dimensions" in message
    assert found["file"] == 1


def when_the_head_is_killed(address, pid):
    executors._HEAD_SECONDS = 1.0
    wanted = Match("briskola", ("random", "random"), 1)
    try:
        with executors.Cluster(address) as cluster:
            for n, _ in enumerate(cluster.run(Batch(wanted, deal, 1) for deal in range(1_000_000))):
                if n == 5:
                    os.kill(pid, signal.SIGKILL)
    except KibitzError as error:
        return type(error).__name__, str(error), error.exit_code


# --- without a cluster -----------------------------------------------------------------------------

# A machine where no Ray runs, whatever runs on this one; Ray looks through all processes.
NO_PROCESSES = """
import sys
from kibitz import cli
from kibitz.arena import executors
executors._import_ray()
import psutil
psutil.process_iter = lambda *_, **__: iter(())
sys.exit(cli.main())
"""


def play_at(address, begin=NO_PROCESSES):
    command = [sys.executable, "-c", begin, "match", "briskola", "random", "random", "--ray", address]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("auto", "Could not find any running Ray instance"),
        ("127.0.0.2:{port}", ""),
        ("nothing", "Invalid address format"),
    ],
)
def test_where_no_cluster_is_the_message_says_so(address, reason):
    address = address.format(port=free_port())
    with ray_folder():
        done = play_at(address)
    assert done.returncode == 3
    assert done.stdout == ""
    assert f"kibitz: no connection to a Ray cluster at '{address}': {reason}" in done.stderr
    assert "`ray start --head` starts one" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.soak
def test_a_cluster_that_has_crashed_is_not_waited_for_without_end():
    """Its address is still noted. Ray's own settings would try it for a quarter of an hour."""
    with ray_folder() as folder:
        (folder / "ray").mkdir()
        (folder / "ray" / "ray_current_cluster").write_text(f"127.0.0.1:{free_port()}")
        done = play_at("auto")
    assert done.returncode == 3
    assert "kibitz: no connection to a Ray cluster at 'auto'" in done.stderr


def test_without_ray_the_message_names_the_extra():
    done = play_at("auto", "import sys; sys.modules['ray'] = None; from kibitz import cli; cli.main()")
    assert done.returncode == 4
    assert "needs the extra 'cluster'" in done.stderr


def test_ray_is_asked_for_alone():
    with pytest.raises(BadOption, match="not both"):
        executors.executor(jobs=2, ray="auto")
    with pytest.raises(BadOption, match="--jobs"):
        executors.executor(ray="local")


def test_settings_for_ray_do_not_stay_in_the_environment(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    before = dict(os.environ)
    with pytest.raises(MissingExtra):
        executors.executor(ray="auto")
    assert dict(os.environ) == before
