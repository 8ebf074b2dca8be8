"""Coordinates and rates set by name, and bodies dragged to a target, all other coordinates made consistent."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.errors import InputError, StartError, StateError, shown, unknown_name
from rtmbs.integrators.checks import is_number
from rtmbs.model.joints import MOST_TURNS, in_degrees
from rtmbs.results.sample_kernels import COORDINATE
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.start.assembly import REFUSED, Assembly, turns, worst_of
from rtmbs.semirecursive.start.checks import check_closed, check_facing
from rtmbs.semirecursive.start.prepare import consistent_rates
from rtmbs.simulation.channel_reader import kernel_channels
from rtmbs.simulation.inputs import point_of
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


STEPS = 60  # Gauss-Newton steps of a drag
DRAG_PATIENCE = 12  # iterations that close the loops behind each
WAY = 0.3  # largest change of a coordinate in a step, in typical sizes: the loops are followed, not jumped over
HALVINGS = 8
STILL = 1e-9  # of the mechanism's length: a step that brings the point no nearer than this ends the drag
LOOSE = 1e-6  # weight of coordinates beside that of the point: what the point does not ask for stays
STIFF = 1e6  # weight of the loops beside that of the point, before they are closed


def drag_body(equations: SemiRecursiveEquations, state: State, body: str, point: Any, target: Any) -> float:
    """Write the dragged pose to ``state``, with the least rates; return the distance [m] that is left.

    Raises UnknownNameError, InputError for ground and for no points, StartError where the loops do not close.
    """
    system = equations.system
    if body not in system.bodies:
        raise unknown_name("body", body, system.bodies)
    if system.bodies[body].dof < 0:
        raise InputError(f"body {body!r} stands still; drag another one")
    local, wanted = point_of(point), point_of(target)
    equations.u = state.u
    scale = np.where(system.row_is_rotation, 1.0, system.length)
    drag = Drag(Assembly(equations, state.R0, scale, system.typical), body, local, wanted)
    state.z[:] = drag.solve(state.z.copy())
    if worst_of(drag.assembly.gap(state.z)) > REFUSED:
        raise StartError(f"body {body!r} cannot be dragged: the loops do not close at the present pose; step first")
    left = float(np.linalg.norm(drag.place() - wanted))
    rest_at(equations, state)
    return left


def rest_at(equations: SemiRecursiveEquations, state: State) -> None:
    """Give a State at a closed pose the least rates that its equations allow: zero, but for drivers."""
    system, none = equations.system, np.zeros(equations.n, np.bool_)
    equations.u = state.u
    scale = np.where(system.row_is_rotation, 1.0, system.length)
    assembly = Assembly(equations, state.R0, scale, system.typical)
    assembly.gap(state.z)
    state.zd[:] = consistent_rates(assembly, np.zeros(equations.n), none, system.weights)


class Drag:
    """A point of a body on its way to a target (3,), world axes [m]; ``local`` is in body axes."""

    def __init__(self, assembly: Assembly, body: str, local: Array, target: Array) -> None:
        self.assembly, self.equations, self.target = assembly, assembly.equations, target
        info, dofs = self.equations.system.bodies[body], self.equations.tables.dofs
        self.dof, self.local = info.dof, info.position + info.rotation @ local
        self.branch, i = list[int](), info.dof
        while i >= 0:
            self.branch.append(i)
            i = int(dofs.parent[i])

    def place(self) -> Array:
        """Return the point (3,) at the pose evaluated last, world axes [m]."""
        ws, ground = self.equations.ws, int(self.equations.tables.origins.row[self.dof])
        return np.asarray(ws.A[self.dof] @ self.local + ws.r[self.dof] - ws.r[ground])

    def slope(self, z: Array) -> Array:
        """Return the derivative (3, n) of the point by z at the pose evaluated last."""
        ws, J = self.equations.ws, np.zeros((3, self.equations.n))
        x = ws.A[self.dof] @ self.local + ws.r[self.dof]
        S = ws.S[self.branch]
        J[:, self.branch] = (S[:, :3] + np.cross(S[:, 3:], x)).T
        reference = self.equations.tables.dofs.reference
        return np.asarray(J @ turns(reference, z)) if np.any(reference >= 0) else J

    def step(self, z: Array) -> Array:
        """Return the change (n,) that leads the point to the target along the loops, to first order."""
        typical, length = self.assembly.typical, self.equations.system.length
        X = self.slope(z) * typical / length
        A = X.T @ X + LOOSE * np.eye(len(z))
        if self.equations.m:
            J = self.assembly.scaled_jacobian(z).toarray()
            A += STIFF * (J.T @ J)
        change = scipy.linalg.solve(A, X.T @ (self.target - self.place()) / length, assume_a="pos", check_finite=False)
        return np.asarray(typical * change * min(1.0, WAY / max(float(np.abs(change).max()), 1e-300)))

    def solve(self, z: Array) -> Array:
        """Return the dragged pose (n,); the present one where no step brings the point nearer."""
        self.assembly.gap(z)
        left, length = float(np.linalg.norm(self.place() - self.target)), self.equations.system.length
        for _ in range(STEPS):
            change = self.step(z)
            for _ in range(HALVINGS):
                found = self.closed(z + change)
                now = np.inf if found is None else float(np.linalg.norm(self.place() - self.target))
                if now < left:
                    break
                change = 0.5 * change
            if found is None or not now < left:
                break
            z, gained, left = found, left - now, now
            if gained <= STILL * length:
                break
        self.assembly.gap(z)
        return z

    def closed(self, z: Array) -> Array | None:
        """Return the pose next to ``z`` that closes the loops the right way round; None where there is none."""
        none = np.zeros(len(z), np.bool_)
        with self.assembly.patience(DRAG_PATIENCE):
            found = self.assembly.solve(z, none, self.equations.system.weights)
        if worst_of(self.assembly.gap(found)) > REFUSED:
            return None
        try:
            check_facing(self.equations)
        except StartError:
            return None
        return found
