"""The scene: what a description looks like, moved by frames, seen by a camera and hit by rays. No window, no OpenGL."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer import meshes, picking
from rtmbs.viewer.arrows import Connectors, Forces, GrabLine
from rtmbs.viewer.batch import GROUND, Batch, Lines
from rtmbs.viewer.choices import Hidden
from rtmbs.viewer.description import SceneDescription
from rtmbs.viewer.frame import WAY, Frame
from rtmbs.viewer.grid import AXES, axis_lines, grid_lines
from rtmbs.viewer.overlay import Overlay
from rtmbs.viewer.reach import DIRECTIONS, FAR, reached
from rtmbs.viewer.section import Section
from rtmbs.viewer.solids import (
    BALL_RADIUS,
    batches,
    body_solids,
    families,
    ground_solids,
    joint_solids,
    outline,
    swell,
    thickness,
)
from rtmbs.viewer.theme import Color, Theme, rgba
from rtmbs.viewer.trails import Trails

Array = NDArray[np.float64]

AHEAD = 1.15  # of the present size that is held beyond it, so that a picture is not fitted at every step
PARTS = ("bodies", "joints", "springs", "forces", "grid", "axes", "trails")  # what can be hidden


class Pick(NamedTuple):
    """A body under the mouse, and a joint that lies before it."""

    body: int
    point: Array  # (3,) world [m]
    local: Array  # (3,) body axes [m]
    joint: str = ""  # name of the joint that is met first; the body is then one that it holds


class Scene:
    """Batches and lines of one mechanism in the colours of a theme, from its first frame on; ``show`` moves them.

    hidden: elements that are not drawn.
    """

    def __init__(self, description: SceneDescription, theme: Theme, frame: Frame, hidden: Hidden | None = None) -> None:
        self.description, self.theme, self.frame = description, theme, frame
        self.selected: int | None = None
        self.overlays: list[Overlay] = []
        self.section: Section | None = None
        self.trails = Trails()
        self.shown = dict.fromkeys(PARTS, True)
        self._families = families(description)
        self._outline_body, self._outline = outline(description)
        self.seen = np.zeros((0, 3))  # where the motion came to, as far as ``remember`` was told
        points = self.points()
        size = float(np.max(np.ptp(points, axis=0)))
        self._size = size
        thicker = swell(description, size)
        self.radius = radius = thicker * thickness(description)
        drawn = self._drawn = description if hidden is None else hidden.of(description)
        self._bodies = batches(body_solids(drawn, thicker), self.color_of)
        self._joints = batches(joint_solids(drawn, radius, cut=False), uniform(theme.joint))
        self._joints += batches(joint_solids(drawn, radius, cut=True), uniform(theme.cut))
        self._joints += batches(ground_solids(drawn, radius), uniform(theme.ground))
        self._connectors = Connectors(drawn, radius, theme)
        self._forces = Forces(drawn, radius, theme)
        self._grab = GrabLine(radius, theme)
        segments, self.grid_spacing = grid_lines(points, description.gravity)
        self._grid = Lines(segments, rgba(theme.grid, 0.55))
        self._axes = Lines(*axis_lines(size, (rgba(AXES[0]), rgba(AXES[1]), rgba(AXES[2]))), width=2.5)
        self._trails = Lines(width=2.0)
        self.show(frame)

    # ---- colours ----------------------------------------------------------------------------------------------------

    def color_of(self, body: int) -> Color:
        """Return the colour of a body."""
        if body == self.selected:
            return rgba(self.theme.selected)
        palette = self.theme.bodies
        return rgba(palette[self._families[body] % len(palette)])

    def select(self, body: int | None) -> None:
        """Show one body, or none, as chosen."""
        self.selected = body
        for batch in self._bodies:
            batch.color = np.array([self.color_of(int(i)) for i in batch.body], np.float32).reshape(-1, 4)

    # ---- moving -----------------------------------------------------------------------------------------------------

    def show(self, frame: Frame) -> None:
        """Move everything to where ``frame`` says."""
        self.frame = frame
        for batch in (*self._bodies, *self._joints):
            batch.carry(frame.A, frame.r)
        self._connectors.show(frame)
        self._forces.show(frame)
        self._grab.show(frame)
        self.trails.add(frame)
        color_of = {body: self.color_of(body) for body in range(len(self.description.bodies)) if body in self.trails}
        self._trails.put(*self.trails.segments(color_of))
        for overlay in self.overlays:
            overlay.show(frame)

    def lay_over(self, overlays: list[Overlay]) -> None:
        """Let these lie over the scene in place of those before."""
        self.overlays = overlays
        for overlay in overlays:
            overlay.show(self.frame)

    # ---- what is drawn ----------------------------------------------------------------------------------------------

    def batches(self) -> list[Batch]:
        """Return the batches that are shown."""
        shown = self.shown
        found = list(self._bodies) if shown["bodies"] else []
        found += self._joints if shown["joints"] else []
        found += self._connectors.batches.values() if shown["springs"] else []
        found += self._forces.batches if shown["forces"] else []
        return [*found, *self._grab.batches, *(batch for overlay in self.overlays for batch in overlay.batches)]

    def lines(self) -> list[Lines]:
        """Return the lines that are shown."""
        offered = {"grid": self._grid, "axes": self._axes, "trails": self._trails}
        found = [lines for part, lines in offered.items() if self.shown[part]]
        return [*found, *(lines for overlay in self.overlays for lines in overlay.lines)]

    def background(self) -> tuple[float, float, float]:
        """Return the colour behind everything."""
        return rgba(self.theme.background)[:3]

    # ---- asked by the camera and the mouse --------------------------------------------------------------------------

    def points(self) -> Array:
        """Return world points (k, 3) that a picture of everything must hold [m]."""
        return self._placed(self._outline_body, self._outline)

    def whole(self) -> Array:
        """Return world points (k, 3): everything there is, and where a recorded motion takes it [m]."""
        way = self.frame.way[np.all(np.isfinite(self.frame.way), axis=1)]
        return np.concatenate([self.points(), self.description.way, way, self.seen])

    def framing(self) -> Array:
        """Return world points (k, 3) that a picture should hold: the whole, and the tips of the axes [m]."""
        return np.concatenate([self.whole(), self._axes.points[:, 1]]) if self.shown["axes"] else self.whole()

    def remember(self) -> bool:
        """Let a picture of the whole hold the present place too; False when it went so far that it would be a dot.

        What is remembered are the farthest points in some directions.
        """
        seen = self.seen if len(self.seen) == WAY else np.full((WAY, 3), np.nan)
        points = self.points()
        middle = points.mean(axis=0)
        seen = reached(seen, middle + AHEAD * (points - middle), DIRECTIONS)
        near = bool(np.all(np.isfinite(seen)) and np.max(np.ptp(seen, axis=0)) <= FAR * max(self._size, 1e-9))
        if near:
            self.seen = seen
        return near

    def center_of(self, body: int) -> Array:
        """Return where the mass centre of a body is now (3,) [m]."""
        local = self.description.bodies[body].center_of_mass
        return self._placed(np.array([body]), local[None])[0]

    def _placed(self, body: NDArray[np.int64], local: Array) -> Array:
        return np.asarray(self.frame.r[body] + np.einsum("kij,kj->ki", self.frame.A[body], local))

    def pick(self, start: Array, direction: Array) -> Pick | None:
        """Return the first body that a ray meets; ground has no shape and is never met.

        Joints count where they lie before all bodies, and what a section takes away does not.
        """
        if not self.shown["bodies"]:
            return None
        start, reach = (start, np.inf) if self.section is None else self.section.kept(start, direction)
        nearest, body, joint = reach, GROUND, ""
        for batch in self._bodies:
            hit = picking.nearest(met(batch, start, direction), start, direction)
            if hit is not None and hit.distance < nearest:
                nearest, body = hit.distance, int(batch.body[hit.number])
        if self.shown["joints"] and len(self._drawn.joints):
            balls = joint_balls(self._drawn, self.frame, self.radius)
            hit = picking.nearest(picking.capsules(start, direction, *balls), start, direction)
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
    centers = frame.r[bodies] + np.einsum("kij,kj->ki", frame.A[bodies], local)
    return np.stack([centers, centers], axis=1), np.full(len(centers), BALL_RADIUS * radius)


def uniform(color: str) -> Callable[[int], Color]:
    """Return a colour for whatever body."""
    return lambda body: rgba(color)


def met(batch: Batch, start: Array, direction: Array) -> Array:
    """Return distances (k,) along a ray to every placement of a batch; infinite where it is missed."""
    place = batch.placement
    if batch.mesh is meshes.cube():
        return picking.boxes(start, direction, place)
    if batch.mesh is meshes.cylinder():
        ends = np.stack([place[:, :, 3], place[:, :, 3] + place[:, :, 2]], axis=1)
        return picking.capsules(start, direction, ends, np.linalg.norm(place[:, :, 0], axis=1))
    if batch.mesh is meshes.sphere():
        ends = np.stack([place[:, :, 3]] * 2, axis=1)
        return picking.capsules(start, direction, ends, np.linalg.norm(place[:, :, 0], axis=1))
    corners = batch.mesh.vertices.reshape(-1, 3).astype(float)
    return np.array([surface_distance(corners @ one[:, :3].T + one[:, 3], start, direction) for one in place])


def surface_distance(vertices: Array, start: Array, direction: Array) -> float:
    """Return the distance along a ray to the first of triangles ``vertices`` (3 k, 3)."""
    return float(picking.triangles(start, direction, vertices.reshape(-1, 3, 3)).min())
