"""Whatever may change while running stands in one flat array ``u``; this is where its slots are given out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import as_floats
from rtmbs.system.identity import identity
from rtmbs.system.system import Array, Signal

TimeFunction = Callable[[float], Any]


@dataclass
class Slots:
    """``u`` being written."""

    values: list[Array] = field(default_factory=list)
    used: int = 0
    inputs: dict[str, slice] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of inputs that are tables
    signals: list[Signal] = field(default_factory=list)
    told: list[str] = field(default_factory=list)  # what tells the functions of the signals from others

    def add(self, value: Array) -> int:
        """Append numbers and return their slot."""
        slot = self.used
        self.values.append(np.asarray(value, np.float64))
        self.used += len(value)
        return slot

    def add_input(self, name: str, value: Array) -> int:
        """Append numbers that a person may set by ``name``."""
        if name in self.inputs:
            raise ModelError(f"two inputs would be called {name!r}; rename a force or one of its parameters")
        slot = self.add(value)
        self.inputs[name] = slice(slot, self.used)
        return slot

    def add_signal(self, what: str, name: str, function: TimeFunction, size: int) -> int:
        """Append a function of time; it is tried at t = 0."""
        slot = self.add(sample(what, function, size))
        self.told += [name, identity(function)]
        self.signals.append(Signal(slot, size, as_sequence(function) if size == 1 else function, name))
        return slot

    def array(self) -> Array:
        """Return u0."""
        return np.concatenate([np.zeros(0), *self.values])


def sample(what: str, function: TimeFunction, size: int) -> Array:
    """Return a function's values at t = 0, refused when they are not ``size`` finite numbers."""
    wanted = "one number" if size == 1 else f"{size} numbers"
    try:
        value = function(0.0)
    except Exception as error:  # a person's function may raise anything
        raise ModelError(f"{what} raised {type(error).__name__} at t = 0: {error}") from error
    try:
        values = as_floats(value)
    except ValueError:
        values = np.zeros((0, 0))
    if values.shape != (size,) and not (size == 1 and values.ndim == 0):
        raise ModelError(f"{what} returned {shown(value)} at t = 0; it must return {wanted}")
    if not np.all(np.isfinite(values)):
        raise ModelError(f"{what} returned {shown(value)} at t = 0; it must return {wanted}, finite")
    return values.reshape(size)


def as_sequence(function: TimeFunction) -> Callable[[float], Sequence[float]]:
    """Return a function of one number as one of a sequence."""
    return lambda t: np.reshape(function(t), 1)  # type: ignore[return-value]
