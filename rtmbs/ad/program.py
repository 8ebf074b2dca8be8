"""A tape ready to run: numbers in slots, instructions in runs of equal ones, followed by one compiled loop.

Nothing is compiled for a tape: a program is arrays of integers. A run is one operation on many operands, so the loop
decides once a run, not once an operation. Other kernels call ``evaluate`` with a program and its memory as arguments.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.operations import evaluate_binary, evaluate_unary
from rtmbs.jit.compiled import coarse_kernel, kernel
from rtmbs.jit.struct import struct

Array = Any
SUM = len(o.NAMES)  # sum of products, the one operation with any number of operands


@struct
class Program(NamedTuple):
    """Runs of instructions on slots. Memory: constants, independents, parameters, results."""

    operation: Array  # (runs,) int32
    added: Array  # (runs,) int32: products added in each sum of a run of sums
    subtracted: Array  # (runs,) int32: products subtracted
    count: Array  # (runs,) int32: instructions
    start: Array  # (runs,) int64: first place in code
    code: Array  # uint32 slots: an instruction is its result, then its operands; products in pairs
    output: Array  # (m,) int32: slots of the outputs
    constants: Array  # (constants,) float64, slots 0, 1, ...
    sizes: Array  # (3,) int64: independents, parameters, slots


def memory_of(program: Program) -> NDArray[np.float64]:
    """Return new memory for a program; no result is carried over, so one serves all evaluations, one at a time."""
    memory = np.zeros(program.sizes[2])
    memory[: len(program.constants)] = program.constants
    return memory


@kernel
def evaluate(program: Program, memory: Array, x: Array, p: Array, y: Array) -> None:
    """Fill y (m,) with the outputs for independents x (n,) and parameters p (k,)."""
    set_inputs(program, memory, x, p)
    run(program, memory)
    for i in range(len(y)):
        y[i] = memory[program.output[i]]


@kernel
def set_inputs(program: Program, memory: Array, x: Array, p: Array) -> None:
    """Put the inputs into memory."""
    first = len(program.constants)
    for i in range(len(x)):
        memory[first + i] = x[i]
    for i in range(len(p)):
        memory[first + len(x) + i] = p[i]


@coarse_kernel
def run(program: Program, memory: Array) -> None:
    """Carry out all runs of a program."""
    code = program.code
    for r in range(len(program.operation)):
        op, count, k = program.operation[r], program.count[r], program.start[r]
        if op == SUM:
            run_sums(code, memory, k, count, program.added[r], program.subtracted[r])
        elif op == o.MULTIPLY:
            for _ in range(count):
                memory[code[k]] = memory[code[k + 1]] * memory[code[k + 2]]
                k += 3
        elif op == o.ADD:
            for _ in range(count):
                memory[code[k]] = memory[code[k + 1]] + memory[code[k + 2]]
                k += 3
        elif op == o.SUBTRACT:
            for _ in range(count):
                memory[code[k]] = memory[code[k + 1]] - memory[code[k + 2]]
                k += 3
        else:
            run_others(code, memory, k, count, op)


@kernel
def run_sums(code: Array, memory: Array, k: int, count: int, added: int, subtracted: int) -> None:
    """Carry out sums of products, all of one shape."""
    if added == 2 and subtracted == 0:
        for _ in range(count):
            total = memory[code[k + 1]] * memory[code[k + 2]] + memory[code[k + 3]] * memory[code[k + 4]]
            memory[code[k]] = total
            k += 5
        return
    if added == 1 and subtracted == 1:
        for _ in range(count):
            total = memory[code[k + 1]] * memory[code[k + 2]] - memory[code[k + 3]] * memory[code[k + 4]]
            memory[code[k]] = total
            k += 5
        return
    for _ in range(count):
        result = code[k]
        k += 1
        total = 0.0
        for _ in range(added):
            total += memory[code[k]] * memory[code[k + 1]]
            k += 2
        for _ in range(subtracted):
            total -= memory[code[k]] * memory[code[k + 1]]
            k += 2
        memory[result] = total


@kernel
def run_others(code: Array, memory: Array, k: int, count: int, op: int) -> None:
    """Carry out the operations that are rare or slow in themselves."""
    if op <= o.TRUTH:
        for _ in range(count):
            memory[code[k]] = evaluate_unary(op, memory[code[k + 1]])
            k += 2
    elif op < o.SELECT:
        for _ in range(count):
            memory[code[k]] = evaluate_binary(op, memory[code[k + 1]], memory[code[k + 2]])
            k += 3
    else:
        for _ in range(count):
            chosen = code[k + 2] if memory[code[k + 1]] != 0.0 else code[k + 3]
            memory[code[k]] = memory[chosen]
            k += 4
