"""Integration of any constrained system by any method of time, to a Result, with events.

Integration of any constrained system by any method of time, from a consistent start to a Result.

Events of a motion: zeros of functions of its state, located on the step that passes them.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rtmbs.contact.convex import refuse_convex
from rtmbs.contact.joints import refuse_bearings
from rtmbs.contact.switched import refuse_rigid
from rtmbs.dae.contract import Counts, GainWarning, Integrator, Motion, MotionError, Point
from rtmbs.dae.dynamics import CountedSystem, Dynamics
from rtmbs.dae.method import DAEMethod, chosen_rows
from rtmbs.dae.runs import PointsRun, Restart, Run, Span, spans_to
from rtmbs.errors import InputError, StepError, shown
from rtmbs.formulations.consistent import coordinate_sizes, row_sizes, start_rate_sizes
from rtmbs.formulations.contract import (
    ConstrainedSystem,
    FormulationError,
    Positive,
    StackedRows,
    checked_vector,
    holonomic_rows,
    row_names,
    states_of,
    terms_at,
    with_rate_rows,
)
from rtmbs.formulations.function_system import FunctionSystem, check_system
from rtmbs.formulations.penalty import AugmentedLagrangian
from rtmbs.formulations.reduction import RANK_TOLERANCE, demand_full_rank
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal as PenaltyTrapezoidal
from rtmbs.integrators.report import StepReport
from rtmbs.methods import Capability, demand
from rtmbs.results.channel import BETWEEN, TIME, Entry, Source, StoredValues, resolve_names
from rtmbs.results.result import Result
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.simulation.running import step_error
from rtmbs.simulation.simulation import Simulation
from rtmbs.system.contact_tables import refuse_sets

Array = NDArray[np.float64]
EventFunction = Callable[[Array, Array, float], float]

EPS = 4.0 * np.finfo(np.float64).eps  # of the time of an event


class Event(NamedTuple):
    """A zero of an event function.

    Parameters
    ----------
    which : int
        Number of the event function.
    point : Point
        State at the event.
    """

    which: int
    point: Point

    @property
    def t(self) -> float:
        """Time of the event [s]."""
        return self.point.t


class EventSearch:
    """Event functions along one motion, and the sign of each since its last zero.

    A function g(q, v, t) may have ``direction``: above 0 for zeros on the way up, below 0 for those on the way down, 0
    for both; and ``terminal``: True, or the number of zeros that end the motion.
    """

    def __init__(self, system: ConstrainedSystem, functions: Any, signs: Sequence[float] | None = None) -> None:
        if not (functions is None or callable(functions) or isinstance(functions, Sequence)):
            raise InputError(f"events are {shown(functions)}; a function g(q, v, t), or a list of these, is wanted")
        listed = [functions] if callable(functions) else list(functions or ())
        for i, function in enumerate(listed):
            if not callable(function):
                raise InputError(f"event {i} is {shown(function)}; a function g(q, v, t) is wanted")
        self.system, self.functions = system, listed
        self.limits = [limit_of(i, function) for i, function in enumerate(listed)]
        self.found: list[Event] = []
        self.signs = np.zeros(len(listed)) if signs is None else np.array(signs, np.float64)

    def value(self, i: int, point: Point) -> float:
        """Return the value of an event function at a point. Raises MotionError for one that is no number."""
        states_of(self.system)[:] = point.s
        try:
            value = float(self.functions[i](point.q.copy(), point.v.copy(), point.t))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"event {i} at t = {point.t:g}: {error}; a function g(q, v, t) of a number is wanted"
            ) from None
        if not np.isfinite(value):
            raise MotionError(f"event {i} is {value} at t = {point.t:g}; a finite number is wanted")
        return value

    def begin(self, point: Point) -> None:
        """Take the signs at a start; a zero there is no event."""
        for i in np.flatnonzero(self.signs == 0.0):
            self.signs[i] = np.sign(self.value(int(i), point))

    def look(self, span: Span, last: bool = False) -> Event | None:
        """Add the events of a step to ``found``, in order; return one that ends the motion, later ones left out.

        A zero at the end of a step belongs to the next one, or to the step itself where it is the last.
        """
        after = np.array([np.sign(self.value(i, span.end)) for i in range(len(self.functions))])
        crossed = np.flatnonzero((self.signs * after < 0.0) | (last & (after == 0.0) & (self.signs != 0.0)))
        zeros = sorted((self.located(int(i), span) for i in crossed), key=lambda event: event.t)
        for event in zeros:
            i = event.which
            way, self.signs[i] = -self.signs[i], after[i]
            if way * getattr(self.functions[i], "direction", 0.0) < 0.0:
                continue
            self.found.append(event)
            if self.limits[i] and sum(one.which == i for one in self.found) >= self.limits[i]:
                return event
        self.signs = np.where(after == 0.0, self.signs, after)
        return None

    def located(self, i: int, span: Span) -> Event:
        """Return the zero of one function within a step."""
        old, new = span.start, span.end
        side = self.signs[i]

        def value(t: float) -> float:
            return self.value(i, old if t <= old.t else new if t >= new.t else span.ending(t))

        if side * value(old.t) <= 0.0:  # rounding at the start of a step behind an event
            return Event(i, old)
        t = float(brentq(value, old.t, new.t, xtol=EPS * max(1.0, abs(new.t)), rtol=EPS))
        return Event(i, old if t <= old.t else new if t >= new.t else span.ending(t))


def limit_of(i: int, function: Any) -> int:
    """Return how many zeros end a motion; 0 for an event that does not."""
    terminal = getattr(function, "terminal", False)
    if isinstance(terminal, bool | np.bool_):
        return int(terminal)
    if not isinstance(terminal, int | np.integer) or terminal < 0:
        raise InputError(f"terminal of event {i} is {shown(terminal)}; True, False or a number of zeros is wanted")
    return int(terminal)


LEVELS = ("position", "velocity", "acceleration")  # of constraint violations
CONSISTENT = 1e-8  # of Phi_q times typical coordinates or rates: what a start may violate
MOST_STEPS = 10**8
SLIPPING = 0.05  # of the terms of a rate constraint: what a method may leave of it
DERIVATIVES = "constraint_jacobian", "constraint_rate_terms", "rate_constraint_jacobian", "rate_constraint_terms"
LARGEST = 1e12  # of a coordinate or rate: beyond, a motion counts as lost


@dataclass(frozen=True)
class IntegrationReport:
    """Work of an integration."""

    counts: Counts
    wall: float  # [s] of the run, violations left out
    events: tuple[Event, ...] = ()  # in their order
    terminated: bool = False  # by an event
    continuation: "Continuation | None" = field(default=None, repr=False, compare=False)

    def summary(self) -> str:
        """Return steps, evaluations and wall time in one line."""
        return f"{self.counts.steps} steps, {self.counts.evaluations} evaluations, {self.wall:.3g} s of wall time"


class Continuation(NamedTuple):
    """What ``resume`` needs: the system as the method sees it, the method, the last point and what the run keeps."""

    system: ConstrainedSystem
    method: Any
    last: Point
    restart: Restart
    h: float  # [s] between the samples
    events: Any
    signs: tuple[float, ...]


def integration_result(
    system: ConstrainedSystem, points: Sequence[Point], counts: Counts, wall: float, **more: Any
) -> Result:
    """Return the Result of these points, constraint violations included.

    Arrays are ``q``, ``v``, ``a`` (samples, n), ``lambda`` (samples, m), ``s`` (samples, ns) and ``violations``
    (samples, 3), the largest |Phi|, |Phid| and |Phidd| of each sample, the first two before a solver of differential
    equations was corrected; an array without columns is left out, and so are the multipliers of a formulation that
    gives none.
    Each column is a channel of its own too: ``q0``, ``v0``, ``a0``, or ``NAME``, ``NAME.rate``, ``NAME.acceleration``
    where the system has ``coordinate_names``; ``lambda0`` or ``NAME.multiplier`` by ``row_names``; ``s0`` or ``NAME``
    by ``state_names``; ``violation.position``, ``violation.velocity``, ``violation.acceleration``. Coordinates have the
    units of ``coordinate_units`` where the system has these.
    """
    named = resolve_names(channels_of(system, points))
    name = str(getattr(system, "name", type(system).__name__))
    report = IntegrationReport(counts, wall, **more)
    result = Result({key: entry.source for key, entry in named.items()}, name, report=report)
    result.events = report.events
    return result


def channels_of(system: ConstrainedSystem, points: Sequence[Point]) -> Iterator[Entry]:
    """Yield the time, every array and every column of the arrays."""
    n, m, ns, size = system.n, system.m, len(states_of(system)), len(points)
    yield Entry("time", TIME, Source((), "s", StoredValues(np.array([point.t for point in points]))))
    names, rows = (labels_of(system, what, count) for what, count in (("coordinate_names", n), ("row_names", m)))
    units = list(getattr(system, "coordinate_units", None) or [""] * n)
    for symbol, suffix, per in (("q", "", ""), ("v", ".rate", "/s"), ("a", ".acceleration", "/s^2")):
        values = np.array([getattr(point, symbol) for point in points]).reshape(size, n)
        yield from columns("coordinate", symbol, values, names, suffix, [unit and unit + per for unit in units])
    values = np.array([point.lam for point in points]).reshape(size, m)
    if not np.all(np.isnan(values)):
        yield from columns("multiplier", "lambda", values, rows, ".multiplier", [""] * m)
    values = np.array([point.s for point in points]).reshape(size, ns)
    yield from columns("state", "s", values, labels_of(system, "state_names", ns), "", [""] * ns)
    values = np.array([violations_at(system, point) for point in points]).reshape(size, 3)
    yield Entry("array", "violations", Source(LEVELS, "", StoredValues(values)))
    for k, level in enumerate(LEVELS):
        yield Entry("violation", f"violation.{level}", Source((), "", StoredValues(values[:, k])))


def labels_of(system: ConstrainedSystem, attribute: str, count: int) -> list[str] | None:
    """Return the names of a system's columns; None for none, or for names that do not tell the columns apart."""
    names = getattr(system, attribute, None)
    if names is None or len(names) != count or len({*names}) < count:
        return None
    labels = [str(name) for name in names]
    return None if any(not label or BETWEEN in label for label in labels) else labels


