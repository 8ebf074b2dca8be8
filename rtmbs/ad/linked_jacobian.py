"""Jacobian of which one part is a chain of links through vertices that stay: fewer products than its entries take.

A step has derivatives of a product of derivatives: thousands of entries, each a sum over most of the mechanism. Only
their product with one vector is asked for. A vertex stays where its elimination would leave more edges than it takes
away. The edges that are left are links from independents to such vertices, between these, and to outputs. A product
with the part goes along the links. (Griewank, Walther, Evaluating Derivatives, 2nd ed., section 10.3: scarcity.)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.builder import ZERO
from rtmbs.ad.derivative_graph import Graph, linearised, restricted
from rtmbs.ad.derivative_tapes import ORDERS, accumulated, cheapest, edges_left, loaded, sparse_jacobian, written_edges
from rtmbs.ad.open_tape import Ids
from rtmbs.ad.tape import Tape, finished
from rtmbs.ad.vertex_elimination import PRODUCTS, EliminationGraph, eliminate_sparingly, grown_graph

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
