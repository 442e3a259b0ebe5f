"""Any game of OpenSpiel as a game of Kibitz: `openspiel:chess`, `openspiel:oh_hell,players=4`.

OpenSpiel's rules are C++ or Python objects, which our compiler cannot take; so every search runs here in
the interpreter, by the same text. A position is what OpenSpiel takes it to be, the history of all moves
and chance outcomes, and OpenSpiel tells the rest:

| field     | meaning                                         |
|-----------|-------------------------------------------------|
| `history` | OpenSpiel's actions, those of chance too        |
| `length`  | how many there are                              |

A view is a history too: that of a world that the seat cannot tell from the truth, drawn by nothing but what
the seat knows. So two truths that look the same to a seat have the same view. OpenSpiel deals such a world
(`resample_from_infostate`), or else it is looked for, event by event. Where none is found, only those agents
play that need no view.

Kibitz's searches look no further than the next chance event. What OpenSpiel says of a game that is not over
(`returns`) stands for the rest then; for chess the material does.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from kibitz.errors import BadOption, ParseError, UnknownName, Unsupported, needs, quoted
from kibitz.kernel import game
from kibitz.protocol import CHANCE, SILENT
from kibitz.reading import whole_number
from kibitz.rng import stream, uniform

MOST_KEPT = 50_000
"""Positions that are kept as OpenSpiel's objects; a history is replayed if its position is not."""


def pyspiel() -> ModuleType:
    """OpenSpiel, if it is installed."""
    with needs("OpenSpiel", "openspiel"):
        import pyspiel as module
    return module


@contextmanager
def hushed() -> Iterator[None]:
    """OpenSpiel's C++ prints what is wrong before it raises it, and we say it in our own words."""
    sys.stderr.flush()
    kept = os.dup(2)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def game_of(text: str) -> Any:
    """The game that a text names: `chess`, `oh_hell,players=4`, or as OpenSpiel writes it,
    `oh_hell(players=4)`.
    """
    text = re.sub(r"^turn_based_simultaneous_game\(game=(.*)\)$", r"\1", text.strip())
    name, comma, options = text.partition(",")
    if comma and "(" not in name:
        text = f"{name}({options})"
    native, name = native_game(text), text.partition("(")[0]
    return _game_class(name, _parts(name, native.get_type()))(native.num_players(), text)


def _parts(name: str, kind: Any) -> tuple[type, ...]:
    """What a game is made of, by what OpenSpiel says of it; `Unsupported`, if it cannot be played here."""
    library = pyspiel().GameType
    if kind.dynamics == library.Dynamics.MEAN_FIELD:
        raise Unsupported(f"{name} is played by a crowd (mean field) and not by seats; choose another")
    if kind.chance_mode == library.ChanceMode.SAMPLED_STOCHASTIC:
        raise Unsupported(
            f"{name} draws chance events in secret, so the moves do not determine a position; choose another"
        )
    if kind.action_structs_only:
        raise Unsupported(f"OpenSpiel does not list the moves of {name}; choose another game")
    has_chance = kind.chance_mode != library.ChanceMode.DETERMINISTIC
    is_open = kind.information == library.Information.PERFECT_INFORMATION
    beside = {_Chance: has_chance, _Hidden: not is_open, _Material: name == "chess"}
    return (_Rules, *(part for part, is_needed in beside.items() if is_needed))


@cache
def native_game(text: str) -> Any:
    """OpenSpiel's own game; where all move at once, they do it in turn, without seeing each other's moves."""
    library, name = pyspiel(), text.partition("(")[0]
    if name not in library.registered_names():
        from open_spiel.python import games  # noqa: F401 (those that are written in Python become known)
    kinds = {kind.short_name: kind for kind in library.registered_games()}
    if name not in kinds:
        raise UnknownName("game of OpenSpiel", name, kinds)
    try:
        with hushed():
            return library.load_game_as_turn_based(text)
    except (library.SpielError, LookupError, ValueError, TypeError) as error:
        wanted = ", ".join(kinds[name].parameter_specification) or "none"
        reason = quoted((str(error).strip().splitlines() or [type(error).__name__])[0], 120)[1:-1]
        raise BadOption(
            f"OpenSpiel cannot load {quoted(text)} ({reason}); its parameters: {wanted}"
        ) from None


_kept: dict[tuple[str, bytes], Any] = {}


def position(game: Any, record: Any) -> Any:
    """OpenSpiel's object for a position; it must not be changed."""
    history = record.history[: record.length]
    key = (game.native, history.tobytes())
    found = _kept.get(key)
    if found is None:
        found = native_game(game.native).new_initial_state()
        for action in history.tolist():
            found.apply_action(action)
        _keep(key, found)
    return found


def _keep(key: tuple[str, bytes], state: Any) -> None:
    if len(_kept) >= MOST_KEPT:
        _kept.clear()
    _kept[key] = state


