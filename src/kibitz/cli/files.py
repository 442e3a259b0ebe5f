"""`kibitz convert`, `export` and `replay`: boards, records and stored games as files and text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz import showing
from kibitz.cli import output, paths
from kibitz.cli.options import Json, Trust
from kibitz.errors import BadOption

if TYPE_CHECKING:
    from kibitz.arena.store import Store
    from kibitz.records import Record


def convert(
    source: Annotated[
        str,
        typer.Argument(
            help="Bridge boards (.pbn or .lin, 'evening.pbn#3' for one of them), a record (.json), or "
            "OpenSpiel actions (.openspiel)."
        ),
    ],
    out: Annotated[Path, typer.Argument(help="File to write: one of these, or .svg for a hand diagram.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Convert bridge boards and game records, or draw a board.

    Example: kibitz convert evening.lin evening.pbn
    """
    from kibitz.adapters import sequences

    paths.must_be_writable(out)
    paths.must_be_new(out, force)
    games = sequences.convert(source, out, paths.allow if trust else None)
    if as_json:
        output.document("convert", {"boards": games, "file": str(out)})
    else:
        print(f"{games} game{'s' * (games != 1)}: {out}")


def export(
    store: Annotated[Path, typer.Argument(help="Store to read.")],
    out: Annotated[Path, typer.Argument(help="File to write: .csv or .parquet.")],
    as_json: Json = False,
) -> None:
    """Export a store as a table: one row per game and seat.

    Example: kibitz export results.db results.parquet
    """
    from kibitz import records

    paths.must_be_writable(out)
    story = output.story()
    with paths.open_to_read(store) as opened:
        rows = records.export(opened, out, story.progress("rows"))
    story.close()
    if as_json:
        output.document("export", {"rows": rows, "file": str(out)})
    else:
        print(f"{rows:,} rows: {out}")


def replay(
    store: Annotated[Path, typer.Argument(help="Store to read.")],
    number: Annotated[
        int | None, typer.Option("--match", help="Number of the match (default: list all).")
    ] = None,
    deal: Annotated[int | None, typer.Option(min=0, help="Number of the deal (default: 0).")] = None,
    seating: Annotated[int, typer.Option(min=0, help="Which of the deal's games to replay.")] = 0,
    at: Annotated[int | None, typer.Option(min=1, help="Show the position before this move.")] = None,
    seat: Annotated[
        int | None, typer.Option(min=0, help="Show what this seat saw (default: all hands).")
    ] = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Replay a stored game, checking every move by the rules.

    All hands are open unless a seat is named.

    Example: kibitz replay results.db --match 1 --deal 7 --at 12 --seat 0
    """
    from kibitz import records

    with paths.open_to_read(store) as opened:
        if number is None and deal is None and at is None and seat is None:
            _list_matches(opened, as_json)
            return
        if number is None:
            raise BadOption("say which match with --match; without any option they are listed")
        if trust:
            paths.allow(opened.files([number]))
        record = records.replay(opened, number, deal or 0, seating)
    if seat is not None and at is None:
        raise BadOption("--seat goes with --at: which move shall be seen as the seat saw it?")
    if seat is not None and seat >= record.match.seats:
        raise BadOption(f"there is no seat {seat}; {record.match.game} has 0 to {record.match.seats - 1}")
    if at is not None and at > len(record.moves):
        raise BadOption(
            f"move {at} does not exist; the game has {showing.numbered(len(record.moves), 'move')}"
        )
    if at is not None:
        _print_position(record, at, seat, as_json)
    elif as_json:
        output.document("replay", record.to_dict())
    else:
        _print_record(record)


def _list_matches(store: Store, as_json: bool) -> None:
    """List the matches of a store."""
    found: list[dict[str, Any]] = [
        {
            "match": number,
            "game": m.game,
            "agents": list(m.agents),
            "seed": m.seed,
            "deals": deals,
            "code": code,
        }
        for number, m, code, deals in store.matches(left_out=lambda why: output.warn(f"left out: {why}"))
    ]
    if as_json:
        output.document("matches", {"matches": found})
        return
    rows = [
        [f"{f['match']}: {' – '.join(f['agents'])}", f["game"], str(f["seed"]), f"{f['deals']:,}", f["code"]]
        for f in found
    ]
    output.print_table(["match", "game", "seed", "deals", "code"], rows)


def _print_position(record: Record, at: int, seat: int | None, as_json: bool) -> None:
    """Print the position before a move, and the move: as a seat saw them, or with all hands open."""
    before = record.moves[at - 1]
    shown = before.state.open_view(before.seat) if seat is None else before.state.view(seat)
    told = before.text
    if seat is not None:
        told = record.match.rules.tell(before.state.record, before.move, seat)
    if as_json:
        about = {"at": at, "seat": before.seat, "agent": before.agent, "move": told or None}
        output.document("position", {**about, "seen_by": seat, "position": str(shown)})
    else:
        print(shown)
        does = f"plays {told}" if told else "decides in secret"
        print(f"\nmove {at}: seat {before.seat} ({showing.in_one_line(before.agent)}) {does}")


def _print_record(record: Record) -> None:
    """Print a game: all its moves, and its score."""
    where = "moves as kept" if record.is_kept else "not kept: the same agents played it again"
    game = showing.in_one_line(record.match.game)
    print(f"{game}, seed {record.match.seed}, deal {record.deal}, seating {record.seating}; {where}")
    for number, move in enumerate(record.moves, 1):
        print(showing.in_one_line(f"{number:>4}  seat {move.seat}  {move.text:<6} {move.agent}"))
    print("score " + " – ".join(f"{score:g}" for score in record.end.returns()) + ", as in the store")
