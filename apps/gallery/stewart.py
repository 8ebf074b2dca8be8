"""A Stewart platform from an SDF file: six driven legs. Checked: it makes the motion that their lengths belong to."""

from pathlib import Path

import numpy as np
from gallery import Shown, finish

import rtmbs
from rtmbs.kinematics import Analysis

FILE = Path(__file__).parent / "files" / "stewart.sdf"
HEIGHT = 1.5  # of the platform in the file [m]


def wanted(t):
    """Return position, velocity and acceleration of the platform, which does not turn."""
    return np.array([
        (0.3 * np.sin(1.1 * t), 0.33 * np.cos(1.1 * t), -0.363 * np.sin(1.1 * t)),
        (0.2 * np.cos(0.7 * t) - 0.2, -0.14 * np.sin(0.7 * t), -0.098 * np.cos(0.7 * t)),
        (HEIGHT + 0.1 * np.sin(1.3 * t), 0.13 * np.cos(1.3 * t), -0.169 * np.sin(1.3 * t)),
    ]).T  # fmt: skip


def leg(offset):
    """Return the slide of a leg with its rates; ``offset`` leads from its foot to its head, platform at the origin."""
    at_zero = np.linalg.norm(offset + np.array((0.0, 0.0, HEIGHT)))

    def profile(t):
        p, v, a = wanted(t)
        d = p + offset
        length = np.linalg.norm(d)
        rate = d @ v / length
        return length - at_zero, rate, (v @ v + d @ a - rate**2) / length

    return profile


def main(t_end=6.0):
    m = rtmbs.read(FILE, strict=True)
    for k in range(6):
        foot, head = m.bodies[f"tube{k}"].position, m.bodies[f"rod{k}"].position
        m.add_driver(f"drive{k}", leg(head - foot - np.array((0.0, 0.0, HEIGHT))), joint=f"leg{k}")
    result = Analysis(m).run(0.0, t_end, 0.02)
    closed = np.array([wanted(t)[0] for t in result.t])
    error = np.abs(result["platform.position"] - closed).max()
    return Shown(m, result, "largest distance from the wanted motion [m]", error, 1e-9, way="platform", plane=None)


if __name__ == "__main__":
    finish(main())
