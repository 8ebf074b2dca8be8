"""Scene: batches and lines of a mechanism that frames move, with colours, trails, overlays; picking by a ray."""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.viewer.scene.camera import DIRECTIONS, MOTION_LIMIT, Camera, ground_axes, reached
from rtmbs.viewer.scene.description import MarkerDescription, SceneDescription
from rtmbs.viewer.scene.drawing import AXIS_COLORS, GROUND, Batch, Drawing, Lines, Section, axis_lines, grid_lines
from rtmbs.viewer.scene.elements import Hidden, Overlay
from rtmbs.viewer.scene.frame import WAY, Frame
from rtmbs.viewer.scene.shapes import (
    BALL_RADIUS,
    Connectors,
    Contacts,
    Forces,
    GrabLine,
    PlacedMesh,
    Rails,
    Reactions,
    Scale,
    batches,
    body_solids,
    box_corners,
    joint_symbol,
    outline,
    supports,
    thickening,
    thickness,
)
from rtmbs.viewer.scene.theme import Color, Theme, body_colors, rgba
from rtmbs.viewer.text import with_unit

# ---- trails ----------------------------------------------------------------------------------------------------------

Array = NDArray[np.float64]

LENGTH = 400  # pictures that a trail remembers
BODY = ""  # name of the trail of a body's mass centre; a marker's trail has the name of the marker


def traceable(description: SceneDescription) -> list[MarkerDescription]:
    """Return the points whose way can be drawn: markers that move, and the mass centres of bodies without one."""
    markers = [marker for marker in description.markers if marker.body > 0]
    taken = {marker.name for marker in markers}
    bodies = [
        MarkerDescription(body.name, number, body.center_of_mass)
        for number, body in enumerate(description.bodies)
        if number > 0 and body.name not in taken
    ]
    return [*markers, *bodies]


def named(description: SceneDescription, names: Iterable[str]) -> list[MarkerDescription]:
    """Return the points of these names; UnknownNameError lists the nearest, InputError names one that cannot move."""
    points, found = {point.name: point for point in traceable(description)}, []
    resting = {marker.name for marker in description.markers if marker.body == 0}
    for name in names:
        if name in resting:
            raise InputError(f"marker {name!r} is on ground, and leaves no trail")
        if name not in points:
            raise unknown_name("marker or body", name, points)
        found.append(points[name])
    return found


class Trails:
    """Trails of points, each given by a body, a name, and a point in the axes of the body."""

    def __init__(self) -> None:
        self._followed: dict[tuple[int, str], Array] = {}  # body, name -> point (3,) in body axes
        self._past: dict[tuple[int, str], deque[Array]] = {}
        self._times: dict[tuple[int, str], deque[float]] = {}  # of the points of each trail [s]
        self._t = np.nan

    def __contains__(self, trail: int | tuple[int, str]) -> bool:
        return (trail if isinstance(trail, tuple) else (trail, BODY)) in self._followed

    def __len__(self) -> int:
        return len(self._followed)

    def toggle(self, body: int, point: Array, name: str = BODY) -> bool:
        """Begin or end the trail of a point of a body, and return whether it has one now."""
        trail = body, name
        if trail in self._followed:
            del self._followed[trail], self._past[trail], self._times[trail]
            return False
        self._followed[trail], self._past[trail] = np.asarray(point, float), deque(maxlen=LENGTH)
        self._times[trail] = deque(maxlen=LENGTH)
        self._t = np.nan  # the next frame counts, also when time stands still
        return True

    def names(self) -> list[tuple[int, str]]:
        """Return the body and the name of every trail."""
        return list(self._followed)

    def back_to(self, t: float) -> None:
        """Forget the points of the trails from time ``t`` [s] on."""
        for trail, times in self._times.items():
            for _ in range(len(times) - bisect_left(times, t)):
                times.pop()
                self._past[trail].pop()

    def add(self, frame: Frame) -> None:
        """Take the points of a new frame; a frame of an earlier time takes away later points."""
        if frame.t < self._t:
            self.back_to(frame.t)
        if frame.t != self._t:
            for trail, point in self._followed.items():
                self._past[trail].append(frame.point(trail[0], point))
                self._times[trail].append(frame.t)
        self._t = frame.t

    def segments(self, color_of: Callable[[int, str], tuple[float, ...]]) -> tuple[Array, Array]:
        """Return segments (k, 2, 3) and colours (k, 4), by body and name of the trail: the older, the fainter."""
        points, colors = [np.zeros((0, 2, 3))], [np.zeros((0, 4))]
        for (body, name), past in self._past.items():
            if len(past) > 1:
                way = np.array(past)
                points.append(np.stack([way[:-1], way[1:]], axis=1))
                faded = np.tile(np.asarray(color_of(body, name), float), (len(way) - 1, 1))
                faded[:, 3] = np.linspace(0.08, 0.95, len(faded))
                colors.append(faded)
        return np.concatenate(points), np.concatenate(colors)


