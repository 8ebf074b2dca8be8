"""Meshes placed on a mechanism: shapes of bodies, symbols of joints, springs and supports, arrows, contacts."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.model.shapes import Bar, Box, Cylinder, Shape, Sphere, Surface
from rtmbs.viewer.scene import drawing
from rtmbs.viewer.scene.description import ConnectorDescription, JointDescription, SceneDescription, WrenchDescription
from rtmbs.viewer.scene.drawing import GROUND, Batch, Mesh, between
from rtmbs.viewer.scene.frame import CONTACT, LINGERS, Frame
from rtmbs.viewer.scene.theme import Color, Theme, rgba
from rtmbs.viewer.text import brief, metric

Array = NDArray[np.float64]

THIN = 0.02  # half the thickness of things where no bar says one, in characteristic lengths
KEPT = 64  # meshes of surfaces
WIDE, SWELL = 10.0, 3.0  # a mechanism wider than so many characteristic lengths has thicker bars, so much at most


class PlacedMesh(NamedTuple):
    """One mesh on one body."""

    mesh: Mesh
    body: int
    local: Array  # (3, 4)
    edges: bool = True
    name: str = ""  # of whom points at it


def batches(placed: Iterable[PlacedMesh], color_of: Callable[[int], Color]) -> list[Batch]:
    """Return one batch for each mesh among ``placed``, coloured by body."""
    alike: dict[tuple[int, bool, bool], list[PlacedMesh]] = {}
    for one in placed:  # what can be seen through is drawn apart
        alike.setdefault((id(one.mesh), one.edges, color_of(one.body)[3] < 1.0), []).append(one)
    found = []
    for group in alike.values():
        bodies = [one.body for one in group]
        colors = [color_of(body) for body in bodies]
        found.append(Batch(group[0].mesh, bodies, [one.local for one in group], colors, group[0].edges))
        found[-1].names = [one.name for one in group]
    return found


def thickening(description: SceneDescription, size: float) -> float:
    """Return by how much bars and joints are thickened so that they are still seen in a picture of ``size`` [m]."""
    return min(max(size / (WIDE * description.length), 1.0), SWELL)


def thickness(description: SceneDescription) -> float:
    """Return the radius that joints are drawn for: the usual one of the bars [m]."""
    radii = [shape.radius for body in description.bodies for shape in body.shapes if isinstance(shape, Bar)]
    return float(np.median(radii)) if radii else THIN * description.length


def body_solids(description: SceneDescription, thicker: float = 1.0) -> list[PlacedMesh]:
    """Return the shapes of all bodies, bars ``thicker``."""
    found = []
    for i, body in enumerate(description.bodies):
        for shape in body.shapes:
            mesh, local = placed_mesh(shape)
            if isinstance(shape, Bar):
                local[:, :2] *= thicker
            found.append(PlacedMesh(mesh, i, local, body.edges and not isinstance(shape, Bar), body.name))
    return found


def placed_mesh(shape: Shape) -> tuple[Mesh, Array]:
    """Return the mesh of a shape and its placement (3, 4) in body axes."""
    if isinstance(shape, Bar):
        return drawing.cylinder(), between(shape.start[None], shape.end[None], shape.radius)[0]
    if isinstance(shape, Cylinder):
        half = 0.5 * shape.length * shape.axis
        ends = (shape.center - half)[None], (shape.center + half)[None]
        return drawing.cylinder(drawing.FINE), between(*ends, shape.radius)[0]
    if isinstance(shape, Box):
        return drawing.cube(), np.column_stack([shape.axes * shape.size, shape.center])
    if isinstance(shape, Sphere):
        return drawing.sphere(drawing.FINE), np.column_stack([shape.radius * np.eye(3), shape.center])
    assert isinstance(shape, Surface)
    return surface_mesh(shape), np.eye(3, 4)


@lru_cache(KEPT)
def surface_mesh(shape: Surface) -> Mesh:
    """Return the mesh of a surface; large ones take seconds, and another theme wants the same one."""
    return drawing.mesh(shape.vertices, shape.faces)


def outline(description: SceneDescription) -> tuple[NDArray[np.int64], Array]:
    """Return bodies (k,) and points (k, 3) in their axes that a picture must hold."""
    body: list[int] = []
    points: list[Array] = []
    for i, one in enumerate(description.bodies):
        ends = [corners(shape) for shape in one.shapes]
        own = np.concatenate([one.points.reshape(-1, 3), *ends])
        points.append(own if len(own) or i == GROUND else one.center_of_mass[None])
        body += [i] * len(points[-1])
    return np.array(body, np.int64), np.concatenate(points)


def corners(shape: Shape) -> Array:
    """Return the corners (8, 3) of the box about a shape, body axes."""
    return box_corners(*placed_mesh(shape))


def box_corners(mesh: Mesh, local: Array) -> Array:
    """Return the corners (8, 3) of the box about a mesh that is placed by ``local`` (3, 4), body axes."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    box = np.array([(x, y, z) for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
    return np.asarray(box @ local[:, :3].T + local[:, 3])


