"""The compiled path: Newton, rates and accelerations at one time after the other, in one call.

With A the rows that are solved and W the metric, every linear problem is the least change
x = x0 + W^-1 A^T (A W^-1 A^T)^-1 (b - A x0); where as many rows as unknowns are solved that is the one solution.
Rates are the least velocity that the drivers ask for, and accelerations its exact derivative: with W^-1 = L L^T,
qd = L y, y = L^T A^T lam, it is qdd = x0 + W^-1 A^T (...), x0 = dL y + L (dL^T A^T lam + L^T dA^T lam).

In the metric of sizes L is a constant diagonal. In the metric of masses L turns with the bodies, so that qd = L y has a
part dL y in its derivative.
"""

from typing import Any

import numpy as np

from rtmbs.ad.program import evaluate
from rtmbs.jit.compiled import inner_kernel, kernel
from rtmbs.kinematics.path_tables import DRIVERS, FREE, NF, REDUNDANT, TURNS, M, N
from rtmbs.numerics.linear.sparse_lu import factor, solve

Array = Any


@inner_kernel
def set_roots(T, S):
    """Fill L of every group; in the metric of sizes it is constant, and its diagonal is used directly."""
    if T.metric.masses == 0:
        return
    for g in range(1, len(T.first)):
        e = S.x[T.first[g] + 3 : T.first[g] + 7]
        fill_root(T.metric, g, e, e, 1.0, 0.0, S.root)


@inner_kernel
def fill_root(metric, g, e, ed, still, moving, root):
    """Fill L of a group (still = 1), or dL/dt at rates ed of its parameters (moving = 1; ``e`` the parameters).

    y is (sqrt(m) v_center, J^1/2 omega, change across):
    rd = y1 / sqrt(m) + R c~ J^-1/2 y2, ed = G^T J^-1/2 y2 / 2 + e y3.
    """
    w, x, y, z = e[0], e[1], e[2], e[3]
    a, b, c, d = ed[0], ed[1], ed[2], ed[3]
    cx, cy, cz = metric.center[g, 0], metric.center[g, 1], metric.center[g, 2]
    for k in range(3):
        root[g, k, k] = metric.heavy[g] * still
        jx, jy, jz = metric.turning[g, 0, k], metric.turning[g, 1, k], metric.turning[g, 2, k]
        sx, sy, sz = cy * jz - cz * jy, cz * jx - cx * jz, cx * jy - cy * jx  # c x j
        if moving == 0.0:
            r00, r01, r02 = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
            r10, r11, r12 = 2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
            r20, r21, r22 = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)
        else:
            r00, r01, r02 = -4.0 * (y * c + z * d), 2.0 * (b * y + x * c - a * z - w * d), 0.0
            r02 = 2.0 * (b * z + x * d + a * y + w * c)
            r10, r11, r12 = 2.0 * (b * y + x * c + a * z + w * d), -4.0 * (x * b + z * d), 0.0
            r12 = 2.0 * (c * z + y * d - a * x - w * b)
            r20, r21 = 2.0 * (b * z + x * d - a * y - w * c), 2.0 * (c * z + y * d + a * x + w * b)
            r22 = -4.0 * (x * b + y * c)
        root[g, 0, 3 + k] = r00 * sx + r01 * sy + r02 * sz
        root[g, 1, 3 + k] = r10 * sx + r11 * sy + r12 * sz
        root[g, 2, 3 + k] = r20 * sx + r21 * sy + r22 * sz
        root[g, 3, 3 + k] = 0.5 * (-b * jx - c * jy - d * jz)
        root[g, 4, 3 + k] = 0.5 * (a * jx - d * jy + c * jz)
        root[g, 5, 3 + k] = 0.5 * (d * jx + a * jy - b * jz)
        root[g, 6, 3 + k] = 0.5 * (-c * jx + b * jy + a * jz)
    for k in range(4):
        root[g, 3 + k, 6] = metric.across[g] * ed[k]


