"""Exact values with all hands known: Bo Haglund's double-dummy solver DDS, through endplay.

endplay (the extra `dds`) starts the solver with a thread for every core and loads a plotting library, so it
is imported by the first call and not before.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from kibitz.errors import needs

_BOARDS_AT_ONCE = max(4, os.cpu_count() or 1)  # every thread of the solver has one; more are not faster
_TABLES_AT_ONCE = 8  # each is five solved boards or more
_NO_TARGET, _ALL_CARDS, _EVEN_IF_FORCED = -1, 3, 1
_STRAINS = (3, 2, 1, 0, 4)
"""The solver's number of a strain, by ours; it is the same the other way round."""


class Asker:
    """Who asks the solver several times, such as a search: the longer it has had it, the longer it waits."""

    def __init__(self) -> None:
        self.seconds = 0.0


class _Turns:
    """A lock for the solver. Who has not had it yet is served first, then who has waited longest.

    A `threading.Lock` goes to whoever is quickest, which is the thread that has just released it: a long
    search would keep all others from the solver.
    """

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._is_taken = False
        self._waiting: list[tuple[float, int, threading.Lock]] = []
        self._numbers = itertools.count()

    @contextmanager
    def turn(self, asker: Asker) -> Iterator[None]:
        """Have the solver, when it is the asker's turn."""
        self._wait(min(asker.seconds, _LONGEST_HANDICAP))
        began = time.monotonic()
        try:
            yield
        finally:
            asker.seconds += time.monotonic() - began
            self._pass_on()

    def _pass_on(self) -> None:
        with self._changing:
            if self._waiting:
                heapq.heappop(self._waiting)[-1].release()
            else:
                self._is_taken = False

    def _wait(self, handicap: float) -> None:
        with self._changing:
            if not self._is_taken:
                self._is_taken = True
                return
            mine = threading.Lock()
            mine.acquire()
            place = (time.monotonic() + handicap, next(self._numbers), mine)
            heapq.heappush(self._waiting, place)
        try:
            mine.acquire()  # until whoever has the solver releases it
        except BaseException:  # Ctrl-C: nobody may wait for one who does not come
            with self._changing:
                is_waiting = place in self._waiting
                if is_waiting:
                    self._waiting.remove(place)
                    heapq.heapify(self._waiting)
            if not is_waiting:
                self._pass_on()
            raise


_LONGEST_HANDICAP = 1.0  # seconds by which others may ask later and yet come first
_TURNS = _Turns()  # the solver has threads of its own, and memory for one call


def _solver() -> Any:
    """The library with the solver in it."""
    with needs("The double-dummy solver", "dds"):
        from endplay import _dds
    return _dds


def is_installed() -> bool:
    """Whether there is a solver, without starting it."""
    return find_spec("endplay") is not None


def _give_cards(remaining: Any, hands: Sequence[int]) -> None:
    """Write hands as the solver has them: by seat and suit, the two as bit 2."""
    for seat in range(4):
        for suit in range(4):
            remaining[seat][_STRAINS[suit]] = (int(hands[seat]) >> 13 * suit & 0x1FFF) << 2


def _give_position(deal: Any, record: Any) -> None:
    """Write a position of the play as the solver has it."""
    on_table = int(record["on_table"])
    deal.trump = _STRAINS[int(record["strain"])]
    deal.first = (int(record["turn"]) - on_table) % 4
    for i in range(3):
        suit, rank = divmod(int(record["table"][i]), 13) if i < on_table else (0, -2)
        deal.currentTrickSuit[i] = _STRAINS[suit] if i < on_table else 0
        deal.currentTrickRank[i] = rank + 2
    _give_cards(deal.remainCards, record["hands"])


def _values(found: Any) -> dict[int, int]:
    """What the solver says of every card: the tricks still to come for the side that plays it."""
    values = {}
    for i in range(found.cards):
        suit = 13 * _STRAINS[found.suit[i]]
        values[suit + found.rank[i] - 2] = found.score[i]
        for rank in range(2, 15):  # lower cards that are worth the same
            if found.equals[i] >> rank & 1:
                values[suit + rank - 2] = found.score[i]
    return values


def card_values(records: Sequence[Any], asker: Asker | None = None) -> Iterator[dict[int, int]]:
    """For each position in play: every legal card, and the tricks still to come for the side that plays
    it, this one included, if all see all cards and play as well as can be.

    >>> import kibitz
    >>> state = kibitz.deal("bridge", seed=7)
    >>> (values,) = card_values([state.record])
    >>> max(values.values()), len(values)
    (9, 13)
    """
    _dds, asker = _solver(), asker or Asker()
    for begun in range(0, len(records), _BOARDS_AT_ONCE):
        part = records[begun : begun + _BOARDS_AT_ONCE]
        asked, solved = _dds.boards(), _dds.solvedBoards()
        asked.noOfBoards = len(part)
        for i, record in enumerate(part):
            _give_position(asked.deals[i], record)
            asked.target[i], asked.solutions[i], asked.mode[i] = _NO_TARGET, _ALL_CARDS, _EVEN_IF_FORCED
        with _TURNS.turn(asker):
            _dds.SolveAllBoardsBin(asked, solved)
        for i in range(len(part)):
            yield _values(solved.solvedBoard[i])


@dataclass(frozen=True)
class Table:
    """The tricks that each seat makes as declarer in each strain, and what that is worth to both sides."""

    tricks: tuple[tuple[int, ...], ...]
    """[seat][strain], from north on and from clubs on."""
    _solved: Any

    def par(self, dealer: int, vulnerable: str) -> tuple[int, list[str]]:
        """The score of north and south if both sides bid as well as can be, and contracts that make it."""
        from endplay.dds import par
        from endplay.types import Player, Vul

        found = par(self._solved, Vul[vulnerable], Player(dealer))
        return int(found.score), [str(contract) for contract in found]


def tables(deals: Sequence[Sequence[int]]) -> Iterator[Table]:
    """The 20 results of each deal or ending, given as four hands from north on."""
    _dds, asker = _solver(), Asker()
    from endplay.dds.ddtable import DDTable

    for begun in range(0, len(deals), _TABLES_AT_ONCE):
        part = deals[begun : begun + _TABLES_AT_ONCE]
        asked, solved = _dds.ddTableDeals(), _dds.ddTablesRes()
        asked.noOfTables = len(part)
        for i, hands in enumerate(part):
            _give_cards(asked.ddTableDeal[i].cards, hands)
        every_strain = [False] * 5
        with _TURNS.turn(asker):
            _dds.CalcAllTables(asked, -1, every_strain, solved, _dds.allParResults())
        for i in range(len(part)):
            results, gone = solved.results[i], 13 - part[i][0].bit_count()  # the solver counts to 13
            tricks = tuple(
                tuple(results.resTable[_STRAINS[strain]][seat] - gone for strain in range(5))
                for seat in range(4)
            )
            yield Table(tricks, DDTable(results))
