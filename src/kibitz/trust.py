"""Which files may run: those that a person has named in this process, and no others.

Games and agents are strings, and a string may name a file: `my_game.py` holds rules, which are code;
`learned=counters.npz` holds counters. There are two doors to one loader:

- `games.load` and `agents.make_agent` are for a person's strings, from the command line or from Python. They
  allow the files in their string, then go through the other door.
- `games.load_known` and `agents.make_known_agent` are for strings from data: browsers, stores, records,
  experiments. They reach installed names, and files that a person has allowed already.

A file is allowed together with the digest of its source, so code that has changed since does not run
unnoticed. Worker processes inherit what their parent may run (`allowed`, `inherit`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from kibitz import sources, specs
from kibitz.errors import InputError, Untrusted, quoted

Recorded = dict[str, frozenset[str]]
"""The files that data name, each with the digests that were recorded of it; several, if it has changed."""
Allow = Callable[[Recorded], None]
"""Asked before files that data name are run."""

_allowed: dict[str, str] = {}
"""Path → digest of the source when it was allowed."""


def files_in(spec: str) -> list[str]:
    """The files that the string of a game or an agent names.

    >>> files_in("my_game.py:seats=3"), files_in("castelein-mcts:learned=mine.npz"), files_in("briskola")
    (['my_game.py'], ['mine.npz'], [])
    """
    name, options = specs.split(spec)
    return [text for text in (name, *(value for _, value in options)) if specs.is_file(text)]


def allow(*given: str) -> None:
    """A person has named these games and agents: the files in their strings may run in this process."""
    for spec in given:
        for file in files_in(spec):
            allow_file(file)


def allow_file(file: str, recorded: frozenset[str] = frozenset()) -> None:
    """Let a file run; if digests of it were recorded, only if one of them agrees."""
    found = digest(file)
    if not found:
        hint = (
            "`kibitz learn` makes one"
            if file.endswith(".npz")
            else "give the path of a Python file with a game"
        )
        raise InputError(f"there is no file {_shown(Path(file).name)}; {hint}")
    if recorded and found not in recorded:
        then = ", ".join(f"{each[:16]}…" for each in sorted(recorded))
        raise Untrusted(
            f"{_shown(file)} has changed since its digest was recorded (sha256 {then} then, {found[:16]}… "
            f"now), so it is not run; restore the file as it was"
        )
    _allowed[_key(file)] = found


def must_be_allowed(file: str) -> sources.Texts:
    """The texts of a file and of its helpers; `Untrusted`, unless a person has allowed them as they are.

    Whoever goes on uses these texts, for a file may be replaced after any look at it.
    """
    key = _key(file)
    if key not in _allowed:  # nothing here tells whether there is such a file
        raise Untrusted(
            f"'{_shown(file)}' is a file, and files that are named by data are not run; name it yourself on "
            f"the command line, or look at it and repeat the command with --trust where there is that option"
        )
    texts = _texts(file)
    if _allowed[key] != _digest_of(texts):
        raise Untrusted(
            f"{_shown(Path(file).name)} has changed since it was allowed to run; start again to use it"
        )
    return texts


def digest_in_use(file: str) -> str:
    """The digest of a file as a person has allowed it, which may have changed since; else as it is now."""
    return _allowed.get(_key(file)) or digest(file)


def allowed() -> dict[str, str]:
    """What may run here, for worker processes: path → digest."""
    return dict(_allowed)


def inherit(permissions: Mapping[str, str]) -> None:
    """Let a worker process run what its parent may run."""
    _allowed.update(permissions)


def digest(file: str) -> str:
    """The SHA-256 of a file and of the Python files beside it that it imports; empty, if there is none."""
    return _digest_of(_texts(file))


def helpers(file: str) -> list[str]:
    """The Python files beside a file that it imports, and that run with it."""
    return sorted(set(_texts(file)) - {Path(_key(file)).name})


def _digest_of(texts: sources.Texts) -> str:
    hashed = hashlib.sha256()
    for name, content in sorted(texts.items()):
        hashed.update(f"{name} {len(content)}\n".encode("utf-8", "surrogateescape") + content)
    return hashed.hexdigest() if texts else ""


def _texts(file: str) -> sources.Texts:
    try:
        return sources.collect(Path(_key(file)))
    except ValueError:  # a text that cannot be a path
        return {}
    except OSError as error:
        raise InputError(f"'{_shown(file)}' cannot be read: {error.strerror or error}") from error


def _shown(file: str) -> str:
    """A path in a message: its end says most."""
    return quoted(file[-60:])[1:-1]


def _key(file: str) -> str:
    try:
        return os.path.realpath(file)
    except (OSError, ValueError):  # a text that cannot be a path
        return file