def columns(
    kind: str, symbol: str, values: Array, names: list[str] | None, suffix: str, units: list[str]
) -> Iterator[Entry]:
    """Yield an array (samples, k) under its symbol, and each of its columns under a name of its own."""
    count = values.shape[1]
    if not count:
        return
    axes = tuple(names or map(str, range(count)))
    unit = units[0] if len({*units}) == 1 else BETWEEN.join(units)
    yield Entry("array", symbol, Source(axes, unit, StoredValues(values)))
    for k in range(count):
        name = f"{names[k]}{suffix}" if names else f"{symbol}{k}"
        yield Entry(kind, name, Source((), units[k], StoredValues(values[:, k])))


def violations_at(system: ConstrainedSystem, point: Point) -> tuple[float, float, float]:
    """Return the largest |Phi|, |Phid| and |Phidd| of a point; the first two before a correction, where it has them."""
    Phi_q = system.constraint_jacobian(point.q, point.t)
    Phi_t, gamma = system.constraint_rate_terms(point.q, point.v, point.t)
    parts = system.constraints(point.q, point.t), Phi_q @ point.v + Phi_t, Phi_q @ point.a - gamma
    first, second, third = (float(np.abs(part).max(initial=0.0)) for part in parts)
    return (*point.left, third) if point.left else (first, second, third)


