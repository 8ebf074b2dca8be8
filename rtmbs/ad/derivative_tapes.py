"""Derivatives of a tape as tapes: sparse Jacobian, Jacobian with links, gradient, derivative along a direction.

The Jacobian is eliminated in the cheapest of three orders. Forward and reverse accumulation are two, Markowitz's is the
third: each is carried out in numbers, and the one with the fewest products is recorded. The first two take at most as
many products as there are edges times inputs, or outputs; Markowitz's, which may fill in without bound, is given up
where it has taken more than the better of them.

Gradient: bar(v) is the sum of factor * bar(target) over the edges out of v, plus the weight of the outputs that v is.
The weights are parameters of the new tape, behind those it has. Tangent: dot(v) is the sum of factor * dot(source) over
the edges into v, and of an independent its component of the direction, a further parameter. The same transformation
once more gives second derivatives.

Linked Jacobian: derivatives of a product of derivatives have thousands of entries, each a sum over most of the
mechanism, and only their product with one vector is asked for. A vertex stays where its elimination would leave more
edges than it takes away. The edges that are left are links from independents to such vertices, between these, and to
outputs. (Griewank, Walther, Evaluating Derivatives, 2nd ed., section 10.3: scarcity.)
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import int64
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.builder import ONE, PER_EMIT, ZERO, Builder, emit, grown, room
from rtmbs.ad.derivative_graph import GUARDED_FACTORS, Graph, linearised, restricted
from rtmbs.ad.tape import Tape, finished
from rtmbs.ad.traced import LARGEST, Ids, too_large
from rtmbs.ad.vertex_elimination import (
    EDGES,
    GONE,
    LITERAL,
    PRODUCTS,
    SUMS,
    WAITING,
    EliminationGraph,
    eliminate_greedily,
    eliminate_in_order,
    eliminate_sparingly,
    grown_graph,
    heap_of,
    new_graph,
    put_product,
    settle,
)
from rtmbs.errors import TapeSizeError
from rtmbs.jit.compiled import kernel

Array = Any
ORDERS = ("reverse", "forward", "markowitz")  # of orders that take the same number of products the last one is taken
MOST = 2 * LARGEST  # products of one elimination


class SparseJacobian(NamedTuple):
    """Structural non-zeros of a Jacobian as a tape."""

    tape: Tape  # outputs: the entries, after the values of f when these were asked for
    row: Ids  # (entries,) sorted
    column: Ids  # (entries,) sorted within a row
    products: dict[str, int]  # products counted for every order of elimination that was tried


def sparse_jacobian(tape: Tape, values: bool = False, orders: tuple[str, ...] = ORDERS) -> SparseJacobian:
    """Record df/dx of a tape; with ``values`` f comes first among the outputs."""
    graph = linearised(tape)
    builder, entry, row, column, products = accumulated(graph, orders)
    kept = np.lexsort((column, row))
    kept = kept[entry[kept] != ZERO]
    outputs = np.concatenate((graph.value, entry[kept])) if values else entry[kept]
    return SparseJacobian(finished(builder, outputs, tape.n, tape.k), row[kept], column[kept], products)


def accumulated(graph: Graph, orders: tuple[str, ...]) -> tuple[Builder, Ids, Ids, Ids, dict[str, int]]:
    """Return the builder with all entries of the Jacobian of a graph, their steps, rows and columns, and products."""
    work, products = cheapest(graph, orders)
    edge, source, target = edges_left(work)
    number = np.zeros(graph.vertices, dtype=np.int32)
    number[graph.input] = graph.column
    builder, entry = written_edges(work, graph.builder, edge)
    return builder, entry, graph.row[target - graph.vertices], number[source], products


def edges_left(work: EliminationGraph) -> tuple[NDArray[np.int64], Ids, Ids]:
    """Return the edges between vertices that are not gone, their sources and their targets."""
    source, target = work.edges[: work.sizes[EDGES], :2].T
    left = np.flatnonzero((work.vertices[source, GONE] == 0) & (work.vertices[target, GONE] == 0))
    return left, source[left], target[left]


def written_edges(work: EliminationGraph, builder: Builder, edges: NDArray[np.int64]) -> tuple[Builder, Ids]:
    """Write the factors of some edges on a builder; return the builder and their steps."""
    first = int(work.sizes[SUMS])
    builder, sums = written(settled(work, edges), builder)
    return builder, sums[first:]


def cheapest(graph: Graph, orders: tuple[str, ...]) -> tuple[EliminationGraph, dict[str, int]]:
    """Return the graph left by the cheapest of some orders of elimination, and the products counted in each.

    An order that has taken more products than the best one before it is given up there, and so is one that is too large
    while another is not.
    """
    work, best, products = None, MOST, {}
    for order in orders:
        try:
            other = eliminated(graph, order, best)
        except TapeSizeError:
            continue
        products[order] = int(other.sizes[PRODUCTS])
        if products[order] <= best:
            work, best = other, products[order]
    if work is None:
        raise too_large(LARGEST)
    return work, products


def eliminated(graph: Graph, order: str, limit: int) -> EliminationGraph:
    """Return the graph left by elimination, unfinished where it took more than ``limit`` products."""
    work = loaded(graph)
    between = np.setdiff1d(np.arange(graph.vertices, dtype=np.int32), graph.input)
    if order == "markowitz":
        heap = heap_of(work, between)
        while not eliminate_greedily(work, heap, limit) and work.sizes[PRODUCTS] <= limit:
            work = grown_graph(work)
        return work
    sequence = between.copy() if order == "forward" else between[::-1].copy()
    done = 0
    while (done := eliminate_in_order(work, sequence, done, limit)) < len(sequence):
        if work.sizes[PRODUCTS] > limit:
            break
        work = grown_graph(work)
    return work


def loaded(graph: Graph) -> EliminationGraph:
    """Return a graph before elimination. Every output row has a vertex of its own behind the others."""
    rows = graph.vertices + np.arange(len(graph.output), dtype=np.int32)
    source, target = np.concatenate((graph.source, graph.output)), np.concatenate((graph.target, rows))
    literal = np.concatenate((literals(graph), np.full(len(rows), 2 * ONE, dtype=np.int32)))
    # Edges are loaded without a look: one edge and two terms each. The rest is room for elimination.
    work = new_graph(graph.vertices + len(rows), 2 * len(source) + 16, int(graph.builder.size[0]))
    load_edges(work, source, target, literal)
    return work


def literals(graph: Graph) -> Ids:
    """Return the factors of a graph as literals; the signs of negated steps and of minus one are taken off."""
    code, factor = graph.builder.code, graph.factor
    negated = code[factor, 0] == o.NEGATE
    opposite = (code[factor, 0] == o.CONSTANT) & (graph.builder.value[factor] == -1.0)
    literal = np.where(negated, 2 * code[factor, 1] + 1, np.where(opposite, 2 * ONE + 1, 2 * factor))
    return literal.astype(np.int32)


def settled(work: EliminationGraph, edges: NDArray[np.int64]) -> EliminationGraph:
    """Return the work with one sum for each of these edges, in their order, as the last of its sums.

    An edge takes one sum and, when it was settled before, one term.
    """
    while work.sizes[PRODUCTS] + len(edges) > len(work.terms) or work.sizes[SUMS] + len(edges) > len(work.sums):
        work = grown_graph(work)
    settle_edges(work, edges)
    return work


def written(work: EliminationGraph, builder: Builder) -> tuple[Builder, Ids]:
    """Write all sums of products on a builder; return the builder and the steps of the sums."""
    guard = guards(builder)
    sums = np.zeros(work.sizes[SUMS], dtype=np.int32)
    done = 0
    while (done := write_sums(work, builder, guard, sums, done)) < len(sums):
        builder = grown(builder)
        guard = np.concatenate((guard, np.zeros_like(guard)))
    return builder, sums


def guards(builder: Builder) -> NDArray[np.uint8]:
    """Return (capacity,) the steps that may be an exact zero that wins over a factor which is not finite."""
    kinds = np.zeros(len(o.NAMES), dtype=np.uint8)
    kinds[list(GUARDED_FACTORS)] = 1
    guard = kinds[builder.code[:, 0]]
    guard[int(builder.size[0]) :] = 0
    propagate_guards(builder, guard)
    return guard


@kernel
def load_edges(W: EliminationGraph, source: Array, target: Array, literal: Array) -> None:
    """Append edges to a graph; parallel ones are joined."""
    for k in range(len(source)):
        put_product(W, int64(source[k]), int64(target[k]), int64(literal[k]), 2 * ONE)


@kernel
def settle_edges(W: EliminationGraph, edges: Array) -> None:
    """Make one sum of each edge; one that has been settled before becomes a sum of one product."""
    for e in edges:
        if W.edges[e, LITERAL] == WAITING:
            settle(W, e)
        else:
            t, s = W.sizes[PRODUCTS], W.sizes[SUMS]
            W.terms[t, 0], W.terms[t, 1], W.terms[t, 2] = W.edges[e, LITERAL], 2 * ONE, -1
            W.sizes[PRODUCTS] = t + 1
            W.sums[s] = t
            W.sizes[SUMS] = s + 1


@kernel
def write_sums(W: EliminationGraph, B: Builder, guard: Array, sums: Array, start: int) -> int:
    """Write sums of products from ``start`` on; return where room or sums ended.

    Room is asked for before every product: a sum may have thousands. One that did not fit is begun again, and its first
    products are found where they are.
    """
    first = W.sizes[3]
    for s in range(start, len(sums)):
        total, careful = ZERO, False
        t = W.sums[s]
        while t >= 0:
            if not room(B, 2 * PER_EMIT):
                return s
            l, r = W.terms[t, 0] >> 1, W.terms[t, 1] >> 1
            left = int64(l if l < first else sums[l - first])
            right = int64(r if r < first else sums[r - first])
            watch = guard[left] != 0 or guard[right] != 0
            product = emit(B, o.GUARDED if watch else o.MULTIPLY, left, right)
            turned = (W.terms[t, 0] ^ W.terms[t, 1]) & 1
            total = emit(B, o.SUBTRACT if turned else o.ADD, total, product)
            careful = careful or watch
            t = W.terms[t, 2]
        sums[s] = total
        if careful:
            guard[total] = 1
    return len(sums)


@kernel
def propagate_guards(B: Builder, guard: Array) -> None:
    """Mark sums and products of guarded factors as guarded."""
    for i in range(B.size[0]):
        op = B.code[i, 0]
        if op == o.NEGATE or op == o.ADD or op == o.SUBTRACT or op == o.MULTIPLY:
            guard[i] |= guard[B.code[i, 1]]
        if op == o.ADD or op == o.SUBTRACT or op == o.MULTIPLY:
            guard[i] |= guard[B.code[i, 2]]


def gradient_tape(tape: Tape) -> Tape:
    """Return the tape of w . df/dx (n,) with parameters p (k,), then w (m,)."""
    graph = linearised(tape, seeds=tape.m)
    builder, bar = written(reverse_sums(graph), graph.builder)
    outputs = np.full(tape.n, ZERO, dtype=np.int32)
    outputs[graph.column] = bar[graph.vertices - 1 - graph.input]
    return finished(builder, outputs, tape.n, tape.k + tape.m)


def reverse_sums(graph: Graph) -> EliminationGraph:
    """Return the sums of products of a reverse pass; the last vertex comes first."""
    first_sum, sums = int(graph.builder.size[0]), graph.vertices
    number = first_sum + graph.vertices - 1 - np.arange(graph.vertices)  # of the sum of a vertex
    vertex = np.concatenate((graph.source, graph.output))
    left = np.concatenate((literals(graph), 2 * graph.seed[graph.row]))
    right = np.concatenate((2 * number[graph.target], np.full(len(graph.row), 2 * ONE)))
    order = np.argsort(-vertex, kind="stable")
    work = new_graph(0, max(len(order), sums), first_sum)
    work.terms[: len(order)] = np.stack((left[order], right[order], chained(vertex[order])), axis=1)
    work.sums[:sums] = np.searchsorted(-vertex[order], -np.arange(sums - 1, -1, -1))
    work.sizes[PRODUCTS], work.sizes[SUMS] = len(order), sums
    return work


def chained(vertex: Ids) -> Ids:
    """Return the next term of the same vertex, or -1."""
    following = np.arange(1, len(vertex) + 1, dtype=np.int32)
    last = np.append(vertex[1:] != vertex[:-1], np.ones(min(len(vertex), 1), dtype=bool))
    return np.where(last, -1, following)


def tangent_tape(tape: Tape) -> Tape:
    """Return the tape of df/dx v (m,) with parameters p (k,), then v (n,)."""
    graph = linearised(tape, seeds=tape.n)
    builder, dot = written(forward_sums(graph), graph.builder)
    outputs = np.full(tape.m, ZERO, dtype=np.int32)
    outputs[graph.row] = dot[graph.output]
    return finished(builder, outputs, tape.n, tape.k + tape.n)


def forward_sums(graph: Graph) -> EliminationGraph:
    """Return the sums of products of a forward pass, in the order of the vertices."""
    first_sum = int(graph.builder.size[0])
    number = first_sum + np.arange(graph.vertices)  # of the sum of a vertex
    vertex = np.concatenate((graph.target, graph.input))
    left = np.concatenate((literals(graph), 2 * graph.seed[graph.column]))
    right = np.concatenate((2 * number[graph.source], np.full(len(graph.input), 2 * ONE)))
    order = np.argsort(vertex, kind="stable")
    work = new_graph(0, max(len(order), graph.vertices, 1), first_sum)
    work.terms[: len(order)] = np.stack((left[order], right[order], chained(vertex[order])), axis=1)
    work.sums[: graph.vertices] = np.searchsorted(vertex[order], np.arange(graph.vertices))
    work.sizes[PRODUCTS], work.sizes[SUMS] = len(order), graph.vertices
    return work


Mask = NDArray[np.bool_]
SAVED = 4  # products that each link more must save: a link is followed once a step, a product taken for eight at once
MOST_JOINS = (1, 2, 4, 8, 16, 32, 64)  # of a vertex that may go, round by round: cheap ones first
SWEEPS = 8  # over all vertices in a round


class LinkedJacobian(NamedTuple):
    """Entries and links of a Jacobian (m, n) as a tape.

    Vertices that stay are columns from n on and rows from m on. An entry of a row counts as it stands, or times what
    its column, a vertex, has. Links into vertices come last, in an order that has no link before those it follows.
    """

    tape: Tape  # outputs: the values of f, then the entries, then the links into vertices
    row: Ids  # (entries,)
    column: Ids  # (entries,)
    kept: int  # vertices that stay


def linked_jacobian(tape: Tape, by: Mask, of: Mask) -> LinkedJacobian:
    """Record f and df/dx of a tape, with links from the independents ``by`` (n,) to the outputs ``of`` (m,).

    All is entries where links do not save enough products.
    """
    graph = linearised(tape)
    part = restricted(graph, by, of)
    full, _ = cheapest(part, ORDERS)
    work = sparing(part)
    source, target, edge = links_left(part, work, len(of), len(by))
    entries = len(edges_left(full)[0])
    if full.sizes[PRODUCTS] - work.sizes[PRODUCTS] <= SAVED * max(len(edge) - entries, 1):
        sparse = sparse_jacobian(tape, values=True)
        return LinkedJacobian(sparse.tape, sparse.row, sparse.column, 0)
    builder, parts = graph.builder, []
    for inputs, outputs in ((~by, np.ones_like(of)), (by, ~of)):
        other = restricted(graph, inputs, outputs)._replace(builder=builder)
        builder, entry, row, column, _ = accumulated(other, ORDERS)
        parts.append((entry, row, column))
    part = part._replace(builder=builder)
    work = sparing(part)  # anew: its sums are numbered behind the steps written since
    source, target, edge = links_left(part, work, len(of), len(by))
    builder, literal = written_edges(work, builder, edge)
    parts.append((literal, target, source))
    entry, row, column = (np.concatenate(each) for each in zip(*parts, strict=True))
    kept = np.lexsort((column, row))  # vertices that stay are numbered as the tape goes: so is the order of links
    kept = kept[entry[kept] != ZERO]
    vertices = max(int(np.max(target, initial=0)) + 1 - len(of), 0)
    values = np.concatenate((graph.value, entry[kept]))
    return LinkedJacobian(finished(builder, values, tape.n, tape.k), row[kept], column[kept], vertices)


def sparing(graph: Graph) -> EliminationGraph:
    """Return the graph left when every vertex is gone that leaves no more edges than it takes away."""
    work = loaded(graph)
    between = np.setdiff1d(np.arange(graph.vertices, dtype=np.int32), graph.input)[::-1].copy()
    for most in MOST_JOINS:
        for _ in range(SWEEPS):
            before, done = int(work.sizes[PRODUCTS]), 0
            while (done := eliminate_sparingly(work, between, done, most)) < len(between):
                work = grown_graph(work)
            if work.sizes[PRODUCTS] == before:
                break
    return work


def links_left(graph: Graph, work: EliminationGraph, m: int, n: int) -> tuple[Ids, Ids, NDArray[np.int64]]:
    """Return source and target of the edges that are left, in the numbers of a LinkedJacobian, and the edges."""
    edge, source, target = edges_left(work)
    number = np.full(len(work.vertices), -1, np.int64)
    number[graph.input] = graph.column
    stays = np.setdiff1d(np.unique(np.concatenate((source, target))), graph.input)
    stays = stays[stays < graph.vertices]
    number[stays] = n + np.arange(len(stays))
    place = np.full(len(work.vertices), -1, np.int64)
    place[graph.vertices + np.arange(len(graph.row))] = graph.row
    place[stays] = m + np.arange(len(stays))
    return number[source].astype(np.int32), place[target].astype(np.int32), edge
