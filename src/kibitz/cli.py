"""The command line: verbs, no logic. Heavy modules are loaded by the verb that needs them."""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kibitz import __version__, ending, showing, specs
from kibitz.errors import BadOption, KibitzError, Unwritable, quoted

if TYPE_CHECKING:
    from kibitz.terminal import Story

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Play, search and measure card games. Games and agents are written as strings such as "
    "'briskola:seats=4' and 'ismcts:5000,c=0.7'; `kibitz games` and `kibitz agents` list them.",
)

_MOST = 10**9
"""Games, moves: more than anybody waits for, and far from what 64 bits cannot hold."""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed: the same seed gives the same result.")]
Quick = Annotated[bool, typer.Option("--quick", help="Play few games: minutes instead of an hour.")]
Scale = Annotated[float | None, typer.Option(help="Games to play, as a multiple of the published number.")]
ExperimentSeed = Annotated[
    int | None, typer.Option("--seed", min=0, help="Seed (default: the experiment's own).")
]
Jobs = Annotated[int | None, typer.Option(help="Worker processes (default: all cores).")]
Ray = Annotated[
    str | None,
    typer.Option("--ray", help="Play on this Ray cluster: auto, or an address such as 10.0.0.1:6379."),
]
OnGpu = Annotated[bool, typer.Option("--gpu", help="Use a GPU for the matches in which no agent searches.")]
StoreOption = Annotated[
    Path | None, typer.Option("--store", help="Store for the results (default: in your data folder).")
]
StoreArgument = Annotated[Path | None, typer.Argument(help="Store to read (default: your own).")]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust", help="Run the files that the data names, after listing them (default: run none)."
    ),
]
Moves = Annotated[bool, typer.Option("--moves", help="Also store the moves of every game.")]


def _own_name(game: str | None) -> str | None:
    """The string with the game's own name, for `oh-hell` or `Bridge`."""
    from kibitz import games as registry

    return game and registry.canonical(game)


GameArgument = Annotated[
    str,
    typer.Argument(help="A game, such as briskola, briskola:seats=4 or my_game.py.", callback=_own_name),
]


def _document(kind: str, content: dict[str, Any]) -> None:
    """Print the one JSON document of a verb."""
    whole = {"schema": f"kibitz.{kind}/1", "kibitz": __version__, **content}
    print(json.dumps(_finite(whole), indent=1, allow_nan=False))


def _finite(content: Any) -> Any:
    """JSON knows no infinity: what is not known is null."""
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _allow(files: dict[str, frozenset[str]]) -> None:
    """List the files that data name, then let them run; one that has changed since is refused."""
    from kibitz import trust

    digests = {file: trust.digest(file) for file in files}
    for file, recorded in files.items():
        about = "no such file" if not digests[file] else f"sha256 {digests[file][:16]}…"
        about += ", as recorded" if digests[file] in recorded else ""
        helpers = trust.helpers(file)
        about += f"; with {', '.join(map(quoted, helpers))} beside it" if helpers else ""
        _warn(f"--trust: {quoted(file, 300)} ({about})")
    if not files:
        _warn("--trust: the data names no file")
    for file, recorded in files.items():
        if digests[file]:
            trust.allow_file(file, recorded)


def _story(tells_compiled: bool = True) -> Story:
    """Tell on standard error what happens while one waits."""
    from kibitz import kernel, terminal

    story = terminal.Story(tells_compiled)
    kernel.compile_report = story.compiling
    return story


def _table(columns: list[str], rows: list[list[str]], title: str = "") -> None:
    """Print a table; the first column is text, the others are numbers. Headings of wide ones are broken."""
    from textwrap import wrap

    from rich.console import Console
    from rich.table import Table

    columns, *rows = [list(map(showing.in_one_line, line)) for line in (columns, *rows)]
    out, is_terminal = showing.as_it_was(sys.stdout), sys.stdout.isatty()
    console = Console(
        file=out, highlight=False, markup=False, emoji=False, width=None if is_terminal else 140
    )
    cells = [max([0, *map(len, column)]) for column in zip(*rows, strict=True)] or [0] * len(columns)

    def width(headings: list[list[str]]) -> int:
        return sum(max(n, *map(len, lines)) + 2 for lines, n in zip(headings, cells, strict=True)) - 2

    headings = [[column] for column in columns]
    if width(headings) > console.width:
        headings = [wrap(column, max(12, n)) or [""] for column, n in zip(columns, cells, strict=True)]
    if not is_terminal:
        console.width = max(console.width, width(headings))
    table = Table(title=showing.visible(title) or None, title_justify="left", box=None, pad_edge=False)
    table.add_column(columns[0], overflow="fold", vertical="bottom")
    for column, lines in zip(columns[1:], headings[1:], strict=True):
        justify: Literal["left", "right"] = "left" if column == "verdict" else "right"
        table.add_column("\n".join(lines), justify=justify, no_wrap=True, vertical="bottom")
    for row in rows:
        table.add_row(*row)
    console.print(table)


@app.command()
def games(
    name: Annotated[
        str | None, typer.Argument(help="Explain the parameters of this game.", callback=_own_name)
    ] = None,
    as_json: Json = False,
) -> None:
    """List the games and their parameters, or explain one game's.

    Example: kibitz games briskola
    """
    from kibitz import games as room
    from kibitz import trust
    from kibitz.errors import UnknownName

    if name is not None and specs.is_file(name):
        trust.allow(name)
    elif name is not None and name not in room.known():
        raise UnknownName("game", name, room.known())
    found: list[dict[str, Any]] = []
    for each in [name] if name else room.known():
        cls = room.game_class(each)
        options = [
            {"name": o.name, "default": o.default, "takes": o.takes, "help": o.help}
            for o in room.parameters(cls).values()
        ]
        about = room.about(cls)
        expert = getattr(cls, "expert", None)
        found.append({"name": each, "about": about, "parameters": options, "expert": expert})
    if as_json:
        _document("games", {"games": found})
        return
    for game in found:
        print(f"{game['name']}: {game['about']}")
        for o in game["parameters"]:
            meaning = f"  {o['help']}" if name and o["help"] else ""
            print(f"    {o['name']}={_value(o['default'])}{meaning}  ({o['takes']})")
        if game["expert"]:
            print(f"    expert is {game['expert']}")


