"""States between a session, whose model has a mouse spring, and the model as the user wrote it: carried over by
name; and which inputs of one build mean the same in another.
"""

from dataclasses import replace

import numpy as np

from rtmbs.errors import StateError
from rtmbs.state import State
from rtmbs.system.signals import evaluate_signals
from rtmbs.system.system import System


def carried(state: State, old: System, new: System) -> State:
    """Return a state of ``old`` as one of ``new``, which has the same coordinates and equations, but other inputs.

    Inputs that ``old`` does not have keep the values of the model. Raises StateError when the two do not fit.
    """
    if old.fingerprint == new.fingerprint:
        return state
    if state.fingerprint != old.fingerprint:
        raise StateError(f"this state belongs to another model than {old.name!r}")
    if (old.coordinate_names, old.row_names) != (new.coordinate_names, new.row_names):
        raise StateError(f"a state of {old.name!r} cannot be carried over: the coordinates are others")
    u = new.u0.copy()
    for name, place in new.inputs.items():
        if name in old.inputs:
            u[place] = state.u[old.inputs[name]]
    evaluate_signals(new, state.t, u)
    return replace(state.copy(), fingerprint=new.fingerprint, u=u)


def same_default(name: str, old: System, new: System) -> bool:
    """True when two builds of a mechanism have the same value of an input: what a user set then still holds."""
    known = name in old.inputs and name in new.inputs
    return not known or np.array_equal(old.u0[old.inputs[name]], new.u0[new.inputs[name]])
