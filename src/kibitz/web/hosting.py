"""The host of all tables: it lets agents think, keeps the time of windows, and tells everybody his part.

It knows connections only as something that takes texts, so it can be tried without a network. What a
connection gets is made at the moment at which the table changes, from the position of its observer alone:
no message tells by its number, its order or its moment of a question that others have been asked.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import weakref
from collections import Counter, deque
from collections.abc import Sequence

from pydantic import BaseModel

from kibitz import __version__
from kibitz.errors import IllegalMove, InputError, KibitzError, Unsupported, Unwritable
from kibitz.games.bridge.claims import Claim
from kibitz.position import View
from kibitz.rng import derive
from kibitz.web import messages
from kibitz.web.limits import Limits
from kibitz.web.lines import Line
from kibitz.web.messages import Advise, BadMessage, HandOver, Join, Ping
from kibitz.web.studying import Study, opened, strongest
from kibitz.web.tables import (
    WATCHER,
    Chair,
    Glance,
    NewTable,
    Place,
    Start,
    Table,
    Tables,
    Task,
    Wish,
    check_agent,
    glance,
    look_at,
    new_table,
    read_table,
)
from kibitz.web.thinking import Player, Thinker, Thought, by_thumb
from kibitz.web.worker import Worker

_log = logging.getLogger(__name__)
_HOUR = 3600.0


Shown = tuple[messages.PositionShown, str]
"""A position as an observer sees it, and the update that tells of it, but for the events."""


class Connection:
    """Somebody who looks at a table; `outbox` holds what is to be sent."""

    def __init__(self, limits: Limits, client: str = "") -> None:
        self.observer, self.client = WATCHER, client
        self.sits = False
        self.session: Session | None = None
        self.outbox: deque[str] = deque()
        self._unsent = 0  # characters in it
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
        limits = self._limits
        return limits.study_characters if self.session is None else limits.message_characters

    def close_study(self) -> None:
        """Look at no line of play any more."""
        if self.study is not None:
            self.study.close()
            self.study = None

    @property
    def has_begun(self) -> bool:
        """Whether it has asked for anything: a seat, a look, or a study."""
        return self.session is not None or self.study is not None

    def put(self, message: BaseModel) -> None:
        """Send a message as soon as the connection takes it."""
        self._put_text(message.model_dump_json())

    def _put_text(self, text: str) -> None:
        if len(self.outbox) >= self._limits.unsent or self._unsent > self._limits.unsent_bytes:
            self.is_dropped = True  # it can come back and ask for what it has missed
        else:
            self.outbox.append(text)
            self._unsent += len(text)
        self.ready.set()

    def take(self) -> str:
        """The next text to send, out of the outbox."""
        text = self.outbox.popleft()
        self._unsent -= len(text)
        return text

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
                deal_chosen=table.deal_chosen,
            )
        )

    def tell(self, shown: Shown | None = None) -> None:
        """Send what is new; nothing, if nothing is. `shown` may be what others who see the same were told."""
        assert self.session is not None
        position, state = shown or self.session.shown_to(self.observer, self.sits)
        events = self.session.table.events(self.observer, self._number)
        if state == self._last and not events:
            return
        decision = (position.number, bool(position.moves))
        is_new = not self._last or decision != (self._number, self._can_move)
        self._last, (self._number, self._can_move) = state, decision
        self._put_text(messages.with_events(state, events))
        if is_new:  # who comes and goes must not interrupt advice
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
            thinker = self.session.host.thinker
            self._thought = Thought(thinker, self.client, self._adviser, view, seed=self._number)
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
    return messages.Refused(code=type(error).__name__, message=error.public)


class Session:
    """A table at which somebody is: agents play on and windows close while it lasts."""

    def __init__(self, host: Host, table: Table) -> None:
        self.host, self.table = host, table
        self.connections: list[Connection] = []
        self._again: NewTable | None = None
        self._places: list[int] = []
        """Where those who sat at a seat sit in the rematch."""
        self._judging: tuple[Wish, asyncio.Task[None]] | None = None
        """The claim that is being judged for the agents."""
        self._choices: dict[int, View] = {}
        """The last decision with a choice that an agent has made at a seat."""
        self._moved = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def join(self, connection: Connection, observer: int, after: int, sees: int | None = None) -> None:
        """Let a connection take part; who watches may see a seat's cards if that helps nobody who plays."""
        table = self.table
        if sees is not None and (observer != WATCHER or any(chair.is_person for chair in table.chairs)):
            raise Unsupported("the cards of a seat can be watched at tables of agents alone")
        if sees is not None and sees >= table.rules.seats:
            raise BadMessage(f"there is no seat {sees}")
        sits, most = observer != WATCHER, self.host.limits.connections_a_seat
        if sits and self.connected(observer) >= most:
            raise Unsupported(
                f"this seat is open in {most} windows, which is the most for a seat; close one of them"
            )
        if not sits:
            self._check_watchers(connection.client)
        self.connections.append(connection)
        connection.welcome(self, observer if sees is None else sees, sits, after)
        if sits:  # everybody is told that somebody sits there
            self.changed()
        else:
            connection.tell()
            self._moved.set()
        self.invite(connection)

    def _check_watchers(self, client: str) -> None:
        """Whether another one may watch: each is told of every move, and keeps a table of agents going."""
        limits = self.host.limits
        if sum(not connection.sits for connection in self.connections) >= limits.watchers_a_table:
            raise Unsupported(f"{limits.watchers_a_table} people watch this table already; try again later")
        if self.host.watching(client) >= limits.watchers_a_client:
            raise Unsupported(f"you watch in {limits.watchers_a_client} windows already; close one of them")

    def connected(self, seat: int) -> int:
        """How many connections a seat has."""
        return len(self.at_seat(seat))

    def chairs_shown(self) -> list[messages.ChairShown]:
        """Who sits where, and whether he is there."""
        chairs = enumerate(self.table.chairs)
        return [messages.chair_shown(chair, self.connected(seat)) for seat, chair in chairs]

    def invite(self, connection: Connection) -> None:
        """Tell of the rematch, if there is one: everybody his own token."""
        if self._again is None:
            return
        seat = self._places[connection.observer] if connection.sits else None
        token = self._again.watch if seat is None else self._again.seats.get(seat)
        if token is not None:  # an agent may have taken the seat over
            connection.put(messages.Again(token=token, seat=seat))

    @property
    def client(self) -> str:
        """For whom the agents of the table think: whoever has been here for longest, but first who plays."""
        playing = [connection for connection in self.connections if connection.sits]
        return (playing or self.connections)[0].client if self.connections else ""

    def at_seat(self, seat: int) -> list[Connection]:
        """The connections of a seat."""
        return [each for each in self.connections if each.sits and each.observer == seat]

    async def rematch(self, same_deal: bool, client: str) -> None:
        """Open another table for those who sit here; the first to ask says how."""
        table = self.table
        if not table.is_over:
            raise Unsupported("a rematch is for when the game is over")
        if self._again is None and not self._places:
            seats = table.rules.seats
            self._places = [seat if same_deal else (seat + 1) % seats for seat in range(seats)]
            chairs = [table.chairs[self._places.index(seat)] for seat in range(seats)]
            start, undo = table.start if same_deal else None, table.allows_undo
            try:
                self._again = await self.host.open_table(client, table.game, chairs, None, start, (), undo)
            except BaseException:
                self._places = []  # another try is allowed
                raise
        for connection in self.connections:
            self.invite(connection)

    def start_anew(self) -> None:
        """Moves were taken back: no agent may move for the position that is gone."""
        self._task.cancel()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def _see_to_claim(self) -> None:
        """Let a claim be judged, once for all agents; one that is not wanted any more is left."""
        wish = self.table.wish
        if self._judging is not None and self._judging[0] is not wish:
            self._judging[1].cancel()
            self._judging = None
        if wish is None or wish.kind != "claim" or wish.agents_agree or self._judging is not None:
            return
        if not all(chair.is_person for chair in self.table.chairs):
            self._judging = wish, asyncio.get_running_loop().create_task(self._judge(wish))

    async def _judge(self, wish: Wish) -> None:
        """The agents' answer to a claim: nothing goes into it but what the claimer and everybody know."""
        table = self.table
        seed, worlds = derive(len(table.moves), wish.seat), self.host.limits.claim_worlds
        claim = Claim(table.seen_by(wish.seat), wish.tricks, seed, worlds)
        thinker, seconds = self.host.thinker, self.host.limits.thinking_seconds
        client = next((claiming.client for claiming in self.at_seat(wish.seat)), self.client)
        good: bool | None = None
        try:
            good = await thinker.aside(client, claim.holds, seconds=seconds)
        except Exception:  # the table must not wait for ever
            _log.exception("a claim at table %s cannot be judged", table.name)
        self._judging = None
        if table.wish is wish:
            try:
                table.agents_answer(good)
            except Unwritable:
                _log.exception("the answer to a claim at table %s cannot be recorded", table.name)
                table.answer(wish.seat, False)
            if good is None:
                for connection in self.at_seat(wish.seat):
                    connection.put(refusal(Unsupported("your claim was not judged in time; claim again")))
        self.changed()

    def leave(self, connection: Connection) -> None:
        """When the last one leaves, the table waits on disk; who leaves claims nothing any more."""
        if connection in self.connections:
            self.connections.remove(connection)
            wish = self.table.wish
            if wish is not None and wish.kind == "claim" and not self.connected(wish.seat):
                self.table.answer(wish.seat, False)
            if connection.sits:
                self.changed()
        self.leave_if_empty()

    def leave_if_empty(self) -> None:
        """A table at which nobody is needs no memory."""
        if not self.connections:
            self._task.cancel()
            self.host.close_session(self)

    def changed(self) -> None:
        """Tell everybody what is new for him, and go on."""
        self._see_to_claim()
        shown: dict[tuple[int, bool], Shown] = {}
        for connection in list(self.connections):
            who = connection.observer, connection.sits
            if who not in shown:
                shown[who] = self.shown_to(*who)
            connection.tell(shown[who])
        self._moved.set()

    def shown_to(self, observer: int, sits: bool) -> Shown:
        """What all connections of an observer are told of the present position."""
        table = self.table
        position = messages.position_shown(table.position(observer))
        if not sits:
            position = position.model_copy(update={"moves": []})
        wish = messages.wish_shown(table.wish)
        update = messages.Update(events=[], chairs=self.chairs_shown(), wish=wish, position=position)
        return position, update.model_dump_json()

    async def _run(self) -> None:
        """Let agents move and windows close, until the game is over.

        What fails, because the disk is full, say, is tried again when somebody joins or does something.
        """
        while not self.table.is_over:
            try:
                await self._go_on()
            except Exception as error:
                _log.exception("table %s stops until somebody joins or does something", self.table.name)
                ours = error if isinstance(error, KibitzError) else InputError("the table has failed; reload")
                for connection in self.connections:
                    connection.put(refusal(ours))
                await self._change()

    async def _go_on(self) -> None:
        """Hold a window, let an agent move, or wait for people."""
        if self.table.window is not None:
            await self._hold_window()
        elif (tasks := self.table.tasks()) and self.table.wish is None:
            await self._move(tasks[0], self.host.limits.pace_seconds)
        else:
            await self._change()

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
        labels, earlier = self.table.labels[task.seat], self._choices.get(task.seat)
        in_window = self.table.window is not None
        given = (player, task.view, task.seed, labels, earlier, in_window)
        thinking = self.host.thinker.choose(self.client, *given)
        move, _ = await asyncio.gather(thinking, asyncio.sleep(at_least))
        if len(task.view.legal_moves()) > 1:
            self._choices[task.seat] = task.view
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

    def __init__(self, tables: Tables, limits: Limits, worker: Worker | None = None) -> None:
        self.tables, self.limits = tables, limits
        self.thinker = Thinker(limits, worker)
        self._sessions: dict[str, Session] = {}
        self._made: Counter[str] = Counter()  # tables of the day, by client
        self._studying: weakref.WeakSet[Study] = weakref.WeakSet()
        self._making_room = asyncio.Lock()
        self._reading: dict[str, set[asyncio.Task[Table]]] = {}
        """By table: who waits for it to be read, each with work of his own."""

    async def open_table(
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
            raise Unsupported(f"{enough} tables in a day are enough for one client; play on at them")
        self._made[client] += 1
        try:
            given = (game, chairs, seed, start, moves, undo)
            table = await self.thinker.aside(client, new_table, *given)
            async with self._making_room:
                if len(self.tables) >= self.tables.most:
                    await asyncio.to_thread(self.tables.make_room, list(self._sessions))
            return self.tables.keep(table)
        except BaseException:
            self._made[client] -= 1
            raise

    async def keep_house(self) -> None:
        """Remove old tables, now and every hour; let clients open tables again, every day."""
        for hour in itertools.count(1):
            limits, in_use = self.limits, list(self._sessions)
            given = (limits.table_days, limits.unplayed_days, in_use)
            try:
                removed = await asyncio.to_thread(self.tables.remove_old, *given)
                if removed:
                    _log.warning(
                        "%d tables were removed: nothing has happened there for a long time", removed
                    )
            except Exception:  # in an hour there is another try
                _log.exception("old tables cannot be removed")
            await asyncio.sleep(_HOUR)
            if hour % 24 == 0:
                self._made.clear()

    async def _session(self, client: str, name: str) -> Session:
        """The table by its name, in use from now on; a long record is read beside the event loop.

        Of several who come at once each reads it in his own turn, so nobody waits for somebody else's, and
        whoever is first opens it for all.
        """
        while name not in self._sessions:
            given = (self.tables.folder, name)
            seconds = self.limits.record_seconds
            reading = asyncio.create_task(self.thinker.aside(client, read_table, *given, seconds=seconds))
            others = self._reading.setdefault(name, set())
            others.add(reading)
            try:
                await asyncio.wait((reading,))
            finally:
                is_first = reading in others
                others.discard(reading)
                reading.cancel()
                if not others:
                    self._reading.pop(name, None)
            if is_first and name not in self._sessions:
                self._sessions[name] = Session(self, reading.result())
                for other in others:  # moves that are made from now on are not in what they find
                    other.cancel()
                others.clear()
        return self._sessions[name]

    def watching(self, client: str) -> int:
        """How many connections of a client watch, at all tables."""
        sessions = self._sessions.values()
        everybody = (connection for session in sessions for connection in session.connections)
        return sum(not connection.sits and connection.client == client for connection in everybody)

    def close_session(self, session: Session) -> None:
        """Nobody is at a table any more."""
        self._sessions.pop(session.table.name, None)

    async def tables_of(self, client: str, tokens: list[str]) -> list[messages.TableShown]:
        """What tokens open, for a list of one's own tables; what opens none that can be read is left out."""
        places = {token: place for token in tokens if (place := self.tables.place(token)) is not None}
        seen_at: dict[Place, Glance | None] = {}
        for place in places.values():
            if place.table in self._sessions:
                seen_at[place] = glance(self._sessions[place.table].table, place.observer)
        if away := [place for place in places.values() if place not in seen_at]:
            given, seconds = (self.tables.folder, away), self.limits.record_seconds
            seen_at |= zip(
                away, await self.thinker.aside(client, look_at, *given, seconds=seconds), strict=True
            )
        found = []
        for token, place in places.items():
            session, seen = self._sessions.get(place.table), seen_at[place]
            if seen is None:
                continue
            here = session.connected if session else (lambda _: 0)
            found.append(
                messages.TableShown(
                    token=token,
                    table=place.table,
                    game=seen.game,
                    seat=None if place.observer == WATCHER else place.observer,
                    chairs=[messages.chair_shown(each, here(seat)) for seat, each in enumerate(seen.chairs)],
                    over=seen.over,
                    your_turn=seen.turn == place.observer and place.observer != WATCHER,
                    known=seen.is_whole,
                )
            )
        return found

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
                await self._act(connection, message)
            elif connection.study is None:
                raise BadMessage("there is no line of play to look at; ask for a review, or study one")
            else:
                connection.study.receive(message)
        except KibitzError as error:
            connection.put(refusal(error))
        except Exception:  # such as a fault of an agent or a game in the worker process
            _log.exception("a message cannot be answered")
            connection.put(messages.Refused(code="Failed", message="this has failed here"))

    async def _join(self, connection: Connection, message: Join) -> None:
        if connection.session is not None or connection.study is not None:
            raise BadMessage("this connection has joined a table already, or studies; open another one")
        place = self.tables.place(message.token)
        if place is None:
            raise InputError("this link opens no table here; it may be incomplete, or the table was removed")
        session = await self._session(connection.client, place.table)
        try:
            session.join(connection, place.observer, message.after, message.sees)
        finally:
            session.leave_if_empty()

    async def _open_study(self, connection: Connection, message: messages.Study) -> None:
        if connection.session is not None:
            raise BadMessage("this connection has joined a table; open another one to study")
        start = messages.start_of(message.start)
        found = await self.thinker.aside(
            connection.client, opened, message.game, start, message.moves, list[str]()
        )
        self._open_line(connection, *found)

    async def _review(self, connection: Connection) -> None:
        """The whole game lies open when it is over, and not before."""
        if connection.session is None:
            raise BadMessage("join a table first")
        table = connection.session.table
        if not table.is_over:
            raise Unsupported("a game can be reviewed when it is over")
        chairs = [chair.agent or chair.name for chair in table.chairs]
        given = (table.game, table.start, list(table.moves), chairs)
        seconds = self.limits.record_seconds
        found = await self.thinker.aside(connection.client, opened, *given, seconds=seconds)
        self._open_line(connection, *found)

    def _open_line(self, connection: Connection, line: Line, shown: messages.LineShown) -> None:
        connection.close_study()
        held = Counter(study.client for study in self._studying)
        if held[connection.client] >= self.limits.studies_a_client:
            raise Unsupported(
                f"you have {self.limits.studies_a_client} lines of play open already; close one of them"
            )
        if held.total() >= self.limits.studies:
            most, number = held.most_common(1)[0]
            if number <= held[connection.client] + 1:
                raise Unsupported(
                    f"{self.limits.studies} lines of play are being studied already; try again later"
                )
            # A few clients with many lines keep nobody out.
            latest = max((s for s in self._studying if s.client == most), key=lambda study: study.number)
            self._studying.discard(latest)
            latest.give_way()
        connection.study = Study(line, self.thinker, connection.client, connection.put)
        self._studying.add(connection.study)
        connection.put(shown)

    async def _act(self, connection: Connection, message: messages.AtTable) -> None:
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
            await asyncio.shield(
                session.rematch(message.same_deal, connection.client)
            )  # others may wait for it
            return
        if not table.chairs[seat].is_person:
            raise Unsupported(f"{table.chairs[seat].agent} plays for this seat")
        made = len(table.moves)
        if isinstance(message, HandOver):
            table.hand_over(seat, message.agent)
        elif isinstance(message, messages.Undo):
            table.ask(Wish("undo", seat))
        elif isinstance(message, messages.Claim):
            table.ask(Wish("claim", seat, message.tricks))
        elif isinstance(message, messages.Answer):
            table.answer(seat, message.agree)
        else:
            if message.number != len(table.events(seat)):
                raise IllegalMove("this move was meant for another position; look at the table again")
            table.play(seat, message.text if message.text is not None else int(message.move or 0))
        if len(table.moves) < made:
            session.start_anew()
        session.changed()

    def _adviser(self, agent: str, table: Table, seat: int) -> str:
        chosen = agent or strongest(table.rules)
        check_agent(chosen, table.rules, seat)
        return chosen