def integrate(
    system: ConstrainedSystem, method: Integrator, q: Array, v: Array, t_end: float, h: float = 1e-3, t0: float = 0.0,
    events: Any = None,
) -> Result:  # fmt: skip
    """Integrate the equations of a constrained system from a consistent start.

    A method of fixed steps takes steps of ``h``; an adaptive one chooses its own between the samples. The last step
    ends at ``t_end``, so that steps are h or a little shorter. States of forces begin at those of the system. ``q``,
    ``v`` and these states stay as they are. A warning tells of gains outside the stability region of the method at this
    h.

    An event is a zero of a function g(q, v, t). It is located to the order of the method, by a step that ends there or
    on the dense output. A function may have ``direction`` (1 up, -1 down, 0 both) and ``terminal`` (True, or the number
    of zeros that end the motion), as in ``scipy.integrate.solve_ivp``. A zero at the start is no event, one at the end
    is. Two zeros of one function within one step are missed.

    Parameters
    ----------
    system : ConstrainedSystem
        System of equations.
    method : Integrator
        Method of time.
    q : ndarray
        Coordinates (n,) at the start, with Phi = 0.
    v : ndarray
        Rates (n,) at the start, with Phid = 0.
    t_end : float
        Last time [s].
    h : float, default 0.001
        Interval of the samples [s]; the step of a method of fixed steps.
    t0 : float, default 0.0
        Time of the start [s].
    events : callable or sequence of callable, optional
        Functions g(q, v, t).

    Returns
    -------
    Result
        Channels ``q``, ``v``, ``a``, ``lambda``, ``s`` and ``violations``, and each of their columns by name, such as
        ``q0`` or those of ``coordinate_names``; ``result.counts`` and ``result.wall`` [s] say what it took.
        ``result.events`` are the events, with ``which``, ``t`` and ``point``; ``result.terminated`` is True when one
        ended the motion, at the last sample. ``resume`` goes on from there.

    Raises
    ------
    InputError
        For numbers out of range, and for states of forces that the method does not integrate.
    FormulationError
        For a start that violates the constraints, derivatives of constraints that are wrong there, dependent rows that
        the method refuses, or a state without accelerations.
    MotionError
        For a step that fails, with the Result up to there.

    Examples
    --------
    >>> result = integrate(system, RungeKutta(GILL, Baumgarte(20.0, 20.0)), q, v, 1.0)  # doctest: +SKIP
    """
    times = sample_times(t0, t_end, h)
    motion, system = motion_of(system, method, q, v, times)
    return carried_out(Course(system, method, motion, times, h, EventSearch(motion.system, events), events))


