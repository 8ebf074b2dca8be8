"""Kinematic analysis of a mechanism: its motion over time, its Result, and all its assemblies at one time.

``Analysis`` finds positions, velocities and accelerations of a driven mechanism over time. Its Result has channels
under the names of a dynamic run. Assemblies are poses that hold joints and drivers at one time, from random starts.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, MotionError, StartError, shown, with_count
from rtmbs.kinematics.assembly import (
    AssemblyReport,
    ConstraintRank,
    assemble,
    check_reference,
    free_elements,
    mobility,
    rows_to_solve,
    started,
)
from rtmbs.kinematics.continuation import (
    Refinement,
    SingularPose,
    curve_notes,
    driver_notes,
    elements_at_rank_loss,
    fill,
    find_singular,
    too_fast,
    with_passed,
)
from rtmbs.kinematics.coordinates import SIZE, KinematicSamples, check_room, new_samples
from rtmbs.kinematics.element_equations import Constraint
from rtmbs.kinematics.equations import KinematicEquations, Programs
from rtmbs.kinematics.path_solver import PIVOTS, EliminationSolver, LeastChangeSolver, PathSolver
from rtmbs.kinematics.path_tables import WEIGHTS, build_metric
from rtmbs.model import Joint, Model
from rtmbs.model.description import Origin
from rtmbs.numerics.rotations.quaternions import quaternions, rotations, world_rates
from rtmbs.results.channel import QUATERNION, TIME, WORLD, XYZ, Entry, Source, resolve_names
from rtmbs.results.motion_channels import (
    BODY,
    BodyMotion,
    Measured,
    Reading,
    RelativeMotion,
    coordinate_sources,
    cross,
    orientation_sources,
    position_sources,
    unwrap,
)
from rtmbs.results.result import Result
from rtmbs.results.samples import DofMotion
from rtmbs.system.system import JointInfo, joint_info
from rtmbs.system.user_functions import pack_function, unpack_function

Array = NDArray[np.float64]
Named = tuple[str, Source]
KEPT_BYTES = 16_000_000  # of motions of bodies
NAMED = 6  # redundant rows that are named
NUMBERS = 27  # of a motion at one sample


class Bodies:
    """Motion of the bodies over the samples, evaluated at its first use."""

    def __init__(self, programs: Programs, samples: KinematicSamples) -> None:
        self.programs, self.samples = programs, samples
        self.equations = programs.equations
        self.number = {name: k for k, name in enumerate(self.equations.bodies)}
        few = max(KEPT_BYTES // (NUMBERS * 8 * max(len(samples.t), 1)), 2)  # channels of one body are read in a row
        self.motion = lru_cache(maxsize=few)(self.worked_out)

    def worked_out(self, name: str) -> BodyMotion:
        """Return the motion of a body (S samples), about the world's origin."""
        at = slice(SIZE * self.number[name], SIZE * (self.number[name] + 1))
        q, qd, qdd = self.samples.q[:, at], self.samples.qd[:, at], self.samples.qdd[:, at]
        A, G = rotations(q[:, 3:]), world_rates(q[:, 3:])
        omega, alpha = (np.einsum("sij,sj->si", G, rate[:, 3:]) for rate in (qd, qdd))
        r, nothing = q[:, :3], np.zeros_like(q[:, :3])
        V = np.concatenate((qd[:, :3] - cross(omega, r), omega), axis=1)
        swept = qdd[:, :3] - cross(alpha, r) - cross(omega, qd[:, :3])
        dof = DofMotion(A, r, V, np.concatenate((swept, alpha), axis=1), nothing, nothing)
        return BodyMotion(A, r, dof)

    @cached_property
    def violations(self) -> Array:
        """Phi over the samples (S, m)."""
        samples = self.samples
        values = [self.programs.phi(q, f) for q, f in zip(samples.q, samples.f, strict=True)]
        return np.reshape(values, (len(samples.t), self.programs.m))


