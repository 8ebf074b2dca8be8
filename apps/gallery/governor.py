"""A flyball governor of the library of multibody benchmarks. Checked: the published height of its slider."""

import numpy as np
from gallery import Shown, finish

import rtmbs

HEIGHTS = {0.1: 0.52383648, 0.5: 0.74324942, 1.0: 0.50142092}  # [s, m]; IFToMM benchmark


def main(t_end=1.0):
    m = rtmbs.library.build("governor")
    result = rtmbs.Simulation(m.compile(), h=2.5e-4).run(t_end)
    known = {t: height for t, height in HEIGHTS.items() if t <= t_end}
    found = result.at(list(known))["slider.position"][:, 2]
    error = np.abs(found - list(known.values())).max()
    return Shown(m, result, "largest distance of the slider from the reference [m]", error, 1e-4, "ball_right", None)


if __name__ == "__main__":
    finish(main())
