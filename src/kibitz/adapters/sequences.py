"""Games that were played, from one notation into another: `kibitz convert`.

| suffix         | holds                                                                             |
|----------------|-----------------------------------------------------------------------------------|
| `.pbn`, `.lin` | boards of bridge, as many as there are                                            |
| `.json`        | a record of any game, as `kibitz replay --json` prints it                          |
| `.openspiel`   | OpenSpiel's actions: in each line a game, such as `bridge()`, a colon, and numbers |

Bridge becomes OpenSpiel's own `bridge`, with deal, auction and play; where a board tells the contract and not
the auction, the shortest auction that ends in it is written. Every other game is written as `kibitz_…`, which
`kibitz.adapters.openspiel` makes known to OpenSpiel; chance events are among the actions. What is read is
replayed by the rules, so nothing that they forbid comes out. OpenSpiel need not be installed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kibitz import __version__, games, specs, trust
from kibitz.adapters.encoding import (
    BYTE,
    WORD,
    Encoding,
    deal_draws,
    outcomes,
    short_name,
    spec_of,
    step,
    told_as_numbers,
)
from kibitz.adapters.twins import twin_of
from kibitz.arena.play import DEAL, chance_stream
from kibitz.deadline import check
from kibitz.errors import (
    BadOption,
    IllegalMove,
    InputError,
    ParseError,
    Unsupported,
    Unwritable,
    quoted,
)
from kibitz.games.bridge import files
from kibitz.games.bridge.board import FULL, STRAIN_WORDS, check_open, contract_of, passes_to_come
from kibitz.games.bridge.diagram import svg
from kibitz.games.bridge.files import Board, board_of, position
from kibitz.games.bridge.rules import Bridge
from kibitz.games.bridge.solution import boards_of
from kibitz.games.bridge.text import CARDS
from kibitz.position import State, some
from kibitz.protocol import CHANCE
from kibitz.reading import deal_number, file_text, json_value, told, whole_number

_LINE = re.compile(r"\s*(\w+)\s*(?:\(([^)]*)\)\s*)?:([0-9\s]*)(?:#(?: board ([0-9]{1,9})\b)?.*)?")
_TRIES = 100_000


@dataclass(frozen=True)
class Played:
    """A game: its string, the stream of every chance event, the moves, and the position after them."""

    game: str
    streams: tuple[int, ...]
    moves: tuple[int, ...]
    end: State


def convert(source: str, out: Path, allow: trust.Allow | None = None) -> int:
    """Write what a file holds into another, as its suffix says; how many games or boards.

    A record may name the file of a game, which is not run unless `allow` lets it (`kibitz.trust`).
    """
    readers: dict[str, Callable[[str], list[Board | Played]]] = {
        ".json": partial(read_record, allow=allow),
        ".openspiel": read_actions,
    }
    writers = {
        ".json": _record_text,
        ".openspiel": _actions_text,
        ".pbn": lambda found: files.write_pbn(map(_board, found)),
        ".lin": lambda found: files.write_lin(map(_board, found)),
        ".svg": _diagram,
    }
    writer = writers.get(out.suffix.lower())
    if writer is None:
        raise BadOption(f"{out.name} does not say what to write; end its name in {', '.join(writers)}")
    reader = readers.get(Path(source).suffix.lower())
    found = [*boards_of(None, source)] if reader is None else _read(Path(source), reader)
    text = writer(found)
    try:
        out.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise Unwritable(f"{out} cannot be written: {error.strerror or error}") from error
    return len(found)


def _read(path: Path, reader: Callable[[str], list[Board | Played]]) -> list[Board | Played]:
    try:
        found = reader(file_text(path))
    except ParseError as error:
        raise ParseError(f"{path.name}: {error}") from None
    if not found:
        raise InputError(f"{path} holds no game")
    return found


def _board(found: Board | Played) -> Board:
    if isinstance(found, Board):
        return found
    if not isinstance(found.end.game, Bridge):
        raise BadOption(f"a game of {type(found.end.game).__name__} cannot be written as a board of bridge")
    return board_of(found.end, found.moves)


def _diagram(found: list[Board | Played]) -> str:
    if len(found) > 1:
        raise BadOption(f"there are {len(found)} boards, and a diagram shows one; name it, as evening.pbn#3")
    board = _board(found[0])
    return svg(position(board), None, board.dealer, board.vulnerable)


class _Table:
    """A game that is replayed."""

    def __init__(self, rules: Any) -> None:
        self.rules, self.state = rules, State(rules)
        self.encoding = Encoding(rules)

    @property
    def is_chance(self) -> bool:
        return not self.state.is_over and self.state.mover == CHANCE

    def deal(self, word: int) -> None:
        """Settle chance by a stream."""
        step(self.rules, self.state.array, DEAL, np.array([word], np.uint64))

    def told(self, word: int) -> list[int]:
        """Settle chance by a stream; the actions that tell it."""
        before = self.state.array.copy()
        self.deal(word)
        listed = outcomes(self.rules, before)
        if listed:
            after = self.state.key()
            return [next(i for i, each in enumerate(listed) if self._after(before, each[0]) == after)]
        return list(word.to_bytes(WORD, "little")) if deal_draws(self.rules, before) else []

    def read(self, actions: Iterator[int]) -> int:
        """Settle chance by the actions that tell it; a stream that does the same."""
        listed = outcomes(self.rules, self.state.array)
        if listed:
            wanted = self._after(self.state.array, listed[_next(actions, len(listed))][0])
            word = next((word for word in range(_TRIES) if self._dealt(word) == wanted), -1)
            if word < 0:
                raise ParseError(f"no deal of {_TRIES:,} that were tried has this outcome of chance")
        elif deal_draws(self.rules, self.state.array):
            word = int.from_bytes(bytes(_next(actions, BYTE) for _ in range(WORD)), "little")
        else:
            return 0
        self.deal(word)
        return word

    def _after(self, position: NDArray[Any], outcome: int) -> bytes:
        state = State(self.rules, position.copy())
        self.rules.play(state.record, np.int64(outcome))
        return state.key()

    def _dealt(self, word: int) -> bytes:
        check()
        state = State(self.rules, self.state.array.copy())
        step(self.rules, state.array, DEAL, np.array([word], np.uint64))
        return state.key()


def _next(actions: Iterator[int], most: int) -> int:
    action = next(actions, None)
    if action is None or action >= most:
        what = "is missing" if action is None else f"is {action}, and there are only {most}"
        raise ParseError(f"an outcome of chance {what}")
    return action


# --- records as JSON --------------------------------------------------------------------------------


def read_record(text: str, allow: trust.Allow | None = None) -> list[Board | Played]:
    """The games of a record: one as `kibitz replay --json` prints it, or a list of them."""
    content = json_value(text)
    return [_read_one(each, allow) for each in (content if isinstance(content, list) else [content])]


def _read_one(content: Any, allow: trust.Allow | None) -> Board | Played:
    if isinstance(content, dict) and "board" in content:
        return files.read_pbn(str(content["board"]))[0]
    streams: Iterator[int]
    try:
        game, words = str(content["game"]), [str(move["move"]) for move in content["moves"]]
        if "chance" in content:
            streams = iter([_stream(word) for word in content["chance"]])
        else:
            seed, number = deal_number(str(content["seed"])), deal_number(str(content["deal"]))
            streams = (chance_stream(seed, number, n) for n in count())
    except (KeyError, TypeError, ParseError) as error:
        reason = f": {error}" if isinstance(error, ParseError) else ""
        raise ParseError(
            "this is not a record of `kibitz replay --json`, with 'game', 'moves', 'seed' and 'deal'" + reason
        ) from None
    if specs.split(game)[0] == "openspiel":
        raise Unsupported(f"{game} is OpenSpiel's own game, and its records are not converted")
    if allow is not None:
        recorded = content.get("files")
        digests = recorded if isinstance(recorded, dict) else {}
        allow(
            {
                file: frozenset({str(digests[file])} if file in digests else ())
                for file in trust.files_in(game)
            }
        )
    table = _Table(games.load_known(game))
    used, moves = [], []
    for move in (*words, None):
        check()
        while table.is_chance:
            word = next(streams, None)
            if word is None:
                raise InputError("the game ends before a chance event whose outcome is not given")
            used.append(word)
            table.deal(word)
        if move is not None:
            moves.append(table.state.read(move))
            table.state.play(moves[-1])
    return Played(game, tuple(used), tuple(moves), table.state)


def _stream(word: Any) -> int:
    """The stream of a chance event, as `_record` writes it."""
    if not re.fullmatch("[0-9a-fA-F]{1,16}", str(word)):
        raise ParseError(f"{told(word)} among 'chance' is not a number of 16 hexadecimal digits")
    return int(str(word), 16)


def _record_text(found: Iterable[Board | Played]) -> str:
    records = [_record(each) for each in found]
    return json.dumps(records[0] if len(records) == 1 else records, indent=1) + "\n"


def _record(found: Board | Played) -> dict[str, Any]:
    about: dict[str, Any] = {"schema": "kibitz.replay/1", "kibitz": __version__}
    if isinstance(found, Board):
        about |= {"game": "bridge", "board": files.write_pbn([found])}
        return about | {"moves": [{"move": CARDS.text(card)} for card in found.play]}
    about |= {"game": found.game, "chance": [f"{word:016x}" for word in found.streams]}
    about["moves"] = [{"move": found.end.game.move_text(move)} for move in found.moves]
    return about | {"scores": found.end.returns()}


# --- OpenSpiel's actions ----------------------------------------------------------------------------


def read_actions(text: str) -> list[Board | Played]:
    """The games of a text, one a line; what follows # is a remark."""
    found: list[Board | Played] = []
    for number, line in enumerate(text.splitlines(), 1):
        check()
        if not line.partition("#")[0].strip():
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ParseError(f"line {number}: write a game and its actions, such as 'bridge(): 12 3 …'")
        parameters = dict(part.strip().partition("=")[::2] for part in (match[2] or "").split(",") if part)
        actions = map(_action, match[3].split())
        try:
            if match[1] == "bridge":
                found.append(_read_bridge(parameters, actions, int(match[4]) if match[4] else None))
            else:
                found.append(_read_kibitz(match[1], parameters, actions))
        except (ParseError, IllegalMove) as error:
            raise ParseError(f"line {number}: {error}") from None
    return found


