"""A slider-crank that swings free under gravity. Checked: the closed form of the slide, and the energy."""

import numpy as np
from gallery import Shown, finish

import rtmbs
from rtmbs.library.linkages import add_bar

CRANK, ROD = 0.3, 1.0  # [m]


def main(t_end=1.2):
    start = np.radians(40.0)
    tip = np.array([CRANK * np.cos(start), CRANK * np.sin(start), 0.0])
    wrist = np.array([tip[0] + np.sqrt(ROD**2 - tip[1] ** 2), 0.0, 0.0])
    m = rtmbs.Model("slider-crank", gravity=(0, -9.81, 0))
    add_bar(m, "crank", (0, 0, 0), tip)
    add_bar(m, "rod", tip, wrist)
    m.add_body("slider", mass=1.0, inertia=(0.01, 0.01, 0.01), position=wrist)
    m.add_joint("pivot", rtmbs.Revolute(axis=(0, 0, 1)), m.ground, "crank", point=(0, 0, 0))
    m.add_joint("pin", rtmbs.Revolute(axis=(0, 0, 1)), "crank", "rod", point=tip)
    m.add_joint("wrist", rtmbs.Revolute(axis=(0, 0, 1)), "rod", "slider", point=wrist)
    m.add_joint("slide", rtmbs.Prismatic(axis=(1, 0, 0)), m.ground, "slider", point=wrist)
    m.set_initial("pivot", position=0.0, rate=6.0)
    result = rtmbs.Simulation(m.compile(), h=1e-3).run(t_end)
    angle = start + result["pivot.angle"]
    closed = CRANK * np.cos(angle) + np.sqrt(ROD**2 - (CRANK * np.sin(angle)) ** 2)
    error = np.abs(result["slider.position"][:, 0] - closed).max()
    return Shown(m, result, "largest distance of the slider from the closed form [m]", error, 1e-9, way="rod")


if __name__ == "__main__":
    finish(main())