class BetweenBodies(Measured):
    """The coordinates of a joint, measured between its bodies."""

    def __init__(self, bodies: Bodies, info: JointInfo) -> None:
        self.bodies, self.info = bodies, info
        self.resampled: Any = SimpleNamespace(samples=bodies.samples, coordinates={})
        carried, samples = bodies.equations.carried.get(info.name), bodies.samples
        if carried:  # its coordinates are unknowns
            places = range(carried.first, carried.first + len(info.coordinates))
            self.resampled.coordinates[info.name] = tuple(
                (samples.q[:, place], samples.qd[:, place], samples.qdd[:, place]) for place in places
            )

    @property
    def relative(self) -> RelativeMotion:
        a, b = (self.bodies.motion(name) for name in (self.info.a, self.info.b))
        return RelativeMotion(a, b, self.info.point_a, self.info.point_b)


def named_sources(programs: Programs, samples: KinematicSamples) -> dict[str, Source]:
    """Return all channels by name; a name that two kinds of element share becomes ``kind:name`` for each."""
    found = resolve_names(offered(Bodies(programs, samples)))
    return {name: entry.source for name, entry in found.items()}


def offered(bodies: Bodies) -> Iterator[Entry]:
    """Yield every channel."""
    equations = bodies.equations
    yield Entry("time", TIME, Source((), "s", lambda: bodies.samples.t))
    for name, body in list(equations.model.bodies.items())[1:]:
        for entry in body_sources(bodies, name, body.center_of_mass):
            yield Entry("body", *entry)
    for marker in equations.model.markers.values():
        for what, unit in (("position", "m"), ("velocity", "m/s"), ("acceleration", "m/s^2")):
            values = partial(of_point, bodies, marker.body.name, marker.point, what)
            yield Entry("marker", f"{marker.name}.{what}", Source(XYZ, unit, values, WORLD))
    for joint in equations.model.joints.values():
        for entry in joint_sources(bodies, joint):
            yield Entry("joint", *entry)
    own: dict[str, list[int]] = {}
    for row, owner in enumerate(equations.rows.owner):
        own.setdefault(owner, []).append(row)
    for owner, rows in own.items():
        if owner != equations.bodies[0] and owner not in bodies.number:
            yield Entry("equations", *violation_source(bodies, owner, rows))
    taken = {f"{name}.{coordinate}" for name, one in equations.carried.items() for coordinate in one.coordinates}
    for k, (name, _) in enumerate(equations.extra):
        if name in taken:  # a channel of its joint
            continue
        place = SIZE * len(equations.bodies) + k
        yield Entry("curve", name, Source((), "1", partial(of_unknown, bodies, place)))


def body_sources(bodies: Bodies, name: str, center: Array) -> Iterator[Named]:
    """Yield the motion of a body; ``angle`` is its turn about z of the world, without jumps."""
    for what, (unit, read) in BODY.items():
        yield f"{name}.{what}", Source(XYZ, unit, partial(of_body, bodies, name, read), WORLD)
    turn = partial(of_body, bodies, name, lambda body: quaternions(body.orientation))
    yield f"{name}.orientation", Source(QUATERNION, "1", turn, WORLD)
    yield f"{name}.mass_center", Source(XYZ, "m", partial(of_point, bodies, name, center, "position"), WORLD)
    yield f"{name}.angle", Source((), "rad", partial(yaw, bodies, name), WORLD)


def of_body(bodies: Bodies, name: str, read: Reading) -> Array:
    """Return a channel of the motion of a body."""
    return read(bodies.motion(name))


def yaw(bodies: Bodies, name: str) -> Array:
    """Return the angle (S,) of x of the body from x of the world, about z of the world [rad]."""
    body = bodies.motion(name)
    return unwrap(np.arctan2(body.orientation[:, 1, 0], body.orientation[:, 0, 0]), body.omega[:, 2], bodies.samples.t)


def of_point(bodies: Bodies, name: str, point: Array, what: str) -> Array:
    """Return position, velocity or acceleration (S, 3) of a ``point`` (3,) in body axes."""
    body = bodies.motion(name)
    x = body.point(point)
    readings: dict[str, Callable[[Array], Array]] = {
        "position": body.in_world, "velocity": body.velocity, "acceleration": body.acceleration
    }  # fmt: skip
    return readings[what](x)


