"""Tables at which people and agents play: who sits where, who may be told what, and the record on disk.

Nothing here knows the web. A table is asked for what one seat may be told, its **events** and its
**position**, and both come from that seat's view and labels alone (`kibitz.protocol`). Events are numbered
for every observer on its own: a gap would tell that somebody else was asked something.

**Questions that nobody may notice.** In Tichu whoever holds a bomb is asked after a play, and only he may
know it. If the table waited for him, the pause would betray the bomb. So every play after which somebody
*could* be asked, as far as everybody knows, opens a **window** of one length, whoever holds what. All that
would be asked are asked at once, each as if those before him had declined, and nobody else may move. When
the window closes the answers count in the order of the rules; who has not answered has declined. The clock
is the host's (`kibitz.web.hosting`), so that a table stays a function of its moves.

**On disk** a table is a file of JSON lines: who sits where, then a line for every move, handed to the
operating system before anybody is told of it. A process that is killed loses nothing. The randomness is
that of game 0 of a match (`kibitz.arena.play`), so a table can be replayed from its first line and its
moves. Tokens of seats are kept as digests: a link goes on working, and the files do not give it away.
"""

from __future__ import annotations

import calendar
import contextlib
import hashlib
import json
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from kibitz import __version__, deadline, games, specs
from kibitz.agents import make_known_agent
from kibitz.arena.play import settle_chance
from kibitz.errors import (
    BadOption,
    IllegalMove,
    InputError,
    KibitzError,
    MissingExtra,
    ParseError,
    TooLong,
    UnknownName,
    Unsupported,
    Unwritable,
)
from kibitz.position import State, View
from kibitz.protocol import UNNOTICED
from kibitz.rng import derive
from kibitz.web.limits import AGENTS, SOLVER, Limits

WATCHER = -1
"""The observer that sits nowhere: it is told what all seats are told alike."""

SCHEMA = "kibitz.table/1"
_AGENT_STREAM = 2
"""As in `kibitz.arena.play`, so that a table of agents is a game of a match; a test holds them together."""
_EXACT_IN_JAVASCRIPT = 1 << 53
_LANDMARK = 50
"""Moves: to take one back, no more than so many are made again."""


@dataclass(frozen=True)
class Chair:
    """Who sits at a seat: a person, or an agent by its string."""

    name: str
    agent: str = ""

    @property
    def is_person(self) -> bool:
        return not self.agent


OPEN_DEAL = re.compile(r"[NESW]:[-.AKQJT2-9 ]{1,90}", re.IGNORECASE)


@dataclass(frozen=True)
class Start:
    """How a game begins: with a deal of a table or match, or with a position that somebody knows."""

    seed: int | None = None
    """Of a table or match; none: the position tells."""
    deal: int = 0
    position: str = ""
    """The number of a deal, as in `kibitz advise`, or a position as the game writes it."""

    def __post_init__(self) -> None:
        if (self.seed is not None and not 0 <= self.seed < 1 << 63) or not 0 <= self.deal < 1 << 31:
            raise BadOption("the number of a deal is between 0 and 2⁶³")

    def board(self) -> Any:
        """The board of Bridge that the position is: a deal, or all that PBN tells of it before the play."""
        from kibitz.games.bridge.files import read_pbn

        given = self.position.strip()
        if OPEN_DEAL.fullmatch(given):
            return read_pbn(f'[Deal "{given}"]')[0]
        if given[:1] not in ("[", "%"):
            raise ParseError("a position of bridge is written as PBN writes deals: N:AK2.… … … …")
        boards = read_pbn(given)
        if len(boards) != 1:
            raise ParseError(f"a game begins with one board, not with {len(boards)}")
        return boards[0]

    @property
    def _number(self) -> int | None:
        """Of the deal, if that is how the position is given."""
        return int(self.position) if re.fullmatch("[0-9]{1,18}", self.position) else None

    def shown(self) -> dict[str, Any]:
        """As plain data; JavaScript cannot hold the seed as a number."""
        return {**asdict(self), "seed": None if self.seed is None else str(self.seed)}

    def begin(self, rules: Any) -> State:
        """The first position; chance may be due. No file is opened, whatever the position says."""
        if self.seed is not None or self._number is not None:
            return State(rules)
        position = self.position
        if is_bridge(rules):
            hands = self.board().hands
            if not all(hands):
                raise ParseError("this board hides a hand; only open ones can be used here")
            position = deal_text(hands)
        state: State = rules.parse_position(position)
        return state

    def settle(self, state: State, number: int) -> None:
        """Settle the chance event with this number, as it always was."""
        if self.seed is not None:
            settle_chance(state, self.seed, self.deal, number)
        elif self._number is not None:
            state.settle_chance(self._number, *((number,) if number else ()))
        else:
            raise Unsupported("the position does not determine what is dealt later")


def is_bridge(rules: Any) -> bool:
    """Whether a game is Bridge, whose notations hold whole deals and which has a solver."""
    from kibitz.games.bridge.rules import Bridge

    return isinstance(rules, Bridge)


