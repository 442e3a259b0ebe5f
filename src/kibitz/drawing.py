"""Pictures of searched trees: as text, as SVG, and as a page that goes through the search step by step.

The search itself tells what happens (`kibitz.search.memory.EVENT`); here it is only drawn. A picture
is what has happened up to one event.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from kibitz import showing
from kibitz.errors import Unsupported
from kibitz.position import State
from kibitz.search import classical, memory
from kibitz.search.solver import TO_THE_END, Found, Limits, Settings, Subject

MOST_NODES = 400
"""A larger tree cannot be read."""

_SIDES = {memory.MAX: "max", memory.MIN: "min", memory.CHANCE: "chance", memory.OVER: "leaf"}
_BECAUSE = {
    "symmetry": "it is the same as a branch before it, by symmetry",
    "forward": "others are more urgent",
    "range": "no reply can change a value at the end of the range of scores",
}
"""Why a branch is left out, other than by a bound."""
_IN_TABLE, _END_OF_RANGE = "in the table", "end of the range"


@dataclass
class Spot:
    """A node of the drawn tree, with what the search knows of it so far."""

    kind: str
    """max, min, chance, leaf, or "seat 0"."""
    index: int
    """Its index in the tree."""
    path: tuple[str, ...] = ()
    """The names of the branches that lead to it."""
    move: int = -1
    odds: float = 0.0
    """The probability of the branch that leads to it, after a chance event."""
    children: list[Spot] = field(default_factory=list)
    is_estimated: bool = False
    value: str = ""
    window: str = ""
    first_window: tuple[float, float] = (-math.inf, math.inf)
    is_seen: bool = False
    is_probed: bool = False
    """Only its first branch has been tried."""
    struck: str = ""
    """Why the branch to it is left out."""
    cut: str = ""
    """Why the rest of its own branches is left out."""
    best: int = -1
    is_current: bool = False
    """The last step was here."""
    x: float = 0.0
    y: float = 0.0

    @property
    def branch(self) -> str:
        """The move that leads here, with its probability after a chance event."""
        name = self.path[-1] if self.path else ""
        return f"{_share(self.odds)} {name}" if self.odds else name

    @property
    def reason(self) -> str:
        """Why it is left out, if that is no bound of the node above."""
        return self.struck if self.struck in _BECAUSE else ""

    def strike(self, why: str) -> list[str]:
        """Leave out all below it that was not looked at; the names of these branches."""
        names = []
        for child in self.children:
            if not child.is_seen and not child.struck:
                child.struck = why
                names.append(child.branch)
            elif child.is_probed:
                names += child.strike(why)
        return names

    def below(self) -> Iterator[Spot]:
        """It and all spots below it."""
        yield self
        for child in self.children:
            yield from child.below()


class Scene(NamedTuple):
    """The tree after a step of the search."""

    top: Spot
    spot: Spot
    """Where it happened."""
    caption: str
    """What, in words."""
    struck: list[str]
    """The branches that are left out since."""


@dataclass(frozen=True)
class SearchedTree:
    """A search of a small tree, ready to be drawn at any of its steps."""

    name: str
    game: Any
    root: Any
    found: Found
    settings: Settings
    text_at: Callable[[Any, int], str]
    is_whole: bool
    """Whether what the search has left out is drawn too."""
    depth: int

    @property
    def steps(self) -> int:
        """How many pictures there are; the last shows the whole search."""
        return 0 if self.found.events is None else len(self.found.events)

    def picture(self, step: int | None = None) -> Spot:
        """The tree after so many steps (default: all)."""
        return next(islice(self.scenes(), self.steps + 1 if step is None else step, None)).top

    def scenes(self) -> Iterator[Scene]:
        """The tree before the search, after each step, and when it is over: one tree, which learns."""
        top = self._grow()
        yield Scene(top, top, "before the search", [])
        spots = {1: top}
        current = top
        for event, value in self._events():
            if int(event["number"]) not in spots:
                parent = spots[int(event["parent"])]
                spots[int(event["number"])] = next(c for c in parent.children if c.move == int(event["move"]))
            current.is_current = False
            current = spots[int(event["number"])]
            current.is_current = True
            struck = self._learn(current, event, value)
            yield Scene(top, current, self._caption(current, event), struck)
        current.is_current = False
        yield Scene(top, top, "the search is over", [])

    def _events(self) -> Iterator[tuple[Any, Any]]:
        assert self.found.events is not None
        assert self.found.event_values is not None
        return zip(self.found.events, self.found.event_values, strict=True)

    # --- the tree before the search ---

    def _grow(self) -> Spot:
        """The tree as the game has it, down to the horizon."""
        numbers, estimated = {}, set()
        for event, _ in self._events():
            if event["kind"] == memory.ENTER:
                numbers[int(event["parent"]), int(event["move"])] = int(event["number"])
            elif event["kind"] == memory.VALUE_KNOWN and event["reason"] != memory.TABLE:
                estimated.add(int(event["number"]))
        nodes = 0

        def grow(array: Any, left: int, number: int, path: tuple[str, ...]) -> Spot:
            nonlocal nodes
            nodes += 1
            if nodes > MOST_NODES:
                raise _too_large()
            state = State(self.game, array)
            spot = Spot(self._kind(state), nodes - 1, path)
            if spot.kind == "leaf":
                if self.is_whole:  # as in a lesson: leaves are known from the beginning
                    spot.value = self._text(np.array(state.returns()))
                return spot
            spot.is_estimated = number in estimated or (not number and self._is_horizon(state, left))
            if spot.is_estimated or not (number or self.is_whole):
                return spot
            for move, odds in self._branches(state, spot.kind):
                after = state.array.copy()
                self.game.play(after.view(np.recarray)[0], move)
                further = left if spot.kind == "chance" else left - 1
                name = self.text_at(state.record, move)
                child = grow(after, further, numbers.get((number, move), 0), (*path, name))
                child.move, child.odds = move, odds
                spot.children.append(child)
            return spot

        return grow(self.root.copy(), self.depth, 1, ())

    def _kind(self, state: State) -> str:
        kind = _SIDES[classical.side_of(self.game, state.record)]
        return f"seat {state.mover}" if kind in ("max", "min") and self._is_several else kind

    def _is_horizon(self, state: State, left: int) -> bool:
        deep, quiet = left <= -self.settings.quiet, bool(self.game.is_quiet(state.record))
        return deep or (left <= 0 and quiet)

    @property
    def _is_several(self) -> bool:
        return self.settings.options(self.game, 0).several

    def _branches(self, state: State, kind: str) -> Iterator[tuple[int, float]]:
        if kind != "chance":
            yield from ((move, 0.0) for move in state.legal_moves())
            return
        moves, odds = np.zeros(self.game.max_moves, np.int64), np.zeros(self.game.max_moves)
        n = self.game.outcomes(state.record, moves, odds)
        yield from zip(moves[:n].tolist(), odds[:n].tolist(), strict=True)

    # --- what the search tells ---

    def _learn(self, spot: Spot, event: Any, value: Any) -> list[str]:
        """Put into the picture what an event tells; the branches that are left out from now on."""
        kind, window = int(event["kind"]), (float(event["alpha"]), float(event["beta"]))
        if self.settings.prune != "none":
            spot.window = f"{_number(window[0])} … {_number(window[1])}"
        if kind == memory.ENTER:
            spot.is_seen, spot.is_probed, spot.first_window = True, False, window
        elif kind == memory.VALUE_KNOWN:
            spot.value = self._text(value)
            if event["reason"] == memory.TABLE:
                spot.value = self._sign(spot, float(value[0])) + spot.value
                spot.cut = _IN_TABLE
                return spot.strike(spot.cut)
        elif kind == memory.BETTER and spot.kind != "chance":
            spot.value = self._at_least(spot, value)
            spot.best = int(event["move"])
        elif kind == memory.CUT:
            spot.cut = _reason(int(event["reason"]), spot, window)
            return spot.strike(spot.cut)
        elif kind == memory.SKIP:
            child = next(c for c in spot.children if c.move == int(event["move"]))
            why = memory.REASONS[int(event["reason"])]
            if child.is_probed:  # its first branch has told all
                child.value, child.cut = child.value.lstrip("≤≥ "), _END_OF_RANGE
                return child.strike(child.cut)
            child.struck = why
            return [child.branch]
        elif kind == memory.LEAVE:
            spot.best, spot.is_probed = int(event["move"]), bool(event["is_probe"])
            if spot.is_probed:
                spot.value = self._at_least(spot, value)
            else:
                spot.value = self._sign(spot, float(value[0])) + self._text(value)
        return []

    def _sign(self, spot: Spot, value: float) -> str:
        """What lies outside of the window is only a bound."""
        low, high = spot.first_window
        may_touch = not self.settings.strict
        if value < low or (value == low and may_touch):
            return "≤ "
        return "≥ " if value > high or (value == high and may_touch) else ""

    def _at_least(self, spot: Spot, value: Any) -> str:
        """What some branches tell: the mover will reach no less; nothing, if they miss the window."""
        if self._is_several:
            return self._text(value)
        ours, theirs = ("≥ ", "≤ ") if spot.kind == "max" else ("≤ ", "≥ ")
        return "" if self._sign(spot, float(value[0])) == theirs else ours + self._text(value)

    def _text(self, value: Any) -> str:
        return ", ".join(_number(float(x)) for x in (value if self._is_several else value[:1]))

    def _caption(self, spot: Spot, event: Any) -> str:
        """What an event was, in words."""
        kind = int(event["kind"])
        where = " › ".join(spot.path) or "root"
        worth = spot.value.replace("≥", "at least").replace("≤", "at most")
        if kind == memory.ENTER:
            return f"{where}: look at this {spot.kind if spot.kind == 'leaf' else spot.kind + ' node'}"
        if kind == memory.VALUE_KNOWN:
            if spot.cut == _IN_TABLE:
                return f"{where}: {_worth(worth)}, as the table knows"
            return f"{where}: {'estimated at ' + worth if spot.is_estimated else _worth(worth)}"
        if kind == memory.BETTER:
            if spot.kind == "chance":
                return f"{where}: one outcome more is known"
            return f"{where}: {spot.kind}, {_worth(worth) if worth else 'nothing within the window'} so far"
        if kind == memory.CUT:
            return f"{where}: the rest is left out, as {spot.cut}"
        if kind == memory.SKIP:
            why = memory.REASONS[int(event["reason"])]
            move = next(child.path[-1] for child in spot.children if child.move == event["move"])
            return f"{where}: {move} is left out ({why}: {_BECAUSE[why]})"
        return f"{where}: {spot.kind}, {_worth(worth) if worth else 'nothing is known by its first branch'}"

    def trace(self) -> list[dict[str, Any]]:
        """What happened, as plain data."""
        told = []
        for scene, (event, value) in zip(islice(self.scenes(), 1, None), self._events(), strict=False):
            kind, spot = int(event["kind"]), scene.spot
            has_value = kind in (memory.VALUE_KNOWN, memory.BETTER, memory.LEAVE)
            has_value &= not (kind == memory.BETTER and spot.kind == "chance")
            values = [float(x) for x in (value if self._is_several else value[:1])]
            told.append(
                {
                    "event": memory.EVENTS[kind],
                    "node": int(event["number"]),
                    "parent": int(event["parent"]) or None,
                    "branch": spot.path[-1] if spot.path else None,
                    "odds": spot.odds or None,
                    "path": list(spot.path),
                    "side": spot.kind,
                    "values": values if has_value else None,
                    "alpha": float(event["alpha"]),
                    "beta": float(event["beta"]),
                    "reason": memory.REASONS[int(event["reason"])] if event["reason"] >= 0 else None,
                    "struck": scene.struck,
                    "caption": scene.caption,
                }
            )
        return told

    # --- as text ---

    def text(self, step: int | None = None) -> str:
        """The tree in lines: values, windows, and what was left out and why."""
        return "\n".join(_lines(self.picture(step), "", "", self.is_whole))

    # --- as SVG ---

    @property
    def title(self) -> str:
        """What the picture shows."""
        how = {"window": "alpha-beta", "star1": "Star1", "star2": "Star2"}.get(self.settings.prune)
        if how is None:
            how = "max^n" if self._is_several else "nothing left out"
        return f"{self.name}: {how}; {self.found.leaves} leaves seen"

    def svg(self, step: int | None = None) -> str:
        """The tree as a picture."""
        return self._svg(self.picture(step), self._rooms())

    def _rooms(self) -> dict[int, float]:
        """How wide every spot is at most: so pictures of all steps are laid out alike."""
        rooms: dict[int, float] = {}
        for scene in self.scenes():
            changed = [scene.spot, *scene.spot.children] if rooms else list(scene.top.below())
            for spot in changed:
                rooms[spot.index] = max(rooms.get(spot.index, 0.0), _room(spot))
        return rooms

    def _svg(self, top: Spot, rooms: dict[int, float]) -> str:
        width, height = _place(top, rooms, self.is_whole)
        legend = _legend(top, self.settings)
        width = max(width, *(_width(text, 11) + 2 * _MARGIN for text in (self.title, *legend)))
        height += 15 * len(legend)
        size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
        font = 'font-family="DejaVu Sans, Verdana, sans-serif" font-size="12" text-anchor="middle"'
        start = "text-anchor='start'"
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}><title>{escape(self.title)}</title>',
            f'<rect width="{width:g}" height="{height:g}" fill="white"/>',
            _label(_MARGIN, 18, self.title, 12, "#000", start),
            *_branches_svg(top, self.is_whole),
            *_spots_svg(top, self.is_whole),
            *(_label(_MARGIN, height - 9 - 15 * i, t, 10, "#444", start) for i, t in enumerate(legend[::-1])),
            "</svg>",
        ]
        return "\n".join(parts)

    def pictures(self) -> Iterator[tuple[str, str]]:
        """Words and a picture of the tree before the search and after each step."""
        rooms = self._rooms()
        for scene in islice(self.scenes(), self.steps + 1):
            yield scene.caption, self._svg(scene.top, rooms)

    def page(self) -> str:
        """A page with one picture a step, buttons and arrow keys; it loads nothing."""
        shown = []
        for step, (words, svg) in enumerate(self.pictures()):
            caption = f"<figcaption>{step} of {self.steps}: {escape(words)}</figcaption>"
            shown.append(f"<figure hidden>{caption}{svg}</figure>\n")
        return _PAGE.replace("TITLE", escape(self.title)).replace("FIGURES", "".join(shown))


def _worth(value: str) -> str:
    return value if value.startswith("at ") else f"worth {value}"


def _too_large() -> Unsupported:
    return Unsupported(
        f"the tree has more than {MOST_NODES} nodes, too many for a picture; choose a smaller depth"
    )


def draw(wanted: Subject, settings: Settings, depth: int | None = None) -> SearchedTree:
    """Search a tree or a position and draw what happened."""
    limits = Limits(depth or TO_THE_END, nodes=MOST_NODES + 1)
    # So few positions are searched in the interpreter: compiling would take longer.
    found = replace(wanted, is_small=True).solve(settings, limits, trace=True)
    if not found.is_finished:
        raise _too_large()
    return SearchedTree(
        wanted.name, wanted.game, wanted.root, found, settings, wanted.text_at, wanted.is_tree, limits.depth
    )


def escape(text: str) -> str:
    """A text for SVG and HTML, `visible`: XML has no place for control characters."""
    return html.escape(showing.visible(text))


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>TITLE</title>
<style>
body { font-family: "DejaVu Sans", Verdana, sans-serif; margin: 1em; }
h1 { font-size: 1.3em; }
figure { margin: 1em 0; } figcaption { margin-bottom: 1em; } svg { max-width: 100%; height: auto; }
button { font: inherit; padding: .4em 1em; }
</style></head><body>
<h1>TITLE</h1>
<p><button id="back">◀ back</button> <button id="forward">forward ▶</button> (or the arrow keys)</p>
<div aria-live="polite">
FIGURES</div>
<script>
const figures = document.querySelectorAll("figure");
let at = 0;
function show(step) {
  figures[at].hidden = true;
  at = Math.max(0, Math.min(figures.length - 1, step));
  figures[at].hidden = false;
}
document.getElementById("back").onclick = () => show(at - 1);
document.getElementById("forward").onclick = () => show(at + 1);
document.addEventListener("keydown", event => {
  const steps = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: figures.length - 1};
  if (event.key in steps) { event.preventDefault(); show(steps[event.key]); }
});
show(0);
</script></body></html>
"""


