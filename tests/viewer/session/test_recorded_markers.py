"""A result without its model is drawn with bars to the markers that its bodies carry."""

import subprocess
import sys

import numpy as np

from bench.measures.driven import four_bar
from rtmbs.kinematics import Analysis
from rtmbs.model import Bar
from rtmbs.viewer.session.playback import Recording
from tests.patience import LONGEST


def test_markers_belong_to_the_bodies_in_which_they_rest():
    model = four_bar()
    model.add_marker("pivot", "ground", point=(0.0, 0.0, 0.0))  # rests in ground and in the crank, which turns about it
    recording = Recording(Analysis(model).run(0.0, 1.0, 0.05))
    points = dict(zip(recording.names[1:], recording.points, strict=True))
    np.testing.assert_allclose(points["crank"], [(0.0, 0.0, 0.0)], atol=1e-9)
    pin = np.array(model.markers["pin"].point)  # on the knee: in the coupler and in the rocker
    assert len(points["coupler"]) == len(points["rocker"]) == 1
    np.testing.assert_allclose(points["coupler"][0], pin, atol=1e-9)


def test_bars_lead_to_them():
    bodies = {body.name: body for body in Recording(Analysis(four_bar()).run(0.0, 1.0, 0.05)).plain().bodies}
    assert [type(shape) for shape in bodies["coupler"].shapes].count(Bar) == 1


def test_a_motion_is_filmed_by_matplotlib_without_qt_and_opengl(tmp_path):
    path = tmp_path / "motion.h5"
    Analysis(four_bar()).run(0.0, 1.0, 0.05).save(path)
    program = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("PySide6", "pyqtgraph", "OpenGL"):
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
from rtmbs.commands.cli import main
sys.exit(main(["view", {str(path)!r}, "--headless", "--frames", "2", "--out", {str(tmp_path / "f_%02d.png")!r}]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    assert "matplotlib" in done.stdout
    assert len(list(tmp_path.glob("f_*.png"))) == 2
