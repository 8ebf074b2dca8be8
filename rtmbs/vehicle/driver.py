"""Drivers, and a car with a driver in a Simulation, who sets steering, drive torques and brakes before each step.

Drivers are a path follower with optimal preview (MacAdam), a speed controller, and pedals by functions of time. A
driver looks at the car at the beginning of a step and answers for its end. The driver's memory stands in the State of
the Simulation, as inputs of the force ``driver``, so a restored State goes on with the same bytes. Paths are position,
heading and curvature over arc length. The two-wheel model is what the driver predicts the car by.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from math import cos, sin
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model import Model
from rtmbs.model.checks import Array, Numbers, as_floats, number
from rtmbs.results import Result
from rtmbs.simulation.observers.observer import Every
from rtmbs.simulation.observers.recorder import Recorder
from rtmbs.simulation.running import retry
from rtmbs.simulation.simulation import Simulation
from rtmbs.vehicle.axle import CHASSIS, above_zero
from rtmbs.vehicle.driveline import Driveline
from rtmbs.vehicle.rest import Rest
from rtmbs.vehicle.rig import rig
from rtmbs.vehicle.roads import Road, RoadUnderWheels, TandemCams
from rtmbs.vehicle.steering import DRIVER

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car
    from rtmbs.vehicle.rest import Rest


@dataclass(frozen=True)
class TwoWheelModel:
    """Linear two-wheel (bicycle) model: m (dvy/dt + V r) = Fyf + Fyr, Iz dr/dt = a Fyf - b Fyr.

    Parameters
    ----------
    mass : float
        Mass m [kg].
    yaw_inertia : float
        Moment of inertia Iz about the vertical through the centre of mass [kg m^2].
    front : float
        Distance a of the front axle from the centre of mass [m].
    rear : float
        Distance b of the rear axle from it [m].
    front_stiffness : float
        Cornering stiffness Cf of the front axle [N/rad].
    rear_stiffness : float
        Cornering stiffness Cr of the rear axle [N/rad].
    steering_ratio : float
        Angle of pinion or Pitman arm over the mean angle of the front wheels.
    x : float
        Position of the centre of mass in the chassis frame [m].
    """

    mass: float
    yaw_inertia: float
    front: float
    rear: float
    front_stiffness: float
    rear_stiffness: float
    steering_ratio: float
    x: float

    @classmethod
    def of_car(cls, car: "Car", rest: "Rest | None" = None) -> "TwoWheelModel":
        """Return the model of a car: slopes of its tyres at the static loads, without suspension steer.

        Parameters
        ----------
        car : Car
            Car.
        rest : Rest, optional
            Equilibrium of the car; searched unless given.

        Returns
        -------
        TwoWheelModel
            Model with the steering ratio of the rig.
        """
        standing = car.rest() if rest is None else rest
        loads = standing.wheel_loads
        axles = {a: loads[f"{a}l"] + loads[f"{a}r"] for a in "fr"}
        stiffness = {a: float(sum(car.tyres[f"{a}{s}"].stiffnesses(loads[f"{a}{s}"])[1] for s in "lr")) for a in "fr"}
        sim = standing.equilibrium.simulation
        front, rear = (0.5 * (sim[f"wheel_{a}l.position"] + sim[f"wheel_{a}r.position"])[:2] for a in "fr")
        base = float(np.linalg.norm(front - rear))  # nothing holds the heading of a car at rest
        a = base * axles["r"] / (axles["f"] + axles["r"])
        mass = sum(body.mass for body in car.bodies.values())
        turned = rig(car, "front", "steer", values=(-0.05 * car.data.steering.max_angle, 0.0))
        ratio = 2.0 / float(turned.left.rates["toe"][-1] + turned.right.rates["toe"][-1])
        x = float((front - sim[f"{CHASSIS}.position"][:2]) @ (front - rear)) / base - a
        inertia = yaw_inertia(car, np.array(car.bodies[CHASSIS].position)[0] + x)
        return cls(mass, inertia, a, base - a, stiffness["f"], stiffness["r"], ratio, x)

    @property
    def wheelbase(self) -> float:
        """Wheelbase L [m]."""
        return self.front + self.rear

    @property
    def understeer_gradient(self) -> float:
        """Understeer gradient K = (m / L) (b / Cf - a / Cr) [rad s^2/m]."""
        return self.mass / self.wheelbase * (self.rear / self.front_stiffness - self.front / self.rear_stiffness)

    def yaw_gain(self, speed: Any) -> Any:
        """Return the steady yaw rate over the angle of the front wheels, V / (L + K V^2).

        Parameters
        ----------
        speed : float or ndarray
            Speed V [m/s].

        Returns
        -------
        float or ndarray
            Yaw gain [1/s].
        """
        return speed / (self.wheelbase + self.understeer_gradient * speed * speed)

    def matrix(self, speed: float) -> Array:
        """Return d(y, psi, vy, r, delta)/dt over (y, psi, vy, r, delta) with the angle delta held.

        Parameters
        ----------
        speed : float
            Speed V [m/s].

        Returns
        -------
        ndarray
            Matrix (5, 5).
        """
        V, m, Iz, a, b = speed, self.mass, self.yaw_inertia, self.front, self.rear
        Cf, Cr = self.front_stiffness, self.rear_stiffness
        A = np.zeros((5, 5))
        A[0, 1], A[0, 2], A[1, 3] = V, 1.0, 1.0
        A[2, 2:] = -(Cf + Cr) / (m * V), (b * Cr - a * Cf) / (m * V) - V, Cf / m
        A[3, 2:] = (b * Cr - a * Cf) / (Iz * V), -(a * a * Cf + b * b * Cr) / (Iz * V), a * Cf / Iz
        return A

    def lateral_response(self, speed: float, times: Array) -> Array:
        """Return the later offsets y for initial rates and a held angle of the front wheels.

        Parameters
        ----------
        speed : float
            Speed V [m/s].
        times : ndarray
            Times ahead (k,) [s].

        Returns
        -------
        ndarray
            Derivatives (k, 3) of y by vy, r and delta.
        """
        from scipy.linalg import expm  # takes long to load

        A = self.matrix(speed)
        return np.array([expm(A * t)[0, 2:] for t in times.tolist()])


def yaw_inertia(car: "Car", x: float) -> float:
    """Return the moment of inertia of all bodies at design about the vertical at (x, 0) [kg m^2]."""
    total = 0.0
    for body in car.bodies.values():
        if body.mass > 0.0:
            place = np.asarray(body.position) + np.asarray(body.center_of_mass)
            total += float(body.inertia[2, 2]) + body.mass * float((place[0] - x) ** 2 + place[1] ** 2)
    return total


SPACING = 0.25  # [m] between the points of paths that are made here
NEAREST = 8  # Newton iterations of the nearest point
CLOSE = 1e-9  # [m] at which they end
FEW = 32  # points that take less time one by one


class Path:
    """Smooth path in the plane of the road: a cubic spline through points, straight on beyond its ends.

    Parameters
    ----------
    points : array_like
        Points (k, 2) in their order [m], at least 4.

    Raises
    ------
    ModelError
        For fewer points, points that are not finite, and neighbours that coincide.

    Examples
    --------
    >>> path = rtmbs.vehicle.Path.circle(100.0, laps=1.0)
    >>> round(float(path.curvature(300.0)), 4)  # left
    0.01
    """

    def __init__(self, points: Numbers) -> None:
        from scipy.interpolate import CubicSpline  # takes long to load

        try:
            given = as_floats(points)
        except ValueError:
            given = np.zeros(0)
        if given.ndim != 2 or given.shape[1] != 2 or len(given) < 4 or not np.all(np.isfinite(given)):
            raise ModelError(f"path: points have shape {np.shape(points)}; it must be finite numbers (k, 2), k >= 4")
        steps = np.linalg.norm(np.diff(given, axis=0), axis=1)
        if np.any(steps < 1e-6):
            raise ModelError("path: two neighbouring points coincide; each point must be given once")
        s = np.concatenate(([0.0], np.cumsum(steps)))
        for _ in range(2):  # arc length in place of chords
            spline = CubicSpline(s, given)
            middle = 0.5 * (s[1:] + s[:-1])
            ends, between = np.linalg.norm(spline(s, 1), axis=1), np.linalg.norm(spline(middle, 1), axis=1)
            s = np.concatenate(([0.0], np.cumsum(np.diff(s) * (ends[1:] + ends[:-1] + 4.0 * between) / 6.0)))
        self.points, self.length, self._knots = given, float(s[-1]), s
        self._place = CubicSpline(s, given)
        self._rate, self._bend = self._place.derivative(), self._place.derivative(2)
        self._starts = s[:-1].tolist()  # pieces as plain numbers, for the nearest point in every step of a driver
        self._pieces = np.concatenate((self._place.c[:, :, 0], self._place.c[:, :, 1])).T.tolist()

    @classmethod
    def of_curvature(cls, s: Numbers, curvature: Numbers) -> "Path":
        """Return the path of a curvature over arc length, from the origin along x.

        Parameters
        ----------
        s : array_like
            Increasing arc lengths (k,) [m], from 0.
        curvature : array_like
            Curvature (k,) [1/m] there, left positive; linear in between.

        Returns
        -------
        Path
            Path through points at distances of 0.25 m.

        Raises
        ------
        ModelError
            For arc lengths that do not increase from 0, and another number of curvatures.
        """
        ends, values = pairs_of("s", s, "curvature", curvature)
        if ends[0] != 0.0:
            raise ModelError(f"path: s begins with {ends[0]:g}; it must begin with 0")
        at = np.linspace(0.0, ends[-1], int(np.ceil(ends[-1] / SPACING)) + 1)
        fine = np.linspace(0.0, ends[-1], 4 * (len(at) - 1) + 1)
        heading = running_integral(fine, np.interp(fine, ends, values))
        x, y = running_integral(fine, np.cos(heading)), running_integral(fine, np.sin(heading))
        return cls(np.stack((x, y), axis=1)[::4])

    @classmethod
    def circle(cls, radius: float, laps: float = 2.0, entry: float = 50.0) -> "Path":
        """Return a straight of 10 m, a clothoid of the length ``entry``, and a circle.

        Parameters
        ----------
        radius : float
            Radius [m], positive left.
        laps : float, default 2.0
            Length of the circle in laps.
        entry : float, default 50.0
            Length of the clothoid [m].

        Returns
        -------
        Path
            Path from the origin along x.

        Raises
        ------
        ModelError
            For a radius of zero and lengths that are not positive.
        """
        r, turns, ramp = number(radius, "path: radius"), number(laps, "path: laps"), number(entry, "path: entry")
        if r == 0.0 or turns <= 0.0 or ramp <= 0.0:
            raise ModelError(
                f"path: radius is {r:g}, laps {turns:g} and entry {ramp:g}; each must be above zero in size"
            )
        end = 10.0 + ramp + turns * 2.0 * np.pi * abs(r)
        return cls.of_curvature((0.0, 10.0, 10.0 + ramp, end), (0.0, 0.0, 1.0 / r, 1.0 / r))

    @classmethod
    def lanes(cls, stations: Numbers, offsets: Numbers) -> "Path":
        """Return straight lanes with quintic changes between them: y over x with 10 u^3 - 15 u^4 + 6 u^5.

        Parameters
        ----------
        stations : array_like
            Increasing x (k,) [m]; lane offsets hold at them.
        offsets : array_like
            Lateral offsets y (k,) [m] there; equal neighbours are a straight lane.

        Returns
        -------
        Path
            Path through points at distances of 0.25 m.

        Raises
        ------
        ModelError
            For stations that do not increase, and another number of offsets.
        """
        at, y = pairs_of("stations", stations, "offsets", offsets)
        x = np.arange(at[0], at[-1] + 0.5 * SPACING, SPACING)
        k = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(at) - 2)
        u = np.clip((x - at[k]) / (at[k + 1] - at[k]), 0.0, 1.0)
        blend = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
        return cls(np.stack((x, y[k] + blend * (y[k + 1] - y[k])), axis=1))

    def position(self, s: Any) -> Array:
        """Return positions on the path.

        Parameters
        ----------
        s : float or ndarray
            Arc length (...) [m].

        Returns
        -------
        ndarray
            Positions (..., 2) [m].
        """
        s = np.asarray(s, float)
        if s.ndim == 1 and 0 < len(s) <= FEW:
            return np.array([self._at(one) for one in s.tolist()])
        inside = np.clip(s, 0.0, self.length)
        return np.asarray(self._place(inside) + (s - inside)[..., None] * self._rate(inside))

    def _at(self, s: float) -> tuple[float, float]:
        """Return one position by plain numbers: its sums are those of SciPy, to the last digit."""
        inside = min(max(s, 0.0), self.length)
        k = max(bisect_right(self._starts, inside) - 1, 0)
        u = inside - self._starts[k]
        a3, a2, a1, a0, b3, b2, b1, b0 = self._pieces[k]
        uu = u * u
        uuu = uu * u
        x, y = a0 + a1 * u + a2 * uu + a3 * uuu, b0 + b1 * u + b2 * uu + b3 * uuu
        if s == inside:
            return x, y
        over = s - inside
        return x + over * (a1 + 2.0 * a2 * u + 3.0 * a3 * uu), y + over * (b1 + 2.0 * b2 * u + 3.0 * b3 * uu)

    def heading(self, s: Any) -> Any:
        """Return the heading of the path.

        Parameters
        ----------
        s : float or ndarray
            Arc length (...) [m].

        Returns
        -------
        float or ndarray
            Angle of the tangent from the x axis (...) [rad], between -pi and pi.
        """
        t = self._rate(np.clip(s, 0.0, self.length))
        return np.arctan2(t[..., 1], t[..., 0])

    def curvature(self, s: Any) -> Any:
        """Return the curvature of the path, positive left, zero beyond its ends.

        Parameters
        ----------
        s : float or ndarray
            Arc length (...) [m].

        Returns
        -------
        float or ndarray
            Curvature (...) [1/m].
        """
        inside = np.clip(s, 0.0, self.length)
        t, n = self._rate(inside), self._bend(inside)
        bend = (t[..., 0] * n[..., 1] - t[..., 1] * n[..., 0]) / np.sum(t * t, axis=-1) ** 1.5
        return np.where(inside == np.asarray(s), bend, 0.0)

    def nearest(self, point: Numbers, near: float | None = None) -> float:
        """Return the arc length of the nearest point of the path.

        Parameters
        ----------
        point : array_like
            Point (2,) [m].
        near : float, optional
            Arc length from which the search begins [m]; all points of the path are looked at unless given.

        Returns
        -------
        float
            Arc length [m]; negative before the path, beyond its length after it.
        """
        X, Y = as_floats(point).tolist()
        s = near
        if s is None:
            s = float(self._knots[np.argmin(np.sum((self.points - (X, Y)) ** 2, axis=1))])
        for _ in range(NEAREST):
            inside = min(max(s, 0.0), self.length)
            k = max(bisect_right(self._starts, inside) - 1, 0)
            u = inside - self._starts[k]
            a3, a2, a1, a0, b3, b2, b1, b0 = self._pieces[k]
            tx, ty = (3.0 * a3 * u + 2.0 * a2) * u + a1, (3.0 * b3 * u + 2.0 * b2) * u + b1
            dx = X - ((a3 * u + a2) * u + a1) * u - a0 - (s - inside) * tx
            dy = Y - ((b3 * u + b2) * u + b1) * u - b0 - (s - inside) * ty
            tt, bent = tx * tx + ty * ty, dx * (6.0 * a3 * u + 2.0 * a2) + dy * (6.0 * b3 * u + 2.0 * b2)
            move = (dx * tx + dy * ty) / max(tt - (bent if s == inside else 0.0), 0.2 * tt)
            s += move
            if abs(move) < CLOSE:
                break
        return s


def pairs_of(name: str, at: Numbers, other: str, values: Numbers) -> tuple[Array, Array]:
    """Return increasing numbers (k,) of a path and as many values, k >= 2."""
    found = []
    for what, given in ((name, at), (other, values)):
        try:
            found.append(as_floats(given))
        except ValueError:
            found.append(np.zeros(0))
        if found[-1].ndim != 1 or len(found[-1]) < 2 or not np.all(np.isfinite(found[-1])):
            raise ModelError(f"path: {what} is {shown(given)}; it must be two finite numbers or more")
    x, y = found
    if len(x) != len(y) or not np.all(np.diff(x) > 0.0):
        raise ModelError(
            f"path: there are {len(x)} {name} and {len(y)} {other}; {name} must increase, with as many {other}"
        )
    return x, y


def running_integral(x: Array, f: Array) -> Array:
    """Return the integral of f over even x by parabolas (k,), from the first point."""
    h = x[1] - x[0]
    inner = (-f[:-3] + 13.0 * f[1:-2] + 13.0 * f[2:-1] - f[3:]) / 24.0  # cubics through four points
    first, last = (5.0 * f[0] + 8.0 * f[1] - f[2]) / 12.0, (5.0 * f[-1] + 8.0 * f[-2] - f[-3]) / 12.0
    return np.asarray(h * np.concatenate(([0.0], np.cumsum(np.concatenate(([first], inner, [last]))))))


PREVIEWS = 10  # points of the preview
SLOWEST, FASTEST, GRID = 2.0, 80.0, 1.0  # [m/s] speeds of the table of predictions
STEERS_AT = 40.0  # [rad/s] of the second-order lag of the arms: 2 / 0.05 s
FASTEST_HAND = np.radians(800.0)  # [rad/s] largest rate of a steering wheel


class CarMotion(NamedTuple):
    """Motion of a car in the road, as a driver sees it.

    Parameters
    ----------
    t : float
        Time [s].
    x : float
        Position of the chassis frame [m].
    y : float
        Position of the chassis frame [m].
    yaw : float
        Heading [rad].
    speed : float
        Velocity ahead [m/s].
    across : float
        Velocity to the left of the chassis frame [m/s].
    yaw_rate : float
        Yaw rate [rad/s].
    wheels : float
        Mean speed of the driven wheels [rad/s].
    """

    t: float
    x: float
    y: float
    yaw: float
    speed: float
    across: float
    yaw_rate: float
    wheels: float


class Pedals(NamedTuple):
    """Throttle and brake pedal, each from 0 to 1; a car with a driver takes others as the nearer end.

    Parameters
    ----------
    throttle : float
        Throttle, 1 for full.
    brake : float
        Brake pedal, 1 for the largest torque.
    """

    throttle: float
    brake: float


class SteeringDriver(Protocol):
    """Contract of a driver of the steering."""

    def start(self, at: CarMotion) -> float:
        """Return the memory at the beginning, such as the arc length of a path.

        Parameters
        ----------
        at : CarMotion
            Motion of the car.

        Returns
        -------
        float
            Memory, which stands in the State.
        """

    def next(
        self, at: CarMotion, now: tuple[float, float, float], memory: float, most: float, h: float
    ) -> tuple[tuple[float, ...], float]:
        """Return the steering at the end of a step, and the memory.

        Parameters
        ----------
        at : CarMotion
            Motion of the car at the beginning.
        now : tuple[float, float, float]
            Angle of the pinion and its first two rates at the beginning.
        memory : float
            Memory of the last step.
        most : float
            Largest angle of the pinion [rad].
        h : float
            Step [s].

        Returns
        -------
        tuple
            Angle [rad], rate [rad/s] and acceleration [rad/s^2] of the pinion, and the memory.
        """


class PedalDriver(Protocol):
    """Contract of a driver of the pedals."""

    def pedals(self, at: CarMotion, memory: float, driveline: Driveline, gear: int, h: float) -> tuple[Pedals, float]:
        """Return the pedals at the end of a step, and the memory.

        Parameters
        ----------
        at : CarMotion
            Motion of the car at the beginning.
        memory : float
            Memory of the last step, such as the integral of a controller.
        driveline : Driveline
            Driveline of the car.
        gear : int
            Gear, from 1.
        h : float
            Step [s].

        Returns
        -------
        tuple[Pedals, float]
            Pedals and memory.
        """


@dataclass(frozen=True)
class Arms:
    """Arms of a driver: the steering follows a wish with a lag of second order and a largest rate.

    Parameters
    ----------
    frequency : float, default 40.0
        Natural frequency [rad/s], critically damped; the lag is 2 / frequency.
    largest_rate : float, default 13.96
        Largest rate of the steering wheel [rad/s]; 800 degrees a second.
    wheel_ratio : float, default 16.0
        Angle of the steering wheel over the mean angle of the front wheels, for that rate.
    """

    frequency: float = STEERS_AT
    largest_rate: float = FASTEST_HAND
    wheel_ratio: float = 16.0

    def __post_init__(self) -> None:
        for name in ("frequency", "largest_rate", "wheel_ratio"):
            if not number(getattr(self, name), f"driver: {name}") > 0.0:
                raise ModelError(f"driver: {name} is {getattr(self, name):g}; it must be above zero")

    def turned(self, now: tuple[float, float, float], target: float, ratio: float, h: float) -> tuple[float, ...]:
        """Return the angle of the pinion with its rates at the end of a step.

        The lag is stepped by the trapezoidal rule, as the equations of motion are.

        Parameters
        ----------
        now : tuple[float, float, float]
            Angle of the pinion and its first two rates at the beginning.
        target : float
            Angle of the pinion that is wanted [rad].
        ratio : float
            Angle of the pinion over the mean angle of the front wheels.
        h : float
            Step [s].

        Returns
        -------
        tuple[float, ...]
            Angle [rad], rate [rad/s] and acceleration [rad/s^2] of the pinion.
        """
        (f, fd, fdd), w, half = now, self.frequency, 0.5 * h
        fast = self.largest_rate * abs(ratio) / self.wheel_ratio
        open_, rate = f + half * (2.0 * fd + half * fdd), fd + half * fdd  # without the new acceleration
        a = (w * w * (target - open_) - 2.0 * w * rate) / (1.0 + half * half * w * w + 2.0 * half * w)
        a = min(max(a, (-fast - rate) / half), (fast - rate) / half)
        return open_ + half * half * a, rate + half * a, a


@dataclass(frozen=True, eq=False)
class PathFollower:
    """Driver who follows a path by optimal preview (MacAdam 1981).

    The held angle of the front wheels is the one that minimises the squares of the offsets that the linear two-wheel
    model predicts within the preview: delta = sum (y_ref - F x) G / sum G^2.

    Parameters
    ----------
    path : Path
        Path of the centre of mass.
    model : TwoWheelModel
        Linear model of the car.
    preview : float, default 0.8
        Preview time [s].
    arms : Arms, optional
        Lag and largest rate.
    """

    path: Path
    model: TwoWheelModel
    preview: float = 0.8
    arms: Arms = Arms()
    _table: Array = field(init=False, repr=False)
    _times: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.path, Path):
            raise ModelError(f"driver: path is {shown(self.path)}; it must be a Path")
        if not number(self.preview, "driver: preview") > 0.0:
            raise ModelError(f"driver: preview is {self.preview:g}; it must be above zero")
        times = self.preview * np.arange(1, PREVIEWS + 1) / PREVIEWS
        times.flags.writeable = False
        object.__setattr__(self, "_times", times)
        speeds = np.arange(SLOWEST, FASTEST + GRID, GRID)
        table = np.array([self.model.lateral_response(float(V), self.times) for V in speeds])
        object.__setattr__(self, "_table", table)

    @property
    def times(self) -> Array:
        """Times of the preview (k,) [s]."""
        return self._times

    def start(self, at: CarMotion) -> float:
        """Return the arc length of the path at the beginning."""
        return self.path.nearest(self.centre(at))

    def centre(self, at: CarMotion) -> tuple[float, float]:
        """Return the position of the centre of mass.

        Parameters
        ----------
        at : CarMotion
            Motion of the car.

        Returns
        -------
        tuple[float, float]
            Position x, y [m].
        """
        return at.x + self.model.x * cos(at.yaw), at.y + self.model.x * sin(at.yaw)

    def wanted(self, at: CarMotion, s: float) -> float:
        """Return the angle of the front wheels by optimal preview.

        Parameters
        ----------
        at : CarMotion
            Motion of the car.
        s : float
            Arc length of the nearest point of the path [m].

        Returns
        -------
        float
            Mean angle of the front wheels [rad], positive left.
        """
        speed = min(max(at.speed, SLOWEST), FASTEST)
        k = min(int((speed - SLOWEST) / GRID), len(self._table) - 2)
        share = (speed - SLOWEST) / GRID - k
        F = (1.0 - share) * self._table[k] + share * self._table[k + 1]
        x, y = self.centre(at)
        ahead = self.path.position(s + speed * self.times)
        offset = cos(at.yaw) * (ahead[:, 1] - y) - sin(at.yaw) * (ahead[:, 0] - x)
        free = F[:, 0] * (at.across + self.model.x * at.yaw_rate) + F[:, 1] * at.yaw_rate
        G = F[:, 2]
        return float((offset - free) @ G / (G @ G))

    def next(
        self, at: CarMotion, now: tuple[float, float, float], memory: float, most: float, h: float
    ) -> tuple[tuple[float, ...], float]:
        """Return the steering at the end of a step, and the arc length of the path."""
        s = self.path.nearest(self.centre(at), memory)
        ratio = self.model.steering_ratio
        target = min(max(self.wanted(at, s) * ratio, -most), most)
        return self.arms.turned(now, target, ratio, h), s


@dataclass(frozen=True)
class HeldSteering:
    """Driver who holds the steering at an angle.

    Parameters
    ----------
    angle : float
        Angle of the pinion or Pitman arm [rad], positive left.
    ratio : float, default 16.0
        Angle of the pinion over the mean angle of the front wheels.
    arms : Arms, optional
        Lag and largest rate.
    """

    angle: float
    ratio: float = 16.0
    arms: Arms = Arms()

    def __post_init__(self) -> None:
        number(self.angle, "driver: angle")
        if number(self.ratio, "driver: ratio") == 0.0:
            raise ModelError("driver: ratio is 0; it must be the angle of the pinion over that of the wheels")

    def start(self, at: CarMotion) -> float:
        """Return zero: there is no path."""
        return 0.0

    def next(
        self, at: CarMotion, now: tuple[float, float, float], memory: float, most: float, h: float
    ) -> tuple[tuple[float, ...], float]:
        """Return the steering at the end of a step, and ``memory``."""
        return self.arms.turned(now, min(max(self.angle, -most), most), self.ratio, h), memory


@dataclass(frozen=True)
class SpeedController:
    """Driver who holds a speed: proportional and integral, with throttle and brake, and anti-windup.

    Parameters
    ----------
    target : float or function
        Speed [m/s], or a function of time that returns it.
    mass : float
        Mass of the car [kg].
    wheel_radius : float
        Rolling radius of the wheels [m].
    gain : float, default 2.0
        Acceleration for each m/s of error [1/s].
    integral : float, default 1.0
        Rate of acceleration for each m/s of error [1/s^2].
    """

    target: float | Callable[[float], float]
    mass: float
    wheel_radius: float
    gain: float = 2.0
    integral: float = 1.0

    def __post_init__(self) -> None:
        if not callable(self.target):
            number(self.target, "driver: target")
        for name in ("mass", "wheel_radius"):
            above_zero(getattr(self, name), f"driver: {name}")

    @classmethod
    def of_car(cls, car: "Car", target: float | Callable[[float], float], **gains: float) -> "SpeedController":
        """Return the controller of a car.

        Parameters
        ----------
        car : Car
            Car.
        target : float or function
            Speed [m/s], or a function of time that returns it.
        **gains : float
            ``gain`` and ``integral``.

        Returns
        -------
        SpeedController
            Controller with the mass of the car and the free radius of its driven tyres.
        """
        mass = sum(body.mass for body in car.bodies.values())
        return cls(target, mass, car.tyres[car.driven[0]].free_radius, **gains)

    def pedals(self, at: CarMotion, memory: float, driveline: Driveline, gear: int, h: float) -> tuple[Pedals, float]:
        """Return the pedals and the memory of the integral at the end of a step."""
        target = self.target(at.t) if callable(self.target) else self.target
        error = target - at.speed
        wanted = self.mass * self.wheel_radius * (self.gain * error + self.integral * memory)
        low, high = driveline.limits(at.wheels, gear)
        brakes = 4.0 * driveline.max_brake_torque
        if not -brakes + low < wanted < high and wanted * error > 0.0:
            change = 0.0  # anti-windup
        else:
            change = h * error
        throttle = (wanted - low) / (high - low) if high > low else 0.0
        brake = (low - wanted) / brakes if wanted < low else 0.0
        return Pedals(min(max(throttle, 0.0), 1.0), min(max(brake, 0.0), 1.0)), memory + change


@dataclass(frozen=True)
class PedalTable:
    """Open-loop pedals: functions of time.

    Parameters
    ----------
    throttle : function
        Throttle from 0 to 1 over time [s].
    brake : function
        Brake pedal from 0 to 1 over time [s].
    """

    throttle: Callable[[float], float]
    brake: Callable[[float], float]

    def __post_init__(self) -> None:
        for name in ("throttle", "brake"):
            if not callable(getattr(self, name)):
                given = shown(getattr(self, name))
                raise ModelError(f"driver: {name} is {given}; it must be a function of time such as lambda t: 0.2")

    def pedals(self, at: CarMotion, memory: float, driveline: Driveline, gear: int, h: float) -> tuple[Pedals, float]:
        """Return the pedals at the end of a step; ``memory`` stays."""
        t = at.t + h
        return Pedals(float(self.throttle(t)), float(self.brake(t))), memory


MEMORY = ("arc_length", "speed_integral", "gear", "throttle", "brake")
HALVINGS = 6  # of a step that fails
SEEN = ("position", "orientation", "velocity", "angular_velocity")


def no_force(t: float, kinematics: Any, parameters: Any) -> Any:
    """Return no force: the law of the memory of a driver, which only has parameters."""
    return np.zeros(6)


def add_driver_memory(model: Model, gear: int = 1, arc_length: float = 0.0) -> None:
    """Add the force ``driver`` to a car: its inputs are the memory of the driver, which a State keeps.

    Parameters
    ----------
    model : Model
        Model of a car.
    gear : int, default 1
        Gear at the beginning.
    arc_length : float, default 0.0
        Arc length of the path at the beginning [m].
    """
    values = dict.fromkeys(MEMORY, 0.0) | {"gear": float(gear), "arc_length": arc_length}
    model.add_force("driver", no_force, body=CHASSIS, parameters=values)


class DrivenCar:
    """Car with a driver, driveline and brakes in a Simulation.

    Before each step the driver looks at the car and sets the inputs for the end of the step. All that the driver
    remembers are inputs of the force ``driver``: ``driver.arc_length`` [m], ``driver.speed_integral`` [m],
    ``driver.gear``, ``driver.throttle`` and ``driver.brake``. So ``simulation.restore`` of a State goes on with the
    same bytes.

    Parameters
    ----------
    car : Car
        Car; with a PathFollower its option ``steer`` is ignored.
    speed : float
        Speed at the beginning [m/s].
    pedals : SpeedController or PedalTable
        Driver of throttle and brake.
    steering : PathFollower or HeldSteering, optional
        Driver of the steering; the option ``steer`` of the car unless given.
    driveline : Driveline, optional
        Driveline; that of the car's file unless given.
    rest : Rest, optional
        Equilibrium of the car, which saves its search.
    road : Road, optional
        Road under the wheels, at whose height the car begins; one plane unless given.
    envelope : TandemCams, optional
        Enveloping contact on that road.
    h : float, default 1e-3
        Step [s].

    Examples
    --------
    >>> car = rtmbs.vehicle.read("sedan", steer=0.0)
    >>> driven = rtmbs.vehicle.DrivenCar(  # doctest: +SKIP
    ...     car, 20.0, rtmbs.vehicle.SpeedController.of_car(car, 25.0)
    ... )
    >>> result = driven.run(10.0)  # doctest: +SKIP
    """

    def __init__(
        self,
        car: "Car",
        speed: float,
        pedals: PedalDriver,
        steering: SteeringDriver | None = None,
        *,
        driveline: Driveline | None = None,
        rest: Rest | None = None,
        road: Road | None = None,
        envelope: TandemCams | None = None,
        h: float = 1e-3,
    ) -> None:
        standing = car.changed(steer=0.0).rest() if rest is None else rest
        given: dict[str, Any] = (
            {"steer": None} if steering is not None else {"steer": 0.0} if car.options["steer"] is None else {}
        )
        given = given if road is None else given | {"uneven": True}
        self.car = car.changed(**given).at_speed(speed, standing, road)
        if any(f"brake_{corner}" not in self.car.forces for corner in self.car.tyres):
            raise ModelError(
                f"car {car.name!r} has no brakes that a driver sets; leave the options brakes and spin out"
            )
        self.driveline = driveline or Driveline.of_file(car.data.powertrain, car.data.max_brake_torque)
        self.pedals, self.steering, self.ratio = pedals, steering, car.data.steering.ratio
        self._wheels = [f"hub_{corner}.angle_rate" for corner in self.car.driven]
        self._gains = [f"hub_{corner}.angle_acceleration" for corner in self.car.driven]
        self._names = [*(f"{CHASSIS}.{name}" for name in SEEN), *self._wheels, *self._gains]
        radius = car.tyres[self.car.driven[0]].free_radius
        begin = CarMotion(0.0, 0.0, 0.0, 0.0, speed, 0.0, 0.0, speed / radius)
        first = 0.0 if steering is None else steering.start(begin)
        self._add_memory(self.driveline.gear_at(begin.wheels), first)
        self.simulation = self._simulation(h)
        self._torques = self.car.drive_inputs(1.0)  # shares
        self._brakes = [(f"brake_{corner}.torque", corner[0] == "f") for corner in self.car.tyres]
        brakes = (name for name, _ in self._brakes)
        self.simulation.inputs.ramp(*self._torques, *brakes, *(f"driver.{n}" for n in MEMORY))
        self.road = None if road is None else RoadUnderWheels(self.simulation, self.car, road, envelope)
        self.controls: dict[str, list[float]] = {}

    def _add_memory(self, gear: int, arc_length: float) -> None:
        """Add the memory of the driver to the car; a car with more elements adds them here."""
        add_driver_memory(self.car, gear, arc_length)

    def _simulation(self, h: float) -> Simulation:
        """Return the Simulation of the car."""
        return Simulation(self.car.compile(), h)

    def motion(self) -> CarMotion:
        """Return the motion of the car as the driver sees it.

        Returns
        -------
        CarMotion
            Position, heading and velocities in the road.
        """
        return self._seen()[0]

    def _seen(self) -> tuple[CarMotion, float]:
        """Return the motion of the car, and the mean acceleration of the driven wheels [rad/s^2]."""
        sim = self.simulation
        x, y, _, e0, e1, e2, e3, vx, vy, _, _, _, wz, *wheels = sim.read(self._names).tolist()
        count = len(self._wheels)
        yaw = float(np.arctan2(2.0 * (e1 * e2 + e0 * e3), e0 * e0 + e1 * e1 - e2 * e2 - e3 * e3))
        c, s = cos(yaw), sin(yaw)
        mean, gain = sum(wheels[:count]) / count, sum(wheels[count:]) / count
        return CarMotion(sim.t, x, y, yaw, c * vx + s * vy, c * vy - s * vx, wz, mean), gain

    def act(self) -> CarMotion:
        """Let the driver set the inputs for the end of the next step.

        Returns
        -------
        CarMotion
            Motion that the driver saw.
        """
        inputs: Any = self.simulation.inputs
        (at, gain), h = self._seen(), self.simulation.h
        gear = self.driveline.shifted(at.wheels, round(inputs["driver.gear"]))
        pedals, integral = self.pedals.pedals(at, inputs["driver.speed_integral"], self.driveline, gear, h)
        pedals = Pedals(*(min(max(value, 0.0), 1.0) for value in pedals))
        ending = at.wheels + h * gain  # at the end, to second order
        torque = self.driveline.torque(pedals.throttle, ending, gear)
        wanted = {name: torque * share for name, share in self._torques.items()}
        front = self.driveline.front_brakes
        for name, ahead in self._brakes:
            share = front if ahead else 1.0 - front
            wanted[name] = 2.0 * share * pedals.brake * self.driveline.max_brake_torque
        if self.steering is not None:
            f, fd, fdd = (float(value) / self.ratio for value in inputs[DRIVER])
            most, near = self.car.data.steering.max_angle, inputs["driver.arc_length"]
            turned, wanted["driver.arc_length"] = self.steering.next(at, (f, fd, fdd), near, most, h)
            inputs[DRIVER] = [self.ratio * value for value in turned]
        wanted |= {"driver.speed_integral": integral, "driver.gear": float(gear)}
        wanted |= {"driver.throttle": pedals.throttle, "driver.brake": pedals.brake}
        inputs.ramp_to({name: value for name, value in wanted.items() if value != inputs[name]})
        return at

    def step(self) -> Any:
        """Take one step with the driver.

        Returns
        -------
        StepReport
            Report of the step.

        Raises
        ------
        StepError
            When the step fails, also in parts.
        """
        self.act()
        if self.road is not None:
            self.road.act()
        report = self.simulation.step()
        return report if report.outcome.accepted else retry(self.simulation, report, "halve", HALVINGS)

    def run(self, t_end: float, *, until: Any = None, every: float | None = None) -> Result:
        """Drive to a time and return the record; ``controls`` has the driver's inputs at the samples.

        Parameters
        ----------
        t_end : float
            End of the run [s].
        until : function, optional
            Function of the CarMotion at the beginning of a step; the run ends where it is true.
        every : float, optional
            Distance of samples [s]; every step unless given.

        Returns
        -------
        Result
            Channels of the run.

        Raises
        ------
        StepError
            When a step fails for good.
        """
        sim = self.simulation
        steps = max(round((t_end - sim.t) / sim.h), 0)
        stride = 1 if every is None else max(round(every / sim.h), 1)
        recorder = Recorder(None if every is None else Every(stride * sim.h))
        recorder.begin(sim, steps)
        self.controls = {name: [] for name in ("t", "steering_angle", "throttle", "brake", "gear")}
        self._note()
        for k in range(1, steps + 1):
            recorder.observe(sim, self.step())
            if k % stride == 0:
                self._note()
            if until is not None and until(self.motion()):
                break
        recorder.end(sim)
        return recorder.result()

    def _note(self) -> None:
        """Keep the driver's inputs of the present time."""
        inputs: Any = self.simulation.inputs
        angle = inputs[DRIVER][0] if self.steering is not None else self.simulation[self._steering_channel()]
        found = {"t": self.simulation.t, "steering_angle": float(angle) / self.ratio}
        found |= {name: inputs[f"driver.{name}"] for name in ("throttle", "brake", "gear")}
        for name, value in found.items():
            self.controls[name].append(value)

    def _steering_channel(self) -> str:
        """Return the channel of the steering's coordinate."""
        return "rack.displacement" if "rack" in self.car.joints else "sector_shaft.angle"

    def controls_as_arrays(self) -> dict[str, Array]:
        """Return the controls of the last run.

        Returns
        -------
        dict[str, ndarray]
            Arrays (k,): t [s], steering_angle of the pinion [rad], throttle, brake, gear.
        """
        return {name: np.array(values) for name, values in self.controls.items()}
