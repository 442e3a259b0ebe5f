"""The wire protocol: what a browser and the server may say to each other, as pydantic models.

Every message is one JSON object with a `type`. What comes in is checked strictly: no unknown fields, no
other types, no long texts; `BadMessage` says what is wrong. `schema()` is the whole protocol as a JSON
schema, which `kibitz/web/protocol.json` holds for other clients (`python -m kibitz.web.messages` prints it).

Moves have a number that may be larger than JavaScript can hold, so it travels as text, and so do the
numbers of deals and, in `fields`, sets of cards.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from kibitz.errors import InputError, quoted
from kibitz.position import State, View
from kibitz.search.advice import Advice
from kibitz.web import lines
from kibitz.web.limits import Limits
from kibitz.web.lines import (
    LARGEST_DEAL,
    Judgement,
    Line,
    auction,
    begins_trick,
    grouped,
    has_solver,
    texts,
)
from kibitz.web.tables import Chair, Event, Start, Wish, fields_of
from kibitz.web.thinking import Thought

Token = Annotated[str, Field(min_length=20, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Count = Annotated[int, Field(ge=0, le=LARGEST_DEAL)]
Name = Annotated[str, Field(max_length=Limits.name_characters)]
AgentText = Annotated[str, Field(max_length=Limits.agent_characters)]


class BadMessage(InputError):
    """A message that is not part of the protocol."""


class _Message(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


# --- from the browser ---


class Join(_Message):
    """Sit down, or watch: the first message of every connection, once."""

    type: Literal["join"]
    token: Token
    sees: Annotated[int, Field(ge=0, le=15)] | None = None
    """The seat whose cards a watcher wants to see: only where no person plays."""
    after: Count = 0
    """The number of the last event that is known already."""


class PlayMove(_Message):
    """Make a move: one of those listed, or as it is typed."""

    type: Literal["play"]
    number: Count
    """The number of the last event that was seen: a move for an older position does not count."""
    move: Annotated[str, Field(pattern=r"^-?[0-9]{1,19}$")] | None = None
    text: Annotated[str, Field(min_length=1, max_length=Limits.move_characters)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> PlayMove:
        if (self.move is None) == (self.text is None):
            raise ValueError("give either 'move' or 'text'")
        return self


class Advise(_Message):
    """Turn advice on or off; while it is on, every decision of the seat is thought about."""

    type: Literal["advise"]
    on: bool
    agent: AgentText = ""
    """Who is asked; the strongest known for the game, if empty."""


class Think(_Message):
    """Think about the present decision for as long again; or stop, and leave it at what was found."""

    type: Literal["think"]
    on: bool


class HandOver(_Message):
    """Let an agent play on for the seat."""

    type: Literal["hand_over"]
    agent: AgentText


class Undo(_Message):
    """Ask to take back one's last move, and all moves after it."""

    type: Literal["undo"]


class Claim(_Message):
    """Say how many of the tricks that are left one's side makes, to end the play."""

    type: Literal["claim"]
    tricks: Annotated[int, Field(ge=0, le=13)]


class Answer(_Message):
    """Agree to what another seat asks for, or not."""

    type: Literal["answer"]
    agree: bool


class Rematch(_Message):
    """Open another table for the same people and agents, when the game is over."""

    type: Literal["rematch"]
    same_deal: bool = False
    """The same cards, everybody at his seat; else the seats move on by one and the cards are new."""


class StartGiven(_Message):
    """How a line of play begins: with a deal of a table or match, or with a position."""

    seed: Annotated[str, Field(pattern=r"^[0-9]{1,19}$")] | None = None
    deal: Count = 0
    position: Annotated[str, Field(max_length=Limits.position_characters)] = ""
    """The number of a deal, as in `kibitz advise`, or a position as the game writes it."""


class Study(_Message):
    """Look at a line of play that one knows, instead of joining a table; again, to look at another."""

    type: Literal["study"]
    game: Annotated[str, Field(min_length=1, max_length=Limits.game_characters)]
    start: StartGiven
    moves: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=Limits.move_characters)]],
        Field(max_length=Limits.line_moves),
    ]


class Review(_Message):
    """Look at the line of play of one's table, when the game is over."""

    type: Literal["review"]


