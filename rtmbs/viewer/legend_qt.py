"""A legend written by Qt's painter."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from rtmbs.viewer.scene.legend import LEFT, MIDDLE, RIGHT, ROW, Legend, Stroke, is_finite

ROOM = 2000.0  # pixels beside an anchor, more than any line is long
SIDES = {
    LEFT: (Qt.AlignmentFlag.AlignLeft, 0.0),
    MIDDLE: (Qt.AlignmentFlag.AlignHCenter, 0.5),
    RIGHT: (Qt.AlignmentFlag.AlignRight, 1.0),
}


def draw_legend(painter: QPainter, legend: Legend) -> None:
    """Write words and lines over a picture."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for one in filter(is_finite, legend):
        if isinstance(one, Stroke):
            pen = QPen(QColor(one.color), one.width)
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
            painter.setPen(pen)
            painter.drawLine(QPointF(*one.start), QPointF(*one.end))
            continue
        side, share = SIDES[one.anchor]
        painter.setPen(QColor(one.color))
        box = QRectF(one.x - share * ROOM, one.y - 0.5 * ROW, ROOM, ROW)
        painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter, one.text)
