"""Degrees of freedom of a spanning tree, the bodies on them, the list of connectors, and initial values.

The frame of a joint's dofs has its origin in the joint point and, at zero coordinates, the axes of the body that the
tree enters, so a body sits on its dof without a rotation. Welded bodies sit on the dof of the body that carries them.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.body import Body
from rtmbs.model.checks import rotation_of_quaternion
from rtmbs.model.constraints import Driver
from rtmbs.model.description import ModelDescription
from rtmbs.model.joints import ROTATION as ROTATIONS
from rtmbs.model.joints import Initial, Joint
from rtmbs.system.input_slots import sample
from rtmbs.system.system import Array, Integers, Mask
from rtmbs.system.tables import PRISMATIC, REVOLUTE, ROTATION, Dofs
from rtmbs.system.topology import Topology

SWEEPS = 12  # of Jacobi's rotations: each doubles the digits at least
ROUNDING = 1e-16  # off-diagonal inertia, relative to the two it couples, that is none

KINDS = {"revolute": REVOLUTE, "prismatic": PRISMATIC, "rotation": ROTATION}


class Placement(NamedTuple):
    """Placement of a body on a dof."""

    dof: int  # -1 ground
    rotation: Array  # (3, 3) body to dof axes
    position: Array  # (3,) body origin, dof axes [m]

    def point(self, local: Array) -> Array:
        """Return a point given in body axes, in dof axes [m]."""
        return self.position + self.rotation @ local


class Lump(NamedTuple):
    """Rigid-body inertia on a dof."""

    mass: float  # [kg]
    center: Array  # (3,) dof axes [m]
    inertia: Array  # (3, 3) about the mass centre, dof axes [kg m^2]


class DofRow(NamedTuple):
    """Row of ``Dofs`` under construction."""

    kind: int
    parent: int
    offset_rotation: Array
    offset: Array
    axis: Array
    reference: int
    name: str
    pitch: float  # [m/rad]


@dataclass
class DofLayout:
    """Dofs of a tree, and the placement of bodies and auxiliary bodies on them."""

    dofs: list[DofRow] = field(default_factory=list)
    references: int = 0  # number of reference rotations
    bodies: dict[str, Placement] = field(default_factory=dict)
    auxiliaries: dict[str, Placement] = field(default_factory=dict)  # by joint: the massless copy of its body b
    joint_dofs: dict[str, tuple[int, ...]] = field(default_factory=dict)  # in the order of the type's dofs
    reversed: dict[str, bool] = field(default_factory=dict)
    mover: dict[int, str] = field(default_factory=dict)  # dof: the body that it moves first


def build_dof_layout(model: ModelDescription, topology: Topology) -> DofLayout:
    """Return the dofs of every joint, from ground outwards, then those of the auxiliary bodies."""
    joints = list(model.joints.values())
    layout = DofLayout()
    layout.bodies[model.ground.name] = Placement(-1, np.eye(3), np.zeros(3))
    for branch in topology.tree:
        joint = joints[branch.edge]
        parent, child = (joint.b, joint.a) if branch.reversed else (joint.a, joint.b)
        layout.bodies[child.name] = append_joint(layout, joint, layout.bodies[parent.name], branch.reversed)
    for cut in topology.cuts:
        if cut.auxiliary:
            joint = joints[cut.edge]
            layout.auxiliaries[joint.name] = append_joint(layout, joint, layout.bodies[joint.a.name], False)
    return layout


def append_joint(layout: DofLayout, joint: Joint, parent: Placement, backwards: bool) -> Placement:
    """Append the dofs of a joint behind ``parent`` and return the placement of the body that they carry.

    Walked from b to a, the inverse of X1(z1) X2(z2) is X2(-z2) X1(-z1): the dofs come in reversed order with turned
    axes, so every coordinate keeps the user's sign. A pitch stays: a screw is right-handed from either end. Rotations
    stay as they are, X, Y, Z of the body entered, and so does the whole of a floating joint: they have no public
    coordinates, and start values are inverted instead.
    """
    sides = (joint.point_a, joint.axes_a), (joint.point_b, joint.axes_b)
    (point_p, axes_p), (point_c, axes_c) = sides[::-1] if backwards else sides
    offset_rotation, offset = parent.rotation @ axes_p @ axes_c.T, parent.point(point_p)
    elements = joint.type.dofs()
    check_rotations(joint)
    if not elements:
        return Placement(parent.dof, offset_rotation, offset - offset_rotation @ point_c)
    mirrored = backwards and joint.type.start != "pose"
    numbers, last = [], parent.dof
    for k in tree_order(joint, mirrored):
        element = elements[k]
        axis = element.axis if element.kind == "rotation" else axes_c @ element.axis * (-1.0 if mirrored else 1.0)
        reference = -1
        if element.kind == "rotation" and not (k > 0 and elements[k - 1].kind == "rotation"):
            reference, layout.references = layout.references, layout.references + 1
        dof = DofRow(
            KINDS[element.kind], last, offset_rotation, offset, axis, reference, dof_name(joint, k), element.pitch
        )
        last = len(layout.dofs)
        layout.dofs.append(dof)
        numbers.append((k, last))
        offset_rotation, offset = np.eye(3), np.zeros(3)
    layout.joint_dofs[joint.name] = tuple(number for _, number in sorted(numbers))
    layout.reversed[joint.name] = backwards
    layout.mover.update(dict.fromkeys((number for _, number in numbers), (joint.a if backwards else joint.b).name))
    return Placement(last, np.eye(3), -point_c)


def check_rotations(joint: Joint) -> None:
    """Refuse a pitch of a dof that is not revolute, and rotation dofs other than ROTATION, three in a row."""
    elements = joint.type.dofs()
    slides = [k for k in joint.type.pitched if elements[k].kind != "revolute"]
    if slides:
        raise ModelError(
            f"joint {joint.name!r}: dof {slides[0]} of {type(joint.type).__name__} is of kind "
            f"{elements[slides[0]].kind!r} and has a pitch; only a revolute dof slides as it turns"
        )
    found = [k for k, element in enumerate(elements) if element.kind == "rotation"]
    whole = len(found) == 3 and found[2] - found[0] == 2
    if found and not (whole and all(elements[k] is dof for k, dof in zip(found, ROTATIONS, strict=True))):
        raise ModelError(
            f"joint {joint.name!r}: the dofs of {type(joint.type).__name__} hold {len(found)} of kind 'rotation'; "
            "write *ROTATION, the three of them in a row, or dofs of kind 'revolute'"
        )


def tree_order(joint: Joint, mirrored: bool) -> list[int]:
    """Return the numbers of the joint's dofs in the order of the tree; three rotations stay in order."""
    elements = joint.type.dofs()
    if not mirrored:
        return list(range(len(elements)))
    rotation = [k for k, element in enumerate(elements) if element.kind == "rotation"]
    plain = [k for k in range(len(elements)) if k not in rotation]
    return rotation + plain[::-1] if rotation and rotation[0] > 0 else plain[::-1] + rotation


