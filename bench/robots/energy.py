"""Energy of free motions of mechanisms from files: its drift at a step, a half and a quarter of it.

The files are those of the gallery, without forces, under gravity. The drift is relative to the kinetic energy that the
motion takes up. The trapezoidal rule has order two, so each half must take a drift down by four.
Run: ``python -m bench.robots.energy``.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

import rtmbs

FILES = Path(__file__).parents[2] / "apps" / "gallery" / "files"
MOTIONS = {  # step and length [s], and the joint that starts with a rate [rad/s]
    "delta.urdf": (2e-3, 0.3, "", 0.0),
    "stewart.sdf": (2e-3, 0.3, "", 0.0),
    "gripper.sdf": (5e-4, 0.1, "", 0.0),
    "cassie.sdf": (1e-3, 0.2, "left-hip-pitch-joint", 3.0),
}
FALL = 3.8, 4.2


def drift(name: str, parts: int) -> float:
    """Return the drift of the energy in the kinetic energy, with an h of the step over ``parts``."""
    h, t_end, joint, rate = MOTIONS[name]
    model = rtmbs.read(FILES / name)
    model.forces.clear()
    if joint:
        model.set_initial(joint, rate=rate)
    result = rtmbs.Simulation(model.compile(), h=h / parts).run(t_end)
    return float(np.ptp(result["energy.total"]) / np.ptp(result["energy.kinetic"]))


def main() -> int:
    """Print a table; 1 for a fall that order two does not have."""
    warnings.simplefilter("ignore")
    good = True
    print("| file | step [s] | drift | of half the step | of a quarter | falls |\n" + "|---" * 6 + "|")
    for name, (h, *_) in MOTIONS.items():
        found = [drift(name, parts) for parts in (1, 2, 4)]
        falls = [found[0] / found[1], found[1] / found[2]]
        good &= all(FALL[0] <= fall <= FALL[1] for fall in falls)
        print(f"| {name} | {h:g} | " + " | ".join(f"{one:.2e}" for one in found)
              + " | " + ", ".join(f"{one:.2f}" for one in falls) + " |", flush=True)  # fmt: skip
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
