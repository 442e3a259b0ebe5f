"""Which games there are, and how to get one from a string.

A game is named by the table below, by an installed plug-in (entry point group `kibitz.games`), or
by the path of a Python file: `briskola:seats=4`, `my_game.py`, `my_game.py:seats=3`. Any game of OpenSpiel
is named by `openspiel:` and its name there: `openspiel:chess`.

A person's string may name a file (`load`); a string from data reaches a file only if a person has allowed it
(`load_known`; `kibitz.trust`).
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from kibitz import ending, kernel, sources, specs, trial, trust
from kibitz.errors import BadGame, BadOption, InputError, UnknownName, Untrusted, quoted

GAMES = {
    "briskola": "kibitz.games.briskola.rules:Briskola",
    "bridge": "kibitz.games.bridge.rules:Bridge",
    "mini-tichu": "kibitz.games.mini_tichu.rules:MiniTichu",
    "tichu": "kibitz.games.tichu.rules:Tichu",
    "diminishing-bridge": "kibitz.games.diminishing_bridge.rules:DiminishingBridge",
    "tic-tac-toe": "kibitz.games.tic_tac_toe.rules:TicTacToe",
    "othello": "kibitz.games.othello.rules:Othello",
    "backgammon": "kibitz.games.backgammon.rules:Backgammon",
}
"""Name → module:class of the games that come with Kibitz."""

ALIASES = {
    "boerenbridge": "diminishing-bridge",
    "oh-hell": "diminishing-bridge",
    "ohhell": "diminishing-bridge",
    "briscola": "briskola",
}
"""Other names of these games; `canonical` also accepts capitals and underscores."""


_served: dict[str, str] = {}
"""Name → path of files that a person has made known by a name, in this process."""


def load(spec: str) -> Any:
    """The game that a person's string names, with its parameters. A file may run from now on.

    >>> import kibitz
    >>> kibitz.load("briskola:seats=4").seats
    4
    """
    trust.allow(spec)
    return load_known(spec)


def load_for_play(spec: str) -> Any:
    """The game that a person's string names, with the options that its class adds when people play it.

    `for_play` of the class maps each of them to others: it is added unless one of these is named.
    """
    loaded = load(spec)
    given = {key for key, _ in specs.split(spec)[1]}
    added = [
        option
        for option, others in loaded.for_play.items()
        if given.isdisjoint({option.partition("=")[0], *others})
    ]
    return load(f"{spec.rstrip(':')}{',' if given else ':'}{','.join(added)}") if added else loaded


def load_known(spec: str) -> Any:
    """The game that a string from data names: an installed one, or a file that a person has allowed.

    Rules from a file are played once in the interpreter before anything else; `BadGame` if they fail.
    """
    game = _untried(spec)
    trial.try_out(game)
    return game


def load_untried(spec: str) -> Any:
    """The game that a person's string names, for those who look for its faults: it may fail, or crash."""
    trust.allow(spec)
    return _untried(spec)


def canonical(spec: str) -> str:
    """The string with the game's own name in it: results are stored under one name only.

    >>> canonical("Oh-Hell:cards=7"), canonical("my_game.py")
    ('diminishing-bridge:cards=7', 'my_game.py')
    """
    name, _ = specs.split(spec)
    if name in GAMES or specs.is_file(name):
        return spec
    own = name.lower().replace("_", "-")
    own = ALIASES.get(own, own)
    if own not in GAMES or name in known():  # a plug-in may have the alias as its name
        return spec
    return own + spec.strip()[len(name) :]


def _untried(spec: str) -> Any:
    name, given = specs.split(canonical(spec))
    if name == "openspiel":
        return _from_openspiel(spec.partition(":")[2])
    cls = game_class(name)
    values = specs.read_options(f"game {name}", given, parameters(cls), None)
    for key, value in values.items():  # words that stand for numbers
        if isinstance(cls.choices.get(key), dict):
            values[key] = cls.choices[key][value]
    game = cls(**values)
    game.validate()
    return game


_OPENS_A_FILE = re.compile(r"[/\\]|(?:file|path|root|dir)[^=,()]*=", re.I)
"""A parameter of OpenSpiel for files (`filename`, `puzzles_root`), wherever in the text, or a path."""


