"""What the colours of a picture mean, in words: for the legend of a window, of a film and of a page."""

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from rtmbs.viewer.description import SceneDescription
from rtmbs.viewer.theme import Theme
from rtmbs.viewer.trails import traceable

if TYPE_CHECKING:
    from rtmbs.viewer.scene import Scene

MOST, NAMES = 8, 3  # rows of bodies, and of trails; names in one row
BODIES, JOINTS, SPRINGS, FORCES, REACTIONS, TRAILS = "bodies", "joints", "springs", "forces", "reactions", "trails"


class Meaning(NamedTuple):
    """One row of a legend."""

    part: str  # of the scene; the row is shown while the part is
    color: str  # "#rrggbb"; "" for a row that only counts
    words: str


def meanings(scene: "Scene") -> list[Meaning]:
    """Return the rows of everything that is shown now, the trails of points too."""
    rows = [row for row in meanings_of(scene.description, scene.theme) if scene.shown[row.part]]
    if not (scene.shown[TRAILS] and len(scene.trails)):
        return rows
    names = [body.name for body in scene.description.bodies]
    trails = [
        Meaning(TRAILS, trail_color(scene.description, scene.theme, body, name), f"trail of {name or names[body]}")
        for body, name in scene.trails.names()
    ]
    return [*rows, *shortened(trails, "trails")]


def meanings_of(description: SceneDescription, theme: Theme) -> list[Meaning]:
    """Return the rows of a mechanism in the colours of a theme, whatever is shown."""
    joints = [joint for joint in description.joints if joint.holds]
    springs = any(one.shape != "bar" for one in description.connectors)
    offered = (
        (any(not joint.cut for joint in joints), Meaning(JOINTS, theme.joint, "joint")),
        (any(joint.cut for joint in joints), Meaning(JOINTS, theme.cut, "cut joint, closed by equations")),
        (any(0 in (joint.a, joint.b) for joint in joints), Meaning(JOINTS, theme.ground, "support on ground")),
        (springs, Meaning(SPRINGS, theme.spring, "spring")),
        (bool(description.wrenches), Meaning(FORCES, theme.force, "given force")),
        (bool(description.wrenches), Meaning(FORCES, theme.moment, "given torque, two heads")),
        (bool(joints), Meaning(REACTIONS, theme.reaction, "joint reaction: force on the second body")),
        (bool(joints), Meaning(REACTIONS, theme.reaction_moment, "joint reaction: moment, two heads")),
    )
    return [*shortened(bodies(description, theme), "bodies"), *(row for there, row in offered if there)]


def bodies(description: SceneDescription, theme: Theme) -> list[Meaning]:
    """Return a row for each colour of bodies; those whose names differ only in numbers share one."""
    count = Counter(stem(body.name) for body in description.bodies[1:])
    named: dict[str | int, list[str]] = {}  # by the user's colour, or the place of one in the theme
    colors: dict[str | int, str] = {}
    numbers = [number % len(theme.bodies) for number in families(description)]
    for body, number, color in list(zip(description.bodies, numbers, body_colors(description, theme), strict=True))[1:]:
        family, place = stem(body.name), body.color or number
        name = family if family and count[family] > 1 else body.name
        if body.shapes and name not in named.setdefault(place, []):
            named[place].append(name)
        colors[place] = color
    return [Meaning(BODIES, colors[place], listed(names)) for place, names in named.items() if names]


def listed(names: list[str]) -> str:
    """Return some names, and how many more there are."""
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return ", ".join(names[:NAMES]) + more


def stem(name: str) -> str:
    """Return a name without its numbers."""
    return re.sub(r"[\W\d_]+", " ", name).strip()


def families(description: SceneDescription) -> list[int]:
    """Return a number for each body; bodies whose names differ only in digits share one, and so a colour."""
    stems = [stem(body.name) for body in description.bodies]
    known = {one: number for number, one in enumerate(dict.fromkeys(stems[1:]))}
    return [known.get(one, 0) for one in stems]


def body_colors(description: SceneDescription, theme: Theme) -> list[str]:
    """Return the colour of every body: the user's, or that of its family in the theme."""
    numbers = zip(description.bodies, families(description), strict=True)
    return [body.color or theme.bodies[number % len(theme.bodies)] for body, number in numbers]


def trail_color(description: SceneDescription, theme: Theme, body: int, name: str) -> str:
    """Return the colour of the trail of a marker, or of a body for no name: as in a page, by the place of the point."""
    points = [point.name for point in traceable(description)]
    wanted = name or description.bodies[body].name
    number = points.index(wanted) if wanted in points else len(points) + body
    return theme.plots[(number + 1) % len(theme.plots)]


def shortened(rows: list[Meaning], what: str) -> list[Meaning]:
    """Return the first rows, and how many more there are."""
    if len(rows) <= MOST:
        return rows
    return [*rows[: MOST - 1], Meaning(rows[0].part, "", f"and {len(rows) - MOST + 1} more {what}")]
