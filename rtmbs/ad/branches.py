"""Recording of functions with ``if`` on their inputs: all branches on one tape, or the path taken at a point.

A condition that is evaluated while the function is recorded has no value. ``record_branches`` therefore runs the
function once for every combination of answers, all on one tape, and joins the results: where(condition, one, other). A
side that is not taken may be infinite or no number. SELECT does not look at it, and a derivative passes it by a guarded
product (``operations.py``).

``path_at`` records the conditions met so far as outputs of a tape: evaluated at the point they say which way to go on,
and the function is recorded once more. The tape of a path holds wherever all of its conditions come out the same.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad import operations as o
from rtmbs.ad.errors import DerivativeError, TraceError
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.function_sources import Array, FlatFunction
from rtmbs.ad.numpy_rules import select, truth
from rtmbs.ad.open_tape import LARGEST, OpenTape
from rtmbs.ad.tape import Tape
from rtmbs.ad.trace import Trace
from rtmbs.ad.traced import TracedArray, recorder, steps

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
