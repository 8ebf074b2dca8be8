"""The plots panel beyond curves over time: over frequency or another channel, two runs, values, files."""

import csv

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("pyqtgraph", reason="pyqtgraph is not installed; pip install 'rtmbs[viewer]' brings it")

from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip

from rtmbs.results.curves import FREQUENCY, LIVE_WINDOW, WINDOWS, spectrum, window_words
from rtmbs.simulation import Simulation
from rtmbs.viewer.qt.plot_widgets import TIME
from rtmbs.viewer.qt.plots import Plots
from rtmbs.viewer.scene.elements import Choice
from rtmbs.viewer.scene.theme import WHITE
from rtmbs.viewer.session.commands import Play, Reset, SetInput, StepForward
from rtmbs.viewer.session.connect import playback
from rtmbs.viewer.session.plotted import ENERGY, VIOLATION
from tests.viewer.mechanisms import motored
from tests.viewer.windows import activate, follow, open_window

STEPS = 200
NAME = "crank.position"


@pytest.fixture(scope="module")
def result():
    return Simulation(motored().compile()).run(1.5 * STEPS * 5e-3)


@pytest.fixture
def window(qtbot):
    window = open_window(qtbot, Simulation(motored().compile()))
    window.act.plots()
    window.panels.plots.choose(NAME)
    window.connection.send(StepForward(STEPS))
    follow(window, STEPS + 5)
    redraw(window)
    return window


def redraw(window):
    window.connection.turn()
    window.tick()
    window.panels.plots.redraw(window.connection.strip(), window.frame.t)


def test_a_live_session_begins_with_its_last_seconds(window, result):
    panel = window.panels.plots
    assert panel.window_of_time == LIVE_WINDOW
    assert panel.bar.window_choice.currentText() == window_words(LIVE_WINDOW)
    assert window_words(LIVE_WINDOW) in WINDOWS
    panel.show_window(None)
    panel.describe(window.description)
    assert panel.window_of_time is None, "a mechanism that is built anew leaves the chosen window"
    recorded = Plots(WHITE)
    recorded.describe(playback(result, motored()).describe())
    assert recorded.window_of_time is None, "a recorded run is shown whole"


def test_a_channel_stands_once_in_the_list(window):
    panel = window.panels.plots
    listed = [item.data(0, Qt.ItemDataRole.UserRole) for item in panel._leaves()]
    assert {"base.angle_rate", "base.angle_acceleration", "crank.acceleration"} <= {*listed}
    assert not {"base.rate", "base.acceleration"} & {*listed}, "these are second names"
    panel.choose("base.rate")
    assert panel.chosen() == [ENERGY, VIOLATION, NAME, "base.angle_rate"]


def test_the_keyboard_alone_ticks_a_channel_and_chooses_the_bar(window):
    panel, bar = window.panels.plots, window.panels.plots.bar
    activate(window)
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.focusWidget() is panel.filter
    reached = []
    for _ in range(12):
        reached.append(now := QApplication.focusWidget())
        if now is panel.tree:
            QTest.keyClick(now, Qt.Key.Key_Home)
            assert ENERGY in panel.chosen()
            QTest.keyClick(now, Qt.Key.Key_Space)
            assert ENERGY not in panel.chosen()
        if now is bar.choice:
            QTest.keyClick(now, Qt.Key.Key_Down)
            assert bar.over == FREQUENCY
        QTest.keyClick(now, Qt.Key.Key_Tab)
    assert {panel.tree, bar.choice, bar.window_choice, bar.layout_button, bar.compare, bar.export} <= {*reached}
    assert Play() not in window.connection.sent
    QTest.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton)
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
    assert Play() in window.connection.sent, "after a click Space is that of the window"


def test_the_bar_fits_a_narrow_panel(window):
    assert window.panels.plots.bar.minimumSizeHint().width() < 520
    assert window.panels.plots.minimumSizeHint().width() < 620


def test_values_without_room_stand_beside_the_mouse(window):
    panel = window.panels.plots
    panel.bar.values.setFixedWidth(60)
    panel._point(panel.shown[NAME].box.mapViewToScene(QPointF(0.5, 0.0)))
    assert panel.bar.values.cut
    words = [one.rpartition(" ")[0] for one in QToolTip.text().split("\n")]
    assert words == ["t [s]", *(f"{NAME}[{axis}] [m]" for axis in "xyz")]


