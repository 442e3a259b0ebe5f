"""Backgammon as the rule book says it, without a thought for speed: all orders of all moves are tried.

A board is a pair of tuples, the mover's checkers and the others', place by place as in the records of
`kibitz.games.backgammon`: 0 borne off, 1 … 24, 25 the bar, each seat counting its own way.
"""

BAR, OFF, HOME = 25, 0, 6


def steps(board, die):
    """All boards after one move of one checker by one die."""
    mine, others = board
    found = set()
    for start in range(1, BAR + 1):
        if mine[start] == 0 or (mine[BAR] > 0 and start != BAR):
            continue
        end = start - die
        if end < 1:
            if any(mine[HOME + 1 :]):
                continue  # not all checkers are home
            if end < 0 and any(mine[start + 1 :]):
                continue  # a higher checker must use the die
            end = OFF
        elif others[BAR - end] > 1:
            continue
        after, hit = list(mine), list(others)
        after[start] -= 1
        after[end] += 1
        if end != OFF and hit[BAR - end] == 1:
            hit[BAR - end] = 0
            hit[BAR] += 1
        found.add((tuple(after), tuple(hit)))
    return found


def sequences(board, dice):
    """All pairs (number of dice used, board) that some order of moves can reach, dice in this order."""
    found, boards = {(0, board)}, {board}
    for used, die in enumerate(dice, 1):
        boards = {after for before in boards for after in steps(before, die)}
        found |= {(used, after) for after in boards}
    return found


def results(board, high, low):
    """The boards that the legal plays of a roll lead to."""
    if high == low:
        reached = sequences(board, [high] * 4)
    else:
        reached = sequences(board, [high, low]) | sequences(board, [low, high])
    most = max(used for used, _ in reached)
    if most == 1 and high != low:
        return steps(board, high) or steps(board, low)
    return {after for used, after in reached if used == most}
