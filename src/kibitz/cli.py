"""The command line: verbs, no logic. Heavy modules are loaded by the verb that needs them."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz import __version__
from kibitz.errors import BadOption, KibitzError, Unwritable

if TYPE_CHECKING:
    from kibitz.terminal import Story

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Card games: play, search, measure. Games and agents are strings, such as "
    "'briskola:seats=4' and 'ismcts:5000,c=0.7'; `kibitz games` and `kibitz agents` list them.",
)

Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Same seed, same result.")]
GameArgument = Annotated[
    str, typer.Argument(help="A game, such as briskola, briskola:seats=4 or my_game.py.")
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


def _story() -> Story:
    """Tell on standard error what happens while one waits."""
    from kibitz import kernel, terminal

    story = terminal.Story()
    kernel.compile_report = story.compiling
    return story


def _table(columns: list[str], rows: list[list[str]], title: str = "") -> None:
    """Print a table; the first column is text, the others are numbers."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    table.add_column(columns[0], overflow="fold")
    for column in columns[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 140).print(table)


@app.command()
def games(as_json: Json = False) -> None:
    """List the games and their parameters.

    Example: kibitz games
    """
    from kibitz import games as room

    found: list[dict[str, Any]] = []
    for name in room.known():
        cls = room.game_class(name)
        options = [
            {"name": o.name, "default": o.default, "takes": o.takes} for o in room.parameters(cls).values()
        ]
        about = (sys.modules[cls.__module__].__doc__ or "").strip().splitlines()[0]
        expert = getattr(cls, "expert", None)
        found.append({"name": name, "about": about, "parameters": options, "expert": expert})
    if as_json:
        _document("games", {"games": found})
        return
    for game in found:
        print(f"{game['name']}: {game['about']}")
        for o in game["parameters"]:
            print(f"    {o['name']}={str(o['default']).lower()}  ({o['takes']})")
        if game["expert"]:
            print(f"    expert is {game['expert']}")


@app.command()
def agents(
    name: Annotated[str | None, typer.Argument(help="Show the options of this agent.")] = None,
    as_json: Json = False,
) -> None:
    """List the agents, or the options of one.

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
    for each, about in found.items():
        print(f"{each:<16} {about['about']}")
        if name:
            for option, o in about["options"].items():
                print(f"    {option}={o['value']}  {o['help']} ({o['takes']})")


@app.command()
def play(
    game: GameArgument = "briskola",
    seat: Annotated[int, typer.Option(min=0, help="Where you sit.")] = 0,
    agent: Annotated[list[str] | None, typer.Option(help="Who plays the other seats; repeat it.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The number of the deal; else a new one.")] = None,
    hint: Annotated[str, typer.Option(help="Who answers when you ask for a hint.")] = "ismcts:20000",
) -> None:
    """Play against agents, in the terminal.

    Example: kibitz play briskola --agent expert
    """
    from kibitz import games as room
    from kibitz import terminal

    _story()
    loaded = room.load(game)
    if seat >= loaded.seats:
        raise BadOption(f"there is no seat {seat}; {game} has seats 0 to {loaded.seats - 1}")
    default = "expert" if hasattr(loaded, "expert") else "ismcts:5000"
    number = int.from_bytes(os.urandom(4), "big") if seed is None else seed
    terminal.play(loaded, seat, agent or [default], number, hint)


@app.command()
def match(
    game: GameArgument,
    agents: Annotated[list[str], typer.Argument(help="One agent per seat or team; the last fills the rest.")],
    n_games: Annotated[int, typer.Option("--games", help="Games, rounded up to whole deals.")] = 100,
    seed: Seed = 0,
    jobs: Annotated[int, typer.Option(help="Processes; the table is the same for any number.")] = 1,
    as_json: Json = False,
) -> None:
    """Let agents play many deals, each once per seating, and tell who is better.

    Example: kibitz match briskola ismcts:2000 random --games 200 --jobs 2
    """
    from kibitz.arena import match as arena

    story = _story()
    shown: list[Any] = []

    def progress(done: int, total: int) -> None:
        if not shown:
            shown.append(story.progress("games"))
        shown[0](done, total)

    result = arena.match(game, agents, n_games, seed, jobs, progress)
    story.close()
    if as_json:
        _document("match", result.to_dict())
    else:
        _print_match(result)
    if not result.complete:
        raise typer.Exit(130)


def _print_match(result: Any) -> None:
    ended = "" if result.complete else ", interrupted: what was finished"
    title = (
        f"{result.game}: {result.games} games on {result.deals} deals, seed {result.seed}, "
        f"{result.seconds:.1f} s{ended}"
    )
    rows = [
        [
            *(a.spec, str(a.wins), str(a.draws), a.win_rate.text(100, 1)),
            *(a.win_rate_decided.text(100, 1), a.points.text()),
        ]
        for a in result.agents
    ]
    _table(["agent", "wins", "draws", "% won (95 %)", "% of decided", "points a game"], rows, title)
    for agent, difference in zip(result.agents[1:], result.differences, strict=True):
        print(f"{result.agents[0].spec} less {agent.spec}: {difference.text()} points a game, paired by deal")


@app.command()
def advise(
    game: GameArgument,
    position: Annotated[
        str, typer.Argument(help="The deal, and the moves played so far: '7' or '7: 3C 2D'.")
    ],
    agent: Annotated[str, typer.Option(help="Who is asked.")] = "ismcts:10000",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Tell what an agent would play, with the value of every legal move.

    Example: kibitz advise briskola "7: 12D" --agent ismcts:5000
    """
    import kibitz
    from kibitz import games as room
    from kibitz.agents import make_agent
    from kibitz.errors import ParseError, Unsupported
    from kibitz.position import deal

    _story()
    number, _, moves = position.partition(":")
    if not number.strip().isdigit():
        raise ParseError(f"'{position}' is no position; write the deal and the moves, such as '7: 3C 2D'")
    loaded = room.load(game)
    state = deal(loaded, int(number))
    for text in moves.replace(",", " ").split():
        state.play(text)
    if state.is_over:
        raise ParseError(f"the game '{position}' is over: there is nothing to advise")
    if make_agent(agent, loaded).cheating:
        raise Unsupported("advice is given from what the seat can see; choose an agent that does not cheat")
    view = state.view()
    found = kibitz.advise(view, agent, seed)
    if as_json:
        _document("advise", {"game": game, "position": position, **found.to_dict()})
    else:
        print(view, found, sep="\n\n")


