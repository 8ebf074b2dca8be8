"""Vertical manoeuvres: four-post rig with sweeps, a road or the linearised car, and obstacles on the road.

The posts have pans that slide: tyres carry, and have no force along the road. Wheels do not turn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, Numbers, as_floats
from rtmbs.model.profiles import Motion
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.studies.analysis.equilibrium import equilibrium
from rtmbs.studies.analysis.linearisation import Linearisation, linearise
from rtmbs.vehicle.axle import CHASSIS
from rtmbs.vehicle.driven_car import DrivenCar
from rtmbs.vehicle.driver import HeldSteering, PedalTable, SpeedController
from rtmbs.vehicle.manoeuvres.report import Manoeuvre, Metric, Plot, Trial, ride_signals, signals_of
from rtmbs.vehicle.manoeuvres.steer_inputs import SineSweep
from rtmbs.vehicle.rest import carrying
from rtmbs.vehicle.roads import CLASSES, ObstacleRoad, ProfileRoad, TandemCams, bump, cleat, hump, iso_8608, plateau

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

MODES: dict[str, dict[str, float]] = {  # signs of the posts
    "heave": {"fl": 1.0, "fr": 1.0, "rl": 1.0, "rr": 1.0},
    "pitch": {"fl": -1.0, "fr": -1.0, "rl": 1.0, "rr": 1.0},
    "roll": {"fl": 1.0, "fr": -1.0, "rl": 1.0, "rr": -1.0},
    "warp": {"fl": 1.0, "fr": -1.0, "rl": -1.0, "rr": 1.0},
}
EVEN = 1e-9  # relative difference of times that is rounding
POST_PLOTS = (
    Plot("Posts", ("post_fl", "post_fr", "post_rl", "post_rr")),
    Plot("Vertical acceleration", ("vertical_acceleration",)),
    Plot("Travel of the wheels", ("travel_fl", "travel_fr", "travel_rl", "travel_rr")),
)


class PostOnRoad:
    """Profile of a post that stands for a wheel on a road: its height at x = speed t - behind.

    Parameters
    ----------
    height : CubicSpline
        Height over x [m].
    ends : tuple[float, float]
        First and last x [m]; the height stays beyond.
    speed : float
        Speed [m/s].
    behind : float
        Distance of the wheel behind the front axle [m].
    """

    def __init__(self, height: Any, ends: tuple[float, float], speed: float, behind: float) -> None:
        self.height, self.ends, self.speed, self.behind = height, ends, speed, behind

    def __call__(self, t: float) -> Motion:
        """Return the height with its first two rates."""
        x, v = self.speed * t - self.behind, self.speed
        inside = self.ends[0] < x < self.ends[1]
        z = float(self.height(min(max(x, self.ends[0]), self.ends[1])))
        return (z, v * float(self.height(x, 1)), v * v * float(self.height(x, 2))) if inside else (z, 0.0, 0.0)


def on_posts(car: "Car", profiles: Mapping[str, Any] | None = None) -> "Car":
    """Return the car on posts with pans that slide; its posts are inputs without profiles."""
    still = carrying(car.changed(steer=0.0))
    return still.changed(posts=True if profiles is None else profiles)


class PostResponse(NamedTuple):
    """Frequency response of a car to its posts.

    Parameters
    ----------
    frequency : ndarray
        Frequencies (k,) [Hz].
    rise : ndarray
        Response of the height of the chassis' centre of mass to the mode of the posts (k,) complex.
    acceleration : ndarray
        Response of its vertical acceleration (k,) complex [1/s^2].
    loads : dict[str, ndarray]
        Responses of the wheel loads by corner (k,) complex [N/m].
    """

    frequency: Array
    rise: Array
    acceleration: Array
    loads: dict[str, Array]


def post_response(car: "Car", frequency: Numbers, mode: str = "heave") -> PostResponse:
    """Return the frequency response of the linearised car on four posts, G = C (i w - A)^-1 B + D.

    Parameters
    ----------
    car : Car
        Car.
    frequency : array_like
        Frequencies (k,) [Hz].
    mode : {'heave', 'pitch', 'roll', 'warp'}, default 'heave'
        All posts in phase; the rear ones against the front ones; the left ones against the right ones; diagonals.

    Returns
    -------
    PostResponse
        Complex responses of the chassis and of the wheel loads to the height of a post with sign plus.

    Raises
    ------
    ModelError
        For frequencies that are not positive numbers, and another mode.
    """
    f = np.atleast_1d(as_floats(frequency))
    if f.ndim != 1 or not np.all(np.isfinite(f) & (f > 0.0)):
        raise ModelError("four-post: frequencies must be finite numbers above zero")
    if mode not in MODES:
        raise ModelError(f"four-post: mode is {shown(mode)}; it must be one of {', '.join(MODES)}")
    lin = post_linearisation(car)
    w = 2j * np.pi * f
    signs, eye = np.array([MODES[mode][name.partition("[")[0][5:]] for name in lin.inputs]), np.eye(len(lin.A))
    given = np.stack((np.ones_like(w), w, w * w), axis=1)  # value, rate and acceleration of each post
    y = []
    for s, u in zip(w, given, strict=True):
        drive = signs * np.tile(u, len(signs) // 3)
        y.append(lin.C @ np.linalg.solve(s * eye - lin.A, lin.B @ drive) + lin.D @ drive)
    found = np.array(y)
    loads = {corner: found[:, 8 + 3 * k] for k, corner in enumerate(car.tyres)}
    arm = rotations(lin.simulation[f"{CHASSIS}.orientation"]) @ car.data.chassis.com
    acceleration = found[:, 2] - found[:, 4] * arm[0] + found[:, 3] * arm[1]
    return PostResponse(f, acceleration / (w * w), acceleration, loads)


def post_linearisation(car: "Car") -> Linearisation:
    """Return the linear equations of the car at rest on its posts.

    Outputs are acceleration and angular acceleration of the chassis, and the forces of the tyres by corner.
    """
    sim = equilibrium(on_posts(car).compile()).simulation
    outputs = [f"{CHASSIS}.acceleration", f"{CHASSIS}.angular_acceleration"]
    outputs += [f"tyre_{corner}.force" for corner in car.tyres]
    return linearise(sim, inputs=[f"post_{corner}" for corner in car.tyres], outputs=outputs)


@dataclass(frozen=True, kw_only=True)
class FourPost(Manoeuvre):
    """Four-post rig: the posts follow a sine sweep in a mode, or a road of ISO 8608 at a speed.

    Parameters
    ----------
    mode : {'heave', 'pitch', 'roll', 'warp', 'road'}, default 'heave'
        Mode of the sweep; "road" takes an ISO 8608 road.
    amplitude : float, default 0.005
        Amplitude of the sweep at its first frequency [m]; it falls with 1 / frequency, so its velocity is constant.
    low : float, default 0.5
        First frequency [Hz].
    high : float, default 20.0
        Last frequency [Hz].
    duration : float, default 20.0
        Duration of sweep or road [s].
    road_class : {'A', ..., 'H'}, default 'C'
        Class of the road.
    speed : float, default 20.0
        Speed on the road [m/s]; the rear posts follow by the wheelbase.
    seed : int, default 0
        Seed of the road.
    after : float, default 2.0
        Time that the run goes on for [s]: at rest after a sweep, and on along a road, which is longer by it. Metrics
        are those of ``duration``, without it.
    h : float, default 1e-3
        Step of the Simulation [s].

    Examples
    --------
    >>> report = rtmbs.vehicle.FourPost(mode="road", road_class="B").run(  # doctest: +SKIP
    ...     rtmbs.vehicle.read("sedan")
    ... )
    >>> report["rms_acceleration"]  # doctest: +SKIP
    """

    words: ClassVar[str] = "four-post"
    mode: str = "heave"
    amplitude: float = 0.005
    low: float = 0.5
    high: float = 20.0
    duration: float = 20.0
    road_class: str = "C"
    speed: float = 20.0
    seed: int = 0
    after: float = 2.0
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial of a sweep or a road; options that cannot be are refused."""
        names = ("amplitude", "low", "high", "duration", "speed", "after", "h")
        for name, value in zip(names, self.checked(*names), strict=True):
            if not value > 0.0:
                raise ModelError(f"four-post: {name} is {value:g}; it must be above zero")
        profiles = self.profiles(car)
        rig = on_posts(car, profiles)
        sim = equilibrium(rig.compile()).simulation
        sim.h = self.h
        result = sim.run(self.whole(self.duration + self.after))
        signals = ride_signals(rig, result)
        signals |= {name: result[f"{name}_slide.displacement"] for name in (f"post_{corner}" for corner in rig.tyres)}
        metrics = post_metrics(signals, self.duration)
        return Trial(f"Four-post rig: {self.mode}", metrics, signals, result, plots=POST_PLOTS)

    def profiles(self, car: "Car") -> dict[str, Any]:
        """Return the profiles of the posts by corner.

        Parameters
        ----------
        car : Car
            Car.

        Returns
        -------
        dict
            Profiles that answer (f, fd, fdd) at t [m].

        Raises
        ------
        ModelError
            For another mode or class, and a sweep without two periods of its first frequency.
        """
        if self.mode == "road":
            if self.road_class not in CLASSES:
                raise ModelError(
                    f"four-post: road_class is {shown(self.road_class)}; it must be one of {', '.join(CLASSES)}"
                )
            road = iso_8608(self.road_class, self.speed * (self.duration + self.after), seed=self.seed, lead=2.0)
            return road_posts(car, road, self.speed)
        if self.mode not in MODES:
            raise ModelError(f"four-post: mode is {shown(self.mode)}; it must be one of {', '.join((*MODES, 'road'))}")
        if not self.low < self.high:
            raise ModelError(f"four-post: low is {self.low:g}; it must be below high, which is {self.high:g}")
        if not self.duration * self.low > 2.0:
            raise ModelError(
                f"four-post: duration is {self.duration:g}; it must be above two periods of low, {2.0 / self.low:g} s"
            )
        signs = MODES[self.mode]
        sweeps = {sign: FallingSweep(sign * self.amplitude, self.low, self.high, self.duration) for sign in (1.0, -1.0)}
        return {corner: sweeps[sign] for corner, sign in signs.items()}


