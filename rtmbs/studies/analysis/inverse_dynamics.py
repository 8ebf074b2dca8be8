"""Inverse dynamics: drive forces of a prescribed or kinematic motion, also of redundant drives (METHODS 1.38).

A kinematic motion may have cams, points on curves and drivers of bodies. Drivers of joint coordinates and of distances
stay in the model. The others act by wrenches J^T lam of their rows of Phi_q, where lam is such that no coordinate needs
a force beside them. The balance is linear in lam. Bodies that drivers, rods or curves alone hold get a floating joint
for the balance, for a spanning tree needs joints.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.contact.convex import refuse_convex
from rtmbs.contact.joints import refuse_bearings
from rtmbs.contact.switched import refuse_rigid
from rtmbs.errors import InputError, shown, unknown_name, warn, with_count
from rtmbs.integrators.checks import is_number
from rtmbs.kinematics import Analysis
from rtmbs.kinematics.analysis import Bodies, KinematicReport, joint_sources
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.kinematics.element_equations import Cosined, PointOnCurve
from rtmbs.model import Floating, Model, Wrench
from rtmbs.model.body import GROUND
from rtmbs.numerics.linear.solver import refuses_unfactorised
from rtmbs.numerics.rotations.quaternions import world_rates
from rtmbs.results.catalogue import driven_distances, run_result
from rtmbs.results.channel import WORLD, XYZ, Source
from rtmbs.results.result import Result
from rtmbs.results.samples import Evaluation, Samples
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.passes import commit_rotations
from rtmbs.semirecursive.start.assembly import Assembly
from rtmbs.semirecursive.start.rank import independent_rows
from rtmbs.simulation.set_coordinate import no_coordinate, turning_joint
from rtmbs.studies.analysis.prescribed_motion import (
    GivenMotion,
    given_motion,
    of_result,
    other_names,
    plain_dofs,
    prescribable_names,
    rotation_dofs,
    turning_joints,
)
from rtmbs.studies.analysis.report import NamedValues, Report, numbers, rows
from rtmbs.studies.analysis.workload import JointLoads, closure_power, free_parts
from rtmbs.system.contact_tables import refuse_contacts, refuse_sets
from rtmbs.system.input_slots import evaluate_signals
from rtmbs.system.recorded_laws import check_captured
from rtmbs.system.system import System
from rtmbs.system.topology import bodies_without_joints

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
CLOSED = 1e-8  # of the row scale: a motion that opens loops by more contradicts them
BALANCED = 1e-8  # of the largest generalised force: what drives may miss
RANK = 1e-9  # of the largest singular value


@dataclass(frozen=True, repr=False)
class InverseDynamics(Report, JointLoads):
    """Forces of a motion at S times; ``inverse_dynamics`` returns it.

    ``reaction`` and ``statistics`` have the loads of the joints, as those of a Workload.

    Parameters
    ----------
    forces : dict[str, ndarray]
        Force of each drive (S,) by name, along the motion of the drive [N, N m]. Drives are drivers of coordinates and
        of distances among them. A joint with one coordinate answers to JOINT and to JOINT.COORDINATE. A joint that
        turns freely has JOINT.nx to JOINT.nz, and a floating one JOINT.fx to JOINT.fz. This is the wrench of the first
        body on the second at the point of the second, world axes, as JOINT.reaction.
    power : dict[str, ndarray]
        Power that each drive gives (S,) by name [W].
    result : Result
        Channels of the motion: positions, reactions with the drives in them, forces.
    gaps : ndarray
        Largest distance (S,) of a given coordinate from the one that closes the loops, in typical sizes.
    resampled : Evaluation
        Samples that the channels are evaluated from.
    """

    forces: dict[str, Array]
    power: dict[str, Array]
    result: Result
    gaps: Array
    resampled: Evaluation

    def line(self) -> str:
        """Return the mechanism, the drives and the times."""
        times = f"{self.t[0]:g} s to {self.t[-1]:g} s"
        return (
            f"{self.result.name!r}: {with_count(len(self.forces), 'drive')}, {with_count(len(self.t), 'time')}, {times}"
        )

    def table(self) -> str:
        """Return extremes of force and power of every drive."""
        head = ("drive", "least force", "largest force", "largest power [W]")
        found = [
            (name, *numbers(np.array([force.min(), force.max(), np.abs(self.power[name]).max()])))
            for name, force in self.forces.items()
        ]
        return "\n".join([f"inverse dynamics of {self.line()}", *rows([head, *found])])


@refuses_unfactorised(InputError, "inverse dynamics")
def inverse_dynamics(
    system: System,
    motion: Mapping[str, Any] | Result | None = None,
    t: Any = None,
    *,
    drives: Sequence[str] | Mapping[str, float] | None = None,
    tolerance: float | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> InverseDynamics:
    """Return the forces and torques that make the joints of a System follow a motion.

    Parameters
    ----------
    system : System
        The mechanism. The motion, with its drivers, must determine all coordinates that the loops leave free.
    motion : mapping or Result, optional
        By name of a joint, or JOINT.COORDINATE: a profile such as ``rtmbs.Sine``, samples (S,) at ``t``, or an array
        (S, 3) of values, rates and accelerations [rad or m, s]. A ball or floating joint has JOINT.orientation:
        quaternions (S, 4) of the second body seen from the first, (S, 3, 4) with two derivatives, or a function of t
        that returns these three. A floating one has JOINT.position too: three profiles, samples (S, 3), or (S, 3, 3)
        with velocities and accelerations, along the joint axes of the first body. Or a Result, whose joints are
        followed. None for a System whose drivers prescribe everything.
    t : sequence of float, optional
        Times (S,) [s], increasing; of a Result left out, or names of the joints to follow.
    drives : sequence of str or mapping, optional
        Joints, coordinates or drivers that make the motion; unless given, the given coordinates and all drivers.
        Drivers that are not among them prescribe the motion and carry nothing. With more drives than degrees of freedom
        the sum of force^2 / weight is least: ``{"hip": 2.0, "knee": 1.0}`` gives weights.
    tolerance : float, optional
        Largest distance, in typical sizes (1 rad, characteristic length), by which a given motion may miss the loops;
        it is then projected onto them. None: every given coordinate is kept exactly.
    inputs : mapping, optional
        Values of inputs by name, held.

    Returns
    -------
    InverseDynamics
        Forces [N, N m] and powers [W] by drive, and the motion with all reactions as ``result``.

    Raises
    ------
    UnknownNameError
        For an unknown name; the message has the nearest ones.
    InputError
        For a contradiction; the message has time, place and size.

    Examples
    --------
    >>> found = rtmbs.inverse_dynamics(system, {"crank": rtmbs.ConstantRate(6.0)}, np.linspace(0.0, 1.0, 101))
    >>> found.forces["crank"], found.result["crank.reaction"]
    """
    if not isinstance(system, System):
        raise InputError(f"inverse_dynamics takes a compiled System, not {shown(system)}; write model.compile()")
    if system.states:
        raise InputError(
            f"force {system.states[0].force!r} has states, which a motion at given times does not tell; take it away, "
            "or let drivers make the motion in a Simulation"
        )
    refuse_contacts(system, "inverse dynamics")
    refuse_bearings(system.bearings, "inverse dynamics")
    refuse_rigid(system.rigid, "inverse dynamics")
    refuse_convex(system.forces, "inverse dynamics")
    refuse_sets(system, "inverse dynamics")
    check_captured(system)
    given = of_result(system, motion, t) if isinstance(motion, Result) else given_motion(system, motion, t)
    follower = MotionSolver(system, given, tolerance, inputs or {})
    chosen = drives_of(system, drives, given.names)
    poses = [follower.at(k, float(time)) for k, time in enumerate(given.times)]
    shared = [shares(follower, pose, chosen) for pose in poses]
    samples = samples_of(given.times, poses, [lam for _, lam in shared])
    tables = follower.equations.tables
    result = run_result(system, tables, samples, {}, drivers_given=True)
    resampled = Evaluation(system, tables, samples)
    resampled.drivers_given = True  # by the weights of the drives
    taus = np.array([tau for tau, _ in shared]).reshape(len(samples.t), -1)
    forces, power = drive_forces(system, chosen, taus, resampled, result)
    also = other_names(system, [label for label, dof in zip(chosen.labels, chosen.dofs, strict=True) if dof >= 0])
    forces, power = NamedValues("drive", forces, also), NamedValues("drive", power, also)
    return InverseDynamics(forces, power, result, np.array([pose.gap for pose in poses]), resampled)


def drive_forces(
    system: System, drives: "Drives", taus: Array, resampled: Evaluation, result: Result
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return force and power (S,) of every drive by name; ``taus`` (S, k) are those of the dofs and drivers."""
    samples, tables = resampled.samples, resampled.tables
    forces: dict[str, Array] = {}
    power: dict[str, Array] = {}
    for k, (label, dof) in enumerate(zip(drives.labels, drives.dofs, strict=True)):
        if joint := drives.wrenches.get(dof):
            for name, (force, rate) in free_parts(resampled, system, joint, drives.dofs).items():
                forces[name], power[name] = force, force * rate
        else:
            forces[label] = taus[:, k]
            if dof >= 0:
                power[label] = taus[:, k] * samples.zd[:, dof]
    for name, row in driver_rows(system).items():
        forces[name] = result[f"{name}.force"] + 0.0  # zero without its sign
        if row >= len(tables.closures.kind):
            power[name] = forces[name] * samples.zd[:, tables.drivers.dof[row - len(tables.closures.kind)]]
    for name in driven_distances(system):
        power[name] = closure_power(resampled, system.closure_names.index(name))
    return forces, {name: power[name] for name in forces}


