"""Contracts of formulations: systems with constraints, formulations, errors, and checks of numbers."""

from math import isfinite
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, RtmbsError, shown

Array = NDArray[np.float64]

NO_STATES: Array = np.zeros(0)


class FormulationError(RtmbsError):
    """Error of a state without accelerations: dependent or contradicting rows, or a coordinate without inertia.

    Parameters
    ----------
    *arguments : object
        Text of the error.
    """


class OutOfRange(InputError):
    """Error of a number in the equations, or from them, that is not finite or out of range."""


@runtime_checkable
class ConstrainedSystem(Protocol):
    """M(q, t) a + Phi_q^T lam = F(q, v, t) with Phi(q, t) = 0, where v = dq/dt and a = dv/dt.

    Units are those of the system, SI as a rule. A system may also have ``coordinate_names`` and ``row_names``, lists
    that errors take their names from. No function changes its arguments.
    """

    @property
    def n(self) -> int:
        """Number of coordinates."""

    @property
    def m(self) -> int:
        """Number of rows of Phi, dependent ones counted."""

    def mass(self, q: Array, t: float) -> Array:
        """Return M (n, n), symmetric, positive on the null space of Phi_q.

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        t : float
            Time [s].

        Returns
        -------
        ndarray
            M (n, n), symmetric, positive on the null space of Phi_q.
        """

    def force(self, q: Array, v: Array, t: float) -> Array:
        """Return F (n,): applied forces and the terms of M a that come with v.

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
            F (n,): applied forces and the terms of M a that come with v.
        """

    def constraints(self, q: Array, t: float) -> Array:
        """Return Phi (m,).

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        t : float
            Time [s].

        Returns
        -------
        ndarray
            Phi (m,).
        """

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        """Return Phi_q (m, n).

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        t : float
            Time [s].

        Returns
        -------
        ndarray
            Phi_q (m, n).
        """

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return Phi_t and gamma, (m,) each: Phid = Phi_q v + Phi_t and Phidd = Phi_q a - gamma (METHODS 2).

        Written out, gamma = -(Phi_q v)_q v - 2 Phi_qt v - Phi_tt.

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
            Phi_t and gamma, (m,) each.
        """


@runtime_checkable
class SystemWithStates(ConstrainedSystem, Protocol):
    """A system whose forces have first-order states, sd = g(q, v, s, t), beside its coordinates.

    ``s`` (ns,) are the states that ``force`` takes, in place. A formulation leaves them as they are; a method of time
    writes its own into them, from those that it finds at its start.
    """

    @property
    def s(self) -> Array:
        """States (ns,)."""

    def state_rates(self, q: Array, v: Array, t: float) -> Array:
        """Return sd (ns,) at the states ``s``.

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
            Rates of the states (ns,).
        """


@runtime_checkable
class SystemWithRateConstraints(ConstrainedSystem, Protocol):
    """A system with nonholonomic constraints: Psi(q, v, t) = A(q, t) v + b(q, t) = 0 beside Phi = 0.

    Wheels that roll, knife edges and skates have such rows. Their multipliers follow those of Phi, and their force is
    A^T lam. ``rate_row_names`` (k) name the rows for errors. The rows are linear in v.
    """

    @property
    def rate_rows(self) -> int:
        """Number k of rate constraints, dependent ones counted."""

    def rate_constraints(self, q: Array, v: Array, t: float) -> Array:
        """Return Psi (k,).

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
            Psi (k,).
        """

    def rate_constraint_jacobian(self, q: Array, t: float) -> Array:
        """Return A (k, n), the derivative of Psi by v.

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        t : float
            Time [s].

        Returns
        -------
        ndarray
            A (k, n).
        """

    def rate_constraint_terms(self, q: Array, v: Array, t: float) -> Array:
        """Return gamma (k,) with dPsi/dt = A a - gamma.

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
            gamma (k,) = -Psi_q v - Psi_t.
        """


def states_of(system: ConstrainedSystem) -> Array:
    """Return the states (ns,) of a system, to be written into; none of a system without."""
    return getattr(system, "s", NO_STATES) if hasattr(system, "state_rates") else NO_STATES


class Formulation(Protocol):
    """Formulation of the accelerations at a state: a frozen dataclass of options."""

    @property
    def redundant(self) -> bool:
        """True when dependent rows that agree with each other are accepted."""

    def memory(self) -> Any:
        """Return the memory that the caller keeps from state to state of a motion; None where there is none."""

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array | None]:
        """Return accelerations a (n,) and multipliers lam (m,); lam is None for a formulation without multipliers.

        ``memory`` is changed in place. Without it each state is answered by itself.

        Parameters
        ----------
        system : ConstrainedSystem
            System of equations.
        q : ndarray
            Coordinates (n,).
        v : ndarray
            Rates of the coordinates (n,).
        t : float
            Time [s].
        memory : object, optional
            Memory between calls, changed in place; without it each state is solved by itself.

        Returns
        -------
        tuple[ndarray, ndarray | None]
            (n,) and lam (m,), or None for lam where it was not asked for.

        Raises
        ------
        InputError
            For shapes and numbers.
        FormulationError
            Where there is no answer.
        """


def all_finite(x: Array) -> bool:
    """Return whether all numbers are finite: their sum is, or else one by one where it overflows."""
    return isfinite(np.add.reduce(x, axis=None)) or bool(np.isfinite(x).all())


def checked_vector(name: str, x: Array, n: int) -> Array:
    """Return an array (n,) of the user as finite floats. Raises InputError, OutOfRange."""
    try:
        x = np.array(x, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is an array ({n},) of numbers, not {shown(x)}") from None
    if x.shape != (n,):
        raise InputError(f"{name} is an array ({n},), not {x.shape}")
    if not all_finite(x):
        i = int(np.argmin(np.isfinite(x)))
        raise OutOfRange(f"{name}[{i}] is {x[i]}; a finite number is wanted")
    return x


def checked_time(t: float) -> float:
    """Return the time as a finite number [s]. Raises InputError, OutOfRange."""
    try:
        number = float(t)
    except (TypeError, ValueError):
        raise InputError(f"t is a number of seconds, not {shown(t)}") from None
    if not np.isfinite(number):
        raise OutOfRange(f"t is {number}; a finite number of seconds is wanted")
    return number


def checked_answer(call: str, x: Array, shape: tuple[int, ...]) -> Array:
    """Return an array from a system as finite floats of the shape of the contract. Raises InputError, OutOfRange."""
    try:
        x = np.asarray(x, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{call} returned {shown(x)}; an array {shape} of numbers is wanted") from None
    if x.shape != shape:
        raise InputError(f"{call} returned an array {x.shape}; {shape} is wanted")
    if not all_finite(x):
        i = tuple(int(k) for k in np.unravel_index(int(np.argmin(np.isfinite(x))), shape))
        raise OutOfRange(f"{call} returned {x[i]} at {i}; finite numbers are wanted")
    return x


class SystemWrapper:
    """Wrapper of ``system`` that passes all of it through: sizes, functions, names and sparse forms."""

    system: ConstrainedSystem
    same_answers: ClassVar[bool] = False  # True: all values are those of ``system``

    def __getattr__(self, name: str) -> Any:
        if name == "system":  # not set yet
            raise AttributeError(name)
        return getattr(self.system, name)

    @property
    def n(self) -> int:
        return self.system.n

    @property
    def m(self) -> int:
        return self.system.m

    def mass(self, q: Array, t: float) -> Array:
        return self.system.mass(q, t)

    def force(self, q: Array, v: Array, t: float) -> Array:
        return self.system.force(q, v, t)

    def constraints(self, q: Array, t: float) -> Array:
        return self.system.constraints(q, t)

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        return self.system.constraint_jacobian(q, t)

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        return self.system.constraint_rate_terms(q, v, t)
