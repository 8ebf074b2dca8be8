"""Watt's linkage: the middle of its coupler goes nearly straight. Checked: how straight."""

import numpy as np
from gallery import Shown, add_four_bar, finish

import rtmbs

ARM, COUPLER = 1.0, 0.5  # [m]


def main(t_end=2.0):
    a, d = np.array([-ARM, COUPLER / 2, 0.0]), np.array([ARM, -COUPLER / 2, 0.0])
    b, c = np.array([0.0, COUPLER / 2, 0.0]), np.array([0.0, -COUPLER / 2, 0.0])
    m = rtmbs.Model("Watt's linkage")
    add_four_bar(m, ("left", "coupler", "right"), (a, b, c, d))
    m.add_marker("middle", "coupler", point=(0, 0, 0))
    m.add_driver("motor", rtmbs.Sine(amplitude=0.35, frequency_rad_s=np.pi), joint="A")
    result = rtmbs.Simulation(m.compile(), h=2e-3).run(t_end)
    way = result["middle.position"]
    error = np.abs(way[:, 0]).max() / max(np.ptp(way[:, 1]), 1e-3)
    return Shown(m, result, "deviation from a straight line, of the stroke", error, 0.01, way="middle")


if __name__ == "__main__":
    finish(main())
