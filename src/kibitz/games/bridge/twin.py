"""The play of Bridge in OpenSpiel's `bridge`."""

from __future__ import annotations

from typing import Any

from kibitz.adapters.twins import CardTwin, Twin


class BridgePlay(CardTwin):
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
    """The twin; OpenSpiel has none for open hands."""
    return None if game.double_dummy else BridgePlay(game)
