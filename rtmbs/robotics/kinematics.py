"""States, placements and Jacobians of a robot: what its dynamics and inverse kinematics build on."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.model.model import Model
from rtmbs.robotics.coordinates import Coordinates, rotor_rows
from rtmbs.robotics.kernels import FramePoint
from rtmbs.robotics.state_kernels import StateKernels
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.evaluation import evaluate_residual
from rtmbs.semirecursive.law_kernels import call_laws
from rtmbs.semirecursive.start.prepare import prepare

Array = NDArray[np.float64]
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