@dataclass(frozen=True)
class MotionInstant:
    """One instant of a motion with closed loops."""

    t: float
    z: Array
    zd: Array
    zdd: Array
    R0: Array
    u: Array
    s: Array
    gap: float
    rows: Mask  # (m,) independent rows of Phi_z


class MotionSolver:
    """Solver for the motion of all coordinates from that of the given ones, instant after instant."""

    def __init__(self, system: System, motion: GivenMotion, tolerance: float | None, inputs: Any) -> None:
        if tolerance is not None and not (is_number(tolerance) and tolerance >= 0.0):
            raise InputError(f"tolerance is {shown(tolerance)}; it must be zero or more, in typical sizes")
        given, names = motion.values, motion.names
        self.system, self.given, self.names, self.turns, self.tolerance = system, given, names, motion.turns, tolerance
        self.equations = SemiRecursiveEquations(system)
        self.u = system.u0.copy()
        for name, value in inputs.items():
            if name not in system.inputs:
                raise unknown_name("input", name, system.inputs)
            self.u[system.inputs[name]] = value
        for dof in given:
            if dof in system.tables.drivers.dof:
                raise InputError(f"{names[dof]!r} follows a driver of the model already; leave it out of motion")
        self.z, self.R0 = system.z0.copy(), system.R0.copy()
        scale = np.where(system.row_is_rotation, 1.0, system.length)
        self.assembly = Assembly(self.equations, self.R0, scale, system.typical)
        self.kept = np.zeros(system.n, np.bool_)
        self.kept[list(given)] = tolerance is None
        self.rows = np.zeros(system.m, np.bool_)  # that are independent at the last pose

    def at(self, k: int, t: float) -> MotionInstant:
        """Return the pose at one time, with rates and accelerations. Raises InputError."""
        system, equations = self.system, self.equations
        u = self.u.copy()
        evaluate_signals(system, t, u)
        equations.u = u
        wanted = [self.z.copy(), np.zeros(system.n), np.zeros(system.n)]
        for dof, values in self.given.items():
            for order in range(3):
                wanted[order][dof] = values[k, order]
        for reference, R0 in self.turns.items():
            self.R0[reference] = R0[k]
        z = self.pose(t, k, wanted[0])
        self.rows = independent_rows(equations)
        self.check_free(t)
        typical = system.typical
        zd = self.nearest(t, "velocity", wanted[1], equations.closure_velocities)
        swept = float(np.max(np.abs(zd) / typical, initial=0.0)) ** 2  # what rates add to Phidd
        zdd = self.nearest(t, "acceleration", wanted[2], lambda a: equations.closure_accelerations(zd, a), swept)
        gap = max((abs(z[dof] - values[k, 0]) / typical[dof] for dof, values in self.given.items()), default=0.0)
        if self.tolerance is not None and gap > self.tolerance:
            dof = max(self.given, key=lambda one: abs(z[one] - self.given[one][k, 0]) / typical[one])
            raise InputError(
                f"the motion contradicts the loops at t = {t:g} s: {self.names[dof]!r} is "
                f"{abs(z[dof] - self.given[dof][k, 0]):.3g} off the nearest pose; give a motion that closes them, or a "
                "larger tolerance"
            )
        found = MotionInstant(t, z.copy(), zd, zdd, self.R0.copy(), u, system.s0, float(gap), self.rows)
        if len(self.R0):
            commit_rotations(system.tables.dofs, found.z, found.R0)
            self.R0[:] = found.R0
        self.z = found.z.copy()
        return found

    def pose(self, t: float, k: int, wanted: Array) -> Array:
        """Return the pose (n,) with closed loops, given coordinates kept, or else nearest to them."""
        weights = self.system.weights.copy()
        weights[list(self.given)] *= 1e6 if self.tolerance is not None else 1.0
        kept = self.kept
        z = self.assembly.solve(wanted, kept, weights) if k else self.assembly.assemble(wanted, kept, weights)
        gap = np.abs(self.assembly.gap(z))
        if np.max(gap, initial=0.0) > CLOSED:
            row = int(np.argmax(gap))
            unit = "" if self.system.row_is_rotation[row] else " m"
            raise InputError(
                f"the motion contradicts the loops at t = {t:g} s: {self.system.row_names[row]!r} stays open by "
                f"{gap[row] * self.assembly.scale[row]:.3g}{unit}; give a motion that closes them, or a tolerance"
            )
        return z

    def nearest(self, t: float, what: str, wanted: Array, violation: Any, terms: float = 0.0) -> Array:
        """Return rates or accelerations (n,) that keep the loops closed; ``terms`` is the size of other terms."""
        assembly, scale = self.assembly, self.assembly.scale
        J = assembly.scaled(assembly.jacobian.matrix(self.equations))

        def left(x: Array) -> Array:
            return np.asarray(violation(x) / scale)

        typical = self.system.typical
        sizes = np.abs(wanted) / typical, np.abs(left(np.zeros_like(wanted)))
        size = max(terms, *(float(np.max(one, initial=0.0)) for one in sizes))
        weights = np.ones(self.system.n)
        weights[list(self.given)] = 1e6 if self.tolerance is not None else 1.0
        found, open_ = assembly.nearest_rates(J, wanted, left, self.kept, weights, 1e-12 * size)
        if (worst := float(np.max(np.abs(open_), initial=0.0))) > CLOSED * max(float(size), 1e-300):
            row = int(np.argmax(np.abs(open_)))
            raise InputError(
                f"the motion contradicts the loops in {what} at t = {t:g} s: {self.system.row_names[row]!r} would open "
                f"by {worst * scale[row]:.3g} per second{'' if what == 'velocity' else ' squared'}; give a motion that "
                "closes them, or a tolerance"
            )
        return found

    def check_free(self, t: float) -> None:
        """Refuse a motion that leaves a coordinate free; the error names the one that moves most."""
        free = np.ones(self.system.n, np.bool_)
        free[list(self.given)] = False
        if not np.any(free):
            return
        loose = free_motions(scaled_rows(self.equations, self.assembly, self.rows)[:, free])
        if loose.shape[1]:
            place = np.flatnonzero(free)[int(np.argmax(np.linalg.norm(loose, axis=1)))]
            count = f"{loose.shape[1]} degree{'s' * (loose.shape[1] > 1)} of freedom"
            raise InputError(
                f"the motion leaves {count} open at t = {t:g} s: {motion_name(self.system, int(place))!r} may move; "
                "give its motion too"
            )


