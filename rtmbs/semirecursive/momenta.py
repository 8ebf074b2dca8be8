"""Compiled momenta and Newton matrices of the variational midpoint step, and the momentum of a base (METHODS 6).

One backward pass gives both p_j = S_j . P_j and dT/dz_j = (V_base x S_j) . P_j, P_j the momentum behind dof j. The
formulas come from their oracle in ``page.py``.

A column of a Newton matrix is a small turn or slide e of dof i at the middle, which moves the rates by 2/h T^-1 e. It
changes the velocities of what it moves by S_i x V + 2/h Y_i with Y_i = S_i T^-1 + h/2 psid_i, psid_i = V_base x S_i,
and the first part turns momenta with their bodies. So of the momentum P_j behind a dof j at or behind i only I_j Y_i
counts, I_j the inertia behind it, and a dof above i meets S_i x* P_i + 2/h I_i Y_i. No Coriolis matrix is needed
(METHODS 6). The pattern of a tangent is that of ``tangent.py``. Its oracle is ``page.step_residual``.

The momentum of a base with several dofs is kept to rounding whatever Newton's iteration leaves (METHODS 6.5).
"""

import numpy as np
from numpy import uint64 as at

from rtmbs.jit.compiled import coarse_kernel, inlined_kernel, inner_kernel, kernel
from rtmbs.numerics.rotations.kernels import inverse_excess, inverse_factor, turn_factors, turned_row
from rtmbs.numerics.spatial import (
    add3,
    add6,
    angular,
    combine6,
    cross3,
    cross_force,
    cross_motion,
    dot3,
    dot6,
    increase6,
    inertia_times,
    join,
    linear,
    load3,
    load6,
    load10,
    scale3,
    scale6,
    store3,
    store6,
)
from rtmbs.semirecursive.closures import evaluate_closures
from rtmbs.semirecursive.evaluation import applied_share, keep_diagonal
from rtmbs.semirecursive.force_kernels import add_force_tangent, apply_forces
from rtmbs.semirecursive.passes import forward_positions, forward_velocities, place_inertias, set_rate_columns
from rtmbs.semirecursive.tangent import (
    add_condensed_loops,
    add_loop_tangent,
    add_masses,
    gather_inertias,
    gather_sections,
    join_sections,
)
from rtmbs.system.tables import GRAVITY_SLOT, ROTATION

TINY_TURN = 1e-9  # [rad] below it tan(a / 2) / a is 1/2 to rounding


@inner_kernel
def gather_momenta(dofs, u, ws, p):
    """p = M zd, and ws.tau = -dT/dz less gravity; ws.Fc and ws.wrench are momentum and weight behind every dof.

    The weight has the sign of ``inverse_dynamics``: inertia times an acceleration -g.
    """
    up = join((-u[GRAVITY_SLOT], -u[GRAVITY_SLOT + 1], -u[GRAVITY_SLOT + 2]), (0.0, 0.0, 0.0))
    n = len(ws.tau)
    for i in range(n):
        inertia = load10(ws.inertia, i)
        store6(ws.Fc, i, inertia_times(inertia, load6(ws.V, i)))
        store6(ws.wrench, i, inertia_times(inertia, up))
    for i in range(n - 1, -1, -1):
        S, P, W = load6(ws.S, i), load6(ws.Fc, i), load6(ws.wrench, i)
        p[i] = dot6(S, P)
        ws.tau[i] = dot6(S, W) - dot6(cross_motion(load6(ws.V, dofs.base[i]), S), P)
        if dofs.parent[i] >= 0:
            increase6(ws.Fc, dofs.parent[i], P)
            increase6(ws.wrench, dofs.parent[i], W)


@coarse_kernel
def evaluate_momenta(tables, R0, u, ws, p):
    """p = M zd, and ws.tau = -(dT/dz + Q), at ws.z and ws.zd; leaves every pass in ``ws``."""
    forward_positions(tables, R0, ws.z, ws)
    place_inertias(tables.dofs, ws)
    forward_velocities(tables.dofs, ws.zd, ws)
    gather_momenta(tables.dofs, u, ws, p)
    apply_forces(tables, ws.z, ws.zd, u, ws)


