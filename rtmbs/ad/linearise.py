"""A record as a graph of its derivatives: one edge from every step to every step it takes, and the edge's factor.

The factors are steps of an enlarged record. Edges that lead from no input to no output are dropped, and so are factors
that fold to zero.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.builder import ZERO, Builder
from rtmbs.ad.record import Record, rebuilt
from rtmbs.ad.rules import FACTORS
from rtmbs.ad.sweeps import spread_marks, spread_sets
from rtmbs.ad.tape import Ids, Tape
from rtmbs.ad.traced import TracedArray, steps


class Graph(NamedTuple):
    """The derivatives of a record. Vertices are its steps that lie between inputs and outputs, in order."""

    builder: Builder  # values and factors
    value: Ids  # (m,) steps of the builder that hold the outputs
    seed: Ids  # (seeds,) steps of the builder that hold further parameters
    vertices: int
    source: Ids  # (edges,) vertex, lower than target
    target: Ids  # (edges,) vertex; edges are sorted by it
    factor: Ids  # (edges,) steps of the builder
    input: Ids  # (inputs with derivatives,) vertex
    column: Ids  # (inputs with derivatives,) the number of the independent
    output: Ids  # (outputs with derivatives,) vertex
    row: Ids  # (outputs with derivatives,) the number of the output


def linearised(record: Record, seeds: int = 0) -> Graph:
    """Return the graph of a record's derivatives by its independents, with so many parameters more, its seeds."""
    tape = tape_of(record)
    source, target, factor = edges(record, tape)
    seed = tape.append(o.INPUT, record.n + record.k + np.arange(seeds))
    builder, where = rebuilt(tape, np.concatenate((record.outputs, factor, seed)))
    factor = where[factor]
    source, target, factor = source[factor != ZERO], target[factor != ZERO], factor[factor != ZERO]

    inputs = np.flatnonzero((record.op == o.INPUT) & (record.a < record.n))
    live = live_steps(source, target, inputs, record.outputs, len(record.op))
    kept = live[source] & live[target]
    vertex = (np.cumsum(live) - 1).astype(np.int32)
    inputs, rows = inputs[live[inputs]], np.flatnonzero(live[record.outputs])
    return Graph(
        builder,
        where[record.outputs],
        where[seed],
        int(np.count_nonzero(live)),
        vertex[source[kept]],
        vertex[target[kept]],
        factor[kept],
        vertex[inputs],
        record.a[inputs],
        vertex[record.outputs[rows]],
        rows.astype(np.int32),
    )


def live_steps(source: Ids, target: Ids, inputs: Any, outputs: Ids, count: int) -> NDArray[np.bool_]:
    """Return which steps lie on a way from an input to an output."""
    reached, needed = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    reached[inputs], needed[outputs] = True, True
    spread_marks(source, target, reached)
    spread_marks(target[::-1].copy(), source[::-1].copy(), needed)
    return reached & needed


def tape_of(record: Record) -> Tape:
    """Return a tape that begins with the record's steps."""
    tape = Tape()
    tape.constants = record.constants.tolist()
    places = np.flatnonzero(record.op == o.CONSTANT)
    tape.known = {record.constants[record.a[i]].tobytes(): int(i) for i in places}
    tape.append(record.op, record.a, record.b, record.c)
    return tape


def edges(record: Record, tape: Tape) -> tuple[Ids, Ids, Ids]:
    """Write all factors on the tape; return source, target and factor of every edge, sorted by target."""
    parts: list[tuple[Any, Any, Any]] = [(np.zeros(0, np.int32),) * 3]
    for op in np.unique(record.op[record.op > o.INPUT]):
        result = np.flatnonzero(record.op == op).astype(np.int32)
        sources = [column[result] for column in (record.a, record.b, record.c)[: o.ARITY[op]]]
        factors = FACTORS[int(op)](*(TracedArray(tape, ids) for ids in (*sources, result)))
        for source, factor in zip(sources, factors, strict=True):
            if factor is not None:
                parts.append((source, result, np.broadcast_to(steps(tape, factor), result.shape)))
    source, target, factor = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(target, kind="stable")
    return source[order], target[order], factor[order]


def pattern(graph: Graph, m: int, n: int) -> NDArray[np.bool_]:
    """Return (m, n): which outputs may depend on which independents."""
    sets = np.zeros((graph.vertices, (n + 63) // 64), dtype=np.uint64)
    sets[graph.input, graph.column // 64] = np.uint64(1) << (graph.column % 64).astype(np.uint64)
    spread_sets(graph.source, graph.target, sets)
    bits = np.unpackbits(sets[graph.output].view(np.uint8), axis=1, bitorder="little")[:, :n]
    dense = np.zeros((m, n), dtype=bool)
    dense[graph.row] = bits
    return dense
