"""One pair K, C of the same Q by CasADi: the tape of rtmbs step by step as SX, CasADi's own sparse Jacobian of it.

The function is run by CasADi's interpreter, called through a buffer so that no matrix is made in Python. It is built
twice, plain and with common subexpressions shared, and the faster of the two counts.
"""

import time
from collections.abc import Callable
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from bench.peers.jacobian_trace import fastest, recorded
from bench.peers.mechanism import Mechanism
from rtmbs.ad import Tape
from rtmbs.ad import operations as o

Array = NDArray[np.float64]

EXACT = 1e-12  # of the two Jacobians, relative to the largest entry

# The operations that Q of the four-bar, and Phi of the mechanisms of ``phi_trace``, are made of.
RULES: dict[int, Callable[..., Any]] = {
    o.NEGATE: lambda a: -a,
    o.SIN: casadi.sin,
    o.COS: casadi.cos,
    o.ARCTAN2: casadi.atan2,
    o.SQRT: casadi.sqrt,
    o.ADD: lambda a, b: a + b,
    o.SUBTRACT: lambda a, b: a - b,
    o.MULTIPLY: lambda a, b: a * b,
    o.DIVIDE: lambda a, b: a / b,
}


def measure(mechanism: Mechanism) -> dict[str, float]:
    """Return milliseconds of one pair, seconds of preparation, operations and entries; ValueError if they disagree."""
    evaluator, x, p, _ = recorded(mechanism)
    milliseconds, rest = quicker(evaluator.tape, x, p, evaluator.jacobian(x, p))
    return {"pair_ms": milliseconds, **rest}


def quicker(tape: Tape, x: Array, p: Array, own: Array) -> tuple[float, dict[str, float]]:
    """Return milliseconds of one Jacobian by the faster of two builds; preparation, operations, entries.

    Raises ValueError when it differs from ``own``, that of rtmbs at the same x and p.
    """
    answers = []
    for shared in (False, True):
        before = time.perf_counter()
        function = jacobian(tape, shared)
        prepare = time.perf_counter() - before
        buffered = Buffered(function, x, p)
        milliseconds = fastest(buffered.evaluate)
        operations = function.n_instructions() - function.n_in() - function.n_out()
        entries = len(buffered.entries)
        answers.append((milliseconds, {"prepare_s": prepare, "operations": operations, "entries": entries}))
        found = np.array(casadi.DM(function.sparsity_out(0), buffered.entries))
        apart = float(np.abs(found - own).max() / np.abs(own).max())
        if apart > EXACT:
            raise ValueError(f"the Jacobians of rtmbs and CasADi are {apart:.1e} apart; they must be of one tape")
    return min(answers, key=lambda answer: answer[0])


def jacobian(tape: Tape, shared: bool) -> casadi.Function:
    """Return the Jacobian of the outputs by x as a function of x and p."""
    x, p = casadi.SX.sym("x", tape.n), casadi.SX.sym("p", tape.k)
    return casadi.Function("jacobian", [x, p], [casadi.jacobian(translated(tape, x, p), x)], {"cse": shared})


def translated(tape: Tape, x: casadi.SX, p: casadi.SX) -> casadi.SX:
    """Return the outputs of a tape of rtmbs as expressions in x and p; KeyError for an operation without a rule."""
    inputs = x.elements() + p.elements()
    steps: list[casadi.SX] = []
    columns = (tape.op, tape.a, tape.b)
    for op, a, b in zip(*(column.tolist() for column in columns), strict=True):
        if op == o.CONSTANT:
            steps.append(casadi.SX(float(tape.constants[a])))
        elif op == o.INPUT:
            steps.append(inputs[a])
        else:
            steps.append(RULES[op](*(steps[k] for k in (a, b)[: o.ARITY[op]])))
    return casadi.vertcat(*(steps[k] for k in tape.outputs.tolist()))


class Buffered:
    """A function tied to its arguments: every call fills ``entries``. CasADi keeps addresses, this keeps the owners."""

    def __init__(self, function: casadi.Function, *arguments: NDArray[np.float64]) -> None:
        self.arguments = [np.ascontiguousarray(values) for values in arguments]
        self.entries = np.zeros(function.nnz_out(0))
        self.buffer, self.evaluate = function.buffer()
        for place, values in enumerate(self.arguments):
            self.buffer.set_arg(place, memoryview(values))
        self.buffer.set_res(0, memoryview(self.entries))
