"""Camera: view and projection matrices, rays of pixels, views that fit points, and the cube that shows its axes."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import WAY

Array = NDArray[np.float64]

# (azimuth, elevation) of the eye as seen from the centre [degrees], where z is up; x points to azimuth 0.
PRESETS: dict[str, tuple[float, float]] = {
    "isometric": (35.0, 22.0),
    "front": (0.0, 0.0),  # along -x: mechanisms of the library stand in the YZ plane
    "side": (-90.0, 0.0),  # along +y
    "top": (-90.0, 90.0),
}
SHORT = {"iso": "isometric", "x": "front", "y": "side", "z": "top"}  # the keys of the window
# Directions from the centre to the eye in world axes, for any direction of gravity.
ALONG: dict[str, tuple[float, float, float]] = {
    "front": (1.0, 0.0, 0.0),
    "side": (0.0, -1.0, 0.0),
    "top": (0.0, 0.0, 1.0),
}
LEVEL = 1e-9  # of a unit vector that points up or down
STEEPEST = 90.0  # [degrees]
ROUND = 2e-3  # by which numbers of a given view may miss a rotation
NEAR, FAR = 0.02, 50.0  # clip planes, in distances of the eye
PARTING = 16  # lines that may part points from a corner of the picture
MARGIN = 1.08  # room that ``fit`` leaves around the points


@dataclass
class Camera:
    """An eye that looks at ``center`` from ``distance``. Pixels count from the upper left corner, y down."""

    center: Array = field(default_factory=lambda: np.zeros(3))  # (3,) [m]
    distance: float = 10.0  # [m]
    azimuth: float = PRESETS["isometric"][0]  # [degrees]
    elevation: float = PRESETS["isometric"][1]  # [degrees]
    field_of_view: float = 35.0  # of the height [degrees]
    parallel: bool = False  # lines stay parallel: an orthographic picture
    ground: Array = field(default_factory=lambda: np.eye(3))  # rows east, north, up (3, 3) in world axes
    given: Array | None = None  # rows right, up, backward (3, 3) of the eye, in place of azimuth and elevation
    width: int = 1200  # [pixels]
    height: int = 700

    # ---- matrices ------------------------------------------------------------------------------------------------

    def axes(self) -> Array:
        """Return rows right, up, backward (3, 3) of the eye in world axes."""
        if self.given is not None:
            return self.given
        a, e = math.radians(self.azimuth), math.radians(self.elevation)
        backward = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
        right = np.array([-math.sin(a), math.cos(a), 0.0])
        up = np.array([-math.sin(e) * math.cos(a), -math.sin(e) * math.sin(a), math.cos(e)])
        return np.array([right, up, backward]) @ self.ground

    def eye(self) -> Array:
        """Return the place of the eye (3,) [m]."""
        return self.center + self.distance * self.axes()[2]

    def view(self) -> Array:
        """Return the matrix (4, 4) from world to eye axes."""
        out = np.eye(4)
        out[:3, :3] = self.axes()
        out[:3, 3] = -out[:3, :3] @ self.eye()
        return out

    def projection(self) -> Array:
        """Return the matrix (4, 4) of OpenGL from eye axes to the picture."""
        near, far = NEAR * self.distance, FAR * self.distance
        focal = 1.0 / math.tan(math.radians(self.field_of_view) / 2.0)
        out = np.zeros((4, 4))
        if self.parallel:  # as large as the perspective shows the plane through the centre; nothing is behind the eye
            out[1, 1] = focal / self.distance
            out[0, 0] = out[1, 1] * self.height / self.width
            out[2, 2], out[3, 3] = -1.0 / far, 1.0
            return out
        out[0, 0], out[1, 1] = focal * self.height / self.width, focal
        out[2, 2], out[2, 3], out[3, 2] = (far + near) / (near - far), 2.0 * far * near / (near - far), -1.0
        return out

    # ---- points and pixels ---------------------------------------------------------------------------------------

    def project(self, points: ArrayLike) -> Array:
        """Return (k, 3) of world ``points`` (k, 3): pixel x, pixel y, depth before the eye [m] (negative: behind)."""
        points = np.atleast_2d(np.asarray(points, float))
        seen = (points - self.eye()) @ self.axes().T
        depth = -seen[:, 2]
        per_metre = self.focal_pixels() / np.where(np.abs(depth) > 1e-12, depth, 1e-12)
        if self.parallel:
            per_metre = np.full(len(depth), self.focal_pixels() / self.distance)
            depth = depth + FAR * self.distance  # the eye stands far away
        return np.column_stack(
            [self.width / 2.0 + seen[:, 0] * per_metre, self.height / 2.0 - seen[:, 1] * per_metre, depth]
        )

    def ray(self, x: float, y: float) -> tuple[Array, Array]:
        """Return where the ray through a pixel begins (3,) and its unit direction (3,)."""
        right, up, backward = self.axes()
        across, above = x - self.width / 2.0, self.height / 2.0 - y
        if self.parallel:
            start = self.center + self.metres_per_pixel() * (across * right + above * up)
            return start + FAR * self.distance * backward, -backward
        direction = across * right + above * up - self.focal_pixels() * backward
        return self.eye(), direction / np.linalg.norm(direction)

    def focal_pixels(self) -> float:
        """Return pixels on the screen of one metre at one metre from the eye."""
        return self.height / 2.0 / math.tan(math.radians(self.field_of_view) / 2.0)

    def metres_per_pixel(self, point: ArrayLike | None = None) -> float:
        """Return the size of a pixel at ``point`` (the centre unless given) [m]."""
        depth = self.distance if point is None or self.parallel else float(self.project(point)[0, 2])
        return max(depth, NEAR * self.distance) / self.focal_pixels()

    def at_depth_of(self, x: float, y: float, point: ArrayLike) -> Array:
        """Return the world point (3,) under a pixel, in the plane through ``point`` that faces the eye."""
        start, direction = self.ray(x, y)
        backward = self.axes()[2]
        reach = float((np.asarray(point, float) - start) @ backward) / float(direction @ backward)
        return start + reach * direction

    def holds(self, points: ArrayLike, left: float = 0.0) -> bool:
        """True when all ``points`` (k, 3) are in the picture; ``left`` pixels at the left border do not count."""
        pixels = self.project(points)
        inside = (pixels[:, :2] >= (left, 0.0)) & (pixels[:, :2] <= (self.width, self.height))
        return bool(np.all(inside) and np.all(pixels[:, 2] > 0.0))

    # ---- moving --------------------------------------------------------------------------------------------------

    def resize(self, width: int, height: int) -> None:
        """Take the size of the picture [pixels]."""
        self.width, self.height = max(int(width), 1), max(int(height), 1)

    def orbit(self, azimuth: float, elevation: float) -> None:
        """Turn about the centre [degrees]; the horizon of a given view becomes level."""
        self.given = None
        self.azimuth = (self.azimuth + azimuth + 180.0) % 360.0 - 180.0
        self.elevation = min(max(self.elevation + elevation, -STEEPEST), STEEPEST)

    def pan(self, x: float, y: float) -> None:
        """Move the picture by so many pixels to the right and down."""
        right, up, _ = self.axes()
        self.center = self.center + self.metres_per_pixel() * (y * up - x * right)

    def zoom(self, factor: float) -> None:
        """Come closer by ``factor`` (> 1), or go away (< 1)."""
        self.distance = min(max(self.distance / factor, 1e-6), 1e9)

    def zoom_at(self, x: float, y: float, factor: float, point: Array | None = None) -> None:
        """Come closer by ``factor``; what is under a pixel stays there: ``point`` (3,), or the plane of the centre."""
        fixed = self.at_depth_of(x, y, self.center) if point is None else point
        before = self.distance
        self.zoom(factor)
        self.center = fixed + (self.center - fixed) * (self.distance / before)

    def look_along(self, backward: Array) -> None:
        """Look from the direction (3,) in world axes, seen from the centre."""
        self.given = None
        self._stand(backward / np.linalg.norm(backward))

    def look(self, preset: str) -> None:
        """Look from a place of ``PRESETS`` or ``SHORT``, from "azimuth,elevation" [degrees], or along nine numbers.

        The nine numbers are the rows right, up and backward of the eye in world axes, separated by commas.
        Raises UnknownNameError, which lists the presets, and InputError for numbers that are no view.
        """
        self.given, preset = None, SHORT.get(preset, preset)
        if "," in preset:
            numbers = numbers_of(preset)
            if len(numbers) == 9:
                self._look_along(rotation(preset, numbers))
            else:
                self.azimuth, self.elevation = angles(preset, numbers)
            return
        if preset not in PRESETS:
            raise unknown_name("camera preset", preset, PRESETS)
        self.azimuth, self.elevation = PRESETS[preset]
        if preset in ALONG:
            self._stand(np.array(ALONG[preset]))

    def _stand(self, backward: Array) -> None:
        """Set azimuth and elevation from the direction (3,) of the eye seen from the centre."""
        east, north, up = self.ground @ backward
        self.elevation = math.degrees(math.asin(min(max(up, -1.0), 1.0)))
        level = math.hypot(east, north) > LEVEL
        self.azimuth = math.degrees(math.atan2(north, east)) if level else PRESETS["top"][0]

    def _look_along(self, axes: Array) -> None:
        """Look with these rows right, up, backward (3, 3); turning goes on from there."""
        self.given = axes
        self._stand(axes[2])

    def fit(self, points: ArrayLike, left: float = 0.0, corner: float = 0.0) -> None:
        """Keep the direction, and choose centre and distance so that all ``points`` (k, 3) fill the picture.

        left: pixels at the left border that are left free, for something that lies over the picture.
        corner: edge of a square [pixels] at the upper right corner that the convex hull of the points leaves free. The
        points then keep away from the right border or the upper one, whichever makes them larger.
        """
        points = np.atleast_2d(np.asarray(points, float))
        points = points[np.all(np.isfinite(points), axis=1)]
        if not len(points):
            return
        self._fill(points, left)
        if corner and self._covers_corner(points, corner):
            ways = []
            for right, top in ((corner, 0.0), (0.0, corner)):
                self._fill(points, left, right, top)
                ways.append((self.distance, self.center))
            self.distance, self.center = min(ways, key=lambda way: way[0])

    def _fill(self, points: Array, left: float, right: float = 0.0, top: float = 0.0) -> None:
        """Choose centre and distance so that finite ``points`` (k, 3) fill what borders [pixels] leave."""
        axes = self.axes()
        sides = Sides(
            *(
                1.0 - 2.0 * free / size
                for free, size in zip((left, right, top), (self.width, self.width, self.height), strict=True)
            )
        )
        middle, reach = (self._parallel_window if self.parallel else self._window)(points @ axes.T, sides)
        self.center, self.distance = middle @ axes, max(reach, 1e-6)

    def _covers_corner(self, points: Array, corner: float) -> bool:
        """True unless a line parts the points (k, 3) from the square at the upper right corner [pixels]."""
        turns = np.linspace(0.0, 0.5 * math.pi, PARTING)
        normals = np.column_stack((np.cos(turns), -np.sin(turns)))
        farthest = np.max(self.project(points)[:, :2] @ normals.T, axis=0)
        return bool(np.all(farthest > normals @ (self.width - corner, corner)))

    def fit_around(self, center: ArrayLike, points: ArrayLike, left: float = 0.0) -> None:
        """Keep the direction and put ``center`` (3,) into the middle of the free area, with ``points`` in the picture.

        left: as of ``fit``.
        """
        axes, middle, points = self.axes(), np.asarray(center, float), np.atleast_2d(np.asarray(points, float))
        points = points[np.all(np.isfinite(points), axis=1)]
        if not (len(points) and np.all(np.isfinite(middle))):
            return
        u, v, w = ((points - middle) @ axes.T).T
        slope = math.tan(math.radians(self.field_of_view) / 2.0) / MARGIN
        across = slope * (self.width - left) / self.height
        beside = np.maximum(np.abs(u) / across, np.abs(v) / slope)
        reach = beside if self.parallel else np.maximum(w + beside, w / (1.0 - NEAR))
        self.distance = max(float(np.max(reach)), 1e-6)
        self.center = middle - 0.5 * left * self.metres_per_pixel() * axes[0]

    def go_with(self, points: Array, left: float = 0.0, corner: float = 0.0) -> None:
        """Keep the distance and put ``points`` (k, 3) into the middle; step back only where they do not fit."""
        distance = self.distance
        self.fit(points, left, corner)
        if self.distance < distance:
            self.distance = distance

    def _parallel_window(self, seen: Array, free: "Sides") -> tuple[Array, float]:
        """Return centre and distance as ``_window`` does, for parallel projection."""
        low, high = seen.min(axis=0), seen.max(axis=0)
        tangent = math.tan(math.radians(self.field_of_view) / 2.0) / MARGIN
        wide = tangent * self.width / self.height  # half the picture at one metre
        reach = max(
            (high[1] - low[1]) / (tangent * (1.0 + free.top)), (high[0] - low[0]) / (wide * (free.left + free.right))
        )
        middle = 0.5 * (low + high)
        middle[0] += 0.5 * (free.left - free.right) * wide * reach
        middle[1] += 0.5 * (1.0 - free.top) * tangent * reach
        return middle, float(reach)

    def _window(self, seen: Array, free: "Sides") -> tuple[Array, float]:
        """Return centre in eye axes and distance so that ``seen`` (k, 3) in eye axes fill the picture.

        A point (u, v, w) from the centre is inside while u <= slope (distance - w), and the same on the other three
        sides. So the support of the points in the direction of each side decides: two of them fix the least distance.
        """
        slope = math.tan(math.radians(self.field_of_view) / 2.0) / MARGIN
        across = slope * self.width / self.height
        depth = 0.5 * (float(seen[:, 2].min()) + float(seen[:, 2].max()))
        w = seen[:, 2] - depth
        # axis, slope above it, slope below it
        sides = ((0, free.right * across, free.left * across), (1, free.top * slope, slope))
        support = [
            (float(np.max(seen[:, axis] + above * w)), float(np.max(-seen[:, axis] + below * w)))
            for axis, above, below in sides
        ]
        reach = max(
            (high + low) / (above + below) for (high, low), (_, above, below) in zip(support, sides, strict=True)
        )
        reach = max(reach, float(np.max(w)) / (1.0 - NEAR))
        middle = np.array([0.0, 0.0, depth])
        for (high, low), (axis, above, below) in zip(support, sides, strict=True):
            middle[axis] = 0.5 * (high - low - (above - below) * reach)
        return middle, reach


class Sides(NamedTuple):
    """Where the free part of a picture ends, in shares of half its width or height from the middle."""

    left: float
    right: float
    top: float


def numbers_of(text: str) -> list[float]:
    """Return numbers between commas, none when one is no finite number."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        return []
    return found if all(math.isfinite(one) for one in found) else []