def dof_name(joint: Joint, k: int) -> str:
    """Return the name of the joint's dof ``k``: its coordinate, or its motion when it is none."""
    if joint.type.coordinates:
        return f"{joint.name}.{joint.type.coordinates[k]}"
    elements = joint.type.dofs()
    same = [i for i, element in enumerate(elements) if element.kind == elements[k].kind]
    return f"{joint.name}.{'rotation' if elements[k].kind == 'rotation' else 'slide'}_{same.index(k) + 1}"


def elements_of(parent: Integers, reference: Integers) -> tuple[Integers, Integers]:
    """Return ``base`` and ``tip`` (n,) of ``Dofs``: three rotation dofs are one element, any other is its own."""
    base, tip = parent.copy(), np.arange(len(parent), dtype=np.int64)
    for first in np.flatnonzero(reference >= 0):
        base[first : first + 3], tip[first : first + 3] = parent[first], first + 2
    return base, tip


def place_mass(body: Body, place: Placement) -> Lump:
    """Return a body's inertia in the axes of its dof."""
    turned = place.rotation @ body.inertia @ place.rotation.T
    return Lump(body.mass, place.point(body.center_of_mass), 0.5 * (turned + turned.T))


def merge_inertias(lumps: list[Lump]) -> Lump:
    """Return the inertia of several lumps on one dof (Steiner's terms about the common mass centre)."""
    if len(lumps) == 1:
        return lumps[0]
    mass = sum(lump.mass for lump in lumps)
    center = sum((lump.mass * lump.center for lump in lumps), np.zeros(3)) / mass if mass > 0.0 else np.zeros(3)
    inertia = np.zeros((3, 3))
    for lump in lumps:
        d = lump.center - center
        inertia += lump.inertia + lump.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return Lump(mass, center, inertia)


