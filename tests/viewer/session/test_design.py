"""A result beside a model: the same design is drawn, another one is refused by name, other numbers are told."""

import pytest

import rtmbs
from rtmbs import Simulation, library
from rtmbs.commands.cli import main
from rtmbs.errors import InputError
from rtmbs.viewer.session.connect import playback
from tests.viewer.mechanisms import motored


def slider(tilt: float = 0.0, mass: float = 1.0, axis: float = 1.0) -> rtmbs.Model:
    """A block on a rail through the point (0, tilt, 0) of the ground."""
    model = rtmbs.Model("slider")
    model.add_body("block", mass=mass, inertia=(0.1, 0.1, 0.1), position=(0.0, tilt, 0.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(axis, 0.0, 1.0)), "ground", "block", point=(0.0, tilt, 0.0))
    return model


def arm(length: float = 0.6, foot: bool = False, place: float = 0.6) -> rtmbs.Model:
    """Two links with their mass centres at their pins; a foot holds the second one too."""
    model = rtmbs.Model("arm")
    model.add_body("upper", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_body("lower", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0.0, 0.0, -length))
    pin = rtmbs.Revolute(axis=(0.0, 1.0, 0.0))
    model.add_joint("shoulder", pin, "ground", "upper", point=(0.0, 0.0, 0.0))
    model.add_joint("elbow", pin, "upper", "lower", point=(0.0, 0.0, -length))
    model.set_initial("elbow", rate=2.0)
    if foot:
        model.add_joint("foot", rtmbs.Spherical(), "ground", "lower", point=(0.0, 0.0, -place), cut=True)
    return model


def run_of(model, t=0.1):
    return Simulation(model.compile()).run(t)


@pytest.mark.parametrize("name", ["bricard", "governor", "slider_crank", "top", "pendulum", "windows", "fourbar"])
def test_the_model_of_the_run_fits(name):
    connection = playback(run_of(library.build(name), 0.02), library.build(name))
    assert connection.messages() == []
    assert connection.describe().live is False


OTHERS = {  # run, model, what the refusal names
    "a link of a four-bar": (motored(), lambda: motored(length=0.9), "mass centre of body 'coupler' is off by 0.05 m"),
    "a tree": (arm(), lambda: arm(0.3), "joint 'elbow' is torn apart by 0.3 m"),
    "a cut joint": (arm(foot=True), lambda: arm(foot=True, place=0.7), "joint 'foot' is torn apart by 0.0"),
    "a rail": (slider(), lambda: slider(tilt=0.2), "joint 'rail' is torn apart by 0.2 m"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_another_design_is_refused_by_name(case):
    run, other, words = OTHERS[case]
    with pytest.raises(InputError, match=words) as caught:
        playback(run_of(run), other())
    assert "another design" in str(caught.value)
    assert "build the model with the parameters of the run" in str(caught.value)


def test_other_numbers_of_the_same_shape_are_told():
    (message,) = playback(run_of(slider()), slider(mass=2.0)).messages()
    assert message.kind == "warning"
    assert "recorded from a model with other numbers than 'slider'" in message.text


def test_the_command_says_what_the_model_was_built_with(tmp_path, capsys):
    run_of(motored()).save(tmp_path / "run.npz")
    words = ["view", str(tmp_path / "run.npz"), "--of", "tests.viewer.mechanisms:motored", "--length", "0.9"]
    assert main([*words, "--headless", "--out", str(tmp_path / "a.png"), "--frames", "1"]) == 2
    told = capsys.readouterr().err
    assert "another design" in told
    assert "The model of --of was built with length = 0.9, torque = 0.0" in told
    assert main([*words[:-1], "1.0", "--headless", "--out", str(tmp_path / "a.png"), "--frames", "1"]) == 0
