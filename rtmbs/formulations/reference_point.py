"""Reference-point coordinates: seven a body, all joints as constraints.

Reference-point coordinates: a Model as a ConstrainedSystem in seven coordinates a body, with Euler parameters.

A body has V = [v, w] of its origin in world axes, V = B [rd, ed] with B = diag(1, 2 E(e)), and Vd = B [rdd, edd]
because Ed ed = 0. With the mass m, the way c from the origin to the mass centre and the inertia J about the origin,

    M = B^T [[m, -m c~], [m c~, J]] B,      F = B^T [m g - m w x (w x c); m c x g - w x (J w)] + T^T Q.

Q are the forces of the elements, and T their rates by v.

The bodies of a Model without their joints, under its forces, couplers and constraints, by the compiled kernels.

A body floats without mass: slides along the world's axes, and a rotation R0 = R(e) with rates in body axes. A joint
with a coordinate that something acts on stands between ground and a weightless body of its own, so the coordinate is
free too, and counts turns. With zd = T v, the generalised forces are T^T Q, and the rows have Phi_q = Phi_z T.
"""

import copy
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, vstack

from rtmbs.errors import InputError, ModelError
from rtmbs.formulations.contract import checked_vector
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.kinematics.element_equations import Constraint, JointCoordinate
from rtmbs.kinematics.equations import KinematicEquations, Programs
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


