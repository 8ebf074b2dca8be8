"""A chain of thirty links between two posts. Checked: at rest it hangs in a catenary, as links of equal length do."""

import numpy as np
from gallery import Shown, finish
from scipy.optimize import brentq

import rtmbs
from rtmbs.library.linkages import add_bar

LINKS, SPAN = 30, 2.0  # [m]
LENGTH = 0.1  # of a link [m]


def main(t_end=1.0):
    m = rtmbs.Model("chain", gravity=(0, 0, -9.81))
    rise = np.sqrt(LENGTH**2 - (SPAN / LINKS) ** 2)
    places = [np.array([k * SPAN / LINKS, 0.0, rise * (k % 2)]) for k in range(LINKS + 1)]  # a zigzag to begin with
    names = ["ground", *(f"link{k}" for k in range(LINKS)), "ground"]
    for k in range(LINKS):
        add_bar(m, names[k + 1], places[k], places[k + 1], 0.1)
    for k in range(LINKS + 1):
        m.add_joint(f"pin{k}", rtmbs.Revolute(axis=(0, 1, 0)), names[k], names[k + 1], point=places[k])
    m.add_marker("middle", f"link{LINKS // 2}", places[LINKS // 2])
    system = m.compile()
    result = rtmbs.Simulation(system, h=1e-3).run(t_end)
    depth = -rtmbs.equilibrium(system).simulation["middle.position"][2]
    total = LINKS * LENGTH
    a = brentq(lambda a: 2.0 * a * np.sinh(SPAN / (2.0 * a)) - total, 0.1, 10.0)
    catenary = a * (np.cosh(SPAN / (2.0 * a)) - 1.0)
    error = abs(depth / catenary - 1.0)  # links are straight, and the catenary is not
    return Shown(m, result, "relative distance of the depth at rest from a catenary", error, 3e-3, "middle", (0, 2))


if __name__ == "__main__":
    finish(main())
