"""A limit of time for reading a text: whoever reads for somebody else sets it, and every parser looks at it.

    with deadline(2.0):
        notation, found = lines.read(text)

A thread cannot be stopped from outside, so the loops of the parsers call `check`, which raises `TooLong` once
the time is over. Outside of a `with` it does nothing. The limit holds for the current thread only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kibitz.errors import TooLong


class _Limit(threading.local):
    """The limit of one thread: when it is over, and how long it was."""

    ends: float | None = None
    seconds = 0.0


_limit = _Limit()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Let `check` in this thread raise `TooLong` after so many seconds; a limit around it still holds.

    >>> with deadline(10.0):
    ...     check()
    """
    outer = _limit.ends, _limit.seconds
    ends = time.monotonic() + seconds
    if _limit.ends is None or ends < _limit.ends:
        _limit.ends, _limit.seconds = ends, seconds
    try:
        yield
    finally:
        _limit.ends, _limit.seconds = outer


def check() -> None:
    """`TooLong`, if the time of this thread is over.

    A look at the clock costs as little as counting calls, so there is one every time: steps of a parser may
    take microseconds or many milliseconds.
    """
    ends = _limit.ends
    if ends is not None and time.monotonic() > ends:
        raise TooLong(
            f"the text took longer than {_limit.seconds:g} s to read; give less at once, such as one game"
        )