def _share(odds: float) -> str:
    """A probability as people say it, if it is that of coins or dice."""
    share = Fraction(odds).limit_denominator(36)
    return str(share) if abs(share - odds) < 1e-9 else f"{odds:.3g}"


def _number(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.4g}".replace("-", "−")


def _reason(reason: int, spot: Spot, window: tuple[float, float]) -> str:
    """Which bound has cut."""
    alpha, beta = (_number(bound) for bound in window)
    below, above = (_number(bound) for bound in spot.first_window)
    return {
        memory.BETA: f"{alpha} ≥ β = {above}",
        memory.ALPHA: f"{beta} ≤ α = {below}",
        memory.HIGH: f"mean ≥ β = {above}",
        memory.LOW: f"mean ≤ α = {below}",
    }[reason]


# --- as text --------------------------------------------------------------------------------------


def _lines(spot: Spot, first: str, rest: str, is_whole: bool) -> Iterator[str]:
    name = f"{spot.branch}: " if spot.branch else ""
    equals = "" if spot.value.startswith(("≤", "≥")) else "= "
    kind = spot.kind + " estimated" * spot.is_estimated
    shown = f"{kind} {equals}{spot.value}" if spot.value else kind
    if spot.kind == "leaf" and spot.value:
        shown = spot.value
    window = f"  ({spot.window})" if spot.window and spot.kind != "leaf" else ""
    mark = f"  ✂ {spot.cut}" if spot.cut else ""
    struck = "╳ " if spot.struck else ""
    why = f"  [{spot.reason}]" if spot.reason else ""
    yield f"{first}{struck}{name}{shown}{window}{mark}{why}".rstrip()
    children = _drawn(spot, is_whole)
    for child in children:
        is_last = child is children[-1]
        if spot.struck:
            child.struck = child.struck or "above"
        yield from _lines(
            child, rest + ("└─ " if is_last else "├─ "), rest + ("   " if is_last else "│  "), is_whole
        )


