"""Compiled code that cannot take the user down: faulty rules are refused, ended, or crash a worker only."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import pytest

import kibitz
from kibitz import cache, ending, errors, games, kernel, trial, trust
from kibitz.agents import make_agent
from kibitz.arena import play
from kibitz.arena.play import Batch, Match, play_game
from kibitz.bench import _playouts
from kibitz.errors import BadGame, Unsupported
from kibitz.search import tree
from kibitz.testing import CheckFailed, check_game
from tests.faulty_games import FAULTS, RIGHT, write

KIBITZ = (sys.executable, "-m", "kibitz")
ROOT = Path(__file__).parents[1]

# --- the trial ---


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_file_is_refused_before_it_is_compiled(name, tmp_path):
    file = write(tmp_path, name)
    with pytest.raises(BadGame) as refused:
        games.load(str(file))
    message = str(refused.value)
    _, wrong, says = FAULTS[name]
    before, _, _ = file.read_text().partition(wrong)
    assert message.startswith(f"{name}.py ")
    assert says.format((before + wrong).count("\n") + 1) in message
    assert f"`kibitz check {name}.py`" in message
    assert "\n" not in message
    with pytest.raises(BadGame):  # by data, too
        games.load_known(str(file))
    if name not in ("returns_nan", "hide_oob", "resample_oob", "world_oob"):
        with pytest.raises(CheckFailed):  # who asks for the faults gets all of them
            check_game(str(file), n=1)


QUICK = ("briskola", "bridge", "othello", "tic-tac-toe")


@pytest.mark.parametrize(
    "spec", [*QUICK, *(pytest.param(g, marks=pytest.mark.soak) for g in games.GAMES if g not in QUICK)]
)
def test_right_rules_pass(spec):
    trial.play_once(games.load(spec))


def test_what_has_passed_is_not_repeated(tmp_path, monkeypatch):
    """Neither in this process nor in the next, as long as sources and parameters are the same."""
    monkeypatch.setenv("KIBITZ_CACHE_DIR", str(tmp_path / "code"))
    played, once = [], trial.play_once
    monkeypatch.setattr(trial, "play_once", lambda game: (played.append(game.seats), once(game)))
    monkeypatch.setattr(trial, "_passed", set())
    file = write(tmp_path, "right")
    games.load(str(file))
    games.load(str(file))
    assert played == [2]
    trial._passed.clear()  # as in another process
    games.load(str(file))
    assert played == [2]
    games.load(f"{file}:seats=3")
    assert played == [2, 3]
    del sys.modules[type(games.load(str(file))).__module__]
    trial._passed.clear()
    file.write_text(RIGHT.replace("below(rng, 50)", "below(rng, 51)"))
    games.load(str(file))
    assert played == [2, 3, 2]


def test_only_files_are_tried(monkeypatch):
    monkeypatch.setattr(trial, "play_once", lambda game: pytest.fail("was tried"))
    games.load("briskola:seats=3,partners_look=false")


# --- games that have no end ---


@pytest.fixture
def interpreted(monkeypatch):
    """Entries run interpreted: the same text, without a minute of compiling."""
    monkeypatch.setattr(kernel.config, "DISABLE_JIT", True)


SEARCHES = [
    "ismcts:20",
    "ismcts:20,expand=all,playouts=2",
    "uct:20,expand=path",
    "uct:20,expand=path,backup=proved",
    "ismcts:time=1s",
    "flat:20",
    "flat:20,device=gpu",
    "ismcts:20,device=gpu,threads=300",
]


@pytest.mark.parametrize("spec", SEARCHES)
def test_a_search_ends_though_the_game_does_not(spec, tmp_path, interpreted):
    game = games.load(str(write(tmp_path, "endless")))
    agent = make_agent(spec, game)
    agent.start(game, 0)
    with pytest.raises(BadGame, match=r"endless\.py is not over after 12 moves .*kibitz check endless\.py"):
        agent.choose(kibitz.deal(game, 1).view(), 1)


@pytest.mark.parametrize("seats", [2, 3])
def test_an_ending_is_solved_no_deeper_than_a_game(seats, tmp_path, interpreted):
    game = games.load(f"{write(tmp_path, 'endless')}:seats={seats}")
    state = kibitz.deal(game, 1)
    state.record.plies = 10  # from here on one world is left
    agent = make_agent("ismcts:10,endings=5", game)
    with pytest.raises(BadGame, match=r"endless\.py is not over after 12 moves"):
        agent.choose(state.view(), 1)


@pytest.mark.parametrize("name", ["endless", "no_deal"])
def test_games_of_a_match_end(name, tmp_path, interpreted):
    file = str(write(tmp_path, name))
    trust.allow(file)
    with pytest.raises(BadGame, match=rf"{name}\.py .*not over after 12 moves"):
        Batch(Match(file, ("random", "random"), 1), 0, 2).play()
    with pytest.raises(BadGame, match=rf"{name}\.py is not over"):
        play_game(games.load(file), [make_agent("random"), make_agent("random")], 1, 0, 0)
    with pytest.raises(BadGame, match=rf"{name}\.py is not over"):
        _playouts(games.load(file), 3, 1)


@pytest.mark.parametrize("name", ["endless", "no_deal"])
def test_games_that_are_played_side_by_side_end(name, tmp_path, interpreted, monkeypatch):
    monkeypatch.setattr(play, "decides_in_many", lambda agent, game: agent.spec == "flat:10,device=gpu")
    file = str(write(tmp_path, name))
    trust.allow(file)
    match = Match(file, ("random", "flat:10,device=gpu"), 1)
    with pytest.raises(BadGame, match=rf"{name}\.py "):
        Batch(match, 0, 2).play()


def test_compiled_games_end(tmp_path, monkeypatch):
    monkeypatch.setattr(trial, "play_once", lambda game: None)
    with pytest.raises(BadGame, match=r"endless\.py is not over after 12 moves"):
        _playouts(games.load(str(write(tmp_path, "endless"))), 3, 1)


@pytest.mark.soak
@pytest.mark.parametrize("spec", SEARCHES)
def test_compiled_searches_end(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(trial, "play_once", lambda game: None)
    game = games.load(str(write(tmp_path, "endless")))
    with pytest.raises(BadGame, match=r"endless\.py is not over after 12 moves"):
        make_agent(spec, game).choose(kibitz.deal(game, 1).view(), 1)


# --- a game that crashes all the same ---


@pytest.mark.skipif(not hasattr(signal, "SIGSEGV"), reason="no such signals here")
@pytest.mark.parametrize("jobs", [("--jobs", "2"), ()], ids=["two processes", "not said"])
def test_a_crash_of_a_worker_names_the_game(tmp_path, jobs):
    """The first game, which is tried, is right; the main process plays none of the others."""
    file = tmp_path / "rare.py"
    file.write_text(RIGHT.replace("state.place[move]", "state.place[move + (state.lot == 7) * (1 << 40)]"))
    words = ("match", file.name, "random", "random", "--games", "400", *jobs)
    done = subprocess.run([*KIBITZ, *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert "a worker process crashed (SIGSEGV) while it played rare.py" in last
    assert "`kibitz check rare.py`" in last


ALONE = {
    "advise": ("advise", "rare.py", "3", "--agent", "ismcts:2000"),
    "bench": ("bench", "rare.py", "--seconds", "0.2"),
    "check": ("check", "rare.py", "--games", "200"),
}


@pytest.mark.parametrize(
    "verb", ["bench", *(pytest.param(v, marks=pytest.mark.soak) for v in ("advise", "check"))]
)
def test_a_crash_of_the_program_itself_names_the_game(tmp_path, verb):
    """It cannot be kept from ending, but whoever sees it knows where to look."""
    file = tmp_path / "rare.py"
    file.write_text(RIGHT.replace("state.place[move]", "state.place[move + (state.lot == 7) * (1 << 40)]"))
    with subprocess.Popen([*KIBITZ, *ALONE[verb]], stderr=subprocess.PIPE, text=True, cwd=tmp_path) as done:
        errors = done.stderr.read()  # until the last who could write has ended
    if verb == "check" and done.returncode == 1:  # found by an interpreted game
        return
    assert done.returncode == -signal.SIGSEGV, errors
    assert "the program crashed while it ran the rules of rare.py" in errors
    assert "`kibitz check rare.py` looks for it" in errors


def test_whoever_ends_in_good_order_or_is_killed_says_nothing_of_a_crash(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    for end in ("", "; import os, signal; os.kill(os.getpid(), signal.SIGKILL)"):
        code = f"from kibitz import ending, games; ending.name_crashes(); games.load('right.py'){end}"
        with subprocess.Popen(
            [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, cwd=tmp_path
        ) as done:
            assert done.stderr.read() == ""


# --- a game as the README has it ---

NIM = re.search(r"```python\n(from typing.*?)\nprint", (ROOT / "README.md").read_text("utf-8"), re.S)[1]


def test_the_readmes_game_is_tested_explained_and_measured(tmp_path):
    """It was over before it was dealt, when no stick was there, so nothing was tested or measured."""
    (tmp_path / "nim.py").write_text(NIM)
    done = subprocess.run([*KIBITZ, "games", "nim.py"], capture_output=True, text=True, cwd=tmp_path)
    assert "Nim" in done.stdout
    game = games.load(str(tmp_path / "nim.py"))
    assert any(re.search(r"10 games, [1-9]\d+ decisions", check.detail) for check in check_game(game, n=10))
    _, points = _playouts(game, 1000, 1)
    assert sum(points) == 1000
    assert min(points) > 0


@pytest.mark.soak
def test_the_readmes_game_passes_kibitz_check_and_bench(tmp_path):
    (tmp_path / "nim.py").write_text(NIM)

    def run(*words):
        return subprocess.run([*KIBITZ, *words], capture_output=True, text=True, cwd=tmp_path)

    done = run("check", "nim.py")
    assert done.returncode == 0, done.stdout
    assert re.search(r"10 games, [1-9]\d+ decisions", done.stdout)
    told = run("bench", "nim.py", "--seconds", "0.01", "--json")
    assert 1e4 < json.loads(told.stdout)["playouts"]["median"] < 1e8, told.stderr


def test_a_game_in_which_nobody_decides_is_broken(tmp_path):
    file = tmp_path / "nothing.py"
    file.write_text(NIM.replace("state.turn > 0 and state.sticks == 0", "state.sticks == 0"))
    done = subprocess.run([*KIBITZ, "check", file], capture_output=True, text=True)
    assert done.returncode == 1
    assert "nobody had to decide anything" in done.stdout


def test_a_game_without_a_docstring_has_its_name_in_the_lobby(tmp_path):
    (tmp_path / "nim_plain.py").write_text(NIM)
    assert games.about(type(games.load(str(tmp_path / "nim_plain.py")))) == "Nim"


# --- Ctrl-C twice ---

SPINS = """
from kibitz import cli
from kibitz.kernel import entry


