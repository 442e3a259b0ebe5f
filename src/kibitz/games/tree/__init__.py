"""Trees written by hand: a game of which every position is known beforehand."""
