"""Systems of functions given by the user, and the check of their derivatives.

Systems of functions given by the user, their derivatives recorded by ``rtmbs.ad``, and three small examples.

Check of a system's derivatives by differences: Phi_q, Phi_t and gamma, and those of rate constraints.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import recorder, tangent_tape
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.function_sources import takes_namespace
from rtmbs.ad.trace import record
from rtmbs.errors import DerivativeError, InputError, RtmbsError, shown
from rtmbs.formulations.consistent import rate_sizes, sizes_of
from rtmbs.formulations.contract import (
    ConstrainedSystem,
    FormulationError,
    Terms,
    checked_time,
    checked_vector,
    holonomic_rows,
    row_names,
    terms_at,
    with_rate_rows,
)

Array = NDArray[np.float64]
GRAVITY = 9.81  # [m/s^2] along -y
CRANK, ROD = 0.2, 0.6  # [m]
RATES = 1.0, -1e3  # sizes of rates at which Psi is tried
BENT, ROUNDED = 1e-8, 1e-14  # of a derivative by v, and of the largest of its row: what of its change is rounding


class FunctionSystem:
    """A ConstrainedSystem from functions ``mass(q, t)``, ``force(q, v, t)`` and ``constraints(q, t)``.

    ``mass`` returns (n, n), ``force`` (n,), ``constraints`` (m,), in the units of the user. ``constraints`` is written
    in NumPy and is recorded once; it may take an argument ``xp``, the namespace of the recorder. ``mass`` and ``force``
    are recorded too where that is possible, so that Newton's methods have exact derivatives. Source: METHODS 2.

    Parameters
    ----------
    n : int
        Number of coordinates.
    m : int
        Number of constraints.
    mass : Callable[[ndarray, float], ndarray]
        Function ``mass(q, t)`` that returns the mass matrix (n, n).
    force : Callable[[ndarray, ndarray, float], ndarray]
        Function ``force(q, v, t)`` that returns the forces (n,).
    constraints : Callable[..., object]
        Function ``constraints(q, t)`` in plain NumPy that returns the constraints (m,).
    rate_constraints : Callable[..., object], optional
        Function ``rate_constraints(q, v, t)`` in plain NumPy that returns the nonholonomic constraints (rate_rows,),
        linear in v.
    rate_rows : int, default 0
        Number of nonholonomic constraints.
    coordinate_names : Sequence[str], optional
        Names of the coordinates for error messages.
    row_names : Sequence[str], optional
        Names of the constraints for error messages.
    rate_row_names : Sequence[str], optional
        Names of the nonholonomic constraints for error messages.

    Raises
    ------
    InputError
        For sizes, and the errors of ``rtmbs.ad`` for a function that no tape can hold.
    FormulationError
        At the first evaluation, for ``rate_constraints`` that are not linear in v.

    Examples
    --------
    >>> import numpy as np
    >>> mass, force = (lambda q, t: np.eye(2)), (lambda q, v, t: np.array([0.0, -9.81]))
    >>> pendulum = FunctionSystem(2, 1, mass, force, lambda q, t: [q[0] ** 2 + q[1] ** 2 - 1])
    """

    def __init__(
        self,
        n: int,
        m: int,
        mass: Callable[[Array, float], Array],
        force: Callable[[Array, Array, float], Array],
        constraints: Callable[..., Any],
        *,
        rate_constraints: Callable[..., Any] | None = None,
        rate_rows: int = 0,
        coordinate_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
        rate_row_names: Sequence[str] | None = None,
    ) -> None:
        for name, size in (("n", n), ("m", m), ("rate_rows", rate_rows)):
            if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < (name == "n"):
                raise InputError(f"{name} of a FunctionSystem is {shown(size)}; a whole number is wanted")
        listed = (
            ("coordinate_names", coordinate_names, n),
            ("row_names", row_names, m),
            ("rate_row_names", rate_row_names, rate_rows),
        )
        for what, names, size in listed:
            if names is not None and len(names) != size:
                raise InputError(f"{what} of a FunctionSystem has {len(names)} names; {size} are wanted")
        for what, function in (("mass", mass), ("force", force), ("constraints", constraints)):
            if not callable(function):
                raise InputError(f"{what} of a FunctionSystem is a {type(function).__name__}; a function is wanted")
        self.n, self.m = int(n), int(m)
        self.mass, self.force = mass, force
        self.coordinate_names = None if coordinate_names is None else list(coordinate_names)
        self.row_names = None if row_names is None else list(row_names)
        self.rate_rows = int(rate_rows)
        self.rate_row_names = None if rate_row_names is None else list(rate_row_names)
        self._psi = None
        self._linear = False  # in v, as far as tried
        if rate_constraints is not None or self.rate_rows:
            self._psi = recorded_rates(rate_constraints, self.n, self.rate_rows)
        self._dynamics: tuple[Evaluator, Evaluator] | None = None  # M a - F, and Phi_q w, as recorded
        self._recorded: tuple[Any, Any] | None = None  # the functions that were recorded, or refused
        self._last: tuple[bytes, Array] = b"", np.zeros((0, 0))  # state and derivative of Phi
        if self.m:
            self._record(constraints)

    def linearisation(self, q: Array, v: Array, a: Array, lam: Array, t: float) -> tuple[Array, Array] | None:
        """Return the exact derivatives of M a + Phi_q^T lam - F by q and by v.

        ``mass`` and ``force`` are recorded by ``rtmbs.ad`` when this is first asked for.

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        v : ndarray
            Rates of the coordinates (n,).
        a : ndarray
            Accelerations (n,).
        lam : ndarray
            Multipliers (m,).
        t : float
            Time [s].

        Returns
        -------
        tuple[ndarray, ndarray] or None
            K (n, n) and C (n, n); None where the functions are no code that can be recorded.
        """
        if self._recorded != (self.mass, self.force):
            self._recorded, self._dynamics = (self.mass, self.force), self._record_dynamics(q, v, t)
        if self._dynamics is None:
            return None
        motion, along = self._dynamics
        n = self.n
        found = motion.jacobian(np.concatenate((q, v, a, [t])))
        K, C = found[:, :n].copy(), found[:, n : 2 * n]
        if self.m:
            for i, way in enumerate(np.eye(n + 1)[:n]):
                K[i] += lam @ along.jacobian(np.append(q, t), way)[:, :n]
        return K, C

    @property
    def programs(self) -> tuple[tuple[Evaluator, Evaluator] | None, Evaluator | None]:
        """Phi of (q, t) with its second derivative along two directions, and Psi of (q, v, t), as recorded."""
        return (self._phi, self._second) if self.m else None, self._psi

    def _record_dynamics(self, q: Array, v: Array, t: float) -> tuple[Evaluator, Evaluator] | None:
        """Return M a - F and Phi_q w as recorded; None where they cannot be recorded, or are not the same."""
        n = self.n

        def left(x: Any) -> Any:
            M, F = self.mass(x[:n], x[3 * n]), self.force(x[:n], x[n : 2 * n], x[3 * n])
            return [sum(M[i][j] * x[2 * n + j] for j in range(n)) - F[i] for i in range(n)]

        try:
            motion = Evaluator(record(left, 3 * n + 1, n))
        except (DerivativeError, TypeError, ValueError, IndexError, AttributeError):
            return None  # code that only numbers pass through; differences serve Newton as well
        x = np.concatenate((q, v, np.cos(1.0 + np.arange(n)), [t]))
        wanted = np.asarray(self.mass(q, t)) @ x[2 * n : 3 * n] - np.asarray(self.force(q, v, t))
        if not np.allclose(motion.value(x), wanted, rtol=1e-9, atol=1e-9 * float(np.abs(wanted).max(initial=0.0))):
            return None
        return motion, Evaluator(tangent_tape(self._tape)) if self.m else motion

    def _record(self, constraints: Callable[..., Any]) -> None:
        """Record Phi of x = (q, t), and its second derivative along two directions."""
        n, options = self.n, {"xp": recorder} if takes_namespace(constraints) else {}

        def phi(x: Any) -> Any:
            found = constraints(x[:n], x[n], **options)
            size = np.shape(found)[0] if np.ndim(found) else 1
            if np.ndim(found) > 1 or size != self.m:
                raise InputError(f"constraints(q, t) returned an array {np.shape(found)}; ({self.m},) is wanted")
            return found

        tape = record(phi, n + 1, self.m)
        self._tape, self._phi = tape, Evaluator(tape)
        self._second = Evaluator(tangent_tape(tangent_tape(tape)))

    def rate_constraints(self, q: Array, v: Array, t: float) -> Array:
        """Return Psi (rate_rows,)."""
        self._demand_linear(q, t)
        return np.zeros(0) if self._psi is None else self._psi.value(np.concatenate((q, v, [t])))

    def rate_constraint_jacobian(self, q: Array, t: float) -> Array:
        """Return A (rate_rows, n)."""
        n = self.n
        self._demand_linear(q, t)
        if self._psi is None:
            return np.zeros((0, n))
        return self._psi.jacobian(np.concatenate((q, np.zeros(n), [t])))[:, n : 2 * n]

    def rate_constraint_terms(self, q: Array, v: Array, t: float) -> Array:
        """Return gamma (rate_rows,)."""
        self._demand_linear(q, t)
        if self._psi is None:
            return np.zeros(0)
        found = self._psi.jacobian(np.concatenate((q, v, [t])))
        return -np.asarray(found[:, : self.n] @ v + found[:, 2 * self.n])

    def _demand_linear(self, q: Array, t: float) -> None:
        """Raise FormulationError for a row of Psi whose derivative by v changes with v; tried once for a system.

        It is tried at this state and at one beside it, where no factor of v is zero by chance. Numbers that are not
        finite whatever v is tell nothing.
        """
        if self._linear or self._psi is None:
            return
        n, rng = self.n, np.random.default_rng(1)
        beside = np.asarray(q) + (1.0 + np.abs(q)) * rng.uniform(0.1, 0.3, n), t + 0.1 * (1.0 + abs(t))
        for place, time in ((np.asarray(q), t), beside):
            tried = [np.zeros(n), *(size * rng.normal(size=n) for size in RATES)]
            with np.errstate(all="ignore"):
                A = np.stack([self._psi.jacobian(np.concatenate((place, v, [time])))[:, n : 2 * n] for v in tried])
                finite = np.isfinite(A)
                size = np.abs(np.where(finite, A, 0.0)).max(axis=0)
                rounding = np.maximum(BENT * size, ROUNDED * size.max(axis=1, keepdims=True))
                bent = np.where(finite.all(axis=0), np.ptp(A, axis=0) > rounding, finite.any(axis=0))
            if bent.any():
                row, k = (int(one) for one in np.argwhere(bent)[0])
                name = f" ({self.rate_row_names[row]})" if self.rate_row_names else ""
                raise FormulationError(
                    f"row {row}{name} of rate_constraints(q, v, t) is not linear in v: its derivative by v[{k}] changes"
                    " with v; every row must be A(q, t) v + b(q, t), and other conditions are for solve_implicit"
                )
        self._linear = True

    def constraints(self, q: Array, t: float) -> Array:
        """Return Phi (m,)."""
        return self._phi.value(np.append(q, t)) if self.m else np.zeros(0)

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        """Return Phi_q (m, n)."""
        return self._phi_jacobian(q, t)[:, : self.n].copy() if self.m else np.zeros((0, self.n))

    def _phi_jacobian(self, q: Array, t: float) -> Array:
        """Return the derivative (m, n + 1) of Phi by q and t, kept for the last state: several terms ask for it."""
        x = np.empty(self.n + 1)
        x[:-1], x[-1] = q, t
        key = x.tobytes()
        if key != self._last[0]:
            self._last = key, self._phi.jacobian(x)
        return self._last[1]

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return Phi_t and gamma (m,): gamma is less the second derivative of Phi along (v, 1) twice."""
        if not self.m:
            return np.zeros(0), np.zeros(0)
        n, x, directions = self.n, np.empty(self.n + 1), np.ones(2 * self.n + 2)
        x[:n], x[n], directions[:n], directions[n + 1 : -1] = q, t, v, v
        return self._phi_jacobian(q, t)[:, n].copy(), -self._second.value(x, directions)


