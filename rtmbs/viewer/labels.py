"""Names beside bodies: as many as there is room for, none over another."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QColor, QPainter

from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.scene import Scene

Array = NDArray[np.float64]

MOST = 250  # labels of one picture
ABOVE = 13.0  # pixels over the mass centre
PADDING = (-4, -1, 4, 1)


def draw_labels(painter: QPainter, scene: Scene, camera: Camera) -> int:
    """Write the names of bodies over their mass centres, near ones and the chosen one first; return how many."""
    bodies = range(1, len(scene.description.bodies))
    if not bodies:
        return 0
    pixels = camera.project([scene.center_of(body) for body in bodies])
    order = sorted(bodies, key=lambda body: (body != scene.selected, pixels[body - 1, 2]))
    screen = QRect(0, 0, camera.width, camera.height)
    taken: list[QRect] = []
    for body in order:
        x, y, depth = pixels[body - 1]
        if depth <= 0.0 or len(taken) == MOST:
            continue
        name = scene.description.bodies[body].name
        box = box_of(painter, name, QPointF(x, y - ABOVE))
        if screen.contains(box) and not any(box.intersects(other) for other in taken):
            taken.append(box)
            write(painter, name, box, scene)
    return len(taken)


def draw_texts(painter: QPainter, texts: list[tuple[Array, str]], scene: Scene, camera: Camera) -> None:
    """Write texts over points (3,) of the world; those behind the eye are left out."""
    for point, text in texts:
        ((x, y, depth),) = camera.project(point)
        if depth > 0.0:
            write(painter, text, box_of(painter, text, QPointF(x, y - ABOVE)), scene)


def box_of(painter: QPainter, text: str, middle: QPointF) -> QRect:
    """Return the pixels that a text takes about ``middle``."""
    box = painter.fontMetrics().boundingRect(text).adjusted(*PADDING)
    box.moveCenter(middle.toPoint())
    return box


def write(painter: QPainter, text: str, box: QRect, scene: Scene) -> None:
    """Write a text on a light ground of its own."""
    halo = QColor(scene.theme.background)
    halo.setAlpha(200)
    painter.fillRect(box, halo)
    painter.setPen(QColor(scene.theme.text))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
