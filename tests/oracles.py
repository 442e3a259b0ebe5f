"""Random games by Kibitz's rules and by OpenSpiel's, each as one number, to be compared.

The number of a game holds who was to move, all legal moves, and the move made, at every step, and the score
at the end. Moves are drawn by a stream of Kibitz's from the legal ones, so that both sides play the same game
as long as they agree. `python -m tests.oracles` plays all games on both sides and stores the numbers, for
tests where OpenSpiel is not installed.
"""

import sys
import zlib
from pathlib import Path

import numpy as np

from kibitz import games
from kibitz.adapters.twins import twin_of
from kibitz.position import deal
from kibitz.rng import below, stream

GAMES = 10_000
KINDS = ("oh_hell", "bridge", "othello")


def stored(kind):
    return Path(__file__).parent / "data" / f"openspiel_{kind}.npy"


def rules(kind, number):
    """The game that is played: DiminishingBridge rounds of 1 to 12 cards with three to seven seats, Bridge in
    any contract, Othello.
    """
    if kind == "othello":
        return games.load("othello")
    if kind == "bridge":
        doubled, vulnerable = ("no", "doubled", "redoubled")[number % 3], number // 3 % 2
        return games.load(
            f"bridge:strain=any,level=any,declarer=any,doubled={doubled},vulnerable={vulnerable},scoring=duplicate"
        )
    seats = 3 + number % 5
    cards = 1 + number // 5 % min(12, 51 // seats)
    return games.load(f"diminishing-bridge:seats={seats},cards={cards},rounds=1")


def by_kibitz(kind, number):
    """The number of a game as Kibitz plays it."""
    game = rules(kind, number)
    twin, state, rng, told = twin_of(game), deal(game, number), stream(number, 1), []
    while not state.is_over:
        moves = {twin.action(move): move for move in state.legal_moves()}
        actions = sorted(moves)
        with np.errstate(over="ignore"):
            action = actions[below(rng, len(actions))]
        told += [state.mover, *actions, action]
        state.play(moves[action])
    return _number([*told, *_signs(kind, state.returns())])


def by_openspiel(kind, number):
    """The number of the same game as OpenSpiel plays it."""
    game = rules(kind, number)
    state = twin_of(game).position(deal(game, number).record, [])
    rng, told = stream(number, 1), []
    while not state.is_terminal():
        actions = sorted(state.legal_actions())
        with np.errstate(over="ignore"):
            action = actions[below(rng, len(actions))]
        told += [state.current_player(), *actions, action]
        state.apply_action(action)
    return _number([*told, *_signs(kind, state.returns())])


def _signs(kind, returns):
    """OpenSpiel's Othello tells who has won, ours by how much."""
    return [int(np.sign(x)) if kind == "othello" else int(x) for x in returns]


def _number(told):
    return zlib.crc32(np.array(told, np.int16).tobytes())


def main():
    for kind in sys.argv[1:] or KINDS:
        numbers = [by_openspiel(kind, number) for number in range(GAMES)]
        different = [number for number in range(GAMES) if by_kibitz(kind, number) != numbers[number]]
        print(f"{kind}: {GAMES} games, {len(different)} of them different: {different[:10]}", flush=True)
        if not different:
            np.save(stored(kind), np.array(numbers, np.uint32))


if __name__ == "__main__":
    main()
