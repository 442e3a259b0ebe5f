"""Agents of Briškola."""

from __future__ import annotations

from kibitz.agents import Setting
from kibitz.search.montecarlo import TreeSearch

AGENTS = {
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
}
