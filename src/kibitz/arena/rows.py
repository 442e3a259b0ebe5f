"""Values of a store, read strictly: it may be damaged, and it may be somebody else's.

SQLite keeps any value in any column, and JSON in a text can be anything. What Kibitz would not have written
is `Damaged`, and the message names the store, the table, the row and the column.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.errors import Damaged, quoted
from kibitz.reading import LARGEST_NUMBER
from kibitz.showing import in_one_line


@dataclass(frozen=True)
class Row:
    """Where a value stands, and what it has to be."""

    store: Any
    table: str
    name: str
    """What tells the row from others: its number, a match and a deal."""

    def damaged(self, what: str) -> Damaged:
        return Damaged(
            f"the store {self.store} is damaged: table {self.table}, row {in_one_line(self.name)}: {what}; "
            f"restore the store from a copy, or delete this row"
        )

    def _not(self, column: str, value: Any, right: str) -> Damaged:
        return self.damaged(f"{column} is {in_one_line(quoted(str(value)))}, not {right}")

    def text(self, column: str, value: Any) -> str:
        """A text, in Unicode."""
        if not isinstance(value, str) or not _is_whole(value):
            raise self._not(column, value, "a text")
        return value

    def whole(self, column: str, value: Any, least: int = 0, most: int = LARGEST_NUMBER) -> int:
        """A whole number."""
        if type(value) is not int or not least <= value <= most:
            raise self._not(column, value, f"a whole number from {least} on")
        return value

    def number(self, column: str, value: Any) -> float:
        """A finite number."""
        if type(value) not in (int, float) or not math.isfinite(value):
            raise self._not(column, value, "a number")
        return float(value)

    def flag(self, column: str, value: Any) -> bool:
        """0 or 1."""
        return bool(self.whole(column, value, 0, 1))

    def json(self, column: str, value: Any, kind: type, right: str) -> Any:
        """What a JSON text says, which must be of some kind."""
        try:
            found = json.loads(self.text(column, value))
        except (ValueError, RecursionError):
            found = None
        if type(found) is not kind:
            raise self._not(column, value, right)
        return found

    def texts(self, column: str, value: Any) -> list[str]:
        """A list of texts, at least one."""
        found = self.json(column, value, list, "a list of texts")
        if not found or not all(isinstance(each, str) and _is_whole(each) for each in found):
            raise self._not(column, value, "a list of texts")
        return list(found)

    def mapping(self, column: str, value: Any) -> dict[str, Any]:
        """Anything under names."""
        found: dict[str, Any] = self.json(column, value, dict, "a JSON object")
        if not all(map(_is_whole, found)):
            raise self._not(column, value, "a JSON object")
        return found

    def wholes(self, column: str, value: Any) -> list[int]:
        """A list of whole numbers."""
        found = self.json(column, value, list, "a list of whole numbers")
        if not all(type(each) is int and abs(each) <= LARGEST_NUMBER for each in found):
            raise self._not(column, value, "a list of whole numbers")
        return list(found)

    def seatings(self, column: str, value: Any, seats: int, agents: int) -> list[list[int]]:
        """Of every game of a deal, which agent has which seat."""
        found = self.json(column, value, list, "a list of seatings")
        if not found or not all(
            isinstance(each, list) and len(each) == seats and all(_is_below(a, agents) for a in each)
            for each in found
        ):
            raise self._not(column, value, f"a list of seatings of {agents} agents on {seats} seats")
        return list(found)

    def scores(self, column: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Numbers in an array; null, where there is none."""
        n, found = math.prod(shape), self.json(column, value, list, "a list of numbers")
        if len(found) != n or not set(map(type, found)) <= {int, float, type(None)}:
            raise self._not(column, value, f"{n} numbers")
        try:
            numbers = np.array(found, float).reshape(shape)
        except OverflowError:
            raise self._not(column, value, f"{n} numbers") from None
        if np.isinf(numbers).any():
            raise self._not(column, value, f"{n} numbers")
        return numbers

    def sums(self, column: str, value: Any, shape: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        """Arrays of numbers under names, whole ones as such."""
        found = {}
        for name, numbers in self.mapping(column, value).items():
            try:
                found[name] = np.array(numbers)
            except (ValueError, RecursionError):
                raise self._not(column, value, "numbers under names") from None
            if found[name].shape != shape or found[name].dtype.kind not in "if":
                raise self._not(column, value, f"numbers under names, {' × '.join(map(str, shape))} of each")
            if not np.isfinite(found[name]).all():
                raise self._not(column, value, "numbers under names")
        return found


def _is_whole(text: str) -> bool:
    """Whether a text can be written anywhere: no halves of characters, no bytes that were no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_below(value: Any, end: int) -> bool:
    return type(value) is int and 0 <= value < end
