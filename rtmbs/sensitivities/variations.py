"""How tables, inputs and penalty factors change with parameters, to first order."""

# mypy: allow-untyped-defs, allow-untyped-calls

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.system.tables import Tables

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Variations:
    """Slopes by each parameter; a parameter without a slope of a field leaves the field as it is."""

    count: int
    inputs: Array  # (count, nu)
    alpha: Array  # (count, m)
    tables: tuple[tuple[tuple[str, ...], Array], ...] = ()  # path of a field, and its slopes (count, *shape)

    def applied(self, xp: Any, tables: Tables, u: Any, alpha: Any, p: Any) -> tuple[Any, Any, Any]:
        """Return tables, u and alpha at deviations p (count,) of the parameters."""
        if not self.count:
            return tables, u, alpha
        return with_fields(xp, tables, self.tables, p), u + along(xp, self.inputs, p), alpha + along(xp, self.alpha, p)


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
