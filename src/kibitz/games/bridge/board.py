"""What is known of one deal of Bridge, whatever the notation it is told in.

A `Board` has hands, contract, auction and play, and whatever else a file says; `position` makes a position
of the game of it, and `board_of` a board of a position. Below are the words that the notations share, for
cards, seats, strains and calls, and the checks that every board has to pass. What is wrong is a `ParseError`
that says why; `at_line` adds the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple, cast

import numpy as np

from kibitz.deadline import check
from kibitz.errors import InputError, ParseError
from kibitz.games.bridge.rules import NOTRUMP, OVER, PLAYING, Bridge
from kibitz.games.bridge.text import CARDS, SEATS
from kibitz.position import State, View

VULNERABLE = ("none", "ns", "ew", "both")
"""Who can be vulnerable."""
SUITS = "".join(names[0].upper() for names in CARDS.suits)
"""The letters of the suits, clubs first."""
STRAIN_WORDS = (*SUITS, "NT")
"""The strains as bids name them."""
SEAT_LETTERS = "".join(name[0].upper() for name in SEATS)
"""The seats as files write them, north first."""
FULL = len(CARDS.ranks)
"""How many cards a hand has before the play."""
IDENTIFICATION = ("Event", "Site", "Date", "Board", "West", "North", "East", "South", "Dealer", "Vulnerable",
                  "Deal", "Scoring", "Declarer", "Contract", "Result")  # fmt: skip
"""The tags that every PBN file has, in its order."""

_RANKS = "".join(names[0] for names in CARDS.ranks)
_DECK = (1 << CARDS.size) - 1
_FIRST = (*IDENTIFICATION, "qx", "pn")  # LIN's label of a board and its players begin one
_LONGEST = 300_000  # letters of a board in a file
_MOST_CALLS = 319  # three passes; 35 bids, doubled and redoubled, each after two passes; the last pass
_RULES: Any = cast(Any, Bridge)()  # mypy does not know the defaults of a game's parameters


class Tag(NamedTuple):
    """Something that a file tells beside the fields of a board: a name, a value, and a section of lines.

    A comment is a tag without name.
    """

    name: str
    value: str
    rows: tuple[str, ...] = ()


class Note(NamedTuple):
    """A remark on a call or a card: an explanation, or a mark such as `!` or `$4`."""

    section: str
    """`Auction` or `Play`."""
    place: int
    """Which call or card it is, from 0."""
    text: str


@dataclass(frozen=True)
class Board:
    """What is known of a deal. Seats, strains and cards are numbered as in the rules.

    >>> from kibitz.games.bridge.pbn import read_pbn
    >>> board = read_pbn('[Deal "S:AKQ.AKQ.AKQ.AKQJ - JT9.JT9.JT9.T987 -"]')[0]
    >>> [hand.bit_count() for hand in board.hands]
    [13, 0, 13, 0]
    """

    hands: tuple[int, int, int, int]
    """Masks of the cards of each seat before the recorded play; 0 if they are not known."""
    number: int | None = None
    dealer: int | None = None
    vulnerable: str = "none"
    """One of `VULNERABLE`."""
    level: int | None = None
    """From 1 to 7; 0 if the board was passed out, `None` if it is not known."""
    strain: int | None = None
    declarer: int | None = None
    doubled: int = 0
    auction: tuple[str, ...] = ()
    """The calls from the dealer on: `Pass`, `X`, `XX`, or a bid such as `1NT`."""
    play: tuple[int, ...] = ()
    """The cards in the order in which they were played."""
    leader: int | None = None
    """Who plays the first card, if it is not the seat left of declarer: in an ending."""
    claimed: bool = False
    """Whether the play ended before the last card; the tag `Result` tells how."""
    notes: tuple[Note, ...] = ()
    tags: tuple[Tag, ...] = ()
    """All else: those that every PBN file has in its order, then the others as they came."""

    def __post_init__(self) -> None:
        check_deal(self.hands)
        bounds = (("level", 8), ("strain", 5), ("dealer", 4), ("declarer", 4), ("leader", 4), ("doubled", 3))
        for name, bound in bounds:
            value = getattr(self, name)
            if value is not None and not 0 <= value < bound:
                raise ParseError(f"{name} {value} does not exist; it is below {bound}")
        if self.vulnerable not in VULNERABLE:
            raise ParseError(f"vulnerable '{self.vulnerable}' does not exist; {', '.join(VULNERABLE)} do")
        check_dealer(self.dealer, self.auction)

    @property
    def cards(self) -> int:
        """How many cards each hand has before the recorded play: fewer than 13 in an ending."""
        return max(hand.bit_count() for hand in self.hands)

    @property
    def opening_leader(self) -> int | None:
        """Who plays the first card."""
        if self.leader is not None or self.declarer is None:
            return self.leader
        return (self.declarer + 1) % 4

    def tag(self, name: str) -> str | None:
        """The value of the first tag of this name, such as a player's name under `North`."""
        return next((tag.value for tag in self.tags if tag.name == name), None)


