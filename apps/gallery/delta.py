"""A delta robot: three driven arms carry a plate that does not turn. Checked: the plate against three spheres."""

import numpy as np
from gallery import Shown, finish
from scipy.optimize import fsolve

import rtmbs
from rtmbs.library.shapes import add_bar

BASE, PLATE, ARM, ROD, HALF = 0.2, 0.08, 0.3, 0.7, 0.04  # radii, lengths and half width of the forearms [m]
SWING, RATES = 0.35, (2.0, 3.1, 4.3)  # [rad, rad/s]


def outward(k):
    """Return the direction of arm k from the middle, and the one across."""
    angle = 2.0 * np.pi * k / 3.0
    return np.array([np.cos(angle), np.sin(angle), 0.0]), np.array([-np.sin(angle), np.cos(angle), 0.0])


def elbow(k, angle):
    """Return the elbow of arm k, its arm ``angle`` below the horizontal."""
    out, _ = outward(k)
    return (BASE + ARM * np.cos(angle)) * out - np.array([0.0, 0.0, ARM * np.sin(angle)])


def plate_at(angles, guess):
    """Return where the plate stands: ROD from every elbow, moved inwards by its radius."""
    centres = [elbow(k, angle) - PLATE * outward(k)[0] for k, angle in enumerate(angles)]
    return fsolve(lambda p: [(p - c) @ (p - c) - ROD**2 for c in centres], guess, xtol=1e-12)


def main(t_end=3.0):
    reach = BASE + ARM - PLATE
    place = np.array([0.0, 0.0, -np.sqrt(ROD**2 - reach**2)])
    m = rtmbs.Model("delta robot", gravity=(0, 0, -9.81))
    m.add_body("plate", mass=0.2, inertia=(1e-3, 1e-3, 2e-3), position=place)
    m.add_joint("free", rtmbs.Floating(), m.ground, "plate", point=place)
    for k in range(3):
        out, across = outward(k)
        add_bar(m, f"arm{k}", BASE * out, elbow(k, 0.0), 0.3)
        m.add_joint(f"shoulder{k}", rtmbs.Revolute(axis=across), m.ground, f"arm{k}", point=BASE * out)
        for side in (-1, 1):
            ends = (
                m.add_marker(f"elbow{k}{side}", f"arm{k}", elbow(k, 0.0) + side * HALF * across),
                m.add_marker(f"wrist{k}{side}", "plate", place + PLATE * out + side * HALF * across),
            )
            m.add_rod(f"rod{k}{side}", ends)
        m.add_driver(f"motor{k}", rtmbs.Sine(SWING, RATES[k]), joint=f"shoulder{k}")
    result = rtmbs.Simulation(m.compile(), h=2e-3).run(t_end)
    found, error = place, 0.0
    for t, seen in zip(result.t[::10], result["plate.position"][::10], strict=True):
        found = plate_at([SWING * np.sin(rate * t) for rate in RATES], found)
        error = max(error, float(np.abs(seen - found).max()))
    return Shown(m, result, "largest distance of the plate from the closed form [m]", error, 1e-8, "plate", None)


if __name__ == "__main__":
    finish(main())
