"""The door to the compiler: what `@game` refuses, and machine code that is never stale."""

import os
import signal
import subprocess
import sys
import threading
import time
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

import kibitz
from kibitz import kernel, protocol
from kibitz.errors import BadGame
from kibitz.kernel import component, entry, game

# --- what is refused ---


def toy():
    """A game that is right, not yet marked: to be broken by the tests."""

    class Toy(NamedTuple):
        seats: int = 2

        state = np.dtype([("total", "i8"), ("turn", "i8")])
        max_moves, max_plies = 2, 20

        def deal(game, state, rng):
            pass

        def mover(game, state):
            return state.turn

        def legal(game, state, moves):
            moves[0], moves[1] = 1, 2
            return 2

        def play(game, state, move):
            state.total += move
            state.turn = 1 - state.turn

        def is_over(game, state):
            return state.total >= 10

        def returns(game, state, out):
            out[state.turn], out[1 - state.turn] = 0.0, 1.0

    return Toy


def test_a_right_game_gets_the_defaults_it_lacks():
    marked = game(toy())
    assert marked.defaulted == set(protocol.OPTIONAL)
    assert marked().team(1) == 1
    assert marked().score_range() == (0.0, 1.0)
    own = toy()
    own.team = lambda game, seat: 0
    assert game(own).defaulted == set(protocol.OPTIONAL) - {"team"}


@pytest.mark.parametrize("name", [name for name in protocol.REQUIRED if name != "seats"])
def test_missing_methods_are_named(name):
    cls = toy()
    delattr(cls, name)
    with pytest.raises(BadGame, match=f"game Toy lacks {name}; kibitz.protocol.Game says"):
        game(cls)


def test_a_class_without_fields_is_refused():
    class Empty(NamedTuple):
        pass

    class Plain:
        pass

    for cls in (Empty, Plain):
        with pytest.raises(BadGame, match=f"{cls.__name__} has no fields; write it as a NamedTuple"):
            component(cls)


@pytest.mark.parametrize("name", ["count", "index"])
def test_names_of_tuple_methods_are_refused(name):
    cls = toy()
    setattr(cls, name, lambda game, state: 0)
    with pytest.raises(BadGame, match="'count' and 'index' belong to tuples"):
        game(cls)


def test_a_field_that_is_a_method_elsewhere_is_refused():
    class Barks(NamedTuple):
        size: int = 1

        def bark(dog, times):
            return times

    class HasBark(NamedTuple):
        bark: int = 1

    component(Barks)
    with pytest.raises(BadGame, match="HasBark: 'bark' is a field in one class and a method in another"):
        component(HasBark)


def test_a_method_that_is_a_field_elsewhere_is_refused():
    class HasMeow(NamedTuple):
        meow: int = 1

    class Meows(NamedTuple):
        size: int = 1

        def meow(cat, times):
            return times

    component(HasMeow)
    with pytest.raises(BadGame, match="Meows: 'meow' is a field in one class and a method in another"):
        component(Meows)


def test_a_method_with_another_number_of_arguments_is_refused():
    cls = toy()
    game(toy())
    cls.play = lambda game, state: None
    with pytest.raises(BadGame, match=r"Toy.play takes 2 arguments, but .* 3"):
        game(cls)


# --- in a process of its own ---

GAME = """
from typing import NamedTuple

import numpy as np

from kibitz import game
{importing}

STEP = {step}


@game
class Race(NamedTuple):
    seats: int = 2

    state = np.dtype([("total", "i8"), ("turn", "i8")])
    max_moves, max_plies = 2, 1000

    def deal(game, state, rng):
        pass

    def mover(game, state):
        return state.turn

    def legal(game, state, moves):
        moves[0], moves[1] = 1, 2
        return 2

    def play(game, state, move):
        state.total += move
        state.turn = 1 - state.turn

    def is_over(game, state):
        return state.total >= 1000

    def returns(game, state, out):
        out[0] = out[1] = 0.5

    def sensible_move(game, state, moves, rng):
        return STEP * double(1) + BONUS
"""

HELPER = """
from kibitz.kernel import kernel

BONUS = {bonus}


@kernel
def double(n):
    return {factor} * n
"""

# Asks each game for its sensible move; prints these and how many functions were compiled.
ASK = """
import sys

import kibitz.kernel as door
from kibitz import games
from kibitz.agents import make_agent
from kibitz.position import State

announce, compiled = door.compile_report, []


def count(what, functions, seconds, done):
    announce(what, functions, seconds, done)
    if done:
        compiled.append(functions)


door.compile_report = count
agent = make_agent("rule-based")
print(*(agent.choose(State(games.load(spec)).view(0), 1) for spec in sys.argv[1:]), sum(compiled))
"""


