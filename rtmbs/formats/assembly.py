"""Links and joints of a file with their placement and closed loops, and the Model that they make.

Links and joints of a file, in the order of the file, and the Model that they make.

A link becomes a body, a joint becomes a joint of the same name. Reference poses are those of the file where it states
them; elsewhere they follow from the joints at zero coordinates.

A rotor that turns with a joint coordinate, ``armature`` in MJCF, becomes a body of its own without mass. It turns about
a fixed axis, coupled to the coordinate, and so adds its inertia to the diagonal of the mass matrix and nothing else.

Closed loops beside the tree of a URDF: ``<loop_joint>``, Drake's ball constraints, and side files of loops.

Each is a joint between a frame of one link and a frame of another, which the Model cuts.
A side file is YAML: ``closed_loop: [[frameA, frameB], ...]``, ``type: ['6d' or '3d', ...]``, ``name_mot: [...]``. Its
frames are links, or joints, whose frame is that of their child link. ``joint_name: [...]`` with ``joint_type: [...]``
replace joints of the URDF by joints that URDF has not: ``SPHERICAL``, ``UJOINT_XY`` with two of X, Y and Z, ``FIXED``.
Source: the loader of Gepetto's example-parallel-robots.

Placement of one frame in another, and the angles and quaternions by which the formats write it.
"""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND
from rtmbs.core.files import DamagedFile, text
from rtmbs.errors import InputError, LanguageError, ModelError, shown, unknown_name
from rtmbs.formats.xml_tree import Element
from rtmbs.model import (
    Body,
    Fixed,
    Floating,
    JointType,
    Model,
    Prismatic,
    Revolute,
    Spherical,
    TorsionSpring,
    Universal,
)
from rtmbs.model.body import GROUND
from rtmbs.model.description import ImportNote, ImportReport, JointLimits
from rtmbs.model.joints import WORLD
from rtmbs.numerics.rotations.quaternions import quaternions, rotations

Array = NDArray[np.float64]
LOCKED = 1e-14  # cosine of the pitch below which roll and yaw turn about one axis


class Placement(NamedTuple):
    """Position and rotation of a frame B in a frame A: a point x of B stands at position + rotation x in A."""

    position: Array  # (3,) [m]
    rotation: Array  # (3, 3) axes of B to axes of A

    def then(self, inner: "Placement") -> "Placement":
        """Return the placement in A of a frame that stands at ``inner`` in B."""
        return Placement(self.position + self.rotation @ inner.position, self.rotation @ inner.rotation)

    def inverse(self) -> "Placement":
        """Return the placement of A in B."""
        turned = self.rotation.T
        return Placement(-(turned @ self.position), turned)


def here() -> Placement:
    """Return the placement of a frame in itself."""
    return Placement(np.zeros(3), np.eye(3))


