"""``SemiRecursiveEquations``: equations of motion for the integrators, with starts, fused steps and diagnoses.

First accelerations and multipliers solve the constrained equations of motion at the start (METHODS 1.8, 1.15):
M zdd + Phi_z^T lam = Q, Phidd = 0, by the augmented Lagrangian with the weight c m_l: A = M + Phi_z^T weight Phi_z, and
lam solves (Phi_z A^-1 Phi_z^T) lam = what is left of Phidd. Scaled by the roots of the weights that matrix has the
eigenvalues s / (1 + s): one but for the directions that a nearly singular pose loses. Conjugate gradients need one
iteration for each cluster, and of all answers for redundant loops give the least lam in the norm of 1 / weight.
Never zero by default: a wrong first acceleration costs an order of accuracy. The rounds are no Newton iteration, and
share no end with one: they refine a linear solution by the residual of the whole equations, and each component ends by
itself. Components that share nothing but ground are solved side by side, each with scalars of its own: rounding of a
large one may be more than all that there is in a small one.

The cause of a failed step is worked out after the failure, from evaluations alone: a driver beyond reach of the loops,
or the law or loop that is least linear over the step. The sizes that are named are dimensionless.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND, are_rotations
from rtmbs.errors import StartError
from rtmbs.integrators.contract import Diagnosis, Missed, NotFinite, SingularTangent
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import INERTIA, Settings, StateArrays
from rtmbs.semirecursive.closure_jacobian import apply_through
from rtmbs.semirecursive.compiled_steps import STEP_KERNELS, FusedSteps
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.semirecursive.evaluation import assemble_mass_metric
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.loop_jacobian import ROUNDING, accuracy_of, lengths
from rtmbs.semirecursive.workspace import Workspace
from rtmbs.system.components import ComponentSums
from rtmbs.system.pattern import with_blocks
from rtmbs.system.system import System
from rtmbs.system.tables import PRISMATIC, branch_dofs

if TYPE_CHECKING:
    from rtmbs.semirecursive.midpoint_equations import Midpoint

Array = NDArray[np.float64]
ROUNDS = 6  # of conjugate gradients, each from the residual of the round before
MAX_ITERATIONS = 60  # of one round
LOST = 1e-13  # eigenvalue that counts as zero: no multiplier acts in that direction
SOLVED = 0.1  # of the accuracy of the geometry: what is left of Phidd, in terms of its parts
ENOUGH = 1e-13


def first_accelerations(
    equations: EvaluatedEquations, z: Array, zd: Array, R0: Array, masses: Array, stiffness: float = 1e6
) -> tuple[Array, Array]:
    """Return zdd (n,) and lam (m,) of the constrained equations at z, zd.

    ``masses`` (m,) are the effective masses of the rows, ``stiffness`` the dimensionless penalty c. Where loops or
    drivers contradict each other there is no solution; `start.consistency.check_motion` judges what is returned.
    Raises StartError naming the coordinate when nothing gives it inertia.
    """
    root, parts = np.sqrt(stiffness * masses), equations.parts
    zdd, lam = np.zeros(equations.n), np.zeros(equations.m)
    force, violation = unbalance(equations, z, zd, zdd, lam, R0)
    factor_weights(equations, [root * root])
    previous = np.full(parts.count, np.inf)
    for _ in range(ROUNDS):
        change = -equations.solve(force + equations.pull_back(root * root * violation))
        left = root * (violation + equations.apply_Phi_z(change))  # of the scaled equations of lam
        relative, rounding = violation_terms(equations, zd, zdd + change, (lam + root * left) / masses)
        enough = root * (SOLVED * accuracy_of(equations) * relative + rounding)
        change, more = correction(equations, parts, root, change, left, enough)
        zdd, lam = zdd + change, lam + more
        force, violation = unbalance(equations, z, zd, zdd, lam, R0)
        size = parts.largest(change)
        settled = (size <= ENOUGH * parts.largest(zdd)) | (size >= 0.5 * previous)
        if np.all(settled):
            break
        previous = np.where(settled, 0.0, size)
    return zdd, lam


def correction(
    equations: EvaluatedEquations, parts: ComponentSums, root: Array, change: Array, left: Array, enough: Array
) -> tuple[Array, Array]:
    """Return the changes of zdd and lam that take away what is ``left`` (m,) of the loops, by conjugate gradients.

    ``change`` (n,) is the answer without multipliers, root (m,) that of the weights inside the factor. Iterations end
    at ``enough``, where rounding begins: what is left there is the part of redundant equations, which no multiplier
    takes away.
    """
    if not len(left):
        return change, left
    rows, columns = parts.rows, parts.columns
    more, step, square = np.zeros(len(root)), left, parts.product(left, left)
    goes_on = np.ones(parts.count, np.bool_)
    for _ in range(MAX_ITERATIONS):
        goes_on &= parts.any(np.abs(left) > enough)
        step = np.where(goes_on[rows], step, 0.0)
        if not np.any(goes_on):
            break
        response = equations.solve(equations.pull_back(root * step))
        seen = root * equations.apply_Phi_z(response)
        curvature = parts.product(step, seen)
        goes_on &= curvature > LOST * parts.product(step, step)
        length = np.divide(square, curvature, out=np.zeros(parts.count), where=goes_on)
        more, change, left = more + length[rows] * step, change - length[columns] * response, left - length[rows] * seen
        square, previous = parts.product(left, left), square
        step = left + np.divide(square, previous, out=np.zeros(parts.count), where=goes_on)[rows] * step
    return change, root * (more + left)  # with what is left, so that forces balance whatever was reached


def violation_terms(equations: EvaluatedEquations, zd: Array, zdd: Array, pushed: Array) -> tuple[Array, Array]:
    """Return the size of the terms of Phidd (m,), and its rounding, which grows with distances from the origin.

    pushed (m,) is lam over the effective masses: what the loops prevent counts too, or a truss at rest had no size.
    """
    if not equations.m:
        return np.zeros(0), np.zeros(0)
    ws, tables = equations.ws, equations.tables
    count, connectors = len(tables.closures.kind), tables.connectors
    terms = np.zeros(equations.m)
    speed = np.abs(zd) * np.max(np.abs(zd) / equations.system.typical, initial=0.0)
    apply_through(tables, np.abs(ws.Phi_z), np.abs(zdd) + speed, terms)
    terms += np.abs(pushed) + np.abs(equations.closure_accelerations(zd, np.zeros(equations.n)))
    equations.closure_accelerations(zd, zdd)
    connector = tables.closures.connector[equations.system.closure_of_row[:count]]
    a, b = connectors.a[connector], connectors.b[connector]
    motion = np.abs(ws.acc[a]) + np.abs(ws.acc[b])
    turning = lengths(ws.V[a, 3:]) + lengths(ws.V[b, 3:])
    motion += turning[:, None] * (np.abs(ws.V[a]) + np.abs(ws.V[b]))
    rounding = np.zeros(equations.m)
    rounding[:count] = ROUNDING * np.sum(np.abs(ws.G) * motion, axis=1)
    return terms, rounding


def unbalance(
    equations: EvaluatedEquations, z: Array, zd: Array, zdd: Array, lam: Array, R0: Array
) -> tuple[Array, Array]:
    """Return M zdd - Q + Phi_z^T lam and Phidd."""
    equations.residual(z, zd, zdd, R0)
    force = equations.ws.tau + equations.pull_back(lam)
    return force, equations.closure_accelerations(zd, zdd)


# ---- residuals of the equations of motion (METHODS 1.15) ------------------------------------------------------------


ALLOWED = 1e4  # accuracies of the geometry: Phidd left, in terms of its parts
SETTLED = 1e-6  # change of an acceleration that is still wanted, relative to the largest of its component
UNSEEN = 1e-13  # of the sizes: a change of a coordinate, or a gap, in one step that is rounding


def allowed_violation(equations: EvaluatedEquations, terms: Array, rounding: Array) -> Array:
    """Return how much of Phidd (m,) may be left, for terms of this size."""
    return ALLOWED * (accuracy_of(equations) * terms + rounding)


def equation_residuals(equations: EvaluatedEquations, state: StateArrays, masses: Array, h: float) -> Missed:
    """Return the residuals of Phidd and of the balance of forces; the factor is that of the accelerations.

    ``masses`` (m,) are the effective ones. What moves nothing by more than rounding in a step h [s] is no miss: forces
    may balance to zero.
    """
    scale, typical, parts = equations.sizes.scale, equations.sizes.typical, equations.parts
    force, violation = unbalance(equations, state.z, state.zd, state.zdd, state.lam, state.R0)
    terms, rounding = violation_terms(equations, state.zd, state.zdd, state.lam / masses)
    loops = np.abs(violation) > allowed_violation(equations, terms, rounding) + UNSEEN / h**2 * scale
    change = np.abs(equations.solve(force)) / typical
    largest = np.maximum(
        parts.largest(state.zdd / typical), parts.largest_of_rows(state.lam / masses / scale)
    )  # fmt: skip
    forces = change > SETTLED * largest[parts.columns] + UNSEEN / h**2
    return Missed(violation, np.asarray(loops), change, np.asarray(forces))


# ---- the factor of the start ----------------------------------------------------------------------------------------


BODIES = 1e-8  # of the largest square root of a diagonal entry: a coordinate that moves bodies with inertia
ONE_MOTION = 1e-12  # eigenvalue of the mass matrix with a unit diagonal: coordinates that move the same
PART = 0.1  # of the largest part in that motion
DENSE_LIMIT = 6000  # coordinates: a dense factor of more takes gigabytes


def factor_weights(equations: EvaluatedEquations, weights: list[Array]) -> None:
    """Factor M + Phi_z^T weight Phi_z with the first of the weights (m,) that allows it; ``equations.solve`` solves.

    Static order first, for every weight; a long straight chain needs the exchanges of a dense factor.
    Raises StartError naming the coordinate when nothing gives it inertia.
    """
    for solver in equations.solvers if equations.n <= DENSE_LIMIT else equations.solvers[:1]:
        equations.solver = solver
        for weight in weights:
            assemble_mass_metric(equations.tables, 1.0, weight, equations.ws, equations.matrix.values)
            try:
                with suppress(SingularTangent):
                    return equations.factor_matrix()
            except NotFinite:
                raise StartError(
                    "a number that is not finite appeared: a force, an input, a rate or an angle is too large"
                ) from None
    raise StartError(reason(equations))


def reason(equations: EvaluatedEquations) -> str:
    """Return the reason of a missing factor, with the name of the coordinate."""
    name = equations.system.coordinate_names[equations.weakest]
    if equations.n > DENSE_LIMIT:
        return (
            f"coordinate {name!r} has no inertia, or one that rounding hides among {equations.n} coordinates (above"
            f" {DENSE_LIMIT} no dense factor is tried); give what it moves mass and inertia, or bend a long straight"
            " chain at the start"
        )
    if together := moving_together(equations):
        return (
            f"the motions of {' and '.join(map(repr, together))} are one and the same at this pose, as when the axes of"
            " two hinges coincide (gimbal lock): nothing tells their accelerations apart; start from another pose, or"
            " give the bodies between them inertia"
        )
    return (
        f"coordinate {name!r} has no inertia: the bodies it moves are massless (or turn about their own mass points)"
        " and no loop holds them; give them mass or inertia, or close them"
    )


def moving_together(equations: EvaluatedEquations) -> tuple[str, ...]:
    """Return the coordinates that move bodies with inertia, and of which a combination moves none."""
    M = np.asarray(equations.matrix)
    size = np.sqrt(np.abs(np.diag(M)))
    moving = size > BODIES * size.max(initial=0.0)
    if not np.any(moving) or not np.all(np.isfinite(M)):
        return ()
    scaled = M[np.ix_(moving, moving)] / np.outer(size[moving], size[moving])
    values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
    if values[0] > ONE_MOTION:
        return ()
    taking_part = np.flatnonzero(moving)[np.abs(vectors[:, 0]) > PART * np.abs(vectors[:, 0]).max()]
    names = [equations.system.coordinate_names[i] for i in taking_part]
    return tuple(names) if len(names) > 1 else ()


LARGEST = 250_000  # entries of Phi_z up to which reach is tried
MOVES = 30  # towards closed loops
LONGEST = 0.5  # largest move, in typical sizes
CLOSED = 1e-6  # violation, relative to the size of each row, of loops that are closed
SLIGHT = 1e-6  # part of a correction that shows the slope
BENT = 1e-3  # of the first correction: below it an element is as good as linear
SHARE = 0.5  # of the largest bend, from which on an element is named too
NAMED = 3  # elements
INERTIAS = "inertia forces"


def diagnose(equations: EvaluatedEquations, settings: Settings, old: StateArrays) -> Diagnosis:
    """Return the causes of a failed step from ``old`` with the inputs of ``equations`` at its end, as far as found."""
    with np.errstate(all="ignore"):
        if (driver := beyond_reach(equations, settings, old)) is not None:
            return driver
        sizes = [*turns(equations, settings, old), *stiffness(equations, settings, old)]
        bends = bent(equations, settings, old)
    worst = max(bends.values(), default=0.0)
    ranked = sorted(bends, key=lambda name: -bends[name])
    names = tuple(name for name in ranked if bends[name] >= max(SHARE * worst, BENT))[:NAMED]
    if names:
        sizes.append(f"least linear over the step: {', '.join(names)}")
    return Diagnosis(tuple(name for name in names if name != INERTIAS), "; ".join(sizes))


# -------------------------------------------------------------------------------------------------------------- reach


def beyond_reach(equations: EvaluatedEquations, settings: Settings, old: StateArrays) -> Diagnosis | None:
    """Return the drivers without one of which the loops close at the end of the step, when they do not with all."""
    system = equations.system
    rows = driver_rows(system)
    if not rows or system.n * system.m > LARGEST or closes(equations, settings, old, np.ones(system.m, bool)):
        return None
    names = tuple(
        name
        for name, mine in rows.items()
        if closes(equations, settings, old, np.isin(np.arange(system.m), mine, invert=True))
    )
    if not names:
        return None
    if len(names) > 1:
        reason = f"drivers {', '.join(map(repr, names))} cannot be followed together: the loops do not close there"
        return Diagnosis(names, f"{reason}; change a profile or take one away, no smaller step helps", True)
    reason = f"driver {names[0]!r} is beyond reach: the loops cannot close where it wants to be"
    return Diagnosis(names, f"{reason}; change its profile, no smaller step helps", True)


def driver_rows(system: Any) -> dict[str, list[int]]:
    """Return the rows of every driver by its name: a driven coordinate has no closure, a driven distance a slot."""
    slots = {signal.slot: signal.name for signal in system.signals}
    closures, drivers = system.tables.closures, system.tables.drivers
    found: dict[str, list[int]] = {}
    for row, slot in enumerate([*closures.slot.tolist(), *drivers.slot.tolist()]):
        if slot >= 0 and slot in slots:
            found.setdefault(slots[slot], []).append(row)
    return found


def closes(equations: EvaluatedEquations, settings: Settings, old: StateArrays, rows: NDArray[np.bool_]) -> bool:
    """True when these rows can be closed from the old positions: least squares, with moves that are not too long."""
    z, weight = old.z.copy(), 1.0 / settings.scale[rows]
    for _ in range(MOVES):
        violation = equations.close(z, old.R0)[rows] * weight
        if not np.all(np.isfinite(violation)):
            return False
        if np.max(np.abs(violation), initial=0.0) <= CLOSED:
            return True
        jacobian = equations.closure_jacobian()[rows] * weight[:, None] * settings.typical
        move = -np.linalg.lstsq(jacobian, violation, rcond=1e-10)[0]
        z += settings.typical * move * min(1.0, LONGEST / max(float(np.max(np.abs(move))), 1e-300))
    return False


# -------------------------------------------------------------------------------------------------------------- sizes


def turns(equations: EvaluatedEquations, settings: Settings, old: StateArrays) -> Iterator[str]:
    """Yield the largest angle that a coordinate turns in the step, w h."""
    kind = equations.system.tables.dofs.kind
    angles = np.where(kind == PRISMATIC, 0.0, np.abs(old.zd) * settings.h)
    if angles.any():
        name = equations.system.coordinate_names[int(np.argmax(angles))]
        yield f"rate times step is {angles.max():.2g} rad at {name!r}"


def stiffness(equations: EvaluatedEquations, settings: Settings, old: StateArrays) -> Iterator[str]:
    """Yield the largest k h^2 / m or c h / m of a coordinate, from the diagonals of K, C and M without penalties."""
    alpha, equations.alpha = equations.alpha, np.zeros_like(equations.alpha)
    try:
        equations.residual(old.z, old.zd, old.zdd, old.R0)
        parts = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        M, C, K = (np.abs(np.diag(equations.assemble(*part))) for part in parts)
    finally:
        equations.alpha = alpha
    M = np.maximum(M, 1e-12 * M.max(initial=1e-300))
    stiff, damped = K * settings.h**2 / M, C * settings.h / M
    what = "stiffness times step squared" if stiff.max(initial=0.0) >= damped.max(initial=0.0) else "damping times step"
    sizes = np.maximum(stiff, damped)
    if sizes.any():
        name = equations.system.coordinate_names[int(np.argmax(sizes))]
        yield f"{what} over mass is {sizes.max():.2g} at {name!r}"


# --------------------------------------------------------------------------------------------------------------- bend


def bent(equations: EvaluatedEquations, settings: Settings, old: StateArrays) -> dict[str, float]:
    """Return how far each law and each loop is from linear along the first correction, relative to it, by name.

    A loop: Phi at the end of the correction less Phi and its slope at the beginning, over its scale. A law: the same of
    its force, times h^2/4 over the smallest mass that it moves. What remains of M zdd - Q are inertia forces.
    """
    h, q4 = settings.h, 0.25 * settings.h**2
    start = h * old.zd + 0.5 * h * h * old.zdd

    def at(increment: Array) -> tuple[Array, Array]:
        zdd = 4.0 / h**2 * increment - 4.0 / h * old.zd - old.zdd
        residual = equations.residual(old.z + increment, 2.0 / h * increment - old.zd, zdd, old.R0)
        ws = equations.ws
        return residual, np.concatenate((ws.Phi / settings.scale, ws.tau, ws.law_wrench.ravel(), ws.law_force))

    residual, here = at(start)
    try:
        equations.solver = equations.solvers[-1]
        equations.factor(0.5 * h, q4, INERTIA, old)
        way = equations.solve(-q4 * residual)
    except (SingularTangent, NotFinite):
        return {}
    M = np.abs(np.diag(equations.mass_matrix()))
    bend = at(start + way)[1] - here - (at(start + SLIGHT * way)[1] - here) / SLIGHT
    bend /= max(float(np.max(np.abs(way) / settings.typical, initial=0.0)), 1e-300)
    found: dict[str, float] = {}
    m, n = equations.m, equations.n
    for row in np.flatnonzero(np.isfinite(bend[:m])):
        closure = int(equations.system.closure_of_row[row])
        if closure >= 0:
            name = equations.system.closure_names[closure]
            found[name] = max(found.get(name, 0.0), abs(float(bend[row])))
    laws = law_bends(equations, settings, M, bend[m + n :])
    inertias = q4 * np.abs(bend[m : m + n]) / np.maximum(M * settings.typical, 1e-300)
    rest = float(np.max(inertias[np.isfinite(inertias)], initial=0.0)) - sum(laws.values())
    return found | laws | {INERTIAS: rest}


def law_bends(equations: EvaluatedEquations, settings: Settings, M: Array, bend: Array) -> dict[str, float]:
    """Return the bends of the laws by name: forces times h^2/4 over the mass of the coordinates that they act on."""
    system = equations.system
    found: dict[str, float] = {}
    tables, count = system.tables, len(system.tables.laws.frame_a)
    for force in system.forces.values():
        if force.kind == "law":
            dofs = branch_dofs(tables.connectors, [force.connector])
            values = bend[6 * force.row : 6 * force.row + 6]
        elif force.kind == "joint law":
            dofs = np.array(force.dofs)
            values = bend[6 * count + force.row : 6 * count + force.row + len(dofs)]
        else:
            continue
        if len(dofs) and np.all(np.isfinite(values)):
            mass = float(np.min(M[dofs] * settings.typical[dofs]))
            found[force.name] = 0.25 * settings.h**2 * float(np.max(np.abs(values))) / max(mass, 1e-300)
    return found


# ---- names of the elements at fault ---------------------------------------------------------------------------------


def failure_names(equations: EvaluatedEquations, outcome: Outcome, old: StateArrays, scale: Array) -> tuple[str, ...]:
    """Return the names in the report of a failed step from ``old``.

    These are entries of ``old`` out of range, the coordinate without a pivot, or the coordinates or loop equations with
    the largest residual in terms of ``scale`` (m,).
    """
    ws, system = equations.ws, equations.system
    if outcome is Outcome.NOT_FINITE:
        bad = out_of_range(system, old, equations.alpha) or not_finite_laws(system, ws)
        if bad:
            return bad[:NAMED]
    if outcome is Outcome.SINGULAR_TANGENT and equations.weakest >= 0:
        return (system.coordinate_names[equations.weakest],)
    values: Any = ws.Phi / scale if outcome is Outcome.LOOP_OPEN else ws.residual
    names = system.row_names if outcome is Outcome.LOOP_OPEN else system.coordinate_names
    size = np.where(np.isfinite(values), np.abs(values), np.inf)
    return tuple(dict.fromkeys(names[i] for i in np.argsort(-size, kind="stable")[:NAMED]))


def out_of_range(system: System, state: Any, alpha: Array) -> tuple[str, ...]:
    """Return the entries of a state that are out of range for a step, such as ``zd of crank.angle``.

    ``state`` is a State or its arrays, ``alpha`` (m,) penalty factors.
    """
    found, names, rows = [], system.coordinate_names, system.row_names
    for place, owner in (("z", names), ("zd", names), ("zdd", names), ("lam", rows)):
        bad = np.flatnonzero(~(np.abs(getattr(state, place)) <= BEYOND))
        found += [f"{place} of {owner[i]}" for i in bad[:NAMED]]
    with np.errstate(all="ignore"):
        first = [
            int(np.flatnonzero(system.tables.dofs.reference == k)[0]) for k in np.flatnonzero(~are_rotations(state.R0))
        ]
    found += [f"R0 of {names[i].rpartition('.')[0]}, which is no rotation" for i in first[:NAMED]]
    bad = np.flatnonzero(~((alpha > 0.0) & np.isfinite(alpha)))
    return (*found, *(f"alpha of {rows[i]}" for i in bad[:NAMED]))


def not_finite_laws(system: System, ws: Workspace) -> tuple[str, ...]:
    """Return the names of force laws of the user that returned a number that is not finite."""
    found = []
    for force in system.forces.values():
        if force.kind == "law":
            values = ws.law_wrench[force.row]
        elif force.kind == "joint law":
            values = ws.law_force[force.row : force.row + len(force.dofs)]
        else:
            continue
        if not np.all(np.isfinite(values)):
            found.append(force.name)
    return tuple(found)


class SemiRecursiveEquations(EvaluatedEquations):
    """Equations of motion of a System in joint coordinates; answers ``integrators.contract.Equations``.

    Attributes ``u`` (inputs, set between steps), ``alpha`` (penalty factors), ``masses`` (effective masses of the loop
    equations, which the start finds) and ``threads`` belong to the caller.
    """

    def __init__(self, system: System, source: Any = None) -> None:
        super().__init__(system, source)
        self._fused = FusedSteps(self)

    def accelerations(self, z: Array, zd: Array, R0: Array, s: Array) -> tuple[Array, Array, Array]:
        """Return zdd (n,) and lam (m,) with Phidd = 0 at a state, and the rates (ns,) of its force states."""
        hold_states(s, self.ws)
        zdd, lam = first_accelerations(self, z, zd, R0, self.masses)
        return zdd, lam, self.ws.state_rate.copy()

    def missed(self, state: StateArrays, h: float) -> Missed:
        """Return the residuals of Phidd and of the balance of forces at the last accelerations; see ``Missed``."""
        return equation_residuals(self, state, self.masses, h)

    def worst(self, outcome: Outcome, old: StateArrays, scale: Array) -> tuple[str, ...]:
        """Return the names of coordinates, loop equations or laws at fault in a failed step from ``old``."""
        return failure_names(self, outcome, old, scale)

    def diagnose(self, settings: Settings, old: StateArrays) -> Diagnosis:
        """Return the causes of a failed step from ``old``, as far as found."""
        return diagnose(self, settings, old)

    @property
    def own_steps(self) -> FusedSteps:
        """Machine code of the penalty trapezoidal rule, which starts and copies share."""
        if self._fused.equations is not self:  # these are a copy
            self._fused = self._fused.of(self)
        return self._fused

    def step_kernel(self, name: str) -> Any:
        """Return the compiled step of a name of ``STEP_KERNELS``; None where laws or sources need Python."""
        made = STEP_KERNELS.get(name)
        return None if made is None or self.system.called else made(self)

    def in_momenta(self) -> "Midpoint":
        """Return the equations in momenta, whose kernels are loaded for it; all closures have blocks from then on."""
        from rtmbs.semirecursive.midpoint_equations import Midpoint

        if self.long_loops:
            self.compiled = with_blocks(self.compiled)
            self.source = self.source  # takes the tables
        return Midpoint(self)

    def inputs_between(self, start: Array, end: Array, share: float, h: float) -> Array:
        """Return the inputs (nu,) at a share of a step of ``h`` [s] between those of its ends."""
        from rtmbs.semirecursive.trbdf2_step import interpolate_inputs

        out = np.zeros_like(end)
        interpolate_inputs(self.tables, h, share, start, end, out)
        return out
