"""Parameters and designs of a sweep: values and distributions by name, and the values of each run."""

import copy
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.checks import is_number, positive, whole

Array = NDArray[np.float64]
INVERSES = ("ppf", "icdf")  # how distributions of scipy.stats call the quantile: frozen ones, those that are objects


@runtime_checkable
class Distribution(Protocol):
    """A distribution of a parameter."""

    def quantile(self, p: Array) -> NDArray[Any]:
        """Return the values below which the shares ``p`` (n,) of all values lie, 0 < p < 1."""


@dataclass(frozen=True)
class Uniform:
    """Uniform distribution: each value between ``low`` and ``high`` is as likely as the others.

    Parameters
    ----------
    low : float
        Lower end.
    high : float
        Upper end, above ``low``.

    Raises
    ------
    InputError
        For ends that are no numbers or do not ascend.

    Examples
    --------
    >>> rtmbs.Uniform(10.0, 500.0).quantile(np.array([0.5]))
    array([255.])
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        check_ends(self, self.low, self.high)

    def quantile(self, p: Array) -> Array:
        """Return the values below which the shares ``p`` of all values lie.

        Parameters
        ----------
        p : ndarray
            Shares (n,), 0 < p < 1.

        Returns
        -------
        ndarray
            Values (n,), in the unit of the parameter.
        """
        return self.low + (self.high - self.low) * p


@dataclass(frozen=True)
class LogUniform:
    """Log-uniform distribution: the logarithm is uniform between those of two positive ends.

    Parameters
    ----------
    low : float
        Lower end, above 0.
    high : float
        Upper end, above ``low``.

    Raises
    ------
    InputError
        For ends that are no numbers, are not positive or do not ascend.

    Examples
    --------
    >>> rtmbs.LogUniform(1.0, 1e4).quantile(np.array([0.5])).round(9)
    array([100.])
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        check_ends(self, self.low, self.high)
        if not self.low > 0.0:
            raise InputError(f"LogUniform begins at {shown(self.low)}; its ends must be positive")

    def quantile(self, p: Array) -> Array:
        """Return the values below which the shares ``p`` of all values lie.

        Parameters
        ----------
        p : ndarray
            Shares (n,), 0 < p < 1.

        Returns
        -------
        ndarray
            Values (n,), in the unit of the parameter.
        """
        values = self.low * np.exp(np.log(self.high / self.low) * p)
        return np.asarray(np.clip(values, self.low, self.high))


@dataclass(frozen=True)
class Normal:
    """Normal distribution of a mean and a standard deviation.

    Parameters
    ----------
    mean : float
        Mean value.
    deviation : float
        Standard deviation, above 0.

    Raises
    ------
    InputError
        For a mean that is no number, and a deviation that is not positive.

    Examples
    --------
    >>> rtmbs.Normal(1.0, 0.05).quantile(np.array([0.5]))
    array([1.])
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        if not is_number(self.mean):
            raise InputError(f"Normal has the mean {shown(self.mean)}; it must be a number")
        positive(deviation=self.deviation)

    def quantile(self, p: Array) -> Array:
        """Return the values below which the shares ``p`` of all values lie.

        Parameters
        ----------
        p : ndarray
            Shares (n,), 0 < p < 1.

        Returns
        -------
        ndarray
            Values (n,), in the unit of the parameter.
        """
        from scipy.special import ndtri

        return np.asarray(self.mean + self.deviation * ndtri(p))


class FrozenDistribution:
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
    """Return a parameter as a distribution; None for values.

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
    return FrozenDistribution(given, inverse) if inverse else None


def check_ends(owner: Any, low: Any, high: Any) -> None:
    """Refuse ends that are no numbers or stand the wrong way round."""
    if not (is_number(low) and is_number(high) and low < high):
        raise InputError(
            f"{type(owner).__name__} goes from {shown(low)} to {shown(high)}; it must go from a number to a larger one"
        )


MOST_RUNS = 100_000_000
MOST_SEED = 2**63 - 1

INSIDE = (np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)  # of shares: a quantile of 0 or 1 may be infinite
Column = NDArray[Any]  # (runs,) of numbers, words or switches
Values = Mapping[str, Column | Distribution]


