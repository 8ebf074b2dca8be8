"""Calls of the compiled loops over states: scratch and machine code of one robot, results in arrays of their own."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.jit.compiled import entry_for
from rtmbs.robotics.coordinates import Coordinates
from rtmbs.robotics.kernels import FramePoint, frame_motions, joint_forces, mass_matrices, momentum_matrices
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.law_kernels import call_laws

Array = NDArray[np.float64]


class StateKernels:
    """Kernels of one robot; each call overwrites its scratch."""

    def __init__(self, coordinates: Coordinates, equations: SemiRecursiveEquations, R0: Array) -> None:
        self.coordinates, self.system = coordinates, equations.system
        self.map = coordinates.state_map()
        self.tables, self.ws, self.R0, self.u = equations.tables, equations.ws, R0, equations.u
        self.forces_of = (self.tables, R0, equations.u, equations.alpha, self.ws, self.map)
        self.moves = (self.tables, R0, self.ws, self.map)
        self.entries: dict[Callable[..., Any], Any] = {}

    def call(self, kernel: Callable[..., Any], *arguments: Any) -> None:
        """Call the machine code of a kernel; InputError for a zero quaternion."""
        entry = self.entries.get(kernel)
        if entry is None:
            entry = self.entries[kernel] = entry_for(kernel, arguments)
        if entry(*arguments):
            raise InputError("q has a zero quaternion; no rotation is (1, 0, 0, 0)")

    def joint_forces(self, q: Array, v: Array, a: Array) -> Array:
        """Return M a + bias forces (k, nv) of poses (k, nq)."""
        tau = np.empty(v.shape)
        if not self.system.called:
            self.call(joint_forces, *self.forces_of, q, v, a, tau)
            return tau
        for s in range(len(q)):  # laws that Python calls are asked at each state
            self.coordinates.write(q[s], self.ws.z, self.R0)
            self.ws.zd[:] = self.coordinates.T @ v[s]
            call_laws(self.system, self.tables, self.R0, self.u, self.ws)
            self.call(joint_forces, *self.forces_of, q[s : s + 1], v[s : s + 1], a[s : s + 1], tau[s : s + 1])
        return tau

    def mass_matrices(self, q: Array) -> Array:
        """Return M (k, nv, nv) of poses (k, nq)."""
        M = np.empty((len(q), self.coordinates.nv, self.coordinates.nv))
        self.call(mass_matrices, *self.moves, q, M)
        return M

    def frame_motions(self, frame: FramePoint, q: Array, v: Array | None) -> tuple[Array, Array, Array, Array]:
        """Return positions (k, 3), rotations (k, 3, 3), J and with rates ``v`` dJ/dt (k, 6, nv), world axes."""
        k, nv = len(q), self.coordinates.nv
        position, rotation, J = np.empty((k, 3)), np.empty((k, 3, 3)), np.empty((k, 6, nv))
        dJ = np.empty((0 if v is None else k, 6, nv))
        self.call(frame_motions, *self.moves, frame, q, q if v is None else v, position, rotation, J, dJ)
        return position, rotation, J, dJ

    def momentum_matrices(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Return mass centre, its velocity and mass (k, 7), A_G and its time derivative (k, 6, nv)."""
        k, nv = len(q), self.coordinates.nv
        center, A, dA = np.empty((k, 7)), np.empty((k, 6, nv)), np.empty((k, 6, nv))
        self.call(momentum_matrices, *self.moves, q, v, center, A, dA)
        return center, A, dA
