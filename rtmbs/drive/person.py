"""A person as the driver of a car: keyboard, mouse and game pad give wishes for steering, throttle and brake.

Wishes are inputs, and a driving Simulation acts on them. A script is a table of wishes over time in place of a person,
without a window.
"""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from rtmbs.core.files import text
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

TURNS, RETURNS = 1.6, 3.0  # [1/s] how fast held steering keys turn, and how fast released ones return
PRESSES, RELEASES = 2.5, 5.0  # [1/s] the same of the pedals
DEAD = 0.08  # of a stick, around its middle


class Wishes(NamedTuple):
    """Wishes of a person."""

    steering: float = 0.0  # -1 to 1, positive left
    throttle: float = 0.0  # 0 to 1
    brake: float = 0.0  # 0 to 1


class Control(Protocol):
    """Contract of a control."""

    def wishes(self, dt: float) -> Wishes:
        """Return the wishes ``dt`` seconds after the last call."""


def towards(now: float, target: float, rate: float, dt: float) -> float:
    """Return a number that goes to ``target`` by a rate [1/s]."""
    step = rate * dt
    return min(max(target, now - step), now + step)


class Keyboard:
    """Keys that are held turn the steering and press the pedals by and by.

    ``held`` is the set of the actions of held keys: "left", "right", "throttle", "brake".
    """

    def __init__(self) -> None:
        self.held: set[str] = set()
        self._now = Wishes()

    def wishes(self, dt: float) -> Wishes:
        """Return the wishes ``dt`` seconds after the last call."""
        now, turned = self._now, float("left" in self.held) - float("right" in self.held)
        back = now.steering * turned < 0.0 or not turned
        steering = towards(now.steering, turned, RETURNS if back else TURNS, dt)
        pedals = [
            towards(value, float(name in self.held), PRESSES if name in self.held else RELEASES, dt)
            for name, value in (("throttle", now.throttle), ("brake", now.brake))
        ]
        self._now = Wishes(steering, *pedals)
        return self._now


class Mouse:
    """The place of the mouse beside the middle of the picture steers; buttons press the pedals.

    ``place`` is from -1 at the left to 1 at the right border; ``left`` and ``right`` are True while held.
    """

    def __init__(self) -> None:
        self.place, self.left, self.right = 0.0, False, False
        self._now = Wishes()

    def wishes(self, dt: float) -> Wishes:
        """Return the wishes ``dt`` seconds after the last call."""
        now, place = self._now, min(max(-self.place, -1.0), 1.0)
        pedals = [
            towards(value, float(on), PRESSES if on else RELEASES, dt)
            for on, value in ((self.left, now.throttle), (self.right, now.brake))
        ]
        self._now = Wishes(place * abs(place), *pedals)
        return self._now


class GamePad:
    """First game pad or steering wheel of the machine, by pygame (extra ``drive``).

    The first axis steers. Pads have throttle and brake on the right and the left trigger.

    Parameters
    ----------
    stick : object, optional
        Joystick with ``get_axis``; the first one of pygame unless given.
    pump : function, optional
        Reads the state of all sticks; that of pygame unless given.
    """

    STEERING, BRAKE, THROTTLE = 0, 2, 5  # axes of SDL: triggers go from -1 to 1

    def __init__(self, stick: Any = None, pump: Any = None) -> None:
        self._stick, self._pump = (stick, pump) if stick is not None else first_stick()
        self._touched: set[int] = set()  # a trigger tells 0 until it is first moved

    def wishes(self, dt: float) -> Wishes:
        """Return the wishes."""
        if self._pump is not None:
            self._pump()
        way = -float(self._stick.get_axis(self.STEERING))
        size = max(abs(way) - DEAD, 0.0) / (1.0 - DEAD)
        return Wishes(
            (1.0 if way > 0.0 else -1.0) * size * size, self._trigger(self.THROTTLE), self._trigger(self.BRAKE)
        )

    def _trigger(self, axis: int) -> float:
        """Return how far a trigger is pressed, 0 to 1."""
        value = float(self._stick.get_axis(axis))
        if value != 0.0:
            self._touched.add(axis)
        return 0.5 * (value + 1.0) if axis in self._touched else 0.0


def first_stick() -> tuple[Any, Any]:
    """Return the first game pad and the function that reads it; InputError where there is none."""
    try:
        import pygame
    except ImportError as error:
        raise InputError("a game pad needs pygame: pip install rtmbs[drive]") from error
    pygame.display.init()
    pygame.joystick.init()
    if not pygame.joystick.get_count():
        raise InputError("drive: there is no game pad; it must be connected, or leave out --pad")
    stick = pygame.joystick.Joystick(0)
    stick.init()
    return stick, pygame.event.pump


def strongest(all_wishes: Iterable[Wishes]) -> Wishes:
    """Return for steering and pedals the wish of largest size."""
    columns = zip(*all_wishes, strict=True)
    return Wishes(*(max(column, key=abs) for column in columns))


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


def increasing(rows: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Return the rows whose times increase: those of before a return to the start are left out."""
    found: list[tuple[float, ...]] = []
    for row in rows:
        found = [*(one for one in found if one[0] < row[0]), row]
    return found
