"""Longitudinal manoeuvres: straight braking, braking in a turn and on split friction, and coast down.

Braking is that of ISO 21994, ISO 7975 and ISO 14512, without ABS.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, number
from rtmbs.simulation.observers.observer import Every
from rtmbs.simulation.simulation import Simulation
from rtmbs.vehicle.driven_car import DrivenCar
from rtmbs.vehicle.driver import CarMotion, HeldSteering, Path, PathFollower, PedalTable, TwoWheelModel
from rtmbs.vehicle.manoeuvres.closed_loop import Circle, DisturbedTurn
from rtmbs.vehicle.manoeuvres.report import Manoeuvre, Metric, Trial, joined, signals_of, wheel_loads

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

STANDSTILL = 0.01  # [m/s]


@dataclass(frozen=True, kw_only=True)
class Braking(Manoeuvre):
    """Straight braking to standstill (ISO 21994): the torque of each brake rises within ``rise_time`` and is held.

    Parameters
    ----------
    speed : float
        Speed at the beginning of the braking [m/s].
    torque : float or tuple[float, float], default 800.0
        Torque of each front brake, or of front and rear ones [N m].
    rise_time : float, default 0.2
        Time in which the torque rises [s].
    begin : float, default 2.0
        Time at which the braking begins [s]; before, the car settles on the road.
    after : float, default 2.0
        Time at rest that the run goes on for [s]; the creep is measured in its second half.
    h : float, default 1e-3
        Step of the Simulation [s].

    Examples
    --------
    >>> report = rtmbs.vehicle.Braking(speed=25.0).run(rtmbs.vehicle.read("sedan"))  # doctest: +SKIP
    >>> report["stopping_distance"]  # doctest: +SKIP
    """

    words: ClassVar[str] = "braking"
    speed: float
    torque: float | tuple[float, float] = 800.0
    rise_time: float = 0.2
    begin: float = 2.0
    after: float = 2.0
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial to standstill, with the Result of its last part.

        Parameters
        ----------
        car : Car
            Car to test; it is not changed.

        Returns
        -------
        Trial
            Title, metrics, signals and Result.

        Raises
        ------
        ModelError
            For a speed or torques that are not above zero, and for a car that does not stop.
        """
        (speed,) = self.checked("speed")
        pair = self.torque if isinstance(self.torque, tuple) else (self.torque, self.torque)
        front, rear = (number(value, "braking: torque") for value in pair)
        if not speed > 0.0 or front < 0.0 or rear < 0.0 or front + rear == 0.0:
            raise ModelError("braking: speed and torque must be above zero")
        brakes = {"f": rising(front, self.begin, self.rise_time), "r": rising(rear, self.begin, self.rise_time)}
        moving = car.changed(steer=0.0, brakes=brakes).at_speed(speed)
        sim = Simulation(moving.compile(), self.h)
        most = self.begin + self.rise_time + 40.0 * speed / 9.81
        result = sim.run(self.begin + 0.25 * self.rise_time)
        runs = [result]
        for end in np.arange(sim.t + 0.5, most, 0.5).tolist():
            if float(np.linalg.norm(sim["chassis.velocity"])) <= STANDSTILL:
                break
            runs.append(sim.run(end))
        runs.append(sim.run(sim.t + self.after))
        signals = joined([signals_of(moving, one) for one in runs])
        loads = {corner: np.concatenate([one[f"tyre_{corner}.force"][:, 2] for one in runs]) for corner in car.tyres}
        signals |= {f"load_{corner}": values for corner, values in loads.items()}
        if abs(signals["speed"][-1]) > STANDSTILL:
            raise ModelError(f"braking: the car still has {signals['speed'][-1]:g} m/s; it must get more torque")
        return Trial(f"Straight braking from {speed:g} m/s", self.metrics(signals), signals, runs[-1])

    def metrics(self, signals: dict[str, Array]) -> dict[str, Metric]:
        """Return the metrics of the joined signals.

        Parameters
        ----------
        signals : dict[str, ndarray]
            Signals of the whole run (k,), and the wheel loads ``load_fl`` and so on [N].

        Returns
        -------
        dict[str, Metric]
            Metrics by name.
        """
        t, v, x = signals["t"], signals["speed"], signals["x"]
        first = int(np.argmin(np.abs(t - self.begin)))
        v0 = float(v[first])
        stopped = first + int(np.argmax(v[first:] <= STANDSTILL))
        distance = float(np.max(x[first:]) - x[first])
        marks = [first + int(np.argmax(v[first:] <= share * v0)) for share in (0.8, 0.1)]
        mfdd = (0.8**2 - 0.1**2) * v0**2 / (2.0 * float(x[marks[1]] - x[marks[0]]))
        braking = slice(marks[0], marks[1])
        front, rear = (float(np.mean(signals[f"load_{a}l"][braking] + signals[f"load_{a}r"][braking])) for a in "fr")
        at_rest = signals["x"][t > t[-1] - 0.5 * self.after]
        return {
            "speed": Metric(v0, "m/s", "at the beginning of the braking"),
            "stopping_distance": Metric(distance, "m", "from the beginning of the braking to the farthest place"),
            "stopping_time": Metric(float(t[stopped] - t[first]), "s", "to 0.01 m/s"),
            "mean_deceleration": Metric(v0**2 / (2.0 * distance), "m/s^2", "speed^2 / (2 distance)"),
            "mfdd": Metric(mfdd, "m/s^2", "mean fully developed deceleration, from 0.8 to 0.1 of the speed"),
            "pitch": Metric(float(np.mean(signals["pitch"][braking])), "rad", "mean in the same interval, nose down"),
            "front_load": Metric(front, "N", "mean of the axle in the same interval"),
            "rear_load": Metric(rear, "N", "the same of the rear axle"),
            "drift": Metric(float(np.max(np.abs(signals["y"][first:] - signals["y"][first]))), "m", "to the side"),
            "creep": Metric(float(np.ptp(at_rest)), "m", "range of the place in the second half of the time at rest"),
        }


