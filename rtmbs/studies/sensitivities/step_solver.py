"""Linear equations of the steps of a run, compiled: solved by blocks, and swept forwards or backwards over a chunk.

A step solves dy = E^-1 b, or the same with the transpose of E. The forward sweep carries derivatives of the states, the
backward sweep adjoints.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64 as at

from rtmbs.ad.simd_programs import evaluate_rows
from rtmbs.jit.compiled import inlined_kernel, inner_kernel, kernel
from rtmbs.jit.struct import struct
from rtmbs.studies.sensitivities.saddles import (
    FILLED,
    Saddle,
    clear,
    factor_saddle,
    put,
    solve_saddle,
    solve_saddle_transposed,
    take_away,
)

Array = Any  # numba types by value; the shapes stand on the fields

BLOCKS = 10
GUESSED, FIRST, MADE, INCREMENT, VELOCITY, SCALE, EXPLICIT, ENDED, ACCELERATION, LAST = range(BLOCKS)
BELOW, BY_STATE, BY_PARAMETERS = BLOCKS, 2 * BLOCKS, 2 * BLOCKS + 1  # groups of entries behind those on the diagonal
AT = 2 * BLOCKS + 2  # of entries by iterates, + the block of the row
LINKS = AT + BLOCKS  # into vertices behind the iterates
GROUPS = LINKS + 1


@struct
class StepBlocks(NamedTuple):
    """Structure of the equations of all steps, and the factors of one of them."""

    row: Array  # (e,) int32, with the next two those of a StepPattern
    column: Array  # (e,) int32
    pointer: Array  # (cases, GROUPS + 1) int64
    slot: Array  # (e,) int32
    place_row: Array  # (places,) int32
    place_column: Array  # (places,) int32
    places: Array  # (cases + 1,) int64
    ends: Array  # (BLOCKS + 1,) int64: first unknowns of the blocks
    parts: Array  # (9,) int64: first unknowns of PARTS, NOWHERE for one that does not count
    sizes: Array  # (4,) int64: coordinates, multipliers, kept energies, states of force laws
    plain: Array  # (n,) 1.0 of dofs that are no rotation
    first: Array  # (nr,) int64: first dofs of rotations
    twice: Array  # (1,) int64: 1 when the first correction has a matrix
    step: Array  # (1,) [s]
    # (6 n or 0 + vertices, c) scratch: changes, or adjoints, of the iterates at the solution and at the predictor, and
    # of vertices of links
    iterates: Array
    guessed: Saddle
    correction: Saddle
    made: Saddle
    increment: Saddle
    projection: Saddle
    ended: Saddle


PARTS = ("inc", "push", "zd", "kept", "zdd", "nu", "turn", "ended", "sd")
NOWHERE = -1  # place of a part that is none: multipliers of a state without ``push``
INC, PUSH, ZD, KEPT, ZDD, NU, TURN, STATE, RATE = range(len(PARTS))


@inlined_kernel
def shift_of(own: StepBlocks, case: int) -> int:
    """Return what leads from the number of an entry to its place among the values of a step of a case."""
    return own.ends[BLOCKS] - own.pointer[case, 0]


@inner_kernel
def factor_step(own: StepBlocks, values: Array, case: int, made: int) -> None:
    """Factor the blocks of a step from the entries of its equations; ``made`` says where its Newton matrix belongs."""
    own.twice[0] = 1 if made == 2 else 0
    if made == 2:
        fill_block(own, values, case, FIRST, own.correction)
    fill_increment(own, values, case)
    fill_block(own, values, case, VELOCITY, own.projection)
    if own.sizes[3] > 0:
        fill_block(own, values, case, GUESSED, own.guessed)
        fill_block(own, values, case, MADE, own.made)
        fill_block(own, values, case, ENDED, own.ended)


@inner_kernel
def fill_block(own: StepBlocks, values: Array, case: int, block: int, one: Saddle) -> None:
    """Fill in the matrix of a block and factor it; places of entries stay from step to step of a case."""
    row, column, first, shift = own.row, own.column, own.ends[block], shift_of(own, case)
    begin, end = own.pointer[case, block], own.pointer[case, block + 1]
    if one.facts[FILLED] != case + 1:
        clear(one)
        for e in range(begin, end):
            put(one, row[e] - first, column[e] - first)
        one.facts[FILLED] = case + 1
    for e in range(begin, end):
        one.value[at(e - begin)] = values[at(shift + e)]
    factor_saddle(one)


@inner_kernel
def fill_increment(own: StepBlocks, values: Array, case: int) -> None:
    """Fill in the matrix of the increment, which moves the iterate at the solution, and factor it."""
    one, n, shift = own.increment, own.sizes[0], shift_of(own, case)
    begin, end = own.places[case], own.places[case + 1]
    if one.facts[FILLED] != case + 1:
        clear(one)
        for e in range(begin, end):
            put(one, own.place_row[e], own.place_column[e])
        one.facts[FILLED] = case + 1
    for e in range(end - begin):
        one.value[e] = 0.0
    slot, column = own.slot, own.column
    for e in range(own.pointer[case, INCREMENT], own.pointer[case, INCREMENT + 1]):
        one.value[at(slot[at(e)])] += values[at(shift + e)]
    rate = 2.0 / own.step[0]
    for e in range(own.pointer[case, AT + INCREMENT], own.pointer[case, AT + INCREMENT + 1]):
        j = column[at(e)]
        factor = 1.0 if j < n else (rate if j < 2 * n else rate * rate)
        one.value[at(slot[at(e)])] += factor * values[at(shift + e)]
    factor_saddle(one)


@inner_kernel
def forget_iterates(own: StepBlocks) -> None:
    """Set the iterates to zero."""
    for i in range(len(own.iterates)):
        for c in range(own.iterates.shape[1]):
            own.iterates[i, c] = 0.0


@inner_kernel
def follow_links(own: StepBlocks, values: Array, case: int) -> None:
    """Add up the changes of the vertices of links, from those of the iterates on."""
    row, column, shift, out = own.row, own.column, shift_of(own, case), own.iterates
    for e in range(own.pointer[case, LINKS], own.pointer[case, LINKS + 1]):
        take_away(out, row[at(e)], -values[at(shift + e)], out, column[at(e)], out.shape[1])


@inner_kernel
def follow_links_back(own: StepBlocks, values: Array, case: int) -> None:
    """Add up the adjoints of the iterates and of the vertices of links, from the last vertex on."""
    row, column, shift, out = own.row, own.column, shift_of(own, case), own.iterates
    for e in range(own.pointer[case, LINKS + 1] - 1, own.pointer[case, LINKS] - 1, -1):
        take_away(out, column[at(e)], -values[at(shift + e)], out, row[at(e)], out.shape[1])


@inner_kernel
def predict_iterates(own: StepBlocks, x: Array) -> None:
    """Write the changes of the iterates by those of the state before a step, x (nx, c), with the same increment."""
    if len(own.iterates) == 0:
        return
    out, n, h = own.iterates, own.sizes[0], own.step[0]
    forget_iterates(own)
    for i in range(n):
        for c in range(x.shape[1]):
            z, zd, zdd = own.plain[i] * x[i, c], x[n + i, c], x[2 * n + i, c]
            out[i, c], out[n + i, c], out[2 * n + i, c] = z, -zd, -4.0 / h * zd - zdd
            out[3 * n + i, c] = z + h * zd + 0.5 * h * h * zdd
            out[4 * n + i, c], out[5 * n + i, c] = zd + h * zdd, zdd


@inner_kernel
def move_iterate(own: StepBlocks, b: Array) -> None:
    """Add the changes of the iterate at the solution by the increment, of b (ny, c)."""
    if len(own.iterates) == 0:
        return
    out, n, first, rate = own.iterates, own.sizes[0], own.parts[INC], 2.0 / own.step[0]
    for i in range(n):
        for c in range(b.shape[1]):
            change = b[first + i, c]
            out[i, c] += change
            out[n + i, c] += rate * change
            out[2 * n + i, c] += rate * rate * change


@inner_kernel
def take_iterate(own: StepBlocks, b: Array) -> None:
    """Add the adjoint of the iterate at the solution to that of the increment, in b (ny, c)."""
    if len(own.iterates) == 0:
        return
    given, n, first, rate = own.iterates, own.sizes[0], own.parts[INC], 2.0 / own.step[0]
    for i in range(n):
        for c in range(b.shape[1]):
            b[first + i, c] += given[i, c] + rate * (given[n + i, c] + rate * given[2 * n + i, c])


@inner_kernel
def solve_step(own: StepBlocks, values: Array, case: int, b: Array) -> None:
    """Solve in place: b (ny, c) becomes E^-1 b, for the changes of iterates that are there."""
    row, column, shift = own.row, own.column, shift_of(own, case)
    for block in range(BLOCKS):
        for e in range(own.pointer[case, BELOW + block], own.pointer[case, BELOW + block + 1]):
            i, j, value = row[at(e)], column[at(e)], values[at(shift + e)]
            take_away(b, i, value, b, j, b.shape[1])
        for e in range(own.pointer[case, AT + block], own.pointer[case, AT + block + 1]):
            i, j, value = row[at(e)], column[at(e)], values[at(shift + e)]
            take_away(b, i, value, own.iterates, j, b.shape[1])
        first = own.ends[block]
        if block == FIRST and own.twice[0] == 1:
            solve_saddle(own.correction, b, first)
        elif block == INCREMENT:
            solve_saddle(own.increment, b, first)
            move_iterate(own, b)
            follow_links(own, values, case)
        elif block in (VELOCITY, ACCELERATION):
            solve_saddle(own.projection, b, first)
        elif block == GUESSED:
            solve_saddle(own.guessed, b, first)
        elif block == MADE:
            solve_saddle(own.made, b, first)
        elif block == ENDED:
            solve_saddle(own.ended, b, first)


@inner_kernel
def solve_step_transposed(own: StepBlocks, values: Array, case: int, b: Array) -> None:
    """Solve in place with the transpose: b (ny, c) becomes E^-T b, and the iterates their adjoints."""
    row, column, shift = own.row, own.column, shift_of(own, case)
    forget_iterates(own)
    for block in range(BLOCKS - 1, -1, -1):
        first = own.ends[block]
        if block == FIRST and own.twice[0] == 1:
            solve_saddle_transposed(own.correction, b, first)
        elif block == INCREMENT:
            follow_links_back(own, values, case)
            take_iterate(own, b)
            solve_saddle_transposed(own.increment, b, first)
        elif block in (VELOCITY, ACCELERATION):
            solve_saddle_transposed(own.projection, b, first)
        elif block == GUESSED:
            solve_saddle_transposed(own.guessed, b, first)
        elif block == MADE:
            solve_saddle_transposed(own.made, b, first)
        elif block == ENDED:
            solve_saddle_transposed(own.ended, b, first)
        for e in range(own.pointer[case, BELOW + block], own.pointer[case, BELOW + block + 1]):
            i, j, value = row[at(e)], column[at(e)], values[at(shift + e)]
            take_away(b, j, value, b, i, b.shape[1])
        for e in range(own.pointer[case, AT + block], own.pointer[case, AT + block + 1]):
            i, j, value = row[at(e)], column[at(e)], values[at(shift + e)]
            take_away(own.iterates, j, value, b, i, b.shape[1])


@kernel
def solve_steps(own: StepBlocks, values: Array, case: Array, made: Array, b: Array) -> None:
    """Solve with each step of a chunk in place: b (K, ny, c)."""
    for k in range(len(values)):
        factor_step(own, values[k], case[k], made[k])
        forget_iterates(own)
        solve_step(own, values[k], case[k], b[k])


@kernel
def sweep_forward(own: StepBlocks, values: Array, case: Array, made: Array, X: Array, lam: Array, dy: Array) -> None:
    """Fill in X (K + 1, nx, np) and lam (K + 1, m, np) behind the first row of a chunk; dy (ny, np) is scratch."""
    for k in range(len(values)):
        factor_step(own, values[k], case[k], made[k])
        changes(own, values[k], case[k], X[k], dy)
        solve_step(own, values[k], case[k], dy)
        onward(own, X[k], dy, X[k + 1], lam[k + 1])


@inner_kernel
def changes(own: StepBlocks, values: Array, case: int, x: Array, b: Array) -> None:
    """Write b (ny, np) = -(F x + H) but for the iterates, whose changes by x are written too."""
    row, column, shift = own.row, own.column, shift_of(own, case)
    predict_iterates(own, x)
    for i in range(len(b)):
        for c in range(b.shape[1]):
            b[i, c] = 0.0
    for e in range(own.pointer[case, BY_STATE], own.pointer[case, BY_STATE + 1]):
        i, j, value = row[at(e)], column[at(e)], values[at(shift + e)]
        take_away(b, i, value, x, j, b.shape[1])
    for e in range(own.pointer[case, BY_PARAMETERS], own.pointer[case, BY_PARAMETERS + 1]):
        b[row[e], column[e]] -= values[shift + e]


@inner_kernel
def onward(own: StepBlocks, before: Array, dy: Array, x: Array, lam: Array) -> None:
    """Write the derivatives of the state x (nx, np) and of the multipliers lam (m, np) behind a step."""
    parts, n, m, nc, ns = own.parts, own.sizes[0], own.sizes[1], own.sizes[2], own.sizes[3]
    for c in range(dy.shape[1]):
        for i in range(n):
            x[i, c] = dy[parts[INC] + i, c] + own.plain[i] * before[i, c]
            x[n + i, c] = dy[parts[ZD] + i, c]
            x[2 * n + i, c] = dy[parts[ZDD] + i, c]
        for e in range(len(own.first)):
            for k in range(3):
                x[own.first[e] + k, c] = dy[parts[TURN] + 3 * e + k, c]
        for k in range(nc):
            x[3 * n + k, c] = dy[parts[KEPT] + k, c]
        for k in range(ns):
            x[3 * n + nc + k, c] = dy[parts[STATE] + k, c]
            x[3 * n + nc + ns + k, c] = dy[parts[RATE] + k, c]
        for k in range(m):
            pushed = dy[parts[PUSH] + k, c] if parts[PUSH] >= 0 else 0.0
            lam[k, c] = pushed + dy[parts[NU] + k, c]


@kernel
def sweep_back(
    own: StepBlocks, values: Array, case: Array, made: Array, g: Array, f: Array, p: Array, w: Array
) -> None:
    """Take the adjoint p (nx, k) to the state before a chunk of steps, and fill in w (K, ny, k), those of the unknowns.

    g (K, nx, k) are derivatives by states before steps, f (K, m, k) by multipliers behind them.
    """
    for k in range(len(values) - 1, -1, -1):
        factor_step(own, values[k], case[k], made[k])
        spread(own, p, f[k], w[k])
        solve_step_transposed(own, values[k], case[k], w[k])
        back(own, values[k], case[k], w[k], g[k], p)


@kernel
def evaluate_back(
    own: StepBlocks, program: Any, memory: Array, lanes: Array, order: Array, given: Array, known: Array,
    values: Array, case: Array, made: Array, g: Array, f: Array, p: Array, w: Array, each: bool, gradient: Array,
    off: Array,
) -> None:  # fmt: skip
    """Evaluate steps of one case and take the adjoint to the state before them, as many at once as ``values`` has rows.

    A sweep then reads what the program has just written. ``gradient`` (K, np, k), or (1, np, k) unless ``each`` step
    has its own, is that of ``take_each``; off (K,) are the largest residuals of the rates. order (r,) is 0, 1, ...
    """
    rate, n = own.parts[ZD], own.sizes[0]
    for end in range(len(given), 0, -len(values)):
        begin = max(end - len(values), 0)
        some = values[: end - begin]
        evaluate_rows(program, memory, lanes, order[: end - begin], given[begin:end], known[begin:end], some)
        cases, adjoint = case[begin:end], w[begin:end]
        sweep_back(own, some, cases, made[begin:end], g[begin:end], f[begin:end], p, adjoint)
        if each:
            take_each(own, some, cases, adjoint, gradient[begin:end])
        else:
            take_parameters(own, some, cases, adjoint, gradient[0])
        for k in range(end - begin):
            largest = 0.0
            for i in range(rate, rate + n):
                largest = max(largest, abs(some[k, i])) if some[k, i] == some[k, i] else np.inf
            off[begin + k] = largest


@inner_kernel
def spread(own: StepBlocks, p: Array, f: Array, w: Array) -> None:
    """Write the adjoint of state and multipliers behind a step as weights w (ny, k) of the unknowns."""
    parts, n, m, nc, ns = own.parts, own.sizes[0], own.sizes[1], own.sizes[2], own.sizes[3]
    for c in range(p.shape[1]):
        for i in range(len(w)):
            w[i, c] = 0.0
        for i in range(n):
            w[parts[INC] + i, c] = own.plain[i] * p[i, c]
            w[parts[ZD] + i, c] = p[n + i, c]
            w[parts[ZDD] + i, c] = p[2 * n + i, c]
        for e in range(len(own.first)):
            for k in range(3):
                w[parts[TURN] + 3 * e + k, c] = p[own.first[e] + k, c]
        for k in range(nc):
            w[parts[KEPT] + k, c] = p[3 * n + k, c]
        for k in range(ns):
            w[parts[STATE] + k, c] = p[3 * n + nc + k, c]
            w[parts[RATE] + k, c] = p[3 * n + nc + ns + k, c]
        for k in range(m):
            if parts[PUSH] >= 0:
                w[parts[PUSH] + k, c] = f[k, c]
            w[parts[NU] + k, c] = f[k, c]


@inner_kernel
def back(own: StepBlocks, values: Array, case: int, w: Array, g: Array, p: Array) -> None:
    """Write p = g + s^T p - F^T w, where the iterates have a part in F."""
    row, column, shift = own.row, own.column, shift_of(own, case)
    n = own.sizes[0]
    for c in range(p.shape[1]):
        for i in range(len(p)):
            kept = own.plain[i] * p[i, c] if i < n else 0.0
            p[i, c] = g[i, c] + kept
    for e in range(own.pointer[case, BY_STATE], own.pointer[case, BY_STATE + 1]):
        i, j, value = row[at(e)], column[at(e)], values[at(shift + e)]
        take_away(p, j, value, w, i, p.shape[1])
    leave_iterates(own, p)


@inner_kernel
def leave_iterates(own: StepBlocks, p: Array) -> None:
    """Add the adjoints of the iterates to that of the state before a step, p (nx, c)."""
    if len(own.iterates) == 0:
        return
    given, n, h = own.iterates, own.sizes[0], own.step[0]
    for i in range(n):
        for c in range(p.shape[1]):
            z, guessed, rate = given[i, c], given[3 * n + i, c], given[4 * n + i, c]
            p[i, c] += own.plain[i] * (z + guessed)
            p[n + i, c] += h * guessed + rate - given[n + i, c] - 4.0 / h * given[2 * n + i, c]
            p[2 * n + i, c] += 0.5 * h * h * guessed + h * rate + given[5 * n + i, c] - given[2 * n + i, c]


@kernel
def take_parameters(own: StepBlocks, values: Array, case: Array, w: Array, gradient: Array) -> None:
    """Subtract H^T w of a chunk of steps from ``gradient`` (np, k), w (K, ny, k)."""
    row, column = own.row, own.column
    for k in range(len(values)):
        shift = shift_of(own, case[k])
        for e in range(own.pointer[case[k], BY_PARAMETERS], own.pointer[case[k], BY_PARAMETERS + 1]):
            take_away(gradient, column[at(e)], values[k, at(shift + e)], w[k], row[at(e)], gradient.shape[1])


@kernel
def take_each(own: StepBlocks, values: Array, case: Array, w: Array, gradient: Array) -> None:
    """Subtract H^T w of each step of a chunk from ``gradient`` (K, np, k), w (K, ny, k)."""
    row, column = own.row, own.column
    for k in range(len(values)):
        shift = shift_of(own, case[k])
        for e in range(own.pointer[case[k], BY_PARAMETERS], own.pointer[case[k], BY_PARAMETERS + 1]):
            take_away(gradient[k], column[at(e)], values[k, at(shift + e)], w[k], row[at(e)], gradient.shape[2])
