"""Joints by the symbols of the field, and what carries them on ground."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer import meshes
from rtmbs.viewer.batch import GROUND, Batch, between
from rtmbs.viewer.description import JointDescription, SceneDescription
from rtmbs.viewer.frame import Frame
from rtmbs.viewer.solids import Placed
from rtmbs.viewer.theme import Color

Array = NDArray[np.float64]

# Sizes in radii of a bar.
PIN_RADIUS, PIN_LENGTH = 1.35, 3.6
BALL_RADIUS, BELT = 1.8, 0.55  # of a ball, and of the ring that holds it
CROSS_RADIUS, CROSS_LENGTH = 0.8, 5.2
SLIDER = np.array([2.6, 2.6, 5.0])  # edges of a slider
SLEEVE_RADIUS, SLEEVE_LENGTH = 1.5, 5.0
PLATE = np.array([9.0, 9.0, 0.5])
WELD = np.array([2.4, 2.4, 2.4])
OVER = 1.08  # a cut joint stands over the symbols of other joints at its place
RAIL_RADIUS, BEYOND = 0.6, 7.0  # of the rod that a slider runs on, and how far it leads past the slider
STAND_WIDTH, STAND_HEIGHT, FLOOR = 2.4, 4.0, np.array([6.4, 6.4, 0.5])  # of a support on ground


def joint_symbol(joint: JointDescription, radius: float) -> list[Placed]:
    """Return what a joint looks like, on its two bodies, for bars of ``radius`` [m]; nothing where it holds nothing."""
    if not joint.holds:
        return []
    radius = OVER * radius if joint.cut else radius
    name = f"{joint.name} ({joint.type}{', cut' if joint.cut else ''})"
    return [part._replace(name=name) for part in SYMBOLS.get(joint.drawn_as, ball)(joint, radius)]


def pin(joint: JointDescription, radius: float) -> Iterator[Placed]:
    yield rod(joint.a, joint.point_a, joint.axes_a[0], PIN_LENGTH * radius, PIN_RADIUS * radius)


def ball(joint: JointDescription, radius: float) -> Iterator[Placed]:
    yield knob(joint.b, joint.point_b, BALL_RADIUS * radius)
    up = joint.axes_a[0] if len(joint.axes_a) else np.array([0.0, 0.0, 1.0])
    yield rod(joint.a, joint.point_a, up, BELT * radius, 1.06 * BALL_RADIUS * radius)


def cross(joint: JointDescription, radius: float) -> Iterator[Placed]:
    """Two pins through one point; each stays with its body."""
    for body, point, axis in ((joint.a, joint.point_a, joint.axes_a[0]), (joint.b, joint.point_b, joint.axes_b[-1])):
        yield rod(body, point, axis, CROSS_LENGTH * radius, CROSS_RADIUS * radius)
    yield knob(joint.a, joint.point_a, 1.2 * radius)


def rail(joint: JointDescription, radius: float) -> Iterator[Placed]:
    yield block(joint.b, joint.point_b, joint.axes_b[0], SLIDER * radius)


def sleeve(joint: JointDescription, radius: float) -> Iterator[Placed]:
    yield rod(joint.b, joint.point_b, joint.axes_b[0], SLEEVE_LENGTH * radius, SLEEVE_RADIUS * radius)


def plate(joint: JointDescription, radius: float) -> Iterator[Placed]:
    """The plane in which it slides, and a ball on it."""
    normal = np.cross(joint.axes_a[0], joint.axes_a[1])
    yield block(joint.a, joint.point_a, normal, PLATE * radius)
    yield knob(joint.b, joint.point_b, 1.2 * radius)


def weld(joint: JointDescription, radius: float) -> Iterator[Placed]:
    yield block(joint.a, joint.point_a, np.array([0.0, 0.0, 1.0]), WELD * radius)


SYMBOLS: dict[str, Callable[[JointDescription, float], Iterator[Placed]]] = {
    "pin": pin,
    "ball": ball,
    "cross": cross,
    "rail": rail,
    "sleeve": sleeve,
    "plate": plate,
    "weld": weld,
}
SLIDING = ("rail", "sleeve")  # that run on a rod


def rod(body: int, middle: Array, axis: Array, length: float, radius: float) -> Placed:
    """Return a cylinder about an axis (3,) through a point (3,), body axes."""
    half = 0.5 * length * axis
    return Placed(meshes.cylinder(), body, between((middle - half)[None], (middle + half)[None], radius)[0])


def block(body: int, middle: Array, axis: Array, size: Array) -> Placed:
    """Return a box whose third edge lies along an axis (3,)."""
    along = between(middle[None], (middle + axis)[None], 1.0)[0]
    return Placed(meshes.cube(), body, np.column_stack([along[:, :3] * size, middle]))


def knob(body: int, middle: Array, radius: float) -> Placed:
    """Return a ball."""
    return Placed(meshes.sphere(), body, np.column_stack([radius * np.eye(3), middle]))


class Rails:
    """The rods that sliders run on; each is as long as its slider has come."""

    def __init__(self, description: SceneDescription, radius: float, color: Color) -> None:
        self._joints = [joint for joint in description.joints if joint.drawn_as in SLIDING and joint.holds]
        self._radius, self._color = radius, color
        self.batch = Batch(meshes.cylinder(), (), (), color, edges=True)

    def show(self, frame: Frame) -> None:
        """Lay every rod from beyond its first point to beyond its slider."""
        if not self._joints:
            return
        starts, ends = [], []
        for joint in self._joints:
            axis = frame.A[joint.a] @ joint.axes_a[0]
            first = frame.r[joint.a] + frame.A[joint.a] @ joint.point_a
            way = float(axis @ (frame.r[joint.b] + frame.A[joint.b] @ joint.point_b - first))
            starts.append(first + (min(way, 0.0) - BEYOND * self._radius) * axis)
            ends.append(first + (max(way, 0.0) + BEYOND * self._radius) * axis)
        self.batch.put(between(np.array(starts), np.array(ends), RAIL_RADIUS * self._radius), self._color)


def supports(description: SceneDescription, radius: float, frame: Frame, up: Array) -> list[Placed]:
    """Return a stand at every place where ground carries a joint, on the side where its body is not."""
    found: dict[tuple[float, ...], Placed] = {}
    slabs: list[Placed] = []
    for joint in description.joints:
        for body, point, other in ((joint.a, joint.point_a, joint.b), (joint.b, joint.point_b, joint.a)):
            place = tuple(np.round(point / radius, 3))
            if body != GROUND or not joint.holds or place in found:
                continue
            center = frame.r[other] + frame.A[other] @ description.bodies[other].center_of_mass
            away = up if float(up @ (center - point)) < 0.0 else -up
            foot = point + STAND_HEIGHT * radius * away
            stand = between(point[None], foot[None], STAND_WIDTH * radius)[0]
            found[place] = Placed(meshes.pyramid(), GROUND, stand, name="ground")
            slabs.append(block(GROUND, foot, away, FLOOR * radius)._replace(name="ground"))
    return [*found.values(), *slabs]
