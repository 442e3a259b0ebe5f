"""Boards in files: nothing is lost on the way, endplay agrees, and what is wrong is named with its line."""

import random
import re
import time
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from endplay import types
from endplay.parsers import lin as endplay_lin
from endplay.parsers import pbn as endplay_pbn
from endplay.utils.play import linearise_play, tabularise_play
from hypothesis import given, settings
from hypothesis import strategies as st

from kibitz.errors import BadOption, InputError, KibitzError, ParseError, Unwritable
from kibitz.games.bridge import files, pbn
from kibitz.games.bridge.board import contract_of
from kibitz.games.bridge.diagram import svg
from kibitz.games.bridge.files import Board, Note, Tag
from kibitz.games.bridge.rules import ANY, OVER, Bridge
from kibitz.position import State, deal

NAMES = ("level", "strain", "declarer", "doubled")
DEAL = "N:J92.643.42.JT932 KQT765.J9.J5.864 A4.T7.AKQ9876.A5 83.AKQ852.T3.KQ7"
NORTH, EAST, SOUTH, WEST = DEAL[2:].split()


def card(word):
    """A card as files write it."""
    return "CDHS".index(word[0]) * 13 + "23456789TJQKA".index(word[1])


def mask(hand):
    """The cards of a hand as PBN writes it."""
    suits = zip("SHDC", hand.split("."), strict=True)
    return sum(1 << card(suit + rank) for suit, ranks in suits for rank in ranks)


def contract(board):
    return tuple(getattr(board, name) for name in NAMES)


# --- random boards ---------------------------------------------------------------------------------


def random_auction(chosen):
    """Calls until three passes: bids that grow, doubles of the others' bids, redoubles of one's own."""
    bids = [f"{level}{strain}" for level in range(1, 8) for strain in ("C", "D", "H", "S", "NT")]
    calls, last, by, doubled = [], -1, 0, 0
    while len(calls) < 4 or calls[-3:] != ["Pass"] * 3:
        side, options = len(calls) % 2, ["Pass"] * 3
        if last + 1 < len(bids):
            options.append(bids[chosen.randrange(last + 1, min(len(bids), last + 9))])
        if last >= 0 and doubled < 2 and (side != by) == (doubled == 0):
            options.append(("X", "XX")[doubled])
        call = chosen.choice(options)
        if call in bids:
            last, by, doubled = bids.index(call), side, 0
        doubled += call.startswith("X")
        calls.append(call)
    return tuple(calls)


def random_board(seed, whole_tricks=False):
    """A board as a match leaves it: an auction, its contract, some of the play, notes and names."""
    chosen = random.Random(seed)
    dealer, auction = chosen.randrange(4), random_auction(chosen)
    hands = [int(hand) for hand in deal(Bridge(), seed).record.hands]
    board = Board(
        tuple(hands),
        number=chosen.choice([None, seed + 1]),
        dealer=dealer,
        vulnerable=chosen.choice(files.VULNERABLE),
        auction=auction,
        notes=(Note("Auction", 0, "!"), Note("Auction", 0, "fifteen, or more")),
        tags=(Tag("West", "Wěst"), Tag("South", "Søuth")),
    )
    board = replace(board, **contract_of(dealer, auction))
    if board.level == 0:
        return board
    state, moves = files.position(board), []
    for _ in range(chosen.choice([0, 4, 24, 52] if whole_tricks else [0, 1, 6, 23, 52])):
        moves.append(chosen.choice(state.legal_moves()))
        state.play(moves[-1])
    return replace(board, play=tuple(moves))


BOARDS = [random_board(seed) for seed in range(30)]


def test_the_random_boards_are_of_all_kinds():
    assert {board.level for board in BOARDS} >= {0, 1}
    assert {board.doubled for board in BOARDS} == {0, 1, 2}
    assert {board.strain for board in BOARDS} == {None, 0, 1, 2, 3, 4}
    assert {len(board.play) for board in BOARDS} == {0, 1, 6, 23, 52}


# --- round trips -----------------------------------------------------------------------------------


def test_pbn_keeps_everything():
    assert files.read_pbn(files.write_pbn(BOARDS)) == BOARDS


def test_lin_keeps_everything_that_lin_can_tell():
    assert files.read_lin(files.write_lin(BOARDS)) == BOARDS


def test_from_pbn_to_lin_and_back():
    there = files.read_lin(files.write_lin(files.read_pbn(files.write_pbn(BOARDS))))
    assert files.read_pbn(files.write_pbn(there)) == BOARDS


