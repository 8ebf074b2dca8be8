"""Spring-dampers between two points: pull = stiffness (l - length) + damping ld + tension along their line."""

# mypy: allow-untyped-defs, allow-untyped-calls

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rtmbs.forces.algebra import points
from rtmbs.forces.kind import BuildContext, DrawnLine, ForceKernels, ForceKind, Measure, ends_of, integers, stacked
from rtmbs.jit.compiled import inner_kernel, merged_kernel
from rtmbs.jit.struct import struct
from rtmbs.model.body import reference_distance
from rtmbs.model.forces import Force
from rtmbs.numerics.rotations.plain import cross, dot
from rtmbs.numerics.spatial import (
    add3,
    add6,
    angular,
    cross3,
    dot3,
    force_at,
    join,
    load3,
    load6,
    place,
    point_velocity,
    scale3,
    sub3,
)

Array = Any
COINCIDENT = 1e-12  # distance of the markers of a spring, in characteristic lengths, that is none


@struct
class Springs(NamedTuple):
    """Spring-dampers between two points."""

    connector: Array  # (ns,) int64
    point_a: Array  # (ns, 3) dof axes of a [m]
    point_b: Array  # (ns, 3) dof axes of b [m]
    slot: Array  # (ns,) int64: slot of (stiffness, damping, length, tension)


def build(forces: Sequence[Force], site: BuildContext) -> Springs:
    """Return the springs of a model."""
    connector, slot, point_a, point_b = [], [], [], []
    for force in forces:
        a, b = ends_of(force, site)
        assert force.between is not None
        connector.append(site.connect(a.dof, b.dof))
        slot.append(site.parameters(force, length=reference_distance(*force.between)))
        point_a.append(a.point)
        point_b.append(b.point)
    return Springs(integers(connector), stacked(point_a, 3), stacked(point_b, 3), integers(slot))


@merged_kernel
def table(tables):
    """Return the springs."""
    return tables.forces.springs


@inner_kernel
def spring_state(tables, k, ws):
    """Return x_a, x_b, unit vector a to b, length, relative velocity of the points."""
    springs, connectors = tables.forces.springs, tables.connectors
    a, b = connectors.a[springs.connector[k]], connectors.b[springs.connector[k]]
    xa, xb = place(ws.A, ws.r, a, load3(springs.point_a, k)), place(ws.A, ws.r, b, load3(springs.point_b, k))
    d = sub3(xb, xa)
    length = np.sqrt(dot3(d, d))
    velocity = sub3(point_velocity(load6(ws.V, b), xb), point_velocity(load6(ws.V, a), xa))
    return xa, xb, scale3(1.0 / length, d), length, velocity


@inner_kernel
def spring_pull(slot, u, length, rate):
    """Return k (l - length) + c ld + tension [N]; positive pulls the points together."""
    return u[slot] * (length - u[slot + 2]) + u[slot + 1] * rate + u[slot + 3]


@inner_kernel
def wrench(tables, k, u, ws):
    """Wrench of spring ``k`` on dof b."""
    _, xb, e, length, velocity = spring_state(tables, k, ws)
    return force_at(xb, scale3(-spring_pull(tables.forces.springs.slot[k], u, length, dot3(e, velocity)), e))


@inner_kernel
def variation(tables, k, side, X, dV, u, ws):
    """Change of the wrench on b when the end ``side`` moves by the twist X and its velocity by dV.

    The velocity of the moved point changes by omega x dx as well, for the twist is kept while the point moves.
    """
    springs, connectors = tables.forces.springs, tables.connectors
    xa, xb, e, length, velocity = spring_state(tables, k, ws)
    end, x = (connectors.a[springs.connector[k]], xa) if side < 0.0 else (connectors.b[springs.connector[k]], xb)
    dx = point_velocity(X, x)
    dv = add3(point_velocity(dV, x), cross3(angular(load6(ws.V, end)), dx))
    along = dot3(e, dx)
    de = scale3(side / length, sub3(dx, scale3(along, e)))
    slot = springs.slot[k]
    pull = spring_pull(slot, u, length, dot3(e, velocity))
    dpull = u[slot] * side * along + u[slot + 1] * (dot3(de, velocity) + side * dot3(e, dv))
    force = add3(scale3(-dpull, e), scale3(-pull, de))
    if side < 0.0:
        return force_at(xb, force)
    return add6(force_at(xb, force), join(scale3(0.0, e), cross3(dx, scale3(-pull, e))))


@inner_kernel
def energy(tables, k, u, ws):
    """Elastic energy of spring ``k``, potential of its tension, and its damping."""
    slot = tables.forces.springs.slot[k]
    _, _, _, length, _ = spring_state(tables, k, ws)
    return 0.5 * u[slot] * (length - u[slot + 2]) ** 2, u[slot + 3] * length, abs(u[slot + 1])


@inner_kernel
def measure(tables, k, u, ws, out):
    """Write length [m] and pull [N] of spring ``k``."""
    _, _, e, length, velocity = spring_state(tables, k, ws)
    out[0], out[1] = length, spring_pull(tables.forces.springs.slot[k], u, length, dot3(e, velocity))


def page(xp, tables, u, A, r, V):
    """Return the wrenches (B, ns, 6), readable."""
    springs = tables.forces.springs
    x_a, v_a = points(xp, A, r, V, tables.connectors.a[springs.connector], springs.point_a)
    x_b, v_b = points(xp, A, r, V, tables.connectors.b[springs.connector], springs.point_b)
    stiffness, damping, length, tension = (u[springs.slot + k] for k in range(4))
    d = x_b - x_a
    l = xp.sqrt(dot(xp, d, d))
    ld = dot(xp, d, v_b - v_a) / l
    pull = stiffness * (l - length) + damping * ld + tension
    f = -(pull / l)[..., None] * d
    return xp.concatenate((f, cross(xp, x_b, f)), axis=-1)


def drawing(springs: Springs, row: int) -> DrawnLine:
    """Return the drawing of a spring: a coil from end to end."""
    return DrawnLine("coil", springs.point_a[row], springs.point_b[row])


def refusal(springs: Springs, row: int, connectors: Any, ws: Any, length: float) -> str:
    """Refuse a spring whose markers coincide at the start: its direction is not defined."""
    a, b = connectors.a[springs.connector[row]], connectors.b[springs.connector[row]]
    gap = ws.r[b] + ws.A[b] @ springs.point_b[row] - ws.r[a] - ws.A[a] @ springs.point_a[row]
    if np.linalg.norm(gap) > COINCIDENT * length:
        return ""
    return (
        "its two markers coincide at the start, so it has no direction; move one of them, or give other initial values"
    )


SPRINGS = ForceKind(
    name="springs",
    word="spring",
    table=Springs,
    size=4,
    units={"stiffness": "N/m", "damping": "N s/m", "length": "m", "tension": "N"},
    kernels=ForceKernels(table, wrench, variation, energy),
    build=build,
    page=page,
    measured=2,
    measure=measure,
    channels=lambda *_: (Measure("length", "m", 0), Measure("pull", "N", 1)),
    drawing=drawing,
    refusal=refusal,
)
