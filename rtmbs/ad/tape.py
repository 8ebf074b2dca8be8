"""Tape: a function as a list of operations on its inputs; simplification, comparison, joining, files, switches.

Tapes are joined to one whose inputs, parameters and outputs stand behind each other. One program then serves them all
in one call, and equal operations of different tapes share their runs.

The switching functions of a tape change sign where its outputs have a kink or a jump. A tape that takes abs(a) has a
kink where a is zero, one that compares a and b switches where a - b is zero. Where all switching functions keep their
signs the outputs are as smooth as their other operations.
"""

import io
import math
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy import int64
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.builder import (
    NONE,
    PER_EMIT,
    PER_POWER,
    Builder,
    constant,
    emit,
    emit_power,
    emit_select,
    grown,
    new_builder,
    room,
    step,
)
from rtmbs.ad.traced import Ids, OpenTape
from rtmbs.core.files import DamagedFile, check_unpacked, opened, replacing
from rtmbs.errors import TapeFileError
from rtmbs.jit.compiled import kernel

VERSION = 1
DTYPES = {"op": np.uint8, "a": np.int32, "b": np.int32, "c": np.int32, "constants": np.float64, "outputs": np.int32}
COLUMNS = (*DTYPES, "sizes")


@dataclass(frozen=True)
class Tape:
    """Operations of a function, arguments before their uses.

    A constant keeps in ``a`` its place in ``constants``, an input its number: 0 .. n-1 independents, n .. n+k-1
    parameters.
    """

    op: NDArray[np.uint8]  # (steps,)
    a: Ids  # (steps,)
    b: Ids  # (steps,)
    c: Ids  # (steps,)
    constants: NDArray[np.float64]  # (constants,)
    outputs: Ids  # (m,) steps
    n: int  # independents
    k: int  # parameters

    @property
    def m(self) -> int:
        return len(self.outputs)

    @property
    def operations(self) -> int:
        """Number of operations, leaves not counted."""
        return int(np.count_nonzero(self.op > o.INPUT))

    def __str__(self) -> str:
        counts = np.bincount(self.op, minlength=len(o.NAMES))
        common = [i for i in np.argsort(-counts, kind="stable") if counts[i] and i > o.INPUT]
        kinds = ", ".join(f"{counts[i]:,} {o.NAMES[i].lower()}" for i in common)
        inputs = f"{self.n:,} inputs" + (f" and {self.k:,} parameters" if self.k else "")
        return f"tape: {inputs} to {self.m:,} outputs, {self.operations:,} operations ({kinds or 'none'})"

    def listing(self) -> str:
        """Return one line an operation, for a reader."""
        return "\n".join([*(self.line(i) for i in range(len(self.op))), f"outputs {self.outputs.tolist()}"])

    def line(self, i: int) -> str:
        op = int(self.op[i])
        if op == o.CONSTANT:
            return f"{i}: {self.constants[self.a[i]]:g}"
        if op == o.INPUT:
            number = int(self.a[i])
            return f"{i}: x[{number}]" if number < self.n else f"{i}: p[{number - self.n}]"
        arguments = " ".join(str(column[i]) for column in (self.a, self.b, self.c)[: o.ARITY[op]])
        return f"{i}: {o.NAMES[op].lower()} {arguments}"

    def save(self, path: str | Path) -> None:
        """Write the tape into an ``npz`` file without pickle; an older file stays until the new one is whole."""
        with replacing(path) as file:
            arrays: dict[str, Any] = self.arrays()
            np.savez_compressed(file, rtmbs_record=VERSION, **arrays)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tape as arrays by name."""
        named = {name: getattr(self, name) for name in DTYPES}
        return {**named, "sizes": np.array([self.n, self.k])}


def load_tape(path: str | Path) -> Tape:
    """Read a saved tape; a file that is truncated, of another version or no tape is refused by name."""
    try:
        with opened(path) as raw:
            file = arrays_of(raw)
            if "rtmbs_record" not in file:
                raise TapeFileError(f"{path} holds no tape")
            version = int(file["rtmbs_record"])
            if version != VERSION:
                raise TapeFileError(f"{path} is a tape of version {version}; this program reads version {VERSION}")
            tape = tape_of(*(file[name] for name in COLUMNS))
    except TapeFileError:
        raise
    except DamagedFile as error:
        raise TapeFileError(f"{path} cannot be read as a tape: it {error}") from None
    except Exception as error:
        raise TapeFileError(f"{path} is truncated or no tape: {error}") from error
    check_tape(tape, str(path))
    return tape


def arrays_of(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """Return the arrays of an archive after a check of the sizes that it declares; DamagedFile."""
    found = {}
    with zipfile.ZipFile(file) as archive:
        check_unpacked(sum(one.file_size for one in archive.infolist()), os.fstat(file.fileno()).st_size, "entries")
        for one in archive.infolist():
            entry = io.BytesIO(archive.read(one))
            np.lib.format.read_magic(entry)
            shape, _, dtype = np.lib.format.read_array_header_1_0(entry)
            if dtype.hasobject or min(shape, default=0) < 0:
                raise DamagedFile(f"is damaged: {one.filename} says it is {dtype} of shape {shape}")
            if math.prod(shape) * dtype.itemsize != one.file_size - entry.tell():
                raise DamagedFile(f"is damaged: {one.filename} is no array of shape {shape}")
            found[one.filename.removesuffix(".npy")] = np.frombuffer(entry.read(), dtype).reshape(shape)
    return found


def tape_of(op: Any, a: Any, b: Any, c: Any, constants: Any, outputs: Any, sizes: Any) -> Tape:
    return Tape(op, a, b, c, constants, outputs, int(sizes[0]), int(sizes[1]))


def check_tape(tape: Tape, name: str) -> None:
    """Raise unless every step takes earlier steps only; evaluations do not check."""
    index = np.arange(len(tape.op))
    fine = all(getattr(tape, column).dtype == dtype for column, dtype in DTYPES.items())
    fine = fine and all(getattr(tape, column).ndim == 1 for column in DTYPES)
    fine = fine and len(tape.op) == len(tape.a) == len(tape.b) == len(tape.c)
    fine = fine and bool(np.all(tape.op < len(o.NAMES)))
    if fine:
        arity = o.ARITY[tape.op]
        for k, column in enumerate((tape.a, tape.b, tape.c)):
            fine &= bool(np.all((column >= 0) & (column < index) | (arity <= k)))
        leaf = tape.a[tape.op == o.INPUT]
        fine &= bool(np.all((leaf >= 0) & (leaf < tape.n + tape.k)))
        place = tape.a[tape.op == o.CONSTANT]
        fine &= bool(np.all((place >= 0) & (place < len(tape.constants))))
        fine &= bool(np.all((tape.outputs >= 0) & (tape.outputs < len(tape.op)))) and min(tape.n, tape.k) >= 0
    if not fine:
        raise TapeFileError(f"{name} is damaged: a step takes a step that is not there")


# ----------------------------------------------------------------------------------------------------------- simplify


def simplified(tape: OpenTape, outputs: Ids, n: int, k: int) -> Tape:
    """Return the steps of a tape that ``outputs`` need: constants folded, dead steps removed, common steps shared."""
    builder, where = rebuilt(tape, outputs)
    return finished(builder, where[outputs.ravel()], n, k)


def rebuilt(tape: OpenTape, outputs: Ids) -> tuple[Builder, Ids]:
    """Return a builder with the steps that ``outputs`` need, and the new numbers of the tape's steps."""
    op, a, b, c, constants = tape.columns()
    alive = np.zeros(len(op), dtype=bool)
    alive[outputs.ravel()] = True
    mark_needed(op, a, b, c, o.ARITY, alive)
    builder = new_builder(2 * int(np.count_nonzero(alive)) + PER_POWER)
    where = np.full(len(op), -1, dtype=np.int32)
    done = 0
    while (done := rewrite(builder, op, a, b, c, constants, alive, where, done)) < len(op):
        builder = grown(builder)
    return builder, where


