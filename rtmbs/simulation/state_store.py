"""States of a Simulation with equations and options, and every change between two steps."""

import copy
import math
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from operator import is_
from pathlib import Path
from threading import get_ident
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import LONGEST, SHORTEST
from rtmbs.errors import StartError
from rtmbs.integrators.checks import one_of, step_size
from rtmbs.integrators.contract import Method
from rtmbs.integrators.report import StepReport
from rtmbs.jit.compile_progress import announced
from rtmbs.methods import Capability, demand
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.sources import make_source
from rtmbs.semirecursive.start.checks import check_closed
from rtmbs.simulation import renewed_forces
from rtmbs.simulation.access import CHANGE, LOOK, Callback, Claim, check_access, guarded
from rtmbs.simulation.impulses import apply_impulse, lock_of, set_lock, set_rate
from rtmbs.simulation.inputs import point_of
from rtmbs.simulation.options import Options
from rtmbs.simulation.prepared_step import MOVING, SET, PreparedStep, prepared_pair
from rtmbs.simulation.set_coordinate import check_written_positions, drag_body, rest_at, set_motion
from rtmbs.state import MOTION, Before, State, check_time, copied, kernel_arrays, motion_arrays, remembered, state_pair
from rtmbs.system.input_slots import evaluate_signals, in_range
from rtmbs.system.law_tables import attach_law
from rtmbs.system.system import System
from rtmbs.system.tables import ROTATION

Array = NDArray[np.float64]

RampEnds = dict[int, tuple[slice, Array]]  # inputs at the end of the next step, by first slot
Mark = tuple[tuple[State, State], RampEnds, Array | None]

CALM, LONG = 3, 1000  # steps by hand in a row, before their arguments are prepared; and where that was refused
INPUTS = "inputs[...] ="  # the call that the user makes
NO_RAMPS: RampEnds = {}  # never written to
AFTER: dict[str, Any] = {"begun": None, "ramps": NO_RAMPS}  # what a step by hand leaves, beside its States
CONSISTENT = ("nearest", "impulse")  # ways in which the other rates follow one that is set
MOST_COUNTED = 2**53  # steps: beyond it a count is no exact number