def rotation_of_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), turns about fixed axes [rad], as URDF and SDF write them."""
    if roll == pitch == yaw == 0.0:
        return np.eye(3)
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])  # fmt: skip


def rpy_of_rotation(R: Array) -> tuple[float, float, float]:
    """Return roll, pitch and yaw [rad] of a rotation; yaw is zero where the pitch is a right angle.

    Roll and pitch are those of Rz(-yaw) R, so they make up for the rounding of a yaw near a right angle of the pitch.
    """
    yaw = math.atan2(R[1, 0], R[0, 0]) if math.hypot(R[0, 0], R[1, 0]) > LOCKED else 0.0
    turned = rotation_of_rpy(0.0, 0.0, -yaw) @ R
    return math.atan2(-turned[1, 2], turned[1, 1]), math.atan2(-turned[2, 0], turned[0, 0]), yaw


def placement_of_rpy(numbers: tuple[float, ...]) -> Placement:
    """Return the placement of x, y, z [m], roll, pitch, yaw [rad]."""
    return Placement(np.array(numbers[:3]), rotation_of_rpy(*numbers[3:6]))


def placement_of_quaternion(position: Array, quaternion: Array) -> Placement:
    """Return the placement of a position (3,) [m] and a quaternion (w, x, y, z) of any length but zero."""
    unit = np.asarray(quaternion, float) / np.linalg.norm(quaternion)
    return Placement(np.array(position, float), np.asarray(rotations(unit)))


RESERVED = (GROUND, WORLD)
BACKWARDS = "rtmbs_backwards"  # marks a joint whose second body is the parent
NEGATIVE = 1e-6  # of the largest principal value: what rounding of printed digits may leave below zero
NONE = 1e-12  # [kg m^2] that is no inertia
MOST_TRIED = 16  # numbers of a name, one after the other


@dataclass
class Link:
    """A rigid body of a file."""

    name: str
    mass: float = 0.0  # [kg]
    center_of_mass: Array = field(default_factory=lambda: np.zeros(3))  # (3,) link axes [m]
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))  # about the mass centre, link axes [kg m^2]
    place: Placement | None = None  # in the world at the reference pose; None: it follows from the joints
    shapes: list[Any] = field(default_factory=list)
    color: str = ""
    element: Element | None = None


@dataclass
class JointLink:
    """A joint of a file between two links; "" is the world."""

    name: str
    type: JointType
    parent: str
    child: str
    in_parent: Placement  # joint frame in axes of the parent
    in_child: Placement = field(default_factory=here)  # joint frame in axes of the child
    cut: bool = False  # closes a loop
    backwards: bool = False  # the parent is the second body of the joint of the Model
    damping: float = 0.0  # [N m s/rad, N s/m]
    stiffness: float = 0.0  # [N m/rad, N/m]
    rest: float = 0.0  # coordinate at which the spring has no force [rad, m]
    armature: float = 0.0  # inertia on the coordinate [kg m^2, kg]
    friction: float = 0.0  # limit of dry friction [N m, N]
    limits: JointLimits | None = None
    element: Element | None = None

    def ends(self) -> tuple[tuple[str, Placement], tuple[str, Placement]]:
        """Return link and joint frame of the first and of the second body."""
        ends = (self.parent, self.in_parent), (self.child, self.in_child)
        return ends[::-1] if self.backwards else ends


class ModelAssembly:
    """Links, joints and notes of one file."""

    def __init__(self, name: str, file: str, form: str, friction: bool = False) -> None:
        self.name, self.file, self.form, self.friction = name, file, form, friction
        self.links: dict[str, Link] = {}
        self.joints: dict[str, JointLink] = {}
        self.notes: list[ImportNote] = []
        self.body_names: dict[str, str] = {"": GROUND}
        self.rotors: dict[str, str] = {}  # joint of the rotor by the joint that it turns with
        self.gravity: Any = (0.0, 0.0, -9.81)

    def note(self, what: str, told: str, element: Element | None = None, line: int = 0) -> None:
        """Note an element that the Model does not have as written."""
        self.notes.append(ImportNote(what, element.line if element is not None else line, told))

    def fault_at(self, message: str, element: Element | None = None) -> LanguageError:
        """Return an error at the place of an element."""
        return element.fault(message) if element is not None else LanguageError(message, file=self.file)

    def add_link(self, link: Link) -> None:
        """Add a link; LanguageError for a second one of its name."""
        if link.name in self.links:
            raise self.fault_at(f"there is already a link {link.name!r}; names of links must differ", link.element)
        self.links[link.name] = link

    def add_joint(self, joint: JointLink) -> None:
        """Add a joint; LanguageError for a second one of its name, and for links that are not there."""
        what = f"joint {joint.name!r}"
        if joint.name in self.joints:
            raise self.fault_at(f"there is already a {what}; names of joints must differ", joint.element)
        if joint.parent == joint.child:
            raise self.fault_at(f"{what} joins link {joint.child!r} to itself; it needs two links", joint.element)
        for key in ("damping", "stiffness", "friction"):
            if (value := getattr(joint, key)) < 0.0:
                self.note(what, f"has the negative {key} {value:g}", joint.element)
        if joint.limits is not None and joint.limits.lower > joint.limits.upper:
            self.note(what, "has a lower limit above its upper limit", joint.element)
        self.joints[joint.name] = joint

    def free_name(self, wanted: str, *taken: Any) -> str:
        """Return a name that no element has yet: with a number where it is taken, the first free one up to 16.

        Beyond, numbers are doubled and halved, so that thousands of equal names take no quadratic time.
        """

        def is_taken(k: int) -> bool:
            return any(f"{wanted}_{k}" in one for one in taken)

        if not any(wanted in one for one in taken):
            return wanted
        for k in range(2, MOST_TRIED + 1):
            if not is_taken(k):
                return f"{wanted}_{k}"
        low, high = MOST_TRIED, 2 * MOST_TRIED
        while is_taken(high):
            low, high = high, 2 * high
        while high - low > 1:  # low is taken, high is free
            middle = (low + high) // 2
            low, high = (middle, high) if is_taken(middle) else (low, middle)
        return f"{wanted}_{high}"

    # ---- the Model --------------------------------------------------------------------------------------------------

    def model(self) -> Model:
        """Return the Model of the links and joints; LanguageError for what cannot be one."""
        self.check_links()
        self.place_links()
        try:
            model = Model(self.name, self.gravity)
            for link in self.links.values():
                self.add_body(model, link)
            for joint in self.joints.values():
                self.add_model_joint(model, joint)
        except LanguageError:
            raise
        except ModelError as error:
            raise LanguageError(str(error), file=self.file) from error
        return model

    def reported(self, model: Model, strict: bool) -> Model:
        """Return the Model with its report; with ``strict`` LanguageError for the first note."""
        limits = {one.name: one.limits for one in self.joints.values() if one.limits is not None}
        model.import_report = ImportReport(self.file, self.form, tuple(self.notes), limits)
        if strict and self.notes:
            note = self.notes[0]
            raise LanguageError(
                f"{note.element}: {note.what}; strict=True allows no such element, and strict=False notes it",
                file=self.file, line=note.line, column=1,
            )  # fmt: skip
        return model

    def check_links(self) -> None:
        """Refuse joints between links that are not there."""
        for joint in self.joints.values():
            for end in (joint.parent, joint.child):
                if end and end not in self.links:
                    raise self.fault_at(
                        f"joint {joint.name!r}: there is no link {end!r}; it must name a link of the file",
                        joint.element,
                    )

    def place_links(self) -> None:
        """Give each link without one a reference pose, from the joints at zero coordinates."""
        around: dict[str, list[JointLink]] = {}
        for joint in sorted(self.joints.values(), key=lambda one: one.cut):
            around.setdefault(joint.parent, []).append(joint)
            around.setdefault(joint.child, []).append(joint)
        placed: dict[str, Placement] = {"": here()}
        placed |= {link.name: link.place for link in self.links.values() if link.place is not None}
        for start in ["", *self.links]:
            if start not in placed:
                if start in self.links and any(
                    joint.child == start and not joint.cut for joint in around.get(start, ())
                ):
                    continue  # it hangs on another link
                placed[start] = here()
            place_neighbours(start, around, placed)
        for link in self.links.values():
            link.place = placed.get(link.name, here())

    def add_body(self, model: Model, link: Link) -> None:
        """Add the body of a link, with the numbers of the file even where no body can have them."""
        what, place = f"link {link.name!r}", link.place or here()
        name = link.name
        if name in RESERVED or name in model.bodies:
            name = self.free_name(f"{link.name}_link", self.links, model.bodies)
            self.note(what, f"has a name that is taken, and is called {name!r}", link.element)
        self.body_names[link.name] = name
        try:
            body = model.add_body(name, mass=link.mass, center_of_mass=link.center_of_mass, inertia=link.inertia)
        except ModelError as error:
            body = self.impossible(link, name, error)
        model.bodies[name] = Body(
            name, body.mass, body.center_of_mass, body.inertia, frozen(place.position), frozen(place.rotation)
        )
        if link.shapes:
            model.set_looks(name, shape=link.shapes, color=link.color)

    def impossible(self, link: Link, name: str, error: ModelError) -> Body:
        """Return the body of an inertia that breaks the triangle inequality, noted; refuse any other.

        A negative principal value is kept of a link that a fixed joint holds to another one, since only the sum counts.
        """
        carried = any(
            one.child == link.name and isinstance(one.type, Fixed) and one.parent for one in self.joints.values()
        )
        finite = bool(np.all(np.abs(link.inertia) <= BEYOND))
        values = np.linalg.eigvalsh(0.5 * (link.inertia + link.inertia.T)) if finite else np.full(3, -1.0)
        negative = values[0] < -NEGATIVE * abs(values[-1]) - NONE and not (carried and finite)
        if negative or link.mass < 0.0 or "inertia" not in str(error):
            raise self.fault_at(f"link {link.name!r} cannot be a body: {error}", link.element) from None
        first = str(error).split(": ", 1)[-1].split(";")[0]
        told = f"has an inertia that no body has ({first}); its numbers are kept as they are"
        self.note(f"link {link.name!r}", told, link.element)
        symmetric = frozen(0.5 * (link.inertia + link.inertia.T))
        return Body(name, link.mass, frozen(link.center_of_mass), symmetric, np.zeros(3), np.eye(3))

    def add_model_joint(self, model: Model, joint: JointLink) -> None:
        """Add a joint with its spring, damper and rotor."""
        (a, in_a), (b, in_b) = joint.ends()
        try:
            model.add_joint(
                joint.name, joint.type, self.body_names[a], self.body_names[b], cut=joint.cut,
                point_a=in_a.position, axes_a=in_a.rotation, point_b=in_b.position, axes_b=in_b.rotation,
            )  # fmt: skip
        except ModelError as error:
            raise self.fault_at(str(error), joint.element) from None
        single = isinstance(joint.type, Revolute | Prismatic)
        if isinstance(joint.type, Spherical) and joint.damping and not joint.stiffness and not joint.cut:
            add_ball_damper(model, joint)
        elif joint.stiffness or joint.damping:
            if single and not joint.cut:
                law = TorsionSpring(joint.stiffness, joint.damping, joint.rest)
                model.add_force(self.free_name(f"{joint.name}_spring", model.forces), law, joint=joint.name)
            else:
                told = "has a spring or damper, which only a joint with one free coordinate takes"
                self.note(f"joint {joint.name!r}", told, joint.element)
        if joint.friction:
            if single and not joint.cut and self.friction and joint.friction > 0.0:
                model.add_friction(self.free_name(f"{joint.name}_friction", model.forces), joint.name, joint.friction)
            else:
                told = f"has the dry friction {joint.friction:g}, which is not read; friction=True reads it of hinges"
                self.note(f"joint {joint.name!r}", f"{told} and slides", joint.element)
        if isinstance(joint.type, Floating):
            set_pose(self, model, joint)
        if joint.armature < 0.0:
            raise self.fault_at(
                f"joint {joint.name!r} has the rotor inertia {joint.armature:g}; it must be zero or more", joint.element
            )
        if joint.armature:
            if single and not joint.cut:
                add_rotor(model, joint.name, joint.armature, self)
            else:
                told = f"has the rotor inertia {joint.armature:g}, which only a joint with one free coordinate takes"
                self.note(f"joint {joint.name!r}", told, joint.element)


def place_neighbours(start: str, around: dict[str, list[JointLink]], placed: dict[str, Placement]) -> None:
    """Place all links that joints lead to from ``start``, in ``placed``."""
    waiting = deque([start])
    while waiting:
        name = waiting.popleft()
        for joint in around.get(name, ()):
            if joint.parent == name and joint.child not in placed:
                placed[joint.child] = placed[name].then(joint.in_parent).then(joint.in_child.inverse())
                waiting.append(joint.child)
            elif joint.child == name and joint.parent not in placed:
                placed[joint.parent] = placed[name].then(joint.in_child).then(joint.in_parent.inverse())
                waiting.append(joint.parent)


def add_rotor(model: Model, joint: str, inertia: float, assembly: ModelAssembly) -> None:
    """Add a massless rotor to ground with this inertia, coupled to a coordinate: rotor - coordinate = 0."""
    name = assembly.free_name(f"{joint}_rotor", model.bodies, model.joints, assembly.links, assembly.joints)
    model.add_body(name, mass=0.0, inertia=(inertia, inertia, inertia))
    model.add_joint(name, Revolute((0.0, 0.0, 1.0)), GROUND, name)
    model.add_coupler(assembly.free_name(f"{name}_gear", model.couplers), {name: 1.0, joint: -1.0})
    assembly.rotors[joint] = name


def set_pose(assembly: ModelAssembly, model: Model, joint: JointLink) -> None:
    """Let a floating joint start at the reference pose of its bodies."""
    (one, in_a), (two, in_b) = joint.ends()
    a, b = (assembly.links[end].place or here() if end else here() for end in (one, two))
    pose = a.then(in_a).inverse().then(b.then(in_b))
    quaternion = quaternions((a.rotation.T @ b.rotation)[None])[0]  # of the bodies, whatever the axes of the joint
    model.set_initial(joint.name, (*pose.position, *quaternion))


def add_ball_damper(model: Model, joint: JointLink) -> None:
    """Add a torque against the angular velocity in a ball joint, -damping w."""
    ends = model.joints[joint.name]
    names = [f"{joint.name}_damper_{end}" for end in ("a", "b")]
    for name, body, point in zip(names, (ends.a, ends.b), (ends.point_a, ends.point_b), strict=True):
        model.add_marker(name, body, point, frame=WORLD if body.name == GROUND else body)
    numbers = {"damping": joint.damping}
    model.add_force(f"{joint.name}_damper", ball_damper, between=(names[0], names[1]), parameters=numbers)


def ball_damper(t: Any, kinematics: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the wrench of a damper on the second marker: no force, and the torque -damping w."""
    return np.concatenate((0.0 * kinematics.r, -parameters["damping"] * kinematics.w))