class Design(Protocol):
    """Chooses the runs of a sweep."""

    def columns(self, values: Values) -> dict[str, Column]:
        """Return the value of each parameter in each run (runs,)."""


@dataclass(frozen=True)
class Grid:
    """Full factorial design: every combination of the values; the last parameter changes fastest."""

    def columns(self, values: Values) -> dict[str, Column]:
        """Return the columns of parameters of all runs.

        Parameters
        ----------
        values : Values
            Values by parameter.

        Returns
        -------
        dict[str, Column]
            Columns of the table by parameter.

        Raises
        ------
        InputError
            For arguments out of range.
        """
        listed: dict[str, Column] = {}
        for name, each in values.items():
            if isinstance(each, Distribution):
                raise InputError(
                    f"parameter {name!r} is {shown(each)}, and a grid needs a list of values; "
                    "give the list, or design=rtmbs.LatinHypercube(100)"
                )
            listed[name] = each
        sizes = [len(each) for each in listed.values()]
        check_runs(prod(sizes))
        places = np.unravel_index(np.arange(prod(sizes)), sizes)
        return {name: each[place] for (name, each), place in zip(listed.items(), places, strict=True)}


@dataclass(frozen=True)
class Random:
    """Design of ``n`` runs drawn by a generator with ``seed``: the same numbers each time."""

    n: int
    seed: int = 0

    def __post_init__(self) -> None:
        whole("n", self.n, 1, MOST_RUNS)
        whole("seed", self.seed, 0, MOST_SEED)

    def columns(self, values: Values) -> dict[str, Column]:
        """Return the columns of parameters of all runs.

        Parameters
        ----------
        values : Values
            Values by parameter.

        Returns
        -------
        dict[str, Column]
            Columns of the table by parameter.
        """
        shares = np.clip(self.shares(len(values)), *INSIDE)
        return {name: taken(each, shares[:, k]) for k, (name, each) in enumerate(values.items())}

    def shares(self, parameters: int) -> NDArray[np.float64]:
        """Return numbers between 0 and 1 (n, parameters)."""
        raise NotImplementedError


@dataclass(frozen=True)
class LatinHypercube(Random):
    """Latin hypercube design of ``n`` runs: each parameter has one value in each n-th part of its distribution.

    A list of values counts as a distribution in which all are as likely.

    Parameters
    ----------
    n : int
        Number of runs.
    seed : int, default 0
        Seed of the random numbers.
    """

    def shares(self, parameters: int) -> NDArray[np.float64]:
        """Return numbers between 0 and 1 (n, parameters).

        Parameters
        ----------
        parameters : int
            Number of parameters.

        Returns
        -------
        ndarray
            Numbers between 0 and 1 (n, parameters).
        """
        from scipy.stats import qmc

        return np.asarray(qmc.LatinHypercube(parameters, seed=np.random.default_rng(self.seed)).random(self.n))


@dataclass(frozen=True)
class MonteCarlo(Random):
    """Monte Carlo design of ``n`` runs with independent values; the values of a list are equally likely.

    Parameters
    ----------
    n : int
        Number of runs.
    seed : int, default 0
        Seed of the random numbers.
    """

    def shares(self, parameters: int) -> NDArray[np.float64]:
        return np.random.default_rng(self.seed).random((self.n, parameters))


@dataclass(frozen=True)
class Sampled(Random):
    """``n`` runs at the points of a sampler of ``scipy.stats.qmc``, which stays as it is: the same points each time."""

    sampler: Any = None

    def shares(self, parameters: int) -> NDArray[np.float64]:
        if self.sampler.d != parameters:
            raise InputError(
                f"the sampler {type(self.sampler).__name__} has d = {self.sampler.d}, and there are {parameters} "
                f"parameters; it must be made with d={parameters}"
            )
        return np.asarray(copy.deepcopy(self.sampler).random(self.n), np.float64)


