"""Functions that say the same, as far as their code and what it holds can tell: those need not be called."""

from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any

import numpy as np

PLAIN = (type(None), bool, int, float, complex, str, bytes)
DEEPEST = 12  # functions, cells and profiles within each other


def alike(one: Any, other: Any, deep: int = DEEPEST) -> bool:
    """Return whether two functions, profiles or values are the same; False also where nobody can tell.

    A function that a model is built with anew is another object of the same code. What it closes over decides.
    """
    if one is other:
        return True
    if type(one) is not type(other) or not deep:
        return False
    if isinstance(one, PLAIN):
        return bool(one == other)
    if isinstance(one, np.ndarray):
        return one.dtype.kind in "biufc" and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(alike(a, b, deep - 1) for a, b in pairs)
    if isinstance(one, FunctionType):
        same = one.__code__ is other.__code__ and one.__globals__ is other.__globals__
        return same and all(alike(a, b, deep - 1) for a, b in zip(held(one), held(other), strict=True))
    if is_dataclass(one):
        return all(alike(getattr(one, field.name), getattr(other, field.name), deep - 1) for field in fields(one))
    return False


def held(function: FunctionType) -> tuple[Any, ...]:
    """Return the defaults of a function, and the cells that it closes over, each with a sign that it is filled."""
    cells = []
    for cell in function.__closure__ or ():
        try:
            cells.append((True, cell.cell_contents))
        except ValueError:  # not set yet
            cells.append((False, None))
    named = function.__kwdefaults__ or {}
    return function.__defaults__, tuple(named), tuple(named.values()), *cells
