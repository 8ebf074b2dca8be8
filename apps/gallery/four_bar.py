"""A crank-rocker, its crank driven; a point of the coupler goes round a bean. Checked: Grashof's closed form."""

import numpy as np
from gallery import Shown, add_four_bar, finish

import rtmbs

GROUND, CRANK, COUPLER, ROCKER, RATE = 1.0, 0.4, 1.2, 0.9, 2.0  # [m, rad/s]


def pin(angle):
    """Return the pin of coupler and rocker for an angle of the crank: two circles meet."""
    b = CRANK * np.stack((np.cos(angle), np.sin(angle)))
    d = np.stack((GROUND - b[0], -b[1]))
    gap = np.hypot(*d)
    along = (gap**2 + COUPLER**2 - ROCKER**2) / (2.0 * gap)
    across = np.sqrt(COUPLER**2 - along**2)
    return b + (along * d + across * np.stack((-d[1], d[0]))) / gap


def main(t_end=np.pi):
    start = np.pi / 3
    a, b = np.zeros(3), np.array([CRANK * np.cos(start), CRANK * np.sin(start), 0.0])
    c, d = np.append(pin(start), 0.0), np.array([GROUND, 0.0, 0.0])
    m = rtmbs.Model("four-bar", gravity=(0, -9.81, 0))
    add_four_bar(m, ("crank", "coupler", "rocker"), (a, b, c, d))
    m.add_marker("bean", "coupler", point=(b + c) / 2 + (0.0, 0.4, 0.0))
    m.add_marker("tip", "rocker", point=c)
    m.add_driver("motor", rtmbs.ConstantRate(RATE), joint="A")
    result = rtmbs.Simulation(m.compile(), h=t_end / 800).run(t_end)
    error = np.abs(result["tip.position"][:, :2] - pin(start + RATE * result.t).T).max()
    return Shown(m, result, "largest distance of the pin from the closed form [m]", error, 1e-8, way="bean")


if __name__ == "__main__":
    finish(main())
