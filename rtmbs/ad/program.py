"""Program of a tape: instructions on slots of memory in runs of equal operations, for one compiled loop.

Nothing is compiled for a tape: a program is arrays of integers. A run is one operation on many operands, so the loop
decides once a run, not once an operation. Other kernels call ``evaluate`` with a program and its memory as arguments.

``lowered`` makes a program of a tape. Sums absorb their products, and steps are ordered for long runs of one kind. A
slot is used again as soon as its number is not needed any more: the memory stays small and in cache.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.operations import evaluate_binary, evaluate_unary
from rtmbs.ad.tape import Tape, needed_for
from rtmbs.ad.traced import Ids
from rtmbs.jit.compiled import coarse_kernel, kernel
from rtmbs.jit.struct import struct

Array = Any
LONG = 200_000  # instructions: beyond it runs are long in any order
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
    """Return new memory for a program; no result is carried over, so one serves all evaluations in turn."""
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
    """Run all instructions of a program."""
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
    """Run sums of products, all of one shape."""
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
    """Run the operations that are rare or slow in themselves."""
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


class Instructions(NamedTuple):
    """Instructions of a tape: one for every step that no sum absorbs."""

    shape: NDArray[np.int32]  # (instructions, 3): operation, products added, products subtracted
    result: Ids  # (instructions,) step
    pointer: NDArray[np.int64]  # (instructions + 1,) into operand
    operand: Ids  # steps; the step behind the last one is the constant one


def lowered(tape: Tape, by_level: bool = False) -> Program:
    """Return a tape as a program, its instructions in the order of ``order_of``, or by level."""
    instructions = instructions_of(tape)
    key = keys_of(instructions)
    return program_of(tape, instructions, [order_of(instructions, key, len(tape.op), by_level)])[0]


def lowered_in_parts(tape: Tape, early: NDArray[np.bool_]) -> tuple[Program, int]:
    """Return a tape as a program whose first runs find the ``early`` outputs (m,), and how many runs these are.

    Memory holds what the other runs take from them.
    """
    instructions = instructions_of(tape)
    key, needed = keys_of(instructions), needed_for(tape, tape.outputs[early])[instructions.result]
    parts = [np.flatnonzero(needed), np.flatnonzero(~needed)]
    orders = [part[order_of(some_of(instructions, part), key[part], len(tape.op), False)] for part in parts]
    program, ends = program_of(tape, instructions, orders)
    return program, ends[0]


def keys_of(instructions: Instructions) -> NDArray[np.int64]:
    """Return the kind of every instruction as one number; there are fewer products than steps, ``tape.LARGEST``."""
    return np.asarray(instructions.shape.astype(np.int64) @ np.array([1 << 56, 1 << 28, 1]), np.int64)


def some_of(instructions: Instructions, chosen: NDArray[np.int64]) -> Instructions:
    """Return some instructions; results of the others count as inputs."""
    length = np.diff(instructions.pointer)
    pointer = np.concatenate((np.zeros(1, np.int64), np.cumsum(length[chosen])))
    place = np.arange(pointer[-1]) + np.repeat(instructions.pointer[chosen] - pointer[:-1], length[chosen])
    return Instructions(instructions.shape[chosen], instructions.result[chosen], pointer, instructions.operand[place])


def program_of(tape: Tape, instructions: Instructions, parts: list[NDArray[np.int64]]) -> tuple[Program, list[int]]:
    """Return the program of instructions in an order, part by part, and the number of runs at the end of each part."""
    order, key = np.concatenate(parts), keys_of(instructions)
    slot, slots = slots_of(tape, instructions, order)
    code, start = encoded(instructions, order, slot)

    cuts = np.cumsum([len(part) for part in parts])
    begins = np.concatenate((np.zeros(1, np.int64), cuts, np.flatnonzero(np.diff(key[order])) + 1))
    first = np.unique(begins[begins < len(order)])  # a run may go on across levels, not across parts
    operation, added, subtracted = np.ascontiguousarray(instructions.shape[order[first]].T)
    program = Program(
        operation,
        added,
        subtracted,
        np.diff(np.append(first, len(order))).astype(np.int32),
        start[first],
        code,
        slot[tape.outputs],
        np.append(tape.constants, 1.0),
        np.array([tape.n, tape.k, slots]),
    )
    return program, [int(np.searchsorted(first, cut)) for cut in cuts]


def order_of(instructions: Instructions, key: NDArray[np.int64], steps: int, by_level: bool) -> NDArray[np.int64]:
    """Return an order in which every step follows its operands, with long runs of equal ``key`` (instructions,).

    Most programs are ordered by ``find_order``: the branches that follow each run are a third of the time of some
    thousand instructions, and a twentieth of that of fifty thousand. Longer programs, of longer runs, are ordered by
    level, and within a level by kind.
    """
    graph = instructions.result, instructions.pointer, instructions.operand
    if by_level or len(key) > LONG:
        level = np.zeros(steps + 1, dtype=np.int32)
        find_levels(*graph, level)
        return np.asarray(np.lexsort((key, level[instructions.result])), np.int64)
    kinds, kind = np.unique(key, return_inverse=True)
    place = np.full(steps + 1, -1, np.int64)
    place[instructions.result] = np.arange(len(key))
    operand = place[instructions.operand]  # -1: an input or a constant
    used = np.flatnonzero(operand >= 0)
    by = np.argsort(operand[used], kind="stable")
    user = np.repeat(np.arange(len(key)), np.diff(instructions.pointer))[used][by]
    user_pointer = np.searchsorted(operand[used][by], np.arange(len(key) + 1))
    waits = np.bincount(user, minlength=len(key))
    order = np.zeros(len(key), np.int64)
    way, behind, ends = np.zeros(len(key), np.int64), np.full(len(key), -1), np.full((2, len(kinds)), -1)
    find_order(np.asarray(kind, np.int64), user_pointer, user, waits, way, behind, ends, order)
    return order


def instructions_of(tape: Tape) -> Instructions:
    """Return the instructions in the order of the tape."""
    steps = len(tape.op)
    swallowed = fused_steps(tape)
    # A sum that swallows t - 1 others has at most t + 1 <= 2 t products of two operands; every step is swallowed by one
    # sum only, so all sums together take at most four operands a step, and other operations take at most three.
    shape, result = np.zeros((steps, 3), dtype=np.int32), np.zeros(steps, dtype=np.int32)
    pointer, operand = np.zeros(steps + 1, dtype=np.int64), np.zeros(4 * steps, dtype=np.int32)
    stack = np.zeros(steps + 1, dtype=np.int64)  # each step of a sum takes itself away before it puts two others
    columns = (tape.op, tape.a, tape.b, tape.c, o.ARITY)
    count = write_instructions(*columns, swallowed, shape, result, pointer, operand, stack)
    return Instructions(shape[:count], result[:count], pointer[: count + 1], operand[: pointer[count]].copy())


def fused_steps(tape: Tape) -> NDArray[np.bool_]:
    """Return the products and sums that are used once, and that in a sum."""
    op, arity, steps = tape.op, o.ARITY[tape.op], len(tape.op)
    uses = 2 * np.bincount(tape.outputs, minlength=steps)
    for k, column in enumerate((tape.a, tape.b, tape.c)):
        uses += np.bincount(column[arity > k], minlength=steps)
    sums = (op == o.ADD) | (op == o.SUBTRACT)
    swallowed = np.zeros(steps, dtype=bool)
    swallowed[tape.a[sums | (op == o.NEGATE)]] = True
    swallowed[tape.b[sums]] = True
    return swallowed & (uses == 1) & (sums | (op == o.NEGATE) | (op == o.MULTIPLY))


def slots_of(tape: Tape, instructions: Instructions, order: NDArray[np.int64]) -> tuple[Ids, int]:
    """Return the slot of every step, and how many there are; constants, inputs and outputs keep theirs."""
    steps, first = len(tape.op), len(tape.constants) + 1
    slot = np.full(steps + 1, -1, dtype=np.int32)
    slot[steps] = first - 1
    leaf = tape.op == o.CONSTANT
    slot[:-1][leaf] = tape.a[leaf]
    leaf = tape.op == o.INPUT
    slot[:-1][leaf] = first + tape.a[leaf]
    first += tape.n + tape.k
    results = np.unique(tape.outputs)
    results = results[slot[results] < 0]
    slot[results] = first + np.arange(len(results))
    scratch = np.zeros(steps + 1, dtype=np.int32), slot >= 0, np.zeros(len(order) + 1, dtype=np.int32)
    arguments = instructions.result, instructions.pointer, instructions.operand
    return slot, assign_slots(order, *arguments, slot, first + len(results), *scratch)


def encoded(
    instructions: Instructions, order: NDArray[np.int64], slot: Ids
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the code and where each instruction of ``order`` starts in it."""
    lengths = np.diff(instructions.pointer)[order] + 1
    start = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    code = np.zeros(start[-1], dtype=np.uint32)
    code[start[:-1]] = slot[instructions.result[order]]
    operand = np.ones(len(code), dtype=bool)
    operand[start[:-1]] = False
    source = np.arange(len(code)) + np.repeat(instructions.pointer[order] - start[:-1] - 1, lengths)
    code[operand] = slot[instructions.operand[source[operand]]]
    return code, start


