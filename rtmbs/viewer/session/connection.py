"""Connection of a window to a session: messages, the latest frame, settings; and a session in a process of its own.

A session that takes the place of another one is opened by ``PendingConnection`` and gets the commands of ``Settings``.
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
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection as Pipe
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from rtmbs.errors import RtmbsError
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame, SharedFrames, Strip
from rtmbs.viewer.session.commands import (
    Command,
    Inspect,
    KeepHistory,
    Key,
    Quit,
    Rebuild,
    SetInput,
    SetOption,
    SetSpeed,
    ShowReactions,
    Subscribe,
    key_of,
)
from rtmbs.viewer.session.disk_head import HISTORY
from rtmbs.viewer.session.origin import Origin, free_name, title

Kind = Literal["log", "info", "busy", "progress", "warning", "failure"]
Offer = Literal["back", "reload", "halve"]  # ways out of a failure: steps back, a new build, half the step h
MESSAGES = 1000  # kept at most until they are read


@dataclass(frozen=True)
class Message:
    """A sentence for the user.

    log: a command took effect.  info: something was done.  busy: something that takes seconds has begun; the next
    message says how it ended.  progress: how far it is.  warning: a command was refused.  failure: a step failed, or
    the session ended.  offers: what the user may do about it.
    """

    kind: Kind
    text: str
    step: int = 0  # step at which it happened
    t: float = 0.0  # [s]
    details: str = ""  # the traceback through the user's own files
    offers: tuple[Offer, ...] = ()


class Connection(Protocol):
    """Interface of a window to a session. No method waits for a step; ``describe`` may wait for the first build."""

    @property
    def ended(self) -> bool:
        """True when the session is gone, or was never built: only ``restart`` helps."""

    def describe(self) -> SceneDescription:
        """Return the description of the mechanism that frames now belong to.

        Waits until the first one is there; raises RtmbsError with the sentence of the failure when none will come.
        """

    def send(self, command: Command) -> None:
        """Queue a command; it takes effect between two steps."""

    def latest(self) -> Frame | None:
        """Return the last published frame, the same object again when nothing new came; None before the first."""

    def strip(self) -> Strip | None:
        """Return the strip of plotted rows, one a step; None before the first description. Not to be kept."""

    def messages(self) -> list[Message]:
        """Return the messages since the last call, oldest first."""

    def restart(self) -> None:
        """Start the session anew, also after its end; inputs, options and parameters that were set are set again.

        Frames and descriptions begin anew, so a reader forgets those that it has.
        """

    def close(self) -> None:
        """End the session and free its memory; a second call does nothing."""


class Inbox:
    """Messages of a session until the window reads them; only the last ``MESSAGES`` are kept. Any thread may add."""

    def __init__(self) -> None:
        self._messages: deque[Message] = deque(maxlen=MESSAGES)

    def tell(self, message: Message) -> None:
        """Add a message."""
        self._messages.append(message)

    def messages(self) -> list[Message]:
        """Return the messages since the last call, oldest first."""
        found: list[Message] = []
        while self._messages:
            found.append(self._messages.popleft())
        return found

    def failure_text(self) -> str:
        """Return the texts of the unread failure messages in one sentence."""
        return "; ".join(message.text for message in self._messages if message.kind == "failure")


class LocalConnection(Inbox):
    """Base of Connections within one process: Connection and Outlet at once."""

    def __init__(self) -> None:
        super().__init__()
        self._forget()

    def _forget(self) -> None:
        """Begin without a mechanism and a frame."""
        self._scene: SceneDescription | None = None
        self._frame: Frame | None = None
        self._strip: Strip | None = None
        self.taken = False  # whether the window has the latest frame

    def latest(self) -> Frame | None:
        self.taken = True
        return self._frame

    def strip(self) -> Strip | None:
        return self._strip

    def present(self, description: SceneDescription) -> Strip:
        """Show another mechanism; return where its steps are to be written."""
        self._scene, strip = description, Strip()
        self._strip = strip
        return strip

    def publish(self, frame: Frame) -> None:
        """Replace the latest frame."""
        self._frame, self.taken = frame, False


# ---- the frame that is drawn next ------------------------------------------------------------------------------------

DRAWN = 0.032  # [s] between pictures of a motion without a graphics card: drawing takes memory and cache from the steps
RATE_WINDOW = 1.0  # [s] over which pictures are counted


class FrameSelector:
    """Selector of the frame that is drawn next: newer than the last one, and not too soon after it."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._drawn = 0.0  # when the last picture was drawn
        self._counted, self._counted_at = 0, clock()
        self.rate = 0.0  # pictures a second

    def frame(self, connection: Connection, shown: Frame | None, saving: bool) -> Frame | None:
        """Return a frame that ``shown`` is older than, None when there is none or when it comes too soon.

        saving: a motion has fewer pictures, without a graphics card and outside of recordings.
        The last frame of a session that has ended is shown as paused.
        """
        moving = shown is not None and shown.playing
        if saving and moving and not connection.ended and self._clock() - self._drawn < DRAWN:
            return None
        frame = connection.latest()
        if connection.ended and frame is not None and frame.playing:
            known = shown is not None and not shown.playing and number(shown) == number(frame)
            return None if known else replace(frame, playing=False, looping=False, actual_speed=0.0)
        return None if frame is shown else frame

    def drew(self) -> None:
        """Note that a picture is drawn."""
        self._drawn = self._clock()

    def again(self) -> None:
        """Draw the next frame without the least time between pictures."""
        self._drawn = 0.0

    def count(self, pictures: int) -> None:
        """Note how many pictures were drawn so far."""
        since = self._clock() - self._counted_at
        if since > RATE_WINDOW:
            self.rate = (pictures - self._counted) / since
            self._counted, self._counted_at = pictures, self._clock()


