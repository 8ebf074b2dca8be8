"""Global error of a run with a tolerance: local errors carried along by the linear equations of motion (METHODS 1.34).

An error (dz, dv) beside a motion follows M da + C dv + K dz + Phi_z^T dlam = 0 and stays on the loops. One implicit
midpoint step takes it over a stretch of steps. Where motions part, it grows as they do.
"""

from typing import Any

import numpy as np

from rtmbs.errors import InputError
from rtmbs.integrators.settings import TANGENT_TERMS, StateArrays
from rtmbs.numerics.rotations.quaternions import Array, turned
from rtmbs.simulation.dense_output import Moment
from rtmbs.simulation.step_choice import Batch
from rtmbs.system.system import System

LAGGED = TANGENT_TERMS.index("lagged")  # multipliers and accelerations of the moment
TURN = 0.15  # typical sizes that the fastest part moves in a stretch
SMALL = 1e-5  # typical sizes: perturbation of a difference quotient
LONGEST = 12  # steps of a stretch: where the tolerance makes them short, a coordinate says too little of the motion
LARGEST = 40  # coordinates and loop equations: matrices here are dense
MOST_AGAIN = 4  # times that a run begins anew with smaller steps
LESS = 0.2  # of what the steps of a run may add, when it begins anew
KEPT = 1.2  # tolerances that a coordinate or the angle of a body may be off


class ToleranceError(InputError):
    """A run with a tolerance is off by more: smaller steps from its start may help."""