@coarse_kernel
def evaluate_boundary(tables, z, R0, u, ws):
    """Positions, Phi, Phi_z and inertias at a boundary of steps; turns of rotation dofs are committed to ``R0``."""
    for i in range(len(ws.z)):
        ws.z[i] = z[i]
    forward_positions(tables, R0, ws.z, ws)
    evaluate_closures(tables, ws.z, u, ws)
    place_inertias(tables.dofs, ws)


@kernel
def turn_back(dofs, turn, x):
    """x becomes exp(-turn~) x at rotation dofs, in place: momenta at R in the axes of R exp(turn~)."""
    for i in range(len(dofs.kind)):
        if dofs.reference[i] >= 0:
            d = (turn[i], turn[i + 1], turn[i + 2])
            s, c = turn_factors(dot3(d, d))
            x[i], x[i + 1], x[i + 2] = turned_row((x[i], x[i + 1], x[i + 2]), d, s, c)


@kernel
def half_turn_back(dofs, y, x):
    """x becomes W x = (x + exp(-y~) x) / 2 at rotation dofs, in place."""
    for i in range(len(dofs.kind)):
        if dofs.reference[i] >= 0:
            d = (y[i], y[i + 1], y[i + 2])
            s, c = turn_factors(dot3(d, d))
            x[i], x[i + 1], x[i + 2] = halfway((x[i], x[i + 1], x[i + 2]), d, s, c)


@kernel
def undo_half_turn_back(dofs, y, x):
    """x becomes W^-1 x = x + tan(|y| / 2) / |y| y x x at rotation dofs, in place."""
    for i in range(len(dofs.kind)):
        if dofs.reference[i] >= 0:
            d = (y[i], y[i + 1], y[i + 2])
            angle = np.sqrt(dot3(d, d))
            share = np.tan(0.5 * angle) / angle if angle > TINY_TURN else 0.5
            more = scale3(share, cross3(d, (x[i], x[i + 1], x[i + 2])))
            for k in range(3):
                x[i + k] += more[k]


@inner_kernel
def halfway(a, d, s, c):
    """Return (a + exp(-d~) a) / 2, with the factors s and c of d."""
    b = turned_row(a, d, s, c)
    return 0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])


@kernel
def undo_jacobian(dofs, y, x):
    """x becomes T^-1(y) x at rotation dofs, in place."""
    for i in range(len(dofs.kind)):
        if dofs.reference[i] >= 0:
            d, own = (y[i], y[i + 1], y[i + 2]), (x[i], x[i + 1], x[i + 2])
            more = inverse_excess(d, inverse_factor(dot3(d, d)), own, 1.0)
            for k in range(3):
                x[i + k] += more[k]


@kernel
def half_turn_rows(tables, y, sign, Phi_z):
    """Rows a of Phi_z become (a + exp(-sign y~) a) / 2 at rotation dofs, in place.

    With sign 1 that is Phi_z W^T of the first end of a step, with -1 it is Phi_z W of the last.
    """
    closures, connectors, dofs = tables.closures, tables.connectors, tables.dofs
    for l in range(len(closures.point_a)):
        connector = closures.connector[l]
        first, last = connectors.pointer[connector], connectors.pointer[connector + 1]
        for k in range(first, last):
            i = connectors.dof[k]
            if dofs.reference[i] >= 0:
                d = (sign * y[i], sign * y[i + 1], sign * y[i + 2])
                s, c = turn_factors(dot3(d, d))
                entry = closures.entry_pointer[l] + k - first
                for _ in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
                    a = (Phi_z[entry], Phi_z[entry + 1], Phi_z[entry + 2])
                    Phi_z[entry], Phi_z[entry + 1], Phi_z[entry + 2] = halfway(a, d, s, c)
                    entry += last - first


