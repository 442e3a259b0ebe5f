"""Lines of play that lie open: a game that is over, or one that somebody studies.

A line is a game, how it began, and the moves; so a link can hold a whole one. It began with a deal of a table
or match (`seed` and `deal`), with a deal by its number as in `kibitz advise`, or with a position in the
game's own notation. Nothing here knows the web, and nothing here opens a file: what is studied comes from
whoever asks.

**Judging.** A decision is judged by what an agent thinks of it from the mover's view alone: what the seat
could not see does not count as a mistake. What all cards together would have told is asked for separately
(`exact`), and only games with a solver know it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any
from urllib.parse import quote

import numpy as np

from kibitz import __version__, games
from kibitz.agents import make_known_agent
from kibitz.deadline import check
from kibitz.errors import IllegalMove, InputError, KibitzError, ParseError, TooLong, Unsupported, quoted
from kibitz.games import tricks
from kibitz.position import State, View, listed
from kibitz.reading import json_value, told, told_number
from kibitz.rng import derive
from kibitz.search.advice import Advice, Row
from kibitz.web.limits import Limits
from kibitz.web.tables import OPEN_DEAL, Start, check_game, deal_text, is_bridge
from kibitz.web.thinking import merged_row

LARGEST_DEAL = 1_000_000
"""The number of a deal of a match."""
_HAND_VIEWER = "https://www.bridgebase.com/tools/handviewer.html?lin="
_MOST_CARDS = 63
"""Cards are bits of a number; moves beyond are no cards."""
_IN_A_WORLD = "cheating:300"
"""Who values the moves in a sampled world where the game has no solver: it sees that world, not the truth."""


class Line:
    """What was played, with all positions.

    >>> line = Line("briskola", Start(position="7"), ["12D", "6S"])
    >>> [line.seats[ply] for ply in range(2)], len(line.states)
    ([0, 1], 3)
    """

    def __init__(self, game: str, start: Start, moves: Sequence[str | int]) -> None:
        check_game(game)
        if len(moves) > Limits.line_moves:
            raise InputError(f"a line may have {Limits.line_moves} moves, not {len(moves)}")
        self.game, self.start = game, start
        state = start.begin(games.load_known(game))
        self.rules = state.game
        self._chances = 0
        self._settle(state)
        self.states = [state]
        """The position before every move, and the last one."""
        self.moves: list[int] = []
        self.seats: list[int] = []
        self.decisions: list[int] = []
        """The moves that were made by choice."""
        for number, move in enumerate(moves):
            check()
            after = State(self.rules, state.array.copy())
            try:
                self.seats.append(state.mover)
                self.moves.append(self.rules.parse_move(move) if isinstance(move, str) else int(move))
                legal = [] if state.is_over else state.legal_moves()
                if self.moves[-1] not in legal:  # any number may have been sent
                    raise IllegalMove(f"{quoted(str(move))} cannot be played")
            except KibitzError as error:
                raise InputError(f"move {number + 1} of the line: {error}") from error
            self.rules.play(after.record, np.int64(self.moves[-1]))
            if len(legal) > 1:
                self.decisions.append(number)
            self._settle(after)
            self.states.append(after)
            state = after

    def __getstate__(self) -> dict[str, Any]:
        """For another process: all positions in one piece."""
        return {**vars(self), "states": np.concatenate([state.array for state in self.states])}

    def __setstate__(self, known: dict[str, Any]) -> None:
        vars(self).update(known)
        positions = known["states"]
        self.states = [State(self.rules, positions[i : i + 1]) for i in range(len(positions))]

    def _settle(self, state: State) -> None:
        """Deal what is to be dealt, as it was."""
        while not state.is_over and state.mover < 0:
            self.start.settle(state, self._chances)
            self._chances += 1

    def text(self, ply: int) -> str:
        """A move as people write it."""
        return str(self.rules.move_text(self.moves[ply]))

    def state(self, ply: int) -> State:
        """The position before a move, or the last one."""
        if not 0 <= ply < len(self.states):
            raise InputError(f"there is no position {ply}; the line has {len(self.states)}")
        return self.states[ply]

    def decision(self, ply: int) -> View:
        """What the mover of a position sees, if there is something to decide."""
        state = self.state(ply)
        if state.is_over:
            raise Unsupported("nothing is to be decided here: the game is over")
        return state.view()


def begins_trick(state: State) -> bool:
    """Whether nothing lies on the table; in games without tricks every move stands alone."""
    record, names = state.record, state.array.dtype.names or ()
    if "on_table" in names:
        return int(record.on_table) == 0
    return int(record.top) == 0 if "top" in names else True


@dataclass(frozen=True)
class Judgement:
    """A move that was made, and what an agent thinks of it."""

    ply: int
    loss: float
    """Of the move against the agent's choice, in the unit of its values; not a number: not known."""
    error: float
    """The standard error of the loss."""
    advice: Advice


