"""Description of one axle: parts, joints, laws of springs and dampers, and anti-roll bar of its left side.

The right side mirrors the left one unless it is given. Points and axes are in the chassis frame (ISO 8855: x forward,
y left, z up) at design, where every joint is closed. A force f > 0 of a spring or damper pushes its points apart; l is
their distance.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.library.force_laws import Curve
from rtmbs.model import Revolute, TorsionSpring
from rtmbs.model.checks import Array, Numbers, as_floats, direction, number, numbers
from rtmbs.model.forces import Kinematics, SpringDamper

if TYPE_CHECKING:
    from rtmbs.model import Model

STRAIGHT = 1e-12  # change of slope between pieces of a table, relative to the steepest: one straight line
Table = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Stops:
    """Bump stop below ``min_length`` and rebound stop above ``max_length``: tables of force by travel into them.

    Tables are piecewise linear, and held beyond their last point.

    Parameters
    ----------
    min_length : float
        Length at which the bump stop begins [m].
    max_length : float
        Length at which the rebound stop begins [m].
    bump : Sequence[Sequence[float]]
        Pairs of travel [m] and force [N] of the bump stop, which pushes the points apart.
    rebound : Sequence[Sequence[float]]
        Pairs of travel [m] and force [N] of the rebound stop, which pulls the points together.
    """

    min_length: float
    max_length: float
    bump: Table
    rebound: Table

    def __post_init__(self) -> None:
        low, high = (number(getattr(self, name), f"stops: {name}") for name in ("min_length", "max_length"))
        if not low < high:
            raise ModelError(f"stops: min_length is {low:g}; it must be below max_length, which is {high:g}")
        for name in ("bump", "rebound"):
            x, y = checked_table(getattr(self, name), f"stops: {name}")
            if x[0] != 0.0 or y[0] != 0.0:
                raise ModelError(
                    f"stops: {name} begins with {shown((float(x[0]), float(y[0])))}; it must begin with travel 0 and "
                    "force 0"
                )

    def force(self, length: Any) -> Any:
        """Return the force of both stops; tables are held beyond their last point.

        Parameters
        ----------
        length : float or ndarray
            Distance of the points [m].

        Returns
        -------
        float or ndarray
            Force [N], positive when it pushes the points apart.
        """
        bump, rebound = curve_of(self.bump), curve_of(self.rebound)
        into, beyond = np.maximum(self.min_length - length, 0.0), np.maximum(length - self.max_length, 0.0)
        return bump(into) - rebound(beyond)


@dataclass(frozen=True)
class Spring:
    """Spring between two points: f = preload - stiffness (l - free_length) + stops, or a table of the force.

    f > 0 pushes the points apart; l is their distance.

    Parameters
    ----------
    free_length : float
        Length at which stiffness or table give no force [m].
    preload : float, default 0.0
        Force at the free length [N].
    stiffness : float, optional
        Stiffness of a linear spring [N/m].
    table : Sequence[Sequence[float]], optional
        Pairs of stretch l - free_length [m] and force that resists it [N], in place of a stiffness.
    stops : Stops, optional
        Bump and rebound stop.

    Examples
    --------
    >>> spring = rtmbs.vehicle.Spring(free_length=0.4, stiffness=25000.0)
    >>> round(spring.force(0.3))
    2500
    """

    free_length: float
    preload: float = 0.0
    stiffness: float | None = None
    table: Table | None = None
    stops: Stops | None = None

    def __post_init__(self) -> None:
        number(self.preload, "spring: preload")
        check_sizes("spring", free_length=self.free_length, stiffness=self.stiffness)
        check_law("spring", "stiffness", self.stiffness, self.table)
        if not isinstance(self.stops, Stops | None):
            raise ModelError(f"spring: stops is {shown(self.stops)}; it must be Stops")

    def force(self, length: Any) -> Any:
        """Return the force at a length.

        Parameters
        ----------
        length : float or ndarray
            Distance of the points [m].

        Returns
        -------
        float or ndarray
            Force [N], positive when it pushes the points apart.
        """
        stretch = length - self.free_length
        elastic = self.stiffness * stretch if self.table is None else curve_of(self.table)(stretch)
        return self.preload - elastic + (0.0 if self.stops is None else self.stops.force(length))

    def law(self) -> SpringDamper | Callable[..., Any]:
        """Return the law of a force between two markers.

        Returns
        -------
        SpringDamper or function
            A SpringDamper for a linear spring without stops; a function (t, kinematics, parameters) otherwise.
        """
        if self.table is None and self.stops is None:
            assert self.stiffness is not None
            return SpringDamper(stiffness=self.stiffness, damping=0.0, length=self.free_length + self.shift())

        def spring(t: float, kinematics: Kinematics, parameters: Mapping[str, Any]) -> Any:
            return -self.force(np.sqrt(np.dot(kinematics.r, kinematics.r)))

        return spring

    def shift(self) -> float:
        """Return the length that a preload adds to the free length of a linear spring.

        Returns
        -------
        float
            Length preload / stiffness [m].

        Raises
        ------
        ModelError
            For a preload without a stiffness.
        """
        if not self.stiffness:
            if self.preload:
                raise ModelError("spring: preload needs a stiffness above zero; it must have one")
            return 0.0
        return self.preload / self.stiffness


@dataclass(frozen=True)
class Damper:
    """Damper between two points: f = -damping dl/dt, or a table of the force against the motion by dl/dt.

    f > 0 pushes the points apart; l is their distance.

    Parameters
    ----------
    damping : float, optional
        Damping of a linear damper [N s/m].
    table : Sequence[Sequence[float]], optional
        Pairs of rate dl/dt [m/s] and force against the motion [N], in place of a damping.

    Examples
    --------
    >>> damper = rtmbs.vehicle.Damper(damping=1500.0)
    >>> damper.force(0.1)
    -150.0
    """

    damping: float | None = None
    table: Table | None = None  # force against the motion [N] by rate [m/s]

    def __post_init__(self) -> None:
        check_sizes("damper", damping=self.damping)
        check_law("damper", "damping", self.damping, self.table)

    def force(self, rate: Any) -> Any:
        """Return the force at a rate of the length.

        Parameters
        ----------
        rate : float or ndarray
            Rate of the distance of the points dl/dt [m/s].

        Returns
        -------
        float or ndarray
            Force [N], positive when it pushes the points apart.
        """
        if self.table is not None:
            return -Curve(*knots_of(self.table))(rate)
        assert self.damping is not None
        return -self.damping * rate

    def law(self) -> SpringDamper | Callable[..., Any]:
        """Return the law of a force between two markers.

        Returns
        -------
        SpringDamper or function
            A SpringDamper for a linear damper; a function (t, kinematics, parameters) for a table.
        """
        if self.table is None:
            assert self.damping is not None
            return SpringDamper(stiffness=0.0, damping=self.damping, length=1.0)

        def damper(t: float, kinematics: Kinematics, parameters: Mapping[str, Any]) -> Any:
            length = np.sqrt(np.dot(kinematics.r, kinematics.r))
            return -self.force(np.dot(kinematics.r, kinematics.v) / length)

        return damper


StrutLaw = Spring | Damper


def above_zero(value: Numbers, what: str) -> float:
    """Return a number that must be above zero."""
    found = number(value, what)
    if not found > 0.0:
        raise ModelError(f"{what} is {found:g}; it must be above zero")
    return found


def check_sizes(what: str, **values: float | None) -> None:
    """Refuse numbers below zero; None is one that is not given."""
    for name, value in values.items():
        if value is not None and number(value, f"{what}: {name}") < 0.0:
            raise ModelError(f"{what}: {name} is {value:g}; it must be zero or more")


def check_law(what: str, name: str, value: float | None, table: Table | None) -> None:
    """Refuse a law without a number and a table, and one with both."""
    if (value is None) == (table is None):
        given = "both are given" if table is not None else "neither is given"
        raise ModelError(f"{what}: {name} or table; {given}, it must be one of them")
    if table is not None:
        checked_table(table, f"{what}: table")


def checked_table(table: Table, what: str) -> Array:
    """Return the columns (2, k) of a table of pairs whose first numbers increase."""
    try:
        pairs = as_floats(table)
    except ValueError:
        pairs = np.zeros(0)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) < 2 or not np.all(np.isfinite(pairs)):
        raise ModelError(f"{what} is {shown(table)}; it must be two pairs of finite numbers or more")
    if not np.all(np.diff(pairs[:, 0]) > 0.0):
        raise ModelError(f"{what} is {shown(table)}; the first numbers of its pairs must increase")
    return pairs.T


def knots_of(table: Table) -> tuple[Array, Array]:
    """Return knots and values of a table, without knots on straight lines."""
    x, y = (np.array(column, dtype=float) for column in zip(*table, strict=True))
    slope = np.diff(y) / np.diff(x)
    bends = np.abs(np.diff(slope)) > STRAIGHT * np.max(np.abs(slope), initial=1e-300)
    kept = np.concatenate(([True], bends, [True]))
    return x[kept], y[kept]


def curve_of(table: Table) -> Curve:
    """Return a table that is piecewise linear and held at its end values."""
    return Curve(*knots_of(table), outside="hold")


CHASSIS = "chassis"


@dataclass(frozen=True)
class AntiRollBar:
    """Anti-roll bar: two half bars about the y axis of the chassis with a torsion spring between them.

    The left half carries the right one. Each ends at (arm, +-half_width, 0) from ``origin``. A massless drop link leads
    from there by ``drop`` in z to the part it is attached to. For small roll the torque is stiffness times the
    difference of the travels over ``arm``.

    Parameters
    ----------
    origin : ndarray
        Middle of the bar (3,) in the chassis frame [m].
    half_width : float
        Distance of a drop link from the middle along y [m].
    arm : float
        Distance of the drop link from the axis along x [m].
    drop : float
        Distance of the part from the end of the arm along z [m].
    stiffness : float
        Torsional stiffness of the whole bar [N m/rad].
    damping : float, default 0.0
        Torsional damping [N m s/rad].
    mass : float, default 1.0
        Mass of one half, with its centre at half of the half width [kg].
    moments : tuple[float, float, float], default (0.1, 0.002, 0.1)
        Moments of inertia of one half about its centre, chassis axes [kg m^2].
    part : str, default "lower_arm"
        Part of the suspension that the drop links are attached to.
    """

    origin: Array  # middle of the bar, chassis frame [m]
    half_width: float  # [m]
    arm: float  # from the axis to the drop link, along x [m]
    drop: float  # from the end of the arm to the part, along z [m]
    stiffness: float  # of the whole bar [N m/rad]
    damping: float = 0.0  # [N m s/rad]
    mass: float = 1.0  # of one half, centre at half of the half width [kg]
    moments: tuple[float, float, float] = (0.1, 0.002, 0.1)  # of one half about its centre, chassis axes [kg m2]
    part: str = "lower_arm"

    def __post_init__(self) -> None:
        numbers(self.origin, "anti-roll bar: origin", (3,))
        numbers(self.moments, "anti-roll bar: moments", (3,))
        number(self.drop, "anti-roll bar: drop")
        check_sizes("anti-roll bar", stiffness=self.stiffness, damping=self.damping)
        for name in ("half_width", "mass"):
            above_zero(getattr(self, name), f"anti-roll bar: {name}")
        if number(self.arm, "anti-roll bar: arm") == 0.0:
            raise ModelError("anti-roll bar: arm is 0; it must have a length along x")


def add_anti_roll_bar(model: "Model", axle: str, bar: AntiRollBar, frame: Array, ends: list[str]) -> None:
    """Add an anti-roll bar to axle "f" or "r" with its drop links on two bodies, left and right.

    ``frame`` is the chassis frame in the world at design [m].
    """
    middle = frame + bar.origin
    halves = {}
    for side, sign in (("l", 1.0), ("r", -1.0)):
        halves[side] = f"half_bar_{axle}{side}"
        place = middle + np.array([0.0, 0.5 * sign * bar.half_width, 0.0])
        model.add_body(halves[side], mass=bar.mass, inertia=bar.moments, position=place)
    support = middle + np.array([0.0, 0.5 * bar.half_width, 0.0])
    model.add_joint(f"bar_support_{axle}", Revolute((0.0, 1.0, 0.0)), CHASSIS, halves["l"], point=support)
    twist = f"bar_twist_{axle}"
    model.add_joint(twist, Revolute((0.0, 1.0, 0.0)), halves["l"], halves["r"], point=middle)
    spring = TorsionSpring(stiffness=bar.stiffness, damping=bar.damping)
    model.add_force(f"anti_roll_bar_{axle}", spring, joint=twist)
    for body, side, sign in zip(ends, "lr", (1.0, -1.0), strict=True):
        end = middle + np.array([bar.arm, sign * bar.half_width, 0.0])
        name = f"drop_link_{axle}{side}"
        model.add_marker(f"{name}.a", halves[side], end)
        model.add_marker(f"{name}.b", body, end + np.array([0.0, 0.0, bar.drop]))
        model.add_rod(name, (f"{name}.a", f"{name}.b"))


RACK, WHEEL, UPRIGHT = "steering_link", "wheel", "upright"
MIRROR = np.array([1.0, -1.0, 1.0])
FARTHEST = 30.0  # [m] from the chassis frame: no part of a car is so far away
Kind = Literal["revolute", "spherical", "universal", "distance", "line", "free"]


@dataclass(frozen=True)
class Part:
    """Rigid part of a car, left side, with points and axes of the chassis frame at design.

    Parameters
    ----------
    name : str
        Name of the part, without a corner.
    mass : float
        Mass [kg].
    com : ndarray
        Centre of mass (3,) [m].
    inertia : ndarray
        Inertia (3, 3), or moments (3,), about the centre of mass, chassis axes [kg m^2].
    """

    name: str
    mass: float
    com: Array
    inertia: Array

    def __post_init__(self) -> None:
        what = f"part {self.name!r}"
        if number(self.mass, f"{what}: mass") < 0.0:
            raise ModelError(f"{what}: mass is {self.mass:g}; it must be zero or more")
        shape = np.shape(self.inertia)
        if shape not in ((3,), (3, 3)):
            raise ModelError(f"{what}: inertia has shape {shape}; give 3 numbers or 3 x 3")
        given = numbers(self.inertia, f"{what}: inertia", shape)
        object.__setattr__(self, "com", numbers(self.com, f"{what}: com", (3,)))
        object.__setattr__(self, "inertia", np.diag(given) if given.shape == (3,) else given)

    def mirrored(self) -> Self:
        """Return the part of the right side.

        Returns
        -------
        Part
            Part with the signs of y reversed.
        """
        return replace(self, com=MIRROR * self.com, inertia=self.inertia * np.outer(MIRROR, MIRROR))


@dataclass(frozen=True)
class Connection:
    """Joint or massless rod between two parts, left side, chassis frame at design.

    Parameters
    ----------
    name : str
        Name of the joint, without a corner.
    kind : {'revolute', 'spherical', 'universal', 'distance', 'line', 'free'}
        Kind of the joint; "distance" is a massless rod.
    a : str
        Part that the joint starts from.
    b : str
        Part that the joint leads to.
    point : ndarray
        Joint point (3,) [m]; of a rod its end on a.
    axis : ndarray, optional
        Unit vector (3,) of a revolute or a line; of a universal joint the axis that a carries.
    axis_b : ndarray, optional
        Unit vector (3,) of a universal joint that b carries.
    point_b : ndarray, optional
        End (3,) of a rod on b [m].
    """

    name: str
    kind: Kind
    a: str
    b: str
    point: Array  # of a rod: its end on a
    axis: Array | None = None  # of a revolute, a line; of a universal joint: the axis that a carries
    axis_b: Array | None = None  # of a universal joint: the axis that b carries
    point_b: Array | None = None  # of a rod: its end on b

    def mirrored(self) -> Self:
        """Return the joint of the right side.

        Returns
        -------
        Connection
            Joint with the signs of y reversed in its points and axes.
        """
        axis, axis_b, point_b = (
            None if one is None else MIRROR * one for one in (self.axis, self.axis_b, self.point_b)
        )
        return replace(self, point=MIRROR * self.point, axis=axis, axis_b=axis_b, point_b=point_b)


@dataclass(frozen=True)
class Strut:
    """Spring or damper between two points, left side, chassis frame at design.

    Parameters
    ----------
    name : str
        Name of the spring or damper, without a corner.
    a : str
        Part of the first point.
    b : str
        Part of the second point.
    point_a : ndarray
        Point (3,) on a [m].
    point_b : ndarray
        Point (3,) on b [m].
    law : Spring or Damper
        Law of the force along the line of the points.
    """

    name: str
    a: str
    b: str
    point_a: Array
    point_b: Array
    law: StrutLaw

    def mirrored(self) -> Self:
        """Return the strut of the right side.

        Returns
        -------
        Strut
            Strut with the signs of y reversed in its points.
        """
        return replace(self, point_a=MIRROR * self.point_a, point_b=MIRROR * self.point_b)

    @property
    def design_length(self) -> float:
        """Distance of the points at design [m]."""
        return float(np.linalg.norm(self.point_b - self.point_a))


@dataclass(frozen=True)
class TwistSpring:
    """Torsion spring about the y axis of the chassis between the same part of both sides: the beam of a twist beam.

    Parameters
    ----------
    part : str
        Part of each side.
    point : ndarray
        Point (3,) of the beam in the middle plane, chassis frame at design [m].
    stiffness : float
        Torque for each angle between both sides [N m/rad].
    damping : float, default 0.0
        Damping [N m s/rad].
    """

    part: str
    point: Array
    stiffness: float
    damping: float = 0.0


@dataclass(frozen=True)
class Axle:
    """Both sides of an axle: parts of the left side besides the wheel, their joints and struts.

    Points and axes are in the chassis frame at design (ISO 8855: x forward, y left, z up).

    Parameters
    ----------
    kind : str
        Kind of the suspension, such as "double_wishbone".
    parts : tuple[Part, ...]
        Parts of the left side besides the wheel.
    connections : tuple[Connection, ...]
        Joints and rods of the left side.
    struts : tuple[Strut, ...]
        Springs and dampers of the left side.
    wheel_centre : ndarray
        Left wheel centre (3,) [m].
    spindle : Part, optional
        Part that turns with the wheel beside rim and tyre.
    spin_axis : ndarray, default (0, 1, 0)
        Unit vector (3,) of the spin axis, pointing left on both sides.
    wheel_carrier : str, default "upright"
        Part that the wheel turns in.
    shaft_inertia : float, default 0.0
        Inertia of the drive shaft about the spin axis [kg m^2].
    anti_roll_bar : AntiRollBar, optional
        Anti-roll bar between both sides.
    bushings : Mapping[str, Bushing or SpringDamper], default {}
        Bushings that may replace joints, by the names of these; a SpringDamper of a rod.
    shared : tuple[Part, ...], default ()
        Parts that belong to both sides, such as the beam of a solid axle; joints and struts of both sides may name
        them. Their bodies are ``beam_r`` and so on.
    central : tuple[Connection, ...], default ()
        Joints and rods that are there once, such as a Panhard rod: ``panhard_rod_r``.
    twist : TwistSpring, optional
        Torsion spring between the same part of both sides.
    live : bool, default False
        The axle has its differential and drive shafts in itself: drive torques react on the wheel carrier, not on the
        chassis.
    right : Axle, optional
        Right side by its mirror image, with parts and joints of the same names; the left side unless given. Of it count
        parts, joints, struts, wheel centre, spin axis, spindle and drive shaft.

    Raises
    ------
    ModelError
        For a right side with other parts, joints or struts than the left one.
    """

    kind: str
    parts: tuple[Part, ...]
    connections: tuple[Connection, ...]
    struts: tuple[Strut, ...]
    wheel_centre: Array
    spindle: Part | None = None
    spin_axis: Array = field(default_factory=lambda: np.array([0.0, 1.0, 0.0]))
    wheel_carrier: str = UPRIGHT
    shaft_inertia: float = 0.0
    anti_roll_bar: AntiRollBar | None = None
    bushings: Mapping[str, Any] = field(default_factory=dict)
    shared: tuple[Part, ...] = ()
    central: tuple[Connection, ...] = ()
    twist: TwistSpring | None = None
    live: bool = False
    right: "Axle | None" = None

    def __post_init__(self) -> None:
        if self.right is None:
            return
        if not isinstance(self.right, Axle):
            raise ModelError(f"axle {self.kind!r}: right is {shown(self.right)}; it must be an Axle")
        for what in ("parts", "connections", "struts", "shared"):
            names = [
                [(one.name, getattr(one, "kind", "")) for one in getattr(side, what)] for side in (self, self.right)
            ]
            if names[0] != names[1]:
                raise ModelError(
                    f"axle {self.kind!r}: {what} of its right side are {', '.join(name for name, _ in names[1])}; they "
                    f"must be those of the left side, {', '.join(name for name, _ in names[0])}"
                )

    def side(self, corner: str) -> "Axle":
        """Return the side of a corner, the right one by its mirror image.

        Parameters
        ----------
        corner : str
            Corner such as "fr", or the axle "f" or "r", which is that of the left side.

        Returns
        -------
        Axle
            Side with the points of a left one.
        """
        return self if self.right is None or corner[1:] != "r" else self.right

    def body(self, part: str, corner: str) -> str:
        """Return the body of a part.

        Parameters
        ----------
        part : str
            Name of the part.
        corner : str
            Corner such as "fl", or the axle "f" or "r" for a part of both sides.

        Returns
        -------
        str
            Name of the body in the Model.
        """
        if part in (CHASSIS, RACK):
            return part
        return f"{part}_{corner[0] if any(part == one.name for one in self.shared) else corner}"

    @property
    def steered(self) -> bool:
        """True when a joint is attached to the steering."""
        return any(RACK in (one.a, one.b) for one in self.connections)

    @property
    def hard_points(self) -> dict[str, Array]:
        """Points of the left side by name: of a joint its name, of a rod and a strut ``name.a`` and ``name.b`` [m]."""
        found = {"wheel_centre": self.wheel_centre}
        for one in (*self.connections, *self.central):
            if one.point_b is None:
                found[one.name] = one.point
            else:
                found[f"{one.name}.a"], found[f"{one.name}.b"] = one.point, one.point_b
        for strut in self.struts:
            found[f"{strut.name}.a"], found[f"{strut.name}.b"] = strut.point_a, strut.point_b
        return found

    @property
    def right_hard_points(self) -> dict[str, Array]:
        """Points of the right side by name, without those that are there once [m]."""
        once = {name for one in self.central for name in (one.name, f"{one.name}.a", f"{one.name}.b")}
        return {name: MIRROR * at for name, at in self.side("-r").hard_points.items() if name not in once}

    def with_points(self, points: Mapping[str, Numbers], side: Literal["left", "right"] = "left") -> "Axle":
        """Return the axle with other hard points; the right side mirrors the left one until it is given points.

        Parameters
        ----------
        points : Mapping[str, array_like]
            Points (3,) of a side by the names of ``hard_points``, chassis frame at design [m].
        side : {'left', 'right'}, default 'left'
            Side of the points; y is negative on the right one.

        Returns
        -------
        Axle
            New axle; axes of joints stay as they are.

        Raises
        ------
        UnknownNameError
            For a name that is no hard point.
        ModelError
            For a point that is not three finite numbers.

        Examples
        --------
        >>> car = rtmbs.vehicle.read("sedan", variant="from_models")
        >>> x, y, z = car.data.front.hard_points["wheel_centre"]
        >>> axle = car.data.front.with_points({"wheel_centre": (x, y, z + 0.01)})
        """
        if side not in ("left", "right"):
            raise ModelError(f"hard points: side is {shown(side)}; it must be one of left, right")
        known = self.hard_points if side == "left" else self.right_hard_points
        for name in points:
            if name not in known:
                raise unknown_name("hard point", name, known)
        moved = {name: numbers(value, f"hard point {name!r}", (3,)) for name, value in points.items()}
        if side == "right":
            mirrored = {name: MIRROR * at for name, at in moved.items()}
            return replace(self, right=replace(self.side("-r"), right=None).with_points(mirrored))

        def of(name: str, old: Array | None) -> Any:
            return moved.get(name, old)

        connections, central = (
            tuple(
                replace(one, point=of(one.name, one.point))
                if one.point_b is None
                else replace(one, point=of(f"{one.name}.a", one.point), point_b=of(f"{one.name}.b", one.point_b))
                for one in joints
            )
            for joints in (self.connections, self.central)
        )
        struts = tuple(
            replace(one, point_a=of(f"{one.name}.a", one.point_a), point_b=of(f"{one.name}.b", one.point_b))
            for one in self.struts
        )
        wheel_centre = of("wheel_centre", self.wheel_centre)
        return replace(self, connections=connections, central=central, struts=struts, wheel_centre=wheel_centre)


def check_distances(axle: Axle, what: str) -> None:
    """Refuse points that are farther from the chassis frame than any part of a car, such as those in millimetres.

    Parameters
    ----------
    axle : Axle
        Axle.
    what : str
        Name of the axle in the message of an error.

    Raises
    ------
    ModelError
        For such a point; the message names it.
    """
    centres = {f"centre of mass of {one.name!r}": one.com for one in (*axle.parts, *axle.shared)}
    for name, point in ({f"hard point {name!r}": at for name, at in axle.hard_points.items()} | centres).items():
        if np.max(np.abs(point)) > FARTHEST:
            raise ModelError(
                f"{what}: {name} is {shown(np.asarray(point).tolist())} m; it must be within {FARTHEST:g} m of the "
                "chassis frame: give metres"
            )


def part(name: str, mass: Numbers, com: Numbers, inertia: Numbers, what: str = "") -> Part:
    """Return a checked part; an inertia of 3 numbers is about chassis axes.

    The car checks the triangle inequality of the inertia.

    Parameters
    ----------
    name : str
        Name of the part, without a corner.
    mass : float
        Mass [kg], zero or more.
    com : array_like
        Centre of mass (3,) in the chassis frame at design [m].
    inertia : array_like
        Moments (3,) or inertia (3, 3) about the centre of mass, chassis axes [kg m^2].
    what : str, optional
        Name of the part in the message of an error; that of the part unless given.

    Returns
    -------
    Part
        Part of the left side or the chassis.

    Raises
    ------
    ModelError
        For a negative mass, a wrong shape or a number that is not finite.

    Examples
    --------
    >>> rtmbs.vehicle.part("chassis", 1500.0, (0.0, 0.0, 0.2), (300.0, 1500.0, 1700.0)).mass
    1500.0
    """
    what = what or f"part {name!r}"
    kilograms = number(mass, f"{what}: mass")
    if kilograms < 0.0:
        raise ModelError(f"{what}: mass is {kilograms:g}; it must be zero or more")
    shape = np.shape(inertia)
    if shape not in ((3,), (3, 3)):
        raise ModelError(f"{what}: inertia has shape {shape}; give 3 numbers or 3 x 3")
    return Part(name, kilograms, numbers(com, f"{what}: com", (3,)), numbers(inertia, f"{what}: inertia", shape))


def hinge(name: str, a: str, b: str, front: Numbers, back: Numbers) -> Connection:
    """Return a revolute joint through two points of its axis.

    Parameters
    ----------
    name : str
        Name of the joint, without a corner.
    a : str
        Part that the joint starts from.
    b : str
        Part that the joint leads to.
    front : array_like
        Front point (3,) of the axis, chassis frame at design [m].
    back : array_like
        Back point (3,) of the axis [m].

    Returns
    -------
    Connection
        Joint with its point in the middle and its axis from back to front.
    """
    one, two = (numbers(point, f"joint {name!r}: axis", (3,)) for point in (front, back))
    return Connection(name, "revolute", a, b, 0.5 * (one + two), axis=direction(one - two, f"joint {name!r}: axis"))


def ball(name: str, a: str, b: str, point: Numbers) -> Connection:
    """Return a spherical joint at a point.

    Parameters
    ----------
    name : str
        Name of the joint, without a corner.
    a : str
        Part that the joint starts from.
    b : str
        Part that the joint leads to.
    point : array_like
        Joint point (3,), chassis frame at design [m].

    Returns
    -------
    Connection
        Spherical joint.
    """
    return Connection(name, "spherical", a, b, numbers(point, f"joint {name!r}: point", (3,)))


def rod(name: str, a: str, b: str, point_a: Numbers, point_b: Numbers) -> Connection:
    """Return a massless rod between a point of a and a point of b.

    Parameters
    ----------
    name : str
        Name of the rod, without a corner.
    a : str
        Part of the first end.
    b : str
        Part of the second end.
    point_a : array_like
        End (3,) on a, chassis frame at design [m].
    point_b : array_like
        End (3,) on b [m].

    Returns
    -------
    Connection
        Constraint of the distance.
    """
    one, two = (numbers(point, f"rod {name!r}: end", (3,)) for point in (point_a, point_b))
    return Connection(name, "distance", a, b, one, point_b=two)


def square_to(axis: Array, other: Any) -> tuple[float, ...]:
    """Return an axis made perpendicular to another one, to remove the rounding of a file."""
    straight = axis - np.dot(axis, other) * np.asarray(other)
    return tuple((straight / np.linalg.norm(straight)).tolist())
