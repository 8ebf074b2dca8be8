"""Shapes that only contacts have, half space and ellipsoid, and force laws of touching pairs.

Pairs are balls, corners, rims and ellipsoids on a plane, a ball on a box, and rounded segments. A law stands between
marker a of the first shape and marker b of the second. It returns the wrench on b at b's marker, in axes of a, and the
rates of the bristle where there is friction. Where either shape may be the first, the force acts midway between the
nearest points, and bristles turn with the mean of both bodies. So both orders give one force.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rtmbs.contact.friction import RELAXES, TINY, DryFriction, inner
from rtmbs.contact.normal_force import NormalForce
from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, direction, numbers, rotation
from rtmbs.model.forces import Kinematics


@dataclass(frozen=True, eq=False)
class Plane:
    """Half space of a body, or of ground: solid below ``point`` against ``normal``.

    Parameters
    ----------
    point : ndarray, default (0.0, 0.0, 0.0)
        Point (3,) of the plane in body axes [m].
    normal : ndarray, default (0.0, 0.0, 1.0)
        Direction (3,) out of the half space in body axes.

    Raises
    ------
    ModelError
        For a point or normal that is no vector.

    Examples
    --------
    >>> floor = rtmbs.contact.Plane()
    >>> ramp = rtmbs.contact.Plane(normal=(0.5, 0.0, 1.0))
    """

    point: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    normal: Array = (0.0, 0.0, 1.0)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "point": numbers(self.point, "Plane: point", (3,)),
            "normal": direction(self.normal, "Plane: normal"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Ellipsoid of a body.

    Parameters
    ----------
    half_axes : ndarray
        Half axes (3,) [m].
    center : ndarray, default (0.0, 0.0, 0.0)
        Centre (3,) in body axes [m].
    axes : ndarray, optional
        Rotation (3, 3) from axes of the ellipsoid to body axes; body axes unless given.

    Raises
    ------
    ModelError
        For half axes that are not above zero.

    Examples
    --------
    >>> egg = rtmbs.contact.Ellipsoid((0.03, 0.03, 0.04))
    """

    half_axes: Array
    center: Array = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    axes: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        half = numbers(self.half_axes, "Ellipsoid: half_axes", (3,))
        if not np.min(half) > 0.0:
            raise ModelError(f"Ellipsoid: half_axes has {np.min(half):g}; it must be above zero")
        checked: dict[str, Any] = {
            "half_axes": half,
            "center": numbers(self.center, "Ellipsoid: center", (3,)),
            "axes": np.eye(3) if self.axes is None else np.array(rotation(self.axes, "Ellipsoid: axes")),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)


BRISTLE = ("bristle_x", "bristle_y", "bristle_z")  # deflections in axes of a [m]
PARALLEL = 1e-9  # share of the squares of the ways along two bars that counts beside their distance
CROWN = 1e-3  # [rad] tilt over which the lowest point of a rim moves from the centre outwards


class Touch(NamedTuple):
    """The nearest points of two shapes, in axes of a."""

    normal: Any  # (3,) towards b
    gap: Any  # [m] below zero where they overlap
    arm: Any  # (3,) from marker b to the point where the force acts [m]

    def midway(self) -> "Touch":
        """Return the touch of a force that acts midway between the points, for an arm to the point of b."""
        return self._replace(arm=[x - 0.5 * self.gap * n for x, n in zip(self.arm, self.normal, strict=True)])

    def rate(self, kinematics: Kinematics) -> list[Any]:
        """Return the velocity (3,) of b as a sees it, where the force acts [m/s]."""
        v, w = kinematics.v, kinematics.w
        return [vk + xk for vk, xk in zip((v[0], v[1], v[2]), cross(w, self.arm), strict=True)]


