"""Canvas: the widget that shows the scene by OpenGL; mouse, camera framing, chosen and hidden elements."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPen, QPolygonF, QWheelEvent
from PySide6.QtOpenGL import QOpenGLPaintDevice
from PySide6.QtOpenGLWidgets import QOpenGLWidget
from PySide6.QtWidgets import QLabel, QToolTip, QWidget

from rtmbs.viewer.qt.requirements import surface_format
from rtmbs.viewer.scene.camera import (
    EDGE_ON,
    HALF_EDGE,
    Camera,
    CubeFace,
    cube_corner,
    cube_face_at,
    cube_faces,
    cube_middle,
)
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.drawing import AXIS_COLORS, Section
from rtmbs.viewer.scene.elements import (
    BODY,
    JOINT,
    KINDS,
    BodyOutline,
    Choice,
    Hidden,
    Highlight,
    Measurement,
    Overlay,
    Pair,
    SectionOutline,
    bodies_of,
    distances,
    drawn,
    end_of,
    groups,
)
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.legend import LEFT, MIDDLE, RIGHT, ROW, Legend, Stroke, is_finite, legend
from rtmbs.viewer.scene.renderer import SAMPLES, Framebuffer, Renderer, is_software, paint_ground
from rtmbs.viewer.scene.scene import Following, Pick, Scene
from rtmbs.viewer.scene.theme import Theme

Picture = NDArray[np.uint8]  # (height, width, 3), upper row first

DEGREES_PER_PIXEL = 0.35
ZOOM_PER_NOTCH = 1.15
NOTCH = 120.0  # eighths of a degree that a wheel turns a notch
STILL = 4.0  # pixels that a click may move
HOVER = 90  # [ms] that the mouse rests before a name is shown
CALM = 250  # [ms] without a picture, after which a slow renderer draws one with smooth edges


class Canvas(QOpenGLWidget):
    """Shows a Scene through a Camera.

    Left drag turns, right or middle drag moves, the wheel comes closer to the mouse, a click chooses. Ctrl + left drag
    pulls a body; with Shift, or while ``paused``, it moves the body by the loops alone. A click on the view cube looks
    along an axis.
    No key means anything here: the window's table of keys has them all.
    """

    picked = Signal(object)  # a Pick, or None
    centered = Signal(object)  # a Pick: double click
    grabbed = Signal(object)  # a Pick
    moved = Signal(object)  # where the pull goes, (3,) world
    released = Signal()
    dragged = Signal(object, object)  # a Pick, and the place (3,) that its point is moved to, world
    steered = Signal()  # the user moved the picture or came closer
    faced = Signal(object)  # the direction (3,) of a face of the view cube
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
        self._filed = False  # the picture goes to a file
        self._faced = False  # the press was on the view cube
        self.paused = False  # the session can be moved by hand
        self.gesture = 0  # counts presses that pull or move a body
        self._dragging = False  # the pull moves the body by its loops, not by a spring
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

    @contextmanager
    def _failures_told(self) -> Iterator[None]:
        """Show an error in the banner, and go on.

        It must not pass through Qt: it would come again at every picture, and while it is pending, Qt's calls of other
        methods of this class are lost.
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001 (whatever it is, the window stays)
            self.failed.emit(f"the picture could not be drawn: {type(error).__name__}: {error}")

    def initializeGL(self) -> None:
        with self._failures_told():
            self._renderer, self._target = Renderer(hurried=True), None
            self.software = is_software()

    def resizeGL(self, width: int, height: int) -> None:
        self.camera.resize(width, height)

    def paintGL(self) -> None:
        with self._failures_told():
            self._paint()

    def _paint(self) -> None:
        """Draw the scene and what is written over it."""
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
        texts = [text for overlay in scene.overlays for text in overlay.texts()]
        self._write(scene, texts + scene.pull_text())
        self.pictures += 1

    def taken(self) -> tuple[float, float]:
        """Return how far the info overlay reaches to the right and down [pixels]."""
        over = [one for one in self.findChildren(QLabel, "info") if one.isVisible()]
        return (over[0].geometry().right() + 1.0, over[0].geometry().bottom() + 1.0) if over else (0.0, 0.0)

    def _write(self, scene: Scene, texts: list[tuple[NDArray[np.float64], str]]) -> None:
        """Write on the framebuffer that is bound; a painter on the widget would go elsewhere while it is grabbed."""
        written = legend(scene, self.camera, taken=self.taken())
        cube = self.cube()
        if not (self.labels or texts or written or cube):
            return
        ratio = self.devicePixelRatioF()
        device = QOpenGLPaintDevice(round(self.width() * ratio), round(self.height() * ratio))
        device.setDevicePixelRatio(ratio)
        painter = QPainter(device)
        painter.setFont(self.font())
        draw_legend(painter, written)
        if self.labels:
            draw_labels(painter, scene, self.camera)
        draw_measurements(painter, scene, self.camera)
        draw_texts(painter, texts, scene, self.camera)
        if cube is not None:
            draw_cube(painter, cube, cube_faces(self.camera.axes()), scene.theme)
        painter.end()

    def cube(self) -> tuple[float, float] | None:
        """Return the middle of the view cube [pixels]; None where there is none, as on pictures for files."""
        shown = self.scene is not None and self.scene.shown["axes"] and not self._filed
        return cube_middle(self.width(), self.height()) if shown else None

    def cube_corner(self) -> float:
        """Return the edge of the square at the upper right corner that the view cube takes [pixels]; 0 without one."""
        return 0.0 if self.cube() is None else cube_corner(self.width(), self.height())

    def face_at(self, x: float, y: float) -> CubeFace | None:
        """Return the face of the view cube under a pixel."""
        middle = self.cube()
        return None if middle is None else cube_face_at(self.camera.axes(), x - middle[0], y - middle[1])

    def picture(self) -> Picture:
        """Draw once with smooth edges and return the picture, labels included."""
        self._smooth_next = self._filed = True
        image = self.grabFramebuffer().convertToFormat(QImage.Format.Format_RGB888)
        self._filed = False
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
        """Return the body or joint under a pixel."""
        return None if self.scene is None else self.scene.pick(*self.camera.ray(x, y))

    def show_name(self) -> None:
        """Show the name of the element under the mouse."""
        name = ""
        if self.scene is not None and self.underMouse():
            name = self.scene.name_at(*self.camera.ray(self._last.x(), self._last.y()))
        QToolTip.showText(self.mapToGlobal(self._last.toPoint()), name, self)  # an empty one hides the last

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._last = self._pressed = event.position()
        left = event.button() == Qt.MouseButton.LeftButton
        self._faced = left and (face := self.face_at(self._last.x(), self._last.y())) is not None
        if self._faced and face is not None:
            self.faced.emit(np.array(face.normal))
            return
        pulls = left and event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if pulls and (met := self.pick(self._last.x(), self._last.y())) is not None:
            shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._pull, self._dragging, self.gesture = met, shift or self.paused, self.gesture + 1
            (self.dragged.emit(met, met.point) if self._dragging else self.grabbed.emit(met))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        here, buttons = event.position(), event.buttons()
        way, self._last = here - self._last, here
        if buttons == Qt.MouseButton.NoButton:
            self._hover.start()
            return
        QToolTip.hideText()
        if self._faced:
            return
        if self._pull is not None:
            target = self.camera.at_depth_of(here.x(), here.y(), self._pull.point)
            (self.dragged.emit(self._pull, target) if self._dragging else self.moved.emit(target))
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
            if not self._dragging:
                self.released.emit()
        elif self._faced:
            self._faced = False
        elif event.button() == Qt.MouseButton.LeftButton and (here - self._pressed).manhattanLength() <= STILL:
            self.picked.emit(self.pick(here.x(), here.y()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        met = self.pick(event.position().x(), event.position().y())
        if met is not None:
            self.centered.emit(met)

    def wheelEvent(self, event: QWheelEvent) -> None:
        here = event.position()
        met = self.pick(here.x(), here.y())
        factor = ZOOM_PER_NOTCH ** (event.angleDelta().y() / NOTCH)
        self.camera.zoom_at(here.x(), here.y(), factor, None if met is None else met.point)
        self.steered.emit()
        self.update()


# ---- labels ----------------------------------------------------------------------------------------------------------

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


def draw_measurements(painter: QPainter, scene: Scene, camera: Camera) -> None:
    """Draw what is measured over everything, dashed: a body hides the line along its middle."""
    for one in scene.overlays:
        if isinstance(one, Measurement) and one.reading is not None:
            (x, y, near), (u, v, far) = camera.project([one.reading.start, one.reading.start + one.reading.vector])
            if near > 0.0 and far > 0.0:
                painter.setPen(QPen(QColor(scene.theme.accent), 1.5, Qt.PenStyle.DashLine))
                painter.drawLine(QPointF(x, y), QPointF(u, v))


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


def draw_cube(painter: QPainter, middle: tuple[float, float], faces: list[CubeFace], theme: Theme) -> None:
    """Draw the faces of the view cube that are seen, with their letters."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for face in faces:
        corners = [QPointF(middle[0] + x, middle[1] + y) for x, y in face.corners.tolist()]
        ground = QColor(theme.field)
        ground.setAlpha(217)
        painter.setPen(QPen(QColor(theme.border), 1.0))
        painter.setBrush(ground)
        painter.drawConvexPolygon(QPolygonF(corners))
        if face.seen < EDGE_ON:
            continue
        x, y = (face.corners.mean(axis=0) + middle).tolist()
        painter.setPen(QColor(AXIS_COLORS[face.axis]))
        box = QRectF(x - HALF_EDGE, y - HALF_EDGE, 2.0 * HALF_EDGE, 2.0 * HALF_EDGE)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, face.label)
    painter.setBrush(Qt.BrushStyle.NoBrush)


# ---- the legend ------------------------------------------------------------------------------------------------------

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


# ---- framing ---------------------------------------------------------------------------------------------------------

DOT = 0.05  # of what the picture was fitted to: a mechanism so small is looked for in vain
MOST_COVERED = 0.4  # of the width, that the info overlay may take from the picture


class Framing:
    """holding: the picture is fitted again when something would leave it; the user ends this by moving the picture.
    following: the body that the camera goes with, None for none.
    """

    def __init__(self, canvas: Canvas, info: QWidget) -> None:
        self.canvas, self.info = canvas, info
        self.holding = True
        self.following: Following | None = None
        self._soon = QTimer(canvas, singleShot=True, interval=0)  # deleted with the canvas
        self._soon.timeout.connect(self.fit)

    def show(self, frame: Frame, old: Frame | None) -> None:
        """Move the scene of the canvas to ``frame``, and the camera with it."""
        scene, camera = self.canvas.scene, self.canvas.camera
        if scene is None:
            return
        back = old is not None and frame.t < old.t
        scene.show(frame)
        scene.widen_floor()
        if self.following is not None:
            self.following.carry(camera, scene)
        elif self.holding:
            if np.isfinite(frame.way[0, 0]) and not (old is not None and np.isfinite(old.way[0, 0])):
                self.fit()
            if back and extent(scene.points()) < DOT * extent(scene.seen):  # of an explosion that is undone
                scene.seen = scene.seen[:0]
                self.fit()
            self.hold()

    def fit(self) -> None:
        """Move the camera so that the mechanism, or the surroundings of a followed body, fit beside the info."""
        canvas = self.canvas
        if canvas.scene is not None:
            self.holding = True
            if self.following is None:
                canvas.camera.fit(canvas.scene.framing(), self.covered(), canvas.cube_corner())
            else:
                self.following.fit(canvas.camera, canvas.scene, self.covered())
            canvas.update()

    def resized(self) -> None:
        """Fit the whole in again: the picture has another size."""
        if self.holding and self.following is None and self.canvas.scene is not None:
            self._soon.start()  # once the camera knows the size

    def covered(self) -> float:
        """Return how many pixels at the left the info overlay takes."""
        info = self.info
        return min(info.geometry().right() if info.isVisible() else 0, MOST_COVERED * self.canvas.width())

    def hold(self) -> None:
        """Keep the mechanism and its arrows in the picture, until the user moves it; one that goes far is followed."""
        scene, camera = self.canvas.scene, self.canvas.camera
        if (
            scene is None
            or not self.holding
            or self.following is not None
            or camera.holds(points := scene.held(), self.covered())
        ):
            return
        if scene.remember():
            self.fit()
        else:
            camera.go_with(points, self.covered(), self.canvas.cube_corner())

    def stop_following(self) -> None:
        """Stop following a body or the whole motion: the user has moved the camera."""
        self.holding = False

    def forget(self) -> None:
        """Forget the followed body, for another mechanism."""
        self.following = None


def extent(points: NDArray[np.float64]) -> float:
    """Return the longest edge of the box around points (k, 3); 0 for none."""
    return float(np.max(np.ptp(points, axis=0))) if len(points) else 0.0


# ---- selection -------------------------------------------------------------------------------------------------------


class Selection(QObject):
    """The chosen element, the hidden elements, the measured pairs and the section of the scene of a canvas.

    choice: the chosen element, or None.  pairs: elements between which is measured.  section: a plane, or None.
    """

    chosen = Signal(object)  # a Choice, or None
    hides = Signal(object)  # every hidden Choice; the scene is to be made anew
    measured = Signal(object)  # the Distances that have channels
    told = Signal(str)  # a sentence for the status bar

    def __init__(self, canvas: Canvas) -> None:
        super().__init__(canvas)
        self.canvas = canvas
        self.description: SceneDescription | None = None
        self.choice: Choice | None = None
        self.hidden, self.pairs = Hidden(), list[Pair]()
        self.section: Section | None = None
        self.measuring = False  # clicks choose the ends of a measurement
        self._start: Choice | None = None  # of the measurement under way

    # ---- choosing -----------------------------------------------------------------------------------------------

    def picked(self, pick: Pick | None) -> None:
        """Choose the joint or the body of a pick."""
        if pick is None or self.description is None:
            self.choose(None)
            return
        body = self.description.bodies[pick.body].name
        self.choose(Choice(JOINT, pick.joint) if pick.joint else Choice(BODY, body))
        if self.measuring:
            self._measure_to_chosen()

    def choose_next(self, step: int) -> None:
        """Choose the body or joint that follows the chosen one by ``step`` in the order of the model."""
        if self.description is None:
            return
        listed = [one for found in groups(self.description).values() for one in found if one.kind in (BODY, JOINT)]
        first = 0 if step > 0 else -1
        self.choose(listed[(listed.index(self.choice) + step) % len(listed) if self.choice in listed else first])

    def toggle_measuring(self) -> None:
        """Begin a measurement with the next click; once more, the chosen element takes the place of a click."""
        chosen = self.choice if self.choice is not None and self.choice.kind in KINDS else None
        if self.measuring and chosen not in (None, self._start):
            self._measure_to_chosen()
            return
        self.measuring, self._start = not self.measuring, None
        again = "" if chosen is None else f", or press D again for {chosen.name}"
        self.told.emit(f"measure: click the first body or joint{again}" if self.measuring else "measured nothing")

    def _measure_to_chosen(self) -> None:
        """Take the chosen element as the one end of a measurement, and then as the other."""
        if self.choice is None or self.choice == self._start or self.choice.kind not in KINDS:
            return
        if self._start is None:
            self._start = self.choice
            self.told.emit(f"measure from {self.choice.name}: click the other body or joint")
            return
        pair: Pair = (self._start, self.choice)
        self.measuring, self._start = False, None
        self.measure([*self.pairs, pair] if pair not in self.pairs else self.pairs)
        reading = self.readings()[-1].reading
        self.told.emit(f"{pair[0].name} to {pair[1].name}: {reading}")

    def choose(self, choice: Choice | None) -> None:
        """Choose an element, or none; the scene and the panel show it."""
        self.choice = choice
        self._lay()
        self.chosen.emit(choice)
        if choice is not None and choice.kind == BODY and self.description is not None:
            about = self.description.bodies[self.body()]
            self.told.emit(f"{about.name}: mass {about.mass:.4g} kg")
        elif choice is not None:
            self.told.emit(f"{choice.name}: {choice.kind}")

    def body(self) -> int:
        """Return the number of the chosen body; one must be chosen."""
        assert self.choice is not None
        assert self.description is not None
        return min(bodies_of(self.description, self.choice))

    # ---- hiding -------------------------------------------------------------------------------------------------

    def hide(self, choices: set[Choice]) -> None:
        """Hide these elements, and no others."""
        self.hidden.choices = set(choices)
        self.hides.emit(self.hidden.choices)

    def toggle(self) -> None:
        """Hide the chosen element, or show it again."""
        if self.choice is None:
            self.told.emit("choose something with a click first")
        elif self.description is None or self.choice not in drawn(self.description):
            self.told.emit(f"{self.choice.name} is not drawn, so there is nothing to hide")
        else:
            self.hide(self.hidden.choices ^ {self.choice})

    def isolate(self, choice: Choice | None = None) -> None:
        """Show an element and its neighbours only; all elements when some are hidden already."""
        choice = choice or self.choice
        if self.hidden.choices:
            self.hide(set())
        elif choice is None or self.description is None:
            self.told.emit("choose something with a click first")
        else:
            self.hidden.isolate(self.description, choice)
            self.hide(self.hidden.choices)

    # ---- measuring and cutting ----------------------------------------------------------------------------------

    def measure(self, pairs: list[Pair]) -> None:
        """Measure these pairs; the plots offer those that have channels."""
        self.pairs = pairs
        if self.description is not None:
            self.measured.emit(distances(self.description, pairs))
        self._lay()

    def cut(self, section: Section | None) -> None:
        """Set the section plane, or none."""
        self.section = section
        self._lay()
        scene = self.canvas.scene
        if scene is not None and section is not None and np.all(scene.points() @ section.normal > section.offset):
            self.told.emit("the section takes the whole mechanism away; move the plane")

    # ---- the scene ----------------------------------------------------------------------------------------------

    def describe(self, description: SceneDescription) -> None:
        """Set another mechanism; elements that it has too stay chosen, hidden and measured."""
        self.description = description
        known = {choice for choices in groups(description).values() for choice in choices}
        self.hidden.choices &= known
        self.pairs = [pair for pair in self.pairs if known.issuperset(pair)]
        self.choice = self.choice if self.choice in known else None

    def set_overlays(self, scene: Scene) -> None:
        """Set highlight, measurements and section of ``scene``."""
        description, choice = scene.description, self.choice
        is_body = choice is not None and choice.kind == BODY
        scene.select(self.body() if is_body else None)
        overlays: list[Overlay] = []
        if choice is not None and is_body and choice not in self.hidden.choices:
            overlays.append(BodyOutline(self.body(), scene.boxes_of(self.body()), scene.theme))
        if choice is not None and not is_body and choice not in self.hidden.choices:
            overlays.append(Highlight(description, choice, scene.radius, scene.theme))
        for one, other in self.pairs:
            ends = end_of(description, one), end_of(description, other)
            if ends[0] is not None and ends[1] is not None:
                overlays.append(Measurement(ends[0], ends[1], scene.radius, scene.theme))
        if self.section is not None:
            overlays.append(SectionOutline(self.section, scene.points(), scene.theme))
        scene.set_overlays(overlays)
        scene.section = self.section

    def _lay(self) -> None:
        if self.canvas.scene is not None:
            self.set_overlays(self.canvas.scene)
            self.canvas.update()

    def readings(self) -> list[Measurement]:
        """Return the measurements in the scene."""
        scene = self.canvas.scene
        return [] if scene is None else [one for one in scene.overlays if isinstance(one, Measurement)]