def motion_name(system: System, dof: int) -> str:
    """Return the name under which the motion of a dof is given."""
    for name, info in turning_joints(system).items():
        if dof in rotation_dofs(system, info):
            return f"{name}.orientation"
        if dof in info.dofs and info.kind.free:
            return f"{name}.position"
    return system.coordinate_names[dof]


def scaled_rows(equations: SemiRecursiveEquations, assembly: Assembly, rows: Mask) -> Array:
    """Return these rows of Phi_z at the closed pose, in row scales and typical sizes."""
    return np.asarray(equations.closure_jacobian()[rows] / assembly.scale[rows, None] * equations.system.typical)


def free_motions(P: Array) -> Array:
    """Return the null space of rows of any size."""
    size = np.abs(P).max(axis=1, initial=0.0)[:, None]
    return scipy.linalg.null_space(P / np.where(size > 0.0, size, 1.0), rcond=RANK) if len(P) else np.eye(P.shape[1])


def shares(follower: MotionSolver, pose: MotionInstant, drives: "Drives") -> tuple[Array, Array]:
    """Return the forces (k,) of the drives and the multipliers (m,) that balance one pose.

    M zdd - Q + Phi_z^T lam = B tau; projected on the null space N of the loops that hold, N^T B tau = N^T (M zdd - Q),
    the least sum of tau^2 / weight. Equations of drivers that drives stand in for hold nothing. Redundant rows share by
    the least sum of lam^2 in scaled rows. Raises InputError.
    """
    equations, system = follower.equations, follower.system
    equations.u, equations.alpha = pose.u, np.zeros(equations.m)
    equations.close(pose.z, pose.R0)
    r = equations.residual(pose.z, pose.zd, pose.zdd, pose.R0)
    typical, scale, hold = system.typical, follower.assembly.scale, ~drives.replaced
    Phi_z = equations.closure_jacobian()
    rows = pose.rows if np.all(hold) else independent_rows(equations, hold)
    N = free_motions(scaled_rows(equations, follower.assembly, rows))
    B = typical[:, None] * drives.columns(system, Phi_z, pose.u)
    tau = least_forces(system, drives, B, N, typical * r, pose.t)
    lam = drives.multipliers(system, tau, pose.u)
    if N.shape[1] < system.n:  # else no row holds anything, whatever rounding says
        P = Phi_z[hold] / scale[hold, None] * typical
        lam[hold] = scipy.linalg.lstsq(P.T, B @ tau - typical * r, cond=RANK)[0] / scale[hold]
    return tau, lam


