"""Events of a motion: zeros of functions of its state, located on the step that passes them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rtmbs.dae.contract import MotionError, Point
from rtmbs.dae.runs import Span
from rtmbs.errors import InputError, shown
from rtmbs.formulations.contract import ConstrainedSystem, states_of

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
