"""Links and joints of a file, in the order of the file, and the Model that they make.

A link becomes a body, a joint becomes a joint of the same name. Reference poses are those of the file where it states
them; elsewhere they follow from the joints at zero coordinates.

A rotor that turns with a joint coordinate, ``armature`` in MJCF, becomes a body of its own without mass. It turns about
a fixed axis, coupled to the coordinate, and so adds its inertia to the diagonal of the mass matrix and nothing else.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import LanguageError, ModelError
from rtmbs.formats.placement import Array, Placement, here
from rtmbs.formats.xml_tree import Element
from rtmbs.model import Body, Fixed, Floating, JointType, Model, Prismatic, Revolute, Spherical, TorsionSpring
from rtmbs.model.body import GROUND
from rtmbs.model.description import ImportNote, ImportReport, JointLimits
from rtmbs.model.joints import WORLD
from rtmbs.numerics.rotations.quaternions import quaternions

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