def lines(window, name, run=0):
    """Return the lines of a plot that belong to a run: 0 the session, 1 the one beside it."""
    shown = window.panels.plots.shown[name]
    return [line for line, curve in zip(shown.lines, shown.panel.curves, strict=True) if curve.run == run]


def seen(window, name):
    """Return the curves of a plot with every sample."""
    return window.panels.plots.shown[name].panel.curves


def test_over_another_channel(window, result):
    window.panels.plots.bar.choice.setCurrentText(f"{NAME}[y]")
    redraw(window)
    x, y = lines(window, NAME)[1].getData()
    recorded = result[NAME][: STEPS + 1]
    np.testing.assert_allclose(x, recorded[:, 1], atol=1e-12)
    np.testing.assert_allclose(y, recorded[:, 2], atol=1e-12)
    assert not window.panels.plots.shown[NAME].now.isVisible()
    window.panels.plots.choose(NAME, False)
    assert window.panels.plots.bar.over == TIME, "what is not ticked any more cannot be drawn over"


def test_a_channel_that_is_ticked_late_takes_nothing_from_the_others(qtbot, result, tmp_path):
    """The history has the last 50 steps only: what was plotted before stays, and so does the zero of the energy."""
    window = open_window(qtbot, Simulation(motored().compile()), history=(50, 10**8))
    window.act.plots()
    window.panels.plots.choose(NAME)
    window.connection.send(StepForward(STEPS))
    follow(window, STEPS + 5)
    redraw(window)

    def drawn(name):
        return np.array([curve.y for curve in seen(window, name)])

    names = (ENERGY, VIOLATION, NAME)
    before, late = {name: drawn(name) for name in names}, "coupler.velocity"
    np.testing.assert_allclose(before[NAME].T, result[NAME][: STEPS + 1], atol=1e-12)
    window.panels.plots.choose(late)
    redraw(window)
    for name in names:
        np.testing.assert_array_equal(drawn(name), before[name])
    remembered = STEPS + 1 - 50
    assert np.all(np.isnan(drawn(late)[:, :remembered]))
    np.testing.assert_allclose(drawn(late)[:, remembered:].T, result[late][remembered : STEPS + 1], atol=1e-10)
    path = tmp_path / "plots.csv"
    window.panels.plots.export(str(path))
    assert len(path.read_text().splitlines()) == STEPS + 2
    window.panels.plots.choose(late, False)
    redraw(window)
    for name in names:
        np.testing.assert_array_equal(drawn(name), before[name])


def test_over_frequency(window, result):
    window.panels.plots.bar.choice.setCurrentText(FREQUENCY)
    redraw(window)
    f, amplitude = lines(window, NAME)[1].getData()
    expected = spectrum(result.t[: STEPS + 1], result[NAME][: STEPS + 1, 1])
    np.testing.assert_allclose(f, expected[0], rtol=1e-9)
    np.testing.assert_allclose(amplitude, expected[1], atol=1e-10)
    panels = window.panels.plots

    def reach() -> float:
        return float(panels.shown[NAME].box.viewRange()[0][1])

    first = reach()
    assert first == pytest.approx(panels.shown[NAME].panel.frequencies()[1])
    panels.shown[NAME].box.zoomed.emit(1.0, 0.8)
    assert reach() == pytest.approx(max(0.8 * first, f[0]))
    for _ in range(60):
        panels.shown[NAME].box.zoomed.emit(1.0, 1.25)
    assert reach() == pytest.approx(f[-1]), "no axis goes beyond the last frequency"
    panels.shown[NAME].box.zoomed.emit(1.0, 0.8)
    assert reach() < f[-1], "the first notch back is seen"
    panels.shown[NAME].box.left.emit()
    assert reach() == first


def test_two_runs_in_one_plot(window, result, tmp_path):
    path = str(tmp_path / "other.npz")
    result.save(path)
    window.panels.plots.bar.compared.emit(path)
    redraw(window)
    t, z = lines(window, NAME, 1)[2].getData()
    np.testing.assert_array_equal(t, result.t)
    np.testing.assert_array_equal(z, result[NAME][:, 2])
    assert "other.npz" in window.panels.plots.bar.compare.text()
    window.panels.plots.bar.compared.emit("")
    redraw(window)
    assert not lines(window, NAME, 1)
    window.panels.plots.bar.compared.emit(str(tmp_path / "nothing.npz"))
    assert "nothing.npz" in window.banner.text.text()


