"""The Result of a kinematic analysis: channels under the names of a dynamic run, and the report of the analysis."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.kinematics.assembly import AssemblyReport
from rtmbs.kinematics.continuation import SingularPose
from rtmbs.kinematics.coordinates import SIZE, KinematicSamples
from rtmbs.kinematics.equations import Programs
from rtmbs.kinematics.mobility import ConstraintRank
from rtmbs.model import Joint
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
