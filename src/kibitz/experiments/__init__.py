"""Experiments: described as data, run into a store, evaluated from it; the published ones come along."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from kibitz import __version__, specs, trust
from kibitz.arena.executors import Executor
from kibitz.arena.laboratory import Laboratory, Order, Progress, Work, probe, stops_at
from kibitz.arena.store import Store
from kibitz.errors import BadOption, KibitzError, UnknownName
from kibitz.experiments.description import Experiment, read, read_file
from kibitz.experiments.evaluation import Result, Row, Run, evaluate, orders
from kibitz.games import parts

HEADLINES = "headlines"
"""Three results of each document, measured within a minute or two."""

_HEADLINES_TEXT = (files("kibitz.experiments") / f"{HEADLINES}.toml").read_text("utf-8")

PUBLISHED = tuple(sorted(parts.published(), key=lambda name: (_HEADLINES_TEXT + name).index(name)))
"""The experiments that lie with the games, in the order in which the headlines show their documents."""


def next_steps(game: str) -> list[str]:
    """Commands to go on with after an experiment with a game, and what they are for."""
    name = specs.split(game)[0]
    steps = {
        "kibitz serve --open": "play at a card table in the browser",
        f"kibitz play {name}": "play in the terminal, against the strongest agent",
        f"kibitz advise {name} 7": "what to play in deal 7, and why",
    }
    width = max(map(len, steps))
    return [f"{command:<{width}}  {reason}" for command, reason in steps.items()]


def published(name: str) -> Experiment:
    """A published result as an experiment."""
    if name not in (*PUBLISHED, HEADLINES):
        raise UnknownName("published result", name, PUBLISHED)
    text = _HEADLINES_TEXT if name == HEADLINES else parts.published()[name].read_text("utf-8")
    return read(text, f"{name}.toml", name)


def versions() -> dict[str, str]:
    """What the numbers may depend on."""
    libraries = {name: version(name) for name in ("numba", "numpy", "scipy")}
    return {"kibitz": __version__, "python": platform.python_version(), **libraries, "system": sys.platform}


def run(
    experiment: Experiment,
    store: Store,
    executor: Executor,
    factor: float = 1.0,
    seed: int | None = None,
    command: str = "",
    progress: Progress | None = None,
    keep_moves: bool = False,
    work: Work | None = None,
) -> Result:
    """Play what is missing, and evaluate all. Progress can be told in games, or as work.

    What was asked is noted in the store before the first game, so a report shows interrupted work too.
    """
    seed = experiment.seed if seed is None else seed
    wanted = planned(experiment, factor, seed)
    numbers = [store.number_of(order.match) for order in wanted]
    how = Run(factor, seed, command, versions(), numbers, experiment.folder, experiment.is_quick)
    store.write_experiment(experiment.name, experiment.text, how.to_dict())
    before = _games_kept(wanted, numbers, store)
    Laboratory(store, executor, keep_moves).run(wanted, progress, work)
    result = evaluate(experiment, how, store)
    return replace(result, games_played=_games_kept(wanted, numbers, store) - before)


def _games_kept(wanted: Sequence[Order], numbers: Sequence[int], store: Store) -> int:
    """How many games of some orders are in the store."""
    kept = zip(wanted, numbers, strict=True)
    return sum(store.finished(number, order.deals) * order.match.games_a_deal for order, number in kept)


def planned(experiment: Experiment, factor: float = 1.0, seed: int | None = None) -> list[Order]:
    """All orders of an experiment at a size, checked: the seed may be another than its own."""
    found = [order for _, _, order in orders(experiment, factor, experiment.seed if seed is None else seed)]
    for order in found:
        order.match.check()
    return found


def games_of_other_code(experiment: Experiment, store: Store, factor: float, seed: int | None) -> int:
    """Games in the store of matches that are new to it only because their code has changed."""
    planned = orders(experiment, factor, experiment.seed if seed is None else seed)
    new = [order.match for _, _, order in planned if store.find(order.match) is None]
    return sum(store.games_of_other_code(match) for match in new)


def results(
    store: Store, names: Sequence[str] = (), unreadable: Callable[[str], None] | None = None
) -> list[Result]:
    """What the store knows of its experiments; of all of them, if none is named.

    One that cannot be read (its game's file is gone, say) is an error, or is left out and told
    to `unreadable`.
    """
    found = []
    for name in names or store.experiments(unreadable):
        try:
            found.append(evaluate(*noted(store, name), store))
        except KibitzError as error:
            if unreadable is None or name in names:
                raise
            unreadable(f"{name} cannot be read and is left out: {error}")
    return found


def files_in(store: Store) -> trust.Recorded:
    """The files that matches and experiments of a store name; of those that played, digests are recorded."""
    found = store.files()
    for name in store.experiments(left_out=lambda _: None):
        with suppress(KibitzError):  # it cannot be read before they are allowed, or not at all
            noted(store, name, lambda files: found.update({**files, **found}))
    return found


def noted(store: Store, name: str, allow: trust.Allow | None = None) -> tuple[Experiment, Run]:
    """An experiment of a store, and how it was run; `allow` is asked about the files that it names."""
    text, told, row = store.experiment(name)
    how = Run.of(told, row)
    folder = Path(how.folder) if how.folder else None
    return replace(read(text, name, name, folder, allow), is_quick=how.quick), how


def duration_by_size(experiment: Experiment, cores: int) -> dict[str, float]:
    """Seconds that an experiment takes on this many cores: with --quick, at the published size, in full."""
    quick = experiment.quick_core_seconds or experiment.core_seconds * experiment.factor(None, True)
    return {
        "quick": quick / cores,
        "published": experiment.core_seconds * experiment.factor(1.0, False) / cores,
        "full": experiment.core_seconds / cores,
    }


@dataclass(frozen=True)
class Estimated:
    """What a match would cost."""

    match: str
    games: int
    games_in_store: int
    milliseconds_a_game: float

    @property
    def core_seconds(self) -> float:
        return (self.games - self.games_in_store) * self.milliseconds_a_game / 1000


def dry_run(
    experiment: Experiment, store: Store, factor: float, seed: int | None, progress: Progress | None = None
) -> list[Estimated]:
    """What every match would cost, from a few deals that are played and forgotten."""
    wanted = planned(experiment, factor, seed)
    found = []
    for i, order in enumerate(wanted):
        number, per_deal, deals, there = store.find(order.match), order.match.games_a_deal, order.deals, 0
        if number is not None:
            there, scores = store.finished(number, deals), store.scores(number, deals)
            if (needed := stops_at(order, scores)) <= len(scores):
                deals = there = needed  # decided before the limit
        pace = probe(order.match) if there < deals else 0.0
        name = f"{order.match.game}: {' – '.join(order.match.agents)}"
        found.append(Estimated(name, deals * per_deal, there * per_deal, 1000 * pace / per_deal))
        if progress:
            progress(i + 1, len(wanted))
    return found


def tournament(game: str, agents: Sequence[str], games: int, seed: int) -> Experiment:
    """The experiment that lets everyone play everyone; a person names the game and the agents."""
    import hashlib
    import json

    trust.allow(game, *agents)
    if len(set(agents)) < max(2, len(agents)):
        raise BadOption("a tournament needs at least two agents, all of them different")
    # JSON's texts and lists are TOML's too.
    quoted = json.dumps(list(agents), ensure_ascii=False)
    key = hashlib.sha256(f"{game} {quoted} {seed}".encode()).hexdigest()[:8]
    text = (
        f'name = "tournament-{key}"\n'
        f"title = {json.dumps(f'Tournament: {game}', ensure_ascii=False)}\n"
        f'question = "Who is the strongest, and by how much?"\n'
        f"game = {json.dumps(game, ensure_ascii=False)}\nseed = {seed}\ngames = {games}\n\n"
        f"[tournament.all]\nagents = {quoted}\n"
    )
    return read(text, "tournament", folder=Path.cwd())


__all__ = [
    "HEADLINES",
    "PUBLISHED",
    "Estimated",
    "Experiment",
    "Result",
    "Row",
    "Run",
    "dry_run",
    "duration_by_size",
    "files_in",
    "games_of_other_code",
    "next_steps",
    "noted",
    "planned",
    "published",
    "read",
    "read_file",
    "results",
    "run",
    "tournament",
]
