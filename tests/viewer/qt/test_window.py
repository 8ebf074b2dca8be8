"""The window: controls become commands, frames and messages become what is shown, and nothing closes it."""

import time
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("pyqtgraph", reason="pyqtgraph is not installed; pip install 'rtmbs[viewer]' brings it")

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

import rtmbs
from rtmbs.integrators.report import Outcome
from rtmbs.results.curves import LIVE_WINDOW
from rtmbs.simulation import Simulation
from rtmbs.viewer.qt.parameters import BUILDING, INPUTS, PENALTIES, STEPPING
from rtmbs.viewer.qt.window import Window
from rtmbs.viewer.scene.camera import Camera
from rtmbs.viewer.scene.drawing import section_normal_to
from rtmbs.viewer.scene.elements import Choice
from rtmbs.viewer.scene.theme import DARK, WHITE, rgba
from rtmbs.viewer.session import commands
from rtmbs.viewer.session.commands import faster
from rtmbs.viewer.session.connect import connect
from rtmbs.viewer.session.connection import Message
from rtmbs.viewer.session.origin import FromFactory
from rtmbs.viewer.session.plotted import ENERGY, VIOLATION
from rtmbs.viewer.view import ManualViewer
from tests.patience import LONGEST, LONGEST_MS
from tests.viewer.mechanisms import failing, motored
from tests.viewer.windows import Watched, follow, open_window


@pytest.fixture
def panel(window):
    window.act.parameters()
    window.tick()
    window.panels.parameters.show_frame(window.frame)
    assert window.connection.sent == [], "showing what holds changes nothing"
    return window.panels.parameters


# ---- parameters ----------------------------------------------------------------------------------------------------


def test_every_input_that_can_be_set_has_a_slider(window, panel):
    settable = [entry.name for entry in window.description.inputs if entry.settable]
    assert [row.name() for row in panel.root.child(INPUTS).children()] == settable
    assert panel.root.child(INPUTS, "spring.stiffness").value() == 50.0


def test_a_slider_sets_its_input(window, panel):
    row = panel.root.child(INPUTS, "spring.stiffness")
    slider = next(iter(row.items)).widget
    slider.slider.setValue(slider.slider.maximum())
    assert window.connection.sent == [commands.SetInput("spring.stiffness", 100.0)]
    follow(window)
    stiffness = next(entry for entry in window.description.inputs if entry.name == "spring.stiffness")
    assert window.frame.inputs[stiffness.place].tolist() == [100.0]


def test_the_keys_are_the_windows_again_after_a_number_was_typed(qtbot, window, panel):
    """Enter ends the edit, the number counts, and Space plays; a number that others change is shown again."""
    editor = next(item.widget for item in panel.root.child(STEPPING, "h").items)
    item = next(iter(panel.root.child(STEPPING, "h").items))
    item.showEditor()
    editor.setFocus()
    editor.lineEdit().setFocus()
    editor.lineEdit().setText("2 ms")
    QTest.keyClick(editor.lineEdit(), Qt.Key.Key_Return)
    assert window.canvas.hasFocus()
    assert window.connection.sent[-1] == commands.SetOption("h", 2e-3)
    follow(window)
    QTest.keyClick(window.canvas, Qt.Key.Key_Space)
    assert window.connection.sent[-1] == commands.Play()
    window.connection.send(commands.SetOption("h", 4e-3))
    follow(window, 2)
    panel.show_frame(window.frame)
    assert panel.root.child(STEPPING, "h").value() == 4.0


@pytest.fixture
def step_editor(panel):
    """Return the row of the step, and its editor as it stands after a click on the row."""
    item = next(iter(panel.root.child(STEPPING, "h").items))
    panel.setCurrentItem(item)
    item.widget.setFocus()
    return item, item.widget


def typed(field, text):
    """Type a text in place of what stands there, and end with Enter."""
    field.lineEdit().selectAll()
    QTest.keyClicks(field.lineEdit(), text)
    QTest.keyClick(field.lineEdit(), Qt.Key.Key_Return)


@pytest.mark.parametrize("text", ["4", "4 ms", "4ms", "4,0", "0.004 s"])
def test_a_number_counts_with_and_without_its_unit(window, step_editor, text):
    typed(step_editor[1], text)
    assert window.connection.sent == [commands.SetOption("h", 4e-3)]
    assert not window.banner.isVisible()


