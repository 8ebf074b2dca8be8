"""Writer of SDFormat 1.10: the whole graph of a Model, links at their poses at zero coordinates.

A joint has one frame, which stands in both of its links at zero coordinates. A ball joint that closes a loop which is
open there is written as ``drake:ball_constraint``; other such joints are refused. SDF has no floating joint: the first
link of a component that nothing joins to the world is free.
"""

from dataclasses import replace
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from rtmbs.errors import InputError
from rtmbs.formats.assembly import Placement
from rtmbs.formats.urdf_writer import (
    FREE,
    TreeJoint,
    WrittenTree,
    free_at_origins,
    limits_of,
    offset_of_two,
    poses_at_zero,
    tree_joint,
    tree_of,
    words,
)
from rtmbs.model import Fixed, Floating, Model, Prismatic, Revolute, Screw, Spherical, Universal
from rtmbs.model.body import GROUND, Body
from rtmbs.model.description import ImportNote, JointLimits
from rtmbs.model.joints import Joint
from rtmbs.numerics.rotations.quaternions import quaternions

TYPES = {Revolute: "revolute", Prismatic: "prismatic", Fixed: "fixed", Spherical: "ball", Universal: "universal"}
TYPES |= {Screw: "screw"}
CLOSED = 1e-12  # [m, 1] by which a loop may be open at zero coordinates


def sdf_text(model: Model) -> tuple[str, tuple[ImportNote, ...]]:
    """Return the text of a Model, and notes of elements that SDF has not; InputError for a joint that it has not."""
    tree = tree_of(model)
    poses = poses_at_zero(tree)
    limits = limits_of(tree)
    lines = ['<?xml version="1.0"?>', '<sdf version="1.10">', f"<world name={quoteattr(model.name)}>"]
    free = free_joints(tree)
    canonical = f" canonical_link={quoteattr(free[0].child)}" if free else ""
    lines += [f"<gravity>{words(model.gravity)}</gravity>", f"<model name={quoteattr(model.name)}{canonical}>"]
    first = [one.child for one in free]
    for name in (*first, *(one for one in tree.links if one not in (GROUND, *first))):
        lines += link_lines(model.bodies[name], poses[name])
    for one in tree.in_order:
        if one.parent == GROUND and one.child in first:
            continue
        lines += joint_lines(as_stated(one), limits.get(one.joint.name), mimics_of(tree).get(one.joint.name, ""))
        if one.armature:
            tree.notes.append(ImportNote(f"rotor on joint {one.joint.name!r}", 0, "is not written"))
    carriers = carriers_of(tree, first)
    for loop in tree.loops:
        apart = carriers[loop.a.name] != carriers[loop.b.name]
        if apart and not isinstance(loop.type, Spherical):
            told = "joins a free link, and a reader takes it into the tree: the coordinates change"
            tree.notes.append(ImportNote(f"joint {loop.name!r}", 0, told))
        lines += loop_lines(loop, poses, apart)
    return "\n".join([*lines, "</model>", "</world>", "</sdf>", ""]), tuple(tree.notes)


def free_joints(tree: WrittenTree) -> list[TreeJoint]:
    """Return the floating joints on ground, which are not written; note names and frames that are lost."""
    free = [one for one in tree.joints if isinstance(one.joint.type, Floating) and one.parent == GROUND]
    for k, one in enumerate(free):
        given = "root_joint" if k == 0 else f"root_joint_{k + 1}"
        what = f"joint {one.joint.name!r}"
        if one.joint.name != given:
            tree.notes.append(
                ImportNote(what, 0, f"is not written, since SDF leaves a link free; it becomes {given!r}")
            )
        if not free_at_origins(one):
            told = "loses its points and axes, since SDF leaves a link free; its coordinates change"
            tree.notes.append(ImportNote(what, 0, told))
    return free


def carriers_of(tree: WrittenTree, free: list[str]) -> dict[str, str]:
    """Return the free link, or ground, that carries each body."""
    found = {GROUND: GROUND} | {name: name for name in free}
    for one in tree.joints:
        found.setdefault(one.child, found[one.parent])
    return found


def pose(place: Placement, more: str = "") -> str:
    """Return ``<pose>`` with a quaternion, which keeps all digits."""
    w, x, y, z = quaternions(place.rotation[None])[0]
    return f'<pose rotation_format="quat_xyzw"{more}>{words((*place.position, x, y, z, w))}</pose>'


def link_lines(body: Body, place: Placement) -> list[str]:
    """Return the lines of a link."""
    J = body.inertia
    six = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
    inertia = "".join(f"<{key}>{float(J[i, j])!r}</{key}>" for key, i, j in six)
    center = pose(Placement(body.center_of_mass, np.eye(3)))
    return [
        f"  <link name={quoteattr(body.name)}>{pose(place)}",
        f"    <inertial>{center}<mass>{body.mass!r}</mass><inertia>{inertia}</inertia></inertial>",
        "  </link>",
    ]


