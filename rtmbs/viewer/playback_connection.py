"""A recorded Result as a Connection: the same frames and transport, and nothing that could be changed."""

import math
import time
from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, RtmbsError, unknown_name
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import PHASES
from rtmbs.observers.meters import VIOLATIONS
from rtmbs.results.result import Result
from rtmbs.viewer.channels import whole_channel
from rtmbs.viewer.commands import (
    Command,
    Inspect,
    Loop,
    Pause,
    Play,
    Quit,
    Reload,
    Reset,
    Seek,
    SetSpeed,
    ShowReactions,
    StepBack,
    StepForward,
    Subscribe,
)
from rtmbs.viewer.connection import Message
from rtmbs.viewer.recording import Recording
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import INSPECTED, OPTIONS, PLOTS, STEPS, WAY, Frame
from rtmbs.viewer.strip import FIRST, WIDTH, Strip, T

Array = NDArray[np.float64]

NOWHERE = np.full(3, np.nan)


class PlaybackConnection:
    """Plays ``result`` against the wall clock, sample by sample, without a thread.

    description: of the mechanism, when its model is at hand; otherwise bodies are drawn by their mass centres.
    clock: replaced in tests.
    """

    def __init__(
        self,
        result: Result,
        description: SceneDescription | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.recording, self._clock = Recording(result), clock
        self._t = self.recording.t
        self._scene = self.recording.describe(description)
        self._messages = deque([Message("warning", text) for text in self._scene.warnings], maxlen=1000)
        self._sample, self._playing, self._speed = 0, False, 1.0
        self._time = float(self._t[0])  # in the result [s]; between samples the earlier one is shown
        self._since = (0.0, 0.0)  # wall clock, and time in the result, when play began
        self._number, self._looping = 0, False
        self._reactions: Array | None = None  # (S, nj, 6) while they are shown
        self._strip = Strip(kept=len(self._t))
        self._frame: Frame | None = None
        self._shown: tuple[object, ...] = ()
        self._inspected = Inspect(())

    def describe(self) -> SceneDescription:
        return self._scene

    def send(self, command: Command) -> None:
        """Transport takes effect at once; a command that would change numbers is answered by a warning."""
        self._advance()
        try:
            self._handle(command)
        except RtmbsError as error:
            self._messages.append(Message("warning", str(error), self._sample, float(self._t[self._sample])))

    def latest(self) -> Frame | None:
        self._advance()
        asked = self._strip.ticket, self._inspected.ticket, self._reactions is None
        shown = (self._sample, self._playing, self._speed, self._looping, *asked)
        if shown != self._shown:
            self._number += 1
            self._shown, self._frame = shown, self._take()
        return self._frame

    def strip(self) -> Strip:
        return self._strip

    def messages(self) -> list[Message]:
        found = list(self._messages)
        self._messages.clear()
        return found

    def tell(self, message: Message) -> None:
        """Say something to whoever reads the messages."""
        self._messages.append(message)

    @property
    def ended(self) -> bool:
        return False

    def restart(self) -> None:
        self.send(Reset())

    def close(self) -> None:
        self._playing = False

    # ---- transport --------------------------------------------------------------------------------------------------

    def _handle(self, command: Command) -> None:
        if isinstance(command, Play):
            if self._sample == len(self._t) - 1:
                self._go(0)
            self._start(True)
        elif isinstance(command, Pause | Quit):
            self._start(False)
        elif isinstance(command, StepForward):
            self._go(self._sample + command.n)
        elif isinstance(command, StepBack):
            self._go(self._sample - command.n)
        elif isinstance(command, Seek):
            self._go(command.step)
        elif isinstance(command, Reset | Reload):
            self._go(0)
        elif isinstance(command, Loop):
            self._looping = command.on
            if command.on and not self._playing:
                self._handle(Play())
        elif isinstance(command, SetSpeed):
            self._set_speed(command.factor)
        elif isinstance(command, ShowReactions):
            self._reactions = self.reactions() if command.on else None
        elif isinstance(command, Subscribe):
            self._watch(self.columns(command.names), command.ticket)
        elif isinstance(command, Inspect):
            self._inspect(command)
        else:
            raise InputError(f"{type(command).__name__}: this is a recorded result; nothing in it can be changed")

    def _go(self, sample: int) -> None:
        """Pause at a sample, or at the nearest there is."""
        self._sample = min(max(sample, 0), len(self._t) - 1)
        self._time = float(self._t[self._sample])
        self._start(False)

    def _start(self, playing: bool) -> None:
        self._playing, self._since = playing, (self._clock(), self._time)

    def _advance(self) -> None:
        """Go to the sample that the wall clock has come to; pause at the last."""
        if not self._playing:
            return
        self._time = self._since[1] + (self._clock() - self._since[0]) * self._speed
        self._sample = max(int(np.searchsorted(self._t, self._time, side="right")) - 1, 0)
        self._playing = self._sample < len(self._t) - 1
        if self._looping and not self._playing:
            self._go(0)
            self._start(True)

    def _set_speed(self, factor: float) -> None:
        if not (isinstance(factor, float | int) and math.isfinite(factor) and factor > 0.0):
            raise InputError(f"speed is {factor!r}; it must be a positive number")
        self._speed = float(factor)
        self._start(self._playing)

    # ---- frames -----------------------------------------------------------------------------------------------------

    def columns(self, names: tuple[str, ...]) -> Array:
        """Return the values (S, k) of channels "name" or "name[axis]"."""
        if len(names) > PLOTS:
            raise InputError(f"{len(names)} channels are asked for; at most {PLOTS} can be plotted at once")
        result, columns = self.recording.result, []
        for name in names:
            owner, _, axis = (name, "", "") if name in result else name.removesuffix("]").rpartition("[")
            channel = result.channel(owner or name)
            if channel.axes and not axis:
                raise whole_channel(name, channel.axes)
            if channel.axes and axis not in channel.axes:
                raise unknown_name(f"axis of channel {owner!r}", axis, channel.axes)
            columns.append(channel.values[:, channel.axes.index(axis)] if channel.axes else channel.values)
        return np.stack(columns, axis=1) if columns else np.zeros((len(self._t), 0))

    def _watch(self, columns: Array, ticket: int) -> None:
        """Write the values (S, k) of all samples to the strip."""
        rows = np.full((len(self._t), WIDTH), np.nan)
        rows[:, T], rows[:, FIRST : FIRST + columns.shape[1]] = self._t, columns
        self._strip.begin(ticket)
        self._strip.append(rows)

    def reactions(self) -> Array:
        """Return the reactions of all joints over all samples (S, nj, 6); not a number where none was recorded.

        Raises InputError when the result holds none at all.
        """
        result, joints = self.recording.result, self._scene.joints
        found = np.full((len(self._t), len(joints), 6), np.nan)
        for k, joint in enumerate(joints):
            for name in (f"{joint.name}.reaction", f"joint:{joint.name}.reaction"):
                if name in result:
                    found[:, k] = result[name]
        if np.all(np.isnan(found)):
            why = "is shown without the joints of its model (--of, model=)"
            if joints:
                why = "holds no reactions; a run that is saved as a result has them, and a history on disk has none"
            raise InputError(f"result {result.name!r} {why}; there are none to show")
        return found

    def _inspect(self, command: Inspect) -> None:
        """Show the values of these channels; UnknownNameError for one that the result does not have."""
        for name in command.names:
            self.recording.result.channel(name)
        self._inspected = command

    def _values(self) -> Array:
        """Return what is inspected (INSPECTED,), at the present sample."""
        found = np.full(INSPECTED, np.nan)
        parts = [self.recording.result[name][self._sample : self._sample + 1] for name in self._inspected.names]
        numbers = np.concatenate([part.reshape(-1) for part in parts])[:INSPECTED] if parts else np.zeros(0)
        found[: len(numbers)] = numbers
        return found

    def _value(self, name: str) -> float:
        """Return a channel that a result may or may not have, at the present sample."""
        result = self.recording.result
        return float(result[name][self._sample]) if name in result else math.nan

    def _take(self) -> Frame:
        r, A = self.recording.poses(self._sample)
        t, k = self._t, self._sample
        h = float(t[k] - t[k - 1]) if k else float(t[1] - t[0]) if len(t) > 1 else math.nan
        return Frame(
            generation=self._scene.generation,
            number=self._number,
            step=k,
            t=float(t[k]),
            h=h,
            playing=self._playing,
            oldest=0,
            newest=len(t) - 1,
            outcome=Outcome.CONVERGED,
            r=r,
            A=A,
            z=np.zeros(0),
            zd=np.zeros(0),
            inputs=np.zeros(0),
            grabbed=-1,
            grab_point=NOWHERE,
            grab_target=NOWHERE,
            grab_force=0.0,
            reactions=np.full((len(self._scene.joints), 6), np.nan) if self._reactions is None else self._reactions[k],
            step_times=np.full(STEPS, np.nan),
            iterations=np.full(STEPS, np.nan),
            steps_taken=0,
            p50=0.0,
            p99=0.0,
            late_p50=0.0,
            late_p99=0.0,
            phases=np.zeros(len(PHASES)),
            deadline=h / self._speed,
            deadlines=0,
            missed=0,
            desired_speed=self._speed,
            actual_speed=self._speed if self._playing else 0.0,
            real_time_factor=0.0,
            kinetic=self._value("energy.kinetic"),
            gravity=self._value("energy.weight"),
            elastic=self._value("energy.elastic"),
            **dict.fromkeys(VIOLATIONS, math.nan),  # type: ignore[arg-type]
            options=np.full(len(OPTIONS), np.nan),
            way=np.full((WAY, 3), np.nan),  # the description of a recording has it
            ticket=self._strip.ticket,
            inspect_ticket=self._inspected.ticket,
            inspected=self._values(),
            looping=self._looping,
        )
