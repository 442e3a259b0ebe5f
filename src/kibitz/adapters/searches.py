"""OpenSpiel's searches as agents: `openspiel-mcts:1000` and `openspiel-ismcts:time=50ms`.

They play

- games of OpenSpiel, by its own C++;
- games of Kibitz that OpenSpiel has too (`kibitz.adapters.twins`), by its own C++: the agent keeps the
  moves that it sees, and puts the position together in OpenSpiel's words;
- other games of Kibitz through `kibitz.adapters.openspiel`: MCTS in C++ over our rules, ISMCTS in OpenSpiel's
  Python, since its C++ cannot deal worlds of a game that is written in Python. That is slow.

A bot gets a position whose hidden cards are those of a world drawn from the view, never the truth.
OpenSpiel's ISMCTS in C++ does not play the same game twice, whatever its seed: it breaks ties by the order of
a hash table.
"""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kibitz import ending, kernel
from kibitz.adapters.twins import Twin, twin_of
from kibitz.errors import Unsupported
from kibitz.games import parts
from kibitz.games.openspiel import UNSOUND, hushed, position, pyspiel
from kibitz.position import View
from kibitz.search.advice import Advice, Row
from kibitz.search.montecarlo import legal_moves, option
from kibitz.specs import Duration

_MOST_SIMULATIONS = 10**9
_MEMORY_MB = 1000


@dataclass
class OpenSpielSearch:
    """MCTS or information-set MCTS of OpenSpiel, with random rollouts."""

    iterations: int = option(1000, "simulations for one decision", least=2, most=_MOST_SIMULATIONS)
    time: float | None = option(None, "search for this time instead", kind=Duration)
    c: float = option(0.7, "weight of exploration, times the range of scores", least=0)
    hidden: bool = False
    spec: str = ""
    cheating: bool = False
    keep: bool = True
    """It wants to hear of every move."""
    used: int = field(default=0, repr=False, compare=False)
    _moves: list[int] = field(default_factory=list, repr=False, compare=False)
    _twin: Twin | None = field(default=None, repr=False, compare=False)

    def without_effect(self) -> dict[str, str]:
        return {"iterations": "time limits the search"} if self.time is not None else {}

    def start(self, game: Any, seat: int) -> None:
        """A new game begins; `Unsupported` if the search cannot play it."""
        pyspiel()
        if not self.hidden and "hide" not in game.defaulted:
            raise Unsupported(
                f"{type(game).__name__} hides cards, and openspiel-mcts would see all of them; let "
                f"openspiel-ismcts play"
            )
        if self.hidden and "hide" in game.defaulted:
            raise Unsupported(
                f"{type(game).__name__} hides nothing, and openspiel-ismcts is for games that do; let "
                f"openspiel-mcts play"
            )
        if type(game).__name__ in UNSOUND:
            raise Unsupported(
                "OpenSpiel deals worlds of this game that break its own rules, so that its search crashes; "
                "let ismcts play, which deals another one then"
            )
        if self.hidden and game.interpreted and "python_" in game.native:
            raise Unsupported("OpenSpiel's ISMCTS crashes on games written in Python; let ismcts play")
        self._moves, self._twin = [], twin_of(game)

    def knowledge(self, game: Any) -> bytes:
        """What its play in a game depends on besides its code: how the game is put in OpenSpiel's words."""
        twin = parts.beside(type(game).__module__, "twin")
        return inspect.getsource(twin).encode() if twin else b""

    def learn(self, label: int) -> None:
        """A move was made: in games that have a twin all moves are public, but for the lead of Bridge,
        which shows dummy's hand with it.
        """
        self._moves.append(label & 63 if label >= 1 << 12 else label)

    def choose(self, view: View, seed: int) -> int:
        """The move to make; the only one without thinking."""
        moves = legal_moves(view)
        if len(moves) == 1:
            return moves[0]
        state = self._position(view, seed)
        try:
            with hushed(), ending.without_delay():
                action = self._decide(view.game, state, seed)
        except pyspiel().SpielError as error:
            reason = str(error).strip().splitlines()[0]
            raise Unsupported(
                f"OpenSpiel's search cannot play this game ({reason}); let another play"
            ) from None
        self.used += 0 if self.time else self.iterations
        if self._twin is not None:
            return self._twin.move(action)
        return (
            action if view.game.interpreted else int(state.get_game().encoding.moves(state.position)[action])
        )

    def advise(self, view: View, seed: int) -> Advice:
        """The move to make; the bot tells no values."""
        began = time.perf_counter() - kernel.seconds_compiling()
        best = self.choose(view, seed)
        rows = [Row(m, view.text(m), np.nan, np.inf, m == best, 1) for m in legal_moves(view)]
        seconds = time.perf_counter() - kernel.seconds_compiling() - began
        return Advice(best, tuple(rows), np.nan, view.seat, self.spec, "no value", 0, 0, seconds, seed)

    def _position(self, view: View, seed: int) -> Any:
        """The position for the bot, with a world in the place of what is hidden."""
        if view.game.interpreted:
            return position(view.game, view.record)
        world = view.world(seed)
        if self._twin is not None:
            state = self._twin.position(world.record, self._moves)
            if sorted(map(self._twin.action, legal_moves(view))) != sorted(state.legal_actions()):
                raise Unsupported(
                    f"{self.spec} has not seen the game from its first move, which it needs; let it play a "
                    f"match, or ask another agent"
                )
            return state
        from kibitz.adapters.openspiel import state_at

        return state_at(world)

    def _decide(self, game: Any, state: Any, seed: int) -> int:
        """Let OpenSpiel search."""
        library = pyspiel()
        low, high = game.score_range()
        c, seed = self.c * (high - low), seed & 0x7FFFFFFF
        limit, seconds = (_MOST_SIMULATIONS, self.time) if self.time else (self.iterations, -1.0)
        rollouts = library.RandomRolloutEvaluator(1, seed)
        if not self.hidden:
            bot = library.MCTSBot(
                *(state.get_game(), rollouts, c, limit, _MEMORY_MB, False, seed, False),
                max_wall_clock_time=seconds,
            )
            # Its `step` lets other threads run Python, also while it asks rules that are written in it.
            return int(bot.mcts_search(state).best_child().action)
        if self._twin is None and not game.interpreted:
            return int(self._python_bot(state, c, limit, seed).step(state))
        best = library.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
        bot = library.ISMCTSBot(seed, rollouts, c, limit, -1, best, False, False, max_wall_clock_time=seconds)
        try:
            return int(bot.step(state))
        except library.SpielError:
            if self.time is None:
                raise
        # On a busy machine the time can be over before the first simulation, which it does not expect.
        return int(library.ISMCTSBot(seed, rollouts, c, 2, -1, best).step(state))

    def _python_bot(self, state: Any, c: float, limit: int, seed: int) -> Any:
        from open_spiel.python.algorithms import ismcts, mcts

        if self.time:
            raise Unsupported("OpenSpiel's ISMCTS in Python knows no limit of time; give iterations")
        random = np.random.RandomState(seed)
        best = ismcts.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
        return ismcts.ISMCTSBot(
            state.get_game(), mcts.RandomRolloutEvaluator(1, random), c, limit,
            random_state=random, final_policy_type=best, allow_inconsistent_action_sets=True,
        )  # fmt: skip
