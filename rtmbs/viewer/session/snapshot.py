"""Frames of a session: step statistics, poses, reactions, rows of the plots, and the extent of the motion to come."""

import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import StepError
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import PHASES, Chunk
from rtmbs.results.reactions import JointReactions
from rtmbs.results.sample_kernels import resample_energies
from rtmbs.results.samples import Evaluation, Samples, one_sample, samples_of
from rtmbs.semirecursive.workspace import workspace
from rtmbs.simulation import Simulation
from rtmbs.simulation.observers import At, Every, Observer
from rtmbs.simulation.observers.observer import VIOLATIONS, Watched
from rtmbs.state import State
from rtmbs.system.components import WORLD
from rtmbs.system.system import System
from rtmbs.viewer.scene.camera import DIRECTIONS, MOTION_LIMIT, reached
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import (
    ACCELERATION,
    ELASTIC,
    FIRST,
    KINETIC,
    OPTIONS,
    POSITION,
    STEPS,
    WAY,
    WIDTH,
    Frame,
    Strip,
    T,
)
from rtmbs.viewer.scene.shapes import outline
from rtmbs.viewer.session.describe import CHOICES, contact_descriptions
from rtmbs.viewer.session.history import Moment
from rtmbs.viewer.session.plotted import Inspection, LiveChannels
from rtmbs.viewer.session.session import Session

Array = NDArray[np.float64]

WINDOW = 1.0  # [s] of wall time that the actual speed is measured over


class Ring:
    """The last numbers of a series, without growing."""

    def __init__(self, size: int) -> None:
        self._values: deque[float] = deque(maxlen=size)
        self._size, self.count = size, 0

    def add(self, value: float) -> None:
        """Append a number."""
        self._values.append(value)
        self.count += 1

    def ordered(self) -> Array:
        """Return the numbers oldest first, newest last; not a number before the first."""
        known = self.known()
        return np.concatenate((np.full(self._size - len(known), np.nan), known))

    def known(self) -> Array:
        """Return the numbers there are, oldest first."""
        return np.array(self._values, dtype=np.float64)


