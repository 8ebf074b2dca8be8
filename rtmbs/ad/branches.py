"""A function with ``if`` on its inputs, recorded along the branches that it takes at a point.

A recorder has no values, so a condition stops it. Here the conditions asked so far are outputs of a tape: evaluated at
the point they say which way to go on, and the function is recorded once more. The tape of a path holds wherever all of
its conditions come out the same.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.errors import DerivativeError
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.tape import Tape
from rtmbs.ad.trace import Trace

Array = NDArray[np.float64]
MOST = 64  # conditions of a path; a loop that ends by a value may ask without end


class Undecided(Exception):
    """A function asks for the truth of a condition that is not known yet: no error, but the way back to ask."""


@dataclass(frozen=True)
class Path:
    """One way through a function."""

    tape: Tape  # values (m,), then the conditions on the way
    m: int
    truths: tuple[bool, ...]  # of the conditions

    def holds(self, outputs: Array) -> NDArray[np.bool_]:
        """Return for rows of outputs (K, m + conditions) of the tape whether they lie on this path."""
        return np.asarray(np.all((outputs[:, self.m :] != 0.0) == np.array(self.truths, np.bool_), axis=1))


def path_at(f: Callable[[Any, Any], Any], m: int, x: Array, p: Array) -> Path:
    """Return the path of f(x, p) -> (m,) at a point; raises DerivativeError for what no tape holds."""
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
            return Path(trace.tape, m, tuple(truths))
        truths.append(bool(outputs[-1] != 0.0))
    raise DerivativeError(f"a function asks more than {MOST} conditions on its way")