@entry
def spin(n):
    while n >= 0:
        n = (n + 1) & 1023
    return n


def verb(**_):
    spin(-1)  # compiled, it is over at once
    print("spins", flush=True)
    spin(1)


cli.app = verb
cli.main()
"""


@pytest.mark.skipif(os.name == "nt", reason="no signals can be sent here")
def test_two_signals_end_compiled_code_and_one_does_not():
    """Nothing that Python calls in the main thread gets its turn there."""
    command, pipe = [sys.executable, "-c", SPINS], subprocess.PIPE
    with ExitStack() as ended:
        asked = {}
        for number in (signal.SIGINT, signal.SIGTERM):
            asked[number] = ended.enter_context(
                subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
            )
            ended.callback(asked[number].kill)
        for process in asked.values():
            assert process.stdout.readline() == "spins\n"
        time.sleep(0.3)  # both are in compiled code by now
        for number, process in asked.items():
            process.send_signal(number)
        time.sleep(0.3)
        for number, process in asked.items():
            assert process.poll() is None
            process.send_signal(number)
        second = time.monotonic()
        for process in asked.values():
            _, errors = process.communicate(timeout=20)
            assert process.returncode == ending.INTERRUPTED
            assert "ended at once" in errors
        assert time.monotonic() - second < ending.GRACE_SECONDS + 1


STUCK = """
import sys, time
from kibitz import cli


