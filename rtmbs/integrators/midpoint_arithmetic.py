"""Arithmetic of variational midpoint steps: the history that a step carries on, and the extrapolation of three runs.

The momentum is that before the loops act at the end of the step. The next step begins with it, so its path does not
depend on the rates there, and rates and accelerations are found only where they are asked for (METHODS 6.6). Backward
differences of the last increments give the first increment of the next one, first rates and first accelerations.
``State.memory["momentum"]`` holds all of it, with the state that it belongs to. A state that was changed in between has
no history: its momentum is M zd.

x_1, x_2, x_4 of one, two and four midpoint steps have errors a h^3 + b h^5 + ... (METHODS 6.10). The extrapolations of
order four are (4 x_2 - x_1) / 3 and (4 x_4 - x_2) / 3. A fifteenth of their difference is the error of the second. With
it added the order is six: x_4 + (x_1 - x_4) / 45 - 20 (x_2 - x_4) / 45.
"""

import numpy as np

from rtmbs.integrators.newton import FAR, leads_away, scaled_norm
from rtmbs.jit.compiled import inlined_kernel, inner_kernel, kernel

DIFFERENCES = 9  # D_0, the last half increment, to D_8: increments are extrapolated by a polynomial of order 7 at most
IMPULSES = 3  # Q_0, the last impulse of the loops at one end of a step, Q_1 and Q_2
HELD_ON = 0.97  # of Q_1 and Q_2 from step to step: what redundant rows share freely would grow

# Numbers before the arrays, ``Scratch.plan``: h [s]; order of the polynomial; how far off the next increment will be,
# in tolerances; share of a correction that the next one was, by the factor of the start of a step; steps to come
# without stiffer loops
LENGTH, ORDER, EXPECTED, SHARE, SOFT = range(5)
HEAD = 5
BY_COORDINATE = 4 + DIFFERENCES  # numbers a coordinate: momentum, differences, and z, zd, zdd of the state


@kernel
def pairs_in_history(n, m, states, rotations):
    """Return the number of pairs of numbers in a history; more than there are coordinates."""
    return (HEAD + BY_COORDINATE * n + IMPULSES * m + states + 9 * rotations + 1) // 2


@inlined_kernel
def read(history, k):
    """Return number ``k`` of a history."""
    return history[k // 2, k % 2]


@inner_kernel
def continues(h, state):
    """True when the history of a state is that of the step of ``h`` which ended there, and nothing has changed."""
    history, n, m, ns, nr = state.energy, len(state.z), len(state.lam), len(state.s), len(state.R0)
    if len(history) != pairs_in_history(n, m, ns, nr) or read(history, LENGTH) != h:
        return False
    different, place = 0, HEAD + (1 + DIFFERENCES) * n
    for i in range(n):
        different += read(history, place + i) != state.z[i]
        different += read(history, place + n + i) != state.zd[i]
        different += read(history, place + 2 * n + i) != state.zdd[i]
    place += 3 * n + IMPULSES * m
    for i in range(ns):
        different += read(history, place + i) != state.s[i]
    place += ns
    for k in range(nr):
        for i in range(3):
            for j in range(3):
                different += read(history, place + 9 * k + 3 * i + j) != state.R0[k, i, j]
    return different == 0


@inner_kernel
def begin_history(h, old, settings, own):
    """Increments of constant accelerations about ``old``, and the first ones of the next step."""
    for i in range(len(own.y)):
        own.differences[0, i] = 0.5 * h * old.zd[i] - 0.25 * h * h * old.zdd[i]
        own.differences[1, i] = 0.5 * h * h * old.zdd[i]
        own.guess[i] = own.differences[0, i] + own.differences[1, i]
        for k in range(2, DIFFERENCES):
            own.differences[k, i] = 0.0
    for row in range(len(own.push)):
        own.push[row] = own.impulses[0, row] = 0.25 * h * h * old.lam[row]
        own.impulses[1, row], own.impulses[2, row] = 0.0, 0.0
    own.plan[ORDER], own.plan[SHARE], own.plan[SOFT] = 1.0, 0.0, 0.0
    own.plan[EXPECTED] = scaled_norm(own.differences[1], own.y, settings.absolute, 0.0)


@inner_kernel
def take_history(old, own):
    """Go on with the history of a state."""
    history, n = old.energy, len(own.y)
    for k in range(1, HEAD):
        own.plan[k] = read(history, k)
    for i in range(n):
        own.p0[i] = read(history, HEAD + i)
    for k in range(DIFFERENCES):
        for i in range(n):
            own.differences[k, i] = read(history, HEAD + (1 + k) * n + i)
    place, m = HEAD + BY_COORDINATE * n, len(own.push)
    for k in range(IMPULSES):
        for row in range(m):
            own.impulses[k, row] = read(history, place + k * m + row)
    extrapolate(own)


@inner_kernel
def extend_history(first, settings, own):
    """Add the step with the half increment own.y and the impulse own.impulse; ``first``: a history begins with it.

    The impulse of the first step is that of one end, L_0. Those of later steps are sums of the impulses L_1 and L_0 on
    both sides of a boundary. The next increment is extrapolated by the polynomial that would have been nearest to this
    one: D_{k+1} is how far off the order k was.
    """
    n = len(own.y)
    for i in range(n):
        own.p0[i] = own.p1[i]
        new = own.y[i]
        for k in range(DIFFERENCES):
            own.differences[k, i], new = new, new - own.differences[k, i]
    for i in range(n):
        own.p[i] = 1.0 / settings.absolute[i]
    best, order, k = np.inf, 1, 1
    for off in squares_of_differences(own):
        if off < best:
            best, order = off, k
        k += 1
    own.plan[ORDER], own.plan[EXPECTED] = float(order), np.sqrt(best / max(n, 1))
    own.plan[SOFT] = max(own.plan[SOFT] - 1.0, 0.0)
    Q = own.impulses
    for row in range(len(own.push)):
        corrected = own.impulse[row] - own.push[row]
        Q[1, row] = HELD_ON * (Q[1, row] + Q[2, row]) + corrected
        Q[2, row] = HELD_ON * Q[2, row] + corrected
        Q[0, row] = own.impulse[row]
        if first:
            Q[0, row], Q[1, row], Q[2, row] = 2.0 * own.impulse[row], 0.0, 0.0
    extrapolate(own)


@inner_kernel
def squares_of_differences(own):
    """Return the sums of squares of D_2 to D_8, in tolerances; own.p has 1 / tolerance. Side by side: sums wait."""
    D, a, b, c, d, e, f, g = own.differences, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(own.y)):
        a += (D[2, i] * own.p[i]) ** 2
        b += (D[3, i] * own.p[i]) ** 2
        c += (D[4, i] * own.p[i]) ** 2
        d += (D[5, i] * own.p[i]) ** 2
        e += (D[6, i] * own.p[i]) ** 2
        f += (D[7, i] * own.p[i]) ** 2
        g += (D[8, i] * own.p[i]) ** 2
    return a, b, c, d, e, f, g


