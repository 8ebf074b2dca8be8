"""The state that counts, as the user looks at it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from operator import is_
from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import StartError
from rtmbs.integrators.method import Method
from rtmbs.limits.names import Keyed
from rtmbs.limits.notebook import folded_html, number_text, title_html
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.simulation.fast_states import FastStates
from rtmbs.simulation.input_holder import InputHolder
from rtmbs.simulation.inputs import Inputs
from rtmbs.simulation.live_state import arrays_in, copied
from rtmbs.simulation.one_thread import LOOK, Visitor, check_visitor, guarded
from rtmbs.simulation.reading import Reading
from rtmbs.simulation.setting import refuse_open
from rtmbs.start.report import StartReport
from rtmbs.state import State
from rtmbs.system.input_slots import in_range
from rtmbs.system.system import System
from rtmbs.topology import Topology

Array = NDArray[np.float64]


class StateReader(Keyed, InputHolder):
    """A System, the State that counts, and channels of it by name."""

    remedy = "; sim.change({name}=...) changes options of a Simulation and of its method"

    system: System
    equations: SemiRecursiveEquations
    start_report: StartReport
    _memory: dict[str, tuple[int, ...]]  # shapes of what the method remembers
    _work: Any  # what steps need besides states
    inputs: Inputs
    _fast_states: FastStates | None  # over states of force laws
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
        owner = self._inside
        if owner is not None and owner != get_ident():
            self._check_look(owner)
        if not self._accelerations_current:
            self._update_accelerations()
        return self._states[0]

    def _check_look(self, owner: Any) -> None:
        """Refuse a look at the state by a function that a step has called; another thread may look: BusyError."""
        if owner == ~get_ident() or isinstance(owner, Visitor):
            check_visitor(self, owner, LOOK, "state")

    def _settled(self) -> State:
        """Return what ``_present`` does, for methods that hold the Simulation already."""
        if not self._accelerations_current:
            self._follow_inputs(roughly=False)
        return self._states[0]

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

    @guarded(LOOK, "state")
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

    @guarded(LOOK)
    def keys(self) -> list[str]:
        """Return the names of all channels: those of a Result."""
        return list(self._channels().sources(self._settled()))

    @guarded(LOOK, "[...]")
    def __getitem__(self, name: Any) -> Any:
        """Return a channel of the present state, a number or an array: ``sim["tip.position"]``.

        A pattern of ``fnmatch`` or a list of names gives a dict by name: ``sim["tip.*"]``. Names, axes and
        units are those of a Result. Only the channel itself is worked out. An angle of a cut joint is between -pi and
        pi: a single state does not tell its turns. Raises UnknownNameError.
        """
        state = self._settled()
        self._notice(state)
        return self._channels().one(name, state)

    @guarded(LOOK)
    def read(self, names: Sequence[str]) -> Array:
        """Return numbers of several channels of the present state, one after the other (k,).

        The list is prepared at the first call. Coordinates of joints, and positions, velocities and accelerations of
        bodies and markers are then read in one kernel call. Other channels take as long as ``sim[name]``.

            q, x, y, z = sim.read(["crank.angle", "tip.position"])

        Raises UnknownNameError for a channel, InputError for what is no list of names.
        """
        state = self._settled()
        self._notice(state)
        return self._channels().many(names, state)

    def _channels(self) -> Reading:
        """Return what reads channels of the present System."""
        equations = self.equations
        if self._reading is None or self._reading.tables is not equations.tables:
            self._reading = Reading(self.system, equations.tables, equations.shapes)
        return self._reading

    def __repr__(self) -> str:
        state, system = self._states[0], self.system
        sizes = f"{system.n} coordinates, {system.m} loop equations"
        told = "".join(f"; warning: {one}" for one in self.fast_states)
        return (
            f"Simulation({system.name!r}, t = {state.t:g} s, h = {state.h:g} s, method={options_text(self.method)}: "
            f"{sizes}{told})"
        )

    def _repr_html_(self) -> str:
        """Return the coordinates and the inputs of the present state as tables for notebooks."""
        state, names = self._states[0], self.system.coordinate_names
        values = zip(names, state.z, state.zd, strict=True)
        coordinates = [(name, number_text(z), number_text(zd)) for name, z, zd in values]
        inputs = [(name, number_text(state.u[place])) for name, place in self.system.inputs.items()]
        tables = folded_html("coordinates", ("coordinate", "value [rad, m]", "rate [rad/s, m/s]"), coordinates)
        return f"{title_html(repr(self))}\n{tables}\n{folded_html('inputs', ('input', 'value'), inputs)}"

    @property
    def fast_states(self) -> dict[str, int]:
        """What a run repeats in ``Result.warnings``: states of force laws that are too fast for the step."""
        return {str(one): 1 for one in self._fast_states.found.values()} if self._fast_states else {}

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


def options_text(method: Any) -> str:
    """Return a method with the options that differ from their defaults: ``PenaltyTrapezoidal(penalty=1e7)``."""
    if not is_dataclass(method):
        return repr(method)
    given = [(one.name, getattr(method, one.name)) for one in fields(method) if one.repr and one.init]
    usual = {one.name: repr(one.default) for one in fields(method)}
    changed = [f"{name}={value!r}" for name, value in given if repr(value) != usual[name]]
    return f"{type(method).__name__}({', '.join(changed)})"
