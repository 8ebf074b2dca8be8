"""Driver forces and reactions of a kinematic motion, with cams, points on curves and drivers of bodies.

Drivers of joint coordinates and of distances stay in the model. The others act by wrenches J^T lam of their rows of
Phi_q, where lam is such that no coordinate needs a force beside them. The balance is linear in lam (METHODS 1.38).
Bodies that drivers, rods or curves alone hold get a floating joint for the balance, for a spanning tree needs joints.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, warn
from rtmbs.kinematics import Analysis
from rtmbs.kinematics.analysis import Bodies, KinematicReport, joint_sources
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.kinematics.element_equations import Cosined, PointOnCurve
from rtmbs.model import Floating, Model, Wrench
from rtmbs.model.body import GROUND
from rtmbs.numerics.rotations.quaternions import world_rates
from rtmbs.results.channel import WORLD, XYZ, Source
from rtmbs.results.result import Result
from rtmbs.studies.analysis.inverse_dynamics import InverseDynamics, driver_rows, inverse_dynamics
from rtmbs.studies.analysis.prescribed_motion import prescribable_names, turning_joints
from rtmbs.studies.analysis.report import NamedValues
from rtmbs.system.topology import bodies_without_joints

Array = NDArray[np.float64]
BALANCED = 1e-7  # of the terms of a coordinate: the force that may be left where nothing drives it
FLOOR = 1e-3  # of the terms of all coordinates: terms of one that are only rounding count as so much
RANK = 1e-10  # of the largest singular value
SHARED = 1e-6  # of a combination of multipliers that changes no coordinate's force: rows below it have no part in it
OWN = "driving_forces"  # how the added wrenches and floating joints are called


def driving_forces(analysis: Analysis, motion: Result) -> InverseDynamics:
    """Return the forces of all drivers of a kinematic motion, and the reactions of the joints.

    Parameters
    ----------
    analysis : Analysis
        Kinematic analysis of a model with masses.
    motion : Result
        Motion that ``analysis.run`` or ``analysis.run_at`` returned.

    Returns
    -------
    InverseDynamics
        Force of each driver along its own motion [N, N m] and its power [W]. The ``result`` has the reactions, and
        ``NAME.force`` (S, 3) of each point on a curve: the force of the curve on the point [N], world axes, without
        friction.

    Raises
    ------
    InputError
        For a motion of another analysis, and for a model without masses.
    ModelError
        For a body without mass that nothing holds.

    Warns
    -----
    RtmbsWarning
        For drivers that hold the same motion as others, so that their forces are not unique. For coordinates that no
        driver holds and that need a force, with its size.

    Examples
    --------
    >>> analysis = rtmbs.kinematics.Analysis(model, [PointOnCurve("cam", "follower.tip", "disc", curve)])
    >>> found = driving_forces(analysis, analysis.run(0.0, 1.0, 0.01))
    >>> found.forces["motor"], found.result["cam.force"], found.result["follower_guide.reaction"]
    """
    if not isinstance(analysis, Analysis):
        raise InputError(f"driving_forces takes a kinematic Analysis, not {shown(analysis)}")
    if not isinstance(getattr(motion, "report", None), KinematicReport):
        raise InputError(f"driving_forces takes the Result that the analysis returned, not {shown(motion)}")
    if motion.name != analysis.model.name or motion.report.samples.q.shape[1] != analysis.equations.n:
        raise InputError(f"motion has other coordinates than {analysis!r}; it must be a Result of this mechanism")
    if not any(body.mass > 0.0 or np.any(body.inertia) for body in analysis.model.bodies.values()):
        raise InputError(f"no body of {analysis.model.name!r} has a mass or an inertia; give them mass and inertia")
    followed = {name: driver for name, driver in analysis.model.drivers.items() if driver.dynamic}
    conditions = Conditions(analysis, [name for name in analysis.model.drivers if name not in followed])
    held = not motion.report.mobility.degrees_of_freedom and not len(conditions.rows)
    if held and not bodies_without_joints(analysis.model):
        return inverse_dynamics(analysis.model.compile(), None, motion.t)
    return Balance(analysis, motion, followed, conditions).solved()


class Conditions:
    """Rows of Phi that no Simulation has: elements of the analysis alone, and drivers of bodies and angles."""

    def __init__(self, analysis: Analysis, drivers: list[str]) -> None:
        equations, self.programs = analysis.equations, analysis.programs
        names = [*(one.name for one in analysis.constraints), *drivers]
        self.owner = equations.rows.owner
        self.rows = np.array([row for row, owner in enumerate(self.owner) if owner in names], np.int64)
        self.names, self.bodies = names, len(equations.bodies)
        self.curves = [one.name for one in analysis.constraints if isinstance(one, PointOnCurve)]
        self.slots = {name: k for k, (name, _) in enumerate(equations.profiles) if name in names}
        self.angles = {name: profile for name, profile in equations.profiles if isinstance(profile, Cosined)}

    def wrenches(self, q: Array, f: Array) -> tuple[Array, Array]:
        """Return the combinations Z (rows, k) that load no unknown beside the bodies, and wrenches (bodies, 6, k).

        A wrench is a force [N] at the origin of the body and a torque [N m] in world axes, for each column of Z.
        """
        J = self.programs.jacobian(q, f)[self.rows].toarray()
        Z = null_space((J[:, SIZE * self.bodies :]).T)
        forces = (J[:, : SIZE * self.bodies].T @ Z).reshape(self.bodies, SIZE, Z.shape[1])
        E = world_rates(q[: SIZE * self.bodies].reshape(-1, SIZE)[:, 3:])  # omega = E e', and E E^T = 4
        return Z, np.concatenate((forces[:, :3], 0.25 * E @ forces[:, 3:]), axis=1)


def null_space(A: Array) -> Array:
    """Return the null space of A (k, n) as columns (n, n - rank), whole for no rows that count."""
    if not A.any():
        return np.eye(A.shape[1])
    return np.asarray(scipy.linalg.null_space(A, rcond=RANK))


@dataclass
class SampledVector:
    """Components (3,) at sample times, straight between them; ``values`` (S, 3) may be changed."""

    times: Array
    values: Array

    def __call__(self, t: float) -> Array:
        return np.array([np.interp(t, self.times, one) for one in self.values.T])


class Balance:
    """Balance of a motion: the model with the drivers that it follows, and wrenches on bodies that conditions touch."""

    def __init__(self, analysis: Analysis, motion: Result, followed: Mapping[str, Any], conditions: Conditions) -> None:
        self.analysis, self.motion, self.conditions = analysis, motion, conditions
        samples = motion.report.samples
        found = [conditions.wrenches(q, f) for q, f in zip(samples.q, samples.f, strict=True)]
        self.count = max(Z.shape[1] for Z, _ in found)
        self.Z = np.zeros((len(found), len(conditions.rows), self.count))
        self.unit = np.zeros((len(found), conditions.bodies, 6, self.count))
        for k, (Z, wrenches) in enumerate(found):
            self.Z[k, :, : Z.shape[1]], self.unit[k, ..., : Z.shape[1]] = Z, wrenches
        self.acting: dict[int, tuple[SampledVector, SampledVector]] = {}
        self.added: list[str] = []  # wrenches and floating joints
        self.system = self.loaded(followed).compile()
        driven = {self.system.tables.drivers.dof[k] for k in range(len(self.system.tables.drivers.dof))}
        coordinates = prescribable_names(self.system)
        free = [name for name, dof in coordinates.items() if "." in name and dof not in driven]
        self.joints = [*free, *turning_joints(self.system)]

    def loaded(self, followed: Mapping[str, Any]) -> Model:
        """Return the model with the drivers that it follows, wrenches that may be set, and joints for the tree."""
        model: Model = copy.copy(self.analysis.model)
        model.drivers, model.forces, model.joints = dict(followed), dict(model.forces), dict(model.joints)
        bodies = Bodies(self.analysis.programs, self.motion.report.samples)
        for name in bodies_without_joints(model):
            zero, same = np.zeros(3), np.eye(3)
            joint = model.add_joint(
                f"{OWN}.{name}", Floating(), GROUND, name, point_a=zero, point_b=zero, axes_a=same, axes_b=same
            )
            self.motion = self.motion.extended(dict(joint_sources(bodies, joint)))
            self.added.append(joint.name)
        for body, name in enumerate(self.analysis.equations.bodies):
            if body and self.unit[:, body].any():
                force, torque = (SampledVector(self.motion.t, np.zeros((len(self.motion.t), 3))) for _ in range(2))
                self.acting[body] = force, torque
                self.added.append(f"{OWN}.{name}.wrench")
                model.add_force(self.added[-1], Wrench(force=force, torque=torque), body=name, point=np.zeros(3))
        return model

    def solved(self) -> InverseDynamics:
        """Return the balance with the multipliers that leave no force to the coordinates."""
        none = self.needed(np.zeros((len(self.motion.t), self.count)))
        parts = [self.needed(np.tile(one, (len(none), 1))) - none for one in np.eye(self.count)]
        columns = np.stack(parts, axis=2) if parts else np.zeros((*none.shape, 0))  # (S, forces, count)
        known = np.zeros((len(none), self.count))
        if columns.size:
            known = np.stack(
                [scipy.linalg.lstsq(A, -b, cond=RANK)[0] for A, b in zip(columns, none, strict=True)]
            )  # fmt: skip
        self.warn_of_shares(columns)
        self.apply(known)
        found = self.inverse()
        self.warn_of_free(found, np.abs(none) + np.einsum("sjk,sk->sj", np.abs(columns), np.abs(known)))
        return self.named(found, np.einsum("srk,sk->sr", self.Z, known))

    def warn_of_shares(self, columns: Array) -> None:
        """Warn of drivers with forces that the balance leaves free, beside other drivers: theirs are the least."""
        shared = set[str]()
        for Z, A in zip(self.Z, columns, strict=True):
            free = Z @ (null_space(A) if A.size else np.eye(self.count))
            rows = np.flatnonzero(np.abs(free).max(axis=1, initial=0.0) > SHARED)
            shared.update(self.conditions.owner[self.conditions.rows[row]] for row in rows)
        if drivers := sorted(shared & set(self.conditions.slots)):
            warn(
                f"forces of {', '.join(map(repr, drivers))} are not unique: other drivers hold the same motion; the sum"
                " of the squares of such forces is the least"
            )

    def apply(self, lam: Array) -> None:
        """Set the wrenches of multipliers (S, count)."""
        for body, (force, torque) in self.acting.items():
            wrench = np.einsum("sik,sk->si", self.unit[:, body], lam)
            force.values, torque.values = wrench[:, :3], wrench[:, 3:]

    def inverse(self) -> InverseDynamics:
        """Return the inverse dynamics with the wrenches as they are."""
        if not self.joints:
            return inverse_dynamics(self.system, None, self.motion.t)
        return inverse_dynamics(self.system, self.motion, self.joints)

    def needed(self, lam: Array) -> Array:
        """Return the forces (S, k) that coordinates without a driver need beside multipliers (S, count)."""
        self.apply(lam)
        return self.left(self.inverse())

    def left(self, found: InverseDynamics) -> Array:
        """Return the forces (S, k) of coordinates without a driver."""
        drivers = driver_rows(self.system)
        free = [force for name, force in found.forces.items() if name not in drivers]
        return np.stack(free, axis=1) if free else np.zeros((len(self.motion.t), 0))

    def warn_of_free(self, found: InverseDynamics, terms: Array) -> None:
        """Warn of coordinates that need forces which no driver gives; ``terms`` (S, k) are sizes of these forces."""
        left, drivers = np.abs(self.left(found)), driver_rows(self.system)
        names = [name for name in found.forces if name not in drivers]
        largest = max((float(np.abs(force).max()) for force in found.forces.values()), default=0.0)
        allowed = BALANCED * (terms + FLOOR * max(largest, terms.max(initial=0.0)))
        for k in np.flatnonzero(np.any(left > allowed, axis=0)):
            worst = int(np.argmax(left[:, k]))
            warn(
                f"no driver holds {names[k].removeprefix(OWN + '.')!r}: the motion needs {left[worst, k]:.3g} there at"
                f" t = {self.motion.t[worst]:g} s, and forces of the drivers are those beside it; drive it, or take a"
                " DYNAMIC ANALYSIS"
            )

    def named(self, found: InverseDynamics, lam: Array) -> InverseDynamics:
        """Return the forces of all drivers of the analysis, with the multipliers (S, rows) of its conditions."""
        conditions, samples = self.conditions, self.motion.report.samples
        forces, power = dict[str, Array](), dict[str, Array]()
        for name in self.analysis.model.drivers:
            if name in found.forces:
                forces[name], power[name] = found.forces[name], found.power[name]
        more = dict[str, Source]()
        for name in conditions.names:
            rows = [k for k, row in enumerate(conditions.rows) if conditions.owner[row] == name]
            if name in conditions.slots:
                forces[name] = self.along(name, rows, lam)
                power[name] = forces[name] * samples.drivers[:, 1, conditions.slots[name]]
                if name in conditions.angles:  # its equation has the cosine of the angle
                    angle, rate = np.array([conditions.angles[name].profile(float(t))[:2] for t in self.motion.t]).T
                    forces[name] = -np.sin(angle) * forces[name]
                    power[name] = forces[name] * rate
            elif name in conditions.curves:
                more[f"{name}.force"] = Source(XYZ, "N", partial(np.asarray, lam[:, rows]), WORLD)
        own = tuple(f"{one}." for one in self.added)
        kept = {name: found.result.channel(name) for name in found.result.names() if not name.startswith(own)}
        sources = {
            name: Source(one.axes, one.unit, partial(getattr, one, "values"), one.frame) for name, one in kept.items()
        }
        result = Result(sources | more, found.result.name)
        drives, powers = NamedValues("drive", forces, {}), NamedValues("drive", power, {})
        return InverseDynamics(drives, powers, result, found.gaps, found.resampled)

    def along(self, name: str, own: list[int], lam: Array) -> Array:
        """Return the force (S,) of a driver along its own motion: -lam Phi_f."""
        samples, slot = self.motion.report.samples, self.conditions.slots[name]
        rate = np.zeros(self.analysis.programs.nf)
        rate[slot] = 1.0
        by = np.stack([self.analysis.programs.by_time(q, f, rate) for q, f in zip(samples.q, samples.f, strict=True)])
        return -np.einsum("sr,sr->s", lam[:, own], by[:, self.conditions.rows[own]])