def test_lin_keeps_a_contract_without_auction():
    for board in BOARDS:
        bare = replace(board, auction=(), notes=())
        again = files.read_lin(files.write_lin([bare]))[0]
        assert (again.hands, contract(again), again.play) == (bare.hands, contract(bare), bare.play)


RICH = """% PBN 2.1
% EXPORT
{ before
all }
[Event "A \\"good\\" one"]
[Site "##Zagreb"]
[Board "1"]
[Zeta "first unknown"]
[Dealer "n"] ; who deals
[Vulnerable "Love"]
[Deal "E:EAST SOUTH WEST NORTH"]
[Declarer "^S"]
[Contract "5DX"]
[Auction "N"]
Pass 1S! =1= 2D
=2= 2H
Pass Pass 5D X { a brave one } AP
[Note "1:\\S and more"]
[Note "2:natural; long"]
[Play "W"]
HA H3 HJ H7
HK H4 H9 HT =1=
S8? - + -
[Note "1:the last heart"]
[OptimumResultTable "Declarer;Denomination\\2R;Result\\2R"]
N NT  4
S  D 11
[Alpha ""]

[Event "#"]
[Board "2"]
[Deal "N:NORTH EAST SOUTH WEST"]
[Contract "Pass"]
[Declarer ""]
[Alpha "#"]
[Zeta "#"] ; ends here }
"""
for name, hand in {"NORTH": NORTH, "EAST": EAST, "SOUTH": SOUTH, "WEST": WEST}.items():
    RICH = RICH.replace(name, hand)


@pytest.mark.parametrize("text", [RICH, RICH.replace("\n", "\r\n"), RICH.rstrip("\n")])
def test_what_a_rich_file_tells(text):
    one, two = files.read_pbn(text)
    assert one.hands == tuple(map(mask, (NORTH, EAST, SOUTH, WEST))) == two.hands
    assert (one.number, one.dealer, one.vulnerable) == (1, 0, "none")
    assert contract(one) == (5, 1, 2, 1)
    assert one.auction == ("Pass", "1S", "2D", "2H", "Pass", "Pass", "5D", "X", "Pass", "Pass", "Pass")
    assert one.play == tuple(map(card, ("HA", "H3", "HJ", "H7", "HK", "H4", "H9", "HT", "S8")))
    assert one.notes == (
        Note("Auction", 1, "!"),
        Note("Auction", 1, "\\S and more"),
        Note("Auction", 2, "natural; long"),
        Note("Play", 7, "the last heart"),
        Note("Play", 8, "?"),
    )
    assert [tag.name for tag in one.tags if tag.name] == [
        "Event",
        "Site",
        "Zeta",
        "OptimumResultTable",
        "Alpha",
    ]
    assert one.tag("Event") == 'A "good" one'
    table = next(tag for tag in one.tags if tag.rows)
    assert table == Tag("OptimumResultTable", "Declarer;Denomination\\2R;Result\\2R", ("N NT  4", "S  D 11"))
    comments = [tag.value.strip() for tag in one.tags if not tag.name]
    assert comments == ["before\nall", "who deals", "a brave one"]
    assert two.tags == (
        Tag("Event", 'A "good" one'),
        Tag("Site", "Zagreb"),
        Tag("Alpha", ""),
        Tag("Zeta", "first unknown"),
        Tag("", " ends here }"),
    )
    assert two.level == 0


def test_a_rich_file_survives():
    boards = files.read_pbn(RICH)
    assert files.read_pbn(files.write_pbn(boards)) == boards


def test_a_heading_is_no_board_and_holds_for_all():
    boards = files.read_pbn(
        f'[Event "##Cup"]\n[Site "##Here"]\n\n[Deal "{DEAL}"]\n\n[Site "There"]\n[Deal "{DEAL}"]'
    )
    assert [(board.tag("Event"), board.tag("Site")) for board in boards] == [
        ("Cup", "Here"),
        ("Cup", "There"),
    ]


values = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), max_size=30)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["Event", "Foo", "Bar_2", "x"]), values), max_size=4))
def test_every_value_of_a_tag_survives(pairs):
    plain = [Tag(name, value) for name, value in pairs if not value.startswith("#")]
    board = Board((mask(NORTH), 0, 0, 0), tags=tuple(sorted(plain, key=lambda tag: tag.name != "Event")))
    assert files.read_pbn(files.write_pbn([board])) == [board]


