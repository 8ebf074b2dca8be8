"""Systems of python-control: the nonlinear mechanism of a Simulation, with inputs, outputs and states by name."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.contact.convex import refuse_convex
from rtmbs.contact.gaps import refuse_rigid
from rtmbs.errors import InputError
from rtmbs.simulation.simulation import Simulation, store_of
from rtmbs.studies.analysis.linearisation import input_slots, package, undotted
from rtmbs.studies.analysis.resolve_simulation import simulation_of
from rtmbs.system.contact_set_tables import refuse_sets
from rtmbs.system.contact_tables import refuse_contacts
from rtmbs.system.tables import ROTATION

Array = NDArray[np.float64]


def control_system(sim: Any, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Any:
    """Return a nonlinear input-output system of python-control that evaluates a mechanism.

    Its states are all joint coordinates, their rates and the states of force laws. Their derivatives satisfy the
    equations of motion with all loops. A mechanism with loops starts at a closed state, such as ``sim.state``.

    Parameters
    ----------
    sim : Simulation, Equilibrium or State
        The mechanism, its inputs, and the time of functions of time; it stays as it is.
    inputs : sequence of str
        Names of ``sim.inputs`` that are inputs of the system.
    outputs : sequence of str
        Names of channels that are its outputs.

    Returns
    -------
    control.NonlinearIOSystem
        Continuous system with names of inputs, outputs and states, without dots: "push.force" is "push_force".

    Raises
    ------
    InputError
        Where python-control is not installed, and for ball and floating joints, whose coordinates do not move as their
        rates say, contacts, and functions of time.
    UnknownNameError
        For an unknown input or channel.

    Examples
    --------
    >>> cart = rtmbs.control_system(sim, inputs=["push.force"], outputs=["pivot.angle"])  # doctest: +SKIP
    >>> control.input_output_response(cart, t, force, np.concatenate((sim.state.z, sim.state.zd)))  # doctest: +SKIP
    """
    control, own = package("control"), copy(simulation_of("control_system", sim))
    system, start = own.system, own.state.copy()
    refuse_contacts(system, "control_system")
    refuse_rigid(system.rigid, "control_system")
    refuse_convex(system.forces, "control_system")
    refuse_sets(system, "control_system")
    if np.any(system.tables.dofs.kind == ROTATION):
        raise InputError("control_system takes no ball or floating joints: their coordinates are no vector of rates")
    if system.signals:
        raise InputError("control_system takes no functions of time; give the forces rtmbs.Input and make them inputs")
    slots, names = input_slots(own, inputs)
    read = [str(one) for one in outputs]
    own[read]  # raises UnknownNameError
    states = state_names(own)

    def at(x: Array, u: Array) -> Simulation:
        """Let the mechanism be at states x with inputs u, its accelerations with them."""
        state, n = start.copy(), system.n
        state.z[:], state.zd[:], state.s[:] = x[:n], x[n : 2 * n], x[2 * n :]
        state.u[slots] = u
        store_of(own).go_on_from(state, start.t)
        return own

    def derivatives(t: float, x: Array, u: Array, params: Any) -> Array:
        state = at(np.asarray(x, np.float64), np.asarray(u, np.float64)).state
        return np.concatenate((state.zd, state.zdd, state.sd))

    def observed(t: float, x: Array, u: Array, params: Any) -> Array:
        return numbers_of(at(np.asarray(x, np.float64), np.asarray(u, np.float64)), read)

    labels = labels_of(own, read)
    return control.nlsys(
        derivatives, observed if read else None, inputs=undotted(names), outputs=undotted(labels or states),
        states=undotted(states),
        name=system.name.replace(".", "_"),
    )  # fmt: skip


def numbers_of(sim: Simulation, channels: Sequence[str]) -> Array:
    """Return the numbers of channels, one after the other."""
    return np.concatenate([np.zeros(0), *(np.atleast_1d(sim[name]).reshape(-1) for name in channels)])


def labels_of(sim: Simulation, channels: Sequence[str]) -> list[str]:
    """Return a name for each number of some channels."""
    found: list[str] = []
    for name in channels:
        size = np.size(sim[name])
        found += [name] if size == 1 else [f"{name}[{k}]" for k in range(size)]
    return found


def state_names(sim: Simulation) -> list[str]:
    """Return the names of all coordinates, their rates, and the states of force laws."""
    names = sim.system.coordinate_names
    of_laws = [f"{one.force}.{one.name}" for one in sim.system.states]
    return [*names, *(f"{name}_rate" for name in names), *of_laws]
