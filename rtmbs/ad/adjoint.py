"""The gradient of a weighted sum of outputs as a tape of its own: one reverse pass, written down.

bar(v) is the sum of factor * bar(target) over the edges out of v, plus the weight of the outputs that v is. The weights
are parameters of the new tape, behind those it has. Its derivatives are the second derivatives of the old one.
"""

import numpy as np

from rtmbs.ad.builder import ONE, ZERO
from rtmbs.ad.eliminate import PRODUCTS, SUMS, Work, new_work
from rtmbs.ad.jacobian import literals, written
from rtmbs.ad.linearise import Graph, linearised
from rtmbs.ad.open_tape import Ids
from rtmbs.ad.tape import Tape, finished


def gradient_tape(tape: Tape) -> Tape:
    """Return the tape of w . df/dx (n,) with parameters p (k,), then w (m,)."""
    graph = linearised(tape, seeds=tape.m)
    builder, bar = written(reverse_sums(graph), graph.builder)
    outputs = np.full(tape.n, ZERO, dtype=np.int32)
    outputs[graph.column] = bar[graph.vertices - 1 - graph.input]
    return finished(builder, outputs, tape.n, tape.k + tape.m)


def reverse_sums(graph: Graph) -> Work:
    """Return the sums of products of a reverse pass; the last vertex comes first."""
    first_sum, sums = int(graph.builder.size[0]), graph.vertices
    number = first_sum + graph.vertices - 1 - np.arange(graph.vertices)  # of the sum of a vertex
    vertex = np.concatenate((graph.source, graph.output))
    left = np.concatenate((literals(graph), 2 * graph.seed[graph.row]))
    right = np.concatenate((2 * number[graph.target], np.full(len(graph.row), 2 * ONE)))
    order = np.argsort(-vertex, kind="stable")
    work = new_work(0, max(len(order), sums), first_sum)
    work.terms[: len(order)] = np.stack((left[order], right[order], chained(vertex[order])), axis=1)
    work.sums[:sums] = np.searchsorted(-vertex[order], -np.arange(sums - 1, -1, -1))
    work.sizes[PRODUCTS], work.sizes[SUMS] = len(order), sums
    return work


def chained(vertex: Ids) -> Ids:
    """Return the next term of the same vertex, or -1."""
    following = np.arange(1, len(vertex) + 1, dtype=np.int32)
    last = np.append(vertex[1:] != vertex[:-1], np.ones(min(len(vertex), 1), dtype=bool))
    return np.where(last, -1, following)
