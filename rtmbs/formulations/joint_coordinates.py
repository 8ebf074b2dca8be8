"""Joint coordinates: a compiled System as a ConstrainedSystem, by the compiled kernels of ``semirecursive``."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.core.bounds import are_rotations
from rtmbs.errors import InputError
from rtmbs.formulations.contract import OutOfRange, checked_vector
from rtmbs.numerics.rotations.quaternions import body_rates, right_jacobian
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.loop_jacobian import loop_jacobian, noise_of
from rtmbs.semirecursive.passes import commit_rotations
from rtmbs.system.contact_tables import rate_mask, refuse_sets
from rtmbs.system.pattern import uncondensed
from rtmbs.system.system import System

Array = NDArray[np.float64]

SUSPECT = 1e-8  # of the scale of its row: when all entries of a row are below, the noise of the row is looked at


class JointCoordinates:
    """The equations of a System in joint coordinates q and their rates v = dq/dt [m or rad].

    Three rotation dofs of a spherical or floating joint have a rotation vector delta for coordinates, R = R0
    exp(delta~). R0 is ``R0`` (k, 3, 3), by default that of the System. Body rates are T(delta) d(delta)/dt, so that T^T
    M T, T^T (F - M dT/dt v), Phi_z T and gamma - Phi_z dT/dt v stand for M, F, Phi_q and gamma. ``u`` (nu,) are the
    inputs; functions of time fill in theirs. ``s`` (ns,) are the states of force laws, at first those of the System. A
    redundant row of which only rounding is left, as where two hinges share a skew axis, is zero here, as along the axes
    of the world. Source: METHODS 1, 1.13 and 2.13.

    Parameters
    ----------
    system : System
        Compiled System.
    R0 : ndarray, optional
        Reference rotations (k, 3, 3) of spherical and floating joints; those of the System unless given.

    Raises
    ------
    InputError
        For an R0 that is no rotation, and for a rotation vector near 2 pi, where T is singular.

    Examples
    --------
    >>> import rtmbs
    >>> system = JointCoordinates(rtmbs.library.build("crank_rocker").compile())  # doctest: +SKIP
    """

    def __init__(self, system: System, R0: Array | None = None) -> None:
        refuse_sets(system, "a formulation")
        self.equations = SemiRecursiveEquations(uncondensed(system))
        self.n = self.equations.n
        self.loops = loop_jacobian(self.equations.system)
        binds = rate_mask(system.tables.contacts, self.equations.m)
        self.held, self.slips = np.flatnonzero(~binds), np.flatnonzero(binds)  # rows of Phi, and those of Psi
        self.m, self.rate_rows = len(self.held), len(self.slips)
        self.order = np.concatenate((self.held, self.slips))  # of the rows of the System, in those here
        self.coordinate_names = list(system.coordinate_names)
        self.row_names, self.rate_row_names = ([system.row_names[i] for i in rows] for rows in (self.held, self.slips))
        first = np.flatnonzero(system.tables.dofs.reference >= 0)
        self.vectors = RotationVectors(first, self.coordinate_names)
        self.R0 = system.R0.copy() if R0 is None else rotations(R0, system.R0.shape)
        self.s: Array = system.s0
        self.evaluated = b""  # coordinates and inputs whose mass and closures the equations hold
        inner = self.loops.rows[: self.loops.inner]
        self.scale = np.where(system.row_is_rotation, 1.0, system.length)[inner] * SUSPECT
        self.quiet = np.zeros(self.equations.m)  # of rows that are rounding: its size, per typical change

    @property
    def u(self) -> Array:
        """Inputs (nu,)."""
        return self.equations.u

    def begin_at(self, R0: Array, u: Array, s: Array) -> None:
        """Set reference rotations, inputs and states of forces.

        Parameters
        ----------
        R0 : ndarray
            Reference rotations (k, 3, 3).
        u : ndarray
            Inputs (nu,).
        s : ndarray
            States of forces (ns,).
        """
        self.R0[:], self.equations.u, self.s[:], self.evaluated = R0, u.copy(), s, b""

    def joint_rates(self, q: Array, v: Array) -> Array:
        """Return zd (n,) of a Simulation: v, but body rates T(delta) v of rotation dofs [m/s or rad/s].

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        v : ndarray
            Rates of the coordinates (n,).

        Returns
        -------
        ndarray
            Rates zd (n,) [m/s or rad/s].
        """
        return np.asarray(self.vectors.turning(q) @ v) if len(self.vectors.first) else v.copy()

    def recentred(self, q: Array, v: Array) -> tuple["JointCoordinates", Array, Array]:
        """Return the same motion about the rotations of a state: the system, q with delta = 0, and v = zd there.

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        v : ndarray
            Rates of the coordinates (n,).

        Returns
        -------
        tuple[JointCoordinates, ndarray, ndarray]
            Same motion about the rotations of a state: the system, q with delta = 0, and v = zd there.
        """
        z, zd, R0 = checked_vector("q", q, self.n), self.joint_rates(q, checked_vector("v", v, self.n)), self.R0.copy()
        commit_rotations(self.equations.tables.dofs, z, R0)
        fresh = JointCoordinates(self.equations.compiled, R0)
        fresh.u[:], fresh.s[:] = self.u, self.s
        return fresh, z, zd

    def mass(self, q: Array, t: float) -> Array:
        """Return M (n, n)."""
        self.evaluate(q, t)
        M = self.equations.mass_matrix()
        if not len(self.vectors.first):
            return M
        T = self.vectors.turning(q)
        return np.asarray(T.T @ M @ T)

    def sparse_mass(self, q: Array, t: float) -> csc_array:
        """Return M (n, n), sparse: coordinates of different branches have no common entry."""
        self.evaluate(q, t)
        matrix = self.equations.mass_values()
        M = csc_array((matrix.values[matrix.places], (matrix.rows, matrix.columns)), shape=(self.n, self.n))
        if not len(self.vectors.first):
            return M
        T = csc_array(self.vectors.turning(q))
        return csc_array(T.T @ M @ T)

    def evaluate_rates(self, q: Array, v: Array, t: float) -> Array:
        """Leave all of the equations evaluated at a state, zdd = 0; returns the rates (n,) of dofs.

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        v : ndarray
            Rates of the coordinates (n,).
        t : float
            Time [s].

        Returns
        -------
        ndarray
            Rates (n,) of the degrees of freedom.
        """
        self.equations.at(t)
        self.evaluated = b""
        rates = self.joint_rates(q, v)
        hold_states(self.s, self.equations.ws)
        self.equations.evaluate(q, rates, np.zeros(self.n), self.R0)
        self.silence()
        self.evaluated = key_of(q, self.u)
        return rates

    def force(self, q: Array, v: Array, t: float) -> Array:
        """Return Q (n,), velocity terms included."""
        q, v = checked_vector("q", q, self.n), checked_vector("v", v, self.n)
        self.evaluate_rates(q, v, t)
        F, T = -self.equations.ws.tau, self.vectors.turning(q)
        if not len(self.vectors.first):
            return F
        return np.asarray(T.T @ (F - self.equations.mass_matrix() @ self.vectors.rate_terms(q, v)))

    def state_rates(self, q: Array, v: Array, t: float) -> Array:
        """Return the rates (ns,) of the states ``s``."""
        self.force(q, v, t)
        return self.equations.ws.state_rate.copy()

    def constraints(self, q: Array, t: float) -> Array:
        """Return Phi (m,) of loops, couplers and drivers."""
        self.evaluate(q, t)
        return self.of(self.held, self.equations.ws.Phi)

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        """Return Phi_q (m, n)."""
        self.evaluate(q, t)
        return np.asarray(self.of(self.held, self.equations.closure_jacobian()) @ self.vectors.turning(q))

    def sparse_constraint_jacobian(self, q: Array, t: float) -> csc_array:
        """Return Phi_q (m, n), sparse."""
        self.evaluate(q, t)
        Phi_z = self.loops.matrix(self.equations)
        Phi_z = csc_array(Phi_z[self.held]) if self.rate_rows else Phi_z
        return csc_array(Phi_z @ csc_array(self.vectors.turning(q))) if len(self.vectors.first) else Phi_z

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return Phi_t and gamma (m,)."""
        Phi_t, gamma = self.rate_terms(q, v, t)
        return self.of(self.held, Phi_t), self.of(self.held, gamma)

    def rate_constraints(self, q: Array, v: Array, t: float) -> Array:
        """Return Psi (k,) of rolling contacts and knife edges."""
        v = checked_vector("v", v, self.n)
        return np.asarray(self.rate_constraint_jacobian(q, t) @ v)

    def rate_constraint_jacobian(self, q: Array, t: float) -> Array:
        """Return A (k, n) of rolling contacts and knife edges."""
        self.evaluate(q, t)
        return np.asarray(self.equations.closure_jacobian()[self.slips] @ self.vectors.turning(q))

    def rate_constraint_terms(self, q: Array, v: Array, t: float) -> Array:
        """Return gamma (k,) of rolling contacts and knife edges."""
        return self.rate_terms(q, v, t)[1][self.slips]

    def of(self, rows: NDArray[np.int64], values: Array) -> Array:
        """Return some rows of the System, as a copy.

        Parameters
        ----------
        rows : ndarray
            Numbers of the rows, ``held`` or ``slips``.
        values : ndarray
            Values of all rows of the System.

        Returns
        -------
        ndarray
            Those of ``rows``.
        """
        return np.asarray(values[rows]) if self.rate_rows else values.copy()

    def rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return Phi_t and gamma of all rows of the System, in its order.

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        v : ndarray
            Rates of the coordinates (n,).
        t : float
            Time [s].

        Returns
        -------
        tuple[ndarray, ndarray]
            Phi_t and gamma, one number a row of the System each.
        """
        self.evaluate(q, t)
        q, v = checked_vector("q", q, self.n), checked_vector("v", v, self.n)
        Phi_t = self.equations.closure_velocities(np.zeros(self.n))
        rates, bends = self.joint_rates(q, v), self.vectors.rate_terms(q, v)
        gamma = -self.equations.closure_accelerations(rates, bends)
        gamma[np.abs(gamma) <= self.rounding(rates, bends)] = 0.0
        return Phi_t, gamma

    def rounding(self, rates: Array, accelerations: Array) -> Array:
        """Return how large Phidd (m,) may be, by rounding alone, in the rows of Phi_q that were set to zero.

        Parameters
        ----------
        rates : ndarray
            Rates (n,).
        accelerations : ndarray
            Accelerations (n,).

        Returns
        -------
        ndarray
            How large Phidd (m,) may be, by rounding alone, in the rows of Phi_q that were set to zero.
        """
        typical = self.equations.system.typical
        pace = np.sum(np.abs(rates) / typical) ** 2 + np.sum(np.abs(accelerations) / typical)
        return np.asarray(self.quiet * pace)

    def evaluate(self, q: Array, t: float) -> None:
        """Evaluate mass and closures, unless the last evaluation was at this q with these inputs.

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        t : float
            Time [s].
        """
        q = checked_vector("q", q, self.n)
        self.equations.at(t)
        if key_of(q, self.u) == self.evaluated:
            return
        self.evaluated, still = b"", np.zeros(self.n)
        self.equations.evaluate(q, still, still, self.R0)
        self.silence()
        self.evaluated = key_of(q, self.u)

    def silence(self) -> None:
        """Set the rows of Phi_z to zero of which all entries are rounding; scaling would make them count."""
        entries, inner = self.equations.ws.Phi_z, slice(self.loops.inner)
        rows, columns = self.loops.rows[inner], self.loops.columns[inner]
        loud, self.quiet = np.ones(self.equations.m, np.bool_), np.zeros(self.equations.m)
        loud[rows] = False
        loud[rows[np.abs(entries) > self.scale]] = True
        if not loud.all():
            noise = noise_of(self.equations, self.loops)[inner]
            loud[rows[np.abs(entries) > noise]] = True
            entries[~loud[rows]] = 0.0
            np.maximum.at(self.quiet, rows, noise * self.equations.system.typical[columns])
            self.quiet[loud] = 0.0


def key_of(q: Array, u: Array) -> bytes:
    """Return the key of an evaluation: coordinates and inputs."""
    return np.concatenate((q, u)).tobytes()


def rotations(R0: Array, shape: tuple[int, ...]) -> Array:
    """Return the user's reference rotations as a copy. Raises InputError for shapes, numbers, and other matrices."""
    found = np.array(R0, np.float64)
    if found.shape != shape:
        raise InputError(f"R0 is an array {shape} of rotations, not {found.shape}")
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(~are_rotations(found))
    if len(wrong):
        raise InputError(f"R0[{wrong[0]}] is no rotation: R^T R = 1 and a determinant of 1 are wanted")
    return found


