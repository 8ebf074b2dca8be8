"""Kernels of the equations of a recorded system: corrections by the least change, and the augmented system."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.program import Program, evaluate
from rtmbs.jit.compiled import coarse_kernel, entry_for, inner_kernel
from rtmbs.jit.struct import struct

Array = Any

ITERATIONS = 20  # of Newton's method to Phi = 0
LAST = 1e-8  # of the largest coordinate or 1: a correction whose square is rounding
DEPENDENT = 1e-14  # pivot of the scaled P W P^T or of the augmented system that counts as zero: rows 1e-7 rad apart
SOLVED, OPEN, SINGULAR = 0, 1, 2


@struct
class Work(NamedTuple):
    """Scratch of one system of n coordinates, m rows of Phi and k rate constraints."""

    x: Array  # (n + 1,) q, t
    z: Array  # (2n + 1,) q, v, t
    ways: Array  # (2n + 2,) v, 1, v, 1
    q: Array  # (n,) on the constraints
    v: Array  # (n,)
    terms: Array  # (n n + n,) M row by row, then F
    phi: Array  # (m,)
    entries: Array  # entries of d(Phi)/d(q, t)
    psi: Array  # (k,)
    psi_entries: Array  # entries of d(Psi)/d(q, v, t)
    second: Array  # (m,) -gamma
    P: Array  # (m + k, n)
    right: Array  # (m + k,)
    gram: Array  # (m + k, m + k)
    saddle: Array  # (n + m + k, n + m + k)
    answer: Array  # (n + m + k,) accelerations, then multipliers
    row: Array  # (m + k,) scales of the rows of the augmented system
    none: Array  # (0,) parameters of a program without


@coarse_kernel
def corrected_accelerations(
    motion: Program, motion_memory: Array, phi: Program, phi_memory: Array, jacobian: Program, jacobian_memory: Array,
    place: Array, second: Program, second_memory: Array, psi: Program, psi_memory: Array, rates: Program,
    rates_memory: Array, rates_place: Array, weight: Array, w: Work, out: Array,
) -> int:  # fmt: skip
    """Set ``w.q`` and ``w.v`` on the constraints from ``w.z`` = (q, v, t) and out (2n,) = (v, a); return a status.

    ``weight`` (n,) are inverse inertias: the change is the least one in their metric.
    """
    n, m, k = len(w.q), len(w.phi), len(w.psi)
    status = close_positions(phi, phi_memory, jacobian, jacobian_memory, place, weight, w, n, m)
    if status != SOLVED:
        return status
    set_rows(jacobian, jacobian_memory, place, w, n, m)
    for i in range(m):
        w.right[i] = w.second[i]  # Phi_t, as set_rows leaves it
    if k:
        set_rate_rows(psi, psi_memory, rates, rates_memory, rates_place, w, n, m)
    for i in range(m + k):
        for j in range(n):
            w.right[i] += w.P[i, j] * w.v[j]
    if m + k and not least_change(w, weight, m + k):
        return SINGULAR
    for i in range(n):
        w.v[i] -= w.answer[i] if m + k else 0.0
        w.z[i], w.z[n + i], w.ways[i], w.ways[n + 1 + i] = w.q[i], w.v[i], w.v[i], w.v[i]
    evaluate(motion, motion_memory, w.z, w.none, w.terms)
    if m:
        evaluate(second, second_memory, w.x, w.ways, w.second)
    for i in range(m):
        w.right[i] = -w.second[i]
    if k:
        set_rate_gamma(rates, rates_memory, rates_place, w, n, m)
    if not solve_augmented(w, weight, n, m + k):
        return SINGULAR
    for i in range(n):
        out[i], out[n + i] = w.v[i], w.answer[i]
    return SOLVED


@inner_kernel
def close_positions(
    phi: Program, phi_memory: Array, jacobian: Program, memory: Array, place: Array, weight: Array, w: Work, n: int,
    m: int,
) -> int:  # fmt: skip
    """Set ``w.q`` with Phi = 0 by Newton from ``w.z``, and ``w.v`` as it is there; return a status."""
    for i in range(n):
        w.q[i], w.v[i] = w.z[i], w.z[n + i]
    w.x[n] = w.z[len(w.z) - 1]
    for _ in range(ITERATIONS):
        if m == 0:
            return SOLVED
        set_rows(jacobian, memory, place, w, n, m)
        evaluate(phi, phi_memory, w.x, w.none, w.phi)
        for i in range(m):
            w.right[i] = w.phi[i]
        if not least_change(w, weight, m):
            return SINGULAR
        size, largest = 0.0, 1.0
        for i in range(n):
            change = w.answer[i]
            w.q[i] -= change
            size, largest = max(size, abs(change)), max(largest, abs(w.q[i]))
        if size <= LAST * largest:
            return SOLVED
    return OPEN


@inner_kernel
def set_rows(jacobian: Program, memory: Array, place: Array, w: Work, n: int, m: int) -> None:
    """Set the rows of Phi_q in ``w.P`` at ``w.q``, and Phi_t in ``w.second``."""
    for i in range(n):
        w.x[i] = w.q[i]
    for i in range(m):
        w.second[i] = 0.0
        for j in range(n):
            w.P[i, j] = 0.0
    if m:
        evaluate(jacobian, memory, w.x, w.none, w.entries)
    for e in range(len(w.entries)):
        i, j = place[e] // (n + 1), place[e] % (n + 1)
        if j < n:
            w.P[i, j] = w.entries[e]
        else:
            w.second[i] = w.entries[e]


@inner_kernel
def set_rate_rows(
    psi: Program, psi_memory: Array, rates: Program, memory: Array, place: Array, w: Work, n: int, m: int
) -> None:
    """Set the rows of rate constraints in ``w.P``, and what they are at v = 0 in ``w.right``."""
    for i in range(n):
        w.z[i], w.z[n + i] = w.q[i], 0.0
    evaluate(psi, psi_memory, w.z, w.none, w.psi)
    evaluate(rates, memory, w.z, w.none, w.psi_entries)
    for i in range(len(w.psi)):
        w.right[m + i] = w.psi[i]
        for j in range(n):
            w.P[m + i, j] = 0.0
    for e in range(len(w.psi_entries)):
        i, j = place[e] // (2 * n + 1), place[e] % (2 * n + 1)
        if n <= j < 2 * n:
            w.P[m + i, j - n] = w.psi_entries[e]


@inner_kernel
def set_rate_gamma(rates: Program, memory: Array, place: Array, w: Work, n: int, m: int) -> None:
    """Set gamma = -Psi_q v - Psi_t of rate constraints in ``w.right`` at ``w.z``."""
    evaluate(rates, memory, w.z, w.none, w.psi_entries)
    for i in range(len(w.psi)):
        w.right[m + i] = 0.0
    for e in range(len(w.psi_entries)):
        i, j = place[e] // (2 * n + 1), place[e] % (2 * n + 1)
        if j < n:
            w.right[m + i] -= w.psi_entries[e] * w.v[j]
        elif j == 2 * n:
            w.right[m + i] -= w.psi_entries[e]


@inner_kernel
def least_change(w: Work, weight: Array, m: int) -> bool:
    """Set x = W P^T (P W P^T)^-1 right in ``w.answer`` by Cholesky with unit diagonal; False for dependent rows."""
    n = len(weight)
    for i in range(m):
        for j in range(i + 1):
            total = 0.0
            for c in range(n):
                total += w.P[i, c] * weight[c] * w.P[j, c]
            w.gram[i, j] = total
    for i in range(m):
        own = w.gram[i, i]
        for j in range(i + 1):
            total = w.gram[i, j]
            for c in range(j):
                total -= w.gram[i, c] * w.gram[j, c]
            if i == j:
                if not total > DEPENDENT * own:
                    return False
                w.gram[i, i] = np.sqrt(total)
            else:
                w.gram[i, j] = total / w.gram[j, j]
    for i in range(m):
        total = w.right[i]
        for c in range(i):
            total -= w.gram[i, c] * w.right[c]
        w.right[i] = total / w.gram[i, i]
    for r in range(m):
        i = m - 1 - r
        total = w.right[i]
        for c in range(i + 1, m):
            total -= w.gram[c, i] * w.right[c]
        w.right[i] = total / w.gram[i, i]
    for c in range(n):
        total = 0.0
        for i in range(m):
            total += w.P[i, c] * w.right[i]
        w.answer[c] = weight[c] * total
    return True


@inner_kernel
def solve_augmented(w: Work, weight: Array, n: int, m: int) -> bool:
    """Solve [M P^T; P 0] [a; lam] = [F; gamma] in ``w.answer``, gamma in ``w.right``; False where it is singular.

    Coordinates are scaled by roots of ``weight`` and rows to length one. LU has row exchanges.
    """
    size = n + m
    for i in range(n):
        scale = np.sqrt(weight[i])
        w.answer[i] = scale * w.terms[n * n + i]
        for j in range(n):
            w.saddle[i, j] = scale * w.terms[n * i + j] * np.sqrt(weight[j])
    for i in range(m):
        length = 0.0
        for j in range(n):
            length += w.P[i, j] * w.P[i, j] * weight[j]
        row = 1.0 / np.sqrt(length) if length > 0.0 else 1.0
        w.row[i], w.answer[n + i] = row, row * w.right[i]
        for j in range(n):
            w.saddle[n + i, j] = row * w.P[i, j] * np.sqrt(weight[j])
            w.saddle[j, n + i] = w.saddle[n + i, j]
        for j in range(m):
            w.saddle[n + i, n + j] = 0.0
    largest = 0.0
    for i in range(size):
        for j in range(size):
            largest = max(largest, abs(w.saddle[i, j]))
    if not eliminate(w.saddle, w.answer, size, DEPENDENT * largest):
        return False
    for i in range(n):
        w.answer[i] *= np.sqrt(weight[i])
    for i in range(m):
        w.answer[n + i] *= w.row[i]
    return True


@inner_kernel
def eliminate(A: Array, b: Array, size: int, least: float) -> bool:
    """Solve A x = b in place by LU with row exchanges; False for a pivot up to ``least`` or not a number."""
    for c in range(size):
        p = c
        for i in range(c + 1, size):
            if abs(A[i, c]) > abs(A[p, c]):
                p = i
        if not abs(A[p, c]) > least:
            return False
        if p != c:
            b[c], b[p] = b[p], b[c]
            for j in range(c, size):
                A[c, j], A[p, j] = A[p, j], A[c, j]
        for i in range(c + 1, size):
            factor = A[i, c] / A[c, c]
            if factor != 0.0:
                b[i] -= factor * b[c]
                for j in range(c + 1, size):
                    A[i, j] -= factor * A[c, j]
    for r in range(size):
        i = size - 1 - r
        total = b[i]
        for j in range(i + 1, size):
            total -= A[i, j] * b[j]
        b[i] = total / A[i, i]
    return True


def accelerations_entry(arguments: tuple[Any, ...]) -> Callable[..., int]:
    """Return the machine code of ``corrected_accelerations`` for arguments of these types."""
    return entry_for(corrected_accelerations, arguments)


def work_for(n: int, m: int, k: int, entries: int, psi_entries: int) -> Work:
    """Return scratch for a system of these sizes."""

    def zeros(*shape: int) -> NDArray[np.float64]:
        return np.zeros(shape)

    rows = m + k
    return Work(
        zeros(n + 1), zeros(2 * n + 1), np.ones(2 * n + 2), zeros(n), zeros(n), zeros(n * n + n), zeros(m),
        zeros(entries), zeros(k), zeros(psi_entries), zeros(m), zeros(rows, n), zeros(rows), zeros(rows, rows),
        zeros(n + rows, n + rows), zeros(n + rows), zeros(rows), zeros(0),
    )  # fmt: skip
