"""A spatial four-bar, revolute-spherical-spherical-revolute, swinging free. Checked: its energy."""

import numpy as np
from gallery import Shown, finish

import rtmbs
from rtmbs.library.linkages import add_bar


def main(t_end=3.0):
    a, b = np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.1, 0.4])
    c, d = np.array([1.0, 0.6, 0.5]), np.array([1.0, 0.0, 0.0])
    m = rtmbs.Model("RSSR linkage", gravity=(0, 0, -9.81))
    add_bar(m, "crank", a, b)
    add_bar(m, "rocker", d, c)
    m.add_joint("left", rtmbs.Revolute(axis=(1, 0, 0)), m.ground, "crank", point=a)
    m.add_joint("right", rtmbs.Revolute(axis=(0.3, 1, 0)), m.ground, "rocker", point=d)
    m.add_rod("coupler", (m.add_marker("ball_a", "crank", b), m.add_marker("ball_b", "rocker", c)))
    m.set_initial("left", position=0.0, rate=3.0)
    result = rtmbs.Simulation(m.compile(), h=1e-3).run(t_end)
    energy = result["energy.total"]
    error = np.abs(energy - energy[0]).max() / np.ptp(result["energy.kinetic"])
    return Shown(m, result, "largest change of energy, of what is exchanged", error, 1e-4, way="ball_b", plane=None)


if __name__ == "__main__":
    finish(main())
