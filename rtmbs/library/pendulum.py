"""IFToMM benchmark A01: the simple pendulum."""

import math

from rtmbs.model import Model, Revolute

Z = (0.0, 0.0, 1.0)


def pendulum(angle: float = -math.pi / 2) -> Model:
    """Return IFToMM benchmark A01, the simple pendulum.

    A point mass of 1 kg on a massless bar of 1 m that turns about Z at the origin, gravity 9.81 m/s^2 along -Y.
    ``angle`` from the hanging pose [rad]; -pi/2 releases it at rest from (-1, 0). Marker ``P`` is the point mass.
    """
    model = Model("pendulum", gravity=(0.0, -9.81, 0.0))
    bob = model.add_body("bob", mass=1.0, center_of_mass=(0.0, -1.0, 0.0), inertia=(0.0, 0.0, 0.0))
    model.add_joint("pivot", Revolute(axis=Z), model.ground, bob, point=(0.0, 0.0, 0.0))
    model.set_initial("pivot", position=angle, rate=0.0)
    model.add_marker("P", bob, point=(0.0, -1.0, 0.0))
    return model
