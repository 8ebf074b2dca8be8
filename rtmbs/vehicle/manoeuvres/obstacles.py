"""Obstacles: a car drives straight on over a cleat or a hump; ride, suspension travel and wheel loads."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array
from rtmbs.vehicle.axle import CHASSIS
from rtmbs.vehicle.driving.driven_car import DrivenCar
from rtmbs.vehicle.driving.driver import HeldSteering, PedalTable, SpeedController
from rtmbs.vehicle.manoeuvres.manoeuvre import Manoeuvre, Trial
from rtmbs.vehicle.manoeuvres.report import Metric, Plot
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


class Obstacle(Manoeuvre):
    """Frame of cleat and hump: a car that rolls over an obstacle at a speed, on both tracks or one."""

    speed: float
    side: str
    throttle: str
    after: float

    def rolled(self, car: "Car", obstacle: Any, length: float, envelope: TandemCams | None = None) -> Trial:
        """Return the trial of a car that rolls over an obstacle.

        Parameters
        ----------
        car : Car
            Car to test; it is not changed.
        obstacle : callable
            Obstacle of a road, ``obstacle(start)``, by the place of its beginning [m].
        length : float
            Length of the obstacle [m].
        envelope : TandemCams, optional
            Contact of the tyres; one point under each wheel unless given.

        Returns
        -------
        Trial
            Title, metrics, signals and Result.

        Raises
        ------
        ModelError
            For a speed or a time that is not above zero, and for another side or throttle.
        """
        v, after = self.checked("speed", "after")
        if v <= 0.0 or after <= 0.0:
            raise ModelError(f"{self.words}: speed {v:g} and after {after:g} must be above zero")
        for name, value, known in (("side", self.side, SIDES), ("throttle", self.throttle, ("held", "released"))):
            if value not in known:
                raise ModelError(f"{self.words}: {name} is {shown(value)}; it must be one of {', '.join(known)}")
        front, rear = (float(axle.wheel_centre[0]) for axle in (car.data.front, car.data.rear))
        start = front + max(0.5 * v, 1.0)
        road = ObstacleRoad([obstacle(start)], SIDES[self.side])
        rolls = PedalTable(lambda t: 0.0, lambda t: 0.0)
        pedals = rolls if self.throttle == "released" else SpeedController.of_car(car, v)
        driven = DrivenCar(car, v, pedals, HeldSteering(0.0), road=road, envelope=envelope, h=self.h)
        left = (start + length - rear) / v  # when the rear wheels have left it
        result = driven.run(self.whole(1.2 * left + after), until=lambda at: bool(at.t >= left + after))
        signals = signals_of(driven.car, result) | ride_signals(driven.car, result)
        x = result[f"{CHASSIS}.position"][:, 0] + rear
        behind = float(signals["t"][min(int(np.searchsorted(x, start + length)), len(x) - 1)])
        metrics = {"speed": Metric(v, "m/s", "at the beginning")} | obstacle_metrics(car, signals, behind)
        force = sum(result[f"tyre_{corner}.force"][:, 0] for corner in car.tyres)
        metrics["longitudinal_force"] = Metric(float(np.max(np.abs(force))), "N", "largest sum of all wheels")
        return Trial(f"{self.words.capitalize()} at {v:g} m/s", metrics, signals, result, plots=PLOTS)


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
class Cleat(Obstacle):
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

    words: ClassVar[str] = "cleat"
    speed: float
    height: float = 0.01
    length: float = 0.02
    side: str = "both"
    throttle: str = "released"
    after: float = 2.0
    envelope: TandemCams | None = None
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial of a cleat; heights and lengths that cannot be are refused."""
        height, length = self.checked("height", "length")
        if height <= 0.0 or length <= 2e-3:
            raise ModelError(f"cleat: height {height:g} must be above zero and length {length:g} above 2 mm")
        envelope = TandemCams() if self.envelope is None else self.envelope
        return self.rolled(car, lambda start: cleat(start, height, length), length, envelope)


@dataclass(frozen=True, kw_only=True)
class Hump(Obstacle):
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

    words: ClassVar[str] = "hump"
    speed: float
    height: float = 0.1
    length: float = 3.7
    shape: str = "watts"
    side: str = "both"
    throttle: str = "held"
    after: float = 3.0
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial of a hump; sizes and shapes that cannot be are refused."""
        height, length = self.checked("height", "length")
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
        return self.rolled(car, makers[self.shape], whole)
