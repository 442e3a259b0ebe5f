"""Games that Kibitz and OpenSpiel both have: the same positions and moves in the words of either.

One side can be asked whether the other keeps the rules, and OpenSpiel's searches can play at their own
speed, in C++, on positions of Kibitz. A twin is made for a game of Kibitz whose parameters OpenSpiel has too:

| Kibitz                                    | OpenSpiel     |
|-------------------------------------------|---------------|
| tic-tac-toe                               | `tic_tac_toe` |
| othello                                   | `othello`     |
| diminishing-bridge, one round, 3–7 seats  | `oh_hell`     |
| bridge, the play                          | `bridge`      |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kibitz.games.bridge.rules import Bridge
from kibitz.games.diminishing_bridge.rules import BID, RANDOM, DiminishingBridge
from kibitz.games.openspiel import native_game
from kibitz.games.othello.rules import Othello
from kibitz.games.tic_tac_toe.rules import TicTacToe

_BONUS = 10  # what OpenSpiel's Oh Hell gives for a bid made


class Twin:
    """A game of which Kibitz and OpenSpiel have the same moves by the same numbers."""

    def __init__(self, game: Any, name: str) -> None:
        self.game, self.name = game, name

    def native(self, record: Any) -> str:
        """OpenSpiel's game for a position, with its parameters."""
        return self.name

    def opening(self, record: Any) -> list[int]:
        """OpenSpiel's actions before the first move: the deal. `record` is any position after it, open."""
        return []

    def action(self, move: int) -> int:
        """OpenSpiel's number of a move."""
        return int(move)

    def move(self, action: int) -> int:
        """The move that OpenSpiel's number means."""
        return int(action)

    def position(self, record: Any, moves: Sequence[int]) -> Any:
        """OpenSpiel's position after `moves`; `record` is the open position that they have led to."""
        state = native_game(self.native(record)).new_initial_state()
        for action in self.opening(record):
            state.apply_action(action)
        for move in moves:
            state.apply_action(self.action(move))
        return state


class _Cards(Twin):
    """Cards are numbered by rank first in OpenSpiel, by suit first here."""

    suits, ranks = 4, 13

    def action(self, move: int) -> int:
        return move % self.ranks * self.suits + move // self.ranks

    def move(self, action: int) -> int:
        return action % self.suits * self.ranks + action // self.suits

    def dealt(self, record: Any) -> list[int]:
        """The hands before the play, card by card around the table, as OpenSpiel deals them."""
        hands = []
        for seat in range(self.game.seats):
            cards = int(record.hands[seat]) | int(record.gone[seat])
            hands.append([card for card in range(self.suits * self.ranks) if cards >> card & 1])
        return [self.action(card) for around in zip(*hands, strict=True) for card in around]


class OhHell(_Cards):
    """One round of DiminishingBridge."""

    def __init__(self, game: Any) -> None:
        super().__init__(game, "oh_hell")
        self.suits, self.ranks = game.suits, game.ranks

    def native(self, record: Any) -> str:
        game = self.game
        return (
            f"oh_hell(players={game.seats},num_suits={game.suits},num_cards_per_suit={game.ranks},"
            f"num_tricks_fixed={game.largest()},off_bid_penalty=true,points_per_trick={game.trick_factor})"
        )

    def opening(self, record: Any) -> list[int]:
        shown = self.action(int(record.shown))
        return [int(record.cards), self.game.seats - 1, *self.dealt(record), shown]

    def action(self, move: int) -> int:
        return move - BID + self.suits * self.ranks if move >= BID else super().action(move)

    def move(self, action: int) -> int:
        cards = self.suits * self.ranks
        return action - cards + BID if action >= cards else super().move(action)


class BridgePlay(_Cards):
    """The play of Bridge, after the shortest auction that ends in the contract: declarer deals and bids."""

    PASS, DOUBLE, REDOUBLE, BIDS = 52, 53, 54, 55

    def __init__(self, game: Any) -> None:
        super().__init__(game, "bridge")

    def native(self, record: Any) -> str:
        vulnerable = str(bool(record.vulnerable)).lower()
        return (
            f"bridge(use_double_dummy_result=false,dealer={int(record.declarer)},dealer_vul={vulnerable},"
            f"non_dealer_vul=false)"
        )

    def opening(self, record: Any) -> list[int]:
        raised = [[], [self.DOUBLE], [self.DOUBLE, self.REDOUBLE]][int(record.doubled)]
        bid = self.BIDS + 5 * (int(record.level) - 1) + int(record.strain)
        return [*self.dealt(record), bid, *raised, *[self.PASS] * 3]


def twin_of(game: Any) -> Twin | None:
    """The twin of a game of Kibitz, if OpenSpiel has the same one."""
    if isinstance(game, TicTacToe):
        return Twin(game, "tic_tac_toe")
    if isinstance(game, Othello):
        return Twin(game, "othello")
    if isinstance(game, Bridge):
        return None if game.double_dummy else BridgePlay(game)
    if isinstance(game, DiminishingBridge):
        same = game.number_of_rounds() == 1 and 3 <= game.seats <= 7 and game.suits <= 4 and game.ranks <= 13
        same = same and game.screw and not (game.devils or game.luciferen or game.published)
        same = same and game.first_trump and game.largest() * game.seats < game.deck_size()
        same = same and (game.K, game.turn_up) == (_BONUS, RANDOM)
        return OhHell(game) if same and game.trick_factor == game.losing_factor else None
    return None
