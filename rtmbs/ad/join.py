"""Many tapes as one: their inputs, parameters and outputs stand behind each other.

One program then serves them all in one call, and equal operations of different tapes share their runs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.tape import Tape


def joined(tapes: Sequence[Tape]) -> Tape:
    """Return one tape for functions of separate inputs; the same tape may come more than once."""
    n, k = (sum(getattr(tape, size) for tape in tapes) for size in ("n", "k"))
    columns: list[list[np.ndarray]] = [
        [np.zeros(0, dtype)] for dtype in (np.uint8, *(np.int32,) * 3, np.float64, np.int32)
    ]
    steps, constants, x, p = 0, 0, 0, n
    for tape in tapes:
        arity = o.ARITY[tape.op]
        a = np.where(arity > 0, tape.a + steps, tape.a)
        a[tape.op == o.CONSTANT] += constants
        leaf = tape.op == o.INPUT
        a[leaf] += np.where(tape.a[leaf] < tape.n, x, p - tape.n).astype(np.int32)
        b, c = (np.where(arity > place, column + steps, 0) for place, column in ((1, tape.b), (2, tape.c)))
        parts: tuple[NDArray[Any], ...] = (tape.op, a, b, c, tape.constants, tape.outputs + steps)
        for column, part in zip(columns, parts, strict=True):
            column.append(part.astype(column[0].dtype))
        steps, constants = steps + len(tape.op), constants + len(tape.constants)
        x, p = x + tape.n, p + tape.k
    op, a, b, c, values, outputs = (np.concatenate(column) for column in columns)
    return Tape(op, a, b, c, values, outputs, n, k)
