"""Contact sets: balls and planes of which all pairs may touch, with the law of a declared pair (METHODS 8.10).

The pairs that are near are inputs, renewed before a step. Pair (i, j) has its force on ball j. Vectors stand in world
axes, the bristle in axes of the body of i. n is the normal towards j, t and b span the plane across it. Between balls
the force acts midway in the overlap, and the bristle turns with the mean of both bodies.
"""

import numpy as np
from numpy import exp, sqrt

from rtmbs.jit.compiled import inlined_kernel, inner_kernel, kernel, lazy_kernel
from rtmbs.numerics.spatial import (
    add3,
    angular,
    cross3,
    dot3,
    join,
    load3,
    load6,
    place,
    point_velocity,
    rotate,
    scale3,
    sub3,
    sub6,
)
from rtmbs.semirecursive.law_states import EXACT, ROUGH, ROUNDS
from rtmbs.system.contact_tables import (
    ACROSS,
    ALONG,
    BACK,
    BRISTLE,
    BY_GAP,
    BY_LEAVING,
    CURVATURE,
    DAMPING_TIME,
    DISSIPATION,
    ELASTIC,
    EXPONENT,
    FORCE,
    FRICTION,
    GAP,
    LEAVING,
    LIMIT,
    MIDDLE,
    NO_FORCE,
    NORMAL,
    OUT,
    PRESS,
    RATE,
    REACH,
    RELAXES,
    SHARED,
    SLACK,
    SLIP,
    SPEED,
    SPIN,
    STATIC_RATIO,
    STIFFNESS,
    STRIBECK_SPEED,
    TANGENTIAL,
    TINY,
    TOUCHES,
)

HALVINGS = 20  # of a correction of a bristle


@inlined_kernel
def friction(law, g, s, v, limit):
    """Return force and rate (2, 2) of the bristle ``s`` (2,) at the slip ``v`` (2,), as ``DryFriction`` does."""
    k, tau = law[g, TANGENTIAL], law[g, DAMPING_TIME]
    most = limit * static_factor(law, g, v)
    size, whole = sqrt((s[0] * s[0] + s[1] * s[1]) * k * k + law[g, NO_FORCE] ** 2), most + k * law[g, SLACK]
    q, touching, unit = size / whole, most / whole, (k * s[0] / size, k * s[1] / size)
    share = clipped((q - ELASTIC) / (1.0 - ELASTIC))
    beyond = clipped(q - 1.0) if most.real > 0.0 else 0.0 * q + 1.0  # an open contact forgets
    slides, outwards = share * share * (3.0 - 2.0 * share), v[0] * unit[0] + v[1] * unit[1]
    outward = slides * q * (outwards if outwards.real > 0.0 else 0.0 * outwards)
    damping = tau * (1.0 - slides)
    w = k * (s[0] + damping * v[0]), k * (s[1] + damping * v[1])
    wanted = sqrt(w[0] * w[0] + w[1] * w[1] + law[g, NO_FORCE] ** 2)
    held = most / ((wanted if wanted.real > most.real else most) + law[g, NO_FORCE])
    r0 = touching * (v[0] - outward * unit[0]) - beyond / RELAXES * s[0]
    r1 = touching * (v[1] - outward * unit[1]) - beyond / RELAXES * s[1]
    return (-held * w[0], -held * w[1]), (r0, r1)


@inlined_kernel
def clipped(x):
    """Return x between 0 and 1."""
    return 0.0 * x if x.real < 0.0 else (0.0 * x + 1.0 if x.real > 1.0 else x)


@inlined_kernel
def static_factor(law, g, v):
    """Return the limit at a slip over that of fast slip (Stribeck)."""
    nothing = 0.0 * v[0]
    if law[g, STATIC_RATIO] == 1.0:
        return nothing + 1.0
    return 1.0 + (law[g, STATIC_RATIO] - 1.0) * exp(-(v[0] * v[0] + v[1] * v[1]) / law[g, STRIBECK_SPEED] ** 2)


