"""Impulses: changes of rates at one time through the mass matrix and the loops (METHODS 8.4).

    M (v1 - v0) = p + Phi_z^T Lambda,    Phi_z v1 = the rates that drivers ask for

Positions stay. The impulses Lambda of loops do no work on rates that the loops allow, so momenta that p leaves alone
stay.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.contact.switched import LOCKED
from rtmbs.errors import InputError, StartError, UnknownNameError, shown, unknown_name
from rtmbs.model.checks import numbers
from rtmbs.numerics.linear.least_change import KKTSolver
from rtmbs.numerics.linear.solver import Contradiction, Unsolved
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.locks import hold_pose, release
from rtmbs.simulation.set_coordinate import RATE, check_settable, settable
from rtmbs.state import State
from rtmbs.system.system import System

Array = NDArray[np.float64]


def apply_impulse(
    equations: SemiRecursiveEquations, state: State, target: Any, impulse: Any, point: Any, moment: Any
) -> None:
    """Write the rates of ``state`` behind an impulse on a body or a coordinate; see ``Simulation.apply_impulse``."""
    system = equations.system
    evaluate(equations, state)
    if isinstance(target, str) and target in system.bodies:
        what = f"impulse on body {target!r}"
        info = system.bodies[target]
        if info.dof < 0:
            raise InputError(f"{what}: it does not move; name another body")
        push = numbers((0.0, 0.0, 0.0) if impulse is None else impulse, f"{what}: impulse", (3,))
        turn = numbers((0.0, 0.0, 0.0) if moment is None else moment, f"{what}: moment", (3,))
        place = numbers(info.center_of_mass if point is None else point, f"{what}: point", (3,))
        at = equations.ws.r[info.dof] + equations.ws.A[info.dof] @ (info.position + info.rotation @ place)
        p = along_tree(equations, info.dof, np.concatenate((push, turn + np.cross(at, push))))
    else:
        dof, order = coordinate_or_body(system, target)
        if order == RATE:
            raise UnknownNameError(f"{target!r} is a rate; an impulse acts along its coordinate")
        if point is not None or moment is not None:
            raise InputError(f"impulse on {target!r}: point= and moment= belong to a body")
        p = np.zeros(equations.n)
        p[dof] = float(numbers(impulse, f"impulse on {target!r}", ()))
    state.zd[:] = rates_behind(equations, state.zd, p, np.zeros((0, equations.n)), np.zeros(0))


def set_rate(equations: SemiRecursiveEquations, state: State, name: str, value: Any) -> None:
    """Write the rates of ``state`` behind the impulse along one coordinate that gives its rate a value."""
    dof, order = check_settable(equations, name, value)
    if order != RATE:
        raise InputError(f"{name!r} is a position; an impulse changes rates only")
    evaluate(equations, state)
    row = np.zeros((1, equations.n))
    row[0, dof] = 1.0
    change = np.array([float(value) - state.zd[dof]])
    state.zd[:] = rates_behind(equations, state.zd, np.zeros(equations.n), row, change)


def lock_of(system: System, name: Any) -> str | None:
    """Return the lock that ``NAME.locked`` is the switch of; None for other names."""
    lock, _, word = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    return lock if word == LOCKED and lock in system.locks else None


def set_lock(equations: SemiRecursiveEquations, state: State, name: str, value: Any) -> None:
    """Open a lock in ``state``, or close it in the present pose with rates behind its impulse.

    Raises InputError for a value that is neither True nor False, StartError where loops do not allow these rates.
    """
    if not isinstance(value, bool | np.bool_ | int | float) or value not in (0, 1):
        raise InputError(f"{name}.{LOCKED} is set to {shown(value)}; it must be True or False")
    if not value:
        release(equations.system, state.u, [name])
        return
    evaluate(equations, state)
    hold_pose(equations, state.u, [name])
    evaluate(equations, state)
    state.zd[:] = rates_behind(equations, state.zd, np.zeros(equations.n), np.zeros((0, equations.n)), np.zeros(0))


def evaluate(equations: SemiRecursiveEquations, state: State) -> None:
    """Evaluate the equations at a state."""
    equations.u = state.u
    equations.evaluate(state.z, state.zd, state.zdd, state.R0)


def along_tree(equations: SemiRecursiveEquations, dof: int, wrench: Array) -> Array:
    """Return the generalised impulse (n,) of [f, n] (6,) at the origin of the part, on what ``dof`` moves."""
    p = np.zeros(equations.n)
    parent = equations.tables.dofs.parent
    while dof >= 0:
        p[dof] = equations.ws.S[dof] @ wrench
        dof = int(parent[dof])
    return p


def rates_behind(equations: SemiRecursiveEquations, zd: Array, p: Array, rows: Array, change: Array) -> Array:
    """Return the rates (n,) behind an impulse p (n,), with rates changed along ``rows`` (k, n) by ``change`` (k,).

    Raises StartError where loops or the mass matrix do not allow it.
    """
    P = np.concatenate((equations.closure_jacobian(), rows))
    gaps = np.concatenate((-equations.closure_velocities(zd), change))
    try:
        with np.errstate(all="ignore"):
            solver = KKTSolver()
            solver.factor(equations.mass_matrix(), P)
            dv, _ = solver.solve_parts(p, gaps, refined=True)
    except Contradiction:
        raise StartError("the loops do not allow this rate at the present pose; set a rate that they allow") from None
    except Unsolved as error:
        raise StartError(f"the impulse moves a coordinate without inertia: {error}") from None
    return np.asarray(zd + dv)


def coordinate_or_body(system: Any, target: Any) -> tuple[int, int]:
    """Return dof and order of a coordinate; UnknownNameError with bodies among the names offered."""
    if not isinstance(target, str):
        raise InputError(f"an impulse acts on a body or a coordinate by name, not on {shown(target)}")
    try:
        return settable(system, target)
    except UnknownNameError:
        names = [*system.bodies, *(name for info in system.joints.values() for name in info.coordinates)]
        raise unknown_name("body or coordinate", target, names) from None