def deal_text(hands: Sequence[int]) -> str:
    """Four hands of Bridge as PBN writes them."""
    from kibitz.games.bridge.board import suits_of

    return "N:" + " ".join(".".join(suits_of(int(hand))) for hand in hands)


@dataclass(frozen=True)
class Event:
    """Something that one observer is told."""

    number: int
    """1, 2, 3 … for this observer."""
    kind: str
    """deal: cards are dealt; move: a move that is told; secret: a seat has decided, but not what; undo: the
    seat takes back its last move and all after it; claim: the rest is given up; over."""
    seat: int | None
    text: str


@dataclass(frozen=True)
class Task:
    """A decision that an agent has to make: all that it may know."""

    seat: int
    agent: str
    view: View
    seed: int
    ply: int
    """How many moves had been made: an answer to an older question is not wanted any more."""


@dataclass
class Window:
    """A pause after a play, in which those who hold something can answer in secret."""

    asked: dict[int, View] = field(default_factory=dict)
    """What those who are asked see, in the order of the rules."""
    answers: dict[int, int] = field(default_factory=dict)


@dataclass
class Wish:
    """What a seat asks of the others: granted when all of them agree, forgotten with the next move."""

    kind: str
    """undo: to take back its last move; claim: so many of the tricks that are left."""
    seat: int
    tricks: int = 0
    cards: list[str] = field(default_factory=list)
    """Who claims shows his hand, as at any table."""
    agreed: set[int] = field(default_factory=set)
    agents_agree: bool = False
    """All agents have one answer: none of them may tell by its own what it holds."""


