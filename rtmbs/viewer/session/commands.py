"""Commands of a window to a session: plain records that can be sent to another process.

Every command takes effect between two steps. Those of ``LOGGED`` change numbers: they are written into the history with
the step at which they took effect, and are applied again when the session goes forward through its history.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rtmbs.errors import InputError

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Command:
    """Base class of all commands."""


@dataclass(frozen=True)
class Play(Command):
    """Step against the wall clock."""


@dataclass(frozen=True)
class Pause(Command):
    """Stop stepping; the session sleeps until the next command."""


@dataclass(frozen=True)
class StepForward(Command):
    """Pause, and take ``n`` steps."""

    n: int = 1


@dataclass(frozen=True)
class StepBack(Command):
    """Pause, and go back ``n`` steps, or to the oldest state that is remembered."""

    n: int = 1


@dataclass(frozen=True)
class Seek(Command):
    """Pause, and go to the remembered step ``step``, or in a recorded result to sample ``step``."""

    step: int


@dataclass(frozen=True)
class Loop(Command):
    """Play the stored history over and over, or go on at its end."""

    on: bool


@dataclass(frozen=True)
class SetSpeed(Command):
    """Simulated seconds for each second of wall time; 1 is real time."""

    factor: float


@dataclass(frozen=True)
class Reset(Command):
    """Go back to the start: time zero, the inputs of the model, no history. Options stay."""


@dataclass(frozen=True)
class Reload(Command):
    """Build the model anew, from its file when it has one, and keep options and inputs that were set."""


@dataclass(frozen=True)
class Rebuild(Command):
    """Build the model anew with these ``parameters`` of its factory, such as ny=4, nz=40, layout="parallel"."""

    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SetInput(Command):
    """Set an input by name; ``value`` is a number, or as many as the input has."""

    name: str
    value: float | tuple[float, ...]


@dataclass(frozen=True)
class SetOption(Command):
    """Set an option of the simulation: one of ``rtmbs.viewer.scene.frame.OPTIONS``, such as ("jacobian", "trace")."""

    name: str
    value: Any


@dataclass(frozen=True)
class Grab(Command):
    """Pull a body by a spring-damper from ``point`` (body axes) to ``target`` (world) [m]."""

    body: str
    point: Vector
    target: Vector


@dataclass(frozen=True)
class MoveGrab(Command):
    """Move the far end of the pull to ``target`` (world) [m]; without a grab it does nothing."""

    target: Vector


@dataclass(frozen=True)
class Release(Command):
    """End the pull."""


@dataclass(frozen=True)
class Drag(Command):
    """Pause, and move a body by ``point`` (body axes) to ``target`` (world) [m], loops kept and at rest.

    Drags of one ``gesture`` are undone together.
    """

    body: str
    point: Vector
    target: Vector
    gesture: int = 0


@dataclass(frozen=True)
class Undo(Command):
    """Take back the last pose of a drag, input or option; a pose brings back the step at which it was taken."""


@dataclass(frozen=True)
class Redo(Command):
    """Make again what Undo took back."""


@dataclass(frozen=True)
class Place(Command):
    """Take a pose at rest: coordinates, and the rows of reference rotations, as a drag left them."""

    z: tuple[float, ...]
    R0: tuple[float, ...]


@dataclass(frozen=True)
class Subscribe(Command):
    """Choose what the strip holds of every step: names of ``SceneDescription.channels``, "name" or "name[axis]".

    ``ticket`` comes back in ``Strip.ticket`` and ``Frame.ticket`` once the columns are those of ``names``.
    """

    names: tuple[str, ...]
    ticket: int = 0


@dataclass(frozen=True)
class Inspect(Command):
    """Choose the channels whose present values frames carry: names of ``SceneDescription.channels``.

    Every component of every channel is a number of ``Frame.inspected``, in the order of ``names``. The values are read
    a few times a second, and after every command. ``ticket`` comes back in ``Frame.inspect_ticket``. No name ends it.
    """

    names: tuple[str, ...]
    ticket: int = 0


@dataclass(frozen=True)
class SaveResults(Command):
    """Write the remembered states as a result file, which ``rtmbs.load_result`` reads."""

    path: str


@dataclass(frozen=True)
class SaveState(Command):
    """Write the present state as a state file, from which a simulation goes on."""

    path: str


@dataclass(frozen=True)
class LoadState(Command):
    """Go on from a state file; the history begins anew."""

    path: str


@dataclass(frozen=True)
class ShowReactions(Command):
    """Publish the reactions of all joints in every frame, or no longer; they cost time only while they are shown."""

    on: bool


@dataclass(frozen=True)
class KeepHistory(Command):
    """Keep the history in a folder on disk too, ``limit`` bytes of it at most; 0 ends this. A folder is made unless
    one is given.
    """

    limit: float
    folder: str = ""


@dataclass(frozen=True)
class Quit(Command):
    """End the session."""


LOGGED = (SetInput, SetOption, Grab, MoveGrab, Release, Place)


# ---- commands that came together -------------------------------------------------------------------------------------

Key = tuple[type, str]  # kind of a command, and the name of the input or the option that it sets


def key_of(command: Command) -> Key:
    """Return the key that a later command must share to take the place of this one."""
    return type(command), command.name if isinstance(command, SetInput | SetOption) else ""


def begins_as(command: Command, before: Command) -> bool:
    """True when both begin again in the same way, so that nothing of the one before is left."""
    if isinstance(command, Rebuild) and isinstance(before, Rebuild):
        return {*command.parameters} == {*before.parameters}
    return type(command) is type(before) and isinstance(command, Reset | Reload)


def coalesced(commands: Iterable[Command]) -> list[Command]:
    """Return the commands without those that a later one of the same kind replaces.

    Only MoveGrab, Drag and SetInput replace, and only when nothing but such commands stands between the two. Of
    commands in a row that begin again in the same way, the last one counts.
    """
    kept: list[Command] = []
    last: dict[Key, int] = {}  # place in ``kept``
    for command in commands:
        if not isinstance(command, MoveGrab | Drag | SetInput):
            last.clear()
            if kept and begins_as(command, kept[-1]):
                kept.pop()
            kept.append(command)
            continue
        if (key := key_of(command)) in last:
            kept[last[key]] = command
        else:
            last[key] = len(kept)
            kept.append(command)
    return kept


# ---- speeds ----------------------------------------------------------------------------------------------------------

SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def checked_speed(factor: Any) -> float:
    """Return a speed; InputError when it is not a positive number."""
    if not (isinstance(factor, float | int) and math.isfinite(factor) and factor > 0.0):
        raise InputError(f"speed is {factor!r}; it must be a positive number")
    return float(factor)


def faster(speed: float) -> float:
    """Return the next higher of ``SPEEDS``."""
    return next((factor for factor in SPEEDS if factor > speed * 1.001), SPEEDS[-1])


def slower(speed: float) -> float:
    """Return the next lower of ``SPEEDS``."""
    return next((factor for factor in reversed(SPEEDS) if factor < speed * 0.999), SPEEDS[0])


# ---- options in words ------------------------------------------------------------------------------------------------

OPTION_TITLES = {
    "jacobian": "Jacobian source",
    "h": "step h",
    "max_iterations": "iterations at most",
    "fixed_iterations": "fixed iterations",
    "project_velocities": "project velocities",
    "project_accelerations": "project accelerations",
    "hold_energy": "hold the energy of loops",
    "tol": "tolerance",
}
OPTION_TIPS = {
    "jacobian": "source of the stiffness and damping matrices K and C of Newton's iteration",
    "method": "integrator of the equations of motion",
    "h": "time step",
    "tol": "Newton's iteration ends when the scaled correction is below this number",
    "max_iterations": "a step that needs more iterations has failed",
    "fixed_iterations": "always the iterations above, for a constant time a step",
    "project_velocities": "velocities are made to fit the loops after every step",
    "project_accelerations": "accelerations are made to fit the loops after every step",
    "hold_energy": "the energy that open loops hold is given back",
    "tangent_terms": "terms of the tangent matrix of Newton's iteration",
    "refactor": "when the tangent matrix is factorised anew",
    "projection_metric": "weight of the projections onto the loops: the tangent matrix or the masses",
}
BUILD_TIP = "takes effect with Build"  # of a parameter of the mechanism


def option_title(name: str) -> str:
    """Return an option of a Simulation in words."""
    return OPTION_TITLES.get(name, name.replace("_", " "))
