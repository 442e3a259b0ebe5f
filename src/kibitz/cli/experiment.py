"""`kibitz experiment run`, `tournament` and `report`: your own experiments."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibitz.cli import output, paths
from kibitz.cli.options import (
    ExperimentSeed,
    GameArgument,
    Jobs,
    Json,
    Moves,
    OnGpu,
    Quick,
    Ray,
    Scale,
    Seed,
    StoreOption,
    Trust,
)
from kibitz.cli.running import Settings, answer, run_experiments
from kibitz.errors import BadOption

if TYPE_CHECKING:
    from kibitz.experiments import Experiment


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

    experiment = experiments.read_file(file, paths.allow if trust else None)
    settings = Settings(
        quick=quick,
        scale=scale,
        seed=seed,
        jobs=jobs,
        ray=ray,
        on_gpu=on_gpu,
        store=store,
        moves=moves,
    )
    if dry_run:
        _dry_run(experiment, settings, as_json)
        return
    if out is not None:
        paths.must_be_writable(out)
    command = ["kibitz", "experiment", "run", str(file)]
    results = run_experiments([experiment], command, settings)
    answer("experiment", results, out, as_json)


def _dry_run(experiment: Experiment, settings: Settings, as_json: bool) -> None:
    """Play a short probe of every match, and print how many games are left and how long they would take."""
    from kibitz import experiments
    from kibitz.arena.store import Store, default_store

    settings.check_size()
    experiment = replace(experiment, is_quick=settings.quick)
    factor = experiment.factor(settings.scale, settings.quick)
    path, jobs = settings.store or default_store(), settings.jobs
    if jobs is not None and jobs < 1:
        raise BadOption(f"{jobs} jobs cannot work; give at least 1")
    story = output.story()
    with paths.open_to_read(path) if path.exists() else Store() as opened:
        found = experiments.dry_run(experiment, opened, factor, settings.seed, story.progress("probe"))
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
        output.document("dry-run", content)
        return
    rows = [
        [
            f.match,
            f"{f.games:,}",
            f"{f.games_in_store:,}",
            f"{f.milliseconds_a_game:.3g}" if f.core_seconds else "–",
            output.duration(f.core_seconds),
        ]
        for f in found
    ]
    output.print_table(["match", "games", "in the store", "ms a game", "core time left"], rows)
    print(
        f"{content['games']:,} games, of which {content['games_in_store']:,} are in the store; "
        f"about {output.duration(core_seconds / workers)} with {workers} processes"
    )


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
        paths.must_be_writable(out)
    command = ["kibitz", "tournament", game, *agents, f"--games={n_games}", f"--seed={seed}"]
    settings = Settings(jobs=jobs, ray=ray, on_gpu=on_gpu, store=store)
    results = run_experiments([experiment], command, settings)
    answer("tournament", results, out, as_json)


def report_store(
    store: Annotated[Path | None, typer.Argument(help="Store to read (default: your own).")] = None,
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
        paths.must_be_writable(page)
    with paths.open_to_read(store or default_store()) as opened:
        if trust:
            paths.allow(experiments.files_in(opened))
        results = experiments.results(opened, experiment or [], output.warn)
        if not results:
            output.warn(
                f"no experiment to show; the matches of the store are listed by `kibitz replay {opened.path}`"
            )
    title = "Published and measured" if any(r.experiment.source for r in results) else "Measured"
    if as_json:
        output.document("report", {"experiments": [result.to_dict() for result in results]})
    elif as_markdown and not out:
        print(report.markdown(results, title), end="")
    else:
        page.write_text((report.markdown if as_markdown else report.page)(results, title), encoding="utf-8")
        print(f"{len(results)} experiment{'s' * (len(results) != 1)}: {page}")
