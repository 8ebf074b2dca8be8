"""Coordinates q and rates v of a robot, and the elementary coordinates z of its System.

q lists the joints of the tree in the order of their degrees of freedom: the coordinates of a joint, the quaternion
(w, x, y, z) of a ball joint, or x, y, z and the quaternion of a floating joint, as ``Model.set_initial`` takes them. v
lists their rates: a ball joint has the angular velocity of its second body in axes of that body, a floating joint the
rates of x, y, z before it. Where the tree walks a ball from its second body, the angular velocity is in axes of the
first one, which the ball carries. zd = T v with a constant T. Rotors are massless bodies that a coupler turns with one
joint. They have no place in q and v, and T has a row for each of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import InputError, shown, with_count
from rtmbs.model.body import GROUND
from rtmbs.model.description import ModelDescription
from rtmbs.numerics.rotations.quaternions import product, quaternions
from rtmbs.robotics.kernels import StateMap
from rtmbs.semirecursive.passes import commit_rotations
from rtmbs.system.system import System

Array = NDArray[np.float64]

TURNING = 3  # rates of a ball joint
PLAIN = np.dtype(np.float64)


@dataclass(frozen=True)
class JointPlace:
    """Place of a joint in q and v."""

    name: str
    q: slice
    v: slice
    dofs: tuple[int, ...]
    turns: bool  # its last four numbers are a quaternion
    reference: int  # of its R0; -1 without a quaternion
    at_zero: Array  # (3, 3) body b to body a at the identity of R0
    backwards: bool  # the tree walks a ball from b to a

    def orientation(self, R0: Array) -> Array:
        """Return body b to body a (3, 3)."""
        return np.asarray(R0.T @ self.at_zero if self.backwards else self.at_zero @ R0)


class Coordinates:
    """Places of all joints, the matrix T, and the integration of rates."""

    def __init__(self, model: ModelDescription, system: System) -> None:
        self.system, self.rotors = system, rotors_of(model)
        moving = [
            one for one in system.joints.values() if one.dofs != (-1,) and one.dofs and one.name not in self.rotors
        ]
        self.places: list[JointPlace] = []
        nq = nv = 0
        for info in sorted(moving, key=lambda one: one.dofs[0]):
            turns = info.kind.turns_freely
            if turns and info.reversed and info.kind.start == "pose":
                raise InputError(
                    f"joint {info.name!r} floats and the tree walks it backwards; swap the bodies a and b of it"
                )
            wide = len(info.dofs) + turns
            first = info.dofs[-TURNING] if turns else -1
            reference = int(system.tables.dofs.reference[first]) if turns else -1
            place = JointPlace(
                info.name, slice(nq, nq + wide), slice(nv, nv + len(info.dofs)), info.dofs, turns, reference,
                info.frame_a @ info.frame_b.T, bool(turns and info.reversed),
            )  # fmt: skip
            self.places.append(place)
            nq, nv = nq + wide, nv + len(info.dofs)
        self.nq, self.nv = nq, nv
        self.rate_names = [place.name for place in self.places for _ in place.dofs]
        self.T = self.rates_matrix()
        identity = self.T.shape == (nv, nv) and np.array_equal(self.T, np.eye(nv))
        self.index()
        self.plain = bool(identity and not any(one.turns for one in self.places))

    def rates_matrix(self) -> Array:
        """Return T (n, nv)."""
        system, T = self.system, np.zeros((self.system.n, self.nv))
        for place in self.places:
            plain = len(place.dofs) - TURNING * place.turns
            for k, dof in enumerate(place.dofs[:plain]):
                T[dof, place.v.start + k] = 1.0
            if place.turns:
                R, sign = self.carried(place), -1.0 if place.backwards else 1.0
                for dof in place.dofs[plain:]:  # rates of z are along the principal axes of the body
                    T[dof, place.v.start + plain : place.v.stop] = sign * R.T @ system.tables.dofs.axis[dof]
        by_name = {place.name: place for place in self.places}
        for rotor, (joint, k, ratio) in self.rotors.items():
            T[system.joints[rotor].dofs[0]] = ratio * T[by_name[joint].dofs[k]]
        return T

    def carried(self, place: JointPlace) -> Array:
        """Return the rotation (3, 3) of the body that a joint carries, to axes of its dof."""
        joint = self.system.joints[place.name]
        return self.system.bodies[joint.a if place.backwards else joint.b].rotation

    def neutral(self) -> Array:
        """Return q (nq,) with zero coordinates; a body on a free joint stands at its reference orientation."""
        q = np.zeros(self.nq)
        for place in self.places:
            if place.turns:
                q[place.q.stop - 4 : place.q.stop] = quaternion_of(place.at_zero)
        return q

    def index(self) -> None:
        """Keep the places of plain coordinates, quaternions and rotors for ``write``."""
        places: list[tuple[int, int]] = []
        self.turning: list[tuple[int, int, Array | None, float]] = []
        for place in self.places:
            plain = len(place.dofs) - TURNING * place.turns
            places += [(dof, place.q.start + k) for k, dof in enumerate(place.dofs[:plain])]
            if place.turns:
                turned = place.at_zero if place.backwards else place.at_zero.T
                given = None if np.array_equal(turned, np.eye(3)) else turned
                self.turning.append((place.q.stop - 4, place.reference, given, -1.0 if place.backwards else 1.0))
        self.plain_dofs, self.plain_q = np.array(places, np.int64).reshape(-1, 2).T.copy()
        by_name = {place.name: place for place in self.places}
        rotors = [(self.system.joints[rotor].dofs[0], by_name[joint].dofs[k], ratio)
                  for rotor, (joint, k, ratio) in self.rotors.items()]  # fmt: skip
        self.rotor_dofs = np.array([one[0] for one in rotors], np.int64)
        self.driven_dofs = np.array([one[1] for one in rotors], np.int64)
        self.ratios = np.array([one[2] for one in rotors], np.float64)

    def state_map(self) -> StateMap:
        """Return the tables by which kernels take q and v."""
        T, n = csr_array(self.T), self.system.n
        starts = np.array([one[0] for one in self.turning], np.int64)
        references = np.array([one[1] for one in self.turning], np.int64)
        senses = np.array([one[3] for one in self.turning], np.float64)
        turns = np.array([np.eye(3) if one[2] is None else one[2] for one in self.turning], float).reshape(-1, 3, 3)
        counted = np.ones(n, np.int64)
        counted[self.rotor_dofs] = 0
        return StateMap(
            self.plain_dofs, self.plain_q, self.rotor_dofs, self.driven_dofs, self.ratios, starts, references, turns,
            senses, T.indptr.astype(np.int64), T.indices.astype(np.int64), T.data.astype(np.float64), counted,
        )  # fmt: skip

    def write(self, q: Array, z: Array, R0: Array) -> None:
        """Write z (n,) and R0 of a pose q (nq,); InputError for a zero quaternion."""
        z.fill(0.0)
        z[self.plain_dofs] = q[self.plain_q]
        if len(self.rotor_dofs):
            z[self.rotor_dofs] = self.ratios * z[self.driven_dofs]
        for start, reference, turned, sense in self.turning:
            w, *axis = q[start : start + 4].tolist()
            R = rotation_rows(w, *(sense * one for one in axis))
            R0[reference] = R if turned is None else turned @ np.array(R)

    def read(self, z: Array, R0: Array) -> Array:
        """Return q (nq,) of elementary coordinates and reference rotations; neither is changed."""
        q, z, R0 = np.zeros(self.nq), z.copy(), R0.copy()
        if len(R0):
            commit_rotations(self.system.tables.dofs, z, R0)
        for place in self.places:
            plain = len(place.dofs) - TURNING * place.turns
            q[place.q.start : place.q.start + plain] = z[list(place.dofs[:plain])]
            if place.turns:
                q[place.q.stop - 4 : place.q.stop] = quaternion_of(place.orientation(R0[place.reference]))
        return q

    def integrate(self, q: Array, v: Array) -> Array:
        """Return q (nq,) after the rates v (nv,) for a unit of time."""
        found = np.array(q, float)
        for place in self.places:
            rates = v[place.v]
            plain = len(rates) - TURNING * place.turns
            found[place.q.start : place.q.start + plain] += rates[:plain]
            if place.turns:
                last = slice(place.q.stop - 4, place.q.stop)
                turn = exponential(rates[plain:])
                turned = product(turn, found[last]) if place.backwards else product(found[last], turn)
                found[last] = turned / np.linalg.norm(turned)
        return found

    def difference(self, first: Array, second: Array) -> Array:
        """Return the rates (nv,) that lead from one pose to another in a unit of time."""
        found = np.zeros(self.nv)
        for place in self.places:
            plain = len(place.dofs) - TURNING * place.turns
            start, end = first[place.q], second[place.q]
            found[place.v.start : place.v.start + plain] = end[:plain] - start[:plain]
            if place.turns:
                back = start[plain:] * (1.0, -1.0, -1.0, -1.0) / (start[plain:] @ start[plain:])
                turn = product(end[plain:], back) if place.backwards else product(back, end[plain:])
                found[place.v.start + plain : place.v.stop] = logarithm(turn)
        return found

    def rows(self, values: Any, count: int, what: str) -> Array:
        """Return numbers (k, count), contiguous, of (count,) or (k, count); InputError for another shape.

        Kernels refuse those that are not finite, which costs nothing there.
        """
        found = real(values, count, what)
        if found.ndim == 1 and len(found) == count:
            return found[None]
        if found.ndim != 2 or found.shape[1] != count:
            raise InputError(f"{what} has shape {found.shape}; it must be ({count},), or (k, {count}) for k states")
        return found

    def finite_rows(self, values: Any, count: int, what: str) -> Array:
        """Return numbers (k, count) that no kernel looks at; InputError where they are not finite."""
        found = self.rows(values, count, what)
        if fault := not_finite(found, what):
            raise InputError(fault)
        return found

    def checked(self, values: Any, count: int, what: str) -> Array:
        """Return finite numbers (count,); InputError for another shape."""
        found = real(values, count, what)
        if found.shape != (count,):
            raise InputError(f"{what} has shape {found.shape}; it must be {with_count(count, 'number')}")
        if not np.abs(found).max(initial=0.0) <= BEYOND and (fault := not_finite(found[None], what)):
            raise InputError(fault)
        return found


def real(values: Any, count: int, what: str) -> Array:
    """Return a contiguous array of real numbers; InputError for anything else."""
    try:
        found = np.asarray(values, order="C")
        if found.dtype is PLAIN:
            return found
        if found.dtype.kind in "biufO":
            return found.astype(PLAIN)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{what} is {shown(values)}; it must be {with_count(count, 'real number')}")


def not_finite(states: Array, what: str) -> str:
    """Return the fault of a number of states (k, count) that is not finite, empty without one."""
    bad = np.argwhere(~(np.abs(states) <= BEYOND))
    if not len(bad):
        return ""
    s, entry = bad[0]
    return f"{what}{of_state(states, s)}: entry {entry} is {states[s, entry]}; it must be finite and at most 1e100"


def of_state(states: Array, s: int) -> str:
    """Return words for a state of several."""
    return f" of state {s}" if len(states) > 1 else ""


def rotors_of(model: ModelDescription) -> dict[str, tuple[str, int, float]]:
    """Return the joint, the number of its coordinate and the ratio that each rotor turns with.

    A rotor is a massless body on ground that one coupler without offset joins to one coordinate, and nothing else.
    """
    used: dict[str, int] = {}
    for joint in model.joints.values():
        for end in (joint.a.name, joint.b.name):
            used[end] = used.get(end, 0) + 1
    held = {marker.body.name for marker in model.markers.values()}
    coupled = [joint.name for one in model.couplers.values() for joint, _, _ in one.terms]
    forced = {force.joint[0].name for force in model.forces.values() if force.joint is not None}
    forced |= {joint.name for force in model.forces.values() for joint, _ in force.joints or ()}
    found: dict[str, tuple[str, int, float]] = {}
    for coupler in model.couplers.values():
        if len(coupler.terms) != 2 or callable(coupler.offset) or coupler.offset != 0.0:
            continue
        for rotor, driven in (coupler.terms, coupler.terms[::-1]):
            joint, body = rotor[0], rotor[0].b
            alone = used[body.name] == 1 and body.name not in held and coupled.count(joint.name) == 1
            free = joint.name not in forced and joint.name not in {one.joint[0].name for one in drivers_of(model)}
            if joint.a.name == GROUND and body.mass == 0.0 and alone and free and len(joint.type.dofs()) == 1:
                found[joint.name] = driven[0].name, driven[1], -driven[2] / rotor[2]
                break
    return found


def drivers_of(model: ModelDescription) -> list[Any]:
    """Return the drivers of joint coordinates."""
    return [one for one in model.drivers.values() if one.joint is not None]


def rotor_rows(system: System, model: ModelDescription, rotors: dict[str, Any]) -> NDArray[np.bool_]:
    """Return which loop equations (m,) are couplers of rotors, which hold by themselves."""
    names = {name for name, one in model.couplers.items() if any(joint.name in rotors for joint, _, _ in one.terms)}
    closures = [system.closure_names[k] if k >= 0 else "" for k in system.closure_of_row]
    return np.array([name in names for name in closures], np.bool_)


def rotation_rows(w: float, x: float, y: float, z: float) -> tuple[tuple[float, ...], ...]:
    """Return the rows of the rotation of a quaternion of any length but zero; plain numbers take the least time."""
    square = w * w + x * x + y * y + z * z
    if square == 0.0:
        raise InputError("q has a zero quaternion; no rotation is (1, 0, 0, 0)")
    k = 2.0 / square
    return (
        (1.0 - k * (y * y + z * z), k * (x * y - w * z), k * (x * z + w * y)),
        (k * (x * y + w * z), 1.0 - k * (x * x + z * z), k * (y * z - w * x)),
        (k * (x * z - w * y), k * (y * z + w * x), 1.0 - k * (x * x + y * y)),
    )


def exponential(turn: Array) -> Array:
    """Return the quaternion (w, x, y, z) of a rotation vector (3,)."""
    angle = float(np.linalg.norm(turn))
    return np.array([np.cos(0.5 * angle), *(0.5 * np.sinc(0.5 * angle / np.pi) * turn)])


def logarithm(x: Array) -> Array:
    """Return the rotation vector (3,) of a quaternion (w, x, y, z), of half a turn at most."""
    x = -x if x[0] < 0.0 else x
    sine = float(np.linalg.norm(x[1:]))
    return np.asarray(x[1:] * (2.0 * np.arctan2(sine, x[0]) / sine if sine > 0.0 else 0.0))


def quaternion_of(R: Array) -> Array:
    """Return the quaternion (w, x, y, z) of a rotation (3, 3)."""
    return np.asarray(quaternions(R[None])[0])
