"""Frames of an SDF model: the placement of links, joints, frames and nested models, from poses relative to each other.

A pose is relative to the frame that ``relative_to`` names. Without it, the pose of a link, a frame or a nested model is
relative to the model, that of a joint to its child link. ``attached_to`` makes the frame of a pose without
``relative_to`` and says which link carries a frame. Names of nested elements are joined by ``::``. The pose of a model
with a ``placement_frame`` is that of this frame.
Source: SDFormat specification, pose frame semantics (sdformat.org/tutorials).
"""

from typing import NamedTuple

from rtmbs.errors import unknown_name
from rtmbs.formats.assembly import Placement, here, placement_of_quaternion, placement_of_rpy
from rtmbs.formats.xml_tree import Element

MODEL = "__model__"
WORLD = "world"
MOST_DEPTH = 1000  # poses relative to each other in a row


class FrameEntry(NamedTuple):
    """A frame as it is written: its pose in another frame, and the frame that carries it."""

    base: str
    pose: Placement
    carrier: str  # the name of a link, "" of the world; another frame's name where that says so
    element: Element | None


class FrameGraph:
    """Frames of one SDF file by their full names, ``outer::inner::name``, and their placements in the world."""

    def __init__(self) -> None:
        self.entries: dict[str, FrameEntry] = {WORLD: FrameEntry("", here(), "", None)}
        self.found: dict[str, Placement] = {WORLD: here()}
        self.carriers: dict[str, str] = {}  # links of frames that were asked for
        self.placed: list[tuple[str, str, Element]] = []  # scope, placement frame and element of a model

    def add(self, name: str, base: str, pose: Placement, carrier: str, element: Element) -> None:
        """Add a frame; LanguageError for a second one of its name."""
        if name in self.entries:
            raise element.fault(f"there is already a frame {name!r}; names of links, joints and frames must differ")
        self.entries[name] = FrameEntry(base, pose, carrier, element)

    def move_to_placement_frames(self) -> None:
        """Move the models with a ``placement_frame``, which has the pose of the model; inner models come first."""
        for scope, wanted, element in reversed(self.placed):
            model = f"{scope}::{MODEL}" if scope else MODEL
            entry = self.entries[model]
            in_model = self.within(model, self.name(scope, wanted, element), element)
            self.entries[model] = entry._replace(pose=entry.pose.then(in_model.inverse()))
            if scope:
                self.entries[scope] = self.entries[model]

    def within(self, model: str, name: str, element: Element) -> Placement:
        """Return the placement of a frame in the frame of its model; LanguageError for one that is not inside."""
        found, at = here(), name
        for _ in range(MOST_DEPTH):
            if at in (model, "") or at not in self.entries:
                break
            found, at = self.entries[at].pose.then(found), self.entries[at].base
        if at != model:
            raise element.fault(
                f"placement_frame {name!r} is not in the model by at most {MOST_DEPTH} poses; it must be a frame of the"
                " model"
            )
        return found

    def name(self, scope: str, wanted: str, element: Element) -> str:
        """Return the full name of a frame as an element inside ``scope`` names it; LanguageError for none."""
        if wanted == WORLD:
            return WORLD
        full = f"{scope}::{wanted}" if scope else wanted
        if full in self.entries:
            return full
        if wanted in self.entries:  # older files name nested elements from outside
            return wanted
        inner = f"{scope}::" if scope else ""
        known = [one.removeprefix(inner) for one in self.entries if one.startswith(inner)]
        raise element.fault(str(unknown_name("frame", wanted, known)))

    def place(self, name: str) -> Placement:
        """Return the placement of a frame in the world; LanguageError for frames that run in a circle."""
        waiting = {name: None}
        at = name
        for _ in range(len(self.entries)):
            if at in self.found:
                break
            base, element = self.entries[at].base, self.entries[at].element
            assert element is not None  # the world is found
            if base in waiting:
                raise element.fault(
                    f"frame {base!r} is relative to itself, through others; one must be relative to the model"
                )
            if base not in self.entries:
                raise element.fault(str(unknown_name("frame", base.rpartition("::")[2], self.entries)))
            waiting[at := base] = None
        for one in reversed(list(waiting)[:-1]):
            entry = self.entries[one]
            self.found[one] = self.found[entry.base].then(entry.pose)
        return self.found[name]

    def link(self, name: str) -> str:
        """Return the full name of the link that carries a frame, "" for the world."""
        met: dict[str, None] = {}
        for _ in range(len(self.entries) + 1):
            if not name or name not in self.entries or name in self.carriers or self.entries[name].carrier == name:
                break
            if name in met:
                element = self.entries[name].element
                assert element is not None
                raise element.fault(
                    f"frame {name!r} is attached to itself, through others; one must be attached to a link"
                )
            met[name] = None
            name = self.entries[name].carrier
        found = self.carriers.get(name, "" if name == WORLD else name)
        self.carriers.update(dict.fromkeys(met, found))
        return found


def pose_of(element: Element) -> tuple[Placement, str]:
    """Return the pose of an element and the name of the frame that it is relative to, "" for the usual one."""
    pose = element.first("pose")
    if pose is None:
        return here(), ""
    base = pose.attributes.get("relative_to", pose.attributes.get("frame", "")).strip()
    if not pose.text:
        return here(), base
    if pose.attributes.get("rotation_format") == "quat_xyzw":
        x, y, z, qx, qy, qz, qw = pose.text_numbers(7)
        if not any((qx, qy, qz, qw)):
            raise pose.fault("<pose> has a zero quaternion; no rotation is 0 0 0 1")
        return placement_of_quaternion((x, y, z), (qw, qx, qy, qz)), base  # type: ignore[arg-type]
    numbers = pose.text_numbers(6)
    if pose.attributes.get("degrees", "") in ("true", "1"):
        numbers = (*numbers[:3], *(one * DEGREE for one in numbers[3:]))
    return placement_of_rpy(numbers), base


DEGREE = 3.141592653589793 / 180.0
