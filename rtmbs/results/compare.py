"""``compare``: how far two results lie apart (METHODS 1.39)."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.results.channel import Array, units_of
from rtmbs.results.comparison import Comparison, Difference, Verdict, added_by_interpolation, difference
from rtmbs.results.result import TIME, Result
from rtmbs.results.selection import interpolated, span

SAME_TIME = 1e-9  # of the shortest distance of samples: times nearer than that are one
ENOUGH = 2  # common times; with fewer the union of times is taken
TIMES = ("common", "union")
VIOLATION = re.compile(r"\.violation(_|$)")


def compare(
    a: Result,
    b: Result,
    *names: str,
    tolerance: float | None = None,
    times: str | None = None,
) -> Comparison:
    """Return how far two results lie apart, channel by channel.

    Parameters
    ----------
    a, b : results, of runs or of files
    names : channels to compare. Unless given, all that both have with the same axes and units, but for violations of
        loops: these are what a run leaves of zero
    tolerance : of the largest difference, relative to the largest value of the channel's unit in both results, at the
        times of the comparison
    times : "common" instants of both, or the "union" with straight lines between samples; common ones where there are
        two at least, unless given

    At times of interpolation the verdict is UNDECIDED when the interpolation may hide or make the difference.
    Raises UnknownNameError for a channel that one of them lacks, and InputError for results without a common span of
    time, without a common channel, or options out of range.

        print(rtmbs.compare(coarse, fine, tolerance=1e-4))
    """
    check(a, b, tolerance, times)
    for name in names:
        for whose, one in (("a", a), ("b", b)):
            if name not in one:
                raise unknown_name(f"channel of result {whose}", name, one.names())
    alike = [name for name in a if name in b and a.about(name) == b.about(name) and name != TIME]
    if unlike := [name for name in names if name not in alike]:
        raise InputError(
            f"channel {unlike[0]!r} cannot be compared: axes and units are {a.about(unlike[0])} in a and "
            f"{b.about(unlike[0])} in b"
        )
    compared = list(names) or [name for name in alike if not VIOLATION.search(name)]
    if not compared:
        raise InputError("the two results have no channel in common; compare results of one model")
    t, together = instants(a, b, times)
    scales = typical_sizes(a, b, t, compared)
    found = [judged(a, b, name, t, together, scales[a.about(name)[1]], tolerance) for name in compared]
    found.sort(key=lambda one: -one.relative if np.isfinite(one.relative) else -np.inf)
    rest = (tuple(name for name in one if name not in alike and name != TIME) for one in (a, b))
    return Comparison(a, b, t, tolerance, tuple(found), *(rest if not names else ((), ())))


def check(a: Any, b: Any, tolerance: Any, times: Any) -> None:
    """Refuse what cannot be compared: InputError."""
    for whose, one in (("first", a), ("second", b)):
        if not isinstance(one, Result):
            raise InputError(
                f"compare takes two Results, and the {whose} is {shown(one)}; rtmbs.load_result reads a file"
            )
    if tolerance is not None and not (isinstance(tolerance, int | float | np.floating) and 0.0 < tolerance < np.inf):
        raise InputError(f"tolerance is {shown(tolerance)}; it must be a positive number such as 1e-6")
    if times is not None and times not in TIMES:
        raise InputError(f"times is {shown(times)}; it must be one of {', '.join(map(repr, TIMES))}")


def instants(a: Result, b: Result, times: str | None) -> tuple[Array, bool]:
    """Return the times of the comparison (k,) [s], and whether both results have samples at all of them."""
    first, last = max(a.t[0], b.t[0]), min(a.t[-1], b.t[-1])
    if first > last:
        raise InputError(f"the results have no time in common: a goes from {span(a)}, b from {span(b)}")
    mine, theirs = (one.t[(one.t >= first) & (one.t <= last)] for one in (a, b))
    near = SAME_TIME * min(np.diff(one.t).min(initial=np.inf) for one in (a, b))
    common = mine[nearest_distance(mine, theirs) <= near]
    if times == "common" and not len(common):
        raise InputError("the results have no instant in common; write times='union'")
    if times == "common" or (times is None and len(common) >= min(ENOUGH, len(mine), len(theirs)) > 0):
        return common, True
    others = theirs[nearest_distance(theirs, mine) > near] if len(mine) else theirs
    union = np.sort(np.concatenate((mine, others)))
    return union, len(common) == len(union)


def nearest_distance(t: Array, others: Array) -> Array:
    """Return how far the nearest of ``others`` lies from every time (k,) [s]."""
    if not len(others) or not len(t):
        return np.full(len(t), np.inf)
    right = np.clip(np.searchsorted(others, t), 1, max(len(others) - 1, 1))
    return np.minimum(np.abs(t - others[right - 1]), np.abs(t - others[np.minimum(right, len(others) - 1)]))


def typical_sizes(a: Result, b: Result, t: Array, names: Sequence[str]) -> dict[str, float]:
    """Return the largest finite value by unit of channels at times ``t`` (k,): those before and after do not count.

    Forces and moments of a reaction have one size, as moments are often rounding of the forces alone.
    """
    sizes: dict[str, float] = {}
    for name in names:
        unit = a.about(name)[1]
        for one in (a, b):
            values = interpolated(one, t, "linear", name)
            largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
            sizes[unit] = max(sizes.get(unit, 0.0), float(largest))
    return sizes


def judged(
    a: Result, b: Result, name: str, t: Array, together: bool, scale: float, tolerance: float | None
) -> Difference:
    """Return the difference of one channel."""
    axes, unit = a.about(name)
    apart = np.abs(difference(a, b, t, name)).reshape(len(t), -1)
    place = int(np.argmax(np.where(np.isfinite(apart), apart, np.inf)))
    row, column = divmod(place, apart.shape[1])
    largest = float(apart[row, column])
    added = 0.0 if together else added_by_interpolation(a, b, t, name)
    relative = largest / scale if scale > 0.0 else (0.0 if largest == 0.0 else np.inf)
    verdict = Verdict.OPEN
    if tolerance is not None:
        verdict = verdict_of(largest, added, tolerance * scale)
    component, own, rms = axes[column] if axes else "", units_of(axes, unit)[column], float(np.sqrt(np.mean(apart**2)))
    return Difference(name, own, largest, float(t[row]), component, rms, relative, added, verdict)


def verdict_of(largest: float, added: float, bound: float) -> Verdict:
    """Return whether a difference that interpolation may change by ``added`` is within its bound; NaN never is."""
    if not np.isfinite(largest) or largest - added > bound:
        return Verdict.DIFFER
    return Verdict.AGREE if largest + added <= bound else Verdict.UNDECIDED
