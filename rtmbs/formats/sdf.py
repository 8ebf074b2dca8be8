"""Reader of SDFormat 1.4 to 1.12: a graph of links and joints, in which loops are closed by ordinary joints.

A link that is the child of two joints, or joints that run in a circle, make a closed loop: the last joint that would
close it, in the order of the file, is cut. A model without a joint to the world is free, unless it is static.
Axes are in the axes of the joint frame, or in those that ``expressed_in`` names. In 1.5 and 1.6
``use_parent_model_frame`` means the axes of the model, which 1.4 always takes.

A gearbox joins the turns of two links about a reference body: child angle = -ratio times parent angle, each about its
axis. A mimic follows another joint: q = multiplier (q_leader - reference) + offset. Both are couplers of the Model.
Source: SDFormat specification, elements ``gearbox_ratio``, ``gearbox_reference_body`` and ``mimic``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rtmbs.errors import ModelError, unknown_name
from rtmbs.formats import shapes
from rtmbs.formats.assembly import (
    Array,
    JointLink,
    Link,
    ModelAssembly,
    Placement,
    add_closures,
    count_notes,
    drake_closures,
    here,
)
from rtmbs.formats.sdf_frames import MODEL, WORLD, FrameGraph, pose_of
from rtmbs.formats.shapes import MeshFiles
from rtmbs.formats.xml_tree import Element
from rtmbs.model import (
    ConstantRate,
    Fixed,
    Floating,
    JointType,
    Model,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from rtmbs.model.description import JointLimits

NEWEST = (1, 12)
OF_WORLDS = (0.0, 0.0, -9.8)  # gravity of a <world> that states none [m/s^2], by the specification
AXES_IN_MODEL = (1, 4)  # last version in which axes are always in axes of the model
READ = {
    "model": {"link", "joint", "frame", "model", "pose", "static", "drake:ball_constraint", "include"},
    "link": {"pose", "inertial", "visual"},
    "inertial": {"pose", "mass", "inertia", "density"},
    "joint": {
        "parent", "child", "pose", "axis", "axis2", "gearbox_ratio", "gearbox_reference_body", "thread_pitch",
        "screw_thread_pitch",
    },
    "axis": {"xyz", "limit", "dynamics", "mimic", "use_parent_model_frame"},
    "limit": {"lower", "upper", "velocity", "effort"},
    "dynamics": {"damping", "friction", "spring_stiffness", "spring_reference"},
    "world": {"model", "joint", "frame", "gravity"},
}  # fmt: skip
SCENERY = {
    "audio", "gui", "scene", "light", "road", "physics", "magnetic_field", "atmosphere", "spherical_coordinates",
    "state",
}  # fmt: skip
QUIET = {"self_collide", "allow_auto_disable", "enable_wind", "kinematic", "must_be_base_link", "velocity_decay"}
TOLD = {
    "collision": "is not read: bodies do not touch each other",
    "plugin": "is not read: it is a program",
    "sensor": "is not read",
    "include": "is not read: give the file that it names, or a model without includes",
}
UNLIMITED = 1e16  # SDF writes this for none
NO_LIMIT = float("inf")


@dataclass
class SDF:
    """An SDF file while it is read."""

    assembly: ModelAssembly
    files: MeshFiles | None
    version: tuple[int, ...]
    frames: FrameGraph = field(default_factory=FrameGraph)
    left_out: dict[str, list[Element]] = field(default_factory=dict)
    joints: list[tuple[str, Element]] = field(default_factory=list)  # scope and element
    closures: list[tuple[str, Element]] = field(default_factory=list)  # scope and model
    couplings: list[Callable[[Model], None]] = field(default_factory=list)
    static: set[str] = field(default_factory=set)  # links of static models
    canonical: list[tuple[str, Element]] = field(default_factory=list)  # full names that models state

    def leave(self, element: Element) -> None:
        """Keep an element for the report."""
        if element.tag not in QUIET:
            self.left_out.setdefault(element.tag, []).append(element)


def read_sdf(
    root: Element,
    path: Path,
    *,
    strict: bool = False,
    meshes: bool = True,
    packages: Mapping[str, str | Path] | None = None,
    friction: bool = False,
) -> Model:
    """Return the Model of an ``<sdf>`` with one model, several, or a world of them."""
    words = root.attributes.get("version", "1.6").strip().split(".")
    version = tuple(int(word) for word in words if word.isdecimal() and len(word) < 5)
    if len(version) != len(words) or not (1, 0) <= version[:2] <= NEWEST:
        raise root.fault(f"<sdf> has the version {'.'.join(words)!r}; versions 1.4 to 1.12 are read")
    worlds = root.all("world")
    owner = worlds[0] if worlds else root
    models = owner.all("model")
    if not models:
        raise root.fault("<sdf> holds no <model>; a mechanism is one or more")
    name = models[0].name() if len(models) == 1 else owner.attributes.get("name", "").strip() or path.stem
    assembly = ModelAssembly(name, root.source.file, "SDF", friction)
    sdf = SDF(assembly, MeshFiles(path, packages or {}) if meshes else None, version)
    for other in (*worlds[1:], *[one for one in owner.children if one.tag not in READ["world"] | SCENERY]):
        sdf.leave(other)
    if (gravity := owner.first("gravity")) is not None:
        assembly.gravity = gravity.text_numbers(3)
    elif worlds:
        assembly.gravity = OF_WORLDS
    inside = bool(worlds) and bool(owner.all("joint") or owner.all("frame"))  # these name links by their models
    add_models(sdf, models, inside or len(models) > 1)
    if inside:
        add_frames(sdf, owner, "")
        sdf.joints += [("", child) for child in owner.all("joint")]
    sdf.frames.move_to_placement_frames()
    for link, entry in sdf.frames.entries.items():
        if link in assembly.links:
            assembly.links[link].place = sdf.frames.place(link)
            assert entry.element is not None
    for scope, element in sdf.joints:
        add_joint(sdf, scope, element)
    for scope, element in sdf.closures:
        add_drake_closures(sdf, scope, element)
    cut_loops(assembly)
    join_world(sdf)
    count_notes(assembly, sdf.left_out, TOLD)
    made = assembly.model()
    for coupling in sdf.couplings:
        coupling(made)
    return assembly.reported(made, strict)


def add_models(sdf: SDF, models: list[Element], named: bool) -> None:
    """Add models, with the names of the models in front of all names where ``named``."""
    met: dict[str, Element] = {}
    for model in models:
        scope = sdf.assembly.free_name(model.name(), met)
        if scope != model.name():
            sdf.assembly.note(f"model {model.name()!r}", f"has the name of another one, and is called {scope!r}", model)
        met[scope] = model
        add_model(sdf, model, scope if named else "", WORLD)


# ---- models and links ------------------------------------------------------------------------------------------------


def add_model(sdf: SDF, element: Element, scope: str, base: str, static: bool = False) -> None:
    """Add the frames, links and joints of a model and of the models inside it."""
    inner = f"{scope}::" if scope else ""
    static = static or element.child_text("static") in ("true", "1")
    pose, relative = pose_of(element)
    outer = scope.rpartition("::")[0]
    if relative:
        base = f"{outer}::{relative}" if outer else relative
    links = element.all("link")
    first = element.attributes.get("canonical_link", "").strip() or next((one.name() for one in links), "")
    carrier = f"{inner}{first}" if first else f"{inner}{next((one.name() for one in element.all('model')), '')}"
    here_frame = f"{inner}{MODEL}"
    sdf.frames.add(here_frame, base, pose, carrier, element)
    if element.attributes.get("canonical_link", "").strip():
        sdf.canonical.append((carrier, element))
    if scope:
        sdf.frames.entries[scope] = sdf.frames.entries[here_frame]
    if placed := element.attributes.get("placement_frame", "").strip():
        sdf.frames.placed.append((scope, placed, element))
    for child in element.children:
        if child.tag == "link":
            add_link(sdf, child, inner)
            if static:
                sdf.static.update({f"{inner}{child.name()}"} - {WORLD})
        elif child.tag == "model":
            add_model(sdf, child, f"{inner}{child.name()}", here_frame, static)
        elif child.tag not in READ["model"] or child.tag == "include":
            sdf.leave(child)
    add_frames(sdf, element, scope)
    sdf.joints += [(scope, child) for child in element.all("joint")]
    if element.first("drake:ball_constraint") is not None:
        sdf.closures.append((scope, element))


def add_frames(sdf: SDF, element: Element, scope: str) -> None:
    """Add the frames of the joints and the explicit frames of a model or the world."""
    inner = f"{scope}::" if scope else ""
    for joint in element.all("joint"):
        child = joint.child_text("child").strip()
        pose, relative = pose_of(joint)
        name = f"{inner}{joint.name()}"
        if name in sdf.frames.entries and not relative:  # older files give a joint the name of a link
            continue
        owner = WORLD if child == WORLD else f"{inner}{child}"
        sdf.frames.add(name, f"{inner}{relative}" if relative else owner, pose, owner, joint)
    for frame in element.all("frame"):
        pose, relative = pose_of(frame)
        attached = frame.attributes.get("attached_to", "").strip()
        carrier = attached or (WORLD if element.tag == "world" else MODEL)
        base = relative or carrier
        full = [WORLD if one == WORLD else f"{inner}{one}" for one in (base, carrier)]
        sdf.frames.add(f"{inner}{frame.name()}", full[0], pose, full[1], frame)


def add_link(sdf: SDF, element: Element, inner: str) -> None:
    """Add a ``<link>`` with its frame, inertia and shapes."""
    name = f"{inner}{element.name()}"
    if name == WORLD:
        sdf.assembly.note("link 'world'", "is the world itself, which has no mass", element)
        return
    pose, relative = pose_of(element)
    sdf.frames.add(name, f"{inner}{relative or MODEL}" if relative != WORLD else WORLD, pose, name, element)
    link = Link(name, element=element)
    for child in element.children:
        if child.tag not in READ["link"]:
            sdf.leave(child)
    inertial = element.first("inertial")
    link.mass, link.inertia = 1.0, np.eye(3)  # SDF gives these to a link without an inertial
    if inertial is not None:
        take_inertia(link, inertial)
        leave_unknown(sdf, inertial)
        if inertial.attributes.get("auto", "").strip() in ("true", "1"):
            told = f"is not computed from collisions (auto): mass {link.mass:g} kg and the tensor of the file are taken"
            sdf.assembly.note(f"inertial of link {name!r}", told, inertial)
    for visual in element.all("visual"):
        add_visual(sdf, link, visual)
    sdf.assembly.add_link(link)


def leave_unknown(sdf: SDF, element: Element | None) -> None:
    """Keep the children of an element that are not read, for the report."""
    for child in [] if element is None else element.children:
        if child.tag not in READ[element.tag.rstrip("2")]:  # type: ignore[union-attr]
            sdf.leave(child)


def take_inertia(link: Link, element: Element) -> None:
    """Read ``<inertial>``: the tensor is about the mass centre, in the axes of its own pose."""
    place, _ = pose_of(element)
    link.mass, link.center_of_mass = element.child_number("mass", 1.0), place.position
    inertia = element.first("inertia")
    if inertia is not None:
        xx, yy, zz = (inertia.child_number(key, 1.0) for key in ("ixx", "iyy", "izz"))
        xy, xz, yz = (inertia.child_number(key, 0.0) for key in ("ixy", "ixz", "iyz"))
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        link.inertia = place.rotation @ tensor @ place.rotation.T


def add_visual(sdf: SDF, link: Link, element: Element) -> None:
    """Add the shape of a ``<visual>``; one that cannot be drawn is noted."""
    geometry = element.first("geometry")
    if sdf.files is None or geometry is None or not geometry.children:
        return
    place, _ = pose_of(element)
    try:
        link.shapes += visual_shapes(geometry.children[0], place, sdf.files)
    except ModelError as error:
        sdf.assembly.note(f"shape of link {link.name!r}", f"is not drawn: {error}", element)
    material = element.first("material")
    diffuse = None if material is None else material.first("diffuse")
    if diffuse is not None and not link.color:
        link.color = shapes.hex_color(diffuse.text_numbers(len(diffuse.text.split())) or (0.5, 0.5, 0.5))


def visual_shapes(element: Element, place: Placement, files: MeshFiles) -> list[object]:
    """Return the shapes of one geometry."""
    if element.tag == "box":
        return [shapes.box(needed(element, "size").text_numbers(3), place)]
    if element.tag in ("cylinder", "capsule"):
        radius, length = (needed(element, tag).text_numbers(1)[0] for tag in ("radius", "length"))
        whole = shapes.capsule(radius, length, place) if element.tag == "capsule" else None
        return whole or [shapes.cylinder(radius, length, place)]
    if element.tag == "sphere":
        return [shapes.sphere(needed(element, "radius").text_numbers(1)[0], place)]
    if element.tag == "ellipsoid":
        return [shapes.ellipsoid(needed(element, "radii").text_numbers(3), place)]
    if element.tag == "mesh":
        scale = element.first("scale")
        three = (1.0, 1.0, 1.0) if scale is None else scale.text_numbers(3)
        return [shapes.mesh(files.place(needed(element, "uri").text), three, place)]
    raise ModelError(f"<{element.tag}> is no shape; it must be box, cylinder, sphere, capsule, ellipsoid or mesh")


def needed(element: Element, tag: str) -> Element:
    """Return a child; LanguageError without it."""
    if (child := element.first(tag)) is None:
        raise element.fault(f"<{element.tag}> has no <{tag}>; it needs one")
    return child


# ---- joints ----------------------------------------------------------------------------------------------------------


def add_joint(sdf: SDF, scope: str, element: Element) -> None:
    """Add a ``<joint>`` between the links that carry the frames which it names."""
    inner = f"{scope}::" if scope else ""
    name, frames = f"{inner}{element.name()}", sdf.frames
    leave_unknown(sdf, element)
    named = [needed(element, tag).text.strip() for tag in ("parent", "child")]
    parent, child = (frames.link(frames.name(scope, end, element)) for end in named)
    frame = joint_place(sdf, name, element)
    if element.attributes.get("type", "") == "gearbox":
        reference = frames.link(frames.name(scope, needed(element, "gearbox_reference_body").text.strip(), element))
        axes = [frame.rotation @ axis_of(sdf, scope, element, tag, frame) for tag in ("axis", "axis2")]
        sdf.couplings.append(
            lambda model: add_gearbox(sdf.assembly, model, name, (reference, parent, child), axes, element)
        )
        return
    type = joint_type(sdf, scope, element, frame)
    links = sdf.assembly.links
    places = [here() if not link else links[link].place or here() for link in (parent, child)]
    joint = JointLink(
        name, type, parent, child, places[0].inverse().then(frame), places[1].inverse().then(frame), element=element
    )
    take_axis(sdf, joint, element, inner)
    sdf.assembly.add_joint(joint)


def joint_place(sdf: SDF, name: str, element: Element) -> Placement:
    """Return the placement of a joint frame in the world."""
    entry = sdf.frames.entries.get(name)
    if entry is not None and entry.element is element:
        return sdf.frames.place(name)
    scope = name.rpartition("::")[0]
    pose, _ = pose_of(element)
    return sdf.frames.place(sdf.frames.name(scope, needed(element, "child").text.strip(), element)).then(pose)


def joint_type(sdf: SDF, scope: str, element: Element, frame: Placement) -> JointType:
    """Return the type of a joint with its axes in the axes of the joint frame."""
    kind = element.attributes.get("type", "")
    if kind == "fixed":
        return Fixed()
    if kind == "ball":
        return Spherical()
    axes = [axis_of(sdf, scope, element, tag, frame) for tag in ("axis", "axis2")]
    if kind in ("revolute", "continuous"):
        return Revolute(axes[0])
    if kind == "prismatic":
        return Prismatic(axes[0])
    if kind in ("universal", "revolute2"):
        return Universal(axes[0], axes[1])
    if kind == "screw":
        return Screw(axes[0], pitch_of(element))
    known = ("revolute", "continuous", "prismatic", "fixed", "ball", "universal", "revolute2", "screw")
    raise element.fault(f"joint {element.name()!r}: {unknown_name('joint type', kind, known)}")


def pitch_of(element: Element) -> float:
    """Return the way along the axis in a turn [m]: ``screw_thread_pitch``, or of ``thread_pitch`` -2 pi / pitch."""
    if element.first("screw_thread_pitch") is not None:
        return element.child_number("screw_thread_pitch", 1.0)
    old = element.child_number("thread_pitch", 1.0)
    return -2.0 * np.pi / old if old else 0.0


def axis_of(sdf: SDF, scope: str, element: Element, tag: str, frame: Placement) -> Array:
    """Return the direction of an axis in the axes of the joint frame."""
    axis = element.first(tag)
    xyz = None if axis is None else axis.first("xyz")
    if axis is None or xyz is None:
        return np.array((0.0, 0.0, 1.0) if tag == "axis" else (0.0, 1.0, 0.0))
    vector = np.array(xyz.text_numbers(3))
    if not np.any(vector):
        raise xyz.fault("<xyz> is zero; it must be a direction such as 0 0 1")
    named = xyz.attributes.get("expressed_in", "").strip()
    old = sdf.version[:2] <= AXES_IN_MODEL or axis.child_text("use_parent_model_frame") in ("true", "1")
    if named or old:
        full = sdf.frames.name(scope, named or MODEL, element)
        vector = frame.rotation.T @ sdf.frames.place(full).rotation @ vector
    return np.asarray(vector / np.linalg.norm(vector))


def take_axis(sdf: SDF, joint: JointLink, element: Element, inner: str) -> None:
    """Read limits, damping, friction and spring of a joint's axis."""
    axis = element.first("axis")
    what = f"joint {joint.name!r}"
    if isinstance(joint.type, Fixed):
        return
    note_axes(sdf, joint, element)
    if axis is None or not joint.type.coordinates:
        return
    if (dynamics := axis.first("dynamics")) is not None:
        joint.damping = dynamics.child_number("damping", 0.0)
        joint.stiffness, joint.rest = (
            dynamics.child_number(tag, 0.0) for tag in ("spring_stiffness", "spring_reference")
        )
        joint.friction = dynamics.child_number("friction", 0.0)
    if (mimic := axis.first("mimic")) is not None:
        leader = f"{inner}{mimic.attributes.get('joint', '').strip()}"
        sdf.couplings.append(lambda model: add_mimic(sdf.assembly, model, joint.name, leader, mimic))
    limit = axis.first("limit")
    if limit is None or not isinstance(joint.type, Revolute | Prismatic):
        return
    low, high, velocity, effort = (
        limit.child_number(tag, bound)
        for tag, bound in (("lower", -UNLIMITED), ("upper", UNLIMITED), ("velocity", -1.0), ("effort", -1.0))
    )
    found = JointLimits(
        -NO_LIMIT if low <= -UNLIMITED else low, NO_LIMIT if high >= UNLIMITED else high,
        NO_LIMIT if velocity < 0.0 else velocity, NO_LIMIT if effort < 0.0 else effort,
    )  # fmt: skip
    joint.limits = found
    if min(-found.lower, found.upper, found.velocity, found.effort) < NO_LIMIT:
        sdf.assembly.note(what, "has limits, which are kept in import_report.limits: no motion stops at them", limit)


