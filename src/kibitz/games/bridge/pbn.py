"""Boards of Bridge in PBN, the Portable Bridge Notation 2.1: tags, with tables of the auction and the play.

What PBN says that a `Board` has no field for stays in its tags, so that it is there when the board is written
again. In the play PBN has a column for each seat, not the order of the cards; `_in_order` and `_table` turn
one into the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kibitz.deadline import check
from kibitz.errors import ParseError
from kibitz.games.bridge.board import (
    FULL,
    IDENTIFICATION,
    SEAT_LETTERS,
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
    check_deal,
    check_length,
    check_open,
    check_strain,
    checked,
    completed,
    contract_if_missing,
    hand_of,
    is_ending,
    passes_to_come,
    plain,
    seat_of,
    short,
    strain_of,
    suits_of,
)
from kibitz.games.bridge.text import CARDS, SEATS


class _Found(NamedTuple):
    """A tag with the lines where it and its section stand."""

    line: int
    name: str
    value: str
    rows: list[tuple[int, str]]


_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*){0,999}"'
_TOKEN = re.compile(
    rf"""(?P<gap>\n[ \t]*(?=\n|\Z))
       | (?P<skip>\n%[^\n]*|\n|[ \t\f\v]+(?=[\[;{{\n]|\Z))
       | (?P<comment>;[^\n]*|\{{[^}}]*\}})
       | (?P<tag>\[\s*(?P<name>\w+)\s*(?P<value>{_STRING})\s*\])
       | (?P<row>(?:[^][{{}};"\n]+|{_STRING})+)""",
    re.X,
)
_WORD = re.compile(r"=\d+=|\$\d+|[!?]{1,2}|\^[A-Za-z]?|[A-Za-z0-9-]+|\S")
_MARK = re.compile(r"=\d+=|\$\d+|[!?]{1,2}")
_CONTRACT = re.compile(r"([1-7]?)(C|D|H|S|NT?)(X{0,2})", re.I)
_UNKNOWN = ("", "?")
_OWN = frozenset({"Board", "Dealer", "Vulnerable", "Deal", "Declarer", "Contract", "Auction", "Play"})
"""The tags that fields of a board stand for."""
_SIDES = dict(zip(VULNERABLE, ("None", "NS", "EW", "All"), strict=True))
_SIDE_WORDS = {word.lower(): side for side, word in _SIDES.items()}
_MOST_STANDING = 100
"""Tags that one file sets for all its boards: every board carries them, so a text grows by so many times."""
_SIDE_WORDS |= {"both": "both"} | dict.fromkeys((*_UNKNOWN, "-", "love"), "none")


# --- reading ---------------------------------------------------------------------------------------


def read_pbn(text: str) -> list[Board]:
    """The boards of a text in PBN."""
    return all_right(each_pbn(text))


def each_pbn(text: str) -> Iterator[Board | Fault]:
    """The boards of a text in PBN, one after the other, and in their places those that cannot be read."""
    is_empty = True
    before: dict[str, str] = {}  # the values of earlier boards, for which # stands
    standing: dict[str, None] = {}  # tags that ## has set for all boards to come
    for tags, error in _games(plain(text)):
        check()
        if error is not None:
            yield Fault(error, _number_in(tags))
            is_empty = False
            before = {name: before[name] for name in standing}  # it might have had other values
            continue
        there = {tag.name for tag in tags}
        for i, tag in enumerate(tags):
            if tag.value.startswith("##"):
                standing[tag.name] = None
                if len(standing) > _MOST_STANDING:
                    raise ParseError(f"line {tag.line}: more than {_MOST_STANDING} tags are set by ##")
            if tag.name and tag.value.startswith("#"):
                value = before.get(tag.name, "") if tag.value == "#" else tag.value[2:]
                tags[i] = tag._replace(value=value)
        heads_the_file = all(name in standing for name in there if name)
        tags += [_Found(tags[0].line, name, before[name], []) for name in standing if name not in there]
        before |= {tag.name: tag.value for tag in reversed(tags)}
        if heads_the_file:
            continue
        is_empty = False
        try:
            board = _board(tags)
        except ParseError as why:
            yield Fault(why, _number_in(tags))
        else:
            yield board
    if is_empty:
        raise ParseError('line 1: there is no board; one has a tag such as [Deal "N:…"]')


def _number_in(tags: Iterable[_Found]) -> int | None:
    """The number of a board that cannot be read otherwise."""
    try:
        return next((_number(tag.value).get("number") for tag in tags if tag.name == "Board"), None)
    except ParseError:
        return None


_GAP = re.compile(r"\n[ \t]*(?=\n|\Z)")


def _games(text: str) -> Iterator[tuple[list[_Found], ParseError | None]]:
    """The tags of each board, which an empty line ends, and what is wrong with the text of a board.

    Comments come as tags without name.
    """
    text = "\n" + text  # so that every line begins with a line end
    tags: list[_Found] = []
    section: _Found | None = None
    line, place, start = 0, 0, 0
    while place < len(text):
        check()
        token = _TOKEN.match(text, place)
        words = token.group() if token else text[place : place + 200]
        try:
            if token is None or (token["row"] and section is None):
                wanted = "this comment has no end" if words[0] == "{" else 'this is not a tag, [Name "value"]'
                raise ParseError(f"line {line}: {wanted}: {short(words)}")
            check_length(line, token.end() - start)
        except ParseError as error:
            yield tags, error
            gap = _GAP.search(text, place)
            end = gap.end() if gap else len(text)
            line += text.count("\n", place, end)
            tags, section, place, start = [], None, end, end
            continue
        if token["tag"]:
            section = _Found(line, token["name"], _unquoted(token["value"]), [])
            tags.append(section)
        elif token["comment"]:
            tags.append(_Found(line, "", words[1:-1] if words[0] == "{" else words[1:], []))
        elif token["row"] and section:
            section.rows.append((line, words.rstrip()))
        elif token["gap"] and section:
            yield tags, None
            tags, section, start = [], None, token.end()
        line += words.count("\n")
        place = token.end()
    if section:
        yield tags, None


def _unquoted(string: str) -> str:
    r"""The value of a string. A backslash before a letter or digit means itself, as in `Result\2R`."""
    return re.sub(r"\\([\"\\])", r"\1", string[1:-1])


def _board(tags: list[_Found]) -> Board:
    first: dict[str, _Found] = {}
    for tag in tags:
        if tag.name == "Deal" and "Deal" in first:
            raise ParseError(f"line {tag.line}: a second Deal; an empty line must stand between two boards")
        first.setdefault(tag.name, tag)  # the standard ignores a tag that is there already
    if "Deal" not in first:
        raise ParseError(f"line {tags[0].line}: this board has no tag Deal")
    fields: dict[str, Any] = {}
    for name, reader in _READERS.items():
        if name in first:
            with at_line(first[name].line):
                fields |= reader(first[name].value)
    explained, others = _explanations(tags)
    notes: list[Note] = []
    lines: list[int] = []
    if "Auction" in first:
        fields |= _read_auction(first["Auction"], explained["Auction"], notes, fields.get("dealer"))
    fields |= contract_if_missing(fields)
    if "Play" in first:
        fields |= _read_play(first["Play"], explained["Play"], notes, lines, fields)
    kept = [Tag(tag.name, tag.value, tuple(row for _, row in tag.rows)) for tag in others]
    return checked(fields | {"notes": tuple(notes)}, kept, first["Deal"].line, lines)


def _deal(value: str) -> dict[str, Any]:
    """`N:` and four hands of four suits, spades first; a hand that is not known is `-`."""
    if value[1:2] != ":":
        raise ParseError(f"a deal begins with a seat and a colon, such as N:, not with {short(value[:2])}")
    first, words = seat_of(value[0]), value[2:].replace("10", "T").split()
    if len(words) != 4:
        raise ParseError(f"a deal has four hands, this one {len(words)}")
    hands = [0] * 4
    for i, word in enumerate(words):
        seat, suits = (first + i) % 4, word.split(".")
        if word == "-":
            continue
        if len(suits) != 4:
            raise ParseError(f"{SEATS[seat]}'s hand has {len(suits)} suits, not four: {short(word)}")
        hands[seat] = hand_of(
            seat, (suit + rank for suit, ranks in zip(reversed(SUITS), suits, strict=True) for rank in ranks)
        )
    check_deal(hands)  # now, so that a wrong deal is named before whatever else is wrong
    return {"hands": completed(hands)}


def _number(value: str) -> dict[str, Any]:
    if value.strip() in _UNKNOWN:
        return {}
    if not re.fullmatch(r"[0-9]{1,9}", value.strip()):
        raise ParseError(f"{short(value)} is not a board number")
    return {"number": int(value)}


def _dealer(value: str) -> dict[str, Any]:
    return {} if value.strip() in _UNKNOWN else {"dealer": seat_of(value)}


def _vulnerable(value: str) -> dict[str, Any]:
    if value.strip().lower() not in _SIDE_WORDS:
        raise ParseError(f"{short(value)} are not vulnerable; None, NS, EW or All can be")
    return {"vulnerable": _SIDE_WORDS[value.strip().lower()]}


def _declarer(value: str) -> dict[str, Any]:
    """A seat. A caret says that declarer and dummy were swapped; the play is that of this declarer."""
    value = value.strip().removeprefix("^")
    return {} if value in _UNKNOWN else {"declarer": seat_of(value)}


def _contract(value: str) -> dict[str, Any]:
    """Level, strain and X or XX, or `Pass`; the strain alone in an ending."""
    value = "".join(value.split())
    if value in _UNKNOWN:
        return {}
    if value.upper() in ("PASS", "AP", "P"):
        return {"level": 0}
    found = _CONTRACT.fullmatch(value)
    if not found:
        raise ParseError(
            f"{short(value)} is not a contract; write Pass, or level, strain and X or XX, such as 4SX"
        )
    level = int(found[1]) if found[1] else None
    return {"level": level, "strain": strain_of(found[2]), "doubled": len(found[3])}


_READERS = {
    "Deal": _deal,
    "Board": _number,
    "Dealer": _dealer,
    "Vulnerable": _vulnerable,
    "Declarer": _declarer,
    "Contract": _contract,
}


def _explanations(tags: list[_Found]) -> tuple[dict[str, dict[str, str]], list[_Found]]:
    """What the marks in the auction and the play mean, and all tags that a board has no field for.

    Notes stand behind the section that refers to them; what nothing refers to is a tag like others.
    """
    texts: dict[str, dict[str, str]] = {"Auction": {}, "Play": {}}
    others, section, marks = [], "", set[str]()
    for tag in tags:
        number, _, text = tag.value.partition(":")
        mark = f"={number.strip()}="
        if tag.name in texts:
            section, marks = tag.name, {word for _, row in tag.rows for word in _WORD.findall(row)}
        elif tag.name == "Note" and mark in marks and mark not in texts[section]:
            texts[section][mark] = text
        elif tag.name not in _OWN:
            others.append(tag)
    return texts, others


def _words(tag: _Found, explained: dict[str, str]) -> Iterator[tuple[int, str, str | None]]:
    """The words of a section with their lines, and the remark that each is, if it is one."""
    for line, row in tag.rows:
        check()
        for word in _WORD.findall(row):
            if word.startswith("^"):
                raise ParseError(f"line {line}: what is irregular, such as {short(word)}, cannot be read")
            itself = "" if "=" in word else word  # a number that nothing explains says nothing
            yield line, word, explained.get(word, itself) if _MARK.fullmatch(word) else None


def _read_auction(
    tag: _Found, explained: dict[str, str], notes: list[Note], dealer: int | None
) -> dict[str, Any]:
    """The dealer and the calls; in front of the dealer's the table may have hyphens."""
    with at_line(tag.line):
        first = seat_of(tag.value) if tag.value.strip() not in _UNKNOWN else dealer
        if first is None:
            raise ParseError("this auction does not say who calls first")
    calls: list[str] = []
    for line, word, remark in _words(tag, explained):
        if word == "-" and not calls:
            first = (first + 1) % 4
        elif word in ("*", "+", "-"):  # nothing more is known
            break
        elif remark is not None and calls:
            notes.append(Note("Auction", len(calls) - 1, remark))
        else:
            with at_line(line):
                check_open(calls, word)
                calls += ["Pass"] * passes_to_come(calls) if word.upper() == "AP" else [call_of(word)]
    if dealer not in (None, first):
        raise ParseError(f"line {tag.line}: {SEATS[first]} calls first, but {SEATS[dealer or 0]} is dealer")
    return {"dealer": first, "auction": tuple(calls)}


def _read_play(
    tag: _Found, explained: dict[str, str], notes: list[Note], lines: list[int], fields: dict[str, Any]
) -> dict[str, Any]:
    """The cards in the order of play, `lines` with the line of each. The table has one column a seat."""
    with at_line(tag.line):
        first = seat_of(tag.value)
    declarer, has_begun = fields.get("declarer"), is_ending(fields["hands"])
    if declarer is None and not has_begun:
        declarer = (first + 3) % 4
    found: dict[str, Any] = {"declarer": declarer}
    left_of_declarer = None if declarer is None else (declarer + 1) % 4
    leader = first if has_begun or left_of_declarer is None else left_of_declarer
    if leader != left_of_declarer:
        found["leader"] = leader
    cells: list[int | None] = []
    line_of: dict[int, int] = {}
    marks: list[tuple[int | None, str]] = []
    for line, word, remark in _words(tag, explained):
        if word == "*":
            found["claimed"] = True
            break
        if remark is not None and cells:
            marks.append((cells[-1], remark))
            continue
        with at_line(line):
            if len(cells) == CARDS.size:
                raise ParseError(f"{short(word)} comes after {FULL} tricks, which are all")
            card = None if word in ("-", "+") else card_of(word)
            if card is not None and card in line_of:
                raise ParseError(f"{CARDS.text(card)} is played a second time")
        cells.append(card)
        if card is not None:
            line_of[card] = line
    if not line_of:
        return found if has_begun or "claimed" in found else {}
    check_strain(tag.line, fields.get("strain"))
    order = _in_order(cells, (leader - first) % 4, fields["strain"])
    play = [card for card in order if card is not None]
    if None in order:
        after = play[order.index(None)]
        raise ParseError(f"line {line_of[after]}: a card played before {CARDS.text(after)} is missing")
    lines += [line_of[card] for card in play]
    notes += sorted(Note("Play", play.index(card), text) for card, text in marks if card is not None)
    return found | {"play": tuple(play)}


# --- tables of the play ----------------------------------------------------------------------------


def _in_order(cells: Sequence[int | None], column: int, strain: int) -> list[int | None]:
    """The cards of a table in the order of play; the first is in this column of the first row."""
    order: list[int | None] = []
    for trick in _tricks(cells):
        turned = trick[column:] + trick[:column]
        order += turned
        column = (column + _taker(turned, strain)) % 4
    while order and order[-1] is None:
        order.pop()
    return order


def _table(board: Board) -> list[str]:
    """The play as a table: the opening leader's cards in the first column, `-` for one not played."""
    if not board.play:
        return []
    if board.opening_leader is None or board.strain is None:
        raise ParseError("a play cannot be written without strain and declarer")
    cells: list[int | None] = []
    column = 0
    for trick in _tricks(board.play):
        cells += trick[4 - column :] + trick[: 4 - column]
        column = (column + _taker(trick, board.strain)) % 4
    return ["-" if card is None else card_word(card) for card in cells]


def _tricks(cards: Sequence[int | None]) -> Iterator[list[int | None]]:
    """Cards four by four; the last trick is filled up with none."""
    for begin in range(0, len(cards), 4):
        yield [*cards[begin : begin + 4], None, None, None][:4]


def _taker(trick: Sequence[int | None], strain: int) -> int:
    """Who takes a trick, counted from its leader: the highest trump, else the highest card of the suit led
    (law 44).
    """
    led = None if trick[0] is None else trick[0] // FULL

    def height(place: int) -> tuple[bool, bool, int]:
        card = trick[place]
        if card is None:
            return False, False, -1
        suit, rank = divmod(card, FULL)
        return suit == strain, suit == led, rank

    return max(range(4), key=height)


# --- writing ---------------------------------------------------------------------------------------


def write_pbn(boards: Iterable[Board]) -> str:
    """Boards as PBN. Comments come behind the rest of a board."""
    return "\n".join(["% PBN 2.1\n", *(_board_text(board) for board in boards)])


def _board_text(board: Board) -> str:
    hands = " ".join(".".join(suits_of(hand)) if hand else "-" for hand in board.hands)
    values = {
        "Board": board.number,
        "Dealer": None if board.dealer is None else SEAT_LETTERS[board.dealer],
        "Vulnerable": _SIDES[board.vulnerable],
        "Deal": f"N:{hands}",
        "Declarer": None if board.declarer is None else SEAT_LETTERS[board.declarer],
        "Contract": _contract_word(board),
    }
    texts = []
    for name in IDENTIFICATION:
        if values.get(name) is not None:
            texts.append(_tag_text(Tag(name, str(values[name]))))
        texts += [_tag_text(tag) for tag in board.tags if tag.name == name and name not in _OWN]
    if board.auction:
        unfinished = "+" if board.level is None else "*"
        end = unfinished if passes_to_come(board.auction) else ""
        texts.append(_section(board, "Auction", board.dealer, board.auction, end))
    if board.play or board.claimed or board.leader is not None:
        texts.append(_section(board, "Play", board.opening_leader, _table(board), "*" * board.claimed))
    texts += [_tag_text(tag) for tag in board.tags if tag.name not in (*IDENTIFICATION, *_OWN)]
    return "".join(texts)


def _contract_word(board: Board) -> str | None:
    if board.level == 0:
        return "Pass"
    if board.strain is None:
        return None
    return f"{board.level or ''}{STRAIN_WORDS[board.strain]}{'X' * board.doubled}"


def _section(board: Board, name: str, seat: int | None, words: Sequence[str], end: str) -> str:
    """Four calls or cards a line, each with its marks, and behind them what the numbers among these mean."""
    notes = [note for note in board.notes if note.section == name]
    texts = dict.fromkeys(note.text for note in notes if not _MARK.fullmatch(note.text))
    numbers = {text: number for number, text in enumerate(texts, 1)}
    marks: dict[str | int, list[str]] = {}
    for note in notes:
        place = note.place if name == "Auction" else card_word(board.play[note.place])
        marks.setdefault(place, []).append(f"={numbers[note.text]}=" if note.text in numbers else note.text)
    full = [
        " ".join([word, *marks.get(i if name == "Auction" else word, [])]) for i, word in enumerate(words)
    ]
    rows = [" ".join(full[i : i + 4]) for i in range(0, len(full), 4)]
    tags = [Tag(name, SEAT_LETTERS[seat or 0], (*rows, end))]
    tags += [Tag("Note", f"{number}:{text}") for text, number in numbers.items()]
    return "".join(_tag_text(tag) for tag in tags)


def _tag_text(tag: Tag) -> str:
    if not tag.name:
        return f";{tag.value}\n" if "}" in tag.value else f"{{{tag.value}}}\n"
    return "\n".join([f"[{tag.name} {_quoted(tag.value)}]", *(row for row in tag.rows if row.strip()), ""])


def _quoted(value: str) -> str:
    """What `_unquoted` reads, in one line."""
    escaped = re.sub(r'"|\\(?![A-Za-z0-9])', r"\\\g<0>", value)
    return '"' + re.sub(r"\s*\n\s*", " ", escaped) + '"'
