"""Count the plays of random positions by OpenSpiel's backgammon: `python -m tests.backgammon_counts`.

It needs `open_spiel` (2.0.2 made the file) and writes `tests/data/backgammon_counts.json`: positions of
random games with a roll, and how many different boards the legal plays lead to. OpenSpiel plays a double
as two turns of two moves each; here both are followed to their end, and of the boards those are counted for
which most moves were made, as the rule demands of the four moves together.

An item is [mine, others, roll, boards]: the checkers of the seat to move and of the other one, a letter a
place, from those borne off (`a`: none, `b`: one, …) over points 1 … 24 to the bar.
"""

import json
import random
import re
from pathlib import Path

FILE = Path(__file__).parent / "data" / "backgammon_counts.json"
POSITIONS, SEED = 1500, 1
BAR_OF_OPEN_SPIEL = 100


def checkers(state, player):
    """The checkers of a player, place by place as Kibitz counts them."""
    board = [state.board(player, place) for place in range(24)]
    points = board if player == 1 else board[::-1]  # 0 is x and moves upwards
    on_bar = state.board(player, BAR_OF_OPEN_SPIEL)
    return [15 - sum(points) - on_bar, *points, on_bar]


def boards_after(state, player, used=0):
    """Pairs of the number of moves made and the board, for all that the player can do in this turn."""
    if state.is_terminal() or state.is_chance_node() or state.current_player() != player:
        return {(used, tuple(checkers(state, 0)), tuple(checkers(state, 1)))}
    found = set()
    for action in state.legal_actions():
        moves = state.spiel_move_to_checker_moves(player, action)
        found |= boards_after(state.child(action), player, used + sum(move.num >= 0 for move in moves))
    return found


def positions(game, chooser):
    """Positions of random games at the moment of a roll."""
    while True:
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(chooser.choice([action for action, _ in state.chance_outcomes()]))
                yield state
            else:
                state.apply_action(chooser.choice(state.legal_actions()))


if __name__ == "__main__":
    import pyspiel

    chooser, items = random.Random(SEED), []
    for state in positions(pyspiel.load_game("backgammon"), chooser):
        if chooser.random() > 0.1:
            continue
        player = state.current_player()
        found = boards_after(state, player)
        most = max(used for used, *_ in found)
        mine, others = (
            "".join(chr(ord("a") + n) for n in checkers(state, seat)) for seat in (player, 1 - player)
        )
        roll = "".join(sorted(re.search(r"Dice: (\d\d)", str(state))[1], reverse=True))
        items.append([mine, others, roll, sum(used == most for used, *_ in found)])
        if len(items) == POSITIONS:
            break
    FILE.write_text("[\n" + ",\n".join(map(json.dumps, items)) + "\n]\n", encoding="utf-8")
