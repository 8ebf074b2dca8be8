"""``rtmbs vehicle``: the rig and a manoeuvre from the command line, and words that are refused."""

import pytest

from rtmbs.commands.cli import main

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


@pytest.mark.parametrize(
    ("words", "answer"),
    [
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
