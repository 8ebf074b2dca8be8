"""Dynamics of a Model with an open tree in plain NumPy: bodies one by one, velocities by unit rates.

The reference of ``bench.campaigns.written_robots``. It takes q and v as ``rtmbs.Robot`` documents them. A joint is the
pose of body b in body a, whichever the tree comes to first. Rates of velocities are differences of fourth order.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs import Model
from rtmbs.numerics.rotations.quaternions import rotations

Array = NDArray[np.float64]

STEP = 1e-3  # [s] of differences
FOURTH = ((-2, 1.0 / 12.0), (-1, -8.0 / 12.0), (1, 8.0 / 12.0), (2, -1.0 / 12.0))  # steps and factors of a slope
WIDE = {"Spherical": (4, 3), "Floating": (7, 6), "Planar": (3, 3), "Universal": (2, 2), "Fixed": (0, 0)}


class Branch(NamedTuple):
    """A joint of the tree."""

    joint: Any
    backwards: bool
    q: slice
    v: slice


class State(NamedTuple):
    """Poses and velocities of bodies by name, in the world."""

    R: dict[str, Array]
    p: dict[str, Array]  # [m]
    w: dict[str, Array]  # [rad/s]
    u: dict[str, Array]  # of the origin [m/s]


class OwnTree:
    """Tree of a Model whose other joints close loops; ``names`` are the joints of q in their order."""

    def __init__(self, model: Model, inside: set[str], names: list[str], armature: dict[str, float]) -> None:
        self.model, self.branches, reached = model, [], {"ground"}
        self.inside = inside
        nq = nv = 0
        places = {}
        for name in names:
            a, b = WIDE.get(type(model.joints[name].type).__name__, (1, 1))
            places[name] = slice(nq, nq + a), slice(nv, nv + b)
            nq, nv = nq + a, nv + b
        self.nq, self.nv, nothing = nq, nv, (slice(0, 0), slice(0, 0))
        self.armature = np.zeros(nv)
        for name, inertia in armature.items():
            self.armature[places[name][1]] = inertia
        for _ in model.joints:
            for name in inside:
                joint = model.joints[name]
                if (joint.a.name in reached) != (joint.b.name in reached):
                    backwards = joint.b.name in reached
                    reached |= {joint.a.name, joint.b.name}
                    self.branches.append(Branch(joint, backwards, *places.get(name, nothing)))
        bodies = [model.bodies[name] for name in model.bodies if name in reached]
        self.heavy = [one for one in bodies if one.mass or one.inertia.any()]

    def state(self, q: Array, v: Array) -> State:
        """Return poses and velocities."""
        found = State({"ground": np.eye(3)}, {"ground": np.zeros(3)}, {"ground": np.zeros(3)}, {"ground": np.zeros(3)})
        R, p, w, u = found
        for one in self.branches:
            joint, a, b = one.joint, one.joint.a.name, one.joint.b.name
            turn, way, spin, slide = relative(joint, q[one.q], v[one.v], one.backwards)
            A, B = np.array(joint.axes_a), np.array(joint.axes_b)
            turn, way, spin, slide = A @ turn @ B.T, A @ way, A @ spin, A @ slide  # in axes of a
            if type(joint.type).__name__ in ("Spherical", "Floating"):
                turn = rotations(q[one.q][-4:] / np.linalg.norm(q[one.q][-4:]))
                spin = v[one.v][-3:] if one.backwards and len(v[one.v]) == 3 else turn @ v[one.v][-3:]
            if one.backwards:
                R[a] = R[b] @ turn.T
                w[a] = w[b] - R[a] @ spin
                arm_b, arm_a = R[b] @ joint.point_b, R[a] @ (joint.point_a + way)
                p[a] = p[b] + arm_b - arm_a
                u[a] = u[b] + np.cross(w[b], arm_b) - np.cross(w[a], arm_a) - R[a] @ slide
            else:
                R[b] = R[a] @ turn
                w[b] = w[a] + R[a] @ spin
                arm_a, arm_b = R[a] @ (joint.point_a + way), R[b] @ joint.point_b
                p[b] = p[a] + arm_a - arm_b
                u[b] = u[a] + np.cross(w[a], arm_a) + R[a] @ slide - np.cross(w[b], arm_b)
        return found

    def momenta(self, at: State) -> Array:
        """Return momentum and angular momentum about the own mass centre of every body, (6 bodies,)."""
        found = []
        for body in self.heavy:
            n, R = body.name, at.R[body.name]
            found.append(body.mass * (at.u[n] + np.cross(at.w[n], R @ body.center_of_mass)))
            found.append(R @ body.inertia @ R.T @ at.w[n])
        return np.concatenate(found)

    def motions(self, at: State) -> Array:
        """Return velocity of the mass centre and angular velocity of every body, (6 bodies,)."""
        found = []
        for body in self.heavy:
            n = body.name
            found += [at.u[n] + np.cross(at.w[n], at.R[n] @ body.center_of_mass), at.w[n]]
        return np.concatenate(found)

    def columns(self, q: Array, what: Callable[[State], Array]) -> Array:
        """Return what unit rates give, one column each."""
        return np.array([what(self.state(q, unit)) for unit in np.eye(self.nv)]).T

    def mass_matrix(self, q: Array) -> Array:
        """Return M (nv, nv)."""
        return self.columns(q, self.motions).T @ self.columns(q, self.momenta) + np.diag(self.armature)

    def bias(self, q: Array, v: Array) -> Array:
        """Return Coriolis and centrifugal forces and weight (nv,)."""
        weight = np.concatenate([[*(one.mass * np.array(self.model.gravity)), 0, 0, 0] for one in self.heavy])
        return self.columns(q, self.motions).T @ (self.slope(q, v, self.momenta) - weight)

    def slope(self, q: Array, v: Array, what: Callable[[State], Array]) -> Array:
        """Return the rate of change of a quantity along constant rates v."""
        parts = [factor * what(self.state(self.moved(q, k * STEP * v), v)) for k, factor in FOURTH]
        return np.asarray(sum(parts) / STEP)

    def moved(self, q: Array, way: Array) -> Array:
        """Return the pose after rates for a unit of time, which may be small."""
        found = q.copy()
        for one in self.branches:
            rates = way[one.v]
            if type(one.joint.type).__name__ not in ("Spherical", "Floating"):
                found[one.q] += rates
                continue
            found[one.q.start : one.q.stop - 4] += rates[:-3]
            angle = float(np.linalg.norm(rates[-3:]))
            turn = np.array([np.cos(angle / 2), *(np.sinc(angle / 2 / np.pi) / 2 * rates[-3:])])
            old = found[one.q.stop - 4 : one.q.stop]
            found[one.q.stop - 4 : one.q.stop] = times(turn, old) if one.backwards else times(old, turn)
        return found

    # ---- loops -------------------------------------------------------------------------------------------------------

    def loop_rates(self, at: State) -> Array:
        """Return the rates of what closed loops hold: zero along motions that keep them closed."""
        found = [np.zeros(0)]
        for joint in self.model.joints.values():
            if joint.name in self.inside or type(joint.type).__name__ == "Floating":
                continue
            kind, a, b = type(joint.type).__name__, joint.a.name, joint.b.name
            arms = at.R[a] @ joint.point_a, at.R[b] @ joint.point_b
            gap, A = at.p[b] + arms[1] - at.p[a] - arms[0], at.R[a] @ joint.axes_a
            slide = at.u[b] + np.cross(at.w[b], arms[1]) - at.u[a] - np.cross(at.w[a], arms[0])
            slide, spin = A.T @ (slide - np.cross(at.w[a], gap)), A.T @ (at.w[b] - at.w[a])
            if kind in ("Revolute", "Prismatic"):
                across = np.linalg.svd(np.array(joint.type.axis)[None])[2][1:]
                slide, spin = (slide, across @ spin) if kind == "Revolute" else (across @ slide, spin)
            if kind == "Universal":
                second = A.T @ at.R[b] @ joint.axes_b @ unit(joint.type.axis_b)
                spin = np.array([np.cross(unit(joint.type.axis_a), second) @ spin])
            found += [slide] if kind == "Spherical" else [slide, spin]
        return np.concatenate(found)

    def facing(self, q: Array) -> bool:
        """Return whether axes of loops point the same way in both bodies: products of axes vanish either way."""
        at, cosines = self.state(q, np.zeros(self.nv)), [1.0]
        for joint in self.model.joints.values():
            kind = type(joint.type).__name__
            if joint.name not in self.inside and kind in ("Revolute", "Prismatic", "Fixed"):
                axes = [unit(joint.type.axis)] if kind == "Revolute" else list(np.eye(3))
                A, B = at.R[joint.a.name] @ joint.axes_a, at.R[joint.b.name] @ joint.axes_b
                cosines += [float((A @ axis) @ (B @ axis)) for axis in axes]
        return min(cosines) > 0.0

    def gear_rates(self) -> Array:
        """Return the rows (couplers, nv) of couplers between coordinates of the tree; rotors are no coordinates."""
        rows, places = [], {one.joint.name: one.v.start for one in self.branches}
        for coupler in self.model.couplers.values():
            if all(joint.name in places for joint, _, _ in coupler.terms):
                row = np.zeros(self.nv)
                for joint, k, factor in coupler.terms:
                    row[places[joint.name] + k] += factor
                rows.append(row)
        return np.array(rows).reshape(-1, self.nv)

    def accelerations(self, q: Array, v: Array, tau: Array) -> Array:
        """Return a (nv,) at closed loops, by M a + J^T lam = tau - h and J a = - dJ/dt v of least norm."""
        gears = self.gear_rates()
        M, J = self.mass_matrix(q), np.vstack((self.columns(q, self.loop_rates).reshape(-1, self.nv), gears))
        drift = np.concatenate((self.slope(q, v, self.loop_rates), np.zeros(len(gears))))
        K = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
        return np.asarray(
            np.linalg.lstsq(K, np.concatenate((tau - self.bias(q, v), -drift)), rcond=1e-11)[0][: self.nv]
        )


def times(x: Array, y: Array) -> Array:
    """Return the product of two quaternions (w, x, y, z)."""
    return np.array([x[0] * y[0] - x[1:] @ y[1:], *(x[0] * y[1:] + y[0] * x[1:] + np.cross(x[1:], y[1:]))])


def about(axis: Array, angle: float) -> Array:
    """Return the rotation about a unit axis, after Rodrigues."""
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K)


def unit(axis: Any) -> Array:
    """Return the unit vector of a direction."""
    return np.array(axis, float) / np.linalg.norm(axis)


def relative(joint: Any, q: Array, v: Array, backwards: bool) -> tuple[Array, Array, Array, Array]:
    """Return turn and way of frame b in frame a, and their rates; a free turn is left to the caller."""
    kind, none = type(joint.type).__name__, np.zeros(3)
    if kind == "Revolute":
        axis = unit(joint.type.axis)
        return about(axis, q[0]), none, v[0] * axis, none
    if kind == "Prismatic":
        axis = unit(joint.type.axis)
        return np.eye(3), q[0] * axis, none, v[0] * axis
    if kind == "Screw":
        axis, lead = unit(joint.type.axis), joint.type.pitch / (2.0 * np.pi)
        return about(axis, q[0]), q[0] * lead * axis, v[0] * axis, v[0] * lead * axis
    if kind == "Universal":
        one, two = unit(joint.type.axis_a), unit(joint.type.axis_b)
        first = about(one, q[0])
        return first @ about(two, q[1]), none, v[0] * one + v[1] * first @ two, none
    if kind == "Planar":
        n = unit(joint.type.normal)
        least = np.eye(3)[int(np.argmin(np.abs(n)))]
        x = unit(least - (least @ n) * n)
        y = np.cross(n, x)
        return about(n, q[2]), q[0] * x + q[1] * y, v[2] * n, v[0] * x + v[1] * y
    return np.eye(3), q[:3] if kind == "Floating" else none, none, v[:3] if kind == "Floating" else none
