"""What commands print: JSON documents, tables and other text, warnings and progress."""

from __future__ import annotations

import json
import math
import shutil
import sys
from typing import TYPE_CHECKING, Any, Literal

from kibitz import __version__, showing

if TYPE_CHECKING:
    from kibitz.terminal import Story


def document(kind: str, content: dict[str, Any]) -> None:
    """Print the one JSON document of a command."""
    whole = {"schema": f"kibitz.{kind}/1", "kibitz": __version__, **content}
    print(json.dumps(_finite(whole), indent=1, allow_nan=False))


def _finite(content: Any) -> Any:
    """The same content with null for infinity and NaN, which JSON does not have."""
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def print_table(columns: list[str], rows: list[list[str]], title: str = "") -> None:
    """Print a table whose first column is text and whose others are numbers.

    If it is too wide, the headings are broken into lines.
    """
    from textwrap import wrap

    from rich.console import Console
    from rich.table import Table

    columns, *rows = [list(map(showing.in_one_line, line)) for line in (columns, *rows)]
    out, is_terminal = showing.as_it_was(sys.stdout), sys.stdout.isatty()
    console = Console(
        file=out, highlight=False, markup=False, emoji=False, width=None if is_terminal else 140
    )
    cells = [max([0, *map(len, column)]) for column in zip(*rows, strict=True)] or [0] * len(columns)

    def width(headings: list[list[str]]) -> int:
        return sum(max(n, *map(len, lines)) + 2 for lines, n in zip(headings, cells, strict=True)) - 2

    headings = [[column] for column in columns]
    if width(headings) > console.width:
        headings = [wrap(column, max(12, n)) or [""] for column, n in zip(columns, cells, strict=True)]
    if not is_terminal:
        console.width = max(console.width, width(headings))
    table = Table(title=showing.visible(title) or None, title_justify="left", box=None, pad_edge=False)
    table.add_column(columns[0], overflow="fold", vertical="bottom")
    for column, lines in zip(columns[1:], headings[1:], strict=True):
        justify: Literal["left", "right"] = "left" if column == "verdict" else "right"
        table.add_column("\n".join(lines), justify=justify, no_wrap=True, vertical="bottom")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def bullet(sentence: str) -> str:
    """A sentence in a list; on a terminal its lines end between words."""
    from textwrap import fill

    text = f"• {showing.in_one_line(sentence)}"
    if not sys.stdout.isatty():
        return text
    return fill(text, shutil.get_terminal_size().columns, subsequent_indent="  ", break_on_hyphens=False)


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> [duration(seconds) for seconds in (0.04, 89.4, 5369, 7200)]
    ['0.0 s', '89 s', '89 min', '2 h 00 min']
    """
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


def as_typed(value: Any) -> str:
    """The value of an option as one would type it."""
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def warn(text: str) -> None:
    """Print a line on standard error, where messages go."""
    print(f"kibitz: {showing.in_one_line(text)}", file=sys.stderr)


def story(tells_compiled: bool = True) -> Story:
    """Progress and compilation, shown on standard error from now on."""
    from kibitz import kernel, terminal

    story = terminal.Story(tells_compiled)
    kernel.compile_report = story.compiling
    return story