def integration_steps(
    system: ConstrainedSystem, method: Integrator, q: Array, v: Array, t_end: float, h: float = 1e-3, t0: float = 0.0
) -> Iterator[Span]:
    """Yield the steps of an integration one by one, as the method takes them.

    A step has ``start`` and ``end``, Points with t, q, v, a, lam and s, and ``at(t)``, a Point at a time within it, to
    be asked before the next step. Whoever stops asking stops the integration.

    Parameters
    ----------
    system : ConstrainedSystem
        System of equations.
    method : Integrator
        Method of time.
    q : ndarray
        Coordinates (n,) at the start, with Phi = 0.
    v : ndarray
        Rates (n,) at the start, with Phid = 0.
    t_end : float
        Last time [s].
    h : float, default 0.001
        Step of a method of fixed steps [s].
    t0 : float, default 0.0
        Time of the start [s].

    Yields
    ------
    Span
        Step of the method.

    Raises
    ------
    InputError
        For numbers out of range, and for states of forces that the method does not integrate.
    FormulationError
        For a start that violates the constraints, or a state without accelerations.
    MotionError
        For a step that fails.

    Examples
    --------
    >>> for step in integration_steps(system, RadauGGL(rtol=1e-6), q, v, 1.0):  # doctest: +SKIP
    ...     print(step.end.t, step.end.q)
    """
    times = sample_times(t0, t_end, h)
    motion, system = motion_of(system, method, q, v, times)
    states = states_of(system)
    run = run_of(method, motion, times)
    try:
        for span, _ in spans_to(run, times):
            demand_finite(span.end)
            demand_rate_constraints(system, method, span.end)
            yield span
    finally:
        states[:] = motion.s


