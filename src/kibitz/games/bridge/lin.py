"""Boards of Bridge in LIN, the notation of Bridge Base Online: a row of elements, each `name|value|`.

LIN never says the contract; it is that in which the auction ends. Elements that a `Board` has no field for
stay in its tags under their names of two letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kibitz.deadline import check
from kibitz.errors import ParseError
from kibitz.games.bridge.board import (
    STRAIN_WORDS,
    SUITS,
    VULNERABLE,
    Board,
    Fault,
    Note,
    Tag,
    all_right,
    at_line,
    call_of,
    card_of,
    card_word,
    check_dealer,
    check_length,
    check_open,
    check_strain,
    checked,
    completed,
    contract_if_missing,
    contract_of,
    hand_of,
    is_ending,
    plain,
    short,
    suits_of,
)
from kibitz.games.bridge.text import CARDS, SEATS


class _Element(NamedTuple):
    """An element with the line where it stands."""

    line: int
    name: str
    value: str


_ELEMENT = re.compile(r"\s*([A-Za-z]{2})\|([^|]*)\|")
_FROM_SOUTH = (2, 3, 0, 1)
_SIDES = dict(zip(VULNERABLE, "oneb", strict=True))
_SIDE_WORDS = {word: side for side, word in _SIDES.items()} | dict.fromkeys(("0", "-", ""), "none")
_LAYOUT = frozenset({"st", "rh", "pg"})
_OWN = frozenset({"md", "sv", "mb", "pc", "mc"})
"""The elements that fields of a board stand for."""


# --- reading ---------------------------------------------------------------------------------------


def read_lin(text: str) -> list[Board]:
    """The boards of a text in LIN. What belongs to all boards of a match stays with the first one."""
    return all_right(each_lin(text))


def each_lin(text: str) -> Iterator[Board | Fault]:
    """The boards of a text in LIN, one after the other, and in their places those that cannot be read."""
    elements: list[_Element] = []
    has_deal, letters = False, 0
    for element in _elements(plain(text)):
        check()
        if isinstance(element, ParseError):
            yield Fault(element, _number_in(elements))
            elements, has_deal, letters = [], False, 0
            continue
        if has_deal and element.name in ("qx", "pn", "md"):
            yield _board_or_fault(elements)
            elements, has_deal, letters = [], False, 0
        letters += len(element.value) + 4
        check_length(element.line, letters)
        elements.append(element)
        has_deal |= element.name == "md"
    if elements:
        yield _board_or_fault(elements)


def _board_or_fault(elements: list[_Element]) -> Board | Fault:
    try:
        return _board(elements)
    except ParseError as error:
        return Fault(error, _number_in(elements))


def _number_in(elements: list[_Element]) -> int | None:
    return next((number for element in elements if (number := _number(element)) is not None), None)


def _number(element: _Element) -> int | None:
    """The number of a board, if an element tells it."""
    kind, word = ("ah", r"board\s*") if element.name == "ah" else ("qx", "[oc]")
    found = re.fullmatch(f"{word}([0-9]{{1,9}})", element.value.strip(), re.I)
    return int(found[1]) if found and element.name == kind else None


_NEXT_BOARD = re.compile(r"\n\s*(?=(?:qx|pn|md)\|)", re.I)


def _elements(text: str) -> Iterator[_Element | ParseError]:
    """The elements; after an error those from the next line on with which a board can begin."""
    line, place, end = 1, 0, len(text.rstrip())
    while place < end:
        element = _ELEMENT.match(text, place)
        if element is None:
            line += text.count("\n", place, end - len(text[place:end].lstrip()))
            yield ParseError(f"line {line}: this is not an element, name|value|: {short(text[place:])}")
            following = _NEXT_BOARD.search(text, place)
            if following is None:
                return
            start = place + len(text[place:end]) - len(text[place:end].lstrip())
            line += text.count("\n", start, following.end())
            place = following.end()
            continue
        line += text.count("\n", place, element.start(1))
        yield _Element(line, element[1].lower(), element[2].replace("\n", ""))
        line += text.count("\n", element.start(1), element.end())
        place = element.end()


def _board(elements: list[_Element]) -> Board:
    fields: dict[str, Any] = {}
    tags: list[Tag] = []
    notes: list[Note] = []
    calls: list[str] = []
    cards: list[int] = []
    lines: list[int] = []
    deal_line = 0
    for element in elements:
        (line, key, value), number = element, _number(element)
        word = value.strip()
        with at_line(line):
            if key == "md":
                fields |= _deal(word)
                deal_line = line
            elif key == "sv":
                if word.lower() not in _SIDE_WORDS:
                    raise ParseError(f"{short(value)} are not vulnerable; o, n, e or b can be")
                fields["vulnerable"] = _SIDE_WORDS[word.lower()]
            elif key == "mb":
                check_open(calls, value)
                calls.append(call_of(word.rstrip("!")))
                notes += [Note("Auction", len(calls) - 1, "!")] * word.endswith("!")
            elif key == "an" and calls:
                notes.append(Note("Auction", len(calls) - 1, value))
            elif key == "pc":
                if len(cards) == CARDS.size:
                    raise ParseError(f"{short(word)} comes after the last card")
                cards.append(card_of(word))
                lines.append(line)
            elif key == "mc":
                fields["claimed"] = True
                tags.append(Tag("Result", word))
            elif key == "pn" and value.count(",") == 3:
                names = zip(_FROM_SOUTH, value.split(","), strict=True)
                tags += [Tag(SEATS[seat].capitalize(), name) for seat, name in names if name]
            elif key == "ah" and number is not None:
                fields["number"] = number
            elif key not in _LAYOUT or word:
                tags.append(Tag(key, value))
                if number is not None:
                    fields.setdefault("number", number)
    if not deal_line:
        raise ParseError(f"line {elements[0].line}: this board has no deal, md|…|")
    fields |= {"auction": tuple(calls), "play": tuple(cards), "notes": tuple(notes)}
    with at_line(deal_line):
        fields |= _contract(fields)
    if cards:
        check_strain(lines[0], fields.get("strain"))
    return checked(fields, tags, deal_line, lines)


def _deal(value: str) -> dict[str, Any]:
    """The dealer's number, from 1 for south, and hands from south on; the last may be left out."""
    digit, words = (value[:1], value[1:]) if value[:1].isdigit() else ("0", value)
    hands = words.split(",")
    if digit not in "01234" or len(hands) > 4:
        raise ParseError(
            f"{short(value)} is not a deal: a digit up to 4 for the dealer and at most four hands"
        )
    masks = [0] * 4
    for seat, word in zip(_FROM_SOUTH, hands, strict=False):
        suit, cards = "", []
        for letter in word.strip().upper().replace("10", "T"):
            if letter in SUITS:
                suit = letter
            else:
                cards.append(suit + letter)
        masks[seat] = hand_of(seat, cards)
    dealer = {} if digit == "0" else {"dealer": _FROM_SOUTH[int(digit) - 1]}
    return dealer | {"hands": completed(masks)}


