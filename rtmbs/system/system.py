"""``System``: the constant data of a compiled mechanism, its names, and a cache for results of a System alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rtmbs.contact.bearing import Bearing
from rtmbs.contact.switched import CoordinateGap, PointGap
from rtmbs.core.notebook import folded_html, number_text, title_html
from rtmbs.errors import with_count
from rtmbs.model.description import Origin
from rtmbs.model.joints import Joint, JointType
from rtmbs.model.shapes import Looks
from rtmbs.system.tables import Tables
from rtmbs.system.topology import Topology
from rtmbs.system.user_functions import CapturedValues

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
FIRST = attrgetter("first")


class Signal(NamedTuple):
    """A function of time that is written into ``u[slot : slot + size]`` once a step."""

    slot: int
    size: int
    function: Callable[[float], Sequence[float]]  # of t [s], ``size`` floats
    name: str  # what the user reads: ``motor.torque``, ``drive``
    jumps: tuple[float, ...] | None = None  # times at which it jumps [s], ascending; None: not declared
    driver: bool = False  # (f, fd, fdd) of a driver


class BodyInfo(NamedTuple):
    """Placement of a body; dof -1 is ground. Its inertia is that of the user, before welding."""

    dof: int
    rotation: Array  # (3, 3) body to dof axes
    position: Array  # (3,) body origin in dof axes [m]
    mass: float  # [kg]
    center_of_mass: Array  # (3,) body axes [m]
    inertia: Array  # (3, 3) about the mass centre, body axes [kg m^2]


class JointInfo(NamedTuple):
    """Place of a joint in the tree or among the closures; an auxiliary body (docs/architecture.md) has both."""

    name: str
    type: str
    a: str  # body
    b: str  # body
    in_tree: bool
    auxiliary: bool  # its dofs move a massless copy of b, which the closure holds to b
    dofs: tuple[int, ...]  # in the order of the coordinates, or of the type's dofs; (-1,) none
    reversed: bool  # the tree walks from b to a
    closure: int  # -1 none
    coordinates: tuple[str, ...]  # public names; empty with rotations, and for fixed joints
    units: tuple[str, ...]  # of the coordinates: rad, m
    point_a: Array  # (3,) body axes of a [m]
    point_b: Array  # (3,) body axes of b [m]
    axes_a: Array  # (k, 3) axes of the k dofs from a to b (of a rotation: of b), body axes of a at zero coordinates
    axes_b: Array  # (k, 3) the same in body axes of b
    frame_a: Array  # (3, 3) joint axes to body axes of a
    frame_b: Array  # (3, 3) joint axes to body axes of b
    kind: JointType  # how it is measured and drawn


class ClosureInfo(NamedTuple):
    """Directions that the equations of a closure leave ambiguous: they must have a dot product above zero."""

    name: str
    aligned_a: Array  # (k, 3) dof axes of a
    aligned_b: Array  # (k, 3) dof axes of b


class MarkerInfo(NamedTuple):
    """Point and axes of a marker on its body."""

    body: str
    point: Array  # (3,) body axes [m]
    dof: int
    position: Array  # (3,) dof axes [m]


class ForceInfo(NamedTuple):
    """A force element: its row in a table, and the bodies it acts on with -F and F (joint forces: inside the joint)."""

    name: str
    kind: str  # spring, joint, wrench, law (between two frames), joint law
    row: int  # of its table; of a joint law: its first generalised force
    a: str  # body; ground for a given wrench
    b: str
    dofs: tuple[int, ...] = ()  # of a joint law
    called: str = ""  # why a law is called in Python instead of being compiled
    on_body: bool = False  # a law on one body, which may be attached to another
    connector: int = -1  # of a force between two frames
    contact: Any = None  # law of two shapes, with ``touch``
    nonnegative: tuple[str, ...] = ()  # inputs of a law that must be zero or more
    ordered: tuple[tuple[str, str], ...] = ()  # pairs of its inputs, of which the first must be below the second
    stop: Any = None  # law on joints that holds coordinates within limits, with ``depth``


class LawStateInfo(NamedTuple):
    """A state of a force law."""

    force: str
    name: str
    first: float  # value at the start
    unit: str
    settles: bool = False  # no step needs to resolve its time constant


class CalledLaw(NamedTuple):
    """Force law that could not be recorded and is called in Python: places of its values and derivatives."""

    name: str
    function: Callable[[Array, Array], Array]  # (x, p) -> values; raises ModelError with the force's name
    slot: Integers  # (k,) of p: time, then the parameters
    n: int  # inputs
    row: int  # of the laws between frames, -1 for one on joints
    force: int  # first generalised force
    entry: int  # first derivative of a generalised force, row by row


class LawSwitches(NamedTuple):
    """Switching functions of recorded force laws: their signs change where a law has a kink or a jump."""

    tape: Any  # ad.Tape with the inputs and parameters of the program of all recorded laws
    forces: tuple[str, ...]  # name of the law of every switching function


@dataclass(frozen=True, eq=False)
class System:
    """A compiled mechanism; nothing here changes. n coordinates, m loop equations, nu inputs."""

    name: str
    tables: Tables
    lu: Any  # SparseLU of the tangent's pattern
    u0: Array  # (nu,) default inputs; functions of time at t = 0
    inputs: Mapping[str, slice]  # by name; those that a signal writes can only be read
    signals: tuple[Signal, ...]
    fingerprint: str
    bodies: Mapping[str, BodyInfo]  # ground first
    joints: Mapping[str, JointInfo]
    markers: Mapping[str, MarkerInfo]
    forces: Mapping[str, ForceInfo]  # kind by kind, each in the order of its table
    closures: tuple[ClosureInfo, ...]
    z0: Array  # (n,) [rad, m]
    zd0: Array  # (n,)
    R0: Array  # (nr, 3, 3) reference rotations
    pinned_z: Mask  # (n,) kept exactly by assembly
    pinned_zd: Mask  # (n,)
    weights: Array  # (n,) of the changes that assembly makes
    typical: Array  # (n,) 1 for an angle, ``length`` for a displacement
    length: float  # characteristic length [m]
    coordinate_names: list[str]  # n
    closure_names: list[str]
    row_names: list[str]  # m
    block_of_row: Integers  # (m,) rows that share one penalty factor
    closure_of_row: Integers  # (m,) -1 for a driven coordinate
    row_is_rotation: Mask  # (m,) dimensionless rows; the others are in metres
    topology: Topology
    called: tuple[CalledLaw, ...] = ()  # force laws that only Python can evaluate
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # of inputs that are tables
    states: tuple[LawStateInfo, ...] = ()  # of force laws, in the order of ``State.s``
    outside: tuple[CapturedValues, ...] = ()  # what recorded force laws read from outside of their arguments
    switches: LawSwitches | None = None  # of recorded force laws; None: they have no kinks
    may_bend: bool = False  # slopes of a force law change with the motion, or a constraint of the user has a kink
    reaction_stiffness: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # [N/m, N m/rad] by name
    bearings: Mapping[str, Bearing] = field(default_factory=dict)  # by name of the friction that follows their load
    locks: Mapping[str, bool] = field(default_factory=dict)  # by name of their constraints: closed at the start
    rigid: Mapping[str, CoordinateGap | PointGap] = field(
        default_factory=dict
    )  # contacts, by name of their constraints
    contact_sets: tuple[str, ...] = ()  # names of those in ``Tables.sets``
    looks: Mapping[str, Looks] = field(default_factory=dict)  # of bodies in pictures; no part of the fingerprint
    origin: Origin | None = None  # tells what has changed in the ModelDescription since; None: nobody knows

    def __repr__(self) -> str:
        parts = [with_count(len(self.bodies) - 1, "body", "bodies"), with_count(len(self.joints), "joint")]
        parts.append(with_count(len(self.forces), "force"))
        sizes = f"{with_count(self.n, 'coordinate')}, {with_count(self.m, 'loop equation')}"
        return f"System({self.name!r}: {', '.join(parts)}; {sizes}{warning_text(self)})"

    def _repr_html_(self) -> str:
        """Return tables of joints, bodies, forces and inputs for notebooks."""

        return system_html(self)

    @property
    def n(self) -> int:
        """Number of elementary coordinates."""
        return len(self.z0)

    @property
    def s0(self) -> Array:
        """First values of the states (ns,): of force laws, then of contact sets, which are zero."""
        first = np.zeros(len(self.states) + 3 * int(self.tables.sets.pair_pointer[-1]))
        first[: len(self.states)] = tuple(map(FIRST, self.states))
        return first

    @property
    def m(self) -> int:
        """Number of loop equations, driven coordinates included."""
        return len(self.row_names)


def joint_info(
    joint: Joint,
    *,
    in_tree: bool = False,
    auxiliary: bool = False,
    dofs: tuple[int, ...] = (-1,),
    reversed: bool = False,
    closure: int = -1,
) -> JointInfo:
    """Return the data of a joint for channels; without the other arguments, of a joint outside the tree."""
    axes = [joint.axes_b.T @ one.axis if one.kind == "rotation" else one.axis for one in joint.type.dofs()]
    return JointInfo(
        name=joint.name,
        type=type(joint.type).__name__,
        a=joint.a.name,
        b=joint.b.name,
        in_tree=in_tree,
        auxiliary=auxiliary,
        dofs=dofs,
        reversed=reversed,
        closure=closure,
        coordinates=joint.type.coordinates,
        units=joint.type.units(),
        point_a=joint.point_a,
        point_b=joint.point_b,
        axes_a=np.reshape([joint.axes_a @ axis for axis in axes], (-1, 3)),
        axes_b=np.reshape([joint.axes_b @ axis for axis in axes], (-1, 3)),
        frame_a=joint.axes_a,
        frame_b=joint.axes_b,
        kind=joint.type,
    )


T = TypeVar("T")


def once_per_system(function: Callable[[System], T]) -> Callable[[System], T]:
    """Cache the result of ``function`` for as long as the System lives; many simulations share it.

    Nobody may change what it returns, and it must not refer to the System, which would then stay for good.
    """
    kept: WeakKeyDictionary[System, T] = WeakKeyDictionary()

    @wraps(function)
    def asked(system: System) -> T:
        if (found := kept.get(system)) is None:
            found = kept[system] = function(system)
        return found

    return asked


def warning_text(system: "System") -> str:
    """Return the warnings of a ``repr``: force laws that are called in Python, and changes of the Model since."""
    called = [repr(force.name) for force in system.forces.values() if force.called]
    found = [f"force laws called in Python: {', '.join(called)}"] if called else []
    if system.origin is not None and system.origin.changed():
        found.append("the model was changed since; compile it again")
    return "".join(f"; warning: {one}" for one in found)


def system_html(system: "System") -> str:
    """Return the joints, the bodies, the forces and the inputs of a system."""
    joints = [
        (one.name, one.type, one.a, one.b, "tree" if one.in_tree else "cut", ", ".join(one.coordinates))
        for one in system.joints.values()
    ]
    bodies = [(name, number_text(one.mass)) for name, one in system.bodies.items() if one.dof >= 0]
    forces = [(one.name, one.kind, one.a, one.b) for one in system.forces.values()]
    inputs = [(name, number_text(system.u0[place])) for name, place in system.inputs.items()]
    return "\n".join(
        [
            title_html(repr(system)),
            folded_html("joints", ("joint", "type", "body a", "body b", "tree or cut", "coordinates"), joints),
            folded_html("moving bodies", ("body", "mass [kg]"), bodies),
            folded_html("forces", ("force", "kind", "body a", "body b"), forces),
            folded_html("inputs", ("input", "default"), inputs),
        ]
    )