def join_base(assembly: ModelAssembly, link: str, floating: bool) -> None:
    """Join a link to the world, by a floating or a fixed joint at its reference pose."""
    place = assembly.links[link].place or here()
    name = assembly.free_name("root_joint", assembly.joints)
    if floating:
        assembly.add_joint(JointLink(name, Floating(), "", link, here(), place.inverse()))
    else:
        assembly.add_joint(JointLink(name, Fixed(), "", link, place))


def frozen(array: Array) -> Array:
    """Return an array that cannot be written."""
    found = np.array(array, float)
    found.flags.writeable = False
    return found


def count_notes(assembly: ModelAssembly, found: dict[str, list[Element]], told: dict[str, str]) -> None:
    """Note each kind of element once, with its number."""
    for tag, elements in found.items():
        many = "" if len(elements) == 1 else f" ({len(elements)} of them)"
        assembly.note(f"<{tag}>{many}", told.get(tag, "is not read"), elements[0])


MOST_BYTES = 100_000
MOST_DEPTH = 20  # lists and entries inside each other
ORIGIN = (0.0, 0.0, 0.0)
NEEDS = "side files of closed loops need PyYAML; pip install 'rtmbs[robots]' brings it"
FORMS: dict[str, JointType] = {"6d": Fixed(), "3d": Spherical()}
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
REPLACED: dict[str, JointType] = {"SPHERICAL": Spherical(), "FIXED": Fixed()} | {
    f"UJOINT_{one}{two}": Universal(AXES[one], AXES[two]) for one in AXES for two in AXES if one != two
}
SIDE_KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")


