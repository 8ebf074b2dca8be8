"""Extrapolated midpoint steps (METHODS 6.10): weights of three runs, error of a step, choice of the next one.

x_1, x_2, x_4 of one, two and four midpoint steps have errors a h^3 + b h^5 + ... The extrapolations of order four are
(4 x_2 - x_1) / 3 and (4 x_4 - x_2) / 3. A fifteenth of their difference is the error of the second. With it added the
order is six: x_4 + (x_1 - x_4) / 45 - 20 (x_2 - x_4) / 45.
"""

import numpy as np

from rtmbs.jit.compiled import kernel

FINE = 2  # number of the run of four midpoint steps
SIXTH, MIDDLE = 1.0 / 45.0, 20.0 / 45.0
FOURTH = 1.0 / 45.0  # of (x_1 - x_4) - 5 (x_2 - x_4)

# places in the array that controls steps
STEP, LONGEST, LEFT, ALLOWED, SPAN, FASTEST, STEEPEST, ADAPTS, TRIED, REFUSALS, PATIENCE = range(11)
CONTROL_SIZE = 11

POWER = 4.0  # errors a unit of time go with this power of the step
SAFETY, SHRINK, GROW = 0.85, 0.2, 3.0
AFTER_REFUSAL = 0.7  # of a step that was refused: the next one at most
MOST_REFUSALS = 4.0  # in a row, in one call: PATIENCE, where no kinks are looked for
LANDED = 1e-12  # of a step: so near is the end
FEW = 4.0  # steps that are left are of equal size
LARGEST_TURN = 6.0  # typical sizes (1 rad; characteristic length) in a step: 1.5 in the smallest part
SMALL_ERROR = 1e-15  # of the size of a loop: what is left open
SMALL_TURN = 1e-6  # typical sizes between neighbours
IRREGULAR = 0.5  # of the difference of two runs: a difference of their extrapolations that tells of a kink
SAFE, LEAST = 20.0, 0.1  # of the share by which the error of order six is smaller than that of order four
FIFTEEN = 15.0  # the error of an extrapolation is a fifteenth of the difference, or all of it at a kink


@kernel
def error_time(control):
    """Return the time for which an error of a rate lasts [s]: the characteristic time of the motion."""
    if control[STEEPEST] == 0.0:
        return control[SPAN]
    return min(control[SPAN], control[FASTEST] / control[STEEPEST] + 1.0 / np.sqrt(control[STEEPEST]))


@kernel
def step_error(error, second, theta, typical):
    """Return the error that a step adds in order four, in typical sizes; inf where it is no number.

    ``error`` (2, n) of positions and rates is a fifteenth of the difference of the extrapolations, ``second`` (2, n)
    the same part of that of the last two runs. Smooth motions make the first far smaller than the second. Where it is
    not, as at a kink of a force, the whole difference counts. ``error`` becomes that of order six, which is smaller in
    the same proportion.
    """
    largest, other = 0.0, 0.0
    for i in range(len(typical)):
        size = (abs(error[0, i]) + theta * abs(error[1, i])) / typical[i]
        if not np.isfinite(size):
            return np.inf
        largest = max(largest, size)
        other = max(other, (abs(second[0, i]) + theta * abs(second[1, i])) / typical[i])
    share = largest / other if largest < IRREGULAR * other else IRREGULAR
    factor = 1.0 + (FIFTEEN - 1.0) * (share / IRREGULAR) ** 2
    taken = factor * min(max(SAFE * share, LEAST), 1.0)
    for i in range(len(typical)):
        error[0, i], error[1, i] = taken * error[0, i], taken * error[1, i]
    return factor * largest


@kernel
def next_factor(error):
    """Return by how much the next step differs from one with this error."""
    if not error > 0.0:
        return GROW
    return min(max(SAFETY * error ** (-1.0 / POWER), SHRINK), GROW)


@kernel
def landing(control):
    """Return the next step [s]: the one wanted, or an equal part of what is left when that is little or fixed."""
    parts = np.ceil(control[LEFT] / control[STEP] * (1.0 - LANDED))
    return control[LEFT] / max(parts, 1.0) if parts <= FEW or control[ADAPTS] == 0.0 else control[STEP]