def as_stated(one: TreeJoint) -> TreeJoint:
    """Return a joint from its first body to its second, as SDF has it whatever the tree; the world is no child."""
    joint = one.joint
    if joint.b.name == GROUND and isinstance(joint.type, Revolute | Prismatic | Fixed):
        return one
    return replace(tree_joint(joint, joint.b.name), damping=one.damping, armature=one.armature)


def joint_lines(one: TreeJoint, limits: JointLimits | None, mimic: str) -> list[str]:
    """Return the lines of a joint, whose frame stands in the child."""
    joint, kind = one.joint, TYPES.get(type(one.joint.type))
    if kind is None:
        raise InputError(
            f"joint {joint.name!r} is {type(joint.type).__name__}, which SDF has not; use one of "
            f"{', '.join(TYPES.values())}"
        )
    ends = f"<parent>{escape('world' if one.parent == GROUND else one.parent)}</parent>"
    ends += f"<child>{escape('world' if one.child == GROUND else one.child)}</child>"
    lines = [f"  <joint name={quoteattr(joint.name)} type={quoteattr(kind)}>{pose(one.in_child)}{ends}"]
    if isinstance(joint.type, Universal):
        axes = (joint.type.axis_a, joint.type.axis_b)
        lines += [
            f"    <{tag}><xyz>{words(axis)}</xyz></{tag}>" for tag, axis in zip(("axis", "axis2"), axes, strict=True)
        ]
    elif isinstance(joint.type, Screw):
        lines += [f"    <axis><xyz>{words(joint.type.axis)}</xyz></axis>"]
        lines += [f"    <screw_thread_pitch>{joint.type.pitch!r}</screw_thread_pitch>"]
    elif one.axis is not None:
        inner = f"<dynamics><damping>{one.damping!r}</damping></dynamics>" if one.damping else ""
        if limits is not None:
            stated = zip(("lower", "upper", "velocity", "effort"), limits, strict=True)
            inner += f"<limit>{''.join(f'<{k}>{v!r}</{k}>' for k, v in stated if abs(v) < FREE)}</limit>"
        lines += [f"    <axis><xyz>{words(one.axis)}</xyz>{inner}{mimic}</axis>"]
    return [*lines, "  </joint>"]


def mimics_of(tree: WrittenTree) -> dict[str, str]:
    """Return ``<mimic>`` by joint, one for each coupler of two coordinates."""
    found: dict[str, str] = {}
    for coupler in tree.couplers:
        free = [k for k, (joint, _, _) in enumerate(coupler.terms) if joint.name not in found]
        note = ImportNote(f"coupler {coupler.name!r}", 0, "is not written")
        if (offset := offset_of_two(tree, coupler)) is None or not free:
            if note not in tree.notes:
                tree.notes.append(note)
            continue
        own, other = coupler.terms[free[0]], coupler.terms[1 - free[0]]
        numbers = f"<multiplier>{-other[2] / own[2]!r}</multiplier><offset>{offset / own[2]!r}</offset>"
        found[own[0].name] = f"<mimic joint={quoteattr(other[0].name)} axis='axis'>{numbers}</mimic>"
    return found


def loop_lines(joint: Joint, poses: dict[str, Placement], apart: bool) -> list[str]:
    """Return the lines of a joint that closes a loop; ``apart`` where only floating joints lead between its bodies."""
    one = tree_joint(joint, joint.b.name)
    a, b = poses[one.parent].then(one.in_parent), poses[one.child].then(one.in_child)
    gap = np.abs(a.position - b.position).max()
    turned = 0.0 if isinstance(joint.type, Spherical) else np.abs(a.rotation - b.rotation).max()
    ball = isinstance(joint.type, Spherical)
    if max(gap, turned) <= CLOSED and not (apart and ball):  # a reader would take a joint to a free link as its tree
        return joint_lines(one, None, "")
    if not ball:
        raise InputError(
            f"joint {joint.name!r} closes a loop that is open at zero coordinates by {max(gap, turned):.3g}, which SDF "
            "writes of ball joints only; write URDF"
        )
    ends = []
    for side, point, name, place in (("A", "p_AP", one.parent, one.in_parent), ("B", "p_BQ", one.child, one.in_child)):
        body = escape("world" if name == GROUND else name)
        ends.append(f"    <drake:ball_constraint_body_{side}>{body}</drake:ball_constraint_body_{side}>")
        ends.append(f"    <drake:ball_constraint_{point}>{words(place.position)}</drake:ball_constraint_{point}>")
    return ["  <drake:ball_constraint>", *ends, "  </drake:ball_constraint>"]
