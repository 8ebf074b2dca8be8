"""Writer of URDF, and the tree of a Model that SDF writes as well.

Writer of URDF: the tree of a Model, with ``<loop_joint>`` for joints that close loops.

The tree of a Model as URDF and SDF write it: joints from parent to child, links with frames, loops beside the tree.

URDF and MJCF have a joint from its parent to its child. A hinge or a slide that the tree walks from its second body is
written with its axis reversed, and its coordinate stays the same. A ball, a plane and a floating joint have no such
twin. They are marked as backwards, and a reader exchanges their bodies again. Rotors are massless bodies that a coupler
turns with one coordinate. They become its armature.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

import numpy as np

from rtmbs.errors import InputError
from rtmbs.formats.assembly import BACKWARDS, Array, Placement, here, rpy_of_rotation
from rtmbs.model import Fixed, Floating, Model, Planar, Prismatic, Revolute, Spherical, TorsionSpring
from rtmbs.model.body import GROUND, Body
from rtmbs.model.constraints import Coupler
from rtmbs.model.description import ImportNote, JointLimits
from rtmbs.model.joints import Initial, Joint
from rtmbs.numerics.rotations.quaternions import rotations

NO_TURN = 1e-14  # [m, rad] of a coordinate that is zero but for rounding
ROUNDED = 1e-14  # of a rotation that a quaternion of 16 digits gives
Term = tuple[Joint, int, float]  # joint, number of its coordinate, factor


@dataclass
class TreeJoint:
    """A joint of the tree as it is written."""

    joint: Joint
    parent: str
    child: str
    in_parent: Placement
    in_child: Placement
    axis: Array | None  # in joint axes
    backwards: bool = False  # the parent is the second body, and no other axis gives the same coordinates
    damping: float = 0.0
    armature: float = 0.0


@dataclass
class WrittenTree:
    """Joints of the tree, joints that close loops, couplers, and what cannot be written."""

    model: Model
    joints: list[TreeJoint] = field(default_factory=list)  # from ground outwards
    in_order: list[TreeJoint] = field(default_factory=list)  # in the order of the Model, which that of q follows
    loops: list[Joint] = field(default_factory=list)
    couplers: list[Coupler] = field(default_factory=list)
    rotors: set[str] = field(default_factory=set)  # bodies
    gears: list[tuple[Term, Term]] = field(default_factory=list)  # of rotors: own term, and that of the coordinate
    notes: list[ImportNote] = field(default_factory=list)

    @property
    def links(self) -> Iterator[str]:
        """Names of the bodies that are links, ground first."""
        return (name for name in self.model.bodies if name not in self.rotors)


def tree_of(model: Model) -> WrittenTree:
    """Return the tree of a Model, that of its System; InputError for a body that no joint leads to."""
    tree = WrittenTree(model)
    take_couplers(tree)
    around: dict[str, list[Joint]] = {}
    inside = joints_of_tree(model)
    for joint in model.joints.values():
        if joint.name in inside and joint.b.name not in tree.rotors:
            around.setdefault(joint.a.name, []).append(joint)
            around.setdefault(joint.b.name, []).append(joint)
    reached = {GROUND}
    waiting = deque([GROUND])
    while waiting:
        name = waiting.popleft()
        for joint in around.get(name, ()):
            child = joint.b.name if joint.a.name == name else joint.a.name
            if child not in reached:
                reached.add(child)
                waiting.append(child)
                tree.joints.append(tree_joint(joint, child))
    for joint in model.joints.values():
        if joint.name in inside or joint.b.name in tree.rotors:
            continue
        if isinstance(joint.type, Floating):
            tree.notes.append(
                ImportNote(f"joint {joint.name!r}", 0, "is not written: it closes a loop and holds nothing")
            )
        else:
            tree.loops.append(joint)
    for name in tree.links:
        if name not in reached:
            raise InputError(
                f"body {name!r}: no joint leads to it from ground but cut ones; join it to write the model"
            )
    take_forces(tree)
    note_rest(tree)
    order = {name: k for k, name in enumerate(model.joints)}
    tree.in_order = sorted(tree.joints, key=lambda one: order[one.joint.name])
    return tree


def joints_of_tree(model: Model) -> set[str]:
    """Return the joints of the spanning tree: all that are not cut, or of several trees that of the System."""
    free = {joint.name for joint in model.joints.values() if not joint.cut}
    if len(free) == len(model.bodies) - 1:
        return free
    topology = model.compile().topology
    return {topology.edges[branch.edge].name for branch in topology.tree}


def tree_joint(joint: Joint, child: str) -> TreeJoint:
    """Return a joint from its parent to ``child``, whose frame has the axes of the child wherever that is the same."""
    ends = Placement(joint.point_a, joint.axes_a), Placement(joint.point_b, joint.axes_b)
    names, backwards = (joint.a.name, joint.b.name), child != joint.b.name
    (near, far), (parent, _) = (ends[::-1], names[::-1]) if backwards else (ends, names)
    axis = axis_of(joint)
    if isinstance(joint.type, Revolute | Prismatic | Spherical | Fixed):
        axis = None if axis is None else far.rotation @ axis * (-1.0 if backwards else 1.0)
        near, far = Placement(near.position, near.rotation @ far.rotation.T), Placement(far.position, np.eye(3))
        backwards = backwards and isinstance(joint.type, Spherical)
    elif isinstance(joint.type, Floating):  # its quaternion is that of the bodies, and x, y, z are along axes_a
        near, far = (near, straight(far)) if child == joint.b.name else (straight(near), far)
    return TreeJoint(joint, parent, child, near, far, axis, backwards)


def straight(place: Placement) -> Placement:
    """Return a placement with axes of the body."""
    return Placement(place.position, np.eye(3))


def axis_of(joint: Joint) -> Array | None:
    """Return the direction of a joint with one axis, in joint axes; None for others."""
    if isinstance(joint.type, Revolute | Prismatic):
        return np.array(joint.type.axis, float)
    return np.array(joint.type.normal, float) if isinstance(joint.type, Planar) else None


def take_couplers(tree: WrittenTree) -> None:
    """Sort the couplers of a Model into those of rotors and others."""
    model = tree.model
    for coupler in model.couplers.values():
        rotor, driven = next((pair for pair in (coupler.terms, coupler.terms[::-1]) if is_rotor(model, pair[0][0])),
                             (None, None))  # fmt: skip
        if rotor is not None and driven is not None and len(coupler.terms) == 2 and coupler.offset == 0.0:
            tree.rotors.add(rotor[0].b.name)
            tree.gears.append((rotor, driven))
        else:
            tree.couplers.append(coupler)


def is_rotor(model: Model, joint: Joint) -> bool:
    """True for the joint of a massless body that turns on ground and that no other joint names."""
    body = joint.b
    others = [one for one in model.joints.values() if body in (one.a, one.b) and one is not joint]
    return joint.a.name == GROUND and body.mass == 0.0 and isinstance(joint.type, Revolute) and not others


def take_forces(tree: WrittenTree) -> None:
    """Give dampers and rotors to their joints; note every other force, driver, constraint and rod."""
    model, by_name = tree.model, {one.joint.name: one for one in tree.joints}
    for own, driven in tree.gears:
        assert isinstance(own[0].type, Revolute)  # ``is_rotor``
        axis = np.asarray(own[0].type.axis, float)
        if driven[0].name not in by_name:
            told = "is not written: the joint closes a loop"
            tree.notes.append(ImportNote(f"rotor on joint {driven[0].name!r}", 0, told))
            continue
        by_name[driven[0].name].armature += float(axis @ own[0].b.inertia @ axis) * (driven[2] / own[2]) ** 2
    for force in model.forces.values():
        damper = isinstance(force.law, TorsionSpring) and not force.law.stiffness
        on = by_name.get(force.joint[0].name) if force.joint is not None else None
        if damper and on is not None and force.joint is not None and isinstance(on.joint.type, Revolute | Prismatic):
            by_name[force.joint[0].name].damping += force.law.damping  # type: ignore[union-attr]
        else:
            tree.notes.append(ImportNote(f"force {force.name!r}", 0, "is not written"))
    for kind, elements in (
        ("driver", model.drivers), ("rod", model.rods), ("constraint", model.constraints), ("contact", model.contacts),
        ("contact set", model.contact_sets),
    ):  # fmt: skip
        tree.notes += [ImportNote(f"{kind} {name!r}", 0, "is not written") for name in elements]


def note_rest(tree: WrittenTree) -> None:
    """Note markers, shapes, initial values and limits that no file gets."""
    model, written = tree.model, {one.joint.name for one in tree.joints}
    limited = [name for name in limits_of(tree) if name in model.joints and name not in written]
    counts = {
        "markers": len(model.markers),
        "shapes of bodies": sum(bool(looks.shapes) for looks in model.looks.values()),
        "initial values of joints": sum(
            one.joint.b.name not in tree.rotors and starts_away(one) for one in model.initials.values()
        ),
        "limits of joints that close loops": len(limited),
    }
    for what, count in counts.items():
        if count:
            tree.notes.append(ImportNote(f"{what} ({count} of them)", 0, "are not written"))


def starts_away(initial: Initial) -> bool:
    """True for a joint that starts at other coordinates or rates than zero."""
    if initial.rate is not None and np.any(initial.rate):
        return True
    if initial.position is None:
        return False
    position, joint = np.array(initial.position, float).ravel(), initial.joint
    turned = 0.0
    if isinstance(joint.type, Floating | Spherical):  # a quaternion is last
        turned = float(np.abs(rotations(position[-4:]) - joint.axes_a @ joint.axes_b.T).max())
        position = position[:-4]
    return turned > ROUNDED or bool(np.any(np.abs(position) > NO_TURN))


def limits_of(tree: WrittenTree) -> Mapping[str, JointLimits]:
    """Return the limits of joints that the file of a Model stated."""
    return {} if tree.model.import_report is None else tree.model.import_report.limits


def note_open_limits(tree: WrittenTree) -> None:
    """Note ranges of joints that are open on one side."""
    for one in tree.joints:
        limits = limits_of(tree).get(one.joint.name)
        if limits is not None and np.isfinite(limits.lower) != np.isfinite(limits.upper):
            told = "is not written: it is open on one side, which the format has not"
            tree.notes.append(ImportNote(f"range of joint {one.joint.name!r}", 0, told))


def offset_of_two(tree: WrittenTree, coupler: Coupler) -> float | None:
    """Return the offset of a coupler of two slides or hinges of the tree; None for a coupler that is not written."""
    names = {one.joint.name for one in tree.joints}
    joints = [joint for joint, _, _ in coupler.terms]
    single = all(isinstance(joint.type, Revolute | Prismatic) and joint.name in names for joint in joints)
    return None if len(joints) != 2 or not single or callable(coupler.offset) else coupler.offset


def link_frames(tree: WrittenTree) -> dict[str, Placement]:
    """Return the frame of each link in its body: that of the joint above it."""
    return {GROUND: here()} | {one.child: one.in_child for one in tree.joints}


def poses_at_zero(tree: WrittenTree) -> dict[str, Placement]:
    """Return the placement of each body in the world at zero coordinates."""
    found = {GROUND: here()}
    for one in tree.joints:
        found[one.child] = found[one.parent].then(one.in_parent).then(one.in_child.inverse())
    return found


def free_at_origins(one: TreeJoint) -> bool:
    """True for a floating joint whose coordinates are the pose of the body in the world."""
    joint = one.joint
    still = not np.any(joint.point_a) and not np.any(joint.point_b)
    same = all(np.array_equal(axes, np.eye(3)) for axes in (joint.axes_a, joint.axes_b))
    return one.parent == GROUND and one.child == joint.b.name and still and same


def loop_form(joint: Joint) -> str:
    """Return the word of URDF's loop joints for a type; InputError for a type without one."""
    words = {Spherical: "spherical", Fixed: "fixed", Revolute: "revolute", Prismatic: "prismatic"}
    if type(joint.type) not in words:
        raise InputError(
            f"joint {joint.name!r} is {type(joint.type).__name__}, and no such joint closes a loop in a file; use "
            f"{', '.join(words.values())}"
        )
    return words[type(joint.type)]


