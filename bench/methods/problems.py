"""Problems for the comparison of methods of time: system, consistent start, energy and reference solution.

``PlanarLinkage`` has all derivatives in closed form, since every place is a sum of arms at angles. Andrews' squeezer is
one, in the seven angles of the test set for initial value problems, with six loop equations; so are random linkages of
campaigns. Further problems are pendulum, slider-crank, four-bar and Bricard mechanism.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi
from typing import NamedTuple

import numpy as np
import scipy.integrate
from numpy.typing import ArrayLike, NDArray

from rtmbs import library
from rtmbs.dae.driver import integrate
from rtmbs.dae.solve_ivp import SolveIVP
from rtmbs.formulations.consistent import consistent_state
from rtmbs.formulations.contract import ConstrainedSystem, Formulation
from rtmbs.formulations.function_system import CRANK, GRAVITY, ROD, pendulum, slider_crank
from rtmbs.formulations.joint_coordinates import JointCoordinates
from rtmbs.formulations.null_space import QR
from rtmbs.formulations.partitioning import Partitioning
from rtmbs.library.benchmarks import (
    BETA,
    D_,
    DA,
    DELTA,
    E_,
    EA,
    EPSILON,
    FA,
    GAMMA,
    MASS,
    MOMENT,
    OMEGA,
    PHI,
    RA,
    RR,
    SA,
    SB,
    SC,
    SD,
    SPRING_LENGTH,
    SPRING_STIFFNESS,
    SS,
    TA,
    TB,
    THETA,
    TORQUE,
    UA,
    UB,
    ZF,
    ZT,
    A,
    B,
    C,
    U,
)
from rtmbs.model import Model

Array = NDArray[np.float64]
FINEST = 1e-13  # relative tolerance of references

ANGLES = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
ANDREWS_START = np.array([BETA, THETA, GAMMA, PHI, DELTA, OMEGA, EPSILON])
ANDREWS_END = np.array(  # at t = 0.03 s, from the test set
    [
        15.81077119629904,
        -15.75637105984298,
        0.04082224013073101,
        -0.5347301163226948,
        0.5244099658805304,
        0.5347301163226948,
        1.048080741042263,
    ]
)
RIGHT_ANGLE = pi / 2


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
        self.last: tuple[bytes, tuple[Array, Array, Array]] = b"", (np.zeros(0), np.zeros(0), np.zeros((2, 0, 0)))

    def arms(self, q: Array) -> tuple[Array, Array]:
        """Return x and y of all arms."""
        return self.at(q)[:2]

    def at(self, q: Array) -> tuple[Array, Array, Array]:
        """Return x and y of all arms and the derivatives of all places (2, k, n), kept for the last q."""
        key = q.tobytes()
        if key != self.last[0]:
            angle = self.angles @ q + self.phases
            x, y = self.lengths * np.cos(angle), self.lengths * np.sin(angle)
            J = np.stack((self.sums @ (-y[:, None] * self.angles), self.sums @ (x[:, None] * self.angles)))
            self.last = key, (x, y, J)
        return self.last[1]

    def positions(self, q: Array) -> Array:
        """Return all places (k, 2) [m]."""
        x, y = self.arms(q)
        return self.origins + np.stack((self.sums @ x, self.sums @ y), axis=1)

    def jacobians(self, q: Array) -> Array:
        """Return the derivatives of all places (2, k, n)."""
        return self.at(q)[2]

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


@dataclass(frozen=True)
class Problem:
    """A motion to ``t_end`` [s] that methods are compared on; ``steps`` [s] from coarse to fine."""

    name: str
    system: ConstrainedSystem
    q: Array  # (n,)
    v: Array  # (n,)
    t_end: float
    steps: tuple[float, ...]
    energy: Callable[[Array, Array], float]
    reference: Callable[[], Array]  # q (n,) at t_end
    source: str
    redundant: bool = False


def pendulum_problem() -> Problem:
    """Return the pendulum from (0.6, -0.8) m with 3 m/s; the reference is the equation of its angle."""
    system = pendulum()
    q, v = np.array([0.6, -0.8]), np.array([2.4, 1.8])

    def rates(t: float, y: Array) -> list[float]:
        return [y[1], -GRAVITY * np.sin(y[0])]

    def reference() -> Array:
        start = [np.arctan2(0.6, 0.8), 3.0]
        found = scipy.integrate.solve_ivp(rates, (0.0, 2.0), start, "DOP853", rtol=FINEST, atol=1e-14)
        return np.array([np.sin(found.y[0, -1]), -np.cos(found.y[0, -1])])

    def energy(q: Array, v: Array) -> float:
        return float(0.5 * v @ v + GRAVITY * q[1])

    return Problem("pendulum", system, q, v, 2.0, (0.02, 0.01, 0.005), energy, reference, "the equation of the angle")


def slider_crank_problem() -> Problem:
    """Return the planar slider-crank of functions, crank at 0.7 rad with 6 rad/s."""
    system, crank = slider_crank(), 0.7
    rod = -np.arcsin(CRANK * np.sin(crank) / ROD)
    x, y, half = CRANK * np.cos(crank), CRANK * np.sin(crank), (ROD / 2 * np.cos(rod), ROD / 2 * np.sin(rod))
    q = np.array([crank, x + half[0], y + half[1], rod, x + 2.0 * half[0]])
    q, v = consistent_state(system, q, np.array([6.0, 0.0, 0.0, 0.0, 0.0]), 0.0)

    def energy(q: Array, v: Array) -> float:
        return float(0.5 * v @ system.mass(q, 0.0) @ v + 0.5 * GRAVITY * q[2])

    return Problem(
        "slider_crank", system, q, v, 1.0, (0.01, 0.005, 0.0025), energy, fine(system, q, v, 1.0), "DOP853, partitioned"
    )


def andrews_problem() -> Problem:
    """Return Andrews' squeezer to 0.03 s."""
    system = andrews_system()
    q, v = consistent_state(system, ANDREWS_START, np.zeros(7), 0.0)

    def energy(q: Array, v: Array) -> float:
        places, spring = system.positions(q), system.springs[0]
        length = float(np.linalg.norm(places[system.fixtures + 1] - places[system.fixtures]))
        stored = 0.5 * spring.stiffness * (length - spring.length) ** 2
        return float(0.5 * v @ system.mass(q, 0.0) @ v + stored - system.torques @ q)

    steps = (1e-4, 5e-5, 2.5e-5)
    return Problem("andrews", system, q, v, 0.03, steps, energy, lambda: ANDREWS_END, "published")


