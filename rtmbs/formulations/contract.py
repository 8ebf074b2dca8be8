"""Contracts of formulations: systems with constraints, formulations, errors, and terms of the equations at a state.

Terms are dense or sparse, evaluated once and checked, with the rate of Phi_q. Nonholonomic constraints are rows of
rates beside those of positions, as one set of rows for all formulations.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, issparse, vstack

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


PARTS = "rate_rows", "rate_constraints", "rate_constraint_jacobian", "rate_constraint_terms"
STEP = 1e-7  # of a difference of A, in terms of the coordinate, or 1


class StackedRows(SystemWrapper):
    """A system whose rate constraints follow its rows of Phi.

    Rows are Phid: Phi_q v + Phi_t above, Psi = A v + b below. ``constraints`` has zeros for the rows of Psi, which bind
    no position; ``holonomic`` counts the rows above.
    """

    def __init__(self, system: Any) -> None:
        self.system, self.holonomic, self.rate_rows = system, int(system.m), rate_row_count(system)
        above, below = getattr(system, "row_names", None), getattr(system, "rate_row_names", None)
        self.row_names = None
        if above is not None or below is not None:
            first = list(above) if above is not None else [f"Phi {i}" for i in range(self.holonomic)]
            last = list(below) if below is not None else [f"rate {i}" for i in range(self.rate_rows)]
            self.row_names = [*first, *last]

    @property
    def m(self) -> int:
        return self.holonomic + self.rate_rows

    def constraints(self, q: Array, t: float) -> Array:
        return np.append(self.system.constraints(q, t), np.zeros(self.rate_rows))

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        return np.vstack((self.system.constraint_jacobian(q, t), self.rate_jacobian(q, t)))

    def sparse_constraint_jacobian(self, q: Array, t: float) -> csc_array:
        """Return Phi_q and A (m, n), sparse."""
        above = self.system.sparse_constraint_jacobian(q, t)  # type: ignore[attr-defined]
        return csc_array(vstack((above, csc_array(self.rate_jacobian(q, t)))))

    def linearisation(self, q: Array, v: Array, a: Array, lam: Array, t: float) -> tuple[Array, Array] | None:
        """Return K and C of the system, with the terms of A^T lam by differences of A; None where it has none."""
        inner = getattr(self.system, "linearisation", None)
        found = inner(q, v, a, lam[: self.holonomic], t) if inner is not None else None
        if found is None:
            return None
        K, C = found
        push, middle = lam[self.holonomic :], self.rate_jacobian(q, t)
        K = K.copy()
        for i in range(self.n):
            moved = q.copy()
            moved[i] += STEP * max(1.0, abs(q[i]))
            K[:, i] += (self.rate_jacobian(moved, t) - middle).T @ push / (moved[i] - q[i])
        return K, C

    def rate_jacobian(self, q: Array, t: float) -> Array:
        """Return A (k, n), checked."""
        found = self.system.rate_constraint_jacobian(q, t)  # type: ignore[attr-defined]
        return checked_answer("rate_constraint_jacobian(q, t)", found, (self.rate_rows, self.n))

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return Phi_t and b, and gamma of both."""
        shape, system = (self.rate_rows,), self.system
        Phi_t, gamma = system.constraint_rate_terms(q, v, t)
        b = system.rate_constraints(q, np.zeros(self.n), t)  # type: ignore[attr-defined]
        more = system.rate_constraint_terms(q, v, t)  # type: ignore[attr-defined]
        b, more = (
            checked_answer("rate_constraints(q, v, t)", b, shape),
            checked_answer("rate_constraint_terms(q, v, t)", more, shape),
        )
        return np.append(Phi_t, b), np.append(gamma, more)


def rate_row_count(system: Any) -> int:
    """Return how many rate constraints a system has."""
    if not all(hasattr(system, name) for name in PARTS):
        return 0
    count = system.rate_rows
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 0:
        raise InputError(f"rate_rows is {count!r}; a whole number of rate constraints is wanted")
    return int(count)


