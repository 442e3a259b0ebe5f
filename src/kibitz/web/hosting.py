"""The host of all tables: it lets agents think, keeps the time of windows, and tells everybody his part.

It knows connections only as something that takes texts, so it can be tried without a network. What a
connection gets is made at the moment at which the table changes, from the position of its observer alone:
no message tells by its number, its order or its moment of a question that others have been asked.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from kibitz import __version__
from kibitz.errors import IllegalMove, InputError, KibitzError, Unsupported
from kibitz.games.bridge.claims import holds
from kibitz.rng import derive
from kibitz.web import messages
from kibitz.web.lines import Line
from kibitz.web.messages import Advise, BadMessage, HandOver, Join, Ping
from kibitz.web.studying import Study, strongest
from kibitz.web.tables import (
    WATCHER,
    Chair,
    NewTable,
    Start,
    Table,
    Tables,
    Task,
    Wish,
    check_agent,
)
from kibitz.web.thinking import Player, Thinker, Thought, by_thumb

_log = logging.getLogger(__name__)
_CLAIM_WORLDS = 20


@dataclass(frozen=True)
class Limits:
    """What the server does for one client, one table and in all."""

    window_seconds: float = 2.0
    """The pause after a play that may be bombed."""
    pace_seconds: float = 0.3
    """An agent's move takes at least so long: one that has no choice is not told by its speed."""
    thinking_seconds: float = 15.0
    advice_seconds: float = 10.0
    review_seconds: float = 1.0
    """For every decision of a game that is reviewed."""
    threads: int = 2
    messages_a_second: float = 20.0
    """Of one connection."""
    requests_a_second: float = 5.0
    """To the lobby, of one client."""
    burst: int = 60
    """Messages or requests that may come at once."""
    unsent: int = 500
    """Messages that may wait for a slow connection before it is dropped."""
    connections: int = 2000
    connections_a_client: int = 400
    tables: int = 10_000
    tables_a_client: int = 500
    """Tables that one client may open between two starts of the server."""
    studies: int = 200
    """Lines of play that may be open at a time."""
    table_days: float = 90.0
    """A table at which nothing has happened for so long is removed."""


class Connection:
    """Somebody who looks at a table; `outbox` holds what is to be sent."""

    def __init__(self, limits: Limits, client: str = "") -> None:
        self.observer, self.client = WATCHER, client
        self.sits = False
        self.session: Session | None = None
        self.outbox: deque[str] = deque()
        self.ready = asyncio.Event()
        self.is_dropped = False
        self._limits = limits
        self._number = 0
        self._last = ""
        self._can_move = False
        self._adviser = ""
        self._thought: Thought | None = None
        self._advising: asyncio.Task[None] | None = None
        self.study: Study | None = None

    @property
    def largest(self) -> int:
        """The length of the longest message that it may send."""
        return messages.LARGEST_STUDY if self.session is None else messages.LARGEST_MESSAGE

    def close_study(self) -> None:
        """Look at no line of play any more."""
        if self.study is not None:
            self.study.close()
            self.study = None

    def put(self, message: BaseModel) -> None:
        """Send a message as soon as the connection takes it."""
        self._put_text(message.model_dump_json())

    def _put_text(self, text: str) -> None:
        if len(self.outbox) >= self._limits.unsent:
            self.is_dropped = True  # it can come back and ask for what it has missed
        else:
            self.outbox.append(text)
        self.ready.set()

    def welcome(self, session: Session, observer: int, sits: bool, after: int) -> None:
        """Sit down, or watch, and be told everything since event number `after`."""
        self.session, self.observer, self.sits = session, observer, sits
        seat = None if observer == WATCHER else observer
        table = session.table
        self._number = min(after, len(table.events(observer)))
        self.put(
            messages.Welcome(
                kibitz=__version__,
                table=table.name,
                game=table.game,
                seat=seat if sits else None,
                sees=None if sits else seat,
                window_seconds=self._limits.window_seconds,
                undo=table.allows_undo,
            )
        )

    def tell(self) -> None:
        """Send what is new; nothing, if nothing is."""
        assert self.session is not None
        table = self.session.table
        events = table.events(self.observer, self._number)
        position = messages.position_shown(table.position(self.observer))
        if not self.sits:
            position = position.model_copy(update={"moves": []})
        chairs = [messages.chair_shown(chair) for chair in table.chairs]
        wish = messages.wish_shown(table.wish)
        state = messages.Update(events=[], chairs=chairs, wish=wish, position=position).model_dump_json()
        if state == self._last and not events:
            return
        self._last, self._number, self._can_move = state, position.number, bool(position.moves)
        self._put_text(messages.with_events(state, events))
        self._think_along()

    def ask_for_advice(self, agent: str) -> None:
        """Think along from now on with an agent, or no longer if it is empty."""
        self._adviser = agent
        self._think_along()

    def _think_along(self) -> None:
        """Think about the present position, if the seat is to move and wants advice."""
        self._thought = None
        if self._adviser and self._can_move and self.session is not None:
            view = self.session.table.seen_by(self.observer)
            # The seed is shown, so it must not be made from that of the deal: this one everybody may know.
            self._thought = Thought(self.session.host.thinker, self._adviser, view, seed=self._number)
        self.think_on(self._thought is not None)

    def think_on(self, on: bool) -> None:
        """Think about the present decision, for as long again; or no longer."""
        if self._advising is not None:
            self._advising.cancel()
            self._advising = None
        if on and self._thought is None:
            raise Unsupported("there is nothing to think about: it is not your turn, or advice is off")
        if on and self._thought is not None:
            self._advising = asyncio.get_running_loop().create_task(self._advise(self._thought))

    async def _advise(self, thought: Thought) -> None:
        number = self._number
        try:
            async for advice, done in thought.go_on():
                self.put(messages.advice_shown(advice, thought, number, done))
        except KibitzError as error:
            self.put(refusal(error))
        except Exception:
            _log.exception("advice of %s failed", thought.spec)
            self.put(
                messages.Refused(code="Advice", message=f"{thought.spec} failed; choose another adviser")
            )

    def leave(self) -> None:
        """The connection has ended."""
        if self._advising is not None:
            self._advising.cancel()
        self.close_study()
        if self.session is not None:
            self.session.leave(self)


