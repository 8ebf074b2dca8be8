"""Functions of time in a native step: values at its end, and inputs of a step across jumps.

The kernels follow ``simulation.jumps`` line by line, so a native step across a jump has the bytes of a Simulation's
(METHODS 1.27).
"""

# mypy: allow-untyped-defs, allow-untyped-calls

import numpy as np

from rtmbs.ad.program import evaluate
from rtmbs.jit.compiled import inner_kernel, kernel
from rtmbs.simulation.jumps import BENT, EDGE, FINITE, KEPT, ROUNDING, ULPS

NO_JUMP, JUMPED, DRIVER_JUMPED = range(3)
HALVINGS = 64  # of a step, down to a billionth of it
# Rows of ``Signals.around``: values of all functions beside a jump, and what their means are made of.
BEFORE, AFTER, LEFT, RIGHT, MIDDLE, BETWEEN, TWICE, LAST_SHARE = range(8)
ROWS = 8
SPREAD, UNIT = 2.0**52 + 1.0, 2.0**-53  # of ``last_place``


@inner_kernel
def values_at(signals, t, values):
    """values (k,): all functions of time at ``t`` [s]."""
    signals.instant[0] = t
    evaluate(signals.program, signals.memory, signals.instant, signals.parameter, values)


@inner_kernel
def last_place(x):
    """Return the unit in the last place of x > 0: Rump's unit in the first place, times 2^-52."""
    spread = SPREAD * x
    return abs(spread - (1.0 - UNIT) * spread) * (2.0 * UNIT)


@kernel
def mean_inputs(signals, t, h, old, new):
    """Let ``new`` (nu,), the inputs at the end of a step of ``h`` [s] from ``t`` [s], be those of a step across jumps.

    ``old`` (nu,) are the inputs at ``t``. Returns NO_JUMP, JUMPED, or DRIVER_JUMPED for a jump in the value or the rate
    of a driver.
    """
    found = NO_JUMP
    edge = max(EDGE * h, ULPS * last_place(abs(t) + h))
    for k in range(len(signals.driver)):
        begin_mean(signals, k, old)
        if signals.watched[k] == 1:
            one = located_jump(signals, k, t, h, edge, old, new)
        else:
            one = declared_jumps(signals, k, t, h, edge, old, new)
        if one == DRIVER_JUMPED:
            return DRIVER_JUMPED
        if one == JUMPED:
            found = JUMPED
            if signals.driver[k] == 0:
                end_mean(signals, k, old, new)
    return found


@inner_kernel
def begin_mean(signals, k, old):
    """Begin the mean of function ``k`` over a step with its values at the start."""
    around = signals.around
    for c in range(signals.pointer[k], signals.pointer[k + 1]):
        around[TWICE, c], around[LEFT, c], around[LAST_SHARE, c] = 0.0, old[signals.slot[c]], 0.0


@inner_kernel
def add_jump(signals, k, h, share):
    """Add the part of the step up to a jump at ``share`` of it, from BEFORE to AFTER.

    Returns JUMPED or DRIVER_JUMPED.
    """
    around = signals.around
    first, last = signals.pointer[k], signals.pointer[k + 1]
    if signals.driver[k] == 1:
        return driver_jump(signals, around[BEFORE, first : first + 3], around[AFTER, first : first + 3], h)
    for c in range(first, last):
        around[TWICE, c] += (share - around[LAST_SHARE, c]) * (around[LEFT, c] + around[BEFORE, c])
        around[LAST_SHARE, c], around[LEFT, c] = share, around[AFTER, c]
    return JUMPED


@inner_kernel
def end_mean(signals, k, old, new):
    """Let the inputs of function ``k`` be those whose mean with the start is the mean over the step."""
    around = signals.around
    for c in range(signals.pointer[k], signals.pointer[k + 1]):
        slot = signals.slot[c]
        rest = (1.0 - around[LAST_SHARE, c]) * (around[LEFT, c] + new[slot])
        new[slot] = around[TWICE, c] + rest - old[slot]


