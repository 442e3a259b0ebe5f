"""Classical search of games in which nothing is hidden: minimax and all that prunes it, one driver.

Minimax, alpha-beta, expectiminimax, Star1, Star2 and max^n walk over the same tree in the same order;
they differ in what they leave out. So there is one walk, `search`, and `Options` says what may be left
out. Recursion does not compile: the walk keeps a frame for every position on the way from the root.
It can be interrupted between any two positions, since all it knows lies in `Work`; that is how limits
of time, Ctrl-C and growing memory are dealt with.

Between two sides all values are the score of seat 0, so that one side maximizes and the other
minimizes. With more sides (`several`) values are vectors, and every mover takes what is best for itself.

A chance event has bounds for the value of every outcome, at first those of all scores. With α and β the
bounds that matter above it, an outcome of probability p need only be known between

    A = (α − Σ pᵢ·highᵢ of the others) / p    and    B = (β − Σ pᵢ·lowᵢ of the others) / p

(Ballard 1983: Star1). If nothing is known about scores, the bounds are infinite and A and B matter only
to the last outcome. Star2 first tries one move after every outcome, which gives a bound for half the
work; that move is not tried again later.
"""

from __future__ import annotations

import math

import numpy as np

from kibitz.kernel import entry, kernel
from kibitz.rng import mixed
from kibitz.search.memory import (
    ALPHA,
    AT_LEAST,
    AT_MOST,
    BETA,
    BETTER,
    CHANCE,
    CUT,
    ENTER,
    EXACT,
    FINISHED,
    FORWARD,
    HIGH,
    HISTORY,
    KNOWN,
    LEAVE,
    LEFT_OUT,
    LOW,
    MAX,
    MIN,
    NO_MOVE,
    NO_MOVES,
    NO_ROOM,
    NOT_BEGUN,
    NOT_CUT,
    OPENED,
    OVER,
    PAUSED,
    RANGE,
    SKIP,
    SYMMETRY,
    TABLE,
    VALUE_KNOWN,
    is_stack_full,
)

# --- the walk -------------------------------------------------------------------------------------


@entry
def search(game, options, work, most):
    """Search the position in frame 0, or go on, for `most` positions; when `FINISHED`, its value is in
    `work.result`.
    """
    head = work.head[0]
    stop = head.nodes + most
    if head.ply == NOT_BEGUN:
        if is_trace_full(options, work):
            return NO_ROOM
        head.ply = 0
        if enter(game, options, work, head.ply, options.depth, -math.inf, math.inf, 0):
            return FINISHED
    while True:
        ply = head.ply
        frame = work.frames[ply]
        if frame.width == 0:
            return NO_MOVES
        if is_stack_full(work) or is_trace_full(options, work):
            return NO_ROOM
        if frame.tried < frame.width:
            if head.nodes >= stop:
                return PAUSED
            found = descend(game, options, work, ply)
            if found == OPENED:
                head.ply += 1
            if found != KNOWN:
                continue
        elif frame.is_probing:
            frame.is_probing, frame.tried = 0, 0
            continue
        else:
            leave(game, options, work, ply)
            if ply == 0:
                return FINISHED
            head.ply -= 1
        take_up(game, options, work, head.ply)


@kernel
def descend(game, options, work, ply):
    """Make the next move of frame `ply`, or let its next outcome happen."""
    frame = work.frames[ply]
    i = frame.tried
    frame.tried += 1
    alpha, beta, left, number = frame.alpha, frame.beta, frame.left - 1, 0
    if frame.side == CHANCE:  # it is no move
        known = work.bounds[ply, i]
        if known.low == known.high:
            is_whole_range = options.low == options.high and frame.is_probing == options.probe
            if known.number > 0 or is_whole_range:  # no other move can change it, so none is tried
                leave_out(options, work, ply, work.moves[ply, i], RANGE)
            return LEFT_OUT
        alpha, beta = window_of_outcome(options, work, ply, i)
        left, number = frame.left, known.number
    work.states[ply + 1] = work.states[ply]
    game.play(work.states[ply + 1], work.moves[ply, i])
    if frame.is_probing and side_of(game, work.states[ply + 1]) == CHANCE:
        return LEFT_OUT  # there is no first move to try
    work.head[0].is_probe = 0
    if enter(game, options, work, ply + 1, left, alpha, beta, number):
        return KNOWN
    if frame.is_probing:
        work.frames[ply + 1].is_probe = work.frames[ply + 1].width > 1
    elif number > 0:
        go_on_from_probe(options, work, ply + 1, work.bounds[ply, i])
    return OPENED


