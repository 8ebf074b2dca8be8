"""Compiled: the linear equations of one step solved by blocks, dy = E^-1 b, and with the transpose of E.

E is block lower triangular. The blocks: states of force laws at the predictor, the first correction with its
multipliers, states at the iterate behind it, the increment with its own, the velocity projection, what is explicit
behind it (rates and kept energies), states at the end of the step, the acceleration projection, whose matrix is that of
the velocities, and what is explicit at last (turns and rates of states).
"""

from typing import Any, NamedTuple

from rtmbs.jit.compiled import inner_kernel, kernel
from rtmbs.jit.struct import struct
from rtmbs.sensitivities.saddles import Saddle, factor_saddle, solve_saddle, solve_saddle_transposed, take_away

Array = Any  # numba types by value; the shapes stand on the fields

BLOCKS = 9
GUESSED, FIRST, MADE, INCREMENT, VELOCITY, EXPLICIT, ENDED, ACCELERATION, LAST = range(BLOCKS)
BELOW, BY_STATE, BY_PARAMETERS = BLOCKS, 2 * BLOCKS, 2 * BLOCKS + 1  # groups of entries behind those on the diagonal
GROUPS = 2 * BLOCKS + 2


@struct
class Blocks(NamedTuple):
    """What the equations of all steps share, and the factors of one of them."""

    place: Array  # (e,) int64, with the next three those of a Pattern
    row: Array  # (e,) int64
    column: Array  # (e,) int64
    pointer: Array  # (cases, GROUPS + 1) int64
    ends: Array  # (BLOCKS + 1,) int64: first unknowns of the blocks
    parts: Array  # (9,) int64: first unknowns of PARTS
    sizes: Array  # (4,) int64: coordinates, multipliers, kept energies, states of force laws
    plain: Array  # (n,) 1.0 of dofs that are no rotation
    first: Array  # (nr,) int64: first dofs of rotations
    twice: Array  # (1,) int64: 1 when the first correction has a matrix
    guessed: Saddle
    correction: Saddle
    made: Saddle
    increment: Saddle
    projection: Saddle
    ended: Saddle


PARTS = ("inc", "push", "zd", "kept", "zdd", "nu", "turn", "ended", "sd")
INC, PUSH, ZD, KEPT, ZDD, NU, TURN, STATE, RATE = range(len(PARTS))


@inner_kernel
def factor_step(own: Blocks, values: Array, case: int, made: int) -> None:
    """Factor the blocks of a step from the entries of its equations; ``made`` says where its Newton matrix belongs."""
    own.twice[0] = 1 if made == 2 else 0
    if made == 2:
        fill_block(own, values, case, FIRST, own.correction)
    fill_block(own, values, case, INCREMENT, own.increment)
    fill_block(own, values, case, VELOCITY, own.projection)
    if own.sizes[3] > 0:
        fill_block(own, values, case, GUESSED, own.guessed)
        fill_block(own, values, case, MADE, own.made)
        fill_block(own, values, case, ENDED, own.ended)


@inner_kernel
def fill_block(own: Blocks, values: Array, case: int, block: int, one: Saddle) -> None:
    """Fill in the matrix of a block and factor it."""
    S, place, row, column = one.S, own.place, own.row, own.column
    for i in range(len(S)):
        for j in range(len(S)):
            S[i, j] = 0.0
    first = own.ends[block]
    for e in range(own.pointer[case, block], own.pointer[case, block + 1]):
        S[row[e] - first, column[e] - first] = values[place[e]]
    factor_saddle(one)


@inner_kernel
def solve_step(own: Blocks, values: Array, case: int, b: Array) -> None:
    """Solve in place: b (ny, c) becomes E^-1 b."""
    place, row, column = own.place, own.row, own.column
    for block in range(BLOCKS):
        for e in range(own.pointer[case, BELOW + block], own.pointer[case, BELOW + block + 1]):
            i, j, value = row[e], column[e], values[place[e]]
            take_away(b, i, value, b, j, b.shape[1])
        first = own.ends[block]
        if block == FIRST and own.twice[0] == 1:
            solve_saddle(own.correction, b, first)
        elif block == INCREMENT:
            solve_saddle(own.increment, b, first)
        elif block in (VELOCITY, ACCELERATION):
            solve_saddle(own.projection, b, first)
        elif block == GUESSED:
            solve_saddle(own.guessed, b, first)
        elif block == MADE:
            solve_saddle(own.made, b, first)
        elif block == ENDED:
            solve_saddle(own.ended, b, first)


@inner_kernel
def solve_step_transposed(own: Blocks, values: Array, case: int, b: Array) -> None:
    """Solve in place with the transpose: b (ny, c) becomes E^-T b."""
    place, row, column = own.place, own.row, own.column
    for block in range(BLOCKS - 1, -1, -1):
        first = own.ends[block]
        if block == FIRST and own.twice[0] == 1:
            solve_saddle_transposed(own.correction, b, first)
        elif block == INCREMENT:
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
            i, j, value = row[e], column[e], values[place[e]]
            take_away(b, j, value, b, i, b.shape[1])


@kernel
def solve_steps(own: Blocks, values: Array, case: Array, made: Array, b: Array) -> None:
    """Solve with each step of a chunk in place: b (K, ny, c)."""
    for k in range(len(values)):
        factor_step(own, values[k], case[k], made[k])
        solve_step(own, values[k], case[k], b[k])
