"""Take the pictures of docs/viewer.md from the real window (extra ``viewer``).

    xvfb-run -a -s "-screen 0 1280x800x24" env LP_NUM_THREADS=1 python bench/viewer_pictures.py docs

Every picture is a window of 1200 x 700 on a session that really runs; nothing is drawn by hand.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rtmbs
from rtmbs.viewer.choices import Choice
from rtmbs.viewer.commands import Pause, Play, SetOption
from rtmbs.viewer.connect import connect
from rtmbs.viewer.theme import theme_named
from rtmbs.viewer.view import application

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
        from rtmbs.viewer.window import Window

        self.window = Window(connect(target, "process", **options), theme_named(theme))
        self.window.resize(*SIZE)
        self.window.show()
        self.wait(lambda: self.window.frame is not None)

    def wait(self, condition: Callable[[], bool], patience: float = 60.0) -> None:
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
    session.window.act.profiler()
    session.rest(0.5)
    session.window.act.fit()
    session.play(1.0)
    session.window.send(SetOption("jacobian", "trace"))
    session.play(2.5)
    session.shoot(path)


def plots(path: Path) -> None:
    session = fourbar("stacked", 2, 3)
    session.window.act.info()
    session.window.act.plots()
    session.rest(0.5)
    session.window.act.fit()
    for channel in ("coupler_3_1.position", "pin_1_0.angle"):
        session.window.plots_panel.choose(channel)
    session.play(3.0)
    session.shoot(path)


def parameters(path: Path) -> None:
    session = fourbar("stacked", 2, 2)
    session.window.act.info()
    session.window.act.parameters()
    session.rest(0.5)
    session.window.act.fit()
    session.play(1.0)
    session.window.select(1)
    session.window.act.labels()
    session.shoot(path)


def help_map(path: Path) -> None:
    session = fourbar("parallel", 4, 10)
    session.play(0.3)
    session.window.act.help()
    session.shoot(path)


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
    session.window.act.info()
    session.window.act.model()
    session.rest(0.5)
    session.window.act.fit()
    session.play(1.0)
    return session


def model(path: Path) -> None:
    session = inspected("white")
    measuring = session.window.model_panel.measuring
    measuring.put(Choice("joint", "pin_1_0"), to=False)
    measuring.put(Choice("joint", "cut_1_0"), to=True)
    session.window.selection.choose(Choice("joint", "cut_1_0"))
    session.shoot(path)


def section(path: Path) -> None:
    session = inspected("dark")
    panel = session.window.model_panel
    panel.tabs.setCurrentWidget(panel.cutting)
    panel.cutting.axis.setCurrentText("y")
    panel.cutting.place.spin.setValue(0.5)
    session.shoot(path)


PICTURES = {
    "parallel": parallel,
    "stacked": stacked,
    "profiler": profiler,
    "plots": plots,
    "parameters": parameters,
    "help": help_map,
    "failure": failure,
    "model": model,
    "section": section,
}


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["docs"]))
