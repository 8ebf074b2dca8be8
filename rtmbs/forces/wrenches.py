"""Given wrenches on one body: a force at a point and a torque, in world axes or in axes that turn with the body."""

# mypy: allow-untyped-defs, allow-untyped-calls

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rtmbs.forces.algebra import on_ground, points
from rtmbs.forces.kind import WORLD, XYZ, BuildContext, DrawnArrow, ForceKernels, ForceKind, Measure, integers, stacked
from rtmbs.jit.compiled import inner_kernel, merged_kernel
from rtmbs.jit.struct import struct
from rtmbs.model.forces import Force
from rtmbs.numerics.rotations.plain import cross, turn
from rtmbs.numerics.spatial import add3, cross3, cross_force, join, load3, place, point_velocity, rotate, scale3

Array = Any


@struct
class Wrenches(NamedTuple):
    """Given wrenches on one body; their connectors lead from ground to it."""

    connector: Array  # (nw,) int64
    point: Array  # (nw, 3) point of application, dof axes of b [m]
    axes: Array  # (nw, 3, 3) axes of the given wrench to dof axes of b; used when follows is 1
    follows: Array  # (nw,) int64: 1 when the wrench turns with the body, 0 for world axes
    slot: Array  # (nw,) int64: slot of (fx, fy, fz, nx, ny, nz)


def build(forces: Sequence[Force], site: BuildContext) -> Wrenches:
    """Return the given wrenches of a model."""
    ends, connector, follows, slot = [], [], [], []
    for force in forces:
        assert force.body is not None
        assert force.point is not None
        ends.append(site.body(force.body, force.point))
        connector.append(site.connect(-1, ends[-1].dof))
        follows.append(int(getattr(force.law, "axes", WORLD) == "body"))
        slot.append(site.parameters(force))
    return Wrenches(
        connector=integers(connector),
        point=stacked([end.point for end in ends], 3),
        axes=stacked([end.axes for end in ends], 3, 3),
        follows=integers(follows),
        slot=integers(slot),
    )


@merged_kernel
def table(tables):
    """Return the given wrenches."""
    return tables.forces.wrenches


@inner_kernel
def wrench(tables, k, u, ws):
    """Wrench ``k`` on dof b about the global origin."""
    wrenches = tables.forces.wrenches
    slot, b = wrenches.slot[k], tables.connectors.b[wrenches.connector[k]]
    f, n = (u[slot], u[slot + 1], u[slot + 2]), (u[slot + 3], u[slot + 4], u[slot + 5])
    x = place(ws.A, ws.r, b, load3(wrenches.point, k))
    if wrenches.follows[k] == 1:
        fw, nw = rotate(ws.A, b, rotate(wrenches.axes, k, f)), rotate(ws.A, b, rotate(wrenches.axes, k, n))
        return join(fw, add3(cross3(x, fw), nw))
    return join(add3(f, scale3(0.0, x)), add3(cross3(x, f), n))


@inner_kernel
def variation(tables, k, side, X, dV, u, ws):
    """Change of wrench ``k`` when dof b moves by the twist X."""
    wrenches = tables.forces.wrenches
    F = wrench(tables, k, u, ws)
    if wrenches.follows[k] == 1:
        return cross_force(X, F)
    slot = wrenches.slot[k]
    x = place(ws.A, ws.r, tables.connectors.b[wrenches.connector[k]], load3(wrenches.point, k))
    dx = point_velocity(X, x)
    return join(scale3(0.0, x), cross3(dx, (u[slot], u[slot + 1], u[slot + 2])))


@inner_kernel
def energy(tables, k, u, ws):
    """Return no energy, and the size of wrench ``k``, whose work no balance counts."""
    slot, size = tables.forces.wrenches.slot[k], 0.0
    for j in range(6):
        size += abs(u[slot + j])
    return 0.0, 0.0, size


@inner_kernel
def measure(tables, k, u, ws, out):
    """Write force [N] and torque [N m] as they were given."""
    for j in range(6):
        out[j] = u[tables.forces.wrenches.slot[k] + j]


def page(xp, tables, u, A, r, V):
    """Return the wrenches (B, nw, 6), readable."""
    wrenches = tables.forces.wrenches
    body, follows = tables.connectors.b[wrenches.connector], wrenches.follows[:, None]
    axes = on_ground(xp, A, np.eye(3), body)
    f, n = (u[wrenches.slot[:, None] + k + np.arange(3)] for k in (0, 3))
    f, n = (follows * turn(xp, axes, turn(xp, wrenches.axes, x)) + (1 - follows) * x for x in (f, n))
    x, _ = points(xp, A, r, V, body, wrenches.point)
    return xp.concatenate((f, n + cross(xp, x, f)), axis=-1)


def channels(wrenches: Wrenches, row: int) -> tuple[Measure, ...]:
    """Return force and torque, in world or body axes."""
    frame = "body" if wrenches.follows[row] else WORLD
    return Measure("force", "N", 0, XYZ, frame), Measure("torque", "N m", 3, XYZ, frame)


def drawing(wrenches: Wrenches, row: int) -> DrawnArrow:
    """Return the arrow of the force."""
    return DrawnArrow(wrenches.point[row], wrenches.axes[row], bool(wrenches.follows[row]), int(wrenches.slot[row]))


WRENCHES = ForceKind(
    name="wrenches",
    word="wrench",
    table=Wrenches,
    size=6,
    units={"force": "N", "torque": "N m"},
    kernels=ForceKernels(table, wrench, variation, energy),
    build=build,
    page=page,
    measured=6,
    measure=measure,
    channels=channels,
    drawing=drawing,
)
