"""Scans of poses: reach of a frame, manipulability, singular poses, with closed loops.

J is the Jacobian of the frame along motions that keep the loops closed: J N with an orthonormal basis N of the null
space of the loop equations. The manipulability is the product of its singular values (Yoshikawa 1985).

Poses of closed loops are drawn between the limits and closed within them by Newton's method. Where that fails, a random
walk along the closed poses goes on from the last one, at first from the pose of a simulation.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, StartError, shown
from rtmbs.robotics.inverse_kinematics import Search, bounds_of
from rtmbs.robotics.kinematics import RobotKinematics
from rtmbs.semirecursive.start.checks import facing_away

Array = NDArray[np.float64]

RANK = 1e-9  # of the largest singular value of the loop equations
CLOSED = 1e-10  # of loop equations [m or 1]
SINGULAR = 1e-6  # smallest over largest singular value
STRIDES, STRIDE = 4, 0.5  # steps of the walk for one pose, and the largest change of a coordinate in one [rad, m]
TRIED = 8  # poses that tell in how many directions a frame can move
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
    directions : int
        Number of directions in which the frame must move at a pose that is not singular: the number of ``rows``, or
        without ``rows`` the largest number found at these and at 8 random poses.
    """

    q: Array
    position: Array
    freedom: NDArray[np.int64]
    singular_values: Array
    closed: NDArray[np.bool_]
    directions: int

    @property
    def manipulability(self) -> Array:
        """Product of the singular values (k,)."""
        return np.asarray(np.prod(self.singular_values, axis=1))

    @property
    def singular(self) -> NDArray[np.bool_]:
        """Poses (k,) at which the frame moves in fewer directions, or the loops leave another freedom than elsewhere.

        A direction counts with a singular value above 1e-6 of the largest. The freedom is compared with the smallest of
        the scan.
        """
        least = self.freedom[self.closed].min(initial=np.iinfo(np.int64).max)
        few = counts(self.singular_values) < self.directions
        return np.asarray(self.closed & (few | (self.freedom > least)))


def counts(values: Array) -> NDArray[np.int64]:
    """Return the number of directions (k,) with a singular value above 1e-6 of the largest; 0 where loops are open."""
    return np.asarray(np.count_nonzero(values > SINGULAR * values[:, :1], axis=1))


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


def null_spaces(J: Array) -> list[tuple[NDArray[np.int64], Array]]:
    """Return the states (i,) of each freedom f, and their bases (i, nv, f), of loop equations (k, m, nv)."""
    if not J.shape[1]:
        return [(np.arange(len(J)), np.broadcast_to(np.eye(J.shape[2]), (len(J), J.shape[2], J.shape[2])))]
    _, S, Vt = np.linalg.svd(J, full_matrices=True)
    ranks = np.count_nonzero(RANK * S[:, :1] < S, axis=1)
    each = [(rank, np.flatnonzero(ranks == rank)) for rank in np.unique(ranks)]
    return [(states, Vt[states, rank:].swapaxes(1, 2)) for rank, states in each]


def scan(robot: RobotKinematics, frame: str, poses: Array, rows: Any) -> PoseScan:
    """Return what a frame can do at poses (k, nq), loops as they are."""
    chosen = rows_of(rows)
    found = scan_rows(robot, frame, poses, chosen)
    if rows is not None:
        return found
    tried = scan_rows(robot, frame, random_poses(robot, TRIED, 0, None), chosen)
    most = max(int(counts(one.singular_values).max(initial=0)) for one in (found, tried))
    return replace(found, directions=most)


def scan_rows(robot: RobotKinematics, frame: str, poses: Array, rows: NDArray[np.int64]) -> PoseScan:
    """Return what a frame can do at poses (k, nq) in directions that all count."""
    position, _, J, _ = robot._kernels.frame_motions(robot._frame(frame).point, poses, None)
    J = J[:, rows]
    k = len(poses)
    freedom, closed = np.full(k, robot.nv), np.ones(k, np.bool_)
    if np.any(robot._rows):
        values = np.full((k, len(rows)), np.nan)
        Phi, C = robot._kernels.loop_equations(np.flatnonzero(robot._rows), poses)
        closed = np.abs(Phi).max(axis=1) <= CLOSED
        if any(len(info.aligned_a) for info in robot.system.closures):
            for s in np.flatnonzero(closed):  # products of axes do not see that they point opposite ways
                robot._take(poses[s])
                closed[s] = not facing_away(robot._equations)
        chosen = np.flatnonzero(closed)
        for states, N in null_spaces(C[chosen]):
            states = chosen[states]
            found = np.linalg.svd(J[states] @ N, compute_uv=False)
            freedom[states] = N.shape[2]
            values[states] = 0.0
            values[states, : found.shape[1]] = found
    else:
        found = np.linalg.svd(J, compute_uv=False)
        values = np.concatenate((found, np.zeros((k, len(rows) - found.shape[1]))), axis=1)
    return PoseScan(poses, position, freedom, values, closed, len(rows))


def random_poses(robot: RobotKinematics, samples: int, seed: int, limits: Any) -> Array:
    """Return random poses (k, nq) between the limits, loops closed where a closed pose is found."""
    if not (isinstance(samples, int | np.integer) and samples > 0):
        raise InputError(f"samples is {shown(samples)}; it must be a positive whole number")
    lower, upper = bounds = bounds_of(robot, limits)
    low = np.where(np.isfinite(lower), lower, np.minimum(-FREE, upper - FREE))
    high = np.where(np.isfinite(upper), upper, np.maximum(FREE, lower + FREE))
    random = np.random.default_rng(seed)
    draws = random.uniform(low, high, (samples, robot.nv))
    neutral, search = robot.coordinates.neutral(), Search(robot, [], bounds)
    poses = np.array([robot.coordinates.integrate(neutral, draw) for draw in draws])
    if not np.any(robot._rows):
        return poses
    last = start_of_walk(search)
    for s, drawn in enumerate(poses):
        q, closed = search.closed(drawn)
        if not closed and last is not None:
            q, closed = walked(search, last, random), True
        poses[s] = q
        last = q if closed else last
    return poses


def start_of_walk(search: Search) -> Array | None:
    """Return a closed pose within the limits next to that of a simulation; None without one."""
    try:
        q, closed = search.closed(search.robot.assembled()[0])
    except StartError:
        return None
    return q if closed else None


def walked(search: Search, q: Array, random: np.random.Generator) -> Array:
    """Return a closed pose some random steps away, along motions that keep the loops closed."""
    robot = search.robot
    for _ in range(STRIDES):
        N = null_space(robot.closure_jacobian(q))
        step = N @ random.normal(size=N.shape[1])
        size = np.abs(step).max(initial=0.0)
        if size > 0.0:
            tried, closed = search.closed(search.moved(q, random.uniform(0.0, STRIDE) / size * step))
            q = tried if closed else q
    return q
