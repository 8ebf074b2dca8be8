"""Functions of time: their values at a time, and which inputs no mechanism may have."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.limits.bounds import BEYOND
from rtmbs.system.system import Signal, System

Array = NDArray[np.float64]


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
    if not u.size or in_range(u):
        return ()
    bad = [name for name, place in system.inputs.items() if not in_range(u[place])]
    for signal in system.signals:
        if not in_range(u[signal.slot : signal.slot + signal.size]) and signal.name not in bad:
            bad.append(signal.name)
    nameless = [f"u[{slot}]" for slot in range(len(u)) if not in_range(u[slot : slot + 1])]  # of no input
    return tuple(bad or nameless)
