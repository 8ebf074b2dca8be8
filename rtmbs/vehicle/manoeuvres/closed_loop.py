"""Closed-loop manoeuvres, in which a driver follows a path: steady circle, throttle release, double lane changes.

Standards: ISO 4138 (steady circular driving at a constant radius), ISO 9816 (throttle release in a turn), ISO 3888-1
and ISO 3888-2 (double lane changes between cones, obstacle avoidance).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, number
from rtmbs.results import Result
from rtmbs.vehicle.driveline import Driveline
from rtmbs.vehicle.driven_car import DrivenCar
from rtmbs.vehicle.driver import (
    CarMotion,
    HeldSteering,
    Path,
    PathFollower,
    Pedals,
    PedalTable,
    SpeedController,
    TwoWheelModel,
)
from rtmbs.vehicle.manoeuvres.report import (
    SETTLED,
    Manoeuvre,
    Metric,
    Plot,
    Report,
    Trial,
    joined,
    signals_of,
    wheel_loads,
)

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car
    from rtmbs.vehicle.rest import Rest

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


CONE = 0.14  # [m] radius of the base of a cone
SETTLE = 1.5  # [s] on a straight before the course
RUN_OUT = 30.0  # [m] behind it
OFFSETS = ("right-right", "centre-right", "centre-centre")  # lines between which the 3.5 m are measured
RELEASED_AT = 2.0  # [m] behind the entry (ISO 3888-2)


class Section(NamedTuple):
    """Lane section of a course.

    Parameters
    ----------
    start : float
        Beginning from the entry [m].
    end : float
        End from the entry [m].
    centre : float
        Offset of its centre line from that of the first section, left positive [m].
    width : float
        Width [m].
    """

    start: float
    end: float
    centre: float
    width: float


def iso_3888_1(width: float, offset: str = "right-right") -> tuple[Section, ...]:
    """Return the lane sections of ISO 3888-1 for a vehicle width.

    Parameters
    ----------
    width : float
        Width of the vehicle without mirrors b [m].
    offset : str, default "right-right"
        Lines between which the 3.5 m are measured: right boundaries, "centre-right" or "centre-centre".

    Returns
    -------
    tuple[Section, ...]
        Entry lane, side lane and exit lane.
    """
    one, side, out = 1.1 * width + 0.25, 1.2 * width + 0.25, 1.3 * width + 0.25
    centre = 3.5 + {"right-right": 0.5 * (side - one), "centre-right": 0.5 * side, "centre-centre": 0.0}[offset]
    return Section(0.0, 15.0, 0.0, one), Section(45.0, 70.0, centre, side), Section(95.0, 125.0, 0.5 * (out - one), out)


def iso_3888_2(width: float) -> tuple[Section, ...]:
    """Return the lane sections of ISO 3888-2 for a vehicle width.

    Parameters
    ----------
    width : float
        Width of the vehicle without mirrors b [m].

    Returns
    -------
    tuple[Section, ...]
        Entry lane, side lane and exit lane.
    """
    one, side, out = 1.1 * width + 0.25, width + 1.0, max(1.3 * width + 0.25, 3.0)
    centre = 0.5 * one + 1.0 + 0.5 * side
    return Section(0.0, 12.0, 0.0, one), Section(25.5, 36.5, centre, side), Section(49.0, 61.0, 0.5 * (out - one), out)


@dataclass(frozen=True)
class EntryPedals:
    """Driver who holds a speed up to a place, and then holds the torque or releases the throttle.

    Parameters
    ----------
    controller : SpeedController
        Driver of the approach.
    place : float
        Position x at which the throttle is held or released [m].
    held : bool
        True holds the drive torque of that moment, False releases the throttle.
    """

    controller: SpeedController
    place: float
    held: bool

    def pedals(self, at: CarMotion, memory: float, driveline: Driveline, gear: int, h: float) -> tuple[Pedals, float]:
        """Return the pedals and the memory of the integral at the end of a step."""
        if at.x < self.place:
            return self.controller.pedals(at, memory, driveline, gear, h)
        if not self.held:
            return Pedals(0.0, 0.0), memory
        held = replace(self.controller, target=at.speed)  # no error: the torque of the integral
        return held.pedals(at, memory, driveline, gear, h)[0], memory


@dataclass(frozen=True, kw_only=True)
class DoubleLaneChange:
    """Double lane change of ISO 3888-1, or obstacle avoidance of ISO 3888-2, passed when no cone is touched.

    Parameters
    ----------
    speed : float, optional
        Speed at the entry [m/s]; 80 km/h, or 60 km/h in ISO 3888-2, unless given.
    standard : {'ISO 3888-1', 'ISO 3888-2'}, default 'ISO 3888-1'
        Course. The throttle is held in ISO 3888-1 and released 2 m behind the entry in ISO 3888-2.
    width : float, optional
        Width of the car without mirrors [m]; distance of the wheel centres and 0.25 m unless given.
    overhangs : tuple[float, float], default (0.9, 1.0)
        Lengths of the car before its front and behind its rear wheel centres [m].
    offset : {'right-right', 'centre-right', 'centre-centre'}, default 'right-right'
        Lines between which the 3.5 m of ISO 3888-1 are measured.
    cut : float, optional
        Distance by which the driver's path begins and ends a change of lane inside the lanes [m]; 5 m in ISO 3888-1 and
        1 m in ISO 3888-2 unless given.
    preview : float, default 0.5
        Preview time of the driver [s].
    h : float, default 1e-3
        Step of the Simulation [s].

    Examples
    --------
    >>> car = rtmbs.vehicle.read("sedan", variant="from_models")
    >>> report = rtmbs.vehicle.DoubleLaneChange(speed=22.0).run(car)  # doctest: +SKIP
    >>> report["cones_touched"]  # doctest: +SKIP
    """

    speed: float | None = None
    standard: Literal["ISO 3888-1", "ISO 3888-2"] = "ISO 3888-1"
    width: float | None = None
    overhangs: tuple[float, float] = (0.9, 1.0)
    offset: Literal["right-right", "centre-right", "centre-centre"] = "right-right"
    cut: float | None = None
    preview: float = 0.5
    h: float = 1e-3

    def run(self, car: "Car", rest: "Rest | None" = None) -> Report:
        """Drive the course once.

        Parameters
        ----------
        car : Car
            Car to test; it is not changed.
        rest : Rest, optional
            Equilibrium of the car, which saves its search.

        Returns
        -------
        Report
            Metrics, signals, and a picture of the course.

        Raises
        ------
        ModelError
            For another standard or offset, and for a speed or width that cannot be.
        """
        speed = self.checked_speed()
        standing = car.changed(steer=0.0).rest() if rest is None else rest
        width = self.width_of(car)
        course = iso_3888_1(width, self.offset) if self.standard == "ISO 3888-1" else iso_3888_2(width)
        model = TwoWheelModel.of_car(car, standing)
        front = float(car.data.front.wheel_centre[0]) + self.overhangs[0]
        entry = max(round(SETTLE * speed), 10.0) + front
        path = self.path(course, entry)
        held = self.standard == "ISO 3888-1"
        place = entry - front + (0.0 if held else RELEASED_AT)
        pedals = EntryPedals(SpeedController.of_car(car, speed), place, held)
        driven = DrivenCar(car, speed, pedals, PathFollower(path, model, self.preview), rest=standing, h=self.h)
        end = entry + course[-1].end - float(car.data.rear.wheel_centre[0]) + self.overhangs[1]
        result = driven.run(3.0 * (end + RUN_OUT) / speed, until=lambda at: at.x > end or at.speed < 0.3 * speed)
        signals = signals_of(car, result) | wheel_loads(car, result) | driven.controls_as_arrays()
        R = np.stack((result["chassis.position"][:, 0], result["chassis.position"][:, 1], signals["yaw"]), axis=1)
        cones = cones_of(course, entry)
        gaps = self.gaps(car, R, cones, width)
        name = f"{self.standard} {'double lane change' if held else 'obstacle avoidance'} at {3.6 * speed:.0f} km/h"
        metrics = self.metrics(signals, gaps, entry - front, path)
        return Report(
            name, metrics, signals, result, car.name, self.notes(width), (plot_of(course, entry, path, cones),)
        )

    def highest_speed(self, car: "Car", between: tuple[float, float] = (11.0, 25.0), within: float = 0.25) -> float:
        """Return the highest entry speed without touching a cone, by bisection.

        Parameters
        ----------
        car : Car
            Car to test.
        between : tuple[float, float], default (11.0, 25.0)
            Speeds to search between [m/s]; the lower one must be passed.
        within : float, default 0.25
            Width of the interval at the end [m/s].

        Returns
        -------
        float
            Speed that was passed [m/s].

        Raises
        ------
        ModelError
            When the lower speed is not passed.
        """
        rest, (low, high) = car.changed(steer=0.0).rest(), between
        if replace(self, speed=low).run(car, rest)["cones_touched"]:
            raise ModelError(f"lane change: a cone is touched at {low:g} m/s; give a lower speed to search from")
        for _ in range(max(int(np.ceil(np.log2((high - low) / within))), 0)):
            middle = 0.5 * (low + high)
            if replace(self, speed=middle).run(car, rest)["cones_touched"]:
                high = middle
            else:
                low = middle
        return low

    def checked_speed(self) -> float:
        """Return the speed at the entry, checked with the other options.

        Returns
        -------
        float
            Speed [m/s].

        Raises
        ------
        ModelError
            For an option that cannot be.
        """
        known = ("ISO 3888-1", "ISO 3888-2")
        for name, value, choices in (("standard", self.standard, known), ("offset", self.offset, OFFSETS)):
            if value not in choices:
                raise ModelError(f"lane change: {name} is {shown(value)}; it must be one of {', '.join(choices)}")
        usual = 80.0 / 3.6 if self.standard == known[0] else 60.0 / 3.6
        speed = number(usual if self.speed is None else self.speed, "lane change: speed")
        if not speed > 0.0:
            raise ModelError(f"lane change: speed is {speed:g}; it must be above zero")
        return speed

    def width_of(self, car: "Car") -> float:
        """Return the width of the car without mirrors.

        Parameters
        ----------
        car : Car
            Car.

        Returns
        -------
        float
            Width [m].

        Raises
        ------
        ModelError
            For a width that is not positive.
        """
        if self.width is None:
            return 2.0 * max(float(axle.wheel_centre[1]) for axle in (car.data.front, car.data.rear)) + 0.25
        width = number(self.width, "lane change: width")
        if not width > 0.0:
            raise ModelError(f"lane change: width is {width:g}; it must be above zero")
        return width

    def path(self, course: tuple[Section, ...], entry: float) -> Path:
        """Return the driver's path: centre lines of the lanes with quintic blends.

        Parameters
        ----------
        course : tuple[Section, ...]
            Lane sections.
        entry : float
            Position of the beginning of the course [m].

        Returns
        -------
        Path
            Path from the origin on.
        """
        usual = 5.0 if self.standard == "ISO 3888-1" else 1.0
        stations, offsets = [0.0], [0.0]
        for k, one in enumerate(course):
            room = min(usual if self.cut is None else self.cut, 0.45 * (one.end - one.start))
            stations += [entry + one.start + (room if k else 0.0), entry + one.end - (room if k < 2 else 0.0)]
            offsets += [one.centre, one.centre]
        stations.append(entry + course[-1].end + 2.0 * RUN_OUT)
        offsets.append(course[-1].centre)
        return Path.lanes(stations, offsets)

    def gaps(self, car: "Car", places: Array, cones: Array, width: float) -> Array:
        """Return the least distance of the outline of the car from each cone, negative where it is not passed.

        A cone is passed on the side of its lane. One on the other side counts as met by as much as the outline would
        have to move, and one that the car has not reached by the way that is missing.

        Parameters
        ----------
        car : Car
            Car.
        places : ndarray
            Position x, y of the chassis frame and yaw over time (k, 3).
        cones : ndarray
            Centres of the cones (c, 2) [m], of each pair first the right one.
        width : float
            Width of the car [m].

        Returns
        -------
        ndarray
            Distances (c,) [m] from the base of the cone.
        """
        front = float(car.data.front.wheel_centre[0]) + self.overhangs[0]
        rear = float(car.data.rear.wheel_centre[0]) - self.overhangs[1]
        c, s = np.cos(places[:, 2])[:, None], np.sin(places[:, 2])[:, None]
        dx, dy = cones[None, :, 0] - places[:, :1], cones[None, :, 1] - places[:, 1:2]
        ahead, left = c * dx + s * dy, c * dy - s * dx
        before, behind = np.maximum(ahead - front, 0.0), np.maximum(rear - ahead, 0.0)
        across = np.maximum(np.abs(left) - 0.5 * width, 0.0)
        away = np.min(np.hypot(np.maximum(before, behind), across), axis=0) - CONE
        inside = left * np.resize((-1.0, 1.0), len(cones)) - 0.5 * width - CONE  # distance on the side of the lane
        beside = np.where((before == 0.0) & (behind == 0.0), inside, np.inf)
        missing = np.min(before, axis=0)
        return np.asarray(np.where(missing > 0.0, -missing, np.minimum(away, np.min(beside, axis=0))))

    def metrics(self, signals: dict[str, Array], gaps: Array, entry: float, path: Path) -> dict[str, Metric]:
        """Return the metrics of a run.

        Parameters
        ----------
        signals : dict[str, ndarray]
            Signals of the run.
        gaps : ndarray
            Least distances from the cones (c,) [m].
        entry : float
            Position of the chassis frame at the entry [m].
        path : Path
            Path of the driver.

        Returns
        -------
        dict[str, Metric]
            Metrics by name.
        """
        inside = signals["x"] >= entry
        at = {name: values[inside] for name, values in signals.items()}
        most = {
            name: float(np.max(np.abs(at[name]))) for name in ("lateral_acceleration", "yaw_rate", "roll", "side_slip")
        }
        rate = np.gradient(at["steering_angle"], at["t"])
        loads = [float(np.min(at[name])) for name in at if name.startswith("load_")]
        s, off = path.nearest((at["x"][0], at["y"][0])), 0.0
        for x, y in zip(at["x"][::20].tolist(), at["y"][::20].tolist(), strict=True):
            s = path.nearest((x, y), s)
            off = max(off, float(np.hypot(*(path.position(s) - (x, y)))))
        return {
            "entry_speed": Metric(float(at["speed"][0]), "m/s", "when the front of the car enters the course"),
            "exit_speed": Metric(float(at["speed"][-1]), "m/s", "when the rear of the car has left it"),
            "cones_touched": Metric(
                float(np.sum(gaps < 0.0)),
                "1",
                "cones met, passed on the wrong side, or not reached",
            ),
            "clearance": Metric(
                float(np.min(gaps)), "m", "least distance of the outline from a cone, negative where it counts"
            ),
            "path_deviation": Metric(off, "m", "largest distance of the centre of mass from the driver's path"),
            "peak_lateral_acceleration": Metric(most["lateral_acceleration"], "m/s^2", "largest, either side"),
            "peak_yaw_rate": Metric(most["yaw_rate"], "rad/s", "largest, either side"),
            "peak_roll": Metric(most["roll"], "rad", "largest, either side"),
            "peak_side_slip": Metric(most["side_slip"], "rad", "largest, at the centre of mass of the chassis"),
            "peak_steering_angle": Metric(
                float(np.max(np.abs(at["steering_angle"]))), "rad", "of pinion or Pitman arm"
            ),
            "peak_steering_rate": Metric(float(np.max(np.abs(rate))), "rad/s", "of pinion or Pitman arm"),
            "least_wheel_load": Metric(min(loads), "N", "smallest of the four; zero lifts off"),
        }

    def notes(self, width: float) -> tuple[str, ...]:
        """Return sentences on how the standard was read.

        Parameters
        ----------
        width : float
            Width of the car [m].

        Returns
        -------
        tuple[str, ...]
            Sentences.
        """
        found = [
            f"Vehicle width {width:.3f} m; overhangs {self.overhangs[0]:g} m in front, {self.overhangs[1]:g} m behind."
        ]
        if self.standard == "ISO 3888-1":
            found.append(
                f"The 3.5 m of the side lane are measured {self.offset}. The drive torque is held from the entry."
            )
        else:
            found.append("The throttle is released 2 m behind the entry.")
        found.append(f"Driver: optimal preview (MacAdam) of {self.preview:g} s, lag of the arms 0.05 s.")
        return tuple(found)


def cones_of(course: tuple[Section, ...], entry: float) -> Array:
    """Return the centres of the cones (c, 2): at start, middle and end of each lane, tangent from outside [m]."""
    found = []
    for one in course:
        for x in (one.start, 0.5 * (one.start + one.end), one.end):
            found += [(entry + x, one.centre + side * (0.5 * one.width + CONE)) for side in (-1.0, 1.0)]
    return np.array(found)


def plot_of(course: tuple[Section, ...], entry: float, path: Path, cones: Array) -> Plot:
    """Return the picture of the course with the path of the driver."""
    x = np.linspace(entry - 20.0, entry + course[-1].end + 20.0, 400)
    lines = [path.position(x)]
    for one in course:
        ends = entry + np.array((one.start, one.end))
        lines += [np.stack((ends, np.full(2, one.centre + side * 0.5 * one.width)), axis=1) for side in (-1.0, 1.0)]
    marks = tuple((float(a), float(b)) for a, b in cones)
    return Plot("Course: cones, driver's path, and path of the centre of mass", ("y",), "x", marks, tuple(lines))
