"""Motion of bodies over the samples, and of one body relative to another; world axes, SI units."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.evaluation import DofMotion, Evaluation
from rtmbs.system.origins import WORLD
from rtmbs.system.system import BodyInfo

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BodyMotion:
    """Pose, velocity and acceleration of one body over S samples."""

    orientation: Array  # (S, 3, 3) body to world
    origin: Array  # (S, 3) from the origin of its part, as all places here [m]
    dof: DofMotion

    @property
    def omega(self) -> Array:
        """Angular velocity (S, 3) [rad/s]."""
        return np.asarray(self.dof.V[:, 3:])

    @property
    def alpha(self) -> Array:
        """Angular acceleration (S, 3) [rad/s^2]."""
        return np.asarray(self.dof.acc[:, 3:])

    def point(self, local: Array) -> Array:
        """Return the places (S, 3) of a point (3,) of body axes, from the origin of its part [m]."""
        return np.asarray(self.origin + self.orientation @ local)

    def in_world(self, x: Array) -> Array:
        """Return a place ``x`` (S, 3) from the world's origin [m]."""
        return np.asarray(x + self.dof.o)

    def velocity(self, x: Array) -> Array:
        """Return the velocity (S, 3) of the body's point at ``x`` (S, 3) [m/s]."""
        return np.asarray(self.dof.V[:, :3] + cross(self.omega, x))

    def acceleration(self, x: Array) -> Array:
        """Return the acceleration (S, 3) of the body's point at ``x`` (S, 3) [m/s^2].

        Rows of ``acc`` are the plain derivative of V in a world that accelerates with -g (METHODS 1.1).
        """
        swept = self.dof.acc[:, :3] + self.dof.g + cross(self.alpha, x)
        return np.asarray(swept + cross(self.omega, self.velocity(x)))


def body_motion(resampled: Evaluation, body: BodyInfo, ground: int = WORLD) -> BodyMotion:
    """Return the motion of a body; of one that stands still as seen from the origin of the row ``ground``.

    The last one is kept, for channels of one body are mostly asked for one after the other.
    """
    key = (id(body), ground)
    if resampled.last_body is None or resampled.last_body[0] != key:
        dof = resampled.motion(body.dof if body.dof >= 0 else ground)
        resampled.last_body = key, BodyMotion(dof.A @ body.rotation, dof.r + dof.A @ body.position, dof)
    motion: BodyMotion = resampled.last_body[1]
    return motion


@dataclass(frozen=True)
class RelativeMotion:
    """Motion of body b seen from body a, at a point of each."""

    a: BodyMotion
    b: BodyMotion
    point_a: Array  # (3,) body axes of a [m]
    point_b: Array  # (3,) body axes of b [m]

    @cached_property
    def distance(self) -> tuple[Array, Array, Array]:
        """Way from the point of a to that of b with first and second derivative as a sees them, world axes (S, 3).

        With D the distance, D' its derivative and w, w' the rotation of a: first D' - w x D, second
        D'' - w' x D - w x (w x D) - 2 w x (D' - w x D).
        """
        xa, xb = self.a.point(self.point_a), self.b.point(self.point_b)
        D = xb - xa
        w = self.a.omega
        first = self.b.velocity(xb) - self.a.velocity(xa) - cross(w, D)
        second = self.b.acceleration(xb) - self.a.acceleration(xa)
        second = second - cross(self.a.alpha, D) - cross(w, cross(w, D)) - 2.0 * cross(w, first)
        return D, first, second

    @property
    def omega(self) -> Array:
        """Angular velocity of b relative to a (S, 3), world axes [rad/s]."""
        return self.b.omega - self.a.omega

    @property
    def alpha(self) -> Array:
        """Derivative of ``omega`` (S, 3), world axes [rad/s^2]."""
        return self.b.alpha - self.a.alpha

    def slide(self, axis: Array) -> tuple[Array, Array, Array]:
        """Displacement along an axis of body a (3,), with rate and acceleration (S,)."""
        u = self.a.orientation @ axis
        D, first, second = self.distance
        return dot(u, D), dot(u, first), dot(u, second)

    def spin(self, axis: Array, carrier: BodyMotion) -> tuple[Array, Array]:
        """Rate and acceleration (S,) of the turn about an ``axis`` (3,) in axes of its ``carrier``, a or b."""
        u = carrier.orientation @ axis
        return dot(u, self.omega), dot(u, self.alpha) + dot(cross(carrier.omega, u), self.omega)

    def seen_by_b(self) -> tuple[Array, Array]:
        """Angular velocity of b relative to a in axes of b, and its derivative (S, 3)."""
        back = np.swapaxes(self.b.orientation, 1, 2)
        second = self.alpha - cross(self.b.omega, self.omega)
        return turned(back, self.omega), turned(back, second)


def cross(x: Array, y: Array) -> Array:
    """Return the vector products (S, 3) of vectors (S, 3); np.cross takes three times as long for few samples."""
    out = np.empty(x.shape)
    for k, i, j in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[:, k] = x[:, i] * y[:, j] - x[:, j] * y[:, i]
    return out


def dot(x: Array, y: Array) -> Array:
    """Return the products (S,) of vectors (S, 3)."""
    return np.asarray(np.einsum("sk,sk->s", x, y))


def turned(R: Array, x: Array) -> Array:
    """Return R x (S, 3) for rotations (S, 3, 3)."""
    return np.asarray(np.einsum("skl,sl->sk", R, x))


def unwrap(angle: Array, rate: Array, t: Array) -> Array:
    """Return angles (S,) without jumps of whole turns: each takes the turn nearest to its extrapolation by rates."""
    expected = 0.5 * (rate[1:] + rate[:-1]) * np.diff(t)
    turns = np.round((expected - np.diff(angle)) / (2.0 * np.pi))
    return angle + 2.0 * np.pi * np.concatenate(([0.0], np.cumsum(turns)))
