"""Designs: which values of the parameters are run, in which order."""

import copy
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.integrators.checks import whole
from rtmbs.sweeps.distributions import Distribution

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
    """Every combination of the values; the last parameter changes fastest."""

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
    """``n`` runs drawn by a generator with ``seed``: the same numbers each time."""

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
    """``n`` runs such that each parameter has one value in each n-th part of its distribution.

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
    """``n`` runs with independent values; a list of values counts as a distribution in which all are as likely.

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

    Raises InputError for a sampler without ``runs``, and for ``runs`` beside another design.
    """
    stats = sys.modules.get("scipy.stats")  # whoever has a sampler has loaded it
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
