"""What is to be differentiated: a function of recorded channels, recorded itself once."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from rtmbs.ad.errors import DerivativeError
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.trace import Trace
from rtmbs.errors import InputError, shown
from rtmbs.results.result import TIME, Result

Array = NDArray[np.float64]
Cost = Callable[[Mapping[str, Any]], Any]


class Read(Mapping[str, Any]):
    """Channels of a Result as traced arrays, marked when they are first asked for; ``t`` is a plain array."""

    def __init__(self, result: Result, trace: Trace) -> None:
        self.result, self.trace = result, trace
        self.marked: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name == TIME:
            return self.result.t
        if name not in self.marked:
            self.marked[name] = self.trace.independent(self.result[name].shape)
        return self.marked[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.result)

    def __len__(self) -> int:
        return len(self.result.names())


class RecordedCost:
    """A function of channels with its derivatives. ``names`` are the channels that it reads."""

    def __init__(self, of: Any, result: Result) -> None:
        function = last_values(of) if isinstance(of, str | list | tuple) else of
        if not callable(function):
            raise InputError(
                f"of is {shown(of)}; it must be a function of channels, or names of channels whose last values count"
            )
        self.result = result
        trace = Trace()
        try:
            with trace:
                read = Read(result, trace)
                y = function(read)
                if not read.marked:
                    raise InputError("of reads no channel of the run; write it as lambda r: r['tip.position'][-1], say")
                trace.dependent(y)
        except DerivativeError as error:
            raise InputError(f"of cannot be recorded: {error}") from error
        self.names = tuple(read.marked)
        self.evaluator = Evaluator(trace.tape)
        self.x = np.concatenate([np.asarray(result[name], np.float64).ravel() for name in self.names])

    @property
    def count(self) -> int:
        """Number of values."""
        return self.evaluator.m

    @property
    def value(self) -> Array:
        """Values (k,)."""
        return self.evaluator.value(self.x)

    def by_channels(self) -> Any:
        """Return the sparse derivatives (k, N) by all numbers of the channels, channel after channel."""
        if self.count == 1:
            return scipy.sparse.csr_array(self.evaluator.reverse(self.x, np.ones((1, 1))))
        entries, row, column = self.evaluator.entries(self.x).copy(), self.evaluator.row, self.evaluator.column
        return scipy.sparse.csr_array((entries, (row, column)), shape=(self.count, len(self.x)))

    def split(self, flat: Array) -> Array:
        """Return numbers (N,) of all channels as (S, w), the channels of a sample side by side."""
        S, first, parts = len(self.result.t), 0, []
        for name in self.names:
            size = self.result[name].size
            parts.append(flat[first : first + size].reshape(S, -1))
            first += size
        return np.hstack(parts)

    def joined(self, rows: Array) -> Array:
        """Return (S, w, ...) as (N, ...), channel after channel."""
        first, parts = 0, []
        for name in self.names:
            width = self.result[name].size // len(self.result.t)
            own = rows[:, first : first + width]
            parts.append(own.reshape(-1, *rows.shape[2:]))
            first += width
        return np.concatenate(parts)


def last_values(names: Any) -> Cost:
    """Return the function of the last values of channels."""
    wanted = [names] if isinstance(names, str) else list(names)

    def function(result: Mapping[str, Any]) -> Any:
        return np.concatenate([np.reshape(result[name][-1], (-1,)) for name in wanted])

    return function
