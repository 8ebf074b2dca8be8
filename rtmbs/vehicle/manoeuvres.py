"""Manoeuvres with their metrics: step steer (ISO 7401) and straight braking (ISO 21994), on a plane road."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, number
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.results import Result
from rtmbs.simulation.simulation import Simulation
from rtmbs.vehicle.axle import CHASSIS
from rtmbs.vehicle.rest import Rest
from rtmbs.vehicle.steering import Ramp

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

SETTLED = 0.5  # [s] at the end of a run: the mean counts as the steady value
CLOSE = 2e-3  # of the lateral acceleration that is asked for
ROUNDS = 8  # of the search for the steering angle
STANDSTILL = 0.01  # [m/s]


@dataclass(frozen=True)
class Metric:
    """Number with its unit and its definition.

    Parameters
    ----------
    value : float
        Number.
    unit : str
        Unit, such as "rad/s".
    definition : str
        Definition in words.
    """

    value: float
    unit: str
    definition: str


@dataclass(frozen=True)
class Report:
    """Metrics, signals and result of a manoeuvre.

    Parameters
    ----------
    name : str
        Name of the manoeuvre.
    metrics : dict[str, Metric]
        Metrics by name.
    signals : dict[str, ndarray]
        Signals of the car over time by name (k,): t [s] and those of ``signals_of``.
    result : Result
        All channels of the run.
    """

    name: str
    metrics: dict[str, Metric]
    signals: dict[str, Array]
    result: Result

    def __getitem__(self, name: str) -> float:
        """Return the value of a metric."""
        return self.metrics[name].value

    def __str__(self) -> str:
        """Return a table of the metrics."""
        rows = [f"{name:26}{one.value:12.5g} {one.unit:10} {one.definition}" for name, one in self.metrics.items()]
        return "\n".join([self.name, *rows])


def signals_of(car: "Car", result: Result) -> dict[str, Array]:
    """Return the signals of a run that metrics are made of, for the centre of mass of the chassis.

    speed [m/s] along the car; lateral_velocity [m/s]; side_slip, yaw, pitch, roll [rad]; yaw_rate [rad/s];
    lateral_acceleration, longitudinal_acceleration [m/s^2] in the axes of the road that turn with the car; x, y [m].
    """
    R, w = rotations(result[f"{CHASSIS}.orientation"]), result[f"{CHASSIS}.angular_velocity"]
    arm = R @ car.data.chassis.com
    v = result[f"{CHASSIS}.velocity"] + np.cross(w, arm)
    a = result[f"{CHASSIS}.acceleration"] + np.cross(result[f"{CHASSIS}.angular_acceleration"], arm)
    a = a + np.cross(w, np.cross(w, arm))
    yaw = np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0]))
    c, s = np.cos(yaw), np.sin(yaw)
    ahead, across = c * v[:, 0] + s * v[:, 1], -s * v[:, 0] + c * v[:, 1]
    place = result[f"{CHASSIS}.position"] + arm
    return {
        "t": result["t"], "speed": ahead, "lateral_velocity": across, "side_slip": np.arctan2(across, ahead),
        "yaw": yaw, "pitch": np.arcsin(-R[:, 2, 0]), "roll": np.arctan2(R[:, 2, 1], R[:, 2, 2]), "yaw_rate": w[:, 2],
        "longitudinal_acceleration": c * a[:, 0] + s * a[:, 1],
        "lateral_acceleration": -s * a[:, 0] + c * a[:, 1], "x": place[:, 0], "y": place[:, 1],
    }  # fmt: skip


def held_torque(car: "Car", speed: float, h: float, time: float, rest: Rest) -> float:
    """Return the drive torque [N m] of each driven wheel that holds a speed on a straight road: throttle held."""
    straight = car.changed(steer=0.0).at_speed(speed, rest)
    sim = Simulation(straight.compile(), h)
    result = sim.run(time)
    loss = -float(np.mean(signals_of(straight, result)["longitudinal_acceleration"][result["t"] > 0.5 * time]))
    radius = speed / float(np.mean([result[f"hub_{corner}.angle_rate"][-1] for corner in car.tyres]))
    axes = {corner: car.axle(corner).spin_axis for corner in car.tyres}
    spin = sum(float(n @ straight.bodies[f"wheel_{corner}"].inertia @ n) for corner, n in axes.items())
    mass = sum(body.mass for body in straight.bodies.values()) + spin / radius**2
    return 0.5 * mass * loss * radius


@dataclass(frozen=True, kw_only=True)
class StepSteer:
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

    speed: float
    lateral_acceleration: float | None = 4.0
    angle: float | None = None
    steer_time: float = 0.1
    begin: float = 2.0
    duration: float = 3.0
    throttle: str = "held"
    h: float = 1e-3

    def run(self, car: "Car") -> Report:
        """Run the manoeuvre; search the angle of a lateral acceleration unless it is given.

        Parameters
        ----------
        car : Car
            Car to test; it is not changed.

        Returns
        -------
        Report
            Metrics and signals of the run.

        Raises
        ------
        ModelError
            Where no angle leads to the lateral acceleration, and for a speed or throttle that cannot be.
        """
        speed = number(self.speed, "step steer: speed")
        if self.throttle not in ("held", "released"):
            raise ModelError(f"step steer: throttle is {self.throttle!r}; it must be one of held, released")
        if speed <= 0.0:
            raise ModelError(f"step steer: speed is {speed:g}; it must be above zero")
        rest = car.changed(steer=0.0).rest()
        torque = held_torque(car, speed, self.h, self.begin, rest) if self.throttle == "held" else 0.0
        if self.angle is not None:
            angle = number(self.angle, "step steer: angle")
            return self.report(car, angle, self.at_angle(car, angle, torque, rest))
        assert self.lateral_acceleration is not None
        wanted = number(self.lateral_acceleration, "step steer: lateral_acceleration")
        angle, tried = 0.02 * car.data.steering.max_angle * np.sign(wanted), [(0.0, 0.0)]
        for _ in range(ROUNDS):
            result = self.at_angle(car, angle, torque, rest)
            found = steady(signals_of(car, result), "lateral_acceleration")
            if abs(found - wanted) <= CLOSE * abs(wanted):
                return self.report(car, angle, result)
            (a0, f0), (a1, f1) = tried[-1], (angle, found)
            tried.append((angle, found))
            angle = a1 + (wanted - f1) * (a1 - a0) / (f1 - f0)
            if not abs(angle) <= car.data.steering.max_angle:
                break
        raise ModelError(
            f"step steer: no steering angle gives {wanted:g} m/s^2 at {speed:g} m/s, the last gave {found:g}; it must "
            "be within what the tyres carry"
        )

    def at_angle(self, car: "Car", angle: float, torque: float, rest: Rest) -> Result:
        """Run the manoeuvre with one steering angle.

        Parameters
        ----------
        car : Car
            Car to test.
        angle : float
            Angle of the pinion or Pitman arm [rad], positive left.
        torque : float
            Torque of each driven wheel [N m], positive forward.
        rest : Rest
            Equilibrium of the car.

        Returns
        -------
        Result
            Channels of the run.
        """
        steer = Ramp(self.begin, self.begin + self.steer_time, 0.0, angle)
        moving = car.changed(steer=steer).at_speed(self.speed, rest)
        sim = Simulation(moving.compile(), self.h)
        for corner in moving.driven:
            sim.inputs[f"drive_{corner}.torque"] = torque
        return sim.run(self.begin + self.duration)

    def report(self, car: "Car", angle: float, result: Result) -> Report:
        """Return the metrics of a run; t = 0 where the steering passes half of its angle.

        Parameters
        ----------
        car : Car
            Car of the run.
        angle : float
            Angle of the pinion or Pitman arm [rad], positive left.
        result : Result
            Channels of the run.

        Returns
        -------
        Report
            Metrics and signals of the run.
        """
        signals = signals_of(car, result)
        zero = self.begin + 0.5 * self.steer_time
        r, ay = steady(signals, "yaw_rate"), steady(signals, "lateral_acceleration")
        T_r, T_ay = (response_time(signals, name, zero) for name in ("yaw_rate", "lateral_acceleration"))
        peak, overshoot = first_peak(signals, "yaw_rate", zero)
        beta, roll = steady(signals, "side_slip"), steady(signals, "roll")
        metrics = {
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
        return Report(f"step steer at {self.speed:g} m/s", metrics, signals, result)


@dataclass(frozen=True, kw_only=True)
class Braking:
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

    speed: float
    torque: float | tuple[float, float] = 800.0
    rise_time: float = 0.2
    begin: float = 2.0
    after: float = 2.0
    h: float = 1e-3

    def run(self, car: "Car") -> Report:
        """Run the manoeuvre to standstill.

        Parameters
        ----------
        car : Car
            Car to test; it is not changed.

        Returns
        -------
        Report
            Metrics and signals of the run; its result holds the channels of the last part.

        Raises
        ------
        ModelError
            For a car that does not come to rest, and for a speed or torque that cannot be.
        """
        speed = number(self.speed, "braking: speed")
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
        return Report(f"braking from {speed:g} m/s", self.metrics(signals), signals, runs[-1])

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


def joined(parts: list[dict[str, Array]]) -> dict[str, Array]:
    """Return signals of runs one behind the other; what yaw counts stays continuous."""
    return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}


def steady(signals: dict[str, Array], name: str) -> float:
    """Return the mean of a signal over the last 0.5 s."""
    return float(np.mean(signals[name][signals["t"] >= signals["t"][-1] - SETTLED]))


def response_time(signals: dict[str, Array], name: str, zero: float) -> float:
    """Return when a signal first reaches 90 % of its steady value, from ``zero`` on [s]."""
    share = signals[name] / steady(signals, name)
    k = int(np.argmax((share >= 0.9) & (signals["t"] > zero - 0.2)))
    before, after = share[k - 1], share[k]
    start, end = signals["t"][k - 1], signals["t"][k]
    return float(start + (0.9 - before) / (after - before) * (end - start) - zero)


def first_peak(signals: dict[str, Array], name: str, zero: float) -> tuple[float, float]:
    """Return time from ``zero`` [s] and value of the first maximum of a signal, in the sense of its steady value."""
    sense = np.sign(steady(signals, name))
    inside = signals["t"] >= zero
    values, t = sense * signals[name][inside], signals["t"][inside]
    rises, falls_after = values[1:-1] >= values[:-2], values[1:-1] > values[2:]
    falls = np.flatnonzero(rises & falls_after & (values[1:-1] > 0.5 * values[-1]))
    k = int(falls[0]) + 1 if len(falls) else int(np.argmax(values))
    return float(t[k] - zero), float(sense * values[k])
