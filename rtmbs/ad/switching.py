"""Switching functions of a tape: quantities that change sign where its outputs have a kink or a jump.

A tape that takes abs(a) has a kink where a is zero, one that compares a and b switches where a - b is zero. Where all
switching functions keep their signs the outputs are as smooth as their other operations.
"""

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.tape import Tape

BY_SIGN = (o.ABS, o.SIGN, o.TRUTH)  # of one operand
BY_ORDER = (o.MINIMUM, o.MAXIMUM, o.LESS, o.LESS_EQUAL, o.EQUAL)  # of two operands
SWITCHING = (*BY_SIGN, *BY_ORDER, o.FLOOR)
PIECEWISE_CONSTANT = (o.SIGN, o.FLOOR, o.TRUTH, o.LESS, o.LESS_EQUAL, o.EQUAL)

Steps = NDArray[np.int64]
Mask = NDArray[np.bool_]


def switching_tape(tape: Tape, outputs: int) -> Tape | None:
    """Return a tape of the switching functions of the first outputs of a tape; None where these do not switch.

    Parameters
    ----------
    tape : Tape
        Tape of a function.
    outputs : int
        Number of its outputs that count; the others are derivatives.

    Returns
    -------
    Tape or None
        Tape with the inputs and parameters of ``tape``, and an output for every pair of compared quantities.
    """
    if not np.isin(tape.op, SWITCHING).any():
        return None
    used, constant = steps_behind(tape, tape.outputs[:outputs]), piecewise_constant(tape)
    pairs: dict[tuple[int, int, int], None] = {}
    for i in np.flatnonzero(used & np.isin(tape.op, SWITCHING)).tolist():
        op, a, b = int(tape.op[i]), int(tape.a[i]), int(tape.b[i])
        if op in BY_ORDER:
            if not (constant[a] and constant[b]):
                pairs[o.SUBTRACT, min(a, b), max(a, b)] = None
        elif not constant[a]:
            pairs[o.FLOOR if op == o.FLOOR else o.ABS, a, a] = None
    return with_outputs(tape, list(pairs)) if pairs else None


def steps_behind(tape: Tape, outputs: NDArray[np.int32]) -> Mask:
    """Return which steps the outputs depend on."""
    used = np.zeros(len(tape.op), np.bool_)
    used[outputs] = True
    arity = o.ARITY[tape.op].tolist()
    a, b, c = (column.tolist() for column in (tape.a, tape.b, tape.c))
    for i in range(len(used) - 1, -1, -1):
        if used[i] and arity[i]:
            used[[a[i], b[i], c[i]][: arity[i]]] = True
    return used


def piecewise_constant(tape: Tape) -> Mask:
    """Return which steps are constants, or made of comparisons only."""
    known = np.isin(tape.op, (o.CONSTANT, *PIECEWISE_CONSTANT))
    arity = o.ARITY[tape.op].tolist()
    a, b, c = (column.tolist() for column in (tape.a, tape.b, tape.c))
    for i in range(len(known)):
        if not known[i] and arity[i]:
            known[i] = all(known[k] for k in (a[i], b[i], c[i])[: arity[i]])
    return known


def with_outputs(tape: Tape, pairs: list[tuple[int, int, int]]) -> Tape:
    """Return the tape with a - b, a, or sin(pi a) as outputs; the last one is zero at whole numbers."""
    rows: list[tuple[int, int, int, int]] = []
    outputs, count = list[int](), len(tape.op)

    def step(op: int, a: int, b: int = 0) -> int:
        rows.append((op, a, b, 0))
        return count + len(rows) - 1

    pi = step(o.CONSTANT, len(tape.constants))
    for op, a, b in pairs:
        if op == o.SUBTRACT:
            outputs.append(step(o.SUBTRACT, a, b))
        else:
            outputs.append(a if op == o.ABS else step(o.SIN, step(o.MULTIPLY, pi, a)))
    more = np.array(rows, np.int32).reshape(-1, 4)
    first, second, third = (np.concatenate((old, more[:, k])) for k, old in enumerate((tape.a, tape.b, tape.c), 1))
    kind = np.concatenate((tape.op, more[:, 0].astype(tape.op.dtype)))
    constants = np.append(tape.constants, np.pi)
    return Tape(kind, first, second, third, constants, np.array(outputs, np.int32), tape.n, tape.k)
