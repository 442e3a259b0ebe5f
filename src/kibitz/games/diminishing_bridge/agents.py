"""Agents of DiminishingBridge: those of T. Snelleman's thesis, and the one that goes beyond them."""

from __future__ import annotations

import math

from kibitz.agents import Setting

_PLAYERS = "kibitz.games.diminishing_bridge.players:"
_THESIS, _BEYOND = 2, 4  # places in the list of agents

AGENTS = {
    "snelleman-random": Setting(
        _PLAYERS + "SnellemanPlayer",
        {"kind": 0},
        "Snelleman 2020: strategic bidding, random cards",
        _THESIS,
    ),
    "snelleman-trumping": Setting(
        _PLAYERS + "SnellemanPlayer",
        {"kind": 1},
        "Snelleman 2020: strategic bidding, trumps whenever possible",
        _THESIS,
    ),
    "snelleman-rule-based": Setting(
        _PLAYERS + "SnellemanRuleBased",
        {},
        "Snelleman 2020: strategic bidding, cards by rules with memory",
        _THESIS,
    ),
    "snelleman-mc": Setting(
        _PLAYERS + "SnellemanMonteCarlo",
        {"objective": "gv"},
        "Snelleman 2020: Monte Carlo bidding, flat Monte Carlo valued by the scoreboard",
        _THESIS,
    ),
    "snelleman-mcts": Setting(
        _PLAYERS + "SnellemanTreeSearch",
        {"objective": "gv", "worlds": "possible", "c": math.sqrt(2.0), "ties": "first"},
        "Snelleman 2020: Monte Carlo bidding, a tree over possible cards valued by the scoreboard",
        _THESIS,
    ),
    "boerenbridge": Setting(
        _PLAYERS + "BoerenbridgePlayer",
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
        _BEYOND,
    ),
}
