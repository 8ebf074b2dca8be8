"""Further tries of a step whose Newton iteration fails, METHODS 1.11: terms of the tangent, and where each begins."""

from rtmbs.integrators.settings import FOLLOWED, INERTIA, PAPER

ACCELERATED, STEADY, RESTING = range(3)  # the first increment: h zd_n + h^2/2 zdd_n, h zd_n, nothing
TRY_TERMS = (FOLLOWED, FOLLOWED, FOLLOWED, PAPER, INERTIA)
TRY_START = (ACCELERATED, STEADY, RESTING, STEADY, RESTING)
MOST_TRIES = len(TRY_TERMS)
BY_SLOPE = 5  # number of the one that is damped by slopes
STEADY_TRY = 2  # number of the one that fixed iterations spend what is left of them on
