"""Algorithms of ``rtmbs.Robot`` beside Pinocchio: largest relative differences, and processor time in a batch.

The robots are those of example-robot-data in ``bench.robots.rates``. A difference is relative to the largest entry.
Accelerations are compared as forces M a, since a light last link answers to rounding of its force by any acceleration.
The velocity of a free joint has axes of the body in Pinocchio and of the world here; ``Places`` turns it. Times are
medians of rounds in turn, for each state of a batch; Pinocchio is called from Python state by state.
Run: ``python -m bench.robots.algorithms [--states N] [--rounds N]``.
"""

import argparse
import site
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.robots.rates import FOLDER, ROBOTS

Array = NDArray[np.float64]

WANTED = 1e-11
OF_ACCELERATIONS = 1e-9  # Pinocchio's own are off by 5.8e-10 for iCub (bench.robots.extended)
BATCH = 256


class Pair:
    """A robot here and in Pinocchio, with the same coordinates."""

    def __init__(self, path: Path, floating: bool) -> None:
        import pinocchio as pin

        model = rtmbs.read(path, meshes=False, floating=floating)
        model.forces.clear()
        model.couplers.clear()
        self.robot, self.floating = rtmbs.Robot(model), floating
        given = (str(path), pin.JointModelFreeFlyer()) if floating else (str(path),)
        self.peer = pin.buildModelFromUrdf(*given)
        self.data = self.peer.createData()
        self.places = []
        for place in self.robot.coordinates.places:
            name = "root_joint" if place.turns else place.name
            self.places.append((place, self.peer.joints[self.peer.getJointId(name)]))
        self.order = np.concatenate([np.arange(joint.idx_v, joint.idx_v + joint.nv) for _, joint in self.places])

    def state(self, random: np.random.Generator) -> tuple[Array, ...]:
        """Return q, v, a here, and q, v, a of Pinocchio with X and dX/dt of v = X v_peer."""
        import pinocchio as pin

        nv, robot = self.robot.nv, self.robot
        q = robot.integrate(robot.neutral(), random.uniform(-1.5, 1.5, nv))
        x, w, wd = pin.neutral(self.peer), random.uniform(-1, 1, nv), random.uniform(-1, 1, nv)
        X, Xd = np.eye(nv), np.zeros((nv, nv))
        for place, joint in self.places:
            own = q[place.q]
            if place.turns:
                x[:3], x[3:7] = own[:3], np.roll(own[3:], -1)
                R = pin.Quaternion(x[3:7]).toRotationMatrix()
                omega = w[joint.idx_v + 3 : joint.idx_v + 6]
                X[:3, :3], Xd[:3, :3] = R, R @ pin.skew(omega)
            else:
                x[joint.idx_q : joint.idx_q + joint.nq] = own if joint.nq == 1 else (np.cos(own[0]), np.sin(own[0]))
        return q, X @ w[self.order], X @ wd[self.order] + Xd @ w[self.order], x, w, wd, X, Xd

    def compared(self, states: int, random: np.random.Generator) -> dict[str, float]:
        """Return the largest relative difference of each algorithm."""
        worst: dict[str, float] = {}
        for _ in range(states):
            q, v, a, x, w, wd, X, Xd = self.state(random)
            ours, theirs = self.ours(q, v, a, X, Xd), self.theirs(x, w, wd)
            for what, wanted in theirs.items():
                found = np.abs(ours[what] - wanted).max() / np.abs(wanted).max()
                worst[what] = max(worst.get(what, 0.0), float(found))
        return worst

    @property
    def frame(self) -> str:
        """The last body of the tree."""
        return str(self.robot.model.joints[self.robot.joint_names[-1]].b.name)

    def ours(self, q: Array, v: Array, a: Array, X: Array, Xd: Array) -> dict[str, Array]:
        """Return all algorithms here, by coordinates of Pinocchio."""
        robot, frame = self.robot, self.frame
        found = {
            "mass matrix": X.T @ robot.mass_matrix(q) @ X,
            "inverse dynamics": X.T @ robot.inverse_dynamics(q, v, a),
            "mass centre": robot.center_of_mass(q),
            "its Jacobian": robot.jacobian_center_of_mass(q) @ X,
        }
        tau = np.linspace(-1.0, 1.0, robot.nv)
        slope = robot.forward_dynamics(q, v, np.linalg.solve(X.T, tau)).accelerations
        found["forward dynamics"] = found["mass matrix"] @ np.linalg.solve(X, slope - Xd @ np.linalg.solve(X, v))
        for axes in ("world", "local"):
            J = robot.jacobian(q, frame, axes)
            found[f"Jacobian, {axes}"] = J @ X
            found[f"its derivative, {axes}"] = robot.jacobian_time_variation(q, v, frame, axes) @ X + J @ Xd
        A = robot.centroidal_momentum_matrix(q)
        found["momentum matrix"] = A @ X
        found["its derivative"] = robot.centroidal_momentum_matrix_time_variation(q, v) @ X + A @ Xd
        found["operational inertia"] = robot.operational_space_inertia(q, frame, rows=(0, 1, 2))
        return found

    def theirs(self, x: Array, w: Array, wd: Array) -> dict[str, Array]:
        """Return all algorithms of Pinocchio, in our order of coordinates."""
        import pinocchio as pin

        peer, data, order = self.peer, self.data, self.order
        M = pin.crba(peer, data, x)
        M = np.triu(M) + np.triu(M, 1).T
        found = {
            "mass matrix": M[np.ix_(order, order)],
            "inverse dynamics": pin.rnea(peer, data, x, w, wd)[order].copy(),
            "mass centre": pin.centerOfMass(peer, data, x).copy(),
            "its Jacobian": pin.jacobianCenterOfMass(peer, data, x)[:, order].copy(),
        }
        tau = np.empty(len(order))
        tau[order] = np.linspace(-1.0, 1.0, len(order))
        found["forward dynamics"] = found["mass matrix"] @ pin.aba(peer, data, x, w, tau)[order]
        pin.computeJointJacobiansTimeVariation(peer, data, x, w)
        pin.forwardKinematics(peer, data, x, w)
        pin.updateFramePlacements(peer, data)
        number = peer.getFrameId(self.frame)
        for axes, kind in (("world", pin.LOCAL_WORLD_ALIGNED), ("local", pin.LOCAL)):
            found[f"Jacobian, {axes}"] = pin.getFrameJacobian(peer, data, number, kind)[:, order].copy()
            dJ = pin.getFrameJacobianTimeVariation(peer, data, number, kind)
            found[f"its derivative, {axes}"] = dJ[:, order].copy()
        J = pin.computeFrameJacobian(peer, data, x, number, pin.LOCAL_WORLD_ALIGNED)[:3].copy()
        found["operational inertia"] = np.linalg.inv(J @ np.linalg.solve(M, J.T))
        pin.dccrba(peer, data, x, w)
        found["momentum matrix"], found["its derivative"] = data.Ag[:, order].copy(), data.dAg[:, order].copy()
        return found

    def times(self, rounds: int, random: np.random.Generator) -> list[tuple[str, float, float]]:
        """Return the processor time of a state in a batch here, and of a call of Pinocchio [us]."""
        import pinocchio as pin

        states = [self.state(random) for _ in range(BATCH)]
        Q, V, A = (np.array([one[k] for one in states]) for k in range(3))
        peers, robot, peer, data = [one[3:6] for one in states], self.robot, self.peer, self.data
        number = peer.getFrameId(self.frame)
        tasks: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
            "inverse dynamics": (
                lambda: robot.inverse_dynamics(Q, V, A), lambda: [pin.rnea(peer, data, *one) for one in peers],
            ),
            "mass matrix": (lambda: robot.mass_matrix(Q), lambda: [pin.crba(peer, data, x) for x, _, _ in peers]),
            "Jacobian": (
                lambda: robot.jacobian(Q, self.frame),
                lambda: [pin.computeFrameJacobian(peer, data, x, number, pin.LOCAL_WORLD_ALIGNED) for x, _, _ in peers],
            ),
        }  # fmt: skip
        return [
            (what, *np.median([[microseconds(one) for one in pair] for _ in range(rounds)], axis=0))
            for what, pair in tasks.items()
        ]


