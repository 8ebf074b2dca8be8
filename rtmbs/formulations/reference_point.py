"""Reference-point coordinates: a Model as a ConstrainedSystem in seven coordinates a body, with Euler parameters.

A body has V = [v, w] of its origin in world axes, V = B [rd, ed] with B = diag(1, 2 E(e)), and Vd = B [rdd, edd]
because Ed ed = 0. With the mass m, the way c from the origin to the mass centre and the inertia J about the origin,

    M = B^T [[m, -m c~], [m c~, J]] B,      F = B^T [m g - m w x (w x c); m c x g - w x (J w)] + T^T Q.

Q are the forces of the elements, and T their rates by v (``free_bodies.py``).
"""

import copy
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, vstack

from rtmbs.errors import ModelError
from rtmbs.formulations.contract import checked_vector
from rtmbs.formulations.free_bodies import FreeBodies
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.kinematics.elements import Constraint
from rtmbs.kinematics.equations import KinematicEquations
from rtmbs.kinematics.programs import Programs
from rtmbs.model import Model
from rtmbs.numerics.rotations.quaternions import rotations, world_rates

Array = NDArray[np.float64]


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
