"""SceneDescription of a compiled System: bodies with their shapes, joints, connectors, forces, inputs."""

import copy
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError, RtmbsError, StartError, unknown_name
from rtmbs.forces.kind import DrawnArrow, DrawnLine
from rtmbs.forces.register import BY_WORD
from rtmbs.integrators.settings import REFACTOR, TANGENT_TERMS
from rtmbs.library.linkages import CLOSURES, LAYOUTS
from rtmbs.methods import METHODS
from rtmbs.model import Floating, Model
from rtmbs.model.description import characteristic_length
from rtmbs.model.shapes import Bar, Box, Cylinder, Looks, Shape, Shapes, Sphere, checked_shapes
from rtmbs.results.catalogue import rigid_points
from rtmbs.results.reactions import contact_names, rods
from rtmbs.results.result import Result
from rtmbs.semirecursive.sources import source_names
from rtmbs.simulation import Simulation
from rtmbs.simulation.inputs import input_unit
from rtmbs.system.system import BodyInfo, ForceInfo, JointInfo, System
from rtmbs.system.tables import GRAVITY_SLOT
from rtmbs.system.topology import bodies_without_joints
from rtmbs.viewer.scene.camera import ground_axes
from rtmbs.viewer.scene.description import (
    BodyDescription,
    ChannelDescription,
    ConnectorDescription,
    ContactDescription,
    ElementDescription,
    InputDescription,
    JointDescription,
    MarkerDescription,
    SceneDescription,
    WrenchDescription,
)
from rtmbs.viewer.scene.frame import FrameLayout
from rtmbs.viewer.session.mouse_spring import MOUSE_SPRING, compiled_with_mouse_spring, has_mouse_spring

Array = NDArray[np.float64]

SMALL = 0.01  # radius of gyration of a body without mass in a picture, in sizes of the mechanism
PLAIN = (bool, int, float, str)  # parameters that a window offers, and that go to another process
KNOWN_WORDS = {"layout": LAYOUTS, "closure": tuple(CLOSURES)}  # of parameters of factories that are known to take words
UNIT = re.compile(r"\[([^\[\]]+)\]")  # of a parameter, in its line of the docstring


def parameter_words(name: str, value: Any) -> tuple[str, ...]:
    """Return the words that a parameter of a factory is known to take; none for any other one."""
    words = KNOWN_WORDS.get(name, ())
    return words if value in words else ()


def parameter_unit(note: str) -> str:
    """Return the unit that the note of a parameter tells, "" where it tells none."""
    return next(iter(UNIT.findall(note)), "")


CHOICES = {
    "jacobian": tuple(source_names()),
    "method": tuple(METHODS),
    "tangent_terms": TANGENT_TERMS,
    "refactor": REFACTOR,
    "projection_metric": ("tangent", "mass"),
}


def describe(
    sim: Simulation,
    channels: tuple[ChannelDescription, ...] = (),
    generation: int = 1,
    mode: str = "thread",
    parameters: Mapping[str, Any] | None = None,
    shapes: Mapping[str, Shapes] | None = None,
) -> SceneDescription:
    """Return the description of ``sim`` for a window: bodies, joints, forces, channels, options.

    channels: what can be plotted.  parameters: of the factory that made the model.
    shapes: of bodies by name, in place of those of the model. A body without a shape is drawn by the points that hold
        it and by its inertia.
    """
    system = sim.system
    numbers = {name: k for k, name in enumerate(system.bodies)}
    joints, connectors = tuple(joint_descriptions(sim, numbers)), tuple(connector_descriptions(system, numbers))
    markers = tuple(MarkerDescription(n, numbers[m.body], m.point) for n, m in system.markers.items())
    return SceneDescription(
        generation=generation,
        name=system.name,
        length=system.length,
        gravity=sim.state.u[GRAVITY_SLOT : GRAVITY_SLOT + 3].copy(),
        bodies=tuple(body_descriptions(system, numbers, joints, connectors, markers, shapes or {})),
        joints=joints,
        connectors=connectors,
        wrenches=tuple(wrench_descriptions(system, numbers)),
        markers=markers,
        inputs=tuple(input_descriptions(system)),
        channels=channels,
        elements=tuple(element_descriptions(system, numbers)),
        contacts=tuple(contact_descriptions(system)),
        choices=dict(CHOICES),
        parameters={name: one for name, one in (parameters or {}).items() if isinstance(one, PLAIN)},
        coordinates=tuple(system.coordinate_names),
        degrees_of_freedom=sim.start_report.degrees_of_freedom,
        equations=system.m,
        layout=FrameLayout(
            len(system.bodies), system.n, len(system.u0), len(joints), len(tuple(contact_descriptions(system)))
        ),
        mode=mode,
        facts=facts(sim),
    )


