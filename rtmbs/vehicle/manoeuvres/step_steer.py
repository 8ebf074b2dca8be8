"""Step steer of ISO 7401, and the search for the steering angle of a lateral acceleration."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array
from rtmbs.model.profiles import Numeric
from rtmbs.results import Result
from rtmbs.simulation.simulation import Simulation
from rtmbs.vehicle.manoeuvres.manoeuvre import Manoeuvre, Trial, run_open_loop
from rtmbs.vehicle.manoeuvres.report import Metric
from rtmbs.vehicle.manoeuvres.signals import first_peak, response_time, signals_of, steady, steered_signals
from rtmbs.vehicle.rest import Rest
from rtmbs.vehicle.steering import Ramp

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

CLOSE = 2e-3  # of the lateral acceleration that is asked for
ROUNDS = 8  # of the search for the steering angle
NOTES = (
    "Lateral acceleration is that of the centre of mass of the chassis, level and across the heading (ISO 8855).",
    "The steering angle is that of the pinion or Pitman arm.",
)


def held_torque(car: "Car", speed: float, h: float, time: float, rest: Rest) -> float:
    """Return the torque [N m] on all driven wheels together that holds a speed on a straight road: throttle held.

    A run without torque loses the power m v a, with the mass m = 2 E / v^2 of its kinetic energy E. That has the
    spin of all wheels, drive shafts and cases of differentials, and those of a trailer.
    """
    straight = car.changed(steer=0.0).at_speed(speed, rest)
    result = Simulation(straight.compile(), h).run(time)
    signals = signals_of(straight, result)
    loss = -float(np.mean(signals["longitudinal_acceleration"][result["t"] > 0.5 * time]))
    v = float(signals["speed"][-1])
    mass = 2.0 * float(result["energy.kinetic"][-1]) / v**2
    return mass * v * loss / float(np.mean([result[f"hub_{corner}.angle_rate"][-1] for corner in car.driven]))


def angle_for(
    tried: Callable[[float], tuple[float, Result]], wanted: float, most: float, what: str
) -> tuple[float, Result]:
    """Return the steering angle that gives a value, and its Result, by secants; ``what`` begins the error.

    ``tried`` returns the value of an angle and the Result of its run; angles up to ``most`` [rad] are tried.
    """
    angle, a0, f0 = 0.02 * most * float(np.sign(wanted)), 0.0, 0.0
    for _ in range(ROUNDS):
        found, result = tried(angle)
        if abs(found - wanted) <= CLOSE * abs(wanted):
            return angle, result
        a1, f1 = angle, found
        angle = a1 + (wanted - f1) * (a1 - a0) / (f1 - f0)
        a0, f0 = a1, f1
        if not abs(angle) <= most:
            break
    raise ModelError(f"{what}, the last gave {found:g}; it must be within what the tyres carry")


class SearchedSteer(Manoeuvre):
    """Frame of manoeuvres in open loop whose angle is given, or searched for a lateral acceleration."""

    sought: ClassVar[str]  # word for the angle
    speed: float
    lateral_acceleration: float
    angle: float | None

    @abstractmethod
    def profile(self, angle: float) -> Numeric:
        """Return the profile of the steering for an angle [rad]."""

    @abstractmethod
    def level(self, signals: dict[str, Array], angle: float) -> float:
        """Return the lateral acceleration of a run that the search compares [m/s^2]."""

    def steered(self, car: "Car", torque: float, rest: Rest, end: float) -> tuple[float, Result]:
        """Return the angle of the steering, and the Result of the run with it.

        Parameters
        ----------
        car : Car
            Car to test; it is not changed.
        torque : float
            Torque on all driven wheels together [N m].
        rest : Rest
            Equilibrium of the car.
        end : float
            End of the run [s].

        Returns
        -------
        angle : float
            Angle of pinion or Pitman arm [rad].
        result : Result
            Run with that angle.
        """

        def tried(angle: float) -> tuple[float, Result]:
            result = run_open_loop(car, self.speed, self.profile(angle), torque, rest, end, self.h)
            return self.level(signals_of(car, result), angle), result

        if self.angle is not None:
            (angle,) = self.checked("angle")
            return angle, tried(angle)[1]
        (wanted,) = self.checked("lateral_acceleration")
        what = f"{self.words}: no {self.sought} gives {wanted:g} m/s^2 at {self.speed:g} m/s"
        return angle_for(tried, wanted, car.data.steering.max_angle, what)


@dataclass(frozen=True, kw_only=True)
class StepSteer(SearchedSteer):
    """Step steer of ISO 7401: straight on, then a ramp of the steering to a held angle; the throttle is held.

    Parameters
    ----------
    speed : float
        Speed at the beginning [m/s].
    lateral_acceleration : float, default 4.0
        Steady value that the angle is searched for [m/s^2], positive to the left.
    angle : float, optional
        Angle of the pinion or Pitman arm [rad], positive left, in place of a lateral acceleration.
    steer_time : float, default 0.1
        Duration of the ramp [s].
    begin : float, default 2.0
        Time at which the ramp begins [s]; before, the car settles on the road.
    duration : float, default 3.0
        Duration of the run after the ramp began [s].
    throttle : {'held', 'released'}, default 'held'
        "held" drives with the torque that holds the speed on the straight, "released" without.
    h : float, default 1e-3
        Step of the Simulation [s].

    Examples
    --------
    >>> manoeuvre = rtmbs.vehicle.StepSteer(speed=20.0, lateral_acceleration=4.0)
    >>> report = manoeuvre.run(rtmbs.vehicle.read("sedan"))  # doctest: +SKIP
    >>> report["yaw_response_time"]  # doctest: +SKIP
    """

    words: ClassVar[str] = "step steer"
    sought: ClassVar[str] = "steering angle"
    speed: float
    lateral_acceleration: float = 4.0
    angle: float | None = None
    steer_time: float = 0.1
    begin: float = 2.0
    duration: float = 3.0
    throttle: str = "held"
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial of a step; the angle of a lateral acceleration is searched unless it is given."""
        (speed,) = self.checked("speed")
        if self.throttle not in ("held", "released"):
            raise ModelError(f"step steer: throttle is {self.throttle!r}; it must be one of held, released")
        if speed <= 0.0:
            raise ModelError(f"step steer: speed is {speed:g}; it must be above zero")
        rest = car.changed(steer=0.0).rest()
        torque = held_torque(car, speed, self.h, self.begin, rest) if self.throttle == "held" else 0.0
        angle, result = self.steered(car, torque, rest, self.begin + self.duration)
        signals = steered_signals(car, result)
        return Trial(f"Step steer at {self.speed:g} m/s", self.metrics(signals, angle), signals, result, NOTES)

    def profile(self, angle: float) -> Numeric:
        """Return the ramp to an angle [rad]."""
        return Ramp(self.begin, self.begin + self.steer_time, 0.0, angle)

    def level(self, signals: dict[str, Array], angle: float) -> float:
        """Return the steady lateral acceleration [m/s^2]."""
        return steady(signals, "lateral_acceleration")

    def metrics(self, signals: dict[str, Array], angle: float) -> dict[str, Metric]:
        """Return the metrics of a run; t = 0 where the steering passes half of its angle.

        Parameters
        ----------
        signals : dict[str, ndarray]
            Signals of the run.
        angle : float
            Angle of the pinion or Pitman arm [rad], positive left.

        Returns
        -------
        dict[str, Metric]
            Metrics by name.
        """
        zero = self.begin + 0.5 * self.steer_time
        r, ay = steady(signals, "yaw_rate"), steady(signals, "lateral_acceleration")
        T_r, T_ay = (response_time(signals, name, zero) for name in ("yaw_rate", "lateral_acceleration"))
        peak, overshoot = first_peak(signals, "yaw_rate", zero)
        beta, roll = steady(signals, "side_slip"), steady(signals, "roll")
        return {
            "steering_angle": Metric(angle, "rad", "of pinion or Pitman arm, held"),
            "yaw_rate": Metric(r, "rad/s", "steady: mean of the last 0.5 s"),
            "lateral_acceleration": Metric(ay, "m/s^2", "steady, in the road"),
            "yaw_gain": Metric(r / angle, "1/s", "yaw rate over steering angle"),
            "acceleration_gain": Metric(ay / angle, "m/(s^2 rad)", "lateral acceleration over steering angle"),
            "yaw_response_time": Metric(T_r, "s", "from half of the steering to 90 % of the steady yaw rate"),
            "acceleration_response_time": Metric(T_ay, "s", "the same of the lateral acceleration"),
            "yaw_peak_time": Metric(peak, "s", "from half of the steering to the first maximum of the yaw rate"),
            "yaw_overshoot": Metric(overshoot / r - 1.0 if r else 0.0, "1", "first maximum over steady yaw rate - 1"),
            "side_slip": Metric(beta, "rad", "steady, at the centre of mass of the chassis"),
            "tb_factor": Metric(abs(beta) * peak, "rad s", "steady side slip angle times yaw peak time"),
            "roll": Metric(roll, "rad", "steady"),
            "roll_gradient": Metric(roll / ay, "rad s^2/m", "roll over lateral acceleration"),
        }
