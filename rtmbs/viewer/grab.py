"""Pull a body by hand: a spring-damper from a point of the body to a point of the world."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.simulation import Simulation
from rtmbs.viewer.commands import Vector

Array = NDArray[np.float64]

FREQUENCY = 2.0  # [Hz] of the mass behind the spring
DAMPING_RATIO = 0.7
REACH = 1.0  # characteristic lengths by which a target may lead its point: caps the pull


@dataclass(frozen=True)
class Hold:
    """A grab that lasts."""

    body: str
    point: Vector  # body axes [m]
    target: Vector  # world, as asked for [m]
    stiffness: float  # [N/m]
    damping: float  # [N s/m]

    def moved(self, target: Vector) -> "Hold":
        """Return the same hold with another target."""
        return replace(self, target=vector("target", target))


def take_hold(sim: Simulation, body: str, point: Vector, target: Vector) -> Hold:
    """Return the hold of a body; UnknownNameError for a body that does not exist, InputError for ground."""
    names = list(sim.system.bodies)
    if body not in names:
        raise unknown_name("body", body, names)
    if body == names[0]:
        raise InputError(f"body {body!r} stands still; grab another one")
    mass = pulled_mass(sim, body)
    omega = 2.0 * math.pi * FREQUENCY
    return Hold(
        body, vector("point", point), vector("target", target), mass * omega**2, 2.0 * DAMPING_RATIO * mass * omega
    )


def pulled_mass(sim: Simulation, body: str) -> float:
    """Return the mass that a pull at ``body`` has to move: its own and that of all bodies its step carries [kg]."""
    system = sim.system
    step, parent = system.bodies[body].step, system.tables.steps.parent
    carried = 0.0
    for record in list(system.bodies.values())[1:]:
        above = record.step
        while above > step:
            above = int(parent[above])
        if above == step:
            carried += record.mass
    return carried or 1.0


def reach(sim: Simulation, hold: Hold, point: Array) -> Array:
    """Return the target (3,) that pulls at ``point`` (3,): as asked for, but never further away than the reach [m]."""
    target = np.array(hold.target)
    gap = float(np.linalg.norm(target - point))
    most = REACH * sim.system.length
    return target if gap <= most else point + (target - point) * (most / gap)


def vector(what: str, value: Vector) -> Vector:
    """Return three finite numbers; InputError otherwise."""
    numbers = np.asarray(value, float)
    if numbers.shape != (3,) or not np.all(np.isfinite(numbers)):
        raise InputError(f"{what} of a grab is {value!r}; it must be three finite numbers")
    x, y, z = numbers.tolist()
    return (x, y, z)


def pull(sim: Simulation, hold: Hold | None) -> None:
    """Make ``hold`` act in the steps to come; None lets go."""
    if hold is not None:
        raise InputError("this version cannot pull a body yet")