def recorded_rates(function: Callable[..., Any] | None, n: int, count: int) -> Evaluator:
    """Return Psi of x = (q, v, t) as recorded. Raises InputError for a function or an answer that is none."""
    if not callable(function) or not count:
        raise InputError(
            f"rate_constraints of a FunctionSystem is a {type(function).__name__}, and rate_rows is {count}; "
            "a function and the number of its rows are wanted"
        )
    options = {"xp": recorder} if takes_namespace(function) else {}

    def psi(x: Any) -> Any:
        found = function(x[:n], x[n : 2 * n], x[2 * n], **options)
        if np.shape(found) != (count,):
            raise InputError(f"rate_constraints(q, v, t) returned an array {np.shape(found)}; ({count},) is wanted")
        return found

    return Evaluator(record(psi, 2 * n + 1, count))


def pendulum() -> FunctionSystem:
    """Return the pendulum of 1 m and 1 kg in x, y [m], with Phi = (x^2 + y^2 - 1) / 2 [m^2]."""
    return FunctionSystem(
        2,
        1,
        lambda q, t: np.eye(2),
        lambda q, v, t: np.array([0.0, -GRAVITY]),
        lambda q, t: [0.5 * (q[0] ** 2 + q[1] ** 2 - 1.0)],
        coordinate_names=["x", "y"],
        row_names=["length"],
    )