@pytest.mark.parametrize("text", ["-5", "0", "four", "4 m", "1e9", "nan"])
def test_a_text_that_is_refused_is_told(window, step_editor, text):
    typed(step_editor[1], text)
    assert window.connection.sent == []
    assert window.banner.text.text() == f"step h: {text!r} is refused; it must be a number of ms from 1e-09 to 1e+06"
    assert step_editor[1].text() == "5 ms"


def test_a_number_out_of_range_and_one_that_is_not_whole_are_refused(window, panel):
    field = next(iter(panel.root.child(STEPPING, "max_iterations").items)).widget
    for text in ("49", "4.5"):
        typed(field, text)
        assert f"{text!r} is refused; it must be a whole number from 1 to 48" in window.banner.text.text()
    assert window.connection.sent == []


def test_a_slider_takes_a_number_without_its_unit(window, panel):
    field = next(iter(panel.root.child(INPUTS, "spring.stiffness").items)).widget.spin
    typed(field, "33")
    assert window.connection.sent == [commands.SetInput("spring.stiffness", 33.0)]
    typed(field, "stiff")
    assert window.banner.text.text() == "spring.stiffness: 'stiff' is refused; it must be a number of N/m"


def test_an_editor_shows_its_text_and_closes_once_the_number_was_taken(window, step_editor):
    item, field = step_editor
    assert field.isVisible()
    assert field.height() >= field.sizeHint().height()
    assert window.panels.parameters.visualItemRect(item).height() >= field.height()
    typed(field, "4")
    assert window.canvas.hasFocus()
    assert not field.isVisible()
    assert item.displayLabel.isVisible()
    assert item.displayLabel.text() == "4 ms"
    assert not item.isSelected()
    panel = window.panels.parameters
    QTest.mouseClick(panel.viewport(), Qt.MouseButton.LeftButton, pos=panel.visualItemRect(item).center())
    assert field.isVisible(), "a click on the row opens it again"


def test_choosing_with_the_mouse_leaves_the_keys_to_the_window(window, panel):
    row = panel.root.child(STEPPING, "jacobian")
    item = next(iter(row.items))
    item.showEditor()
    item.widget.setFocus()
    row.setValue("trace")
    assert window.connection.sent == [commands.SetOption("jacobian", "trace")]
    assert window.canvas.hasFocus()


def test_a_typed_number_moves_the_end_of_the_slider(window, panel):
    slider = next(iter(panel.root.child(INPUTS, "spring.stiffness").items)).widget
    slider.spin.setValue(730.0)
    assert window.connection.sent == [commands.SetInput("spring.stiffness", 730.0)]
    assert slider.high == 730.0
    assert slider.slider.value() == slider.slider.maximum()


def test_one_of_three_numbers_sends_all_three(window, panel):
    panel.root.child(INPUTS, "gravity", "x").setValue(1.5)
    assert window.connection.sent == [commands.SetInput("gravity", (1.5, 0.0, -9.81))]


SWITCHES = (
    ("jacobian", "complex-step", commands.SetOption("jacobian", "complex-step")),
    ("h", 2.0, commands.SetOption("h", 2e-3)),
    ("amount", 1e7, commands.SetOption("penalty", 1e7)),
    ("stiffening", list(PENALTIES)[1], commands.SetOption("alpha", 1e10)),
    ("fixed_iterations", True, commands.SetOption("fixed_iterations", True)),
    ("max_iterations", 4, commands.SetOption("max_iterations", 4)),
    ("project_velocities", False, commands.SetOption("project_velocities", False)),
    ("project_accelerations", False, commands.SetOption("project_accelerations", False)),
    ("hold_energy", False, commands.SetOption("hold_energy", False)),
    ("tangent_terms", "paper", commands.SetOption("tangent_terms", "paper")),
    ("projection_metric", "mass", commands.SetOption("projection_metric", "mass")),
    ("tol", 1e-6, commands.SetOption("tol", 1e-6)),
)


