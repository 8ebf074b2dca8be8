"""A tower of four-bars, four side by side and eight storeys, released. Checked: its energy."""

import numpy as np
from gallery import Shown, finish

import rtmbs


def main(t_end=1.5):
    m = rtmbs.library.build("fourbar", ny=4, nz=8)
    result = rtmbs.Simulation(m.compile(), h=2e-3).run(t_end)
    energy = result["energy.total"]
    error = np.abs(energy - energy[0]).max() / np.ptp(result["energy.kinetic"])
    return Shown(m, result, "largest change of energy, of what is exchanged", error, 1e-3, "", (1, 2), until=0.5)


if __name__ == "__main__":
    finish(main())
