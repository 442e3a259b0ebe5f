"""Trees as people write them, in lines or as JSON, and the game that each of them is.

One line a node; what stands deeper belongs to it:

    max
      left: min ~ 5
        3
        12
      roll: chance
        1/6 six: 20
        5/6: min ~ 4 noisy
          1
          9

A line is `[probability] [name:] what [~ evaluation] [noisy] [same]`. *What* is `max`, `min`, `chance`,
`seat 0` … for games of more seats, or the value of a leaf (`3`, or `1, 4, 0` with one number a seat).
After a chance node every line begins with a probability (`1/6`, `0.25`, `25%`). `noisy` marks a position
that is not quiet, `same` a branch that is the one before it by symmetry. A first line `range 0 100` tells
the lowest and the highest score, if leaves do not reach them. `#` begins a comment.

In JSON a node is an object with the same words: `{"node": "max", "children": [3, {"node": "min", …}]}`,
with `name`, `odds`, `evaluation`, `noisy`, `same`, and for a leaf `value` (or the number alone). A child
may also be the name of one of the document's `nodes`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.errors import InputError, ParseError, UnknownName
from kibitz.games.tree.rules import END, Tree
from kibitz.position import State
from kibitz.protocol import CHANCE

EXAMPLES = Path(__file__).parent / "examples"
WORDS = ("max", "min", "chance", "seat")
_KEYS = {"node", "name", "odds", "value", "evaluation", "noisy", "same", "children", "range", "nodes"}


@dataclass
class Node:
    """A node as it was written. `what` is max, min, chance, leaf or "seat 0"."""

    what: str
    scores: tuple[float, ...] | None = None
    """The value of a leaf, the evaluation of any other node; one number, or one per seat."""
    name: str = ""
    odds: Fraction | float | None = None
    is_noisy: bool = False
    is_same: bool = False
    children: list[Node] = field(default_factory=list)
    place: str = ""
    """Where it is written, for messages."""
    target: Node | None = None
    """What the name stands for, where another node was only named."""


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


def examples() -> dict[str, str]:
    """The trees that come with Kibitz: name → what they show, the comment in their first line."""
    found = sorted(EXAMPLES.glob("*.tree"))
    return {file.stem: file.read_text(encoding="utf-8").splitlines()[0].strip("# ") for file in found}


def is_tree(text: str) -> bool:
    """Whether a text names a tree: a file of one, or an example."""
    return Path(text).suffix in (".tree", ".json") or text in examples()


def load(name: str) -> HandWritten:
    """The tree in a file, or the example of that name.

    >>> load("two-plies").game.max_plies
    2
    """
    path = Path(name)
    if not path.is_file() and not path.is_absolute() and path.suffix in ("", ".tree"):
        path = EXAMPLES / f"{path.stem}.tree"
        if path.stem not in examples():
            raise UnknownName("tree", name, examples(), " A tree of your own: its file, my.tree or my.json.")
    if not path.is_file():
        raise InputError(f"there is no file {path}; give a tree, .tree or .json, or the name of an example")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError(f"{path.name} cannot be read as text: {error}") from error
    return read_json(text, path.name) if path.suffix == ".json" else read(text, path.name)


# --- lines ----------------------------------------------------------------------------------------


def read(text: str, where: str = "tree") -> HandWritten:
    """The tree that lines describe; `ParseError` names the line and the reason.

    >>> lines = ["max", "  3", "  5"]
    >>> read(chr(10).join(lines)).game.widths.tolist()
    [2, 0, 0]
    """
    bounds: tuple[float, float] | None = None
    root: Node | None = None
    above: list[tuple[int, Node]] = []  # with their indentation
    indents: dict[int, int] = {}  # of the branches of a node
    for number, written in enumerate(text.expandtabs().splitlines(), 1):
        line = written.partition("#")[0].rstrip()
        if not line:
            continue
        place = f"{where}, line {number}"
        if root is None and line.split()[0] == "range":
            bounds = _range(line.split()[1:], place)
            continue
        depth = len(line) - len(line.lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        _demand(
            root is None or bool(above), place, "is a second root; indent it below the node it belongs to"
        )
        parent = above[-1][1] if above else None
        node = _node(line.split(), parent, place)
        if parent is None:
            root = node
        else:
            _demand(parent.what != "leaf", place, "stands below a leaf; a leaf has a value and no children")
            aligned = indents.setdefault(id(parent), depth) == depth
            _demand(aligned, place, "is not aligned with the other branches of its node")
            parent.children.append(node)
        above.append((depth, node))
    if root is None:
        raise ParseError(f"{where} holds no tree; write max, min or a number, and what belongs to it below")
    return build(root, bounds)


def _node(words: list[str], parent: Node | None, place: str) -> Node:
    """The node of a line."""
    odds = None
    if parent is not None and parent.what == "chance":
        odds = _odds(words.pop(0).removesuffix(":"), place)
    text = " ".join(words)
    name, colon, rest = text.partition(":")
    name, rest = (name.strip(), rest) if colon else ("", text)
    tokens = re.findall(r"~|[^\s~]+", re.sub(r"\s*,\s*", ",", rest))
    _demand(bool(tokens), place, "names no node; write max, min, chance or the value of a leaf")
    what, scores = tokens.pop(0), None
    if what == "seat":
        _demand(bool(tokens) and tokens[0].isdigit(), place, "'seat' needs a number, such as seat 0")
        what = f"seat {int(tokens.pop(0))}"
    elif what not in WORDS:
        what, scores = "leaf", _numbers(what, place)
    node = Node(what, scores, name, odds, place=place)
    while tokens:
        word = tokens.pop(0)
        if word == "~" and tokens and what != "leaf":
            node.scores = _numbers(tokens.pop(0), place)
        elif word == "noisy":
            node.is_noisy = True
        elif word == "same":
            node.is_same = True
        else:
            raise ParseError(f"{place}: '{word}' means nothing here; known are ~ evaluation, noisy and same")
    return node


def _demand(is_so: bool, place: str, reason: str) -> None:
    if not is_so:
        raise ParseError(f"{place}: {reason}")


def _numbers(text: str, place: str) -> tuple[float, ...]:
    try:
        found = tuple(float(Fraction(part)) for part in text.split(","))
    except (ValueError, ZeroDivisionError, OverflowError):
        known = "max, min, chance, 'seat 0' or a number, such as 3 or -1.5"
        raise ParseError(f"{place}: '{text}' is no node; write {known}") from None
    return found


def _odds(text: str, place: str) -> Fraction:
    try:
        found = Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        reason = f"'{text}' is no probability; after a chance node write 1/6, 0.25 or 25% first"
        raise ParseError(f"{place}: {reason}") from None
    _demand(0 < found <= 1, place, f"the probability {text} is not above 0 and at most 1")
    return found


def _range(words: list[str], place: str) -> tuple[float, float]:
    _demand(len(words) == 2, place, "range needs two numbers, such as range 0 100")
    low, high = (_numbers(word, place)[0] for word in words)
    _demand(low <= high, place, f"the range begins with its lowest number; {low:g} is above {high:g}")
    return low, high


# --- JSON -----------------------------------------------------------------------------------------


def read_json(text: str, where: str = "tree") -> HandWritten:
    """The tree that a JSON document describes; `ParseError` names the place and the reason."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ParseError(f"{where}, line {error.lineno}: no JSON: {error.msg}") from None
    except RecursionError:
        raise ParseError(f"{where} is nested too deeply") from None
    bounds, named = None, {}
    if isinstance(document, dict):
        if "range" in document:
            bounds = _range([str(x) for x in document["range"]], where)
        nodes = document.get("nodes", {})
        _demand(isinstance(nodes, dict), where, "'nodes' is an object, from names to nodes")
        named = {name: _from_json(value, f"{where}, nodes.{name}") for name, value in nodes.items()}
    root = _from_json(document, where)
    for node in _all_nodes([root, *named.values()]):
        if node.what == "named":
            if node.name not in named:
                raise ParseError(f"{node.place}: there is no node '{node.name}' in 'nodes'")
            node.target = named[node.name]
    _refuse_cycles(root)
    return build(root, bounds)


