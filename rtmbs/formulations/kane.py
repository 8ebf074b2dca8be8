"""Systems in generalised speeds, q' = W(q, t) u + w(q, t): Kane's first-order form (METHODS 2.24)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.ad import recorder
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.function_sources import takes_namespace
from rtmbs.ad.trace import record
from rtmbs.errors import InputError, shown
from rtmbs.formulations.contract import checked_answer
from rtmbs.formulations.function_system import FunctionSystem
from rtmbs.formulations.reduction import RANK_TOLERANCE, Partition, pivoted, ratio_of

Array = NDArray[np.float64]

LARGEST = 10.0  # entry of a row of A, in terms of its coordinate: beyond, other coordinates are chosen


class KaneSystem(FunctionSystem):
    """A ConstrainedSystem from equations in generalised speeds u (k,): M u' + (Phi_q W)^T lam = F, q' = W u + w.

    Speeds are linear in q': body rates of a rotation with Euler parameters, or the forward speed of a wheel. Methods of
    time and formulations see the coordinates q and their rates v = q'. ``state_rate`` and ``invariants`` are Kane's
    first-order form x' = g(x), T(x) = 0 for x = (q, u), for solvers without constraints. Source: METHODS 2.24.

    Parameters
    ----------
    n : int
        Number of coordinates.
    k : int
        Number of generalised speeds, at most n.
    m : int
        Number of constraints.
    rates : Callable[..., object]
        Function ``rates(q, u, t)`` in plain NumPy that returns q' (n,), linear in u.
    mass : Callable[[ndarray, float], ndarray]
        Function ``mass(q, t)`` that returns the mass matrix of the speeds (k, k).
    force : Callable[[ndarray, ndarray, float], ndarray]
        Function ``force(q, u, t)`` that returns the generalised forces (k,), terms of rates included.
    constraints : Callable[..., object]
        Function ``constraints(q, t)`` in plain NumPy that returns the constraints (m,), norms of Euler parameters
        included.
    nonholonomic : bool, default False
        True where fewer speeds than freedoms hold the rates, as of a wheel that rolls. The n - k conditions on q' are
        then rate constraints. False where the constraints alone hold what W leaves out, as norms do.
    coordinate_names : Sequence[str], optional
        Names of the coordinates for error messages.
    row_names : Sequence[str], optional
        Names of the constraints for error messages.

    Raises
    ------
    InputError
        For sizes, and the errors of ``rtmbs.ad`` for a function that no tape can hold.

    Examples
    --------
    >>> import numpy as np
    >>> def rates(q, u, t):  # of a knife edge: forward speed and turning
    ...     return [u[0] * np.cos(q[2]), u[0] * np.sin(q[2]), u[1]]
    >>> mass, force = (lambda q, t: np.diag([2.0, 0.1])), (lambda q, u, t: np.zeros(2))
    >>> sleigh = KaneSystem(3, 2, 0, rates, mass, force, lambda q, t: [], nonholonomic=True)
    >>> sleigh.coordinate_rates(np.zeros(3), np.array([0.5, 1.0]), 0.0)
    array([0.5, 0. , 1. ])
    """

    def __init__(
        self,
        n: int,
        k: int,
        m: int,
        rates: Callable[..., Any],
        mass: Callable[[Array, float], Array],
        force: Callable[[Array, Array, float], Array],
        constraints: Callable[..., Any],
        *,
        nonholonomic: bool = False,
        coordinate_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 0 < k <= n:
            raise InputError(f"k of a KaneSystem is {shown(k)}; a whole number of speeds from 1 to n is wanted")
        for what, function in (("rates", rates), ("mass", mass), ("force", force)):
            if not callable(function):
                raise InputError(f"{what} of a KaneSystem is a {type(function).__name__}; a function is wanted")
        super().__init__(
            n, m, self._mass_of_rates, self._force_of_rates, constraints,
            coordinate_names=coordinate_names, row_names=row_names,
        )  # fmt: skip
        self.k, self.speed_mass, self.speed_force = int(k), mass, force
        self.rate_rows = self.n - self.k if nonholonomic else 0
        self._chosen = Partition()  # coordinates that give the speeds; kept, so that rows do not jump within a step
        self._rates = recorded(rates, self.n, self.k)

    def linearisation(self, q: Array, v: Array, a: Array, lam: Array, t: float) -> None:
        """Return None: Newton's methods take differences of equations in speeds."""

    def coordinate_rates(self, q: Array, u: Array, t: float) -> Array:
        """Return q' (n,) of speeds u (k,).

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        u : ndarray
            Generalised speeds (k,).
        t : float
            Time [s].

        Returns
        -------
        ndarray
            Rates of the coordinates (n,).
        """
        return self._rates.value(np.concatenate((q, u, [t])))

    def speeds(self, q: Array, v: Array, t: float) -> Array:
        """Return u (k,) of rates v (n,), by least squares where W u + w does not reach v.

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
            Generalised speeds (k,).
        """
        W, w = self._kinematics(q, t)
        return np.asarray(np.linalg.pinv(W) @ (v - w))

    def state_rate(self, t: float, x: Array) -> Array:
        """Return g(x) = (q', u') of x = (q, u) (n + k,).

        Parameters
        ----------
        t : float
            Time [s].
        x : ndarray
            Coordinates and speeds (n + k,).

        Returns
        -------
        ndarray
            Their rates (n + k,).
        """
        q, u = x[: self.n], x[self.n :]
        v, (W, _), turning = self.coordinate_rates(q, u, t), self._kinematics(q, t), self._turning(q, u, t)
        P = self.constraint_jacobian(q, t)
        rows, right = P @ W, self.constraint_rate_terms(q, v, t)[1] - P @ turning
        saddle = np.block([[self._speed_mass(q, t), rows.T], [rows, np.zeros((self.m, self.m))]])
        found = scipy.linalg.lstsq(saddle, np.concatenate((self._speed_force(q, u, t), right)), cond=1e-12)[0]
        return np.concatenate((v, found[: self.k]))

    def invariants(self, t: float, x: Array) -> Array:
        """Return T(x) = (Phi, Phid) (2m,) of x = (q, u).

        Parameters
        ----------
        t : float
            Time [s].
        x : ndarray
            Coordinates and speeds (n + k,).

        Returns
        -------
        ndarray
            Constraints and their rates (2m,).
        """
        q, v = x[: self.n], self.coordinate_rates(x[: self.n], x[self.n :], t)
        Phid = self.constraint_jacobian(q, t) @ v + self.constraint_rate_terms(q, v, t)[0]
        return np.concatenate((self.constraints(q, t), Phid))

    def rate_constraints(self, q: Array, v: Array, t: float) -> Array:
        """Return Psi (n - k,): rows of v - W u - w that no speed moves; none of a holonomic system."""
        return self.rate_constraint_jacobian(q, t) @ (v - self._kinematics(q, t)[1])

    def rate_constraint_jacobian(self, q: Array, t: float) -> Array:
        """Return A (n - k, n) with A W = 0."""
        if not self.rate_rows:
            return np.zeros((0, self.n))
        W, _ = self._kinematics(q, t)
        ratio = ratio_of(W.T, self._chosen) if len(self._chosen.dependent) else np.full((1, 1), np.inf)
        if np.abs(ratio).max() > LARGEST:
            own = pivoted(W.T, RANK_TOLERANCE)[0]
            if len(own) < self.k:
                raise InputError(f"speeds of rates(q, u, t) are dependent at t = {t:g}; independent ones are wanted")
            self._chosen = Partition(own, np.setdiff1d(np.arange(self.n), own))
            ratio = ratio_of(W.T, self._chosen)
        A = np.zeros((self.rate_rows, self.n))
        A[:, self._chosen.independent], A[:, self._chosen.dependent] = np.eye(self.rate_rows), -ratio.T
        return A

    def rate_constraint_terms(self, q: Array, v: Array, t: float) -> Array:
        """Return gamma (n - k,): A a = gamma for a = W u' + (W u + w)' at fixed u."""
        return self.rate_constraint_jacobian(q, t) @ self._turning(q, self.speeds(q, v, t), t)

    def _kinematics(self, q: Array, t: float) -> tuple[Array, Array]:
        """Return W (n, k) and w (n,)."""
        x = np.concatenate((q, np.zeros(self.k), [t]))
        return self._rates.jacobian(x)[:, self.n : self.n + self.k], self._rates.value(x)

    def _turning(self, q: Array, u: Array, t: float) -> Array:
        """Return q'' (n,) at u' = 0."""
        found, n = self._rates.jacobian(np.concatenate((q, u, [t]))), self.n
        return np.asarray(found[:, :n] @ self.coordinate_rates(q, u, t) + found[:, -1])

    def _speed_mass(self, q: Array, t: float) -> Array:
        return checked_answer("mass(q, t)", self.speed_mass(q, t), (self.k, self.k))

    def _speed_force(self, q: Array, u: Array, t: float) -> Array:
        return checked_answer("force(q, u, t)", self.speed_force(q, u, t), (self.k,))

    def _mass_of_rates(self, q: Array, t: float) -> Array:
        """Return L^T M L (n, n), L (k, n) the left inverse of W."""
        L = np.linalg.pinv(self._kinematics(q, t)[0])
        found = L.T @ self._speed_mass(q, t) @ L
        return 0.5 * (found + found.T)

    def _force_of_rates(self, q: Array, v: Array, t: float) -> Array:
        """Return L^T (F + M L q'') (n,), q'' at u' = 0."""
        W, w = self._kinematics(q, t)
        L = np.linalg.pinv(W)
        u = L @ (v - w)
        return np.asarray(L.T @ (self._speed_force(q, u, t) + self._speed_mass(q, t) @ (L @ self._turning(q, u, t))))


def recorded(rates: Callable[..., Any], n: int, k: int) -> Evaluator:
    """Return q' of x = (q, u, t) as recorded. Raises InputError for an answer that is none."""
    options = {"xp": recorder} if takes_namespace(rates) else {}

    def function(x: Any) -> Any:
        found = rates(x[:n], x[n : n + k], x[n + k], **options)
        if np.shape(found) != (n,):
            raise InputError(f"rates(q, u, t) returned an array {np.shape(found)}; ({n},) is wanted")
        return found

    return Evaluator(record(function, n + k + 1, n))