def with_rate_rows(system: Any) -> Any:
    """Return a system with its rate constraints among its rows; the system itself where there is nothing to add."""
    if hasattr(system, "holonomic") or not rate_row_count(system):
        return system
    return StackedRows(system)


def holonomic_rows(system: ConstrainedSystem) -> int:
    """Return how many rows of Phi bind positions; rate constraints follow them."""
    return int(getattr(system, "holonomic", system.m))


UNSYMMETRIC = 1e-8  # of the largest entry of M
WEIGHTLESS = 1e-20  # of the largest diagonal entry of M: rounding squared, as of an Euler parameter along itself


@runtime_checkable
class SparseForms(Protocol):
    """Sparse matrices of a ConstrainedSystem, optional beside the dense ones: SciPy sparse arrays."""

    def sparse_mass(self, q: Array, t: float) -> csc_array:
        """Return M (n, n).

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        t : float
            Time [s].

        Returns
        -------
        csc_array
            M (n, n).
        """

    def sparse_constraint_jacobian(self, q: Array, t: float) -> csc_array:
        """Return Phi_q (m, n).

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        t : float
            Time [s].

        Returns
        -------
        csc_array
            Phi_q (m, n).
        """


def mass_of(system: ConstrainedSystem, q: Array, t: float, sparse: bool = True) -> Any:
    """Return M (n, n), checked: sparse where the system has sparse forms and they are wanted."""
    shape = system.n, system.n
    if sparse and isinstance(system, SparseForms):
        return sparse_answer("sparse_mass(q, t)", system.sparse_mass(q, t), shape)
    return checked_answer("mass(q, t)", system.mass(q, t), shape)


def jacobian_of(system: ConstrainedSystem, q: Array, t: float, sparse: bool = True) -> Any:
    """Return Phi_q (m, n), checked: sparse where the system has sparse forms and they are wanted."""
    shape = system.m, system.n
    if sparse and isinstance(system, SparseForms):
        return sparse_answer("sparse_constraint_jacobian(q, t)", system.sparse_constraint_jacobian(q, t), shape)
    return checked_answer("constraint_jacobian(q, t)", system.constraint_jacobian(q, t), shape)


def sparse_answer(call: str, A: Any, shape: tuple[int, int]) -> csc_array:
    """Return a sparse array from a system, checked for shape and finite numbers. Raises InputError, OutOfRange."""
    if not issparse(A):
        raise InputError(f"{call} returned {shown(A)}; a sparse array of SciPy is wanted")
    if A.shape != shape:
        raise InputError(f"{call} returned an array {A.shape}; {shape} is wanted")
    found = csc_array(A, dtype=np.float64)
    if not np.all(np.isfinite(found.data)):
        k = int(np.argmin(np.isfinite(found.data)))
        place = int(found.indices[k]), int(np.searchsorted(found.indptr, k, side="right")) - 1
        raise OutOfRange(f"{call} returned {found.data[k]} at {place}; finite numbers are wanted")
    return found


class Terms(NamedTuple):
    """M a + Phi_q^T lam = F with Phi_q a = gamma at one state."""

    system: ConstrainedSystem
    v: Array  # (n,)
    M: Any  # (n, n), an array or a sparse one
    F: Array  # (n,)
    Phi_q: Any  # (m, n), likewise
    Phi_t: Array  # (m,)
    gamma: Array  # (m,)


def terms_at(system: ConstrainedSystem, q: Array, v: Array, t: float, sparse: bool = False) -> Terms:
    """Return the terms at a state, M and Phi_q sparse where the system has these forms and they are wanted.

    Raises InputError naming what has a wrong shape or is not finite.
    """
    system = with_rate_rows(system)
    q, v, t = checked_vector("q", q, system.n), checked_vector("v", v, system.n), checked_time(t)
    F = checked_answer("force(q, v, t)", system.force(q, v, t), (system.n,))  # first: a system may keep what M needs
    M = mass_of(system, q, t, sparse)
    demand_symmetric(M)
    Phi_q = jacobian_of(system, q, t, sparse)
    Phi_t, gamma = rate_terms(system, q, v, t)
    return Terms(system, v, M, F, Phi_q, Phi_t, gamma)


