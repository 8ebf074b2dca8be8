"""Problems for the comparison of methods of time: system, consistent start, energy and reference solution.

Andrews' squeezer in the seven angles of the test set for initial value problems, with six loop equations and forces in
closed form; random planar linkages for campaigns; pendulum, slider-crank, four-bar and Bricard mechanism.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi

import numpy as np
import scipy.integrate
from numpy.typing import NDArray

from rtmbs import library
from rtmbs.dae.driver import integrate
from rtmbs.dae.solve_ivp import SolveIVP
from rtmbs.formulations.consistent import consistent_state
from rtmbs.formulations.contract import ConstrainedSystem, Formulation
from rtmbs.formulations.joint_coordinates import JointCoordinates
from rtmbs.formulations.partitioning import Partitioning
from rtmbs.formulations.planar_linkage import Arm, LinearSpring, Link, Place, PlanarLinkage
from rtmbs.formulations.qr import QR
from rtmbs.formulations.small_systems import CRANK, GRAVITY, ROD, pendulum, slider_crank
from rtmbs.library.andrews import (
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
