"""Pages of the laboratory: what a store knows of its experiments, while they run, and trees step by step.

Only what a browser can show is sent: tables of texts, and figures as pictures of their own, so that no page
needs a script or a style but ours. Nothing can be started from here, and no file but the store is read.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from kibitz import drawing, report
from kibitz.arena.laboratory import stops_at
from kibitz.arena.store import Store
from kibitz.deadline import check
from kibitz.errors import InputError, KibitzError, MissingExtra, TooLong, UnknownName
from kibitz.experiments import Result, noted, results
from kibitz.experiments.evaluation import numbered
from kibitz.games.tree import text as trees
from kibitz.search import solver


def _open(store: Path | None) -> Store:
    if store is None or not store.is_file():
        raise InputError(
            "there is no store here yet; `kibitz experiment run` and `kibitz reproduce` make one"
        )
    return Store(store, read_only=True)


def experiments(store: Path | None) -> list[dict[str, Any]]:
    """All experiments of a store with their progress, without evaluating them."""
    if store is None or not store.is_file():
        return []
    with _open(store) as opened:
        return [_progress(opened, name) for name in opened.experiments(left_out=lambda _: None)]


def _progress(store: Store, name: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": name, "title": name, "games": 0, "wanted": 0, "readable": False}
    games = wanted = 0
    try:
        experiment, run = noted(store, name)
        for _, _, order, number in numbered(experiment, run, store):
            check()
            deals = order.deals
            if order.until_decided:
                deals = stops_at(order, store.scores(number, deals))
            games += store.finished(number, deals) * order.match.games_a_deal
            wanted += deals * order.match.games_a_deal
    except TooLong:
        raise
    except KibitzError:  # the game's file is gone, say, or a row is damaged
        return shown
    title = experiment.title or name
    return {**shown, "title": title, "games": games, "wanted": wanted, "readable": True}


def experiment(store: Path | None, name: str) -> dict[str, Any]:
    """Everything that is known of one experiment so far."""
    progress, result = _result(store, name)
    tables = [*report.tables_of(result), *result.tables]
    return {
        **progress,
        "question": result.experiment.question,
        "source": result.experiment.source,
        "state": result.state,
        "tables": [asdict(table) for table in tables],
        "findings": result.findings,
        "figures": [caption for caption, _ in result.figures],
        "no_figures": result.no_figures and MissingExtra("A figure", "plot").public,
        "cost": asdict(result.cost),
        "core_seconds": round(result.core_seconds, 1),
        "seed": result.run.seed,
        "versions": result.run.versions,
    }


def figure(store: Path | None, name: str, number: int) -> str:
    """A figure of an experiment, as SVG."""
    _, result = _result(store, name)
    if not 0 <= number < len(result.figures):
        raise UnknownName("figure", str(number), map(str, range(len(result.figures))))
    return result.figures[number][1]


_known: dict[str, tuple[tuple[Any, ...], Result]] = {}
"""Experiment → the state of its store, and what came of it then: the page asks for many figures."""


def _result(store: Path | None, name: str) -> tuple[dict[str, Any], Result]:
    """The evaluation as far as games were played."""
    with _open(store) as opened:
        progress = _progress(opened, name)
        assert store is not None
        state = (store, store.stat().st_mtime_ns, progress["games"])
        known, result = _known.get(name, (None, None))
        if result is None or known != state:
            (result,) = results(opened, [name])
            _known[name] = (state, result)
    return progress, result


# --- trees -------------------------------------------------------------------------------------------


def examples() -> list[dict[str, Any]]:
    """The trees that come along, and the algorithms that can be watched on each."""
    return [
        {"name": name, "about": about, "algorithms": solver.subject(name).names()}
        for name, about in trees.examples().items()
    ]


def steps(name: str, algorithm: str) -> dict[str, Any]:
    """What happens in every step of a search, in words."""
    drawn, pictures = _drawn(name, algorithm)
    return {"title": drawn.title, "captions": [words for words, _ in pictures]}


def picture(name: str, algorithm: str, step: int) -> str:
    """The tree after a step, as SVG."""
    _, pictures = _drawn(name, algorithm)
    if not 0 <= step < len(pictures):
        raise UnknownName("step", str(step), [])
    return pictures[step][1]


@lru_cache(maxsize=64)
def _drawn(name: str, algorithm: str) -> tuple[drawing.SearchedTree, list[tuple[str, str]]]:
    if name not in trees.examples():  # a path would be opened
        raise UnknownName("tree", name[:60], trees.examples())
    wanted = solver.subject(name)
    if algorithm not in wanted.names():
        raise UnknownName("algorithm", algorithm[:60], wanted.names())
    drawn = drawing.draw(wanted, solver.algorithm(algorithm))
    return drawn, list(drawn.pictures())
