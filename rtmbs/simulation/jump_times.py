"""When functions of time jump, known before a run: steps that end there keep the order of their method.

A step ends just before a jump, and the next one begins just behind it with accelerations solved anew (METHODS 1.34).
"""

import math
from bisect import bisect_left

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
