"""Inverse kinematics of open and closed chains: poses that fit targets or markers of motion capture; scans of poses.

A step minimises |W (e + J dv)|^2 + mu |dv|^2 with Phi_q dv = -Phi: with a particular solution and the null space of the
loops it is a small linear least squares problem. Coordinates at a limit that the step would leave are held. Newton's
method closes the loops again after each step, so every pose that is taken has closed loops. The damping mu falls where
a step reduces the error, and grows where not (Levenberg, Marquardt). Markers fit measured points by least squares, also
those of C3D files.

Scans find the reach of a frame, manipulability and singular poses. J is the Jacobian of the frame along motions that
keep the loops closed: J N with an orthonormal basis N of the null space of the loop equations. The manipulability is
the product of its singular values (Yoshikawa 1985). Poses of closed loops are drawn between the limits and closed
within them by Newton's method. Where that fails, a random walk along the closed poses goes on from the last one, at
first from the pose of a simulation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, LanguageError, StartError, shown, unknown_name
from rtmbs.model.checks import numbers, rotation
from rtmbs.numerics.rotations.quaternions import quaternions
from rtmbs.robotics.kinematics import RobotKinematics
from rtmbs.semirecursive.start.checks import facing_away

Array = NDArray[np.float64]
CLOSED = 1e-10  # of loop equations [m or 1]
RANK = 1e-9  # of the largest singular value
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-4, 1e-14, 1e8
STUCK = 1e-13  # a step of this size changes nothing
CLOSINGS = 50  # iterations of Newton's method that close loops
ROUNDING = 1e-12  # error that rounding may leave, beside the size of the target
HELD_ROUNDS = 8  # coordinates that come to a limit in one step, group after group


@dataclass(frozen=True)
class InverseKinematics:
    """Pose that inverse kinematics found; ``Robot.inverse_kinematics`` returns it.

    Parameters
    ----------
    q : ndarray
        Pose (nq,).
    reached : bool
        True when every target is met within the tolerance, loops closed.
    errors : dict[str, float]
        Largest error of each frame [m and rad].
    gap : float
        Largest loop equation [m or 1].
    at_limits : tuple[str, ...]
        Joints that stand at a limit.
    iterations : int
        Number of iterations.
    reason : str
        Why the targets are not reached; empty where they are.
    """

    q: Array
    reached: bool
    errors: dict[str, float]
    gap: float
    at_limits: tuple[str, ...]
    iterations: int
    reason: str


class Target:
    """Where a frame should stand."""

    def __init__(self, name: str, wanted: Any, weight: float) -> None:
        what = f"target {name!r}"
        pair = isinstance(wanted, tuple) and len(wanted) == 2
        if not (isinstance(weight, int | float | np.number) and 0.0 < weight < np.inf):
            raise InputError(f"{what}: weight is {shown(weight)}; it must be a positive number")
        self.name, self.weight = name, float(weight)
        self.position = numbers(wanted[0] if pair else wanted, f"{what}: position", (3,))
        self.rotation = rotation(wanted[1], f"{what}: rotation") if pair else None

    def error(self, robot: RobotKinematics) -> tuple[Array, Array]:
        """Return the error (k,) and its derivative (k, nv), at the pose last taken."""
        frame = robot._frame(self.name)
        _, found = robot._placed(frame)
        J = robot._jacobian(frame, "world")
        position = found.position - self.position
        if self.rotation is None:
            return position, J[:3]
        turn = rotation_vector(found.rotation @ self.rotation.T)
        return np.concatenate((position, turn)), J


def rotation_vector(R: Array) -> Array:
    """Return the rotation vector (3,) of a rotation, at most half a turn long."""
    w, *xyz = quaternions(R[None])[0]
    size = float(np.linalg.norm(xyz))
    return np.array(xyz) * (2.0 if size < 1e-12 else 2.0 * np.arctan2(size, w) / size)


class Search:
    """Errors, steps and limits of one search."""

    def __init__(self, robot: RobotKinematics, targets: list[Target], bounds: tuple[Array, Array]) -> None:
        self.robot, self.targets, (self.lower, self.upper) = robot, targets, bounds

    def look(self, q: Array) -> tuple[Array, Array, Array, Array]:
        """Return weighted errors, their derivative, the loop equations and theirs at a pose."""
        robot = self.robot
        robot._take(q)
        found = [(one.weight, *one.error(robot)) for one in self.targets]
        e = np.concatenate([weight * error for weight, error, _ in found])
        J = np.concatenate([weight * derivative for weight, _, derivative in found])
        return e, J, robot._equations.ws.Phi[robot._rows].copy(), robot._closure_rows()

    def closed(self, q: Array) -> tuple[Array, bool]:
        """Return the pose within the limits at which Newton's method with least steps ends, and whether loops close.

        Loops with axes that point opposite ways are no closed ones, although their equations hold.
        """
        robot = self.robot
        q = self.moved(q, np.zeros(robot.nv))
        if not np.any(robot._rows):
            return q, True
        none = np.zeros(0), np.zeros((0, robot.nv))
        for _ in range(CLOSINGS):
            robot._take(q)
            gap = robot._equations.ws.Phi[robot._rows].copy()
            if not np.all(np.isfinite(gap)):
                return q, False
            if np.abs(gap).max() <= 0.01 * CLOSED:
                return q, not facing_away(robot._equations)
            q = self.moved(q, self.step(q, (*none, gap, robot._closure_rows()), 0.0))
        robot._take(q)
        closed = np.abs(robot._equations.ws.Phi[robot._rows]).max() <= CLOSED
        return q, bool(closed) and not facing_away(robot._equations)

    def step(self, q: Array, seen: tuple[Array, Array, Array, Array], mu: float) -> Array:
        """Return the step dv (nv,), holding coordinates that would leave their limits."""
        e, J, gap, C = seen
        nv = J.shape[1]
        x = self.single(q)
        held = np.zeros(nv, np.bool_)
        dv = np.zeros(nv)
        for _ in range(HELD_ROUNDS):
            free = ~held
            dv = np.zeros(nv)
            dv[free] = least_step(e + J @ dv, J[:, free], gap, C[:, free], mu)
            after = x + dv
            leaving = free & (((after < self.lower) & (x <= self.lower)) | ((after > self.upper) & (x >= self.upper)))
            if not np.any(leaving):
                break
            held |= leaving
        return dv

    def single(self, q: Array) -> Array:
        """Return the coordinates (nv,) that limits are about; zero of quaternions."""
        x = np.zeros(self.robot.nv)
        for place in self.robot.coordinates.places:
            if not place.turns:
                x[place.v] = q[place.q]
        return x

    def moved(self, q: Array, dv: Array) -> Array:
        """Return the pose after a step, cut at the limits."""
        x = self.single(q)
        bounded = np.isfinite(self.lower) | np.isfinite(self.upper)
        cut = np.where(bounded, np.clip(x + dv, self.lower, self.upper) - x, dv)
        return self.robot.coordinates.integrate(q, cut)


def least_step(e: Array, J: Array, gap: Array, C: Array, mu: float) -> Array:
    """Return dv that minimises |e + J dv|^2 + mu |dv|^2 with C dv = -gap, as far as C allows."""
    nv = J.shape[1]
    if len(gap):
        U, S, Vt = np.linalg.svd(C, full_matrices=True)
        rank = int(np.count_nonzero(RANK * S.max(initial=0.0) < S)) if S.max(initial=0.0) > 0.0 else 0
        first = -Vt[:rank].T @ ((U[:, :rank].T @ gap) / S[:rank])
        N = Vt[rank:].T
    else:
        first, N = np.zeros(nv), np.eye(nv)
    if not N.shape[1]:
        return np.asarray(first)
    JN = J @ N
    left = np.concatenate((JN, np.sqrt(mu) * np.eye(N.shape[1])))
    right = -np.concatenate((e + J @ first, np.zeros(N.shape[1])))
    y = np.linalg.lstsq(left, right, rcond=None)[0]
    return np.asarray(first + N @ y)


def solve(
    robot: RobotKinematics,
    targets: Mapping[str, Any],
    q: Array,
    weights: Mapping[str, float],
    limits: Mapping[str, tuple[float, float]] | None,
    tolerance: float,
    iterations: int,
) -> InverseKinematics:
    """Return the pose at which the targets are met, or the nearest one found."""
    if not targets:
        raise InputError("inverse kinematics: targets is empty; it must name a frame or more")
    for name in weights.keys() - targets.keys():
        raise InputError(f"weights: {unknown_name('target', name, targets)}")
    if not (isinstance(tolerance, int | float | np.number) and 0.0 < tolerance < np.inf):
        raise InputError(f"tolerance is {shown(tolerance)}; it must be a positive number")
    if not (isinstance(iterations, int | np.integer) and iterations > 0):
        raise InputError(f"iterations is {shown(iterations)}; it must be a positive whole number")
    wanted = [Target(name, where, weights.get(name, 1.0)) for name, where in targets.items()]
    search = Search(robot, wanted, bounds_of(robot, limits))
    q, count, settled = descend(search, closed_start(search, q), tolerance, iterations)
    return answer(search, q, tolerance, count, settled)


def closed_start(search: Search, q: Array) -> Array:
    """Return the closed pose next to a start, or else to that of a simulation; InputError without one."""
    start, closed = search.closed(q)
    if not closed:
        try:
            start, closed = search.closed(search.robot.assembled()[0])
        except StartError:
            closed = False
    if not closed:
        raise InputError(
            "inverse kinematics: the loops do not close within the limits, from this start and from that of a "
            "simulation; give start= near a closed pose, or wider limits="
        )
    return start


def descend(search: Search, q: Array, tolerance: float, iterations: int) -> tuple[Array, int, bool]:
    """Return the pose of the least error found, the number of iterations, and whether no small step lessens it."""
    q, _ = search.closed(q)
    seen, mu, count = search.look(q), FIRST_DAMPING, 0
    for _ in range(iterations):
        if np.abs(seen[0]).max() <= 0.1 * tolerance:
            return q, count, True
        count += 1
        dv = search.step(q, seen, mu)
        tried, closed = search.closed(search.moved(q, dv))
        after = search.look(tried)
        if closed and after[0] @ after[0] < seen[0] @ seen[0]:
            q, seen, mu = tried, after, max(0.1 * mu, LEAST_DAMPING)
        else:
            mu = 10.0 * mu
        if np.abs(dv).max(initial=0.0) < STUCK or mu > MOST_DAMPING:
            return q, count, True
    return q, count, False


def answer(search: Search, q: Array, tolerance: float, iterations: int, settled: bool) -> InverseKinematics:
    """Return the pose with its errors, judged anew."""
    robot = search.robot
    robot._take(q)
    errors = {one.name: float(np.abs(one.error(robot)[0]).max()) for one in search.targets}
    gap = float(np.abs(robot._equations.ws.Phi[robot._rows]).max(initial=0.0))
    x = search.single(q)
    stopped = (x <= search.lower) | (x >= search.upper)
    names = tuple(one.name for one in robot.coordinates.places if np.any(stopped[one.v]))
    worst = max(errors, key=lambda name: errors[name])
    off = f"{worst!r} is {errors[worst]:.3g} off"
    at = f", with {', '.join(names)} at a limit" if names else ""
    size = max(float(np.abs(one.position).max()) for one in search.targets)
    reason = ""
    if gap > CLOSED:
        reason = f"the loops stay open by {gap:.3g}; start from another pose"
    elif away := facing_away(robot._equations):
        reason = f"cut joint {away!r} closes with axes that point opposite ways; start from another pose"
    elif errors[worst] > tolerance:
        if errors[worst] <= ROUNDING * (1.0 + size):
            reason = f"{off}, as rounding leaves it; give a larger tolerance="
        elif not settled:
            reason = f"{off} after {iterations} iterations{at}, and they still lessen it; give more iterations="
        else:
            reason = f"{off} at the nearest pose found{at}; it may be out of reach, or another start= may lead there"
    return InverseKinematics(q, not reason, errors, gap, names, iterations, reason)


def bounds_of(robot: RobotKinematics, limits: Mapping[str, Any] | None) -> tuple[Array, Array]:
    """Return lower and upper limits (nv,), infinite where there are none: those given, else those of the file."""
    lower, upper = np.full(robot.nv, -np.inf), np.full(robot.nv, np.inf)
    report = robot.model.import_report
    places = {place.name: place for place in robot.coordinates.places}
    for name, bounds in ({} if report is None else report.limits).items():
        if name in places and single_bounds(places[name].v, bounds):
            lower[places[name].v], upper[places[name].v] = bounds[0], bounds[1]
    for name, bounds in (limits or {}).items():
        if name not in places:
            raise InputError(f"limits: {unknown_name('joint', name, places)}")
        if not single_bounds(places[name].v, bounds):
            raise InputError(
                f"limits of joint {name!r} are {shown(bounds)}; they must be (lower, upper) of one coordinate"
            )
        lower[places[name].v], upper[places[name].v] = bounds[0], bounds[1]
    return lower, upper


def single_bounds(v: slice, bounds: Any) -> bool:
    """True for a lower and an upper limit of one coordinate."""
    try:
        return v.stop - v.start == 1 and len(bounds) >= 2 and bool(float(bounds[0]) <= float(bounds[1]))
    except (TypeError, ValueError, KeyError):
        return False


UNITS = {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "in": 0.0254}
NEEDS = "files of C3D need the package ezc3d; pip install 'rtmbs[capture]' brings it"
STILL = 1e-9  # of a step: the fit has settled [rad, m]


@dataclass(frozen=True)
class MarkerTrajectories:
    """Measured points of markers.

    Parameters
    ----------
    t : ndarray
        Times (k,) [s].
    points : dict[str, ndarray]
        By marker: points (k, 3) in world axes [m]; NaN where the marker was not seen.
    """

    t: Array
    points: dict[str, Array]


@dataclass(frozen=True)
class MarkerFit:
    """Poses that fit measured points; ``Robot.fit_markers`` returns it.

    Parameters
    ----------
    t : ndarray
        Times (k,) [s].
    q : ndarray
        Poses (k, nq).
    residuals : dict[str, ndarray]
        By marker: distance from the measured point (k,) [m]; NaN where the marker was not seen.
    settled : ndarray
        Whether the fit settled, loops closed (k,).
    """

    t: Array
    q: Array
    residuals: dict[str, Array]
    settled: NDArray[np.bool_]

    @property
    def rms(self) -> float:
        """Root mean square of all distances [m]."""
        every = np.concatenate(list(self.residuals.values()))
        return float(np.sqrt(np.nanmean(every**2)))


def fit_markers(
    robot: RobotKinematics,
    trajectories: MarkerTrajectories,
    q: Array,
    weights: Mapping[str, float],
    limits: Mapping[str, tuple[float, float]] | None,
    iterations: int,
) -> MarkerFit:
    """Return the poses of least weighted squares, each from the one before."""
    for name in weights.keys() - trajectories.points.keys():
        raise InputError(f"weights: {unknown_name('marker', name, trajectories.points)}")
    bounds, poses, settled = bounds_of(robot, limits), [], []
    points = {name: marker_points(name, one, len(trajectories.t)) for name, one in trajectories.points.items()}
    residuals = {name: np.full(len(trajectories.t), np.nan) for name in points}
    for k in range(len(trajectories.t)):
        seen = {name: one[k] for name, one in points.items() if np.all(np.isfinite(one[k]))}
        if seen:
            search = Search(robot, [Target(name, x, weights.get(name, 1.0)) for name, x in seen.items()], bounds)
            q, count, still = descend(search, q, 0.0, iterations)
            found: InverseKinematics = answer(search, q, np.inf, count, still)
            settled.append(found.reached and still)
            for one in search.targets:
                residuals[one.name][k] = np.linalg.norm(one.error(robot)[0])
        else:
            settled.append(False)
        poses.append(q)
    return MarkerFit(trajectories.t, np.array(poses), residuals, np.array(settled))


def marker_points(name: str, values: Any, count: int) -> Array:
    """Return points (k, 3); InputError for another shape."""
    found = np.asarray(values, np.float64)
    if found.shape != (count, 3):
        raise InputError(f"marker {name!r} has points of shape {found.shape}; it must be ({count}, 3)")
    return found


def read_c3d(path: str | Path) -> MarkerTrajectories:
    """Return the marker points of a C3D file, in metres; needs the package ezc3d.

    Parameters
    ----------
    path : str or Path
        File.

    Returns
    -------
    MarkerTrajectories
        Times and points by label. NaN stands where a marker was not seen. Axes are those of the file.

    Raises
    ------
    InputError
        Without ezc3d.
    LanguageError
        For a file that cannot be read or has an unknown unit of length.
    """
    try:
        import ezc3d
    except ImportError:
        raise InputError(NEEDS) from None
    if not Path(path).is_file():
        raise LanguageError("the file is not there; it must be a C3D file", file=str(path))
    try:
        read = ezc3d.c3d(str(path))
        about = read["parameters"]["POINT"]
        labels, unit = list(about["LABELS"]["value"]), str(about["UNITS"]["value"][0]).strip().lower()
        points, rate = np.array(read["data"]["points"], float), float(about["RATE"]["value"][0])
    except Exception as error:  # noqa: BLE001 - whatever the reader makes of a damaged file
        raise LanguageError(f"the file cannot be read as C3D: {type(error).__name__}", file=str(path)) from None
    if unit not in UNITS:
        raise LanguageError(
            f"the unit of length is {shown(unit)}; it must be one of {', '.join(UNITS)}", file=str(path)
        )
    first = int(read["header"]["points"]["first_frame"])
    t = (first + np.arange(points.shape[2])) / rate
    return MarkerTrajectories(t, {label: UNITS[unit] * points[:3, k].T for k, label in enumerate(labels)})


LOOP_RANK = 1e-9  # of the largest singular value of the loop equations
SINGULAR = 1e-6  # smallest over largest singular value
STRIDES, STRIDE = 4, 0.5  # steps of the walk for one pose, and the largest change of a coordinate in one [rad, m]
TRIED = 8  # poses that tell in how many directions a frame can move
FREE = np.pi  # of a coordinate without limits: drawn from -FREE to FREE [rad, m]


@dataclass(frozen=True)
class PoseScan:
    """Poses of a robot with what its frame can do there.

    Parameters
    ----------
    q : ndarray
        Poses (k, nq).
    position : ndarray
        Points of the frame (k, 3) [m].
    freedom : ndarray
        Degrees of freedom (k,) that the loops leave.
    singular_values : ndarray
        Singular values (k, rows) of the Jacobian of the frame, largest first; NaN where loops stay open.
    closed : ndarray
        Whether the loops are closed (k,).
    directions : int
        Number of directions in which the frame must move at a pose that is not singular: the number of ``rows``, or
        without ``rows`` the largest number found at these and at 8 random poses.
    """

    q: Array
    position: Array
    freedom: NDArray[np.int64]
    singular_values: Array
    closed: NDArray[np.bool_]
    directions: int

    @property
    def manipulability(self) -> Array:
        """Product of the singular values (k,)."""
        return np.asarray(np.prod(self.singular_values, axis=1))

    @property
    def singular(self) -> NDArray[np.bool_]:
        """Poses (k,) at which the frame moves in fewer directions, or the loops leave another freedom than elsewhere.

        A direction counts with a singular value above 1e-6 of the largest. The freedom is compared with the smallest of
        the scan.
        """
        least = self.freedom[self.closed].min(initial=np.iinfo(np.int64).max)
        few = counts(self.singular_values) < self.directions
        return np.asarray(self.closed & (few | (self.freedom > least)))


def counts(values: Array) -> NDArray[np.int64]:
    """Return the number of directions (k,) with a singular value above 1e-6 of the largest; 0 where loops are open."""
    return np.asarray(np.count_nonzero(values > SINGULAR * values[:, :1], axis=1))


def rows_of(rows: Any) -> NDArray[np.int64]:
    """Return the rows of a Jacobian that count; InputError for other numbers."""
    found = np.arange(6) if rows is None else np.asarray(rows)
    good = found.ndim == 1 and found.size and found.dtype.kind in "iu" and set(found.tolist()) <= set(range(6))
    if not good or len(set(found.tolist())) != len(found):
        raise InputError(
            f"rows is {shown(rows)}; it must be different numbers from 0 to 5: x, y, z and turns about them"
        )
    return np.asarray(found, np.int64)


def null_space(J: Array) -> Array:
    """Return an orthonormal basis (nv, f) of the motions that keep the loops closed."""
    if not len(J):
        return np.eye(J.shape[1])
    _, S, Vt = np.linalg.svd(J, full_matrices=True)
    rank = int(np.count_nonzero(LOOP_RANK * S.max(initial=0.0) < S)) if S.max(initial=0.0) > 0.0 else 0
    return np.asarray(Vt[rank:].T)


def null_spaces(J: Array) -> list[tuple[NDArray[np.int64], Array]]:
    """Return the states (i,) of each freedom f, and their bases (i, nv, f), of loop equations (k, m, nv)."""
    if not J.shape[1]:
        return [(np.arange(len(J)), np.broadcast_to(np.eye(J.shape[2]), (len(J), J.shape[2], J.shape[2])))]
    _, S, Vt = np.linalg.svd(J, full_matrices=True)
    ranks = np.count_nonzero(LOOP_RANK * S[:, :1] < S, axis=1)
    each = [(rank, np.flatnonzero(ranks == rank)) for rank in np.unique(ranks)]
    return [(states, Vt[states, rank:].swapaxes(1, 2)) for rank, states in each]


def scan(robot: RobotKinematics, frame: str, poses: Array, rows: Any) -> PoseScan:
    """Return what a frame can do at poses (k, nq), loops as they are."""
    chosen = rows_of(rows)
    found = scan_rows(robot, frame, poses, chosen)
    if rows is not None:
        return found
    tried = scan_rows(robot, frame, random_poses(robot, TRIED, 0, None), chosen)
    most = max(int(counts(one.singular_values).max(initial=0)) for one in (found, tried))
    return replace(found, directions=most)


def scan_rows(robot: RobotKinematics, frame: str, poses: Array, rows: NDArray[np.int64]) -> PoseScan:
    """Return what a frame can do at poses (k, nq) in directions that all count."""
    position, _, J, _ = robot._kernels.frame_motions(robot._frame(frame).point, poses, None)
    J = J[:, rows]
    k = len(poses)
    freedom, closed = np.full(k, robot.nv), np.ones(k, np.bool_)
    if np.any(robot._rows):
        values = np.full((k, len(rows)), np.nan)
        Phi, C = robot._kernels.loop_equations(np.flatnonzero(robot._rows), poses)
        closed = np.abs(Phi).max(axis=1) <= CLOSED
        if any(len(info.aligned_a) for info in robot.system.closures):
            for s in np.flatnonzero(closed):  # products of axes do not see that they point opposite ways
                robot._take(poses[s])
                closed[s] = not facing_away(robot._equations)
        chosen = np.flatnonzero(closed)
        for states, N in null_spaces(C[chosen]):
            states = chosen[states]
            found = np.linalg.svd(J[states] @ N, compute_uv=False)
            freedom[states] = N.shape[2]
            values[states] = 0.0
            values[states, : found.shape[1]] = found
    else:
        found = np.linalg.svd(J, compute_uv=False)
        values = np.concatenate((found, np.zeros((k, len(rows) - found.shape[1]))), axis=1)
    return PoseScan(poses, position, freedom, values, closed, len(rows))


def random_poses(robot: RobotKinematics, samples: int, seed: int, limits: Any) -> Array:
    """Return random poses (k, nq) between the limits, loops closed where a closed pose is found."""
    if not (isinstance(samples, int | np.integer) and samples > 0):
        raise InputError(f"samples is {shown(samples)}; it must be a positive whole number")
    lower, upper = bounds = bounds_of(robot, limits)
    low = np.where(np.isfinite(lower), lower, np.minimum(-FREE, upper - FREE))
    high = np.where(np.isfinite(upper), upper, np.maximum(FREE, lower + FREE))
    random = np.random.default_rng(seed)
    draws = random.uniform(low, high, (samples, robot.nv))
    neutral, search = robot.coordinates.neutral(), Search(robot, [], bounds)
    poses = np.array([robot.coordinates.integrate(neutral, draw) for draw in draws])
    if not np.any(robot._rows):
        return poses
    last = start_of_walk(search)
    for s, drawn in enumerate(poses):
        q, closed = search.closed(drawn)
        if not closed and last is not None:
            q, closed = walked(search, last, random), True
        poses[s] = q
        last = q if closed else last
    return poses


def start_of_walk(search: Search) -> Array | None:
    """Return a closed pose within the limits next to that of a simulation; None without one."""
    try:
        q, closed = search.closed(search.robot.assembled()[0])
    except StartError:
        return None
    return q if closed else None


def walked(search: Search, q: Array, random: np.random.Generator) -> Array:
    """Return a closed pose some random steps away, along motions that keep the loops closed."""
    robot = search.robot
    for _ in range(STRIDES):
        N = null_space(robot.closure_jacobian(q))
        step = N @ random.normal(size=N.shape[1])
        size = np.abs(step).max(initial=0.0)
        if size > 0.0:
            tried, closed = search.closed(search.moved(q, random.uniform(0.0, STRIDE) / size * step))
            q = tried if closed else q
    return q