WORLD = "world"
TYPES = {Revolute: "continuous", Prismatic: "prismatic", Fixed: "fixed", Floating: "floating", Planar: "planar"}
TYPES |= {Spherical: "spherical"}  # an extension of Bullet
FREE = float("inf")
EYE = np.eye(3)
USUAL_GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2]


def urdf_text(model: Model) -> tuple[str, tuple[ImportNote, ...]]:
    """Return the text of a Model, and notes of elements that URDF has not; InputError for a joint that it has not."""
    tree = tree_of(model)
    if not np.array_equal(model.gravity, USUAL_GRAVITY):
        tree.notes.append(ImportNote("gravity", 0, f"is not written, and a reader takes {USUAL_GRAVITY}"))
    frames = link_frames(tree)
    root = root_of(tree)
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(model.name)}>"]
    for name in tree.links:
        if name == GROUND:
            lines += [] if root else [f"  <link name={quoteattr(WORLD)}/>"]
        else:
            lines += link_lines(model.bodies[name], frames[name])
    limits, mimics = limits_of(tree), mimic_lines(tree)
    note_limits(tree)
    note_turned(tree, frames)
    for joint in tree.in_order:
        if joint.child != root:
            lines += joint_lines(joint, frames, limits.get(joint.joint.name), mimics.get(joint.joint.name, ""))
    for loop in tree.loops:
        lines += loop_lines(loop, frames)
    return "\n".join([*lines, "</robot>", ""]), tuple(tree.notes)


