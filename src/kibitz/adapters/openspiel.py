"""Kibitz's games as games of OpenSpiel, and its agents as bots.

After `register()` OpenSpiel knows every game as `kibitz_` and its name, with its parameters:
`pyspiel.load_game("kibitz_briskola(seats=4)")`. Rules run compiled, as always.

Chance is explicit, as `kibitz.adapters.encoding` tells it: a history holds all of a game.

An information state holds the view and all that the seat has learned from the moves so far, so that nothing
is forgotten; an observation holds the view alone. A view is written as it is told there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz import games
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
from kibitz.agents import make_agent
from kibitz.arena.play import DEAL, OVER, label_for
from kibitz.errors import BadOption, Unsupported
from kibitz.games.openspiel import game_of, write
from kibitz.games.openspiel import pyspiel as library
from kibitz.position import State, View
from kibitz.protocol import CHANCE, UNNOTICED
from kibitz.rng import derive, stream
from kibitz.search.worlds import memory_for_worlds, one_world

pyspiel: Any = library()

_LABEL_PARTS = 3  # a label of 63 bits as numbers that a float of 32 bits holds
_PART = 21


def register(*names: str) -> list[str]:
    """Make games known to OpenSpiel, all of Kibitz's if none is named; the names that they have there."""
    known = pyspiel.registered_names()
    told = []
    for name in names or games.GAMES:
        short = short_name(name)
        if ":" in name:
            raise BadOption(f"'{name}' has parameters; register the game and give them to pyspiel.load_game")
        if short not in known:
            rules = games.load(name)
            Encoding(rules)  # says what is missing now, and not when a game is loaded
            cls = type(short, (KibitzGame,), {"short": short, "name": name})
            pyspiel.register_game(_game_type(short, rules), cls)
        told.append(short)
    return told


def _game_type(short: str, rules: Any) -> Any:
    cls, kinds = type(rules), pyspiel.GameType
    options, numbers = games.parameters(cls), told_as_numbers(cls)
    seats = rules.choices.get("seats", (rules.seats,))
    return kinds(
        short_name=short,
        long_name=f"{cls.__name__} (Kibitz)",
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=kinds.ChanceMode.EXPLICIT_STOCHASTIC
        if _has_chance(rules)
        else kinds.ChanceMode.DETERMINISTIC,
        information=kinds.Information.PERFECT_INFORMATION
        if "hide" in rules.defaulted
        else kinds.Information.IMPERFECT_INFORMATION,
        utility=kinds.Utility.GENERAL_SUM,
        reward_model=kinds.RewardModel.TERMINAL,
        max_num_players=max(seats),
        min_num_players=min(seats),
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={
            option.name: cls._field_defaults[option.name] if option.name in numbers else option.default
            for option in options.values()
        },
    )


def _has_chance(rules: Any) -> bool:
    is_open = "hide" in rules.defaulted and "outcomes" in rules.defaulted
    return not is_open or deal_draws(rules, np.zeros(1, rules.state))


class KibitzGame(pyspiel.Game):  # type: ignore[misc]
    """A game of Kibitz in OpenSpiel; every game is a class of its own, which outlives the interpreter."""

    short: str = "kibitz"
    name: str = ""

    def __init__(self, parameters: dict[str, Any] | None = None, rules: Any = None) -> None:
        self.rules = self._load(parameters or {}) if rules is None else rules
        self.encoding = Encoding(self.rules)
        self.has_chance = _has_chance(self.rules)
        low, high = self.rules.score_range()
        information = pyspiel.GameInfo(
            num_distinct_actions=self.encoding.n_actions,
            max_chance_outcomes=BYTE if self.has_chance else 0,
            num_players=self.rules.seats,
            min_utility=float(low),
            max_utility=float(high),
            max_game_length=int(self.rules.max_plies),
        )
        super().__init__(_game_type(self.short, self.rules), information, parameters or {})

    def _load(self, parameters: dict[str, Any]) -> Any:
        words = told_as_numbers(games.game_class(self.name))
        return games.load_known(spec_of(self.name, parameters, words))

    def max_chance_nodes_in_history(self) -> int:
        """At most: every move could be followed by a shuffle."""
        return WORD * (int(self.rules.max_plies) + 1) if self.has_chance else 0

    def new_initial_state(self, position: str | None = None) -> KibitzState:
        return KibitzState(self)

    def make_py_observer(self, kind: Any = None, parameters: Any = None) -> KibitzObserver | None:
        """What a seat sees. What is public and what is private is not told apart."""
        kind = kind or pyspiel.IIGObservationType(perfect_recall=False)
        is_whole = kind.public_info and kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        return KibitzObserver(self, kind.perfect_recall) if is_whole else None


