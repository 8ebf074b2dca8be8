"""Runs with a tolerance: steps in batches, records and events on dense output, steps that end at jumps."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rtmbs.contact.convex import refuse_convex
from rtmbs.contact.joints import refuse_bearings
from rtmbs.errors import InputError
from rtmbs.integrators.report import Outcome, outcomes_of
from rtmbs.integrators.settings import TRIES, Chunk, first
from rtmbs.methods import Capability, demand
from rtmbs.results.catalogue import sources
from rtmbs.results.result import Result
from rtmbs.results.samples import OF_STATE, Evaluation, Samples
from rtmbs.simulation.access import ASKED, LOOK, NOTHING, callback_rights
from rtmbs.simulation.dense_output import Moment, Past, Stretch
from rtmbs.simulation.events import (
    Event,
    EventError,
    EventHandler,
    EventInstant,
    Occurrence,
    events_of,
    moment_of,
    width,
)
from rtmbs.simulation.extrapolated_run import EVENT_FUNCTION, ExtrapolatedSteps, kinks_unseen, newton_tolerance
from rtmbs.simulation.jumps import edge_of, jump_times
from rtmbs.simulation.observers.observer import At, Every, EveryStep, Observer, Schedule
from rtmbs.simulation.observers.recorder import HELPED, started_of
from rtmbs.simulation.running import WATCHING, TimeBar, check_end, observers_of, step_error
from rtmbs.simulation.step_choice import (
    LESS,
    MOST_AGAIN,
    SIZE,
    SMALLEST,
    Batch,
    ErrorGrowth,
    StepBound,
    StepChoice,
    ToleranceError,
    check_tolerance,
    chunk_of,
    error_of_positions,
    fastest,
    first_step,
    kink_remedy,
    line_turns,
    projection_tol,
    small_step_remedy,
    take_batch,
)
from rtmbs.system.contact_tables import refuse_sets
from rtmbs.system.input_slots import evaluate_signals
from rtmbs.system.system import System
from rtmbs.system.tables import Array, Tables


class StepLog(NamedTuple):
    """Every step that was tried, in order."""

    t: Array  # (k,) where it began [s]
    h: Array  # (k,) [s]
    error: Array  # (k,) estimate in terms of what the tolerance allows for it; NaN: the step failed, or was taken anew
    # up to a kink. Steps over kinks of forces may be taken with more, out of what longer steps there would have been
    # allowed
    taken: Array  # (k,) bool

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(np.count_nonzero(self.taken))

    @property
    def refused(self) -> int:
        """Steps refused: their error was too large, or they failed."""
        return len(self.taken) - self.steps

    def __str__(self) -> str:
        if not self.steps:
            return f"no steps taken, {self.refused} refused"
        h = self.h[self.taken]
        return f"{self.steps} steps of {h.min():.3g} to {h.max():.3g} s taken, {self.refused} refused"


class ControlledResult(Result):
    """An ordinary Result with ``steps``, a StepLog, and ``events``, the Occurrences in their order."""

    def __init__(
        self,
        system: System,
        tables: Tables,
        samples: Samples,
        outcomes: Mapping[str, int],
        warnings: Mapping[str, int],
        steps: StepLog,
        events: Sequence[Occurrence],
    ) -> None:
        resampled = Evaluation(system, tables, samples)
        super().__init__(
            lambda: sources(system, resampled), system.name, system.fingerprint, outcomes, warnings, system
        )
        self.steps = steps
        self.events = tuple(events)


MOST_SAMPLES = 10_000_000  # samples that a run keeps in memory


class RecordTimes:
    """Times still to be recorded, in order; or every step."""

    def __init__(self, schedule: Schedule | None, t: float, t_end: float) -> None:
        self.every_step = schedule is None or type(schedule) is EveryStep
        self.times: list[float] = []
        self.next = 0
        if type(schedule) is Every:
            many = (t_end - t) / schedule.dt * (1.0 + 1e-12)
            if many > MOST_SAMPLES:
                raise InputError(
                    f"record is {schedule!r}, {many:.2g} samples to t_end; at most {MOST_SAMPLES:g} are kept"
                )
            count = math.floor(many)
            self.times = np.minimum(t + schedule.dt * np.arange(1, count + 1), t_end).tolist()
        elif type(schedule) is At:
            self.times = [time for time in schedule.times if t < time <= t_end]
        elif not self.every_step:
            raise InputError(
                f"record is {type(schedule).__name__}; with a tolerance it must be Every(dt), At(times) or EveryStep()"
            )

    def due(self, until: float) -> list[float]:
        """Return the times up to ``until`` [s] that were not returned before."""
        first = self.next
        while self.next < len(self.times) and self.times[self.next] <= until:
            self.next += 1
        return self.times[first : self.next]

    def skips(self, until: float) -> bool:
        """True when nothing is to be recorded up to ``until`` [s]."""
        return not self.every_step and (self.next == len(self.times) or self.times[self.next] > until)


OFF_LOOPS = "off their loops: a smaller step had no smaller error, halves of it agreed"
ANEW = (
    "begun anew with a fifth of the error a step: errors grow in this motion, maybe beyond the tolerance; compare with "
    "a run of a tenth of it"
)
FREE = 0.25  # of a step that failed: the next one


class Controlled:
    """One run of a Simulation with a tolerance."""

    def __init__(
        self, sim: Any, t_end: float, tolerance: float, events: Sequence[Event], record: RecordTimes,
        observers: Sequence[Observer], at_most: int, jumps: Sequence[float], bar: TimeBar, most_steps: int,
        again: int = 0,
    ) -> None:  # fmt: skip
        self.sim, self.t_end, self.record, self.observers = sim, t_end, record, list(observers)
        self.h, self.at_most, self.jumps = sim.h, at_most, jumps
        self.tolerance, self.again = tolerance, again  # what is kept, and how often the run began anew
        self.choice = StepChoice(sim.system, tolerance * LESS**again, sim.t, t_end)
        self.growth = ErrorGrowth(sim.system, sim.equations)
        self.bound = StepBound(most_steps, tolerance, t_end)
        tables = sim.equations.tables
        with callback_rights(sim, LOOK, EVENT_FUNCTION):
            self.events = EventHandler(events, sim.system, tables, moment_of(sim.state))
        self.in_chunks = sim._store.takes_chunks and all(observer.takes_chunks for observer in self.observers)
        self.chunk: Chunk | None = chunk_of(sim) if self.in_chunks else None
        self.past: Past | None = None
        self.last_h = sim.h  # of the last step taken [s]
        self.failures = 0
        self.tried: list[tuple[float, float, float, bool]] = []
        self.kept: list[tuple[Moment, float]] = []
        self.outcomes: Counter[str] = Counter()
        self.helped = self.off_loops = 0
        self.system, self.bar = sim.system, bar
        less = tolerance * LESS**again
        self.extrapolated = ExtrapolatedSteps(self, less) if sim.method.extrapolates else None

    # ---- the run ----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Go from jump to jump, to the end or to an event that stops."""
        sim = self.sim
        self.keep(moment_of(sim.state), 0.0)
        with callback_rights(sim, LOOK, WATCHING):
            for observer in self.observers:
                observer.begin(sim, None)
        h = sim.h
        self.h = min(h, self.choice.longest, first_step(self.system, sim.equations, sim.state))
        ends = [(jump - edge_of(jump, h), jump + edge_of(jump, h)) for jump in self.jumps]
        ends += [] if sim._controllers is None else [(t, t) for t in sim._controllers.times(sim.t, self.t_end)]
        if sim._controllers is not None and self.let_controllers_act():
            return
        for land, go in [*((min(a, self.t_end), b) for a, b in sorted(ends)), (self.t_end, self.t_end)]:
            if not self.go_to(land):
                break
            if go == land < self.t_end and self.let_controllers_act():
                break
            if go > sim.t:
                sim._store.move_by_rates(go)
                self.past = None
                if self.events.monitors and self.run_jump_events():
                    break
        else:
            self.growth.settle()
            self.growth.check(self.tolerance, self.t_end)
            self.place(sim.state.copy(), self.t_end)
            # the last step may end a rounding before t_end: a sample at t_end is due behind it
            self.kept += [(moment_of(sim.state)._replace(t=t), 0.0) for t in self.record.due(self.t_end)]
            self.bar.show(sim.t)
        with callback_rights(sim, LOOK, WATCHING):
            for observer in self.observers:
                observer.end(sim)

    def let_controllers_act(self) -> bool:
        """Let the controllers that are due act, and steps begin anew behind them; True when an event ends the run."""
        sim = self.sim
        sim._controllers.act(sim)
        sim._store.move_by_rates(sim.t)
        self.past = None
        if self.extrapolated is not None:
            self.extrapolated.anew = True
        return bool(self.events.monitors) and self.run_jump_events()

    def go_to(self, land: float) -> bool:
        """Step to the time ``land`` [s] exactly; False when an event stopped the run."""
        if self.extrapolated is not None:
            return self.extrapolated.go_to(land)
        sim = self.sim
        while (left := land - sim.t) > SMALLEST * self.choice.span:
            self.bound.check(len(self.tried), sim.t, self.h, self.choice.cause)
            steps = max(int(np.ceil(left / self.h * (1.0 - 1e-12))), 1 if self.past is not None else 2)
            h = left / steps if steps <= 2 * SIZE else self.h
            sim._store.step_from_here(h)
            batch = take_batch(sim, min(steps, SIZE), self.chunk)
            taken, stopped = self.accept_steps(batch, h)
            self.bar.show(sim.t)
            if stopped:
                return False
            if taken == steps:
                break
        return True

    def accept_steps(self, batch: Batch, h: float) -> tuple[int, bool]:
        """Accept the steps of a batch up to the first one whose error is too large; returns (taken, stopped)."""
        track, count = batch.track(), batch.count
        if few := min(self.choice.unjudged, count):
            self.choice.excuse(error_of_positions(self.sim, self.system, batch, few))
        rates = fastest(self.system, self.sim.equations, track)
        lines = line_turns(self.sim.equations, track)
        errors = self.choice.errors(track, self.past, rates, lines) if count else np.zeros(0)
        refused = np.flatnonzero(~(errors <= 1.0))
        good = int(refused[0]) if len(refused) else count
        kink = good < count and self.choice.grants(float(track.t[good]), h, errors, good, self.last_h)
        good += kink
        looked = good if kink else min(good + 1, count)
        self.tried += [(float(track.t[k]), h, float(errors[k]), k < good) for k in range(looked)]
        if good < count:
            self.sim._store.stand_at(batch.state(good))
        elif batch.failed is not None:
            self.tried.append((float(track.t[-1]), h, float("nan"), False))
            self.give_up_or_go_on(batch, h)
        taken, stopped, anew = self.take_in(batch, good)
        judged = self.choice.unjudged == 0
        if self.growth.followed and taken and judged and not self.off_loops:
            self.growth.follow(batch, h, self.choice.added, taken, float(rates.max()))
            self.growth.check(self.tolerance, float(track.t[taken]))
        if good:
            self.off_loops += min(self.choice.unjudged, good)
            self.choice.unjudged = 0
        if good and not anew:
            self.past = Past(h, track.zdd[good - 1].copy()) if judged and not kink else None
            self.last_h = h
        if good == count and batch.failed is not None:
            self.h = FREE * h
        elif kink:
            self.h = h
        elif len(refused):
            self.h = self.choice.after_refusal(float(track.t[good]), h, float(errors[good]), self.last_h)
        else:
            self.h = min(h * self.choice.factor(float(errors.max())), self.choice.longest)
        if self.h < SMALLEST * self.choice.span and not stopped:
            raise self.too_small(batch)
        return (NOT_ALL if anew else taken), stopped

    def take_in(self, batch: Batch, good: int) -> tuple[int, bool, bool]:
        """Show, record and watch ``good`` steps; returns (taken, whether the run stops, whether it began anew)."""
        times = batch.times
        for k in range(good):
            if not self.events.monitors and self.record.skips(times[k + 1]):
                continue
            before, after = batch.moments[k], batch.moments[k + 1]
            stretch = Stretch(self.system.tables.dofs, before, after)
            instant = self.first_event(batch, stretch, k)
            if instant is not None:
                return k, self.stop_at_event(batch, stretch, k, instant), True
            self.record_step(batch, stretch, k, after.t)
        if good:
            self.failures = 0
            self.show(batch, good)
        return good, False, False

    def give_up_or_go_on(self, batch: Batch, h: float) -> None:
        """Raise the error of the step that failed when it was tried often enough, or when no smaller step helps."""
        self.failures += 1
        report = batch.failed
        assert report is not None
        if self.failures > self.at_most or report.hopeless:
            raise step_error(self.sim.state.k + 1, report)

    def too_small(self, batch: Batch) -> Exception:
        """Return the error of a step that the tolerance makes too small."""
        t, report = self.sim.t, self.sim.step()
        self.sim._store.stand_at(self.sim.state.copy())
        error = step_error(len(self.tried), report) if not report.outcome.accepted else None
        kinks = self.extrapolated.kinks if self.extrapolated is not None else None
        law = kinks.law_at(t) if kinks is not None else ""
        remedy = kink_remedy(law) if law else small_step_remedy(self.system, self.sim.equations.tables, batch.moments)
        return error or InputError(
            f"tolerance = {self.tolerance:g} asks for steps below {self.h:.3g} s at t = {t:g} s, because of "
            f"{repr(self.choice.worst) if self.choice.worst else 'its rates'}: {remedy}"
        )

    @property
    def acted(self) -> bool:
        """True when an event acted: effects of its action outside the Simulation are not undone."""
        return any(one.event.action is not None for one in self.events.occurred)

    # ---- events -----------------------------------------------------------------------------------------------------

    def first_event(self, batch: Batch, stretch: Stretch, k: int) -> EventInstant | None:
        """Return the first instant within step ``k`` at which events stop the run or act."""
        try:
            with callback_rights(self.sim, LOOK, EVENT_FUNCTION):
                return self.events.look(stretch)
        except EventError:  # events too near to each other behind the last one, where this step begins
            self.place(batch.state(k), stretch.before.t)
            raise

    def stop_at_event(self, batch: Batch, stretch: Stretch, k: int, instant: EventInstant) -> bool:
        """Move the Simulation to an instant within step ``k`` and run its events; True when the run ends."""
        if k:
            self.show(batch, k)
        state = batch.state(k)
        if self.extrapolated is not None and (taken := self.extrapolated.at_event(batch.state(k), instant)):
            stretch, instant = taken, instant._replace(t=taken.after.t)
        moment, t = stretch.at(instant.t), instant.t
        for name in ("z", "zd", "zdd", "lam", "R0", "s", "sd"):
            getattr(state, name)[...] = getattr(moment, name)
        self.record_step(batch, stretch, k, t - width(t, stretch.h), at_end=False)
        self.place(state, t)
        with callback_rights(self.sim, LOOK, EVENT_FUNCTION):
            self.events.take_values(moment_of(self.sim.state), instant)
        return self.run_events(instant)

    def run_jump_events(self) -> bool:
        """Run the events of functions whose sign an input that jumped has changed; True when the run ends."""
        with callback_rights(self.sim, LOOK, EVENT_FUNCTION):
            instant = self.events.events_of_jump(moment_of(self.sim.state))
        return self.run_events(instant)

    def run_events(self, instant: EventInstant) -> bool:
        """Run the events of the present instant; True when the run ends."""
        if not instant.due:
            return False
        if self.extrapolated is not None:
            self.extrapolated.anew = True
        try:
            with callback_rights(self.sim, LOOK, EVENT_FUNCTION):
                stops = self.events.act(self.sim, instant, self.last_h)
        finally:
            self.past = None
            moment = moment_of(self.sim.state)
            if moment.t == instant.t:
                self.kept += [(moment._replace(t=t), 0.0) for t in self.record.due(instant.t)]
        self.keep(moment, 0.0, stops)
        return stops

    def place(self, state: Any, t: float) -> None:
        """Move the Simulation to ``state`` at ``t`` [s] with the step that the user chose."""
        state.h = self.sim.h
        if state.t == t and np.all(state.z == self.sim.state.z):
            state.t_ref, state.k = t, 0
            self.sim._store.stand_at(state)
        else:
            self.sim._store.go_on_from(state, t)
        self.past = None

    # ---- what is seen -----------------------------------------------------------------------------------------------

    def show(self, batch: Batch, count: int) -> None:
        """Count how the first steps of a batch ended, and show them to observers."""
        if batch.reports is None:
            assert batch.chunk is not None
            rows = first(batch.chunk, count)
            self.count_outcomes({one.name: number for one, number in outcomes_of(rows.stats).items()}, count)
            self.helped += int(np.count_nonzero(rows.stats[:, TRIES]))
            t = batch.times[1 : count + 1]
            with callback_rights(self.sim, LOOK, WATCHING):
                for observer in self.observers:
                    observer.observe_chunk(self.sim, t, rows)
            return
        reached = self.sim._store.mark()
        for k in range(count):
            report = batch.reports[k]
            self.count_outcomes({report.outcome.name: 1}, int(k < self.choice.unjudged))
            self.helped += int(report.tries > 0)
            if self.observers:
                self.sim._store.stand_at(batch.state(k + 1))
                with callback_rights(self.sim, LOOK, WATCHING):
                    for observer in self.observers:
                        observer.observe(self.sim, report)
        self.sim._store.back_to(reached)

    def count_outcomes(self, outcomes: Mapping[str, int], most: int) -> None:
        """Count outcomes; of the steps taken whatever their error, ``most`` at most, none counts as CONVERGED."""
        self.outcomes.update(outcomes)
        unjudged = min(self.choice.unjudged, most, outcomes.get(Outcome.CONVERGED.name, 0))
        if unjudged:
            self.outcomes[Outcome.CONVERGED.name] -= unjudged
            self.outcomes[Outcome.UNPROJECTED.name] += unjudged

    def record_step(self, batch: Batch, stretch: Stretch, k: int, until: float, at_end: bool = True) -> None:
        """Record the samples of a step up to ``until`` [s]."""
        doubtful = float(batch.doubtful(k) or k < self.choice.unjudged)
        if self.record.every_step:
            if at_end:
                self.kept.append((stretch.after, doubtful))
            return
        for t in self.record.due(until):
            self.kept.append((self.solved(stretch.at(t)), doubtful))

    def keep(self, moment: Moment, doubtful: float, always: bool = False) -> None:
        """Record the present moment when every step is recorded, or when it is the first or the last one."""
        if self.record.every_step or always or not self.kept:
            if self.kept and self.kept[-1][0].t == moment.t:
                self.kept.pop()
            self.kept.append((moment, doubtful))

    def solved(self, moment: Moment) -> Moment:
        """Return a moment between steps with inputs of its time, and accelerations and multipliers solved for."""
        equations, u = self.sim.equations, moment.u.copy()
        with callback_rights(self.sim, NOTHING, ASKED):
            evaluate_signals(self.system, moment.t, u)
            equations.u = u
            zdd, lam, sd = equations.accelerations(moment.z, moment.zd, moment.R0, moment.s)
        return moment._replace(u=u, zdd=zdd, lam=lam, sd=sd)

    def kinks_unseen(self) -> dict[str, int]:
        """Return the warning of kinks that steps may have missed."""
        return {} if self.extrapolated is None else kinks_unseen(self.system, self.extrapolated.kinks)

    def result(self) -> ControlledResult:
        """Return the Result recorded so far."""
        moments = [moment for moment, _ in self.kept]
        values = {name: np.array([getattr(one, name) for one in moments]) for name in ("t", *OF_STATE)}
        samples = Samples(**values, doubtful=np.array([doubtful for _, doubtful in self.kept]))
        columns = zip(*self.tried, strict=True) if self.tried else ((), (), (), ())
        t, h, error, taken = (np.array(column) for column in columns)
        counts = {HELPED: self.helped, OFF_LOOPS: self.off_loops, ANEW: self.again}
        warnings = started_of(self.sim) | {name: count for name, count in counts.items() if count}
        warnings |= self.events.warnings | self.kinks_unseen()
        tables = self.sim.equations.tables
        self.outcomes = +self.outcomes
        log = StepLog(t, h, error, taken.astype(bool))
        return ControlledResult(self.system, tables, samples, self.outcomes, warnings, log, self.events.occurred)


