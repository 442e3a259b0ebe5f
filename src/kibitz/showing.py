"""What goes out: text from data, made harmless for what it is shown in.

A store, a record, a table file or an experiment may be somebody else's, and their texts reach terminals and
spreadsheets. A terminal obeys control characters, and a spreadsheet calculates what looks like a formula.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any


def visible(text: str) -> str:
    r"""A text that no terminal obeys: what would not be seen is written out, but for line ends and tabs.

    That is control characters (ESC among them, and C1), marks that turn the direction of writing around, and
    what is no character at all.

    >>> print(visible("\x1b[2J and \u202e, but not é, ✓ or 點"))
    \x1b[2J and \u202e, but not é, ✓ or 點
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def in_one_line(text: str) -> str:
    r"""The same for a text that may not begin a line of its own: a cell of a table, a message.

    >>> print(in_one_line("one\nkibitz: two"))
    one\nkibitz: two
    """
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _visible(character: str) -> str:
    is_shown = character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs"
    return character if is_shown else character.encode("unicode_escape").decode()


def numbered(n: int, what: str) -> str:
    """So many things.

    >>> numbered(1, "deal"), numbered(2000, "deal")
    ('1 deal', '2,000 deals')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


_FORMULA = re.compile("[=+@\uff1d\uff0b\uff0d\uff20-]")  # the signs in full width, too


def for_spreadsheet(cell: Any) -> Any:
    """A cell of a table, in one line, that no spreadsheet takes for a formula; numbers stay what they are.

    >>> for_spreadsheet("=1+1"), for_spreadsheet("-1.5"), for_spreadsheet(-1.5)
    ("'=1+1", '-1.5', -1.5)
    """
    if not isinstance(cell, str):
        return cell
    text = in_one_line(cell)  # a line end would begin a row of its own for programs that know no quotes
    if not _FORMULA.match(text):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


class _Visible:
    """A stream to a person: all text is `visible`."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def everything_visible() -> Iterator[None]:
    """Whatever is printed meanwhile, by whomever, is `visible`."""
    out: Any = _Visible(sys.stdout)
    err: Any = _Visible(sys.stderr)
    with redirect_stdout(out), redirect_stderr(err):
        yield


def as_it_was(stream: Any) -> Any:
    """The stream itself, for what writes colours and live lines, and sees to `visible` texts on its own."""
    return stream.stream if isinstance(stream, _Visible) else stream
