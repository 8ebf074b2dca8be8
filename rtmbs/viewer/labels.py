"""Names beside bodies: as many as there is room for, none over another."""

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QColor, QPainter

from rtmbs.viewer.camera import Camera
from rtmbs.viewer.scene import Scene

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
    halo, ink = QColor(scene.theme.background), QColor(scene.theme.text)
    halo.setAlpha(200)
    taken: list[QRect] = []
    for body in order:
        x, y, depth = pixels[body - 1]
        if depth <= 0.0 or len(taken) == MOST:
            continue
        name = scene.description.bodies[body].name
        box = painter.fontMetrics().boundingRect(name).adjusted(*PADDING)
        box.moveCenter(QPointF(x, y - ABOVE).toPoint())
        if screen.contains(box) and not any(box.intersects(other) for other in taken):
            taken.append(box)
            painter.fillRect(box, halo)
            painter.setPen(ink)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, name)
    return len(taken)
