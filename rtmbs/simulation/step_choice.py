"""Choice of steps for a tolerance, batches of equal steps taken at once, and the global error of a run (METHODS 1.34).

The error that a step adds, in typical sizes, may be tolerance h / (t_end - t_begin): errors of all steps add up to the
tolerance. An error of a rate counts by what it does to positions in the characteristic time of the motion. The global
error is local errors carried along by the linear equations of motion: an error (dz, dv) beside a motion follows
M da + C dv + K dz + Phi_z^T dlam = 0 and stays on the loops. One implicit midpoint step takes it over a stretch of
steps. Where motions part, it grows as they do.
"""

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.errors import InputError, shown
from rtmbs.integrators.checks import is_number
from rtmbs.integrators.report import Outcome, StepReport, doubtful_steps
from rtmbs.integrators.settings import TANGENT_TERMS, Chunk, StateArrays, chunk_for, first, take_row
from rtmbs.numerics.rotations.quaternions import turned
from rtmbs.results.catalogue import sources
from rtmbs.results.channel import units_of
from rtmbs.results.samples import OF_STATE, Evaluation, Samples
from rtmbs.simulation.dense_output import Moment, Noise, Past, Track, increments, local_errors
from rtmbs.simulation.events import moment_of
from rtmbs.state import State
from rtmbs.system.system import System
from rtmbs.system.tables import Array

LEAST, MOST = 1e-9, 0.1  # tolerances; below it the rounding of steps so small is larger than their error
SAFETY, SHRINK, GROW = 0.85, 0.2, 2.5
FEWEST = 10  # steps a run
STUCK = 0.7  # of the error before: it should be less than 0.7^3
SMALLEST = 1e-10  # of the run: a step that the tolerance makes smaller ends it
UNJUDGED = 2
EXCUSED = 1.0  # tolerances that steps off the loops may add to a run
KINK = 0.5  # of what the errors of a time may sum up to, for steps over kinks beside the others
FINE, ALONE = 0.1, 0.25  # of the step before, of its error: smaller steps, and smaller errors beside, tell of a kink
POSITION_NOISE = 1e-10  # of typical sizes: tolerance of Newton's increments (METHODS 1.11), and Phi = lam / alpha
PROJECTED = 1e-6, 1e-13  # of the tolerance, and the least: what projections leave of the largest rate
RATE_NOISE = 1e-6  # of the largest rate: what penalties leave, and what projections take away again (METHODS 1.6, 1.12)
ACCELERATION_NOISE = 1e-6  # of the largest acceleration: rounding of small steps in loops of uneven masses
ROUNDING = 8.0 * np.finfo(float).eps  # of rates over h, and of squares of rates: terms of accelerations that cancel


def check_tolerance(tolerance: float) -> None:
    """Refuse what is no tolerance: InputError."""
    if not (is_number(tolerance) and tolerance > 0.0):
        raise InputError(f"tolerance is {shown(tolerance)}; it must be a positive number, such as 1e-6")
    if tolerance < LEAST:
        raise InputError(
            f"tolerance is {tolerance:g}, below the rounding of so many steps; it must be at least {LEAST:g}"
        )
    if tolerance > MOST:
        raise InputError(f"tolerance is {tolerance:g}, of no use as an error; it must be at most {MOST:g}")


def projection_tol(tolerance: float, own: float) -> float:
    """Return what projections may leave in a run with a tolerance, ``own`` at most (METHODS 1.34).

    What they leave of accelerations, e, counts as a bend: h/12 e of the rates a step, which no smaller step makes less
    in its share h of the tolerance.
    """
    share, least = PROJECTED
    return min(own, max(share * tolerance, least))


