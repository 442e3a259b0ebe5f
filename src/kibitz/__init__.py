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
    "load": "games",
    "match": "arena.match",
    "State": "position",
    "View": "position",
    "Advice": "search.advice",
    "Row": "search.advice",
    "MatchResult": "arena.match",
    "AgentResult": "arena.match",
    "Estimate": "arena.statistics",
    "Agent": "agents",
    "make_agent": "agents",
    "game": "kernel",
    "component": "kernel",
    "entry": "kernel",
    "KibitzError": "errors",
    "UsageError": "errors",
    "UnknownName": "errors",
    "BadOption": "errors",
    "MissingExtra": "errors",
    "InputError": "errors",
    "IllegalMove": "errors",
    "ParseError": "errors",
    "BadGame": "errors",
    "Unsupported": "errors",
}

__all__ = ["__version__", "advise", "agent_names", "deal", "game_names", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"kibitz.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'kibitz' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)  # else nobody finds names that are not loaded yet


def deal(game: Any, seed: int) -> State:
    """The first position of a game, or of the game that a string names: deal number `seed`.

    >>> import kibitz
    >>> state = kibitz.deal("briskola:seats=4", seed=7)
    >>> state.mover, state.move_texts()
    (0, ['2D', '6D', '12S'])
    """
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


def game_names() -> list[str]:
    """The names of all games: those of Kibitz and of installed packages, for `load`, `deal` and `match`.

    >>> import kibitz
    >>> "bridge" in kibitz.game_names()
    True
    """
    from kibitz import games

    return sorted(games.known())


def agent_names() -> list[str]:
    """The names of all agents, for `make_agent`, `advise` and `match`; options follow after a colon.

    >>> import kibitz
    >>> "ismcts" in kibitz.agent_names()
    True
    """
    from kibitz.agents import SETTINGS

    return sorted(SETTINGS)