def rheonomic_double_pendulum() -> FunctionSystem:
    """Return two point masses of 1 and 2 kg in x1, y1, x2, y2 [m] on rods; time moves the pivot and a length.

    The pivot is at 0.3 sin(2 t) along x, and the second rod has 0.8 + 0.1 cos(3 t). A damper of 0.4 N s/m acts between
    the masses.
    """

    def phi(q: Any, t: Any, xp: Any = np) -> Any:
        x1, y1, x2, y2 = q[0], q[1], q[2], q[3]
        pivot, length = 0.3 * xp.sin(2.0 * t), 0.8 + 0.1 * xp.cos(3.0 * t)
        return [(x1 - pivot) ** 2 + y1**2 - 1.0, (x2 - x1) ** 2 + (y2 - y1) ** 2 - length**2]

    def force(q: Array, v: Array, t: float) -> Array:
        damper = 0.4 * (v[2:] - v[:2])
        return np.concatenate((damper, -damper)) - np.array([0.0, GRAVITY, 0.0, 2.0 * GRAVITY])

    return FunctionSystem(
        4,
        2,
        lambda q, t: np.diag([1.0, 1.0, 2.0, 2.0]),
        force,
        phi,
        coordinate_names=["x1", "y1", "x2", "y2"],
        row_names=["first rod", "second rod"],
    )


