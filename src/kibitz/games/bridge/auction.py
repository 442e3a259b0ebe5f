"""What the auction has told about the hands, as text: points and lengths of suits, seat by seat.

>>> from kibitz.position import deal
>>> from kibitz.games.bridge.rules import Bridge
>>> state = deal(Bridge(), 1)
>>> promise(state.record, "N: hcp 15-17, spades 4-5; east: hearts 6+, hcp 11-")
>>> promises_text(state.record)
'north: hcp 15-17, spades 4-5; east: hcp 0-11, hearts 6-13'
"""

from __future__ import annotations

import re
from typing import Any

from kibitz.errors import ParseError, quoted
from kibitz.games.bridge.text import SEATS, STRAINS

_MOST = {"hcp": 37, **dict.fromkeys(STRAINS[:4], 13)}
_RANGE = re.compile(r"([0-9]{1,2})(?:\s*(-|–|to|\+)\s*([0-9]{0,2}))?")
_HOW = "write such as 'N: hcp 15-17, spades 5+; E: hearts 0-3'"


def _named(word: str, names: Any, kind: str) -> str:
    """The name that a word, or its first letters, stands for."""
    found = [name for name in names if word and name.startswith(word.lower().strip())]
    if len(found) > 1 and len(word.strip()) == 1:  # a lone h is hearts
        found = [name for name in found if name != "hcp"]
    if len(found) != 1:
        raise ParseError(f"{quoted(word.strip())} is not a {kind}; {_HOW}")
    return str(found[0])


def _limits(what: str, words: str) -> tuple[int, int]:
    """'15-17', '6+', '11-' or '4' as the fewest and the most."""
    match = _RANGE.fullmatch(words.strip())
    if match is None:
        raise ParseError(f"{quoted(words.strip())} is not a range of {what}; {_HOW}")
    number, sign, end = int(match[1]), match[2], match[3]
    low, high = number, number
    if sign == "+":
        high = _MOST[what]
    elif sign:
        low, high = (number, int(end)) if end else (0, number)
    if not low <= high <= _MOST[what]:
        raise ParseError(
            f"{what} {quoted(words.strip())} cannot be; from 0 to {_MOST[what]}, the fewest first"
        )
    return low, high


def promise(record: Any, text: str) -> None:
    """Note in a position what the auction has told; seats that are not named have told nothing."""
    record["promised"] = 0
    for part in filter(str.strip, text.split(";")):
        name, colon, told = part.partition(":")
        seat = SEATS.index(_named(name, SEATS, "seat"))
        if not colon or not told.strip():
            raise ParseError(f"{quoted(part.strip())} says nothing of {SEATS[seat]}; {_HOW}")
        if record["promised"] >> seat & 1:
            raise ParseError(f"{SEATS[seat]} is named twice; put all of a seat together: {_HOW}")
        record["promised"] |= 1 << seat
        record["points"][seat] = 0, _MOST["hcp"]
        record["lengths"][seat] = 0, 13
        for words in told.split(","):
            what, _, limits = words.strip().partition(" ")
            what = _named(what, _MOST, "suit (and not hcp)")
            if what == "hcp":
                record["points"][seat] = _limits(what, limits)
            else:
                record["lengths"][seat][STRAINS.index(what)] = _limits(what, limits)
        if sum(record["lengths"][seat][:, 0]) > 13 or sum(record["lengths"][seat][:, 1]) < 13:
            raise ParseError(
                f"no hand of 13 cards has the lengths given for {SEATS[seat]}: {quoted(part.strip())}"
            )


def promises_text(record: Any) -> str:
    """What the auction has told, as `promise` reads it."""
    parts = []
    for seat in range(4):
        if int(record["promised"]) >> seat & 1:
            ranges = [("hcp", record["points"][seat])]
            ranges += [(STRAINS[suit], record["lengths"][seat][suit]) for suit in (3, 2, 1, 0)]
            told = [f"{what} {low}-{high}" for what, (low, high) in ranges if (low, high) != (0, _MOST[what])]
            parts.append(f"{SEATS[seat]}: {', '.join(told) or 'hcp 0-37'}")
    return "; ".join(parts)
