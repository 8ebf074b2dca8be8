"""The widget that shows the scene: OpenGL, labels on top, and what the mouse does."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtOpenGL import QOpenGLPaintDevice
from PySide6.QtOpenGLWidgets import QOpenGLWidget
from PySide6.QtWidgets import QLabel, QToolTip, QWidget

from rtmbs.viewer.labels import draw_labels, draw_texts
from rtmbs.viewer.legend_qt import draw_legend
from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.legend import legend
from rtmbs.viewer.scene.renderer import SAMPLES, Framebuffer, Renderer, is_software, paint_ground
from rtmbs.viewer.scene.scene import Pick, Scene
from rtmbs.viewer.surface import surface_format

Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

DEGREES_PER_PIXEL = 0.35
ZOOM_PER_NOTCH = 1.15
NOTCH = 120.0  # eighths of a degree that a wheel turns a notch
STILL = 4.0  # pixels that a click may move
HOVER = 90  # [ms] that the mouse rests before a name is shown
CALM = 250  # [ms] without a picture, after which a slow renderer draws one with smooth edges


class Canvas(QOpenGLWidget):
    """Shows a Scene through a Camera.

    Left drag turns, right or middle drag moves, the wheel zooms, a click chooses; Ctrl + left drag pulls a body.
    No key means anything here: the window's table of keys has them all.
    """

    picked = Signal(object)  # a Pick, or None
    centered = Signal(object)  # a Pick: double click
    grabbed = Signal(object)  # a Pick
    moved = Signal(object)  # where the pull goes, (3,) world
    released = Signal()
    steered = Signal()  # the user moved the picture or came closer
    failed = Signal(str)  # drawing went wrong: a sentence

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.camera = Camera()
        self.scene: Scene | None = None
        self.ground = (1.0, 1.0, 1.0)  # what is painted before there is a scene
        self.labels = False
        self.pictures = 0  # drawn so far
        self.software = False  # no graphics card: smooth edges only while nothing moves
        self._renderer: Renderer | None = None
        self._target: Framebuffer | None = None
        self._smooth_next = False
        self._calm = QTimer(self, singleShot=True, interval=CALM)
        self._calm.timeout.connect(self.draw_smooth)
        self._hover = QTimer(self, singleShot=True, interval=HOVER)
        self._hover.timeout.connect(self.show_name)
        self._last, self._pressed = QPointF(), QPointF()
        self._pull: Pick | None = None
        self.setFormat(surface_format())
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(240, 180)
        self.setMouseTracking(True)

    def sizeHint(self) -> QSize:
        return QSize(1200, 700)

    def set_scene(self, scene: Scene) -> None:
        """Show another scene; the buffers of the old one are freed."""
        self.scene = scene
        if self._renderer is not None:
            self.makeCurrent()
            self._renderer.forget()
            self.doneCurrent()
        self.update()

    # ---- drawing -------------------------------------------------------------------------------------------------

    def initializeGL(self) -> None:
        self._renderer, self._target = Renderer(hurried=True), None
        self.software = is_software()

    def resizeGL(self, width: int, height: int) -> None:
        self.camera.resize(width, height)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw; what goes wrong is told once and leaves the window alive."""
        try:
            super().paintEvent(event)
        except Exception as error:  # noqa: BLE001 (an exception in a paint event would come again at every one)
            self.failed.emit(f"the picture could not be drawn: {type(error).__name__}: {error}")

    def paintGL(self) -> None:
        if self._renderer is None:
            return
        if self.scene is None:
            paint_ground(self.ground)
            return
        smooth = self._smooth_next or not self.software
        self._smooth_next = False
        if smooth:
            self._smooth_target().bind()
        scene = self.scene
        self._renderer.draw(scene.drawing(), self.camera)
        if smooth:
            self._smooth_target().copy_to(self.defaultFramebufferObject())
        elif not self._calm.isActive() or self._calm.remainingTime() < CALM // 2:
            self._calm.start()
        self._write(scene, [text for overlay in scene.overlays for text in overlay.texts()])
        self.pictures += 1

    def taken(self) -> tuple[float, float]:
        """Return how far the info overlay reaches to the right and down [pixels]."""
        over = [one for one in self.findChildren(QLabel, "info") if one.isVisible()]
        return (over[0].geometry().right() + 1.0, over[0].geometry().bottom() + 1.0) if over else (0.0, 0.0)

    def _write(self, scene: Scene, texts: list[tuple[NDArray[np.float64], str]]) -> None:
        """Write on the framebuffer that is bound; a painter on the widget would go elsewhere while it is grabbed."""
        written = legend(scene, self.camera, taken=self.taken())
        if not (self.labels or texts or written):
            return
        ratio = self.devicePixelRatioF()
        device = QOpenGLPaintDevice(round(self.width() * ratio), round(self.height() * ratio))
        device.setDevicePixelRatio(ratio)
        painter = QPainter(device)
        painter.setFont(self.font())
        draw_legend(painter, written)
        if self.labels:
            draw_labels(painter, scene, self.camera)
        draw_texts(painter, texts, scene, self.camera)
        painter.end()

    def picture(self) -> Picture:
        """Draw once with smooth edges and return the picture, labels included."""
        self._smooth_next = True
        image = self.grabFramebuffer().convertToFormat(QImage.Format.Format_RGB888)
        rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
        return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()

    def _smooth_target(self) -> Framebuffer:
        """Return the framebuffer with several samples, of the present size."""
        ratio = self.devicePixelRatioF()
        width, height = round(self.width() * ratio), round(self.height() * ratio)
        if self._target is None or (self._target.width, self._target.height) != (width, height):
            if self._target is not None:
                self._target.delete()
            self._target = Framebuffer(width, height, SAMPLES)
        return self._target

    def draw_smooth(self) -> None:
        """Draw the next picture with smooth edges."""
        self._smooth_next = True
        self.update()

    # ---- mouse ---------------------------------------------------------------------------------------------------

    def pick(self, x: float, y: float) -> Pick | None:
        """Return what stands under a pixel."""
        return None if self.scene is None else self.scene.pick(*self.camera.ray(x, y))

    def show_name(self) -> None:
        """Show the name of what the mouse rests on."""
        name = ""
        if self.scene is not None and self.underMouse():
            name = self.scene.name_at(*self.camera.ray(self._last.x(), self._last.y()))
        QToolTip.showText(self.mapToGlobal(self._last.toPoint()), name, self)  # an empty one hides the last

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._last = self._pressed = event.position()
        pulls = event.button() == Qt.MouseButton.LeftButton and event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if pulls and (met := self.pick(self._last.x(), self._last.y())) is not None:
            self._pull = met
            self.grabbed.emit(met)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        here, buttons = event.position(), event.buttons()
        way, self._last = here - self._last, here
        if buttons == Qt.MouseButton.NoButton:
            self._hover.start()
            return
        QToolTip.hideText()
        if self._pull is not None:
            self.moved.emit(self.camera.at_depth_of(here.x(), here.y(), self._pull.point))
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            return  # a pull that met nothing
        elif buttons & Qt.MouseButton.LeftButton:
            self.camera.orbit(-DEGREES_PER_PIXEL * way.x(), DEGREES_PER_PIXEL * way.y())
        elif buttons & (Qt.MouseButton.RightButton | Qt.MouseButton.MiddleButton):
            self.camera.pan(way.x(), way.y())
            self.steered.emit()
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        here = event.position()
        if self._pull is not None:
            self._pull = None
            self.released.emit()
        elif event.button() == Qt.MouseButton.LeftButton and (here - self._pressed).manhattanLength() <= STILL:
            self.picked.emit(self.pick(here.x(), here.y()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        met = self.pick(event.position().x(), event.position().y())
        if met is not None:
            self.centered.emit(met)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.camera.zoom(ZOOM_PER_NOTCH ** (event.angleDelta().y() / NOTCH))
        self.steered.emit()
        self.update()
