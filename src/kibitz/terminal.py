"""The terminal: progress that goes to standard error, and a game against agents at a prompt."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz import position, showing
from kibitz.agents import Agent, look, make_agent
from kibitz.errors import BadOption, IllegalMove, KibitzError, ParseError
from kibitz.reading import whole_number
from kibitz.rng import derive

HELP = """\
  a move        as it is listed, such as {move}
  1, 2, 3 …     the first, second, third move, where they are numbered
  h             a hint: what {hint} would do, from what you can see
  t             show the table again
  q             leave the game"""


class Story:
    """What happens while one waits: compilation and progress, on standard error.

    On a terminal a live line with the time left; elsewhere a line now and then, so that logs stay short.
    Reports what has been compiled, unless `tells_compiled` is false.
    """

    def __init__(self, tells_compiled: bool = True) -> None:
        from rich.console import Console

        self.console = Console(file=showing.as_it_was(sys.stderr), highlight=False)
        self._tells_compiled = tells_compiled
        self._live: Any = None
        """A bar, or where there is none, what is being compiled."""
        self._bar: Any = None
        self._label, self._note = "", ""
        self._clock = Clock()
        self._spoke = time.monotonic()

    def compiling(self, what: str, functions: int, seconds: float, done: bool) -> None:
        """Tell that code is being compiled; the kernel's `compile_report`."""
        text = f"compiling {what}, once: {functions} functions, {seconds:.0f} s"
        self._note = "" if done else f"compiling {what}"
        if done and self._tells_compiled:
            if self._bar is None:
                self.close()
            self.console.print(f"[dim]compiled {what} in {seconds:.1f} s[/]")
        elif not self.console.is_terminal:
            if functions == 1 and not done and self._tells_compiled:
                self.console.print(f"compiling {what}, once …")
            self._print_now_and_then()
        elif self._bar is None and not done:
            if self._live is None:
                self._live = self.console.status(text)
                self._live.start()
            else:
                self._live.update(text)
        if self._bar is not None:
            self._show_bar()

    def progress(
        self, label: str, in_seconds: bool = False, part: tuple[float, float] = (0.0, 1.0)
    ) -> Callable[[float, float], None]:
        """A function that shows how much of how much is done.

        `in_seconds`: work is counted in seconds, so the time left is known from the start. `part`: of a bar
        that several tasks share, where this one begins and ends; the next one goes on with the same bar.
        """
        begin, end = part
        if begin == 0:
            self.close()
            self._clock = Clock()
        self._label = label
        if self._bar is None and self.console.is_terminal:
            self._bar = _bar(self.console, self._clock)
            self._bar.add_task(label, total=1.0, counted="", note="")
        if self._bar is not None and begin:
            self._show_bar(completed=begin)

        def show(done: float, total: float) -> None:
            share = begin + (end - begin) * done / max(total, 1e-9)
            self._clock.reached(share, total / (end - begin) if in_seconds else None)
            counted = "" if in_seconds or part != (0.0, 1.0) else f"{done:,} of {total:,}"
            if self._bar is not None:
                self._show_bar(completed=share, counted=counted)
            else:
                self._print_now_and_then()

        return show

    def _show_bar(self, **fields: Any) -> None:
        """The bar as it is now; it begins with the first thing to show."""
        task = self._bar.task_ids[0]
        self._bar.update(task, description=self._label, note=self._note, **fields)
        if self._live is not self._bar:
            self._stop_live()
            self._live = self._bar
            self._bar.start()

    def _print_now_and_then(self) -> None:
        """Where no bar can be: a line after ten seconds, and rarer the longer it takes."""
        now = time.monotonic()
        if self._label and now - self._spoke > min(300, max(10, self._clock.elapsed / 10)):
            self._spoke = now
            told = [f"{100 * self._clock.share:.0f} %", self._clock.left(), self._note]
            self.console.print(f"{self._label}: {', '.join(filter(None, told))}")

    def _stop_live(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def close(self) -> None:
        """Take away whatever is shown."""
        self._stop_live()
        self._bar, self._label, self._note = None, "", ""


class Clock:
    """The time left, from the share that is done."""

    _TRUST = 20.0
    """Seconds that a forecast weighs as much as: what is compiled first says little about the rest."""

    def __init__(self, now: Callable[[], float] | None = None) -> None:
        self._now = now or time.monotonic
        self._began = self._now()
        self._first: float | None = None
        self._forecast: float | None = None
        self.share = 0.0

    def reached(self, share: float, forecast: float | None = None) -> None:
        """So much is done, and the whole is said to take so many seconds; if nothing is said, as before."""
        self._first = share if self._first is None else self._first
        self.share = max(share, self.share)
        self._forecast = forecast or self._forecast

    @property
    def elapsed(self) -> float:
        return self._now() - self._began

    def left(self) -> str:
        """The time left in words, if anything is known of it."""
        done = self.share - (self._first or 0.0)
        trust = self._TRUST if self._forecast else 0.0
        if trust:
            done += trust / (self._forecast or 1.0)
        if done <= 0 or self.share >= 1:
            return ""
        return f"{about((1 - self.share) * (self.elapsed + trust) / done)} left"


def about(seconds: float) -> str:
    """A time as one says it who does not know it well.

    >>> [about(seconds) for seconds in (3, 47, 100, 800, 10_000)]
    ['a few seconds', 'about 50 s', 'about 2 min', 'about 13 min', 'about 2 h 47 min']
    """
    minutes = round(seconds / 60)
    if seconds < 8:
        return "a few seconds"
    if seconds < 95:
        return f"about {10 * max(1, round(seconds / 10))} s"
    return f"about {minutes} min" if minutes < 90 else f"about {minutes // 60} h {minutes % 60:02} min"


def _bar(console: Any, clock: Clock) -> Any:
    """A bar with the time left, and at its end what is being compiled."""
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
    from rich.table import Column
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        """Reckoned anew whenever it is drawn."""

        def render(self, _task: Any) -> Text:
            return Text(clock.left())

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(24),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[counted]}"),
        TimeLeft(),
        TextColumn(
            "[dim]{task.fields[note]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)
        ),
        console=console,
        transient=True,
        expand=True,
    )


