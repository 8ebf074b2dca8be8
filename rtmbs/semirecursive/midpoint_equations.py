"""Equations of the variational midpoint step: momenta, the gap of the loops, and the Newton matrix."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.settings import PAPER
from rtmbs.numerics.rotations.quaternions import turn_between
from rtmbs.semirecursive.closure_jacobian import apply_through, pull_back_through
from rtmbs.semirecursive.closures import slip_between
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.semirecursive.evaluation import assemble_tangent
from rtmbs.semirecursive.force_kernels import call_laws, differentiate_laws
from rtmbs.semirecursive.momenta import (
    assemble_end,
    assemble_midpoint,
    evaluate_boundary,
    evaluate_momenta,
    half_turn_back,
    half_turn_rows,
    turn_back,
    undo_jacobian,
)
from rtmbs.semirecursive.passes import mass_times
from rtmbs.semirecursive.tangent import add_loop_tangent

Array = NDArray[np.float64]


class Midpoint:
    """The equations of one step in momenta; answers ``integrators.contract.MomentumEquations``."""

    def __init__(self, equations: EvaluatedEquations) -> None:
        self.equations = equations
        self.first, self.last = np.zeros((2, len(equations.ws.Phi_z)))  # Phi_z of the two ends
        self.left, self.right = np.zeros((2, len(equations.ws.Phi_z)))  # the same with half turns, in the last factor

    def begin(self, z: Array, zd: Array, R0: Array, u: Array) -> Array:
        """Return p = M zd (n,) where the step begins, and remember Phi_z there."""
        self.end(z, R0, u)
        self.first[:] = self.last
        return self.middle(z, zd, R0, u)[0]

    def end(self, z: Array, R0: Array, u: Array) -> Array:
        """Return Phi (m,) where the step ends, and remember Phi_z there."""
        self.equations.u, ws = u, self.equations.ws
        evaluate_boundary(self.equations.tables, z, R0, u, ws)
        self.last[:] = ws.Phi_z
        return ws.Phi.copy()

    def slip(self, y: Array) -> Array:
        """Return (A_0 + A_1) y (m,) of rows A that bind rates alone, at the poses of ``begin`` and ``end``; else 0."""
        out = np.zeros(self.equations.m)
        if len(self.equations.tables.contacts.normal):
            slip_between(self.equations.tables, self.first, self.last, y, out)
        return out

    def middle(self, z: Array, zd: Array, R0: Array, u: Array) -> tuple[Array, Array]:
        """Return p = M zd and -(dT/dz + Q), both (n,), and remember the state."""
        equations, p = self.equations, np.zeros(self.equations.n)
        ws, equations.u = equations.ws, u
        ws.z[:], ws.zd[:] = z, zd
        call_laws(equations.system, equations.tables, R0, u, ws)
        evaluate_momenta(equations.tables, R0, u, ws, p)
        return p, ws.tau.copy()

    def here(self, zd: Array) -> Array:
        """Return p = M zd (n,) at the pose of ``factor_end``."""
        p = np.zeros(self.equations.n)
        mass_times(self.equations.tables.dofs, zd, self.equations.ws, p)
        return p

    def state_rates(self) -> Array:
        """Return the rates (ns,) of force states at the state of ``middle``."""
        return self.equations.ws.state_rate.copy()

    def wrenches(self, zd: Array) -> Array:
        """Return the momenta (n, 6) of all that each dof moves, about the common origin, at the pose of ``end``."""
        self.here(zd)
        return np.array(self.equations.ws.Fc[: self.equations.n])

    def along(self, wrenches: Array) -> Array:
        """Return the momenta p (n,) that the momenta (n, 6) behind the dofs make at the pose of ``end``."""
        return np.asarray(np.sum(self.equations.ws.S[: self.equations.n] * wrenches, axis=1))

    def turns(self, R: Array, after: Array) -> Array:
        """Return the turns (n,) of rotation dofs from rotations ``R`` to others; zero for other dofs."""
        dofs, out = self.equations.tables.dofs, np.zeros(self.equations.n)
        first = np.flatnonzero(dofs.reference >= 0)
        if len(first):
            between = turn_between(R, after)
            for i in first:
                out[i : i + 3] = dofs.axis[i : i + 3] @ between[dofs.reference[i]]
        return out

    # ---- rotations --------------------------------------------------------------------------------------------------

    def turned_back(self, turn: Array, x: Array) -> Array:
        """Return exp(-turn~) x (n,) of rotations, x of others."""
        out = x.copy()
        turn_back(self.equations.tables.dofs, turn, out)
        return out

    def half_turned(self, y: Array, x: Array) -> Array:
        """Return W x (n,)."""
        out = x.copy()
        half_turn_back(self.equations.tables.dofs, y, out)
        return out

    def undone(self, y: Array, x: Array) -> Array:
        """Return T^-1(y) x (n,)."""
        out = x.copy()
        undo_jacobian(self.equations.tables.dofs, y, out)
        return out

    # ---- loops and factors ------------------------------------------------------------------------------------------

    def pulled(self, impulse: Array) -> Array:
        """Return Phi_z^T impulse (n,) where the step begins."""
        return self._pulled(self.first, impulse)

    def pulled_left(self, impulse: Array) -> Array:
        """Return W Phi_z^T impulse (n,) where the step begins, with the half turns inside the last factor."""
        return self._pulled(self.left, impulse)

    def moved_right(self, x: Array) -> Array:
        """Return 2 Phi_z W x (m,): what a small turn x at the middle does to Phi where the step ends."""
        out = np.zeros(self.equations.m)
        apply_through(self.equations.tables, self.right, x, out)
        return 2.0 * out

    def _pulled(self, Phi_z: Array, impulse: Array) -> Array:
        out = np.zeros(self.equations.n)
        pull_back_through(self.equations.tables, Phi_z, impulse, 1.0, out)
        return out

    def factor(self, h: float, y: Array, start: Array, weight: Array) -> None:
        """Factor the Newton matrix at the state of ``middle``; raises SingularTangent, NotFinite.

        ``start`` (n,) is the momentum that the step begins with, ``weight`` (m,) that of the loops.
        """
        equations = self.equations
        tables, ws, values = equations.tables, equations.ws, equations.matrix.values
        differentiate_laws(equations.system, tables, equations.u, ws)
        if len(tables.interfaces.dof):  # a deep tree: the matrix of today, which misses h/2 of the rate of M
            none = np.zeros(equations.m)
            assemble_tangent(
                tables, PAPER, 1.0, 0.5 * h, 0.25 * h * h, equations.u, none, equations.state_arrays(), ws, values
            )
        else:
            assemble_midpoint(tables, h, equations.u, y, start, ws, values)
        self.left[:], self.right[:] = self.first, self.last
        half_turn_rows(tables, y, 1.0, self.left)
        half_turn_rows(tables, y, -1.0, self.right)
        add_loop_tangent(tables, weight, 1.0, self.left, self.right, values)
        equations.factor_matrix()

    def factor_end(self, weight: Array) -> None:
        """Factor M + Phi_z^T weight Phi_z where the step ends, at the pose of ``end``; raises the same."""
        equations, own_mass = self.equations, np.zeros(self.equations.n)
        assemble_end(equations.tables, weight, equations.ws, own_mass, equations.matrix.values)
        equations.factor_matrix()
