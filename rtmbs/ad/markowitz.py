"""Markowitz's order of elimination: the vertex whose elimination takes the fewest joins is next.

Of several the one nearest to the outputs goes first: a tenth fewer products than ties left to chance, on mechanisms.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import int64

from rtmbs.ad.eliminate import (
    FIRST_IN,
    FIRST_OUT,
    N_IN,
    N_OUT,
    NEXT_IN,
    NEXT_OUT,
    PRODUCTS,
    SOURCE,
    TARGET,
    Work,
    eliminate_vertex,
    fits,
)
from rtmbs.ad.open_tape import Ids
from rtmbs.jit.compiled import kernel

Array = Any
Int = Any
MANY = int64(1 << 30)  # joins beyond which vertices are alike: a key, joins times vertices, has 64 bits


class Heap(NamedTuple):
    """Vertices by the number of joins their elimination takes, then from last to first; an indexed binary heap."""

    key: Array  # (vertices,) int64
    vertex: Array  # (vertices,) int32 in heap order
    place: Array  # (vertices,) int32, -1 when not in the heap
    size: Array  # (1,) int64


def heap_of(work: Work, between: Ids) -> Heap:
    """Return the vertices that have to go, by the joins they take now."""
    n = len(work.vertices)
    size = np.array([len(between)])
    heap = Heap(np.zeros(n, np.int64), np.zeros(len(between), np.int32), np.full(n, -1, np.int32), size)
    joins = np.minimum(work.vertices[between, N_IN].astype(np.int64) * work.vertices[between, N_OUT], MANY)
    heap.key[between] = joins * n - between
    heap.vertex[:] = between[np.argsort(heap.key[between], kind="stable")]  # sorted is a heap
    heap.place[heap.vertex] = np.arange(len(between))
    return heap


@kernel
def shift(H: Heap, k: Int) -> None:
    """Move the vertex at heap place k to where its key belongs, up or down."""
    v = H.vertex[k]
    key = H.key[v]
    while k > 0:
        parent = (k - 1) // 2
        other = H.vertex[parent]
        if H.key[other] <= key:
            break
        H.vertex[k], H.place[other] = other, k
        k = parent
    while 2 * k + 1 < H.size[0]:
        child = 2 * k + 1
        if child + 1 < H.size[0] and H.key[H.vertex[child + 1]] < H.key[H.vertex[child]]:
            child += 1
        other = H.vertex[child]
        if key <= H.key[other]:
            break
        H.vertex[k], H.place[other] = other, k
        k = child
    H.vertex[k], H.place[v] = v, k


@kernel
def rekey(W: Work, H: Heap, v: Int) -> None:
    """Bring the key of a vertex up to date."""
    if H.place[v] >= 0:
        joins = min(int64(W.vertices[v, N_IN]) * int64(W.vertices[v, N_OUT]), MANY)
        H.key[v] = joins * len(W.vertices) - v
        shift(H, int64(H.place[v]))


@kernel
def eliminate_greedily(W: Work, H: Heap, limit: Int) -> bool:
    """Eliminate the vertex with the fewest joins next; return whether all went before room or ``limit`` ended."""
    while H.size[0] > 0:
        v = int64(H.vertex[0])
        if W.sizes[PRODUCTS] > limit or not fits(W, v):
            return False
        H.place[v] = -1
        H.size[0] -= 1
        if H.size[0] > 0:
            H.vertex[0] = H.vertex[H.size[0]]
            shift(H, 0)
        eliminate_vertex(W, v)
        e = W.vertices[v, FIRST_IN]
        while e >= 0:
            rekey(W, H, int64(W.edges[e, SOURCE]))
            e = W.edges[e, NEXT_IN]
        e = W.vertices[v, FIRST_OUT]
        while e >= 0:
            rekey(W, H, int64(W.edges[e, TARGET]))
            e = W.edges[e, NEXT_OUT]
    return True
