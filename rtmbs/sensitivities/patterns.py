"""Where the entries of E, F and H stand: sorted by what becomes of them, for all cases that a run has met."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.sensitivities.elimination import BELOW, BY_PARAMETERS, BY_STATE, GROUPS, PARTS, Blocks
from rtmbs.sensitivities.saddles import saddle
from rtmbs.sensitivities.step_tape import Case, StepTape

Integers = NDArray[np.int64]


class Pattern(NamedTuple):
    """Entries of several cases one behind the other, those of a case by groups: see ``group``."""

    place: Integers  # (e,) among the outputs of the program of the case
    row: Integers  # (e,) unknown
    column: Integers  # (e,) in its own part: unknown, number of the state before, parameter
    pointer: Integers  # (cases, GROUPS + 1): where the groups of a case begin


def ends_of(tape: StepTape) -> Integers:
    """Return where the blocks of unknowns begin and end (BLOCKS + 1,)."""
    y = tape.y
    last = ("guessed", "first", "made", "push", "mu", "kept", "ended", "nu", "sd")
    return np.array([0, *(y[name].stop for name in last)])


def pattern_of(tape: StepTape, cases: list[Case], by_parameters: bool) -> Pattern:
    """Return the pattern of all cases, with or without derivatives by parameters."""
    parts, first = [], 0
    for case in cases:
        entries, ends = tape.entries(case, by_parameters), ends_of(tape)
        row, column = np.divmod(entries.place, entries.columns)
        kind = group(tape, ends, row, column)
        order = np.argsort(kind, kind="stable")
        starts = np.searchsorted(kind[order], np.arange(GROUPS + 1))
        origin = np.select((kind == BY_PARAMETERS, kind == BY_STATE), (tape.inputs["p"].start, tape.inputs["x"].start))
        parts.append((tape.y.size + order, row[order], (column - origin)[order], first + starts))
        first += len(order)
    columns = list(zip(*parts, strict=True))
    place, row, column = (np.concatenate(one) for one in columns[:3])
    return Pattern(place, row, column, np.array(columns[3]))


def group(tape: StepTape, ends: Integers, row: Integers, column: Integers) -> Any:
    """Return the group of each entry: its block on the diagonal, BELOW + its block, BY_STATE, or BY_PARAMETERS."""
    block, left = np.searchsorted(ends, row, "right") - 1, np.searchsorted(ends, column, "right") - 1
    found = np.where(left < block, BELOW + block, block)
    found[column >= tape.inputs["x"].start] = BY_STATE
    found[column >= tape.inputs["p"].start] = BY_PARAMETERS
    return found


def blocks_of(tape: StepTape, alpha: Any, pattern: Pattern, columns: int) -> Blocks:
    """Return the blocks of a recorded step, for right sides with up to some columns."""
    n, several = tape.n + tape.ns, max(columns, 1)
    correction, increment, projection = (
        saddle(n, weight, tape.redundant, several) for weight in (alpha, alpha, tape.q4 * alpha)
    )
    guessed, made, ended = (saddle(tape.ns, np.zeros(0), False, several) for _ in range(3))
    return Blocks(
        *pattern,
        ends_of(tape),
        np.array([tape.y[name].start for name in PARTS]),
        np.array([tape.n, tape.m, tape.nc, tape.ns]),
        tape.plain.astype(np.float64),
        tape.first.astype(np.int64),
        np.zeros(1, np.int64),
        guessed,
        correction,
        made,
        increment,
        projection,
        ended,
    )
