"""Drag of a body: the pose near the present one in which a point of the body comes nearest to a target."""

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.errors import InputError, StartError, unknown_name
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.start.assembly import Assembly, turns
from rtmbs.semirecursive.start.checks import check_facing
from rtmbs.semirecursive.start.consistency import consistent_rates
from rtmbs.semirecursive.start.nearest import REFUSED, worst_of
from rtmbs.simulation.inputs import point_of
from rtmbs.state import State

Array = NDArray[np.float64]

STEPS = 60  # Gauss-Newton steps of a drag
PATIENCE = 12  # iterations that close the loops behind each
WAY = 0.3  # largest change of a coordinate in a step, in typical sizes: the loops are followed, not jumped over
HALVINGS = 8
STILL = 1e-9  # of the mechanism's length: a step that brings the point no nearer than this ends the drag
LOOSE = 1e-6  # weight of coordinates beside that of the point: what the point does not ask for stays
STIFF = 1e6  # weight of the loops beside that of the point, before they are closed


def drag_body(equations: SemiRecursiveEquations, state: State, body: str, point: Any, target: Any) -> float:
    """Write the dragged pose to ``state``, with the least rates; return the distance [m] that is left.

    Raises UnknownNameError, InputError for ground and for no points, StartError where the loops do not close.
    """
    system = equations.system
    if body not in system.bodies:
        raise unknown_name("body", body, system.bodies)
    if system.bodies[body].dof < 0:
        raise InputError(f"body {body!r} stands still; drag another one")
    local, wanted = point_of(point), point_of(target)
    equations.u = state.u
    scale = np.where(system.row_is_rotation, 1.0, system.length)
    drag = Drag(Assembly(equations, state.R0, scale, system.typical), body, local, wanted)
    state.z[:] = drag.solve(state.z.copy())
    if worst_of(drag.assembly.gap(state.z)) > REFUSED:
        raise StartError(f"body {body!r} cannot be dragged: the loops do not close at the present pose; step first")
    left = float(np.linalg.norm(drag.place() - wanted))
    rest_at(equations, state)
    return left


def rest_at(equations: SemiRecursiveEquations, state: State) -> None:
    """Give a State at a closed pose the least rates that its equations allow: zero, but for drivers."""
    system, none = equations.system, np.zeros(equations.n, np.bool_)
    equations.u = state.u
    scale = np.where(system.row_is_rotation, 1.0, system.length)
    assembly = Assembly(equations, state.R0, scale, system.typical)
    assembly.gap(state.z)
    state.zd[:] = consistent_rates(assembly, np.zeros(equations.n), none, system.weights)


class Drag:
    """A point of a body on its way to a target (3,), world axes [m]; ``local`` is in body axes."""

    def __init__(self, assembly: Assembly, body: str, local: Array, target: Array) -> None:
        self.assembly, self.equations, self.target = assembly, assembly.equations, target
        info, dofs = self.equations.system.bodies[body], self.equations.tables.dofs
        self.dof, self.local = info.dof, info.position + info.rotation @ local
        self.branch, i = list[int](), info.dof
        while i >= 0:
            self.branch.append(i)
            i = int(dofs.parent[i])

    def place(self) -> Array:
        """Return the point (3,) at the pose evaluated last, world axes [m]."""
        ws, ground = self.equations.ws, int(self.equations.tables.origins.row[self.dof])
        return np.asarray(ws.A[self.dof] @ self.local + ws.r[self.dof] - ws.r[ground])

    def slope(self, z: Array) -> Array:
        """Return the derivative (3, n) of the point by z at the pose evaluated last."""
        ws, J = self.equations.ws, np.zeros((3, self.equations.n))
        x = ws.A[self.dof] @ self.local + ws.r[self.dof]
        S = ws.S[self.branch]
        J[:, self.branch] = (S[:, :3] + np.cross(S[:, 3:], x)).T
        reference = self.equations.tables.dofs.reference
        return np.asarray(J @ turns(reference, z)) if np.any(reference >= 0) else J

    def step(self, z: Array) -> Array:
        """Return the change (n,) that leads the point to the target along the loops, to first order."""
        typical, length = self.assembly.typical, self.equations.system.length
        X = self.slope(z) * typical / length
        A = X.T @ X + LOOSE * np.eye(len(z))
        if self.equations.m:
            J = self.assembly.scaled_jacobian(z).toarray()
            A += STIFF * (J.T @ J)
        change = scipy.linalg.solve(A, X.T @ (self.target - self.place()) / length, assume_a="pos", check_finite=False)
        return np.asarray(typical * change * min(1.0, WAY / max(float(np.abs(change).max()), 1e-300)))

    def solve(self, z: Array) -> Array:
        """Return the dragged pose (n,); the present one where no step brings the point nearer."""
        self.assembly.gap(z)
        left, length = float(np.linalg.norm(self.place() - self.target)), self.equations.system.length
        for _ in range(STEPS):
            change = self.step(z)
            for _ in range(HALVINGS):
                found = self.closed(z + change)
                now = np.inf if found is None else float(np.linalg.norm(self.place() - self.target))
                if now < left:
                    break
                change = 0.5 * change
            if found is None or not now < left:
                break
            z, gained, left = found, left - now, now
            if gained <= STILL * length:
                break
        self.assembly.gap(z)
        return z

    def closed(self, z: Array) -> Array | None:
        """Return the pose next to ``z`` that closes the loops the right way round; None where there is none."""
        none = np.zeros(len(z), np.bool_)
        with self.assembly.patience(PATIENCE):
            found = self.assembly.solve(z, none, self.equations.system.weights)
        if worst_of(self.assembly.gap(found)) > REFUSED:
            return None
        try:
            check_facing(self.equations)
        except StartError:
            return None
        return found
