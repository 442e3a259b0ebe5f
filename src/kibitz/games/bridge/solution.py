"""Boards solved: the 20 results, par, and what every card of the seat to play is worth."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kibitz.errors import InputError, quoted
from kibitz.games.bridge import dds
from kibitz.games.bridge.files import Board, board_of, load, position, read_pbn
from kibitz.games.bridge.text import CARDS, SEATS, contract_text
from kibitz.position import deal
from kibitz.reading import deal_number, is_file, is_number, whole_number

_STRAINS = ("C", "D", "H", "S", "NT")
_DEAL = re.compile(r"\s*[NESWnesw]:\S")


def boards_of(game: Any, text: str) -> list[Board]:
    """The boards that a text means: a deal of the game by its number, '7'; a deal as PBN writes it,
    'N:AK….… …'; or a file, 'evening.pbn'.

    'evening.pbn#3' is the board with the number 3 of the file alone, or its third if they have no numbers.
    """
    if game is not None and is_number(text):
        return [board_of(deal(game, deal_number(text)))]
    if _DEAL.match(text):
        return read_pbn(f'[Deal "{text.strip()}"]')
    path, _, wanted = text.rpartition("#") if not is_file(text) and "#" in text else (text, "", "")
    boards = load(path)
    if not wanted:
        return boards
    chosen = [board for board in boards if str(board.number) == wanted.strip()]
    if not chosen and 1 <= (whole_number(wanted) or 0) <= len(boards):
        chosen = [boards[int(wanted) - 1]]
    if not chosen:
        raise InputError(f"{path} has no board {quoted(wanted.strip())}; it has {len(boards)} boards")
    return chosen[:1]


@dataclass(frozen=True)
class Solution:
    """What is known of a board when all hands are open."""

    board: Board
    table: dds.Table | None
    """`None` for an ending."""
    par: tuple[int, list[str]] | None
    """The score of north and south, and the contracts that make it; north deals, if nobody is said to."""
    state: Any
    """The position after the recorded play; `None` without a contract, or when all cards are played."""
    cards: dict[int, int]
    """Every legal card, and the tricks that the side to play has at the end."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, the same that `--json` prints."""
        table = None
        if self.table is not None:
            table = {
                seat: dict(zip(_STRAINS, tricks, strict=True))
                for seat, tricks in zip(SEATS, self.table.tricks, strict=True)
            }
        par = None if self.par is None else {"score": self.par[0], "contracts": self.par[1]}
        cards = None
        if self.state is not None:
            cards = {
                "to_play": SEATS[int(self.state.record.turn)],
                "tricks": {CARDS.text(card): tricks for card, tricks in self.cards.items()},
            }
        return {"board": self.board.number, "table": table, "par": par, "cards": cards}

    def __str__(self) -> str:
        lines = [] if self.board.number is None else [f"board {self.board.number}"]
        if self.state is not None:
            lines += [str(self.state.open_view()), ""]
        if self.table is not None:
            lines.append(f"{'tricks':<7}" + "".join(f"{strain:>4}" for strain in _STRAINS))
            for seat, tricks in zip(SEATS, self.table.tricks, strict=True):
                lines.append(f"{seat:<7}" + "".join(f"{n:>4}" for n in tricks))
        if self.par is not None:
            score, contracts = self.par
            lines.append(f"par     {score:+d} for north-south: {', '.join(contracts) or 'passed out'}")
        if self.state is not None:
            record = self.state.record
            side = ("north-south", "east-west")[int(record.turn) % 2]
            lines.append(f"{contract_text(record)}, {SEATS[int(record.turn)]} to play; {side} make")
            for made in sorted(set(self.cards.values()), reverse=True):
                cards = [CARDS.text(card) for card in sorted(self.cards) if self.cards[card] == made]
                lines.append(f"{made:>4}  with {' '.join(cards)}")
        return "\n".join(lines)


def solve(boards: Sequence[Board], progress: Callable[[int, int], None] | None = None) -> list[Solution]:
    """Solve boards, all hands of which must be known, on all cores."""
    for i, board in enumerate(boards, 1):
        if not all(board.hands):
            raise InputError(f"board {board.number or i} hides a hand; only open deals can be solved")
    states = [_to_play(board) for board in boards]
    whole = [i for i, board in enumerate(boards) if board.cards == 13]
    played = [i for i, state in enumerate(states) if state is not None]
    total, done = len(whole) + len(played), 0

    def counted(found: Iterable[Any], places: list[int]) -> dict[int, Any]:
        nonlocal done
        result = {}
        for i, one in zip(places, found, strict=True):
            result[i], done = one, done + 1
            if progress:
                progress(done, total)
        return result

    tables = counted(dds.tables([boards[i].hands for i in whole]), whole)
    values = counted(dds.card_values([states[i].record for i in played]), played)
    solutions = []
    for i, (board, state) in enumerate(zip(boards, states, strict=True)):
        par = None
        if i in tables:
            par = tables[i].par(board.dealer or 0, board.vulnerable)
        cards = {}
        if state is not None:
            side = int(state.record.turn) % 2
            made = int(state.game.made(state.record, side))
            cards = {card: made + tricks for card, tricks in values[i].items()}
        solutions.append(Solution(board, tables.get(i), par, state, cards))
    return solutions


def _to_play(board: Board) -> Any:
    """The position after the recorded play, if somebody is to play."""
    if not board.level:
        return None
    state = position(board)
    return None if state.is_over else state
