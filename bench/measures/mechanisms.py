"""Mechanisms that only measurements need."""

import numpy as np

from rtmbs import Floating, Model, Revolute, Sine
from rtmbs.library.shapes import add_bar

X = (1.0, 0.0, 0.0)


def five_bar() -> Model:
    """A driven (rheonomic) loop that keeps one degree of freedom: one crank follows a sine, the other swings freely.

    Both hang; uniform bars of 1 kg/m in the plane YZ, gravity along -Z. ``near`` is driven, ``far`` starts at 1 rad/s.
    """
    model = Model("driven five-bar")
    points = np.array([(0.0, 0.0), (0.1, -0.5), (0.6, -0.9), (1.3, -0.6), (1.2, 0.0)])
    a, b, c, d, e = ((0.0, float(y), float(z)) for y, z in points)
    for name, start, end in (("near", a, b), ("left", b, c), ("right", d, c), ("far", e, d)):
        add_bar(model, name, start, end, float(np.linalg.norm(np.subtract(end, start))))
    model.add_joint("near_pivot", Revolute(axis=X), "ground", "near", point=a)
    model.add_joint("near_pin", Revolute(axis=X), "near", "left", point=b)
    model.add_joint("far_pivot", Revolute(axis=X), "ground", "far", point=e)
    model.add_joint("far_pin", Revolute(axis=X), "far", "right", point=d)
    model.add_joint("knee", Revolute(axis=X), "left", "right", point=c, cut=True)
    model.add_driver("drive", Sine(amplitude=0.5, frequency_rad_s=4.0), joint="near_pivot")
    model.set_initial("far_pivot", rate=1.0)
    return model


def free_body() -> Model:
    """An asymmetric body on a floating joint, gravity 9.81 along -Z; joint ``free``."""
    model = Model("free body")
    model.add_body("stone", mass=2.0, center_of_mass=(0.1, -0.2, 0.05), inertia=(0.3, 0.5, 0.4))
    model.add_joint("free", Floating(), "ground", "stone", point=(0.0, 0.0, 0.0))
    return model