def number(frame: Frame) -> tuple[int, int]:
    """Return the key of a frame: no two frames of a connection share it."""
    return frame.generation, frame.number


# ---- a session that is being opened ----------------------------------------------------------------------------------


class PendingConnection:
    """A connection whose first frame is awaited, without blocking the window."""

    def __init__(self) -> None:
        self.coming: Connection | None = None

    def begin(self, connection: Connection) -> None:
        """Wait for this one; one that was waited for is closed."""
        if self.coming is not None:
            close_in_thread(self.coming)
        self.coming = connection

    def poll(self) -> tuple[Connection | None, list[Message]]:
        """Return the connection when its first frame is there, and the error when none will come."""
        coming = self.coming
        if coming is None:
            return None, []
        if coming.latest() is not None:
            self.coming = None
            return coming, []
        if not coming.ended:
            return None, []
        self.coming = None
        failures = [message for message in coming.messages() if message.kind == "failure"]
        close_in_thread(coming)
        return None, failures

    def close(self) -> None:
        """Wait for nothing any more."""
        if self.coming is not None:
            self.coming.close()
            self.coming = None


def close_in_thread(connection: Connection) -> None:
    """Close a connection without waiting for the step under way."""
    threading.Thread(target=connection.close, name="rtmbs closing").start()


# ---- settings for the next session -----------------------------------------------------------------------------------

SETTINGS = (SetInput, SetOption, SetSpeed, Subscribe, KeepHistory, ShowReactions, Inspect)
KEPT = 20  # earlier commands of a kind that are remembered


class Settings:
    """The last of each kind of setting among the commands that were sent; ``name`` is that of the mechanism.

    built: parameters that the mechanism stood with last, of those that were asked for.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._sent = 0  # commands to the present session
        self._last: dict[Key, tuple[int, Command]] = {}  # with the number of the command
        self._histories: list[KeepHistory] = []  # that were asked for, the last ones
        self._asked: dict[str, list[Any]] = {}  # values of each parameter that builds were asked for with
        self.built: dict[str, Any] = {}

    def note(self, command: Command) -> Command:
        """Look at a command, and return it as it is to be sent.

        A history without a folder gets one here, so that the next session goes on in the same folder.
        """
        self._sent += 1
        if isinstance(command, KeepHistory):
            if command.limit and not command.folder:
                command = replace(command, folder=free_name(self._name, HISTORY))
            self._histories = [*self._histories[-KEPT:], command]
        if isinstance(command, Rebuild):
            for name, value in command.parameters.items():
                self._asked[name] = [*self._asked.get(name, [])[-KEPT:], value]
        elif isinstance(command, SETTINGS):
            self._last[key_of(command)] = self._sent, command
        return command

    def again(self, scene: SceneDescription | None, frame: Frame | None) -> list[Command]:
        """Return the commands that set all this in a new session, and count them as sent to it.

        scene, frame: the last of the session that is over. Of the commands that it had taken those values count which
        the frame shows: a refused one has left no trace there.
        """
        if scene is not None:
            standing = scene.parameters.items()
            self.built |= {name: value for name, value in standing if value in self._asked.get(name, [])}
        if scene is not None and frame is not None and frame.generation == scene.generation:
            self._correct(scene, frame)
        commands = [command for _, command in self._last.values()]
        commands.sort(key=lambda one: not (isinstance(one, SetOption) and one.name == "method"))  # it brings options
        self._sent = 0
        for command in commands:
            self.note(command)
        return commands

    def _correct(self, scene: SceneDescription, frame: Frame) -> None:
        """Forget refused commands."""
        corrected: dict[Key, tuple[int, Command]] = {}
        for key, (number, command) in self._last.items():
            if number > frame.taken:
                corrected[key] = number, command
            else:
                for one in self._present_value(command, scene, frame):
                    corrected[key] = number, one
        self._last = corrected

    def _present_value(self, command: Command, scene: SceneDescription, frame: Frame) -> Iterator[Command]:
        """Yield a setting with the value of a frame; nothing where that is the model's own or missing."""
        if isinstance(command, SetInput):
            for entry in scene.inputs:
                values = frame.inputs[entry.place]
                if entry.name == command.name and not np.array_equal(values, entry.default):
                    yield replace(command, value=tuple(values.tolist()) if len(values) > 1 else float(values[0]))
        elif isinstance(command, SetOption):
            value = frame.option(command.name, scene.choices.get(command.name, ()))
            if value is not None:
                yield replace(command, value=value)
        elif isinstance(command, SetSpeed):
            yield SetSpeed(frame.desired_speed)
        elif isinstance(command, KeepHistory):
            same = [one for one in self._histories if one.limit == frame.disk_limit > 0.0 and Path(one.folder).is_dir()]
            yield from same[-1:]
        else:
            yield command


# ---- mode "process": commands go there through a queue, messages come back through a pipe, frames in shared memory ---

DRAIN = 1.0  # [s] that the end of a process waits for a window that reads no more


class Outgoing:
    """The writing end of a pipe; ``put`` never waits.

    A pipe has one writer, so its reader gets the end of the file when this process ends, within a message too.
    """

    def __init__(self, pipe: "Pipe[Any, Any]") -> None:
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
