"""`kibitz play` and `kibitz serve`: people play against agents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from kibitz.cli import output
from kibitz.cli.options import GameArgument
from kibitz.errors import BadOption, quoted


def play(
    game: GameArgument = "briskola",
    seat: Annotated[
        str | None,
        typer.Option(help="Your seat, by number or name (default: the first; in bridge, declarer's)."),
    ] = None,
    agent: Annotated[list[str] | None, typer.Option(help="Agent in another seat (repeatable).")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Number of the deal (default: a new one).")] = None,
    hint: Annotated[
        str | None,
        typer.Option(
            help="Agent that gives hints (default: expert if the game has one).", show_default=False
        ),
    ] = None,
) -> None:
    """Play against agents in the terminal.

    In bridge the contract is set by the cards unless you name one (bridge:strain=spades,level=4).

    Example: kibitz play briskola --agent expert
    """
    from kibitz import games, terminal

    output.story()
    loaded = games.load_for_play(game)
    best = "expert" if loaded.expert else "ismcts:5000"
    number = int.from_bytes(os.urandom(4), "big") if seed is None else seed
    terminal.play(loaded, _seat_of(loaded, seat), agent or [best], number, hint or best)


def _seat_of(game: Any, given: str | None) -> int | None:
    """The seat that was named or numbered; None if none was."""
    if given is None:
        return None
    names = [game.seat_name(seat) for seat in range(game.seats)]
    known = {name.lower(): seat for seat, name in enumerate(names)}
    known |= {str(seat): seat for seat in range(game.seats)}
    if given.strip().lower() not in known:
        own = "" if "seat_name" in game.defaulted else f"{', '.join(names)}, or "
        raise BadOption(f"there is no seat {quoted(given)}; the seats are {own}0 to {game.seats - 1}")
    return known[given.strip().lower()]


def serve(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8477,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 lets other computers connect.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None, typer.Option(help="Additional host name to accept (repeatable).")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Folder for the tables (default: in your data folder).")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="Store shown in the laboratory (default: yours, if only this computer can connect)."
        ),
    ] = None,
    games: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files of your own games, such as my_game.py, to offer besides the installed ones."
        ),
    ] = None,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in your browser.")] = False,
    proxy: Annotated[
        str,
        typer.Option(help="Address of a reverse proxy that passes on the clients' addresses."),
    ] = "",
    pause: Annotated[
        float,
        typer.Option(
            min=0.1, max=60.0, help="Seconds after each play in which a bomb may be played (Tichu)."
        ),
    ] = 2.0,
) -> None:
    """Open a card table in the browser, for people and agents.

    Example: kibitz serve --port 8477
    """
    from kibitz import games as registry
    from kibitz import specs
    from kibitz.arena.store import default_store
    from kibitz.errors import needs

    with needs("The table in the browser", "web"):
        from kibitz.web import server
        from kibitz.web.limits import Limits
    output.story()
    for file in games or ():
        if not specs.is_file(file):
            raise BadOption(
                f"'{file}' is not a file of a game, such as my_game.py; installed games need not be named"
            )
        registry.make_known(file)
    is_private = host in ("127.0.0.1", "::1", "localhost")
    shown = store or (default_store() if is_private else None)
    limits = Limits(window_seconds=pause)
    tables = folder or default_store().parent / "tables"
    server.serve(
        tables,
        host,
        port,
        names=tuple(name or ()),
        limits=limits,
        store=shown,
        proxy=proxy,
        opens=opens,
    )
