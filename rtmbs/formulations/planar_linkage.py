"""Planar linkages in angles: every place is a sum of arms at angles, so that all derivatives have closed forms."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Arm(NamedTuple):
    """A vector of ``length`` [m] at the angle ``angles`` . q + ``phase`` [rad]."""

    length: float
    angles: tuple[float, ...]  # (n,)
    phase: float = 0.0


class Place(NamedTuple):
    """A point: ``origin`` (2,) [m] and arms one after the other."""

    origin: tuple[float, float]
    arms: tuple[Arm, ...] = ()


class Link(NamedTuple):
    """A rigid body: mass centre, mass [kg], inertia about it [kg m^2], and its angle as ``angles`` . q."""

    center: Place
    mass: float
    inertia: float
    angles: tuple[float, ...]


class LinearSpring(NamedTuple):
    """A spring between two places: stiffness [N/m] and free length [m]."""

    a: Place
    b: Place
    stiffness: float
    length: float


class PlanarLinkage:
    """A ConstrainedSystem of n angles [rad]: ``loops`` are pairs of places that coincide, two rows each [m].

    ``torques`` (n,) act on the angles [N m], ``gravity`` (2,) on the links [m/s^2].

    >>> rod = Arm(1.0, (1.0,))
    >>> system = PlanarLinkage(1, [Link(Place((0.0, 0.0), (rod,)), 1.0, 0.1, (1.0,))], [])
    """

    def __init__(
        self,
        n: int,
        links: Sequence[Link],
        loops: Sequence[tuple[Place, Place]],
        *,
        springs: Sequence[LinearSpring] = (),
        torques: ArrayLike = 0.0,
        gravity: ArrayLike = (0.0, -9.81),
    ) -> None:
        self.n, self.m, self.springs = n, 2 * len(loops), list(springs)
        self.masses = np.array([link.mass for link in links])
        turning = np.array([link.angles for link in links], np.float64).reshape(-1, n)
        self.rotation = turning.T @ (np.array([link.inertia for link in links])[:, None] * turning)
        self.torques, self.gravity = (
            np.broadcast_to(np.asarray(torques, np.float64), n),
            np.asarray(gravity, np.float64),
        )
        ends = [end for loop in loops for end in loop] + [end for spring in springs for end in (spring.a, spring.b)]
        places = [link.center for link in links] + ends
        arms = [(i, arm) for i, place in enumerate(places) for arm in place.arms]
        self.origins = np.array([place.origin for place in places], np.float64).reshape(-1, 2)
        self.angles = np.array([arm.angles for _, arm in arms], np.float64).reshape(-1, n)
        self.lengths, self.phases = np.array([arm.length for _, arm in arms]), np.array([arm.phase for _, arm in arms])
        self.sums = np.zeros((len(places), len(arms)))
        self.sums[[i for i, _ in arms], range(len(arms))] = 1.0
        first = len(links)
        self.first, self.second = (np.arange(first + k, first + self.m, 2) for k in (0, 1))  # ends of the loops
        self.fixtures = first + self.m

    def arms(self, q: Array) -> tuple[Array, Array]:
        """Return x and y of all arms."""
        angle = self.angles @ q + self.phases
        return self.lengths * np.cos(angle), self.lengths * np.sin(angle)

    def positions(self, q: Array) -> Array:
        """Return all places (k, 2) [m]."""
        x, y = self.arms(q)
        return self.origins + np.stack((self.sums @ x, self.sums @ y), axis=1)

    def jacobians(self, q: Array) -> Array:
        """Return the derivatives of all places (2, k, n)."""
        x, y = self.arms(q)
        return np.stack((self.sums @ (-y[:, None] * self.angles), self.sums @ (x[:, None] * self.angles)))

    def accelerations(self, q: Array, v: Array) -> Array:
        """Return the accelerations (2, k) of all places for dv/dt = 0."""
        (x, y), square = self.arms(q), (self.angles @ v) ** 2
        return np.stack((self.sums @ (-x * square), self.sums @ (-y * square)))

    def mass(self, q: Array, t: float) -> Array:
        """Return M (n, n)."""
        J = self.jacobians(q)[:, : len(self.masses)]
        return np.asarray(np.einsum("dki,k,dkj->ij", J, self.masses, J) + self.rotation)

    def force(self, q: Array, v: Array, t: float) -> Array:
        """Return F (n,)."""
        k, J = len(self.masses), self.jacobians(q)
        push = self.masses * (self.gravity[:, None] - self.accelerations(q, v)[:, :k])
        F = self.torques + np.einsum("dki,dk->i", J[:, :k], push)
        if self.springs:
            places = self.positions(q)
            for i, spring in enumerate(self.springs):
                a, b = self.fixtures + 2 * i, self.fixtures + 2 * i + 1
                way = places[b] - places[a]
                length = float(np.hypot(*way))
                F = F + spring.stiffness * (length - spring.length) / length * way @ (J[:, a] - J[:, b])
        return np.asarray(F)

    def constraints(self, q: Array, t: float) -> Array:
        """Return Phi (m,), x and y of each loop."""
        places = self.positions(q)
        return np.asarray((places[self.first] - places[self.second]).ravel())

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        """Return Phi_q (m, n)."""
        J = self.jacobians(q)
        return np.asarray((J[:, self.first] - J[:, self.second]).transpose(1, 0, 2).reshape(self.m, self.n))

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return Phi_t = 0 and gamma (m,)."""
        a = self.accelerations(q, v)
        return np.zeros(self.m), -np.asarray((a[:, self.first] - a[:, self.second]).T.ravel())