def _value(value: Any) -> str:
    """The value of an option as one would type it."""
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


@app.command()
def agents(
    name: Annotated[str | None, typer.Argument(help="Show the options of this agent.")] = None,
    as_json: Json = False,
) -> None:
    """List the agents, or show the options of one.

    Example: kibitz agents ismcts
    """
    from kibitz.agents import SETTINGS
    from kibitz.errors import UnknownName

    if name is not None and name not in SETTINGS:
        raise UnknownName("agent", name, SETTINGS)
    found: dict[str, dict[str, Any]] = {}
    for each in [name] if name else SETTINGS:
        setting = SETTINGS[each]
        options = {
            o.name: {"value": setting.values.get(o.name, o.default), "takes": o.takes, "help": o.help}
            for o in setting.options().values()
        }
        found[each] = {"about": setting.help, "options": options}
    if as_json:
        _document("agents", {"agents": found})
        return
    width = max(map(len, found))
    for each, about in found.items():
        print(f"{each:<{width}}  {about['about']}")
        if name:
            for option, o in about["options"].items():
                print(f"    {option}={_value(o['value'])}  {o['help']} ({o['takes']})")


@app.command()
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
    from kibitz import games as room
    from kibitz import terminal

    _story()
    loaded = room.load_for_play(game)
    best = "expert" if loaded.expert else "ismcts:5000"
    number = int.from_bytes(os.urandom(4), "big") if seed is None else seed
    terminal.play(loaded, _seat_of(loaded, seat), agent or [best], number, hint or best)


def _seat_of(game: Any, given: str | None) -> int | None:
    """The seat that a person means."""
    if given is None:
        return None
    names = [game.seat_name(seat) for seat in range(game.seats)]
    known = {name.lower(): seat for seat, name in enumerate(names)}
    known |= {str(seat): seat for seat in range(game.seats)}
    if given.strip().lower() not in known:
        own = "" if "seat_name" in game.defaulted else f"{', '.join(names)}, or "
        raise BadOption(f"there is no seat {quoted(given)}; the seats are {own}0 to {game.seats - 1}")
    return known[given.strip().lower()]


@app.command()
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
    from kibitz import games as room
    from kibitz.arena.store import default_store
    from kibitz.errors import needs

    with needs("The table in the browser", "web"):
        from kibitz.web import server
        from kibitz.web.limits import Limits
    _story()
    for file in games or ():
        if not specs.is_file(file):
            raise BadOption(
                f"'{file}' is not a file of a game, such as my_game.py; installed games need not be named"
            )
        room.make_known(file)
    is_private = host in ("127.0.0.1", "::1", "localhost")
    shown = store or (default_store() if is_private else None)
    limits = Limits(window_seconds=pause)
    tables = folder or default_store().parent / "tables"
    server.serve(tables, host, port, tuple(name or ()), limits, shown, proxy, opens)


@app.command()
def match(
    game: GameArgument,
    agents: Annotated[
        list[str], typer.Argument(help="One agent per seat or team; the last one fills the rest.")
    ],
    n_games: Annotated[
        int, typer.Option("--games", max=_MOST, help="Number of games, rounded up to whole deals.")
    ] = 100,
    seed: Seed = 0,
    jobs: Annotated[int | None, typer.Option(help="Worker processes (default: 1).")] = None,
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided", help="Stop once it is clear who is better, at the latest after --games."
        ),
    ] = False,
    store: Annotated[
        Path | None, typer.Option(help="Store results in this file; deals already in it are not replayed.")
    ] = None,
    moves: Moves = False,
    ray: Ray = None,
    on_gpu: OnGpu = False,
    as_json: Json = False,
) -> None:
    """Play agents against each other and tell who is better.

    Every deal is played once in each seating, so that luck with the cards evens out.

    Example: kibitz match briskola ismcts:2000 random --games 200 --jobs 2
    """
    from kibitz.arena import match as arena

    if moves and store is None:
        raise BadOption("--moves keeps the moves in a store; name one with --store")
    story = _story()
    result = arena.match(
        *(game, agents, n_games, seed, jobs, story.progress("games"), store, ray, until_decided, moves),
        on_gpu,
    )
    story.close()
    if as_json:
        _document("match", result.to_dict())
    else:
        _print_match(result)
    if not result.complete:
        raise typer.Exit(130)


def _print_match(result: Any) -> None:
    ended = "" if result.complete else ", interrupted: what was finished"
    deals = f"{result.deals} deal{'' if result.deals == 1 else 's'}"
    title = (
        f"{result.game}: {result.games} games on {deals}, seed {result.seed}, {result.seconds:.1f} s{ended}"
    )
    rows = [
        [
            *(a.spec, str(a.wins), str(a.draws), a.win_rate.text(100, 1)),
            *(a.win_rate_decided.text(100, 1), a.points.text()),
            *(share.text(100, 1) for share in a.shares.values()),
        ]
        for a in result.agents
    ]
    columns = ["agent", "wins", "draws", "% won (95 %)", "% of decided", "points per game"]
    columns += [f"% {share.replace('_', ' ')}" for share in result.agents[0].shares]
    if len({agent.games for agent in result.agents}) > 1:  # one against three, say: each seat plays a game
        columns.insert(1, "games")
        for agent, row in zip(result.agents, rows, strict=True):
            row.insert(1, f"{agent.games:,}")
    _table(columns, rows, title)
    if len(result.agents) == 1:
        print("An agent against itself shows nothing of its strength: give a second one.")
    for agent, difference in zip(result.agents[1:], result.differences, strict=True):
        print(
            f"{result.agents[0].spec} less {agent.spec}: {difference.text()} points per game, paired by deal"
        )
    if result.decided is not None:
        print("decided" if result.decided else "not decided", f"after {result.deals} deals")


