"""Obstacles: a car drives straight on over a cleat or a hump; ride, suspension travel and wheel loads."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, number
from rtmbs.vehicle.axle import CHASSIS
from rtmbs.vehicle.driving.driven_car import DrivenCar
from rtmbs.vehicle.driving.driver import HeldSteering, PedalTable, SpeedController
from rtmbs.vehicle.manoeuvres.report import Metric, Plot, Report
from rtmbs.vehicle.manoeuvres.signals import ride_signals, signals_of
from rtmbs.vehicle.roads.surfaces import ObstacleRoad, bump, cleat, hump, plateau
from rtmbs.vehicle.roads.under_wheels import TandemCams

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

SIDES = {"both": None, "left": (0.0, 1e3), "right": (-1e3, 0.0)}  # lateral interval of the obstacle [m]
SHAPES = ("watts", "cosine", "plateau")
CALM = 0.05  # of the largest vertical acceleration: below, the car has settled
LIFTED = 1.0  # [N] of a wheel load
PLOTS = (
    Plot("Vertical acceleration", ("vertical_acceleration",)),
    Plot("Rise of the centre of mass", ("rise",)),
    Plot("Travel of the wheels", ("travel_fl", "travel_fr", "travel_rl", "travel_rr")),
)


def run_over(
    car: "Car", name: str, obstacle: Any, length: float, *, speed: float, side: str, throttle: str, after: float,
    h: float, envelope: TandemCams | None,
) -> Report:  # fmt: skip
    """Return the report of a car that rolls over an obstacle of a length [m]; ``name`` begins the error."""
    v = number(speed, f"{name}: speed")
    if v <= 0.0 or number(after, f"{name}: after") <= 0.0:
        raise ModelError(f"{name}: speed {v:g} and after {after:g} must be above zero")
    if side not in SIDES:
        raise ModelError(f"{name}: side is {shown(side)}; it must be one of {', '.join(SIDES)}")
    if throttle not in ("held", "released"):
        raise ModelError(f"{name}: throttle is {shown(throttle)}; it must be one of held, released")
    front, rear = (float(axle.wheel_centre[0]) for axle in (car.data.front, car.data.rear))
    start = front + max(0.5 * v, 1.0)
    road = ObstacleRoad([obstacle(start)], SIDES[side])
    rolls = PedalTable(lambda t: 0.0, lambda t: 0.0)
    pedals = rolls if throttle == "released" else SpeedController.of_car(car, v)
    driven = DrivenCar(car, v, pedals, HeldSteering(0.0), road=road, envelope=envelope, h=h)
    left = (start + length - rear) / v  # when the rear wheels have left it
    result = driven.run(round((1.2 * left + after) / h) * h, until=lambda at: bool(at.t >= left + after))
    signals = signals_of(driven.car, result) | ride_signals(driven.car, result)
    x = result[f"{CHASSIS}.position"][:, 0] + rear
    behind = float(signals["t"][min(int(np.searchsorted(x, start + length)), len(x) - 1)])
    metrics = {"speed": Metric(v, "m/s", "at the beginning")} | obstacle_metrics(car, signals, behind)
    force = sum(result[f"tyre_{corner}.force"][:, 0] for corner in car.tyres)
    metrics["longitudinal_force"] = Metric(float(np.max(np.abs(force))), "N", "largest sum of all wheels")
    return Report(f"{name.capitalize()} at {v:g} m/s", metrics, signals, result, car.name, (), PLOTS)


def obstacle_metrics(car: "Car", signals: dict[str, Array], behind: float) -> dict[str, Metric]:
    """Return the metrics of a run over an obstacle.

    Parameters
    ----------
    car : Car
        Car.
    signals : dict[str, ndarray]
        Signals (k,) of ``ride_signals``.
    behind : float
        Time at which the rear wheels have left the obstacle [s].

    Returns
    -------
    dict[str, Metric]
        Metrics by name.
    """
    t, a = signals["t"], signals["vertical_acceleration"]
    loads = np.array([signals[f"load_{corner}"] for corner in car.tyres])
    travel = {axle: np.array([signals[f"travel_{axle}{side}"] for side in "lr"]) for axle in "fr"}
    largest = float(np.max(np.abs(a)))
    restless = np.flatnonzero(np.abs(a) > CALM * largest)
    calm = float(t[restless[-1]]) if len(restless) else behind
    lifted = float(np.sum(np.diff(t)[np.any(loads[:, 1:] < LIFTED, axis=0)]))
    return {
        "peak_acceleration": Metric(float(np.max(a)), "m/s^2", "largest vertical one of the chassis, upward"),
        "lowest_acceleration": Metric(float(np.min(a)), "m/s^2", "largest downward, negative"),
        "peak_rise": Metric(float(np.max(signals["rise"])), "m", "of the chassis' centre of mass"),
        "pitch_range": Metric(float(np.ptp(signals["pitch"])), "rad", "largest less smallest pitch"),
        "front_bump_travel": Metric(float(np.max(travel["f"])), "m", "largest travel of a front wheel from rest"),
        "front_rebound_travel": Metric(float(-np.min(travel["f"])), "m", "likewise in rebound"),
        "rear_bump_travel": Metric(float(np.max(travel["r"])), "m", "largest travel of a rear wheel from rest"),
        "rear_rebound_travel": Metric(float(-np.min(travel["r"])), "m", "likewise in rebound"),
        "largest_load": Metric(float(np.max(loads)), "N", "of a wheel"),
        "smallest_load": Metric(float(np.min(loads)), "N", "of a wheel"),
        "lift_off_time": Metric(lifted, "s", "time with a wheel load below 1 N"),
        "settling_time": Metric(
            max(calm - behind, 0.0), "s", "from the obstacle's end under the rear wheels until the acceleration stays "
            "below 5 % of its largest value"
        ),
    }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Cleat:
    """Cleat: a car rolls over a low rectangular strip, with an enveloping contact.

    Parameters
    ----------
    speed : float
        Speed at the beginning [m/s].
    height : float, default 0.01
        Height of the cleat [m].
    length : float, default 0.02
        Length of the cleat along the road [m].
    side : {'both', 'left', 'right'}, default 'both'
        Track that the cleat lies in.
    throttle : {'released', 'held'}, default 'released'
        "released" rolls freely, "held" holds the speed by a controller.
    after : float, default 2.0
        Time that the run goes on for behind the cleat [s].
    envelope : TandemCams, optional
        Enveloping contact; that with its usual sizes unless given.
    h : float, default 1e-3
        Step of the Simulation [s].

    Examples
    --------
    >>> report = rtmbs.vehicle.Cleat(speed=8.0).run(rtmbs.vehicle.read("sedan"))  # doctest: +SKIP
    >>> report["peak_acceleration"]  # doctest: +SKIP
    """

    speed: float
    height: float = 0.01
    length: float = 0.02
    side: str = "both"
    throttle: str = "released"
    after: float = 2.0
    envelope: TandemCams | None = None
    h: float = 1e-3

    def run(self, car: "Car") -> Report:
        """Run the manoeuvre.

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
            For numbers that are not above zero, and another side.
        """
        height, length = number(self.height, "cleat: height"), number(self.length, "cleat: length")
        if height <= 0.0 or length <= 2e-3:
            raise ModelError(f"cleat: height {height:g} must be above zero and length {length:g} above 2 mm")
        envelope = TandemCams() if self.envelope is None else self.envelope
        return run_over(
            car, "cleat", lambda start: cleat(start, height, length), length, speed=self.speed, side=self.side,
            throttle=self.throttle, after=self.after, h=self.h, envelope=envelope,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Hump:
    """Hump: a car rolls over a speed hump with a one-point contact.

    Parameters
    ----------
    speed : float
        Speed at the beginning [m/s].
    height : float, default 0.1
        Height [m].
    length : float, default 3.7
        Length; of a plateau that of its top [m].
    shape : {'watts', 'cosine', 'plateau'}, default 'watts'
        "watts" is a circular arc, "cosine" (h / 2)(1 - cos(2 pi x / l)), "plateau" has ramps of 1 m.
    side : {'both', 'left', 'right'}, default 'both'
        Track that the hump lies in.
    throttle : {'held', 'released'}, default 'held'
        "held" holds the speed by a controller, "released" rolls freely.
    after : float, default 3.0
        Time that the run goes on for behind the hump [s].
    h : float, default 1e-3
        Step of the Simulation [s].

    Examples
    --------
    >>> report = rtmbs.vehicle.Hump(speed=8.0).run(rtmbs.vehicle.read("sedan"))  # doctest: +SKIP
    >>> report["lift_off_time"]  # doctest: +SKIP
    """

    speed: float
    height: float = 0.1
    length: float = 3.7
    shape: str = "watts"
    side: str = "both"
    throttle: str = "held"
    after: float = 3.0
    h: float = 1e-3

    def run(self, car: "Car") -> Report:
        """Run the manoeuvre.

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
            For numbers that are not above zero, another side and another shape.
        """
        height, length = number(self.height, "hump: height"), number(self.length, "hump: length")
        if height <= 0.0 or length <= 0.0:
            raise ModelError(f"hump: height {height:g} and length {length:g} must be above zero")
        if self.shape not in SHAPES:
            raise ModelError(f"hump: shape is {shown(self.shape)}; it must be one of {', '.join(SHAPES)}")
        makers = {
            "watts": lambda start: hump(start, height, length),
            "cosine": lambda start: bump(start, height, length),
            "plateau": lambda start: plateau(start, height, 1.0, length),
        }
        whole = length + (2.0 if self.shape == "plateau" else 0.0)
        return run_over(
            car, "hump", makers[self.shape], whole, speed=self.speed, side=self.side, throttle=self.throttle,
            after=self.after, h=self.h, envelope=None,
        )  # fmt: skip
