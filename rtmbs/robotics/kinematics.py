"""States, placements and Jacobians of a robot, by calls of compiled loops.

States, placements and Jacobians of a robot: what its dynamics and inverse kinematics build on.

Calls of the compiled loops over states: scratch and machine code of one robot, results in arrays of their own.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.jit.compiled import entry_for
from rtmbs.model.model import Model
from rtmbs.robotics.coordinates import TURNING, Coordinates, not_finite, of_state, rotor_rows
from rtmbs.robotics.kernels import (
    FramePoint,
    LinkMotion,
    Links,
    frame_motions,
    joint_forces,
    loop_equations,
    mass_matrices,
    momentum_matrices,
)
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.evaluation import evaluate_residual
from rtmbs.semirecursive.force_kernels import call_laws
from rtmbs.semirecursive.start.prepare import prepare
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


Axes = Literal["world", "local"]
START_STEP = 1e-3  # [s] by which the start judges redundant loops


class FramePlacement(NamedTuple):
    """Placement of a frame in the world; of k poses, arrays have k entries."""

    position: Array  # (3,) [m]
    rotation: Array  # (3, 3) axes of the frame to axes of the world


class FrameMotion(NamedTuple):
    """Velocity or acceleration of a frame: its origin and its rotation, in the axes asked for."""

    linear: Array  # (3,) [m/s, m/s^2]
    angular: Array  # (3,) [rad/s, rad/s^2]


class Frame(NamedTuple):
    """A frame on a body, as the kernels see it."""

    dof: int  # -1 ground
    position: Array  # (3,) dof axes [m]
    rotation: Array  # (3, 3) axes of the frame to dof axes
    path: NDArray[np.int64]  # dofs from ground to the body
    point: FramePoint


class RobotKinematics:
    """Kinematics of a Model at a state; ``Robot`` adds the dynamics.

    Parameters
    ----------
    model : Model
        Mechanism.
    """

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise InputError(f"Robot takes a Model, not {shown(model)}; rtmbs.read returns one")
        self.model, self.system = model, model.compile()
        self.coordinates = Coordinates(model, self.system)
        self.nq, self.nv = self.coordinates.nq, self.coordinates.nv
        self.joint_names = [place.name for place in self.coordinates.places]
        self._equations = SemiRecursiveEquations(self.system)
        self._rows = ~rotor_rows(self.system, model, self.coordinates.rotors)
        self._R0 = self.system.R0.copy()
        self._frames: dict[str, Frame] = {}
        self._still = np.zeros(self.nv)
        self._kernels = StateKernels(self.coordinates, self._equations, self._R0)
        self._evaluate = (
            self._equations.tables,
            self._R0,
            self._equations.u,
            self._equations.alpha,
            self._equations.ws,
        )

    def __repr__(self) -> str:
        return f"Robot({self.model.name!r}: nq = {self.nq}, nv = {self.nv}, {int(self._rows.sum())} loop equations)"

    # ---- states -----------------------------------------------------------------------------------------------------

    def neutral(self) -> Array:
        """Return the pose with zero coordinates; loops may be open there.

        Returns
        -------
        ndarray
            q (nq,).
        """
        return self.coordinates.neutral()

    def assembled(self) -> tuple[Array, Array]:
        """Return the pose and rates at which a simulation starts: loops closed, initial values of the model kept.

        Returns
        -------
        tuple[ndarray, ndarray]
            q (nq,) and v (nv,).

        Raises
        ------
        StartError
            For loops that do not close.
        """
        state = prepare(SemiRecursiveEquations(self.system), START_STEP, PenaltyTrapezoidal()).arrays
        v = np.linalg.lstsq(self.coordinates.T, state.zd, rcond=None)[0]
        return self.coordinates.read(state.z, state.R0), np.asarray(v, np.float64)

    def integrate(self, q: Any, v: Any) -> Array:
        """Return the pose after rates that act for a unit of time.

        Parameters
        ----------
        q : array_like
            Pose (nq,).
        v : array_like
            Rates times time (nv,).

        Returns
        -------
        ndarray
            q (nq,) with unit quaternions.
        """
        checked = self.coordinates.checked
        return self.coordinates.integrate(checked(q, self.nq, "q"), checked(v, self.nv, "v"))

    def difference(self, first: Any, second: Any) -> Array:
        """Return the rates that lead from one pose to another in a unit of time, the inverse of ``integrate``.

        Parameters
        ----------
        first : array_like
            Pose (nq,).
        second : array_like
            Pose (nq,).

        Returns
        -------
        ndarray
            Rates times time (nv,); a ball turns by half a turn at most.
        """
        checked = self.coordinates.checked
        return self.coordinates.difference(checked(first, self.nq, "first"), checked(second, self.nq, "second"))

    def _take(self, q: Any, v: Any = None, a: Any = None) -> None:
        """Evaluate everything at a state into the scratch of the equations."""
        coordinates, ws = self.coordinates, self._equations.ws
        q = coordinates.checked(q, self.nq, "q")
        v = self._still if v is None else coordinates.checked(v, self.nv, "v")
        a = self._still if a is None else coordinates.checked(a, self.nv, "a")
        if coordinates.plain:
            ws.z[:], ws.zd[:], ws.zdd[:] = q, v, a
        else:
            coordinates.write(q, ws.z, self._R0)
            coordinates.T.dot(v, out=ws.zd)
            coordinates.T.dot(a, out=ws.zdd)
        if self.system.called:
            call_laws(self.system, self._equations.tables, self._R0, self._equations.u, ws)
        evaluate_residual(*self._evaluate)

    # ---- kinematics -------------------------------------------------------------------------------------------------

    def _frame(self, name: str) -> Frame:
        """Return a body or a marker; UnknownNameError for another name."""
        if name in self._frames:
            return self._frames[name]
        system = self.system
        marker = self.model.markers.get(name)
        body = marker.body.name if marker is not None else name
        if body not in system.bodies:
            raise unknown_name("frame", name, [*system.bodies, *self.model.markers])
        info = system.bodies[body]
        position, rotation = info.position, info.rotation
        if marker is not None:
            position, rotation = position + rotation @ marker.point, rotation @ marker.axes
        path, dof = [], info.dof
        for _ in range(system.n + 1):
            if dof < 0:
                break
            path.append(dof)
            dof = int(system.tables.dofs.parent[dof])
        dofs = np.array(path[::-1], np.int64)
        point = FramePoint(dofs, np.array(position, float)[None], np.array(rotation, float, order="C"))
        found = self._frames[name] = Frame(info.dof, position, rotation, dofs, point)
        return found

    def _placed(self, frame: Frame) -> tuple[Array, FramePlacement]:
        """Return the point from the origin of its part (3,), and the placement in the world, at the pose last taken."""
        ws = self._equations.ws
        if frame.dof < 0:
            return frame.position, FramePlacement(frame.position.copy(), frame.rotation.copy())
        point = ws.r[frame.dof] + ws.A[frame.dof] @ frame.position
        ground = int(self.system.tables.origins.row[frame.dof])
        return point, FramePlacement(point - ws.r[ground], ws.A[frame.dof] @ frame.rotation)

    def forward_kinematics(self, q: Any, frame: str) -> FramePlacement:
        """Return the placement of a body's frame or a marker in the world.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.
        frame : str
            Name of a body or of a marker.

        Returns
        -------
        FramePlacement
            ``position`` (3,) [m] and ``rotation`` (3, 3) from axes of the frame to those of the world.

        Raises
        ------
        UnknownNameError
            For a name that no body or marker has.
        """
        rows = self.coordinates.rows(q, self.nq, "q")
        position, rotation, *_ = self._kernels.frame_motions(self._frame(frame).point, rows, None)
        return FramePlacement(position, rotation) if np.ndim(q) > 1 else FramePlacement(position[0], rotation[0])

    def jacobian(self, q: Any, frame: str, axes: Axes = "world") -> Array:
        """Return the Jacobian of a frame: [velocity of its origin, angular velocity] = J v.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.
        frame : str
            Name of a body or of a marker.
        axes : {"world", "local"}, default "world"
            Axes of both vectors: "world" is LOCAL_WORLD_ALIGNED of Pinocchio, "local" is LOCAL.

        Returns
        -------
        ndarray
            J (6, nv) or (k, 6, nv) [m/s and rad/s for each unit of v].

        Raises
        ------
        InputError
            For axes of another name.
        """
        check_axes(axes)
        rows = self.coordinates.rows(q, self.nq, "q")
        _, R, J, _ = self._kernels.frame_motions(self._frame(frame).point, rows, None)
        J = in_axes(R, J) if axes == "local" else J
        return J if np.ndim(q) > 1 else J[0]

    def jacobian_time_variation(self, q: Any, v: Any, frame: str, axes: Axes = "world") -> Array:
        """Return the time derivative of a Jacobian: the acceleration of the frame is J a + dJ v.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.
        v : array_like
            Rates (nv,) or (k, nv).
        frame : str
            Name of a body or of a marker.
        axes : {"world", "local"}, default "world"
            Axes of both vectors. With "local" it is the derivative of numbers in turning axes, as in Pinocchio.

        Returns
        -------
        ndarray
            dJ/dt (6, nv) or (k, 6, nv).

        Raises
        ------
        InputError
            For axes of another name.
        """
        check_axes(axes)
        rows, rates = self.coordinates.rows(q, self.nq, "q"), self.coordinates.rows(v, self.nv, "v")
        check_same(rows, rates)
        _, R, J, dJ = self._kernels.frame_motions(self._frame(frame).point, rows, rates)
        if axes == "local":
            omega = np.einsum("krj,kj->kr", J[:, 3:], rates)[:, :, None]
            dJ[:, :3] -= np.cross(omega, J[:, :3], axis=1)
            dJ[:, 3:] -= np.cross(omega, J[:, 3:], axis=1)
            dJ = in_axes(R, dJ)
        return dJ if np.ndim(q) > 1 else dJ[0]

    def frame_velocity(self, q: Any, v: Any, frame: str, axes: Axes = "world") -> FrameMotion:
        """Return the velocity of a frame's origin and its angular velocity.

        Parameters
        ----------
        q : array_like
            Pose (nq,).
        v : array_like
            Rates (nv,).
        frame : str
            Name of a body or of a marker.
        axes : {"world", "local"}, default "world"
            Axes of both vectors.

        Returns
        -------
        FrameMotion
            ``linear`` (3,) [m/s] and ``angular`` (3,) [rad/s].
        """
        found = self.jacobian(q, frame, axes) @ self.coordinates.checked(v, self.nv, "v")
        return FrameMotion(found[:3], found[3:])

    def frame_acceleration(self, q: Any, v: Any, a: Any, frame: str, axes: Axes = "world") -> FrameMotion:
        """Return the acceleration of a frame's origin, without gravity, and its angular acceleration.

        It is that of the point (the classical acceleration of Pinocchio), not a spatial acceleration.

        Parameters
        ----------
        q : array_like
            Pose (nq,).
        v : array_like
            Rates (nv,).
        a : array_like
            Accelerations (nv,).
        frame : str
            Name of a body or of a marker.
        axes : {"world", "local"}, default "world"
            Axes of both vectors.

        Returns
        -------
        FrameMotion
            ``linear`` (3,) [m/s^2] and ``angular`` (3,) [rad/s^2].
        """
        check_axes(axes)
        rates, slopes = self.coordinates.checked(v, self.nv, "v"), self.coordinates.checked(a, self.nv, "a")
        rows = self.coordinates.rows(q, self.nq, "q")
        _, R, J, dJ = self._kernels.frame_motions(self._frame(frame).point, rows, rates[None])
        found = (J[0] @ slopes + dJ[0] @ rates).reshape(2, 3)
        found = found @ R[0] if axes == "local" else found
        return FrameMotion(found[0], found[1])

    def _jacobian(self, frame: Frame, axes: Axes) -> Array:
        """Return the Jacobian at the pose last taken."""
        point, placement = self._placed(frame)
        J, S = np.zeros((6, self.system.n)), self._equations.ws.S[frame.path]
        J[:3, frame.path] = (S[:, :3] + np.cross(S[:, 3:], point)).T
        J[3:, frame.path] = S[:, 3:].T
        if axes == "local":
            J = np.concatenate((placement.rotation.T @ J[:3], placement.rotation.T @ J[3:]))
        return np.asarray(J @ self.coordinates.T)

    def closure_jacobian(self, q: Any) -> Array:
        """Return the derivative of the loop equations by the rates: Phi_q v = 0 where nothing is driven.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.

        Returns
        -------
        ndarray
            Phi_q (m, nv) or (k, m, nv), without the couplers of rotors.
        """
        _, J = self._kernels.loop_equations(np.flatnonzero(self._rows), self.coordinates.rows(q, self.nq, "q"))
        return J if np.ndim(q) > 1 else J[0]

    def _closure_rows(self) -> Array:
        """Return Phi_q (m, nv) at the pose last taken."""
        return np.asarray(self._equations.closure_jacobian()[self._rows] @ self.coordinates.T)

    def closure_gap(self, q: Any) -> Array:
        """Return the loop equations, which are zero where all loops are closed.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.

        Returns
        -------
        ndarray
            Phi (m,) or (k, m) [m or 1].
        """
        Phi, _ = self._kernels.loop_equations(np.flatnonzero(self._rows), self.coordinates.rows(q, self.nq, "q"))
        return Phi if np.ndim(q) > 1 else Phi[0]

    frame_jacobian = jacobian
    frame_jacobian_time_variation = jacobian_time_variation


def check_axes(axes: Any) -> None:
    """Refuse axes of another name: InputError."""
    if axes not in ("world", "local"):
        raise InputError(f"axes is {shown(axes)}; it must be 'world' or 'local'")


def check_same(q: Array, v: Array) -> None:
    """Refuse different numbers of states: InputError."""
    if len(q) != len(v):
        raise InputError(f"q has {len(q)} states and v or a has {len(v)}; the number must be the same")


def in_axes(R: Array, J: Array) -> Array:
    """Return J (k, 6, nv) with both parts in axes of the frame."""
    turned = np.swapaxes(R, 1, 2)
    return np.concatenate((turned @ J[:, :3], turned @ J[:, 3:]), axis=1)