def write_game(folder, step=1, bonus=0, factor=2, helper="helper", importing="from {} import BONUS, double"):
    """A game in `race.py`, with a helper module beside it that it imports in the given way."""
    path = folder / "race.py"
    helper_path = folder.joinpath(*helper.split(".")).with_suffix(".py")
    helper_path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(GAME.format(step=step, importing=importing.format(helper)))
    helper_path.write_text(HELPER.format(bonus=bonus, factor=factor))
    return path


def python(*arguments, cache):
    """Start Python with a cache folder of its own."""
    environment = {**os.environ, "KIBITZ_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


def run(*arguments, cache):
    with python(*arguments, cache=cache) as process:
        output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output, errors


def ask(*games, cache):
    """The sensible move of each game, and the number of functions compiled."""
    output, errors = run("-c", ASK, *games, cache=cache)
    *moves, compiled = map(int, output.split())
    assert ("compiling" in errors) == (compiled > 0)
    return moves, compiled


def test_second_run_compiles_nothing(tmp_path):
    race, cache = write_game(tmp_path), tmp_path / "cache"
    moves, compiled = ask(race, cache=cache)
    assert moves == [2]
    assert compiled > 0
    assert ask(race, cache=cache) == ([2], 0)


def test_an_edited_rule_is_played(tmp_path):
    """A constant of the game's own file, and a constant and a function of a module beside it."""
    cache = tmp_path / "cache"
    race = write_game(tmp_path)
    assert ask(race, cache=cache)[0] == [2]
    for change, move in (({"step": 10}, 20), ({"bonus": 5}, 7), ({"factor": 3}, 3)):
        write_game(tmp_path, **change)
        assert ask(race, cache=cache)[0] == [move], change
    write_game(tmp_path)
    assert ask(race, cache=cache) == ([2], 0)  # the first rules again, from the cache


IN_BRACKETS = """
from tables import (
    numbers,
)

BONUS, double = numbers.BONUS, numbers.double
"""


@pytest.mark.parametrize(
    "importing", ["from {} import BONUS, double", IN_BRACKETS], ids=["in one line", "in brackets"]
)
def test_an_edited_rule_in_a_package_beside_the_game_is_played(tmp_path, importing):
    cache = tmp_path / "cache"
    helper = {"helper": "tables.numbers", "importing": importing}
    race = write_game(tmp_path, **helper)
    assert ask(race, cache=cache)[0] == [2]
    write_game(tmp_path, bonus=5, **helper)
    assert ask(race, cache=cache)[0] == [7]


def test_files_of_one_name_do_not_share_code(tmp_path):
    """Neither in one process nor through the cache."""
    cache = tmp_path / "cache"
    one = write_game(tmp_path / "one", step=1, helper="helper_one")
    two = write_game(tmp_path / "two", step=10, helper="helper_two")
    assert ask(one, two, cache=cache)[0] == [2, 20]
    assert ask(two, one, cache=cache) == ([20, 2], 0)


def test_helpers_of_one_name_are_not_mixed_up(tmp_path):
    """Each game gets the helper beside it; in one process Python knows one module of a name."""
    cache = tmp_path / "cache"
    one = write_game(tmp_path / "one", bonus=0)
    two = write_game(tmp_path / "two", bonus=5)
    assert ask(one, cache=cache)[0] == [2]
    assert ask(two, cache=cache)[0] == [7]
    with python("-c", ASK, one, two, cache=cache) as process:
        _, errors = process.communicate()
    assert process.returncode != 0
    assert "another module of that name is loaded" in errors


def test_a_run_that_was_killed_while_compiling_does_no_harm(tmp_path):
    race, cache = write_game(tmp_path), tmp_path / "cache"
    with python("-c", ASK, race, cache=cache) as process:
        assert "compiling" in process.stderr.readline()
        process.kill()
    assert process.returncode != 0
    assert ask(race, cache=cache)[0] == [2]
    assert ask(race, cache=cache) == ([2], 0)


def test_a_damaged_cache_is_made_anew(tmp_path):
    race, cache = write_game(tmp_path), tmp_path / "cache"
    assert ask(race, cache=cache)[0] == [2]
    for file in cache.rglob("*.nb*"):
        file.write_bytes(b"garbage\n")
    assert ask(race, cache=cache)[0] == [2]
    assert ask(race, cache=cache) == ([2], 0)


def test_code_is_ready_before_it_runs():
    """What an entry does is not counted as compiling: it runs after its code has been made."""

    class Watched(NamedTuple):
        seats: int = 2

    doubled = entry(lambda rules, x: 2 * x)
    before = kernel.seconds_compiling()
    assert doubled(Watched(), 4) == 8
    made = kernel.seconds_compiling()
    assert made > before
    assert doubled(Watched(), 5) == 10
    assert kernel.seconds_compiling() == made


def test_what_threads_compile_at_the_same_time_counts_once():
    """Else a search by many threads would seem to have taken less than no time."""
    together = threading.Barrier(4)

    def compile_slowly():
        with kernel.announced("nothing"):
            together.wait()
            time.sleep(0.05)

    began = time.perf_counter() - kernel.seconds_compiling()
    threads = [threading.Thread(target=compile_slowly) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.perf_counter() - kernel.seconds_compiling() >= began


def test_threads_wait_for_the_one_that_compiles(monkeypatch, tmp_path):
    monkeypatch.setenv("KIBITZ_CACHE_DIR", str(tmp_path))  # an earlier run of this test has left its code
    told = []
    monkeypatch.setattr(kernel, "compile_report", lambda what, *_: told.append(what))
    tripled, results = entry(lambda rules, x: 3 * x), []
    threads = [threading.Thread(target=lambda: results.append(tripled(Rules(), 4))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [12] * 8
    assert len(told) == 2  # that it begins, and that it is done


class Rules(NamedTuple):
    seats: int = 2


def test_a_cache_that_cannot_be_written_is_named_and_done_without(tmp_path):
    race, file = write_game(tmp_path), tmp_path / "file"
    file.write_text("no folder")
    output, errors = run("-c", ASK, race, cache=file / "cache")
    assert output.split()[0] == "2"
    assert "is not writable" in errors
    assert "set KIBITZ_CACHE_DIR to a writable folder" in errors


def test_a_refused_class_leaves_nothing_behind(tmp_path):
    """Its fields must not make right games wrong."""
    refused = """
from typing import NamedTuple
from kibitz import component, games
from kibitz.errors import BadGame

games.load("briskola")

class Refused(NamedTuple):
    legal: int = 1

try:
    component(Refused)
except BadGame:
    print(games.load({race!r}).seats)
"""
    race = str(write_game(tmp_path))
    assert run("-c", refused.format(race=race), cache=tmp_path / "cache")[0] == "2\n"


def test_arguments_are_counted_even_in_the_first_game_of_a_process(tmp_path):
    """The class with the wrong method is blamed, not the next right one."""
    path = write_game(tmp_path)
    path.write_text(path.read_text().replace("def play(game, state, move)", "def play(game, state)"))
    load = """
from kibitz import games
from kibitz.errors import BadGame

try:
    games.load({race!r})
except BadGame as error:
    print(error)
print(games.load("briskola").seats)
"""
    output, _ = run("-c", load.format(race=str(path)), cache=tmp_path / "cache")
    assert output.startswith("Race.play takes 2 arguments")
    assert output.endswith("\n2\n")


@pytest.mark.parametrize("name", kibitz.__all__)
def test_public_names_do_not_depend_on_what_was_imported_before(name):
    """A module of the same name would hide the function once it is imported."""
    assert not isinstance(getattr(kibitz, name), ModuleType)


def test_import_alone_loads_no_compiler(tmp_path):
    code = "import sys, kibitz; print([m for m in ('numba', 'numpy', 'scipy') if m in sys.modules])"
    assert run("-c", code, cache=tmp_path)[0] == "[]\n"


def test_interpreted_without_a_compiler(tmp_path):
    """NUMBA_DISABLE_JIT runs the same text, slowly."""
    code = "import os; os.environ['NUMBA_DISABLE_JIT'] = '1'\n" + ASK
    output, errors = run("-c", code, write_game(tmp_path), cache=tmp_path / "cache")
    assert output == "2 0\n"
    assert errors == ""


# --- entries ---


@entry
def add_up(numbers, out):
    """The sum of the numbers."""
    for i in range(len(numbers)):
        out[0] += numbers[i]


def test_an_entry_keeps_its_name_and_runs_in_both_modes():
    assert add_up.__name__ == "add_up"
    assert add_up.__doc__ == "The sum of the numbers."
    for run_it in (add_up, add_up.interpreted):
        out = np.zeros(1)
        run_it(np.arange(5.0), out)
        assert out[0] == 10


SWALLOWED = """
import signal
from kibitz import kernel

try:
    with kernel._interrupt_kept():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            pass  # as in a call from the compiler back to Python
        print("compiled")
except KeyboardInterrupt:
    print("interrupted", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


WAITING = """
import signal
from kibitz import kernel

def _raw_object_cache_notify():
    signal.raise_signal(signal.SIGINT)
    print("called back")

try:
    with kernel._interrupt_kept():
        _raw_object_cache_notify()
        print("compiled")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [(SWALLOWED, "compiled interrupted True"), (WAITING, "called back compiled interrupted")],
    ids=["swallowed", "waiting"],
)
def test_an_interrupt_that_the_compiler_swallows_is_not_lost(program, said):
    command = [sys.executable, "-c", program]
    restore = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, **restore)
    assert done.stdout.split() == said.split()
