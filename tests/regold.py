"""Write the golden games in `tests/data` anew: `python -m tests.regold`.

A golden game fixes what a deal number means and how the rules play it, move by move. A change
that is meant to leave the rules alone must leave these files alone. When they differ, a reviewer
reads the diff to see which rule (or which shuffle) changed, and whether that was the purpose: every
result published with a seed changes with it.
"""

import random
from pathlib import Path

from kibitz.cards import ITALIAN
from kibitz.games.briskola.rules import Briskola
from kibitz.position import deal
from tests.positions import hand_of

DATA = Path(__file__).parent / "data"
DEALS = {2: 7, 3: 8, 4: 9}


def golden_file(seats):
    return DATA / f"briskola_{seats}.txt"


def transcript(seats, seed, choose):
    """One whole game as text: the deal, and every trick with the points after it."""
    state = deal(Briskola(seats), seed)
    lines = [
        f"Briškola, {seats} seats",
        f"deal {seed}",
        f"turned up {ITALIAN.text(state.record.turned)}",
    ]
    lines += [f"seat {seat} holds {' '.join(hand_of(state, seat))}" for seat in range(seats)]
    trick = 0
    while not state.is_over:
        trick += 1
        moves = []
        for _ in range(seats):
            card = choose(state)
            moves.append(f"{state.mover} {card}")
            state.play(card)
        points = " ".join(str(x) for x in state.record.points[:seats])
        lines.append(f"trick {trick}: {', '.join(moves)}; points {points}")
    lines.append(f"returns {' '.join(f'{x:g}' for x in state.returns())}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    chooser = random.Random(1)
    for seats, seed in DEALS.items():
        text = transcript(seats, seed, lambda state: chooser.choice(state.move_texts()))
        golden_file(seats).write_text(text, encoding="utf-8")
