"""The slowest modes of a large mechanism at rest, by shift and invert on sparse matrices (METHODS 1.35).

(s^2 M + s C + K) dz + Phi_z^T dlam = 0, Phi_z dz = 0, with the multipliers of the state in K. A solution of the system
at a real shift, one factor for all, turns eigenvalues near the shift into the largest ones, which Arnoldi finds.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csc_array, diags_array
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs, splu

from rtmbs.analysis.neighbourhood import of_state
from rtmbs.errors import InputError
from rtmbs.integrators.settings import LAGGED
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.loop_jacobian import loop_jacobian
from rtmbs.simulation.simulation import Simulation
from rtmbs.start.rank import independent_rows

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

MOVES = 1e-9  # typical sizes in the time of the slowest mode: rates that count as rest
SHIFT = 0.3  # of the pace that the softest coordinate has alone
SOFT = 1e-12  # of the loops' stiffness: what rows give way by, so that every pivot is there
SPARE = 8  # eigenvalues beyond those asked for: pairs are cut by no count
LEFT = 1e-6  # of the terms of an equation: what a mode may leave of it


def pays(sim: Simulation, count: int) -> bool:
    """Return whether Arnoldi's subspace for ``count`` modes is smaller than the space that there is."""
    return 2 * (2 * count + SPARE) < 2 * sim.start_report.degrees_of_freedom_nearby


def slowest_modes(sim: Simulation, count: int) -> tuple[Complex, Complex]:
    """Return eigenvalues (j,) and shapes (n, j) of about ``2 count`` modes, conjugates among them, none in order.

    Raises InputError at a state that moves, for force states, and where Arnoldi's iteration does not end.
    """
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
    """Return the pace [1/s] of the coordinate that is slowest alone; 1 where nothing is stiff."""
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