# ---- Newton matrices, in one pass over (dof, ancestor) pairs --------------------------------------------------------


@coarse_kernel
def assemble_midpoint(tables, h, u, y, start, ws, values):
    """values = the derivative of h/2 (T^-1 p_m - W start) + h^2/4 tau by small turns at the middle, exact but for
    terms of the third order of a step's turn.

    At the state of ``evaluate_momenta``; ``y`` (n,) is the half increment, ``start`` (n,) the momentum that the step
    begins with, impulse of the loops included.
    """
    for k in range(len(values)):
        values[k] = 0.0
    set_columns(tables.dofs, h, u, y, ws)
    add_pairs(tables, h, ws, values)
    if len(ws.rate) > 0:
        add_elements(tables, h, y, start, ws, values)
    laws = len(tables.laws.connector) + len(tables.laws.row)
    if laws > 0:
        keep_diagonal(tables.paths, ws, values)
    add_force_tangent(tables, u, 0.5 * h, 0.25 * h * h, ws, values)
    if laws > 0:
        ws.stiff[0] = applied_share(tables.paths, ws, values)


@coarse_kernel
def assemble_end(tables, weight, ws, own_mass, values):
    """values = M + Phi_z^T diag(weight) Phi_z at the evaluated positions and inertias; own_mass (n,) the diagonal of M.

    The metric in which rates are found.
    """
    for k in range(len(values)):
        values[k] = 0.0
    if len(ws.section) > 0:
        gather_sections(tables, ws)
    else:
        gather_inertias(tables.dofs, ws)
    add_masses(tables, ws, own_mass, values)
    if len(tables.interfaces.dof) > 0:
        join_sections(tables, ws, values)
    if len(ws.section) > 0:  # the entries are of sections, the diagonal of M of all that a dof carries
        gather_inertias(tables.dofs, ws)
        for j in range(len(own_mass)):
            own_mass[j] = dot6(inertia_times(load10(ws.Ic, j), load6(ws.S, j)), load6(ws.S, j))
    add_loop_tangent(tables, weight, 1.0, ws.Phi_z, ws.Phi_z, values)
    if len(tables.condensed.closure) > 0:
        add_condensed_loops(tables, weight, 1.0, ws, values)


@inner_kernel
def set_columns(dofs, h, u, y, ws):
    """Columns of every dof: ws.X = Y, ws.Y = what its turn does to the weight, ws.Bc[:6] = S T^-T - h/2 psid; and the
    inertia behind it.
    """
    down = (u[GRAVITY_SLOT], u[GRAVITY_SLOT + 1], u[GRAVITY_SLOT + 2])
    n = len(ws.tau)
    for i in range(n):
        S = load6(ws.S, i)
        psid = cross_motion(load6(ws.V, dofs.base[i]), S)
        store6(ws.psid, i, psid)
        store6(ws.X, i, combine6(1.0, S, 0.5 * h, psid))
        store6(ws.Bc, i, combine6(1.0, S, -0.5 * h, psid))
        store3(ws.Y, i, cross3(angular(S), down))
    gather_inertias(dofs, ws)
    set_rate_columns(dofs, y, ws)
    if len(ws.rate) > 0:
        for i in range(n):
            if dofs.reference[i] >= 0:
                for k in range(3):
                    S, rate = load6(ws.S, i + k), load6(ws.rate, i + k)
                    more = add6(rate, scale6(-1.0, S))
                    store6(ws.X, i + k, add6(load6(ws.X, i + k), more))
                    store6(ws.Bc, i + k, add6(load6(ws.Bc, i + k), back(ws, i, k, y)))


@inner_kernel
def back(ws, i, k, y):
    """Return column ``k`` of S T^-T less S, of the element that begins with dof ``i``."""
    d = (-y[i], -y[i + 1], -y[i + 2])  # T^-1(-y) is T^-1(y) transposed
    unit = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
    t = inverse_excess(d, inverse_factor(dot3(d, d)), unit, 1.0)
    return combine6(1.0, combine6(t[0], load6(ws.S, i), t[1], load6(ws.S, i + 1)), t[2], load6(ws.S, i + 2))