def note_axes(sdf: SDF, joint: JointLink, element: Element) -> None:
    """Note parts of the axes of a joint that are not read: unknown ones, and those that its type does not take."""
    single, what = isinstance(joint.type, Revolute | Prismatic), f"joint {joint.name!r}"
    for axis in (element.first("axis"), element.first("axis2")):
        if axis is None:
            continue
        for part in (axis, axis.first("limit"), axis.first("dynamics")):
            leave_unknown(sdf, part)
        second = axis.tag == "axis2"
        taken = (
            set() if second or not joint.type.coordinates else {"dynamics", "mimic"} | ({"limit"} if single else set())
        )
        lost = [tag for tag in ("limit", "dynamics", "mimic") if tag not in taken and states(axis, tag)]
        if second and not isinstance(joint.type, Universal):
            lost = ["xyz"]
        if lost:
            told = f"has parts of <{axis.tag}> that are not read: {', '.join(f'<{tag}>' for tag in lost)}"
            sdf.assembly.note(what, told, axis)


# ---- loops and the world ---------------------------------------------------------------------------------------------


def states(axis: Element, tag: str) -> bool:
    """True for an axis with this part, but not for dynamics that are all zero."""
    part = axis.first(tag)
    return part is not None and (tag != "dynamics" or any(one.text.strip("-0.") for one in part.children))