def describe_recorded(result: Result, model: Model | None) -> SceneDescription | None:
    """Return the description of the mechanism of a result: that of ``model``, or of the System that the result knows.

    None without both, and for a System that cannot be put together again. A model with other numbers than that of the
    run has ``warnings``. Raises as ``Model.compile``.
    """
    if model is not None:
        try:
            sim = Simulation(drawable(model).compile())
        except (ModelError, StartError):  # a mechanism without masses, which kinematics moves all the same
            sim = Simulation(drawable(model, heavy=True).compile())
        return replace(describe(sim), warnings=other_numbers(result, sim.system, model))
    if result.system is None:
        return None
    try:
        return describe(Simulation(result.system))
    except RtmbsError:
        return None


def drawable(model: Model, heavy: bool = False) -> Model:
    """Return a model for pictures of its results, itself where a Simulation could step it and ``heavy`` is False.

    A kinematic analysis moves bodies that drivers or rods alone hold, and drives coordinates that a Simulation does
    not. In a picture such bodies float, and such drivers are left out; what has no mass gets a small one.
    """
    loose = bodies_without_joints(model)
    only = [name for name, driver in model.drivers.items() if not driver.dynamic]
    if not (loose or only or heavy):
        return model
    drawn = copy.deepcopy(model)
    for name in only:
        del drawn.drivers[name]
    for name in loose:
        drawn.add_joint(f"{name} floats", Floating(), drawn.ground, drawn.bodies[name])
    small = (SMALL * characteristic_length(model)) ** 2 * np.eye(3)
    for body in drawn.bodies.values():
        if body is not drawn.ground and not body.mass:
            for field, value in (("mass", 1.0), ("inertia", small)):
                object.__setattr__(body, field, value)  # of this copy alone
    return drawn


def facts(sim: Simulation) -> dict[str, str]:
    """Return the lines of the info overlay that never change."""
    system, report = sim.system, sim.start_report
    return {
        "mechanism": system.name,
        "bodies": str(len(system.bodies) - 1),
        "coordinates": str(system.n),
        "loop equations": str(system.m),
        "degrees of freedom": str(report.degrees_of_freedom),
    } | {f"note {k + 1}": warning for k, warning in enumerate(report.warnings)}


def joint_descriptions(sim: Simulation, numbers: Mapping[str, int]) -> Iterator[JointDescription]:
    """Yield the joints in the order of the model."""
    system = sim.system
    up = ground_axes(sim.state.u[GRAVITY_SLOT : GRAVITY_SLOT + 3])[2]
    for name, joint in system.joints.items():
        cut = joint.closure >= 0 or not joint.in_tree
        a, b = numbers[joint.a], numbers[joint.b]
        ends = joint.point_a, joint.point_b
        drawn_as, holds = joint.kind.drawn_as, not joint.kind.free
        yield JointDescription(
            name, joint.type, a, b, *ends, joint.axes_a, joint.axes_b, cut, drawn_as, holds, hangs(sim, joint, up)
        )


def hangs(sim: Simulation, joint: JointInfo, up: Array) -> bool:
    """True when the body of a joint on ground is below the joint now; of a joint between bodies nothing is asked."""
    bodies = list(sim.system.bodies)
    for ground, point, other in ((joint.a, joint.point_a, joint.b), (joint.b, joint.point_b, joint.a)):
        if ground == bodies[0] and other != bodies[0]:
            return bool(up @ (sim[f"{other}.mass_center"] - point) < 0.0)
    return True


