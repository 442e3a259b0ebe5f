"""The hand diagram of Bridge as SVG: what books print, north on top, and the trick in the middle.

A picture shows what its view contains and nothing else; hidden cards are backs, with their number. It needs
no file beside it, follows light and dark pages, and tells its content in words to those who hear it.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from kibitz.games.bridge.rules import DEALING, NOTRUMP, OVER
from kibitz.games.bridge.text import CARDS, SEATS, STRAINS, contract_text
from kibitz.games.tricks import held
from kibitz.position import State, View

_SYMBOLS = "♣♦♥♠"
_WIDTH, _HEIGHT, _LINE = 530, 450, 19
_HANDS = ((200, 104), (350, 224), (200, 344), (20, 224))  # upper left corners, from north on
_TABLE = (200, 200, 120, 112)  # x, y, width, height
_CARDS = ((260, 230), (295, 262), (260, 294), (225, 262))  # of the trick, from north on
_STYLE = """
.kibitz-bridge { color: #1a1a1a; font: 16px system-ui, sans-serif; }
.kibitz-bridge text { fill: currentColor; }
.kibitz-bridge .spades { fill: #1a1a1a; }
.kibitz-bridge .hearts { fill: #c00000; }
.kibitz-bridge .diamonds { fill: #a85400; }
.kibitz-bridge .clubs { fill: #0b6e2d; }
.kibitz-bridge .ranks { letter-spacing: 1px; }
.kibitz-bridge .name { font-weight: 600; }
.kibitz-bridge .small { font-size: 13px; }
.kibitz-bridge .table { fill: none; stroke: currentColor; }
.kibitz-bridge .back { fill: #4a6fa5; stroke: #ffffff; }
@media (prefers-color-scheme: dark) {
.kibitz-bridge { color: #f0f0f0; }
.kibitz-bridge .spades { fill: #f0f0f0; }
.kibitz-bridge .hearts { fill: #ff8080; }
.kibitz-bridge .diamonds { fill: #ffb347; }
.kibitz-bridge .clubs { fill: #6fd68f; }
.kibitz-bridge .back { fill: #88a9d8; stroke: #1a1a1a; }
}
"""


def svg(
    position: State | View, seat: int | None = None, dealer: int | None = None, vulnerable: str = ""
) -> str:
    """The diagram of a view as it is, or of a state: of all its hands, or of those that `seat` sees.

    No position tells the dealer and who else is vulnerable than declarer; a board of a file does.
    """
    view = position.view(seat) if isinstance(position, State) and seat is not None else position
    if seat is None and isinstance(view, View) and not view.is_open:
        seat = view.seat
    record = view.record
    if record.phase == DEALING:
        return _document("Bridge", "Not dealt yet.", [_text(_WIDTH // 2, _HEIGHT // 2, "not dealt yet")])
    heading, about = contract_text(record), _about(view, dealer, vulnerable)
    parts = [_text(20, 26, _contract(view), "name")]
    parts += [_text(20, 46 + 17 * i, escape(line), "small") for i, line in enumerate(about)]
    for hand in range(4):
        parts += _hand(view, hand, _title(view, hand, seat))
    parts += _trick(view)
    told = [*about, *(_told(view, hand, _title(view, hand, seat)) for hand in range(4)), *_told_trick(view)]
    return _document(
        f"Bridge, {heading}", ". ".join(line[0].upper() + line[1:] for line in told) + ".", parts
    )


def _document(title: str, description: str, parts: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
    lines = [f'{head} class="kibitz-bridge">', f"<title>{escape(title)}</title>"]
    return "\n".join(
        [*lines, f"<desc>{escape(description)}</desc>", f"<style>{_STYLE}</style>", *parts, "</svg>\n"]
    )


def _text(x: int, y: int, markup: str, look: str = "", anchor: str = "") -> str:
    looks = (f' class="{look}"' if look else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x}" y="{y}"{looks}>{markup}</text>'


def _symbol(suit: int) -> str:
    return f'<tspan class="{STRAINS[suit]}">{_SYMBOLS[suit]}</tspan>'


def _contract(view: State | View) -> str:
    record = view.record
    strain = int(record.strain)
    word = "NT" if strain == NOTRUMP else _symbol(strain)
    return f"{int(record.level)}{word}{'×' * int(record.doubled)} {SEATS[int(record.declarer)]}"


def _about(view: State | View, dealer: int | None, vulnerable: str) -> list[str]:
    """The tricks of both sides, and what else is known of the board."""
    record = view.record
    taken = [sum(int(record.tricks[seat]) for seat in (side, side + 2)) for side in (0, 1)]
    lines = [f"tricks: north-south {taken[0]}, east-west {taken[1]}"]
    lines += [f"dealer: {SEATS[dealer]}"] if dealer is not None else []
    sides = {"none": "nobody", "ns": "north-south", "ew": "east-west", "both": "both sides"}
    if vulnerable:
        lines.append(f"vulnerable: {sides[vulnerable]}")
    elif record.vulnerable:
        lines.append("vulnerable: declarer's side")
    return lines


def _title(view: State | View, hand: int, seat: int | None) -> str:
    """Whose hand it is, and what that seat does."""
    record = view.record
    words = ["you"] * (hand == seat) + ["dummy"] * (hand == int(view.game.dummy(record)))
    words += ["to play"] * (int(record.phase) != OVER and hand == int(record.turn))
    return SEATS[hand] + (f" ({', '.join(words)})" if words else "")


def _suits(cards: int) -> Iterator[tuple[int, list[str]]]:
    """Each suit, spades first, with its ranks, highest first."""
    for suit in (3, 2, 1, 0):
        ranks = [CARDS.ranks[rank][0] for rank in range(12, -1, -1) if cards >> (suit * 13 + rank) & 1]
        yield suit, ranks


def _hidden(view: State | View, hand: int) -> int:
    """How many cards of a hand are not shown."""
    record = view.record
    if record.phase == OVER:
        return 0
    return int(held(view.game, record, hand)) - int(record.hands[hand]).bit_count()


def _hand(view: State | View, hand: int, title: str) -> Iterator[str]:
    x, y = _HANDS[hand]
    cards, hidden = int(view.record.hands[hand]), _hidden(view, hand)
    yield _text(x, y, escape(title), "name small")
    if hidden:
        for i in range(hidden):
            yield f'<rect class="back" x="{x + 7 * i}" y="{y + 12}" width="22" height="32" rx="3"/>'
        yield _text(x, y + 64, f"{hidden} hidden", "small")
        return
    for row, (suit, ranks) in enumerate(_suits(cards), 1):
        yield _text(x, y + _LINE * row, f"{_symbol(suit)} {''.join(ranks) or '–'}", "ranks")


def _trick(view: State | View) -> Iterator[str]:
    """The table with the letters of the seats; where one has played, its card."""
    x, y, width, height = _TABLE
    yield f'<rect class="table" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>'
    on_table = dict(_on_table(view))
    for seat, (left, top) in enumerate(_CARDS):
        if seat in on_table:
            suit, rank = divmod(on_table[seat], 13)
            yield _text(left, top, f"{_symbol(suit)}{CARDS.ranks[rank][0]}", "card", "middle")
        else:
            yield _text(left, top, SEATS[seat][0].upper(), "small", "middle")


def _on_table(view: State | View) -> list[tuple[int, int]]:
    """Who has played which card to the trick, in order."""
    record = view.record
    leader = int(record.turn) - int(record.on_table)
    return [((leader + i) % 4, int(record.table[i])) for i in range(int(record.on_table))]


def _told(view: State | View, hand: int, title: str) -> str:
    hidden = _hidden(view, hand)
    if hidden:
        return f"{title}: {hidden} hidden cards"
    suits = [
        f"{STRAINS[suit]} {' '.join(ranks) or 'none'}" for suit, ranks in _suits(int(view.record.hands[hand]))
    ]
    return f"{title}: {', '.join(suits)}"


def _told_trick(view: State | View) -> list[str]:
    cards = [f"{SEATS[seat]} {CARDS.name(card)}" for seat, card in _on_table(view)]
    return [f"on the table: {', '.join(cards)}"] if cards else []