class StepChoice:
    """Control of the step size by local errors."""

    def __init__(self, system: System, tolerance: float, t: float, t_end: float) -> None:
        self.system, self.tolerance, self.t_end, self.span = system, tolerance, t_end, t_end - t
        self.fastest = self.steepest = 0.0  # rate and acceleration so far, in typical sizes
        self.longest = self.span / FEWEST
        self.unjudged = 0  # steps to be taken whatever their error is
        self.excused = EXCUSED if len(system.row_names) else 0.0  # tolerances left for such steps; trees have none
        self.refusal = (math.nan, math.nan, math.nan)  # the last one: t, h, error
        self.added = np.zeros((0, system.n)), np.zeros((0, system.n))  # errors of positions and rates, signed
        self.blind = False  # whether the last batch was too long for its rates
        self.usual, self.usual_until = 0.0, -math.inf  # a step before a refusal, and where it would have ended [s]
        self.spare = 0.0  # what kinks in that time may still take of its share [s]
        self.worst = ""  # coordinate with the largest error of the last step that was judged, taken or not

    def errors(self, track: Track, past: Past | None, rates: Array, lines: Array) -> Array:
        """Return the errors (k,) of the steps of a track, in terms of what they may be.

        ``rates`` (k + 1,) are the fastest at its states, and ``lines`` (k,) the turns of springs (``sampling``): a step
        too long for them has an error above 1.
        """
        typical = self.system.typical
        self.fastest = max(self.fastest, float(np.max(np.abs(track.zd) / typical, initial=0.0)))
        self.steepest = max(self.steepest, float(np.max(np.abs(track.zdd) / typical, initial=0.0)))
        rounding = ACCELERATION_NOISE * self.steepest * typical
        h = float(track.t[-1] - track.t[0]) / max(len(track.t) - 1, 1)
        cancelled = ROUNDING * self.fastest * (1.0 / h + self.fastest) * typical
        place = ROUNDING * (np.abs(track.z).max(axis=0) + abs(float(track.t[-1])) * np.abs(track.zd).max(axis=0))
        noise = Noise(POSITION_NOISE * typical, RATE_NOISE * self.fastest * typical, rounding, cancelled, place)
        raw = local_errors(self.system.tables.dofs, track, past, noise)
        self.added = raw.position, raw.rate
        position, rate = raw.position - raw.across[0], raw.rate - raw.across[1]
        added = (np.abs(position) + self.time() * np.abs(rate)) / typical
        if added.shape[1] == 0:
            return np.zeros(len(added))
        self.worst = self.system.coordinate_names[int(np.argmax(np.max(added, axis=0)))]
        errors = np.max(added, axis=1) * self.span / (np.diff(track.t) * self.tolerance)
        errors[: self.unjudged] = np.minimum(errors[: self.unjudged], 1.0)
        blind = blindness(rates, lines, np.diff(track.t))
        self.blind = bool(blind.max() > errors.max())
        return np.maximum(errors, blind)

    def excuse(self, error: float) -> None:
        """Let unjudged steps with this ``error``, in typical sizes, be judged after all when the run has none left."""
        self.excused -= error / self.tolerance
        if self.excused < 0.0:
            self.unjudged = 0

    @property
    def cause(self) -> str:
        """Return what makes the steps as small as they are."""
        turns = "its rates: a step may turn a body by 1.5 rad at most, and the line of a spring by 0.7 rad"
        return turns if self.blind or not self.worst else f"the error of {self.worst!r}"

    def blame(self, error: Array, lasts: float) -> None:
        """Let the coordinate with the largest ``error`` (2, n) of one step be the worst one.

        An error of a rate ``lasts`` so long [s].
        """
        if error.shape[1] and np.all(np.isfinite(error)):
            added = (np.abs(error[0]) + lasts * np.abs(error[1])) / self.system.typical
            self.worst = self.system.coordinate_names[int(np.argmax(added))]

    def time(self) -> float:
        """Return the characteristic time of the motion, at most that of the run [s]."""
        if self.steepest == 0.0:
            return self.span
        return min(self.span, self.fastest / self.steepest + 1.0 / math.sqrt(self.steepest))

    def grants(self, t: float, h: float, errors: Array, k: int, before: float) -> bool:
        """Return whether step ``k`` of ``h`` [s], from ``t`` [s], is taken although its error is too large.

        A force with a kink makes one error, of order h^2, where a share h of the tolerance shrinks as h. A step that
        stands out, far smaller than the one ``before``, may therefore take half of the share of that one, once in its
        time: the errors of all steps sum up to one and a half tolerances at most.
        """
        if t >= self.usual_until:
            self.usual = min(before, self.longest)
            self.usual_until, self.spare = t + self.usual, KINK * self.usual
        error, others = float(errors[k]), np.delete(errors, slice(k, k + 2))  # the next one sees the bend too
        alone = not len(others) or float(np.median(others)) < ALONE * error
        if not (alone and h < FINE * self.usual and error * h <= self.spare):
            return False
        self.spare -= error * h
        return True

    def after_refusal(self, t: float, h: float, error: float, before: float) -> float:
        """Return the step after one of ``h`` [s] from ``t`` [s] that was refused for its error.

        An error that does not shrink with the step is not that of the step: the state at ``t`` stands off its loops,
        as in a singular pose, and the step moves it back. Then a few steps of the size ``before`` are not judged by
        that, but by steps of half the size.
        """
        last, self.refusal = self.refusal, (t, h, error * h)
        if self.excused > 0.0 and last[0] == t and h < last[1] and error * h > STUCK * last[2]:
            self.unjudged = UNJUDGED
            return before
        return h * min(self.factor(error), 0.7)

    def factor(self, error: float) -> float:
        """Return by how much the next step differs from one with this error: errors go with h^2 a unit of time."""
        if not error > 0.0:
            return GROW if error == 0.0 else SHRINK
        return min(max(SAFETY / math.sqrt(error), SHRINK), GROW)