class Table:
    """A game in progress, from the deal to the score.

    >>> table = Table("t1", "briskola", 7, [Chair("Ann"), Chair("Bob")])
    >>> table.play(0, "5D")
    >>> [event.text for event in table.events(1)]
    ['', '5D']
    >>> table.position(1)["moves"][0]["text"] in table.position(1)["picture"]
    True
    """

    def __init__(
        self,
        name: str,
        game: str,
        seed: int,
        chairs: Sequence[Chair],
        start: Start | None = None,
        undo: bool = False,
        deal_chosen: bool = False,
    ) -> None:
        self.name, self.game, self.seed = name, game, seed
        self.deal_chosen = deal_chosen
        """Whether whoever opened the table said what is dealt, and so may know all hands."""
        self.start, self.allows_undo = start or Start(seed), undo
        rules = games.load_known(game)
        if len(chairs) != rules.seats:
            raise BadOption(f"{len(chairs)} seats were given; {game} has {rules.seats}")
        self.state = self.start.begin(rules)
        self.rules = self.state.game
        self.chairs = list(chairs)
        self.moves: list[int] = []
        self._movers: list[int] = []
        self._in_window: list[bool] = []
        self.labels: list[list[int]] = [[] for _ in chairs]
        """All that each seat has learned from the moves, for agents that remember."""
        self.window: Window | None = None
        self.wish: Wish | None = None
        self._claimed: set[tuple[int, int]] = set()
        """Who has claimed when so many tricks were left."""
        self.file: TableFile | _Draft | None = None
        self._landmarks: list[tuple[Any, int]] = []
        """Every so many moves the position before the move, and the number of chance events until then."""
        self._told: dict[int, list[Event]] = {observer: [] for observer in (WATCHER, *range(len(chairs)))}
        self._chances = 0
        self._settle()

    # --- what happens ---

    def play(self, seat: int, move: int | str) -> None:
        """Make a move of a seat, by number or by text; `IllegalMove` says why it cannot be."""
        number = self._checked(seat, move)
        if self.window is not None:
            self.window.answers[seat] = number
            return
        self._write(seat, number)
        self._carry_out(number)

    def _checked(self, seat: int, move: int | str) -> int:
        """The number of a legal move; what is said if it is none depends on what the seat sees only."""
        view = self.seen_by(seat)
        if self.is_over:
            raise IllegalMove("the game is over: nothing can be played any more")
        if self.window is not None and seat not in self.window.asked:
            raise IllegalMove("a short pause, in which a bomb may be played, is not over; try again after it")
        if self.window is not None and seat in self.window.answers:
            raise IllegalMove("you have answered already; wait until the pause is over")
        if self.window is None and view.mover != seat:
            raise IllegalMove(f"it is not your turn but that of seat {view.mover}")
        number = self.rules.parse_move(move) if isinstance(move, str) else move
        legal = view.legal_moves()
        if number not in legal:
            some = ", ".join(self.rules.move_text(m) for m in legal[:12])
            more = f" and {len(legal) - 12} more" if len(legal) > 12 else ""
            raise IllegalMove(f"'{str(move)[:40]}' cannot be played now; legal are {some}{more}")
        return int(number)

    def close_window(self) -> None:
        """End the pause: the answers count in the order of the rules, who has none has declined."""
        window = self.window
        if window is None:
            return
        for seat, view in list(window.asked.items()):
            declined = _unnoticed_move(State(self.rules, view.array))
            move = window.answers.get(seat, declined)
            assert move is not None
            self._write(seat, move)
            if move != declined:  # what the others would have done does not matter any more
                self.window = None
                self._carry_out(move)
                return
            self._decline(seat, move)
        self._end_window()

    def _end_window(self) -> None:
        """Go on after a pause in which nobody has done anything."""
        self._append({"ply": len(self.moves), "pause": "over"})
        self.window = None
        self._settle()

    def _decline(self, seat: int, move: int) -> None:
        """Answer a question that nobody else has noticed with no."""
        assert self.window is not None
        self._make(move)
        del self.window.asked[seat]

    def _carry_out(self, move: int) -> None:
        """Make a legal move, tell of it, and go on to the next decision."""
        before = State(self.rules, self.state.array.copy())
        self._make(move)
        if may_be_interrupted(before, move):
            self.window = Window({view.seat: view for view in self._asides()})
        else:
            self._settle()

    def _make(self, move: int) -> None:
        if len(self.moves) % _LANDMARK == 0:
            self._landmarks.append((self.state.array.copy(), self._chances))
        self._tell_of(move)
        self._movers.append(self.state.mover)
        self._in_window.append(self.window is not None)
        self.rules.play(self.state.record, np.int64(move))  # whoever asked for it has checked it
        self.moves.append(move)
        self.wish = None

    def _settle(self) -> None:
        """Deal what is to be dealt; say so when the game is over."""
        while not self.state.is_over and self.state.mover < 0:
            self.start.settle(self.state, self._chances)
            self._chances += 1
            for observer in self._told:
                self._tell(observer, "deal", None, "")
        if self.state.is_over:
            for observer in self._told:
                self._tell(observer, "over", None, "")

    def _asides(self) -> Iterator[View]:
        """What those see who are asked without anybody's notice, each as if those before had declined."""
        state = State(self.rules, self.state.array.copy())
        while (declined := _unnoticed_move(state)) is not None:
            yield state.view()
            state.play(declined)

    # --- what all must agree to ---

    def ask(self, wish: Wish) -> None:
        """Ask the others for something that cannot be had against their will.

        A seat may claim once in a trick, also after its claim was withdrawn or its moves were taken back. The
        claim is recorded when it is made, so that a restart does not allow another one.
        """
        from kibitz.games.bridge import dds

        if self.is_over:
            raise IllegalMove("the game is over")
        if self.window is not None:
            raise IllegalMove("a short pause, in which a bomb may be played, is not over; try again after it")
        if wish.kind == "undo":
            self._own_last(wish.seat)
        elif not is_bridge(self.rules) or wish.seat == int(self.rules.dummy(self.state.record)):
            raise Unsupported("tricks can be claimed in bridge only, and not by dummy")
        elif not 0 <= wish.tricks <= int(self.state.record.left):
            raise IllegalMove(
                f"{wish.tricks} tricks cannot be claimed; {int(self.state.record.left)} are left"
            )
        elif (wish.seat, int(self.state.record.left)) in self._claimed:
            raise IllegalMove("you have claimed in this trick already; you may claim again in the next one")
        elif not (dds.is_installed() or all(chair.is_person for chair in self.chairs)):
            raise MissingExtra("A claim against agents", "dds")
        else:
            left = int(self.state.record.left)
            self._append({"claimed": wish.tricks, "seat": wish.seat, "left": left})
            self._claimed.add((wish.seat, left))
            hand = _cards(int(self.state.record.hands[wish.seat]))
            wish.cards = [self.rules.move_text(card) for card in hand]
        wish.agreed = {wish.seat}
        wish.agents_agree = wish.kind == "undo"  # a claim is judged first
        self.wish = wish
        self._grant()

    def answer(self, seat: int, agrees: bool) -> None:
        """What a seat says to the wish; one that refuses ends it."""
        if self.wish is None:
            raise IllegalMove("nobody has asked for anything")
        if not agrees:
            self.wish = None
            return
        self.wish.agreed.add(seat)
        self._grant()

    def agents_answer(self, agrees: bool | None) -> None:
        """What all agents together say to the wish; none: they cannot say, and the seat may claim again."""
        wish = self.wish
        if wish is not None and agrees:
            wish.agents_agree = True
            self._grant()
            return
        if wish is not None and agrees is None:
            left = int(self.state.record.left)
            self._append({"unjudged": wish.tricks, "seat": wish.seat, "left": left})
            self._claimed.discard((wish.seat, left))
        self.wish = None

    def _grant(self) -> None:
        """Do what is wished for, if all have agreed."""
        wish = self.wish
        if wish is None:
            return
        if wish.agents_agree:
            wish.agreed |= {seat for seat, chair in enumerate(self.chairs) if not chair.is_person}
        if len(wish.agreed) < self.rules.seats:
            return
        if wish.kind == "undo":
            ply = self._own_last(wish.seat)
            self._append({"undo": ply, "seat": wish.seat})
            self._take_back(ply, wish.seat)
        else:
            self._append({"claim": wish.tricks, "seat": wish.seat})
            self._give_up(wish.seat, wish.tricks)

    def _own_last(self, seat: int) -> int:
        """When a seat has last moved in turn."""
        if not self.allows_undo:
            raise Unsupported("at this table nothing can be taken back")
        for ply in reversed(range(len(self.moves))):
            if self._movers[ply] == seat and not self._in_window[ply]:
                return ply
        raise IllegalMove("you have not moved yet")

    def _take_back(self, ply: int, seat: int) -> None:
        """Go back to the position before a move: what was dealt since will be dealt again."""
        self.wish = None
        last = ply // _LANDMARK
        array, self._chances = self._landmarks[last]
        state = State(self.rules, array.copy())
        for move in (*self.moves[last * _LANDMARK : ply], None):
            while not state.is_over and state.mover < 0:
                self.start.settle(state, self._chances)
                self._chances += 1
            if move is not None:
                self.rules.play(state.record, np.int64(move))  # it was checked when it was made
        self.state = state
        del self._landmarks[-(-ply // _LANDMARK) :]
        for numbers in (self.moves, self._movers, *self.labels):
            del numbers[ply:]
        del self._in_window[ply:]
        for observer in self._told:
            self._tell(observer, "undo", seat, "")

    def _give_up(self, seat: int, tricks: int) -> None:
        """End a deal of Bridge: a side gets so many of the tricks that are left, the other one the rest."""
        from kibitz.games.bridge.claims import share_out

        self.wish = None
        share_out(self.state.record, seat, tricks)
        for observer in self._told:
            self._tell(observer, "claim", seat, str(tricks))
        self._settle()

    # --- what is told ---

    def events(self, observer: int, after: int = 0) -> list[Event]:
        """What an observer has been told since event number `after`."""
        return self._told[observer][after:] if after >= 0 else []

    def _tell(self, observer: int, kind: str, seat: int | None, text: str) -> None:
        told = self._told[observer]
        told.append(Event(len(told) + 1, kind, seat, text))

    def _tell_of(self, move: int) -> None:
        """Tell everybody of a move what he may know, before it is made."""
        record, mover = self.state.record, self.state.mover
        texts = []
        for seat in range(self.rules.seats):
            label = int(self.rules.label(record, np.int64(move), seat))
            self.labels[seat].append(label)
            text = None if label == UNNOTICED else self.rules.tell(record, np.int64(move), seat)
            texts.append(text)
            if text is not None:
                self._tell(seat, "move" if text else "secret", mover, text)
        if None not in texts:
            common = texts[0] if len(set(texts)) == 1 else ""
            self._tell(WATCHER, "move" if common else "secret", mover, common or "")

    def seen_by(self, seat: int) -> View:
        """What a seat sees: during a window everybody but those who are asked looks past the question."""
        if self.window is None:
            return self.state.view(seat)
        if seat in self.window.asked:
            return self.window.asked[seat]
        return self._past_asides().view(seat)

    def _past_asides(self) -> State:
        state = State(self.rules, self.state.array.copy())
        while (declined := _unnoticed_move(state)) is not None:
            state.play(declined)
        return state

    @property
    def is_over(self) -> bool:
        return self.window is None and self.state.is_over

    def position(self, observer: int) -> dict[str, Any]:
        """The table as an observer sees it, as plain data; the whole truth once the game is over."""
        if observer == WATCHER:
            return self._common_position()
        view = self.seen_by(observer)
        is_asked = self.window is not None and observer in self.window.asked
        may_move = is_asked or (self.window is None and not view.is_over and view.mover == observer)
        if self.window is not None and observer in self.window.answers:
            may_move = False
        turn = observer if may_move else None if self.window or view.is_over else view.mover
        moves = view.legal_moves() if may_move else []
        return {
            "number": len(self._told[observer]),
            "turn": turn,
            "window": self.window is not None,
            "moves": [{"move": str(move), "text": self.rules.move_text(move)} for move in moves],
            "picture": str(view),
            "fields": fields_of(view.array),
            "scores": State(self.rules, view.array).returns(),
            **self._afterwards(),
        }

    def _common_position(self) -> dict[str, Any]:
        """What all seats see alike; what only some of them see is null."""
        state = self._past_asides()
        views = [state.view(seat).array for seat in range(self.rules.seats)]
        scores = [State(self.rules, view).returns() for view in views]
        common = scores[0] if all(score == scores[0] for score in scores) else []
        # A hand of Bridge is one place, and none but dummy's is in all views.
        by_place = ("hands",) if is_bridge(self.rules) else ()
        return {
            "number": len(self._told[WATCHER]),
            "turn": None if self.window or state.is_over else state.mover,
            "window": self.window is not None,
            "moves": [],
            "picture": "",
            "fields": {
                name: _common([view[name][0] for view in views], name in by_place)
                for name in views[0].dtype.names or ()
            },
            "scores": common,
            **self._afterwards(),
        }

    def _afterwards(self) -> dict[str, Any]:
        """What may be told when the game is over: the number of the deal, which is all hands."""
        if not self.is_over:
            return {"over": False, "seed": None, "start": None, "moves_made": None}
        texts = [self.rules.move_text(move) for move in self.moves]
        return {"over": True, "seed": str(self.seed), "start": self.start.shown(), "moves_made": texts}

    # --- agents ---

    def tasks(self) -> list[Task]:
        """The decisions that agents have to make now."""
        if self.is_over:
            return []
        if self.window is not None:
            asked = enumerate(self.window.asked.items())
            return [self._task(view, i) for i, (seat, view) in asked if not self.chairs[seat].is_person]
        return [] if self.chairs[self.state.mover].is_person else [self._task(self.state.view(), 0)]

    def _task(self, view: View, declined: int) -> Task:
        ply = len(self.moves)
        seed = derive(self.seed, self.start.deal, _AGENT_STREAM, 0, ply + declined)
        return Task(view.seat, self.chairs[view.seat].agent, view, seed, ply)

    def hand_over(self, seat: int, agent: str) -> None:
        """Let an agent play on for a person."""
        check_agent(agent, self.rules, seat)
        self._append({"seat": seat, "agent": agent})
        self.chairs[seat] = Chair(self.chairs[seat].name, agent)
        self._grant()  # it may have been this person whose answer was waited for

    # --- the record ---

    def _append(self, line: dict[str, Any]) -> None:
        if self.file is not None:
            self.file.append(line)

    def _write(self, seat: int, move: int) -> None:
        text = self.rules.move_text(move)
        self._append({"ply": len(self.moves), "seat": seat, "move": move, "text": text})

    def repeat(self, lines: Sequence[dict[str, Any]]) -> None:
        """Go through the lines of a record, every move checked by the rules."""
        for line in lines:
            deadline.check()
            if "pause" in line:
                self.window = None
                self._settle()
                continue
            seat = _within(line["seat"], self.rules.seats)
            if "agent" in line:
                self.chairs[seat] = Chair(self.chairs[seat].name, line["agent"])
            elif "undo" in line:
                self._take_back(_within(line["undo"], len(self.moves)), seat)
            elif "claimed" in line:
                self._claimed.add((seat, int(line["left"])))
            elif "unjudged" in line:
                self._claimed.discard((seat, int(line["left"])))
            elif "claim" in line:
                self._give_up(seat, _within(line["claim"], int(self.state.record.left) + 1))
            else:
                self._repeat_move(seat, int(line["move"]))

    def go_on(self, moves: Sequence[str]) -> None:
        """Make moves that were made before, whoever sat there: play goes on after them."""
        for text in moves:
            deadline.check()
            if self.window is not None and self.state.mover < 0:
                self._end_window()  # nobody was asked, and the next cards are due
            move = self.rules.parse_move(text)
            if self.state.is_over or move not in self.state.legal_moves():
                raise IllegalMove(f"move {len(self.moves) + 1} of the line, '{text[:40]}', cannot be made")
            self._write(self.state.mover, move)
            self._repeat_move(self.state.mover, move)
        if self.state.is_over:
            raise IllegalMove("the game is over after these moves: there is nothing to play")

    def _repeat_move(self, seat: int, move: int) -> None:
        if self.state.mover != seat or move not in self.state.legal_moves():
            raise InputError(f"move {len(self.moves) + 1} of table {self.name} is not legal by today's rules")
        if self.window is not None and move == _unnoticed_move(self.state):
            self._decline(seat, move)
        else:
            self.window = None
            self._carry_out(move)


def _unnoticed_move(state: State) -> int | None:
    """The move of which nobody else notices that it was due, if the mover has one: he declines."""
    game = state.game
    if state.is_over or state.mover < 0 or "label" in game.defaulted:
        return None
    other = (state.mover + 1) % game.seats
    for move in state.legal_moves():
        if int(game.label(state.record, np.int64(move), other)) == UNNOTICED:
            return move
    return None


def may_be_interrupted(before: State, move: int) -> bool:
    """Whether somebody may be asked in secret after a move, as far as everybody knows.

    It must not depend on anything that a seat cannot see. A game says it by a method `interruptible` of
    its own, which only the table asks; of Kibitz's games only Tichu has such questions.
    """
    game = before.game
    if hasattr(game, "interruptible"):
        return bool(game.interruptible(before.record, move))
    if games.plain_name(type(game).__module__) != "kibitz.games.tichu.rules":
        return False
    from kibitz.games.tichu.combinations import PASS, cards_of
    from kibitz.games.tichu.round import next_to_play
    from kibitz.games.tichu.rules import BOMBING, PLAYING, WISHING
    from kibitz.games.tichu.text import TICHU

    phase = before.record.phase
    if phase == PLAYING and move == PASS:  # the last one, before the trick is taken
        return bool(next_to_play(before.record, before.mover) == before.record.last)
    is_play = phase in (PLAYING, BOMBING) and move < TICHU and bool(cards_of(move))
    return bool(is_play or phase == WISHING)


def _within(number: Any, end: int) -> int:
    """A number of a record, if it is one from 0 to `end` - 1."""
    if not isinstance(number, int) or not 0 <= number < end:
        raise InputError(f"'{str(number)[:20]}' stands where a number below {end} must stand")
    return number


def _cards(mask: int) -> list[int]:
    return [card for card in range(mask.bit_length()) if mask >> card & 1]


def fields_of(array: Any) -> dict[str, Any]:
    """The fields of a record as plain data."""
    return {name: _plain(array[name][0]) for name in array.dtype.names or ()}


def _plain(value: Any) -> Any:
    """Numbers and lists of them; a number that JavaScript cannot hold, such as a set of cards, as text."""
    if isinstance(value, np.ndarray) and (value.dtype.itemsize < 8 or _fits(value)):
        return value.tolist()
    if isinstance(value, np.ndarray | list):
        return [_plain(item) for item in value]
    number = value.item() if isinstance(value, np.generic) else value
    return str(number) if isinstance(number, int) and abs(number) >= _EXACT_IN_JAVASCRIPT else number


def _fits(numbers: NDArray[Any]) -> bool:
    return not numbers.size or bool(
        -_EXACT_IN_JAVASCRIPT < numbers.min() <= numbers.max() < _EXACT_IN_JAVASCRIPT
    )


def _common(values: list[Any], by_place: bool = False) -> Any:
    """A field that is the same in all views; else null, as a whole.

    Place by place can tell more than any seat knows: which places agree may depend on what is hidden, such
    as where in his hand somebody holds a card that all have seen him take.
    """
    if by_place:
        return [_common(list(place)) for place in zip(*values, strict=True)]
    return _plain(values[0]) if all(np.array_equal(value, values[0]) for value in values) else None


# --- who may sit -------------------------------------------------------------------------------------


def check_game(game: str) -> None:
    """A game by its name: a visitor reaches no file, and no game of another library."""
    name = specs.split(game)[0]
    is_known = name in games.GAMES or name in games.known()  # looking for plug-ins takes a while
    if len(game) > Limits.game_characters or not is_known:
        raise UnknownName("game", name[:60], games.known())


def check_agent(agent: str, rules: Any, seat: int) -> None:
    """An agent that plays the game, sees its seat only, and thinks within bounds."""
    from kibitz.games.bridge.players import Pimc

    if len(agent) > Limits.agent_characters:
        raise BadOption(f"an agent's string may have {Limits.agent_characters} characters")
    made = make_known_agent(agent, rules)
    if made.cheating:
        raise Unsupported(f"{agent} looks at hidden cards; at a table nobody may")
    for name, most in (AGENTS | SOLVER if isinstance(made, Pimc) else AGENTS).items():
        value = getattr(made, name, None) or 0
        if isinstance(value, int | float) and value > most:
            raise BadOption(f"{name}={value:g} is too much for a table; the most is {most:g}")
    made.start(rules, seat)


# --- on disk -----------------------------------------------------------------------------------------

_OWNER_ONLY = stat.S_IRUSR | stat.S_IWUSR


class TableFile:
    """The record of one table, which only grows. It tells all hands, so only its owner can read it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, lines: Sequence[dict[str, Any]]) -> None:
        """Begin the record; nothing is left of it if that cannot be written."""
        try:
            self.path.touch(mode=_OWNER_ONLY, exist_ok=False)
            self.append(*lines)
        except (OSError, Unwritable) as error:
            self.path.unlink(missing_ok=True)
            raise Unwritable(f"the table cannot be recorded, so it was not opened: {error}") from error

    def append(self, *lines: dict[str, Any]) -> None:
        """Add lines, whole or not at all. What was left of a line when a process ended is cut off first."""
        data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
        try:
            # Unbuffered: once `write` returns, the line outlives the process. `r+`: a record that was removed
            # does not begin anew in the middle of a game.
            with self.path.open("r+b", buffering=0) as file:
                size = _whole(file)
                if file.write(data) != len(data):
                    file.truncate(size)
                    raise OSError("the disk is full")
        except OSError as error:
            raise Unwritable(f"the move cannot be recorded, so it was not made: {error}") from error

    def read(self) -> list[dict[str, Any]]:
        """All lines, without one that is being written. Nothing is changed: others may be at the table."""
        return [json.loads(line) for line in self.path.read_bytes().split(b"\n")[:-1]]

    def header(self) -> dict[str, Any]:
        """The first line: who sits where."""
        with self.path.open("rb") as file:
            found: dict[str, Any] = json.loads(file.readline())
        return found


def _whole(file: IO[bytes]) -> int:
    """Cut off what follows the last whole line, and stand there."""
    size = file.seek(0, os.SEEK_END)
    if size:
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.seek(0)
            size = file.read().rfind(b"\n") + 1
            file.truncate(size)
    return file.seek(size)


class _Draft:
    """What will be the record of a table, if it is opened."""

    def __init__(self, start: Start | None) -> None:
        self.start = start
        """As it was asked for."""
        self.lines: list[dict[str, Any]] = []

    def append(self, line: dict[str, Any]) -> None:
        """Remember a line."""
        self.lines.append(line)


def digest(token: str) -> str:
    """What is kept of a token. It is random and long, so a plain digest cannot be turned back."""
    return hashlib.sha256(token.encode()).hexdigest()


@dataclass(frozen=True)
class Place:
    """What a token opens: a seat of a table, or a look at it."""

    table: str
    observer: int


@dataclass(frozen=True)
class NewTable:
    """A table that was just made, with the tokens that nobody will be told again."""

    table: Table
    seats: dict[int, str]
    """Tokens of the seats for people."""
    watch: str


class Tables:
    """All tables of a folder; only who may sit where is kept in memory."""

    def __init__(self, folder: Path, most: int = Limits.tables) -> None:
        self.folder, self.most = folder, most
        self._places: dict[str, Place] = {}
        self._names: set[str] = set()
        self._changing = threading.Lock()  # several threads open tables
        self.unreadable: dict[str, str] = {}
        """Names of files that are no tables, with the reason."""
        try:
            folder.mkdir(mode=_OWNER_ONLY | stat.S_IXUSR, parents=True, exist_ok=True)
        except OSError as error:
            raise Unwritable(f"the folder {folder} cannot be made: {error.strerror or error}") from error
        self._lock = _lock(folder)
        for path in sorted(folder.glob("*.jsonl")):
            try:
                path.chmod(_OWNER_ONLY)  # older versions let everybody read it
                self._index(path.stem, TableFile(path).header())
            except Exception as error:  # whatever is wrong with one file, the others are served
                self.unreadable[path.name] = f"{type(error).__name__}: {error}"

    def _index(self, name: str, header: dict[str, Any]) -> None:
        if header["schema"] != SCHEMA:
            raise ValueError(f"its schema is {header['schema']}, not {SCHEMA}")
        chairs = enumerate(header["chairs"])
        found = {chair["token"]: Place(name, seat) for seat, chair in chairs if chair["token"]}
        found[header["watch"]] = Place(name, WATCHER)
        if not all(isinstance(token, str) for token in found):
            raise ValueError("it does not say who may sit where")
        with self._changing:
            self._places |= found
            self._names.add(name)

    def close(self) -> None:
        """Let another server have the folder."""
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._names)

    def create(
        self,
        game: str,
        chairs: Sequence[Chair],
        seed: int | None = None,
        start: Start | None = None,
        moves: Sequence[str] = (),
        undo: bool = False,
        in_use: Iterable[str] = (),
    ) -> NewTable:
        """A new table, with a token for everybody who may sit down; it may begin in the middle of a line."""
        self.make_room(in_use)
        return self.keep(new_table(game, chairs, seed, start, moves, undo))

    def keep(self, table: Table) -> NewTable:
        """Record a new table, and give everybody who may sit down a token."""
        if len(self) >= self.most:
            raise Unsupported(f"there are {self.most} tables already; no more can be opened here")
        name, chairs, draft = table.name, table.chairs, table.file
        assert isinstance(draft, _Draft)
        tokens = {seat: secrets.token_urlsafe(32) for seat, chair in enumerate(chairs) if chair.is_person}
        watch = secrets.token_urlsafe(32)
        header = {
            "schema": SCHEMA,
            "kibitz": __version__,
            "table": name,
            "game": table.game,
            "seed": table.seed,
            "chairs": [
                {**asdict(chair), "token": digest(tokens[seat]) if seat in tokens else ""}
                for seat, chair in enumerate(chairs)
            ],
            "watch": digest(watch),
            "start": None if draft.start is None else asdict(draft.start),
            "undo": table.allows_undo,
            "deal_chosen": table.deal_chosen,
            "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        table.file = file = TableFile(self.folder / f"{name}.jsonl")
        file.create([header, *draft.lines])
        self._index(name, header)
        return NewTable(table, tokens, watch)

    def remove_old(self, days: float, unplayed_days: float, in_use: Iterable[str] = ()) -> int:
        """Remove tables at which nothing has happened for so many days, sooner if nobody has ever moved; how
        many they were.
        """
        kept = set(in_use)
        old = []
        for path in self.folder.glob("*.jsonl"):
            with contextlib.suppress(OSError):
                age = (time.time() - path.stat().st_mtime) / 86_400
                if path.stem not in kept and (age > days or (age > unplayed_days and _is_unplayed(path))):
                    old.append(path)
        return self._remove(old)

    def make_room(self, in_use: Iterable[str] = ()) -> None:
        """If there are as many tables as may be, remove the oldest ones at which nobody has ever moved."""
        if len(self) < self.most:
            return
        kept, found = set(in_use), []
        for path in self.folder.glob("*.jsonl"):
            with contextlib.suppress(OSError):
                made = path.stat().st_mtime
                if (
                    path.stem not in kept
                    and time.time() - made > Limits.new_table_seconds
                    and _is_unplayed(path)
                ):
                    found.append((made, path))
        self._remove([path for _, path in sorted(found)[: max(1, self.most // 100)]])

    def _remove(self, paths: Iterable[Path]) -> int:
        gone = set()
        for path in paths:
            with contextlib.suppress(OSError):
                path.unlink()
                gone.add(path.stem)
        with self._changing:
            self._places = {token: place for token, place in self._places.items() if place.table not in gone}
            self._names -= gone
        return len(gone)

    def place(self, token: str) -> Place | None:
        """What a token opens."""
        return self._places.get(digest(token))

    def table(self, name: str, to_look: bool = False) -> Table:
        """A table by name, as it was left, to play on; or only to look at it, while others may be at it."""
        return read_table(self.folder, name, to_look)


# What follows takes time, needs no index of tables, and can be done by another process.


def new_table(
    game: str,
    chairs: Sequence[Chair],
    seed: int | None = None,
    start: Start | None = None,
    moves: Sequence[str] = (),
    undo: bool = False,
) -> Table:
    """A table that is not recorded yet, after these moves."""
    check_game(game)
    rules = games.load_known(game)
    for seat, chair in enumerate(chairs):
        if not chair.is_person:
            check_agent(chair.agent, rules, seat)
    chosen = seed is not None or start is not None
    # Whoever knows the number of the deal knows all hands: nobody may guess it.
    if start is not None and seed is None:
        seed = start.seed
    seed = secrets.randbits(62) if seed is None else seed
    table = Table(secrets.token_hex(8), game, seed, chairs, start, undo, chosen)
    table.file = _Draft(start)  # nothing is kept of a line that cannot be played
    table.go_on(moves)
    return table


def read_table(folder: Path, name: str, to_look: bool = False) -> Table:
    """A table of a folder, as it was left, to play on; or only to look at it, while others may be at it."""
    if not re.fullmatch("[0-9a-f]{16}", name):
        raise UnknownName("table", name[:40], [])
    file = TableFile(folder / f"{name}.jsonl")
    try:
        deadline.check()
        header, *lines = file.read()
        chairs = [Chair(chair["name"], chair["agent"]) for chair in header["chairs"]]
        start = Start(**header["start"]) if header.get("start") else None
        # Older records do not say whether the number of a deal was chosen; a start always was.
        chosen = bool(header.get("deal_chosen", start is not None))
        undo = bool(header.get("undo"))
        table = Table(name, header["game"], header["seed"], chairs, start, undo, chosen)
        table.repeat(lines)
        if not to_look and not table.is_over:
            for seat, chair in enumerate(table.chairs):
                if not chair.is_person:
                    check_agent(chair.agent, table.rules, seat)
    except TooLong:
        raise  # nothing is wrong with the file
    except Exception as error:  # a damaged file may say anything: one table is refused, by its name
        said = str(error) if isinstance(error, KibitzError | OSError) else type(error).__name__
        raise InputError(f"the record of table {name} cannot be read: {said}") from error
    table.file = None if to_look else file
    return table


@dataclass(frozen=True)
class Glance:
    """What the list of one's own tables says of one."""

    game: str
    chairs: list[Chair]
    over: bool
    turn: int | None
    is_whole: bool = True
    """Whether the moves were read: else nobody knows whether the game is over, and whose turn it is."""


def glance(table: Table, observer: int) -> Glance:
    """A table at a glance, as an observer may see it."""
    position = table.position(observer)
    return Glance(table.game, table.chairs, position["over"], position["turn"])


def look_at(folder: Path, places: Sequence[Place]) -> list[Glance | None]:
    """Tables of a folder at a glance; none for those that cannot be read.

    When its time is over (`kibitz.deadline`) only the first lines are read of those that are left.
    """
    return [_look_at(folder, place) for place in places]


def _look_at(folder: Path, place: Place) -> Glance | None:
    try:
        return glance(read_table(folder, place.table, to_look=True), place.observer)
    except TooLong:
        with contextlib.suppress(Exception):  # a damaged file may say anything
            header = TableFile(folder / f"{place.table}.jsonl").header()
            chairs = [Chair(chair["name"], chair["agent"]) for chair in header["chairs"]]
            return Glance(header["game"], chairs, over=False, turn=None, is_whole=False)
    except KibitzError:
        pass
    return None


def _is_unplayed(path: Path) -> bool:
    """Whether a table's file was not written to after the table was made."""
    try:
        made = calendar.timegm(time.strptime(TableFile(path).header()["made"], "%Y-%m-%dT%H:%M:%SZ"))
    except Exception:  # a damaged file may say anything; it is kept like one that was played at
        return False
    return path.stat().st_mtime < made + _MAKING_SECONDS


_MAKING_SECONDS = 10.0
"""The first line is made before it is written, and tells the time in whole seconds."""


def _lock(folder: Path) -> Any:
    """Two servers on one folder would write over each other; a lock ends with its process."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    (folder / "lock").touch(mode=_OWNER_ONLY)
    file = (folder / "lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise Unwritable(f"another server uses the folder {folder}; stop it or choose another") from error
    return file