def microseconds(call: Callable[[], object]) -> float:
    """Return the processor time of one state of a batch [us]."""
    start = time.process_time()
    call()
    return (time.process_time() - start) / BATCH * 1e6


def main() -> int:
    """Print both tables; 1 for a difference above the wanted one."""
    parser = argparse.ArgumentParser(prog="python -m bench.robots.algorithms", description=__doc__)
    parser.add_argument("--states", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    place = next(Path(one) / FOLDER for one in site.getsitepackages() if (Path(one) / FOLDER).is_dir())
    worst, forward, random, lines = 0.0, 0.0, np.random.default_rng(1), []
    for name, floating in ROBOTS:
        pair = Pair(place / name, floating)
        found = pair.compared(options.states, random)
        forward = max(forward, found["forward dynamics"])
        worst = max(worst, *(value for what, value in found.items() if what != "forward dynamics"))
        print(f"{Path(name).stem}, nv = {pair.robot.nv}: " + ", ".join(f"{k} {v:.1e}" for k, v in found.items()))
        lines += [f"| {Path(name).stem} | {pair.robot.nv} | {what} | {one:.2f} | {other:.2f} | {one / other:.2f} |"
                  for what, one, other in pair.times(options.rounds, random)]  # fmt: skip
    print(f"largest difference {worst:.2g}, of forward dynamics {forward:.2g}\n")
    print("| robot | nv | algorithm | here [us] | Pinocchio [us] | ratio |\n" + "|---" * 6 + "|\n" + "\n".join(lines))
    return 0 if worst <= WANTED and forward <= OF_ACCELERATIONS else 1


if __name__ == "__main__":
    sys.exit(main())
