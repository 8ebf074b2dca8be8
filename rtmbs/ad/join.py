"""Many records as one: their inputs, parameters and outputs stand behind each other.

One program then serves them all in one call, and equal operations of different records share their runs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.record import Record


def joined(records: Sequence[Record]) -> Record:
    """Return one record for functions of separate inputs; the same record may come more than once."""
    n, k = (sum(getattr(record, size) for record in records) for size in ("n", "k"))
    columns: list[list[np.ndarray]] = [
        [np.zeros(0, dtype)] for dtype in (np.uint8, *(np.int32,) * 3, np.float64, np.int32)
    ]
    steps, constants, x, p = 0, 0, 0, n
    for record in records:
        arity = o.ARITY[record.op]
        a = np.where(arity > 0, record.a + steps, record.a)
        a[record.op == o.CONSTANT] += constants
        leaf = record.op == o.INPUT
        a[leaf] += np.where(record.a[leaf] < record.n, x, p - record.n).astype(np.int32)
        b, c = (np.where(arity > place, column + steps, 0) for place, column in ((1, record.b), (2, record.c)))
        parts: tuple[NDArray[Any], ...] = (record.op, a, b, c, record.constants, record.outputs + steps)
        for column, part in zip(columns, parts, strict=True):
            column.append(part.astype(column[0].dtype))
        steps, constants = steps + len(record.op), constants + len(record.constants)
        x, p = x + record.n, p + record.k
    op, a, b, c, values, outputs = (np.concatenate(column) for column in columns)
    return Record(op, a, b, c, values, outputs, n, k)
