"""Closed loops of URDF against Pinocchio: accelerations under its constrained dynamics at assembled states.

Each folder holds a robot.urdf with a robot.yaml of closed loops, as those of Gepetto/example-parallel-robots. The
accelerations are relative to their largest. The side file may replace joints by balls, universal and fixed ones. A
robot that does not assemble is told with the reason.
Run: ``python -m bench.robots.loops FOLDER [FOLDER ...] [--states N]``.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rtmbs
from rtmbs.errors import RtmbsError
from rtmbs.numerics.rotations.quaternions import quaternions, rotations

Array = NDArray[np.float64]

WANTED = 1e-9
ASSEMBLED = 1e-10  # [m, 1]
RANK = 1e-9  # of the largest singular value
PROXIMAL, ITERATIONS = 1e-4, 20_000  # of Pinocchio; its rounding grows with 1 / mu (bench.robots.extended)


def reference_of(urdf: Path, tree: Any) -> Any:
    """Return Pinocchio's model of a URDF with the joints that its side file replaces."""
    import pinocchio as pin

    turning = {"X": pin.JointModelRX, "Y": pin.JointModelRY, "Z": pin.JointModelRZ}
    kinds = dict(zip(tree.get("joint_name") or [], tree.get("joint_type") or [], strict=True))
    read, built, locked = pin.buildModelFromUrdf(str(urdf)), pin.Model(), []
    numbers = {0: 0}
    for old in range(1, read.njoints):
        name, parent, place = read.names[old], numbers[read.parents[old]], read.jointPlacements[old]
        kind, joint = kinds.get(name, ""), read.joints[old]
        if kind.startswith("UJOINT"):
            parent, place = built.addJoint(parent, turning[kind[-2]](), place, f"{name}_first"), pin.SE3.Identity()
            joint = turning[kind[-1]]()
        elif kind == "SPHERICAL":
            joint = pin.JointModelSpherical()
        numbers[old] = built.addJoint(parent, joint, place, name)
        built.appendBodyToJoint(numbers[old], read.inertias[old], pin.SE3.Identity())
        locked += [numbers[old]] if kind == "FIXED" else []
    for frame in read.frames[1:]:
        built.addFrame(pin.Frame(frame.name, numbers[frame.parentJoint], frame.placement, frame.type), False)
    return pin.buildReducedModel(built, locked, pin.neutral(built)) if locked else built


def constraints_of(reference: Any, tree: Any) -> list[Any]:
    """Return Pinocchio's constraint models of a side file."""
    import pinocchio as pin

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


def rank_by_reference(reference: Any, models: Any, datas: Any, data: Any, x: Array) -> int:
    """Return the rank of Pinocchio's Jacobian of the constraints at a pose."""
    import pinocchio as pin

    pin.computeJointJacobians(reference, data, x)
    S = np.linalg.svd(pin.getConstraintsJacobian(reference, data, models, datas), compute_uv=False)
    return int(np.count_nonzero(RANK * S[0] < S))


class Places:
    """Places of the coordinates of a Robot in the vectors of Pinocchio."""

    def __init__(self, robot: rtmbs.Robot, reference: Any) -> None:
        names = set(reference.names)
        self.pairs = []  # our slices of q and v, and the joints of the reference
        for place in robot.coordinates.places:
            first = f"{place.name}_first"
            joints = [one for one in (first, place.name) if one in names]
            self.pairs.append((place, [reference.joints[reference.getJointId(one)] for one in joints]))
        self.order = np.concatenate([
            np.arange(joint.idx_v, joint.idx_v + joint.nv) for _, joints in self.pairs for joint in joints
        ])  # fmt: skip

    def pose(self, q: Array, nothing: Array) -> Array:
        """Return the pose of Pinocchio."""
        x = nothing.copy()
        for place, joints in self.pairs:
            own = q[place.q]
            for k, joint in enumerate(joints):
                if joint.nv == 3:
                    of_joint = place.at_zero.T @ rotations(own)  # ours is that between the bodies
                    x[joint.idx_q : joint.idx_q + 4] = np.roll(quaternions(of_joint[None])[0], -1)  # to x, y, z, w
                else:
                    x[joint.idx_q : joint.idx_q + joint.nq] = (
                        own[k] if joint.nq == 1 else (np.cos(own[k]), np.sin(own[k]))
                    )
        return x