@app.command()
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Which published results; all, if none.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few games: minutes, not an hour.")] = False,
    scale: Annotated[float | None, typer.Option(help="Games as a multiple of the full number.")] = None,
    seed: Seed = 1,
    jobs: Annotated[int | None, typer.Option(help="Processes; all cores, if not said.")] = None,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    as_json: Json = False,
) -> None:
    """Measure published results again and set them beside the published figures.

    Example: kibitz reproduce karamatic
    """
    from kibitz import experiments, report

    if scale is not None and not 0 < scale <= 1000:
        raise BadOption(f"--scale {scale} cannot be used; give a number above 0, up to 1000")
    _must_be_writable(out)
    story = _story()
    results = experiments.run_all(
        names or [],
        scale or (experiments.QUICK if quick else 1.0),
        seed,
        jobs or os.cpu_count() or 1,
        story,
    )
    story.close()
    out.write_text(report.page(results), encoding="utf-8")
    if as_json:
        _document("reproduce", {"rows": [row.to_dict() for r in results for row in r.rows], "page": str(out)})
        return
    for result in results:
        rows = [[r.cell, r.published_text, r.measured_text, str(r.n), r.verdict] for r in result.rows]
        _table(["result", "published", "measured (95 %)", "games", "verdict"], rows, result.title)
        print()
        for sentence in result.findings:
            print(f"• {sentence}")
    print(f"\nThe page with figures: {out}\n\nTry next:")
    program = "kibitz" if shutil.which("kibitz") else sys.argv[0]  # not on the path: as it was called
    for command in experiments.NEXT:
        print(f"  {command.replace('kibitz', program, 1)}")


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
def bench(
    game: GameArgument = "briskola",
    seconds: Annotated[float, typer.Option(min=0.01, help="Time for one measurement.")] = 0.5,
    as_json: Json = False,
) -> None:
    """Measure speed: playouts, search, threads, start; and the ratio to C where a compiler is found.

    Example: kibitz bench briskola
    """
    from kibitz import bench as room

    story = _story()
    result = room.bench(game, seconds, story.progress("measurements"))
    story.close()
    if as_json:
        _document("bench", result)
    else:
        print(room.text(result))


@app.command()
def check(
    game: GameArgument,
    n_games: Annotated[int, typer.Option("--games", min=1, help="Random games a check.")] = 10,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Check that a game keeps the protocol, hides what it must, and can be played by every agent.

    Example: kibitz check my_game.py
    """
    from kibitz import games as room
    from kibitz import testing

    story = _story()
    loaded = room.load(game)
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
    action: Annotated[str, typer.Argument(help="path, warm or clear.")] = "path",
    game: Annotated[str, typer.Argument(help="The game to compile, for warm.")] = "briskola",
    as_json: Json = False,
) -> None:
    """Show where compiled code is kept, compile a game ahead, or delete all of it.

    Example: kibitz cache warm briskola
    """
    from kibitz import kernel
    from kibitz.errors import UnknownName

    if action not in ("path", "warm", "clear"):
        raise UnknownName("action of cache", action, ("path", "warm", "clear"))
    freed = kernel.clear_cache() if action == "clear" else 0
    if action == "warm":
        from kibitz import testing

        _story()
        testing.check_agent("ismcts:10,endings=10", game, 1)
        testing.check_agent("flat:10,playout=0.5", game, 1)
    content = {"path": str(kernel.cache_root()), "bytes": kernel.cache_size(), "freed": freed}
    if as_json:
        _document("cache", content)
    elif action == "clear":
        print(f"{freed / 1e6:.1f} MB deleted from {content['path']}")
    else:
        print(f"{content['path']}: {kernel.cache_size() / 1e6:.1f} MB")


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
    try:
        try:
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
            print(f"kibitz: the answer cannot be written: {error.strerror or error}", file=sys.stderr)
            sys.exit(3)