@pytest.mark.parametrize(
    ("word", "side"),
    [
        *(("None", "none"), ("Love", "none"), ("-", "none"), ("", "none")),
        *(("NS", "ns"), ("EW", "ew"), ("All", "both"), ("Both", "both")),
    ],
)
def test_words_for_vulnerable(word, side):
    assert files.read_pbn(f'[Vulnerable "{word}"]\n[Deal "{DEAL}"]')[0].vulnerable == side


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("4SX", (4, 3, None, 1)),
        ("3NT", (3, 4, None, 0)),
        ("7nxx", (7, 4, None, 2)),
        ("H", (None, 2, None, 0)),
        ("Pass", (0, None, None, 0)),
        ("", (None, None, None, 0)),
        ("?", (None, None, None, 0)),
    ],
)
def test_words_for_contracts(word, known):
    board = files.read_pbn(f'[Deal "{DEAL}"]\n[Contract "{word}"]\n[Declarer "?"]')[0]
    assert contract(board) == known
    assert files.read_pbn(files.write_pbn([board])) == [board]


def test_an_auction_may_have_a_column_for_everybody():
    board = files.read_pbn(f'[Deal "{DEAL}"]\n[Auction "W"]\n-  -  1S Pass\n4S AP')[0]
    assert (board.dealer, board.auction) == (1, ("1S", "Pass", "4S", "Pass", "Pass", "Pass"))
    assert contract(board) == (4, 3, 1, 0)
    unfinished = files.read_pbn(f'[Deal "{DEAL}"]\n[Auction "W"]\n1S Pass +')[0]
    assert unfinished.auction == ("1S", "Pass")
    assert contract(unfinished) == (None, None, None, 0)


def test_a_play_may_have_its_columns_anywhere():
    head = f'[Deal "{DEAL}"]\n[Contract "5D"]\n[Declarer "S"]\n'
    words = tuple(map(card, ("HA", "H3", "HJ", "H7", "SA")))
    for play in ('[Play "W"]\nHA H3 HJ H7', '[Play "N"]\nH3 HJ H7 HA', '[Play "N"]\nH3\nHJ H7 $4\nHA *'):
        assert files.read_pbn(head + play)[0].play == words[:4], play
    for play in ("HA H3 HJ H7\n*", "*"):
        board = files.read_pbn(head + f'[Play "W"]\n{play}')[0]
        assert board.claimed
        assert files.read_pbn(files.write_pbn([board])) == [board]


def test_lin_as_bridge_base_writes_it():
    text = (
        "vg|Cup,Final,I,1,2,A,0,B,0|\nrs|3NS=|\npn|a,b,c,d,e,f,g,h|pg||\n"
        "qx|o7|st||md|3SA4HT7DAKQ9876CA5,S83HAKQ852DT3CKQ7,SJ92H643D42CJT932,|sv|b|\r\n"
        "mb|p|mb|1S!|an|five|mb|2d|mb|d|mb|r|mb|p|mb|p|mb|p|pg||\npc|hA|pc|H3|pc|HJ|pc|H7|pg||mc|9|pg||\n"
        "qx|c7|pn|S,W,,E|md|1SA4HT7DAKQ9876CA5|sv|o|pg||"
    )
    one, two = files.read_lin(text)
    assert one.hands == tuple(map(mask, (NORTH, EAST, SOUTH, WEST)))
    assert (one.number, one.dealer, one.vulnerable, one.claimed) == (7, 0, "both", True)
    assert one.auction == ("Pass", "1S", "2D", "X", "XX", "Pass", "Pass", "Pass")
    assert contract(one) == (2, 1, 2, 2)
    assert one.tag("Result") == "9"
    assert one.notes == (Note("Auction", 1, "!"), Note("Auction", 1, "five"))
    assert two.hands == (0, 0, mask(SOUTH), 0)
    assert (two.tag("South"), two.tag("North"), two.tag("East"), two.dealer) == ("S", None, "E", 2)
    assert files.read_lin(files.write_lin([one, two])) == [one, two]
    assert files.read_pbn(files.write_pbn([one, two])) == [one, two]


# --- endplay reads and writes the same ----------------------------------------------------------------