@kernel
def write_instructions(
    op: Array, a: Array, b: Array, c: Array, arity: Array, swallowed: Array,
    shape: Array, result: Array, pointer: Array, operand: Array, stack: Array,
) -> int:  # fmt: skip
    """Write an instruction for each step that is not absorbed; return how many there are."""
    count, end = 0, 0
    for i in range(len(op)):
        kind = np.int64(op[i])
        if kind <= o.INPUT or swallowed[i]:
            continue
        shape[count, 0] = kind
        linear = kind == o.ADD or kind == o.SUBTRACT or kind == o.NEGATE
        if linear and (swallowed[a[i]] or (kind != o.NEGATE and swallowed[b[i]])):
            shape[count, 0] = SUM
            for sign in range(2):  # those added first
                begin = end
                end = write_products(op, a, b, swallowed, i, sign, operand, end, stack)
                shape[count, 1 + sign] = (end - begin) // 2
        else:
            for k in range(arity[kind]):
                operand[end] = a[i] if k == 0 else (b[i] if k == 1 else c[i])
                end += 1
        result[count] = i
        count += 1
        pointer[count] = end
    return count


@kernel
def write_products(
    op: Array, a: Array, b: Array, swallowed: Array, i: int, wanted: int, operand: Array, end: int, stack: Array
) -> int:
    """Write the products of sum i that carry the wanted sign, from left to right; return the end of the operands."""
    one, top = len(op), 1
    stack[0] = 2 * i
    while top > 0:
        top -= 1
        x, sign = stack[top] >> 1, stack[top] & 1
        if (x != i and not swallowed[x]) or op[x] == o.MULTIPLY:
            if sign == wanted:
                product = op[x] == o.MULTIPLY and swallowed[x]
                operand[end], operand[end + 1] = (a[x], b[x]) if product else (x, one)
                end += 2
        elif op[x] == o.NEGATE:
            stack[top] = 2 * a[x] + 1 - sign
            top += 1
        else:
            stack[top] = 2 * b[x] + (sign if op[x] == o.ADD else 1 - sign)
            stack[top + 1] = 2 * a[x] + sign
            top += 2
    return end