def test_every_switch_becomes_an_option_and_comes_back_in_the_frame(window, panel):
    for row, value, command in SWITCHES:
        panel.root.child(STEPPING, row).setValue(value)
        assert window.connection.sent == [command]
        follow(window)
        assert window.frame.option(command.name, window.description.choices.get(command.name, ())) == command.value
        panel.show_frame(window.frame)
        assert panel.root.child(STEPPING, row).value() == value
        assert window.connection.sent == [command], "what comes back is not sent again"
        window.connection.sent.clear()


def test_frames_bring_back_what_somebody_else_changed(window, panel):
    window.connection.send(commands.SetInput("spring.stiffness", 66.0))
    window.connection.send(commands.SetOption("h", 1e-3))
    follow(window)
    window.connection.sent.clear()
    panel.show_frame(window.frame)
    assert panel.root.child(INPUTS, "spring.stiffness").value() == 66.0
    assert panel.root.child(STEPPING, "h").value() == pytest.approx(1.0)
    assert window.connection.sent == []


def test_parameters_of_the_factory_wait_for_build(qtbot):
    origin = FromFactory("rtmbs.library.linkages:fourbar", {"ny": 2, "nz": 1})
    window = open_window(qtbot, origin.make({}, {}))
    window.connection._controller.origin = origin
    window.connection._controller.build({}, {})
    follow(window)
    window.connection.sent.clear()
    panel = window.panels.parameters
    panel.root.child(BUILDING, "nz").setValue(3)
    panel.root.child(BUILDING, "layout").setValue("parallel")
    assert window.connection.sent == []
    panel.root.child(BUILDING, "build").activate()
    (command,) = window.connection.sent
    assert isinstance(command, commands.Rebuild)
    assert {"ny": 2, "nz": 3, "layout": "parallel"}.items() <= command.parameters.items()
    window.connection.should_step()
    window.tick()
    assert window.title() == "fourbar parallel 2 x 3"
    assert len(window.scene.description.bodies) == 1 + 3 * 5
    x = window.canvas.camera.project(window.scene.points())[:, 0]
    assert x.min() >= 0.0
    assert x.max() <= window.canvas.camera.width, "another mechanism is fitted into the picture"


# ---- transport -----------------------------------------------------------------------------------------------------


def test_buttons_are_the_actions(window):
    for name in ("step_forward", "step_back", "play_or_pause", "reset"):
        QTest.mouseClick(window.transport.buttons[name], Qt.MouseButton.LeftButton)
    assert [type(command).__name__ for command in window.connection.sent] == [
        "StepForward",
        "StepBack",
        "Play",
        "Reset",
    ]


def test_the_slider_goes_through_the_history(window):
    window.act.ten_forward()
    follow(window)
    window.transport.show_frame(window.frame)
    assert (window.transport.slider.minimum(), window.transport.slider.maximum()) == (0, 10)
    window.connection.sent.clear()
    window.transport.slider.setValue(4)
    assert window.connection.sent == [commands.Seek(4)]
    follow(window)
    assert window.frame.step == 4
    window.transport.show_frame(window.frame)
    assert window.connection.sent == [commands.Seek(4)], "showing where it is asks for nothing"
    assert window.transport.time.text() == "t = 0.020 s   step 4"


def test_a_speed_can_be_chosen(window):
    box = window.transport.speed
    box.activated.emit(box.findData(0.1))
    assert window.connection.sent == [commands.SetSpeed(0.1)]
    follow(window)
    window.transport.show_frame(window.frame)
    assert box.currentData() == 0.1


# ---- plots and profiler --------------------------------------------------------------------------------------------


def test_ticked_channels_are_subscribed_and_drawn(window):
    plots = window.panels.plots
    assert plots.chosen() == [ENERGY, VIOLATION]
    plots.choose("crank.position")
    plots.choose("base.angle") if "base.angle" in plots._channels else plots.choose("crank.velocity")
    subscription = window.connection.sent[-1]
    assert isinstance(subscription, commands.Subscribe)
    assert subscription.names[:3] == ("crank.position[x]", "crank.position[y]", "crank.position[z]")
    for _ in range(30):
        window.act.step_forward()
        follow(window)
    plots.redraw(window.connection.strip(), window.frame.t)
    t, y = plots.shown["crank.position"].lines[1].getData()
    assert t[-1] == pytest.approx(window.frame.t)
    assert len(t) == 31, "every step"
    assert np.all(np.diff(t) > 0.0)
    assert y[-1] == pytest.approx(window.frame.r[1][1])
    total = plots.shown[ENERGY].lines[3].getData()[1]
    assert (total[0], total[-1]) == (0.0, pytest.approx(window.frame.energy - plots._zero, abs=1e-12))
    assert plots.shown[VIOLATION].lines[0].getData()[1].size >= 30