# ---- joints ----------------------------------------------------------------------------------------------------------

# Sizes in radii of a bar.
PIN_RADIUS, PIN_LENGTH = 1.35, 3.6
BALL_RADIUS, BELT = 1.8, 0.55  # of a ball, and of the ring that holds it
CROSS_RADIUS, CROSS_LENGTH = 0.8, 5.2
SLIDER = np.array([2.6, 2.6, 5.0])  # edges of a slider
SLEEVE_RADIUS, SLEEVE_LENGTH = 1.5, 5.0
PLATE = np.array([9.0, 9.0, 0.5])
WELD = np.array([2.4, 2.4, 2.4])
COLLAR = np.array([3.5, 3.5, 1.2])  # edges of the square plate about a cut joint
OVER = 1.08  # a cut joint stands over the symbols of other joints at its place
RAIL_RADIUS, BEYOND = 0.6, 7.0  # of the rod that a slider runs on, and how far it leads past the slider
STAND_WIDTH, STAND_HEIGHT, FLOOR = 2.4, 4.0, np.array([6.4, 6.4, 0.5])  # of a support on ground


def joint_symbol(joint: JointDescription, radius: float) -> list[PlacedMesh]:
    """Return the symbol of a joint as meshes on its two bodies, for bars of ``radius`` [m]; none for a free joint."""
    if not joint.holds:
        return []
    radius = OVER * radius if joint.cut else radius
    name = f"{joint.name} ({joint.type}{', cut' if joint.cut else ''})"
    parts = list(SYMBOLS.get(joint.drawn_as, ball)(joint, radius))
    if joint.cut:  # a square collar tells it from others where colours do not
        axis = joint.axes_a[0] if len(joint.axes_a) else np.array([0.0, 0.0, 1.0])
        parts.append(block(joint.a, joint.point_a, axis, COLLAR * radius))
    return [part._replace(name=name) for part in parts]


def pin(joint: JointDescription, radius: float) -> Iterator[PlacedMesh]:
    yield rod(joint.a, joint.point_a, joint.axes_a[0], PIN_LENGTH * radius, PIN_RADIUS * radius)


def ball(joint: JointDescription, radius: float) -> Iterator[PlacedMesh]:
    yield knob(joint.b, joint.point_b, BALL_RADIUS * radius)
    up = joint.axes_a[0] if len(joint.axes_a) else np.array([0.0, 0.0, 1.0])
    yield rod(joint.a, joint.point_a, up, BELT * radius, 1.06 * BALL_RADIUS * radius)


def cross(joint: JointDescription, radius: float) -> Iterator[PlacedMesh]:
    """Two pins through one point; each stays with its body."""
    for body, point, axis in ((joint.a, joint.point_a, joint.axes_a[0]), (joint.b, joint.point_b, joint.axes_b[-1])):
        yield rod(body, point, axis, CROSS_LENGTH * radius, CROSS_RADIUS * radius)
    yield knob(joint.a, joint.point_a, 1.2 * radius)