def _drawn(spot: Spot, is_whole: bool) -> list[Spot]:
    """The branches that are drawn: below one that is left out only if the whole tree is wanted."""
    return spot.children if is_whole or not spot.struck else []


# --- as SVG ---------------------------------------------------------------------------------------

_LEVEL, _MARGIN, _SIZE, _GAP, _HEAD = 118.0, 16.0, 15.0, 12.0, 50.0


def _width(text: str, size: float) -> float:
    """About how wide a text is in the fonts that are asked for."""
    ems = {**dict.fromkeys(" .,:;|!()[]ijlft/'1", 0.4), **dict.fromkeys("…mwMW@%∞", 1.0)}
    return size * sum(ems.get(letter, 0.66) for letter in text)


def _inside(spot: Spot) -> str:
    """What is written in the shape."""
    return ("≈ " if spot.is_estimated and spot.value else "") + spot.value


def _under(spot: Spot) -> list[tuple[str, str]]:
    """What is written under the shape, with its colour: the window, and what has cut."""
    window = f"({spot.window})" if spot.window and spot.kind != "leaf" else ""
    lines = [(window, "#004f9a"), (f"✂ {spot.cut}" if spot.cut else "", "#a84300")]
    return [line for line in lines if line[0]]


def _over(spot: Spot) -> list[tuple[str, str]]:
    """What is written at the end of the branch that leads to it: its name, and why it is left out."""
    return [line for line in ((spot.branch, "#444"), (spot.reason, "#a84300")) if line[0]]


