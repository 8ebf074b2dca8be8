"""Crank-rocker, free and driven, and slider-cranks, spatial and planar.

Unequal bars show every error of a projection; parallelograms do not.
"""

import math
from typing import NamedTuple

import numpy as np

from rtmbs.errors import unknown_name
from rtmbs.library.shapes import add_bar
from rtmbs.model import ConstantRate, Model, Prismatic, Revolute, Sine, Spherical, Universal

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