def rail(joint: JointDescription, radius: float) -> Iterator[PlacedMesh]:
    yield block(joint.b, joint.point_b, joint.axes_b[0], SLIDER * radius)


def sleeve(joint: JointDescription, radius: float) -> Iterator[PlacedMesh]:
    yield rod(joint.b, joint.point_b, joint.axes_b[0], SLEEVE_LENGTH * radius, SLEEVE_RADIUS * radius)


def plate(joint: JointDescription, radius: float) -> Iterator[PlacedMesh]:
    """The plane in which it slides, and a ball on it."""
    normal = np.cross(joint.axes_a[0], joint.axes_a[1])
    yield block(joint.a, joint.point_a, normal, PLATE * radius)
    yield knob(joint.b, joint.point_b, 1.2 * radius)


def weld(joint: JointDescription, radius: float) -> Iterator[PlacedMesh]:
    yield block(joint.a, joint.point_a, np.array([0.0, 0.0, 1.0]), WELD * radius)


SYMBOLS: dict[str, Callable[[JointDescription, float], Iterator[PlacedMesh]]] = {
    "pin": pin,
    "ball": ball,
    "cross": cross,
    "rail": rail,
    "sleeve": sleeve,
    "plate": plate,
    "weld": weld,
}
SLIDING = ("rail", "sleeve")  # that run on a rod


def rod(body: int, middle: Array, axis: Array, length: float, radius: float) -> PlacedMesh:
    """Return a cylinder about an axis (3,) through a point (3,), body axes."""
    half = 0.5 * length * axis
    return PlacedMesh(drawing.cylinder(), body, between((middle - half)[None], (middle + half)[None], radius)[0])


def block(body: int, middle: Array, axis: Array, size: Array) -> PlacedMesh:
    """Return a box whose third edge lies along an axis (3,)."""
    along = between(middle[None], (middle + axis)[None], 1.0)[0]
    return PlacedMesh(drawing.cube(), body, np.column_stack([along[:, :3] * size, middle]))


def knob(body: int, middle: Array, radius: float) -> PlacedMesh:
    """Return a ball."""
    return PlacedMesh(drawing.sphere(), body, np.column_stack([radius * np.eye(3), middle]))


class Rails:
    """Rods of prismatic joints; each is as long as the travel of its slider so far."""

    def __init__(self, description: SceneDescription, radius: float, color: Color) -> None:
        self._joints = [joint for joint in description.joints if joint.drawn_as in SLIDING and joint.holds]
        self._radius, self._color = radius, color
        self.batch = Batch(drawing.cylinder(), (), (), color, edges=True)

    def show(self, frame: Frame) -> None:
        """Lay every rod from beyond its first point to beyond its slider."""
        if not self._joints:
            return
        starts, ends = [], []
        for joint in self._joints:
            axis = frame.A[joint.a] @ joint.axes_a[0]
            first = frame.point(joint.a, joint.point_a)
            way = float(axis @ (frame.point(joint.b, joint.point_b) - first))
            starts.append(first + (min(way, 0.0) - BEYOND * self._radius) * axis)
            ends.append(first + (max(way, 0.0) + BEYOND * self._radius) * axis)
        self.batch.put(between(np.array(starts), np.array(ends), RAIL_RADIUS * self._radius), self._color)


def supports(description: SceneDescription, radius: float, up: Array) -> list[PlacedMesh]:
    """Return a support at every joint on ground, on the side away from the place where its body begins."""
    found: dict[tuple[float, ...], PlacedMesh] = {}
    slabs: list[PlacedMesh] = []
    for joint in description.joints:
        for body, point in ((joint.a, joint.point_a), (joint.b, joint.point_b)):
            place = tuple(np.round(point / radius, 3))
            if body != GROUND or not joint.holds or place in found:
                continue
            away = up if joint.hangs else -up
            foot = point + STAND_HEIGHT * radius * away
            stand = between(point[None], foot[None], STAND_WIDTH * radius)[0]
            found[place] = PlacedMesh(drawing.pyramid(), GROUND, stand, name="ground")
            slabs.append(block(GROUND, foot, away, FLOOR * radius)._replace(name="ground"))
    return [*found.values(), *slabs]


