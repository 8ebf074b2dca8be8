"""Recording of a function by one run on traced numbers, or by a run for each of its branches.

    with Trace() as trace:                      or   trace = Trace(); trace.trace_on(); ...; trace.trace_off()
        x = trace.independent(3)
        p = trace.parameter(1)
        trace.dependent(f(x, p))
    trace.tape                                the operations

The recorder and evaluator of the MKSim paper: independents and dependents are marked, expressions are split into unary
and binary steps. Parameters are inputs without derivatives; they may change from evaluation to evaluation.

A condition that is evaluated while the function is recorded has no value. ``record_branches`` therefore runs the
function once for every combination of answers, all on one tape, and joins the results: where(condition, one, other). A
side that is not taken may be infinite or no number. SELECT does not look at it, and a derivative passes it by a guarded
product (``operations.py``). ``path_at`` records the conditions met so far as outputs of a tape: evaluated at the point
they say which way to go on, and the function is recorded once more. The tape of a path holds wherever all of its
conditions come out the same.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import numpy_rules  # noqa: F401 - fills the tables of traced arrays
from rtmbs.ad import operations as o
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.function_sources import Array, FlatFunction
from rtmbs.ad.numpy_rules import select, truth
from rtmbs.ad.tape import Tape, simplified
from rtmbs.ad.traced import LARGEST, NO_NUMBER, OpenTape, TracedArray, recorder, steps
from rtmbs.errors import DerivativeError, TraceError

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


MOST = 64  # ways through a function, and conditions on one way
PACKAGE = str(Path(__file__).parents[1])

# What a comparison leaves of the order of two numbers: less, equal, greater.
ORDERS = {o.LESS: frozenset("<"), o.LESS_EQUAL: frozenset("<="), o.EQUAL: frozenset("=")}
ANY_ORDER = frozenset("<=>")
TURNED = {"<": ">", "=": "=", ">": "<"}


def record_branches(
    f: Callable[..., Array], n: int, m: int, *, k: int = 0, xp: Any = recorder, limit: int = LARGEST
) -> tuple[Tape, int]:
    """Record f(x, p) -> (m,) with all of its branches.

    Parameters
    ----------
    f : called once for each way through its conditions, on traced arrays x (n,) and p (k,)
    n, m, k : numbers of inputs, outputs and parameters
    xp : namespace that ``f`` is given, as ``record`` has it
    limit : most steps of the tape

    Returns the tape of the whole function, and the number of ways. At the edge of a branch the derivative is that of
    the side taken there.

    Raises TraceError for more than ``MOST`` ways, for a function that does not ask the same conditions when it is
    called again, and for what no tape holds; TapeSizeError beyond ``limit``. What ``f`` raises on a way goes through.
    """
    function = FlatFunction(f, n, m, xp=xp)
    trace = Trace(limit)
    with trace:
        x = trace.independent(n)
        p = trace.parameter(k) if k else None
        forks = BranchRecorder(trace.running(), lambda: function(x.copy(), None if p is None else p.copy()), m)
        trace.dependent(forks.joined([], []))
    return trace.tape, forks.ways


class BranchOutputs(NamedTuple):
    """Outputs of a function along one path, with the conditions on the path."""

    values: TracedArray  # (m,)
    asked: list[TracedArray]  # conditions, each once, in order
    keys: list[int]  # of the conditions: equal ones have equal keys
    answers: list[bool]


class BranchRecorder:
    """Recorder of all paths through a function on one tape.

    A way whose answers contradict each other, as z > 0 and z <= 0, is not run: only what is no number goes along it,
    and its values are no numbers.
    """

    def __init__(self, tape: OpenTape, call: Callable[[], Any], m: int) -> None:
        self.tape, self.call, self.m = tape, call, m
        self.same = SameSteps(tape)
        self.ways = 0
        self.refused = ""  # where too many ways were found; the function may catch what is raised for that

    def joined(self, answers: list[bool], keys: list[int]) -> TracedArray:
        """Return the values (m,) of all paths that begin with ``answers``, selected by their conditions."""
        if contradictory(self.same, keys, answers):
            return TracedArray(self.tape, np.full(self.m, self.tape.constant(np.nan)))
        way = self.way(answers)
        if way.keys[: len(keys)] != keys:
            raise TraceError("it asks other conditions when it is called again; it must not have a memory")
        values = way.values
        for i in range(len(way.asked) - 1, len(answers) - 1, -1):
            other = self.joined([*way.answers[:i], not way.answers[i]], way.keys[: i + 1])
            condition = way.asked[i].reshape(())
            if not condition.boolean:
                condition = truth(self.tape, condition)
            sides = (values, other) if way.answers[i] else (other, values)
            values = select(self.tape, condition, *sides)
        return values

    def way(self, answers: Sequence[bool]) -> BranchOutputs:
        """Run the function with the first conditions answered so and the others, where possible, by True."""
        self.ways += 1
        asked, keys, given = list[TracedArray](), list[int](), list[bool]()

        def decide(condition: TracedArray) -> bool:
            key = self.same.key(int(condition.ids.ravel()[0]))
            if key in keys:  # asked before
                return given[keys.index(key)]
            place = len(asked)
            if place >= MOST or self.ways > MOST:
                self.refused = place_of_condition()
                raise too_many_ways(self.refused)
            asked.append(condition)
            keys.append(key)
            known = place < len(answers)
            given.append(answers[place] if known else not contradictory(self.same, keys, [*given, True]))
            return given[-1]

        self.tape.decide = decide
        try:
            values = self.call()
        finally:
            self.tape.decide = None
        if self.refused:
            raise too_many_ways(self.refused)
        return BranchOutputs(TracedArray(self.tape, steps(self.tape, values)), asked, keys, given)


class SameSteps:
    """Equivalence of the steps of an open tape: steps that compute the same have one key."""

    def __init__(self, tape: OpenTape) -> None:
        self.tape, self.chunks = tape, 0
        self.keys: list[int] = []  # of every step: the first step that computes the same
        self.known: dict[tuple[int, int, int, int], int] = {}
        self.rows: dict[int, tuple[int, int, int, int]] = {}  # operation and keys of its arguments, by key

    def key(self, step: int) -> int:
        """Return the first step that computes the same as ``step``."""
        columns = (self.tape.op, self.tape.a, self.tape.b, self.tape.c)
        for chunk in zip(*(column[self.chunks :] for column in columns), strict=True):
            for op, a, b, c in zip(*(part.tolist() for part in chunk), strict=True):
                place = len(self.keys)
                row = (op, self.keys[a], self.keys[b], self.keys[c]) if op > o.INPUT else (op, a, 0, 0)
                if op > o.INPUT:
                    place = self.known.setdefault(row, place)
                self.rows.setdefault(place, row)
                self.keys.append(place)
        self.chunks = len(self.tape.op)
        return self.keys[step]

    def number(self, key: int) -> float | None:
        """Return the number that a step holds, if it is a constant."""
        op, place, *_ = self.rows[key]
        return self.tape.constants[place] if op == o.CONSTANT else None


def contradictory(same: SameSteps, keys: Sequence[int], answers: Sequence[bool]) -> bool:
    """Return whether answers contradict each other: comparisons of two values, or of one with constants."""
    pairs: dict[tuple[int, int], frozenset[str]] = {}
    bounds: dict[int, tuple[tuple[float, bool], tuple[float, bool]]] = {}
    for key, answer in zip(keys, answers, strict=True):
        op, a, b, _ = same.rows[key]
        if op not in ORDERS or a == b:
            continue
        orders = ORDERS[op] if answer else ANY_ORDER - ORDERS[op]
        if a > b:
            a, b, orders = b, a, frozenset(TURNED[one] for one in orders)
        pairs[a, b] = pairs.get((a, b), ANY_ORDER) & orders
        if not pairs[a, b]:
            return True
        if (bound := same.number(a)) is not None:
            a, orders = b, frozenset(TURNED[one] for one in orders)
        elif (bound := same.number(b)) is None:
            continue
        low, high = bounds.get(a, ((-np.inf, False), (np.inf, False)))
        if "<" not in orders:
            low = max(low, (bound, "=" not in orders))
        if ">" not in orders:
            high = min(high, (bound, "=" in orders))
        bounds[a] = low, high
        if low[0] > high[0] or (low[0] == high[0] and (low[1] or not high[1]) and np.isfinite(low[0])):
            return True
    return False


def too_many_ways(place: str) -> TraceError:
    """Return the error for a function with too many paths; ``place`` is the source line."""
    return TraceError(
        f"it has more than {MOST} ways through its conditions ({place}). It must have fewer branches, and no loop that "
        "ends by a value"
    )


def place_of_condition() -> str:
    """Return file and line of the function whose condition is evaluated."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    with suppress(AttributeError):
        return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
    return "its file is not known"