def connector_descriptions(system: System, numbers: Mapping[str, int]) -> Iterator[ConnectorDescription]:
    """Yield springs, force laws between two points, rods and driven distances."""
    tables = system.tables

    def between(name: str, kind: str, a: str, b: str, drawn: DrawnLine) -> ConnectorDescription:
        body = system.bodies[a]
        points = in_body(body, drawn.point_a), in_body(system.bodies[b], drawn.point_b)
        axes = np.asarray(body.rotation.T @ drawn.axes)
        return ConnectorDescription(name, kind, numbers[a], numbers[b], *points, drawn.shape, axes)

    for name, force in system.forces.items():
        if isinstance(drawn := drawing(system, force), DrawnLine):
            yield between(name, force.kind, force.a, force.b, drawn._replace(shape=drawn_shape(system, name, drawn)))
        elif force.kind == "law" and not force.contact:
            ends = tables.laws.frame_a[force.row][:, 3], tables.laws.frame_b[force.row][:, 3]
            if numbers[force.a] > 0 or np.any(
                ends[0]
            ):  # a law on one body is stored as one between the body and the world
                yield between(name, "law", force.a, force.b, DrawnLine("bar", *ends))
    for connector in system.topology.connectors:
        closure = system.closure_names.index(connector.name)
        a, b = (system.topology.bodies[body] for body in (connector.a, connector.b))
        if connector.name in contact_names(system) or connector.name in system.rigid:  # drawn by their bodies
            continue
        kind = "rod" if connector.name in rods(system) else "driver"
        ends = tables.closures.point_a[closure], tables.closures.point_b[closure]
        yield between(connector.name, kind, a, b, DrawnLine("bar", *ends))
    yield from coupler_descriptions(system, numbers)


def drawn_shape(system: System, name: str, drawn: DrawnLine) -> str:
    """Return how an element between two points is drawn; a coil that also damps is a strut, or a damper alone."""
    places = [system.inputs.get(f"{name}.{word}") for word in ("stiffness", "damping")]
    if drawn.shape != "coil" or None in places:
        return drawn.shape
    stiff, damps = (bool(np.any(system.u0[place])) for place in places)
    return ("strut" if stiff else "damper") if damps else "coil"


def coupler_descriptions(system: System, numbers: Mapping[str, int]) -> Iterator[ConnectorDescription]:
    """Yield a line from joint to joint of every coupler, between the points of the bodies that they move."""
    for relation in system.topology.relations:
        joints = [system.joints[coordinate.rpartition(".")[0]] for coordinate in relation.coordinates]
        for one, other in itertools.pairwise(joints):
            if one.b != other.b:
                ends = numbers[one.b], numbers[other.b]
                yield ConnectorDescription(relation.name, "coupler", *ends, one.point_b, other.point_b)


def wrench_descriptions(system: System, numbers: Mapping[str, int]) -> Iterator[WrenchDescription]:
    """Yield the given forces and torques."""
    for name, force in system.forces.items():
        if isinstance(drawn := drawing(system, force), DrawnArrow):
            body = system.bodies[force.b]
            point, axes = in_body(body, drawn.point), body.rotation.T @ drawn.axes
            yield WrenchDescription(name, numbers[force.b], point, axes, drawn.follows, drawn.slot)


def drawing(system: System, force: ForceInfo) -> DrawnLine | DrawnArrow | None:
    """Return how a force is drawn by the register, None for one that is not in there."""
    if force.kind not in BY_WORD:
        return None
    kind = BY_WORD[force.kind]
    return kind.drawing(getattr(system.tables.forces, kind.name), force.row)


def in_body(body: BodyInfo, point: Array) -> Array:
    """Return a point (3,) of the body's dof in body axes [m]."""
    return np.asarray(body.rotation.T @ (point - body.position))


def body_descriptions(
    system: System,
    numbers: Mapping[str, int],
    joints: tuple[JointDescription, ...],
    connectors: tuple[ConnectorDescription, ...],
    markers: tuple[MarkerDescription, ...],
    shapes: Mapping[str, Shapes],
) -> Iterator[BodyDescription]:
    """Yield the bodies, ground first; UnknownNameError for shapes of a body that does not exist."""
    if unknown := [name for name in shapes if name not in numbers]:
        raise unknown_name("body", unknown[0], numbers)
    points: list[list[Array]] = [[] for _ in numbers]
    held_by: list[JointDescription | ConnectorDescription] = [joint for joint in joints if joint.holds]
    for held in (*held_by, *connectors):
        points[held.a].append(held.point_a)
        points[held.b].append(held.point_b)
    for marker in markers:
        points[marker.body].append(marker.point)
    for name, info in system.bodies.items():
        places = np.array(points[numbers[name]]).reshape(-1, 3)
        looks = system.looks.get(name, Looks())
        given = checked_shapes(f"body {name!r}", shapes[name]) if name in shapes else looks.shapes
        if not given and numbers[name] > 0:
            given = outline(info, places, system.length)
        looked = looks.color, looks.opacity, looks.edges
        yield BodyDescription(name, info.mass, info.center_of_mass, places, given, *looked, info.inertia)


