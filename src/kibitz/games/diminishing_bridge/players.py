"""Agents of DiminishingBridge: those of T. Snelleman, *Strategic Gambling in DiminishingBridge*, 2020,
and the one that goes beyond them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz import gpu
from kibitz.belief.unseen import plan_for_lanes
from kibitz.errors import Unsupported
from kibitz.games.diminishing_bridge.rules import BID, BIDDING, MOST_CARDS, PLAYING, DiminishingBridge
from kibitz.games.diminishing_bridge.snelleman import RANDOM, RULE_BASED, Snelleman, nearest_bid
from kibitz.kernel import component, entry
from kibitz.position import View
from kibitz.rng import mixed, stream, streams
from kibitz.search.flat import SLOTS, list_choices
from kibitz.search.montecarlo import (
    FlatMonteCarlo,
    PolicyPlayer,
    Searcher,
    Statistics,
    TreeSearch,
    legal_moves,
    option,
)
from kibitz.search.objective import Habit, play_out


@entry
def count_tricks(game, policy, root, seat, playouts, plan, world, moves, counts, rng):
    """Monte Carlo bidding: how often `seat` takes each number of tricks, whatever is bid."""
    game.prepare(root[0], seat, plan[0])
    for _ in range(playouts):
        world[0] = root[0]
        game.sample(world[0], seat, plan[0], rng)
        world[0].turn = world[0].number % game.seats
        world[0].phase = PLAYING
        play_out(game, policy, world[0], moves, MOST_CARDS, rng)
        counts[world[0].tricks[seat]] += 1.0


@component
class TrickCounts(NamedTuple):
    """Monte Carlo bidding by lanes: a lane counts the tricks in its share of one decision's playouts."""

    playouts: int

    def lane(task, game, number, scratch, data):
        views, plans, seats, starts, counts = data
        root, slot = number // SLOTS, number % SLOTS
        state, rng, seat = scratch.position[0], scratch.rng, seats[root]
        for tricks in range(counts.shape[1]):
            counts[number, tricks] = 0.0
        for playout in range(slot, task.playouts, SLOTS):
            rng[0] = mixed(starts[root], playout)
            scratch.position[0] = views[root]
            game.sample(state, seat, plans[root], rng)
            state.turn = state.number % game.seats
            state.phase = PLAYING
            while state.phase == PLAYING:
                game.play(state, game.random_move(state, scratch.moves, rng))
            counts[number, state.tricks[seat]] += 1.0


def demand_game(agent: Any, game: Any) -> None:
    """These agents know one game only."""
    if not isinstance(game, DiminishingBridge):
        raise Unsupported(
            f"{agent.spec.partition(':')[0]} plays diminishing-bridge only, not {type(game).__name__}; "
            f"for other games take rule-based, flat or ismcts"
        )


@dataclass
class SnellemanPlayer(PolicyPlayer):
    """Strategic bidding, and cards at random or trumps first."""

    kind: int = RANDOM

    @property
    def policy(self) -> Any:
        return Snelleman(self.kind, False)

    @property
    def is_random(self) -> bool:
        return False

    def start(self, game: Any, seat: int) -> None:
        demand_game(self, game)


@dataclass
class SnellemanRuleBased(SnellemanPlayer):
    """Strategic bidding, and cards by rules, with a perfect memory."""

    as_run: bool = option(False, "the rules of the program behind the published tables, not of the text")

    @property
    def policy(self) -> Any:
        return Snelleman(RULE_BASED, self.as_run)


