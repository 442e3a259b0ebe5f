"""Matches: the same agents on many deals, every deal played once per seating, and their table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz import trust
from kibitz.arena.executors import executor
from kibitz.arena.laboratory import Laboratory, Order, Progress, is_decided
from kibitz.arena.play import Match
from kibitz.arena.statistics import Estimate, mean_of_deals
from kibitz.arena.store import Cost, Counts, Store
from kibitz.arena.tally import Tally, points_in_games
from kibitz.errors import BadOption


@dataclass
class AgentResult:
    """How one agent did."""

    spec: str
    games: int
    wins: int
    draws: int
    win_rate: Estimate
    win_rate_decided: Estimate
    unbeaten: Estimate
    """Games won or drawn."""
    points: Estimate
    total_points: float
    counts: dict[str, int]
    """What the game counts besides the score, in all games; nothing, if that is not known of all."""
    shares: dict[str, Estimate]
    """What of that people look at, as shares, by the names of the measures."""

    def to_dict(self) -> dict[str, Any]:
        own = {
            "spec": self.spec,
            "games": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "win_rate": self.win_rate.mean,
            "win_rate_ci": list(self.win_rate.ci),
            "win_rate_decided": self.win_rate_decided.mean,
            "win_rate_decided_ci": list(self.win_rate_decided.ci),
            "unbeaten": self.unbeaten.mean,
            "unbeaten_ci": list(self.unbeaten.ci),
            "points": self.total_points,
            "points_per_game": self.points.mean,
            "points_stderr": self.points.stderr,
            "points_ci": list(self.points.ci),
        }
        return own | {name: count for name, count in self.counts.items() if name not in own}


@dataclass
class MatchResult:
    """The table of a match."""

    game: str
    seed: int
    deals: int
    games: int
    seconds: float
    agents: list[AgentResult]
    differences: list[Estimate]
    """Points per game of the first agent less those of each other, paired by deal."""
    returns: NDArray[np.float64]
    """The score of every game, [deal, seating, seat]."""
    complete: bool = True
    decided: bool | None = None
    """Whether a match that was to end when it is decided was decided; None: it was not to."""
    thought: dict[str, list[float]] = field(default_factory=dict)
    """Seconds, decisions and iterations of every agent."""

    def points_of(self, agent: int) -> NDArray[np.float64]:
        """The points of an agent in every game, one number a seat or side that it played."""
        match = Match(self.game, tuple(a.spec for a in self.agents), self.seed)
        return points_in_games(match, self.returns, agent)

    def to_dict(self) -> dict[str, Any]:
        return {
            "game": self.game,
            "games": self.games,
            "deals": self.deals,
            "seed": self.seed,
            "seconds": self.seconds,
            "complete": self.complete,
            "decided": self.decided,
            "agents": [agent.to_dict() for agent in self.agents],
            "differences": [
                {"agent": agent.spec, "points": d.mean, "stderr": d.stderr, "ci": list(d.ci)}
                for agent, d in zip(self.agents[1:], self.differences, strict=True)
            ],
            "thought": self.thought,
        }


@np.errstate(over="ignore", invalid="ignore")  # scores may be anything that a store can hold
def summarise(
    match: Match,
    scores: NDArray[np.float64],
    seconds: float,
    cost: Cost,
    counts: Counts,
    any_time: bool = False,
) -> MatchResult:
    """The table from the scores of all games, [deal, seating, seat].

    With `any_time`, the intervals hold though the match was stopped by its result; shares of counts
    have none that do, and are left out.
    """
    tally, interval = Tally.of(match, scores), "any time" if any_time else "deals"
    known = counts.sums if counts.deals == len(scores) else {}
    shares = {name: of for name, of in match.rules.shares.items() if name in known and not any_time}
    results = [
        AgentResult(
            spec,
            games=int(tally.played[:, a].sum()),
            wins=int(tally.wins[:, a].sum()),
            draws=int(tally.draws[:, a].sum()),
            win_rate=tally.estimate("win_rate", a, interval),
            win_rate_decided=tally.estimate("decided", a, interval),
            unbeaten=tally.estimate("unbeaten", a, interval),
            points=tally.estimate("points", a, interval),
            total_points=float(tally.points[:, a].sum()),
            counts={name: totals[a] for name, (totals, _) in known.items()},
            shares={
                (share := f"{name} of {of}"): tally.count(share, counts, a) for name, of in shares.items()
            },
        )
        for a, spec in enumerate(match.agents)
    ]
    mean = tally.at_any_time if any_time else mean_of_deals
    differences = [mean(tally.difference(0, a)) for a in range(1, len(match.agents))]
    return MatchResult(
        match.game, match.seed, len(scores), len(scores) * match.games_a_deal, seconds, results, differences,
        scores, thought=cost.thought,
    )  # fmt: skip


def match(
    game: str,
    agents: Sequence[str],
    games_wanted: int = 100,
    seed: int = 0,
    jobs: int | None = None,
    progress: Progress | None = None,
    store: Path | str | None = None,
    ray: str | None = None,
    until_decided: bool = False,
    keep_moves: bool = False,
    on_gpu: bool = False,
) -> MatchResult:
    """Let agents play at one table, on duplicate deals. Files that the strings name are run.

    With a store, deals that are there are not played again. With `until_decided`, the match ends when
    it is known whether the first agent makes more points than the others, and then the intervals hold
    however often one looks. Ctrl-C ends a match early: the result then holds what
    was finished, with `complete=False`.

    >>> import kibitz
    >>> result = kibitz.match("briskola", ["rule-based", "random"], games_wanted=40, seed=1)
    >>> result.games, result.agents[0].wins > result.agents[1].wins
    (40, True)
    """
    if not isinstance(game, str) or isinstance(agents, str) or not all(isinstance(a, str) for a in agents):
        raise BadOption(
            "a match takes the name of a game, or its file, and a list of agents' strings, such as "
            "kibitz.match('my_game.py', ['ismcts:200', 'random']): stored games are found by these names"
        )
    if games_wanted < 1:
        raise BadOption(f"{games_wanted} games cannot be played; give at least 1")
    trust.allow(game, *agents)
    wanted = Match(game, tuple(agents), seed)
    wanted.check()
    if until_decided and len(agents) < 2:
        raise BadOption("one agent alone decides nothing; give at least two, or a number of games")
    began = time.perf_counter()
    deals, complete = wanted.deals_for(games_wanted), True
    workers_wanted = 1 if jobs is None and ray is None else jobs
    with executor(workers_wanted, ray, on_gpu) as workers, Store(store) as kept:
        order = Order(wanted, deals, until_decided)
        try:
            (deals,) = Laboratory(kept, workers, keep_moves).run([order], progress)
        except KeyboardInterrupt:
            complete = False
        number = kept.number_of(wanted)
        scores, cost = kept.scores(number, deals), kept.cost(number, deals)
        counts = kept.counts(number, deals)
    result = summarise(wanted, scores, time.perf_counter() - began, cost, counts, until_decided)
    result.complete = complete
    result.decided = is_decided(wanted, scores) if until_decided else None
    return result