def angles(text: str, numbers: list[float]) -> tuple[float, float]:
    """Return azimuth and elevation of "azimuth,elevation" [degrees]; InputError for anything else."""
    if len(numbers) != 2 or abs(numbers[1]) > STEEPEST:
        raise InputError(
            f"camera {text!r}: write a preset, or azimuth,elevation in degrees, such as 30,20, or nine numbers: the "
            "directions right, up and to the eye"
        )
    return numbers[0], numbers[1]


def rotation(text: str, numbers: list[float]) -> Array:
    """Return nine numbers as the rows of a rotation (3, 3); InputError where they are none to three digits."""
    given = np.array(numbers).reshape(3, 3)
    u, _, v = np.linalg.svd(given)
    nearest = np.asarray(u @ v)
    if np.linalg.det(nearest) < 0.0 or np.max(np.abs(nearest - given)) > ROUND:
        raise InputError(
            f"camera {text!r}: the directions right, up and to the eye must be three unit vectors across one another, "
            "right-handed, such as 0,1,0,0,0,1,1,0,0"
        )
    return nearest


def ground_axes(gravity: ArrayLike) -> Array:
    """Return rows east, north, up (3, 3) of the ground in world axes: up against gravity, z without gravity.

    Where gravity follows an axis of the world, east and north are the next two, so with gravity along -z all three are
    those of the world.
    """
    g = np.asarray(gravity, float)
    size = float(np.linalg.norm(g))
    up = -g / size if size > 0.0 else np.array([0.0, 0.0, 1.0])
    k = int(np.argmax(np.abs(up)))
    east = np.eye(3)[(k + 1) % 3]
    east = east - (east @ up) * up
    east /= np.linalg.norm(east)
    return np.array([east, np.cross(up, east), up])


