"""Somebody who looks at a line of play: positions, judgements, sampled worlds, the solver's word.

A connection does one long thing of each kind at a time; to ask for another, or to leave, ends it.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from pydantic import BaseModel

from kibitz.errors import KibitzError, Unsupported
from kibitz.web import messages
from kibitz.web.lines import Line, diagram, double_dummy_table, exact, judge, sampled_world
from kibitz.web.messages import AboutLine, BadMessage, Consider, DoubleDummy, Draw, Judge, Look, Think, Worlds
from kibitz.web.tables import Start, check_agent, is_bridge
from kibitz.web.thinking import Thinker, Thought

_log = logging.getLogger(__name__)


def strongest(rules: Any) -> str:
    """The adviser of a game, if none is named."""
    return "expert" if rules.expert else "ismcts:5000"


def opened(
    game: str, start: Start, moves: Sequence[str | int], chairs: list[str]
) -> tuple[Line, messages.LineShown]:
    """A line of play, and what is told of it; who sat where, if it was played at a table.

    Both take a while, and a pasted position is read for both.
    """
    line = Line(game, start, moves)
    return line, messages.line_shown(line, chairs)


_numbers = itertools.count()
_CROWDED = (
    "this line of play was closed, because others need the place and you have many; open it again later"
)


class Study:
    """A line of play, and what is being found out about it for one connection."""

    def __init__(
        self,
        line: Line,
        thinker: Thinker,
        client: str,
        put: Callable[[BaseModel], None],
    ) -> None:
        self.line, self._thinker, self.client = line, thinker, client
        self.number = next(_numbers)
        """Later ones have larger numbers."""
        self._put = put
        self._gave_way = False
        self._running: dict[str, asyncio.Task[None]] = {}
        self._considered: tuple[int, Thought] | None = None

    def close(self) -> None:
        """Find nothing out any more."""
        for task in self._running.values():
            task.cancel()
        self._running.clear()

    def give_way(self) -> None:
        """Others need the place."""
        self.close()
        self._gave_way = True
        self._put(messages.Refused(code="Crowded", message=_CROWDED))

    def receive(self, message: AboutLine) -> None:
        """Begin what is asked for."""
        if self._gave_way:
            raise Unsupported(_CROWDED)
        if isinstance(message, Look):
            self._put(messages.place_shown(self.line, message.ply, message.seat))
        elif isinstance(message, Judge):
            self._begin("judge", self._judge(self._adviser(message.agent)) if message.on else None)
        elif isinstance(message, Consider):
            view, agent = self.line.decision(message.ply), self._adviser(message.agent)
            self._considered = message.ply, Thought(self._thinker, self.client, agent, view, message.ply)
            self._begin("consider", self._consider(*self._considered))
        elif isinstance(message, Think):
            if self._considered is None:
                raise BadMessage("nothing is being considered; ask for that first")
            self._begin("consider", self._consider(*self._considered) if message.on else None)
        elif isinstance(message, Worlds):
            self.line.decision(message.ply)
            self._begin("worlds", self._worlds(message.ply, message.count))
        elif isinstance(message, Draw):
            view = messages.view_of(self.line, message.ply, message.seat)
            self._put(messages.DiagramShown(svg=diagram(view)))
        elif isinstance(message, DoubleDummy):
            self.line.decision(message.ply)
            self._begin("double dummy", self._double_dummy(message.ply))

    def _adviser(self, agent: str) -> str:
        chosen = agent or strongest(self.line.rules)
        check_agent(chosen, self.line.rules, 0)
        return chosen

    def _begin(self, kind: str, work: Coroutine[Any, Any, None] | None) -> None:
        """Do this instead of what was done of the same kind."""
        before = self._running.pop(kind, None)
        if before is not None:
            before.cancel()
        if work is not None:
            self._running[kind] = asyncio.get_running_loop().create_task(self._guarded(kind, work))

    async def _guarded(self, kind: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except KibitzError as error:
            self._put(messages.Refused(code=type(error).__name__, message=error.public))
        except Exception:
            _log.exception("%s failed", kind)
            self._put(messages.Refused(code="Failed", message=f"{kind} has failed here"))

    async def _judge(self, agent: str) -> None:
        """All decisions, one after the other."""
        plies = self.line.decisions
        for done, ply in enumerate(plies, 1):
            thought = Thought(self._thinker, self.client, agent, self.line.states[ply].view(), ply)
            advice = None
            async for advice, _ in thought.go_on(self._thinker.limits.review_seconds):  # noqa: B007
                pass
            assert advice is not None
            self._put(messages.judged_shown(judge(self.line, ply, advice), thought, done, len(plies)))

    async def _consider(self, ply: int, thought: Thought) -> None:
        async for advice, done in thought.go_on():
            self._put(messages.advice_shown(advice, thought, ply, done))

    async def _worlds(self, ply: int, count: int) -> None:
        view = self.line.decision(ply)
        moves = view.legal_moves()
        for number in range(1, count + 1):
            world = await self._thinker.aside(self.client, sampled_world, view, number - 1, ply)
            self._put(
                messages.WorldShown(
                    ply=ply,
                    number=number,
                    count=count,
                    picture=world.picture,
                    rows=messages.values_shown(self.line.rules, moves, world.values),
                    unit=world.unit,
                )
            )

    async def _double_dummy(self, ply: int) -> None:
        state = self.line.state(ply)
        values = await self._thinker.aside(self.client, exact, state)
        is_whole = is_bridge(self.line.rules) and not int(state.record.played)
        table = await self._thinker.aside(self.client, double_dummy_table, self.line) if is_whole else None
        rows = messages.values_shown(self.line.rules, state.legal_moves(), values)
        self._put(messages.ExactShown(ply=ply, rows=rows, unit="tricks", table=table))