def samples_of(times: Array, poses: list[MotionInstant], lam: list[Array]) -> Samples:
    """Return the instants as samples of a Result."""
    columns = {name: np.array([getattr(pose, name) for pose in poses]) for name in ("z", "zd", "zdd", "R0", "u", "s")}
    return Samples(t=times, lam=np.array(lam).reshape(len(times), -1), **columns)


@dataclass(frozen=True)
class Drives:
    """Drives of a motion: coordinates, and drivers that the user named among them."""

    labels: list[str]  # (k,)
    weights: Array  # (k,)
    dofs: list[int]  # (k,) of coordinates; -1 for a driver
    rows: list[int]  # (k,) equations of drivers; -1 for a coordinate
    replaced: Mask  # (m,) equations of drivers that say the motion while drives make it
    wrenches: dict[int, str]  # joint that turns freely of each dof whose drive is a part of a wrench

    def columns(self, system: System, Phi_z: Array, u: Array) -> Array:
        """Return the generalised forces (n, k) of unit forces of the drives at a closed pose with inputs ``u``."""
        B = np.zeros((system.n, len(self.labels)))
        for k, (dof, row) in enumerate(zip(self.dofs, self.rows, strict=True)):
            if row < 0:
                B[dof, k] = 1.0
            else:
                B[:, k] = Phi_z[row] / stretch(system, row, u)
        return B

    def multipliers(self, system: System, tau: Array, u: Array) -> Array:
        """Return the forces (k,) of named drivers as multipliers (m,); zero elsewhere."""
        lam = np.zeros(system.m)
        for row, force in zip(self.rows, tau, strict=True):
            if row >= 0:
                lam[row] -= force / stretch(system, row, u)
        return lam


