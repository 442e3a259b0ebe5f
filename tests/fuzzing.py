"""Texts that nobody means well with: valid ones, changed at random, and what is made of them.

A `Kind` is a parser, or a door behind which several stand, with texts that it reads. `Fuzzer` gives it
changed ones and keeps what comes out: nothing but `KibitzError` may, soon, and with a message on one line.
"""

import contextlib
import json
import random
import signal
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kibitz.errors import KibitzError

SLOWEST = 2.0
"""Seconds of one core for one input, all threads together."""
LARGEST = 60_000
"""Characters, as many as a page may send."""
LONGEST_MESSAGE = 2_000
_HANGS = 60

NASTY = (
    *("", " ", "\n", "\r", "\t", "\0", "\x1b[31m", "\x7f", "\ufeff", "\u200b", "\u202e", "\u2028", "\ud800"),
    *("²", "٣", "１", "½", "ﬆ", "ß", "İ", "ſ", "é", "e\u0301\u0316", "🂡", "−", "…"),
    *("0", "-0", "-1", "1", "00", "255", "256", "4300", "1_000", "+1", "0x10", "1.5", ".", "1e999", "-1e999"),
    *(str(2**31), str(2**53), str(2**63 - 1), str(2**63), str(-(2**63)), str(2**64), "9" * 400, "9" * 5000),
    *("NaN", "Infinity", "-inf", "nan", "true", "null", "None"),
    *('"', "'", "\\", "\\u", "\\ud800", "\\u0000", "`", "$", "%", "#", "##", "&", "*", "+", "-", "/", "//"),
    *("(", ")", "[", "]", "{", "}", "<", ">", "|", "||", ":", "::", ";", ",", ",,", "=", "==", "~", "^", "!"),
    *("../", "/dev/zero", "x.py", "x.py:", "C:\\x.py", "x.npz", "openspiel:chess", "{n}", "((", "[["),
)  # fmt: skip


@dataclass
class Kind:
    """Texts that are read by one parser, or go through one door."""

    name: str
    read: Callable[[str], Any]
    """Takes any text; only `KibitzError` may come out."""
    samples: list[str]
    """Texts that are right."""
    words: tuple[str, ...] = ()
    """What belongs to the notation, to be put where it does not belong."""
    is_json: bool = False
    largest: int = LARGEST
    share: float = 1.0
    """How often it is tried, against the others."""


@dataclass
class Count:
    """What came of the inputs of one kind."""

    inputs: int = 0
    refused: int = 0
    slowest: float = 0.0
    slowest_input: str = ""
    faults: list[tuple[str, str]] = field(default_factory=list)
    """Inputs, and what is wrong."""