@dataclass
class Closure:
    """A joint that closes a loop: two frames, each on a link or at a joint's child link."""

    name: str
    type: JointType
    a: str
    b: str
    in_a: Placement
    in_b: Placement
    element: Element | None = None
    file: str = ""


def add_closures(assembly: ModelAssembly, closures: list[Closure]) -> None:
    """Add the joints that close loops, cut."""
    for closure in closures:
        name = assembly.free_name(closure.name, assembly.joints)
        a, b = (link_of(assembly, closure, frame) for frame in (closure.a, closure.b))
        assembly.add_joint(
            JointLink(name, closure.type, a, b, closure.in_a, closure.in_b, True, element=closure.element)
        )


def link_of(assembly: ModelAssembly, closure: Closure, frame: str) -> str:
    """Return the link of a frame that is named by its link or by the joint above it."""
    if frame in assembly.links:
        return frame
    if frame == WORLD:
        return ""
    if frame in assembly.joints:
        return assembly.joints[frame].child
    message = f"closed loop {closure.name!r}: {unknown_name('link', frame, assembly.links)}"
    if closure.element is None:
        raise LanguageError(message, file=closure.file)
    raise closure.element.fault(message)


def loop_joints(root: Element) -> list[Closure]:
    """Return the closures of ``<loop_joint>``: two frames that coincide in what the type holds."""
    found = []
    for element in root.all("loop_joint"):
        name, kind = element.name(), element.attributes.get("type", "spherical")
        ends = [element.first(tag) for tag in ("link1", "link2")]
        if ends[0] is None or ends[1] is None:
            raise element.fault(f"loop joint {name!r} needs <link1 link='NAME'/> and <link2 link='NAME'/>")
        one, two = (end for end in ends if end is not None)
        places = [placement_of_rpy(end.numbers("xyz", 3, ORIGIN) + end.numbers("rpy", 3, ORIGIN)) for end in (one, two)]
        links = [end.attributes.get("link", "").strip() for end in (one, two)]
        found.append(Closure(name, loop_type(element, kind), links[0], links[1], places[0], places[1], element))
    return found