@app.command()
def advise(
    game: GameArgument,
    position: Annotated[
        str,
        typer.Argument(
            help="The deal and the moves so far, '7' or '7: 3C 2D', or the game's own notation, in bridge "
            "'evening.pbn#3'."
        ),
    ],
    agent: Annotated[
        str | None,
        typer.Option(
            help="Agent to ask (default: expert if the game has one, else ismcts:10000).", show_default=False
        ),
    ] = None,
    knowing: Annotated[
        str, typer.Option(help="What is known besides the cards, in bridge 'N: hcp 15-17, spades 5+'.")
    ] = "",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Show an agent's choice and the value of every legal move.

    Example: kibitz advise briskola "7: 12D" --agent ismcts:5000
    """
    from kibitz import games as room
    from kibitz.agents import make_agent
    from kibitz.errors import ParseError, Unsupported
    from kibitz.position import read_position

    story = _story()
    loaded = room.load(game)
    state = read_position(loaded, position)
    if state.is_over:
        raise ParseError(f"the game {quoted(position)} is over: there is nothing to advise")
    if knowing:
        state.game.note(state.record, knowing)
    asked = agent or ("expert" if loaded.expert else "ismcts:10000")
    adviser = make_agent(asked, state.game)
    if adviser.cheating:
        raise Unsupported(
            "advice is given from what the seat can see; choose an agent that does not cheat, or search the "
            "deal with all cards open: kibitz solve … --open"
        )
    if hasattr(adviser, "progress"):
        adviser.progress = story.progress("worlds")
    view = state.view()
    adviser.start(view.game, view.seat)
    found = adviser.advise(view, seed)
    story.close()
    if as_json:
        _document("advise", {"game": game, "position": position, **found.to_dict()})
    else:
        print(view, found, sep="\n\n")


SearchArgument = Annotated[
    str,
    typer.Argument(help="A tree file such as my.tree, an example tree, or a game.", callback=_own_name),
]
SearchPosition = Annotated[
    str, typer.Argument(help="In a game: the deal and the moves so far, '0: e3 d3' (default: the start).")
]
Depth = Annotated[
    int | None, typer.Option(min=1, max=_MOST, help="Moves to look ahead (default: to the end).")
]
Algorithm = Annotated[
    list[str] | None, typer.Option(help="Algorithm to run (repeatable; default: all that fit).")
]
Quiescence = Annotated[int, typer.Option(min=0, help="Moves to search beyond the depth while not quiet.")]
Decided = Annotated[
    float | None,
    typer.Option(min=0, help="Stop at positions evaluated at least this far from an even score."),
]
Keep = Annotated[int, typer.Option(min=0, help="Search only the N most urgent moves (0: all).")]
KeepFrom = Annotated[int, typer.Option(min=0, help="Apply --keep from this depth on.")]
Open = Annotated[bool, typer.Option("--open", help="Search the deal with all cards face up.")]


@app.command()
def solve(
    game: SearchArgument,
    position: SearchPosition = "",
    depth: Depth = None,
    algorithm: Algorithm = None,
    quiet: Quiescence = 0,
    decided: Decided = None,
    keep: Keep = 0,
    keep_from: KeepFrom = 0,
    nodes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Positions after which an algorithm gives up (default: 20 million; 20,000 in an OpenSpiel "
            "game).",
        ),
    ] = None,
    time: Annotated[
        str, typer.Option(help="Let every algorithm search deeper and deeper for this time, such as 2s.")
    ] = "",
    is_open: Open = False,
    as_json: Json = False,
) -> None:
    """Solve a tree, a game or bridge boards exactly.

    Minimax, alpha-beta and the other algorithms are compared side by side. Bridge boards are solved with
    all hands open unless one of these options is given: the 20 results, par, and the value of every card.

    Example: kibitz solve two-plies
    """
    options = (depth, algorithm, quiet, decided, keep, keep_from, nodes, time, is_open)
    if specs.split(game)[0] == "bridge" and not any(options):
        _solve_bridge(game, position, as_json)
        return
    from kibitz.search import solver

    seconds = _seconds(time) if time else math.inf
    story = _story()
    wanted = solver.subject(game, position, is_open)
    changes = {"quiet": quiet, "decided": decided or math.inf, "keep": keep, "keep_from": keep_from}
    chosen = {name: solver.algorithm(name, **changes) for name in algorithm or wanted.names()}
    for settings in chosen.values():
        settings.check(wanted.game, is_open=True)
    most = nodes or wanted.most
    limits = solver.Limits(depth or solver.TO_THE_END, math.inf if time and not nodes else most, seconds)
    found = solver.compare(wanted, chosen, limits, story.progress("algorithms"))
    story.close()
    if as_json:
        rows = [solver.to_dict(wanted, wanted.title(name), each) for name, each in found.items()]
        _document("search", {"game": game, "position": position, "depth": depth, "algorithms": rows})
        return
    _table(*solver.table(wanted, found))
    if not all(each.is_finished for each in found.values()):
        print(f"– is not finished after {most:,} positions; give a --depth, a --time, or more --nodes")


def _seconds(time: str) -> float:
    """The seconds that `--time` asks for."""
    seconds = specs.parse_duration(time)
    if seconds is None:
        raise BadOption(f"--time {quoted(time)[1:-1]} cannot be used: it is a time such as 200ms, 1.5s or 1m")
    return seconds


def _solve_bridge(game: str, position: str, as_json: bool) -> None:
    from kibitz import games as room
    from kibitz.games.bridge import solution

    loaded = room.load(game)
    if not position:
        raise BadOption("say which board: a deal, such as 7 or 'N:AK….… … … …', or a .pbn or .lin file")
    story = _story()
    boards, faults = solution.sorted_out(solution.each_board_of(loaded, position))
    if not boards:
        raise faults[0].error
    solved = solution.solve(boards, story.progress("boards"), solution.contract_in(loaded, game))
    story.close()
    if as_json:
        left_out = [str(fault.error) for fault in faults]
        answer = {"boards": [s.to_dict() for s in solved], "left_out": left_out}
        _document("solve", {"game": game, "position": position, **answer})
    else:
        print("\n\n".join(map(str, solved)))
    for fault in faults:
        _warn(f"left out: {fault.error}")
    if faults:
        raise typer.Exit(3)


@app.command()
def tree(
    game: Annotated[
        str | None,
        typer.Argument(
            help="A tree file, an example tree, or a game (default: list the examples).",
            callback=_own_name,
        ),
    ] = None,
    position: SearchPosition = "",
    algorithm: Annotated[
        str, typer.Option(help="Algorithm (default: alphabeta, or max^n with more than two sides).")
    ] = "",
    depth: Depth = None,
    quiet: Quiescence = 0,
    decided: Decided = None,
    keep: Keep = 0,
    keep_from: KeepFrom = 0,
    is_open: Open = False,
    out: Annotated[Path | None, typer.Option(help="Write a picture (.svg) instead of the text.")] = None,
    steps: Annotated[
        Path | None, typer.Option(help="Write a page (.html) with one picture per step of the search.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw how an algorithm searches a small tree.

    The drawing shows values, the windows of α and β, and what was pruned and why; at most 400 nodes.

    Example: kibitz tree three-plies --algorithm alphabeta --out tree.svg
    """
    from kibitz import drawing
    from kibitz.games.tree import text
    from kibitz.search import solver

    if game is None:
        if as_json:
            _document("trees", {"trees": text.examples()})
        else:
            width = max(map(len, text.examples()))
            print("\n".join(f"{name:<{width}}  {about}" for name, about in text.examples().items()))
        return
    for option, path, suffix in (("--out", out, ".svg"), ("--steps", steps, ".html")):
        if path is not None:
            if path.suffix.lower() != suffix:
                raise BadOption(f"{option} {path} cannot be used: a name that ends in {suffix} is right")
            _must_be_writable(path)
    _story()
    wanted = solver.subject(game, position, is_open)
    how = algorithm or wanted.usual
    changes = {"quiet": quiet, "decided": decided or math.inf, "keep": keep, "keep_from": keep_from}
    drawn = drawing.draw(wanted, solver.algorithm(how, **changes), depth)
    if out is not None:
        out.write_text(drawn.svg(), encoding="utf-8")
    if steps is not None:
        steps.write_text(drawn.page(), encoding="utf-8")
    if as_json:
        about = solver.to_dict(wanted, wanted.title(how), drawn.found)
        _document("tree", {"game": game, "position": position, **about, "steps": drawn.trace()})
    elif out is None and steps is None:
        print(drawn.text())
    else:
        print(", ".join(str(path) for path in (out, steps) if path is not None))


@app.command()
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

    _must_be_writable(out)
    _must_be_new(out, force)
    games = sequences.convert(source, out, _allow if trust else None)
    if as_json:
        _document("convert", {"boards": games, "file": str(out)})
    else:
        print(f"{games} game{'s' * (games != 1)}: {out}")


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Published results to measure (default: all).")
    ] = None,
    headlines: Annotated[
        bool, typer.Option("--headlines", help="Measure three results of each document, in a minute or two.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Measure all published results, in hours.")] = False,
    quick: Quick = False,
    scale: Scale = None,
    seed: ExperimentSeed = None,
    jobs: Jobs = None,
    ray: Ray = None,
    on_gpu: OnGpu = False,
    store: StoreOption = None,
    out: Annotated[Path, typer.Option(help="Page to write.")] = Path("report.html"),
    as_json: Json = False,
) -> None:
    """Measure published results again and compare the figures.

    Without names and size, list the published results with their state and cost.

    Example: kibitz reproduce karamatic --quick
    """
    from kibitz import experiments, report

    if headlines and (names or quick or full or scale is not None):
        raise BadOption(
            "--headlines is a size and a choice of its own; give it without names and other sizes"
        )
    if full and (names or quick or scale is not None):
        raise BadOption("--full measures all published results; give it without names and other sizes")
    chosen = (experiments.HEADLINES,) if headlines else names or experiments.PUBLISHED
    wanted = [experiments.published(name) for name in chosen]
    if not (names or headlines or full or quick or scale is not None):
        _list_published(wanted, store, as_json)
        return
    _must_be_writable(out)
    command = ["kibitz", "reproduce"]
    story = _story(tells_compiled=not headlines)
    part = (0.0, 1 - _WARMING) if headlines else (0.0, 1.0)
    results = _run_experiments(
        wanted, command, quick, scale, seed, jobs, ray, store, on_gpu=on_gpu, story=story, part=part
    )
    out.write_text(report.page(results), encoding="utf-8")
    if headlines:
        _warm([wanted[0].game], jobs, story, (1 - _WARMING, 1.0))  # what is suggested below starts at once
    if as_json:
        rows = [row.to_dict() for r in results for row in r.rows]
        _document(
            "reproduce", {"rows": rows, "experiments": [r.to_dict() for r in results], "page": str(out)}
        )
        return
    _print_results(results)
    print(f"\nThe page with figures: {out}\n\nTry next:")
    program = "kibitz" if shutil.which("kibitz") else sys.argv[0]  # not on the path: as it was called
    program = f"{sys.executable} -m kibitz" if Path(program).name == "__main__.py" else program
    for command_line in experiments.next_steps(wanted[-1].game):
        print(f"  {command_line.replace('kibitz', program, 1)}")
    print(f"\nEverything else: {program} reproduce --full")


