"""Unequal four-bars: a free crank-rocker and a driven one. Unlike parallelograms they show every projection error."""

import math
from typing import NamedTuple

from rtmbs.errors import unknown_name
from rtmbs.library.shapes import add_bar
from rtmbs.model import ConstantRate, Model, Revolute, Sine

X = (1.0, 0.0, 0.0)
PROFILES: dict[str, Sine | ConstantRate] = {
    "sine": Sine(amplitude=0.8, frequency_rad_s=5.0),
    "constant": ConstantRate(rate=2.0 * math.pi),
}


class Lengths(NamedTuple):
    """Of a four-bar [m]; the shortest is the crank and shortest + longest < the other two: the crank goes round."""

    ground: float = 1.0
    crank: float = 0.4
    coupler: float = 1.2
    rocker: float = 0.9


LENGTHS = Lengths()  # ours; bars are uniform, 1 kg/m
START = math.radians(60.0)  # crank angle from +Y about +X in the reference pose


def crank_rocker(angle: float = START, rate: float = 6.0) -> Model:
    """Return a free crank-rocker in the plane YZ, gravity 9.81 m/s^2 along -Z.

    angle: of the crank from +Y about +X at the start [rad]; coordinates are zero there.  rate: of the crank [rad/s].
    Names: ``crank``, ``coupler``, ``rocker``; joints ``crank_pivot``, ``pin``, ``rocker_pivot``, ``knee`` (cut).
    """
    model = _linkage("crank-rocker", angle)
    model.set_initial("crank_pivot", position=0.0, rate=rate)
    return model


def driven_fourbar(profile: str = "sine", angle: float = START) -> Model:
    """Return the same linkage with its crank driven: a rheonomic loop without degrees of freedom.

    profile: ``sine`` (0.8 sin 5 t rad) or ``constant`` (2 pi rad/s), added to ``angle`` [rad]. Driver ``drive``.
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