def design_of(design: Any, runs: Any) -> Any:
    """Return a design, which is a grid unless given; that of a sampler of ``scipy.stats.qmc`` takes ``runs``.

    Raises InputError for a sampler without ``runs``, for one that draws values in place of points of the unit cube, and
    for ``runs`` beside another design.
    """
    stats = sys.modules.get("scipy.stats")  # the module of a sampler is loaded
    if stats is not None and isinstance(design, stats.qmc.MultivariateNormalQMC | stats.qmc.MultinomialQMC):
        raise InputError(
            f"{type(design).__name__} draws values, and a sweep needs points between 0 and 1; it must be a sampler "
            "such as scipy.stats.qmc.Sobol(2), with a distribution for each parameter such as rtmbs.Normal(1.0, 0.1)"
        )
    if stats is not None and isinstance(design, stats.qmc.QMCEngine):
        if runs is None:
            raise InputError(f"runs is missing; a sampler such as {type(design).__name__} needs the number of runs")
        return Sampled(runs, sampler=design)
    if runs is not None:
        raise InputError(
            "runs counts the points of a sampler of scipy.stats.qmc; rtmbs.LatinHypercube(100) has its own"
        )
    return Grid() if design is None else design


def taken(each: Column | Distribution, shares: NDArray[np.float64]) -> Column:
    """Return the values of one parameter at these shares (runs,)."""
    if isinstance(each, Distribution):
        return each.quantile(shares)
    return each[np.minimum((shares * len(each)).astype(np.int64), len(each) - 1)]


def check_runs(count: int) -> None:
    """Refuse more runs than anybody waits for."""
    if count > MOST_RUNS:
        raise InputError(f"the grid has {count:.3g} runs; at most {MOST_RUNS:.0e} are possible")


RUN, ERROR = "run", "error"  # columns that every table has
PLAIN = (bool, np.bool_, str)
BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def read_parameters(parameters: Any) -> Values:
    """Return columns of values and distributions by name; a single value becomes a column of one.

    Raises InputError naming the parameter that is neither.
    """
    if not isinstance(parameters, Mapping) or not parameters:
        raise InputError(f"parameters is {shown(parameters)}; it must map names to values: {{'mass': [1.0, 2.0]}}")
    return {checked_name(name): read_values(name, given) for name, given in parameters.items()}


def checked_name(name: Any) -> str:
    """Refuse a name that no argument of a function can have, or that a column of every table has."""
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"a parameter is named {shown(name)}; its name must be that of an argument of the function")
    if name in (RUN, ERROR):
        raise InputError(f"a parameter is named {name!r}, which is a column of every table; take another name")
    return name


def read_values(name: str, given: Any) -> Column | Distribution:
    """Return one distribution, or an array of numbers, whole numbers, words or switches."""
    if (distribution := distribution_of(name, given)) is not None:
        return distribution
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = [given]
    values = list(given)
    if not values:
        raise InputError(f"parameter {name!r} has no value; give one at least")
    for value in values:
        if not (isinstance(value, PLAIN) or is_number(value)):
            raise InputError(
                f"parameter {name!r} has the value {shown(value)}; it must be a finite number, a word or a switch"
            )
    kinds = {kind_of(value) for value in values}
    if len(kinds) > 1:
        raise InputError(f"parameter {name!r} mixes {' and '.join(sorted(kinds))}; its values must be of one kind")
    if "words" in kinds:
        return np.array(values, dtype=object)
    found = np.array(values)
    return found.astype(np.float64) if found.dtype.kind not in "biuf" else found  # integers beyond 64 bits


def kind_of(value: Any) -> str:
    """Return the kind of a value."""
    return "words" if isinstance(value, str) else "switches" if isinstance(value, bool | np.bool_) else "numbers"


def check_arguments(make: Callable[..., Any], names: Iterable[str]) -> None:
    """Refuse a parameter that ``make`` does not take (UnknownNameError), and one that it misses (InputError)."""
    try:
        arguments = inspect.signature(make).parameters
    except (TypeError, ValueError):  # a function of C does not tell
        return
    owner, given = getattr(make, "__name__", type(make).__name__), set(names)
    known = [name for name, one in arguments.items() if one.kind in BY_NAME]
    if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in arguments.values()):
        for name in sorted(given - set(known)):
            raise unknown_name(f"parameter of {owner}", name, known)
    for name in known:
        if name not in given and arguments[name].default is inspect.Parameter.empty:
            raise InputError(f"{owner} needs the parameter {name!r}; give it a value")
