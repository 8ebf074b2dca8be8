"""``rtmbs vehicle``: rig, manoeuvre and fit of hard points from the command line, and words that are refused."""

import json

import numpy as np
import pytest

from rtmbs.commands.cli import main
from rtmbs.vehicle import read, rig

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")


def test_rig(tmp_path, capsys):
    out = tmp_path / "bump.html"
    assert main(["vehicle", "rig", "sedan", "--axle", "front", "--motion", "bump", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "front axle, bump, left wheel" in said
    assert "caster_gradient" in said
    assert "<svg" in out.read_text(encoding="utf-8")


def test_run(tmp_path, capsys):
    out = tmp_path / "coast.html"
    words = [
        "--manoeuvre",
        "coast-down",
        "--speed",
        "20",
        "--set",
        "duration=1",
        "--tyres",
        "tmeasy",
        "--out",
        str(out),
    ]
    assert main(["vehicle", "run", "sedan", *words]) == 0
    assert "mean_deceleration" in capsys.readouterr().out
    assert "Coast down from 72 km/h" in out.read_text(encoding="utf-8")


def test_fit(tmp_path, capsys):
    """A table of targets is the toe of a car with a moved tie rod: the fit finds the moves, and writes the points."""
    car = read("sedan", variant="from_models")
    point, move = car.data.front.hard_points["tie_rod.a"], np.array((0.0, 0.004, -0.006))
    values = np.array((-0.04, 0.0, 0.05))
    toe = rig(car.with_points("front", {"tie_rod.a": point + move}), "front", values=values).left.toe
    table, points = tmp_path / "toe.csv", tmp_path / "points.json"
    rows = zip(values.tolist(), np.degrees(toe).tolist(), strict=True)
    table.write_text("travel,toe\n" + "".join(f"{x!r},{y!r}\n" for x, y in rows), encoding="utf-8")
    words = ["sedan", "--variant", "from_models", "--targets", str(table), "--move", "tie_rod.a=0,0.02,0.02"]
    assert main(["vehicle", "fit", *words, "--points", str(points)]) == 0
    said = capsys.readouterr().out
    assert "-6.0000" in said
    found = json.loads(points.read_text(encoding="utf-8"))
    assert found["tie_rod.a"] == pytest.approx(point + move, abs=1e-9)
    assert car.with_points("front", found).data.front.hard_points.keys() == found.keys()


def test_fit_to_a_number(capsys):
    words = ["--target", "toe=0", "--weight", "toe=2", "--move", "tie_rod.a=0,0,0.01", "--motion", "bump"]
    assert main(["vehicle", "fit", "sedan", "--variant", "from_models", *words]) == 0
    before, after = (float(word) for word in capsys.readouterr().out.split("\ntoe")[1].split()[:2])
    assert after < 0.7 * before


@pytest.mark.parametrize(
    "text", ["", "travel,toe\n", "travel\n0\n", "travel,toe\n0,1,2\n", "travel,toe\n0,x\n", "t,toe,toe\n"]
)
def test_targets_that_are_no_table(text, tmp_path, capsys):
    path = tmp_path / "targets.csv"
    path.write_text(text, encoding="utf-8")
    assert main(["vehicle", "fit", "sedan", "--targets", str(path), "--move", "tie_rod.a=0,0,0.01"]) == 2
    assert "targets.csv'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["fit", "sedan", "--target", "toe=0", "--move", "tie_rod.a=0,1"], "it must be NAME=NUMBER,NUMBER,NUMBER with"),
        (["fit", "sedan", "--target", "toe", "--move", "tie_rod.a=0,0,1"], "--target toe: '' is not a number"),
        (["fit", "sedan", "--target", "tow=0", "--move", "tie_rod.a=0,0,1"], "did you mean 'toe'"),
        (["fit", "sedan", "--target", "toe=0", "--move", "tie_rod=0,0,1"], "no hard point named 'tie_rod'"),
        (["fit", "sedan", "--move", "tie_rod.a=0,0,1"], "no curve of the rig is given"),
        (["fit", "sedan", "--move", "a=0,0,1", "--points", "p.txt"], "--points p.txt must end in one of .json"),
        (["run", "sedan", "--manoeuvre", "double-lane-chang"], "did you mean 'double-lane-change'"),
        (["run", "sedan", "--manoeuvre", "braking", "--set", "torqe=3"], "did you mean 'torque'"),
        (
            ["run", "sedan", "--manoeuvre", "braking", "--set", "torque"],
            "--set torque is no option; it must be NAME=VALUE",
        ),
        (["run", "sedan", "--manoeuvre", "steady-circle", "--speed", "3"], "has no speed"),
        (["rig", "sedan", "--out", "curves.pdf"], "must end in one of .html"),
    ],
)
def test_refusals(words, answer, capsys):
    assert main(["vehicle", *words]) != 0
    assert answer in capsys.readouterr().err
