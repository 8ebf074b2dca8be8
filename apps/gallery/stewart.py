"""A Stewart platform: six legs whose lengths follow from a wanted motion. Checked: the platform makes that motion."""

import numpy as np
from gallery import Shown, finish

import rtmbs
from rtmbs.kinematics import Analysis

FEET, HEADS, HEIGHT = 2.0, 1.0, 1.5  # radii and height [m]


def wanted(t):
    """Return position, velocity and acceleration of the platform, which does not turn."""
    return np.array([
        (0.3 * np.sin(1.1 * t), 0.33 * np.cos(1.1 * t), -0.363 * np.sin(1.1 * t)),
        (0.2 * np.cos(0.7 * t) - 0.2, -0.14 * np.sin(0.7 * t), -0.098 * np.cos(0.7 * t)),
        (HEIGHT + 0.1 * np.sin(1.3 * t), 0.13 * np.cos(1.3 * t), -0.169 * np.sin(1.3 * t)),
    ]).T  # fmt: skip


def leg(offset):
    """Return the length of a leg with its rates; ``offset`` leads from its foot to its head at the origin."""

    def profile(t):
        p, v, a = wanted(t)
        d = p + offset
        length = np.linalg.norm(d)
        rate = d @ v / length
        return length, rate, (v @ v + d @ a - rate**2) / length

    return profile


def main(t_end=6.0):
    m = rtmbs.Model("Stewart platform")
    m.add_body("platform", mass=0.0, position=(0, 0, HEIGHT))
    for k in range(6):
        corner = 2.0 * np.pi / 3.0 * (k // 2)
        angles = corner + (k % 2 - 0.5) * 0.5, corner + (k % 2 - 0.5) * 1.6
        foot, head = (
            radius * np.array([np.cos(angle), np.sin(angle), 0.0])
            for radius, angle in zip((FEET, HEADS), angles, strict=True)
        )
        ends = m.add_marker(f"foot{k}", m.ground, foot), m.add_marker(f"head{k}", "platform", head, frame="platform")
        m.add_driver(f"leg{k}", leg(head - foot), between=ends)
    result = Analysis(m).run(0.0, t_end, 0.02)
    closed = np.array([wanted(t)[0] for t in result.t])
    error = np.abs(result["platform.position"] - closed).max()
    return Shown(m, result, "largest distance from the wanted motion [m]", error, 1e-9, way="platform", plane=None)


if __name__ == "__main__":
    finish(main())