def drives_of(system: System, drives: Any, names: Mapping[int, str]) -> Drives:
    """Return the drives that the user named, or those of the given coordinates ``names`` by dof.

    Drivers of the model carry what they say unless drives are named. Raises UnknownNameError, InputError.
    """
    if drives is None:
        none = np.zeros(system.m, np.bool_)
        ones, no_rows = np.ones(len(names)), [-1] * len(names)
        return Drives(list(names.values()), ones, list(names), no_rows, none, wrench_dofs(system))
    if isinstance(drives, str) or not isinstance(drives, Mapping | Sequence):
        raise InputError(f"drives is {shown(drives)}; it must be a list of joints and drivers, or map them to weights")
    weighted = dict(drives) if isinstance(drives, Mapping) else dict.fromkeys(drives, 1.0)
    known, drivers, turning = prescribable_names(system), driver_rows(system), turning_joints(system)
    labels, weights, dofs, rows = [], [], [], []
    for name, weight in weighted.items():
        if not (isinstance(name, str) and (name in known or name in drivers or name in turning)):
            offered = [*known, *drivers, *turning]
            raise no_coordinate(
                system, name, offered, "cannot have a drive", f"name the joint, {turning_joint(system, name)!r}"
            )
        if not (is_number(weight) and weight > 0.0):
            raise InputError(f"the weight of drive {name!r} is {shown(weight)}; it must be above zero")
        own = [known.get(name, -1)] if name in known or name in drivers else list(turning[name].dofs)
        labels += [name] * len(own)
        weights += [float(weight)] * len(own)
        dofs += own
        rows += [drivers[name] if dof < 0 else -1 for dof in own]
    replaced = np.zeros(system.m, np.bool_)
    replaced[list(drivers.values())] = True
    return Drives(labels, np.array(weights), dofs, rows, replaced, wrench_dofs(system))


