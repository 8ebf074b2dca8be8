"""Arrows of forces and moments in one scale, and the spring of a pull by the mouse."""

import math

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.scene import meshes
from rtmbs.viewer.scene.description import SceneDescription, WrenchDescription
from rtmbs.viewer.scene.drawing import Batch, between
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.numbers import brief
from rtmbs.viewer.scene.theme import Theme, rgba

Array = NDArray[np.float64]

SHAFT, HEAD, HEAD_WIDTH = 0.5, 4.5, 1.5  # radius of a shaft, length and radius of a head, in radii of a bar
MOST_HEAD, MOST_SHAFT = 0.4, 0.05  # the same, in lengths of the arrow, which short ones are drawn with
SECOND_HEAD = 0.7  # where the second head of a moment begins, in lengths of a head behind the first
FULL = 0.6  # length of a full arrow, in characteristic lengths
LEAST = 0.02  # moment at which an arrow is full, in full forces times the characteristic length: noise stays small
SHORTEST, LONGEST = 0.01, 4.0  # an arrow that is drawn, and one that a longer one is cut to, in characteristic lengths
STEPS, NEXT = (1.0, 2.0, 5.0), 2.2  # of a scale, times powers of ten, and a factor that leads to the next one
USUAL = 0.9  # share of the instants whose arrows are at most full
NONE: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)


class Scale:
    """Scale of arrows: the force and the moment of an arrow of one metre.

    At first an arrow as long as most of the mechanism is the weight of all bodies. ``fit`` takes the forces that are
    there instead, until the user has chosen.
    """

    def __init__(self, description: SceneDescription) -> None:
        self.length = description.length  # characteristic one [m]
        gravity = float(np.linalg.norm(description.gravity)) or 9.81
        weight = gravity * sum(body.mass for body in description.bodies)
        self.newtons = rounded(max(weight, 1e-9) / (FULL * self.length))  # [N/m]
        self.moments = rounded(self.newtons * self.length)  # [N m/m]
        self._fitted = False

    def choose(self, newtons: float) -> None:
        """Set the force [N] of an arrow of one metre; moments keep their proportion to forces."""
        self.moments *= newtons / self.newtons
        self.newtons, self._fitted = newtons, True

    def step(self, up: bool) -> None:
        """Take the next larger or smaller round force."""
        self.choose(rounded(self.newtons * (NEXT if up else 1.0 / NEXT)))

    def fit(self, wrenches: Array) -> None:
        """Take the largest of the wrenches (k, 6) as full; once, and not after ``choose``."""
        if self._fitted or not np.any(np.isfinite(wrenches)):
            return
        force, moment = (float(np.nanmax(np.linalg.norm(part, axis=1))) for part in (wrenches[:, :3], wrenches[:, 3:]))
        if force > 0.0:
            self.newtons, self._fitted = rounded(force / (FULL * self.length)), True
            self.moments = rounded(max(moment / (FULL * self.length), LEAST * self.newtons * self.length))

    def sentence(self) -> str:
        """Return the legend."""
        return f"arrows: 1 m is {brief(self.newtons, 'N')}, with two heads {brief(self.moments, 'N m')}"


def typical(wrenches: Array) -> Array:
    """Return the wrenches (k, 6) of the one among S instants (S, k, 6) that a scale fits for all of them.

    Nine of ten instants have no larger force; a few large ones, as near a dead centre, are cut.
    """
    force = np.linalg.norm(wrenches[:, :, :3], axis=2)
    largest = np.max(np.where(np.isfinite(force), force, 0.0), axis=1)
    order = np.argsort(largest, kind="stable")
    return np.asarray(wrenches[order[int(USUAL * (len(order) - 1))]])


def rounded(value: float) -> float:
    """Return the nearest of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return float(min((step * power for step in (*STEPS, 10.0)), key=lambda one: abs(math.log(one / value))))


class Arrows:
    """Arrows of one colour and thickness: a batch of shafts and one of heads."""

    def __init__(self, radius: float, color: str, double: bool = False) -> None:
        self._radius, self._color, self._double = radius, rgba(color), double
        self.batches = [Batch(meshes.cylinder(), (), (), NONE), Batch(meshes.cone(), (), (), NONE)]
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
        acting = np.array([given(one, frame) for one in self._wrenches])
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
        self.batches = [Batch(meshes.coil(), (), (), NONE), Batch(meshes.sphere(), (), (), NONE)]

    def show(self, frame: Frame) -> None:
        """Draw it while a body is pulled."""
        coil, ball = self.batches
        coil.visible = ball.visible = frame.grabbed >= 0 and bool(np.all(np.isfinite(frame.grab_point)))
        if coil.visible:
            ends = np.array([frame.grab_point, frame.grab_target])
            coil.put(between(ends[:1], ends[1:], 1.2 * self._radius), self._color)
            size = 1.6 * self._radius * np.eye(3)
            ball.put(np.array([np.column_stack([size, end]) for end in ends]), self._color)


def given(wrench: WrenchDescription, frame: Frame) -> Array:
    """Return the force and torque (6,) of a given wrench in world axes [N, N m]."""
    numbers = frame.inputs[wrench.slot : wrench.slot + 6]
    if not wrench.follows:
        return numbers
    turn = frame.A[wrench.body] @ wrench.axes
    return np.concatenate((turn @ numbers[:3], turn @ numbers[3:]))
