"""Main window: the canvas, its overlays and docks, the timer that draws the last published frame, its kept state."""

import functools
import time
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QByteArray, QEvent, QObject, QPoint, QRect, QSettings, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QFocusEvent, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from rtmbs.viewer.qt.actions import MANY, Actions
from rtmbs.viewer.qt.canvas import Canvas, Framing, Picture, Selection
from rtmbs.viewer.qt.capture import Capture
from rtmbs.viewer.qt.docks import Panels, Transport, make_docks
from rtmbs.viewer.qt.menus import LAST_FILES, make_menus, with_first
from rtmbs.viewer.qt.widgets import Banner, Help, Info, ProgressNotice, palette, sheet
from rtmbs.viewer.scene.camera import ground_axes, look_first
from rtmbs.viewer.scene.description import BodyDescription, SceneDescription
from rtmbs.viewer.scene.elements import BODY, Choice, distances
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.legend import with_caption
from rtmbs.viewer.scene.scene import SHOWN, Pick, Scene
from rtmbs.viewer.scene.theme import DARK, WHITE, Theme, rgba
from rtmbs.viewer.session.commands import (
    Command,
    Drag,
    Grab,
    MoveGrab,
    Play,
    Rebuild,
    Release,
    SetOption,
    ShowReactions,
    StepBack,
)
from rtmbs.viewer.session.connection import (
    Connection,
    FrameSelector,
    Message,
    Offer,
    PendingConnection,
    close_in_thread,
)
from rtmbs.viewer.text import error_details, error_sentence

TICK = 16  # [ms] between looks for a new frame
PANELS = 0.15  # [s] between redraws of panels
LOG_LINES = 2000
STATUS = 15_000  # [ms] that a sentence stands in the status bar; the log keeps it
LOW = 14  # [pixels] from the lower border to a banner that is not grave
MARGINS, WIDEST, NARROWEST = 40, 860, 260  # [pixels] beside a banner, and its own width
PANELS_VERSION = 1  # of the panels; another one is forgotten
LOOK, LOOKS = 250, 40  # [ms] between two looks for the frame of a window, and how many there are
Opener = Callable[[str], Connection]
Direction = NDArray[np.float64]  # (3,)


