"""What the commands of a window do to a session: play, seek, build anew, save. Knows no thread, and does not step."""

import math
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from rtmbs.errors import InputError, RtmbsError
from rtmbs.integrators.report import StepReport
from rtmbs.simulation.pacing import Pacer
from rtmbs.state import State
from rtmbs.system.system import System
from rtmbs.viewer.carry import carried
from rtmbs.viewer.channels import LiveChannels
from rtmbs.viewer.commands import (
    LOGGED,
    Command,
    LoadState,
    Pause,
    Play,
    Quit,
    Rebuild,
    Reload,
    Reset,
    SaveResults,
    SaveState,
    Seek,
    SetInput,
    SetSpeed,
    StepBack,
    StepForward,
    Subscribe,
)
from rtmbs.viewer.connection import Kind, Message
from rtmbs.viewer.describe import Shapes, describe
from rtmbs.viewer.description import SceneDescription
from rtmbs.viewer.frame import Frame
from rtmbs.viewer.history import History
from rtmbs.viewer.notice import CompileNotice
from rtmbs.viewer.origin import Origin, options_of
from rtmbs.viewer.session import Session
from rtmbs.viewer.snapshot import Photographer
from rtmbs.viewer.timing import Timing


class Outlet(Protocol):
    """Where a session puts what it has to say; no verb may wait."""

    def present(self, description: SceneDescription) -> None:
        """Show another mechanism; frames of its generation follow."""

    def publish(self, frame: Frame) -> None:
        """Replace the latest frame."""

    def tell(self, message: Message) -> None:
        """Pass a sentence on."""


