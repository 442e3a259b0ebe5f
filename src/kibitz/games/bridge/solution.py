"""Boards solved: the 20 results, par, and what every card of the seat to play is worth."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kibitz import specs
from kibitz.errors import InputError, quoted
from kibitz.games.bridge import dds
from kibitz.games.bridge.board import FULL, all_right
from kibitz.games.bridge.files import Board, Fault, board_of, load_each, position, read_pbn
from kibitz.games.bridge.rules import ANY
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
    return all_right(each_board_of(game, text))


def each_board_of(game: Any, text: str) -> Iterable[Board | Fault]:
    """What `boards_of` tells; boards of a file that cannot be read do not keep the others from being read."""
    if game is not None and is_number(text):
        return [board_of(deal(game, deal_number(text)))]
    if _DEAL.match(text):
        return read_pbn(f'[Deal "{text.strip()}"]')
    path, _, wanted = text.rpartition("#") if not is_file(text) and "#" in text else (text, "", "")
    if not wanted:
        return load_each(path)
    boards = list(load_each(path))
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
    table: dds.Table
    par: tuple[int, list[str]] | None
    """The score of north and south, and the contracts that make it (dealer, if not known: north); `None` for
    an ending."""
    state: Any
    """The position after the recorded play; `None` without a contract, or when all cards are played."""
    cards: dict[int, int]
    """Every legal card, and the tricks that the side to play has at the end."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, the same that `--json` prints."""
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


def contract_in(rules: Any, spec: str) -> dict[str, int] | None:
    """The contract that the string of a game tells, for boards without one; `None`, if it tells none."""
    given = {name for name, _ in specs.split(spec)[1]}
    names = ("strain", "level", "declarer", "doubled")
    if given.isdisjoint(names):
        return None
    return {name: getattr(rules, name) for name in names if getattr(rules, name) != ANY}


def sorted_out(found: Iterable[Board | Fault]) -> tuple[list[Board], list[Fault]]:
    """The boards that can be solved, and what is wrong with the others."""
    boards, faults = [], []
    for i, each in enumerate(found, 1):
        if isinstance(each, Fault):
            faults.append(each)
        elif not all(each.hands):
            number = each.number or i
            faults.append(
                Fault(InputError(f"board {number} hides a hand; only open deals can be solved"), number)
            )
        else:
            boards.append(each)
    return boards, faults


def solve(
    boards: Sequence[Board],
    progress: Callable[[int, int], None] | None = None,
    contract: Mapping[str, int] | None = None,
) -> list[Solution]:
    """Solve boards, all hands of which must be known, on all cores.

    `contract` has the strain, level, declarer and doubling of boards that have no contract; without it, the
    cards of such boards have no values.
    """
    for fault in sorted_out(boards)[1]:
        raise fault.error
    states = [_to_play(board, contract) for board in boards]
    played = [i for i, state in enumerate(states) if state is not None]
    total, done = len(boards) + len(played), 0

    def counted(found: Iterable[Any]) -> Iterator[Any]:
        nonlocal done
        for one in found:
            done += 1
            if progress:
                progress(done, total)
            yield one

    tables = list(counted(dds.tables([board.hands for board in boards])))
    values = dict(zip(played, counted(dds.card_values([states[i].record for i in played])), strict=True))
    solutions = []
    for i, (board, table, state) in enumerate(zip(boards, tables, states, strict=True)):
        par = table.par(board.dealer or 0, board.vulnerable) if board.cards == FULL else None
        cards = {}
        if state is not None:
            side = int(state.record.turn) % 2
            made = int(state.game.made(state.record, side))
            cards = {card: made + tricks for card, tricks in values[i].items()}
        solutions.append(Solution(board, table, par, state, cards))
    return solutions


def _to_play(board: Board, contract: Mapping[str, int] | None) -> Any:
    """The position after the recorded play, if there is a contract and somebody is to play."""
    if board.level == 0:
        return None
    if contract is None:
        has_level = board.level is not None or board.cards < FULL  # PBN tells no level of an ending
        has_declarer = board.declarer is not None or board.leader is not None
        if board.strain is None or not has_level or not has_declarer:
            return None
    known: dict[str, Any] = dict(contract or {})
    if board.leader is not None:
        known["declarer"] = (board.leader + 3) % 4
    state = position(board, **known)
    return None if state.is_over else state
