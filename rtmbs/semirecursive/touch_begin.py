"""Contacts that begin within a step, declared or of a set: what their bristles are at its end (METHODS 8.2).

The rate of a bristle jumps where its contact begins. A step does not see where, so its rule leaves an error of order
one in the bristle. Here the touch is found on the cubic between both ends, and the bristle grows from there on.
"""

import numpy as np
from numpy import exp, sqrt

from rtmbs.ad.simd_programs import evaluate_lanes, evaluate_seated, take_seat
from rtmbs.integrators.newton import GAMMA, NEWER, OLDER
from rtmbs.jit.compiled import inlined_kernel, inner_kernel, kernel, lazy_kernel
from rtmbs.numerics.spatial import add3, cross3, dot3, scale3
from rtmbs.semirecursive.contact_sets import (
    combined,
    load_touch,
    members,
    place_pair,
    plane_across,
    rate_and_slopes,
    settled,
    taken_back,
    turned_back,
)
from rtmbs.semirecursive.force_kernels import set_inputs
from rtmbs.semirecursive.law_states import PLAIN, begin_search, correction, evaluate_recorded, read_slopes, search
from rtmbs.semirecursive.passes import forward_positions, forward_velocities
from rtmbs.system.contact_tables import (
    ACROSS,
    ALONG,
    DISSIPATION,
    EXPONENT,
    GAP,
    LEAVING,
    NORMAL,
    PAIR_COLUMNS,
    RELAXES,
    SHARED,
    SLIP,
    SPIN,
    STIFFNESS,
    TANGENTIAL,
    TOUCHES,
)
from rtmbs.system.law_tables import ACTS, BEGINS, COUNT, INPUT, LOOKS, PLACE, STATE
from rtmbs.system.tables import FRAME_INPUTS

BISECTIONS = 12  # of the step: the touch is found to 2.4e-4 of it
STILL = 0.5  # of |s| / T: an open bristle goes back by nothing but s / T, turns apart
SPEED = 12  # of the 18 inputs of a law between two frames: the first of v
GROWS = 0.5  # of |s| at the end: a bristle that has just begun was smaller where the step begins
FALLS = 0.5  # k d / L falls below this share of itself in a step behind the one of the touch
LOW, HIGH, SHARE, SOFT, ACTIVE, FIRST = range(6)  # columns of ws.begin: bounds of the touch, place looked at, k d / L
# there, 1 for a contact that may begin, k d / L where the step begins
ROUNDS, ENDED = 40, 1e-9  # of Newton's iteration: rounds, and the correction that ends it, in terms of its numbers
PARTS = 12  # in which a bristle grows, dense at the touch: their ends are cubes