def fourbar_problem() -> Problem:
    """Return the parallelogram four-bar of the library in joint coordinates."""
    model = library.build("fourbar", ny=1, nz=1, closure="line")
    return in_joints("fourbar", model, 30.0, 2.0, Partitioning(), "DOP853, partitioned")


def bricard_problem() -> Problem:
    """Return the Bricard mechanism in joint coordinates; one of five rows is redundant. To 1 s from rest."""
    return in_joints("bricard", library.build("bricard"), 1.0, 1.0, QR(), "DOP853, QR", redundant=True)


def in_joints(
    name: str, model: Model, fast: float, t_end: float, formulation: Formulation, source: str, redundant: bool = False
) -> Problem:
    """Return the motion of a model in joint coordinates from its reference pose, with ``fast`` times its rates."""
    system = JointCoordinates(model.compile())
    compiled = system.equations.compiled
    q, v = consistent_state(system, compiled.z0, fast * compiled.zd0, 0.0)
    reference = fine(system, q, v, t_end, formulation)
    return Problem(name, system, q, v, t_end, (0.02, 0.01, 0.005), energy_of(system), reference, source, redundant)


def energy_of(system: JointCoordinates) -> Callable[[Array, Array], float]:
    """Return the sum of kinetic, gravity and elastic energy [J]."""
    return lambda q, v: float(sum(system.equations.energies(q, v, system.R0)))


def fine(
    system: ConstrainedSystem, q: Array, v: Array, t_end: float, formulation: Formulation | None = None
) -> Callable[[], Array]:
    """Return a function that integrates the reduced equations with the finest tolerance."""

    def reference() -> Array:
        method = SolveIVP("DOP853", formulation or Partitioning(), rtol=FINEST, atol=1e-14)
        return np.asarray(integrate(system, method, q, v, t_end, t_end)["q"][-1])

    return reference


PROBLEMS = {
    "pendulum": pendulum_problem,
    "andrews": andrews_problem,
    "slider_crank": slider_crank_problem,
    "fourbar": fourbar_problem,
    "bricard": bricard_problem,
}