def demand_symmetric(M: Any) -> None:
    """Raise InputError naming an entry of M (n, n) that its opposite does not equal."""
    if isinstance(M, np.ndarray) and (M == M.T).all():
        return
    left = abs(M - M.T)
    if M.shape[0] and left.max() > UNSYMMETRIC * abs(M).max():
        i, j = (int(k) for k in np.unravel_index(left.argmax(), M.shape))
        raise InputError(
            f"mass(q, t) is not symmetric: entry ({i}, {j}) is {M[i, j]:g}, and entry ({j}, {i}) is {M[j, i]:g}"
        )


def rate_terms(system: ConstrainedSystem, q: Array, v: Array, t: float) -> tuple[Array, Array]:
    """Return Phi_t and gamma (m,), checked."""
    found = system.constraint_rate_terms(q, v, t)
    if not isinstance(found, tuple) or len(found) != 2:
        raise InputError(f"constraint_rate_terms(q, v, t) returned {shown(found)}; Phi_t and gamma are wanted")
    names = "Phi_t of constraint_rate_terms(q, v, t)", "gamma of constraint_rate_terms(q, v, t)"
    Phi_t, gamma = (checked_answer(name, part, (system.m,)) for name, part in zip(names, found, strict=True))
    return Phi_t, gamma


def inertias(terms: Terms) -> tuple[Array, NDArray[np.bool_]]:
    """Return the diagonal of M (n,), and where it is more than rounding."""
    diagonal = np.array(terms.M.diagonal())
    return diagonal, diagonal > WEIGHTLESS * diagonal.max(initial=0.0)


def coordinate_name(system: ConstrainedSystem, i: int) -> str:
    """Return the name of a coordinate, or its number."""
    names = getattr(system, "coordinate_names", None)
    return f"coordinate {i} ({names[i]})" if names is not None else f"coordinate {i}"


def row_names(system: ConstrainedSystem, rows: NDArray[np.int64], most: int = 6) -> str:
    """Return the names of rows of Phi for a sentence."""
    names = getattr(system, "row_names", None)
    listed = ", ".join(f"{i} ({names[i]})" if names is not None else f"{i}" for i in sorted(rows.tolist())[:most])
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return f"{'row' if len(rows) == 1 else 'rows'} {listed}{more}"


@dataclass(frozen=True)
class Positive:
    """An option that is a finite number above zero, and the sentence for one that is not."""

    name: str
    unit: str = ""

    def check(self, value: float) -> None:
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not 0.0 < float(value) < np.inf:
            unit = f" {self.unit}" if self.unit else ""
            raise InputError(f"{self.name} is {shown(value)}; a finite number above 0{unit} is wanted")


def jacobian_rate(system: ConstrainedSystem, q: Array, v: Array, t: float) -> Array:
    """Return d(Phi_q)/dt (m, n) at a state, without a difference quotient.

    -gamma = B(v, v) + 2 c v + d with B symmetric, and d(Phi_q)/dt w = B(v, w) + c w. So
    d(Phi_q)/dt w = (gamma(v - w) - gamma(v + w)) / 4 for every w, exactly.
    """
    size = max(1.0, float(np.abs(v).max(initial=0.0)))
    columns = []
    for i in range(system.n):
        w = np.zeros(system.n)
        w[i] = size
        less, more = (system.constraint_rate_terms(q, v + sign * w, t)[1] for sign in (-1.0, 1.0))
        columns.append((less - more) / (4.0 * size))
    return np.array(columns).T.reshape(system.m, system.n)
