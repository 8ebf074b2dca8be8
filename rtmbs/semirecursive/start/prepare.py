"""The consistent start: assembly, rates, penalties, rank, first accelerations, and the StartReport (METHODS 1.15)."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.errors import LISTED, StartError
from rtmbs.integrators.contract import Method
from rtmbs.integrators.settings import StateArrays
from rtmbs.numerics.linear.solver import refuses_unfactorised
from rtmbs.semirecursive.equations import SemiRecursiveEquations, allowed_violation, equation_residuals, violation_terms
from rtmbs.semirecursive.locks import close_contacts, hold_pose, open_locks
from rtmbs.semirecursive.loop_jacobian import LoopJacobian
from rtmbs.semirecursive.start.assembly import CLOSED, Assembly, worst_of
from rtmbs.semirecursive.start.checks import check_facing, check_finite, check_forces, check_masses
from rtmbs.semirecursive.start.rank import Mobility, Scaled, effective_masses, inconsistent_part, settle_redundant
from rtmbs.system.components import drop_redundant
from rtmbs.system.system import ForceInfo, System
from rtmbs.system.tables import Balance
from rtmbs.system.topology import Topology

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
PART = 1e-3  # of the largest violation left: a row with less has no part in a contradiction


def check_motion(assembly: Assembly, z: Array, zd: Array, zdd: Array, lam: Array, masses: Array, h: float) -> None:
    """Refuse first accelerations that do not satisfy the equations of motion; the factor is still theirs.

    ``masses`` (m,) are the effective ones: in their metric what is left of Phidd is smallest. What moves nothing by
    more than rounding in a step h [s] is no fault: forces may balance to zero.
    Raises StartError naming the drivers that contradict each other, or the loop that no acceleration keeps closed.
    """
    equations, root = assembly.equations, np.sqrt(masses)
    found = equation_residuals(
        equations, StateArrays(z, zd, zdd, lam, assembly.R0, np.zeros((equations.n, 2))), masses, h
    )
    if np.any(found.loops):
        row = int(np.argmax(np.where(found.loops, root * np.abs(found.violation), 0.0)))
        drivers = drivers_in(assembly, root * found.violation, row)
        raise StartError(contradiction(equations.system, drivers, row, found.violation))
    if np.any(found.forces):
        worst = int(np.argmax(np.where(found.forces, found.change, 0.0)))
        raise StartError(
            f"the first acceleration of {equations.system.coordinate_names[worst]!r} did not converge:"
            " the pose is nearly singular; start from a pose farther from the dead centre of this loop"
        )


def check_agreement(assembly: Assembly, zd: Array, masses: Array, redundant: NDArray[np.bool_]) -> None:
    """Refuse drivers that no acceleration can follow, before one is looked for.

    Where Phidd = 0 has no solution the multipliers grow without bound on the way to one, and what is left in the end
    looks small beside them. ``redundant`` (m,) are the rows that others hold; rows of drivers come last, so a driver
    that contradicts something is among them.
    Raises StartError naming the drivers with a part in what no acceleration takes away.
    """
    equations, root = assembly.equations, np.sqrt(masses)
    suspects = [row for row in np.flatnonzero(redundant).tolist() if is_given(assembly, row)]
    if not suspects:
        return
    still = np.zeros(equations.n)
    wanted = equations.closure_accelerations(zd, still)
    terms, rounding = violation_terms(equations, zd, still, np.zeros(equations.m))
    scaled = Scaled(equations, assembly.jacobian)
    for group in assembly.groups:
        if not np.any(np.isin(suspects, group.rows)):
            continue
        left, rows = np.zeros(equations.m), group.rows
        left[rows] = inconsistent_part(scaled, group, root, wanted)
        size = np.max(terms[rows] / assembly.scale[rows])
        allowed = allowed_violation(equations, size * assembly.scale[rows], rounding[rows])
        row = int(rows[np.argmax(root[rows] * np.abs(left[rows]))])
        drivers = drivers_in(assembly, root * left, row)
        if drivers and np.any(np.abs(left[rows]) > allowed):
            raise StartError(contradiction(equations.system, drivers, row, left))


def drivers_in(assembly: Assembly, left: Array, row: int) -> list[str]:
    """Return the drivers that take part in what is left of the equations of the group of ``row``."""
    group = next(group for group in assembly.groups if row in group.rows)
    significant = group.rows[np.abs(left[group.rows]) > PART * np.max(np.abs(left[group.rows]))]
    return [
        assembly.equations.system.row_names[k].removesuffix(".distance") for k in significant if is_given(assembly, k)
    ]


def is_given(assembly: Assembly, row: int) -> bool:
    """True when a row follows a driver."""
    slot = assembly.equations.tables.closures.slot
    return row >= len(slot) or bool(slot[row] >= 0)


def contradiction(system: System, drivers: list[str], row: int, violation: Array) -> str:
    """Return the sentence about a ``row`` that no acceleration satisfies."""
    unit = "rad/s2" if system.row_is_rotation[row] else "m/s2"
    left = f"{abs(violation[row]):.4g} {unit} would be left at {system.row_names[row]!r}"
    if len(drivers) > 1:
        return (
            f"drivers {', '.join(map(repr, drivers))} contradict each other in acceleration at the start: {left};"
            " take one of them away, or give profiles that agree in position, velocity and acceleration"
        )
    if drivers:
        return (
            f"driver {drivers[0]!r} asks for an acceleration that the loops do not allow at the start: {left};"
            " the pose may be a dead centre: start beside it, or give a profile that starts at rest"
        )
    return (
        f"no acceleration keeps the loops closed at the start: {left}; the pose is singular and the initial rates lie"
        " on no branch of its motion: start a little beside it, or give other rates"
    )


CONSISTENT = 1e-9  # violation left, relative to the largest rate asked for


def consistent_rates(assembly: Assembly, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
    """Return zd (n,) at the assembled pose; pinned rates are kept exactly.

    Raises StartError naming the loop and the pinned rates when they cannot all hold.
    """
    equations, scale = assembly.equations, assembly.scale
    if not equations.m:
        return wanted.copy()

    def violation(zd: Array) -> Array:
        return np.asarray(equations.closure_velocities(zd) / scale)

    size = max(np.max(np.abs(wanted) / assembly.typical, initial=0.0), np.max(np.abs(violation(wanted)), initial=0.0))
    J = assembly.jacobian.matrix(equations)
    zd, left = assembly.nearest_rates(assembly.scaled(J), wanted, violation, pinned, weights, CONSISTENT * size)
    if np.max(np.abs(left), initial=0.0) > CONSISTENT * size:
        raise StartError(refusal(assembly, J, left, pinned))
    return zd


def refusal(assembly: Assembly, J: csc_array, left: Array, pinned: NDArray[np.bool_]) -> str:
    """Return the sentence that names the pins and drivers whose rates contradict each other.

    What is left of least squares is a combination of rows that no free rate can change. A pin without a part in it
    is not at fault.
    """
    system, scale = assembly.equations.system, assembly.scale
    row = int(np.argmax(np.abs(left)))
    drivers = drivers_in(assembly, left, row)
    stress = np.abs(J.T @ (left / scale)) * assembly.typical * pinned
    pins = [system.coordinate_names[k] for k in np.flatnonzero(stress > PART * np.max(np.abs(left)))]
    left_open = f"loop {system.row_names[row]!r} would open with {abs(left[row]) * scale[row]:.4g} per second"
    if len(drivers) > 1 and not pins:
        return (
            f"drivers {', '.join(map(repr, drivers))} contradict each other in velocity at the start: {left_open};"
            " take one of them away, or give profiles that agree in position, velocity and acceleration"
        )
    return (
        f"the initial rates cannot all hold: {left_open}; pinned rates: {', '.join(pins) or 'none'};"
        f" drivers: {', '.join(drivers) or 'none'}; free one pin with pin=False, or take one driver away"
    )


LOCKED = "no degree of freedom is left"  # how the warning begins that a run repeats


@dataclass(frozen=True)
class StartReport:
    """Report of the consistent start; ``str`` of it is the text for the user."""

    moved_coordinate: str  # coordinate that moved most during assembly, "" when none did
    moved_position: float  # by how much [rad or m]
    moved_rate_coordinate: str
    moved_rate: float  # largest change of a rate [rad/s or m/s]
    gap: float  # largest |Phi| after assembly, translation [m]
    gap_rotation: float
    rank: int
    degrees_of_freedom: int
    degrees_of_freedom_nearby: int  # at a random assembled pose close by
    redundant: tuple[str, ...]  # loop equations that other loop equations already hold
    alpha_min: float
    alpha_max: float
    penalty: float | None  # dimensionless c, None when alpha was fixed
    without_effect: tuple[str, ...]  # blocks of loop equations that constrain nothing at this pose
    warnings: tuple[str, ...]
    laws: tuple[str, ...] = ()  # how each force law of the user is evaluated
    topology: Topology | None = None  # the printable tree, cuts and mobility
    freedom_of_positions: int = 0  # coordinates less the rank of equations of positions; nonholonomic ones apart

    def __str__(self) -> str:
        lines = [
            f"degrees of freedom   {self.degrees_of_freedom}"
            + (f" ({self.degrees_of_freedom_nearby} nearby)" if self.singular else "")
            + (f" of rates, {self.freedom_of_positions} of positions" if self.nonholonomic else ""),
            f"redundant equations  {len(self.redundant)}",
            f"assembly moved       {moved(self.moved_position, self.moved_coordinate)}",
            f"rates moved          {moved(self.moved_rate, self.moved_rate_coordinate)}",
            f"gap left             {self.gap:.2e} m, {self.gap_rotation:.2e} rad",
            f"penalty              {'alpha fixed' if self.penalty is None else f'c = {self.penalty:g}'},"
            f" alpha {self.alpha_min:.3g} to {self.alpha_max:.3g}",
            *([f"without effect here  {listed(self.without_effect)}"] if self.without_effect else []),
            *(f"force law            {text}" for text in self.laws),
            *(f"warning: {text}" for text in self.warnings),
        ]
        return "\n".join(lines)

    @property
    def locked(self) -> str:
        """The warning of loops that nothing can move; empty where there is none."""
        return next((text for text in self.warnings if text.startswith(LOCKED)), "")

    @property
    def nonholonomic(self) -> bool:
        """True when some equations bind rates and no positions."""
        return self.freedom_of_positions > self.degrees_of_freedom

    @property
    def singular(self) -> bool:
        """True when the mobility at the start differs from that nearby."""
        return self.degrees_of_freedom != self.degrees_of_freedom_nearby


def moved(size: float, name: str) -> str:
    """Return the sentence for a movement."""
    return f"{name} by {size:.3g}" if name else "nothing"


def listed(names: tuple[str, ...]) -> str:
    """Return the first names and how many more there are."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