def verb(**_):
    print("writes", flush=True)
    while True:
        sys.stderr.write(1023 * "x" + "\\n")  # until the pipe is full


cli.app = verb
cli.main()
"""

HOLDS = """
import ctypes
from kibitz import cli, ending


def verb(**_):
    print("holds", flush=True)
    with ending.without_delay():
        ctypes.PyDLL(None).sleep(60)  # as foreign code that lets no other thread run


cli.app = verb
cli.main()
"""


@pytest.mark.skipif(os.name == "nt", reason="no signals can be sent here")
@pytest.mark.parametrize(("code", "signals"), [(STUCK, 2), (HOLDS, 1)], ids=["full pipe", "foreign code"])
def test_signals_end_what_neither_writes_nor_lets_others_run(code, signals):
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe) as process:
        try:
            process.stdout.readline()
            for _ in range(signals):
                time.sleep(0.5)
                assert process.poll() is None
                process.send_signal(signal.SIGINT)
            process.wait(ending.GRACE_SECONDS + 5)
        finally:
            process.kill()
    assert process.returncode in (ending.INTERRUPTED, -signal.SIGINT)


@pytest.mark.skipif(os.name == "nt", reason="no signals can be sent here")
def test_a_signal_raises_again_after_foreign_code():
    code = """
import os, signal
from kibitz import ending
ending.end_when_asked()
with ending.without_delay():
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
try:
    os.kill(os.getpid(), signal.SIGTERM)
except KeyboardInterrupt:
    print("asked")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "asked\n"


# --- the cache ---


@pytest.fixture
def code(tmp_path, monkeypatch):
    """A cache folder of its own."""
    monkeypatch.setenv("KIBITZ_CACHE_DIR", str(tmp_path / "code"))
    errors.say_once.cache_clear()
    return tmp_path / "code"


owners = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders have no owners here")


@owners
def test_folders_are_made_for_their_user_alone(code):
    folder = kernel.cache_folder(("kibitz.rng",))
    for made in (folder, code):
        assert made.stat().st_mode & 0o777 == 0o700


