"""What can go wrong. Every message says what was given, what is wrong and what would be right.

KibitzError
├── UsageError        (exit code 2)  names, options and numbers that do not exist
│   ├── UnknownName                  no such game, agent or option, with "did you mean"
│   └── BadOption                    a value that an option cannot take
├── MissingExtra      (exit code 4)  a part of Kibitz that is not installed
└── InputError        (exit code 3)  valid usage, but the input cannot be used
    ├── IllegalMove                  a card not in hand, a move out of turn
    ├── ParseError                   text that is neither a card nor a position
    ├── BadGame                      a game that breaks the protocol
    ├── Unsupported                  this algorithm cannot play this game, and why
    ├── Damaged                      a store whose tables, rows or values are not valid
    ├── Untrusted                    data names a file that nobody has allowed to run
    ├── TooLong                      text that takes too long to read
    └── Unwritable                   the output cannot be written
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing import parent_process
from typing import Any

_LONGEST_QUOTE = 60
_MOST_NAMES = 60


def quoted(text: str, longest: int = _LONGEST_QUOTE) -> str:
    """A quotation that fits into a message, on one line: characters that nobody can see are escaped.

    >>> quoted("x" * 1000)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'"
    """
    shown = text if len(text) <= longest else text[: longest - 1] + "…"
    return f"'{''.join(c if c.isprintable() else repr(c)[1:-1] for c in shown)}'"


class KibitzError(Exception):
    """Anything that Kibitz refuses to do, with the reason."""

    exit_code = 3

    @property
    def public(self) -> str:
        """The message as visitors of a server may read it."""
        return str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Processes send errors to each other, and some take other arguments than their message."""
        return _restored, (type(self), self.args, vars(self))


def _restored(kind: type[KibitzError], given: tuple[Any, ...], known: dict[str, Any]) -> KibitzError:
    error = kind.__new__(kind, *given)
    error.args = given
    vars(error).update(known)
    return error


class UsageError(KibitzError):
    """A name, an option or a number that does not exist or makes no sense."""

    exit_code = 2


class UnknownName(UsageError):
    """No such game, agent or option."""

    def __init__(self, kind: str, given: str, known: Iterable[str], hint: str = "") -> None:
        self.kind, self.given, self.known = kind, given, sorted(known)
        names = [quoted(name)[1:-1] for name in self.known[:_MOST_NAMES]]
        more = f" and {len(self.known) - _MOST_NAMES} more" if len(self.known) > _MOST_NAMES else ""
        near = difflib.get_close_matches(given[:_LONGEST_QUOTE].lower(), self.known, n=1, cutoff=0.5)
        guess = f"; did you mean {quoted(near[0])}?" if near else "."
        super().__init__(
            f"unknown {kind}: {quoted(given)}{guess} Available: {', '.join(names) or 'none'}{more}.{hint}"
        )


class BadOption(UsageError, ValueError):
    """An option has a value that cannot be used."""


class MissingExtra(KibitzError):
    """A part of Kibitz needs a library that is not installed."""

    exit_code = 4

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}': {install_command(extra)}")
        self.what, self.extra = what, extra

    @property
    def public(self) -> str:
        return f"{self.what} needs the extra '{self.extra}', which is not installed on this server"


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Import optional libraries in here: if one is missing, the error says how to install its extra."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "kibitz":  # a fault of ours, not a missing library
            raise
        raise MissingExtra(what, extra) from error


@cache
def say_once(text: str) -> None:
    """Tell something on standard error, once; what worker processes meet with, their parent has told."""
    if parent_process() is None:
        print(f"kibitz: {text}", file=sys.stderr)


def install_command(extra: str) -> str:
    """The command that adds an extra to the running Python, from where Kibitz itself was installed."""
    import json
    from importlib import metadata, util

    # The environment that `make` sets up has no pip of its own; another one can install into it.
    pip = f'"{sys.executable}" -m pip' if util.find_spec("pip") else f'pip --python "{sys.executable}"'
    try:
        origin = json.loads(metadata.distribution("kibitz").read_text("direct_url.json") or "{}")
    except metadata.PackageNotFoundError:
        origin = {}
    if "url" not in origin:  # from a package index
        return f'{pip} install "kibitz[{extra}]"'
    if origin.get("dir_info", {}).get("editable"):
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        return f'{pip} install -e "{url2pathname(urlsplit(origin["url"]).path)}[{extra}]"'
    return f'{pip} install "kibitz[{extra}] @ {origin["url"]}"'


class InputError(KibitzError):
    """Well formed, but it cannot be done."""


class IllegalMove(InputError, ValueError):
    """A move that the rules do not allow here."""


class ParseError(InputError, ValueError):
    """A text that means nothing in this place."""


class BadGame(InputError, TypeError):
    """A game that breaks the protocol."""


class Unsupported(InputError):
    """An algorithm that cannot play this game, with what it misses."""


class Damaged(InputError):
    """A file of Kibitz's own with something in it that Kibitz does not write."""


class Untrusted(InputError):
    """Data names a file, and no person has allowed it to run."""


class TooLong(InputError):
    """A text that takes too long to read; no `ParseError`, so that no parser goes on after it."""


class Unwritable(InputError, OSError):
    """A file or folder that cannot be written."""