def wrench_dofs(system: System) -> dict[int, str]:
    """Return the freely turning joint of each of its dofs, but for slides along a line, by dof."""
    found = {}
    for name, info in turning_joints(system).items():
        alone = [] if info.kind.free else plain_dofs(system, info)
        found.update({dof: name for dof in info.dofs if dof not in alone})
    return found


def driver_rows(system: System) -> dict[str, int]:
    """Return the equation of every driver of the model, of a coordinate or of a distance, by name."""
    closures = system.tables.closures
    first = len(closures.kind)
    found = {system.row_names[first + k]: first + k for k in range(len(system.tables.drivers.dof))}
    for name in driven_distances(system):
        found[name] = int(closures.row_pointer[system.closure_names.index(name)])
    return found


def replaced(system: System, drives: Drives, dof: int) -> list[str]:
    """Return the drivers that prescribe a motion which drives produce, that of ``dof`` first."""
    first, driven = len(system.tables.closures.kind), system.tables.drivers.dof
    rows = {name: row for name, row in driver_rows(system).items() if drives.replaced[row] and row not in drives.rows}
    return sorted(rows, key=lambda name: rows[name] < first or driven[rows[name] - first] != dof)


def stretch(system: System, row: int, u: Array) -> float:
    """Return the derivative of a driver's equation by its driven quantity: 1, or |d| / length of a driven distance."""
    closures = system.tables.closures
    return 1.0 if row >= len(closures.kind) else float(u[closures.slot[row]] / closures.length[row])


def least_forces(system: System, drives: Drives, B: Array, N: Array, wanted: Array, t: float) -> Array:
    """Return the forces (k,) with N^T B tau = N^T wanted and the least sum of tau^2 / weight.

    ``B`` (n, k) and ``wanted`` (n,) are in typical sizes, N (n, f) spans the motions that drives must make. Raises
    InputError for a motion that they cannot make.
    """
    asked, root = N.T @ wanted, np.sqrt(drives.weights)
    tau = np.zeros(len(root))
    if len(root) and N.shape[1]:
        tau = root * scipy.linalg.lstsq((N.T @ B) * root, asked, cond=RANK)[0]
    left = asked - N.T @ B @ tau
    size = float(np.abs(N.T).max(initial=0.0) * np.abs(wanted).max(initial=0.0)) or 1.0
    if np.abs(left).max(initial=0.0) > BALANCED * size:
        place = int(np.argmax(np.abs(N @ left)))
        hint = f", or name driver {others[0]!r} among the drives" if (others := replaced(system, drives, place)) else ""
        raise InputError(
            f"drives {', '.join(map(repr, drives.labels)) or 'none'} cannot make this motion at t = {t:g} s: "
            f"{system.coordinate_names[place]!r} misses {np.abs(left).max() / system.typical[place]:.3g}; add a drive "
            f"there{hint}"
        )
    return np.asarray(tau)


HELD = 1e-7  # of the terms of a coordinate: the force that may be left where nothing drives it
FLOOR = 1e-3  # of the terms of all coordinates: terms of one that are only rounding count as so much
HELD_RANK = 1e-10  # of the largest singular value
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
    return np.asarray(scipy.linalg.null_space(A, rcond=HELD_RANK))


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
                [scipy.linalg.lstsq(A, -b, cond=HELD_RANK)[0] for A, b in zip(columns, none, strict=True)]
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
        allowed = HELD * (terms + FLOOR * max(largest, terms.max(initial=0.0)))
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
