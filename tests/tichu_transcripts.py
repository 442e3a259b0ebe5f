"""Golden transcripts of Tichu and Mini-Tichu, one for every tricky rule, in `tests/data/tichu_rules`.

A transcript is named after the rule that it shows. It says how the cards lie, and then who makes which
move, with all moves that could have been made. To add one, write its first part and a line `seat: move` for
every move; `python -m tests.tichu_transcripts` plays all of them again and writes out the rest. Read the
difference.
"""

import re
from pathlib import Path

from kibitz.games import load
from kibitz.games.tichu import rules as tichu
from kibitz.games.tichu.text import parse_play
from kibitz.position import State, deal

FOLDER = Path(__file__).parent / "data" / "tichu_rules"
FILES = sorted(FOLDER.glob("*.txt"))
PLACES = {"out first": 1, "out second": 2, "out third": 3}


def played_again(text):
    """What a transcript should say, by the set-up and the moves that it tells."""
    first, _, rest = text.partition("\n\n")
    state, lines = set_up(first.splitlines()), []
    for move in re.findall(r"^\d: (.*?)(?:, of .*)?$", rest, re.MULTILINE):
        lines.append(f"{state.mover}: {move}, of {told(state)}")
        won = state.record.won.tolist()
        state.play(move)
        if state.record.won.tolist() != won:
            lines[-1] += f"; points in tricks {' '.join(map(str, state.record.won))}"
    points = " : ".join(f"{points:g}" for points in state.returns()[:2])
    if state.is_over:
        lines.append(f"over, {points}")
    elif state.mover < 0:
        lines.append(f"another round is to be dealt, {points}")
    else:
        lines.append(f"seat {state.mover} has {told(state)}")
    return "\n".join([first, "", *lines, ""])


def told(state):
    """The legal moves; of many their number."""
    moves = state.move_texts()
    return ", ".join(moves) if len(moves) <= 30 else f"{len(moves)} moves"


def set_up(lines):
    """The position of the first part: `game: …`, then `deal: 7`, or hands and fields that are not 0.

    Cards in no hand have been played; seat 0 leads, or the one that `turn` names.
    """
    said = dict(line.split(": ") for line in lines)
    game = load(said.pop("game"))
    if "deal" in said:
        return deal(game, int(said["deal"]))
    state = State(game)
    record = state.record
    for seat in range(4):
        hand = said.pop(f"seat {seat}")
        record.finished[seat] = PLACES.get(hand, 0)
        cards = [] if hand in PLACES else hand.split()
        record.hands[seat], record.left[seat] = sum(map(parse_play, cards)), len(cards)
    record.played = (1 << 56) - 1 & ~int(record.hands.sum())
    record.starter = next((seat for seat in range(4) if int(record.hands[seat]) & 1), 0)
    record.phase = tichu.PLAYING if isinstance(game, tichu.Tichu) else 1
    for name, values in said.items():
        numbers = [int(number) for number in values.split()]
        record[name] = numbers if len(numbers) > 1 else numbers[0]
    if "next" in record.dtype.names:
        record.next = record.turn
    return state


if __name__ == "__main__":
    for file in FILES:
        file.write_text(played_again(file.read_text(encoding="utf-8")), encoding="utf-8")