def trail_color(description: SceneDescription, theme: Theme, body: int, name: str) -> str:
    """Return the colour of the trail of a marker, or of a body for no name: as in a page, by the place of the point."""
    points = [point.name for point in traceable(description)]
    wanted = name or description.bodies[body].name
    number = points.index(wanted) if wanted in points else len(points) + body
    return theme.plots[(number + 1) % len(theme.plots)]


# ---- scene -----------------------------------------------------------------------------------------------------------

AHEAD = 1.15  # of the present size that is held beyond it, so that a picture is not fitted at every step
PARTS = ("bodies", "joints", "springs", "forces", "grid", "axes", "trails")  # what can be hidden
EXTRAS = ("reactions", "transparent", "legend")  # what can be asked for
SHOWN = dict.fromkeys(PARTS, True) | dict.fromkeys(EXTRAS, False)
CROWD = 200  # joints from which their symbols have no edges: lines would be all that is seen
MOST_TRAILS = 64  # of markers
SEE_THROUGH = 0.35  # opacity of all bodies when they are made transparent

MISSED = np.inf
AROUND = 0.35  # from a body to the box about it, in radii of a bar
CORNERS = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


class Pick(NamedTuple):
    """A body under the mouse, and a joint that lies before it."""

    body: int
    point: Array  # (3,) world [m]
    local: Array  # (3,) body axes [m]
    joint: str = ""  # name of the joint that is met first; the body is then one that it holds


