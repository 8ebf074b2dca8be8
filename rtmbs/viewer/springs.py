"""What stretches between two points: springs, dampers, both together, bushings, and as thin rods everything else."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer import meshes
from rtmbs.viewer.batch import Batch, between
from rtmbs.viewer.description import ConnectorDescription, SceneDescription
from rtmbs.viewer.frame import Frame
from rtmbs.viewer.theme import Theme, rgba

Array = NDArray[np.float64]

# Sizes in radii of a bar.
COIL, WIDE = 2.2, 0.045  # radius of a coil, and the same in its first length, which long ones have
POT, PISTON = 1.25, 0.5  # radii of a damper's cylinder and of its rod; inside of a coil both have room
POT_SHARE = 0.55  # of the first length of a damper that is its cylinder
MOST_POT = 0.85  # of the present length that the cylinder may take
ROD = 0.6
BLOCK = 3.6  # edge of a bushing
SLENDER = (2, 40)  # lengths in radii that coils are made for


class Connectors:
    """Batches of all connectors; ``show`` stretches them from end to end."""

    def __init__(self, description: SceneDescription, radius: float, theme: Theme, frame: Frame) -> None:
        self._radius, self._theme = radius, theme
        self._coils = Ends(description.connectors, "coil", "strut")
        self._dampers = Ends(description.connectors, "damper", "strut")
        self._rods, self._blocks = Ends(description.connectors, "bar", "block"), Ends(description.connectors, "block")
        self._coil_groups = self._grouped(frame)
        start, end = self._dampers.at(frame)
        self._pots = POT_SHARE * np.linalg.norm(end - start, axis=1)  # [m]
        self._batches = {
            "pot": Batch(meshes.cylinder(), (), (), rgba(theme.joint), edges=True),
            "piston": Batch(meshes.cylinder(), (), (), rgba(theme.joint)),
            "rod": Batch(meshes.cylinder(), (), (), rgba(theme.joint)),
            "block": Batch(meshes.cube(), (), (), rgba(theme.spring), edges=True),
        }

    def _grouped(self, frame: Frame) -> list[tuple[NDArray[np.int64], Batch]]:
        """Return coils that are about equally slender now together, with a batch for each group."""
        start, end = self._coils.at(frame)
        length = np.linalg.norm(end - start, axis=1)
        self._coil_radii = np.maximum(COIL * self._radius, WIDE * length)
        slender = np.round(np.clip(length / self._coil_radii, *SLENDER)).astype(int)
        color = rgba(self._theme.spring)
        return [
            (np.flatnonzero(slender == one), Batch(meshes.coil(int(one)), (), (), color)) for one in np.unique(slender)
        ]

    @property
    def batches(self) -> list[Batch]:
        """All of them."""
        return [*(batch for _, batch in self._coil_groups), *self._batches.values()]

    def show(self, frame: Frame) -> None:
        """Stretch all from end to end."""
        radius, joint = self._radius, rgba(self._theme.joint)
        start, end = self._coils.at(frame)
        for members, batch in self._coil_groups:
            batch.put(between(start[members], end[members], self._coil_radii[members]), rgba(self._theme.spring))
            batch.names = [self._coils.names[k] for k in members]
        self._show_dampers(*self._dampers.at(frame))
        self._batches["rod"].put(between(*self._rods.at(frame), ROD * radius), joint)
        self._batches["rod"].names, self._batches["pot"].names = self._rods.names, self._dampers.names
        if len(self._blocks):
            center, _ = self._blocks.at(frame)
            own = np.array([block.axes for block in self._blocks.members])
            axes = BLOCK * radius * np.einsum("kij,kjl->kil", frame.A[self._blocks.a], own)
            self._batches["block"].put(np.concatenate((axes, center[:, :, None]), axis=2), rgba(self._theme.spring))

    def _show_dampers(self, start: Array, end: Array) -> None:
        """Leave the cylinders as long as they are, and let the rods slide in them."""
        length = np.linalg.norm(end - start, axis=1)
        share = np.minimum(self._pots / np.maximum(length, 1e-12), MOST_POT)[:, None]
        bottom = start + 0.15 * (end - start) * share
        mouth = start + share * (end - start)
        color = rgba(self._theme.joint)
        self._batches["pot"].put(between(bottom, mouth, POT * self._radius), color)
        piston = np.concatenate([start, mouth]), np.concatenate([bottom, end])
        self._batches["piston"].put(between(*piston, PISTON * self._radius), color)


class Ends:
    """The connectors of some shapes, and where their ends are."""

    def __init__(self, connectors: Sequence[ConnectorDescription], *shapes: str) -> None:
        self.members = [connector for connector in connectors if connector.shape in shapes]
        self.names = [f"{one.name} ({one.kind})" for one in self.members]
        self.a = np.array([one.a for one in self.members], np.int64)
        self._b = np.array([one.b for one in self.members], np.int64)
        self._points = np.array([(one.point_a, one.point_b) for one in self.members]).reshape(-1, 2, 3)

    def __len__(self) -> int:
        return len(self.members)

    def at(self, frame: Frame) -> tuple[Array, Array]:
        """Return the world points (k, 3) of both ends."""
        first, second = self._points[:, 0], self._points[:, 1]
        return carried(frame, self.a, first), carried(frame, self._b, second)


def carried(frame: Frame, bodies: NDArray[np.int64], points: Array) -> Array:
    """Return world points (k, 3) of ``points`` (k, 3) in the axes of their bodies."""
    return np.asarray(frame.r[bodies] + np.einsum("kij,kj->ki", frame.A[bodies], points))
