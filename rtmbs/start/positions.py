"""Assembly: the pose nearest to what the user wrote that closes every loop (METHODS 1.15)."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, diags_array

from rtmbs.errors import StartError
from rtmbs.linear.least_change import least_change
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.loop_jacobian import Group, LoopJacobian
from rtmbs.system.tables import REVOLUTE

Array = NDArray[np.float64]

MAX_ITERATIONS = 60
CLOSED = 1e-12  # of the row scale: assembled
REFUSED = 1e-8  # of the row scale: a start with a larger gap is refused
STILL = 1e-12  # change of a coordinate, in typical sizes, below which the nearest pose is found
HALVINGS = 10
ALMOST = 1e-3  # of the row scale: the next step closes a gap of this size for good
SHORTER = 0.9  # a step longer than this share of the last one does not settle
LARGEST = 0.5  # change of a coordinate in one iteration, in typical sizes: beyond, Phi_z says little
TURN = 2.0 * np.pi
STAGES = 24  # poses on the way from the reference pose to far pinned values


class Assembly:
    """Damped Gauss-Newton on min 1/2 (z - z0)^T W (z - z0) subject to Phi(z) = 0, pins eliminated exactly."""

    def __init__(self, equations: SemiRecursiveEquations, R0: Array, scale: Array, typical: Array) -> None:
        self.equations, self.R0 = equations, R0
        self.scale, self.typical = scale, typical
        self.jacobian = LoopJacobian(equations.tables, equations.m, equations.n)
        self.groups = self.jacobian.groups()
        self.iterations = MAX_ITERATIONS

    @contextmanager
    def patience(self, iterations: int) -> Iterator[None]:
        """Give up after so many iterations, for a while."""
        self.iterations = iterations
        try:
            yield
        finally:
            self.iterations = MAX_ITERATIONS

    def gap(self, z: Array) -> Array:
        """Return Phi over its scale (m,), order one."""
        return np.asarray(self.equations.close(z, self.R0) / self.scale)

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

    def solve(self, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
        """Return the pose (n,) next to ``wanted`` at which the iteration ends; ``gap`` says whether it is closed.

        Near a singular pose, and against weights that differ by thousands, the pull towards ``wanted`` may keep the
        loops from closing; they are then closed from the pose reached, without it.
        """
        z = self.approach(wanted, wanted, pinned, weights, 1.0)
        return z if worst_of(self.gap(z)) <= CLOSED else self.approach(z, wanted, pinned, weights, 0.0)

    def approach(self, z: Array, wanted: Array, pinned: NDArray[np.bool_], weights: Array, pull: float) -> Array:
        """Iterate from z; ``pull`` is the share of the way back to ``wanted`` that each step would like to take.

        It is halved when steps do not become shorter: Gauss-Newton overshoots where the loops bend more than the
        weights allow, and a share below 2 / (1 + bend) settles.
        """
        previous, gap = np.inf, self.gap(z)
        for _ in range(self.iterations):
            if (worst := worst_of(gap)) <= CLOSED and previous <= STILL:
                break
            step = self.change(z, pull * (wanted - z), gap, pinned, weights)
            z, gap = self.damped(z, step, gap)
            z = self.unwound(z, wanted, pinned)
            size = np.max(np.abs(step) / self.typical, initial=0.0)
            if worst <= REFUSED and size >= 0.5 * previous and size <= 1e-9:
                break  # rounding is reached
            if worst <= ALMOST and size > SHORTER * previous:
                pull *= 0.5
            previous = size
        self.gap(z)
        return z

    def change(self, z: Array, back: Array, gap: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
        """Return the Gauss-Newton step: towards ``back`` where the loops allow, and onto the loops."""
        J = self.jacobian.matrix(self.equations) @ turns(self.equations.tables.dofs.reference, z)
        step = np.where(pinned, 0.0, back)
        for group in self.groups:
            free = group.columns[~pinned[group.columns]]
            block = scaled_block(J, group, free, self.scale, self.typical)
            left = -gap[group.rows] - block @ (back[free] / self.typical[free])
            step[free] += least_change(block, left, weights[free]) * self.typical[free]
        return step

    def damped(self, z: Array, step: Array, gap: Array) -> tuple[Array, Array]:
        """Take the largest of step, step / 2, ... that does not open the loops further, or hardly."""
        largest, before = np.max(np.abs(step) / self.typical, initial=0.0), float(np.linalg.norm(gap))
        factor = min(1.0, LARGEST / largest) if largest > 0.0 else 1.0
        for _ in range(HALVINGS):
            trial = z + factor * step
            opened = self.gap(trial)
            if np.linalg.norm(opened) <= max(before * (1.0 - 1e-3 * factor), ALMOST):
                break
            factor *= 0.5
        return trial, opened

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


def scaled_block(J: csc_array, group: Group, columns: NDArray[np.int64], scale: Array, typical: Array) -> csc_array:
    """Return rows and columns of Phi_z in row scales and typical sizes."""
    block = J[group.rows][:, columns]
    return csc_array(diags_array(1.0 / scale[group.rows]) @ block @ diags_array(typical[columns]))


def worst_of(values: Array) -> float:
    """Return the largest absolute value; infinite when one is not finite."""
    return float(np.max(np.abs(values), initial=0.0)) if np.all(np.isfinite(values)) else np.inf


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