def loop_type(element: Element, kind: str) -> JointType:
    """Return the type of a loop joint, with its axis in axes of both frames."""
    child = element.first("axis")
    axis = (1.0, 0.0, 0.0) if child is None else child.numbers("xyz", 3)
    known: dict[str, Any] = {
        "spherical": Spherical, "ball": Spherical, "fixed": Fixed, "weld": Fixed, "revolute": Revolute,
        "continuous": Revolute, "prismatic": Prismatic,
    }  # fmt: skip
    if kind not in known:
        raise element.fault(f"loop joint {element.name()!r}: {unknown_name('type', kind, known)}")
    return known[kind](axis) if known[kind] in (Revolute, Prismatic) else known[kind]()


def drake_closures(root: Element) -> list[Closure]:
    """Return the closures of ``drake:ball_constraint``, with attributes in URDF and texts in SDF."""
    found = []
    for k, element in enumerate(root.all("drake:ball_constraint"), 1):
        links, places = [], []
        for body, point in (("body_A", "p_AP"), ("body_B", "p_BQ")):
            links.append(value(element, f"drake:ball_constraint_{body}", "name"))
            child = element.first(f"drake:ball_constraint_{point}")
            text = value(element, f"drake:ball_constraint_{point}", "value")
            assert child is not None
            places.append(Placement(np.array(child.floats(text, 3, "value")), np.eye(3)))
        found.append(Closure(f"ball_constraint_{k}", Spherical(), links[0], links[1], places[0], places[1], element))
    return found


