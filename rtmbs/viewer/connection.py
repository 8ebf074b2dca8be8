"""What a window holds of a session, whatever thread or process it lives in."""

from dataclasses import dataclass
from typing import Literal, Protocol

from rtmbs.viewer.commands import Command
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.strip import Strip

Kind = Literal["log", "info", "busy", "progress", "warning", "failure"]
Offer = Literal["back", "reload"]  # ways out of a failure


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
    """Six verbs, and a new start. None of them waits for a step; only ``describe`` may wait for the first build."""

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
        """Return what was watched at every step; None before the first description. Not to be kept."""

    def messages(self) -> list[Message]:
        """Return the messages since the last call, oldest first."""

    def restart(self) -> None:
        """Start the session anew, whatever became of it; inputs, options and parameters that were set are set again.

        Frames and descriptions begin anew, so a reader forgets those that it has.
        """

    def close(self) -> None:
        """End the session and free what it holds; a second call does nothing."""
