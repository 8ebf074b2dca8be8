"""Events: functions of the user, their location in a step, and their actions in order (METHODS 1.34).

Zeros within a step are those of a polynomial through values at Chebyshev points. The number of looks doubles until the
polynomial is resolved, at most MOST of them (J. P. Boyd, Computing zeros on a real interval through Chebyshev
expansion, SIAM J. Numer. Anal. 40 (2002)). ``breaking`` is the event of a lock that breaks under its load
(METHODS 8.5).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import brentq, minimize_scalar

from rtmbs.contact.switched import LOCKED
from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.checks import is_number, switches
from rtmbs.model.checks import number
from rtmbs.results.catalogue import sources
from rtmbs.results.channel import Source
from rtmbs.results.samples import OF_STATE, Evaluation, Samples
from rtmbs.simulation.access import CHANGE, callback_rights
from rtmbs.simulation.dense_output import Moment, Stretch
from rtmbs.system.system import System
from rtmbs.system.tables import Array, Tables

FEWEST, MOST = 4, 32  # parts of a step between looks
RESOLVED = 1e-9  # of the largest coefficient: what the last two may be
GRAZE = 1e-6  # of the largest value: extrema nearer to zero are looked for exactly
TOUCH = 1e-13  # of the largest value: an extremum nearer to zero touches it
FINEST = 1e-9  # of a bracket: how exactly an extremum is found
EARLY = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # shares of a step that begins at a zero, where looks are added
EPS = float(np.finfo(float).eps)
Value = Callable[[float], float]


class Zero(NamedTuple):
    """A zero within a step: a change of sign, or a touch."""

    t: float  # [s]
    side: int  # sign of the function before it


class Found(NamedTuple):
    """Zeros, signs and sizes of an event function within a step."""

    zeros: list[Zero]
    last: float  # value at the end of the step
    side: int  # its sign; 0: at a zero
    first: int  # first sign seen behind the start; 0: none
    scale: float  # largest value


class Look(NamedTuple):
    """The function at a time; an extremum nearer to zero than rounding has the sign 0 and ``touches``."""

    t: float  # [s]
    value: float
    touches: bool = False


def zeros_within(value: Value, start: float, end: float, first: float, at_zero: bool) -> Found:
    """Return the zeros of ``value`` behind ``start`` and up to ``end`` [s].

    ``first`` is the value at the start. A start ``at_zero`` has no sign: values as small as rounding behind it have
    none either, and the zero at the start itself is not among those found.
    """
    looks = [Look(start, first)]
    coefficients = np.zeros(0)
    parts = FEWEST
    while True:
        looks = refined_looks(value, looks, start, end, parts)
        values = [look.value for look in looks]
        scale = max(map(abs, values))
        coefficients = transform(parts) @ values
        size = np.abs(coefficients).tolist()
        tail = size[-1] + size[-2]
        if not at_zero and 2.0 * size[0] > sum(size) + 2.0 * tail:
            side = 1 if first > 0.0 else -1
            return Found([], values[-1], side, side, scale)
        if tail <= RESOLVED * max(size) or parts == MOST:
            break
        parts *= 2
    band = rounding(first, scale) if at_zero else 0.0
    looks = sorted([*looks, *extrema(value, looks, coefficients, GRAZE * scale + 10.0 * tail, scale)])
    if at_zero:
        times = {look.t for look in looks}
        added = [start + share * (end - start) for share in EARLY]
        looks = sorted([*looks, *(Look(t, value(t)) for t in added if t not in times)])
    return along(value, looks, at_zero, band, scale)


def refined_looks(value: Value, looks: list[Look], start: float, end: float, parts: int) -> list[Look]:
    """Return looks at ``parts + 1`` Chebyshev points, those known before among them."""
    known = {look.t: look.value for look in looks}
    times = (start + (end - start) * shares(parts)).tolist()
    times[0], times[-1] = start, end
    return [Look(t, known[t] if t in known else value(t)) for t in times]


@cache
def shares(parts: int) -> Array:
    """Return the Chebyshev points of the second kind as shares of a step; those of twice as many parts hold them."""
    share = 0.5 - 0.5 * np.cos(np.pi * np.arange(parts + 1) / parts)
    share[parts // 2] = 0.5
    if parts > FEWEST:
        share[::2] = shares(parts // 2)
    return np.asarray(share)


@cache
def transform(parts: int) -> Array:
    """Return the matrix from values at the points to coefficients of Chebyshev polynomials."""
    return np.asarray(np.linalg.inv(chebyshev.chebvander(2.0 * shares(parts) - 1.0, parts)))


def rounding(residual: float, scale: float) -> float:
    """Return how large values are that rounding makes, near a zero that was found with a ``residual``."""
    return min(4.0 * abs(residual), GRAZE * scale) + TOUCH * scale


def extrema(value: Value, looks: list[Look], coefficients: Array, near: float, scale: float) -> list[Look]:
    """Return looks at the extrema of the polynomial, refined on the function where it comes near to zero."""
    slope = chebyshev.chebtrim(chebyshev.chebder(coefficients), EPS * float(np.abs(coefficients).max()))
    if len(slope) < 2:
        return []
    start, end = looks[0].t, looks[-1].t
    roots = chebyshev.chebroots(slope)
    inner = np.sort(roots.real[(np.abs(roots.imag) < 1e-6) & (np.abs(roots.real) < 1.0)])
    times = [t for t in (start + (end - start) * 0.5 * (1.0 + inner)).tolist() if start < t < end]
    points = [Look(t, value(t)) for t in times]
    border = sorted([*looks, *points])
    return [refined_extremum(value, border, point, scale) if abs(point.value) <= near else point for point in points]


def refined_extremum(value: Value, border: list[Look], point: Look, scale: float) -> Look:
    """Return an extremum near to zero as found on the function, where that tells whether it reaches zero."""
    place = next(k for k, look in enumerate(border) if look.t == point.t)
    before, after = border[max(place - 1, 0)], border[min(place + 1, len(border) - 1)]
    sign = np.sign(before.value)
    if sign == 0.0 or sign != np.sign(after.value):
        return point
    options = {"xatol": FINEST * (after.t - before.t), "maxiter": 60}
    if point.value * sign > TOUCH * scale:
        answer = minimize_scalar(
            lambda t: sign * value(t), bounds=(before.t, after.t), method="bounded", options=options
        )
        if answer.fun < sign * point.value:
            point = Look(float(answer.x), float(sign * answer.fun))
    return point._replace(touches=abs(point.value) <= TOUCH * scale)


def along(value: Value, looks: list[Look], at_zero: bool, band: float, scale: float) -> Found:
    """Return the changes of sign between looks in their order."""
    zeros, side, first = list[Zero](), 0 if at_zero else int(np.sign(looks[0].value)), 0
    last = looks[0]  # with the sign ``side``
    for look in looks[1:]:
        sign = int(np.sign(look.value))
        if look is looks[-1] and abs(look.value) <= TOUCH * scale:
            sign = 0
        if side == 0:
            if abs(look.value) > band:
                side, first, last = sign, first or sign, look
            continue
        first = first or side
        if look.touches:
            zeros.append(Zero(look.t, side))
            continue
        if sign != side:
            zeros.append(Zero(root(value, last, look if sign else look._replace(value=0.0)), side))
            side, band = sign, 0.0
        last = look
    return Found(zeros, looks[-1].value, side, first, scale)


def root(value: Value, before: Look, after: Look) -> float:
    """Return the time at which the sign of ``before`` ends [s]; ``after`` has another sign, or none."""
    near = 1e-15 * (after.t - before.t)

    def bent(t: float) -> float:
        found = before.value if t == before.t else after.value if t == after.t else value(t)
        return found if found != 0.0 or after.value != 0.0 else -before.value

    return float(brentq(bent, before.t, after.t, xtol=max(near, 5e-324), rtol=4.0 * EPS))


class EventError(InputError):
    """Events that follow each other without end: at one instant, or ever faster up to the time ``t``.

    The Simulation stands at the last event, behind its actions. ``result`` has the run so far.

    Parameters
    ----------
    message : str
        Sentence for the user.
    t : float
        Time of the instant, or of the accumulation [s].
    events : Iterable[str]
        Names of the events.
    """

    def __init__(self, message: str, *, t: float, events: Iterable[str]) -> None:
        super().__init__(message)
        self.t, self.events = t, tuple(events)


@dataclass(frozen=True)
class Event:
    """A function of the state, and the action where its sign changes.

    A function that reaches zero from one side has an event there: it crosses zero, touches it, or stays on it. A
    function that leaves zero, as at the start of a run or behind an event, has none. A dip that ends before zero by
    more than rounding is no event; a dip past zero has two.

    Events at one instant all happen, in the order of their ``priority`` and then as they were listed. Behind each
    action all functions are looked at again. A function that the action moved across zero, in its direction, has an
    event at the same instant. An event that has its zero at the instant happens even if an action moved its function.
    When one of them stops the run, the others happen too.

    Runs with steps of h take the step with an event anew, up to the event. Those with a tolerance read dense output.

    A run raises EventError, with the time and the names, where events follow each other without end. Actions may cause
    each other's events at one instant. Events may also become ever faster, as of a ball that comes to rest by smaller
    and smaller bounces.

    Parameters
    ----------
    when : callable
        Function of an ``Instant`` that returns a number; its change of sign is the event.
    action : callable, optional
        Function of the Simulation, which stands at the event. It may set inputs, coordinates and rates, and restore
        another state of the same time. The run goes on from there.
    direction : int, default 0
        1 when only changes from minus to plus count, -1 for the reverse, 0 for both.
    stop : bool, optional
        True ends the run at the event. Unless given, it is True where there is no action.
    name : str, default ""
        Name in the log; that of the function unless given.
    priority : float, default 0.0
        Any finite number; of the events of an instant, the one with the highest happens first.

    Raises
    ------
    InputError
        For an argument out of range.

    Examples
    --------
    >>> def bounce(sim):
    ...     sim.set("pivot.rate", -0.8 * sim["pivot.rate"])
    >>> wall = rtmbs.Event(lambda s: s["pivot.angle"], action=bounce, direction=1, name="wall")
    >>> sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
    >>> result = sim.run(2.0, when=wall)
    >>> [(one.event.name, round(one.t, 3)) for one in result.events]
    [('wall', 0.592), ('wall', 1.694)]
    """

    when: Callable[["Instant"], float]
    action: Callable[[Any], None] | None = None
    direction: int = 0
    stop: bool | None = None
    name: str = ""
    priority: float = 0.0

    def __post_init__(self) -> None:
        if not callable(self.when):
            raise InputError(f"when is {shown(self.when)}; it must be a function of the state that returns a number")
        if not (self.action is None or callable(self.action)):
            raise InputError(f"action is {shown(self.action)}; it must be a function of the Simulation")
        if isinstance(self.direction, bool) or self.direction not in (-1, 0, 1):
            raise InputError(f"direction is {shown(self.direction)}; it must be -1, 0 or 1")
        if self.stop is not None:
            switches(stop=self.stop)
        if not isinstance(self.name, str):
            raise InputError(f"name is {shown(self.name)}; it must be a word")
        if not is_number(self.priority):
            raise InputError(f"priority is {shown(self.priority)}; it must be a finite number")

    @property
    def stops(self) -> bool:
        """True when the run ends at the event."""
        return self.action is None if self.stop is None else bool(self.stop)

    @property
    def called(self) -> str:
        """The name in the log and in messages."""
        return self.name or str(getattr(self.when, "__name__", type(self.when).__name__))


@dataclass(frozen=True)
class PickledFunction:
    """Stand-in for the function of an event in a pickled result."""

    name: str

    def __call__(self, instant: "Instant") -> float:
        raise InputError(
            f"event {self.name!r} came with a pickled result, which does not hold its function; write the event anew"
        )


class Occurrence(NamedTuple):
    """An event that happened."""

    t: float  # [s]
    event: Event

    def without_functions(self) -> "Occurrence":
        """Return a copy that can be pickled, without the functions of the user."""
        event = self.event
        return Occurrence(
            self.t,
            Event(PickledFunction(event.called), None, event.direction, event.stops, event.called, event.priority),
        )


class Instant:
    """The argument of an event function: ``s.t``, ``s.z``, ``s.zd``, ``s.zdd``, ``s.s``, ``s.u``, or a channel by name.

    ``s["crank.position"]`` is a number or (components,); it takes longer than the arrays do.
    """

    def __init__(self, reader: "MomentReader", moment: Moment) -> None:
        self._reader, self._moment = reader, moment
        self.t, self.z, self.zd, self.zdd = moment.t, moment.z, moment.zd, moment.zdd
        self.lam, self.R0, self.u, self.s = moment.lam, moment.R0, moment.u, moment.s

    def __getitem__(self, name: str) -> Any:
        values = self._reader.read(self._moment, name)
        return float(values) if values.ndim == 0 else values


class MomentReader:
    """Reader of channels of one moment after the other; scratch is allocated once."""

    def __init__(self, system: System, tables: Tables) -> None:
        self.system, self.tables = system, tables
        self.offer: tuple[Samples, Evaluation, Mapping[str, Source]] | None = None
        self.shown: Moment | None = None  # the moment in the row of samples; None: of none, or half of one

    def read(self, moment: Moment, name: str) -> Array:
        """Return a channel at a moment. Raises UnknownNameError."""
        if self.offer is None:
            values = {field: np.ascontiguousarray(getattr(moment, field)[None]).copy() for field in OF_STATE}
            row = Samples(t=np.array([moment.t]), **values, doubtful=np.zeros(1))
            evaluated = Evaluation(self.system, self.tables, row)
            self.offer = row, evaluated, sources(self.system, evaluated)
        samples, resampled, channels = self.offer
        if self.shown is not moment:
            self.shown = None
            samples.t[0] = moment.t
            for field in OF_STATE:
                getattr(samples, field)[0] = getattr(moment, field)
            resampled.forget()
            self.shown = moment
        if name not in channels:
            raise unknown_name("channel", name, channels)
        return np.array(channels[name].channel(name).values[0])


def events_of(when: Any) -> list[Event]:
    """Return what the user gave as ``when`` as a list: a function, an Event, or several of them."""
    if when is None:
        return []
    try:
        listed = list(when) if isinstance(when, Iterable) and not isinstance(when, str) else [when]
    except TypeError:  # an array of no dimensions
        listed = [when]
    return [one if isinstance(one, Event) else Event(one) for one in listed]


def moment_of(state: Any) -> Moment:
    """Return a copy of a State as a moment."""
    return Moment(state.t, *(getattr(state, name).copy() for name in Moment._fields[1:]))


# ---- events along a run ---------------------------------------------------------------------------------------------


SMALL = 1e-7  # of the longest gap: a row of ever smaller gaps that comes so far has no end
UNRESOLVED = 1e-12  # of the time: gaps below it are rounding
ROW = 3  # gaps that are compared with as many before them


@dataclass
class Accumulation:
    """Gaps between events of one function."""

    last: float | None = None  # time of the last event [s]
    gaps: list[float] = field(default_factory=list)  # the last ones, at most 2 ROW [s]
    longest: float = 0.0  # at the beginning of the row of ever smaller gaps [s]
    present: float = 0.0  # longest of the last ROW gaps [s]

    def add(self, t: float) -> bool:
        """Take the time of an event [s]; True when the gaps have become too small for the row to end."""
        last, self.last = self.last, t
        if last is None or t == last:
            return False
        self.gaps = [*self.gaps, t - last][-2 * ROW :]
        before, self.present = self.present, max(self.gaps[-ROW:])
        if self.present > before:
            self.longest = self.present
        if len(self.gaps) <= ROW:
            return False
        return self.present < SMALL * self.longest or self.present < UNRESOLVED * abs(t)

    @property
    def rest(self) -> float:
        """Time from the last event to the accumulation, as of a geometric row [s]; 0 when unknown."""
        count = min(len(self.gaps) // 2, ROW)
        if not count:
            return 0.0
        late, early = sum(self.gaps[-count:]), sum(self.gaps[-2 * count : -count])
        return late * late / (early - late) if late < early else 0.0


SAME_STEP, SAME_TIME = 1e-11, 64.0 * EPS  # of a step, of the time: zeros so near to each other have one instant
NEVER = "event {!r} never changed its sign"
AGAIN = 100  # times that an event may happen at one instant
BEHIND = 1e-4  # of a step: where the slope at its end is taken from
ALONG = 1e-3, 1e-4  # of a step; of typical sizes: how far the motion is followed for the sign behind an action


class EventMonitor:
    """One event function along a run."""

    def __init__(self, event: Event, reader: MomentReader) -> None:
        self.event, self.reader = event, reader
        self.count = 0
        self.last = 0.0  # value at the last look
        self.at_zero = False  # the last look stood at a zero: its sign tells nothing
        self.scale = 0.0  # largest value in the last step
        self.expected = 0  # sign that the motion behind an action leads to; 0: unknown
        self.came, self.rests = 0, False  # sign before the last zero; its action left it there without a rate
        self.accumulation = Accumulation()

    @property
    def side(self) -> int:
        """Sign at the last look, 0 at a zero."""
        return 0 if self.at_zero else int(np.sign(self.last))

    @property
    def acts(self) -> bool:
        """True when the run is interrupted by the event."""
        return self.event.stops or self.event.action is not None

    def value(self, moment: Moment) -> float:
        """Return the value at a moment; InputError when the function raises or returns no number."""
        try:
            found: Any = self.event.when(Instant(self.reader, moment))
        except Exception as error:
            what = f"event {self.event.called!r} at t = {moment.t:g} s"
            raise InputError(f"{what} raised {type(error).__name__}: {error}; it must return a number") from error
        if type(found) is float and math.isfinite(found):
            return found
        what = f"event {self.event.called!r} at t = {moment.t:g} s"
        number = np.asarray(found) if not isinstance(found, str | bytes) else np.empty(0)
        if number.ndim != 0 or number.dtype.kind not in "fiub" or not math.isfinite(float(number)):
            raise InputError(f"{what} returned {shown(found)}; it must return one finite number")
        return float(number)

    def counts(self, side: int) -> bool:
        """True when a change of sign from ``side`` is an event."""
        return side != 0 and self.event.direction * side <= 0

    def zeros(self, stretch: Stretch, steps: Any = None) -> list[tuple[float, int]]:
        """Return times [s] of the zeros within a step, and the signs before them; EventError when one was too near.

        Where dense output has some, those along shorter ``steps`` of the method count, if these are given.
        """
        start = stretch.before.t
        found = self.found(stretch)
        if steps is not None and (found.zeros or (self.at_zero and found.first)):
            found = self.found(steps)
        if found.first and self.expected == -found.first and self.counts(self.expected):
            raise self.accumulated(start)
        if found.first:
            if self.rests and found.first == -self.came:
                raise self.fell_through(start)
            self.expected, self.rests = 0, False
        self.last, self.at_zero, self.scale = found.last, found.side == 0, found.scale
        return [(zero.t, zero.side) for zero in found.zeros]

    def found(self, states: Any) -> Found:
        """Return the zeros along the states of a step."""
        start, end = states.before.t, states.after.t
        return zeros_within(lambda t: self.value(states.at(t)), start, end, self.last, self.at_zero)

    def later(self, stretch: Stretch) -> float:
        """Return how much later than the end of a step its zero near there is [s], along the slope at the end."""
        back = BEHIND * stretch.h
        value, before = self.value(stretch.after), self.value(stretch.at(stretch.after.t - back))
        return -value * back / (value - before) if value != before else 0.0

    def take_value(self, value: float, residual: float) -> None:
        """Take the value at an instant at which the function has a zero, with a ``residual`` before the actions."""
        self.at_zero = value == residual or abs(value) <= rounding(residual, self.scale)
        self.last = value

    def predict_side(self, stretch: Stretch, dt: float) -> None:
        """Look where the motion leads from a zero, on straight lines of ``dt`` [s] from the start of ``stretch``."""
        try:
            ahead, behind = (self.value(stretch.along_rates(t)) - self.last for t in (dt, -dt))
        except InputError:  # the function need not have values there
            return
        crosses = ahead * behind < 0.0 and abs(ahead - behind) > 64.0 * EPS * abs(self.last)
        self.expected = int(np.sign(ahead)) if crosses else 0
        self.rests = max(abs(ahead), abs(behind), abs(self.last)) <= rounding(0.0, self.scale)

    def fell_through(self, t: float) -> EventError:
        """Return the error of a function that an action left at rest at its zero, and that went on through it."""
        return EventError(
            f"event {self.event.called!r}: its action left it at rest at its zero at t = {t:.9g} s, and nothing holds "
            "it there, so it goes on to the other side, as a body falls through a floor. Let the action hold the body, "
            "leave it a rate to the side where it belongs, or end the run",
            t=t,
            events=[self.event.called],
        )

    def accumulated(self, t: float) -> EventError:
        """Return the error of events that follow each other ever faster."""
        limit = t + self.accumulation.rest
        return EventError(
            f"event {self.event.called!r}: events accumulate at t = {limit:.9g} s, as when a ball comes to rest by "
            f"ever smaller bounces; the last one is at t = {t:.9g} s. Let an action hold the body when its rate is "
            "small, or end the run",
            t=limit,
            events=[self.event.called],
        )


class EventInstant(NamedTuple):
    """The events of one instant."""

    t: float  # [s]
    due: list[EventMonitor]  # events, in order
    at_zero: list[EventMonitor]  # functions with a zero there, in any direction


class EventHandler:
    """The events of a run, and the log of those located."""

    def __init__(self, events: Sequence[Event], system: System, tables: Tables, start: Moment) -> None:
        reader = MomentReader(system, tables)
        self.system = system
        self.monitors = [EventMonitor(event, reader) for event in events]
        self.place = {monitor: k for k, monitor in enumerate(self.monitors)}
        self.occurred: list[Occurrence] = []
        for monitor in self.monitors:
            monitor.last = monitor.value(start)
            monitor.at_zero = monitor.last == 0.0

    @property
    def warnings(self) -> dict[str, int]:
        """Warnings of a run: events that never happened."""
        return {NEVER.format(monitor.event.called): 1 for monitor in self.monitors if not monitor.count}

    def ordered(self, monitors: Iterable[EventMonitor]) -> list[EventMonitor]:
        """Return events in the order of an instant, each once."""
        return sorted(set(monitors), key=lambda monitor: (-monitor.event.priority, self.place[monitor]))

    def log(self, t: float, monitor: EventMonitor) -> None:
        """Write an event to the log."""
        monitor.count += 1
        self.occurred.append(Occurrence(t, monitor.event))

    def look(self, stretch: Stretch, steps: Any = None, same: float = 0.0) -> EventInstant | None:
        """Return the first instant of a step at which an event stops or acts; events before it go to the log.

        Shorter ``steps`` locate zeros, if given. Zeros nearer to each other than ``same`` [s] have one instant.
        """
        found = [
            (t, self.place[monitor], side, monitor)
            for monitor in self.monitors
            for t, side in monitor.zeros(stretch, steps)
        ]
        found.sort(key=lambda one: one[:2])
        while found:
            t = found[0][0]
            until = t + max(width(t, stretch.h), same)
            now = [one for one in found if one[0] <= until]
            found = found[len(now) :]
            for *_, side, monitor in reversed(now):
                monitor.came = side
            due = self.ordered(monitor for *_, side, monitor in now if monitor.counts(side))
            if any(monitor.acts for monitor in due):
                return EventInstant(t, due, self.ordered(monitor for *_, monitor in now))
            for monitor in due:
                self.log(t, monitor)
        return None

    def events_of_jump(self, now: Moment) -> EventInstant:
        """Return the events of functions whose sign a jump has changed; all take their values behind it."""
        return EventInstant(now.t, self.ordered(self.changed_signs(now)), [])

    def changed_signs(self, now: Moment) -> list[EventMonitor]:
        """Take the values of all functions at a moment, and return the events whose functions changed sign."""
        due = []
        for monitor in self.monitors:
            value = monitor.value(now)
            if monitor.at_zero:
                monitor.take_value(value, monitor.last)
                continue
            if np.sign(value) != monitor.side and monitor.counts(monitor.side):
                due.append(monitor)
            monitor.last, monitor.at_zero = value, value == 0.0
        return due

    def act(self, sim: Any, instant: EventInstant, h: float) -> bool:
        """Let the events of an instant happen; True when the run ends. Raises EventError for a chain without end."""
        t, stops = instant.t, False
        pending, times, acted = list(instant.due), Counter[EventMonitor](), list[EventMonitor]()
        while pending:
            monitor = pending.pop(0)
            times[monitor] += 1
            if times[monitor] > AGAIN:
                raise chain(t, [one.event.called for one in self.ordered(times) if times[one] > AGAIN // 10])
            self.log(t, monitor)
            stops |= monitor.event.stops
            if monitor.event.action is None:
                continue
            with callback_rights(sim, CHANGE, f"the action of event {monitor.event.called!r}"):
                monitor.event.action(sim)
            acted.append(monitor)
            if sim.t != t:
                raise InputError(
                    f"event {monitor.event.called!r} at t = {t:g} s: its action left the time at {sim.t:g} s; an "
                    "action sets inputs or restores a state of the same time"
                )
            pending = self.ordered([*pending, *self.changed_signs(moment_of(sim.state))])
        if acted and not stops:
            self.go_on(moment_of(sim.state), self.ordered(acted), h)
        return stops

    def take_values(self, now: Moment, instant: EventInstant) -> None:
        """Take the values at an instant before its actions."""
        for monitor in self.monitors:
            monitor.last = monitor.value(now)
            monitor.at_zero = monitor in instant.at_zero or abs(monitor.last) <= rounding(0.0, monitor.scale)

    def go_on(self, now: Moment, acted: Sequence[EventMonitor], h: float) -> None:
        """Look where functions at a zero go behind actions; EventError when events follow each other ever faster."""
        share, far = ALONG
        fastest = float(np.max(np.abs(now.zd) / self.system.typical, initial=0.0))
        dt = min(share * h, far / fastest if fastest else math.inf)
        stretch = Stretch(self.system.tables.dofs, now, now)
        for monitor in self.monitors:
            monitor.expected, monitor.rests = 0, False
            if monitor.at_zero and monitor in acted:
                monitor.predict_side(stretch, dt)
        for monitor in acted:
            if monitor.accumulation.add(now.t):
                raise monitor.accumulated(now.t)


def width(t: float, h: float) -> float:
    """Return how far apart zeros of one instant may be [s]."""
    return SAME_STEP * h + SAME_TIME * abs(t)


def chain(t: float, names: list[str]) -> EventError:
    """Return the error of actions that cause each other's events at one instant."""
    listed = ", ".join(repr(name) for name in names)
    return EventError(
        f"a chain of events without end at t = {t:.9g} s: {listed}, each more than {AGAIN // 10} times, because their "
        "actions move the functions across zero again; let an action leave them on one side",
        t=t,
        events=names,
    )


