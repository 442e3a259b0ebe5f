"""One round of DiminishingBridge in OpenSpiel's `oh_hell`."""

from __future__ import annotations

from typing import Any

from kibitz.adapters.twins import CardTwin, Twin
from kibitz.games.diminishing_bridge.rules import BID, RANDOM

_BONUS = 10  # what OpenSpiel's Oh Hell gives for a bid made


class OhHell(CardTwin):
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


def twin_of(game: Any) -> Twin | None:
    """The twin, if the parameters are those that OpenSpiel has too."""
    same = game.number_of_rounds() == 1 and 3 <= game.seats <= 7 and game.suits <= 4 and game.ranks <= 13
    same = same and game.screw and not (game.devils or game.luciferen or game.published)
    same = same and game.first_trump and game.largest() * game.seats < game.deck_size()
    same = same and (game.K, game.turn_up) == (_BONUS, RANDOM)
    return OhHell(game) if same and game.trick_factor == game.losing_factor else None
