"""Connection of a window to a session in any thread or process: messages, the latest frame, and settings.

A session that takes the place of another one is opened by ``PendingConnection`` and gets the commands of ``Settings``.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame, Strip
from rtmbs.viewer.session.commands import (
    Command,
    Inspect,
    KeepHistory,
    Key,
    Rebuild,
    SetInput,
    SetOption,
    SetSpeed,
    ShowReactions,
    Subscribe,
    key_of,
)
from rtmbs.viewer.session.disk_head import HISTORY
from rtmbs.viewer.session.origin import free_name

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
