"""Modes: natural frequencies, damping ratios and shapes of small motions about a state, dense or sparse.

The slowest modes of a large mechanism at rest come from shift and invert on sparse matrices (METHODS 1.35):
(s^2 M + s C + K) dz + Phi_z^T dlam = 0, Phi_z dz = 0, with the multipliers of the state in K. A solution of the system
at a real shift, one factor for all, turns eigenvalues near the shift into the largest ones, which Arnoldi finds.

Mode shapes: motions of bodies, energies by body and by element, and one period of a mode as a Result. The power of an
element at rates d, a little way along d, gives d^T K_e d; at rest it gives d^T C_e d (METHODS 1.35).

Axes in which the small motions about a steady motion have constant coefficients (METHODS 1.35).

Rotation dofs of ball and floating joints vary by small turns in axes of the body. Those axes turn with a body that
spins, and frequencies seen there are shifted by the spin. With R the rotation of the dofs against the parent, T = R for
rotation dofs and 1 elsewhere, variations in axes of the parent are T dz, and as T' = T W and dz' = dzd - W dz

    (T dz)' = T dzd,    (T dzd)' = T (W dzd + dzdd).

f rows E of T dz, E of T dzd and ds are variables x~ = L x of the same motion. x~' = A~ x~ is the equation of a steady
motion when A~ does not change along that motion; so is x' = A x when A does not.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import block_array, csc_array, diags_array
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs, splu

from rtmbs.errors import InputError, StartError, with_count
from rtmbs.integrators.checks import positive, whole
from rtmbs.integrators.settings import LAGGED
from rtmbs.numerics.linear.solver import refuses_unfactorised
from rtmbs.results.catalogue import run_result
from rtmbs.results.motion_channels import body_motion
from rtmbs.results.result import Result
from rtmbs.results.samples import Evaluation, Samples
from rtmbs.results.tables import needed
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.loop_jacobian import loop_jacobian
from rtmbs.semirecursive.start.assembly import REFUSED, Assembly, worst_of
from rtmbs.semirecursive.start.rank import independent_rows
from rtmbs.simulation.simulation import Simulation, store_of
from rtmbs.studies.analysis.linearisation import (
    Linearisation,
    force_state_derivatives,
    linearise,
    projected,
    system_matrix,
)
from rtmbs.studies.analysis.neighbourhood import Indices, Neighbourhood, neighbourhood, of_state, refuse_unlinear
from rtmbs.studies.analysis.report import NamedValues, Report, simulation_of, unbalanced_note
from rtmbs.studies.analysis.workload import GRAVITY, closure_power, force_powers, gravity_power

Array = NDArray[np.float64]
BODY, PARENT = "body", "parent"
# [rad] of the fastest turn, or typical sizes: way along the motion to either side, so long that a matrix counts as
# changing where a swing passes its lowest point, and the slope is zero
MOTION_STEP = 1e-2
STEADY = 1e-7  # of the matrix a radian: a change that counts as none; steady motions of the tests leave below 1e-8
MOVING = 1e-9  # typical sizes a second: rates that count as rest


@dataclass(frozen=True)
class Axes:
    """Axes of the variations in a modal analysis.

    Attributes
    ----------
    name : "body" for x' = A x, "parent" for rotation dofs in axes of the parent
    matrix : (nx, nx) of the chosen axes
    map : (nx, nx) L, from x to their variables
    change : largest change of ``matrix`` a radian or typical size of the motion, of its largest entry; 0 at rest
    moves : whether the state moves
    turns : whether rotation dofs do
    """

    name: str
    matrix: Array
    map: Array
    change: float = 0.0
    moves: bool = False
    turns: bool = False

    @property
    def steady(self) -> bool:
        """True when the coefficients are constant along the motion."""
        return self.change <= STEADY


def axes_of(sim: Simulation, A: Array) -> Axes:
    """Return the axes in which the motion of a Simulation is steady: the parent's are tried before the body's.

    Where the motion is steady in neither, those of the body. ``A`` (nx, nx) is the matrix of the linear equations.
    """
    here = Axes(BODY, A, np.eye(len(A)))
    pace = float(np.max(np.abs(sim.state.zd) / sim.system.typical, initial=0.0))
    if pace <= MOVING or not len(A):
        return here
    near = neighbourhood(sim)
    beside = [neighbourhood(moved(sim, near, sign * MOTION_STEP / pace), near.independent) for sign in (-1.0, 1.0)]
    matrices = [full_state_matrix(one) for one in beside]
    sizes = sizes_of(near, pace)
    turns = bool(np.any(near.W))
    found = [Axes(BODY, A, here.map, relative_change(matrices, A, sizes), True, turns)]
    if turns:
        rows = independent_rows_of(turned(near) @ near.N, near.equations.system.typical)
        ways = [in_parent_axes(one, B, rows) for one, B in zip(beside, matrices, strict=True)]
        matrix, L = in_parent_axes(near, A, rows)
        own = sizes.copy()
        own[: near.f] = near.equations.system.typical[rows]
        own[near.f : 2 * near.f] = pace * own[: near.f]
        found.insert(0, Axes(PARENT, matrix, L, relative_change([one for one, _ in ways], matrix, own), True, True))
    return next((axes for axes in found if axes.steady), found[-1])


def motion_note(axes: Axes | None) -> str:
    """Return a note for the modes of a state in motion, "" at rest."""
    if axes is None or not axes.moves:
        return ""
    if not axes.steady:
        return (
            f"The state moves, and not steadily: coefficients change by {axes.change:.2g} of the largest a radian. "
            "These are modes of the instant, a hint, and they depend on the choice of coordinates."
        )
    if axes.name == PARENT:
        return "The state moves steadily. Ball and floating joints vary in axes of the parent, which do not spin."
    if axes.turns:
        return (
            "The state moves steadily in axes that turn with the body of a ball or floating joint: frequencies are "
            "those seen in the turning axes."
        )
    return "The state moves steadily."


def full_state_matrix(near: Neighbourhood) -> Array:
    """Return A (nx, nx) of a neighbourhood."""
    return system_matrix(near, projected(near), force_state_derivatives(near))


def sizes_of(near: Neighbourhood, pace: float) -> Array:
    """Return typical sizes (nx,) of x; rates are those of the motion."""
    typical = near.equations.system.typical[near.independent]
    return np.concatenate((typical, pace * typical, np.maximum(np.abs(near.arrays.s), 1.0)))


def relative_change(beside: list[Array], matrix: Array, sizes: Array) -> float:
    """Return the change of a matrix in MOTION_STEP to either side, relative to its largest entry in ``sizes`` (nx,)."""
    scale = sizes[None, :] / sizes[:, None]
    most = max(float(np.abs((one - matrix) * scale).max()) for one in beside)
    return most / MOTION_STEP / max(float(np.abs(matrix * scale).max()), 1e-300)


def moved(sim: Simulation, near: Neighbourhood, seconds: float) -> Simulation:
    """Return a private Simulation ``seconds`` later, or earlier, on the same motion."""
    state, arrays, own = sim.state.copy(), near.arrays, copy(sim)
    state.z[:] = arrays.z + seconds * (arrays.zd + 0.5 * seconds * arrays.zdd)
    state.zd[:] = arrays.zd + seconds * arrays.zdd
    state.s[:] = arrays.s + seconds * arrays.sd
    store_of(own).go_on_from(state, sim.t + seconds)
    return own


def turned(near: Neighbourhood) -> Array:
    """Return T (n, n): columns of a rotation dof are its own axes in those of the parent."""
    T, dofs = np.eye(near.equations.n), near.equations.tables.dofs
    for i in np.flatnonzero(dofs.reference >= 0):
        own = slice(i, i + 3)
        T[own, own] = near.arrays.R0[dofs.reference[i]] @ dofs.axis[own].T
    return T


def independent_rows_of(columns: Array, typical: Array) -> Indices:
    """Return f independent rows of (n, f), chosen in typical sizes."""
    order = scipy.linalg.qr((columns / typical[:, None]).T, mode="r", pivoting=True)[1]
    return np.sort(order[: columns.shape[1]]).astype(np.int64)


def in_parent_axes(near: Neighbourhood, A: Array, rows: Indices) -> tuple[Array, Array]:
    """Return A~ and L (nx, nx); ``rows`` (f,) are those that E takes."""
    f, nx, ns = near.f, len(A), len(near.arrays.s)
    T, none = turned(near), np.zeros((near.equations.n, ns))
    dz = np.hstack((near.N, np.zeros_like(near.N), none))
    dzd = np.hstack((near.G, near.N, none))
    dzdd = near.N @ A[f : 2 * f] + np.hstack((near.H_q, near.H_v, none))
    turn = T[rows]
    L = np.vstack((turn @ dz, turn @ dzd, np.eye(nx)[2 * f :]))
    change = np.vstack((turn @ dzd, turn @ (near.W @ dzd + dzdd), A[2 * f :]))
    return np.asarray(np.linalg.solve(L.T, change.T).T, np.float64), L


class Oscillations:
    """Mixin for ``eigenvalues`` s [1/s] of any shape: frequencies and damping ratios."""

    eigenvalues: Any

    @property
    def frequencies(self) -> Array:
        """Natural frequencies |s| / 2 pi [Hz]; NaN where there is no eigenvalue."""
        return np.asarray(np.abs(self.eigenvalues) / (2.0 * np.pi))

    @property
    def damped_frequencies(self) -> Array:
        """Frequencies of the damped oscillation [Hz]; 0 for a real eigenvalue."""
        return np.asarray(np.abs(self.eigenvalues.imag) / (2.0 * np.pi))

    @property
    def damping(self) -> Array:
        """Damping ratios -Re(s) / |s|; 0 for s = 0."""
        size = np.abs(self.eigenvalues)
        return np.asarray(np.divide(-self.eigenvalues.real, size, out=np.zeros(size.shape), where=size != 0.0))


Complex = NDArray[np.complex128]

MOVES = 1e-9  # typical sizes in the time of the slowest mode: rates that count as rest
SHIFT = 0.3  # of the pace that the softest coordinate has alone
SOFT = 1e-12  # of the loops' stiffness: what rows give way by, so that every pivot is there
SPARE = 8  # eigenvalues beyond those asked for: pairs are cut by no count
LEFT = 1e-6  # of the terms of an equation: what a mode may leave of it
PART = 0.2  # of its typical size: what the coordinate that moves most moves by in a picture
WHOLE_PERIOD = 1.0  # [s] of a mode that takes no time of its own
STILL = 1e-12  # of its real part: an imaginary part of s that counts as none
LOOPS = "loops"  # reactions of all loop equations: their directions turn with the pose
STEP = 1e-4  # typical sizes: half a way of a central difference


def subspace_is_smaller(sim: Simulation, count: int) -> bool:
    """Return whether Arnoldi's subspace for ``count`` modes is smaller than the full space."""
    return 2 * (2 * count + SPARE) < 2 * sim.start_report.degrees_of_freedom_nearby


