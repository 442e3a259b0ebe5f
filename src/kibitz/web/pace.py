"""How long agents take to move: a move without a choice must not be told by its speed."""

from __future__ import annotations

import random
from collections import deque

_KEPT = 200  # decisions of an agent in a game
_NEAREST = 8  # of them that a time is drawn from
_AGENTS = 500  # strings come from visitors: the memory is bounded


class Pace:
    """The times of recent free decisions, from which those of forced moves are drawn.

    An agent with one legal move has nothing to think about; if it moved at once, everybody would know that
    it had no choice, such as a single card of the suit led. So its move takes as long as one of the latest
    decisions with a choice by the same agent string in the same game, at any table of this server, did:
    one of the nearest in the course of the game, because decisions get shorter towards the end. Which one
    is drawn by the operating system's randomness, which has nothing to do with the deal.

    This hides whether there was a choice. It does not hide how hard a choice was: a free decision takes as
    long as it takes, which may depend on the hand. And where no free decision of this agent in this game
    has been seen since the server was started, a forced move takes the least time of any move.
    """

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], deque[tuple[int, float]]] = {}
        self._chance = random.SystemRandom()

    def note(self, game: str, agent: str, ply: int, seconds: float) -> None:
        """Remember how long a decision with a choice took."""
        taken = self._taken.pop((game, agent), None) or deque(maxlen=_KEPT)
        taken.appendleft((ply, seconds))
        self._taken[game, agent] = taken  # the latest used at the end
        if len(self._taken) > _AGENTS:
            del self._taken[next(iter(self._taken))]

    def draw(self, game: str, agent: str, ply: int) -> float:
        """The seconds that a forced move takes; 0 if nothing is known."""
        taken = self._taken.get((game, agent), ())
        nearest = sorted(taken, key=lambda decision: abs(decision[0] - ply))[:_NEAREST]  # the latest first
        return self._chance.choice(nearest)[1] if nearest else 0.0