class TouchLaw:
    """Law of a pair of shapes that touch at one point, with three bristles where there is friction."""

    normal: NormalForce
    friction: DryFriction | None
    settling_states: ClassVar[tuple[str, ...]] = BRISTLE
    nonnegative_inputs: ClassVar[tuple[str, ...]] = ("friction",)
    either_first: ClassVar[bool] = False  # whether both orders of the shapes have this law

    def spans(self) -> tuple[float, float, float] | None:
        """Return how far the shapes reach from markers a and b, and what the thinner one is thick with the other [m].

        A motion that is longer may carry one through the other. None: that cannot be, as through a half space.
        """
        return None

    def touch(self, kinematics: Kinematics) -> Touch:
        """Return where the shapes are nearest."""
        raise NotImplementedError

    def touch_with(self, kinematics: Kinematics, parameters: Any) -> Touch:
        """Return where the shapes are nearest; ``parameters`` are the inputs of the law."""
        return self.touch(kinematics)

    def __call__(self, t: float, kinematics: Kinematics, parameters: Any, states: Any = None) -> Any:
        """Return force and moment on b [N, N m], and the rates of three bristles [m/s]."""
        touch = self.touch_with(kinematics, parameters)
        n, arm, point = touch.normal, touch.arm, touch.rate(kinematics)
        leaving = inner(point, n)
        N = self.normal(-touch.gap, -leaving)
        if self.friction is None:
            force = [N * x for x in n]
            return np.stack(force), np.stack(cross(arm, force))
        s = [states[name] for name in BRISTLE]
        out = inner(s, n)
        flat = [x - out * k for x, k in zip(s, n, strict=True)]
        slides = [x - leaving * k for x, k in zip(point, n, strict=True)]
        tangential, rates = self.friction(flat, slides, parameters["friction"] * N)
        force = [N * k + one for k, one in zip(n, tangential, strict=True)]
        back = out * (out * out / (out * out + TINY**2)) / RELAXES  # into the tangent plane, slower than powers of e
        turned = [rate - back * k for rate, k in zip(rates, n, strict=True)]
        if self.either_first:
            turned = [x + 0.5 * y for x, y in zip(turned, cross(kinematics.w, s), strict=True)]
        moment = cross(arm, force)
        return (np.stack(force), np.stack(moment)), np.stack(turned)


@dataclass(frozen=True)
class BallOnPlane(TouchLaw):
    """A ball of ``radius`` [m] about marker b, a corner with 0, above the plane through marker a, z its normal."""

    radius: float
    normal: NormalForce
    friction: DryFriction | None

    def touch(self, kinematics: Kinematics) -> Touch:
        """Return where the shapes are nearest."""
        nothing = 0.0 * kinematics.r[2]
        up, down = nothing + 1.0, nothing - self.radius
        return Touch([nothing, nothing, up], kinematics.r[2] - self.radius, [nothing, nothing, down])

    def __call__(self, t: float, kinematics: Kinematics, parameters: Any, states: Any = None) -> Any:
        """Return force and moment on b [N, N m], and the rates of two bristles [m/s]."""
        v, w, below = kinematics.v, kinematics.w, self.radius
        depth = below - kinematics.r[2]
        N = self.normal(depth, -v[2])
        if self.friction is None:
            return np.stack((0.0 * N, 0.0 * N, N)), np.zeros(3)
        slides = (v[0] - below * w[1], v[1] + below * w[0])
        s = [states[name] for name in BRISTLE[:2]]
        (fx, fy), rates = self.friction(s, slides, parameters["friction"] * N)
        force, moment = np.stack((fx, fy, N)), np.stack((below * fy, -below * fx, 0.0 * N))
        return (force, moment), np.stack(rates)


@dataclass(frozen=True)
class RimOnPlane(TouchLaw):
    """A circle of ``radius`` [m] about marker b, z its axis, above the plane through marker a, z its normal.

    Its lowest point touches. It moves to the centre as the axis becomes the normal, over CROWN of tilt: the face of a
    cylinder counts as slightly crowned, for a flat one has no single lowest point.
    """

    radius: float
    normal: NormalForce
    friction: DryFriction | None

    def touch(self, kinematics: Kinematics) -> Touch:
        """Return where the shapes are nearest."""
        u = [kinematics.R[k, 2] for k in range(3)]
        flat = [-u[2] * u[0], -u[2] * u[1], u[0] * u[0] + u[1] * u[1]]  # the normal, less its part along the axis
        square = inner(flat, flat)
        size = np.sqrt(square + CROWN**2)
        reach = self.radius * (square + 2.0 * CROWN**2) / size**3  # of the tilt, so that the moment is the gap's slope
        arm = [-reach * flat[0], -reach * flat[1], -self.radius * flat[2] / size]
        n = [0.0 * u[0], 0.0 * u[0], 1.0 + 0.0 * u[0]]
        return Touch(n, kinematics.r[2] + arm[2], arm)


@dataclass(frozen=True)
class EllipsoidOnPlane(TouchLaw):
    """An ellipsoid of half axes ``half`` [m] about marker b, in its axes, above the plane through marker a."""

    half: tuple[float, float, float]
    normal: NormalForce
    friction: DryFriction | None

    def touch(self, kinematics: Kinematics) -> Touch:
        """Return where the shapes are nearest."""
        R = kinematics.R
        down = [h * R[2, k] for k, h in enumerate(self.half)]
        reach = np.sqrt(inner(down, down))
        lowest = [-h * one / reach for h, one in zip(self.half, down, strict=True)]  # in axes of b
        arm = [R[k, 0] * lowest[0] + R[k, 1] * lowest[1] + R[k, 2] * lowest[2] for k in range(3)]
        n = [0.0 * reach, 0.0 * reach, 1.0 + 0.0 * reach]
        return Touch(n, kinematics.r[2] - reach, arm)