LARGEST_TURN = 0.9 * 2.0 * np.pi  # [rad]: T is singular at 2 pi, and its least singular value is 0.11 here


class RotationVectors:
    """Triples of coordinates delta about reference rotations, R = R0 exp(delta~), among n coordinates.

    ``first`` are the numbers of the first coordinate of each triple, ``names`` (n,) the names for errors.
    """

    def __init__(self, first: NDArray[np.int64], names: list[str]) -> None:
        self.first, self.names = first, names

    def turning(self, q: Array) -> Array:
        """Return T (n, n) with zd = T dq/dt; the identity but for rotation vectors.

        Raises InputError naming the joint whose rotation vector is so long that T is nearly singular.
        """
        T = np.eye(len(q))
        for i in self.first:
            angle = float(np.linalg.norm(q[i : i + 3]))
            if angle > LARGEST_TURN:
                raise OutOfRange(
                    f"the rotation vector of {self.names[i]} is {angle:.3g} rad long, and 2 pi is singular; at most "
                    f"{LARGEST_TURN:.3g} rad are taken, so go on from recentred(q, v) of JointCoordinates"
                )
            T[i : i + 3, i : i + 3] = right_jacobian(q[i : i + 3])
        return T

    def rate_terms(self, q: Array, v: Array) -> Array:
        """Return (dT/dt) v (n,), which the rates of q add to d(zd)/dt = T dv/dt + (dT/dt) v."""
        out = np.zeros(len(q))
        for i in self.first:
            out[i : i + 3] = body_rates(q[i : i + 3], v[i : i + 3], np.zeros(3))[1]
        return out
