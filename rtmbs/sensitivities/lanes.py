"""Compiled: a program for many rows of inputs, eight rows at a time.

An instruction is read once for eight numbers, which a lane of memory each holds. Every lane takes the operations of
``ad.program.evaluate`` in their order, so results are the same to the bit.
"""

# The text of a lane is written down eight times: numba unrolls no loop before it knows that addresses differ.

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.operations import evaluate_binary, evaluate_unary
from rtmbs.ad.program import SUM, Program
from rtmbs.jit.compiled import inlined_kernel, kernel

Array = Any  # numba types by value

LANES = 8


class Rows:
    """A program with memory for eight rows."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.memory = np.zeros((int(program.sizes[2]), LANES))
        self.memory[: len(program.constants)] = program.constants[:, None]

    def __call__(self, x: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the outputs (K, m) for rows of independents (K, n) and of parameters (K, k)."""
        y = np.empty((len(x), len(self.program.output)))
        evaluate_rows(self.program, self.memory, np.ascontiguousarray(x), np.ascontiguousarray(p), y)
        return y


@kernel
def evaluate_rows(program: Program, memory: Array, x: Array, p: Array, y: Array) -> None:
    """Fill y (K, m); ``memory`` (slots, 8) holds the constants. The last row fills lanes that are left over."""
    first, n, count = len(program.constants), x.shape[1], len(x)
    for begin in range(0, count, LANES):
        for lane in range(LANES):
            row = min(begin + lane, count - 1)
            for i in range(n):
                memory[first + i, lane] = x[row, i]
            for i in range(p.shape[1]):
                memory[first + n + i, lane] = p[row, i]
        run_rows(program, memory)
        for lane in range(min(LANES, count - begin)):
            for i in range(len(program.output)):
                y[begin + lane, i] = memory[program.output[i], lane]


@kernel
def run_rows(program: Program, memory: Array) -> None:
    """Carry out all runs of a program in all lanes."""
    code = program.code
    for r in range(len(program.operation)):
        op, count, k = program.operation[r], program.count[r], program.start[r]
        if op == SUM:
            added, subtracted = program.added[r], program.subtracted[r]
            for _ in range(count):
                add_products(code, memory, k, added, subtracted)
                k += 1 + 2 * (added + subtracted)
        elif op == o.MULTIPLY:
            for _ in range(count):
                multiply(memory, code[k], code[k + 1], code[k + 2])
                k += 3
        elif op == o.ADD:
            for _ in range(count):
                add(memory, code[k], code[k + 1], code[k + 2])
                k += 3
        elif op == o.SUBTRACT:
            for _ in range(count):
                subtract(memory, code[k], code[k + 1], code[k + 2])
                k += 3
        else:
            run_others(code, memory, k, count, op)


@inlined_kernel
def put(
    m: Array, r: int, t0: float, t1: float, t2: float, t3: float, t4: float, t5: float, t6: float, t7: float
) -> Any:
    """Write the results of eight lanes."""
    m[r, 0], m[r, 1], m[r, 2], m[r, 3] = t0, t1, t2, t3
    m[r, 4], m[r, 5], m[r, 6], m[r, 7] = t4, t5, t6, t7


@inlined_kernel
def add(m: Array, r: int, a: int, b: int) -> Any:
    """Write sums."""
    t0, t1, t2, t3 = m[a, 0] + m[b, 0], m[a, 1] + m[b, 1], m[a, 2] + m[b, 2], m[a, 3] + m[b, 3]
    t4, t5, t6, t7 = m[a, 4] + m[b, 4], m[a, 5] + m[b, 5], m[a, 6] + m[b, 6], m[a, 7] + m[b, 7]
    put(m, r, t0, t1, t2, t3, t4, t5, t6, t7)


@inlined_kernel
def subtract(m: Array, r: int, a: int, b: int) -> Any:
    """Write differences."""
    t0, t1, t2, t3 = m[a, 0] - m[b, 0], m[a, 1] - m[b, 1], m[a, 2] - m[b, 2], m[a, 3] - m[b, 3]
    t4, t5, t6, t7 = m[a, 4] - m[b, 4], m[a, 5] - m[b, 5], m[a, 6] - m[b, 6], m[a, 7] - m[b, 7]
    put(m, r, t0, t1, t2, t3, t4, t5, t6, t7)


@inlined_kernel
def multiply(m: Array, r: int, a: int, b: int) -> Any:
    """Write products."""
    t0, t1, t2, t3 = m[a, 0] * m[b, 0], m[a, 1] * m[b, 1], m[a, 2] * m[b, 2], m[a, 3] * m[b, 3]
    t4, t5, t6, t7 = m[a, 4] * m[b, 4], m[a, 5] * m[b, 5], m[a, 6] * m[b, 6], m[a, 7] * m[b, 7]
    put(m, r, t0, t1, t2, t3, t4, t5, t6, t7)


@inlined_kernel
def add_products(code: Array, m: Array, k: int, added: int, subtracted: int) -> Any:
    """Write the sum of products of one instruction; two products alone are not added to zero."""
    r, pairs = code[k], added + subtracted
    k += 1
    t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = 0.0
    for j in range(pairs):
        a, b = code[k], code[k + 1]
        k += 2
        x0, x1, x2, x3 = m[a, 0] * m[b, 0], m[a, 1] * m[b, 1], m[a, 2] * m[b, 2], m[a, 3] * m[b, 3]
        x4, x5, x6, x7 = m[a, 4] * m[b, 4], m[a, 5] * m[b, 5], m[a, 6] * m[b, 6], m[a, 7] * m[b, 7]
        if j < added:
            t0, t1, t2, t3, t4, t5, t6, t7 = t0 + x0, t1 + x1, t2 + x2, t3 + x3, t4 + x4, t5 + x5, t6 + x6, t7 + x7
        else:
            t0, t1, t2, t3, t4, t5, t6, t7 = t0 - x0, t1 - x1, t2 - x2, t3 - x3, t4 - x4, t5 - x5, t6 - x6, t7 - x7
    put(m, r, t0, t1, t2, t3, t4, t5, t6, t7)


@kernel
def run_others(code: Array, m: Array, k: int, count: int, op: int) -> None:
    """Carry out the operations that are rare or slow in themselves."""
    for _ in range(count):
        if op <= o.TRUTH:
            for lane in range(LANES):
                m[code[k], lane] = evaluate_unary(op, m[code[k + 1], lane])
            k += 2
        elif op < o.SELECT:
            for lane in range(LANES):
                m[code[k], lane] = evaluate_binary(op, m[code[k + 1], lane], m[code[k + 2], lane])
            k += 3
        else:
            for lane in range(LANES):
                chosen = code[k + 2] if m[code[k + 1], lane] != 0.0 else code[k + 3]
                m[code[k], lane] = m[chosen, lane]
            k += 4