@inner_kernel
def friction_slopes(law, g, s, v, limit):
    """Return slopes of ``friction``: of its force by bristle, slip and limit, of its rate by slip and limit.

    Those by bristle and slip are (2, 2) row by row, those by the limit (2,).
    """
    k, tau, factor = law[g, TANGENTIAL], law[g, DAMPING_TIME], static_factor(law, g, v)
    most, nothing = limit * factor, 0.0 * limit
    size, whole = sqrt((s[0] * s[0] + s[1] * s[1]) * k * k + law[g, NO_FORCE] ** 2), most + k * law[g, SLACK]
    q, touching, x, y = size / whole, most / whole, k * s[0] / size, k * s[1] / size
    share = clipped((q - ELASTIC) / (1.0 - ELASTIC))
    slides, slope = share * share * (3.0 - 2.0 * share), 6.0 * share * (1.0 - share) / (1.0 - ELASTIC)
    along = v[0] * x + v[1] * y
    along, dragged = (along, slides * q) if along.real > 0.0 else (nothing, nothing)
    damping = tau * (1.0 - slides)
    w0, w1 = k * (s[0] + damping * v[0]), k * (s[1] + damping * v[1])
    wanted = sqrt(w0 * w0 + w1 * w1 + law[g, NO_FORCE] ** 2)
    slips = wanted.real > most.real
    larger = (wanted if slips else most) + law[g, NO_FORCE]
    held = most / larger
    e0, e1 = (w0 / wanted, w1 / wanted) if slips else (nothing, nothing)  # of ``larger`` by w
    by_q = -tau * k * slope  # of w over v, by q
    qx, qy, ql = k * x / whole, k * y / whole, -q * factor / whole
    # by the limit
    d0, d1 = by_q * ql * v[0], by_q * ql * v[1]
    dheld = (factor - held * (e0 * d0 + e1 * d1 if slips else factor)) / larger
    force_l = -dheld * w0 - held * d0, -dheld * w1 - held * d1
    pulled, outward = along * (slope * q + slides) * ql, slides * q * along
    beyond = ql if 1.0 < q.real < 2.0 and most.real > 0.0 else nothing
    grows = factor * (1.0 - touching) / whole
    rate_l = (
        grows * (v[0] - outward * x) - touching * pulled * x - beyond * s[0] / RELAXES,
        grows * (v[1] - outward * y) - touching * pulled * y - beyond * s[1] / RELAXES,
    )
    # by slip, with what the limit at rest does
    stretch = -2.0 * limit * (factor - 1.0) / (factor * law[g, STRIBECK_SPEED] ** 2)
    l0, l1, c = stretch * v[0], stretch * v[1], k * damping
    h0, h1 = -held * e0 * c / larger, -held * e1 * c / larger
    force_v = (
        -h0 * w0 - held * c + force_l[0] * l0,
        -h1 * w0 + force_l[0] * l1,
        -h0 * w1 + force_l[1] * l0,
        -h1 * w1 - held * c + force_l[1] * l1,
    )
    rate_v = (
        touching * (1.0 - dragged * x * x) + rate_l[0] * l0,
        -touching * dragged * x * y + rate_l[0] * l1,
        -touching * dragged * x * y + rate_l[1] * l0,
        touching * (1.0 - dragged * y * y) + rate_l[1] * l1,
    )
    # by the bristle
    a00, a01, a10, a11 = k + by_q * qx * v[0], by_q * qy * v[0], by_q * qx * v[1], k + by_q * qy * v[1]
    h0, h1 = -held * (e0 * a00 + e1 * a10) / larger, -held * (e0 * a01 + e1 * a11) / larger
    force_s = -h0 * w0 - held * a00, -h1 * w0 - held * a01, -h0 * w1 - held * a10, -h1 * w1 - held * a11
    return force_s, force_v, force_l, rate_v, rate_l


