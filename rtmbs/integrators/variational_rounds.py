"""Rates and accelerations at the end of a variational step, found in rounds: each takes what is left of both equations,
so a stiffer factor costs no accuracy but its rounding, 1e-16 c of a round's change.
"""

TRUSTED = 5  # iterations: what more of them find counts only near the predictor (METHODS 1.11)
STIFFER = 100.0  # times c are the loops in that factor: a round leaves 1 / (100 c) of a violation
ROUNDS = 8  # at most
ENOUGH = 1e-15  # of the largest rate: what the next round would change, by the rate of the last two
ENOUGH_OF_FORCES = 1e-13  # of the largest acceleration, which no step adds up
INNER, MISSED = 2, 1e-12  # more rounds on one evaluation, until loops miss less than this of the largest rate
PROGRESS = 0.5  # of a round: a smaller one ends them, for what is left is rounding