def _read_kibitz(short: str, parameters: dict[str, str], actions: Iterator[int]) -> Played:
    names = {short_name(name): name for name in games.known()}
    if short not in names:
        raise ParseError(
            f"{quoted(short)} is not a game that can be read. Available: bridge, {', '.join(names)}"
        )
    name = names[short]
    spec = spec_of(name, parameters, told_as_numbers(games.game_class(name)))
    table = _Table(games.load_known(spec))
    streams, moves = [], []
    while not table.state.is_over:
        check()
        if table.is_chance:
            streams.append(table.read(actions))
            continue
        action = next(actions, None)
        if action is None:
            break
        legal = table.encoding.moves(table.state.array)
        if action not in legal:
            raise ParseError(f"action {action} is not legal; {some(list(map(str, legal)))} are")
        moves.append(legal[action])
        table.state.play(legal[action])
    if next(actions, None) is not None:
        raise ParseError("there are actions after the end of the game")
    return Played(spec, tuple(streams), tuple(moves), table.state)


def _action(word: str) -> int:
    number = whole_number(word)
    if number is None:
        raise ParseError(f"{quoted(word)} is not an action; OpenSpiel's are smaller")
    return number


def _actions_text(found: Iterable[Board | Played]) -> str:
    lines = [_bridge_line(each) if isinstance(each, Board) else _kibitz_line(each) for each in found]
    return "\n".join(lines) + "\n"