def breaking(lock: str, load: float, *, moment: bool = False, name: str = "") -> Event:
    """Return an event that opens a lock between two markers where its load reaches a strength.

    Parameters
    ----------
    lock : str
        Name of the lock.
    load : float
        Size of its force [N] that the lock bears, or of its moment [N m].
    moment : bool, default False
        Compare the moment at the second marker.
    name : str, default ""
        Name of the event in the log; "LOCK breaks" unless given.

    Returns
    -------
    Event
        Event for ``sim.run(..., when=...)``.

    Raises
    ------
    ModelError
        For a load that is no finite number.
    InputError
        For a load that is not above zero.

    Examples
    --------
    >>> rtmbs.breaking("weld", 500.0).name
    'weld breaks'
    """
    strength = number(load, f"breaking of {lock!r}: load")
    if strength <= 0.0:
        raise InputError(f"breaking of {lock!r}: load is {strength:g}; it must be above zero")
    part = slice(3, 6) if moment else slice(0, 3)

    def overload(instant: Instant) -> float:
        return float(np.linalg.norm(instant[f"{lock}.reaction"][part])) - strength

    def part_from(sim: Any) -> None:
        sim.set(f"{lock}.{LOCKED}", False)

    return Event(overload, action=part_from, direction=1, name=name or f"{lock} breaks")
