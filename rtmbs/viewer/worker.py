"""The loop that owns a Simulation: commands between two steps, steps against the wall clock, frames to look at."""

import math
import queue
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from rtmbs.errors import InputError, RtmbsError
from rtmbs.pacing import Pacer
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
from rtmbs.viewer.describe import Shapes, describe
from rtmbs.viewer.description import SceneDescription
from rtmbs.viewer.frame import Frame
from rtmbs.viewer.history import History
from rtmbs.viewer.inbox import coalesced
from rtmbs.viewer.link import Kind, Message
from rtmbs.viewer.notice import CompileNotice
from rtmbs.viewer.origin import Origin, options_of
from rtmbs.viewer.session import Session
from rtmbs.viewer.snapshot import Photographer
from rtmbs.viewer.timing import Timing

RATE = 60.0  # frames a second at most
LIMIT = 500  # commands taken between two steps at most, so that a flood costs no deadline
LONG = 0.02  # [s] waits longer than this listen for commands
MARGIN = 0.01  # [s] of such a wait that is left to the pacer
IDLE = 0.5  # [s] after which a paused session looks whether anybody is left


class Outlet(Protocol):
    """Where a worker puts what it has to say; no verb may wait."""

    def present(self, description: SceneDescription) -> None:
        """Show another mechanism; frames of its generation follow."""

    def publish(self, frame: Frame) -> None:
        """Replace the latest frame."""

    def tell(self, message: Message) -> None:
        """Pass a sentence on."""