@dataclass(frozen=True)
class BallOnBox(TouchLaw):
    """A ball of ``radius`` [m] about marker b and a box with half edges ``half`` [m] about marker a, in its axes."""

    radius: float
    half: tuple[float, float, float]
    normal: NormalForce
    friction: DryFriction | None

    def spans(self) -> tuple[float, float, float]:
        """Return how far the shapes reach from their markers, and the half edge and radius that touch [m]."""
        return float(np.linalg.norm(self.half)), self.radius, min(self.half) + self.radius

    def touch(self, kinematics: Kinematics) -> Touch:
        """Return where the shapes are nearest."""
        r = [kinematics.r[k] for k in range(3)]
        nearest = [np.minimum(np.maximum(x, -h), h) for x, h in zip(r, self.half, strict=True)]
        away = [x - y for x, y in zip(r, nearest, strict=True)]
        distance = np.sqrt(inner(away, away) + TINY**2)
        inside = [h - np.where(x < 0.0, -x, x) for x, h in zip(r, self.half, strict=True)]  # depths of the centre
        deepest = np.minimum(np.minimum(inside[0], inside[1]), inside[2])
        faces: list[Any] = []  # one face of a centre within the box: the nearest
        left: Any = 1.0
        for x, depth in zip(r, inside, strict=True):
            chosen = left * np.where(depth <= deepest, 1.0, 0.0)
            left = left - chosen
            faces.append(chosen * np.where(x < 0.0, -1.0, 1.0))
        within = deepest > 0.0
        n = [np.where(within, face, x / distance) for face, x in zip(faces, away, strict=True)]
        gap = np.where(within, -deepest, distance) - self.radius
        arm = [-self.radius * one for one in n]
        return Touch(n, gap, arm)


@dataclass(frozen=True)
class Segments(TouchLaw):
    """Two balls or bars: segments of ``half`` lengths along z about the markers a and b, with ``radii`` [m]."""

    half: tuple[float, float]
    radii: tuple[float, float]
    normal: NormalForce
    friction: DryFriction | None
    either_first: ClassVar[bool] = True

    def spans(self) -> tuple[float, float, float]:
        """Return how far the shapes reach from their markers, and the sum of their radii [m]."""
        (one, other), (radius, second) = self.half, self.radii
        return one + radius, other + second, radius + second

    def touch(self, kinematics: Kinematics) -> Touch:
        """Return where the shapes are nearest."""
        r, u, soft = kinematics.r, kinematics.R[:, 2], self.softness
        along_a, along_b = self.nearest(r, u)
        away = (r[0] + along_b * u[0], r[1] + along_b * u[1], r[2] + along_b * u[2] - along_a)
        distance = np.sqrt(inner(away, away) + soft * (along_a**2 + along_b**2) + TINY**2)  # least where the ways are
        n = [x / distance for x in away]
        arm = [along_b * u[k] - self.radii[1] * n[k] for k in range(3)]
        return Touch(n, distance - sum(self.radii), arm).midway()

    @property
    def softness(self) -> float:
        """Share of the squares of the ways that counts as distance: none beside a ball, whose nearest point is one."""
        return PARALLEL if min(self.half) > 0.0 else 0.0

    def nearest(self, r: Any, u: Any) -> tuple[Any, Any]:
        """Return where on the axes of a and b their nearest points lie [m], from the markers.

        Of points of parallel axes, those nearest both middles are taken: PARALLEL of their squares counts as distance.
        """
        (of_a, of_b), b, stiff = self.half, u[2], 1.0 + self.softness
        if of_a == 0.0 and of_b == 0.0:
            return 0.0, 0.0
        if of_b == 0.0:
            return clipped(r[2], of_a), 0.0
        across = r[0] * u[0] + r[1] * u[1] + r[2] * u[2]
        if of_a == 0.0:
            return 0.0, clipped(-across, of_b)
        on_b = clipped((b * r[2] - stiff * across) / (stiff * stiff - b * b), of_b)
        on_a = clipped((r[2] + on_b * b) / stiff, of_a)
        return on_a, clipped((on_a * b - across) / stiff, of_b)


def clipped(x: Any, bound: float) -> Any:
    """Return x between -bound and bound."""
    return np.minimum(np.maximum(x, -bound), bound)


def cross(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Return the cross product of two vectors."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