@inner_kernel
def driver_jump(signals, before, after, h):
    """Return DRIVER_JUMPED for a jump in value or rate, JUMPED for one in the acceleration only."""
    bound = max(abs(before[0]), abs(after[0]), h * abs(before[1]), h * abs(after[1]), signals.size)
    if abs(after[0] - before[0]) > FINITE * bound or h * abs(after[1] - before[1]) > FINITE * bound:
        return DRIVER_JUMPED
    return JUMPED


@inner_kernel
def declared_jumps(signals, k, t, h, edge, old, new):
    """Add the declared jumps of function ``k`` in the step, its ends included."""
    around, found = signals.around, NO_JUMP
    for j in range(signals.jump_pointer[k], signals.jump_pointer[k + 1]):
        time = signals.jump_time[j]
        if time <= t - edge or time >= t + h + edge:
            continue
        share = (time - t) / h
        if time <= t + edge:
            share = 0.0
            values_at(signals, time + edge, around[AFTER])
            for c in range(signals.pointer[k], signals.pointer[k + 1]):
                around[BEFORE, c] = old[signals.slot[c]]
        elif time >= t + h - edge:
            share = 1.0
            values_at(signals, time - edge, around[BEFORE])
            for c in range(signals.pointer[k], signals.pointer[k + 1]):
                around[AFTER, c] = new[signals.slot[c]]
        else:
            values_at(signals, time - edge, around[BEFORE])
            values_at(signals, time + edge, around[AFTER])
        if differs(signals, k):
            found = add_jump(signals, k, h, share)
            if found == DRIVER_JUMPED:
                return found
    return found


@inner_kernel
def differs(signals, k):
    """True when the values of function ``k`` before and after a jump differ by more than rounding."""
    around = signals.around
    for c in range(signals.pointer[k], signals.pointer[k + 1]):
        size = max(abs(around[BEFORE, c]), abs(around[AFTER, c]))
        if abs(around[AFTER, c] - around[BEFORE, c]) > ROUNDING * size:
            return True
    return False


@inner_kernel
def located_jump(signals, k, t, h, edge, old, new):
    """Add the jump of a function that declares none, when its value in the middle of the step gives it away."""
    around, first, last = signals.around, signals.pointer[k], signals.pointer[k + 1]
    same = 0
    for c in range(first, last):
        same += 1 if old[signals.slot[c]] == new[signals.slot[c]] else 0
    if same == last - first:
        return NO_JUMP
    values_at(signals, t + 0.5 * h, around[MIDDLE])
    for c in range(last - 1, first - 1, -1):
        for e in range(first, last):
            around[BEFORE, e], around[RIGHT, e] = old[signals.slot[e]], new[signals.slot[e]]
            around[BETWEEN, e] = around[MIDDLE, e]
        bend = suspicious(around[BEFORE, c], around[BETWEEN, c], around[RIGHT, c])
        low, high = t, t + h
        for _ in range(HALVINGS):
            if bend == 0.0 or not abs(around[RIGHT, c] - around[BEFORE, c]) >= KEPT * bend:
                break
            if high - low <= edge:
                for e in range(first, last):
                    around[AFTER, e] = around[RIGHT, e]
                return add_jump(signals, k, h, (0.5 * (low + high) - t) / h)
            centre = 0.5 * (low + high)
            if abs(around[BETWEEN, c] - around[BEFORE, c]) > abs(around[RIGHT, c] - around[BETWEEN, c]):
                high = centre
                take(around, RIGHT, first, last)
            else:
                low = centre
                take(around, BEFORE, first, last)
            values_at(signals, 0.5 * (low + high), around[BETWEEN])
    return NO_JUMP


@inner_kernel
def take(around, row, first, last):
    """Let a row of some values be that in between."""
    for c in range(first, last):
        around[row, c] = around[BETWEEN, c]


@inner_kernel
def suspicious(start, middle, end):
    """Return the bend over a step that a smooth function would not have, or 0."""
    bend = abs(end - 2.0 * middle + start)
    large = bend > BENT * abs(end - start) and bend > ROUNDING * max(abs(start), abs(middle), abs(end))
    return bend if large and bend < np.inf else 0.0
