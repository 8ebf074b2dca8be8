"""Controller: the effects of commands on a session (play, seek, rebuild, files), and notices of compiled kernels.

It has no thread and takes no steps.
"""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from rtmbs.core.bounds import in_words
from rtmbs.errors import InputError, RtmbsError
from rtmbs.integrators.report import StepReport
from rtmbs.jit.compiled import listening
from rtmbs.model.shapes import Shapes
from rtmbs.simulation.pacing import Pacer
from rtmbs.state import State
from rtmbs.system.system import System
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame, Strip
from rtmbs.viewer.session.commands import (
    LOGGED,
    Command,
    Drag,
    Grab,
    Inspect,
    KeepHistory,
    LoadState,
    Loop,
    Pause,
    Play,
    Quit,
    Rebuild,
    Redo,
    Release,
    Reload,
    Reset,
    SaveResults,
    SaveState,
    Seek,
    SetInput,
    SetOption,
    SetSpeed,
    ShowReactions,
    StepBack,
    StepForward,
    Subscribe,
    Undo,
    checked_speed,
)
from rtmbs.viewer.session.connection import Kind, Message, Offer
from rtmbs.viewer.session.describe import describe
from rtmbs.viewer.session.disk_head import HISTORY
from rtmbs.viewer.session.disk_history import DiskHistory
from rtmbs.viewer.session.history import Changes, History, Pose
from rtmbs.viewer.session.mouse_spring import compiled_with_mouse_spring
from rtmbs.viewer.session.origin import Origin, free_name, options_of
from rtmbs.viewer.session.plotted import LiveChannels
from rtmbs.viewer.session.session import Session, same_default
from rtmbs.viewer.session.snapshot import LOOK_AHEAD, FrameBuilder, Timing, motion_ahead
from rtmbs.viewer.text import counted, error_details, error_place, error_sentence

SMALLER = "smaller step h"  # advice in the sentence of a failed step
EVERY = 0.2  # [s] between two sentences about the progress


class CompileNotice:
    """Messages about compiled kernels: the first one, their number, and by ``finished`` the time of all."""

    def __init__(self, tell: Callable[[Message], None]) -> None:
        self._tell = tell
        self._begun: float | None = None
        self._count, self._reported = 0, 0.0

    def begin(self, kernel: str) -> None:
        """Before a kernel is compiled; kernels it calls follow inside."""
        if self._begun is None:
            self._begun = time.perf_counter()
            self._tell(Message("busy", "compiling kernels; they are kept for the next time"))

    def end(self, kernel: str) -> None:
        """After a kernel was compiled."""
        self._count += 1
        now = time.perf_counter()
        if self._begun is not None and now - self._reported > EVERY:
            self._reported = now
            self._tell(Message("progress", f"compiling kernels: {self._count} in {now - self._begun:.0f} s"))

    def finished(self) -> None:
        """Say how long it took, when anything was compiled since the last call."""
        if self._begun is not None:
            seconds = time.perf_counter() - self._begun
            self._tell(Message("info", f"{self._count} kernels compiled in {seconds:.1f} s"))
            self._begun, self._count = None, 0

    def listening(self) -> Any:
        """Return the context in which it listens."""
        return listening(self.begin, self.end)


# ---- commands --------------------------------------------------------------------------------------------------------

NOTHING: Mapping[str, Any] = {}


class Outlet(Protocol):
    """Receiver of descriptions, frames and messages of a session; no method may wait."""

    def present(self, description: SceneDescription) -> Strip:
        """Show another mechanism, frames of its generation follow; return where its steps are to be written."""

    def publish(self, frame: Frame) -> None:
        """Replace the latest frame."""

    @property
    def taken(self) -> bool:
        """True when the window has taken the latest frame."""

    def tell(self, message: Message) -> None:
        """Pass a sentence on."""