class Window(QMainWindow):
    """Shows what a Connection publishes, and sends it commands. It never steps, and it never closes by itself.

    opener: returns a Connection for a path, for "open a model"; without one that is refused.
    """

    def __init__(self, connection: Connection, theme: Theme = WHITE, opener: Opener | None = None) -> None:
        super().__init__()
        self.connection, self.theme, self.opener = connection, theme, opener
        self.frame: Frame | None = None
        self.description: SceneDescription | None = None
        self.speed, self.info_wanted, self.stamped = 1.0, True, False
        self.theme_chosen = False  # False: the palette of the system counts
        self.capture: Capture | None = None
        self.opening = PendingConnection()
        self.shown = dict(SHOWN)
        self.act, self.last_files = Actions(self), list[str]()
        self._fit_next, self._building, self._opened = True, False, ""
        self._awaits_description = False  # True: the connection has not shown its mechanism yet
        self._panels_drawn, self.latest = 0.0, FrameSelector()
        self._apply_theme()  # before there are children: each of them would be laid out anew
        self._build()
        self._connect()
        make_menus(self, self.act, Qt.ShortcutContext.WindowShortcut)
        self.place_overlays()
        self._timer = QTimer(self, interval=TICK, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.guarded(self.tick))
        self._timer.start()

    # ---- parts ------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.setWindowTitle("rtmbs")
        self.resize(1200, 700)
        self.canvas, self.transport = Canvas(), Transport(self.theme)
        self.canvas.ground = rgba(self.theme.background)[:3]
        center = QWidget()
        column = QVBoxLayout(center)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.canvas, 1)
        column.addWidget(self.transport)
        self.setCentralWidget(center)
        self.info, self.help = Info(self.theme, self.canvas), Help(self.theme, self)
        self.banner, self.waiting = Banner(self.theme, self.canvas), ProgressNotice(self.theme, self.canvas)
        self.log_panel = QPlainTextEdit(readOnly=True)
        self.log_panel.setMaximumBlockCount(LOG_LINES)
        self.framing, self.selection = Framing(self.canvas, self.info), Selection(self.canvas)
        self.panels = Panels(self)
        self.docks = make_docks(self, self.panels, self.log_panel, self.redraw_soon)
        self.canvas.installEventFilter(self)
        self.setAcceptDrops(True)
        self.focus = FocusReturn(self.canvas)
        self.statusBar().showMessage("F1 shows the keys")

    def _connect(self) -> None:
        guarded = self.guarded
        self.canvas.picked.connect(guarded(self.selection.picked))
        self.selection.chosen.connect(guarded(self.panels.choose))
        self.selection.hides.connect(guarded(self._hide))
        self.selection.measured.connect(guarded(self.panels.measure))
        self.selection.told.connect(self.tell)
        self.canvas.centered.connect(guarded(self._center))
        self.canvas.faced.connect(guarded(self._face))
        self.canvas.grabbed.connect(guarded(self._grab))
        self.canvas.moved.connect(guarded(lambda target: self.send(MoveGrab(tuple(target.tolist())))))
        self.canvas.dragged.connect(guarded(self._drag))
        self.canvas.released.connect(guarded(lambda: self.send(Release())))
        self.canvas.steered.connect(self.framing.stop_following)
        self.canvas.failed.connect(lambda sentence: self._show_banner(sentence))
        self.banner.reload.connect(guarded(self.act.reload))
        self.banner.closed.connect(self.canvas.setFocus)  # the next field would have the keys
        self.banner.back.connect(guarded(lambda: self.send(StepBack(MANY))))
        self.banner.halve.connect(guarded(self._halve_step))
        # The application outlives the window: a function would keep it, a method ends with it.
        running_application().styleHints().colorSchemeChanged.connect(self._follow_system)
        self.transport.called.connect(guarded(lambda action: self.act[action]()))
        self.transport.sought.connect(guarded(self.send))
        self.transport.speed_chosen.connect(guarded(self.act.set_speed))

    def set_theme(self, theme: Theme) -> None:
        """Change all colours."""
        if theme == self.theme:
            return
        self.theme = theme
        self._apply_theme()
        overlays: tuple[Any, ...] = (self.info, self.help, self.banner, self.waiting)
        for part in (*overlays, self.transport, self.panels):
            part.set_theme(theme)
        self.canvas.ground = rgba(theme.background)[:3]
        self.canvas.update()
        self.make_scene()
        self.place_overlays()

    def _follow_system(self) -> None:
        """Take the dark or the light palette of the system, unless the user has chosen one."""
        if not self.theme_chosen:
            self.guarded(self.set_theme)(system_theme())

    def _apply_theme(self) -> None:
        """Give all widgets the colours of the theme."""
        running_application().setPalette(palette(self.theme))
        self.setStyleSheet(sheet(self.theme))

    # ---- frames -----------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Show the latest frame when it is a new one, and read the messages."""
        self._poll_opening()
        for message in self.connection.messages():
            self._show_message(message)
        filming = self.capture is not None and self.capture.running  # films have all pictures
        frame = self.latest.frame(self.connection, self.frame, saving=self.canvas.software and not filming)
        if frame is not None:
            if self._awaits_description or self.description is None or frame.generation != self.description.generation:
                self._take_mechanism(frame)
            if not self._awaits_description:
                self._show(frame)
        if time.perf_counter() - self._panels_drawn > PANELS:
            self._show_panels()

    def _take_mechanism(self, frame: Frame) -> None:
        """Take over another mechanism."""
        description = self.connection.describe()
        if description.generation != frame.generation:
            return  # the frames of the new one are on their way
        self.description, self.frame, self._awaits_description = description, frame, False
        if self._building:
            self.banner.hide()  # what an earlier build was refused for is over
        self.framing.forget()
        self.act.marks.clear()
        self.waiting.hide()
        self.speed = frame.desired_speed
        self.canvas.camera.ground = ground_axes(description.gravity)
        self.setWindowTitle(f"rtmbs: {description.name}")
        self.selection.describe(description)
        self.panels.set_distances(distances(description, self.selection.pairs))
        self.make_scene()
        if self.shown["reactions"]:
            self.send(ShowReactions(True))
        for part in (self.transport, self.panels):
            part.describe(description)
        self.info.show_frame(frame, description, self.latest.rate)  # before the picture is fitted beside it
        self.place_overlays()
        if self._fit_next:
            self._look_first(description, frame)
        self._fit_next = self._building = False

    def _look_first(self, description: SceneDescription, frame: Frame) -> None:
        """Look at a mechanism that was opened: a direction that suited another one may show it from its edge."""
        if not self._building:
            look_first(self.canvas.camera, description, frame.A)
        self.act.fit()

    def make_scene(self) -> None:
        """Make the scene of the present description and theme; chosen and hidden elements stay so."""
        if self.description is None or self.frame is None:
            return
        old = self.scene if self.scene is not None and self.scene.description is self.description else None
        scene = Scene(self.description, self.theme, self.frame, self.selection.hidden, old)
        scene.scale.grows = True
        scene.shown = self.shown
        self.selection.set_overlays(scene)
        scene.recolor()
        scene.show(self.frame)
        self.canvas.set_scene(scene)

    def _hide(self, hidden: set[Choice]) -> None:
        """Make the scene and the ticks of the tree without the hidden elements."""
        self.make_scene()
        self.panels.tick(hidden)

    def _show(self, frame: Frame) -> None:
        scene = self.scene
        if scene is None or self.description is None or frame.generation != self.description.generation:
            return
        old, self.frame = self.frame, frame
        self.canvas.paused = self.description.live and not frame.playing
        if self.act.speed_arrived():
            self.speed = frame.desired_speed
        self.latest.drew()
        self.framing.show(frame, old)
        self.canvas.update()

    def _show_panels(self) -> None:
        self._panels_drawn = time.perf_counter()
        self.latest.count(self.canvas.pictures)
        if self.frame is None or self.description is None:
            return
        self.transport.show_frame(self.frame)
        if self.info.isVisible():
            self.info.show_frame(self.frame, self.description, self.latest.rate)
        self.panels.show_frame(self.frame)
        if self.capture is not None and self.capture.failure:
            self.capture.stop()
            self._show_banner(self.capture.failure)
            self.capture = None

    def _show_message(self, message: Message) -> None:
        self.waiting.show_message(message.kind, message.text)
        self.place_overlays()
        if message.kind == "progress":
            return
        self.log_panel.appendPlainText(f"{message.t:10.4f} s  step {message.step:6d}  {message.text}")
        if message.kind in ("failure", "warning"):
            self.statusBar().clearMessage()  # the task under way is over
            self._give_up_building()
            grave = message.kind == "failure"
            self._show_banner(message.text, message.offers, message.details, grave, message.step)
        else:
            self.banner.pass_on(message.kind == "log")
            self.statusBar().showMessage(message.text, STATUS)

    def _give_up_building(self) -> None:
        """Show the present parameters again after a refused build."""
        if self._building and self.description is not None:
            self.panels.refused(self.description)
            self._fit_next = False
        self._building = False

    # ---- what others ask for ----------------------------------------------------------------------------------------

    @property
    def scene(self) -> Scene | None:
        """The scene of the canvas."""
        return self.canvas.scene

    def picture(self) -> Picture:
        """Return the picture of the canvas, with name, time and speed where asked for."""
        picture, frame = self.canvas.picture(), self.frame
        if frame is None or not self.stamped:
            return picture
        return with_caption(picture, self.title(), frame.t, frame.desired_speed, self.theme)

    def title(self) -> str:
        """Return the name of the mechanism."""
        return "mechanism" if self.description is None else self.description.name

    def send(self, command: Command) -> None:
        """Pass a command on."""
        self.connection.send(command)

    def ask(self, command: Command) -> None:
        """Pass on the user's choice in a panel, and give the keys back to the scene."""
        self._building = isinstance(command, Rebuild)
        self._fit_next = self._fit_next or self._building
        self.send(command)
        self.focus.chosen()

    def tell(self, sentence: str) -> None:
        """Show a sentence in the status bar and the log."""
        self.statusBar().showMessage(sentence, STATUS)
        self.log_panel.appendPlainText(sentence)

    def refuse(self, sentence: str) -> None:
        """Show over the picture, and in the log, why something was not taken."""
        self._show_banner(sentence)
        self.log_panel.appendPlainText(sentence)

    def toggle(self, name: str) -> None:
        """Show a dock before the others, or hide it."""
        dock = self.docks[name]
        behind = dock.isVisible() and dock.visibleRegion().isEmpty()  # another tab lies over it
        dock.setVisible(behind or not dock.isVisible())
        dock.raise_()

    def redraw_soon(self) -> None:
        """Draw the panels at the next look for a frame."""
        self._panels_drawn = 0.0

    def select(self, body: int | None) -> None:
        """Choose a body, or none."""
        self.selection.choose(None if body is None else Choice(BODY, self.body_name(body)))

    def description_of(self, body: int) -> BodyDescription:
        """Return the BodyDescription of a body."""
        assert self.description is not None
        return self.description.bodies[body]

    def body_name(self, body: int) -> str:
        """Return the name of a body."""
        return self.description_of(body).name

    def open(self, path: str) -> None:
        """View another model or result once its first frame is there; after a failure the present one stays."""
        if self.opener is None:
            raise RuntimeError("this window was opened on a running program and has no other model to open")
        self.opening.begin(self.opener(path))
        self._opened = path
        self.banner.hide()
        self._wait_for(f"opening {path} ...")
        self._poll_opening()

    def restart(self) -> None:
        """Start a session that is gone anew."""
        self.connection.restart()
        self._awaits_description = True
        self._wait_for("starting the session again ...")

    def _wait_for(self, sentence: str) -> None:
        self.waiting.tell(sentence)
        self.place_overlays()

    def _poll_opening(self) -> None:
        """Take over the session that was opened when its first frame is there; tell why when none will come."""
        came, failures = self.opening.poll()
        for message in failures:
            self.waiting.hide()
            self._show_banner(message.text, details=message.details)
        if came is not None:
            self.waiting.hide()
            close_in_thread(self.connection)
            self.connection, self._awaits_description, self._fit_next = came, True, True
            self.last_files = with_first(self._opened, self.last_files)
            self.framing.forget()

    def _face(self, backward: Direction) -> None:
        """Look from the direction (3,) of a face of the view cube."""
        self.canvas.camera.look_along(backward)
        self.framing.fit()

    def _center(self, pick: Pick) -> None:
        self.canvas.camera.center = pick.point
        self.framing.stop_following()
        self.canvas.update()

    def _grab(self, pick: Pick) -> None:
        x, y, z = pick.local.tolist()
        u, v, w = pick.point.tolist()
        self.select(pick.body)
        self.send(Grab(self.body_name(pick.body), (x, y, z), (u, v, w)))

    def _drag(self, pick: Pick, target: Any) -> None:
        x, y, z = pick.local.tolist()
        u, v, w = target.tolist()
        self.select(pick.body)
        self.send(Drag(self.body_name(pick.body), (x, y, z), (u, v, w), self.canvas.gesture))

    def _halve_step(self) -> None:
        """Take half the step, and go on: the advice of a step that failed."""
        if self.frame is not None:
            self.send(SetOption("h", 0.5 * self.frame.h))
            self.send(Play())

    # ---- Qt ---------------------------------------------------------------------------------------------------------

    def guarded(self, slot: Callable[..., Any]) -> Callable[..., None]:
        """Return a slot whose exceptions are shown in the banner."""

        @functools.wraps(slot)
        def call(*arguments: Any) -> None:
            try:
                slot(*arguments)
            except Exception as error:  # noqa: BLE001 (the window must outlive the error of a slot)
                self.fail(error)

        return call

    def fail(self, error: BaseException) -> None:
        """Show an exception; the window goes on."""
        self._show_banner(error_sentence(error), details=error_details(error))

    def _show_banner(
        self,
        sentence: str,
        offers: Collection[Offer] = (),
        details: str = "",
        grave: bool = False,
        step: int = MANY,
    ) -> None:
        """Show a sentence over the picture, with the ways out that there are at ``step``."""
        steps = min(MANY, step - (0 if self.frame is None else self.frame.oldest))
        self.banner.tell(sentence, offers, details, grave, steps)
        self.place_overlays()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files of this computer."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the first file that is dropped; it takes over as one of the dialog does."""
        files = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        event.acceptProposedAction()
        self.guarded(self.open)(files[0])

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.canvas and event.type() == QEvent.Type.Resize:
            self.place_overlays()
            self.framing.resized()
        return super().eventFilter(watched, event)

    def place_overlays(self) -> None:
        """Put the overlays where they belong in the picture; help takes the place of info."""
        width, height = self.canvas.width(), self.canvas.height()
        banner, waiting = self.banner, self.waiting
        self.info.setVisible(self.info_wanted and self.frame is not None and not self.help.isVisible())
        self.help.center_in(self.width(), self.height())  # over the panels too
        self.help.raise_()
        banner.fit(max(min(width - MARGINS, WIDEST), NARROWEST))
        room = height - banner.height()
        banner.move((width - banner.width()) // 2, max(room // 2 if banner.grave else room - LOW, 0))
        waiting.adjustSize()
        waiting.move((width - waiting.width()) // 2, height // 2)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._timer.stop()
        running_application().removeEventFilter(self.focus)
        if self.capture is not None:
            self.capture.stop()
        self.opening.close()
        self.connection.close()
        super().closeEvent(event)


# ---- keyboard focus --------------------------------------------------------------------------------------------------

END_EDITING = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape)
EDITORS = (QLineEdit, QAbstractSpinBox)


FIELDS = (QAbstractItemView, QAbstractButton, QComboBox, QTabBar)
OWN_KEYS = {Qt.Key.Key_Space, Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End}  # of such a field
MOUSE, OTHER = Qt.FocusReason.MouseFocusReason, Qt.FocusReason.OtherFocusReason
BY_TAB = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)