def drawn_times(window):
    """Return the times of the energy curve after a redraw."""
    if "plots" not in window.panels:
        window.panels.make("plots")
        follow(window)  # the session takes in what the plots ask for
    window.panels.plots.redraw(window.connection.strip(), window.frame.t)
    return window.panels.plots.shown[ENERGY].lines[0].getData()[0]


def test_curves_hold_every_step_however_few_pictures_there_were(window):
    """Fifty steps between two pictures; after going back the curves stay, and a line stands at the present time."""
    window.connection.send(commands.StepForward(50))
    follow(window)
    np.testing.assert_allclose(drawn_times(window), window.frame.h * np.arange(51), atol=1e-15)
    window.connection.send(commands.Seek(20))
    follow(window)
    assert len(drawn_times(window)) == 51
    assert window.panels.plots.shown[ENERGY].now.value() == pytest.approx(0.1)
    window.connection.send(commands.SetInput("gravity", (0.0, 0.0, -3.0)))  # what came later is another story now
    window.act.step_forward()
    follow(window)
    assert drawn_times(window)[-1] == pytest.approx(0.105)


def test_one_channel_too_many_is_refused(window):
    plots = window.panels.plots
    names = [name for name, channel in plots._channels.items() if len(channel.axes) == 3]
    for name in names[:7]:
        plots.choose(name)
    assert len(plots._columns) == 15, "five of three numbers; a sixth would be 18"
    assert len([name for name in plots.chosen() if name in names]) == 5


def test_the_filter_leaves_what_holds_all_its_words(window):
    plots = window.panels.plots
    plots.filter.setText("crank velo")
    shown = [
        item.data(0, Qt.ItemDataRole.UserRole) for item in plots._leaves()
        if not item.isHidden() and (item.parent() is None or not item.parent().isHidden())
    ]  # fmt: skip
    shown = [name for name in shown if name in plots._channels and "crank" in name]
    assert shown
    assert all("velo" in name for name in shown)


def test_numbers_beyond_their_bound_are_red(window):
    def shown(**numbers):
        frame = replace(window.frame, deadline=5e-3, deadlines=1000, **numbers)
        window.info.whole = True
        window.info.show_frame(frame, window.description, 30.0)
        return {line.split("</td>")[0].split(">")[-1]: line for line in window.info.text().split("<tr>")}

    rows = shown(p50=1e-3, p99=2.6e-3, late_p50=1e-4, late_p99=6e-3, missed=980)
    theme = window.theme
    for label, color in (
        ("step time p50", theme.good), ("step time p99", theme.warning), ("begun late p50", theme.good),
        ("begun late p99", theme.bad), ("missed", theme.bad),
    ):  # fmt: skip
        assert color in rows[label], label
    assert "\N{BLACK UP-POINTING TRIANGLE} orange: up to it, \N{BLACK SQUARE} red: beyond" in window.info.text()
    assert "\N{BLACK SQUARE} 980 of 1000" in rows["missed"], "a form says it where colours do not"
    assert theme.good in shown(p50=1e-3, p99=1e-3, missed=1)["missed"]


def test_the_profiler_shows_the_statistics_of_the_frame(window):
    window.act.ten_forward()
    follow(window)
    profiler = window.panels.profiler
    profiler.show_frame(window.frame)
    assert profiler._histogram.opts["height"].sum() == 10
    assert profiler._marks["p99"].value() == window.frame.p99
    assert profiler._phase_bars.opts["width"].tolist() == window.frame.phases.tolist()
    assert profiler._newton.getData()[1][-10:].tolist() == window.frame.iterations[-10:].tolist()
    assert window.frame.iterations[-1] >= 1


def test_the_info_overlay_names_what_counts(window):
    window.act.ten_forward()
    follow(window)
    window.info.show_frame(window.frame, window.description, 30.0)
    assert window.info.text().count("<tr>") == 3
    window.info.whole = True
    window.info.show_frame(window.frame, window.description, 30.0)
    text = window.info.text()
    for words in ("motored", "0.050 s", "real-time factor", "simulated / wall time", "step time p99", "energy"):
        assert words in text


