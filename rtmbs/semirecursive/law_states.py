"""States of force laws, eliminated law by law in every evaluation (METHODS 1.32).

The rule says s = base + half g(x, s), x the kinematics: base = s_n + h/2 g_n and half = h/2 in a trapezoidal step, the
state itself and 0 where a state is given. A Newton iteration of each law's own few unknowns solves for s at the given
x. Then F(x, s(x)) is the law's force, and dF/dx + dF/ds (1 - half dg/ds)^-1 half dg/dx its derivative: the pattern of
the tangent stays. It begins at ``base``, whatever was evaluated before, so that a restart gives the same bits.
"""

import numpy as np
from numpy import uint64 as at

from rtmbs.ad.program import evaluate
from rtmbs.ad.simd_programs import evaluate_first, evaluate_lanes
from rtmbs.jit.compiled import inner_kernel, kernel

ROUNDS = 40  # of Newton's iteration
SEARCHED = 60  # further ones; more: the force is no number, and the step says so
PLAIN = 8  # of them with whole corrections: kinks make cycles. Then each law begins anew and takes parts of them
LESS = 0.1  # a part of a correction is taken when the residual falls by this times the part at least
PART, SQUARE, KEPT = 0, 1, 2  # of a law's search: part of a correction, square of the residual here, and where it began
EXACT = 1e-13  # correction, in terms of the numbers that it comes from, that is rounding
NEARLY = 1e-6  # correction behind which the next round is most often the last one
ROUGH = 1e-9  # the same where corrections do not get smaller: of terms that cancel inside a rate


@kernel
def hold_states(s, ws):
    """Let states be given: ``s`` (ns,)."""
    ws.state_half[0] = 0.0
    for i in range(len(ws.state_base)):
        ws.state_base[i] = s[i]


@inner_kernel
def follow_states(h, old, ws):
    """Let states be those at the end of a trapezoidal step of ``h`` from ``old``."""
    ws.state_half[0] = 0.5 * h
    for i in range(len(ws.state_base)):
        ws.state_base[i] = old.s[i] + 0.5 * h * old.sd[i]


@inner_kernel
def keep_states(new, ws):
    """Write the states last solved for, and their rates, to ``new``."""
    for i in range(len(new.s)):
        new.s[i], new.sd[i] = ws.s[i], ws.state_rate[i]


@kernel
def evaluate_recorded(laws, inputs, ws):
    """Fill the outputs of the recorded laws for their first ``inputs`` inputs, by the program that is faster.

    In lanes derivatives of forces by their kinematics are left to ``ad.simd_programs.evaluate_rest``.
    """
    if len(laws.lanes.lanes) > 0:
        evaluate_first(laws.lanes, ws.law_lanes, ws.law_number[:inputs], ws.law_parameter, ws.law_output)
    else:
        evaluate(laws.program, ws.law_memory, ws.law_number[:inputs], ws.law_parameter, ws.law_output)


@inner_kernel
def settle_states(laws, inputs, forces, ws):
    """Find the states that the rule asks for, ``inputs`` kinematic ones given, and the outputs of the laws there.

    The first round asks the program of rates alone, where there is one, and so do rounds far from the end. Without
    ``forces`` all rounds do, and outputs are rates and slopes.
    """
    previous, half = np.inf, ws.state_half[0]
    quick = len(laws.rates.lanes) > 0 and half != 0.0
    whole = not quick
    for i in range(len(ws.state_change)):
        ws.s[i] = ws.state_base[i]
    for k in range(ROUNDS + SEARCHED):
        if k == PLAIN:
            begin_search(ws)
        for i in range(len(ws.state_change)):
            ws.law_number[inputs + i] = ws.s[i]
        if whole:
            evaluate_recorded(laws, inputs + len(ws.state_change), ws)
        else:
            evaluate_lanes(
                laws.rates,
                ws.law_rates,
                ws.law_number[: inputs + len(ws.state_change)],
                ws.law_parameter,
                ws.law_output,
            )
        read_slopes(laws, ws)
        if half == 0.0:
            return
        worst = 0.0
        for b in range(len(laws.state_block)):
            found = correction(laws.state_block[b], ws.state_search[b], half, inputs, ws)
            worst = found if not found <= worst else worst
        ended = worst <= EXACT or (worst <= ROUGH and worst >= 0.5 * previous)
        if ended and (whole or not forces):
            return
        whole = not quick or (forces and (ended or k == 0 or worst <= NEARLY))
        if k >= PLAIN:
            for b in range(len(laws.state_block)):
                search(laws.state_block[b], ws.state_search[b], ws)
        else:
            for i in range(len(ws.state_change)):
                ws.s[i] += ws.state_change[i]
        previous = worst
    for i in range(len(ws.state_change)):
        ws.state_change[i] = np.nan


@inner_kernel
def begin_search(ws):
    """Let all laws begin anew, with whole corrections."""
    for i in range(len(ws.state_change)):
        ws.s[i] = ws.state_base[i]
    for b in range(len(ws.state_search)):
        ws.state_search[b, PART], ws.state_search[b, KEPT] = 1.0, np.inf


@inner_kernel
def search(block, of, ws):
    """Move the states of one law by a part of its correction, or back to half of the part before.

    1 - half dg/ds of a bristle has a determinant of at least one everywhere, so the corrections are a flow that ends
    at the states asked for. A part is short enough when the residual falls by LESS of it.
    """
    first, k = block[0], block[1]
    if not of[SQUARE] <= (1.0 - LESS * of[PART]) ** 2 * of[KEPT]:
        of[PART] *= 0.5
        for c in range(k):
            ws.s[first + c] = ws.state_kept[first + c, 0] + of[PART] * ws.state_kept[first + c, 1]
        return
    of[PART], of[KEPT] = min(1.0, 2.0 * of[PART]), of[SQUARE]
    for c in range(k):
        ws.state_kept[first + c, 0], ws.state_kept[first + c, 1] = ws.s[first + c], ws.state_change[first + c]
        ws.s[first + c] += of[PART] * ws.state_change[first + c]


