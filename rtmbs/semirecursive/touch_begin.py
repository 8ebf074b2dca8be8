"""Contacts that begin within a step: what their bristles are at its end (METHODS 8.2).

The rate of a bristle jumps where its contact begins. A step does not see where, so its rule leaves an error of order
one in the bristle. Here the touch is found on the cubic between both ends, and the bristle grows from there on.
"""

import numpy as np
from numpy import exp

from rtmbs.ad.lanes import evaluate_lanes
from rtmbs.integrators.newton import GAMMA, NEWER, OLDER
from rtmbs.jit.compiled import inner_kernel, kernel, lazy_kernel
from rtmbs.semirecursive.law_kernels import set_inputs
from rtmbs.semirecursive.law_states import (
    evaluate_recorded,
    read_slopes,
    settle_states,
    take_correction,
)
from rtmbs.semirecursive.passes import forward_positions, forward_velocities
from rtmbs.system.contact_set_tables import RELAXES
from rtmbs.system.law_tables import BEGINS, COUNT, INPUT, PLACE, STATE, ACTS, LOOKS
from rtmbs.system.tables import FRAME_INPUTS

BISECTIONS = 16  # of the step: the touch is found to 2e-5 of it
STILL = 0.5  # of |s| / T: an open bristle goes back by nothing but s / T, turns apart
SPEED = 12  # of the 18 inputs of a law between two frames: the first of v
GROWS = 0.5  # of |s| at the end: a bristle that has just begun was smaller where the step begins
FALLS = 0.5  # k d / L falls below this share of itself in a step behind the one of the touch
LOW, HIGH, SHARE, SOFT, ACTIVE, FIRST = range(6)  # columns of ws.begin: bounds of the touch, place looked at, k d / L
# there, 1 for a contact that may begin, k d / L where the step begins
PARTS = 12  # in which a bristle grows, dense at the touch: their ends are cubes


@lazy_kernel
def begin_bristles(tables, h, old, new, u, ws):
    """Correct the bristles in ``new`` of contacts that were open at ``old``, ``h`` [s] before.

    ``ws`` stands at ``new``, whose rotations are those of ``old`` and increments, and stands there again at the end.
    """
    laws, count = tables.laws, 0
    for b in range(len(laws.state_block)):
        ws.begin[b, ACTIVE] = 0.0
        if laws.state_block[b, BEGINS] == 1 and may_begin(laws.state_block[b], old, new, ws):
            ws.begin[b, LOW], ws.begin[b, HIGH], ws.begin[b, ACTIVE], count = 0.0, 1.0, 1.0, count + 1
    if count == 0:
        return
    inputs, half = set_inputs(tables, new.z, new.zd, u, ws), ws.state_half[0]
    keep_inputs(ws.begin_input[1], inputs, ws)
    forward_positions(tables, old.R0, old.z, ws)
    forward_velocities(tables.dofs, old.zd, ws)
    set_inputs(tables, old.z, old.zd, u, ws)
    keep_inputs(ws.begin_input[0], inputs, ws)
    for i in range(len(ws.state_change)):
        ws.begin_state[2, i] = ws.state_base[i]
    find_touches(laws, h, inputs, ws)
    for b in range(len(laws.state_block)):
        if ws.begin[b, ACTIVE] == 1.0:
            grow(laws, b, h, inputs, old, new, ws)
    ws.state_half[0] = half
    for i in range(len(ws.state_change)):
        ws.state_base[i], ws.s[i], ws.state_rate[i] = ws.begin_state[2, i], new.s[i], new.sd[i]
    forward_positions(tables, old.R0, new.z, ws)
    forward_velocities(tables.dofs, new.zd, ws)
    set_inputs(tables, new.z, new.zd, u, ws)


@kernel
def rebegin_bristles(tables, h, old, new, u, ws):
    """``begin_bristles`` for callers in Python."""
    begin_bristles(tables, h, old, new, u, ws)


@inner_kernel
def may_begin(block, old, new, ws):
    """Return whether a contact may begin: closed now, its bristle was small before, or went as that of an open one."""
    away = size = moved = before = 0.0
    for i in range(block[STATE], block[STATE] + block[COUNT]):
        away += abs(old.sd[i] + old.s[i] / RELAXES)
        size += abs(old.s[i]) / RELAXES
        moved += abs(new.s[i])
        before += abs(old.s[i])
    return moved > 0.0 and (away <= STILL * size or before <= GROWS * moved) and is_closed(block, ws)


@inner_kernel
def is_closed(block, ws):
    """Return whether the rates of a bristle change with the sliding velocity, as in a closed contact alone."""
    looks = block[LOOKS]
    first = block[PLACE] + block[ACTS] * block[COUNT]
    for c in range(block[COUNT]):
        for j in range(SPEED, SPEED + 3):
            if ws.state_slope[first + c * looks + j] != 0.0:
                return True
    return False


@inner_kernel
def softness(block, ws):
    """Return k d / L of a contact whose bristle is none, infinite where it is open.

    There dg/dv is L / (L + k d) times the projection on the plane, whose trace is 2.
    """
    looks, share = block[LOOKS], 0.0
    first = block[PLACE] + block[ACTS] * block[COUNT]
    for c in range(block[COUNT]):
        share += 0.5 * ws.state_slope[first + c * looks + SPEED + c]
    return (1.0 - share) / share if share > 0.0 else np.inf


@inner_kernel
def keep_inputs(kept, inputs, ws):
    """Copy the kinematics of all laws."""
    for i in range(inputs):
        kept[i] = ws.law_number[i]