def _half(spot: Spot) -> float:
    """Half the width of the shape; a triangle must be wider than what it holds."""
    text = 1.08 * _width(_inside(spot), 12)
    if spot.kind in ("max", "min"):
        return max(1.3 * _SIZE, text / 1.1 + 2)
    if spot.kind.startswith("seat"):
        text = max(text, _width(spot.kind, 9))
    return max(_SIZE, text / 2 + 6)


def _room(spot: Spot) -> float:
    """How much room it needs beside others."""
    texts = [_width(text, 10) for text, _ in _under(spot)] + [
        1.2 * _width(text, 10) for text, _ in _over(spot)
    ]
    return max(2 * _half(spot), *texts, 0.0) + _GAP


def _place(top: Spot, rooms: dict[int, float], is_whole: bool) -> tuple[float, float]:
    """Give every node its place: leaves side by side, parents above the middle; the size of the picture."""
    deepest = 0

    def place(spot: Spot, left: float, level: int) -> float:
        """How much room the spot and all below it take from `left` on."""
        nonlocal deepest
        deepest = max(deepest, level)
        own, children = rooms[spot.index], _drawn(spot, is_whole)
        spot.y = _HEAD + level * _LEVEL
        end = left
        for child in children:
            end += place(child, end, level + 1)
        spot.x = (children[0].x + children[-1].x) / 2 if children else left + own / 2
        missing = left - (spot.x - own / 2)
        if missing > 0:
            for each in spot.below():
                each.x += missing
            end += missing
        return max(end, spot.x + own / 2) - left

    width = place(top, _MARGIN, 0)
    return width + 2 * _MARGIN, _HEAD + deepest * _LEVEL + _SIZE + 40


