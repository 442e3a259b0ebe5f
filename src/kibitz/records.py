"""What leaves a store: single games, move by move, and all results as a table."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from kibitz import trust
from kibitz.agents import make_known_agent
from kibitz.arena.play import Match, play_game, settle_chance
from kibitz.arena.store import Store
from kibitz.errors import BadOption, IllegalMove, InputError, Unsupported, Unwritable, needs
from kibitz.position import State
from kibitz.protocol import CHANCE
from kibitz.showing import for_spreadsheet


@dataclass(frozen=True)
class Move:
    """One move of a record."""

    state: State
    """The position before the move."""
    seat: int
    agent: str
    move: int
    text: str


@dataclass(frozen=True)
class Record:
    """A game that was played: who sat where, all moves, and how it ended."""

    match: Match
    deal: int
    seating: int
    agents: list[str]
    """One a seat."""
    moves: list[Move]
    end: State
    is_kept: bool
    """Whether the moves were in the store; else the same agents have played the game again."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "game": self.match.game,
            "seed": self.match.seed,
            "deal": self.deal,
            "seating": self.seating,
            "agents": self.agents,
            "moves": [{"seat": m.seat, "agent": m.agent, "move": m.text} for m in self.moves],
            "scores": self.end.returns(),
            "kept": self.is_kept,
            "files": {file: trust.digest_in_use(file) for file in trust.files_in(self.match.game)},
        }


def replay(store: Store, number: int, deal: int, seating: int = 0) -> Record:
    """A game of a store, replayed by the rules and checked against the score that is stored.

    Every game can be replayed: if its moves were not kept, the same agents play it again.
    """
    if number not in (known := sorted(store.numbers())):
        raise BadOption(f"there is no match {number} in the store; available: {', '.join(map(str, known))}")
    kept = store.kept(number)
    match, code = kept.match, kept.code
    if match.judged:
        raise Unsupported(f"match {number} is of single decisions, judged; there is no game to replay")
    scores = store.scores_of_deal(number, deal)
    if scores is None:
        raise BadOption(f"deal {deal} of match {number} is not in the store")
    if not 0 <= seating < len(scores):
        raise BadOption(f"there is no seating {seating}; a deal of this match has 0 to {len(scores) - 1}")
    if kept.places != match.places:
        raise InputError(f"match {number} was played with other seatings than {match.game} has today")
    agents = [match.agents[a] for a in match.places[seating]]
    moves = store.moves(number, deal, seating)
    is_kept = moves is not None
    if moves is None:
        if code != match.code:
            raise InputError(
                "the moves of this game were not kept, and the rules or agents that played it have changed "
                "since; it cannot be replayed (--moves keeps the moves)"
            )
        sitting = [make_known_agent(spec, match.rules) for spec in agents]
        moves = play_game(match.rules, sitting, match.seed, deal, seating).moves
    try:
        steps, end = _walk(match, deal, agents, moves)
    except IllegalMove as error:
        raise InputError(f"the record of this game breaks today's rules of {match.game}: {error}") from error
    if not end.is_over:
        raise InputError(f"the record of this game ends before the game: it has only {len(steps)} moves")
    if end.returns() != scores[seating].tolist():
        raise InputError(
            f"the game ends with {end.returns()}, but the store says {scores[seating].tolist()}: the rules "
            f"or the agents have changed since, or an agent was limited by time and its moves were not kept"
        )
    return Record(match, deal, seating, agents, steps, end, is_kept)


def _walk(match: Match, deal: int, agents: list[str], moves: list[int]) -> tuple[list[Move], State]:
    state, chances = State(match.rules), 0
    steps: list[Move] = []
    for move in moves:
        chances = _settle(state, match.seed, deal, chances)
        before = State(match.rules, state.array.copy())
        if move not in state.legal_moves():
            raise IllegalMove(f"its move {len(steps) + 1} is {move!r}, which is not legal then")
        seat = state.mover
        steps.append(Move(before, seat, agents[seat], move, before.text(move)))
        state.play(move)
    _settle(state, match.seed, deal, chances)
    return steps, state


def _settle(state: State, seed: int, deal: int, chances: int) -> int:
    """Settle all chance that is due; how many chance events there have been."""
    while not state.is_over and state.mover == CHANCE:
        settle_chance(state, seed, deal, chances)
        chances += 1
    return chances


# --- tables ----------------------------------------------------------------------------------------

COLUMNS = ("game", "agents", "seed", "code", "deal", "seating", "seat", "agent", "score")
_ROWS_AT_ONCE = 100_000


def export(store: Store, path: Path, progress: Callable[[int, int], None] | None = None) -> int:
    """Write one row for every seat of every game to a CSV or Parquet file; how many rows.

    The order of the rows depends on what was played only, so equal results give equal files.
    """
    writers = {".csv": _write_csv, ".parquet": _write_parquet}
    if path.suffix not in writers:
        raise BadOption(f"{path.name} is neither .csv nor .parquet; the name says what is written")
    total = store.rows()
    part = path.with_name(path.name + ".part")
    try:
        written = 0
        for n in writers[path.suffix](part, store.results()):
            written += n
            if progress:
                progress(written, total)
        part.replace(path)  # a file is whole, or not there
    except OSError as error:
        raise Unwritable(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return written


def _write_csv(path: Path, rows: Iterator[tuple[Any, ...]]) -> Iterator[int]:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            writer.writerows([for_spreadsheet(cell) for cell in row] for row in some)
            yield len(some)


def _write_parquet(path: Path, rows: Iterator[tuple[Any, ...]]) -> Iterator[int]:
    with needs("Parquet", "parquet"):
        import pyarrow
        import pyarrow.parquet
    text, whole = pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), pyarrow.int64()
    kinds = (text, text, whole, text, whole, whole, whole, text, pyarrow.float64())
    schema = pyarrow.schema(list(zip(COLUMNS, kinds, strict=True)))
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            writer.write_table(pyarrow.table(list(map(list, zip(*some, strict=True))), schema=schema))
            yield len(some)
