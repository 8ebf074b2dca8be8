"""Tables of loop closures: cut joints, auxiliary bodies, rods, driven distances, couplers; points and axes in dof
axes.
"""

from typing import NamedTuple

import numpy as np

from rtmbs.forces.kind import integers
from rtmbs.model.body import Marker, reference_distance
from rtmbs.model.constraints import Coupler
from rtmbs.model.description import ModelDescription
from rtmbs.model.joints import Fixed, Joint
from rtmbs.system.dof_layout import ConnectorList, DofLayout, Placement
from rtmbs.system.force_tables import AffineProfile
from rtmbs.system.input_slots import Slots, sample
from rtmbs.system.system import Array, ClosureInfo, Integers, Mask
from rtmbs.system.tables import DISTANCE, DOT, RELATION, TRANSLATION, Closures, Couplers
from rtmbs.system.topology import Topology

KINDS = {"translation": TRANSLATION, "dot": DOT}
ZERO = np.zeros(3)


class ClosureRow(NamedTuple):
    """Row of ``Closures`` under construction."""

    kind: int
    axis_a: Array  # (3,) dof axes of a
    axis_b: Array  # (3,) dof axes of b
    length: float
    slot: int
    name: str
    turns: bool = False  # of a RELATION: it is measured in rad


class ClosureRows(NamedTuple):
    """Rows of a closure between two placed bodies."""

    name: str
    a: int  # dof
    b: int  # dof
    point_a: Array  # (3,) dof axes of a
    point_b: Array  # (3,) dof axes of b
    rows: list[ClosureRow]
    aligned_a: Array  # (k, 3)
    aligned_b: Array  # (k, 3)
    branch: tuple[int, ...] = ()  # of a coupler or a condition on coordinates: the dofs that it joins
    ratios: tuple[float, ...] = ()  # of a coupler alone, one for each dof of the branch


def build_closures(
    model: ModelDescription, topology: Topology, layout: DofLayout, slots: Slots, length: float
) -> list[ClosureRows]:
    """Return cut joints and auxiliary bodies in the order of the joints, then rods and driven distances."""
    joints = list(model.joints.values())
    found = []
    for cut in topology.cuts:
        joint = joints[cut.edge]
        if cut.auxiliary:
            found.append(close_auxiliary(joint, layout))
        elif joint.equations():
            found.append(close_joint(joint, layout))
    for rod in model.rods.values():
        row = ClosureRow(DISTANCE, ZERO, ZERO, rod.length, -1, f"{rod.name}.distance")
        found.append(close_distance(rod.name, rod.between, row, layout))
    for driver in model.drivers.values():
        if driver.between:
            slot = slots.add_driver(driver.name, driver.profile)
            divisor = abs(float(slots.values[-1][0])) or reference_distance(*driver.between) or length
            row = ClosureRow(DISTANCE, ZERO, ZERO, divisor, slot, f"{driver.name}.distance")
            found.append(close_distance(driver.name, driver.between, row, layout))
    return found


def close_joint(joint: Joint, layout: DofLayout) -> ClosureRows:
    """Return the equations of a cut joint by its type."""
    a, b = layout.bodies[joint.a.name], layout.bodies[joint.b.name]
    turn_a, turn_b = a.rotation @ joint.axes_a, b.rotation @ joint.axes_b
    rows = [
        ClosureRow(KINDS[row.kind], turn_a @ row.u, turn_b @ row.v, 0.0, -1, f"{joint.name}.{row.label}")
        for row in joint.equations()
    ]
    return oriented(joint, rows, (a, joint.point_a, turn_a), (b, joint.point_b, turn_b), joint.aligned())


def close_auxiliary(joint: Joint, layout: DofLayout) -> ClosureRows:
    """Return the Fixed closure between an auxiliary body, the massless copy of body b, and body b."""
    fixed, copy, b = Fixed(), layout.auxiliaries[joint.name], layout.bodies[joint.b.name]
    turn_a, turn_b = copy.rotation @ joint.axes_b, b.rotation @ joint.axes_b
    rows = [
        ClosureRow(KINDS[row.kind], turn_a @ row.u, turn_b @ row.v, 0.0, -1, f"{joint.name}.{row.label}")
        for row in fixed.equations()
    ]
    return oriented(joint, rows, (copy, joint.point_b, turn_a), (b, joint.point_b, turn_b), fixed.aligned())


def oriented(
    joint: Joint,
    rows: list[ClosureRow],
    side_a: tuple[Placement, Array, Array],
    side_b: tuple[Placement, Array, Array],
    aligned: tuple[Array, ...],
) -> ClosureRows:
    """Return a joint's closure; a side is (placed body, joint point on it, joint axes to dof axes)."""
    (a, point_a, turn_a), (b, point_b, turn_b) = side_a, side_b
    directions = np.reshape(aligned, (-1, 3))
    ends = a.point(point_a), b.point(point_b)
    return ClosureRows(joint.name, a.dof, b.dof, *ends, rows, directions @ turn_a.T, directions @ turn_b.T)