def resume(result: Result, t_end: float, h: float | None = None) -> Result:
    """Go on with an integration from its last state, as if it had not stopped.

    A method of this room gives the numbers of one run to ``t_end``, but for rounding. Solvers of several steps from
    SciPy and SUNDIALS begin anew, within their tolerances. The system is used as it is now.

    Parameters
    ----------
    result : Result
        Result of ``integrate`` or of ``resume``.
    t_end : float
        Last time [s].
    h : float, optional
        Interval of the samples [s]; that of the earlier run unless given. For a method of fixed steps it is the step.

    Returns
    -------
    Result
        Motion from the last sample of ``result``, which is the first one here, to ``t_end``.

    Raises
    ------
    InputError
        For a Result that is none of an integration, and for numbers out of range.
    FormulationError
        For a state without accelerations.
    MotionError
        For a step that fails, with the Result up to there.

    Examples
    --------
    >>> later = resume(result, 2.0)  # doctest: +SKIP
    """
    kept = getattr(result.report, "continuation", None)
    if kept is None:
        raise InputError("this Result has nothing to go on from; take one of rtmbs.dae.integrate, of this process")
    times = sample_times(kept.last.t, t_end, kept.h if h is None else h)
    first = kept.restart.past[0]
    motion = counted_motion(kept.system, kept.method, first.q, first.v, first.t, first.s)
    search = EventSearch(motion.system, kept.events, kept.signs)
    course = Course(kept.system, kept.method, motion, times, kept.h if h is None else h, search, kept.events)
    return carried_out(course, kept)


class Course(NamedTuple):
    """One integration: what is integrated, by which method, and what is looked for."""

    system: ConstrainedSystem
    method: Any
    motion: Motion
    times: Array
    h: float
    search: EventSearch
    events: Any

    def seen(self, point: Point) -> Point:
        """Return a point as the Result has it: checked, with multipliers of all rows."""
        demand_finite(point)
        demand_rate_constraints(self.system, self.method, point)
        return self.motion.rows.shared(point) if self.motion.rows is not None else point


def carried_out(course: Course, kept: Continuation | None = None) -> Result:
    """Return the Result of an integration, or of one that goes on from ``kept``."""
    system, method, motion = course.system, course.method, course.motion
    states, before = states_of(system), states_of(system).copy()
    found: list[Point] = []
    run, ended, began = None, None, time.perf_counter()
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            run = run_of(method, motion, course.times, kept.restart if kept is not None else None)
            first = kept.last if kept is not None else course.seen(run.start)
            course.search.begin(first)
            found.append(first)
            if course.search.functions:
                ended = looked_through(course, run, found)
            else:
                found.extend(map(course.seen, run.samples(course.times)))
    except (FormulationError, MotionError, InputError) as error:
        wall = time.perf_counter() - began
        if not found:
            raise
        failure = MotionError(f"{type(method).__name__} stopped after t = {found[-1].t:g}: {error}")
        failure.result = integration_result(system, found, motion.counts, wall, events=tuple(course.search.found))
        raise failure from error
    finally:
        states[:] = before
    wall = time.perf_counter() - began
    search, signs = course.search, tuple(course.search.signs)
    going_on = Continuation(system, method, found[-1], run.restart(), course.h, course.events, signs)
    states[:] = before
    return integration_result(
        system, found, motion.counts, wall,
        events=tuple(search.found), terminated=ended is not None, continuation=going_on,
    )  # fmt: skip


def looked_through(course: Course, run: Run, found: list[Point]) -> Event | None:
    """Add the samples to ``found`` and the events to the search; return the event that ends the motion."""
    end = float(course.times[-1])
    for span, samples in spans_to(run, course.times):
        ended = course.search.look(span, span.end.t >= end)
        for point in samples:
            if ended is None or point.t < ended.t:
                found.append(course.seen(point))
        if ended is not None:
            found.append(course.seen(run.cut(ended.t)))
            return ended
    return None


def motion_of(
    system: ConstrainedSystem, method: Any, q: Array, v: Array, times: Array
) -> tuple[Motion, ConstrainedSystem]:
    """Return the motion of a consistent start, and its system with rate constraints among its rows."""
    q, v, t0 = checked_vector("q", q, system.n), checked_vector("v", v, system.n), float(times[0])
    if isinstance(equations := getattr(system, "equations", None), SemiRecursiveEquations):
        refuse_bearings(equations.compiled.bearings, "integrate")
        refuse_convex(equations.compiled.forces, "integrate")
        refuse_sets(equations.compiled, "integrate")
        refuse_rigid(equations.compiled.rigid, "integrate")
    system = with_rate_rows(system)
    demand_no_states(system, method)
    demand_start(system, method, q, v, t0)
    if not derives_constraints(system):
        check_system(system, q, v, t0)
    warn_of_gains(method, float(times[1] - times[0]))
    return counted_motion(system, method, q, v, t0, states_of(system)), system


