"""Games in other words: records, boards of bridge and OpenSpiel's actions, there and back."""

import json
import random

import pytest

from kibitz import games
from kibitz.adapters import sequences
from kibitz.agents import make_agent
from kibitz.arena.play import play_game
from kibitz.errors import BadOption, InputError, ParseError
from kibitz.games.bridge import files
from kibitz.position import deal

GAMES = (
    *("briskola:seats=3", "tic-tac-toe", "backgammon", "bridge:strain=any,declarer=any,level=any"),
    "diminishing-bridge:cards=2,order=rising",
)


def record(spec, seed=3, number=5):
    """What `kibitz replay --json` prints of a random game."""
    game = games.load(spec)
    agents = [make_agent("random", game) for _ in range(game.seats)]
    played = play_game(game, agents, seed, number, 0)
    moves = [{"seat": 0, "agent": "random", "move": game.move_text(move)} for move in played.moves]
    return {"game": spec, "seed": seed, "deal": number, "moves": moves, "scores": played.scores.tolist()}


ENDED = "bridge(): " + " ".join(map(str, [*range(52), 55, 52, 52, 52])) + " "
"""A deal and an auction, in OpenSpiel's actions."""


@pytest.mark.parametrize("spec", GAMES)
def test_a_record_becomes_actions_and_comes_back(tmp_path, spec):
    first, actions, second, again = (
        tmp_path / name for name in ("1.json", "1.openspiel", "2.json", "2.openspiel")
    )
    told = record(spec)
    first.write_text(json.dumps(told))
    for source, out in ((first, actions), (actions, second), (second, again)):
        assert sequences.convert(str(source), out) == 1
    assert actions.read_text() == again.read_text()
    back = json.loads(second.read_text())
    assert [move["move"] for move in back["moves"]] == [move["move"] for move in told["moves"]]
    if "board" not in back:
        assert back["scores"] == told["scores"]


@pytest.mark.parametrize("spec", GAMES)
def test_openspiel_plays_the_actions(tmp_path, spec):
    pyspiel = pytest.importorskip("pyspiel")
    from kibitz.adapters import openspiel

    openspiel.register()
    (tmp_path / "1.json").write_text(json.dumps(record(spec)))
    sequences.convert(str(tmp_path / "1.json"), tmp_path / "1.openspiel")
    game, _, actions = (tmp_path / "1.openspiel").read_text().partition(":")
    state = pyspiel.load_game(game).new_initial_state()
    for action in map(int, actions.split()):
        state.apply_action_with_legality_check(action)
    assert state.is_terminal()
    if "bridge:" not in spec:
        assert state.returns() == record(spec)["scores"]


def some_boards():
    """Boards with an auction, with a contract alone, and with part of the play."""
    chooser, boards = random.Random(1), []
    for number, (doubled, sides, dealer) in enumerate(
        ((0, "none", None), (1, "ns", 2), (2, "both", 3), (0, "ew", 0)), 1
    ):
        state = deal(games.load("bridge:strain=any,level=any,declarer=any"), number)
        state.record.doubled = doubled
        moves = []
        for _ in range(chooser.choice((0, 7, 52))):
            moves.append(chooser.choice(state.legal_moves()))
            state.play(moves[-1])
        if moves:
            boards.append(files.board_of(state, moves, number=number, dealer=dealer, vulnerable=sides))
        else:
            boards.append(files.board_of(state, number=number, dealer=dealer, vulnerable=sides))
    return boards


