"""`kibitz reproduce`: published results, listed or measured again."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli import output, paths
from kibitz.cli.options import ExperimentSeed, Jobs, Json, OnGpu, Quick, Ray, Scale, StoreOption
from kibitz.cli.running import Settings, print_results, run_experiments
from kibitz.cli.system import warm
from kibitz.errors import BadOption, KibitzError

if TYPE_CHECKING:
    from kibitz.experiments import Experiment

_WARMING = 0.1
"""The share of the time of --headlines in which the commands that it suggests next are compiled."""


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
    paths.must_be_writable(out)
    story = output.story(tells_compiled=not headlines)
    part = (0.0, 1 - _WARMING) if headlines else (0.0, 1.0)
    settings = Settings(quick=quick, scale=scale, seed=seed, jobs=jobs, ray=ray, on_gpu=on_gpu, store=store)
    results = run_experiments(wanted, ["kibitz", "reproduce"], settings, story, part)
    out.write_text(report.page(results), encoding="utf-8")
    if headlines:
        warm([wanted[0].game], jobs, story, (1 - _WARMING, 1.0))  # what is suggested below starts at once
    if as_json:
        rows = [row.to_dict() for r in results for row in r.rows]
        output.document(
            "reproduce", {"rows": rows, "experiments": [r.to_dict() for r in results], "page": str(out)}
        )
        return
    print_results(results)
    print(f"\nThe page with figures: {out}\n\nTry next:")
    program = _program()
    for command_line in experiments.next_steps(wanted[-1].game):
        print(f"  {command_line.replace('kibitz', program, 1)}")
    print(f"\nEverything else: {program} reproduce --full")


def _program() -> str:
    """What to type to run Kibitz: `kibitz` if it is on the path, else what was typed this time."""
    program = "kibitz" if shutil.which("kibitz") else sys.argv[0]
    return f"{sys.executable} -m kibitz" if Path(program).name == "__main__.py" else program


def _list_published(wanted: Sequence[Experiment], store: Path | None, as_json: bool) -> None:
    """List published results: whether they were measured, and how long that takes."""
    from kibitz import experiments
    from kibitz.arena.store import default_store
    from kibitz.experiments.verdicts import NOT_MEASURED

    path = store or default_store()
    known = {}
    if path.exists():
        with paths.open_to_read(path) as opened:
            for e in wanted:
                if e.name in opened.experiments(output.warn):
                    try:
                        (known[e.name],) = experiments.results(opened, [e.name])
                    except KibitzError as error:
                        output.warn(f"{e.name} in {path} cannot be read: {error}")
    cores = os.cpu_count() or 1
    found: list[dict[str, Any]] = []
    for e in wanted:
        state = known[e.name].state if e.name in known else NOT_MEASURED
        games = known[e.name].games if e.name in known else 0
        about = {"name": e.name, "title": e.title, "source": e.source}
        seconds = experiments.duration_by_size(e, cores)
        found.append({**about, "state": state, "games": games, "seconds": seconds})
    if as_json:
        output.document("published", {"store": str(path), "cores": cores, "published": found})
        return
    rows = [
        [
            f"{f['name']}: {f['title']}",
            f["state"],
            f"{f['games']:,}",
            *(output.duration(seconds) for seconds in f["seconds"].values()),
        ]
        for f in found
    ]
    output.print_table(["published result", "state", "games", "--quick", "--scale 1", "in full"], rows)
    print(f"\nTimes are for the {cores} cores of this machine, from core seconds measured on another one.")
    print("kibitz reproduce NAME runs one in full; with --quick all are run with few games.")