class FocusReturn(QObject):
    """Gives the keyboard to ``scene`` when Enter or Esc ends an edit in its window.

    Keys of the window go before those of its fields. A field that Tab or Ctrl+E gave the keyboard to has its own keys.
    """

    def __init__(self, scene: QWidget) -> None:
        super().__init__(scene)
        self._scene = scene
        self._by_tab = False
        running_application().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Look at a key that goes up: the number was taken when it went down. Look at keys of both window and field."""
        if isinstance(event, QFocusEvent) and event.type() == QEvent.Type.FocusIn:
            self._by_tab = event.reason() in BY_TAB or (self._by_tab and event.reason() not in (MOUSE, OTHER))
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride and self._by_tab:
            plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
            if plain and event.key() in OWN_KEYS and isinstance(watched, FIELDS):
                event.accept()
                return True
        ended = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyRelease and event.key() in END_EDITING
        if ended and isinstance(watched, EDITORS) and watched.window() is self._scene.window():
            self._scene.setFocus()
        return False

    def chosen(self) -> None:
        """Give the keyboard to the scene after a choice by the mouse, unless a number is being typed."""
        if not isinstance(QApplication.focusWidget(), EDITORS):
            self._scene.setFocus()


def running_application() -> QApplication:
    """Return the running QApplication; a window must exist."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    return app


