"""Window of a drive: the viewer's window with keys that drive, views of a driver, and an instrument panel."""

import time
from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from rtmbs.drive.person import PERSON, WISHES, Control, Keyboard, Mouse, Wishes, strongest
from rtmbs.vehicle.axle import CHASSIS, WHEEL
from rtmbs.viewer.qt.window import Window
from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.session.commands import Inspect, Reset, SetInput

CORNERS = ("fl", "fr", "rl", "rr")
HELD = {
    Qt.Key.Key_Left: "left", Qt.Key.Key_A: "left", Qt.Key.Key_Right: "right", Qt.Key.Key_D: "right",
    Qt.Key.Key_Up: "throttle", Qt.Key.Key_W: "throttle", Qt.Key.Key_Down: "brake", Qt.Key.Key_S: "brake",
}  # fmt: skip
VIEW, MOUSE, RESET = Qt.Key.Key_C, Qt.Key.Key_M, Qt.Key.Key_Backspace
VIEWS = ("chase", "driver", "free")
KEYS = "arrows or WASD drive, C changes the view, M steers by the mouse, Backspace goes back to the start"
TICKET = 3688  # of the channels that the panel asks for
BEHIND, OVER, LAG = 7.5, 2.4, 0.35  # [m], [m], [s]: where the eye of the chase goes, and how late it turns
HEAD = (0.62, 0.0, 0.85)  # [m] of the driver, from the middle of the axles, over the chassis frame