@kernel
def enter(game, options, work, ply, left, alpha, beta, number):
    """Look at the position of frame `ply`; whether its value is known at once, and in `work.result`.

    Positions are numbered as they are met; `number` is that of one that has been probed, else 0.
    """
    head, frame, state = work.head[0], work.frames[ply], work.states[ply]
    if number == 0:
        head.nodes += 1
    frame.number = head.nodes if number == 0 else number
    frame.left, frame.cut = left, NOT_CUT
    frame.alpha = frame.first_alpha = alpha
    frame.beta = frame.first_beta = beta
    frame.is_probe = frame.is_probing = 0
    frame.side = side_of(game, state)
    frame.hint, frame.best_move = NO_MOVE, NO_MOVE
    frame.width = frame.tried = 0
    work.lengths[ply] = 0
    note(options, work, ply, ENTER, NOT_CUT)
    if frame.side == OVER:
        game.returns(state, work.result)
        head.leaves += 1
    elif is_horizon(game, options, work, ply):
        head.leaves += 1
        head.estimated += 1
    elif frame.side == CHANCE:
        open_chance(game, options, work, ply)
        if frame.width > 0:
            return False
        game.evaluate(state, work.result)  # beyond a shuffle nobody can look
        head.leaves += 1
        head.estimated += 1
    elif options.table and is_in_table(options, work, ply):
        note(options, work, ply, VALUE_KNOWN, TABLE)
        return True
    else:
        open_moves(game, options, work, ply)
        return False
    note(options, work, ply, VALUE_KNOWN, NOT_CUT)
    return True


@kernel
def side_of(game, state):
    """Whose choice a position is: of seat 0's side, of the others, or of nobody."""
    if game.is_over(state):
        return OVER
    mover = game.mover(state)
    if mover < 0:
        return CHANCE
    return MAX if game.team(mover) == game.team(0) else MIN


@kernel
def is_horizon(game, options, work, ply):
    """Whether the search ends here, though the game does not: at its depth, once nothing big is about to
    happen, or where the evaluation leaves no doubt. The evaluation is in `work.result` then.
    """
    left, state = work.frames[ply].left, work.states[ply]
    is_deep = left <= -options.extension or (left <= 0 and game.is_quiet(state))
    if not is_deep and (options.decided == math.inf or ply == 0):
        return False
    game.evaluate(state, work.result)
    low, high = game.score_range()
    return is_deep or abs(work.result[0] - (low + high) / 2) >= options.decided


@kernel
def open_moves(game, options, work, ply):
    """List the moves of a position, in the order in which they shall be tried."""
    frame, state = work.frames[ply], work.states[ply]
    frame.mover = game.mover(state)
    width = game.legal(state, work.moves[ply])
    if options.symmetry:
        width = without_mirrored(game, options, work, ply, width)
    if options.urgent or options.killers or options.history or frame.hint != NO_MOVE:
        put_in_order(game, options, work, ply, width)
    if 0 < options.keep < width and options.depth - frame.left >= options.keep_from:
        for i in range(options.keep, width):
            leave_out(options, work, ply, work.moves[ply, i], FORWARD)
        width = options.keep
    frame.width = width
    frame.best = -math.inf if frame.side == MAX or options.several else math.inf


