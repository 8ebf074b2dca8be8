"""Functions of time as one recorded program, for the native library: no Python runs there."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import Program, lowered, record_branches
from rtmbs.ad.errors import TraceError, UnsupportedFunctionError
from rtmbs.errors import InputError
from rtmbs.model.profiles import ConstantRate, Sine, SmoothStep
from rtmbs.system.input_slots import signal_values
from rtmbs.system.law_tables import no_program
from rtmbs.system.system import Signal

Array = NDArray[np.float64]
TRIED = (0.0, 0.11, 0.37, 0.83, 1.7, 12.9)  # [s] times at which a recorded function is compared with the function
AGREES = 1e-9  # relative: rounding of sums in another order


def recorded_signals(signals: Sequence[Signal]) -> tuple[Program, NDArray[np.int64]]:
    """Return the program of all functions of time, and the slots (k,) of its outputs.

    Parameters
    ----------
    signals : Sequence[Signal]
        Functions of time of a System.

    Returns
    -------
    tuple[Program, ndarray]
        Program of one independent, the time, and the input slot of each output.

    Raises
    ------
    InputError
        For a function that cannot be recorded, and for one that jumps, with its name.
    """
    if not signals:
        return no_program(), np.zeros(0, np.int64)
    functions = [traceable(signal) for signal in signals]

    def all_values(x: Any) -> Any:
        return np.concatenate([np.stack(list(function(x[0]))) for function in functions])

    for signal, function in zip(signals, functions, strict=True):
        check_recorded(signal, function)
    size = sum(signal.size for signal in signals)
    tape, _ = record_branches(all_values, 1, size)
    slots = [slot for signal in signals for slot in range(signal.slot, signal.slot + signal.size)]
    return lowered(tape), np.array(slots, np.int64)


def traceable(signal: Signal) -> Callable[[Any], Sequence[Any]]:
    """Return the function of a signal as one that takes a traced time and returns ``size`` values."""
    function = getattr(signal.function, "function", signal.function)
    if function is float:
        return lambda t: (1.0 * t,)
    if isinstance(function, Sine):
        return lambda t: sine(function, t)
    if isinstance(function, SmoothStep):
        return lambda t: smooth_step(function, t)
    if isinstance(function, ConstantRate):
        return lambda t: (function.start + function.rate * t, function.rate + 0.0 * t, 0.0 * t)
    if signal.size == 1:
        return lambda t: (1.0 * np.reshape(function(t), ()),)
    return lambda t: [part + 0.0 * t for part in function(t)]


def sine(given: Sine, t: Any) -> Sequence[Any]:
    """Return value, rate and acceleration of a ``Sine``."""
    w = given.frequency_rad_s
    wave = given.amplitude * np.sin(w * t + given.phase)
    return given.offset + wave, given.amplitude * w * np.cos(w * t + given.phase), -w * w * wave


def smooth_step(given: SmoothStep, t: Any) -> Sequence[Any]:
    """Return value, rate and acceleration of a ``SmoothStep``."""
    span, rise = given.t1 - given.t0, given.end - given.start
    s = np.minimum(np.maximum((t - given.t0) / span, 0.0), 1.0)
    f = s * s * s * (10.0 + s * (6.0 * s - 15.0))
    rest = s * (1.0 - s)
    return given.start + rise * f, rise * 30.0 * (rest * rest) / span, rise * 60.0 * rest * (1.0 - 2.0 * s) / span**2


def check_recorded(signal: Signal, function: Callable[[Any], Sequence[Any]]) -> None:
    """Refuse a function of time that jumps, that cannot be recorded, or that is another when recorded: InputError."""
    if signal.jumps:
        raise InputError(
            f"the function of time {signal.name!r} jumps at t = {signal.jumps[0]:g} s, which a native library does not "
            "follow; make it an rtmbs.Input, which the host sets"
        )
    way_out = "write it with numpy, without conditions, or make it an rtmbs.Input, which the host sets"
    try:
        tape, ways = record_branches(lambda x: np.stack(list(function(x[0]))), 1, signal.size)
    except (TraceError, UnsupportedFunctionError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the function of time {signal.name!r} cannot be recorded ({error}); {way_out}") from error
    if ways > 1 and signal.jumps is None:
        raise InputError(f"the function of time {signal.name!r} has conditions, so it may jump; {way_out}")
    for t in TRIED:
        wanted = signal_values(signal, t)
        found = np.array([float(value) for value in function(np.float64(t))])
        size = np.maximum(np.abs(wanted), 1e-3)
        if not np.all(np.abs(found - wanted) <= AGREES * size) or not math.isfinite(float(np.sum(found))):
            raise InputError(
                f"the function of time {signal.name!r} returns {wanted.tolist()} at t = {t:g} s and "
                f"{found.tolist()} when it is recorded; {way_out}"
            )
