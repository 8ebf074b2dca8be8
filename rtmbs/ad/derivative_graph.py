"""Graph of the derivatives of a tape (linearised computational graph), and forward and reverse passes over it.

A rule of an operation is given the arguments and the result ``r`` as traced arrays (all steps of one kind at once) and
returns one factor for each argument: dr = factor_a da + factor_b db. None says that nothing depends on that argument.
At the edge of a branch the derivative is that of the branch taken there: minimum and maximum take their first argument
when both are equal, |a| has the slope 0 at 0, a to the power 0 has no slope.

One edge leads from every step to every step that uses it, with its factor. The factors are steps of an enlarged tape,
which can be differentiated again. Edges that lead from no input to no output are dropped, and so are factors that fold
to zero.

    forward   dot[target] += factor * dot[source]      edges in order
    reverse   bar[source] += factor * bar[target]      edges in reverse order

An exact zero wins over a factor that is not finite: what a branch not taken would have done does not count.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.builder import ZERO, Builder
from rtmbs.ad.tape import Tape, rebuilt
from rtmbs.ad.traced import Ids, OpenTape, TracedArray, steps
from rtmbs.jit.compiled import kernel

Rule = Callable[..., tuple[Any, ...]]


def truth(c: TracedArray) -> TracedArray:
    """Return 1 where the condition holds."""
    return TracedArray(c.tape, c.tape.append(o.TRUTH, c.ids))


def falsehood(c: TracedArray) -> TracedArray:
    """Return 1 where the condition does not hold."""
    return TracedArray(c.tape, c.tape.append(o.EQUAL, c.ids, c.tape.constant(0.0)))


def choice(condition: TracedArray) -> tuple[Any, Any]:
    """Return the factors of a pair of which the first is taken when the condition holds."""
    return truth(condition), falsehood(condition)


def power(a: TracedArray, b: TracedArray, r: TracedArray) -> tuple[Any, Any]:
    """a^b: b a^(b-1), and a^b log a, which is 0 at a = 0 (where log is not finite)."""
    return b * a ** (b - 1.0), np.where(a > 0.0, r * np.log(np.where(a > 0.0, a, 1.0)), 0.0)


def arctan2(a: TracedArray, b: TracedArray, r: TracedArray) -> tuple[Any, Any]:
    inverse = 1.0 / (a * a + b * b)
    return b * inverse, -a * inverse


FACTORS: dict[int, Rule] = {
    o.NEGATE: lambda a, r: (-1.0,),
    o.SIN: lambda a, r: (np.cos(a),),
    o.COS: lambda a, r: (-np.sin(a),),
    o.TAN: lambda a, r: (1.0 + r * r,),
    o.ARCSIN: lambda a, r: (1.0 / np.sqrt(1.0 - a * a),),
    o.ARCCOS: lambda a, r: (-1.0 / np.sqrt(1.0 - a * a),),
    o.ARCTAN: lambda a, r: (1.0 / (1.0 + a * a),),
    o.SINH: lambda a, r: (np.cosh(a),),
    o.COSH: lambda a, r: (np.sinh(a),),
    o.TANH: lambda a, r: (1.0 - r * r,),
    o.ARCSINH: lambda a, r: (1.0 / np.sqrt(a * a + 1.0),),
    o.ARCCOSH: lambda a, r: (1.0 / np.sqrt(a * a - 1.0),),
    o.ARCTANH: lambda a, r: (1.0 / (1.0 - a * a),),
    o.EXP: lambda a, r: (r,),
    o.EXPM1: lambda a, r: (np.exp(a),),
    o.LOG: lambda a, r: (1.0 / a,),
    o.LOG1P: lambda a, r: (1.0 / (1.0 + a),),
    o.SQRT: lambda a, r: (0.5 / r,),
    o.ABS: lambda a, r: (np.sign(a),),
    o.SIGN: lambda a, r: (None,),
    o.FLOOR: lambda a, r: (None,),
    o.TRUTH: lambda a, r: (None,),
    o.ADD: lambda a, b, r: (1.0, 1.0),
    o.SUBTRACT: lambda a, b, r: (1.0, -1.0),
    o.MULTIPLY: lambda a, b, r: (b, a),
    o.GUARDED: lambda a, b, r: (b, a),
    o.DIVIDE: lambda a, b, r: (1.0 / b, -r * (1.0 / b)),
    o.POWER: power,
    o.ARCTAN2: arctan2,
    o.HYPOT: lambda a, b, r: (a / r, b / r),
    o.MINIMUM: lambda a, b, r: choice(a <= b),
    o.MAXIMUM: lambda a, b, r: choice(a >= b),
    o.LESS: lambda a, b, r: (None, None),
    o.LESS_EQUAL: lambda a, b, r: (None, None),
    o.EQUAL: lambda a, b, r: (None, None),
    o.SELECT: lambda c, a, b, r: (None, *choice(c)),
}

# Factors that may be an exact zero beside a branch that is not taken.
GUARDED_FACTORS = frozenset({o.TRUTH, o.LESS, o.LESS_EQUAL, o.EQUAL, o.GUARDED})


class Graph(NamedTuple):
    """Derivatives of a tape. Vertices are its steps that lie between inputs and outputs, in order."""

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


def linearised(tape: Tape, seeds: int = 0) -> Graph:
    """Return the graph of a tape's derivatives by its independents, with so many parameters more, its seeds."""
    open_tape = open_tape_of(tape)
    source, target, factor = edges(tape, open_tape)
    seed = open_tape.append(o.INPUT, tape.n + tape.k + np.arange(seeds))
    builder, where = rebuilt(open_tape, np.concatenate((tape.outputs, factor, seed)))
    factor = where[factor]
    source, target, factor = source[factor != ZERO], target[factor != ZERO], factor[factor != ZERO]

    inputs = np.flatnonzero((tape.op == o.INPUT) & (tape.a < tape.n))
    live = live_steps(source, target, inputs, tape.outputs, len(tape.op))
    kept = live[source] & live[target]
    vertex = (np.cumsum(live) - 1).astype(np.int32)
    inputs, rows = inputs[live[inputs]], np.flatnonzero(live[tape.outputs])
    return Graph(
        builder,
        where[tape.outputs],
        where[seed],
        int(np.count_nonzero(live)),
        vertex[source[kept]],
        vertex[target[kept]],
        factor[kept],
        vertex[inputs],
        tape.a[inputs],
        vertex[tape.outputs[rows]],
        rows.astype(np.int32),
    )