# A force that turns with a body has the same value after every whole turn. States at the ends of such steps lie on a
# smooth line, and an error estimate from them is blind. So it is where the ends of a spring pass close to each other
# within a step: the force turns round there, and only its line before and behind tells.

LARGEST_MOVE = 1.5  # typical sizes (1 rad; characteristic length) that a step may move a coordinate, or turn a body
FIRST_MOVE = 0.2  # of the first step: an error is known from two of them
LINE = 0.7  # [rad] that a step may turn the line of a spring


def fastest(system: System, equations: Any, track: Track) -> Array:
    """Return the largest rates (k + 1,) at the states of a track [1/s]: of coordinates in typical sizes, and of bodies.

    Angular velocities of bodies, the sums of rates along a chain, are those at the last state.
    """
    rates = np.max(np.abs(track.zd) / system.typical, axis=1, initial=0.0)
    equations.close(track.z[-1], track.R0[-1])
    equations.closure_accelerations(track.zd[-1], track.zdd[-1])  # leaves the velocities of all bodies
    turning = equations.ws.V[: equations.n, 3:]
    rates[-1] = max(rates[-1], float(np.max(np.linalg.norm(turning, axis=1), initial=0.0)))
    return np.asarray(rates)


def first_step(system: System, equations: Any, state: Any) -> float:
    """Return the longest first step from a state [s]; inf when nothing moves."""
    track = Track(*(np.array([getattr(state, name)]) for name in Track._fields))
    rate = float(fastest(system, equations, track)[-1])
    return FIRST_MOVE / rate if rate > 0.0 else np.inf


def line_turns(equations: Any, track: Track) -> Array:
    """Return the largest angle (k,) by which a step of a track turns the line of a spring [rad]."""
    tables = equations.tables
    springs = tables.forces.springs
    if not len(springs.connector) or len(track.t) < 2:
        return np.zeros(len(track.t) - 1)
    ends = [(side[springs.connector], points) for side, points in
            ((tables.connectors.a, springs.point_a), (tables.connectors.b, springs.point_b))]  # fmt: skip
    lines = []
    for z, R0 in zip(track.z, track.R0, strict=True):
        equations.close(z, R0)
        a, b = (
            np.where(dof[:, None] < 0, point, equations.ws.r[dof] + np.einsum("kij,kj->ki", equations.ws.A[dof], point))
            for dof, point in ends
        )
        lines.append(b - a)
    before, after = np.array(lines[:-1]), np.array(lines[1:])
    across = np.linalg.norm(np.cross(before, after), axis=2)
    return np.asarray(np.arctan2(across, np.sum(before * after, axis=2)).max(axis=1))