class Fault(NamedTuple):
    """What is wrong with a board that cannot be read; the other boards of its file can."""

    error: InputError
    number: int | None = None
    """The board's number, if that could be read."""


def all_right(found: Iterable[Board | Fault]) -> list[Board]:
    """The boards, if all of them could be read; else the first error."""
    boards = []
    for each in found:
        if isinstance(each, Fault):
            raise each.error
        boards.append(each)
    return boards


# --- texts and their lines -------------------------------------------------------------------------


def plain(text: str) -> str:
    """The text with one kind of line end; what is no text at all is refused here."""
    text = text.removeprefix("\ufeff")
    if not text or text.isspace():
        raise ParseError("line 1: the file is empty")
    noise = re.search(r"[\x00-\x08\x0e-\x1f]", text)
    if noise:
        line = text.count("\n", 0, noise.start()) + 1
        raise ParseError(f"line {line}: this is not text: it contains a byte {ord(noise.group())}")
    return text.replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def at_line(line: int) -> Iterator[None]:
    """What is wrong in here is wrong in this line."""
    try:
        yield
    except ParseError as error:
        raise ParseError(f"line {line}: {error}") from None


def check_length(line: int, letters: int) -> None:
    """Noise of many megabytes is refused at once."""
    if letters > _LONGEST:
        raise ParseError(f"line {line}: this is not a board: it is longer than {_LONGEST} letters")


def short(text: str) -> str:
    """A quotation that fits into a message."""
    text = " ".join(text.lstrip()[:200].split())
    return repr(text if len(text) <= 32 else text[:30] + "…")


# --- cards and hands -------------------------------------------------------------------------------


def card_of(word: str) -> int:
    """A card as files write it, suit first."""
    letters = word.upper()  # of which there may be more: ﬆ is a letter, and ST are two
    letters = letters.replace("10", "T")  # as people write it
    if re.fullmatch(f"[{SUITS}][{_RANKS}]", letters):
        return SUITS.index(letters[0]) * FULL + _RANKS.index(letters[1])
    raise ParseError(f"{short(word)} is not a card; suit and rank are, such as ST")


def card_word(card: int) -> str:
    """What `card_of` reads."""
    suit, rank = divmod(card, FULL)
    return SUITS[suit] + _RANKS[rank]


def seat_of(word: str) -> int:
    """A seat as files write it, a letter."""
    letter = word.strip().upper()
    if len(letter) != 1 or letter not in SEAT_LETTERS:
        raise ParseError(f"{short(word)} is not a seat. Available: {', '.join(SEAT_LETTERS)}")
    return SEAT_LETTERS.index(letter)


def hand_of(seat: int, words: Iterable[str]) -> int:
    """The mask of a hand's cards, each a suit and a rank."""
    hand = 0
    try:
        for word in words:
            card = card_of(word)
            if hand >> card & 1:
                raise ParseError(f"{CARDS.text(card)} is there twice")
            hand |= 1 << card
    except ParseError as error:
        raise ParseError(f"in {SEATS[seat]}'s hand, {error}") from None
    return hand


def suits_of(hand: int) -> list[str]:
    """The ranks of each suit, spades and aces first."""
    down = range(FULL - 1, -1, -1)
    return [
        "".join(_RANKS[rank] for rank in down if hand >> (suit * FULL + rank) & 1) for suit in (3, 2, 1, 0)
    ]


def is_ending(hands: Iterable[int]) -> bool:
    """Whether the record begins in the middle of the play, for nobody has a whole hand."""
    return all(hand.bit_count() < FULL for hand in hands)


def completed(hands: Sequence[int]) -> tuple[int, int, int, int]:
    """The hands; when three are whole, the fourth has what is left."""
    north, east, south, west = hands
    if sorted(hand.bit_count() for hand in hands) == [0, FULL, FULL, FULL]:
        left = _DECK & ~(north | east | south | west)
        return north or left, east or left, south or left, west or left
    return north, east, south, west


