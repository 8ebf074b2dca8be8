"""Mode "process": a session in a process of its own, so that drawing costs its steps nothing.

Commands go there through a queue; messages and descriptions come back through a pipe, frames through shared memory.
"""

import gc
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any

from rtmbs.errors import RtmbsError
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame, SharedFrames, Strip
from rtmbs.viewer.session.commands import Command, Quit
from rtmbs.viewer.session.connection import Inbox, Message, Settings
from rtmbs.viewer.session.origin import Origin, title

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

PATIENCE = 5.0  # [s] that ``close`` waits for the step under way, before it ends the process
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
        self._process.join(PATIENCE)
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