def derives_constraints(system: ConstrainedSystem) -> bool:
    """Return whether the derivatives of constraints come from the tape of the constraints: none can be wrong alone."""
    inner = system.system if type(system) is StackedRows else system
    return type(inner) is FunctionSystem and vars(inner).keys().isdisjoint(DERIVATIVES)


def counted_motion(system: ConstrainedSystem, method: Any, q: Array, v: Array, t0: float, s: Array) -> Motion:
    """Return a motion with counts, dependent rows left out where the method needs it."""
    rows = chosen_rows(system, q, t0, method)
    motion = Motion(system, q, v, t0, s.copy(), rows=rows)
    motion.system = CountedSystem(system if rows is None else rows, motion.counts)
    return motion


def run_of(method: Any, motion: Motion, times: Array, restart: Restart | None = None) -> Run:
    """Return the run of a method: its own, or one of its points."""
    if getattr(type(method), "points", None) is DAEMethod.points:  # not of a method of the user that has points alone
        found: Run = method.run(motion, times, restart)
        return found
    points = getattr(method, "points", None) or partial(simulation_points, method)
    return PointsRun(points, motion, times)


def sample_times(t0: float, t_end: float, h: float) -> Array:
    """Return evenly spaced times from t0 to t_end, at most h apart."""
    Positive("h", "s").check(h)
    for name, value in (("t0", t0), ("t_end", t_end)):
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise InputError(f"{name} is {value!r}; a finite number of seconds is wanted")
    if not t_end > t0:
        raise InputError(f"t_end is {t_end:g}; a time after t0 = {t0:g} is wanted")
    steps = np.ceil((t_end - t0) / h * (1.0 - 1e-12))
    if steps > MOST_STEPS:
        raise InputError(f"h = {h:g} s makes {steps:.2g} steps to t_end = {t_end:g}; at most {MOST_STEPS:g} are taken")
    return np.linspace(t0, t_end, int(steps) + 1)


def demand_start(system: ConstrainedSystem, method: Any, q: Array, v: Array, t: float) -> None:
    """Raise FormulationError for a start off the constraints, or rows that the method cannot take."""
    terms = terms_at(system, q, v, t)
    Phi, Phid = system.constraints(q, t), terms.Phi_q @ v + terms.Phi_t
    sizes = coordinate_sizes(system, q, t, terms.Phi_q)
    rates = start_rate_sizes(sizes, v, terms.M, terms.F)
    for what, left, size in (
        ("Phi", Phi, row_sizes(terms.Phi_q, sizes)),
        ("Phid", Phid, row_sizes(terms.Phi_q, rates, terms.Phi_t)),
    ):
        worst = np.flatnonzero(~(np.abs(left) <= CONSISTENT * size))
        if len(worst):
            raise FormulationError(
                f"{row_names(system, worst)} of {what} {'is' if len(worst) == 1 else 'are'} violated by "
                f"{np.abs(left[worst]).max():.2g} at the start; take q and v from consistent_state(system, q, v, t)"
            )
    if not getattr(method, "redundant", True) and not getattr(method, "leaves_out", False) and system.m:
        demand_full_rank(terms, RANK_TOLERANCE, type(method).__name__)


def demand_no_states(system: ConstrainedSystem, method: Any) -> None:
    """Raise InputError for states of forces that the method does not integrate."""
    if count := len(states_of(system)):
        demand(method, Capability.FORCE_STATES, f"a system with {count} states of forces")


def demand_finite(point: Point) -> None:
    """Raise MotionError for a point that is not finite, or beyond LARGEST."""
    for name, part in (("q", point.q), ("v", point.v), ("s", point.s)):
        if not np.all(np.abs(part) < LARGEST):
            i = int(np.argmin(np.abs(part) < LARGEST))
            raise MotionError(f"{name}[{i}] is {part[i]:.3g} at t = {point.t:g}; a shorter step may help")
    if not np.all(np.isfinite(point.a)):
        raise MotionError(f"an acceleration is not finite at t = {point.t:g}; a shorter step may help")


