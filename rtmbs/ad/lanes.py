"""Functions of equal structure side by side: one program, a lane of a vector for each function (compiled).

The laws of four tyres or of a hundred bushings are the same operations with other constants, inputs and parameters. An
instruction is then read once for up to eight of them. Every lane takes the operations of ``ad.program.evaluate`` in
their order, so results are the same to the bit.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.program import Program, lowered
from rtmbs.ad.simd_programs import aligned, run_rows
from rtmbs.ad.tape import Tape, joined
from rtmbs.jit.compiled import kernel
from rtmbs.jit.intrinsics import LANES
from rtmbs.jit.struct import struct

Array = Any
Integers = NDArray[np.int64]
# Time of an instruction in all lanes over that in one, measured for both kinds: read for all lanes at once, or not.
VECTOR, LOOPED = 1.7, 0.6
WORTH = 0.8  # share of the time of one program for all functions: below it lanes are taken
IN_VECTORS = (
    o.ADD, o.SUBTRACT, o.MULTIPLY, o.DIVIDE, o.GUARDED, o.NEGATE, o.SQRT, o.MINIMUM, o.MAXIMUM, o.LESS, o.LESS_EQUAL,
    o.EQUAL,
)  # fmt: skip


@struct
class LaneProgram(NamedTuple):
    """One function of each batch, joined in one program whose memory (slots, 8) has a lane for each of the batch."""

    program: Program  # sizes: independents and parameters of all functions, and slots
    lanes: Array  # (runs,) int64: lanes in use, the same for all runs
    constants: Array  # (constants, 8) first rows of the memory
    given: Array  # (g, 3) int64: slot, lane, and place among independents, then parameters
    found: Array  # (m, 3) int64: slot, lane, and place among outputs


class Member(NamedTuple):
    """Function on a tape, and the places of its inputs and outputs among those of all functions."""

    tape: Tape
    x: Integers  # (n,) places of independents
    p: Integers  # (k,) places of parameters
    y: Integers  # (m,) places of outputs


def lane_program(members: Sequence[Member], n: int, k: int) -> LaneProgram:
    """Return the program of all functions in lanes, or an empty one where lanes save less than a fifth of the time.

    Parameters
    ----------
    members : sequence of Member
        The functions.
    n, k : int
        Independents and parameters of all functions.

    Returns
    -------
    LaneProgram
        The program; without runs where one program for all functions serves better.
    """
    batches = batches_of(members)
    program = lowered(joined([batch[0].tape for batch in batches]))
    most = max((len(batch) for batch in batches), default=0)
    alone = sum(len(batch) * instructions(batch[0].tape) for batch in batches)
    if time_in_lanes(program, most) >= WORTH * alone:
        return lane_program([], n, k) if batches else no_lanes(program)
    constants = np.ones((len(program.constants), LANES))
    given, found, first, begin = [], [], 0, np.zeros(3, np.int64)
    inputs = len(program.constants) + np.array([0, program.sizes[0]])
    for batch in batches:
        tape = batch[0].tape
        values = constants[first : first + len(tape.constants)]
        values[:] = tape.constants[:, None]  # unused lanes take those of the first function
        for lane, one in enumerate(batch):
            values[:, lane] = one.tape.constants
            given.append(rows(inputs[0] + begin[0] + np.arange(tape.n), lane, one.x))
            given.append(rows(inputs[1] + begin[1] + np.arange(tape.k), lane, n + one.p))
            found.append(rows(program.output[begin[2] : begin[2] + tape.m], lane, one.y))
        first, begin = first + len(tape.constants), begin + np.array([tape.n, tape.k, tape.m])
    return LaneProgram(
        program._replace(sizes=np.array([n, k, program.sizes[2]], np.int64)),
        np.full(len(program.operation), most),
        constants,
        sorted_rows(given),
        sorted_rows(found),
    )


def no_lanes(program: Program) -> LaneProgram:
    """Return the program in lanes of no function; ``program`` is that of none."""
    nothing = np.zeros((0, 3), np.int64)
    return LaneProgram(program, np.zeros(0, np.int64), np.zeros((0, LANES)), nothing, nothing)


def batches_of(members: Sequence[Member]) -> list[list[Member]]:
    """Return functions of equal structure together, at most eight in a batch."""
    groups: dict[bytes, list[Member]] = {}
    for member in members:
        groups.setdefault(structure(member.tape), []).append(member)
    return [group[k : k + LANES] for group in groups.values() for k in range(0, len(group), LANES)]


def structure(tape: Tape) -> bytes:
    """Return a tape without the values of its constants."""
    sizes = np.array([tape.n, tape.k, len(tape.constants)])
    return b"|".join(
        np.ascontiguousarray(part).tobytes() for part in (sizes, tape.op, tape.a, tape.b, tape.c, tape.outputs)
    )


def instructions(tape: Tape) -> int:
    """Return the instructions of a tape as a program."""
    return int(lowered(tape).count.sum())


def time_in_lanes(program: Program, lanes: int) -> float:
    """Return the time of a program in lanes, in instructions of one lane."""
    vector = np.isin(program.operation, (*IN_VECTORS, len(o.NAMES)))
    read, looped = program.count[vector].sum(), program.count[~vector].sum()
    return float(VECTOR * read + (LOOPED + lanes) * looped)


def rows(slot: Array, lane: int, place: Array) -> Integers:
    """Return rows of slot, lane and place (k, 3)."""
    return np.column_stack((slot, np.full(len(slot), lane), place)).astype(np.int64)


def sorted_rows(parts: Sequence[Integers]) -> Integers:
    """Return all rows in the order of memory."""
    found = np.concatenate(list(parts))
    return np.ascontiguousarray(found[np.lexsort((found[:, 1], found[:, 0]))])


def lane_memory(lanes: LaneProgram) -> Array:
    """Return new memory for a program, aligned to cache lines, none for one without runs; no result is carried over."""
    if not len(lanes.lanes):
        return np.zeros((0, LANES))
    memory = aligned(int(lanes.program.sizes[2]))
    memory[: len(lanes.constants)] = lanes.constants
    return memory


@kernel
def evaluate_lanes(lanes: LaneProgram, memory: Array, x: Array, p: Array, y: Array) -> None:
    """Fill y (m,) with the outputs of all functions for independents x (n,) and parameters p (k,)."""
    n = lanes.program.sizes[0]
    for i in range(len(lanes.given)):
        place = lanes.given[i, 2]
        memory[lanes.given[i, 0], lanes.given[i, 1]] = x[place] if place < n else p[place - n]
    run_rows(lanes.program, memory, lanes.lanes)
    for i in range(len(lanes.found)):
        y[lanes.found[i, 2]] = memory[lanes.found[i, 0], lanes.found[i, 1]]
