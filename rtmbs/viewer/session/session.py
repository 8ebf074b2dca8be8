"""Session: a Simulation, the commands that change it between steps, and its history.

A session has no clock, thread or window. ``worker.py`` paces it; in manual mode a program steps it.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, StateError, unknown_name
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.methods import METHODS, name_of
from rtmbs.results.catalogue import run_result
from rtmbs.results.result import Result
from rtmbs.results.samples import OF_STATE, Samples
from rtmbs.simulation import Simulation
from rtmbs.simulation.options import Options
from rtmbs.simulation.running import error_of
from rtmbs.simulation.simulation import drag, store_of
from rtmbs.state import State
from rtmbs.system.input_slots import evaluate_signals
from rtmbs.system.system import System
from rtmbs.viewer.scene.frame import OPTIONS
from rtmbs.viewer.session import mouse_spring
from rtmbs.viewer.session.commands import LOGGED, Command, Drag, Grab, MoveGrab, Place, Release, SetInput, SetOption
from rtmbs.viewer.session.connection import Message
from rtmbs.viewer.session.history import Changes, History, Moment, Pose, StateStore, StoredState


class Session:
    """Simulation with commands between its steps and a history.

    The history holds, for every step, the state that the step left and the commands that took effect before the next
    one. Going back restores a state and applies its commands; going forward takes the steps again, so the numbers are
    the same bit for bit. A command given after going back cuts off what came later.

    alone: only the session changes ``sim``; False for a program that steps its own.
    with_spring: returns the System with a mouse spring, compiled at the first pull; ``sim`` is the Simulation of it
    while a hand pulls, so that steps pay for the spring only then. Without it ``sim`` has a mouse spring or cannot be
    pulled.
    """

    def __init__(
        self,
        sim: Simulation,
        history: History | None = None,
        with_spring: Callable[[], System] | None = None,
        alone: bool = True,
    ) -> None:
        self.sim = self.base_sim = sim
        self._alone = alone
        self._with_spring, self._pulled_sim = with_spring, None if with_spring else sim
        self.history = History() if history is None else history
        self._kept, self.changes = StateStore(), Changes()
        self.step_number = 0
        self.outcome = Outcome.CONVERGED  # of the last step tried
        self.report: StepReport | None = None  # of the last accepted step
        self.attachment = mouse_spring.attachment_of(sim.system)  # where the mouse spring is attached, pulling or not
        self.hold: mouse_spring.Hold | None = None
        self.inputs_set: dict[str, Any] = {}  # by name, since the start
        self.unseen: float = 0  # first step that is not in the strip yet
        self.run_number = 0  # counts beginnings
        self._begun: State | None = None  # the first state with what was set before the first step
        self._lagging = False  # True: the history stands at a step that ``sim`` was not brought to
        self._first, self._first_attachment = sim.state.copy(), self.attachment
        self._remember_first()

    # ---- stepping ---------------------------------------------------------------------------------------------------

    def step(self) -> StepReport:
        """Take a step and record it; a failed step changes nothing."""
        report = self.advance()
        self.record_step(report)
        return report

    def advance(self) -> StepReport:
        """Take a step without recording it: see ``record_step``."""
        if self._lagging:
            self._catch_up()
        return self.sim.step()

    def record_step(self, report: StepReport | None) -> None:
        """Record a step that was taken; commands that the history has at the new step take effect again."""
        if report is not None:
            self.outcome = report.outcome
            if not report.outcome.accepted:
                return
        self.report = report
        self.step_number += 1
        if self.history.record(self._moment()):
            self._apply_known()
        else:
            self.unseen = min(self.unseen, self.step_number)

    def failure(self, report: StepReport) -> str:
        """Return the message of a failed step, with the names of bodies and joints."""
        return str(error_of(self.sim, report))

    # ---- going back and forth ---------------------------------------------------------------------------------------

    def seek(self, step: int) -> None:
        """Restore the state of ``step``, or of the nearest step that is remembered."""
        moment, self._lagging = self.history.seek(step), False
        self.step_number, self.outcome, self.report = moment.step, Outcome.CONVERGED, moment.report
        self.sim = self.pulled_sim() if moment.kept.fingerprint != self.base_sim.system.fingerprint else self.base_sim
        self._set_options(moment.options)
        self._attach(moment.attachment)  # before the state: what is attached asks for new accelerations
        self.sim.restore(moment.state)
        self.hold = moment.hold
        self._apply_known()

    @property
    def stored(self) -> bool:
        """True when the history has the next step already."""
        return self.history.ahead() is not None

    def forward(self) -> None:
        """Go to the next remembered step without taking it again."""
        moment = self.history.ahead()
        if moment is None:
            return
        held = moment.hold, moment.options, moment.kept.h, moment.kept.fingerprint
        now = self.hold, store_of(self.sim).options, self.sim.h, self.sim.system.fingerprint
        attached = self.sim is not self._pulled_sim or moment.attachment == self.attachment
        if moment.commands or held != now or not attached:
            self.seek(moment.step)
            return
        self.history.seek(moment.step)
        self.step_number, self.outcome, self.report, self._lagging = moment.step, Outcome.CONVERGED, moment.report, True

    def _catch_up(self) -> None:
        """Bring ``sim`` to the present moment of the history."""
        if self._lagging:
            self.seek(self.step_number)

    def restart(self, keep_inputs: bool = False) -> None:
        """Go back to the first state with the options that hold now, forget the history, let go.

        ``keep_inputs`` sets again what was set by name.
        """
        h, inputs = self.sim.h, self.inputs_now()
        self._use(self.base_sim)
        self._attach(self._first_attachment)
        self.sim.restore(self._first)
        self.sim.h = h  # with it the penalty factors of the present options
        self._begin()
        if keep_inputs:
            for name, value in inputs.items():
                self.apply(SetInput(name, value))

    def inputs_now(self) -> dict[str, Any]:
        """Return the inputs that were set, with the values that hold now."""
        self._catch_up()
        held = self.sim.inputs
        values = {name: np.ravel(held[name]).tolist() for name in self.inputs_set if name in held}
        return {name: tuple(numbers) if len(numbers) > 1 else numbers[0] for name, numbers in values.items()}

    def load(self, state: State) -> None:
        """Go on from a state; StateError when it does not fit. The history begins anew, and the mouse spring is
        open.
        """
        self._use(self.base_sim)
        self.sim.restore(state)
        self._begin()

    def _begin(self) -> None:
        self.step_number, self.outcome, self.report, self._lagging = 0, Outcome.CONVERGED, None, False
        self.changes = Changes()
        self.inputs_set, self.hold = {}, None
        if mouse_spring.has_mouse_spring(self.sim.system):
            mouse_spring.pull(self.sim, None)
        self._remember_first()

    def _remember_first(self) -> None:
        self.history.begin(self._moment())
        self.unseen, self.run_number, self._begun = 0, self.run_number + 1, None

    def shown(self, moment: Moment) -> State:
        """Return the state of a moment for curves and results; the first one has the values set before the first step.

        It is not to be written into.
        """
        return self._begun if moment.step == 0 and self._begun is not None else moment.state

    def _moment(self) -> Moment:
        kept = self.sim.snapshot(self._kept.keep)
        if isinstance(kept, State):  # it was handed out, and may have been written to
            kept = StoredState.of(kept)
        return Moment(self.step_number, kept, store_of(self.sim).options, self.attachment, self.hold, self.report)

    def _apply_known(self) -> None:
        """Apply the commands that the history has at the present place."""
        for command in self.history.present.commands:
            self._change(command)

    # ---- commands ---------------------------------------------------------------------------------------------------

    def apply(self, command: Command) -> Message | None:
        """Apply a command of ``LOGGED`` and log it. Return the sentence; None when it changes nothing.

        Raises RtmbsError when it is refused; then nothing has changed.
        """
        if not isinstance(command, LOGGED):
            raise InputError(f"{type(command).__name__} is no command of a session")
        self._catch_up()
        if self._without_effect(command):
            return None
        setting = command if isinstance(command, SetInput | SetOption) else None
        old = None if setting is None else self._value_of(setting)
        self._change(command)
        self.history.log(command)
        if setting is not None and old is not None:
            self.changes.note_setting(setting, old)
        if self.step_number == 0:
            self._begun, self.unseen = self.sim.state.copy(), 0
        return Message("log", sentence(command), self.step_number, self.sim.t)

    def _value_of(self, setting: SetInput | SetOption) -> Any:
        """Return the present value of what a setting sets; None for what does not exist."""
        if isinstance(setting, SetOption):
            return self.option(setting.name) if setting.name in OPTIONS else None
        if setting.name not in self.sim.inputs:
            return None
        numbers = np.ravel(self.sim.inputs[setting.name]).tolist()
        return tuple(numbers) if len(numbers) > 1 else numbers[0]

    def undo(self, again: bool = False) -> Message | None:
        """Take back the last change, or make it ``again``; None where there is none."""
        change = self.changes.take(again)
        if change is None:
            return None
        if isinstance(change, Pose):
            self.seek(change.step)
            if self.step_number != change.step:
                return Message(
                    "info", f"step {change.step} of that pose is not remembered", self.step_number, self.sim.t
                )
            self.history.replace_commands(change.after if again else change.before)
            self.seek(change.step)
            if self.step_number == 0:
                self._begun, self.unseen = self.sim.state.copy(), 0
            return Message("log", f"the pose is {'taken' if again else 'undone'}", self.step_number, self.sim.t)
        kept, self.changes = self.changes, Changes()  # what takes back is no change of its own
        try:
            return self.apply(change.command if again else change.before)
        finally:
            self.changes = kept

    def drag(self, command: Drag) -> Message | None:
        """Move a body with the loops kept, and log the pose. Raises RtmbsError; then nothing has changed."""
        self._catch_up()
        before = list(self.history.present.commands)
        drag(self.sim, command.body, command.point, command.target)
        state = self.sim.state
        self.apply(Place(tuple(state.z.tolist()), tuple(state.R0.ravel().tolist())))
        after = list(self.history.present.commands)
        self.changes.note_pose(command.gesture, self.step_number, before, after)
        return Message("log", f"{command.body} is moved", self.step_number, self.sim.t)

    def _place(self, pose: Place) -> None:
        """Take a pose, at rest but for what drivers move."""
        state = self.sim.state.copy()
        state.z[:], state.R0[:] = pose.z, np.reshape(pose.R0, state.R0.shape)
        store_of(self.sim).place(state)

    def _without_effect(self, command: Command) -> bool:
        """True when a command changes nothing."""
        if isinstance(command, SetInput) and command.name in self.sim.inputs:
            return bool(np.array_equal(self.sim.inputs[command.name], command.value))
        if isinstance(command, SetOption) and command.name in OPTIONS:
            return bool(self.option(command.name) == command.value)
        return self.hold is None and isinstance(command, MoveGrab | Release)

    def _change(self, command: Command) -> None:
        """Carry out a command."""
        sim = self.sim
        if isinstance(command, SetInput):
            sim.inputs[command.name] = command.value
            self.inputs_set[command.name] = command.value
        elif isinstance(command, SetOption):
            self._set_option(command.name, command.value)
        elif isinstance(command, Grab):
            self._set_hold(mouse_spring.take_hold(self.pulled_sim(), command.body, command.point, command.target))
        elif isinstance(command, MoveGrab) and self.hold is not None:
            self._set_hold(self.hold.moved(command.target))
        elif isinstance(command, Release):
            self._set_hold(None)
        elif isinstance(command, Place):
            self._place(command)

    def option(self, name: str) -> Any:
        """Return the present value of one of ``OPTIONS``."""
        sim = self.sim
        if name == "h":
            return sim.h
        if name == "jacobian":
            return store_of(sim).options.jacobian
        if name == "method":
            return name_of(sim.method)
        return getattr(sim.method, "c" if name == "penalty" else name, None)

    def _set_option(self, name: str, value: Any) -> None:
        if name not in OPTIONS:
            raise unknown_name("option", name, OPTIONS)
        if name == "method" and (not isinstance(value, str) or value not in METHODS):
            raise unknown_name("method", value, METHODS)
        if name == "h":
            self.sim.h = value
        else:
            self.sim.change(**{name: METHODS[value]() if name == "method" else value})

    def _set_options(self, then: Options) -> None:
        """Set these options unless they are set: making a source of Jacobians may take long."""
        now = store_of(self.sim).options
        if now != then:
            self.sim.change(**{f.name: getattr(then, f.name) for f in fields(then)})

    def _set_hold(self, hold: mouse_spring.Hold | None) -> None:
        if hold is not None:
            if self.sim is not self.pulled_sim():
                self._go_on_with(self.pulled_sim(), hold.attachment)
            self._attach(hold.attachment)
        if hold != self.hold:
            mouse_spring.pull(self.sim, hold)
            self.hold = hold
        if hold is None:
            self._go_on_with(self.base_sim)

    @property
    def pulled(self) -> bool:
        """True while ``sim`` is another one than the session was made with: that with a mouse spring."""
        return self.sim is not self.base_sim

    @property
    def spring_ready(self) -> bool:
        """True when a pull needs no other Simulation to be made."""
        return self._pulled_sim is not None

    def pulled_sim(self) -> Simulation:
        """Return the Simulation with a mouse spring, compiled when it is first needed."""
        if self._pulled_sim is None:
            assert self._with_spring is not None
            base = self.base_sim
            self._pulled_sim = Simulation(
                self._with_spring(), base.h, base.method, jacobian=store_of(base).options.jacobian
            )
            self.attachment = mouse_spring.attachment_of(self._pulled_sim.system)
        return self._pulled_sim

    def _attach(self, attachment: mouse_spring.Attachment | None) -> None:
        """Attach the mouse spring, where ``sim`` has one."""
        if self.sim is self._pulled_sim:
            mouse_spring.attach(self.sim, attachment, self.attachment)
            self.attachment = attachment

    def _go_on_with(self, sim: Simulation, attachment: mouse_spring.Attachment | None = None) -> None:
        """Continue with another Simulation of the same mechanism, from the present state on."""
        if sim is self.sim:
            return
        state, system = self.sim.state, self.sim.system
        self._use(sim)
        if attachment is not None:
            self._attach(attachment)  # first, so that repeated steps do the same
        self.sim.restore(carried(state, system, sim.system))

    def _use(self, sim: Simulation) -> None:
        """Make ``sim`` the Simulation of the session, with the present options."""
        options = store_of(self.sim).options
        self.sim = sim
        self._set_options(options)

    # ---- files ------------------------------------------------------------------------------------------------------

    def result(self) -> Result:
        """Return the channels of the remembered steps up to the present one."""
        system, states = self.base_sim.system, [self.shown(moment) for moment in self.history.so_far()]
        if any(state.fingerprint != system.fingerprint for state in states):
            base, system = system, self.pulled_sim().system
            states = [
                carried(state, base, system) if state.fingerprint != system.fingerprint else state for state in states
            ]
        equations = (self.base_sim if system is self.base_sim.system else self.pulled_sim()).equations
        arrays = (np.array([getattr(state, name) for state in states]) for name in OF_STATE)
        samples = Samples(np.array([state.t for state in states]), *arrays)
        return run_result(system, equations.tables, samples, {"CONVERGED": len(states) - 1})

    @property
    def state(self) -> State:
        """Present State; the stored copy while it is current, so that the live State stays private."""
        present = self.history.present
        kept = self._lagging or (self._alone and not present.commands)
        return present.state if kept else self.sim.state

    @property
    def t(self) -> float:
        """Present time [s], without access to the State of the Simulation."""
        return self.history.present.kept.t

    @property
    def plain_state(self) -> State:
        """The present state as one of the Simulation that the session was made with."""
        return carried(self.state, self.sim.system, self.base_sim.system) if self.pulled else self.state


def sentence(command: Command) -> str:
    """Return a sentence about a command, for the log."""
    if isinstance(command, SetInput | SetOption):
        value = command.value
        shown = f"{value:g}" if isinstance(value, float) else f"{value}"
        return f"{command.name} = {shown}"
    if isinstance(command, Grab):
        return f"{command.body} is pulled"
    return {MoveGrab: "the pull moves", Release: "the pull ends"}.get(type(command), type(command).__name__)


# ---- states with and without a mouse spring --------------------------------------------------------------------------


def carried(state: State, old: System, new: System) -> State:
    """Return a state of ``old`` as one of ``new``, which has the same coordinates and equations, but other inputs.

    Inputs that ``old`` does not have keep the values of the model. Raises StateError when the two do not fit.
    """
    if old.fingerprint == new.fingerprint:
        return state
    if state.fingerprint != old.fingerprint:
        raise StateError(f"this state belongs to another model than {old.name!r}")
    if (old.coordinate_names, old.row_names) != (new.coordinate_names, new.row_names):
        raise StateError(f"a state of {old.name!r} cannot be carried over: the coordinates are others")

    def inputs(values: NDArray[np.float64]) -> NDArray[np.float64]:
        u = new.u0.copy()
        for name, place in new.inputs.items():
            if name in old.inputs:
                u[place] = values[old.inputs[name]]
        evaluate_signals(new, state.t, u)
        return u

    before = None if state.before is None else state.before._replace(u=inputs(state.before.u))
    return replace(state.copy(), fingerprint=new.fingerprint, u=inputs(state.u), before=before)


def same_default(name: str, old: System, new: System) -> bool:
    """True when two builds of a mechanism have the same value of an input, so that the user's value still holds."""
    known = name in old.inputs and name in new.inputs
    return not known or np.array_equal(old.u0[old.inputs[name]], new.u0[new.inputs[name]])
