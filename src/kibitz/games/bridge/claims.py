"""Claims: a side says how many of the tricks that are left it will make, and the play ends if all agree."""

from __future__ import annotations

from typing import Any

from kibitz.games.bridge.rules import OVER
from kibitz.position import View
from kibitz.rng import derive


class Claim:
    """A claim, judged by what the claimer knows, and by nothing else.

    If each opponent judged it by his own hand, his answer would tell of that hand, and a player could find
    out by claims of several sizes where the high cards are. So the judge gets the view of the claimer. The
    worlds, the verdict and the time it takes are functions of that view, of the number of tricks and of a
    seed that everybody may know. The claimer learns nothing, for he could have judged the claim himself;
    nor do the others, for he shows his hand, and the rest of his view (dummy, the cards played) they see.
    """

    def __init__(self, view: View, tricks: int, seed: int, worlds: int) -> None:
        self._view, self._tricks, self._seed, self._worlds = view, tricks, seed, worlds
        self._is_stopped = False

    def stop(self) -> None:
        """Solve no further world: nobody waits for the verdict any more."""
        self._is_stopped = True

    def holds(self) -> bool | None:
        """Whether the claimer's side makes so many tricks in every sampled world, all hands seen.

        None, if it was stopped before that was known.
        """
        view = self._view
        game, record = view.game, view.record
        side, left = int(game.team(view.seat)), int(record.left)
        is_mover = int(game.team(view.mover)) == side
        made = int(game.made(record, int(game.team(view.mover))))
        for number in range(self._worlds):
            if self._is_stopped:
                return None
            (values,) = game.exact_values([view.world(derive(self._seed, number)).record])
            coming = int(max(values)) - made  # of the side that is to play
            if (coming if is_mover else left - coming) < self._tricks:
                return False
        return True


def share_out(record: Any, seat: int, tricks: int) -> None:
    """End the play: the side of `seat` gets `tricks` of those that are left, the other side the rest."""
    record.tricks[seat] += tricks
    record.tricks[(seat + 1) % 4] += int(record.left) - tricks
    record.left = 0
    record.on_table = 0
    record.phase = OVER