@kernel
def take_up(game, options, work, ply):
    """Learn in frame `ply` from the value that was found below it."""
    frame = work.frames[ply]
    if options.hard and options.prune:
        child = work.frames[ply + 1]
        work.result[0] = min(max(work.result[0], child.first_alpha), child.first_beta)
    if frame.side == CHANCE:
        take_up_outcome(game, options, work, ply)
    elif options.several:
        if work.result[frame.mover] > frame.best:
            frame.best = work.result[frame.mover]
            copy(work.result, work.values[ply])
            keep_line(work, ply)
    else:
        take_up_move(options, work, ply)
    if frame.cut == NOT_CUT:
        note(options, work, ply, BETTER, NOT_CUT)


@kernel
def take_up_move(options, work, ply):
    """One of two sides takes the better value, and stops where the other side would not let it come."""
    frame, value = work.frames[ply], work.result[0]
    if (value > frame.best) if frame.side == MAX else (value < frame.best):
        frame.best = value
        keep_line(work, ply)
    if options.prune:
        narrow(frame, value)
        if is_closed(options, frame.alpha, frame.beta):
            credit(work, ply)
            if frame.tried < frame.width:
                cut(options, work, ply, BETA if frame.side == MAX else ALPHA)
    if frame.is_probe and frame.cut == NOT_CUT:
        frame.width = frame.tried


@kernel
def narrow(frame, value):
    """What one side can reach, the other need not hope to avoid."""
    if frame.side == MAX:
        frame.alpha = max(frame.alpha, value)
    else:
        frame.beta = min(frame.beta, value)


@kernel
def copy(source, target):
    """One value per seat; an assignment of slices would allocate."""
    for seat in range(len(target)):
        target[seat] = source[seat]


@kernel
def is_closed(options, low, high):
    """Whether a window is shut: when its ends meet, or only when they have passed each other."""
    return low > high if options.strict else low >= high


@kernel
def cut(options, work, ply, reason):
    """Leave the rest of a position out."""
    frame = work.frames[ply]
    frame.cut, frame.width = reason, frame.tried
    work.cuts[reason] += 1
    note(options, work, ply, CUT, reason)


@kernel
def keep_line(work, ply):
    """The move that was just tried is the best, and what follows it the best line."""
    frame = work.frames[ply]
    frame.best_move = work.moves[ply, frame.tried - 1]
    work.lines[ply, 0] = frame.best_move
    further = work.lengths[ply + 1]
    for i in range(further):
        work.lines[ply, i + 1] = work.lines[ply + 1, i]
    work.lengths[ply] = further + 1


@kernel
def leave(game, options, work, ply):
    """All that matters in a position has been tried: hand its value to the one above."""
    frame = work.frames[ply]
    work.head[0].is_probe = frame.is_probe
    if options.several:
        copy(work.values[ply], work.result)
    elif frame.side == CHANCE:
        work.result[0] = value_of_chance(work, ply)
    else:
        work.result[0] = frame.best
        if options.table and not frame.is_probe and frame.left > 0:
            put_in_table(work, ply)
    note(options, work, ply, LEAVE, NOT_CUT)


# --- chance ---------------------------------------------------------------------------------------


@kernel
def open_chance(game, options, work, ply):
    """List the outcomes of a chance event; nothing is known of them but the range of all scores."""
    frame = work.frames[ply]
    frame.outcomes = frame.width = game.outcomes(work.states[ply], work.moves[ply], work.odds[ply])
    frame.is_probing = options.probe
    for i in range(frame.width):
        outcome = work.bounds[ply, i]
        outcome.low, outcome.high = options.low, options.high
        outcome.number = 0
    if options.several:
        for seat in range(game.seats):
            work.values[ply, seat] = 0.0


@kernel
def window_of_outcome(options, work, ply, i):
    """Between which values outcome `i` must be known, by what is known of the others."""
    frame = work.frames[ply]
    if not options.prune:
        return -math.inf, math.inf
    most = least = 0.0
    for j in range(frame.outcomes):
        if j != i:
            most += work.odds[ply, j] * work.bounds[ply, j].high
            least += work.odds[ply, j] * work.bounds[ply, j].low
    return (frame.alpha - most) / work.odds[ply, i], (frame.beta - least) / work.odds[ply, i]


