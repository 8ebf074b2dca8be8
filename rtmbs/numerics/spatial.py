"""3-vectors, rotations and 6-vectors at the global origin, as compiled functions on tuples.

Tuples live in registers: no allocation, no reference counts, and the same text runs for real and complex numbers.
Motion vectors are ``[v, omega]``, wrenches ``[f, n]``, both in world axes about the global origin.
Rigid-body inertia about the origin has ten numbers: mass, mass times centre (3), rotational part
(xx, yy, zz, xy, xz, yz). A row index of -1 is ground, the last row of a workspace array.
"""

import numpy as np

from rtmbs.jit.compiled import inner_kernel


@inner_kernel
def load3(x, i):
    """Return row ``i`` of an (n, 3) array."""
    return x[i, 0], x[i, 1], x[i, 2]


@inner_kernel
def load6(x, i):
    """Return row ``i`` of an (n, 6) array."""
    return x[i, 0], x[i, 1], x[i, 2], x[i, 3], x[i, 4], x[i, 5]


@inner_kernel
def load10(x, i):
    """Return row ``i`` of an (n, 10) array of inertias."""
    return x[i, 0], x[i, 1], x[i, 2], x[i, 3], x[i, 4], x[i, 5], x[i, 6], x[i, 7], x[i, 8], x[i, 9]


@inner_kernel
def store3(x, i, a):
    """Write three numbers to row ``i``."""
    x[i, 0], x[i, 1], x[i, 2] = a[0], a[1], a[2]


@inner_kernel
def store6(x, i, a):
    """Write six numbers to row ``i``."""
    x[i, 0], x[i, 1], x[i, 2] = a[0], a[1], a[2]
    x[i, 3], x[i, 4], x[i, 5] = a[3], a[4], a[5]


@inner_kernel
def increase6(x, i, a):
    """Add six numbers to row ``i``."""
    for k in range(6):
        x[i, k] += a[k]


@inner_kernel
def add3(a, b):
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inner_kernel
def sub3(a, b):
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inner_kernel
def scale3(s, a):
    """Return s a."""
    return s * a[0], s * a[1], s * a[2]


@inner_kernel
def dot3(a, b):
    """Return a . b, without conjugation."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inner_kernel
def cross3(a, b):
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inner_kernel
def add6(a, b):
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@inner_kernel
def sub6(a, b):
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5]


@inner_kernel
def scale6(s, a):
    """Return s a."""
    return s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5]


@inner_kernel
def combine6(s, a, t, b):
    """Return s a + t b."""
    return (
        s * a[0] + t * b[0],
        s * a[1] + t * b[1],
        s * a[2] + t * b[2],
        s * a[3] + t * b[3],
        s * a[4] + t * b[4],
        s * a[5] + t * b[5],
    )


@inner_kernel
def dot6(a, b):
    """Return the power of a wrench on a motion, without conjugation."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@inner_kernel
def linear(a):
    """Return the first three numbers: v of a motion, f of a wrench."""
    return a[0], a[1], a[2]


@inner_kernel
def angular(a):
    """Return the last three numbers: omega of a motion, n of a wrench."""
    return a[3], a[4], a[5]


@inner_kernel
def join(a, b):
    """Return the 6-vector of two 3-vectors."""
    return a[0], a[1], a[2], b[0], b[1], b[2]


@inner_kernel
def cross_motion(a, b):
    """Return the motion cross product a x b = [w_a x v_b + v_a x w_b; w_a x w_b]."""
    w, v, wb = angular(a), linear(a), angular(b)
    return join(add3(cross3(w, linear(b)), cross3(v, wb)), cross3(w, wb))


@inner_kernel
def cross_force(a, f):
    """Return the force cross product a x* f = [w x f; v x f + w x n]."""
    w = angular(a)
    return join(cross3(w, linear(f)), add3(cross3(linear(a), linear(f)), cross3(w, angular(f))))


