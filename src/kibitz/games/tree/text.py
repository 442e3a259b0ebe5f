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

`kibitz.games.tree.document` reads the same words as JSON.
"""

from __future__ import annotations

import re
from pathlib import Path

from kibitz.deadline import check
from kibitz.errors import ParseError, UnknownName, quoted
from kibitz.games.tree.document import read_json
from kibitz.games.tree.nodes import (
    MOST_WORDS,
    HandWritten,
    Node,
    build,
    demand,
    number,
    probability,
    score_range,
    seat_number,
)
from kibitz.reading import file_text, is_file

EXAMPLES = Path(__file__).parent / "examples"
SUFFIXES = (".tree", ".json")


def examples() -> dict[str, str]:
    """The trees that come with Kibitz: name → what they show, the comment in their first line."""
    found = sorted(EXAMPLES.glob("*.tree"))
    return {file.stem: file.read_text(encoding="utf-8").splitlines()[0].strip("# ") for file in found}


def is_tree(text: str) -> bool:
    """Whether a text names a tree: a file of one, or an example."""
    return Path(text).suffix in SUFFIXES or text in examples()


def load(name: str) -> HandWritten:
    """The tree in a file, or the example of that name.

    >>> load("two-plies").game.max_plies
    2
    """
    path = Path(name)
    is_shadowed = path.suffix == ".tree" and is_file(name)
    if path.name == name and path.stem in examples() and path.suffix in ("", ".tree") and not is_shadowed:
        path = EXAMPLES / f"{path.stem}.tree"
    elif path.suffix == "":
        raise UnknownName("tree", name, examples(), " A tree of your own: its file, my.tree or my.json.")
    text = file_text(path, "give a tree, .tree or .json, or the name of an example")
    if "\0" in text:
        raise ParseError(f"{path.name} is not text: a tree is written as text, in UTF-8")
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
    count = 0
    above: list[tuple[int, Node]] = []  # with their indentation
    indents: dict[int, int] = {}  # of the branches of a node
    for line_number, written in enumerate(text.expandtabs().split("\n"), 1):
        check()
        line = written.partition("#")[0].rstrip()
        if not line:
            continue
        place = f"{where}, line {line_number}"
        count += len(line.split())
        demand(count <= MOST_WORDS, place, f"is behind {MOST_WORDS:,} words; too many")
        if root is None and line.split()[0] == "range":
            demand(bounds is None, place, "is a second range; one is enough")
            ends = line.split()[1:]
            demand(len(ends) == 2, place, "range needs two numbers, such as range 0 100")
            bounds = score_range(ends[0], ends[1], place)
            continue
        depth = len(line) - len(line.lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        is_below = root is None or bool(above)
        demand(is_below, place, "is a second root; indent it below the node it belongs to")
        parent = above[-1][1] if above else None
        node = _node(line.split(), parent, place)
        if parent is None:
            root = node
        else:
            demand(parent.what != "leaf", place, "stands below a leaf; a leaf has a value and no children")
            aligned = indents.setdefault(id(parent), depth) == depth
            demand(aligned, place, "is not aligned with the other branches of its node")
            parent.children.append(node)
        above.append((depth, node))
    if root is None:
        raise ParseError(f"{where} holds no tree; write max, min or a number, and what belongs to it below")
    return build(root, bounds)


_KINDS = ("max", "min", "chance")


def _node(words: list[str], parent: Node | None, place: str) -> Node:
    """The node of a line."""
    odds = None
    if parent is not None and parent.what == "chance":
        odds = probability(words.pop(0).removesuffix(":"), place)
    text = " ".join(words)
    name, colon, rest = text.partition(":")
    name, rest = (name.strip(), rest) if colon else ("", text)
    tokens = re.findall(r"~|[^\s~]+", re.sub(r"\s*,\s*", ",", rest))
    demand(bool(tokens), place, "names no node; write max, min, chance or the value of a leaf")
    what, scores = tokens.pop(0), None
    what = what.lower() if what.lower() in _KINDS else what
    if what == "seat":
        what = seat_number(tokens.pop(0) if tokens else "", place)
    elif what not in _KINDS:
        what, scores = "leaf", _numbers(what, place)
    node = Node(what, scores, name, odds, place=place)
    while tokens:
        word = tokens.pop(0)
        if word == "~" and tokens and what != "leaf" and node.scores is None:
            node.scores = _numbers(tokens.pop(0), place)
        elif word == "noisy" and what != "leaf" and not node.is_noisy:
            node.is_noisy = True
        elif word == "same" and not node.is_same:
            node.is_same = True
        else:
            known = "'same'" if what == "leaf" else "'~' with an evaluation, 'noisy' or 'same'"
            raise ParseError(
                f"{place}: {quoted(word)} cannot stand here; a node is followed by nothing but {known}, "
                f"each at most once"
            )
    return node


def _numbers(text: str, place: str) -> tuple[float, ...]:
    return tuple(number(part, place) for part in text.split(","))
