"""An independent reference for spatial mechanisms: Newton and Euler in Cartesian coordinates, DOP853 at 1e-12.

It reads masses, points, axes, forces, drivers and gravity from a Model and shares nothing else with rtmbs. Per body the
mass centre x, a quaternion, v and the angular velocity in body axes; joints as constraints on accelerations,
[M, J^T; J, 0] [a; lam] = [f; gamma], solved by least squares, so that redundant ones do no harm.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation

from rtmbs import (
    Cylindrical,
    Fixed,
    Input,
    Line,
    Model,
    Motor,
    Planar,
    Prismatic,
    Revolute,
    SpringDamper,
    TorsionSpring,
    Universal,
    Wrench,
)
from rtmbs.model.body import reference_distance

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


class Coordinate(NamedTuple):
    """A joint coordinate: b slides along an axis, or turns about it, seen from a."""

    slides: bool
    axis: End  # a direction of a, or the second axis of a Universal, of b
    a: End  # points of the joint
    b: End


def spatial_motion(model: Model, start: Pose, times: ArrayLike, rtol: float = RTOL) -> list[tuple[Pose, Array]]:
    """Return pose and accelerations (nb, 6) at ``times``: of mass centres in the world, angular ones in body axes.

    Joints may be of every type but Screw, with rods, couplers and drivers beside them. Forces are springs, wrenches,
    and motors and torsion springs, whose coordinates start at zero: at the reference pose.
    """
    space = _Space(model)
    wanted = np.asarray(times, dtype=float)
    y, atol = space.pack(start), rtol * ATOL / RTOL
    run = solve_ivp(space.flow, (0.0, wanted[-1]), y, "DOP853", rtol=rtol, atol=atol, t_eval=wanted)
    found = [(t, *space.unpack(y)) for t, y in zip(wanted, run.y.T, strict=True)]
    return [(pose, space.accelerations(t, pose, z)) for t, pose, z in found]


class _Space:
    """Inertias, forces, and the rows of the joints and drivers of a Model."""

    def __init__(self, model: Model) -> None:
        self.names = [name for name in model.bodies if name != model.ground.name]
        bodies = [model.bodies[name] for name in self.names]
        self.number = {name: k for k, name in enumerate(self.names)}
        self.center = np.array([body.center_of_mass for body in bodies])
        self.mass, self.J = np.array([body.mass for body in bodies]), np.array([body.inertia for body in bodies])
        self.gravity = np.array(model.gravity)
        self.points: list[tuple[End, End]] = []  # coincide
        self.crossed: list[tuple[End, End]] = []  # directions stay perpendicular
        self.held: list[Coordinate] = []  # stay as they are
        for joint in model.joints.values():
            self.add_joint(joint)
        self.distances = [(*self.ends(rod.between), constant) for rod in model.rods.values()]
        drivers = model.drivers.values()
        self.distances += [(*self.ends(one.between), one.profile) for one in drivers if one.between]
        self.driven = [(self.coordinate(*one.joint), one.profile) for one in drivers if one.joint]
        self.coupled = [
            [(self.coordinate(joint, number), factor) for joint, number, factor in one.terms]
            for one in model.couplers.values()
        ]
        forces = model.forces.values()
        self.springs = [(*self.ends(one.between), one.law, spring_length(one)) for one in forces if one.between]
        self.loads = [(self.coordinate(*one.joint), one.law) for one in forces if one.joint]
        self.wrenches = [(self.end(one.body, one.point), one.law) for one in forces if one.body]
        laws = {type(one.law) for one in forces}
        assert laws <= {SpringDamper, Motor, TorsionSpring, Wrench}, laws

    def add_joint(self, joint: Any) -> None:
        """Write the rows of one joint."""
        kind = joint.type
        on_a, on_b, a, b = self.parts(joint)
        along = np.array(getattr(kind, "normal", getattr(kind, "axis", (0.0, 0.0, 1.0))))
        across = null_space(along[None]).T
        if isinstance(kind, Line | Cylindrical | Prismatic) or joint.closure == "line":
            self.held += [Coordinate(True, on_a(u), a, b) for u in across]
        elif isinstance(kind, Planar):
            self.held.append(Coordinate(True, on_a(along), a, b))
        elif len(kind.dofs()) < 6:
            self.points.append((a, b))
        if isinstance(kind, Universal):
            self.crossed.append((on_a(kind.axis_a), on_b(kind.axis_b)))
        elif isinstance(kind, Revolute | Cylindrical | Planar) and joint.closure is None:
            self.crossed += [(on_a(along), on_b(v)) for v in across]
        elif isinstance(kind, Prismatic | Fixed):
            self.crossed += [(on_a(u), on_b(v)) for u, v in zip(np.eye(3), np.roll(np.eye(3), -1, 0), strict=True)]

    def coordinate(self, joint: Any, number: int) -> Coordinate:
        """Return one coordinate of a joint."""
        kind = joint.type
        on_a, on_b, a, b = self.parts(joint)
        if isinstance(kind, Universal):
            return Coordinate(False, on_b(kind.axis_b) if number else on_a(kind.axis_a), a, b)
        if isinstance(kind, Planar):
            return Coordinate(number < 2, on_a(plane_axes(np.array(kind.normal))[number]), a, b)
        assert isinstance(kind, Revolute | Prismatic | Cylindrical), f"{joint.name}: {kind}"
        return Coordinate(number == 0 and not isinstance(kind, Revolute), on_a(kind.axis), a, b)

    def parts(self, joint: Any) -> tuple[Any, Any, End, End]:
        """Return functions that give a direction in joint axes to a and to b, and the points of a joint in them."""
        a, b = (self.number.get(body.name, -1) for body in (joint.a, joint.b))
        return (
            lambda u: End(a, joint.axes_a @ np.array(u)),
            lambda v: End(b, joint.axes_b @ np.array(v)),
            self.end(joint.a, joint.point_a),
            self.end(joint.b, joint.point_b),
        )

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

    def rate_of(self, one: Coordinate, pose: Pose) -> tuple[float, float, Array]:
        """Return rate, acceleration at zero accelerations, and its derivative (6 nb,) by those, of a coordinate."""
        axis, turning, rest, J = self.direction_of(one.axis, pose)
        if one.slides:
            (x, xd, rest_a, J_a), (y, yd, rest_b, J_b) = self.motion_of(one.a, pose), self.motion_of(one.b, pose)
            bend = rest @ (y - x) + 2.0 * turning @ (yd - xd) + axis @ (rest_b - rest_a)
            return float(turning @ (y - x) + axis @ (yd - xd)), float(bend), (y - x) @ J + axis @ (J_b - J_a)
        row, spin = np.zeros(6 * len(self.mass)), np.zeros(3)
        for end, sign in ((one.a, -1.0), (one.b, 1.0)):
            if (k := end.body) >= 0:
                row[6 * k + 3 : 6 * k + 6] = sign * (axis @ pose.A[k])
                spin += sign * (pose.A[k] @ pose.w[k])
        return float(axis @ spin), float(turning @ spin), row

    def constraints(self, t: float, pose: Pose) -> tuple[Array, Array]:
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
        for one, profile in [*((one, constant) for one in self.held), *self.driven]:
            _, rest, row = self.rate_of(one, pose)
            rows.append(row[None])
            right.append(np.array([profile(t)[2] - rest]))
        for terms in self.coupled:
            parts = [(factor, *self.rate_of(one, pose)[1:]) for one, factor in terms]
            rows.append(sum(factor * row for factor, _, row in parts)[None])
            right.append(np.array([-sum(factor * rest for factor, rest, _ in parts)]))
        for a, b, profile in self.distances:
            (x, xd, rest_a, J_a), (y, yd, rest_b, J_b) = self.motion_of(a, pose), self.motion_of(b, pose)
            e, ed = (y - x) / np.linalg.norm(y - x), (yd - xd) / np.linalg.norm(y - x)
            rows.append((e @ (J_b - J_a))[None])
            bend = np.linalg.norm(y - x) * (ed @ ed - (e @ ed) ** 2) + e @ (rest_b - rest_a)
            right.append(np.array([profile(t)[2] - bend]))
        return np.concatenate(rows), np.concatenate(right)

    def forces(self, t: float, pose: Pose, z: Array) -> Array:
        """Return the generalised forces (6 nb,) of all laws; ``z`` are the coordinates that some of them act on."""
        force = np.zeros(6 * len(self.mass))
        for a, b, law, length in self.springs:
            (x, xd, _, J_a), (y, yd, _, J_b) = self.motion_of(a, pose), self.motion_of(b, pose)
            l = np.linalg.norm(y - x)
            e = (y - x) / l
            force = force - (law.stiffness * (l - length) + law.damping * e @ (yd - xd)) * e @ (J_b - J_a)
        for (one, law), place in zip(self.loads, z, strict=True):
            rate, _, row = self.rate_of(one, pose)
            if isinstance(law, Motor):
                force = force + value_of(law.value, t) * row
            else:
                force = force - (law.stiffness * (place - law.angle) + law.damping * rate) * row
        for end, law in self.wrenches:
            A, turning = pose.A[end.body], slice(6 * end.body + 3, 6 * end.body + 6)
            push, torque = value_of(law.force, t), value_of(law.torque, t)
            if law.axes == "body":
                push = A @ push
            else:
                torque = A.T @ torque
            force = force + push @ self.motion_of(end, pose)[3]
            force[turning] += torque
        return force

    def accelerations(self, t: float, pose: Pose, z: Array) -> Array:
        """Return the accelerations (nb, 6): of the mass centres in the world, angular ones in body axes."""
        nb = len(self.mass)
        M, f = np.zeros((6 * nb, 6 * nb)), np.zeros((nb, 6))
        for k in range(nb):
            M[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = self.mass[k] * np.eye(3)
            M[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = self.J[k]
            f[k] = *(self.mass[k] * self.gravity), *(-np.cross(pose.w[k], self.J[k] @ pose.w[k]))
        J, gamma = self.constraints(t, pose)
        matrix = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
        right = np.concatenate([f.ravel() + self.forces(t, pose, z), gamma])
        answer = np.linalg.lstsq(matrix, right, rcond=1e-13)[0]
        return np.asarray(answer[: 6 * nb].reshape(nb, 6))

    def pack(self, pose: Pose) -> Array:
        q = Rotation.from_matrix(pose.A).as_quat()
        return np.concatenate([part.ravel() for part in (pose.x, q, pose.v, pose.w, np.zeros(len(self.loads)))])

    def unpack(self, y: Array) -> tuple[Pose, Array]:
        nb = len(self.mass)
        x, q, v, w, z = np.split(y, np.cumsum([3 * nb, 4 * nb, 3 * nb, 3 * nb]))
        A = Rotation.from_quat(q.reshape(nb, 4)).as_matrix()
        return Pose(x.reshape(nb, 3), A, v.reshape(nb, 3), w.reshape(nb, 3)), z

    def flow(self, t: float, y: Array) -> Array:
        (pose, z), nb = self.unpack(y), len(self.mass)
        q, a = y[3 * nb : 7 * nb].reshape(nb, 4), self.accelerations(t, pose, z)
        rates = [self.rate_of(one, pose)[0] for one, _ in self.loads]
        turn = 0.5 * np.concatenate(
            [q[:, 3:] * pose.w + np.cross(q[:, :3], pose.w), -np.sum(q[:, :3] * pose.w, axis=1)[:, None]], axis=1
        )
        return np.concatenate([pose.v.ravel(), turn.ravel(), a[:, :3].ravel(), a[:, 3:].ravel(), rates])


def cross_matrix(a: Array) -> Array:
    """Return a~ with a~ b = a x b."""
    return np.cross(np.eye(3), a)


def spring_length(force: Any) -> float:
    """Return the free length of a spring [m]."""
    known = force.law.length
    return float(reference_distance(*force.between) if known is None else known)


def constant(t: float) -> tuple[float, float, float]:
    """Return value, rate and acceleration of what stays as it is."""
    return 0.0, 0.0, 0.0


def value_of(value: Any, t: float) -> Any:
    """Return a number, or that of a function of time or of an Input."""
    found = value(t) if callable(value) else value.default if isinstance(value, Input) else value
    return np.asarray(found, dtype=float)


def plane_axes(normal: Array) -> tuple[Array, Array, Array]:
    """Return x, the base vector that the normal has least of, made perpendicular, y = normal cross x, and normal."""
    x = np.eye(3)[np.argmin(np.abs(normal))]
    x = x - (x @ normal) * normal
    x = x / np.linalg.norm(x)
    return x, np.cross(normal, x), normal
