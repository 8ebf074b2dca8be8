"""Programs evaluated for many rows of inputs, eight rows at a time (compiled).

An instruction is read once for eight numbers, which a lane of memory each holds. Every lane takes the operations of
``ad.program.evaluate`` in their order, so results are the same to the bit.
"""

from typing import Any

import numpy as np
from numpy import uint64 as at
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.operations import evaluate_binary, evaluate_unary
from rtmbs.ad.program import SUM, Program
from rtmbs.jit.compiled import kernel
from rtmbs.jit.intrinsics import (
    LANES,
    add_products,
    add_rows,
    at_most_rows,
    divide_rows,
    equal_rows,
    guard_rows,
    least_rows,
    less_rows,
    most_rows,
    multiply_rows,
    root_rows,
    subtract_rows,
)

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
LINE = 8  # numbers
SHORT = 1 << 16  # slots whose numbers are of two bytes


class SimdProgram:
    """Program with memory for eight rows."""

    def __init__(self, program: Program) -> None:
        short = program.sizes[2] <= SHORT  # codes of half the size are half of what is read
        self.program = program._replace(code=program.code.astype(np.uint16)) if short else program
        self.lanes = np.full(len(program.operation), LANES)
        self.memory = aligned(int(program.sizes[2]))
        self.memory[: len(program.constants)] = program.constants[:, None]

    def __call__(self, x: Array, p: Array) -> Array:
        """Return the outputs (K, m) for rows of independents (K, n) and of parameters (K, k)."""
        y = np.empty((len(x), len(self.program.output)))
        self.fill(y, np.arange(len(x)), x, p)
        return y

    def fill(self, y: Array, rows: Integers, x: Array, p: Array) -> None:
        """Fill in the outputs of some ``rows`` of y (K, m or more) from the same rows of x and p."""
        if len(rows):
            evaluate_rows(
                self.program, self.memory, self.lanes, rows, np.ascontiguousarray(x), np.ascontiguousarray(p), y
            )


def aligned(slots: int) -> Array:
    """Return zeros (slots, 8) aligned to a cache line; a row across two lines takes longer."""
    flat = np.zeros(slots * LANES + LINE)
    first = -(flat.ctypes.data // flat.itemsize) % LINE
    return flat[first : first + slots * LANES].reshape(slots, LANES)


@kernel
def evaluate_rows(program: Program, memory: Any, lanes: Any, rows: Any, x: Any, p: Any, y: Any) -> None:
    """Fill rows of y; ``memory`` (slots, 8) holds the constants. The last row fills lanes that are left over."""
    first, n, count = len(program.constants), x.shape[1], len(rows)
    for begin in range(0, count, LANES):
        for lane in range(LANES):
            row = rows[min(begin + lane, count - 1)]
            for i in range(n):
                memory[first + i, lane] = x[row, i]
            for i in range(p.shape[1]):
                memory[first + n + i, lane] = p[row, i]
        run_rows(program, memory, lanes)
        write_outputs(program.output, memory, rows[begin : begin + LANES], y)


@kernel
def write_outputs(output: Any, memory: Any, rows: Any, y: Any) -> None:
    """Write the outputs of at most eight rows to y, a cache line of each row at a time."""
    for first in range(0, len(output), LINE):
        end = min(first + LINE, len(output))
        for lane in range(len(rows)):
            row = rows[lane]
            for i in range(first, end):
                y[at(row), at(i)] = memory[at(output[i]), at(lane)]


@kernel
def run_rows(program: Program, memory: Any, lanes: Any) -> None:
    """Run all instructions of a program in all lanes; slow operations of run r in the first ``lanes[r]`` only."""
    code = program.code
    for r in range(len(program.operation)):
        op, count, k = program.operation[r], program.count[r], program.start[r]
        if op == SUM:
            added, subtracted = program.added[r], program.subtracted[r]
            for _ in range(count):
                add_products(memory, code, k, added, subtracted)
                k += 1 + 2 * (added + subtracted)
        elif op == o.MULTIPLY:
            for _ in range(count):
                multiply_rows(memory, code[k], code[k + 1], code[k + 2])
                k += 3
        elif op == o.GUARDED:
            for _ in range(count):
                guard_rows(memory, code[k], code[k + 1], code[k + 2])
                k += 3
        elif op == o.ADD:
            for _ in range(count):
                add_rows(memory, code[k], code[k + 1], code[k + 2])
                k += 3
        elif op == o.SUBTRACT:
            for _ in range(count):
                subtract_rows(memory, code[k], code[k + 1], code[k + 2])
                k += 3
        elif op == o.DIVIDE:
            for _ in range(count):
                divide_rows(memory, code[k], code[k + 1], code[k + 2])
                k += 3
        elif op == o.NEGATE or op == o.SQRT:
            run_unary(code, memory, k, count, op)
        elif op >= o.MINIMUM and op <= o.EQUAL:
            run_choices(code, memory, k, count, op)
        else:
            run_others(code, memory, k, count, op, lanes[r])


@kernel
def run_unary(code: Any, m: Any, k: int, count: int, op: int) -> None:
    """Run changes of sign, or square roots."""
    for _ in range(count):
        if op == o.SQRT:
            root_rows(m, code[k], code[k + 1])
        else:
            for lane in range(LANES):
                m[code[k], lane] = -m[code[k + 1], lane]
        k += 2


@kernel
def run_choices(code: Any, m: Any, k: int, count: int, op: int) -> None:
    """Run minima, maxima, or comparisons."""
    for _ in range(count):
        if op == o.MINIMUM:
            least_rows(m, code[k], code[k + 1], code[k + 2])
        elif op == o.MAXIMUM:
            most_rows(m, code[k], code[k + 1], code[k + 2])
        elif op == o.LESS:
            less_rows(m, code[k], code[k + 1], code[k + 2])
        elif op == o.LESS_EQUAL:
            at_most_rows(m, code[k], code[k + 1], code[k + 2])
        else:
            equal_rows(m, code[k], code[k + 1], code[k + 2])
        k += 3


@kernel
def run_others(code: Any, m: Any, k: int, count: int, op: int, lanes: int) -> None:
    """Run the operations that are rare or slow in themselves."""
    for _ in range(count):
        if op <= o.TRUTH:
            for lane in range(lanes):
                m[code[k], lane] = evaluate_unary(op, m[code[k + 1], lane])
            k += 2
        elif op < o.SELECT:
            for lane in range(lanes):
                m[code[k], lane] = evaluate_binary(op, m[code[k + 1], lane], m[code[k + 2], lane])
            k += 3
        else:
            for lane in range(lanes):
                chosen = code[k + 2] if m[code[k + 1], lane] != 0.0 else code[k + 3]
                m[code[k], lane] = m[chosen, lane]
            k += 4
