"""What a window holds of a session, whatever thread or process it lives in."""

from dataclasses import dataclass
from typing import Literal, Protocol

from rtmbs.viewer.commands import Command
from rtmbs.viewer.description import SceneDescription
from rtmbs.viewer.frame import Frame

Kind = Literal["log", "info", "busy", "warning", "failure"]


@dataclass(frozen=True)
class Message:
    """A sentence for the user.

    log: a command took effect.  info: something was done.  busy: something that takes seconds has begun; the next
    message says how it ended.  warning: a command was refused.  failure: a step failed, or the session ended.
    """

    kind: Kind
    text: str
    step: int = 0  # step at which it happened
    t: float = 0.0  # [s]


class Connection(Protocol):
    """Five verbs. None of them waits for a step, and only ``describe`` may wait for the first build."""

    def describe(self) -> SceneDescription:
        """Return the description of the mechanism that frames now belong to.

        Waits until the first one is there; raises RtmbsError with the sentence of the failure when none will come.
        """

    def send(self, command: Command) -> None:
        """Queue a command; it takes effect between two steps."""

    def latest(self) -> Frame | None:
        """Return the last published frame, the same object again when nothing new came; None before the first."""

    def messages(self) -> list[Message]:
        """Return the messages since the last call, oldest first."""

    def close(self) -> None:
        """End the session and free what it holds; a second call does nothing."""
