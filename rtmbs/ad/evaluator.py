"""Evaluation of a tape without Python in the loops: value, passes, Jacobian, Hessian.

Programs are made when they are asked for the first time, once each.
"""

from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.derivative_graph import BLOCK, Graph, forward_pass, linearised, pattern, reverse_pass
from rtmbs.ad.derivative_tapes import SparseJacobian, gradient_tape, sparse_jacobian
from rtmbs.ad.function_sources import Array, Compression, compress
from rtmbs.ad.program import Program, evaluate, lowered, memory_of
from rtmbs.ad.tape import Tape, finished, load_tape
from rtmbs.errors import DerivativeError
from rtmbs.jit.compiled import entry_for

Floats = NDArray[np.float64]
MODES = ("sparse", "dense", "compressed")
NOTHING = np.zeros(0)


class ProgramRunner:
    """A program with its memory: a call sets the inputs, runs, and returns the outputs.

    Inputs are C-contiguous arrays of floats: the machine code is called itself, which saves a small program most of its
    time.
    """

    def __init__(self, tape: Tape) -> None:
        self.program: Program = lowered(tape)
        self.memory = memory_of(self.program)
        self.y = np.zeros(tape.m)
        types = (self.program, self.memory, np.zeros(tape.n), np.zeros(tape.k), self.y)
        self.evaluate = entry_for(evaluate, types)

    def __call__(self, x: Floats, p: Floats) -> Floats:
        """Return the outputs; the array is overwritten by the next call."""
        self.evaluate(self.program, self.memory, x, p, self.y)
        return self.y


class GraphPasses:
    """Forward and reverse passes over the graph of a tape's derivatives."""

    def __init__(self, tape: Tape) -> None:
        graph = linearised(tape)
        self.graph: Graph = graph._replace(builder=None)  # type: ignore[arg-type] # large, and not needed any more
        self.m, self.n = tape.m, tape.n
        self.run = ProgramRunner(finished(graph.builder, graph.factor, tape.n, tape.k))

    @property
    def pass_arguments(self) -> tuple[Any, ...]:
        """Arguments of both passes: sources and targets of the edges, places of their factors, and the memory."""
        return self.graph.source, self.graph.target, self.run.program.output, self.run.memory

    def forward(self, x: Floats, V: Floats, p: Floats) -> Floats:
        """Return df/dx V (m, d) along the columns of V (n, d)."""
        self.run(x, p)
        result = np.zeros((self.m, V.shape[1]))
        for first in range(0, V.shape[1], BLOCK):
            part = slice(first, first + BLOCK)
            dot = np.zeros((self.graph.vertices, V[:, part].shape[1]))
            dot[self.graph.input] = V[self.graph.column, part]
            forward_pass(*self.pass_arguments, dot)
            result[self.graph.row, part] = dot[self.graph.output]
        return result

    def reverse(self, x: Floats, W: Floats, p: Floats) -> Floats:
        """Return W df/dx (d, n) for the rows of W (d, m)."""
        self.run(x, p)
        result = np.zeros((W.shape[0], self.n))
        for first in range(0, W.shape[0], BLOCK):
            part = slice(first, first + BLOCK)
            bar = np.zeros((self.graph.vertices, W[part].shape[0]))
            np.add.at(bar, self.graph.output, W[part, self.graph.row].T)
            reverse_pass(*self.pass_arguments, bar)
            result[part, self.graph.column] = bar[self.graph.input].T
        return result


class JacobianEntries(NamedTuple):
    """Program of the entries of a sparse matrix, and their places."""

    sparse: SparseJacobian
    run: ProgramRunner
    place: NDArray[np.int64]  # of an entry in the flat dense matrix


