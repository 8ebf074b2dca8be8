"""Methods of time over a ConstrainedSystem, and over a System in joint coordinates, with the rows that they take.

``integrate`` asks a method for its times, a Simulation for a step. Options are checked when a method is made. Methods
that need full rank take rows that are independent of each other. A Simulation steps in its joint coordinates. The
points behind that a formula needs stand in ``State.memory``, so that a State goes on with the same bytes. Every step
begins its formulation and its Newton iteration anew.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.dae.contract import Counts, Motion, MotionError, Orders, Point
from rtmbs.dae.dynamics import CountedSystem, Steps
from rtmbs.dae.newton import StepControl, Tolerances
from rtmbs.dae.runs import MOST_STEPS, FixedRun, Restart, Run, VariableRun
from rtmbs.errors import InputError, StartError, shown
from rtmbs.formulations.contract import (
    ConstrainedSystem,
    Formulation,
    FormulationError,
    OutOfRange,
    SystemWrapper,
    holonomic_rows,
    row_names,
    terms_at,
    with_rate_rows,
)
from rtmbs.formulations.joint_coordinates import JointCoordinates
from rtmbs.formulations.reduction import CONTRADICTION, least_multipliers, row_factor
from rtmbs.integrators.contract import USUAL, Equations, Method
from rtmbs.integrators.explicit import DRIFT, in_range
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.integrators.settings import LOOP_TOLERANCE, arrays_of
from rtmbs.integrators.tableaux import Tableau
from rtmbs.methods import Capability
from rtmbs.numerics.rotations.quaternions import turn_between, turned
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.state import State

Array = NDArray[np.float64]
APART = 100.0  # times what kept rows are left by: what others may be
WORN = 1e-2  # of the least singular value of all rows, over the largest: rows with less are chosen anew


class IndependentRows(SystemWrapper):
    """A system with some of its rows of Phi, for a method that refuses dependent ones."""

    def __init__(self, system: ConstrainedSystem, rows: NDArray[np.int64]) -> None:
        self.system, self.rows = system, np.sort(rows)
        if hasattr(system, "linearisation"):  # solvers ask whether there is one
            self.linearisation = self.linearised

    @property
    def m(self) -> int:
        return len(self.rows)

    @property
    def holonomic(self) -> int:
        """Number of rows that bind positions."""
        return int(np.count_nonzero(self.rows < holonomic_rows(self.system)))

    @property
    def row_names(self) -> list[str] | None:
        """Names of the rows."""
        names = getattr(self.system, "row_names", None)
        return None if names is None else [names[i] for i in self.rows]

    def constraints(self, q: Array, t: float) -> Array:
        return self.system.constraints(q, t)[self.rows]

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        return self.system.constraint_jacobian(q, t)[self.rows]

    def sparse_constraint_jacobian(self, q: Array, t: float) -> csc_array:
        """Return Phi_q (m, n), sparse."""
        return csc_array(self.system.sparse_constraint_jacobian(q, t)[self.rows])  # type: ignore[attr-defined]

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        Phi_t, gamma = self.system.constraint_rate_terms(q, v, t)
        return Phi_t[self.rows], gamma[self.rows]

    def linearised(self, q: Array, v: Array, a: Array, lam: Array, t: float) -> tuple[Array, Array] | None:
        """Return K and C of the system; None where it cannot tell."""
        whole = np.zeros(self.system.m)
        whole[self.rows] = lam
        found: tuple[Array, Array] | None = self.system.linearisation(q, v, a, whole, t)  # type: ignore[attr-defined]
        return found

    def renew(self, point: Point) -> bool:
        """Choose the rows anew where those kept are nearly dependent; return whether they are others now.

        Raises MotionError where the rank is another one.
        """
        Phi_q = self.system.constraint_jacobian(point.q, point.t)
        if self.regular(Phi_q):
            return False
        found = row_factor(Phi_q)
        if len(found.rows) != len(self.rows):
            lost = row_names(self.system, np.setdiff1d(self.rows, found.rows))
            raise MotionError(
                f"Phi_q has rank {len(found.rows)} at t = {point.t:g} and had {len(self.rows)} before ({lost}); "
                "a method that leaves dependent rows out cannot pass: take QR, SVD, NullSpace or Index3Lagrangian"
            )
        rows = np.sort(found.rows)
        changed = not np.array_equal(rows, self.rows)
        self.rows = rows
        return changed

    def regular(self, Phi_q: Array) -> bool:
        """Return whether the kept rows are as far from dependent as all rows let them."""
        if not len(self.rows):
            return True
        sizes = np.linalg.norm(Phi_q, axis=1)
        scaled = Phi_q / np.where(sizes > 0.0, sizes, 1.0)[:, None]
        own = np.linalg.svd(scaled[self.rows], compute_uv=False)
        whole = np.linalg.svd(scaled, compute_uv=False)
        return bool(own[-1] > WORN * whole[len(self.rows) - 1])

    def shared(self, point: Point) -> Point:
        """Return a point with multipliers of all rows, dependent ones sharing their load. Raises FormulationError."""
        terms = terms_at(self.system, point.q, point.v, point.t)
        held = holonomic_rows(self.system)
        for left, size in (
            (self.system.constraints(point.q, point.t)[:held], point.q),
            (terms.Phi_q @ point.v + terms.Phi_t, point.v),
        ):
            self.demand_agreement(
                np.abs(left), float(np.abs(size).max(initial=1.0)) * np.abs(terms.Phi_q).max(), point.t
            )
        return point._replace(lam=least_multipliers(terms, point.a))

    def demand_agreement(self, left: Array, size: float, t: float) -> None:
        """Raise FormulationError naming a row that was left out, and that is open where those kept are not."""
        kept = self.rows[self.rows < len(left)]
        allowed = CONTRADICTION * size + APART * float(left[kept].max(initial=0.0))
        worst = np.array([int(np.argmax(left))])
        if left[worst[0]] > allowed:
            raise FormulationError(
                f"{row_names(self.system, worst)} is left by {left[worst[0]]:.2g} at t = {t:g}, "
                "where the rows it depends on hold; it contradicts them: take it out, or let it agree with them"
            )


def chosen_rows(system: ConstrainedSystem, q: Array, t: float, method: Any) -> IndependentRows | None:
    """Return independent rows for a method that leaves dependent ones out; None where all rows are independent."""
    if getattr(method, "redundant", True) or not getattr(method, "leaves_out", False) or not system.m:
        return None
    found = row_factor(system.constraint_jacobian(q, t))
    return IndependentRows(system, found.rows) if len(found.dependent) else None


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


ABSOLUTE = 1e-2  # of rtol: atol where it is not given
FINEST = 1e-14  # of a relative tolerance: below, rounding alone is larger


class DAEMethod(Method):
    """Base class of methods of time over M a + Phi_q^T lam = F, Phi = 0.

    A subclass is a frozen dataclass of options. It answers ``orders``, ``redundant`` and ``steps``, and says by
    ``behind`` how many points before the present one a step needs, by ``carries`` how many further accelerations.
    """

    capabilities: ClassVar[frozenset[Capability]] = USUAL | {Capability.OWN_EQUATIONS}
    redundant: bool = False  # dependent rows are then left out in a Simulation
    leaves_out: ClassVar[bool] = False  # dependent rows are left out by ``integrate`` too, in place of a refusal
    behind: int = 0
    carries: ClassVar[int] = 0
    rtol: float | None = None  # of a method that chooses its steps; None for fixed steps
    atol: float | None = None
    exact_end: ClassVar[bool] = True  # False: a and lam are unknowns with errors of their own, so that a Simulation
    # solves for those of the end, and the method carries its own

    @property
    def fixed_orders(self) -> Orders | None:
        """Orders in the step, where it is fixed."""
        return None

    @property
    def orders(self) -> Orders | None:
        return None if self.adaptive else self.fixed_orders

    @property
    def adaptive(self) -> bool:
        """True for a method that chooses its steps by ``rtol`` and ``atol``."""
        return self.rtol is not None

    def check_tolerances(self) -> None:
        """Check ``rtol`` and ``atol``; with them the method has no order in h.

        Raises
        ------
        InputError
            For tolerances out of range.
        """
        if self.rtol is None:
            if self.atol is not None:
                raise InputError(
                    f"atol of {type(self).__name__} is {shown(self.atol)} without rtol; give both, or rtol"
                )
            return
        demand_tolerances(self.rtol, self.rtol if self.atol is None else self.atol)
        object.__setattr__(self, "capabilities", self.capabilities - {Capability.REFINED})

    def tolerances(self) -> Tolerances:
        """Return the tolerances of the estimate of local errors.

        Returns
        -------
        Tolerances
            Relative and absolute tolerance of the estimate.
        """
        assert self.rtol is not None
        return Tolerances(self.rtol, ABSOLUTE * self.rtol if self.atol is None else self.atol)

    @property
    def order(self) -> int | None:  # type: ignore[override]
        """Least order of q, v, a and lam; None for a method that chooses steps by its own tolerances."""
        return None if self.orders is None else min(self.orders)

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        raise NotImplementedError

    def run(self, motion: Motion, times: Array, restart: Restart | None = None) -> Run:
        """Return the run of one motion, step by step.

        Parameters
        ----------
        motion : Motion
            System with its consistent start.
        times : ndarray
            Times of the samples (k + 1,) [s]; the first is the start.
        restart : Restart, optional
            What an earlier run needs to go on; a start unless given.

        Returns
        -------
        Run
            Run of one motion.
        """
        steps = self.steps(motion)
        if not self.adaptive:
            return FixedRun(motion, steps, self.behind, restart)
        longest = float(times[-1] - times[0])
        return VariableRun(motion, steps, self.tolerances(), self.depth, longest, type(self).__name__, restart)

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield a Point at each of the times; see ``Integrator`` of ``rtmbs.dae.contract``."""
        run = self.run(motion, times)
        yield run.start
        yield from run.samples(times)

    # ---- steps of a Simulation --------------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """Points before the present one that a step needs, and the estimate of its error where there is one."""
        return self.behind

    def remember(self, equations: Equations, h: float) -> dict[str, Array]:
        """Return a history that is empty.

        ``history`` (depth, 3n + 2ns) holds q, v, a, s and sd of the points behind the present one, the newest first,
        ``carried`` (carries, n) further accelerations, ``known`` how many steps they follow, and ``path`` (2n + ns,)
        the z, zd and s that they belong to. A method that chooses its steps adds ``ago`` (depth,), the times of the
        points before the present [s], and ``control`` (4,): its next step [s], the last error in tolerances, 1 after a
        rejected step, and the step that ``carried`` belongs to [s].
        """
        if not (self.depth or self.carries or self.adaptive):
            return {}
        n, ns, depth = equations.n, equations.states, self.depth
        shapes = {"history": (depth, 3 * n + 2 * ns), "carried": (self.carries, n)}
        memory: dict[str, Array] = {name: np.zeros(shape) for name, shape in shapes.items() if shape[0]}
        if self.adaptive:
            memory |= {"control": np.zeros(4), **({"ago": np.zeros(depth)} if depth else {})}
        return {**memory, "known": np.zeros(1), "path": np.zeros(2 * n + ns)}

    def moved(self, equations: Equations, state: State) -> None:
        """Forget the history of another path."""
        if "path" in state.memory and not np.array_equal(state.memory["path"], path_of(state)):
            state.memory["known"][:] = 0.0

    def pushed(self, equations: Equations, work: JointSteps, state: State, seen: bool = False) -> bool:
        """Forget the history: accelerations jump with the inputs."""
        if "known" in state.memory and not seen:
            state.memory["known"][:] = 0.0
        return False

    def start(self, equations: Equations, state: State) -> JointSteps:
        """Return the System in joint coordinates."""
        return JointSteps(equations)

    def advance(self, equations: Equations, work: JointSteps, old: State, new: State) -> StepReport:
        """Take a step from ``old`` to ``new``."""
        equations.u = new.u
        if bad := equations.not_finite_inputs():
            return StepReport(Outcome.NOT_FINITE, new.t, worst=bad)
        try:
            with np.errstate(all="ignore"):
                motion = work.motion(old, new, self.redundant)
                steps, past = self.steps(motion), self.past(work, old)
                known = bool(old.memory) and bool(old.memory["known"][0])
                steps.carried = old.memory["carried"] if self.carries and known else None
                points = self.taken(
                    steps, past, old.memory["control"] if known and self.adaptive else None, new.t, old.h
                )
                report = complete_step(equations, work, old, new, points[0], self.exact_end)
        except (FormulationError, MotionError, OutOfRange, StartError, np.linalg.LinAlgError) as error:
            return failed_report(work, old, new, error)
        if report.outcome.accepted and new.memory:
            self.keep(work, new, points, steps)
        return report

    def taken(self, steps: Steps, past: list[Point], control: Array | None, t: float, h: float) -> list[Point]:
        """Return the points at the end of a step of a Simulation to ``t`` [s], the newest first.

        Parameters
        ----------
        steps : Steps
            Steps of this motion.
        past : list[Point]
            Present point and known earlier points, the newest first.
        control : ndarray or None
            Step-size control at the end of the last step, as in ``remember``; None at a start.
        t : float
            End of the step [s].
        h : float
            Step of the Simulation [s].

        Returns
        -------
        list[Point]
            Points, the newest first.
        """
        if not self.adaptive:
            return [steps.step(past, t, h), *past]
        given = self.tolerances()
        restart = Restart(tuple(past))
        if control is not None:
            own, before, refused, steps.spacing = (float(x) for x in control)
            kept = StepControl(steps.estimate_order, steps.growth, steps.steady, before, bool(refused))
            restart = Restart(tuple(past), None, kept, own)
        run = VariableRun(steps.motion, steps, given, self.depth, h, type(self).__name__, restart)
        for _ in range(MOST_STEPS):
            if run.past[0].t >= t:
                break
            run.advance(t)
        steps.planned = np.array([run.h, run.control.before, float(run.control.refused), steps.spacing])
        return run.past

    def past(self, work: JointSteps, old: State) -> list[Point]:
        """Return the points that a step of a Simulation begins with.

        Parameters
        ----------
        work : JointSteps
            Object that ``start`` returned.
        old : State
            State at the beginning of the step.

        Returns
        -------
        list[Point]
            Present point and known earlier points, the newest first.
        """
        known, n, ns = int(old.memory["known"][0]) if self.depth else 0, len(old.z), len(old.s)
        points = [work.present(old)]
        for i, row in enumerate(old.memory["history"][:known] if known else ()):
            q, v, a, s, sd = np.split(row, (n, 2 * n, 3 * n, 3 * n + ns))
            ago = float(old.memory["ago"][i]) if "ago" in old.memory else (i + 1) * old.h
            points.append(Point(old.t - ago, q, v, a, points[0].lam, s, sd))
        return points

    def keep(self, work: JointSteps, new: State, points: list[Point], steps: Steps) -> None:
        """Write the history of the next step to ``new.memory``, about the reference rotations of its end.

        Parameters
        ----------
        work : JointSteps
            Object that ``start`` returned.
        new : State
            State at the end of the step; its memory is written in place.
        points : list[Point]
            Points of the step, the newest first.
        steps : Steps
            Steps of this motion.
        """
        earlier = points[1 : self.depth + 1]
        rows = [work.about(new.R0, point.q, point.v, point.a) for point in earlier]
        for i, (parts, point) in enumerate(zip(rows, earlier, strict=True)):
            new.memory["history"][i] = np.concatenate((*parts, point.s, point.sd))
            if "ago" in new.memory:
                new.memory["ago"][i] = new.t - point.t
        carried = np.zeros((0, 0)) if steps.carried is None else steps.carried
        for i, (A, offset) in enumerate(zip(carried, steps.offsets, strict=True)):
            _, q, v, a, *_ = points[0]
            ahead = offset * (steps.spacing if self.adaptive else new.h)  # rotations bend the way: an acceleration
            # belongs to the place of its own time
            new.memory["carried"][i] = work.about(new.R0, q + ahead * v + 0.5 * ahead**2 * a, v + ahead * a, A)[2]
        if self.adaptive:
            new.memory["control"][:] = steps.planned
        new.memory["known"][:] = min(len(points) - 1, self.depth) if self.depth else 1.0
        new.memory["path"][:] = path_of(new)


