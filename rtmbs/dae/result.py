"""The Result of an integration: coordinates, rates, accelerations, multipliers and force states as channels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Counts, Point
from rtmbs.formulations.contract import ConstrainedSystem, states_of
from rtmbs.results.channel import BETWEEN, TIME, Entry, Source, StoredValues, resolve_names
from rtmbs.results.result import Result

Array = NDArray[np.float64]

LEVELS = ("position", "velocity", "acceleration")  # of constraint violations


@dataclass(frozen=True)
class IntegrationReport:
    """Work of an integration."""

    counts: Counts
    wall: float  # [s] of the run, violations left out

    def summary(self) -> str:
        """Return steps, evaluations and wall time in one line."""
        return f"{self.counts.steps} steps, {self.counts.evaluations} evaluations, {self.wall:.3g} s of wall time"


def integration_result(system: ConstrainedSystem, points: Sequence[Point], counts: Counts, wall: float) -> Result:
    """Return the Result of these points, constraint violations included.

    Arrays are ``q``, ``v``, ``a`` (samples, n), ``lambda`` (samples, m), ``s`` (samples, ns) and ``violations``
    (samples, 3), the largest |Phi|, |Phid| and |Phidd| of each sample; an array without columns is left out, and so
    are the multipliers of a formulation that gives none.
    Each column is a channel of its own too: ``q0``, ``v0``, ``a0``, or ``NAME``, ``NAME.rate``, ``NAME.acceleration``
    where the system has ``coordinate_names``; ``lambda0`` or ``NAME.multiplier`` by ``row_names``; ``s0`` or ``NAME``
    by ``state_names``; ``violation.position``, ``violation.velocity``, ``violation.acceleration``. Coordinates have the
    units of ``coordinate_units`` where the system has these.
    """
    named = resolve_names(channels_of(system, points))
    name = str(getattr(system, "name", type(system).__name__))
    return Result({key: entry.source for key, entry in named.items()}, name, report=IntegrationReport(counts, wall))


def channels_of(system: ConstrainedSystem, points: Sequence[Point]) -> Iterator[Entry]:
    """Yield the time, every array and every column of the arrays."""
    n, m, ns, size = system.n, system.m, len(states_of(system)), len(points)
    yield Entry("time", TIME, Source((), "s", StoredValues(np.array([point.t for point in points]))))
    names, rows = (labels_of(system, what, count) for what, count in (("coordinate_names", n), ("row_names", m)))
    units = list(getattr(system, "coordinate_units", None) or [""] * n)
    for symbol, suffix, per in (("q", "", ""), ("v", ".rate", "/s"), ("a", ".acceleration", "/s^2")):
        values = np.array([getattr(point, symbol) for point in points]).reshape(size, n)
        yield from columns("coordinate", symbol, values, names, suffix, [unit and unit + per for unit in units])
    values = np.array([point.lam for point in points]).reshape(size, m)
    if not np.all(np.isnan(values)):
        yield from columns("multiplier", "lambda", values, rows, ".multiplier", [""] * m)
    values = np.array([point.s for point in points]).reshape(size, ns)
    yield from columns("state", "s", values, labels_of(system, "state_names", ns), "", [""] * ns)
    values = np.array([violations_at(system, point) for point in points]).reshape(size, 3)
    yield Entry("array", "violations", Source(LEVELS, "", StoredValues(values)))
    for k, level in enumerate(LEVELS):
        yield Entry("violation", f"violation.{level}", Source((), "", StoredValues(values[:, k])))


def labels_of(system: ConstrainedSystem, attribute: str, count: int) -> list[str] | None:
    """Return the names of a system's columns; None for none, or for names that do not tell the columns apart."""
    names = getattr(system, attribute, None)
    if names is None or len(names) != count or len({*names}) < count:
        return None
    labels = [str(name) for name in names]
    return None if any(not label or BETWEEN in label for label in labels) else labels


def columns(
    kind: str, symbol: str, values: Array, names: list[str] | None, suffix: str, units: list[str]
) -> Iterator[Entry]:
    """Yield an array (samples, k) under its symbol, and each of its columns under a name of its own."""
    count = values.shape[1]
    if not count:
        return
    axes = tuple(names or map(str, range(count)))
    unit = units[0] if len({*units}) == 1 else BETWEEN.join(units)
    yield Entry("array", symbol, Source(axes, unit, StoredValues(values)))
    for k in range(count):
        name = f"{names[k]}{suffix}" if names else f"{symbol}{k}"
        yield Entry(kind, name, Source((), units[k], StoredValues(values[:, k])))


def violations_at(system: ConstrainedSystem, point: Point) -> tuple[float, float, float]:
    """Return the largest |Phi|, |Phid| and |Phidd| of a point."""
    Phi_q = system.constraint_jacobian(point.q, point.t)
    Phi_t, gamma = system.constraint_rate_terms(point.q, point.v, point.t)
    parts = system.constraints(point.q, point.t), Phi_q @ point.v + Phi_t, Phi_q @ point.a - gamma
    first, second, third = (float(np.abs(part).max(initial=0.0)) for part in parts)
    return first, second, third
