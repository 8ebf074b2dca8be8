"""``Robot``: kinematics and dynamics of a mechanism at a state, by the kernels of its equations of motion.

Accelerations are those under constraints of any rank: M a + J^T lam = f, J a = g. M is scaled to a unit diagonal first,
D M D with D = diag(M)^-1/2, so that light links count like heavy ones. With D M D = L L^T, a = D L^-T x and
Y = L^-1 D J^T: x + Y lam = L^-1 D f = b and Y^T x = g. The singular values Y = U S V^T give
x = b - U (U^T b - S^-1 V^T g) and the multipliers of least norm lam = V S^-1 (U^T b - S^-1 V^T g). Where M is
singular, M + w J^T J and f + w J^T g have the same answer (augmented Lagrangian).

The square of an entry of the diagonal of L is the part of a coordinate's inertia that the coordinates before it do not
share. It is zero where a combination of coordinates moves no mass, as with two hinges on one axis and no inertia
between them. Rounding leaves some 1e-14 there. The answer is refined once: the recursion of inverse dynamics tells
which forces are left, f - J^T lam - M a, with fewer roundings than M has, and the same factors solve for the rest. A
point mass on three axes gains two to three digits.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import InputError
from rtmbs.robotics.inverse_kinematics import (
    InverseKinematics,
    MarkerFit,
    MarkerTrajectories,
    PoseScan,
    fit_markers,
    null_spaces,
    random_poses,
    rows_of,
    scan,
    scan_rows,
    solve,
)
from rtmbs.robotics.kernels import solve_lower, solve_upper
from rtmbs.robotics.kinematics import Axes, RobotKinematics, check_axes, check_same, in_axes

Array = NDArray[np.float64]
RANK = 1e-10  # of the largest singular value
OWN_INERTIA = 1e-13  # part of a coordinate's inertia that it must have of its own
TINY = 1e-300


class ConstrainedMotion(NamedTuple):
    """Accelerations and multipliers at a state; of k states, arrays have k entries."""

    accelerations: Array  # (nv,)
    multipliers: Array  # (m,) of least norm
    residual: Any  # largest acceleration of a loop equation that is left
    gap: Any  # largest loop equation at the pose [m or 1]; the answer is about closed loops
    rate_gap: Any  # largest rate of a loop equation [m/s or 1/s]


Left = Callable[[Array], Array]  # forces less M a, of accelerations a
Call = Callable[..., int]  # runs a kernel


def constrained_accelerations(
    M: Array, J: Array, left: Left, g: Array, call: Call, names: Sequence[str]
) -> tuple[Array, Array, Array]:
    """Return a (k, nv), lam (k, m) of least norm and the largest entries (k,) of J a - g; ``left(a)`` is f - M a.

    InputError where some motion that J allows has no inertia; ``names`` (nv,) are those of the coordinates.
    """
    solve = ConstrainedSolver(M, J, call, names)
    a, lam = solve(left(np.zeros(M.shape[:2])), g)
    check_answers(a)
    more, push = solve(left(a) - pulled(J, lam), g - pushed(J, a))
    a = a + more
    check_answers(a)
    return a, lam + push, np.abs(pushed(J, a) - g).max(axis=1, initial=0.0)


def pushed(J: Array, a: Array) -> Array:
    """Return J a (k, m) of k states."""
    return np.asarray((J @ a[..., None])[..., 0])


def pulled(J: Array, lam: Array) -> Array:
    """Return J^T lam (k, nv) of k states."""
    return np.asarray((lam[:, None] @ J)[:, 0])


class ConstrainedSolver:
    """Factors of M (k, nv, nv) and J (k, m, nv) of k states; ``call`` runs a compiled kernel."""

    def __init__(self, M: Array, J: Array, call: Call, names: Sequence[str]) -> None:
        self.J, self.call, self.weight = J, call, np.zeros((len(M), 1))
        self.scale, self.L, singular = factors(M)
        if np.any(singular):
            sizes = np.abs(M).max(axis=(1, 2), initial=1.0) / np.maximum(
                np.abs(J).max(axis=(1, 2), initial=0.0) ** 2, TINY
            )
            self.weight = np.where(singular, sizes, 0.0)[:, None]
            held = M + self.weight[..., None] * (J.swapaxes(1, 2) @ J)
            self.scale, self.L, singular = factors(held)
            if np.any(singular):
                raise no_inertia(held, singular, names)
        Y = (J * self.scale[:, None]).swapaxes(1, 2).copy("C")  # never J itself: it is solved in place
        call(solve_lower, self.L, Y)
        self.U, S, self.Vt = np.linalg.svd(Y, full_matrices=False)
        kept = RANK * S.max(axis=1, initial=0.0, keepdims=True) < S
        self.inverse = np.where(kept, 1.0 / np.where(kept, S, 1.0), 0.0)
        self.kept = kept

    def __call__(self, f: Array, g: Array) -> tuple[Array, Array]:
        """Return a (k, nv) and lam (k, m) of least norm."""
        b = np.ascontiguousarray(self.scale * (f + self.weight * pulled(self.J, g)))[..., None]
        self.call(solve_lower, self.L, b)
        held = self.kept * pulled(self.U, b[..., 0]) - self.inverse * pushed(self.Vt, g)
        a = b - self.U @ held[..., None]
        self.call(solve_upper, self.L, a)
        return self.scale * a[..., 0], pulled(self.Vt, self.inverse * held)


def accelerations_of_trees(M: Array, left: Left, call: Call, names: Sequence[str]) -> Array:
    """Return a (k, nv) of M a = f for k states; InputError where some motion has no inertia."""
    scale, L, singular = factors(M)
    if np.any(singular):
        raise no_inertia(M, singular, names)
    a = np.zeros(scale.shape)
    for _ in range(2):
        b = (scale * left(a))[..., None]
        call(solve_lower, L, b)
        call(solve_upper, L, b)
        a = a + scale * b[..., 0]
        check_answers(a)
    return a


def factors(M: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return D (k, nv) and L of D M D = L L^T, and which of k matrices M are singular; L is the identity there."""
    diagonal = np.einsum("kii->ki", M)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = M * scale[:, :, None] * scale[:, None, :]
    try:
        L = np.asarray(np.linalg.cholesky(scaled), np.float64)
    except np.linalg.LinAlgError:
        L = np.array([factor(one) for one in scaled])
    own = np.einsum("kii->ki", L).min(axis=1, initial=1.0)
    return scale, L, np.asarray(~(own**2 > OWN_INERTIA))


