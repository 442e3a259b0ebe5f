"""Boards of Bridge in files: PBN (Portable Bridge Notation 2.1) and LIN (Bridge Base Online).

`load` and `save` are the doors. The other names are here so that who works with files has them all in one
place: `Board` is what a file tells of one deal, `position` makes a position of the game of a board, and
`board_of` a board of a position. What cannot be read is a `ParseError` that names the line and the reason.

The texts are read and written in `pbn` and `lin`, not by endplay: its readers take a card twice or a hand of
twelve without a word and have no line numbers; its writers drop comments, sections, notes, and the fourth
hand of an ending.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from kibitz.errors import BadOption, ParseError, Unwritable
from kibitz.games.bridge.board import VULNERABLE, Board, Fault, Note, Tag, all_right, board_of, position
from kibitz.games.bridge.lin import each_lin, read_lin, write_lin
from kibitz.games.bridge.pbn import each_pbn, read_pbn, write_pbn
from kibitz.reading import file_bytes

__all__ = [
    "VULNERABLE",
    "Board",
    "Fault",
    "Note",
    "Tag",
    "board_of",
    "load",
    "load_each",
    "position",
    "read",
    "read_lin",
    "read_pbn",
    "save",
    "write_lin",
    "write_pbn",
]

_READERS = {".pbn": each_pbn, ".lin": each_lin}
_WRITERS = {".pbn": write_pbn, ".lin": write_lin}


def load(path: Path | str) -> list[Board]:
    """The boards of a file. Its suffix says how it is written, .pbn or .lin, or else its first letters."""
    return all_right(load_each(path))


def load_each(path: Path | str) -> Iterator[Board | Fault]:
    """The boards of a file, one after the other, and in their places those that cannot be read."""
    path = Path(path)
    data = file_bytes(path)
    try:
        for each in _read_each(_decoded(data), path.suffix):
            if isinstance(each, Fault):
                yield each._replace(error=ParseError(f"{path.name}: {each.error}"))
            else:
                yield each
    except ParseError as error:
        raise ParseError(f"{path.name}: {error}") from None


def save(boards: Iterable[Board], path: Path | str) -> None:
    """Write boards to a file, as its suffix says, .pbn or .lin."""
    path = Path(path)
    writer = _WRITERS.get(path.suffix.lower())
    if writer is None:
        raise BadOption(f"{path.name} is neither .pbn nor .lin; the name says what is written")
    text = writer(boards)
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise Unwritable(f"{path} cannot be written: {error.strerror or error}") from error


def read(text: str, suffix: str = "") -> list[Board]:
    """The boards of a text, PBN or LIN; its first letters tell if the suffix of its file does not."""
    return all_right(_read_each(text, suffix))


def _read_each(text: str, suffix: str) -> Iterator[Board | Fault]:
    try:
        text.encode()
    except UnicodeEncodeError:  # it could be written nowhere
        raise ParseError("there is half a character in the text, such as \\ud800") from None
    looks_like = ".lin" if re.match(r"[\ufeff\s]*[A-Za-z]{2}\|", text) else ".pbn"
    return _READERS.get(suffix.lower(), _READERS[looks_like])(text)


def _decoded(data: bytes) -> str:
    """UTF-8, or else Latin-1, which is PBN's own."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")
