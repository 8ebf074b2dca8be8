"""Forty jobs of a new user in the real window, by keys and mouse as docs/viewer.md says, and in pages and films.

    xvfb-run -a -s "-screen 0 1920x1080x24" env LP_NUM_THREADS=1 python -m bench.viewer_jobs --pictures FOLDER

The jobs are what the first users wished for: files, plots, the hand, the picture, the browser. A job ends when its
effect was seen, and its line has the wall time. Numbers choose some of them. The exit code is 1 where one fails.
"""

import argparse
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rtmbs
from bench.viewer_person import Person, changed, need
from tests.viewer.mechanisms import failing, motored

JOBS: list[tuple[str, Callable[[Person], str]]] = []
FACTORY = "tests.viewer.mechanisms"
FOUR_BAR = {"parameters": {"ny": 2, "nz": 3}}
CHANNEL = "coupler.position"
ARROW = 8  # [pixels] from the right edge of a field to the middle of its arrows
MKS = """MODEL pendulum
SYSTEM (DYNAMIC ANALYSIS, ending time = 1, print interval = 0.01);
BODY bob (mass = 2, inertia = (0.01, 0.02, 0.02), center of gravity = (0.5, 0, 0));
revolute joint hinge (body = ground, body = bob, axis = (0, 1, 0));
ENDMODEL
"""

Done = Callable[[Person], str]


def job(words: str) -> Callable[[Done], Done]:
    """Add a job to the list."""

    def added(function: Done) -> Done:
        JOBS.append((words, function))
        return function

    return added


def in_motored(person: Person, **options: Any) -> Any:
    """Return the window on the four-bar with a motor and a spring."""
    return person.open(f"{FACTORY}:motored", parameters={"torque": 3.0}, **options)


def command(person: Person, *words: str) -> str:
    """Run ``rtmbs`` in the folder of the person, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "rtmbs", *words], cwd=person.folder, capture_output=True, text=True, check=False
    )
    need(done.returncode == 0, f"rtmbs {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def recorded(person: Person) -> Path:
    """Return a recorded run of the four-bar with a motor."""
    path = person.folder / "run.npz"
    if not path.exists():
        sim = rtmbs.Simulation(motored(torque=3.0).compile(), h=5e-3)
        sim.run(1.0).save(path)
    return path


# ---- files ----------------------------------------------------------------------------------------------------------


@job("open a model file (.mks), by the window's Open")
def open_model_file(person: Person) -> str:
    path = person.folder / "pendulum.mks"
    path.write_text(MKS)
    window = in_motored(person)
    person.in_dialogs(person.choosing(path))
    person.press("Ctrl+O")
    person.wait(lambda: window.title() == "pendulum")
    return f"h = {window.frame.h:g} s, as the file says"


@job("see a kinematic result from Python")
def kinematic_result(person: Person) -> str:
    from rtmbs.kinematics import Analysis

    model = rtmbs.library.build("driven_fourbar")
    window = person.open(Analysis(model).run(0.0, 1.0, 0.02), model=model)
    person.play(0.2)
    return f"plays to t = {window.frame.t:.2f} s"


@job("write a page of a kinematic result")
def kinematic_page(person: Person) -> str:
    from rtmbs.kinematics import Analysis

    model = rtmbs.library.build("driven_fourbar")
    path = person.folder / "kinematic.html"
    rtmbs.view(Analysis(model).run(0.0, 1.0, 0.02), model=model, html=str(path))
    return f"{path.stat().st_size / 1e6:.2f} MB"


@job("drop a file on the window")
def drop(person: Person) -> str:
    from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
    from PySide6.QtGui import QDropEvent

    window, data = in_motored(person), QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(recorded(person)))])
    none = Qt.KeyboardModifier.NoModifier
    window.dropEvent(QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, none))
    person.wait(lambda: window.description is not None and not window.description.live)
    return window.title()


@job("see a recorded result with the shapes of its model")
def replay(person: Person) -> str:
    window = person.open(str(recorded(person)), model=motored())
    person.play(0.3)
    need(len(window.scene.description.joints) >= 3, "no joints")
    person.shoot("05_replay")
    return f"{len(window.scene.description.joints)} joints, t = {window.frame.t:.2f} s"


# ---- plots ----------------------------------------------------------------------------------------------------------


def plotted(person: Person, *channels: str, seconds: float = 1.0) -> Any:
    """Return the panel of plots of a window that has played, with ticked channels."""
    window = in_motored(person)
    person.press("F4")
    for channel in channels:
        person.tick(window.panels.plots.tree, *channel.split("."))
    person.play(seconds)
    person.rest(0.5)
    return window.panels.plots


def spans(panel: Any) -> set[tuple[float, ...]]:
    """Return the times that the plots show, each once."""
    return {tuple(np.round(one.box.viewRange()[0], 3).tolist()) for one in panel.shown.values()}


@job("see the last 5 s of all plots")
def last_seconds(person: Person) -> str:
    panel = plotted(person, CHANNEL, seconds=6.0)
    person.pick(panel.bar.window_choice, "last 5 s")
    person.rest(0.5)
    ((low, high),) = spans(panel)
    need(abs(high - low - 5.0) < 0.1, f"{low} to {high}")
    person.shoot("06_last_5_s")
    return f"{low:g} to {high:g} s"


@job("read four plots beside each other, none cut off")
def four_plots(person: Person) -> str:
    panel = plotted(person, CHANNEL, "coupler.velocity")
    person.shoot("07_four_plots")
    heights = [one.plot.sceneBoundingRect().height() for one in panel.shown.values()]
    rights = [one.plot.sceneBoundingRect().right() for one in panel.shown.values()]
    need(min(heights) > 100 and max(rights) <= panel.area.width() + 1, f"{heights} {rights}")
    return f"{len(heights)} plots, each {min(heights):.0f} pixels high or more"


def accept(dialog: Any) -> None:
    """Click on OK."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QDialogButtonBox

    ok = dialog.findChild(QDialogButtonBox).button(QDialogButtonBox.StandardButton.Ok)
    QTest.mouseClick(ok, Qt.MouseButton.LeftButton)


