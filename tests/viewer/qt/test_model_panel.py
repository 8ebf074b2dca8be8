"""The panel of the model: tree, scene and session agree on what is chosen, hidden, inspected, measured and cut."""

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets", reason="Qt cannot be loaded; see docs/viewer.md", exc_type=ImportError)
pytest.importorskip("pyqtgraph", reason="pyqtgraph is not installed; pip install 'rtmbs[viewer]' brings it")

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.elements import BODY, FORCE, INPUT, JOINT, MARKER, Choice
from rtmbs.viewer.session.commands import Inspect, Pause, Play, Rebuild, Seek, SetInput
from rtmbs.viewer.session.describe import describe
from tests.patience import LONGEST_MS
from tests.viewer.mechanisms import motored
from tests.viewer.windows import activate, follow, open_window

ELBOW = Choice(JOINT, "elbow")


@pytest.fixture
def window(qtbot):
    window = open_window(qtbot, Simulation(motored(torque=0.3).compile()))
    window.act.model()
    window.tick()
    return window


def shown(window, steps: int = 50) -> dict[str, str]:
    """Return the lines of the inspector, once the session has taken its steps and stands still."""
    follow(window, steps)
    window.connection.send(Pause())
    follow(window)
    window.panels.model.show_frame(window.frame)
    lines = window.panels.model.inspector.text().splitlines()[1:]
    return dict(line.split(" = ", 1) for line in lines)


def numbers(text: str, count: int) -> list[float]:
    return [float(word) for word in text.split()[:count]]


# ---- inspecting ----------------------------------------------------------------------------------------------------


def test_of_a_body_what_it_weighs_and_how_it_moves(window):
    window.connection.send(Play())
    window.selection.choose(Choice(BODY, "coupler"))
    lines = shown(window, 40)
    result = Simulation(motored(torque=0.3).compile()).run(window.frame.t)
    assert lines["mass"] == "1 kg"
    assert lines["inertia about it xx, yy, zz"].startswith("0.02  0.02  0.02 kg m")
    for word in ("velocity", "acceleration", "angular_velocity", "mass_center"):
        wanted = result[f"coupler.{word}"][-1]
        found = numbers(lines[f"{word.replace('_', ' ')} x, y, z"], 3)
        assert found == pytest.approx(wanted, rel=1e-3, abs=1e-9), word
    assert np.abs(wanted).max() > 0.1


def test_of_a_joint_its_reaction_with_force_and_moment_apart(window):
    window.selection.choose(ELBOW)
    lines = shown(window)
    assert lines["kind"] == "Revolute"
    assert lines["closed by"] == "equations (cut)"
    wanted = window.connection.sim.reaction("elbow")
    assert numbers(lines["reaction fx, fy, fz"], 3) == pytest.approx(wanted[:3], rel=1e-3, abs=1e-9)
    assert lines["reaction fx, fy, fz"].endswith(" N")
    assert lines["reaction nx, ny, nz"].endswith(" N m")
    assert "rate" not in lines, "the second name of the angle's rate"


def test_of_a_force_length_pull_and_power(window):
    window.connection.send(Play())
    window.connection.send(SetInput("spring.length", 0.4))
    window.selection.choose(Choice(FORCE, "spring"))
    lines = shown(window, 40)
    sim = window.connection.sim
    length, pull, power = window.frame.inspected[:3]
    sim.step()
    window.connection.sync(sim)
    window.tick()
    assert [*lines][2:5] == ["length", "pull", "power"]
    assert lines["power"].endswith(" W")
    assert lines["between"] == "hook on ground and eye on coupler"
    assert power == pytest.approx(-pull * (window.frame.inspected[0] - length) / sim.h, rel=0.1)
    assert abs(pull) > 1.0
    assert abs(power) > 0.01


def test_the_power_of_every_force_may_be_plotted(window):
    units = {channel.name: channel.unit for channel in window.description.channels}
    assert (units["spring.power"], units["motor.power"]) == ("W", "W")


def test_values_are_asked_for_only_while_they_are_seen(window):
    sent = window.connection.sent
    window.selection.choose(ELBOW)
    assert "elbow.reaction" in sent[-1].names
    window.panels.model.tabs.setCurrentIndex(1)
    assert sent[-1].names == ()
    window.panels.model.tabs.setCurrentIndex(0)
    assert "elbow.reaction" in sent[-1].names
    window.act.model()
    assert sent[-1].names == ()
    count = len(sent)
    window.selection.choose(Choice(BODY, "crank"))
    assert sent[count:] == [], "nobody sees it"
    follow(window)
    assert np.isnan(window.frame.inspected).all()