def note_limits(tree: WrittenTree) -> None:
    """Note ranges that are open on one side, and limits of rate and force of a slide without a range."""
    note_open_limits(tree)
    for one in tree.joints:
        limits = limits_of(tree).get(one.joint.name)
        if limits is None or not isinstance(one.joint.type, Prismatic):
            continue
        if not np.all(np.isfinite(limits[:2])) and np.any(np.isfinite(limits[2:])):
            told = "are not written: a slide of URDF has them with a range only"
            tree.notes.append(ImportNote(f"limits of rate and force of joint {one.joint.name!r}", 0, told))


def note_turned(tree: WrittenTree, frames: dict[str, Placement]) -> None:
    """Note floating joints that start turned, and quaternions from links with frames turned against their bodies."""
    for one in tree.joints:
        joint, what = one.joint, f"joint {one.joint.name!r}"
        if isinstance(joint.type, Floating) and not np.array_equal(joint.axes_b, EYE):
            told = "has axes in its second body, which URDF has not: the body starts turned"
            tree.notes.append(ImportNote(what, 0, told))
        if isinstance(joint.type, Floating | Spherical) and not np.array_equal(frames[one.parent].rotation, EYE):
            told = f"has another quaternion: the frame of link {one.parent!r} is turned against its body"
            tree.notes.append(ImportNote(what, 0, told))