@inner_kernel
def read_slopes(laws, ws):
    """Read rates and slopes from the program's outputs; what is no entry stays zero."""
    counts, states = laws.counts, len(ws.state_change)
    first = 6 * counts[0] + counts[1] + len(laws.wrench_entry) + counts[3]
    for i in range(states):
        ws.state_rate[at(i)] = ws.law_output[at(first + i)]
    for e in range(len(laws.state_place)):
        ws.state_slope[at(laws.state_place[at(e)])] = ws.law_output[at(first + states + e)]


@inner_kernel
def correction(block, of, half, inputs, ws):
    """Write the correction of one law's states; returns its largest share of the numbers that it comes from.

    The square of the residual goes to ``of``, the law's search.
    """
    first, k, looks = block[0], block[1], block[5]
    of_input = block[6] + block[3] * k
    among = of_input + k * looks
    x, s, right = ws.law_number[block[4] :], ws.s[first:], ws.state_right
    set_matrix(block, half, ws)
    of[SQUARE] = 0.0
    for c in range(k):
        right[c, 0] = ws.state_base[first + c] + half * ws.state_rate[first + c] - s[c]
        of[SQUARE] += right[c, 0] * right[c, 0]
    divide(ws.state_matrix, right, k, 1)
    worst = 0.0
    for c in range(k):
        size = abs(ws.state_rate[first + c])
        for j in range(looks):
            size += abs(ws.state_slope[at(of_input + c * looks + j)] * x[at(j)])
        for d in range(k):
            size += abs(ws.state_slope[at(among + c * k + d)] * s[at(d)])
        size = abs(s[c]) + abs(ws.state_base[first + c]) + half * size
        ws.state_change[first + c] = right[c, 0]
        share = abs(right[c, 0]) / size if size > 0.0 else abs(right[c, 0])
        worst = share if not share <= worst else worst
    return worst


@inner_kernel
def set_matrix(block, half, ws):
    """ws.state_matrix = 1 - half dg/ds of one law."""
    k = block[1]
    among = block[6] + block[3] * k + k * block[5]
    for c in range(k):
        for d in range(k):
            ws.state_matrix[at(c), at(d)] = (1.0 if c == d else 0.0) - half * ws.state_slope[at(among + c * k + d)]


@inner_kernel
def divide(A, B, k, columns):
    """B = A^-1 B (k, columns) by elimination with row pivots, in place; not a number where A is singular."""
    for c in range(k):
        p = c
        for r in range(c + 1, k):
            if abs(A[at(r), at(c)]) > abs(A[at(p), at(c)]):
                p = r
        pivot = A[at(p), at(c)] if A[at(p), at(c)] != 0.0 else np.nan
        for d in range(k):
            A[at(c), at(d)], A[at(p), at(d)] = A[at(p), at(d)], A[at(c), at(d)]
        for j in range(columns):
            B[at(c), at(j)], B[at(p), at(j)] = B[at(p), at(j)], B[at(c), at(j)]
            B[at(c), at(j)] /= pivot
        for d in range(c + 1, k):
            A[at(c), at(d)] /= pivot
        for r in range(k):
            if r != c:
                factor = A[at(r), at(c)]
                for d in range(c + 1, k):
                    A[at(r), at(d)] -= factor * A[at(c), at(d)]
                for j in range(columns):
                    B[at(r), at(j)] -= factor * B[at(c), at(j)]


@inner_kernel
def follow_inputs(block, half, ws):
    """ws.state_right = ds/dx (k, n) = (1 - half dg/ds)^-1 half dg/dx of one law."""
    k, looks = block[1], block[5]
    of_input = block[6] + block[3] * k
    set_matrix(block, half, ws)
    for c in range(k):
        for j in range(looks):
            ws.state_right[at(c), at(j)] = half * ws.state_slope[at(of_input + c * looks + j)]
    divide(ws.state_matrix, ws.state_right, k, looks)


@inner_kernel
def take_correction(block, ws):
    """Add the last correction of one law's states to them, and what it does to their rates."""
    first, k = block[0], block[1]
    among = block[6] + block[3] * k + k * block[5]
    for c in range(k):
        ws.s[first + c] += ws.state_change[first + c]
        for d in range(k):
            ws.state_rate[first + c] += ws.state_slope[among + c * k + d] * ws.state_change[first + d]


@inner_kernel
def moves(block, ws):
    """Return whether any force of one law changes with any of its states."""
    count = 0
    for e in range(block[6], block[6] + block[3] * block[1]):
        count += 1 if ws.state_slope[e] != 0.0 else 0
    return count > 0


@inner_kernel
def moved(block, row, ws):
    """Return what the last correction of the states does to force ``row`` of one law."""
    total = 0.0
    for c in range(block[1]):
        total += ws.state_slope[at(block[6] + row * block[1] + c)] * ws.state_change[at(block[0] + c)]
    return total


@inner_kernel
def followed(block, row, column, ws):
    """Return what following states add to the derivative of force ``row`` of one law by its input ``column``."""
    total = 0.0
    for c in range(block[1]):
        total += ws.state_slope[block[6] + row * block[1] + c] * ws.state_right[c, column]
    return total