def value(element: Element, tag: str, attribute: str) -> str:
    """Return the attribute or the text of a child; LanguageError without it."""
    child = element.first(tag)
    if child is None or not (found := child.attributes.get(attribute, child.text).strip()):
        raise element.fault(f"<{element.tag}> has no <{tag}>; it needs one with a {attribute}")
    return found


# ---- side files ------------------------------------------------------------------------------------------------------


@dataclass
class SideFile:
    """Closed loops, motors and replaced joints beside a URDF."""

    file: str
    closures: list[Closure]
    motors: list[str]
    joint_types: dict[str, JointType]  # by name of a joint of the URDF
    unknown: list[str]  # keys that are not read

    def replace_joints(self, assembly: ModelAssembly) -> None:
        """Give joints of the URDF the types that the side file states, without limits; note keys that are not read."""
        for name, kind in self.joint_types.items():
            if name in assembly.joints:
                assembly.joints[name] = replace(assembly.joints[name], type=kind, limits=None)
            else:
                told = f"names joint {name!r}, which the robot has not, and is left out"
                assembly.note(f"joint_name of {self.file}", told)
        for name in [one for one in self.motors if one not in assembly.joints]:
            assembly.note(f"name_mot of {self.file}", f"names joint {name!r}, which the robot has not, and is left out")
        for key in self.unknown:
            assembly.note(f"{key} of {self.file}", "is not read")


