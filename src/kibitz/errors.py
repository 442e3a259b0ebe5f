"""What can go wrong. Every message says what was given, what is wrong and what would be right.

KibitzError
├── UsageError        (exit code 2)  names, options and numbers that do not exist
│   ├── UnknownName                  no such game, agent or option, with "did you mean"
│   └── BadOption                    an option's value cannot be used
├── MissingExtra      (exit code 4)  a part of Kibitz that is not installed
└── InputError        (exit code 3)  what was given is well formed but cannot be done
    ├── IllegalMove                  a card not in hand, a move out of turn
    ├── ParseError                   text that is no card, no position
    ├── BadGame                      a game that breaks the protocol
    ├── Unsupported                  this algorithm cannot play this game, and why
    └── Unwritable                   the output cannot be written
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class KibitzError(Exception):
    """Anything that Kibitz refuses to do, with the reason."""

    exit_code = 3


class UsageError(KibitzError):
    """A name, an option or a number that does not exist or makes no sense."""

    exit_code = 2


class UnknownName(UsageError):
    """No such game, agent or option."""

    def __init__(self, kind: str, given: str, known: Iterable[str], hint: str = "") -> None:
        self.kind, self.given, self.known = kind, given, sorted(known)
        near = difflib.get_close_matches(given.lower(), self.known, n=1, cutoff=0.5)
        guess = f"; did you mean '{near[0]}'?" if near else "."
        super().__init__(
            f"unknown {kind}: '{given}'{guess} There is: {', '.join(self.known) or 'none'}.{hint}"
        )


class BadOption(UsageError, ValueError):
    """An option has a value that cannot be used."""


class MissingExtra(KibitzError):
    """A part of Kibitz needs a library that is not installed."""

    exit_code = 4

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}': pip install 'kibitz[{extra}]'")


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


class Unwritable(InputError, OSError):
    """A file or folder that cannot be written."""
