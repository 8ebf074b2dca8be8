"""Closed loops of URDF against Pinocchio: accelerations under its constrained dynamics at assembled states.

Each folder holds a robot.urdf with a robot.yaml of closed loops, as those of Gepetto/example-parallel-robots. The
accelerations are relative to their largest. A robot that does not assemble from its zero pose is told and left out.
Run: ``python -m bench.robots.loops FOLDER [FOLDER ...] [--states N]``.
"""

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rtmbs
from rtmbs.errors import RtmbsError

Array = NDArray[np.float64]

WANTED = 1e-9
ASSEMBLED = 1e-10  # [m, 1]


def constraints_of(reference: Any, loops: Path) -> list[Any]:
    """Return Pinocchio's constraint models of a side file."""
    import pinocchio as pin
    import yaml

    tree = yaml.safe_load(loops.read_text(encoding="utf-8"))
    kinds = {"3d": pin.ContactType.CONTACT_3D, "6d": pin.ContactType.CONTACT_6D}
    found = []
    for (one, two), kind in zip(tree["closed_loop"], tree["type"], strict=True):
        a, b = (reference.frames[reference.getFrameId(name)] for name in (one, two))
        model = pin.RigidConstraintModel(
            kinds[kind.lower()], reference, a.parentJoint, a.placement, b.parentJoint, b.placement,
            pin.ReferenceFrame.LOCAL,
        )  # fmt: skip
        found.append(model)
    return found


def compared(folder: Path, states: int, random: np.random.Generator) -> tuple[float, float, int]:
    """Return the largest relative difference of accelerations, the largest gap, and the degrees of freedom."""
    import pinocchio as pin

    urdf, loops = next(folder.glob("*.urdf")), next(folder.glob("*.yaml"))
    model = rtmbs.read(urdf, meshes=False, floating=False, loops=loops)
    model.forces.clear()
    model.couplers.clear()  # of mimic joints, which the reference leaves out
    robot = rtmbs.Robot(model)
    reference = pin.buildModelFromUrdf(str(urdf))
    data, constraints = reference.createData(), constraints_of(reference, loops)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.extend(constraints)
    datas.extend([one.createData() for one in constraints])
    pin.initConstraintDynamics(reference, data, models, datas)
    settings = pin.ProximalSettings(1e-14, 1e-14, 1e-8, 2000)
    places = [reference.joints[reference.getJointId(name)] for name in robot.joint_names]
    order = np.array([joint.idx_v for joint in places])
    q, _ = robot.assembled()
    worst = gap = 0.0
    freedom = 0
    for _ in range(states):
        N = null_space(robot.closure_jacobian(q))
        freedom = N.shape[1]
        q = closed(robot, robot.integrate(q, N @ random.uniform(-0.1, 0.1, freedom)))
        gap = max(gap, float(np.abs(robot.closure_gap(q)).max()))
        v, tau = null_space(robot.closure_jacobian(q)) @ random.uniform(-1, 1, freedom), random.uniform(-1, 1, robot.nv)
        x, rates, forces = pin.neutral(reference), np.zeros(reference.nv), np.zeros(reference.nv)
        for k, joint in enumerate(places):
            x[joint.idx_q : joint.idx_q + joint.nq] = [q[k]] if joint.nq == 1 else [np.cos(q[k]), np.sin(q[k])]
        rates[order], forces[order] = v, tau
        wanted = pin.constraintDynamics(reference, data, x, rates, forces, models, datas, settings)[order]
        found = robot.forward_dynamics(q, v, tau).accelerations
        worst = max(worst, float(np.abs(found - wanted).max() / np.abs(wanted).max()))
    return worst, gap, freedom


def null_space(J: Array) -> Array:
    """Return the directions (nv, k) that keep the loops closed."""
    _, S, Vt = np.linalg.svd(J, full_matrices=True)
    return np.asarray(Vt[int(np.count_nonzero(1e-9 * S[0] < S)) :].T)


def closed(robot: rtmbs.Robot, q: Array) -> Array:
    """Return the pose with closed loops nearest to one, by Newton's method."""
    for _ in range(30):
        q = robot.integrate(q, -np.linalg.pinv(robot.closure_jacobian(q), rcond=1e-9) @ robot.closure_gap(q))
    return q


def main() -> int:
    """Print degrees of freedom, gap and largest difference of each robot; 1 for one above the wanted difference."""
    parser = argparse.ArgumentParser(prog="python -m bench.robots.loops", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--states", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    good = True
    for folder in options.folders:
        if not list(folder.glob("*.urdf")) or not list(folder.glob("*.yaml")):
            continue
        try:
            worst, gap, freedom = compared(folder, options.states, np.random.default_rng(1))
        except RtmbsError as error:
            print(f"{folder.name}: left out: {str(error.args[0])[:100]}")
            continue
        good &= worst <= WANTED and gap <= ASSEMBLED
        print(f"{folder.name}: {freedom} degrees of freedom, gap {gap:.2g}, accelerations {worst:.2g}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