class OverFormulation(DAEMethod):
    """A method over the accelerations of a ``formulation``."""

    formulation: Formulation

    @property
    def redundant(self) -> bool:  # type: ignore[override]
        return self.formulation.redundant


class ByTolerance:
    """A method of a library that chooses its steps by tolerances, between the samples of a run or within a step.

    In a Simulation ``control`` of State.memory keeps its step alone; see ``DAEMethod.remember``.
    """

    capabilities: ClassVar[frozenset[Capability]] = DAEMethod.capabilities - {Capability.REFINED}
    orders: Orders | None = None

    def taken(self, steps: Steps, past: list[Point], control: Array | None, t: float, h: float) -> list[Point]:
        """Return the points at the end of a step of a Simulation to ``t`` [s], the newest first."""
        steps.planned = np.zeros(4) if control is None else control.copy()
        return [steps.step(past, t, h), *past]


def path_of(state: State) -> Array:
    """Return z, zd and s (2n + ns,) that a history belongs to."""
    return np.concatenate((state.z, state.zd, state.s))


def demand_tableau(value: Any) -> None:
    """Raise InputError unless the value is a Tableau."""
    if not isinstance(value, Tableau):
        raise InputError(f"tableau is {shown(value)}; a Tableau is wanted, such as GILL or RK4 of rtmbs.dae")


def demand_formulation(value: Any) -> None:
    """Raise InputError unless the value is a formulation."""
    if isinstance(value, type) or not callable(getattr(value, "accelerations", None)):
        raise InputError(f"formulation is {shown(value)}; a formulation is wanted, such as Partitioning()")


def demand_whole(name: str, value: Any, low: int, high: int) -> None:
    """Raise InputError unless the value is a whole number from low to high."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(f"{name} is {shown(value)}; a whole number from {low} to {high} is wanted")


def demand_between(name: str, value: Any, low: float, high: float) -> None:
    """Raise InputError unless the value is a number from low to high."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not low <= float(value) <= high:
        raise InputError(f"{name} is {shown(value)}; a number from {low:g} to {high:g} is wanted")


def demand_tolerances(rtol: Any, atol: Any) -> None:
    """Raise InputError for tolerances that are not above zero, or below rounding."""
    for name, value in (("rtol", rtol), ("atol", atol)):
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not 0.0 < float(value) < np.inf:
            raise InputError(f"{name} is {shown(value)}; a finite number above 0 is wanted")
    if rtol < FINEST:
        raise InputError(f"rtol is {rtol:g}, below rounding; {FINEST:g} or more is wanted")
