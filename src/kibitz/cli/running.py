"""Experiments run from the command line, and their results as text."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from kibitz import showing
from kibitz.cli import output, paths
from kibitz.errors import BadOption

if TYPE_CHECKING:
    from kibitz.experiments import Experiment, Result
    from kibitz.terminal import Story


class Settings(NamedTuple):
    """The options of `reproduce`, `experiment run` and `tournament` that say how experiments are run."""

    quick: bool = False
    scale: float | None = None
    seed: int | None = None
    """None: the experiment's own."""
    jobs: int | None = None
    ray: str | None = None
    on_gpu: bool = False
    store: Path | None = None
    moves: bool = False

    def check_size(self) -> None:
        """Raise an error if the size is not clear, or out of range."""
        if self.quick and self.scale is not None:
            raise BadOption("--quick and --scale are two sizes; give one of them")
        if self.scale is not None and not 0 < self.scale <= 1000:
            raise BadOption(f"--scale {self.scale} cannot be used; give a number above 0, up to 1000")

    def words(self) -> list[str]:
        """The options that a reader of the results needs in order to run them again."""
        words = ["--quick"] if self.quick else []
        words += [f"--scale={self.scale:g}"] if self.scale is not None else []
        words += [f"--seed={self.seed}"] if self.seed is not None else []
        words += [f"--store={self.store}"] if self.store is not None else []
        return words


def run_experiments(
    wanted: Sequence[Experiment],
    command: list[str],
    settings: Settings,
    story: Story | None = None,
    part: tuple[float, float] = (0.0, 1.0),
) -> list[Result]:
    """Run experiments into a store and return their results.

    Each has a progress bar. `part` is the part of the bar that they fill, if another task fills the rest.
    `command` is the command that was typed, without the options in `settings`.
    """
    from kibitz import experiments
    from kibitz.arena.executors import executor

    settings.check_size()
    seed = settings.seed
    wanted = [replace(e, is_quick=settings.quick) for e in wanted]
    for e in wanted:
        # An error in an experiment is reported before a store is made.
        experiments.planned(e, e.factor(settings.scale, settings.quick), seed)
    story = story or output.story()
    results = []
    with (
        executor(settings.jobs, settings.ray, settings.on_gpu) as workers,
        paths.open_store(settings.store) as opened,
    ):
        for e in wanted:
            words = list(command)
            if command[-1] == "reproduce":
                words += ["--headlines"] if e.name == experiments.HEADLINES else [e.name]
            words += settings.words()
            bar = story.progress(e.name, in_seconds=True, part=part)
            factor = e.factor(settings.scale, settings.quick)
            old = experiments.games_of_other_code(e, opened, factor, seed)
            if old:
                output.warn(
                    f"{old:,} games of these matches were played by rules or agents that have changed since; "
                    f"they stay in the store, but do not count"
                )
            try:
                result = experiments.run(
                    e,
                    opened,
                    workers,
                    factor=factor,
                    seed=seed,
                    command=shlex.join(words),
                    keep_moves=settings.moves,
                    work=bar,
                )
            except KeyboardInterrupt:
                story.close()
                output.warn(
                    f"interrupted; what was finished is kept in {opened.path}, and the same command plays "
                    f"the rest"
                )
                raise typer.Exit(130) from None
            except BaseException:
                story.close()  # the error message takes the place of the bar
                raise
            results.append(result)
            if part[1] == 1:
                story.close()
    return results


_MOST_LINES = 60
"""A longer table is not printed; its verdicts are counted."""


def answer(kind: str, results: Sequence[Result], out: Path | None, as_json: bool) -> None:
    """Show the results of one experiment as a page, as JSON or as text, whichever was asked for."""
    from kibitz import report

    if out is not None:
        out.write_text(report.page(results, "Measured"), encoding="utf-8")
        output.warn(f"the page with figures is {out}")
    if as_json:
        output.document(kind, results[0].to_dict())
    else:
        print_results(results)


def print_results(results: Sequence[Result]) -> None:
    """Print what experiments have shown: summaries, tables, notes and how many games were played."""
    from kibitz import report

    for result in results:
        if result.experiment.question:
            print(f"{showing.in_one_line(result.experiment.question)}\n")
        if result.summary:
            for sentence in result.summary:
                print(output.bullet(sentence))
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
            output.print_table(table.columns, table.rows, showing.in_one_line(table.title or result.title))
            print()
        for sentence in result.findings:
            print(output.bullet(sentence))
        played = (
            "all from the store"
            if result.games_played == 0
            else f"{output.duration(result.core_seconds)} of one core"
        )
        print(f"{showing.numbered(result.games, 'game')}, {played}")
