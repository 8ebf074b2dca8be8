"""Variations of tables, inputs, functions of time and penalty factors by parameters, to first order (METHODS 1.37).

A function of time writes its values into inputs once a step. Its dependence on a parameter is known by calls alone, so
its slopes are differences. A frequency moves the phase by t, so the best step shrinks with the time: the step of each
function is the one of several whose slopes differ least from those of the next.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.simulation.jumps import find_jumps
from rtmbs.studies.analysis.neighbourhood import STEP, WEIGHTS
from rtmbs.system.input_slots import signal_values
from rtmbs.system.system import Signal, System
from rtmbs.system.tables import Tables
from rtmbs.system.user_functions import same_function

# mypy: allow-untyped-defs, allow-untyped-calls

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

SAME = 1e-9  # of its size: values of two functions that count as one
SHRINK, MOST = 5.0, 8  # steps of differences: each of the one before, and how many are tried
FALL = 20.0  # least fall of the error from step to step that counts as convergence; of order four it is SHRINK^4
ROUNDING = 4e-16  # of a value: what a difference of values may be off by
GOOD, ALLOWED = 1e-11, 1e-7  # of the slopes: an error that ends the search, and the largest one of a smooth function
LITTLE = 1e-2  # of a value over the size of its parameter: slopes below count as that large
TRIED = 60  # times at which steps are compared


@dataclass(frozen=True)
class SignalSlopes:
    """One function of time at the points of the difference formula, for one or more steps."""

    signals: tuple[tuple[Signal, ...], ...]  # of each step, at all places
    steps: tuple[float, ...]
    chosen: Integers  # (size,) number of the step of each value

    def __call__(self, t: Array) -> Array:
        """Return the slopes (T, size) at times t (T,)."""
        found = np.zeros((len(t), len(self.chosen)))
        for k in np.unique(self.chosen):
            found[:, self.chosen == k] = differences(self.signals[k], self.steps[k], t)[0][:, self.chosen == k]
        return found


@dataclass(frozen=True)
class InputSlopes:
    """Slopes of all functions of time by one parameter."""

    slots: Integers  # (k,) inputs that they write
    parts: tuple[SignalSlopes, ...] = ()

    def __call__(self, t: Array) -> Array:
        """Return the slopes (T, k) of the inputs at times t (T,)."""
        return np.hstack([np.zeros((len(t), 0)), *(part(t) for part in self.parts)])


NO_SLOPES = InputSlopes(np.zeros(0, np.int64))


def timed_by(name: str, base: System, finer: Callable[[int], Sequence[System]], size: float, t: Array) -> InputSlopes:
    """Return the slopes of functions of time by a parameter of a ``size``, in a run with the times t (T,).

    ``finer(k)`` are the Systems at the places of the difference formula, for the step STEP size / SHRINK^k. Raises
    InputError for a function that is not smooth in the parameter.
    """
    systems, slots, parts = finer(0), [], []
    for k, own in enumerate(base.signals):
        low, high = systems[0].signals[k], systems[-1].signals[k]
        if same_function(low.function, high.function):
            continue
        differs = np.flatnonzero(np.any(values_of(low, t) != values_of(high, t), axis=1))
        if len(differs):
            few = t[differs[np.unique(np.linspace(0, len(differs) - 1, TRIED).astype(int))]]
            levels = partial(signals_of, finer, k)
            parts.append(smooth_part(name, own.name, levels, size, few))
            slots.append(own.slot + np.arange(own.size))
    return InputSlopes(np.concatenate(slots), tuple(parts)) if parts else NO_SLOPES


def signals_of(finer: Callable[[int], Sequence[System]], k: int, level: int) -> list[Signal]:
    """Return function of time number ``k`` at all places, for the step of a level."""
    return [one.signals[k] for one in finer(level)]


def smooth_part(name: str, called: str, at: Callable[[int], list[Signal]], size: float, t: Array) -> SignalSlopes:
    """Return a function of time with the best step for each of its values, compared at times t (T,)."""
    signals: list[tuple[Signal, ...]] = []
    slopes, errors = [], []
    for level in range(MOST):
        signals.append(tuple(at(level)))
        step = STEP * size / SHRINK**level
        slope, largest = differences(signals[-1], step, t)
        if not np.all(np.isfinite(slope)):
            raise InputError(f"{called!r} is not finite with {name} near its value; change {name}, or the function")
        slopes.append(slope)
        errors.append(ROUNDING * largest / step)
        if level == 0:
            continue
        change = np.abs(slopes[-1] - slopes[-2]).max(axis=0)
        errors[level] += change / FALL
        if level == 1:
            errors[0] += change
        scale = np.maximum(np.abs(slope).max(axis=0), LITTLE * largest / size)
        least = np.min(errors, axis=0)
        if np.all((least <= GOOD * scale) | (errors[level] > SHRINK * least)):
            break
    if np.any(least > ALLOWED * scale):
        raise InputError(
            f"{called!r} does not change smoothly with {name}, and has no derivative by it; let it go over, by "
            "rtmbs.SmoothStep for instance"
        )
    steps = tuple(STEP * size / SHRINK**level for level in range(len(signals)))
    return SignalSlopes(tuple(signals), steps, np.argmin(errors, axis=0))


def differences(signals: Sequence[Signal], step: float, t: Array) -> tuple[Array, Array]:
    """Return the slopes (T, size) of a function of time by differences, and its largest values (size,)."""
    values = np.array([values_of(one, t) for one in signals])
    return np.tensordot(WEIGHTS, values, 1) / step, np.abs(values).max(axis=(0, 1), initial=0.0)


def values_of(signal: Signal, t: Array) -> Array:
    """Return the values (T, size) of a function of time."""
    return np.array([signal_values(signal, one) for one in t.tolist()]).reshape(len(t), signal.size)


def timed_slots(system: System) -> Mask:
    """Return which inputs (nu,) functions of time write."""
    found = np.zeros(len(system.u0), np.bool_)
    for signal in system.signals:
        found[signal.slot : signal.slot + signal.size] = True
    return found


def changing(base: System, other: System, t: Array) -> Iterator[str]:
    """Yield the names of functions of time whose values at t (T,) differ by more than rounding."""
    for own, theirs in zip(base.signals, other.signals, strict=True):
        if not same_function(own.function, theirs.function):
            values = values_of(own, t)
            bound = SAME * np.abs(values).max(axis=0, initial=0.0)
            if np.any(np.abs(values_of(theirs, t) - values) > bound):
                yield own.name


def check_lasting(system: System, seen: Sequence[Array], t: Array) -> None:
    """Refuse functions of time that changed since: values at t (T,) differ from those ``seen``."""
    for signal, values in zip(system.signals, seen, strict=True):
        if not np.array_equal(values_of(signal, t), values, equal_nan=True):
            raise InputError(
                f"{signal.name!r} changes when model= builds another model, as a variable of the module does that it "
                "sets; hand the numbers that functions of time take over as arguments of model="
            )


def check_steady(system: System, t: Array, h: float) -> None:
    """Refuse functions of time that jump at any of the times t (T,), or between two of them, ``h`` [s] apart."""
    for signal in system.signals:
        if signal.jumps:
            raise jumping(signal.name, "at given times")
        if signal.jumps is None:
            values = values_of(signal, t)
            for start, before, after in zip(t.tolist(), values, values[1:], strict=False):
                if jumps := find_jumps(signal, start, h, before, after):
                    raise jumping(signal.name, f"at t = {start + jumps[0].share * h:.6g} s")


def jumping(name: str, when: str) -> InputError:
    """Return the error for a function of time that jumps."""
    return InputError(
        f"{name!r} jumps {when}, and sensitivities of such a run are not known; let it go over, by rtmbs.SmoothStep "
        "for instance"
    )


@dataclass(frozen=True)
class Variations:
    """Slopes by each parameter; a field without a slope does not change."""

    count: int
    inputs: Array  # (count, nu) that stay; zero where functions of time write
    alpha: Array  # (count, m)
    tables: tuple[tuple[tuple[str, ...], Array], ...] = ()  # path of a field, and its slopes (count, *shape)
    timed: tuple[tuple[int, InputSlopes], ...] = ()  # parameters that functions of time depend on

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Parameter and slot of each input that a function of time writes and a parameter changes."""
        return [(j, slot) for j, one in self.timed for slot in one.slots.tolist()]

    def drift(self, t: Array) -> Array:
        """Return the slopes (T, pairs) of these inputs at times t (T,)."""
        return np.hstack([np.zeros((len(t), 0)), *(one(t) for _, one in self.timed)])

    def applied(self, xp: Any, tables: Tables, known: Any, p: Any) -> tuple[Any, Any, Any]:
        """Return tables, u and alpha at deviations p (count,) of the parameters; ``known`` has u, alpha and drift."""
        u, alpha = known["u"], known["alpha"]
        if not self.count:
            return tables, u, alpha
        u = u + along(xp, self.inputs, p)
        changes = dict.fromkeys((slot for _, slot in self.pairs), 0.0)
        for k, (j, slot) in enumerate(self.pairs):
            changes[slot] = changes[slot] + p[j] * known["drift"][k]
        if changes:
            u = xp.stack([u[slot] + changes[slot] if slot in changes else u[slot] for slot in range(len(u))])
        return with_fields(xp, tables, self.tables, p), u, alpha + along(xp, self.alpha, p)


def along(xp, slopes, p):
    """Return the sum of p times slopes (count, *shape); a number of a slope that is zero is not written down."""
    total = 0.0
    for j in range(len(slopes)):
        if np.any(slopes[j]):
            total = total + p[j] * slopes[j]
    return total


def with_fields(xp, tables, fields, p):
    """Return tables with some fields changed."""
    for path, slopes in fields:
        tables = replaced(tables, path, along(xp, slopes, p))
    return tables


def replaced(table, path, change):
    """Return a table with ``change`` added to the field at ``path``."""
    name, rest = path[0], path[1:]
    old = getattr(table, name)
    return table._replace(**{name: replaced(old, rest, change) if rest else old + change})
