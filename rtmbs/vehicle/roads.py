"""Roads: height, slopes and friction over (x, y), computed or read from OpenCRG files, and the planes under wheels.

x points along the road, y to the left, z up [m]; slopes are dz/dx and dz/dy. PyOpenCRG reads OpenCRG files.

The tyre law sees a plane z = c + a x + b y of its own, set before each step. The plane at the end of a step is that
under the wheel centre predicted there, r + h v, so the trapezoidal rule sees the road at both ends of a step. The
prediction is off by O(h^2), and the height of the plane by its curvature times the square of that. Newton's matrix has
the slopes of the plane.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rtmbs.errors import ModelError, shown, warn
from rtmbs.model.checks import Array, Numbers, as_floats, number, numbers, switch
from rtmbs.results.tables import needed
from rtmbs.vehicle.axle import CHASSIS, WHEEL, above_zero
from rtmbs.vehicle.trailer import CORNERS as BEHIND
from rtmbs.vehicle.trailer import TRAILER

if TYPE_CHECKING:
    from rtmbs.simulation.simulation import Simulation

Car = Any  # rtmbs.vehicle.Car, which this file serves
Friction = float | Callable[[Any, Any], Any]
STEP = 1e-30  # of the complex step: slopes without differences


class Road:
    """Road with a height, slopes and friction; a road of one's own overrides ``height`` in plain NumPy.

    Parameters
    ----------
    friction : float or function, default 1.0
        Factor on the friction of tyres, or a function of x, y that returns it.
    """

    def __init__(self, friction: Friction = 1.0) -> None:
        if not callable(friction) and not number(friction, "road: friction") > 0.0:
            raise ModelError(f"road: friction is {shown(friction)}; it must be above zero")
        self._friction = friction

    def height(self, x: Any, y: Any) -> Any:
        """Return heights; complex x or y pass through, for the slopes.

        Parameters
        ----------
        x : float or ndarray
            Positions along the road [m].
        y : float or ndarray
            Positions to the left [m].

        Returns
        -------
        float or ndarray
            Heights [m].
        """
        return 0.0 * x + 0.0 * y

    def slopes(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return the slopes dz/dx and dz/dy, by a complex step of ``height``.

        Parameters
        ----------
        x : float or ndarray
            Positions along the road [m].
        y : float or ndarray
            Positions to the left [m].

        Returns
        -------
        tuple
            Slopes along and across the road.
        """
        dx = np.imag(self.height(x + 1j * STEP, y)) / STEP
        return dx, np.imag(self.height(x, y + 1j * STEP)) / STEP

    def friction(self, x: Any, y: Any) -> Any:
        """Return the factor on the friction of tyres.

        Parameters
        ----------
        x : float or ndarray
            Positions along the road [m].
        y : float or ndarray
            Positions to the left [m].

        Returns
        -------
        float or ndarray
            Factor, 1 on the road that a tyre was measured on.
        """
        return self._friction(x, y) if callable(self._friction) else self._friction + 0.0 * np.real(x)


def check_road(road: Any) -> None:
    """Refuse an object that is no road."""
    if not isinstance(road, Road):
        raise ModelError(f"road is {shown(road)}; it must be a Road such as GridRoad")


class PlaneRoad(Road):
    """Inclined plane z = grade x + bank y.

    Parameters
    ----------
    grade : float, default 0.0
        Rise over run along x.
    bank : float, default 0.0
        Rise over run along y.
    friction : float or function, default 1.0
        Factor on the friction of tyres, or a function of x, y that returns it.
    """

    def __init__(self, grade: float = 0.0, bank: float = 0.0, friction: Friction = 1.0) -> None:
        super().__init__(friction)
        self.grade, self.bank = number(grade, "road: grade"), number(bank, "road: bank")

    def height(self, x: Any, y: Any) -> Any:
        """Return heights."""
        return self.grade * x + self.bank * y


def heights(name: str, values: Numbers) -> Array:
    """Return finite numbers of a road."""
    try:
        found = as_floats(values)
    except ValueError:
        raise ModelError(f"road: {name} is {shown(values)}; it must be numbers") from None
    if not np.all(np.isfinite(found)):
        raise ModelError(f"road: {name} has numbers that are not finite; every number must be finite")
    return found