def along(*names: str) -> tuple[float, ...]:
    """Return the row that adds these angles."""
    return tuple(float(name in names) for name in ANGLES)


def andrews_system() -> PlanarLinkage:
    """Return the mechanism without gravity. Arms are at angles from x: (sin a, -cos a) is the arm at a - 90 degrees."""
    b, g = along("beta"), along("gamma")
    bt, pd, oe = along("beta", "Theta"), along("Phi", "delta"), along("Omega", "epsilon")
    de, ep, origin = along("delta"), along("epsilon"), (0.0, 0.0)
    crank = Arm(RR, b)
    e3 = Place(B, (Arm(SS, g, -RIGHT_ANGLE),))
    e2 = Place(origin, (crank, Arm(-D_, bt)))
    e4 = Place(A, (Arm(ZT, de), Arm(E_, pd, -RIGHT_ANGLE)))
    e6 = Place(A, (Arm(U, ep, -RIGHT_ANGLE), Arm(ZF, oe)))
    centers = (
        Place(origin, (Arm(RA, b),)),
        Place(origin, (crank, Arm(-DA, bt))),
        Place(B, (Arm(SA, g, -RIGHT_ANGLE), Arm(SB, g))),
        Place(A, (Arm(ZT, de), Arm(E_ - EA, pd, -RIGHT_ANGLE))),
        Place(A, (Arm(TA, de), Arm(TB, de, RIGHT_ANGLE))),
        Place(A, (Arm(U, ep, -RIGHT_ANGLE), Arm(ZF - FA, oe))),
        Place(A, (Arm(UA, ep, -RIGHT_ANGLE), Arm(-UB, ep))),
    )
    rows = (b, bt, g, pd, de, oe, ep)
    links = [Link(*parts) for parts in zip(centers, MASS, MOMENT, rows, strict=True)]
    spring = LinearSpring(Place(B, (Arm(SC, g, -RIGHT_ANGLE), Arm(SD, g))), Place(C), SPRING_STIFFNESS, SPRING_LENGTH)
    torques = TORQUE * np.array(b)
    return PlanarLinkage(
        7, links, [(e2, e3), (e4, e3), (e6, e3)], springs=[spring], torques=torques, gravity=(0.0, 0.0)
    )


def random_linkage(seed: int) -> tuple[PlanarLinkage, Array, Array]:
    """Return a linkage with consistent positions and rates; the same seed gives the same linkage.

    Lengths are 0.2 to 1 m, masses 0.1 to 10 kg, rates about 2 rad/s, gravity 9.81 m/s^2. The first loop joins ground to
    ground; the second one, in half of the linkages, leads from an inner joint of the first to ground.
    """
    rng = np.random.default_rng(seed)
    first = int(rng.integers(3, 6))
    second = int(rng.integers(2, 4)) if rng.random() < 0.5 else 0
    n = first + second
    rows = [tuple(map(float, row)) for row in np.eye(n)]
    lengths, masses = rng.uniform(0.2, 1.0, n), 10.0 ** rng.uniform(-1.0, 1.0, n)
    arms = [Arm(float(length), row) for length, row in zip(lengths, rows, strict=True)]
    q = rng.uniform(-np.pi, np.pi, n)
    foot = int(rng.integers(1, first))  # links of the first loop below the joint that the second one begins at
    chains = [tuple(arms[:first]), (*arms[:foot], *arms[first:])][: 2 if second else 1]
    links = []
    for i in range(n):
        below = arms[:i] if i < first else [*arms[:foot], *arms[first:i]]
        half = Arm(0.5 * arms[i].length, rows[i])
        links.append(Link(Place((0.0, 0.0), (*below, half)), masses[i], masses[i] * lengths[i] ** 2 / 12.0, rows[i]))
    loops = []
    for chain in chains:
        x = sum(arm.length * np.cos(np.dot(arm.angles, q)) for arm in chain)
        y = sum(arm.length * np.sin(np.dot(arm.angles, q)) for arm in chain)
        loops.append((Place((0.0, 0.0), chain), Place((float(x), float(y)))))
    system = PlanarLinkage(n, links, loops)
    return system, *consistent_state(system, q, 2.0 * rng.normal(size=n), 0.0)