_WARMING = 0.1
"""The share of the time of --headlines that is for compiling what it suggests next."""


def _list_published(wanted: list[Any], store: Path | None, as_json: bool) -> None:
    """What there is, whether it was run, and what it costs."""
    from kibitz import experiments
    from kibitz.arena.store import default_store
    from kibitz.experiments.verdicts import NOT_MEASURED

    path = store or default_store()
    known = {}
    if path.exists():
        with _open_to_read(path) as opened:
            for e in wanted:
                if e.name in opened.experiments(_warn):
                    try:
                        (known[e.name],) = experiments.results(opened, [e.name])
                    except KibitzError as error:
                        _warn(f"{e.name} in {path} cannot be read: {error}")
    cores = os.cpu_count() or 1
    found = []
    for e in wanted:
        costs = {
            "quick": (e.quick_core_seconds or e.core_seconds * e.factor(None, True)) / cores,
            "published": e.core_seconds * e.factor(1.0, False) / cores,
            "full": e.core_seconds / cores,
        }
        state = known[e.name].state if e.name in known else NOT_MEASURED
        games = known[e.name].games if e.name in known else 0
        about = {"name": e.name, "title": e.title, "source": e.source}
        found.append({**about, "state": state, "games": games, "seconds": costs})
    if as_json:
        _document("published", {"store": str(path), "cores": cores, "published": found})
        return
    rows = [
        [
            *(f"{f['name']}: {f['title']}", f["state"], f"{f['games']:,}"),
            *(_duration(seconds) for seconds in f["seconds"].values()),
        ]
        for f in found
    ]
    _table(["published result", "state", "games", "--quick", "--scale 1", "in full"], rows)
    print(f"\nTimes are for the {cores} cores of this machine, from core seconds measured on another one.")
    print("kibitz reproduce NAME runs one in full; with --quick all are run with few games.")


