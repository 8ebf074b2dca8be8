"""Compiled passes: positions, velocities, accelerations root to tips; inertia wrenches and their sums tips to root.

The order of one evaluation is fixed (docs/architecture.md) and each pass reads only what the one before it wrote.
Oracle: ``page.py``. Equations 7 to 9 of the paper in the spatial convention of METHODS 1.1.

Three rotation dofs are one element on the rotation group: R = R0 exp(delta~) (METHODS 1.16). z[i], z[i + 1], z[i + 2]
are the components of delta along the axes of the dofs, a triad fixed in the body. R0 is the rotation at the last step
boundary. At every boundary R0 takes the turn in and delta becomes zero, so no pose is singular and no number of turns
is lost. Rates are the angular velocity in axes fixed in the body, so that a step's increment is h/2 (w_n + w_{n+1}):
the trapezoidal rule on the group. A Newton correction of these dofs is a further small turn exp(dtheta~) in body axes,
for then Phi_z and the columns are those of the rates. The increment follows by d(delta) = T^-1(delta) dtheta, T the
right Jacobian of the exponential.
"""

import numpy as np
from numpy import uint64 as at

from rtmbs.core.bounds import ROTATION_TOLERANCE
from rtmbs.jit.compiled import coarse_inner_kernel, coarse_kernel, inner_kernel, kernel
from rtmbs.numerics.rotations.kernels import inverse_excess, inverse_factor, turned
from rtmbs.numerics.spatial import (
    add3,
    add6,
    combine6,
    cross3,
    cross_force,
    cross_motion,
    dot3,
    dot6,
    increase6,
    inertia_times,
    join,
    load3,
    load6,
    load10,
    load33,
    multiply33,
    place,
    scale3,
    scale6,
    store3,
    store6,
    store33,
    turn_by,
)
from rtmbs.system.tables import GRAVITY_SLOT, PRISMATIC, REVOLUTE


@inner_kernel
def turn_of(dofs, z, i):
    """Return delta (3,) of rotation dofs i, i + 1, i + 2 in dof axes; z holds it along their axes."""
    x, y = scale3(z[i], load3(dofs.axis, i)), scale3(z[i + 1], load3(dofs.axis, i + 1))
    return add3(add3(x, y), scale3(z[i + 2], load3(dofs.axis, i + 2)))


@kernel
def add_correction(dofs, delta, dz, increment):
    """increment += dz, of rotation dofs T^-1(delta) dz; ``delta`` (n,) holds the coordinates dz was found at."""
    for i in range(len(dz)):
        increment[i] += dz[i]
    for i in range(len(dz)):
        if dofs.reference[i] >= 0:
            d = (delta[i], delta[i + 1], delta[i + 2])
            more = inverse_excess(d, inverse_factor(dot3(d, d)), (dz[i], dz[i + 1], dz[i + 2]), 1.0)
            for k in range(3):
                increment[i + k] += more[k]


@inner_kernel
def set_rate_columns(dofs, delta, ws):
    """ws.rate of rotation dofs: columns S T^-1(delta), what turns in body axes do to rates; S itself at delta = 0."""
    if len(ws.rate) == 0:
        return
    unit = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    for i in range(len(dofs.kind)):
        if dofs.reference[i] >= 0:
            d = (delta[i], delta[i + 1], delta[i + 2])
            b = inverse_factor(dot3(d, d))
            S0, S1, S2 = load6(ws.S, i), load6(ws.S, i + 1), load6(ws.S, i + 2)
            for k in range(3):
                t = add3(unit[k], inverse_excess(d, b, unit[k], 1.0))
                store6(ws.rate, i + k, combine6(1.0, combine6(t[0], S0, t[1], S1), t[2], S2))


