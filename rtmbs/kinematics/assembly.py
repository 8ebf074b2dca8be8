"""Assembly: the pose nearest to the reference pose, moved to the initial values, at which all equations hold; mobility.

The iteration is that of ``start.assembly``, without a pull back to the reference pose (METHODS 1.15). The mobility at a
pose is independent and redundant rows of Phi by name, and coordinates that can still move.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, diags_array

from rtmbs.errors import StartError
from rtmbs.kinematics.coordinates import SIZE, BodyPoses
from rtmbs.kinematics.element_equations import RULES, Constraint, Writer, cosines_of_axes, follow
from rtmbs.kinematics.equations import KinematicEquations, Programs
from rtmbs.model import ConstantRate, Initial, Model
from rtmbs.model.checks import rotation_of_quaternion
from rtmbs.numerics.linear.rank import independent_rows
from rtmbs.numerics.rotations.quaternions import quaternions, rotations
from rtmbs.semirecursive.loop_jacobian import Group
from rtmbs.semirecursive.start.assembly import NearestPose

Array = NDArray[np.float64]
MOST = 100  # iterations
SHOWN = 3  # worst of a message
SHAKEN, LOOKED_BESIDE = 0.02, 1000  # by how much, in sizes; unknowns up to which
TOO_FAR = "these equations contradict each other, or the reference pose is too far from one that fits"
BETWEEN = (
    "the reference pose stands between several ways to assemble, such as bars in one line; move its bodies a little to"
    " the side that is meant"
)


class KinematicPose(NearestPose):
    """Phi(q, f) = 0 as equations of the coordinates of all bodies but ground, Euler parameters of length one."""

    def __init__(self, programs: Programs, f: Array, tolerance: float) -> None:
        equations = programs.equations
        self.programs, self.f = programs, f
        self.rows, self.scale = ~equations.fixed_rows, row_scale(equations)
        self.typical = equations.sizes()[SIZE:]
        self.groups = [Group(np.arange(len(self.scale)), np.arange(len(self.typical)))]
        self.closed, self.still, self.iterations = tolerance, tolerance, MOST
        self.bounded = False  # a pose between several ways to assemble is refused, not left to one side
        self.q = equations.start.copy()

    def gap(self, z: Array) -> Array:
        """Return Phi over its scale (m,), of the coordinates ``self.q``."""
        self.q[SIZE:] = z
        normalise(self.q, len(self.programs.equations.bodies))
        return np.asarray(self.programs.phi(self.q, self.f)[self.rows] * self.scale)

    def scaled_jacobian(self, z: Array) -> csc_array:
        """Return the derivative (m, n) of the gap by z / typical."""
        return csc_array(scaled_jacobian(self.programs, self.q, self.f))

    def unwound(self, z: Array, wanted: Array, kept: NDArray[np.bool_]) -> Array:
        """Return the coordinates of the pose last looked at."""
        return self.q[SIZE:].copy()

    def from_pose(self, start: Array) -> tuple[Array, int]:
        """Return q (n,) where damped least changes lead from a pose, and how many it took."""
        self.q[:SIZE], z = start[:SIZE], start[SIZE:]
        free, ones = np.zeros(len(z), np.bool_), np.ones(len(z))
        self.approach(z, z, free, ones, 0.0)
        return self.q.copy(), self.taken


@dataclass(frozen=True)
class AssemblyReport:
    """Gaps, moves and iterations of an assembly; ``str`` of it is the text for the user.

    Parameters
    ----------
    gap_before : float
        Largest |Phi| at the reference pose [m or 1].
    gap : float
        Largest |Phi| that is left [m or 1].
    gap_owner : str
        Element of the equation with this gap.
    moved : str
        Body that moved most, "" when none did.
    distance : float
        Distance that it moved [m].
    turned : str
        Body that turned most, "" when none did.
    angle : float
        Angle that it turned [rad].
    iterations : int
        Iterations of the assembly.
    """

    gap_before: float  # largest |Phi| at the reference pose [m or 1]
    gap: float  # largest |Phi| left
    gap_owner: str  # whose it is
    moved: str  # the body that moved most, "" when none did
    distance: float  # by how much [m]
    turned: str
    angle: float  # [rad]
    iterations: int

    def __str__(self) -> str:
        done = [f"moved {self.moved} by {self.distance:.3g} m"] if self.moved else []
        done += [f"turned {self.turned} by {self.angle:.3g} rad"] if self.turned else []
        if not done:
            return f"assembly moved nothing, gap {self.gap:.2e}"
        return (
            f"assembly {' and '.join(done)} in {self.iterations} iterations;"
            f" gap {self.gap_before:.2e} before, {self.gap:.2e} after"
        )


def scaled_jacobian(programs: Programs, q: Array, f: Array) -> csr_array:
    """Return Phi_q without units, rows and columns of ground left out."""
    equations = programs.equations
    J = programs.jacobian(q, f)[np.flatnonzero(~equations.fixed_rows)][:, SIZE:]
    return csr_array(diags_array(row_scale(equations)) @ J @ diags_array(equations.sizes()[SIZE:]))


def row_scale(equations: KinematicEquations) -> Array:
    """Return the factors that take the units off the rows that do not belong to ground."""
    length = equations.is_length[~equations.fixed_rows]
    return np.where(length, 1.0 / equations.length, 1.0)


def assemble(
    programs: Programs, start: Array, f: Array, tolerance: float, limit: float
) -> tuple[Array, AssemblyReport]:
    """Return the assembled coordinates and the report of the assembly.

    tolerance: of |Phi| without unit; limit: the largest |Phi| [m or 1] that contradictory equations may leave.
    Raises StartError naming whose equations stay open, or the joint whose axes came together the wrong way round.
    """
    equations = programs.equations
    before = programs.phi(start, f)
    q, iterations = KinematicPose(programs, f, tolerance).from_pose(start)
    left = programs.phi(q, f)
    if not np.max(np.abs(left), initial=0.0) <= limit:
        side = beside(programs, start, f, tolerance, limit)
        raise StartError(open_message(equations, left, limit, BETWEEN if side else TOO_FAR))
    check_sides(equations, q)
    return q, report(equations, start, q, before, left, iterations)


def check_reference(equations: KinematicEquations, f: Array, tolerance: float) -> None:
    """Refuse a reference pose whose joints are open by more than the tolerance [m or 1]; drivers are not looked at."""
    if tolerance == np.inf:
        return
    phi, driven = np.abs(equations.phi(equations.start, f)), {name for name, _ in equations.profiles}
    own = [row for row, owner in enumerate(equations.rows.owner) if owner not in driven]
    worst = own[int(np.argmax(phi[own]))]
    if phi[worst] > tolerance:
        owner = equations.rows.owner[worst]
        raise StartError(
            f"{equations.kind(owner)} {owner!r} is open by {phi[worst]:.3g} in the reference pose, the assembly"
            f" tolerance is {tolerance:g}; place its bodies better, or allow more"
        )


def normalise(q: Array, bodies: int) -> None:
    """Give all Euler parameters the length one, in place."""
    e = q[: SIZE * bodies].reshape(bodies, SIZE)[:, 3:]
    e /= np.linalg.norm(e, axis=1, keepdims=True)


def beside(programs: Programs, start: Array, f: Array, tolerance: float, limit: float) -> bool:
    """Return whether a pose a little beside the start can be assembled, looked at for mechanisms of moderate size."""
    equations = programs.equations
    if equations.n > LOOKED_BESIDE:
        return False
    shaken = start.copy()
    shaken[SIZE:] += SHAKEN * equations.sizes()[SIZE:] * np.random.default_rng(0).standard_normal(equations.n - SIZE)
    left = programs.phi(KinematicPose(programs, f, tolerance).from_pose(shaken)[0], f)
    return bool(np.max(np.abs(left), initial=0.0) <= limit)


def open_message(equations: KinematicEquations, phi: Array, limit: float, why: str) -> str:
    """Return the sentence for equations that do not hold together."""
    worst: dict[str, float] = {}
    for owner, value in zip(equations.rows.owner, np.abs(phi).tolist(), strict=True):
        worst[owner] = max(worst.get(owner, 0.0), value)
    open_ones = sorted((name for name in worst if worst[name] > limit), key=lambda name: -worst[name])
    told = ", ".join(f"{equations.kind(name)} {name!r} by {worst[name]:.3g}" for name in open_ones[:SHOWN])
    more = f" and {len(open_ones) - SHOWN} more" if len(open_ones) > SHOWN else ""
    return f"the mechanism cannot be assembled: open are {told}{more}; {why}"


def check_sides(equations: KinematicEquations, q: Array) -> None:
    """Refuse axes that point opposite ways: products of axes do not see the difference."""
    pose = BodyPoses(q, len(equations.bodies))
    A = rotations(q[: SIZE * len(equations.bodies)].reshape(-1, SIZE)[:, 3:])
    number = {name: k for k, name in enumerate(equations.bodies)}
    for joint in equations.model.joints.values():
        a, b = A[number[joint.a.name]] @ joint.axes_a, A[number[joint.b.name]] @ joint.axes_b
        carried = equations.carried.get(joint.name)
        cosines = cosines_of_axes(pose, carried) if carried else [(a @ e) @ (b @ e) for e in joint.type.aligned()]
        if min(cosines, default=1.0) < 0.0:
            raise StartError(
                f"joint {joint.name!r} was assembled with its axes opposite each other; turn body"
                f" {joint.b.name!r} in its reference pose nearer to the side that is meant"
            )


def report(
    equations: KinematicEquations, start: Array, q: Array, before: Array, left: Array, iterations: int
) -> AssemblyReport:
    """Return the motion of the bodies in the assembly."""
    bodies = len(equations.bodies)
    old, new = (x[: SIZE * bodies].reshape(bodies, SIZE) for x in (start, q))
    distance = np.linalg.norm(new[:, :3] - old[:, :3], axis=1)
    cosine = np.abs(np.einsum("bi,bi->b", new[:, 3:], old[:, 3:]) / np.linalg.norm(old[:, 3:], axis=1))
    angle = 2.0 * np.arccos(np.minimum(cosine, 1.0))
    far, turned = int(np.argmax(distance)), int(np.argmax(angle))
    worst = int(np.argmax(np.abs(left))) if len(left) else 0
    return AssemblyReport(
        gap_before=float(np.max(np.abs(before), initial=0.0)),
        gap=float(np.max(np.abs(left), initial=0.0)),
        gap_owner=equations.rows.owner[worst],
        moved=equations.bodies[far] if distance[far] > 1e-12 * equations.length else "",
        distance=float(distance[far]),
        turned=equations.bodies[turned] if angle[turned] > 1e-7 else "",
        angle=float(angle[turned]),
        iterations=iterations,
    )


WIDE = 0.1  # largest |Phi| at which the pose is taken as a beginning all the same


class Held(NamedTuple):
    """A joint coordinate at its initial value."""

    name: str
    initial: Initial
    k: int

    @property
    def profile(self) -> ConstantRate:
        """The value, for all times."""
        assert self.initial.position is not None
        return ConstantRate(0.0, float(self.initial.position[self.k]))


def write_held_coordinate(writer: Writer, held: Held) -> None:
    """Write the row: the coordinate stays at its initial value."""
    reading = writer.reading(held.initial.joint, held.k)
    follow(writer, held, "initial", reading)


RULES[Held] = write_held_coordinate


def started(
    model: Model, constraints: Iterable[Constraint], equations: KinematicEquations, t: float, tolerance: float
) -> Array:
    """Return the coordinates (n,) from which assembly begins at time t.

    Raises StartError when pinned values, drivers and loops contradict each other.
    """
    driven = {driver.joint for driver in model.drivers.values() if driver.joint}
    held, pinned, start = [], True, equations.start.copy()
    for initial in model.initials.values():
        if initial.position is None:
            continue
        if initial.joint.type.start != "coordinates":
            turn_body(initial, start, list(model.bodies))
            continue
        for k in range(len(initial.position)):
            if (initial.joint, k) not in driven:
                held.append(Held(f"initial value of {initial.joint.name}[{k}]", initial, k))
        pinned &= initial.pin
    if not held:
        return start
    elements: list[Any] = [*constraints, *held]
    wider = Programs(KinematicEquations(model, elements))
    f = wider.equations.drivers_at(np.array([t]))[0, 0]
    try:
        return assemble(wider, start, f, tolerance, 1e-6)[0]
    except StartError:
        if pinned:
            raise
        return assemble(wider, start, f, tolerance, np.inf)[0]


def turn_body(initial: Initial, start: Array, bodies: list[str]) -> None:
    """Place body b of a spherical or floating joint as its initial value says, where body a stands in its reference."""
    assert initial.position is not None
    joint = initial.joint
    a, b = (slice(SIZE * bodies.index(body.name), SIZE * (bodies.index(body.name) + 1)) for body in (joint.a, joint.b))
    A = rotations(start[a][None, 3:])[0]
    B = A @ rotation_of_quaternion(initial.position[-4:])
    apart = joint.axes_a @ initial.position[:3] if joint.type.start == "pose" else np.zeros(3)
    start[b] = np.concatenate((start[a][:3] + A @ (joint.point_a + apart) - B @ joint.point_b, quaternions(B[None])[0]))


Mask = NDArray[np.bool_]
TOLERANCE = 1e-8  # of a row without unit; a pose that is open by a gap has rows that are dependent to about the gap


@dataclass(frozen=True)
class ConstraintRank:
    """Unknowns, equations and rank at a pose; ground's seven of each are counted.

    Parameters
    ----------
    unknowns : int
        Number of coordinates.
    equations : int
        Number of equations.
    rank : int
        Rank of the equations.
    redundant : tuple[str, ...]
        Names of the rows that other rows hold already.
    """

    unknowns: int
    equations: int
    rank: int
    redundant: tuple[str, ...]  # rows that others hold already

    @property
    def degrees_of_freedom(self) -> int:
        """Degrees of freedom left by joints and drivers together."""
        return self.unknowns - self.rank

    def __str__(self) -> str:
        return (
            f"{self.unknowns} coordinates, {self.equations} equations of rank {self.rank}, "
            f"{self.degrees_of_freedom} free, {len(self.redundant)} redundant"
        )


def rows_to_solve(programs: Programs, q: Array, f: Array) -> Mask:
    """Return the rows (m,) that make up a basis of all that do not belong to ground; of equal ones the later goes."""
    equations = programs.equations
    rows = np.flatnonzero(~equations.fixed_rows)
    J = scaled_jacobian(programs, q, f)
    gap = float(np.max(np.abs(programs.phi(q, f)), initial=0.0))
    order = {owner: k for k, owner in enumerate(dict.fromkeys(equations.rows.owner))}
    blocks = np.array([order[equations.rows.owner[row]] for row in rows])
    keep = np.zeros(equations.m, np.bool_)
    keep[rows] = independent_rows(J, blocks, max(TOLERANCE, 10.0 * gap))
    return keep


def smallest_singular(programs: Programs, q: Array, f: Array, rank: int) -> float:
    """Return the singular value number ``rank`` of all rows that do not belong to ground, without unit."""
    values = np.linalg.svd(scaled_jacobian(programs, q, f).toarray(), compute_uv=False)
    return float(values[rank - 1]) if 0 < rank <= len(values) else np.inf


def mobility(programs: Programs, keep: Mask) -> ConstraintRank:
    """Return the counts for the rows that are kept."""
    equations = programs.equations
    names = equations.row_names
    left = np.flatnonzero(~keep & ~equations.fixed_rows)
    return ConstraintRank(equations.n, equations.m, int(keep.sum()) + SIZE, tuple(names[row] for row in left))


ZERO = 1e-8  # share of the largest singular value
DENSE = 1000  # unknowns up to which the free directions are looked at
PART = 0.3  # share of the largest part from which a body is named


def free_directions(programs: Programs, q: Array, f: Array, keep: Mask) -> Array:
    """Return the directions (k, n - 7) without unit that no equation holds, ground's unknowns left out.

    keep (m,): rows that make up a basis of all, so that the matrix has no more rows than columns.
    """
    J = scaled_jacobian(programs, q, f)[np.flatnonzero(keep[~programs.equations.fixed_rows])].toarray()
    _, values, Vt = np.linalg.svd(J)
    rank = int(np.count_nonzero(values > ZERO * max(values[0] if len(values) else 0.0, 1.0)))
    return np.asarray(Vt[rank:])


def free_elements(programs: Programs, q: Array, f: Array, keep: Mask) -> list[str]:
    """Return the bodies that can still move, each with how it moves most: "pend2 turns about (0.8, -0.6, 0)"."""
    equations = programs.equations
    if equations.n > DENSE:
        return [f"not named beyond {DENSE:,} unknowns"] if keep.sum() + SIZE < equations.n else []
    found: list[str] = []
    directions = free_directions(programs, q, f, keep)
    if not len(directions):
        return found
    bodies = len(equations.bodies)
    moved = (directions * equations.sizes()[SIZE:])[:, : SIZE * (bodies - 1)].reshape(len(directions), bodies - 1, SIZE)
    turn, slide = spins(q, moved, bodies), moved[:, :, :3] / equations.length
    part = np.sqrt(np.sum(turn**2, axis=(0, 2)) + np.sum(slide**2, axis=(0, 2)))
    for k, name in enumerate(equations.bodies[1:]):
        if part[k] >= PART * part.max():
            found.append(f"{name} {words(turn[:, k], slide[:, k], len(directions))}")
    return found


def spins(q: Array, moved: Array, bodies: int) -> Array:
    """Return the turns (k, bodies - 1, 3) in world axes."""
    from rtmbs.numerics.rotations.quaternions import world_rates

    e = q[SIZE : SIZE * bodies].reshape(bodies - 1, SIZE)[:, 3:]
    return np.einsum("bij,kbj->kbi", world_rates(e), moved[:, :, 3:])


def shown(direction: Array) -> Array:
    """Return a unit vector without its rounding, and without minus zeros."""
    return np.round(direction, 9) + 0.0


def words(turn: Array, slide: Array, count: int) -> str:
    """Return how a body moves in the free directions."""
    if count > 1:
        return f"takes part in {count} free directions"
    size = np.linalg.norm(turn[0])
    if size >= np.linalg.norm(slide[0]):
        axis = turn[0] / size
        return "turns about ({:.3g}, {:.3g}, {:.3g})".format(*shown(axis))
    way = slide[0] / np.linalg.norm(slide[0])
    return "slides along ({:.3g}, {:.3g}, {:.3g})".format(*shown(way))
