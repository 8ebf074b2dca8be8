"""Rounds of rates and accelerations at the end of a variational step: when they end."""

ROUNDS = 8  # at most: each divides what loops miss by 1 + c, and takes away what the factor rounds off
ENOUGH = 1e-15  # of the largest rate (acceleration): what the next round would change, by the rate of the last two
PROGRESS = 0.5  # of a round: a smaller one ends them, for what is left is rounding
