"""Assembly: the pose nearest to what the user wrote that closes every loop (METHODS 1.15)."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array

from rtmbs.errors import StartError
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.loop_jacobian import loop_groups, loop_jacobian
from rtmbs.start.entries import scaled_entries
from rtmbs.start.nearest import REFUSED, NearestPose, worst_of
from rtmbs.system.tables import REVOLUTE

Array = NDArray[np.float64]

TURN = 2.0 * np.pi
STAGES = 24  # poses on the way from the reference pose to far pinned values


class Assembly(NearestPose):
    """Loops and drivers as equations of joint coordinates, pins kept."""

    def __init__(self, equations: SemiRecursiveEquations, R0: Array, scale: Array, typical: Array) -> None:
        self.equations, self.R0 = equations, R0
        self.scale, self.typical = scale, typical
        self.jacobian = loop_jacobian(equations.system)
        self.groups = loop_groups(equations.system)

    def gap(self, z: Array) -> Array:
        """Return Phi over its scale (m,), order one."""
        return np.asarray(self.equations.close(z, self.R0) / self.scale)

    def scaled_jacobian(self, z: Array) -> csc_array:
        """Return the derivative of the gap by z / typical; rotation dofs change by their rotation vector."""
        J, reference = self.jacobian.matrix(self.equations), self.equations.tables.dofs.reference
        return self.scaled(J @ turns(reference, z) if np.any(reference >= 0) else J)

    def scaled(self, J: csc_array) -> csc_array:
        """Return a matrix (m, n) in row scales and typical sizes."""
        return scaled_entries(J, 1.0 / self.scale, self.typical)

    def assemble(self, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
        """Return the assembled z (n,), pinned coordinates led from zero to their values when the direct way fails.

        Far from a closed pose |Phi| has minima that are no assembly; on the way from the reference pose there is none.
        The caller judges the gap that is left.
        """
        direct = self.solve(wanted, pinned, weights)
        if worst_of(self.gap(direct)) <= REFUSED or not np.any(pinned):
            return direct
        z = np.where(pinned, 0.0, wanted)
        for share in np.linspace(0.0, 1.0, STAGES + 1):
            z = self.solve(np.where(pinned, share * wanted, z), pinned, weights)
            if worst_of(self.gap(z)) > REFUSED:
                return self.solve(wanted, pinned, weights)
        z = self.unwound(z, wanted, pinned)
        self.gap(z)
        return z

    def unwound(self, z: Array, wanted: Array, pinned: NDArray[np.bool_]) -> Array:
        """Take whole turns off free angles, so that each lies within half a turn of what was wanted: the same pose."""
        tables = self.equations.tables
        free = ~pinned & (tables.dofs.kind == REVOLUTE)
        free[tables.drivers.dof] = False
        z = np.where(free, z - TURN * np.round((z - wanted) / TURN), z)
        for i in np.flatnonzero(tables.dofs.reference >= 0):
            size = np.linalg.norm(z[i : i + 3])
            if not pinned[i] and size > 0.5 * TURN:
                z[i : i + 3] *= 1.0 - TURN / size  # the same rotation, the other way round
        return z


def turns(reference: NDArray[np.int64], z: Array) -> csc_array:
    """Return the matrix (n, n) from changes of z to what Phi_z takes: T(delta) of rotation dofs, else the identity."""
    n, first = len(z), np.flatnonzero(reference >= 0)
    own = (first[:, None] + np.arange(3)).ravel()
    plain = np.setdiff1d(np.arange(n), own)
    rows = np.concatenate((plain, np.repeat(own, 3)))
    columns = np.concatenate((plain, np.tile(own.reshape(-1, 1, 3), (1, 3, 1)).ravel()))
    blocks = [right_jacobian(z[i : i + 3]).ravel() for i in first]
    return csc_array(coo_array((np.concatenate((np.ones(len(plain)), *blocks)), (rows, columns)), shape=(n, n)))


def right_jacobian(delta: Array) -> Array:
    """Return T (3, 3): exp(delta~) turns by T d(delta) in the axes it leads to.

    T = 1 - (1 - cos(theta)) / theta^2 delta~ + (theta - sin(theta)) / theta^3 delta~^2, theta = |delta|.
    """
    theta, tilde = float(np.linalg.norm(delta)), np.cross(np.eye(3), delta)
    half = np.sinc(theta / TURN)  # sin(theta / 2) / (theta / 2)
    square = (theta - np.sin(theta)) / theta**3 if theta > 1e-2 else 1.0 / 6.0 - theta**2 / 120.0
    return np.asarray(np.eye(3) - 0.5 * half**2 * tilde + square * tilde @ tilde)


def check_closed(equations: SemiRecursiveEquations, gap: Array, scale: Array, pinned: NDArray[np.bool_]) -> None:
    """Refuse a start whose loops stay open; raises StartError naming the joint, the gap and the pins."""
    if worst_of(gap) <= REFUSED:
        return
    system = equations.system
    row = int(np.argmax(np.where(np.isfinite(gap), np.abs(gap), np.inf)))
    closure, unit = system.closure_of_row[row], "" if system.row_is_rotation[row] else " m"
    name = system.closure_names[closure] if closure >= 0 else system.row_names[row]
    together = system.block_of_row == system.block_of_row[row]
    size = float(np.linalg.norm((gap * scale)[together]))
    pins = [name for name, pin in zip(system.coordinate_names, pinned, strict=True) if pin]
    hint = f"; pinned initial values: {', '.join(pins[:6])}{' ...' if len(pins) > 6 else ''}" if pins else ""
    raise StartError(
        f"the loop at {name!r} cannot close: a gap of {size:.4g}{unit} is left at"
        f" the nearest pose found; check the points and lengths of this loop{hint}, or give an initial value"
        " closer to a closed pose"
    )