class Scene:
    """Batches and lines of one mechanism in the colours of a theme, from its first frame on; ``show`` moves them.

    hidden: elements that are not drawn.  like: an earlier scene of the same mechanism, for sizes, floor and trails.
    """

    def __init__(
        self,
        description: SceneDescription,
        theme: Theme,
        frame: Frame,
        hidden: Hidden | None = None,
        like: "Scene | None" = None,
    ) -> None:
        self.description, self.theme, self.frame = description, theme, frame
        self.selected: int | None = None
        self.overlays: list[Overlay] = []
        self.section: Section | None = None
        self.trails = Trails()
        self.shown = dict(SHOWN)
        self.scale = Scale(description)
        self._colors = body_colors(description, theme)
        self._outline_body, self._outline = outline(description)
        self.seen = np.zeros((0, 3))  # where the motion came to, as far as ``remember`` was told
        self._tips, self._tips_scale = np.zeros((0, 3)), 0.0  # where arrows ended, and their newtons a metre
        self._size: float = float(np.max(np.ptp(self.points(), axis=0))) if like is None else like._size
        size = self._size
        thicker = thickening(description, size)
        self.radius = radius = thicker * thickness(description)
        drawn = self._drawn = description if hidden is None else hidden.of(description)
        self._bodies = batches(body_solids(drawn, thicker), self._solid_color)
        self._joints = self._joint_batches(radius)
        self._rails = Rails(drawn, radius, rgba(theme.joint))
        self._connectors = Connectors(drawn, radius, theme, frame)
        self._forces, self._reactions = Forces(drawn, radius, theme), Reactions(description, radius, theme)
        self._contacts, self._grab = Contacts(description, radius, theme), GrabLine(radius, theme)
        self._grid, self._covered = Lines(), np.zeros((0, 3))
        self._lay_floor(self._ahead() if like is None else like._covered)
        if like is not None:
            self.trails, self.seen, self.scale = like.trails, like.seen, like.scale
            self._tips, self._tips_scale = like._tips, like._tips_scale
        self._axes = Lines(
            *axis_lines(size, (rgba(AXIS_COLORS[0]), rgba(AXIS_COLORS[1]), rgba(AXIS_COLORS[2]))), width=2.5
        )
        self._trails = Lines(width=2.0)
        self.show(frame)

    def _joint_batches(self, radius: float) -> list[Batch]:
        """Return the symbols of joints in the tree and of cut ones, and the supports on ground."""
        theme, joints = self.theme, self._drawn.joints
        found: list[Batch] = []
        for cut, color in ((False, theme.joint), (True, theme.cut)):
            placed = [part for joint in joints if joint.cut == cut for part in joint_symbol(joint, radius)]
            found += batches(placed, uniform(color))
        up = ground_axes(self.description.gravity)[2]
        standing: list[PlacedMesh] = supports(self._drawn, radius, up)
        feet = np.concatenate([np.zeros((0, 3)), *(box_corners(one.mesh, one.local) for one in standing)])
        self._outline = np.concatenate([self._outline, feet])
        self._outline_body = np.concatenate([self._outline_body, np.full(len(feet), GROUND)])
        found += batches(standing, uniform(theme.ground))
        for batch in found:
            batch.edges, batch.casts = batch.edges and len(joints) < CROWD, False
        return found

    # ---- floor ------------------------------------------------------------------------------------------------------

    def _ahead(self) -> Array:
        """Return points (k, 3) of the present and of the motion that is known, unless the motion goes far [m]."""
        points, way = self.points(), np.concatenate([self.description.way, self.frame.way])
        whole = np.concatenate([points, way[np.all(np.isfinite(way), axis=1)]])
        far = np.max(np.ptp(whole, axis=0)) > MOTION_LIMIT * max(self._size, 1e-9)
        return points if far else whole

    def _lay_floor(self, points: Array) -> None:
        """Lay grid and floor below ``points`` (k, 3)."""
        segments, self.grid_spacing, floor = grid_lines(points, self.description.gravity)
        self._floor, self._covered = replace(floor, dark=self.theme.shadow), points
        self._grid.put(segments, rgba(self.theme.grid, 0.55))

    def widen_floor(self) -> None:
        """Lay the floor anew where the mechanism has come below it or beside it, or where its motion became known."""
        floor, ahead = self._floor, self._ahead()
        place = (ahead - floor.corner) @ np.array([floor.east, floor.north, floor.up]).T
        most = [float(floor.east @ floor.east), float(floor.north @ floor.north), np.inf]
        if np.any(place < 0.0) or np.any(place > most):
            self._lay_floor(np.concatenate([self._covered, ahead]))

    # ---- colours ----------------------------------------------------------------------------------------------------

    def color_of(self, body: int) -> Color:
        """Return the colour of a body as it is drawn now."""
        red, green, blue, opacity = self._solid_color(body)
        return red, green, blue, min(opacity, SEE_THROUGH) if self.shown["transparent"] else opacity

    def _solid_color(self, body: int) -> Color:
        """Return the colour of a body: that of the selection, of the user, or of the theme."""
        color = self.theme.selected if body == self.selected else self._colors[body]
        return rgba(color, self.description.bodies[body].opacity)

    def _trail_color(self, body: int, name: str) -> Color:
        """Return the colour of a trail: it is not that of its body, in which it would be lost."""
        return rgba(trail_color(self.description, self.theme, body, name))

    def select(self, body: int | None) -> None:
        """Show one body, or none, as chosen."""
        self.selected = body
        self.recolor()

    def recolor(self) -> None:
        """Give all bodies their present colours: another one is chosen, or they are made transparent."""
        for batch in self._bodies:
            batch.color = np.array([self.color_of(int(i)) for i in batch.body], np.float32).reshape(-1, 4)

    # ---- trails of markers ------------------------------------------------------------------------------------------

    def follows_markers(self) -> bool:
        """True when the markers leave trails."""
        return any((marker.body, marker.name) in self.trails for marker in self.description.markers)

    def follow(self, names: Iterable[str]) -> None:
        """Begin the trails of markers and bodies by name; UnknownNameError lists the nearest."""
        for point in named(self.description, names):
            if (point.body, point.name) not in self.trails:
                self.trails.toggle(point.body, point.point, point.name)

    def follow_markers(self, on: bool) -> int:
        """Begin or end the trails of all markers that move, the first of many; return how many there are now."""
        moving = [marker for marker in self.description.markers if marker.body != GROUND][:MOST_TRAILS]
        for marker in moving:
            if ((marker.body, marker.name) in self.trails) != on:
                self.trails.toggle(marker.body, marker.point, marker.name)
        return len(moving) if on else 0

    # ---- moving -----------------------------------------------------------------------------------------------------

    def show(self, frame: Frame) -> None:
        """Move everything to the poses of ``frame``."""
        self.frame = frame
        for batch in (*self._bodies, *self._joints):
            batch.carry(frame.A, frame.r)
        self._rails.show(frame)
        self._connectors.show(frame)
        self._forces.show(frame, self.scale)
        self._reactions.show(frame, self.scale)
        self._contacts.show(frame, self.scale)
        self._grab.show(frame)
        self.trails.add(frame)
        self._trails.put(*self.trails.segments(self._trail_color))
        for overlay in self.overlays:
            overlay.show(frame)

    def set_overlays(self, overlays: list[Overlay]) -> None:
        """Replace the overlays of the scene."""
        self.overlays = overlays
        for overlay in overlays:
            overlay.show(self.frame)

    # ---- what is drawn ----------------------------------------------------------------------------------------------

    def batches(self) -> list[Batch]:
        """Return the batches that are shown."""
        shown = self.shown
        found = list(self._bodies) if shown["bodies"] else []
        found += [*self._joints, self._rails.batch] if shown["joints"] else []
        found += self._connectors.batches if shown["springs"] else []
        found += [*self._forces.batches, *self._contacts.batches] if shown["forces"] else []
        found += self._reactions.batches if shown["reactions"] else []
        return [*found, *self._grab.batches, *(batch for overlay in self.overlays for batch in overlay.batches)]

    def lines(self) -> list[Lines]:
        """Return the lines that are shown."""
        offered = {"grid": self._grid, "axes": self._axes, "trails": self._trails}
        found = [lines for part, lines in offered.items() if self.shown[part]]
        return [*found, *(lines for overlay in self.overlays for lines in overlay.lines)]

    def drawing(self) -> Drawing:
        """Return everything that is shown; the shadow goes with the grid, and what is cut has none."""
        floor = self._floor if self.shown["grid"] and self.section is None else None
        return Drawing(self.batches(), self.lines(), self.background(), floor, self.section)

    def background(self) -> tuple[float, float, float]:
        """Return the colour behind everything."""
        return rgba(self.theme.background)[:3]

    # ---- asked by the camera and the mouse --------------------------------------------------------------------------

    def points(self) -> Array:
        """Return world points (k, 3) that a picture of everything must hold [m]."""
        return self.frame.points(self._outline_body, self._outline)

    def held(self) -> Array:
        """Return world points (k, 3) that a picture of everything must hold, with the tips of arrows [m]."""
        return np.concatenate([self.points(), self.arrow_tips()])

    def whole(self) -> Array:
        """Return world points (k, 3): everything there is, and where a recorded motion takes it [m]."""
        way = self.frame.way[np.all(np.isfinite(self.frame.way), axis=1)]
        found = [self.held(), self.description.way, way, self.seen]
        if self.has_arrows() and self._tips_scale == self.scale.newtons:
            found.append(self._tips)
        return np.concatenate(found)

    def framing(self) -> Array:
        """Return world points (k, 3) that a picture should hold: the whole, and the tips of the axes [m]."""
        return np.concatenate([self.whole(), self._axes.points[:, 1]]) if self.shown["axes"] else self.whole()

    def remember(self) -> bool:
        """Extend the picture of the whole to the present points; False when the mechanism has gone too far for that.

        What is remembered are the farthest points in some directions.
        """
        seen = self.seen if len(self.seen) == WAY else np.full((WAY, 3), np.nan)
        points = self.points()
        middle = points.mean(axis=0)
        seen = reached(seen, middle + AHEAD * (points - middle), DIRECTIONS)
        near = bool(np.all(np.isfinite(seen)) and np.max(np.ptp(seen, axis=0)) <= MOTION_LIMIT * max(self._size, 1e-9))
        if near:
            self.seen = seen
            self._remember_tips(middle)
        return near

    def _remember_tips(self, middle: Array) -> None:
        """Keep where the arrows end, as long as they have one scale."""
        if len(tips := self.arrow_tips()):
            again = self._tips_scale == self.scale.newtons and len(self._tips) == WAY
            before = self._tips if again else np.full((WAY, 3), np.nan)
            self._tips = reached(before, middle + AHEAD * (tips - middle), DIRECTIONS)
            self._tips_scale = self.scale.newtons

    def center_of(self, body: int) -> Array:
        """Return where the mass centre of a body is now (3,) [m]."""
        return self.frame.point(body, self.description.bodies[body].center_of_mass)

    def around(self, body: int) -> Array:
        """Return world points (k, 3) that a picture with this body in its middle should hold [m].

        They are all that there is now, and as much on the other side of the body's mass centre.
        """
        center = self.center_of(body)
        away = AHEAD * (self.points() - center)
        return np.concatenate([center + away, center - away])

    def axis_tips(self) -> Array:
        """Return where the axes of the world end (3, 3) [m]."""
        return self._axes.points[:, 1]

    def _arrows(self) -> list[Batch]:
        """Return the batches of the arrows that are shown."""
        found = self._forces.batches if self.shown["forces"] else []
        return found + self._reactions.batches if self.shown["reactions"] else found

    def has_arrows(self) -> bool:
        """True when arrows are shown, whose length needs a legend."""
        return any(len(batch) for batch in self._arrows())

    def arrow_tips(self) -> Array:
        """Return where the arrows that are shown end (k, 3) [m]."""
        ends = [batch.placement[:, :, 3] + batch.placement[:, :, 2] for batch in self._arrows()]
        return np.concatenate([np.zeros((0, 3)), *ends])

    def pull_text(self) -> list[tuple[Array, str]]:
        """Return the force of a pull at its far end, nothing without a pull."""
        frame = self.frame
        if frame.grabbed < 0 or not np.all(np.isfinite(frame.grab_target)):
            return []
        return [(frame.grab_target, with_unit(frame.grab_force, "N", 3))]

    def boxes_of(self, body: int) -> Array:
        """Return the boxes about what is drawn of a body by their corners (k, 8, 3), body axes [m]."""
        found = [np.zeros((0, 8, 3))]
        for batch in self._bodies:
            for local in batch.local[batch.body == body]:
                sides = np.maximum(np.linalg.norm(local[:, :3], axis=0), 1e-12)
                corner = batch.middle + (batch.half + AROUND * self.radius / sides) * CORNERS
                found.append((corner @ local[:, :3].T + local[:, 3])[None])
        return np.concatenate(found)

    def name_at(self, start: Array, direction: Array) -> str:
        """Return the name of the body, joint or spring that a ray meets first, "" when it meets none."""
        found = nearest_name(self.batches(), start, direction)
        return "" if found is None else found.text

    def pick(self, start: Array, direction: Array) -> Pick | None:
        """Return the first body that a ray meets; ground has no shape and is never met.

        Joints count where they lie before all bodies, and what a section takes away does not.
        """
        if not self.shown["bodies"]:
            return None
        start, reach = (start, np.inf) if self.section is None else self.section.kept(start, direction)
        nearest, body, joint = reach, GROUND, ""
        for batch in self._bodies:
            hit = nearest_primitive(distances_to(batch, start, direction), start, direction)
            if hit is not None and hit.distance < nearest:
                nearest, body = hit.distance, int(batch.body[hit.number])
        if self.shown["joints"] and len(self._drawn.joints):
            balls = joint_balls(self._drawn, self.frame, self.radius)
            hit = nearest_primitive(capsules(start, direction, *balls), start, direction)
            if hit is not None and hit.distance < nearest:
                met_first = self._drawn.joints[hit.number]
                nearest, body, joint = hit.distance, met_first.b or met_first.a, met_first.name
        if body == GROUND:
            return None
        point = start + nearest * direction
        return Pick(body, point, self.frame.A[body].T @ (point - self.frame.r[body]), joint)


