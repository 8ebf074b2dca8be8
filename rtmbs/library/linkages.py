"""Linkages by points: crank-rockers, slider-cranks, and the multiple four-bar.

Crank-rocker, free and driven, and slider-cranks, spatial and planar.

Unequal bars show every error of a projection; parallelograms do not.

Bodies that the mechanisms of the library are made of, placed by points of the reference pose (world axes).

The multiple four-bar of n_y x n_z parallelograms: the paper's Table 1.

Source: the benchmark of the implicit semi-recursive method with automatic differentiation. The paper fixes bars of
1 m and 1 kg, (1 + 2 n_y) n_z bodies and n_z degrees of freedom, and prints neither gravity, inertia, initial angle nor
how the n_z rows are joined. Two readings fit every count, and both are built; the choice is ours.

Bars are slender and uniform: 1/12 kg m^2 transverse, 1e-4 kg m^2 axial. Planes are parallel to YZ, all revolutes turn
about X, gravity is 9.81 m/s^2 along -Z. A rod of angle phi reaches from its base to base + (0, sin phi, -cos phi),
couplers lie along +Y. In the reference pose all rods hang straight down, so that coordinates of pins are angles phi.
"""

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rtmbs.errors import InputError, unknown_name
from rtmbs.model import Body, ConstantRate, Model, Prismatic, Revolute, Sine, Spherical, Universal

SLENDER = 1e-4  # [kg m^2] a slender bar has no inertia about its own axis; this little keeps its tensor regular