@job("make plots larger")
def larger_plots(person: Person) -> str:
    panel = plotted(person, CHANNEL)
    before = max(one.plot.sceneBoundingRect().height() for one in panel.shown.values())
    person.choose_in_menu(panel.bar.layout_button, "large plots")
    person.rest(0.5)
    after = max(one.plot.sceneBoundingRect().height() for one in panel.shown.values())
    need(after > before, f"{before} and {after}")
    return f"{before:.0f} to {after:.0f} pixels"


@job("lay two channels over each other")
def overlay(person: Person) -> str:
    panel = plotted(person, CHANNEL, "hook.position")
    before = len(panel.shown)
    person.choose_in_menu(panel.bar.layout_button, "one plot a unit")
    person.rest(0.5)
    need(len(panel.shown) < before, "as many plots as before")
    person.shoot("09_one_plot_a_unit")
    return f"{before} plots become {len(panel.shown)}"


@job("zoom the time of all plots by the wheel")
def zoom(person: Person) -> str:
    panel = plotted(person, CHANNEL)
    (before,) = spans(panel)
    at = panel.area.mapFromScene(panel.shown[CHANNEL].plot.sceneBoundingRect().center())
    person.wheel(panel.area.viewport(), at, 3)
    (after,) = spans(panel)
    need(after[1] - after[0] < 0.7 * (before[1] - before[0]), f"{before} {after}")
    return f"{before} to {after} s, one span"


@job("click in a plot to go to that time")
def click_seeks(person: Person) -> str:
    from PySide6.QtCore import QPointF, Qt
    from PySide6.QtTest import QTest

    panel, window = plotted(person, CHANNEL), person.window
    box = panel.shown[CHANNEL].box
    at = panel.area.mapFromScene(box.mapViewToScene(QPointF(0.4, float(np.mean(box.viewRange()[1])))))
    QTest.mouseClick(panel.area.viewport(), Qt.MouseButton.LeftButton, pos=at)
    person.wait(lambda: abs(window.frame.t - 0.4) < 0.03)
    return f"t = {window.frame.t:.3f} s"


