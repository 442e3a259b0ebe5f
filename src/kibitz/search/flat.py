"""Flat Monte Carlo: every legal move gets the same number of playouts, each in a fresh world."""

from __future__ import annotations

from kibitz.kernel import entry
from kibitz.search.objective import play_out
from kibitz.search.worlds import are_foreseen, deal_for_move, draw_world


@entry
def sample(game, objective, policy, root, seat, playouts, worlds, world, moves, values, sums, squares, rng):
    """Add `playouts` results per legal move to `sums` and `squares`; the number of moves."""
    n = game.legal(root[0], moves)
    for i in range(n):
        game.legal(root[0], moves)  # playouts use the same buffer
        move = moves[i]
        for _ in range(playouts):
            if are_foreseen(worlds):
                world[0] = root[0]
                deal_for_move(game, worlds, seat, move, world, moves, rng)
            else:
                draw_world(game, worlds, root, seat, world, rng)
            game.play(world[0], move)
            play_out(game, policy, world[0], moves, rng)
            objective.value(game, world[0], values)
            sums[i] += values[seat]
            squares[i] += values[seat] * values[seat]
    return n
