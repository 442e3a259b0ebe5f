"""What comes from outside, read strictly: whole numbers in texts, JSON, and files.

Python's own readers take too much: `int` reads digits of every script, `str.isdigit` takes `²` for one, JSON
may hold `NaN` and half a character, and a device can be read without end.
"""

from __future__ import annotations

import errno
import json
import math
import re
import reprlib
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kibitz.errors import InputError, ParseError, quoted

LARGEST_NUMBER = (1 << 63) - 1
"""What 64 bits hold, with their sign."""
LARGEST_FILE = 64_000_000
"""Bytes: thousands of evenings of bridge, and far more than any other file that Kibitz reads."""
_NUMBER = re.compile("-?[0-9]{1,19}")
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


# --- whole numbers ---------------------------------------------------------------------------------


def whole_number(text: str) -> int | None:
    """The number that a text is, in digits 0 to 9; None, if it is none, or larger than 64 bits hold.

    >>> whole_number(" 12 "), whole_number("-3"), whole_number("²"), whole_number("9" * 5000)
    (12, -3, None, None)
    """
    text = text.strip()
    number = int(text) if _NUMBER.fullmatch(text) else None
    return number if number is not None and abs(number) <= LARGEST_NUMBER else None


def is_number(text: str) -> bool:
    """Whether a text is meant as a number, even as one that cannot be used: `²`, or far too many digits."""
    return text.strip().isdigit()


def deal_number(text: str) -> int:
    """The number of a deal, as people give it; `ParseError` says what would be right."""
    number = whole_number(text)
    if number is None or number < 0:
        raise ParseError(f"{quoted(text)} is not a deal number; write it in digits, from 0 to 2⁶³ − 1")
    return number


def told_number(value: Any, what: str) -> int:
    """A whole number in a document, told as one or as text; `ParseError` names `what` it is.

    >>> told_number("7", "'seed'")
    7
    """
    number = whole_number(value) if isinstance(value, str) else value
    if not isinstance(number, int) or isinstance(number, bool) or abs(number) > LARGEST_NUMBER:
        raise ParseError(f"{what} is {told(value)}; a whole number of at most 19 digits would be right")
    return number


def told(value: Any) -> str:
    """A value of a document as messages quote it, however large or deep it is."""
    return _short.repr(value)


# --- JSON ------------------------------------------------------------------------------------------


def json_number(word: str) -> int | float:
    """A number in JSON: whole ones of at most 64 bits, others finite."""
    found = whole_number(word) if re.fullmatch("-?[0-9]+", word) else float(word)
    if found is None or not math.isfinite(found):
        raise ParseError(f"{quoted(word)} is not a number that can be used")
    return found


def json_value(text: str, where: str = "", number: Callable[[str], Any] = json_number) -> Any:
    """What a JSON text holds, its numbers read by `number`; `ParseError` tells `where` and the line."""
    place = f"{where}, line" if where else "line"
    try:
        found = json.loads(text, parse_int=number, parse_float=number, parse_constant=number)
        if "\\u" in text:  # an escape may be half of a character, which can be written nowhere
            json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ParseError(f"{place} {error.lineno}: no JSON: {error.msg}") from None
    except RecursionError:
        raise ParseError(f"{where or 'this JSON'} is nested too deeply") from None
    except UnicodeEncodeError:
        raise ParseError(
            f"{where or 'this JSON'} has an escape, such as \\ud800, for half a character"
        ) from None
    return found


# --- files -----------------------------------------------------------------------------------------


def file_bytes(path: Path, hint: str = "check its name") -> bytes:
    """What a file holds; `InputError` with a `hint`, if there is none, or nothing that has an end."""
    shown = str(path) if len(str(path)) <= 120 and str(path).isprintable() else quoted(str(path))
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{shown} cannot be read: it is a folder; {hint}")
        if not stat.S_ISREG(mode):
            raise InputError(
                f"{shown} cannot be read: it is a device or a pipe; copy what it holds to a file"
            )
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"there is no file {shown}; {hint}") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"there is no file {shown}; {hint}") from error
        raise InputError(f"{shown} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a name with a byte 0
        raise InputError(f"there is no file {shown}; {hint}") from error
    if len(data) > LARGEST_FILE:
        raise InputError(f"{shown} has more than {LARGEST_FILE:,} bytes; divide it into smaller files")
    return data


def file_text(path: Path, hint: str = "check its name") -> str:
    """The text that a file holds, in UTF-8."""
    try:
        return file_bytes(path, hint).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} cannot be read: it is not text in UTF-8; {hint}") from None


def is_file(text: str) -> bool:
    """Whether a text is the name of something on disk; any text may be asked about."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # longer than a name can be, or with a byte 0
        return False