@inlined_kernel
def rate_and_slopes(law, g, s, v, limit):
    """Return the rate (2,) of ``friction`` and its slopes by the bristle (2, 2), row by row."""
    k = law[g, TANGENTIAL]
    most = limit * static_factor(law, g, v)
    if not most.real > 0.0:  # an open contact forgets
        back, nothing = 0.0 * limit - 1.0 / RELAXES, 0.0 * limit
        return (back * s[0], back * s[1]), (back, nothing, nothing, back)
    size, whole = sqrt((s[0] * s[0] + s[1] * s[1]) * k * k + law[g, NO_FORCE] ** 2), most + k * law[g, SLACK]
    q, touching, x, y = size / whole, most / whole, k * s[0] / size, k * s[1] / size
    share = (q - ELASTIC) / (1.0 - ELASTIC)
    if not share.real > 0.0:  # a spring: the rate does not depend on the bristle
        nothing = 0.0 * q
        return (touching * v[0], touching * v[1]), (nothing, nothing, nothing, nothing)
    qx, qy, turn = k * x / whole, k * y / whole, k / size  # slopes of q; (x, y) turns by turn (y, -x) y, ...
    slides, slope = share * share * (3.0 - 2.0 * share), 6.0 * share * (1.0 - share) / (1.0 - ELASTIC)
    if share.real >= 1.0:
        slides, slope = 0.0 * q + 1.0, 0.0 * q
    along = v[0] * x + v[1] * y
    outward = outward_x = outward_y = 0.0 * q
    if along.real > 0.0:
        across = turn * (v[0] * y - v[1] * x)  # change of along by s is across (y, -x)
        outward, of_q = slides * q * along, (slope * q + slides) * along
        outward_x, outward_y = of_q * qx + slides * q * across * y, of_q * qy - slides * q * across * x
    beyond, beyond_x, beyond_y = 0.0 * q, 0.0 * q, 0.0 * q
    if q.real > 1.0:
        beyond, beyond_x, beyond_y = q - 1.0, qx, qy
        if q.real > 2.0:
            beyond, beyond_x, beyond_y = 0.0 * q + 1.0, 0.0 * q, 0.0 * q
    r = touching * (v[0] - outward * x) - beyond / RELAXES * s[0]
    p = touching * (v[1] - outward * y) - beyond / RELAXES * s[1]
    slopes = (
        -touching * (outward_x * x + outward * turn * y * y) - (beyond_x * s[0] + beyond) / RELAXES,
        -touching * (outward_y * x - outward * turn * x * y) - beyond_y * s[0] / RELAXES,
        -touching * (outward_x * y - outward * turn * x * y) - beyond_x * s[1] / RELAXES,
        -touching * (outward_y * y + outward * turn * x * x) - (beyond_y * s[1] + beyond) / RELAXES,
    )
    return (r, p), slopes


@inner_kernel
def settled(law, g, base, slip, w, limit, half):
    """Return the bristle s (3,) with s = base + half rate; no numbers where Newton's iteration does not end.

    All in n, t, b; ``w`` turns it. A correction that leaves more than before is halved: kinks make cycles of whole
    ones.
    """
    s, nothing = (base[0], base[1], base[2]), 0.0 * slip[0]
    if half == 0.0:
        return s
    e, by = left_over(law, g, base, s, slip, w, limit, half)
    for _ in range(ROUNDS):
        X, Y, Z = inverse_of_settling(by, taken_back_slope(s[0]), w, half)
        d = combined(X, Y, Z, e[0], e[1], e[2])
        moved = size_of(base) + size_of(s) + half * (abs(slip[0]) + abs(slip[1]))
        if size_of(d) <= EXACT * moved:
            return add3(s, d)
        before, part = square_of(e), 1.0
        for _ in range(HALVINGS):
            there = add3(s, scale3(part, d))
            e, by = left_over(law, g, base, there, slip, w, limit, half)
            after = square_of(e)
            if after < before or after <= (ROUGH * moved) ** 2:
                break
            part *= 0.5
        s = there
        if after >= 0.25 * before and after <= (ROUGH * moved) ** 2:  # rounding
            return s
    return nothing + np.nan, nothing + np.nan, nothing + np.nan


@inlined_kernel
def size_of(x):
    """Return the sum of magnitudes of a vector."""
    return abs(x[0]) + abs(x[1]) + abs(x[2])


@inlined_kernel
def square_of(x):
    """Return the sum of squares of magnitudes of a vector."""
    return abs(x[0]) ** 2 + abs(x[1]) ** 2 + abs(x[2]) ** 2