@job("export figures for a paper, and numbers")
def figures(person: Person) -> str:
    panel, sizes = plotted(person, CHANNEL), []
    for ending in ("pdf", "svg", "png", "csv"):
        path = person.folder / f"figure.{ending}"
        person.in_dialogs(accept, person.naming(path))
        person.mouse(panel.bar.export)
        sizes.append(f"{ending} {path.stat().st_size / 1e3:.0f} kB")
    return ", ".join(sizes)


@job("plot z over y")
def over_another(person: Person) -> str:
    panel = plotted(person, CHANNEL)
    person.pick(panel.bar.choice, f"{CHANNEL}[y]")
    person.rest(0.5)
    x = panel.shown[CHANNEL].lines[0].getData()[0]
    need(np.ptp(x) > 1e-3, "nothing moved")
    person.shoot("13_over_y")
    return f"y from {x.min():.3f} to {x.max():.3f} m"


@job("see a spectrum")
def over_frequency(person: Person) -> str:
    panel = plotted(person, CHANNEL)
    person.pick(panel.bar.choice, "frequency")
    person.rest(0.5)
    f, amplitude = panel.shown[CHANNEL].lines[-1].getData()
    need(len(f) > 10, "no spectrum")
    return (
        f"{panel.bar.over}: {len(f)} frequencies up to {f.max():.0f} Hz, largest amplitude {np.nanmax(amplitude):.3f} m"
    )


@job("compare two runs by the mouse, with a legend")
def compare(person: Person) -> str:
    panel = plotted(person, CHANNEL)
    person.in_dialogs(person.choosing(recorded(person)))
    person.mouse(panel.bar.compare)
    person.wait(lambda: "run.npz" in panel.bar.compare.text())
    person.rest(0.5)
    need("run.npz" in panel.bar.compare.text(), panel.bar.compare.text())
    need(len({curve.run for curve in panel.shown[CHANNEL].panel.curves}) == 2, "one run only")
    person.shoot("15_compare")
    return panel.bar.compare.text()


@job("plot the channels of a recorded result")
def plots_of_a_result(person: Person) -> str:
    window = person.open(str(recorded(person)))
    person.press("F4")
    person.tick(window.panels.plots.tree, *CHANNEL.split("."))
    person.rest(0.5)
    y = window.panels.plots.shown[CHANNEL].panel.curves[0].y
    return f"{len(y)} samples"


# ---- the hand -------------------------------------------------------------------------------------------------------


@job("come closer to a place by the wheel")
def wheel_to_mouse(person: Person) -> str:
    window = in_motored(person)
    before = person.pixel("coupler")
    distance = window.canvas.camera.distance
    person.wheel(window.canvas, before, 3)
    after = person.pixel("coupler")
    need(window.canvas.camera.distance < distance and (after - before).manhattanLength() < 25, f"{before} {after}")
    return (
        f"{distance:.2f} to {window.canvas.camera.distance:.2f} m, the body {(after - before).manhattanLength()} pixels"
    )