def contact_descriptions(system: System) -> Iterator[ContactDescription]:
    """Yield the touching points of shapes and of rigid contacts, with their friction at the start."""
    for name, force in system.forces.items():
        if force.contact:
            place = system.inputs.get(f"{name}.friction")
            yield ContactDescription(name, 0.0 if place is None else float(system.u0[place][0]))
    for name, friction in rigid_points(system).items():
        yield ContactDescription(name, friction, True)


def input_descriptions(system: System) -> Iterator[InputDescription]:
    """Yield the inputs in the order of their names in the model."""
    timed = {slot for signal in system.signals for slot in range(signal.slot, signal.slot + signal.size)}
    for name, place in system.inputs.items():
        if name.rpartition(".")[0] == MOUSE_SPRING and has_mouse_spring(system):
            continue  # what a grab sets
        yield InputDescription(name, system.u0[place].copy(), input_unit(system, name), place, place.start not in timed)


def other_numbers(result: Result, system: System, model: Model) -> tuple[str, ...]:
    """Return a warning when the run had other numbers than ``model``, of which ``system`` is made."""
    if not result.fingerprint or result.fingerprint == system.fingerprint:
        return ()
    if result.fingerprint == compiled_with_mouse_spring(model).fingerprint:
        return ()  # saved while a hand had pulled
    return (
        f"result {result.name!r} was recorded from a model with other numbers than {system.name!r}: masses, inertias, "
        "forces or dimensions differ from those of the run",
    )


# ---- forces and constraints ------------------------------------------------------------------------------------------

FORCE, CONSTRAINT = "force", "constraint"
WORDS = {"joint": "spring or motor of a coordinate", "law": "force law", "joint law": "force law of coordinates"}


def element_descriptions(system: System, numbers: Mapping[str, int]) -> Iterator[ElementDescription]:
    """Yield forces, then rods, driven distances, constraints, couplers and drivers; the spring of a hand is no part."""
    for name, force in system.forces.items():
        if not (name == MOUSE_SPRING and has_mouse_spring(system)):
            kind, bodies = WORDS.get(force.kind, force.kind), bodies_of(numbers, force.a, force.b)
            yield ElementDescription(FORCE, name, kind, bodies, coordinates_of(system, force))
    topology = system.topology
    for connector in topology.connectors:
        bodies = bodies_of(numbers, *(topology.bodies[body] for body in (connector.a, connector.b)))
        yield ElementDescription(CONSTRAINT, connector.name, connector.type.lower(), bodies)
    held = [(relation.name, relation.type.lower(), relation.coordinates) for relation in topology.relations]
    first = len(system.tables.closures.kind)
    for row, dof in enumerate(system.tables.drivers.dof):
        held.append((system.row_names[first + row], "driver", (system.coordinate_names[dof],)))
    for name, kind, coordinates in held:
        yield ElementDescription(CONSTRAINT, name, kind, moved_by(system, numbers, coordinates), coordinates)


def coordinates_of(system: System, force: ForceInfo) -> tuple[str, ...]:
    """Return the coordinates that a force acts on; none of one between two frames."""
    if force.kind == "joint":
        return (system.coordinate_names[system.tables.joint_forces.dof[force.row]],)
    return tuple(system.coordinate_names[dof] for dof in force.dofs)


def moved_by(system: System, numbers: Mapping[str, int], coordinates: tuple[str, ...]) -> tuple[int, ...]:
    """Return the bodies of the joints of some coordinates."""
    joints = [system.joints[name] for one in coordinates if (name := one.rpartition(".")[0]) in system.joints]
    return bodies_of(numbers, *(body for joint in joints for body in (joint.a, joint.b)))


def bodies_of(numbers: Mapping[str, int], *names: str) -> tuple[int, ...]:
    """Return the numbers of bodies, each once."""
    return tuple(dict.fromkeys(numbers[name] for name in names if name in numbers))