@inner_kernel
def find_touches(laws, h, inputs, ws):
    """Close in on the touch of every contact that may begin."""
    look(laws, 0.0, h, inputs, ws)
    count = 0
    for b in range(len(laws.state_block)):
        if ws.begin[b, ACTIVE] == 1.0:
            soft = ws.begin[b, FIRST] = ws.begin[b, SOFT]
            if soft < np.inf:  # it touched before: at the end of the last step, or long ago
                ws.begin[b, HIGH] = 0.0
            count += 1 if soft == np.inf else 0
    for _ in range(BISECTIONS if count > 0 else 0):
        look(laws, 0.5, h, inputs, ws)
        for b in range(len(laws.state_block)):
            if ws.begin[b, ACTIVE] == 1.0:
                ws.begin[b, HIGH if ws.begin[b, SOFT] < np.inf else LOW] = ws.begin[b, SHARE]


@inner_kernel
def look(laws, part, h, inputs, ws):
    """Write k d / L of every contact that may begin, at ``part`` of the way between its bounds, without a bristle."""
    for b in range(len(laws.state_block)):
        if ws.begin[b, ACTIVE] == 1.0:
            low, high = ws.begin[b, LOW], ws.begin[b, HIGH]
            ws.begin[b, SHARE] = low + part * (high - low)
            place_between(laws.state_block[b, INPUT], ws.begin[b, SHARE], h, ws)
            first = inputs + laws.state_block[b, STATE]
            for i in range(first, first + laws.state_block[b, COUNT]):
                ws.law_number[i] = 0.0
    if len(laws.rates.lanes) > 0:
        numbers = ws.law_number[: inputs + len(ws.state_change)]
        evaluate_lanes(laws.rates, ws.law_rates, numbers, ws.law_parameter, ws.law_output)
    else:
        evaluate_recorded(laws, inputs + len(ws.state_change), ws)
    read_slopes(laws, ws)
    for b in range(len(laws.state_block)):
        if ws.begin[b, ACTIVE] == 1.0:
            ws.begin[b, SOFT] = softness(laws.state_block[b], ws)


@inner_kernel
def place_between(first, x, h, ws):
    """Write r, R, v, w of one law at the share ``x`` of the step: cubics of Hermite for r and R, lines for v and w."""
    a, b = ws.begin_input[0], ws.begin_input[1]
    for j in range(SPEED, FRAME_INPUTS):
        ws.law_number[first + j] = a[first + j] + x * (b[first + j] - a[first + j])
    for j in range(SPEED):
        p, q = a[first + j], b[first + j]
        s, t = h * slope_of(a, first, j), h * slope_of(b, first, j)
        curve, bend = 3.0 * (q - p) - 2.0 * s - t, s + t - 2.0 * (q - p)
        ws.law_number[first + j] = p + x * (s + x * (curve + x * bend))


@inner_kernel
def slope_of(x, first, j):
    """Return the rate of input ``j`` of r and R: v, and w x R."""
    if j < 3:
        return x[first + SPEED + j]
    i, column = (j - 3) // 3, (j - 3) % 3
    after, before = (i + 1) % 3, (i + 2) % 3
    w, R = first + SPEED + 3, first + 3
    return x[w + after] * x[R + 3 * before + column] - x[w + before] * x[R + 3 * after + column]


@inner_kernel
def grow(laws, b, h, inputs, old, new, ws):
    """Write bristle and rate of contact ``b`` at the end of the step; they stay where none is found.

    TR-BDF2 integrates the rate from the touch on, in PARTS, with the kinematics between both ends.
    """
    block, touch, s = laws.state_block[b], ws.begin[b, HIGH], ws.begin_state
    ws.begin[b, LOW], ws.begin[b, HIGH] = touch, 1.0
    look(laws, 1.0, h, inputs, ws)
    ws.begin[b, ACTIVE] = 0.0
    if not ws.begin[b, SOFT] < FALLS * ws.begin[b, FIRST]:
        return
    for i in range(inputs):
        ws.law_number[i] = ws.begin_input[1, i]
    first, behind, open_for, left = block[STATE], block[STATE] + block[COUNT], touch * h, 1.0 - touch
    for i in range(first, behind):
        shrunk = exp(-open_for / RELAXES)
        s[0, i] = (old.s[i] + open_for * (old.sd[i] + old.s[i] / RELAXES)) * shrunk
        s[1, i] = -s[0, i] / RELAXES if open_for > 0.0 else old.sd[i]
    for part in range(PARTS):
        x, y = (part / PARTS) ** 3, ((part + 1) / PARTS) ** 3
        half = 0.5 * GAMMA * left * h * (y - x)
        for i in range(first, behind):
            ws.begin_base[i] = s[0, i] + half * s[1, i]
        settle_at(laws, block, touch + left * (x + GAMMA * (y - x)), half, h, inputs, new, ws)
        for i in range(first, behind):
            ws.begin_base[i] = NEWER * ws.s[i] - OLDER * s[0, i]
        settle_at(laws, block, touch + left * y, half, h, inputs, new, ws)
        for i in range(first, behind):
            s[0, i], s[1, i] = ws.s[i], ws.state_rate[i]
            if not (np.isfinite(s[0, i]) and np.isfinite(s[1, i])):
                return
    for i in range(first, behind):
        new.s[i], new.sd[i] = s[0, i], s[1, i]


@inner_kernel
def settle_at(laws, block, x, half, h, inputs, new, ws):
    """Find the bristle of one law at the share ``x`` of the step from ws.begin_base; other laws stay at the end."""
    for i in range(len(ws.state_change)):
        ws.state_base[i] = new.s[i] - half * new.sd[i]
    for i in range(block[STATE], block[STATE] + block[COUNT]):
        ws.state_base[i] = ws.begin_base[i]
    ws.state_half[0] = half
    place_between(block[INPUT], x, h, ws)
    settle_states(laws, inputs, False, ws)
    take_correction(block, ws)