class Instruments(QWidget):
    """Panel over the picture: speed, gear, pedals, steering, loads and forces of the wheels, lateness of the steps."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFixedSize(470, 170)
        self.speed, self.gear, self.wishes, self.late = 0.0, 1, Wishes(), ""
        self.forces = np.zeros((4, 3))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the instruments."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(20, 24, 28, 190))
        painter.drawRoundedRect(self.rect(), 12, 12)
        self._numbers(painter)
        self._pedals(painter)
        self._wheels(painter)
        painter.end()

    def _numbers(self, painter: QPainter) -> None:
        """Write speed, gear and lateness."""
        font = painter.font()
        painter.setPen(QColor("white"))
        font.setPointSize(34)
        painter.setFont(font)
        painter.drawText(QRectF(10, 6, 130, 70), Qt.AlignmentFlag.AlignRight, f"{3.6 * self.speed:.0f}")
        font.setPointSize(11)
        painter.setFont(font)
        painter.drawText(QRectF(146, 34, 60, 30), Qt.AlignmentFlag.AlignLeft, "km/h")
        painter.drawText(QRectF(146, 12, 80, 30), Qt.AlignmentFlag.AlignLeft, f"gear {self.gear}")
        font.setPointSize(9)
        painter.setFont(font)
        painter.drawText(QRectF(14, 128, 250, 36), Qt.AlignmentFlag.AlignLeft, self.late)

    def _pedals(self, painter: QPainter) -> None:
        """Draw bars of throttle, brake and steering."""
        bars = (("throttle", self.wishes.throttle, "#3fae5a"), ("brake", self.wishes.brake, "#d2493c"))
        for k, (name, value, color) in enumerate(bars):
            y = 78 + 16 * k
            painter.setPen(QColor("white"))
            painter.drawText(QRectF(14, y - 4, 60, 16), Qt.AlignmentFlag.AlignLeft, name)
            painter.fillRect(QRectF(76, y, 120, 9), QColor(80, 86, 92))
            painter.fillRect(QRectF(76, y, 120 * value, 9), QColor(color))
        painter.setPen(QColor("white"))
        painter.drawText(QRectF(14, 106, 60, 16), Qt.AlignmentFlag.AlignLeft, "steering")
        painter.fillRect(QRectF(76, 110, 120, 9), QColor(80, 86, 92))
        width = -60.0 * self.wishes.steering
        painter.fillRect(QRectF(136, 110, width, 9).normalized(), QColor("#e0a32c"))

    def _wheels(self, painter: QPainter) -> None:
        """Draw circles as large as the loads, and the horizontal forces of the road on the wheels."""
        scale = 42.0 / 9000.0  # pixels a newton
        for corner, force in zip(CORNERS, self.forces, strict=True):
            middle = QPointF(300.0 if corner[1] == "l" else 400.0, 44.0 if corner[0] == "f" else 124.0)
            radius = scale * max(float(force[2]), 0.0)
            painter.setPen(QPen(QColor(160, 170, 180), 1.5))
            painter.setBrush(QColor(60, 68, 76))
            painter.drawEllipse(middle, radius, radius)
            end = middle + QPointF(-2.0 * scale * float(force[1]), -2.0 * scale * float(force[0]))
            painter.setPen(QPen(QColor("#f0b13a"), 3.0))
            painter.drawLine(middle, end)
            painter.setPen(QColor("white"))
            box = QRectF(middle.x() - 30, middle.y() + 26, 60, 14)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, f"{force[2] / 1000.0:.1f} kN")


class DriveWindow(Window):
    """Window of a drive.

    Parameters
    ----------
    connection : Connection
        Connection to the session of a ``DriveOrigin``.
    theme : Theme
        Colours.
    pads : tuple[Control, ...]
        Further controls, such as a game pad.
    """

    def __init__(self, connection: Any, theme: Any, pads: tuple[Control, ...] = ()) -> None:
        self.keyboard, self.mouse, self.pads, self.by_mouse = Keyboard(), Mouse(), pads, False
        self.view, self.log = VIEWS[0], list[tuple[float, ...]]()
        self._sent, self._looked, self._heading, self._middle = Wishes(), time.perf_counter(), 0.0, 0.0
        self._seen: tuple[float, Any] | None = None
        super().__init__(connection, theme)
        self.instruments = Instruments(self.canvas)
        self.instruments.show()
        self.info_wanted = False
        self.shown.update(dict.fromkeys(("joints", "forces", "springs", "grid", "axes"), False))
        self.canvas.setFocus()
        self.statusBar().showMessage(KEYS)

    # ---- controls ---------------------------------------------------------------------------------------------------

    def steer(self) -> None:
        """Send the wishes of the controls that changed."""
        now = time.perf_counter()
        dt, self._looked = min(now - self._looked, 0.1), now
        controls: list[Control] = [self.keyboard, *self.pads, *((self.mouse,) if self.by_mouse else ())]
        wishes = strongest([one.wishes(dt) for one in controls])
        for name, value, sent in zip(WISHES, wishes, self._sent, strict=True):
            if abs(value - sent) > 1e-4:
                self.send(SetInput(f"{PERSON}.{name}", value))
        if wishes != self._sent and self.frame is not None:
            self.log.append((self.frame.t, *wishes))
        self._sent = wishes

    def tick(self) -> None:
        """Send wishes, then show the latest frame."""
        if self.description is not None:
            self.steer()
        super().tick()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.canvas and self._take(event):
            return True
        return super().eventFilter(watched, event)

    def _take(self, event: QEvent) -> bool:
        """Take an event that drives; False for one that is the window's."""
        kind = event.type()
        if isinstance(event, QKeyEvent):
            key = Qt.Key(event.key())
            if event.modifiers() & Qt.KeyboardModifier.ControlModifier or key not in {*HELD, VIEW, MOUSE, RESET}:
                return False
            if kind == QEvent.Type.ShortcutOverride:
                event.accept()
            elif not event.isAutoRepeat():
                self._key(key, kind == QEvent.Type.KeyPress)
            return True
        if self.by_mouse and isinstance(event, QMouseEvent):
            self.mouse.place = 2.0 * event.position().x() / max(self.canvas.width(), 1) - 1.0
            self.mouse.left = bool(event.buttons() & Qt.MouseButton.LeftButton)
            self.mouse.right = bool(event.buttons() & Qt.MouseButton.RightButton)
            return True
        return False

    def _key(self, key: Qt.Key, pressed: bool) -> None:
        """Note a key that went down or up."""
        if key in HELD:
            (self.keyboard.held.add if pressed else self.keyboard.held.discard)(HELD[key])
        elif pressed and key == VIEW:
            self.view = VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)]
            self.statusBar().showMessage(f"view: {self.view}")
        elif pressed and key == MOUSE:
            self.by_mouse = not self.by_mouse
            self.statusBar().showMessage("the mouse steers" if self.by_mouse else "the mouse moves the camera")
        elif pressed and key == RESET:
            self.send(Reset())

    # ---- picture ----------------------------------------------------------------------------------------------------

    def _take_mechanism(self, frame: Frame) -> None:
        super()._take_mechanism(frame)
        if self.description is not None:  # half way between the axles, where the wheels are at the start
            places = {one.name: frame.r[k] for k, one in enumerate(self.description.bodies)}
            wheels = np.mean([places[f"{WHEEL}_{corner}"] for corner in CORNERS], axis=0)
            self._middle = float(wheels[0] - places[CHASSIS][0])
        self.send(Inspect(tuple(f"tyre_{corner}.force" for corner in CORNERS), TICKET))

    def _show(self, frame: Frame) -> None:
        super()._show(frame)
        if self.description is not None and self.view != "free":
            self.framing.holding = False
            self._look(frame, self.description)
        self._read(frame)

    def _look(self, frame: Frame, description: SceneDescription) -> None:
        """Move the camera to the eye of the chase or of the driver."""
        body = next(k for k, one in enumerate(description.bodies) if one.name == CHASSIS)
        place, R, camera = frame.r[body], frame.A[body], self.canvas.camera
        heading = float(np.arctan2(R[1, 0], R[0, 0]))
        old = self._seen
        dt = 0.0 if old is None else frame.t - old[0]
        if self.view == "driver":
            eye = place + R @ np.array((HEAD[0] + self._middle, *HEAD[1:]))
            look_from(camera, eye, R @ np.array((1.0, 0.0, -0.06)), R[:, 2])
            return
        turn = np.arctan2(np.sin(heading - self._heading), np.cos(heading - self._heading))
        share = 1.0 if old is None or not 0.0 <= dt < 1.0 else 1.0 - np.exp(-dt / LAG)
        self._heading += float(share * turn)
        ahead = np.array((np.cos(self._heading), np.sin(self._heading), 0.0))
        eye = place - BEHIND * ahead + (0.0, 0.0, OVER)
        look_from(camera, eye, place + (0.0, 0.0, 0.5) + 2.0 * ahead - eye, np.array((0.0, 0.0, 1.0)))

    def _read(self, frame: Frame) -> None:
        """Put the numbers of a frame on the instruments."""
        panel, description = self.instruments, self.description
        if description is None:
            return
        body = next(k for k, one in enumerate(description.bodies) if one.name == CHASSIS)
        place = frame.r[body].copy()
        if self._seen is None or frame.t < self._seen[0]:
            self._seen = (frame.t, place)
        elif frame.t - self._seen[0] > 0.04:
            panel.speed = float(np.linalg.norm(place - self._seen[1])) / (frame.t - self._seen[0])
            self._seen = (frame.t, place)
        inputs = {one.name: frame.inputs[one.place] for one in description.inputs}
        panel.gear = round(float(inputs["driver.gear"][0]))
        panel.wishes = Wishes(*(float(inputs[f"{PERSON}.{name}"][0]) for name in WISHES))
        if frame.inspect_ticket == TICKET:
            panel.forces = in_car(frame.inspected[:12].reshape(4, 3), frame.A[body])
        panel.late = lateness(frame)
        panel.move(12, max(self.canvas.height() - panel.height() - 12, 0))
        panel.update()