def root_of(tree: WrittenTree) -> str:
    """Return the only link that is fixed to ground at its origin, which is the root; "" where ground is a link."""
    on_ground = [one for one in tree.joints if one.parent == GROUND]
    closing = [one for one in tree.loops if GROUND in (one.a.name, one.b.name)]
    if len(on_ground) != 1 or closing or not isinstance(on_ground[0].joint.type, Fixed):
        return ""
    only = on_ground[0]
    at_origin = all(not any(one.position) and (one.rotation == EYE).all() for one in (only.in_parent, only.in_child))
    return only.child if at_origin and only.joint.name == "root_joint" and only.child != WORLD else ""


def words(numbers: object) -> str:
    """Return numbers with all their digits."""
    return " ".join(repr(float(one)) for one in numbers)  # type: ignore[attr-defined]


def origin(place: Placement) -> str:
    """Return ``<origin>`` of a placement."""
    return f"<origin xyz={quoteattr(words(place.position))} rpy={quoteattr(words(rpy_of_rotation(place.rotation)))}/>"


def link_lines(body: Body, frame: Placement) -> list[str]:
    """Return the lines of a link; mass centre and tensor in the axes of its frame."""
    if not body.mass and not body.inertia.any():
        return [f"  <link name={quoteattr(body.name)}/>"]
    turned = frame.rotation.T
    center = turned @ (body.center_of_mass - frame.position)
    tensor = turned @ body.inertia @ turned.T
    six = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
    inertia = " ".join(f'{key}="{float(tensor[i, j])!r}"' for key, i, j in six)
    return [
        f"  <link name={quoteattr(body.name)}>",
        f'    <inertial><origin xyz="{words(center)}"/><mass value="{body.mass!r}"/><inertia {inertia}/></inertial>',
        "  </link>",
    ]


