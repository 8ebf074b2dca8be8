"""The consistent start in its order: assemble, project rates, size penalties, rank, first accelerations."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.errors import InputError, StartError
from rtmbs.integrators.settings import StateArrays
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.start.accelerations import first_accelerations
from rtmbs.start.penalty import effective_masses
from rtmbs.start.positions import CLOSED, REFUSED, Assembly, check_closed, worst_of
from rtmbs.start.rank import group_rank, inconsistent_part, redundant_rows, scaled
from rtmbs.start.rates import consistent_rates
from rtmbs.start.report import StartReport
from rtmbs.system.system import System

Array = NDArray[np.float64]

STRESS = 1e-2  # self-stress of an inconsistent redundant closure, relative to the typical reaction, that is refused
SHIMMED = 1e-3  # of the row scale: a larger contradiction is no tolerance but a wrong model
SHIM_ROUNDS = 4
NEARBY = 0.02  # size of the random step to the nearby pose, in typical sizes
MOVED = 1e-12  # a change smaller than this, in typical sizes, is no movement


@dataclass(frozen=True)
class Start:
    """A consistent state and what was found on the way."""

    arrays: StateArrays
    masses: Array  # (m,) effective masses of the loop equations
    report: StartReport


def prepare(
    equations: SemiRecursiveEquations, h: float, penalty: float | None, fixed_alpha: float | None, shim: bool = False
) -> Start:
    """Return a consistent start; sets ``equations.alpha`` and, when asked, the shim of the closures.

    Raises StartError when loops cannot close, pinned values contradict each other, a coordinate has no inertia, or a
    redundant closure is inconsistent enough to stress the mechanism (METHODS 1.13).
    """
    system = equations.system
    R0 = system.R0.copy()
    scale = np.where(system.row_is_rotation, 1.0, system.length)
    assembly = Assembly(equations, R0, scale, system.typical)
    z = assembly.solve(system.z0, system.pinned_z, system.weights)
    gap = equations.ws.Phi / scale
    if worst_of(gap) > CLOSED:
        z = settle_redundant(equations, assembly, z, gap, h, penalty, fixed_alpha, shim)
    check_facing(equations)
    masses, blind = effective_masses(equations, assembly.jacobian.matrix(equations))
    set_alpha(equations, masses, h, penalty, fixed_alpha)
    equations.close(z, R0)
    gaps = equations.ws.Phi.copy()
    zd = consistent_rates(assembly, system.zd0, system.pinned_zd, system.weights)
    mobility = Mobility.find(equations, assembly, z, masses)
    zdd, lam = first_accelerations(equations, z, zd, R0, masses)
    arrays = StateArrays(z, zd, zdd, lam, R0)
    check_finite(equations, arrays)
    equations.recentre(arrays)
    report = describe(equations, arrays, gaps, z, zd, mobility, blind, penalty)
    return Start(arrays, masses, report)


def set_alpha(
    equations: SemiRecursiveEquations, masses: Array, h: float, penalty: float | None, fixed_alpha: float | None
) -> None:
    """Give the equations their penalty factors."""
    equations.alpha[:] = penalty_factors(equations.system, masses, h, penalty, fixed_alpha)


def penalty_factors(system: System, masses: Array, h: float, penalty: float | None, fixed_alpha: float | None) -> Array:
    """alpha_l = c (4/h^2) m_l, or one fixed alpha in SI units as in the paper (times length^2 in rotation rows)."""
    if fixed_alpha is not None:
        alpha = np.where(system.row_is_rotation, fixed_alpha * system.length**2, fixed_alpha)
    else:
        alpha = (penalty or 0.0) * 4.0 / h**2 * masses
    if not np.all(np.isfinite(alpha)):
        given = f"penalty = {penalty:g} at h = {h:g} s" if fixed_alpha is None else f"alpha = {fixed_alpha:g}"
        raise InputError(f"{given} makes penalty factors that are not finite; give a smaller penalty or a larger step")
    return alpha


def check_finite(equations: SemiRecursiveEquations, arrays: StateArrays) -> None:
    """Refuse a start that is not finite: a state never is."""
    system = equations.system
    for name, values in (("position", arrays.z), ("rate", arrays.zd), ("acceleration", arrays.zdd)):
        if len(bad := np.flatnonzero(~np.isfinite(values))):
            raise StartError(
                f"the first {name} of {system.coordinate_names[bad[0]]!r} is not finite; look for numbers far"
                " too large in gravity, forces, inputs and initial values"
            )
    if len(bad := np.flatnonzero(~np.isfinite(arrays.lam))):
        raise StartError(
            f"the first multiplier of {system.row_names[bad[0]]!r} is not finite; look for numbers far too large"
            " in forces and penalties"
        )


def settle_redundant(
    equations: SemiRecursiveEquations,
    assembly: Assembly,
    z: Array,
    gap: Array,
    h: float,
    penalty: float | None,
    fixed_alpha: float | None,
    shim: bool,
) -> Array:
    """Judge a gap that no motion removes: shim it when asked, refuse it when it would stress the mechanism."""
    system, shims = equations.system, equations.tables.closures.shim
    masses, _ = effective_masses(equations, assembly.jacobian.matrix(equations))
    set_alpha(equations, masses, h, penalty, fixed_alpha)
    pose = measure_shims(equations, assembly, z, masses)
    stuck = np.zeros(equations.m)
    stuck[: len(shims)] = shims
    if worst_of(assembly.gap(pose)) > REFUSED or worst_of(stuck / assembly.scale) > SHIMMED:
        shims[:] = 0.0
        check_closed(equations, gap, assembly.scale, system.pinned_z)
    if shim:
        return pose
    shims[:] = 0.0
    equations.close(z, assembly.R0)
    stress = equations.alpha * np.abs(stuck)
    weight = float(np.sum(equations.tables.steps.mass)) * float(np.linalg.norm(equations.u[:3]))
    _, lam = first_accelerations(equations, z, np.zeros(equations.n), assembly.R0, masses)
    reaction = max(weight / max(equations.n, 1), float(np.max(np.abs(lam), initial=0.0)))
    worst = int(np.argmax(stress))
    if stress[worst] > STRESS * reaction:
        raise StartError(
            f"the redundant loop equations at {system.row_names[worst]!r} contradict each other by"
            f" {abs(stuck[worst]):.3g} and would stress the mechanism with {stress[worst]:.3g} N"
            f" (typical reaction {reaction:.3g} N);"
            " correct the points of this closure, or use shim=True to measure lengths from the pose as it is"
        )
    return z


def measure_shims(equations: SemiRecursiveEquations, assembly: Assembly, z: Array, masses: Array) -> Array:
    """Subtract from Phi what no motion removes, and return the pose that closes the rest.

    The part is that of METHODS 1.13, in the metric of the penalties. Unless all rows weigh the same, the gap at the
    nearest pose has another part, which motion does remove; so a few rounds of measuring and assembling are taken.
    """
    root, shims = np.sqrt(masses), equations.tables.closures.shim
    for _ in range(SHIM_ROUNDS):
        Phi = equations.close(z, assembly.R0).copy()
        if worst_of(Phi / assembly.scale) <= CLOSED:
            break
        P = scaled(assembly.jacobian.matrix(equations), masses)
        for group in assembly.groups:
            rows = group.rows[group.rows < len(shims)]
            part = inconsistent_part(P, group, root * Phi) / root[group.rows]
            shims[rows] += part[group.rows < len(shims)]
        z = assembly.solve(z, equations.system.pinned_z, equations.system.weights)
    return z


def check_facing(equations: SemiRecursiveEquations) -> None:
    """Refuse an assembly in which the axes of a cut joint point against each other (METHODS 1.25)."""
    ws, links = equations.ws, equations.tables.links
    for closure, record in enumerate(equations.system.closures):
        A_a, A_b = ws.A[links.a[closure]], ws.A[links.b[closure]]
        for axis_a, axis_b in zip(record.aligned_a, record.aligned_b, strict=True):
            if (A_a @ axis_a) @ (A_b @ axis_b) <= 0.0:
                raise StartError(
                    f"cut joint {record.name!r} assembled the wrong way round: its axes point against each other;"
                    " give an initial value on the wanted side"
                )


@dataclass(frozen=True)
class Mobility:
    """Rank at the start and nearby."""

    rank: int
    nearby: int
    redundant: tuple[str, ...]
    estimated: bool

    @classmethod
    def find(cls, equations: SemiRecursiveEquations, assembly: Assembly, z: Array, masses: Array) -> "Mobility":
        """Return the rank of the loops at z and at a random assembled pose close by."""
        P = scaled(assembly.jacobian.matrix(equations), masses)
        answers = [group_rank(P, group) for group in assembly.groups]
        rank = sum(count for count, _ in answers)
        estimated = any(guess for _, guess in answers)
        redundant = [] if estimated else redundant_names(equations, P, assembly, [count for count, _ in answers])
        nearby = rank_nearby(equations, assembly, z, masses, rank)
        equations.close(z, assembly.R0)
        return cls(rank, nearby, tuple(redundant), estimated)


def redundant_names(equations: SemiRecursiveEquations, P: csc_array, assembly: Assembly, ranks: list[int]) -> list[str]:
    """Return the names of the rows that other rows already hold."""
    rows = [redundant_rows(P, group, rank) for group, rank in zip(assembly.groups, ranks, strict=True)]
    return [equations.system.row_names[row] for some in rows for row in some]


def rank_nearby(equations: SemiRecursiveEquations, assembly: Assembly, z: Array, masses: Array, rank: int) -> int:
    """Return the rank at a random assembled pose close to z; that at z when none was found."""
    system = equations.system
    rng = np.random.default_rng(0)
    free = np.zeros(equations.n, bool)
    for size in (NEARBY, 0.1 * NEARBY):
        trial = assembly.solve(z + size * system.typical * rng.standard_normal(equations.n), free, system.weights)
        if worst_of(assembly.gap(trial)) <= REFUSED:
            P = scaled(assembly.jacobian.matrix(equations), masses)
            return sum(group_rank(P, group)[0] for group in assembly.groups)
    return rank


def describe(
    equations: SemiRecursiveEquations,
    arrays: StateArrays,
    gaps: Array,
    z: Array,
    zd: Array,
    mobility: Mobility,
    blind: NDArray[np.bool_],
    penalty: float | None,
) -> StartReport:
    """Put the findings into words and numbers."""
    system = equations.system
    place, position = largest_change(z - system.z0, system.typical)
    rate_place, rate = largest_change(zd - system.zd0, system.typical)
    n, warnings = equations.n, []
    if mobility.rank != mobility.nearby:
        warnings.append(
            f"the start is singular (RankDrop): {n - mobility.rank} degrees of freedom here,"
            f" {n - mobility.nearby} nearby"
        )
    blocks = sorted({system.row_names[row].rsplit(".", 1)[0] for row in np.flatnonzero(blind)})
    if blocks:
        warnings.append(
            f"equations that constrain nothing here: {', '.join(blocks[:4])}{' ...' if len(blocks) > 4 else ''}"
        )
    shims = np.abs(equations.tables.closures.shim)
    if np.any(shims):
        worst = int(np.argmax(shims))
        warnings.append(f"shim: {system.row_names[worst]} is measured from the pose as it is, {shims[worst]:.3g} off")
    rotation = system.row_is_rotation
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
        redundant=mobility.redundant,
        estimated_rank=mobility.estimated,
        alpha_min=float(np.min(equations.alpha, initial=np.inf)) if equations.m else 0.0,
        alpha_max=float(np.max(equations.alpha, initial=0.0)),
        penalty=penalty,
        warnings=tuple(warnings),
    )


def largest_change(change: Array, typical: Array) -> tuple[int, float]:
    """Return the coordinate that changed most and by how much; -1 when nothing moved."""
    relative = np.abs(change) / typical
    if np.max(relative, initial=0.0) <= MOVED:
        return -1, 0.0
    place = int(np.argmax(relative))
    return place, float(abs(change[place]))