@inlined_kernel
def inverse_of_settling(by, back_slope, w, half):
    """Return the columns (3, 3) of the inverse of 1 - half (slopes of the rate by the bristle)."""
    one = 0.0 * back_slope + 1.0
    x = one + half * back_slope, half * w[2], -half * w[1]
    y = -half * w[2], one - half * by[0], half * (w[0] - by[1])
    z = half * w[1], -half * (w[0] + by[2]), one - half * by[3]
    first = cross3(y, z)
    scale = 1.0 / dot3(x, first)
    return scale3(scale, first), scale3(scale, cross3(z, x)), scale3(scale, cross3(x, y))


@inlined_kernel
def left_over(law, g, base, s, slip, w, limit, half):
    """Return base + half rate - s (3,), and the slopes (2, 2) of the rate of sliding by s."""
    rate, by = rate_and_slopes(law, g, (s[1], s[2]), slip, limit)
    turned = add3((-taken_back(s[0]), rate[0], rate[1]), cross3(w, s))
    return sub3(add3(base, scale3(half, turned)), s), by


@inlined_kernel
def taken_back(out):
    """Return the rate at which a part of the bristle along the normal comes back."""
    return out * (out * out / (out * out + TINY**2)) / RELAXES


@inlined_kernel
def taken_back_slope(out):
    """Return its slope."""
    square = out * out
    return square * (square + 3.0 * TINY**2) / ((square + TINY**2) * (square + TINY**2)) / RELAXES


@inlined_kernel
def plane_across(n):
    """Return two unit vectors t, b (3, 3) with n, t, b right-handed."""
    nothing = 0.0 * n[0]
    x, y, z = abs(n[0].real), abs(n[1].real), abs(n[2].real)
    axis = (nothing, nothing, nothing + 1.0)
    if x <= y and x <= z:
        axis = (nothing + 1.0, nothing, nothing)
    elif y <= z:
        axis = (nothing, nothing + 1.0, nothing)
    t = cross3(n, axis)
    t = scale3(1.0 / sqrt(dot3(t, t)), t)
    return t, cross3(n, t)


@inlined_kernel
def turned_back(A, dof, x):
    """Return the world vector x in axes of a dof."""
    R = A[dof]
    return (
        R[0, 0] * x[0] + R[1, 0] * x[1] + R[2, 0] * x[2],
        R[0, 1] * x[0] + R[1, 1] * x[1] + R[2, 1] * x[2],
        R[0, 2] * x[0] + R[1, 2] * x[1] + R[2, 2] * x[2],
    )


@inlined_kernel
def members(sets, u, g, p):
    """Return the two members of pair ``p`` of set ``g``; the first is -1 where there is none.

    A plane leads, else the ball of the first dof. So no order of the members of a set counts.
    """
    place_of, first = sets.slot[g] + 2 * (p - sets.pair_pointer[g]), sets.member_pointer[g]
    i, j = first + int(u[place_of].real) - 1, first + int(u[place_of + 1].real) - 1
    if i < first:
        return -1, -1
    return (j, i) if follows(sets, i, j) else (i, j)


@inlined_kernel
def follows(sets, i, j):
    """Return whether member ``i`` is a ball whose dof comes behind that of ``j``."""
    return sets.radius[i] > 0.0 and sets.dof[i] > sets.dof[j]


@inner_kernel
def place_pair(sets, p, i, j, ws):
    """Write normal, gap, velocities and curvature of pair ``p``."""
    a, b, row = sets.dof[i], sets.dof[j], ws.touch[p]
    xa, xb = place(ws.A, ws.r, a, load3(sets.point, i)), place(ws.A, ws.r, b, load3(sets.point, j))
    d = sub3(xb, xa)
    if sets.radius[i] > 0.0:
        distance = sqrt(dot3(d, d) + TINY**2)
        n = scale3(1.0 / distance, d)
        row[GAP], row[CURVATURE] = distance - sets.radius[i] - sets.radius[j], 1.0 / distance
        row[REACH], row[SHARED] = sets.radius[j] + 0.5 * row[GAP], 0.5
    else:
        n = rotate(ws.A, a, load3(sets.normal, i))
        row[GAP], row[CURVATURE] = dot3(n, d) - sets.radius[j], 0.0
        row[REACH], row[SHARED] = sets.radius[j], 0.0
    V = sub6(load6(ws.V, b), load6(ws.V, a))
    v, w = point_velocity(V, xb), angular(V)
    t, across = plane_across(n)
    for k in range(3):
        row[NORMAL + k], row[ALONG + k], row[ACROSS + k] = n[k], t[k], across[k]
        row[SPEED + k], row[SPIN + k], row[MIDDLE + k] = v[k], w[k], xb[k]
    contact_speed = add3(v, cross3(w, scale3(-row[REACH], n)))
    row[LEAVING] = dot3(contact_speed, n)
    row[SLIP], row[SLIP + 1] = dot3(contact_speed, t), dot3(contact_speed, across)