class Undecided(Exception):
    """Signal of a condition without a value yet: no error, but the way back to the recorder."""


@dataclass(frozen=True)
class RecordedPath:
    """Tape of one path through a function."""

    tape: Tape  # values (m,), then the conditions on the way
    m: int
    truths: tuple[bool, ...]  # of the conditions

    def holds(self, outputs: Array) -> NDArray[np.bool_]:
        """Return for rows of outputs (K, m + conditions) of the tape whether they lie on this path."""
        return np.asarray(np.all((outputs[:, self.m :] != 0.0) == np.array(self.truths, np.bool_), axis=1))


def path_at(f: Callable[[Any, Any], Any], m: int, x: Array, p: Array) -> RecordedPath:
    """Return the path of f(x, p) -> (m,) at a point; raises DerivativeError for a function that no tape holds."""
    truths: list[bool] = []
    for _ in range(MOST + 1):
        asked: list[Any] = []

        def truth(condition: Any, asked: list[Any] = asked) -> bool:
            asked.append(condition)
            if len(asked) > len(truths):
                raise Undecided("the truth of a condition is asked for")
            return truths[len(asked) - 1]

        trace = Trace()
        with trace:
            trace.running().decide, given = truth, (trace.independent(len(x)), trace.parameter(len(p)))
            with suppress(Undecided):
                trace.dependent(f(*given))
            done = len(asked) == len(truths)  # a function may catch what it raises
            for condition in asked:
                trace.dependent(condition)
        outputs = Evaluator(trace.tape).value(x, p)
        if done:
            return RecordedPath(trace.tape, m, tuple(truths))
        truths.append(bool(outputs[-1] != 0.0))
    raise DerivativeError(f"a function asks more than {MOST} conditions on its way")
