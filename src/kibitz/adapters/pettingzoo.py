"""Kibitz's games as environments of PettingZoo, in turns (AEC), with a mask of the legal actions.

`env("briskola:seats=4")` is an environment as PettingZoo's own ones are: agents are `seat_0`, `seat_1` and so
on, an observation is a dictionary of the view as a vector and of the mask, and the score comes as a reward
when the game is over. `raw_env` lacks the guards for wrong use. Actions and vectors are those of
`kibitz.adapters.encoding`; only the seat to move has legal actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz import games
from kibitz.adapters.encoding import Encoding, step
from kibitz.arena.play import DEAL, OVER
from kibitz.errors import BadOption, needs
from kibitz.position import State, View
from kibitz.protocol import CHANCE
from kibitz.rng import stream

with needs("PettingZoo", "pettingzoo"):
    from gymnasium import spaces
    from gymnasium.utils import EzPickle
    from pettingzoo import AECEnv
    from pettingzoo.utils import wrappers


def env(spec: str, render_mode: str | None = None) -> Any:
    """A game as an environment that says what is wrong if it is used wrongly.

    >>> table = env("briskola")
    >>> table.reset(seed=7)
    >>> observation, reward, termination, truncation, info = table.last()
    >>> int(observation["action_mask"].sum()), table.agent_selection
    (3, 'seat_0')
    """
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(raw_env(spec, render_mode)))


class raw_env(AECEnv, EzPickle):  # type: ignore[misc]  # noqa: N801 (PettingZoo's name for it)
    """A game as an environment."""

    def __init__(self, spec: str, render_mode: str | None = None) -> None:
        EzPickle.__init__(self, spec, render_mode)
        super().__init__()
        self.game = games.load(spec)
        self.encoding = Encoding(self.game)
        if render_mode not in (None, "ansi"):
            raise BadOption(f"render_mode '{render_mode}' is not there; take ansi, a text, or leave it out")
        self.metadata = {"render_modes": ["ansi"], "name": f"kibitz_{spec}", "is_parallelizable": False}
        self.render_mode = render_mode
        self.possible_agents = [f"seat_{seat}" for seat in range(self.game.seats)]
        n = self.encoding.n_actions
        info = np.iinfo(np.int32)  # fields of a view are whole numbers
        self._observation_space = spaces.Dict(
            {
                "observation": spaces.Box(info.min, info.max, (self.encoding.size,), np.float32),
                "action_mask": spaces.Box(0, 1, (n,), np.int8),
            }
        )
        self._action_spaces = {agent: spaces.Discrete(n) for agent in self.possible_agents}
        self._games = 0
        self._seed = 0

    def observation_space(self, agent: str) -> Any:
        return self._observation_space

    def action_space(self, agent: str) -> Any:
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal: number `seed`, or else the next of the deals that follow it."""
        if seed is not None:
            self._seed, self._games = seed, 0
        self._rng = stream(self._seed, self._games)
        self._games += 1
        self.position = np.zeros(1, self.game.state)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._moves: dict[int, int] = {}
        self.agent_selection = self.agents[0]
        self._advance(DEAL)

    def _advance(self, move: int) -> None:
        """Make a move, settle what chance is due, and see who is next."""
        game = self.game
        seat = step(game, self.position, move, self._rng)
        while seat == CHANCE:
            seat = step(game, self.position, DEAL, self._rng)
        if seat == OVER:
            self.terminations = dict.fromkeys(self.agents, True)
            scores = State(game, self.position).returns()
            self.rewards = dict(zip(self.agents, scores, strict=True))
            self._moves = {}
        else:
            self.agent_selection = self.agents[seat]
            self._moves = self.encoding.moves(self.position)

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """What a seat sees, and which actions it has now."""
        seat = self.possible_agents.index(agent)
        mask = np.zeros(self.encoding.n_actions, np.int8)
        if agent == self.agent_selection:
            mask[list(self._moves)] = 1
        seen = View(self.game, seat, self.position)
        return {"observation": self.encoding.vector(seen.array), "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Make the move of the seat whose turn it is."""
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        if action not in self._moves:
            legal = ", ".join(map(str, self._moves))
            raise ValueError(
                f"action {action} is not legal for {self.agent_selection}; the mask allows {legal}"
            )
        self._cumulative_rewards[self.agent_selection] = 0.0
        self._clear_rewards()
        self._advance(self._moves[action])
        self._accumulate_rewards()

    def render(self) -> str | None:
        """The table as the seat to move sees it."""
        if self.render_mode is None:
            return None
        seat = self.possible_agents.index(self.agent_selection)
        return str(View(self.game, seat, self.position))

    def close(self) -> None:
        """Nothing is open."""