def add_bar(
    model: Model,
    name: str,
    start: ArrayLike,
    end: ArrayLike,
    mass: float = 1.0,
    *,
    transverse: float | None = None,
    axial: float = SLENDER,
) -> Body:
    """Add a uniform straight bar. Its frame stands at ``start`` in world axes.

    transverse, axial: moments of inertia about the mass centre [kg m^2]; transverse None is mass length^2 / 12.
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    along = end - start
    length = float(np.linalg.norm(along))
    unit = along / length
    if transverse is None:
        transverse = mass * length**2 / 12.0
    inertia = transverse * np.eye(3) + (axial - transverse) * np.outer(unit, unit)
    return model.add_body(name, mass=mass, center_of_mass=along / 2.0, inertia=inertia, position=start)


def add_planar_body(
    model: Model, name: str, position: ArrayLike, center_of_mass: ArrayLike, mass: float, moment: float
) -> Body:
    """Add a body of which only the moment about the normal of its plane matters; all three are set to it.

    position, center_of_mass: world axes at the reference pose [m]. Its frame stands at ``position``.
    """
    position = np.asarray(position, dtype=float)
    offset = np.asarray(center_of_mass, dtype=float) - position
    return model.add_body(name, mass=mass, center_of_mass=offset, inertia=(moment, moment, moment), position=position)


X = (1.0, 0.0, 0.0)
PROFILES: dict[str, Sine | ConstantRate] = {
    "sine": Sine(amplitude=0.8, frequency_rad_s=5.0),
    "constant": ConstantRate(rate=2.0 * math.pi),
}
Y = (0.0, 1.0, 0.0)

PIVOT, CRANK_LENGTH, ROD_LENGTH = (0.0, 0.1, 0.12), 0.08, 0.3  # [m]
CRANK_MASS, ROD_MASS, SLIDER_MASS = 0.12, 0.5, 2.0  # [kg]


class Lengths(NamedTuple):
    """Of a four-bar [m]; the shortest is the crank and shortest + longest < the other two: the crank goes round."""

    ground: float = 1.0
    crank: float = 0.4
    coupler: float = 1.2
    rocker: float = 0.9


LENGTHS = Lengths()  # chosen for rtmbs; bars are uniform, 1 kg/m
START = math.radians(60.0)  # crank angle from +Y about +X in the reference pose


def crank_rocker(angle: float = START, rate: float = 6.0) -> Model:
    """Return a free crank-rocker in the plane YZ, gravity 9.81 m/s^2 along -Z.

    Names: ``crank``, ``coupler``, ``rocker``; joints ``crank_pivot``, ``pin``, ``rocker_pivot``, ``knee`` (cut).

    Parameters
    ----------
    angle : float, default START
        Angle of the crank from +Y about +X at the start [rad]; coordinates are zero there.
    rate : float, default 6.0
        Rate of the crank at the start [rad/s].

    Returns
    -------
    Model
        Model of the linkage.
    """
    model = _linkage("crank-rocker", angle)
    model.set_initial("crank_pivot", position=0.0, rate=rate)
    return model


def driven_fourbar(profile: str = "sine", angle: float = START) -> Model:
    """Return the same linkage with its crank driven: a rheonomic loop without degrees of freedom.

    Parameters
    ----------
    profile : str, default "sine"
        ``sine`` (0.8 sin 5 t rad) or ``constant`` (2 pi rad/s), added to ``angle`` [rad]. Driver ``drive``.
    angle : float, default START
        Angle of the crank from +Y about +X in the reference pose [rad].

    Returns
    -------
    Model
        Model of the linkage.

    Raises
    ------
    UnknownNameError
        For an unknown name; the nearest ones are listed.
    """
    if profile not in PROFILES:
        raise unknown_name("profile", profile, PROFILES)
    model = _linkage(f"four-bar, driven by {profile}", angle)
    model.add_driver("drive", PROFILES[profile], joint="crank_pivot")
    return model


def _linkage(name: str, angle: float) -> Model:
    model = Model(name, gravity=(0.0, 0.0, -9.81))
    a, b, c, d = corners(angle)
    add_bar(model, "crank", a, b, LENGTHS.crank)
    add_bar(model, "coupler", b, c, LENGTHS.coupler)
    add_bar(model, "rocker", d, c, LENGTHS.rocker)
    model.add_joint("crank_pivot", Revolute(axis=X), model.ground, "crank", point=a)
    model.add_joint("pin", Revolute(axis=X), "crank", "coupler", point=b)
    model.add_joint("rocker_pivot", Revolute(axis=X), model.ground, "rocker", point=d)
    model.add_joint("knee", Revolute(axis=X), "coupler", "rocker", point=c, cut=True)
    return model


Point = tuple[float, float, float]


def corners(angle: float) -> tuple[Point, Point, Point, Point]:
    """Return crank pivot, crank end, rocker end and rocker pivot for a crank angle [rad], world axes [m]."""
    ground, crank, coupler, rocker = LENGTHS
    by, bz = crank * math.cos(angle), crank * math.sin(angle)
    dy, dz = ground - by, -bz  # from the crank's end to the rocker's pivot
    gap = math.hypot(dy, dz)
    along = (gap**2 + coupler**2 - rocker**2) / (2.0 * gap)
    across = math.sqrt(coupler**2 - along**2)
    c = (0.0, by + (along * dy - across * dz) / gap, bz + (along * dz + across * dy) / gap)
    return (0.0, 0.0, 0.0), (0.0, by, bz), c, (0.0, ground, 0.0)


def slider_crank(rate: float = 6.0) -> Model:
    """Return the spatial slider-crank of the IFToMM library, gravity 9.81 m/s^2 along -Z.

    Crank of 0.08 m, revolute about X at (0, 0.1, 0.12), its mass centre at the pivot, upright at the start at ``rate``
    [rad/s]; rod of 0.3 m, spherical at the crank, universal at the slider (first axis X in the slider, second
    perpendicular to it and the rod), mass centre at its middle; slider prismatic along X at y = z = 0. Inertia of crank
    and rod: transverse 1e-4 and 4e-3, axial 1e-5 and 4e-4, slider 1e-4 [kg m^2].

    Names: ``crank``, ``rod``, ``slider``; joints ``pivot``, ``ball`` (cut), ``knuckle``, ``slide``. The slider starts
    at x = 0.2; the displacement of ``slide`` is x - 0.2. It runs from 0.18495 to 0.29016 m with a period of 0.60191 s.

    Parameters
    ----------
    rate : float, default 6.0
        Rate of the crank at the start [rad/s].

    Returns
    -------
    Model
        Model of the slider-crank.
    """
    model = Model("spatial slider-crank", gravity=(0.0, 0.0, -9.81))
    tip = (PIVOT[0], PIVOT[1], PIVOT[2] + CRANK_LENGTH)
    pin = (math.sqrt(ROD_LENGTH**2 - tip[1] ** 2 - tip[2] ** 2), 0.0, 0.0)

    crank = model.add_body("crank", mass=CRANK_MASS, inertia=(1e-4, 1e-4, 1e-5), position=PIVOT)
    rod = add_bar(model, "rod", pin, tip, ROD_MASS, transverse=4e-3, axial=4e-4)
    slider = model.add_body("slider", mass=SLIDER_MASS, inertia=(1e-4, 1e-4, 1e-4), position=pin)

    along = np.asarray(tip) - np.asarray(pin)
    second = np.cross(X, along)
    model.add_joint("pivot", Revolute(axis=X), model.ground, crank, point=PIVOT)
    model.add_joint("slide", Prismatic(axis=X), model.ground, slider, point=pin)
    model.add_joint("knuckle", Universal(axis_a=X, axis_b=second), slider, rod, point=pin)
    model.add_joint("ball", Spherical(), crank, rod, point=tip, cut=True)
    model.set_initial("pivot", position=0.0, rate=rate)
    return model


def planar_slider_crank(
    crank: float = 0.3, rod: float = 1.0, slider_mass: float = 1.0, angle: float = math.radians(40.0), rate: float = 6.0
) -> Model:
    """Return a planar slider-crank in the plane YZ, gravity 9.81 m/s^2 along -Z. All numbers are ours.

    Names: ``crank``, ``rod``, ``slider``; joints ``pivot``, ``pin``, ``slide`` along Y, ``wrist`` (cut).

    Parameters
    ----------
    crank : float, default 0.3
        Length of the crank [m], a uniform bar of 1 kg/m.
    rod : float, default 1.0
        Length of the rod [m], a uniform bar of 1 kg/m.
    slider_mass : float, default 1.0
        Mass of the slider [kg].
    angle : float, optional
        Angle of the crank from +Y about +X at the start [rad], the coordinate of ``pivot`` is measured from there.
    rate : float, default 6.0
        Rate of the crank at the start [rad/s].

    Returns
    -------
    Model
        Model of the slider-crank.
    """
    model = Model("planar slider-crank", gravity=(0.0, 0.0, -9.81))
    tip = (0.0, crank * math.cos(angle), crank * math.sin(angle))
    wrist = (0.0, tip[1] + math.sqrt(rod**2 - tip[2] ** 2), 0.0)
    add_bar(model, "crank", (0.0, 0.0, 0.0), tip, crank)
    add_bar(model, "rod", tip, wrist, rod)
    model.add_body("slider", mass=slider_mass, inertia=(1e-2, 1e-2, 1e-2), position=wrist)
    model.add_joint("pivot", Revolute(axis=X), model.ground, "crank", point=(0.0, 0.0, 0.0))
    model.add_joint("pin", Revolute(axis=X), "crank", "rod", point=tip)
    model.add_joint("slide", Prismatic(axis=Y), model.ground, "slider", point=wrist)
    model.add_joint("wrist", Revolute(axis=X), "rod", "slider", point=wrist, cut=True)
    model.set_initial("pivot", position=0.0, rate=rate)
    return model


GRAVITY = (0.0, 0.0, -9.81)
PIN = Revolute(axis=X)
SPACING = 0.2  # [m] between the planes of the parallel layout
LAYOUTS = ("stacked", "parallel")
CLOSURES: dict[str, Literal["line", "point"] | None] = {"line": "line", "point": "point", "revolute": None}

Node = tuple[Body, Point]  # a body and the point of it where a rod hangs


def fourbar(
    ny: int = 1,
    nz: int = 1,
    layout: str = "stacked",
    closure: str = "revolute",
    angle: float = math.radians(30.0),
    rate: float = 0.1,
) -> Model:
    """Return n_y four-bars in series along Y, n_z times.

    Names: ``rod_k_j`` and ``coupler_k_j`` with row k = 1 .. n_z; ``pin_k_j`` hangs rod j, ``hinge_k_j`` begins coupler
    j, ``cut_k_j`` joins the end of coupler j to the end of rod j + 1. ``pin_k_0`` are the pinned coordinates.

    Parameters
    ----------
    ny : int, default 1
        Four-bars of a row.
    nz : int, default 1
        Rows.
    layout : {"stacked", "parallel"}
        One frame of n_z storeys, each hanging on the nodes of the one above; or n_z frames side by side along X, all on
        ground.
    closure : {"revolute", "point", "line"}
        How the cut pins are closed: by 5, 3 or 2 equations.
    angle : float, default pi/6
        Angle of all rods at the start [rad].
    rate : float, default 0.1
        Rate of the first rod of the first row at the start [rad/s]; the other rows are at rest.

    Returns
    -------
    Model
        The four-bars.
    """
    _check(ny, nz, layout, closure)
    model = Model(f"fourbar {layout} {ny} x {nz}", gravity=GRAVITY)
    nodes = _ground_nodes(model, ny, 0.0)
    for k in range(1, nz + 1):
        if layout == "parallel":
            nodes = _ground_nodes(model, ny, SPACING * (k - 1))
        nodes = _add_row(model, k, nodes, closure)
        _set_start(model, k, ny, angle, rate if k == 1 else 0.0)
    return model


def _ground_nodes(model: Model, ny: int, x: float) -> list[Node]:
    return [(model.ground, (x, float(j), 0.0)) for j in range(ny + 1)]


def _add_row(model: Model, k: int, nodes: list[Node], closure: str) -> list[Node]:
    """Hang a row of rods on ``nodes``, join their ends by couplers, and return the nodes of the next row."""
    ends: list[Node] = []
    for j, (above, base) in enumerate(nodes):
        end = _below(base)
        rod = add_bar(model, f"rod_{k}_{j}", base, end)
        model.add_joint(f"pin_{k}_{j}", PIN, above, rod, point=base)
        ends.append((rod, end))

    below: list[Node] = []
    previous = ends[0][0]
    for j in range(len(nodes) - 1):
        start, end = ends[j][1], ends[j + 1][1]
        coupler = add_bar(model, f"coupler_{k}_{j}", start, end)
        model.add_joint(f"hinge_{k}_{j}", PIN, previous, coupler, point=start)
        closed = CLOSURES[closure]
        model.add_joint(f"cut_{k}_{j}", PIN, coupler, ends[j + 1][0], point=end, cut=True, closure=closed)
        below += [(coupler, start), (coupler, end)] if j == 0 else [(coupler, end)]
        previous = coupler
    return below


def _below(base: Point) -> Point:
    return (base[0], base[1], base[2] - 1.0)


def _set_start(model: Model, k: int, ny: int, angle: float, rate: float) -> None:
    """Pin the first rod of row k; the values of the others are where the search for a consistent start begins."""
    model.set_initial(f"pin_{k}_0", position=angle, rate=rate, pin=True)
    for j in range(1, ny + 1):
        model.set_initial(f"pin_{k}_{j}", position=angle, rate=rate, pin=False)
    model.set_initial(f"hinge_{k}_0", position=-angle, rate=-rate, pin=False)


def _check(ny: int, nz: int, layout: str, closure: str) -> None:
    for name, value in (("ny", ny), ("nz", nz)):
        if not (isinstance(value, int) and value >= 1):
            raise InputError(f"fourbar: {name} is {value!r}; it must be a whole number of at least 1")
    for name, chosen, valid in (("layout", layout, LAYOUTS), ("closure", closure, tuple(CLOSURES))):
        if chosen not in valid:
            raise InputError(f"fourbar: {name} is {chosen!r}; it must be one of {', '.join(valid)}")
