"""Slots of the flat input array ``u``: parameters, inputs and functions of time, and evaluation of the latter."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import InputError, ModelError, shown
from rtmbs.model.checks import as_floats, numbers
from rtmbs.model.profiles import Given
from rtmbs.system.system import Array, Signal, System
from rtmbs.system.user_functions import identity, pack_function, unpack_function

Function = Callable[[float], Any]

BESIDE = 1e-9  # of a second, or of the time: so near to a declared jump are the values before and after
CONTINUOUS, STEEP = 1e-6, 20.0  # of the size, and of what its derivative explains, tenfold: a change that is no jump


@dataclass
class Slots:
    """Input array ``u`` under construction."""

    values: list[Array] = field(default_factory=list)
    used: int = 0
    inputs: dict[str, slice] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of inputs that are tables
    signals: list[Signal] = field(default_factory=list)
    identities: list[str] = field(default_factory=list)  # what tells the functions of the signals from others

    def add(self, value: Array) -> int:
        """Append numbers and return their slot."""
        slot = self.used
        self.values.append(np.asarray(value, np.float64))
        self.used += len(value)
        return slot

    def add_input(self, name: str, value: Array) -> int:
        """Append numbers that the user may set by ``name``."""
        if name in self.inputs:
            raise ModelError(f"two inputs would be called {name!r}; rename a force or one of its parameters")
        slot = self.add(value)
        self.inputs[name] = slice(slot, self.used)
        return slot

    def add_signal(
        self, what: str, name: str, function: Function, size: int, *, driver: bool = False, smooth: bool = False
    ) -> int:
        """Append a function of time; it is tried at t = 0, that of a driver at its declared jumps as well.

        ``smooth`` says that it never jumps, for a function that cannot say so itself.
        """
        slot, jumps = self.add(sample(what, function, size)), () if smooth else jump_times(what, function)
        self.identities += [name, identity(function)]
        if driver:
            check_jumps(what, function, jumps or ())
        self.signals.append(Signal(slot, size, TimeFunction(what, function, size), name, jumps, driver))
        return slot

    def add_driver(self, name: str, profile: Any) -> int:
        """Append value, rate and acceleration of a driver: a function of time, or an input that the user sets."""
        if not isinstance(profile, Given):
            return self.add_signal(f"driver {name!r}", name, profile, 3, driver=True)
        self.identities += [name, "input"]
        return self.add_input(name, np.array(profile.start, np.float64))

    def array(self) -> Array:
        """Return u0."""
        return np.concatenate([np.zeros(0), *self.values])


def sample(what: str, function: Function, size: int, t: float = 0.0) -> Array:
    """Return a function's values at ``t`` [s], refused when they are not ``size`` finite numbers."""
    wanted = "one number" if size == 1 else f"{size} numbers"
    try:
        value = function(t)
    except Exception as error:  # the user's function may raise anything
        raise ModelError(f"{what} raised {type(error).__name__} at t = {t:g}: {error}") from error
    try:
        values = as_floats(value)
    except ValueError:
        values = np.zeros((0, 0))
    if values.shape != (size,) and not (size == 1 and values.ndim == 0):
        raise ModelError(f"{what} returned {shown(value)} at t = {t:g}; it must return {wanted}")
    if not np.all(np.isfinite(values)):
        raise ModelError(f"{what} returned {shown(value)} at t = {t:g}; it must return {wanted}, finite")
    return values.reshape(size)


def jump_times(what: str, function: Function) -> tuple[float, ...] | None:
    """Return the times [s] at which a function declares jumps, by ``jumps``; None without a declaration."""
    declared = getattr(function, "jumps", None)
    if declared is None:
        return None
    times = numbers(declared, f"{what}: jumps", (np.size(declared),))
    return tuple(np.unique(times).tolist())


def check_jumps(what: str, function: Function, jumps: tuple[float, ...]) -> None:
    """Refuse a declared jump in the value or the rate of a driver: no finite force can follow."""
    for time in jumps:
        near = BESIDE * max(1.0, abs(time))
        before, after = sample(what, function, 3, time - near), sample(what, function, 3, time + near)
        size = np.maximum(np.abs(before), np.abs(after))
        for k, name in enumerate(("value", "rate")):
            if abs(after[k] - before[k]) > CONTINUOUS * size[k] + STEEP * near * size[k + 1]:
                raise ModelError(
                    f"{what}: its {name} jumps from {before[k]:g} to {after[k]:g} at t = {time:g} s, which no finite "
                    "force can follow; only its second derivative may jump"
                )


@dataclass(frozen=True)
class TimeFunction:
    """A function of the user at ``t`` [s], as an array (size,)."""

    what: str  # as a message calls it
    function: Function
    size: int

    def __call__(self, t: float) -> Any:
        value = self.function(t)
        return np.asarray(value, np.float64).reshape(1) if self.size == 1 else value

    def __deepcopy__(self, memo: Any) -> "TimeFunction":
        return self  # as functions are

    def __reduce__(self) -> tuple[Any, ...]:
        return time_function, (self.what, pack_function(self.what, self.function), self.size)


def time_function(what: str, held: Any, size: int) -> TimeFunction:
    """Return a function of time from a pickle."""
    return TimeFunction(what, unpack_function(held), size)


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
    """Return whether every entry is finite and within the range of a mechanism."""
    return bool(np.abs(values).max(initial=0.0) <= BEYOND)  # NaN is not


def not_finite_inputs(system: System, u: Array) -> tuple[str, ...]:
    """Return the names of inputs and signals that hold a number that is not finite, or beyond all range."""
    if not u.size or in_range(u):
        return ()
    bad = [name for name, place in system.inputs.items() if not in_range(u[place])]
    for signal in system.signals:
        if not in_range(u[signal.slot : signal.slot + signal.size]) and signal.name not in bad:
            bad.append(signal.name)
    nameless = [f"u[{slot}]" for slot in range(len(u)) if not in_range(u[slot : slot + 1])]  # of no input
    return tuple(bad or nameless)
