"""Writer of MJCF: bodies inside each other, joints in the child body, exact closures between sites.

The frame of a body is that of the Model, so its inertia stays as it is. The pose of the file is that at zero
coordinates. A ball or a weld that closes a loop stands between two sites, which need not meet in that pose.
"""

from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from rtmbs.errors import InputError
from rtmbs.formats.assembly import BACKWARDS, Array, Placement, here
from rtmbs.formats.urdf_writer import (
    FREE,
    TreeJoint,
    WrittenTree,
    free_at_origins,
    limits_of,
    note_open_limits,
    offset_of_two,
    tree_of,
    words,
)
from rtmbs.model import Fixed, Floating, Model, Prismatic, Revolute, Spherical
from rtmbs.model.body import GROUND, Body
from rtmbs.model.description import ImportNote, JointLimits
from rtmbs.model.joints import Joint
from rtmbs.numerics.rotations.quaternions import quaternions

TYPES = {Revolute: "hinge", Prismatic: "slide", Spherical: "ball", Floating: "free", Fixed: ""}
CLOSURES = {Spherical: "connect", Fixed: "weld", Revolute: "connect"}  # two points of a hinge
SECOND, LEVER = "::axis", 0.1  # name and distance [m] of the second point, along the axis
SMALLEST = 1e-15  # [kg, kg m^2] mjMINVAL, which mass and inertia of a moving body must exceed
ROUNDING = 1e-12  # of the largest principal value
HEAD = '<compiler angle="radian" autolimits="false" inertiafromgeom="false" balanceinertia="false"/>'


def mjcf_text(model: Model) -> tuple[str, tuple[ImportNote, ...]]:
    """Return the text of a Model, and notes of elements that MJCF has not; InputError for a joint that it has not."""
    tree = tree_of(model)
    children: dict[str, list[TreeJoint]] = {}
    for one in tree.joints:
        children.setdefault(one.parent, []).append(one)
    sites = sites_of(tree)
    note_limits(tree)
    note_refused_bodies(tree)
    lines = [f"<mujoco model={quoteattr(model.name)}>", HEAD, f'<option gravity="{words(model.gravity)}"/>']
    lines += ["<worldbody>", *sites.get(GROUND, [])]
    ends: list[tuple[int, Any]] = [(0, first) for first in reversed(children.get(GROUND, []))]
    for _ in range(2 * len(tree.joints)):  # each joint is begun once and ended once
        if not ends:
            break
        depth, one = ends.pop()
        if one is None:  # the end of a body
            lines.append("  " * depth + "</body>")
            continue
        chain = chain_of(tree, children, sites, one)
        ends.append((depth, None))
        ends += [(depth + 1, other) for other in reversed(children.get(chain[-1].child, []))]
        lines += ["  " * depth + text for text in body_lines(tree, chain, sites.get(chain[-1].child, []))]
    lines += [
        "</worldbody>",
        "<equality>",
        *(line for one in tree.loops for line in loop_lines(one)),
        *coupler_lines(tree),
        "</equality>",
        *(f'<custom><text name={quoteattr(text)} data="true"/></custom>' for text in marks_of(tree)),
    ]
    return "\n".join([*lines, "</mujoco>", ""]), tuple(tree.notes)


def marks_of(tree: WrittenTree) -> list[str]:
    """Return the names of texts that mark joints whose second body is the parent."""
    return [f"{BACKWARDS}:{one.joint.name}" for one in tree.joints if one.backwards]


def note_limits(tree: WrittenTree) -> None:
    """Note ranges that are open on one side, and limits of rate and force."""
    note_open_limits(tree)
    limited = [limits_of(tree).get(one.joint.name) for one in tree.joints]
    if count := sum(one is not None and bool(np.any(np.isfinite(one[2:]))) for one in limited):
        tree.notes.append(ImportNote(f"limits of rate and force of joints ({count} of them)", 0, "are not written"))


def note_refused_bodies(tree: WrittenTree) -> None:
    """Note bodies that MuJoCo refuses: moving ones without inertia, and tensors that break the triangle inequality."""
    carried: dict[str, bool] = {}  # by body: it, or a body that fixed joints hold to it, has mass and inertia
    for one in reversed(tree.joints):
        body = tree.model.bodies[one.child]
        values = np.linalg.eigvalsh(body.inertia)
        if values[0] + values[1] < values[2] * (1.0 - ROUNDING):
            told = "has an inertia that breaks the triangle inequality, and MuJoCo refuses the file"
            tree.notes.append(ImportNote(f"body {one.child!r}", 0, told))
        own = body.mass > SMALLEST and bool(values[0] > SMALLEST)
        heavy = own or carried.get(one.child, False)
        fixed = isinstance(one.joint.type, Fixed)
        carried[one.parent] = carried.get(one.parent, False) or (heavy and fixed)
        if not heavy and not fixed:
            told = "has no mass, or no inertia about an axis, and MuJoCo refuses a file in which such a body moves"
            tree.notes.append(ImportNote(f"body {one.child!r}", 0, told))


def place(frame: Placement) -> str:
    """Return position and quaternion of a placement as attributes."""
    return f'pos="{words(frame.position)}" quat="{words(quaternions(frame.rotation[None])[0])}"'


def chain_of(
    tree: WrittenTree, children: dict[str, list[TreeJoint]], sites: dict[str, list[str]], one: TreeJoint
) -> list[TreeJoint]:
    """Return the joints of one body of MJCF: a massless body that carries one other body becomes no body there."""
    chain = [one]
    for _ in range(len(tree.joints)):
        last = chain[-1]
        body, after = tree.model.bodies[last.child], children.get(last.child, [])
        free = any(isinstance(joint.joint.type, Floating | Fixed) for joint in (last, *after))
        if body.mass or body.inertia.any() or len(after) != 1 or last.child in sites or free:
            break
        chain.append(after[0])
    return chain