def of_unknown(bodies: Bodies, place: int) -> Array:
    return bodies.samples.q[:, place]


def joint_sources(bodies: Bodies, joint: Joint) -> Iterator[Named]:
    """Yield the motion of a joint that has any, measured between its bodies."""
    info = joint_info(joint)
    measured = BetweenBodies(bodies, info)
    if info.coordinates:
        yield from coordinate_sources(info, measured.resampled, measured)
    elif info.kind.turns_freely:
        yield from orientation_sources(info, measured)
    if info.kind.free:
        yield from position_sources(info, measured)


def violation_source(bodies: Bodies, owner: str, own: list[int]) -> Named:
    """Return the violation of the equations of one element, in its ``own`` rows."""
    rows = bodies.equations.rows
    labels = tuple(rows.label[row] for row in own) if len(own) > 1 else ()
    unit = ", ".join("m" if rows.is_length[row] else "1" for row in own)

    def values() -> Array:
        found = bodies.violations[:, own]
        return found if len(own) > 1 else found[:, 0]

    return f"{owner}.violation", Source(labels, unit, values)


@dataclass(frozen=True)
class Counters:
    """Work of an analysis, counted as the paper counts.

    Parameters
    ----------
    iterations : tuple[int, ...]
        Newton iterations at each time.
    evaluations : dict[str, int]
        Evaluations of the tape by kind.
    factorisations : int
        Linear systems that were factorised.
    solutions : int
        Linear systems that were solved.
    refined : int
        Times between samples that Newton's iteration needed.
    """

    iterations: tuple[int, ...]  # of Newton at each time
    evaluations: dict[str, int]  # of the tape, by kind
    factorisations: int
    solutions: int
    refined: int  # times between samples that Newton asked for

    @property
    def total_iterations(self) -> int:
        """Newton iterations at all times together."""
        return sum(self.iterations)

    def __str__(self) -> str:
        times = len(self.iterations)
        most = max(self.iterations, default=0)
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.evaluations.items())
        return "\n".join(
            [
                f"times                {times}, {self.refined} more between them",
                f"Newton iterations    {self.total_iterations}, at most {most} at a time",
                f"evaluations          {kinds}",
                f"linear systems       {self.factorisations} factorised, {self.solutions} solved",
            ]
        )


@dataclass(frozen=True)
class KinematicReport:
    """Report of a kinematic analysis; the ``report`` of its Result.

    Parameters
    ----------
    samples : KinematicSamples
        Coordinates, rates and accelerations of all times.
    counters : Counters
        Work of the analysis.
    assembly : AssemblyReport
        Gaps and moves of the assembly.
    mobility : ConstraintRank
        Unknowns, equations and rank.
    singular : tuple[SingularPose, ...]
        Singular poses of the motion, in the order of time.
    notes : tuple[str, ...], optional
        Sentences on the motion, as on singular poses that it crossed.
    free : tuple[str, ...], optional
        Bodies that can still move at the first time, and how.
    """

    samples: KinematicSamples
    counters: Counters
    assembly: AssemblyReport
    mobility: ConstraintRank
    singular: tuple[SingularPose, ...]
    notes: tuple[str, ...] = ()
    free: tuple[str, ...] = ()  # bodies that can still move at the first time, and how

    def freedom(self) -> str:
        """Return free directions under joints and drivers, and redundant equations.

        Returns
        -------
        str
            A line for the freedom, and one for redundant equations.
        """
        count, spare = self.mobility.degrees_of_freedom, self.mobility.redundant
        held = "joints and drivers hold every body"
        told = f"{count} free: {', '.join(self.free) if count else held}"
        more = f" and {len(spare) - NAMED} more" if len(spare) > NAMED else ""
        return f"{told}\n{len(spare)} redundant: {', '.join(spare[:NAMED])}{more}" if spare else told

    def summary(self) -> str:
        """Return degrees of freedom, redundant rows and Newton iterations in one line.

        Returns
        -------
        str
            Summary in one line.
        """
        freedom, spare = self.mobility.degrees_of_freedom, len(self.mobility.redundant)
        return f"{freedom} free, {spare} redundant, {self.counters.total_iterations} Newton iterations"


