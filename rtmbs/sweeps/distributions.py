"""Distributions of a parameter: each maps a probability to a value."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.integrators.checks import is_number, positive

Array = NDArray[np.float64]
INVERSES = ("ppf", "icdf")  # how distributions of scipy.stats call the quantile: frozen ones, those that are objects


@runtime_checkable
class Distribution(Protocol):
    """What a design draws the values of a parameter from."""

    def quantile(self, p: Array) -> NDArray[Any]:
        """Return the values below which the shares ``p`` (n,) of all values lie, 0 < p < 1."""


@dataclass(frozen=True)
class Uniform:
    """Each value between ``low`` and ``high`` is as likely as the others: ``rtmbs.Uniform(10.0, 500.0)``."""

    low: float
    high: float

    def __post_init__(self) -> None:
        check_ends(self, self.low, self.high)

    def quantile(self, p: Array) -> Array:
        return self.low + (self.high - self.low) * p


@dataclass(frozen=True)
class LogUniform:
    """The logarithm is uniform between those of two positive ends: ``rtmbs.LogUniform(1.0, 1e4)``."""

    low: float
    high: float

    def __post_init__(self) -> None:
        check_ends(self, self.low, self.high)
        if not self.low > 0.0:
            raise InputError(f"LogUniform begins at {shown(self.low)}; its ends must be positive")

    def quantile(self, p: Array) -> Array:
        values = self.low * np.exp(np.log(self.high / self.low) * p)
        return np.asarray(np.clip(values, self.low, self.high))


@dataclass(frozen=True)
class Normal:
    """The normal distribution of this mean and standard deviation: ``rtmbs.Normal(1.0, 0.05)``."""

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        if not is_number(self.mean):
            raise InputError(f"Normal has the mean {shown(self.mean)}; it must be a number")
        positive(deviation=self.deviation)

    def quantile(self, p: Array) -> Array:
        from scipy.special import ndtri

        return np.asarray(self.mean + self.deviation * ndtri(p))


class Frozen:
    """A frozen distribution of scipy.stats: ``scipy.stats.weibull_min(1.5, scale=10.0)``.

    Values of a discrete distribution are whole numbers.
    """

    def __init__(self, distribution: Any, inverse: str) -> None:
        self.distribution, self.inverse = distribution, inverse
        self.discrete = hasattr(distribution, "pmf") and not hasattr(distribution, "pdf")

    def quantile(self, p: Array) -> NDArray[Any]:
        """Return the values (n,); InputError for a distribution whose values are not finite numbers."""
        with np.errstate(all="ignore"):
            values = np.asarray(getattr(self.distribution, self.inverse)(p), np.float64)
        if values.shape != np.shape(p) or not np.all(np.isfinite(values)):
            raise InputError(f"{self!r} has values that are not one finite number each; look at its arguments")
        return values.astype(np.int64) if self.discrete else values

    def __repr__(self) -> str:
        made = getattr(self.distribution, "dist", None)
        if made is None:
            return shown(self.distribution)
        given = [*map(repr, self.distribution.args), *(f"{k}={v!r}" for k, v in self.distribution.kwds.items())]
        return f"scipy.stats.{made.name}({', '.join(given)})"


def distribution_of(name: str, given: Any) -> Distribution | None:
    """Return what a parameter was given as a distribution; None for values.

    Raises InputError for a class in place of its object, and for a distribution of scipy.stats without its numbers.
    """
    if isinstance(given, type) or (hasattr(given, "ppf") and hasattr(given, "freeze")):
        if isinstance(given, type) and not any(hasattr(given, one) for one in ("quantile", "ppf", "icdf")):
            return None
        called = getattr(given, "__name__", None) or getattr(given, "name", "")
        raise InputError(
            f"parameter {name!r} is {called} without its numbers; it must be called with them: {called}(...)"
        )
    if isinstance(given, Distribution):
        return given
    inverse = next((one for one in INVERSES if callable(getattr(given, one, None))), "")
    return Frozen(given, inverse) if inverse else None


def check_ends(owner: Any, low: Any, high: Any) -> None:
    """Refuse ends that are no numbers or stand the wrong way round."""
    if not (is_number(low) and is_number(high) and low < high):
        raise InputError(
            f"{type(owner).__name__} goes from {shown(low)} to {shown(high)}; it must go from a number to a larger one"
        )
