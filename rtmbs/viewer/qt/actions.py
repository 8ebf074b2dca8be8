"""Actions of a window, one method for each row of the table of keys, with their shortcuts and menus."""

import math
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QInputDialog, QWidget

from rtmbs.viewer.qt.canvas import Canvas, Framing, Picture, Selection
from rtmbs.viewer.qt.capture import Capture, unwritten
from rtmbs.viewer.qt.docks import Dock, Panels, Transport
from rtmbs.viewer.qt.widgets import Banner, Help, Info
from rtmbs.viewer.scene.camera import common_axis
from rtmbs.viewer.scene.description import BodyDescription, SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.scene import Following, Scene
from rtmbs.viewer.scene.theme import DARK, WHITE, Theme
from rtmbs.viewer.session.commands import (
    Command,
    KeepHistory,
    LoadState,
    Loop,
    Pause,
    Play,
    Redo,
    Reload,
    Reset,
    SaveResults,
    SaveState,
    Seek,
    SetSpeed,
    ShowReactions,
    StepBack,
    StepForward,
    Undo,
    faster,
    slower,
)
from rtmbs.viewer.session.connection import Connection
from rtmbs.viewer.session.origin import free_name
from rtmbs.viewer.text import counted
from rtmbs.viewer.video import IMAGES

TURN, MOVE, CLOSER = 10.0, 0.05, 1.15  # of one press: degrees, widths of the picture, and a factor
TABBED = Qt.FocusPolicy.TabFocus
MOST_FIELDS = 10_000  # of a window that are looked at for the one that Tab comes to
MANY = 10  # steps of "ten steps back"
LEAST_SCALE, MOST_SCALE = 1e-6, 1e12  # [N/m]
MODELS = "Models, results and histories (*.py *.mks *.npz *.h5 *.hdf5 history.json)"
FILMS = "Films (*.mp4 *.gif *.webm *.mkv *.mov);;Series of pictures (*.png *.jpg)"
ARRIVES = 1.0  # [s] after which a frame has the speed that was chosen
GIGABYTES = 2.0  # of a history on disk, as it is offered
RESULTS, STATES = "Results (*.npz *.h5 *.csv)", "States (*.npz)"


class Host(Protocol):
    """The members of the window that actions and menus use."""

    connection: Connection
    frame: Frame | None
    description: SceneDescription | None
    theme: Theme
    theme_chosen: bool
    speed: float
    shown: dict[str, bool]
    info_wanted: bool
    stamped: bool
    capture: Capture | None
    last_files: list[str]
    canvas: Canvas
    framing: Framing
    selection: Selection
    transport: Transport
    banner: Banner
    help: Help
    info: Info
    panels: Panels
    docks: dict[str, Dock]

    @property
    def scene(self) -> Scene | None: ...
    def send(self, command: Command) -> None: ...
    def tell(self, sentence: str) -> None: ...
    def fail(self, error: BaseException) -> None: ...
    def guarded(self, slot: Callable[..., Any]) -> Callable[..., None]: ...
    def open(self, path: str) -> None: ...
    def restart(self) -> None: ...
    def close(self) -> bool: ...
    def picture(self) -> Picture: ...
    def title(self) -> str: ...
    def place_overlays(self) -> None: ...
    def redraw_soon(self) -> None: ...
    def toggle(self, name: str) -> None: ...
    def select(self, body: int | None) -> None: ...
    def set_theme(self, theme: Theme) -> None: ...
    def description_of(self, body: int) -> BodyDescription: ...
    def body_name(self, body: int) -> str: ...
    def isFullScreen(self) -> bool: ...
    def showFullScreen(self) -> None: ...
    def showNormal(self) -> None: ...


