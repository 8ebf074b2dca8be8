"""Inputs by name: what the user may change between steps, and functions of time (DESIGN section 2)."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.limits.bounds import BEYOND
from rtmbs.model.checks import as_floats
from rtmbs.system.system import Signal, System

Array = NDArray[np.float64]


class Holder(Protocol):
    """Whoever holds the State that counts; a Simulation."""

    def read_input(self, place: slice) -> Array:
        """Return the numbers of one input."""

    def write_input(self, place: slice, numbers: Array) -> None:
        """Change one input of the State that counts."""


class Inputs(Mapping[str, Any]):
    """``inputs["motor.torque"] = 3.0`` takes effect at once: the accelerations of the present instant jump with it.

    The values belong to the holder's State. The holder is asked every time, so that a step commits by one assignment.
    """

    def __init__(self, system: System, holder: Holder) -> None:
        self._system, self._holder = system, holder
        self._timed = {slot for signal in system.signals for slot in range(signal.slot, signal.slot + signal.size)}

    def __getitem__(self, name: str) -> float | Array:
        place = self._place(name)
        values = self._holder.read_input(place)
        return float(values[0]) if len(values) == 1 else values.copy().reshape(self._system.shapes.get(name, -1))

    def __setitem__(self, name: str, value: Any) -> None:
        place = self._place(name)
        size = place.stop - place.start
        if self._timed & set(range(place.start, place.stop)):
            raise InputError(f"input {name!r} is a function of time; give the force an rtmbs.Input to set it by hand")
        wanted = f"input {name!r} takes {size} number{'s' if size > 1 else ''}"
        try:
            numbers = as_floats(value).reshape(-1)
        except ValueError:
            raise InputError(f"{wanted}, got {shown(value)}") from None
        if numbers.size != size:
            raise InputError(f"{wanted}, got {numbers.size}")
        if not np.all(np.isfinite(numbers)):
            raise InputError(f"input {name!r} must be finite, got {shown(value)}")
        self._holder.write_input(place, numbers)

    def __contains__(self, name: object) -> bool:
        return name in self._system.inputs

    def __iter__(self) -> Iterator[str]:
        return iter(self._system.inputs)

    def __len__(self) -> int:
        return len(self._system.inputs)

    def _place(self, name: str) -> slice:
        try:
            return self._system.inputs[name]
        except (KeyError, TypeError):  # or a name that nothing can be looked up by
            raise unknown_name("input", name, self._system.inputs) from None


def evaluate_signals(system: System, t: float, u: Array) -> None:
    """Write every function of time at ``t`` into ``u``.

    Whatever the user's function raises passes through, with a note that names the signal; so does a wrong number of
    numbers. One that is not finite stays in ``u``: the step then answers NOT_FINITE and names the signal.
    """
    for signal in system.signals:
        u[signal.slot : signal.slot + signal.size] = signal_values(signal, t)


def signal_values(signal: Signal, t: float) -> Array:
    """Return the values (size,) of one function of time at ``t``; raises as ``evaluate_signals`` does."""
    try:
        values = np.asarray(signal.function(t), np.float64)
        if values.shape != (signal.size,):
            raise InputError(f"{signal.name!r} returned {values.tolist()!r}; it must return {signal.size} numbers")
    except Exception as error:
        error.add_note(f"in the function of time {signal.name!r} at t = {t:g} s")
        raise
    return values


def in_range(values: Array) -> bool:
    """True when every entry is a number that a mechanism may have."""
    return bool(np.abs(values).max(initial=0.0) <= BEYOND)  # NaN is not


def not_finite_inputs(system: System, u: Array) -> tuple[str, ...]:
    """Return the names of inputs and signals that hold a number that is not finite, or beyond all range."""
    if in_range(u):
        return ()
    bad = [name for name, place in system.inputs.items() if not in_range(u[place])]
    for signal in system.signals:
        if not in_range(u[signal.slot : signal.slot + signal.size]) and signal.name not in bad:
            bad.append(signal.name)
    nameless = [f"u[{slot}]" for slot in range(len(u)) if not in_range(u[slot : slot + 1])]  # of no input
    return tuple(bad or nameless)