def joint_balls(description: SceneDescription, frame: Frame, radius: float) -> tuple[Array, Array]:
    """Return the joints of a description as balls: capsules (k, 2, 3) without a length, and radii (k,)."""
    bodies = np.array([joint.a for joint in description.joints])
    local = np.array([joint.point_a for joint in description.joints])
    centers = frame.points(bodies, local)
    return np.stack([centers, centers], axis=1), np.full(len(centers), BALL_RADIUS * radius)


def uniform(color: str) -> Callable[[int], Color]:
    """Return a function that gives one colour for every body."""
    return lambda body: rgba(color)


# ---- following a body ------------------------------------------------------------------------------------------------


class Following:
    """Moves a camera as the mass centre of ``body`` moves; where the body is nowhere, the camera stays."""

    def __init__(self, body: int, scene: Scene) -> None:
        self.body = body
        self._last = scene.center_of(body)  # (3,) where the body was last [m]

    def carry(self, camera: Camera, scene: Scene) -> None:
        """Move the camera to where the body is now."""
        now = scene.center_of(self.body)
        if not np.all(np.isfinite(now)):
            return
        if np.all(np.isfinite(self._last)):
            camera.center = camera.center + now - self._last
        self._last = now

    def fit(self, camera: Camera, scene: Scene, left: float) -> None:
        """Put the body into the middle of the free area, with everything around it in the picture."""
        center = scene.center_of(self.body)
        if np.all(np.isfinite(center)):
            camera.fit_around(center, scene.around(self.body), left)