class Actions:
    """Each method is an action of ``keys.KEYS`` by name. Files may be given; without one a dialog asks."""

    def __init__(self, window: Host) -> None:
        self.window = window
        self.marks, self._chose_speed = set[int](), -math.inf

    def __getitem__(self, name: str) -> Callable[[], None]:
        """Return the method of an action."""
        method: Callable[[], None] = getattr(self, name)
        return method

    @property
    def looping(self) -> bool:
        """True while the session plays the stored history over and over."""
        return self.window.frame is not None and self.window.frame.looping

    @property
    def disk(self) -> float:
        """Bytes that the session keeps of its history on disk."""
        return 0.0 if self.window.frame is None else self.window.frame.disk_limit

    # ---- run -----------------------------------------------------------------------------------------------------

    def play_or_pause(self) -> None:
        playing = self.window.frame is not None and self.window.frame.playing
        if not playing:
            self.window.banner.hide()
        self.window.send(Pause() if playing else Play())

    def step_forward(self) -> None:
        self.window.send(StepForward(1))

    def step_back(self) -> None:
        self._back(1)

    def ten_forward(self) -> None:
        self.window.send(StepForward(MANY))

    def ten_back(self) -> None:
        self._back(MANY)

    def _back(self, steps: int) -> None:
        self.window.banner.hide()
        self.window.send(StepBack(steps))

    def loop(self) -> None:
        self.window.send(Loop(not self.looping))

    def mark(self) -> None:
        """Mark the present step, or remove its mark; marks are steps that the keys jump to."""
        frame = self.window.frame
        if frame is not None:
            self.marks ^= {frame.step}
            self.window.transport.show_marks(self.marks)
            kept = ", ".join(str(step) for step in sorted(self.marks))
            self.window.tell(f"marks at steps {kept}" if kept else "no marks")

    def mark_before(self) -> None:
        self._jump(max((step for step in self.marks if step < self._step()), default=None))

    def mark_after(self) -> None:
        self._jump(min((step for step in self.marks if step > self._step()), default=None))

    def _step(self) -> int:
        return 0 if self.window.frame is None else self.window.frame.step

    def _jump(self, step: int | None) -> None:
        if step is None:
            self.window.tell("no mark on that side; M marks a step")
        else:
            self.window.send(Seek(step))

    def faster(self) -> None:
        self.set_speed(faster(self.window.speed))

    def slower(self) -> None:
        self.set_speed(slower(self.window.speed))

    def real_time(self) -> None:
        self.set_speed(1.0)

    def set_speed(self, factor: float) -> None:
        self.window.speed, self._chose_speed = factor, time.perf_counter()
        self.window.send(SetSpeed(factor))

    def speed_arrived(self) -> bool:
        """True when a speed that was chosen has had the time to arrive."""
        return time.perf_counter() - self._chose_speed > ARRIVES

    def reset(self) -> None:
        self.window.banner.hide()
        self.window.send(Reset())

    def reload(self) -> None:
        self.window.banner.hide()
        if self.window.connection.ended:
            self.window.restart()
        else:
            self.window.send(Reload())

    def to_oldest(self) -> None:
        if self.window.frame is not None:
            self.window.send(Seek(self.window.frame.oldest))

    def to_newest(self) -> None:
        if self.window.frame is not None:
            self.window.send(Seek(max(self.window.frame.newest, self.window.frame.step)))

    # ---- edit ----------------------------------------------------------------------------------------------------

    def undo(self) -> None:
        self.window.send(Undo())

    def redo(self) -> None:
        self.window.send(Redo())

    def choose_next(self) -> None:
        self.window.selection.choose_next(1)

    def choose_previous(self) -> None:
        self.window.selection.choose_next(-1)

    def measure(self) -> None:
        self.window.selection.toggle_measuring()

    def forget_measures(self) -> None:
        self.window.selection.measure([])
        self.window.tell("no measurements")

    # ---- files ---------------------------------------------------------------------------------------------------

    def open_model(self, path: str = "") -> None:
        if path := path or QFileDialog.getOpenFileName(self.window.canvas, "Open a model or a result", "", MODELS)[0]:
            self.window.open(path)

    def save_results(self, path: str = "") -> None:
        if path := path or QFileDialog.getSaveFileName(self.window.canvas, "Save results", "results.npz", RESULTS)[0]:
            self.window.send(SaveResults(path))

    def save_state(self, path: str = "") -> None:
        if path := path or QFileDialog.getSaveFileName(self.window.canvas, "Save the state", "state.npz", STATES)[0]:
            self.window.send(SaveState(path))

    def load_state(self, path: str = "") -> None:
        if path := path or QFileDialog.getOpenFileName(self.window.canvas, "Go on from a state", "", STATES)[0]:
            self.window.send(LoadState(path))

    def history(self, gigabytes: float = -1.0) -> None:
        """Keep the history on disk; when it is there already, in memory only."""
        if gigabytes < 0.0:
            gigabytes = 0.0 if self.disk else self._asked_for_gigabytes()
        if gigabytes or self.disk:
            self.window.send(KeepHistory(1e9 * gigabytes))

    def _asked_for_gigabytes(self) -> float:
        text = "GB of a folder of the present one, the oldest steps leave it first:"
        wanted, chosen = QInputDialog.getDouble(
            self.window.canvas, "Keep the history on disk", text, GIGABYTES, 0.01, 1e4, decimals=2
        )
        return wanted if chosen else 0.0

    def copy_state(self) -> None:
        frame, description = self.window.frame, self.window.description
        if frame is not None and description is not None:
            text = state_text(frame, description)
            QGuiApplication.clipboard().setText(text)
            self.window.tell("state copied")

    def screenshot(self, path: str = "") -> None:
        picture = self.window.picture()
        height, width = picture.shape[:2]
        path = path or free_name(self.window.title(), ".png")
        saved = QImage(picture.data, width, height, 3 * width, QImage.Format.Format_RGB888).save(path)
        if saved:
            self.window.tell(f"screenshot: {path}")
        else:
            self.window.fail(unwritten(path))

    def record(self, path: str = "") -> None:
        window = self.window
        if window.capture is not None and window.capture.running:
            window.capture.stop()
            video = window.capture.video
            window.tell(
                window.capture.failure
                or f"video: {video.path}, {video.pictures} pictures, {video.pictures / video.rate:.1f} s"
            )
            return
        window.capture = Capture(path or free_name(window.title(), ".mp4"), window.picture, window.canvas)
        window.tell(f"recording {window.capture.video.path}; the same key ends it")

    def record_as(self, path: str = "") -> None:
        """A name of an image becomes a series: ``film.png`` is ``film_0001.png`` and so on."""
        window = self.window
        running = window.capture is not None and window.capture.running
        if not running and not path:
            path = QFileDialog.getSaveFileName(window.canvas, "Record a video or pictures", "film.gif", FILMS)[0]
        if Path(path).suffix.lower() in IMAGES and "%" not in Path(path).name:
            path = str(Path(path).with_stem(f"{Path(path).stem}_%04d"))
        if running or path:
            self.record(path)

    def stamp(self) -> None:
        window = self.window
        window.stamped = not window.stamped
        window.tell(f"pictures and videos {'show' if window.stamped else 'do not show'} name, time and speed")

    def quit(self) -> None:
        self.window.close()

    # ---- camera --------------------------------------------------------------------------------------------------

    def fit(self) -> None:
        self.window.framing.fit()

    def look_isometric(self) -> None:
        self._look("isometric")

    def look_front(self) -> None:
        self._look("front")

    def look_side(self) -> None:
        self._look("side")

    def look_top(self) -> None:
        self._look("top")

    def parallel(self) -> None:
        camera = self.window.canvas.camera
        camera.parallel = not camera.parallel
        self.fit()

    def look_planar(self) -> None:
        window = self.window
        if window.description is None or window.frame is None:
            return
        axis = common_axis(window.description, window.frame.A)
        if axis is None:
            window.tell("the axes of the joints are not all parallel")
        else:
            window.canvas.camera.look_along(axis)
            self.fit()

    def turn_left(self) -> None:
        self._turn(-TURN, 0.0)

    def turn_right(self) -> None:
        self._turn(TURN, 0.0)

    def turn_up(self) -> None:
        self._turn(0.0, TURN)

    def turn_down(self) -> None:
        self._turn(0.0, -TURN)

    def _turn(self, azimuth: float, elevation: float) -> None:
        self.window.canvas.camera.orbit(azimuth, elevation)
        self.window.canvas.update()

    def move_left(self) -> None:
        self._move(-MOVE, 0.0)

    def move_right(self) -> None:
        self._move(MOVE, 0.0)

    def move_up(self) -> None:
        self._move(0.0, -MOVE)

    def move_down(self) -> None:
        self._move(0.0, MOVE)

    def _move(self, x: float, y: float) -> None:
        canvas = self.window.canvas
        canvas.camera.pan(x * canvas.width(), y * canvas.width())
        self._steered()

    def closer(self) -> None:
        self.window.canvas.camera.zoom(CLOSER)
        self._steered()

    def away(self) -> None:
        self.window.canvas.camera.zoom(1.0 / CLOSER)
        self._steered()

    def _steered(self) -> None:
        self.window.framing.stop_following()
        self.window.canvas.update()

    def _look(self, preset: str) -> None:
        self.window.canvas.camera.look(preset)
        self.fit()

    def follow(self) -> None:
        window = self.window
        scene, framing = window.scene, window.framing
        selected = None if scene is None else scene.selected
        if framing.following is not None or scene is None or selected is None:
            framing.following = None
        else:
            framing.following = Following(selected, scene)
        name = "" if framing.following is None else window.body_name(framing.following.body)
        window.tell(
            f"following {name}" if name else "choose a body with a click first" if selected is None else "let go"
        )

    # ---- show ----------------------------------------------------------------------------------------------------

    def help(self) -> None:
        shown = not self.window.help.isVisible()
        self.window.help.setVisible(shown)
        self.window.place_overlays()

    def versions(self) -> None:
        versions = f"rtmbs {version('rtmbs')}, Qt {qVersion()}, Python {platform.python_version()}"
        self.window.tell(f"{versions}; the manual is docs/viewer.md")

    def info(self) -> None:
        """Show three lines of info, then all of it, then nothing."""
        info = self.window.info
        self.window.info_wanted, info.whole = not (self.window.info_wanted and info.whole), self.window.info_wanted
        self.window.place_overlays()
        self.window.redraw_soon()

    def next_panel(self) -> None:
        """Give the keyboard to the next panel that is open, or to the picture."""
        rooms = [dock.room for dock in self.window.docks.values() if dock.isVisible()]
        places: list[QWidget] = [self.window.canvas, *(first_field(room) for room in rooms)]
        inside = [room.isAncestorOf(QApplication.focusWidget() or self.window.canvas) for room in rooms]
        now = inside.index(True) + 1 if True in inside else 0
        place = places[(now + 1) % len(places)]
        place.setFocus(Qt.FocusReason.TabFocusReason)

    def profiler(self) -> None:
        self.window.toggle("profiler")

    def plots(self) -> None:
        self.window.toggle("plots")

    def parameters(self) -> None:
        self.window.toggle("parameters")

    def log(self) -> None:
        self.window.toggle("log")

    def model(self) -> None:
        self.window.toggle("model")

    def hide(self) -> None:
        self.window.selection.toggle()

    def isolate(self) -> None:
        self.window.selection.isolate()

    def copy_inspected(self) -> None:
        if self.window.selection.choice is None:
            self.window.tell("choose something with a click first")
        else:
            self.window.panels.model.inspector.copy()
            self.window.tell("copied what the inspector shows")

    def full_screen(self) -> None:
        (self.window.showNormal if self.window.isFullScreen() else self.window.showFullScreen)()

    def theme(self) -> None:
        self.window.theme_chosen = True
        self.window.set_theme(DARK if self.window.theme is WHITE else WHITE)

    def labels(self) -> None:
        self.window.canvas.labels = not self.window.canvas.labels
        self.window.canvas.update()

    def joints(self) -> None:
        self._hide_or_show("joints")

    def legend(self) -> None:
        self._hide_or_show("legend")

    def forces(self) -> None:
        self._hide_or_show("springs", "forces")

    def grid(self) -> None:
        self._hide_or_show("grid", "axes")

    def _hide_or_show(self, *parts: str) -> None:
        for part in parts:
            self.window.shown[part] = not self.window.shown[part]
        self.window.canvas.update()

    def trail(self) -> None:
        scene = self.window.scene
        if scene is None or scene.selected is None:
            self.window.tell("choose a body with a click first")
            return
        body = scene.selected
        has = scene.trails.toggle(body, self.window.description_of(body).center_of_mass)
        self.window.tell(f"{self.window.body_name(body)}: {'a trail' if has else 'no trail'}")
        self.window.canvas.update()

    def marker_trails(self) -> None:
        scene = self.window.scene
        if scene is None or not scene.description.markers:
            self.window.tell("the model has no markers; model.add_marker adds one")
            return
        on = scene.follow_markers(not scene.follows_markers())
        self.window.tell(f"trails of {counted(on, 'marker')}" if on else "no trails of markers")
        self.window.canvas.update()

    def transparent(self) -> None:
        self._hide_or_show("transparent")
        if self.window.scene is not None:
            self.window.scene.recolor()

    def reactions(self) -> None:
        self._hide_or_show("reactions")
        self.window.send(ShowReactions(self.window.shown["reactions"]))

    def longer_arrows(self) -> None:
        self._scale_arrows(up=False)

    def shorter_arrows(self) -> None:
        self._scale_arrows(up=True)

    def _scale_arrows(self, up: bool) -> None:
        scene = self.window.scene
        if scene is not None:
            scene.scale.step(up)
            self._show_scale(scene)

    def arrow_scale(self, newtons: float | None = None) -> None:
        scene = self.window.scene
        if scene is None:
            return
        if newtons is None:
            asked = "Force that an arrow of one metre means [N]"
            newtons, given = QInputDialog.getDouble(
                self.window.canvas, "Scale of the arrows", asked, scene.scale.newtons, LEAST_SCALE, MOST_SCALE, 6
            )
            if not given:
                return
        scene.scale.choose(newtons)
        self._show_scale(scene)

    def _show_scale(self, scene: Scene) -> None:
        scene.show(scene.frame)
        self.window.framing.hold()
        self.window.tell(scene.scale.sentence())
        self.window.canvas.update()

    def choose_nothing(self) -> None:
        self.window.help.hide()
        self.window.place_overlays()
        self.window.select(None)


def first_field(room: QWidget) -> QWidget:
    """Return the first widget in a panel that takes the keyboard, the panel itself without one."""
    fields = {one for one in room.findChildren(QWidget) if one.isVisible() and one.focusPolicy() & TABBED}
    one = room
    for _ in range(MOST_FIELDS if fields else 0):
        if (following := one.nextInFocusChain()) is None:
            break
        if (one := following) in fields:
            return one
    return room


# ---- the state as text -----------------------------------------------------------------------------------------------


def state_text(frame: Frame, description: SceneDescription) -> str:
    """Return a state as lines of name and number."""
    lines = [f"model = {description.name}", f"t = {frame.t!r}", f"h = {frame.h!r}"]
    motions = zip(
        description.coordinates, frame.z.tolist(), frame.zd.tolist(), strict=False
    )  # a recorded result has none
    lines += [f"{name} = {value!r}, rate {rate!r}" for name, value, rate in motions]
    lines += [f"{entry.name} = {frame.inputs[entry.place].tolist()!r}" for entry in description.inputs]
    return "\n".join(lines)
