"""Parameters of a sweep: values and distributions by name, held against what the function takes."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.checks import is_number
from rtmbs.sweeps.designs import Column, Values
from rtmbs.sweeps.distributions import Distribution, distribution_of

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
    """Return what kind of value this is."""
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
