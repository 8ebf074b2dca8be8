"""Frame of the manoeuvres: their options checked, a car run, and a report made of it."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rtmbs.model.checks import Array, number
from rtmbs.model.profiles import Numeric
from rtmbs.results import Result
from rtmbs.simulation.simulation import Simulation
from rtmbs.vehicle.axle import above_zero
from rtmbs.vehicle.manoeuvres.report import Metric, Plot, Report
from rtmbs.vehicle.rest import Rest

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car


TIMES = ("h", "begin", "rise_time", "steer_time", "settle", "change", "preview", "duration", "after")  # options [s]


class Trial(NamedTuple):
    """What a manoeuvre gave: title, metrics, signals (k,), Result, notes and own plots of its report."""

    title: str
    metrics: dict[str, Metric]
    signals: dict[str, Array]
    result: Result
    notes: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()


class Manoeuvre(ABC):
    """Manoeuvre of a car: a frozen dataclass of its options with the step ``h`` [s]; ``words`` begins its errors."""

    words: ClassVar[str]
    h: float

    def run(self, car: "Car") -> Report:
        """Run the manoeuvre.

        Parameters
        ----------
        car : Car
            Car to test; it is not changed.

        Returns
        -------
        Report
            Metrics, signals and channels of the run.

        Raises
        ------
        ModelError
            For options that cannot be, and for a car that cannot do what they ask for; the message names them.
        """
        for name in TIMES:
            if hasattr(self, name):
                above_zero(getattr(self, name), f"{self.words}: {name}")
        title, metrics, signals, result, notes, plots = self.perform(car)
        return Report(title, metrics, signals, result, car.name, notes, plots)

    @abstractmethod
    def perform(self, car: "Car") -> Trial:
        """Run the car and return what it gave.

        Parameters
        ----------
        car : Car
            Car to test.

        Returns
        -------
        Trial
            Title, metrics, signals and Result.
        """

    def checked(self, *names: str) -> tuple[float, ...]:
        """Return options that must be finite numbers.

        Parameters
        ----------
        *names : str
            Names of the options.

        Returns
        -------
        tuple[float, ...]
            Their values.
        """
        return tuple(number(getattr(self, name), f"{self.words}: {name}") for name in names)

    def whole(self, time: float) -> float:
        """Return the nearest whole number of steps to a time.

        Parameters
        ----------
        time : float
            Time [s].

        Returns
        -------
        float
            Multiple of ``h`` [s].
        """
        return round(time / self.h) * self.h


def run_open_loop(car: "Car", speed: float, steer: Numeric, torque: float, rest: Rest, end: float, h: float) -> Result:
    """Return the Result of a run with a steering profile and a held torque on all driven wheels together [N m]."""
    moving = car.changed(steer=steer).at_speed(speed, rest)
    sim = Simulation(moving.compile(), h)
    for name, value in moving.drive_inputs(torque).items():
        sim.inputs[name] = value
    return sim.run(end)
