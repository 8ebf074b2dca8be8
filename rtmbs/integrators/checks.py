"""Checks of options: numbers, whole numbers, switches and words."""

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from rtmbs.core.bounds import LONGEST, SHORTEST
from rtmbs.errors import InputError, shown, unknown_name


def is_number(value: Any) -> bool:
    """True for a finite real number; a switch is none, and an integer beyond all floats is not finite."""
    try:
        return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
    except OverflowError:
        return False


def positive(**values: Any) -> None:
    """Raise InputError for the first value that is not a finite positive number."""
    for name, value in values.items():
        if not (is_number(value) and value > 0):
            raise InputError(f"{name} is {shown(value)}; it must be a positive number")


def positive_floats(options: Any, *names: str) -> None:
    """Make these fields of frozen options floats, for kernels take no fractions.

    Raises InputError for the first that is not a finite positive number.
    """
    for name in names:
        value = getattr(options, name)
        positive(**{name: value})
        object.__setattr__(options, name, float(value))


def whole(name: str, value: Any, least: int, most: int) -> None:
    """Raise InputError for a value that is not a whole number in these bounds."""
    if isinstance(value, bool) or not (isinstance(value, Integral) and least <= int(value) <= most):
        raise InputError(f"{name} is {shown(value)}; it must be a whole number from {least} to {most}")


def step_size(h: float) -> None:
    """Raise InputError for a step whose square no number holds."""
    positive(h=h)
    if not SHORTEST <= h <= LONGEST:
        raise InputError(f"h is {shown(h)} s; it must lie between {SHORTEST:g} and {LONGEST:g} s")


def switches(**values: Any) -> None:
    """Raise InputError for the first value that is neither True nor False: "off" would switch on."""
    for name, value in values.items():
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"{name} is {shown(value)}; it must be True or False")


def one_of(option: str, value: str, valid: Iterable[str]) -> None:
    """Raise an error that lists the valid words of an option."""
    if not (isinstance(value, str) and value in valid):
        raise unknown_name(option, value, valid)