MOVED = 1e-12  # a change smaller than this, in typical sizes, is no movement


@dataclass(frozen=True)
class Start:
    """A consistent state and the report of its start."""

    arrays: StateArrays
    report: StartReport


class KnownStart(NamedTuple):
    """A start that was found before, and what it left in the equations."""

    start: Start
    given: tuple[Any, ...]  # step, method and inputs that it belongs to
    u: Array
    alpha: Array
    masses: Array
    offset: Array
    balance: Balance
    solver: int


KNOWN: WeakKeyDictionary[System, list[KnownStart]] = WeakKeyDictionary()
MOST_KNOWN = 4  # starts of a System


def prepare(equations: SemiRecursiveEquations, h: float, method: Method, assembly_offset: bool = False) -> Start:
    """Return a consistent start; set ``alpha``, ``masses`` and, with ``assembly_offset``, the offset of the closures.

    Simulations of one System with the same step, method and inputs start alike, so what the first one found is kept.
    The inputs hold the functions of time too, those of drivers with rate and acceleration. A System whose laws Python
    calls starts anew each time, and so does one with a method that may change. Raises as ``find_start`` does.
    """
    system = equations.system
    options = getattr(type(method), "__dataclass_params__", None)
    fixed = not system.called and options is not None and options.frozen
    given = (h, type(method), method, assembly_offset, equations.u.tobytes(), type(equations.source)) if fixed else ()
    known = KNOWN.get(system, [])
    for one in known if fixed else ():
        if one.given == given:
            return taken_over(equations, one)
    start = find_start(equations, h, method, assembly_offset)
    if fixed:
        u, alpha, masses, offset = (
            np.array(one) for one in (equations.u, equations.alpha, equations.masses, equations.assembly_offset)
        )
        solver = list(map(id, equations.solvers)).index(id(equations.solver))
        one = KnownStart(copied(start), given, u, alpha, masses, offset, equations.balance, solver)
        KNOWN[system] = [*known[1 - MOST_KNOWN :], one]
    return start