@inlined_kernel
def power(x, e):
    """Return x^e of a positive x. An imaginary part counts to its first order, as in complex steps.

    Powers of complex numbers are no function of the C library.
    """
    p = x.real**e
    return p + p * e / x.real * (x - x.real)


@inner_kernel
def press(law, g, row):
    """Write the normal force of a pair and its slopes."""
    deep = -row[GAP]
    if not deep.real > 0.0:
        row[TOUCHES] = row[PRESS] = row[BY_GAP] = row[BY_LEAVING] = 0.0 * deep
        return
    k, e = law[g, STIFFNESS], law[g, EXPONENT]
    spring = k * deep if e == 1.0 else k * power(deep, e)
    slope = k if e == 1.0 else e * k * power(deep, e - 1.0)
    factor = 1.0 - law[g, DISSIPATION] * row[LEAVING]
    row[TOUCHES] = 1.0
    if factor.real > 0.0:
        row[PRESS], row[BY_GAP], row[BY_LEAVING] = spring * factor, -slope * factor, -spring * law[g, DISSIPATION]
    else:
        row[PRESS] = row[BY_GAP] = row[BY_LEAVING] = 0.0 * deep


@inner_kernel
def rub(sets, g, p, a, mu, half, ws):
    """Write bristle, its rates and the friction of pair ``p``."""
    row, s = ws.touch[p], sets.first[0] + 3 * p
    n, t, b = load_touch(row, NORMAL), load_touch(row, ALONG), load_touch(row, ACROSS)
    stored = rotate(ws.A, a, (ws.state_base[s], ws.state_base[s + 1], ws.state_base[s + 2]))
    row[LIMIT] = mu * row[PRESS]
    slip, w = (row[SLIP], row[SLIP + 1]), turn_of_bristle(row)
    out, x, y = settled(sets.law, g, (dot3(stored, n), dot3(stored, t), dot3(stored, b)), slip, w, row[LIMIT], half)
    bristle, back = (x, y), taken_back(out)
    force, rate = friction(sets.law, g, bristle, slip, row[LIMIT])
    row[OUT], row[BACK] = out, back
    for k in range(2):
        row[BRISTLE + k], row[RATE + k], row[FRICTION + k] = bristle[k], rate[k], force[k]
    turned = add3((-back, rate[0], rate[1]), cross3(w, (out, x, y)))
    kept = turned_back(ws.A, a, combined(n, t, b, out, x, y))
    rates = turned_back(ws.A, a, combined(n, t, b, turned[0], turned[1], turned[2]))
    for k in range(3):
        ws.s[s + k], ws.state_rate[s + k] = kept[k].real, rates[k].real


@inlined_kernel
def turn_of_bristle(row):
    """Return the angular velocity (3,) of a bristle as the body of i sees it, in n, t, b.

    Between balls it turns with the mean of both bodies.
    """
    w, share = load_touch(row, SPIN), row[SHARED]
    n, t, b = load_touch(row, NORMAL), load_touch(row, ALONG), load_touch(row, ACROSS)
    return share * dot3(w, n), share * dot3(w, t), share * dot3(w, b)


@inlined_kernel
def combined(n, t, b, x, y, z):
    """Return x n + y t + z b."""
    return add3(scale3(x, n), add3(scale3(y, t), scale3(z, b)))