class Look(_Message):
    """Show a position of the line, as a seat saw it, or open if no seat is named."""

    type: Literal["look"]
    ply: Count
    seat: Annotated[int, Field(ge=0, le=15)] | None = None


class Judge(_Message):
    """Judge all decisions of the line, one by one; or no longer."""

    type: Literal["judge"]
    on: bool
    agent: AgentText = ""


class Consider(_Message):
    """Think about the decision at a position of the line, from what its mover saw."""

    type: Literal["consider"]
    ply: Count
    agent: AgentText = ""


class Worlds(_Message):
    """Sample worlds that the mover of a position could not tell from the truth."""

    type: Literal["worlds"]
    ply: Count
    count: Annotated[int, Field(ge=1, le=Limits.worlds)] = 12


class Draw(_Message):
    """Draw a position of the line, as a seat saw it, or open if no seat is named."""

    type: Literal["draw"]
    ply: Count
    seat: Annotated[int, Field(ge=0, le=15)] | None = None


class DoubleDummy(_Message):
    """Tell what the moves at a position are worth when all cards are seen, by the game's solver."""

    type: Literal["double_dummy"]
    ply: Count


class Ping(_Message):
    """Ask whether the server is there."""

    type: Literal["ping"]


AboutLine = Review | Look | Judge | Consider | Think | Worlds | DoubleDummy | Draw
AtTable = PlayMove | Advise | HandOver | Undo | Claim | Answer | Rematch
AnyIncoming = Join | AtTable | Study | AboutLine | Ping
Incoming = Annotated[AnyIncoming, Field(discriminator="type")]


# --- from the server ---


class ChairShown(_Message):
    """Who sits at a seat."""

    name: str
    agent: str
    """Empty: a person."""
    connections: int
    """In how many windows the seat is open, which everybody is told; 0: nobody is there."""


class EventShown(_Message):
    """Something that happened, as far as the observer may know."""

    number: int
    kind: Literal["deal", "move", "secret", "undo", "claim", "over"]
    seat: int | None
    text: str


class MoveShown(_Message):
    """A legal move."""

    move: str
    text: str


class PositionShown(_Message):
    """The table as the observer sees it."""

    number: int
    """Of the last event that it includes."""
    turn: int | None
    """Who is to move; during a window it is null, but for a seat that may answer."""
    window: bool
    """A short pause after a play, of the same length whoever holds a bomb."""
    over: bool
    moves: list[MoveShown]
    """What the observer can do now."""
    picture: str
    fields: dict[str, Any]
    """The record of the game's position; what the observer cannot see is blank, for watchers null."""
    scores: list[float]
    seed: str | None
    start: StartGiven | None
    moves_made: list[str] | None


class WishShown(_Message):
    """What a seat asks of the others."""

    kind: Literal["undo", "claim"]
    seat: int
    tricks: int
    cards: list[str]
    """The hand of who claims: he shows it."""
    agreed: list[int]


class Welcome(_Message):
    """The answer to `join`."""

    type: Literal["welcome"] = "welcome"
    kibitz: str
    table: str
    game: str
    seat: int | None
    """Null: a watcher."""
    sees: int | None
    """The seat whose cards a watcher sees, if any."""
    window_seconds: float
    undo: bool
    """Whether moves can be taken back here."""
    deal_chosen: bool
    """Whether whoever opened the table chose the deal, and so may know all hands."""


class Update(_Message):
    """What is new: the events that were not told yet, and the position after them."""

    type: Literal["update"] = "update"
    events: list[EventShown]
    chairs: list[ChairShown]
    wish: WishShown | None
    position: PositionShown


class Again(_Message):
    """A table was opened for a rematch: this is the observer's own token of it."""

    type: Literal["again"] = "again"
    token: str
    seat: int | None


class RowShown(_Message):
    """What advice says of a move, or of cards that take the same tricks; null: not known."""

    moves: list[MoveShown]
    value: float | None
    stderr: float | None
    visits: int
    available: int
    """How often it could have been tried, in the worlds that were thought about."""
    shares: dict[str, float]
    """Of the worlds, those in which something comes about, such as that a contract is made."""


