"""Parts of a result: some samples, a span of time, values between samples (METHODS 1.39)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.results.channel import QUATERNION, TIME, Record, Source

Array = NDArray[np.float64]

KINDS = ("linear", "cubic")
Sources = Callable[[], Mapping[str, Source]]
FLAG = "_doubtful"  # how the names of channels end that are 0 or 1


def rows_of(record: Record, rows: slice) -> Sources:
    """Return the samples that a slice means."""
    if not len(range(*rows.indices(len(record)))):
        raise InputError(f"samples {shown(rows)} of {len(record)} are none; give a slice that holds one at least")
    return derived(record, lambda name: record.read(name).values[rows])


def between(record: Record, start: float, end: float) -> Sources:
    """Return the samples from ``start`` to ``end`` [s], both included."""
    for bound in (start, end):
        if not (isinstance(bound, int | float | np.floating) and np.isfinite(bound)):
            raise InputError(f"between takes two times in seconds; {shown(bound)} is none")
    first, last = np.searchsorted(record.t, start), np.searchsorted(record.t, end, side="right")
    if first >= last:
        raise InputError(
            f"no sample lies between t = {start:g} s and t = {end:g} s; the result goes from {span(record)}"
        )
    return rows_of(record, slice(int(first), int(last)))


def at_times(record: Record, times: Sequence[float] | Array, kind: str) -> Sources:
    """Return the values at ``times`` (k,) [s]."""
    if kind not in KINDS:
        raise InputError(f"kind is {shown(kind)}; it must be one of {', '.join(map(repr, KINDS))}")
    try:
        t = np.array(times, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"times is {shown(times)}; it must be a list of times in seconds") from None
    if t.ndim != 1 or not len(t) or not np.all(np.isfinite(t)) or np.any(np.diff(t) <= 0.0):
        raise InputError(f"times is {shown(times)}; they must be finite and ascend")
    if t[0] < record.t[0] or t[-1] > record.t[-1]:
        raise InputError(
            f"times go from {t[0]:g} s to {t[-1]:g} s, and the result from {span(record)}; nothing is extrapolated"
        )
    if len(record) < 2:
        return rows_of(record, slice(None))
    return derived(record, partial(interpolated, record, t, kind))


def interpolated(record: Record, t: Array, kind: str, name: str) -> Array:
    """Return a channel at times ``t`` (k,); a sample that is met keeps its bytes."""
    if name == TIME:
        return t
    channel, known = record.read(name), record.t
    right = np.clip(np.searchsorted(known, t), 1, len(known) - 1)
    met = np.where(known[right - 1] == t, right - 1, np.where(known[right] == t, right, -1))
    if name.endswith(FLAG):  # doubtful between samples when one of them is
        before, behind = (channel.values[k].astype(np.int64) for k in (right - 1, right))
        values = (before | behind).astype(np.float64)
    elif kind == "cubic" and len(known) > 3:
        values = cubic(known, channel.values, t)
    else:
        share = ((t - known[right - 1]) / (known[right] - known[right - 1])).reshape(-1, *(1,) * len(channel.axes[:1]))
        values = (1.0 - share) * channel.values[right - 1] + share * channel.values[right]
    if channel.axes == QUATERNION:
        values = values / np.linalg.norm(values, axis=1, keepdims=True)
    values[met >= 0] = channel.values[met[met >= 0]]
    return values


def cubic(known: Array, values: Array, t: Array) -> Array:
    """Return the cubic spline through samples at times ``t``."""
    from scipy.interpolate import CubicSpline

    return np.array(CubicSpline(known, values)(t), np.float64)


def derived(record: Record, values: Callable[[str], Array]) -> Sources:
    """Return a function that lists the channels of a record, with values that a function of the name gives."""

    def sources() -> dict[str, Source]:
        found = {}
        for name in record.names():
            axes, unit = record.about(name)
            found[name] = Source(axes, unit, partial(values, name), record.frame(name))
        return found

    return sources


def span(record: Record) -> str:
    """Return the first and the last time in words."""
    return f"{record.t[0]:g} s to {record.t[-1]:g} s"


def slice_of(record: Record, key: Any) -> Sources:
    """Return the samples of a slice in brackets: whole numbers count samples."""
    bounds = (key.start, key.stop, key.step)
    if not all(bound is None or isinstance(bound, int | np.integer) for bound in bounds):
        raise InputError(
            f"{shown(key)} is no slice of samples; whole numbers count samples, and result.between(0.5, 1.0) takes "
            "times in seconds"
        )
    if key.step is not None and key.step <= 0:
        raise InputError(f"{shown(key)} goes backwards; time must ascend, so the step must be positive")
    return rows_of(record, key)