class Fuzzer:
    """Tries inputs, and counts."""

    def __init__(self, seed: int) -> None:
        self.chooser = random.Random(seed)
        self.counts: dict[str, Count] = {}

    def run(self, kind: Kind, inputs: int) -> Count:
        """Try so many changed samples; the count of this kind."""
        for _ in range(inputs):
            self.attempt(kind, self.changed(kind))
        return self.counts.setdefault(kind.name, Count())

    def attempt(self, kind: Kind, text: str) -> Count:
        """Try one text."""
        count = self.counts.setdefault(kind.name, Count())
        began, fault = time.process_time(), ""
        try:
            with _no_longer_than(_HANGS), warnings.catch_warnings():
                warnings.simplefilter("error")
                kind.read(text)
        except KibitzError as error:
            count.refused += 1
            fault = trouble_of(str(error))
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"[:300]
        seconds = time.process_time() - began
        count.inputs += 1
        if seconds > count.slowest:
            count.slowest, count.slowest_input = seconds, text
        if seconds > SLOWEST:
            fault = fault or f"{seconds:.1f} s"
        if fault:
            count.faults.append((text, fault))
        return count

    # --- changing ---

    def changed(self, kind: Kind) -> str:
        """A sample, changed in one place or in several."""
        text = self.chooser.choice(kind.samples)
        if kind.is_json and self.chooser.random() < 0.6:
            text = self._changed_json(kind, text)
            if self.chooser.random() < 0.7:
                return text[: kind.largest]
        for _ in range(self.chooser.choice((1, 1, 1, 2, 3, 8))):
            text = self._changed_once(kind, text)
        return text[: kind.largest]

    def _changed_once(self, kind: Kind, text: str) -> str:
        chooser = self.chooser
        begin, end = self._span(text)
        way = chooser.randrange(100)
        if way < 20:
            return text[:begin] + self._word(kind) + text[end:]
        if way < 40:
            return text[:begin] + self._word(kind) + text[begin:]
        if way < 55:
            return text[:begin] + text[end:]
        if way < 65:
            return text[:end] + text[begin:end] + text[end:]
        if way < 72:
            other = chooser.choice(kind.samples)
            return text[:begin] + other[chooser.randrange(len(other) + 1) :]
        if way < 79:
            at, until = self._span(text)
            return text[:begin] + text[at:until] + text[end:]
        if way < 86:
            return (
                text[:begin]
                + chr(chooser.choice((chooser.randrange(128), chooser.randrange(0x3000))))
                + text[end:]
            )
        if way < 93:
            return text[:begin]
        if way < 98:
            return text[:begin] + text[begin:end].swapcase() + text[end:]
        run = (text[begin:end] if chooser.random() < 0.6 else self._word(kind)) or "x"
        return text[:begin] + run * (chooser.choice((2_000, kind.largest)) // len(run)) + text[end:]

    def _span(self, text: str) -> tuple[int, int]:
        begin = self.chooser.randrange(len(text) + 1)
        return begin, min(len(text), begin + self.chooser.choice((0, 1, 1, 2, 3, 5, 10, 40)))

    def _word(self, kind: Kind) -> str:
        return self.chooser.choice(kind.words if kind.words and self.chooser.random() < 0.4 else NASTY)

    def _changed_json(self, kind: Kind, text: str) -> str:
        try:
            document = json.loads(text)
        except ValueError:
            return text
        spots = list(_spots(document))
        if not spots:
            return text
        where, key = self.chooser.choice(spots)
        way = self.chooser.randrange(8)
        if way == 0:
            del where[key]
        elif way == 1 and isinstance(where, dict):
            where[self._word(kind)] = where.pop(key)
        elif way == 2:
            where[key] = [where[key]] * self.chooser.choice((1, 2, 50))
        elif way == 3:
            nested: Any = where[key]
            for _ in range(self.chooser.choice((1, 20, 400, 900))):
                nested = [nested] if self.chooser.random() < 0.7 else {"a": nested}
            where[key] = nested
        elif way == 4:
            other, there = self.chooser.choice(spots)
            where[key] = json.loads(json.dumps(other[there]))
        else:
            where[key] = self._value(kind)
        try:
            written = json.dumps(document, ensure_ascii=self.chooser.random() < 0.5)
        except RecursionError:
            return text
        return written.replace('"@1e999"', "1e999").replace('"@9"', "9" * 5000)

    def _value(self, kind: Kind) -> Any:
        values = (
            None,
            True,
            False,
            0,
            -1,
            1.5,
            2**31,
            2**63,
            2**64,
            -(2**70),
            float("inf"),
            float("nan"),
            [],
            {},
        )
        if self.chooser.random() < 0.6:
            return self.chooser.choice((*values, "@1e999", "@9"))
        return self._word(kind)


def trouble_of(message: str) -> str:
    """What is wrong with a message, if anything: it is one line, which can be printed and sent."""
    if len(message) > LONGEST_MESSAGE:
        return f"a message of {len(message)} characters: {message[:200]}"
    unseen = next((c for c in message if not c.isprintable()), None)
    return "" if unseen is None else f"a message with {unseen!r}: {message[:200]!r}"


def _spots(part: Any) -> Any:
    """The places of a document: what holds them, and where."""
    keys = list(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
    for key in keys:
        yield part, key
        yield from _spots(part[key])


@contextlib.contextmanager
def _no_longer_than(seconds: int) -> Any:
    """End what hangs, where signals can."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def hangs(*_: Any) -> None:
        raise TimeoutError(f"still reading after {seconds} s")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
