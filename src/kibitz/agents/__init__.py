"""Who plays: the `Agent` protocol, and the agents by name.

An agent is a string, the same in Python, on the command line and in JSON: a name, the number of
iterations, options: `ismcts:5000,c=0.7`. The first value without a name is the number of
iterations (playouts) for one decision.

The general agents are named here; those of one game lie in the game's folder (`kibitz.games.parts`).
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kibitz import specs, trial, trust
from kibitz.errors import BadGame, BadOption, UnknownName, Unsupported, install_command, say_once
from kibitz.games import parts
from kibitz.position import State, View
from kibitz.search.advice import Advice
from kibitz.search.montecarlo import FlatMonteCarlo, PolicyPlayer, TreeSearch, options_of


class Agent(Protocol):
    """Whoever chooses moves. It gets views, never the truth, unless it is `cheating`."""

    spec: str
    cheating: bool

    def start(self, game: Any, seat: int) -> None:
        """A new game begins, in which the agent has `seat`; what it kept is to be forgotten."""

    def choose(self, view: View, seed: int) -> int:
        """The move to make; the same view and seed give the same move."""

    def advise(self, view: View, seed: int) -> Advice:
        """The move to make, with a value for every legal move."""

    def learn(self, label: int) -> None:
        """A move was made; `label` is all that the agent's seat learns from it."""


@runtime_checkable
class Configured(Protocol):
    """An agent that knows which of its options change nothing beside the others."""

    def without_effect(self) -> dict[str, str]:
        """The options that change nothing in its setting, each with the reason."""


def look(agent: Agent, state: State) -> View:
    """What an agent gets to see when it is to move: the truth only if it cheats, by name."""
    return state.open_view() if agent.cheating else state.view()


@dataclass(frozen=True)
class Setting:
    """A name for an agent: a class and the values that differ from its defaults."""

    kind: type | str
    """The class, or where to find it, `module:class`: it is imported when it is needed."""
    values: dict[str, Any]
    help: str
    """What `kibitz agents` says; of an agent that replaces a general one in its game, what is added there."""
    place: int = 0
    """Where lists show it: smaller numbers first, and general agents before those of games."""

    @property
    def cls(self) -> Any:
        if isinstance(self.kind, type):
            return self.kind
        module, _, name = self.kind.partition(":")
        return getattr(importlib.import_module(module), name)

    def options(self) -> dict[str, specs.Option]:
        return options_of(self.cls)


_CLASSICAL = "kibitz.agents.classical:Classical"
# Places in lists; those of players of one game are between.
_CLASSICAL_PLACE, _LIBRARIES, _LAST = 1, 5, 6

GENERAL: dict[str, Setting] = {
    "random": Setting(PolicyPlayer, {"sense": 0.0}, "uniformly random legal moves"),
    "rule-based": Setting(PolicyPlayer, {"sense": 1.0}, "the game's rules of thumb, no search"),
    "flat": Setting(FlatMonteCarlo, {}, "flat Monte Carlo: equally many playouts for every move"),
    "uct": Setting(TreeSearch, {"worlds": "one"}, "UCT on one sampled deal (perfect information: the game)"),
    "determinized": Setting(TreeSearch, {"worlds": "many"}, "UCT on many sampled deals, votes summed"),
    "ismcts": Setting(TreeSearch, {}, "information-set MCTS: a new deal each iteration, one tree"),
    "possible": Setting(
        TreeSearch, {"worlds": "possible"}, "a tree over all moves that seats might be able to make"
    ),
    "cheating": Setting(TreeSearch, {"worlds": "true"}, "UCT on the real cards: an upper bound"),
    "minimax": Setting(
        _CLASSICAL,
        {"depth": 3, "prune": "none", "urgency": False, "killers": False, "history": False, "table": False},
        "minimax to a depth (max^n with more than two sides), nothing pruned; no hidden cards",
        _CLASSICAL_PLACE,
    ),
    "alphabeta": Setting(
        _CLASSICAL,
        {},
        "alpha-beta with ordered moves and a table, deeper and deeper; no hidden cards",
        _CLASSICAL_PLACE,
    ),
    "cheating-alphabeta": Setting(
        _CLASSICAL,
        {"depth": 12, "cheating": True},
        "alpha-beta that sees all cards: exact play of endings with open hands",
        _CLASSICAL_PLACE,
    ),
    "expectiminimax": Setting(
        _CLASSICAL,
        {"depth": 2, "prune": "star2", "table": False},
        "expectiminimax for games with dice, pruned by Star2; no hidden cards",
        _CLASSICAL_PLACE,
    ),
    "pimc": Setting(
        "kibitz.agents.pimc:Pimc",
        {},
        "perfect-information Monte Carlo: worlds sampled, each searched with open cards",
        _CLASSICAL_PLACE,
    ),
    "openspiel-mcts": Setting(
        "kibitz.adapters.searches:OpenSpielSearch",
        {},
        "OpenSpiel's MCTS, for games in which nothing is hidden (extra openspiel)",
        _LIBRARIES,
    ),
    "openspiel-ismcts": Setting(
        "kibitz.adapters.searches:OpenSpielSearch",
        {"hidden": True},
        "OpenSpiel's information-set MCTS (extra openspiel); quick in its own games, oh_hell and bridge",
        _LIBRARIES,
    ),
    "expert": Setting(
        TreeSearch,
        {},
        "the strongest setting known for the game, as `kibitz games` shows; options change it",
        _LAST,
    ),
}
"""The agents that belong to no game."""

