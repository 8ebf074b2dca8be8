"""Step of a Simulation in joint coordinates: the System as a ConstrainedSystem, and the report of the step."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Counts, Motion, MotionError, Point
from rtmbs.dae.dynamics import CountedSystem
from rtmbs.dae.independent_rows import IndependentRows
from rtmbs.errors import InputError, shown
from rtmbs.formulations.contract import ConstrainedSystem, OutOfRange
from rtmbs.formulations.joint_coordinates import JointCoordinates
from rtmbs.formulations.rate_constraints import with_rate_rows
from rtmbs.formulations.reduction import row_factor
from rtmbs.integrators.base import Equations
from rtmbs.integrators.explicit import DRIFT, in_range
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.integrators.settings import LOOP_TOLERANCE, arrays_of
from rtmbs.numerics.rotations.vectors import turn_between, turned
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.state import State

Array = NDArray[np.float64]

WEIGHTLESS = 1e-12  # of the largest inertia, and of 1: less counts as this
LEFT = 1e-2  # of the largest acceleration, or force: what a method may leave of Phidd and of the balance of forces


class JointSteps:
    """The System of a Simulation in joint coordinates, about the reference rotations of the present step."""

    def __init__(self, equations: Equations) -> None:
        if not isinstance(equations, SemiRecursiveEquations):
            raise InputError(f"equations are {shown(equations)}; they must be those of a compiled System")
        self.system = JointCoordinates(equations.compiled)
        own = self.system.equations
        own.assembly_offset[:], own.alpha = equations.assembly_offset, np.ones(equations.m)
        self.counts = Counts()
        self.rows = np.arange(equations.m)  # independent ones of the system, in the present step
        self.dependent = False

    def motion(self, old: State, new: State, redundant: bool) -> Motion:
        """Return a motion that starts at ``old`` with the inputs of ``new``; its rows are independent of each other.

        ``redundant``: the method takes dependent rows.
        """
        system, self.counts = self.system, Counts()
        system.begin_at(old.R0, new.u, old.s)
        q, v = old.z.copy(), old.zd.copy()
        compiled = system.equations.compiled
        scale, whole = np.where(compiled.row_is_rotation, 1.0, compiled.length)[system.order], with_rate_rows(system)
        found = row_factor(whole.constraint_jacobian(q, old.t) * compiled.typical / scale[:, None])
        self.dependent = len(found.dependent) > 0
        self.rows = np.arange(whole.m) if redundant or not self.dependent else np.sort(found.rows)
        behind: ConstrainedSystem = whole if len(self.rows) == whole.m else IndependentRows(whole, self.rows)
        motion = Motion(behind, q, v, old.t, old.s.copy(), self.counts)
        motion.system = CountedSystem(behind, self.counts)
        return motion

    def present(self, state: State) -> Point:
        """Return the point of a state; its rotation vectors are zero."""
        parts = state.z, state.zd, state.zdd, state.lam[self.system.order][self.rows], state.s, state.sd
        q, v, a, lam, s, sd = (part.copy() for part in parts)
        return Point(state.t, q, v, a, lam, s, sd)

    def rates(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return the rates and accelerations (n,) of dofs at q, v and a: body axes for rotations."""
        vectors = self.system.vectors
        return self.system.joint_rates(q, v), np.asarray(vectors.turning(q) @ a + vectors.rate_terms(q, v))

    def about(self, R0: Array, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """Return q, v and a (n,) about the reference rotations ``R0`` in place of those of the step."""
        vectors, dofs = self.system.vectors, self.system.equations.tables.dofs
        if not len(vectors.first):
            return q, v, a
        zd, zdd = self.rates(q, v, a)
        z = q.copy()
        for i in vectors.first:
            k, turn = int(dofs.reference[i]), slice(i, i + 3)
            axes = dofs.axis[turn]  # a row each, in the axes that rotation vectors have their parts along
            z[turn] = axes @ turn_between(R0[k], turned(self.system.R0[k], axes.T @ q[turn]))
        T: Array = vectors.turning(z)
        v = np.asarray(np.linalg.solve(T, zd), np.float64)
        return z, v, np.asarray(np.linalg.solve(T, zdd - vectors.rate_terms(z, v)), np.float64)


def complete_step(
    equations: Equations, work: JointSteps, old: State, new: State, point: Point, exact: bool = True
) -> StepReport:
    """Write the point to ``new``, and return the report of the step.

    Accelerations are solved for anew unless those of the point are ``exact``. Multipliers of dependent rows are shared
    as everywhere in a Simulation. LOOP_OPEN or NOT_FINITE where the step is not taken; UNPROJECTED where rates or
    accelerations are off the loops, UNBALANCED where forces do not balance.
    """
    scale, rotation = equations.sizes.scale, equations.sizes.rotation
    equations.u, new.R0[:] = new.u, old.R0
    new.zd[:], new.zdd[:] = work.rates(point.q, point.v, point.a)
    new.z[:], new.s[:], new.sd[:] = point.q, point.s, point.sd
    new.lam[:] = 0.0
    new.lam[work.system.order[work.rows]] = point.lam
    outcome, Phi, Phid, Phidd = Outcome.NOT_FINITE, *np.zeros((3, equations.m))
    if in_range(new.z, new.zd, new.zdd, new.s, new.sd):
        if work.dependent or not exact or not np.all(np.isfinite(new.lam)):
            zdd, new.lam[:], _ = equations.accelerations(new.z, new.zd, new.R0, new.s)
            new.zdd[:] = new.zdd if exact else zdd
        Phi = equations.close(new.z, new.R0)
        Phid, Phidd = equations.closure_velocities(new.zd), equations.closure_accelerations(new.zd, new.zdd)
        if in_range(new.lam):
            inertia = work.system.mass(point.q, new.t).diagonal()
            inertia = np.maximum(inertia, WEIGHTLESS * np.max(inertia, initial=1.0))
            outcome = step_outcome(equations, new, inertia, Phi, Phid, Phidd)
    counts = work.counts
    if not outcome.accepted:
        worst = equations.worst(outcome, arrays_of(old), scale)
        return StepReport(outcome, new.t, iterations=counts.iterations, evaluations=counts.evaluations, worst=worst)
    equations.commit(new)
    left = [largest(x[rows]) for x in (Phi, Phid, Phidd) for rows in (~rotation, rotation)]
    return StepReport(
        outcome, new.t, iterations=counts.iterations, evaluations=counts.evaluations,
        factorisations=counts.factorisations, position_violation=left[0], position_violation_rotation=left[1],
        velocity_violation=left[2], velocity_violation_rotation=left[3],
        acceleration_violation=left[4], acceleration_violation_rotation=left[5],
    )  # fmt: skip


def step_outcome(equations: Any, new: State, inertia: Array, Phi: Array, Phid: Array, Phidd: Array) -> Outcome:
    """Return the Outcome of a step from its complete state and the violations of its loops (m,).

    Rates may drift by LOOP_TOLERANCE of the largest rate, or of that which an acceleration makes of it in a step;
    Phidd, and forces over ``inertia`` (n,), by LEFT of the largest acceleration. What opens no loop by more than DRIFT
    in a step is no drift.
    """
    sizes, h = equations.sizes, new.h
    if largest(Phi / sizes.scale) > LOOP_TOLERANCE:
        return Outcome.LOOP_OPEN
    hold_states(new.s, equations.ws)
    force, weight = equations.imbalance(arrays_of(new)), inertia * sizes.typical
    pull = largest(equations.pull_back(new.lam) / weight)
    first, second = largest((np.abs(new.zd) + h * np.abs(new.zdd)) / sizes.typical), largest(new.zdd / sizes.typical)
    drifted = largest(Phid / sizes.scale) > LOOP_TOLERANCE * first + DRIFT / h
    if drifted or largest(Phidd / sizes.scale) > LEFT * (second + first**2) + DRIFT / h**2:
        return Outcome.UNPROJECTED
    return Outcome.UNBALANCED if largest(force / weight) > LEFT * (second + pull) + DRIFT / h**2 else Outcome.CONVERGED


def largest(x: Array) -> float:
    """Return the largest size of the numbers of an array; 0 where there are none."""
    return float(np.max(np.abs(x), initial=0.0))


def failed_report(work: JointSteps, old: State, new: State, error: Any) -> StepReport:
    """Return the report of a step that raised ``error``; its message is the reason."""
    outcome = Outcome.UNSOLVED
    if isinstance(error, OutOfRange):
        outcome = Outcome.NOT_FINITE
    elif isinstance(error, MotionError):
        outcome = error.outcome or Outcome.NOT_CONVERGED
    elif isinstance(error, np.linalg.LinAlgError):
        outcome = Outcome.SINGULAR_TANGENT
    own, counts = work.system.equations, work.counts
    worst = own.worst(outcome, arrays_of(old), own.sizes.scale) if outcome is Outcome.NOT_FINITE else ()
    return StepReport(
        outcome, new.t, iterations=counts.iterations, evaluations=counts.evaluations, worst=worst, reason=str(error)
    )