def _run_experiments(
    wanted: list[Any],
    command: list[str],
    quick: bool,
    scale: float | None,
    seed: int | None,
    jobs: int | None,
    ray: str | None,
    store: Path | None,
    moves: bool = False,
    on_gpu: bool = False,
    story: Story | None = None,
    part: tuple[float, float] = (0.0, 1.0),
) -> list[Any]:
    """Run experiments into a store, with a bar for each, or a part of one that goes on afterwards."""
    from kibitz import experiments
    from kibitz.arena.executors import executor

    _check_size(scale, quick)
    wanted = [replace(e, is_quick=quick) for e in wanted]
    for e in wanted:
        experiments.planned(e, e.factor(scale, quick), seed)  # what is wrong is said before a store is made
    story = story or _story()
    results = []
    with executor(jobs, ray, on_gpu) as workers, _open_store(store) as opened:
        for e in wanted:
            words = list(command)
            if command[-1] == "reproduce":
                words += ["--headlines"] if e.name == experiments.HEADLINES else [e.name]
            words += ["--quick"] * quick + ([f"--scale={scale:g}"] if scale is not None else [])
            words += [f"--seed={seed}"] if seed is not None else []
            words += [f"--store={store}"] if store is not None else []
            bar = story.progress(e.name, in_seconds=True, part=part)
            factor = e.factor(scale, quick)
            old = experiments.games_of_other_code(e, opened, factor, seed)
            if old:
                _warn(
                    f"{old:,} games of these matches were played by rules or agents that have changed since; "
                    f"they stay in the store, but do not count"
                )
            try:
                results.append(
                    experiments.run(
                        e, opened, workers, factor, seed, shlex.join(words), keep_moves=moves, work=bar
                    )
                )
            except KeyboardInterrupt:
                story.close()
                _warn(
                    f"interrupted; what was finished is kept in {opened.path}, and the same command plays "
                    f"the rest"
                )
                raise typer.Exit(130) from None
            except BaseException:
                story.close()  # the error is told where the bar was
                raise
            if part[1] == 1:
                story.close()
    return results


def _warn(text: str) -> None:
    print(f"kibitz: {showing.in_one_line(text)}", file=sys.stderr)


def _check_size(scale: float | None, quick: bool) -> None:
    if quick and scale is not None:
        raise BadOption("--quick and --scale are two sizes; give one of them")
    if scale is not None and not 0 < scale <= 1000:
        raise BadOption(f"--scale {scale} cannot be used; give a number above 0, up to 1000")


def _open_store(path: Path | None) -> Any:
    """The store that was named, or the one in the user's data folder."""
    from kibitz.arena.store import Store, default_store

    if path is None:
        path = default_store()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unwritable(
                f"{path.parent} cannot be made ({error.strerror}); name a store with --store"
            ) from error
    return Store(path)


_MOST_LINES = 60
"""A table with more of them is counted, not printed."""


def _print_results(results: list[Any]) -> None:
    from kibitz import report

    for result in results:
        if result.experiment.question:
            print(f"{showing.in_one_line(result.experiment.question)}\n")
        if result.summary:
            for sentence in result.summary:
                print(_bullet(sentence))
            print()
        tables = report.tables_of(result)
        if tables and tables[0].title:
            print(f"{showing.in_one_line(result.title)}\n")
        for table in (*tables, *result.tables):
            if len(table.rows) > _MOST_LINES:
                counted = Counter(row.verdict for row in result.rows if row.table == table.title)
                verdicts = ", ".join(f"{n} {words}" for words, n in counted.most_common())
                print(showing.in_one_line(table.title or result.title))
                print(f"{len(table.rows)} results (--json lists them): {verdicts}\n")
                continue
            _table(table.columns, table.rows, showing.in_one_line(table.title or result.title))
            print()
        for sentence in result.findings:
            print(_bullet(sentence))
        played = (
            "all from the store"
            if result.games_played == 0
            else f"{_duration(result.core_seconds)} of one core"
        )
        print(f"{showing.numbered(result.games, 'game')}, {played}")


def _bullet(sentence: str) -> str:
    """A sentence in a list; on a terminal its lines end between words."""
    from textwrap import fill

    text = f"• {showing.in_one_line(sentence)}"
    if not sys.stdout.isatty():
        return text
    return fill(text, shutil.get_terminal_size().columns, subsequent_indent="  ", break_on_hyphens=False)


def _answer(kind: str, results: list[Any], out: Path | None, as_json: bool) -> None:
    """What one experiment has shown, as asked for: page, JSON or text."""
    from kibitz import report

    if out is not None:
        out.write_text(report.page(results, "Measured"), encoding="utf-8")
        _warn(f"the page with figures is {out}")
    if as_json:
        _document(kind, results[0].to_dict())
    else:
        _print_results(results)


def _open_to_read(path: Path) -> Any:
    """A store to look at; whatever it lacks is said."""
    from kibitz.arena.store import Store

    store = Store(path, read_only=True)
    if store.incomplete:
        _warn(store.incomplete)
    return store


def _duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


laboratory = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Run your own experiments.")
app.add_typer(laboratory, name="experiment")


