"""The robot Cassie from an SDF file with four loops, tumbling free. Checked: its mass centre falls as a stone does."""

from pathlib import Path

import numpy as np
from gallery import Shown, finish

import rtmbs

FILE = Path(__file__).parent / "files" / "cassie.sdf"


def main(t_end=0.45):
    m = rtmbs.read(FILE)
    hinges = [name for name, joint in m.joints.items() if isinstance(joint.type, rtmbs.Revolute)]
    for name in hinges:
        m.add_force(f"{name}-damping", rtmbs.TorsionSpring(0.0, 0.1), joint=name)
    for side in ("left", "right"):
        m.add_force(f"{side}-hip", rtmbs.Motor(lambda t: 8.0 * np.cos(12.0 * t)), joint=f"{side}-hip-pitch-joint")
    result = rtmbs.Simulation(m.compile(), h=1e-3, method=rtmbs.VariationalMidpoint()).run(t_end)
    masses = {name: body for name, body in m.bodies.items() if body.mass}
    total = sum(body.mass for body in masses.values())
    center = sum(body.mass * result[f"{name}.mass_center"] for name, body in masses.items()) / total
    fall = center[0] + 0.5 * result.t[:, None] ** 2 * np.array((0.0, 0.0, -9.81))
    error = float(np.abs(center - fall).max())
    return Shown(m, result, "largest distance of the mass centre from a parabola [m]", error, 1e-6, "left-foot", (0, 2))


if __name__ == "__main__":
    finish(main())