@kernel
def take_rate_columns(dofs, delta, C):
    """Columns of the matrix C (k, n) of rotation dofs become those of C T^-1(delta), in place."""
    for i in range(len(dofs.kind)):
        if dofs.reference[i] >= 0:
            d = (delta[i], delta[i + 1], delta[i + 2])
            b = inverse_factor(dot3(d, d))
            for row in range(len(C)):
                c = (C[row, i], C[row, i + 1], C[row, i + 2])
                C[row, i], C[row, i + 1], C[row, i + 2] = add3(c, inverse_excess(d, b, c, -1.0))


@kernel
def commit_rotations(dofs, z, R0):
    """Let R0 of every rotation take in its turn, R0 exp(delta~), and delta in ``z`` be zero; rates are as they were.

    One Newton step to the nearest rotation, R (3 - R^T R) / 2, keeps rounding from adding up.
    """
    for i in range(len(dofs.kind)):
        q = dofs.reference[i]
        if q >= 0:
            a, b, c = turned(load33(R0, q), turn_of(dofs, z, i))
            ab, bc, ca = 0.5 * dot3(a, b), 0.5 * dot3(b, c), 0.5 * dot3(c, a)  # rows serve as well as columns
            store3(R0[q], 0, nearer(a, dot3(a, a), b, ab, c, ca))
            store3(R0[q], 1, nearer(b, dot3(b, b), a, ab, c, bc))
            store3(R0[q], 2, nearer(c, dot3(c, c), a, ca, b, bc))
            for k in range(3):
                z[i + k] = 0.0


@inner_kernel
def nearer(a, aa, b, ab, c, ac):
    """Return row a of (3 - R R^T) R / 2; aa its square, ab and ac half its products with the others."""
    return add3(scale3(1.5 - 0.5 * aa, a), add3(scale3(-ab, b), scale3(-ac, c)))


@inner_kernel
def turns_only(R0):
    """True when every reference rotation is one: R^T R = 1 to ROTATION_TOLERANCE, and its determinant positive."""
    bad = 0
    for k in range(len(R0)):
        for i in range(3):
            for j in range(3):
                product = R0[k, 0, i] * R0[k, 0, j] + R0[k, 1, i] * R0[k, 1, j] + R0[k, 2, i] * R0[k, 2, j]
                bad += 0 if abs(product - (1.0 if i == j else 0.0)) <= ROTATION_TOLERANCE else 1
        across = R0[k, 0, 1] * R0[k, 1, 2] - R0[k, 1, 1] * R0[k, 0, 2]
        along = R0[k, 0, 0] * R0[k, 1, 1] - R0[k, 1, 0] * R0[k, 0, 1]
        third = R0[k, 2, 0] * across + R0[k, 2, 2] * along
        third += R0[k, 2, 1] * (R0[k, 1, 0] * R0[k, 0, 2] - R0[k, 0, 0] * R0[k, 1, 2])
        bad += 0 if third > 0.0 else 1
    return bad == 0


# ---- sines and cosines of all coordinates ---------------------------------------------------------------------------

QUARTERS = 6.36619772367581382433e-01  # 2 / pi
HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)  # 33 bits, 33 bits, rest
LARGE = 1e6  # [rad] beyond, multiples of HALF_PI[0] are no longer exact
S = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
C = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


@inner_kernel
def sines_and_cosines(z, sine, cosine):
    """Fill ``sine`` and ``cosine`` (n,) of the angles ``z`` (n,) [rad]; NaN for an angle that is not finite."""
    large = 0
    for i in range(len(z)):
        x = z[at(i)]
        large += 1 if abs(x.real) > LARGE else 0
        k = np.floor(x.real * QUARTERS + 0.5)
        r = ((x - k * HALF_PI[0]) - k * HALF_PI[1]) - k * HALF_PI[2]
        q = r * r
        s = r + r * q * (S[0] + q * (S[1] + q * (S[2] + q * (S[3] + q * (S[4] + q * S[5])))))
        half = 0.5 * q
        rest = q * q * (C[0] + q * (C[1] + q * (C[2] + q * (C[3] + q * (C[4] + q * C[5])))))
        high = 1.0 - half
        c = high + (((1.0 - high) - half) + rest)
        quadrant = k - 4.0 * np.floor(0.25 * k)
        odd = (quadrant == 1.0) | (quadrant == 3.0)
        a, b = c if odd else s, s if odd else c
        sine[at(i)] = -a if quadrant >= 2.0 else a
        cosine[at(i)] = -b if (quadrant == 1.0) | (quadrant == 2.0) else b
    if large > 0:
        for i in range(len(z)):
            if abs(z[i].real) > LARGE:
                sine[i], cosine[i] = np.sin(z[i]), np.cos(z[i])