def add_drake_closures(sdf: SDF, scope: str, element: Element) -> None:
    """Add Drake's ball constraints, between links of their model."""
    found = drake_closures(element)
    for closure in found:
        assert closure.element is not None
        closure.a, closure.b = (
            sdf.frames.link(sdf.frames.name(scope, end, closure.element)) or WORLD for end in (closure.a, closure.b)
        )
    add_closures(sdf.assembly, found)


def cut_loops(assembly: ModelAssembly) -> None:
    """Cut each joint whose two links are joined already by joints before it, in the order of the file."""
    group: dict[str, str] = {"": ""} | {name: name for name in assembly.links}

    def root(name: str) -> str:
        trail = [name]
        while group[trail[-1]] != trail[-1]:
            trail.append(group[trail[-1]])
        for one in trail:
            group[one] = trail[-1]
        return trail[-1]

    for joint in assembly.joints.values():
        if joint.cut:
            continue
        a, b = root(joint.parent), root(joint.child)
        if a == b:
            joint.cut = True
        else:
            group[max(a, b)] = min(a, b)  # "" comes first: the world stays a root


def join_world(sdf: SDF) -> None:
    """Weld the links of static models to the world, and let the canonical or first link of free components float."""
    assembly = sdf.assembly
    neighbours: dict[str, list[str]] = {name: [] for name in ("", *assembly.links)}
    for name in sorted(sdf.static):
        free = assembly.free_name(f"{name}_static", assembly.joints)
        place = assembly.links[name].place or here()
        assembly.add_joint(JointLink(free, Fixed(), "", name, place))
    for joint in assembly.joints.values():
        if not joint.cut:
            neighbours[joint.parent].append(joint.child)
            neighbours[joint.child].append(joint.parent)
    reached = {""}
    canonical = [sdf.frames.link(sdf.frames.name("", name, element)) for name, element in sdf.canonical]
    for start in ["", *canonical, *assembly.links]:
        if start and start not in reached:
            free = assembly.free_name("root_joint", assembly.joints)
            assembly.add_joint(JointLink(free, Floating(), "", start, here(), here()))
        elif start:
            continue
        waiting = [start]
        reached.add(start)
        for name in waiting:
            found = [one for one in neighbours[name] if one not in reached]
            reached.update(found)
            waiting += found