def copied(start: Start) -> Start:
    """Return a start with arrays of its own."""
    return Start(StateArrays(*map(np.array, start.arrays)), start.report)


def taken_over(equations: SemiRecursiveEquations, known: KnownStart) -> Start:
    """Return a start that was found before; the equations are left as it left them."""
    equations.u[:] = known.u
    equations.alpha, equations.masses = known.alpha.copy(), known.masses.copy()
    equations.assembly_offset[:] = known.offset
    equations.take_balance(known.balance)
    equations.solver = equations.solvers[known.solver]
    start = copied(known.start)
    equations.close(start.arrays.z, start.arrays.R0)
    return start


@refuses_unfactorised(StartError, "start")
def find_start(equations: SemiRecursiveEquations, h: float, method: Method, assembly_offset: bool = False) -> Start:
    """Return a consistent start by assembly, rates, rank and accelerations; sets what ``prepare`` sets.

    Raises ModelError for a massless body that nothing holds, StartError when loops cannot close, pinned values
    contradict each other, a coordinate has no inertia, or a redundant closure is inconsistent enough to stress the
    mechanism (METHODS 1.13).
    """
    system = equations.system
    check_masses(system)
    R0 = system.R0.copy()
    scale = np.where(system.row_is_rotation, 1.0, system.length)
    assembly = Assembly(equations, R0, scale, system.typical)
    z = assembly.assemble(system.z0, system.pinned_z, system.weights)
    gap = equations.ws.Phi / scale
    if worst_of(gap) > CLOSED:
        z = settle_redundant(equations, assembly, z, gap, h, method, assembly_offset)
    check_facing(equations)
    check_forces(equations)
    masses, blind = (masses_with_locks if system.locks or system.rigid else effective_masses)(
        equations, assembly.jacobian
    )
    equations.masses = masses
    equations.alpha = method.penalties(equations, h)
    equations.close(z, R0)
    gaps = equations.ws.Phi.copy()
    zd = consistent_rates(assembly, system.zd0, system.pinned_zd, system.weights)
    mobility = Mobility.find(equations, assembly, z)
    equations.take_balance(drop_redundant(equations.tables, mobility.redundant))
    check_agreement(assembly, zd, masses, mobility.redundant)
    s = system.s0
    zdd, lam, sd = equations.accelerations(z, zd, R0, s)
    arrays = StateArrays(z, zd, zdd, lam, R0, np.zeros((equations.n, 2)), s.copy(), sd)
    check_finite(equations, arrays)
    check_motion(assembly, z, zd, zdd, lam, masses, h)
    equations.commit(arrays)
    report = describe(equations, arrays, gaps, assembly, mobility, blind, method.c)
    return Start(arrays, report)


