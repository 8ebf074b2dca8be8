"""Set a coordinate or a rate by name, all others made consistent; names of coordinates that cannot be given."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, StartError, StateError, shown, unknown_name
from rtmbs.integrators.checks import is_number
from rtmbs.model.joints import MOST_TURNS, in_degrees
from rtmbs.results.sample_kernels import COORDINATE
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.start.assembly import Assembly
from rtmbs.semirecursive.start.checks import check_closed, check_facing
from rtmbs.semirecursive.start.consistency import consistent_rates
from rtmbs.semirecursive.start.nearest import REFUSED, worst_of
from rtmbs.simulation.channel_reader import kernel_channels
from rtmbs.state import State
from rtmbs.system.system import System
from rtmbs.system.tables import REVOLUTE

Array = NDArray[np.float64]
STAGES = 16  # poses on the way from the present value to one that is not reached at once
PATIENCE = 15  # iterations for each: a pose nearby takes fewer
RATE = 1  # order of a channel that is a rate
OFFERED = 6  # names shown in place of one of a cut joint


def set_motion(equations: SemiRecursiveEquations, state: State, name: str, value: Any) -> None:
    """Write positions and rates to ``state`` in which the coordinate or rate ``name`` has ``value``.

    The others are those nearest to their present values that close the loops, for a rate positions stay.
    Raises UnknownNameError, InputError for what cannot be set, StartError where the loops do not close.
    """
    dof, order = check_settable(equations, name, value)
    system = equations.system
    equations.u = state.u
    scale = np.where(system.row_is_rotation, 1.0, system.length)
    assembly = Assembly(equations, state.R0, scale, system.typical)
    pinned = np.zeros(equations.n, np.bool_)
    pinned[dof] = True
    if order != RATE and system.tables.dofs.kind[dof] == REVOLUTE:
        check_near(name, float(value), float(state.z[dof]))
    if order == RATE:
        wanted = np.where(pinned, value, state.zd)
        equations.close(state.z, state.R0)
        state.zd[:] = consistent_rates(assembly, wanted, pinned, system.weights)
        return
    state.z[:] = moved(assembly, state.z, dof, float(value), name)
    check_facing(equations)
    state.zd[:] = consistent_rates(assembly, state.zd, np.zeros(equations.n, np.bool_), system.weights)


def close_motion(
    equations: SemiRecursiveEquations, state: State, z: Array, zd: Array, pinned: NDArray[np.bool_]
) -> None:
    """Let positions and rates (n,) be the nearest ones that close the loops, in place.

    ``state`` has the inputs and rotations, ``pinned`` (2, n) tells which positions and which rates stay. Raises
    StartError where the loops do not close.
    """
    system = equations.system
    equations.u = state.u
    scale = np.where(system.row_is_rotation, 1.0, system.length)
    assembly = Assembly(equations, state.R0, scale, system.typical)
    if np.any(pinned[0]):
        with assembly.patience(PATIENCE):
            z[:] = assembly.solve(z, pinned[0], system.weights)
        if worst_of(gap := assembly.gap(z)) > REFUSED:
            row = system.row_names[int(np.argmax(np.abs(gap)))]
            raise StartError(f"the coordinates cannot have these values: loop {row!r} does not close; set nearer ones")
        check_facing(equations)
    equations.close(z, state.R0)
    zd[:] = consistent_rates(assembly, zd, pinned[1], system.weights)


def check_settable(equations: SemiRecursiveEquations, name: str, value: Any) -> tuple[int, int]:
    """Return the dof and the order of a coordinate or rate that may be set to a value; InputError for others."""
    dof, order = settable(equations.system, name)
    if not is_number(value):
        raise InputError(f"{name!r} is set to {shown(value)}; it must be a finite number")
    system = equations.system
    driven = system.tables.drivers.dof
    if dof in driven:
        driver = system.row_names[len(system.tables.closures.kind) + int(np.flatnonzero(driven == dof)[0])]
        raise InputError(f"{name!r} follows driver {driver!r} and cannot be set; change the profile of the driver")
    return dof, order


def check_near(name: str, value: float, present: float) -> None:
    """Refuse an angle many turns away, which is one in degrees: InputError."""
    if abs(value - present) > MOST_TURNS * 2.0 * np.pi:
        raise InputError(
            f"{name!r} is set too far away: {in_degrees('the angle', value)}; set it within {MOST_TURNS} turns of its "
            f"present value, {present:.4g} rad"
        )


def check_written_positions(equations: SemiRecursiveEquations, state: State, before: object) -> None:
    """Take back positions written into a State that open a loop by more than a step leaves: StateError.

    ``before`` are the bytes of the positions before.
    """
    try:
        check_closed(equations, state, "sim.state")
    except StateError as error:
        if isinstance(before, bytes) and len(before) == state.z.nbytes:
            state.z[:] = np.frombuffer(before)
        raise StateError(
            f"positions were written into sim.state, and {str(error).partition(': ')[2].partition(';')[0]}; the "
            "positions before are back. Write sim.set(name, value), which moves the other coordinates as well"
        ) from None


def moved(assembly: Assembly, z: Array, dof: int, value: float, name: str) -> Array:
    """Return the pose (n,) nearest to ``z`` in which one coordinate has a value, led there in stages when it is far."""
    pinned, weights = np.zeros(len(z), np.bool_), assembly.equations.system.weights
    pinned[dof] = True
    with assembly.patience(PATIENCE):
        found = assembly.solve(np.where(pinned, value, z), pinned, weights)
    if worst_of(assembly.gap(found)) <= REFUSED:
        return found
    found, begun = z, z[dof]
    for share in np.linspace(0.0, 1.0, STAGES + 1)[1:]:
        with assembly.patience(PATIENCE):
            found = assembly.solve(np.where(pinned, begun + share * (value - begun), found), pinned, weights)
        gap = np.abs(assembly.gap(found))
        if np.max(gap, initial=0.0) > REFUSED:
            row = assembly.equations.system.row_names[int(np.argmax(gap))]
            raise StartError(
                f"{name!r} cannot be {value:g}: loop {row!r} does not close beyond {begun + share * (value - begun):g};"
                " set a value that the loops allow"
            )
    return found


def settable(system: System, name: Any) -> tuple[int, int]:
    """Return the dof and the order, 0 for a coordinate and 1 for a rate, that a name means."""
    known = {key: one for key, one in kernel_channels(system) if one.kind == COORDINATE and one.order <= RATE}
    if isinstance(name, str) and name in known:
        return known[name].dof, known[name].order
    remedy = "give its place by model.set_initial, or change a copy of sim.state and hand that to sim.restore"
    raise no_coordinate(system, name, known, "cannot be set", remedy)


def no_coordinate(
    system: System, name: object, known: Iterable[str], what: str = "cannot be given", remedy: str = ""
) -> Exception:
    """Return the error for a name that ``known`` coordinates do not have.

    InputError where its joint is cut, or turns freely; ``remedy`` says what to do in the latter case.
    """
    if ball := turning_joint(system, name):
        return InputError(f"{name!r} {what}: joint {ball!r} turns freely, and no single number says how; {remedy}")
    joint = cut_joint(system, name)
    if not joint:
        return unknown_name("coordinate", name, known)
    return InputError(
        f"{name!r} {what}: joint {joint!r} is cut, so its coordinates follow from others; take one of "
        f"{', '.join(map(repr, list(known)[:OFFERED]))}, or cut the loop in another joint by add_joint(..., cut=True)"
    )


def turning_joint(system: System, name: object) -> str:
    """Return the name of the ball or floating joint that ``name`` is about; empty where there is none."""
    for joint in (name, name.rpartition(".")[0]) if isinstance(name, str) else ():
        info = system.joints.get(joint)
        if info is not None and info.in_tree and info.kind.turns_freely:
            return joint
    return ""


def cut_joint(system: System, name: object) -> str:
    """Return the name of the cut joint that ``name`` is a coordinate of; empty where there is none."""
    if not isinstance(name, str):
        return ""
    for joint in (name, name.rpartition(".")[0]):
        info = system.joints.get(joint)
        if info is not None and not info.in_tree and info.coordinates:
            return joint
    return ""