def assert_same(board, twin):
    """The board says what endplay's says."""
    assert board.hands == tuple(mask(str(twin.deal[seat])) for seat in types.Player)
    assert board.number == twin.board_num
    assert board.dealer == twin.dealer
    assert board.vulnerable == twin.vul.name
    assert len(board.auction) == len(twin.auction)
    if twin.contract.is_passout():
        assert board.level == 0
        return
    denoms = list(types.Denom.bidorder())
    level, strain, declarer, doubled = contract(board)
    assert (level, denoms[strain], declarer) == (
        twin.contract.level,
        twin.contract.denom,
        twin.contract.declarer,
    )
    assert (1, 2, 4)[doubled] == twin.contract.penalty
    assert board.play == tuple(card(word_of(each)) for each in twin.play)


def word_of(twin):
    """A card of endplay's as files write it."""
    return f"{twin.suit.name[0].upper()}{twin.rank.abbr}"


@pytest.mark.parametrize("seed", range(40, 52))
def test_endplay_agrees(seed):
    """On files that we write and on those that it writes from them."""
    board = replace(random_board(seed, whole_tricks=True), number=seed, notes=(Note("Auction", 0, "any"),))
    twin = endplay_pbn.loads(files.write_pbn([board]))[0]
    assert_same(board, twin)
    assert_same(files.read_pbn(endplay_pbn.dumps([twin]))[0], twin)
    twin = endplay_lin.loads(files.write_lin([board]))[0]
    assert_same(board, twin)
    assert_same(files.read_lin(endplay_lin.dumps([twin]))[0], twin)


STRAINS = (types.Denom.clubs, types.Denom.diamonds, types.Denom.hearts, types.Denom.spades, types.Denom.nt)


@pytest.mark.parametrize("seed", range(300))
def test_contracts_and_tables_of_the_play_are_those_of_endplay(seed):
    """Of any auction the contract; of any play, whole or not, the table, from which the play comes back."""
    chosen = random.Random(seed)
    dealer, calls = chosen.randrange(4), random_auction(chosen)
    theirs = types.Contract.from_auction(types.Player(dealer), [types.Bid(call) for call in calls])
    ours = contract_of(dealer, calls)
    if theirs.is_passout():
        assert ours == {"level": 0}
    else:
        denom = STRAINS[ours["strain"]]
        assert (ours["level"], denom, ours["declarer"]) == (theirs.level, theirs.denom, theirs.declarer)
        assert ("passed", "doubled", "redoubled")[ours["doubled"]] == theirs.penalty.name

    leader, strain = chosen.randrange(4), chosen.randrange(5)
    played = chosen.sample(range(52), chosen.randrange(1, 53))
    none = types.Card(suit=types.Denom.nt, rank=types.Rank.R2)
    line = [types.Card(pbn.card_word(each)) for each in played]
    table = tabularise_play(line, types.Player(leader), STRAINS[strain])
    words = ["-" if each == none else word_of(each) for row in table for each in row]
    board = replace(BOARDS[0], leader=leader, strain=strain, play=tuple(played))
    assert pbn._table(board) == words
    cells = [None if word == "-" else card(word) for word in words]
    assert pbn._in_order(cells, 0, strain) == played
    back = linearise_play([list(row) for row in table], types.Player(leader), STRAINS[strain])
    assert [card(word_of(each)) for each in back] == played
    column = chosen.randrange(4)  # the table may begin with any seat
    turned = [row[-column:] + row[:-column] if column else row for row in
              (cells[i : i + 4] for i in range(0, len(cells), 4))]  # fmt: skip
    assert pbn._in_order([each for row in turned for each in row], column, strain) == played


# --- what is wrong -----------------------------------------------------------------------------------

