"""General implicit differential equations F(t, y, y') = 0 by IDA of SUNDIALS, the optional extra ``sundials``."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.ad import Traced, TraceError
from rtmbs.dae.contract import Counts, MotionError
from rtmbs.dae.driver import IntegrationReport, columns, sample_times
from rtmbs.dae.dynamics import derivative
from rtmbs.dae.method import demand_tolerances
from rtmbs.dae.sundials import solver_class, step_of
from rtmbs.errors import InputError, shown
from rtmbs.formulations.contract import FormulationError, OutOfRange, checked_answer, checked_time, checked_vector
from rtmbs.formulations.reduction import row_factor
from rtmbs.results.channel import TIME, Entry, Source, StoredValues, resolve_names
from rtmbs.results.result import Result

Array = NDArray[np.float64]
Residual = Callable[[float, Array, Array], ArrayLike]

SOURCES = ("trace", "differences")
MOST_STEPS = 10**6  # between two samples
ITERATIONS = 50
HALVINGS = 20  # of one step of Newton
SETTLED = 1e-12  # of a correction, in terms of the unknown, or 1
CLOSED = 1e-9  # of the terms of F: what a consistent start leaves


class ImplicitEquations:
    """F(t, y, y') = 0 with its derivatives, and which unknowns are differential.

    Parameters
    ----------
    residual : callable
        Function F(t, y, y') of k numbers.
    n : int
        Number k of unknowns and of equations.
    differential : iterable of int, optional
        Unknowns whose derivatives F depends on. Found from dF/dy' at the start unless given.
    jacobian : str or callable, default 'trace'
        "trace": F is recorded by ``rtmbs.ad``, and differences serve where it cannot be. "differences", or a function
        (t, y, y') that returns dF/dy and dF/dy' (k, k).
    names : sequence of str, optional
        Names of the unknowns, for channels and errors.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> equations = ImplicitEquations(lambda t, y, yp: [yp[0] + y[0] - y[1], y[1] - t], 2)
    """

    def __init__(
        self, residual: Residual, n: int, *, differential: Iterable[int] | None = None,
        jacobian: str | Callable[..., tuple[Array, Array]] = "trace", names: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InputError(f"n is {shown(n)}; a whole number of unknowns of at least 1 is wanted")
        if not callable(jacobian) and jacobian not in SOURCES:
            raise InputError(f"jacobian is {shown(jacobian)}; {', '.join(SOURCES)} or a function is wanted")
        if names is not None and len({*names}) != n:
            raise InputError(f"names are {shown(names)}; {n} different ones are wanted")
        self.residual, self.n, self.names, self.jacobian = residual, n, names, jacobian
        self.evaluations = 0
        self.differential = None if differential is None else checked_indices(n, differential)
        self.recorded = recorded(residual, n) if jacobian == "trace" else None

    def value(self, t: float, y: Array, yp: Array) -> Array:
        """Return F (k,), checked.

        Parameters
        ----------
        t : float
            Time [s].
        y : ndarray
            Unknowns (k,).
        yp : ndarray
            Their derivatives (k,).

        Returns
        -------
        ndarray
            F (k,).

        Raises
        ------
        InputError
            For a wrong shape, or numbers that are not finite.
        """
        self.evaluations += 1
        return checked_answer("residual(t, y, yp)", np.asarray(self.residual(t, y, yp), np.float64), (self.n,))

    def derivatives(self, t: float, y: Array, yp: Array) -> tuple[Array, Array]:
        """Return dF/dy and dF/dy' (k, k).

        Parameters
        ----------
        t : float
            Time [s].
        y : ndarray
            Unknowns (k,).
        yp : ndarray
            Their derivatives (k,).

        Returns
        -------
        tuple[ndarray, ndarray]
            dF/dy and dF/dy' (k, k).

        Raises
        ------
        InputError
            For a wrong shape, or numbers that are not finite.
        """
        n = self.n
        if callable(self.jacobian):
            by_y, by_yp = self.jacobian(t, y, yp)
            return checked_answer("dF/dy", by_y, (n, n)), checked_answer("dF/dy'", by_yp, (n, n))
        if self.recorded is not None:
            found = np.asarray(self.recorded.jacobian(np.concatenate((y, yp, [t]))))
        else:
            found = derivative(lambda x: self.value(t, x[:n], x[n:]), np.concatenate((y, yp)))
        found = checked_answer("the derivative of residual", found[:, : 2 * n], (n, 2 * n))
        return found[:, :n], found[:, n:]

    def consistent(
        self, y: ArrayLike, yp: ArrayLike | None = None, t: float = 0.0, keep: Iterable[int] | None = None
    ) -> tuple[Array, Array]:
        """Return consistent y and y': F(t, y, y') = 0 with the kept unknowns as given.

        Newton's method in algebraic unknowns and derivatives of differential ones, by the least change of both. Above
        index one hidden constraints must hold already.

        Parameters
        ----------
        y : array_like
            Unknowns (k,), of which algebraic ones are guesses.
        yp : array_like, optional
            Guesses of the derivatives (k,); zero unless given.
        t : float, default 0.0
            Time [s].
        keep : iterable of int, optional
            Unknowns that stay as they are; the differential ones unless given.

        Returns
        -------
        tuple[ndarray, ndarray]
            y and y' (k,).

        Raises
        ------
        InputError
            For shapes and numbers.
        FormulationError
            For equations that follow from others, or where there are no consistent values near.

        Examples
        --------
        >>> equations = ImplicitEquations(lambda t, y, yp: [yp[0] + y[0] - y[1], y[1] - t], 2)
        >>> y, yp = equations.consistent([1.0, 0.3])
        >>> y.round(9), yp.round(9)
        (array([1., 0.]), array([-1.,  0.]))
        """
        n, t = self.n, checked_time(t)
        guess: Any = np.zeros(n) if yp is None else yp
        x = np.concatenate((checked_vector("y", np.asarray(y), n), checked_vector("yp", np.asarray(guess), n)))
        by_y, by_yp = self.derivatives(t, x[:n], x[n:])
        demand_rows(by_y, by_yp, t)
        differential = differential_at(self, by_yp)
        kept = checked_indices(n, differential if keep is None else keep)
        free = np.concatenate((np.setdiff1d(np.arange(n), kept), n + differential)).astype(np.int64)
        x[n + np.setdiff1d(np.arange(n), differential)] = 0.0
        left = self.value(t, x[:n], x[n:])
        for _ in range(ITERATIONS):
            both = np.hstack(self.derivatives(t, x[:n], x[n:]))
            terms = np.abs(both) @ np.maximum(np.abs(x), 1.0)
            step = np.asarray(np.linalg.lstsq(both[:, free], left, rcond=1e-12)[0], np.float64)
            x, left, length = shortened(self, t, x, free, step, left)
            if length <= SETTLED * max(1.0, float(np.abs(x).max())):
                if np.all(np.abs(left) <= CLOSED * terms):
                    return x[:n], x[n:]
                break
        worst = int(np.argmax(np.abs(left)))
        raise FormulationError(
            f"equation {worst} of F stays open by {abs(left[worst]):.2g} at t = {t:g}; give a nearer start, or "
            "differentiate constraints: above index one hidden ones must hold already"
        )


def checked_indices(n: int, given: Iterable[int]) -> NDArray[np.int64]:
    """Return numbers of unknowns as a sorted array. Raises InputError."""
    found = sorted({int(i) for i in given})
    if found and not 0 <= found[0] <= found[-1] < n:
        raise InputError(f"differential is {found}; numbers from 0 to {n - 1} are wanted")
    return np.array(found, np.int64)


def recorded(residual: Residual, n: int) -> Traced | None:
    """Return F recorded as a function of (y, y', t); None where it cannot be recorded."""
    try:
        return Traced(lambda x: residual(x[2 * n], x[:n], x[n : 2 * n]), 2 * n + 1)
    except (TraceError, TypeError, ValueError):
        return None


def demand_rows(by_y: Array, by_yp: Array, t: float) -> None:
    """Raise FormulationError naming equations that follow from the others, by dF/dy and dF/dy' (k, k)."""
    both = np.hstack((by_y, by_yp))
    sizes = np.linalg.norm(both, axis=1)
    empty = np.flatnonzero(sizes == 0.0)
    dependent = row_factor(both / np.where(sizes > 0.0, sizes, 1.0)[:, None]).dependent
    rows = sorted({*empty.tolist(), *dependent.tolist()})
    if rows:
        raise FormulationError(
            f"equations {rows} of F depend on the other rows at t = {t:g}; take them out, or give equations that "
            "tell the unknowns apart"
        )


def differential_at(equations: ImplicitEquations, by_yp: Array) -> NDArray[np.int64]:
    """Return the numbers of the differential unknowns: those given, or where dF/dy' is not zero."""
    return np.flatnonzero(np.any(by_yp != 0.0, axis=0)) if equations.differential is None else equations.differential


def shortened(
    equations: ImplicitEquations, t: float, x: Array, free: Any, step: Array, left: Array
) -> tuple[Array, Array, float]:
    """Return x after a step of Newton, halved until F shrinks, F there, and the length of the step."""
    size = float(np.linalg.norm(left))
    for k in range(HALVINGS):
        moved = x.copy()
        moved[free] -= step * 0.5**k
        try:
            new = equations.value(t, moved[: equations.n], moved[equations.n :])
        except OutOfRange:
            continue
        if np.linalg.norm(new) <= size or k == HALVINGS - 1:
            return moved, new, float(np.abs(step * 0.5**k).max(initial=0.0))
    return x, left, 0.0


def solve_implicit(
    equations: ImplicitEquations | Residual, y: ArrayLike, yp: ArrayLike | None = None, *, t_end: float, h: float,
    t0: float = 0.0, rtol: float = 1e-8, atol: float | ArrayLike = 1e-10,
) -> Result:  # fmt: skip
    """Solve F(t, y, y') = 0 by IDA of SUNDIALS: BDF of variable order and step, from consistent initial values.

    It needs the extra ``sundials``. Initial values are made consistent first, with the differential unknowns as given.

    Parameters
    ----------
    equations : ImplicitEquations or callable
        Equations, or the function F(t, y, y').
    y : array_like
        Unknowns (k,) at the start.
    yp : array_like, optional
        Guesses of the derivatives (k,).
    t_end : float
        Last time [s].
    h : float
        Interval of the samples [s].
    t0 : float, default 0.0
        Time of the start [s].
    rtol : float, default 1e-08
        Relative tolerance of the local error.
    atol : float or array_like, default 1e-10
        Absolute tolerance of the local error, one or (k,), in the units of y.

    Returns
    -------
    Result
        Channels ``y`` and ``yp``, and their columns ``y0``, or NAME and NAME.rate; ``result.counts`` says what it took.

    Raises
    ------
    InputError
        For shapes, numbers, and a missing package.
    FormulationError
        For equations that follow from others, or values that cannot be made consistent.
    MotionError
        Where IDA fails, with the Result up to there.

    Examples
    --------
    >>> found = solve_implicit(lambda t, y, yp: [yp[0] + y[0]], [1.0], t_end=1.0, h=0.1)  # doctest: +SKIP
    """
    start = np.atleast_1d(np.asarray(y, np.float64))
    if not isinstance(equations, ImplicitEquations):
        equations = ImplicitEquations(equations, len(start))
    times, n = sample_times(t0, t_end, h), equations.n
    limits = np.broadcast_to(np.asarray(atol, np.float64), n)
    demand_tolerances(rtol, float(limits.min()))
    began, counts = time.perf_counter(), Counts()
    rows = [equations.consistent(start, yp, float(times[0]))]
    solver = solver_of(equations, float(times[0]), *rows[0], rtol, limits)
    failure: MotionError | None = None
    for t in times[1:]:
        try:
            found = step_of(solver, float(t))
            if not found.success:
                raise MotionError(
                    f"IDA failed before t = {t:g}: {found.message} Differentiate constraints of an index above one, end"
                    " at a jump of F and begin anew, or take larger tolerances"
                )
        except (MotionError, OutOfRange, FormulationError) as error:
            failure = MotionError(f"IDA stopped after t = {times[len(rows) - 1]:g}: {error}")
            break
        rows.append((np.ravel(found.y).copy(), np.ravel(found.yp).copy()))
    counts.evaluations = equations.evaluations
    report = IntegrationReport(counts, time.perf_counter() - began)
    result = implicit_result(equations, times[: len(rows)], rows, report)
    if failure is not None:
        failure.result = result
        raise failure
    return result


def solver_of(equations: ImplicitEquations, t: float, y: Array, yp: Array, rtol: float, atol: Array) -> Any:
    """Return IDA at consistent initial values."""

    def residual(t: float, y: Array, yp: Array, out: Array) -> None:
        out[:] = equations.value(t, y.copy(), yp.copy())

    def jacobian(t: float, y: Array, yp: Array, left: Array, c: float, out: Array) -> None:
        by_y, by_yp = equations.derivatives(t, y.copy(), yp.copy())
        out[:] = by_y + c * by_yp

    differential = differential_at(equations, equations.derivatives(t, y, yp)[1])
    algebraic = np.setdiff1d(np.arange(equations.n), differential).tolist()
    solver = solver_class("IDA")(
        residual, rtol=rtol, atol=atol, algebraic_idx=algebraic or None, jacfn=jacobian, max_num_steps=MOST_STEPS
    )
    solver.init_step(t, y, yp)
    return solver


def implicit_result(
    equations: ImplicitEquations, times: Array, rows: Sequence[tuple[Array, Array]], report: IntegrationReport
) -> Result:
    """Return the Result of these values and derivatives."""
    names = None if equations.names is None else [str(name) for name in equations.names]
    entries = [Entry("time", TIME, Source((), "s", StoredValues(times)))]
    for k, (symbol, suffix) in enumerate((("y", ""), ("yp", ".rate"))):
        values = np.array([row[k] for row in rows])
        entries += columns("unknown", symbol, values, names, suffix, [""] * equations.n)
    named = resolve_names(entries)
    return Result({key: entry.source for key, entry in named.items()}, "implicit equations", report=report)