def slowest_modes(sim: Simulation, count: int) -> tuple[Complex, Complex]:
    """Return eigenvalues (j,) and shapes (n, j) of about ``2 count`` modes, conjugates included, unordered.

    Raises InputError at a state that moves, for force states, and where Arnoldi's iteration does not end.
    """
    refuse_unlinear(sim.system)
    if len(sim.state.s):
        raise InputError(
            f"states of force laws ({sim.system.states[0].force!r}) are found by modes without count, up to 500 "
            "coordinates"
        )
    equations, arrays = of_state(sim)
    hold_states(arrays.s, equations.ws)
    equations.residual(arrays.z, arrays.zd, arrays.zdd, arrays.R0)
    M, C, K = (sparse_part(equations, which, arrays) for which in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    equations.close(arrays.z, arrays.R0)
    P = loop_jacobian(equations.system).matrix(equations).tocsr()[independent_rows(equations)]
    shift = SHIFT * pace_of(M, K)
    if np.any(np.abs(arrays.zd) > MOVES * shift * equations.system.typical):
        i = int(np.argmax(np.abs(arrays.zd) / equations.system.typical))
        raise InputError(
            f"{equations.system.coordinate_names[i]} moves: the slowest modes of many coordinates need a state at "
            "rest, such as rtmbs.equilibrium(sim).simulation; modes without count takes states that move"
        )
    n = equations.n
    wanted = 2 * count + SPARE
    solved = inverse(shift, M, C, K, P)
    try:
        values, vectors = eigs(
            LinearOperator((2 * n, 2 * n), matvec=solved, dtype=np.float64), wanted, v0=solved(solved(np.ones(2 * n)))
        )
    except ArpackError as error:
        raise InputError(
            f"the {count} slowest modes were not found ({error}); ask for fewer, or for all without count"
        ) from None
    finite = np.abs(values) > np.finfo(float).eps * np.abs(values).max()
    s, shapes = shift + 1.0 / values[finite], vectors[:n, finite]
    check(s, shapes, (M, C, K, P), count)
    return s, shapes


def sparse_part(equations: SemiRecursiveEquations, which: tuple[float, float, float], arrays: object) -> csc_array:
    """Return M, C or K (n, n) at the state last evaluated."""
    equations.fill(*which, LAGGED, arrays)  # type: ignore[arg-type]
    matrix = equations.matrix
    entries = (matrix.values[matrix.places], (matrix.rows, matrix.columns))
    return csc_array(entries, shape=(equations.n, equations.n))


def pace_of(M: csc_array, K: csc_array) -> float:
    """Return the frequency [1/s] of the coordinate that is slowest alone; 1 without stiffness."""
    stiff, heavy = np.abs(K.diagonal()), M.diagonal()
    paces = np.sqrt(np.divide(stiff, heavy, out=np.zeros_like(stiff), where=heavy > 0.0))
    real = paces[paces > 1e-6 * paces.max(initial=0.0)]
    return float(real.min()) if len(real) else 1.0


def inverse(shift: float, M: csc_array, C: csc_array, K: csc_array, P: csc_array) -> Callable[[Array], Array]:
    """Return the function (2n,) -> (2n,) of x = (dz, dv) whose eigenvalues are 1 / (s - shift).

    Rows of Phi_z are scaled to the size of the rest, and held a little softly: SOFT in place of their zero.
    """
    n, m = len(M.diagonal()), P.shape[0]
    A = csc_array(shift * shift * M + shift * C + K)
    size = float(np.abs(A.data).max(initial=1.0))
    rows = np.sqrt(np.asarray(P.multiply(P).sum(axis=1)).ravel())
    scaled = csc_array(diags_array(size / np.where(rows > 0.0, rows, 1.0)) @ P)
    whole = A if not m else block_array([[A, scaled.T], [scaled, -SOFT * size * diags_array(np.ones(m))]], format="csc")
    factor, right = splu(csc_array(whole)), np.zeros(n + m)

    def solved(x: Array) -> Array:
        x = np.asarray(x, np.float64).ravel()
        dz, dv = x[:n], x[n:]
        right[:n] = -(M @ dv + C @ dz + shift * (M @ dz))
        found = factor.solve(right)[:n]
        return np.concatenate((found, dz + shift * found))

    return solved


def check(s: Complex, shapes: Complex, matrices: tuple[csc_array, ...], count: int) -> None:
    """Raise InputError when a mode leaves the equations open beyond LEFT of their terms, reactions taken off."""
    M, C, K, P = matrices
    order = np.argsort(np.abs(s))[: 2 * count]
    for value, z in zip(s[order], shapes[:, order].T, strict=True):
        parts = value * value * (M @ z), value * (C @ z), K @ z
        open_ = abs(np.vdot(z, sum(parts)))
        held = sum(abs(np.vdot(z, part)) for part in parts)
        gap = np.abs(P @ z).max(initial=0.0) / max(np.abs(P.data).max(initial=1.0) * np.abs(z).max(), 1e-300)
        if open_ > LEFT * held + 1e-300 or gap > LEFT:
            raise InputError(
                f"the mode at s = {value:.4g} 1/s is not exact: {open_ / max(held, 1e-300):.2g} of its equation is "
                "left; ask for fewer modes, or for all without count"
            )


DENSE = 500  # coordinates that all modes are found of
MANY = 20  # the slowest ones of more coordinates
GROWING = 1e-6  # of the largest eigenvalue: rounding splits a double zero by its root
NEUTRAL, ZERO = 1e-5, 1e-12  # of the largest eigenvalue: a zero that rounding has split, and one that it has not
OPPOSITE, ALIKE = 1e-3, 1e-6  # what the sum of two opposite numbers, and the angle of two equal shapes, may be off
REAL = 1e-9  # of the size of an eigenvalue, or of the largest times 1e-6: an imaginary part that counts as none


@dataclass(frozen=True, repr=False)
class Modes(Report, Oscillations):
    """Solutions exp(s t) of the linear equations, the slowest first; one of each conjugate pair.

    A direction that nothing holds is one mode, with s = 0 to rounding: 1e-5 of the largest |s|, of either sign.

    Attributes
    ----------
    eigenvalues : (k,) s [1/s]
    frequencies : (k,) natural frequencies |s| / 2 pi [Hz], of decays without oscillation too: s = -28 1/s is 4.46 Hz
        with a damping of 1
    damped_frequencies : (k,) |Im(s)| / 2 pi, of the oscillation itself [Hz]; 0 where there is none
    damping : (k,) ratios -Re(s) / |s|; 1 for a decay without oscillation, negative where motion grows
    shapes : (n, k) complex variations of all joint coordinates, the largest of them 1
    left : (nx, k) left eigenvectors of L^-1 A~ L, left[:, i]^H L^-1 A~ L = s_i left[:, i]^H, with left^H right = 1;
        (0, k) when only the slowest modes were asked for. At rest A~ is the matrix A of the linearisation, and L is 1
    right : (nx, k) right eigenvectors of L^-1 A~ L; (0, k) likewise
    coordinates : names of the joint coordinates (n,)
    simulation : a Simulation of its own at the state
    linearisation : the equations, None when only the slowest modes were asked for
    axes : those in which a motion is steady, with A~ = ``axes.matrix`` and L = ``axes.map``; None likewise
    """

    eigenvalues: Complex
    shapes: Complex
    left: Complex
    right: Complex
    coordinates: tuple[str, ...]
    simulation: Simulation
    linearisation: Linearisation | None = None
    axes: Axes | None = None

    @property
    def stable(self) -> bool:
        """True when no mode grows, to rounding."""
        return bool(np.all(self.eigenvalues.real <= GROWING * np.abs(self.eigenvalues).max(initial=0.0)))

    @cached_property
    def bodies(self) -> dict[str, Complex]:
        """By body, motions (k, 6) of the shapes: shift of the mass centre and turn, world axes [m, rad]."""
        return NamedValues("body", body_motions(self.simulation, self.shapes))

    @cached_property
    def shares(self) -> dict[str, Array]:
        """By body, (k,) the part of the kinetic energy of a mode that is in the body, averaged over a period."""
        energies = kinetic_energies(self.simulation, self.bodies)
        whole_energy = np.sum(list(energies.values()), axis=0)
        parts = {name: energy / np.where(whole_energy > 0.0, whole_energy, 1.0) for name, energy in energies.items()}
        return NamedValues("body", parts)

    @cached_property
    def element_shares(self) -> dict[str, Array]:
        """By force, of gravity and of the loops' reactions, (k,) the part of a mode's stiffness |s|^2 shape^H M shape.

        At rest and without damping the parts sum to 1. One below zero softens the mode.
        """
        parts = {name: energy / self._scale for name, energy in self._elements.stiffness.items()}
        return NamedValues("element with stiffness", parts)

    @cached_property
    def damping_shares(self) -> dict[str, Array]:
        """By force, (k,) its part of the damping ratio of a mode, to first order in the damping."""
        scale = 2.0 * np.sqrt(self._kinetic * self._scale)
        parts = {
            name: energy / np.where(scale > 0.0, scale, 1.0)
            for name, energy in self._elements.damping.items()
            if name in self.simulation.system.forces
        }
        return NamedValues("force", parts)

    @cached_property
    def _elements(self) -> "ElementEnergies":
        return element_energies(self.simulation, self.shapes)

    @cached_property
    def _kinetic(self) -> Array:
        return np.sum(list(kinetic_energies(self.simulation, self.bodies).values()), axis=0)

    @cached_property
    def _scale(self) -> Array:
        scale = np.abs(self.eigenvalues) ** 2 * self._kinetic
        return np.where(scale > 0.0, scale, np.inf)

    def motion(self, i: int, *, amplitude: float | None = None, pictures: int = 60) -> Result:
        """Return mode ``i`` as a Result of one period without decay, to be plotted and played; 1 s for s = 0.

        ``amplitude`` is that of the coordinate that moves most [m or rad], a fifth of its typical size unless given.
        Loops are closed. Accelerations and reactions are those of the state. Raises InputError.
        """
        whole("the number of a mode", i, 0, len(self.eigenvalues) - 1)
        return mode_motion(self.simulation, self.shapes[:, i], self.eigenvalues[i], amplitude, pictures)

    def view(self, i: int, *, model: Any = None, amplitude: float | None = None) -> int:
        """Play mode ``i`` in a loop in the viewer, titled with its frequency; return the exit code of the window.

        model: gives bodies their looks.  amplitude: as of ``motion``.
        """
        from rtmbs.viewer.view import view

        motion = self.motion(i, amplitude=amplitude)
        motion.name = f"{motion.name}, mode {i}: {self.frequencies[i]:.4g} Hz"
        return view(motion, model=model, playing=True, loop=True)

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame, a row a mode (extra ``tables``)."""
        pandas = needed("pandas", "to_pandas", "tables")
        most = [self.coordinates[j] for j in np.abs(self.shapes).argmax(axis=0)] if len(self.coordinates) else []
        columns = {
            "frequency [Hz]": self.frequencies,
            "damped frequency [Hz]": self.damped_frequencies,
            "damping": self.damping,
            "Re s [1/s]": self.eigenvalues.real,
            "Im s [1/s]": self.eigenvalues.imag,
            "moves most": most,
        }
        return pandas.DataFrame(columns)

    def table(self) -> str:
        """Return the modes as text: number, frequency, damping, eigenvalue, and the coordinates that move most."""
        if not len(self.eigenvalues):
            return "no modes: nothing is free to move, because drivers and loops say every coordinate"
        lines = [f"{'':>4} {'Hz':>12} {'damping':>10} {'s [1/s]':>28}  moves most"]
        for i, s in enumerate(self.eigenvalues):
            order = np.argsort(-np.abs(self.shapes[:, i]))[:3]
            most = ", ".join(f"{self.coordinates[j]} {abs(self.shapes[j, i]):.2g}" for j in order)
            value = f"{s.real:+.5g} {s.imag:+.5g}i"
            lines.append(f"{i:>4} {self.frequencies[i]:>12.6g} {self.damping[i]:>10.4g} {value:>28}  {most}")
        note = motion_note(self.axes) or unbalanced_note(self.simulation, float(np.abs(self.eigenvalues).max()))
        return "\n".join([*lines, *([note] if note else [])])

    def line(self) -> str:
        """Return the mechanism, the number of modes and whether they decay."""
        count, sim = with_count(len(self.eigenvalues), "mode"), self.simulation
        return f"{sim.system.name!r} at t = {sim.t:g} s: {count}, {'stable' if self.stable else 'not stable'}"


@refuses_unfactorised(InputError, "modes")
def modes(of: Any, count: int | None = None) -> Modes:
    """Return the modes of small motions about the present state of a Simulation, or of a Linearisation.

    In a state of motion the modes are those of a steady motion, as of a governor in its turn: one along which the
    coefficients of the equations are constant. Ball and floating joints that spin are described in axes of the parent,
    and in axes of the body where only these have constant coefficients. ``found.axes`` tells which, and
    ``found.axes.steady`` whether there are such axes; modes of an unsteady motion are those of the instant, and no more
    than a hint.

    Parameters
    ----------
    of : Simulation, Linearisation, Equilibrium or State
        The state; a State must be of a System that a Simulation has.
    count : int, optional
        Number of the slowest modes, of a Simulation at rest by shift and invert on sparse matrices where that is less
        work. A mechanism of more than 500 coordinates takes that way for 20 modes unless given.

    Returns
    -------
    Modes
        Eigenvalues (k,) [1/s] and shapes (n, k), the slowest first; one of each conjugate pair.

    Raises
    ------
    InputError
        For wrong arguments, and the errors of ``linearise``.

    Examples
    --------
    >>> found = rtmbs.modes(sim)
    >>> print(found.table())
    """
    if not isinstance(of, Linearisation):
        of = simulation_of("modes", of, "a Simulation or a Linearisation")
        if count is not None:
            whole("count", count, 1, of.system.n)
        wanted = MANY if count is None else count
        if (count is not None or of.system.n > DENSE) and subspace_is_smaller(of, wanted):
            return slowest(of, wanted)
        of = linearise(of)
    axes = axes_of(of.simulation, of.A)
    values, left, right = eigenvectors(axes.matrix)
    left = np.asarray(axes.map.T @ left, np.complex128)
    right = np.asarray(np.linalg.solve(axes.map, right), np.complex128) if len(right) else right
    kept = neutral_once(values, of.basis @ right[: of.basis.shape[1]], one_of_each_pair(values))[:count]
    values, left, right = values[kept], left[:, kept], right[:, kept]
    shapes = of.basis @ right[: of.basis.shape[1]]
    largest = largest_entries(shapes)
    shapes, right = shapes / largest, right / largest
    overlap = np.einsum("ij,ij->j", left.conj(), right)
    left = left / np.where(np.abs(overlap) > 0.0, overlap.conj(), 1.0)
    return Modes(values, shapes, left, right, of.names_of_all, of.simulation, of, axes)


def slowest(sim: Simulation, count: int) -> Modes:
    """Return the ``count`` slowest modes of a Simulation at rest."""
    values, shapes = slowest_modes(sim, count)
    kept = neutral_once(values, shapes, one_of_each_pair(values))[:count]
    shapes = shapes[:, kept] / largest_entries(shapes[:, kept])
    none = np.zeros((0, len(kept)), np.complex128)
    return Modes(values[kept], shapes, none, none, tuple(sim.system.coordinate_names), copy(sim))


def one_of_each_pair(values: Complex) -> NDArray[np.int64]:
    """Return the indices of real eigenvalues and of those with a positive imaginary part, the slowest first."""
    size = np.abs(values)
    real = np.abs(values.imag) <= REAL * np.maximum(size, 1e-6 * size.max(initial=0.0))
    kept = np.flatnonzero(real | (values.imag > 0.0))
    return kept[np.argsort(size[kept], kind="stable")]


def neutral_once(values: Complex, shapes: Complex, kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices ``kept`` without the second zero of each neutral direction.

    Rounding makes a double zero +-i e or +-e, by the sign of a stiffness that is all rounding. The first is one of a
    conjugate pair; of the second, opposite numbers with one shape, the growing one is kept.
    """
    least = np.abs(values).max(initial=0.0)
    near = [i for i in kept if abs(values[i].imag) <= abs(values[i].real) and abs(values[i]) <= NEUTRAL * least]
    twins: set[int] = set()
    for k, i in enumerate(near):
        for j in near[:k]:
            if {i, j} & twins:
                continue
            size = max(abs(values[i]), abs(values[j]))
            opposite = abs(values[i] + values[j]) <= OPPOSITE * size or size <= ZERO * least
            a, b = shapes[:, i], shapes[:, j]
            if opposite and abs(np.vdot(a, b)) >= (1.0 - ALIKE) * np.linalg.norm(a) * np.linalg.norm(b):
                twins.add(i if values[i].real <= values[j].real else j)
    return np.array([i for i in kept if i not in twins], np.int64)


def largest_entries(shapes: Complex) -> Complex:
    """Return of every shape (n, k) the entry that is largest (k,); 1 for one that moves nothing."""
    if not len(shapes):
        return np.ones(shapes.shape[1], np.complex128)
    found = shapes[np.abs(shapes).argmax(axis=0), np.arange(shapes.shape[1])]
    return np.where(np.abs(found) > 0.0, found, 1.0)


def eigenvectors(A: Array) -> tuple[Complex, Complex, Complex]:
    """Return eigenvalues, left and right eigenvectors of A (nx, nx); none of an empty one."""
    none = np.zeros((0, 0), np.complex128)
    if not len(A):
        return none.ravel(), none, none
    values, left, right = scipy.linalg.eig(A, left=True, right=True)
    return values.astype(np.complex128), left.astype(np.complex128), right.astype(np.complex128)


def body_motions(sim: Simulation, shapes: Complex) -> dict[str, Complex]:
    """Return by body the motions (k, 6) of shapes (n, k): shift of the mass centre and turn, world axes [m, rad].

    Twists are linear in rates, Z = T R_d zd, so a shape is asked for as rates.
    """
    k = shapes.shape[1]
    resampled = Evaluation(sim.system, sim.equations.tables, with_rates(sim, np.hstack((shapes.real, shapes.imag)).T))
    found = {}
    for name, info in sim.system.bodies.items():
        if name == sim.system.topology.bodies[0]:
            continue
        body = body_motion(resampled, info)
        twist = np.hstack((body.velocity(body.point(info.center_of_mass)), body.omega))
        found[name] = twist[:k] + 1j * twist[k:]
    return found


def kinetic_energies(sim: Simulation, motions: dict[str, Complex]) -> dict[str, Array]:
    """Return by body m |v|^2 + w . J w (k,) of motions (k, 6) per unit of rate [J s^2]."""
    resampled = Evaluation(sim.system, sim.equations.tables, with_rates(sim, np.zeros((1, sim.system.n))))
    energies = {}
    for name, motion in motions.items():
        info = sim.system.bodies[name]
        turn = motion[:, 3:] @ body_motion(resampled, info).orientation[0]
        shift = info.mass * np.sum(np.abs(motion[:, :3]) ** 2, axis=1)
        energies[name] = shift + np.einsum("ki,ij,kj->k", turn.conj(), info.inertia, turn).real
    return energies


def with_rates(sim: Simulation, rates: Array) -> Samples:
    """Return the state of a Simulation as samples with these rates (S, n)."""
    return like(sim, np.repeat(sim.state.z[None], len(rates), axis=0), rates, np.full(len(rates), sim.t))


def like(sim: Simulation, z: Array, zd: Array, t: Array) -> Samples:
    """Return samples with positions and rates (S, n) at times (S,), all else as in the state of a Simulation."""
    state, count = sim.state, len(t)
    zdd, lam, R0, u, s = (
        np.repeat(values[None], count, axis=0) for values in (state.zdd, state.lam, state.R0, state.u, state.s)
    )
    return Samples(t=t, z=z, zd=zd, zdd=zdd, lam=lam, R0=R0, u=u, s=s)


def mode_motion(sim: Simulation, shape: Complex, value: complex, amplitude: float | None, pictures: int) -> Result:
    """Return one period of a mode as a Result, loops closed; see ``Modes.motion``."""
    whole("pictures", pictures, 2, 100_000)
    typical, largest = sim.system.typical, int(np.abs(shape).argmax())
    if amplitude is None:
        amplitude = PART * float(np.min(typical[np.abs(shape) > 0.0] / np.abs(shape)[np.abs(shape) > 0.0]))
    positive(amplitude=amplitude)
    pace = abs(value.imag) if abs(value.imag) > STILL * abs(value.real) else 0.0
    period = 2.0 * np.pi / pace if pace > 0.0 else WHOLE_PERIOD
    phase = np.linspace(0.0, 2.0 * np.pi, pictures + 1)
    turning = amplitude * np.exp(1j * phase)[:, None] * shape
    z = closed_poses(sim, turning.real, sim.system.coordinate_names[largest])
    rates = (2j * np.pi / period * turning).real
    samples = like(sim, z, rates, sim.t + phase / (2.0 * np.pi) * period)
    return run_result(sim.system, sim.equations.tables, samples, {})


def closed_poses(sim: Simulation, changes: Array, name: str) -> Array:
    """Return the poses (S, n) with closed loops nearest to the present one plus ``changes`` (S, n)."""
    system, state = sim.system, sim.state
    own = copy(sim).equations
    scale = np.where(system.row_is_rotation, 1.0, system.length)
    assembly = Assembly(own, state.R0, scale, system.typical)
    found = np.empty_like(changes)
    free, even = np.zeros(system.n, np.bool_), np.ones(system.n)
    for row, change in zip(found, changes, strict=True):
        try:
            row[:] = assembly.solve(state.z + change, free, even)
        except StartError:
            row[:] = np.nan
        if not worst_of(assembly.gap(row)) <= REFUSED:
            raise InputError(f"the loops do not close when {name} moves so far; take a smaller amplitude")
    return found


class ElementEnergies(NamedTuple):
    """Stiffness (k,) and damping (k,) of every mode by force, gravity and loop reactions."""

    stiffness: dict[str, Array]  # d^T K_e d, summed over the real and the imaginary part of a shape [J]
    damping: dict[str, Array]  # d^T C_e d likewise [W s]


def element_energies(sim: Simulation, shapes: Complex) -> ElementEnergies:
    """Return stiffness and damping of ``shapes`` (n, k) by element, for the state taken at rest."""
    k, typical = shapes.shape[1], sim.system.typical
    ways = np.hstack((shapes.real, shapes.imag)).T
    size = STEP / np.maximum(np.abs(ways / typical).max(axis=1, initial=0.0), 1e-300)
    place, rates = np.repeat(sim.state.z[None], 2 * k, axis=0), ways

    def powers(way: Array, rate: Array) -> dict[str, Array]:
        return powers_of(sim, like(sim, place + way, rate, np.full(2 * k, sim.t)))

    def both(found: Callable[[str], Array]) -> dict[str, Array]:
        return {name: found(name)[:k] + found(name)[k:] for name in at}

    step = size[:, None] * ways
    ahead, behind, at, back = (
        powers(step, rates),
        powers(-step, rates),
        powers(0.0 * step, rates),
        powers(0.0 * step, -rates),
    )
    stiffness = both(lambda name: -(ahead[name] - behind[name]) / (2.0 * size))
    return ElementEnergies(stiffness, both(lambda name: -0.5 * (at[name] + back[name])))


def powers_of(sim: Simulation, samples: Samples) -> dict[str, Array]:
    """Return the power (S,) of every force, of gravity and of the loops' reactions."""
    resampled = Evaluation(sim.system, sim.equations.tables, samples)
    loops = np.zeros(len(samples.t))
    for closure in range(len(sim.system.closure_names)):
        loops = loops + closure_power(resampled, closure)
    return force_powers(sim.system, resampled) | {GRAVITY: gravity_power(resampled), LOOPS: loops}