@inner_kernel
def extrapolate(own):
    """own.guess and own.push: the next half increment, by a polynomial of the planned order, and the next impulse."""
    for row in range(len(own.push)):
        own.push[row] = own.impulses[0, row] + own.impulses[1, row] + own.impulses[2, row]
    for i in range(len(own.y)):
        own.guess[i] = own.differences[0, i]
    for k in range(1, int(own.plan[ORDER]) + 1):
        for i in range(len(own.y)):
            own.guess[i] += own.differences[k, i]


@inner_kernel
def first_rates(h, new, own):
    """Rates and accelerations where a step ends, by the polynomial through the last positions: first values only.

    h z' = sum of D^k z / k and h^2 z'' = (D^2 + D^3 + 11/12 D^4) z with backward differences D; D z = 2 y.
    """
    D = own.differences
    for i in range(len(own.y)):
        new.zd[i] = 2.0 / h * (D[0, i] + 0.5 * D[1, i] + D[2, i] / 3.0)
        new.zdd[i] = 2.0 / (h * h) * (D[1, i] + D[2, i])


@inner_kernel
def far_off(typical, own):
    """True when the step ends far from where its first increment leads."""
    far = 0
    for i in range(len(own.y)):
        far += 0 if 2.0 * abs(own.y[i] - own.guess[i]) <= FAR * typical[i] else 1
    return far > 0


@inner_kernel
def moves_away(typical, ws, own):
    """True when the step moves further than the rate at its start leads; for one whose first correction leapt."""
    for i in range(len(own.y)):
        ws.predicted[i] = own.differences[0, i] + 0.5 * own.differences[1, i]
    return leads_away(own.y, ws.predicted, 2.0, typical)


@inner_kernel
def keep_history(h, own, new):
    """Write the history to a state that is complete; nothing where it has no place for it."""
    history = new.energy
    if len(history) != pairs_in_history(len(new.z), len(new.lam), len(new.s), len(new.R0)):
        return
    own.plan[LENGTH] = h
    place = write(history, 0, own.plan)
    place = write(history, place, own.p0)
    for k in range(DIFFERENCES):
        place = write(history, place, own.differences[k])
    place = write(history, place, new.z)
    place = write(history, place, new.zd)
    place = write(history, place, new.zdd)
    for k in range(IMPULSES):
        place = write(history, place, own.impulses[k])
    place = write(history, place, new.s)
    for k in range(len(new.R0)):
        for i in range(3):
            place = write(history, place, new.R0[k, i])


@inlined_kernel
def write(history, place, values):
    """Write numbers from ``place`` on; returns the place behind them."""
    for k in range(len(values)):
        history[(place + k) // 2, (place + k) % 2] = values[k]
    return place + len(values)


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
