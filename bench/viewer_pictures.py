"""Take the pictures of docs/viewer.md from the real window (extra ``viewer``).

    xvfb-run -a -s "-screen 0 1280x800x24" env LP_NUM_THREADS=1 PYTHONPATH=. python bench/viewer_pictures.py docs

Every picture is a window of 1200 x 700 on a session that really runs, or a page in a browser without a display
(chromium); nothing is drawn by hand.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import rtmbs
from rtmbs.viewer.qt.application import application
from rtmbs.viewer.scene.elements import Choice
from rtmbs.viewer.scene.theme import theme_named
from rtmbs.viewer.session.commands import Pause, Play, SetOption
from rtmbs.viewer.session.connect import connect
from tests.patience import LONGEST

SIZE = (1200, 700)
CALM = 0.6  # [s] after which edges are smooth


def main(folder: str, *names: str) -> None:
    """Take the pictures of these names, or all."""
    for name in names or PICTURES:
        path = Path(folder) / f"viewer_{name}.png"
        PICTURES[name](path)
        print(path)


class Session:
    """A window that plays for some seconds of simulated time, and is photographed when it stands still."""

    def __init__(self, target: Any, theme: str = "white", **options: Any) -> None:
        self.app = application()
        from rtmbs.viewer.qt.window import Window

        self.window = Window(connect(target, "process", **options), theme_named(theme))
        self.window.resize(*SIZE)
        self.window.show()
        self.wait(lambda: self.window.frame is not None)

    def wait(self, condition: Callable[[], bool], patience: float = LONGEST) -> None:
        """Run the window until ``condition`` holds."""
        end = time.monotonic() + patience
        while not condition():
            self.app.processEvents()
            time.sleep(1e-3)
            if time.monotonic() > end:
                raise SystemExit(f"nothing came of it within {patience:g} s: {self.window.banner.text.text()}")

    def rest(self, seconds: float) -> None:
        """Run the window for some wall time."""
        end = time.monotonic() + seconds
        self.wait(lambda: time.monotonic() > end)

    def open(self, *actions: str) -> None:
        """Show what these actions of the window show, and fit the mechanism into the picture that is left."""
        for action in actions:
            self.window.act[action]()
        self.rest(0.5)
        self.window.act.fit()

    def play(self, t: float) -> None:
        """Play until ``t`` [s], and pause; or until a step fails."""
        window = self.window
        window.send(Play())
        self.wait(lambda: window.frame.t >= t or window.banner.isVisible())
        window.send(Pause())
        self.wait(lambda: not window.frame.playing)

    def shoot(self, path: Path) -> None:
        """Save the window, and close it."""
        self.rest(CALM)
        self.window.canvas.draw_smooth()
        self.window.grab().save(str(path))
        self.window.close()


def fourbar(layout: str, ny: int = 4, nz: int = 40, theme: str = "white") -> Session:
    return Session("fourbar", theme, parameters={"ny": ny, "nz": nz, "layout": layout})


def parallel(path: Path) -> None:
    session = fourbar("parallel")
    session.play(1.2)
    session.shoot(path)


def stacked(path: Path) -> None:
    session = fourbar("stacked", 4, 10, theme="dark")
    session.play(1.2)
    session.window.act.look_front()
    session.window.canvas.camera.orbit(18.0, 8.0)
    session.window.act.fit()
    session.shoot(path)


def profiler(path: Path) -> None:
    session = fourbar("parallel", 4, 10, theme="dark")
    session.open("profiler")
    session.play(1.0)
    session.window.send(SetOption("jacobian", "trace"))
    session.play(2.5)
    session.shoot(path)


def plots(path: Path) -> None:
    session = fourbar("stacked", 2, 3)
    session.open("plots")
    for channel in ("coupler_3_1.position", "pin_1_0.angle"):
        session.window.panels.plots.choose(channel)
    session.play(3.0)
    session.shoot(path)


def parameters(path: Path) -> None:
    session = fourbar("stacked", 2, 2)
    session.open("parameters")
    session.play(1.0)
    session.window.select(1)
    session.window.act.labels()
    session.shoot(path)


def help_map(path: Path) -> None:
    session = fourbar("parallel", 4, 10)
    session.play(0.3)
    session.window.act.help()
    session.shoot(path)


def symbols(path: Path) -> None:
    session = Session(f"{os.path.relpath(__file__)}:machine", "white")
    session.window.canvas.camera.orbit(20.0, 4.0)
    session.open("reactions", "marker_trails", "legend")
    session.play(0.8)
    session.shoot(path)


def machine() -> rtmbs.Model:
    """A carriage on a rail with a wheel and a hanging arm, a spring, a damper and a strut, most with given shapes."""
    model = rtmbs.Model("machine")
    frame, wheel = rtmbs.Box((0.24, 0.2, 0.12)), rtmbs.Cylinder(radius=0.22, length=0.05, axis=(0, 1, 0))
    bob, tube = rtmbs.Sphere(0.1, center=(0, 0, -0.5)), rtmbs.Cylinder(radius=0.05, length=0.3)
    stem = rtmbs.Bar((0, 0, 0), (0, 0, -0.5), 0.012)
    carriage = model.add_body("carriage", shape=frame, color="steel", **frame.inertia(300.0))
    model.add_body("wheel", shape=wheel, color="brass", opacity=0.5, position=(0, -0.2, 0), **wheel.inertia(900.0))
    model.add_body("arm", mass=0.5, inertia=(0.01, 0.01, 0.001), center_of_mass=(0, 0, -0.3), position=(0, 0, -0.1))
    model.add_body(
        "bob",
        shape=[bob, stem],
        color="red",
        position=(0, 0, -0.7),
        **bob.inertia(500.0),
    )
    model.add_body("tube", shape=tube, position=(-0.7, 0.7, 0.0), **tube.inertia(500.0))
    model.add_joint("slide", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", carriage)
    model.add_joint("axle", rtmbs.Revolute(axis=(0, 1, 0)), carriage, "wheel", point=(0, -0.2, 0))
    model.add_joint("cardan", rtmbs.Universal(axis_a=(1, 0, 0), axis_b=(0, 1, 0)), carriage, "arm", point=(0, 0, -0.1))
    model.add_joint("ball", rtmbs.Spherical(), "arm", "bob", point=(0, 0, -0.7))
    model.add_joint("sleeve", rtmbs.Cylindrical(axis=(0, 0, 1)), "ground", "tube", point=(-0.7, 0.7, 0.0))
    for name, body, place in (
        ("left", "ground", (-0.9, 0.08, 0)), ("left side", "carriage", (-0.12, 0.08, 0)),
        ("right", "ground", (0.9, 0.08, 0)), ("right side", "carriage", (0.12, 0.08, 0)),
        ("top", "ground", (-0.7, 0.7, 0.8)), ("lid", "tube", (-0.7, 0.7, 0.15)), ("tip", "bob", (0, 0, -1.2)),
    ):  # fmt: skip
        model.add_marker(name, body, place)
    model.add_force("spring", rtmbs.SpringDamper(stiffness=150.0), between=("left", "left side"))
    model.add_force("damper", rtmbs.SpringDamper(stiffness=0.0, damping=5.0), between=("right", "right side"))
    model.add_force("strut", rtmbs.SpringDamper(stiffness=120.0, damping=2.0), between=("top", "lid"))
    model.set_initial("slide", position=0.15)
    model.set_initial("cardan", position=(0.5, 0.3))
    return model


def failure(path: Path) -> None:
    session = Session(f"{os.path.relpath(__file__)}:failing", "white")
    session.play(10.0)
    session.shoot(path)


def failing() -> rtmbs.Model:
    """A four-bar whose motor stops being a number after a second."""
    model = rtmbs.library.build("fourbar", ny=2, nz=2)
    model.add_force("motor", rtmbs.Motor(lambda t: 0.0 if t < 1.0 else float("nan")), joint="pin_1_0")
    return model


def inspected(theme: str) -> Session:
    """A four-bar with the panel of the model, after a second."""
    session = Session("fourbar", theme, parameters={"ny": 1, "nz": 2, "layout": "stacked"})
    session.open("model")
    session.play(1.0)
    return session


def model(path: Path) -> None:
    session = inspected("white")
    measuring = session.window.panels.model.measuring
    measuring.put(Choice("joint", "pin_1_0"), to=False)
    measuring.put(Choice("joint", "cut_1_0"), to=True)
    session.window.selection.choose(Choice("joint", "cut_1_0"))
    session.shoot(path)


def section(path: Path) -> None:
    session = inspected("dark")
    panel = session.window.panels.model
    panel.tabs.setCurrentWidget(panel.cutting)
    panel.cutting.axis.setCurrentText("y")
    panel.cutting.place.spin.setValue(0.5)
    session.shoot(path)


def page(path: Path) -> None:
    from rtmbs.viewer.web.content import PageOptions
    from rtmbs.viewer.web.page import export
    from tests.viewer.web.browser import Browser

    wanted = PageOptions(theme="white", reactions=True, newtons=200.0, all_traces=True, legend=True)
    with TemporaryDirectory() as folder, Browser(Path(folder) / "profile") as browser:
        file = Path(folder) / "machine.html"
        export(machine(), file, seconds=2.0, paging=wanted)
        browser.open(file, SIZE)
        browser.run("page.player.pause(0.8); await drawn();")
        browser.picture(path)


PICTURES = {
    "parallel": parallel,
    "stacked": stacked,
    "profiler": profiler,
    "plots": plots,
    "parameters": parameters,
    "help": help_map,
    "failure": failure,
    "symbols": symbols,
    "model": model,
    "section": section,
    "page": page,
}


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["docs"]))