@job("jump in the time slider")
def slider(person: Person) -> str:
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest

    window = in_motored(person)
    person.play(0.6)
    last, one = window.frame.step, window.transport.slider
    QTest.mouseClick(one, Qt.MouseButton.LeftButton, pos=QPoint(one.width() // 2, one.height() // 2))
    person.wait(lambda: abs(window.frame.step - last / 2) < 0.1 * last)
    return f"step {window.frame.step} of {last}"


@job("look along an axis, from a corner, along the common axis")
def looks(person: Person) -> str:
    window, seen = in_motored(person), []
    for key in ("X", "Y", "Z", "I", "A"):
        person.press(key)
        seen.append(" ".join(f"{one:.2f}" for one in window.canvas.camera.axes()[2]))
    need(seen[0] == "1.00 0.00 0.00" and len(set(seen[:4])) == 4, str(seen))
    return f"{seen[4]} is the common axis"


@job("turn the eye by the keyboard")
def keyboard_eye(person: Person) -> str:
    window = in_motored(person)
    before = window.canvas.camera.eye()
    person.press("Ctrl+Left", "Ctrl+Up", "Ctrl++")
    return f"the eye went {np.linalg.norm(window.canvas.camera.eye() - before):.2f} m"


@job("pose a mechanism in pause by hand, and undo it")
def pose(person: Person) -> str:
    window = in_motored(person)
    person.play(0.3)
    before = window.frame.A.copy()
    person.drag("coupler", 60, 30)
    person.wait(lambda: not np.allclose(window.frame.A, before))
    moved = float(np.abs(window.frame.A - before).max())
    for _ in range(20):
        if np.allclose(window.frame.A, before, atol=1e-12):
            break
        person.press("Ctrl+Z")
        person.rest(0.3)
    need(np.allclose(window.frame.A, before, atol=1e-12), "undo did not bring the pose back")
    return f"turned by {moved:.2f}, and came back"


@job("see the newtons of a pull")
def newtons(person: Person) -> str:
    window = in_motored(person)
    person.press("Space")
    person.wait(lambda: window.frame.t > 0.2)
    seen = person.drag("coupler", 80, 40, lambda: str([text for _, text in window.scene.pull_text()]))
    person.press("Space")
    need("N" in seen, f"the picture says {seen}")
    return seen


@job("undo and redo an input")
def undo_input(person: Person) -> str:
    window = in_motored(person)
    person.press("F6")
    row = window.panels.parameters.root.child("Inputs", "motor.torque")
    (item,) = row.items
    window.panels.parameters.scrollToItem(item)
    person.type(item.widget.spin.lineEdit(), "2")
    torque = next(one for one in window.description.inputs if one.name == "motor.torque")
    person.wait(lambda: window.frame.inputs[torque.place][0] == 2.0)
    person.press("Ctrl+Z")
    person.wait(lambda: window.frame.inputs[torque.place][0] == 3.0)
    person.press("Ctrl+Y")
    person.wait(lambda: window.frame.inputs[torque.place][0] == 2.0)
    return "2, 3 and 2 N m"


@job("change a parameter with its unit, and read what it is")
def parameters(person: Person) -> str:
    window = in_motored(person)
    person.press("F6")
    rows = [row for group in window.panels.parameters.root.children() for row in group.children()]
    missing = [row.name() for row in rows if not (row.opts.get("tip") or row.hasChildren())]
    need(not missing, f"no tip: {missing}")
    person.shoot("24_parameters")
    return f"{len(rows)} rows, each with a tip"


@job("measure a distance by two clicks")
def measure(person: Person) -> str:
    window = in_motored(person)
    person.press("D")
    for body in ("crank", "rocker"):
        person.click(body)
    need(len(window.selection.readings()) == 1, person.bar())
    person.shoot("25_measure")
    return person.bar()


@job("read and copy what is known of a body")
def inspect(person: Person) -> str:
    from PySide6.QtWidgets import QApplication

    window = in_motored(person)
    person.press("F9")
    person.click("coupler")
    person.rest(0.6)
    person.press("Ctrl+Shift+C")
    text = QApplication.clipboard().text()
    need("mass" in text and "kg" in text, text)
    person.shoot("26_inspector")
    return f"{len(text.splitlines())} lines; {window.selection.choice.name}"


@job("use the menus and the panels by the keyboard alone")
def keyboard(person: Person) -> str:
    window = in_motored(person)
    bare = [one.text() for one in window.menuBar().actions() if "&" not in one.text()]
    need(not bare, f"no letter: {bare}")
    person.press("E", "F6", "Ctrl+E")
    return f"{window.selection.choice.name} is chosen; " + ", ".join(one.text() for one in window.menuBar().actions())


@job("go on after a step that failed")
def failed(person: Person) -> str:
    window = person.open(f"{FACTORY}:{failing.__name__}")
    person.press("Space")
    person.wait(lambda: window.banner.isVisible())
    text = window.banner.text.text()
    step = window.frame.step
    person.shoot("28_failed")
    person.mouse(window.banner.back_button)
    person.wait(lambda: window.frame.step < step)
    return f"{text[:70]}; {window.banner.back_button.text()}"


@job("build with other parameters by the mouse")
def rebuild(person: Person) -> str:
    from PySide6.QtCore import QPoint
    from PySide6.QtWidgets import QPushButton

    window = person.open("fourbar", **FOUR_BAR)
    person.press("F6")
    root = window.panels.parameters.root
    group = next(one for one in root.children() if any(row.name() == "nz" for row in one.children()))
    panel, (item,) = window.panels.parameters, group.child("nz").items
    panel.scrollToItem(item)
    person.mouse(panel.viewport(), panel.visualItemRect(item).center() + QPoint(panel.columnWidth(0) // 2, 0))
    field = item.widget
    person.wait(field.isVisible)
    person.mouse(field, QPoint(field.width() - ARROW, field.height() // 4))
    need(field.value() == 4, f"nz is {field.value()}")
    person.shoot("29_build")
    person.mouse(next(one for one in panel.findChildren(QPushButton) if one.text() == "Build"))
    person.wait(lambda: "2 x 4" in window.title())
    return window.title()


# ---- the picture ----------------------------------------------------------------------------------------------------


@job("fold and unfold the info")
def info(person: Person) -> str:
    window, seen = in_motored(person), []
    person.play(0.1)
    for _ in range(3):
        seen.append(window.info.height() if window.info.isVisible() else 0)
        person.press("F2")
        person.rest()
    need(0 < seen[0] < seen[1] and seen[2] == 0, f"heights {seen}")
    return f"{seen[0]} pixels, {seen[1]} pixels, nothing"


@job("keep the side of supports when the theme changes")
def supports(person: Person) -> str:
    person.open("pendulum")
    person.play(0.4)
    before = person.seen()
    person.press("F8", "F8")
    count = changed(before, person.seen())
    need(count < 100, f"{count} pixels changed")
    return f"{count} pixels differ after two changes"


@job("see the floor below the whole motion")
def floor(person: Person) -> str:
    window = person.open("pendulum")
    person.play(1.0)
    lowest = max(window.canvas.camera.project([window.scene.center_of(1)])[0, 1], 0.0)
    corner = window.canvas.camera.project([window.scene._floor.corner])[0, 1]
    person.shoot("32_floor")
    need(lowest < corner, f"{lowest} {corner}")
    return f"the bob at {lowest:.0f}, the floor's edge at {corner:.0f} pixels"


@job("cut the picture across y")
def section(person: Person) -> str:
    window = in_motored(person)
    person.press("F9")
    before = person.seen()
    panel = window.panels.model
    tabs = panel.tabs.tabBar()
    person.mouse(tabs, tabs.tabRect(panel.tabs.indexOf(panel.cutting)).center())
    person.pick(panel.cutting.axis, "y")
    count = changed(before, person.seen())
    person.shoot("33_section")
    need(count > 500, f"{count} pixels changed")
    return f"{count} pixels changed"


@job("see reactions with their scale, trails and the legend")
def arrows(person: Person) -> str:
    window = in_motored(person)
    before = person.seen()
    person.press("R", "Shift+T", "K")
    person.play(0.4)
    person.shoot("34_reactions")
    return f"{changed(before, person.seen())} pixels changed; info {window.info_wanted}"


@job("tell what is chosen by its outline; hide it, show it alone")
def choose(person: Person) -> str:
    window = in_motored(person)
    person.press("F9")
    before = person.seen()
    person.click("coupler")
    outline = changed(before, person.seen())
    person.press("H", "H", "Shift+H")
    person.shoot("35_alone")
    person.press("Shift+H")
    need(outline > 50, f"{outline} pixels")
    return f"{outline} pixels of the mark; {window.selection.choice.name}"


@job("dark and white")
def dark(person: Person) -> str:
    window = in_motored(person, theme="dark")
    person.play(0.2)
    person.shoot("36_dark")
    mean = float(person.seen().mean())
    need(mean < 100.0, f"mean {mean}")
    person.press("F8")
    return f"mean of the picture {mean:.0f}, then {float(person.seen().mean()):.0f}; {window.theme.name}"


# ---- without a window -----------------------------------------------------------------------------------------------


@job("film without a display, with letters of units")
def film(person: Person) -> str:
    command(
        person, "view", "fourbar", "--ny", "1", "--nz", "2", "--headless", "--frames", "20", "--out", "film.mp4",
        "--overlay", "--reactions",
    )  # fmt: skip
    command(
        person, "view", "fourbar", "--headless", "--frames", "10", "--out", "37_last.png", "--overlay", "--reactions"
    )
    return f"{(person.folder / 'film.mp4').stat().st_size / 1e3:.0f} kB"


@job("a page with plots of a vector channel, by the command")
def page(person: Person) -> str:
    from tests.viewer.web.browser import Browser

    command(
        person, "view", "slider_crank", "--html", "page.html", "--t-end", "2", "--plot", "slider.position",
        "--plot", "energy",
    )  # fmt: skip
    with Browser(person.folder / "profile") as browser:
        browser.open(person.folder / "page.html", (1200, 800))
        told = browser.run("page.player.pause(1.0); await drawn(); told.t = page.player.time;")
        browser.picture(person.folder / "38_page.png")
        need(not browser.said, str(browser.said))
    return f"stands at t = {told['t']:.2f} s"


@job("a live session in a browser: pause, play, reactions")
def live(person: Person) -> str:
    from tests.viewer.web.browser import Browser

    words = [sys.executable, "-m", "rtmbs", "view", f"{FACTORY}:motored", "--serve", "0"]
    served = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert served.stdout is not None
        address = ""
        for line in served.stdout:
            if "http" in line:
                address = next(word for word in line.split() if word.startswith("http"))
                break
        with Browser(person.folder / "live profile") as browser:
            browser.open(address, (1200, 800))
            told = browser.run(
                "const at = () => page.player.time; while (!page.live.pictures) await wait(20);"
                "if (page.player.playing) press(' '); await wait(2000);"
                "told.t = [at()]; await wait(1000); told.t.push(at()); press(' '); await wait(3000); told.t.push(at());"
                "press('r'); await wait(1000); told.drawn = page.drawn; told.arrows = Boolean(page.live.scaled);"
            )
            browser.picture(person.folder / "39_live.png")
    finally:
        served.terminate()
        served.wait()
    need(told["t"][0] == told["t"][1] < told["t"][2] and told["arrows"], str(told))
    return f"stands at t = {told['t'][1]:.2f} s, plays to {told['t'][2]:.2f} s, {told['drawn']} pictures, reactions"


@job("a run below the cell of a notebook")
def notebook(person: Person) -> str:
    shown = rtmbs.show("fourbar", parameters={"ny": 1, "nz": 2})
    size = len(shown._repr_html_()) if hasattr(shown, "_repr_html_") else 0
    need(size > 1e5, f"{size} letters")
    return f"{size / 1e6:.2f} MB"


def main() -> int:
    """Do the jobs, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, required=True, help="folder of the pictures of windows")
    parser.add_argument("numbers", nargs="*", type=int, help="of jobs; all unless given")
    given = parser.parse_args()
    given.pictures.mkdir(parents=True, exist_ok=True)
    person, failures = Person(given.pictures), 0
    for number, (words, function) in enumerate(JOBS, 1):
        if given.numbers and number not in given.numbers:
            continue
        begun = time.perf_counter()
        try:
            answer = function(person)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a line for each, whatever happens
            failures += 1
            answer = f"FAILED: {error!r} {traceback.extract_tb(error.__traceback__)[-1].line}"
        print(f"{number:2d} {words:62s} {time.perf_counter() - begun:6.1f} s  {answer}", flush=True)
    person.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