def slider_crank() -> FunctionSystem:
    """Return a planar slider-crank: crank angle [rad], rod x, y [m] and angle [rad], slider place [m] along x."""

    def phi(q: Any, t: Any, xp: Any = np) -> Any:
        crank, x, y, rod, slider = q[0], q[1], q[2], q[3], q[4]
        half = xp.cos(rod) * (ROD / 2), xp.sin(rod) * (ROD / 2)
        return [
            x - half[0] - CRANK * xp.cos(crank),
            y - half[1] - CRANK * xp.sin(crank),
            x + half[0] - slider,
            y + half[1],
        ]

    inertia = np.diag([0.01, 0.5, 0.5, 0.015, 1.0])
    weight = np.array([0.0, 0.0, -0.5 * GRAVITY, 0.0, 0.0])
    return FunctionSystem(
        5,
        4,
        lambda q, t: inertia,
        lambda q, v, t: weight,
        phi,
        coordinate_names=["crank", "rod x", "rod y", "rod angle", "slider"],
        row_names=["crank pin x", "crank pin y", "slider pin x", "slider pin y"],
    )


FIRST, RATIO, LEVELS = 1e-3, 3.1, 21  # of differences: the largest step in typical sizes, and the others below it
ALLOWED = 1e-4  # of the terms of a row: larger differences are mistakes
HARMLESS = 1e-6  # of what Phi_q and the rates make: an error of Phi_t or gamma that no motion shows
ROUNDING = 1e-12  # of what Phi_q and the coordinates make in a typical time: what Phi_t may round to
OWN = 1e-6  # of the largest coordinate: the least size by which one is moved of its own
AGREE = 0.1  # of a mistake: what differences of three steps in a row may differ by


