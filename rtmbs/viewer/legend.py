"""What is written into the picture: names of the axes, a scale bar, and what the length of an arrow means."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from rtmbs.viewer.camera import Camera
from rtmbs.viewer.grid import AXES, round_spacing
from rtmbs.viewer.scene import Scene

WIDE = 140.0  # pixels that the scale bar has at most
INSET, ROW = 14.0, 18.0  # pixels from the edge of the picture, and from one line to the next
TICK = 4.0
OUT = 1.12  # where the name of an axis stands, in lengths of the axis


def draw_legend(painter: QPainter, scene: Scene, camera: Camera) -> None:
    """Write it over a picture of ``scene``, in the lower right corner and at the tips of the axes."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if scene.shown["axes"]:
        draw_axis_names(painter, scene, camera)
    bottom = camera.height - INSET
    if scene.shown["grid"]:
        draw_scale_bar(painter, scene, camera, bottom)
        bottom -= ROW + TICK
    if scene.has_arrows():
        write(painter, scene.scale.sentence(), QRectF(0.0, bottom - ROW, camera.width - INSET, ROW), scene.theme.muted)


def draw_axis_names(painter: QPainter, scene: Scene, camera: Camera) -> None:
    """Write x, y and z beyond the tips of the axes."""
    for (x, y, depth), name, color in zip(camera.project(OUT * scene.axis_tips()), "xyz", AXES, strict=True):
        if depth > 0.0:
            painter.setPen(QColor(color))
            painter.drawText(QRectF(x - 8.0, y - 8.0, 16.0, 16.0), Qt.AlignmentFlag.AlignCenter, name)


def scale_bar(camera: Camera) -> tuple[float, float]:
    """Return a round length [m], and its pixels at the depth that the camera turns about."""
    metres = camera.metres_per_pixel()
    length = round_spacing(WIDE * metres)
    return length, length / metres


def draw_scale_bar(painter: QPainter, scene: Scene, camera: Camera, bottom: float) -> None:
    """Draw a bar of a round length; in perspective it holds at the depth of the middle."""
    length, pixels = scale_bar(camera)
    right, left = camera.width - INSET, camera.width - INSET - pixels
    painter.setPen(QPen(QColor(scene.theme.muted), 1.5))
    painter.drawLine(QPointF(left, bottom), QPointF(right, bottom))
    for x in (left, right):
        painter.drawLine(QPointF(x, bottom - TICK), QPointF(x, bottom + TICK))
    write(painter, metric(length), QRectF(left, bottom - ROW, pixels, ROW), scene.theme.muted)


def metric(length: float) -> str:
    """Return a length in the unit that needs no zeros: 0.005 is "5 mm"."""
    for least, unit, factor in ((1.0, "m", 1.0), (0.01, "cm", 1e2), (0.001, "mm", 1e3)):
        if length >= least * (1.0 - 1e-9):
            return f"{factor * length:g} {unit}"
    return f"{1e6 * length:g} µm"


def write(painter: QPainter, text: str, where: QRectF, color: str) -> None:
    """Write a line against the right side of a rectangle."""
    painter.setPen(QColor(color))
    painter.drawText(where, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
