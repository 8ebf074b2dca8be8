"""Icons of the transport bar, drawn in a colour of the theme."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap, QPolygonF

SIZE = 32  # [pixels] drawn; shown smaller
HIGH, LOW, MIDDLE = 6.0, 26.0, 16.0

# Triangles by their corners, bars by (left, width).
SHAPES: dict[str, tuple[list[list[tuple[float, float]]], list[tuple[float, float]]]] = {
    "play": ([[(9, HIGH), (9, LOW), (26, MIDDLE)]], []),
    "pause": ([], [(8, 5), (19, 5)]),
    "forward": ([[(7, HIGH), (7, LOW), (20, MIDDLE)]], [(22, 4)]),
    "back": ([[(25, HIGH), (25, LOW), (12, MIDDLE)]], [(6, 4)]),
    "start": ([[(28, HIGH), (28, LOW), (18, MIDDLE)], [(18, HIGH), (18, LOW), (8, MIDDLE)]], [(4, 3)]),
}


def icon(name: str, color: str) -> QIcon:
    """Return one of ``SHAPES`` in a colour ``#rrggbb``."""
    triangles, bars = SHAPES[name]
    picture = QPixmap(SIZE, SIZE)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(color))
    for corners in triangles:
        painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in corners]))
    for left, width in bars:
        painter.drawRect(QRectF(left, HIGH, width, LOW - HIGH))
    painter.end()
    return QIcon(picture)