def kinematic_result(programs: Programs, report: KinematicReport) -> Result:
    """Return the Result of a kinematic analysis."""
    return Result(
        lambda: named_sources(programs, report.samples),
        programs.equations.model.name,
        outcomes={"CONVERGED": len(report.samples.t)},
        warnings=dict.fromkeys([*map(str, report.singular), *report.notes], 1),
        report=report,
    )


Mask = NDArray[np.bool_]
METHODS = ("min_norm", "freeze")
NEARBY = 1e-3  # of the first step: where the rank is looked at a second time
WHOLE = 1e-9  # of an interval
ABOUT = 0.5  # [rad] on a curve beside a pose that is lost
MOST_SAMPLES = 10_000_000
FOLLOWED = (
    "bodies",
    "joints",
    "markers",
    "rods",
    "couplers",
    "drivers",
)  # what it is made of
MADE = "this Analysis was made, which does not have {it}: make another one"


class Analysis:
    """Kinematic analysis of a driven mechanism, in seven coordinates a body.

    Parameters
    ----------
    model : Model
        Bodies, joints, markers, rods, couplers and drivers of the mechanism.
    constraints : iterable, optional
        Constraints that a Model does not have: Gear, Screw, RackAndPinion, PointOnCurve of ``rtmbs.kinematics``.
    method : str, default "min_norm"
        "min_norm" is the motion of least velocity that meets the drivers. "freeze" is the paper's elimination.
    weights : str, default "size"
        Weights of velocities of "min_norm": their typical "size", or "mass".
    pivot : str, default "full"
        Pivots of "freeze": "row" as in the paper, or "full".
    tolerance : float, default 1e-10
        Tolerance of Newton's iteration for |Phi| and for |dq|, both without unit, between 0 and 1.
    assembly_tolerance : float, optional
        Largest gap of a joint in the reference pose that assembly may close [m or 1]; any gap unless given.
    contradiction : float, default 1e-6
        Largest |Phi| [m or 1] that equations which contradict each other may leave open, between 0 and 1.
    most_iterations : int, default 20
        Largest number of Newton iterations at a time.
    singular : str, default "pass"
        "pass" goes on after a singular pose. "stop" ends the motion before it.
    pivot_tolerance : float, default 1e-10
        Smallest pivot of elimination, between 0 and 1.
    keep_pivots : bool, default False
        Keep the pivots of elimination while they are above 0.1 of the row's maximum ("row" only).

    Raises
    ------
    ModelError
        For elements that do not fit.
    InputError
        For an option that does not exist or is out of range.

    Examples
    --------
    >>> analysis = rtmbs.kinematics.Analysis(rtmbs.library.build("driven_fourbar"))
    >>> motion = analysis.run(0.0, 1.0, 0.01)
    >>> motion.report.mobility.degrees_of_freedom
    0
    """

    def __init__(
        self,
        model: Model,
        constraints: Iterable[Constraint] = (),
        *,
        method: str = "min_norm",
        weights: str = "size",
        pivot: str = "full",
        tolerance: float = 1e-10,
        assembly_tolerance: float | None = None,
        contradiction: float = 1e-6,
        most_iterations: int = 20,
        singular: str = "pass",
        pivot_tolerance: float = 1e-10,
        keep_pivots: bool = False,
    ) -> None:
        one_of("method", method, METHODS)
        one_of("weights", weights, WEIGHTS)
        one_of("pivot", pivot, PIVOTS)
        one_of("singular", singular, ("pass", "stop"))
        for name, value in (
            ("tolerance", tolerance), ("contradiction", contradiction), ("pivot_tolerance", pivot_tolerance),
        ):  # fmt: skip
            if not (isinstance(value, float | int) and 0.0 < value < 1.0):
                raise InputError(f"{name} is {shown(value)}; it must be between 0 and 1")
        if not (isinstance(most_iterations, int) and most_iterations >= 1):
            raise InputError(f"most_iterations is {shown(most_iterations)}; it must be a whole number from 1 on")
        self.model, self.constraints = model, tuple(constraints)
        self.method, self.weights, self.pivot, self.singular = method, weights, pivot, singular
        self.tolerance, self.contradiction, self.most = tolerance, contradiction, most_iterations
        self.assembly_tolerance = np.inf if assembly_tolerance is None else float(assembly_tolerance)
        self.pivot_tolerance, self.keep_pivots = pivot_tolerance, keep_pivots
        self.equations = KinematicEquations(model, self.constraints)
        if method == "min_norm":
            build_metric(self.equations, weights)  # refused here, not when a motion is asked for
        self.programs = Programs(self.equations)
        self.origin: Origin | None = Origin(model, FOLLOWED)

    def __getstate__(self) -> Any:
        """Return the attributes for pickle: functions by name, or all by value where no other process could import one.

        Raises InputError that names the driver, the constraint or the model that cannot be pickled.
        """
        drivers = ((f"driver {name!r}: its profile", profile) for name, profile in self.equations.profiles)
        constraints = ((f"constraint {one.name!r}", one) for one in self.constraints)
        for what, part in (*drivers, *constraints, (f"model {self.model.name!r}", self.model)):
            pack_function(what, part)
        return pack_function(repr(self), vars(self))

    def __setstate__(self, held: Any) -> None:
        vars(self).update(unpack_function(held))

    def __repr__(self) -> str:
        sizes = f"{with_count(self.equations.n, 'coordinate')}, {with_count(self.equations.nf, 'driver')}"
        return f"Analysis({self.model.name!r}, method={self.method!r}: {sizes})"

    def assemble(self, t: float = 0.0) -> tuple[Array, AssemblyReport]:
        """Assemble the mechanism: find the pose nearest to the reference pose that meets all equations.

        Parameters
        ----------
        t : float, default 0.0
            Time [s] at which the drivers are evaluated.

        Returns
        -------
        tuple[ndarray, AssemblyReport]
            Coordinates (n,), seven a body [m, 1], and the report of the assembly.

        Raises
        ------
        StartError
            Where the mechanism cannot be assembled; the message names the joints and their gaps.
        """
        if self.origin is not None:
            self.origin.warn_of_changes(MADE)
        drivers = self.equations.drivers_at(np.array([t]))[0]
        check_reference(self.equations, drivers[0], self.assembly_tolerance)
        start = started(self.model, self.constraints, self.equations, t, self.tolerance)
        return assemble(self.programs, start, drivers[0], self.tolerance, self.contradiction)

    def check(self, t: float = 0.0) -> str:
        """Return the count of the mechanism, as the paper's table: bodies, equations, rank, redundant, free."""
        q, assembly = self.assemble(t)
        f = self.programs.turns(q, self.equations.drivers_at(np.array([t]))[0, 0])
        keep = rows_to_solve(self.programs, q, f)
        counts = mobility(self.programs, keep)
        lines = [f"{what:<18}{name:<24}{count:>4}" for what, name, count in self.equations.table()]
        bodies = len(self.equations.bodies)
        return "\n".join(
            [
                f"{bodies} bodies with ground, {self.equations.n} generalised coordinates",
                *lines,
                f"{'equations':<42}{self.equations.m:>4}",
                f"{'rank':<42}{counts.rank:>4}",
                f"{'free':<42}{counts.degrees_of_freedom:>4}",
                f"{'redundant':<42}{len(counts.redundant):>4}",
                *(f"  redundant: {name}" for name in counts.redundant),
                *(f"  free: {name}" for name in free_elements(self.programs, q, f, keep)),
                str(assembly),
                *(f"note: {note}" for note in curve_notes(self.equations)),
            ]
        )

    def run(self, start: float, end: float, interval: float) -> Result:
        """Return the motion at start, start + interval, ... up to end.

        Parameters
        ----------
        start : float
            First time [s].
        end : float
            End of the motion [s], not before ``start``.
        interval : float
            Interval between times [s], above 0.

        Returns
        -------
        Result
            Channels of the motion, with a KinematicReport as ``report``.

        Raises
        ------
        StartError
            Where the mechanism cannot be assembled, and where redundant equations contradict others during the motion.
        MotionError
            Where no position follows the drivers any more; its ``result`` is the motion so far.
        InputError
            For times that are no finite numbers or make no list, and for more samples than the memory holds.

        Examples
        --------
        >>> analysis = rtmbs.kinematics.Analysis(rtmbs.library.build("driven_fourbar"))
        >>> len(analysis.run(0.0, 1.0, 0.01))
        101
        """
        for name, value in (("start", start), ("end", end), ("interval", interval)):
            if not (isinstance(value, float | int) and np.isfinite(value)):
                raise InputError(f"{name} is {shown(value)}; it must be a finite number of seconds")
        if interval <= 0.0 or end < start:
            raise InputError(f"times from {start} to {end} s every {interval} s make no motion; end must be later")
        if (end - start) / interval > MOST_SAMPLES:
            raise InputError(f"{(end - start) / interval:.3g} samples are asked for; at most {MOST_SAMPLES} are taken")
        count = int(np.floor((end - start) / interval + WHOLE)) + 1
        return self.run_at(start + interval * np.arange(count))

    def run_at(self, times: Any) -> Result:
        """Return the motion at given times, as ``run`` does.

        Parameters
        ----------
        times : array_like
            Times (K,) [s], increasing.

        Returns
        -------
        Result
            Channels of the motion, with a KinematicReport as ``report``.

        Raises
        ------
        StartError
            Where the mechanism cannot be assembled, and where redundant equations contradict others during the motion.
        MotionError
            Where no position follows the drivers any more; its ``result`` is the motion so far.
        InputError
            For times that are no list of increasing finite numbers, and for more samples than the memory holds.
        """
        t = np.array(times, np.float64)
        if t.ndim != 1 or len(t) == 0 or not np.all(np.isfinite(t)) or not np.all(np.diff(t) > 0.0):
            raise InputError(f"times are {shown(times)}; they must be a list of increasing seconds")
        return AnalysisRun(self, t).motion()


