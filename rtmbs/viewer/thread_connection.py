"""mode="thread": the session lives in a thread of this process. Kernels let other threads run while they compute."""

import queue
import threading
from collections import deque
from typing import Any

from rtmbs.errors import RtmbsError
from rtmbs.viewer.commands import Command, Quit
from rtmbs.viewer.connection import Message
from rtmbs.viewer.origin import Origin, title
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.settings import Settings
from rtmbs.viewer.strip import Strip
from rtmbs.viewer.worker import Worker

MESSAGES = 1000  # kept at most until somebody reads them
PATIENCE = 5.0  # [s] that ``close`` waits for the step under way


class ThreadConnection:
    """A Connection and the Outlet of its worker in one: both sides see the same attributes.

    ``origin`` makes the Simulation, in the thread; ``options`` are those of Worker.
    """

    def __init__(self, origin: Origin, **options: Any) -> None:
        self._origin, self._options, self._settings = origin, options, Settings(title(origin.name))
        self._messages: deque[Message] = deque(maxlen=MESSAGES)
        self._start()

    def _start(self) -> None:
        self._inbox: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._described = threading.Event()
        self._scene: SceneDescription | None = None
        self._frame: Frame | None = None
        self.taken = False  # whether the window has the latest frame
        self._strip: Strip | None = None
        worker = Worker(self._origin, self._inbox, self, **self._options)
        self._thread = threading.Thread(target=self._run, args=(worker,), name="rtmbs session", daemon=True)
        self._thread.start()

    # ---- the window's side ------------------------------------------------------------------------------------------

    def describe(self) -> SceneDescription:
        self._described.wait()
        if self._scene is None:
            raise RtmbsError("; ".join(m.text for m in self._messages if m.kind == "failure") or "the session ended")
        return self._scene

    def send(self, command: Command) -> None:
        command = self._settings.note(command)
        self._inbox.put(command)

    def latest(self) -> Frame | None:
        self.taken = True
        return self._frame

    def strip(self) -> Strip | None:
        return self._strip

    def messages(self) -> list[Message]:
        found: list[Message] = []
        while self._messages:
            found.append(self._messages.popleft())
        return found

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
        self._scene, self._strip = description, Strip()
        self._described.set()
        return self._strip

    def publish(self, frame: Frame) -> None:
        self._frame, self.taken = frame, False

    def tell(self, message: Message) -> None:
        self._messages.append(message)

    def _run(self, worker: Worker) -> None:
        try:
            worker.run()
        finally:
            self._described.set()  # whoever waits for a description that will not come