PLAYED = f'[Event "?"]\n[Deal "{DEAL}"]\n[Declarer "S"]\n[Contract "5D"]\n[Play "W"]\n'
WRONG_PBN = {
    "empty": ("", 1, "empty"),
    "blank": (" \r\n\n", 1, "empty"),
    "no tag": ("\n\nhello", 3, "not a tag"),
    "unclosed tag": ('[Event "x"\n[Deal', 1, "not a tag"),
    "unclosed comment": ('[Event "x"]\n{ for ever', 2, "comment"),
    "after long things": ('{ a\n\nb }\n[Event\n"x"]\n[Dealer "N"]\n[Deal "Q:"]', 7, "'Q' is not a seat"),
    "no deal": ('[Event "x"]\n\n', 1, "no tag Deal"),
    "only comments": ("; nothing\n", 1, "no board"),
    "two deals": (f'[Deal "{DEAL}"]\n[Deal "{DEAL}"]', 2, "second Deal"),
    "seat of the deal": (f'\n[Deal "X{DEAL[1:]}"]', 2, "'X' is not a seat"),
    "no seat": (f'[Deal "{DEAL[2:]}"]', 1, "begins with a seat"),
    "three hands": (f'[Deal "N:{NORTH} {EAST} {SOUTH}"]', 1, "four hands"),
    "five suits": (f'[Deal "N:{NORTH}.A {EAST} {SOUTH} {WEST}"]', 1, "5 suits"),
    "no rank": (f'[Deal "{DEAL.replace("J92", "J91")}"]', 1, "'S1' is not a card"),
    "twelve cards": (
        f'[Event ""]\n[Deal "{DEAL.replace("J92", "J9")}"]',
        2,
        "north has 12 cards.* missing: 2S",
    ),
    "fourteen cards": (
        f'[Deal "{DEAL.replace("J92", "J982").replace("83.", "3.")}"]',
        1,
        "north has 14 cards",
    ),
    "twice in a hand": (f'[Deal "{DEAL.replace("J92", "J99")}"]', 1, "north's hand, 9S is there twice"),
    "in two hands": (f'[Deal "{DEAL.replace("J92", "J93")}"]', 1, "3S is in two hands.*north.*west"),
    "no cards": ('[Deal "N:- - - -"]', 1, "no hand"),
    "ending with an unknown hand": ('[Deal "N:A... K... Q... -"]', 1, "ending"),
    "dealer": (f'[Deal "{DEAL}"]\n[Dealer "Z"]', 2, "'Z' is not a seat"),
    "declarer": (f'[Deal "{DEAL}"]\n[Declarer "NS"]', 2, "not a seat"),
    "vulnerable": (f'[Deal "{DEAL}"]\n[Vulnerable "perhaps"]', 2, "vulnerable"),
    "board": (f'[Deal "{DEAL}"]\n[Board "{"9" * 5000}"]', 2, "not a board number"),
    "contract": (f'[Deal "{DEAL}"]\n\n[Deal "{DEAL}"]\n[Contract "8S"]', 4, "'8S' is not a contract"),
    "contract of three doubles": (f'[Deal "{DEAL}"]\n[Contract "1SXXX"]', 2, "not a contract"),
    "call": (f'[Deal "{DEAL}"]\n[Auction "N"]\nPass\nfold', 4, "'fold' is not a call"),
    "call after the end": (f'[Deal "{DEAL}"]\n[Auction "N"]\n1S AP\nPass', 4, "after the end"),
    "irregular call": (f'[Deal "{DEAL}"]\n[Auction "N"]\n1S ^I 1C', 3, "irregular"),
    "auction of another dealer": (f'[Dealer "N"]\n[Deal "{DEAL}"]\n[Auction "E"]\n1S AP', 3, "dealer"),
    "play without contract": (f'[Deal "{DEAL}"]\n[Play "W"]\nHA', 2, "no contract"),
    "no card": (PLAYED + "HA H3 HJ H7\nXX", 7, "'XX' is not a card"),
    "card of another": (
        PLAYED + "HA H3 HJ H7\nHK H4 D5 HT\n",
        7,
        "card 7 of the play: east cannot play 5D.*9H",
    ),
    "card not held": (PLAYED + "SA", 6, "card 1 of the play: west cannot play AS.*not in this hand"),
    "card twice": (PLAYED + "HA H3 HJ H7\nHA", 7, "AH is played a second time"),
    "hole in the play": (PLAYED + "HA H3 - H7\nHK", 6, "before 7H is missing"),
    "leader": (PLAYED.replace('"W"', '"Q"') + "HA", 5, "'Q' is not a seat"),
    "binary": (PLAYED + "\x00\x01", 6, "not text"),
}
MD = "md|3SA4HT7DAKQ9876CA5,S83HAKQ852DT3CKQ7,SJ92H643D42CJT932,|"
BID = "mb|p|mb|p|mb|5D|mb|p|mb|p|mb|p|"
WRONG_LIN = {
    "empty": ("\n", 1, "empty"),
    "no element": ("md", 1, "not an element"),
    "unclosed": (f"{MD}\n\npc|HA", 3, "not an element"),
    "no deal": ("pn|a,b,c,d|", 1, "no deal"),
    "second board without deal": (f"{MD}\nqx|o2|sv|o|", 2, "no deal"),
    "dealer": (f"\n{MD.replace('|3', '|7')}", 2, "not a deal"),
    "twice": (MD.replace("SA4", "SAA"), 1, "AS is there twice"),
    "two hands": (MD.replace("SA4", "SA3"), 1, "3S is in two hands"),
    "twelve": (MD.replace("SA4", "SA"), 1, "south has 12 cards"),
    "rank": (MD.replace("SA4", "SA1"), 1, "'S1' is not a card"),
    "no suit": (MD.replace("SA4H", "A4H"), 1, "'A' is not a card"),
    "vulnerable": (f"{MD}\nsv|x|", 2, "vulnerable"),
    "call": (f"{MD}\nmb|8S|", 2, "not a call"),
    "call too many": (f"{MD}{BID}\nmb|p|", 2, "after the end"),
    "card": (f"{MD}{BID}\npc|HA|\npc|Q|", 3, "not a card"),
    "illegal": (f"{MD}{BID}\npc|HA|pc|H3|\npc|D5|", 3, "card 3 of the play: east cannot play 5D"),
    "without contract": (f"{MD}\npc|HA|", 2, "no contract"),
    "auction without dealer": (f"\n{MD.replace('|3', '|')}{BID}", 2, "no dealer"),
}


