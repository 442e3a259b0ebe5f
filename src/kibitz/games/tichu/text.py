"""Cards and plays of Tichu as people write them."""

from __future__ import annotations

import re
from typing import Any

from kibitz.errors import ParseError
from kibitz.games.tichu.combinations import PASS

SPECIAL = ("Mah", "Dog", "Phx", "Drg")
_NAMES = {"mah": 0, "mahjong": 0, "1": 0, "dog": 1, "hound": 1, "phx": 2, "phoenix": 2, "ph": 2}
_NAMES |= {"drg": 3, "dragon": 3, "dr": 3}
RANKS = "..23456789TJQKA"
SUITS = "DHCS"
"""Star, jade, pagoda and sword, by the letters of ♦ ♥ ♣ ♠."""
_HOW = "write cards joined by +, such as 7D+7H or 7D+Phx=7, or pass"


def card_text(card: int) -> str:
    """A card, from its number."""
    return SPECIAL[card] if card < 4 else RANKS[card // 4 + 1] + SUITS[card % 4]


def cards_text(cards: int, joiner: str = " ") -> str:
    """Cards from the lowest on, special cards first."""
    return joiner.join(card_text(card) for card in range(56) if cards >> card & 1)


def play_text(play: int) -> str:
    """A play: its cards, and what the Phoenix stands for."""
    cards, wild = play & (1 << 56) - 1, play >> 56
    if play == PASS:
        return "pass"
    told = [card_text(card) for card in range(4, 56) if cards >> card & 1]
    told = [card_text(card) for card in (0, 1, 3) if cards >> card & 1] + told
    if cards >> 2 & 1:
        told.append("Phx" + (f"={RANKS[wild]}" if wild else ""))
    return "+".join(told)


def parse_play(text: str) -> int:
    """The play that people mean; whether it is legal is another question."""
    words = re.split(r"[+\s]+", text.strip())
    if [word.lower() for word in words] in (["pass"], ["p"], ["-"]):
        return int(PASS)
    play = 0
    for word in words:
        name, _, wild = word.partition("=")
        card = _NAMES.get(name.lower())
        if card is None:
            found = re.fullmatch(r"(10|[2-9TJQKA])([DHCS])", name.upper())
            if not found:
                raise ParseError(f"'{word}' is no card; {_HOW}")
            card = 4 * (RANKS.index(found[1].replace("10", "T")) - 1) + SUITS.index(found[2])
        if play >> card & 1:
            raise ParseError(f"'{word}' is there twice in '{text}'; {_HOW}")
        play |= 1 << card
        if wild:
            rank = RANKS.find(wild.upper().replace("10", "T"))
            if card != 2 or rank < 2:
                raise ParseError(f"'{word}' cannot be; the Phoenix stands for a rank from 2 to A; {_HOW}")
            play |= rank << 56
    return play


def picture(game: Any, view: Any, seat: int) -> str:
    """The position as `seat` sees it."""
    if view["phase"] == 0:
        return "not dealt yet"
    lines = []
    for other in range(4):
        known, left = int(view["hands"][other]), int(view["left"][other])
        hidden = "▒▒ " * (left - known.bit_count())
        who = _who(other, seat)
        place = ("", "went out first", "went out second", "went out third")[int(view["finished"][other])]
        told = " ".join(filter(None, (place, cards_text(known), hidden.strip())))
        lines.append(f"{who:<8}{int(view['won'][other]):>4} points   {told}".rstrip())
    if view["kind"]:
        lines += ["", f"table   {cards_text(int(view['top']))}, by {_who(int(view['last']), seat)}"]
    if view["phase"] == 1:
        lines += ["", f"to play  {_who(int(view['turn']), seat)}"]
    return "\n".join(lines)


def _who(other: int, seat: int) -> str:
    return "you" if other == seat else f"seat {other}"
