"""Bennett's linkage: four hinges, no two of them parallel, and yet it moves. Checked: Bennett's relation of angles."""

import numpy as np
from gallery import Shown, finish

import rtmbs

A, B, ALPHA, FIRST, RATE = 1.0, 1.5, 0.7, 0.9, 1.0  # lengths [m], twist and first angle [rad], rate [rad/s]


def screw(angle, length, twist):
    """Return the step of Denavit and Hartenberg (4, 4)."""
    c, s, k, w = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    return np.array([[c, -s * k, s * w, length * c], [s, c * k, -c * w, length * s], [0, w, k, 0], [0, 0, 0, 1]])


def main(t_end=1.2):
    beta = np.arcsin(B * np.sin(ALPHA) / A)
    ratio = np.sin((beta + ALPHA) / 2) / np.sin((beta - ALPHA) / 2)
    second = 2.0 * np.arctan(ratio / np.tan(FIRST / 2))
    frames, names = [np.eye(4)], ["ground", "link1", "link2", "link3"]
    for angle, length, twist in ((FIRST, A, ALPHA), (second, B, beta), (-FIRST, A, ALPHA)):
        frames.append(frames[-1] @ screw(angle, length, twist))
    m = rtmbs.Model("Bennett's linkage")
    for name, frame in zip(names[1:], frames[1:], strict=True):
        m.add_body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), position=frame[:3, 3], orientation=frame[:3, :3])
    for k, frame in enumerate(frames):
        axis = rtmbs.Revolute(axis=frame[:3, 2])
        m.add_joint(f"hinge{k}", axis, names[k], names[(k + 1) % 4], point=frame[:3, 3])
    m.add_driver("motor", rtmbs.ConstantRate(RATE), joint="hinge0")
    result = rtmbs.Simulation(m.compile(), h=1e-3).run(t_end)
    angles = (FIRST + RATE * result.t) / 2, (second + result["hinge1.angle"]) / 2
    error = np.abs(np.tan(angles[0]) * np.tan(angles[1]) / ratio - 1.0).max()
    return Shown(m, result, "relative error of tan(a/2) tan(b/2)", error, 1e-6, way="link2", plane=None)


if __name__ == "__main__":
    finish(main())
