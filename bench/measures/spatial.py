"""An independent reference for spatial mechanisms: Newton and Euler in Cartesian coordinates, DOP853 at 1e-12.

It reads masses, points, axes, springs and gravity from a Model and shares nothing else with rtmbs. Per body the mass
centre x, a quaternion, v and the angular velocity in body axes; joints as constraints on accelerations,
[M, J^T; J, 0] [a; lam] = [f; gamma], solved by least squares, so that redundant ones do no harm.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation

from rtmbs import Floating, Model, Revolute, Spherical, Universal
from rtmbs.model.markers import reference_distance

Array = NDArray[np.float64]
RTOL, ATOL = 1e-12, 1e-13


class Pose(NamedTuple):
    """Bodies at one instant, ground left out: in the order of the Model."""

    x: Array  # (nb, 3) mass centres, world [m]
    A: Array  # (nb, 3, 3) body to world
    v: Array  # (nb, 3) of the mass centres, world [m/s]
    w: Array  # (nb, 3) angular velocity, body axes [rad/s]


class End(NamedTuple):
    """A point or direction fixed in a body; -1 is ground."""

    body: int
    local: Array  # (3,) from the mass centre, body axes; of ground in the world


def spatial_motion(model: Model, start: Pose, times: ArrayLike) -> list[tuple[Pose, Array]]:
    """Return pose and angular accelerations (nb, 3), body axes, at ``times``.

    Joints may be Spherical, Revolute, Universal or Floating, with rods and springs of constant values beside them.
    """
    space = _Space(model)
    wanted = np.asarray(times, dtype=float)
    run = solve_ivp(space.flow, (0.0, wanted[-1]), space.pack(start), "DOP853", rtol=RTOL, atol=ATOL, t_eval=wanted)
    poses = [space.unpack(y) for y in run.y.T]
    return [(pose, space.accelerations(pose)[:, 3:]) for pose in poses]


class _Space:
    """Inertias, springs, and the rows of the joints of a Model."""

    def __init__(self, model: Model) -> None:
        self.names = [name for name in model.bodies if name != model.ground.name]
        bodies = [model.bodies[name] for name in self.names]
        self.number = {name: k for k, name in enumerate(self.names)}
        self.center = np.array([body.center_of_mass for body in bodies])
        self.mass, self.J = np.array([body.mass for body in bodies]), np.array([body.inertia for body in bodies])
        self.gravity = np.array(model.gravity)
        self.points: list[tuple[End, End]] = []  # coincide
        self.crossed: list[tuple[End, End]] = []  # directions stay perpendicular
        for joint in model.joints.values():
            self.add_joint(joint)
        self.rods = [self.ends(rod.between) for rod in model.rods.values()]
        self.springs = [(*self.ends(force.between), force.law, spring_length(force)) for force in model.forces.values()]

    def add_joint(self, joint: Any) -> None:
        """Write the rows of one joint."""
        kind, a, b = joint.type, joint.a, joint.b
        if isinstance(kind, Floating):
            return
        self.points.append((self.end(a, joint.point_a), self.end(b, joint.point_b)))
        if isinstance(kind, Universal):
            pairs = [(kind.axis_a, np.array(kind.axis_b))]
        elif isinstance(kind, Revolute):
            pairs = [(kind.axis, across) for across in null_space(np.array([kind.axis])).T]
        else:
            assert isinstance(kind, Spherical), f"{joint.name}: {kind}"
            pairs = []
        for u, v in pairs:
            on_a = End(self.number.get(a.name, -1), joint.axes_a @ np.array(u))
            self.crossed.append((on_a, End(self.number.get(b.name, -1), joint.axes_b @ v)))

    def end(self, body: Any, point: Array) -> End:
        """Return a point of a body from its mass centre."""
        k = self.number.get(body.name, -1)
        return End(k, point - self.center[k] if k >= 0 else body.world(point))

    def ends(self, markers: Any) -> tuple[End, End]:
        """Return the ends of a rod or spring."""
        return self.end(markers[0].body, markers[0].point), self.end(markers[1].body, markers[1].point)

    def motion_of(self, end: End, pose: Pose) -> tuple[Array, Array, Array, Array]:
        """Return position, velocity, acceleration at zero accelerations, and its derivative by those (3, 6 nb)."""
        derivative = np.zeros((3, 6 * len(self.mass)))
        if end.body < 0:
            return end.local, np.zeros(3), np.zeros(3), derivative
        k, A, w = end.body, pose.A[end.body], pose.w[end.body]
        derivative[:, 6 * k : 6 * k + 3] = np.eye(3)
        derivative[:, 6 * k + 3 : 6 * k + 6] = -A @ cross_matrix(end.local)
        turning = A @ np.cross(w, end.local)
        return pose.x[k] + A @ end.local, pose.v[k] + turning, A @ np.cross(w, np.cross(w, end.local)), derivative

    def direction_of(self, end: End, pose: Pose) -> tuple[Array, Array, Array, Array]:
        """Return the same of a direction."""
        still = pose._replace(x=0 * pose.x, v=0 * pose.v)
        d, rate, rest, derivative = self.motion_of(end, still)
        if end.body >= 0:
            derivative[:, 6 * end.body : 6 * end.body + 3] = 0.0
        return d, rate, rest, derivative

    def constraints(self, pose: Pose) -> tuple[Array, Array]:
        """Return J (m, 6 nb) and gamma (m,) of J a = gamma."""
        rows, right = [np.zeros((0, 6 * len(self.mass)))], [np.zeros(0)]
        for a, b in self.points:
            (_, _, rest_a, J_a), (_, _, rest_b, J_b) = self.motion_of(a, pose), self.motion_of(b, pose)
            rows.append(J_a - J_b)
            right.append(rest_b - rest_a)
        for a, b in self.crossed:
            (u, ud, rest_a, J_a), (v, vd, rest_b, J_b) = self.direction_of(a, pose), self.direction_of(b, pose)
            rows.append((v @ J_a + u @ J_b)[None])
            right.append(np.array([-(rest_a @ v + 2.0 * ud @ vd + u @ rest_b)]))
        for a, b in self.rods:
            (x, xd, rest_a, J_a), (y, yd, rest_b, J_b) = self.motion_of(a, pose), self.motion_of(b, pose)
            rows.append(((y - x) @ (J_b - J_a))[None])
            right.append(np.array([-((yd - xd) @ (yd - xd) + (y - x) @ (rest_b - rest_a))]))
        return np.concatenate(rows), np.concatenate(right)

    def accelerations(self, pose: Pose) -> Array:
        """Return the accelerations (nb, 6): of the mass centres in the world, angular ones in body axes."""
        nb = len(self.mass)
        M, f = np.zeros((6 * nb, 6 * nb)), np.zeros((nb, 6))
        for k in range(nb):
            M[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = self.mass[k] * np.eye(3)
            M[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = self.J[k]
            f[k] = *(self.mass[k] * self.gravity), *(-np.cross(pose.w[k], self.J[k] @ pose.w[k]))
        force = f.ravel()
        for a, b, law, length in self.springs:
            (x, xd, _, J_a), (y, yd, _, J_b) = self.motion_of(a, pose), self.motion_of(b, pose)
            l = np.linalg.norm(y - x)
            e = (y - x) / l
            force = force - (law.stiffness * (l - length) + law.damping * e @ (yd - xd)) * e @ (J_b - J_a)
        J, gamma = self.constraints(pose)
        matrix = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
        answer = np.linalg.lstsq(matrix, np.concatenate([force, gamma]), rcond=1e-13)[0]
        return np.asarray(answer[: 6 * nb].reshape(nb, 6))

    def pack(self, pose: Pose) -> Array:
        q = Rotation.from_matrix(pose.A).as_quat()
        return np.concatenate([part.ravel() for part in (pose.x, q, pose.v, pose.w)])

    def unpack(self, y: Array) -> Pose:
        nb = len(self.mass)
        x, q, v, w = np.split(y, np.cumsum([3 * nb, 4 * nb, 3 * nb]))
        A = Rotation.from_quat(q.reshape(nb, 4)).as_matrix()
        return Pose(x.reshape(nb, 3), A, v.reshape(nb, 3), w.reshape(nb, 3))

    def flow(self, _: float, y: Array) -> Array:
        pose, nb = self.unpack(y), len(self.mass)
        q, a = y[3 * nb : 7 * nb].reshape(nb, 4), self.accelerations(pose)
        turn = 0.5 * np.concatenate(
            [q[:, 3:] * pose.w + np.cross(q[:, :3], pose.w), -np.sum(q[:, :3] * pose.w, axis=1)[:, None]], axis=1
        )
        return np.concatenate([pose.v.ravel(), turn.ravel(), a[:, :3].ravel(), a[:, 3:].ravel()])


def cross_matrix(a: Array) -> Array:
    """Return a~ with a~ b = a x b."""
    return np.cross(np.eye(3), a)


def spring_length(force: Any) -> float:
    """Return the free length of a spring [m]."""
    known = force.law.length
    return float(reference_distance(*force.between) if known is None else known)
