"""All plays of a roll, and how a play is written in one number.

Both seats count their own way: a checker of theirs stands on point 24 … 1, on the bar (25), or is borne
off (0), and moves towards 0. Point p of one seat is point 25 − p of the other.

A play is up to four moves of checkers. Its number has six bits for each place that a checker is lifted
from or put down on, the first place in the lowest bits: `13/8 6/5` is 13, 8 + `DOWN`, 6, 5 + `DOWN`. A
checker that moves several times is written from its first place to its last; places in between are left
out, unless it hits there: `13/7*/6`. Two plays have the same number just if they lead to the same position.
"""

from __future__ import annotations

import numpy as np

from kibitz.bits import lowest
from kibitz.kernel import kernel

OFF, BAR, POINTS, HOME, CHECKERS = 0, 25, 24, 6, 15
OPENING, ROLLING, MOVING, OVER = 0, 1, 2, 3  # the phases of a game
PASS = 0
DOWN, PLACE, BITS = 32, 63, 6
ROLL = 63  # what the number of a roll begins with; no play does

_ONE = np.int64(1)
_ON_BAR = np.int64(1 << BAR)
_ON_BOARD = np.int64((1 << BAR) - 2)

MOST_PLAYS = 3876
"""More plays than a double can have, with the beginnings of plays that are listed on the way: k moves can be
shared out among 15 checkers in C(14 + k, k) ways, which is 1 + 15 + 120 + 680 + 3,060 for k = 0 … 4."""


# --- where checkers can move ---


@kernel
def standing(checkers):
    """The set of one's places from which a checker can move: points and the bar."""
    places = np.int64(0)
    for place in range(1, BAR + 1):
        if checkers[place] > 0:
            places |= _ONE << place
    return places


@kernel
def free_points(others):
    """The set of points on which the other seat has at most one checker."""
    free = _ON_BOARD
    for point in range(1, POINTS + 1):
        if others[BAR - point] > 1:
            free ^= _ONE << point
    return free


@kernel
def movable(places, free, die):
    """The set of places from which a checker may move by a die.

    Checkers on the bar enter first. With all checkers in the home board one is borne off from the point of
    the die, or from the highest point that is occupied if the die is higher than it.
    """
    if places & _ON_BAR:
        return places & _ON_BAR & free << die
    found = places & free << die
    if places >> HOME + 1 == 0:
        found |= places & _ONE << die
        if places >> die == 0:
            found |= highest(places)
    return found


@kernel
def highest(places):
    """The set of the highest place alone."""
    while places & (places - 1):
        places &= places - 1
    return places


@kernel
def moved(places, place, die, n_there):
    """The places after a checker has moved from `place`, where `n_there` stood."""
    if n_there == 1:
        places &= ~(_ONE << place)
    return places | _ONE << (place - die) if place > die else places


# --- the number of a play ---


@kernel
def path(start, stop, end):
    """A checker's way as part of a play's number, with a place where it hits in between, or 0."""
    if stop == 0:
        return start | np.int64(end + DOWN) << BITS
    return start | np.int64(stop + DOWN) << BITS | np.int64(end + DOWN) << 2 * BITS


@kernel
def landing(place, die):
    """Where a checker comes to: a point, or off the board."""
    return max(OFF, place - die)


@kernel
def two_moves(first, second, die, other, others):
    """The number of a play: a checker moves from `first` by `die`, then one from `second` by `other`."""
    between, end = landing(first, die), landing(second, other)
    if between == second:  # the same checker, or one that might as well be it
        return path(first, second if others[BAR - second] == 1 else 0, end)
    if end == first:  # it takes the place of the one that has left
        return path(second, 0, between)
    a, b = path(first, 0, between), path(second, 0, end)
    # Checkers from higher points come first; of two from the same point the one that moves further.
    if first > second or (first == second and between < end):
        return a | b << 2 * BITS
    return b | a << 2 * BITS


# --- plays of two different dice ---


@kernel
def add_new(play, moves, n):
    """Write a play unless it is listed already."""
    listed = False
    for i in range(n):
        listed = listed or moves[i] == play
    moves[n] = play
    return n if listed else n + 1


@kernel
def list_two(checkers, others, high, low, moves):
    """Both dice in either order if possible; else the higher one; else the lower one; else a pass."""
    places, free = standing(checkers), free_points(others)
    n = 0
    for order in range(2):
        die, other = (high, low) if order == 0 else (low, high)
        firsts = movable(places, free, die)
        while firsts != 0:
            first = lowest(firsts)
            firsts &= firsts - 1
            seconds = movable(moved(places, first, die, checkers[first]), free, other)
            while seconds != 0:
                n = add_new(two_moves(first, lowest(seconds), die, other, others), moves, n)
                seconds &= seconds - 1
    if n > 0:
        return n
    die = high
    firsts = movable(places, free, high)
    if firsts == 0:
        die = low
        firsts = movable(places, free, low)
    while firsts != 0:
        first = lowest(firsts)
        firsts &= firsts - 1
        moves[n] = path(first, 0, landing(first, die))
        n += 1
    if n == 0:
        moves[0] = PASS
        n = 1
    return n