@kernel
def take_up_outcome(game, options, work, ply):
    """Narrow the bounds of an outcome; stop when no other outcome can bring the mean back between α and β."""
    frame, child = work.frames[ply], work.frames[ply + 1]
    i = frame.tried - 1
    if options.several:
        for seat in range(game.seats):
            work.values[ply, seat] += work.odds[ply, i] * work.result[seat]
        return
    outcome, value = work.bounds[ply, i], work.result[0]
    is_probe = work.head[0].is_probe
    too_low = is_closed(options, child.first_alpha, value)
    too_high = is_closed(options, value, child.first_beta)
    if is_probe:
        outcome.probed, outcome.probed_move = value, child.best_move
        outcome.number = child.number
        # One move shows no more than what the mover can reach at least.
        too_low = too_low and child.side == MIN
        too_high = too_high and child.side == MAX
    if too_low or (is_probe and child.side == MIN and value < child.first_beta):
        outcome.high = value
    elif too_high or (is_probe and child.side == MAX and value > child.first_alpha):
        outcome.low = value
    elif not is_probe:
        outcome.low = outcome.high = value
    if too_low or too_high:
        reason = LOW if too_low else HIGH
        if frame.is_probing or frame.tried < frame.width:
            cut(options, work, ply, reason)
        frame.cut, frame.is_probing = reason, 0


@kernel
def go_on_from_probe(options, work, ply, outcome):
    """The first move of a position has been tried already: put it first, with what it was worth.

    Windows only close, so what the probe found is still exact, or on the same side of the window.
    """
    frame = work.frames[ply]
    for i in range(frame.width):
        if work.moves[ply, i] == outcome.probed_move:
            work.moves[ply, i] = work.moves[ply, 0]
    work.moves[ply, 0] = outcome.probed_move
    frame.tried, frame.best, frame.best_move = 1, outcome.probed, outcome.probed_move
    work.lines[ply, 0], work.lengths[ply] = outcome.probed_move, 1
    narrow(frame, frame.best)
    if is_closed(options, frame.alpha, frame.beta):
        cut(options, work, ply, BETA if frame.side == MAX else ALPHA)


@kernel
def value_of_chance(work, ply):
    """The mean of the outcomes; after a cut the bound that it has passed."""
    frame = work.frames[ply]
    least = most = 0.0
    for i in range(frame.outcomes):
        least += work.odds[ply, i] * work.bounds[ply, i].low
        most += work.odds[ply, i] * work.bounds[ply, i].high
    if frame.cut == LOW:
        return min(most, frame.alpha)
    return max(least, frame.beta) if frame.cut == HIGH else least


# --- the order of moves ---------------------------------------------------------------------------


@kernel
def put_in_order(game, options, work, ply, width):
    """Sort moves: what the table calls best, killers, the most urgent, those that often cut before."""
    frame, state = work.frames[ply], work.states[ply]
    for i in range(width):
        move = work.moves[ply, i]
        work.keys[i, 0] = work.keys[i, 1] = work.keys[i, 2] = 0.0
        if move == frame.hint:
            work.keys[i, 0] = 2.0
        elif options.killers and (move == work.killers[ply, 0] or move == work.killers[ply, 1]):
            work.keys[i, 0] = 1.0
        if options.urgent:
            work.keys[i, 1] = game.urgency(state, move)
        if options.history:
            work.keys[i, 2] = work.history[max(frame.side, 0), move % HISTORY]
        j = i
        while j > 0 and comes_before(work.keys, j, j - 1):
            swap(work, ply, j, j - 1)
            j -= 1


@kernel
def comes_before(keys, i, j):
    """Whether move `i` is tried before move `j`: equal ones stay as the game lists them."""
    for k in range(3):
        if keys[i, k] != keys[j, k]:
            return keys[i, k] > keys[j, k]
    return False


@kernel
def swap(work, ply, i, j):
    """Exchange two moves and their keys."""
    work.moves[ply, i], work.moves[ply, j] = work.moves[ply, j], work.moves[ply, i]
    for k in range(3):
        work.keys[i, k], work.keys[j, k] = work.keys[j, k], work.keys[i, k]


