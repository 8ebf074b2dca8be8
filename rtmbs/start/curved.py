"""Newton's step on the Lagrangian 1/2 y^T W y + lam . gap: the second derivatives that Gauss-Newton leaves out."""

from collections.abc import Callable

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[np.float64]

RANK = 1e-8  # singular values below this part of the largest count as zero
OPEN = 3.0  # of the gap: smaller singular values may be zero where it is closed, and a step that needs them is too far
CONVEX = 0.1  # least eigenvalue of the Lagrangian along the equations, 1 without curvature
DIFFERENCE = 1e-6  # of a typical size
MOST = 200  # coordinates beyond which a dense factor costs more than slow steps
WAYS = 20  # degrees of freedom likewise: two Jacobians each


def curved_step(
    J: Array, gap: Array, way: Array, weights: Array, jacobian: Callable[[Array], Array]
) -> tuple[Array, Array] | None:
    """Return the two parts of the step (n,), -J^+ gap and N x, or None where the Lagrangian has no minimum.

    They are in the coordinates of J (m, n). N spans the null space of J, and x makes y + J^T lam stationary along it,
    with the curvature of lam . gap by central differences of ``jacobian(change)``. ``way`` (n,) leads back to y = 0,
    and ``weights`` (n,) are W (METHODS 2.9).
    """
    if len(way) > MOST:
        return None
    near = 1.0 / np.sqrt(weights)
    U, values, Vt = scipy.linalg.svd(J * near, check_finite=False)
    rank = int(np.count_nonzero(values > max(RANK * values.max(initial=0.0), OPEN * float(np.linalg.norm(gap)))))
    if not 0 < Vt.shape[0] - rank <= WAYS:
        return None
    U, values, rows, N = U[:, :rank], values[:rank], Vt[:rank], Vt[rank:].T
    y, back = -way / near, -rows.T @ (U.T @ gap / values)
    lam = -U @ (rows @ y / values)
    bend = curvature(near, lam, np.column_stack((N, back)), jacobian)
    along = N.T @ bend[:, :-1]
    H = np.eye(len(along)) + 0.5 * (along + along.T)
    if not np.all(np.isfinite(bend)) or np.linalg.eigvalsh(H)[0] <= CONVEX:
        return None
    return near * back, -near * (N @ np.linalg.solve(H, N.T @ (y + bend[:, -1])))


def curvature(near: Array, lam: Array, ways: Array, jacobian: Callable[[Array], Array]) -> Array:
    """Return (J^T lam)_y times each of the ways (n, k), y = change / near."""
    found = np.zeros(ways.shape)
    for k, way in enumerate((near[:, None] * ways).T):
        size = float(np.abs(way).max(initial=0.0))
        if size > 0.0:
            step = DIFFERENCE / size
            found[:, k] = near * ((jacobian(step * way) - jacobian(-step * way)).T @ lam) / (2.0 * step)
    return found
