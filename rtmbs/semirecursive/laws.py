"""Compiled force laws of the user: kinematics in, one program, wrenches and generalised forces with their derivatives.

A law between two frames acts through a link as a spring does. Its wrench depends on r, R, v, w of b relative to a in
axes of a, so a common rigid motion changes nothing but directions; its derivative by these twelve numbers
(``law_local``, a turn d of R as (d x) R) is all that the tangent asks for (METHODS 1.26).
"""

from rtmbs.ad.program import evaluate
from rtmbs.jit.compiled import inner_kernel, merged_kernel
from rtmbs.spatial import (
    add3,
    angular,
    cross3,
    dot3,
    join,
    load6,
    place,
    point_velocity,
    rotate,
    scale3,
    sub3,
    sub6,
)
from rtmbs.system.tables import FRAME_INPUTS


@inner_kernel
def evaluate_laws(tables, z, zd, u, ws):
    """Fill wrenches, generalised forces and their derivatives of the recorded laws, at the swept state.

    The program takes real numbers. In complex arithmetic the imaginary parts follow by the derivatives it gives, which
    is what a complex step is about.
    """
    laws = tables.laws
    counts = laws.counts
    if len(ws.law_output) == 0:
        return
    first = len(tables.links.a) - len(laws.frame_a)
    for k in range(counts[0]):
        set_kinematics(laws, k, tables.links, first + k, ws)
    inputs = FRAME_INPUTS * counts[0]
    for i in range(counts[2]):
        step = laws.input[i, 0]
        ws.law_input[inputs + i] = zd[step] if laws.input[i, 1] == 1 else z[step]
    inputs += counts[2]
    for i in range(inputs):
        ws.law_number[i] = ws.law_input[i].real
    for i in range(len(laws.slot)):
        ws.law_parameter[i] = u[laws.slot[i]].real
    evaluate(laws.program, ws.law_memory, ws.law_number[:inputs], ws.law_parameter, ws.law_output)
    take_wrenches(laws, ws)
    take_forces(laws, ws)


@merged_kernel
def take_wrenches(laws, ws):
    """Read wrenches and their derivatives from the program's outputs."""
    wrenches = laws.counts[0]
    for k in range(wrenches):
        for row in range(6):
            ws.law_wrench[k, row] = ws.law_output[6 * k + row]
            for column in range(12):
                ws.law_local[k, row, column] = 0.0
    first = 6 * wrenches + laws.counts[1]
    for e in range(len(laws.wrench_entry)):
        k, row, column = laws.wrench_entry[e, 0], laws.wrench_entry[e, 1], laws.wrench_entry[e, 2]
        place = FRAME_INPUTS * k + column
        entry = ws.law_output[first + e]
        imaginary = ws.law_input[place] - ws.law_number[place]
        if imaginary != 0.0:
            ws.law_wrench[k, row] += entry * imaginary
        add_local(ws.law_local, k, row, column, entry, ws.law_number, FRAME_INPUTS * k)


@inner_kernel
def add_local(local, k, row, column, entry, x, first):
    """Add a derivative by one of the 18 inputs to those by the twelve; R + d x R for the turn d."""
    if column < 3:
        local[k, row, column] += entry
    elif column < 12:
        i, j = (column - 3) // 3, (column - 3) % 3
        after, before = (i + 1) % 3, (i + 2) % 3
        local[k, row, 3 + after] += entry * x[first + 3 + 3 * before + j]
        local[k, row, 3 + before] -= entry * x[first + 3 + 3 * after + j]
    else:
        local[k, row, column - 6] += entry


@merged_kernel
def take_forces(laws, ws):
    """Read generalised forces and their derivatives from the program's outputs."""
    counts = laws.counts
    first = 6 * counts[0]
    for o in range(counts[1]):
        ws.law_force[o] = ws.law_output[first + o]
    first, inputs = first + counts[1] + len(laws.wrench_entry), FRAME_INPUTS * counts[0]
    for e in range(counts[3]):
        entry = ws.law_output[first + e]
        ws.law_entry[e] = entry
        place = inputs + laws.force_entry[e, 1]
        imaginary = ws.law_input[place] - ws.law_number[place]
        if imaginary != 0.0:
            ws.law_force[laws.force_entry[e, 0]] += entry * imaginary


@inner_kernel
def marker_axes(A, i, frame, k):
    """Return the three axes of a marker in the world."""
    x = rotate(A, i, (frame[k, 0, 0], frame[k, 1, 0], frame[k, 2, 0]))
    y = rotate(A, i, (frame[k, 0, 1], frame[k, 1, 1], frame[k, 2, 1]))
    z = rotate(A, i, (frame[k, 0, 2], frame[k, 1, 2], frame[k, 2, 2]))
    return x, y, z