@inner_kernel
def point_velocity(a, x):
    """Return v + omega x x, the velocity of the point ``x`` in the motion ``a``."""
    return add3(linear(a), cross3(angular(a), x))


@inner_kernel
def force_at(x, f):
    """Return the wrench [f; x x f] of a force through the point ``x``."""
    return join(f, cross3(x, f))


@inner_kernel
def rotate(A, i, v):
    """Return A[i] v."""
    return (
        A[i, 0, 0] * v[0] + A[i, 0, 1] * v[1] + A[i, 0, 2] * v[2],
        A[i, 1, 0] * v[0] + A[i, 1, 1] * v[1] + A[i, 1, 2] * v[2],
        A[i, 2, 0] * v[0] + A[i, 2, 1] * v[1] + A[i, 2, 2] * v[2],
    )


@inner_kernel
def place(A, r, i, v):
    """Return r[i] + A[i] v, the world position of a point given in dof axes."""
    w = rotate(A, i, v)
    return r[i, 0] + w[0], r[i, 1] + w[1], r[i, 2] + w[2]


@inner_kernel
def load33(A, i):
    """Return A[i] as three row tuples."""
    return load3(A[i], 0), load3(A[i], 1), load3(A[i], 2)


@inner_kernel
def multiply33(A, i, B, j):
    """Return the product A[i] B[j] as three row tuples."""
    b0 = (B[j, 0, 0], B[j, 1, 0], B[j, 2, 0])
    b1 = (B[j, 0, 1], B[j, 1, 1], B[j, 2, 1])
    b2 = (B[j, 0, 2], B[j, 1, 2], B[j, 2, 2])
    c0, c1, c2 = rotate(A, i, b0), rotate(A, i, b1), rotate(A, i, b2)
    return (c0[0], c1[0], c2[0]), (c0[1], c1[1], c2[1]), (c0[2], c1[2], c2[2])


@inner_kernel
def store33(A, i, R):
    """Write three row tuples to A[i]."""
    store3(A[i], 0, R[0])
    store3(A[i], 1, R[1])
    store3(A[i], 2, R[2])


@inner_kernel
def turn(R, axis, angle):
    """Return R exp(axis~ angle) for three row tuples R and a unit axis."""
    return turn_by(R, axis, np.cos(angle), np.sin(angle))


@inner_kernel
def turn_by(R, axis, c, s):
    """Return R exp(axis~ angle) for the cosine and the sine of the angle (Rodrigues, row by row).

    A row a of R becomes c a + s (a x axis) + (1 - c) (a . axis) axis.
    """
    return turn_row(R[0], axis, c, s), turn_row(R[1], axis, c, s), turn_row(R[2], axis, c, s)


@inner_kernel
def turn_row(a, u, c, s):
    """Return one row of R exp(u~ angle)."""
    x, d = cross3(a, u), (1.0 - c) * dot3(a, u)
    return c * a[0] + s * x[0] + d * u[0], c * a[1] + s * x[1] + d * u[1], c * a[2] + s * x[2] + d * u[2]


@inner_kernel
def symmetric_times(J, w):
    """Return J w for the six numbers (xx, yy, zz, xy, xz, yz)."""
    return (
        J[0] * w[0] + J[3] * w[1] + J[4] * w[2],
        J[3] * w[0] + J[1] * w[1] + J[5] * w[2],
        J[4] * w[0] + J[5] * w[1] + J[2] * w[2],
    )


@inner_kernel
def inertia_times(inertia, a):
    """Return I a = [m v + omega x c; c x v + J omega], c the mass times the centre."""
    v, w = linear(a), angular(a)
    c = (inertia[1], inertia[2], inertia[3])
    J = (inertia[4], inertia[5], inertia[6], inertia[7], inertia[8], inertia[9])
    return join(add3(scale3(inertia[0], v), cross3(w, c)), add3(cross3(c, v), symmetric_times(J, w)))