def blindness(rates: Array, lines: Array, h: Array) -> Array:
    """Return how blind an estimate is to steps of ``h`` (k,) between states of the ``rates`` (k + 1,); 1 is too much.

    ``lines`` (k,) are the turns of springs. As errors do, it goes with the square of the step.
    """
    return np.maximum(np.maximum(rates[:-1], rates[1:]) * h / LARGEST_MOVE, lines / LINE) ** 2


LEAST_PATIENCE, MOST_PATIENCE = 0.01, 0.25  # of the steps a run may try, while their expected number is too large


class StepBound:
    """Counts the tries of a run to ``t_end`` [s], at most ``most``."""

    def __init__(self, most: int, tolerance: float, t_end: float) -> None:
        self.most, self.tolerance, self.t_end = most, tolerance, t_end
        self.within = 0  # tries when the expected number was last within the bound

    def check(self, tried: int, t: float, h: float, why: str) -> None:
        """Refuse to go on after ``tried`` steps, at ``t`` [s] with the next step ``h`` [s]: InputError, with ``why``.

        A stretch of small steps passes: the number expected at the present step has to stay too large for a while, a
        quarter of all steps where it is little too large, and a hundredth where it is a hundred times too large.
        """
        expected = tried + (self.t_end - t) / h
        if expected <= self.most:
            self.within = tried
            return
        patience = min(max(self.most / expected, LEAST_PATIENCE), MOST_PATIENCE)
        if tried >= self.most or tried - self.within > patience * self.most:
            raise InputError(
                f"tolerance = {self.tolerance:g} asks for about {expected:.2g} steps to t_end = {self.t_end:g} s: they "
                f"are {h:.3g} s long at t = {t:g} s because of {why}; most_steps = {self.most} bounds them, so give a "
                "larger tolerance, an earlier t_end or a larger most_steps"
            )


STANDS_OUT = 0.2  # of the largest bend of a force: usual bends below it leave one step that stands out
BENDS = 0.25  # of the largest change in a step
FORCE_ROUNDING = 1e-11  # of a force: changes below it tell nothing
LAWS = ("law", "joint law")  # kinds that may jump, beside functions of time
CHATTER = 1e-3  # of a force: no smooth one changes so much in such a step


def small_step_remedy(system: System, tables: Any, moments: Sequence[Moment]) -> str:
    """Return the cause of steps that are too small, with ``moments`` at their ends, and the remedy."""
    moved = {signal.name.rpartition(".")[0] for signal in system.signals}
    if force := bending_force(system, tables, moments, moved):
        return kink_remedy(force, "declare the jumps of its function of time" if force in moved else "smooth its law")
    if max((bend(column) for column in np.array([one.zdd for one in moments]).T), default=0.0) > 0.0:
        return (
            "accelerations jump there, or rounding adds more than a step; smooth the force law that jumps, or give a "
            "larger tolerance"
        )
    if undeclared := [signal.name for signal in system.signals if signal.jumps is None]:
        return f"give a larger tolerance, or declare the jumps of functions of time, as of {undeclared[0]!r}"
    return "nothing bends there, and what rounding adds to a step is larger; give a larger tolerance"


def kink_remedy(force: str, better: str = "smooth its law") -> str:
    """Return the sentence about a force that makes steps too small."""
    return f"force {force!r} jumps or has a kink there; {better}, or give a larger tolerance"


def bending_force(system: System, tables: Any, moments: Sequence[Moment], moved: Container[str]) -> str:
    """Return the law, or force ``moved`` by a function of time, that bends in some small steps most; empty for none."""
    values = {name: np.array([getattr(one, name) for one in moments]) for name in ("t", *OF_STATE)}
    found = sources(system, Evaluation(system, tables, Samples(**values)))
    size = {"N": float(system.length), "N m": 1.0}
    suspects = {force for force, info in system.forces.items() if info.kind in LAWS or force in moved}
    largest: dict[str, float] = {}
    for name, source in found.items():
        force = name.rpartition(".")[0]
        units = units_of(source.axes, source.unit)
        if force not in suspects or not size.keys() >= set(units):
            continue
        columns = source.channel(name).values.reshape(len(moments), -1).T
        bends = [size[unit] * bend(column) for unit, column in zip(units, columns, strict=True)]
        largest[force] = max(largest.get(force, 0.0), *bends)
    worst = max(largest, key=lambda force: largest[force], default="")
    return worst if largest.get(worst, 0.0) > 0.0 else ""


