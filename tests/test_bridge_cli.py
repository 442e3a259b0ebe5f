"""Bridge on the command line: solve, advise with a board, convert."""

import json
import re

import numpy as np
import pytest

from kibitz import games
from kibitz.games.bridge.board import Board, Fault, card_of
from kibitz.games.bridge.files import read_pbn, write_lin
from kibitz.games.bridge.lin import each_lin
from kibitz.games.bridge.pbn import each_pbn
from kibitz.games.bridge.rules import high_card_points
from kibitz.games.bridge.solution import boards_of
from kibitz.games.bridge.text import SEATS, contract_text, result_text
from kibitz.position import deal
from tests.test_cli import call, run

BOARD = """
[Board "7"]
[Dealer "S"]
[Vulnerable "All"]
[Deal "N:AQ2.K43.QJ32.432 JT98.QJT.54.KQJT K43.A52.AK6.A965 765.9876.T987.87"]
[Declarer "S"]
[Contract "3NT"]
[Weather "rain"]
[Play "W"]
C8 C2 CT C5
"""


@pytest.fixture
def board(tmp_path):
    path = tmp_path / "evening.pbn"
    path.write_text(BOARD)
    return path


def test_solve_tells_results_par_and_cards(board):
    told = json.loads(call("solve", "bridge", str(board), "--json").stdout)["boards"]
    assert len(told) == 1
    assert told[0]["table"]["south"] == {"C": 10, "D": 10, "H": 9, "S": 9, "NT": 10}
    assert told[0]["par"]["score"] == 630
    assert told[0]["cards"]["to_play"] == "east"
    assert set(told[0]["cards"]["tricks"].values()) == {3}
    shown = call("solve", "bridge", str(board)).stdout
    assert "par     +630 for north-south: 3NTN+1, 3NTS+1" in shown
    assert "east-west make" in shown


def test_solve_needs_open_hands_and_bridge():
    hidden = call("solve", "bridge", "N:AQ2.K43.QJ32.432 - K43.A52.AK6.A965 -")
    assert (hidden.returncode, "hides a hand" in hidden.stderr) == (3, True)
    other = call("solve", "briskola", "7")
    assert (other.returncode, "hides cards" in other.stderr) == (3, True)


def test_advice_on_a_board_with_what_the_auction_told(board):
    asked = ("advise", "bridge", f"{board}#7", "--agent", "pimc:8", "--knowing", "N: hcp 10+; W: clubs 2")
    told = json.loads(call(*asked, "--json").stdout)
    assert told["seat"] == 1
    assert told["unit"] == "tricks"
    assert all(0 <= row["shares"]["contract makes"] <= 1 for row in told["rows"])
    shown = call(*asked).stdout
    assert "contract makes" in shown
    assert "south\n                        ▒" in shown  # declarer's hand is hidden from east


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the file is empty"),
        (BOARD.replace("AQ2", "AQ22"), "line 5: in north's hand, 2S is there twice"),
        (BOARD.replace("AQ2", "AQ"), "line 5"),
        (BOARD.replace("C8 C2", "CA C2"), "line 10"),
    ],
)
def test_a_bad_file_is_an_error_with_its_line(tmp_path, text, message):
    path = tmp_path / "bad.pbn"
    path.write_text(text)
    for verb in ("solve", "advise"):
        failed = call(verb, "bridge", str(path))
        assert failed.returncode == 3
        assert message in failed.stderr
        assert len(failed.stderr) < 400


def test_other_words_than_a_position():
    failed = call("advise", "briskola", "evening.pbn")
    assert (failed.returncode, "is not a position" in failed.stderr) == (3, True)
    failed = call("advise", "briskola", "7", "--knowing", "N: hcp 3")
    assert (failed.returncode, "nothing is known besides the cards" in failed.stderr) == (3, True)


def test_convert_keeps_what_it_does_not_know_and_draws(board, tmp_path):
    again, lin, svg = (tmp_path / name for name in ("again.pbn", "board.lin", "board.svg"))
    assert json.loads(call("convert", str(board), str(again), "--json").stdout)["boards"] == 1
    assert '[Weather "rain"]' in again.read_text()
    call("convert", str(again), str(lin))
    assert "pc|C8|" in lin.read_text()
    call("convert", f"{again}#7", str(svg))
    assert svg.read_text().startswith("<svg")
    failed = call("convert", str(board), str(tmp_path / "board.txt"))
    assert failed.returncode == 2
    assert ".pbn, .lin" in failed.stderr


def test_advice_for_a_hand_that_is_not_given():
    failed = call("advise", "bridge", "N:KQJ2.543.A32.T98 - - -")
    assert (failed.returncode, "west is to play, and its hand is not given" in failed.stderr) == (3, True)


BAD = BOARD.replace('"7"', '"8"').replace("765.9876", "76.9876")