@laboratory.command("run")
def run_experiment(
    file: Annotated[Path, typer.Argument(help="Description of the experiment (TOML).")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Play only a short probe, to show how many games and how long.")
    ] = False,
    quick: Quick = False,
    scale: Scale = None,
    seed: ExperimentSeed = None,
    jobs: Jobs = None,
    ray: Ray = None,
    on_gpu: OnGpu = False,
    store: StoreOption = None,
    moves: Moves = False,
    out: Annotated[Path | None, typer.Option(help="Also write a page with figures.")] = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Run an experiment and answer its questions.

    Games that are already in the store are not played again.

    Example: kibitz experiment run budget.toml --dry-run
    """
    from kibitz import experiments

    experiment = experiments.read_file(file, _allow if trust else None)
    if dry_run:
        _check_size(scale, quick)
        experiment = replace(experiment, is_quick=quick)
        _dry_run(experiment, experiment.factor(scale, quick), seed, jobs, store, as_json)
        return
    if out is not None:
        _must_be_writable(out)
    command = ["kibitz", "experiment", "run", str(file)]
    results = _run_experiments([experiment], command, quick, scale, seed, jobs, ray, store, moves, on_gpu)
    _answer("experiment", results, out, as_json)


def _dry_run(
    experiment: Any, factor: float, seed: int | None, jobs: int | None, store: Path | None, as_json: bool
) -> None:
    from kibitz import experiments
    from kibitz.arena.store import Store, default_store

    path = store or default_store()
    if jobs is not None and jobs < 1:
        raise BadOption(f"{jobs} jobs cannot work; give at least 1")
    story = _story()
    with _open_to_read(path) if path.exists() else Store() as opened:
        found = experiments.dry_run(experiment, opened, factor, seed, story.progress("probe"))
    story.close()
    workers = jobs or os.cpu_count() or 1
    core_seconds = sum(f.core_seconds for f in found)
    content = {
        "games": sum(f.games for f in found),
        "games_in_store": sum(f.games_in_store for f in found),
        "core_seconds": core_seconds,
        "workers": workers,
        "seconds": core_seconds / workers,
        "matches": [{**vars(f), "core_seconds": f.core_seconds} for f in found],
    }
    if as_json:
        _document("dry-run", content)
        return
    rows = [
        [
            f.match,
            f"{f.games:,}",
            f"{f.games_in_store:,}",
            f"{f.milliseconds_a_game:.3g}" if f.core_seconds else "–",
            _duration(f.core_seconds),
        ]
        for f in found
    ]
    _table(["match", "games", "in the store", "ms a game", "core time left"], rows)
    print(
        f"{content['games']:,} games, of which {content['games_in_store']:,} are in the store; "
        f"about {_duration(core_seconds / workers)} with {workers} processes"
    )


@app.command()
def tournament(
    game: GameArgument,
    agents: Annotated[list[str], typer.Argument(help="At least two agents.")],
    n_games: Annotated[int, typer.Option("--games", min=1, help="Games per pair of agents.")] = 100,
    seed: Seed = 0,
    jobs: Jobs = None,
    ray: Ray = None,
    on_gpu: OnGpu = False,
    store: StoreOption = None,
    out: Annotated[Path | None, typer.Option(help="Also write a page.")] = None,
    as_json: Json = False,
) -> None:
    """Rate agents by playing all pairs on the same deals.

    Prints ratings with intervals, and a cross table.

    Example: kibitz tournament briskola random rule-based ismcts:500 --games 200
    """
    from kibitz import experiments

    experiment = experiments.tournament(game, agents, n_games, seed)
    if out is not None:
        _must_be_writable(out)
    command = ["kibitz", "tournament", game, *agents, f"--games={n_games}", f"--seed={seed}"]
    results = _run_experiments([experiment], command, False, None, None, jobs, ray, store, on_gpu=on_gpu)
    _answer("tournament", results, out, as_json)


@app.command("report")
def report_store(
    store: StoreArgument = None,
    experiment: Annotated[list[str] | None, typer.Option(help="Include only this one (repeatable).")] = None,
    out: Annotated[Path | None, typer.Option(help="Page to write (default: report.html).")] = None,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Write Markdown, to standard output or to --out.")
    ] = False,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Write a page on all experiments in a store.

    The page has their questions, tables, figures and commands.

    Example: kibitz report results.db --out report.html
    """
    from kibitz import experiments, report
    from kibitz.arena.store import default_store

    if as_json and (as_markdown or out):
        raise BadOption("--json goes neither with --markdown nor with --out")
    page = out or Path("report.html")
    if out or not (as_json or as_markdown):
        _must_be_writable(page)
    with _open_to_read(store or default_store()) as opened:
        if trust:
            _allow(experiments.files_in(opened))
        results = experiments.results(opened, experiment or [], _warn)
        if not results:
            _warn(
                f"no experiment to show; the matches of the store are listed by `kibitz replay {opened.path}`"
            )
    title = "Published and measured" if any(r.experiment.source for r in results) else "Measured"
    if as_json:
        _document("report", {"experiments": [result.to_dict() for result in results]})
    elif as_markdown and not out:
        print(report.markdown(results, title), end="")
    else:
        page.write_text((report.markdown if as_markdown else report.page)(results, title), encoding="utf-8")
        print(f"{len(results)} experiment{'s' * (len(results) != 1)}: {page}")


@app.command()
def export(
    store: Annotated[Path, typer.Argument(help="Store to read.")],
    out: Annotated[Path, typer.Argument(help="File to write: .csv or .parquet.")],
    as_json: Json = False,
) -> None:
    """Export a store as a table: one row per game and seat.

    Example: kibitz export results.db results.parquet
    """
    from kibitz import records

    _must_be_writable(out)
    story = _story()
    with _open_to_read(store) as opened:
        rows = records.export(opened, out, story.progress("rows"))
    story.close()
    if as_json:
        _document("export", {"rows": rows, "file": str(out)})
    else:
        print(f"{rows:,} rows: {out}")


@app.command()
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

    with _open_to_read(store) as opened:
        if number is None and deal is None and at is None and seat is None:
            _list_matches(opened, as_json)
            return
        if number is None:
            raise BadOption("say which match with --match; without any option they are listed")
        if trust:
            _allow(opened.files([number]))
        record = records.replay(opened, number, deal or 0, seating)
    if seat is not None and at is None:
        raise BadOption("--seat goes with --at: which move shall be seen as the seat saw it?")
    if seat is not None and seat >= record.match.seats:
        raise BadOption(f"there is no seat {seat}; {record.match.game} has 0 to {record.match.seats - 1}")
    if at is not None and at > len(record.moves):
        raise BadOption(f"there is no move {at}; the game has {len(record.moves)}")
    if at is not None:
        before = record.moves[at - 1]
        shown = before.state.open_view(before.seat) if seat is None else before.state.view(seat)
        told = before.text
        if seat is not None:
            told = record.match.rules.tell(before.state.record, before.move, seat)
        if as_json:
            about = {"at": at, "seat": before.seat, "agent": before.agent, "move": told or None}
            _document("position", {**about, "seen_by": seat, "position": str(shown)})
        else:
            print(shown)
            does = f"plays {told}" if told else "decides in secret"
            print(f"\nmove {at}: seat {before.seat} ({showing.in_one_line(before.agent)}) {does}")
    elif as_json:
        _document("replay", record.to_dict())
    else:
        _print_record(record)


def _list_matches(store: Any, as_json: bool) -> None:
    found = [
        {
            "match": number,
            "game": m.game,
            "agents": list(m.agents),
            "seed": m.seed,
            "deals": deals,
            "code": code,
        }
        for number, m, code, deals in store.matches(left_out=lambda why: _warn(f"left out: {why}"))
    ]
    if as_json:
        _document("matches", {"matches": found})
        return
    rows = [
        [f"{f['match']}: {' – '.join(f['agents'])}", f["game"], str(f["seed"]), f"{f['deals']:,}", f["code"]]
        for f in found
    ]
    _table(["match", "game", "seed", "deals", "code"], rows)


def _print_record(record: Any) -> None:
    where = "moves as kept" if record.is_kept else "not kept: the same agents played it again"
    game = showing.in_one_line(record.match.game)
    print(f"{game}, seed {record.match.seed}, deal {record.deal}, seating {record.seating}; {where}")
    for number, move in enumerate(record.moves, 1):
        print(showing.in_one_line(f"{number:>4}  seat {move.seat}  {move.text:<6} {move.agent}"))
    print("score " + " – ".join(f"{score:g}" for score in record.end.returns()) + ", as in the store")


def _must_be_writable(path: Path) -> None:
    """Say so before hours of work, not after; nothing is changed."""
    folder = path.parent
    if path.is_dir():
        raise Unwritable(f"{path} is a folder; give the name of a file")
    if not folder.is_dir():
        raise Unwritable(f"{path} cannot be written: there is no folder {folder}; make it, or choose another")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise Unwritable(f"{path} cannot be written: no permission; choose another with --out")


@app.command()
def learn(
    game: GameArgument,
    agent: Annotated[str, typer.Argument(help="Agent that plays against itself.")],
    out: Annotated[Path, typer.Option(help="Counter file (.npz); an existing one is continued.")],
    rounds: Annotated[int, typer.Option(min=1, help="Total number of games to learn from.")] = 10_000,
    seed: Seed = 0,
    seen: Annotated[
        bool, typer.Option("--seen", help="Count what seats showed by their moves, not what they held.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(help="Worker processes.")] = 1,
    as_json: Json = False,
) -> None:
    """Learn the counters for belief=counters from self-play.

    Example: kibitz learn mini-tichu castelein-mc --rounds 1000 --out counters.npz
    """
    from kibitz.arena import learning

    _must_be_writable(out)
    story = _story()
    learned = learning.learn(game, agent, rounds, out, seed, jobs, story.progress("games"), seen=seen)
    story.close()
    if as_json:
        _document("counters", learned.to_dict())
    else:
        _table(*learned.table())


@app.command()
def bench(
    game: GameArgument = "briskola",
    seconds: Annotated[float, typer.Option(min=0.01, max=3600.0, help="Time per measurement.")] = 0.5,
    on_gpu: Annotated[
        bool, typer.Option("--gpu", help="Compare random games on a GPU with one core.")
    ] = False,
    peers: Annotated[
        bool,
        typer.Option(
            "--peers", help="Compare with OpenSpiel and DDS instead, on the games they share with Kibitz."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure the speed of playouts, search, threads and start-up.

    If a C compiler is found, the speed is also compared with C.

    Example: kibitz bench briskola
    """
    story = _story()
    if peers:
        from kibitz import peers as others

        found = others.measure(seconds, story.progress("rounds"))
        story.close()
        if as_json:
            _document("peers", found)
        else:
            head, columns, rows = others.text(found)
            _table(columns, rows, head)
        return
    from kibitz import bench as room

    progress = story.progress("measurements")
    result = room.bench_gpu(game, seconds, progress) if on_gpu else room.bench(game, seconds, progress)
    story.close()
    if as_json:
        _document("bench", result)
    else:
        print(room.text_gpu(result) if on_gpu else room.text(result))


@app.command()
def info(as_json: Json = False) -> None:
    """Show versions, processor, GPU and where Kibitz keeps files.

    Example: kibitz info
    """
    from kibitz import bench as room
    from kibitz import cache as compiled
    from kibitz import gpu
    from kibitz.arena.store import default_store

    about = room.machine()
    content = {
        "machine": about,
        "gpu": gpu.device().to_dict(),
        "compiled_code": str(compiled.root()),
        "results": str(default_store()),
    }
    if as_json:
        _document("info", content)
        return
    rows = {
        "kibitz": __version__,
        "python": f"{about['python']}, Numba {about['numba']}, NumPy {about['numpy']}",
        "processor": f"{about['processor']}, {about['cores']} cores",
        "GPU": str(gpu.device()),
        "compiled code": content["compiled_code"],
        "results": content["results"],
    }
    width = max(map(len, rows))
    print("\n".join(f"{name:<{width}}  {value}" for name, value in rows.items()))


@app.command()
def check(
    game: GameArgument,
    n_games: Annotated[int, typer.Option("--games", min=1, help="Random games per check.")] = 10,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Check that a game keeps the protocol and can be played.

    Also checks that it hides what it must from each seat.

    Example: kibitz check my_game.py
    """
    from kibitz import games as room
    from kibitz import testing

    story = _story()
    loaded = room.load_untried(game)
    checks: list[testing.Check] = []
    for attempt in (
        lambda: testing.check_game(loaded, n_games, seed),
        lambda: testing.check_hidden(loaded, n=max(1, n_games // 10), seed=seed),
        lambda: testing.check_agent("ismcts:50", loaded, 1, seed),
    ):
        try:
            checks += attempt()
        except testing.CheckFailed as failed:
            checks += failed.checks
            break  # what follows trusts the rules
    story.close()
    ok = all(check.ok for check in checks)
    if as_json:
        _document("check", {"game": game, "ok": ok, "checks": [vars(check) for check in checks]})
    else:
        for done in checks:
            mark = "BROKEN" if not done.ok else "–" if done.detail.startswith("left out") else "ok"
            print(f"{mark:<6} {done.name}: {done.detail}")
        print(f"{game} {'keeps' if ok else 'breaks'} the protocol")
    raise typer.Exit(0 if ok else 1)


@app.command()
def cache(
    action: Annotated[
        str, typer.Argument(help="path, warm (compile games ahead), export, import or clear.")
    ] = "path",
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GAME]... | FILE",
            help="Games to compile with warm (default: all); the file for export or import.",
        ),
    ] = None,
    trust_file: Annotated[
        bool, typer.Option("--trust", help="With import: take in the code, which can do whatever you can do.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="With export: overwrite the file.")] = False,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Show, fill, export, import or delete the compiled code.

    Example: kibitz cache warm briskola
    """
    from kibitz import cache as compiled
    from kibitz.errors import UnknownName

    names, actions = names or [], ("path", "warm", "export", "import", "clear")
    if action not in actions:
        raise UnknownName("action of cache", action, actions)
    if action in ("export", "import"):
        if len(names) != 1:
            raise BadOption(f"{action} takes one file: kibitz cache {action} kibitz-code.zip")
    elif names and action != "warm":
        raise BadOption(f"'{names[0]}' is a game, which goes with warm: kibitz cache warm {names[0]}")
    if jobs is not None and jobs < 1:
        raise BadOption(f"--jobs {jobs} cannot be used; give at least 1")
    done: dict[str, Any] = {"freed": compiled.clear() if action == "clear" else 0}
    if action == "warm":
        _warm([_own_name(game) or game for game in names], jobs)
    elif action == "export":
        done["exported"] = _export_code(Path(names[0]), force)
    elif action == "import":
        done["imported"] = _import_code(Path(names[0]), trust_file)
    content = {"path": str(compiled.root()), "bytes": compiled.size(), **done}
    if as_json:
        _document("cache", content)
    elif action == "clear":
        print(f"{done['freed'] / 1e6:.1f} MB deleted from {content['path']}")
    elif action == "export":
        print(
            f"{names[0]}: {showing.numbered(done['exported'], 'compiled function')}, "
            f"{Path(names[0]).stat().st_size / 1e6:.1f} MB"
        )
    elif action == "import":
        are = "is" if done["imported"] == 1 else "are"
        print(f"{showing.numbered(done['imported'], 'compiled function')} {are} new in {content['path']}")
    else:
        print(f"{content['path']}: {content['bytes'] / 1e6:.1f} MB")


def _must_be_new(file: Path, force: bool) -> None:
    if file.is_file() and not force:
        raise BadOption(f"{quoted(str(file))} exists already; give another name, or --force to overwrite it")


def _export_code(file: Path, force: bool) -> int:
    """Write an archive of the compiled code; the number of compiled functions in it."""
    from kibitz import archive
    from kibitz.errors import InputError

    _must_be_new(file, force)
    packed, taken = archive.pack(archive.collect())
    if not taken:
        raise InputError("there is no compiled code of these sources to export; `kibitz cache warm` makes it")
    file.write_bytes(packed)
    return taken


def _import_code(file: Path, trusted: bool) -> int:
    """Take in an archive, if it fits this machine; the number of compiled functions that are new."""
    from kibitz import archive
    from kibitz.errors import Untrusted

    found = archive.read(file)
    if not trusted:
        raise Untrusted(
            f"{quoted(str(file))} holds {showing.numbered(len(found.files), 'compiled function')} for "
            f"{found.about}. Compiled "
            f"code is a program: it can do whatever you can do. If you trust whoever made it, repeat the "
            f"command with --trust"
        )
    return found.unpack()


def _warm(
    names: list[str],
    jobs: int | None = None,
    story: Story | None = None,
    part: tuple[float, float] = (0.0, 1.0),
) -> None:
    """Compile what some games need, or all games, with a bar, or a part of one."""
    from kibitz import games as registry
    from kibitz import trust, warming

    trust.allow(*names)
    story = story or _story()
    try:
        bar = story.progress("compiling ahead", part=part)
        warming.warm(names or list(registry.known()), bar, jobs)
    finally:
        story.close()


def _version(wanted: bool) -> None:
    if wanted:
        print(f"kibitz {__version__}")
        raise typer.Exit


@app.callback()
def _kibitz(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run a verb; errors of ours become a message and an exit code, never a traceback."""
    ending.end_when_asked()
    with showing.everything_visible():
        _run_a_verb()


def _must_be_text(words: list[str]) -> None:
    """Refuse bytes that are not UTF-8 before they reach a store or output, where they cannot be written."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise BadOption(
                f"{quoted(word)} has bytes that are not UTF-8; rename the file, or type it again"
            ) from None


def _run_a_verb() -> None:
    try:
        try:
            _must_be_text(sys.argv[1:])
            app(standalone_mode=True)
        finally:
            sys.stdout.flush()
    except KibitzError as error:
        from kibitz import terminal

        terminal.fail(error, "--json" in sys.argv)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("kibitz: interrupted", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # a closed pipe ends quietly
            what = "the answer cannot be written" if error.filename is None else quoted(str(error.filename))
            print(f"kibitz: {what}: {error.strerror or error}", file=sys.stderr)
            sys.exit(3)