class AdviceShown(_Message):
    """What an agent thinks of the seat's moves so far, from nothing but what the seat can see."""

    type: Literal["advice"] = "advice"
    number: int
    """Of the position that it is about."""
    agent: str
    unit: str
    best: str
    rows: list[RowShown]
    value: float | None
    iterations: int
    worlds: int
    seconds: float
    limit: float
    """Seconds after which it ends, if nobody lets it go on."""
    seed: str
    exact: bool
    done: bool


class PlyShown(_Message):
    """A move of a line."""

    seat: int
    text: str
    chosen: bool
    """Whether there was anything to choose from."""
    leads: bool
    """Whether a trick begins with it."""


class AuctionShown(_Message):
    """What a board of Bridge tells of the time before the play."""

    dealer: int
    vulnerable: Literal["none", "ns", "ew", "both"]
    calls: list[str]
    notes: list[str]
    """What was said about each call; empty, if nothing."""


class LineShown(_Message):
    """The answer to `study` and `review`: everything lies open."""

    type: Literal["line"] = "line"
    game: str
    seats: int
    start: StartGiven
    plies: list[PlyShown]
    solver: bool
    """Whether `double_dummy` can be asked for."""
    auction: AuctionShown | None
    texts: dict[str, str]
    """The line in every notation in which it can be sent elsewhere."""


class PlaceShown(_Message):
    """The answer to `look`."""

    type: Literal["place"] = "place"
    ply: int
    seat: int | None
    turn: int | None
    over: bool
    moves: list[MoveShown]
    picture: str
    fields: dict[str, Any]
    scores: list[float]


class JudgedShown(_Message):
    """What an agent thinks of a move of the line, from nothing but what its seat could see then."""

    type: Literal["judged"] = "judged"
    ply: int
    loss: float | None
    """Against the agent's choice; null: not known."""
    error: float | None
    advice: AdviceShown
    done: int
    """So many decisions of the line are judged now."""
    total: int


class ValueShown(_Message):
    """What a move is worth in one world, or in the true one."""

    move: str
    text: str
    value: float | None


class WorldShown(_Message):
    """A world that the mover could not tell from the truth."""

    type: Literal["world"] = "world"
    ply: int
    number: int
    count: int
    picture: str
    rows: list[ValueShown]
    unit: str


class ExactShown(_Message):
    """What the moves are worth when all cards are seen: no seat could know it."""

    type: Literal["exact"] = "exact"
    ply: int
    rows: list[ValueShown]
    unit: str
    table: dict[str, Any] | None
    """Of a whole deal of Bridge: tricks by seat and strain, par, the contracts that make it, and for whom."""


class DiagramShown(_Message):
    """The answer to `draw`: a picture as SVG."""

    type: Literal["diagram"] = "diagram"
    svg: str


class Refused(_Message):
    """What was asked for cannot be done; nothing was changed."""

    type: Literal["refused"] = "refused"
    code: str
    message: str


class Pong(_Message):
    """The answer to `ping`."""

    type: Literal["pong"] = "pong"


Outgoing = Annotated[
    Welcome
    | Update
    | Again
    | AdviceShown
    | LineShown
    | PlaceShown
    | JudgedShown
    | WorldShown
    | ExactShown
    | DiagramShown
    | Refused
    | Pong,
    Field(discriminator="type"),
]


# --- the lobby ---


class SeatWanted(_Message):
    """Who shall sit at a seat."""

    name: Name = ""
    agent: AgentText = ""
    """Empty: a person, who gets a link."""


class TableWanted(_Message):
    """A new table."""

    game: Annotated[str, Field(min_length=1, max_length=Limits.game_characters)]
    seats: Annotated[list[SeatWanted], Field(min_length=1, max_length=16)]
    seed: Annotated[str, Field(pattern=r"^[0-9]{1,18}$")] | None = None
    """The number of the deal; at random, if null. Whoever knows it knows all hands."""
    start: StartGiven | None = None
    """Begin with a line of play, instead."""
    moves: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=Limits.line_moves)] = []
    """Moves that have been made already: play on from there."""
    undo: bool = False
    """Whether moves can be taken back, if all people agree."""


