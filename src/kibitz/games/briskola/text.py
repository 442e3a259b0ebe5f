"""Briškola as people see it: the table as text."""

from __future__ import annotations

from typing import Any

from kibitz.cards import ITALIAN

HIDDEN = "▒▒"


def card_text(card: int) -> str:
    """A card, or the back of one that is not known."""
    return ITALIAN.text(card) if card < ITALIAN.size else HIDDEN


def hand_text(cards: Any) -> str:
    """A hand by suit and strength, unknown cards last."""
    return " ".join(card_text(card) for card in sorted(cards))


def picture(game: Any, view: Any, seat: int) -> str:
    """The position as `seat` sees it.

    The record may be a view or, for an open table, the whole truth: what is blank is drawn as such.
    """
    suit = ITALIAN.suits[view["trump"]][1]
    stock = f"{view['left']} cards, {card_text(view['turned'])} face up" if view["left"] else "empty"
    lines = [f"trump  {suit} ({card_text(view['turned'])})", f"stock  {stock}", ""]
    for i in range(1, game.seats + 1):
        other = (seat + i) % game.seats
        who = "you" if other == seat else f"seat {other}"
        if game.seats == 4 and other == (seat + 2) % 4:
            who += " (partner)"
        hand = hand_text(view["hands"][other][: view["held"][other]])
        lines.append(f"{who:<17} {view['points'][other]:>3} points   {hand}")
    on_table = view["on_table"]
    if on_table:
        leader = (int(view["turn"]) - int(on_table)) % game.seats
        trick = (f"seat {(leader + i) % game.seats} {card_text(view['table'][i])}" for i in range(on_table))
        lines += ["", f"table  {', '.join(trick)}; {card_text(view['best'])} wins so far"]
    return "\n".join(lines)