def split_friction(left: float, right: float, start: float = 0.0) -> Callable[[Any, Any], Any]:
    """Return a friction map with one value left and one right of the x axis, and 1 before ``start``.

    Parameters
    ----------
    left : float
        Factor for y > 0.
    right : float
        Factor for y <= 0.
    start : float, default 0.0
        Beginning of the split road [m].

    Returns
    -------
    function
        Friction over x, y.
    """
    above_zero(left, "road: left friction")
    above_zero(right, "road: right friction")

    def friction(x: Any, y: Any) -> Any:
        return np.where(np.real(x) < start, 1.0, np.where(np.real(y) > 0.0, left, right))

    return friction


class GridRoad(Road):
    """Height field on a regular grid, smooth by bicubic splines; beyond its edges the height of the edge goes on.

    Parameters
    ----------
    x : array_like
        Increasing positions along the road (n,) [m], at least 4.
    y : array_like
        Increasing positions to the left (m,) [m], at least 4.
    z : array_like
        Heights (n, m) [m].
    friction : float or function, default 1.0
        Factor on the friction of tyres, or a function of x, y that returns it.

    Raises
    ------
    ModelError
        For positions that do not increase, another shape of the heights, and numbers that are not finite.
    """

    def __init__(self, x: Numbers, y: Numbers, z: Numbers, friction: Friction = 1.0) -> None:
        from scipy.interpolate import RectBivariateSpline  # takes long to load

        super().__init__(friction)
        self.x, self.y, self.z = heights("x", x), heights("y", y), heights("z", z)
        for name, values in (("x", self.x), ("y", self.y)):
            if values.ndim != 1 or len(values) < 4 or not np.all(np.diff(values) > 0.0):
                raise ModelError(f"road: {name} of the grid must be at least four increasing numbers")
        if self.z.shape != (len(self.x), len(self.y)) or not np.all(np.isfinite(self.z)):
            shape = (len(self.x), len(self.y))
            raise ModelError(f"road: heights have shape {self.z.shape}; it must be finite numbers of shape {shape}")
        self._spline = RectBivariateSpline(self.x, self.y, self.z)

    def height(self, x: Any, y: Any) -> Any:
        """Return heights."""
        return self._spline(*self._inside(x, y), grid=False)

    def slopes(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return the slopes dz/dx and dz/dy."""
        u, v = self._inside(x, y)
        dx, dy = self._spline(u, v, dx=1, grid=False), self._spline(u, v, dy=1, grid=False)
        return dx * (u == x), dy * (v == y)

    def _inside(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return positions moved to the nearest ones of the grid."""
        return np.clip(x, self.x[0], self.x[-1]), np.clip(y, self.y[0], self.y[-1])


class ProfileRoad(Road):
    """Profiles of the left and the right track over x, cubic splines; linear in y between both tracks.

    Parameters
    ----------
    x : array_like
        Increasing positions (n,) [m]; heights of the ends go on beyond.
    left : array_like
        Heights of the left track (n,) [m].
    right : array_like, optional
        Heights of the right track (n,) [m]; those of the left one unless given.
    track : float, default 1.5
        Distance of both tracks [m]; beyond them the heights stay.
    friction : float or function, default 1.0
        Factor on the friction of tyres, or a function of x, y that returns it.

    Raises
    ------
    ModelError
        For positions that do not increase and heights of another shape.
    """

    def __init__(
        self, x: Numbers, left: Numbers, right: Numbers = None, *, track: float = 1.5, friction: Friction = 1.0
    ) -> None:
        from scipy.interpolate import CubicSpline  # takes long to load

        super().__init__(friction)
        at, one = heights("x", x), heights("left", left)
        other = one if right is None else heights("right", right)
        rising = at.ndim == 1 and len(at) >= 4 and bool(np.all(np.diff(at) > 0.0))
        if not rising or one.shape != at.shape or other.shape != at.shape:
            raise ModelError("road: x of a profile must be at least four increasing numbers with a height each")
        self.x, self.track = at, above_zero(track, "road: track")
        self._left, self._right = CubicSpline(at, one), CubicSpline(at, other)

    def height(self, x: Any, y: Any) -> Any:
        """Return heights."""
        inside, share = np.clip(x, self.x[0], self.x[-1]), self._share(y)
        return share * self._left(inside) + (1.0 - share) * self._right(inside)

    def slopes(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return the slopes dz/dx and dz/dy."""
        inside, share = np.clip(x, self.x[0], self.x[-1]), self._share(y)
        along = share * self._left(inside, 1) + (1.0 - share) * self._right(inside, 1)
        between = np.abs(y) < 0.5 * self.track
        across = (self._left(inside) - self._right(inside)) / self.track
        return along * (inside == x), across * between

    def track_height(self, side: str) -> Any:
        """Return the spline of one track over x.

        Parameters
        ----------
        side : {'l', 'r'}
            Left or right track.

        Returns
        -------
        CubicSpline
            Height over x, and its derivatives with a second argument.
        """
        return self._left if side == "l" else self._right

    def _share(self, y: Any) -> Any:
        """Return the share of the left track, 0 to 1."""
        return np.clip(0.5 + np.asarray(y) / self.track, 0.0, 1.0)


CLASSES = {name: 16e-6 * 4.0**k for k, name in enumerate("ABCDEFGH")}  # [m^3] Gd(n0), geometric means (ISO 8608)
MOST_SAMPLES = 1e7  # of a random road
N0, LOWEST, HIGHEST = 0.1, 0.011, 2.83  # [1/m] reference and limits of the spatial frequency


def iso_8608(
    road_class: str, length: float, *, seed: int = 0, spacing: float = 0.05, two_tracks: bool = True, lead: float = 20.0
) -> ProfileRoad:
    """Return a random road of ISO 8608: Gd(n) = Gd(n0) (n / n0)^-2 from 0.011 to 2.83 cycles a metre.

    The profile is a sum of cosines at even distances of the frequency with random phases and the amplitudes
    sqrt(2 Gd dn). Both tracks are independent: no coherence between them is modelled.

    Parameters
    ----------
    road_class : {'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'}
        Class; the geometric mean of its roughness.
    length : float
        Length behind the lead [m].
    seed : int, default 0
        Seed of the phases.
    spacing : float, default 0.05
        Distance of the samples [m].
    two_tracks : bool, default True
        Independent tracks; without, both are alike.
    lead : float, default 20.0
        Flat beginning [m]; the profile then grows over another 5 m.

    Returns
    -------
    ProfileRoad
        Road from x = 0 on.

    Raises
    ------
    ModelError
        For an unknown class and for a length that is not positive.
    """
    if road_class not in CLASSES:
        raise ModelError(f"road: class is {shown(road_class)}; it must be one of {', '.join(CLASSES)}")
    size = number(length, "road: length")
    if size <= 0.0:
        raise ModelError(f"road: length is {size:g}; it must be above zero")
    if number(lead, "road: lead") < 0.0:
        raise ModelError(f"road: lead is {lead:g}; it must be zero or more")
    if (size + lead) / above_zero(spacing, "road: spacing") > MOST_SAMPLES:
        raise ModelError(
            f"road: length {size:g} at the spacing {spacing:g} is too long; {MOST_SAMPLES:g} points at most"
        )
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ModelError(f"road: seed is {shown(seed)}; it must be a whole number, zero or more")
    rng = np.random.default_rng(seed)
    x = np.arange(0.0, lead + size + spacing, spacing)
    fade = np.clip((x - lead) / 5.0, 0.0, 1.0)
    fade = fade * fade * (3.0 - 2.0 * fade)
    tracks = [fade * profile_8608(x, CLASSES[road_class], size, rng) for _ in range(1 + bool(two_tracks))]
    return ProfileRoad(x, tracks[0], tracks[-1])


def profile_8608(x: Array, roughness: float, length: float, rng: np.random.Generator) -> Array:
    """Return heights (n,) of one profile at x (n,) [m] with Gd(n0) = ``roughness`` [m^3]."""
    step = 1.0 / max(length, 1.0 / LOWEST)
    n = np.arange(LOWEST, HIGHEST, step)
    amplitudes = np.sqrt(2.0 * roughness * (n / N0) ** -2 * step)
    phases = rng.uniform(0.0, 2.0 * np.pi, len(n))
    z = np.zeros_like(x)
    for amplitude, frequency, phase in zip(amplitudes.tolist(), n.tolist(), phases.tolist(), strict=True):
        z += amplitude * np.cos(2.0 * np.pi * frequency * x + phase)
    return z


class ObstacleRoad(Road):
    """Obstacles across a flat road: cosine bump, circular hump, plateau and cleat.

    Parameters
    ----------
    obstacles : sequence of functions
        Heights over x, as ``bump``, ``hump``, ``plateau`` and ``cleat`` return them; they add up.
    y_range : tuple[float, float], optional
        Lateral interval of the obstacles [m]; the whole width unless given.
    friction : float or function, default 1.0
        Factor on the friction of tyres, or a function of x, y that returns it.
    """

    def __init__(
        self,
        obstacles: Sequence[Callable[[Any], Any]],
        y_range: tuple[float, float] | None = None,
        friction: Friction = 1.0,
    ) -> None:
        super().__init__(friction)
        if not isinstance(obstacles, Sequence) or not all(map(callable, obstacles)):
            raise ModelError(
                f"road: obstacles is {shown(obstacles)}; it must be a list of them, such as [bump(5, 0.1, 1)]"
            )
        if y_range is not None:
            low, high = numbers(y_range, "road: y_range", (2,)).tolist()
            if not low < high:
                raise ModelError(f"road: y_range is {shown(y_range)}; its first number must be below its second one")
        self.obstacles, self.y_range = tuple(obstacles), y_range

    def height(self, x: Any, y: Any) -> Any:
        """Return heights."""
        found = sum((one(x) for one in self.obstacles), 0.0 * x) + 0.0 * y
        if self.y_range is None:
            return found
        inside = (np.real(y) >= self.y_range[0]) & (np.real(y) <= self.y_range[1])
        return np.where(inside, found, 0.0)


def bump(start: float, height: float, length: float) -> Callable[[Any], Any]:
    """Return a cosine bump (h / 2)(1 - cos(2 pi x / l)).

    Parameters
    ----------
    start : float
        Beginning [m].
    height : float
        Height [m].
    length : float
        Length [m].

    Returns
    -------
    function
        Height over x.
    """
    check_obstacle("bump", start, height, length=length)

    def of(x: Any) -> Any:
        u = (x - start) / length
        inside = (np.real(u) > 0.0) & (np.real(u) < 1.0)
        return np.where(inside, 0.5 * height * (1.0 - np.cos(2.0 * np.pi * u)), 0.0)

    return of


def hump(start: float, height: float = 0.1, length: float = 3.7) -> Callable[[Any], Any]:
    """Return a circular hump (Watts profile): an arc of the length and height.

    Parameters
    ----------
    start : float
        Beginning [m].
    height : float, default 0.1
        Height [m].
    length : float, default 3.7
        Length [m].

    Returns
    -------
    function
        Height over x.
    """
    check_obstacle("hump", start, above_zero(height, "hump: height"), length=length)
    radius = (0.25 * length * length + height * height) / (2.0 * height)

    def of(x: Any) -> Any:
        u = x - start - 0.5 * length
        inside = np.abs(np.real(u)) < 0.5 * length
        return np.where(inside, np.sqrt(np.where(inside, radius**2 - u * u, 1.0)) - radius + height, 0.0)

    return of


def plateau(start: float, height: float = 0.1, ramp: float = 1.0, top: float = 6.0) -> Callable[[Any], Any]:
    """Return a plateau hump with straight ramps.

    Parameters
    ----------
    start : float
        Beginning [m].
    height : float, default 0.1
        Height [m].
    ramp : float, default 1.0
        Length of each ramp [m].
    top : float, default 6.0
        Length of the top [m].

    Returns
    -------
    function
        Height over x.

    Raises
    ------
    ModelError
        For a ramp that is not above zero, and a top below zero.
    """
    check_obstacle("plateau", start, height, ramp=ramp)
    if number(top, "plateau: top") < 0.0:
        raise ModelError(f"plateau: top is {top:g}; it must be zero or more")

    def of(x: Any) -> Any:
        u, v = (x - start) / ramp, (start + 2.0 * ramp + top - x) / ramp
        up, down = (np.where(np.real(w) < 0.0, 0.0, np.where(np.real(w) > 1.0, 1.0, w)) for w in (u, v))
        return height * np.where(np.real(u) < np.real(v), up, down)

    return of


def cleat(start: float, height: float = 0.02, length: float = 0.03, edge: float = 1e-3) -> Callable[[Any], Any]:
    """Return a trapezoidal cleat; a wheel needs the enveloping contact for it.

    Parameters
    ----------
    start : float
        Beginning [m].
    height : float, default 0.02
        Height [m].
    length : float, default 0.03
        Length [m].
    edge : float, default 1e-3
        Length of each edge [m].

    Returns
    -------
    function
        Height over x.

    Raises
    ------
    ModelError
        For a length below twice the edge, and sizes that are not above zero.
    """
    check_obstacle("cleat", start, height, length=length, edge=edge)
    if length < 2.0 * edge:
        raise ModelError(f"cleat: length is {length:g}; it must be twice the edge of {edge:g} or more")
    return plateau(start, height, edge, length - 2.0 * edge)


def check_obstacle(what: str, start: float, height: float, **lengths: float) -> None:
    """Refuse places and heights that are no numbers, and lengths that are not above zero."""
    number(start, f"{what}: start")
    number(height, f"{what}: height")
    for name, value in lengths.items():
        above_zero(value, f"{what}: {name}")


class OpenCrgRoad(Road):
    """Road of an OpenCRG file: heights on a grid along a curved reference line, with its slope and banking.

    Heights are bilinear between the points of the grid, as the standard has it, so slopes jump there. Beyond the file
    its border modes hold.

    Parameters
    ----------
    path : str or path
        File (.crg) in a text or a binary format.
    modifiers : bool, default True
        Apply the modifiers of the file. By the standard a file without any is moved: its reference line starts at the
        origin with heading 0. False keeps the coordinates of the file.
    friction : float or function, default 1.0
        Factor on the friction of tyres, or a function of x, y that returns it.

    Raises
    ------
    InputError
        Without the package PyOpenCRG.
    ModelError
        For a file that is missing or damaged.

    Examples
    --------
    >>> road = rtmbs.vehicle.OpenCrgRoad("belgian_block.crg")  # doctest: +SKIP
    >>> road.height(10.0, 0.5)  # doctest: +SKIP
    """

    def __init__(self, path: str | os.PathLike[str], modifiers: bool = True, friction: Friction = 1.0) -> None:
        super().__init__(friction)
        library = needed("pyopencrg", "a road of OpenCRG", "crg")
        self.path = str(path)
        try:
            self._road = library.read(self.path, apply_mods=switch(modifiers, "road: modifiers"))
        except (OSError, ValueError, library.CrgCheckError) as error:
            raise ModelError(f"road: {shown(self.path)} cannot be read: {error}; it must be an OpenCRG file") from None

    def height(self, x: Any, y: Any) -> Any:
        """Return heights.

        Raises
        ------
        ModelError
            Where the file has no height.
        """
        return self._known(self._road.xy_to_z(np.real(x), np.real(y)), x, y)

    def slopes(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return the slopes dz/dx and dz/dy.

        Raises
        ------
        ModelError
            Where the file has no height.
        """
        nx, ny, nz = self._road.xy_to_normal(np.real(x), np.real(y))
        self._known(nz, x, y)
        return -np.asarray(nx) / nz, -np.asarray(ny) / nz

    def _known(self, values: Any, x: Any, y: Any) -> Any:
        """Return values; refuse places without a height."""
        lost = np.isnan(values)
        if np.any(lost):
            place = [float(np.broadcast_to(np.real(one), np.shape(values))[lost][0]) for one in (x, y)]
            raise ModelError(
                f"road: {shown(self.path)} has no height at x = {place[0]:g}, y = {place[1]:g}; it must be a place on "
                "the road, under each wheel"
            )
        return values


SAMPLES = 241  # of a cam
DEEP, FLOATS = 4.0, 0.05  # [deflections of the nominal load, m] of a wheel at the start, beyond which it is told


@dataclass(frozen=True)
class TandemCams:
    """Enveloping contact by tandem elliptic cams (Schmeitz 2004): two cams on each of two tracks of a wheel.

    A cam is the lower half of the ellipse (x / a)^c + (z / b)^c = 1. It is lowered until it meets the road. The
    effective height is the mean of the cams, the effective slope their difference over the distance.

    Parameters
    ----------
    a : float, default 1.05
        Half length of the ellipse over the free radius of the tyre.
    b : float, default 1.05
        Half height of the ellipse over the free radius.
    c : float, default 1.8
        Exponent of the ellipse.
    shift : float, default 0.12
        Distance of the front and the rear cam [m]; 0.8 times the contact length.
    width : float, default 0.12
        Distance of both tracks [m].
    """

    a: float = 1.05
    b: float = 1.05
    c: float = 1.8
    shift: float = 0.12
    width: float = 0.12

    def __post_init__(self) -> None:
        for name in ("a", "b", "c", "shift", "width"):
            if not number(getattr(self, name), f"cams: {name}") > 0.0:
                raise ModelError(f"cams: {name} is {getattr(self, name):g}; it must be above zero")

    def plane(self, road: Road, place: Array, ahead: Array, radius: float) -> tuple[float, float, float]:
        """Return height and slopes of the effective plane under a wheel.

        Parameters
        ----------
        road : Road
            Road.
        place : ndarray
            Position (2,) of the wheel centre [m].
        ahead : ndarray
            Direction (2,) of the wheel in the road, a unit vector.
        radius : float
            Free radius of the tyre [m].

        Returns
        -------
        tuple[float, float, float]
            Height at the place [m] and slopes along and across the wheel.
        """
        left = np.array((-ahead[1], ahead[0]))
        u = np.linspace(-1.0, 1.0, SAMPLES)
        drop = self.b * radius * (1.0 - (1.0 - np.abs(u) ** self.c) ** (1.0 / self.c))
        found = np.empty((2, 2))
        for i, along in enumerate((-0.5 * self.shift, 0.5 * self.shift)):
            for k, across in enumerate((-0.5 * self.width, 0.5 * self.width)):
                reach = (along + self.a * radius * u)[:, None] * ahead + across * left + place
                found[i, k] = np.max(np.real(road.height(reach[:, 0], reach[:, 1])) - drop)
        (rear, front), (right, inner) = found.mean(axis=1), found.mean(axis=0)
        return float(found.mean()), float((front - rear) / self.shift), float((inner - right) / self.width)


class RoadUnderWheels:
    """Road of a car in a Simulation: sets the plane and the friction of each tyre for the end of the next step.

    Parameters
    ----------
    simulation : Simulation
        Simulation of a car with the option ``uneven``.
    car : Car
        Car of the Simulation.
    road : Road
        Road.
    envelope : TandemCams, optional
        Enveloping contact for obstacles shorter than the contact; one point unless given.

    Raises
    ------
    ModelError
        For a car without the option ``uneven`` and an object that is no road.

    Examples
    --------
    >>> car = rtmbs.vehicle.read("sedan", uneven=True, steer=0.0).at_speed(10.0)
    >>> sim = rtmbs.Simulation(car.compile(), h=1e-3)
    >>> road = rtmbs.vehicle.ObstacleRoad([rtmbs.vehicle.bump(5.0, 0.05, 1.0)])
    >>> under = rtmbs.vehicle.RoadUnderWheels(sim, car, road)
    >>> for _ in range(10):
    ...     under.act()
    ...     report = sim.step()
    """

    def __init__(self, simulation: "Simulation", car: Car, road: Road, envelope: TandemCams | None = None) -> None:
        check_road(road)
        if not car.options["uneven"]:
            raise ModelError(f"car {car.name!r} stands on one plane; it must have the option uneven=True for a road")
        self.simulation, self.car, self.road, self.envelope = simulation, car, road, envelope
        self._tyres = dict(car.tyres)
        if car.options["trailer"] is not None:
            self._tyres |= dict.fromkeys(BEHIND, car.trailer_tyre)
        self._names = [f"{WHEEL}_{corner}.{what}" for corner in self._tyres for what in ("position", "velocity")]
        for corner, values in self.under(0.0).items():
            simulation.inputs[f"tyre_{corner}.plane"], simulation.inputs[f"tyre_{corner}.friction"] = values
        simulation.inputs.ramp(*(f"tyre_{corner}.{name}" for corner in self._tyres for name in ("plane", "friction")))
        self._tell_a_wrong_height()

    def _tell_a_wrong_height(self) -> None:
        """Warn of wheels that begin deep in the road or above it: a car may be one that was not given its road."""
        wrong = []
        for corner, ((c, a, b), _) in self.under(0.0).items():
            tyre, (x, y, z) = self._tyres[corner], self.simulation[f"{WHEEL}_{corner}.position"]
            sunk = tyre.free_radius - float(z - c - a * x - b * y) / float(np.sqrt(1.0 + a * a + b * b))
            if not -FLOATS < sunk < DEEP * tyre.nominal_load / tyre.vertical_stiffness:
                where = f"{sunk:.3g} m deep in the road" if sunk > 0.0 else f"{-sunk:.3g} m above the road"
                wrong.append(f"{WHEEL}_{corner} begins {where}")
        if wrong:
            told = "give the road to at_speed, begin where it is even, or give the initial value of chassis_pose"
            warn(f"car {self.car.name!r}: {', '.join(wrong)}; {told}")

    def act(self) -> None:
        """Set planes and friction for the end of the next step."""
        inputs: Any = self.simulation.inputs
        for corner, (plane, friction) in self.under(self.simulation.h).items():
            inputs[f"tyre_{corner}.plane"] = plane
            if friction != inputs[f"tyre_{corner}.friction"]:
                inputs[f"tyre_{corner}.friction"] = friction

    def under(self, ahead: float) -> dict[str, tuple[tuple[float, float, float], float]]:
        """Return plane (c, a, b) and friction by corner.

        Parameters
        ----------
        ahead : float
            Time that the wheel centres are predicted for [s].

        Returns
        -------
        dict
            Plane in axes of the road and factor on the friction.
        """
        at = self.simulation.read(self._names).reshape(len(self._tyres), 2, 3)
        centres = at[:, 0] + ahead * at[:, 1]
        x, y = centres[:, 0], centres[:, 1]
        if self.envelope is None:
            dx, dy = self.road.slopes(x, y)
            over = centres[:, 2] - np.real(self.road.height(x, y))
            x, y = x + over * dx, y + over * dy  # foot of the normal through the wheel centre
            dx, dy = self.road.slopes(x, y)
            z = np.real(self.road.height(x, y))
        else:
            z, dx, dy = np.array([self.enveloped(k, centre) for k, centre in enumerate(centres)]).T
        friction = np.broadcast_to(self.road.friction(x, y), x.shape)
        c = z - dx * x - dy * y
        return {
            corner: ((float(c[k]), float(dx[k]), float(dy[k])), float(friction[k]))
            for k, corner in enumerate(self._tyres)
        }

    def enveloped(self, k: int, centre: Array) -> tuple[float, float, float]:
        """Return height and slopes along x and y of the effective plane under wheel ``k``.

        Parameters
        ----------
        k : int
            Place of the corner.
        centre : ndarray
            Wheel centre (3,) [m].

        Returns
        -------
        tuple[float, float, float]
            Height [m], dz/dx and dz/dy.
        """
        assert self.envelope is not None
        corner = list(self._tyres)[k]
        body = TRAILER if corner in BEHIND else CHASSIS  # wheels steer little against the length of a cam
        q0, _, _, q3 = self.simulation[f"{body}.orientation"]
        heading = 2.0 * np.arctan2(q3, q0)
        ahead = np.array((np.cos(heading), np.sin(heading)))
        z, along, across = self.envelope.plane(self.road, centre[:2], ahead, self._tyres[corner].free_radius)
        c, s = ahead
        return z, along * c - across * s, along * s + across * c
