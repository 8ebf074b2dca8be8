"""Bodies of a recorded Result: who they are, where they stand, and how they are drawn without their model."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.results.result import Result
from rtmbs.viewer.description import (
    Bar,
    BodyDescription,
    ChannelDescription,
    SceneDescription,
    Shape,
    Sphere,
)
from rtmbs.viewer.frame import FrameLayout

Array = NDArray[np.float64]

CENTER = ".mass_center"  # the channel that bodies have and nothing else
GROUND = "ground"
THICKNESS = 0.02  # radius of a bar in sizes of the whole


class Recording:
    """Poses of the bodies of a Result over its S samples; InputError when it has none."""

    def __init__(self, result: Result) -> None:
        owners = [name.removesuffix(CENTER) for name in result.names() if name.endswith(CENTER)]
        if not (owners and len(result)):
            raise InputError(f"result {result.name!r} holds no body; record one with sim.run(...)")
        self.result, self.t = result, result.t
        self.names = [GROUND, *(owner.removeprefix("body:") for owner in owners)]
        self.positions = np.stack([result[f"{owner}.position"] for owner in owners], axis=1)  # (S, nb - 1, 3)
        self.quaternions = np.stack([result[f"{owner}.orientation"] for owner in owners], axis=1)  # (S, nb - 1, 4)
        centers = np.stack([result[f"{owner}{CENTER}"][0] for owner in owners]) - self.positions[0]
        self.centers = np.einsum("bji,bj->bi", rotations(self.quaternions[0]), centers)  # (nb - 1, 3) body axes

    def poses(self, sample: int) -> tuple[Array, Array]:
        """Return r (nb, 3) and A (nb, 3, 3), ground first."""
        r = np.concatenate((np.zeros((1, 3)), self.positions[sample]))
        return r, np.concatenate((np.eye(3)[None], rotations(self.quaternions[sample])))

    def describe(self, known: SceneDescription | None) -> SceneDescription:
        """Return the description of the recording; ``known`` is that of its mechanism, when the model is at hand.

        Raises InputError when ``known`` has other bodies.
        """
        base = self.plain() if known is None else known
        if [body.name for body in base.bodies] != self.names:
            raise InputError(f"result {self.result.name!r} belongs to another mechanism than {base.name!r}")
        result = self.result
        return replace(
            base,
            channels=tuple(ChannelDescription(name, *result.about(name)) for name in result.names()),
            inputs=(),
            wrenches=(),
            parameters={},
            coordinates=(),
            layout=FrameLayout(len(self.names), 0, 0),
            mode="replay",
            live=False,
            samples=len(self.t),
            facts={"recorded": result.name, "bodies": str(len(self.names) - 1), "samples": str(len(self.t))},
        )

    def plain(self) -> SceneDescription:
        """Return a description with bodies and nothing else."""
        return SceneDescription(
            generation=1,
            name=self.result.name,
            length=self.size(),
            gravity=np.zeros(3),
            bodies=tuple(self.bodies()),
            joints=(),
            links=(),
            wrenches=(),
            markers=(),
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
        """Return the bodies without their model: a ball at the mass centre, and a bar to it from the body's origin."""
        radius, found = THICKNESS * self.size(), [BodyDescription(GROUND, 0.0, np.zeros(3), np.zeros((0, 3)), ())]
        for name, center in zip(self.names[1:], self.centers, strict=True):
            shapes: tuple[Shape, ...] = (Sphere(center, 2.0 * radius),)
            if np.linalg.norm(center) > radius:
                shapes = (*shapes, Bar(np.zeros(3), center, radius))
            found.append(BodyDescription(name, 0.0, center, np.zeros((1, 3)), shapes))
        return found

    def size(self) -> float:
        """Return a length that the bodies of the recording may be compared with [m]."""
        reach = 2.0 * float(np.max(np.linalg.norm(self.centers, axis=1)))
        spread = float(np.max(np.ptp(self.positions[0], axis=0))) / 10.0
        return max(reach, spread) or 1.0


def rotations(quaternions: Array) -> Array:
    """Return rotation matrices (k, 3, 3) of unit quaternions (w, x, y, z) (k, 4)."""
    w, x, y, z = quaternions.T
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
