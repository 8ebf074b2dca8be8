"""Closed loops beside the tree of a URDF: ``<loop_joint>``, Drake's ball constraints, and side files of loops.

Each is a joint between a frame of one link and a frame of another, which the Model cuts.
A side file is YAML: ``closed_loop: [[frameA, frameB], ...]``, ``type: ['6d' or '3d', ...]``, ``name_mot: [...]``. Its
frames are links, or joints, whose frame is that of their child link. ``joint_name: [...]`` with ``joint_type: [...]``
replace joints of the URDF by joints that URDF has not: ``SPHERICAL``, ``UJOINT_XY`` with two of X, Y and Z, ``FIXED``.
Source: the loader of Gepetto's example-parallel-robots.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rtmbs.core.files import DamagedFile, text
from rtmbs.errors import InputError, LanguageError, shown, unknown_name
from rtmbs.formats.assembly import JointLink, ModelAssembly
from rtmbs.formats.placement import Placement, here, placement_of_rpy
from rtmbs.formats.xml_tree import Element
from rtmbs.model import Fixed, JointType, Prismatic, Revolute, Spherical, Universal
from rtmbs.model.joints import WORLD

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
