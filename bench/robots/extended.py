"""Accelerations in extended precision: which of two programs is off where rtmbs and Pinocchio differ.

The equations of motion are built a second time from the tables of Pinocchio, by plain sums over bodies in numbers of 64
bits of mantissa (``numpy.longdouble``), and are solved by Gauss's elimination. Poses and rates are first refined until
the loops hold in that precision. Errors of both programs are relative to the largest acceleration. The last number is
the change of the exact answer by roundings of pose and rates: no program with numbers of 53 bits can promise less.

Run: ``python -m bench.robots.extended [FOLDER ...] [--states N]``; folders as in ``bench.robots.loops``.
"""

import argparse
import site
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

import rtmbs
from bench.robots.algorithms import Pair
from bench.robots.loops import RANK, Loops
from bench.robots.rates import FOLDER, ROBOTS

Array = NDArray[Any]  # of longdouble

WANTED = 1e-9
L = np.longdouble
PROXIMAL = (1e-8, 1e-4)  # mu of Pinocchio's proximal iteration
REFINED = 6  # rounds, each of which gains ten digits


class Equations(NamedTuple):
    """M a + h = tau, J a + d = 0 and the gap of the loops at a state."""

    M: Array
    h: Array
    J: Array
    d: Array
    gap: Array


def cross(u: Array) -> Array:
    """Return the matrix of a cross product."""
    return np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]], L)


def motion(V: Array) -> Array:
    """Return V x of motion vectors [linear, angular], 6 x 6."""
    return np.block([[cross(V[3:]), cross(V[:3])], [np.zeros((3, 3), L), cross(V[3:])]])


def turned(axis: Array, angle: Any) -> Array:
    """Return the rotation about a unit vector."""
    K = cross(axis)
    return np.eye(3, dtype=L) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)


def orthogonal(R: Array) -> Array:
    """Return the rotation nearest to a matrix of 53 bits."""
    R = R.astype(L)
    for _ in range(3):
        R = R @ (3 * np.eye(3, dtype=L) - R.T @ R) / 2
    return np.asarray(R)


def of_quaternion(x: Array) -> Array:
    """Return the rotation of a quaternion (x, y, z, w) of any length."""
    x = x / np.sqrt(x @ x)
    K = cross(x[:3])
    return np.eye(3, dtype=L) + 2 * x[3] * K + 2 * K @ K


def joint_placement(joint: Any, S: Array, q: Array) -> tuple[Array, Array]:
    """Return rotation and position of a joint of Pinocchio at its own coordinates."""
    kind, identity, nothing = joint.shortname(), np.eye(3, dtype=L), np.zeros(3, L)
    if joint.nv == 6:
        return of_quaternion(q[3:]), q[:3]
    if "Spherical" in kind:
        return of_quaternion(q), nothing
    if joint.nq == 2:
        q = q / np.sqrt(q @ q)
        return identity + q[1] * cross(S[3:, 0]) + (1 - q[0]) * (cross(S[3:, 0]) @ cross(S[3:, 0])), nothing
    axis = S[3:, 0] if np.any(S[3:, 0]) else S[:3, 0]
    axis = axis / np.sqrt(axis @ axis)
    return (turned(axis, q[0]), nothing) if np.any(S[3:, 0]) else (identity, axis * q[0])


def unit_axes(S: Array) -> Array:
    """Return columns of a joint without the rounding that their way through the world's axes left."""
    S = np.where(np.abs(S - np.rint(S)) < 1e-14, np.rint(S), S).astype(L)
    return np.asarray(S / np.sqrt((S * S).sum(axis=0)))