def refusal(error: KibitzError) -> messages.Refused:
    """An error of ours as the browser is told."""
    return messages.Refused(code=type(error).__name__, message=str(error))


class Session:
    """A table at which somebody is: agents play on and windows close while it lasts."""

    def __init__(self, host: Host, table: Table) -> None:
        self.host, self.table = host, table
        self.connections: list[Connection] = []
        self._again: NewTable | None = None
        self._places: list[int] = []
        """Where those who sat at a seat sit in the rematch."""
        self._answering: asyncio.Task[None] | None = None
        self._moved = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def join(self, connection: Connection, observer: int, after: int, sees: int | None = None) -> None:
        """Let a connection take part; who watches may see a seat's cards if that helps nobody who plays."""
        table = self.table
        if sees is not None and (observer != WATCHER or any(chair.is_person for chair in table.chairs)):
            raise Unsupported("the cards of a seat can be watched at tables of agents alone")
        if sees is not None and sees >= table.rules.seats:
            raise BadMessage(f"there is no seat {sees}")
        self.connections.append(connection)
        connection.welcome(self, observer if sees is None else sees, observer != WATCHER, after)
        connection.tell()
        self.invite(connection)

    def invite(self, connection: Connection) -> None:
        """Tell of the rematch, if there is one: everybody his own token."""
        if self._again is None:
            return
        seat = self._places[connection.observer] if connection.sits else None
        token = self._again.watch if seat is None else self._again.seats.get(seat)
        if token is not None:  # an agent may have taken the seat over
            connection.put(messages.Again(token=token, seat=seat))

    def rematch(self, same_deal: bool, client: str) -> None:
        """Open another table for those who sit here; the first to ask says how."""
        table = self.table
        if not table.is_over:
            raise Unsupported("a rematch is for when the game is over")
        if self._again is None:
            seats = table.rules.seats
            self._places = [seat if same_deal else (seat + 1) % seats for seat in range(seats)]
            chairs = [table.chairs[self._places.index(seat)] for seat in range(seats)]
            start = table.start if same_deal else None
            self._again = self.host.open_table(client, table.game, chairs, None, start, (), table.allows_undo)
        for connection in self.connections:
            self.invite(connection)

    def wish(self, wish: Wish) -> None:
        """Ask the others; agents answer a claim by what they see."""
        before = len(self.table.moves)
        self.table.ask(wish)
        if len(self.table.moves) < before:
            self.start_anew()
        if self.table.wish is wish and wish.kind == "claim":
            self._answering = asyncio.get_running_loop().create_task(self._answer_claim(wish))

    def start_anew(self) -> None:
        """Moves were taken back: no agent may move for the position that is gone."""
        self._task.cancel()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _answer_claim(self, wish: Wish) -> None:
        table, ply = self.table, len(self.table.moves)
        for seat, chair in enumerate(table.chairs):
            if chair.is_person or seat == wish.seat:
                continue
            given = (table.state, seat, wish.seat, wish.tricks, _CLAIM_WORLDS, derive(ply, seat))
            good = await self.host.thinker.aside(holds, *given)
            if table.wish is not wish:
                return
            table.answer(seat, good)
            self.changed()
            if not good:
                return

    def leave(self, connection: Connection) -> None:
        """When the last one leaves, the table waits on disk."""
        if connection in self.connections:
            self.connections.remove(connection)
        self.leave_if_empty()

    def leave_if_empty(self) -> None:
        """A table at which nobody is needs no memory."""
        if not self.connections:
            self._task.cancel()
            if self._answering is not None:
                self._answering.cancel()
            self.host.close_session(self)

    def changed(self) -> None:
        """Tell everybody what is new for him, and go on."""
        for connection in list(self.connections):
            connection.tell()
        self._moved.set()

    async def _run(self) -> None:
        """Let agents move and windows close, until the game is over."""
        try:
            while not self.table.is_over:
                if self.table.window is not None:
                    await self._hold_window()
                elif (tasks := self.table.tasks()) and self.table.wish is None:
                    await self._move(tasks[0], self.host.limits.pace_seconds)
                else:
                    await self._change()
        except Exception as error:
            _log.exception("table %s stops", self.table.name)
            ours = error if isinstance(error, KibitzError) else InputError("the table has failed; reload")
            for connection in self.connections:  # the disk is full, say
                connection.put(refusal(ours))

    async def _change(self) -> None:
        """Wait until something happens at the table."""
        self._moved.clear()
        await self._moved.wait()

    async def _hold_window(self) -> None:
        """Wait as long as always, while those who are asked may answer."""
        answers = [asyncio.ensure_future(self._move(task, 0.0)) for task in self.table.tasks()]
        try:
            await asyncio.sleep(self.host.limits.window_seconds)
        finally:
            for answer in answers:
                answer.cancel()
        self.table.close_window()
        self.changed()

    async def _move(self, task: Task, at_least: float) -> None:
        """Let an agent decide, and carry it out if it is still wanted."""
        player = Player(task.agent, self.table.rules, task.seat)
        labels = self.table.labels[task.seat]
        in_window = self.table.window is not None
        thinking = self.host.thinker.choose(player, task.view, task.seed, labels, in_window)
        move, _ = await asyncio.gather(thinking, asyncio.sleep(at_least))
        while self.table.wish is not None:  # agents wait for what people agree on
            await self._change()
        if task.ply == len(self.table.moves) and self.table.chairs[task.seat].agent == task.agent:
            try:
                self.table.play(task.seat, move)
            except IllegalMove:
                _log.exception("%s chose an illegal move; the rules of thumb move for it", task.agent)
                self.table.play(task.seat, by_thumb(task.view, task.seed))
            self.changed()


