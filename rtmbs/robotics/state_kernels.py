"""Calls of the compiled loops over states: scratch and machine code of one robot, results in arrays of their own."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.jit.compiled import entry_for
from rtmbs.robotics.coordinates import TURNING, Coordinates, not_finite, of_state
from rtmbs.robotics.kernels import FramePoint, frame_motions, momentum_matrices
from rtmbs.robotics.link_kernels import LinkMotion, Links, joint_forces, mass_matrices
from rtmbs.robotics.loop_kernels import loop_equations
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.law_kernels import call_laws
from rtmbs.system.tables import PRISMATIC

Array = NDArray[np.float64]


class StateKernels:
    """Kernels of one robot; each call overwrites its scratch."""

    def __init__(self, coordinates: Coordinates, equations: SemiRecursiveEquations, R0: Array) -> None:
        self.coordinates, self.system = coordinates, equations.system
        self.map = coordinates.state_map()
        self.tables, self.ws, self.R0, self.u = equations.tables, equations.ws, R0, equations.u
        self.moves = (self.tables, R0, self.ws, self.map)
        links = links_of(coordinates)
        arm, spin, twist, slope, force, moment = (np.zeros((len(links.dof), 3)) for _ in range(6))
        motion = LinkMotion(
            arm, spin, twist, slope, force, moment, np.zeros_like(links.axis), np.zeros((len(links.dof), 10))
        )
        self.links = (links, motion)
        forced = int(acts(self.tables))
        self.forces_of = (self.tables, R0, equations.u, self.ws, self.map, *self.links, forced)
        self.entries: dict[Callable[..., Any], Any] = {}

    def call(self, kernel: Callable[..., Any], *arguments: Any) -> int:
        """Call the machine code of a kernel, and return the number of faults in its states."""
        entry = self.entries.get(kernel)
        if entry is None:
            entry = self.entries[kernel] = entry_for(kernel, arguments)
        return int(entry(*arguments))

    def refusal(self, **states: Array) -> InputError:
        """Return the error of numbers that are not finite in arrays (k, count) by their names, or of a quaternion."""
        for what, found in states.items():
            if fault := not_finite(found, what):
                return InputError(fault)
        for start, *_ in self.coordinates.turning:
            for s in np.flatnonzero(~np.any(states["q"][:, start : start + 4], axis=1)).tolist():
                return InputError(f"q{of_state(states['q'], s)} has a zero quaternion; no rotation is (1, 0, 0, 0)")
        return InputError(f"the answer is too large for a number; give smaller numbers in {', '.join(states)}")

    def joint_forces(self, q: Array, v: Array, a: Array) -> Array:
        """Return M a + bias forces (k, nv) of poses (k, nq)."""
        tau = np.empty(v.shape)
        if not self.system.called:
            if self.call(joint_forces, *self.forces_of, q, v, a, tau):
                raise self.refusal(q=q, v=v, a=a)
            return tau
        if any(not_finite(one, "") for one in (q, v, a)):
            raise self.refusal(q=q, v=v, a=a)
        for s in range(len(q)):  # laws that Python calls are asked at each state
            self.coordinates.write(q[s], self.ws.z, self.R0)
            self.ws.zd[:] = self.coordinates.T @ v[s]
            call_laws(self.system, self.tables, self.R0, self.u, self.ws)
            here = slice(s, s + 1)
            if self.call(joint_forces, *self.forces_of, q[here], v[here], a[here], tau[here]):
                raise self.refusal(q=q, v=v, a=a)
        return tau

    def mass_matrices(self, q: Array) -> Array:
        """Return M (k, nv, nv) of poses (k, nq)."""
        M = np.empty((len(q), self.coordinates.nv, self.coordinates.nv))
        if self.call(mass_matrices, *self.moves, *self.links, q, M):
            raise self.refusal(q=q)
        return M

    def frame_motions(self, frame: FramePoint, q: Array, v: Array | None) -> tuple[Array, Array, Array, Array]:
        """Return positions (k, 3), rotations (k, 3, 3), J and with rates ``v`` dJ/dt (k, 6, nv), world axes."""
        k, nv = len(q), self.coordinates.nv
        position, rotation, J = np.empty((k, 3)), np.empty((k, 3, 3)), np.empty((k, 6, nv))
        dJ = np.empty((0 if v is None else k, 6, nv))
        if self.call(frame_motions, *self.moves, frame, q, q if v is None else v, position, rotation, J, dJ):
            raise self.refusal(q=q, v=q[:, :0] if v is None else v)
        return position, rotation, J, dJ

    def momentum_matrices(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Return mass centre, its velocity and mass (k, 7), A_G and its time derivative (k, 6, nv)."""
        k, nv = len(q), self.coordinates.nv
        center, A, dA = np.empty((k, 7)), np.empty((k, 6, nv)), np.empty((k, 6, nv))
        if self.call(momentum_matrices, *self.moves, q, v, center, A, dA):
            raise self.refusal(q=q, v=v)
        return center, A, dA

    def loop_equations(self, rows: NDArray[np.int64], q: Array) -> tuple[Array, Array]:
        """Return Phi (k, r) and Phi_q (k, r, nv) of chosen rows at poses (k, nq)."""
        none = np.empty((0, len(rows)))
        Phi, J, *_ = self.loops(rows, q, np.zeros((len(q), self.coordinates.nv)), none, none)
        return Phi, J

    def loop_motions(self, rows: NDArray[np.int64], q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
        """Return Phi (k, r), Phi_q (k, r, nv), Phid (k, r) and the drift of Phidd (k, r) of chosen rows."""
        shape = len(q), len(rows)
        return self.loops(rows, q, v, np.empty(shape), np.empty(shape))

    def loops(
        self, rows: NDArray[np.int64], q: Array, v: Array, Phid: Array, drift: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return Phi, Phi_q, and what was written into Phid and drift, unless they are empty."""
        Phi, J = np.empty((len(q), len(rows))), np.empty((len(q), len(rows), self.coordinates.nv))
        moves = (self.tables, self.R0, self.u, self.ws, self.map)
        if self.call(loop_equations, *moves, rows, q, v, Phi, J, Phid, drift):
            raise self.refusal(q=q, v=v)
        return Phi, J, Phid, drift


def acts(tables: Any) -> bool:
    """Return whether a force beside weight and inertia acts."""
    return bool(
        len(tables.connectors.a) > len(tables.closures.connector)
        or len(tables.joint_forces.dof)
        or len(tables.laws.row)
        or len(tables.laws.slot)
    )


def links_of(coordinates: Coordinates) -> Links:
    """Return the links of a tree without rotors, whose inertia is the armature of a column."""
    system = coordinates.system
    dofs = system.tables.dofs
    columns: dict[int, list[tuple[int, Array, float, float]]] = {}
    origin: dict[int, int] = {}  # of the last dof of a link: the first one, which has the offset
    for place in coordinates.places:
        plain = len(place.dofs) - TURNING * place.turns
        for k, dof in enumerate(place.dofs[:plain]):
            slides = dofs.kind[dof] == PRISMATIC
            way = 1.0 if slides else float(dofs.pitch[dof])
            columns[dof] = [(place.v.start + k, dofs.axis[dof], 0.0 if slides else 1.0, way)]
            origin[dof] = dof
        if place.turns:
            R, last = (-1.0 if place.backwards else 1.0) * coordinates.carried(place), place.dofs[-1]
            columns[last] = [(place.v.start + plain + c, R[:, c], 1.0, 0.0) for c in range(TURNING)]
            origin[last] = place.dofs[plain]
    order = sorted(columns)
    before = [int(dofs.parent[origin[i]]) for i in order]
    number = {i: k for k, i in enumerate(order)}
    parent, turned = [number.get(i, -1) for i in before], np.zeros(len(order), np.int64)
    for k, i in enumerate(order):
        turned[k] = any(one[2] for one in columns[i]) or (parent[k] >= 0 and turned[parent[k]])
    flat = [one for i in order for one in columns[i]]
    armature = np.zeros(coordinates.nv)
    for rotor, (joint, k, ratio) in coordinates.rotors.items():
        turning = system.joints[rotor].dofs[0]
        driven = next(one for one in coordinates.places if one.name == joint)
        axis = dofs.axis[turning]
        armature[driven.v.start + k] += ratio**2 * float(axis @ dofs.inertia[turning] @ axis)
    return Links(
        np.array(order, np.int64), np.array(before, np.int64), np.array(parent, np.int64),
        dofs.offset[[origin[i] for i in order]], dofs.mass[order], dofs.mass_center[order], dofs.inertia[order],
        np.cumsum([0, *(len(columns[i]) for i in order)], dtype=np.int64),
        np.array([one[0] for one in flat], np.int64), np.array([one[1] for one in flat], float).reshape(-1, 3),
        np.array([one[2] for one in flat], float), np.array([one[3] for one in flat], float), armature, turned,
    )  # fmt: skip