@inner_kernel
def place_origins(origins, z, ws):
    """r = -o for ground as seen from every origin o: where the part's base is, on a grid, so zero near the world's.

    ``o`` is a constant to derivatives: nothing depends on it but rounding.
    """
    for k in range(len(origins.fixed)):
        row = len(ws.r) - 2 - k
        for c in range(3):
            o = origins.fixed[k, c]
            for e in range(origins.pointer[k], origins.pointer[k + 1]):
                o += z[origins.dof[e]].real * origins.direction[e, c]
            ws.r[row, c] = -origins.grid[k] * np.floor(o / origins.grid[k] + 0.5)


@coarse_kernel
def forward_positions(tables, R0, z, ws):
    """Frames A, r and columns S of every dof from the coordinates ``z`` and reference rotations ``R0``."""
    dofs = tables.dofs
    place_origins(tables.origins, z, ws)
    sines_and_cosines(z, ws.sine, ws.cosine)
    for i in range(len(z)):
        p = dofs.parent[i]
        R = load33(ws.A, p) if dofs.turned[i] == 0 else multiply33(ws.A, p, dofs.offset_rotation, i)
        origin = place(ws.A, ws.r, p, load3(dofs.offset, i))
        if dofs.reference[i] >= 0:
            store33(ws.A, i, R)
            R = turned(multiply33(ws.A, i, R0, dofs.reference[i]), turn_of(dofs, z, i))
        axis = load3(dofs.axis, i)
        u = (dot3(R[0], axis), dot3(R[1], axis), dot3(R[2], axis))
        if dofs.kind[i] == PRISMATIC:
            store33(ws.A, i, R)
            for k in range(3):
                ws.r[i, k] = origin[k] + z[i] * u[k]
                ws.S[i, k] = u[k]
                ws.S[i, 3 + k] = 0.0
        else:
            if dofs.kind[i] == REVOLUTE:
                R = turn_by(R, axis, ws.cosine[i], ws.sine[i])
            store33(ws.A, i, R)
            store3(ws.r, i, origin)
            store6(ws.S, i, join(cross3(origin, u), u))
            if dofs.pitch[i] != 0.0:
                for k in range(3):
                    ws.r[i, k] += dofs.pitch[i] * z[i] * u[k]
                    ws.S[i, k] += dofs.pitch[i] * u[k]


@kernel
def forward_velocities(dofs, zd, ws):
    """V[i] = V[parent] + S[i] zd[i]."""
    for i in range(len(zd)):
        store6(ws.V, i, add6(load6(ws.V, dofs.parent[i]), scale6(zd[i], load6(ws.S, i))))


@kernel
def forward_accelerations(dofs, zd, zdd, u, ws):
    """acc[i] = acc[parent] + S[i] zdd[i] + V[base] x S[i] zd[i]; ground accelerates with -gravity."""
    for row in range(len(zd), len(ws.acc)):
        for k in range(3):
            ws.acc[row, k] = -u[GRAVITY_SLOT + k]
    for i in range(len(zd)):
        S = load6(ws.S, i)
        own = add6(scale6(zdd[i], S), scale6(zd[i], cross_motion(load6(ws.V, dofs.base[i]), S)))
        store6(ws.acc, i, add6(load6(ws.acc, dofs.parent[i]), own))