@inlined_kernel
def load_touch(row, column):
    """Return the vector of a pair in ``column``."""
    return row[column], row[column + 1], row[column + 2]


@kernel
def evaluate_sets(tables, u, ws):
    """Find forces, bristles and their rates of all pairs that are near, at the evaluated state."""
    sets, half = tables.sets, ws.state_half[0]
    for g in range(len(sets.slot)):
        mu, rubs, open_from = u[sets.friction[g]], sets.law[g, TANGENTIAL] > 0.0, sets.pair_pointer[g + 1]
        for p in range(sets.pair_pointer[g], sets.pair_pointer[g + 1]):
            i, j = members(sets, u, g, p)
            if i < 0:
                open_from = p
                break
            row = ws.touch[p]
            place_pair(sets, p, i, j, ws)
            press(sets.law, g, row)
            row[FRICTION] = row[FRICTION + 1] = 0.0
            if rubs and (row[TOUCHES].real > 0.0 or deflected(sets, p, ws)):
                rub(sets, g, p, sets.dof[i], mu, half, ws)
            else:
                forget(sets, p, ws)
            n, t, b = load_touch(row, NORMAL), load_touch(row, ALONG), load_touch(row, ACROSS)
            force = combined(n, t, b, row[PRESS], row[FRICTION], row[FRICTION + 1])
            row[FORCE], row[FORCE + 1], row[FORCE + 2] = force
        for p in range(open_from, sets.pair_pointer[g + 1]):
            forget(sets, p, ws)


@inlined_kernel
def deflected(sets, p, ws):
    """Return whether the bristle of pair ``p`` begins the step deflected."""
    s = sets.first[0] + 3 * p
    return ws.state_base[s] != 0.0 or ws.state_base[s + 1] != 0.0 or ws.state_base[s + 2] != 0.0


@inlined_kernel
def forget(sets, p, ws):
    """Let the bristle of pair ``p`` be none."""
    s = sets.first[0] + 3 * p
    for k in range(3):
        ws.s[s + k], ws.state_rate[s + k] = 0.0, 0.0


@lazy_kernel
def apply_sets(tables, u, ws):
    """tau -= Q of the contact sets, at the evaluated positions and velocities."""
    evaluate_sets(tables, u, ws)
    sets = tables.sets
    for k in range(len(ws.set_wrench)):
        for c in range(6):
            ws.set_wrench[k, c] = 0.0
    for g in range(len(sets.slot)):
        for p in range(sets.pair_pointer[g], sets.pair_pointer[g + 1]):
            i, j = members(sets, u, g, p)
            if i < 0:
                break
            if ws.touch[p, TOUCHES].real > 0.0:
                add_pair_wrench(ws.set_wrench, i, j, pair_wrench(p, ws))
    pull_members(tables, ws, ws.tau)


@inlined_kernel
def pair_wrench(p, ws):
    """Return the wrench on ball j of pair ``p`` about the origin."""
    row = ws.touch[p]
    f = load_touch(row, FORCE)
    at = sub3(load_touch(row, MIDDLE), scale3(row[REACH], load_touch(row, NORMAL)))
    return join(f, cross3(at, f))


@inlined_kernel
def add_pair_wrench(total, i, j, W):
    """Add a wrench to that of member ``j``, and take it off that of ``i``."""
    for c in range(6):
        total[j, c] += W[c]
        total[i, c] -= W[c]


@inner_kernel
def pull_members(tables, ws, out):
    """out_j -= S_j . W of the wrenches of all members, along their paths."""
    sets, connectors = tables.sets, tables.connectors
    for k in range(len(sets.dof)):
        l, W = sets.connector[k], load6(ws.set_wrench, k)
        for c in range(connectors.pointer[l], connectors.pointer[l + 1]):
            S = load6(ws.S, connectors.dof[c])
            out[connectors.dof[c]] -= S[0] * W[0] + S[1] * W[1] + S[2] * W[2] + S[3] * W[3] + S[4] * W[4] + S[5] * W[5]


@lazy_kernel
def end_sets(tables, u, ws):
    """Find bristles and their rates where a step or a stage ends; forces are not asked for."""
    evaluate_sets(tables, u, ws)
