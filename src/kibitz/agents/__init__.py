"""Who plays: the `Agent` protocol, and the agents by name.

An agent is a string, the same in Python, on the command line and in JSON: a name, the number of
iterations, options: `ismcts:5000,c=0.7`. The first value without a name is the number of
iterations (playouts) for one decision.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from kibitz import specs, trust
from kibitz.errors import BadOption, UnknownName, Unsupported, install_command, say_once
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
    """The class, or where to find it: most agents of one game are not needed by the others."""
    values: dict[str, Any]
    help: str
    instead: dict[str, str] = field(default_factory=dict)
    """The class in some games, by the name of the game's class."""

    def in_game(self, game: Any) -> Setting:
        """The same name as it is understood in a game."""
        kind = self.instead.get(type(game).__name__)
        return self if kind is None else replace(self, kind=kind)

    @property
    def cls(self) -> Any:
        if isinstance(self.kind, type):
            return self.kind
        module, _, name = self.kind.partition(":")
        return getattr(importlib.import_module(module), name)

    def options(self) -> dict[str, specs.Option]:
        return options_of(self.cls)


_CLASSICAL = "kibitz.agents.classical:Classical"
_SNELLEMAN = "kibitz.agents.snelleman:Snelleman"

SETTINGS: dict[str, Setting] = {
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
    "karamatic-mcts": Setting(
        TreeSearch,
        {
            "iterations": 5000,
            "worlds": "possible",
            "top": 2.0,  # reward = points / 60
            "c": 1.0,  # (1/√2)·√(2 ln N / n) = 1·√(ln N / n)
            "expand": "all",
            "opponents": "help",  # one reward, maximised at every node
        },
        "Karamatić 2016/17: MCTS for Briškola over possible moves, one reward for all nodes",
    ),
    "mckay": Setting(
        TreeSearch,
        {
            "iterations": 5000,
            "worlds": "one",  # all hands are known
            "c": 16.0,
            "inside": True,
            "expand": "path",
            "backup": "power",
            "top": 13.0,  # values are tricks
            "chosen": "value",
        },
        "McKay, about 2009: UCT on double-dummy Bridge, values averaged with the power p",
    ),
    "minimax": Setting(
        _CLASSICAL,
        {"depth": 3, "prune": "none", "urgency": False, "killers": False, "history": False, "table": False},
        "minimax to a depth (max^n with more than two sides), nothing pruned; no hidden cards",
    ),
    "alphabeta": Setting(
        _CLASSICAL, {}, "alpha-beta with ordered moves and a table, deeper and deeper; no hidden cards"
    ),
    "cheating-alphabeta": Setting(
        _CLASSICAL,
        {"depth": 12, "cheating": True},
        "alpha-beta that sees all cards: exact play of endings with open hands",
    ),
    "expectiminimax": Setting(
        _CLASSICAL,
        {"depth": 2, "prune": "star2", "table": False},
        "expectiminimax for games with dice, pruned by Star2; no hidden cards",
    ),
    "pimc": Setting(
        "kibitz.agents.pimc:Pimc",
        {},
        "perfect-information Monte Carlo: worlds sampled, each searched with open cards; "
        "in Bridge by an exact solver",
        {"Bridge": "kibitz.agents.bridge:Pimc"},
    ),
    "snelleman-random": Setting(
        _SNELLEMAN + "Player", {"kind": 0}, "Snelleman 2020: strategic bidding, random cards"
    ),
    "snelleman-trumping": Setting(
        _SNELLEMAN + "Player", {"kind": 1}, "Snelleman 2020: strategic bidding, trumps whenever possible"
    ),
    "snelleman-rule-based": Setting(
        _SNELLEMAN + "RuleBased", {}, "Snelleman 2020: strategic bidding, cards by rules with memory"
    ),
    "snelleman-mc": Setting(
        _SNELLEMAN + "MonteCarlo",
        {"objective": "gv"},
        "Snelleman 2020: Monte Carlo bidding, flat Monte Carlo valued by the scoreboard",
    ),
    "snelleman-mcts": Setting(
        _SNELLEMAN + "TreeSearch",
        {"objective": "gv", "worlds": "possible", "c": math.sqrt(2.0), "ties": "first"},
        "Snelleman 2020: Monte Carlo bidding, a tree over possible cards valued by the scoreboard",
    ),
    "castelein-random": Setting(
        "kibitz.agents.castelein:CasteleinRandom",
        {},
        "Castelein 2017: any legal play of Tichu, all cards distinct",
    ),
    "castelein-mc": Setting(
        "kibitz.agents.castelein:CasteleinMC",
        {"each": 20, "objective": "wins"},
        "Castelein 2017: 20 random playouts for every legal play, the best win rate",
    ),
    "castelein-mcts": Setting(
        TreeSearch,
        {"each": 20, "objective": "wins", "c": math.sqrt(2.0), "expand": "stop", "trials": "visits"},
        "Castelein 2017: MCTS with a new deal each iteration in one tree, 20 iterations for every legal play",
    ),
    "boerenbridge": Setting(
        "kibitz.agents.snelleman:BoerenbridgePlayer",
        {
            "iterations": 5000,
            "objective": "chance",
            "playout": 1.0,
            "c": 0.4,
            "prune": True,
            "belief": 1000,
            "bidding": "search",
        },
        "DiminishingBridge, beyond the thesis: ISMCTS for bids and cards, in worlds that explain the bids",
    ),
    "openspiel-mcts": Setting(
        "kibitz.adapters.searches:OpenSpielSearch",
        {},
        "OpenSpiel's MCTS, for games in which nothing is hidden (extra openspiel)",
    ),
    "openspiel-ismcts": Setting(
        "kibitz.adapters.searches:OpenSpielSearch",
        {"hidden": True},
        "OpenSpiel's information-set MCTS (extra openspiel); quick in its own games, oh_hell and bridge",
    ),
    "expert": Setting(
        TreeSearch, {}, "the strongest setting known for the game, as `kibitz games` shows; options change it"
    ),
}


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
    if name not in SETTINGS:
        raise UnknownName("agent", name, SETTINGS)
    setting = SETTINGS[name].in_game(game)
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
    setting = SETTINGS[name].in_game(game)
    return setting, setting.values | specs.read_options("expert", given, setting.options(), "iterations")