@coarse_inner_kernel
def place_inertias(dofs, ws):
    """M_bar of every body at the global origin, ten numbers (METHODS 1.1)."""
    for i in range(len(dofs.mass)):
        if dofs.mass[i] == 0.0 and dofs.inertia[i, 0, 0] == 0.0 and dofs.inertia[i, 1, 1] == 0.0:
            continue  # a massless frame: its row stays zero
        g, m = place(ws.A, ws.r, i, load3(dofs.mass_center, i)), dofs.mass[i]
        B = multiply33(ws.A, i, dofs.inertia, i)  # J_G = B A^T, and -m g~ g~ = m (g.g I - g g^T)
        a0, a1, a2 = load3(ws.A[i], 0), load3(ws.A[i], 1), load3(ws.A[i], 2)
        gg = dot3(g, g)
        ws.inertia[i, 0] = m
        ws.inertia[i, 1], ws.inertia[i, 2], ws.inertia[i, 3] = scale3(m, g)
        ws.inertia[i, 4] = dot3(B[0], a0) + m * (gg - g[0] * g[0])
        ws.inertia[i, 5] = dot3(B[1], a1) + m * (gg - g[1] * g[1])
        ws.inertia[i, 6] = dot3(B[2], a2) + m * (gg - g[2] * g[2])
        ws.inertia[i, 7] = dot3(B[0], a1) - m * g[0] * g[1]
        ws.inertia[i, 8] = dot3(B[0], a2) - m * g[0] * g[2]
        ws.inertia[i, 9] = dot3(B[1], a2) - m * g[1] * g[2]


@coarse_kernel
def inverse_dynamics(dofs, ws):
    """tau = S . (subtree sum of I acc + V x* I V): M zdd - Q of inertia and gravity; fills wrench, momentum, Fc."""
    n = len(ws.tau)
    for i in range(n):
        inertia, V = load10(ws.inertia, i), load6(ws.V, i)
        momentum = inertia_times(inertia, V)
        wrench = add6(inertia_times(inertia, load6(ws.acc, i)), cross_force(V, momentum))
        store6(ws.momentum, i, momentum)
        store6(ws.wrench, i, wrench)
        store6(ws.Fc, i, wrench)
    for i in range(n - 1, -1, -1):
        F = load6(ws.Fc, i)
        ws.tau[i] = dot6(load6(ws.S, i), F)
        if dofs.parent[i] >= 0:
            increase6(ws.Fc, dofs.parent[i], F)


@coarse_kernel
def mass_times(dofs, x, ws, out):
    """out = M x (n,), momenta at rates x, at the positions and inertias last evaluated; overwrites ws.V and ws.Fc."""
    forward_velocities(dofs, x, ws)
    n = len(out)
    for i in range(n):
        store6(ws.Fc, i, inertia_times(load10(ws.inertia, i), load6(ws.V, i)))
    for i in range(n - 1, -1, -1):
        P = load6(ws.Fc, i)
        out[i] = dot6(load6(ws.S, i), P)
        if dofs.parent[i] >= 0:
            increase6(ws.Fc, dofs.parent[i], P)


@kernel
def kinetic_energy(ws):
    """Sum of V . I V / 2 over all bodies [J]; needs momentum from ``inverse_dynamics``."""
    twice = 0.0 * ws.V[0, 0]
    for i in range(len(ws.S)):
        twice += dot6(load6(ws.V, i), load6(ws.momentum, i))
    return 0.5 * twice


@kernel
def gravity_energy(tables, ws, u):
    """Potential energy of gravity, -g . (mass times centre) over all bodies [J]; zero at the world's origin."""
    total = 0.0 * ws.inertia[0, 0]
    for i in range(len(ws.S)):
        ground = tables.origins.row[i]
        for k in range(3):
            total -= u[GRAVITY_SLOT + k] * (ws.inertia[i, 1 + k] - ws.inertia[i, 0] * ws.r[ground, k])
    return total
