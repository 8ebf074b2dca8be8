"""Stability while braking: in a turn (ISO 7975), and straight on with other friction under each side (ISO 14512)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array
from rtmbs.vehicle.driving.driven_car import DrivenCar
from rtmbs.vehicle.driving.driver import CarMotion, HeldSteering, PathFollower, PedalTable
from rtmbs.vehicle.driving.path import Path
from rtmbs.vehicle.driving.two_wheel import TwoWheelModel
from rtmbs.vehicle.manoeuvres.circle import Circle, DisturbedTurn
from rtmbs.vehicle.manoeuvres.manoeuvre import Manoeuvre, Trial
from rtmbs.vehicle.manoeuvres.report import Metric
from rtmbs.vehicle.manoeuvres.signals import signals_of, wheel_loads

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

SLOW = 2.0  # [m/s] at which the runs end: behind it steering and friction have no more to do with each other


def pedal(share: float, begin: float, rise: float) -> PedalTable:
    """Return pedals without throttle, and a brake that rises linearly to a share from 0 to 1."""
    return PedalTable(lambda t: 0.0, lambda t: share * min(max((t - begin) / rise, 0.0), 1.0))


@dataclass(frozen=True, kw_only=True)
class BrakingInTurn(DisturbedTurn):
    """Braking in a turn (ISO 7975): steady circle, then the brakes with the steering held and the throttle released.

    Parameters
    ----------
    radius : float, default 100.0
        Radius [m], positive left.
    lateral_acceleration : float, default 4.0
        Lateral acceleration before the braking [m/s^2], positive.
    brake : float, default 0.25
        Brake pedal from 0 to 1, the share of the largest brake torque.
    rise_time : float, default 0.2
        Time in which the brake rises [s].
    settle : float, default 8.0
        Time on the circle before the braking [s].
    after : float, default 3.0
        Longest time of braking [s]; the run ends at 2 m/s.
    h : float, default 1e-3
        Step of the Simulation [s].
    """

    words: ClassVar[str] = "braking in a turn"
    radius: float = 100.0
    lateral_acceleration: float = 4.0
    brake: float = 0.25
    rise_time: float = 0.2
    settle: float = 8.0
    after: float = 3.0
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial against the circle that goes on; turns and brakes that cannot be are refused."""
        radius, ay, brake = self.checked("radius", "lateral_acceleration", "brake")
        if abs(radius) < 10.0 or ay <= 0.0 or not 0.0 < brake <= 1.0:
            raise ModelError(
                f"braking in a turn: radius is {radius:g}, lateral_acceleration {ay:g} and brake {brake:g}; the radius "
                "must be 10 m or more, the acceleration above zero, and the brake above 0 and at most 1"
            )
        turn = self.disturbed(car, lambda begin: pedal(brake, begin, self.rise_time), lambda at: at.speed < SLOW)
        name = f"Braking in a turn, radius {radius:g} m, {ay:g} m/s²"
        notes = ("The reference circle goes on with the mean yaw rate and speed of the last 0.5 s before the braking.",)
        return Trial(name, self.metrics(turn.signals, turn.begin), turn.signals, turn.result, notes)

    def metrics(self, signals: dict[str, Array], begin: float) -> dict[str, Metric]:
        """Return the metrics of a run.

        Parameters
        ----------
        signals : dict[str, ndarray]
            Signals of the whole run.
        begin : float
            Time at which the braking begins [s].

        Returns
        -------
        dict[str, Metric]
            Metrics by name.
        """
        t, circle = signals["t"], Circle.before(signals, begin)
        r0, v0 = circle.yaw_rate, circle.speed
        one = min(begin + 1.0, float(t[-1]))
        r, v, beta = (float(np.interp(one, t, signals[name])) for name in ("yaw_rate", "speed", "side_slip"))
        inward = circle.inward(signals, one)
        after = t > begin
        peak = float(np.max(np.sign(r0) * (signals["yaw_rate"] - r0 * signals["speed"] / v0)[after]))
        slip = float(np.max(np.abs(signals["side_slip"][after])))
        return {
            "speed": Metric(v0, "m/s", "before the braking"),
            "yaw_rate": Metric(r0, "rad/s", "before the braking"),
            "deceleration": Metric((v0 - v) / (one - begin), "m/s^2", "mean of the first second"),
            "yaw_rate_ratio_1s": Metric(r / (r0 * v / v0), "1", "yaw rate at 1 s over that of the circle at its speed"),
            "peak_yaw_rate_excess": Metric(peak, "rad/s", "largest yaw rate beyond that of the circle at its speed"),
            "side_slip_1s": Metric(beta, "rad", "1 s after the braking began"),
            "largest_side_slip": Metric(slip, "rad", "largest size after the braking began"),
            "path_deviation_1s": Metric(inward, "m", "distance inside of the circle that goes on, 1 s after"),
        }