def system_theme() -> Theme:
    """Return the theme nearest to the palette of the system."""
    return DARK if running_application().styleHints().colorScheme() == Qt.ColorScheme.Dark else WHITE


def window_settings() -> QSettings:
    """Return the user's settings of the viewer."""
    return QSettings("rtmbs", "viewer")


def restore_window(window: Window, kept: QSettings, theme_given: bool) -> None:
    """Set a window to its kept state as far as the screen has room; damaged or missing values change nothing."""
    if isinstance(place := kept.value("geometry"), QByteArray):
        window.restoreGeometry(place)
    if isinstance(panels := kept.value("panels"), QByteArray):
        window.restoreState(panels, PANELS_VERSION)
    keep_on_screen(window.screen().availableGeometry(), window)
    window.info_wanted = stored_switch(kept, "info", window.info_wanted)
    window.canvas.labels = stored_switch(kept, "labels", window.canvas.labels)
    for part in window.shown:
        window.shown[part] = stored_switch(kept, f"shown/{part}", window.shown[part])
    window.info.whole = stored_switch(kept, "whole_info", window.info.whole)
    window.theme_chosen = theme_given or kept.value("dark") is not None
    if not theme_given:
        dark = stored_switch(kept, "dark", system_theme() is DARK)
        window.set_theme(DARK if dark else WHITE)
    files = kept.value("files") or []
    window.last_files = [files] if isinstance(files, str) else [str(file) for file in files][:LAST_FILES]
    window.place_overlays()


