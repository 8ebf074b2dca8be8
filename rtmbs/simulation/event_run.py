"""Events of a run with steps of h: the step with an event is taken anew, shorter, up to the event (METHODS 1.34)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rtmbs.errors import InputError
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.methods import Capability, demand
from rtmbs.simulation.access import LOOK, callback_rights
from rtmbs.simulation.dense_output import Moment, Stretch
from rtmbs.simulation.events import Event, EventError, EventHandler, EventInstant, Occurrence, events_of, moment_of
from rtmbs.simulation.impulses import Impact, RigidContacts
from rtmbs.simulation.observers.observer import Observer
from rtmbs.simulation.running import retry, shown_to_all
from rtmbs.simulation.state_store import NO_RAMPS, RampEnds
from rtmbs.state import State

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