class Worker:
    """Runs one session until Quit. ``inbox`` is a queue of Commands, as ``queue.Queue`` or that of multiprocessing.

    wanted: asked now and then while idle; False ends the loop as Quit does.
    """

    def __init__(
        self,
        origin: Origin,
        inbox: Any,
        outlet: Outlet,
        *,
        mode: str = "thread",
        shapes: Shapes | None = None,
        history: tuple[int, int] | None = None,
        playing: bool = False,
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        self.origin, self.inbox, self.outlet, self.mode, self.shapes = origin, inbox, outlet, mode, shapes
        self._limits, self._wanted = history, wanted
        self._commands: deque[Command] = deque()
        self._playing, self._ahead, self._speed = playing, 0, 1.0
        self._over, self._stale, self._published = False, True, -math.inf
        self._generation, self._pacer = 0, Pacer(1.0)
        self._notice = CompileNotice(outlet.tell)
        self.session: Session | None = None

    # ---- the loop --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Build, then serve until Quit. A failed build ends it, with the sentence; nothing else does."""
        with self._notice.listening():
            try:
                self._build({}, {})
            except Exception as error:  # noqa: BLE001 (a person's factory may raise anything)
                self._tell("failure", told(error))
                return
            while not self._over:
                try:
                    self._turn()
                except RtmbsError as error:
                    self._tell("warning", str(error))
                except Exception as error:  # noqa: BLE001 (a person's functions may raise anything)
                    self._pause()
                    self._tell("failure", told(error))

    def _turn(self) -> None:
        """Take commands, then a step when one is due."""
        self._receive()
        while self._commands and not (self._ahead or self._over):
            self._handle(self._commands.popleft())
        if self._over:
            return
        if self._ahead:
            self._go_ahead()
        elif self._playing:
            self._keep_pace()
        self._publish_when_due()
        if not (self._playing or self._ahead or self._commands):
            self._listen(IDLE)
            self._over = self._over or not self._wanted()

    def _keep_pace(self) -> None:
        """Step at the next deadline, or listen for commands when it is far."""
        period = self.sim.h / self._speed
        if self._pacer.period != period:
            self._pacer = Pacer(period)
        if (remaining := self._pacer.remaining()) > LONG:
            self._listen(remaining - MARGIN)
            return
        self._pacer.wait()
        self._step()
        self._timing.mark(self.sim.t)

    def _go_ahead(self) -> None:
        """Take one of the steps that were asked for, unless they are called off."""
        if self._commands and isinstance(self._commands[0], Pause | Quit):
            self._ahead = 0
            return
        self._ahead -= 1
        self._step()

    def _step(self) -> None:
        """Take a step; one that fails pauses the session and leaves the last good state."""
        start = time.perf_counter()
        report = self.live.step()
        self._timing.add(time.perf_counter() - start, report)
        self._stale = True
        if not report.outcome.good:
            self._pause()
            self._tell("failure", self.live.failure(report))

    def _pause(self) -> None:
        self._playing, self._ahead, self._stale = False, 0, True
        self._timing.stop()

    # ---- commands --------------------------------------------------------------------------------------------------

    def _listen(self, seconds: float) -> None:
        """Wait for a command, but not longer than ``seconds``."""
        try:
            self._commands.append(self.inbox.get(timeout=seconds))
        except queue.Empty:
            return

    def _receive(self) -> None:
        """Take what has come, without waiting; of moves and settings that came together the last ones."""
        try:
            while len(self._commands) < LIMIT:
                self._commands.append(self.inbox.get_nowait())
        except queue.Empty:
            pass
        if len(self._commands) > 1:
            self._commands = deque(coalesced(self._commands))

    def _handle(self, command: Command) -> None:
        """Do what a command says; a refused one becomes a warning."""
        if isinstance(command, LOGGED):
            self._change(command)
        elif isinstance(command, Play):
            self._play()
        elif isinstance(command, Pause | StepForward):
            self._pause()
            self._ahead = max(command.n, 0) if isinstance(command, StepForward) else 0
        elif isinstance(command, StepBack | Seek):
            self._seek(self.live.step_number - command.n if isinstance(command, StepBack) else command.step)
        elif isinstance(command, SetSpeed):
            self._set_speed(command.factor)
        elif isinstance(command, Reset | Reload | Rebuild):
            self._begin_again(command)
        elif isinstance(command, Subscribe):
            self._photographer.plots.subscribe(command.names, command.ticket)
        elif isinstance(command, SaveResults | SaveState | LoadState):
            self._file(command)
        elif isinstance(command, Quit):
            self._over = True
        else:
            raise InputError(f"{command!r} is no command; see rtmbs.viewer.commands")
        self._stale = True
        self._notice.finished()

    def _change(self, command: Command) -> None:
        if message := self.live.apply(command):
            self.outlet.tell(message)

    def _play(self) -> None:
        if not self._playing:
            self._playing = True
            self._pacer.restart()
            self._timing.stop()

    def _seek(self, step: int) -> None:
        self._pause()
        wanted = max(step, 0)
        self.live.seek(wanted)
        if self.live.step_number != wanted:
            self._tell("info", f"step {wanted} is not remembered; this is step {self.live.step_number}")

    def _set_speed(self, factor: float) -> None:
        if not (isinstance(factor, float | int) and math.isfinite(factor) and factor > 0.0):
            raise InputError(f"speed is {factor!r}; it must be a positive number")
        self._speed = float(factor)
        self._timing.stop()

    def _begin_again(self, command: Reset | Reload | Rebuild) -> None:
        """Start anew, as Reset, Reload and Rebuild say; a session that plays goes on playing."""
        self._timing.stop()
        if isinstance(command, Reset):
            self.live.restart()
            self._tell("info", "back at the start")
        else:
            changes = command.parameters if isinstance(command, Rebuild) else {}
            inputs = self.live.inputs_set
            self._build(changes, options_of(self.sim))
            for name, value in inputs.items():
                self._set_again(name, value)
        self._pacer.restart()

    def _set_again(self, name: str, value: Any) -> None:
        """Set an input of the model as it was; one that is gone is told."""
        try:
            self.live.apply(SetInput(name, value))
        except RtmbsError as error:
            self._tell("warning", str(error))

    def _file(self, command: SaveResults | SaveState | LoadState) -> None:
        """Read or write a file; the time it takes counts as no missed deadline."""
        try:
            if isinstance(command, SaveResults):
                result = self.live.result()
                result.save(command.path)
                self._tell("info", f"{len(result)} samples saved to {command.path}")
            elif isinstance(command, SaveState):
                self.sim.state.save(command.path)
                self._tell("info", f"state at t = {self.sim.t:g} s saved to {command.path}")
            else:
                self.live.load(command.path)
                self._tell("info", f"state at t = {self.sim.t:g} s loaded from {command.path}")
        except OSError as error:
            self._tell("warning", f"{command.path}: {error.strerror or error}")
        self._pacer.restart()
        self._timing.stop()

    # ---- building and publishing -------------------------------------------------------------------------------------

    def _build(self, changes: dict[str, Any], options: dict[str, Any]) -> None:
        """Make the Simulation, and everything that hangs on it; when that fails all stays as it was."""
        self._tell("busy", f"building {self.origin.name}")
        start = time.perf_counter()
        sim = self.origin.make(changes, options)
        session = Session(sim, History(*self._limits) if self._limits else None)
        channels, timing = LiveChannels(sim.system, sim.equations.tables, sim.state), Timing()
        generation = self._generation + 1
        scene = describe(
            sim, channels.descriptions(), generation, self.mode, self.origin.parameters, self.shapes_for(sim)
        )
        photographer = Photographer(session, channels, timing, generation)
        self.session, self._timing, self._photographer = session, timing, photographer
        self._generation = generation
        self.outlet.present(scene)
        self._publish()
        self._warm_up()
        self._notice.finished()
        self._tell("info", f"{self.origin.name}: {scene.facts['bodies']} bodies, {time.perf_counter() - start:.1f} s")

    def _warm_up(self) -> None:
        """Take a step and undo it: kernels are loaded or compiled while nobody plays, after the first picture."""
        state = self.sim.state.copy()
        self.sim.step()
        self.sim.restore(state)

    def shapes_for(self, sim: Any) -> Shapes | None:
        """Return the person's shapes of bodies that this model has; a rebuilt one may have others."""
        if self.shapes is None or self._generation == 0:
            return self.shapes
        return {name: shape for name, shape in self.shapes.items() if name in sim.system.bodies}

    def _publish_when_due(self) -> None:
        moving = self._playing or self._ahead
        if self._stale and (not moving or time.perf_counter() - self._published >= 1.0 / RATE):
            self._publish()

    def _publish(self) -> None:
        self._stale, self._published = False, time.perf_counter()
        kept = self._pacer.punctuality()
        self.outlet.publish(
            self._photographer.take(
                playing=self._playing, speed=self._speed, deadlines=kept.deadlines, missed=kept.missed
            )
        )

    def _tell(self, kind: Kind, text: str) -> None:
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