@inner_kernel
def to_unknowns(T, S, y, dq):
    """dq = L y for y (groups, 7)."""
    for g in range(1, len(T.first)):
        first = T.first[g]
        for i in range(T.width[g]):
            if T.metric.masses == 0:
                dq[first + i] = T.metric.size[first + i] * y[g, i]
            else:
                total = 0.0
                for j in range(7):
                    total += S.root[g, i, j] * y[g, j]
                dq[first + i] = total


@inner_kernel
def bend_roots(T, S, qd):
    """Fill dL/dt, and S.dq = dL y for the rates' y."""
    for g in range(1, len(T.first)):
        first = T.first[g]
        fill_root(T.metric, g, S.x[first + 3 : first + 7], qd[first + 3 : first + 7], 0.0, 1.0, S.bending)
        for i in range(7):
            total = 0.0
            for j in range(7):
                total += S.bending[g, i, j] * S.y[g, j]
            S.dq[first + i] = total


@inner_kernel
def subtract_bending(T, S):
    """S.b -= A dL y."""
    for k in range(len(T.block_row)):
        r, first, total = T.block_row[k], T.first[T.block_group[k]], 0.0
        for i in range(7):
            total += S.blocks[k, i] * S.dq[first + i]
        S.b[r] -= total * T.scale[r]


@inner_kernel
def add_bending(T, S, qdd):
    """qdd += dL y."""
    for i in range(7, T.sizes[N]):
        qdd[i] += S.dq[i]


NOT_CONVERGED, SINGULAR, NOT_FINITE, WORN = 1, 2, 3, 4
SOLUTIONS_OF_WEAK = 2  # steps of inverse iteration at every time
WORN_AT = 0.25  # of the singular value at which rows were chosen: another choice may be better


@inner_kernel
def evaluate_rows(T, S):
    """Evaluate Phi and the rows of A at S.x = (q, f)."""
    n, nf = T.sizes[N], T.sizes[NF]
    evaluate(T.values, S.values, S.x[:n], S.x[n : n + nf], S.phi)
    S.counts[0] += 1
    m, flat = T.sizes[M], S.blocks.reshape(S.blocks.size)
    for k in range(len(T.entry)):
        place = T.entry[k]
        if place >= 0:
            flat[place] = S.phi[m + k]
    set_roots(T, S)
    for k in range(len(T.block_row)):
        g, scale = T.block_group[k], T.scale[T.block_row[k]]
        if T.metric.masses == 0:
            first = T.first[g]
            for i in range(T.width[g]):
                S.rooted[k, i] = S.blocks[k, i] * scale * T.metric.size[first + i]
        else:
            for j in range(7):
                total = 0.0
                for i in range(7):
                    total += S.blocks[k, i] * S.root[g, i, j]
                S.rooted[k, j] = total * scale


@inner_kernel
def factor_rows(T, S):
    """Factorise A W^-1 A^T; returns 0, or the number of a row that depends on others."""
    for k in range(len(S.original)):
        S.original[k] = 0.0
    for p in range(len(T.pair)):
        i, j = T.pair[p, 0], T.pair[p, 1]
        total = 0.0
        for k in range(7):
            total += S.rooted[i, k] * S.rooted[j, k]
        S.original[T.pair[p, 2]] += total
        if i != j:
            S.original[T.pair[p, 3]] += total
    for k in range(len(S.original)):
        S.factored[k] = S.original[k]
    S.counts[4] += 1
    return factor(T.lu, S.factored, S.work)


@inner_kernel
def add_transposed(T, S, lam, y):
    """y += (A L)^T lam."""
    for k in range(len(T.block_row)):
        g, weight = T.block_group[k], lam[T.block_row[k]]
        for i in range(7):
            y[g, i] += S.rooted[k, i] * weight


@inner_kernel
def subtract_rows(T, S, y, rest):
    """rest -= (A L) y."""
    for k in range(len(T.block_row)):
        g, total = T.block_group[k], 0.0
        for i in range(7):
            total += S.rooted[k, i] * y[g, i]
        rest[T.block_row[k]] -= total


@inner_kernel
def clear(y):
    for g in range(y.shape[0]):
        for i in range(7):
            y[g, i] = 0.0