def keep_on_screen(screen: QRect, window: Window) -> None:
    """Make a window that is larger than its screen smaller, and move one that lies beyond the screen onto it.

    The frame counts, which a window manager adds when it shows the window. A window that fits is not moved: before its
    frame is known, its place would be taken for that of the frame, and it would go down by the height of its title.
    """
    if window.isMaximized() or window.isFullScreen():
        return
    frame = window.frameGeometry().size() - window.geometry().size()
    window.resize(window.size().boundedTo(screen.size() - frame))
    place = QRect(window.frameGeometry().topLeft(), window.size() + frame)
    if screen.contains(place):
        return
    last = screen.bottomRight() - QPoint(place.width() - 1, place.height() - 1)
    window.move(max(screen.left(), min(place.x(), last.x())), max(screen.top(), min(place.y(), last.y())))


def keep_on_screen_once_framed(window: Window) -> None:
    """Look at the place of a window again when its window manager has given it a frame."""
    timer, left = QTimer(window, interval=LOOK), iter(range(LOOKS))  # the timer goes with the window

    def look() -> None:
        framed = window.frameGeometry() != window.geometry()
        if framed:
            keep_on_screen(window.screen().availableGeometry(), window)
        if framed or next(left, None) is None:
            timer.stop()

    timer.timeout.connect(look)
    timer.start()


def save_window(window: Window, kept: QSettings) -> None:
    """Write the state of a window into the settings."""
    kept.setValue("geometry", window.saveGeometry())
    kept.setValue("panels", window.saveState(PANELS_VERSION))
    values = {"info": window.info_wanted, "whole_info": window.info.whole, "labels": window.canvas.labels}
    values |= {"dark": window.theme is DARK} if window.theme_chosen else {}
    values |= {f"shown/{part}": on for part, on in window.shown.items()}
    for name, on in values.items():
        kept.setValue(name, on)
    kept.setValue("files", window.last_files)


def stored_switch(kept: QSettings, name: str, default: bool) -> bool:
    """Return a switch; files keep it as a word."""
    value = kept.value(name, default)
    return value if isinstance(value, bool) else str(value).lower() == "true" if value is not None else default