NOT_ALL = -1  # steps of a batch that an event cut short


def check_method(method: Any, tolerance: Any) -> None:
    """Refuse a method whose error is not estimated: InputError."""
    demand(method, Capability.TOLERANCE, f"tolerance = {tolerance!r}")


def method_options(method: Any, tolerance: float) -> dict[str, Any]:
    """Return the options of a method in a run with a tolerance."""
    if method.extrapolates:
        return {"tol": newton_tolerance(tolerance, method.tol)}
    # the balance of energy keeps a bias of the rates that belongs to one h (METHODS 1.7)
    return {"hold_energy": False, "projection_tol": projection_tol(tolerance, method.projection_tol)}


def run_with_tolerance(
    sim: Any, t_end: float, tolerance: float, when: Any, record: Schedule | None, observers: Any, at_most: int,
    progress: bool, most_steps: int,
) -> Result:  # fmt: skip
    """Run a Simulation with steps that follow ``tolerance``; its own h is that before and after."""
    check_tolerance(tolerance)
    check_method(sim.method, tolerance)
    refuse_bearings(sim.system.bearings, "a run with a tolerance")
    refuse_convex(sim.system.forces, "a run with a tolerance")
    refuse_sets(sim.system, "a run with a tolerance")
    if sim.system.rigid:
        raise InputError("rigid contacts need steps of h; tolerance must be left out")
    events, watching, h = events_of(when), observers_of(observers), sim.h
    method, store = sim.method, sim._store
    store.end_ramps()
    store.check_arrays(sim.state)
    check_end(sim.t, t_end)
    span = t_end - sim.t
    with callback_rights(sim, NOTHING, ASKED):
        jumps = jump_times(sim.system, sim.t, t_end, max(min(h, span), span / most_steps))
    start, again = sim.state.copy(), 0
    with TimeBar(sim.t, t_end, progress) as bar:
        while True:
            times = RecordTimes(record, sim.t, t_end)
            controlled = Controlled(
                sim, t_end, tolerance, events, times, watching, at_most, jumps, bar, most_steps, again
            )
            try:
                sim.change(**method_options(method, tolerance))
                controlled.run()
            except ToleranceError as error:
                if again == MOST_AGAIN or watching or controlled.acted:
                    error.result = controlled.result()  # type: ignore[attr-defined]
                    raise
                store.stand_at(start.copy())
                if sim._controllers is not None:
                    sim._controllers.go_back(sim.t)
                again += 1
                continue
            except BaseException as error:
                if controlled.kept:
                    error.result = controlled.result()  # type: ignore[attr-defined]
                raise
            finally:
                sim.change(method=method)
                store.step_from_here(h)
            return controlled.result()