# ---- connectors ------------------------------------------------------------------------------------------------------

# Sizes in radii of a bar.
COIL, COIL_SHARE = 2.2, 0.045  # radius of a coil, and the same in its first length, which long ones have
POT, PISTON = 1.25, 0.5  # radii of a damper's cylinder and of its rod; inside of a coil both have room
POT_SHARE = 0.55  # of the first length of a damper that is its cylinder
MOST_POT = 0.85  # of the present length that the cylinder may take
ROD = 0.6
EYE, EYE_SHARE = 0.9, 0.45  # radius of the ball at the ends of springs and dampers, and the same in those of a coil
SEAT, SEAT_WIDTH = 0.35, 1.2  # half the thickness of a plate, and its radius in those of its coil
BLOCK = 3.6  # edge of a bushing
SLENDER = (2, 40)  # lengths in radii that coils are made for


class Connectors:
    """Batches of all connectors; ``show`` stretches them from end to end."""

    def __init__(self, description: SceneDescription, radius: float, theme: Theme, frame: Frame) -> None:
        self._radius, self._theme = radius, theme
        self._coils = Ends(description.connectors, "coil", "strut")
        self._dampers = Ends(description.connectors, "damper", "strut")
        self._rods, self._blocks = Ends(description.connectors, "bar", "block"), Ends(description.connectors, "block")
        self._struts = np.array([one.shape == "strut" for one in self._coils.members], bool)
        self._coil_groups = self._grouped(frame)
        self._eyes = self._end_balls()
        start, end = self._dampers.at(frame)
        self._pots = POT_SHARE * np.linalg.norm(end - start, axis=1)  # [m]
        self._batches = {
            "pot": Batch(drawing.cylinder(), (), (), rgba(theme.joint), edges=True),
            "piston": Batch(drawing.cylinder(), (), (), rgba(theme.joint)),
            "rod": Batch(drawing.cylinder(), (), (), rgba(theme.joint)),
            "seat": Batch(drawing.cylinder(), (), (), rgba(theme.joint), edges=True),
            "block": Batch(drawing.cube(), (), (), rgba(theme.spring), edges=True),
        }

    def _grouped(self, frame: Frame) -> list[tuple[NDArray[np.int64], Batch]]:
        """Return coils that are about equally slender now together, with a batch for each group."""
        start, end = self._coils.at(frame)
        length = np.linalg.norm(end - start, axis=1)
        self._coil_radii = np.maximum(COIL * self._radius, COIL_SHARE * length)
        slender = np.round(np.clip(length / self._coil_radii, *SLENDER)).astype(int)
        color = rgba(self._theme.spring)
        return [
            (np.flatnonzero(slender == one), Batch(drawing.coil(int(one)), (), (), color)) for one in np.unique(slender)
        ]

    def _end_balls(self) -> Batch:
        """Return the balls by which springs and dampers are held; they stay with the bodies."""
        places = list[tuple[int, Array]]()
        coils = zip(self._coils.members, np.maximum(EYE * self._radius, EYE_SHARE * self._coil_radii), strict=True)
        alone = [(one, EYE * self._radius) for one in self._dampers.members if one.shape == "damper"]
        for one, radius in [*coils, *alone]:
            for body, point in ((one.a, one.point_a), (one.b, one.point_b)):
                places.append((body, np.column_stack([radius * np.eye(3), point])))
        bodies, local = [body for body, _ in places], [place for _, place in places]
        return Batch(drawing.sphere(), bodies, local, rgba(self._theme.joint))

    @property
    def batches(self) -> list[Batch]:
        """All of them."""
        return [*(batch for _, batch in self._coil_groups), *self._batches.values(), self._eyes]

    def show(self, frame: Frame) -> None:
        """Stretch all from end to end."""
        radius, joint = self._radius, rgba(self._theme.joint)
        start, end = self._coils.at(frame)
        self._eyes.carry(frame.A, frame.r)
        self._show_seats(start[self._struts], end[self._struts])
        for members, batch in self._coil_groups:
            batch.put(between(start[members], end[members], self._coil_radii[members]), rgba(self._theme.spring))
            batch.names = [self._coils.names[k] for k in members]
        self._show_dampers(*self._dampers.at(frame))
        self._batches["rod"].put(between(*self._rods.at(frame), ROD * radius), joint)
        self._batches["rod"].names, self._batches["pot"].names = self._rods.names, self._dampers.names
        if len(self._blocks):
            center, _ = self._blocks.at(frame)
            own = np.array([block.axes for block in self._blocks.members])
            axes = BLOCK * radius * np.einsum("kij,kjl->kil", frame.A[self._blocks.a], own)
            self._batches["block"].put(np.concatenate((axes, center[:, :, None]), axis=2), rgba(self._theme.spring))

    def _show_seats(self, start: Array, end: Array) -> None:
        """Put plates at both ends of the winding of struts."""
        way = end - start
        middle = np.concatenate([start + drawing.COIL_END * way, end - drawing.COIL_END * way])
        unit = way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-12)
        half = SEAT * self._radius * np.tile(unit, (2, 1))
        width = SEAT_WIDTH * np.tile(self._coil_radii[self._struts], 2)
        self._batches["seat"].put(between(middle - half, middle + half, width), rgba(self._theme.joint))

    def _show_dampers(self, start: Array, end: Array) -> None:
        """Leave the cylinders as long as they are, and let the rods slide in them."""
        length = np.linalg.norm(end - start, axis=1)
        share = np.minimum(self._pots / np.maximum(length, 1e-12), MOST_POT)[:, None]
        bottom = start + 0.15 * (end - start) * share
        mouth = start + share * (end - start)
        color = rgba(self._theme.joint)
        self._batches["pot"].put(between(bottom, mouth, POT * self._radius), color)
        piston = np.concatenate([start, mouth]), np.concatenate([bottom, end])
        self._batches["piston"].put(between(*piston, PISTON * self._radius), color)