def body_lines(tree: WrittenTree, chain: list[TreeJoint], sites: list[str]) -> list[str]:
    """Return the lines of a body with its joints and sites, without its end."""
    places = [one.in_parent.then(one.in_child.inverse()) for one in chain]
    in_parent = places[0]
    for inner in places[1:]:
        in_parent = in_parent.then(inner)
    name = chain[-1].child
    lines = [f"<body name={quoteattr(name)} {place(in_parent)}>", *inertial(tree.model.bodies[name])]
    for k, one in enumerate(chain):
        back = here()  # frame of the joint's own body in the body that is written
        for inner in places[k + 1 :]:
            back = back.then(inner)
        lines += joint_lines(tree, one, back.inverse().then(one.in_child))
    return [*lines, *sites]


def joint_lines(tree: WrittenTree, one: TreeJoint, frame: Placement) -> list[str]:
    """Return the line of a joint with its frame in the body that is written; none of a fixed one."""
    joint, kind = one.joint, TYPES.get(type(one.joint.type))
    if kind is None or (kind == "free" and not free_at_origins(one)):
        raise InputError(
            f"joint {joint.name!r} is {type(joint.type).__name__}, which MJCF has not here; use one of hinge, slide, "
            "ball, fixed, and a floating joint between the origins of ground and a body"
        )
    if kind == "free":
        return [f"  <freejoint name={quoteattr(joint.name)}/>"]
    return [joint_line(one, kind, frame, limits_of(tree).get(joint.name))] if kind else []


def inertial(body: Body) -> list[str]:
    """Return the line of mass, mass centre and tensor."""
    if not body.mass and not body.inertia.any():
        return []
    J = body.inertia
    center = f'pos="{words(body.center_of_mass)}" mass="{body.mass!r}"'
    values, axes = np.linalg.eigh(J)
    if values[0] <= SMALLEST:  # MuJoCo refuses a full tensor with such a principal value
        turn = quaternions((axes * np.linalg.det(axes))[None])[0]
        return [f'  <inertial {center} quat="{words(turn)}" diaginertia="{words(np.maximum(values, 0.0))}"/>']
    six = words((J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]))
    return [f'  <inertial {center} fullinertia="{six}"/>']


def joint_line(one: TreeJoint, kind: str, frame: Placement, limits: JointLimits | None) -> str:
    """Return the line of a joint, in axes of the body that is written."""
    text = f'  <joint name={quoteattr(one.joint.name)} type="{kind}" pos="{words(frame.position)}"'
    if one.axis is not None:
        text += f' axis="{words(frame.rotation @ one.axis)}"'
    if limits is not None and limits.lower > -FREE and limits.upper < FREE:
        text += f' limited="true" range="{words(limits[:2])}"'
    text += f' damping="{one.damping!r}"' if one.damping else ""
    return text + (f' armature="{one.armature!r}"/>' if one.armature else "/>")


def sites_of(tree: WrittenTree) -> dict[str, list[str]]:
    """Return the lines of the sites between which loops close, by body."""
    found: dict[str, list[str]] = {}
    for joint in tree.loops:
        if type(joint.type) not in CLOSURES:
            raise InputError(
                f"joint {joint.name!r} is {type(joint.type).__name__}, and no such joint closes a loop in a file; use "
                "Spherical, Revolute or Fixed, or write URDF"
            )
        frames = Placement(joint.point_a, joint.axes_a), Placement(joint.point_b, joint.axes_b)
        for suffix, way in points_of(joint):
            for end, body, frame in zip("ab", (joint.a, joint.b), frames, strict=True):
                at = place(frame.then(Placement(way, np.eye(3))))
                site = f"  <site name={quoteattr(f'{joint.name}{suffix}_{end}')} {at}/>"
                found.setdefault(body.name, []).append(site)
    return found


def points_of(joint: Joint) -> list[tuple[str, Array]]:
    """Return the points of a joint that closes a loop, in joint axes, by the ending of their names: two of a hinge."""
    axis = LEVER * np.asarray(joint.type.axis, float) if isinstance(joint.type, Revolute) else np.zeros(3)
    return [("", np.zeros(3)), *([(SECOND, axis)] if axis.any() else [])]


def loop_lines(joint: Joint) -> list[str]:
    """Return the lines of a joint that closes a loop; two points on its axis make a hinge."""
    lines = []
    for suffix, _ in points_of(joint):
        name = f"{joint.name}{suffix}"
        ends = " ".join(f"site{k}={quoteattr(f'{name}_{end}')}" for k, end in ((1, "a"), (2, "b")))
        lines.append(f"  <{CLOSURES[type(joint.type)]} name={quoteattr(name)} {ends}/>")
    return lines


def coupler_lines(tree: WrittenTree) -> list[str]:
    """Return the lines of couplers of two coordinates; others are noted."""
    lines = []
    for coupler in tree.couplers:
        if (offset := offset_of_two(tree, coupler)) is None:
            tree.notes.append(ImportNote(f"coupler {coupler.name!r}", 0, "is not written"))
            continue
        (own, _, factor), (other, _, second) = coupler.terms
        numbers = words((offset / factor, -second / factor, 0.0, 0.0, 0.0))
        ends = f"joint1={quoteattr(own.name)} joint2={quoteattr(other.name)}"
        lines.append(f'  <joint name={quoteattr(coupler.name)} {ends} polycoef="{numbers}"/>')
    return lines
