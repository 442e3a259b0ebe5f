"""Backgammon as people see it: plays such as `13/8 6/5`, and the board."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from kibitz.deadline import check
from kibitz.errors import ParseError, quoted
from kibitz.games.backgammon.plays import BAR, BITS, DOWN, OFF, PASS, PLACE, POINTS, ROLL, ROLLING
from kibitz.position import State

UNDERSTOOD = "write from/to for each checker, such as '13/8 6/5', 'bar/22', '6/off', '8/5*(2)'; or 'pass'"
HIGHEST_STACK = 5
_LONGEST_WAY = 4
"""Moves of a play: two dice, or four after a double."""


# --- plays ---


def ways_of(play: int) -> list[list[int]]:
    """The way of each checker: where it starts, where it hits in between, where it ends."""
    ways: list[list[int]] = []
    while play:
        place = play & PLACE
        if place >= DOWN:
            ways[-1].append(place - DOWN)
        else:
            ways.append([place])
        play >>= BITS
    return ways


def number_of(ways: list[list[int]]) -> int:
    """The number of a play by the ways of its checkers."""
    places = [place + (DOWN if i else 0) for way in ways for i, place in enumerate(way)]
    return sum(place << BITS * i for i, place in enumerate(places))


def place_text(place: int) -> str:
    """A point by its number, the bar and off the board by their names."""
    return {OFF: "off", BAR: "bar"}.get(place, str(place))


def place_of(word: str) -> int:
    """The place that a word names."""
    return BAR if word == "bar" else OFF if word == "off" else int(word)


def play_text(play: int, hits: frozenset[int] = frozenset()) -> str:
    """A play as people write it; a roll as `6-5`.

    >>> play_text(number_of([[13, 8], [6, 5]]))
    '13/8 6/5'
    >>> play_text(number_of([[25, 20, 16], [6, 2], [6, 2]]))
    'bar/20*/16 6/2(2)'
    """
    if play & PLACE == ROLL:
        return f"{play >> BITS + 3}-{play >> BITS & 7}"
    words = []
    for way in ways_of(play):
        start, *between, end = way
        star = "*" if end in hits else ""
        stops = "".join(f"/{place_text(place)}*" for place in between)
        words.append(f"{place_text(start)}{stops}/{place_text(end)}{star}")
    return " ".join(w if n == 1 else f"{w}({n})" for w, n in Counter(words).items()) or "pass"


def play_with_hits(state: Any, play: int) -> str:
    """A play with a star for every checker that it hits in this position."""
    others = state["checkers"][1 - state["turn"]]
    return play_text(play, frozenset(p for p in range(1, POINTS + 1) if others[BAR - p] == 1))


def parse_play(words: str) -> int:
    """The play that people mean: checkers in any order, their moves joined or one by one.

    >>> play_text(parse_play("6/5 13/11 11/8"))
    '13/8 6/5'
    """
    text = re.sub(r"\s*\(\s*([0-9])\s*\)", r"(\1)", " ".join(words.lower().split()))
    if text in ("pass", "no play", "no move", "cannot move", "-"):
        return PASS
    roll = re.fullmatch(r"([1-6])-([1-6])", text)
    if roll:
        return ROLL | (8 * int(roll[1]) + int(roll[2])) << BITS
    moves = [move for word in re.split(r"[\s,]+", text) for move in _moves_of(word, words)]
    if len(moves) > _LONGEST_WAY:
        raise ParseError(
            f"{quoted(words)} is not a play: it has {len(moves)} moves, and {_LONGEST_WAY} are the most"
        )
    return number_of(_joined(moves))


def _moves_of(word: str, words: str) -> list[tuple[int, int, bool]]:
    """The moves that a word stands for: from, to, and whether a star says that it hits."""
    match = re.fullmatch(r"((?:bar|[0-9]{1,2})(?:/(?:off|[0-9]{1,2})\*?)+)(?:\(([1-9])\))?", word)
    if not match:
        raise ParseError(f"{quoted(words)} is not a play; {UNDERSTOOD}")
    places = match[1].split("/")
    numbers = [place_of(place.strip("*")) for place in places]
    found = []
    for i in range(1, len(numbers)):
        start, end = numbers[i - 1], numbers[i]
        if not BAR >= start > end >= OFF:
            raise ParseError(
                f"{quoted(words)} is not a play: from {places[i - 1]} to {places[i]} is not a way forward"
            )
        found.append((start, end, places[i].endswith("*")))
    return found * int(match[2] or 1)


def _joined(moves: list[tuple[int, int, bool]]) -> list[list[int]]:
    """Ways in the order of `kibitz.games.backgammon.plays`: a move that begins where a way ends joins it."""
    ways: list[list[int]] = []
    starred = {end for _, end, star in moves if star}
    for start, end, _ in sorted(moves, key=lambda move: (-move[0], move[1])):
        joined = next((way for way in ways if way[-1] == start), None)
        if joined is None:
            ways.append([start, end])
        else:
            joined.append(end)
    settled = {way[-1] for way in ways}
    for way in ways:  # a place in between is only told if a checker is hit there and nowhere else
        stops = [place for place in way[1:-1] if place in starred and place not in settled]
        settled.update(stops)
        way[1:-1] = stops
    return sorted(ways, key=lambda way: (-way[0], way[-1], -len(way)))


# --- positions ---


def parse_board(game: Any, words: str) -> State:
    """A position by the places of the checkers of both seats, who is to move, and the roll.

    >>> from kibitz.games import load
    >>> state = parse_board(load("backgammon"), "X: 6 off(14); O: 24(15); X rolls 6-5")
    >>> state.move_texts()
    ['6/off']
    """
    match = re.fullmatch(r"\s*x:([^;]*);\s*o:([^;]*);\s*([xo]) rolls ([1-6]-[1-6])\s*", words.lower())
    if not match:
        raise ParseError(
            f"{quoted(words)} is not a position; write the places of both seats, who moves and the roll, "
            f"such as 'X: 24(2) 13(5) 8(3) 6(5); O: bar 6(14); X rolls 6-5'; or the deal and the moves"
        )
    state = State(game)
    state.record.phase, state.record.turn = ROLLING, "xo".index(match[3])
    game.play(state.record, parse_play(match[4]))
    for other in range(2):
        counts = [0] * (BAR + 1)
        for word in match[1 + other].split():
            check()
            place = re.fullmatch(r"(bar|off|[1-9]|1[0-9]|2[0-4])(?:\(([0-9]{1,2})\))?", word)
            if place is None:
                raise ParseError(
                    f"{quoted(word)} is not a place; write 1 to 24, 'bar' or 'off', with (n) for n checkers"
                )
            number = place_of(place[1])
            counts[number] += int(place[2] or 1)
        if (n := sum(counts)) != 15:
            raise ParseError(
                f"{'XO'[other]} has {n} checkers in {quoted(words)}; each seat has 15, those off included"
            )
        state.record.checkers[other] = counts
    clash = [p for p in range(1, BAR) if state.record.checkers[0, p] and state.record.checkers[1, BAR - p]]
    if clash:
        raise ParseError(f"in {quoted(words)} both are on point {clash[0]} of X")
    return state


def picture(view: Any, seat: int) -> str:
    """The board as `seat` sees it, its home board below on the right; X is seat 0, O seat 1."""
    mine, others = view["checkers"][seat], view["checkers"][1 - seat]
    my_sign, other_sign = ("X", "O") if seat == 0 else ("O", "X")

    def cell(point: int, height: int) -> str:
        n, sign = int(mine[point]), my_sign
        if n == 0:
            n, sign = int(others[BAR - point]), other_sign
        if height == HIGHEST_STACK - 1 and n > HIGHEST_STACK:
            return f"{n:>2} "
        return f" {sign} " if n > height else "   "

    def half(points: list[int], heights: list[int]) -> list[str]:
        return [
            f"|{''.join(cell(p, h) for p in points[:6])}|   |{''.join(cell(p, h) for p in points[6:])}|"
            for h in heights
        ]

    def rim(points: list[int]) -> str:
        left, right = ("".join(f"{p:>2} " for p in part) for part in (points[:6], points[6:]))
        return f" {left}     {right}".rstrip()

    top, bottom = list(range(13, 25)), list(range(12, 0, -1))
    heights = list(range(HIGHEST_STACK))
    sides = []
    for other in (1 - seat, seat):
        checkers = view["checkers"][other]
        pips = sum(place * int(checkers[place]) for place in range(1, BAR + 1))
        who = "you" if other == seat else f"seat {other}"
        sides.append(
            f"{'XO'[other]} ({who}): {pips} pips, {checkers[BAR]} on the bar, {checkers[OFF]} borne off"
        )
    turn = int(view["turn"])
    due = {1: "to roll", 2: f"to play {view['dice'][0]}-{view['dice'][1]}", 3: "has moved last"}
    lines = [
        sides[0],
        *(rim(top), *half(top, heights), "", *half(bottom, heights[::-1]), rim(bottom)),
        sides[1],
        f"{'XO'[turn]} {due.get(int(view['phase']), 'to begin')}",
    ]
    return "\n".join(line.rstrip() for line in lines)
