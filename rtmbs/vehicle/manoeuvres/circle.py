"""Steady circular driving at a constant radius (ISO 4138) and throttle release in a turn (ISO 9816)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array
from rtmbs.results import Result
from rtmbs.vehicle.driven_car import DrivenCar
from rtmbs.vehicle.driver import CarMotion, HeldSteering, Path, PathFollower, PedalTable, SpeedController, TwoWheelModel
from rtmbs.vehicle.manoeuvres.manoeuvre import Manoeuvre, Trial
from rtmbs.vehicle.manoeuvres.report import SETTLED, Metric, Plot, joined, signals_of, wheel_loads

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

PLOTS = tuple(
    Plot(f"{title} over lateral acceleration", (f"level_{name}",), "level_acceleration")
    for title, name in (("Steering angle", "steering_angle"), ("Side slip", "side_slip"), ("Roll", "roll"))
)
SLOWED = 0.9  # of the wanted speed: the driveline or the tyres do not give more
FIT = (1.0, 4.0)  # [m/s^2] interval of the gradients
SAMPLES = 0.01  # [s] distance of samples
OFF = 5.0  # [m] from the path: the car has left the circle
ENTRY = 60.0  # [m] straight and clothoid before the circle


@dataclass(frozen=True, kw_only=True)
class SteadyCircle(Manoeuvre):
    """Steady circular driving of ISO 4138 at a constant radius and discrete speeds.

    The speed goes from one level of lateral acceleration to the next, and settles there. Values of a level are means of
    its last half second.

    Parameters
    ----------
    radius : float, default 100.0
        Radius [m], positive left.
    most : float, default 8.0
        Largest lateral acceleration [m/s^2].
    step : float, default 1.0
        Distance of the levels [m/s^2], the first of them too.
    change : float, default 4.0
        Time from one speed to the next [s].
    settle : float, default 6.0
        Time at each speed [s]; in a shorter one the steering of the driver has not settled.
    preview : float, default 0.8
        Preview time of the driver [s].
    h : float, default 1e-3
        Step of the Simulation [s].
    """

    words: ClassVar[str] = "circle"
    radius: float = 100.0
    most: float = 8.0
    step: float = 1.0
    change: float = 4.0
    settle: float = 6.0
    preview: float = 0.8
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial up to ``most``, or to where the car leaves the circle."""
        radius, levels = self.levels()
        rest = car.changed(steer=0.0).rest()
        model = TwoWheelModel.of_car(car, rest)
        speeds = np.sqrt(abs(radius) * levels)
        wait = ENTRY / float(speeds[0])
        ends: Array = wait + self.settle + np.arange(len(levels), dtype=np.float64) * (self.change + self.settle)
        times = np.sort(np.concatenate(([0.0], ends, ends[:-1] + self.change)))
        targets = np.repeat(speeds, 2)

        def target(t: float) -> float:
            return float(np.interp(t, times, targets))

        length = float(np.sum(0.5 * np.diff(times) * (targets[1:] + targets[:-1])))
        path = Path.circle(radius, laps=length / (2.0 * np.pi * abs(radius)) + 0.3)
        pedals, hands = SpeedController.of_car(car, target), PathFollower(path, model, self.preview)
        driven = DrivenCar(car, float(speeds[0]), pedals, hands, rest=rest, h=self.h)
        centre = path.position(ENTRY) + radius * np.array((-np.sin(path.heading(ENTRY)), np.cos(path.heading(ENTRY))))

        def left(at: CarMotion) -> bool:
            x, y = hands.centre(at)
            off = abs(float(np.hypot(x - centre[0], y - centre[1])) - abs(radius))
            return at.t > wait and (off > OFF or at.speed < SLOWED * target(at.t))

        result = driven.run(self.whole(float(ends[-1])), until=left, every=SAMPLES)
        signals = signals_of(car, result) | wheel_loads(car, result) | driven.controls_as_arrays()
        signals |= means_of(signals, ends)
        notes = (f"Constant radius {radius:g} m at discrete speeds; gradients by straight lines from 1 to 4 m/s².",)
        name = f"Steady circle, radius {radius:g} m"
        return Trial(name, self.metrics(signals, model), signals, result, notes, PLOTS)

    def levels(self) -> tuple[float, Array]:
        """Return the radius and the levels of lateral acceleration, checked.

        Returns
        -------
        tuple[float, ndarray]
            Radius [m] and levels (k,) [m/s^2].

        Raises
        ------
        ModelError
            For a radius below 10 m, and where fewer than three levels lie from 1 to 4 m/s^2.
        """
        radius, most, step = self.checked("radius", "most", "step")
        count = int(most / step + 1e-9) if step > 0.0 else 0
        levels: Array = step * np.arange(1, count + 1, dtype=np.float64)
        if abs(radius) < 10.0 or np.sum((levels >= FIT[0]) & (levels <= FIT[1])) < 3:
            raise ModelError(
                f"circle: radius is {radius:g}, step {step:g} and most {most:g}; the radius must be 10 m or more, and "
                "three levels must lie from 1 to 4 m/s^2"
            )
        return radius, levels

    def metrics(self, signals: dict[str, Array], model: TwoWheelModel) -> dict[str, Metric]:
        """Return the metrics of a run.

        Parameters
        ----------
        signals : dict[str, ndarray]
            Means of the levels.
        model : TwoWheelModel
            Two-wheel model of the car, for its steering ratio.

        Returns
        -------
        dict[str, Metric]
            Metrics by name.

        Raises
        ------
        ModelError
            Where the car left the circle before 4 m/s^2.
        """
        ay = signals["level_acceleration"]
        inside = (np.abs(ay) >= FIT[0] - 0.1) & (np.abs(ay) <= FIT[1] + 0.1)
        if np.sum(inside) < 3:
            raise ModelError("circle: the car left the circle below 4 m/s^2; it must hold it for the gradients")
        slope = {
            name: float(np.polyfit(ay[inside], signals[f"level_{name}"][inside], 1)[0])
            for name in ("steering_angle", "side_slip", "roll")
        }
        bends = float(np.polyfit(ay[inside], 1.0 / signals["level_radius"][inside], 1)[0])
        K = slope["steering_angle"] / model.steering_ratio - model.wheelbase * bends
        metrics = {
            "understeer_gradient": Metric(K, "rad s^2/m", "slope of the wheels' angle less wheelbase over radius"),
            "understeer_gradient_deg_per_g": Metric(float(np.degrees(K)) * 9.81, "deg/g", "the same"),
            "steering_gradient": Metric(slope["steering_angle"], "rad s^2/m", "slope of the angle of the pinion"),
            "side_slip_gradient": Metric(slope["side_slip"], "rad s^2/m", "at the centre of mass of the chassis"),
            "roll_gradient": Metric(slope["roll"], "rad s^2/m", "slope of the roll angle"),
            "roll_gradient_deg_per_g": Metric(float(np.degrees(slope["roll"])) * 9.81, "deg/g", "the same"),
            "largest_lateral_acceleration": Metric(float(np.max(np.abs(ay))), "m/s^2", "speed times yaw rate, steady"),
        }
        if K > 0.0:
            ch = float(np.sqrt(model.wheelbase / K))
            metrics["characteristic_speed"] = Metric(ch, "m/s", "sqrt(wheelbase / understeer gradient)")
        return metrics


