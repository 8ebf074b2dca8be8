"""Playback of a recorded Result: poses of its bodies, fit of a model, and a Connection with the same frames.

Nothing in a recorded result can be changed.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, RtmbsError, unknown_name
from rtmbs.integrators.report import Outcome
from rtmbs.model.shapes import Bar, Shape, Sphere
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.results.channel import WORLD
from rtmbs.results.result import Result
from rtmbs.viewer.scene.camera import MOTION_LIMIT
from rtmbs.viewer.scene.description import BodyDescription, ChannelDescription, MarkerDescription, SceneDescription
from rtmbs.viewer.scene.frame import (
    CONTACT,
    FIRST,
    INSPECTED,
    LINGERS,
    PLOTS,
    WIDTH,
    Frame,
    FrameLayout,
    Strip,
    T,
)
from rtmbs.viewer.session.commands import (
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
    checked_speed,
)
from rtmbs.viewer.session.connection import Inbox, Message
from rtmbs.viewer.session.plotted import whole_channel

Array = NDArray[np.float64]

CENTER = ".mass_center"  # the channel that bodies have and nothing else
GROUND = "ground"
SEEN = 16  # samples that say whether a marker rests in a body
RESTS = 1e-8  # of the largest coordinate
FRAMED = 100  # samples whose poses a picture holds
THICKNESS = 0.02  # radius of a bar in sizes of the whole


class Recording:
    """Poses of the bodies of a Result over its S samples; InputError when it has none."""

    def __init__(self, result: Result) -> None:
        owners = [name.removesuffix(CENTER) for name in result.names() if name.endswith(CENTER)]
        if not (owners and len(result)):
            raise InputError(f"result {result.name!r} holds no body; record one with sim.run(...)")
        self.result, self.t = result, ordered(result)
        self.names = [GROUND, *(owner.removeprefix("body:") for owner in owners)]
        self.positions = np.stack([result[f"{owner}.position"] for owner in owners], axis=1)  # (S, nb - 1, 3)
        self.quaternions = np.stack([result[f"{owner}.orientation"] for owner in owners], axis=1)  # (S, nb - 1, 4)
        centers = np.stack([result[f"{owner}{CENTER}"][0] for owner in owners]) - self.positions[0]
        for name, *known in zip(self.names[1:], self.positions[0], self.quaternions[0], centers, strict=True):
            if not all(np.all(np.isfinite(one)) for one in known):
                raise InputError(
                    f"result {result.name!r}: body {name!r} is nowhere at the start; its pose is not finite"
                )
        self.centers = np.einsum("bji,bj->bi", rotations(self.quaternions[0]), centers)  # (nb - 1, 3) body axes
        self.markers: list[MarkerDescription] = []  # that bodies but ground carry
        self.points = self.carried()  # of each body but ground, (k, 3) body axes

    def carried(self) -> list[Array]:
        """Return the points that every body carries: markers that rest in its axes while it moves.

        A marker on a joint rests in both of its bodies. A resting body is left out: markers on ground rest in it too.
        """
        seen = np.unique(np.linspace(0, len(self.t) - 1, SEEN).astype(np.int64))
        taken: set[str] = {f"{name}.position" for name in self.names}
        found: list[list[Array]] = [[] for _ in self.names[1:]]
        turns = [rotations(self.quaternions[seen, k]) for k in range(len(found))]
        reach = 1.0 + float(np.max(np.abs(self.positions), where=np.isfinite(self.positions), initial=0.0))
        poses = np.concatenate((self.positions[seen] / reach, self.quaternions[seen]), axis=2)
        moves = np.max(np.ptp(poses, axis=0), axis=1) > RESTS
        for name in self.result.names():
            if not name.endswith(".position") or name in taken or self.result.about(name)[0] != ("x", "y", "z"):
                continue
            if self.result.channel(name).frame != WORLD:
                continue
            x = self.result[name][seen]
            for k, turn in enumerate(turns):
                if not moves[k]:
                    continue
                local = np.einsum("sji,sj->si", turn, x - self.positions[seen, k])
                if np.max(np.ptp(local, axis=0)) <= RESTS * reach:
                    found[k].append(local[0])
                    marker = MarkerDescription(name.removesuffix(".position"), k + 1, local[0])
                    if not (self.markers and self.markers[-1].name == marker.name):  # one on a joint rests in two
                        self.markers.append(marker)
        return [np.array(points).reshape(-1, 3) for points in found]

    def poses(self, sample: int) -> tuple[Array, Array]:
        """Return r (nb, 3) and A (nb, 3, 3), ground first."""
        r = np.concatenate((np.zeros((1, 3)), self.positions[sample]))
        return r, np.concatenate((np.eye(3)[None], rotations(self.quaternions[sample])))

    def describe(self, known: SceneDescription | None) -> SceneDescription:
        """Return the description of the recording; ``known`` is that of its mechanism, when the model is at hand.

        Raises InputError when ``known`` has other bodies, or other dimensions.
        """
        base = self.plain() if known is None else known
        if [body.name for body in base.bodies] != self.names:
            raise InputError(f"result {self.result.name!r} belongs to another mechanism than {base.name!r}")
        if known is not None:
            check_design(self, known)
        result = self.result
        return replace(
            base,
            name=result.name or base.name,
            channels=tuple(ChannelDescription(name, *result.about(name)) for name in result.names()),
            inputs=(),
            wrenches=(),
            parameters={},
            coordinates=(),
            layout=FrameLayout(len(self.names), 0, 0, len(base.joints), len(base.contacts)),
            mode="playback",
            live=False,
            samples=len(self.t),
            way=self.way(),
            facts={"recorded": result.name, "bodies": str(len(self.names) - 1), "samples": str(len(self.t))},
        )

    def way(self) -> Array:
        """Return where the bodies come to (k, 3) [m], with the balls at their mass centres.

        Nothing is returned where they go so far that a picture of it would show no body.
        """
        seen = np.unique(np.linspace(0, len(self.t) - 1, FRAMED).astype(np.int64))
        found = [np.zeros((0, 3))]
        for k, (center, points) in enumerate(zip(self.centers, self.points, strict=True)):
            own = np.vstack((center, points))
            turned = np.einsum("sij,pj->spi", rotations(self.quaternions[seen, k]), own)
            found.append((self.positions[seen, k, None] + turned).reshape(-1, 3))
        around = 2.0 * THICKNESS * self.size() * np.vstack((np.eye(3), -np.eye(3)))
        every = (np.concatenate(found)[:, None] + around).reshape(-1, 3)
        size = max(float(np.max(np.ptp(self.positions[0], axis=0))), self.size())
        return every if np.max(np.ptp(every, axis=0)) <= MOTION_LIMIT * size else every[:0]

    def plain(self) -> SceneDescription:
        """Return a description with bodies and nothing else."""
        return SceneDescription(
            generation=1,
            name=self.result.name,
            length=self.size(),
            gravity=np.zeros(3),
            bodies=tuple(self.bodies()),
            joints=(),
            connectors=(),
            wrenches=(),
            markers=tuple(self.markers),
            inputs=(),
            channels=(),
            choices={},
            parameters={},
            coordinates=(),
            degrees_of_freedom=0,
            equations=0,
            layout=FrameLayout(len(self.names), 0, 0),
        )

    def bodies(self) -> list[BodyDescription]:
        """Return bodies without a model: a ball at the mass centre, and bars to it from its markers.

        A body that carries no marker has a bar from its origin.
        """
        radius, found = THICKNESS * self.size(), [BodyDescription(GROUND, 0.0, np.zeros(3), np.zeros((0, 3)), ())]
        for name, center, points in zip(self.names[1:], self.centers, self.points, strict=True):
            shapes: tuple[Shape, ...] = (Sphere(2.0 * radius, center),)
            for end in points if len(points) else np.zeros((1, 3)):
                if np.linalg.norm(center - end) > radius:
                    shapes = (*shapes, Bar(end, center, radius))
            found.append(BodyDescription(name, 0.0, center, np.zeros((1, 3)), shapes))
        return found

    def size(self) -> float:
        """Return a length that the bodies of the recording may be compared with [m]."""
        ends = np.concatenate((self.centers, *self.points))
        reach = 2.0 * float(np.max(np.linalg.norm(ends, axis=1)))
        spread = float(np.max(np.ptp(self.positions[0], axis=0))) / 10.0
        return max(reach, spread) or 1.0


def ordered(result: Result) -> Array:
    """Return the times of the samples (S,); InputError where they are not finite, or go back."""
    wrong = ~np.isfinite(result.t) | (np.diff(result.t, prepend=-np.inf) < 0.0)
    if np.any(wrong):
        k = int(np.argmax(wrong))
        raise InputError(f"result {result.name!r}: the time of sample {k} is {result.t[k]:g} s; times must not go back")
    return result.t


# ---- whether a model fits --------------------------------------------------------------------------------------------

EXACT = 1e-6  # of the size: what rounding may do to a recorded place
OTHER = "is a run of another design than"  # in the error of a motion that does not fit
OPEN = 1e-3  # of the size: what a step may leave open in a cut joint
POINT = ("Revolute", "Universal", "Spherical", "Fixed")  # joints that hold two points together
AXIS = ("Prismatic", "Cylindrical")  # joints that hold them on their axis


def check_design(recording: Recording, scene: SceneDescription) -> None:
    """Raise InputError where joints, mass centres or markers of ``scene`` do not fit the recording."""
    size = max(scene.length, 1e-300) + EXACT * float(np.max(np.abs(recording.positions), initial=0.0))
    last = len(recording.t) - 1
    for sample in sorted({0, last // 2, last}):  # points of a wrong joint may lie together at the start
        for what, off, bound in misfits(recording, scene, sample):
            if off <= bound * size:
                continue
            raise InputError(
                f"result {recording.result.name!r} {OTHER} {scene.name!r}: "
                f"{what} by {off:.3g} m; build the model with the parameters of the run"
            )


def misfits(recording: Recording, scene: SceneDescription, sample: int) -> Iterator[tuple[str, float, float]]:
    """Yield (name, distance [m], bound) of points that must coincide at a sample."""
    r, A = recording.poses(sample)
    for body, center in zip(scene.bodies[1:], recording.centers, strict=True):
        yield f"the mass centre of body {body.name!r} is off", distance(center - body.center_of_mass), EXACT
    for joint in scene.joints:
        gap = r[joint.b] + A[joint.b] @ joint.point_b - r[joint.a] - A[joint.a] @ joint.point_a
        if joint.type in AXIS:
            axis = A[joint.a] @ joint.axes_a[0]
            gap = gap - axis * (axis @ gap) / (axis @ axis)
        if joint.type in (*POINT, *AXIS):
            yield f"joint {joint.name!r} is torn apart", distance(gap), OPEN if joint.cut else EXACT
    for marker in scene.markers:
        if (name := f"{marker.name}.position") in recording.result and recording.result.about(name)[0] == (
            "x",
            "y",
            "z",
        ):
            place = r[marker.body] + A[marker.body] @ marker.point
            yield f"marker {marker.name!r} is off", distance(recording.result[name][sample] - place), EXACT


def distance(vector: Array) -> float:
    """Return the length of a vector; 0 where a number is missing, of which nothing is known."""
    length = float(np.linalg.norm(vector))
    return 0.0 if np.isnan(length) else length


# ---- the connection --------------------------------------------------------------------------------------------------


PLAIN = "the result holds numbers only, so bodies are rods to their mass centres; --of MODEL adds shapes and joints"


class PlaybackConnection(Inbox):
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
        super().__init__()
        self.recording, self._clock = Recording(result), clock
        self._t = self.recording.t
        self._scene = self.recording.describe(description)
        self._messages.extend(Message("warning", text) for text in self._scene.warnings)
        if description is None:
            self._messages.append(Message("info", PLAIN))
        self._sample, self._playing, self._speed = 0, False, 1.0
        self._time = float(self._t[0])  # in the result [s]; between samples the earlier one is shown
        self._since = (0.0, 0.0)  # wall clock, and time in the result, when play began
        self._number, self._looping = 0, False
        self._reactions: Array | None = None  # (S, nj, 6) while they are shown
        self._contacts: Array | None = None  # (S, nc, 12) as soon as a frame is asked for
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
        self._speed = checked_speed(factor)
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

    def contacts(self) -> Array:
        """Return point, normal, force and impulse (S, nc, 12) of the contacts; not a number where none was recorded."""
        if self._contacts is None:
            result, names = self.recording.result, [one.name for one in self._scene.contacts]
            self._contacts = np.full((len(self._t), len(names), 12), np.nan)
            for k, name in enumerate(names):
                for part, word in zip(CONTACT, ("point", "normal", "force"), strict=False):
                    if (channel := f"{name}.{word}") in result:
                        self._contacts[:, k, part] = result[channel]
                self._contacts[:, k, CONTACT[3]] = self.impulses(name)[:, None] * self._contacts[:, k, CONTACT[1]]
        return self._contacts

    def impulses(self, contact: str) -> Array:
        """Return the normal impulse (S,) of the last impact of a rigid contact, for LINGERS behind it [N s]."""
        found = np.zeros(len(self._t))
        for impact in self.recording.result.impacts:
            if contact in impact.contacts:
                first, end = np.searchsorted(self._t, (impact.t, impact.t + LINGERS))
                found[first : max(end, first + 1)] = impact.impulses[impact.contacts.index(contact)]
        return found

    def _inspect(self, command: Inspect) -> None:
        """Show the values of these channels; UnknownNameError for one that the result does not have."""
        for name in command.names:
            self.recording.result.channel(name)
        self._inspected = command

    def _values(self) -> Array:
        """Return the inspected values (INSPECTED,) at the present sample."""
        found = np.full(INSPECTED, np.nan)
        parts = [self.recording.result[name][self._sample : self._sample + 1] for name in self._inspected.names]
        numbers = np.concatenate([part.reshape(-1) for part in parts])[:INSPECTED] if parts else np.zeros(0)
        found[: len(numbers)] = numbers
        return found

    def _value(self, name: str) -> float:
        """Return the value of a channel at the present sample; NaN where the result lacks it."""
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
            reactions=np.full((len(self._scene.joints), 6), np.nan) if self._reactions is None else self._reactions[k],
            contacts=self.contacts()[k],
            deadline=h / self._speed,
            desired_speed=self._speed,
            actual_speed=self._speed if self._playing else 0.0,
            kinetic=self._value("energy.kinetic"),
            gravity=self._value("energy.weight"),
            elastic=self._value("energy.elastic"),
            ticket=self._strip.ticket,
            inspect_ticket=self._inspected.ticket,
            inspected=self._values(),
            looping=self._looping,
        )