def factor(M: Array) -> Array:
    """Return L of M = L L^T, zero where it is not positive definite."""
    try:
        return np.asarray(np.linalg.cholesky(M), np.float64)
    except np.linalg.LinAlgError:
        return np.zeros_like(M)


def no_inertia(M: Array, singular: NDArray[np.bool_], names: Sequence[str]) -> InputError:
    """Return the error of the first singular state, with the coordinates that move without inertia."""
    s = int(np.argmax(singular))
    size = np.sqrt(np.maximum(np.diag(M[s]), 0.0))
    scale = 1.0 / np.where(size > 0.0, size, 1.0)
    motion = np.abs(np.linalg.eigh(M[s] * scale[:, None] * scale)[1][:, 0])
    met = dict.fromkeys(names[j] for j in np.flatnonzero(motion > 0.5 * motion.max(initial=0.0)).tolist())
    state = f" of state {s}" if len(M) > 1 else ""
    return InputError(
        f"forward dynamics{state}: a motion of {' and '.join(map(repr, met))} has no inertia; give the bodies that it "
        "moves mass and inertia, or choose another pose where two axes coincide (gimbal lock)"
    )


def check_answers(a: Array) -> None:
    """Refuse accelerations that are not finite, or beyond all range."""
    good = np.abs(a).max(axis=1, initial=0.0) <= BEYOND
    if not np.all(good):
        state = f" of state {int(np.argmin(good))}" if len(a) > 1 else ""
        raise InputError(f"forward dynamics{state}: accelerations are too large for a number; give smaller v and tau")


class CentroidalMomentum(NamedTuple):
    """Momentum of all bodies but rotors, world axes."""

    linear: Array  # (3,) [kg m/s]
    angular: Array  # (3,) about the mass centre [kg m^2/s]