class FallingSweep:
    """Sine sweep from t = 0 on whose amplitude falls with its frequency: amplitude low / f.

    Parameters
    ----------
    amplitude : float
        Amplitude at the first frequency [m].
    low : float
        First frequency [Hz].
    high : float
        Last frequency [Hz].
    duration : float
        Duration [s].
    """

    def __init__(self, amplitude: float, low: float, high: float, duration: float) -> None:
        self.sweep, self.rate = SineSweep(0.0, amplitude, low, high, duration), np.log(high / low) / duration

    def __call__(self, t: float) -> Motion:
        """Return the height with its first two rates."""
        f, fd, fdd = self.sweep(t)
        e, r = float(np.exp(-self.rate * t)), self.rate
        return e * f, float(e * (fd - r * f)), float(e * (fdd - 2.0 * r * fd + r * r * f))


def road_posts(car: "Car", road: ProfileRoad, speed: float) -> dict[str, PostOnRoad]:
    """Return the profiles of posts for a road at a speed [m/s]; the rear wheels follow the front ones."""
    front, ends = float(car.data.front.wheel_centre[0]), (float(road.x[0]), float(road.x[-1]))
    found = {}
    for corner in car.tyres:
        behind = front - float(car.axle(corner).wheel_centre[0])
        found[corner] = PostOnRoad(road.track_height(corner[1]), ends, speed, behind)
    return found