def means_of(signals: dict[str, Array], ends: Array) -> dict[str, Array]:
    """Return the means over the last half second of each level that was reached, ``level_acceleration`` and so on."""
    t = signals["t"]
    done = [end for end in ends.tolist() if end <= t[-1] + SAMPLES]
    found = {"level_acceleration": signals["speed"] * signals["yaw_rate"]}  # without the vibration of the measured one
    speed = np.hypot(signals["speed"], signals["lateral_velocity"])
    yaw_rate = np.where(signals["yaw_rate"] == 0.0, np.nan, signals["yaw_rate"])  # before the first turn
    found |= {"level_speed": speed, "level_radius": speed / yaw_rate}
    found |= {f"level_{name}": signals[name] for name in ("steering_angle", "side_slip", "roll")}
    inside = [(t > end - SETTLED) & (t <= end + 1e-6) for end in done]
    return {name: np.array([float(np.mean(values[one])) for one in inside]) for name, values in found.items()}


class Turn(NamedTuple):
    """Turn that was disturbed: its signals, the Result of the second part, and the time that this began at [s]."""

    signals: dict[str, Array]
    result: Result
    begin: float


class DisturbedTurn(Manoeuvre):
    """Frame of turns that are disturbed: a steady circle by a driver, then other pedals with the steering held."""

    radius: float
    lateral_acceleration: float
    settle: float
    after: float

    def disturbed(
        self, car: "Car", pedals: Callable[[float], Any], until: Callable[[CarMotion], bool] | None = None
    ) -> Turn:
        """Return a steady turn that the pedals disturb.

        Parameters
        ----------
        car : Car
            Car to test; it is not changed.
        pedals : callable
            Pedals of the disturbance, ``pedals(begin)``, by the time at which it begins [s].
        until : callable, optional
            Ends the run where it says True of the motion of the car.

        Returns
        -------
        Turn
            Beginning of the disturbance, signals and Result of the run.
        """
        radius, ay = self.radius, self.lateral_acceleration
        rest = car.changed(steer=0.0).rest()
        model = TwoWheelModel.of_car(car, rest)
        speed = float(np.sqrt(abs(radius) * ay))
        begin = self.whole(ENTRY / speed + self.settle)
        path = Path.circle(radius, laps=speed * (begin + self.after) / (2.0 * np.pi * abs(radius)) + 0.3)
        steady = SpeedController.of_car(car, speed)
        driven = DrivenCar(car, speed, steady, PathFollower(path, model), rest=rest, h=self.h)
        runs, controls = [driven.run(begin)], [driven.controls_as_arrays()]
        driven.pedals = pedals(begin)
        driven.steering = HeldSteering(float(controls[0]["steering_angle"][-1]), model.steering_ratio)
        runs.append(driven.run(begin + self.whole(self.after), until=until))
        controls.append(driven.controls_as_arrays())
        signals = joined([signals_of(car, one) | wheel_loads(car, one) for one in runs]) | joined(controls)
        signals["yaw"] = np.unwrap(signals["yaw"])
        return Turn(signals, runs[-1], begin)


