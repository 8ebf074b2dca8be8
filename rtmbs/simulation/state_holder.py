"""The state that counts: how it is seen, changed between steps and taken back. What ``Simulation`` steps from."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.checks import step_size
from rtmbs.integrators.method import Method
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.sources import make_source
from rtmbs.simulation.input_holder import Goals
from rtmbs.simulation.inputs import point_of
from rtmbs.simulation.live_state import pair
from rtmbs.simulation.one_thread import CHANGE, guarded
from rtmbs.simulation.setting import set_motion
from rtmbs.simulation.state_reader import StateReader
from rtmbs.start.checks import check_closed
from rtmbs.state import State, check_time
from rtmbs.system.input_slots import evaluate_signals
from rtmbs.system.law_tables import attach_law
from rtmbs.system.tables import ROTATION

Array = NDArray[np.float64]
Mark = tuple[tuple[State, State], Goals]


class StateHolder(StateReader):
    """A System, the State that counts and the one that the next step writes, and what may change between steps."""

    def _start_of_step(self) -> State:
        """Return the state that the next step begins from, its balance begun anew where somebody changed its pose."""
        state = self._states[0]
        if not self._accelerations_current:
            self._follow_inputs(roughly=not self._exactly)
        if self._shown is not None:
            self._usual = []
            self._notice(state)
            self._shown = None
        check_time(state, "this state")
        return state

    @guarded(CHANGE)
    def attach(self, force: str, body: str, point: Any = (0.0, 0.0, 0.0)) -> None:
        """Let a force law that acts on one body act on ``body`` at ``point`` (3,) in body axes [m] from now on.

        Accelerations follow at once, as with an input. A State does not carry the attachment: attach again before a
        State of that time is restored. A run that is being recorded refuses it.
        Raises UnknownNameError, and InputError for a force that is no law on one body, and for ground.
        """
        system = attach_law(self.system, force, body, point_of(point))
        equations = copy.copy(self.equations)
        equations.replace_system(system)
        equations.source = make_source(self.jacobian, system)
        work = self.method.start(equations, self._states[0])
        vars(self).update(system=system, equations=equations, _work=work, _accelerations_current=False, _exactly=True)

    @property
    def h(self) -> float:
        """Step [s]."""
        return self._states[0].h

    @h.setter
    @guarded(CHANGE, "h =")
    def h(self, h: float) -> None:
        step_size(h)
        state = self._settled().copy()
        state.t_ref, state.k, state.h = state.t, 0, float(h)
        state.memory = self.method.remember(self.equations, h) | self.method.carried(state)
        goals = self._goals
        self._restore(state, "this state", goals)

    @guarded(CHANGE)
    def change(self, **options: Any) -> None:
        """Change options between steps: ``sim.change(jacobian="trace", max_iterations=4)``.

        Takes ``method``, ``jacobian`` and ``threads``, and the options of the method by their names. Time, positions
        and rates stay; the next step is that of a Simulation made with these options that goes on from the same State.
        ``penalty`` takes the place of ``alpha`` and the reverse, and the penalty factors of the State follow.
        Raises InputError or UnknownNameError for an option that is not valid; then nothing has changed.
        """
        old, wanted = self.options, self.options.changed(options)
        state, equations = self._settled().copy(), copy.copy(self.equations)
        if not isinstance(wanted.jacobian, str) or wanted.jacobian != old.jacobian:
            equations.source = make_source(wanted.jacobian, self.system)
        equations.threads = int(wanted.threads)
        if wanted.method != old.method:
            self._remember(wanted.method, old.method, equations, state)
        work = wanted.method.start(equations, state)
        memory = {name: values.shape for name, values in state.memory.items()}
        states = pair(state)
        vars(self).update(
            options=wanted, equations=equations, _work=work, _memory=memory, _states=states, _stepped=False
        )

    def _remember(self, method: Method, old: Method, equations: SemiRecursiveEquations, state: State) -> None:
        """Let ``state.memory`` be that of another method, or of another choice of options."""
        equations.u = state.u
        fresh = method.remember(equations, state.h)
        if type(method) is type(old):
            state.memory = fresh | method.carried(state, old)
        else:
            state.memory = fresh
            method.begin(equations, state)

    @guarded(CHANGE)
    def restore(self, state: State | str | Path) -> None:
        """Go on from a State, or from a state file; StateError when it cannot, as that of another model."""
        what = "this state" if isinstance(state, State) else f"state file {str(state)!r}"
        taken = state.copy() if isinstance(state, State) else State.load(state)
        self._restore(taken, f"{what} for model {self.system.name!r}", {})

    def _restore(self, taken: State, what: str, goals: Goals) -> None:
        """Go on from a State of one's own, with these ends of ramps; StateError when it cannot."""
        memory = {name: np.zeros(shape) for name, shape in self._memory.items()}
        taken.check_fit(replace(self._states[0], memory=memory), what)
        self.method.check(taken, what)
        check_closed(self.equations, taken, what)
        if np.any(taken.z[self.system.tables.dofs.kind == ROTATION]):
            self.equations.commit(taken)  # a step begins with these at zero
        self.method.moved(self.equations, taken)
        work = self.method.start(self.equations, taken)
        vars(self).update(_work=work, _states=pair(taken), _accelerations_current=True, _goals=goals, _shown=None)

    @guarded(CHANGE)
    def set(self, name: str, value: float) -> None:
        """Set a joint coordinate, or a rate, at the present time: ``sim.set("a.angle", 1.0)``.

        The other coordinates and rates become the nearest ones that close the loops, and the accelerations follow.
        Positions stay when a rate is set. A failure changes nothing.
        Raises UnknownNameError, InputError for a coordinate that is driven or of a cut joint, StartError where the
        loops do not close.
        """
        state = self._settled().copy()
        set_motion(self.equations, state, name, value)
        self._go_on_from(state, state.t)

    @guarded(CHANGE)
    def step_from_here(self, h: float) -> None:
        """Let the next steps be of ``h`` [s], counted from the present time; loops are not looked at again."""
        if h == self._states[0].h and self._states[0].k == 0:
            return
        state = self._start_of_step().copy()
        state.t_ref, state.k, state.h = state.t, 0, float(h)
        state.memory = self.method.remember(self.equations, h) | self.method.carried(state)
        work = self.method.start(self.equations, state)
        vars(self).update(_work=work, _states=pair(state))

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
        state.memory = self.method.remember(self.equations, state.h) | self.method.carried(state)
        self.method.moved(self.equations, state)
        self._solve_accelerations(state)
        work = self.method.start(self.equations, state)
        vars(self).update(_work=work, _states=pair(state), _accelerations_current=True, _shown=None)

    def drift(self, t: float) -> None:
        """Go on at ``t`` [s], so near that Taylor's series of positions and rates ends with the accelerations."""
        state = self.state.copy()
        gap = t - state.t
        state.z += gap * state.zd + 0.5 * gap * gap * state.zdd
        state.zd += gap * state.zdd
        state.s += gap * state.sd
        self.go_on_from(state, t)

    def _alike(self) -> Self:
        """Return another Simulation with the same attributes; nobody is inside, and it reads channels by itself."""
        other = object.__new__(type(self))
        vars(other).update(self.__getstate__())
        return other

    def __copy__(self) -> Self:
        return self.independent()

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes for pickle, and for copies: what reads channels is made anew when it is asked for."""
        return {**vars(self), "_inside": None, "_reading": None}

    def independent(self) -> Self:
        """Return a Simulation at the same state with equations of its own, for another thread."""
        state = self.state.copy()
        other = self._alike()
        equations = SemiRecursiveEquations(self.system, make_source(self.jacobian, self.system))
        equations.assembly_offset[:], equations.masses = self.equations.assembly_offset, self.equations.masses.copy()
        equations.take_balance(self.equations.balance)
        equations.u, equations.threads = state.u, self.equations.threads
        other.equations, other.inputs = equations, self.inputs.of(other)
        other._states, other._work = pair(state), self.method.start(equations, state)
        return other

    # Several attributes that must agree change by one call of ``update``: an interrupt comes before it or after it.

    def twin(self) -> Self:
        """Return a Simulation at the same state that steps by itself; they share equations: one of them at a time."""
        state = self._settled().copy()
        other = self._alike()
        other._states, other._work = pair(state), self.method.start(self.equations, state)
        return other

    def take_over(self, twin: Self) -> None:
        """Go on from the state of a twin, with h and the penalty factors of this Simulation."""
        state = twin.state.copy()
        state.t_ref, state.k, state.h = state.t, 0, self.h
        state.memory = self._settled().memory | self.method.carried(state)
        vars(self).update(_states=pair(state), _goals={}, _shown=None)

    def mark(self) -> Mark:
        """Return what ``back_to`` goes back to, as long as one step or one call of ``take_chunk`` came in between."""
        return self._states, self._goals

    def back_to(self, mark: Mark) -> None:
        """Take back the steps since ``mark``: they wrote the spare state only."""
        states, goals = mark
        vars(self).update(_states=states, _goals=goals, _shown=None)

    def _take_inputs(self, old: State, new: State) -> None:
        """Copy inputs and memory; StateError when something else was written into the live State."""
        try:
            new.u[:] = old.u
            for name, values in old.memory.items():
                new.memory[name][:] = values
        except (AttributeError, TypeError, ValueError, KeyError):
            self._validate(old)  # says what they must be
            raise