class Timing:
    """Statistics of the steps of a session; ``clock`` is replaced in tests."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.step_times, self.iterations, self.lateness = Ring(STEPS), Ring(STEPS), Ring(STEPS)
        self.steps_before = 0  # steps that were counted and forgotten
        self._report: StepReport | None = None  # of the last step that has one
        self._trail: deque[tuple[float, float]] = deque()  # wall and simulated time [s]

    def add(self, seconds: float, report: StepReport | None) -> None:
        """Count a step that took ``seconds`` of wall time."""
        self.step_times.add(seconds)
        self.iterations.add(math.nan if report is None else report.iterations)
        if report is not None:
            self._report = report

    @property
    def phase_times(self) -> Array:
        """Duration of each phase of the last step [s], computed for pictures only, which few steps have."""
        times = {} if self._report is None else self._report.phases
        return np.array([times.get(name, 0.0) for name in PHASES])

    def add_lateness(self, seconds: float) -> None:
        """Record the delay of the beginning of a step after its deadline [s]."""
        self.lateness.add(seconds)

    def mark(self, t: float) -> None:
        """Note the present simulated time; of marks within the window two are kept apart by a tenth of it."""
        now = self.clock()
        if len(self._trail) > 1 and now - self._trail[-2][0] < WINDOW / 10.0:
            self._trail.pop()
        self._trail.append((now, t))
        while len(self._trail) > 2 and now - self._trail[1][0] > WINDOW:
            self._trail.popleft()

    def forget(self) -> None:
        """Begin the statistics anew: the next steps are of another kind."""
        count = self.step_times.count
        self.step_times, self.iterations, self.lateness = Ring(STEPS), Ring(STEPS), Ring(STEPS)
        self.steps_before += count

    def stop(self) -> None:
        """Clear the marks of the actual speed: the session is paused, or jumps in time."""
        self._trail.clear()

    def actual_speed(self) -> float:
        """Return simulated over wall time of the last second of playing; 0 when paused."""
        if len(self._trail) < 2:
            return 0.0
        (wall, t), (now, t_now) = self._trail[0], self._trail[-1]
        return (t_now - t) / (now - wall) if now > wall else 0.0

    def real_time_factor(self, h: float) -> float:
        """Return h over the mean wall time of a step; 0 before the first."""
        known = self.step_times.known()
        return float(h / known.mean()) if len(known) else 0.0


def percentiles(ring: Ring) -> tuple[float, float]:
    """Return the 50th and 99th percentile of the numbers of a ring; 0 before the first."""
    known = np.sort(ring.known())
    if not len(known):
        return 0.0, 0.0
    last = len(known) - 1
    return float(known[round(0.50 * last)]), float(known[round(0.99 * last)])


# ---- frames ----------------------------------------------------------------------------------------------------------


class Poses:
    """Poses and energies of the bodies of a System; ``ws`` is scratch, its own unless given."""

    def __init__(self, sim: Simulation, ws: Any = None) -> None:
        self.system = system = sim.system
        bodies = list(system.bodies.values())
        self.tables = sim.equations.tables
        self.dofs = np.array([body.dof for body in bodies])
        self.grounds = np.append(self.tables.origins.row, WORLD)[self.dofs]  # rows of ground that they see
        self.rotations = np.array([body.rotation for body in bodies])
        self.positions = np.array([body.position for body in bodies])
        self.ws = workspace(self.tables) if ws is None else ws
        self._energies: Array = np.zeros((3, 1))

    def read(self, state: State) -> tuple[Array, Array, list[float]]:
        """Return r (nb, 3), A (nb, 3, 3) and kinetic energy, gravity energy and elastic energy [J]."""
        resample_energies(self.tables, one_sample(state), self.ws, self._energies)
        A = self.ws.A[self.dofs]
        r = self.ws.r[self.dofs] - self.ws.r[self.grounds] + np.einsum("bij,bj->bi", A, self.positions)
        return r, A @ self.rotations, self._energies[:, 0].tolist()

    def read_all(self, samples: Samples) -> tuple[Array, Array]:
        """Return r (S, nb, 3) and A (S, nb, 3, 3) of samples."""
        frames = Evaluation(self.system, self.tables, samples, ws=self.ws).all_frames()
        free = self.dofs >= 0  # others are ground, or welded to it
        A = np.broadcast_to(np.eye(3), (len(frames), len(self.dofs), 3, 3)).copy()
        origin = np.zeros((len(frames), len(self.dofs), 3))
        own = frames[:, self.dofs[free]]
        A[:, free], origin[:, free] = own[..., :9].reshape(*own.shape[:2], 3, 3), own[..., 9:12] + own[..., 24:]
        return origin + np.einsum("sbij,bj->sbi", A, self.positions), A @ self.rotations


class Reactions:
    """Joint reactions of a session, computed only while ``wanted``: they take as long as a few steps."""

    def __init__(self, session: Session, wanted: bool) -> None:
        self.session, self.wanted = session, wanted
        self._nothing = np.full((len(session.sim.system.joints), 6), np.nan)
        self._known: dict[str, tuple[System, JointReactions, Evaluation]] = {}  # by the fingerprint of the System

    def read(self) -> Array:
        """Return the reactions (nj, 6) at the present state [N, N m]; not a number while they are not wanted."""
        if not self.wanted:
            return self._nothing
        state = self.session.state
        base = state.fingerprint == self.session.base_sim.system.fingerprint
        sim = self.session.base_sim if base else self.session.pulled_sim()
        known = self._known.get(state.fingerprint)
        if known is None or known[0] is not sim.system:  # a force acts on another body now
            tables = sim.equations.tables
            known = (
                sim.system,
                JointReactions(sim.system, tables),
                Evaluation(sim.system, tables, one_sample(state)),
            )
            self._known[state.fingerprint] = known
        _, reactions, resampled = known
        resampled.samples = one_sample(state)
        resampled.forget()
        return reactions.read(resampled)


class StepRecorder:
    """Writes the watched numbers of every step to a strip, a few steps at a time."""

    def __init__(self, session: Session, channels: LiveChannels, strip: Strip) -> None:
        self.session, self.channels, self.strip = session, channels, strip
        self._pulled: LiveChannels | None = None  # of the mechanism while a hand pulls, whose force is one more
        self._run_number = session.run_number
        strip.begin(0)

    def subscribe(self, names: tuple[str, ...], ticket: int) -> None:
        """Record these channels: new ones from the oldest step in memory on, old ones keep their rows.

        UnknownNameError or InputError leave the old ones.
        """
        self.write()
        before = self.channels.names
        self.channels.subscribe(names)
        self._pulled = None
        sources = [before.index(name) if name in before else -1 for name in names]
        moments = self.session.history.since(0) if -1 in sources else []
        rows = self._rows(moments)
        self.strip.change_columns(ticket, sources, rows[:, T], rows[:, FIRST : FIRST + len(names)])

    def write(self) -> None:
        """Write the steps that were taken since the last call."""
        if self.session.unseen == math.inf:
            return
        moments = self.session.history.since(self.session.unseen)
        self.session.unseen = math.inf
        if self._run_number != self.session.run_number:
            self._run_number = self.session.run_number
            self.strip.begin(self.strip.ticket)
        self.strip.append(self._rows(moments))

    def _rows(self, moments: Sequence[Moment]) -> Array:
        """Return the rows (k, WIDTH) of these moments."""
        rows = np.full((len(moments), WIDTH), np.nan)
        rows[:, T] = [moment.state.t for moment in moments]
        rows[:, POSITION : ACCELERATION + 1] = np.reshape([sizes(moment.report) for moment in moments], (-1, 3))
        first, shown = 0, [self.session.shown(moment) for moment in moments]
        for _, group in itertools.groupby(shown, lambda state: state.fingerprint):
            states = list(group)
            part = slice(first, first + len(states))
            energies, values = self.channels_of(states[0]).read(states)
            rows[part, KINETIC : ELASTIC + 1], rows[part, FIRST : FIRST + values.shape[1]] = energies.T, values
            first += len(states)
        return rows

    def channels_of(self, state: State) -> LiveChannels:
        """Return the channels of the mechanism that a state belongs to: as it is, or with a hand that pulls."""
        channels = self.channels
        if state.fingerprint != self.session.base_sim.system.fingerprint:
            sim = self.session.pulled_sim()
            if self._pulled is None:
                self._pulled = LiveChannels(sim.system, sim.equations.tables, sim.state)
                self._pulled.subscribe(self.channels.names)
            channels = self._pulled
        else:
            sim = self.session.base_sim
        channels.follow(sim.system, sim.equations.tables)
        return channels


def sizes(report: StepReport | None) -> tuple[float, float, float]:
    """Return the violations of a step: position, velocity, acceleration; not a number for none."""
    if report is None:
        return np.nan, np.nan, np.nan
    return report.position_violation, report.velocity_violation, report.acceleration_violation


class FrameBuilder:
    """Builder of the Frames of a session; a rebuilt model needs a new one."""

    def __init__(
        self,
        session: Session,
        channels: LiveChannels,
        strip: Strip,
        timing: Timing,
        generation: int,
        reactions: bool = False,
    ) -> None:
        self.session, self.timing, self.generation = session, timing, generation
        self.reactions = Reactions(session, reactions)
        self.poses, self.recorder = Poses(session.sim, channels.ws), StepRecorder(session, channels, strip)
        self.inspection = Inspection(channels, self.recorder.channels_of)
        touching = [one.name for one in contact_descriptions(session.sim.system)]
        self._touching = [f"{name}.{word}" for name in touching for word in ("point", "normal", "force")]
        self.number, self.way = 0, np.full((WAY, 3), np.nan)

    def take(
        self, playing: bool = False, speed: float = 1.0, deadlines: int = 0, missed: int = 0, **asked: Any
    ) -> Frame:
        """Return a Frame of the present state; ``asked`` holds its fields about commands by name."""
        session, timing = self.session, self.timing
        state, report = session.state, self.session.report
        self.recorder.write()
        plain = session.plain_state
        r, A, (kinetic, gravity, elastic) = self.poses.read(plain)
        violations: dict[str, Any] = {name: getattr(report, name) if report else np.nan for name in VIOLATIONS}
        self.number += 1
        return Frame(
            generation=self.generation,
            number=self.number,
            step=session.step_number,
            t=state.t,
            h=state.h,
            playing=playing,
            oldest=session.history.oldest,
            newest=session.history.newest,
            outcome=session.outcome,
            r=r,
            A=A,
            z=state.z.copy(),
            zd=state.zd.copy(),
            inputs=plain.u.copy(),
            **self.grab(r, A),
            reactions=self.reactions.read(),
            contacts=self.contacts(state),
            **step_statistics(timing, state.h),
            deadline=state.h / speed,
            deadlines=deadlines,
            missed=missed,
            desired_speed=speed,
            kinetic=kinetic,
            gravity=gravity,
            elastic=elastic,
            **violations,
            options=option_numbers(session),
            way=self.way,
            ticket=self.recorder.strip.ticket,
            inspect_ticket=self.inspection.ticket,
            inspected=self.inspection.read(state, playing),
            **asked,
        )

    def contacts(self, state: State) -> Array:
        """Return point, normal, force and no impulse (nc, 12): a session with impacts of rigid contacts is a record."""
        if not self._touching:
            return np.zeros((0, 12))
        channels = self.recorder.channels_of(state)
        found = channels.at(state, channels.columns(self._touching)).reshape(-1, 9)
        return np.concatenate((found, np.zeros((len(found), 3))), axis=1)

    def grab(self, r: Array, A: Array) -> dict[str, Any]:
        """Return the pulled body, its point and the target (3,) [m], and the pull [N]; nothing without a pull."""
        hold = self.session.hold
        if hold is None:
            return {}
        body = list(self.session.sim.system.bodies).index(hold.attachment.body)
        point = r[body] + A[body] @ np.array(hold.attachment.point)
        target = np.array(hold.target)
        return {"grabbed": body, "grab_point": point, "grab_target": target, "grab_force": hold.force(point)}


def step_statistics(timing: Timing, h: float) -> dict[str, Any]:
    """Return the wall time entries of a Frame by name; h is the step [s]."""
    (p50, p99), late = percentiles(timing.step_times), percentiles(timing.lateness)
    return {
        "step_times": timing.step_times.ordered(),
        "iterations": timing.iterations.ordered(),
        "steps_taken": timing.steps_before + timing.step_times.count,
        "p50": p50,
        "p99": p99,
        "late_p50": late[0],
        "late_p99": late[1],
        "phases": timing.phase_times,
        "actual_speed": timing.actual_speed(),
        "real_time_factor": timing.real_time_factor(h),
    }


def option_numbers(session: Session) -> Array:
    """Return the present options in the order of ``OPTIONS``: words by their place among the choices, None as NaN."""
    numbers = []
    for name in OPTIONS:
        value = session.option(name)
        numbers.append(np.nan if value is None else CHOICES[name].index(value) if name in CHOICES else float(value))
    return np.array(numbers)


# ---- the motion ahead ------------------------------------------------------------------------------------------------

LOOK_AHEAD = 10.0  # [s] of the motion ahead, at a speed of 1
PATIENCE = 0.4  # [s] of wall time for it
LOOKS = 400  # poses at most


def motion_ahead(sim: Simulation, poses: Poses, scene: SceneDescription, seconds: float) -> Array:
    """Run ``sim`` on, and return the points (WAY, 3) that the outlines of its bodies reach farthest [m].

    It ends after ``seconds`` of the mechanism, after PATIENCE, or with a step that fails; the caller restores
    the state. A motion that goes MOTION_LIMIT is no picture: then they are not numbers.
    """
    steps = max(round(seconds / sim.h), 1)
    reach, end = MotionExtent(poses, scene, max(steps // LOOKS, 1) * sim.h), sim.t + steps * sim.h
    with suppress(StepError, Elapsed):
        sim.run(end, observers=[reach], record=At([end]), on_failure="raise")
    near = np.all(np.ptp(reach.farthest, axis=0) <= MOTION_LIMIT * reach.size)
    return reach.farthest if near else np.full((WAY, 3), np.nan)


class Elapsed(Exception):
    """Raised when the run ahead took longer than PATIENCE."""


class MotionExtent(Observer):
    """Farthest points that a mechanism reaches in a set of directions, sampled every ``dt`` [s]."""

    def __init__(self, poses: Poses, scene: SceneDescription, dt: float) -> None:
        super().__init__(Every(dt))
        self.poses = poses
        self.bodies, self.local = outline(scene)
        self.farthest, self.size = np.full((WAY, 3), np.nan), 0.0
        self.until = time.perf_counter() + PATIENCE

    def start(self, sim: Watched, steps: int | None) -> None:
        """Add the pose at the start, which gives the size of the mechanism."""
        self.take(one_sample(sim.state))
        self.size = float(np.max(np.ptp(self.farthest, axis=0)))

    def look(self, sim: Watched, report: StepReport) -> None:
        """Add the pose of a step."""
        self.take(one_sample(sim.state))

    def look_at_chunk(self, sim: Watched, t: Array, chunk: Chunk) -> None:
        """Add the poses of a chunk of steps."""
        self.take(samples_of(t, chunk))

    def take(self, samples: Samples) -> None:
        """Keep points that lie farther out than all before; raises Elapsed after PATIENCE."""
        r, A = self.poses.read_all(samples)
        points = r[:, self.bodies] + np.einsum("skij,kj->ski", A[:, self.bodies], self.local)
        self.farthest = reached(self.farthest, points.reshape(-1, 3), DIRECTIONS)
        if time.perf_counter() > self.until:
            raise Elapsed
