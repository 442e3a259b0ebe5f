"""Kibitz: an engine and a laboratory for card games.

The public names are loaded when they are first used; `import kibitz` alone is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kibitz.position import State, View
    from kibitz.search.advice import Advice

__version__ = "0.2.0"

_HOMES = {
    "Agent": "agents",
    "make_agent": "agents",
    "component": "kernel",
    "entry": "kernel",
    "game": "kernel",
    "load": "games",
    "Advice": "search.advice",
    "State": "position",
    "View": "position",
    "KibitzError": "errors",
    "match": "arena.match",
}

__all__ = ["__version__", "advise", "deal", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"kibitz.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'kibitz' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)  # else nobody finds names that are not loaded yet


def deal(game: Any, seed: int) -> State:
    """The first position of a game (or of the game that a string names): deal number `seed`."""
    from kibitz import games, position

    return position.deal(games.load(game) if isinstance(game, str) else game, seed)


def advise(view: View, agent: str = "ismcts:1000", seed: int = 0) -> Advice:
    """What an agent would do here, and why.

    >>> import kibitz
    >>> view = kibitz.deal("briskola", seed=7).view()
    >>> kibitz.advise(view, "ismcts:500", seed=1).best_text
    '12D'
    """
    from kibitz.agents import make_agent

    adviser = make_agent(agent, view.game)
    adviser.start(view.game, view.seat)
    return adviser.advise(view, seed)