def part_of(tape: Tape, outputs: NDArray[np.int64]) -> Tape:
    """Return the tape of some outputs alone, with the same inputs, parameters and constants and no other steps."""
    alive = needed_for(tape, tape.outputs[outputs])
    new = (np.cumsum(alive) - 1).astype(np.int32)
    op, arity = tape.op[alive], o.ARITY[tape.op[alive]]
    a, b, c = (
        np.where(arity > place, new[column[alive]], column[alive]).astype(np.int32)
        for place, column in enumerate((tape.a, tape.b, tape.c))
    )
    return Tape(op, a, b, c, tape.constants, new[tape.outputs[outputs]], tape.n, tape.k)


def needed_for(tape: Tape, steps: Ids) -> NDArray[np.bool_]:
    """Return which steps of a tape some ``steps`` need, themselves among them."""
    alive = np.zeros(len(tape.op), dtype=bool)
    alive[steps] = True
    mark_needed(tape.op, tape.a, tape.b, tape.c, o.ARITY, alive)
    return alive


@kernel
def mark_needed(op: Any, a: Any, b: Any, c: Any, arity: Any, alive: Any) -> None:
    """Mark the arguments of all marked steps."""
    for i in range(len(op) - 1, -1, -1):
        if alive[i]:
            count = arity[op[i]]
            if count > 0:
                alive[a[i]] = True
            if count > 1:
                alive[b[i]] = True
            if count > 2:
                alive[c[i]] = True


