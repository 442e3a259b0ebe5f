"""Pictures of searched trees: as text, as SVG, and as a page that goes through the search step by step.

The search itself tells what happens (`kibitz.search.memory.EVENT`); here it is only drawn. A picture
is what has happened up to one event.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from itertools import islice
from typing import Any

import numpy as np

from kibitz.errors import Unsupported
from kibitz.position import State
from kibitz.search import classical, memory
from kibitz.search.solver import TO_THE_END, Found, Limits, Settings, Subject

MOST_NODES = 400
"""A larger tree cannot be read."""

_SIDES = {memory.MAX: "max", memory.MIN: "min", memory.CHANCE: "chance", memory.OVER: "leaf"}


@dataclass
class Spot:
    """A node of the drawn tree, with what the search knows of it so far."""

    kind: str
    branch: str = ""
    """The move that leads here, with its probability after a chance event."""
    move: int = -1
    children: list[Spot] = field(default_factory=list)
    value: str = ""
    window: str = ""
    first_window: tuple[float, float] = (-math.inf, math.inf)
    is_seen: bool = False
    struck: str = ""
    """Why the branch to it is left out."""
    cut: str = ""
    """Why the rest of its own branches is left out."""
    best: int = -1
    is_current: bool = False
    """The last step was here."""
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True)
class SearchedTree:
    """A search of a small tree, ready to be drawn at any of its steps."""

    game: Any
    root: Any
    found: Found
    settings: Settings
    text_of: Callable[[int], str]
    is_whole: bool
    """Whether what the search has left out is drawn too."""
    depth: int

    @property
    def steps(self) -> int:
        """How many pictures there are; the last shows the whole search."""
        return 0 if self.found.events is None else len(self.found.events)

    def picture(self, step: int | None = None) -> Spot:
        """The tree after so many steps, all if not said."""
        return next(islice(self.pictures(), self.steps + 1 if step is None else step, None))

    def pictures(self) -> Iterator[Spot]:
        """The tree before the search, after each step, and when it is over: one tree, which learns."""
        events, values = self.found.events, self.found.event_values
        assert events is not None
        assert values is not None
        entered = events[events["kind"] == memory.ENTER]
        numbers = {(int(e["parent"]), int(e["move"])): int(e["number"]) for e in entered}
        top = self._grow(self.root, self.depth, numbers, [0], 1)
        yield top
        spots = {1: top}
        current = top
        for event, value in zip(events, values, strict=True):
            if int(event["number"]) not in spots:
                parent = spots[int(event["parent"])]
                spots[int(event["number"])] = next(c for c in parent.children if c.move == int(event["move"]))
            current.is_current = False
            current = spots[int(event["number"])]
            current.is_current = True
            self._learn(current, event, value)
            yield top
        current.is_current = False
        yield top

    def _grow(
        self, record: Any, left: int, numbers: dict[tuple[int, int], int], nodes: list[int], number: int
    ) -> Spot:
        """The tree as the game has it, down to the horizon; `numbers` are those of the positions searched."""
        nodes[0] += 1
        if nodes[0] > MOST_NODES:
            raise _too_large()
        state = State(self.game, record.copy())
        spot = Spot(_SIDES[classical.side_of(self.game, state.record)])
        if spot.kind in ("max", "min") and self._is_several:
            spot.kind = f"seat {state.mover}"
        if spot.kind != "leaf" and self._is_horizon(state, left):
            spot.kind += " estimated"
        if spot.kind == "leaf" and self.is_whole:  # as in a lesson: leaves are known from the beginning
            spot.value = self._text(np.array(state.returns()))
        if spot.kind == "leaf" or spot.kind.endswith("estimated") or not (number or self.is_whole):
            return spot
        for move, odds in self._branches(state, spot.kind):
            after = state.array.copy()
            self.game.play(after.view(np.recarray)[0], move)
            further = left if spot.kind == "chance" else left - 1
            child = self._grow(after, further, numbers, nodes, numbers.get((number, move), 0))
            child.branch = f"{_share(odds)} {self.text_of(move)}" if odds else self.text_of(move)
            child.move = move
            spot.children.append(child)
        return spot

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

    def _learn(self, spot: Spot, event: Any, value: Any) -> None:
        """Put into the picture what an event tells."""
        kind, window = int(event["kind"]), (float(event["alpha"]), float(event["beta"]))
        if self.settings.prune != "none":
            spot.window = f"{_number(window[0])} … {_number(window[1])}"
        if kind == memory.ENTER:
            spot.is_seen, spot.first_window = True, window
        elif kind == memory.VALUE_KNOWN:
            spot.value = self._text(value)
        elif kind == memory.BETTER and not spot.kind.startswith("chance"):
            spot.value = {"max": "≥ ", "min": "≤ "}.get(spot.kind, "") + self._text(value)
            spot.best = int(event["move"])
        elif kind == memory.CUT:
            spot.cut = _reason(int(event["reason"]), spot, window)
            for child in spot.children:
                if not child.is_seen:
                    child.struck = spot.cut
        elif kind == memory.SKIP:
            child = next(c for c in spot.children if c.move == int(event["move"]))
            child.struck = memory.REASONS[int(event["reason"])]
        elif kind == memory.LEAVE:
            spot.value = self._sign(spot, float(value[0])) + self._text(value)
            spot.best = int(event["move"])

    def _sign(self, spot: Spot, value: float) -> str:
        """What lies outside of the window is only a bound."""
        low, high = spot.first_window
        may_touch = not self.settings.strict
        if value < low or (value == low and may_touch):
            return "≤ "
        return "≥ " if value > high or (value == high and may_touch) else ""

    def _text(self, value: Any) -> str:
        return ", ".join(_number(float(x)) for x in (value if self._is_several else value[:1]))

    def caption(self, step: int) -> str:
        """What happens in a step, in words."""
        assert self.found.events is not None
        assert self.found.event_values is not None
        event, value = self.found.events[step - 1], self.found.event_values[step - 1]
        where = _SIDES[int(event["side"])] + f" (depth {int(event['ply'])})"
        kind = int(event["kind"])
        said = self._text(value)
        if kind == memory.ENTER:
            by = f"{self.text_of(int(event['move']))}: " if int(event["ply"]) else ""
            return f"{by}look at {where}"
        if kind == memory.CUT:
            return f"{where}: the rest is left out ({memory.REASONS[int(event['reason'])]})"
        if kind == memory.SKIP:
            return f"{where}: {self.text_of(int(event['move']))} is left out"
        words = {memory.VALUE_KNOWN: "is worth", memory.BETTER: "so far", memory.LEAVE: "is worth"}
        return f"{where} {words[kind]} {said}"

    def trace(self) -> list[dict[str, Any]]:
        """What happened, as plain data."""
        events, values = self.found.events, self.found.event_values
        assert events is not None
        assert values is not None
        return [
            {
                "event": memory.EVENTS[int(event["kind"])],
                "node": int(event["number"]),
                "parent": int(event["parent"]) or None,
                "side": _SIDES[int(event["side"])],
                "values": [float(x) for x in (value if self._is_several else value[:1])],
                "alpha": float(event["alpha"]),
                "beta": float(event["beta"]),
                "reason": memory.REASONS[int(event["reason"])] if event["reason"] >= 0 else None,
            }
            for event, value in zip(events, values, strict=True)
        ]

    # --- as text ---

    def text(self, step: int | None = None) -> str:
        """The tree in lines: values, windows, and what was left out and why."""
        return "\n".join(_lines(self.picture(step), "", "", self.is_whole))

    # --- as SVG ---

    def svg(self, step: int | None = None) -> str:
        """The tree as a picture."""
        return self._svg(self.picture(step))

    def _svg(self, top: Spot) -> str:
        width, height = _place(top, self.is_whole)
        size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
        font = 'font-family="DejaVu Sans, Verdana, sans-serif" font-size="12" text-anchor="middle"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}><title>{escape(self.title)}</title>',
            f'<rect width="{width:g}" height="{height:g}" fill="white"/>',
            *_branches_svg(top, self.is_whole),
            *_spots_svg(top, self.is_whole),
            "</svg>",
        ]
        return "\n".join(parts)

    @property
    def title(self) -> str:
        """What the picture shows."""
        return f"{type(self.game).__name__}, {_PRUNED[self.settings.prune]}; {self.found.leaves} leaves seen"

    def page(self) -> str:
        """A page with one picture a step, buttons and arrow keys; it loads nothing."""
        shown = []
        for step, top in enumerate(islice(self.pictures(), self.steps + 1)):
            words = escape(self.caption(step) if step else "before the search")
            caption = f"<figcaption>{step} of {self.steps}: {words}</figcaption>"
            shown.append(f"<figure hidden>{caption}{self._svg(top)}</figure>\n")
        return _PAGE.replace("TITLE", escape(self.title)).replace("FIGURES", "".join(shown))


_PRUNED = {"none": "nothing left out", "window": "alpha-beta", "star1": "Star1", "star2": "Star2"}


def _too_large() -> Unsupported:
    return Unsupported(
        f"the tree has more than {MOST_NODES} nodes, too many for a picture; choose a smaller depth"
    )


def draw(wanted: Subject, settings: Settings, depth: int | None = None) -> SearchedTree:
    """Search a tree or a position and draw what happened."""
    limits = Limits(depth or TO_THE_END, nodes=MOST_NODES + 1)
    found = wanted.solve(settings, limits, trace=True)
    if not found.is_finished:
        raise _too_large()
    return SearchedTree(
        wanted.game, wanted.root, found, settings, wanted.move_text, wanted.is_tree, limits.depth
    )


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>TITLE</title>
<style>
body { font-family: "DejaVu Sans", Verdana, sans-serif; margin: 1em; }
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


def _lines(spot: Spot, first: str, rest: str, is_whole: bool) -> Iterator[str]:
    name = f"{spot.branch}: " if spot.branch else ""
    value = (
        f" {spot.value}" if spot.value.startswith(("≤", "≥")) else f" = {spot.value}" if spot.value else ""
    )
    kind = spot.kind if spot.kind != "leaf" or not spot.value else ""
    shown = f"{kind}{value}".removeprefix(" = ")
    window = f"  ({spot.window})" if spot.window and spot.kind != "leaf" else ""
    mark = f"  ✂ {spot.cut}" if spot.cut else ""
    struck = "╳ " if spot.struck else ""
    why = f"  [{spot.struck}]" if spot.struck in memory.REASONS else ""
    yield f"{first}{struck}{name}{shown}{window}{mark}{why}".rstrip()
    children = _drawn(spot, is_whole)
    for child in children:
        is_last = child is children[-1]
        inner = _struck_below(child) if spot.struck else child
        yield from _lines(
            inner, rest + ("└─ " if is_last else "├─ "), rest + ("   " if is_last else "│  "), is_whole
        )


def _struck_below(spot: Spot) -> Spot:
    spot.struck = spot.struck or "above"
    return spot


def _drawn(spot: Spot, is_whole: bool) -> list[Spot]:
    """The branches that are drawn: below one that is left out only if the whole tree is wanted."""
    return spot.children if is_whole or not spot.struck else []


_STEP, _LEVEL, _MARGIN, _SIZE = 62.0, 92.0, 46.0, 15.0


def _place(top: Spot, is_whole: bool) -> tuple[float, float]:
    """Give every node its place: leaves side by side, parents above the middle; the size of the picture."""
    columns, deepest = 0, 0

    def place(spot: Spot, level: int) -> None:
        nonlocal columns, deepest
        deepest = max(deepest, level)
        spot.y = _MARGIN + level * _LEVEL
        children = _drawn(spot, is_whole)
        for child in children:
            place(child, level + 1)
        if children:
            spot.x = (children[0].x + children[-1].x) / 2
        else:
            spot.x = _MARGIN + columns * _STEP
            columns += 1

    place(top, 0)
    return max(columns - 1, 3) * _STEP + 2 * _MARGIN, deepest * _LEVEL + 2 * _MARGIN


def _all(spot: Spot, is_whole: bool) -> Iterator[Spot]:
    yield spot
    for child in _drawn(spot, is_whole):
        yield from _all(child, is_whole)


def _branches_svg(top: Spot, is_whole: bool) -> Iterator[str]:
    for spot in _all(top, is_whole):
        for child in _drawn(spot, is_whole):
            if spot.struck:
                _struck_below(child)
            is_best = child.move == spot.best and spot.kind != "chance"
            ink = "#999" if not child.is_seen else "#000"
            dash = ' stroke-dasharray="4 3"' if not child.is_seen else ""
            width = 2.6 if is_best and spot.value else 1
            x, y = (spot.x + child.x) / 2, (spot.y + child.y) / 2
            yield (
                f'<line x1="{spot.x:g}" y1="{spot.y + _SIZE:g}" x2="{child.x:g}" y2="{child.y - _SIZE:g}" '
                f'stroke="{ink}" stroke-width="{width}"{dash}/>'
            )
            yield _label(x, y - 2, child.branch, 10, "#444")
            if child.struck and child.struck != "above":
                yield (
                    f'<path d="M{x - 9:g} {y + 9:g}l14 -6m-10 10l14 -6" stroke="#d55e00" stroke-width="2">'
                    f"<title>{escape(child.struck)}</title></path>"
                )


def _spots_svg(top: Spot, is_whole: bool) -> Iterator[str]:
    for spot in _all(top, is_whole):
        ink = "#000" if spot.is_seen else "#999"
        width = 3 if spot.is_current else 1
        yield f'<g fill="white" stroke="{ink}" stroke-width="{width}">{_shape(spot)}</g>'
        inside = spot.value or (spot.kind.split()[1] if spot.kind.startswith("seat") else "")
        yield _label(spot.x, spot.y + 4.5, inside, 12, ink, "font-weight='bold'" if spot.value else "")
        if spot.window and spot.kind in ("max", "min", "chance"):
            yield _label(spot.x + 1.45 * _SIZE, spot.y - 3, spot.window, 10, "#004f9a", "text-anchor='start'")
        if spot.cut:
            yield _label(spot.x, spot.y + _SIZE + 13, spot.cut, 10, "#a84300")


def _label(x: float, y: float, text: str, size: int, ink: str, how: str = "") -> str:
    """A text with a white edge, so that lines behind it do not hide it."""
    edge = "stroke='white' stroke-width='3' paint-order='stroke'"
    return f"<text x='{x:g}' y='{y:g}' font-size='{size}' fill='{ink}' {edge} {how}>{escape(text)}</text>"


def _shape(spot: Spot) -> str:
    """Max points up, min points down, chance is round, a leaf is square."""
    x, y, s = spot.x, spot.y, _SIZE
    kind = spot.kind.split()[0]
    if kind == "max":
        return f'<path d="M{x - 1.3 * s:g} {y + s:g}L{x:g} {y - s:g}L{x + 1.3 * s:g} {y + s:g}Z"/>'
    if kind == "min":
        return f'<path d="M{x - 1.3 * s:g} {y - s:g}L{x:g} {y + s:g}L{x + 1.3 * s:g} {y - s:g}Z"/>'
    if kind == "leaf":
        return f'<rect x="{x - s:g}" y="{y - s:g}" width="{2 * s:g}" height="{2 * s:g}"/>'
    return f'<circle cx="{x:g}" cy="{y:g}" r="{s:g}"/>'