def about_origin(lump: Lump) -> Array:
    """Return the inertia (3, 3) about the origin of the dof, dof axes."""
    d = lump.center
    return lump.inertia + lump.mass * (d @ d * np.eye(3) - np.outer(d, d))


def principal_axes(J: Array) -> Array:
    """Return a right-handed triad (3, 3), by rows, in which the inertia J is diagonal; that of J's axes when it is.

    Rates along them decouple: a thin rod between two balls spins about itself without a share of the large inertia and
    of the penalties across it. Jacobi's rotations in plain arithmetic, so that every machine finds the same digits.
    """
    J, axes = J.copy(), np.eye(3)
    for _ in range(SWEEPS):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            if abs(J[p, q]) <= ROUNDING * np.sqrt(abs(J[p, p] * J[q, q])):
                continue
            slope = (J[q, q] - J[p, p]) / (2.0 * J[p, q])
            t = (1.0 if slope >= 0.0 else -1.0) / (abs(slope) + np.sqrt(1.0 + slope * slope))
            c = 1.0 / np.sqrt(1.0 + t * t)
            for rows in (J, J.T, axes):
                rows[p], rows[q] = c * (rows[p] - t * rows[q]), c * (rows[q] + t * rows[p])
    return axes


def tabulate_dofs(model: ModelDescription, layout: DofLayout) -> Dofs:
    """Return the dofs as arrays, welded bodies merged into the dof that carries them."""
    n = len(layout.dofs)
    carried: list[list[Lump]] = [[] for _ in range(n + 1)]  # the last one is ground
    for name, place in layout.bodies.items():
        carried[place.dof].append(place_mass(model.bodies[name], place))
    lumps = [merge_inertias(group) if group else Lump(0.0, np.zeros(3), np.zeros((3, 3))) for group in carried[:n]]
    dofs = layout.dofs
    rotations = np.array([dof.offset_rotation for dof in dofs]).reshape(n, 3, 3)
    parent = np.array([dof.parent for dof in dofs], np.int64)
    reference = np.array([dof.reference for dof in dofs], np.int64)
    base, tip = elements_of(parent, reference)
    axis = np.array([dof.axis for dof in dofs]).reshape(n, 3)
    for first in np.flatnonzero(reference >= 0):
        axis[first : first + 3] = principal_axes(about_origin(lumps[first + 2]))
    return Dofs(
        kind=np.array([dof.kind for dof in dofs], np.int64),
        parent=parent,
        base=base,
        tip=tip,
        offset_rotation=rotations,
        turned=np.any(rotations != np.eye(3), axis=(1, 2)).astype(np.int64),
        offset=np.array([dof.offset for dof in dofs]).reshape(n, 3),
        axis=axis,
        pitch=np.array([dof.pitch for dof in dofs], np.float64),
        reference=reference,
        mass=np.array([lump.mass for lump in lumps], np.float64),
        mass_center=np.array([lump.center for lump in lumps]).reshape(n, 3),
        inertia=np.array([lump.inertia for lump in lumps]).reshape(n, 3, 3),
    )


class ConnectorList:
    """Pairs of dofs joined by a closure or a force, in the order of request."""

    def __init__(self) -> None:
        self.pairs: list[tuple[int, int]] = []
        self.branches: dict[int, Integers] = {}  # of connectors that join coordinates instead of bodies

    def add(self, a: int, b: int, branch: tuple[int, ...] = ()) -> int:
        """Return the number of a new connector between dofs ``a`` and ``b`` (-1: ground).

        ``branch`` lists the coordinates that it joins instead.
        """
        self.pairs.append((a, b))
        number = len(self.pairs) - 1
        if branch:
            self.branches[number] = np.array(branch, np.int64)
        return number


# ---- initial coordinates, rates and reference rotations from ``set_initial`` and drivers ----------------------------


CONFLICT = 1e-9  # of the typical size: what a pinned value may miss a driver by


class InitialMotion(NamedTuple):
    """Initial values of all coordinates, as far as they were set."""

    z0: Array  # (n,)
    zd0: Array  # (n,)
    R0: Array  # (nr, 3, 3)
    pinned_z: Mask  # (n,)
    pinned_zd: Mask  # (n,)
    weights: Array  # (n,)


