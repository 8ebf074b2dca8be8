"""Compiled: over the steps of a chunk, forwards with derivatives of the states, or backwards with adjoints."""

from typing import Any

from rtmbs.jit.compiled import inner_kernel, kernel
from rtmbs.sensitivities.elimination import (
    BY_PARAMETERS,
    BY_STATE,
    INC,
    KEPT,
    NU,
    PUSH,
    RATE,
    STATE,
    TURN,
    ZD,
    ZDD,
    Blocks,
    factor_step,
    solve_step,
    solve_step_transposed,
)
from rtmbs.sensitivities.saddles import take_away

Array = Any  # numba types by value


@kernel
def sweep_forward(own: Blocks, values: Array, case: Array, made: Array, X: Array, lam: Array, dy: Array) -> None:
    """Fill in X (K + 1, nx, np) and lam (K + 1, m, np) behind the first row of a chunk; dy (ny, np) is scratch."""
    for k in range(len(values)):
        factor_step(own, values[k], case[k], made[k])
        changes(own, values[k], case[k], X[k], dy)
        solve_step(own, values[k], case[k], dy)
        onward(own, X[k], dy, X[k + 1], lam[k + 1])


@inner_kernel
def changes(own: Blocks, values: Array, case: int, x: Array, b: Array) -> None:
    """b (ny, np) = -(F x + H)."""
    place, row, column = own.place, own.row, own.column
    for i in range(len(b)):
        for c in range(b.shape[1]):
            b[i, c] = 0.0
    for e in range(own.pointer[case, BY_STATE], own.pointer[case, BY_STATE + 1]):
        i, j, value = row[e], column[e], values[place[e]]
        take_away(b, i, value, x, j, b.shape[1])
    for e in range(own.pointer[case, BY_PARAMETERS], own.pointer[case, BY_PARAMETERS + 1]):
        b[row[e], column[e]] -= values[place[e]]


@inner_kernel
def onward(own: Blocks, before: Array, dy: Array, x: Array, lam: Array) -> None:
    """Fill in the changes of the state x (nx, np) and of the multipliers lam (m, np) behind a step."""
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
            lam[k, c] = dy[parts[PUSH] + k, c] + dy[parts[NU] + k, c]


@kernel
def sweep_back(own: Blocks, values: Array, case: Array, made: Array, g: Array, f: Array, p: Array, w: Array) -> None:
    """Take the adjoint p (nx, k) to the state before a chunk of steps, and fill in w (K, ny, k), those of the unknowns.

    g (K, nx, k) are derivatives by states before steps, f (K, m, k) by multipliers behind them.
    """
    for k in range(len(values) - 1, -1, -1):
        factor_step(own, values[k], case[k], made[k])
        spread(own, p, f[k], w[k])
        solve_step_transposed(own, values[k], case[k], w[k])
        back(own, values[k], case[k], w[k], g[k], p)


@inner_kernel
def spread(own: Blocks, p: Array, f: Array, w: Array) -> None:
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
            w[parts[PUSH] + k, c] = f[k, c]
            w[parts[NU] + k, c] = f[k, c]


@inner_kernel
def back(own: Blocks, values: Array, case: int, w: Array, g: Array, p: Array) -> None:
    """p = g + s^T p - F^T w."""
    place, row, column = own.place, own.row, own.column
    n = own.sizes[0]
    for c in range(p.shape[1]):
        for i in range(len(p)):
            kept = own.plain[i] * p[i, c] if i < n else 0.0
            p[i, c] = g[i, c] + kept
    for e in range(own.pointer[case, BY_STATE], own.pointer[case, BY_STATE + 1]):
        i, j, value = row[e], column[e], values[place[e]]
        take_away(p, j, value, w, i, p.shape[1])


@kernel
def take_parameters(own: Blocks, values: Array, case: Array, w: Array, gradient: Array) -> None:
    """gradient (np, k) -= H^T w of a chunk of steps, w (K, ny, k)."""
    place, row, column = own.place, own.row, own.column
    for k in range(len(values)):
        for e in range(own.pointer[case[k], BY_PARAMETERS], own.pointer[case[k], BY_PARAMETERS + 1]):
            take_away(gradient, column[e], values[k, place[e]], w[k], row[e], gradient.shape[1])
