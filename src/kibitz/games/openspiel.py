"""Any game of OpenSpiel as a game of Kibitz: `openspiel:chess`, `openspiel:oh_hell,players=4`.

OpenSpiel's rules are C++ or Python objects, which our compiler cannot take; so every search runs here in
the interpreter, by the same text. A position is what OpenSpiel takes it to be, the history of all moves
and chance outcomes, and OpenSpiel tells the rest:

| field     | meaning                                         |
|-----------|-------------------------------------------------|
| `history` | OpenSpiel's actions, those of chance too        |
| `length`  | how many there are                              |

A view is a history too: that of a world that the seat cannot tell from the truth, drawn by nothing but what
the seat knows. So two truths that look the same to a seat have the same view. OpenSpiel must be able to
deal such a world (`resample_from_infostate`); where it cannot, cards stay hidden from every agent, and only
those play that need no view to be filled.

Kibitz's searches look no further than the next chance event. What OpenSpiel says of a game that is not over
(`returns`) stands for the rest then; for chess the material does.
"""

from __future__ import annotations

import hashlib
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from kibitz.errors import BadOption, MissingExtra, UnknownName, Unsupported
from kibitz.kernel import game
from kibitz.protocol import CHANCE, SILENT
from kibitz.rng import stream, uniform

MOST_KEPT = 50_000
"""Positions that are kept as OpenSpiel's objects; a history is replayed if its position is not."""


def pyspiel() -> ModuleType:
    """OpenSpiel, if it is installed."""
    try:
        import pyspiel as module
    except ImportError as error:
        raise MissingExtra("OpenSpiel", "openspiel") from error
    return module


def game_of(text: str) -> Any:
    """The game that a text names: `chess`, `oh_hell,players=4`, or as OpenSpiel writes it,
    `oh_hell(players=4)`.
    """
    name, _, options = text.strip().partition(",")
    written = f"{name}({options})" if options and "(" not in text else text.strip()
    native = native_game(written)
    information, chance = native.get_type().information, native.get_type().chance_mode
    if str(chance).endswith("SAMPLED_STOCHASTIC"):
        raise Unsupported(f"{name} draws lots in secret, so that no history tells a position; choose another")
    if name == "chess":
        cls = Chess
    else:
        cls = OpenSpielGame if str(information).endswith(".PERFECT_INFORMATION") else HiddenOpenSpielGame
    return cls(native.num_players(), str(native))


@cache
def native_game(text: str) -> Any:
    """OpenSpiel's own game; where all move at once, they do it in turn, without seeing each other's moves."""
    library = pyspiel()
    name = text.partition("(")[0]
    if name not in library.registered_names():
        raise UnknownName("game of OpenSpiel", name, library.registered_names())
    try:
        return library.load_game_as_turn_based(text)
    except library.SpielError as error:
        raise BadOption(f"OpenSpiel cannot load '{text}': {str(error).strip().splitlines()[0]}") from None


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
    return np.dtype([("history", kind, (rules.max_history_length() + 1,)), ("length", "i4")], align=True)


class _Rules:
    """What all these games have."""

    interpreted = True

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

    def outcomes(game, state, moves, odds):
        found = position(game, state).chance_outcomes()
        for i, (outcome, chance) in enumerate(found):
            moves[i], odds[i] = outcome, chance
        return len(found)

    def score_range(game):
        rules = native_game(game.native)
        return float(rules.min_utility()), float(rules.max_utility())

    def every_move(game):
        return range(native_game(game.native).num_distinct_actions())

    def picture(game, view, seat):
        """The position, and what the numbers of the moves mean."""
        now = position(game, view)
        shown = str(now) if "hide" in game.defaulted else knowledge(game, now, seat)
        if now.is_terminal() or now.is_chance_node() or now.current_player() != seat:
            return shown
        moves = (f"{move} {now.action_to_string(seat, move)}" for move in now.legal_actions())
        return shown.rstrip() + "\n\nmoves: " + ", ".join(moves)


def knowledge(game: Any, state: Any, seat: int) -> str:
    """All that a seat knows, as OpenSpiel writes it."""
    if native_game(game.native).get_type().provides_information_state_string:
        return str(state.information_state_string(seat))
    return str(state.observation_string(seat))


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
        """Let OpenSpiel deal a world."""
        library, now = pyspiel(), position(game, view)
        try:
            world = now.resample_from_infostate(seat, lambda: uniform(rng))
            while game.native.partition("(")[0] in UNSOUND and not _can_go_on(world, rng):
                world = now.resample_from_infostate(seat, lambda: uniform(rng))
        except library.SpielError:
            raise Unsupported(
                f"OpenSpiel's {game.native.partition('(')[0]} does not tell how to deal what is hidden "
                f"(resample_from_infostate), so no view can be made of it; choose another game"
            ) from None
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
        return game.move_text(move) if game.label(state, move, observer) == move else ""


PIECES = {"pawns": ("p", 1.0), "knights": ("n", 3.0), "bishops": ("b", 3.0), "rooks": ("r", 5.0),
          "queens": ("q", 9.0)}  # fmt: skip
"""What the lecture counts: the letter of a piece, and its worth in pawns."""
_WHOLE_ARMY = 103.0
"""Nine queens and the other pieces: nobody can have more, so an estimate stays within the range of scores."""


class _Material:
    """Chess by its material: the worth of the pieces that one has more than the other."""

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


def _made_of(name: str, *parts: type) -> Any:
    """A game class: a tuple of the parameters with the methods of some parts."""
    methods: dict[str, Any] = {"__module__": __name__, "__doc__": parts[-1].__doc__}
    for part in parts:
        methods |= {key: value for key, value in vars(part).items() if not key.startswith("__")}
    return game(type(name, (_Parameters,), methods))


OpenSpielGame = _made_of("OpenSpielGame", _Rules)
HiddenOpenSpielGame = _made_of("HiddenOpenSpielGame", _Rules, _Hidden)
Chess = _made_of("Chess", _Rules, _Material)
