"""Games and agents as strings: `briskola:seats=4`, `ismcts:1000,c=0.7`, `uct:time=1s`.

One grammar everywhere: a name, then after a colon options separated by commas, each `key=value`.
A first value without a key is the main option. Types and choices come from annotations. Instead of a name
there may be the path of a Python file: `my_game.py:seats=3`. `split` is the only place that takes such a
string apart: what one part of Kibitz takes for a name, no other part can take for a file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kibitz.errors import BadOption, UnknownName, quoted
from kibitz.reading import whole_number


@dataclass(frozen=True)
class Option:
    """What an option takes: a kind of number, or one of some words."""

    name: str
    kind: type | None
    default: Any
    help: str = ""
    choices: tuple[Any, ...] = ()
    least: float | None = None
    most: float | None = None
    words: bool = False
    """Any other word is allowed too; whoever uses it knows which."""

    def parse(self, text: str) -> Any:
        """The value that `text` means; `BadOption` says what would be right."""
        value = self._read(text.strip())
        if value is None or not self._fits(value):
            raise BadOption(f"{quoted(f'{self.name}={text}')} cannot be used: {self.name} is {self.takes}")
        return value

    def _read(self, text: str) -> Any:
        if self.kind is bool:
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
                text.lower()
            )
        if self.kind is Duration:
            return parse_duration(text)
        if self.choices and text in map(str, self.choices):
            return next(choice for choice in self.choices if str(choice) == text)
        if self.kind in (int, float):
            number = whole_number(text.replace("_", "")) if self.kind is int else _float(text)
            is_word = number is None and self.words and re.fullmatch(r"[a-z][\w-]*", text)
            return text if is_word else number
        return text if self.kind is str and not self.choices else None

    def _fits(self, value: Any) -> bool:
        if isinstance(value, str) or value in self.choices:
            return True
        if self.choices and not self._takes_numbers_too:
            return False
        finite = math.isfinite(value)
        above = self.least is None or value >= self.least
        return finite and above and (self.most is None or value <= self.most)

    @property
    def _takes_numbers_too(self) -> bool:
        """Whether words are allowed beside numbers, not instead of them."""
        return self.kind is float or (self.kind is int and self.least is not None)

    @property
    def takes(self) -> str:
        """The right values in words."""
        words = " or ".join(map(str, self.choices))
        if self.kind is bool:
            return "true or false"
        if self.kind is Duration:
            return "a time such as 200ms, 1.5s or 1m"
        if self.choices and not self._takes_numbers_too:
            return words
        number = {int: "a whole number", float: "a number", str: "a text"}[self.kind or str]
        if self.least is not None and self.most is not None:
            number += f" from {_plain(self.least)} to {_plain(self.most)}"
        elif self.least is not None:
            number += f" of at least {_plain(self.least)}"
        if self.words:
            words += " or a name that the game knows"
        return f"{words} or {number}" if words else number


_FLOAT = re.compile(r"[+-]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def _float(text: str) -> float | None:
    """A number with a point or an exponent, or without; None, if it is none."""
    return float(text.replace("_", "")) if len(text) <= 100 and _FLOAT.fullmatch(text) else None


def _plain(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


class Duration(float):
    """A time in seconds."""


_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0}


def parse_duration(text: str) -> float | None:
    """Seconds in a text such as `200ms`, `1.5s`, `2m`; None if it is no time above 0.

    >>> parse_duration("200ms"), parse_duration("soon")
    (0.2, None)
    """
    match = re.fullmatch(
        r"([0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})\s*(ms|s|m|min|)", text.strip().lower()
    )
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    return seconds if seconds > 0 else None


_FILES = (".py", ".npz")
_NAME = re.compile(r"[A-Za-z][\w-]+(?=:|$)|")
"""What is no path: letters, digits and hyphens up to the colon, but not the one letter of a Windows drive."""


def is_file(text: str) -> bool:
    """Whether the name of a game, or the value of an option, is the path of a file."""
    return text.endswith(_FILES)


def split(spec: str) -> tuple[str, list[tuple[str | None, str]]]:
    """The name (or the file) and the options of a string, not yet understood.

    >>> split("ismcts:1000,c=0.7")
    ('ismcts', [(None, '1000'), ('c', '0.7')])
    >>> split("games/my_game.py:seats=3")
    ('games/my_game.py', [('seats', '3')])
    >>> split("briskola:/../my_game.py")  # a name before the colon is a name, whatever follows
    ('briskola', [(None, '/../my_game.py')])
    """
    spec = spec.strip()
    path = None if _NAME.match(spec)[0] else re.match(r"[^\n]*?\.py(?=:|$)", spec)  # type: ignore[index]
    name, _, rest = (path[0], ":", spec[path.end() + 1 :]) if path else spec.partition(":")
    options: list[tuple[str | None, str]] = []
    for part in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = part.partition("=")
        options.append((key.strip(), value.strip()) if equals else (None, part))
    return name.strip(), options


def read_options(
    what: str, given: list[tuple[str | None, str]], options: Mapping[str, Option], main: str | None
) -> dict[str, Any]:
    """The values of the options that were given, checked."""
    if given and not options:
        raise BadOption(f"{what} takes no options, but {quoted(given[0][0] or given[0][1])} was given")
    values: dict[str, Any] = {}
    for position, (key, text) in enumerate(given):
        if key is None:
            if main is None or position > 0:
                raise BadOption(
                    f"{quoted(text)} in {what} has no name; write options as key=value"
                    + (f" (a first value without a name is {main})" if main else "")
                )
            key = main
        if key not in options:
            raise UnknownName(f"option of {what}", key, options)
        if key in values:
            raise BadOption(f"{what} has {key} twice; give it once")
        values[key] = options[key].parse(text)
    return values
