"""Programs evaluated eight at a time (compiled): one program for many rows of inputs, or alike functions side by side.

An instruction is read once for eight numbers, which a lane of memory each holds. Every lane takes the operations of
``ad.program.evaluate`` in their order, so results are the same to the bit. The laws of four tyres or of a hundred
bushings are the same operations with other constants, inputs and parameters: each of them is a lane of one program.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import uint64 as at
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.operations import evaluate_binary, evaluate_unary
from rtmbs.ad.program import SUM, Program, lowered, lowered_in_parts
from rtmbs.ad.tape import Tape, joined
from rtmbs.jit.compiled import coarse_kernel, inner_kernel, kernel
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
from rtmbs.jit.struct import struct

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
LINE = 8  # numbers
NONE = np.zeros(0, np.bool_)
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
        run_rows(program, memory, lanes, np.int64(0), len(program.operation))
        write_outputs(program.output, memory, rows[begin : begin + LANES], y)


@kernel
def write_outputs(output: Any, memory: Any, rows: Any, y: Any) -> None:
    """Write the outputs of at most eight rows to y, a cache line of each row at a time.

    The length of a line is a constant of the inner loop, which then takes two thirds of the time.
    """
    lines = len(output) // LINE * LINE
    for first in range(0, lines, LINE):
        for lane in range(len(rows)):
            for k in range(LINE):
                y[at(rows[lane]), at(first + k)] = memory[at(output[at(first + k)]), at(lane)]
    for lane in range(len(rows)):
        for i in range(lines, len(output)):
            y[at(rows[lane]), at(i)] = memory[at(output[i]), at(lane)]


@coarse_kernel
def run_rows(program: Program, memory: Any, lanes: Any, begin: int, end: int) -> None:
    """Run the instructions of runs ``begin`` to ``end`` in all lanes; slow ones of run r in the first ``lanes[r]``."""
    code = program.code
    for r in range(begin, end):
        op, count, k = program.operation[at(r)], program.count[at(r)], program.start[at(r)]
        if op == SUM:
            added, subtracted = program.added[at(r)], program.subtracted[at(r)]
            for _ in range(count):
                add_products(memory, code, k, added, subtracted)
                k += 1 + 2 * (added + subtracted)
        elif op == o.MULTIPLY:
            for _ in range(count):
                multiply_rows(memory, code[at(k)], code[at(k + 1)], code[at(k + 2)])
                k += 3
        elif op == o.GUARDED:
            for _ in range(count):
                guard_rows(memory, code[at(k)], code[at(k + 1)], code[at(k + 2)])
                k += 3
        elif op == o.ADD:
            for _ in range(count):
                add_rows(memory, code[at(k)], code[at(k + 1)], code[at(k + 2)])
                k += 3
        elif op == o.SUBTRACT:
            for _ in range(count):
                subtract_rows(memory, code[at(k)], code[at(k + 1)], code[at(k + 2)])
                k += 3
        elif op == o.DIVIDE:
            for _ in range(count):
                divide_rows(memory, code[at(k)], code[at(k + 1)], code[at(k + 2)])
                k += 3
        elif op == o.NEGATE or op == o.SQRT:
            run_unary(code, memory, k, count, op)
        elif op >= o.MINIMUM and op <= o.EQUAL:
            run_choices(code, memory, k, count, op)
        else:
            run_others(code, memory, k, count, op, lanes[at(r)])


@kernel
def run_unary(code: Any, m: Any, k: int, count: int, op: int) -> None:
    """Run changes of sign, or square roots."""
    for _ in range(count):
        if op == o.SQRT:
            root_rows(m, code[at(k)], code[at(k + 1)])
        else:
            for lane in range(LANES):
                m[at(code[at(k)]), at(lane)] = -m[at(code[at(k + 1)]), at(lane)]
        k += 2


@kernel
def run_choices(code: Any, m: Any, k: int, count: int, op: int) -> None:
    """Run minima, maxima, or comparisons."""
    for _ in range(count):
        r, a, b = code[at(k)], code[at(k + 1)], code[at(k + 2)]
        if op == o.MINIMUM:
            least_rows(m, r, a, b)
        elif op == o.MAXIMUM:
            most_rows(m, r, a, b)
        elif op == o.LESS:
            less_rows(m, r, a, b)
        elif op == o.LESS_EQUAL:
            at_most_rows(m, r, a, b)
        else:
            equal_rows(m, r, a, b)
        k += 3


@kernel
def run_others(code: Any, m: Any, k: int, count: int, op: int, lanes: int) -> None:
    """Run the operations that are rare or slow in themselves."""
    for _ in range(count):
        r, a = at(code[at(k)]), at(code[at(k + 1)])
        if op <= o.TRUTH:
            for lane in range(lanes):
                m[r, at(lane)] = evaluate_unary(op, m[a, at(lane)])
            k += 2
        elif op < o.SELECT:
            b = at(code[at(k + 2)])
            for lane in range(lanes):
                m[r, at(lane)] = evaluate_binary(op, m[a, at(lane)], m[b, at(lane)])
            k += 3
        else:
            b, c = at(code[at(k + 2)]), at(code[at(k + 3)])
            for lane in range(lanes):
                m[r, at(lane)] = m[b if m[a, at(lane)] != 0.0 else c, at(lane)]
            k += 4


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
    lanes: Integers  # (runs,) int64: lanes in use, the same for all runs
    constants: Array  # (constants, 8) first rows of the memory
    given: Integers  # (g, 3) int64: slot, lane, and place among independents, then parameters
    found: Integers  # (m, 3) int64: slot, lane, and place among outputs; those of the first runs first
    first: Integers  # (2,) int64: runs that find the outputs that are not late, and how many of ``found`` these are


@struct
class SeatProgram(NamedTuple):
    """One function of each structure in one program, whose lanes are for those functions that are asked for."""

    program: Program  # sizes: independents and parameters of all functions, and slots
    kind: Integers  # (functions,) int64: structure of each
    slot: Integers  # (functions,) int64: where its constants begin in the memory (slots, 8)
    pointer: Integers  # (functions + 1, 3) int64: its first constant, row of ``given`` and row of ``found``
    constants: Array  # (constants,) of all functions
    given: Integers  # (g, 2) int64: slot, and place among independents, then parameters
    found: Integers  # (m, 2) int64: slot, and place among outputs


class Member(NamedTuple):
    """Function on a tape, and the places of its inputs and outputs among those of all functions."""

    tape: Tape
    x: Integers  # (n,) places of independents
    p: Integers  # (k,) places of parameters
    y: Integers  # (m,) places of outputs


def lane_program(members: Sequence[Member], n: int, k: int, late: Any = None) -> LaneProgram:
    """Return the program of all functions in lanes, or an empty one where lanes save less than a fifth of the time.

    Parameters
    ----------
    members : sequence of Member
        The functions.
    n, k : int
        Independents and parameters of all functions.
    late : ndarray of bool, optional
        Outputs (m,) of all functions that are not always asked for: the last runs find them alone.

    Returns
    -------
    LaneProgram
        The program; without runs where one program for all functions serves better.
    """
    batches = batches_of(members)
    early = [early_outputs(batch, late) for batch in batches]
    program, runs = lowered_in_parts(joined([batch[0].tape for batch in batches]), np.concatenate([NONE, *early]))
    most = max((len(batch) for batch in batches), default=0)
    alone = sum(len(batch) * instructions(batch[0].tape) for batch in batches)
    if time_in_lanes(program, most) >= WORTH * alone:
        return lane_program([], n, k) if batches else no_lanes(program)
    constants = np.ones((len(program.constants), LANES))
    given, found, others, first, begin = [], list[Integers](), list[Integers](), 0, np.zeros(3, np.int64)
    inputs = len(program.constants) + np.array([0, program.sizes[0]])
    for batch, soon in zip(batches, early, strict=True):
        tape = batch[0].tape
        values = constants[first : first + len(tape.constants)]
        values[:] = tape.constants[:, None]  # unused lanes take those of the first function
        for lane, one in enumerate(batch):
            values[:, lane] = one.tape.constants
            given.append(rows(inputs[0] + begin[0] + np.arange(tape.n), lane, one.x))
            given.append(rows(inputs[1] + begin[1] + np.arange(tape.k), lane, n + one.p))
            output = program.output[begin[2] : begin[2] + tape.m]
            found.append(rows(output[soon], lane, one.y[soon]))
            others.append(rows(output[~soon], lane, one.y[~soon]))
        first, begin = first + len(tape.constants), begin + np.array([tape.n, tape.k, tape.m])
    return LaneProgram(
        program._replace(sizes=np.array([n, k, program.sizes[2]], np.int64)),
        np.full(len(program.operation), most),
        constants,
        sorted_rows(given),
        np.concatenate([sorted_rows(found), sorted_rows(others)]),
        np.array([runs, sum(map(len, found))], np.int64),
    )


def early_outputs(batch: Sequence[Member], late: Any) -> NDArray[np.bool_]:
    """Return the outputs (m,) of a tape that are not late for all functions of a batch."""
    if late is None:
        return np.ones(batch[0].tape.m, np.bool_)
    return ~np.all([late[one.y] for one in batch], axis=0)


def no_lanes(program: Program) -> LaneProgram:
    """Return the program in lanes of no function; ``program`` is that of none."""
    nothing = np.zeros((0, 3), np.int64)
    return LaneProgram(program, np.zeros(0, np.int64), np.zeros((0, LANES)), nothing, nothing, np.zeros(2, np.int64))


def seat_program(members: Sequence[Member], n: int, k: int) -> SeatProgram:
    """Return the program of functions of which few are asked for at a time; ``n`` and ``k`` are the sizes of all."""
    names = [structure(one.tape) for one in members]
    first = {name: members[names.index(name)].tape for name in names}  # of each structure, in the order of the members
    tapes, order = list(first.values()), list(first)
    program = lowered(joined(tapes))
    sizes = [(len(tape.constants), tape.n, tape.k, tape.m) for tape in tapes]
    begin = np.cumsum([(0, 0, 0, 0), *sizes], axis=0)
    inputs = len(program.constants) + np.array([0, program.sizes[0]])
    kind = np.array([order.index(name) for name in names], np.int64)
    pointer, given, found = [(0, 0, 0)], [np.zeros((0, 2), np.int64)], [np.zeros((0, 2), np.int64)]
    for one, of in zip(members, kind, strict=True):
        tape, at = one.tape, begin[of]
        given.append(np.column_stack((inputs[0] + at[1] + np.arange(tape.n), one.x)))
        given.append(np.column_stack((inputs[1] + at[2] + np.arange(tape.k), n + one.p)))
        found.append(np.column_stack((program.output[at[3] : at[3] + tape.m], one.y)))
        pointer.append(tuple(np.add(pointer[-1], (len(tape.constants), tape.n + tape.k, tape.m))))
    return SeatProgram(
        program._replace(sizes=np.array([n, k, program.sizes[2]], np.int64)),
        kind,
        np.asarray(begin[kind, 0], np.int64),
        np.array(pointer, np.int64),
        np.concatenate([np.zeros(0), *(one.tape.constants for one in members)]),
        *(np.ascontiguousarray(np.concatenate(part), np.int64) for part in (given, found)),
    )


def no_seats(program: Program) -> SeatProgram:
    """Return the program of no function; ``program`` is that of none."""
    none, pairs = np.zeros(0, np.int64), np.zeros((0, 2), np.int64)
    return SeatProgram(program, none, none, np.zeros((1, 3), np.int64), np.zeros(0), pairs, pairs)


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


def rows(slot: Integers, lane: int, place: Integers) -> Integers:
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


def seat_memory(seats: SeatProgram) -> Array:
    """Return new memory for a program of seats, aligned to cache lines, none for one without runs."""
    if not len(seats.kind):
        return np.zeros((0, LANES))
    memory = aligned(int(seats.program.sizes[2]))
    memory[: len(seats.program.constants)] = seats.program.constants[:, None]
    return memory


@inner_kernel
def take_seat(seats: SeatProgram, memory: Array, seat: Array, lanes: Array, function: int) -> bool:
    """Give a lane to a function, the first behind those of its structure; False where no lane is left.

    ``seat`` (functions,) has the lane of each, -1 without one; ``lanes`` (runs,) those in use, 0 at first.
    """
    lane = 0
    for other in range(len(seat)):
        if seats.kind[other] == seats.kind[function]:
            lane = max(lane, seat[other] + 1)
    if lane >= LANES:
        return False
    first = seats.pointer[function, 0]
    for e in range(first, seats.pointer[function + 1, 0]):
        memory[seats.slot[function] + e - first, lane] = seats.constants[e]
    for r in range(len(lanes)):
        lanes[r] = max(lanes[r], lane + 1)
    seat[function] = lane
    return True


@kernel
def evaluate_seated(seats: SeatProgram, memory: Array, seat: Array, lanes: Array, x: Array, p: Array) -> None:
    """Write the outputs of all functions with a lane to the memory, for independents x (n,) and parameters p (k,)."""
    n = seats.program.sizes[0]
    for function in range(len(seat)):
        lane = seat[function]
        if lane >= 0:
            for i in range(seats.pointer[function, 1], seats.pointer[function + 1, 1]):
                place = seats.given[i, 1]
                memory[seats.given[i, 0], lane] = x[place] if place < n else p[place - n]
    run_rows(seats.program, memory, lanes, np.int64(0), len(seats.program.operation))


@kernel
def evaluate_lanes(lanes: LaneProgram, memory: Array, x: Array, p: Array, y: Array) -> None:
    """Fill y (m,) with the outputs of all functions for independents x (n,) and parameters p (k,)."""
    evaluate_first(lanes, memory, x, p, y)
    evaluate_rest(lanes, memory, y)


@inner_kernel
def evaluate_first(lanes: LaneProgram, memory: Array, x: Array, p: Array, y: Array) -> None:
    """Fill the outputs in y (m,) that are not late; ``evaluate_rest`` goes on from the memory."""
    n, given = lanes.program.sizes[0], lanes.given
    for i in range(len(given)):
        place = given[at(i), at(2)]
        memory[at(given[at(i), at(0)]), at(given[at(i), at(1)])] = x[at(place)] if place < n else p[at(place - n)]
    run_rows(lanes.program, memory, lanes.lanes, np.int64(0), lanes.first[0])
    write_found(lanes.found, memory, 0, lanes.first[1], y)


@inner_kernel
def evaluate_rest(lanes: LaneProgram, memory: Array, y: Array) -> None:
    """Fill the late outputs in y (m,) at the inputs of ``evaluate_first``."""
    run_rows(lanes.program, memory, lanes.lanes, lanes.first[0], len(lanes.lanes))
    write_found(lanes.found, memory, lanes.first[1], len(lanes.found), y)


@inner_kernel
def write_found(found: Any, memory: Any, begin: int, end: int, y: Any) -> None:
    """Write the outputs of rows ``begin`` to ``end`` of ``found``."""
    for i in range(begin, end):
        y[at(found[at(i), at(2)])] = memory[at(found[at(i), at(0)]), at(found[at(i), at(1)])]