class KibitzState(pyspiel.State):  # type: ignore[misc]
    """A position of a game of Kibitz in OpenSpiel.

    OpenSpiel copies and stores all attributes, so there are few of them, and none is an object of the game.
    """

    def __init__(self, game: KibitzGame) -> None:
        super().__init__(game)
        self.position = np.zeros(1, game.rules.state)
        self._drawn = b""  # of the stream for the deal that is due
        self._heard = ("",) * game.rules.seats
        self._next = CHANCE
        self._settle()

    @property
    def rules(self) -> Any:
        return self.get_game().rules

    def _settle(self) -> None:
        """Make deals in which nothing is drawn: they are no chance events."""
        rules = self.rules
        while (
            self._next == CHANCE
            and not outcomes(rules, self.position)
            and not deal_draws(rules, self.position)
        ):
            self.put(State(rules, self.position))

    def put(self, truth: State) -> None:
        """Make it that of a position in which a seat is to move, or the game over."""
        self.position[:] = truth.array
        self._next = OVER if truth.is_over else truth.mover

    def current_player(self) -> int:
        if self._next == OVER:
            return int(pyspiel.PlayerId.TERMINAL)
        return int(pyspiel.PlayerId.CHANCE) if self._next == CHANCE else self._next

    def is_terminal(self) -> bool:
        return self._next == OVER

    def _legal_actions(self, player: int) -> list[int]:
        return list(self.get_game().encoding.moves(self.position))

    def chance_outcomes(self) -> list[tuple[int, float]]:
        listed = outcomes(self.rules, self.position)
        if listed:
            return [(number, odds) for number, (_, odds) in enumerate(listed)]
        return [(byte, 1 / BYTE) for byte in range(BYTE)]

    def _apply_action(self, action: int) -> None:
        rules = self.rules
        if self._next == CHANCE:
            listed = outcomes(self.rules, self.position)
            if listed:
                after = State(rules, self.position)
                rules.play(after.record, np.int64(listed[action][0]))
                self.put(after)
            else:
                self._drawn += bytes([action])
                if len(self._drawn) < WORD:
                    return
                rng = np.frombuffer(self._drawn, "<u8").astype(np.uint64)
                self._drawn = b""
                self._next = step(rules, self.position, DEAL, rng)
        else:
            move = self.get_game().encoding.moves(self.position)[action]
            labels = [
                int(label_for(rules, self.position, np.int64(move), seat)) for seat in range(rules.seats)
            ]
            self._heard = tuple(
                heard if label == UNNOTICED else f"{heard} {label:x}"
                for heard, label in zip(self._heard, labels, strict=True)
            )
            self._next = step(rules, self.position, move)
        self._settle()

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return f"draw {action}"
        return str(self.rules.move_text(self.get_game().encoding.moves(self.position)[action]))

    def returns(self) -> list[float]:
        if self._next != OVER:
            return [0.0] * self.rules.seats
        return State(self.rules, self.position).returns()

    def view(self, seat: int) -> View:
        """What a seat sees."""
        return View(self.rules, seat, self.position)

    def heard(self, seat: int) -> str:
        """What a seat has learned from every move."""
        return self._heard[seat]

    def resample_from_infostate(self, player: int, sampler: Any) -> KibitzState:
        """A state that the player cannot tell from this one, each as likely as any other.

        What the others have heard that the player has not is not known, and stays out of it.
        """
        other = self.clone()
        rng = stream(int(sampler() * (1 << 53)))
        memory = memory_for_worlds(self.rules, 0)
        one_world(self.rules, memory, self.view(player).array, player, other.position, rng)
        other._heard = (self._heard[player],) * self.rules.seats
        return other

    def __str__(self) -> str:
        """The whole table, with all hands where the game shows them."""
        if self._next == CHANCE:
            return f"chance {self._drawn.hex()} {State(self.rules, self.position).key().hex()}"
        return str(State(self.rules, self.position))