class StateStore:
    """The current State of a System, the one that the next step writes, and what steps need besides.

    Attributes that must agree change by one call of ``update``: an interrupt comes before it or after it.
    """

    system: System
    equations: SemiRecursiveEquations
    options: Options
    states: tuple[State, State]  # the current one, and the one that the next step writes
    memory_shapes: dict[str, tuple[int, ...]]  # of what the method remembers
    work: Any  # scratch of the method
    ramps: RampEnds
    begun: Array | None  # (nu,) inputs that the accelerations are those of; None: those of the current State
    started: Array  # (n,) accelerations that the last step began with
    shown: tuple[object, ...] | None  # the motion of the current State when it was first given out since the last step
    compiled: bool  # a step was taken with this method
    loads: renewed_forces.BearingLoads | None  # of frictions that follow their joints
    renewed: tuple[renewed_forces.RenewedContacts, ...]  # before every step
    watched: bool  # rigid contacts, if there are any, are looked at by a run with events
    prepared: PreparedStep | None  # arguments of the next step, where steps by hand follow each other
    calm: int  # steps by hand since the State was given out, or replaced
    checked: list[tuple[Any, ...]]  # arrays of states that kernels can take: their identity stands for a check
    by_hand_loaded: ClassVar[bool] = False  # this process has the kernel of steps by hand

    def __init__(self, equations: SemiRecursiveEquations, options: Options, state: State) -> None:
        self._claim = Claim()
        self.system, self.equations, self.options = equations.system, equations, options
        self.memory_shapes = {name: values.shape for name, values in state.memory.items()}
        self.work = options.method.start(equations, state)
        self.states = state_pair(state)
        self.ramps, self.begun, self.started, self.shown = NO_RAMPS, None, state.zdd, None
        self.compiled, self.checked, self.prepared, self.calm = False, [], None, 0
        self.watched = True
        self.loads = renewed_forces.BearingLoads(self.system) if self.system.bearings else None
        self.renewed = renewed_forces.renewed_contacts_of(self.system, options.method)
        renewed_forces.renew_contacts(self, begun=False)
        if self.loads is not None:
            self.solve_accelerations(self.states[0])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "checked": [], "prepared": None, "calm": 0}

    # ---- the current state ------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The current State; the next step notices what is written into it."""
        state = self.present()
        if self.shown is None:
            state.given = state.basis()
            self.shown = state.given[:MOTION]
        return state

    @property
    def h(self) -> float:
        """Step [s]."""
        return self.states[0].h

    def snapshot(self, take: Callable[[State], Any] = copied) -> Any:
        """Return a copy of the current State; ``take`` copies one that was not given out."""
        state = self.present()
        if self.shown is not None:
            return state.copy()
        whole = take is copied or state.before is not None
        taken = copied(state) if whole else take(state)
        if whole:
            taken.given = taken.basis()
        return taken

    def present(self) -> State:
        """Return the current State, its accelerations those of its inputs; BusyError within a call of a step."""
        owner = self._claim.owner
        if owner is not None and (owner == ~get_ident() or isinstance(owner, Callback)):  # another thread may look
            check_access(self._claim, owner, LOOK, "state")
        if self.begun is not None:
            self._update_accelerations()
        return self.states[0]

    def settled(self) -> State:
        """Return what ``present`` does, for methods that hold the claim already."""
        if self.begun is not None:
            self.follow_inputs()
        return self.states[0]

    def notice(self, state: State) -> None:
        """Let accelerations follow where another motion was written into the State; StateError for open loops."""
        if self.shown is None or self.shown == state.motion():
            return
        self.check_arrays(state)  # a list of the same numbers moves nothing
        now = state.motion()
        if self.shown == now:
            return
        self.begun = None
        self.equations.u = state.u
        if all(in_range(values) for values in (state.z, state.zd, state.s, state.R0)):  # else the step refuses
            if now[0] != self.shown[0]:
                check_written_positions(self.equations, state, self.shown[0])
            self.options.method.moved(self.equations, state)
            self.solve_accelerations(state)
            self.shown = now
        else:
            self.options.method.moved(self.equations, state)
            state.before = None

    @guarded(LOOK, "state")
    def _update_accelerations(self) -> None:
        self.follow_inputs()

    def follow_inputs(self) -> None:
        """Solve for the accelerations and multipliers that belong to changed inputs, for who looks at them.

        Positions, rates and balances stay, and what accelerations were stands in ``before``: the next step begins with
        that, whether somebody looked or not. Inputs too large leave accelerations as they are: the step will say
        NOT_FINITE. Loads of bearings are solved for with them, and stay; so does everything behind another System.
        """
        state = self.states[0]
        if self.loads is not None or (self.begun is not None and not np.all(np.isfinite(self.begun))):
            self.solve_accelerations(state)
        else:
            if state.before is None:
                assert self.begun is not None
                state.before = Before(self.begun.copy(), state.zdd.copy(), state.lam.copy(), state.sd.copy())
            self.equations.u = state.u
            if not self.options.method.pushed(self.equations, self.work, state, seen=True):
                self._take_accelerations(state)
        if self.shown is not None:
            state.given = state.basis()
        self.begun = None

    def solve_accelerations(self, state: State) -> None:
        """Solve for the accelerations and multipliers of ``state`` in place, for a step that begins with it."""
        self.equations.u, state.before = state.u, None
        if self.loads is not None:
            self._solve_loaded(self.loads, state)
        elif not self.options.method.pushed(self.equations, self.work, state):
            self._take_accelerations(state)

    def start_of(self, state: State) -> tuple[State, Array | None]:
        """Return the current State as the last step left it, but for inputs; and those (nu,) then, if others."""
        before, known = state.before, self.begun
        if before is not None:
            state, known = replace(state, zdd=before.zdd, lam=before.lam, sd=before.sd, before=None), before.u
        return state, None if known is None or np.array_equal(known, state.u) else known

    def settle(self) -> State:
        """Return the current State with accelerations and balances of changed inputs, for steps that ask no more."""
        state = self.states[0]
        if self.shown is not None:
            self.notice(state)
        if self.begun is not None or state.before is not None:
            start, known = self.start_of(state)
            start = start.copy()
            if known is not None:
                self.solve_accelerations(start)
            vars(self).update(states=state_pair(start), begun=None, shown=None)
        return self.states[0]

    def _solve_loaded(self, loads: renewed_forces.BearingLoads, state: State) -> None:
        """Solve for accelerations and loads of bearings that agree."""

        def tried() -> Array:
            self._take_accelerations(state)
            return loads.of(self.equations, state)

        loads.settle(state.u, tried)

    def _take_accelerations(self, state: State) -> None:
        """Write accelerations, multipliers and rates of force states into ``state`` where there are some."""
        if (found := self.accelerations_of(state)) is not None:
            state.zdd[:], state.lam[:], state.sd[:] = found

    def accelerations_of(self, state: State) -> tuple[Array, Array, Array] | None:
        """Return accelerations, multipliers and rates of force states of ``state``; None where there are none."""
        self.equations.u = state.u
        with np.errstate(over="ignore", invalid="ignore"), suppress(StartError):
            found = self.equations.accelerations(state.z, state.zd, state.R0, state.s)
            if all(np.all(np.isfinite(values)) for values in found):
                return found
        return None

    # ---- a step -----------------------------------------------------------------------------------------------------

    def begin_step(self) -> tuple[State, State]:
        """Return the State that the next step begins from and the one that it writes, inputs and memory copied.

        A balance of energy begins anew where a pose was written by hand. Raises StateError for a time that no step
        moves, and for what was written into the State and does not fit.
        """
        old, new = self.states
        if self.begun is not None and self.loads is not None:
            self.follow_inputs()
        if self.shown is not None:
            self.checked = []
            self.notice(old)
            self.shown = old.given = None
        t_ref, k, h = old.t_ref, old.k, old.h
        usual = type(t_ref) is float and type(h) is float and type(k) is int and 0 <= k < MOST_COUNTED
        if not (usual and SHORTEST <= h <= LONGEST and t_ref + k * h < t_ref + (k + 1) * h < math.inf):
            check_time(old, "this state")
        new.t_ref, new.k, new.h, new.before = t_ref, k + 1, h, None
        try:
            new.u[:] = old.u
            for name, values in old.memory.items():
                new.memory[name][:] = values
        except (AttributeError, TypeError, ValueError, KeyError):
            self.check_arrays(old)  # says what they must be
            raise
        return old, new

    def step_by_hand(self, typical: Array) -> tuple[StepReport, bool] | None:
        """Take the next step by one kernel call, with the bytes of ``advance``; None where it is for ``advance``.

        That is so for the first steps of a State, for one that was given out, for one that was looked at with changed
        inputs, and for a step that the kernel does not accept. ``typical`` (n,) are the sizes for the check of stiff
        forces, empty for none. Returns the report, and whether a force looks too stiff.
        """
        states, one, work = self.states, self.prepared, self.work
        old, new = states
        if self.shown is not None or not self.compiled:
            self.prepared, self.calm = None, min(self.calm, 0)
            return None
        if old.before is not None:
            return None
        here = one is not None and (one.pair is states or (one.old is old and one.new is new)) and one.work is work
        if one is None or not here or one.settings is not work.settings or one.tables is not self.equations.tables:
            one = self._prepare(old, new, typical)
        before, k, t_ref, h = old.k, old.k + 1, old.t_ref, old.h
        if one is None or not (k < MOST_COUNTED and t_ref + before * h < t_ref + k * h < math.inf):
            return None
        new.t_ref, new.k, new.h, new.before = t_ref, k, h, None
        begun = self.begun
        if begun is not None and begun is not one.known:
            one.known[:] = begun
        if self.ramps:
            one.target[:] = old.u
            self.reach_ramps(one.target)
        report, stiff = one.take((0 if begun is None else SET) + (MOVING if self.ramps else 0))
        if report is None:
            return None
        if stiff:
            changed = begun is not None and not np.array_equal(begun, old.u)
            self.started = self.equations.ws.begun_zdd if changed else old.zdd
        self.__dict__.update(one.after)  # one call: an interrupt comes before it or after it
        return report, stiff

    def _prepare(self, old: State, new: State, typical: Array) -> PreparedStep | None:
        """Return the arguments of the next step by hand, from the third in a row on."""
        self.calm += 1
        if self.calm < CALM:
            return None
        self.check_arrays(old, new)
        found = prepared_pair(self.options.method, self.equations, self.work, old, new, typical, AFTER)
        if found is None:
            self.calm = -LONG
        else:
            StateStore.by_hand_loaded = True
        return found

    def check_arrays(self, *states: State) -> None:
        """Make the arrays of states what kernels take; StateError where they cannot be.

        Arrays that passed before are not looked at again, until the State is given out: that would take a quarter of a
        small step. The list keeps them alive, so no other array can have their identity.
        """
        for state in states:
            memory = state.memory if isinstance(state.memory, dict) else remembered(state)
            arrays = (*motion_arrays(state), *memory.values(), state.u)
            for known in self.checked:
                if len(known) == len(arrays) and all(map(is_, arrays, known)):
                    break
            else:
                state.validate(self.equations.shapes, self.memory_shapes)
                self.checked = [*self.checked[-1:], kernel_arrays(state)]

    def advance(self, old: State, new: State) -> StepReport:
        """Let the method take a step between two states of the right shapes; loads of bearings follow inside it."""
        self.check_arrays(old, new)
        self.started = old.zdd
        if self.loads is not None:
            return self._advance_loaded(self.loads, old, new)
        if self.begun is None and old.before is None:
            return self._advance(old, new)
        return self._advance_changed(old, new)

    def _advance_changed(self, old: State, new: State) -> StepReport:
        """Take a step behind changed inputs; ``old`` stays.

        Forces may jump with an input; a step that began with the accelerations of the old forces would average the two
        and lose an order of accuracy. The method may answer the jump itself. Otherwise accelerations are solved for.
        """
        start, known = self.start_of(old)
        if known is not None:
            with nullcontext() if self.compiled else announced():
                report = self.options.method.advance_changed(self.equations, self.work, known, start, new)
            if report is not None:
                self.compiled, self.started = True, self.equations.ws.begun_zdd
                return report
            start = start.copy()
            self.solve_accelerations(start)
            for name, values in start.memory.items():
                new.memory[name][:] = values
        self.started = start.zdd
        return self._advance(start, new)

    def _advance_loaded(self, loads: renewed_forces.BearingLoads, old: State, new: State) -> StepReport:
        """Take the step until the loads at its end are those of its reactions."""
        report = None

        def tried() -> Array | None:
            nonlocal report
            for name, values in old.memory.items():
                new.memory[name][:] = values
            report = self._advance(old, new)
            return loads.of(self.equations, new) if report.outcome.accepted else None

        settled = loads.settle(new.u, tried)
        assert report is not None
        return report if settled else renewed_forces.unsettled(report, loads)

    def _advance(self, old: State, new: State) -> StepReport:
        """Let the method take a step."""
        if self.compiled:
            return self.options.method.advance(self.equations, self.work, old, new)
        with announced():
            report = self.options.method.advance(self.equations, self.work, old, new)
        self.compiled = True
        return report

    def reach_ramps(self, u: Array) -> None:
        """Write the inputs that end a ramp at the end of the next step to ``u`` (nu,) or (k, nu)."""
        for place, numbers in self.ramps.values():
            u[..., place] = numbers

    @property
    def takes_chunks(self) -> bool:
        """True when many steps fit in one kernel call: the fused step."""
        return not (self.loads or self.renewed) and self.options.method.takes_many(self.equations)

    def mark(self) -> Mark:
        """Return what ``back_to`` goes back to, as long as one step or one call for many steps came in between."""
        return self.states, self.ramps, self.begun

    def back_to(self, mark: Mark) -> None:
        """Take back the steps since ``mark``: they wrote the spare state only."""
        states, ramps, begun = mark
        vars(self).update(states=states, ramps=ramps, begun=begun, shown=None)

    def stand_at(self, state: State) -> None:
        """Go on from a State of one's own with the memory and the accelerations that stand in it."""
        self.back_to(((state, state.copy()), NO_RAMPS, None))

    # ---- inputs -----------------------------------------------------------------------------------------------------

    def read_input(self, place: slice) -> Array:
        """Return the numbers of one input."""
        return self.ramps[place.start][1] if place.start in self.ramps else self.states[0].u[place]

    @guarded(CHANGE, INPUTS)
    def write_input(self, place: slice, numbers: Array) -> None:
        """Change one input of the current State; its accelerations follow before they are read."""
        u, own, ramps = self.states[0].u, self.__dict__, self._ramps_without(place.start)
        if np.array_equal(u[place], numbers):
            own["ramps"] = ramps
        else:  # one statement without calls: an interrupt comes before it or after it
            own["begun"], u[place], own["ramps"] = self._inputs_before(), numbers + 0.0, ramps  # no -0.0

    @guarded(CHANGE, INPUTS)
    def write_number(self, slot: int, number: float) -> None:
        """Change an input of one number, as ``write_input`` does."""
        u, own, ramps = self.states[0].u, self.__dict__, self._ramps_without(slot) if self.ramps else NO_RAMPS
        if u.item(slot) != number:
            own["begun"], u[slot], own["ramps"] = self._inputs_before(), number + 0.0, ramps  # as in ``write_input``
        else:
            own["ramps"] = ramps

    def _inputs_before(self) -> Array:
        """Return the inputs (nu,) that the accelerations are those of, before the first one changes.

        They stand in the arguments of the next step where these are prepared. No other step writes there.
        """
        if self.begun is not None:
            return self.begun
        state, one = self.states[0], self.prepared
        if state.before is not None:
            return state.before.u
        if one is None or one.old is not state or one.u is not state.u:
            return state.u.copy()
        one.known_memory[:] = one.u_memory  # a quarter of the time of arrays
        return one.known

    @guarded(CHANGE, INPUTS)
    def ramp_inputs(self, ends: RampEnds) -> None:
        """Let inputs be these numbers at the end of the next step; the current State stays.

        A balance of energy begins anew, as it is none in loops with functions of time: potentials do not tell the work.
        Raises InputError with a method without ramps.
        """
        demand(self.options.method, Capability.RAMPS, "an input that moves along a step")
        state, own, ramps = self.states[0], self.__dict__, {**self.ramps, **ends}
        ended = self.options.method.ended_by_ramps(state)
        moves = (state.u[place].tolist() != numbers.tolist() for place, numbers in ends.values())  # a quarter of arrays
        if ended is not None and any(moves):
            ended[:], own["ramps"] = 0.0, ramps  # one statement, as in ``write_input``
        else:
            own["ramps"] = ramps

    @guarded(CHANGE, INPUTS)
    def gap_by_input(self, place: slice, numbers: Array) -> tuple[str, float, float]:
        """Return the equation that an input opens most, its violation over its size, and the largest one of now."""
        state, equations = self.states[0], self.equations
        gaps = []
        try:
            for values in (state.u[place].copy(), numbers):
                equations.u = state.u.copy()
                equations.u[place] = values
                gaps.append(np.abs(equations.close(state.z, state.R0)) / equations.sizes.scale)
        finally:
            equations.u = state.u
        worst = int(np.argmax(gaps[1]))
        return equations.system.row_names[worst], float(gaps[1][worst]), float(gaps[0].max())

    def check_change(self, called: str) -> None:
        """Refuse a change of inputs where a function of the user may not make it: BusyError."""
        owner = self._claim.owner
        if owner is not None and owner != get_ident():
            check_access(self._claim, owner, CHANGE, called)

    def end_ramps(self) -> None:
        """Let the ends of ramps be inputs of the present."""
        for place, numbers in list(self.ramps.values()):
            self.write_input(place, numbers)  # which ends the ramp

    def _ramps_without(self, slot: int) -> RampEnds:
        """Return the inputs at the end of the next step, without one of them."""
        ramps = self.ramps
        return {other: ramp for other, ramp in ramps.items() if other != slot} if slot in ramps else ramps

    # ---- changes between steps --------------------------------------------------------------------------------------

    @guarded(CHANGE)
    def attach(self, force: str, body: str, point: Any) -> None:
        """Let a force law that acts on one body act on ``body`` at ``point`` (3,) in body axes [m] from now on."""
        system = attach_law(self.system, force, body, point_of(point))
        equations = copy.copy(self.equations)
        equations.replace_system(system)
        equations.source = make_source(self.options.jacobian, system)
        work = self.options.method.start(equations, self.states[0])
        begun = np.full_like(self.states[0].u, np.nan)  # those of another System, also if this is interrupted
        self.states[0].before = None
        vars(self).update(system=system, equations=equations, work=work, begun=begun)
        self.follow_inputs()

    @guarded(CHANGE, "h =")
    def set_step(self, h: float) -> None:
        """Change the step [s], and with it the penalty factors."""
        step_size(h)
        state = self.settled().copy()
        state.t_ref, state.k, state.h = state.t, 0, float(h)
        state.memory = self._memory_after(state, h)
        self._restore(state, "this state", self.ramps)

    @guarded(CHANGE)
    def change(self, **options: Any) -> None:
        """Change options; time, positions and rates stay. A failure changes nothing."""
        old, wanted = self.options, self.options.changed(options)
        renewed_forces.check_renewed(self.system, wanted.method)
        state, equations = self.settled().copy(), copy.copy(self.equations)
        if not isinstance(wanted.jacobian, str) or wanted.jacobian != old.jacobian:
            equations.source = make_source(wanted.jacobian, self.system)
        equations.threads = int(wanted.threads)
        if wanted.method != old.method:
            self._change_method(wanted.method, old.method, equations, state)
        work = wanted.method.start(equations, state)
        shapes = {name: values.shape for name, values in state.memory.items()}
        states = state_pair(state)
        vars(self).update(
            options=wanted, equations=equations, work=work, memory_shapes=shapes, states=states, compiled=False
        )

    def _change_method(self, method: Method, old: Method, equations: SemiRecursiveEquations, state: State) -> None:
        """Let ``state.memory`` be that of another method, or of another choice of options."""
        equations.u = state.u
        fresh = method.remember(equations, state.h)
        if type(method) is type(old):
            state.memory = fresh | method.carried(state, old)
        else:
            start, known = self.start_of(state)
            if known is None:  # inputs are what they were: so are accelerations, whether somebody looked or not
                state.zdd, state.lam, state.sd = start.zdd.copy(), start.lam.copy(), start.sd.copy()
            state.memory, state.before = fresh, None
            method.begin(equations, state)

    def _memory_after(self, state: State, h: float) -> dict[str, Array]:
        """Return the memory of the method for steps of ``h`` [s] from ``state``, whose balance of energy goes on."""
        method = self.options.method
        return method.remember(self.equations, h) | method.carried(state)

    @guarded(CHANGE)
    def restore(self, state: State | str | Path) -> None:
        """Go on from a State, or from a state file; StateError when it cannot, as that of another model."""
        what = "this state" if isinstance(state, State) else f"state file {str(state)!r}"
        taken = state.copy() if isinstance(state, State) else State.load(state)
        self._restore(taken, f"{what} for model {self.system.name!r}", {})

    def _restore(self, taken: State, what: str, ramps: RampEnds) -> None:
        """Go on from a State of one's own, with these ends of ramps; StateError when it cannot."""
        memory = {name: np.zeros(shape) for name, shape in self.memory_shapes.items()}
        taken.check_fit(replace(self.states[0], memory=memory), what)
        self.options.method.check(taken, what)
        check_closed(self.equations, taken, what)
        if np.any(taken.z[self.system.tables.dofs.kind == ROTATION]):
            self.equations.commit(taken)  # a step begins with these at zero
        self._moved(taken)
        if taken.outdated:
            evaluate_signals(self.system, taken.t, taken.u)
            self.solve_accelerations(taken)
        work = self.options.method.start(self.equations, taken)
        vars(self).update(work=work, states=state_pair(taken), begun=None, ramps=ramps, shown=None)

    def _moved(self, state: State) -> None:
        """Let another balance begin where a motion is not that of the balance, by the inputs that it is of."""
        self.equations.u = state.u if state.before is None else state.before.u
        self.options.method.moved(self.equations, state)
        self.equations.u = state.u

    @guarded(CHANGE)
    def set(self, name: str, value: float, consistent: str) -> None:
        """Set a joint coordinate, or a rate, by name; all others become consistent. A failure changes nothing."""
        one_of("consistent", consistent, CONSISTENT)
        state = self.settled().copy()
        if (lock := lock_of(self.system, name)) is not None:
            set_lock(self.equations, state, lock, value)
            self._go_on_from(state, state.t)
            return
        (set_rate if consistent == "impulse" else set_motion)(self.equations, state, name, value)
        self._go_on_from(state, state.t)

    @guarded(CHANGE)
    def drag(self, body: str, point: Any, target: Any) -> float:
        """Move a body by a point, loops kept and at rest; return the distance [m] left. A failure changes nothing."""
        state = self.settled().copy()
        left = drag_body(self.equations, state, body, point, target)
        self._go_on_from(state, state.t)
        return left

    @guarded(CHANGE)
    def place(self, state: State) -> None:
        """Go on from the positions of a State at rest, which is taken over; what drivers move keeps its rate."""
        rest_at(self.equations, state)
        self._go_on_from(state, state.t)

    @guarded(CHANGE)
    def apply_impulse(self, target: str, impulse: Any, point: Any, moment: Any) -> None:
        """Change the rates by an impulse on a body or a coordinate. A failure changes nothing."""
        state = self.settled().copy()
        apply_impulse(self.equations, state, target, impulse, point, moment)
        self._go_on_from(state, state.t)

    @guarded(CHANGE)
    def step_from_here(self, h: float) -> None:
        """Let the next steps be of ``h`` [s], counted from the present time; loops are not looked at again."""
        self.settle()
        if h == self.states[0].h and self.states[0].k == 0:
            return
        state = self.begin_step()[0].copy()
        state.t_ref, state.k, state.h = state.t, 0, float(h)
        state.memory = self._memory_after(state, h)
        work = self.options.method.start(self.equations, state)
        vars(self).update(work=work, states=state_pair(state))

    @guarded(CHANGE)
    def restart(self, state: State, t_ref: float, k: int, h: float, ramps: RampEnds = NO_RAMPS) -> None:
        """Go on from a State of one's own, at ``t_ref + k h`` [s], by steps of ``h`` [s]; a history begins anew."""
        state.t_ref, state.k, state.h = t_ref, k, h
        state.memory = self._memory_after(state, h)
        work = self.options.method.start(self.equations, state)
        vars(self).update(work=work, states=state_pair(state), ramps=ramps, begun=None, shown=None)

    def restart_method(self) -> None:
        """Make the scratch of the method that of the current State, which may have another h than the last step."""
        self.work = self.options.method.start(self.equations, self.states[0])

    @guarded(CHANGE)
    def go_on_from(self, state: State, t: float) -> None:
        """Go on at ``t`` [s] from positions, rates, rotations and inputs of ``state``, which is taken over.

        Functions of time are asked, accelerations and multipliers solved for, and the method starts with no history.
        """
        self._go_on_from(state, t)

    def _go_on_from(self, state: State, t: float) -> None:
        state.t_ref, state.k = float(t), 0
        evaluate_signals(self.system, t, state.u)
        if np.any(state.z[self.system.tables.dofs.kind == ROTATION]):
            self.equations.commit(state)
        self.equations.u = state.u
        state.memory = self._memory_after(state, state.h)
        self._moved(state)
        self.solve_accelerations(state)
        work = self.options.method.start(self.equations, state)
        vars(self).update(work=work, states=state_pair(state), begun=None, shown=None)

    def move_by_rates(self, t: float) -> None:
        """Go on at ``t`` [s], so near that Taylor's series of positions and rates ends with the accelerations."""
        state = self.state.copy()
        gap = t - state.t
        state.z += gap * state.zd + 0.5 * gap * gap * state.zdd
        state.zd += gap * state.zdd
        state.s += gap * state.sd
        self.go_on_from(state, t)

    # ---- copies -----------------------------------------------------------------------------------------------------

    def _same(self, **other: Any) -> Self:
        """Return a store with the same attributes but these, and a claim of its own."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), _claim=Claim(), **other)
        return made

    def independent(self) -> Self:
        """Return a store at the same state with equations of its own, for another thread."""
        state = self.state.copy()
        equations = SemiRecursiveEquations(self.system, make_source(self.options.jacobian, self.system))
        equations.assembly_offset[:], equations.masses = self.equations.assembly_offset, self.equations.masses.copy()
        equations.take_balance(self.equations.balance)
        equations.u, equations.threads = state.u, self.equations.threads
        work = self.options.method.start(equations, state)
        renewed = renewed_forces.renewed_contacts_of(self.system, self.options.method)
        return self._same(states=state_pair(state), equations=equations, work=work, renewed=renewed)

    def twin(self) -> Self:
        """Return a store at the same state that shares the equations: one of the two steps at a time."""
        state = self.settled().copy()
        return self._same(states=state_pair(state), work=self.options.method.start(self.equations, state))

    def take_over(self, twin: Self) -> None:
        """Go on from the state of a twin, with h and the penalty factors of this store."""
        state = twin.state.copy()
        state.t_ref, state.k, state.h = state.t, 0, self.h
        state.memory = self.settled().memory | self.options.method.carried(state)
        vars(self).update(states=state_pair(state), ramps={}, begun=None, shown=None)