def play(
    game: Any,
    seat: int | None,
    opponents: Sequence[str],
    seed: int,
    hint: str,
    ask: Callable[[str], str] = input,
    say: Callable[[str], None] = print,
) -> list[float] | None:
    """One game of a person against agents; the score, or None if the person left.

    Without a `seat` the person has the usual one of the game. Everybody sees what their seat may see.
    """
    state, chances = position.deal(game, seed), 1
    seat = game.usual_seat(state.record) if seat is None else seat
    agents: dict[int, Agent] = {}
    others = [other for other in range(game.seats) if other != seat]
    for number, other in enumerate(others):
        agents[other] = make_agent(opponents[min(number, len(opponents) - 1)], game)
        agents[other].start(game, other)
    if len(opponents) > len(others):
        seats = showing.numbered(len(others), "other seat")
        raise BadOption(f"{len(opponents)} agents are too many for {seats}; give at most {len(others)}")
    adviser = make_agent(hint, game)
    adviser.start(game, seat)
    names = ", ".join(f"{game.seat_name(other)} is {agent.spec}" for other, agent in agents.items())
    say(f"You are {game.seat_name(seat)}; {names}. Deal {seed}. '?' lists what you can type.\n")
    about = game.introduce(state.record, seat)
    if about:
        say(f"{about}\n")
    ply = 0
    while not state.is_over:
        chances = position.deal_on(state, seed, chances)  # the next round
        if state.mover == seat:
            move = _ask_move(state, adviser, hint, ask, say, derive(seed, 3, ply))
            if move is None:
                say("You have left the game.")
                return None
        else:
            agent = agents[state.mover]
            move = agent.choose(look(agent, state), derive(seed, 2, ply))
        by = _capital(game.announce(state.record, seat))
        told = game.tell(state.record, np.int64(move), seat)
        say(f"{by}: {told}." if told else f"{by} has decided in secret.")
        for other, agent in agents.items():
            agent.learn(int(game.label(state.record, move, other)))
        before, tricks = state.returns(), _tricks(state)
        state.play(move)
        for taker in np.flatnonzero(_tricks(state) > tricks):
            is_yours = taker == seat
            say("You take the trick." if is_yours else f"{_capital(game.seat_name(taker))} takes the trick.")
        if "describe_result" in game.defaulted:  # else points are not what players of the game count
            for line in _takings(game, seat, before, state.returns()):
                say(line)
        ply += 1
    score = state.returns()
    say("\n" + str(state.view(seat)) + "\n")
    for line in _counts(state, seat):
        say(line)
    say(game.describe_result(state.record, seat) or _outcome(game, seat, score))
    return score


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _tricks(state: position.State) -> NDArray[np.int64]:
    """The tricks that each seat has taken, in a game that counts them so."""
    tricks = np.array(getattr(state.record, "tricks", 0), np.int64)
    return tricks if tricks.ndim == 1 and len(tricks) >= state.game.seats else np.zeros(0, np.int64)