class Ends:
    """The connectors of some shapes, and where their ends are."""

    def __init__(self, connectors: Sequence[ConnectorDescription], *shapes: str) -> None:
        self.members = [connector for connector in connectors if connector.shape in shapes]
        self.names = [f"{one.name} ({one.kind})" for one in self.members]
        self.a = np.array([one.a for one in self.members], np.int64)
        self._b = np.array([one.b for one in self.members], np.int64)
        self._points = np.array([(one.point_a, one.point_b) for one in self.members]).reshape(-1, 2, 3)

    def __len__(self) -> int:
        return len(self.members)

    def at(self, frame: Frame) -> tuple[Array, Array]:
        """Return the world points (k, 3) of both ends."""
        first, second = self._points[:, 0], self._points[:, 1]
        return frame.points(self.a, first), frame.points(self._b, second)


# ---- arrows of forces and moments ------------------------------------------------------------------------------------

SHAFT, HEAD, HEAD_WIDTH = 0.5, 4.5, 1.5  # radius of a shaft, length and radius of a head, in radii of a bar
MOST_HEAD, MOST_SHAFT = 0.4, 0.05  # the same, in lengths of the arrow, which short ones are drawn with
SECOND_HEAD = 0.7  # where the second head of a moment begins, in lengths of a head behind the first
FULL = 0.6  # length of a full arrow, in characteristic lengths
TOO_LONG, GROWN = 2.0, 1.2  # length from which on a scale grows, and the length of that arrow then
LEAST = 0.02  # moment at which an arrow is full, in full forces times the characteristic length: noise stays small
SHORTEST, LONGEST = 0.01, 4.0  # an arrow that is drawn, and one that a longer one is cut to, in characteristic lengths
STEPS, NEXT = (1.0, 2.0, 5.0), 2.2  # of a scale, times powers of ten, and a factor that leads to the next one
USUAL = 0.9  # share of the instants whose arrows are at most full
NONE: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)