# --- plays of a double ---

# While they are listed, such plays are the places that checkers move from, six bits each, the last one
# lowest. They can be ordered from the highest place to the lowest: that is never forbidden, and two
# different lists never lead to the same position.


@kernel
def n_at(checkers, place, die, steps):
    """How many checkers are on a place after the moves of `steps`."""
    n = np.int64(checkers[place])
    while steps != 0:
        n += (steps & PLACE) - die == place
        n -= steps & PLACE == place
        steps >>= BITS
    return n


@kernel
def places_after(checkers, places, die, steps):
    """The places that are occupied after the moves of `steps`."""
    left = steps
    while left != 0:
        place = left & PLACE
        if n_at(checkers, place, die, steps) == 0:
            places &= ~(_ONE << place)
        if place > die and n_at(checkers, place - die, die, steps) > 0:
            places |= _ONE << (place - die)
        left >>= BITS
    return places


@kernel
def list_double(checkers, others, die, moves):
    """As many of four moves as possible: all beginnings of one move, of two, and so on, in rows."""
    places, free = standing(checkers), free_points(others)
    moves[0] = 0
    row, end = 0, 1
    for _ in range(4):
        longer = end
        for i in range(row, end):
            steps = moves[i]
            found = movable(places_after(checkers, places, die, steps), free, die)
            if steps != 0:
                found &= (_ONE << (steps & PLACE) + 1) - 1  # not from a higher place than the last one
            while found != 0:
                moves[longer] = steps << BITS | lowest(found)
                found &= found - 1
                longer += 1
        if longer == end:  # no play can be made longer
            break
        row, end = end, longer
    for i in range(row, end):
        moves[i - row] = play_of_steps(moves[i], die, others)
    return end - row


@kernel
def play_of_steps(steps, die, others):
    """The number of a play of a double.

    Moves from high to low are joined to ways: one that begins where a way ends makes it longer. Ways are
    kept six bits a place, starts and ends apart.
    """
    steps = reversed_steps(steps)
    starts = ends = np.int64(0)
    n = 0
    while steps != 0:
        place, joined = steps & PLACE, False
        for i in range(n):
            if not joined and ends >> BITS * i & PLACE == place:
                ends += (landing(place, die) - place) << BITS * i
                joined = True
        if not joined:
            starts |= place << BITS * n
            ends |= landing(place, die) << BITS * n
            n += 1
        steps >>= BITS
    return ways_of(starts, ends, n, die, others)


@kernel
def reversed_steps(steps):
    """The first move in the lowest bits."""
    found = np.int64(0)
    while steps != 0:
        found = found << BITS | steps & PLACE
        steps >>= BITS
    return found


@kernel
def ways_of(starts, ends, n, die, others):
    """The number of a play by its ways, with the places between where a checker is hit by nothing else."""
    play, length = np.int64(0), 0
    settled = np.int64(0)  # where checkers end, or have hit already
    for i in range(n):
        settled |= _ONE << (ends >> BITS * i & PLACE)
    for i in range(n):
        place, end = starts >> BITS * i & PLACE, ends >> BITS * i & PLACE
        play |= place << BITS * length
        length += 1
        place -= die
        while place > end:
            if others[BAR - place] == 1 and settled >> place & 1 == 0:
                settled |= _ONE << place
                play |= (place + DOWN) << BITS * length
                length += 1
            place -= die
        play |= (end + DOWN) << BITS * length
        length += 1
    return play


# --- carrying a play out ---


@kernel
def move_checkers(checkers, others, play):
    """Carry out a play; the set of points on which a checker was hit."""
    hits, place = np.int64(0), np.int64(0)
    while play != 0:
        to = play & PLACE
        play >>= BITS
        if to >= DOWN:
            to -= DOWN
            checkers[place] -= 1
            checkers[to] += 1
            if to != OFF and others[BAR - to] == 1:
                others[BAR - to] = 0
                others[BAR] += 1
                hits |= _ONE << to
        place = to
    return hits


@kernel
def take_back(checkers, others, play, hits):
    """Undo a play that has hit on the points of `hits`."""
    place = np.int64(0)
    while play != 0:
        to = play & PLACE
        play >>= BITS
        if to >= DOWN:
            to -= DOWN
            checkers[place] += 1
            checkers[to] -= 1
        place = to
    while hits != 0:
        others[BAR - lowest(hits)] = 1
        others[BAR] -= 1
        hits &= hits - 1