def _contract(fields: dict[str, Any]) -> dict[str, int]:
    """What the auction ends in; who plays has ended it, even if passes are left out. In an ending the
    first card says who leads.
    """
    check_dealer(fields.get("dealer"), fields["auction"])
    has_bid = any(call[0].isdigit() for call in fields["auction"])
    if not (has_bid and fields["play"]):
        return contract_if_missing(fields)
    found = contract_of(fields["dealer"], fields["auction"])
    holders = [seat for seat, hand in enumerate(fields["hands"]) if hand >> fields["play"][0] & 1]
    if is_ending(fields["hands"]) and holders and holders[0] != (found["declarer"] + 1) % 4:
        found["leader"] = holders[0]
    return found


# --- writing ---------------------------------------------------------------------------------------


def write_lin(boards: Iterable[Board]) -> str:
    """Boards as LIN, a line each. LIN has no room for comments, notes on cards, and most tags of PBN; a
    contract without auction gets the shortest auction that ends in it.
    """
    return "".join(_board_text(board) + "\n" for board in boards)


def _board_text(board: Board) -> str:
    dealer, calls = _shortest_auction(board)
    kept = [(tag.name, tag.value) for tag in board.tags if tag.name not in _OWN and len(tag.name) == 2]
    label = [element for element in kept if element[0] == "qx"]
    names = ",".join((board.tag(SEATS[seat].capitalize()) or "").replace(",", "") for seat in _FROM_SOUTH)
    players = [element for element in kept if element[0] == "pn"] or [("pn", names)]
    hands = ",".join(_hand_text(board.hands[seat]) for seat in _FROM_SOUTH)
    digit = "" if dealer is None else str(_FROM_SOUTH.index(dealer) + 1)
    elements = [*label, *players, ("st", ""), ("md", digit + hands), ("rh", "")]
    elements += [("ah", f"Board {board.number}")] if board.number is not None else []
    elements.append(("sv", _SIDES[board.vulnerable]))
    elements += [element for element in kept if element not in (*label, *players)]
    for i, call in enumerate(calls):
        texts = [note.text for note in board.notes if note.section == "Auction" and note.place == i]
        word = {"Pass": "p", "X": "d", "XX": "r"}.get(call, call.replace("NT", "N"))
        elements.append(("mb", word + "!" * ("!" in texts)))
        elements += [("an", text) for text in texts if text != "!"]
    elements.append(("pg", ""))
    for i, card in enumerate(board.play, 1):
        elements += [("pc", card_word(card)), *[("pg", "")] * (i % 4 == 0)]
    result = board.tag("Result")
    elements += [("mc", result)] if board.claimed and result else []
    bar_or_end = str.maketrans("|\n", "  ")
    return "".join(f"{key}|{value.translate(bar_or_end)}|" for key, value in elements)


def _hand_text(hand: int) -> str:
    """A hand by suit, spades first; nothing if it is not known."""
    suits = zip(reversed(SUITS), suits_of(hand), strict=True)
    return "".join(suit + ranks for suit, ranks in suits) if hand else ""


def _shortest_auction(board: Board) -> tuple[int | None, Sequence[str]]:
    """The auction, or if there is none the shortest one that ends in the contract; who begins it."""
    if board.auction or (board.level != 0 and (board.strain is None or board.declarer is None)):
        return board.dealer, board.auction
    if board.level == 0:
        return board.dealer or 0, ["Pass"] * 4
    dealer = board.declarer if board.dealer is None else board.dealer
    before = ["Pass"] * (((board.declarer or 0) - (dealer or 0)) % 4)
    bid = f"{board.level or 1}{STRAIN_WORDS[board.strain or 0]}"
    return dealer, [*before, bid, *("X", "XX")[: board.doubled], *["Pass"] * 3]