class Scale:
    """Scale of arrows: the force and the moment of an arrow of one metre.

    At first an arrow as long as most of the mechanism is the weight of all bodies. ``fit`` takes the forces that are
    there instead, until the user has chosen. grows: the scale also follows forces that become much larger.
    """

    def __init__(self, description: SceneDescription) -> None:
        self.length = description.length  # characteristic one [m]
        # Length that the legend speaks of [m].
        self.unit = 10.0 ** math.floor(math.log10(self.length) + 1e-9) if self.length > 0.0 else 1.0
        gravity = float(np.linalg.norm(description.gravity)) or 9.81
        weight = gravity * sum(body.mass for body in description.bodies)
        self.newtons = round_number(max(weight, 1e-9) / (FULL * self.length))  # [N/m]
        self.moments = round_number(self.newtons * self.length)  # [N m/m]
        self._fitted = self._chosen = self.grows = False

    def choose(self, newtons: float) -> None:
        """Set the force [N] of an arrow of one metre; moments keep their proportion to forces."""
        self.moments *= newtons / self.newtons
        self.newtons, self._fitted, self._chosen = newtons, True, True

    def step(self, up: bool) -> None:
        """Take the next larger or smaller round force."""
        self.choose(round_number(self.newtons * (NEXT if up else 1.0 / NEXT)))

    def fit(self, wrenches: Array) -> None:
        """Take the largest of the wrenches (k, 6) as full; once, unless the scale grows, and not after ``choose``."""
        if self._chosen or (self._fitted and not self.grows) or not np.any(np.isfinite(wrenches)):
            return
        force, moment = (float(np.nanmax(np.linalg.norm(part, axis=1))) for part in (wrenches[:, :3], wrenches[:, 3:]))
        if self._fitted:
            if force > TOO_LONG * self.length * self.newtons:
                grown = round_number(force / (GROWN * self.length))
                self.newtons, self.moments = grown, round_number(self.moments * grown / self.newtons)
        elif force > 0.0:
            self.newtons, self._fitted = round_number(force / (FULL * self.length)), True
            self.moments = round_number(max(moment / (FULL * self.length), LEAST * self.newtons * self.length))

    def sentence(self) -> str:
        """Return the legend, by a length of the size of the mechanism."""
        force, moment = brief(self.newtons * self.unit, "N"), brief(self.moments * self.unit, "N m")
        return f"arrows: {metric(self.unit)} is {force}, with two heads {moment}"


def typical_wrenches(wrenches: Array) -> Array:
    """Return the wrenches (k, 6) of one of S instants (S, k, 6): nine of ten instants have no larger force.

    The scale fits them; a few larger ones, as near a dead centre, are cut.
    """
    force = np.linalg.norm(wrenches[:, :, :3], axis=2)
    largest = np.max(np.where(np.isfinite(force), force, 0.0), axis=1)
    order = np.argsort(largest, kind="stable")
    return np.asarray(wrenches[order[int(USUAL * (len(order) - 1))]])


