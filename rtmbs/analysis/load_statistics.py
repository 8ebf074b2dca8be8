"""What a load does over a run: extremes, root mean square, and cycles by the rainflow count (ASTM E 1049)."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError

Array = NDArray[np.float64]


class Cycle(NamedTuple):
    """Cycles of one range."""

    range: float
    mean: float
    number: float  # 1, or 0.5 for a half cycle


@dataclass(frozen=True)
class LoadStatistics:
    """Numbers about one load over time.

    Attributes
    ----------
    values : (S,) the load
    t : (S,) [s]
    """

    values: Array
    t: Array

    @property
    def least(self) -> float:
        """Smallest value."""
        return float(self.values.min())

    @property
    def most(self) -> float:
        """Largest value."""
        return float(self.values.max())

    @property
    def largest(self) -> float:
        """Largest size."""
        return float(np.abs(self.values).max())

    @property
    def mean(self) -> float:
        """Mean over time."""
        return self.over_time(self.values)

    @property
    def rms(self) -> float:
        """Root of the mean square over time."""
        return float(np.sqrt(self.over_time(self.values**2)))

    def over_time(self, values: Array) -> float:
        """Return the mean of values over time by the trapezoidal rule."""
        if len(values) < 2:
            return float(values[0])
        return float(np.trapezoid(values, self.t) / (self.t[-1] - self.t[0]))

    @property
    def cycles(self) -> list[Cycle]:
        """Cycles by the rainflow count, half cycles among them. Needs the extra ``workload``; InputError without."""
        counter = needed()
        return [
            Cycle(float(span), float(mean), float(count))
            for span, mean, count, _, _ in counter.extract_cycles(self.values)
        ]

    def damage(self, exponent: float) -> float:
        """Return the sum of number times (range / 2) ^ exponent: Miner's damage but for a factor of the material.

        ``exponent`` is that of the fatigue curve, 3 for welds, 5 to 10 for bars. Raises InputError.
        """
        if not exponent > 0.0:
            raise InputError(f"exponent is {exponent:g}; that of a fatigue curve is above zero, such as 5")
        return float(sum(cycle.number * (0.5 * cycle.range) ** exponent for cycle in self.cycles))

    def __str__(self) -> str:
        return f"{self.least:.6g} to {self.most:.6g}, mean {self.mean:.6g}, rms {self.rms:.6g}"


def needed() -> Any:
    """Return the package that counts; InputError when it is not installed."""
    if find_spec("rainflow") is None:
        raise InputError("rainflow counts need the package rainflow; install it with pip install 'rtmbs[workload]'")
    import rainflow

    return rainflow