@kernel
def rewrite(B: Builder, op: Any, a: Any, b: Any, c: Any, constants: Any, alive: Any, where: Any, start: int) -> int:
    """Write the marked steps from ``start`` on in their simplest form; return where room or steps ended."""
    for i in range(start, len(op)):
        kind = int64(op[i])
        if not room(B, PER_POWER if kind == o.POWER else PER_EMIT):
            return i
        if not alive[i]:
            continue
        if kind == o.CONSTANT:
            where[i] = constant(B, constants[a[i]])
        elif kind == o.INPUT:
            where[i] = step(B, o.INPUT, int64(a[i]), NONE, NONE, 0.0)
        elif kind == o.SELECT:
            where[i] = emit_select(B, int64(where[a[i]]), int64(where[b[i]]), int64(where[c[i]]))
        elif kind == o.POWER and B.code[where[b[i]], 0] == o.CONSTANT:
            where[i] = emit_power(B, int64(where[a[i]]), B.value[where[b[i]]])
        else:
            where[i] = emit(B, kind, int64(where[a[i]]), int64(where[b[i]]))
    return len(op)


def finished(builder: Builder, outputs: Ids, n: int, k: int) -> Tape:
    """Return the steps of a builder that ``outputs`` need as a tape."""
    size = int(builder.size[0])
    op, a, b, c = np.ascontiguousarray(builder.code[:size].T)
    value = builder.value[:size]
    op = op.astype(np.uint8)
    alive = np.zeros(size, dtype=bool)
    alive[outputs] = True
    mark_needed(op, a, b, c, o.ARITY, alive)
    new = (np.cumsum(alive) - 1).astype(np.int32)
    op, a, b, c, value = op[alive], a[alive], b[alive], c[alive], value[alive]
    arity = o.ARITY[op]
    a = np.where(arity > 0, new[np.where(arity > 0, a, 0)], a)
    b, c = (np.where(arity > k, new[np.where(arity > k, column, 0)], 0) for k, column in ((1, b), (2, c)))
    fixed = op == o.CONSTANT
    a[fixed] = np.arange(np.count_nonzero(fixed))
    return Tape(op, a.astype(np.int32), b.astype(np.int32), c.astype(np.int32), value[fixed], new[outputs], n, k)


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
    if not has_switches(tape):
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


def has_switches(tape: Tape) -> bool:
    """Return whether a tape has operations with kinks or jumps."""
    return bool(np.isin(tape.op, SWITCHING).any())


def outputs_vary(tape: Tape, first: int) -> bool:
    """Return whether outputs from number ``first`` on depend on the independents of a tape.

    Parameters
    ----------
    tape : Tape
        Tape of a function and, from that output on, of its derivatives.
    first : int
        Number of the first output that counts.

    Returns
    -------
    bool
        False where these outputs are numbers, or depend on parameters only.
    """
    used = steps_behind(tape, tape.outputs[first:])
    return bool(np.any(used & (tape.op == o.INPUT) & (tape.a < tape.n)))


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