@owners
def test_folders_of_older_versions_are_closed(code):
    """They were made with the usual mode; folders that are not Kibitz's stay as they are."""
    old, other = code / ("0123456789abcdef"), code / "mine"
    for folder in (old, other):
        folder.mkdir(parents=True)
        folder.chmod(0o755)
    cache._close_older.cache_clear()
    kernel.cache_folder(("kibitz.rng",))
    assert old.stat().st_mode & 0o777 == 0o700
    assert other.stat().st_mode & 0o777 == 0o755


OTHERS = {
    "anybody can write": lambda root: root.chmod(0o777),
    "a group can write": lambda root: (os.chown(root, -1, 12345), root.chmod(0o770)),
    "it is another's": lambda root: os.chown(root, 12345, -1),
    "the folder above is another's": lambda root: os.chown(root.parent, 12345, -1),
    "the folder above can be written": lambda root: root.parent.chmod(0o777),
}


@owners
@pytest.mark.parametrize("what", OTHERS)
def test_code_that_others_can_change_is_not_run(what, code, monkeypatch, capsys):
    """Somebody has put a file where machine code is looked for, and knows all digests."""
    if "chown" in OTHERS[what].__code__.co_names and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    kept = kernel.Kept(("kibitz.rng",), "about")
    cache.write(kept.file("()"), pickle.dumps(Planted(str(code / "ran"))))
    kept.load_overload("()", mock.Mock())
    assert (code / "ran").exists()  # so it would be run
    (code / "ran").unlink()
    OTHERS[what](code)
    cache._can_be_used.cache_clear()
    again = kernel.Kept(("kibitz.rng",), "about")
    assert again.file("()") is None
    assert again.load_overload("()", mock.Mock()) is None
    assert not (code / "ran").exists()
    told = capsys.readouterr().err
    assert f"other users can change {code}" in told
    assert "KIBITZ_CACHE_DIR" in told


def _anybodys(file):
    file.chmod(0o666)


def _nobodys(file):
    os.chown(file, 65534, -1)


def _link(file):
    elsewhere = file.with_name("elsewhere")
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


@owners
@pytest.mark.parametrize("change", [_anybodys, _nobodys, _link])
def test_a_file_that_somebody_else_could_write_is_not_run(change, code):
    """Its folder was open for a while, and is closed now."""
    if change is _nobodys and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    kept = kernel.Kept(("kibitz.rng",), "about")
    file = kept.file("()")
    cache.write(file, pickle.dumps(Planted(str(code / "ran"))))
    assert file.stat().st_mode & 0o777 == 0o600
    change(file)
    assert kept.load_overload("()", mock.Mock()) is None
    assert not (code / "ran").exists()
    cache.write(file, pickle.dumps(Planted(str(code / "ran"))))  # it is made anew
    kept.load_overload("()", mock.Mock())
    assert (code / "ran").exists()


class Planted:
    """What leaves a trace when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


@owners
def test_a_sticky_folder_of_the_system_is_good_enough(code):
    code.parent.chmod(0o1777)
    assert kernel.cache_folder(("kibitz.rng",)) is not None


def test_one_wrong_bit_makes_a_file_useless(tmp_path):
    file = tmp_path / "code.nbc"
    for bit in range(0, 8 * (32 + 40), 7):
        cache.write(file, bytes(range(40)))
        assert cache.read(file) == bytes(range(40))
        damaged = bytearray(file.read_bytes())
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        assert cache.read(file) is None
        assert not file.exists()


def test_code_with_one_wrong_bit_is_compiled_anew(code, monkeypatch):
    compiled = []
    monkeypatch.setattr(kernel, "compile_report", lambda what, *_: compiled.append(what))

    def is_compiled():
        compiled.clear()
        doubled = kernel.Entry(double)
        assert doubled(21) == 42
        return bool(compiled)

    assert is_compiled()
    assert not is_compiled()
    (file,) = code.rglob("*.nbc")
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 16
    file.write_bytes(damaged)
    assert is_compiled()
    assert not is_compiled()


def double(x):
    return 2 * x


# --- memory ---


def test_a_tree_reserves_what_it_can_use():
    game = games.load("tichu:target=1000")
    for iterations in (50_000, 10**12):
        memory = make_agent(f"uct:{iterations},expand=path", game)._memory(game, 0)
        assert sum(part.nbytes for part in memory) < 400e6


def test_too_little_memory_is_said(monkeypatch):
    monkeypatch.setattr(tree, "buffers", mock.Mock(side_effect=MemoryError))
    with pytest.raises(Unsupported, match=r"too little memory for the trees of ismcts:50; .* fewer"):
        make_agent("ismcts:50").choose(kibitz.deal("briskola", 1).view(), 1)