def bend(values: Array) -> float:
    """Return how far values (k,) bend in one place, or chatter, in their unit; 0 for smooth ones and for rounding."""
    if len(values) < 4:
        return 0.0
    steps = np.diff(values)
    change, bends = float(np.abs(steps).max()), np.abs(np.diff(steps))
    size = float(np.abs(values).max())
    in_one_place = change > FORCE_ROUNDING * size and np.median(bends) <= STANDS_OUT * bends.max()
    if not (in_one_place or change > CHATTER * size) or bends.max() < BENDS * change:
        return 0.0
    return float(bends.max())


# ---- batches of equal steps for step control ------------------------------------------------------------------------


SIZE = 16  # steps of a batch at most


@dataclass
class Batch:
    """Steps just taken; the Simulation stands behind the last of them."""

    start: State  # of its own
    moments: Sequence[Moment]  # at the start and behind every step
    states: list[State] | None  # behind every step; None: the rows of the chunk tell
    chunk: Chunk | None
    reports: list[StepReport] | None
    failed: StepReport | None  # of the step behind the last one

    @property
    def count(self) -> int:
        """Steps."""
        return len(self.moments) - 1

    @property
    def times(self) -> Array:
        """Times (k + 1,) at the start and behind every step [s]."""
        return np.array([moment.t for moment in self.moments])

    def track(self) -> Track:
        """Return the states, stacked."""
        stacked = {name: np.array([getattr(one, name) for one in self.moments]) for name in Track._fields}
        return Track(**stacked)

    def doubtful(self, k: int) -> bool:
        """True when step ``k`` ended other than CONVERGED."""
        if self.reports is not None:
            return self.reports[k].outcome is not Outcome.CONVERGED
        assert self.chunk is not None
        return bool(doubtful_steps(self.chunk.stats[k : k + 1])[0])

    def state(self, k: int) -> State:
        """Return the state behind ``k`` steps, a copy."""
        if k == 0:
            return self.start.copy()
        if self.states is not None:
            return self.states[k - 1].copy()
        assert self.chunk is not None
        state = self.start.copy()
        take_row(state, self.chunk, k - 1)
        state.u[:] = self.chunk.u[k - 1]
        state.k += k
        return state


def take_batch(sim: Any, steps: int, chunk: Chunk | None) -> Batch:
    """Take ``steps`` steps, fewer where one fails; in kernel calls for many when there is a chunk.

    Errors are those of the batch as a whole: how far a call comes in its time decides nothing.
    """
    start = sim.state.copy()
    if chunk is not None:
        rows = first(chunk, steps)
        done, failed = sim._take_chunk(rows, whole=True)
        if not failed:
            moments = [moment_of(start), *(moment_in(start, rows, k) for k in range(done))]
            return Batch(start, moments, None, rows, None, None)
        sim._store.stand_at(start.copy())
    moments, states, reports = [moment_of(start)], list[State](), list[StepReport]()
    for _ in range(steps):
        report = sim.step()
        if not report.outcome.accepted:
            return Batch(start, moments, states, None, reports, report)
        states.append(sim.state.copy())
        moments.append(moment_of(states[-1]))
        reports.append(report)
    return Batch(start, moments, states, None, reports, None)


def moment_in(start: State, rows: Chunk, k: int) -> Moment:
    """Return row ``k`` as a moment, copied: the next batch overwrites the row."""
    t = start.t_ref + (start.k + k + 1) * start.h
    values: list[Array] = [getattr(rows, name)[k].copy() for name in Moment._fields[1:]]
    return Moment(t, *values)


def chunk_of(sim: Any) -> Chunk:
    """Return a chunk for a batch."""
    return chunk_for(sim.state, SIZE)


