"""Agents of Bridge. In Bridge, `pimc` is another player than elsewhere: it has an exact solver."""

from __future__ import annotations

from kibitz.agents import Setting
from kibitz.search.montecarlo import TreeSearch

AGENTS = {
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
    "pimc": Setting("kibitz.games.bridge.players:Pimc", {}, "in Bridge by an exact solver"),
}
