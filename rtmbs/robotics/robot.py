"""``Robot``: kinematics and dynamics of a mechanism at a state, by the kernels of its equations of motion."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.robotics.constrained import ConstrainedMotion, constrained_accelerations
from rtmbs.robotics.inverse_kinematics import InverseKinematics, solve
from rtmbs.robotics.kinematics import RobotKinematics

Array = NDArray[np.float64]


class Robot(RobotKinematics):
    """Kinematics and dynamics of a Model at a state: q, v and a, by the compiled kernels of a simulation.

    q (nq,) lists the joints of the tree in the order of ``joint_names``: a coordinate [rad or m] each, the quaternion
    (w, x, y, z) of a ball joint, and x, y, z with a quaternion of a floating joint. v (nv,) lists their rates. A ball
    has the angular velocity of its second body in axes of that body, and a floating joint the rates of x, y, z before
    it. Joints that close loops have no coordinates. Rotors that a coupler turns with one joint count in its inertia.

    Springs, dampers and the default inputs of the model act. Functions of time have their value at t = 0.

    Parameters
    ----------
    model : Model
        Mechanism, as ``rtmbs.read`` returns it.

    Raises
    ------
    InputError
        For anything but a Model, and for a ball or floating joint that the tree walks from its second body.

    Examples
    --------
    >>> robot = rtmbs.Robot(model)
    >>> tau = robot.inverse_dynamics(q, v, a)  # [N m, N]
    >>> J = robot.jacobian(q, "tool")  # (6, nv)
    """

    # ---- dynamics ---------------------------------------------------------------------------------------------------

    def mass_matrix(self, q: Any) -> Array:
        """Return the mass matrix of the tree, M(q), rotors included.

        Parameters
        ----------
        q : array_like
            Pose (nq,).

        Returns
        -------
        ndarray
            M (nv, nv) [kg, kg m, kg m^2].
        """
        self._take(q)
        return self._mass()

    def _mass(self) -> Array:
        """Return M (nv, nv) at the pose last taken."""
        M, T = self._equations.mass_matrix(), self.coordinates.T
        return M if self.coordinates.plain else np.asarray(T.T @ M @ T)

    def inverse_dynamics(self, q: Any, v: Any, a: Any) -> Array:
        """Return the joint forces of a motion: M a + bias forces, less springs, dampers and inputs of the model.

        In a closed loop these are the forces of the cut tree: forces f of actuated joints and multipliers lam share
        them, tau = f - Phi_q^T lam.

        Parameters
        ----------
        q : array_like
            Pose (nq,).
        v : array_like
            Rates (nv,).
        a : array_like
            Accelerations (nv,).

        Returns
        -------
        ndarray
            tau (nv,) [N m, N].
        """
        self._take(q, v, a)
        tau = self._equations.ws.tau
        return tau.copy() if self.coordinates.plain else np.asarray(tau.dot(self.coordinates.T))

    def bias_forces(self, q: Any, v: Any) -> Array:
        """Return the joint forces that hold a motion without accelerations: Coriolis, centrifugal, weight, springs.

        Parameters
        ----------
        q : array_like
            Pose (nq,).
        v : array_like
            Rates (nv,).

        Returns
        -------
        ndarray
            Forces (nv,) [N m, N].
        """
        return self.inverse_dynamics(q, v, self._still)

    def gravity_forces(self, q: Any) -> Array:
        """Return the joint forces that hold the robot at rest: weight and springs.

        Parameters
        ----------
        q : array_like
            Pose (nq,).

        Returns
        -------
        ndarray
            Forces (nv,) [N m, N].
        """
        return self.inverse_dynamics(q, self._still, self._still)

    def forward_dynamics(self, q: Any, v: Any, tau: Any = None) -> ConstrainedMotion:
        """Return the accelerations under joint forces, with loops that stay closed.

        Parameters
        ----------
        q : array_like
            Pose (nq,) with closed loops.
        v : array_like
            Rates (nv,) that keep them closed.
        tau : array_like, optional
            Joint forces (nv,) beside those of the model [N m, N]; none unless given.

        Returns
        -------
        ConstrainedMotion
            ``accelerations`` (nv,), ``multipliers`` (m,) of least norm, and ``residual``, what is left of the
            acceleration of the loop equations.

        Raises
        ------
        InputError
            For a coordinate without inertia.
        """
        self._take(q, v)
        force = np.zeros(self.nv) if tau is None else self.coordinates.checked(tau, self.nv, "tau")
        T, equations = self.coordinates.T, self._equations
        free = force - T.T @ equations.ws.tau
        M, J = self._mass(), self._closure_rows()
        zd = equations.ws.zd.copy()
        wanted = -equations.closure_accelerations(zd, np.zeros(self.system.n))[self._rows]
        return constrained_accelerations(M, J, free, wanted)

    def inverse_kinematics(
        self,
        targets: Mapping[str, Any],
        start: Any = None,
        *,
        weights: Mapping[str, float] | None = None,
        limits: Mapping[str, tuple[float, float]] | None = None,
        tolerance: float = 1e-10,
        iterations: int = 200,
    ) -> InverseKinematics:
        """Find a pose at which frames stand where they should, loops closed and coordinates within limits.

        Parameters
        ----------
        targets : mapping
            By name of a body or marker: a position (3,) [m], or (position, rotation) with a 3 x 3 rotation or a
            quaternion.
        start : array_like, optional
            Pose (nq,) from which the search starts; that of a simulation unless given.
        weights : mapping, optional
            Weight of each frame, 1 unless given.
        limits : mapping, optional
            (lower, upper) by joint with one coordinate; those of the file that the model was read from unless given.
        tolerance : float, default 1e-10
            Largest error of a reached pose, in m and rad.
        iterations : int, default 200
            Most iterations.

        Returns
        -------
        InverseKinematics
            Pose, whether the targets are reached, errors, and the reason where they are not.

        Raises
        ------
        UnknownNameError
            For a frame or a joint that does not exist.
        """
        first = self.assembled()[0] if start is None else self.coordinates.checked(start, self.nq, "start")
        return solve(self, targets, first, weights or {}, limits, tolerance, iterations)

    rnea = inverse_dynamics
    crba = mass_matrix
    nonlinear_effects = bias_forces