def joint_lines(one: TreeJoint, frames: dict[str, Placement], limits: JointLimits | None, mimic: str) -> list[str]:
    """Return the lines of a joint of the tree."""
    kind = TYPES.get(type(one.joint.type))
    if kind is None:
        raise InputError(
            f"joint {one.joint.name!r} is {type(one.joint.type).__name__}, which URDF has not; use one of "
            f"{', '.join(TYPES.values())}"
        )
    ranged = limits is not None and limits.lower > -FREE and limits.upper < FREE
    kind = "revolute" if kind == "continuous" and ranged else kind
    parts = [origin(frames[one.parent].inverse().then(one.in_parent))]
    parts += [f"<parent link={quoteattr(link_name(one.parent))}/><child link={quoteattr(one.child)}/>"]
    if one.axis is not None:
        parts += [f'<axis xyz="{words(one.axis)}"/>']
    if limits is not None and (ranged or kind != "prismatic"):  # a slide with <limit> has a range
        keys = ("lower", "upper", "velocity", "effort") if ranged else ("", "", "velocity", "effort")
        stated = [(key, value) for key, value in zip(keys, limits, strict=True) if key]
        parts += ["<limit " + " ".join(f'{key}="{value!r}"' for key, value in stated if abs(value) < FREE) + "/>"]
    if one.damping or one.armature:
        armature = f' armature="{one.armature!r}"' if one.armature else ""
        parts += [f'<dynamics damping="{one.damping!r}"{armature}/>']
    parts += [f"<{BACKWARDS}/>"] if one.backwards else []
    head = f"  <joint name={quoteattr(one.joint.name)} type={quoteattr(kind)}>"
    return [head, *(f"    {part}" for part in [*parts, *([mimic] if mimic else [])]), "  </joint>"]


def link_name(body: str) -> str:
    """Return the name of a body as a link."""
    return WORLD if body == GROUND else body


def mimic_lines(tree: WrittenTree) -> dict[str, str]:
    """Return ``<mimic>`` by joint, one for each coupler of two coordinates; note other couplers."""
    found: dict[str, str] = {}
    for coupler in tree.couplers:
        free = [k for k, (joint, _, _) in enumerate(coupler.terms) if joint.name not in found]
        if (offset := offset_of_two(tree, coupler)) is None or not free:
            tree.notes.append(ImportNote(f"coupler {coupler.name!r}", 0, "is not written"))
            continue
        own, other = coupler.terms[free[0]], coupler.terms[1 - free[0]]
        multiplier, offset = -other[2] / own[2], offset / own[2]
        found[own[0].name] = (
            f"<mimic joint={quoteattr(other[0].name)} multiplier={quoteattr(repr(multiplier))} "
            f"offset={quoteattr(repr(offset))}/>"
        )
    return found


def loop_lines(joint: Joint, frames: dict[str, Placement]) -> list[str]:
    """Return the lines of a joint that closes a loop."""
    ends = []
    for tag, body, point, axes in (
        ("link1", joint.a.name, joint.point_a, joint.axes_a), ("link2", joint.b.name, joint.point_b, joint.axes_b)
    ):  # fmt: skip
        place = frames[body].inverse().then(Placement(point, axes))
        xyz, rpy = words(place.position), words(rpy_of_rotation(place.rotation))
        ends.append(f'<{tag} link={quoteattr(link_name(body))} xyz="{xyz}" rpy="{rpy}"/>')
    axis: Array | None = axis_of(joint)
    more = [] if axis is None else [f'    <axis xyz="{words(axis)}"/>']
    head = f"  <loop_joint name={quoteattr(joint.name)} type={quoteattr(loop_form(joint))}>"
    return [head, f"    {''.join(ends)}", *more, "  </loop_joint>"]