@inner_kernel
def least_change(T, S, y, begun, refine):
    """Add to y (groups, 7) the least change with (A L) y = S.b, and to S.last its multipliers; refined once.

    ``begun`` is zero where y is zero. Rows are independent here, so one factor of A W^-1 A^T does;
    ``linear.least_change`` takes dependent rows too.
    """
    for r in range(len(S.b)):
        S.rest[r] = S.b[r]
        S.last[r] = 0.0
    if begun:
        subtract_rows(T, S, y, S.rest)
    for turn in range(1 + refine):
        for r in range(len(S.b)):
            S.lam[r] = S.rest[r]
        solve(T.lu, S.factored, S.work, S.lam)
        S.counts[5] += 1
        clear(S.z)
        add_transposed(T, S, S.lam, S.z)
        if turn < refine:
            subtract_rows(T, S, S.z, S.rest)
        for g in range(y.shape[0]):
            for i in range(7):
                y[g, i] += S.z[g, i]
        for r in range(len(S.b)):
            S.last[r] += S.lam[r]


@inner_kernel
def newton(T, S, tolerance, most):
    """Move S.x to Phi = 0 by least changes; returns the number of iterations, or minus one minus the reason.

    The loop stands alone: compiled, undamped, on independent rows, at every time of a motion.

    Ends when |Phi| (no unit) and |dq| (in sizes) both are within the tolerance. The factor is that of the last but one
    position, which lies no further than the tolerance from the last.
    """
    n = T.sizes[N]
    for iteration in range(most):
        evaluate_rows(T, S)
        largest = 0.0
        for r in range(len(T.row)):
            S.b[r] = -S.phi[T.row[r]] * T.scale[r]
            largest = max(largest, abs(S.b[r]))
        if not largest < 1e100:
            return -1 - NOT_FINITE
        if factor_rows(T, S) != 0:
            return -1 - SINGULAR
        clear(S.y)
        least_change(T, S, S.y, 0, 0)
        to_unknowns(T, S, S.y, S.dq)
        change = 0.0
        for i in range(n):
            S.x[i] += S.dq[i]
            change = max(change, abs(S.dq[i]) / T.metric.size[i])
        if not change < 1e100:
            return -1 - NOT_FINITE
        if largest <= tolerance and change <= tolerance:
            return iteration + 1
    return -1 - NOT_CONVERGED


@inner_kernel
def driven(T, S, values, sign):
    """S.b += sign Phi_f values (nf,), for the rows solved."""
    for k in range(len(T.driver_row)):
        r = T.driver_row[k]
        if r >= 0:
            S.b[r] += sign * S.driver_entries[k] * values[T.driver_column[k]] * T.scale[r]


@inner_kernel
def rates(T, S, drivers, qd):
    """Fill qd: the least velocity that the drivers ask for."""
    n, nf = T.sizes[N], T.sizes[NF]
    evaluate(T.by_driver, S.by_driver, S.x[n : n + nf], S.x[:n], S.driver_entries)
    S.counts[1] += 1
    for r in range(len(S.b)):
        S.b[r] = 0.0
    driven(T, S, drivers[1], -1.0)
    clear(S.y)
    least_change(T, S, S.y, 0, 1)
    to_unknowns(T, S, S.y, qd)
    for i in range(7):
        qd[i] = 0.0


@inner_kernel
def accelerations(T, S, drivers, qd, qdd):
    """Fill qdd: the derivative of the rates, whose y and multipliers stand in S.y and S.last."""
    n, nf = T.sizes[N], T.sizes[NF]
    for i in range(n):
        S.v[i] = S.v[n + nf + i] = qd[i]
    for k in range(nf):
        S.v[n + k] = S.v[2 * n + nf + k] = drivers[1, k]
    evaluate(T.second, S.second, S.x, S.v, S.curved)
    S.counts[2] += 1
    if T.sizes[FREE] > 0:
        free_part(T, S, qd)
    else:
        clear(S.y)
    for r in range(len(S.b)):
        S.b[r] = -S.curved[T.row[r]] * T.scale[r]
    driven(T, S, drivers[2], -1.0)
    if T.sizes[FREE] > 0 and T.metric.masses == 1:
        subtract_bending(T, S)
    least_change(T, S, S.y, T.sizes[FREE], 1)
    to_unknowns(T, S, S.y, qdd)
    if T.sizes[FREE] > 0 and T.metric.masses == 1:
        add_bending(T, S, qdd)
    for i in range(7):
        qdd[i] = 0.0


