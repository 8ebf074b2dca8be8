"""Axes in which the small motions about a steady motion have constant coefficients (METHODS 1.35).

Rotation dofs of ball and floating joints vary by small turns in axes of the body. Those axes turn with a body that
spins, and frequencies seen there are shifted by the spin. With R the rotation of the dofs against the parent, T = R for
rotation dofs and 1 elsewhere, variations in axes of the parent are T dz, and as T' = T W and dz' = dzd - W dz

    (T dz)' = T dzd,    (T dzd)' = T (W dzd + dzdd).

f rows E of T dz, E of T dzd and ds are variables x~ = L x of the same motion. x~' = A~ x~ is the equation of a steady
motion when A~ does not change along that motion; so is x' = A x when A does not.
"""

from copy import copy
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.simulation.simulation import Simulation, store_of
from rtmbs.studies.analysis.linearisation import force_state_derivatives, projected, system_matrix
from rtmbs.studies.analysis.neighbourhood import Indices, Neighbourhood, neighbourhood

Array = NDArray[np.float64]

BODY, PARENT = "body", "parent"
STEP = 1e-2  # [rad] of the fastest turn, or typical sizes: way along the motion to either side, so long that a matrix
# counts as changing where a swing passes its lowest point, and the slope is zero
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
    beside = [neighbourhood(moved(sim, near, sign * STEP / pace), near.independent) for sign in (-1.0, 1.0)]
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
    """Return the change of a matrix in STEP to either side, relative to its largest entry in ``sizes`` (nx,)."""
    scale = sizes[None, :] / sizes[:, None]
    most = max(float(np.abs((one - matrix) * scale).max()) for one in beside)
    return most / STEP / max(float(np.abs(matrix * scale).max()), 1e-300)


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