# ---- planar mechanisms -----------------------------------------------------------------------------------------------

ALIKE = 1e-6  # by which axes of a planar mechanism may differ, in unit vectors


def common_axis(description: SceneDescription, A: Array) -> Array | None:
    """Return the direction (3,) from which a planar mechanism is seen in its plane, None for a spatial one.

    A: (nb, 3, 3) body to world. All pins lie along the direction and all sliders across it. Of its two senses it is
    that of the view along the nearest axis of the world.
    """
    pins, across = list[Array](), list[Array]()
    for joint in description.joints:
        axes = [A[joint.a] @ axis for axis in joint.axes_a]
        if not joint.holds or joint.drawn_as not in ("pin", "rail", "plate", "weld"):
            return None
        if joint.drawn_as == "plate":
            pins.append(np.cross(axes[0], axes[1]))
        elif joint.drawn_as != "weld":
            (pins if joint.drawn_as == "pin" else across).append(axes[0])
    if not pins:
        return None
    axis = pins[0] / np.linalg.norm(pins[0])
    flat = all(np.linalg.norm(np.cross(axis, one)) < ALIKE for one in pins)
    if not flat or any(abs(float(axis @ one)) > ALIKE for one in across):
        return None
    toward = list(ALONG.values())[int(np.argmax(np.abs(axis)))]
    return axis if axis @ toward > 0.0 else -axis