def check_system(system: ConstrainedSystem, q: Array, v: Array, t: float) -> None:
    """Compare Phi_q, Phi_t and gamma with differences of Phi and Phid at a state.

    Phi is followed along v, along two further directions and along time. Phid is followed along motions without
    acceleration, with v and with other rates on the constraints, for at rest a wrong gamma does not show. Steps of
    differences go from a thousandth of typical sizes down to rounding: a value is right where two steps in a row agree
    with it, and a mistake is reported where three in a row agree on another value. So units of coordinates, rows and
    time do not matter, and kinks beside the state do not alarm. A wrong gamma makes wrong accelerations without a
    violation: Phidd is judged with the same gamma.

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

    Raises
    ------
    InputError
        For shapes and numbers, and for a mass that is not symmetric.
    FormulationError
        Naming the row of Phi_q, Phi_t or gamma that is wrong.

    Examples
    --------
    >>> check_system(system, q, v, 0.0)  # doctest: +SKIP
    """
    rows = with_rate_rows(system)
    q, v, t = checked_vector("q", q, system.n), checked_vector("v", v, system.n), checked_time(t)
    terms = terms_at(rows, q, v, t)
    if not rows.m:
        return
    sizes = sizes_of(q)
    paces = rate_sizes(sizes, v, terms.M, terms.F)
    change = paces * np.cos(2.0 + np.arange(system.n))  # gamma is zero at rest, right or wrong
    check_positions(rows, terms, q, (v, v + change), t)
    # systems in speeds know rates on the constraints alone
    change -= np.linalg.pinv(terms.Phi_q) @ (terms.Phi_q @ change)
    for rates in (v, v + change):
        check_gamma(rows, terms.Phi_q, q, rates, t, span_of(np.maximum(paces, np.abs(rates)), sizes))
    check_rate_rows(system, terms, q, v + 2.0 * paces, t)


def check_positions(rows: ConstrainedSystem, terms: Terms, q: Array, moves: tuple[Array, ...], t: float) -> None:
    """Compare Phi_q with differences of Phi along directions of all coordinates and along moves, Phi_t along time."""
    held, sizes, v = holonomic_rows(rows), sizes_of(q), terms.v
    P = terms.Phi_q[:held]
    reach, given = np.abs(P) @ sizes, np.abs(P)
    signs, own = np.cos(1.0 + np.arange(len(q))), np.maximum(np.abs(q), OWN * np.abs(q).max(initial=0.0))

    def phi_along(way: Array, x: float) -> Array:
        return rows.constraints(q + x * way, t)[:held]

    for way in (sizes * signs, own * signs, *moves):  # no coordinate like another
        if way.any():
            span = 1.0 / float((np.abs(way) / sizes).max())
            compare(
                rows, "Phi_q", P @ way, partial(phi_along, way), span,
                ALLOWED * (given @ np.abs(way)) + ROUNDING * reach / span,
            )  # fmt: skip
    span = span_of(rate_sizes(sizes, v, terms.M, terms.F), sizes)
    allowed = HARMLESS * (given @ np.abs(v)) + ROUNDING * reach / span
    compare(rows, "Phi_t", terms.Phi_t[:held], lambda x: rows.constraints(q, t + x)[:held], span, allowed, ALLOWED)