class Controller:
    """One session and what is said about it; ``handle`` does what a command says, between two steps.

    playing: steps are wanted as time goes by.  ahead: steps that were asked for and not yet taken.
    speed: simulated over wall time.  over: Quit has come.  stale: something changed since the last frame.
    built: called after every build, before anybody plays.
    """

    def __init__(
        self,
        origin: Origin,
        outlet: Outlet,
        *,
        mode: str = "thread",
        shapes: Shapes | None = None,
        history: tuple[int, int] | None = None,
        playing: bool = False,
        built: Callable[[], None] = lambda: None,
    ) -> None:
        self.origin, self.outlet, self.mode, self.shapes = origin, outlet, mode, shapes
        self._limits, self._built = history, built
        self.playing, self.ahead, self.speed = playing, 0, 1.0
        self.over, self.stale, self.published = False, True, -math.inf
        self.generation, self.pacer = 0, Pacer(1.0)
        self._plain_made: System | None = None
        self.notice = CompileNotice(outlet.tell)
        self.session: Session | None = None

    def pause(self) -> None:
        """Want no steps."""
        self.playing, self.ahead, self.stale = False, 0, True
        self.timing.stop()

    def count(self, report: StepReport, seconds: float) -> None:
        """Note a step that took ``seconds``; one that failed pauses the session, with its sentence."""
        self.timing.add(seconds, report)
        self.stale = True
        if not report.outcome.accepted:
            self.pause()
            self.tell("failure", self.live.failure(report))

    def fail(self, error: Exception) -> None:
        """Pause, and tell what was raised."""
        if self.session is not None:
            self.pause()
        self.tell("failure", told(error))

    # ---- commands ---------------------------------------------------------------------------------------------------

    def handle(self, command: Command) -> None:
        """Do what a command says. Raises RtmbsError for one that is refused; then nothing has changed."""
        if isinstance(command, LOGGED):
            self._change(command)
        elif isinstance(command, Play):
            self._play()
        elif isinstance(command, Pause | StepForward):
            self.pause()
            self.ahead = max(command.n, 0) if isinstance(command, StepForward) else 0
        elif isinstance(command, StepBack | Seek):
            self._seek(self.live.step_number - command.n if isinstance(command, StepBack) else command.step)
        elif isinstance(command, SetSpeed):
            self._set_speed(command.factor)
        elif isinstance(command, Reset | Reload | Rebuild):
            self._begin_again(command)
        elif isinstance(command, Subscribe):
            self.photographer.plots.subscribe(command.names, command.ticket)
        elif isinstance(command, SaveResults | SaveState | LoadState):
            self._file(command)
        elif isinstance(command, Quit):
            self.over = True
        else:
            raise InputError(f"{command!r} is no command; see rtmbs.viewer.commands")
        self.stale = True
        self.notice.finished()

    def _change(self, command: Command) -> None:
        if message := self.live.apply(command):
            self.outlet.tell(message)

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
        if not (isinstance(factor, float | int) and math.isfinite(factor) and factor > 0.0):
            raise InputError(f"speed is {factor!r}; it must be a positive number")
        self.speed = float(factor)
        self.timing.stop()

    def _begin_again(self, command: Reset | Reload | Rebuild) -> None:
        """Start anew, as Reset, Reload and Rebuild say; a session that plays goes on playing."""
        self.timing.stop()
        if isinstance(command, Reset) or (isinstance(command, Reload) and not self.origin.renewable):
            self.live.restart(keep_inputs=isinstance(command, Reload))
            self.tell("info", "back at the start")
        else:
            changes = command.parameters if isinstance(command, Rebuild) else {}
            inputs = self.live.inputs_set
            self.build(changes, options_of(self.sim))
            for name, value in inputs.items():
                self._set_again(name, value)
        self.pacer.restart()

    def _set_again(self, name: str, value: Any) -> None:
        """Set an input of the model as it was; one that is gone is told."""
        try:
            self.live.apply(SetInput(name, value))
        except RtmbsError as error:
            self.tell("warning", str(error))

    def _file(self, command: SaveResults | SaveState | LoadState) -> None:
        """Read or write a file; the time it takes counts as no missed deadline."""
        try:
            if isinstance(command, SaveResults):
                result = self.live.result()
                result.save(command.path)
                self.tell("info", f"{len(result)} samples saved to {command.path}")
            elif isinstance(command, SaveState):
                self._plain(self.sim.state).save(command.path)
                self.tell("info", f"state at t = {self.sim.t:g} s saved to {command.path}")
            else:
                self.live.load(self._with_mouse_spring(State.load(command.path)))
                self.tell("info", f"state at t = {self.sim.t:g} s loaded from {command.path}")
        except OSError as error:
            self.tell("warning", f"{command.path}: {error.strerror or error}")
        self.pacer.restart()
        self.timing.stop()

    def _plain(self, state: State) -> State:
        """Return the state as one of the model without a mouse spring, which the user's programs can load."""
        system = self._plain_system()
        return state if system is None else carried(state, self.sim.system, system)

    def _with_mouse_spring(self, state: State) -> State:
        """Return a state of either model as one of the session."""
        own = self.sim.system
        if state.fingerprint == own.fingerprint or (system := self._plain_system()) is None:
            return state
        return carried(state, system, own)

    def _plain_system(self) -> System | None:
        """Return the System of the model as it was written, compiled when it is first needed."""
        if self.origin.model is not None and self._plain_made is None:
            self._plain_made = self.origin.model.compile()
        return self._plain_made

    # ---- building and publishing ------------------------------------------------------------------------------------

    def build(self, changes: dict[str, Any], options: dict[str, Any]) -> None:
        """Make the Simulation and everything that hangs on it, and publish; when that fails all stays as it was."""
        self.tell("busy", f"building {self.origin.name}")
        start = time.perf_counter()
        sim = self.origin.make(changes, options)
        session = Session(sim, History(*self._limits) if self._limits else None)
        channels, timing = LiveChannels(sim.system, sim.equations.tables, sim.state), Timing()
        generation = self.generation + 1
        scene = describe(
            sim, channels.descriptions(), generation, self.mode, self.origin.parameters, self.shapes_for(sim)
        )
        photographer = Photographer(session, channels, timing, generation)
        self.session, self.timing, self.photographer = session, timing, photographer
        self._plain_made = None
        self.generation = generation
        self.outlet.present(scene)
        self.publish()
        self._warm_up()
        self._built()
        self.notice.finished()
        self.tell("info", f"{self.origin.name}: {scene.facts['bodies']} bodies, {time.perf_counter() - start:.1f} s")

    def _warm_up(self) -> None:
        """Take a step and undo it: kernels are loaded or compiled while nobody plays, after the first picture."""
        if self.mode == "manual":  # the Simulation belongs to a program that steps it
            return
        state = self.sim.state.copy()
        with suppress(Exception):  # what fails here fails again when somebody plays, and is told then
            self.sim.step()
        self.sim.restore(state)

    def shapes_for(self, sim: Any) -> Shapes | None:
        """Return the user's shapes of bodies that this model has; a rebuilt one may have others."""
        if self.shapes is None or self.generation == 0:
            return self.shapes
        return {name: shape for name, shape in self.shapes.items() if name in sim.system.bodies}

    def publish(self) -> None:
        """Publish a frame of the present state."""
        self.stale, self.published = False, time.perf_counter()
        pacer = self.pacer
        self.outlet.publish(
            self.photographer.take(
                playing=self.playing, speed=self.speed, deadlines=pacer.deadlines, missed=pacer.missed
            )
        )

    def tell(self, kind: Kind, text: str) -> None:
        """Pass a sentence on, with the present step and time."""
        step, t = (self.session.step_number, self.session.sim.t) if self.session else (0, 0.0)
        self.outlet.tell(Message(kind, text, step, t))

    @property
    def live(self) -> Session:
        """The session; there is one once ``run`` has built it."""
        assert self.session is not None
        return self.session

    @property
    def sim(self) -> Any:
        """The Simulation of the session."""
        return self.live.sim


def told(error: BaseException) -> str:
    """Return what an error says, with the place when it is not one of ours."""
    notes = "; ".join(getattr(error, "__notes__", ()))
    text = f"{error}{'; ' + notes if notes else ''}"
    if isinstance(error, RtmbsError):
        return text
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({last[0].filename}:{last[0].lineno})" if last else ""
    return f"{type(error).__name__}: {text}{where}"
