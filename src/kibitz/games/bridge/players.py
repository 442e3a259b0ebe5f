"""A card player for Bridge with hidden hands: perfect-information Monte Carlo with an exact solver.

Deals that agree with all that the seat knows are sampled and each is solved as if all hands were open;
the card that is best on average is played. Declarer's programs have done so since M. Ginsberg's GIB
(*GIB: Imperfect Information in a Computationally Challenging Game*, 2001). What goes wrong with it is
known too: in every sampled deal the solver sees where the cards lie, so it believes that a guess can be
put off for free, and it never plays to learn something or to hide something.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.errors import InputError, Unsupported
from kibitz.games.bridge import dds
from kibitz.games.bridge.auction import promises_text
from kibitz.games.bridge.rules import DUPLICATE, Bridge
from kibitz.games.bridge.score import duplicate_score
from kibitz.kernel import entry
from kibitz.position import View
from kibitz.rng import stream
from kibitz.search.montecarlo import Searcher, Statistics, legal_moves, option
from kibitz.search.objective import score
from kibitz.search.worlds import draw_world

MAKES = "contract makes"
"""The name of the column with the share of worlds in which declarer makes the contract."""

_FIRST_LOOK = 20  # worlds; fewer say too little of their spread


@entry
def draw_worlds(game, worlds, view, seat, into, kept, rng):
    """Fill `into` with random worlds of a view; `kept`: which of them the auction allows."""
    for i in range(len(into)):
        draw_world(game, worlds, view, seat, into[i : i + 1], rng)
        kept[i] = view[0].promised == 0 or game.keeps_promises(into[i])


@dataclass
class Pimc(Searcher):
    """Sample deals, solve each of them, play the card that is best on average."""

    iterations: int = option(100, "deals that are solved for one decision", least=1, most=10**6)
    objective: float | str = option(
        "points",
        "what to maximize: points (tricks, or the score, as the game counts), or contract: to make or to "
        "beat it, then tricks",
        choices=("points", "contract"),
    )
    early: float = option(
        4.0,
        "end when the best card leads every other by so many standard errors, or equals it; 0: never. "
        "Advice always looks at all deals",
        least=0,
    )
    # Nothing is played out, and no ending is solved in another way: these are no options.
    each: int = 0
    top: float = 1.0
    playout: float = 0.0
    endings: int = 0
    belief: int | str = 0
    lessons: int = 0
    learned: str = ""
    progress: Callable[[int, int], None] | None = field(default=None, repr=False, compare=False)
    """Called with (deals solved, deals in all)."""

    def start(self, game: Any, seat: int) -> None:
        self._is_stopped = False
        if not isinstance(game, Bridge):
            raise Unsupported(
                f"{self.spec.partition(':')[0]} plays bridge only, not {type(game).__name__}; for other "
                f"games take ismcts or determinized"
            )

    def _objective(self, view: View) -> Any:
        """Values are tricks or scores as they are."""
        return score(view.game)

    def _search(self, view: View, seed: int) -> Statistics:
        game = view.game
        found = Statistics.of(legal_moves(view))
        rng = stream(seed)
        drawn = self._worlds(view, "worlds", rng)
        tricks, asker = np.zeros((0, len(found.moves))), dds.Asker()
        while len(tricks) < self.iterations and not self._is_decided(view, tricks):
            if self._is_stopped and len(tricks):
                break
            n = min(self.iterations - len(tricks), max(_FIRST_LOOK, 8 * (os.cpu_count() or 1)))
            worlds, kept = np.zeros(n, game.state), np.zeros(n, np.bool_)
            draw_worlds(game, drawn, view.array, view.seat, worlds, kept, rng)
            if not kept.any():
                if len(tricks):
                    break  # such deals are too rare to look for more
                raise InputError(
                    f"no deal was found that agrees with the cards seen and with the auction "
                    f"({promises_text(view.record)}); widen the ranges"
                )
            solved = []
            for values in dds.card_values(list(worlds[kept].view(np.recarray)), asker):
                solved.append([values[move] for move in found.moves])
                if self._is_stopped:  # the solver may have others to serve before it solves the rest
                    break
            tricks = np.vstack([tricks, solved])
            if self.progress:
                self.progress(len(tricks), self.iterations)
        return self._judged(view, found, tricks)

    def _judged(self, view: View, found: Statistics, tricks: NDArray[np.float64]) -> Statistics:
        """What the tricks to come, [world, card], are worth on average."""
        values = self._values(view, tricks)
        found.sums[:], found.squares[:] = values.sum(axis=0), (values**2).sum(axis=0)
        found.visits[:] = found.available[:] = found.iterations = found.worlds = len(tricks)
        found.unit = "score" if view.game.scoring == DUPLICATE else "tricks"
        found.columns = {MAKES: self._makes(view, tricks).mean(axis=0)}
        found.choice = int(np.argmax(self._wish(view, tricks).mean(axis=0).round(9)))
        return found

    def _is_decided(self, view: View, tricks: NDArray[np.float64]) -> bool:
        """Whether more deals would hardly change the choice, and nothing but the choice is asked for."""
        if not (self._only_choice and self.early and len(tricks) >= _FIRST_LOOK):
            return False
        wish = self._wish(view, tricks)
        ahead = wish[:, [int(np.argmax(wish.mean(axis=0)))]] - wish
        error = ahead.std(axis=0, ddof=1) / np.sqrt(len(ahead))
        return bool(np.all(ahead.mean(axis=0) >= self.early * error))

    def _final(self, view: View, tricks: NDArray[np.float64]) -> NDArray[np.float64]:
        """The tricks of declarer at the end."""
        declarer, mover = (int(view.game.team(seat)) for seat in (view.record.declarer, view.seat))
        made = int(view.game.made(view.record, declarer))
        return made + (tricks if declarer == mover else int(view.record.left) - tricks)

    def _makes(self, view: View, tricks: NDArray[np.float64]) -> NDArray[np.float64]:
        """1 where declarer makes the contract, else 0."""
        return (self._final(view, tricks) >= 6 + int(view.record.level)).astype(float)

    def _values(self, view: View, tricks: NDArray[np.float64]) -> NDArray[np.float64]:
        """The points of the mover's side at the end, as the game counts them."""
        side = int(view.game.team(view.seat))
        if view.game.scoring == DUPLICATE:
            scores = np.array([duplicate_score(view.record, made) for made in range(14)], float)
            is_declarer = side == view.game.team(int(view.record.declarer))
            return scores[self._final(view, tricks).astype(int)] * (1 if is_declarer else -1)
        return int(view.game.made(view.record, side)) + tricks

    def _wish(self, view: View, tricks: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is to be as large as possible; tricks decide between cards that are equal otherwise."""
        values = self._values(view, tricks)
        if self.objective == "contract":
            is_declarer = view.game.team(view.seat) == view.game.team(int(view.record.declarer))
            makes = self._makes(view, tricks)
            values = makes if is_declarer else 1 - makes
        return values + 1e-6 * tricks


__all__ = ["MAKES", "Pimc"]