def test_an_input_is_edited_where_it_is_inspected(window):
    window.selection.choose(Choice(INPUT, "spring.stiffness"))
    ((_, (spin,)),) = window.panels.model.inspector._editors
    spin.spin.setValue(80.0)
    assert window.connection.sent[-1] == SetInput("spring.stiffness", 80.0)
    window.connection.send(SetInput("spring.stiffness", 66.0))
    assert shown(window)["spring.stiffness"] == "66 N/m"
    assert spin.value() == 66.0
    window.selection.choose(Choice(INPUT, "gravity"))
    ((_, spins),) = window.panels.model.inspector._editors
    spins[0].spin.setValue(1.5)
    assert window.connection.sent[-1] == SetInput("gravity", (1.5, 0.0, -9.81))


def test_what_is_shown_is_copied_as_text(window):
    window.selection.choose(Choice(MARKER, "eye"))
    shown(window)
    window.act.copy_inspected()
    text = QGuiApplication.clipboard().text()
    assert text.splitlines()[:2] == ["eye", "on = coupler"]
    assert "position x, y, z = 0  0.5000  -0.4000 m" in text


def test_a_name_that_does_not_exist_and_too_many_numbers_are_refused(window):
    window.selection.choose(ELBOW)
    before = shown(window)
    window.connection.send(Inspect(("elbow.reactoin",), 99))
    window.connection.send(Inspect(("crank.position",) * 50, 98))
    follow(window)
    text = window.log_panel.toPlainText()
    assert "elbow.reaction" in text
    assert "150 numbers are inspected; at most 128 can be at once" in text
    assert shown(window) == before


def test_a_recorded_result_is_inspected_at_its_present_sample(qtbot):
    from rtmbs.viewer.qt.window import Window
    from rtmbs.viewer.session.playback import PlaybackConnection

    system = motored(torque=0.3).compile()
    result = Simulation(system).run(0.2)
    for description in (None, describe(Simulation(system))):
        connection = PlaybackConnection(result, description)
        window = Window(connection)
        window._timer.stop()
        qtbot.addWidget(window)
        window.show()
        window.act.model()
        window.tick()
        window.selection.choose(Choice(BODY, "coupler"))
        connection.send(Seek(20))
        window.tick()
        window.panels.model.show_frame(window.frame)
        lines = dict(line.split(" = ", 1) for line in window.panels.model.inspector.text().splitlines()[1:])
        found = numbers(lines["velocity x, y, z"], 3)
        assert found == pytest.approx(result["coupler.velocity"][20], rel=1e-3, abs=1e-9)
        assert ("mass" in lines) is (description is not None)
        assert window.panels.model.inspector._editors == []
    connection.send(Inspect(("coupler.speed",), 7))
    (message,) = connection.messages()
    assert "coupler.speed" in message.text
    window.close()


# ---- choosing ------------------------------------------------------------------------------------------------------


def test_a_click_on_a_joint_chooses_it_and_the_tree_shows_it(window):
    joint = next(joint for joint in window.description.joints if joint.name == "elbow")
    point = window.frame.r[joint.a] + window.frame.A[joint.a] @ joint.point_a
    start = point + np.array([5.0, 0.0, 0.0])
    pick = window.scene.pick(start, np.array([-1.0, 0.0, 0.0]))
    window.canvas.picked.emit(pick)
    assert window.selection.choice == ELBOW
    assert window.panels.model.tree.tree.currentItem().text(0) == "elbow"
    assert window.scene.selected is None
    (highlight,) = window.scene.overlays
    assert highlight.batches[0].placement[0, :, 3] == pytest.approx(point)
    window.canvas.picked.emit(None)
    assert window.selection.choice is None
    assert window.scene.overlays == []


def test_a_click_in_the_tree_chooses_in_the_scene(window):
    tree = window.panels.model.tree
    tree.tree.setCurrentItem(tree._items[Choice(BODY, "rocker")])
    assert window.scene.selected == 3
    tree.tree.setCurrentItem(tree._items[Choice(FORCE, "spring")])
    assert window.scene.selected is None
    assert len(window.scene.overlays[0].lines[0]) == 1, "a line along the spring"
    assert window.selection.choice == (FORCE, "spring")