class RobotMomenta(RobotKinematics):
    """Kinematics of a Model with its momenta; ``Robot`` adds the dynamics.

    Parameters
    ----------
    model : Model
        Mechanism.
    """

    @property
    def mass(self) -> float:
        """Mass of all bodies that move [kg]."""
        return float(self._momenta(self.neutral(), self._still)[0][0, 6])

    def _momenta(self, q: Any, v: Any) -> tuple[Array, Array, Array]:
        """Return mass centre, velocity, mass (k, 7), A_G and dA_G/dt (k, 6, nv)."""
        rows, rates = self.coordinates.rows(q, self.nq, "q"), self.coordinates.rows(v, self.nv, "v")
        if len(rates) == 1 < len(rows) and np.ndim(v) == 1:
            rates = np.tile(rates, (len(rows), 1))
        check_same(rows, rates)
        return self._kernels.momentum_matrices(rows, rates)

    def center_of_mass(self, q: Any) -> Array:
        """Return the mass centre of all bodies that move.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.

        Returns
        -------
        ndarray
            Point (3,) or (k, 3), world axes [m].
        """
        found = self._momenta(q, self._still)[0][:, :3]
        return found if np.ndim(q) > 1 else found[0]

    def jacobian_center_of_mass(self, q: Any) -> Array:
        """Return the derivative of the mass centre: its velocity is J v.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.

        Returns
        -------
        ndarray
            J (3, nv) or (k, 3, nv).
        """
        center, A, _ = self._momenta(q, self._still)
        J = A[:, :3] / center[:, 6, None, None]
        return J if np.ndim(q) > 1 else J[0]

    def centroidal_momentum_matrix(self, q: Any) -> Array:
        """Return the matrix A_G of the centroidal momentum h = A_G v: linear part, angular part about the mass centre.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.

        Returns
        -------
        ndarray
            A_G (6, nv) or (k, 6, nv), world axes.
        """
        A = self._momenta(q, self._still)[1]
        return A if np.ndim(q) > 1 else A[0]

    def centroidal_momentum_matrix_time_variation(self, q: Any, v: Any) -> Array:
        """Return the time derivative of the centroidal momentum matrix: dh/dt = A_G a + dA_G v.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k states.
        v : array_like
            Rates (nv,) or (k, nv).

        Returns
        -------
        ndarray
            dA_G/dt (6, nv) or (k, 6, nv), world axes.
        """
        dA = self._momenta(q, v)[2]
        return dA if np.ndim(q) > 1 else dA[0]

    def centroidal_momentum(self, q: Any, v: Any) -> CentroidalMomentum:
        """Return the momentum of all bodies: linear, and angular about the mass centre.

        Parameters
        ----------
        q : array_like
            Pose (nq,).
        v : array_like
            Rates (nv,).

        Returns
        -------
        CentroidalMomentum
            ``linear`` [kg m/s] and ``angular`` [kg m^2/s] (3,), world axes.
        """
        checked = self.coordinates.checked
        h = self.centroidal_momentum_matrix(checked(q, self.nq, "q")) @ checked(v, self.nv, "v")
        return CentroidalMomentum(h[:3], h[3:])

    def centroidal_momentum_time_variation(self, q: Any, v: Any, a: Any) -> CentroidalMomentum:
        """Return the time derivative of the centroidal momentum: the sum of outer forces and moments.

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
        CentroidalMomentum
            ``linear`` [N] and ``angular`` [N m] (3,), world axes.
        """
        checked = self.coordinates.checked
        rates, slopes = checked(v, self.nv, "v"), checked(a, self.nv, "a")
        _, A, dA = self._momenta(checked(q, self.nq, "q"), rates)
        h = A[0] @ slopes + dA[0] @ rates
        return CentroidalMomentum(h[:3], h[3:])

    ccrba = centroidal_momentum_matrix
    dccrba = centroidal_momentum_matrix_time_variation


MOST_NUMBERS = 4_000_000  # of the matrices of states with loops at once


