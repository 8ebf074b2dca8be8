"""Jump times of functions of time before a run, and the grid of time cut at them into pieces of equal steps.

A step ends just before a jump, and the next one begins just behind it with accelerations solved anew (METHODS 1.34).
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.simulation.jumps import EDGE, ULPS, Jump, check_driver, find_jumps, is_jump
from rtmbs.system.input_slots import signal_values
from rtmbs.system.system import Signal, System

Array = NDArray[np.float64]

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
        jumps = watched(signal, t, t_end, h) if signal.jumps is None else declared(signal, t, t_end, h)
        for time, jump in jumps:
            if signal.driver:
                check_driver(signal.name, time, h, [jump], min(system.length, 1.0))
            place = bisect_left(found, time)
            near = found[max(place - 1, 0) : place + 1]
            if all(abs(time - other) > 4.0 * edge_of(time, h) for other in near):
                found.insert(place, time)
    return found


def declared(signal: Signal, t: float, t_end: float, h: float) -> list[tuple[float, Jump]]:
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
    """Where steps end before a jump, and where they go on behind it."""

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
