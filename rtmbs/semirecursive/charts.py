"""Re-centring the rotation charts of spherical and floating joints at step boundaries (DESIGN section 5).

The chart is R = R_reference Rx(a) Ry(b) Rz(c), singular at |b| = pi / 2. When |b| leaves 1 rad the turn made so far
goes into the reference, the angles become zero, and rates and accelerations are transformed exactly: no pose is
singular.
"""

from rtmbs.compiled import inner_kernel, kernel
from rtmbs.spatial import add3, cross3, dot3, load3, scale3, turn

LIMIT = 1.0  # rad


@kernel
def recentre_charts(steps, state):
    """Re-centre every chart whose middle angle left +-1 rad; returns how many."""
    count = 0
    for i in range(len(steps.kind)):
        if steps.reference[i] >= 0 and abs(state.z[i + 1]) > LIMIT:
            recentre(steps, i, state)
            count += 1
    return count


@inner_kernel
def recentre(steps, i, state):
    """Move the turn of steps i, i + 1, i + 2 into their reference rotation.

    With e1, e2, e3 the axes after the turns before them (in reference axes), omega = e1 a' + e2 b' + e3 c' and
    omega' = e1 a'' + e2 b'' + e3 c'' + a' b' e1 x e2 + c' (a' e1 + b' e2) x e3. At zero angles the rates are omega and
    the accelerations omega' - [b'c', -a'c', a'b'], all in the new reference axes.
    """
    unit = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    x, y, w = load3(steps.axis, i), load3(steps.axis, i + 1), load3(steps.axis, i + 2)
    R1 = turn(unit, x, state.z[i])
    R2 = turn(R1, y, state.z[i + 1])
    R3 = turn(R2, w, state.z[i + 2])
    e1, e2 = x, (dot3(R1[0], y), dot3(R1[1], y), dot3(R1[2], y))
    e3 = (dot3(R2[0], w), dot3(R2[1], w), dot3(R2[2], w))
    ad, bd, cd = state.zd[i], state.zd[i + 1], state.zd[i + 2]
    first_two = add3(scale3(ad, e1), scale3(bd, e2))
    omega = add3(first_two, scale3(cd, e3))
    omegad = add3(scale3(state.zdd[i], e1), add3(scale3(state.zdd[i + 1], e2), scale3(state.zdd[i + 2], e3)))
    omegad = add3(omegad, add3(scale3(ad * bd, cross3(e1, e2)), scale3(cd, cross3(first_two, e3))))
    columns = ((R3[0][0], R3[1][0], R3[2][0]), (R3[0][1], R3[1][1], R3[2][1]), (R3[0][2], R3[1][2], R3[2][2]))
    for k in range(3):  # new axes are the columns of R3
        state.zd[i + k], state.zdd[i + k] = dot3(columns[k], omega), dot3(columns[k], omegad)
        state.z[i + k] = 0.0
    ad, bd, cd = state.zd[i], state.zd[i + 1], state.zd[i + 2]
    state.zdd[i] -= bd * cd
    state.zdd[i + 1] += ad * cd
    state.zdd[i + 2] -= ad * bd
    q = steps.reference[i]
    for k in range(3):
        row = (state.R0[q, k, 0], state.R0[q, k, 1], state.R0[q, k, 2])
        for c in range(3):
            state.R0[q, k, c] = dot3(row, columns[c])