@kernel
def find_levels(result: Array, pointer: Array, operand: Array, level: Array) -> None:
    """Fill in the level of every step: one above the highest of its operands."""
    for i in range(len(result)):
        highest = 0
        for k in range(pointer[i], pointer[i + 1]):
            highest = max(highest, level[operand[k]])
        level[result[i]] = highest + 1


@kernel
def find_order(
    kind: Array, user_pointer: Array, user: Array, waits: Array, way: Array, behind: Array, ends: Array, order: Array
) -> None:
    """Fill in an order of instructions, by list scheduling.

    A run takes all instructions of its kind that are ready, also those that become ready meanwhile. The next run is of
    the kind with the longest way from a ready instruction to the end.

    ``way`` is zero; ``behind`` and ``ends``, the chains of ready instructions by kind, are -1.
    """
    count, first, last = len(kind), ends[0], ends[1]
    for k in range(count):
        i = count - 1 - k  # an instruction is used behind itself only
        for u in range(user_pointer[i], user_pointer[i + 1]):
            way[i] = max(way[i], way[user[u]] + 1)
    for i in range(count):
        if waits[i] == 0:
            append(first, last, behind, kind[i], i)
    done = 0
    while done < count:
        chosen = longest(first, behind, way)
        while first[chosen] >= 0:
            i = first[chosen]
            first[chosen] = behind[i]
            order[done] = i
            done += 1
            for u in range(user_pointer[i], user_pointer[i + 1]):
                waits[user[u]] -= 1
                if waits[user[u]] == 0:
                    append(first, last, behind, kind[user[u]], user[u])


@kernel
def append(first: Array, last: Array, behind: Array, chain: int, i: int) -> None:
    """Put ``i`` at the end of a chain."""
    if first[chain] < 0:
        first[chain] = i
    else:
        behind[last[chain]] = i
    last[chain] = i


@kernel
def longest(first: Array, behind: Array, way: Array) -> int:
    """Return the chain that has the longest way."""
    chosen, far = 0, -1
    for chain in range(len(first)):
        i = first[chain]
        while i >= 0:
            if way[i] > far:
                chosen, far = chain, way[i]
            i = behind[i]
    return chosen


@kernel
def assign_slots(
    order: Array, result: Array, pointer: Array, operand: Array, slot: Array, slots: int,
    last: Array, fixed: Array, free: Array,
) -> int:  # fmt: skip
    """Give every result a slot, the one freed last if there is one; return the number of slots."""
    for place in range(len(order)):
        for k in range(pointer[order[place]], pointer[order[place] + 1]):
            last[operand[k]] = place
    top = 0
    for place in range(len(order)):
        i = order[place]
        for k in range(pointer[i], pointer[i + 1]):
            x = operand[k]
            if last[x] == place and not fixed[x]:
                free[top] = slot[x]
                top += 1
                last[x] = -1
        x = result[i]
        if not fixed[x]:
            if top > 0:
                top -= 1
                slot[x] = free[top]
            else:
                slot[x] = slots
                slots += 1
    return slots