def restricted(graph: Graph, by: NDArray[np.bool_], of: NDArray[np.bool_]) -> Graph:
    """Return the graph of the derivatives by the independents ``by`` (n,) of the outputs ``of`` (m,)."""
    inputs, outputs = by[graph.column], of[graph.row]
    live = live_steps(graph.source, graph.target, graph.input[inputs], graph.output[outputs], graph.vertices)
    kept = live[graph.source] & live[graph.target]
    inputs, outputs = inputs & live[graph.input], outputs & live[graph.output]
    return graph._replace(
        source=graph.source[kept], target=graph.target[kept], factor=graph.factor[kept], input=graph.input[inputs],
        column=graph.column[inputs], output=graph.output[outputs], row=graph.row[outputs],
    )  # fmt: skip


def live_steps(source: Ids, target: Ids, inputs: Any, outputs: Ids, count: int) -> NDArray[np.bool_]:
    """Return the steps on a path from an input to an output."""
    reached, needed = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    reached[inputs], needed[outputs] = True, True
    spread_marks(source, target, reached)
    spread_marks(target[::-1].copy(), source[::-1].copy(), needed)
    return reached & needed


def open_tape_of(tape: Tape) -> OpenTape:
    """Return an open tape that begins with the tape's steps."""
    open_tape = OpenTape()
    open_tape.constants = tape.constants.tolist()
    places = np.flatnonzero(tape.op == o.CONSTANT)
    open_tape.known = {tape.constants[tape.a[i]].tobytes(): int(i) for i in places}
    open_tape.append(tape.op, tape.a, tape.b, tape.c)
    return open_tape


def edges(tape: Tape, open_tape: OpenTape) -> tuple[Ids, Ids, Ids]:
    """Write all factors on the open tape; return source, target and factor of every edge, sorted by target."""
    parts: list[tuple[Any, Any, Any]] = [(np.zeros(0, np.int32),) * 3]
    for op in np.unique(tape.op[tape.op > o.INPUT]):
        result = np.flatnonzero(tape.op == op).astype(np.int32)
        sources = [column[result] for column in (tape.a, tape.b, tape.c)[: o.ARITY[op]]]
        factors = FACTORS[int(op)](*(TracedArray(open_tape, ids) for ids in (*sources, result)))
        for source, factor in zip(sources, factors, strict=True):
            if factor is not None:
                parts.append((source, result, np.broadcast_to(steps(open_tape, factor), result.shape)))
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