@kernel
def credit(work, ply):
    """Remember the move that has shut the window: it may do so in other positions."""
    frame = work.frames[ply]
    move = work.moves[ply, frame.tried - 1]
    if move != work.killers[ply, 0]:
        work.killers[ply, 1] = work.killers[ply, 0]
        work.killers[ply, 0] = move
    deep = min(max(frame.left, 1), 64)
    work.history[max(frame.side, 0), move % HISTORY] += deep * deep


@kernel
def without_mirrored(game, options, work, ply, width):
    """Of moves that a symmetry of the game turns into each other, keep the first; how many are left."""
    state, moves, kept = work.states[ply], work.moves[ply], 0
    for i in range(width):
        code, is_new = game.mirror(state, moves[i]), True
        for j in range(kept):
            if game.mirror(state, moves[j]) == code:
                is_new = False
                break
        if is_new:
            moves[kept] = moves[i]
            kept += 1
        else:
            leave_out(options, work, ply, moves[i], SYMMETRY)
    return kept


@kernel
def leave_out(options, work, ply, move, reason):
    """Count a move that is not even tried."""
    work.cuts[reason] += 1
    if options.trace:
        frame = work.frames[ply]
        frame.best_move = move
        note(options, work, ply, SKIP, reason)
        frame.best_move = NO_MOVE


# --- the transposition table ----------------------------------------------------------------------


@kernel
def is_in_table(options, work, ply):
    """Whether the table knows what must be known here; the value is in `work.result` then.

    A value counts only for the same depth: a deeper one would be better, but not the one asked for.
    """
    frame = work.frames[ply]
    key = np.uint64(0)
    for word in work.words[ply]:
        key = mixed(key, word)
    if options.keep > 0:  # then a position is worth something else at another ply
        key = mixed(key, ply)
    frame.key = key
    found = work.table[np.int64(key & np.uint64(len(work.table) - 1))]
    if found.key != key or found.age != work.head[0].age:
        return False
    frame.hint = found.move
    if ply == 0 or found.left != frame.left or frame.left <= 0:
        return False
    if found.bound == AT_LEAST and not is_closed(options, found.value, frame.beta):
        return False
    if found.bound == AT_MOST and not is_closed(options, frame.alpha, found.value):
        return False
    work.result[0] = found.value
    work.cuts[TABLE] += 1
    return True


@kernel
def put_in_table(work, ply):
    """Keep what is known of a position; what stood in its place is forgotten."""
    frame = work.frames[ply]
    kept = work.table[np.int64(frame.key & np.uint64(len(work.table) - 1))]
    kept.key, kept.age, kept.left = frame.key, work.head[0].age, frame.left
    kept.value, kept.move = frame.best, frame.best_move
    kept.bound = EXACT
    if frame.best <= frame.first_alpha:
        kept.bound = AT_MOST
    elif frame.best >= frame.first_beta:
        kept.bound = AT_LEAST


# --- the trace ------------------------------------------------------------------------------------


@kernel
def note(options, work, ply, kind, reason):
    """Write down what happens in frame `ply`, for drawing."""
    if not options.trace:
        return
    head, frame = work.head[0], work.frames[ply]
    event = work.events[head.events]
    event.kind, event.number, event.side, event.ply = kind, frame.number, frame.side, ply
    event.parent = work.frames[ply - 1].number if ply > 0 else 0
    event.reason, event.alpha, event.beta = reason, frame.alpha, frame.beta
    event.move, event.is_probe = frame.best_move, frame.is_probe
    values = work.event_values[head.events]
    copy(work.result, values)
    if kind == ENTER and ply > 0:
        event.move = work.moves[ply - 1, work.frames[ply - 1].tried - 1]
    elif kind == BETTER and options.several:
        copy(work.values[ply], values)
    elif kind == BETTER and frame.side != CHANCE:
        values[0] = frame.best
    head.events += 1


@kernel
def is_trace_full(options, work):
    """Whether what can happen at one position might not fit."""
    return options.trace and work.head[0].events + 2 * work.moves.shape[1] + 8 > len(work.events)