def judge(line: Line, ply: int, advice: Advice) -> Judgement:
    """What advice says of the move that was made."""
    rows = {move: row for moves, row in grouped(advice, line.states[ply].view()) for move in moves}
    best, made = rows[advice.best], rows[line.moves[ply]]
    if best is made:
        return Judgement(ply, 0.0, 0.0, advice)
    error = math.hypot(best.stderr, made.stderr)
    return Judgement(ply, max(0.0, best.value - made.value), error, advice)


def grouped(advice: Advice, view: View) -> list[tuple[list[int], Row]]:
    """The rows of advice; cards with nothing between them that could matter share one."""
    rows = {row.move: row for row in advice.rows}
    found = []
    for moves in _touching(view):
        row = rows[moves[0]]
        for other in (rows[move] for move in moves[1:]):
            if row.visits < row.available:  # else all were tried in the same worlds: no further evidence
                row = replace(merged_row(row, other), available=max(row.available, other.available))
        found.append((moves, row))
    return found


def _touching(view: View) -> list[list[int]]:
    """The legal moves, touching cards together, the highest first; in games of `kibitz.games.tricks` only."""
    moves = view.legal_moves()
    is_play = "follow" in (view.array.dtype.names or ()) and max(moves) < _MOST_CARDS
    lowest = np.zeros(view.game.max_moves, np.int64)
    n = int(tricks.touching(view.game, view.record, lowest)) if is_play else 0
    if not n:
        return [[move] for move in moves]
    groups: dict[int, list[int]] = {}
    for move in moves:
        groups.setdefault(max(low for low in lowest[:n].tolist() if low <= move), []).insert(0, move)
    return list(groups.values())


@dataclass(frozen=True)
class World:
    """One way in which the hidden cards may lie, as far as the mover knows, and what the moves are worth."""

    picture: str
    values: list[float]
    """Of the legal moves, in the game's order."""
    unit: str


def sampled_world(view: View, number: int, seed: int) -> World:
    """A world that agrees with what a seat sees; a solver or a short search values the moves in it."""
    world = view.world(derive(seed, number))
    open_picture = str(world.open_view(view.seat))
    if has_solver(view.game):
        return World(open_picture, exact(world), "tricks")
    agent = make_known_agent(_IN_A_WORLD, view.game)
    advice = agent.advise(world.open_view(view.seat), derive(seed, number, 1))
    return World(open_picture, [row.value for row in advice.rows], advice.unit)


def has_solver(rules: Any) -> bool:
    """Whether exact values can be had here; Bridge's solver is an extra."""
    from kibitz.games.bridge import dds

    return "exact_values" not in rules.defaulted and (not is_bridge(rules) or dds.is_installed())


def exact(state: State) -> list[float]:
    """What the legal moves are worth when everybody sees all cards, by the game's solver."""
    if "exact_values" in state.game.defaulted:
        raise Unsupported(f"{type(state.game).__name__} has no solver; Bridge has")
    (values,) = state.game.exact_values([state.record])
    return list(values)


def double_dummy_table(line: Line) -> dict[str, Any]:
    """The tricks of every seat in every strain, and par, of a whole deal of Bridge.

    Par is that of the board's own dealer and vulnerability. Where no board tells them north deals, and nobody
    is vulnerable but declarer's side, if the contract is.
    """
    from kibitz.games.bridge import dds

    record = line.states[0].record
    if not is_bridge(line.rules) or int(record.left) != 13:
        raise Unsupported("the table of tricks is of a whole deal of bridge")
    board = _board(line)
    (table,) = dds.tables([[int(hand) for hand in record.hands]])
    score, contracts = table.par(board.dealer or 0, board.vulnerable)
    known = {"dealer": board.dealer or 0, "vulnerable": board.vulnerable}
    return {"tricks": [list(row) for row in table.tricks], "par": score, "contracts": contracts, **known}


# --- writing -----------------------------------------------------------------------------------------


