"""Lanes: the same results on a processor, in the interpreter and on a GPU, where there is one."""

import json
import re
import sys
import types
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest

from kibitz import games, gpu, kernel
from kibitz.agents import make_agent
from kibitz.arena import play
from kibitz.arena.executors import executor
from kibitz.arena.play import Batch, Deals, Match, play_game
from kibitz.bench import RandomGames
from kibitz.errors import BadOption, Unsupported
from kibitz.kernel import component
from kibitz.position import deal
from kibitz.search.objective import Habit, score
from tests.test_docs import run_kibitz

needs_gpu = pytest.mark.skipif(not gpu.device().is_there, reason="there is no GPU")
ON = [False, pytest.param(True, marks=needs_gpu)]


def random_totals(spec, lanes, on_gpu=False):
    game = games.load(spec)
    totals = np.zeros((lanes, game.seats))
    data = (np.int64(5), np.int64(2), np.zeros(1, game.state))
    gpu.run(game, RandomGames(Habit(0.0), game.max_plies), lanes, data, (totals,), on_gpu, fixed=True)
    return totals


@pytest.mark.parametrize("on_gpu", ON)
def test_lanes_play_what_the_interpreter_plays(on_gpu):
    game = games.load("briskola")
    totals = random_totals("briskola", 5, on_gpu)
    expected = np.zeros((5, 2))
    data = (np.int64(5), np.int64(2), np.zeros(1, game.state).view(np.recarray), expected)
    memory = gpu.scratch(game)._replace(position=np.zeros(1, game.state).view(np.recarray))
    gpu.run_lanes.interpreted(game, RandomGames(Habit(0.0), game.max_plies), 0, 5, memory, data)
    assert (totals == expected).all()
    assert (totals.sum(axis=1) == 240).all()
    assert len(np.unique(totals[:, 0])) > 2


@needs_gpu
@pytest.mark.parametrize("spec", ["briskola:seats=3", "diminishing-bridge", "bridge", "mini-tichu", "tichu"])
def test_a_gpu_plays_the_same_random_games(spec):
    assert (random_totals(spec, 1000) == random_totals(spec, 1000, on_gpu=True)).all()