def _all(spot: Spot, is_whole: bool) -> Iterator[Spot]:
    yield spot
    for child in _drawn(spot, is_whole):
        yield from _all(child, is_whole)


def _branches_svg(top: Spot, is_whole: bool) -> Iterator[str]:
    labels = []  # above all lines
    for spot in _all(top, is_whole):
        begin = spot.y + _SIZE + 2 + 12 * len(_under(spot))
        for child in _drawn(spot, is_whole):
            if spot.struck:
                child.struck = child.struck or "above"
            is_best = child.move == spot.best and spot.kind != "chance"
            ink = "#999" if not child.is_seen else "#000"
            dash = ' stroke-dasharray="4 3"' if not child.is_seen else ""
            width = 2.6 if is_best and spot.value else 1
            end = child.y - _SIZE
            yield (
                f'<line x1="{spot.x:g}" y1="{begin:g}" x2="{child.x:g}" y2="{end:g}" '
                f'stroke="{ink}" stroke-width="{width}"{dash}/>'
            )
            if child.struck and child.struck != "above":
                x, y = spot.x + 0.35 * (child.x - spot.x), begin + 0.35 * (end - begin)
                yield (
                    f'<path d="M{x - 9:g} {y + 1:g}l14 -6m-10 10l14 -6" stroke="#d55e00" stroke-width="2">'
                    f"<title>{escape(child.struck)}</title></path>"
                )
            over = _over(child)
            for i, (text, colour) in enumerate(over):
                y = end - 6 - 12 * (len(over) - 1 - i)
                x = child.x + (spot.x - child.x) * (end - y) / (end - begin)
                labels.append(_label(x, y, text, 10, colour))
    yield from labels