@inner_kernel
def add_pairs(tables, h, ws, values):
    """Entries of every dof with itself and with its ancestors outside its element."""
    dofs, paths = tables.dofs, tables.paths
    q4 = 0.25 * h * h
    for j in range(len(ws.tau)):
        S, P, W = load6(ws.S, j), load6(ws.Fc, j), load6(ws.wrench, j)
        inertia, turned = load10(ws.Ic, j), cross_force(S, P)
        weighed = scale3(q4, linear(inertia_times(inertia, S)))
        left = add6(inertia_times(inertia, load6(ws.Bc, j)), scale6(-0.5 * h, turned))
        right = add6(inertia_times(inertia, load6(ws.X, j)), scale6(0.5 * h, turned))
        lift = (ws.Y[j, 0], ws.Y[j, 1], ws.Y[j, 2], 0.0, 0.0, 0.0)
        fall = scale6(q4, add6(cross_force(S, W), inertia_times(inertia, lift)))
        last = paths.pointer[j + 1] - 1
        if dofs.kind[j] == ROTATION:
            last -= j - first_of(dofs, j)
        else:
            values[paths.entry[last]] += dot6(left, load6(ws.X, j)) + dot3(weighed, load3(ws.Y, j))
        for d in range(paths.pointer[j], last):
            i = at(paths.dof[at(d)])
            values[at(paths.entry[at(d)])] += dot6(left, load6(ws.X, i)) + dot3(weighed, load3(ws.Y, i))
            right_entry = dot6(load6(ws.Bc, i), right) + dot6(load6(ws.S, i), fall)
            values[at(paths.entry_transposed[at(d)])] += right_entry


@inner_kernel
def first_of(dofs, j):
    """Return the first dof of the element of the rotation dof ``j``."""
    return j if dofs.reference[j] >= 0 else j - 1 if dofs.reference[j - 1] >= 0 else j - 2


@inner_kernel
def add_elements(tables, h, y, start, ws, values):
    """Entries of the rotation dofs of one element with each other: all three columns turn with the body."""
    dofs, paths = tables.dofs, tables.paths
    for e in range(len(dofs.kind)):
        if dofs.reference[e] >= 0:
            for b in range(3):
                end = paths.pointer[e + b + 1] - 1  # place of (e + b, e + b)
                change = carried(h, e, b, y, start, ws)
                for a in range(3):
                    found = pair(h, e + a, e + b, ws) + change[a]
                    if a == b:
                        values[paths.entry[end]] += found
                    elif a < b:
                        values[paths.entry_transposed[end - (b - a)]] += found
                    else:
                        values[paths.entry[paths.pointer[e + a + 1] - 1 - (a - b)]] += found


@inner_kernel
def pair(h, j, i, ws):
    """Return the entry of row ``j`` and column ``i`` of one element, its own coordinates held."""
    inertia, S, P = load10(ws.Ic, j), load6(ws.S, j), load6(ws.Fc, j)
    left = inertia_times(inertia, load6(ws.Bc, j))
    weighed = scale3(0.25 * h * h, linear(inertia_times(inertia, S)))
    found = dot6(left, load6(ws.X, i)) - 0.25 * h * h * dot6(cross_force(S, P), load6(ws.psid, i))
    return found + dot3(weighed, load3(ws.Y, i))


