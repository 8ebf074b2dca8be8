"""A person as the driver of a car: wishes for steering and pedals are inputs, and a driving Simulation acts on them.

A script is a table of wishes over time in place of a person, without a window.
"""

import csv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rtmbs.core.files import text
from rtmbs.drive.controls import Wishes
from rtmbs.errors import InputError
from rtmbs.model.checks import Array
from rtmbs.results import Result
from rtmbs.simulation.running import retry
from rtmbs.simulation.simulation import Simulation
from rtmbs.vehicle.axle import CHASSIS
from rtmbs.vehicle.car import Car
from rtmbs.vehicle.driveline import Driveline
from rtmbs.vehicle.driven_car import HALVINGS, DrivenCar, no_force
from rtmbs.vehicle.driver import Arms, CarMotion, Pedals, TwoWheelModel

PERSON = "person"  # force without force: its inputs are the wishes
WISHES = ("steering", "throttle", "brake")
LARGEST = 11.0  # [m/s^2] lateral acceleration that full steering asks for, more than tyres give
SLOWEST = 3.0  # [m/s] below which full steering is full lock


class Person:
    """Driver whose wishes are the inputs ``person.steering``, ``person.throttle`` and ``person.brake``.

    A steering wish of 1 is full lock to the left at walking pace. At speed it is the angle that a two-wheel model
    without understeer needs for 11 m/s^2, so a key that is held does not turn the car over.

    Parameters
    ----------
    wheelbase : float
        Wheelbase [m].
    ratio : float
        Angle of the pinion over the mean angle of the front wheels.
    """

    def __init__(self, wheelbase: float, ratio: float) -> None:
        self.wheelbase, self.ratio, self.arms = wheelbase, ratio, Arms()
        self.inputs: Any = {}  # of the Simulation

    def wish(self, name: str) -> float:
        """Return a wish: steering from -1 to 1, positive left; throttle and brake from 0 to 1."""
        return float(self.inputs[f"{PERSON}.{name}"])

    def start(self, at: CarMotion) -> float:
        """Return zero: there is no path."""
        return 0.0

    def next(
        self, at: CarMotion, now: tuple[float, float, float], memory: float, most: float, h: float
    ) -> tuple[tuple[float, ...], float]:
        """Return angle, rate and acceleration of the pinion at the end of a step, and ``memory``."""
        lock = min(most, self.ratio * self.wheelbase * LARGEST / max(abs(at.speed), SLOWEST) ** 2)
        wish = min(max(self.wish("steering"), -1.0), 1.0)
        return self.arms.turned(now, wish * lock, self.ratio, h), memory

    def pedals(self, at: CarMotion, memory: float, driveline: Driveline, gear: int, h: float) -> tuple[Pedals, float]:
        """Return the pedals, and ``memory``."""
        throttle, brake = (min(max(self.wish(name), 0.0), 1.0) for name in ("throttle", "brake"))
        return Pedals(throttle, brake), memory


class DrivingSimulation(Simulation):
    """Simulation whose step begins with the driver's act, and that takes a failed step in parts."""

    driven: DrivenCar | None = None

    def step(self) -> Any:
        """Let the driver act, then take a step."""
        driven, self.driven = self.driven, None  # twins of a retry step without the driver
        try:
            if driven is not None:
                driven.act()
            report = super().step()
            if driven is not None and not (report.outcome.accepted or report.hopeless):
                report = retry(self, report, "halve", HALVINGS)
            return report
        finally:
            self.driven = driven


class DrivingCar(DrivenCar):
    """Car that a person drives, with scenery around it.

    Parameters
    ----------
    car : Car
        Car.
    speed : float, default 0.0
        Speed at the beginning [m/s].
    scenery : function, optional
        Adds bodies of the surroundings to the Model.
    h : float, default 2e-3
        Step [s].
    """

    simulation: DrivingSimulation
    script: Any = None  # with ``at(t)``: wishes in place of those of a person

    def __init__(self, car: Car, speed: float = 0.0, scenery: Any = None, h: float = 2e-3) -> None:
        rest = car.changed(steer=0.0).rest()
        model = TwoWheelModel.of_car(car, rest)
        self.person, self._scenery = Person(model.wheelbase, model.steering_ratio), scenery
        super().__init__(car, speed, self.person, self.person, rest=rest, h=h)
        self.person.inputs = self.simulation.inputs
        self.simulation.driven = self

    def _simulation(self, h: float) -> Simulation:
        return DrivingSimulation(self.car.compile(), h)

    def _add_memory(self, gear: int, arc_length: float) -> None:
        super()._add_memory(gear, arc_length)
        self.car.add_force(PERSON, no_force, body=CHASSIS, parameters=dict.fromkeys(WISHES, 0.0))
        if self._scenery is not None:
            self._scenery(self.car)

    def step(self) -> Any:
        """Take one step with the person, or with the script."""
        if self.script is not None:
            self.ask(*self.script.at(self.simulation.t + self.simulation.h))
        return self.simulation.step()

    def ask(self, steering: float, throttle: float, brake: float) -> None:
        """Set the wishes: steering from -1 to 1, positive left; throttle and brake from 0 to 1."""
        inputs: Any = self.simulation.inputs
        for name, value in zip(WISHES, (steering, throttle, brake), strict=True):
            inputs[f"{PERSON}.{name}"] = value


COLUMNS = ("t", *WISHES)
LARGEST_SCRIPT = 1e8  # [bytes] of a file


class Script(NamedTuple):
    """Wishes over time."""

    t: Array  # (k,) increasing [s]
    wishes: Array  # (k, 3) steering, throttle, brake

    def at(self, t: float) -> Wishes:
        """Return the wishes of a time, linear in between and held beyond the ends."""
        return Wishes(*(float(np.interp(t, self.t, column)) for column in self.wishes.T))


def read_script(path: str | Path) -> Script:
    """Return the script of a CSV file with the columns t, steering, throttle, brake.

    Raises InputError for another file.
    """
    rows = list(csv.reader(text(path, LARGEST_SCRIPT).splitlines()))
    if not rows or tuple(word.strip() for word in rows[0]) != COLUMNS:
        raise InputError(f"script {str(path)!r}: its first line must be {','.join(COLUMNS)}")
    try:
        table = np.array([[float(word) for word in row] for row in rows[1:] if row], dtype=np.float64)
    except ValueError as error:
        raise InputError(f"script {str(path)!r}: {error}; every line must be four numbers") from None
    if (
        table.ndim != 2
        or table.shape[1:] != (4,)
        or not np.all(np.isfinite(table))
        or np.any(np.diff(table[:, 0]) <= 0)
    ):
        raise InputError(f"script {str(path)!r}: lines must be four finite numbers with increasing times")
    return Script(table[:, 0], table[:, 1:])


def write_script(path: str | Path, rows: Any) -> None:
    """Write rows (t, steering, throttle, brake) as a script."""
    lines = [",".join(COLUMNS), *(",".join(f"{value:.9g}" for value in row) for row in rows)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def drive_by_script(driving: DrivingCar, script: Script, t_end: float | None = None) -> Result:
    """Drive by a script to its end, or to a time, and return the record of every hundredth of a second."""
    end = float(script.t[-1]) if t_end is None else t_end
    driving.script = script
    return driving.run(end, every=0.01)
