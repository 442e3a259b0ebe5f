"""`kibitz advise`, `solve` and `tree`: the best move in a position, by search or exactly."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from kibitz.cli import output, paths
from kibitz.cli.options import MOST, GameArgument, Json, Seed, own_name
from kibitz.errors import BadOption, quoted

# Options that `solve` and `tree` share.
SearchArgument = Annotated[
    str,
    typer.Argument(help="A tree file such as my.tree, an example tree, or a game.", callback=own_name),
]
SearchPosition = Annotated[
    str, typer.Argument(help="In a game: the deal and the moves so far, '0: e3 d3' (default: the start).")
]
Depth = Annotated[
    int | None, typer.Option(min=1, max=MOST, help="Moves to look ahead (default: to the end).")
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
    from kibitz import games
    from kibitz.agents import make_agent
    from kibitz.errors import ParseError, Unsupported
    from kibitz.position import read_position

    story = output.story()
    loaded = games.load(game)
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
        output.document("advise", {"game": game, "position": position, **found.to_dict()})
    else:
        print(view, found, sep="\n\n")


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
    from kibitz import specs

    options = (depth, algorithm, quiet, decided, keep, keep_from, nodes, time, is_open)
    if specs.split(game)[0] == "bridge" and not any(options):
        _solve_bridge(game, position, as_json)
        return
    from kibitz.search import solver

    seconds = _seconds(time) if time else math.inf
    story = output.story()
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
        output.document("search", {"game": game, "position": position, "depth": depth, "algorithms": rows})
        return
    output.print_table(*solver.table(wanted, found))
    if not all(each.is_finished for each in found.values()):
        print(f"– is not finished after {most:,} positions; give a --depth, a --time, or more --nodes")


def _seconds(time: str) -> float:
    """The value of `--time` in seconds."""
    from kibitz import specs

    seconds = specs.parse_duration(time)
    if seconds is None:
        raise BadOption(f"--time {quoted(time)[1:-1]} cannot be used: it is a time such as 200ms, 1.5s or 1m")
    return seconds


def _solve_bridge(game: str, position: str, as_json: bool) -> None:
    """Solve bridge boards with all hands open; those that cannot be read are left out, with a warning."""
    from kibitz import games
    from kibitz.games.bridge import solution

    loaded = games.load(game)
    if not position:
        raise BadOption("say which board: a deal, such as 7 or 'N:AK….… … … …', or a .pbn or .lin file")
    story = output.story()
    boards, faults = solution.sorted_out(solution.each_board_of(loaded, position))
    if not boards:
        raise faults[0].error
    solved = solution.solve(boards, story.progress("boards"), solution.contract_in(loaded, game))
    story.close()
    if as_json:
        left_out = [str(fault.error) for fault in faults]
        answer = {"boards": [s.to_dict() for s in solved], "left_out": left_out}
        output.document("solve", {"game": game, "position": position, **answer})
    else:
        print("\n\n".join(map(str, solved)))
    for fault in faults:
        output.warn(f"left out: {fault.error}")
    if faults:
        raise typer.Exit(3)


def tree(
    game: Annotated[
        str | None,
        typer.Argument(
            help="A tree file, an example tree, or a game (default: list the examples).",
            callback=own_name,
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
            output.document("trees", {"trees": text.examples()})
        else:
            width = max(map(len, text.examples()))
            print("\n".join(f"{name:<{width}}  {about}" for name, about in text.examples().items()))
        return
    for option, path, suffix in (("--out", out, ".svg"), ("--steps", steps, ".html")):
        if path is not None:
            if path.suffix.lower() != suffix:
                raise BadOption(f"{option} {path} cannot be used: a name that ends in {suffix} is right")
            paths.must_be_writable(path)
    output.story()
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
        output.document("tree", {"game": game, "position": position, **about, "steps": drawn.trace()})
    elif out is None and steps is None:
        print(drawn.text())
    else:
        print(", ".join(str(path) for path in (out, steps) if path is not None))