class Circle(NamedTuple):
    """Circle that goes on: mean yaw rate [rad/s] and speed [m/s] of the last 0.5 s before a time, and its centre."""

    yaw_rate: float
    speed: float
    centre: Array

    @classmethod
    def before(cls, signals: dict[str, Array], begin: float) -> "Circle":
        """Return the circle of signals before ``begin`` [s]."""
        t = signals["t"]
        last = (t > begin - 0.5) & (t <= begin)
        r0, v0 = float(np.mean(signals["yaw_rate"][last])), float(np.mean(signals["speed"][last]))
        k, radius = int(np.searchsorted(t, begin)), v0 / r0
        course = signals["yaw"][k] + signals["side_slip"][k]
        centre = np.array((signals["x"][k] - radius * np.sin(course), signals["y"][k] + radius * np.cos(course)))
        return cls(r0, v0, centre)

    def inward(self, signals: dict[str, Array], time: float) -> float:
        """Return the distance of the car inside of the circle at a time [m]."""
        x, y = (float(np.interp(time, signals["t"], signals[name])) for name in "xy")
        return abs(self.speed / self.yaw_rate) - float(np.hypot(x - self.centre[0], y - self.centre[1]))


@dataclass(frozen=True, kw_only=True)
class ThrottleRelease(DisturbedTurn):
    """Throttle release in a turn (ISO 9816): steady circle, then the throttle is released with the steering held.

    Parameters
    ----------
    radius : float, default 100.0
        Radius [m], positive left.
    lateral_acceleration : float, default 4.0
        Lateral acceleration before the release [m/s^2], positive.
    settle : float, default 8.0
        Time on the circle before the release [s].
    after : float, default 3.0
        Time after the release [s].
    h : float, default 1e-3
        Step of the Simulation [s].
    """

    words: ClassVar[str] = "throttle release"
    radius: float = 100.0
    lateral_acceleration: float = 4.0
    settle: float = 8.0
    after: float = 3.0
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial against the circle that goes on; turns that cannot be are refused."""
        radius, ay = self.checked("radius", "lateral_acceleration")
        if abs(radius) < 10.0 or ay <= 0.0:
            raise ModelError(
                f"throttle release: radius is {radius:g} and lateral_acceleration {ay:g}; the radius must be 10 m or "
                "more, the acceleration above zero"
            )
        turn = self.disturbed(car, lambda begin: PedalTable(lambda t: 0.0, lambda t: 0.0))
        notes = ("The reference circle goes on with the mean yaw rate and speed of the last 0.5 s before the release.",)
        name = f"Throttle release, radius {radius:g} m, {ay:g} m/s²"
        return Trial(name, self.metrics(turn.signals, turn.begin), turn.signals, turn.result, notes)

    def metrics(self, signals: dict[str, Array], release: float) -> dict[str, Metric]:
        """Return the metrics of a run.

        Parameters
        ----------
        signals : dict[str, ndarray]
            Signals of the whole run.
        release : float
            Time of the release [s].

        Returns
        -------
        dict[str, Metric]
            Metrics by name.
        """
        t, after = signals["t"], signals["t"] > release
        circle = Circle.before(signals, release)
        r0, v0 = circle.yaw_rate, circle.speed
        one = float(np.interp(release + 1.0, t, signals["yaw_rate"]))
        inward = circle.inward(signals, release + 1.0)
        peak = float(np.max(np.sign(r0) * signals["yaw_rate"][after]))
        speed = float(np.interp(release + 1.0, t, signals["speed"]))
        return {
            "speed": Metric(v0, "m/s", "before the release"),
            "yaw_rate": Metric(r0, "rad/s", "before the release"),
            "yaw_rate_ratio_1s": Metric(one / r0, "1", "yaw rate 1 s after the release over that before"),
            "peak_yaw_rate_ratio": Metric(peak / abs(r0), "1", "largest yaw rate after the release over that before"),
            "path_deviation_1s": Metric(inward, "m", "distance inside the circle that goes on, 1 s after the release"),
            "deceleration": Metric(v0 - speed, "m/s^2", "mean of the first second"),
        }