def masses_with_locks(equations: SemiRecursiveEquations, jacobian: LoopJacobian) -> tuple[Array, NDArray[np.bool_]]:
    """Return the effective masses (m,) with all locks closed, and the blind rows; then close those of the start."""
    locks = equations.system.locks
    z, first = equations.ws.z.copy(), equations.u.copy()
    hold_pose(equations, equations.u, locks)
    close_contacts(equations, equations.u)
    equations.close(z, equations.system.R0)
    found = effective_masses(equations, jacobian)
    equations.u[:] = first
    hold_pose(equations, equations.u, [name for name, closed in locks.items() if closed])
    equations.close(z, equations.system.R0)
    return found


def describe(
    equations: SemiRecursiveEquations,
    arrays: StateArrays,
    gaps: Array,
    assembly: Assembly,
    mobility: Mobility,
    blind: NDArray[np.bool_],
    penalty: float | None,
) -> StartReport:
    """Put the findings into words and numbers."""
    system, z, zd = equations.system, arrays.z, arrays.zd
    place, position = largest_change(z - system.z0, system.typical)
    rate_place, rate = largest_change(zd - system.zd0, system.typical)
    n, rotation = equations.n, system.row_is_rotation
    redundant = mobility.redundant
    if system.locks or system.rigid:
        redundant = redundant & ~rows_of_open_locks(equations)
    spare = system.closure_of_row[redundant]  # closure of every redundant row
    return StartReport(
        moved_coordinate=system.coordinate_names[place] if place >= 0 else "",
        moved_position=position,
        moved_rate_coordinate=system.coordinate_names[rate_place] if rate_place >= 0 else "",
        moved_rate=rate,
        gap=float(np.max(np.abs(gaps[~rotation]), initial=0.0)),
        gap_rotation=float(np.max(np.abs(gaps[rotation]), initial=0.0)),
        rank=mobility.rank,
        degrees_of_freedom=n - mobility.rank,
        degrees_of_freedom_nearby=n - mobility.nearby,
        redundant=tuple(system.row_names[row] for row in np.flatnonzero(redundant)),
        alpha_min=float(np.min(equations.alpha, initial=np.inf)) if equations.m else 0.0,
        alpha_max=float(np.max(equations.alpha, initial=0.0)),
        penalty=penalty,
        without_effect=blind_blocks(system, blind),
        warnings=tuple(start_warnings(equations, assembly, z, mobility)),
        topology=replace(
            system.topology,
            degrees_of_freedom=n - mobility.rank,
            rank=mobility.rank,
            redundant=tuple(dict.fromkeys(system.closure_names[closure] for closure in spare if closure >= 0)),
        ),
        freedom_of_positions=n - mobility.of_positions,
        laws=tuple(path_of(force) for force in system.forces.values() if force.kind in ("law", "joint law")),
    )


