"""Pull a body by hand: a spring-damper from a point of the body to a point of the world, with its exact derivative.

The hand is a force law that a session adds to its model before compiling. ``Simulation.attach`` moves it from body to
body, and what it pulls with stands in inputs, so a pull is part of the State and of the history like any other input.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.library.force_laws import point_spring
from rtmbs.model import Model
from rtmbs.simulation import Simulation
from rtmbs.system.system import System
from rtmbs.viewer.commands import Vector

Array = NDArray[np.float64]

HAND = "hand"
OPEN = {"stiffness": 0.0, "damping": 0.0}  # what a hand pulls with that holds nothing
PARAMETERS: Mapping[str, Any] = {"target": (0.0, 0.0, 0.0), **OPEN, "limit": 0.0}
FREQUENCY = 2.0  # [Hz] of the mass behind the spring
DAMPING_RATIO = 0.7
REACH = 1.0  # characteristic lengths by which a target may lead its point before the pull stops growing


@dataclass(frozen=True)
class Grip:
    """Where a hand is attached, whether it pulls or not."""

    body: str
    point: Vector  # body axes [m]


@dataclass(frozen=True)
class Hold:
    """A grab that lasts."""

    grip: Grip
    target: Vector  # world [m]
    stiffness: float  # [N/m]
    damping: float  # [N s/m]
    limit: float  # of the elastic pull [N]

    def moved(self, target: Vector) -> "Hold":
        """Return the same hold with another target; InputError for one that is no point."""
        return replace(self, target=vector("target", target))

    def force(self, point: Array) -> float:
        """Return the elastic pull when the point that is held stands at ``point`` (3,) [N]."""
        return min(self.stiffness * float(np.linalg.norm(np.array(self.target) - point)), self.limit)


def compiled_with_hand(model: Model) -> System:
    """Compile a model with a hand; the model stays as it was. One with a force of this name is compiled as it is."""
    bodies = [name for name in model.bodies if name != model.ground.name]
    if HAND in model.forces or not bodies:
        return model.compile()
    model.add_force(HAND, point_spring, body=bodies[0], parameters=PARAMETERS)
    try:
        return model.compile()
    finally:
        del model.forces[HAND]


def has_hand(system: System) -> bool:
    """True when a System can be pulled at; also one whose model has a ``point_spring`` named "hand" of its own."""
    return all(f"{HAND}.{name}" in system.inputs for name in PARAMETERS)


def take_hold(sim: Simulation, body: str, point: Vector, target: Vector) -> Hold:
    """Return a hold of ``body`` whose spring makes the mass behind it swing at FREQUENCY.

    Raises UnknownNameError for a body that does not exist; InputError for ground, a point that is none, and a
    Simulation without a hand.
    """
    names = list(sim.system.bodies)
    if body not in names:
        raise unknown_name("body", body, names)
    if body == names[0]:
        raise InputError(f"body {body!r} stands still; grab another one")
    if not has_hand(sim.system):
        raise InputError(
            "this Simulation was compiled without a hand; view its Model, or write model.add_force('hand', "
            "rtmbs.library.force_laws.point_spring, body=..., parameters=rtmbs.viewer.grab.PARAMETERS)"
        )
    mass, omega = pulled_mass(sim, body), 2.0 * math.pi * FREQUENCY
    stiffness = mass * omega**2
    return Hold(
        grip=Grip(body, vector("point", point)),
        target=vector("target", target),
        stiffness=stiffness,
        damping=2.0 * DAMPING_RATIO * mass * omega,
        limit=stiffness * REACH * sim.system.length,
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


def vector(what: str, value: Any) -> Vector:
    """Return three finite numbers; InputError otherwise."""
    try:
        numbers = np.asarray(value, float)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if numbers.shape != (3,) or not np.all(np.isfinite(numbers)):
        raise InputError(f"{what} of a grab is {value!r}; it must be three finite numbers")
    x, y, z = numbers.tolist()
    return (x, y, z)


def grip_of(system: System) -> Grip | None:
    """Return where the hand of a System is attached, None without a hand."""
    if not has_hand(system):
        return None
    record = system.forces[HAND]
    body = system.bodies[record.b]
    place = system.tables.laws.frame_b[record.row][:, 3]
    return Grip(record.b, vector("point", body.rotation.T @ (place - body.position)))


def attach(sim: Simulation, grip: Grip | None, now: Grip | None) -> None:
    """Bring the hand from ``now`` to ``grip``."""
    if grip is not None and grip != now:
        sim.attach(HAND, grip.body, grip.point)


def pull(sim: Simulation, hold: Hold | None) -> None:
    """Let the hand, attached already, pull as ``hold`` says from now on; None opens it."""
    values = OPEN if hold is None else {name: getattr(hold, name) for name in PARAMETERS}
    for name, value in values.items():
        sim.inputs[f"{HAND}.{name}"] = value