def look_first(camera: Camera, description: SceneDescription, A: Array, chosen: str = "") -> None:
    """Look at a mechanism as ``chosen`` says, what ``Camera.look`` takes.

    Without a choice a planar mechanism is seen along the common axis of its joints, a spatial one from a corner.
    """
    axis = None if chosen else common_axis(description, A)
    if axis is None:
        camera.look(chosen or "isometric")
    else:
        camera.look_along(axis)


# ---- extreme points --------------------------------------------------------------------------------------------------

MOTION_LIMIT = 5.0  # sizes of a mechanism that its motion may go and be in the picture


def reached(farthest: Array, points: Array, directions: Array) -> Array:
    """Return, of ``farthest`` (k, 3) and of ``points``, those that lie farthest in each of ``directions`` (k, 3)."""
    points = points[np.all(np.isfinite(points), axis=1)]
    if not len(points):
        return farthest
    heights = directions @ points.T  # along rows: the largest of a column takes ten times as long
    best = np.argmax(heights, axis=1)
    old = np.sum(farthest * directions, axis=1)
    further = ~(heights[np.arange(len(directions)), best] <= old)
    return np.where(further[:, None], points[best], farthest)


def sphere(count: int) -> Array:
    """Return unit vectors (count, 3) that are spread evenly: the points of a Fibonacci lattice."""
    k = np.arange(count) + 0.5
    z, turn = 1.0 - 2.0 * k / count, math.pi * (1.0 + math.sqrt(5.0)) * k
    across = np.sqrt(1.0 - z * z)
    return np.column_stack((across * np.cos(turn), across * np.sin(turn), z))