class Loops:
    """A robot of a folder here and in Pinocchio, with the same loops."""

    def __init__(self, folder: Path) -> None:
        import pinocchio as pin
        import yaml

        urdf, loops = next(folder.glob("*.urdf")), next(folder.glob("*.yaml"))
        tree = yaml.safe_load(loops.read_text(encoding="utf-8"))
        model = rtmbs.read(urdf, meshes=False, floating=False, loops=loops)
        model.forces.clear()
        model.couplers.clear()  # of mimic joints, which the reference leaves out
        self.robot, self.reference = rtmbs.Robot(model), reference_of(urdf, tree)
        self.places, self.data = Places(self.robot, self.reference), self.reference.createData()
        self.constraints = constraints_of(self.reference, tree)
        self.models, self.datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        self.models.extend(self.constraints)
        self.datas.extend([one.createData() for one in self.constraints])
        pin.initConstraintDynamics(self.reference, self.data, self.models, self.datas)

    def states(self, count: int, random: np.random.Generator) -> Iterator[tuple[Array, Array, Array, int]]:
        """Yield poses, rates and joint forces with closed loops, and the degrees of freedom."""
        robot = self.robot
        q, _ = robot.assembled()
        for _ in range(count):
            N = null_space(robot.closure_jacobian(q))
            q = closed(robot, robot.integrate(q, N @ random.uniform(-0.1, 0.1, N.shape[1])))
            N = null_space(robot.closure_jacobian(q))
            yield q, N @ random.uniform(-1, 1, N.shape[1]), random.uniform(-1, 1, robot.nv), N.shape[1]

    def for_reference(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """Return a state in the order of Pinocchio."""
        import pinocchio as pin

        x = self.places.pose(q, pin.neutral(self.reference))
        rates, forces = np.zeros(self.reference.nv), np.zeros(self.reference.nv)
        rates[self.places.order], forces[self.places.order] = v, tau
        return x, rates, forces

    def of_reference(self, q: Array, v: Array, tau: Array, mu: float = PROXIMAL) -> Array:
        """Return the accelerations of Pinocchio, in our order."""
        import pinocchio as pin

        settings = pin.ProximalSettings(1e-14, 1e-14, mu, ITERATIONS)
        given = (*self.for_reference(q, v, tau), self.models, self.datas, settings)
        return np.array(pin.constraintDynamics(self.reference, self.data, *given)[self.places.order])

    def compared(self, states: int, random: np.random.Generator) -> tuple[float, float, int, int]:
        """Return the largest relative difference of accelerations, the largest gap, and both degrees of freedom."""
        found = list(self.states(states, random))
        q, v, tau = (np.array([one[k] for one in found]) for k in range(3))
        motion = self.robot.forward_dynamics(q, v, tau)  # of all states at once
        wanted = np.array([self.of_reference(*one[:3]) for one in found])
        x = self.for_reference(*found[-1][:3])[0]
        theirs = self.reference.nv - rank_by_reference(self.reference, self.models, self.datas, self.data, x)
        worst = np.abs(motion.accelerations - wanted).max(axis=1) / np.abs(wanted).max(axis=1)
        return float(worst.max()), float(np.abs(self.robot.closure_gap(q)).max()), found[-1][3], theirs


def null_space(J: Array) -> Array:
    """Return the directions (nv, k) that keep the loops closed."""
    _, S, Vt = np.linalg.svd(J, full_matrices=True)
    return np.asarray(Vt[int(np.count_nonzero(RANK * S[0] < S)) :].T)


def closed(robot: rtmbs.Robot, q: Array) -> Array:
    """Return the pose with closed loops nearest to one, by Newton's method."""
    for _ in range(30):
        q = robot.integrate(q, -np.linalg.pinv(robot.closure_jacobian(q), rcond=RANK) @ robot.closure_gap(q))
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
            worst, gap, freedom, theirs = Loops(folder).compared(options.states, np.random.default_rng(1))
        except RtmbsError as error:
            print(f"{folder.name}: refused: {error.args[0]}")
            continue
        good &= worst <= WANTED and gap <= ASSEMBLED and freedom == theirs
        told = f"{freedom} degrees of freedom ({theirs} of Pinocchio)"
        print(f"{folder.name}: {told}, gap {gap:.2g}, accelerations {worst:.2g}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