@pytest.mark.parametrize("name", ["three.pbn", "three.lin"])
def test_one_bad_board_does_not_keep_the_others_from_being_solved(name, tmp_path):
    path = tmp_path / name
    texts = [BOARD, BAD, BOARD.replace('"7"', '"9"')]
    if name.endswith("lin"):
        texts = [write_lin(read_pbn(text)).replace("\n", "") for text in (BOARD, BOARD, BOARD)]
        texts[1] = texts[1].replace("Board 7", "Board 8").replace("S765", "S76")
        texts[2] = texts[2].replace("Board 7", "Board 9")
    path.write_text("\n".join(texts))
    one = call("solve", "bridge", f"{path}#7")
    assert (one.returncode, one.stderr) == (0, "")
    assert "par     +630" in one.stdout
    assert call("advise", "bridge", str(path), "--agent", "pimc:2").returncode == 0  # the first board
    all_of_them = call("solve", "bridge", str(path))
    assert all_of_them.returncode == 3
    assert all_of_them.stdout.count("par     +630") == 2
    reason = "west has 12 cards, but north 13; missing: 5S"
    assert all_of_them.stderr.startswith(f"kibitz: left out: {name}: line ")
    assert reason in all_of_them.stderr
    answer = json.loads(call("solve", "bridge", str(path), "--json").stdout)
    assert [board["board"] for board in answer["boards"]] == [7, 9]
    assert [reason in why for why in answer["left_out"]] == [True]
    bad = call("solve", "bridge", f"{path}#8")
    assert (bad.returncode, bad.stdout) == (3, "")
    assert reason in bad.stderr
    assert reason in call("convert", str(path), str(tmp_path / "all.pbn")).stderr  # never fewer in silence


@pytest.mark.parametrize(
    ("reader", "good", "noise"),
    [(each_pbn, '[Board "{}"]\n[Deal "N:A... K... Q... J..."]\n', "[Event \"\n"),
     (each_lin, "qx|o{}|md|1SQ,SJ,SA,SK|\n", "qx|o2|md\n")],
)  # fmt: skip
def test_after_noise_the_next_board_is_read(reader, good, noise):
    found = list(reader("\n".join([good.format(1), noise, good.format(3)])))
    assert [isinstance(each, Fault) for each in found] == [False, True, False]
    assert [each.number for each in found if isinstance(each, Board)] == [1, 3]


def test_an_ending_is_solved():
    ending = "N:AK... QJ... T9... 87..."
    shown = call("solve", "bridge", ending)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert [line.split() for line in shown.stdout.splitlines()] == [
        ["tricks", "C", "D", "H", "S", "NT"],
        ["north", *"22222"],
        ["east", *"00000"],
        ["south", *"22222"],
        ["west", *"00000"],
    ]
    (told,) = json.loads(call("solve", "bridge:strain=notrump", ending, "--json").stdout)["boards"]
    assert told["table"]["north"]["NT"] == 2
    assert told["par"] is None
    assert told["cards"] == {"to_play": "west", "tricks": {"8S": 0, "7S": 0}}


def test_the_contract_of_the_game_is_that_of_a_deal_without_one():
    whole = "N:AQ2.K43.QJ32.432 JT98.QJT.54.KQJT K43.A52.AK6.A965 765.9876.T987.87"
    assert "to play" not in call("solve", "bridge", whole).stdout
    shown = call("solve", "bridge:strain=spades,level=4", whole).stdout
    assert "4 spades by south, west to play; east-west make" in shown


def test_an_ending_whose_leader_is_known(tmp_path):
    path = tmp_path / "ending.pbn"
    path.write_text('[Deal "N:AK..A. Q.J.K. JT.Q.. .AK.Q."]\n[Contract "NT"]\n[Play "N"]\n')
    (told,) = json.loads(call("solve", "bridge", str(path), "--json").stdout)["boards"]
    assert told["cards"] == {"to_play": "north", "tricks": {"KS": 3, "AS": 3, "AD": 3}}


# --- at the prompt ---------------------------------------------------------------------------------


def _played(*words, answers=40, game="bridge:strain=notrump"):
    return run(
        "play",
        game,
        "--seed",
        "4",
        "--agent",
        "random",
        "--hint",
        "random",
        *words,
        input=answers * "1\n",
    )


def test_a_person_plays_the_contract_and_is_told_what_came_of_it():
    done = _played()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("You are south; north is random, east is random, west is random.")
    assert "takes the trick." in done.stdout
    assert "point" not in done.stdout
    last = done.stdout.strip().splitlines()[-1]
    found = re.fullmatch(r"3 notrump by south, (\d+) tricks?: (.*), north-south score ([+-]\d+)", last)
    made = int(found[1])
    assert (int(found[3]) < 0) == (made < 9) == found[2].endswith("down")
    picture = done.stdout[done.stdout.rindex("3 notrump by south\n") :]
    cards = [
        word for line in picture.splitlines() for word in line.split() if re.fullmatch("[2-9TJQKA]", word)
    ]
    assert len(cards) >= 52 - 4  # the deal as it was (S, H, D and C in the margins are no ranks)