UNSOUND = frozenset({"hearts"})
"""Games of which OpenSpiel 2.0 now and then deals worlds that break its own rules later."""


def _can_go_on(world: Any, rng: Any) -> bool:
    """Whether a world can be played to its end."""
    state = world.clone()
    try:
        while not state.is_terminal():
            actions = state.legal_actions()
            if not actions:
                return False
            state.apply_action(actions[int(uniform(rng) * len(actions))])
    except pyspiel().SpielError:
        return False
    return True


def write(record: Any, history: list[int]) -> None:
    """Make a record that of a history."""
    record.history[:] = 0
    record.history[: len(history)] = history
    record.length = len(history)


@cache
def _state_type(native: str) -> np.dtype[Any]:
    rules = native_game(native)
    actions = max(rules.num_distinct_actions(), rules.max_chance_outcomes())
    kind = "i2" if actions < 1 << 15 else "i4"
    # Where all move at once, OpenSpiel counts one chance event a round, and some games have three.
    longest = rules.max_game_length() + 3 * rules.max_chance_nodes_in_history() + 1
    return np.dtype([("history", kind, (longest,)), ("length", "i4")], align=True)


class _Rules:
    """What all these games have."""

    interpreted = True
    expert = "ismcts:time=2s"  # a number of iterations would take an hour in one game and a moment in another

    @property
    def state(game):
        return _state_type(game.native)

    @property
    def max_moves(game):
        rules = native_game(game.native)
        return max(rules.num_distinct_actions(), rules.max_chance_outcomes())

    @property
    def max_plies(game):
        return native_game(game.native).max_game_length()

    def deal(game, state, rng):
        """Draw the outcome of every chance event that is due."""
        while position(game, state).is_chance_node():
            outcomes, odds = zip(*position(game, state).chance_outcomes(), strict=True)
            place = int(np.searchsorted(np.cumsum(odds), uniform(rng), side="right"))
            game.play(state, outcomes[min(place, len(outcomes) - 1)])

    def mover(game, state):
        now = position(game, state)
        return CHANCE if now.is_chance_node() or now.is_terminal() else now.current_player()

    def legal(game, state, moves):
        found = position(game, state).legal_actions()
        if len(found) > len(moves):
            raise Unsupported(f"{type(game).__name__} has more moves than OpenSpiel lists; choose another")
        moves[: len(found)] = found
        return len(found)

    def play(game, state, move):
        before = position(game, state)
        state.history[state.length] = move
        state.length += 1
        key = (game.native, state.history[: state.length].tobytes())
        if key not in _kept:
            _keep(key, before.child(int(move)))

    def is_over(game, state):
        return position(game, state).is_terminal()

    def returns(game, state, out):
        out[: game.seats] = position(game, state).returns()

    def score_range(game):
        rules = native_game(game.native)
        return float(rules.min_utility()), float(rules.max_utility())

    def every_move(game):
        return range(native_game(game.native).num_distinct_actions())

    def text_at(game, state, move):
        """OpenSpiel's word for it; its number is understood too."""
        now = position(game, state)
        return now.action_to_string(now.current_player(), int(move)).strip()

    def parse_move(game, text):
        """Its number: `text_at` has the words, which are others in other positions."""
        move = whole_number(text)
        if move is None or move < 0:
            raise ParseError(f"{quoted(text)} is not a move here, by its name in OpenSpiel or by its number")
        return move

    def picture(game, view, seat):
        now = position(game, view)
        return str(now) if "hide" in game.defaulted else knowledge(game, now, seat)


class _Chance:
    """What games with chance events have beside that."""

    def outcomes(game, state, moves, odds):
        found = position(game, state).chance_outcomes()
        for i, (outcome, chance) in enumerate(found):
            moves[i], odds[i] = outcome, chance
        return len(found)


def knowledge(game: Any, state: Any, seat: int) -> str:
    """All that a seat knows, as OpenSpiel writes it."""
    if native_game(game.native).get_type().provides_information_state_string:
        return str(state.information_state_string(seat))
    return str(state.observation_string(seat))


def _lived(game: Any, truth: Any, seat: int) -> tuple[list[str], list[int]]:
    """What a seat has known so far, each time that it changed, and what it has done."""
    state, seen, done = native_game(game.native).new_initial_state(), [""], []
    for action in (*truth.history(), None):
        known = knowledge(game, state, seat)
        seen += [known] if known != seen[-1] else []
        done += [action] if state.current_player() == seat and action is not None else []
        if action is not None:
            state.apply_action(action)
    return seen, done