@lazy_kernel
def begin_bristles(tables, h, old, new, u, ws):
    """Correct the bristles in ``new`` of contacts that were open at ``old``, ``h`` [s] before.

    ``ws`` stands at ``new``, whose rotations are those of ``old`` and increments, and stands there again at the end.
    """
    laws, count = tables.laws, 0
    for b in range(len(laws.state_block)):
        ws.begin[b, ACTIVE] = 0.0
        if laws.state_block[b, BEGINS] > 0 and may_begin(laws.state_block[b], old, new, ws):
            ws.begin[b, LOW], ws.begin[b, HIGH], ws.begin[b, ACTIVE], count = 0.0, 1.0, 1.0, count + 1
    if count == 0:
        return
    seat_contacts(laws, ws)
    inputs = set_inputs(tables, new.z, new.zd, u, ws)
    keep_inputs(ws.begin_input[1], inputs, ws)
    forward_positions(tables, old.R0, old.z, ws)
    forward_velocities(tables.dofs, old.zd, ws)
    set_inputs(tables, old.z, old.zd, u, ws)
    keep_inputs(ws.begin_input[0], inputs, ws)
    for i in range(len(ws.state_change)):
        ws.begin_state[2, i] = ws.state_base[i]
    if find_touches(laws, h, inputs, ws) > 0:
        grow(laws, h, inputs, old, new, ws)
    for i in range(len(ws.state_change)):
        ws.state_base[i], ws.s[i], ws.state_rate[i] = ws.begin_state[2, i], new.s[i], new.sd[i]
    forward_positions(tables, old.R0, new.z, ws)
    forward_velocities(tables.dofs, new.zd, ws)
    set_inputs(tables, new.z, new.zd, u, ws)


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
    """Close in on the touch of every contact that begins; returns how many do."""
    look(laws, 0.0, h, inputs, ws)
    for b in range(len(laws.state_block)):
        ws.begin[b, FIRST] = ws.begin[b, SOFT]
    look(laws, 1.0, h, inputs, ws)
    count = opens = 0
    for b in range(len(laws.state_block)):
        if ws.begin[b, ACTIVE] == 1.0:
            if not ws.begin[b, SOFT] < FALLS * ws.begin[b, FIRST]:
                ws.begin[b, ACTIVE] = 0.0
                continue
            count += 1
            if ws.begin[b, FIRST] < np.inf:  # the touch was in a step before
                ws.begin[b, HIGH] = 0.0
            else:
                opens += 1
    for _ in range(BISECTIONS if opens > 0 else 0):
        look(laws, 0.5, h, inputs, ws)
        for b in range(len(laws.state_block)):
            if ws.begin[b, ACTIVE] == 1.0:
                ws.begin[b, HIGH if ws.begin[b, SOFT] < np.inf else LOW] = ws.begin[b, SHARE]
    return count


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
    ask_rates(laws, inputs, ws)
    for b in range(len(laws.state_block)):
        if ws.begin[b, ACTIVE] == 1.0:
            ws.begin[b, SOFT] = softness(laws.state_block[b], ws)


@inner_kernel
def seat_contacts(laws, ws):
    """Give a lane to every contact that may begin, or to none where there are too many of one kind."""
    leave_seats(ws)
    for b in range(len(laws.state_block)):
        if ws.begin[b, ACTIVE] == 1.0 and len(ws.begin_seat) > 0:
            number = laws.state_block[b, BEGINS] - 1
            if not take_seat(laws.begins, ws.begin_lanes, ws.begin_seat, ws.begin_used, number):
                leave_seats(ws)
                return


@inner_kernel
def leave_seats(ws):
    """Take the lanes from all contacts."""
    for c in range(len(ws.begin_seat)):
        ws.begin_seat[c] = -1
    for r in range(len(ws.begin_used)):
        ws.begin_used[r] = 0


@inner_kernel
def ask_rates(laws, inputs, ws):
    """Fill rates of states and their slopes at ws.law_number: those of contacts with a lane, or of all laws."""
    states = len(ws.state_change)
    if len(ws.begin_used) > 0 and ws.begin_used[0] > 0:
        numbers = ws.law_number[: inputs + states]
        evaluate_seated(laws.begins, ws.begin_lanes, ws.begin_seat, ws.begin_used, numbers, ws.law_parameter)
        first = len(ws.law_output) - len(laws.state_place)
        for b in range(len(laws.state_block)):
            number = laws.state_block[b, BEGINS] - 1
            if number >= 0 and ws.begin_seat[number] >= 0:
                read_seated(laws, laws.state_block[b], number, first, ws)
        return
    if len(laws.rates.lanes) > 0:
        evaluate_lanes(laws.rates, ws.law_rates, ws.law_number[: inputs + states], ws.law_parameter, ws.law_output)
    else:
        evaluate_recorded(laws, inputs + states, ws)
    read_slopes(laws, ws)


