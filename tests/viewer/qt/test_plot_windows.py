"""Plots of the window: windows of time, wheel and clicks, what shares a plot, headings, extreme values, figures."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("pyqtgraph", reason="pyqtgraph is not installed; pip install 'rtmbs[viewer]' brings it")

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from rtmbs.errors import InputError
from rtmbs.results.curves import CHOSEN, window_words
from rtmbs.results.figure import Look
from rtmbs.viewer.qt.plots import Plots
from rtmbs.viewer.scene.description import ChannelDescription
from rtmbs.viewer.scene.frame import FIRST, WIDTH, Strip, T
from rtmbs.viewer.scene.theme import DARK, WHITE
from rtmbs.viewer.session.commands import Seek
from rtmbs.viewer.session.plotted import ENERGY, VIOLATION

H = 0.01
TIMES = H * np.arange(2001)  # 20 s
FAR, GAP, FLAT, LONG = "far.height", "gap.force", "flat.force", "tip.position"
VALUES = {
    FAR: 1e6 + 1e-3 * np.sin(5.0 * TIMES),
    GAP: np.where((TIMES > 4.0) & (TIMES < 5.0), np.nan, np.sin(TIMES)),
    FLAT: np.full(len(TIMES), 12.5),
    f"{LONG}[x]": 0.2 * np.cos(3.0 * TIMES),
    f"{LONG}[y]": 0.1 * np.sin(3.0 * TIMES),
    "pin.angle": 3.0 * TIMES,
}
CHANNELS = (
    ChannelDescription(FAR, (), "m"), ChannelDescription(GAP, (), "N"), ChannelDescription(FLAT, (), "N"),
    ChannelDescription(LONG, ("x", "y"), "m"), ChannelDescription("pin.angle", (), "rad"),
)  # fmt: skip
COMPUTED = SimpleNamespace(channels=CHANNELS, live=True, equations=3)


class Shown:
    """A panel of plots on a run of 20 s."""

    def __init__(self, qtbot, *names, size=(1000, 600), theme=WHITE):
        self.panel, self.qtbot = Plots(theme), qtbot
        qtbot.addWidget(self.panel)
        self.panel.resize(*size)
        self.panel.describe(COMPUTED)
        self.panel.show_window(None)  # the whole run, unless a test chooses another window
        for name in (ENERGY, VIOLATION):
            self.panel.choose(name, False)
        for name in names:
            self.panel.choose(name)
        self.panel.show()
        qtbot.waitExposed(self.panel)
        self.strip = Strip(kept=len(TIMES))
        self.draw(20.0)

    def draw(self, now, until=20.0):
        """Draw the rows until a time."""
        rows = np.zeros((len(TIMES), WIDTH))
        rows[:, T] = TIMES
        for k, name in enumerate(self.panel._columns):
            rows[:, FIRST + k] = VALUES[name]
        self.strip.begin(self.panel.ticket)
        self.strip.append(rows[until + 1e-9 >= TIMES])
        for _ in range(2):
            self.panel.redraw(self.strip, now, round(now / H))
            QApplication.processEvents()

    def place(self, name, x, y):
        """Return the pixel of a place in a plot."""
        at = self.panel.shown[name].box.mapViewToScene(QPointF(x, y))
        return self.panel.area.mapFromScene(at)


def spans(shown):
    """Return the times that the plots show, each once."""
    return {tuple(np.round(one.box.viewRange()[0], 6)) for one in shown.panel.shown.values()}


def test_all_plots_show_the_same_times_which_follow(qtbot):
    shown = Shown(qtbot, GAP, FLAT, LONG)
    assert spans(shown) == {(0.0, 20.0)}
    shown.panel.bar.windowed.emit(window_words(5.0))
    assert spans(shown) == {(15.0, 20.0)}
    shown.draw(16.0)
    assert spans(shown) == {(15.0, 20.0)}, "back in time, and nothing moves"
    shown.draw(3.0)
    ((low, high),) = spans(shown)
    assert low < 3.0 < high == pytest.approx(low + 5.0)
    shown.draw(9.5, until=9.5)
    assert spans(shown) == {(4.5, 9.5)}
    curve = shown.panel.shown[GAP].panel.curves[0]
    np.testing.assert_array_equal(curve.y, VALUES[GAP][449:951])
    low, high = shown.panel.shown[GAP].box.viewRange()[1]
    inside = VALUES[GAP][449:951]
    assert low < np.nanmin(inside) < np.nanmax(inside) < high, "values fit the window"


def test_the_wheel_zooms_the_time_of_all_plots_and_a_double_click_comes_back(qtbot):
    shown = Shown(qtbot, LONG, FLAT)
    panel, viewport = shown.panel, shown.panel.area.viewport()
    panel.show_window(10.0)
    height = panel.shown[LONG].box.viewRange()[1]
    at = shown.place(LONG, 12.0, 0.0)
    place = QPointF(at)
    for _ in range(3):
        turn = QWheelEvent(
            place, QPointF(viewport.mapToGlobal(at)), QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(viewport, turn)
    ((low, high),) = spans(shown)
    assert high - low == pytest.approx(10.0 * 0.8**3, rel=1e-3)
    assert (12.0 - low) / (high - low) == pytest.approx(0.2, abs=0.01), "the time below the mouse stays there"
    assert panel.bar.window_choice.currentText() == CHOSEN
    assert panel.shown[LONG].box.viewRange()[1] == pytest.approx(height, rel=0.05)
    for _ in range(300):
        panel._zoom(12.0, 1.25)
    assert spans(shown) == {(0.0, 20.0)}, "never an empty plot"
    QTest.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=at)
    assert spans(shown) == {(10.0, 20.0)}
    assert panel.bar.window_choice.findText(CHOSEN) < 0


def test_a_click_seeks(qtbot):
    shown = Shown(qtbot, LONG)
    asked = []
    shown.panel.sought.connect(asked.append)
    viewport = shown.panel.area.viewport()
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=shown.place(LONG, 7.0, 0.0))
    (one,) = asked
    assert isinstance(one, Seek)
    assert one.step == pytest.approx(700, abs=5)
    shown.panel.bar.choice.setCurrentText(f"{LONG}[x]")
    shown.panel.show_window((6.0, 8.0))
    shown.draw(20.0)
    k = 700
    QTest.qWait(450)  # no double click
    at = shown.place(LONG, VALUES[f"{LONG}[x]"][k], VALUES[f"{LONG}[y]"][k])
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    assert asked[-1].step == pytest.approx(k, abs=3), "over another number the nearest sample"
    (point,) = shown.panel.shown[LONG].points
    assert [one.label for one in shown.panel.shown[LONG].panel.curves] == [f"{LONG}[y]"], "x over x says nothing"
    shown.draw(6.5)
    shown.panel.redraw(shown.strip, 6.5, 650)
    x, y = point.getData()
    assert (x[0], y[0]) == (VALUES[f"{LONG}[x]"][650], VALUES[f"{LONG}[y]"][650])


def test_channels_of_one_unit_in_one_plot(qtbot):
    shown = Shown(qtbot, GAP, FLAT, LONG, theme=DARK)
    assert len(shown.panel.shown) == 3
    shown.panel.bar.layouts[1].trigger()
    shown.draw(20.0)
    assert [[curve.label for curve in one.panel.curves] for one in shown.panel.shown.values()] == [
        [GAP, FLAT], [f"{LONG}[x]", f"{LONG}[y]"],
    ]  # fmt: skip
    picture = shown.panel.area.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    bits = np.frombuffer(picture.constBits(), np.uint8).reshape(picture.height(), -1, 4)[:, :, 2::-1].astype(int)
    for color in DARK.plots[:2]:
        wanted = [int(color[k : k + 2], 16) for k in (1, 3, 5)]
        assert (np.abs(bits - wanted).max(axis=2) < 25).sum() > 300, "the curves are there"
    shown.panel.bar.angles.trigger()
    shown.panel.choose("pin.angle")
    shown.panel.show_window(5.0)  # before the numbers of the new channel are there
    shown.panel.show_window(None)
    shown.draw(20.0)
    angle = shown.panel.shown["pin.angle"]
    np.testing.assert_allclose(angle.panel.curves[0].y, np.rad2deg(VALUES["pin.angle"]))
    assert "[deg]" in angle.heading


def test_values_that_differ_little_far_from_zero(qtbot):
    shown = Shown(qtbot, FAR, FLAT, GAP)
    far = shown.panel.shown[FAR]
    assert far.offset == 1e6
    assert "axis counts from 1000000" in far.heading
    np.testing.assert_allclose(far.lines[0].getData()[1], VALUES[FAR] - 1e6, atol=1e-12)
    low, high = far.box.viewRange()[1]
    assert -1.2e-3 < low < high < 1.2e-3
    low, high = shown.panel.shown[FLAT].box.viewRange()[1]
    assert low < 12.5 < high
    assert 0.4 < (12.5 - low) / (high - low) < 0.6, "a constant stands in the middle"
    assert np.isnan(shown.panel.shown[GAP].lines[0].getData()[1]).any(), "a gap stays one"


@pytest.mark.parametrize("width", [260, 560, 1600])
def test_plots_of_every_width_stay_in_the_panel(qtbot, width):
    shown = Shown(qtbot, FAR, GAP, LONG, size=(width, 500))
    shown.panel.setSizes([40, width - 40])
    QTest.qWait(20)
    shown.draw(20.0)
    room = shown.panel.scrolled.viewport().width()
    assert shown.panel.area.width() <= max(room, shown.panel.area.minimumSizeHint().width())
    right = max(one.plot.sceneBoundingRect().right() for one in shown.panel.shown.values())
    assert right <= shown.panel.area.width() + 1
    assert len({round(one.plot.sceneBoundingRect().width()) for one in shown.panel.shown.values()}) == 1
    assert shown.panel._per_row == (2 if width == 1600 else 1)


def test_a_figure_of_a_stated_size(qtbot, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    shown = Shown(qtbot, GAP, LONG)
    shown.panel.bar.look = Look((100.0, 80.0), "grey")
    shown.panel.export(str(tmp_path / "a.png"))
    picture = QImage(str(tmp_path / "a.png"))
    assert (picture.width(), picture.height()) == (int(100.0 / 25.4 * 300), int(80.0 / 25.4 * 300))
    shown.panel.bar.choice.setCurrentText(f"{LONG}[x]")
    shown.draw(20.0)
    shown.panel.export(str(tmp_path / "a.svg"))
    assert "tip.position[x] [m]</text>" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    for name in (GAP, LONG):
        shown.panel.choose(name, False)
    assert shown.panel.hint.isVisible()
    with pytest.raises(InputError, match="an export needs a channel that is ticked"):
        shown.panel.export(str(tmp_path / "b.pdf"))
