"""Bridge as people see it: hand diagrams as text."""

from __future__ import annotations

from typing import Any

from kibitz.cards import FRENCH, Deck
from kibitz.games.bridge.score import duplicate_score
from kibitz.games.tricks import held
from kibitz.showing import numbered

CARDS = Deck(
    FRENCH.suits,
    tuple(("T", "ten", "t", "10") if names[0] == "10" else names for names in FRENCH.ranks),
    FRENCH.joiner,
)
"""The French deck with a one-letter ten, as bridge players write it."""
SEATS = ("north", "east", "south", "west")
STRAINS = ("clubs", "diamonds", "hearts", "spades", "notrump")
_WIDTH = 24


def hand_lines(cards: int, count: int) -> list[str]:
    """A hand of `count` cards by suit, spades first; backs if it is not seen."""
    if cards == 0 and count > 0:
        return ["▒" * count, "", "", ""]
    lines = []
    for suit in (3, 2, 1, 0):
        ranks = [CARDS.ranks[rank][0] for rank in range(12, -1, -1) if cards >> (suit * 13 + rank) & 1]
        lines.append(f"{CARDS.suits[suit][0].upper()} {' '.join(ranks) or '-'}")
    return lines


def contract_text(view: Any) -> str:
    """The contract in words."""
    doubled = ("", ", doubled", ", redoubled")[int(view["doubled"])]
    vulnerable = ", vulnerable" if view["vulnerable"] else ""
    strain, declarer = STRAINS[int(view["strain"])], SEATS[int(view["declarer"])]
    return f"{int(view['level'])} {strain} by {declarer}{doubled}{vulnerable}"


def result_text(view: Any, made: int) -> str:
    """What came of a contract: `3 notrump by south, 8 tricks: 1 down, north-south score -50`."""
    over = made - 6 - int(view["level"])
    came = (
        "made" if over == 0 else f"made with {numbered(over, 'overtrick')}" if over > 0 else f"{-over} down"
    )
    side = ("north-south", "east-west")[int(view["declarer"]) % 2]
    score = int(duplicate_score(view, made))
    return f"{contract_text(view)}, {numbered(made, 'trick')}: {came}, {side} score {score:+}"


def picture(game: Any, view: Any, seat: int) -> str:
    """The position as `seat` sees it: contract, tricks, the four hands around the table, the trick."""
    if view["phase"] == 0:
        return "not dealt yet"
    sides = [sum(int(view["tricks"][s]) for s in (side, side + 2)) for side in (0, 1)]
    lines = [contract_text(view), f"tricks  north-south {sides[0]}, east-west {sides[1]}", ""]
    over = view["phase"] == 2
    hands = []
    for other in range(4):
        names = ["you"] * (other == seat)
        names += ["dummy"] * (other == int(game.dummy(view)))
        title = SEATS[other] + (f" ({', '.join(names)})" if names else "")
        cards = 13 if over else int(held(game, view, other))
        hand = int(view["gone" if over else "hands"][other])  # in the end the deal as it was
        hands.append([title, *hand_lines(hand, cards)])
    north, east, south, west = hands
    lines += [" " * _WIDTH + line for line in north]
    lines += [f"{left:<{2 * _WIDTH}}{right}".rstrip() for left, right in zip(west, east, strict=True)]
    lines += [" " * _WIDTH + line for line in south]
    if view["on_table"]:
        leader = (int(view["turn"]) - int(view["on_table"])) % 4
        trick = (
            f"{SEATS[(leader + i) % 4]} {CARDS.text(view['table'][i])}" for i in range(int(view["on_table"]))
        )
        lines += ["", f"table  {', '.join(trick)}; {SEATS[int(view['winning'])]} wins so far"]
    if not over:
        lines += ["", f"to play  {SEATS[int(view['turn'])]}"]
    return "\n".join(line.rstrip() for line in lines)
