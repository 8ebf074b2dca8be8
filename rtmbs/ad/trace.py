"""Recording of a function by one run on traced numbers, for evaluation without Python.

    with Trace() as trace:                      or   trace = Trace(); trace.trace_on(); ...; trace.trace_off()
        x = trace.independent(3)
        p = trace.parameter(1)
        trace.dependent(f(x, p))
    trace.tape                                the operations

The recorder and evaluator of the MKSim paper: independents and dependents are marked, expressions are split into unary
and binary steps. Parameters are inputs without derivatives; they may change from evaluation to evaluation.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import numpy as np

from rtmbs.ad import numpy_rules  # noqa: F401 - fills the tables of traced arrays
from rtmbs.ad.errors import TraceError
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.function_sources import Array, FlatFunction
from rtmbs.ad.open_tape import LARGEST, OpenTape
from rtmbs.ad.tape import Tape, simplified
from rtmbs.ad.traced import NO_NUMBER, TracedArray, recorder, steps

# What NumPy says when it meets a traced value before this package does, and what was tried then.
FOREIGN = {
    "array element": "writing it into an array of floats",
    "only integers": "its use as an index",
    "loop of ufunc": "a function of an array that numpy.array made of traced values and numbers",
}


class Trace:
    """Recorder that marks inputs, returns traced arrays, and takes outputs.

    Raises TapeSizeError when more than ``limit`` operations, inputs and constants are written.
    """

    def __init__(self, limit: int = LARGEST) -> None:
        self.limit = limit
        self.open_tape: OpenTape | None = None
        self.independents: list[TracedArray] = []
        self.parameters: list[TracedArray] = []
        self.dependents: list[TracedArray] = []
        self._tape: Tape | None = None

    def trace_on(self) -> None:
        """Begin to record."""
        if self.open_tape is not None:
            raise TraceError("this trace has been on before; a trace records once, so make another one")
        self.open_tape = OpenTape(self.limit)

    def trace_off(self) -> None:
        """End the tape and simplify it."""
        tape = self.running()
        if not self.dependents:
            raise TraceError("nothing is marked as dependent: call dependent(y) with the results before trace_off()")
        outputs = np.concatenate([part.ids.ravel() for part in self.dependents])
        n, k = (sum(part.size for part in marked) for marked in (self.independents, self.parameters))
        tape.renumber_inputs(np.concatenate([part.ids.ravel() for part in (*self.independents, *self.parameters)]))
        self._tape = simplified(tape, outputs, n, k)
        tape.closed = True

    def __enter__(self) -> Self:
        self.trace_on()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is None:
            self.trace_off()
            return
        if self.open_tape is not None:
            self.open_tape.closed = True
        for words, what in FOREIGN.items():
            if isinstance(error, TypeError | ValueError | IndexError) and words in str(error):
                raise TraceError(NO_NUMBER.format(what)) from error

    def running(self) -> OpenTape:
        if self.open_tape is None or self.open_tape.closed:
            raise TraceError("the trace is off: call trace_on() first, or use it in a `with` statement")
        return self.open_tape

    def independent(self, shape: int | tuple[int, ...]) -> TracedArray:
        """Return a traced array of this shape, to be differentiated by."""
        return self.mark(self.independents, shape)

    def parameter(self, shape: int | tuple[int, ...]) -> TracedArray:
        """Return a traced array of this shape that may change from evaluation to evaluation but is not differentiated
        by.
        """
        return self.mark(self.parameters, shape)

    def mark(self, marked: list[TracedArray], shape: int | tuple[int, ...]) -> TracedArray:
        tape = self.running()
        marked.append(TracedArray(tape, tape.inputs(int(np.prod(shape, dtype=np.int64))).reshape(shape)))
        return marked[-1].copy()

    def dependent(self, y: Any) -> None:
        """Mark results: traced arrays, numbers, or sequences of both."""
        tape = self.running()
        self.dependents.append(TracedArray(tape, steps(tape, y)))

    @property
    def tape(self) -> Tape:
        if self._tape is None:
            raise TraceError("the tape is not finished: call trace_off() first")
        return self._tape


def record(
    f: Callable[..., Array],
    n: int,
    m: int | None = None,
    *,
    k: int = 0,
    batched: bool = False,
    xp: Any = recorder,
    limit: int = LARGEST,
) -> Tape:
    """Record f(x) or, with k parameters, f(x, p). ``f`` is called once, on traced arrays.

    Raises TapeSizeError when it takes more than ``limit`` steps.
    """
    function = FlatFunction(f, n, m, batched=batched, xp=xp)
    trace = Trace(limit)
    with trace:
        x = trace.independent(n)
        p = trace.parameter(k) if k else None
        trace.dependent(function(x, p))
    return trace.tape


class Traced(Evaluator):
    """A source of derivatives: ``f`` is recorded when this is made, and never called again."""

    def __init__(
        self,
        f: Callable[..., Array],
        n: int,
        m: int | None = None,
        *,
        k: int = 0,
        mode: str = "sparse",
        batched: bool = False,
        xp: Any = recorder,
    ) -> None:
        super().__init__(record(f, n, m, k=k, batched=batched, xp=xp), mode)


def warm_up() -> None:
    """Compile every kernel of this package, by a small function that uses everything a tape can answer."""

    x, one = np.array([0.5, 2.0, 3.0]), np.ones(3)
    for mode in ("sparse", "dense", "compressed"):
        made = Traced(lambda x: np.where(x > 1.0, x**3 + x[::-1], np.sin(x)) * np.cumsum(x), 3, mode=mode)
        made.value(x)
        made.jacobian(x)
        made.reverse(x, one)
        made.hessian(x, one)
        made.hessian_product(x, one, one)