@inner_kernel
def free_part(T, S, qd):
    """Replace S.y by dL^T A^T lam + L^T dA^T lam; the old one goes to S.dq as dL y, for the metric of masses."""
    n, m, nf = T.sizes[N], T.sizes[M], T.sizes[NF]
    for i in range(m):
        S.lam_v[i] = 0.0
    for r in range(len(T.row)):
        S.lam_v[T.row[r]] = S.last[r] * T.scale[r]
    for i in range(n + nf):
        S.lam_v[m + i] = S.v[i]
    evaluate(T.bend, S.bend, S.x, S.lam_v, S.bent)
    S.counts[3] += 1
    masses = T.metric.masses == 1
    if masses:
        bend_roots(T, S, qd)
        clear(S.z)
        for k in range(len(T.block_row)):
            r = T.block_row[k]
            for i in range(7):
                S.z[T.block_group[k], i] += S.blocks[k, i] * S.last[r] * T.scale[r]
    for g in range(1, len(T.first)):
        first = T.first[g]
        for i in range(T.width[g]):
            if not masses:
                S.y[g, i] = T.metric.size[first + i] * S.bent[first + i]
            else:
                total = 0.0
                for j in range(7):
                    total += S.root[g, j, i] * S.bent[first + j] + S.bending[g, j, i] * S.z[g, j]
                S.y[g, i] = total


@inner_kernel
def weakest(T, S, repeats):
    """Return an estimate of the smallest singular value of A L, by inverse iteration from the last direction."""
    length = 0.0
    for _ in range(repeats):
        total = 0.0
        for r in range(len(S.weak)):
            total += S.weak[r] * S.weak[r]
        if not total > 0.0:
            return 0.0
        for r in range(len(S.weak)):
            S.weak[r] /= np.sqrt(total)
        solve(T.lu, S.factored, S.work, S.weak)
        S.counts[5] += 1
        length = 0.0
        for r in range(len(S.weak)):
            length += S.weak[r] * S.weak[r]
    return 1.0 / np.sqrt(np.sqrt(length)) if length > 0.0 else np.inf


STILL = 0.25  # of the smallest singular value: a change of A L by less needs no closer look
LITTLE = 0.1  # likewise: behind a change by less the rows that are kept stay those of before
CLOSER = 2  # steps of the power iteration that looks closer
BACK = 0.7  # of the farthest change
LOOK, WINDOW = 0.4, 16  # share at the next row, and rows, before which it does


@inner_kernel
def keep_rows(S):
    """Keep the rows of A L for the change to later times."""
    flat, before = S.rooted.reshape(S.rooted.size), S.before.reshape(S.rooted.size)
    for k in range(len(flat)):
        before[k] = flat[k]


@inner_kernel
def keep_rows_at(T, S, q, f):
    """Keep the rows of A L at q (n,) and f (nf,)."""
    n = T.sizes[N]
    for i in range(n):
        S.x[i] = q[i]
    for i in range(T.sizes[NF]):
        S.x[n + i] = f[i]
    evaluate_rows(T, S)
    keep_rows(S)


@inner_kernel
def change_of_rows(S):
    """Return the Frobenius norm of the change D of A L since its rows were kept.

    Every block has a sum of its own, for one sum over all would wait for itself at every addition.
    """
    total = 0.0
    for k in range(S.rooted.shape[0]):
        block = 0.0
        for i in range(7):
            d = S.before[k, i] - S.rooted[k, i]
            block += d * d
        total += block
    return np.sqrt(total)


