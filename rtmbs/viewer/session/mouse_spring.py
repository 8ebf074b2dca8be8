"""Mouse spring: a spring-damper from a point of a body to a point of the world, with its exact derivative.

The mouse spring is a force law that a session adds to its model before compiling. ``Simulation.attach`` moves it from
body to body. Its parameters are inputs, so a pull is part of the State and of the history like any other input.
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
from rtmbs.model.description import Origin
from rtmbs.simulation import Simulation
from rtmbs.system.system import System
from rtmbs.viewer.session.commands import Vector

Array = NDArray[np.float64]

MOUSE_SPRING = "hand"
OPEN = {"stiffness": 0.0, "damping": 0.0}  # what a mouse spring pulls with that holds nothing
PARAMETERS: Mapping[str, Any] = {"target": (0.0, 0.0, 0.0), **OPEN, "limit": 0.0}
FREQUENCY = 2.0  # [Hz] of the mass behind the spring
DAMPING_RATIO = 0.7
REACH = 1.0  # characteristic lengths by which a target may lead its point before the pull stops growing


@dataclass(frozen=True)
class Attachment:
    """Body and point of a mouse spring, pulling or not."""

    body: str
    point: Vector  # body axes [m]


@dataclass(frozen=True)
class Hold:
    """Mouse spring of a pulled body: attachment, target, stiffness, damping and limit."""

    attachment: Attachment
    target: Vector  # world [m]
    stiffness: float  # [N/m]
    damping: float  # [N s/m]
    limit: float  # of the elastic pull [N]

    def moved(self, target: Vector) -> "Hold":
        """Return the same hold with another target; InputError for one that is no point."""
        return replace(self, target=vector("target", target))

    def force(self, point: Array) -> float:
        """Return the elastic pull for a held point at ``point`` (3,) [N]."""
        return min(self.stiffness * float(np.linalg.norm(np.array(self.target) - point)), self.limit)


def compiled_with_mouse_spring(model: Model) -> System:
    """Compile a model with a mouse spring; the model stays as it was. One with a force of this name is compiled as it
    is.
    """
    bodies = [name for name in model.bodies if name != model.ground.name]
    if MOUSE_SPRING in model.forces or not bodies:
        return model.compile()
    model.add_force(MOUSE_SPRING, point_spring, body=bodies[0], parameters=PARAMETERS)
    try:
        system = model.compile()
    finally:
        del model.forces[MOUSE_SPRING]
    return replace(system, origin=Origin(model))  # the spring that is gone is no change by the user


def has_mouse_spring(system: System) -> bool:
    """True when a System has a mouse spring: a ``point_spring`` named "hand"."""
    return all(f"{MOUSE_SPRING}.{name}" in system.inputs for name in PARAMETERS)


def take_hold(sim: Simulation, body: str, point: Vector, target: Vector) -> Hold:
    """Return a hold of ``body`` whose spring makes the mass behind it swing at FREQUENCY.

    Raises UnknownNameError for a body that does not exist; InputError for ground, a point that is none, and a
    Simulation without a mouse spring.
    """
    names = list(sim.system.bodies)
    if body not in names:
        raise unknown_name("body", body, names)
    if body == names[0]:
        raise InputError(f"body {body!r} stands still; grab another one")
    if not has_mouse_spring(sim.system):
        raise InputError(
            "this Simulation was compiled without a mouse spring; view its Model, or write model.add_force('hand', "
            "rtmbs.library.force_laws.point_spring, body=..., parameters=rtmbs.viewer.session.mouse_spring.PARAMETERS)"
        )
    mass, omega = pulled_mass(sim, body), 2.0 * math.pi * FREQUENCY
    stiffness = mass * omega**2
    return Hold(
        attachment=Attachment(body, vector("point", point)),
        target=vector("target", target),
        stiffness=stiffness,
        damping=2.0 * DAMPING_RATIO * mass * omega,
        limit=stiffness * REACH * sim.system.length,
    )


def pulled_mass(sim: Simulation, body: str) -> float:
    """Return the mass that a pull at ``body`` has to move: its own and that of all bodies its dof carries [kg]."""
    system = sim.system
    dof, parent = system.bodies[body].dof, system.tables.dofs.parent
    carried = 0.0
    for info in list(system.bodies.values())[1:]:
        above = info.dof
        while above > dof:
            above = int(parent[above])
        if above == dof:
            carried += info.mass
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


def attachment_of(system: System) -> Attachment | None:
    """Return where the mouse spring of a System is attached, None without a mouse spring."""
    if not has_mouse_spring(system):
        return None
    info = system.forces[MOUSE_SPRING]
    body = system.bodies[info.b]
    place = system.tables.laws.frame_b[info.row][:, 3]
    return Attachment(info.b, vector("point", body.rotation.T @ (place - body.position)))


def attach(sim: Simulation, attachment: Attachment | None, now: Attachment | None) -> None:
    """Bring the mouse spring from ``now`` to ``attachment``."""
    if attachment is not None and attachment != now:
        sim.attach(MOUSE_SPRING, attachment.body, attachment.point)


def pull(sim: Simulation, hold: Hold | None) -> None:
    """Set the inputs of the attached mouse spring to those of ``hold``; None opens it."""
    values = OPEN if hold is None else {name: getattr(hold, name) for name in PARAMETERS}
    for name, value in values.items():
        sim.inputs[f"{MOUSE_SPRING}.{name}"] = value