def test_values_at_the_cursor(window, result):
    said = window.panels.plots.values_at(NAME, 0.5021)
    k = round(0.5 / 5e-3)
    assert f"{result.t[k]:.6g}" in said
    for value in result[NAME][k]:
        assert f"{value:.6g}" in said
    assert "loop" not in window.panels.plots.values_at(VIOLATION, 0.3)


def test_export(window, result, tmp_path):
    for ending in ("csv", "png", "svg"):
        window.panels.plots.bar.exported.emit(str(tmp_path / f"seen.{ending}"))
    with (tmp_path / "seen.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    heading, numbers = rows[0], np.array([[float(cell) if cell else np.nan for cell in row] for row in rows[1:]])
    assert heading[:2] == ["t [s]", f"{NAME}[x] [m]"]
    assert "energy balance, kinetic [J]" in heading
    assert numbers.shape == (STEPS + 1, len(heading)), "every sample"
    place = heading.index(f"{NAME}[z] [m]")
    np.testing.assert_allclose(numbers[:, place], result[NAME][: STEPS + 1, 2], atol=1e-12)
    assert (tmp_path / "seen.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "seen.svg").read_text(encoding="utf-8")
    window.panels.plots.bar.exported.emit(str(tmp_path / "seen.doc"))
    assert "'.doc' is not known" in window.banner.text.text()


def test_export_holds_what_is_seen(window, tmp_path):
    for name in (ENERGY, VIOLATION):
        window.panels.plots.choose(name, False)
    redraw(window)
    window.panels.plots.show_window((0.25, 0.5))
    redraw(window)
    window.panels.plots.bar.exported.emit(str(tmp_path / "part.csv"))
    with (tmp_path / "part.csv").open(encoding="utf-8") as file:
        t = np.array([float(row[0]) for row in list(csv.reader(file))[1:]])
    assert 0.24 <= t[0] <= 0.25
    assert 0.5 <= t[-1] <= 0.51


@pytest.mark.parametrize("ending", ["csv", "png", "svg"])
def test_a_folder_that_is_missing_is_named(window, tmp_path, ending):
    window.panels.plots.bar.exported.emit(str(tmp_path / "none" / f"seen.{ending}"))
    assert f"there is no folder '{tmp_path / 'none'}'; make it first" in window.banner.text.text()


def test_values_at_the_cursor_go_with_it_and_take_no_room(window):
    bar = window.panels.plots.bar
    least = window.panels.plots.minimumSizeHint().width()
    bar.show_values("a long text of many values " * 20)
    assert window.panels.plots.minimumSizeHint().width() == least
    bar.choice.setCurrentText(FREQUENCY)
    assert bar.values.text() == ""


def test_every_curve_and_axis_has_its_own_unit(window, tmp_path):
    window.panels.plots.choose("base.reaction")
    window.panels.plots.choose(ENERGY, False)
    redraw(window)
    panel = window.panels.plots
    plots = [shown for shown in panel.shown.values() if "base.reaction" in shown.heading]
    assert [{curve.unit for curve in shown.panel.curves} for shown in plots] == [{"N"}, {"N m"}]
    axes = [shown.plot.getAxis("bottom") for shown in panel.shown.values()]
    assert {axis.labelText for axis in axes} == {"t [s]"}
    panel.bar.choice.setCurrentText(f"{NAME}[y]")
    redraw(window)
    axis = panel.shown["base.reaction"].plot.getAxis("bottom")
    assert axis.labelText == f"{NAME}[y] [m]"
    assert not axis.autoSIPrefix, "numbers stand in the unit of the label"
    panel.export(str(tmp_path / "a.csv"))
    head = next(csv.reader((tmp_path / "a.csv").open()))
    assert f"{NAME}[y] [m]" in head
    assert "base.reaction[nx] [N m]" in head


def test_many_plots_are_scrolled(window, qtbot):
    for name in ("coupler.position", "rocker.position", "coupler.velocity", "rocker.velocity"):
        window.panels.plots.choose(name)
    redraw(window)
    qtbot.wait(50)
    panel = window.panels.plots
    assert len(panel.shown) == 7
    heights = [shown.plot.boundingRect().height() for shown in panel.shown.values()]
    assert min(heights) >= 150
    assert max(heights) - min(heights) <= 25, "one size, but for the label of the lowest axes"
    assert panel.scrolled.verticalScrollBar().maximum() > 0


def test_values_that_have_no_room_end_in_a_mark(window, qtbot):
    bar = window.panels.plots.bar
    bar.show_values("crank.position[x] 0.123456   " * 40)
    assert bar.values.text().endswith("\N{HORIZONTAL ELLIPSIS}")
    assert bar.values.toolTip().count("0.123456") == 40
    assert bar.values.fontMetrics().horizontalAdvance(bar.values.text()) <= bar.values.width()


def test_the_other_run_has_energies_and_distances_and_says_what_it_lacks(window, result, tmp_path):
    path = str(tmp_path / "other.npz")
    result.save(path)
    measured = Choice("body", "crank"), Choice("body", "rocker")
    window.selection.measure([measured])
    plots = window.panels.plots
    distance = next(iter(plots._distances))
    plots.choose(distance)
    redraw(window)
    said = plots.compare(path)
    redraw(window)
    assert said == f"compared with {path}; it has nothing for {VIOLATION}"
    for k, name in enumerate(("energy.kinetic", "energy.weight", "energy.elastic")):
        np.testing.assert_allclose(lines(window, ENERGY, 1)[k].getData()[1], result[name], rtol=1e-12, atol=1e-12)
    apart = np.linalg.norm(result["rocker.mass_center"] - result["crank.mass_center"], axis=1)
    np.testing.assert_allclose(lines(window, distance, 1)[0].getData()[1], apart, atol=1e-12)
    plots.bar.choice.setCurrentText(f"{NAME}[y]")
    redraw(window)
    x, z = lines(window, NAME, 1)[1].getData()
    np.testing.assert_array_equal(x, result[NAME][:, 1])
    np.testing.assert_array_equal(z, result[NAME][:, 2])


def test_a_cursor_beyond_a_curve_has_no_value_of_it(window, result, tmp_path):
    path = str(tmp_path / "short.npz")
    result.between(0.0, 0.2).save(path)
    window.panels.plots.compare(path)
    redraw(window)
    assert "short.npz" in window.panels.plots.values_at(NAME, 0.1)
    assert "short.npz" not in window.panels.plots.values_at(NAME, 0.4)
    assert window.panels.plots.values_at(NAME, 1e3) == ""


def test_an_export_names_its_times_once(window, result, tmp_path):
    result.between(0.0, 0.2).save(tmp_path / "short.npz")
    window.panels.plots.compare(str(tmp_path / "short.npz"))
    redraw(window)
    window.panels.plots.export(str(tmp_path / "both.csv"))
    heading = (tmp_path / "both.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert (heading.count("t [s]"), heading.count("t of the other [s]")) == (1, 1)


def test_curves_begin_with_what_was_set_before_the_first_step(window):
    """The energy of the first sample, and its change since: with the stiffness that the first step has."""
    connection = window.connection
    connection.send(Reset())
    connection.send(SetInput("spring.stiffness", 500.0))
    connection.send(StepForward(20))
    for _ in range(4):
        follow(window)
    redraw(window)
    fresh = Simulation(motored().compile(), 5e-3)
    fresh.inputs["spring.stiffness"] = 500.0
    wanted = fresh.run(0.1)
    shown = seen(window, ENERGY)
    np.testing.assert_allclose(shown[2].y, wanted["energy.elastic"], rtol=1e-9, atol=1e-12)
    total = wanted["energy.total"]
    np.testing.assert_allclose(shown[3].y, total - total[0], atol=1e-9)
    kept = connection._controller.live.result()
    np.testing.assert_allclose(kept["spring.pull"], wanted["spring.pull"], rtol=1e-9, atol=1e-9)


def test_a_constant_over_a_component_is_drawn(window):
    """Its values differ by rounding, and Qt would end the process at axes of such a span."""
    window.selection.measure([(Choice("body", "crank"), Choice("body", "ground"))])
    plots = window.panels.plots
    distance = next(iter(plots._distances))
    plots.choose(distance)
    plots.bar.choice.setCurrentText(f"{NAME}[y]")
    for _ in range(5):
        redraw(window)
        QTest.qWait(30)
    low, high = plots.shown[distance].box.viewRange()[1]
    assert high - low >= 1e-11 * high
    assert np.ptp(seen(window, distance)[0].y) < 1e-12