@inner_kernel
def bend_of_rows(T, S):
    """Return the norm of D A^+, D the change of A L since its rows were kept, which it overwrites.

    On the straight line between the two, A L keeps its rank where this is below 1: A L + x D = (1 + x D A^+) A L. It
    does not depend on the scales of the rows. |D| over the smallest singular value bounds it, often by far. The power
    iteration begins with the last direction, the weakest and a constant one.
    """
    flat, before = S.rooted.reshape(S.rooted.size), S.before.reshape(S.rooted.size)
    for k in range(len(flat)):
        before[k] -= flat[k]
    length, share = 0.0, 0.0
    for r in range(len(S.weak)):
        length += S.weak[r] * S.weak[r]
    for r in range(len(S.lam)):
        S.lam[r] = S.probe[r] + S.weak[r] / np.sqrt(length) + S.bent_rows[r]
    for closer in range(CLOSER):
        length = 0.0
        for r in range(len(S.lam)):
            length += S.lam[r] * S.lam[r]
        for r in range(len(S.lam)):
            S.lam[r] /= np.sqrt(length)
            S.bent_rows[r] = S.lam[r] if np.isfinite(S.lam[r]) else 0.0
        solve(T.lu, S.factored, S.work, S.lam)
        S.counts[5] += 1
        clear(S.z)
        add_transposed(T, S, S.lam, S.z)
        across(T, S, S.z, S.rest)  # D A^+ of the direction
        share = 0.0
        for r in range(len(S.rest)):
            share += S.rest[r] * S.rest[r]
        if not 0.0 < share < np.inf:
            return 0.0 if share == 0.0 else np.inf
        if closer < CLOSER - 1:
            turn_back(T, S)
    return np.sqrt(share)


@inner_kernel
def turn_back(T, S):
    """S.lam = (D A^+)^T S.rest: where the next step of the power iteration begins."""
    clear(S.z)
    add_across(T, S, S.rest, S.z)
    for r in range(len(S.lam)):
        S.lam[r] = 0.0
    subtract_rows(T, S, S.z, S.lam)
    solve(T.lu, S.factored, S.work, S.lam)
    S.counts[5] += 1


@inner_kernel
def judge(T, S, bend, opened, k, last, smallest):
    """Fill bend[opened] .. bend[k], or leave them open; return the first row that is left open.

    A closer look is a retrospect of all rows since the last one. It takes place before more than LOOK is expected: the
    bound times its part that the last look found, S.seen[0]. S.seen[1] is the farthest change since. A change that
    becomes smaller has turned back, and tells nothing on what was between. Behind a row that changed by LITTLE the next
    is compared with the same kept ones: two neighbours differ by no more than both changes.
    """
    change = change_of_rows(S)
    bound = change / smallest if smallest > 0.0 else np.inf
    found = bound
    if opened < k and change < BACK * S.seen[1]:
        found = np.inf
    elif bound > STILL:
        rows = k - opened + 1
        if k + 1 < last and rows < WINDOW and bound * S.seen[0] * (rows + 1) <= LOOK * rows:
            S.seen[1] = change
            return opened
        if bound < np.inf:
            found = bend_of_rows(T, S)
            S.seen[0] = found / bound
    for j in range(opened, k + 1):
        bend[j] = found
    S.seen[1] = 0.0
    if not (bound <= LITTLE and found <= LITTLE):
        keep_rows(S)
    return k + 1


@inner_kernel
def leave(bend, opened, k):
    """Mark the rows opened .. k - 1 as not looked at; returns k, where the march ends early."""
    for j in range(opened, k):
        bend[j] = np.inf
    return k


@inner_kernel
def across(T, S, y, rest):
    """Rest = D y, with D in the place of the rows that were kept."""
    for r in range(len(rest)):
        rest[r] = 0.0
    for k in range(len(T.block_row)):
        g, total = T.block_group[k], 0.0
        for i in range(7):
            total += S.before[k, i] * y[g, i]
        rest[T.block_row[k]] += total


@inner_kernel
def add_across(T, S, lam, y):
    """y += D^T lam."""
    for k in range(len(T.block_row)):
        g, weight = T.block_group[k], lam[T.block_row[k]]
        for i in range(7):
            y[g, i] += S.before[k, i] * weight


