"""Learn who holds what from rounds of Mini-Tichu: python benchmarks/tichu_holding.py expert:200 400

Prints the weights of `kibitz.games.tichu.holding`, learned from rounds of an agent against itself, and what
they tell: by how much the logarithm of the chance of a card's true holder grows, on average over all unseen
cards, in rounds that were not learned from.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.arena.executors import executor
from kibitz.arena.play import Batch, Match, settle_chance
from kibitz.bits import lowest
from kibitz.games.tichu import holding
from kibitz.games.tichu.round import unseen_cards
from kibitz.position import State

EVERY = 4
"""Plies between two positions that are learned from: neighbours tell nearly the same."""
CAUTION = 20.0
"""How hard a weight is held to 1, in observations."""
STEPS = 40
TRAITS = len(holding.WEIGHTS)


def observe(match: Match, deal: int, moves: list[int], into: list[list[int]]) -> None:
    """Add for every unseen card its traits in the three hidden hands, their unknown cards, and its place."""
    state = State(match.rules)
    settle_chance(state, match.seed, deal, 0)
    for ply, move in enumerate(moves):
        if ply % EVERY == 1:
            seat, view = state.mover, state.view().record
            others = [(seat + k) & 3 for k in (1, 2, 3)]
            room = [int(match.rules.blanks(view, other)) for other in others]
            cards = unseen_cards(view)
            while cards != 0:
                card = int(lowest(cards))
                cards &= cards - 1
                held = [int(state.record.hands[other]) >> card & 1 for other in others]
                traits = [int(holding.trait(view, other, card)) for other in others]
                into.append([*traits, *room, held.index(1)])
        state.play(move)


def learn(traits: NDArray[Any], room: NDArray[Any], holder: NDArray[Any]) -> NDArray[np.float64]:
    """The weights under which the cards are likeliest where they were (Newton's method, by trait)."""
    logs = np.zeros(TRAITS)
    is_holder = np.arange(3) == holder[:, None]
    for _ in range(STEPS):
        chance = chances(traits, room, np.exp(logs))
        slope = np.bincount(traits.ravel(), (is_holder - chance).ravel(), TRAITS)
        bend = np.bincount(traits.ravel(), (chance * (1 - chance)).ravel(), TRAITS)
        logs += (slope - CAUTION * logs) / (bend + CAUTION)
    return np.exp(logs)


def chances(traits: NDArray[Any], room: NDArray[Any], weights: NDArray[Any]) -> NDArray[np.float64]:
    """How likely each of the three others holds a card."""
    share = room * weights[traits]
    return share / share.sum(axis=1, keepdims=True)


def gain(traits: NDArray[Any], room: NDArray[Any], holder: NDArray[Any], weights: NDArray[Any]) -> float:
    """What the weights tell of where the cards are, in nats a card."""
    before, after = (
        np.log(chances(traits, room, w)[np.arange(len(holder)), holder])
        for w in (np.ones_like(weights), weights)
    )
    return float((after - before).mean())


def main(agent: str, rounds: int) -> None:
    match = Match("mini-tichu", (agent,), seed=77)
    halves: list[list[list[int]]] = [[], []]
    with executor(1) as workers:
        batches = (Batch(match, deal, 1, keep_moves=True, code=match.code) for deal in range(rounds))
        for batch, result, _ in workers.run(batches):
            observe(match, batch.first_deal, result.moves[0][0], halves[batch.first_deal % 2])
    learned_from, unknown = (np.array(half) for half in halves)
    parts = [(half[:, :3], half[:, 3:6], half[:, 6]) for half in (learned_from, unknown)]
    print(f"{gain(*parts[1], learn(*parts[0])):.4f} nats a card, learned from half of the rounds")
    everything = np.concatenate([learned_from, unknown])
    weights = learn(everything[:, :3], everything[:, 3:6], everything[:, 6])
    for row in weights.reshape(-1, holding.MOST + 1):
        print(f"        ({', '.join(f'{weight:.2f}' for weight in row)}),")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "expert:200", int(sys.argv[2]) if len(sys.argv) > 2 else 400)