def round_number(value: float) -> float:
    """Return the nearest of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return float(min((step * power for step in (*STEPS, 10.0)), key=lambda one: abs(math.log(one / value))))


class Arrows:
    """Arrows of one colour and thickness: a batch of shafts and one of heads."""

    def __init__(self, radius: float, color: str, double: bool = False) -> None:
        self._radius, self._color, self._double = radius, rgba(color), double
        self.batches = [Batch(drawing.cylinder(), (), (), NONE), Batch(drawing.cone(), (), (), NONE)]
        for batch in self.batches:
            batch.casts = False

    def lay(self, start: Array, vectors: Array, scale: Scale, per_metre: float, ends: bool = False) -> None:
        """Lay arrows from ``start`` (k, 3) along ``vectors`` (k, 3); ``ends``: they end at the points instead.

        Vectors too short to be seen, or not finite, are left out; one longer than the picture is cut.
        """
        along = np.asarray(vectors, float).reshape(-1, 3) / per_metre
        size = np.linalg.norm(along, axis=1)
        kept = np.isfinite(size) & (size > SHORTEST * scale.length)
        along, size, start = along[kept], size[kept], np.asarray(start, float).reshape(-1, 3)[kept]
        cut = np.minimum(size, LONGEST * scale.length)
        unit = along / np.maximum(size, 1e-300)[:, None]
        start = start - unit * cut[:, None] if ends else start
        tip = start + unit * cut[:, None]
        head = np.minimum(HEAD * self._radius, MOST_HEAD * cut)
        neck = tip - unit * head[:, None]
        shaft = np.minimum(SHAFT * self._radius, MOST_SHAFT * cut)
        self.batches[0].put(between(start, neck, shaft), self._color)
        width = HEAD_WIDTH * np.minimum(self._radius, head / HEAD)
        heads = between(neck, tip, width)
        if self._double:
            back = unit * (SECOND_HEAD * head)[:, None]
            heads = np.concatenate([heads, between(neck - back, tip - back, width)])
        self.batches[1].put(heads, self._color)


class Forces:
    """Given forces as arrows that end where they act, given torques as arrows with two heads."""

    def __init__(self, description: SceneDescription, radius: float, theme: Theme) -> None:
        self._wrenches = description.wrenches
        self._forces = Arrows(radius, theme.force)
        self._moments = Arrows(radius, theme.moment, double=True)
        self.batches = [*self._forces.batches, *self._moments.batches]

    def show(self, frame: Frame, scale: Scale) -> None:
        """Point the arrows as the forces point now."""
        if not self._wrenches:
            return
        points = [frame.point(one.body, one.point) for one in self._wrenches]
        acting = np.array([world_wrench(one, frame) for one in self._wrenches])
        self._forces.lay(np.array(points), acting[:, :3], scale, scale.newtons, ends=True)
        self._moments.lay(np.array(points), acting[:, 3:], scale, scale.moments)


class Reactions:
    """Joint reactions on the second bodies: arrows from the joint points, double ones for moments."""

    def __init__(self, description: SceneDescription, radius: float, theme: Theme) -> None:
        self._b = np.array([joint.b for joint in description.joints], np.int64)
        self._points = np.array([joint.point_b for joint in description.joints]).reshape(-1, 3)
        self._forces = Arrows(radius, theme.reaction)
        self._moments = Arrows(radius, theme.reaction_moment, double=True)
        self.batches = [*self._forces.batches, *self._moments.batches]

    def show(self, frame: Frame, scale: Scale) -> None:
        """Point the arrows as the reactions point now; none where the frame has no reactions."""
        if not len(self._b):
            return
        scale.fit(frame.reactions)
        points = frame.points(self._b, self._points)
        self._forces.lay(points, frame.reactions[:, :3], scale, scale.newtons)
        self._moments.lay(points, frame.reactions[:, 3:], scale, scale.moments)


class GrabLine:
    """The spring between a body and the mouse."""

    def __init__(self, radius: float, theme: Theme) -> None:
        self._radius, self._color = radius, rgba(theme.grab)
        self.batches = [Batch(drawing.coil(), (), (), NONE), Batch(drawing.sphere(), (), (), NONE)]

    def show(self, frame: Frame) -> None:
        """Draw it while a body is pulled."""
        coil, ball = self.batches
        coil.visible = ball.visible = frame.grabbed >= 0 and bool(np.all(np.isfinite(frame.grab_point)))
        if coil.visible:
            ends = np.array([frame.grab_point, frame.grab_target])
            coil.put(between(ends[:1], ends[1:], 1.2 * self._radius), self._color)
            size = 1.6 * self._radius * np.eye(3)
            ball.put(np.array([np.column_stack([size, end]) for end in ends]), self._color)


def world_wrench(wrench: WrenchDescription, frame: Frame) -> Array:
    """Return the force and torque (6,) of a given wrench in world axes [N, N m]."""
    numbers = frame.inputs[wrench.slot : wrench.slot + 6]
    if not wrench.follows:
        return numbers
    turn = frame.A[wrench.body] @ wrench.axes
    return np.concatenate((turn @ numbers[:3], turn @ numbers[3:]))


# ---- contacts --------------------------------------------------------------------------------------------------------

BALL, THREAD = 1.1, 0.25  # radii of a contact point and of a normal, in radii of a bar
TALL = 0.2  # height of a cone of friction and length of a normal, in characteristic lengths
WIDEST = 2.0  # coefficient of friction of the widest cone that is drawn
CONE_OPACITY = 0.3
FORCE_SHAFT, FORCE_HEAD = (
    0.4,
    0.25,
)  # radius of an arrow of force in radii of a bar; length of its head in its own length


class Contacts:
    """Batches with a placement for every contact, without size where it is open: pages count those of the first."""

    def __init__(self, description: SceneDescription, radius: float, theme: Theme) -> None:
        self._radius = radius
        self._mu = np.minimum([one.friction for one in description.contacts], WIDEST)
        plain, cone = rgba(theme.reaction), rgba(theme.accent, CONE_OPACITY)
        meshes = (drawing.sphere(), plain), (drawing.cylinder(), plain), (drawing.cone(), cone)
        arrow, blow = ((drawing.cylinder(), drawing.cone()) for _ in range(2))
        struck = rgba(theme.accent)
        shapes = (*meshes, *((mesh, plain) for mesh in arrow), *((mesh, struck) for mesh in blow))
        count = len(self._mu)
        self.batches = [Batch(mesh, np.full(count, GROUND), np.zeros((count, 3, 4)), color) for mesh, color in shapes]
        self._colors = [color for _, color in shapes]
        for batch in self.batches:
            batch.casts = False

    def show(self, frame: Frame, scale: Scale) -> None:
        """Draw the contacts that touch in a frame."""
        if not len(self._mu) or len(frame.contacts) != len(self._mu):
            return
        point, normal, force, impulse = (frame.contacts[:, part] for part in CONTACT)
        force, blow = np.nan_to_num(force), np.nan_to_num(impulse) / LINGERS
        touches = np.any(force != 0.0, axis=1) | np.any(blow != 0.0, axis=1)
        if np.any(force):
            scale.fit(np.hstack((force[touches], np.zeros((int(np.sum(touches)), 3)))))
        point, normal = (np.where(touches[:, None], one, 0.0) for one in (point, normal))
        tall = TALL * scale.length
        balls = np.concatenate(
            (np.tile(BALL * self._radius * np.eye(3), (len(point), 1, 1)), point[:, :, None]), axis=2
        )
        top = point + tall * normal
        placed = (
            (balls, touches),
            (between(point, top, THREAD * self._radius), touches),
            (between(top, point, np.maximum(self._mu * tall, 1e-9)), touches & (self._mu > 0.0)),
            *self.arrow(point, force, scale),
            *self.arrow(point, blow, scale),
        )
        for batch, color, (placement, there) in zip(self.batches, self._colors, placed, strict=True):
            batch.put(np.where(there[:, None, None], placement, 0.0), color)

    def arrow(self, point: Array, force: Array, scale: Scale) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Return placements of shafts and heads of forces (nc, 3) at points (nc, 3), and which of them are seen."""
        along = force / scale.newtons
        length = np.linalg.norm(along, axis=1)
        seen = length > SHORTEST * scale.length
        along = along * np.minimum(1.0, LONGEST * scale.length / np.maximum(length, 1e-300))[:, None]
        neck, width = (
            point + (1.0 - FORCE_HEAD) * along,
            self._radius * np.minimum(1.0, length / (FULL * scale.length) + 0.2),
        )
        shaft, head = between(point, neck, FORCE_SHAFT * width), between(neck, point + along, HEAD_WIDTH * width)
        return (shaft, seen), (head, seen)
