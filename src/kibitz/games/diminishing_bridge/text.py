"""DiminishingBridge as people see it: the table as text, bids and cards in words."""

from __future__ import annotations

from functools import cache
from typing import Any

from kibitz.cards import FRENCH, Deck
from kibitz.errors import ParseError, quoted
from kibitz.reading import is_number, whole_number

HIDDEN = "▒▒"
UNSEEN, BID, FIRST_BID = 63, 64, 64
_UNSEEN_WORD = "unseen"


@cache
def deck(suits: int, ranks: int) -> Deck:
    """The French deck without its lowest ranks, or with further suits and ranks below."""
    more_suits = tuple((letter, f"suit {letter}") for letter in "efgijlmn")
    more_ranks = tuple((f"l{n}", f"low {n}") for n in range(50, 0, -1))
    return Deck(
        (*FRENCH.suits, *more_suits)[:suits],
        (*more_ranks, *FRENCH.ranks)[-ranks:],
        FRENCH.joiner,
    )


@cache
def texts(suits: int, ranks: int) -> dict[str, int]:
    """The cards by their texts: the ranks below the French ones are not of letters or digits alone."""
    cards = deck(suits, ranks)
    return {cards.text(card).lower(): card for card in range(cards.size)}


def move_text(game: Any, move: int) -> str:
    """A bid as `bid 3`, a card as `AS`."""
    if move >= BID:
        return f"bid {move - BID}"
    return _UNSEEN_WORD if move == UNSEEN else deck(game.suits, game.ranks).text(move)


def parse_move(game: Any, words: str) -> int:
    """The bid or card that people mean."""
    told = words.lower().strip().removeprefix("bid")
    if is_number(told):
        bid = whole_number(told)
        if bid is None or bid > game.largest():
            raise ParseError(
                f"{quoted(words)} is not a bid; nobody can take more than {game.largest()} tricks"
            )
        return BID + bid
    if words.strip().lower() == _UNSEEN_WORD:
        return UNSEEN
    card = texts(game.suits, game.ranks).get(words.strip().lower())
    if card is not None:
        return card
    try:
        return deck(game.suits, game.ranks).parse(words)
    except ParseError as error:
        raise ParseError(f"{error}; a bid is 'bid 2'") from None


def hand_text(game: Any, cards: int, held: int) -> str:
    """A hand by suit, the strongest first; cards that are not known as backs."""
    known = [c for c in range(game.deck_size()) if cards >> c & 1]
    suits = [[c for c in known if c // game.ranks == suit] for suit in reversed(range(game.suits))]
    texts = [" ".join(deck(game.suits, game.ranks).text(c) for c in reversed(suit)) for suit in suits if suit]
    return "  ".join([*texts, *([" ".join([HIDDEN] * (held - len(known)))] if held > len(known) else [])])


def picture(game: Any, view: Any, seat: int) -> str:
    """The position as `seat` sees it: round, trump, scoreboard, bids, tricks, hands, trick."""
    cards = deck(game.suits, game.ranks)
    rounds = int(game.number_of_rounds())
    if view["phase"] in (0, 3):
        lines = [f"{int(view['number'])} of {rounds} rounds played"]
        if view["phase"] == 3 and view["victor"] >= 0:
            lines[0] += f": an absolute victory of seat {int(view['victor'])}, whom nobody can catch up with"
    else:
        shown = f" ({cards.text(view['shown'])})" if view["shown"] >= 0 else ""
        trump = next((s for s in range(game.suits) if int(game.suit_cards(s)) == int(view["trumps"])), None)
        named = "none" if trump is None else cards.suits[trump][1] + shown
        each = f"{int(view['cards'])} card{'s' if view['cards'] > 1 else ''} each"
        lines = [f"round  {int(view['number']) + 1} of {rounds}, {each}", f"trump  {named}"]
    lines.append("")
    for i in range(1, game.seats + 1):
        other = (seat + i) % game.seats
        who = "you" if other == seat else f"seat {other}"
        who += " (dealer)" if view["phase"] in (1, 2) and other == game.dealer(view) else ""
        lines.append(f"{who:<16} {int(view['scores'][other]):>4} points   {_doing(view, other)}")
        hand = hand_text(game, int(view["hands"][other]), int(game.held(view, other)))
        lines[-1] = f"{lines[-1]}   {hand}".rstrip()
    if view["on_table"]:
        leader = (int(view["turn"]) - int(view["on_table"])) % game.seats
        trick = (
            f"seat {(leader + i) % game.seats} {cards.text(view['table'][i])}"
            for i in range(int(view["on_table"]))
        )
        lines += ["", f"table  {', '.join(trick)}; seat {int(view['winning'])} wins so far"]
    return "\n".join(lines)


def _doing(view: Any, seat: int) -> str:
    """What a seat has bid and taken."""
    bid = int(view["bids"][seat])
    if view["phase"] not in (1, 2):
        return ""
    if bid == -2:
        return "has bid         "
    return f"bid {bid:>2}, has {int(view['tricks'][seat]):>2}  " if bid >= 0 else "has not bid yet "