def add_gearbox(
    assembly: ModelAssembly, model: Model, name: str, ends: tuple[str, str, str], axes: list[Array], element: Element
) -> None:
    """Couple the turns of ``ends`` = (reference, parent, child); ``axes`` of parent and child are in the world."""
    ratio = element.child_number("gearbox_ratio", 1.0)
    one, two = (turn(assembly, ends[0], link, axis, name, element) for link, axis in zip(ends[1:], axes, strict=True))
    free = assembly.free_name(name, {**model.joints, **model.couplers})
    model.add_coupler(free, {two[0]: two[1], one[0]: ratio * one[1]})


def turn(
    assembly: ModelAssembly, reference: str, link: str, axis: Array, name: str, element: Element
) -> tuple[str, float]:
    """Return the joint whose angle is that of a link about the reference body, and its sign."""
    for joint in assembly.joints.values():
        if isinstance(joint.type, Revolute) and {joint.parent, joint.child} == {reference, link}:
            along = float(axis_in_world(assembly, joint) @ axis)
            return joint.name, float(np.sign(along)) * (1.0 if joint.child == link else -1.0)
    raise element.fault(
        f"gearbox {name!r}: no revolute joint joins link {link!r} to its reference body {reference!r}; it needs one"
    )


def axis_in_world(assembly: ModelAssembly, joint: JointLink) -> Array:
    """Return the axis of a revolute joint at the pose of the file, in the world."""
    assert isinstance(joint.type, Revolute)
    carrier = assembly.links[joint.parent].place if joint.parent else None
    return np.asarray((carrier or here()).then(joint.in_parent).rotation @ np.asarray(joint.type.axis, float))


def add_mimic(assembly: ModelAssembly, model: Model, name: str, leader: str, element: Element) -> None:
    """Couple a joint to its leader."""
    for one in (name, leader):
        if one not in model.joints or not isinstance(model.joints[one].type, Revolute | Prismatic):
            raise element.fault(f"joint {name!r} mimics {leader!r}, and {one!r} has no single coordinate; it needs one")
    if leader == name:
        raise element.fault(f"joint {name!r} mimics itself; it must name another joint")
    multiplier, offset, reference = (
        element.child_number(tag, default)
        for tag, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
    )
    free = assembly.free_name(f"{name}_mimic", {**model.joints, **model.couplers, **model.drivers})
    if multiplier == 0.0:
        model.add_driver(free, ConstantRate(0.0, offset), joint=name)
    else:
        model.add_coupler(free, {name: 1.0, leader: -multiplier}, offset - multiplier * reference)