def rows_of_open_locks(equations: SemiRecursiveEquations) -> NDArray[np.bool_]:
    """Return which rows (m,) belong to locks that are open."""
    system = equations.system
    names = [*open_locks(system, equations.u), *system.rigid]
    numbers = [number for number, name in enumerate(system.closure_names) if name in names]
    return np.isin(system.closure_of_row, numbers)


def start_warnings(equations: SemiRecursiveEquations, assembly: Assembly, z: Array, mobility: Mobility) -> list[str]:
    """Return the sentences that the user is warned by."""
    system, n, warnings = equations.system, equations.n, []
    if mobility.rank != mobility.nearby:
        warnings.append(
            f"the start is singular (RankDrop): {n - mobility.rank} degrees of freedom here,"
            f" {n - mobility.nearby} nearby"
        )
    if not mobility.known and not mobility.locked:
        warnings.append(
            "no closed pose was found beside the start of some loops: were the start singular, it would not show"
        )
    if mobility.locked:
        warnings.append(f"{LOCKED} in what {listed(mobility.locked)} join: the loops alone hold it")
    if assembly.other_way is not None:
        warnings.append(two_ways(system, z, assembly.other_way))
    offsets = np.abs(equations.tables.closures.assembly_offset)
    if np.any(offsets):
        worst = int(np.argmax(offsets))
        warnings.append(
            f"assembly offset: {system.row_names[worst]} is measured from the pose as it is, {offsets[worst]:.3g} off"
        )
    return warnings


def two_ways(system: System, z: Array, other: Array) -> str:
    """Return the sentence about a reference pose between two assemblies."""
    k = int(np.argmax(np.abs(other - z) / system.typical))
    return (
        "the reference pose stands between several ways to assemble, such as bars in one line; taken is the one with"
        f" {system.coordinate_names[k]} = {z[k]:.4g}, another has {other[k]:.4g}: an initial value near the wanted one"
        " chooses, such as set_initial(JOINT, position=..., pin=False)"
    )


def path_of(force: ForceInfo) -> str:
    """Return the sentence that says how a force law of the user is evaluated."""
    if force.called:
        return f"{force.name}: called in Python, differentiated by differences, readable step ({force.called})"
    return f"{force.name}: recorded, compiled, exact derivatives"


def largest_change(change: Array, typical: Array) -> tuple[int, float]:
    """Return the coordinate that changed most and by how much; -1 when nothing moved."""
    relative = np.abs(change) / typical
    if np.max(relative, initial=0.0) <= MOVED:
        return -1, 0.0
    place = int(np.argmax(relative))
    return place, float(abs(change[place]))


def blind_blocks(system: System, blind: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the joints, with "rotation" or "translation", whose equations constrain nothing at this pose."""
    found = [
        f"{'rotation' if system.row_is_rotation[row] else 'translation'} of"
        f" {system.closure_names[system.closure_of_row[row]]}"
        for row in np.flatnonzero(blind & (system.closure_of_row >= 0))
    ]
    return tuple(dict.fromkeys(found))