def _takings(game: Any, seat: int, before: list[float], after: list[float]) -> list[str]:
    """Who has won points by a move, one line a side."""
    sides = {int(game.team(other)): other for other in reversed(range(game.seats))}
    lines = []
    for side, other in reversed(sides.items()):
        if after[other] != before[other]:
            words = ("get", "gets") if after[other] > before[other] else ("lose", "loses")
            who = (
                f"You {words[0]}"
                if game.team(seat) == side
                else f"{_capital(game.seat_name(other))} {words[1]}"
            )
            points = abs(after[other] - before[other])
            lines.append(f"{who} {points:g} point{'' if points == 1 else 's'}.")
    return lines


def _counts(state: position.State, seat: int) -> list[str]:
    """What the game counts besides the score, one line a seat."""
    game = state.game
    counts = np.zeros((game.seats, len(game.counted)))
    game.tally(state.record, counts)
    return [
        f"{'You' if other == seat else _capital(game.seat_name(other))}: "
        + ", ".join(f"{name.replace('_', ' ')} {n:g}" for name, n in zip(game.counted, row, strict=True))
        for other, row in enumerate(counts)
        if game.counted
    ]


def _ask_move(
    state: position.State, adviser: Agent, hint: str, ask: Callable[[str], str],
    say: Callable[[str], None], seed: int,
) -> int | None:  # fmt: skip
    game, view = state.game, state.view()
    legal = _in_the_order_of(str(view), view)
    say(f"\n{view}\n")
    # Where a number is a move itself (a bid), it does not count the moves.
    numbered = not any(_read(game, str(i)) in legal for i in range(game.max_moves))
    texts = [view.text(move) for move in legal]
    choices = "  ".join(f"{i}: {text}" for i, text in enumerate(texts, 1)) if numbered else "  ".join(texts)
    while True:
        try:
            text = ask(f"{choices}   your move (? for help): ").strip()
        except EOFError:
            return None
        try:
            if text.lower() in ("q", "quit", "exit"):
                return None
            if text == "?":
                say(HELP.format(hint=hint, move=texts[-1]))
            elif text.lower() in ("h", "hint"):
                say(str(adviser.advise(view, seed)))
            elif text.lower() in ("t", "table"):
                say(f"\n{view}\n")
            elif numbered and 1 <= (whole_number(text) or 0) <= len(legal):
                return legal[int(text) - 1]
            elif numbered and whole_number(text) is not None:
                say(f"{text} is not one of the numbers, which go from 1 to {len(legal)}.")
            elif text:
                move = view.read(text)
                if move in legal:
                    return move
                can = position.listed(texts)
                say(f"You cannot play {game.move_text(move)}; you can play {can}.")
        except (ParseError, IllegalMove) as error:
            say(f"{error}.")


def _in_the_order_of(picture: str, view: position.View) -> list[int]:
    """The legal moves in the order in which a picture shows them, such as the cards of a hand."""
    words = picture.split()
    last = {word: place for place, word in enumerate(words)}
    legal = sorted(view.legal_moves())
    places = [last.get(view.text(move)) for move in legal]
    if None in places:  # such as bids, which no picture shows
        return legal
    return [move for _, move in sorted(zip(places, legal, strict=True))]


def _read(game: Any, text: str) -> int | None:
    """The move that a text means, if it means one."""
    try:
        return int(game.parse_move(text))
    except ParseError:
        return None


def _outcome(game: Any, seat: int, score: list[float]) -> str:
    mine = score[seat]
    rivals = [s for other, s in enumerate(score) if game.team(other) != game.team(seat)]
    word = "You win" if mine > max(rivals) else "A draw" if mine == max(rivals) else "You lose"
    return f"{word}: {mine:g} points against {', '.join(f'{s:g}' for s in sorted(set(rivals)))}."


def fail(error: KibitzError, as_json: bool) -> None:
    """Print an error as people or programs read it."""
    if as_json:
        import json

        kind = type(error).__name__
        print(
            json.dumps({"schema": "kibitz.error/1", "error": kind, "message": str(error)}),
            file=sys.stderr,
        )
    else:
        print(f"kibitz: {showing.in_one_line(str(error))}", file=sys.stderr)