def _from_openspiel(text: str) -> Any:
    from kibitz.games import openspiel

    if _OPENS_A_FILE.search(text):
        raise Untrusted("a game of OpenSpiel that reads a file cannot be named here; use OpenSpiel itself")
    return openspiel.game_of(text)


def game_class(name: str) -> Any:
    """The class of a game, by name or by an allowed file."""
    if specs.is_file(name) or name in _served:
        return _from_file(Path(_served.get(name, name)))
    name = canonical(name)
    found = GAMES if name in GAMES else known()  # looking for plug-ins takes some milliseconds
    if name not in found:
        raise UnknownName(
            "game", name, {**found, **ALIASES}, hint=" A game of your own: its file, my_game.py."
        )
    module, _, cls = found[name].partition(":")
    return getattr(importlib.import_module(module), cls)


def about(cls: Any) -> str:
    """What a game says of itself in one line: the first one of its module or of its class."""
    own = cls.__doc__ or ""
    own = "" if own.startswith(f"{cls.__name__}(") else own  # Python's, of a tuple without one
    texts = (sys.modules[cls.__module__].__doc__ or "", own, cls.__name__)
    return next(line for text in texts for line in text.strip().splitlines()[:1])


def known() -> dict[str, str]:
    """Name → module:class of all games: Kibitz's own, installed plug-ins, and files known by a name."""
    return {**{point.name: point.value for point in entry_points(group="kibitz.games")}, **GAMES, **_served}


def make_known(file: str) -> str:
    """Let a person's file be a game like installed ones, under the name of the file, in this process."""
    name = Path(file).stem.replace("_", "-")
    if name in known():
        raise BadOption(
            f"{file} cannot be used under the name '{name}': there is such a game already; rename it"
        )
    load(file)
    _served[name] = str(Path(file).resolve())
    return name


def known_files() -> dict[str, str]:
    """Name → path of files that a person has made known by a name, for worker processes."""
    return dict(_served)


def inherit(files: Mapping[str, str]) -> None:
    """Know the files in a worker process that its parent knows, as far as they may run still."""
    _served.update(files)
    for name in files:
        with suppress(InputError):  # whoever asks for it is told
            game_class(name)


def parameters(cls: Any) -> dict[str, specs.Option]:
    """The parameters of a game as options; `choices` of the class limits their values."""
    options = {}
    for name, default in cls._field_defaults.items():
        choices = cls.choices.get(name, ())
        kind = type(default)
        if isinstance(choices, dict):
            kind, default = str, next(word for word, value in choices.items() if value == default)
        options[name] = specs.Option(name, kind, default, cls.help.get(name, ""), tuple(choices))
    return options


def plain_name(module: str) -> str:
    """The name of a game's module without what tells of the folder it lies in."""
    return re.sub(rf"^{trial.FILE_MODULE}(\w+)_[0-9a-f]{{8}}$", r"\1", module)


def _from_file(path: Path) -> Any:
    """The one game class in a file, loaded as a module: Numba does not keep code of `__main__`."""
    if path.suffix != ".py":
        raise BadOption(
            f"{quoted(path.name)} holds no game: a .npz file has counters, which an agent takes "
            f"(learned=FILE.npz); a game is a Python file, such as my_game.py"
        )
    texts = trust.must_be_allowed(str(path))
    path = path.resolve()
    if not texts:
        raise InputError(
            f"there is no file {quoted(path.name)[1:-1]}; give the path of a Python file with a game"
        )
    # The name holds a digest of the path: two files of one name must never share machine code.
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:8]
    name = f"{trial.FILE_MODULE}{path.stem}_{digest}"
    try:
        module = sources.run(name, path, texts)
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # rules that end Kibitz would end it without a word
        raise BadGame(
            f"{quoted(path.name)[1:-1]} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    found = [
        thing
        for thing in vars(module).values()
        if isinstance(thing, type) and hasattr(thing, "defaulted") and thing.__module__ == name
    ]
    if len(found) != 1:
        names = ", ".join(cls.__name__ for cls in found) or "none"
        raise BadGame(f"{quoted(path.name)[1:-1]} must hold exactly one class marked @game; found: {names}")
    if not getattr(found[0], "interpreted", False) and kernel.compiles():
        ending.may_crash(quoted(path.name)[1:-1])
    return found[0]