@inner_kernel
def carried(h, e, b, y, start, ws):
    """Return h/2 (dT^-1 p_m - dW start) for the column ``b`` of the element ``e``: y moves by T^-1 e_b."""
    d = (y[e], y[e + 1], y[e + 2])
    q = dot3(d, d)
    bent = inverse_factor(q)
    unit = (1.0 if b == 0 else 0.0, 1.0 if b == 1 else 0.0, 1.0 if b == 2 else 0.0)
    dy = add3(unit, inverse_excess(d, bent, unit, 1.0))
    P = load6(ws.Fc, e)
    p = (dot6(load6(ws.S, e), P), dot6(load6(ws.S, e + 1), P), dot6(load6(ws.S, e + 2), P))
    x = (start[e], start[e + 1], start[e + 2])
    s, c = turn_factors(q)
    first = add3(scale3(0.25 * h, cross3(dy, p)), scale3(0.5 * h * bent, twice(d, dy, p)))
    return add3(first, add3(scale3(0.25 * h * s, cross3(dy, x)), scale3(-0.25 * h * c, twice(d, dy, x))))


@inner_kernel
def twice(d, dy, x):
    """Return the change of d x (d x x) with d by dy."""
    return add3(cross3(dy, cross3(d, x)), cross3(d, cross3(dy, x)))


BASE = 6  # dofs of a base at most
ALONG = 1e-8  # of its square: a column of a base that lies nearer to those before it carries nothing of its own


@inlined_kernel
def last_of_base(dofs, i, ws):
    """Return the last dof of the base that begins with the root ``i``: behind the others there is no inertia."""
    last = i
    for j in range(i, min(i + BASE, len(dofs.parent)) - 1):
        inertia = 0.0
        for k in range(10):
            inertia += abs(ws.inertia[j, k])
        if inertia > 0.0 or dofs.parent[j + 1] != j:
            break
        last = j + 1
    return last


@inlined_kernel
def remember_base(dofs, ws, own):
    """own.base = columns S of bases with several dofs, where the step begins."""
    own.bases[0] = 0.0
    for i in range(len(dofs.parent)):
        own.left_over[i] = 0.0
        if dofs.parent[i] < 0:
            last = last_of_base(dofs, i, ws)
            own.bases[0] += 1.0 if last > i else 0.0
            for j in range(i, last + 1 if last > i else i):
                store6(own.base, j, load6(ws.S, j))


@inner_kernel
def set_left_over(dofs, h, ws, own):
    """own.left_over = W^-1 (T^-1 p_m - h/2 f) - start of bases with several dofs, and own.carried; 0 of other dofs.

    own.p is T^-1 p_m, and ws.tau is -f.
    """
    for i in range(len(own.p)):
        ws.predicted[i] = own.start[i]
    half_turn_back(dofs, own.y, ws.predicted)
    for i in range(len(own.p)):
        ws.predicted[i] = own.p[i] + 0.5 * h * ws.tau[i] - ws.predicted[i]
    undo_half_turn_back(dofs, own.y, ws.predicted)
    for i in range(len(dofs.parent)):
        if dofs.parent[i] < 0:
            last = last_of_base(dofs, i, ws)
            if last > i:
                carry(i, last, own.base, ws.predicted, own.left_over, own.carried)


@inner_kernel
def carry(first, last, base, given, left_over, carried):
    """carried = six numbers w with S_j . w = given_j for the columns S_j in ``base`` that are independent.

    ``left_over`` is S_j . w. The columns are overwritten by orthogonal ones.
    """
    w = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for j in range(first, last + 1):
        S = load6(base, j)
        v = S
        for k in range(first, j):
            before = load6(base, k)
            size = dot6(before, before)
            if size > 0.0:
                v = add6(v, scale6(-dot6(before, v) / size, before))
        left_over[j] = dot6(S, w)
        size = dot6(v, v)
        if size > ALONG * dot6(S, S):
            w = add6(w, scale6((given[j] - left_over[j]) / size, v))
            left_over[j] = given[j]
        else:
            v = scale6(0.0, v)
        store6(base, j, v)
    store6(carried, first, w)


@inner_kernel
def take_left_over(dofs, ws, own):
    """own.p1 without the momentum left over, which stayed in space while its base moved on."""
    for i in range(len(dofs.parent)):
        if dofs.parent[i] < 0:
            last = last_of_base(dofs, i, ws)
            for j in range(i, last + 1 if last > i else i):
                own.p1[j] -= dot6(load6(ws.S, j), load6(own.carried, i))
