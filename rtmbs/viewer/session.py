"""A session: a Simulation, the commands that change it between steps, and the history that can be walked both ways.

Knows no clock, thread or window. ``worker.py`` paces it, ``manual.py`` watches it.
"""

from dataclasses import fields
from typing import Any

import numpy as np

from rtmbs.errors import InputError, unknown_name
from rtmbs.integrators.registry import METHODS, name_of
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.results.catalogue import run_result
from rtmbs.results.result import Result
from rtmbs.results.samples import OF_STATE, Samples
from rtmbs.simulation import Simulation
from rtmbs.state import State
from rtmbs.viewer import mouse_spring
from rtmbs.viewer.commands import LOGGED, Command, Grab, MoveGrab, Release, SetInput, SetOption
from rtmbs.viewer.connection import Message
from rtmbs.viewer.frame import OPTIONS
from rtmbs.viewer.history import History, Moment


class Session:
    """Steps ``sim`` and remembers.

    The history holds, for every step, the state that the step left and the commands that took effect before the next
    one. Going back restores a state and applies its commands; going forward takes the steps again, so the numbers are
    the same bit for bit. A command given after going back cuts off what came later.
    """

    def __init__(self, sim: Simulation, history: History | None = None) -> None:
        self.sim = sim
        self.history = History() if history is None else history
        self.step_number = 0
        self.outcome = Outcome.CONVERGED  # of the last step tried
        self.report: StepReport | None = None  # of the last accepted step
        self.attachment = mouse_spring.attachment_of(sim.system)  # where the mouse spring is attached, pulling or not
        self.hold: mouse_spring.Hold | None = None
        self.inputs_set: dict[str, Any] = {}  # by name, since the start
        self._first, self._first_attachment = sim.state.copy(), self.attachment
        self.history.begin(self._moment())

    # ---- stepping ---------------------------------------------------------------------------------------------------

    def step(self) -> StepReport:
        """Take a step and remember it. One that fails, or raises, changes nothing."""
        report = self.sim.step()
        self.took(report)
        return report

    def took(self, report: StepReport | None) -> None:
        """Remember a step that somebody took; commands that the history has at the new place take effect again."""
        if report is not None:
            self.outcome = report.outcome
            if not report.outcome.accepted:
                return
        self.report = report
        self.step_number += 1
        self.history.record(self._moment())
        self._apply_known()

    def failure(self, report: StepReport) -> str:
        """Return the sentence of a failed step, with the names that it is known by."""
        return str(self.sim.error(report))

    # ---- going back and forth ---------------------------------------------------------------------------------------

    def seek(self, step: int) -> None:
        """Restore the state of ``step``, or of the nearest step that is remembered."""
        moment = self.history.seek(step)
        self.step_number, self.outcome, self.report = moment.step, Outcome.CONVERGED, None
        self._set_options(moment)
        mouse_spring.attach(self.sim, moment.attachment, self.attachment)  # before the state: what is attached asks for
        # new accelerations
        self.sim.restore(moment.state)
        self.attachment, self.hold = moment.attachment, moment.hold
        self._apply_known()

    def restart(self, keep_inputs: bool = False) -> None:
        """Go back to the first state with the options that hold now, forget the history, let go.

        ``keep_inputs`` sets again what was set by name.
        """
        h, inputs = self.sim.h, dict(self.inputs_set)
        mouse_spring.attach(self.sim, self._first_attachment, self.attachment)
        self.attachment = self._first_attachment
        self.sim.restore(self._first)
        self.sim.h = h  # with it the penalty factors of the present options
        self._begin()
        if keep_inputs:
            for name, value in inputs.items():
                self.apply(SetInput(name, value))

    def load(self, state: State) -> None:
        """Go on from a state; StateError when it does not fit. The history begins anew, and the mouse spring is
        open.
        """
        self.sim.restore(state)
        self._begin()

    def _begin(self) -> None:
        self.step_number, self.outcome, self.report = 0, Outcome.CONVERGED, None
        self.inputs_set, self.hold = {}, None
        if mouse_spring.has_mouse_spring(self.sim.system):
            mouse_spring.pull(self.sim, None)
        self.history.begin(self._moment())

    def _moment(self) -> Moment:
        return Moment(self.step_number, self.sim.state.copy(), self.sim.options, self.attachment, self.hold)

    def _apply_known(self) -> None:
        """Apply the commands that the history has at the present place."""
        for command in self.history.present.commands:
            self._change(command)

    # ---- commands ---------------------------------------------------------------------------------------------------

    def apply(self, command: Command) -> Message | None:
        """Let a command of ``LOGGED`` take effect now, and log it. Return the sentence; None when it changes nothing.

        Raises RtmbsError when it is refused; then nothing has changed.
        """
        if not isinstance(command, LOGGED):
            raise InputError(f"{type(command).__name__} is no command of a session")
        if self._without_effect(command):
            return None
        self._change(command)
        self.history.log(command)
        return Message("log", sentence(command), self.step_number, self.sim.t)

    def _without_effect(self, command: Command) -> bool:
        """True when everything already is as the command wants it."""
        if isinstance(command, SetInput) and command.name in self.sim.inputs:
            return bool(np.array_equal(self.sim.inputs[command.name], command.value))
        if isinstance(command, SetOption) and command.name in OPTIONS:
            return bool(self.option(command.name) == command.value)
        return self.hold is None and isinstance(command, MoveGrab | Release)

    def _change(self, command: Command) -> None:
        """Do what a command says."""
        sim = self.sim
        if isinstance(command, SetInput):
            sim.inputs[command.name] = command.value
            self.inputs_set[command.name] = command.value
        elif isinstance(command, SetOption):
            self._set_option(command.name, command.value)
        elif isinstance(command, Grab):
            self._set_hold(mouse_spring.take_hold(sim, command.body, command.point, command.target))
        elif isinstance(command, MoveGrab) and self.hold is not None:
            self._set_hold(self.hold.moved(command.target))
        elif isinstance(command, Release):
            self._set_hold(None)

    def option(self, name: str) -> Any:
        """Return the present value of one of ``OPTIONS``."""
        sim = self.sim
        if name in ("h", "jacobian"):
            return getattr(sim, name)
        if name == "method":
            return name_of(sim.method)
        return getattr(sim.method, "c" if name == "penalty" else name, None)

    def _set_option(self, name: str, value: Any) -> None:
        if name not in OPTIONS:
            raise unknown_name("option", name, OPTIONS)
        if name == "h":
            self.sim.h = value
        else:
            self.sim.change(**{name: METHODS[value]() if name == "method" else value})

    def _set_options(self, moment: Moment) -> None:
        """Restore the options of a moment; only those that differ, for a source of Jacobians may be dear to make."""
        now, then = self.sim.options, moment.options
        if now != then:
            self.sim.change(**{f.name: getattr(then, f.name) for f in fields(then)})

    def _set_hold(self, hold: mouse_spring.Hold | None) -> None:
        if hold is not None:
            mouse_spring.attach(self.sim, hold.attachment, self.attachment)
            self.attachment = hold.attachment
        if hold != self.hold:
            mouse_spring.pull(self.sim, hold)
            self.hold = hold

    # ---- files ------------------------------------------------------------------------------------------------------

    def result(self) -> Result:
        """Return the channels of the remembered steps up to the present one."""
        states = self.history.states_so_far()
        arrays = (np.array([getattr(state, name) for state in states]) for name in OF_STATE)
        samples = Samples(np.array([state.t for state in states]), *arrays)
        return run_result(self.sim.system, self.sim.equations.tables, samples, {"CONVERGED": len(states) - 1})

    @property
    def state(self) -> State:
        """The present state."""
        return self.sim.state


def sentence(command: Command) -> str:
    """Return what a command did, for the log."""
    if isinstance(command, SetInput | SetOption):
        value = command.value
        shown = f"{value:g}" if isinstance(value, float) else f"{value}"
        return f"{command.name} = {shown}"
    if isinstance(command, Grab):
        return f"{command.body} is pulled"
    return {MoveGrab: "the pull moves", Release: "the pull ends"}.get(type(command), type(command).__name__)
