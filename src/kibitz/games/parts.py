"""What a game supplies besides its rules, found by one rule: it lies beside them.

The module with a game's class may stand in a package. Other files of this package hold the game's other
parts, each under a fixed name, and each is read only when it is asked for:

| file                  | holds                                                                |
|-----------------------|----------------------------------------------------------------------|
| `agents.py`           | `AGENTS`, agents of this game: name → `kibitz.agents.Setting`        |
| `twin.py`             | `twin_of(game)`: the same game in OpenSpiel, if there is one         |
| `published/NAME.toml` | a published result as an experiment (in games that come with Kibitz) |

A `Setting` names its class as text, `"my_package.players:Careful"`, so looking for a name does not import the
player. A game that is a single file has `AGENTS` in that file, and its `Setting`s name the class itself.

An agent with the name of a general one replaces it in its game: `pimc` does so in Bridge. `kibitz agents`
lists the agents of the games that come with Kibitz. Those of plug-ins and files are known in their game only.
"""

from __future__ import annotations

import functools
import importlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from types import ModuleType

from kibitz.games import GAMES


@functools.cache
def beside(module: str, part: str) -> ModuleType | None:
    """The module `part` in the package of a game's module; None, if there is no such part.

    >>> beside("kibitz.games.bridge.rules", "agents").__name__
    'kibitz.games.bridge.agents'
    >>> beside("kibitz.games.othello.rules", "agents"), beside("my_game", "agents")
    (None, None)
    """
    package, _, _ = module.rpartition(".")
    name = f"{package}.{part}"
    try:
        there = bool(package) and find_spec(name) is not None
    except ModuleNotFoundError:  # what has the game's module is no package
        return None
    return importlib.import_module(name) if there else None


def built_in(part: str) -> list[ModuleType]:
    """The modules `part` of the games that come with Kibitz, in the order in which games are listed."""
    found = (beside(place.partition(":")[0], part) for place in GAMES.values())
    return [module for module in found if module is not None]


def published() -> dict[str, Traversable]:
    """The published experiments of the games that come with Kibitz: name → file.

    >>> published()["mckay"].name
    'mckay.toml'
    """
    found: dict[str, Traversable] = {}
    for place in GAMES.values():
        folder = files(place.partition(":")[0].rpartition(".")[0]) / "published"
        if folder.is_dir():
            descriptions = sorted(folder.iterdir(), key=lambda file: file.name)
            found |= {file.name.removesuffix(".toml"): file for file in descriptions}
    return found