class AnalysisRun:
    """State of one analysis run."""

    def __init__(self, analysis: Analysis, t: Array) -> None:
        self.analysis, self.programs, self.equations = analysis, analysis.programs, analysis.equations
        check_room(len(t), self.equations.n, self.equations.nf)
        self.samples = new_samples(t, self.equations.drivers_at(t), self.equations.n)
        self.q, self.assembly = analysis.assemble(float(t[0]))
        f = self.samples.drivers[0, 0].copy()
        self.samples.q[0] = self.q
        self.samples.f[0] = self.programs.turns(self.q, f)
        self.keep = self.widest(t)
        self.refined = Refinement()
        self.notes: list[str] = []
        self.spent: list[dict[str, int]] = []
        self.calls_before = dict(self.programs.calls)

    def widest(self, t: Array) -> Mask:
        """Return the rows to solve: at the first pose, or at one nearby where the first is singular."""
        keep = rows_to_solve(self.programs, self.q, self.samples.f[0])
        if len(t) < 2:
            return keep
        drivers = self.equations.drivers_at(np.array([t[0] + NEARBY * (t[1] - t[0])]))[0, 0]
        drivers[len(self.equations.profiles) :] = self.samples.f[0, len(self.equations.profiles) :]
        try:
            near, _ = assemble(self.programs, self.q, drivers, self.analysis.tolerance, self.analysis.contradiction)
        except StartError:
            return keep
        nearby = rows_to_solve(self.programs, near, drivers)
        return nearby if nearby.sum() > keep.sum() else keep

    def march(self) -> PathSolver:
        """Return the way from one time to the next for the rows that are solved."""
        a = self.analysis
        if a.method == "min_norm":
            return LeastChangeSolver(self.programs, self.keep, a.weights, a.tolerance, a.most)
        return EliminationSolver(
            self.programs, self.keep, a.pivot, a.pivot_tolerance, a.tolerance, a.most, a.keep_pivots
        )

    def motion(self) -> Result:
        """Fill all samples, find singular poses, and return the Result with its counters."""
        samples, march = self.samples, self.march()
        march, reached = fill(march, self.equations, samples, 0, self.refined)
        self.keep = march.keep
        reached = self.redundant_rows_hold(reached)
        good = samples.part(0, reached)
        poses = find_singular(march, self.equations, good) if reached > 1 else []
        poses = with_passed(poses, self.refined.passed, march, self.equations, good)
        if poses and self.analysis.singular == "stop":
            good = good.part(0, poses[0].sample + (poses[0].t > samples.t[poses[0].sample]))
            self.notes.append(f"stopped before the {poses[0]}")
            return self.result(march, good, poses[:1])
        result = self.result(march, good, poses)
        if reached < len(samples.t):
            error = self.lost(march, reached)
            error.result = result
            raise error
        return result

    def redundant_rows_hold(self, reached: int) -> int:
        """Return how many samples meet the rows that were not solved; StartError for rows that contradict others."""
        left = np.flatnonzero(~self.keep & ~self.equations.fixed_rows)
        if not len(left):
            return reached
        limit = self.analysis.contradiction
        for k in range(reached):
            phi = np.abs(self.programs.phi(self.samples.q[k], self.samples.f[k])[left])
            if not np.max(phi) <= limit:
                row, gap = left[int(np.argmax(phi))], float(np.max(phi))
                name = self.equations.row_names[row]
                self.check_first_distance(self.equations.rows.owner[row])
                raise StartError(
                    f"equation {name} follows from others at the start and contradicts them at t ="
                    f" {self.samples.t[k]:.6g} s, where it is open by {gap:.3g}; take away one of the joints or drivers"
                    " that hold the same motion"
                )
        return reached

    def check_first_distance(self, name: str) -> None:
        """Refuse a driver of a distance that begins at zero, where a distance has no direction."""
        driver = self.equations.model.drivers.get(name)
        if (
            driver
            and driver.between
            and abs(self.samples.drivers[0, 0, self.slot(name)]) <= self.analysis.contradiction
        ):
            a, b = driver.between
            raise StartError(
                f"driver {name!r} begins with a distance of 0, where its points {a.name!r} and {b.name!r} have no"
                " direction from one to the other; begin with them apart, or drive a coordinate of one of them"
            )

    def slot(self, name: str) -> int:
        """Return the place of a driver among the values of drivers."""
        return [one for one, _ in self.equations.profiles].index(name)

    def lost(self, march: PathSolver, k: int) -> MotionError:
        """Return the error for a time to which no position leads."""
        t, names = float(self.samples.t[k]), elements_at_rank_loss(march, self.equations)
        begin = f"no position was found at t = {t:.6g} s, {k} samples are good"
        if fast := too_fast(march, self.equations, self.samples, k):
            name, why = fast
            return MotionError(f"{begin}; {why}", t, (name,))
        if k and (notes := curve_notes(self.equations, self.samples.q[k - 1 : k], ABOUT, names)):
            return MotionError(f"{begin}; {notes[0]}", t, names)
        return MotionError(
            f"{begin}; the equations of {', '.join(names)} come to"
            " depend on each other there: a driver may ask for more than the mechanism can reach",
            t,
            names,
        )

    def result(self, march: PathSolver, samples: KinematicSamples, poses: list[SingularPose]) -> Result:
        """Return the motion with its counters."""
        counts = march.counts()
        iterations = tuple(int(count) for count in samples.iterations)
        evaluations = {
            kind: counts.get(kind, 0)
            + (self.programs.calls[kind] - self.calls_before[kind]) * (self.analysis.method == "min_norm")
            for kind in self.programs.calls
        }
        counters = Counters(iterations, evaluations, counts["factorisations"], counts["solutions"], self.refined.pieces)
        self.notes += [f"a singular pose at t = {t:.9g} s was crossed" for t in self.refined.crossed]
        freedom = mobility(self.programs, self.keep)
        self.notes += driver_notes(self.equations, samples)
        self.notes += curve_notes(self.equations, samples.q) if len(samples.t) else []
        free = free_elements(self.programs, samples.q[0], samples.f[0], self.keep) if len(samples.t) else []
        notes, told = tuple(self.notes), tuple(free if freedom.degrees_of_freedom else ())
        report = KinematicReport(samples, counters, self.assembly, freedom, tuple(poses), notes, told)
        return kinematic_result(self.programs, report)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse an option that does not exist."""
    if value not in choices:
        raise InputError(f"{name} is {shown(value)}; it must be {' or '.join(map(repr, choices))}")


SAME = 1e-6  # of the size of the mechanism, or rad: poses that are one
SPREAD = 1.5  # of random starts, in sizes of the mechanism and radians


class Assembly(NamedTuple):
    """One assembly.

    Parameters
    ----------
    positions : dict[str, ndarray]
        Origin of every body (3,) [m].
    orientations : dict[str, ndarray]
        Axes of every body (3, 3), to world axes.
    coordinates : ndarray
        All unknowns, as ``Analysis.assemble`` returns them.
    found : int
        How many of the starts led here.
    """

    positions: dict[str, Array]
    orientations: dict[str, Array]
    coordinates: Array
    found: int


def assemblies(analysis: Analysis, t: float = 0.0, starts: int = 200, seed: int = 0) -> list[Assembly]:
    """Return the assemblies of a mechanism that its drivers hold, found from random poses of its bodies.

    Parameters
    ----------
    analysis : Analysis
        The mechanism; joints and drivers must hold every body.
    t : float, default 0.0
        Time [s].
    starts : int, default 200
        Number of random starts. More of them find assemblies that few starts lead to.
    seed : int, default 0
        Seed of the random numbers.

    Returns
    -------
    list[Assembly]
        Assemblies, the one that most starts lead to first.

    Raises
    ------
    InputError
        For a mechanism that is free, and for no starts.
    """
    if not (isinstance(starts, int) and starts >= 1):
        raise InputError(f"starts is {shown(starts)}; it must be a whole number from 1 on")
    equations, programs = analysis.equations, analysis.programs
    free = analysis.run_at([t]).report.mobility.degrees_of_freedom
    if free:
        raise InputError(
            f"{analysis.model.name!r} has {free} free directions; drive them before you ask for assemblies"
        )
    f = equations.drivers_at(np.array([t]))[0, 0]
    rng, found = np.random.default_rng(seed), list[tuple[Array, int]]()
    for k in range(starts):
        start = equations.start.copy()
        if k:
            start[SIZE:] += SPREAD * equations.sizes()[SIZE:] * rng.standard_normal(equations.n - SIZE)
        try:
            q, _ = assemble(programs, start, f, analysis.tolerance, analysis.contradiction)
        except StartError:
            continue
        for place, (known, count) in enumerate(found):
            if apart(q, known, len(equations.bodies), equations.length) < SAME:
                found[place] = (known, count + 1)
                break
        else:
            found.append((q, 1))
    return [posed(q, equations.bodies, count) for q, count in sorted(found, key=lambda one: -one[1])]


def apart(q: Array, other: Array, bodies: int, length: float) -> float:
    """Return the largest distance of two poses: in sizes of the mechanism, and of entries of rotations."""
    a, b = (x[: SIZE * bodies].reshape(bodies, SIZE) for x in (q, other))
    moved = np.abs(a[:, :3] - b[:, :3]).max() / length
    return float(max(moved, np.abs(rotations(a[:, 3:]) - rotations(b[:, 3:])).max()))


def posed(q: Array, names: list[str], count: int) -> Assembly:
    """Return unknowns as the poses of bodies."""
    rows = q[: SIZE * len(names)].reshape(-1, SIZE)
    axes = rotations(rows[:, 3:])
    places = {name: rows[k, :3].copy() for k, name in enumerate(names)}
    return Assembly(places, {name: axes[k] for k, name in enumerate(names)}, q, count)