class TableMade(_Message):
    """The new table with all its tokens: they are told once."""

    table: str
    seats: dict[str, str]
    """Seat → token, for people."""
    watch: str


class TokensKept(_Message):
    """The tokens that a browser has kept: which tables do they open?"""

    tokens: Annotated[list[Token], Field(max_length=Limits.tokens)]


class TableShown(_Message):
    """A table in the list of one's own."""

    token: str
    table: str
    game: str
    seat: int | None
    chairs: list[ChairShown]
    over: bool
    your_turn: bool
    known: bool
    """Whether `over` and `your_turn` are: the moves of many long games are not all read for one request."""


class TextPasted(_Message):
    """A text that may hold lines of play: PBN, LIN, or a record of Kibitz."""

    text: Annotated[str, Field(min_length=1, max_length=Limits.study_characters)]


class LineFound(_Message):
    """A line of play in a text, as `study` takes it."""

    title: str
    game: str
    start: StartGiven
    moves: list[str]


class LinesFound(_Message):
    """What a text holds."""

    notation: str
    lines: list[LineFound]


_INCOMING: TypeAdapter[Any] = TypeAdapter(Incoming)
_OUTGOING: TypeAdapter[Any] = TypeAdapter(Outgoing)


def read(data: str, most: int = Limits.message_characters) -> AnyIncoming:
    """The message that a text holds.

    >>> read('{"type": "ping"}')
    Ping(type='ping')
    """
    if len(data) > most:
        raise BadMessage(f"a message of {len(data)} characters is too long; the most is {most}")
    try:
        found: AnyIncoming = _INCOMING.validate_json(data)
    except ValidationError as error:
        raise BadMessage(f"not a message of the protocol: {trouble(error)}") from None
    return found


def trouble(error: ValidationError) -> str:
    """The first thing that is wrong with a message, and where; it may quote what was sent."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = quoted(".".join(map(str, first["loc"])))[1:-1]
    return f"{place}: {''.join(c for c in first['msg'][:200] if c.isprintable())}"


def event_shown(event: Event) -> EventShown:
    """An event as it is sent."""
    return EventShown(number=event.number, kind=event.kind, seat=event.seat, text=event.text)  # type: ignore[arg-type]


def with_events(update: str, events: list[Event]) -> str:
    """An update without events, as it is sent, with events: the rest of it is written once only."""
    shown = ",".join(event_shown(event).model_dump_json() for event in events)
    return update.replace('"events":[]', f'"events":[{shown}]', 1)


def chair_shown(chair: Chair, connections: int) -> ChairShown:
    """A chair as it is sent."""
    return ChairShown(name=chair.name, agent=chair.agent, connections=connections)


def position_shown(position: dict[str, Any]) -> PositionShown:
    """A table's `position` as it is sent."""
    moves = [MoveShown.model_construct(**move) for move in position["moves"]]  # ours: checked by the tests
    start = None if position["start"] is None else StartGiven(**position["start"])
    return PositionShown.model_construct(**{**position, "moves": moves, "start": start})


def wish_shown(wish: Wish | None) -> WishShown | None:
    """A wish as it is sent."""
    if wish is None:
        return None
    agreed = sorted(wish.agreed)
    cards = wish.cards
    return WishShown(kind=wish.kind, seat=wish.seat, tricks=wish.tricks, cards=cards, agreed=agreed)  # type: ignore[arg-type]


def advice_shown(advice: Advice, thought: Thought, number: int, done: bool) -> AdviceShown:
    """Advice as it is sent."""
    view = thought.view
    rows = [
        RowShown(
            moves=[MoveShown(move=str(move), text=view.game.move_text(move)) for move in moves],
            value=_finite(row.value),
            stderr=_finite(row.stderr),
            visits=int(row.visits),
            available=int(row.available),
            shares=row.shares,
        )
        for moves, row in grouped(advice, view)
    ]
    return AdviceShown(
        number=number,
        agent=advice.agent,
        unit=advice.unit,
        best=str(advice.best),
        rows=rows,
        value=_finite(advice.value),
        iterations=advice.iterations,
        worlds=advice.worlds,
        seconds=round(advice.seconds, 3),
        limit=thought.limit,
        seed=str(advice.seed),
        exact=advice.exact,
        done=done,
    )