def check_gamma(rows: ConstrainedSystem, Phi_q: Array, q: Array, v: Array, t: float, span: float) -> None:
    """Compare gamma with the difference of Phid along a motion without acceleration, whatever the rates."""
    sizes, given = sizes_of(q), np.abs(Phi_q)
    Phi_t, gamma = (np.asarray(part) for part in rows.constraint_rate_terms(q, v, t))

    def rate(x: float) -> Array:
        there, then = q + x * v, t + x
        return np.asarray(rows.constraint_jacobian(there, then) @ v + rows.constraint_rate_terms(there, v, then)[0])

    paces = np.where(given > 0.0, np.abs(v) / sizes, 0.0).max(axis=1, initial=0.0)
    harmless = HARMLESS * paces * (given @ np.abs(v) + np.abs(Phi_t))  # by the pace of each row
    compare(rows, "gamma", -gamma, rate, span, harmless + ROUNDING * (given @ sizes) / span**2, ALLOWED)


def span_of(rates: Array, sizes: Array) -> float:
    """Return the time [s] in which these rates change the mechanism."""
    return 1.0 / float((rates / sizes).max())


def check_rate_rows(system: ConstrainedSystem, terms: Terms, q: Array, other: Array, t: float) -> None:
    """Raise FormulationError where Psi is not A v + b, for the rates and others: rate constraints are linear in v."""
    first = holonomic_rows(terms.system)
    A, b = terms.Phi_q[first:], terms.Phi_t[first:]
    if not len(A):
        return
    for rates in (terms.v, other, np.zeros(system.n)):
        found = np.asarray(system.rate_constraints(q, rates, t))  # type: ignore[attr-defined]
        off, size = np.abs(found - A @ rates - b), np.abs(A) @ np.abs(rates) + np.abs(b)
        if (off > ALLOWED * size).any():
            raise mistake(system, "rate_constraint_jacobian", off, np.maximum(size, np.abs(found)), first)


def compare(
    system: ConstrainedSystem, what: str, value: Array, function: Callable[[float], Array], span: float, allowed: Array,
    relative: float = 0.0,
) -> None:  # fmt: skip
    """Raise FormulationError naming the row where ``value`` is not the derivative of ``function`` at 0.

    span : typical size of the argument. allowed : what each row may be off, and ``relative`` of its value.
    """
    found, moved = list[Array](), np.zeros(len(value))
    right, before = (np.zeros(len(value), np.bool_) for _ in range(2))
    for k in range(LEVELS):
        slope = difference(function, FIRST * span / RATIO**k, len(value))
        near = np.abs(value - slope) <= allowed + relative * np.maximum(np.abs(value), np.abs(slope))
        near &= (slope != 0.0) | (moved == 0.0)  # a step that rounding takes away tells nothing
        moved = np.fmax(moved, np.abs(slope))
        right, before = right | (near & before), near
        if right.all():
            return
        found.append(slope)
    slopes = np.array(found)
    spread = np.maximum(np.abs(slopes[1:-1] - slopes[:-2]), np.abs(slopes[1:-1] - slopes[2:]))
    spread = np.where(np.isfinite(spread), spread, np.inf)
    best = np.argmin(spread, axis=0), np.arange(len(value))
    slope, left = slopes[1:-1][best], spread[best]
    off = np.where(np.isfinite(left), np.abs(value - slope), 0.0)
    size = np.maximum(np.abs(value), np.abs(np.where(np.isfinite(slope), slope, 0.0)))
    wrong = ~right & (off > allowed + relative * size) & (left <= AGREE * off)
    if wrong.any():
        raise mistake(system, what, np.where(wrong, off, 0.0), size)


def difference(function: Callable[[float], Array], h: float, count: int) -> Array:
    """Return the central difference (count,) of a function at 0; no numbers where it has none."""
    with np.errstate(all="ignore"):
        try:
            return np.asarray((function(h) - function(-h)) / (2.0 * h))
        except (ArithmeticError, ValueError, RtmbsError):
            return np.full(count, np.nan)


def mistake(system: ConstrainedSystem, what: str, off: Array, size: Array, first: int = 0) -> FormulationError:
    """Return the error of the row that is off most, in terms of its size."""
    worst = int(np.argmax(off / np.maximum(size, np.finfo(np.float64).tiny)))
    return FormulationError(
        f"{row_names(with_rate_rows(system), np.array([first + worst]))} of {what} is off by {off[worst]:.2g} from a "
        f"difference of the constraints, of {size[worst]:.2g} at most; correct {what}, or let FunctionSystem derive it"
    )