@inner_kernel
def predict(T, S, t, k, q, qd, qdd):
    """Fill S.x with q at t[k]: the integral of rates that follow those of the last two times, or of the last one."""
    h = t[k] - t[k - 1]
    for i in range(T.sizes[N]):
        S.x[i] = q[k - 1, i] + h * qd[k - 1, i] + 0.5 * h * h * qdd[k - 1, i]
    if k < 2:
        return
    before = t[k - 1] - t[k - 2]
    s = h / before
    for i in range(T.sizes[N]):
        D = qd[k - 2, i] - qd[k - 1, i] + qdd[k - 1, i] * before
        E = (qdd[k - 2, i] - qdd[k - 1, i]) * before
        S.x[i] += before * s**3 * ((E + 3.0 * D) / 3.0 + (E + 2.0 * D) * s / 4.0)


@inner_kernel
def correct(T, S, h, q, qd, qdd):
    """Fill S.x with q of row 1 by the cubic through the rates of rows 0 and 1: the first step has no history."""
    for i in range(T.sizes[N]):
        S.x[i] = q[0, i] + 0.5 * h * (qd[0, i] + qd[1, i]) + h * h / 12.0 * (qdd[0, i] - qdd[1, i])


@kernel
def march(T, S, t, drivers, q, qd, qdd, f, weak, iterations, bend, first, last, tolerance, most):
    """Fill rows first .. last - 1 of q, qd, qdd (K, n), f (K, nf), the smallest singular values and the iterations.

    bend (K,): a bound, or an estimate, of the share |D A^+| by which A L changed since the row before; infinite where
    it is not known.

    drivers (K, 3, nf). Row ``first - 1`` is known; where first is 0, q[0] and f[0] hold where the search begins.
    Returns the first row that was not filled; iterations of that row say why: minus one minus the reason.
    """
    n, nf, drive = T.sizes[N], T.sizes[NF], T.sizes[DRIVERS]
    if 0 < first < last:
        keep_rows_at(T, S, q[first - 1], f[first - 1])
    opened, S.seen[1] = first, 0.0
    for k in range(first, last):
        if k > first and T.sizes[REDUNDANT] > 0 and weak[k - 1] < WORN_AT * weak[first]:
            iterations[k] = -1 - WORN
            return leave(bend, opened, k)
        if k == 0:
            for i in range(n):
                S.x[i] = q[0, i]
        else:
            predict(T, S, t, k, q, qd, qdd)
        for i in range(drive):
            S.x[n + i] = drivers[k, 0, i]
        for i in range(drive, nf):
            S.x[n + i] = f[max(k - 1, 0), i]
        iterations[k] = newton(T, S, tolerance, most)
        if iterations[k] < 0:
            return leave(bend, opened, k)
        if T.sizes[TURNS] > 0:
            evaluate(T.turned, S.turned, S.x[:n], S.x[n:], S.turns)
            for i in range(T.sizes[TURNS]):
                S.x[n + drive + i] = S.turns[i]
        for i in range(n):
            q[k, i] = S.x[i]
        for i in range(nf):
            f[k, i] = S.x[n + i]
        rates(T, S, drivers[k], qd[k])
        accelerations(T, S, drivers[k], qd[k], qdd[k])
        if k == 1 and T.sizes[FREE] > 0:
            correct(T, S, t[1] - t[0], q, qd, qdd)
            more = newton(T, S, tolerance, most)
            if more > 0:
                iterations[k] += more
                for i in range(n):
                    q[k, i] = S.x[i]
                rates(T, S, drivers[k], qd[k])
                accelerations(T, S, drivers[k], qd[k], qdd[k])
        weak[k] = weakest(T, S, SOLUTIONS_OF_WEAK if k > first else 10 * SOLUTIONS_OF_WEAK)
        if k > 0:
            opened = judge(T, S, bend, opened, k, last, weak[k])
        else:
            bend[0], opened = 0.0, 1
            keep_rows(S)
    return last
