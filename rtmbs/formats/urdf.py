"""Reader of URDF: links, joints, mimic joints, limits, rotor inertias, and the ways in which URDF writes closed loops.

An origin is x y z [m] and roll, pitch, yaw about fixed axes [rad]. The joint frame stands in the parent link, and the
child link's frame is the joint frame at zero coordinates. The inertia tensor is about the mass centre, in the axes of
its own origin. Source: the URDF XML specification of ROS (wiki.ros.org/urdf/XML).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rtmbs.errors import ModelError, unknown_name
from rtmbs.formats import shapes
from rtmbs.formats.assembly import (
    BACKWARDS,
    Closure,
    JointLink,
    Link,
    ModelAssembly,
    Placement,
    add_closures,
    count_notes,
    drake_closures,
    here,
    join_base,
    loop_joints,
    placement_of_rpy,
    side_file,
)
from rtmbs.formats.shapes import MeshFiles
from rtmbs.formats.xml_tree import Element
from rtmbs.model import (
    ConstantRate,
    Fixed,
    Floating,
    Input,
    JointType,
    Model,
    Motor,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
)
from rtmbs.model.description import JointLimits
from rtmbs.model.joints import WORLD

READ = {
    "robot": {"link", "joint", "material", "transmission", "loop_joint", "drake:ball_constraint"},
    "link": {"inertial", "visual", "collision"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "safety_controller", "calibration"}
    | {BACKWARDS},
}
TOLD = {
    "collision": "is not read: bodies do not touch each other",
    "transmission": "is read for the inertia of its rotor only",
    "gazebo": "is not read: it belongs to Gazebo",
    "safety_controller": "is not read: it belongs to a controller",
    "calibration": "is not read: it belongs to a controller",
    "drake:linear_bushing_rpy": "is not read; write a ball constraint in its place",
}
RATIOS = ("mechanicalReduction", "drake:gear_ratio", "gear_ratio")
INERTIAS = ("motorInertia", "rotorInertia", "rotor_inertia", "drake:rotor_inertia")  # tags under a transmission
ATTRIBUTES = {"dynamics": {"damping", "friction", "armature"}, "limit": {"lower", "upper", "velocity", "effort"}}
NO_LIMIT = float("inf")
LOOP_FRAME = "closing_"
WITHOUT_AXIS: dict[str, JointType] = {
    "fixed": Fixed(), "floating": Floating(), "spherical": Spherical(),  # the last is an extension of Bullet
}  # fmt: skip


@dataclass
class URDF:
    """A description while it is read."""

    assembly: ModelAssembly
    files: MeshFiles | None
    colors: dict[str, str] = field(default_factory=dict)  # by name of a material
    left_out: dict[str, list[Element]] = field(default_factory=dict)  # elements that are not read, by tag

    def leave(self, element: Element) -> None:
        """Keep an element for the report."""
        self.left_out.setdefault(element.tag, []).append(element)


def read_urdf(
    root: Element,
    path: Path,
    *,
    strict: bool = False,
    floating: bool | None = None,
    meshes: bool = True,
    packages: Mapping[str, str | Path] | None = None,
    friction: bool = False,
    loops: str | Path | None = None,
) -> Model:
    """Return the Model of a ``<robot>``; LanguageError with the line for what is no mechanism."""
    name = root.attributes.get("name", "").strip() or path.stem
    assembly = ModelAssembly(name, root.source.file, "URDF", friction)
    urdf = URDF(assembly, MeshFiles(path, packages or {}) if meshes else None)
    for element in root.all("material"):
        add_color(urdf, element)
    for element in root.children:
        if element.tag == "link":
            add_link(urdf, element)
        elif element.tag == "joint":
            add_joint(urdf, element)
        elif element.tag not in READ["robot"] or element.tag == "transmission":
            urdf.leave(element)
    for joint, inertia in transmission_inertias(root).items():
        if joint in assembly.joints:
            assembly.joints[joint].armature = inertia
    add_base(urdf, floating)
    beside = side_file(Path(loops)) if loops is not None else None
    if beside is not None:
        beside.replace_joints(assembly)
    for element in root.all("loop_joint"):
        for child in element.children:
            if child.tag not in ("link1", "link2", "axis"):
                assembly.note(f"loop joint {element.name()!r}", f"has <{child.tag}>, which is not read", child)
    closures = beside.closures if beside is not None else []
    add_closures(assembly, [*loop_joints(root), *drake_closures(root), *closures])
    count_notes(assembly, urdf.left_out, TOLD)
    note_open_loops(assembly, closures)
    model = assembly.model()
    for element in root.all("joint"):
        add_mimic(assembly, model, element)
    for name in [joint for joint in model.joints if beside is not None and joint in beside.motors]:
        model.add_force(f"{name}_motor", Motor(Input()), joint=name)
    return assembly.reported(model, strict)


# ---- links -----------------------------------------------------------------------------------------------------------


def add_link(urdf: URDF, element: Element) -> None:
    """Add a ``<link>``."""
    link = Link(element.name(), element=element)
    for child in element.children:
        if child.tag not in READ["link"] or child.tag == "collision":
            urdf.leave(child)
    note_repeats(urdf, element, ("inertial",))
    if (inertial := element.first("inertial")) is not None:
        take_inertia(link, inertial)
    for visual in element.all("visual"):
        add_visual(urdf, link, visual)
    urdf.assembly.add_link(link)


def take_inertia(link: Link, element: Element) -> None:
    """Read ``<inertial>``: mass, mass centre, and the tensor, turned from axes of its origin to those of the link."""
    place = origin_of(element)
    mass, inertia = element.first("mass"), element.first("inertia")
    link.mass = 0.0 if mass is None else mass.number("value")
    link.center_of_mass = place.position
    if inertia is not None:
        xx, xy, xz, yy, yz, zz = (
            inertia.number(key, 0.0) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )  # fmt: skip
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        link.inertia = place.rotation @ tensor @ place.rotation.T


def origin_of(element: Element) -> Placement:
    """Return the placement of ``<origin>``; that of the parent itself without one."""
    origin = element.first("origin")
    if origin is None:
        return here()
    numbers = origin.numbers("xyz", 3, (0.0, 0.0, 0.0)) + origin.numbers("rpy", 3, (0.0, 0.0, 0.0))
    return placement_of_rpy(numbers)


def add_visual(urdf: URDF, link: Link, element: Element) -> None:
    """Add the shape of a ``<visual>``; one that cannot be drawn is noted."""
    geometry = element.first("geometry")
    if urdf.files is None or geometry is None or not geometry.children:
        return
    try:
        link.shapes += visual_shapes(geometry.children[0], origin_of(element), urdf.files)
    except ModelError as error:
        urdf.assembly.note(f"shape of link {link.name!r}", f"is not drawn: {error}", element)
    material = element.first("material")
    if material is not None and (texture := material.first("texture")) is not None:
        urdf.leave(texture)
    if material is not None and not link.color:
        link.color = color_of(material) or urdf.colors.get(material.attributes.get("name", ""), "")


def visual_shapes(element: Element, place: Placement, files: MeshFiles) -> list[object]:
    """Return the shapes of one geometry."""
    if element.tag == "box":
        return [shapes.box(element.numbers("size", 3), place)]
    if element.tag == "cylinder":
        return [shapes.cylinder(element.number("radius"), element.number("length"), place)]
    if element.tag == "sphere":
        return [shapes.sphere(element.number("radius"), place)]
    if element.tag == "capsule":
        return shapes.capsule(element.number("radius"), element.number("length"), place)
    if element.tag == "mesh":
        scale = element.attributes.get("scale", "1 1 1").split()
        three = element.floats(" ".join(scale * 3 if len(scale) == 1 else scale), 3, "scale")
        return [shapes.mesh(files.place(element.attributes.get("filename", "")), three, place)]
    raise ModelError(f"<{element.tag}> is no shape; it must be box, cylinder, sphere, capsule or mesh")


def add_color(urdf: URDF, element: Element) -> None:
    """Keep the colour of a ``<material>`` by its name."""
    if urdf.files is not None and (texture := element.first("texture")) is not None:
        urdf.leave(texture)
    if color := color_of(element):
        urdf.colors[element.attributes.get("name", "")] = color


def color_of(element: Element) -> str:
    """Return the colour of a ``<material>``, "" where it has none."""
    color = element.first("color")
    return "" if color is None else shapes.hex_color(color.numbers("rgba", 4, (0.5, 0.5, 0.5, 1.0)))


# ---- joints ----------------------------------------------------------------------------------------------------------


def add_joint(urdf: URDF, element: Element) -> None:
    """Add a ``<joint>`` with its limits, damping and friction."""
    name, what = element.name(), f"joint {element.name()!r}"
    for one in element.children:
        if one.tag not in READ["joint"] or one.tag in TOLD:
            urdf.leave(one)
    note_repeats(urdf, element, tuple(READ["joint"]))
    parent, child = end_of(element, "parent"), end_of(element, "child")
    kind = joint_type(element, what)
    joint = JointLink(name, kind, parent, child, origin_of(element), element=element)
    joint.backwards = element.first(BACKWARDS) is not None
    if (dynamics := element.first("dynamics")) is not None:
        joint.damping = dynamics.number("damping", 0.0)
        joint.armature = dynamics.number("armature", 0.0)
        joint.friction = dynamics.number("friction", 0.0)
    joint.limits = limits_of(urdf, joint, element)
    urdf.assembly.add_joint(joint)


def note_repeats(urdf: URDF, element: Element, tags: tuple[str, ...]) -> None:
    """Note elements that are there twice, of which the first is read, and attributes that are not read."""
    what = f"{element.tag} {element.name()!r}"
    for tag in tags:
        found = element.all(tag)
        if len(found) > 1:
            urdf.assembly.note(what, f"has {len(found)} elements <{tag}>, and the first is read", found[1])
        known = ATTRIBUTES.get(tag)
        if found and known is not None and (odd := [key for key in found[0].attributes if key not in known]):
            told = f"has attributes of <{tag}> that are not read: {', '.join(odd)}"
            urdf.assembly.note(what, told, found[0])


def end_of(element: Element, tag: str) -> str:
    """Return the link that a joint names as parent or child."""
    child = element.first(tag)
    found = "" if child is None else child.attributes.get("link", "").strip()
    if not found:
        raise element.fault(f"joint {element.name()!r} names no {tag} link; it needs <{tag} link='NAME'/>")
    return found


def joint_type(element: Element, what: str) -> JointType:
    """Return the type of a joint with its axis, in the axes of the joint frame."""
    kind = element.attributes.get("type", "")
    child = element.first("axis")
    axis = (1.0, 0.0, 0.0) if child is None else child.numbers("xyz", 3)
    moving = kind in ("revolute", "continuous", "prismatic", "planar")
    if moving and not any(axis):
        raise element.fault(f"{what}: its axis is zero; it must be a direction such as 0 0 1")
    if kind in ("revolute", "continuous"):
        return Revolute(axis)
    if kind == "prismatic":
        return Prismatic(axis)
    if kind == "planar":
        return Planar(axis)
    if kind in WITHOUT_AXIS:
        return WITHOUT_AXIS[kind]
    known = ("revolute", "continuous", "prismatic", "planar", *WITHOUT_AXIS)
    raise element.fault(f"{what}: {unknown_name('joint type', kind, known)}")


def limits_of(urdf: URDF, joint: JointLink, element: Element) -> JointLimits | None:
    """Return the limits of a joint, noted: no motion stops at them."""
    limit = element.first("limit")
    if limit is None or isinstance(joint.type, Fixed):
        return None
    if not isinstance(joint.type, Revolute | Prismatic):
        told = "has limits, which are not read: only a hinge or a slide has them here"
        urdf.assembly.note(f"joint {joint.name!r}", told, limit)
        return None
    ranged = element.attributes.get("type") != "continuous"
    lower, upper = (limit.number(key, 0.0) for key in ("lower", "upper")) if ranged else (-NO_LIMIT, NO_LIMIT)
    found = JointLimits(lower, upper, limit.number("velocity", NO_LIMIT), limit.number("effort", NO_LIMIT))
    told = "has limits, which are kept in import_report.limits: no motion stops at them"
    urdf.assembly.note(f"joint {joint.name!r}", told, limit)
    return found


def add_mimic(assembly: ModelAssembly, model: Model, element: Element) -> None:
    """Couple a joint to the one that it mimics: q - multiplier q_other = offset."""
    mimic = element.first("mimic")
    if mimic is None:
        return
    name, what = element.name(), f"joint {element.name()!r}"
    other, multiplier = mimic.attributes.get("joint", "").strip(), mimic.number("multiplier", 1.0)
    offset = mimic.number("offset", 0.0)
    for one in (name, other):
        if one not in model.joints:
            raise mimic.fault(f"{what} mimics joint {one!r}, and there is no such joint; it must name one of the file")
        if not isinstance(model.joints[one].type, Revolute | Prismatic):
            assembly.note(what, f"mimics {other!r}, and {one!r} has no coordinate of its own", mimic)
            return
    if other == name:
        raise mimic.fault(f"{what} mimics itself; it must name another joint")
    coupler = assembly.free_name(f"{name}_mimic", {**model.joints, **model.couplers, **model.drivers})
    if multiplier == 0.0:
        model.add_driver(coupler, ConstantRate(0.0, offset), joint=name)
        return
    model.add_coupler(coupler, {name: 1.0, other: -multiplier}, offset)


def transmission_inertias(root: Element) -> dict[str, float]:
    """Return the inertia on the coordinate of each joint with a transmission that states one [kg m^2]."""
    found: dict[str, float] = {}
    for transmission in root.all("transmission"):
        joints = [one.attributes.get("name", "").strip() for one in transmission.all("joint")]
        for actuator in transmission.all("actuator"):
            inertia = value_of(transmission, actuator, INERTIAS, 0.0)
            ratio = value_of(transmission, actuator, RATIOS, 1.0) if inertia else 1.0
            for joint in joints:
                if inertia:
                    found[joint] = found.get(joint, 0.0) + ratio * ratio * inertia
    return found


def value_of(transmission: Element, actuator: Element, tags: tuple[str, ...], default: float) -> float:
    """Return the first number under one of the tags, in the actuator or else in its transmission."""
    for owner in (actuator, transmission):
        for tag in tags:
            if (child := owner.first(tag)) is not None:
                return child.number("value") if "value" in child.attributes else child.text_numbers(1)[0]
    return default


def note_open_loops(assembly: ModelAssembly, closures: list[Closure]) -> None:
    """Note pairs of links by which onshape-to-robot names the two frames of a loop, where no file of loops joins them.

    The names do not tell the type of the joint.
    """
    joined = {frame for closure in closures for frame in (closure.a, closure.b)}
    for name, link in assembly.links.items():
        first = name if name.startswith(LOOP_FRAME) and name.endswith("_1") else ""
        second = f"{first.removesuffix('1')}2"
        if first and second in assembly.links and not {first, second} <= joined:
            told = (
                f"are the frames of a loop, which stays open; a file for loops= that has [{first}, {second}] closes it"
            )
            assembly.note(f"links {first!r} and {second!r}", told, link.element)


# ---- the tree --------------------------------------------------------------------------------------------------------


def add_base(urdf: URDF, floating: bool | None) -> None:
    """Join the root link to the world; LanguageError for two roots, no root, or a link with two parents."""
    assembly = urdf.assembly
    parents: dict[str, JointLink] = {}
    for joint in assembly.joints.values():
        if joint.child in parents:
            raise assembly.fault_at(
                f"link {joint.child!r} is the child of the joints {parents[joint.child].name!r} and {joint.name!r}; a "
                "link of URDF has one parent, and a loop is written as <loop_joint>",
                joint.element,
            )
        parents[joint.child] = joint
    assembly.check_links()
    roots = [link for link in assembly.links if link not in parents]
    if not assembly.links:
        raise assembly.fault_at("the file has no link; a robot has one or more")
    if not roots:
        raise assembly.fault_at("no link is the root: the joints run in a circle; one link must have no parent joint")
    for root in roots[1:]:
        told = f"is not joined to link {roots[0]!r}, and is joined to the world on its own"
        assembly.note(f"link {root!r}", told, assembly.links[root].element)
    refuse_circles(assembly, roots)
    if floating is None:
        floating = all(isinstance(joint.type, Fixed) for joint in assembly.joints.values())
    for root in roots:
        if root == WORLD and not assembly.links[root].mass and not assembly.links[root].inertia.any():
            take_world(assembly)
        else:
            join_base(assembly, root, floating)


def take_world(assembly: ModelAssembly) -> None:
    """Let a massless root link ``world`` be the world itself."""
    del assembly.links[WORLD]
    for joint in assembly.joints.values():
        joint.parent = "" if joint.parent == WORLD else joint.parent


def refuse_circles(assembly: ModelAssembly, roots: list[str]) -> None:
    """Refuse links that no root leads to."""
    children: dict[str, list[JointLink]] = {}
    for joint in assembly.joints.values():
        children.setdefault(joint.parent, []).append(joint)
    reached, waiting = set(roots), list(roots)
    for name in waiting:
        found = [joint.child for joint in children.get(name, ())]
        reached.update(found)
        waiting += found
    for name, link in assembly.links.items():
        if name not in reached:
            raise assembly.fault_at(
                f"link {name!r} is in a circle of joints that no root leads to; one of its links must have no parent",
                link.element,
            )
