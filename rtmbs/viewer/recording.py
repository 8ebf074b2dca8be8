"""Bodies of a recorded Result: who they are, where they stand, and how they are drawn without their model."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.model.shapes import Bar, Shape, Sphere
from rtmbs.results.channel import WORLD
from rtmbs.results.result import Result
from rtmbs.rotations.quaternions import rotations
from rtmbs.viewer.description import BodyDescription, ChannelDescription, MarkerDescription, SceneDescription
from rtmbs.viewer.design import check_design
from rtmbs.viewer.frame import FrameLayout
from rtmbs.viewer.reach import FAR

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

        A marker on a joint rests in both of its bodies. A body that does not move would hold whatever rests on ground.
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
            layout=FrameLayout(len(self.names), 0, 0, len(base.joints)),
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
        return every if np.max(np.ptp(every, axis=0)) <= FAR * size else every[:0]

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
        """Return the bodies without their model: a ball at the mass centre, and bars to it from what the body carries.

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