class ErrorGrowth:
    """Estimated error of positions and rates at the present time."""

    def __init__(self, system: System, equations: Any) -> None:
        self.system, self.equations = system, equations
        self.position, self.rate = np.zeros(system.n), np.zeros(system.n)
        self.first = np.flatnonzero(system.tables.dofs.reference >= 0)
        self.waiting, self.span, self.added = list[Moment](), 0.0, np.zeros((2, system.n))  # steps that wait
        self.at: Moment | None = None  # where the error was last known
        self.followed = system.n > 0 and system.n + len(system.row_names) <= LARGEST

    @property
    def size(self) -> float:
        """Largest error of a coordinate now, in typical sizes."""
        return float(np.max(np.abs(self.position) / self.system.typical, initial=0.0))

    def turned(self, at: Moment) -> float:
        """Return the largest angle by which a body is turned at a moment [rad]: coordinates add up along a chain."""
        self.equations.close(at.z, at.R0)
        self.equations.closure_accelerations(self.position, np.zeros(self.system.n))  # moves bodies at these rates
        turns = self.equations.ws.V[: self.system.n, 3:]
        return float(np.max(np.linalg.norm(turns, axis=1), initial=0.0))

    @property
    def worst(self) -> str:
        """Name of the coordinate with that error."""
        return self.system.coordinate_names[int(np.argmax(np.abs(self.position) / self.system.typical))]

    def check(self, tolerance: float, t: float) -> None:
        """Refuse to go on from ``t`` [s] when a run no longer keeps its tolerance: ToleranceError."""
        off = max(self.size, self.turned(self.at)) / tolerance if self.at is not None else 0.0
        if not off <= KEPT:
            raise ToleranceError(
                f"tolerance = {tolerance:g} is not kept: the errors of steps grow in this motion, and {self.worst!r} "
                f"is about {off:.2g} tolerances off at t = {t:g} s; give an earlier t_end, or small fixed steps whose "
                "halves agree as far as you need them"
            )

    def follow(self, batch: Batch, h: float, added: tuple[Array, Array], count: int, fastest: float) -> None:
        """Go over the first ``count`` steps of a batch of ``h`` [s], each of which adds a row of ``added`` (k, n).

        ``fastest`` is the largest rate of the batch [1/s]. Steps wait until they are worth a stretch.
        """
        stride = min(max(1, int(TURN / (fastest * h))), count) if fastest > 0.0 else count
        for k in range(0, count, stride):
            end = min(k + stride, count)
            self.waiting += batch.moments[k + 1 : end + 1]
            self.span += (end - k) * h
            self.added += np.array([one[k:end].sum(axis=0) for one in added])
            if self.span * fastest >= 0.5 * TURN or len(self.waiting) >= LONGEST:
                self.settle()

    def settle(self) -> None:
        """Take the error over the steps that wait."""
        if not self.waiting:
            return
        u, alpha, end = self.equations.u, self.equations.alpha, self.waiting[-1]
        self.equations.alpha = np.zeros_like(alpha)
        if self.position.any() or self.rate.any():
            self.carry(self.waiting[(len(self.waiting) - 1) // 2], end, self.span)
        self.position += self.added[0]
        self.rate += self.added[1]
        self.waiting, self.span, self.added = [], 0.0, np.zeros((2, self.system.n))
        self.equations.u, self.equations.alpha = u, alpha
        self.at = end

    def carry(self, middle: Moment, end: Moment, h: float) -> None:
        """Take the error over ``h`` [s], by the equations in the ``middle``, to the loops at its ``end``."""
        n = self.system.n
        M, C, K, Phi_z = self.matrices(middle)
        force = C @ self.rate + K @ (self.position + 0.5 * h * self.rate)
        closed = self.closure(end)
        apart = closed @ (self.position + h * self.rate) * (2.0 / h**2)
        change = bordered(M + 0.5 * h * C + 0.25 * h * h * K, Phi_z, closed, -np.concatenate((force, apart)))[:n]
        self.position = self.position + h * self.rate + 0.5 * h * h * change
        self.rate = self.rate + h * change
        if len(Phi_z):
            self.project(end, M)
        for i in self.first:
            axes = self.system.tables.dofs.axis[i : i + 3]
            back = turned(np.eye(3), -h * middle.zd[i : i + 3] @ axes)
            self.position[i : i + 3] = axes @ back @ axes.T @ self.position[i : i + 3]

    def matrices(self, at: Moment) -> tuple[Array, Array, Array, Array]:
        """Return M, C, K (n, n) and Phi_z (m, n) at a moment."""
        equations = self.equations
        equations.u = at.u.copy()
        equations.residual(at.z, at.zd, at.zdd, at.R0)
        old = StateArrays(at.z, at.zd, at.zdd, at.lam, at.R0, np.zeros((len(at.z), 2)))
        M, C, K = (
            equations.assemble(*part, LAGGED, old) for part in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        )
        return M, C, K, equations.closure_jacobian()

    def closure(self, at: Moment) -> Array:
        """Return Phi_z (m, n) at a moment."""
        self.equations.close(at.z, at.R0)
        return np.asarray(self.equations.closure_jacobian())

    def project(self, at: Moment, M: Array) -> None:
        """Let the error of rates lie on the loops at a moment, beside that of positions."""
        equations, n = self.equations, self.system.n
        part = SMALL / max(self.size, np.finfo(float).tiny)
        equations.close(at.z + part * self.position, at.R0)
        moved = equations.closure_velocities(at.zd)
        equations.close(at.z, at.R0)
        bent = (moved - equations.closure_velocities(at.zd)) / part
        Phi_z = equations.closure_jacobian()
        wanted = np.concatenate((np.zeros(n), -(bent + Phi_z @ self.rate)))
        self.rate = self.rate + bordered(M, Phi_z, Phi_z, wanted)[:n]


def bordered(A: Array, Phi_z: Array, closed: Array, b: Array) -> Array:
    """Return x (n + m,) with A x + Phi_z^T lam = b and the loops ``closed`` (m, n).

    It is that of least squares where loops are redundant.
    """
    scale, m = float(np.abs(A).max()), len(Phi_z)
    right = np.concatenate((b[: len(A)] / scale, b[len(A) :]))
    try:
        if m:
            matrix = np.block([[A / scale, Phi_z.T], [closed, np.zeros((m, m))]])
            return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-9)[0])
        return np.asarray(np.linalg.solve(A / scale, right))
    except np.linalg.LinAlgError:
        return np.full(len(b), np.nan)