@pytest.mark.parametrize("key", [Qt.Key.Key_Space, Qt.Key.Key_F8])
def test_the_keys_are_the_windows_after_a_click_in_the_panel(window, key):
    """Space plays, and does not tick; a number that is typed into the search stays there."""
    tree, theme = window.panels.model.tree, window.theme
    item = tree._items[Choice(BODY, "rocker")]
    place = tree.tree.visualItemRect(item).center()
    activate(window)
    QTest.mouseClick(tree.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert window.selection.choice == (BODY, "rocker")
    QTest.keyClick(window.focusWidget(), key)
    assert Play() in window.connection.sent or window.theme is not theme
    assert item.checkState(0) == Qt.CheckState.Checked
    tree.filter.setFocus()
    QTest.keyClicks(tree.filter, "rock 1")
    assert tree.filter.text() == "rock 1"
    QTest.keyClick(tree.filter, Qt.Key.Key_Return)
    assert window.canvas.hasFocus()


def test_the_search_leaves_the_elements_that_have_every_word(window):
    tree = window.panels.model.tree
    tree.filter.setText("spring stiff")
    visible = [choice for choice, item in tree._items.items() if not item.isHidden()]
    assert visible == [(INPUT, "spring.stiffness")]
    tree.filter.setText("")
    assert not any(item.isHidden() for item in tree._items.values())


# ---- hiding --------------------------------------------------------------------------------------------------------


def drawn_bodies(window) -> set[int]:
    return {int(body) for batch in window.scene._bodies for body in batch.body}


def test_a_tick_hides_and_shows(qtbot, window):
    tree = window.panels.model.tree
    item = tree._items[Choice(BODY, "crank")]
    item.setCheckState(0, Qt.CheckState.Unchecked)
    qtbot.waitUntil(lambda: drawn_bodies(window) == {2, 3}, timeout=LONGEST_MS)
    start = window.scene.center_of(1) + np.array([9.0, 0.0, 0.0])
    assert window.scene.pick(start, np.array([-1.0, 0.0, 0.0])) is None, "what is hidden is not met"
    item.setCheckState(0, Qt.CheckState.Checked)
    qtbot.waitUntil(lambda: drawn_bodies(window) == {1, 2, 3}, timeout=LONGEST_MS)


def test_only_what_is_chosen_and_all_again(window):
    window.selection.choose(Choice(BODY, "rocker"))
    window.act.isolate()
    assert drawn_bodies(window) == {3}
    assert sum(len(batch) for batch in window.scene._joints) == 5, "two pins, a collar, a stand of two parts"
    assert window.scene.batches()
    ticks = window.panels.model.tree.unticked()
    assert Choice(BODY, "crank") in ticks
    assert Choice(JOINT, "foot") not in ticks
    window.act.isolate()
    assert drawn_bodies(window) == {1, 2, 3}
    assert window.panels.model.tree.unticked() == set()


def test_the_key_hides_what_is_chosen(window):
    window.act.hide()
    assert "choose something" in window.statusBar().currentMessage()
    window.selection.choose(Choice(FORCE, "motor"))
    window.act.hide()
    assert "motor is not drawn" in window.statusBar().currentMessage()
    window.selection.choose(Choice(FORCE, "spring"))
    window.act.hide()
    assert not any(len(batch) for batch in window.scene._connectors.batches)
    window.act.hide()
    assert any(len(batch) for batch in window.scene._connectors.batches)


@pytest.mark.parametrize(("choice", "balls"), [(ELBOW, 1), (Choice(FORCE, "spring"), 2), (Choice(MARKER, "eye"), 1)])
def test_what_is_chosen_has_a_mark_while_it_is_drawn(window, choice, balls):
    window.selection.choose(choice)
    (mark,) = window.scene.overlays
    assert sum(len(batch) for batch in mark.batches) == balls
    if choice.kind != MARKER:
        window.act.hide()
        assert window.scene.overlays == []


def test_two_elements_stand_ready_to_be_measured(window):
    measuring = window.panels.model.measuring
    assert measuring.start.currentText() != measuring.end.currentText()
    measuring.add_button.click()
    assert len(measuring.pairs) == 1


def test_the_menu_of_an_element(window):
    tree, coupler = window.panels.model.tree, Choice(BODY, "coupler")
    offers = dict(tree.offers(coupler))
    assert [*offers] == ["Hide", "Show only this", "Show all", "Measure from here", "Measure to here"]
    offers["Show only this"]()
    assert drawn_bodies(window) == {2}
    dict(tree.offers(coupler))["Show all"]()
    assert drawn_bodies(window) == {1, 2, 3}
    dict(tree.offers(coupler))["Hide"]()
    assert drawn_bodies(window) == {1, 3}
    dict(tree.offers(coupler))["Show"]()
    assert drawn_bodies(window) == {1, 2, 3}
    assert "Hide" not in dict(tree.offers(Choice(MARKER, "eye")))


def test_another_mechanism_forgets_what_it_does_not_have(qtbot, window):
    window.selection.hide({Choice(BODY, "crank")})
    window.selection.choose(ELBOW)
    window.connection.send(Rebuild({}))
    follow(window)
    assert window.selection.hidden.choices == {Choice(BODY, "crank")}
    assert window.selection.choice == ELBOW
    assert window.connection.sent[-1] == Rebuild({}) or "elbow.reaction" in window.connection.sent[-1].names


# ---- measuring and cutting -----------------------------------------------------------------------------------------


def test_distance_vector_and_angle_between_two_elements(window):
    tree = window.panels.model.tree
    dict(tree.offers(Choice(MARKER, "hook")))["Measure from here"]()
    dict(tree.offers(Choice(MARKER, "eye")))["Measure to here"]()
    window.panels.model.measuring.put(Choice(JOINT, "base"), to=False)
    window.panels.model.measuring.put(Choice(BODY, "rocker"), to=True)
    window.connection.send(Play())
    follow(window, 40)
    window.panels.model.show_frame(window.frame)
    markers, joint = (one.reading for one in window.selection.readings())
    result = Simulation(motored(torque=0.3).compile()).run(window.frame.t)
    wanted = result["eye.position"][-1] - result["hook.position"][-1]
    assert markers.vector == pytest.approx(wanted, abs=1e-9)
    assert markers.distance == pytest.approx(result["spring.length"][-1], abs=1e-9)
    assert joint.vector == pytest.approx(result["rocker.mass_center"][-1], abs=1e-9)
    assert joint.angle == pytest.approx(90.0), "the pin and the z axis of the rocker"
    row = window.panels.model.measuring.table.topLevelItem(0)
    assert row.text(1).endswith(" m") or row.text(1).endswith(" mm")
    (text,) = window.scene.overlays[0].texts()
    assert text[0] == pytest.approx(result["hook.position"][-1] + 0.5 * wanted)
    window.panels.model.measuring.table.setCurrentItem(row)
    window.panels.model.measuring.remove()
    assert [pair[0].name for pair in window.selection.pairs] == ["base"]


def test_nothing_is_measured_to_itself_or_twice(window):
    measuring = window.panels.model.measuring
    for _ in range(2):
        measuring.put(ELBOW, to=False)
        measuring.put(ELBOW, to=True)
    assert measuring.pairs == []
    for _ in range(2):
        measuring.put(Choice(BODY, "ground"), to=True)
    assert measuring.pairs == [(ELBOW, Choice(BODY, "ground"))]


def test_a_distance_is_plotted_at_every_step(window):
    window.act.plots()
    measuring, plots = window.panels.model.measuring, window.panels.plots
    measuring.put(Choice(MARKER, "hook"), to=False)
    measuring.put(Choice(MARKER, "eye"), to=True)
    measuring.put(Choice(BODY, "ground"), to=False)
    measuring.put(Choice(BODY, "rocker"), to=True)
    measuring.put(ELBOW, to=True)
    names = ["distance hook \N{RIGHTWARDS ARROW} eye", "distance ground \N{RIGHTWARDS ARROW} rocker"]
    assert [name for name in plots._channels if name.startswith("distance")] == names, "none of a joint"
    for name in (*names, "spring.length"):
        plots.choose(name)
    window.connection.send(Play())
    follow(window, 30)
    plots.redraw(window.connection.strip(), window.frame.t)
    measured, other, length = (plots.shown[name].panel.curves[0].y for name in (*names, "spring.length"))
    assert len(measured) >= 30
    np.testing.assert_allclose(measured, length, atol=1e-12)
    assert other[-1] == pytest.approx(np.linalg.norm(window.scene.center_of(3)))
    measuring.remove()
    measuring.remove()
    assert [name for name in plots.chosen() if name.startswith("distance")] == names[:1]


def test_a_section_takes_away_what_lies_before_it(window):
    cutting, start = window.panels.model.cutting, np.array([5.0, 0.0, 0.0])
    rocker, crank = (window.scene.center_of(body) for body in (3, 1))
    look = np.array([-1.0, 0.0, 0.0])
    assert window.scene.pick(rocker + start, look).body == 3
    cutting.axis.setCurrentText("y")
    cutting.place.spin.setValue(0.5)
    assert window.scene.pick(rocker + start, look) is None
    assert window.scene.pick(crank + start, look).body == 1
    cutting.turned.setChecked(True)
    assert window.scene.pick(rocker + start, look).body == 3
    assert window.scene.pick(crank + start, look) is None
    window.act.theme()
    assert window.scene.section is not None, "it outlives a change of colours"
    cutting.axis.setCurrentText("nothing")
    assert window.scene.section is None
