"""`kibitz match`, `learn` and `bench`: agents play each other, and speed is measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibitz.cli import output, paths
from kibitz.cli.options import MOST, GameArgument, Json, Moves, OnGpu, Ray, Seed
from kibitz.errors import BadOption

if TYPE_CHECKING:
    from kibitz.arena.match import MatchResult


def match(
    game: GameArgument,
    agents: Annotated[
        list[str], typer.Argument(help="One agent per seat or team; the last one fills the rest.")
    ],
    n_games: Annotated[
        int, typer.Option("--games", max=MOST, help="Number of games, rounded up to whole deals.")
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
    story = output.story()
    result = arena.match(
        game,
        agents,
        n_games,
        seed=seed,
        jobs=jobs,
        progress=story.progress("games"),
        store=store,
        ray=ray,
        until_decided=until_decided,
        keep_moves=moves,
        on_gpu=on_gpu,
    )
    story.close()
    if as_json:
        output.document("match", result.to_dict())
    else:
        _print_match(result)
    if not result.complete:
        raise typer.Exit(130)


def _print_match(result: MatchResult) -> None:
    """Print the table of a match, who was better, and whether that is decided."""
    ended = "" if result.complete else ", interrupted: what was finished"
    deals = f"{result.deals} deal{'' if result.deals == 1 else 's'}"
    title = (
        f"{result.game}: {result.games} games on {deals}, seed {result.seed}, {result.seconds:.1f} s{ended}"
    )
    rows = [
        [
            a.spec,
            str(a.wins),
            str(a.draws),
            a.win_rate.text(100, 1),
            a.win_rate_decided.text(100, 1),
            a.points.text(),
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
    output.print_table(columns, rows, title)
    if len(result.agents) == 1:
        print("An agent against itself shows nothing of its strength: give a second one.")
    for agent, difference in zip(result.agents[1:], result.differences, strict=True):
        print(
            f"{result.agents[0].spec} less {agent.spec}: {difference.text()} points per game, paired by deal"
        )
    if result.decided is not None:
        print("decided" if result.decided else "not decided", f"after {result.deals} deals")


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

    paths.must_be_writable(out)
    story = output.story()
    progress = story.progress("games")
    learned = learning.learn(game, agent, rounds, out, seed=seed, jobs=jobs, progress=progress, seen=seen)
    story.close()
    if as_json:
        output.document("counters", learned.to_dict())
    else:
        output.print_table(*learned.table())


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
    story = output.story()
    if peers:
        from kibitz import peers as others

        found = others.measure(seconds, story.progress("rounds"))
        story.close()
        if as_json:
            output.document("peers", found)
        else:
            head, columns, rows = others.text(found)
            output.print_table(columns, rows, head)
        return
    from kibitz import bench as speed

    progress = story.progress("measurements")
    result = speed.bench_gpu(game, seconds, progress) if on_gpu else speed.bench(game, seconds, progress)
    story.close()
    if as_json:
        output.document("bench", result)
    else:
        print(speed.text_gpu(result) if on_gpu else speed.text(result))
