"""Session loops: the worker of the modes "process" and "thread", and the Connection of mode "manual"."""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from rtmbs.errors import InputError, RtmbsError
from rtmbs.integrators.report import StepReport
from rtmbs.simulation import Simulation
from rtmbs.simulation.pacing import Pacer
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Strip
from rtmbs.viewer.session.commands import Command, Pause, Quit, Reload, coalesced
from rtmbs.viewer.session.connection import LocalConnection, Settings
from rtmbs.viewer.session.controller import Controller, Outlet
from rtmbs.viewer.session.origin import FromSimulation, Origin, title

RATE = 60.0  # frames a second at most
UNSEEN = 20.0  # frames a second while the window takes none: a frame costs as much as two steps
LIMIT = 500  # commands taken between two steps at most, so that a flood costs no deadline
LONG = 0.02  # [s] waits longer than this listen for commands
MARGIN = 0.01  # [s] of such a wait that is left to the pacer
IDLE = 0.5  # [s] after which a paused session checks that its window is alive


class Worker:
    """Loop of a session: takes commands and steps until Quit.

    inbox: a queue of Commands, as ``queue.SimpleQueue`` or that of multiprocessing.  options: of Controller.
    wanted: asked now and then; False ends the loop as Quit does.
    """

    def __init__(
        self, origin: Origin, inbox: Any, outlet: Outlet, *, wanted: Callable[[], bool] = lambda: True, **options: Any
    ) -> None:
        self.controller = Controller(origin, outlet, **options)
        self._inbox, self._wanted = inbox, wanted
        self._commands: deque[Command] = deque()
        self._received = 0
        self._looked = time.perf_counter()

    def run(self) -> None:
        """Build, then serve until Quit. A failed build ends it, with the sentence; nothing else does."""
        controller = self.controller
        with controller.notice.listening():
            try:
                controller.build({}, {})
            except Exception as error:  # noqa: BLE001 (the user's factory may raise anything)
                controller.fail(error)
                return
            try:
                self._serve()
            finally:
                controller.close()

    def _serve(self) -> None:
        """Take turns until Quit."""
        controller = self.controller
        while not controller.over:
            try:
                self.turn()
            except RtmbsError as error:
                controller.refuse(error)
                controller.stale = True  # a frame says what was taken
            except Exception as error:  # noqa: BLE001 (the user's code may raise anything)
                controller.fail(error)
                controller.stale = True

    def turn(self) -> None:
        """Take commands, then a step when one is due."""
        controller = self.controller
        self._receive()
        while self._commands and not (controller.ahead or controller.over):
            command = self._commands.popleft()
            if not self._commands:
                controller.taken = self._received
            controller.handle(command)
        if controller.over:
            return
        if controller.ahead:
            self._go_ahead()
        elif controller.playing:
            self._keep_pace()
        moving = controller.playing or controller.ahead > 0
        if controller.stale and (not moving or self._frame_due()):
            controller.publish()
        if not (moving or self._commands):
            self._listen(IDLE)
        self._check_window()

    def _frame_due(self) -> bool:
        """True when a frame is to be published while steps are taken."""
        since = time.perf_counter() - self.controller.published
        return since >= 1.0 / RATE and (since >= 1.0 / UNSEEN or self.controller.outlet.taken)

    def _keep_pace(self) -> None:
        """Step at the next deadline, or listen for commands when it is far."""
        controller = self.controller
        period = controller.sim.h / controller.speed
        if controller.pacer.period != period:
            controller.pacer = Pacer(period)
        if (remaining := controller.pacer.remaining()) > LONG:
            self._listen(remaining - MARGIN)
            return
        controller.pacer.wait()
        controller.timing.add_lateness(period - controller.pacer.remaining())
        self._step()
        if controller.playing:
            controller.timing.mark(controller.live.t)

    def _go_ahead(self) -> None:
        """Take one of the requested steps, unless a Pause or Quit waits."""
        if self._commands and isinstance(self._commands[0], Pause | Quit):
            self.controller.ahead = 0
            return
        self.controller.ahead -= 1
        self._step()

    def _step(self) -> None:
        """Take a step; one that fails, or raises, pauses the session and leaves the last good state."""
        controller, live = self.controller, self.controller.live
        if live.stored or (controller.looping and controller.playing):
            controller.forward()
            return
        start = time.perf_counter()
        try:
            report = live.advance()
            seconds = time.perf_counter() - start
            live.record_step(report)
        except Exception as error:  # noqa: BLE001 (the user's functions may raise anything)
            controller.fail(error, stepping=True)
            return
        controller.count(report, seconds)

    def _listen(self, seconds: float) -> None:
        """Wait for a command, but not longer than ``seconds``."""
        try:
            self._commands.append(self._inbox.get(timeout=min(seconds, IDLE)))
            self._received += 1
        except queue.Empty:
            return

    def _receive(self) -> None:
        """Take the waiting messages; of moves and settings that came together the last ones."""
        try:
            while len(self._commands) < LIMIT:
                self._commands.append(self._inbox.get_nowait())
                self._received += 1
        except queue.Empty:
            pass
        if len(self._commands) > 1:
            self._commands = deque(coalesced(self._commands))

    def _check_window(self) -> None:
        """End the session when its window has gone; write new history to disk."""
        now = time.perf_counter()
        if now - self._looked > IDLE:
            self._looked = now
            self.controller.live.history.save_new_moments()
            self.controller.over = self.controller.over or not self._wanted()


