"""Learning counters: an agent plays against itself, and every position of a finished game teaches.

The games are those of the match with the same seed, numbered from 0, so that learning can be interrupted
and continued later, and gives the same counters on any number of processes. Beside counting, dealing is put
to the test: at every decision a world is dealt for every legal move, once at random and once by the
counters learned before, and compared with the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kibitz import trust
from kibitz.arena.executors import executor
from kibitz.arena.play import _CHANCE_STREAM, Batch, Match
from kibitz.belief import counters
from kibitz.belief.counters import Counters
from kibitz.errors import BadOption, Unsupported
from kibitz.kernel import entry, kernel
from kibitz.protocol import CHANCE, MOST_EVENTS
from kibitz.rng import U, mixed
from kibitz.search.worlds import Worlds, deal_for_move, deal_rest, memory_for_worlds

_TRIAL_STREAM = 3
_GAMES_A_BATCH, _GAMES_A_CHUNK = 5, 100


@entry
def study(game, seed, deal, played, seen, worlds, positions, moves, candidates, counts, dealt, rng):
    """Go once more through a finished game: add what its positions teach to `counts`, and try the dealing.

    `seen`: what was so counts only as far as moves have shown it.
    """
    state = positions[0]
    of_deal = mixed(mixed(U(0), seed), deal)
    ply = events = 0
    last = -1
    while not game.is_over(state) and ply < len(played) and events <= len(played) + MOST_EVENTS:
        seat = game.mover(state)
        if seat == CHANCE:
            rng[0] = mixed(mixed(of_deal, _CHANCE_STREAM), events)
            game.deal(state, rng)
            events += 1
            continue
        taught = game.lesson(state, moves)
        if seen and taught >= 0:
            shown = game.shows(state, played[ply])
            taught = taught >> 1 << 1 | shown if shown >= 0 else -1
        if taught >= 0 and taught != last:  # a call, or a bomb that is not played, makes no new situation
            counts[taught >> 1, taught & 1] += 1
            last = taught
        rng[0] = mixed(mixed(of_deal, _TRIAL_STREAM), ply)
        try_dealing(game, worlds, seat, positions, moves, candidates, dealt, rng)
        game.play(state, played[ply])
        ply += 1


@kernel
def try_dealing(game, worlds, seat, positions, moves, candidates, dealt, rng):
    """Deal for every legal move of a decision, and count how often what is foreseen is so in truth."""
    n = game.legal(positions[0], candidates)
    for i in range(n if n > 1 else 0):  # a seat with one move does not think
        positions[1] = positions[0]
        game.play(positions[1], candidates[i])
        truth = -1 if game.is_over(positions[1]) else game.lesson(positions[1], moves)
        if truth < 0:
            continue
        dealt[0] += 1
        for by_counters in range(2):
            positions[2] = positions[0]
            game.hide(positions[2], seat)
            if by_counters:
                deal_for_move(game, worlds, seat, candidates[i], positions[2:], moves, rng)
            else:
                deal_rest(game, worlds, seat, positions[2:], rng)
            game.play(positions[2], candidates[i])
            dealt[1 + by_counters] += game.lesson(positions[2], moves) == truth


def learn(
    game: str,
    agent: str,
    rounds: int,
    path: Path,
    seed: int = 0,
    jobs: int | None = 1,
    progress: Callable[[int, int], None] | None = None,
    step: int = counters.STEP,
    seen: bool = False,
) -> Counters:
    """Learn from the first `rounds` games of an agent against itself, going on with what `path` holds.

    `seen`: count what seats have shown by their moves, not what they held.
    """
    if path.suffix != ".npz":
        raise BadOption(f"'{path}' cannot be used: a file of counters ends in .npz")
    trust.allow(game, agent)
    match = Match(game, (agent,), seed)
    if {"lesson", "predict"} & match.rules.defaulted:
        raise Unsupported(
            f"{game} learns nothing from finished games: it lacks the methods 'lesson' and 'predict' of "
            f"kibitz.protocol"
        )
    match.check()
    learned = (
        counters.load(path)
        if path.exists()
        else Counters(game, agent, seed, match.rules.situations, step, seen)
    )
    wanted = (game, agent, seed, match.rules.situations, step, seen)
    there = (learned.game, learned.agent, learned.seed, learned.situations, learned.step, learned.seen)
    if there != wanted:
        raise BadOption(
            f"{path} has learned from {learned.agent} in {learned.game} with seed {learned.seed} what was "
            f"{'seen' if learned.seen else 'held'}, not from {agent} in {game} with seed {seed} what was "
            f"{'seen' if seen else 'held'}; choose another file"
        )
    with executor(jobs) as workers:
        while learned.rounds < rounds:
            counts, dealt = learned.open_step()
            end = min(rounds, learned.rounds + _GAMES_A_CHUNK, len(learned.counts) * step)
            before = learned.counts[:-1].sum(axis=0)
            worlds = memory_for_worlds(match.rules, 0, counters.chances_of(before))
            for batch, result, _ in workers.run(_batches(match, learned.rounds, end)):
                for number, (moves,) in enumerate(result.moves):
                    _study(match, batch.first_deal + number, moves, seen, worlds, counts, dealt)
            learned.rounds = end
            learned.save(path)
            if progress:
                progress(learned.rounds, rounds)
    return learned


def _batches(match: Match, first: int, end: int) -> Iterator[Batch]:
    for deal in range(first, end, _GAMES_A_BATCH):
        yield Batch(match, deal, min(_GAMES_A_BATCH, end - deal), keep_moves=True, code=match.code)


def _study(
    match: Match,
    deal: int,
    moves: list[int],
    seen: bool,
    worlds: Worlds,
    counts: NDArray[np.int64],
    dealt: NDArray[np.int64],
) -> None:
    rules = match.rules
    buffers = np.zeros((2, rules.max_moves), np.int64)
    study(
        *(rules, np.uint64(match.seed), np.uint64(deal), np.array(moves, np.int64), seen, worlds),
        *(np.zeros(3, rules.state), *buffers, counts, dealt, np.zeros(1, np.uint64)),
    )
