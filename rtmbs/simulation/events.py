"""Events as the user writes them, and the instant that an event function reads (METHODS 1.34)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.checks import is_number, switches
from rtmbs.results.catalogue import sources
from rtmbs.results.channel import Source
from rtmbs.results.evaluation import Evaluation
from rtmbs.results.samples import OF_STATE, Samples
from rtmbs.simulation.dense_output import Moment
from rtmbs.system.system import System
from rtmbs.system.tables import Array, Tables


class EventError(InputError):
    """Events that follow each other without end: at one instant, or ever faster up to the time ``t``.

    ``t`` [s] is that time, ``events`` the names of the events. The Simulation stands at the last event, behind its
    actions, and ``result`` has the run so far.
    """

    def __init__(self, message: str, *, t: float, events: Iterable[str]) -> None:
        super().__init__(message)
        self.t, self.events = t, tuple(events)


@dataclass(frozen=True)
class Event:
    """A function of the state whose sign is watched, and what happens where the sign changes.

    A function that reaches zero from one side has an event there: it crosses zero, touches it, or stays on it. A
    function that leaves zero, as at the start of a run or behind an event, has none. A dip that ends before zero by
    more than rounding is no event; one that goes past zero has two.

    Events at one instant all happen, in the order of their ``priority`` and then as they were listed. Behind each
    action all functions are looked at again. A function that the action moved across zero, in its direction, has an
    event at the same instant. An event that has its zero at the instant happens even if an action moved its function.
    When one of them stops the run, the others happen too.

    Parameters
    ----------
    when : takes an ``Instant`` and returns a number; its change of sign is the event
    action : called with the Simulation, which stands at the event: it may set inputs, coordinates and rates, and
        restore another state of the same time. The run goes on from there
    direction : 1 when only changes from minus to plus count, -1 for the reverse, 0 for both
    stop : ends the run at the event; True unless there is an action
    name : in the log, that of the function unless given
    priority : any number; of the events of an instant, the one with the highest happens first

    A run raises EventError, with the time and the names, where events follow each other without end: actions that cause
    each other's events at one instant, or ever faster events, as of a ball that comes to rest by smaller and smaller
    bounces.

        Event(lambda s: s["slide.displacement"], action=bounce, direction=-1)
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