class Hit(NamedTuple):
    """The first primitive that a ray meets."""

    number: int  # of the primitive in its list
    distance: float  # along the ray [m]
    point: Array  # (3,) world [m]


def nearest_primitive(distances: Array, start: Array, direction: Array) -> Hit | None:
    """Return the primitive with the smallest of ``distances`` (k,) along a ray, None when the ray meets none."""
    if not len(distances) or not np.isfinite(distances).any():
        return None
    number = int(np.argmin(distances))
    return Hit(number, float(distances[number]), start + distances[number] * direction)


def capsules(start: Array, direction: Array, ends: Array, radius: Array) -> Array:
    """Return distances (k,) to capsules from ``ends[:, 0]`` to ``ends[:, 1]`` (k, 2, 3) of ``radius`` (k,).

    The way to the place where the ray comes nearest to the axis, less the half chord there: exact for a ray across the
    axis, and within the radius otherwise, which is what picking needs.
    """
    along = ends[:, 1] - ends[:, 0]
    offset = ends[:, 0] - start
    aa = np.einsum("ki,ki->k", along, along)
    ad, od, oa = along @ direction, offset @ direction, np.einsum("ki,ki->k", offset, along)
    across = aa - ad**2  # squared length of the axis as seen along the ray
    share = np.clip(np.where(across > 1e-12 * (1.0 + aa), (ad * od - oa) / np.maximum(across, 1e-300), 0.0), 0.0, 1.0)
    reach = od + share * ad
    gap = np.linalg.norm(offset + share[:, None] * along - reach[:, None] * direction, axis=1)
    entry = reach - np.sqrt(np.maximum(radius**2 - gap**2, 0.0))
    return np.where((gap <= radius) & (reach > 0.0), np.maximum(entry, 0.0), MISSED)