def check_deal(hands: Sequence[int]) -> None:
    """No card in two hands; in those that are known equally many, all four of them in an ending."""
    for one, other in combinations(range(4), 2):
        for card in _cards_of(hands[one] & hands[other]):
            raise ParseError(
                f"{CARDS.text(card)} is in two hands, that of {SEATS[one]} and that of {SEATS[other]}"
            )
    sizes = {seat: hand.bit_count() for seat, hand in enumerate(hands) if hand}
    if not sizes:
        raise ParseError("no hand has cards")
    most = max(sizes, key=lambda seat: sizes[seat])
    if sizes[most] > FULL:
        raise ParseError(f"{SEATS[most]} has {sizes[most]} cards; a hand has {FULL}")
    for seat, cards in sizes.items():
        if cards < sizes[most]:
            missing = [CARDS.text(card) for card in _cards_of(_DECK & ~sum(hands))]
            which = f"; missing: {' '.join(missing)}" if sizes[most] == FULL and len(sizes) == 4 else ""
            raise ParseError(f"{SEATS[seat]} has {cards} cards, but {SEATS[most]} {sizes[most]}{which}")
    if sizes[most] < FULL and len(sizes) < 4:
        raise ParseError(
            f"{SEATS[most]} has {sizes[most]} cards; with fewer than {FULL} it is an ending, where all four "
            f"hands must be given"
        )


def _cards_of(hand: int) -> list[int]:
    return [card for card in range(CARDS.size) if hand >> card & 1]


# --- calls and contracts ---------------------------------------------------------------------------

_BID = re.compile(r"([1-7])(C|D|H|S|NT?)", re.I)
_OTHER_CALLS = {
    "P": "Pass",
    "PASS": "Pass",
    "X": "X",
    "D": "X",
    "DBL": "X",
    "XX": "XX",
    "R": "XX",
    "RDBL": "XX",
}


def strain_of(word: str) -> int:
    """A strain, of which the first letter is enough."""
    letter = word[0].upper()
    return NOTRUMP if letter == "N" else SUITS.index(letter)


def call_of(word: str) -> str:
    """A call as a board has it."""
    bid = _BID.fullmatch(word)
    if bid:
        return bid[1] + STRAIN_WORDS[strain_of(bid[2])]
    if word.upper() in _OTHER_CALLS:
        return _OTHER_CALLS[word.upper()]
    raise ParseError(f"{short(word)} is not a call; write Pass, X, XX or a bid such as 1NT")


def passes_to_come(auction: Sequence[str]) -> int:
    """How many passes end an auction: three after the last other call, four if there is none."""
    passed = next((n for n, call in enumerate(reversed(auction)) if call != "Pass"), None)
    return 4 - len(auction) if passed is None else 3 - passed


def check_open(auction: Sequence[str], word: str) -> None:
    """Nobody calls, as this word does, after the end of an auction."""
    if not passes_to_come(auction):
        raise ParseError(f"{short(word)} comes after the end of the auction")
    if len(auction) >= _MOST_CALLS:
        raise ParseError(f"{short(word)} is call {len(auction) + 1}; no auction has more than {_MOST_CALLS}")


def check_dealer(dealer: int | None, auction: Sequence[str]) -> None:
    """Nobody knows who makes the calls of an auction without dealer."""
    if auction and dealer is None:
        raise ParseError("there is an auction, but no dealer")


def check_strain(line: int, strain: int | None) -> None:
    """Nobody knows who takes the tricks of a play, which stands in this line, without strain."""
    if strain is None:
        raise ParseError(f"line {line}: this play has no contract, so that nobody knows what is trump")


def contract_of(dealer: int, auction: Sequence[str]) -> dict[str, int]:
    """The fields of the contract in which an auction ends (law 22).

    The last bid stands; of the side that made it, declarer is who first bid its strain.
    """
    bids = [place for place, call in enumerate(auction) if call[0].isdigit()]
    if not bids:
        return {"level": 0}
    last = bids[-1]
    level, strain = int(auction[last][0]), auction[last][1:]
    named = next(place for place in bids if auction[place][1:] == strain and (last - place) % 2 == 0)
    doubled = 2 if "XX" in auction[last:] else 1 if "X" in auction[last:] else 0
    return {"level": level, "strain": strain_of(strain), "declarer": (dealer + named) % 4, "doubled": doubled}


def contract_if_missing(fields: dict[str, Any]) -> dict[str, int]:
    """What the auction says, if nobody says what was played and it has ended."""
    auction = fields.get("auction", ())
    if fields.get("level") == 0 or (fields.get("strain") is not None and fields.get("declarer") is not None):
        return {}
    if not auction or passes_to_come(auction):
        return {}
    return contract_of(fields["dealer"], auction)


# --- boards and positions --------------------------------------------------------------------------


def checked(fields: dict[str, Any], tags: Iterable[Tag], line: int, lines: Sequence[int]) -> Board:
    """The board, with its deal checked, which stands in `line`, and every card of its play, in `lines`."""
    in_order = sorted(tags, key=lambda tag: _FIRST.index(tag.name) if tag.name in _FIRST else len(_FIRST))
    with at_line(line):
        board = Board(**fields, tags=tuple(in_order))
    if board.play:
        state = _opening(board, _RULES, 1, board.strain or 0, board.declarer or 0, 0)
        for number, line_of_card in enumerate(lines):
            check()
            with at_line(line_of_card):
                _put(state, number, board.play[number])
    return board