def _kibitz_line(played: Played) -> str:
    if isinstance(played.end.game, Bridge):
        return _bridge_line(_board(played))
    name, given = specs.split(played.game)
    table = _Table(games.load_known(played.game))
    numbers = told_as_numbers(type(table.rules))
    told = ",".join(
        f"{key}={getattr(table.rules, key or '') if key in numbers else value}" for key, value in given
    )
    actions, streams = [], iter(played.streams)
    for move in (*played.moves, None):
        while table.is_chance:
            actions += table.told(next(streams))
        if move is not None:
            number = table.encoding.number(table.state.array, move)
            if table.encoding.moves(table.state.array)[number] != move:
                raise InputError(
                    f"{table.rules.move_text(move)} shares its number with other plays of the same ranks, so "
                    f"that this game cannot be written as numbers"
                )
            actions.append(number)
            table.state.play(move)
    return f"{short_name(name)}({told}): {' '.join(map(str, actions))}"


# --- OpenSpiel's bridge -----------------------------------------------------------------------------

_TWIN: Any = twin_of(cast(Any, Bridge)())
_CALLS = {"Pass": _TWIN.PASS, "X": _TWIN.DOUBLE, "XX": _TWIN.REDOUBLE} | {
    f"{level}{strain}": _TWIN.BIDS + 5 * (level - 1) + i
    for level in range(1, 8)
    for i, strain in enumerate(STRAIN_WORDS)
}
_CALL_WORDS = {action: call for call, action in _CALLS.items()}