class Evaluator:
    """A tape as a source of derivatives. ``mode`` says how ``jacobian`` works:

    sparse      the entries that are not zero, recorded by elimination and evaluated as a program
    dense       forward or reverse passes over all columns or rows, whichever are fewer
    compressed  forward passes over colours: columns that share no row go together

    One evaluation at a time: the memory of a program is shared by all calls.
    """

    def __init__(self, tape: Tape, mode: str = "sparse") -> None:
        if mode not in MODES:
            raise DerivativeError(f"unknown mode {mode!r} of an evaluated Jacobian; there are {', '.join(MODES)}")
        self.tape, self.mode = tape, mode
        self.n, self.m, self.k = tape.n, tape.m, tape.k

    def __str__(self) -> str:
        return str(self.tape)

    # ---- the contract of all sources

    def value(self, x: Array, p: Array | None = None) -> Floats:
        """Return f (m,) at x (n,) with parameters p (k,)."""
        return self.value_run(*self.point(x, p)).copy()

    def jacobian(self, x: Array, p: Array | None = None) -> Floats:
        """Return df/dx (m, n) at x (n,) with parameters p (k,)."""
        if self.mode == "sparse":
            return dense(self.jacobian_entries, self.point(x, p), (self.m, self.n))
        if self.mode == "compressed":
            return self.compression.expand(self.forward(x, self.compression.seeds(), p))
        return self.forward(x, np.eye(self.n), p) if self.n <= self.m else self.reverse(x, np.eye(self.m), p)

    # ---- passes

    def forward(self, x: Array, V: Array, p: Array | None = None) -> Floats:
        """Return df/dx V (m, d) along the columns of V (n, d), or (m,) along one direction (n,)."""
        x, p = self.point(x, p)
        V = np.asarray(V, dtype=np.float64)
        if V.shape[0] != self.n:
            raise DerivativeError(f"directions are arrays ({self.n}, d), not {V.shape}")
        return self.passes.forward(x, V.reshape(self.n, -1), p).reshape(self.m, *V.shape[1:])

    def reverse(self, x: Array, W: Array, p: Array | None = None) -> Floats:
        """Return W df/dx (d, n) for the rows of W (d, m), or (n,) for one adjoint (m,)."""
        x, p = self.point(x, p)
        W = np.asarray(W, dtype=np.float64)
        if W.shape[-1] != self.m:
            raise DerivativeError(f"adjoints are arrays (d, {self.m}), not {W.shape}")
        return self.passes.reverse(x, W.reshape(-1, self.m), p).reshape(*W.shape[:-1], self.n)

    # ---- entries of the Jacobian

    @property
    def row(self) -> NDArray[np.int32]:
        """Rows (entries,) of the structural non-zeros."""
        return self.jacobian_entries.sparse.row

    @property
    def column(self) -> NDArray[np.int32]:
        """Columns (entries,) of the structural non-zeros."""
        return self.jacobian_entries.sparse.column

    def entries(self, x: Array, p: Array | None = None) -> Floats:
        """Return the entries of df/dx at ``row`` and ``column``; the array is overwritten by the next call."""
        return self.jacobian_entries.run(*self.point(x, p))

    # ---- second derivatives of w . f

    def gradient(self, x: Array, w: Array | None = None, p: Array | None = None) -> Floats:
        """Return d(w . f)/dx (n,); w (m,) may be left out when there is one output."""
        return self.adjoint.value(x, self.weighted(w, p))

    def hessian(self, x: Array, w: Array | None = None, p: Array | None = None) -> Floats:
        """Return d2(w . f)/dx2 (n, n)."""
        return self.adjoint.jacobian(x, self.weighted(w, p))

    def hessian_product(self, x: Array, V: Array, w: Array | None = None, p: Array | None = None) -> Floats:
        """Return d2(w . f)/dx2 V (n, d) for V (n, d) or (n,): forward over reverse."""
        return self.adjoint.forward(x, V, self.weighted(w, p))

    # ---- made once

    @cached_property
    def value_run(self) -> ProgramRunner:
        return ProgramRunner(self.tape)

    @cached_property
    def passes(self) -> GraphPasses:
        return GraphPasses(self.tape)

    @cached_property
    def jacobian_entries(self) -> JacobianEntries:
        """Program of the sparse Jacobian."""
        sparse = sparse_jacobian(self.tape, values=False)
        places = sparse.row.astype(np.int64) * self.n + sparse.column
        return JacobianEntries(sparse, ProgramRunner(sparse.tape), places)

    @cached_property
    def pattern(self) -> NDArray[np.bool_]:
        """Sparsity pattern of the Jacobian (m, n): outputs that may depend on independents."""
        return pattern(self.passes.graph, self.m, self.n)

    @cached_property
    def compression(self) -> Compression:
        return compress(self.pattern, self.n, self.m)

    @cached_property
    def adjoint(self) -> "Evaluator":
        """The gradient of w . f as a function of x, with parameters p, then w."""
        return Evaluator(gradient_tape(self.tape))

    # ---- inputs and files

    def point(self, x: Array, p: Array | None) -> tuple[Floats, Floats]:
        """Return x and p as arrays of floats of the right length, or raise."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        p = NOTHING if p is None else np.ascontiguousarray(p, dtype=np.float64)
        if x.shape != (self.n,):
            raise DerivativeError(f"the tape takes {self.n} inputs as an array ({self.n},), not {x.shape}")
        if p.shape != (self.k,):
            raise DerivativeError(f"the tape takes {self.k} parameters as an array ({self.k},), not {p.shape}")
        return x, p

    def weighted(self, w: Array | None, p: Array | None) -> Floats:
        """Return the parameters of the gradient: p, then w."""
        if w is None and self.m != 1:
            raise DerivativeError(
                f"there are {self.m} outputs: say by w ({self.m},) what weighted sum of them is meant"
            )
        w = np.ones(1) if w is None else np.asarray(w, dtype=np.float64)
        if w.shape != (self.m,):
            raise DerivativeError(f"the weights of the outputs are an array ({self.m},), not {w.shape}")
        return np.concatenate((NOTHING if p is None else np.asarray(p, dtype=np.float64), w))

    def save(self, path: str | Path) -> None:
        """Write the tape into an ``npz`` file; ``load`` reads it."""
        self.tape.save(path)

    @staticmethod
    def load(path: str | Path, mode: str = "sparse") -> "Evaluator":
        """Read a saved tape."""
        return Evaluator(load_tape(path), mode)


def dense(entries: JacobianEntries, point: tuple[Floats, Floats], shape: tuple[int, int]) -> Floats:
    """Return a sparse matrix at a point with its zeros."""
    J = np.zeros(shape)
    J.ravel()[entries.place] = entries.run(*point)
    return J
