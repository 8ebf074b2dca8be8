"""A mass that falls along a vertical rail: motions whose times and heights are known in closed form."""

import rtmbs
from rtmbs import Simulation

G, HEIGHT = 10.0, 1.0  # [m/s^2, m]


def falling(force=None):
    """Return a mass of 2 kg that falls from rest at HEIGHT, perhaps under a motor too."""
    model = rtmbs.Model("falling", gravity=(0.0, 0.0, -G))
    body = model.add_body("mass", mass=2.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", body)
    if force is not None:
        model.add_force("push", rtmbs.Motor(force), joint="rail")
    model.set_initial("rail", position=HEIGHT, rate=0.0)
    return Simulation(model.compile(), 1e-2)