def _bridge_line(board: Board) -> str:
    """Deal, auction and play; OpenSpiel's players are the seats from north on."""
    if not all(board.hands) or board.cards != FULL:
        raise InputError(f"board {board.number or ''} is not complete; OpenSpiel's bridge deals 52 cards")
    dealer, calls = board.dealer, board.auction
    if not calls and board.level:
        dealer = board.declarer if dealer is None else dealer
        bid = f"{board.level}{STRAIN_WORDS[board.strain or 0]}"
        waiting = ["Pass"] * (((board.declarer or 0) - (dealer or 0)) % 4)
        calls = (*waiting, bid, *[(), ("X",), ("X", "XX")][board.doubled], *["Pass"] * 3)
    elif not calls and board.level == 0:
        calls = ("Pass",) * 4
    dealer = dealer or 0
    side = ("ns", "ew")[dealer % 2]
    ours, theirs = (str(board.vulnerable in (each, "both")).lower() for each in (side, _OTHER[side]))
    hands = [[card for card in range(52) if hand >> card & 1] for hand in board.hands]
    deal = [_TWIN.action(card) for around in zip(*hands, strict=True) for card in around]
    actions = [*deal, *(_CALLS[call] for call in calls), *(_TWIN.action(card) for card in board.play)]
    game = f"bridge(use_double_dummy_result=false,dealer={dealer},dealer_vul={ours},non_dealer_vul={theirs})"
    remark = "" if board.number is None else f"  # board {board.number}"
    return f"{game}: {' '.join(map(str, actions))}{remark}"


def _card(action: int) -> int:
    if action >= CARDS.size:
        raise ParseError(
            f"action {action} is not a card, and the auction has ended; cards are below {CARDS.size}"
        )
    return action


_OTHER = {"ns": "ew", "ew": "ns"}


def _read_bridge(parameters: dict[str, str], actions: Iterator[int], board_number: int | None) -> Board:
    numbers = list(actions)
    deal, rest = numbers[:52], numbers[52:]
    if sorted(deal) != list(range(52)):
        raise ParseError("the first 52 actions are not a deal, which has every card once")
    hands = [0] * 4
    for place, action in enumerate(deal):
        hands[place % 4] |= 1 << _TWIN.move(action)
    dealt = parameters.get("dealer", "0")
    if dealt not in ("0", "1", "2", "3"):
        raise ParseError(f"dealer={quoted(dealt)} is not a seat; north is 0, east 1, south 2, west 3")
    dealer = int(dealt)
    calls: list[str] = []
    for action in takewhile(_CALL_WORDS.__contains__, rest):
        check_open(calls, _CALL_WORDS[action])
        calls.append(_CALL_WORDS[action])
    play = [_TWIN.move(_card(action)) for action in rest[len(calls) :]]
    side = ("ns", "ew")[dealer % 2]
    vulnerable = {side: parameters.get("dealer_vul"), _OTHER[side]: parameters.get("non_dealer_vul")}
    which = [each for each in ("ns", "ew") if str(vulnerable[each]).lower() == "true"]
    north, east, south, west = hands
    board = Board(
        number=board_number,
        hands=(north, east, south, west),
        dealer=dealer,
        vulnerable="both" if len(which) == 2 else which[0] if which else "none",
        auction=tuple(calls),
        play=tuple(play),
    )
    if calls and not passes_to_come(board.auction):
        contract: dict[str, Any] = {**contract_of(dealer, board.auction)}
        board = replace(board, **contract)
    if board.play:
        position(board)  # every card of which must be legal
    return board