# ---- a worker in a thread of this process ----------------------------------------------------------------------------

PATIENCE = 5.0  # [s] that ``close`` waits for the step under way


class ThreadConnection(LocalConnection):
    """A Connection and the Outlet of its worker in one: both sides see the same attributes.

    ``origin`` makes the Simulation, in the thread; ``options`` are those of Worker.
    """

    def __init__(self, origin: Origin, **options: Any) -> None:
        super().__init__()
        self._origin, self._options, self._settings = origin, options, Settings(title(origin.name))
        self._start()

    def _start(self) -> None:
        self._inbox: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._described = threading.Event()
        self._forget()
        worker = Worker(self._origin, self._inbox, self, **self._options)
        self._thread = threading.Thread(target=self._run, args=(worker,), name="rtmbs session", daemon=True)
        self._thread.start()

    # ---- the window's side ------------------------------------------------------------------------------------------

    def describe(self) -> SceneDescription:
        self._described.wait()
        if self._scene is None:
            raise RtmbsError(self.failure_text() or "the session ended")
        return self._scene

    def send(self, command: Command) -> None:
        command = self._settings.note(command)
        self._inbox.put(command)

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def restart(self) -> None:
        self.close()
        self._messages.clear()
        commands = self._settings.again(self._scene, self._frame)
        self._origin, self._options["playing"] = self._origin.with_parameters(self._settings.built), False
        self._start()
        for command in commands:
            self._inbox.put(command)

    def close(self) -> None:
        self._inbox.put(Quit())
        self._thread.join(PATIENCE)

    # ---- the worker's side ------------------------------------------------------------------------------------------

    def present(self, description: SceneDescription) -> Strip:
        strip = super().present(description)
        self._described.set()
        return strip

    def _run(self, worker: Worker) -> None:
        try:
            worker.run()
        finally:
            self._described.set()  # ends the wait for a description that will not come


# ---- mode manual -----------------------------------------------------------------------------------------------------


class ManualConnection(LocalConnection):
    """Connection without a thread; ``options`` are those of Controller. It plays from the start by default."""

    def __init__(self, sim: Simulation, *, playing: bool = True, **options: Any) -> None:
        super().__init__()
        self._commands: deque[Command] = deque()
        self._asked = time.perf_counter()
        self._controller = Controller(FromSimulation(sim), self, mode="manual", playing=playing, **options)
        self._controller.build({}, {})

    # ---- the program's side -----------------------------------------------------------------------------------------

    def should_step(self) -> bool:
        """Apply commands; True when the program is to take one step now, and ``sync`` it."""
        controller = self._controller
        commands, self._commands = coalesced(self._commands), deque()
        while commands and not (controller.ahead or controller.over):
            self._handle(commands.pop(0))
        self._commands.extendleft(reversed(commands))
        if controller.stale:
            controller.publish()
        wanted = not controller.over and (controller.playing or controller.ahead > 0)
        if wanted and controller.ahead:
            controller.ahead -= 1
        self._asked = time.perf_counter()
        return wanted

    def sync(self, sim: Simulation, report: StepReport | None = None) -> None:
        """Publish the present state of ``sim``. ``report``: of its step; None after another change.

        The time since ``should_step`` counts as that of the step. Raises InputError for another Simulation.
        """
        controller = self._controller
        if sim is not controller.sim:
            raise InputError("sync: this is not the Simulation that the viewer was opened with")
        if report is not None:
            seconds = time.perf_counter() - self._asked
            controller.live.record_step(report)
            controller.count(report, seconds)
        if controller.playing:
            controller.timing.mark(sim.t)
        controller.publish()

    @property
    def over(self) -> bool:
        """True once the window was closed."""
        return self._controller.over

    def _handle(self, command: Command) -> None:
        try:
            self._controller.handle(command)
        except RtmbsError as error:
            self._controller.refuse(error)

    # ---- the window's side ------------------------------------------------------------------------------------------

    def describe(self) -> SceneDescription:
        assert self._scene is not None
        return self._scene

    def send(self, command: Command) -> None:
        self._commands.append(command)

    @property
    def ended(self) -> bool:
        return False

    def restart(self) -> None:
        self.send(Reload())

    def close(self) -> None:
        self._controller.handle(Quit())
        self._controller.close()