@pytest.mark.parametrize("suffix", [".pbn", ".lin"])
def test_boards_become_actions_and_come_back(tmp_path, suffix):
    boards, way = some_boards(), tmp_path / "boards.openspiel"
    files.save(boards, tmp_path / "boards.pbn")
    assert sequences.convert(str(tmp_path / "boards.pbn"), way) == len(boards)
    sequences.convert(str(way), tmp_path / f"back{suffix}")
    back = files.load(tmp_path / f"back{suffix}")
    for board, other in zip(boards, back, strict=True):
        for name in ("number", "hands", "vulnerable", "level", "strain", "declarer", "doubled", "play"):
            assert getattr(board, name) == getattr(other, name), name
    sequences.convert(str(way), tmp_path / "boards.json")
    sequences.convert(str(tmp_path / "boards.json"), tmp_path / "again.openspiel")
    lines = [(tmp_path / name).read_text().splitlines() for name in ("boards.openspiel", "again.openspiel")]
    assert lines[0] == lines[1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bridge(): 1 2 3", "line 1: the first 52 actions are not a deal"),
        ("kibitz_briskola: 1 2 3", "an outcome of chance is missing"),
        ("kibitz_briskola: 300", "only 256"),
        ("kibitz_tic_tac_toe(): 4 4", "line 1: action 4 is not legal"),
        ("kibitz_tic_tac_toe(): 0 3 1 4 2 5", "after the end"),
        ("\nchess(): 1", "line 2: 'chess' is not a game that can be read"),
        ("what is this", "write a game and its actions"),
        ("bridge(dealer=9): " + " ".join(map(str, range(52))), "dealer='9' is not a seat"),
        (ENDED + "99", "line 1: action 99 is not a card, and the auction has ended; cards are below 52"),
        (ENDED + "52", "line 1: 'Pass' comes after the end of the auction"),
        ("bridge(): " + "9" * 5000, "line 1: '9{59}…' is not an action"),
    ],
)
def test_what_is_wrong_with_actions_is_said(text, problem):
    with pytest.raises(ParseError, match=problem):
        sequences.read_actions(text)


def test_what_cannot_be_told_is_refused(tmp_path):
    file = tmp_path / "1.json"
    file.write_text(json.dumps(record("briskola")))
    with pytest.raises(BadOption, match="cannot be written as a board of bridge"):
        sequences.convert(str(file), tmp_path / "1.pbn")
    with pytest.raises(BadOption, match=r"\.json, \.openspiel, \.pbn, \.lin, \.svg"):
        sequences.convert(str(file), tmp_path / "1.xyz")
    with pytest.raises(InputError, match=r"there is no file .*none.json"):
        sequences.convert(str(tmp_path / "none.json"), tmp_path / "1.openspiel")
    with pytest.raises(InputError, match="there is no file 7"):
        sequences.convert("7", tmp_path / "1.pbn")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "1.json: line 1: no JSON: Expecting property name"),
        ('{"game": "briskola"}', "not a record of `kibitz replay --json`"),
        ('{"game": "briskola", "moves": [], "seed": "x", "deal": 0}', "not a record of"),
        ('{"game": "briskola", "moves": [], "chance": ["x"]}', "not a record of"),
        ("3", "not a record of"),
        ('{"game": "briskola", "moves": [], "chance": []}', "whose outcome is not given"),
        ('{"game": "openspiel:chess", "moves": [], "seed": 0, "deal": 0}', "records are not converted"),
        ("[]", "holds no game"),
        ('{"game": "briskola", "moves": [], "seed": 1e999, "deal": 0}', "'1e999' is not a number"),
        ('{"game": "briskola", "moves": [], "seed": -1, "deal": 0}', "'-1' is not a deal number"),
        ('{"game": "briskola", "moves": [], "chance": ["fffffffffffffffff"]}', "16 hexadecimal digits"),
        ("[" * 5000, "nested too deeply"),
    ],
)
def test_what_is_wrong_with_a_record_is_said(tmp_path, text, problem):
    (tmp_path / "1.json").write_text(text)
    with pytest.raises(InputError, match=problem):
        sequences.convert(str(tmp_path / "1.json"), tmp_path / "1.openspiel")
    assert not (tmp_path / "1.openspiel").exists()


def test_a_record_must_be_by_the_rules():
    told = record("tic-tac-toe")
    told["moves"][1] = told["moves"][0]
    with pytest.raises(InputError):
        sequences.read_record(json.dumps(told))
    (played,) = sequences.read_record(json.dumps(record("tic-tac-toe")))
    assert played.end.is_over