def position(
    board: Board,
    rules: Bridge | None = None,
    *,
    level: int | None = None,
    strain: int | None = None,
    declarer: int | None = None,
    doubled: int = 0,
) -> State:
    """The position after the recorded play, every card of which must be legal.

    What the board does not tell of the contract must be given. `rules` tell the rest: how it is scored, and
    whether all hands are open. Hands that are not known are empty, as those that a view does not show:
    whoever has a known hand can be advised, from `view(seat)`.
    """
    if board.level == 0:
        raise ParseError("this board was passed out: nothing is played")
    if board.level is not None:
        level = board.level
    elif level is None and is_ending(board.hands):
        level = 1  # PBN tells only the strain of an ending
    if board.strain is not None:
        strain, doubled = board.strain, board.doubled
    declarer = declarer if board.declarer is None else board.declarer
    if level is None or strain is None or declarer is None:
        missing = [name for name, value in (("level", level), ("strain", strain), ("declarer", declarer))
                   if value is None]  # fmt: skip
        raise ParseError(f"this board does not tell the contract; {' and '.join(missing)} must be given")
    state = _opening(board, rules or _RULES, level, strain, declarer, doubled)
    for number, card in enumerate(board.play):
        _put(state, number, card)
    return state


def _opening(board: Board, rules: Any, level: int, strain: int, declarer: int, doubled: int) -> State:
    """The position before the first card. In an ending what is in no hand has been played, by whomever."""
    side = ("ns", "ew")[declarer % 2]
    contract = {"level": level, "strain": strain, "declarer": declarer, "doubled": doubled}
    contract["vulnerable"] = board.vulnerable in (side, "both")
    state = State(rules._replace(**contract))
    record = state.record
    for name, value in contract.items():
        record[name] = value
    record.hands[:] = board.hands
    state.game.open_play(record)
    record.left = board.cards
    if is_ending(board.hands):
        record.played = _DECK & ~sum(board.hands)
    if board.leader is not None:
        record.turn = board.leader
    return state


def _put(state: State, number: int, card: int) -> None:
    """Play a card, which somebody whose hand is not known must be able to hold."""
    game, record = state.game, state.record
    moves = np.zeros(game.max_moves, np.int64)
    listed = 0 if state.is_over else int(game.possible(record, moves))
    if card not in moves[:listed]:
        hand, is_known = int(record.hands[record.turn]), game.blanks(record, record.turn) == 0
        if state.is_over:
            why = "all tricks have been played"
        elif int(record.played) >> card & 1:
            why = "it has been played before"
        elif is_known and not hand >> card & 1:
            why = "it is not in this hand"
        elif is_known:
            why = f"suit must be followed, with {' '.join(CARDS.text(move) for move in moves[:listed])}"
        else:
            why = "this hand cannot hold it"
        name = "nobody" if state.is_over else SEATS[int(record.turn)]
        raise ParseError(f"card {number + 1} of the play: {name} cannot play {CARDS.text(card)}, for {why}")
    game.grant(record, np.int64(card), None)
    game.play(record, np.int64(card))


def board_of(state: State | View, moves: Sequence[int] = (), **fields: Any) -> Board:
    """The board of a position, with the play that has led to it, if that is given.

    Without `moves` it is an ending, the trick on the table its play, and the deal when all is played.
    `fields` are those that no position tells: number, dealer, auction, tags, who else is vulnerable.
    """
    record = state.record
    if record.phase not in (PLAYING, OVER):
        raise ParseError("nothing has been dealt yet")
    declarer, turn = int(record.declarer), int(record.turn)
    gone = [int(cards) for cards in record.gone]
    play = [int(move) for move in moves] or [int(card) for card in record.table[: int(record.on_table)]]
    back = sum(1 << card for card in set(play))
    if back & ~sum(gone) or len(set(play)) < len(play):
        raise ParseError("the moves that are given have not been played here")
    if record.phase == OVER and not play:
        back = sum(gone)
    hands = [0] * 4
    for seat in range(4):
        is_hidden = record.phase == PLAYING and state.game.blanks(record, seat) > 0
        hands[seat] = 0 if is_hidden else int(record.hands[seat]) | gone[seat] & back
    first = next((seat for seat in range(4) if play and gone[seat] >> play[0] & 1), turn)
    leader = first if is_ending(hands) and first != (declarer + 1) % 4 else None
    known: dict[str, Any] = {name: int(record[name]) for name in ("level", "strain", "declarer", "doubled")}
    known["vulnerable"] = ("ns", "ew")[declarer % 2] if record.vulnerable else "none"
    north, east, south, west = hands
    return Board(hands=(north, east, south, west), play=tuple(play), **{"leader": leader} | known | fields)