# ---- failure -------------------------------------------------------------------------------------------------------


def test_a_failed_step_keeps_the_picture_and_offers_a_way_back(qtbot):
    window = open_window(qtbot, Simulation(failing(at=0.1).compile()))
    window.act.play_or_pause()
    follow(window, 100)
    assert window.frame.outcome is Outcome.NOT_FINITE
    last_good = window.frame.t
    assert not window.frame.playing
    assert window.banner.isVisible()
    assert Outcome.NOT_FINITE.value in window.banner.text.text()
    assert "motor" in window.banner.text.text(), "the culprit is named"
    QTest.mouseClick(window.banner.back_button, Qt.MouseButton.LeftButton)
    assert window.connection.sent[-1] == commands.StepBack(10)
    follow(window)
    assert not window.banner.isVisible()
    assert window.frame.t == pytest.approx(last_good - 10 * window.frame.h)
    assert window.isVisible()


def test_an_exception_in_a_slot_is_shown_and_the_window_lives(window, monkeypatch):
    def trip(*_):
        raise ZeroDivisionError("a plot divides by zero")

    monkeypatch.setattr(window.panels.plots, "redraw", trip)
    window.docks["plots"].show()
    window.act.step_forward()
    window.connection.turn()
    window.redraw_soon()
    window.guarded(window.tick)()
    assert window.banner.isVisible()
    assert "a plot divides by zero" in window.banner.text.text()
    assert not window.banner.back_button.isVisible()
    QTest.mouseClick(window.banner.close_button, Qt.MouseButton.LeftButton)
    assert not window.banner.isVisible()
    assert window.isVisible()


MENDED = "from tests.viewer.mechanisms import motored\n\n\ndef build():\n    return motored()\n"


