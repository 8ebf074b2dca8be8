"""Force laws that the user writes in plain NumPy: arguments and return values of the function.

A law is ``law(t, kinematics, parameters)``. It sees time [s], the motion of what it is attached to, and its parameters
by name, and returns the force; nothing else may go in, for the law is recorded when the model is compiled.

A law with states is ``law(t, kinematics, parameters, states)``. It sees its states by name as well, and returns the
force and the rates of its states (METHODS 1.32).
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, as_floats, name_of, number, switch


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


UserFunction = Callable[..., Any]
OF_FORCES = ("force", "torque")  # channels that every law has: no state takes these names


class LawState(NamedTuple):
    """A state of a force law: a number with a rate of its own."""

    name: str
    first: float  # at the start
    unit: str = "1"
    settles: bool = False  # only its settled value counts: no step needs to resolve its time constant


@dataclass(frozen=True, eq=False)
class Law:
    """The user's function with the default values of its parameters."""

    # (t, kinematics, parameters) -> wrench [f, n], scalar, or generalised forces; with states a fourth argument, and
    # the rates of the states beside the force
    function: UserFunction
    parameters: Mapping[str, Array]  # in any shape; each is an input ``force.NAME``
    trace: bool = True  # False: call it in Python, by differences, without trying to record it
    states: tuple[LawState, ...] = ()  # in the order of their rates


def make_law(
    what: str,
    function: Any,
    parameters: Mapping[str, Any] | None,
    trace: bool,
    form: str = "law(t, kinematics, parameters)",
    states: Mapping[str, Any] | None = None,
    units: Mapping[str, Any] | None = None,
) -> Law:
    """Return a checked law; ``what`` begins the sentence of an error, ``form`` is how the function is called."""
    call = form.replace("parameters)", "parameters, states)") if states else form
    try:
        inspect.signature(function).bind(0.0, None, {}, *([{}] if states else []))
    except TypeError:
        raise ModelError(
            f"{what}: its {form.partition('(')[0]} must be called as {call}; "
            f"{shown(getattr(function, '__name__', function))} takes other arguments"
        ) from None
    except ValueError:
        pass  # a function that says nothing about itself
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ModelError(f"{what}: parameters is {shown(parameters)}; it must be a dictionary of names and numbers")
    values = {name: parameter(what, name, value) for name, value in (parameters or {}).items()}
    trace = switch(trace, f"{what}: trace")
    found = law_states(what, states, units, getattr(function, "settling_states", ()))
    if found and not trace:
        raise ModelError(f"{what}: its law has states, and must be recorded for that; leave trace=False out")
    if both := [state.name for state in found if state.name in values]:
        raise ModelError(f"{what}: {both[0]!r} is a state and a parameter; give one of them another name")
    return Law(function, values, trace, found)


def written(error: ModelError) -> ModelError | None:
    """Return a clearer error where a law failed because it writes its parameters; None where it failed otherwise."""
    cause, (what, raised, _) = error.__cause__, str(error).partition(" raised ")
    entry = isinstance(cause, TypeError) and "mappingproxy" in str(cause)
    number_of = isinstance(cause, ValueError) and "read-only" in str(cause)
    if not (raised and (entry or number_of)):
        return None
    return ModelError(
        f"{what} writes its parameters, or an array that it may only read; write the new number to a name of its own, "
        "or to a copy of the array. Only sim.inputs changes a parameter, and a law that remembers has states"
    )


def law_states(what: str, states: Any, units: Any, settling: Any = ()) -> tuple[LawState, ...]:
    """Return the checked states of a law in the order in which they were given."""
    for name, given in (("states", states), ("units", units)):
        if given is not None and not isinstance(given, Mapping):
            raise ModelError(f"{what}: {name} is {shown(given)}; it must be a dictionary by the names of states")
    states, units = states or {}, units or {}
    if unknown := [name for name in units if name not in states]:
        raise ModelError(f"{what}: units has {shown(unknown[0])}, which is no state of it; name one of its states")
    return tuple(
        law_state(what, name, first, units.get(name, "1"))._replace(settles=name in settling)
        for name, first in states.items()
    )


def law_state(what: str, name: Any, first: Any, unit: Any) -> LawState:
    """Return one checked state: its name, its first value, a finite number, and its unit."""
    name_of(f"{what}: state", name)
    if name in OF_FORCES:
        raise ModelError(f"{what}: a state is called {name!r}, as a channel of every law is; give it another name")
    if not isinstance(unit, str):
        raise ModelError(f"{what}: the unit of state {name!r} is {shown(unit)}; it must be a word such as 'A'")
    return LawState(name, number(first, f"{what}: state {name!r}"), unit)


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
