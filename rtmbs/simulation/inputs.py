"""Inputs by name: what the user may change between steps, and functions of time."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.model.checks import as_floats
from rtmbs.system.system import System

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


def point_of(point: Any) -> Array:
    """Return a point (3,) that the user gives in body axes [m]; InputError for anything else."""
    try:
        place = as_floats(point)
    except ValueError:
        place = np.zeros(0)
    if place.shape != (3,) or not np.all(np.isfinite(place)):
        raise InputError(f"point is {shown(point)}; it must be three numbers in body axes")
    return place
