"""A quarter of a car whose wheel hits a kerb: the model and the measures of ``study.toml``."""

import numpy as np

import rtmbs

UP = (0.0, 0.0, 1.0)
BODY, WHEEL = 300.0, 40.0  # masses [kg]
SPRING, TYRE = 18e3, 180e3  # stiffnesses [N/m]
KERB = 0.05  # height of the road, all at once [m]


def make(damping: float) -> rtmbs.Model:
    """Return wheel and body on a vertical guide, measured from rest on the kerb. damping: of the strut [N s/m]."""
    model = rtmbs.Model("quarter car", gravity=(0.0, 0.0, 0.0))
    below = model.ground
    for name, mass, joint in (("wheel", WHEEL, "tyre"), ("body", BODY, "strut")):
        carried = model.add_body(name, mass=mass)
        model.add_joint(joint, rtmbs.Prismatic(axis=UP), below, carried, point=(0.0, 0.0, 0.0))
        below = carried
    model.add_force("rubber", rtmbs.TorsionSpring(TYRE), joint="tyre")
    model.add_force("damper", rtmbs.TorsionSpring(SPRING, damping), joint="strut")
    model.set_initial("tyre", position=-KERB)
    return model


def measure(result: rtmbs.Result) -> dict[str, float]:
    """Return what the passenger feels and what the wheel and the strut need."""
    up = result["body.acceleration"][:, 2]
    return {
        "acceleration": float(np.sqrt(np.mean(up**2))),  # of the body, root of the mean square [m/s^2]
        "tyre": float(np.sqrt(np.mean(result["tyre.displacement"] ** 2))),  # deflection, root of the mean square [m]
        "travel": float(np.abs(result["strut.displacement"]).max()),  # of the strut, largest [m]
    }
