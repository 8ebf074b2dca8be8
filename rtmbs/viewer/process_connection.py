"""mode="process": the session lives in a process of its own, so that drawing costs its steps nothing.

Commands go there through a queue; messages and descriptions come back through another, frames through shared memory.
"""

import gc
import multiprocessing
import os
import pickle
import queue
import signal
import time
from collections import deque
from typing import Any

from rtmbs.errors import RtmbsError
from rtmbs.viewer.commands import Command, Quit
from rtmbs.viewer.connection import Message
from rtmbs.viewer.description import SceneDescription
from rtmbs.viewer.frame import Frame
from rtmbs.viewer.origin import Origin
from rtmbs.viewer.shared import SharedFrames

PATIENCE = 5.0  # [s] that ``close`` waits for the step under way, before it ends the process
RETIRED = 2  # memories of earlier builds that are kept
LOOK = 0.1  # [s] between two looks whether a process that is still building lives

Scene = tuple[SceneDescription, str]  # with the name of the memory of its frames


def why_not_sent(origin: Origin, options: dict[str, Any]) -> str:
    """Return why this cannot go to another process, "" when it can."""
    try:
        pickle.dumps((origin, options))
    except Exception as error:  # noqa: BLE001 (whatever the user put into a model may raise anything)
        return f"{type(error).__name__}: {error}"
    return ""


class ProcessConnection:
    """A Connection to a worker in another process, which is started afresh (spawn).

    ``origin`` makes the Simulation there. It and the ``options`` of Worker must go through pickle: ``why_not_sent``.
    """

    def __init__(self, origin: Origin, **options: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._inbox, self._outbox = context.Queue(), context.Queue()
        self._process = context.Process(
            target=serve, args=(origin, self._inbox, self._outbox, options), name="rtmbs session", daemon=True
        )
        self._process.start()
        self._scene: SceneDescription | None = None
        self._frames: SharedFrames | None = None
        self._frame: Frame | None = None
        self._number: tuple[int, int] = (-1, 0)
        self._messages: deque[Message] = deque(maxlen=1000)
        self._ended = self._closed = False

    @property
    def pid(self) -> int:
        """Number of the session's process."""
        return self._process.pid or 0

    def describe(self) -> SceneDescription:
        while self._scene is None:
            alive = self._process.is_alive()
            self._read(LOOK if alive else 0.0)
            if self._scene is None and not alive:
                failures = "; ".join(m.text for m in self._messages if m.kind == "failure")
                raise RtmbsError(failures or f"the session's process ended with code {self._process.exitcode}")
        self._read(0.0)
        return self._scene

    def send(self, command: Command) -> None:
        if not self._closed:
            self._inbox.put(command)

    def latest(self) -> Frame | None:
        self._read(0.0)
        if self._frames is not None and (number := self._frames.number()) != self._number:
            frame = self._frames.read()
            if frame is not None:
                self._frame, self._number = frame, number
        return self._frame

    def messages(self) -> list[Message]:
        self._read(0.0)
        if not (self._ended or self._closed or self._process.is_alive()):
            self._ended = True
            text = f"the session's process ended with code {self._process.exitcode}; reload to start it again"
            self._messages.append(Message("failure", text))
        found = list(self._messages)
        self._messages.clear()
        return found

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._inbox.put(Quit())
        self._process.join(PATIENCE)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join()
        self._inbox.cancel_join_thread()
        for one in (self._inbox, self._outbox, self._frames):
            if one is not None:
                one.close()
        self._frames = None

    def _read(self, seconds: float) -> None:
        """Take what the worker said; wait for the first of it up to ``seconds``."""
        if self._closed:
            return
        try:
            while True:
                said = self._outbox.get(timeout=seconds) if seconds else self._outbox.get_nowait()
                seconds = 0.0
                if isinstance(said, Message):
                    self._messages.append(said)
                else:
                    self._show(*said)
        except (queue.Empty, OSError, EOFError):
            return

    def _show(self, scene: SceneDescription, memory: str) -> None:
        """Take over the frames of another mechanism."""
        old, frames = self._frames, SharedFrames(scene.layout, memory)
        self._frames, self._scene, self._number = frames, scene, (-1, 0)
        if old is not None:
            old.close()


class Sender:
    """The Outlet of a worker that lives in another process than the window."""

    def __init__(self, outbox: Any) -> None:
        self._outbox = outbox
        self._frames: SharedFrames | None = None
        self._retired: list[SharedFrames] = []

    def present(self, description: SceneDescription) -> None:
        if self._frames is not None:
            self._retired.append(self._frames)  # a window may still be opening it
        while len(self._retired) > RETIRED:
            self._retired.pop(0).close()
        self._frames = SharedFrames(description.layout)
        self._outbox.put((description, self._frames.name))

    def publish(self, frame: Frame) -> None:
        if self._frames is not None:
            self._frames.publish(frame)

    def tell(self, message: Message) -> None:
        self._outbox.put(message)

    def close(self) -> None:
        """Remove all memory, once the window has let go of it or left."""
        for frames in (*self._retired, self._frames):
            if frames is not None:
                frames.close()


def settle() -> None:
    """Let the garbage collector pass over what a build made: looking through it takes longer than a step may."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def serve(origin: Origin, inbox: Any, outbox: Any, options: dict[str, Any]) -> None:
    """Run a worker until Quit, or until the process that started this one is gone."""
    start = time.perf_counter()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal reaches both; the window's process decides
    sender = Sender(outbox)
    parent = multiprocessing.parent_process()
    sender.tell(Message("busy", f"loading the compiled kernels in process {os.getpid()}"))
    from rtmbs.viewer.worker import Worker  # numba and the kernels: half of the time until the first picture

    sender.tell(Message("info", f"kernels loaded in {time.perf_counter() - start:.1f} s"))

    def wanted() -> bool:
        return parent is None or parent.is_alive()

    worker = Worker(origin, inbox, sender, mode="process", wanted=wanted, built=settle, **options)
    try:
        worker.run()
    finally:
        sender.close()
