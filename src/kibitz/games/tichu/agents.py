"""Agents of Tichu and Mini-Tichu: those of K. Castelein's thesis."""

from __future__ import annotations

import math

from kibitz.agents import Setting
from kibitz.search.montecarlo import TreeSearch

_THESIS = 3  # the place in the list of agents

AGENTS = {
    "castelein-random": Setting(
        "kibitz.games.tichu.players:CasteleinRandom",
        {},
        "Castelein 2017: any legal play of Tichu, all cards distinct",
        _THESIS,
    ),
    "castelein-mc": Setting(
        "kibitz.games.tichu.players:CasteleinMC",
        {"each": 20, "objective": "wins"},
        "Castelein 2017: 20 random playouts for every legal play, the best win rate",
        _THESIS,
    ),
    "castelein-mcts": Setting(
        TreeSearch,
        {"each": 20, "objective": "wins", "c": math.sqrt(2.0), "expand": "stop", "trials": "visits"},
        "Castelein 2017: MCTS with a new deal each iteration in one tree, 20 iterations for every legal play",
        _THESIS,
    ),
}