class Robot(RobotMomenta):
    """Kinematics and dynamics of a Model at a state: q, v and a, by the compiled kernels of a simulation.

    q (nq,) lists the joints of the tree in the order of ``joint_names``: a coordinate [rad or m] each, the quaternion
    (w, x, y, z) of a ball joint, and x, y, z with a quaternion of a floating joint. v (nv,) lists their rates. A ball
    has the angular velocity of its second body in axes of that body, and a floating joint the rates of x, y, z before
    it. Where the tree walks a ball from its second body, as in some loops, the angular velocity of the second body
    against the first is in axes of the first one. Joints that close loops have no coordinates. Rotors that a coupler
    turns with one joint count in its inertia.

    Springs, dampers and the default inputs of the model act. Functions of time have their value at t = 0.

    Parameters
    ----------
    model : Model
        Mechanism, as ``rtmbs.read`` returns it.

    Raises
    ------
    InputError
        For anything but a Model, and for a floating joint that the tree walks from its second body.

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
            Pose (nq,), or (k, nq) of k poses.

        Returns
        -------
        ndarray
            M (nv, nv) or (k, nv, nv) [kg, kg m, kg m^2].
        """
        M = self._kernels.mass_matrices(self.coordinates.rows(q, self.nq, "q"))
        return M if np.ndim(q) > 1 else M[0]

    def inverse_dynamics(self, q: Any, v: Any, a: Any) -> Array:
        """Return the joint forces of a motion: M a + bias forces, less springs, dampers and inputs of the model.

        In a closed loop these are the forces of the cut tree: forces f of actuated joints and multipliers lam share
        them, tau = f - Phi_q^T lam.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k states.
        v : array_like
            Rates (nv,) or (k, nv).
        a : array_like
            Accelerations (nv,) or (k, nv).

        Returns
        -------
        ndarray
            tau (nv,) or (k, nv) [N m, N].
        """
        rows = self.coordinates.rows
        x, rates, slopes = rows(q, self.nq, "q"), rows(v, self.nv, "v"), rows(a, self.nv, "a")
        if not len(x) == len(rates) == len(slopes):
            check_same(x, rates)
            check_same(x, slopes)
        tau = self._kernels.joint_forces(x, rates, slopes)
        return tau if len(tau) != 1 or np.ndim(q) > 1 else tau[0]

    def bias_forces(self, q: Any, v: Any) -> Array:
        """Return the joint forces that hold a motion without accelerations: Coriolis, centrifugal, weight, springs.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k states.
        v : array_like
            Rates (nv,) or (k, nv).

        Returns
        -------
        ndarray
            Forces (nv,) or (k, nv) [N m, N].
        """
        return self.inverse_dynamics(q, v, self._still if np.ndim(q) < 2 else np.zeros((len(q), self.nv)))

    def gravity_forces(self, q: Any) -> Array:
        """Return the joint forces that hold the robot at rest: weight and springs.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.

        Returns
        -------
        ndarray
            Forces (nv,) or (k, nv) [N m, N].
        """
        still = self._still if np.ndim(q) < 2 else np.zeros((len(q), self.nv))
        return self.inverse_dynamics(q, still, still)

    def kinetic_energy(self, q: Any, v: Any) -> Any:
        """Return the kinetic energy, v^T M v / 2, rotors included.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k states.
        v : array_like
            Rates (nv,) or (k, nv).

        Returns
        -------
        float or ndarray
            Energy [J], or (k,).
        """
        rates = self.coordinates.rows(v, self.nv, "v")
        M = self._kernels.mass_matrices(self.coordinates.rows(q, self.nq, "q"))
        check_same(M, rates)
        found = 0.5 * np.einsum("ki,kij,kj->k", rates, M, rates)
        return found if np.ndim(q) > 1 else float(found[0])

    def potential_energy(self, q: Any) -> Any:
        """Return the potential energy of weight, zero with the mass centre at the world's origin; no springs.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.

        Returns
        -------
        float or ndarray
            Energy [J], or (k,).
        """
        found = -self.mass * (self.center_of_mass(q) @ np.array(self.model.gravity, float))
        return found if np.ndim(q) > 1 else float(found)

    def forward_dynamics(self, q: Any, v: Any, tau: Any = None) -> ConstrainedMotion:
        """Return the accelerations under joint forces, with loops that stay closed.

        Parameters
        ----------
        q : array_like
            Pose (nq,) with closed loops, or (k, nq) of k states.
        v : array_like
            Rates (nv,) or (k, nv) that keep them closed.
        tau : array_like, optional
            Joint forces (nv,) or (k, nv) beside those of the model [N m, N]; none unless given.

        Returns
        -------
        ConstrainedMotion
            ``accelerations`` (nv,), ``multipliers`` (m,) of least norm, and ``residual``, what is left of the
            acceleration of the loop equations. ``gap`` and ``rate_gap`` are the largest loop equation and the largest
            rate of one at this state. Where they are not zero, the answer is not about closed loops.

        Raises
        ------
        InputError
            For a motion without inertia, as of two hinges on one axis without inertia between them, and for
            accelerations that are too large for a number.
        """
        x, rates = self.coordinates.rows(q, self.nq, "q"), self.coordinates.rows(v, self.nv, "v")
        check_same(x, rates)
        forces = np.zeros(rates.shape) if tau is None else self.coordinates.finite_rows(tau, self.nv, "tau")
        check_same(x, forces)
        count = max(1, MOST_NUMBERS // (self.nv * (self.nv + int(self._rows.sum()))))
        slices = [slice(k, k + count) for k in range(0, len(x), count)] or [slice(0, 0)]
        parts = [self._accelerations(x[one], rates[one], forces[one]) for one in slices]
        found = parts[0] if len(parts) == 1 else ConstrainedMotion(*map(np.concatenate, zip(*parts, strict=True)))
        if np.ndim(q) > 1:
            return found
        return ConstrainedMotion(found[0][0], found[1][0], *(float(one[0]) for one in found[2:]))

    def _accelerations(self, q: Array, v: Array, tau: Array) -> ConstrainedMotion:
        """Return accelerations (k, nv), multipliers (k, m), residuals and gaps (k,) of k states."""
        kernels, rows, names = self._kernels, np.flatnonzero(self._rows), self.coordinates.rate_names

        def left(a: Array) -> Array:
            return tau - kernels.joint_forces(q, v, a)

        if not len(rows):
            a, none = accelerations_of_trees(kernels.mass_matrices(q), left, kernels.call, names), np.zeros(len(q))
            return ConstrainedMotion(a, np.zeros((len(q), 0)), none, none, none)
        Phi, J, Phid, drift = kernels.loop_motions(rows, q, v)
        found = constrained_accelerations(kernels.mass_matrices(q), J, left, -drift, kernels.call, names)
        return ConstrainedMotion(*found, *(np.abs(one).max(axis=1) for one in (Phi, Phid)))

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
            Weight of each frame, above zero; 1 unless given.
        limits : mapping, optional
            (lower, upper) by joint with one coordinate, instead of those of the file that the model was read from. The
            limits of other joints stay.
        tolerance : float, default 1e-10
            Largest error of a reached pose, in m and rad.
        iterations : int, default 200
            Most iterations.

        Returns
        -------
        InverseKinematics
            Pose with closed loops, whether the targets are reached, errors, and the reason where they are not.

        Raises
        ------
        UnknownNameError
            For a frame or a joint that does not exist.
        InputError
            For loops that close neither from the start nor from that of a simulation, within the limits.
        """
        first = self.assembled()[0] if start is None else self.coordinates.checked(start, self.nq, "start")
        return solve(self, targets, first, weights or {}, limits, tolerance, iterations)

    def operational_space_inertia(
        self, q: Any, frame: str, axes: Axes = "world", rows: Sequence[int] | None = None
    ) -> Array:
        """Return the inertia that a frame opposes to a force on it: (J M^-1 J^T)^-1, loops closed.

        Parameters
        ----------
        q : array_like
            Pose (nq,) with closed loops, or (k, nq) of k poses.
        frame : str
            Name of a body or of a marker.
        axes : {"world", "local"}, default "world"
            Axes of the force.
        rows : sequence of int, optional
            Directions that count, 0 to 5: along x, y, z and about them; all unless given.

        Returns
        -------
        ndarray
            Inertia (r, r) or (k, r, r) [kg, kg m, kg m^2].

        Raises
        ------
        InputError
            Where the frame cannot move in a direction that counts.
        """
        check_axes(axes)
        chosen, poses = rows_of(rows), self.coordinates.rows(q, self.nq, "q")
        _, R, J, _ = self._kernels.frame_motions(self._frame(frame).point, poses, None)
        J, M = (in_axes(R, J) if axes == "local" else J)[:, chosen], self._kernels.mass_matrices(poses)
        found = np.empty((len(poses), len(chosen), len(chosen)))
        C = self.closure_jacobian(poses) if np.any(self._rows) else np.empty((len(poses), 0, self.nv))
        for states, N in null_spaces(C):
            moves = J[states] @ N
            S = np.linalg.svd(moves, compute_uv=False)
            if moves.shape[2] < len(chosen) or np.any(S[:, -1] <= 1e-10 * S[:, 0]):
                raise InputError(
                    f"operational space: frame {frame!r} cannot move in all of the {len(chosen)} directions at this "
                    "pose; give rows= of those in which it can"
                )
            Nt, back = N.swapaxes(1, 2), moves.swapaxes(1, 2)
            found[states] = np.linalg.inv(moves @ np.linalg.solve(Nt @ M[states] @ N, back))
        return found if np.ndim(q) > 1 else found[0]

    # ---- scans and motion capture -----------------------------------------------------------------------------------

    def manipulability(self, q: Any, frame: str, rows: Sequence[int] | None = None) -> Any:
        """Return the product of the singular values of a frame's Jacobian, along motions that keep loops closed.

        Parameters
        ----------
        q : array_like
            Pose (nq,), or (k, nq) of k poses.
        frame : str
            Name of a body or of a marker.
        rows : sequence of int, optional
            Directions that count, 0 to 5: along x, y, z and about them; all unless given.

        Returns
        -------
        float or ndarray
            Manipulability, or (k,) of k poses; 0 where the frame cannot move in a direction that counts.
        """
        found = scan_rows(self, frame, self.coordinates.rows(q, self.nq, "q"), rows_of(rows)).manipulability
        return found if np.ndim(q) > 1 else float(found[0])

    def scan(self, frame: str, poses: Any, rows: Sequence[int] | None = None) -> PoseScan:
        """Return positions, singular values and freedom of a frame at poses.

        Parameters
        ----------
        frame : str
            Name of a body or of a marker.
        poses : array_like
            Poses (k, nq).
        rows : sequence of int, optional
            Directions that count, 0 to 5: along x, y, z and about them; all unless given.

        Returns
        -------
        PoseScan
            With ``manipulability`` and ``singular``.
        """
        return scan(self, frame, self.coordinates.finite_rows(poses, self.nq, "poses"), rows)

    def workspace(
        self,
        frame: str,
        samples: int = 1000,
        *,
        seed: int = 0,
        limits: Mapping[str, tuple[float, float]] | None = None,
        rows: Sequence[int] | None = None,
    ) -> PoseScan:
        """Return the scan of random poses within the limits, loops closed.

        Newton's method closes the loops of each random pose. Where that fails, the pose is that of a random walk along
        closed poses, from the last one or from that of a simulation. The density of the poses is not uniform.

        Parameters
        ----------
        frame : str
            Name of a body or of a marker.
        samples : int, default 1000
            Number of poses.
        seed : int, default 0
            Seed of the poses.
        limits : mapping, optional
            (lower, upper) by joint with one coordinate, instead of those of the file. Limits of other joints stay.
            Coordinates without limits are drawn from -pi to pi.
        rows : sequence of int, optional
            Directions that count, 0 to 5: along x, y, z and about them; all unless given.

        Returns
        -------
        PoseScan
            ``position[closed]`` are points that the frame reaches.

        Raises
        ------
        InputError
            For a number of samples that is not positive.
        """
        return self.scan(frame, random_poses(self, samples, seed, limits), rows)

    def fit_markers(
        self,
        trajectories: MarkerTrajectories,
        start: Any = None,
        *,
        weights: Mapping[str, float] | None = None,
        limits: Mapping[str, tuple[float, float]] | None = None,
        iterations: int = 100,
    ) -> MarkerFit:
        """Find the poses at which markers of the Model are nearest to measured points, by least squares.

        Parameters
        ----------
        trajectories : MarkerTrajectories
            Points by marker, as ``rtmbs.read_c3d`` returns them; a marker of the Model has the name.
        start : array_like, optional
            Pose (nq,) from which the first sample starts; that of a simulation unless given.
        weights : mapping, optional
            Weight of each marker, above zero; 1 unless given.
        limits : mapping, optional
            (lower, upper) by joint with one coordinate, instead of those of the file. Limits of other joints stay.
        iterations : int, default 100
            Most iterations of a sample.

        Returns
        -------
        MarkerFit
            Poses, distances, and whether each sample settled.

        Raises
        ------
        UnknownNameError
            For a marker that the Model has not.
        """
        first = self.assembled()[0] if start is None else self.coordinates.checked(start, self.nq, "start")
        return fit_markers(self, trajectories, first, weights or {}, limits, iterations)

    rnea = inverse_dynamics
    crba = mass_matrix
    nonlinear_effects = bias_forces
    aba = forward_dynamics
    constraint_dynamics = forward_dynamics
    generalized_gravity = gravity_forces