# ---- shapes of bodies without a shape --------------------------------------------------------------------------------

THICKNESS = 0.022  # radius of a bar in characteristic lengths
SAME = 1e-6  # points nearer than this, in characteristic lengths, are one
EQUAL = 1e-3  # relative difference of two principal moments that are taken as equal
REACH = 0.1  # share of its size by which a solid may miss the point that holds it
SLENDER = 8.0  # length in radii from which a round solid is a bar


def outline(info: BodyInfo, points: Array, length: float) -> tuple[Shape, ...]:
    """Return the shapes of a body held at ``points`` (k, 3) in body axes; ``length`` is the characteristic one [m]."""
    radius, center = THICKNESS * length, info.center_of_mass
    ends = distinct(points, SAME * length)
    if len(ends) >= 2:
        return skeleton(ends, radius, SAME * length)
    solid = solid_of_inertia(info, radius)
    apart = len(ends) == 1 and np.linalg.norm(ends[0] - center) > SAME * length
    if apart and not reaches(solid, ends[0]):
        return (Bar(ends[0], center, radius), solid)
    return (solid,)


def distinct(points: Array, near: float) -> Array:
    """Return the points without those that repeat another one."""
    kept: list[Array] = []
    for point in points:
        if all(np.linalg.norm(point - other) > near for other in kept):
            kept.append(point)
    return np.array(kept).reshape(-1, 3)


def skeleton(points: Array, radius: float, near: float) -> tuple[Shape, ...]:
    """Return one bar through points of a line, the edges of a triangle, or a star from the middle of more points."""
    middle = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - middle)
    if len(points) == 2 or sizes[1] <= near:
        along = (points - middle) @ axes[0]
        return (Bar(points[int(np.argmin(along))], points[int(np.argmax(along))], radius),)
    if len(points) == 3:
        return tuple(Bar(points[k], points[(k + 1) % 3], radius) for k in range(3))
    return tuple(Bar(middle, point, radius) for point in points if np.linalg.norm(point - middle) > near)


def solid_of_inertia(info: BodyInfo, radius: float) -> Bar | Box | Cylinder | Sphere:
    """Return the homogeneous cylinder, bar, box or ball with the principal radii of gyration of a body.

    A cylinder of radius r and length L has m r^2 / 2 and m (3 r^2 + L^2) / 12; a box of edges a, b, c has
    m (b^2 + c^2) / 12 and so on. ``radius`` is the least one that can be seen.
    """
    center = info.center_of_mass
    moments, axes = np.linalg.eigh(info.inertia)
    if info.mass <= 0.0 or moments[2] <= info.mass * radius**2:
        return Sphere(2.0 * radius, center)
    squares = moments / info.mass
    for axial, (i, j) in ((0, (1, 2)), (2, (0, 1))):
        if abs(squares[i] - squares[j]) <= EQUAL * squares[2] and squares[2] - squares[0] > EQUAL * squares[2]:
            around, along = np.sqrt(2.0 * squares[axial]), np.sqrt(max(12.0 * squares[i] - 6.0 * squares[axial], 0.0))
            if along > SLENDER * around:
                half = 0.5 * along * axes[:, axial]
                return Bar(center - half, center + half, max(float(around), radius))
            return Cylinder(float(around), max(float(along), radius), center, axes[:, axial])
    edges = np.sqrt(np.maximum(6.0 * (squares.sum() - 2.0 * squares), (2.0 * radius) ** 2))
    right_handed = axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])
    return Box(edges, center, right_handed)


def reaches(solid: Bar | Box | Cylinder | Sphere, point: Array) -> bool:
    """True when a bar ends at ``point``, or a solid has its middle there: no bar is needed to join them."""
    if isinstance(solid, Bar):
        gaps = [np.linalg.norm(point - end) for end in (solid.start, solid.end)]
        return bool(min(gaps) <= REACH * np.linalg.norm(solid.end - solid.start))
    return bool(np.linalg.norm(point - solid.center) <= solid_radius(solid) * REACH)


def solid_radius(solid: Box | Cylinder | Sphere) -> float:
    """Return the half width of a solid [m]."""
    return float(solid.size.min()) / 2.0 if isinstance(solid, Box) else solid.radius
