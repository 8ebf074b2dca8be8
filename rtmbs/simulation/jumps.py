"""Jumps of functions of time: jump times before a run, and mean inputs of a step across jumps (METHODS 1.27).

The trapezoidal rule takes the mean of an input at both ends of a step: right to first order only across a jump. A step
across jumps takes, in place of the value at its end, the one whose mean with the value at its start is the mean of the
input over the step: positions and rates keep order two. The accelerations are then solved anew.

A step ends just before a jump, and the next one begins just behind it with accelerations solved anew (METHODS 1.34).
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import InputError
from rtmbs.state import State
from rtmbs.system.input_slots import evaluate_signals, signal_values
from rtmbs.system.system import Signal, System

Array = NDArray[np.float64]

BENT = 0.25  # of its change over a step: a function that bends more may jump; a smooth one bends by h f'' / (4 f')
KEPT = 0.5  # of the bend is left between two times ever closer: a jump
ROUNDING = 1e-9  # of a value: no jump
EDGE, ULPS = 1e-9, 8  # of the step, and last places of the time: so near to a jump are the values before and after
FINITE = 1e-6  # of the size of a driver's value: what a jump in it may be
MOST_AHEAD = 64  # steps that functions are asked about; those that a call has no time for are asked about again


class Jump(NamedTuple):
    """A jump within a step."""

    share: float  # of the step that lies before it, 0 to 1
    before: Array  # (size,) values of the function
    after: Array


def mean_inputs(system: System, t: float, h: float, start: Array, end: Array) -> Array | None:
    """Return the inputs (nu,) for the end of a step across jumps; None when no function of time jumps in it.

    ``start`` (nu,) are the inputs at ``t`` [s], ``end`` those at ``t + h``. Values of drivers stay as they are.
    Raises InputError for a driver whose value or rate jumps, and whatever a function of the user raises.
    """
    mean = None
    for signal in system.signals:
        place = slice(signal.slot, signal.slot + signal.size)
        jumps = find_jumps(signal, t, h, start[place], end[place])
        if not jumps:
            continue
        if mean is None:
            mean = end.copy()
        if signal.driver:
            check_driver(signal.name, t, h, jumps, min(system.length, 1.0))
        else:
            mean[place] = mean_value(jumps, start[place], end[place])
    return mean


def find_jumps(signal: Signal, t: float, h: float, start: Array, end: Array) -> list[Jump]:
    """Return the jumps of one function within the step, its ends included, in their order."""
    if signal.jumps == ():
        return []
    edge = max(EDGE * h, ULPS * math.ulp(abs(t) + h))
    if signal.jumps is None:
        return located(signal, t, h, edge, start, end)
    return [jump for jump in declared(signal, signal.jumps, t, h, edge, start, end) if is_jump(jump)]


def is_jump(jump: Jump) -> bool:
    """True when the values differ by more than rounding."""
    size = np.maximum(np.abs(jump.before), np.abs(jump.after))
    return bool(np.any(np.abs(jump.after - jump.before) > ROUNDING * size))


def declared(
    signal: Signal, times: tuple[float, ...], t: float, h: float, edge: float, start: Array, end: Array
) -> list[Jump]:
    """Return the declared jumps; one at an end of the step goes from or to the value that the inputs hold there."""
    found = []
    for time in times:
        if time <= t - edge or time >= t + h + edge:
            continue
        if time <= t + edge:
            found.append(Jump(0.0, start, signal_values(signal, time + edge)))
        elif time >= t + h - edge:
            found.append(Jump(1.0, signal_values(signal, time - edge), end))
        else:
            before, after = (signal_values(signal, time + side) for side in (-edge, edge))
            found.append(Jump((time - t) / h, before, after))
    return found


def located(signal: Signal, t: float, h: float, edge: float, start: Array, end: Array) -> list[Jump]:
    """Return the jump of a function that declares none, when its value in the middle of the step gives it away.

    The bend over the step is at least as large as a jump, wherever it is, unless the function changes by three times
    as much in the same step. Halving closes in on it; where a smooth function bends, the change dies out at once.
    """
    first, last = start.tolist(), end.tolist()  # of one to three numbers Python is faster than arrays
    if first == last:
        return []
    middle = signal_values(signal, t + 0.5 * h)
    bends = [suspicious(*values) for values in zip(first, middle.tolist(), last, strict=True)]
    for k, bend in reversed(list(enumerate(bends))):  # of a driver the acceleration first
        low, high, left, right, between = t, t + h, start, end, middle
        while bend and abs(right[k] - left[k]) >= KEPT * bend:
            if high - low <= edge:
                return [Jump((0.5 * (low + high) - t) / h, left, right)]
            centre = 0.5 * (low + high)
            if abs(between[k] - left[k]) > abs(right[k] - between[k]):
                high, right = centre, between
            else:
                low, left = centre, between
            between = signal_values(signal, 0.5 * (low + high))
    return []


def suspicious(start: float, middle: float, end: float) -> float:
    """Return the bend over a step that a smooth function would not have, or 0."""
    bend = abs(end - 2.0 * middle + start)
    large = bend > BENT * abs(end - start) and bend > ROUNDING * max(abs(start), abs(middle), abs(end))
    return bend if large and bend < math.inf else 0.0


def mean_value(jumps: list[Jump], start: Array, end: Array) -> Array:
    """Return the value at the end whose mean with ``start`` is the mean over the step, by trapezia between jumps."""
    twice, last, left = np.zeros_like(end), 0.0, start
    for jump in jumps:
        twice += (jump.share - last) * (left + jump.before)
        last, left = jump.share, jump.after
    return np.asarray(twice + (1.0 - last) * (left + end) - start)


def check_driver(name: str, t: float, h: float, jumps: list[Jump], typical: float) -> None:
    """Refuse a jump in the value or the rate of a driver; raises InputError."""
    for jump in jumps:
        (f, fd, _), (f_after, fd_after, _) = jump.before, jump.after
        bound = FINITE * max(abs(f), abs(f_after), h * abs(fd), h * abs(fd_after), typical)
        for what, x, y, part in (("value", f, f_after, 1.0), ("rate", fd, fd_after, h)):
            if part * abs(y - x) > bound:
                raise InputError(jump_sentence(name, what, x, y, t + jump.share * h))


def jump_sentence(name: str, what: str, before: float, after: float, t: float) -> str:
    """Return the sentence about a jump that no finite force can follow."""
    return (
        f"driver {name!r}: its {what} jumps from {before:g} to {after:g} at t = {t:g} s, which no finite force can "
        "follow; let it go over, by rtmbs.SmoothStep for instance. Only its second derivative may jump"
    )


def fill_timed_rows(system: System, start: State, rows: Array) -> int:
    """Write every function of time into ``rows`` (steps, nu), the inputs at the ends of steps from ``start``.

    Returns the number of rows that hold. The step behind them is one for ``Simulation.step``: a function jumps in it,
    raises, or returns what no mechanism may have.
    """
    before, count = start.u, min(len(rows), MOST_AHEAD)
    for k, row in enumerate(rows[:count]):
        t = start.t_ref + (start.k + k) * start.h
        try:
            evaluate_signals(system, start.t_ref + (start.k + k + 1) * start.h, row)
            if mean_inputs(system, t, start.h, before, row) is not None:
                count = k
                break
        except Exception:  # noqa: BLE001 - of the user; the step asks again, and lets it pass
            count = k
            break
        before = row
    beyond = np.flatnonzero(~(np.abs(rows[:count]).max(axis=1) <= BEYOND))  # NaN is
    return int(beyond[0]) if len(beyond) else count


# ---- jump times before a run, and the grid of time cut at them into pieces of equal steps ---------------------------


PER_LOOK = 8  # jumps of one function in one interval that is looked at; more must be declared


def edge_of(t: float, h: float) -> float:
    """Return how near to a jump at ``t`` [s] values count as those before it and after it [s]."""
    return max(EDGE * h, ULPS * math.ulp(abs(t) + h))


def jump_times(system: System, t: float, t_end: float, h: float) -> list[float]:
    """Return the times from ``t`` to ``t_end`` [s], ends included, at which functions of time jump, ascending.

    Jumps that are not declared are looked for in intervals of ``h`` [s], as in a run of steps of ``h``.
    Raises InputError for a driver whose value or rate jumps, and whatever a function of the user raises.
    """
    found: list[float] = []
    for signal in system.signals:
        jumps = watched(signal, t, t_end, h) if signal.jumps is None else declared_times(signal, t, t_end, h)
        for time, jump in jumps:
            if signal.driver:
                check_driver(signal.name, time, h, [jump], min(system.length, 1.0))
            place = bisect_left(found, time)
            near = found[max(place - 1, 0) : place + 1]
            if all(abs(time - other) > 4.0 * edge_of(time, h) for other in near):
                found.insert(place, time)
    return found


def declared_times(signal: Signal, t: float, t_end: float, h: float) -> list[tuple[float, Jump]]:
    """Return the declared jumps with their times."""
    found = []
    for time in signal.jumps or ():
        if t <= time <= t_end:
            edge = edge_of(time, h)
            before, after = (signal_values(signal, time + side) for side in (-edge, edge))
            if is_jump(jump := Jump(0.0, before, after)):
                found.append((float(time), jump))
    return found


def watched(signal: Signal, t: float, t_end: float, h: float) -> list[tuple[float, Jump]]:
    """Return the jumps that values of the function give away, interval by interval."""
    found: list[tuple[float, Jump]] = []
    count = math.ceil((t_end - t) / h - EDGE)
    left, start = signal_values(signal, t), t
    for k in range(1, count + 1):
        end = t_end if k == count else t + k * h
        right = signal_values(signal, end)
        begin, values = start, left
        for _ in range(PER_LOOK):
            jumps = find_jumps(signal, begin, end - begin, values, right) if end > begin else []
            if not jumps:
                break
            time = begin + jumps[0].share * (end - begin)
            found.append((time, jumps[0]._replace(share=0.0)))
            begin = time + 2.0 * edge_of(time, h)
            values = signal_values(signal, begin)
        left, start = right, end
    return found


TINY = 1e-4  # of a step: a gap this small is crossed by Taylor's series
NONE = -1  # no grid time


class Cut(NamedTuple):
    """Times of a jump: the end of the step before it, and the start of the step behind it."""

    land: float  # [s]
    go: float  # [s]
    grid: int  # number of the grid time whose sample is that behind the jump, or NONE


class Piece(NamedTuple):
    """Equal steps without a jump."""

    start: float  # [s]
    end: float  # [s]
    steps: int
    grid: int  # number of the grid time at the end of the first step, the next ones follow; or NONE
    behind: int  # number of the grid time whose sample is taken behind the jump at the end; or NONE
    go: float  # where to drift to at the end [s]


def cut_at(t: float, h: float, jump: float) -> Cut:
    """Return where steps of ``h`` [s], counted from ``t`` [s], end and go on at ``jump`` [s]."""
    edge, nearest = edge_of(jump, h), round((jump - t) / h)
    grid = t + nearest * h
    if abs(jump - grid) > TINY * h:
        return Cut(jump - edge, jump + edge, NONE)
    if jump - edge <= grid:
        return Cut(jump - edge, max(jump + edge, grid), nearest)
    return Cut(grid, jump + edge, NONE)


def pieces(t: float, h: float, steps: int, jumps: Iterable[float]) -> list[Piece]:
    """Return the pieces of ``steps`` steps of ``h`` [s] from ``t`` [s], cut at ``jumps`` (ascending) [s]."""
    t_end, start, found = t + steps * h, t, list[Piece]()
    for cut in [cut_at(t, h, jump) for jump in jumps]:
        if cut.land > start + TINY * h:
            found += between(t, h, start, cut)
        elif found:
            found[-1] = found[-1]._replace(go=cut.go, behind=max(found[-1].behind, cut.grid))
        else:
            found.append(Piece(start, start, 0, NONE, cut.grid, cut.go))
        start = cut.go
    if start < t_end - TINY * h:
        found += between(t, h, start, Cut(t_end, t_end, NONE))
    return found


def between(t: float, h: float, start: float, cut: Cut) -> Iterator[Piece]:
    """Yield the pieces from ``start`` [s] to a cut: a part of a step, whole steps, a part of a step."""
    first, last = round((start - t) / h), round((cut.land - t) / h)
    first += t + first * h <= start + TINY * h  # the first grid time behind the start
    label = last if cut.grid == NONE and abs(t + last * h - cut.land) <= TINY * h else NONE
    last -= t + last * h >= cut.land - TINY * h  # the last one before the cut
    if last < first:
        yield Piece(start, cut.land, 1, label, cut.grid, cut.go)
        return
    whole_from, whole_to = first, last
    if start == t + (first - 1) * h:
        whole_from = first - 1
    else:
        yield Piece(start, t + first * h, 1, first, NONE, t + first * h)
    to_the_end = cut.land == t + (last + 1) * h
    whole_to += to_the_end
    if whole_to > whole_from:
        end = t + whole_to * h
        yield Piece(t + whole_from * h, end, whole_to - whole_from, whole_from + 1, NONE, cut.go if to_the_end else end)
    if not to_the_end:
        yield Piece(t + last * h, cut.land, 1, label, cut.grid, cut.go)