def test_dummys_cards_are_announced_as_dummys():
    said = _played().stdout
    assert len(re.findall(r"\bYou: \w\w\.$", said, re.M)) == 13
    assert len(re.findall(r"\bNorth \(dummy\): \w\w\.$", said, re.M)) == 13
    assert "North: " not in said
    defended = _played("--seat", "west").stdout
    assert len(re.findall(r"^North \(dummy\): \w\w\.$", defended, re.M)) == 13
    assert len(re.findall(r"^South: \w\w\.$", defended, re.M)) == 13


def test_a_contract_that_nobody_names_is_set_by_the_cards_and_that_is_said():
    said = _played("--seed", "0", answers=0, game="bridge").stdout
    position = deal(games.load("bridge:contract=minibridge"), 0)
    contract = contract_text(position.record)
    assert f"There is no bidding yet. The contract is {contract}, set by the cards as in minibridge" in said
    assert said.startswith(f"You are {SEATS[int(position.record.declarer)]};")
    named = _played("--seed", "0", answers=0, game="bridge:level=2").stdout
    assert "There is no bidding yet. The contract is 2 notrump by south.\n" in named


@pytest.mark.parametrize(
    ("number", "points", "contract"),
    [
        (9, (5, 8, 15, 12), "2 clubs by south"),  # as many points on both sides: north-south; nine clubs
        (3, (6, 11, 12, 11), "3 spades by east"),  # as many in both seats; 22 and two for ten trumps
        (0, (2, 7, 17, 14), "2 spades by west"),  # eight cards in both majors
        (193, (10, 6, 12, 12), "2 spades by south"),  # a major of eight goes before a minor of ten
        (12, (7, 19, 8, 6), "3 notrump by east"),  # nine clubs, but 25 points: nine tricks are enough
        (30, (4, 16, 7, 13), "5 clubs by east"),  # 29 points: a game in a minor
        (121, (1, 19, 5, 15), "6 spades by east"),  # 34
    ],
)
def test_the_contract_of_minibridge(number, points, contract):
    record = deal(games.load("bridge:contract=minibridge"), number).record
    assert tuple(high_card_points(hand) for hand in record.hands) == points
    assert contract_text(record) == contract


def test_minibridge_changes_no_cards_and_the_default_game_nothing():
    for number in range(20):
        usual, suited = (deal(games.load(spec), number) for spec in ("bridge", "bridge:contract=minibridge"))
        assert (usual.record.hands == suited.record.hands).all()
        assert contract_text(usual.record) == "3 notrump by south"


@pytest.mark.parametrize(("words", "same"), [("10C", "TC"), ("10 of clubs", "tc"), ("H10", "HT")])
def test_tens_in_both_spellings(words, same):
    if words[0] == "H":
        assert card_of(words) == card_of(same)
    else:
        assert games.load("bridge").parse_move(words) == games.load("bridge").parse_move(same)


def test_tens_in_both_spellings_in_hands():
    usual = "N:AQ2.K43.QJ32.432 JT98.QJT.54.KQJT K43.A52.AK6.A965 765.9876.T987.87"
    (one,), (two,) = (boards_of(games.load("bridge"), text) for text in (usual, usual.replace("T", "10")))
    assert one.hands == two.hands
    lin = "md|1SK43HA52DAK6CA965,S765H9876DT987C87,SAQ2HK43DQJ32C432,SJT98HQJTD54CKQJT|"
    (one,), (two,) = (list(each_lin(text)) for text in (lin, lin.replace("T", "10")))
    assert isinstance(one, Board)
    assert one.hands == two.hands


@pytest.mark.parametrize(("seat", "name"), [("west", "west"), ("EAST", "east"), ("0", "north")])
def test_seats_have_names(seat, name):
    assert _played("--seat", seat).stdout.startswith(f"You are {name}; ")


def test_a_seat_that_is_none():
    done = _played("--seat", "up")
    assert done.returncode == 2
    assert "there is no seat 'up'; the seats are north, east, south, west, or 0 to 3" in done.stderr


@pytest.mark.parametrize(
    ("made", "level", "doubled", "says"),
    [
        (9, 3, 0, "3 notrump by south, 9 tricks: made, north-south score +400"),
        (11, 3, 0, "3 notrump by south, 11 tricks: made with 2 overtricks, north-south score +460"),
        (1, 1, 1, "1 notrump by south, doubled, 1 trick: 6 down, north-south score -1400"),
    ],
)
def test_results_in_words(made, level, doubled, says):
    view = {"level": level, "strain": 4, "declarer": 2, "doubled": doubled, "vulnerable": 0}
    record = np.rec.array([tuple(view.values())], names=list(view))[0]
    assert result_text(record, made) == says
