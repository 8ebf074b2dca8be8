"""The bodies of a Model without their joints, under its forces, couplers and constraints, by the compiled kernels.

A body floats without mass: slides along the world's axes, and a rotation R0 = R(e) with rates in body axes. A joint
with a coordinate that something acts on stands between ground and a weightless body of its own, so the coordinate is
free too, and counts turns. With zd = T v, the generalised forces are T^T Q, and the rows have Phi_q = Phi_z T.
"""

import copy
from collections.abc import Container, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.kinematics.elements import JointCoordinate
from rtmbs.model import Body, Floating, Joint, Model
from rtmbs.model.description import characteristic_length
from rtmbs.numerics.rotations.quaternions import rotations, world_rates
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.system import System, compile

Array = NDArray[np.float64]
Coordinate = tuple[Joint, int]


class FreeBodies:
    """Applied forces, couplers and constraints of a Model at poses of its bodies.

    ``measured`` are the joint coordinates that are unknowns of their own. In q they follow the seven coordinates of
    each body, ground among them, and the coordinates of joints that cannot be read off the bodies. ``s`` (ns,) are the
    states of force laws, at first those of the Model.
    """

    def __init__(self, model: Model) -> None:
        for name in model.contact_sets:
            raise InputError(f"a formulation looks for no pairs that come near; contacts {name!r} need a Simulation")
        model = with_coordinates_of_the_tree(model)
        acted_on = list(dict.fromkeys(coordinates_acted_on(model)))
        free, floating = model_of_free_bodies(model, acted_on)
        system = compile(free, characteristic_length(model))
        self.equations = SemiRecursiveEquations(system)
        known = unknown_coordinates(model)
        measured = [one for one in acted_on if one not in known]
        self.measured = [JointCoordinate(coordinate_name(one), *coordinate_key(one)) for one in measured]
        self.s: Array = system.s0
        self.m, self.row_names = self.equations.m, list(system.row_names)
        self.count = len(floating) + 1
        place = {one: SIZE * self.count + k for k, one in enumerate([*known, *measured])}
        self.places = np.array([place[one] for one in acted_on], np.int64)  # in q
        places = np.array([system.joints[name].dofs for name in floating], np.int64).reshape(-1, 6)
        self.slides, self.turns = places[:, :3], places[:, 3:]
        self.reference = system.tables.dofs.reference[places[:, 3]]
        self.dofs = np.array([system.joints[joint.name].dofs[k] for joint, k in acted_on], np.int64)

    @property
    def system(self) -> System:
        """The compiled mechanism, whose inputs have their names."""
        return self.equations.compiled

    def force(self, q: Array, v: Array, t: float) -> Array:
        """Return the generalised forces (n,) of all that acts, gravity left out."""
        self.equations.at(t)
        T = self.rates(q)
        z, R0 = self.pose(q)
        hold_states(self.s, self.equations.ws)
        return np.asarray(T.T @ self.equations.force(z, T @ v, R0))

    def state_rates(self, q: Array, v: Array, t: float) -> Array:
        """Return the rates (ns,) of the states ``s``."""
        self.force(q, v, t)
        return self.equations.ws.state_rate.copy()

    def constraints(self, q: Array, t: float) -> Array:
        """Return Phi (m,) of constraints and couplers."""
        if not self.m:
            return np.zeros(0)
        self.close(q, t)
        return self.equations.ws.Phi.copy()

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        """Return Phi_q (m, n)."""
        if not self.m:
            return np.zeros((0, len(q)))
        self.close(q, t)
        return np.asarray(self.equations.closure_jacobian() @ self.rates(q))

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return Phi_t and gamma (m,)."""
        if not self.m:
            return np.zeros(0), np.zeros(0)
        self.close(q, t)
        Phi_t, zd = self.equations.closure_velocities(np.zeros(self.equations.n)), self.rates(q) @ v
        return Phi_t, -self.equations.closure_accelerations(zd, self.bends(q, v, zd))

    def close(self, q: Array, t: float) -> None:
        """Evaluate the rows at rest."""
        self.equations.at(t)
        z, R0 = self.pose(q)
        still = np.zeros_like(z)
        self.equations.evaluate(z, still, still, R0)

    def pose(self, q: Array) -> tuple[Array, Array]:
        """Return coordinates z (nz,) and rotations R0 (nb - 1, 3, 3) of the free bodies."""
        bodies, z = self.bodies(q), np.zeros(self.equations.n)
        z[self.slides], z[self.dofs] = bodies[:, :3], q[self.places]
        R0, e = np.empty_like(self.system.R0), bodies[:, 3:]
        R0[self.reference] = rotations(e / np.linalg.norm(e, axis=1, keepdims=True))
        return z, R0

    def rates(self, q: Array) -> Array:
        """Return T (nz, n) with zd = T v: R(e) is that of e / |e|, so that T is exact off the norm as well."""
        e, T = self.bodies(q)[:, 3:], np.zeros((self.equations.n, len(q)))
        square = np.sum(e * e, axis=1)[:, None, None]
        R = rotations(e / np.sqrt(square[:, 0]))
        turning = np.swapaxes(R, 1, 2) @ world_rates(e) / square
        first = SIZE * (1 + np.arange(self.count - 1))[:, None]
        T[self.slides, first + np.arange(3)] = 1.0
        T[self.turns[:, :, None], first[:, :, None] + np.arange(3, SIZE)] = turning
        T[self.dofs, self.places] = 1.0
        return T

    def bends(self, q: Array, v: Array, zd: Array) -> Array:
        """Return dT/dt v (nz,), which is zero where v keeps the norms."""
        e, ed, found = self.bodies(q)[:, 3:], self.bodies(v)[:, 3:], np.zeros_like(zd)
        growth = 2.0 * np.sum(e * ed, axis=1) / np.sum(e * e, axis=1)
        found[self.turns] = -growth[:, None] * zd[self.turns]
        return found

    def bodies(self, q: Array) -> Array:
        """Return the coordinates (nb - 1, 7) of all bodies but ground."""
        return q[SIZE : SIZE * self.count].reshape(-1, SIZE)


def with_coordinates_of_the_tree(model: Model) -> Model:
    """Return the model with coordinates in place of ``joints="all"``: those of the tree that ``compile`` chooses."""
    if all(force.joints != () for force in model.forces.values()):
        return model
    found, joints = copy.copy(model), compile(model).joints
    tree = tuple(
        (joint, k)
        for name, joint in model.joints.items()
        if joints[name].in_tree
        for k in range(len(joint.type.coordinates))
    )
    found.forces = {
        name: replace(force, joints=tree) if force.joints == () else force for name, force in model.forces.items()
    }
    return found


def coordinates_acted_on(model: Model) -> Iterator[Coordinate]:
    """Yield the joint coordinates that forces, couplers and constraints of a model act on."""
    for force in model.forces.values():
        yield from (force.joint,) if force.joint else force.joints or ()
    for coupler in model.couplers.values():
        yield from ((joint, k) for joint, k, _ in coupler.terms)
    for constraint in model.constraints.values():
        yield from constraint.joints


def unknown_coordinates(model: Model) -> list[Coordinate]:
    """Return the coordinates that a kinematic analysis has as unknowns: they cannot be read off the bodies."""
    joints = [joint for joint in model.joints.values() if joint.type.obstacle()]
    return [(joint, k) for joint in joints for k in range(len(joint.type.coordinates))]


def model_of_free_bodies(model: Model, acted_on: list[Coordinate]) -> tuple[Model, list[str]]:
    """Return the model with free bodies and free joint coordinates, and the names of the joints that free bodies."""
    free = copy.copy(model)
    free.bodies, free.joints, free.rods, free.drivers = {model.ground.name: model.ground}, {}, {}, {}
    floating = []
    for body in list(model.bodies.values())[1:]:
        floating.append(new_name(body.name, model.joints))
        free.bodies[body.name] = weightless = replace(body, mass=0.0, inertia=np.zeros((3, 3)))
        free.joints[floating[-1]] = floating_joint(model.ground, weightless, floating[-1])
    for joint in dict.fromkeys(joint for joint, _ in acted_on):
        name = new_name(joint.name, free.bodies)
        free.bodies[name] = replace(model.ground, name=name)
        free.joints[joint.name] = replace(joint, a=model.ground, b=free.bodies[name], cut=False, closure=None)
    free.initials = {
        name: replace(initial, joint=free.joints[name])
        for name, initial in model.initials.items()
        if name in free.joints
    }
    return free, floating


def floating_joint(ground: Body, body: Body, name: str) -> Joint:
    """Return the joint that lets a body float: zero where its frame is that of ground."""
    return Joint(name, Floating(), ground, body, np.zeros(3), np.zeros(3), np.eye(3), np.eye(3), False, None)


def new_name(name: str, taken: Container[str]) -> str:
    """Return a name like ``name`` that is not taken."""
    while name in taken:
        name += "'"
    return name


def coordinate_key(coordinate: Coordinate) -> tuple[str, str]:
    """Return the names of the joint and of its coordinate."""
    joint, k = coordinate
    return joint.name, joint.type.coordinates[k]


def coordinate_name(coordinate: Coordinate) -> str:
    return ".".join(coordinate_key(coordinate))
