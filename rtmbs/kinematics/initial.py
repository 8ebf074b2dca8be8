"""Where assembly begins: the reference pose, moved to the initial values of the model."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import StartError
from rtmbs.kinematics.assembly import assemble
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.kinematics.elements import Constraint
from rtmbs.kinematics.equations import Equations
from rtmbs.kinematics.programs import Programs
from rtmbs.kinematics.readings import joint_reading
from rtmbs.kinematics.rules import RULES, Writer, follow
from rtmbs.model import ConstantRate, Initial, Model
from rtmbs.model.checks import rotation_of_quaternion
from rtmbs.rotations.quaternions import quaternions, rotations

Array = NDArray[np.float64]

WIDE = 0.1  # largest |Phi| at which the pose is taken as a beginning all the same


class Held(NamedTuple):
    """A joint coordinate at its initial value."""

    name: str
    initial: Initial
    k: int

    @property
    def profile(self) -> ConstantRate:
        """The value, for all times."""
        assert self.initial.position is not None
        return ConstantRate(0.0, float(self.initial.position[self.k]))


def write_held_coordinate(writer: Writer, held: Held) -> None:
    """Write the row: the coordinate stays at its initial value."""
    reading = joint_reading(held.initial.joint, held.k, writer.number)
    follow(writer, held, "initial", reading)


RULES[Held] = write_held_coordinate


def started(model: Model, constraints: Iterable[Constraint], equations: Equations, t: float, tolerance: float) -> Array:
    """Return the coordinates (n,) from which assembly begins at time t.

    Raises StartError when pinned values, drivers and loops contradict each other.
    """
    driven = {driver.joint for driver in model.drivers.values() if driver.joint}
    held, pinned, start = [], True, equations.start.copy()
    for initial in model.initials.values():
        if initial.position is None:
            continue
        if initial.joint.type.start != "coordinates":
            turn_body(initial, start, list(model.bodies))
            continue
        for k in range(len(initial.position)):
            if (initial.joint, k) not in driven:
                held.append(Held(f"initial value of {initial.joint.name}[{k}]", initial, k))
        pinned &= initial.pin
    if not held:
        return start
    elements: list[Any] = [*constraints, *held]
    wider = Programs(Equations(model, elements))
    f = wider.equations.drivers_at(np.array([t]))[0, 0]
    try:
        return assemble(wider, start, f, tolerance, 1e-6)[0]
    except StartError:
        if pinned:
            raise
        return assemble(wider, start, f, tolerance, np.inf)[0]


def turn_body(initial: Initial, start: Array, bodies: list[str]) -> None:
    """Place body b of a spherical or floating joint as its initial value says, where body a stands in its reference."""
    assert initial.position is not None
    joint = initial.joint
    a, b = (slice(SIZE * bodies.index(body.name), SIZE * (bodies.index(body.name) + 1)) for body in (joint.a, joint.b))
    A = rotations(start[a][None, 3:])[0]
    B = A @ rotation_of_quaternion(initial.position[-4:])
    apart = joint.axes_a @ initial.position[:3] if joint.type.start == "pose" else np.zeros(3)
    start[b] = np.concatenate((start[a][:3] + A @ (joint.point_a + apart) - B @ joint.point_b, quaternions(B[None])[0]))
