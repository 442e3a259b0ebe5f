"""Compile ahead what a first game, a first hint and the table need, before anybody waits for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from itertools import zip_longest

from kibitz import games, kernel, trust
from kibitz.agents import make_known_agent
from kibitz.arena.executors import new_pool, no_main_module
from kibitz.arena.play import play_game
from kibitz.errors import BadOption
from kibitz.position import deal

_FEW = 20
"""Iterations: machine code is the same for any number of them."""

Progress = Callable[[float, float], None]


def agents_of(game: str) -> list[str]:
    """Who is met first in a game: its expert, and those that the table in the browser offers.

    >>> agents_of("briskola")
    ['expert', 'ismcts:20', 'rule-based', 'random']
    """
    rules = games.load_known(game)
    found = ["expert"] if rules.expert else []
    found += [f"ismcts:{_FEW}"]
    found += ["rule-based"] if "sensible_move" not in rules.defaulted else []
    return [*found, "random"]


def warm(names: Sequence[str], progress: Progress | None = None, jobs: int | None = None) -> None:
    """Compile what the agents of some games need, on all cores; what is compiled already is only loaded."""
    agents = {game: agents_of(game) for game in names}
    # Agents of one game share code, so those of different games are compiled side by side.
    turns = zip_longest(*agents.values())
    tasks = [(game, agent) for turn in turns for game, agent in zip(agents, turn, strict=True) if agent]
    if not kernel.compiles():
        return
    workers = min(jobs or os.cpu_count() or 1, len(tasks))
    with no_main_module(), new_pool(workers) as pool:
        try:
            running = [pool.submit(compile_agent, *task, trust.allowed()) for task in tasks]
            for done, future in enumerate(as_completed(running), 1):
                future.result()
                if progress:
                    progress(done, len(tasks))
        except BaseException:
            for process in list(pool._processes.values()):
                process.kill()  # it would compile on
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def compile_agent(game: str, agent: str, permissions: dict[str, str]) -> None:
    """Play a game with an agent at every seat, and ask it for advice."""
    trust.inherit(permissions)
    rules = games.load_known(game)
    sitting = [make_known_agent(_quick(agent, rules), rules) for _ in range(rules.seats)]
    play_game(rules, sitting, seed=7, deal=0, seating=0)
    view = deal(rules, seed=7).view()
    sitting[0].start(view.game, view.seat)
    sitting[0].advise(view, 0)


def _quick(agent: str, rules: object) -> str:
    """The agent with few iterations, if it takes a number of them."""
    try:
        make_known_agent(f"{agent}:{_FEW}", rules)
    except BadOption:
        return agent
    return f"{agent}:{_FEW}"