def _board(line: Line) -> Any:
    """A line of Bridge as a board, with all that the board it began with tells."""
    from kibitz.games.bridge.files import board_of

    if not line.start.position or line.start.position.isdigit():
        return board_of(line.states[-1], line.moves)
    given = line.start.board()
    told = {name: getattr(given, name) for name in ("number", "dealer", "auction", "notes", "tags")}
    vulnerable = {"vulnerable": given.vulnerable} if given.vulnerable != "none" else {}
    return board_of(line.states[-1], line.moves, **told, **vulnerable)


def auction(line: Line) -> dict[str, Any] | None:
    """Dealer, vulnerability and calls of a board of Bridge, if they are told."""
    if not is_bridge(line.rules) or not line.start.position or line.start.position.isdigit():
        return None
    board = line.start.board()
    if board.dealer is None:
        return None
    told = {note.place: note.text for note in board.notes if note.section == "Auction"}
    notes = [told.get(place, "") for place in range(len(board.auction))]
    known = {"dealer": board.dealer, "vulnerable": board.vulnerable}
    return {**known, "calls": list(board.auction), "notes": notes}


def texts(line: Line, chairs: Sequence[str] = ()) -> dict[str, str]:
    """A line in every notation that can be pasted or sent elsewhere, by the name of the notation."""
    from kibitz.games.bridge.files import write_lin, write_pbn

    moves = [line.text(ply) for ply in range(len(line.moves))]
    last = line.states[-1]
    record = {
        "kibitz": __version__,
        "game": line.game,
        "start": line.start.shown(),
        "agents": list(chairs),
        "moves": moves,
        "scores": last.returns() if last.is_over else None,
    }
    found = {"record": json.dumps(record, ensure_ascii=False)}
    if line.start.position.isdigit():
        found["position"] = f"{line.game} {line.start.position}: {listed(moves)}".rstrip(": ")
    if is_bridge(line.rules):
        board = _board(line)
        lin = write_lin([board]).strip()
        found["deal"] = deal_text(line.states[0].record.hands)
        found |= {"PBN": write_pbn([board]), "LIN": lin, "link for a hand viewer": _HAND_VIEWER + quote(lin)}
    return found


def diagram(view: View) -> str:
    """A position as a picture: for Bridge the printed one, else its text; both tell themselves in words."""
    if is_bridge(view.game):
        from kibitz.games.bridge.diagram import svg

        return svg(view)
    lines = str(view).splitlines()
    width, height = 9.7 * max(map(len, lines)) + 24, 20 * len(lines) + 24
    rows = "".join(
        f'<text x="12" y="{27 + 20 * i}" xml:space="preserve">{escape(text)}</text>'
        for i, text in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" '
        f'font-family="monospace" font-size="16"><title>{escape(type(view.game).__name__)}</title>'
        f"<desc>{escape(' / '.join(lines))}</desc>"
        f'<rect width="100%" height="100%" fill="#fff"/>{rows}</svg>\n'
    )


# --- reading what is pasted --------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """A line in a text."""

    title: str
    line: Line


def read(text: str) -> tuple[str, list[Found]]:
    """The lines that a text holds, and the notation in which it is written.

    >>> notation, found = read('kibitz advise briskola "7: 12D 6S"')
    >>> notation, found[0].line.text(1)
    ('position of Kibitz', '6S')
    """
    stripped = text.strip("\ufeff \t\r\n")
    if not stripped:
        raise ParseError("there is nothing to read")
    if stripped.startswith("{"):
        return "record of Kibitz", [_from_record(stripped)]
    # Written so that no text takes long: no two parts of it can match the same run of spaces.
    asked = re.fullmatch(
        r'(?:kibitz \w+ )?([a-z][-\w=,:]*)\s+(?:"\s*)?([0-9]{1,18})(?:\s*:([^"]*))?"?', stripped
    )
    if asked:
        moves = asked[3] or ""
        words = [word.strip() for word in moves.split("," if "," in moves else None) if word.strip()]
        return "position of Kibitz", [Found(asked[1], Line(asked[1], Start(position=asked[2]), words))]
    from kibitz.games.bridge import files

    if OPEN_DEAL.fullmatch(stripped.strip()):
        stripped = f'[Deal "{stripped.strip()}"]'
    is_lin = re.match(r"[A-Za-z]{2}\|", stripped) is not None
    if not is_lin and not re.match(r"[%\[;]", stripped):
        raise ParseError("this is neither PBN nor LIN nor a record of Kibitz")
    boards = files.read(stripped, ".lin" if is_lin else ".pbn")
    if not boards:
        raise ParseError("there is no board in it")
    if len(boards) > Limits.boards:
        raise ParseError(f"there are {len(boards)} boards in it; paste at most {Limits.boards} at once")
    found, trouble = [], None
    for number, board in enumerate(boards, 1):
        check()
        try:
            found.append(_from_board(board, number))
        except TooLong:
            raise
        except KibitzError as error:  # others of the evening were played, perhaps
            trouble = trouble or error
    if trouble and not found:
        raise trouble
    return ("LIN" if is_lin else "PBN"), found