def _from_json(value: Any, place: str) -> Node:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Node("leaf", _numbers(str(value), place), place=place)
    if isinstance(value, str):
        return Node("named", name=value, place=place)
    _demand(isinstance(value, dict), place, f"{value!r} is no node; write an object, a number or a name")
    unknown = set(value) - _KEYS
    _demand(
        not unknown, place, f"'{min(unknown, default='')}' is no word; known are {', '.join(sorted(_KEYS))}"
    )
    what = str(value.get("node", "leaf"))
    known = what in ("max", "min", "chance", "leaf") or re.fullmatch(r"seat \d+", what)
    _demand(bool(known), place, f"'{what}' is no kind of node; known are max, min, chance, leaf and 'seat 0'")
    said = value.get("value" if what == "leaf" else "evaluation")
    _demand(what != "leaf" or said is not None, place, "a leaf needs a value")
    scores = None
    if said is not None:
        scores = _numbers(",".join(map(str, said if isinstance(said, list) else [said])), place)
    odds = _odds(str(value["odds"]), place) if "odds" in value else None
    children = value.get("children", [])
    _demand(isinstance(children, list), place, "'children' is a list")
    _demand(what != "leaf" or not children, place, "a leaf has no children")
    node = Node(what, scores, str(value.get("name", "")), odds, place=place)
    node.is_noisy, node.is_same = bool(value.get("noisy")), bool(value.get("same"))
    node.children = [_from_json(child, f"{place}, children[{i}]") for i, child in enumerate(children)]
    return node


