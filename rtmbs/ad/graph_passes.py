"""Passes over the graph of derivatives: forward along directions, reverse along adjoints, both for many at a time.

    forward   dot[target] += factor * dot[source]      edges in order
    reverse   bar[source] += factor * bar[target]      edges in reverse order

An exact zero wins over a factor that is not finite: what a branch not taken would have done does not count.
"""

from typing import Any

import numpy as np

from rtmbs.jit.compiled import kernel

Array = Any
BLOCK = 8  # directions evaluated at once: their rows stay in cache


@kernel
def add_scaled(rows: Array, to: int, factor: float, of: int) -> None:
    """rows[to] += factor * rows[of]."""
    if factor == 1.0:
        for j in range(rows.shape[1]):
            rows[to, j] += rows[of, j]
    elif np.isfinite(factor):
        for j in range(rows.shape[1]):
            rows[to, j] += factor * rows[of, j]
    else:
        for j in range(rows.shape[1]):
            if rows[of, j] != 0.0:
                rows[to, j] += factor * rows[of, j]


@kernel
def forward_pass(source: Array, target: Array, slot: Array, memory: Array, dot: Array) -> None:
    """Complete dot (vertices, k), which holds the directions at the inputs and zeros elsewhere."""
    for e in range(len(source)):
        factor = memory[slot[e]]
        if factor != 0.0:
            add_scaled(dot, target[e], factor, source[e])


@kernel
def reverse_pass(source: Array, target: Array, slot: Array, memory: Array, bar: Array) -> None:
    """Complete bar (vertices, k), which holds the adjoints at the outputs and zeros elsewhere."""
    for e in range(len(source) - 1, -1, -1):
        factor = memory[slot[e]]
        if factor != 0.0:
            add_scaled(bar, source[e], factor, target[e])


@kernel
def spread_marks(source: Array, target: Array, mark: Array) -> None:
    """Mark every target of a marked source; an edge comes after all edges into its source."""
    for e in range(len(source)):
        if mark[source[e]]:
            mark[target[e]] = True


@kernel
def spread_sets(source: Array, target: Array, sets: Array) -> None:
    """Join to the set (a row of bits) of every target the sets of its sources."""
    for e in range(len(source)):
        for k in range(sets.shape[1]):
            sets[target[e], k] |= sets[source[e], k]