PART = 4.0 / 3.0  # of the difference to halves: the error of a rule of order two


def error_of_positions(sim: Any, system: System, batch: Batch, count: int) -> float:
    """Return the error of coordinates after the first ``count`` steps of a batch, in typical sizes; inf: halves fail.

    The Simulation stands where it stood. Rates are not compared: off their loops they come back by themselves.
    """
    here, start = sim.state.copy(), batch.start.copy()
    sim._store.stand_at(start)
    sim._store.step_from_here(0.5 * start.h)
    halves = take_batch(sim, 2 * count, None)
    sim._store.stand_at(here)
    if halves.failed is not None:
        return np.inf
    ends = batch.moments[count], halves.moments[-1]
    both = Track(**{name: np.array([getattr(one, name) for one in ends]) for name in Track._fields})
    return PART * float(np.max(np.abs(increments(system.tables.dofs, both)) / system.typical, initial=0.0))


LAGGED = TANGENT_TERMS.index("lagged")  # multipliers and accelerations of the moment
TURN = 0.15  # typical sizes that the fastest part moves in a stretch
SMALL = 1e-5  # typical sizes: perturbation of a difference quotient
LONGEST = 12  # steps of a stretch: where the tolerance makes them short, a coordinate says too little of the motion
LARGEST = 40  # coordinates and loop equations: matrices here are dense
MOST_AGAIN = 4  # times that a run begins anew with smaller steps
LESS = 0.2  # of what the steps of a run may add, when it begins anew
KEPT = 1.2  # tolerances that a coordinate or the angle of a body may be off


class ToleranceError(InputError):
    """A run with a tolerance is off by more: smaller steps from its start may help."""


