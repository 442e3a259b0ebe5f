"""Learn tic-tac-toe in PettingZoo's way: masked random moves, and a table of values that gets better.

    python examples/learn_by_table.py

The learner keeps one value for every pair of what it sees and what it does (Q-learning, from the score at the
end of the game back to the first move). Its opponent draws from the mask. Any other small game will do.
"""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np

from kibitz.adapters import pettingzoo

GAME = "tic-tac-toe"


def masked_random(observation, chooser):
    """Any legal action."""
    return int(chooser.choice(np.flatnonzero(observation["action_mask"]).tolist()))


class TableLearner:
    """The value of every action in every observation that was met."""

    def __init__(self, chooser, rate=0.2, explore=0.2):
        self.values = defaultdict(float)
        self.chooser, self.rate, self.explore = chooser, rate, explore
        self.path = []

    def choose(self, observation, explore):
        seen = observation["observation"].tobytes()
        actions = np.flatnonzero(observation["action_mask"]).tolist()
        if explore and self.chooser.random() < self.explore:
            action = self.chooser.choice(actions)
        else:
            action = max(actions, key=lambda action: self.values[seen, action])
        self.path.append((seen, action))
        return action

    def learn(self, score):
        """Move the values of all actions of the game towards what came of them."""
        for key in reversed(self.path):
            self.values[key] += self.rate * (score - self.values[key])
            score = self.values[key]


def play(table, learner, chooser, seat, seed, is_training):
    """One game; the learner's score."""
    learner.path, score = [], 0.0
    table.reset(seed=seed)
    for agent in table.agent_iter():
        observation, reward, over, cut, _ = table.last()
        if agent == f"seat_{seat}":
            score += reward
        if over or cut:
            table.step(None)
        elif agent == f"seat_{seat}":
            table.step(learner.choose(observation, is_training))
        else:
            table.step(masked_random(observation, chooser))
    if is_training:
        learner.learn(score)
    return score


def learn(games=20_000, tests=1_000, seed=0):
    """The mean score against random moves, before and after learning; both seats in turn."""
    table, chooser = pettingzoo.env(GAME), random.Random(seed)
    learner = TableLearner(chooser)

    def tested():
        scores = [play(table, learner, chooser, n % 2, n, is_training=False) for n in range(tests)]
        return sum(scores) / tests

    before = tested()
    for n in range(games):
        play(table, learner, chooser, n % 2, n, is_training=True)
    return before, tested()


if __name__ == "__main__":
    before, after = learn()
    print(f"mean score against random moves: {before:+.2f} before, {after:+.2f} after 20,000 games")