def build_initial_motion(model: ModelDescription, layout: DofLayout, axis: Array, typical: Array) -> InitialMotion:
    """Return the initial values; drivers give way to pinned values unless these contradict them.

    axis (n, 3) as in ``Dofs``: those of rotation dofs say along which axes of the body their rates are.
    """
    n = len(layout.dofs)
    none = np.zeros(n, np.bool_)
    rotations = np.tile(np.eye(3), (layout.references, 1, 1))
    start = InitialMotion(np.zeros(n), np.zeros(n), rotations, none.copy(), none.copy(), np.ones(n))
    drivers = [driver for driver in model.drivers.values() if driver.joint]
    for driver in drivers:
        dof, motion = driven_dof(driver, layout), sample(f"driver {driver.name!r}", driver.profile, 3)
        start.z0[dof], start.zd0[dof] = motion[0], motion[1]
    for initial in model.initials.values():
        apply_initial(initial, layout, axis, start)
    for driver in drivers:
        check_conflict(driver, driven_dof(driver, layout), start, typical)
    return start


def driven_dof(driver: Driver, layout: DofLayout) -> int:
    assert driver.joint
    return layout.joint_dofs[driver.joint[0].name][driver.joint[1]]


def apply_initial(initial: Initial, layout: DofLayout, axis: Array, start: InitialMotion) -> None:
    """Write the values of one joint into the start."""
    joint = initial.joint
    dofs = list(layout.joint_dofs[joint.name])
    start.weights[dofs] = initial.weight
    start.pinned_z[dofs] = initial.pin and initial.position is not None
    start.pinned_zd[dofs] = initial.pin and initial.rate is not None
    if joint.type.start == "coordinates":
        if initial.position is not None:
            start.z0[dofs] = initial.position
        if initial.rate is not None:
            start.zd0[dofs] = initial.rate
        return
    position = np.zeros(3) if initial.position is None or joint.type.start != "pose" else initial.position[:3]
    reference = joint.axes_a @ joint.axes_b.T
    turn = reference if initial.position is None else rotation_of_quaternion(initial.position[-4:])
    rate = np.zeros(6) if initial.rate is None else np.concatenate([np.zeros(6), initial.rate])[-6:]
    backwards = layout.reversed[joint.name]
    if backwards:
        position, rate = inverse_motion(joint, position, turn, rate)
    rotation = dofs[-3:]
    start.R0[int(layout.dofs[rotation[0]].reference)] = reference @ turn.T if backwards else reference.T @ turn
    start.zd0[rotation] = axis[rotation] @ rate[3:]
    if joint.type.start == "pose":
        start.z0[dofs[:3]], start.zd0[dofs[:3]] = position, rate[:3]


def inverse_motion(joint: Joint, position: Array, turn: Array, rate: Array) -> tuple[Array, Array]:
    """Return position and rate of a relative to b from those of b relative to a.

    position (3,) in joint axes; turn (3, 3) body b to a; rate (6,) [velocity in joint axes, angular velocity in the
    axes of the moving body]. With q the distance in axes of a, that of b to a is -turn^T q, and turn' = turn omega~.
    """
    omega = rate[3:]
    seen = turn.T @ (joint.axes_a @ position)
    speed = turn.T @ (joint.axes_a @ rate[:3]) - np.cross(omega, seen)
    return -joint.axes_b.T @ seen, np.concatenate([-joint.axes_b.T @ speed, -turn @ omega])


def check_conflict(driver: Driver, dof: int, start: InitialMotion, typical: Array) -> None:
    """Refuse a pinned value that a driver contradicts at t = 0."""
    assert driver.joint
    motion = sample(f"driver {driver.name!r}", driver.profile, 3)
    for pinned, value, wanted, what in (
        (start.pinned_z[dof], start.z0[dof], motion[0], "position"),
        (start.pinned_zd[dof], start.zd0[dof], motion[1], "rate"),
    ):
        if pinned and abs(value - wanted) > CONFLICT * max(typical[dof], abs(wanted)):
            raise ModelError(
                f"driver {driver.name!r} starts {driver.target} with the {what} {wanted:.9g}, "
                f"but its initial {what} is pinned to {value:.9g}; make them equal, or leave it to the driver"
            )