class ErrorGrowth:
    """Estimated error of positions and rates at the present time."""

    def __init__(self, system: System, equations: Any) -> None:
        self.system, self.equations = system, equations
        self.position, self.rate = np.zeros(system.n), np.zeros(system.n)
        self.first = np.flatnonzero(system.tables.dofs.reference >= 0)
        self.waiting, self.span, self.added = list[Moment](), 0.0, np.zeros((2, system.n))  # steps that wait
        self.at: Moment | None = None  # where the error was last known
        self.followed = system.n > 0 and system.n + len(system.row_names) <= LARGEST

    @property
    def size(self) -> float:
        """Largest error of a coordinate now, in typical sizes."""
        return float(np.max(np.abs(self.position) / self.system.typical, initial=0.0))

    def turned(self, at: Moment) -> float:
        """Return the largest angle by which a body is turned at a moment [rad]: coordinates add up along a chain."""
        self.equations.close(at.z, at.R0)
        self.equations.closure_accelerations(self.position, np.zeros(self.system.n))  # moves bodies at these rates
        turns = self.equations.ws.V[: self.system.n, 3:]
        return float(np.max(np.linalg.norm(turns, axis=1), initial=0.0))

    @property
    def worst(self) -> str:
        """Name of the coordinate with that error."""
        return self.system.coordinate_names[int(np.argmax(np.abs(self.position) / self.system.typical))]

    def check(self, tolerance: float, t: float) -> None:
        """Refuse to go on from ``t`` [s] when a run no longer keeps its tolerance: ToleranceError."""
        off = max(self.size, self.turned(self.at)) / tolerance if self.at is not None else 0.0
        if not off <= KEPT:
            raise ToleranceError(
                f"tolerance = {tolerance:g} is not kept: the errors of steps grow in this motion, and {self.worst!r} "
                f"is about {off:.2g} tolerances off at t = {t:g} s; give an earlier t_end, or small fixed steps whose "
                "halves agree as far as you need them"
            )

    def follow(self, batch: Batch, h: float, added: tuple[Array, Array], count: int, fastest: float) -> None:
        """Go over the first ``count`` steps of a batch of ``h`` [s], each of which adds a row of ``added`` (k, n).

        ``fastest`` is the largest rate of the batch [1/s]. Steps wait until they are worth a stretch.
        """
        stride = min(max(1, int(TURN / (fastest * h))), count) if fastest > 0.0 else count
        for k in range(0, count, stride):
            end = min(k + stride, count)
            self.waiting += batch.moments[k + 1 : end + 1]
            self.span += (end - k) * h
            self.added += np.array([one[k:end].sum(axis=0) for one in added])
            if self.span * fastest >= 0.5 * TURN or len(self.waiting) >= LONGEST:
                self.settle()

    def settle(self) -> None:
        """Take the error over the steps that wait."""
        if not self.waiting:
            return
        u, alpha, end = self.equations.u, self.equations.alpha, self.waiting[-1]
        self.equations.alpha = np.zeros_like(alpha)
        if self.position.any() or self.rate.any():
            self.carry(self.waiting[(len(self.waiting) - 1) // 2], end, self.span)
        self.position += self.added[0]
        self.rate += self.added[1]
        self.waiting, self.span, self.added = [], 0.0, np.zeros((2, self.system.n))
        self.equations.u, self.equations.alpha = u, alpha
        self.at = end

    def carry(self, middle: Moment, end: Moment, h: float) -> None:
        """Take the error over ``h`` [s], by the equations in the ``middle``, to the loops at its ``end``."""
        n = self.system.n
        M, C, K, Phi_z = self.matrices(middle)
        force = C @ self.rate + K @ (self.position + 0.5 * h * self.rate)
        closed = self.closure(end)
        apart = closed @ (self.position + h * self.rate) * (2.0 / h**2)
        change = bordered(M + 0.5 * h * C + 0.25 * h * h * K, Phi_z, closed, -np.concatenate((force, apart)))[:n]
        self.position = self.position + h * self.rate + 0.5 * h * h * change
        self.rate = self.rate + h * change
        if len(Phi_z):
            self.project(end, M)
        for i in self.first:
            axes = self.system.tables.dofs.axis[i : i + 3]
            back = turned(np.eye(3), -h * middle.zd[i : i + 3] @ axes)
            self.position[i : i + 3] = axes @ back @ axes.T @ self.position[i : i + 3]

    def matrices(self, at: Moment) -> tuple[Array, Array, Array, Array]:
        """Return M, C, K (n, n) and Phi_z (m, n) at a moment."""
        equations = self.equations
        equations.u = at.u.copy()
        equations.residual(at.z, at.zd, at.zdd, at.R0)
        old = StateArrays(at.z, at.zd, at.zdd, at.lam, at.R0, np.zeros((len(at.z), 2)))
        M, C, K = (
            equations.assemble(*part, LAGGED, old) for part in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        )
        return M, C, K, equations.closure_jacobian()

    def closure(self, at: Moment) -> Array:
        """Return Phi_z (m, n) at a moment."""
        self.equations.close(at.z, at.R0)
        return np.asarray(self.equations.closure_jacobian())

    def project(self, at: Moment, M: Array) -> None:
        """Let the error of rates lie on the loops at a moment, beside that of positions."""
        equations, n = self.equations, self.system.n
        part = SMALL / max(self.size, np.finfo(float).tiny)
        equations.close(at.z + part * self.position, at.R0)
        moved = equations.closure_velocities(at.zd)
        equations.close(at.z, at.R0)
        bent = (moved - equations.closure_velocities(at.zd)) / part
        Phi_z = equations.closure_jacobian()
        wanted = np.concatenate((np.zeros(n), -(bent + Phi_z @ self.rate)))
        self.rate = self.rate + bordered(M, Phi_z, Phi_z, wanted)[:n]


def bordered(A: Array, Phi_z: Array, closed: Array, b: Array) -> Array:
    """Return x (n + m,) with A x + Phi_z^T lam = b and the loops ``closed`` (m, n).

    It is that of least squares where loops are redundant.
    """
    scale, m = float(np.abs(A).max()), len(Phi_z)
    right = np.concatenate((b[: len(A)] / scale, b[len(A) :]))
    try:
        if m:
            matrix = np.block([[A / scale, Phi_z.T], [closed, np.zeros((m, m))]])
            return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-9)[0])
        return np.asarray(np.linalg.solve(A / scale, right))
    except np.linalg.LinAlgError:
        return np.full(len(b), np.nan)