@inner_kernel
def read_seated(laws, block, number, first, ws):
    """Read rates and slopes of one contact; ``first`` is the place of the first slope of all among outputs."""
    found, lane, begin = laws.begins.found, ws.begin_seat[number], laws.begins.pointer[number, 2]
    slopes = begin + block[COUNT]
    for i in range(begin, slopes):
        ws.state_rate[block[STATE] + i - begin] = ws.begin_lanes[found[i, 0], lane]
    for i in range(slopes, laws.begins.pointer[number + 1, 2]):
        ws.state_slope[laws.state_place[found[i, 1] - first]] = ws.begin_lanes[found[i, 0], lane]


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
def grow(laws, h, inputs, old, new, ws):
    """Write bristles and rates at the end of the step; those stay that are not found.

    TR-BDF2 integrates the rates from the touch on, in PARTS, with the kinematics between both ends.
    """
    begin_to_grow(laws, h, old, ws)
    s = ws.begin_state
    for part in range(PARTS):
        x, y = (part / PARTS) ** 3, ((part + 1) / PARTS) ** 3
        half = 0.5 * GAMMA * h * (y - x)
        for i in range(len(ws.state_change)):
            ws.state_base[i] = s[0, i] + ws.begin_share[i] * half * s[1, i]
        settle_at(laws, x + GAMMA * (y - x), half, h, inputs, ws)
        for i in range(len(ws.state_change)):
            ws.state_base[i] = NEWER * ws.s[i] - OLDER * s[0, i]
        settle_at(laws, y, half, h, inputs, ws)
        for i in range(len(ws.state_change)):
            s[0, i], s[1, i] = ws.s[i], ws.state_rate[i]
    for b in range(len(laws.state_block)):
        if ws.begin[b, ACTIVE] == 1.0:
            keep_found(laws.state_block[b], s, new)


@inner_kernel
def begin_to_grow(laws, h, old, ws):
    """Write bristles and their rates at the touch, and for each state which share of the step is behind it."""
    s = ws.begin_state
    for b in range(len(laws.state_block)):
        block, touch = laws.state_block[b], ws.begin[b, HIGH]
        ws.begin[b, LOW], ws.begin[b, HIGH], open_for = touch, 1.0, touch * h
        for i in range(block[STATE], block[STATE] + block[COUNT]):
            shrunk = exp(-open_for / RELAXES)
            s[0, i] = (old.s[i] + open_for * (old.sd[i] + old.s[i] / RELAXES)) * shrunk
            s[1, i] = -s[0, i] / RELAXES if open_for > 0.0 else old.sd[i]
            ws.state_rate[i] = s[1, i]
            ws.begin_share[i] = 1.0 - touch


@inner_kernel
def keep_found(block, s, new):
    """Write bristle and rate of one law to ``new`` where they are numbers."""
    for i in range(block[STATE], block[STATE] + block[COUNT]):
        if not (np.isfinite(s[0, i]) and np.isfinite(s[1, i])):
            return
    for i in range(block[STATE], block[STATE] + block[COUNT]):
        new.s[i], new.sd[i] = s[0, i], s[1, i]


@inner_kernel
def settle_at(laws, x, half, h, inputs, ws):
    """Find the bristles that begin at the share ``x`` of the way from their touches, with ``half`` of the whole way."""
    for b in range(len(laws.state_block)):
        if ws.begin[b, ACTIVE] == 1.0:
            low = ws.begin[b, LOW]
            place_between(laws.state_block[b, INPUT], low + x * (1.0 - low), h, ws)
    begin_search(ws)
    for i in range(len(ws.state_change)):  # begins nearer: with the last rates
        ws.s[i] += half * ws.begin_share[i] * ws.state_rate[i]
    for k in range(ROUNDS):
        for i in range(len(ws.state_change)):
            ws.law_number[inputs + i] = ws.s[i]
        ask_rates(laws, inputs, ws)
        worst = 0.0
        for b in range(len(laws.state_block)):
            block = laws.state_block[b]
            if ws.begin[b, ACTIVE] == 1.0:
                own = half * ws.begin_share[block[STATE]]
                found = correction(block, ws.state_search[b], own, inputs, ws)
                worst = found if not found <= worst else worst
                if k >= PLAIN:
                    search(block, ws.state_search[b], ws)
                else:
                    take_whole(block, ws)
        if worst <= ENDED:
            return


@inner_kernel
def take_whole(block, ws):
    """Add the correction of one law to its states, and what it does to their rates."""
    for i in range(block[STATE], block[STATE] + block[COUNT]):
        ws.s[i] += ws.state_change[i]
        for d in range(block[COUNT]):
            among = block[PLACE] + block[ACTS] * block[COUNT] + block[COUNT] * (block[LOOKS] + i - block[STATE])
            ws.state_rate[i] += ws.state_slope[among + d] * ws.state_change[block[STATE] + d]


