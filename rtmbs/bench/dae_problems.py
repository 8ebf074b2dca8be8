"""Problems of the bench of methods: a system, a consistent start, an energy, and a reference."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.integrate
from numpy.typing import NDArray

from rtmbs import library
from rtmbs.bench import andrews_system
from rtmbs.dae.driver import integrate
from rtmbs.dae.solve_ivp import SolveIVP
from rtmbs.formulations.consistent import consistent_state
from rtmbs.formulations.contract import ConstrainedSystem, Formulation
from rtmbs.formulations.joint_coordinates import JointCoordinates
from rtmbs.formulations.partitioning import Partitioning
from rtmbs.formulations.qr import QR
from rtmbs.formulations.small_systems import CRANK, GRAVITY, ROD, pendulum, slider_crank
from rtmbs.model import Model

Array = NDArray[np.float64]

FINEST = 1e-13  # relative tolerance of references


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
    system = andrews_system.andrews_system()
    q, v = consistent_state(system, andrews_system.START, np.zeros(7), 0.0)

    def energy(q: Array, v: Array) -> float:
        places, spring = system.positions(q), system.springs[0]
        length = float(np.linalg.norm(places[system.fixtures + 1] - places[system.fixtures]))
        stored = 0.5 * spring.stiffness * (length - spring.length) ** 2
        return float(0.5 * v @ system.mass(q, 0.0) @ v + stored - system.torques @ q)

    steps = (1e-4, 5e-5, 2.5e-5)
    return Problem("andrews", system, q, v, 0.03, steps, energy, lambda: andrews_system.END, "published")


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
        return np.asarray(integrate(system, method, q, v, t_end, t_end).q[-1])

    return reference


PROBLEMS = {
    "pendulum": pendulum_problem,
    "andrews": andrews_problem,
    "slider_crank": slider_crank_problem,
    "fourbar": fourbar_problem,
    "bricard": bricard_problem,
}