def _spots_svg(top: Spot, is_whole: bool) -> Iterator[str]:
    for spot in _all(top, is_whole):
        ink = "#000" if spot.is_seen else "#999"
        width = 3 if spot.is_current else 1
        dash = ' stroke-dasharray="5 3"' if spot.is_estimated else ""
        yield f'<g fill="white" stroke="{ink}" stroke-width="{width}"{dash}>{_shape(spot)}</g>'
        lower = {"max": 11.0, "min": -2.0}.get(spot.kind, 4.5)
        if spot.kind.startswith("seat"):
            lower = 11.0
            yield _label(spot.x, spot.y - (3 if spot.value else -3), spot.kind, 9, ink)
        yield _label(spot.x, spot.y + lower, _inside(spot), 12, ink, "font-weight='bold'")
        for i, (text, colour) in enumerate(_under(spot)):
            yield _label(spot.x, spot.y + _SIZE + 11 + 12 * i, text, 10, colour)


def _label(x: float, y: float, text: str, size: int, ink: str, how: str = "") -> str:
    """A text with a white edge, so that lines behind it do not hide it."""
    edge = "stroke='white' stroke-width='3' paint-order='stroke'"
    return f"<text x='{x:g}' y='{y:g}' font-size='{size}' fill='{ink}' {edge} {how}>{escape(text)}</text>"


def _shape(spot: Spot) -> str:
    """Max points up, min points down, chance is round, a leaf is square; a seat of several has a box."""
    x, y, s, w = spot.x, spot.y, _SIZE, _half(spot)
    if spot.kind == "max":
        return f'<path d="M{x - w:g} {y + s:g}L{x:g} {y - s:g}L{x + w:g} {y + s:g}Z"/>'
    if spot.kind == "min":
        return f'<path d="M{x - w:g} {y - s:g}L{x:g} {y + s:g}L{x + w:g} {y - s:g}Z"/>'
    if spot.kind == "chance":
        return f'<ellipse cx="{x:g}" cy="{y:g}" rx="{w:g}" ry="{s:g}"/>'
    corner = ' rx="6"' if spot.kind.startswith("seat") else ""
    return f'<rect x="{x - w:g}" y="{y - s:g}" width="{2 * w:g}" height="{2 * s:g}"{corner}/>'


def _legend(top: Spot, settings: Settings) -> list[str]:
    """What the shapes and lines of a picture mean."""
    spots = list(top.below())
    kinds = {spot.kind.split()[0] for spot in spots}
    words = {"max": "△ max", "min": "▽ min", "chance": "○ chance", "leaf": "□ leaf"}
    words["seat"] = "▢ whose move it is, with the scores of seats 0, 1, 2 …"
    shapes = [text for kind, text in words.items() if kind in kinds]
    if any(spot.is_estimated for spot in spots):
        shapes.append("≈ estimated (dashed)")
    lines = ["thick: the best branch"]
    if settings.prune != "none":
        lines.append("(α … β) the window")
    if settings != Settings():
        lines.append("struck out: not looked at, ✂ and why")
    return [" · ".join(shapes), " · ".join(lines)]