def _all_nodes(roots: list[Node]) -> Iterator[Node]:
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children


def _refuse_cycles(root: Node) -> None:
    """Branches that lead back would never end."""
    entered: set[int] = set()
    finished: set[int] = set()
    path = [(root, False)]
    while path:
        node, is_done = path.pop()
        end = node.target or node
        if is_done:
            finished.add(id(end))
        elif id(end) not in finished:
            _demand(id(end) not in entered, node.place, "leads back to a node above it; a tree has no cycle")
            entered.add(id(end))
            path.append((node, True))
            path += [(child, False) for child in end.children]


# --- the game -------------------------------------------------------------------------------------


def build(root: Node, bounds: tuple[float, float] | None = None) -> HandWritten:
    """The game of a tree, checked; `bounds` are the lowest and the highest score."""
    nodes: list[Node] = []
    numbers: dict[int, int] = {}
    waiting = [root]
    for node in waiting:  # in the order of their depth, as it grows
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
            names.append((child.name if child.what != "named" else "") or letter)
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
            _demand(node.scores is not None and len(node.scores) == size, node.place, wanted)
        else:
            _demand(bool(node.children), node.place, f"'{node.what}' has no children; a leaf needs a value")
            fits = node.scores is None or len(node.scores) == size
            _demand(fits, node.place, f"the evaluation has {size} number{'s' * (size != 1)} here")
        _demand(all(map(math.isfinite, node.scores or ())), node.place, "values must be finite")
        if node.what == "chance":
            _check_odds(node)
        for child in node.children[:1]:
            _demand(not child.is_same, child.place, "'same' needs a branch before it")
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
    for child in node.children:
        _demand(child.odds is not None, child.place, "an outcome of chance needs a probability")
    total = float(sum(child.odds or 0 for child in node.children))
    if abs(total - 1) > 1e-9:
        raise ParseError(f"{node.place}: the probabilities add up to {total:g}; the sum must be 1")


def _height(nodes: list[Node], numbers: dict[int, int]) -> int:
    """The longest way from the root to a leaf."""
    depth = [0] * len(nodes)
    waiting = [0]
    for at in waiting:
        for child in nodes[at].children:
            below = numbers[id(child.target or child)]
            if depth[below] < depth[at] + 1:
                depth[below] = depth[at] + 1
                waiting.append(below)
    return max(1, *depth)
