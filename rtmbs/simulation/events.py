"""Events: functions of the state whose zeros are found on the dense output of a step (METHODS 1.34)."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.checks import switches
from rtmbs.results.catalogue import sources
from rtmbs.results.channel import Source
from rtmbs.results.resampled import Resampled
from rtmbs.results.samples import OF_STATE, Samples
from rtmbs.simulation.dense import Moment, Stretch
from rtmbs.simulation.turns import Array
from rtmbs.system.system import System
from rtmbs.system.tables import Tables

NEAR = 1e-12  # [s] how near to a zero the search ends
LOOKS = (0.5, 1.0)  # shares of a step: an event that is over between two looks is not seen
FIRST_LOOKS = (1e-6, 1e-4, 1e-2, 0.1, *LOOKS)  # of the step behind an action, where the sign is yet to be seen


@dataclass(frozen=True)
class Event:
    """A function of the state whose sign is watched, and what happens where the sign changes.

    Parameters
    ----------
    when : takes an ``Instant`` and returns a number; its change of sign is the event
    action : called with the Simulation, which stands at the event: it may set inputs and restore another state of the
        same time. The run goes on from there
    direction : 1 when only changes from minus to plus count, -1 for the reverse, 0 for both
    stop : ends the run at the event; True unless there is an action
    name : in the log, that of the function unless given

        Event(lambda s: s["slide.displacement"], action=bounce, direction=-1)
    """

    when: Callable[["Instant"], float]
    action: Callable[[Any], None] | None = None
    direction: int = 0
    stop: bool | None = None
    name: str = ""

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

    @property
    def stops(self) -> bool:
        """True when the run ends at the event."""
        return self.action is None if self.stop is None else bool(self.stop)

    @property
    def called(self) -> str:
        """The name in the log and in messages."""
        return self.name or str(getattr(self.when, "__name__", type(self.when).__name__))


@dataclass(frozen=True)
class Gone:
    """In the place of the function of an event that a pickled result tells of."""

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
        """Return what can be pickled of it: the functions of the user need not be such."""
        event = self.event
        return Occurrence(self.t, Event(Gone(event.called), None, event.direction, event.stops, event.called))


class Instant:
    """What an event function looks at: ``s.t``, ``s.z``, ``s.zd``, ``s.zdd``, ``s.s``, ``s.u``, or a channel by name.

    ``s["crank.position"]`` is a number or (components,); it takes longer than the arrays do.
    """

    def __init__(self, sensor: "Sensor", moment: Moment) -> None:
        self._sensor, self._moment = sensor, moment
        self.t, self.z, self.zd, self.zdd = moment.t, moment.z, moment.zd, moment.zdd
        self.lam, self.R0, self.u, self.s = moment.lam, moment.R0, moment.u, moment.s

    def __getitem__(self, name: str) -> Any:
        values = self._sensor.read(self._moment, name)
        return float(values) if values.ndim == 0 else values


class Sensor:
    """Reads channels of one moment after the other; what a channel needs is allocated once."""

    def __init__(self, system: System, tables: Tables) -> None:
        self.system, self.tables = system, tables
        self.offer: tuple[Samples, Resampled, Mapping[str, Source]] | None = None
        self.shown: Moment | None = None  # the moment in the row of samples; None: of none, or half of one

    def read(self, moment: Moment, name: str) -> Array:
        """Return a channel at a moment. Raises UnknownNameError."""
        if self.offer is None:
            values = {field: np.ascontiguousarray(getattr(moment, field)[None]).copy() for field in OF_STATE}
            row = Samples(t=np.array([moment.t]), **values, doubtful=np.zeros(1))
            evaluated = Resampled(self.system, self.tables, row)
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


class Watch:
    """One event function along a run."""

    def __init__(self, event: Event, system: System, tables: Tables) -> None:
        self.event, self.sensor = event, Sensor(system, tables)
        self.last: float | None = None  # value at the last look; None: unknown
        self.count = 0

    def value(self, moment: Moment) -> float:
        """Return the value at a moment; InputError when the function raises or returns no number."""
        what = f"event {self.event.called!r} at t = {moment.t:g} s"
        try:
            found: Any = self.event.when(Instant(self.sensor, moment))
        except Exception as error:
            raise InputError(f"{what} raised {type(error).__name__}: {error}; it must return a number") from error
        number = np.asarray(found) if not isinstance(found, str | bytes) else np.empty(0)
        if number.ndim != 0 or number.dtype.kind not in "fiub" or not math.isfinite(float(number)):
            raise InputError(f"{what} returned {shown(found)}; it must return one finite number")
        return float(number)

    def crossings(self, stretch: Stretch) -> list[float]:
        """Return the times at which the value changes its sign within a step [s]."""
        left, found = stretch.before.t, []
        for share in FIRST_LOOKS if self.last is None else LOOKS:
            right = stretch.after.t if share == 1.0 else stretch.before.t + stretch.h * share
            before, after = self.last, self.value(stretch.at(right))
            self.last = after
            if before is not None and self.counts(before, after):
                found.append(self.root(stretch, left, right, before, after))
            left = right
        return found

    def counts(self, before: float, after: float) -> bool:
        """True when the change from ``before`` to ``after`` is one of sign, in a direction that is watched."""
        if before == 0.0 or before * after > 0.0:
            return False
        return self.event.direction * before <= 0.0

    def root(self, stretch: Stretch, left: float, right: float, before: float, after: float) -> float:
        """Return the time of the zero between two looks with values of different signs [s]."""
        if after == 0.0:
            return right

        def value(t: float) -> float:
            return before if t == left else after if t == right else self.value(stretch.at(t))

        return float(brentq(value, left, right, xtol=NEAR, rtol=4.0 * np.finfo(float).eps))


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