class Host:
    """All tables that are in use."""

    def __init__(self, tables: Tables, limits: Limits) -> None:
        self.tables, self.limits = tables, limits
        self.thinker = Thinker(limits.thinking_seconds, limits.advice_seconds, limits.threads)
        self._sessions: dict[str, Session] = {}
        self._made: Counter[str] = Counter()  # tables, by client
        self._studying: weakref.WeakSet[Study] = weakref.WeakSet()
        self._loading: dict[str, asyncio.Future[Table]] = {}

    def open_table(
        self,
        client: str,
        game: str,
        chairs: Sequence[Chair],
        seed: int | None,
        start: Start | None,
        moves: Sequence[str],
        undo: bool,
    ) -> NewTable:
        """A new table for a client, who may not open any number of them."""
        if self._made[client] >= self.limits.tables_a_client:
            enough = self.limits.tables_a_client
            raise Unsupported(f"{enough} tables are enough for one client; play on at them")
        self._made[client] += 1
        try:
            return self.tables.create(game, chairs, seed, start, moves, undo)
        except BaseException:
            self._made[client] -= 1
            raise

    async def keep_house(self) -> None:
        """Remove old tables, now and every hour."""
        while True:
            removed = self.tables.remove_old(self.limits.table_days, list(self._sessions))
            if removed:
                _log.warning("%d tables were removed: nothing has happened there for a long time", removed)
            await asyncio.sleep(3600)

    async def _session(self, name: str) -> Session:
        """The table by its name, in use from now on; a long record is read beside the event loop."""
        while name not in self._sessions:
            if name not in self._loading:
                self._loading[name] = asyncio.ensure_future(asyncio.to_thread(self.tables.table, name))
            try:
                table = await self._loading[name]
            finally:
                self._loading.pop(name, None)
            if name not in self._sessions:  # of several who come at once the first one opens it
                self._sessions[name] = Session(self, table)
        return self._sessions[name]

    def close_session(self, session: Session) -> None:
        """Nobody is at a table any more."""
        self._sessions.pop(session.table.name, None)

    async def tables_of(self, tokens: list[str]) -> list[messages.TableShown]:
        """What tokens open, for a list of one's own tables; what opens none that can be read is left out."""
        found = []
        for token in tokens:
            place = self.tables.place(token)
            if place is None:
                continue
            session = self._sessions.get(place.table)
            try:
                table = session.table if session else await asyncio.to_thread(self._look, place.table)
            except KibitzError:
                continue
            position = table.position(place.observer)
            found.append(
                messages.TableShown(
                    token=token,
                    table=table.name,
                    game=table.game,
                    seat=None if place.observer == WATCHER else place.observer,
                    chairs=[messages.chair_shown(chair) for chair in table.chairs],
                    over=position["over"],
                    your_turn=position["turn"] == place.observer and place.observer != WATCHER,
                )
            )
        return found

    def _look(self, name: str) -> Table:
        return self.tables.table(name, to_look=True)

    def close(self) -> None:
        """End everything; the tables are on disk."""
        for session in list(self._sessions.values()):
            for connection in list(session.connections):
                connection.leave()
        self.thinker.close()
        self.tables.close()

    async def receive(self, connection: Connection, text: str) -> None:
        """Do what a message asks for; what cannot be done is refused and changes nothing."""
        try:
            message = messages.read(text, connection.largest)
            if isinstance(message, Ping):
                connection.put(messages.Pong())
            elif isinstance(message, Join):
                await self._join(connection, message)
            elif isinstance(message, messages.Study):
                await self._open_study(connection, message)
            elif isinstance(message, messages.Review):
                await self._review(connection)
            elif isinstance(message, messages.Think) and connection.study is None:
                connection.think_on(message.on)
            elif isinstance(message, messages.AtTable):
                self._act(connection, message)
            elif connection.study is None:
                raise BadMessage("there is no line of play to look at; ask for a review, or study one")
            else:
                connection.study.receive(message)
        except KibitzError as error:
            connection.put(refusal(error))

    async def _join(self, connection: Connection, message: Join) -> None:
        if connection.session is not None or connection.study is not None:
            raise BadMessage("this connection has joined a table already, or studies; open another one")
        place = self.tables.place(message.token)
        if place is None:
            raise InputError("this link opens no table here; it may be incomplete, or the table was removed")
        session = await self._session(place.table)
        try:
            session.join(connection, place.observer, message.after, message.sees)
        finally:
            session.leave_if_empty()

    async def _open_study(self, connection: Connection, message: messages.Study) -> None:
        if connection.session is not None:
            raise BadMessage("this connection has joined a table; open another one to study")
        start = messages.start_of(message.start)
        line = await self.thinker.aside(Line, message.game, start, message.moves)
        self._open_line(connection, line, [])

    async def _review(self, connection: Connection) -> None:
        """The whole game lies open when it is over, and not before."""
        if connection.session is None:
            raise BadMessage("join a table first")
        table = connection.session.table
        if not table.is_over:
            raise Unsupported("a game can be reviewed when it is over")
        line = await self.thinker.aside(Line, table.game, table.start, list(table.moves))
        self._open_line(connection, line, [chair.agent or chair.name for chair in table.chairs])

    def _open_line(self, connection: Connection, line: Line, chairs: list[str]) -> None:
        connection.close_study()
        if len(self._studying) >= self.limits.studies:
            raise Unsupported(
                f"{self.limits.studies} lines of play are being studied already; try again later"
            )
        connection.study = Study(line, chairs, self.thinker, connection.put, self.limits.review_seconds)
        self._studying.add(connection.study)
        connection.study.show()

    def _act(self, connection: Connection, message: messages.AtTable) -> None:
        session = connection.session
        if session is None:
            raise BadMessage("join a table first")
        if not connection.sits:
            raise Unsupported("who watches cannot take part")
        seat, table = connection.observer, session.table
        if isinstance(message, Advise):
            connection.ask_for_advice(self._adviser(message.agent, table, seat) if message.on else "")
            return
        if isinstance(message, messages.Rematch):
            session.rematch(message.same_deal, connection.client)
            return
        if not table.chairs[seat].is_person:
            raise Unsupported(f"{table.chairs[seat].agent} plays for this seat")
        if isinstance(message, HandOver):
            table.hand_over(seat, message.agent)
        elif isinstance(message, messages.Undo):
            session.wish(Wish("undo", seat))
        elif isinstance(message, messages.Claim):
            session.wish(Wish("claim", seat, message.tricks))
        elif isinstance(message, messages.Answer):
            before = len(table.moves)
            table.answer(seat, message.agree)
            if len(table.moves) < before:
                session.start_anew()
        else:
            if message.number != len(table.events(seat)):
                raise IllegalMove("this move was meant for another position; look at the table again")
            table.play(seat, message.text if message.text is not None else int(message.move or 0))
        session.changed()

    def _adviser(self, agent: str, table: Table, seat: int) -> str:
        chosen = agent or strongest(table.rules)
        check_agent(chosen, table.rules, seat)
        return chosen