@pytest.mark.parametrize(
    ("reader", "text", "line", "reason"),
    [(files.read_pbn, *wrong) for wrong in WRONG_PBN.values()]
    + [(files.read_lin, *wrong) for wrong in WRONG_LIN.values()],
    ids=[f"pbn {name}" for name in WRONG_PBN] + [f"lin {name}" for name in WRONG_LIN],
)
def test_what_is_wrong_is_named_with_its_line(reader, text, line, reason):
    with pytest.raises(ParseError) as error:
        reader(text)
    assert re.match(rf"line {line}: .*{reason}", str(error.value)), error.value
    assert len(str(error.value)) < 250
    assert error.value.exit_code == 3


SIZE = 10_000_000
NOISE = {
    "bytes.pbn": lambda: random.Random(1).randbytes(SIZE),
    "bytes.lin": lambda: random.Random(2).randbytes(SIZE),
    "letters.txt": lambda: b"abc " * (SIZE // 4),
    "lines.pbn": lambda: b"\n" * SIZE + b"x",
    "braces.pbn": lambda: b"{" * SIZE,
    "brackets.pbn": lambda: b"[" * SIZE,
    "string.pbn": lambda: b'[a "' + b"\\" * SIZE,
    "tags.pbn": lambda: b'[a "b"]\n' * (SIZE // 8),
    "hand.pbn": lambda: b'[Deal "N:' + b"A" * SIZE + b'"]',
    "play.pbn": lambda: PLAYED.encode() + b"- " * (SIZE // 2),
    "elements.lin": lambda: b"aa|b|" * (SIZE // 5),
    "hand.lin": lambda: b"md|3S" + b"A" * SIZE,
}


@pytest.mark.parametrize("name", NOISE)
def test_ten_megabytes_of_noise_are_refused_at_once(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(NOISE[name]())
    start = time.perf_counter()
    with pytest.raises(ParseError, match=rf"{re.escape(name)}: line \d+: ") as error:
        files.load(path)
    assert time.perf_counter() - start < 2
    assert len(str(error.value)) < 250


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80), st.integers(0, len(RICH)), st.sampled_from([files.read_pbn, files.read_lin]))
def test_whatever_is_given_is_read_or_refused(noise, place, reader):
    for text in (noise, RICH[:place] + noise + RICH[place:], f"{MD}{BID}"[:place] + noise):
        refused = ""
        try:
            assert all(isinstance(board, Board) for board in reader(text))
        except ParseError as error:
            refused = str(error)
        assert not refused or re.match(r"line \d+: ", refused)


def test_files_on_disk(tmp_path):
    for suffix in ("pbn", "lin", "PBN"):
        files.save(BOARDS, tmp_path / f"boards.{suffix}")
        assert files.load(tmp_path / f"boards.{suffix}") == BOARDS
    (tmp_path / "boards.txt").write_bytes((tmp_path / "boards.lin").read_bytes())
    assert files.load(tmp_path / "boards.txt") == BOARDS
    latin = f'[North "Müller"]\r\n[Deal "{DEAL}"]\r\n'.encode("latin-1")
    (tmp_path / "latin").write_bytes(latin)
    assert files.load(tmp_path / "latin")[0].tag("North") == "Müller"
    with pytest.raises(InputError, match="there is no file"):
        files.load(tmp_path / "missing.pbn")
    with pytest.raises(BadOption, match="neither"):
        files.save(BOARDS, tmp_path / "boards.doc")
    with pytest.raises(Unwritable):
        files.save(BOARDS, tmp_path / "nowhere" / "boards.pbn")


# --- positions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("board", BOARDS, ids=range(len(BOARDS)))
def test_a_position_is_that_of_its_play(board):
    if board.level == 0:
        with pytest.raises(ParseError, match="passed out"):
            files.position(board)
        return
    state = files.position(board)
    twin = State(Bridge())
    twin.record.hands[:] = board.hands
    for name in NAMES:
        twin.record[name] = getattr(board, name)
    twin.record.vulnerable = board.vulnerable in ("both", ("ns", "ew")[board.declarer % 2])
    twin.game.open_play(twin.record)
    for move in board.play:
        twin.play(move)
    assert state.key() == twin.key()
    fields = {
        name: getattr(board, name) for name in ("number", "dealer", "vulnerable", "auction", "notes", "tags")
    }
    assert files.board_of(state, board.play, **fields) == board


def test_rules_and_missing_contract():
    board = files.read_pbn(f'[Deal "{DEAL}"]')[0]
    with pytest.raises(ParseError, match="level and strain and declarer"):
        files.position(board)
    state = files.position(board, Bridge(double_dummy=True), level=4, strain=2, declarer=3, doubled=1)
    assert state.game == Bridge(double_dummy=True, level=4, strain=2, declarer=3, doubled=1)
    assert [int(state.record[name]) for name in NAMES] == [4, 2, 3, 1]
    assert all(state.view().record.hands)
    with pytest.raises(ParseError, match="card 2 of the play: east cannot play 4S"):
        files.position(replace(board, play=(card("H3"), card("S4"))), level=1, strain=4, declarer=3)


def test_a_state_without_its_moves_is_an_ending_and_one_that_is_over_its_deal():
    chosen, state = random.Random(4), deal(Bridge(strain=ANY), 4)
    first = files.board_of(state)
    while not state.is_over:
        board = files.board_of(state)
        again = files.position(files.read_pbn(files.write_pbn([board]))[0])
        assert list(again.record.hands) == list(state.record.hands)
        assert (again.record.turn, again.record.left) == (state.record.turn, state.record.left)
        assert again.legal_moves() == state.legal_moves()
        assert again.record.played == state.record.played
        state.play(chosen.choice(state.legal_moves()))
    assert files.board_of(state) == first
    with pytest.raises(ParseError, match="not been played"):
        files.board_of(deal(Bridge(), 1), [5])
    with pytest.raises(ParseError, match="dealt"):
        files.board_of(State(Bridge()))


ENDING = """[Deal "N:AK..A. Q.J.K. JT.Q.. .AK.Q."]
[Contract "NT"]
[Declarer "S"]
[Play "N"]
"""


def test_an_ending():
    board = files.read_pbn(ENDING)[0]
    state = files.position(board)
    record = state.record
    assert (record.left, record.turn, state.mover, record.strain) == (3, 0, 2, 4)
    assert int(record.played).bit_count() == 40
    assert sorted(state.game.inventory(record)) == list(range(52))
    assert [bool(hand) for hand in state.view().record.hands] == [True, False, True, False]
    world = state.view().world(1)
    assert [int(hand).bit_count() for hand in world.record.hands] == [3] * 4
    played = files.read_pbn(ENDING + "SA SQ ST HA\nDA DK SJ DQ")[0]
    state = files.position(played)
    assert (state.record.tricks[0], state.record.left, state.record.turn) == (2, 1, 0)
    state.play("KS")
    for move in ("JH", "QH", "KH"):
        state.play(move)
    assert state.record.phase == OVER
    for one in (board, played):
        assert files.read_pbn(files.write_pbn([one])) == [one]
    there = files.read_lin(files.write_lin([played]))[0]
    assert (there.hands, there.play, there.leader, there.strain) == (played.hands, played.play, 0, 4)


def test_a_table_where_only_some_hands_are_known():
    """South declares and sees dummy; the cards of the others are those that they play."""
    known = f"S:{SOUTH} - {NORTH} -"
    text = PLAYED.replace(DEAL, known) + "HA H3 HJ H7\nHK H4 H9 HT\nD3 D2\n"
    board = files.read_pbn(text)[0]
    assert [hand.bit_count() for hand in board.hands] == [13, 0, 13, 0]
    assert files.read_pbn(files.write_pbn([board])) == [board]
    assert files.read_lin(files.write_lin([board]))[0].hands == board.hands
    whole = files.read_pbn(text.replace(known, DEAL))[0]
    state, truth = files.position(board), files.position(whole)
    assert state.view(2).key() == truth.view(2).key()
    assert files.board_of(truth.view(2), whole.play) == replace(board, tags=())
    for seed in range(5):
        world = state.view(2).world(seed)
        assert [int(hand).bit_count() for hand in world.record.hands] == [10, 11, 11, 10]
    for wrong, why in (("SA", "cannot hold"), ("HA", "played before")):
        with pytest.raises(ParseError, match=f"card 11 of the play: east cannot play .*{why}"):
            files.position(replace(board, play=(*board.play, card(wrong))))


def test_who_has_shown_out_cannot_play_that_suit():
    text = (
        f'[Deal "S:{SOUTH} - {NORTH} -"]\n[Contract "3NT"]\n[Declarer "S"]\n[Play "W"]\nHA H3 S5 H7\nHK H4 %s'
    )
    assert len(files.read_pbn(text % "S6")[0].play) == 7
    with pytest.raises(
        ParseError, match="line 6: card 7 of the play: east cannot play JH, for this hand cannot"
    ):
        files.read_pbn(text % "HJ")


def test_three_hands_tell_the_fourth():
    board = files.read_pbn(f'[Deal "W:{WEST} {NORTH} - {SOUTH}"]')[0]
    assert board.hands[1] == mask(EAST)


def test_boards_made_by_hand_are_checked():
    hands = tuple(map(mask, (NORTH, EAST, SOUTH, WEST)))
    for wrong in (
        {"level": 8},
        {"vulnerable": "NS"},
        {"auction": ("Pass",)},
        {"declarer": -1},
        {"strain": 5},
    ):
        with pytest.raises(ParseError):
            Board(hands, **wrong)
    assert issubclass(ParseError, KibitzError)


# --- diagrams ----------------------------------------------------------------------------------------


def shown(picture):
    """All words of a picture; it must be well-formed."""
    root = ET.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    backs = [node for node in root.iter("{http://www.w3.org/2000/svg}rect") if node.get("class") == "back"]
    return texts, len(backs), root


def hand_texts(hand):
    suits = [s or "–" for s in hand.split(".")]
    return [f"{symbol} {ranks}" for symbol, ranks in zip("♠♥♦♣", suits, strict=True)]


def test_a_diagram_shows_all_hands_of_a_state():
    board = files.read_pbn(f'[Deal "{DEAL}"]')[0]
    texts, backs, root = shown(
        svg(files.position(board, level=5, strain=1, declarer=2), dealer=3, vulnerable="both")
    )
    for hand in (NORTH, EAST, SOUTH, WEST):
        assert set(hand_texts(hand)) <= set(texts)
    assert backs == 0
    assert "5♦ south" in texts
    assert {"dealer: west", "vulnerable: both sides", "tricks: north-south 0, east-west 0"} <= set(texts)
    assert "north (dummy)" in texts
    assert "west (to play)" in texts
    assert root.find("{http://www.w3.org/2000/svg}title").text == "Bridge, 5 diamonds by south"


@pytest.mark.parametrize("seat", range(4))
def test_a_diagram_hides_what_the_view_hides(seat):
    board = files.read_pbn(PLAYED + "HA H3 HJ H7\nHK\n")[0]
    state = files.position(board)
    for picture in (svg(state.view(seat)), svg(state, seat)):
        texts, backs, _ = shown(picture)
        hidden = [other for other in range(4) if other not in (seat, 0)]
        assert backs == sum(12 - (other == 3) for other in hidden)
        assert f"{12 - (hidden[-1] == 3)} hidden" in texts
        assert "♥K" in texts
        assert not any("nan" in text for text in texts)
        for other in hidden:
            for suit, ranks in zip("♠♥♦♣", (EAST, SOUTH, WEST)[other - 1].split("."), strict=True):
                assert f"{suit} {ranks}" not in texts
    # The picture is a function of the view: other hidden hands, the same picture.
    other_world = state.view(seat).world(3)
    assert svg(other_world.view(seat)) == svg(state.view(seat))


def test_diagrams_of_beginning_and_end():
    texts, _, _ = shown(svg(State(Bridge())))
    assert texts == ["not dealt yet"]
    done = next(board for board in BOARDS if len(board.play) == 52)
    texts, backs, root = shown(svg(files.position(done)))
    assert backs == 0
    assert texts.count("♠ –") == 4
    assert "prefers-color-scheme: dark" in "".join(root.itertext())
