"""The state that counts: how it is seen, changed between steps and taken back. What ``Simulation`` steps from."""

import copy
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import is_
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import StartError
from rtmbs.integrators.checks import step_size
from rtmbs.integrators.method import Method
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.sources import make_source
from rtmbs.simulation.input_holder import Goals, InputHolder
from rtmbs.simulation.inputs import Inputs, point_of
from rtmbs.simulation.live_state import arrays_in, copied, pair
from rtmbs.simulation.one_thread import one_thread
from rtmbs.simulation.reading import Reading
from rtmbs.simulation.setting import refuse_open, set_motion
from rtmbs.start.checks import check_closed
from rtmbs.start.report import StartReport
from rtmbs.state import State, check_time
from rtmbs.system.attach import attached
from rtmbs.system.signals import evaluate_signals, in_range
from rtmbs.system.system import System
from rtmbs.system.tables import ROTATION
from rtmbs.topology import Topology

Array = NDArray[np.float64]
Mark = tuple[tuple[State, State], Goals]


class StateHolder(InputHolder):
    """A System, the State that counts and the one that the next step writes, and what may change between steps."""

    remedy = "; sim.change({name}=...) changes options of a Simulation and of its method"

    system: System
    equations: SemiRecursiveEquations
    start_report: StartReport
    _memory: dict[str, tuple[int, ...]]  # shapes of what the method remembers
    _work: Any  # what steps need besides states
    inputs: Inputs
    _shown: tuple[object, ...] | None  # the motion that somebody saw since the last step
    _reading: Reading | None = None  # of channels by name, once somebody asked
    _stepped: bool
    _usual: list[tuple[Any, ...]] = []  # noqa: RUF012 - replaced, never changed: arrays of states that kernels can take

    @property
    def state(self) -> State:
        """The state that counts; it is overwritten two steps on, so ``state.copy()`` keeps it.

        The next step, and the next channel that is read, notice positions and rates that are written into it: a balance
        of energy begins anew, and the accelerations follow. Positions that open a loop are taken back, and raise
        StateError: ``set`` moves the rest as well. ``restore`` takes a state that was changed by hand, and looks at all
        of it.
        """
        state = self._present()
        if self._shown is None:
            self._shown = state.motion()
        return state

    def snapshot(self, take: Callable[[State], Any] = copied) -> Any:
        """Return a copy of the state that counts, for whoever keeps that of every step.

        As nobody sees the state itself, the next step need not look for changes in it, which takes longer than a copy.
        take: copies a State that a step has left, without checks; one that somebody saw is copied as a State.
        """
        state = self._present()
        return take(state) if self._shown is None else state.copy()

    def _present(self) -> State:
        """Return the state that counts, its accelerations those of its inputs."""
        if not self._accelerations_current:
            self._update_accelerations()
        return self._states[0]

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

    def _notice(self, state: State) -> None:
        """Let accelerations follow where somebody wrote another motion into the state; StateError for open loops."""
        if self._shown is None or self._shown == state.motion():
            return
        self._validate(state)  # a list of the same numbers moves nothing
        now = state.motion()
        if self._shown == now:
            return
        self.equations.u = state.u
        if all(in_range(values) for values in (state.z, state.zd, state.s, state.R0)):  # else the step refuses
            if now[0] != self._shown[0]:
                refuse_open(self.equations, state, self._shown[0])
            self.method.moved(self.equations, state)
            self._solve_accelerations(state)
            self._shown = now
        else:
            self.method.moved(self.equations, state)

    @one_thread
    def attach(self, force: str, body: str, point: Any = (0.0, 0.0, 0.0)) -> None:
        """Let a force law that acts on one body act on ``body`` at ``point`` (3,) in body axes [m] from now on.

        Accelerations follow at once, as with an input. A State does not carry the attachment: attach again before a
        State of that time is restored. A run that is being recorded refuses it.
        Raises UnknownNameError, and InputError for a force that is no law on one body, and for ground.
        """
        system = attached(self.system, force, body, point_of(point))
        equations = copy.copy(self.equations)
        equations.replace_system(system)
        equations.source = make_source(self.jacobian, system)
        work = self.method.start(equations, self._states[0])
        vars(self).update(system=system, equations=equations, _work=work, _accelerations_current=False, _exactly=True)

    @one_thread
    def _update_accelerations(self) -> None:
        """Let accelerations follow for somebody who looks."""
        self._follow_inputs(roughly=False)

    def _follow_inputs(self, roughly: bool) -> None:
        """Solve for the accelerations and multipliers that belong to changed inputs: positions and rates stay.

        Forces may jump with an input; a step that began with the accelerations of the old forces would average the two
        and lose an order of accuracy. ``roughly`` loses none either (METHODS 1.8), but its bytes tell who looked.
        Inputs too large for that leave them as they are: the step will say NOT_FINITE.
        """
        self._solve_accelerations(self._states[0], roughly)
        self.__dict__["_accelerations_current"] = True  # an assignment to the attribute would be a call

    def _solve_accelerations(self, state: State, roughly: bool = False) -> None:
        """Solve for the accelerations and multipliers of ``state``, in place; ``roughly`` for a step only."""
        self.equations.u = state.u
        if self.method.pushed(self.equations, self._work, state, roughly):
            return
        with np.errstate(over="ignore", invalid="ignore"), suppress(StartError):
            found = self.equations.accelerations(state.z, state.zd, state.R0, state.s)
            if all(np.all(np.isfinite(values)) for values in found):
                state.zdd[:], state.lam[:], state.sd[:] = found

    def __getitem__(self, name: str) -> Any:
        """Return a channel of the present state, a number or an array: ``sim["tip.position"]``.

        Names, axes and units are those of a Result. Only the channel itself is worked out. An angle of a cut joint is
        between -pi and pi: a single state does not tell its turns. Raises UnknownNameError.
        """
        state = self.state
        self._notice(state)
        return self._channels().one(name, state)

    @one_thread
    def read(self, names: Sequence[str]) -> Array:
        """Return numbers of several channels of the present state, one after the other (k,).

        The list is prepared at the first call. Coordinates of joints, and positions, velocities and accelerations of
        bodies and markers are then read in one kernel call. Other channels take as long as ``sim[name]``.

            q, x, y, z = sim.read(["crank.angle", "tip.position"])

        Raises UnknownNameError for a channel, InputError for what is no list of names.
        """
        state = self._present()
        self._notice(state)
        return self._channels().many(names, state)

    def _channels(self) -> Reading:
        """Return what reads channels of the present System."""
        equations = self.equations
        if self._reading is None or self._reading.tables is not equations.tables:
            self._reading = Reading(self.system, equations.tables, equations.shapes)
        return self._reading

    @property
    def topology(self) -> Topology:
        """The printable tree and cuts, with degrees of freedom and redundant closures by numerical rank."""
        report, system, spare = self.start_report, self.system, set(self.start_report.redundant)
        closures = [
            closure for name, closure in zip(system.row_names, system.closure_of_row, strict=True) if name in spare
        ]
        return replace(
            system.topology,
            degrees_of_freedom=report.degrees_of_freedom,
            rank=report.rank,
            redundant=tuple(dict.fromkeys(system.closure_names[closure] for closure in closures if closure >= 0)),
        )

    @property
    def t(self) -> float:
        """Time [s]."""
        return self._states[0].t

    @property
    def h(self) -> float:
        """Step [s]."""
        return self._states[0].h

    @h.setter
    @one_thread
    def h(self, h: float) -> None:
        step_size(h)
        state = self.state.copy()
        state.t_ref, state.k, state.h = state.t, 0, float(h)
        state.memory = self.method.remember(self.equations, h) | self.method.carried(state)
        goals = self._goals
        self.restore(state)
        self._goals = goals

    @property
    def method(self) -> Method:
        """The method of time integration, with its options."""
        return self.options.method

    @property
    def jacobian(self) -> str:
        """Name of the source of K and C."""
        return self.options.jacobian

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Names of the coordinates that advance together, a tuple a thread of ``run``.

        There is one group only when ``threads`` is 1, when everything hangs together, and when a step asks Python:
        for a function of time, a called law, another source of K and C, or a step that is not fused.
        """
        fused = self.equations.fused() if self.method.takes_many(self.equations) else None
        groups = None if fused is None else fused.groups
        coordinates = [range(self.system.n)] if groups is None else groups.coordinates
        names = self.system.coordinate_names
        return tuple(tuple(names[i] for i in group) for group in coordinates)

    @one_thread
    def change(self, **options: Any) -> None:
        """Change options between steps: ``sim.change(jacobian="trace", max_iterations=4)``.

        Takes ``method``, ``jacobian`` and ``threads``, and the options of the method by their names. Time, positions
        and rates stay; the next step is that of a Simulation made with these options that goes on from the same State.
        ``penalty`` takes the place of ``alpha`` and the reverse, and the penalty factors of the State follow.
        Raises InputError or UnknownNameError for an option that is not valid; then nothing has changed.
        """
        old, wanted = self.options, self.options.changed(options)
        state, equations = self.state.copy(), copy.copy(self.equations)
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

    @one_thread
    def restore(self, state: State | str | Path) -> None:
        """Go on from a State, or from a state file; StateError when it cannot, as that of another model."""
        what = "this state" if isinstance(state, State) else f"state file {str(state)!r}"
        taken = state.copy() if isinstance(state, State) else State.load(state)
        what = f"{what} for model {self.system.name!r}"
        memory = {name: np.zeros(shape) for name, shape in self._memory.items()}
        taken.check_fit(replace(self.state, memory=memory), what)
        self.method.check(taken, what)
        check_closed(self.equations, taken, what)
        if np.any(taken.z[self.system.tables.dofs.kind == ROTATION]):
            self.equations.commit(taken)  # a step begins with these at zero
        self.method.moved(self.equations, taken)
        work = self.method.start(self.equations, taken)
        vars(self).update(_work=work, _states=pair(taken), _accelerations_current=True, _goals={}, _shown=None)

    @one_thread
    def set(self, name: str, value: float) -> None:
        """Set a joint coordinate, or a rate, at the present time: ``sim.set("a.angle", 1.0)``.

        The other coordinates and rates become the nearest ones that close the loops, and the accelerations follow.
        Positions stay when a rate is set. A failure changes nothing.
        Raises UnknownNameError, InputError for a coordinate that is driven or of a cut joint, StartError where the
        loops do not close.
        """
        state = self.state.copy()
        set_motion(self.equations, state, name, value)
        self.go_on_from(state, state.t)

    @one_thread
    def step_from_here(self, h: float) -> None:
        """Let the next steps be of ``h`` [s], counted from the present time; loops are not looked at again."""
        if h == self._states[0].h and self._states[0].k == 0:
            return
        state = self._start_of_step().copy()
        state.t_ref, state.k, state.h = state.t, 0, float(h)
        state.memory = self.method.remember(self.equations, h) | self.method.carried(state)
        work = self.method.start(self.equations, state)
        vars(self).update(_work=work, _states=pair(state))

    @one_thread
    def go_on_from(self, state: State, t: float) -> None:
        """Go on at ``t`` [s] from positions, rates, rotations and inputs of ``state``, which is taken over.

        Functions of time are asked, accelerations and multipliers solved for, and the method starts with no history.
        """
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

    def independent(self) -> Self:
        """Return a Simulation at the same state with equations of its own, for another thread."""
        other, state = copy.copy(self), self.state.copy()
        equations = SemiRecursiveEquations(self.system, make_source(self.jacobian, self.system))
        equations.assembly_offset[:], equations.masses = self.equations.assembly_offset, self.equations.masses.copy()
        equations.take_balance(self.equations.balance)
        equations.u, equations.threads = state.u, self.equations.threads
        other.equations, other.inputs, other._inside = equations, Inputs(self.system, other), None
        other._states, other._work = pair(state), self.method.start(equations, state)
        return other

    # Several attributes that must agree change by one call of ``update``: an interrupt comes before it or after it.

    def twin(self) -> Self:
        """Return a Simulation at the same state that steps by itself; they share equations: one of them at a time."""
        other, state = copy.copy(self), self.state.copy()
        other._states, other._work = pair(state), self.method.start(self.equations, state)
        return other

    def take_over(self, twin: Self) -> None:
        """Go on from the state of a twin, with h and the penalty factors of this Simulation."""
        state = twin.state.copy()
        state.t_ref, state.k, state.h = state.t, 0, self.h
        state.memory = self.state.memory | self.method.carried(state)
        vars(self).update(_states=pair(state), _goals={}, _shown=None)

    def mark(self) -> Mark:
        """Return what ``back_to`` goes back to, as long as one step or one call of ``take_chunk`` came in between."""
        return self._states, self._goals

    def back_to(self, mark: Mark) -> None:
        """Take back the steps since ``mark``: they wrote the spare state only."""
        states, goals = mark
        vars(self).update(_states=states, _goals=goals, _shown=None)

    def _validate(self, state: State) -> None:
        """Make the arrays of a state what kernels take; StateError where they cannot be.

        Arrays that were found usual before are not looked at again, until somebody sees the state: that would take a
        quarter of a small step. The list keeps them alive, so no other array can have their identity.
        """
        arrays = arrays_in(state)
        if any(len(usual) == len(arrays) and all(map(is_, arrays, usual)) for usual in self._usual):
            return
        state.validate(self.equations.shapes, self._memory)
        self._usual = [*self._usual[-1:], arrays_in(state)]

    def _take_inputs(self, old: State, new: State) -> None:
        """Copy inputs and memory; StateError when something else was written into the live State."""
        try:
            new.u[:] = old.u
            for name, values in old.memory.items():
                new.memory[name][:] = values
        except (AttributeError, TypeError, ValueError, KeyError):
            self._validate(old)  # says what they must be
            raise