def close_distance(name: str, between: tuple[Marker, Marker], row: ClosureRow, layout: DofLayout) -> ClosureRows:
    """Return the one equation of a rod or a driven distance."""
    a, b = (layout.bodies[marker.body.name] for marker in between)
    none = np.zeros((0, 3))
    return ClosureRows(name, a.dof, b.dof, a.point(between[0].point), b.point(between[1].point), [row], none, none)


def build_couplers(model: ModelDescription, layout: DofLayout, slots: Slots, length: float) -> list[ClosureRows]:
    """Return the couplers, the last of all closures."""
    return [close_coupler(coupler, layout, slots, length) for coupler in model.couplers.values()]


def close_coupler(coupler: Coupler, layout: DofLayout, slots: Slots, length: float) -> ClosureRows:
    """Return the equation of a coupler, divided by the factor of its heaviest coordinate.

    So its violation and its multiplier have the units of that coordinate, whatever numbers the user chose. Angles weigh
    by the radian, displacements by the characteristic ``length``.
    """
    dofs = tuple(layout.joint_dofs[joint.name][k] for joint, k, _ in coupler.terms)
    weight = [abs(f) * (length if unit == "m" else 1.0) for f, unit in zip(coupler.factors, coupler.units, strict=True)]
    main = int(np.argmax(weight))
    divisor = coupler.factors[main]
    constant, slot = 0.0, -1
    if callable(coupler.offset):
        what = f"{coupler.kind} {coupler.name!r}: offset"
        sample(what, coupler.offset, 3)
        profile = AffineProfile(coupler.offset, 0.0, divisor)
        slot = slots.add_signal(what, coupler.name, profile, 3, driver=True)
    else:
        constant = coupler.offset / divisor
    row = ClosureRow(RELATION, ZERO, ZERO, constant, slot, f"{coupler.name}.sum", coupler.units[main] == "rad")
    ratios = tuple(factor / divisor for factor in coupler.factors)
    none = np.zeros((0, 3))
    return ClosureRows(coupler.name, dofs[0], dofs[0], ZERO, ZERO, [row], none, none, dofs, ratios)


def tabulate_couplers(found: list[ClosureRows]) -> Couplers:
    """Return the columns that couplers have besides their closures."""
    own = [closure for closure in found if closure.ratios]
    ratios = [ratio for closure in own for ratio in closure.ratios]
    return Couplers(np.array([len(found) - len(own)], np.int64), np.array(ratios, np.float64))


def tabulate_closures(found: list[ClosureRows], connector_list: ConnectorList) -> Closures:
    """Return the closures as arrays, without places in the flat Phi_z."""
    rows = [row for closure in found for row in closure.rows]
    counts = np.array([len(closure.rows) for closure in found], np.int64)
    nc, mc = len(found), len(rows)
    return Closures(
        connector=integers([connector_list.add(closure.a, closure.b, closure.branch) for closure in found]),
        row_pointer=pointer(counts),
        point_a=np.array([closure.point_a for closure in found]).reshape(nc, 3),
        point_b=np.array([closure.point_b for closure in found]).reshape(nc, 3),
        kind=np.array([row.kind for row in rows], np.int64),
        axis_a=np.array([row.axis_a for row in rows]).reshape(mc, 3),
        axis_b=np.array([row.axis_b for row in rows]).reshape(mc, 3),
        length=np.array([row.length for row in rows], np.float64),
        slot=np.array([row.slot for row in rows], np.int64),
        assembly_offset=np.zeros(mc),
        entry_pointer=np.zeros(nc + 1, np.int64),
    )


def closure_infos(found: list[ClosureRows]) -> tuple[ClosureInfo, ...]:
    return tuple(ClosureInfo(closure.name, closure.aligned_a, closure.aligned_b) for closure in found)


class RowDescriptions(NamedTuple):
    """Names, blocks and kinds of the rows of Phi."""

    names: list[str]
    block: Integers  # (m,)
    closure: Integers  # (m,)
    is_rotation: Mask  # (m,)


def describe_rows(found: list[ClosureRows], drivers: list[tuple[str, bool]]) -> RowDescriptions:
    """Return names, blocks and kinds of all rows; ``drivers`` are (name, coordinate is an angle).

    Translations (and distances) of one closure are a block, its dot products another, a driver one alone.
    """
    names, block, closure, rotation = [], [], [], []
    blocks: dict[tuple[str, int, bool], int] = {}
    for l, one in enumerate(found):
        for row in one.rows:
            turns = row.kind == DOT or row.turns
            names.append(row.name)
            block.append(blocks.setdefault(("closure", l, turns), len(blocks)))
            closure.append(l)
            rotation.append(turns)
    for k, (name, turns) in enumerate(drivers):
        names.append(name)
        block.append(blocks.setdefault(("driver", k, turns), len(blocks)))
        closure.append(-1)
        rotation.append(turns)
    return RowDescriptions(names, np.array(block, np.int64), np.array(closure, np.int64), np.array(rotation, np.bool_))


def pointer(counts: Integers) -> Integers:
    """Return the starts of several lists laid end to end, and the end."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
