"""Slider-cranks: the spatial one of the IFToMM library, and a planar one with an exact reference."""

import math

import numpy as np

from rtmbs.library.shapes import add_bar
from rtmbs.model import Model, Prismatic, Revolute, Spherical, Universal

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

PIVOT, CRANK_LENGTH, ROD_LENGTH = (0.0, 0.1, 0.12), 0.08, 0.3  # [m]
CRANK_MASS, ROD_MASS, SLIDER_MASS = 0.12, 0.5, 2.0  # [kg]


def slider_crank(rate: float = 6.0) -> Model:
    """Return the spatial slider-crank of the IFToMM library, gravity 9.81 m/s^2 along -Z.

    Crank of 0.08 m, revolute about X at (0, 0.1, 0.12), its mass centre at the pivot, upright at the start at ``rate``
    [rad/s]; rod of 0.3 m, spherical at the crank, universal at the slider (first axis X in the slider, second
    perpendicular to it and the rod), mass centre at its middle; slider prismatic along X at y = z = 0.
    Inertia of crank and rod: transverse 1e-4 and 4e-3, axial 1e-5 and 4e-4, slider 1e-4 [kg m^2].

    Names: ``crank``, ``rod``, ``slider``; joints ``pivot``, ``ball`` (cut), ``knuckle``, ``slide``. The slider starts
    at x = 0.2; the displacement of ``slide`` is x - 0.2. It runs from 0.18495 to 0.29016 m with a period of 0.60191 s.
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

    crank, rod: lengths [m] of uniform bars of 1 kg/m.  angle: of the crank from +Y about +X at the start [rad], the
    coordinate of ``pivot`` is measured from there.  rate: of the crank [rad/s].
    Names: ``crank``, ``rod``, ``slider``; joints ``pivot``, ``pin``, ``slide`` along Y, ``wrist`` (cut).
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
