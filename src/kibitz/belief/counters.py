"""Counters: how often something was so in situations that a game tells apart, learned from finished games.

A game says with `lesson` what a position teaches, and with `predict` it deals by the learned chances.
`kibitz learn` plays the games and keeps what they teach step by step, so that the chances are known as
they were after any number of them. A file of counters is a compressed NumPy archive.
"""

from __future__ import annotations

import io
import json
import re
import struct
import sys
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz import specs, trust
from kibitz.errors import BadOption, InputError, Unsupported, Unwritable, quoted
from kibitz.reading import file_bytes

STEP = 1000
"""Games between two states of the counters that can be asked for."""


@dataclass
class Counters:
    """What was learned from the games of one agent against itself."""

    game: str
    agent: str
    seed: int
    situations: int
    step: int = STEP
    seen: bool = False
    """Counted was what seats have shown by their moves, not what they held."""
    rounds: int = 0
    """Games learned from."""
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0, 2), np.int64))
    """[step, situation, 0: it was not so, 1: it was], what each step has added."""
    dealt: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    """[step, …]: worlds dealt for trial, those that were right if dealt at random, if by the counters.

    By the counters as they were before the step. Right: the next player has, or has not, what he really has.
    """

    def open_step(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The counts and the trials of the step that the next game belongs to."""
        if self.rounds % self.step == 0 and len(self.counts) * self.step == self.rounds:
            self.counts = np.concatenate(
                [self.counts.reshape(-1, self.situations, 2), np.zeros((1, self.situations, 2), np.int64)]
            )
            self.dealt = np.concatenate([self.dealt, np.zeros((1, 3), np.int64)])
        return self.counts[-1], self.dealt[-1]

    def chances(self, lessons: int = 0) -> NDArray[np.float64]:
        """How likely it is in every situation, as learned from the first `lessons` games; 0: from all."""
        steps = -(-lessons // self.step) if lessons else len(self.counts)
        if lessons > self.rounds or (lessons % self.step and lessons != self.rounds):
            raise BadOption(
                f"'lessons={lessons}' cannot be used: the counters of {quoted(self.agent)[1:-1]} were "
                f"learned from {self.rounds} games in steps of {self.step}; 0: all"
            )
        return chances_of(self.counts[:steps].sum(axis=0))

    def changes(self) -> NDArray[np.float64]:
        """For every step the mean change of the chances in percentage points, of those known before."""
        found = np.full(len(self.counts), np.nan)
        total = np.zeros((self.situations, 2), np.int64)
        for step, more in enumerate(self.counts):
            is_known = total.sum(axis=1) > 0
            if is_known.any():
                change = np.abs(chances_of(total + more) - chances_of(total))[is_known]
                found[step] = 100 * change.mean()
            total = total + more
        return found

    def to_dict(self) -> dict[str, Any]:
        """What was learned, without the counters themselves."""
        trials = np.maximum(self.dealt[:, 0], 1)
        steps = [
            {
                "rounds": min((i + 1) * self.step, self.rounds),
                "change": float(change),
                "trials": int(self.dealt[i, 0]),
                "right_at_random": float(100 * self.dealt[i, 1] / trials[i]),
                "right_by_counters": float(100 * self.dealt[i, 2] / trials[i]),
            }
            for i, change in enumerate(self.changes())
        ]
        known = int((self.counts.sum(axis=(0, 2)) > 0).sum()) if len(self.counts) else 0
        return {
            "game": self.game,
            "agent": self.agent,
            "seed": self.seed,
            "seen": self.seen,
            "rounds": self.rounds,
            "situations": self.situations,
            "situations_met": known,
            "steps": steps,
        }

    def table(self) -> tuple[list[str], list[list[str]], str]:
        """Columns, rows and title for a terminal."""
        told = self.to_dict()
        rows = [
            [
                f"{step['rounds']:,}",
                "–" if np.isnan(step["change"]) else f"{step['change']:.2f}",  # nothing was known before
                f"{step['trials']:,}",
                *(f"{step['right_at_random']:.1f}", f"{step['right_by_counters']:.1f}"),
            ]
            for step in told["steps"]
        ]
        title = (
            f"{self.game}: {self.rounds:,} games of {self.agent} against itself, seed {self.seed}; "
            f"{told['situations_met']:,} of {self.situations:,} situations met"
        )
        return ["games", "change in points", "worlds", "% right at random", "by counters"], rows, title

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        told = {
            name: getattr(self, name)
            for name in ("game", "agent", "seed", "situations", "step", "seen", "rounds")
        }
        draft = path.with_name(path.name + ".part")
        try:
            with draft.open("wb") as file:
                np.savez_compressed(
                    file, about=np.array(json.dumps(told)), counts=_small(self.counts), dealt=self.dealt
                )
            draft.replace(path)
        except OSError as error:
            raise Unwritable(f"{path} cannot be written: {error.strerror}") from error


def chances_of(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The share of the cases in which it was so; 0 where nothing is known: nothing is foreseen then."""
    return counts[:, 1] / np.maximum(counts.sum(axis=1), 1)


def _small(counts: NDArray[np.int64]) -> NDArray[Any]:
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def load(path: Path) -> Counters:
    """The counters of a file."""
    return read(file_bytes(path, "`kibitz learn` makes one"), path.name)


def read(content: bytes, where: str) -> Counters:
    """The counters that a file, called `where` in messages, holds."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            about, counts, dealt = json.loads(str(file["about"])), file["counts"], file["dealt"]
        if not {counts.dtype.kind, dealt.dtype.kind} <= {"i", "u"}:
            raise ValueError("counts are whole numbers")
        found = Counters(**about, counts=counts.astype(np.int64), dealt=dealt.astype(np.int64))
        if not (isinstance(found.game, str) and isinstance(found.agent, str)):
            raise ValueError("the game and the agent are texts")
        if not all(map(_is_number, (found.seed, found.situations, found.rounds, found.step - 1))):
            raise ValueError("a number is none, or below 0")
        steps = -(-found.rounds // found.step)
        if counts.shape != (steps, found.situations, 2) or dealt.shape != (steps, 3):
            raise ValueError(f"not as many counts as {found.rounds} games make")
        if min(found.counts.min(initial=0), found.dealt.min(initial=0)) < 0:
            raise ValueError("a count is below 0")
        return found
    except _UNREADABLE as error:
        reason = quoted(str(error), 200)[1:-1]
        raise InputError(f"{quoted(where)[1:-1]} holds no counters of `kibitz learn`: {reason}") from None


_UNREADABLE = (
    *(OSError, ValueError, LookupError, TypeError, ArithmeticError, EOFError, RuntimeError, MemoryError),
    *(SyntaxError, struct.error, zipfile.BadZipFile, zlib.error),
)
"""What NumPy and its helpers raise for a file that is none of theirs, or damaged."""


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def find(game: Any, learned: str) -> Counters:
    """The counters in a file, or those that lie beside the rules of a game under the name of an agent."""
    if specs.is_file(learned):
        texts = trust.must_be_allowed(learned)
        if not texts:
            raise InputError(f"there is no file {quoted(Path(learned).name)[1:-1]}; `kibitz learn` makes one")
        (content,) = texts.values()
        found = read(content, Path(learned).name)
    elif not re.fullmatch(r"[\w-]{1,100}", learned):
        raise BadOption(f"{quoted(f'learned={learned}')} is neither the name of an agent nor a file FILE.npz")
    else:
        beside = Path(str(sys.modules[type(game).__module__].__file__)).parent / "counters"
        path = beside / f"{learned}.npz"
        if not path.is_file():
            there = ", ".join(sorted(file.stem for file in beside.glob("*.npz"))) or "none"
            raise Unsupported(
                f"no counters of {quoted(learned)[1:-1]} come with {type(game).__name__}; there are those "
                f"of: {there}. Choose one of them with learned=NAME, or make a file with `kibitz learn` "
                f"and give learned=FILE.npz"
            )
        found = load(path)
    if found.situations != game.situations:
        raise Unsupported(
            f"the counters of {quoted(found.agent)[1:-1]} are for {quoted(found.game)[1:-1]} and its "
            f"{found.situations} situations; {type(game).__name__} has {game.situations}"
        )
    return found
