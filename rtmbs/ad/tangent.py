"""The derivative of a tape along a direction as a tape of its own: one forward pass, written down.

dot(v) is the sum of factor * dot(source) over the edges into v, and of an independent its component of the direction,
which is a parameter of the new tape, behind those it has. The same transformation once more gives second derivatives
along two directions.
"""

import numpy as np

from rtmbs.ad.adjoint import chained
from rtmbs.ad.builder import ONE, ZERO
from rtmbs.ad.eliminate import PRODUCTS, SUMS, Work, new_work
from rtmbs.ad.jacobian import literals, written
from rtmbs.ad.linearise import Graph, linearised
from rtmbs.ad.tape import Tape, finished


def tangent_tape(tape: Tape) -> Tape:
    """Return the tape of df/dx v (m,) with parameters p (k,), then v (n,)."""
    graph = linearised(tape, seeds=tape.n)
    builder, dot = written(forward_sums(graph), graph.builder)
    outputs = np.full(tape.m, ZERO, dtype=np.int32)
    outputs[graph.row] = dot[graph.output]
    return finished(builder, outputs, tape.n, tape.k + tape.n)


def forward_sums(graph: Graph) -> Work:
    """Return the sums of products of a forward pass, in the order of the vertices."""
    first_sum = int(graph.builder.size[0])
    number = first_sum + np.arange(graph.vertices)  # of the sum of a vertex
    vertex = np.concatenate((graph.target, graph.input))
    left = np.concatenate((literals(graph), 2 * graph.seed[graph.column]))
    right = np.concatenate((2 * number[graph.source], np.full(len(graph.input), 2 * ONE)))
    order = np.argsort(vertex, kind="stable")
    work = new_work(0, max(len(order), graph.vertices, 1), first_sum)
    work.terms[: len(order)] = np.stack((left[order], right[order], chained(vertex[order])), axis=1)
    work.sums[: graph.vertices] = np.searchsorted(vertex[order], np.arange(graph.vertices))
    work.sizes[PRODUCTS], work.sizes[SUMS] = len(order), graph.vertices
    return work
