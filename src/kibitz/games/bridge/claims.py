"""Claims: a side says how many of the tricks that are left it will make, and the play ends if all agree."""

from __future__ import annotations

from typing import Any

from kibitz.games.bridge.rules import OVER
from kibitz.position import State
from kibitz.rng import derive


def holds(state: State, observer: int, seat: int, tricks: int, worlds: int, seed: int) -> bool:
    """Whether a claim of `seat`, who shows his hand, is good as far as another seat can see then.

    It is if the side makes no fewer tricks in any of so many sampled worlds.
    """
    view = state.view(observer)
    game, record = view.game, view.record
    record.hands[seat] = state.record.hands[seat]
    side, left = int(game.team(seat)), int(record.left)
    is_mover = int(game.team(view.mover)) == side
    made = int(game.made(record, int(game.team(view.mover))))
    samples = [view.world(derive(seed, number)).record for number in range(worlds)]
    for values in game.exact_values(samples):
        coming = int(max(values)) - made  # of the side that is to play
        if (coming if is_mover else left - coming) < tricks:
            return False
    return True


def share_out(record: Any, seat: int, tricks: int) -> None:
    """End the play: the side of `seat` gets `tricks` of those that are left, the other side the rest."""
    record.tricks[seat] += tricks
    record.tricks[(seat + 1) % 4] += int(record.left) - tricks
    record.left = 0
    record.on_table = 0
    record.phase = OVER