class Extended:
    """A model of Pinocchio with its constraints, in extended precision."""

    def __init__(self, peer: Any, constraints: Any = ()) -> None:
        import pinocchio as pin

        self.peer, self.constraints, data = peer, list(constraints), peer.createData()
        pin.computeJointJacobians(peer, data, pin.neutral(peer))
        self.S = [np.zeros((6, 0), L)]
        for i in range(1, peer.njoints):
            J = pin.getJointJacobian(peer, data, i, pin.LOCAL)
            joint = peer.joints[i]
            self.S.append(unit_axes(J[:, joint.idx_v : joint.idx_v + joint.nv]))

    def at(self, q: Array, v: Array) -> Equations:
        """Return the equations at a pose and rates of Pinocchio."""
        peer, nv, n = self.peer, self.peer.nv, self.peer.njoints
        R, p = [np.eye(3, dtype=L)], [np.zeros(3, L)]
        V, A, J = [np.zeros(6, L)], [np.zeros(6, L)], [np.zeros((6, nv), L)]
        M, h = np.zeros((nv, nv), L), np.zeros(nv, L)
        gravity = np.concatenate((peer.gravity.linear, np.zeros(3))).astype(L)
        for i in range(1, n):
            joint, place, before = peer.joints[i], peer.jointPlacements[i], peer.parents[i]
            own, at = joint_placement(joint, self.S[i], q[joint.idx_q : joint.idx_q + joint.nq])
            R0 = R[before] @ orthogonal(place.rotation)
            p.append(p[before] + R[before] @ place.translation.astype(L) + R0 @ at)
            R.append(R0 @ own)
            columns = np.concatenate((R[i] @ self.S[i][:3] + cross(p[i]) @ R[i] @ self.S[i][3:], R[i] @ self.S[i][3:]))
            one = slice(joint.idx_v, joint.idx_v + joint.nv)
            J.append(J[before].copy())
            J[i][:, one] = columns
            V.append(V[before] + columns @ v[one])
            A.append(A[before] + motion(V[i]) @ (columns @ v[one]))
            inertia = self.inertia(i, R[i], p[i])
            M += J[i].T @ inertia @ J[i]
            h += J[i].T @ (inertia @ (A[i] - gravity) - motion(V[i]).T @ (inertia @ V[i]))
        M += np.diag(peer.armature.astype(L))
        rows, drift, gap = np.zeros((0, nv), L), np.zeros(0, L), np.zeros(0, L)
        for one in self.constraints:
            found = self.loop(one, R, p, V, A, J)
            rows, drift, gap = (np.concatenate(pair) for pair in zip((rows, drift, gap), found, strict=True))
        return Equations(M, h, rows, drift, gap)

    def inertia(self, i: int, R: Array, p: Array) -> Array:
        """Return the inertia (6, 6) of a body about the world's origin."""
        one = self.peer.inertias[i]
        c, m = cross(p + R @ one.lever.astype(L)), L(one.mass)
        return np.block([[m * np.eye(3, dtype=L), -m * c], [m * c, R @ one.inertia.astype(L) @ R.T - m * c @ c]])

    def loop(self, one: Any, R: Any, p: Any, V: Any, A: Any, J: Any) -> tuple[Array, Array, Array]:
        """Return Jacobian, drift and gap of a constraint: its second frame less its first one."""
        import pinocchio as pin

        a, b = one.joint1_id, one.joint2_id
        x, y = (
            p[k] + R[k] @ place.translation.astype(L)
            for k, place in ((a, one.joint1_placement), (b, one.joint2_placement))
        )
        rows, drift = J[b] - J[a], A[b] - A[a]
        if one.type == pin.ContactType.CONTACT_3D:

            def of_point(k: int, at: Array) -> tuple[Array, Array]:
                speed = V[k][:3] + np.cross(V[k][3:], at)
                return J[k][:3] - cross(at) @ J[k][3:], A[k][:3] + np.cross(A[k][3:], at) + np.cross(V[k][3:], speed)

            (first, one_slope), (second, other_slope) = of_point(a, x), of_point(b, y)
            return second - first, other_slope - one_slope, y - x
        turn = (R[b] @ orthogonal(one.joint2_placement.rotation)) @ (R[a] @ orthogonal(one.joint1_placement.rotation)).T
        angle = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]], L) / 2
        return rows, drift, np.concatenate((y - x - np.cross(angle, x), angle))


def refined(peer: Extended, q: Array, v: Array) -> tuple[Array, Array]:
    """Return pose and rates that hold the loops in extended precision."""
    import pinocchio as pin

    J = peer.at(q, v).J.astype(float)
    inverse = np.linalg.pinv(J, rcond=RANK).astype(L) if len(J) else np.zeros((len(v), 0), L)
    for _ in range(REFINED):
        q = stepped(peer.peer, q, -inverse @ peer.at(q, v).gap)
        v = v - inverse @ (peer.at(q, v).J @ v)
    assert pin.isNormalized(peer.peer, q.astype(float), 1e-9)
    return q, v


def stepped(peer: Any, q: Array, w: Array) -> Array:
    """Return a pose after small rates ``w`` for a unit of time; quaternions and unit circles to second order."""
    q = q.copy()
    for joint in peer.joints[1:]:
        own, rates = slice(joint.idx_q, joint.idx_q + joint.nq), w[joint.idx_v : joint.idx_v + joint.nv]
        if joint.nq == joint.nv:
            q[own] += rates
        elif joint.nq == 2:
            c, s = q[own]
            q[own] = np.array([c - s * rates[0], s + c * rates[0]]) / np.sqrt(1 + rates[0] ** 2)
        else:
            x = q[own][-4:]
            if joint.nv == 6:
                q[own.start : own.start + 3] += of_quaternion(x) @ rates[:3]
            half = rates[-3:] / 2
            x = np.append(x[3] * half + np.cross(x[:3], half), -x[:3] @ half) + x
            q[own.stop - 4 : own.stop] = x / np.sqrt(x @ x)
    return q


def eliminated(A: Array, b: Array) -> Array:
    """Return x of A x = b by Gauss's elimination with pivots; rows are scaled first."""
    scale = np.abs(A).max(axis=1)
    A, b = A / scale[:, None], b / scale
    for k in range(len(A)):
        row = k + int(np.abs(A[k:, k]).argmax())
        A[[k, row]], b[[k, row]] = A[[row, k]], b[[row, k]]
        for i in range(k + 1, len(A)):
            factor = A[i, k] / A[k, k]
            A[i, k:], b[i] = A[i, k:] - factor * A[k, k:], b[i] - factor * b[k]
    x = np.zeros(len(A), L)
    for k in range(len(A) - 1, -1, -1):
        x[k] = (b[k] - A[k, k + 1 :] @ x[k + 1 :]) / A[k, k]
    return x