@inner_kernel
def marker_point(ws, i, frame, k):
    """Return where a marker stands in the world [m]."""
    return place(ws.A, ws.r, i, (frame[k, 0, 3], frame[k, 1, 3], frame[k, 2, 3]))


@inner_kernel
def components(axes, v):
    """Return the components of a world vector along three axes."""
    return dot3(axes[0], v), dot3(axes[1], v), dot3(axes[2], v)


@inner_kernel
def combined(axes, c):
    """Return the world vector with these components along three axes."""
    return add3(add3(scale3(c[0], axes[0]), scale3(c[1], axes[1])), scale3(c[2], axes[2]))


@inner_kernel
def set_kinematics(laws, k, links, l, ws):
    """Write r, R, v, w of law ``k`` on link ``l``."""
    a, b = links.a[l], links.b[l]
    axes, other = marker_axes(ws.A, a, laws.frame_a, k), marker_axes(ws.A, b, laws.frame_b, k)
    xb = marker_point(ws, b, laws.frame_b, k)
    relative = sub6(load6(ws.V, b), load6(ws.V, a))
    r = components(axes, sub3(xb, marker_point(ws, a, laws.frame_a, k)))
    v, w = components(axes, point_velocity(relative, xb)), components(axes, angular(relative))
    first = FRAME_INPUTS * k
    R = components(axes, other[0]), components(axes, other[1]), components(axes, other[2])
    for c in range(3):
        ws.law_input[first + c], ws.law_input[first + 12 + c], ws.law_input[first + 15 + c] = r[c], v[c], w[c]
        for j in range(3):
            ws.law_input[first + 3 + 3 * c + j] = R[j][c]


@inner_kernel
def law_wrench(laws, k, links, l, ws):
    """Return the wrench of law ``k`` on step b about the global origin."""
    axes, xb = marker_axes(ws.A, links.a[l], laws.frame_a, k), marker_point(ws, links.b[l], laws.frame_b, k)
    W = load6(ws.law_wrench, k)
    f = combined(axes, (W[0], W[1], W[2]))
    return join(f, add3(combined(axes, (W[3], W[4], W[5])), cross3(xb, f)))


@inner_kernel
def law_variation(laws, k, links, l, side, X, dV, ws):
    """Change of the wrench on b when the end ``side`` (-1: a, +1: b) moves by the twist X and its velocity by dV.

    Moving a turns the axes in which the law works and moves b backwards in them.
    """
    axes, xb = marker_axes(ws.A, links.a[l], laws.frame_a, k), marker_point(ws, links.b[l], laws.frame_b, k)
    relative = sub6(load6(ws.V, links.b[l]), load6(ws.V, links.a[l]))
    turned, dx = angular(X), point_velocity(X, xb)
    dv, dw = scale3(side, point_velocity(dV, xb)), scale3(side, angular(dV))
    if side < 0.0:
        dv = sub3(dv, cross3(turned, point_velocity(relative, xb)))
        dw = sub3(dw, cross3(turned, angular(relative)))
    else:
        dv = add3(dv, cross3(angular(relative), dx))
    dr, turn = components(axes, scale3(side, dx)), components(axes, scale3(side, turned))
    df, dn = local_change(ws.law_local, k, dr, turn, components(axes, dv), components(axes, dw))
    W = load6(ws.law_wrench, k)
    f, n = combined(axes, (W[0], W[1], W[2])), combined(axes, (W[3], W[4], W[5]))
    dF, dN = combined(axes, df), combined(axes, dn)
    if side < 0.0:
        dF, dN = add3(dF, cross3(turned, f)), add3(dN, cross3(turned, n))
        return join(dF, add3(dN, cross3(xb, dF)))
    return join(dF, add3(add3(dN, cross3(xb, dF)), cross3(dx, f)))


@inner_kernel
def local_change(local, k, dr, turn, dv, dw):
    """Return the change of force and torque in axes of a."""
    return (
        local_row(local, k, 0, dr, turn, dv, dw),
        local_row(local, k, 1, dr, turn, dv, dw),
        local_row(local, k, 2, dr, turn, dv, dw),
    ), (
        local_row(local, k, 3, dr, turn, dv, dw),
        local_row(local, k, 4, dr, turn, dv, dw),
        local_row(local, k, 5, dr, turn, dv, dw),
    )


@inner_kernel
def local_row(local, k, row, dr, turn, dv, dw):
    """Return one row of the local derivative times (dr, turn, dv, dw)."""
    entries = local[k, row]
    total = dot3((entries[0], entries[1], entries[2]), dr) + dot3((entries[3], entries[4], entries[5]), turn)
    total += dot3((entries[6], entries[7], entries[8]), dv)
    return total + dot3((entries[9], entries[10], entries[11]), dw)