@needs_gpu
def test_a_program_is_kept_for_the_next_process(monkeypatch, tmp_path):
    """It is compiled once, and again when its file is damaged."""
    expected = random_totals("briskola", 100)
    compiled = []
    monkeypatch.setenv("KIBITZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel, "compile_report", lambda what, *_: compiled.append(what))

    def is_compiled():
        compiled.clear()
        monkeypatch.setattr(gpu, "_programs", {})  # as in another process
        assert (random_totals("briskola", 100, on_gpu=True) == expected).all()
        return bool(compiled)

    assert is_compiled()
    assert not is_compiled()
    (file,) = tmp_path.glob("*/gpu-*.pickle")
    file.write_bytes(b"damaged")
    assert is_compiled()
    assert not is_compiled()


def test_where_a_program_is_kept(monkeypatch, tmp_path):
    """One file for what is built in and the kinds of arguments; none for rules that were typed in."""
    monkeypatch.setenv("KIBITZ_CACHE_DIR", str(tmp_path))
    briskola, bridge = (type(games.load(name)) for name in ("briskola", "bridge"))
    files = {
        gpu.Kept(classes, built_in).file(signature)
        for classes in ((briskola,), (bridge,))
        for built_in in ("seats=2", "seats=4")
        for signature in ("(int64,)", "(float64,)")
    }
    assert len(files) == 8
    assert {file.parent.parent for file in files} == {tmp_path}
    assert gpu.Kept((briskola,), "seats=2").file("(int64,)") in files
    typed_in = type("TypedIn", (), {"__module__": "typed_in"})
    monkeypatch.setitem(sys.modules, "typed_in", types.ModuleType("typed_in"))
    assert gpu.Kept((typed_in,), "").file("(int64,)") is None


def test_a_damaged_program_is_no_program(monkeypatch, tmp_path):
    monkeypatch.setenv("KIBITZ_CACHE_DIR", str(tmp_path))
    kept, missing = gpu.Kept((), ""), []
    kept.when_missing = lambda: missing.append(True)
    file = kept.file("()")
    file.write_bytes(b"damaged")
    assert kept.load_overload("()", mock.Mock()) is None
    assert not file.exists()
    assert missing == [True]


MATCHES = [
    Match("briskola", ("rule-based", "random"), 3),
    Match("diminishing-bridge:published=true", ("snelleman-rule-based:as_run=true", "snelleman-trumping"), 3),
]


@pytest.mark.parametrize("match", MATCHES)
@pytest.mark.parametrize("on_gpu", ON)
def test_games_by_lanes_are_those_played_one_by_one(match, on_gpu):
    played = Batch(match, 5, 10).play(on_gpu)
    agents = [make_agent(spec, match.rules) for spec in match.agents]
    for d in range(3):
        for s, seats in enumerate(match.places):
            one = play_game(match.rules, [agents[a] for a in seats], match.seed, 5 + d, s)
            assert (played.scores[d, s] == one.scores).all()
    assert played.thought["decisions"][0] > 0


COMPILED_FOR_LONG = (*(f"snelleman-mc:300,bidding={b}" for b in ("tricks", "score")), "boerenbridge:60")


@pytest.mark.parametrize(
    "agent",
    [
        "snelleman-mc:300,bidding=search",
        *(pytest.param(agent, marks=pytest.mark.soak) for agent in COMPILED_FOR_LONG),
    ],
)
def test_many_decisions_at_once_are_those_made_one_by_one(monkeypatch, agent):
    monkeypatch.setattr(play, "decides_in_many", lambda agent, game: hasattr(agent, "choose_many"))
    spec = f"{agent},device=gpu"
    match = Match("diminishing-bridge:rounds=3,cards=5", (spec, "snelleman-random"), 3)
    played = Batch(match, 5, 2).play()
    used = 0
    for d in range(2):
        for s, seats in enumerate(match.places):
            agents = [make_agent(match.agents[a], match.rules) for a in seats]
            one = play_game(match.rules, agents, match.seed, 5 + d, s)
            assert (played.scores[d, s] == one.scores).all()
            used += agents[seats.index(0)].used
    assert played.thought["iterations"][0] == used > 0


@pytest.mark.parametrize("on_gpu", ON)
def test_flat_monte_carlo_by_lanes_finds_the_same_values(monkeypatch, on_gpu):
    view = deal(games.load("briskola"), 3).view()
    monkeypatch.setattr(gpu, "choose", lambda wanted: on_gpu)
    by_lanes, plain = (
        make_agent(f"flat:30000,device={device}", view.game).advise(view, 1) for device in ("gpu", "cpu")
    )
    again = make_agent("flat:30000,device=gpu", view.game).advise(view, 1)
    for a, b, c in zip(by_lanes.rows, plain.rows, again.rows, strict=True):
        assert a.visits == b.visits == 10000
        assert abs(a.value - b.value) < 5 * np.hypot(a.stderr, b.stderr)
        assert a.value == c.value
        assert a.value != b.value


def test_lanes_play_large_searches_only():
    game = games.load("briskola")
    specs = (
        "flat:99999",
        "flat:100000",
        "flat:100000,device=cpu",
        "flat:100000,endings=9",
        "flat:10,device=gpu",
    )
    lanes = [make_agent(spec, game).plays_lanes(game) for spec in specs]
    assert lanes == [False, True, False, False, True]
    game = games.load("diminishing-bridge:seats=5")
    assert not make_agent("flat:100000", game).plays_lanes(game)
    with pytest.raises(Unsupported, match="more than four seats"):
        make_agent("flat:10,device=gpu", game).start(game, 0)
    game = games.load("diminishing-bridge")
    for option in ("belief=9", "endings=9"):
        with pytest.raises(Unsupported, match="leave out belief and endings"):
            make_agent(f"flat:10,device=gpu,{option}", game).start(game, 0)
    with pytest.raises(BadOption, match="threads=257"):
        make_agent("ismcts:1000,threads=257", game).start(game, 0)


def test_a_stack_of_components_gives_each_back():
    game = games.load("briskola")
    one, other = score(game, 0.5), score(game, 0.0, top=2.0)
    stacked = kernel.stack([one, other])
    assert stacked.at(0) == one
    assert stacked.at(1) == other


# --- without a GPU ---------------------------------------------------------------------------------


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(gpu, "device", lambda: gpu.Device(reason="it was sold"))
    gpu._say_once.cache_clear()
    yield
    gpu._say_once.cache_clear()


def test_without_a_gpu_the_processor_does_it_and_says_so_once(no_gpu, capsys):
    assert not gpu.choose("gpu")
    assert not gpu.choose("gpu")
    assert not gpu.choose("auto")
    said = capsys.readouterr().err
    assert (
        said.count(
            "no GPU is used: it was sold; the processor does it, with the results that a GPU would give"
        )
        == 1
    )
    with pytest.raises(BadOption, match="device=tpu"):
        gpu.choose("tpu")


@pytest.mark.parametrize("error", [MemoryError("0 bytes"), RuntimeError("CUDA_ERROR_OUT_OF_MEMORY")])
def test_too_little_memory_is_no_crash(monkeypatch, capsys, error):
    def too_much(*_):
        raise error

    gpu._say_once.cache_clear()
    expected = random_totals("briskola", 3)
    monkeypatch.setattr(gpu, "_on_gpu", too_much)
    assert (random_totals("briskola", 3, on_gpu=True) == expected).all()
    assert "too little memory" in capsys.readouterr().err


def test_other_errors_of_a_gpu_are_not_hidden(monkeypatch):
    def broken(*_):
        raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")

    monkeypatch.setattr(gpu, "_on_gpu", broken)
    with pytest.raises(RuntimeError, match="ILLEGAL_ADDRESS"):
        random_totals("briskola", 3, on_gpu=True)


def test_a_gpu_is_for_one_process(monkeypatch):
    """Where there is none, all cores do its work."""
    monkeypatch.setattr(gpu, "choose", lambda wanted: False)
    with executor(2, None, on_gpu=True) as workers:
        assert workers.workers == 2
    monkeypatch.setattr(gpu, "choose", lambda wanted: True)
    assert executor(None, None, on_gpu=True).workers == 1
    with pytest.raises(BadOption, match="one process"):
        executor(2, None, on_gpu=True)
    with pytest.raises(BadOption, match="one process"):
        executor(None, "auto", on_gpu=True)


def test_the_command_line_tells_and_uses_what_there_is():
    code, out, _ = run_kibitz(["info", "--json"])
    assert code == 0
    about = json.loads(out)
    assert about["gpu"]["name"] or about["gpu"]["reason"]
    assert run_kibitz(["info"])[1].count("\n") == 6
    words = ["match", "briskola", "rule-based", "random", "--games", "200", "--seed", "1", "--json"]
    plain, on_gpu = (json.loads(run_kibitz([*words, *more])[1]) for more in ([], ["--gpu"]))
    assert plain["agents"] == on_gpu["agents"]
    code, out, _ = run_kibitz(["bench", "briskola", "--gpu", "--seconds", "0.01", "--json"])
    assert code == 0
    measured = json.loads(out)
    assert measured["core"]["median"] > 0
    assert measured.get("same_scores") is (True if gpu.device().is_there else None)
    code, _, error = run_kibitz(["bench", "openspiel:tic_tac_toe", "--gpu"])
    assert code == 3
    assert "cannot be played on a GPU" in error


# --- the program itself, compiled without a GPU ----------------------------------------------------


def data_of_deals(game, seatings):
    return (
        *(np.zeros((seatings, game.seats), np.int64), 1, 0, game.max_plies, np.zeros(1, game.state)),
        *(np.zeros((1, seatings, game.seats)), np.zeros((1, seatings, game.seats, len(game.counted)))),
        *(np.zeros((seatings, 2), np.int32), np.zeros(seatings, np.bool_)),
    )


@component
class Below(NamedTuple):
    """Counts what is below a number."""

    number: int

    def lane(task, game, number, scratch, data):
        values, counts = data
        for i in range(len(values)):
            if values[i] < task.number:
                counts[number] += i


@component
class OneOf(NamedTuple):
    """Counts what is one of two numbers."""

    number: int

    def lane(task, game, number, scratch, data):
        values, counts = data
        for i in range(len(values)):
            if values[i] in (task.number, 5):
                counts[number] += i


def test_no_lane_can_leave_before_its_end():
    """Threads that might would not be waited for."""
    numba = pytest.importorskip("numba")
    pytest.importorskip("numba.cuda.core.config", reason="the extra 'gpu' is not installed")
    data = (np.arange(8), np.zeros(1, np.int64))
    signature = (numba.typeof(1), numba.typeof(1), numba.typeof(data))
    ways_out = []
    for task in (Below(3), OneOf(3)):
        text = gpu.ptx(games.load("briskola"), task, signature)
        end = re.search(r"(\$\w+):\s+ret;", text)
        ways_out.append(len(re.findall(rf"bra(?:\.uni)?\s+{re.escape(end[1])};", text)))
    assert ways_out[0] == ways_out[1] > 0
    gpu.run(games.load("briskola"), OneOf(3), 1, data[:1], data[1:], False)
    assert data[1][0] == 3 + 5


@pytest.mark.parametrize("match", MATCHES)
def test_the_program_for_a_gpu_is_made_without_one(match):
    numba = pytest.importorskip("numba")
    pytest.importorskip("numba.cuda.core.config", reason="the extra 'gpu' is not installed")
    policies = [make_agent(spec, match.rules).policy for spec in match.agents]
    data = data_of_deals(match.rules, match.games_a_deal)
    text = gpu.ptx(
        match.rules,
        Deals(policies[0], (policies[1],)),
        (numba.typeof(1), numba.typeof(1), numba.typeof(data)),
    )
    assert ".entry" in text
    assert ".shared" in text
    assert "popc.b64" in text  # sets of cards are counted by an instruction
    assert text.count("ld.local.u8") < 10  # records are not copied byte by byte
