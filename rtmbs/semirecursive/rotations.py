"""Three rotation dofs as one element on the rotation group: R = R0 exp(delta~) (METHODS 1.16).

z[i], z[i + 1], z[i + 2] are the components of delta along the axes of the dofs, a triad fixed in the body.

R0 is the rotation at the last step boundary. At every boundary R0 takes the turn in and delta becomes zero, so no pose
is singular and no number of turns is lost. Rates are the angular velocity in axes fixed in the body, so that a step's
increment is h/2 (w_n + w_{n+1}): the trapezoidal rule on the group.

A Newton correction of these dofs is a further small turn exp(dtheta~) in body axes, for then Phi_z and the columns are
those of the rates. The increment follows by d(delta) = T^-1(delta) dtheta, T the right Jacobian of the exponential.
"""

from rtmbs.core.bounds import ROTATION_TOLERANCE
from rtmbs.jit.compiled import inner_kernel, kernel
from rtmbs.numerics.rotations.kernels import inverse_excess, inverse_factor, turned
from rtmbs.numerics.spatial import add3, combine6, dot3, load3, load6, load33, scale3, store3, store6


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