def accelerations(peer: Extended, q: Array, v: Array, tau: Array) -> Array:
    """Return a (nv,) in extended precision; redundant loop equations are left out."""
    M, h, J, d, _ = peer.at(q, v)
    if len(J):
        size = np.linalg.norm(J.astype(float))
        _, R, order = scipy.linalg.qr(J.T.astype(float), pivoting=True, mode="economic")
        kept = order[: int(np.count_nonzero(np.abs(np.diag(R)) > RANK * size))]
        J, d = J[kept], d[kept]
    m = len(J)
    A = np.block([[M, J.T], [J, np.zeros((m, m), L)]])
    return eliminated(A, np.concatenate((tau - h, -d)))[: len(M)]


def largest(found: Array, wanted: Array) -> float:
    """Return the largest difference of the largest entry."""
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def of_loops(folder: Path, states: int) -> list[float]:
    """Return the largest errors here, of Pinocchio by each mu, and of one rounding."""
    random, both = np.random.default_rng(1), Loops(folder)
    peer, order, worst = Extended(both.reference, both.constraints), both.places.order, np.zeros(2 + len(PROXIMAL))
    for q, v, tau, _ in both.states(states, random):
        x, w, forces = (one.astype(L) for one in both.for_reference(q, v, tau))
        exact = accelerations(peer, *refined(peer, x, w), forces)
        nearby = accelerations(peer, *refined(peer, *rounded(both.reference, x, w, random)), forces)
        found = [
            largest(both.robot.forward_dynamics(q, v, tau).accelerations, exact[order]),
            *(largest(both.of_reference(q, v, tau, mu), exact[order]) for mu in PROXIMAL),
            largest(nearby, exact),
        ]
        worst = np.maximum(worst, found)
    return worst.tolist()


def of_tree(name: str, floating: bool, states: int) -> list[float]:
    """Return the largest errors here, of Pinocchio's articulated bodies and by its mass matrix, and of one rounding."""
    import pinocchio as pin

    place = next(Path(one) / FOLDER for one in site.getsitepackages() if (Path(one) / FOLDER).is_dir())
    random, pair, worst = np.random.default_rng(1), Pair(place / name, floating), np.zeros(4)
    peer, order = Extended(pair.peer), pair.order
    for _ in range(states):
        q, v, _, x, w, _, X, Xd = pair.state(random)
        forces = random.uniform(-1, 1, len(w))
        exact = accelerations(peer, x.astype(L), w.astype(L), forces.astype(L))
        nearby = accelerations(peer, *rounded(pair.peer, x.astype(L), w.astype(L), random), forces.astype(L))
        a = pair.robot.forward_dynamics(q, v, np.linalg.solve(X.T, forces[order])).accelerations
        M = pin.crba(pair.peer, pair.data, x)
        M = np.triu(M) + np.triu(M, 1).T
        found = [
            largest(np.linalg.solve(X, a - Xd @ np.linalg.solve(X, v)), exact[order]),
            largest(pin.aba(pair.peer, pair.data, x, w, forces), exact),
            largest(np.linalg.solve(M, forces - pin.nle(pair.peer, pair.data, x, w)), exact),
            largest(nearby, exact),
        ]
        worst = np.maximum(worst, found)
    return worst.tolist()


def rounded(peer: Any, q: Array, v: Array, random: np.random.Generator) -> tuple[Array, Array]:
    """Return a state with every coordinate and rate changed by one rounding of 53 bits."""
    eps = np.finfo(float).eps
    size = np.maximum(np.abs(v), 1)
    turn = eps * random.choice((-1.0, 1.0), len(v))
    return stepped(peer, q, turn.astype(L)), v + (eps * size * random.choice((-1.0, 1.0), len(v))).astype(L)


def main() -> int:
    """Print the errors of each robot; 1 where rtmbs is off by more than the wanted one and more than roundings are."""
    parser = argparse.ArgumentParser(prog="python -m bench.robots.extended", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--states", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    good = True
    print("| robot | rtmbs | Pinocchio, aba or mu = 1e-8 | by M or mu = 1e-4 | one rounding |\n" + "|---" * 5 + "|")
    tasks = [(Path(name).stem, of_tree, (name, floating)) for name, floating in ROBOTS]
    tasks += [(one.name, of_loops, (one,)) for one in options.folders if list(one.glob("*.yaml"))]
    for title, errors, given in tasks:
        try:
            found = errors(*given, options.states)
        except rtmbs.RtmbsError as error:
            print(f"| {title} | refused: {error.args[0]} |")
            continue
        good &= found[0] <= max(WANTED, 10 * found[3])
        print(f"| {title} | " + " | ".join(f"{one:.1e}" for one in found) + " |", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
