"""Part of a program: what some of its outputs need, and nothing else. Which inputs an output hangs on.

Instructions are followed through the slots, which are used again and again: forwards to see what flows together,
backwards to see what is needed.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.program import SUM, Program

Integers = NDArray[np.int64]


class Layout(NamedTuple):
    """Where the instructions of a program stand, in the order in which they are carried out."""

    run: Integers  # (instructions,) run that it belongs to
    begin: Integers  # (instructions + 1,) its result in ``code``, then its operands; the end last
    length: Integers  # (runs,) of one instruction


def layout(program: Program) -> Layout:
    """Return where the instructions stand."""
    plain = o.ARITY[np.minimum(program.operation, SUM - 1)]
    products = np.asarray(program.added, np.int64) + program.subtracted
    length = 1 + np.where(program.operation == SUM, 2 * products, plain)
    run = np.repeat(np.arange(len(length)), program.count)
    return Layout(run, np.concatenate([np.zeros(1, np.int64), np.cumsum(length[run])]), length)


def flows(program: Program) -> tuple[Integers, Integers]:
    """Return which inputs flow together, and where to: pairs of inputs (k, 2), and an input of every output (m,).

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
    """Return the program of some ``outputs`` alone, a function of ``inputs`` alone, and the parameters that it takes.

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


def needed_by(program: Program, where: Layout, outputs: Integers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which instructions (instructions,) and which leaves, by slot (slots,), some outputs need."""
    code, ends = program.code, where.begin.tolist()
    needed, kept = np.zeros(program.sizes[2], np.bool_), np.zeros(len(where.run), np.bool_)
    needed[program.output[outputs]] = True
    for i in range(len(kept) - 1, -1, -1):
        result = code[ends[i]]
        if needed[result]:
            kept[i], needed[result] = True, False
            needed[code[ends[i] + 1 : ends[i + 1]]] = True
    return kept, needed
