"""Functions of time as one recorded program, for the native library: no Python runs there."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import Program, lowered, record_branches
from rtmbs.ad.errors import TraceError, UnsupportedFunctionError
from rtmbs.errors import InputError
from rtmbs.model.profiles import ConstantRate, Sine, SmoothStep, Spline, Staircase
from rtmbs.system.input_slots import BESIDE, signal_values
from rtmbs.system.law_tables import no_program
from rtmbs.system.system import Signal

Array = NDArray[np.float64]
TRIED = (0.0, 0.11, 0.37, 0.83, 1.7, 12.9)  # [s] times at which a recorded function is compared with the function
MOST_TRIED = 100  # jumps, beside which it is compared as well
AGREES = 1e-9  # relative: rounding of sums in another order


class TimeProgram(NamedTuple):
    """All functions of time of a System as one program."""

    program: Program  # of one independent, the time
    slot: NDArray[np.int64]  # (k,) input slot of each output
    parameter: Array  # (p,) numbers of known profiles, which a recorder must not multiply with each other


class Traceable(NamedTuple):
    """A function of time that a recorder can call: f(t, p) -> ``size`` values."""

    function: Callable[[Any, Any], Sequence[Any]]
    parameter: tuple[float, ...] = ()
    tried: tuple[float, ...] = ()  # further times of comparison [s]


def recorded_signals(signals: Sequence[Signal]) -> TimeProgram:
    """Return all functions of time as one program.

    Parameters
    ----------
    signals : Sequence[Signal]
        Functions of time of a System.

    Returns
    -------
    TimeProgram
        Program, slots and parameters.

    Raises
    ------
    InputError
        For a function that cannot be recorded, with its name.
    """
    if not signals:
        return TimeProgram(no_program(), np.zeros(0, np.int64), np.zeros(0))
    functions = [traceable(signal) for signal in signals]
    for signal, one in zip(signals, functions, strict=True):
        check_recorded(signal, one)
    counts = np.cumsum([0, *(len(one.parameter) for one in functions)])

    def all_values(x: Any, p: Any = None) -> Any:
        parts = [
            one.function(x[0], None if p is None else p[first : first + len(one.parameter)])
            for one, first in zip(functions, counts, strict=False)
        ]
        return np.concatenate([np.stack(list(part)) for part in parts])

    size = sum(signal.size for signal in signals)
    tape, _ = record_branches(all_values, 1, size, k=int(counts[-1]))
    slots = [slot for signal in signals for slot in range(signal.slot, signal.slot + signal.size)]
    parameter = np.array([number for one in functions for number in one.parameter], np.float64)
    return TimeProgram(lowered(tape), np.array(slots, np.int64), parameter)


def traceable(signal: Signal) -> Traceable:
    """Return the function of a signal as one that takes a traced time and returns ``size`` values."""
    function = getattr(signal.function, "function", signal.function)
    if function is float:
        return Traceable(lambda t, _: (1.0 * t,))
    if isinstance(function, Sine):
        return Traceable(sine, (function.amplitude, function.frequency_rad_s, function.phase, function.offset))
    if isinstance(function, SmoothStep):
        span, rise = function.t1 - function.t0, function.end - function.start
        return Traceable(smooth_step, (function.t0, span, function.start, rise))
    if isinstance(function, ConstantRate):
        return Traceable(lambda t, p: (p[0] + p[1] * t, p[1] + 0.0 * t, 0.0 * t), (function.start, function.rate))
    if isinstance(function, Staircase):
        return staircase(np.asarray(function.t, np.float64), np.asarray(function.values, np.float64))
    if isinstance(function, Spline):
        return spline(function.checked("Spline"))
    if signal.size == 1:
        return Traceable(lambda t, _: (1.0 * np.reshape(function(t), ()),))
    return Traceable(lambda t, _: [part + 0.0 * t for part in function(t)])


def sine(t: Any, p: Any) -> Sequence[Any]:
    """Return value, rate and acceleration of a ``Sine``, as it does itself."""
    amplitude, w, phase, offset = p[0], p[1], p[2], p[3]
    wave = amplitude * np.sin(w * t + phase)
    return offset + wave, amplitude * w * np.cos(w * t + phase), -w * w * wave


def smooth_step(t: Any, p: Any) -> Sequence[Any]:
    """Return value, rate and acceleration of a ``SmoothStep``, as it does itself."""
    t0, span, start, rise = p[0], p[1], p[2], p[3]
    s = np.minimum(np.maximum((t - t0) / span, 0.0), 1.0)
    f = s * s * s * (10.0 + s * (6.0 * s - 15.0))
    rest = s * (1.0 - s)
    fd, fdd = 30.0 * (rest * rest), 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
    return start + rise * f, rise * fd / span, rise * fdd / (span * span)


def beside(jumps: Sequence[float]) -> list[float]:
    """Return times just before and behind some jumps [s]."""
    return [t + side * BESIDE * max(1.0, abs(t)) for t in jumps[:MOST_TRIED] for side in (-1.0, 1.0)]


def staircase(times: Array, values: Array) -> Traceable:
    """Return a ``Staircase`` as selections of its values by its times."""
    count, rows = len(times), values.reshape(len(times), -1)
    size = rows.shape[1]

    def held(t: Any, p: Any) -> Sequence[Any]:
        parts = []
        for c in range(size):
            value = p[count + c] + 0.0 * t
            for k in range(1, count):
                value = np.where(t >= p[k], p[count + k * size + c], value)
            parts.append(value)
        return parts

    return Traceable(held, (*times.tolist(), *rows.ravel().tolist()))


def spline(profile: Spline) -> Traceable:
    """Return value, rate and acceleration of a ``Spline``: the coefficients of a piece are selected by its times."""
    times, coefficients = np.asarray(profile.t, np.float64), np.asarray(profile.coefficients, np.float64)
    count, pieces = len(times), len(times) - 1

    def motion(t: Any, p: Any) -> Sequence[Any]:
        inside = np.minimum(np.maximum(t, p[0]), p[count - 1])
        places = [0, *(count + row * pieces for row in range(4))]
        start, a, b, c, d = (p[place] + 0.0 * t for place in places)
        for k in range(1, pieces):
            later = inside >= p[k]
            start, a, b, c, d = (
                np.where(later, p[place + k], value) for place, value in zip(places, (start, a, b, c, d), strict=True)
            )
        s = inside - start
        f, fd = d + s * (c + s * (b + s * a)), c + s * (2.0 * b + 3.0 * s * a)
        fdd = np.where(t < p[0], 0.0, np.where(t > p[count - 1], 0.0, 2.0 * b + 6.0 * s * a))
        return f + fd * (t - inside), fd, fdd

    middles = 0.5 * (times[1:] + times[:-1])
    tried = (*middles[: MOST_TRIED // 2], *middles[-MOST_TRIED // 2 :], times[0] - 1.0, times[-1] + 1.0)
    return Traceable(motion, (*times.tolist(), *coefficients.ravel().tolist()), tuple(map(float, tried)))


def check_recorded(signal: Signal, one: Traceable) -> None:
    """Refuse a function of time that cannot be recorded, or that is another when recorded: InputError."""
    way_out = "write it with numpy, or make it an rtmbs.Input, which the host sets"
    try:
        numbers = np.array(one.parameter)
        record_branches(lambda x: np.stack(list(one.function(x[0], numbers))), 1, signal.size)
    except (TraceError, UnsupportedFunctionError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the function of time {signal.name!r} cannot be recorded ({error}); {way_out}") from error
    for t in (*TRIED, *one.tried, *beside(signal.jumps or ())):
        wanted = signal_values(signal, t)
        found = np.array([float(value) for value in one.function(np.float64(t), numbers)])
        size = np.maximum(np.abs(wanted), 1e-3)
        if not np.all(np.abs(found - wanted) <= AGREES * size) or not math.isfinite(float(np.sum(found))):
            raise InputError(
                f"the function of time {signal.name!r} returns {wanted.tolist()} at t = {t:g} s and "
                f"{found.tolist()} when it is recorded; {way_out}"
            )