# ---- pairs of contact sets ------------------------------------------------------------------------------------------

# Columns of ws.begin_pair, at both ends of the step: gap and its rate, and in axes of the body of the bristle the slip,
# the normal and the angular velocity of the bristle; the last column is 1 for a pair that may begin.
AT_GAP, AT_LEAVING, AT_SLIP, AT_NORMAL, AT_TURN, WIDTH, MAY = 0, 1, 2, 5, 8, 11, PAIR_COLUMNS - 1


@lazy_kernel
def begin_pairs(tables, h, old, new, u, ws):
    """Do for pairs of contact sets what ``begin_bristles`` does for declared contacts."""
    sets, count = tables.sets, 0
    for g in range(len(sets.slot)):
        for p in range(sets.pair_pointer[g], sets.pair_pointer[g + 1]):
            ws.begin_pair[p, MAY] = 0.0
            if sets.law[g, TANGENTIAL] > 0.0 and pair_may_begin(sets.first[0] + 3 * p, p, old, new, ws):
                ws.begin_pair[p, MAY], count = 1.0, count + 1
    if count == 0:
        return
    note_pairs(sets, u, WIDTH, ws)
    forward_positions(tables, old.R0, old.z, ws)
    forward_velocities(tables.dofs, old.zd, ws)
    note_pairs(sets, u, 0, ws)
    forward_positions(tables, old.R0, new.z, ws)
    forward_velocities(tables.dofs, new.zd, ws)
    for g in range(len(sets.slot)):
        mu = u[sets.friction[g]].real
        for p in range(sets.pair_pointer[g], sets.pair_pointer[g + 1]):
            if ws.begin_pair[p, MAY] == 1.0:
                i, j = members(sets, u, g, p)
                place_pair(sets, p, i, j, ws)
                grow_pair(sets.law, g, mu, h, ws.begin_pair[p], sets.first[0] + 3 * p, old, new)


@inner_kernel
def pair_may_begin(first, p, old, new, ws):
    """Return whether a pair may begin: it touches now, and its bristle was as ``may_begin`` says."""
    away = size = moved = before = 0.0
    for i in range(first, first + 3):
        away += abs(old.sd[i] + old.s[i] / RELAXES)
        size += abs(old.s[i]) / RELAXES
        moved += abs(new.s[i])
        before += abs(old.s[i])
    return ws.touch[p, TOUCHES].real > 0.0 and moved > 0.0 and (away <= STILL * size or before <= GROWS * moved)


@inner_kernel
def note_pairs(sets, u, first, ws):
    """Write what the evaluated state says of all pairs that may begin to columns of ws.begin_pair from ``first`` on."""
    for g in range(len(sets.slot)):
        for p in range(sets.pair_pointer[g], sets.pair_pointer[g + 1]):
            if ws.begin_pair[p, MAY] == 1.0:
                i, j = members(sets, u, g, p)
                place_pair(sets, p, i, j, ws)
                row, a, to = ws.touch[p], sets.dof[i], ws.begin_pair[p, first:]
                t, b = load_touch(row, ALONG), load_touch(row, ACROSS)
                slip = turned_back(ws.A, a, add3(scale3(row[SLIP], t), scale3(row[SLIP + 1], b)))
                normal = turned_back(ws.A, a, load_touch(row, NORMAL))
                turn = turned_back(ws.A, a, scale3(row[SHARED], load_touch(row, SPIN)))
                to[AT_GAP], to[AT_LEAVING] = row[GAP].real, row[LEAVING].real
                for k in range(3):
                    to[AT_SLIP + k], to[AT_NORMAL + k] = slip[k].real, normal[k].real
                    to[AT_TURN + k] = turn[k].real


@inlined_kernel
def gap_between(ends, h, x):
    """Return the gap at the share ``x`` of the step: the cubic of Hermite."""
    p, q, s, t = ends[AT_GAP], ends[WIDTH + AT_GAP], h * ends[AT_LEAVING], h * ends[WIDTH + AT_LEAVING]
    return p + x * (s + x * (3.0 * (q - p) - 2.0 * s - t + x * (s + t - 2.0 * (q - p))))