def post_metrics(whole: dict[str, Array], duration: float) -> dict[str, Metric]:
    """Return the metrics of a run on posts up to the end of its sweep or road, ``duration`` [s].

    Posts at rest behind it would lower the root mean squares.
    """
    inside = whole["t"] <= duration * (1.0 + EVEN)
    signals = {name: values[inside] for name, values in whole.items()}
    a = signals["vertical_acceleration"]
    metrics = {
        "rms_acceleration": Metric(rms(a), "m/s^2", "root mean square of the vertical acceleration of the chassis"),
        "peak_acceleration": Metric(float(np.max(np.abs(a))), "m/s^2", "its largest value"),
        "rms_post_velocity": Metric(
            rms(np.gradient(signals["post_fl"], signals["t"])), "m/s", "root mean square of the left front post's speed"
        ),
    }
    for corner in ("fl", "fr", "rl", "rr"):
        load, static = signals[f"load_{corner}"], float(signals[f"load_{corner}"][0])
        metrics[f"load_coefficient_{corner}"] = Metric(
            rms(load - static) / static, "1", "root mean square of the dynamic wheel load over the static one"
        )
        metrics[f"smallest_load_{corner}"] = Metric(float(np.min(load)), "N", "smallest wheel load")
        metrics[f"travel_{corner}"] = Metric(float(np.ptp(signals[f"travel_{corner}"])), "m", "range of the travel")
    return metrics


def rms(values: Array) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(values * values)))


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