def until(window, condition, seconds=LONGEST):
    """Look at the session until ``condition`` holds."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        window.connection.turn() if hasattr(window.connection, "turn") else None
        window.tick()
        time.sleep(5e-3)
    assert condition()


def test_a_broken_file_that_is_opened_leaves_the_present_session(window, tmp_path):
    file = tmp_path / "broken.py"
    file.write_text("def build():\n    return widht\n")
    window.opener = lambda path: connect(path, "thread")
    before = window.connection
    window.act.open_model(str(file))
    until(window, window.banner.isVisible)
    assert "name 'widht' is not defined" in window.banner.text.text()
    assert "broken.py:2" in window.banner.text.text()
    middle = window.banner.geometry().center()
    assert abs(middle.y() - window.canvas.height() // 2) < 3, "in the middle of the picture"
    banner, text = window.banner, window.banner.text
    assert text.height() < text.heightForWidth(text.width()) + 3, "as high as its sentence"
    assert banner.height() < text.height() + banner.close_button.height() + 40
    assert not window.banner.details.isVisible()
    QTest.mouseClick(window.banner.details_button, Qt.MouseButton.LeftButton)
    assert "return widht" in window.banner.details.toPlainText()
    assert window.banner.details.isVisible()
    assert (window.connection, window.opening.coming, window.waiting.isVisible()) == (before, None, False)
    window.act.step_forward()
    follow(window)
    assert window.frame.step == 1, "the old session goes on"


def test_an_opened_file_takes_over_when_it_stands(window, tmp_path):
    file = tmp_path / "good.py"
    gate = tmp_path / "gate"
    file.write_text(
        f"import pathlib, time\nwhile not pathlib.Path({str(gate)!r}).exists():\n    time.sleep(0.01)\n" + MENDED
    )
    window.opener = lambda path: connect(path, "thread")
    before = window.connection
    window.act.open_model(str(file))
    assert window.connection is before
    gate.touch()
    until(window, lambda: window.connection is not before and window.frame is not None)
    assert window.description.name == "motored"
    assert not window.waiting.isVisible()
    window.connection.close()


def test_reload_starts_a_session_that_is_gone(window, tmp_path):
    """The first build failed: the banner offers the way out, which also the key goes."""
    file = tmp_path / "mechanism.py"
    file.write_text("1 / 0\n")
    window.connection = connect(file, "thread")
    window.frame = window.description = None
    until(window, window.banner.isVisible)
    assert "ZeroDivisionError" in window.banner.text.text()
    assert window.banner.reload_button.isVisible()
    assert not window.banner.back_button.isVisible()
    until(window, lambda: window.connection.ended)
    file.write_text(MENDED)
    window.act.reload()
    assert window.waiting.isVisible()
    until(window, lambda: window.frame is not None)
    assert (window.frame.step, window.waiting.isVisible(), window.banner.isVisible()) == (0, False, False)
    window.connection.close()


def test_messages_are_told_by_their_kind(window):
    for kind in ("log", "info", "busy", "warning", "failure"):
        window.connection.tell(Message(kind, f"this is {kind}", 7, 0.035))
        window.tick()
    assert window.banner.text.text() == "this is failure"
    lines = window.log_panel.toPlainText().splitlines()[-5:]
    assert [line.split()[-1] for line in lines] == ["log", "info", "busy", "warning", "failure"]
    assert all("0.0350 s" in line and "7" in line for line in lines)
    assert window.statusBar().currentMessage() == "", "what was under way is over"


def test_a_refused_command_is_a_sentence(window):
    window.connection.send(commands.SetOption("jacobian", "guess"))
    follow(window)
    assert "guess" in window.banner.text.text()
    assert not window.banner.back_button.isVisible()


def test_opening_what_cannot_be_opened_keeps_the_present_one(window):
    before = window.connection
    window.guarded(window.open)("nowhere.py")
    assert window.connection is before
    assert "no other model to open" in window.banner.text.text()


def test_opening_another_model_shows_it(qtbot, window):
    from tests.viewer.windows import Watched

    opened = []

    def opener(path):
        opened.append(path)
        connection = Watched(Simulation(failing().compile()))
        connection.turn()
        return connection

    window.opener, old = opener, window.connection
    window.act.open_model("pendulum.py")
    assert opened == ["pendulum.py"]
    qtbot.waitUntil(lambda: old.over, timeout=LONGEST_MS)
    window.tick()
    assert window.title() == "failing"


def test_what_is_opened_without_an_axis_is_seen_from_a_corner_and_a_run_is_plotted_whole(qtbot, window, tmp_path):
    """The direction that suited a planar mechanism, and the last seconds of its session, do not stay."""
    Simulation(motored().compile(), h=5e-3).run(0.1).save(tmp_path / "run.npz")  # numbers, and no joints
    window.act.plots()
    assert window.panels.plots.window_of_time == LIVE_WINDOW
    planar = window.canvas.camera.axes()[2]
    window.opener, old = lambda path: connect(path), window.connection
    window.act.open_model(str(tmp_path / "run.npz"))
    qtbot.waitUntil(lambda: (window.tick(), old.over and not window.description.live)[1], timeout=LONGEST_MS)
    corner = Camera(ground=window.canvas.camera.ground)
    corner.look("isometric")
    np.testing.assert_allclose(window.canvas.camera.axes()[2], corner.axes()[2])
    assert np.abs(planar - corner.axes()[2]).max() > 0.1
    assert window.panels.plots.window_of_time is None
    assert "numbers only" in window.log_panel.toPlainText()


def test_ten_thousand_commands_are_taken_in(window):
    for number in range(10_000):
        window.send(commands.SetInput("spring.stiffness", 50.0 + number))
    window.send(commands.Play())
    follow(window, 3)
    stiffness = next(entry for entry in window.description.inputs if entry.name == "spring.stiffness")
    assert window.frame.inputs[stiffness.place].tolist() == [10_049.0]
    assert window.frame.step == 3


# ---- manual mode ---------------------------------------------------------------------------------------------------


def test_a_program_steps_and_the_window_looks_on(qtbot):
    sim = Simulation(motored().compile())
    viewer = ManualViewer(sim)
    qtbot.addWidget(viewer.window)
    viewer.window._timer.stop()
    while sim.t < 0.1:
        if viewer.should_step():
            viewer.sync(sim, sim.step())
    viewer.window.tick()
    assert viewer.window.frame.t == pytest.approx(0.1)
    viewer.window.act.play_or_pause()
    assert not viewer.should_step(), "paused"
    viewer.close()
    assert viewer.over


def test_a_grab_names_the_body_and_its_point(window):
    pick = window.scene.pick(window.scene.center_of(1) + np.array([9.0, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0]))
    window.canvas.grabbed.emit(pick)
    (grab,) = window.connection.sent
    assert isinstance(grab, commands.Grab)
    assert grab.body == "crank"
    assert window.scene.selected == 1


def test_before_the_first_picture_the_ground_is_the_themes_and_the_info_is_hidden(opengl, qtbot):
    connection = Watched(Simulation(motored().compile()))
    window = Window(connection)
    window._timer.stop()
    qtbot.addWidget(window)
    window.show()
    qtbot.waitExposed(window)
    for theme in (WHITE, DARK):
        window.set_theme(theme)
        seen = window.canvas.picture()
        expected = [round(255.0 * part) for part in rgba(theme.background)[:3]]
        assert np.abs(seen.reshape(-1, 3).astype(int) - expected).max() <= 1
    assert not window.info.isVisible()
    connection.turn()
    window.tick()
    assert window.info.isVisible()


@pytest.mark.parametrize("button", ["reload_button", "close_button"])
def test_the_keys_are_the_windows_after_a_banner(window, button):
    window.act.model()
    window.fail(ValueError("something"))
    window.banner.tell("gone", ("back", "reload"), "where it was")
    window.banner.details_button.click()
    QTest.mouseClick(window.banner.details.viewport(), Qt.MouseButton.LeftButton)
    getattr(window.banner, button).click()
    assert window.canvas.hasFocus()


def test_a_sentence_leaves_the_status_bar(window, monkeypatch):
    monkeypatch.setattr("rtmbs.viewer.qt.window.STATUS", 10)
    window.tell("said once")
    assert window.statusBar().currentMessage() == "said once"
    QTest.qWait(100)
    assert window.statusBar().currentMessage() == ""
    assert "said once" in window.log_panel.toPlainText()


def test_numbers_of_the_info_have_their_nouns_and_colours_their_words(window):
    window.info.whole = True
    window.info.show_frame(window.frame, replace(window.description, bodies=window.description.bodies[:2]), 1.0)
    assert "1 body, " in window.info.text()
    assert all(word in window.info.text() for word in ("green: within half", "orange: up to", "red: beyond"))


def test_a_mechanism_without_loops_has_no_plot_of_their_violation(qtbot):
    window = open_window(qtbot, Simulation(failing(at=1e9).compile()))
    assert window.panels.plots.chosen() == [ENERGY]


@pytest.mark.parametrize("software", [True, False])
def test_without_a_graphics_card_pictures_of_a_motion_keep_apart(window, software, monkeypatch):
    monkeypatch.setattr("rtmbs.viewer.session.connection.DRAWN", 1000.0)
    window.connection.send(commands.Play())
    follow(window, 1)
    assert window.frame.playing
    window.canvas.software = software
    before = window.frame
    window.connection.turn(3)
    window.tick()
    assert (window.frame is before) == software
    window.latest.again()
    monkeypatch.setattr("rtmbs.viewer.session.connection.DRAWN", 0.0)
    window.tick()
    assert window.frame.step > before.step


def opened_on(window, tmp_path, text):
    """Open a file with this text, wait until it stands, and return it."""
    file = tmp_path / "mechanism.py"
    file.write_text(text)
    window.opener = lambda path: connect(path, "thread")
    before = window.connection
    window.act.open_model(str(file))
    until(window, lambda: window.connection is not before and not window._awaits_description)
    return file


def test_a_search_for_channels_lasts_through_a_reload(window):
    window.act.plots()
    plots = window.panels.plots
    plots.filter.setText("spring pull")
    seen = [leaf.text(0) for leaf in plots._leaves() if not leaf.isHidden()]
    assert seen == ["pull"]
    plots.describe(window.description)
    assert [leaf.text(0) for leaf in plots._leaves() if not leaf.isHidden()] == seen


def test_a_build_that_is_refused_leaves_what_stands_in_the_panel(window, tmp_path):
    opened_on(window, tmp_path, MENDED.replace("build()", "build(length=1.0)").replace("motored()", "motored(length)"))
    window.act.parameters()
    row = window.panels.parameters.root.child(BUILDING, "length")
    row.setValue(-1e30)
    window.panels.parameters._build()
    until(window, window.banner.isVisible)
    assert window.panels.parameters.root.child(BUILDING, "length").value() == 1.0
    assert window.statusBar().currentMessage() == "", "nothing is being built any more"
    window.connection.close()


def test_a_mistake_that_a_reload_meets_offers_the_reload_and_no_steps_back(window, tmp_path):
    file = opened_on(window, tmp_path, MENDED)
    file.write_text("def build():\n    return widht\n")
    window.act.reload()
    until(window, window.banner.isVisible)
    assert (window.banner.reload_button.isVisible(), window.banner.back_button.isVisible()) == (True, False)
    assert window.statusBar().currentMessage() == ""
    file.write_text(MENDED)
    window.banner.reload_button.click()
    until(window, lambda: window.frame.generation == window.description.generation and not window.waiting.isVisible())
    assert not window.banner.isVisible()
    window.connection.close()


def test_a_session_that_is_gone_plays_no_more(window):
    """Whatever its last frame says: the sign is that of play, and no speed is reached."""
    window.connection.send(commands.Play())
    follow(window, 5)
    window._show_panels()
    assert window.transport._playing
    gone = window.connection
    window.connection = Gone(gone)
    window.tick()
    window._show_panels()
    assert (window.frame.playing, window.transport._playing) == (False, False)
    assert "paused" in window.info.text()
    shown = window.frame
    window.tick()
    assert window.frame is shown, "and it is not drawn again and again"
    window.connection = gone


class Gone:
    """A connection whose session has ended."""

    ended = True

    def __init__(self, connection):
        self.latest = connection.latest

    def messages(self):
        return []


def test_a_build_that_stands_takes_the_banner_of_the_refused_one_away(window, tmp_path):
    opened_on(window, tmp_path, MENDED.replace("build()", "build(length=1.0)").replace("motored()", "motored(length)"))
    window.ask(commands.Rebuild({"length": -1e30}))
    until(window, window.banner.isVisible)
    window.ask(commands.Rebuild({"length": 1.2}))
    until(window, lambda: window.description.parameters["length"] == 1.2)
    assert not window.banner.isVisible()
    window.connection.close()


def test_the_speed_of_the_keys_is_that_of_the_session(window):
    window.connection.send(commands.SetSpeed(0.1))
    follow(window)
    assert window.speed == 0.1
    window.act.faster()
    follow(window)
    assert window.frame.desired_speed == window.speed == faster(0.1)


def test_keys_and_clicks_while_a_session_starts_again(window, tmp_path):
    """The old picture stays until the new session stands, and so does what the keys need."""
    file = tmp_path / "mechanism.py"
    file.write_text("1 / 0\n")
    gone, window.connection = window.connection, connect(file, "thread")
    window.selection.choose(Choice("body", "crank"))
    window.restart()
    for action in ("trail", "follow", "hide", "isolate", "labels", "fit", "copy_state"):
        window.act[action]()
    window.selection.cut(section_normal_to("x", 0.0))
    window.selection.picked(window.canvas.pick(*window.canvas.camera.project(window.scene.center_of(1))[0, :2]))
    until(window, window.banner.isVisible)
    assert "ZeroDivisionError" in window.banner.text.text()
    window.connection.close()
    window.connection = gone


def test_names_that_look_like_html_are_shown_as_they_are(qtbot):
    model = rtmbs.Model("<b>arm</b>")
    model.add_body("<i>arm</i>", mass=1.0, center_of_mass=(1.0, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))
    model.add_joint("a <br> b", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "<i>arm</i>")
    window = open_window(qtbot, Simulation(model.compile()))
    window.refuse("<b>arm</b>")
    assert window.banner.text.textFormat() == Qt.TextFormat.PlainText
    window.act.plots()
    window.panels.plots.choose("<i>arm</i>.position")
    title = window.panels.plots.shown["<i>arm</i>.position"].plot.titleLabel.text
    assert "&lt;i>arm&lt;/i>" in title
    assert "<i>arm" not in title


def test_a_click_beside_the_handle_goes_a_part_of_the_way(window):
    window.transport.show_frame(replace(window.frame, oldest=0, newest=40_000))
    assert window.transport.slider.pageStep() == 2000
