"""Runs: arguments, steps to the end, observers, events, failed steps retried in smaller parts, progress bars.

As long as every observer takes chunks, many steps are one kernel call; otherwise, and for a step that fails, one by
one. A step of h with an event is taken anew, shorter, up to the event (METHODS 1.34).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from rtmbs.errors import (
    HalfTurnError,
    InputError,
    LoopOpenError,
    NotConvergedError,
    NotFiniteError,
    ResultError,
    SingularTangentError,
    StepError,
    shown,
)
from rtmbs.integrators.checks import is_number, one_of, switches, whole
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.integrators.settings import Chunk, chunk_for, first
from rtmbs.methods import Capability, demand
from rtmbs.semirecursive.equations import out_of_range
from rtmbs.simulation.access import ASKED, LOOK, NOTHING, callback_rights
from rtmbs.simulation.dense_output import Moment, Stretch
from rtmbs.simulation.events import Event, EventError, EventHandler, EventInstant, Occurrence, events_of, moment_of
from rtmbs.simulation.impulses import Impact, RigidContacts
from rtmbs.simulation.observers.observer import Observer, Schedule
from rtmbs.simulation.observers.recorder import ChannelRecorder, Recorder
from rtmbs.simulation.options import MOST_HALVINGS
from rtmbs.simulation.state_store import NO_RAMPS, RampEnds
from rtmbs.state import State, check_time
from rtmbs.system.input_slots import not_finite_inputs

FAILURES: dict[Outcome, type[StepError]] = {
    Outcome.NOT_CONVERGED: NotConvergedError,
    Outcome.UNSOLVED: StepError,
    Outcome.SINGULAR_TANGENT: SingularTangentError,
    Outcome.NOT_FINITE: NotFiniteError,
    Outcome.LOOP_OPEN: LoopOpenError,
    Outcome.HALF_TURN: HalfTurnError,
}
SHOWN = 6  # corrections of Newton's iteration in a sentence


def step_error(step: int, report: StepReport, tried: str = "") -> StepError:
    """Return the error that the failed step number ``step`` stands for, with time, reason, history and names.

    ``tried`` says what else was tried.
    """
    what = "culprit" if report.outcome in (Outcome.NOT_FINITE, Outcome.HALF_TURN) else "largest residual at"
    names = f"; {what} {', '.join(report.worst)}" if report.worst else ""
    reason = f"; {report.reason}" if report.reason else ""
    history = f"; scaled corrections: {last_of(report.corrections)}" if report.corrections else ""
    message = f"step {step} to t = {report.t:g} s: {report.advice}{reason}{names}{history}{tried}"
    return FAILURES[report.outcome](
        message,
        step=step,
        t=report.t,
        residuals=report.corrections,
        worst=report.worst,
        reason=report.reason,
    )


def error_of(sim: Any, report: StepReport) -> StepError:
    """Return the error that a failed step of a Simulation stands for, with step, time, history and names."""
    return step_error(sim.state.k + 1, report)


def retry(sim: Any, report: StepReport, on_failure: str, at_most: int) -> StepReport:
    """Retry a failed step in 2, 4, ... parts where ``on_failure`` allows it and it can help, or raise its error."""
    state = sim.state
    spoilt = not_finite_inputs(sim.system, state.u) or out_of_range(sim.system, state, sim.method.penalties_of(state))
    if on_failure == "raise" or report.hopeless or spoilt:
        raise error_of(sim, report)
    return in_parts(sim, report, at_most)


def last_of(corrections: Sequence[float]) -> str:
    """Return the last corrections as text; the error has all of them."""
    shown = ", ".join(f"{size:.2e}" for size in corrections[-SHOWN:])
    return f"..., {shown}" if len(corrections) > SHOWN else shown


WORST = (Outcome.NEAR_SINGULAR, Outcome.UNBALANCED, Outcome.UNPROJECTED, Outcome.UNFINISHED)  # of parts that were taken


def in_parts(sim: Any, report: StepReport, at_most: int) -> StepReport:
    """Take the failed step of ``report`` in 2, 4, ... parts, ``at_most`` times, and go on with h.

    A twin takes the parts, and the Simulation takes over its state by one assignment: whatever raises in between, half
    a step is no step. Returns the report of the whole; raises the StepError of ``report`` when no parts help.
    """
    for halving in range(1, at_most + 1):
        twin = sim._twin()
        twin.h = sim.h / 2**halving
        reports: list[StepReport] = []
        with callback_rights(sim, NOTHING, ASKED):  # the twin shares the equations
            while len(reports) < 2**halving and (not reports or reports[-1].outcome.accepted):
                reports.append(twin.step())
        if reports[-1].outcome.accepted:
            together = joined(reports)
            sim._store.take_over(twin._store)
            return together
    tried = f"; in 2 to {2**at_most} parts it failed too" if at_most else ""
    raise step_error(sim.state.k + 1, report, tried)


def joined(reports: list[StepReport]) -> StepReport:
    """Return the report of a step from those of its parts: sums of counts, most severe outcome, largest violations."""
    outcomes = [report.outcome for report in reports]
    worst = next((outcome for outcome in WORST if outcome in outcomes), outcomes[-1])
    sums = (
        "iterations",
        "tries",
        "shortened",
        "evaluations",
        "jacobians",
        "factorisations",
        "projections",
        "energy_given",
    )
    largest = [name for name in StepReport._fields if "violation" in name]
    return reports[-1]._replace(
        outcome=worst,
        parts=len(reports),
        **{name: sum(getattr(report, name) for report in reports) for name in sums},
        **{name: max(getattr(report, name) for report in reports) for name in largest},
    )


MOST_STEPS = 2.0**53  # beyond it a count of steps is no exact number
MOST_TRIED = 2**31  # steps of a run with a tolerance: what it keeps of each of them needs memory
WATCHING = "an observer"  # in messages
WHOLE = 1e-9  # relative distance from a whole number of steps that is rounding


def check_run(
    progress: bool, on_failure: str, at_most: int, most_steps: int, record: Schedule | None, until: Any
) -> None:
    """Refuse options of a run that are out of range: InputError."""
    switches(progress=progress)
    one_of("on_failure", on_failure, ("raise", "halve"))
    whole("at_most", at_most, 0, MOST_HALVINGS)
    whole("most_steps", most_steps, 1, MOST_TRIED)
    if not (record is None or isinstance(record, Schedule)):
        raise InputError(f"record is {shown(record)}; it must be a schedule such as rtmbs.Every(0.1)")
    if until is not None and not callable(until):
        raise InputError(f"until is {shown(until)}; it must be a function of the Simulation that tells when to end")


def recorded_run(
    sim: Any, t_end: float, observers: Any, progress: bool, on_failure: str, at_most: int, record: Schedule | None,
    channels: Sequence[str] | None, file: str | Path | None, until: Callable[[Any], bool] | None,
    events: Any = None,
) -> Recorder:  # fmt: skip
    """Run to ``t_end`` [s] with steps of h and return the recorder; whatever raises carries the Result so far.

    ``events`` take the steps when there are some: an ``EventRun``.
    """
    watching = observers_of(observers)
    chosen = channels is not None or file is not None
    recorder = ChannelRecorder(record, channels, file) if chosen else Recorder(record)
    recorder.events = events
    sim._store.check_arrays(sim._store.present())
    try:
        run(sim, steps_to(sim, t_end), recorder, watching, progress, on_failure, at_most, until, events)
    except BaseException as error:
        recorder.stop()
        refused = isinstance(error, InputError) and not isinstance(error, ResultError) and events is None
        if recorder.count and not refused:
            error.result = recorder.result()  # type: ignore[attr-defined]
        raise
    return recorder


def steps_to(sim: Any, t_end: float) -> int:
    """Return the whole number of steps of a Simulation to ``t_end`` [s]; InputError names the nearest h otherwise."""
    state = sim._store.present()
    check_time(state, "this state")
    return steps_between(state.t, t_end, state.h)


def run(
    sim: Any,
    steps: int,
    recorder: Recorder,
    observers: Sequence[Observer],
    progress: bool,
    on_failure: str,
    at_most: int,
    until: Callable[[Any], Any] | None = None,
    events: Any = None,
) -> None:
    """Take ``steps`` steps, watched by ``recorder`` and ``observers``; raises StepError when one fails for good.

    Ends behind the first step at whose end ``until`` of the Simulation is true, or at an event that stops.

    Whatever raises, the last sample of the recorder is the present state.
    """
    watching = [recorder, *observers]
    with callback_rights(sim, LOOK, WATCHING):
        for observer in watching:
            observer.begin(sim, steps)
    single = until is not None or events is not None
    in_chunks = not single and sim._store.takes_chunks and all(observer.takes_chunks for observer in watching)
    chunk = chunk_for(sim._store.present(), steps) if in_chunks else None
    # No bar at all when none is asked for: an interrupt inside tqdm may keep the lock that all bars share.
    with progress_bar(steps, "step") if progress else nullcontext() as bar:
        while steps > 0:
            ahead = steps if sim._controllers is None else steps_to_controllers(sim, steps, single)
            done, failed = take_chunk(sim, watching, first(chunk, ahead)) if chunk is not None else (0, True)
            if events is not None:
                if events.take_step(watching):
                    recorder.record_end(sim)
                    break
            elif failed:
                take_step(sim, watching, on_failure, at_most)
            steps -= done + failed
            if until is not None and is_end(until, sim):
                break
            if bar is not None:
                bar.update(done + failed)
    with callback_rights(sim, LOOK, WATCHING):
        for observer in watching:
            observer.end(sim)


def steps_to_controllers(sim: Any, steps: int, single: bool) -> int:
    """Let the controllers that are due act; return how many steps, at most ``steps``, there are to the next ones."""
    if single:
        return steps  # each step, or each part of one, lets them act
    sim._controllers.act(sim)
    return int(sim._controllers.free_steps(sim._store.present(), steps))


def is_end(until: Callable[[Any], Any], sim: Any) -> bool:
    """Return whether a run is to end here; InputError when ``until`` raises or answers neither true nor false."""
    what = f"until at t = {sim.state.t:g} s"
    try:
        with callback_rights(sim, LOOK, "until"):
            answer = until(sim)
    except Exception as error:
        raise InputError(f"{what} raised {type(error).__name__}: {error}") from error
    if not isinstance(answer, bool | np.bool_):
        raise InputError(f"{what} returned {shown(answer)}; it must return True or False")
    return bool(answer)


def take_chunk(sim: Any, watching: Sequence[Observer], chunk: Chunk) -> tuple[int, bool]:
    """Take steps in one kernel call; returns (steps taken, whether the next one failed)."""
    state = sim._store.states[0]  # its time, which no input changes
    t_ref, k, h = state.t_ref, state.k, state.h
    ahead = t_ref + np.arange(k + 1, k + len(chunk.stats) + 1, dtype=np.float64) * h
    looked = np.any([observer.schedule.due_ahead(ahead) for observer in watching], axis=0)
    with shown_to_all(sim, watching) as show:
        done, failed = sim._take_chunk(chunk, ~looked)
        if done:
            t, seen = ahead[:done], first(chunk, done)
            show(lambda observer: observer.observe_chunk(sim, t, seen))
    return done, failed


def take_step(sim: Any, watching: Sequence[Observer], on_failure: str, at_most: int) -> None:
    """Take one step; take it in parts when it fails and ``on_failure`` allows that."""
    with shown_to_all(sim, watching) as show:
        report = sim.step()
        if not report.outcome.accepted:
            report = retry(sim, report, on_failure, at_most)
        show(lambda observer: observer.observe(sim, report))


@contextmanager
def shown_to_all(sim: Any, watching: Sequence[Observer]) -> Iterator[Callable[[Callable[[Observer], None]], None]]:
    """Steps taken inside and shown by what this yields are shown to every observer, or to none and then taken back.

    An interrupt before the recorder, the first of them, has the steps takes them back. After that the observers behind
    the one that was interrupted see them before it goes on its way: no record has a hole. The interrupted one may have
    seen half.
    """
    store, waiting = sim._store, list(watching)
    mark, owner = store.mark(), store._claim.owner
    acts: list[Callable[[Observer], None]] = []

    def show(act: Callable[[Observer], None]) -> None:
        acts.append(act)
        with callback_rights(sim, LOOK, WATCHING):
            while waiting:
                act(waiting[0])
                del waiting[0]

    try:
        yield show
    except BaseException:
        store._claim.owner = owner  # an exception at the very end of a step may have left that of the step
        recorder = watching[0]
        assert isinstance(recorder, Recorder)
        if recorder.time != sim.state.t:
            store.back_to(mark)
        else:
            with callback_rights(sim, LOOK, WATCHING):
                for observer in waiting[1 if waiting and waiting[0] is not recorder else 0 :]:
                    if observer is not recorder and acts:
                        acts[0](observer)
        raise


def check_end(t: float, t_end: float) -> None:
    """Refuse an end that is no time behind ``t`` [s]: InputError."""
    if not is_number(t_end):
        raise InputError(f"t_end is {shown(t_end)}; it must be a time in seconds")
    if not t_end > t:
        raise InputError(f"t_end = {t_end!r} does not lie behind the present t = {t:g} s; give a later time")


def steps_between(t: float, t_end: float, h: float) -> int:
    """Return the whole number of steps of ``h`` between two times [s]; InputError names the nearest h otherwise."""
    if not is_number(t_end):
        raise InputError(f"t_end is {shown(t_end)}; it must be a time in seconds")
    span = t_end - t
    if span < -WHOLE * h:
        raise InputError(f"t_end = {t_end!r} lies before the present t = {t:g} s; give a later time")
    if span / h > MOST_STEPS:
        raise InputError(f"t_end = {t_end!r} lies {span / h:.3g} steps of h = {h!r} s ahead; take an earlier t_end")
    steps = round(span / h)
    if abs(span / h - steps) > WHOLE * max(steps, 1):
        raise InputError(
            f"t_end = {t_end:g} s is no whole number of steps of h = {h!r} s; h = {float(span / max(steps, 1))!r} fits"
        )
    return steps


def observers_of(observers: Any) -> list[Observer]:
    """Return what watches a run as a list; InputError for anything that cannot watch."""
    try:
        listed = list(observers) if isinstance(observers, Iterable) and not isinstance(observers, str) else [observers]
    except TypeError:  # an array of no dimensions
        listed = [observers]
    for one in listed:
        if not all(callable(getattr(one, name, None)) for name in ("begin", "observe", "end")):
            raise InputError(
                f"observers hold {shown(one)}; each must be an observer, such as rtmbs.EnergyMeter(), in a list"
            )
    return listed


def progress_bar(total: float, unit: str) -> Any:
    """Return a bar of tqdm: a widget in a notebook, a line in a terminal, nothing where the output is no terminal."""
    from tqdm.auto import tqdm  # it looks for a notebook, which takes a while

    return tqdm(total=total, disable=None, unit=unit)


class TimeBar:
    """A bar from ``t`` to ``t_end`` [s] that never goes back: a run that begins anew shows nothing until it is farther.

    There is no bar at all unless ``progress``: an interrupt inside tqdm may keep the lock that all bars share.
    """

    def __init__(self, t: float, t_end: float, progress: bool) -> None:
        self.farthest = t
        self.bar: Any = progress_bar(t_end - t, "s") if progress else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.close()

    def show(self, t: float) -> None:
        """Show that the run is at ``t`` [s]."""
        if self.bar is not None and t > self.farthest:
            self.bar.update(t - self.farthest)
            self.farthest = t


EVENT_FUNCTION = "an event function"
MOST_INSTANTS = 1000  # of one step
SHORTEST = 1e-6  # of h: a part below it is crossed by Taylor's series, where a step would be left to rounding
SAME_INSTANT = 1e-9  # of h: zeros of shorter steps so near to each other have one instant; Newton tells no more


class Grid(NamedTuple):
    """A step of the run from one time of its grid to the next."""

    t_ref: float  # [s]
    k: int  # number of its end
    h: float  # [s]

    @property
    def end(self) -> float:
        """Time of its end [s]."""
        return self.t_ref + self.k * self.h


class ShorterSteps:
    """Steps of the method from the beginning of a step that is already taken, each up to a time within it.

    A twin of the Simulation takes them. Accelerations and multipliers are solved for at their ends. A part below
    SHORTEST is crossed by Taylor's series of positions and rates.
    """

    def __init__(self, run: "EventRun", start: State, grid: Grid) -> None:
        self.run, self.start, self.grid = run, start, grid
        self.before, self.after = moment_of(start), moment_of(run.sim._store.states[0])
        self.h = self.after.t - self.before.t
        self.twin: Any = None
        self.known: dict[float, tuple[State, StepReport]] = {}

    def at(self, t: float) -> Moment:
        """Return the moment at a time [s] within the step."""
        return self.after if t == self.after.t else moment_of(self.to(t)[0])

    def to(self, t: float) -> tuple[State, StepReport]:
        """Return the state at a time [s] within the step, and the report of the step to it. Raises StepError."""
        if t not in self.known:
            self.known[t] = self.taken(t)
        return self.known[t]

    def taken(self, t: float) -> tuple[State, StepReport]:
        """Take the step to a time [s]; the equations are left with the inputs of the Simulation."""
        run, start, part = self.run, self.start, t - self.start.t
        if self.twin is None:
            self.twin = run.sim._twin()
        store = self.twin._store
        try:
            if part < SHORTEST * self.grid.h:
                report = StepReport(Outcome.CONVERGED, t)
                store.stand_at(start.copy())
                store.move_by_rates(t)
            else:
                store.restart(start.copy(), start.t, 0, part, run.part_of_ramps(start, t, self.grid))
                report = run.step(self.twin)
                state = self.twin.snapshot()
                state.h = self.grid.h
                store.go_on_from(state, t)
        finally:
            run.sim.equations.u = run.sim._store.states[0].u
        return self.twin.snapshot(), report


class EventRun:
    """Steps of a run with events, from one time of its grid to the next; the times of events lie between them."""

    def __init__(self, sim: Any, when: Any, on_failure: str, at_most: int) -> None:
        demand(sim.method, Capability.EVENTS, "a run with events or rigid contacts")
        self.contacts = RigidContacts(sim.system) if sim.system.rigid else None
        sim._store.watched = True
        if self.contacts is not None:
            self.contacts.begin(sim)
        self.sim, self.on_failure, self.at_most = sim, on_failure, at_most
        self.dofs = sim.system.tables.dofs
        self.ramps: RampEnds = NO_RAMPS  # inputs at the end of the step of the grid, as far as they move along it
        with callback_rights(sim, LOOK, EVENT_FUNCTION):
            now = moment_of(sim._store.present())
            self.handler = EventHandler(self.events_of(when), sim.system, sim.equations.tables, now)

    def events_of(self, when: Any) -> list[Event]:
        """Return the events of the user and those of rigid contacts."""
        return [*events_of(when), *([] if self.contacts is None else self.contacts.events())]

    @property
    def impacts(self) -> tuple[Impact, ...]:
        """Impacts of rigid contacts so far, in their order."""
        return () if self.contacts is None else tuple(self.contacts.found)

    @property
    def occurred(self) -> list[Occurrence]:
        """Events so far, in their order."""
        return self.handler.occurred

    @property
    def warnings(self) -> dict[str, int]:
        """Events of the user that never happened."""
        contacts = set() if self.contacts is None else set(self.contacts.never())
        return {one: count for one, count in self.handler.warnings.items() if one not in contacts}

    def take_step(self, watching: Sequence[Observer]) -> bool:
        """Go to the next time of the grid, from event to event; True when one of them ends the run."""
        store = self.sim._store
        state = store.present()
        grid = Grid(state.t_ref, state.k + 1, state.h)
        self.ramps = store.ramps
        for _ in range(MOST_INSTANTS):
            mark = store.mark()
            try:
                stops, at_end = self.take_part(grid, watching)
            except BaseException:
                if store.states[0].h != grid.h:  # a shorter step was about to be taken
                    store.back_to(mark)
                store.restart_method()
                raise
            if stops or at_end:
                return stops
        last = self.occurred[-1]
        raise EventError(
            f"event {last.event.called!r}: more than {MOST_INSTANTS} instants with events within one step of "
            f"{grid.h:g} s, the last one at t = {last.t:.9g} s; let its action leave the function away from zero, or "
            "take a smaller h",
            t=last.t,
            events=[last.event.called],
        )

    def take_part(self, grid: Grid, watching: Sequence[Observer]) -> tuple[bool, bool]:
        """Go to the next event, or to the end of a step of the grid; returns (the run ends, the step has ended)."""
        sim = self.sim
        if sim._controllers is not None and self.let_controllers_act(grid):
            return True, False
        with shown_to_all(sim, watching) as show:
            start = sim.snapshot()
            end = self.end_of_part(grid)
            report = self.step_to(start, grid, end)
            if self.is_quiet(start):
                show(lambda observer: observer.observe(sim, report))
                return False, end == grid.end
            parts = ShorterSteps(self, start, grid)
            stretch = Stretch(self.dofs, parts.before, parts.after)
            with callback_rights(sim, LOOK, EVENT_FUNCTION):
                instant = self.handler.look(stretch, parts, SAME_INSTANT * grid.h)
            if instant is None:
                show(lambda observer: observer.observe(sim, report))
                return False, end == grid.end
            at_end = parts.after.t - instant.t <= SAME_INSTANT * grid.h
            if at_end:
                instant = instant._replace(t=parts.after.t)
            else:
                state, report = parts.to(instant.t)
                sim._store.stand_at(state.copy())
                sim._store.restart_method()
            try:
                stops = self.act(instant, grid)
            finally:
                show(lambda observer: observer.observe(sim, report))
            return stops, at_end and end == grid.end

    def is_quiet(self, start: State) -> bool:
        """Return whether no event of a rigid contact can lie in the step from ``start``; no user has events then."""
        monitors = self.handler.monitors
        if self.contacts is None or len(monitors) != len(self.contacts.names):
            return False
        if any(one.at_zero or one.expected or one.rests for one in monitors):
            return False
        values = self.contacts.quiet_values(start, self.sim._store.states[0])
        if values is None:
            return False
        for monitor, value in zip(monitors, values.tolist(), strict=True):
            monitor.last = value
        return True

    def let_controllers_act(self, grid: Grid) -> bool:
        """Let the controllers that are due act, and events whose functions an input moves; True when the run ends."""
        sim = self.sim
        sim._controllers.act(sim)
        if not self.handler.monitors:
            return False
        with callback_rights(sim, LOOK, EVENT_FUNCTION):
            instant = self.handler.events_of_jump(moment_of(sim._store.present()))
        return bool(instant.due) and self.act(instant, grid)

    def end_of_part(self, grid: Grid) -> float:
        """Return the end of a step of the grid [s], or the time before it at which a controller acts."""
        if self.sim._controllers is None:
            return grid.end
        acts: float = self.sim._controllers.next_time()
        return acts if acts < grid.end - SAME_INSTANT * grid.h else grid.end

    def act(self, instant: EventInstant, grid: Grid) -> bool:
        """Run the events of the present instant; True when the run ends."""
        sim, store = self.sim, self.sim._store
        with callback_rights(sim, LOOK, EVENT_FUNCTION):
            self.handler.take_values(moment_of(store.states[0]), instant)
            vars(store)["ramps"] = self.ramps
            stops = self.handler.act(sim, instant, grid.h)
        self.ramps = store.ramps
        if (other := sim.h) != grid.h:
            sim.h = grid.h
            raise InputError(
                f"an event at t = {instant.t:g} s: its action changed the step from {grid.h:g} s to {other:g} s; the "
                "run goes on with its own, so change h before it or after it"
            )
        return stops

    def step_to(self, start: State, grid: Grid, t: float) -> StepReport:
        """Take a step to ``t`` [s], the end of a step of the grid or a time before it. Raises StepError."""
        sim, store = self.sim, self.sim._store
        if (start.t_ref, start.k + 1) == grid[:2] and t == grid.end:
            return self.step(sim)
        part = t - start.t
        if part < SHORTEST * grid.h:
            report = StepReport(Outcome.CONVERGED, t)
            store.move_by_rates(t)
        else:
            store.restart(start.copy(), start.t, 0, part, self.part_of_ramps(start, t, grid))
            report = self.step(sim)
        if t == grid.end:
            store.restart(sim.snapshot(), *grid)
        else:
            state = sim.snapshot()
            state.h = grid.h
            store.go_on_from(state, t)
        return report

    def step(self, sim: Any) -> StepReport:
        """Take a step, in parts when it fails. Raises StepError."""
        report: StepReport = sim.step()
        return report if report.outcome.accepted else retry(sim, report, self.on_failure, self.at_most)

    def part_of_ramps(self, start: State, t: float, grid: Grid) -> RampEnds:
        """Return the inputs at ``t`` [s] that move to their values at the end of a step of the grid."""
        share = (t - start.t) / (grid.end - start.t)
        return {
            slot: (place, (1.0 - share) * start.u[place] + share * end) for slot, (place, end) in self.ramps.items()
        }
