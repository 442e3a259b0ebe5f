"""Decisions judged by an exact solver: what did a move cost, and how good was the forecast?

What every move is worth with perfect play by all is known from the game's own solver
(`exact_values`), so nothing has to be played to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kibitz.agents import Agent, look
from kibitz.errors import BadOption, Unsupported
from kibitz.position import State

FIGURES = ("loss", "random_loss", "exact", "forecast", "estimate")
"""What is kept of every decision: what the move lost; what a random one loses; what the position is
worth; what the agent took it to be worth; what it took its own move to be worth."""


def check(rules: Any, agents: Sequence[str]) -> None:
    """Raise what keeps decisions from being judged."""
    if len(agents) != 1:
        raise BadOption(f"decisions are judged of one agent at a time, not of {len(agents)}")
    if "exact_values" in rules.defaulted:
        raise Unsupported(
            f"{type(rules).__name__} has no solver to judge by (method 'exact_values'); Bridge has"
        )


def judge(agent: Agent, state: State, exact: Sequence[float], seed: int) -> tuple[float, ...]:
    """The `FIGURES` of one decision, by the exact values of all legal moves."""
    agent.start(state.game, state.mover)
    advice = agent.advise(look(agent, state), seed)
    best, lost_at_random = max(exact), max(exact) - sum(exact) / len(exact)
    loss = best - exact[state.legal_moves().index(advice.best)]
    estimate = next(row.value for row in advice.rows if row.move == advice.best)
    return loss, lost_at_random, best, advice.value, estimate
