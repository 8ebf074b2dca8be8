"""Relative motion of two frames in axes of frame a, and wrenches given in those axes; compiled.

Frames are rows [axes | point] (3, 4) in dof axes. What depends on r, R, v, w alone is blind to a common rigid motion.
Its derivative by these twelve numbers, a turn d of R as (d x) R, is all that the tangent asks for (METHODS 1.26).
"""

from rtmbs.jit.compiled import inner_kernel
from rtmbs.numerics.spatial import (
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


@inner_kernel
def marker_axes(A, i, frame, k):
    """Return the three axes of a marker in the world."""
    x = rotate(A, i, (frame[k, 0, 0], frame[k, 1, 0], frame[k, 2, 0]))
    y = rotate(A, i, (frame[k, 0, 1], frame[k, 1, 1], frame[k, 2, 1]))
    z = rotate(A, i, (frame[k, 0, 2], frame[k, 1, 2], frame[k, 2, 2]))
    return x, y, z


@inner_kernel
def marker_point(ws, i, frame, k):
    """Return the position of a marker in the world [m]."""
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
def relative_motion(table, k, connectors, ws):
    """Return r, the three columns of R, v and w of element ``k``: frame b relative to frame a, in axes of a."""
    a, b = connectors.a[table.connector[k]], connectors.b[table.connector[k]]
    axes, other = marker_axes(ws.A, a, table.frame_a, k), marker_axes(ws.A, b, table.frame_b, k)
    xb = marker_point(ws, b, table.frame_b, k)
    relative = sub6(load6(ws.V, b), load6(ws.V, a))
    r = components(axes, sub3(xb, marker_point(ws, a, table.frame_a, k)))
    v, w = components(axes, point_velocity(relative, xb)), components(axes, angular(relative))
    R = components(axes, other[0]), components(axes, other[1]), components(axes, other[2])
    return r, R, v, w


@inner_kernel
def relative_change(table, k, connectors, side, X, dV, ws):
    """Change of r, of R as a turn, of v and of w when the end ``side`` moves by the twist X and its velocity by dV.

    Moving a turns the axes in which the force works and moves b backwards in them.
    """
    a, b = connectors.a[table.connector[k]], connectors.b[table.connector[k]]
    axes, xb = marker_axes(ws.A, a, table.frame_a, k), marker_point(ws, b, table.frame_b, k)
    relative = sub6(load6(ws.V, b), load6(ws.V, a))
    turned, dx = angular(X), point_velocity(X, xb)
    dv, dw = scale3(side, point_velocity(dV, xb)), scale3(side, angular(dV))
    if side < 0.0:
        dv = sub3(dv, cross3(turned, point_velocity(relative, xb)))
        dw = sub3(dw, cross3(turned, angular(relative)))
    else:
        dv = add3(dv, cross3(angular(relative), dx))
    dr, turn = components(axes, scale3(side, dx)), components(axes, scale3(side, turned))
    return dr, turn, components(axes, dv), components(axes, dw)


@inner_kernel
def world_wrench(table, k, connectors, f, n, ws):
    """Return the wrench about the origin of force f and torque n on b at b's point, given in axes of a."""
    a, b = connectors.a[table.connector[k]], connectors.b[table.connector[k]]
    axes, xb = marker_axes(ws.A, a, table.frame_a, k), marker_point(ws, b, table.frame_b, k)
    force = combined(axes, f)
    return join(force, add3(combined(axes, n), cross3(xb, force)))


@inner_kernel
def world_variation(table, k, connectors, side, X, f, n, df, dn, ws):
    """Change of that wrench when the end ``side`` moves by the twist X, and f and n change by df and dn."""
    a, b = connectors.a[table.connector[k]], connectors.b[table.connector[k]]
    axes, xb = marker_axes(ws.A, a, table.frame_a, k), marker_point(ws, b, table.frame_b, k)
    turned, dx = angular(X), point_velocity(X, xb)
    force, torque = combined(axes, f), combined(axes, n)
    dF, dN = combined(axes, df), combined(axes, dn)
    if side < 0.0:
        dF, dN = add3(dF, cross3(turned, force)), add3(dN, cross3(turned, torque))
        return join(dF, add3(dN, cross3(xb, dF)))
    return join(dF, add3(add3(dN, cross3(xb, dF)), cross3(dx, force)))