def demand_rate_constraints(system: ConstrainedSystem, method: Any, point: Point) -> None:
    """Raise MotionError for a method that leaves rate constraints alone, as one of the user may."""
    held = holonomic_rows(system)
    if held < system.m:
        A = system.constraint_jacobian(point.q, point.t)[held:]
        b = system.constraint_rate_terms(point.q, point.v, point.t)[0][held:]
        left, size = np.abs(A @ point.v + b), np.abs(A) @ np.abs(point.v) + np.abs(b)
        worst = int(np.argmax(left - SLIPPING * size))
        if left[worst] > SLIPPING * (size[worst] + float(np.abs(A).max()) * SLIPPING):
            raise MotionError(
                f"rate constraint {row_names(system, np.array([held + worst]))} is left at {left[worst]:.2g} at "
                f"t = {point.t:g}; {type(method).__name__} does not hold it: take a shorter step, or another method"
            )


def warn_of_gains(method: Any, h: float) -> None:
    """Warn of gains outside the stability region of the method at this h."""
    gains = getattr(getattr(method, "formulation", None), "gains", None)
    growth = getattr(method, "growth", None)
    if gains is None or growth is None:
        return
    alpha, beta = gains
    roots = np.roots([1.0, 2.0 * alpha, beta**2]).astype(np.complex128)
    most = max(float(growth(h * s)) for s in roots)
    if most > 1.0 + 1e-6:
        warnings.warn(
            f"alpha = {alpha:g} 1/s and beta = {beta:g} 1/s lie outside the stability region of "
            f"{type(method).__name__} at h = {h:g} s: violations grow by {most:.3g} a step; take gains_for_step({h:g})",
            GainWarning,
            stacklevel=3,
        )


def simulation_points(method: Any, motion: Motion, times: Array) -> Iterator[Point]:
    """Yield the start and the end of each step of a Simulation of the System behind JointCoordinates."""
    sim, point = simulation_at(motion, times, method)
    order = rows_of_simulation(motion)
    yield point
    for t in times[1:]:
        try:
            report = accepted_step(sim)
        except StepError as error:
            raise MotionError(str(error)) from error
        motion.counts.steps += 1
        motion.counts.iterations += report.iterations
        motion.counts.evaluations += report.evaluations
        motion.counts.factorisations += report.factorisations
        now = sim.state
        q, v, a, lam, s, sd = (part.copy() for part in (now.z, now.zd, now.zdd, now.lam[order], now.s, now.sd))
        yield Point(float(t), q, v, a, lam, s, sd)


def rows_of_simulation(motion: Motion) -> Any:
    """Return the rows of a System in the order of ``JointCoordinates``: those of rates come last there."""
    return motion.system.order  # type: ignore[attr-defined]


def accepted_step(sim: Simulation) -> StepReport:
    """Take a step; raises StepError for one that fails."""
    report = sim.step()
    if not report.outcome.accepted:
        raise step_error(sim.state.k + 1, report)
    return report


def simulation_at(motion: Motion, times: Array, method: Any) -> tuple[Simulation, Point]:
    """Return a Simulation at the start of a motion, with a step from time to time, and the start.

    Raises InputError for a system that is no compiled one.
    """
    equations, t0, who = getattr(motion.system, "equations", None), float(times[0]), type(method).__name__
    if not isinstance(equations, SemiRecursiveEquations):
        raise InputError(f"{who} takes JointCoordinates of a compiled System, and no other system")
    if np.any(equations.tables.dofs.reference >= 0):
        raise InputError(f"{who} takes no rotation dofs here; a Simulation steps such a System by itself")
    point = Dynamics(motion, AugmentedLagrangian()).point(motion.q, motion.v, t0, motion.s)
    sim = Simulation(equations.compiled, h=float(times[1] - times[0]), method=method)
    state = sim.state.copy()
    state.t_ref = t0
    state.z[:], state.zd[:], state.zdd[:] = point.q, point.v, point.a
    state.lam[rows_of_simulation(motion)] = point.lam
    state.s[:], state.sd[:] = point.s, point.sd
    sim.restore(state)
    return sim, point