def in_car(forces: Any, R: Any) -> Any:
    """Return forces (k, 3) in axes that are level and turn with a car of orientation R (3, 3)."""
    size = np.hypot(R[0, 0], R[1, 0])
    c, s = R[0, 0] / size, R[1, 0] / size
    found = np.nan_to_num(forces)
    return np.stack((c * found[:, 0] + s * found[:, 1], c * found[:, 1] - s * found[:, 0], found[:, 2]), axis=1)


def lateness(frame: Frame) -> str:
    """Return how the steps keep up with real time: all that the session measured."""
    if not frame.deadlines:
        return "paused" if not frame.playing else ""
    share = 100.0 * frame.missed / frame.deadlines
    return (
        f"{frame.actual_speed:.2f} x real time, step {1e6 * frame.p50:.0f} us of {1e6 * frame.deadline:.0f}\n"
        f"late {1e3 * frame.late_p50:.2f} ms, p99 {1e3 * frame.late_p99:.2f}; missed {share:.1f} %"
    )


def look_from(camera: Camera, eye: Any, direction: Any, up: Any) -> None:
    """Put the eye of a camera at a place (3,), looking along a direction (3,), with ``up`` (3,) above."""
    backward = -direction / np.linalg.norm(direction)
    right = np.cross(up, backward)
    right /= np.linalg.norm(right)
    camera.given = np.array([right, np.cross(backward, right), backward])
    camera.distance = 8.0
    camera.center = np.asarray(eye) - camera.distance * backward
