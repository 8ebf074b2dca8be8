"""Double lane changes of ISO 3888-1 and ISO 3888-2 (obstacle avoidance) with cones, by a driver with preview."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, number
from rtmbs.vehicle.driveline import Driveline
from rtmbs.vehicle.driven_car import DrivenCar
from rtmbs.vehicle.driver import CarMotion, Path, PathFollower, Pedals, SpeedController, TwoWheelModel
from rtmbs.vehicle.manoeuvres.report import Metric, Plot, Report, signals_of, wheel_loads

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car
    from rtmbs.vehicle.rest import Rest

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
