"""Force laws that the user writes in plain NumPy: what the function is given, and what it may return.

A law is ``law(t, kinematics, parameters)``. It sees time [s], the motion of what it is attached to, and its parameters
by name, and returns the force; nothing else may go in, for the law is recorded when the model is compiled.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, as_floats, name_of, switch


class Kinematics(NamedTuple):
    """Motion of marker b relative to marker a, in axes of marker a; of a body, relative to the world."""

    r: Array  # (3,) from a to b [m]
    R: Array  # (3, 3) axes of b to axes of a
    v: Array  # (3,) rate of r as a sees it [m/s]
    w: Array  # (3,) angular velocity of b relative to a [rad/s]


class JointKinematics(NamedTuple):
    """Joint coordinates and rates: numbers for ``joint=``, arrays (k,) for ``joints=``."""

    z: Array  # [rad, m]
    zd: Array  # [rad/s, m/s]
    names: tuple[str, ...]  # of the coordinates, ``crank.angle``


UserFunction = Callable[[Any, Any, Mapping[str, Any]], Any]


@dataclass(frozen=True, eq=False)
class Law:
    """The user's function with the default values of its parameters."""

    function: UserFunction  # (t, kinematics, parameters) -> wrench [f, n], scalar, or generalised forces
    parameters: Mapping[str, Array]  # in any shape; each is an input ``force.NAME``
    trace: bool = True  # False: call it in Python, by differences, without trying to record it


def make_law(
    what: str,
    function: Any,
    parameters: Mapping[str, Any] | None,
    trace: bool,
    form: str = "law(t, kinematics, parameters)",
) -> Law:
    """Return a checked law; ``what`` begins the sentence of an error, ``form`` is how the function is called."""
    try:
        inspect.signature(function).bind(0.0, None, {})
    except TypeError:
        raise ModelError(
            f"{what}: its {form.partition('(')[0]} must be called as {form}; "
            f"{shown(getattr(function, '__name__', function))} takes other arguments"
        ) from None
    except ValueError:
        pass  # a function that says nothing about itself
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ModelError(f"{what}: parameters is {shown(parameters)}; it must be a dictionary of names and numbers")
    values = {name: parameter(what, name, value) for name, value in (parameters or {}).items()}
    return Law(function, values, switch(trace, f"{what}: trace"))


def parameter(what: str, name: Any, value: Any) -> Array:
    """Return the default of one parameter, any number of finite floats."""
    name_of(f"{what}: parameter", name)
    try:
        array = as_floats(value)
    except ValueError:
        raise ModelError(
            f"{what}: parameter {name!r} is {shown(value)}; it must be a number or an array of them"
        ) from None
    if not np.all(np.isfinite(array)) or array.size == 0:
        raise ModelError(f"{what}: parameter {name!r} is {shown(value)}; it must hold finite numbers")
    array.flags.writeable = False
    return array
