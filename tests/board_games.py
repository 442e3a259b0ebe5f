"""What the tests of board games share: trees counted by compiled code, and golden games.

`python -m tests.board_games` writes the golden games in `tests/data` anew. Read the difference.
"""

import random
from pathlib import Path

import numpy as np

from kibitz.games import load
from kibitz.kernel import entry
from kibitz.position import deal, deal_on
from kibitz.testing import walk

DATA = Path(__file__).parent / "data"
GOLDEN = {"tic-tac-toe": 7, "othello": 12, "backgammon": 9}


@entry
def tree_size(game, stack, moves, left, depth):
    """How many positions are `depth` plies below stack[0], or final before; and how many there are in all."""
    leaves = nodes = np.int64(0)
    level = 0
    left[0] = -1
    while level >= 0:
        if left[level] < 0:
            nodes += 1
            if level == depth or game.is_over(stack[level]):
                leaves += 1
                level -= 1
                continue
            left[level] = game.legal(stack[level], moves[level])
        if left[level] == 0:
            level -= 1
            continue
        left[level] -= 1
        stack[level + 1] = stack[level]
        game.play(stack[level + 1], moves[level, left[level]])
        level += 1
        left[level] = -1
    return leaves, nodes


def count_tree(state, depth):
    game, levels = state.game, depth + 1
    stack = np.zeros(levels, game.state)
    stack[0] = state.array[0]
    return tree_size(
        game, stack, np.zeros((levels, game.max_moves), np.int64), np.zeros(levels, np.int64), depth
    )


@entry
def list_results(game, positions, moves, after):
    """Write the positions after every legal move of positions[0]; how many there are."""
    n = game.legal(positions[0], moves)
    for i in range(n):
        positions[1] = positions[0]
        game.play(positions[1], moves[i])
        after[i] = positions[1]
    return n


@entry
def judge(game, position, moves, score, features, urgency, codes):
    """Write all that searches ask of a position; whether it is quiet."""
    state = position[0]
    game.evaluate(state, score)
    game.measure(state, features)
    if not game.is_over(state):
        for i in range(game.legal(state, moves)):
            urgency[i] = game.urgency(state, moves[i])
            codes[i] = game.mirror(state, moves[i])
    return game.is_quiet(state)


def judgement(ask, state):
    game, n = state.game, state.game.max_moves
    found = [np.zeros(2), np.zeros(len(game.features)), np.zeros(n), np.zeros(n, np.int64)]
    return [bool(ask(game, state.array, np.zeros(n, np.int64), *found)), *(x.tolist() for x in found)]


def check_evaluation(game, n):
    """Along random games: estimates lie within the range, sum to nothing and are what the features say;
    compiled code says the same, and nothing has changed the position."""
    low, high = game.score_range()
    for seed in range(n):
        for state in walk(game, seed):
            before = state.key()
            found = judgement(judge, state)
            assert found == judgement(judge.interpreted, state)
            assert state.key() == before
            _, (mine, theirs), features, *_ = found
            assert low < mine < high
            assert mine == -theirs
            linear = float(np.dot(features, game.weights))
            assert np.isclose(mine, linear) or abs(mine) < abs(linear)  # cut off


# --- golden games ---


def golden_file(name):
    return DATA / f"{name.replace('-', '_')}.txt"


def transcript(name, seed, choose):
    """One whole game as text: every move with the number of legal ones, and some pictures."""
    game = load(name)
    state = deal(game, seed)
    chances, ply = deal_on(state, seed, 1), 0
    lines = [f"{name}, deal {seed}"]
    while not state.is_over:
        if ply % 20 == 0:
            lines += ["", str(state), ""]
        move = choose(state)
        told = game.tell(state.record, np.int64(game.parse_move(move)), 0)
        lines.append(f"seat {state.mover}, {len(state.legal_moves())} moves: {told}")
        state.play(move)
        chances = deal_on(state, seed, chances)
        ply += 1
    return "\n".join(
        [*lines, "", str(state), "", f"returns {state.returns()[0]:g} {state.returns()[1]:g}", ""]
    )


def replayed(name):
    """The golden game, its moves read from the file and played again."""
    text = golden_file(name).read_text(encoding="utf-8")
    moves = iter([line.partition(" moves: ")[2] for line in text.splitlines() if " moves: " in line])
    return text, transcript(name, GOLDEN[name], lambda state: next(moves))


if __name__ == "__main__":
    chooser = random.Random(1)
    for name, seed in GOLDEN.items():
        golden_file(name).write_text(
            transcript(name, seed, lambda state: chooser.choice(state.move_texts())), encoding="utf-8"
        )