def side_file(path: Path) -> SideFile:
    """Return the contents of a YAML file of loops."""
    tree, file = yaml_of(path), str(path)
    pairs, kinds = tree.get("closed_loop") or [], tree.get("type") or []
    check_side_file(pairs, kinds, file)
    closures = [
        Closure(f"closed_loop_{k}", FORMS[str(kind).lower()], pair[0], pair[1], here(), here(), None, file)
        for k, (pair, kind) in enumerate(zip(pairs, kinds, strict=True), 1)
    ]
    joints, types = tree.get("joint_name") or [], tree.get("joint_type") or []
    if not (names_in(joints) and names_in(types) and len(joints) == len(types) and set(types) <= set(REPLACED)):
        told = f"joint_type is {shown(types)}; it must name for each joint_name one of {', '.join(REPLACED)}"
        raise LanguageError(told, file=file)
    motors = tree.get("name_mot") or []
    names = [motors] if isinstance(motors, str) else [str(one) for one in motors] if isinstance(motors, list) else []
    replaced = {name: REPLACED[kind] for name, kind in zip(joints, types, strict=True)}
    return SideFile(file, closures, names, replaced, [str(key) for key in tree if key not in SIDE_KEYS])


def names_in(entry: Any) -> bool:
    """True for a list of texts."""
    return isinstance(entry, list) and all(isinstance(one, str) for one in entry)


def yaml_of(path: Path) -> dict[Any, Any]:
    """Return the entries of a YAML file; LanguageError for a file that has none."""
    try:
        import yaml
    except ImportError:
        raise InputError(NEEDS) from None
    try:
        tree = shallow_loader(yaml.SafeLoader, yaml.AliasEvent, str(path))(text(path, MOST_BYTES)).get_single_data()
    except DamagedFile as error:
        raise LanguageError(f"the file of loops {error}", file=str(path)) from None
    except LanguageError:
        raise
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise LanguageError(f"the file of loops is no YAML: {first}", file=str(path)) from None
    if not isinstance(tree, dict):
        raise LanguageError("the file of loops has no entry closed_loop; it must be a list of pairs", file=str(path))
    return tree


def shallow_loader(base: Any, alias: Any, file: str) -> Any:
    """Return a loader that refuses aliases, and lists inside each other, before it has read them."""

    class ShallowLoader(base):  # type: ignore[misc]
        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(alias):
                raise LanguageError("the file of loops has an alias (*NAME), which may unpack to gigabytes", file=file)
            self.depth += 1
            if self.depth > MOST_DEPTH:
                raise LanguageError(f"the file of loops has more than {MOST_DEPTH} lists inside each other", file=file)
            found = super().compose_node(parent, index)
            self.depth -= 1
            return found

    return ShallowLoader


def check_side_file(pairs: Any, kinds: Any, file: str) -> None:
    """Refuse entries of a side file that are no pairs of names with a type each."""
    good = isinstance(pairs, list) and all(names_in(pair) and len(pair) == 2 for pair in pairs)
    if not good:
        raise LanguageError(f"closed_loop is {shown(pairs)}; it must be a list of pairs of frames", file=file)
    if not isinstance(kinds, list) or len(kinds) != len(pairs) or not all(str(one).lower() in FORMS for one in kinds):
        raise LanguageError(f"type is {shown(kinds)}; it must be '6d' or '3d' for each closed loop", file=file)
