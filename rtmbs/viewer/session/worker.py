"""Modes of a session: its loop in a process or a thread of its own, or in the loop of the user ("manual").

In a process of its own drawing costs the steps nothing. Commands go there through a queue. Messages and descriptions
come back through a pipe, and frames through shared memory.
"""

import gc
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any

from rtmbs.errors import InputError, RtmbsError
from rtmbs.integrators.report import StepReport
from rtmbs.simulation import Simulation
from rtmbs.simulation.pacing import Pacer
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame, SharedFrames, Strip
from rtmbs.viewer.session.commands import Command, Pause, Quit, Reload, coalesced
from rtmbs.viewer.session.connection import Inbox, LocalConnection, Message, Settings
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


DRAIN = 1.0  # [s] that the end of a process waits for a window that reads no more


class Outgoing:
    """The writing end of a pipe; ``put`` never waits.

    A pipe has one writer, so its reader gets the end of the file when this process ends, within a message too.
    """

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self._pipe = pipe
        self._waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._send, name="rtmbs outgoing", daemon=True)
        self._thread.start()

    def put(self, said: Any) -> None:
        """Queue a message for the pipe."""
        self._waiting.put(said)

    def close(self) -> None:
        """Send the remaining messages, as far as they are read in time."""
        self._waiting.put(None)
        self._thread.join(DRAIN)

    def _send(self) -> None:
        with suppress(OSError):  # the window is gone
            while (said := self._waiting.get()) is not None:
                try:
                    self._pipe.send(said)
                except (pickle.PicklingError, TypeError, AttributeError) as error:
                    why = f"what the session says cannot be sent to the window ({error})"
                    self._pipe.send(Message("failure", f"{why}; mode 'thread' needs no sending"))


# ---- the connection --------------------------------------------------------------------------------------------------

LAST_WAIT = 5.0  # [s] that ``close`` waits for the step under way, before it ends the process
RETIRED = 2  # memories of earlier builds that are kept
LOOK = 0.1  # [s] between two looks whether a process that is still building lives


def pickling_error(origin: Origin, options: dict[str, Any]) -> str:
    """Return why an origin and its options cannot be pickled, "" when they can."""
    try:
        pickle.dumps((origin, options))
    except Exception as error:  # noqa: BLE001 (parts of a model may raise anything)
        return f"{type(error).__name__}: {error}"
    return ""


class ProcessConnection(Inbox):
    """A Connection to a worker in another process, which is started afresh (spawn).

    ``origin`` makes the Simulation there. It and the ``options`` of Worker must go through pickle: ``pickling_error``.
    """

    def __init__(self, origin: Origin, **options: Any) -> None:
        super().__init__()
        self._origin, self._options, self._settings = origin, options, Settings(title(origin.name))
        self._start()

    def _start(self) -> None:
        context, origin, options = multiprocessing.get_context("spawn"), self._origin, self._options
        self._inbox = context.Queue()
        self._outbox, theirs = context.Pipe(duplex=False)
        self._process = context.Process(
            target=serve, args=(origin, self._inbox, theirs, options), name="rtmbs session", daemon=True
        )
        with handled(signal.SIG_IGN):  # the new process inherits this: Ctrl+C in a terminal reaches both
            self._process.start()
        theirs.close()  # the end of a killed process is then the end of the pipe
        self._scene: SceneDescription | None = None
        self._frames: SharedFrames | None = None
        self._frame: Frame | None = None
        self._strip: Strip | None = None
        self._names: list[str] = []  # of the memories that the worker made
        self._number: tuple[int, int] = (-1, 0)
        self._messages.clear()
        self._failed = self._ended = self._closed = False  # failed: before anything was built

    @property
    def pid(self) -> int:
        """Number of the session's process."""
        return self._process.pid or 0

    def describe(self) -> SceneDescription:
        while self._scene is None:
            alive = self._process.is_alive()
            self._read(LOOK if alive else 0.0)
            if self._scene is None and not alive:
                raise RtmbsError(self.failure_text() or exit_sentence(self._process.exitcode))
        self._read(0.0)
        return self._scene

    def send(self, command: Command) -> None:
        command = self._settings.note(command)
        if not self._closed:
            self._inbox.put(command)

    def latest(self) -> Frame | None:
        self._read(0.0)
        if self._frames is not None and (number := self._frames.number()) != self._number:
            frame = self._frames.read()
            if frame is not None:
                self._frame, self._number = frame, number
        return self._frame

    def strip(self) -> Strip | None:
        return self._strip

    def messages(self) -> list[Message]:
        self._read(0.0)
        if not (self._ended or self._closed or self._process.is_alive()):
            self._read(0.0)  # what it said last
            self._ended = True
            if not self._failed:
                self._messages.append(self._exit_message())
        return super().messages()

    def _exit_message(self) -> Message:
        """Return the message about an ended process, with its last step and time."""
        step, t = (0, 0.0) if self._frame is None else (self._frame.step, self._frame.t)
        return Message("failure", exit_sentence(self._process.exitcode), step, t, offers=("reload",))

    @property
    def ended(self) -> bool:
        return self._failed or self._ended

    def restart(self) -> None:
        scene, frame = self._scene, self._frame
        self.close()
        commands = self._settings.again(scene, frame)
        self._origin, self._options["playing"] = self._origin.with_parameters(self._settings.built), False
        self._start()
        for command in commands:
            self._inbox.put(command)

    def close(self) -> None:
        if self._closed:
            return
        self._inbox.put(Quit())
        self._process.join(LAST_WAIT)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join()
        if self._process.exitcode != 0:
            self._remove_memory()
        self._closed = True
        self._inbox.cancel_join_thread()
        for one in (self._inbox, self._outbox, self._frames, self._strip):
            if one is not None:
                one.close()
        self._frames = self._strip = None

    def _remove_memory(self) -> None:
        """Remove the memory of a worker that had no time to do so."""
        self._read(0.0)  # names that it told last
        for name in self._names:
            with suppress(FileNotFoundError):
                memory = SharedMemory(name)
                memory.close()
                memory.unlink()

    def _read(self, seconds: float) -> None:
        """Read messages of the worker; wait for the first up to ``seconds``."""
        if self._closed:
            return
        try:
            while self._outbox.poll(seconds):
                said, seconds = self._outbox.recv(), 0.0
                if isinstance(said, Message):
                    self._messages.append(said)
                    self._failed = self._failed or (said.kind == "failure" and self._scene is None)
                else:
                    self._show(*said)
        except (OSError, EOFError):  # the process is gone
            return

    def _show(self, scene: SceneDescription, frames: str, strip: str) -> None:
        """Take over the memory of another mechanism's frames and steps, by their names."""
        old = (self._frames, self._strip)
        self._names += [frames, strip]
        self._frames, self._strip = SharedFrames(scene.layout, frames), Strip(name=strip)
        self._scene, self._number = scene, (-1, 0)
        for one in old:
            if one is not None:
                one.close()