class ReferencePointCoordinates:
    """The equations of a Model in x, y, z [m] and e0, e1, e2, e3 [1] of each body, ground among them.

    A joint coordinate that a force, a coupler or a constraint acts on is a coordinate of its own, with a row that reads
    it off the bodies: an angle counts turns. ``joints="all"`` are the coordinates of the tree that ``compile`` chooses.
    Rows are those of a kinematic analysis: norms, ground, joints, rods, drivers, joint coordinates, and ``constraints``
    of ``rtmbs.kinematics``; last come constraints and couplers of the model. ``u`` (nu,) are the inputs, with their
    places by name in ``inputs``; functions of time fill in theirs. ``start`` (n,) is the reference pose. Source:
    METHODS 2.14, and ``docs/kinematics.md``.

    Parameters
    ----------
    model : Model
        Model with masses and inertias.
    constraints : Iterable[Constraint], default ()
        Further constraints of ``rtmbs.kinematics``.

    Raises
    ------
    ModelError
        Naming a body without mass or inertia, and a joint coordinate that cannot be read off the bodies.

    Examples
    --------
    >>> import rtmbs
    >>> system = ReferencePointCoordinates(rtmbs.library.build("bricard"))  # doctest: +SKIP
    """

    def __init__(self, model: Model, constraints: Iterable[Constraint] = ()) -> None:
        bodies = list(model.bodies.values())
        for body in bodies[1:]:
            if body.mass <= 0.0 or np.linalg.eigvalsh(body.inertia)[0] <= 0.0:
                raise ModelError(
                    f"body {body.name!r} has no mass, or no inertia about an axis; every body needs both in "
                    "reference-point coordinates"
                )
        self.free = FreeBodies(model)
        self.equations = KinematicEquations(joined(model), [*self.free.measured, *constraints])
        self.programs = Programs(self.equations)
        self.n, self.m = self.equations.n, self.equations.m + self.free.m
        self.coordinate_names = self.equations.coordinate_names
        self.row_names = [*self.equations.row_names, *self.free.row_names]
        self.start: Array = self.equations.start.copy()
        self.count = len(bodies)
        self.masses = np.array([body.mass for body in bodies])
        self.centers = np.array([body.center_of_mass for body in bodies])
        self.inertias = np.array([about_origin(body.mass, body.center_of_mass, body.inertia) for body in bodies])

    @property
    def u(self) -> Array:
        """Inputs (nu,)."""
        return self.free.equations.u

    @property
    def inputs(self) -> Mapping[str, slice]:
        """Places of the inputs in ``u`` by name."""
        return self.free.system.inputs

    @property
    def s(self) -> Array:
        """States (ns,) of force laws, at first those of the Model."""
        return self.free.s

    def state_rates(self, q: Array, v: Array, t: float) -> Array:
        """Return the rates (ns,) of the states ``s``."""
        return self.free.state_rates(checked_vector("q", q, self.n), checked_vector("v", v, self.n), t)

    @property
    def gravity(self) -> Array:
        """Gravity (3,), an input [m/s^2]."""
        return self.u[self.inputs["gravity"]]

    def mass(self, q: Array, t: float) -> Array:
        """Return M (n, n), singular along Euler parameters themselves and joint coordinates, which rows hold."""
        return np.asarray(self.sparse_mass(q, t).toarray())

    def sparse_mass(self, q: Array, t: float) -> csc_array:
        """Return M (n, n), sparse: a block for each body."""
        B, c, J = self.poses(checked_vector("q", q, self.n))
        blocks = np.zeros((self.count, 6, 6))
        blocks[:, :3, :3], blocks[:, 3:, 3:] = self.masses[:, None, None] * np.eye(3), J
        blocks[:, 3:, :3] = self.masses[:, None, None] * cross_matrices(c)
        blocks[:, :3, 3:] = np.swapaxes(blocks[:, 3:, :3], 1, 2)
        blocks = np.swapaxes(B, 1, 2) @ blocks @ B
        place = SIZE * np.arange(self.count)[:, None, None] + np.arange(SIZE)[:, None]
        rows, columns = np.broadcast_arrays(place, np.swapaxes(place, 1, 2))
        return csc_array((blocks.ravel(), (rows.ravel(), columns.ravel())), shape=(self.n, self.n))

    def force(self, q: Array, v: Array, t: float) -> Array:
        """Return F (n,): gravity and applied forces, less the terms of M a that come with v."""
        q, v = checked_vector("q", q, self.n), checked_vector("v", v, self.n)
        (B, c, J), F = self.poses(q), self.free.force(q, v, t)
        rates = v[: SIZE * self.count].reshape(-1, SIZE)
        w = np.einsum("kij,kj->ki", B, rates)[:, 3:]
        push = self.masses[:, None] * (self.gravity - np.cross(w, np.cross(w, c)))
        turn = self.masses[:, None] * np.cross(c, self.gravity) - np.cross(w, np.einsum("kij,kj->ki", J, w))
        F[: SIZE * self.count] += np.einsum("kji,kj->ki", B, np.concatenate((push, turn), axis=1)).ravel()
        return F

    def constraints(self, q: Array, t: float) -> Array:
        """Return Phi (m,)."""
        q = checked_vector("q", q, self.n)
        return np.concatenate((self.programs.phi(q, self.drivers(q, t)[0]), self.free.constraints(q, t)))

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        """Return Phi_q (m, n)."""
        return np.asarray(self.sparse_constraint_jacobian(q, t).toarray())

    def sparse_constraint_jacobian(self, q: Array, t: float) -> csc_array:
        """Return Phi_q (m, n), sparse."""
        q = checked_vector("q", q, self.n)
        of_bodies = self.programs.jacobian(q, self.drivers(q, t)[0])
        return csc_array(vstack((of_bodies, csc_array(self.free.constraint_jacobian(q, t)))))

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return Phi_t and gamma (m,)."""
        q, v = checked_vector("q", q, self.n), checked_vector("v", v, self.n)
        drivers = self.drivers(q, t)
        Phi_t, gamma = self.free.constraint_rate_terms(q, v, t)
        of_bodies = self.programs.by_time(q, drivers[0], drivers[1]), self.programs.acceleration_side(q, v, drivers)
        return np.concatenate((of_bodies[0], Phi_t)), np.concatenate((of_bodies[1], gamma))

    def drivers(self, q: Array, t: float) -> Array:
        """Return values, rates and accelerations (3, nf) of the drivers, turns counted at q.

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).
        t : float
            Time [s].

        Returns
        -------
        ndarray
            Values, rates and accelerations (3, nf) of the drivers, turns counted at q.
        """
        found = self.equations.drivers_at(np.array([t]))[0]
        found[0] = self.programs.turns(q, found[0])
        return found

    def poses(self, q: Array) -> tuple[Array, Array, Array]:
        """Return B (nb, 6, 7), and mass centres (nb, 3) and inertias (nb, 3, 3) about the origins in world axes.

        Parameters
        ----------
        q : ndarray
            Coordinates (n,).

        Returns
        -------
        tuple[ndarray, ndarray, ndarray]
            B (nb, 6, 7), and mass centres (nb, 3) and inertias (nb, 3, 3) about the origins in world axes.
        """
        e = q[: SIZE * self.count].reshape(-1, SIZE)[:, 3:]
        R = rotations(e)
        B = np.zeros((self.count, 6, SIZE))
        B[:, :3, :3], B[:, 3:, 3:] = np.eye(3), world_rates(e)
        return B, np.einsum("kij,kj->ki", R, self.centers), R @ self.inertias @ np.swapaxes(R, 1, 2)


def joined(model: Model) -> Model:
    """Return the model without the couplers and constraints that ``FreeBodies`` writes."""
    found = copy.copy(model)
    found.couplers, found.constraints = {}, {}
    return found


def about_origin(mass: float, center: Array, inertia: Array) -> Array:
    """Return the inertia (3, 3) about the origin from that about the mass centre, body axes [kg m^2]."""
    return np.asarray(inertia + mass * (center @ center * np.eye(3) - np.outer(center, center)))


def cross_matrices(c: Array) -> Array:
    """Return c~ (k, 3, 3) of c (k, 3), with c~ x = c x x."""
    return np.cross(c[:, None, :], np.eye(3)).swapaxes(1, 2)
