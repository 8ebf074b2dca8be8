"""Origin of a driving session: the car of a file with the scenery of a course, made in the process that steps it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rtmbs.drive.person import DrivingCar
from rtmbs.drive.scenery import COURSES, add_scenery
from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.model import Model
from rtmbs.simulation.simulation import Simulation
from rtmbs.vehicle.data_file import read
from rtmbs.vehicle.manoeuvres.lane_change import DoubleLaneChange
from rtmbs.viewer.session.origin import Origin


@dataclass
class DriveOrigin:
    """Recipe of a driving session, which goes to another process.

    Parameters
    ----------
    car : str
        Vehicle data file, or "sedan" or "hmmwv".
    variant : str, optional
        Variant in the file.
    tyres : str, default "pac2002"
        Tyres as ``read`` takes them.
    course : str, default "iso-3888-1"
        Cones: one of ``COURSES``.
    speed : float, default 0.0
        Speed at the beginning [m/s].
    """

    car: str
    variant: str | None = None
    tyres: str = "pac2002"
    course: str = "iso-3888-1"
    speed: float = 0.0
    renewable: bool = False
    model: Model | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    name: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self.name = self.car
        if self.course not in COURSES:
            raise unknown_name("course", self.course, COURSES)
        if not self.speed >= 0.0:
            raise InputError(f"drive: speed is {shown(self.speed)}; it must be zero or more")

    def driving(self) -> DrivingCar:
        """Return the car that a person drives."""
        car = read(self.car, variant=self.variant, tyres=self.tyres, impossible_inertia="nearest")
        scenery = partial(add_scenery, course=self.course, width=DoubleLaneChange().width_of(car))
        return DrivingCar(car, self.speed, scenery)

    def make(self, changes: Mapping[str, Any], options: Mapping[str, Any]) -> Simulation:
        """Return the Simulation of the car, at its start."""
        return self.driving().simulation

    def with_parameters(self, parameters: Mapping[str, Any]) -> Origin:
        """Return the origin itself: it has no parameters."""
        return self