def exit_sentence(code: int | None) -> str:
    """Return the message about an exit code: an end by itself or by a signal."""
    if code is not None and code < 0:
        how = f"was ended by signal {-code} ({signal.strsignal(-code)})"
    else:
        how = f"ended with code {code}"
    return f"the session's process {how}; reload (Ctrl+L) starts it again"


class Sender:
    """The Outlet of a worker that lives in another process than the window."""

    def __init__(self, outbox: Outgoing) -> None:
        self._outbox = outbox
        self._frames: SharedFrames | None = None
        self._memories: list[SharedFrames | Strip] = []

    def present(self, description: SceneDescription) -> Strip:
        while len(self._memories) > 2 * RETIRED:  # a window may still be opening those of the last builds
            self._memories.pop(0).close()
        self._frames, strip = SharedFrames(description.layout), Strip(shared=True)
        self._memories += [self._frames, strip]
        self._outbox.put((description, self._frames.name, strip.name))
        return strip

    def publish(self, frame: Frame) -> None:
        if self._frames is not None:
            self._frames.publish(frame)

    @property
    def taken(self) -> bool:
        return self._frames is not None and self._frames.taken

    def tell(self, message: Message) -> None:
        self._outbox.put(message)

    def close(self) -> None:
        """Remove the shared memory once the window has released it or has ended."""
        for memory in self._memories:
            memory.close()


def freeze_garbage() -> None:
    """Exclude the objects of a build from garbage collection: a pass over them takes longer than a step may."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def serve(origin: Origin, inbox: Any, outbox: Any, options: dict[str, Any]) -> None:
    """Run a worker until Quit, or until the process that started this one is gone."""
    start = time.perf_counter()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the window's process decides, and may have started this in a thread
    outgoing = Outgoing(outbox)
    sender = Sender(outgoing)
    parent = multiprocessing.parent_process()
    sender.tell(Message("busy", f"loading the compiled kernels in process {os.getpid()}"))
    from rtmbs.viewer.session.worker import Worker  # numba and the kernels: half of the time until the first picture

    sender.tell(Message("info", f"kernels loaded in {time.perf_counter() - start:.1f} s"))

    def wanted() -> bool:
        return parent is None or parent.is_alive()

    worker = Worker(origin, inbox, sender, mode="process", wanted=wanted, built=freeze_garbage, **options)
    try:
        worker.run()
    finally:
        outgoing.close()
        sender.close()


@contextmanager
def handled(handler: Any) -> Iterator[None]:
    """Handle SIGINT by ``handler`` for a while; in another thread than the main one nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)