def boxes(start: Array, direction: Array, placement: Array) -> Array:
    """Return distances (k,) to boxes, unit cubes about the origin under ``placement`` (k, 3, 4)."""
    axes, centers = placement[:, :, :3], placement[:, :, 3]
    size2 = np.maximum(np.einsum("kij,kij->kj", axes, axes), 1e-300)
    local_start = np.einsum("kij,ki->kj", axes, start - centers) / size2
    local_direction = np.einsum("kij,i->kj", axes, direction) / size2
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (-0.5 - local_start) / local_direction, (0.5 - local_start) / local_direction
    inside = np.abs(local_start) <= 0.5  # a ray along a face pair: 0 / 0
    low, high = np.where(np.isnan(low), np.where(inside, -np.inf, np.inf), low), np.where(np.isnan(high), np.inf, high)
    entry, leave = np.minimum(low, high).max(axis=1), np.maximum(low, high).min(axis=1)
    return np.where((entry <= leave) & (leave >= 0.0), np.maximum(entry, 0.0), MISSED)


def triangles(start: Array, direction: Array, corners: Array) -> Array:
    """Return distances (k,) to triangles ``corners`` (k, 3, 3), both sides.

    Source: Moeller and Trumbore 1997, fast, minimum storage ray/triangle intersection.
    """
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    p = np.cross(direction, second)
    determinant = np.einsum("ki,ki->k", first, p)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1.0 / determinant
        offset = start - corners[:, 0]
        u = np.einsum("ki,ki->k", offset, p) * inverse
        q = np.cross(offset, first)
        v = (q @ direction) * inverse
        reach = np.einsum("ki,ki->k", second, q) * inverse
        met = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (reach > 0.0)
    return np.where(met & (np.abs(determinant) > 1e-300), reach, MISSED)


