"""Things between points that move by themselves: springs, rods, forces as arrows, the pull of the mouse."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer import meshes
from rtmbs.viewer.batch import Batch, between
from rtmbs.viewer.description import SceneDescription, WrenchDescription
from rtmbs.viewer.frame import Frame
from rtmbs.viewer.theme import Theme, rgba

Array = NDArray[np.float64]

HEAD, HEAD_WIDTH = 0.3, 2.6  # length of an arrow's head in arrows, its radius in shafts
BLOCK = 3.6  # edge of a bushing, in radii of a bar
LONGEST = 0.8  # arrow of a force as large as the weight of all bodies, and of any larger one, in characteristic lengths
SHORTEST = 1e-3  # the same for one that is not drawn
NONE: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)


class Connectors:
    """Springs, blocks such as bushings, and as thin rods everything else between two points."""

    def __init__(self, description: SceneDescription, radius: float, theme: Theme) -> None:
        springs = [connector for connector in description.connectors if connector.shape == "coil"]
        self._connectors = {
            "spring": springs,
            "rod": [connector for connector in description.connectors if connector.shape != "coil"],
        }
        self._radii = {"spring": 2.2 * radius, "rod": 0.6 * radius}
        self._colors = {"spring": rgba(theme.spring), "rod": rgba(theme.joint)}
        self._blocks = [connector for connector in description.connectors if connector.shape == "block"]
        self._edge, self._block_color = BLOCK * radius, rgba(theme.spring)
        unit = {"spring": meshes.coil(), "rod": meshes.cylinder(), "block": meshes.cube()}
        self.batches = {kind: Batch(mesh, (), (), NONE) for kind, mesh in unit.items()}

    def show(self, frame: Frame) -> None:
        """Stretch all from end to end."""
        for kind, connectors in self._connectors.items():
            if connectors:
                start = ends(
                    frame,
                    [connector.a for connector in connectors],
                    np.array([connector.point_a for connector in connectors]),
                )
                end = ends(
                    frame,
                    [connector.b for connector in connectors],
                    np.array([connector.point_b for connector in connectors]),
                )
                self.batches[kind].put(between(start, end, self._radii[kind]), self._colors[kind])
        if self._blocks:
            bodies = [block.a for block in self._blocks]
            centers = ends(frame, bodies, np.array([block.point_a for block in self._blocks]))
            own = np.array([block.axes for block in self._blocks])
            axes = self._edge * np.einsum("kij,kjl->kil", frame.A[bodies], own)
            self.batches["block"].put(np.concatenate((axes, centers[:, :, None]), axis=2), self._block_color)


class Forces:
    """Given forces as arrows that end where they act. Torques are not drawn."""

    def __init__(self, description: SceneDescription, radius: float, theme: Theme) -> None:
        self._wrenches = description.wrenches
        self._size = LONGEST * description.length
        self._radius, self._color = 0.8 * radius, rgba(theme.force)
        gravity = float(np.linalg.norm(description.gravity)) or 9.81
        self._full = max(gravity * sum(body.mass for body in description.bodies), 1e-9)  # [N]
        self.batches = [Batch(meshes.cylinder(), (), (), NONE), Batch(meshes.cone(), (), (), NONE)]

    def show(self, frame: Frame) -> None:
        """Point the arrows as the forces point now."""
        starts, tips = [], []
        for wrench in self._wrenches:
            force = acting(wrench, frame)
            size = float(np.linalg.norm(force))
            share = min(size / self._full, 1.0)
            if share > SHORTEST:
                tip = frame.r[wrench.body] + frame.A[wrench.body] @ wrench.point
                tips.append(tip)
                starts.append(tip - force / size * self._size * max(share, 0.15))
        lay_arrows(
            self.batches, np.array(starts).reshape(-1, 3), np.array(tips).reshape(-1, 3), self._radius, self._color
        )


class GrabLine:
    """The spring between a body and the mouse."""

    def __init__(self, radius: float, theme: Theme) -> None:
        self._radius, self._color = radius, rgba(theme.grab)
        self.batches = [Batch(meshes.coil(), (), (), NONE), Batch(meshes.sphere(), (), (), NONE)]

    def show(self, frame: Frame) -> None:
        """Draw it while a body is pulled."""
        coil, ball = self.batches
        coil.visible = ball.visible = frame.grabbed >= 0 and bool(np.all(np.isfinite(frame.grab_point)))
        if coil.visible:
            ends = np.array([frame.grab_point, frame.grab_target])
            coil.put(between(ends[:1], ends[1:], 1.2 * self._radius), self._color)
            size = 1.6 * self._radius * np.eye(3)
            ball.put(np.array([np.column_stack([size, end]) for end in ends]), self._color)


def ends(frame: Frame, bodies: list[int], points: Array) -> Array:
    """Return world points (k, 3) of ``points`` (k, 3) in the axes of their bodies."""
    return np.asarray(frame.r[bodies] + np.einsum("kij,kj->ki", frame.A[bodies], points))


def acting(wrench: WrenchDescription, frame: Frame) -> Array:
    """Return the force (3,) of a given wrench in world axes [N]."""
    force = frame.inputs[wrench.slot : wrench.slot + 3]
    return np.asarray(frame.A[wrench.body] @ wrench.axes @ force) if wrench.follows else force


def lay_arrows(pair: list[Batch], start: Array, tip: Array, radius: float, color: tuple[float, ...]) -> None:
    """Lay shafts and heads from ``start`` to ``tip`` (k, 3)."""
    neck = tip - HEAD * (tip - start)
    pair[0].put(between(start, neck, radius), color)
    pair[1].put(between(neck, tip, HEAD_WIDTH * radius), color)
