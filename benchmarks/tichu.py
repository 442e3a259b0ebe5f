"""How fast random rounds of Tichu and Mini-Tichu are: python benchmarks/tichu.py

Rounds a second of processor time of one core, dealing included.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from kibitz import games
from kibitz.bench import random_games
from kibitz.rng import stream
from kibitz.search.objective import Habit

ROUNDS, TIMES = 20_000, 7


def seconds(game: Any, rounds: int, seed: int) -> float:
    """Processor time for so many rounds, every legal move equally likely."""
    position, moves = np.zeros(2, game.state), np.zeros(game.max_moves, np.int64)
    out, totals = np.zeros(game.seats), np.zeros(game.seats)
    began = time.process_time()
    random_games(game, Habit(0.0), rounds, game.max_plies, position, moves, out, totals, stream(seed))
    return time.process_time() - began


for spec in ("mini-tichu", "tichu", "tichu:calls=false"):
    game = games.load(spec)
    seconds(game, 10, 0)
    rates = [ROUNDS / seconds(game, ROUNDS, seed) for seed in range(TIMES)]
    print(
        f"{spec:<20} {statistics.median(rates):>8,.0f}  ({min(rates):,.0f} … {max(rates):,.0f})", flush=True
    )
