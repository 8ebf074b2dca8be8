"""Cost function of recorded channels, recorded on a tape once."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from rtmbs.ad.errors import DerivativeError
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.trace import Trace
from rtmbs.errors import InputError, shown
from rtmbs.results.channel import TIME
from rtmbs.results.result import Result

Array = NDArray[np.float64]
Cost = Callable[[Mapping[str, Any]], Any]


class TracedChannels(Mapping[str, Any]):
    """Channels of a run as traced arrays, marked at their first use; ``t`` is a plain array.

    ``offered`` is a Result of the same System, of any samples.
    """

    def __init__(self, offered: Result, t: Array, trace: Trace) -> None:
        self.offered, self.t, self.trace = offered, t, trace
        self.marked: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name == TIME:
            return self.t
        if name not in self.marked:
            axes, _ = self.offered.about(name)
            self.marked[name] = self.trace.independent((len(self.t), len(axes)) if axes else (len(self.t),))
        return self.marked[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.offered)

    def __len__(self) -> int:
        return len(self.offered.names())


class RecordedCost:
    """Cost function of channels over ``length`` samples, with its derivatives.

    ``names`` are the channels that it reads, and ``widths`` their numbers a sample. ``take`` gives it the values.
    """

    def __init__(self, of: Any, offered: Result, t: Array) -> None:
        function = last_values(of) if isinstance(of, str | list | tuple) else of
        if not callable(function):
            raise InputError(
                f"of is {shown(of)}; it must be a function of channels, or names of channels whose last values count"
            )
        trace = Trace()
        try:
            with trace:
                read = TracedChannels(offered, t, trace)
                y = function(read)
                if not read.marked:
                    raise InputError("of reads no channel of the run; write it as lambda r: r['tip.position'][-1], say")
                trace.dependent(y)
        except DerivativeError as error:
            raise InputError(f"of cannot be recorded: {error}") from error
        self.names, self.length = tuple(read.marked), len(t)
        self.widths = [max(len(offered.about(name)[0]), 1) for name in self.names]
        self.evaluator = Evaluator(trace.tape)
        self.x = np.zeros(0)

    def take(self, values: Array) -> None:
        """Set the values (S, w) of the channels, those of a sample side by side. Raises InputError for nan."""
        self.x = self.joined(values)
        if not np.all(np.isfinite(self.value)):
            raise InputError(
                f"of returned {shown(self.value.tolist())}, which is not finite; look for a division by zero or the "
                "root of a negative number"
            )
        if not np.all(np.isfinite(self.by_channels().data)):
            raise InputError(
                "of has no finite derivative at this run, as a root or a norm at zero; square it, or add a small "
                "number inside of the root"
            )

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
        ends = self.length * np.cumsum(self.widths)
        return np.hstack([part.reshape(self.length, -1) for part in np.split(flat, ends[:-1])])

    def joined(self, rows: Array) -> Array:
        """Return (S, w, ...) of some samples as (N, ...), channel after channel."""
        parts = np.split(rows, np.cumsum(self.widths)[:-1], axis=1)
        return np.concatenate([part.reshape(-1, *rows.shape[2:]) for part in parts])

    def places(self, samples: slice) -> NDArray[np.int64]:
        """Return the places of the numbers of some samples among all of them, channel after channel."""
        firsts = self.length * np.concatenate(([0], np.cumsum(self.widths)[:-1]))
        which = np.arange(samples.start, samples.stop)[:, None]
        return np.concatenate(
            [
                (first + which * width + np.arange(width)).ravel()
                for first, width in zip(firsts, self.widths, strict=True)
            ]
        )


def last_values(names: Any) -> Cost:
    """Return the function of the last values of channels."""
    wanted = [names] if isinstance(names, str) else list(names)

    def function(result: Mapping[str, Any]) -> Any:
        return np.concatenate([np.reshape(result[name][-1], (-1,)) for name in wanted])

    return function
