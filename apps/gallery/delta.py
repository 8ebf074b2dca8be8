"""A delta robot from a URDF with six loops. Checked: its plate against the intersection of three spheres."""

from pathlib import Path

import numpy as np
from gallery import Shown, finish
from scipy.optimize import fsolve

import rtmbs

FILE = Path(__file__).parent / "files" / "delta.urdf"
BASE, PLATE, ARM, ROD = 0.2, 0.08, 0.3, 0.7  # radii of base and plate, lengths of arms and rods in the file [m]
SWING, RATES = 0.35, (2.0, 3.1, 4.3)  # [rad, rad/s]


def outward(k):
    """Return the direction of arm k from the middle."""
    angle = 2.0 * np.pi * k / 3.0
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def elbow(k, angle):
    """Return the elbow of arm k, its arm ``angle`` below the horizontal."""
    return (BASE + ARM * np.cos(angle)) * outward(k) - np.array([0.0, 0.0, ARM * np.sin(angle)])


def plate_at(angles, guess):
    """Return where the plate stands: ROD from every elbow, moved inwards by its radius."""
    centres = [elbow(k, angle) - PLATE * outward(k) for k, angle in enumerate(angles)]
    return fsolve(lambda p: [(p - c) @ (p - c) - ROD**2 for c in centres], guess, xtol=1e-12)


def main(t_end=3.0):
    m = rtmbs.read(FILE, strict=True)
    for k, rate in enumerate(RATES):
        m.add_driver(f"motor{k}", rtmbs.Sine(SWING, rate), joint=f"shoulder{k}")
    result = rtmbs.Simulation(m.compile(), h=2e-3).run(t_end)
    found, error = (0.0, 0.0, -0.56), 0.0
    for t, seen in zip(result.t[::10], result["plate.position"][::10], strict=True):
        found = plate_at([SWING * np.sin(rate * t) for rate in RATES], found)
        error = max(error, float(np.abs(seen - found).max()))
    return Shown(m, result, "largest distance of the plate from the closed form [m]", error, 1e-8, "plate", None)


if __name__ == "__main__":
    finish(main())