DIRECTIONS = sphere(WAY)


# ---- view cube: a click on a face looks along it; the window draws faces, a page its own of the same numbers ---------

CUBE_FACES: tuple[tuple[str, tuple[float, float, float]], ...] = (
    ("x", (1.0, 0.0, 0.0)), ("y", (0.0, 1.0, 0.0)), ("z", (0.0, 0.0, 1.0)),
    ("\N{MINUS SIGN}x", (-1.0, 0.0, 0.0)), ("\N{MINUS SIGN}y", (0.0, -1.0, 0.0)), ("\N{MINUS SIGN}z", (0.0, 0.0, -1.0)),
)  # fmt: skip
HALF_EDGE = 19.0  # [pixels] half an edge
CUBE_REACH = HALF_EDGE * 3.0**0.5  # [pixels] from the middle to a corner
CUBE_INSET = 12.0  # [pixels] from the border of the picture
CUBE_LEAST = 300  # [pixels] width and height of a picture that has room for it
EDGE_ON = 0.12  # share of a face that is seen, below which it has no letter


class CubeFace(NamedTuple):
    """A face that is seen."""

    label: str
    axis: int  # that it lies across: 0, 1, 2
    normal: tuple[float, float, float]
    corners: Array  # (4, 2) [pixels] from the middle of the cube, y down
    seen: float  # share of it: 1 from straight before


def cube_faces(axes: Array) -> list[CubeFace]:
    """Return the faces that an eye with the rows right, up, backward (3, 3) sees."""
    found = []
    for number, (label, normal) in enumerate(CUBE_FACES):
        n, axis = np.array(normal), number % 3
        if (seen := float(axes[2] @ n)) <= 1e-9:
            continue
        one, other = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
        corners = HALF_EDGE * np.array([n + a * one + b * other for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
        flat = corners @ axes[:2].T
        found.append(CubeFace(label, axis, normal, flat * (1.0, -1.0), seen))
    return found


def cube_corner(width: float, height: float) -> float:
    """Return the edge of the square at the upper right corner that the cube takes [pixels]; 0 where it has no room."""
    return 0.0 if cube_middle(width, height) is None else 2.0 * (CUBE_INSET + CUBE_REACH) - CUBE_INSET


def cube_middle(width: float, height: float) -> tuple[float, float] | None:
    """Return the middle of the cube in a picture [pixels]; None where there is no room."""
    if min(width, height) < CUBE_LEAST:
        return None
    return width - CUBE_INSET - CUBE_REACH, CUBE_INSET + CUBE_REACH


def cube_face_at(axes: Array, x: float, y: float) -> CubeFace | None:
    """Return the face at a place from the middle of the cube [pixels], y down."""
    return next((face for face in cube_faces(axes) if contains(face.corners, x, y)), None)


def contains(corners: Array, x: float, y: float) -> bool:
    """True for a point in a convex polygon (k, 2)."""
    ways = np.roll(corners, -1, axis=0) - corners
    away = np.array([x, y]) - corners
    turns = ways[:, 0] * away[:, 1] - ways[:, 1] * away[:, 0]
    return bool(np.all(turns >= 0.0) or np.all(turns <= 0.0))