@dataclass(frozen=True, kw_only=True)
class SplitBraking(Manoeuvre):
    """Braking straight on with other friction under the left and under the right wheels (ISO 14512), without ABS.

    Parameters
    ----------
    speed : float, default 22.2
        Speed at the beginning [m/s].
    brake : float, default 0.4
        Brake pedal from 0 to 1, the share of the largest brake torque.
    left : float, default 1.0
        Factor of the road on the friction of the left tyres.
    right : float, default 0.4
        The same of the right tyres.
    steering : {'driver', 'held'}, default 'driver'
        "driver" follows the straight path, "held" holds the steering straight.
    begin : float, default 1.0
        Time at which the braking begins [s].
    rise_time : float, default 0.2
        Time in which the brake rises [s].
    duration : float, default 6.0
        Longest time of braking [s]; the run ends at 2 m/s, and where the car has turned by 90 degrees.
    h : float, default 1e-3
        Step of the Simulation [s].
    """

    words: ClassVar[str] = "split braking"
    speed: float = 80.0 / 3.6
    brake: float = 0.4
    left: float = 1.0
    right: float = 0.4
    steering: str = "driver"
    begin: float = 1.0
    rise_time: float = 0.2
    duration: float = 6.0
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial; speeds, frictions and brakes that cannot be are refused."""
        speed, brake, left, right = self.checked("speed", "brake", "left", "right")
        if self.steering not in ("driver", "held"):
            raise ModelError(f"split braking: steering is {self.steering!r}; it must be one of driver, held")
        if not (speed > 0.0 and left > 0.0 and right > 0.0 and 0.0 < brake <= 1.0):
            raise ModelError(
                f"split braking: speed {speed:g}, left {left:g}, right {right:g} and brake {brake:g} must be above "
                "zero, and the brake at most 1"
            )
        rest = car.changed(steer=0.0).rest()
        model = TwoWheelModel.of_car(car, rest)
        line = np.stack((np.linspace(0.0, speed * (self.begin + self.duration) + 100.0, 200), np.zeros(200)), axis=1)
        driver = self.steering == "driver"
        hands = PathFollower(Path(line), model) if driver else HeldSteering(0.0, model.steering_ratio)
        driven = DrivenCar(car, speed, pedal(brake, self.begin, self.rise_time), hands, rest=rest, h=self.h)
        for corner in car.tyres:
            driven.simulation.inputs[f"tyre_{corner}.friction"] = left if corner[1] == "l" else right

        def ended(at: CarMotion) -> bool:
            return at.speed < SLOW or abs(at.yaw) > 0.5 * np.pi

        result = driven.run(self.whole(self.begin + self.duration), until=ended)
        signals = signals_of(car, result) | wheel_loads(car, result) | driven.controls_as_arrays()
        name = f"Braking on split friction {left:g} and {right:g} from {speed:g} m/s"
        return Trial(name, self.metrics(signals), signals, result)

    def metrics(self, signals: dict[str, Array]) -> dict[str, Metric]:
        """Return the metrics of a run.

        Parameters
        ----------
        signals : dict[str, ndarray]
            Signals of the run.

        Returns
        -------
        dict[str, Metric]
            Metrics by name.
        """
        t, v = signals["t"], np.hypot(signals["speed"], signals["lateral_velocity"])
        after = t >= self.begin
        full = t >= min(self.begin + self.rise_time, float(t[-1]) - 0.1)
        slows = float((v[full][0] - v[-1]) / (t[-1] - t[full][0]))
        return {
            "deceleration": Metric(slows, "m/s^2", "mean of the time with full brake torque"),
            "peak_yaw_rate": Metric(float(np.max(np.abs(signals["yaw_rate"][after]))), "rad/s", "largest size"),
            "yaw_1s": Metric(float(np.interp(self.begin + 1.0, t, signals["yaw"])), "rad", "1 s after, left positive"),
            "yaw": Metric(float(np.max(np.abs(signals["yaw"][after]))), "rad", "largest size"),
            "drift": Metric(float(np.max(np.abs(signals["y"][after]))), "m", "largest distance from the line"),
            "peak_steering": Metric(float(np.max(np.abs(signals["steering_angle"]))), "rad", "of the pinion"),
        }
