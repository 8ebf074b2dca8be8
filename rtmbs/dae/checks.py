"""Checks of options that several methods share."""

from typing import Any

import numpy as np

from rtmbs.errors import InputError, shown
from rtmbs.integrators.tableaux import Tableau

FINEST = 1e-14  # of a relative tolerance: below, rounding alone is larger


def demand_tableau(value: Any) -> None:
    """Raise InputError unless the value is a Tableau."""
    if not isinstance(value, Tableau):
        raise InputError(f"tableau is {shown(value)}; a Tableau is wanted, such as GILL or RK4 of rtmbs.dae")


def demand_formulation(value: Any) -> None:
    """Raise InputError unless the value answers for accelerations."""
    if isinstance(value, type) or not callable(getattr(value, "accelerations", None)):
        raise InputError(f"formulation is {shown(value)}; a formulation is wanted, such as Partitioning()")


def demand_whole(name: str, value: Any, low: int, high: int) -> None:
    """Raise InputError unless the value is a whole number from low to high."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(f"{name} is {shown(value)}; a whole number from {low} to {high} is wanted")


def demand_between(name: str, value: Any, low: float, high: float) -> None:
    """Raise InputError unless the value is a number from low to high."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not low <= float(value) <= high:
        raise InputError(f"{name} is {shown(value)}; a number from {low:g} to {high:g} is wanted")


def demand_tolerances(rtol: Any, atol: Any) -> None:
    """Raise InputError for tolerances that are not above zero, or that rounding cannot keep."""
    for name, value in (("rtol", rtol), ("atol", atol)):
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not 0.0 < float(value) < np.inf:
            raise InputError(f"{name} is {shown(value)}; a finite number above 0 is wanted")
    if rtol < FINEST:
        raise InputError(f"rtol is {rtol:g}, below rounding; {FINEST:g} or more is wanted")
