"""Interpretation of a program with arrays of any kind, data flow of its inputs, and restriction to some outputs.

``interpreted`` is the slow, readable form of ``program.evaluate``, for code that differentiates through a program or
tests it. Instructions are followed through the slots, which are used again and again: forwards to see which inputs flow
together, backwards to see what some outputs need.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.program import SUM, Program

UNARY_NAMES = {o.NAMES.index(name): name.lower() for name in o.UNARY if name not in ("NEGATE", "TRUTH")}
BINARY_NAMES = {o.ARCTAN2: "arctan2", o.MINIMUM: "minimum", o.MAXIMUM: "maximum"}


class ProgramInstruction(NamedTuple):
    """One operation on slots of memory."""

    op: int
    result: int
    operands: Sequence[int]
    added: int  # products added, of a sum


def interpreted(xp: Any, program: Program, x: Any, p: Any, outputs: slice) -> Any:
    """Return some outputs (B, outputs) for independents x (B, n) and parameters p (k,); only needed steps run."""
    one = 0.0 * x[:, 0] + 1.0  # a column of the kind of x
    memory: dict[int, Any] = {slot: float(value) * one for slot, value in enumerate(program.constants)}
    first, n = len(program.constants), int(program.sizes[0])
    memory |= {first + i: x[:, i] for i in range(n)}
    memory |= {first + n + i: p[i] * one for i in range(int(program.sizes[1]))}
    wanted = program.output[outputs]
    for one_step in needed(program, wanted):
        memory[one_step.result] = apply(xp, one_step, [memory[slot] for slot in one_step.operands])
    return xp.stack([memory[slot] for slot in wanted], axis=1)


def needed(program: Program, wanted: Iterable[int]) -> list[ProgramInstruction]:
    """Return the instructions that some slots depend on, in order. A slot may be written more than once."""
    asked, found = set(wanted), []
    for instruction in reversed(list(instructions(program))):
        if instruction.result in asked:
            asked.discard(instruction.result)
            asked.update(instruction.operands)
            found.append(instruction)
    return found[::-1]


def instructions(program: Program) -> Iterator[ProgramInstruction]:
    """Yield the instructions of a program in order."""
    for run in range(len(program.operation)):
        op, added = int(program.operation[run]), int(program.added[run])
        arity = 2 * (added + int(program.subtracted[run])) if op == SUM else int(o.ARITY[op])
        place = int(program.start[run])
        for _ in range(int(program.count[run])):
            result, *operands = program.code[place : place + 1 + arity].tolist()
            yield ProgramInstruction(op, result, operands, added)
            place += 1 + arity


def sum_of_products(operands: list[Any], added: int) -> Any:
    """Return the products of pairs, the first ``added`` added, the others subtracted."""
    total: Any = 0.0
    for k in range(len(operands) // 2):
        product = operands[2 * k] * operands[2 * k + 1]
        total = total + product if k < added else total - product
    return total


def apply(xp: Any, instruction: ProgramInstruction, x: list[Any]) -> Any:
    """Return the result of one instruction on arrays."""
    op = instruction.op
    if op == SUM:
        return sum_of_products(x, instruction.added)
    if op in UNARY_NAMES:
        return getattr(xp, UNARY_NAMES[op])(x[0])
    if op in BINARY_NAMES:
        return getattr(xp, BINARY_NAMES[op])(x[0], x[1])
    if op == o.NEGATE:
        return -x[0]
    if op == o.ADD:
        return x[0] + x[1]
    if op == o.SUBTRACT:
        return x[0] - x[1]
    if op == o.MULTIPLY:
        return x[0] * x[1]
    if op == o.DIVIDE:
        return x[0] / x[1]
    if op == o.POWER:
        return x[0] ** x[1]
    if op == o.HYPOT:
        return xp.sqrt(x[0] * x[0] + x[1] * x[1])
    if op == o.SELECT:
        return xp.where(x[0] != 0.0, x[1], x[2])
    return truth(xp, op, x)


def truth(xp: Any, op: int, x: list[Any]) -> Any:
    """Return a comparison as ones and zeros, or the guarded product."""
    if op == o.GUARDED:
        nothing = (x[0] == 0.0) | (x[1] == 0.0)
        return xp.where(nothing, 0.0 * x[0], x[0] * x[1])
    condition = {
        o.TRUTH: lambda: x[0] != 0.0,
        o.LESS: lambda: x[0] < x[1],
        o.LESS_EQUAL: lambda: x[0] <= x[1],
        o.EQUAL: lambda: x[0] == x[1],
    }[op]()
    return xp.where(condition, np.ones(1), np.zeros(1))


Integers = NDArray[np.int64]


class ProgramLayout(NamedTuple):
    """Places of the instructions of a program, in the order of execution."""

    run: Integers  # (instructions,) run that it belongs to
    begin: Integers  # (instructions + 1,) its result in ``code``, then its operands; the end last
    length: Integers  # (runs,) of one instruction


def layout(program: Program) -> ProgramLayout:
    """Return the places of the instructions."""
    plain = o.ARITY[np.minimum(program.operation, SUM - 1)]
    products = np.asarray(program.added, np.int64) + program.subtracted
    length = 1 + np.where(program.operation == SUM, 2 * products, plain)
    run = np.repeat(np.arange(len(length)), program.count)
    return ProgramLayout(run, np.concatenate([np.zeros(1, np.int64), np.cumsum(length[run])]), length)


def flows(program: Program) -> tuple[Integers, Integers]:
    """Return pairs of inputs that flow together (k, 2), and an input that every output depends on (m,).

    An output hangs on all inputs that the pairs join, step by step, to the one named here; -1: on none. Parameters do
    not count.
    """
    _, begin, _ = layout(program)
    code, first = program.code.tolist(), len(program.constants)
    holds = [-1] * int(program.sizes[2])  # slot: an input that its number hangs on
    holds[first : first + int(program.sizes[0])] = range(int(program.sizes[0]))
    pairs: set[tuple[int, int]] = set()
    for start, end in pairwise(begin.tolist()):
        found = {holds[slot] for slot in code[start + 1 : end]} - {-1}
        holds[code[start]] = least = min(found, default=-1)
        pairs.update((least, other) for other in found if other != least)
    return np.array(sorted(pairs), np.int64).reshape(-1, 2), np.array([holds[k] for k in program.output], np.int64)


def restricted(program: Program, inputs: Integers, outputs: Integers) -> tuple[Program, Integers]:
    """Return the program of some ``outputs`` as a function of ``inputs`` alone, and the parameters that it takes.

    Its numbers are bit for bit those of the whole. Raises ValueError when the outputs hang on another input.
    """
    where, (n, k) = layout(program), program.sizes[:2]
    kept, needed = needed_by(program, where, outputs)
    code = program.code[np.repeat(kept, where.length[where.run])]
    count = np.bincount(where.run[kept], minlength=len(where.length))
    runs = np.flatnonzero(count)
    start = np.cumsum(count * where.length) - count * where.length

    first = len(program.constants)
    leaves = np.split(needed, (first, first + n, first + n + k))
    constants, taken, parameters = (np.flatnonzero(part) for part in leaves[:3])
    if missing := np.setdiff1d(taken, inputs).tolist():
        raise ValueError(f"the outputs hang on inputs {missing} too; name them among the inputs")
    used = np.concatenate([code.astype(np.int64), program.output[outputs]])
    results = np.unique(used[used >= first + n + k])
    slots = np.concatenate([constants, first + inputs, first + n + parameters, results])
    new = np.zeros(program.sizes[2], np.int64)
    new[slots] = np.arange(len(slots))
    return Program(
        program.operation[runs],
        program.added[runs],
        program.subtracted[runs],
        count[runs].astype(np.int32),
        start[runs],
        new[code].astype(np.uint32),
        new[program.output[outputs]].astype(np.int32),
        program.constants[constants],
        np.array([len(inputs), len(parameters), len(slots)]),
    ), parameters


def needed_by(program: Program, where: ProgramLayout, outputs: Integers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the instructions (instructions,) and the leaves, by slot (slots,), that some outputs need."""
    code, ends = program.code, where.begin.tolist()
    needed, kept = np.zeros(program.sizes[2], np.bool_), np.zeros(len(where.run), np.bool_)
    needed[program.output[outputs]] = True
    for i in range(len(kept) - 1, -1, -1):
        result = code[ends[i]]
        if needed[result]:
            kept[i], needed[result] = True, False
            needed[code[ends[i] + 1 : ends[i + 1]]] = True
    return kept, needed
