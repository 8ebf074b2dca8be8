"""Runs with a tolerance by extrapolated midpoint steps, which estimate their errors and end at kinks (METHODS 6.10).

A recorded law switches where one of its switching functions changes sign (``ad/tape.py``). A step that holds
such a time, located on dense output, is taken again so that it ends there: then every step sees a smooth force.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple, overload

import numpy as np

from rtmbs.ad.evaluator import ProgramRunner
from rtmbs.integrators.midpoint_arithmetic import (
    ADAPTS,
    AFTER_REFUSAL,
    ALLOWED,
    CONTROL_SIZE,
    FASTEST,
    LANDED,
    LARGEST_TURN,
    LEFT,
    LONGEST,
    MOST_REFUSALS,
    PATIENCE,
    POWER,
    REFUSALS,
    SPAN,
    STEEPEST,
    STEP,
    TRIED,
    error_time,
    next_factor,
    step_error,
)
from rtmbs.integrators.report import TAKEN, StepReport, outcomes_of, report_of
from rtmbs.integrators.settings import STATS_SIZE, Chunk, arrays_of, chunk_for, first, one_row_chunk
from rtmbs.integrators.variational_midpoint import EXTRAPOLATED, ExtrapolatedMidpoint
from rtmbs.jit.compile_progress import announced
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.semirecursive.extrapolated_step import ROWS, Judged
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.simulation.access import ASKED, LOOK, NOTHING, callback_rights, guarded
from rtmbs.simulation.access import STEP as RIGHT
from rtmbs.simulation.dense_output import Moment, Stretch, Track
from rtmbs.simulation.events import FEWEST, EventInstant, moment_of, shares, transform, width, zeros_within
from rtmbs.simulation.jumps import edge_of
from rtmbs.simulation.running import step_error as failure
from rtmbs.simulation.step_choice import SMALLEST, Batch, fastest, line_turns
from rtmbs.state import State
from rtmbs.system.input_slots import evaluate_signals
from rtmbs.system.system import System
from rtmbs.system.tables import Array

LOCATED = 1e-8  # of the step that held a kink: the nearest that the time of a kink needs to be known
RETAKEN = 4  # times at most that a step is taken again to end nearer to a kink
CROWDED = 6  # zeros of a function in one step, beyond which steps do not end at them
HASTY, IN_A_ROW = 1e-7, 12  # of the run: gaps between kinks of a function; so many in a row have no end
RESTING = 1e-10  # of the largest value of a function: it stands at its zero
BEHIND = 1e-3  # of a step: where the slope at its end is taken from


class Kink(NamedTuple):
    """A kink ahead, at which a step is to end."""

    t: float  # [s]
    functions: tuple[int, ...]  # switching functions with a zero there
    h: float  # step that held it [s]
    tries: int  # times that its place was found anew


class KinkFinder:
    """Switching functions of recorded laws along a run, and the kink ahead."""

    def __init__(self, sim: Any, span: float) -> None:
        switches = sim.system.switches
        self.sim, self.system, self.span, self.forces = sim, sim.system, span, switches.forces
        self.run = ProgramRunner(switches.tape)
        count = len(switches.forces)
        self.last, self.resting = np.zeros(count), np.zeros(count, np.bool_)  # at the start of the next step
        self.scale = np.zeros(count)  # largest value so far
        self.left_out = np.zeros(count, np.bool_)  # functions whose kinks steps do not end at
        self.crowded = np.zeros(count, np.bool_)
        self.at, self.hasty = np.full(count, -np.inf), np.zeros(count, np.int64)  # last kink [s]; hasty ones in a row
        self.ahead: Kink | None = None
        self.known: dict[float, Array] = {}  # values of the present step, by time

    @property
    def unseen(self) -> list[str]:
        """Names of laws with kinks that steps did not end at."""
        return list(dict.fromkeys(self.forces[k] for k in np.flatnonzero(self.left_out | self.crowded)))

    def law_at(self, t: float) -> str:
        """Return the name of the law that had kinks just before ``t`` [s] without end; empty for none."""
        just = np.flatnonzero((self.hasty > 0) & (self.at >= t - HASTY * self.span))
        return self.forces[just[0]] if len(just) else ""

    def values(self, moment: Moment) -> Array:
        """Return the switching functions at a moment."""
        equations, u = self.sim.equations, moment.u
        if self.system.signals:
            u = u.copy()
            with callback_rights(self.sim, NOTHING, ASKED):
                evaluate_signals(self.system, moment.t, u)
        before, equations.u = equations.u, u
        hold_states(moment.s, equations.ws)
        equations.evaluate(moment.z, moment.zd, moment.zdd, moment.R0)
        equations.u = before
        return self.run(equations.ws.law_number, equations.ws.law_parameter).copy()

    def begin(self, moment: Moment, landed: tuple[int, ...] = ()) -> None:
        """Stand at a moment, at which the functions ``landed`` have their zeros."""
        self.last, self.ahead = self.values(moment), None
        self.resting = np.abs(self.last) <= RESTING * self.scale
        self.resting[list(landed)] = True

    # ---- zeros within a step ----------------------------------------------------------------------------------------

    def look(self, stretch: Stretch) -> tuple[float, tuple[int, ...]] | None:
        """Return the first kink within a step and the functions that have it; None moves on to the end of the step."""
        start, h = stretch.before.t, stretch.h
        self.known = {}
        times = [start, *(start + h * shares(FEWEST)[1:-1]).tolist(), stretch.after.t]
        looks = np.array([self.last, *(self.value(stretch, t) for t in times[1:])])
        coefficients = np.abs(transform(FEWEST) @ looks)
        tail = coefficients[-1] + coefficients[-2]
        away = ~self.resting & (2.0 * coefficients[0] > coefficients.sum(axis=0) + 2.0 * tail)
        largest = np.abs(looks).max(axis=0)
        resting = np.zeros_like(self.resting)
        found: list[tuple[float, int]] = []
        for k in np.flatnonzero(~away & (largest > 0.0) & ~self.left_out).tolist():
            value = partial(self.number, stretch, k)
            zeros = zeros_within(value, start, stretch.after.t, float(looks[0, k]), bool(self.resting[k]))
            resting[k] = zeros.side == 0
            if len(zeros.zeros) > CROWDED:
                self.crowded[k] = True
            elif zeros.zeros:
                found.append((zeros.zeros[0].t, k))
        if found:
            first = min(found)[0]
            return first, tuple(k for t, k in found if t <= first + LOCATED * h)
        self.last, self.resting = looks[-1], resting | (largest == 0.0)
        self.scale = np.maximum(self.scale, largest)
        return None

    def value(self, stretch: Stretch, t: float) -> Array:
        """Return the functions at a time of a step."""
        if t not in self.known:
            self.known[t] = self.values(stretch.at(t))
        return self.known[t]

    def number(self, stretch: Stretch, k: int, t: float) -> float:
        """Return function ``k`` at a time of a step."""
        return float(self.value(stretch, t)[k])

    # ---- the kink ahead ---------------------------------------------------------------------------------------------

    def find(self, stretch: Stretch, edge: float) -> bool:
        """Look for a kink within a step; True when one is ahead of its start, and the step is not to be taken.

        A step that ends ``edge`` [s] before the kink ahead is taken when the kink is known well enough.
        """
        ahead, resting, last = self.ahead, self.resting, self.last
        arrives = ahead is not None and abs(stretch.after.t - (ahead.t - edge)) <= 0.5 * edge
        tries = 0 if ahead is None else ahead.tries
        near = edge if ahead is None else max(edge, LOCATED * ahead.h)
        found = self.look(stretch)
        if found is not None:
            t, functions = found
            if arrives and ahead is not None and set(functions) <= set(ahead.functions) and (
                tries >= RETAKEN or abs(t - ahead.t) <= near
            ):  # fmt: skip
                return False
            again = ahead is not None and bool(set(functions) & set(ahead.functions))
            h = ahead.h if again and ahead is not None else stretch.h
            self.ahead = Kink(t, functions, h, tries + 1 if again else 0)
            return True
        if not arrives or ahead is None or tries >= RETAKEN:
            return False
        later = max((self.later(stretch, k, ahead.t) for k in ahead.functions), key=abs, default=0.0)
        if abs(later) <= near or not abs(later) <= 0.5 * ahead.h:
            return False
        self.ahead, self.last, self.resting = ahead._replace(t=ahead.t + later, tries=tries + 1), last, resting
        return True

    def later(self, stretch: Stretch, k: int, t: float) -> float:
        """Return how much later than ``t`` [s], near the end of a step, a function has its zero [s]."""
        before = stretch.after.t - BEHIND * stretch.h
        here, there = (float(self.value(stretch, one)[k]) for one in (t, before))
        slope = (here - there) / (t - before) if t > before else 0.0
        return -here / slope if slope else 0.0

    def cross(self, moment: Moment) -> float:
        """Go on behind the kink ahead, at ``moment``; returns the step that held the kink [s]."""
        ahead = self.ahead
        assert ahead is not None
        for k in ahead.functions:
            self.hasty[k] = self.hasty[k] + 1 if ahead.t - self.at[k] < HASTY * self.span else 0
            self.at[k] = ahead.t
            self.left_out[k] |= bool(self.hasty[k] > IN_A_ROW)
        self.begin(moment, ahead.functions)
        return ahead.h


TOGETHER = 2.0, 5.0  # tolerances that errors of all steps may sum up to without their signs: with them they keep one
ROUGH, SMOOTH = (
    -4.0,
    -6.0,
)  # powers of ten: tolerances of the first and of the second; long steps judge themselves worse
NAMED = 3  # force laws in a warning
SEEN_BY = "PenaltyTrapezoidal sees kinks"
LINE = 1.5  # [rad] that a step may turn the line of a spring: it is looked at in seven places
SIZE, TIMED, TRIES = 48, 8, 128  # steps in one call; with functions of time; and tries
FREE = 0.25  # of a step that failed: the next one
NEARLY = 1.1  # steps: what is left up to a kink is taken in one
MOST_LATER = 0.1  # of a step to an event: more is no better place for its end
EVENT_FUNCTION = "an event function"
KERNEL_FAILURES = 2  # in a row, before a step is taken in plain Python
NEAR_TOLERANCE = 0.3  # tolerances that the errors have grown to, from which on bodies are looked at in every batch
NEWTON = 1e-4, 1e-14  # of the tolerance, and the least: that of Newton's iteration


def sum_without_signs(tolerance: float) -> float:
    """Return the tolerances that the errors of all steps may sum up to without their signs."""
    return float(np.interp(-np.log10(tolerance), (-ROUGH, -SMOOTH), TOGETHER))


def kinks_unseen(system: System, found: KinkFinder | None) -> dict[str, int]:
    """Return the warning that kinks of force laws may be missed, for those at which steps do not end.

    The three ways over a step may miss a kink alike (METHODS 6.10). Those of laws that Python calls are not known.
    """
    laws = [law.name for law in system.called] + ([] if found is None else found.unseen)
    if not laws:
        return {}
    named = ", ".join(laws[:NAMED]) + (f" and {len(laws) - NAMED} more" if len(laws) > NAMED else "")
    return {f"a kink of force laws ({named}) within a step may add more than the tolerance; {SEEN_BY}": 1}


def newton_tolerance(tolerance: float, own: float) -> float:
    """Return the tolerance of increments in a run with a ``tolerance``, ``own`` at most."""
    return min(own, max(NEWTON[0] * tolerance, NEWTON[1]))


class RowMoments(Sequence[Moment]):
    """Moments at the start of a batch and behind its steps, made when they are asked for: most never are."""

    def __init__(self, start: State, rows: Chunk, times: Array) -> None:
        self.start, self.rows, self.times = start, rows, times

    def __len__(self) -> int:
        return len(self.times)

    @overload
    def __getitem__(self, k: int) -> Moment: ...
    @overload
    def __getitem__(self, k: slice) -> list[Moment]: ...
    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        k = range(len(self))[k]
        if k == 0:
            return moment_of(self.start)
        values: list[Array] = [getattr(self.rows, name)[k - 1].copy() for name in Moment._fields[1:]]
        return Moment(float(self.times[k]), *values)

    def __iter__(self) -> Iterator[Moment]:
        return (self[k] for k in range(len(self)))


class ExtrapolatedBatch(Batch):
    """Steps of different sizes just taken."""

    def __init__(self, start: State, rows: Chunk, h: Array, t: float) -> None:
        self.h = h
        times = t + np.concatenate(([0.0], np.cumsum(h)))
        super().__init__(start, RowMoments(start, rows, times), None, rows, None, None)

    @property
    def times(self) -> Array:
        """Times (k + 1,) at the start and behind the steps [s]."""
        return self.moments.times  # type: ignore[attr-defined]

    def cut(self, k: int) -> "ExtrapolatedBatch":
        """Return the first ``k`` steps."""
        assert self.chunk is not None
        less = ExtrapolatedBatch(self.start, first(self.chunk, k), self.h[:k], float(self.times[0]))
        less.reports = None if self.reports is None else self.reports[:k]
        return less

    def state(self, k: int) -> State:
        """Return the state behind ``k`` steps, a copy."""
        state = self.start.copy()
        if k:
            for name, values in arrays_of(state)._asdict().items():
                values[:] = getattr(self.chunk, name)[k - 1]
            assert self.chunk is not None
            state.u[:] = self.chunk.u[k - 1]
            state.t_ref, state.k, state.h = float(self.times[k]), 0, float(self.h[k - 1])
        return state


class ExtrapolatedSteps:
    """Steps of one run with a tolerance; ``run`` is the Controlled run, which records and watches."""

    def __init__(self, run: Any, tolerance: float) -> None:
        self.run, self.sim, self.tolerance = run, run.sim, tolerance
        sim, n = run.sim, run.sim.system.n
        self.control = np.zeros(CONTROL_SIZE)
        self.control[LONGEST], self.control[SPAN] = run.choice.longest, run.choice.span
        self.control[ALLOWED] = sum_without_signs(run.tolerance) * tolerance / run.choice.span
        size = TIMED if sim.system.signals else SIZE
        self.chunk = chunk_for(sim.state, size)
        size = len(self.chunk.stats)
        self.rows = chunk_for(sim.state, ROWS)
        self.inputs = np.zeros((4 * size, len(sim.state.u)))
        self.judged = Judged(np.zeros(size), np.zeros((size, 2, n)), np.zeros((TRIES, 4)))
        self.kernel: Any = None
        self.kernel_of: Any = None
        self.failed_in_a_row = 0
        self.kinks = KinkFinder(sim, run.choice.span) if sim.system.switches else None
        self.anew = True  # the motion was changed since the last step
        self.refused: Moment | None = None  # where a step ended whose error was too large

    @property
    def _claim(self) -> Any:
        return self.sim._claim

    # ---- from jump to jump ------------------------------------------------------------------------------------------

    def go_to(self, land: float) -> bool:
        """Step to the time ``land`` [s] exactly; False when an event stopped the run."""
        run = self.run
        self.anew = True
        while land - self.sim.t > LANDED * run.choice.span:
            run.bound.check(len(run.tried), self.sim.t, run.h, run.choice.cause)
            if self.anew and self.kinks is not None:
                self.kinks.begin(moment_of(self.sim.state))
            self.anew = False
            end = self.next_end(land)
            if end <= self.sim.t:
                if self.cross_kink():
                    return False
                continue
            left, h = end - self.sim.t, run.h
            if self.kinks is not None and self.kinks.ahead is not None and left < NEARLY * h:
                h = left  # a step that is taken again is not halved
            self.control[LEFT], self.control[STEP] = left, min(h, self.control[LONGEST])
            batch, tried, failed = self.take()
            if self.kinks is not None:
                batch, tried = self.up_to_kink(batch, tried, end)
            if self.accept(batch, tried, failed, end):
                return False
            if run.h < SMALLEST * run.choice.span:
                raise run.too_small(ExtrapolatedBatch(self.sim.state.copy(), self.chunk, np.zeros(0), self.sim.t))
        return True

    # ---- kinks ------------------------------------------------------------------------------------------------------

    def next_end(self, land: float) -> float:
        """Return where steps end next [s]: at ``land``, or a little before a kink ahead."""
        ahead = self.kinks.ahead if self.kinks is not None else None
        if ahead is None:
            return land
        edge = edge_of(ahead.t, ahead.h)
        return land if ahead.t + edge >= land else ahead.t - edge

    def cross_kink(self) -> bool:
        """Go over the kink ahead by Taylor's series, as over a jump of inputs; True when an event stops the run."""
        run, kinks = self.run, self.kinks
        assert kinks is not None
        assert kinks.ahead is not None
        self.sim._store.move_by_rates(kinks.ahead.t + edge_of(kinks.ahead.t, kinks.ahead.h))
        run.h = max(run.h, kinks.cross(moment_of(self.sim.state)))
        return bool(run.events.monitors and run.run_jump_events())

    def up_to_kink(self, batch: ExtrapolatedBatch, tried: Array, end: float) -> tuple[ExtrapolatedBatch, Array]:
        """Return the steps of a batch up to the first that holds a kink, and their tries."""
        kinks, dofs = self.kinks, self.sim.system.tables.dofs
        assert kinks is not None
        for k in range(batch.count):
            stretch = Stretch(dofs, batch.moments[k], batch.moments[k + 1])
            if k == batch.count - 1 and not self.control[LEFT] > LANDED * batch.h[-1]:
                stretch = Stretch(dofs, batch.moments[k], batch.moments[k + 1]._replace(t=end))
            if kinks.find(stretch, self.edge):
                row = int(np.flatnonzero(tried[:, 3])[k])
                tried = tried[: row + 1]
                tried[row, 2:] = np.nan, 0.0
                self.control[LEFT], self.control[STEP] = tried[row, 0], tried[row, 1]
                return batch.cut(k), tried
        if self.refused is not None:
            here = kinks.last, kinks.resting
            if kinks.find(Stretch(dofs, batch.moments[-1], self.refused), self.edge):
                self.control[STEP] = self.refused.t - batch.times[-1]
            else:
                kinks.last, kinks.resting = here
        return batch, tried

    def at_event(self, state: State, instant: EventInstant) -> Stretch | None:
        """Return a step from ``state`` that ends at an instant, found anew on its dense output; None without any.

        That of the step which holds the event has seen forces behind it.
        """
        t, monitor, stretch = instant.t, next(one for one in instant.due if one.acts), None
        least, before = max(LANDED * self.run.choice.span, edge_of(t, self.run.h)), self.control.copy()
        for _ in range(RETAKEN):
            h = t - state.t
            self.control[LEFT] = self.control[STEP] = h
            self.sim._store.stand_at(state.copy())
            batch = self.take()[0] if h > least else None
            if batch is None or batch.count != 1 or self.control[LEFT] > LANDED * h:
                break
            start, end = batch.moments[0], batch.moments[1]._replace(t=t)
            stretch = Stretch(self.sim.system.tables.dofs, start, end)
            with callback_rights(self.sim, LOOK, EVENT_FUNCTION):
                later = monitor.later(stretch)
            if abs(later) <= width(t, h) or not abs(later) <= MOST_LATER * h:
                break
            t += later
        self.control[:] = before
        return stretch

    @property
    def edge(self) -> float:
        """How near to the kink ahead a step ends [s]."""
        ahead = self.kinks.ahead if self.kinks is not None else None
        return 0.0 if ahead is None else edge_of(ahead.t, ahead.h)

    # ---- batches ----------------------------------------------------------------------------------------------------

    def accept(self, batch: ExtrapolatedBatch, tried: Array, failed: StepReport | None, land: float) -> bool:
        """Take in the steps of a batch; True when an event stopped the run."""
        run, control = self.run, self.control
        good = batch.count
        run.tried += [(land - left, h, error, taken > 0.0) for left, h, error, taken in tried.tolist()]
        if good and not control[LEFT] > LANDED * batch.h[-1]:
            batch.times[-1] = land
        if good:
            run.growth.position, run.growth.rate = self.judged.growth[good - 1].copy()
            run.growth.at, run.last_h = batch.moments[good], float(batch.h[-1])
            self.sim._store.stand_at(batch.state(good))
            if batch.reports is None and not run.in_chunks:
                batch.reports = [self.report(batch, k) for k in range(good)]
        _, stopped, anew = run.take_in(batch, good)
        if good and run.growth.size > NEAR_TOLERANCE * run.tolerance:
            run.growth.check(run.tolerance, self.sim.t)
        run.bar.show(self.sim.t)
        if failed is not None and not anew:
            run.failures += 1
            if run.failures > run.at_most or failed.hopeless:
                raise failure(len(run.tried), failed)
        run.h = float(control[STEP])
        return stopped

    def report(self, batch: ExtrapolatedBatch, k: int) -> StepReport:
        """Return the report of step ``k`` of a batch."""
        assert batch.chunk is not None
        stats = batch.chunk.stats[k]
        (outcome,) = outcomes_of(stats[None])
        return report_of(stats, outcome, float(batch.times[k + 1]), seconds_per_tick())

    # ---- steps ------------------------------------------------------------------------------------------------------

    @guarded(RIGHT, "run")
    def take(self) -> tuple[ExtrapolatedBatch, Array, StepReport | None]:
        """Take steps; returns them, the tries, and the report of a step that failed in plain Python too."""
        store = self.sim._store
        store.settle()
        old, _ = store.begin_step()
        start, self.refused = old.copy(), None
        fused = self.fused(store)
        if fused is None or self.failed_in_a_row >= KERNEL_FAILURES:
            return self.take_one(start)
        self.fill_inputs(start)
        growth = np.array([self.run.growth.position, self.run.growth.rate])
        with nullcontext() if store.compiled else announced():
            store.check_arrays(old)
            settings = store.work.settings._replace(h=float(self.control[STEP]))
            outcome, done = fused(
                settings, store.work.weight, arrays_of(old), old.u, self.chunk, self.inputs, self.rows, self.control,
                growth, self.judged,
            )  # fmt: skip
        store.compiled = True
        tried = self.judged.tried[: int(self.control[TRIED])]
        if len(tried) == 0:  # no step starts from this state: the step in plain Python says why
            return self.take_one(start)
        if np.isfinite(tried[-1, 2]):
            self.run.choice.blame(self.kernel.error, error_time(self.control))
        good = self.looked_at(start, done)
        if good < done:
            tried = tried[: int(np.flatnonzero(tried[:, 3])[good]) + 1]
            tried[-1, 2:] = np.nan, 0.0
            self.control[LEFT] = tried[-1, 0]
        if good < done or (outcome is not None and outcome not in TAKEN):
            self.failed_in_a_row += 1
            self.control[STEP] = FREE * tried[-1, 1]
        elif outcome is None:
            done = good = self.after_refusal(start, good, tried)
            self.refused = self.moment_refused(start, good, tried)
        if good:
            self.failed_in_a_row = 0
            self.chunk.u[:good] = self.inputs[3 : 4 * good : 4]
        return ExtrapolatedBatch(start, first(self.chunk, good), self.judged.h[:good].copy(), start.t), tried, None

    def fused(self, store: Any) -> Any:
        """Return the kernel for the equations of a store; None where there is none."""
        if self.kernel_of is not store.equations:
            self.kernel, self.kernel_of = None, store.equations
            if store.options.method.fused:
                self.kernel = store.equations.step_kernel(EXTRAPOLATED)
        return self.kernel

    def fill_inputs(self, start: State) -> None:
        """Fill in the inputs at the ends of all quarters; steps adapt in the kernel where no function of time acts."""
        self.inputs[:] = start.u
        self.control[ADAPTS] = 0.0 if self.sim.system.signals else 1.0
        self.control[REFUSALS], self.control[TRIED] = 0.0, 0.0
        self.control[PATIENCE] = 1.0 if self.kinks is not None else MOST_REFUSALS  # the first may tell of a kink
        if self.sim.system.signals:
            parts = np.ceil(self.control[LEFT] / self.control[STEP] * (1.0 - LANDED))
            h = self.control[LEFT] / max(parts, 1.0)
            for k in range(int(min(4 * parts, len(self.inputs)))):
                evaluate_signals(self.sim.system, start.t + 0.25 * (k + 1) * h, self.inputs[k])

    def looked_at(self, start: State, done: int) -> int:
        """Return how many of the steps turn no bushing by more than half a turn, and no spring's line too far."""
        if done and self.sim._half_turns is not None:
            longest = start.copy()
            longest.h = float(self.judged.h[:done].max())
            done = self.sim._half_turns.good(longest, self.chunk, done)
        if done and len(self.sim.equations.tables.forces.springs.connector):
            rows = {name: np.concatenate((getattr(start, name)[None], getattr(self.chunk, name)[:done]))
                    for name in Track._fields[1:]}  # fmt: skip
            far = np.flatnonzero(line_turns(self.sim.equations, Track(np.zeros(done + 1), **rows)) > LINE)
            done = int(far[0]) if len(far) else done
        return done

    def after_refusal(self, start: State, good: int, tried: Array) -> int:
        """Choose the next step after one that was refused, or take it after all; returns how many steps are taken.

        A step over a kink may take half of the share of a step before it (METHODS 1.34).
        """
        left, h, error, _ = tried[-1]
        errors = np.concatenate((tried[tried[:, 3] > 0.0, 2], [error]))
        t = start.t + float(self.judged.h[:good].sum())
        if (
            self.kinks is None
            and np.isfinite(error)
            and self.run.choice.grants(t, h, errors, len(errors) - 1, self.run.last_h)
        ):
            before = self.judged.growth[good - 1] if good else [self.run.growth.position, self.run.growth.rate]
            self.judged.h[good], self.judged.growth[good] = h, before + self.kernel.error
            tried[-1, 3], self.control[LEFT], self.control[STEP] = 1.0, left - h, h
            return good + 1
        self.control[STEP] = h * min(next_factor(error), AFTER_REFUSAL) if np.isfinite(error) else FREE * h
        return good

    def moment_refused(self, start: State, good: int, tried: Array) -> Moment | None:
        """Return where the last try ended behind ``good`` steps, when its error was too large; None otherwise."""
        _, h, error, taken = tried[-1]
        if taken or not np.isfinite(error) or self.kinks is None:
            return None
        values = {name: getattr(self.chunk, name)[good].copy() for name in Moment._fields[1:]}
        values["u"][:] = self.inputs[4 * good + 3]
        return Moment(start.t + float(self.judged.h[:good].sum()) + float(h), **values)

    # ---- in plain Python --------------------------------------------------------------------------------------------

    def take_one(self, start: State) -> tuple[ExtrapolatedBatch, Array, StepReport | None]:
        """Take one step in plain Python, where force laws need it or the kernel has failed."""
        store, control = self.sim._store, self.control
        parts = max(np.ceil(control[LEFT] / control[STEP] * (1.0 - LANDED)), 1.0)
        h = float(control[LEFT] / parts) if parts <= 4.0 else float(control[STEP])
        stepper = ExtrapolatedMidpoint(store.options.method, store.equations, store.work)
        inputs = np.repeat(start.u[None], 4, axis=0)
        for k in range(4 * bool(self.sim.system.signals)):
            evaluate_signals(self.sim.system, start.t + 0.25 * (k + 1) * h, inputs[k])
        taken = stepper.take(start, h, inputs)
        row = one_row_chunk(taken.new, np.zeros(STATS_SIZE))
        tried = np.array([[control[LEFT], h, np.nan, 0.0]])
        report: StepReport = taken.report
        if report.outcome in TAKEN and self.sim._half_turns is not None:
            report = self.sim._half_turns.checked(report, start, taken.new)
        if report.outcome not in TAKEN:
            control[STEP] = FREE * h
            return ExtrapolatedBatch(start, first(row, 0), np.zeros(0), start.t), tried, report
        error = self.judge(taken, h, start)
        self.run.choice.blame(taken.error, error_time(control))
        tried[0, 2:] = error, float(error <= 1.0)
        if not error <= 1.0:
            control[STEP] = h * min(next_factor(error), AFTER_REFUSAL) if np.isfinite(error) else FREE * h
            if np.isfinite(error) and self.kinks is not None:
                self.refused = moment_of(taken.new)
            return ExtrapolatedBatch(start, first(row, 0), np.zeros(0), start.t), tried, None
        last = np.array([self.run.growth.position, self.run.growth.rate])
        self.judged.growth[0] = stepper.grown(start, h, taken, last)
        control[LEFT], control[STEP] = control[LEFT] - h, min(h * next_factor(error), control[LONGEST])
        self.failed_in_a_row = 0
        batch = ExtrapolatedBatch(start, row, np.array([h]), start.t)
        batch.reports = [report]
        return batch, tried, None

    def judge(self, taken: Any, h: float, start: State) -> float:
        """Return the error of a step in terms of what it may be."""
        control, typical, new = self.control, self.sim.system.typical, taken.new
        control[FASTEST] = max(control[FASTEST], float(np.max(np.abs(new.zd) / typical, initial=0.0)))
        control[STEEPEST] = max(control[STEEPEST], float(np.max(np.abs(new.zdd) / typical, initial=0.0)))
        error = step_error(taken.error, taken.second, error_time(control), typical) / (h * control[ALLOWED])
        track = Track(np.array([start.t, new.t]), *(np.array([getattr(one, name) for one in (start, new)])
                                                    for name in Track._fields[1:]))  # fmt: skip
        rate = float(fastest(self.sim.system, self.sim.equations, track).max())
        line = float(line_turns(self.sim.equations, track).max(initial=0.0))
        return float(max(error, (h * rate / LARGEST_TURN) ** POWER, (line / LINE) ** POWER))
