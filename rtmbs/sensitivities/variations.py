"""How tables, inputs and penalty factors change with parameters, to first order."""

# mypy: allow-untyped-defs, allow-untyped-calls

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.sensitivities.timed import Timed
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Variations:
    """Slopes by each parameter; a parameter without a slope of a field leaves the field as it is."""

    count: int
    inputs: Array  # (count, nu) that stay; zero where functions of time write
    alpha: Array  # (count, m)
    tables: tuple[tuple[tuple[str, ...], Array], ...] = ()  # path of a field, and its slopes (count, *shape)
    timed: tuple[tuple[int, Timed], ...] = ()  # parameters that functions of time depend on

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