def _found_world(game: Any, truth: Any, seat: int, rng: Any) -> Any:
    """A position to which the seat has come by the same way: it has known and done the same.

    Chance is drawn by its odds, the moves of others as if all were as likely; what the seat would have
    noticed is taken back. How much has happened unnoticed it does not know, so any number of events will do.
    """
    seen, done = _lived(game, truth, seat)
    start = native_game(game.native).new_initial_state()
    ways: list[tuple[Any, int | None, int, int]] = [(start, None, 0, 0)]
    for _ in range(1_000 + 50 * len(seen)):
        if not ways or truth.is_terminal():
            break
        before, action, met, acted = ways.pop()
        now = before if action is None else before.child(action)
        if now.is_terminal():
            continue
        known = knowledge(game, now, seat)
        met += known != seen[met]
        if met == len(seen) or known != seen[met]:
            continue
        has_all = met == len(seen) - 1 and acted == len(done)
        if has_all and now.current_player() == truth.current_player():
            return now
        odds = dict.fromkeys(now.legal_actions(), 1.0)
        if now.is_chance_node():
            odds = dict(now.chance_outcomes())
        elif now.current_player() == seat:
            odds = {each: 1.0 for each in done[acted : acted + 1] if each in odds}
            acted += 1
        likely = [(uniform(rng) ** (1 / chance), each) for each, chance in odds.items() if chance > 0]
        ways += [(now, each, met, acted) for _, each in sorted(likely)]
    raise Unsupported(
        f"OpenSpiel's {type(game).__name__} does not tell how to deal what is hidden "
        f"(resample_from_infostate), and no other way to such a position was found; choose another game"
    )


class _Hidden:
    """What games with hidden information have beside that."""

    def hide(game, state, seat):
        """Put a world in the place of the truth that the seat cannot tell from it, always the same.

        Some games are open when they are over, and have nothing to deal then.
        """
        now = position(game, state)
        digest = hashlib.sha256(f"{seat} {knowledge(game, now, seat)}".encode()).digest()
        rng = stream(int.from_bytes(digest[:8], "little"))
        try:
            with np.errstate(over="ignore"):
                game.resample(state, seat, rng)
        except Unsupported:
            if not now.is_terminal():
                raise

    def resample(game, view, seat, rng):
        """Let OpenSpiel deal a world, or look for one where it cannot."""
        library, now = pyspiel(), position(game, view)
        try:
            with hushed():
                world = now.resample_from_infostate(seat, lambda: uniform(rng))
                while type(game).__name__ in UNSOUND and not _can_go_on(world, rng):
                    world = now.resample_from_infostate(seat, lambda: uniform(rng))
        except library.SpielError:
            world = _found_world(game, now, seat, rng)
        write(view, world.history())

    def label(game, state, move, observer):
        """The move, if the observer can tell it from all others; else what it knows afterwards."""
        now = position(game, state)
        if now.current_player() == observer:
            return move
        before = knowledge(game, now, observer)
        after = {action: knowledge(game, now.child(action), observer) for action in now.legal_actions()}
        seen = after.pop(int(move))
        if seen == before:
            return SILENT
        if seen not in after.values():
            return move
        return int.from_bytes(hashlib.sha256(seen.encode()).digest()[:7], "little") | 1 << 57

    def tell(game, state, move, observer):
        """The move, if the observer can tell it from all others."""
        return game.text_at(state, move) if game.label(state, move, observer) == move else ""


PIECES = {"pawns": ("p", 1.0), "knights": ("n", 3.0), "bishops": ("b", 3.0), "rooks": ("r", 5.0),
          "queens": ("q", 9.0)}  # fmt: skip
"""What the lecture counts: the letter of a piece, and its worth in pawns."""
_WHOLE_ARMY = 103.0
"""Nine queens and the other pieces: nobody can have more, so an estimate stays within the range of scores."""


class _Material:
    """Chess by its material: the worth of the pieces that one has more than the other."""

    expert = "alphabeta:time=2s"
    features = tuple(PIECES)
    weights = tuple(worth / _WHOLE_ARMY for _, worth in PIECES.values())

    def measure(game, state, out):
        """The pieces of seat 0, which OpenSpiel gives the black ones, less those of seat 1."""
        board = str(position(game, state)).partition(" ")[0]
        for i, (letter, _) in enumerate(PIECES.values()):
            out[i] = board.count(letter) - board.count(letter.upper())

    def evaluate(game, state, out):
        """The material, as a share of the largest army."""
        if position(game, state).is_terminal():
            game.returns(state, out)
            return
        counts = np.zeros(len(PIECES))
        game.measure(state, counts)
        out[0] = float(counts @ game.weights)
        out[1] = -out[0]

    def urgency(game, state, move):
        """Captures first."""
        return float("x" in position(game, state).action_to_string(int(move)))


class _Parameters(NamedTuple):
    seats: int
    native: str


@cache
def _game_class(name: str, parts: tuple[type, ...]) -> Any:
    """A class of OpenSpiel's name for a game, by which messages call it: its parameters, with the methods of
    some parts.
    """
    methods: dict[str, Any] = {"__module__": __name__, "__doc__": parts[-1].__doc__}
    for part in parts:
        methods |= {key: value for key, value in vars(part).items() if not key.startswith("__")}
    methods["__reduce__"] = lambda game: (game_of, (game.native,))
    return game(type(name, (_Parameters,), methods))