def state_at(truth: State) -> KibitzState:
    """OpenSpiel's object for a position of Kibitz, of whose history nothing is told."""
    state = _unnamed(str(type(truth.game)), truth.game).new_initial_state()
    state.put(truth)
    return state


@cache
def _unnamed(cls: str, rules: Any) -> KibitzGame:  # tuples of two games may be equal
    return KibitzGame(rules=rules)


class KibitzObserver:
    """The view of a seat as a vector and as a text; with `recalls` all that it has learned, too."""

    def __init__(self, game: KibitzGame, recalls: bool) -> None:
        rules = game.rules
        pieces: dict[str, tuple[int, ...]] = {"seat": (rules.seats,), "view": (game.encoding.size,)}
        if recalls:
            pieces["heard"] = (int(rules.max_plies), _LABEL_PARTS)
        self._encoding = game.encoding
        self.tensor = np.zeros(sum(int(np.prod(shape)) for shape in pieces.values()), np.float32)
        self.dict: dict[str, NDArray[np.float32]] = {}
        place = 0
        for name, shape in pieces.items():
            size = int(np.prod(shape))
            self.dict[name] = self.tensor[place : place + size].reshape(shape)
            place += size

    def set_from(self, state: KibitzState, player: int) -> None:
        """Write what the player sees into `tensor` and `dict`."""
        self.tensor.fill(0)
        self.dict["seat"][player] = 1
        self.dict["view"][:] = self._encoding.vector(state.view(player).array)
        if "heard" in self.dict:
            labels = np.array([int(label, 16) for label in state.heard(player).split()], np.int64)
            for part in range(_LABEL_PARTS):
                self.dict["heard"][: len(labels), part] = labels >> _PART * part & (1 << _PART) - 1

    def string_from(self, state: KibitzState, player: int) -> str:
        """What the player sees, told apart from all else that could be seen."""
        told = f"seat {player}, view {state.view(player).key().hex()}"
        return told + f", heard{state.heard(player)}" if "heard" in self.dict else told


# --- bots -------------------------------------------------------------------------------------------


class KibitzBot(pyspiel.Bot):  # type: ignore[misc]
    """An agent of Kibitz as a bot of OpenSpiel, in a game of either.

    In games of Kibitz (`kibitz_…`) searches run compiled. In those of OpenSpiel they run interpreted.
    """

    def __init__(self, game: Any, agent: str, seat: int, seed: int = 0) -> None:
        super().__init__()
        if not 0 <= seat < game.num_players():
            raise BadOption(f"there is no seat {seat}; this game has seats 0 to {game.num_players() - 1}")
        if game.get_type().dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
            raise Unsupported("bots move in turn here; load the game by pyspiel.load_game_as_turn_based")
        self._is_ours = isinstance(game, KibitzGame)
        self._rules = game.rules if self._is_ours else game_of(str(game))
        self._agent = make_agent(agent, self._rules)
        if self._agent.cheating:
            raise Unsupported(f"a bot sees what its seat sees, and {agent} needs more; choose another agent")
        self._seat, self._seed = seat, seed
        self.restart()

    def restart(self) -> None:
        """A new game begins."""
        self._agent.start(self._rules, self._seat)

    def restart_at(self, state: Any) -> None:
        self.restart()

    def step(self, state: Any) -> int:
        """The action to take."""
        if state.current_player() != self._seat:
            raise BadOption(
                f"a bot of seat {self._seat} was asked for a move of {state.current_player()}; give bots in "
                f"the order of their seats"
            )
        seed = derive(self._seed, len(state.history()))
        if self._is_ours:
            move = self._agent.choose(state.view(self._seat), seed)
            return int(state.get_game().encoding.number(state.position, move))
        truth = State(self._rules)
        write(truth.record, state.history())
        return int(self._agent.choose(truth.view(self._seat), seed))

    def provides_policy(self) -> bool:
        return False