def _from_record(text: str) -> Found:
    """A table's file, what `kibitz replay --json` prints, or a line that was shared."""
    try:
        first, *rest = _documents(text)
        given = first.get("start") or {"seed": first["seed"], "deal": first.get("deal", 0)}
        game, start = _text(first, "game"), _start(_of_kind(dict, given, "'start'"))
        moves = list(_of_kind(list, first.get("moves", []), "'moves'"))
        for line in rest:
            if "undo" in line:
                del moves[max(0, told_number(line["undo"], "'undo'")) :]
            elif "move" in line:
                moves.append(line["move"])
        words = [move["move"] if isinstance(move, dict) else move for move in moves]
        words = [word if isinstance(word, str) else told_number(word, "a move") for word in words]
    except KeyError as error:
        raise ParseError(f"this record of Kibitz cannot be read: {error} is missing") from None
    except ParseError as error:
        raise ParseError(f"this record of Kibitz cannot be read: {error}") from None
    return Found(game, Line(game, start, words))


def _start(given: dict[str, Any]) -> Start:
    """How a recorded game began; what a link could not hold is refused."""
    seed = None if given.get("seed") is None else told_number(given["seed"], "'seed'")
    deal, position = told_number(given.get("deal", 0), "'deal'"), _text({"position": "", **given}, "position")
    if deal > LARGEST_DEAL:
        raise ParseError(f"'deal' is {deal}; the most is {LARGEST_DEAL:,}")
    if len(position) > Limits.position_characters:
        raise ParseError(
            f"'position' has {len(position)} characters; the most is {Limits.position_characters:,}"
        )
    return Start(seed, deal, position)


def _text(given: dict[str, Any], word: str) -> str:
    text: str = _of_kind(str, given[word], f"'{word}'")
    return text


def _of_kind(kind: type, value: Any, what: str) -> Any:
    """A value of a JSON document, if it is of this kind."""
    if not isinstance(value, kind):
        right = {"dict": "an object", "list": "a list", "str": "a text"}[kind.__name__]
        raise ParseError(f"{what} is {told(value)}; {right} would be right")
    return value


def _documents(text: str) -> list[dict[str, Any]]:
    """One JSON document, or one a line."""
    try:
        found = [json_value(text)]
    except ParseError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) == 1:
            raise
        found = [json_value(line) for line in lines]
    return [_of_kind(dict, document, "a line") for document in found]


_STRAINS = ("clubs", "diamonds", "hearts", "spades", "notrump")
_SEATS = ("north", "east", "south", "west")


def _from_board(board: Any, number: int) -> Found:
    """A board of Bridge as a line; without a contract it gets the game's own."""
    options = []
    if board.level == 0:
        raise ParseError(f"board {board.number or number} was passed out: nothing is played")
    if board.level is not None:
        options += [f"level={board.level}"]
    if board.strain is not None:
        options += [f"strain={_STRAINS[board.strain]}"]
    if board.declarer is not None:
        options += [f"declarer={_SEATS[board.declarer]}"]
        side = ("ns", "ew")[board.declarer % 2]
        options += ["vulnerable=true"] if board.vulnerable in (side, "both") else []
    options += [f"doubled={('no', 'doubled', 'redoubled')[board.doubled]}"] if board.doubled else []
    game = "bridge:" + ",".join(options) if options else "bridge"
    rules = games.load_known(game)
    if board.leader is not None and board.leader != ((board.declarer or 0) + 1) % 4:
        raise ParseError(f"board {board.number or number} is an ending in the middle of a hand's turn")
    if not all(board.hands):
        raise ParseError(f"board {board.number or number} hides a hand; only open ones can be studied")
    start = Start(position=_before_play(board))
    return Found(
        f"board {board.number or number}", Line(game, start, [rules.move_text(c) for c in board.play])
    )


def _before_play(board: Any) -> str:
    """What is known of a board beside its play; of a long one no more than counts."""
    from kibitz.games.bridge.files import write_pbn

    notes = tuple(note for note in board.notes if note.section == "Auction")
    bare = replace(board, play=(), leader=None, claimed=False, notes=notes)
    text = write_pbn([bare])
    return text if len(text) <= Limits.position_characters else write_pbn([replace(bare, notes=(), tags=())])
