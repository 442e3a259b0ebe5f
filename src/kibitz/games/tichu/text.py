"""Cards and plays of Tichu as people write them."""

from __future__ import annotations

import re
from typing import Any

from kibitz.errors import ParseError, quoted
from kibitz.games.tichu.combinations import PASS
from kibitz.protocol import SILENT, UNNOTICED

_OTHER = 1 << 60  # above all plays
TICHU, GRAND_TICHU, NO_CALL = _OTHER + 1, _OTHER + 2, _OTHER + 3
NO_BOMB = _OTHER + 4
"""Plus the seat."""
WISH = _OTHER + 16
"""Plus the rank, 0 for none."""
GIVE = _OTHER + 64
"""Plus the card."""
GIFT = _OTHER + 128
"""Plus the seat that gets the Dragon's trick."""

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
                raise ParseError(f"{quoted(word)} is not a card; {_HOW}")
            card = 4 * (RANKS.index(found[1].replace("10", "T")) - 1) + SUITS.index(found[2])
        if play >> card & 1:
            raise ParseError(f"{quoted(word)} is there twice in {quoted(text)}; {_HOW}")
        play |= 1 << card
        if wild:
            rank = RANKS.find(wild.upper().replace("10", "T"))
            if card != 2 or rank < 2:
                raise ParseError(
                    f"{quoted(word)} cannot be; the Phoenix stands for a rank from 2 to A; {_HOW}"
                )
            play |= rank << 56
    return play


_WORDS = {TICHU: "tichu", GRAND_TICHU: "grand tichu", NO_CALL: "no call", WISH: "no wish"}
_WORDS |= {NO_BOMB + seat: f"no bomb {seat}" for seat in range(4)}
_WORDS |= {WISH + rank: f"wish {RANKS[rank]}" for rank in range(2, 15)}
_WORDS |= {GIVE + card: f"give {card_text(card)}" for card in range(56)}
_WORDS |= {GIFT + seat: f"dragon to {seat}" for seat in range(4)}
_MOVES = {words: move for move, words in _WORDS.items()}
_MOVES |= {"grand": GRAND_TICHU, "no": NO_CALL, "wish none": WISH}


def move_text(move: int) -> str:
    """A move of Tichu: a play, a call, a card given, a wish, a gift."""
    return _WORDS[move] if move in _WORDS else play_text(move)


def parse_move(words: str) -> int:
    """The move of Tichu that people mean."""
    told = " ".join(words.lower().split())
    known = {name.lower(): move for name, move in _MOVES.items()}
    if told in known:
        return known[told]
    verb, _, rest = told.partition(" ")
    if verb == "give" and rest:
        cards = parse_play(rest)
        if cards & cards - 1 == 0 and cards != PASS:
            return GIVE + cards.bit_length() - 1
    if verb == "wish" and rest.replace("10", "t").upper() in list(RANKS[2:]):
        return WISH + RANKS.index(rest.replace("10", "t").upper())
    if verb in ("give", "wish", "dragon", "no", "grand"):
        raise ParseError(
            f"{quoted(words)} is not a move; write give 7D, wish 8, no wish, dragon to 1, tichu, "
            f"grand tichu, no call, no bomb 2"
        )
    return parse_play(words)


def tell(game: Any, state: Any, move: int, observer: int) -> str:
    """A move as a seat hears of it: cards given are seen by who gets them, when all have given."""
    seat = int(state["turn"])
    label = int(game.label(state, move, observer))
    if label in (SILENT, UNNOTICED):
        return ""
    if not GIVE <= move < GIVE + 56 or label == move:
        return move_text(move)
    own = f"{move_text(move)}; " if observer == seat else ""
    got = []
    for k in (2, 1, 0):
        giver = observer + 3 - k & 3
        card = move - GIVE if (giver, k) == (3, 2) else int(state["gave"][giver, k]) - 1
        got.append(f"{card_text(card)} from seat {giver}")
    return f"{own}you get {', '.join(got)}"


_CALLED = ("", "Tichu", "Grand Tichu")
_PLACES = ("", "went out first", "went out second", "went out third")


def picture(game: Any, view: Any, seat: int) -> str:
    """The position of Mini-Tichu or Tichu as `seat` sees it."""
    is_whole = "called" in view.dtype.names
    if not view["left"].any() and not view["played"]:
        return "not dealt yet"
    lines = []
    if is_whole and game.target:
        lines += [f"round {int(view['rounds']) + 1}, {view['scores'][0]} : {view['scores'][1]} points", ""]
    for other in range(4):
        known, left = int(view["hands"][other]), int(view["left"][other])
        hidden = "▒▒ " * (left - known.bit_count())
        call = _CALLED[int(view["called"][other])] if is_whole else ""
        told = (_PLACES[int(view["finished"][other])], call, cards_text(known), hidden.strip())
        who = _who(other, seat)
        lines.append(f"{who:<8}{int(view['won'][other]):>4} points   {' '.join(filter(None, told))}".rstrip())
    if is_whole:
        given = [
            f"{card_text(int(card) - 1)} to {_who(seat + 1 + k & 3, seat)}"
            for k, card in enumerate(view["gave"][seat])
            if card
        ]
        lines += ["", f"given   {', '.join(given)}"] if given else []
        lines += ["", f"wish    {RANKS[int(view['wish'])]}"] if view["wish"] else []
    if view["kind"]:
        lines += ["", f"table   {cards_text(int(view['top']))}, by {_who(int(view['last']), seat)}"]
    if game.mover(view) >= 0 and not game.is_over(view):
        lines += ["", f"to play  {_who(int(view['turn']), seat)}"]
    return "\n".join(lines)


def _who(other: int, seat: int) -> str:
    return "you" if other == seat else f"seat {other}"