@dataclass
class MonteCarloBidding(Searcher):
    """Bids from the tricks taken in random playouts, as both Monte Carlo agents of the thesis make them."""

    bidding: str = option(
        "tricks",
        "tricks: the mean of random playouts, rounded; score: the best expected score by their "
        "distribution; search: as cards are chosen",
        choices=("tricks", "score", "search"),
    )

    def without_effect(self) -> dict[str, str]:
        idle = super().without_effect()
        if self.bidding != "search":
            idle.pop("iterations", None)  # bids take so many playouts, whatever limits the play of cards
        return idle

    def start(self, game: Any, seat: int) -> None:
        demand_game(self, game)
        super().start(game, seat)

    def _think(self, view: View, seed: int) -> Statistics:
        if self.bidding == "search" or view.record.phase != BIDDING:
            return super()._think(view, seed)
        return self._bid(view, seed)

    def _bid(self, view: View, seed: int) -> Statistics:
        """For every bid the share of playouts in which it would have been made."""
        game = view.game
        if self.plays_lanes(game):
            (counts,) = self._tricks_by_lanes(view.array, game, np.array([view.seat]), stream(seed))
            return self._bid_by(view, counts)
        counts = np.zeros(game.largest() + 1)
        world, moves = np.zeros(1, game.state), np.zeros(game.max_moves, np.int64)
        plan = self._kept("plan", game, lambda: np.zeros(1, game.plan))
        count_tricks(
            *(game, Habit(0.0), view.array, view.seat, self.iterations),
            *(plan, world, moves, counts, stream(seed)),
        )
        return self._bid_by(view, counts)

    def _tricks_by_lanes(self, views: NDArray[Any], game: Any, seats: Any, starts: Any) -> NDArray[Any]:
        """How often each number of tricks was taken, in many decisions."""
        plans = np.zeros(len(views), plan_for_lanes(game))
        moves = np.zeros(game.max_moves, np.int64)
        list_choices(game, views, seats, plans, np.zeros((len(views), 0), np.int64), moves)
        counts = np.zeros((len(views) * SLOTS, game.largest() + 1))
        task = TrickCounts(self.iterations)
        on_gpu = gpu.choose(self.device)  # type: ignore[attr-defined]
        gpu.run(game, task, len(counts), (views, plans, seats, starts), (counts,), on_gpu)
        return counts.reshape(len(views), SLOTS, -1).sum(axis=1)

    def _bid_by(self, view: View, counts: NDArray[np.float64]) -> Statistics:
        game = view.game
        found = Statistics.of(legal_moves(view))
        bids = np.array(found.moves) - BID
        if self.bidding == "score":
            bid = bids[np.argmax(_expected_scores(game, counts / self.iterations)[bids])]
        else:
            mean = float(np.arange(len(counts)) @ counts) / self.iterations
            bid = nearest_bid(game, view.record, mean)
        found.choice = int(np.flatnonzero(bids == bid)[0])
        found.sums[:] = found.squares[:] = counts[bids]
        found.visits[:] = found.available[:] = found.iterations = found.worlds = self.iterations
        found.unit = "chance to be made"
        return found

    def choose_many(self, views: NDArray[Any], game: Any, seats: Any, seeds: Any) -> list[int]:
        """The moves in many decisions at once, for an agent that plays lanes."""
        chosen = np.zeros(len(views), np.int64)
        bids = (views["phase"] == BIDDING) & (self.bidding != "search")
        if bids.any():
            counts = self._tricks_by_lanes(views[bids], game, seats[bids], streams(seeds[bids]))
            for i, of_tricks in zip(np.flatnonzero(bids), counts, strict=True):
                found = self._bid_by(View.over(game, int(seats[i]), views[i : i + 1], False), of_tricks)
                self.used += found.iterations if len(found.moves) > 1 else 0
                chosen[i] = found.moves[found.best(True)]
        if not bids.all():
            rest = ~bids
            chosen[rest] = super().choose_many(views[rest], game, seats[rest], seeds[rest])  # type: ignore[misc]
        return chosen.tolist()


def _expected_scores(game: Any, chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """What every bid brings on average, if the chances of each number of tricks do not depend on it."""
    tricks = np.arange(len(chances))
    made = game.K + game.trick_factor * tricks
    missed = game.losing_factor * np.abs(tricks[:, None] - tricks) @ chances
    return chances * made - missed


@dataclass
class SnellemanMonteCarlo(MonteCarloBidding, FlatMonteCarlo):
    """Section 4.5.1: ⌊B/m⌋ playouts for each of m cards, valued by GV."""

    least: int = 0


@dataclass
class SnellemanTreeSearch(MonteCarloBidding, TreeSearch):
    """Section 4.5.2: one tree over the cards that seats might hold, dealt only for the playout."""


@dataclass
class BoerenbridgePlayer(MonteCarloBidding, TreeSearch):
    """Beyond the thesis: information-set search for bids and cards, in worlds that explain the bids."""