def start_shown(start: Start) -> StartGiven:
    """How a line begins, as it is sent."""
    return StartGiven(**start.shown())


def start_of(given: StartGiven) -> Start:
    """How a line begins, as it was sent."""
    return Start(None if given.seed is None else int(given.seed), given.deal, given.position)


def line_shown(line: Line, chairs: list[str]) -> LineShown:
    """A line of play as it is sent; who sat where, if it was played at a table."""
    chosen, told = set(line.decisions), auction(line)
    plies = [
        PlyShown(seat=seat, text=line.text(ply), chosen=ply in chosen, leads=begins_trick(line.states[ply]))
        for ply, seat in enumerate(line.seats)
    ]
    return LineShown(
        game=line.game,
        seats=line.rules.seats,
        start=start_shown(line.start),
        plies=plies,
        solver=has_solver(line.rules),
        auction=None if told is None else AuctionShown(**told),
        texts=texts(line, chairs),
    )


def lines_in(text: str) -> LinesFound:
    """The lines of play that a pasted text holds."""
    notation, found = lines.read(text)
    shown = [
        LineFound(
            title=each.title,
            game=each.line.game,
            start=start_shown(each.line.start),
            moves=[each.line.text(ply) for ply in range(len(each.line.moves))],
        )
        for each in found
    ]
    return LinesFound(notation=notation, lines=shown)


def view_of(line: Line, ply: int, seat: int | None) -> View:
    """A position of a line as a seat saw it, or open."""
    if seat is not None and seat >= line.rules.seats:
        raise BadMessage(f"there is no seat {seat}")
    state = line.state(ply)
    return state.open_view() if seat is None else state.view(seat)


def place_shown(line: Line, ply: int, seat: int | None) -> PlaceShown:
    """A position of a line, as a seat saw it or open."""
    state = line.state(ply)
    view = view_of(line, ply, seat)
    moves = [] if state.is_over or seat not in (None, state.mover) else state.legal_moves()
    return PlaceShown(
        ply=ply,
        seat=seat,
        turn=None if state.is_over else state.mover,
        over=state.is_over,
        moves=[MoveShown(move=str(move), text=line.rules.move_text(move)) for move in moves],
        picture=str(view),
        fields=fields_of(view.array),
        scores=State(line.rules, view.array).returns(),
    )


def judged_shown(judgement: Judgement, thought: Thought, done: int, total: int) -> JudgedShown:
    """A judgement of a decision as it is sent."""
    return JudgedShown(
        ply=judgement.ply,
        loss=_finite(judgement.loss),
        error=_finite(judgement.error),
        advice=advice_shown(judgement.advice, thought, judgement.ply, True),
        done=done,
        total=total,
    )


def values_shown(rules: Any, moves: list[int], values: list[float]) -> list[ValueShown]:
    """Values of moves as they are sent."""
    return [
        ValueShown(move=str(move), text=rules.move_text(move), value=_finite(value))
        for move, value in zip(moves, values, strict=True)
    ]


def _finite(number: float) -> float | None:
    """JSON knows no infinity: what is not known is null."""
    return float(number) if math.isfinite(number) else None


def schema() -> dict[str, Any]:
    """The protocol as a JSON schema: what may come in, what goes out, and what the lobby takes and gives."""
    parts: list[tuple[Any, Literal["validation", "serialization"], TypeAdapter[Any]]] = [
        ("incoming", "validation", _INCOMING),
        ("outgoing", "serialization", _OUTGOING),
        ("table_wanted", "validation", TypeAdapter(TableWanted)),
        ("table_made", "serialization", TypeAdapter(TableMade)),
        ("tokens_kept", "validation", TypeAdapter(TokensKept)),
        ("table_shown", "serialization", TypeAdapter(TableShown)),
        ("text_pasted", "validation", TypeAdapter(TextPasted)),
        ("lines_found", "serialization", TypeAdapter(LinesFound)),
    ]
    found, shared = TypeAdapter.json_schemas(parts, title="The table of Kibitz")
    properties = {name: found[name, mode] for name, mode, _ in parts}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **shared, "properties": properties}


def schema_text() -> str:
    """The schema as it is stored."""
    return json.dumps(schema(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
