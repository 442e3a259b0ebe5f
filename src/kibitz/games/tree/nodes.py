"""Nodes as they are written, in whichever notation, and the game that a tree of them is."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from kibitz.deadline import check
from kibitz.errors import ParseError, quoted
from kibitz.games.tree.rules import END, Tree
from kibitz.position import State
from kibitz.protocol import CHANCE

MOST_WORDS = 1_000_000
"""Of a tree, in either notation: no more than some hundred megabytes of memory."""
KINDS = "max, min, chance, 'seat 0' or a number, such as 3 or -1.5"


@dataclass
class Node:
    """A node as it was written. `what` is max, min, chance, leaf, "seat 0" or named."""

    what: str
    scores: tuple[float, ...] | None = None
    """The value of a leaf, the evaluation of any other node; one number, or one per seat."""
    name: str = ""
    """What the branch to it is called."""
    odds: Fraction | None = None
    is_noisy: bool = False
    is_same: bool = False
    children: list[Node] = field(default_factory=list)
    place: str = ""
    """Where it is written, for messages."""
    to: str = ""
    """The name of the node that is meant, if it stands elsewhere; that is its `target` then."""
    target: Node | None = None


@dataclass(frozen=True)
class HandWritten:
    """A tree as a game, and what its branches are called."""

    game: Tree
    names: list[str]

    def root(self) -> State:
        """The position before the first move."""
        return State(self.game)

    def move_text(self, move: int) -> str:
        """The name of a branch."""
        return self.names[move]

    def text_at(self, position: Any, move: int) -> str:
        """The same: every branch has a number of its own."""
        return self.move_text(move)


def demand(is_so: bool, place: str, reason: str) -> None:
    """`ParseError` with the place and the reason, unless it is so."""
    if not is_so:
        raise ParseError(f"{place}: {reason}")


# --- numbers --------------------------------------------------------------------------------------

_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+/[0-9]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]{1,3})?)", re.IGNORECASE
)
_LONGEST = 100
"""Characters of a number: what is longer takes time to read and says no more."""
_LARGEST = 10**100
"""Sums of larger numbers are not safe."""


def exact(text: str) -> Fraction | None:
    """The number that a text means, with a minus sign of any kind; None, if it is none.

    >>> exact("1/6"), exact("−1.5"), exact("1e9999999")
    (Fraction(1, 6), Fraction(-3, 2), None)
    """
    plain = text.replace("−", "-")
    if len(plain) > _LONGEST or not _NUMBER.fullmatch(plain):
        return None
    try:
        found = Fraction(plain)
    except ZeroDivisionError:
        return None
    return found if abs(found) <= _LARGEST else None


def number(text: str, place: str) -> float:
    """The value of a leaf, or an evaluation."""
    found = exact(text)
    if found is None:
        raise ParseError(f"{place}: {quoted(text)} is not a node; write {KINDS}")
    return float(found)


def probability(text: str, place: str) -> Fraction:
    """The share that is written before an outcome of chance."""
    found = exact(text.removesuffix("%"))
    if found is None:
        example = "after a chance node write 1/6, 0.25 or 25% first"
        raise ParseError(f"{place}: {quoted(text)} is not a probability; {example}")
    found /= 100 if text.endswith("%") else 1
    demand(float(found) > 0 and found <= 1, place, f"the probability {text} is not above 0 and at most 1")
    return found


def score_range(low: str, high: str, place: str) -> tuple[float, float]:
    """The lowest and the highest score."""
    bounds = number(low, place), number(high, place)
    demand(
        bounds[0] <= bounds[1],
        place,
        f"the range begins with its lowest number; {bounds[0]:g} is above {bounds[1]:g}",
    )
    return bounds


def seat_number(text: str, place: str) -> str:
    """The kind of a node at which a seat moves."""
    is_seat = re.fullmatch("[0-9]{1,2}", text) is not None
    demand(is_seat, place, "'seat' needs a number below 100, such as seat 0")
    return f"seat {int(text)}"


# --- the game -------------------------------------------------------------------------------------


def build(root: Node, bounds: tuple[float, float] | None = None) -> HandWritten:
    """The game of a tree, checked; `bounds` are the lowest and the highest score."""
    nodes: list[Node] = []
    numbers: dict[int, int] = {}
    waiting = [root]
    for node in waiting:  # in the order of their depth, as it grows
        check()
        end = node.target or node
        if id(end) not in numbers:
            numbers[id(end)] = len(nodes)
            nodes.append(end)
            waiting += end.children
    seats = _seats(nodes)
    low, high = _check(nodes, seats, bounds)
    branches = [(child, child.target or child) for node in nodes for child in node.children]
    widths = np.array([len(node.children) for node in nodes])
    begins = np.cumsum(widths) - widths
    movers = {"leaf": END, "chance": CHANCE, "max": 0, "min": 1}
    scores = np.full((len(nodes), seats), (low + high) / 2)
    for i, node in enumerate(nodes):
        if node.scores is not None:
            one = node.scores
            scores[i] = one if seats > 2 else (one[0], low + high - one[0])
    twins = np.arange(len(branches))
    for i, (child, _) in enumerate(branches):
        if child.is_same:
            twins[i] = twins[i - 1]
    game = Tree(  # type: ignore[call-arg]  # mypy takes the type of its positions for a field
        seats=seats,
        max_moves=max(1, int(widths.max())),
        max_plies=_height(nodes, numbers),
        movers=np.array([movers[n.what] if n.what in movers else int(n.what.split()[1]) for n in nodes]),
        begins=begins,
        widths=widths,
        scores=scores,
        loud=np.array([int(node.is_noisy) for node in nodes]),
        targets=np.array([numbers[id(end)] for _, end in branches], np.int64),
        chances=np.array([float(child.odds or 0) for child, _ in branches], np.float64),
        twins=twins,
        lowest=float(low),
        highest=float(high),
    )
    return HandWritten(game, _names(nodes))


def _names(nodes: list[Node]) -> list[str]:
    """What branches are called; those without a name by their letter, as in a lesson."""
    names = []
    for node in nodes:
        for i, child in enumerate(node.children):
            letter = chr(ord("a") + i) if len(node.children) <= 26 else str(i + 1)
            names.append(child.name or letter)
    return names


def _seats(nodes: list[Node]) -> int:
    """How many play: two for max and min, more if seats are numbered."""
    numbered = [node for node in nodes if node.what.startswith("seat")]
    if not numbered:
        return 2
    mixed = next((node for node in nodes if node.what in ("max", "min")), None)
    if mixed is not None:
        raise ParseError(
            f"{mixed.place}: '{mixed.what}' is for two sides; with numbered seats write seat 0 …"
        )
    seats = max(
        *(int(node.what.split()[1]) + 1 for node in numbered),
        *(len(node.scores) for node in nodes if node.scores is not None),
        1,
    )
    if seats < 3:
        raise ParseError(f"{numbered[0].place}: two seats are written as max and min; numbers are for more")
    return seats


def _check(nodes: list[Node], seats: int, bounds: tuple[float, float] | None) -> tuple[float, float]:
    """Refuse what is no game; the lowest and the highest score."""
    size = seats if seats > 2 else 1
    for node in nodes:
        if node.what == "leaf":
            wanted = f"a leaf has one number{'' if size == 1 else f' per seat, {size} of them'}"
            demand(node.scores is not None and len(node.scores) == size, node.place, wanted)
        else:
            demand(bool(node.children), node.place, f"'{node.what}' has no children; a leaf needs a value")
            fits = node.scores is None or len(node.scores) == size
            demand(fits, node.place, f"the evaluation has {size} number{'s' * (size != 1)} here")
        _check_odds(node)
        for child in node.children[:1]:
            demand(not child.is_same, child.place, "'same' needs a branch before it")
    scores = [x for node in nodes for x in node.scores or ()]
    low, high = min(scores), max(scores)
    if bounds is not None:
        outside = next((n for n in nodes for x in n.scores or () if not bounds[0] <= x <= bounds[1]), None)
        if outside is not None:
            raise ParseError(
                f"{outside.place}: its value is outside of the range {bounds[0]:g} … {bounds[1]:g}"
            )
        return bounds
    return low, high


def _check_odds(node: Node) -> None:
    """Outcomes of chance have probabilities that add up to 1, moves have none."""
    if node.what != "chance":
        for child in node.children:
            demand(child.odds is None, child.place, "only an outcome of chance has a probability")
        return
    for child in node.children:
        demand(child.odds is not None, child.place, "an outcome of chance needs a probability")
    total = math.fsum(float(child.odds or 0) for child in node.children)
    if abs(total - 1) > 1e-9:
        raise ParseError(f"{node.place}: the probabilities add up to {total:g}; the sum must be 1")


def _height(nodes: list[Node], numbers: dict[int, int]) -> int:
    """The longest way from the root to a leaf."""
    below = [[numbers[id(child.target or child)] for child in node.children] for node in nodes]
    leading = [0] * len(nodes)  # branches to each node whose own depth is not known yet
    for at in (at for ways in below for at in ways):
        leading[at] += 1
    depth, known = [0] * len(nodes), [0]
    for at in known:
        check()
        for end in below[at]:
            depth[end] = max(depth[end], depth[at] + 1)
            leading[end] -= 1
            if leading[end] == 0:
                known.append(end)
    return max(1, *depth)
