"""Pictures without OpenGL, by matplotlib: bars as thick lines, everything else as shaded triangles. Slow and plain."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.drawing import Batch, Drawing, Section

Array = NDArray[np.float64]
Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

DPI = 100.0
POINTS_PER_INCH = 72.0
SLENDER = 3.0  # length of a cylinder that a line stands for, in radii at least
LIGHT = np.array([0.36, 0.62, 0.70])  # in eye axes, as the renderer has it


class Flat:
    """Draws into memory. Raises InputError without matplotlib."""

    name = "matplotlib"

    def __init__(self, width: int, height: int) -> None:
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError:
            raise InputError(
                "pictures need OpenGL or matplotlib, and neither is here; pip install 'rtmbs[plot]' brings matplotlib"
            ) from None
        self._figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
        self._canvas: Any = FigureCanvasAgg(self._figure)
        self._axes = self._figure.add_axes((0.0, 0.0, 1.0, 1.0))

    def draw(self, drawing: Drawing, camera: Camera) -> Picture:
        """Return one picture (height, width, 3), without the shadow on the floor."""
        axes = self._axes
        axes.clear()
        axes.set_axis_off()
        axes.set(xlim=(0, camera.width), ylim=(camera.height, 0))
        red, green, blue, *_ = drawing.background
        self._figure.set_facecolor((red, green, blue))
        section = drawing.section
        for line in drawing.lines:
            if line.visible and len(line):
                add_segments(axes, line.points, line.color, np.full(len(line), line.width), camera)
        shown = drawing.shown()
        for batch in shown:
            if section is not None or not is_slender(batch):
                add_triangles(axes, batch, camera, section)
        bars = [batch for batch in shown if section is None and is_slender(batch)]
        if bars:
            add_bars(axes, bars, camera)
        self._canvas.draw()
        return np.asarray(self._canvas.buffer_rgba())[:, :, :3].copy()

    def close(self) -> None:
        """Nothing is held."""


def is_slender(batch: Batch) -> bool:
    """True for cylinders that a thick line stands for; a disc is none."""
    if batch.mesh.kind != "cylinder":
        return False
    radius, length = np.linalg.norm(batch.local[:, :, 0], axis=1), np.linalg.norm(batch.local[:, :, 2], axis=1)
    return bool(np.all(length >= SLENDER * radius))


def add_bars(axes: Any, batches: list[Batch], camera: Camera) -> None:
    """Draw cylinders as lines of their width, far ones first."""
    place = np.concatenate([batch.placement for batch in batches])
    color = np.concatenate([batch.color for batch in batches])
    ends = np.stack([place[:, :, 3], place[:, :, 3] + place[:, :, 2]], axis=1)
    depth = camera.project(ends.mean(axis=1))[:, 2]
    width = 2.0 * np.linalg.norm(place[:, :, 0], axis=1) * camera.focal_pixels() / np.maximum(depth, 1e-9)
    order = np.argsort(-depth)
    add_segments(axes, ends[order], color[order], width[order], camera)


def add_segments(axes: Any, points: Array, color: Any, width: Array, camera: Camera) -> None:
    """Draw segments (k, 2, 3) of ``width`` (k,) pixels; those that reach behind the eye are left out."""
    from matplotlib.collections import LineCollection

    pixels = camera.project(points.reshape(-1, 3)).reshape(-1, 2, 3)
    seen = np.all(pixels[:, :, 2] > 0.0, axis=1)
    thick = np.maximum(width[seen], 1.0) * POINTS_PER_INCH / DPI
    axes.add_collection(
        LineCollection(list(pixels[seen, :, :2]), colors=color[seen], linewidths=thick, capstyle="round")
    )


def add_triangles(axes: Any, batch: Batch, camera: Camera, section: Section | None) -> None:
    """Draw the triangles of a batch in flat shades, far ones first, or what a section leaves of them."""
    from matplotlib.collections import PolyCollection

    place = batch.placement
    triangles = (batch.mesh.vertices @ place[:, :, :3].transpose(0, 2, 1) + place[:, None, :, 3]).reshape(-1, 3, 3)
    color = np.repeat(batch.color, len(batch.mesh.vertices) // 3, axis=0).astype(float)
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]) @ camera.axes().T
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    color[:, :3] *= 0.5 + 0.5 * np.abs(normals @ LIGHT)[:, None]
    if section is not None:
        triangles, kept = section.cut(triangles)
        color = color[kept]
    pixels = camera.project(triangles.reshape(-1, 3)).reshape(*triangles.shape)
    order = np.argsort(-pixels[:, :, 2].mean(axis=1))
    order = order[np.all(pixels[order, :, 2] > 0.0, axis=1)]
    axes.add_collection(PolyCollection(list(pixels[order, :, :2]), facecolors=np.clip(color[order], 0.0, 1.0)))
