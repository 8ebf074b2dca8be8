"""Writer of URDF: the tree of a Model, with ``<loop_joint>`` for joints that close loops."""

from xml.sax.saxutils import quoteattr

import numpy as np

from rtmbs.errors import InputError
from rtmbs.formats.assembly import BACKWARDS
from rtmbs.formats.placement import Array, Placement, rpy_of_rotation
from rtmbs.formats.written_tree import (
    TreeJoint,
    WrittenTree,
    axis_of,
    limits_of,
    link_frames,
    loop_form,
    note_open_limits,
    offset_of_two,
    tree_of,
)
from rtmbs.model import Fixed, Floating, Model, Planar, Prismatic, Revolute, Spherical
from rtmbs.model.body import GROUND, Body
from rtmbs.model.description import ImportNote, JointLimits
from rtmbs.model.joints import Joint

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
