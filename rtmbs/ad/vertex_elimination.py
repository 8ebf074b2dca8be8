"""Vertex elimination on the graph of derivatives, in a given order or in Markowitz's, down to the Jacobian.

Eliminating vertex v joins every edge into v with every edge out of v: factor(u, w) += factor(u, v) factor(v, w). When
all are gone, the edges left are the entries of the Jacobian; what was never joined is a structural zero.
(Griewank, Walther, Evaluating Derivatives, 2nd ed., chapters 9 and 10.)

Nothing is multiplied here. A factor is a *literal*: twice a number, plus one when its sign is turned. Numbers below
``first_sum`` are steps of the tape, the others sums of products of literals. Products wait at their edge until the
edge is needed, and then become one sum.

Kernels do not allocate. The caller of ``put_product`` or ``settle`` has reserved room before: one product takes at most
one edge and two terms (a literal that waited alone becomes a term too), settling an edge takes one sum. An edge is
settled at most once, with its vertex or at the end, so there are no more sums than edges.

Markowitz's order takes the vertex whose elimination takes the fewest joins next. Of several the one nearest to the
outputs goes first: a tenth fewer products than ties left to chance, on mechanisms.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import int64

from rtmbs.ad.builder import ONE
from rtmbs.ad.traced import LARGEST, Ids, too_large
from rtmbs.jit.compiled import kernel

Array = Any
Int = Any  # int64: numbers from arrays are narrower, and a kernel compiles once for every width it meets
SOURCE, TARGET, LITERAL, TERMS, NEXT_OUT, NEXT_IN = range(6)  # columns of edges
LEFT, RIGHT, NEXT = range(3)  # columns of terms
FIRST_OUT, FIRST_IN, N_OUT, N_IN, GONE = range(5)  # columns of vertices
EDGES, PRODUCTS, SUMS = range(3)  # places of sizes
WAITING = -1  # literal of an edge whose products are not summed yet


class EliminationGraph(NamedTuple):
    """Graph under elimination. Edges are in two lists, by source and by target; dead ones are skipped."""

    edges: Array  # (capacity, 6) int32
    terms: Array  # (capacity, 3) int32: products of two literals, and the next one of the same sum
    sums: Array  # (capacity,) int32: first term
    vertices: Array  # (vertices, 5) int32: first edges, living edges, whether it is gone
    table: Array  # (power of two,) int32: edges by hash of source and target
    sizes: Array  # (4,) int64: edges, terms, sums in use; first_sum


def new_graph(vertices: int, edges: int, first_sum: int) -> EliminationGraph:
    """Return empty lists with room for ``edges``."""
    lists = np.zeros((vertices, 5), dtype=np.int32)
    lists[:, :2] = -1
    return EliminationGraph(
        np.zeros((edges, 6), dtype=np.int32),
        np.zeros((2 * edges, 3), dtype=np.int32),
        np.zeros(edges, dtype=np.int32),
        lists,
        np.full(1 << int(2 * edges).bit_length(), -1, dtype=np.int32),
        np.array([0, 0, 0, first_sum]),
    )


def grown_graph(work: EliminationGraph) -> EliminationGraph:
    """Return the same lists with twice the room; raises TapeSizeError beyond ``LARGEST`` edges."""
    if len(work.edges) >= LARGEST:
        raise too_large(LARGEST)
    larger = new_graph(len(work.vertices), 2 * len(work.edges), 0)
    for name in ("edges", "terms", "sums", "vertices", "sizes"):
        getattr(larger, name)[: len(getattr(work, name))] = getattr(work, name)
    enter_edges(larger)
    return larger


@kernel
def find_edge(W: EliminationGraph, u: Int, w: Int) -> Int:
    """Return the edge u -> w, or minus one minus its free place in the table."""
    h = u * 268435399 + w * 179424673
    h ^= h >> 17
    h = (h & 0xFFFFFFFF) * 73244475
    k = (h ^ (h >> 16)) & (len(W.table) - 1)
    while W.table[k] >= 0:
        e = W.table[k]
        if W.edges[e, SOURCE] == u and W.edges[e, TARGET] == w:
            return int64(e)
        k = (k + 1) & (len(W.table) - 1)
    return -1 - k


@kernel
def enter_edges(W: EliminationGraph) -> None:
    """Enter all edges into an empty table."""
    for e in range(W.sizes[EDGES]):
        W.table[-1 - find_edge(W, int64(W.edges[e, SOURCE]), int64(W.edges[e, TARGET]))] = e


@kernel
def put_term(W: EliminationGraph, e: Int, left: Int, right: Int) -> None:
    """Append a product to its edge; a literal that waited alone becomes a product with one."""
    alone = W.edges[e, LITERAL]
    if alone != WAITING:
        W.edges[e, LITERAL] = WAITING
        t = W.sizes[PRODUCTS]
        W.terms[t, LEFT], W.terms[t, RIGHT], W.terms[t, NEXT] = alone, 2 * ONE, -1
        W.edges[e, TERMS] = t
        W.sizes[PRODUCTS] = t + 1
    t = W.sizes[PRODUCTS]
    W.terms[t, LEFT], W.terms[t, RIGHT], W.terms[t, NEXT] = left, right, W.edges[e, TERMS]
    W.edges[e, TERMS] = t
    W.sizes[PRODUCTS] = t + 1


@kernel
def new_edge(W: EliminationGraph, u: Int, w: Int, place: Int) -> Int:
    """Append a new edge whose products are not summed yet."""
    e = W.sizes[EDGES]
    W.sizes[EDGES] = e + 1
    W.table[place] = e
    W.edges[e, SOURCE], W.edges[e, TARGET], W.edges[e, LITERAL], W.edges[e, TERMS] = u, w, WAITING, -1
    W.edges[e, NEXT_OUT], W.vertices[u, FIRST_OUT] = W.vertices[u, FIRST_OUT], e
    W.edges[e, NEXT_IN], W.vertices[w, FIRST_IN] = W.vertices[w, FIRST_IN], e
    W.vertices[u, N_OUT] += 1
    W.vertices[w, N_IN] += 1
    return int64(e)


@kernel
def put_product(W: EliminationGraph, u: Int, w: Int, left: Int, right: Int) -> None:
    """Add a product of two literals to the edge u -> w."""
    if left >> 1 == ONE:
        left, right = right, left
    e = find_edge(W, u, w)
    if e >= 0:
        put_term(W, e, left, right)
        return
    e = new_edge(W, u, w, -1 - e)
    if right >> 1 == ONE:
        W.edges[e, LITERAL] = left ^ (right & 1)
    else:
        put_term(W, e, left, right)


@kernel
def settle(W: EliminationGraph, e: Int) -> Int:
    """Return the literal of an edge; its waiting products become a sum."""
    if W.edges[e, LITERAL] == WAITING:
        s = W.sizes[SUMS]
        W.sums[s] = W.edges[e, TERMS]
        W.sizes[SUMS] = s + 1
        W.edges[e, LITERAL] = 2 * (W.sizes[3] + s)
    return int64(W.edges[e, LITERAL])


@kernel
def eliminate_vertex(W: EliminationGraph, v: Int) -> None:
    """Join every edge into v with every edge out of v."""
    f = W.vertices[v, FIRST_OUT]
    while f >= 0:
        W.vertices[W.edges[f, TARGET], N_IN] -= 1
        f = W.edges[f, NEXT_OUT]
    e = W.vertices[v, FIRST_IN]
    while e >= 0:
        u = int64(W.edges[e, SOURCE])
        if not W.vertices[u, GONE]:
            W.vertices[u, N_OUT] -= 1
            left = settle(W, e)
            f = W.vertices[v, FIRST_OUT]
            while f >= 0:
                w = int64(W.edges[f, TARGET])
                if not W.vertices[w, GONE]:
                    put_product(W, u, w, left, settle(W, f))
                f = W.edges[f, NEXT_OUT]
        e = W.edges[e, NEXT_IN]
    W.vertices[v, GONE] = 1


@kernel
def fits(W: EliminationGraph, v: Int) -> bool:
    """Return whether the elimination of v fits into the arrays."""
    into, out = int64(W.vertices[v, N_IN]), int64(W.vertices[v, N_OUT])
    edges, terms = W.sizes[EDGES] + into * out, W.sizes[PRODUCTS] + 2 * into * out
    fine = edges <= len(W.edges) and 2 * edges <= len(W.table) and terms <= len(W.terms)
    return bool(fine and W.sizes[SUMS] + into + out <= len(W.sums))


@kernel
def eliminate_in_order(W: EliminationGraph, order: Array, start: Int, limit: Int) -> Int:
    """Eliminate the vertices of ``order`` from ``start`` on; return where room, vertices or allowed products ended."""
    for k in range(start, len(order)):
        if W.sizes[PRODUCTS] > limit or not fits(W, int64(order[k])):
            return k
        eliminate_vertex(W, int64(order[k]))
    return len(order)


@kernel
def leaves_no_more(W: EliminationGraph, v: Int) -> bool:
    """Return whether the elimination of v leaves no more edges than it takes away."""
    allowed, e = int64(W.vertices[v, N_IN]) + int64(W.vertices[v, N_OUT]), W.vertices[v, FIRST_IN]
    while e >= 0:
        u = int64(W.edges[e, SOURCE])
        if not W.vertices[u, GONE]:
            f = W.vertices[v, FIRST_OUT]
            while f >= 0:
                w = int64(W.edges[f, TARGET])
                if not W.vertices[w, GONE] and find_edge(W, u, w) < 0:
                    allowed -= 1
                    if allowed < 0:
                        return False
                f = W.edges[f, NEXT_OUT]
        e = W.edges[e, NEXT_IN]
    return True


@kernel
def eliminate_sparingly(W: EliminationGraph, order: Array, start: Int, most: Int) -> Int:
    """Eliminate vertices of ``order`` with few joins that leave no more edges; return where room ended."""
    for k in range(start, len(order)):
        v = int64(order[k])
        joins = int64(W.vertices[v, N_IN]) * int64(W.vertices[v, N_OUT])
        if not W.vertices[v, GONE] and 0 < joins <= most and leaves_no_more(W, v):
            if not fits(W, v):
                return k
            eliminate_vertex(W, v)
    return len(order)


MANY = int64(1 << 30)  # joins beyond which vertices are alike: a key, joins times vertices, has 64 bits


class Heap(NamedTuple):
    """Vertices by the number of joins their elimination takes, then from last to first; an indexed binary heap."""

    key: Array  # (vertices,) int64
    vertex: Array  # (vertices,) int32 in heap order
    place: Array  # (vertices,) int32, -1 when not in the heap
    size: Array  # (1,) int64


def heap_of(work: EliminationGraph, between: Ids) -> Heap:
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
    """Move the vertex at heap place k up or down to where its key belongs."""
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
def rekey(W: EliminationGraph, H: Heap, v: Int) -> None:
    """Update the key of a vertex."""
    if H.place[v] >= 0:
        joins = min(int64(W.vertices[v, N_IN]) * int64(W.vertices[v, N_OUT]), MANY)
        H.key[v] = joins * len(W.vertices) - v
        shift(H, int64(H.place[v]))


@kernel
def eliminate_greedily(W: EliminationGraph, H: Heap, limit: Int) -> bool:
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
