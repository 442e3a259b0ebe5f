"""Trees as JSON documents, read so that every error names its line.

A node is an object: `{"node": "max", "children": [3, {"node": "min", …}]}`. Its other words are `name`,
`odds`, `evaluation`, `noisy` and `same`; a leaf has a `value`, or is the number alone. The root may have a
`range` and `nodes`, from names to nodes: a child that leads to one of them is its name, or
`{"to": "name", "odds": "1/2"}` if there is more to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kibitz.deadline import check
from kibitz.errors import ParseError, quoted
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
from kibitz.reading import json_value

_LEAF = {"node", "value", "name", "odds", "same"}
_INNER = {"node", "children", "evaluation", "name", "odds", "noisy", "same"}
_NAMED = {"to", "name", "odds", "same"}
_ROOT = {"range", "nodes"}
_LONGEST_PATH = 200
"""Characters of the way to a node: every node has its own."""
_WORDS = _LEAF | _INNER | _NAMED | _ROOT


class Number(str):
    """A number, as it is written."""


@dataclass(frozen=True)
class Written:
    """A part of a document, and where it stands."""

    content: Any
    """A dict or a list of `Written`, a text, a `Number`, true, false or nothing."""
    line: int


def read_json(text: str, where: str = "tree") -> HandWritten:
    """The tree that a JSON document describes; `ParseError` names the line and the reason."""
    json_value(text, where, number=str)  # it is JSON; its numbers are read where they stand
    bounds, named = None, {}
    try:
        document = _parts(text, where)
        if isinstance(document.content, dict):
            if "range" in document.content:
                bounds = _range(document.content["range"], where)
            named = _nodes(document.content.get("nodes"), where)
        root = _node(document, "", where, is_root=True)
    except RecursionError:
        raise ParseError(f"{where} is nested too deeply") from None
    _link(root, named)
    return build(root, bounds)


# --- parts and their lines ------------------------------------------------------------------------

_TOKEN = re.compile(r'[\s,:]*([{}\[\]]|"(?:[^"\\]|\\.)*"|[^\s,:{}\[\]"]+)')
_CONSTANTS = {"true": True, "false": False, "null": None}


def _parts(text: str, where: str) -> Written:
    """The parts of a document that is known to be well formed."""
    line, end = 1, 0

    def tokens() -> Iterator[str]:
        nonlocal line, end
        for count, match in enumerate(_TOKEN.finditer(text)):
            check()
            demand(count < MOST_WORDS, f"{where}, line {line}", f"is behind {MOST_WORDS:,} words; too many")
            line += text.count("\n", end, match.start(1))
            end = match.start(1)
            yield match[1]

    following = tokens()

    def part(token: str) -> Written:
        began = line
        content: Any
        if token == "{":
            content = {}
            while (key := next(following)) != "}":
                key = json.loads(key)
                demand(key not in content, f"{where}, line {line}", f"{quoted(key)} stands here twice")
                content[key] = part(next(following))
        elif token == "[":
            content = []
            while (token := next(following)) != "]":
                content.append(part(token))
        elif token[0] == '"':
            content = json.loads(token)
        else:
            content = _CONSTANTS[token] if token in _CONSTANTS else Number(token)
        return Written(content, began)

    return part(next(following))


# --- parts as nodes -------------------------------------------------------------------------------


def _range(part: Written, where: str) -> tuple[float, float]:
    place, ends = f"{where}, line {part.line}", part.content
    is_pair = isinstance(ends, list) and len(ends) == 2 and all(isinstance(x.content, Number) for x in ends)
    demand(is_pair, place, "range needs two numbers, such as [0, 100]")
    return score_range(ends[0].content, ends[1].content, place)


def _nodes(part: Written | None, where: str) -> dict[str, Node]:
    if part is None:
        return {}
    demand(isinstance(part.content, dict), f"{where}, line {part.line}", "'nodes' has a node for every name")
    return {name: _node(node, f", nodes.{quoted(name)[1:-1]}", where) for name, node in part.content.items()}


def _node(part: Written, path: str, where: str, is_root: bool = False) -> Node:
    """The node that a part describes; `path` is the way to it."""
    path = path if len(path) <= _LONGEST_PATH else "…" + path[1 - _LONGEST_PATH :]
    place, words = f"{where}, line {part.line}{path}", part.content
    if isinstance(words, Number):
        return Node("leaf", (number(words, place),), place=place)
    if isinstance(words, str):
        return Node("named", place=place, to=words)
    demand(
        isinstance(words, dict),
        place,
        f"{quoted(_told(part))} is not a node; write an object, a number or a name",
    )
    given = {word: value.content for word, value in words.items()}
    node = Node(_kind(given, place), place=place)
    _check_words(set(given), node.what, is_root, place)
    node.name, node.to = _text(given, "name", place), _text(given, "to", place)
    node.is_noisy, node.is_same = _flag(given, "noisy", place), _flag(given, "same", place)
    if "odds" in given:
        demand(isinstance(given["odds"], str), place, "'odds' is a number or a text, such as \"1/6\"")
        node.odds = probability(given["odds"], place)
    said = words.get("value" if node.what == "leaf" else "evaluation")
    if said is not None:
        node.scores = _scores(said, place)
    children = given.get("children", [])
    demand(isinstance(children, list), place, "'children' is a list")
    node.children = [_node(child, f"{path}, children[{i}]", where) for i, child in enumerate(children)]
    return node


def _kind(given: dict[str, Any], place: str) -> str:
    if "to" in given:
        return "named"
    what = given.get("node", "leaf")
    if isinstance(what, str) and what.startswith("seat "):
        return seat_number(what.removeprefix("seat "), place)
    known = "max, min, chance, leaf and 'seat 0'"
    demand(
        what in ("max", "min", "chance", "leaf"),
        place,
        f"{quoted(str(what))} is not a kind of node. Available: {known}",
    )
    return str(what)


def _check_words(given: set[str], what: str, is_root: bool, place: str) -> None:
    """Refuse words that nobody knows, or that mean nothing in such a node."""
    for word in sorted(given - _WORDS):
        raise ParseError(
            f"{place}: {quoted(word)} is not a known word. Available: {', '.join(sorted(_WORDS))}"
        )
    fitting = {"named": _NAMED, "leaf": _LEAF}.get(what, _INNER)
    told = {"named": "a node that stands elsewhere", "leaf": "a leaf"}.get(what, f"'{what}'")
    for word in sorted(given - fitting - (_ROOT if is_root else set())):
        reason = "belongs to the root" if word in _ROOT else f"means nothing in {told}"
        raise ParseError(f"{place}: '{word}' {reason}")
    demand(what != "leaf" or "value" in given, place, "a leaf needs a value")
    demand(not (is_root and "odds" in given), place, "only an outcome of chance has a probability")


def _scores(part: Written, place: str) -> tuple[float, ...]:
    """One number, or one per seat."""
    each = part.content if isinstance(part.content, list) else [part]
    for one in each:
        demand(isinstance(one.content, str), place, f"{quoted(_told(one))} is not a number")
    return tuple(number(one.content, place) for one in each)


def _text(given: dict[str, Any], word: str, place: str) -> str:
    text = given.get(word, "")
    demand(isinstance(text, str) and not isinstance(text, Number), place, f"'{word}' is a text")
    return str(text)


def _flag(given: dict[str, Any], word: str, place: str) -> bool:
    flag = given.get(word, False)
    demand(isinstance(flag, bool), place, f"'{word}' is true or false")
    return bool(flag)


def _told(part: Written) -> str:
    """A part as it looks in a document, if it is short."""
    names = {dict: "{…}", list: "[…]", bool: str(part.content).lower(), type(None): "null"}
    return names.get(type(part.content), str(part.content))


# --- nodes that lead to others by name ------------------------------------------------------------


def _link(root: Node, named: dict[str, Node]) -> None:
    """Put nodes in the place of their names; refuse ways that never end, and nodes to which none leads."""
    waiting, links = [root, *named.values()], []
    for node in waiting:
        waiting += node.children
        if node.what == "named":
            links.append(node)
    for link in links:
        end, passed = link, dict[str, Node]()
        while end.what == "named" and end.target is None:
            demand(end.to in named, end.place, f"there is no node {quoted(end.to)} in 'nodes'")
            itself = f"{quoted(end.to)} leads back to itself; a tree has no cycle"
            demand(end.to not in passed, link.place, itself)
            passed[end.to] = end
            end = named[end.to]
        for node in passed.values():
            node.target = end.target or end
    _refuse_cycles([root, *named.values()])
    used: set[str] = set()
    waiting = [root]
    for node in waiting:
        waiting += node.children
        if node.what == "named" and node.to not in used:
            used.add(node.to)
            waiting.append(named[node.to])
    for name in named:
        unused = f"no branch leads to {quoted(name)}; name it among 'children', or leave it out"
        demand(name in used, named[name].place, unused)


def _refuse_cycles(starts: list[Node]) -> None:
    """Branches that lead back would never end."""
    entered: set[int] = set()
    finished: set[int] = set()
    path = [(start, False) for start in reversed(starts)]
    while path:
        check()
        node, is_done = path.pop()
        end = node.target or node
        if is_done:
            finished.add(id(end))
        elif id(end) not in finished:
            demand(id(end) not in entered, node.place, "leads back to a node above it; a tree has no cycle")
            entered.add(id(end))
            path.append((node, True))
            path += [(child, False) for child in end.children]