@inlined_kernel
def between(ends, column, x):
    """Return a number at the share ``x`` of the step: a line."""
    return ends[column] + x * (ends[WIDTH + column] - ends[column])


@inlined_kernel
def vector_between(ends, column, x):
    """Return a vector at the share ``x`` of the step: a line."""
    return between(ends, column, x), between(ends, column + 1, x), between(ends, column + 2, x)


@inner_kernel
def limit_between(law, g, mu, h, ends, x):
    """Return the limit of the friction of a pair at the share ``x`` of the step."""
    deep = -gap_between(ends, h, x)
    if not deep > 0.0:
        return 0.0
    pressed = max(1.0 - law[g, DISSIPATION] * between(ends, AT_LEAVING, x), 0.0)
    return mu * law[g, STIFFNESS] * deep ** law[g, EXPONENT] * pressed


@inner_kernel
def grow_pair(law, g, mu, h, ends, first, old, new):
    """Write bristle and rate of a pair at the end of the step, which grow from the touch on as in ``grow``."""
    before, after = limit_between(law, g, mu, h, ends, 0.0), limit_between(law, g, mu, h, ends, 1.0)
    if not (after > 0.0 and before < FALLS * after):
        return
    low, touch = 0.0, 0.0 if before > 0.0 else 1.0
    for _ in range(BISECTIONS if before == 0.0 else 0):
        middle = 0.5 * (low + touch)
        if limit_between(law, g, mu, h, ends, middle) > 0.0:
            touch = middle
        else:
            low = middle
    open_for, way = touch * h, 1.0 - touch
    shrunk = exp(-open_for / RELAXES)
    was, went = (
        (old.s[first], old.s[first + 1], old.s[first + 2]),
        (old.sd[first], old.sd[first + 1], old.sd[first + 2]),
    )
    s = scale3(shrunk, add3(was, scale3(open_for, add3(went, scale3(1.0 / RELAXES, was)))))
    rate = scale3(-1.0 / RELAXES, s) if open_for > 0.0 else went
    for part in range(PARTS):
        x, y = (part / PARTS) ** 3, ((part + 1) / PARTS) ** 3
        half = 0.5 * GAMMA * h * (y - x) * way
        base = add3(s, scale3(half, rate))
        at = touch + way * (x + GAMMA * (y - x))
        there, _ = settle_pair(law, g, mu, h, ends, at, base, half)
        base = add3(scale3(NEWER, there), scale3(-OLDER, s))
        s, rate = settle_pair(law, g, mu, h, ends, touch + way * y, base, half)
    if np.isfinite(dot3(s, s)) and np.isfinite(dot3(rate, rate)):
        for k in range(3):
            new.s[first + k], new.sd[first + k] = s[k], rate[k]


@inner_kernel
def settle_pair(law, g, mu, h, ends, x, base, half):
    """Return s = base + half rate (3,) of a bristle at the share ``x`` of the step, and its rate (3,)."""
    n = vector_between(ends, AT_NORMAL, x)
    n = scale3(1.0 / sqrt(dot3(n, n)), n)
    t, b = plane_across(n)
    v, w = vector_between(ends, AT_SLIP, x), vector_between(ends, AT_TURN, x)
    slip, turn = (dot3(v, t), dot3(v, b)), (dot3(w, n), dot3(w, t), dot3(w, b))
    limit = limit_between(law, g, mu, h, ends, x)
    s = settled(law, g, (dot3(base, n), dot3(base, t), dot3(base, b)), slip, turn, limit, half)
    r, _ = rate_and_slopes(law, g, (s[1], s[2]), slip, limit)
    rate = add3((-taken_back(s[0]), r[0], r[1]), cross3(turn, s))
    return combined(n, t, b, s[0], s[1], s[2]), combined(n, t, b, rate[0], rate[1], rate[2])


@kernel
def rebegin_bristles(tables, h, old, new, u, ws):
    """``begin_bristles`` and ``begin_pairs`` for callers in Python."""
    if ws.begin_input.shape[1] > 0:
        begin_bristles(tables, h, old, new, u, ws)
    if len(tables.sets.dof) > 0:
        begin_pairs(tables, h, old, new, u, ws)