# ---- names under the mouse -------------------------------------------------------------------------------------------


class Named(NamedTuple):
    """A thing in the way of a ray."""

    distance: float  # [m]
    text: str


def nearest_name(batches: list[Batch], start: Array, direction: Array) -> Named | None:
    """Return the name of the first placement on a ray, None when it misses all."""
    found: Named | None = None
    for batch in batches:
        if not (batch.visible and batch.names):
            continue
        hit = nearest_primitive(distances_to(batch, start, direction), start, direction)
        if hit is not None and (found is None or hit.distance < found.distance):
            found = Named(hit.distance, batch.names[hit.number])
    return found


def distances_to(batch: Batch, start: Array, direction: Array) -> Array:
    """Return distances (k,) along a ray to every placement of a batch; infinite where the ray passes by."""
    place = batch.placement
    if batch.mesh.kind == "cube":
        return boxes(start, direction, place)
    if batch.mesh.kind in ("cylinder", "coil"):
        ends = np.stack([place[:, :, 3], place[:, :, 3] + place[:, :, 2]], axis=1)
        return capsules(start, direction, ends, np.linalg.norm(place[:, :, 0], axis=1))
    if batch.mesh.kind == "sphere":
        ends = np.stack([place[:, :, 3]] * 2, axis=1)
        return capsules(start, direction, ends, np.linalg.norm(place[:, :, 0], axis=1))
    corners = batch.mesh.vertices.reshape(-1, 3).astype(float)
    return np.array([surface_distance(corners @ one[:, :3].T + one[:, 3], start, direction) for one in place])


def surface_distance(vertices: Array, start: Array, direction: Array) -> float:
    """Return the distance along a ray to the first of triangles ``vertices`` (3 k, 3)."""
    return float(triangles(start, direction, vertices.reshape(-1, 3, 3)).min())