class Controller:
    """Controller of a session: ``handle`` carries out a command between two steps; messages report on it.

    playing: steps are wanted as time goes by.  ahead: steps that were asked for and not yet taken.
    speed: simulated over wall time.  over: Quit has come.  stale: something changed since the last frame.
    built: called after every build, before the first step.
    """

    def __init__(
        self,
        origin: Origin,
        outlet: Outlet,
        *,
        mode: str = "thread",
        shapes: Mapping[str, Shapes] | None = None,
        history: tuple[int, int] | None = None,
        playing: bool = False,
        speed: float = 1.0,
        built: Callable[[], None] = lambda: None,
    ) -> None:
        self.origin, self.outlet, self.mode, self.shapes = origin, outlet, mode, shapes
        self._limits, self._built = history, built
        self.playing, self.ahead, self.speed = playing, 0, speed
        self.looping, self.reactions = False, False  # playing stays within the history; frames have reactions
        self.over, self.stale, self.published = False, True, -math.inf
        self.generation, self.pacer, self.taken = 0, Pacer(1.0), 0  # taken: commands, all those sent before them too
        self.notice = CompileNotice(outlet.tell)
        self.session: Session | None = None
        self.disk: DiskHistory | None = None

    def pause(self) -> None:
        """Pause the session."""
        self.playing, self.ahead, self.stale = False, 0, True
        self.timing.stop()

    def count(self, report: StepReport, seconds: float) -> None:
        """Note a step that took ``seconds``; one that failed pauses the session, with its sentence."""
        self.timing.add(seconds, report)
        self.stale = True
        if not report.outcome.accepted:
            self.pause()
            text = self.live.failure(report)
            self.tell("failure", text, offers=("back", "halve") if SMALLER in text else ("back",))

    def forward(self) -> None:
        """Go to the next step that is remembered, or in a loop from the newest to the oldest one.

        Nothing is computed, so nothing is measured.
        """
        if self.live.stored:
            self.live.forward()
        else:
            self.live.seek(self.live.history.oldest)
        self.stale = True

    def fail(self, error: Exception, stepping: bool = False) -> None:
        """Pause, and report an exception of a step or of a command."""
        if self.session is not None:
            self.pause()
        ways: tuple[Offer, ...] = ("back",) if stepping else ()
        details = error_details(error)
        self.tell("failure", error_sentence(error), details, ways + self._ways_out(details))

    def refuse(self, error: RtmbsError) -> None:
        """Report why a command was refused."""
        details = error_details(error)
        self.tell("warning", f"{error}{error_place(error)}", details, self._ways_out(details))

    def _ways_out(self, details: str) -> tuple[Offer, ...]:
        """Return the way out of a mistake in the user's own file, which ``details`` tell, or of a failed start."""
        gone = self.session is None
        return ("reload",) if gone or (details and self.origin.renewable) else ()

    # ---- commands ---------------------------------------------------------------------------------------------------

    def handle(self, command: Command) -> None:
        """Carry out a command. Raises RtmbsError for a refused one; then nothing has changed."""
        if isinstance(command, LOGGED):
            self._change(command)
        elif isinstance(command, Play):
            self._play()
        elif isinstance(command, Drag):
            self.pause()
            if message := self.live.drag(command):
                self.outlet.tell(message)
        elif isinstance(command, Undo | Redo):
            self._undo(isinstance(command, Redo))
        elif isinstance(command, Pause | StepForward):
            ahead = max(whole(command, command.n), 0) if isinstance(command, StepForward) else 0
            self.pause()
            self.ahead = ahead
        elif isinstance(command, StepBack):
            self._seek(self.live.step_number - whole(command, command.n))
        elif isinstance(command, Seek):
            self._seek(whole(command, command.step))
        elif isinstance(command, Loop):
            if self.mode == "manual":
                raise InputError("a program that steps its own Simulation decides what is played; it has no loop")
            self.looping = command.on
            if command.on:
                self._play()
            self.tell("info", "plays what is stored over and over" if command.on else "goes on at the end")
        elif isinstance(command, SetSpeed):
            self._set_speed(command.factor)
        elif isinstance(command, Reset | Reload | Rebuild):
            self._begin_again(command)
        elif isinstance(command, ShowReactions):
            self.reactions = self.frame_builder.reactions.wanted = command.on
        elif isinstance(command, Subscribe):
            self.frame_builder.recorder.subscribe(command.names, command.ticket)
        elif isinstance(command, Inspect):
            self.frame_builder.inspection.ask(command.names, command.ticket)
        elif isinstance(command, SaveResults | SaveState | LoadState):
            self._file(command)
        elif isinstance(command, KeepHistory):
            self._keep_history(command)
        elif isinstance(command, Quit):
            self.over = True
        else:
            raise InputError(f"{command!r} is no command; see rtmbs.viewer.session.commands")
        self.stale = True
        self.notice.finished()

    def _change(self, command: Command) -> None:
        if isinstance(command, SetOption | Grab | Release):
            self.timing.forget()  # steps of another kind cost another time
        if isinstance(command, Grab) and not self.live.spring_ready:
            self.tell("busy", "taking the mechanism in hand")
        if message := self.live.apply(command):
            self.outlet.tell(message)
        if isinstance(command, SetOption | Grab | Release):
            self.pacer.restart()  # what was built or compiled for it is no missed deadline
            self.timing.stop()

    def _undo(self, again: bool) -> None:
        """Take back the last change, or make it again; a pose pauses."""
        changes = self.live.changes
        waiting = changes.undone if again else changes.done
        if waiting and isinstance(waiting[-1], Pose):
            self.pause()
        if message := self.live.undo(again):
            self.outlet.tell(message)
        else:
            self.tell("info", f"nothing to {'redo' if again else 'undo'}")

    def _play(self) -> None:
        if not self.playing:
            self.playing = True
            self.pacer.restart()
            self.timing.stop()

    def _seek(self, step: int) -> None:
        self.pause()
        wanted = max(step, 0)
        self.live.seek(wanted)
        if self.live.step_number != wanted:
            self.tell("info", f"step {wanted} is not remembered; this is step {self.live.step_number}")

    def _set_speed(self, factor: float) -> None:
        self.speed = checked_speed(factor)
        self.timing.stop()

    def _begin_again(self, command: Reset | Reload | Rebuild) -> None:
        """Carry out Reset, Reload or Rebuild; a session that plays goes on playing."""
        self.timing.stop()
        if isinstance(command, Reset) or (isinstance(command, Reload) and not self.origin.renewable):
            self.live.restart(keep_inputs=isinstance(command, Reload))
            self.tell("info", "back at the start")
        else:
            changes = command.parameters if isinstance(command, Rebuild) else {}
            self.build(changes, options_of(self.sim), self.live.inputs_now())
        self.pacer.restart()

    def _restore_inputs(self, inputs: Mapping[str, Any], old: System | None) -> None:
        """Set inputs of the new model as they were, before its first frame.

        One that has another value in the new build than in ``old`` keeps that value; a missing one is reported.
        """
        for name, value in inputs.items():
            if old is None or same_default(name, old, self.live.base_sim.system):
                self._set(name, value)
            else:
                self.tell("info", f"{name} is that of the new mechanism")

    def _set(self, name: str, value: Any) -> None:
        """Set an input; one that cannot be set is reported."""
        try:
            self.live.apply(SetInput(name, value))
        except RtmbsError as error:
            self.tell("warning", str(error))

    def _file(self, command: SaveResults | SaveState | LoadState) -> None:
        """Read or write a file; the time for it does not count as a missed deadline."""
        try:
            if isinstance(command, SaveResults):
                result = self.live.result()
                result.save(command.path)
                self.tell("info", f"{len(result)} samples saved to {command.path}")
            elif isinstance(command, SaveState):
                self.live.plain_state.save(command.path)
                self.tell("info", f"state at t = {self.live.state.t:g} s saved to {command.path}")
            else:
                self.live.load(State.load(command.path))
                self.tell("info", f"state at t = {self.sim.t:g} s loaded from {command.path}")
        except OSError as error:
            self.tell("warning", f"{command.path}: {error.strerror or error}")
        self.pacer.resume()
        self.timing.stop()

    def _keep_history(self, command: KeepHistory) -> None:
        """Begin or end keeping the history on disk."""
        folder = command.folder or free_name(self.live.base_sim.system.name, HISTORY)
        disk = DiskHistory(folder, command.limit, partial(self.tell, "warning")) if command.limit else None
        self.live.history.keep_on(None)
        self.close()
        self.disk = disk
        self._start_disk_run()
        kept = f"kept in {folder}, {in_words(command.limit)} at most" if disk else "kept in memory only"
        self.tell("info", f"the history is {kept}")
        self.pacer.resume()

    def _start_disk_run(self) -> None:
        """Begin a run of the present history on the disk, where there is one."""
        if (disk := self.disk) is not None:
            live, scene = self.live, self.scene
            live.history.keep_on(disk, lambda: disk.begin(scene, live.base_sim))

    def close(self) -> None:
        """Write the rest to the disk, and end the thread."""
        if self.disk is not None:
            self.live.history.save()
            self.disk.close()
            self.disk = None

    # ---- building and publishing ------------------------------------------------------------------------------------

    def build(self, changes: dict[str, Any], options: dict[str, Any], inputs: Mapping[str, Any] = NOTHING) -> None:
        """Build the Simulation, its history and channels, and publish them; a failed build changes nothing.

        inputs: of the mechanism before, which are set again.
        """
        self.tell("busy", f"building {self.origin.name}")
        start = time.perf_counter()
        sim = self.origin.make(changes, options)
        model = self.origin.model
        with_spring = None if model is None else partial(compiled_with_mouse_spring, model)
        session = Session(sim, History(*self._limits) if self._limits else None, with_spring, self.mode != "manual")
        channels, timing = LiveChannels(sim.system, sim.equations.tables, sim.state), Timing()
        generation = self.generation + 1
        scene = describe(
            sim, channels.descriptions(), generation, self.mode, self.origin.parameters, self.shapes_for(sim)
        )
        scene = replace(scene, notes=dict(self.origin.notes))
        old = self.live.base_sim.system if self.session is not None and changes else None
        if self.session is not None:
            self.live.history.keep_on(None)  # the rest of the old run
        self.session, self.timing, self.scene = session, timing, scene
        self._start_disk_run()
        self.generation = generation
        strip = self.outlet.present(scene)
        self.frame_builder = FrameBuilder(session, channels, strip, timing, generation, self.reactions)
        self._restore_inputs(inputs, old)
        self.live.changes = Changes()
        self.publish()
        self._warm_up(scene)
        self._built()
        self.notice.finished()
        self.tell(
            "info", f"{self.origin.name}: {counted(len(scene.bodies) - 1, 'body')}, {time.perf_counter() - start:.1f} s"
        )

    def _warm_up(self, scene: SceneDescription) -> None:
        """Take steps and undo them: kernels are loaded or compiled before play, after the first picture.

        The steps also tell where the mechanism will be, so that a picture can hold its motion.
        """
        if self.mode == "manual":  # the Simulation belongs to a program that steps it
            return
        state = self.sim.state.copy()
        with suppress(Exception):  # what fails here fails again in play, and is reported then
            self.sim.step()
        self.sim.restore(state)
        if not self.sim.system.signals:  # functions of time are not asked about a future that may never come
            with suppress(Exception):
                self.frame_builder.way = motion_ahead(
                    self.sim, self.frame_builder.poses, scene, LOOK_AHEAD * self.speed
                )
        self.sim.restore(state)
        self.publish()

    def shapes_for(self, sim: Any) -> Mapping[str, Shapes] | None:
        """Return the user's shapes of bodies that this model has; a rebuilt one may have others."""
        if self.shapes is None or self.generation == 0:
            return self.shapes
        return {name: shape for name, shape in self.shapes.items() if name in sim.system.bodies}

    def publish(self) -> None:
        """Publish a frame of the present state."""
        self.stale, self.published = False, time.perf_counter()
        pacer = self.pacer
        self.outlet.publish(
            self.frame_builder.take(
                playing=self.playing,
                speed=self.speed,
                deadlines=pacer.deadlines,
                missed=pacer.missed,
                taken=self.taken,
                looping=self.looping,
                disk_limit=0.0 if self.disk is None else self.disk.limit,
            )
        )

    def tell(self, kind: Kind, text: str, details: str = "", offers: tuple[Offer, ...] = ()) -> None:
        """Pass a sentence on, with the present step and time."""
        step, t = (self.session.step_number, self.session.t) if self.session else (0, 0.0)
        self.outlet.tell(Message(kind, text, step, t, details, offers))

    @property
    def live(self) -> Session:
        """The session; there is one once ``run`` has built it."""
        assert self.session is not None
        return self.session

    @property
    def sim(self) -> Any:
        """The Simulation of the session."""
        return self.live.sim


def whole(command: Command, steps: Any) -> int:
    """Return a number of steps; InputError for one that is none."""
    if not isinstance(steps, int | np.integer) or isinstance(steps, bool):
        raise InputError(f"{type(command).__name__}: {steps!r} is no number of steps; it must be whole")
    return int(steps)