def rising(torque: float, begin: float, rise: float) -> Any:
    """Return a torque [N m] that rises linearly, as a function of time in plain NumPy."""

    def of_time(t: Any) -> Any:
        return torque * np.minimum(np.maximum((t - begin) / rise, 0.0), 1.0)

    return of_time


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
        notes: tuple[str, ...] = (
            "The reference circle goes on with the mean yaw rate and speed of the last 0.5 s before the braking.",
        )
        lasted = float(turn.signals["t"][-1]) - turn.begin
        if lasted < 1.0:
            notes = (
                *notes,
                f"The run ended {lasted:.2f} s after the braking began: values at 1 s are those of its end.",
            )
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


WIDE = 0.8  # final over initial speed, above which a curve over the speed is not fitted


@dataclass(frozen=True, kw_only=True)
class CoastDown(Manoeuvre):
    """Coast down on a level road with the gear in neutral: no drive torque and no brake.

    Parameters
    ----------
    speed : float, default 27.78
        Speed at the beginning [m/s].
    duration : float, default 20.0
        Duration [s]; the run ends earlier at ``end_speed``.
    end_speed : float, default 5.0
        Speed at which the run ends [m/s].
    settle : float, default 1.0
        Time before the evaluation [s].
    h : float, default 1e-3
        Step of the Simulation [s].
    """

    words: ClassVar[str] = "coast down"
    speed: float = 100.0 / 3.6
    duration: float = 20.0
    end_speed: float = 5.0
    settle: float = 1.0
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial with the fit by a + b V^2; speeds that are not positive and decreasing are refused."""
        speed, end = self.checked("speed", "end_speed")
        if not speed > end > 0.0:
            raise ModelError(
                f"coast down: speed is {speed:g} and end_speed {end:g}; the first must be above the second"
            )
        moving = car.changed(steer=0.0).at_speed(speed)
        sim = Simulation(moving.compile(), self.h)
        result = sim.run(
            self.whole(self.settle + self.duration),
            record=Every(10 * self.h),
            until=lambda one: bool(np.linalg.norm(one["chassis.velocity"]) < end),
        )
        signals = signals_of(moving, result) | wheel_loads(moving, result)
        inside = signals["t"] >= self.settle
        t, v, x = (signals[name][inside] for name in ("t", "speed", "x"))
        drop = float((v[0] - v[-1]) / (t[-1] - t[0]))
        b, c = (0.0, drop) if v[-1] > WIDE * v[0] else np.polyfit(v * v, -np.gradient(v, t), 1).tolist()
        metrics = {
            "initial_speed": Metric(float(v[0]), "m/s", "at the beginning of the evaluation"),
            "final_speed": Metric(float(v[-1]), "m/s", "at the end of the run"),
            "duration": Metric(float(t[-1] - t[0]), "s", "between both"),
            "distance": Metric(float(x[-1] - x[0]), "m", "between both"),
            "mean_deceleration": Metric(drop, "m/s^2", "between both"),
            "rolling_deceleration": Metric(c, "m/s^2", "a of the fit a + b V^2"),
            "quadratic_deceleration": Metric(b, "1/m", "b of that fit; 0 where the speed falls by less than a fifth"),
        }
        notes = ("The car has no aerodynamic drag unless its user adds the force.",)
        return Trial(f"Coast down from {3.6 * speed:.0f} km/h", metrics, signals, result, notes)
