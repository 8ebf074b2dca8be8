"""A gripper of two fingers from an SDF file, closed by one motor. Checked: the fingers mirror each other."""

from pathlib import Path

import numpy as np
from gallery import Shown, finish

import rtmbs

FILE = Path(__file__).parent / "files" / "gripper.sdf"


def main(t_end=0.3):
    m = rtmbs.read(FILE)
    m.gravity = np.zeros(3)
    for joint in [name for name in m.joints if name.endswith("_joint")]:
        m.add_force(f"{joint}_damping", rtmbs.TorsionSpring(0.0, 2e-3), joint=joint)
    m.add_force("motor", rtmbs.Motor(0.012), joint="right_driver_joint")
    result = rtmbs.Simulation(m.compile(), h=1e-3).run(t_end)
    error = 0.0
    for link in ("driver", "coupler", "spring_link", "follower"):
        right, left = (result[f"{side}_{link}.position"] for side in ("right", "left"))
        error = max(error, float(np.abs(right * (-1.0, -1.0, 1.0) - left).max()))  # half a turn about z
    told = "largest difference of a finger from the other one, turned by half a turn [m]"
    return Shown(m, result, told, error, 1e-9, "right_follower", (1, 2))


if __name__ == "__main__":
    finish(main())
