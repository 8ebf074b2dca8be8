"""Scans of poses: reach of a frame, manipulability, singular poses, with closed loops.

J is the Jacobian of the frame along motions that keep the loops closed: J N with an orthonormal basis N of the null
space of the loop equations. The manipulability is the product of its singular values (Yoshikawa 1985).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.robotics.inverse_kinematics import bounds_of
from rtmbs.robotics.kinematics import RobotKinematics

Array = NDArray[np.float64]

RANK = 1e-9  # of the largest singular value of the loop equations
CLOSED = 1e-10  # of loop equations [m or 1]
CLOSINGS = 50  # iterations of Newton's method
SINGULAR = 1e-6  # smallest over largest singular value
FREE = np.pi  # of a coordinate without limits: drawn from -FREE to FREE [rad, m]


@dataclass(frozen=True)
class PoseScan:
    """Poses of a robot with what its frame can do there.

    Parameters
    ----------
    q : ndarray
        Poses (k, nq).
    position : ndarray
        Points of the frame (k, 3) [m].
    freedom : ndarray
        Degrees of freedom (k,) that the loops leave.
    singular_values : ndarray
        Singular values (k, rows) of the Jacobian of the frame, largest first; NaN where loops stay open.
    closed : ndarray
        Whether the loops are closed (k,).
    """

    q: Array
    position: Array
    freedom: NDArray[np.int64]
    singular_values: Array
    closed: NDArray[np.bool_]

    @property
    def manipulability(self) -> Array:
        """Product of the singular values (k,)."""
        return np.asarray(np.prod(self.singular_values, axis=1))

    @property
    def singular(self) -> NDArray[np.bool_]:
        """Poses (k,) at which the frame cannot move in a direction, or the loops leave another freedom than elsewhere.

        The smallest singular value is below 1e-6 of the largest, or the freedom is not the smallest of the scan.
        """
        values = self.singular_values
        flat = values[:, -1] <= SINGULAR * values[:, 0]
        least = self.freedom[self.closed].min(initial=np.iinfo(np.int64).max)
        return np.asarray(self.closed & (flat | (self.freedom > least)))


def rows_of(rows: Any) -> NDArray[np.int64]:
    """Return the rows of a Jacobian that count; InputError for other numbers."""
    found = np.arange(6) if rows is None else np.asarray(rows)
    good = found.ndim == 1 and found.size and found.dtype.kind in "iu" and set(found.tolist()) <= set(range(6))
    if not good or len(set(found.tolist())) != len(found):
        raise InputError(
            f"rows is {shown(rows)}; it must be different numbers from 0 to 5: x, y, z and turns about them"
        )
    return np.asarray(found, np.int64)


def null_space(J: Array) -> Array:
    """Return an orthonormal basis (nv, f) of the motions that keep the loops closed."""
    if not len(J):
        return np.eye(J.shape[1])
    _, S, Vt = np.linalg.svd(J, full_matrices=True)
    rank = int(np.count_nonzero(RANK * S.max(initial=0.0) < S)) if S.max(initial=0.0) > 0.0 else 0
    return np.asarray(Vt[rank:].T)


def close_loops(robot: RobotKinematics, q: Array) -> tuple[Array, bool]:
    """Return the pose that Newton's method with least steps leads to, and whether its loops are closed."""
    for _ in range(CLOSINGS):
        robot._take(q)
        gap = robot._equations.ws.Phi[robot._rows]
        if np.abs(gap).max(initial=0.0) <= 0.01 * CLOSED:
            return q, True
        q = robot.coordinates.integrate(q, -np.linalg.pinv(robot._closure_rows(), rcond=RANK) @ gap)
    return q, bool(np.abs(robot.closure_gap(q)).max(initial=0.0) <= CLOSED)


def scan(robot: RobotKinematics, frame: str, poses: Array, rows: NDArray[np.int64]) -> PoseScan:
    """Return what a frame can do at poses (k, nq), loops as they are."""
    position, _, J, _ = robot._kernels.frame_motions(robot._frame(frame).point, poses, None)
    J = J[:, rows]
    k = len(poses)
    freedom, closed = np.full(k, robot.nv), np.ones(k, np.bool_)
    if np.any(robot._rows):
        values = np.full((k, len(rows)), np.nan)
        for s, q in enumerate(poses):
            C = robot.closure_jacobian(q)
            closed[s] = np.abs(robot._equations.ws.Phi[robot._rows]).max() <= CLOSED
            if closed[s]:
                N = null_space(C)
                freedom[s] = N.shape[1]
                found = np.linalg.svd(J[s] @ N, compute_uv=False)
                values[s] = np.concatenate((found, np.zeros(len(rows) - len(found))))
    else:
        found = np.linalg.svd(J, compute_uv=False)
        values = np.concatenate((found, np.zeros((k, len(rows) - found.shape[1]))), axis=1)
    return PoseScan(poses, position, freedom, values, closed)


def random_poses(robot: RobotKinematics, samples: int, seed: int, limits: Any) -> Array:
    """Return poses (k, nq) drawn between the limits, loops closed where Newton's method closes them."""
    lower, upper = bounds_of(robot, limits)
    lower, upper = np.where(np.isfinite(lower), lower, -FREE), np.where(np.isfinite(upper), upper, FREE)
    draws = np.random.default_rng(seed).uniform(lower, upper, (samples, robot.nv))
    neutral, loops = robot.coordinates.neutral(), np.any(robot._rows)
    poses = np.array([robot.coordinates.integrate(neutral, draw) for draw in draws])
    return np.array([close_loops(robot, q)[0] for q in poses]) if loops else poses
