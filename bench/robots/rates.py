"""Processor time of a call from Python: inverse dynamics and mass matrix of ``rtmbs.Robot`` beside Pinocchio.

Medians of rounds, each in turn. Cassie from SDF has a floating base, loops and springs; Pinocchio from PyPI reads no
such file. Run: ``python -m bench.robots.rates [--rounds N]``.
"""

import argparse
import site
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import rtmbs

FOLDER = "cmeel.prefix/share/example-robot-data/robots"
ROBOTS = (
    ("ur_description/urdf/ur5_robot.urdf", False), ("panda_description/urdf/panda.urdf", False),
    ("icub_description/robots/icub.urdf", False), ("anymal_b_simple_description/robots/anymal.urdf", True),
    ("talos_data/robots/talos_reduced.urdf", True),
)  # fmt: skip
LOOPED = ("cassie_description/robots/cassie_v2.sdf", "cassie_description/robots/cassie.sdf")
CALLS = 1000  # of a round


def microseconds(call: Callable[[], object]) -> float:
    """Return the processor time of one call [us]."""
    start = time.process_time()
    for _ in range(CALLS):
        call()
    return (time.process_time() - start) / CALLS * 1e6


def main() -> int:
    """Print a table of medians."""
    import pinocchio as pin

    parser = argparse.ArgumentParser(prog="python -m bench.robots.rates", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    place = next(Path(one) / FOLDER for one in site.getsitepackages() if (Path(one) / FOLDER).is_dir())
    print(
        "| robot | base | nv | inverse dynamics [us] | Pinocchio | mass matrix [us] | Pinocchio |\n" + "|---" * 7 + "|"
    )
    for name, floating in ROBOTS:
        model = rtmbs.read(place / name, meshes=False, floating=floating)
        model.forces.clear()
        model.couplers.clear()
        robot, path = rtmbs.Robot(model), str(place / name)
        peer = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(path)
        data, q, v = peer.createData(), pin.neutral(peer), np.zeros(peer.nv)
        ours, rates = robot.neutral(), np.full(robot.nv, 0.1)
        calls: list[Callable[[], object]] = [
            lambda r=robot, x=ours, y=rates: r.inverse_dynamics(x, y, y),
            lambda m=peer, d=data, x=q, y=v: pin.rnea(m, d, x, y, y),
            lambda r=robot, x=ours: r.mass_matrix(x),
            lambda m=peer, d=data, x=q: pin.crba(m, d, x),
        ]
        times = np.median([[microseconds(call) for call in calls] for _ in range(options.rounds)], axis=0)
        base = "floating" if floating else "fixed"
        print(f"| {Path(name).stem} | {base} | {robot.nv} | " + " | ".join(f"{one:.1f}" for one in times) + " |")
    for name in LOOPED:
        robot = rtmbs.Robot(rtmbs.read(place / name, meshes=False))
        ours, rates = robot.neutral(), np.full(robot.nv, 0.1)
        calls = [
            lambda r=robot, x=ours, y=rates: r.inverse_dynamics(x, y, y),
            lambda r=robot, x=ours: r.mass_matrix(x),
        ]
        times = np.median([[microseconds(call) for call in calls] for _ in range(options.rounds)], axis=0)
        what = f"floating, {len(robot.closure_gap(ours))} loop equations, {len(robot.model.forces)} forces"
        print(f"| {Path(name).stem} | {what} | {robot.nv} | {times[0]:.1f} | | {times[1]:.1f} | |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