if TYPE_CHECKING:
    SETTINGS: dict[str, Setting]
    """All agents that come with Kibitz, those of its games too, as lists show them."""
else:

    def __getattr__(name):
        if name == "SETTINGS":  # the parts of all games are looked for when somebody asks for them
            return _all_settings()
        raise AttributeError(f"module 'kibitz.agents' has no attribute '{name}'")


@functools.cache
def _all_settings() -> dict[str, Setting]:
    found = dict(GENERAL)
    for part in parts.built_in("agents"):
        for name, setting in part.AGENTS.items():
            if name in GENERAL:  # another player of this name in one game
                setting = replace(found[name], help=f"{found[name].help}; {setting.help}")
            found[name] = setting
    return dict(sorted(found.items(), key=lambda item: item[1].place))


def own_agents(game: Any) -> Mapping[str, Setting]:
    """The agents that a game supplies: `AGENTS` in the module of its class, or in `agents` beside it."""
    module = type(game).__module__
    beside = parts.beside(module, "agents")
    found = getattr(sys.modules.get(module), "AGENTS", None) or getattr(beside, "AGENTS", {})
    if not (isinstance(found, Mapping) and all(isinstance(each, Setting) for each in found.values())):
        raise BadGame(f"AGENTS of {trial.name_of(game)} must be a dictionary from names to Settings")
    return found


def setting_of(name: str, game: Any = None) -> Setting:
    """What the name of an agent means in a game: what the game itself says, else the same as everywhere."""
    own = own_agents(game)
    if name in own:
        return own[name]
    if name in GENERAL:
        return GENERAL[name]
    everywhere = _all_settings()
    if name not in everywhere:
        raise UnknownName("agent", name, {**everywhere, **own})
    return everywhere[name]


def make_agent(spec: str, game: Any = None) -> Agent:
    """The agent that a person's string names; files in it may be used from now on (`kibitz.trust`).

    >>> import kibitz
    >>> kibitz.make_agent("ismcts:2000,c=0.9").iterations
    2000
    """
    trust.allow(spec)
    return make_known_agent(spec, game)


def make_known_agent(spec: str, game: Any = None) -> Agent:
    """The agent that a string from data names; files in it are refused unless a person has allowed them."""
    name, given = specs.split(spec)
    setting = setting_of(name, game)
    values = dict(setting.values)
    if name == "expert":
        setting, values = _expert(game)
    if values.get("worlds") == "true" and "worlds" in dict(given):
        raise BadOption("cheating is what it is: worlds cannot be set")
    options = setting.options()
    chosen = specs.read_options(
        f"agent {name}", given, options, "iterations" if "iterations" in options else None
    )
    usual = {key: values.get(key, option.default) for key, option in options.items()}
    values |= chosen
    if values.get("worlds") == "true" and name != "cheating":
        raise BadOption("worlds=true looks at hidden cards; its name is 'cheating'")
    agent: Agent = setting.cls(spec=spec, **values)
    if agent.cheating and not name.startswith("cheating"):
        raise BadOption(
            f"agent {name} looks at hidden cards; the name of one that does begins with 'cheating'"
        )
    idle = agent.without_effect() if isinstance(agent, Configured) else {}
    for option, reason in idle.items():
        if chosen.get(option, usual.get(option)) != usual.get(option):
            raise BadOption(f"{spec}: {option} has no effect: {reason}")
    return agent


def _expert(game: Any) -> tuple[Setting, dict[str, Any]]:
    """The setting that is strongest in a game, and its values."""
    best = getattr(game, "expert", None)
    if best is None:
        what = f"{type(game).__name__} has" if game is not None else "without a game there is"
        raise Unsupported(f"{what} no 'expert' setting; choose another agent, such as ismcts:1000")
    if game.expert_misses:
        say_once(
            f"without the extra {game.expert_misses}, the expert in {type(game).__name__} is {best}; for the "
            f"strongest one: {install_command(game.expert_misses)}"
        )
    name, given = specs.split(best)
    setting = setting_of(name, game)
    return setting, setting.values | specs.read_options("expert", given, setting.options(), "iterations")
